"""A store gives back what it was given, takes what may be added, and continues what is the same run."""

import dataclasses
import json
import os
import pickle
import sqlite3
import time
from contextlib import closing

import numpy as np
import pytest
from store_worlds import SETTINGS, done, edit, fill, graphs_of, opened

from starcert.system.errors import InvalidParameterError, StarcertError, StoreError, StoreSettingsError
from starcert.system.files import versions
from starcert.voting.store import VoteSettings, VoteStore


def test_a_store_gives_back_exactly_what_it_was_given(path):
    with opened(path) as store:
        store.add(0, "selection", 0, [100, 0, 0], samples=100)
        votes = np.array([1, 2, 997], dtype=np.uint16)
        store.add(np.int64(2), "estimation", np.int32(5), votes, samples=np.int64(1000))
        store.add(2, "estimation", 1, (1000, 0, 0), samples=1000)
    assert os.listdir(path.parent) == [path.name]  # no journal, no lock
    with VoteStore.read(path) as store:
        assert store.settings == SETTINGS
        assert store.settings.noise["bonds"]["add"] == 1e-100
        assert store.settings.noise["motif"].hex() == (0.1 + 0.2).hex()
        assert list(store.settings.noise) == ["motif", "bonds"]
        assert store.graphs == tuple(graphs_of(3))
        assert store.sessions[0].provenance == versions()
        assert done(store, 2, "estimation") == {1: 1000, 5: 1000}
        assert done(store, 2, "selection") == {}
        (first, second) = store.tallies(2, "estimation")
        assert (first[0], first[1], first[2].tolist()) == (1, 1000, [[1000, 0, 0]])
        assert (second[0], second[2].tolist(), second[2].dtype) == (5, [[1, 2, 997]], np.int64)
        counts = store.counts("estimation")
        assert counts.dtype == np.int64
        assert counts.tolist() == [[0, 0, 0], [0, 0, 0], [1001, 2, 997]]
        assert store.counts("selection").tolist() == [[100, 0, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("committed", [False, True])
def test_numbers_of_numpy_find_the_same_rows(path, committed):
    with opened(path) as store:
        store.add(2, "estimation", 5, [1, 2, 997], samples=1000)
        store.add_attack(np.int64(2), np.array([3]), np.int64(0), np.array([1, 0, 0]))
        if committed:
            store.flush()
        with pytest.raises(StoreError, match="gave other votes on graph 2, estimation, chunk 5"):
            store.add(np.int64(2), "estimation", np.int32(5), [997, 2, 1], samples=np.int64(1000))
        assert [chunk for chunk, _, _ in store.tallies(np.int64(2), "estimation")] == [5]
        assert len(store.attack_chunks(2, [3])) == len(store.attack_chunks(np.int64(2), np.array([3]))) == 1


def test_chunks_that_wait_are_seen_by_the_writer(path):
    with opened(path) as store:
        store.add(1, "selection", 0, [5, 0, 0], samples=5)
        assert done(store, 1, "selection") == {0: 5}
        assert store.tallies(1, "selection")[0][2].tolist() == [[5, 0, 0]]
        assert store.counts("selection")[1].tolist() == [5, 0, 0]


def test_chunks_are_counted(full):
    with VoteStore.read(full) as store:
        assert store.n_chunks == {"selection": 12, "estimation": 12}


def test_damage_that_came_later_is_found(full):
    with VoteStore.read(full) as store:
        edit(full, "UPDATE chunks SET samples = 999 WHERE graph = 1 AND chunk = 2")
        with pytest.raises(StoreError, match="graph 1, selection, chunk 2"):
            store.counts("selection")


def test_settings_are_stored_as_plain_json(full):
    with closing(sqlite3.connect(full)) as db:
        value = json.loads(db.execute("SELECT value FROM records WHERE kind = 'settings'").fetchone()[0])
    assert value == dataclasses.asdict(SETTINGS)


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
        assert done(store, 1, "estimation") == {7: 12}
        assert store.counts("estimation")[1].tolist() == [6, 4, 2]
    with VoteStore.read(path) as store:
        assert store.tallies(1, "estimation")[0][1] == 12


def test_a_commit_that_is_tried_again_counts_once(path):
    with opened(path) as store:
        store.add(1, "estimation", 7, [5, 5, 0], samples=10)
        waiting = dict(store.waiting)
        store.flush()
        store.waiting.update(waiting)  # as after a commit that succeeded and was reported to have failed
        assert done(store, 1, "estimation") == {7: 10}
        store.flush()
        assert store.counts("estimation").sum() == 10


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((3, "selection", 0, [1, 0, 0], 1), "'graph' must be a whole number from 0 to 2"),
        ((0, "selection", 0, [2, 0, 0], 1), "'counts' must add up to the 1 samples"),
        ((0, "selection", 0, [2, -1, 0], 1), "'counts'"),
        ((0, "selection", 0, [0, 0, 0], 0), "'samples' must be a whole number from 1 to 1,000"),
        ((0, "selection", 0, [1001, 0, 0], 1001), "'samples'"),
    ],
)
def test_what_is_no_chunk_is_refused(path, arguments, problem):
    with opened(path) as store:
        *place, counts, samples = arguments
        with pytest.raises(InvalidParameterError, match=problem):
            store.add(*place, counts, samples=samples)
        assert store.n_chunks == {"selection": 0, "estimation": 0}


def test_rows_are_committed_soon_even_if_nothing_follows(path):
    with opened(path) as store, VoteStore.read(path) as reader:
        store.add(0, "selection", 0, [1, 0, 0], samples=1)
        deadline = time.monotonic() + 20
        while not done(reader, 0, "selection") and time.monotonic() < deadline:
            time.sleep(0.02)
        assert done(reader, 0, "selection") == {0: 1}


def test_a_run_continues_and_remembers_its_sessions(full):
    with VoteStore.open(full, SETTINGS, graphs_of(3)) as store:
        assert done(store, 1, "selection") == dict.fromkeys(range(4), 1000)
        fill(store, 6)
    with VoteStore.read(full) as store:
        assert [session.provenance for session in store.sessions] == [versions()] * 2
        assert all(session.time.endswith("+00:00") for session in store.sessions)
        assert store.counts("estimation").sum() == 3 * 6 * 1000


def test_every_difference_is_named(full):
    settings = VoteSettings(
        {"motif": 0.3, "bonds": {"delete": 0.05, "add": 1e-100}, "ring": 0.1}, "other", 3, 5, 10, "cuda"
    )
    graphs = graphs_of(3)
    graphs[1] = dataclasses.replace(graphs[1], key="new", sizes={"motif": 9})
    before = full.read_bytes()
    with pytest.raises(StoreSettingsError) as caught:
        VoteStore.open(full, settings, graphs)
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
    with VoteStore.open(full, SETTINGS, graphs) as store:
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
        assert done(store, 4, "selection") == {0: 1}
