"""A plan says how many votes there are; how they came in says nothing."""

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import worlds
from asking import how_to

import starcert as sc
from starcert.system.errors import ClassifierError, InvalidParameterError
from starcert.voting.plans import FixedPlan, Plan, SoFar, Wanted
from starcert.voting.store import VoteStore

SIZE = 64


class UntilClear(Plan):
    """Two chunks at a look, until the leading class of every target has 93 votes of a hundred."""

    most = Wanted(SIZE, 40 * SIZE)

    def __init__(self):
        self.looks = []

    def wanted(self, so_far):
        self.looks.append(so_far.estimation.tolist())
        n = so_far.n_estimation
        clear = n and (100 * so_far.estimation.max(axis=1) > 93 * n).all()
        return so_far.wanted if clear else Wanted(SIZE, min(n + 2 * SIZE, self.most.estimation))


def vote(plan, base=None, **options):
    smoothed = worlds.smoothed() if base is None else sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION)
    return smoothed.vote(worlds.graphs(5), **how_to(samples=plan, seed=7, chunk_size=SIZE, **options))


@functools.cache
def stopped() -> sc.Votes:
    return vote(UntilClear())


def same(one: sc.Votes, other: sc.Votes) -> bool:
    return (one.counts == other.counts).all() and (one.selection == other.selection).all()


class PeekingFixed(FixedPlan):
    """Derived from the plan of a fixed number, and yet it looks: it stops when nine votes of ten agree."""

    def wanted(self, so_far):
        n = so_far.n_estimation
        if n and so_far.estimation.max() > 0.9 * n:
            return so_far.wanted
        return Wanted(SIZE, min(n + SIZE, self.most.estimation))


class OwnFixed(Plan):
    """Not derived from it, and yet the number is known before the first vote."""

    most = Wanted(100, 1000)

    def wanted(self, so_far):
        assert not so_far.n_estimation, "it is not asked again"
        return self.most


def test_whether_a_plan_looked_is_seen_not_told_by_its_class(tmp_path):
    peeked = vote(PeekingFixed(Wanted(SIZE, 20 * SIZE)), store=tmp_path / "peeked.db")
    assert peeked.history == "stopped"
    with pytest.raises(InvalidParameterError, match="'votes' must be as many as was fixed in advance"):
        sc.clopper_pearson(peeked)
    with VoteStore.read(tmp_path / "peeked.db") as store:
        assert store.looks
    fixed = vote(OwnFixed(), store=tmp_path / "fixed.db")
    assert fixed.history == "fixed"
    assert same(fixed, vote(1000))
    with VoteStore.read(tmp_path / "fixed.db") as store:
        assert not store.looks


def test_unmarked_votes_of_a_plan_that_peeks_would_give_false_certificates():
    """A coin has no majority, and yet one of these certificates in six would say so at alpha 0.05."""

    class UntilCertified(FixedPlan):
        def wanted(self, so_far):
            n = so_far.n_estimation
            if n and is_certified(so_far.estimation):
                return so_far.wanted
            return Wanted(SIZE, min(n + SIZE, self.most.estimation))

    def is_certified(counts):
        return sc.clopper_pearson(sc.Votes(counts, selection=[[1, 0]]), alpha=0.05).p_lower[0] > 0.5

    base = sc.classifiers.from_callable(lambda batch: batch.degrees()[:, 0], on="batch")
    coin = sc.SmoothedClassifier(base, sc.Noise(all=0.5))
    asked = {"samples": UntilCertified(Wanted(SIZE, 20 * SIZE)), "chunk_size": SIZE}
    found = [coin.vote([sc.Graph(2, [])], **how_to(seed=seed, **asked)) for seed in range(100)]
    assert all(votes.history == "stopped" for votes in found)
    assert sum(is_certified(votes.counts) for votes in found) > 10


def test_a_fixed_plan_is_the_number_of_votes():
    fixed = vote(FixedPlan(Wanted(100, 1000)))
    assert same(fixed, vote(1000))
    assert fixed.counts.sum(axis=1).tolist() == [1000] * 5


