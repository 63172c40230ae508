"""Votes depend on what was asked, never on how they were made."""

import functools
import multiprocessing
import sys
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext

import numpy as np
import pytest
import worlds
from asking import how_to

import starcert as sc
from starcert.classifiers.base import Classifier, Scores
from starcert.sampling import sampler as sampler_module
from starcert.sampling.sampler import kept_sampler, sampler
from starcert.sampling.streams import WordStream
from starcert.system.errors import ClassifierError, ExecutorError, InvalidParameterError
from starcert.voting import distinct
from starcert.voting.ask import device_of
from starcert.voting.counting import tallies
from starcert.voting.plans import Chunk, Job, Recorded, chunks_of

SAMPLES = 5000
WANTED = how_to(samples=SAMPLES, selection_samples=300, seed=7)


@functools.cache
def reference() -> sc.Votes:
    return worlds.smoothed().vote(worlds.graphs(), **WANTED)


def same(votes: sc.Votes) -> bool:
    return (votes.counts == reference().counts).all() and (votes.selection == reference().selection).all()


def test_the_reference_is_not_trivial():
    assert reference().counts.sum(axis=1).tolist() == [SAMPLES] * 3
    assert (reference().counts > 0).all()
    assert len(set(reference().counts[:, 0].tolist())) == 3


@pytest.mark.parametrize("batch_size", [1, 7, 64, 100, 100_000])
def test_votes_do_not_depend_on_the_batch_size(batch_size):
    assert same(worlds.smoothed().vote(worlds.graphs(), **how_to(batch_size=batch_size, **WANTED)))


@pytest.fixture(scope="module")
def spawned():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def test_votes_do_not_depend_on_processes(spawned):
    assert same(worlds.smoothed().vote(worlds.graphs(), **how_to(executor=spawned, **WANTED)))


def test_votes_do_not_depend_on_threads():
    with ThreadPoolExecutor(4) as pool:
        assert same(worlds.smoothed().vote(worlds.graphs(), **how_to(executor=pool, **WANTED)))


def test_loky_takes_even_a_lambda():
    loky = pytest.importorskip("loky")
    with loky.ProcessPoolExecutor(1) as pool:
        smoothed = worlds.smoothed(lambda batch: (batch.degrees()[:, :6].sum(axis=1) > 20).astype(int))
        assert same(smoothed.vote(worlds.graphs(), **how_to(executor=pool, **WANTED)))


MANY = WANTED | {"chunk_size": 50}
"""So small chunks that there are many spans of them."""


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_a_classifier_is_unpickled_once_in_each_worker(start, spawned, tmp_path):
    base = worlds.Heavy(str(tmp_path))
    expected = worlds.smoothed().vote(worlds.graphs(), **how_to(**MANY))
    fork = multiprocessing.get_context("fork")
    with nullcontext(spawned) if start == "spawn" else ProcessPoolExecutor(2, mp_context=fork) as pool:
        for _ in range(2):
            votes = worlds.smoothed(base).vote(worlds.graphs(), **how_to(executor=pool, **MANY))
            assert (votes.counts == expected.counts).all()
    assert len(base.unpickled()) == len(set(base.unpickled())) in (1, 2)


def test_a_lambda_in_a_process_pool_is_refused_with_advice():
    with ProcessPoolExecutor(1) as pool, pytest.raises(InvalidParameterError, match="Define it at module level"):
        worlds.smoothed(lambda batch: np.zeros(len(batch))).vote(worlds.graphs(1), **how_to(executor=pool, **WANTED))


def test_votes_depend_on_seed_purpose_and_graph():
    other_seed = worlds.smoothed().vote(worlds.graphs(), **how_to(**(WANTED | {"seed": 8})))
    assert (other_seed.counts != reference().counts).any()
    twice = worlds.smoothed().vote(worlds.graphs(1), samples=1000, voting=sc.Voting(selection_samples=1000), seed=7)
    assert (twice.counts != twice.selection).any()


def test_a_graph_votes_the_same_beside_any_other():
    alone = worlds.smoothed().vote(worlds.graphs()[2:], **WANTED)
    np.testing.assert_array_equal(alone.counts[0], reference().counts[2])


