import ast
import dataclasses
import json
import os
import pickle
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from contextlib import closing

import numpy as np
import pytest

from starcert.errors import InvalidParameterError, StarcertError, StoreError, StoreSettingsError
from starcert.store import GraphRecord, Settings, VoteStore
from starcert.store.file import FORMAT
from starcert.store.records import StoredChunk

PURPOSES = ("selection", "estimation")
SETTINGS = Settings(
    noise={"motif": 0.1 + 0.2, "bonds": {"delete": 0.04, "add": 5e-324}},
    classifier="a graph network, “seed 3”",
    n_classes=3,
    seed=2**100 + 1,
    chunk_size=1000,
    backend="cpu",
)
PROVENANCE = {"starcert": "0.2.0", "commit": "abc"}


def graphs_of(number):
    return [GraphRecord(i, f"key{i}", f"sites{i}", {"motif": i, "bonds.add": 7}, "", f"g{i}") for i in range(number)]


def votes_of(graph, purpose, chunk):
    """What a deterministic classifier would have answered."""
    rng = random.Random(f"{graph} {purpose} {chunk}")
    first = rng.randint(0, 1000)
    second = rng.randint(0, 1000 - first)
    return [first, second, 1000 - first - second]


def fill(store, chunks):
    for graph in range(len(store.graphs)):
        for purpose in PURPOSES:
            for chunk in range(chunks):
                store.add(graph, purpose, chunk, votes_of(graph, purpose, chunk), samples=1000)


def opened(path, n_graphs=3, settings=SETTINGS):
    return VoteStore.open(path, settings, graphs_of(n_graphs), provenance=PROVENANCE)


def everything(store):
    """All that a store says, in a form that can be compared."""
    places = [(graph, purpose) for graph in range(len(store.graphs)) for purpose in PURPOSES]
    votes = [[(c, n, v.tolist()) for c, n, v in store.chunks(*place)] for place in places]
    return store.settings, store.graphs, store.sessions, votes


@pytest.fixture
def path(tmp_path):
    return tmp_path / "votes.db"


@pytest.fixture
def full(path):
    with opened(path) as store:
        fill(store, 4)
    return path


def edit(path, *statements):
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(*statement) if isinstance(statement, tuple) else db.execute(statement)
        db.commit()


# --- what is written is read ---


