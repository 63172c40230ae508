import os
import subprocess
import sys

import pytest

import kills_worlds as kills
from runs_worlds import environment
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
end, text = time.monotonic() + 2, sys.argv[2] * 100_000
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
