"""Which sites flipped in votes against the class: what is recorded is what was drawn, however it was made."""

import functools
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pytest
import worlds
from asking import how_to

import starcert as sc
from starcert.classifiers import Classifier
from starcert.math.ballots import Ballots
from starcert.objects.binding import first_axis_of_sites
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.system.errors import ClassifierError, InvalidParameterError, StarcertWarning, StoreError
from starcert.voting import counting, vote_loop
from starcert.voting.counting import tallies
from starcert.voting.plans import Chunk, FixedPlan, Job, Plan, Recorded, Wanted
from starcert.voting.store import VoteStore

SIZE = 128
SAMPLES = 1000
LAWS = {
    "dense": worlds.NOISE,
    "few flips": sc.Noise(core=0.02, rest=sc.Flip(delete=0.01, add=0.0)),
    "one way": sc.Noise(core=sc.Flip(delete=0.3, add=0.0), rest=1.0),
}


def vote(noise=worlds.NOISE, *, n=3, samples=SAMPLES, base=worlds.dense_core, **options):
    classifier = sc.classifiers.from_callable(base, on="batch", description="dense core")
    smoothed = sc.SmoothedClassifier(classifier, noise, worlds.PARTITION)
    return smoothed.vote(
        worlds.graphs(n), **how_to(samples=samples, seed=7, chunk_size=SIZE, **{"record": True} | options)
    )


@functools.cache
def reference(name: str = "dense") -> sc.Votes:
    return vote(LAWS[name])


def same(one: sc.Votes, other: sc.Votes) -> bool:
    return all(mine.agrees_with(theirs) for mine, theirs in zip(one.records, other.records, strict=True))