def test_a_store_gives_back_exactly_what_it_was_given(path):
    with opened(path) as store:
        store.add(0, "selection", 0, [100, 0, 0], samples=100)
        store.add(2, "estimation", 5, np.array([1, 2, 997], dtype=np.uint16), samples=1000)
        store.add(2, "estimation", 1, (1000, 0, 0), samples=1000)
    assert os.listdir(path.parent) == [path.name]  # no journal, no lock
    with VoteStore.read(path) as store:
        assert store.settings == SETTINGS
        assert store.settings.noise["bonds"]["add"] == 5e-324
        assert store.settings.noise["motif"].hex() == (0.1 + 0.2).hex()
        assert list(store.settings.noise) == ["motif", "bonds"]
        assert store.graphs == tuple(graphs_of(3))
        assert store.provenance == PROVENANCE
        assert store.done(2, "estimation") == {1: 1000, 5: 1000}
        assert store.done(2, "selection") == {}
        (first, second) = store.chunks(2, "estimation")
        assert (first[0], first[1], first[2].tolist()) == (1, 1000, [1000, 0, 0])
        assert (second[0], second[2].tolist(), second[2].dtype) == (5, [1, 2, 997], np.int64)
        counts = store.counts("estimation")
        assert counts.dtype == np.int64
        assert counts.tolist() == [[0, 0, 0], [0, 0, 0], [1001, 2, 997]]
        assert store.counts("selection").tolist() == [[100, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_counts_can_stop_after_the_first_chunks(full):
    with VoteStore.read(full) as store:
        counts = store.counts("estimation", limit={0: 1, 1: 0, 2: 3})
        whole = store.counts("estimation", limit={0: 1})
    expected = [
        sum(np.array(votes_of(g, "estimation", c)) for c in range(n)) + np.zeros(3) for g, n in ((0, 1), (2, 3))
    ]
    assert counts[0].tolist() == expected[0].tolist()
    assert counts[1].tolist() == [0, 0, 0]
    assert counts[2].tolist() == expected[1].tolist()
    assert whole[1].sum() == 4000


def test_chunks_that_wait_are_seen_by_the_writer(path):
    with opened(path) as store:
        store.add(1, "selection", 0, [5, 0, 0], samples=5)
        assert store.done(1, "selection") == {0: 5}
        assert store.chunks(1, "selection")[0][2].tolist() == [5, 0, 0]
        assert store.counts("selection")[1].tolist() == [5, 0, 0]


def test_a_summary_counts_and_checks(full):
    with VoteStore.read(full) as store:
        summary = store.summary()
    assert summary.chunks == {"selection": 12, "estimation": 12}
    assert summary.samples == {"selection": 12_000, "estimation": 12_000}
    assert summary.samples_by_graph["selection"] == (4000, 4000, 4000)
    assert summary.file_bytes == full.stat().st_size
    assert summary.integrity == "good"


def test_a_summary_tells_of_damage_that_came_later(full):
    with VoteStore.read(full) as store:
        edit(full, "UPDATE chunks SET samples = 999 WHERE graph = 1 AND chunk = 2")
        assert "do not add up" in store.summary().integrity
        with pytest.raises(StoreError, match="chunk 2 of graph 1"):
            store.counts("selection")


def test_the_file_explains_itself(full):
    with closing(sqlite3.connect(full)) as db:
        schema = " ".join(row[0] for row in db.execute("SELECT sql FROM sqlite_master"))
        value = json.loads(db.execute("SELECT value FROM records WHERE kind = 'settings'").fetchone()[0])
    assert "votes for each class, little-endian 64-bit integers" in schema
    assert value == dataclasses.asdict(SETTINGS)


# --- adding ---


@pytest.mark.parametrize("committed", [False, True])
def test_adding_again_changes_nothing_and_other_votes_are_an_error(path, committed):
    with opened(path) as store:
        store.add(1, "estimation", 7, [5, 5, 0], samples=10)
        if committed:
            store.flush()
        with pytest.raises(
            StoreError, match=r"the same settings gave other votes on graph 1, estimation, chunk 7"
        ) as e:
            store.add(1, "estimation", 7, [5, 4, 1], samples=10)
        assert "stored [5, 5, 0], now [5, 4, 1]. The classifier has changed, or it is not deterministic" in str(e.value)
        store.add(1, "estimation", 7, [5, 5, 0], samples=10)
        assert store.counts("estimation")[1].tolist() == [5, 5, 0]


@pytest.mark.parametrize("committed", [False, True])
def test_a_longer_chunk_takes_the_place_of_its_beginning(path, committed):
    with opened(path) as store:
        store.add(1, "estimation", 7, [5, 4, 1], samples=10)
        if committed:
            store.flush()
        with pytest.raises(StoreError, match="gave other votes on graph 1, estimation, chunk 7"):
            store.add(1, "estimation", 7, [4, 7, 1], samples=12)  # not what these ten began with
        store.add(1, "estimation", 7, [6, 4, 2], samples=12)
        store.add(1, "estimation", 7, [5, 4, 1], samples=10)  # known already
        assert store.done(1, "estimation") == {7: 12}
        assert store.counts("estimation")[1].tolist() == [6, 4, 2]
    with VoteStore.read(path) as store:
        assert store.chunks(1, "estimation")[0][1] == 12


def test_a_commit_that_is_tried_again_counts_once(path):
    with opened(path) as store:
        store.add(1, "estimation", 7, [5, 5, 0], samples=10)
        waiting = dict(store._waiting)
        store.flush()
        store._waiting.update(waiting)  # as after a commit that succeeded and was reported to have failed
        assert store.done(1, "estimation") == {7: 10}
        store.flush()
        assert store.counts("estimation").sum() == 10


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((3, "selection", 0, [1, 0, 0], 1), "'graph' must be a whole number from 0 to 2"),
        ((-1, "selection", 0, [1, 0, 0], 1), "'graph'"),
        ((True, "selection", 0, [1, 0, 0], 1), "'graph'"),
        ((0, "training", 0, [1, 0, 0], 1), "'purpose' must be one of selection, estimation"),
        ((0, "selection", -1, [1, 0, 0], 1), "'chunk'"),
        ((0, "selection", 0.5, [1, 0, 0], 1), "'chunk'"),
        ((0, "selection", 0, [1, 0], 1), "'counts' must be 3 whole numbers"),
        ((0, "selection", 0, [[1, 0, 0]], 1), "'counts'"),
        ((0, "selection", 0, [1.0, 0, 0], 1), "'counts'"),
        ((0, "selection", 0, [2, -1, 0], 1), "'counts'"),
        ((0, "selection", 0, None, 1), "'counts'"),
        ((0, "selection", 0, [2**64, 0, 0], 1), "'counts'"),
        ((0, "selection", 0, [2, 0, 0], 1), "'counts' must add up to the 1 samples"),
        ((0, "selection", 0, [0, 0, 0], 0), "'samples' must be a whole number from 1 to 1,000"),
        ((0, "selection", 0, [1001, 0, 0], 1001), "'samples'"),
    ],
)
def test_what_is_no_chunk_is_refused(path, arguments, problem):
    with opened(path) as store:
        *place, counts, samples = arguments
        with pytest.raises(InvalidParameterError, match=problem):
            store.add(*place, counts, samples=samples)
        assert store.summary().chunks == {"selection": 0, "estimation": 0}


