"""Workers end with the process that began them, however that one ends."""

import errno
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import kills_worlds as kills
import pytest
from runs_worlds import environment

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
