"""Workers end with the process that began them, however that one ends."""

import errno
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import kills_worlds as kills
import pytest
from runs_worlds import environment

from starcert.system import processes
from starcert.system.errors import StarcertError
from starcert.system.processes import Pending, signals_held, worker_processes

PARENT = """
import time
from starcert.system.processes import worker_processes

def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(range(1000))

if __name__ == "__main__":
    with worker_processes(2, "Nothing is lost.") as pool:
        print("ready", flush=True)
        list(pool.map(busy, [300, 300, 300]))
"""


def begun(folder):
    (folder / "parent.py").write_text(PARENT)
    words = [sys.executable, str(folder / "parent.py")]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True
    )
    assert process.stdout.readline() == "ready\n"
    assert len(kills.left_of(process.pid)) >= 3
    return process


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc")


@linux
def test_workers_end_when_their_parent_is_killed(tmp_path):
    process = begun(tmp_path)
    process.kill()
    process.wait()
    kills.nothing_left(process.pid)
    process.communicate()


@linux
def test_ctrl_c_ends_workers_with_their_parent(tmp_path):
    process = begun(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert err.count("Traceback") == 1  # that of the parent
    kills.nothing_left(process.pid)


def semaphores_of(process):
    """The files of the semaphores that a process has open."""
    lines = Path(f"/proc/{process}/maps").read_text("utf-8").splitlines()
    inodes = {int(line.split()[4]) for line in lines if " /dev/shm/sem." in line}
    return [each for each in Path("/dev/shm").glob("sem.*") if each.stat().st_ino in inodes]


def recorded():
    """The semaphores in all records, those of other tests that run now among them."""
    found = set()
    for record in Path("/dev/shm").glob("starcert-semaphores-*"):
        with suppress(FileNotFoundError):  # another test has ended meanwhile
            found.update(Path("/dev/shm", name) for name in record.read_text("utf-8").splitlines())
    return found


@linux
def test_semaphores_of_a_killed_group_are_removed_at_the_next_start(tmp_path):
    living, killed = begun(tmp_path), begun(tmp_path)
    kept, left = semaphores_of(living.pid), semaphores_of(killed.pid)
    assert len(left) == len(kept) >= 4
    assert {*left, *kept} <= recorded()
    try:
        os.killpg(killed.pid, signal.SIGKILL)  # its resource tracker too
        killed.communicate()
        kills.nothing_left(killed.pid)
        assert all(each.exists() for each in left)
        with worker_processes(1, ""):
            assert not any(each.exists() for each in left)
            assert all(each.exists() for each in kept)  # those of a process that is alive
    finally:
        os.killpg(living.pid, signal.SIGINT)
        living.communicate()
    assert not any(each.exists() for each in kept)
    assert recorded().isdisjoint([*left, *kept])


@linux
def test_a_record_removes_semaphores_of_its_own_user_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "SHARED", str(tmp_path))
    outside, mine = tmp_path.parent / f"{tmp_path.name}.txt", tmp_path / "sem.mp-mine"
    for file in (outside, mine, tmp_path / "other"):
        file.touch()
    record = tmp_path / "starcert-semaphores-00"
    record.write_text(f"../{outside.name}\nother\nsem.mp-mine\nsem.mp-gone\n\n")
    link = tmp_path / "starcert-semaphores-01"
    link.symlink_to(outside)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: 12345)
        processes._remove_abandoned_semaphores()
    assert mine.exists()
    processes._remove_abandoned_semaphores()
    assert sorted(tmp_path.iterdir()) == [tmp_path / "other", link]
    assert outside.exists()


def test_workers_that_cannot_start_are_told_why(monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", full)
    problem = r"cannot be started \(No space left on device\)\. .*Or use one process: --workers 1\."
    with pytest.raises(StarcertError, match=problem), worker_processes(2, ""):
        pass


def test_one_that_dies_is_told():
    with (
        pytest.raises(StarcertError, match=r"A worker process died.*Nothing is lost\. Run the same again"),
        worker_processes(2, "Nothing is lost.") as pool,
    ):
        pool.submit(os._exit, 9).result()


def _refuse(reason):
    raise StarcertError(reason)


def test_one_that_cannot_begin_says_why():
    with (
        pytest.raises(StarcertError, match="no leg to stand on"),
        worker_processes(2, "", begin=_refuse, arguments=("no leg to stand on",)),
    ):
        pass


def test_a_signal_waits_until_locks_have_changed_hands():
    """Raised in between, it would leave a lock of somebody else's taken for good."""
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, _frame: heard.append(number))
    try:
        with signals_held():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)
            assert heard == []
        assert heard == [signal.SIGTERM]
        signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGTERM] * 2
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_is_taken_back_is_done_and_nothing_is_waited_for():
    gate = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pending = Pending(pool)
        first, second = pending.submit(gate.wait), pending.submit(gate.wait)
        pending.cancel()
        assert pending.next_done() is second
        assert second.cancelled()
        gate.set()
        assert pending.next_done() is first
        assert len(pending) == 0