@pytest.fixture
def no_tables(monkeypatch):
    """Every copy is asked about: no two are expected to be equal."""
    monkeypatch.setattr(distinct, "RARE", 2)


@pytest.mark.usefixtures("no_tables")
def test_fewer_samples_are_the_first_of_more():
    """A partial chunk is the beginning of the same chunk, copy by copy."""
    seen = []

    def recording(batch):
        seen.append(batch.values)
        return worlds.dense_core(batch)

    sites = worlds.PARTITION.sites(worlds.graphs(1)[0])
    job = Job(worlds.smoothed(recording).base, sc.Problem(worlds.NOISE, (sites,)), 7)
    copies = []
    for samples in (476, 1024):
        seen.clear()
        next(tallies(job, [Chunk(0, "estimation", 1, samples)]))
        copies.append(np.concatenate(seen))
    assert copies[0].shape == (476, 30)
    np.testing.assert_array_equal(copies[0], copies[1][:476])


def test_parity_follows_its_closed_form():
    """P(even number of flips) = (1 + Π(1 − 2p)) / 2, whatever the graph."""
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_callable(worlds.parity), sc.Noise(a=0.02), regions=rule)
    graph = worlds.graphs(1)[0]
    votes = smoothed.vote([graph], samples=20_000, seed=3)
    even_flips = (1 + (1 - 2 * 0.02) ** 15) / 2
    share = votes.counts[0, graph.n_edges % 2] / 20_000
    assert abs(share - even_flips) < 5 * np.sqrt(even_flips * (1 - even_flips) / 20_000)


def rule(graph: sc.Graph) -> sc.Partition:
    return sc.Partition.from_node_sets({"a": graph.nodes[:6]})


def raising(batch):
    raise RuntimeError("out of ideas")


def too_few(batch):
    return np.zeros(len(batch) - 1)


def not_a_number(batch):
    return np.full(len(batch), np.nan)


def out_of_range(batch):
    return np.full(len(batch), 2)


@pytest.mark.parametrize("executor", [None, "threads", "processes"])
@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (raising, "RuntimeError: out of ideas"),
        (too_few, "shape"),
        (not_a_number, "answered nan"),
        (out_of_range, "answered 2"),
    ],
)
def test_a_broken_classifier_is_reported_with_graph_and_chunk(function, problem, executor):
    pool = None
    if executor is not None:
        pool = (
            ThreadPoolExecutor(2)
            if executor == "threads"
            else ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork"))
        )
    with pytest.raises(ClassifierError, match=r"failed on graph 0, selection chunk 0: .*" + problem):
        worlds.smoothed(function).vote(worlds.graphs(1), **how_to(executor=pool, **WANTED))
    if pool is not None:
        pool.shutdown()


def test_a_pool_that_breaks_is_not_a_silent_one(tmp_path):
    with ProcessPoolExecutor(1) as pool, pytest.raises(BrokenProcessPool):
        worlds.smoothed(worlds.Suicidal(str(tmp_path / "died"))).vote(
            worlds.graphs(1), **how_to(executor=pool, **WANTED)
        )


class Deserted:
    """An executor whose scheduler is gone, as Dask's is then: futures are cancelled, or nothing can be sent."""

    def __init__(self, when: str) -> None:
        self.when = when

    def submit(self, *_work):
        if self.when == "sending":
            raise OSError("Timed out trying to connect to tcp://…")
        future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


@pytest.mark.parametrize("when", ["sending", "waiting"])
def test_an_executor_that_is_gone_is_one_sentence(when):
    with pytest.raises(
        ExecutorError, match=r"^The executor failed \((OSError|CancelledError).*the same call continues\.$"
    ):
        worlds.smoothed().vote(worlds.graphs(1), **how_to(executor=Deserted(when), **WANTED))


def test_no_more_is_sent_than_can_soon_begin():
    """A million chunks must not become a million pending futures."""
    sent = []

    class Counting(ThreadPoolExecutor):
        def submit(self, *arguments, **keywords):
            sent.append(len(sent))
            return super().submit(*arguments, **keywords)

    job = Job(worlds.smoothed().base, worlds.smoothed().problem(worlds.graphs(1)), 7, chunk_size=64)
    with Counting(1) as pool:
        results = tallies(job, chunks_of(0, "estimation", 64 * 10_000, 64), pool)
        next(results)
        assert len(sent) <= 40
        results.close()


