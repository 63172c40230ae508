"""Processes that are killed and disks that fail."""

import os
import random
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest
from store_worlds import PURPOSES, check_votes, child, done, fill, go_on, opened, votes_of

from starcert.system.errors import InvalidParameterError, StoreError
from starcert.voting.store import VoteStore


def test_a_killed_run_continues_to_the_full_set(path):
    """SIGKILL at any moment: every chunk that is stored is right, and continuing gives exactly the full set."""
    code = (
        "with store_worlds.opened(path) as store:\n    print('ready', flush=True)\n    store_worlds.go_on(store, 100)"
    )
    rng = random.Random(5)
    stored = [0]
    for attempt in range(5):
        with child(path, code, stdout=subprocess.PIPE) as other:
            if attempt % 4:  # every fourth is killed while it starts, or creates the file
                other.stdout.readline()
            time.sleep(rng.uniform(0, 0.2))
            os.kill(other.pid, signal.SIGKILL)
        if path.exists() and path.stat().st_size:
            with VoteStore.read(path) if attempt % 2 else opened(path) as store:
                stored.append(check_votes(store))
    assert stored == sorted(stored)  # what was committed stays
    assert stored[-1] > 0
    with opened(path) as store:
        go_on(store, 100)
    with VoteStore.read(path) as store:
        assert check_votes(store) == 3 * 2 * 100
        assert all(set(done(store, graph, purpose)) == set(range(100)) for graph in range(3) for purpose in PURPOSES)
        expected = [
            np.sum([votes_of(graph, "selection", c) for c in range(100)], axis=0).tolist() for graph in range(3)
        ]
        assert store.counts("selection").tolist() == expected
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("first", ["read", "open"])
def test_half_a_commit_is_taken_back(full, first):
    """The process dies when part of a transaction is in the file already, and its journal beside it."""
    code = """
from starcert.voting.store.rows import StoredVotes, digest_of
store = store_worlds.opened(path)
db = store.db
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
rows = [StoredVotes(0, "selection", chunk, 1, bytes([1, *[0] * 23])) for chunk in range(100, 5000)]
db.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", [(*row, digest_of(*row)) for row in rows])
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
"""
    size = full.stat().st_size
    assert child(full, code).wait() == -signal.SIGKILL
    assert full.stat().st_size > size
    assert os.path.exists(f"{full}-journal")
    with VoteStore.read(full) if first == "read" else opened(full) as store:
        assert store.n_chunks == {"selection": 12, "estimation": 12}
    with opened(full) as store:
        fill(store, 4)
        assert store.n_chunks == {"selection": 12, "estimation": 12}


def test_a_process_that_dies_while_creating_leaves_nothing(path):
    code = """
from starcert.voting.store import votes as store
def die(db):
    create_schema(db)
    db.execute("PRAGMA cache_size = 1")
    rows = [("graph", n, "x" * 3000, b"") for n in range(1000, 1200)]
    db.executemany("INSERT INTO records VALUES (?, ?, ?, ?)", rows)
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
create_schema, store.create_schema = store.create_schema, die
store_worlds.opened(path)
"""
    assert child(path, code).wait() == -signal.SIGKILL
    assert path.stat().st_size > 0
    shutil.copy(path, path.with_name("copy.db"))
    shutil.copy(f"{path}-journal", path.with_name("copy.db-journal"))
    with pytest.raises(StoreError, match="nothing was stored"):
        VoteStore.read(path.with_name("copy.db"))
    with opened(path) as store:
        fill(store, 1)


def test_an_empty_file_is_new(path):
    path.touch()
    with pytest.raises(StoreError, match="nothing was stored"):
        VoteStore.read(path)
    with opened(path) as store:
        fill(store, 1)
    with VoteStore.read(path) as store:
        assert store.counts("selection").sum() == 3000


