"""Flips of votes against a class, and votes at attacked graphs, in a store."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from store_worlds import AXES, SETTINGS, child, done, fill, fill_evidence, flips_of, opened, votes_of

from starcert.math.ballots import Ballots
from starcert.math.flips import ShownFlips
from starcert.system.errors import StoreError
from starcert.voting.store import GraphRecord, VoteStore


def put(store, graph=1, chunk=2, record=None, **options):
    given = {"samples": 1000, "ballots": flips_of(graph, chunk) if record is None else record} | options
    store.add(graph, "estimation", chunk, votes_of(graph, "estimation", chunk), **given)


def shorter(record, samples):
    """The record of the first so many votes of which the first one in four is against the class."""
    few = record.to_arrays()
    n = samples // 4
    form = {"bits": few["bits"][:n]} if "bits" in few else {"starts": few["starts"][: n + 1]}
    if "starts" in form:
        form["positions"] = few["positions"][: form["starts"][-1]]
    counts = {"samples": np.array([samples]), "kept": np.array([n]), "answers": few["answers"][:n]}
    head = {name: few[name] for name in ("labels", "n_sites")}
    return Ballots.from_arrays(head | counts | form)


def test_records_come_back_as_they_were(path):
    with opened(path) as store:
        fill(store, 4)
        fill_evidence(store, 4)
        waiting = [store.ballots(graph) for graph in range(3)]
    with VoteStore.read(path) as store:
        for graph in range(3):
            found = store.ballots(graph)
            assert sorted(found) == sorted(waiting[graph]) == [0, 1, 2, 3]
            for chunk, record in found.items():
                expected = flips_of(graph, chunk)
                assert record.agrees_with(expected.by_numbers(AXES) if graph == 2 else expected)
                assert record.agrees_with(waiting[graph][chunk])
        forms = {record.bits is None for graph in range(2) for record in store.ballots(graph).values()}
        assert forms == {True, False}


def test_votes_without_a_record_get_one_later(path):
    with opened(path) as store:
        fill(store, 3)
    with opened(path) as store:
        assert store.ballots(1) == {}
        put(store)
        put(store)  # again: nothing changes
    with VoteStore.read(path) as store:
        assert list(store.ballots(1)) == [2]
        assert store.n_chunks == {"selection": 9, "estimation": 9}


@pytest.mark.parametrize("committed", [False, True])
def test_other_flips_of_the_same_votes_are_refused(path, committed):
    with opened(path) as store:
        put(store)
        if committed:
            store.flush()
        good = flips_of(1, 2).to_arrays()
        other = Ballots.from_arrays(good | {"bits": good["bits"][::-1]})
        with pytest.raises(StoreError, match=r"other votes on graph 1, estimation, chunk 2: .* other answers or flips"):
            put(store, record=other)
        assert store.ballots(1)[2].agrees_with(flips_of(1, 2))


def test_a_record_against_another_class_takes_the_place_of_one(path):
    with opened(path) as store:
        put(store)
        store.flush()
        put(store, record=flips_of(1, 2, label=2))
        assert store.ballots(1)[2].labels == (2,)
    with VoteStore.read(path) as store:
        assert store.ballots(1)[2].agrees_with(flips_of(1, 2, label=2))


def test_the_longer_record_is_kept(path):
    full = flips_of(1, 2)
    few = shorter(full, 40)
    counts = np.bincount(few.answers[:, 0], minlength=3)
    counts[0] = 30
    with opened(path) as store:
        store.add(1, "estimation", 2, counts, samples=40, ballots=few)
        store.flush()
        assert store.ballots(1)[2].agrees_with(few)
        put(store, record=full)
        assert store.ballots(1)[2].agrees_with(full)
        store.add(1, "estimation", 2, counts, samples=40, ballots=few)
        assert store.ballots(1)[2].agrees_with(full)
    with VoteStore.read(path) as store:
        assert store.ballots(1)[2].agrees_with(full)


def test_votes_may_be_more_than_were_recorded(path):
    """A longer chunk without a record leaves the record of its beginning, which stays good."""
    few = shorter(flips_of(1, 2), 40)
    counts = np.bincount(few.answers[:, 0], minlength=3)
    counts[0] = 30
    with opened(path) as store:
        store.add(1, "estimation", 2, counts, samples=40, ballots=few)
        store.add(1, "estimation", 2, votes_of(1, "estimation", 2), samples=1000)
    with opened(path) as store:
        assert store.ballots(1)[2].agrees_with(few)
        put(store)
        assert store.ballots(1)[2].agrees_with(flips_of(1, 2))


def test_ballots_of_several_targets_are_one(path):
    graphs = [GraphRecord(0, "key", "sites", {"motif": 3}, n_targets=2)]
    counts = votes_of(0, "estimation", 0)
    one = flips_of(0, 0)
    both = replace(one, labels=(0, 1), answers=np.concatenate([one.answers, one.answers[::-1]], axis=1))
    place = 0, "estimation", 0, [counts, counts]
    with VoteStore.open(path, SETTINGS, graphs) as store:
        store.add(*place, samples=1000, ballots=both)
        store.add_attack(0, [3], 0, [5, 0, 0], target=1)
    with VoteStore.read(path) as store:
        assert store.attack_chunks(0, [3]) == []
        assert store.attack_chunks(0, [3], target=1)[0][1].tolist() == [5, 0, 0]
        assert store.ballots(0)[0].agrees_with(both)
    with VoteStore.open(path, SETTINGS, graphs) as store:
        with pytest.raises(StoreError, match="other answers or flips"):
            store.add(*place, samples=1000, ballots=replace(both, answers=both.answers[:, [0, 0]]))
        few = both.at(np.arange(0, 403, 5))
        store.add(*place, samples=1000, ballots=few)  # of another question
        assert store.ballots(0)[0].agrees_with(few)


@pytest.mark.parametrize("rate", [0.01, 0.4])
def test_flips_with_what_they_show_come_back(path, rate):
    """A few of 403 sites flip, and positions are kept; or many, and bits are."""
    rng = np.random.default_rng(5)
    counts = votes_of(1, "estimation", 2)
    classes = np.repeat([1, 2], counts[1:])
    flips = rng.random((len(classes), 403)) < rate
    shown = rng.integers(0, 5, flips.sum()).astype(np.uint8)
    given = ShownFlips(np.packbits(flips, axis=1, bitorder="little"), shown)
    record = Ballots.of_chunk([0], 403, 1000, classes[:, None], [given])
    assert (record.bits is None) == (rate == 0.01)
    with opened(path) as store:
        store.add(1, "estimation", 2, counts, samples=1000, ballots=record)
    with VoteStore.read(path) as store:
        assert store.ballots(1)[2].agrees_with(record)


def test_attacks_come_back_as_they_were(path):
    with opened(path) as store:
        store.add_attack(1, (7, 3), 1, [2, 3, 0])
        store.add_attack(1, [3, 7], 0, [5, 0, 0])
        store.add_attack(1, [3], 0, [0, 5, 0])
        store.add_attack(2, [3], 0, [0, 0, 5])
        found = [(number, counts.tolist()) for number, counts, _ in store.attack_chunks(1, [7, 3])]
        assert found == [(0, [5, 0, 0]), (1, [2, 3, 0])]  # before they are committed
    with opened(path) as store:
        store.add_attack(1, [3, 7], 1, [2, 3, 0])  # again: nothing changes
    with VoteStore.read(path) as store:
        found = [(number, counts.tolist()) for number, counts, _ in store.attack_chunks(1, [3, 7])]
        assert found == [(0, [5, 0, 0]), (1, [2, 3, 0])]
        assert store.attack_chunks(0, [3]) == []
        assert store.attack_chunks(1, [4]) == []
        assert store.counts("estimation").sum() == 0  # they are no votes on the graph itself
        with pytest.raises(StoreError, match="opened for reading"):
            store.add_attack(1, [3], 0, [1, 0, 0])


def test_flips_of_votes_at_attacked_graphs_come_back(path):
    with opened(path) as store:
        axes = len(store.graphs[1].sizes)
        numbers = np.arange(3 * axes).reshape(3, axes)
        store.add_attack(1, [3], 0, [2, 3, 0], numbers)
    with VoteStore.read(path) as store:
        ((_, counts, found),) = store.attack_chunks(1, [3])
        assert counts.tolist() == [2, 3, 0]
        np.testing.assert_array_equal(found, numbers)


def test_other_votes_at_an_attacked_graph_are_refused(path):
    with opened(path) as store:
        store.add_attack(1, [3, 7], 0, [5, 0, 0])
        store.flush()
        with pytest.raises(
            StoreError, match=r"other votes on graph 1 attacked at \[3, 7\], chunk 0: stored \[5, 0, 0\]"
        ):
            store.add_attack(1, [7, 3], 0, [0, 5, 0])


KILLED = """
store = store_worlds.opened(path)
for chunk in range(1000):
    record = store_worlds.flips_of(1, chunk)
    counts = store_worlds.votes_of(1, "estimation", chunk)
    store.add(1, "estimation", chunk, counts, samples=1000, ballots=record)
    store.add_attack(1, [chunk], 0, counts)
    if chunk % 3 == 0:
        store.flush()
        print(chunk, flush=True)
"""


def test_a_kill_leaves_whole_records(path):
    with child(path, KILLED, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) >= 30:
                process.kill()
                break
    with opened(path) as store:
        found = store.ballots(1)
        assert len(found) >= 30
        assert sorted(found) == sorted(done(store, 1, "estimation"))  # votes and their flips come together
        assert all(record.agrees_with(flips_of(1, chunk)) for chunk, record in found.items())
        attacked = [chunk for chunk in found if store.attack_chunks(1, [chunk])]
        assert len(attacked) in (len(found), len(found) - 1)