# ---- the answer on a graph depends on that graph only


def batch_rank(batch):
    """Whether a copy has more edges than the copy before it in its batch."""
    edges = batch.degrees().sum(axis=1)
    return (edges > np.roll(edges, 1)).astype(int)


def forgetful(batch):
    return np.random.default_rng().integers(2, size=len(batch))


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (
            batch_rank,
            r"answers noisy copy \d+ of graph 0 with class 1 in a batch of \d+, but with class 0 alone.*batch_s",
        ),
        (forgetful, r"answers differently when it is asked twice about noisy copy \d+ of graph 0: class"),
    ],
)
@pytest.mark.parametrize("executor", [None, "threads"])
def test_copies_asked_alone_must_agree_with_their_batch(function, problem, executor):
    with ThreadPoolExecutor(2) as pool, pytest.raises(ClassifierError, match=problem):
        worlds.smoothed(function).vote(worlds.graphs(1), **how_to(executor=pool if executor else None, **WANTED))


def test_randomness_is_noticed_one_copy_at_a_time_too():
    with pytest.raises(ClassifierError, match="asked twice"):
        worlds.smoothed(forgetful).vote(worlds.graphs(1), **how_to(batch_size=1, **WANTED))


def test_every_graph_is_audited_however_few_selection_votes_it_has():
    graphs = [sc.Graph(12 + i, graph.edges) for i, graph in enumerate(worlds.graphs())]

    def for_one_graph(batch):
        return batch_rank(batch) if batch.degrees().shape[1] == 14 else worlds.dense_core(batch)

    with pytest.raises(ClassifierError, match=r"of graph 2 .*with class|graph 2, estimation"):
        worlds.smoothed(for_one_graph).vote(graphs, samples=2_000, voting=sc.Voting(selection_samples=1), seed=7)


def test_copies_that_are_asked_alone_are_few_and_no_votes(monkeypatch):
    monkeypatch.setattr("starcert.voting.distinct.RARE", 2)  # every copy is asked about
    asked = worlds.Calls()

    def recording(batch):
        asked.append(len(batch))
        return worlds.dense_core(batch)

    votes = worlds.smoothed(recording).vote(worlds.graphs(), **WANTED)
    assert same(votes)
    assert asked.count(1) == 8 + votes.audit.clean_alone + votes.audit.attacked_alone
    audited = votes.audit.clean + votes.audit.attacked
    recounted = 64 * int(0.03 * 3 * SAMPLES / 96)  # of the first, the last and some other chunks of each graph
    assert sum(asked) - asked.count(1) == 3 * (SAMPLES + 300) + recounted + 2 * audited  # in a batch, and in another


def test_selection_votes_are_counted_exactly_however_few():
    votes = worlds.smoothed().vote(worlds.graphs(), samples=500, voting=sc.Voting(selection_samples=3), seed=7)
    assert votes.selection.sum(axis=1).tolist() == [3] * 3


# ---- several chunks as one batch


class Several(Classifier):
    """Wants to see five chunks at once; two targets, or the graph itself."""

    n_classes, description, chunks_per_batch = 2, "several chunks at once", 5

    def __init__(self, targets: int | None = None) -> None:
        self.targets, self.asked = targets, worlds.Calls()

    def n_targets(self, frame):
        return self.targets

    def classify(self, graphs):
        self.asked.append(len(graphs))
        answers = worlds.dense_core(graphs)
        return answers if self.targets is None else np.stack([answers, 1 - answers], axis=1)


def counted_together(classifier: Several, noise=worlds.NOISE, **more) -> tuple[Job, list]:
    sites = tuple(map(worlds.PARTITION.sites, worlds.graphs(2)))
    job = Job(classifier, sc.Problem(noise, sites), seed=7, **more)
    labels = (1,) if classifier.targets is None else (1, 0)
    wanted = [
        *chunks_of(0, "selection", 3000, job.chunk_size),
        *chunks_of(0, "estimation", 7000, job.chunk_size, recorded=Recorded((0,))),
        *chunks_of(1, "estimation", 500, job.chunk_size, recorded=Recorded(labels, "numbers")),
    ]
    return job, wanted