def test_a_full_disk_loses_nothing_that_was_committed(path):
    def run():
        with opened(path) as store:
            fill(store, 4)
            store.flush()
            pages = store.db.execute("PRAGMA page_count").fetchone()[0]
            store.db.execute(f"PRAGMA max_page_count = {pages}")
            fill(store, 100)
            store.flush()

    with pytest.raises(StoreError) as caught:
        run()
    message = str(caught.value)
    assert isinstance(caught.value, OSError)
    assert re.search(r"could not write \d+ chunks: database or disk is full", message)
    assert "Free some space" in message
    assert "could not be closed in order" in caught.value.__notes__[0]
    assert os.listdir(path.parent) == [path.name]
    with VoteStore.read(path) as store:
        assert store.n_chunks == {"selection": 12, "estimation": 12}
    with opened(path) as store:
        fill(store, 100)
        assert store.n_chunks == {"selection": 300, "estimation": 300}


def test_what_could_not_be_written_is_tried_again(path):
    with opened(path) as store:
        pages = store.db.execute("PRAGMA page_count").fetchone()[0]
        store.db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="disk is full"):  # noqa: PT012  (a slow machine commits in between)
            fill(store, 100)
            store.flush()
        store.db.execute("PRAGMA max_page_count = 1000000")
        fill(store, 100)
    with VoteStore.read(path) as store:
        assert store.counts("selection").sum() == 300_000


def test_a_disk_that_fails_in_the_background_is_reported_by_the_next_call(path):
    with opened(path) as store:
        store.db.execute("PRAGMA query_only = ON")
        store.add(0, "selection", 0, [1, 0, 0], samples=1)
        store._alarm.join()
        with pytest.raises(StoreError, match="could not write 2 chunks: attempt to write a readonly database"):
            store.add(0, "selection", 1, [1, 0, 0], samples=1)
        store.db.execute("PRAGMA query_only = OFF")
    with VoteStore.read(path) as store:
        assert done(store, 0, "selection") == {0: 1, 1: 1}


def test_a_real_write_error_leaves_a_good_file(full):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(full) as store:
        store.add(0, "selection", 50, [1, 0, 0], samples=1)
        for chunk in range(60, 300):
            store.add(1, "selection", chunk, [1, 0, 0], samples=1)
        resource.setrlimit(resource.RLIMIT_FSIZE, (full.stat().st_size, hard))
        try:
            with pytest.raises(StoreError, match="could not write 241 chunks"):
                store.flush()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        with VoteStore.read(full) as reader:
            assert reader.n_chunks == {"selection": 12, "estimation": 12}
        store.flush()
    with VoteStore.read(full) as reader:
        assert reader.n_chunks == {"selection": 12 + 241, "estimation": 12}


def test_a_file_that_was_taken_away_is_noticed(full):
    store = opened(full)
    store.add(0, "selection", 50, [1, 0, 0], samples=1)
    os.rename(full, full.with_name("moved.db"))
    with pytest.raises(StoreError, match=r"could not write 1 chunk: .*and stay in place, then run the same again"):
        store.close()
    with VoteStore.read(full.with_name("moved.db")) as store:
        assert store.n_chunks == {"selection": 12, "estimation": 12}


def test_places_that_cannot_hold_a_store(tmp_path):
    with pytest.raises(StoreError, match=r"the folder .*nowhere does not exist"):
        opened(tmp_path / "nowhere" / "votes.db")
    with pytest.raises(StoreError, match="is a folder"):
        opened(tmp_path)
    with pytest.raises(StoreError, match="is a folder"):
        VoteStore.read(tmp_path)
    with pytest.raises(StoreError, match="there is no such file"):
        VoteStore.read(tmp_path / "votes.db")
    with pytest.raises(StoreError, match="could not"):
        opened(tmp_path / ("x" * 300))
    with pytest.raises(InvalidParameterError, match="'path'"):
        opened("a\0b")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_folder_that_may_not_be_written(full):
    full.parent.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="could not"):
            opened(full)
        with VoteStore.read(full) as store:
            assert store.counts("selection").sum() == 12_000
    finally:
        full.parent.chmod(0o700)


@pytest.mark.parametrize("name", ["a b?mode=memory#%41.db", "stäre.db"])
def test_any_name_will_do(tmp_path, name):
    with opened(tmp_path / name) as store:
        fill(store, 1)
    assert os.listdir(tmp_path) == [name]
