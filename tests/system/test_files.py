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
from starcert.system.files import is_empty, write_whole


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