@pytest.mark.usefixtures("no_tables")
@pytest.mark.parametrize("targets", [None, 2])
@pytest.mark.parametrize("in_threads", [False, True])
def test_chunks_counted_together_are_chunks_counted_alone(targets, in_threads):
    classifier = Several(targets)
    job, wanted = counted_together(classifier)
    alone = {chunk: next(tallies(job, [chunk])) for chunk in wanted}
    classifier.asked.clear()
    with ThreadPoolExecutor(2) as pool:
        found = {tally.chunk: tally for tally in tallies(job, wanted, pool if in_threads else None)}
    assert found.keys() == alone.keys()
    for chunk, tally in found.items():
        np.testing.assert_array_equal(tally.counts, alone[chunk].counts)
        assert tally.counts.sum() == chunk.samples * (targets or 1)
        kept = tally.ballots, alone[chunk].ballots
        assert kept == (None, None) or kept[0].agrees_with(kept[1])
    # The classifier is checked on the first chunk of graph 0 by itself; graph 1 has one chunk. Only votes that are
    # wanted are asked about, but for a few copies that cost less than choosing: 72 beside 952.
    assert sorted(size for size in classifier.asked if size > 256) == [1024 + 856, 1024 + 952 + 72, 5 * 1024]


def test_what_is_given_as_the_size_of_a_batch_is_the_most():
    classifier = Several()
    job, wanted = counted_together(classifier, batch_size=2100)
    assert sum(tally.counts.sum() for tally in tallies(job, wanted)) == 10_500
    assert max(classifier.asked) == 2048


def test_chunks_that_are_no_whole_words_are_counted_one_by_one():
    classifier = Several()
    job, wanted = counted_together(classifier, chunk_size=100)
    counts = sum(tally.counts for tally in tallies(job, wanted))
    assert max(classifier.asked) == 100
    alone = sum(next(tallies(job, [chunk])).counts for chunk in wanted)
    np.testing.assert_array_equal(counts, alone)


def test_a_classifier_that_fails_on_several_chunks_is_named_with_the_first():
    class Failing(Several):
        def classify(self, graphs):
            if len(graphs) > 1024:
                raise RuntimeError("too many")
            return super().classify(graphs)

    job, wanted = counted_together(Failing())
    with pytest.raises(ClassifierError, match="graph 0, selection chunk 1: RuntimeError: too many"):
        list(tallies(job, wanted))


# ---- chunks of several graphs at once


class Gathering(Several):
    """Wants to be asked about chunks of several graphs, so many nodes in all; may fail on those of one of them."""

    chunks_per_batch, batch_size = 1, 1024

    def __init__(self, max_batch_nodes: int, fails_on: int | None = None) -> None:
        super().__init__()
        self.max_batch_nodes, self.fails_on = max_batch_nodes, fails_on
        self.groups, self.nodes = worlds.Calls(), worlds.Calls()

    def classify(self, graphs):
        if graphs.frame.n_nodes == self.fails_on:
            raise RuntimeError("not this one")
        return super().classify(graphs)

    def scored_each(self, batches):
        self.groups.append([graphs.frame.n_nodes for graphs in batches])
        self.nodes.append(sum(len(graphs) * graphs.frame.n_nodes for graphs in batches))
        return super().scored_each(batches)


def different_graphs() -> list[sc.Graph]:
    return [sc.Graph(12 + i, graph.edges) for i, graph in enumerate(worlds.graphs())]


def test_votes_do_not_depend_on_what_is_gathered():
    wanted = {"samples": 300, "selection_samples": 200, "seed": 7}
    alone = worlds.smoothed().vote(different_graphs(), **how_to(**wanted))
    gathering = Gathering(500 * 12 + 500 * 13)
    votes = sc.SmoothedClassifier(gathering, worlds.NOISE, worlds.PARTITION).vote(
        different_graphs(), **how_to(**wanted)
    )
    np.testing.assert_array_equal(votes.counts, alone.counts)
    np.testing.assert_array_equal(votes.selection, alone.selection)
    assert gathering.groups[:2] == [[12, 12, 13, 13], [14, 14]]
    assert gathering.asked.count(1) > 3  # copies alone: of the first graph, and of the smallest beside others


