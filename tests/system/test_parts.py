"""PartsFolder: finished ones are kept, whatever happens, and no process is left behind."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import part_worlds as worlds
import pytest

from starcert.system.errors import StarcertError
from starcert.system.parts import Part, PartsFolder


def has(parts, name):
    return (parts.folder / f"{name}.json").exists()


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended; one that nobody has waited for yet has."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat")
        return not Path("/proc/self").exists() or state.read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def wait_until(condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("not within a minute")


@pytest.mark.parametrize("workers", [1, 2])
def test_finished_parts_are_not_computed_again(tmp_path, log, workers):
    first = [Part(f"p{k}", worlds.noted, (log, f"p{k}")) for k in range(3)]
    parts = PartsFolder(tmp_path / "deep" / "parts", workers=workers)
    assert parts.run(first, "some") == {"p0": "P0", "p1": "P1", "p2": "P2"}
    more = [*reversed(first), Part("p3", worlds.noted, (log, "p3"))]
    # In the order that was asked for, and by another object: what is there is on the disk.
    assert list(PartsFolder(tmp_path / "deep" / "parts").run(more, "more").items()) == [
        ("p2", "P2"), ("p1", "P1"), ("p0", "P0"), ("p3", "P3")
    ]  # fmt: skip
    assert sorted(name for name, _ in worlds.trace(log)) == ["p0", "p1", "p2", "p3"]
    workers_seen = {pid for name, pid in worlds.trace(log) if name != "p3"}
    assert (os.getpid() in workers_seen) == (workers == 1)
    assert (has(parts, "p3"), has(parts, "p4"), parts.result("p3")) == (True, False, "P3")


def test_killed_work_goes_on_and_leaves_no_worker_behind(tmp_path, log):
    command = f"import part_worlds; part_worlds.long_work({str(tmp_path)!r})"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    study = subprocess.Popen([sys.executable, "-c", command], env=environment)
    folder = tmp_path / "parts"
    try:
        wait_until(lambda: len(list(folder.glob("*.json"))) >= 3 and len({p for _, p in worlds.trace(log)}) == 2)
        study.send_signal(signal.SIGKILL)
        study.wait()
        kept = {path.stem: json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")}
        wait_until(lambda: not any(alive(pid) for _, pid in worlds.trace(log)))
    finally:
        study.kill()
        study.wait()
        for pid in {pid for _, pid in worlds.trace(log)}:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
    assert 3 <= len(kept) < 20
    assert all(value == name.upper() for name, value in kept.items())
    result = PartsFolder(folder).run(worlds.long_parts(tmp_path, 0), "the rest")
    assert result == {f"part-{k}": f"PART-{k}" for k in range(20)}
    again = Counter(name for name, pid in worlds.trace(log) if pid == os.getpid())
    assert set(again) == set(result) - set(kept)
    assert set(again.values()) == {1}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_part_keeps_the_others(tmp_path, log, workers):
    parts = PartsFolder(tmp_path / "parts", workers=workers)
    good = Part("good", worlds.noted, (log, "good", 0.5))
    bad = Part("bad", worlds.fails, (log, "bad"))
    rest = [Part(f"rest-{k}", worlds.noted, (log, f"rest-{k}", 0.15)) for k in range(20)]
    order = [good, bad, *rest] if workers == 1 else [bad, good, *rest]  # with two workers, good is under way
    with pytest.raises(ValueError, match="bad cannot be had"):
        parts.run(order, "all")
    assert parts.result("good") == "GOOD"
    assert not has(parts, "bad")
    begun = [name for name, _ in worlds.trace(log)]
    assert len(begun) < 15  # the others are given up
    assert all(has(parts, name) for name in begun if name != "bad")
    mended = [Part("bad", worlds.noted, (log, "bad")), good, *rest]
    assert len(PartsFolder(tmp_path / "parts").run(mended, "mended")) == 22
    assert Counter(name for name, _ in worlds.trace(log)) == Counter({part.name: 1 for part in mended} | {"bad": 2})


def test_what_json_cannot_hold_ends_everything_at_once(tmp_path, log):
    rest = [Part(f"rest-{k}", worlds.noted, (log, f"rest-{k}", 0.3)) for k in range(20)]
    before = set(multiprocessing.active_children())  # of other tests
    with pytest.raises(TypeError, match="set is not JSON serializable") as told:
        PartsFolder(tmp_path / "parts", workers=2).run([Part("bad", worlds.no_json, (log, "bad")), *rest], "all")
    assert set(multiprocessing.active_children()) <= before
    assert told.tb is not None  # and not only because the frames that hold the workers are forgotten
    assert len(worlds.trace(log)) < 15
    # Nothing is half-written: no file of that name, no draft.
    assert {path.name for path in (tmp_path / "parts").iterdir()} <= {f"rest-{k}.json" for k in range(20)}


def test_a_worker_that_dies_is_told_in_one_sentence(tmp_path, log):
    parts = [Part("bad", worlds.dies, (log, "bad")), Part("good", worlds.noted, (log, "good"))]
    with pytest.raises(StarcertError, match=r"A worker process died.*What is finished is kept.*fewer workers"):
        PartsFolder(tmp_path / "parts", workers=2).run(parts, "all")
    assert not (tmp_path / "parts" / "bad.json").exists()


def test_a_damaged_part_is_named(tmp_path):
    parts = PartsFolder(tmp_path)
    (tmp_path / "one.json").write_bytes(b"\xff")
    (tmp_path / "two.json").write_text('{"a": ', encoding="utf-8")
    for name in ("one", "two"):
        with pytest.raises(StarcertError, match=rf"{name}\.json: is damaged .* Delete it"):
            parts.result(name)


def test_two_parts_of_one_name_are_a_mistake(tmp_path, log):
    with pytest.raises(AssertionError, match="a name of its own"):
        PartsFolder(tmp_path).run([Part("p", worlds.noted, (log, "a")), Part("p", worlds.noted, (log, "b"))], "all")
