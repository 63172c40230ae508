"""One writer, many readers."""

import ast
import os
import signal
import sqlite3
import subprocess
import threading
import time

import pytest
from store_worlds import child, done, fill, opened, votes_of

from starcert.system.errors import StoreError
from starcert.voting.store import VoteStore


def test_a_second_writer_is_turned_away_at_once(full):
    code = "store = store_worlds.opened(path)\nprint('ready', flush=True)\nsys.stdin.read()\nstore.close()"
    with child(full, code, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "ready\n"
        start = time.monotonic()
        with pytest.raises(StoreError, match="another process is writing votes into it") as caught:
            opened(full)
        assert time.monotonic() - start < 2
        assert str(full) in str(caught.value)
        assert "another file" in str(caught.value)
        with VoteStore.read(full) as reader:
            assert reader.counts("selection").sum() == 12_000
        other.communicate()
    with opened(full) as store, pytest.raises(StoreError, match="another process"):
        opened(full)  # the same holds inside one process
    assert len(store.sessions) == 3


HAMMERING = """
import os, time
from starcert.system.errors import StoreError
alone = path.with_name("alone")
counts = {"opened": 0, "turned away": 0}
print("ready", flush=True)
end = time.monotonic() + float(sys.stdin.readline())
while time.monotonic() < end:
    try:
        store = store_worlds.opened(path)
    except StoreError as error:
        if "another process is writing votes into it" not in str(error):
            raise
        counts["turned away"] += 1
        continue
    os.mkdir(alone)  # fails if there are two
    counts["opened"] += 1
    store.add(0, "selection", 0, [1, 0, 0], samples=1)
    os.rmdir(alone)
    store.close()
print(counts)
"""


def test_four_processes_at_once_and_never_two_writers(path):
    """Each opens, writes and closes as often as it can: one is let in at a time, and no error but that one is met."""
    processes = [
        child(path, HAMMERING, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [each.stdout.readline() for each in processes] == ["ready\n"] * 4
    for each in processes:
        each.stdin.write("1.0\n")
        each.stdin.flush()
    told = [each.communicate() for each in processes]
    assert [err for _, err in told] == [""] * 4
    counts = [ast.literal_eval(out) for out, _ in told]
    assert sum(each["opened"] for each in counts) >= 4
    assert sum(each["turned away"] for each in counts) > 4
    assert os.listdir(path.parent) == [path.name]
    with VoteStore.read(path) as store:
        assert len(store.sessions) == sum(each["opened"] for each in counts)


def test_threads_may_share_a_store(path):
    with opened(path, 4) as store:

        def work(graph):
            for chunk in range(100):
                store.add(graph, "estimation", chunk, votes_of(graph, "estimation", chunk), samples=1000)
                assert chunk in done(store, graph, "estimation")

        threads = [threading.Thread(target=work, args=(graph,)) for graph in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with VoteStore.read(path) as store:
        assert store.counts("estimation").sum(axis=1).tolist() == [100_000] * 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_copy_does_not_keep_the_lock(path):
    """The worker of somebody's own pool lives on when its parent is killed."""
    code = """
import os, signal, time
store = store_worlds.opened(path)
process = os.fork()
if process == 0:
    time.sleep(60)
    os._exit(0)
print(process, flush=True)
time.sleep(0.1)
os.kill(os.getpid(), signal.SIGKILL)
"""
    with child(path, code, stdout=subprocess.PIPE) as other:
        copy = int(other.stdout.readline())
        try:
            other.wait()
            assert os.path.exists(f"{path}-lock")
            with opened(path):
                pass
        finally:
            os.kill(copy, signal.SIGKILL)


def test_a_reader_sees_what_was_committed_meanwhile(path):
    with opened(path) as store, VoteStore.read(path) as reader:
        assert reader.counts("selection").sum() == 0
        fill(store, 2)
        store.flush()
        assert reader.counts("selection").sum() == 6000


def test_a_reader_does_not_write(full):
    with VoteStore.read(full) as reader:
        with pytest.raises(StoreError, match="opened for reading"):
            reader.add(0, "selection", 9, [1, 0, 0], samples=1)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.db.execute("DELETE FROM chunks")


def test_a_closed_store_says_so(full):
    with opened(full) as store:
        pass
    store.close()
    for call in (lambda: store.n_chunks, lambda: done(store, 0, "selection"), lambda: store.counts("selection")):
        with pytest.raises(StoreError, match="is closed"):
            call()
    with pytest.raises(StoreError, match="is closed"):
        store.add(0, "selection", 9, [1, 0, 0], samples=1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_copy_leaves_the_store_alone(path):
    with opened(path) as store:
        store.add(0, "selection", 0, [1, 0, 0], samples=1)
        process = os.fork()
        if process == 0:
            try:
                store.close()
                store.add(0, "selection", 1, [1, 0, 0], samples=1)
            except StoreError as error:
                os._exit(17 * ("another process" in str(error)))
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 17
        assert os.path.exists(f"{path}-lock")
        store.add(0, "selection", 1, [1, 0, 0], samples=1)
    with VoteStore.read(path) as store:
        assert done(store, 0, "selection") == {0: 1, 1: 1}