def test_nothing_is_gathered_beyond_what_is_wanted_or_with_a_size_of_batches():
    for gathering, more in ((Gathering(1000), {}), (Gathering(10**9), {"batch_size": 50})):
        smoothed = sc.SmoothedClassifier(gathering, worlds.NOISE, worlds.PARTITION)
        assert same(smoothed.vote(worlds.graphs(), **how_to(**WANTED, **more)))
        assert max(gathering.nodes, default=0) <= 1000
        assert not more or gathering.groups == []


def test_who_fails_among_gathered_graphs_is_named():
    smoothed = sc.SmoothedClassifier(Gathering(10**9, fails_on=13), worlds.NOISE, worlds.PARTITION)
    with pytest.raises(ClassifierError, match="failed on graph 1, selection chunk 0: RuntimeError: not this one"):
        smoothed.vote(different_graphs(), samples=100, seed=7)


def test_a_classifier_that_looks_beside_a_graph_is_refused_when_gathered():
    class Beside(Gathering):
        def scored_each(self, batches):
            return [Scores(1 - np.asarray(found.answers)) for found in super().scored_each(batches)]

    smoothed = sc.SmoothedClassifier(Beside(10**9), worlds.NOISE, worlds.PARTITION)
    with pytest.raises(ClassifierError, match=r"in a batch of .* alone"):
        smoothed.vote(different_graphs(), samples=100, seed=7)


def test_a_classifier_that_looks_beside_a_graph_later_is_refused_too():
    """Its selection votes are as they should be; the audit asks about copies of several graphs at once, too."""

    class BesideLater(Gathering):
        def scored_each(self, batches):
            found, least = super().scored_each(batches), min(graphs.frame.n_nodes for graphs in batches)
            turned = [graphs.frame.n_nodes == least and len(graphs) != 200 for graphs in batches]
            return [Scores(1 - np.asarray(each.answers)) if t else each for each, t in zip(found, turned, strict=True)]

    smoothed = sc.SmoothedClassifier(BesideLater(10**9), worlds.NOISE, worlds.PARTITION)
    with pytest.raises(ClassifierError, match=r"noisy copy \d+ of graph 0 .* in a batch of \d+, .* alone"):
        smoothed.vote(different_graphs(), samples=3_000, voting=sc.Voting(selection_samples=200), seed=7, record=True)


# ---- samplers are kept


def test_graphs_that_differ_in_what_noise_leaves_alone_share_no_sampler():
    """Anchored data are in a graph's key as node data are; noisy copies must not get them from there."""
    shown = sc.Graph(4, [(0, 1)], node_data={"bonds": [1, 1, 0, 0]})
    hidden = sc.Graph(4, [(0, 1)], anchored_data={"bonds": [1, 1, 0, 0]})
    assert shown.key == hidden.key
    base = sc.classifiers.from_callable(lambda batch: [int("bonds" in batch.frame.node_data)] * len(batch), on="batch")
    votes = sc.SmoothedClassifier(base, sc.Noise(all=0.1)).vote([shown, hidden], samples=100, seed=0)
    assert votes.counts.tolist() == [[0, 100], [100, 0]]


def test_a_device_counts_where_the_backend_names_it():
    """A record that says "cpu" is one of copies that were drawn there."""
    base = worlds.smoothed().base
    base.device = "cuda:1"
    assert device_of(base) == "cpu"
    assert same(sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION).vote(worlds.graphs(), **WANTED))
    base.backend = "torch cuda (4)"
    assert device_of(base) == "cuda:1"


def test_threads_share_samplers_without_mixing_them_up(monkeypatch):
    """More graphs than are kept, many threads."""
    monkeypatch.setattr(sampler_module, "MAX_KEPT", 8)
    graphs = worlds.graphs(2 * sampler_module.MAX_KEPT)
    sites = [worlds.PARTITION.sites(graph) for graph in graphs]

    def drawn(one, make=kept_sampler):
        stream = WordStream.of_chunk(1, one.clean.key, "estimation", 0)
        return make(one, worlds.NOISE).draw(stream, 2).values

    expected = [drawn(each, sampler) for each in sites]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(drawn, 20 * sites))
    finally:
        sys.setswitchinterval(interval)
    np.testing.assert_array_equal(found, 20 * expected)
    assert len(sampler_module._KEPT) <= sampler_module.MAX_KEPT