def test_rows_are_committed_by_number(path):
    with opened(path) as store, VoteStore.read(path) as reader:
        for chunk in range(255):
            store.add(0, "selection", chunk, [1, 0, 0], samples=1)
        store._waiting_since = time.monotonic() + 60  # no commit by time from `add`
        store._stop_alarm()
        before = len(reader.done(0, "selection"))
        store.add(0, "selection", 255, [1, 0, 0], samples=1)
        assert before in (0, 255)  # 255 only if this machine took half a second
        assert len(reader.done(0, "selection")) in (256, 255 * (before > 0))


def test_rows_are_committed_by_time_even_if_nothing_follows(path):
    with opened(path) as store, VoteStore.read(path) as reader:
        store.add(0, "selection", 0, [1, 0, 0], samples=1)
        deadline = time.monotonic() + 20
        while not reader.done(0, "selection") and time.monotonic() < deadline:
            time.sleep(0.02)
        assert reader.done(0, "selection") == {0: 1}


def test_threads_may_share_a_store(path):
    with opened(path, 4) as store:

        def work(graph):
            for chunk in range(100):
                store.add(graph, "estimation", chunk, votes_of(graph, "estimation", chunk), samples=1000)
                assert chunk in store.done(graph, "estimation")

        threads = [threading.Thread(target=work, args=(graph,)) for graph in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with VoteStore.read(path) as store:
        assert store.counts("estimation").sum(axis=1).tolist() == [100_000] * 4


# --- continuing ---


def test_a_run_continues_and_remembers_its_sessions(full):
    with VoteStore.open(full, SETTINGS, graphs_of(3), provenance={"starcert": "0.3.0"}) as store:
        assert store.done(1, "selection") == dict.fromkeys(range(4), 1000)
        fill(store, 6)
    with VoteStore.read(full) as store:
        assert [session.provenance for session in store.sessions] == [PROVENANCE, {"starcert": "0.3.0"}]
        assert all(session.time.endswith("+00:00") for session in store.sessions)
        assert store.provenance == PROVENANCE
        assert store.counts("estimation").sum() == 3 * 6 * 1000


def test_every_difference_is_named(full):
    settings = Settings(
        {"motif": 0.3, "bonds": {"delete": 0.05, "add": 5e-324}, "ring": 0.1}, "other", 3, 5, 10, "cuda"
    )
    graphs = graphs_of(3)
    graphs[1] = dataclasses.replace(graphs[1], key="new", sizes={"motif": 9})
    before = full.read_bytes()
    with pytest.raises(StoreSettingsError) as caught:
        VoteStore.open(full, settings, graphs, provenance={})
    assert isinstance(caught.value, StarcertError | ValueError)
    assert set(caught.value.differences) == {
        "noise.motif: stored 0.30000000000000004, now 0.3",
        "noise.bonds.delete: stored 0.04, now 0.05",
        "noise.ring: stored nothing, now 0.1",
        "order of the regions: stored ['motif', 'bonds'], now ['motif', 'bonds', 'ring']",
        "classifier: stored 'a graph network, “seed 3”', now 'other'",
        f"seed: stored {2**100 + 1}, now 5",
        "chunk_size: stored 1000, now 10",
        "backend: stored 'cpu', now 'cuda'",
        "graph 1 key: stored 'key1', now 'new'",
        "graph 1 sizes.motif: stored 1, now 9",
        "graph 1 sizes.bonds.add: stored 7, now nothing",
    }
    message = str(caught.value)
    assert all(difference in message for difference in caught.value.differences)
    assert str(full) in message
    assert "write into another file" in message
    assert pickle.loads(pickle.dumps(caught.value)).differences == caught.value.differences
    assert full.read_bytes() == before


def test_the_order_of_the_regions_is_a_setting(full):
    turned = dataclasses.replace(SETTINGS, noise=dict(reversed(SETTINGS.noise.items())))
    with pytest.raises(StoreSettingsError, match="order of the regions"):
        opened(full, settings=turned)


def test_a_label_is_no_difference(full):
    graphs = [dataclasses.replace(record, name="other") for record in graphs_of(3)]
    with VoteStore.open(full, SETTINGS, graphs, provenance={}) as store:
        assert store.graphs[0].name == "g0"


def test_graphs_may_be_added_at_the_end_or_left_out_there(full):
    with opened(full, 5) as store:
        assert store.counts("selection").shape == (5, 3)
        store.add(4, "selection", 0, [1, 0, 0], samples=1)
    with opened(full, 2) as store:
        assert store.counts("selection").shape == (2, 3)
        assert store.counts("selection").sum() == 8000
        with pytest.raises(InvalidParameterError, match="'graph'"):
            store.add(4, "selection", 0, [1, 0, 0], samples=1)
    with VoteStore.read(full) as store:
        assert store.graphs == tuple(graphs_of(5))
        assert store.done(4, "selection") == {0: 1}


def test_graphs_are_numbered_by_their_place(path):
    with pytest.raises(InvalidParameterError, match=r"'graphs\[0\].graph' must be 0"):
        VoteStore.open(path, SETTINGS, graphs_of(2)[::-1], provenance={})
    assert not path.exists()


@pytest.mark.parametrize("change", [{"n_classes": 1}, {"seed": -1}, {"chunk_size": 0}, {"classifier": None}])
def test_bad_settings_are_refused(change):
    with pytest.raises(InvalidParameterError, match=next(iter(change))):
        dataclasses.replace(SETTINGS, **change)


@pytest.mark.parametrize(
    "law", [float("nan"), 10**400, float("inf"), -0.1, "0.1", {"delete": 0.1}, {"delete": 0.1, "add": 2}]
)
def test_bad_noise_is_refused(law):
    with pytest.raises(InvalidParameterError, match=r"noise\[a\]"):
        dataclasses.replace(SETTINGS, noise={"a": law})


# --- one writer, many readers ---

CHILD = """
import sys
sys.path.insert(0, {tests!r})
import importlib.util
spec = importlib.util.spec_from_file_location("test_store", {file!r})
test_store = importlib.util.module_from_spec(spec)
spec.loader.exec_module(test_store)
from pathlib import Path
path = Path({path!r})
"""


def child(path, code, **options):
    head = CHILD.format(tests=os.path.dirname(__file__), file=__file__, path=str(path))
    return subprocess.Popen([sys.executable, "-c", head + code], **options)


def test_a_second_writer_is_turned_away_at_once(full):
    code = "store = test_store.opened(path)\nprint('ready', flush=True)\nsys.stdin.read()\nstore.close()"
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
    assert store.sessions[-1].provenance == PROVENANCE


HAMMERING = """
import os, time
from starcert.errors import StoreError
alone = path.with_name("alone")
counts = {"opened": 0, "turned away": 0}
print("ready", flush=True)
end = time.monotonic() + float(sys.stdin.readline())
while time.monotonic() < end:
    try:
        store = test_store.opened(path)
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


def test_six_processes_at_once_and_never_two_writers(path):
    """Each opens, writes and closes as often as it can: one is let in at a time, and no error but that one is met."""
    processes = [
        child(path, HAMMERING, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    assert [each.stdout.readline() for each in processes] == ["ready\n"] * 6
    for each in processes:
        each.stdin.write("3\n")
        each.stdin.flush()
    told = [each.communicate() for each in processes]
    assert [err for _, err in told] == [""] * 6
    counts = [ast.literal_eval(out) for out, _ in told]
    assert sum(each["opened"] for each in counts) > 6
    assert sum(each["turned away"] for each in counts) > 6
    assert os.listdir(path.parent) == [path.name]
    with VoteStore.read(path) as store:
        assert len(store.sessions) == sum(each["opened"] for each in counts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_copy_does_not_keep_the_lock(path):
    """The worker of somebody's own pool lives on when its parent is killed."""
    code = """
import os, signal, time
store = test_store.opened(path)
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
        assert reader.summary().integrity == "good"


def test_a_reader_does_not_write(full):
    with VoteStore.read(full) as reader:
        with pytest.raises(StoreError, match="opened for reading"):
            reader.add(0, "selection", 9, [1, 0, 0], samples=1)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader._db.execute("DELETE FROM chunks")


def test_a_closed_store_says_so(full):
    with opened(full) as store:
        pass
    store.close()
    for call in (store.summary, lambda: store.done(0, "selection"), lambda: store.counts("selection")):
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
        assert store.done(0, "selection") == {0: 1, 1: 1}


# --- kills ---


def test_a_killed_run_continues_to_the_full_set(path):
    """SIGKILL at any moment: every chunk that is stored is right, and continuing gives exactly the full set."""
    code = "with test_store.opened(path) as store:\n    print('ready', flush=True)\n    test_store.go_on(store, 600)"
    rng = random.Random(5)
    stored = [0]
    for attempt in range(12):
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
        go_on(store, 600)
    with VoteStore.read(path) as store:
        assert check_votes(store) == 3 * 2 * 600
        assert all(set(store.done(graph, purpose)) == set(range(600)) for graph in range(3) for purpose in PURPOSES)
        expected = [
            np.sum([votes_of(graph, "selection", c) for c in range(600)], axis=0).tolist() for graph in range(3)
        ]
        assert store.counts("selection").tolist() == expected
    assert os.listdir(path.parent) == [path.name]


def go_on(store, chunks):
    """What the killed process does: adds what is missing, and commits often."""
    places = [(graph, purpose) for graph in range(len(store.graphs)) for purpose in PURPOSES]
    done = {place: store.done(*place) for place in places}
    for chunk in range(chunks):
        for place in places:
            if chunk not in done[place]:
                store.add(*place, chunk, votes_of(*place, chunk), samples=1000)
        if chunk % 3 == 0:
            store.flush()


def check_votes(store):
    """The number of stored chunks, each of which is right."""
    assert store.summary().integrity == "good"
    number = 0
    for graph in range(len(store.graphs)):
        for purpose in PURPOSES:
            for chunk, samples, votes in store.chunks(graph, purpose):
                assert (samples, votes.tolist()) == (1000, votes_of(graph, purpose, chunk))
                number += 1
    assert number == sum(store.summary().chunks.values())
    return number


@pytest.mark.parametrize("first", ["read", "open"])
def test_half_a_commit_is_taken_back(full, first):
    """The process dies when part of a transaction is in the file already, and its journal beside it."""
    code = """
store = test_store.opened(path)
store._db.execute("PRAGMA cache_size = 1")
store._db.execute("BEGIN IMMEDIATE")
rows = [test_store.StoredChunk(0, "selection", chunk, 1, (1, 0, 0)).row for chunk in range(100, 5000)]
store._db.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", rows)
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
"""
    size = full.stat().st_size
    assert child(full, code).wait() == -signal.SIGKILL
    assert full.stat().st_size > size
    assert os.path.exists(f"{full}-journal")
    with VoteStore.read(full) if first == "read" else opened(full) as store:
        assert store.summary().chunks == {"selection": 12, "estimation": 12}
    with opened(full) as store:
        fill(store, 4)
        assert store.summary().chunks == {"selection": 12, "estimation": 12}


def test_a_process_that_dies_while_creating_leaves_nothing(path):
    code = """
from starcert.store import votes as store
def die(db):
    create_schema(db)
    db.execute("PRAGMA cache_size = 1")
    rows = [("graph", n, "x" * 3000, b"") for n in range(1000, 1200)]
    db.executemany("INSERT INTO records VALUES (?, ?, ?, ?)", rows)
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
create_schema, store.create_schema = store.create_schema, die
test_store.opened(path)
"""
    assert child(path, code).wait() == -signal.SIGKILL
    assert path.stat().st_size > 0
    shutil.copy(path, path.with_name("copy.db"))
    shutil.copy(f"{path}-journal", path.with_name("copy.db-journal"))
    with pytest.raises(StoreError, match="nothing was stored"):
        VoteStore.read(path.with_name("copy.db"))
    with opened(path) as store:
        fill(store, 1)
        assert store.summary().integrity == "good"


def test_an_empty_file_is_new(path):
    path.touch()
    with pytest.raises(StoreError, match="nothing was stored"):
        VoteStore.read(path)
    with opened(path) as store:
        fill(store, 1)
    with VoteStore.read(path) as store:
        assert store.counts("selection").sum() == 3000


# --- disks that fail ---


def test_a_full_disk_loses_nothing_that_was_committed(path):
    def run():
        with opened(path) as store:
            fill(store, 4)
            store.flush()
            pages = store._db.execute("PRAGMA page_count").fetchone()[0]
            store._db.execute(f"PRAGMA max_page_count = {pages}")
            fill(store, 200)

    with pytest.raises(StoreError) as caught:
        run()
    message = str(caught.value)
    assert isinstance(caught.value, OSError)
    assert "could not write 256 chunks: database or disk is full" in message
    assert "What was committed before is safe: 24 chunks." in message
    assert "Free some space" in message
    assert "could not be closed in order" in caught.value.__notes__[0]
    assert os.listdir(path.parent) == [path.name]
    with VoteStore.read(path) as store:
        assert store.summary().chunks == {"selection": 12, "estimation": 12}
    with opened(path) as store:
        fill(store, 200)
        assert store.summary().chunks == {"selection": 600, "estimation": 600}


def test_what_could_not_be_written_is_tried_again(path):
    with opened(path) as store:
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="disk is full"):
            fill(store, 200)
        store._db.execute("PRAGMA max_page_count = 1000000")
        fill(store, 200)
    with VoteStore.read(path) as store:
        assert store.counts("selection").sum() == 600_000


def test_a_disk_that_fails_in_the_background_is_reported_by_the_next_call(path):
    with opened(path) as store:
        store._db.execute("PRAGMA query_only = ON")
        store.add(0, "selection", 0, [1, 0, 0], samples=1)
        store._alarm.join()
        with pytest.raises(StoreError, match="could not write 2 chunks: attempt to write a readonly database"):
            store.add(0, "selection", 1, [1, 0, 0], samples=1)
        store._db.execute("PRAGMA query_only = OFF")
    with VoteStore.read(path) as store:
        assert store.done(0, "selection") == {0: 1, 1: 1}


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
            assert reader.summary().chunks == {"selection": 12, "estimation": 12}
        store.flush()
    with VoteStore.read(full) as reader:
        assert reader.summary().chunks == {"selection": 12 + 241, "estimation": 12}


def test_a_file_that_was_taken_away_is_noticed(full):
    store = opened(full)
    store.add(0, "selection", 50, [1, 0, 0], samples=1)
    os.rename(full, full.with_name("moved.db"))
    with pytest.raises(StoreError, match=r"could not write 1 chunk: .* 24 chunks\."):
        store.close()
    with VoteStore.read(full.with_name("moved.db")) as store:
        assert store.summary().chunks == {"selection": 12, "estimation": 12}


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


# --- files from anywhere ---


def refused(path, reason):
    """Both ways of opening refuse the file, give the reason in one line, and leave it as it is."""
    before = path.read_bytes()
    for way in (VoteStore.read, opened):
        with pytest.raises(StoreError, match=reason) as caught:
            way(path)
        assert str(path) in str(caught.value)
        assert str(caught.value).isprintable()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    "content",
    [b"x", b"hello, world\n", b"\n" * 511, b"graph,votes\n" * 5000, random.Random(1).randbytes(20_000), bytes(8192)],
)
def test_what_is_no_database_is_refused(path, content):
    path.write_bytes(content)
    refused(path, "file is not a database|nothing was stored")


def test_a_foreign_database_is_refused(path):
    edit(path, "CREATE TABLE chunks (x)", "INSERT INTO chunks VALUES (1)")
    refused(path, "not one of starcert's")


@pytest.mark.parametrize("version", [0, FORMAT + 1, -1])
def test_another_format_is_refused(full, version):
    edit(full, f"PRAGMA user_version = {version}")
    refused(full, f"its format is {version}, this starcert reads format {FORMAT}")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE TRIGGER trap AFTER INSERT ON chunks BEGIN DELETE FROM chunks; END", "trap"),
        ("CREATE VIEW look AS SELECT * FROM chunks", "look"),
        ("CREATE TABLE more (x)", "more"),
        ("CREATE INDEX quick ON chunks (samples)", "quick"),
        ("ALTER TABLE chunks ADD COLUMN weight INTEGER", "chunks"),
        ("ALTER TABLE records RENAME TO notes", "notes, records"),
        ("DROP TABLE chunks", "chunks"),
        ("ANALYZE", "sqlite_stat1"),
    ],
)
def test_another_schema_is_refused(full, statement, name):
    edit(full, statement)
    refused(full, f"its schema is not starcert's: {name}")


def test_a_view_in_the_place_of_a_table_is_refused_and_not_run(full):
    edit(full, "ALTER TABLE chunks RENAME TO kept", "CREATE VIEW chunks AS SELECT * FROM kept, json_each(zeroblob(9))")
    refused(full, "its schema is not starcert's: chunks, kept")


def test_a_schema_that_sqlite_cannot_parse_is_refused(full):
    edit(
        full,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = 'CREATE TABLE chunks ((' WHERE name='chunks'",
    )
    refused(full, "malformed database schema")


def test_a_write_ahead_log_is_refused(full):
    edit(full, "PRAGMA journal_mode = WAL")
    with pytest.raises(StoreError, match="journal mode"):
        VoteStore.read(full)


def test_a_truncated_file_is_refused(full):
    content = full.read_bytes()
    for size in (1, 50, 100, 4096, len(content) - 4096, len(content) - 1):
        full.write_bytes(content[:size])
        refused(full, "cannot be used")


def test_a_row_that_vanished_from_its_page_is_noticed(full):
    """All rows that are left are good; only the bookkeeping of the page tells."""
    content = full.read_bytes()
    leaves = [start for start in range(0, len(content), 4096) if content[start] == 10]
    assert leaves
    for start in leaves:
        cells = int.from_bytes(content[start + 3 : start + 5], "big") - 1
        full.write_bytes(content[: start + 3] + cells.to_bytes(2, "big") + content[start + 5 :])
        refused(full, "it is damaged")


def counts_blob(*counts):
    return struct.pack(f"<{len(counts)}q", *counts)


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("counts", counts_blob(1, 2, 3), "do not add up to its 1000 samples"),
        ("counts", counts_blob(1001, -1, 0), "negative"),
        ("counts", counts_blob(2**62, 2**62, 1000), "do not add up"),
        ("counts", counts_blob(500, 500), "does not hold 3 counts"),
        ("counts", counts_blob(500, 500, 0, 0), "does not hold 3 counts"),
        ("counts", b"", "does not hold 3 counts"),
        ("counts", "[500, 500, 0]", "does not hold 3 counts"),
        ("counts", counts_blob(0, 0, 1000), "does not agree with its digest"),
        ("samples", 2**60, "samples, not 1 to 1000"),
        ("samples", 0, "samples, not 1 to 1000"),
        ("samples", "many", "samples, not 1 to 1000"),
        ("samples", 1000.5, "samples, not 1 to 1000"),
        ("samples", 999, "do not add up"),
        ("chunk", 77, "does not agree with its digest"),
        ("chunk", -1, "has no valid number"),
        ("chunk", "x", "has no valid number"),
        ("chunk", 2**40, "has no valid number"),
        ("graph", 2**40, "no valid graph or purpose"),
        ("graph", "x", "no valid graph or purpose"),
        ("purpose", "training\x1b[2J", "no valid graph or purpose"),
        ("purpose", 7, "no valid graph or purpose"),
        ("digest", b"0" * 16, "does not agree with its digest"),
    ],
)
def test_votes_that_cannot_be_are_refused(full, column, value, reason):
    query = f"UPDATE chunks SET {column} = ? WHERE graph = 1 AND purpose = 'estimation' AND chunk = 2"
    edit(full, (query, (value,)))
    refused(full, reason)


def test_huge_counts_that_add_up_are_refused(full):
    row = StoredChunk(0, "selection", 9, 2**55, (2**55, 0, 0)).row
    edit(full, ("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", row))
    refused(full, "samples, not 1 to 1000")


def test_votes_on_a_graph_that_is_not_there_are_refused(full):
    row = StoredChunk(3, "selection", 0, 1, (1, 0, 0)).row
    edit(full, ("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", row))
    refused(full, "votes on graph 3, but only 3 graphs")


SETTINGS_TEXT = json.dumps(dataclasses.asdict(SETTINGS))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SETTINGS_TEXT.replace("0.04", "NaN"), r"noise\[bonds\]\[delete\].* must be a probability"),
        (SETTINGS_TEXT.replace("0.04", "1e999"), "must be a probability"),
        (SETTINGS_TEXT.replace("0.04", '"0.04"'), "must be a probability"),
        (SETTINGS_TEXT.replace("0.04", "0.05"), "does not agree with its digest"),
        (SETTINGS_TEXT.replace('"n_classes": 3', '"n_classes": 3.0'), "'n_classes' must be a whole number"),
        (SETTINGS_TEXT.replace('"n_classes": 3', '"n_classes": 99999999999'), "'n_classes' must be a whole number"),
        (SETTINGS_TEXT.replace('"n_classes": 3', '"n_classes": ' + "9" * 5000), "is not what it should be"),
        (SETTINGS_TEXT.replace('"n_classes": 3', '"n_classes": true'), "'n_classes'"),
        (SETTINGS_TEXT.replace('"n_classes": 3', '"n_classes": 2, "n_classes": 3'), "digest"),
        (SETTINGS_TEXT.replace('"cpu"', "7"), "'backend' must be a string"),
        (SETTINGS_TEXT.replace('"backend"', '"front"'), "is not what it should be"),
        ("[" * 100_000, "is not what it should be"),
        ("[1, 2]", "is not what it should be"),
        ("{", "is not what it should be"),
        ("7", "is not what it should be"),
        (b"\xff\xfe\x00", "is not what it should be"),
        (7, "is not what it should be"),
    ],
)
def test_settings_that_cannot_be_are_refused(full, text, reason):
    edit(full, ("UPDATE records SET value = ? WHERE kind = 'settings'", (text,)))
    refused(full, reason)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("DELETE FROM records WHERE kind = 'settings'", "settings are missing"),
        ("DELETE FROM records WHERE kind = 'session'", "no session"),
        ("DELETE FROM records WHERE kind = 'graph' AND number = 1", "one before it is missing"),
        ("DELETE FROM records WHERE kind = 'graph' AND number = 2", "only 2 graphs"),
        ("UPDATE records SET kind = 'code' WHERE kind = 'session'", "'code' 0 does not belong there"),
        ("UPDATE records SET number = 5 WHERE kind = 'graph' AND number = 2", "'graph' 5 does not belong"),
        ("UPDATE records SET value = replace(value, 'key1', 'key9') WHERE kind = 'graph'", "'graph' 1 does not agree"),
    ],
)
def test_records_that_cannot_be_are_refused(full, statement, reason):
    edit(full, statement)
    refused(full, reason)


def test_damage_anywhere_is_found_or_does_not_matter(full, tmp_path):
    """Bits flipped, bytes changed, blocks wiped, ends cut off: an error, or exactly the original votes."""
    with opened(full) as store:
        fill(store, 40)
    with VoteStore.read(full) as store:
        expected = everything(store)
    content = full.read_bytes()
    rng = random.Random(2024)
    refusals = 0
    for trial in range(160):
        damaged = bytearray(content)
        place = (
            rng.randrange(len(content))
            if trial % 2
            else rng.randrange(200) + 4096 * rng.randrange(len(content) // 4096)
        )
        place = min(place, len(content) - 1)
        match trial % 5:
            case 0 | 1:
                damaged[place] ^= 1 << rng.randrange(8)
            case 2:
                damaged[place] ^= rng.randrange(1, 256)
            case 3:
                damaged[place : place + 64] = bytes(64)
            case 4:
                del damaged[max(place, 1) :]
        target = tmp_path / f"{trial}.db"
        target.write_bytes(damaged)
        for way in (VoteStore.read, opened):
            try:
                with way(target) as store:
                    settings, graphs, sessions, votes = everything(store)
                    assert (settings, graphs, sessions[:2], votes) == expected, (trial, place)
            except StoreError:
                refusals += 1
    assert refusals > 160
