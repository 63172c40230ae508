import errno
import os
import pickle
import subprocess
import sys

import kills_worlds as kills
import pytest
from runs_worlds import environment

from starcert.system import files
from starcert.system.errors import StoreError, WriteError
from starcert.system.files import holding_lock, is_empty, lock_file, unlock_file, versions, write_whole


def test_a_file_is_replaced_whole_or_stays(tmp_path):
    path = tmp_path / "note.txt"
    write_whole(path, ["one\n", "two ☃"])
    assert path.read_bytes() == "one\ntwo ☃".encode()

    def broken():
        yield "half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, broken())
    assert path.read_text(encoding="utf-8") == "one\ntwo ☃"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Free some space on its disk, then run the same again."),
        (errno.EFBIG, "Raise the limit on the size of files (ulimit -f), then run the same again."),
        (errno.EROFS, "Check that its folder exists and can be written to, then run the same again."),
    ],
)
def test_an_error_while_writing_names_the_file_and_the_next_step(tmp_path, monkeypatch, number, advice):
    path = tmp_path / "note.txt"
    write_whole(path, ["before"])
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(number, os.strerror(number))))
        with pytest.raises(WriteError) as raised:
            write_whole(path, ["after"])
    assert str(raised.value) == f"{path}: cannot be written ({os.strerror(number)}). {advice}"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    assert (path.read_text(), list(tmp_path.iterdir())) == ("before", [path])
    with pytest.raises(WriteError, match=r"nowhere.note\.txt: cannot be written \(No such file"):
        write_whole(tmp_path / "nowhere" / "note.txt", ["x"])


def test_an_error_of_what_makes_the_parts_stays_as_it_is(tmp_path):
    def broken():
        yield "half"
        raise StoreError("votes.db: cannot be read.")

    with pytest.raises(StoreError, match=r"^votes\.db: cannot be read\.$"):
        write_whole(tmp_path / "note.txt", broken())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_device_is_named(tmp_path, monkeypatch):
    with open("/dev/full", "wb") as device:
        monkeypatch.setattr(files, "_new_draft", lambda _: (tmp_path / "draft", device))
        with pytest.raises(WriteError, match=r"note\.txt: cannot be written \(No space left on device\)\. Free"):
            write_whole(tmp_path / "note.txt", ["x"])


def test_others_may_read_it_as_they_may_read_any_new_file(tmp_path):
    (tmp_path / "plain.txt").write_text("x")
    write_whole(tmp_path / "note.txt", ["x"])
    assert (tmp_path / "note.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_what_a_killed_process_left_is_removed_by_whoever_writes_the_same_file(tmp_path):
    path, other = tmp_path / "note.txt", tmp_path / "other.txt"
    write_whole(path, ["before"])
    for last in range(1, 100):
        if not kills.killed(tmp_path, last, lambda: write_whole(path, ["x" * 10**5])):
            break
        assert path.read_text() in ("before", "x" * 10**5)
    assert last > 5
    for last in (2, 4):  # while it writes; the second has opened and removed what the first left
        assert kills.killed(tmp_path, last, lambda: write_whole(path, ["again"]))
    drafts = [each.name for each in tmp_path.iterdir() if each != path]
    assert len(drafts) == 1  # the second removed that of the first
    write_whole(other, ["x"])
    assert len(list(tmp_path.iterdir())) == 3  # that of another file is not its to remove
    assert not is_empty(tmp_path)
    write_whole(path, ["after"])
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"note.txt": "after", "other.txt": "x"}


def test_a_folder_with_drafts_alone_is_empty(tmp_path):
    assert is_empty(tmp_path)
    (tmp_path / ".run.toml.0123456789abcdef.part").touch()
    assert is_empty(tmp_path)
    (tmp_path / "run.toml.part").touch()
    assert not is_empty(tmp_path)


def test_the_draft_of_one_who_is_writing_stays(tmp_path):
    path = tmp_path / "note.txt"

    def parts():
        yield "one "
        write_whole(path, ["of another"])  # faster, and it must not take this draft away
        yield "two"

    write_whole(path, parts())
    assert path.read_text() == "one two"
    assert list(tmp_path.iterdir()) == [path]


HAMMER = """
import sys, time
from pathlib import Path
from starcert.system.files import write_whole
end, text = time.monotonic() + 1, sys.argv[2] * 100_000
while time.monotonic() < end:
    write_whole(Path(sys.argv[1]), [text[:50_000], text[50_000:]])
"""


def test_many_may_write_the_same_file_at_once(tmp_path):
    path = tmp_path / "note.txt"
    words = [sys.executable, "-c", HAMMER, path]
    writers = [subprocess.Popen([*words, letter], env=environment(), stderr=subprocess.PIPE) for letter in "abcd"]
    assert [(each.communicate()[1], each.returncode) for each in writers] == [(b"", 0)] * 4
    assert path.read_text() in {letter * 100_000 for letter in "abcd"}
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def lock_path(tmp_path):
    return str(tmp_path / "lock")


def test_one_has_the_lock_and_the_file_goes_with_it(lock_path):
    for _ in range(2):
        mine = lock_file(lock_path)
        assert mine is not None
        assert lock_file(lock_path) is None
        unlock_file(mine)
        assert not os.path.exists(lock_path)


def test_a_file_that_is_left_over_means_nothing(lock_path):
    with open(lock_path, "w", encoding="utf-8") as file:
        file.write("of a killed process")
    with holding_lock(lock_path) as free:
        assert free


def test_a_file_that_was_removed_between_opening_and_locking_does_not_count(lock_path, monkeypatch):
    """The holder removes its file and releases the lock: what a second one has opened before is no lock any more."""
    first, flock = lock_file(lock_path), pytest.importorskip("fcntl").flock

    def late(handle, operation):
        monkeypatch.undo()
        unlock_file(first)
        flock(handle, operation)

    monkeypatch.setattr("fcntl.flock", late)
    assert lock_file(lock_path) is None
    assert not os.path.exists(lock_path)
    again = lock_file(lock_path)
    assert again is not None
    unlock_file(again)


def test_a_file_that_cannot_be_made(tmp_path):
    path = str(tmp_path / "nowhere" / "lock")
    with pytest.raises(FileNotFoundError):
        lock_file(path)
    with holding_lock(path) as free:  # then everybody may go on
        assert free


def test_a_repetition_gives_the_same_bytes(project, here):
    """All but the file of votes, whose sessions tell the time."""
    for number in range(2):
        for command in (["certify", "run.toml"], ["sweep", "run.toml", "--grid", "hub=0.02,0.1"]):
            status, _, err = here(*command, "--samples", 50, "--out", "out")
            assert (status, err) == (0, "")
            (project / "out").rename(project / f"{command[0]}-{number}")
    for command, page in (("certify", "report.html"), ("sweep", "sweep.html")):
        one, two = (
            {path.name: path.read_bytes() for path in (project / f"{command}-{number}").iterdir() if path.is_file()}
            for number in range(2)
        )
        assert page in one
        assert {name for name in one if one[name] != two[name]} <= {"votes.db"}
        assert set(one) == set(two)


def test_versions_are_those_of_what_computes():
    assert {"python", "machine", "starcert", "numpy"} <= set(versions())