def test_a_plan_stops_where_it_has_seen_enough():
    totals = stopped().counts.sum(axis=1)
    assert len(set(totals.tolist())) > 1
    assert totals.min() == 2 * SIZE
    assert totals.max() == 40 * SIZE  # graphs that never become clear get the most
    for row, total in enumerate(totals.tolist()):  # the votes are the first ones of any longer run
        np.testing.assert_array_equal(vote(int(total)).counts[row], stopped().counts[row])


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_looks_do_not_depend_on_batches(batch_size):
    assert same(vote(UntilClear(), batch_size=batch_size), stopped())


@pytest.mark.parametrize("workers", [1, 4])
def test_looks_do_not_depend_on_workers(workers):
    plan = UntilClear()
    with ThreadPoolExecutor(workers) as pool:
        assert same(vote(plan, executor=pool), stopped())
    alone = UntilClear()
    vote(alone)
    assert sorted(map(str, plan.looks)) == sorted(map(str, alone.looks))


@pytest.mark.parametrize("asked", [3, 10, 30])
def test_looks_do_not_depend_on_interruptions(tmp_path, asked):
    calls = worlds.Calls()

    def failing(batch):
        calls.append(len(batch))
        if sum(n > 1 for n in calls) == asked:
            raise RuntimeError("lost the connection")
        return worlds.dense_core(batch)

    def named(function):
        return sc.classifiers.from_callable(function, on="batch", description="dense core")

    file = tmp_path / "votes.db"
    with pytest.raises(ClassifierError, match="lost the connection"):
        vote(UntilClear(), named(failing), store=file)
    assert same(vote(UntilClear(), named(worlds.dense_core), store=file), stopped())
    with VoteStore.read(file) as store:
        np.testing.assert_array_equal(store.counts("estimation"), stopped().counts)


def test_progress_reaches_its_end_even_where_a_plan_stops_early(monkeypatch):
    from contextlib import contextmanager  # noqa: PLC0415

    advanced, totals = [], []

    @contextmanager
    def bar(_title, total, *, shown):
        totals.append(total)
        yield advanced.append

    monkeypatch.setattr("starcert.methods.smoothed.progress_bar", bar)
    vote(UntilClear())
    assert [sum(advanced)] == totals


class Wrong(Plan):
    most = Wanted(100, 1000)

    def __init__(self, *answers):
        self.answers = [Wanted(*each) for each in answers]

    def wanted(self, so_far: SoFar) -> Wanted:
        return self.answers[0] if so_far.wanted == Wanted(0, 0) else self.answers[1]


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (Wrong((100, 2000)), "estimation votes, and 0 to 1000 are possible"),
        (Wrong((100, 640), (100, 100)), "estimation votes, and 640 to 1000 are possible"),
        (Wrong((100, 100), (100, 200)), "after whole chunks of 64 samples"),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(plan, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        vote(plan)


def test_selection_votes_are_the_plans():
    with pytest.raises(InvalidParameterError, match="'selection_samples' cannot be combined with a plan"):
        vote(UntilClear(), selection_samples=10)


def test_no_bounds_of_a_fixed_number_are_made_from_votes_that_were_looked_at(tmp_path):
    file = tmp_path / "votes.db"
    votes = vote(UntilClear(), store=file)
    assert votes.history == "stopped"
    assert votes.row(0).history == "stopped"
    with pytest.raises(InvalidParameterError, match="'votes' must be as many as was fixed in advance"):
        sc.clopper_pearson(votes)
    again = vote(128, store=file)  # a number that is chosen after a look is not fixed in advance
    assert again.history != "fixed"
    np.testing.assert_array_equal(again.counts, vote(128).counts)
    with pytest.raises(InvalidParameterError, match="'samples' must be a whole number"):
        worlds.smoothed().certify(worlds.graphs(1), samples=UntilClear(), seed=1)
