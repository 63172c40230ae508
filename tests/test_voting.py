"""Votes depend on what was asked, never on how they were made."""

import functools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import starcert as sc
import worlds
from starcert.errors import ClassifierError, InvalidParameterError
from starcert.voting import Chunk, Job, chunks_of, count_chunk, tallies

SAMPLES = 5000
WANTED = {"samples": SAMPLES, "selection_samples": 300, "seed": 7}


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
    assert same(worlds.smoothed().vote(worlds.graphs(), batch_size=batch_size, **WANTED))


@pytest.mark.parametrize("workers", [1, 4])
def test_votes_do_not_depend_on_processes(workers):
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        assert same(worlds.smoothed().vote(worlds.graphs(), executor=pool, **WANTED))


def test_votes_do_not_depend_on_threads():
    with ThreadPoolExecutor(4) as pool:
        assert same(worlds.smoothed().vote(worlds.graphs(), executor=pool, **WANTED))


def test_loky_takes_even_a_lambda():
    loky = pytest.importorskip("loky")
    with loky.ProcessPoolExecutor(2) as pool:
        smoothed = worlds.smoothed(lambda batch: (batch.degrees()[:, :6].sum(axis=1) > 20).astype(int))
        assert same(smoothed.vote(worlds.graphs(), executor=pool, **WANTED))


def test_a_lambda_in_a_process_pool_is_refused_with_advice():
    with ProcessPoolExecutor(1) as pool, pytest.raises(InvalidParameterError, match="at the top of a module"):
        worlds.smoothed(lambda batch: np.zeros(len(batch))).vote(worlds.graphs(1), executor=pool, **WANTED)


def test_votes_depend_on_seed_purpose_and_graph():
    other_seed = worlds.smoothed().vote(worlds.graphs(), **(WANTED | {"seed": 8}))
    assert (other_seed.counts != reference().counts).any()
    twice = worlds.smoothed().vote(worlds.graphs(1), samples=1000, selection_samples=1000, seed=7)
    assert (twice.counts != twice.selection).any()


def test_a_graph_votes_the_same_in_any_company():
    alone = worlds.smoothed().vote(worlds.graphs()[2:], **WANTED)
    np.testing.assert_array_equal(alone.counts[0], reference().counts[2])


def test_fewer_samples_are_the_first_of_more():
    """A partial chunk is the beginning of the same chunk, copy by copy."""
    seen = []

    def recording(batch):
        seen.append(batch.bits)
        return worlds.dense_core(batch)

    sites = worlds.PARTITION.sites(worlds.graphs(1)[0])
    job = Job(worlds.smoothed(recording).base, worlds.NOISE, [sites], 7)
    copies = []
    for samples in (476, 1024):
        seen.clear()
        count_chunk(job.classifier, sites, job, Chunk(0, "estimation", 1, samples))
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
        worlds.smoothed(function).vote(worlds.graphs(1), executor=pool, **WANTED)
    if pool is not None:
        pool.shutdown()


def test_a_pool_that_breaks_is_not_a_silent_one(tmp_path):
    with ProcessPoolExecutor(1) as pool, pytest.raises(BrokenProcessPool):
        worlds.smoothed(worlds.Suicidal(str(tmp_path / "died"))).vote(worlds.graphs(1), executor=pool, **WANTED)


def test_no_more_is_sent_than_can_soon_begin():
    """A million chunks must not become a million pending futures."""
    sent = []

    class Counting(ThreadPoolExecutor):
        def submit(self, *arguments, **keywords):
            sent.append(len(sent))
            return super().submit(*arguments, **keywords)

    job = Job(worlds.smoothed().base, worlds.NOISE, [worlds.PARTITION.sites(worlds.graphs(1)[0])], 7, chunk_size=64)
    with Counting(1) as pool:
        results = tallies(job, chunks_of(0, "estimation", 64 * 10_000, 64), pool)
        next(results)
        assert len(sent) <= 40
        results.close()