def seen_one_by_one(graph: sc.Graph, noise: sc.Noise, samples: int, label: int):
    """Flips and answers of the votes against a class, each copy drawn and asked alone."""
    sites = worlds.PARTITION.sites(graph)
    clean = np.zeros(sites.n_sites, dtype=np.uint8)
    clean[sites.nonzero[0]] = 1
    flips, classes, against = [], [], []
    for number in range(-(-samples // SIZE)):
        batch = sampler(sites, noise).draw(WordStream.of_chunk(7, graph.key, "estimation", number), SIZE)
        before = len(classes)
        for copy in range(min(SIZE, samples - number * SIZE)):
            one = batch[copy : copy + 1]
            if (answer := int(worlds.dense_core(one)[0])) != label:
                flips.append(one.values[0] ^ clean)
                classes.append(answer)
        against.append(len(classes) - before)
    return np.array(flips, dtype=bool).reshape(-1, sites.n_sites), classes, against


@pytest.mark.parametrize("name", LAWS)
def test_records_are_what_is_seen_copy_by_copy(name):
    votes = reference(name)
    for row, graph in enumerate(worlds.graphs()):
        record = votes.records[row]
        label = int(votes.selection[row].argmax())
        flips, classes, against = seen_one_by_one(graph, LAWS[name], SAMPLES, label)
        assert (record.labels, record.n_sites) == ((label,), 30)
        assert record.samples.tolist() == [SIZE] * 7 + [SAMPLES - 7 * SIZE]
        assert record.kept.tolist() == against
        assert record.answers[:, 0].tolist() == classes
        np.testing.assert_array_equal(record.matrix(range(30)), flips)
        assert len(record) == SAMPLES - votes.counts[row, label]


def test_the_reference_is_not_trivial():
    assert [len(record) > 20 for record in reference().records] == [True, False, True]
    assert {record.labels for record in reference().records} == {(0,), (1,)}
    assert sum(map(len, reference("few flips").records)) > 0


def test_votes_are_those_without_a_record():
    plain = vote(record=False)
    np.testing.assert_array_equal(plain.counts, reference().counts)
    np.testing.assert_array_equal(plain.selection, reference().selection)
    assert plain.records == (None, None, None)
    assert reference().row(1).records == (reference().records[1],)
    assert "record" not in repr(reference())


@pytest.mark.parametrize("batch_size", [1, 7, 64, 100_000])
def test_records_do_not_depend_on_the_batch_size(batch_size):
    assert same(vote(batch_size=batch_size), reference())


@pytest.mark.parametrize("workers", [1, 4])
def test_records_do_not_depend_on_workers(workers):
    with ThreadPoolExecutor(workers) as pool:
        assert same(vote(executor=pool), reference())


def test_records_do_not_depend_on_the_order_of_chunks(monkeypatch):
    forward = vote_loop.tallies
    monkeypatch.setattr(vote_loop, "tallies", lambda *arguments: reversed(list(forward(*arguments))))
    assert same(vote(), reference())


class UntilFlips(Plan):
    """Two chunks at a look, until sixty flips were recorded."""

    most = Wanted(100, 40 * SIZE)

    def __init__(self):
        self.looks = []

    def wanted(self, so_far):
        n = so_far.n_estimation
        record = so_far.ballots
        assert (record is None) == (n == 0)
        self.looks.append((so_far.object, n, record))
        enough = record is not None and record.n_flips > 600
        return so_far.wanted if enough else Wanted(100, min(n + 2 * SIZE, self.most.estimation))


def test_a_plan_may_decide_by_records():
    plan = UntilFlips()
    votes = vote(samples=plan)
    totals = votes.counts.sum(axis=1)
    assert len(set(totals.tolist())) > 1
    longest = vote(samples=int(totals.max())).records
    for row, (record, total) in enumerate(zip(votes.records, totals.tolist(), strict=True)):
        assert record.agrees_with(longest[row].first(total // SIZE))
    for graph, n, record in plan.looks:  # asked before the first vote, and when all that was wanted is there
        assert n % (2 * SIZE) == 0
        assert record is None or record.agrees_with(longest[graph].first(n // SIZE))
    with ThreadPoolExecutor(3) as pool:
        assert same(vote(samples=UntilFlips(), executor=pool), votes)


class Late(Plan):
    most = Wanted(10 * SIZE, 10 * SIZE)

    def wanted(self, so_far):
        return Wanted(so_far.wanted.selection + SIZE, so_far.n_estimation + SIZE)


@pytest.mark.parametrize("plan", [Late(), FixedPlan(Wanted(0, SIZE))])
def test_the_class_is_chosen_before_anything_is_recorded(plan):
    with pytest.raises(InvalidParameterError, match="all selection votes come before the first estimation vote"):
        vote(samples=plan)


def test_there_may_be_no_selection_votes():
    votes = vote(samples=FixedPlan(Wanted(0, SAMPLES)), record=False)
    assert votes.selection is None
    np.testing.assert_array_equal(votes.counts, reference().counts)


def large():
    """A graph of 4,950 pairs, few of which flip: drawn by its flips."""
    graph = sc.Graph.from_networkx(nx.gnp_random_graph(100, 0.05, seed=1))
    noise = sc.Noise(all=sc.Flip(delete=0.02, add=0.001))
    return graph, sc.Partition.everything("all").sites(graph), noise


@pytest.mark.parametrize("batch_size", [None, 7])
def test_positions_are_recorded_where_flips_are_few(batch_size):
    graph, sites, noise = large()
    odd = sc.classifiers.from_callable(lambda batch: batch.degrees().sum(axis=1) // 2 % 3, on="batch", n_classes=3)
    job = Job(odd, sc.Problem(noise, (sites,)), 7, SIZE, batch_size)
    record = next(tallies(job, [Chunk(0, "estimation", 3, 100, Recorded((1,)))])).ballots
    clean = np.zeros(sites.n_sites, dtype=np.uint8)
    clean[sites.nonzero[0]] = 1
    batch = sampler(sites, noise).draw(WordStream.of_chunk(7, graph.key, "estimation", 3), SIZE)[:100]
    answers = odd.classify(batch)
    assert record.bits is None
    np.testing.assert_array_equal(record.matrix(range(sites.n_sites)), (batch.values ^ clean)[answers != 1])
    assert record.answers[:, 0].tolist() == answers[answers != 1].tolist()
    assert set(record.answers[:, 0].tolist()) == {0, 2}


class Busy(Classifier):
    """Of every node, whether it has more than four neighbours."""

    n_classes = 2
    description = "busy nodes"

    def n_targets(self, frame):
        return frame.n_nodes

    def classify(self, graphs):
        return graphs.degrees() > 4


class BusyNode(Busy):
    """The same of one node alone, as the answer on the graph."""

    def __init__(self, node):
        self.node = node

    def n_targets(self, frame):
        return None

    def classify(self, graphs):
        return super().classify(graphs)[:, self.node]


def vote_nodes(base=None, graphs=1, **options):
    smoothed = sc.SmoothedClassifier(base or Busy(), worlds.NOISE, worlds.PARTITION)
    how = {"samples": 600, "seed": 1, "chunk_size": SIZE, "record": True} | options
    return smoothed.vote(worlds.graphs(graphs), **how_to(**how))


def test_flips_of_several_targets_are_those_of_each_alone():
    """What is recorded for a node is what a classifier of that node alone would have recorded."""
    votes = vote_nodes()
    assert len(votes.records) == 12
    for node, record in enumerate(votes.records):
        (alone,) = vote_nodes(BusyNode(node)).records
        assert record.agrees_with(alone)
    assert sum(map(len, votes.records)) > 500


def test_a_store_keeps_the_flips_of_several_targets(tmp_path):
    file, whole = tmp_path / "votes.db", vote_nodes(graphs=2)
    vote_nodes(store=file, samples=3 * SIZE)
    votes = vote_nodes(graphs=2, store=file)
    assert same(votes, whole)
    with VoteStore.read(file) as store:
        assert len(store.ballots(1)) == 5

    class Silent(Busy):
        asked = worlds.Calls()

        def classify(self, graphs):
            assert len(graphs) <= SIZE  # one chunk of each graph is counted again, and no other
            self.asked.append(len(graphs))
            return super().classify(graphs)

    silent = Silent()
    assert same(vote_nodes(silent, graphs=2, store=file), whole)
    assert sum(silent.asked) < 600


@pytest.mark.parametrize(("most", "kept"), [(2**28, 12), (4_000, 5), (100, 1), (10, 0)])
def test_flips_of_many_targets_are_numbers_or_none_where_they_take_too_much(monkeypatch, most, kept):
    whole = vote_nodes()
    axes = first_axis_of_sites(worlds.PARTITION.sites(worlds.graphs(1)[0]), worlds.NOISE)
    monkeypatch.setattr(vote_loop, "MAX_FLIP_BYTES", most)
    if kept < 12:
        with pytest.warns(StarcertWarning, match=rf"flips of {kept} of 12 targets of graph 0 are recorded"):
            votes = vote_nodes()
    else:
        votes = vote_nodes()
    there = [record for record in votes.records if record is not None]
    assert [record is not None for record in votes.records] == [node < kept for node in range(12)]
    assert {record.complete for record in there} <= {most == 2**28}
    for small, full in zip(there, whole.records, strict=False):
        assert small.agrees_with(full if small.complete else full.by_numbers(axes, 2))
    np.testing.assert_array_equal(votes.counts, whole.counts)


@pytest.mark.parametrize(("module", "constant"), [(counting, "MAX_CHUNK_BYTES"), (vote_loop, "MAX_FLIP_BYTES")])
@pytest.mark.parametrize("most", [40, 300])
@pytest.mark.parametrize("order", [list, lambda tallies: reversed(list(tallies))])
def test_a_record_that_grows_too_large_keeps_numbers_by_axis(monkeypatch, module, constant, most, order):
    monkeypatch.setattr(module, constant, most)
    forward = vote_loop.tallies
    monkeypatch.setattr(vote_loop, "tallies", lambda *arguments: order(forward(*arguments)))
    noise = sc.Noise(rest=sc.Flip(delete=0.3, add=0.4), core=0.1)  # in another order than the sites
    bounded, whole = vote(noise).records, vote_whole(noise).records
    assert all(record.complete for record in bounded) == (constant == "MAX_CHUNK_BYTES" and most == 300)
    for graph, small, full in zip(worlds.graphs(), bounded, whole, strict=True):
        axes = first_axis_of_sites(worlds.PARTITION.sites(graph), noise)
        np.testing.assert_array_equal(small.numbers(axes, 3), full.numbers(axes, 3))
        assert small.kept.tolist() == full.kept.tolist()
        assert small.flip_bytes == full.flip_bytes
        if constant == "MAX_FLIP_BYTES":
            assert small.complete == (full.flip_bytes <= most)


def vote_whole(noise):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MAX_CHUNK_BYTES", 2**25)
        patch.setattr(vote_loop, "MAX_FLIP_BYTES", 2**28)
        return vote(noise)


def test_axes_of_sites_are_those_of_the_noise():
    noise = sc.Noise(rest=sc.Flip(delete=0.3, add=0.4), core=0.1)
    sites = worlds.PARTITION.sites(worlds.graphs(1)[0])
    counted = np.bincount(first_axis_of_sites(sites, noise), minlength=3)
    assert counted.tolist() == list(sites.capacity(noise))
    assert isinstance(reference().records[0], Ballots)


@pytest.mark.parametrize("asked", [3, 10, 20])
def test_records_do_not_depend_on_interruptions(tmp_path, asked):
    calls = worlds.Calls()

    def failing(batch):
        calls.append(len(batch))
        if sum(n > 1 for n in calls) == asked:
            raise RuntimeError("lost the connection")
        return worlds.dense_core(batch)

    file = tmp_path / "votes.db"
    with pytest.raises(ClassifierError, match="lost the connection"):
        vote(base=failing, store=file)
    assert same(vote(store=file), reference())
    with VoteStore.read(file) as store:
        kept = [store.ballots(graph) for graph in range(3)]
    for record, chunks in zip(reference().records, kept, strict=True):
        assert Ballots.joined([chunks[number] for number in sorted(chunks)]).agrees_with(record)


def counted(calls):
    def base(batch):
        calls.append(len(batch))
        return worlds.dense_core(batch)

    return base


def test_what_a_store_has_is_not_counted_again(tmp_path):
    file = tmp_path / "votes.db"
    vote(store=file)
    calls = worlds.Calls()
    assert same(vote(base=counted(calls), store=file), reference())
    assert sum(calls) <= 3 * 2 * SIZE  # the one chunk of every graph that is checked


def test_a_store_of_counts_alone_gets_its_records(tmp_path):
    file = tmp_path / "votes.db"
    plain = vote(record=False, store=file)
    calls = worlds.Calls()
    votes = vote(base=counted(calls), store=file)
    assert same(votes, reference())
    assert sum(calls) >= 3 * SAMPLES
    np.testing.assert_array_equal(votes.counts, plain.counts)
    calls.clear()
    np.testing.assert_array_equal(vote(base=counted(calls), record=False, store=file).counts, plain.counts)
    assert sum(calls) <= 3 * 2 * SIZE


def test_more_votes_go_on_from_records(tmp_path):
    """The last chunk of a shorter run is part of a longer one's: it is counted again, and replaced."""
    file = tmp_path / "votes.db"
    vote(samples=300, selection_samples=100, store=file)
    assert same(vote(selection_samples=100, store=file), vote(selection_samples=100))
    few = vote(samples=300, selection_samples=100, store=file)
    assert same(few, vote(samples=300, selection_samples=100))


def test_a_class_that_changes_with_the_selection_votes_is_recorded_anew(tmp_path):
    """Almost a tie: few selection votes choose one class, more of them the other."""
    file = tmp_path / "votes.db"

    def coin(batch):
        return batch.values.sum(axis=1) % 2

    labels = {}
    for select in range(1, 60):
        labels.setdefault(int(vote(base=coin, n=1, samples=1, selection_samples=select).selection.argmax()), select)
    assert len(labels) == 2
    for label, select in labels.items():
        votes = vote(base=coin, n=1, selection_samples=select, store=file)
        assert votes.records[0].labels == (label,)
        assert same(votes, vote(base=coin, n=1, selection_samples=select))


def test_a_changed_classifier_is_noticed(tmp_path):
    file = tmp_path / "votes.db"
    vote(store=file)
    with pytest.raises(StoreError, match="the same settings gave other votes"):
        vote(base=lambda batch: 1 - worlds.dense_core(batch), store=file)


def test_a_plan_that_looks_goes_on_from_records(tmp_path):
    file = tmp_path / "votes.db"
    vote(samples=3 * SIZE, selection_samples=100, store=file)
    assert same(vote(samples=UntilFlips(), store=file), vote(samples=UntilFlips()))


def test_a_bounded_record_is_the_same_from_a_store(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "MAX_CHUNK_BYTES", 40)
    file = tmp_path / "votes.db"
    first = vote(store=file)
    assert not first.records[0].complete
    assert same(vote(store=file), first)
