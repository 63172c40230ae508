"""Each distinct copy is asked about once, and votes, audits and refusals are what they were."""

import math
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import starcert as sc
from starcert.classifiers.base import Scores, UnsteadyAnswersError
from starcert.objects import Sites
from starcert.sampling.batch import keys_of
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.voting import ask, distinct
from starcert.voting.counting import ChangedError
from starcert.voting.distinct import Table, equal_probability

RING = sc.Graph(8, [(i, (i + 1) % 8) for i in range(8)])
RARE_FLIPS = sc.Noise(all=sc.Flip(delete=0.05, add=0.01))


class Counting(sc.Classifier):
    """More than seven edges; notes which copies it was asked about, and how often."""

    n_classes, description = 2, "counting"

    def __init__(self):
        self.asked = Counter()

    def classify(self, graphs):
        self.asked.update(row.tobytes() for row in graphs.values)
        sum(range(20_000))  # slower than looking
        return (graphs.values.sum(axis=1) > 7).astype(int)


def votes_of(base, noise=RARE_FLIPS, samples=6_000, **how):
    smoothed = sc.SmoothedClassifier(base, noise)
    votes = smoothed.vote([RING], samples=samples, seed=3, record=True, voting=sc.Voting(**how))
    return votes.counts.tolist(), votes.selection.tolist(), votes.records[0].bits.tolist()


def without_tables(monkeypatch):
    monkeypatch.setattr(ask, "table_of", lambda *_: None)
    monkeypatch.setattr("starcert.voting.counting.table_of", lambda *_: None)


def test_votes_are_the_same_and_few_copies_are_asked_about(monkeypatch):
    with_table, without = Counting(), Counting()
    found = votes_of(with_table)
    without_tables(monkeypatch)
    assert votes_of(without) == found
    assert set(with_table.asked) == set(without.asked)
    assert with_table.asked.total() < without.asked.total() / 2


@pytest.mark.parametrize("max_bytes", [0, 5_000, 2**20])
def test_votes_do_not_depend_on_the_size_of_the_table_or_on_threads(monkeypatch, max_bytes):
    found = votes_of(Counting())
    monkeypatch.setattr(distinct, "MAX_BYTES", max_bytes)
    monkeypatch.setattr(distinct.Tables.__init__, "__defaults__", (max_bytes,))
    with ThreadPoolExecutor(2) as pool:
        assert votes_of(Counting(), executor=pool, batch_size=100) == found


def test_a_table_keeps_to_its_bytes():
    sites = Sites.everything(RING, "all")
    copies = sampler(sites, sc.Noise(all=0.4)).draw(WordStream(1), 900)
    table = Table(10_000)
    table.answers(copies, lambda some: np.zeros(len(some), dtype=np.int64), pytest.fail)
    assert 5_000 < table.n_bytes <= 10_000


@pytest.mark.parametrize("noise", [RARE_FLIPS, sc.Noise(all=0.3)])
@pytest.mark.parametrize("sparse", [False, True])
def test_keys_are_equal_for_equal_copies_alone(noise, sparse):
    graph = sc.Graph(200, [(0, 1)]) if sparse else RING
    law = sc.Noise(all=sc.Flip(0.0001)) if sparse else noise
    copies = sampler(Sites.everything(graph, "all"), law).draw(WordStream(2), 300)
    rows = [row.tobytes() for row in copies.values]
    pairs = set(zip(keys_of(copies), rows, strict=True))
    assert len(pairs) == len(set(rows)) == len({key for key, _ in pairs})
    assert len(pairs) < 300 or noise is not RARE_FLIPS


def test_keys_of_categories_hold_what_is_shown():
    rows = sc.Categories.rows([[0, 1, 2, 0]], values=3)
    copies = sampler(Sites.everything(rows[0], "all"), sc.Noise(all=sc.Categorical(0.5))).draw(WordStream(4), 400)
    shown = [row.tobytes() for row in copies.values]
    pairs = set(zip(keys_of(copies), shown, strict=True))
    assert len(pairs) == len(set(shown)) == len({key for key, _ in pairs}) > 50


def test_two_copies_are_equal_with_the_probability_that_the_law_says():
    sites, noise = Sites.everything(RING, "all"), RARE_FLIPS
    by_hand = (0.05**2 + 0.95**2) ** 8 * (0.01**2 + 0.99**2) ** 20
    assert math.isclose(equal_probability(sites, noise), by_hand)
    keys = keys_of(sampler(sites, noise).draw(WordStream(5), 4_000))
    pairs = sum(n * (n - 1) for n in Counter(keys).values()) / (4_000 * 3_999)
    assert math.isclose(pairs, by_hand, rel_tol=0.1)


def test_copies_that_never_repeat_are_not_looked_up(monkeypatch):
    monkeypatch.setattr(Table, "answers", lambda *_: pytest.fail("looked up"))
    graph = sc.Graph(40, [(0, 1)])
    base = sc.classifiers.from_callable(lambda each: each.degrees()[:, 0] > 20, on="batch", n_classes=2)
    sc.SmoothedClassifier(base, sc.Noise(all=0.4)).vote([graph], samples=500, seed=1)


def test_a_table_that_saves_no_time_ends():
    table, sites = Table(), Sites.everything(RING, "all")
    copies = sampler(sites, sc.Noise(all=0.5)).draw(WordStream(1), 2_000)
    table.answers(copies, lambda some: np.zeros(len(some), dtype=np.int64), pytest.fail)
    assert not table.in_use
    assert len(table.known(copies[:100])[0]) == 100  # the audit compares them


class FalseOnce(Counting):
    """Answers the clean graph, which is most of the copies, wrongly the first time it is asked about among others."""

    def classify(self, graphs):
        answers = super().classify(graphs)
        clean = graphs.values.sum(axis=1) == 8
        if len(graphs) > 64 and clean.any() and not getattr(self, "lied", False):
            self.lied = True
            answers[clean] = 1 - answers[clean]
        return answers


def test_an_answer_that_stands_for_many_votes_is_asked_for_again():
    with pytest.raises(UnsteadyAnswersError, match=r"differently|alone"):
        votes_of(FalseOnce(), samples=20_000)


def test_only_ties_may_get_another_answer():
    table = Table()
    copies = sampler(Sites.everything(RING, "all"), RARE_FLIPS).draw(WordStream(1), 500)
    settled = []
    ones = table.answers(copies[:30], lambda some: np.ones(len(some), dtype=np.int64), pytest.fail)
    again = table.answers(
        copies, lambda some: np.zeros(len(some), dtype=np.int64), lambda _, other: settled.append(other)
    )
    assert settled  # frequent ones were asked for again, and were different
    assert (ones == again[:30]).all()


class Random(Counting):
    """Answers one in 300 copies at random."""

    def __init__(self, seed):
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def classify(self, graphs):
        answers = super().classify(graphs)
        return np.where(self.rng.random(len(answers)) < 0.003, 1 - answers, answers)


class FalseAtFirst(Counting):
    """Answers some copies wrongly until it has been asked about a number of copies: a fault that only a table keeps."""

    def __init__(self, is_false, until=700):
        super().__init__()
        self.is_false, self.until, self.n_asked = is_false, until, 0

    def classify(self, graphs):
        answers, is_early = super().classify(graphs), self.n_asked < self.until
        self.n_asked += len(graphs)
        return np.where(self.is_false(graphs.values) & is_early, 1 - answers, answers)


def share_of(is_false, noise=RARE_FLIPS):
    copies = sampler(Sites.everything(RING, "all"), noise).draw(WordStream(9), 20_000)
    return is_false(copies.values).mean()


def is_clean(values):
    return (values == Sites.everything(RING, "all").values).all(axis=1)


def rewired(values):
    """Many copies with a few votes each: eight edges, not those of the ring."""
    return (values.sum(axis=1) == 8) & ~is_clean(values) & (values @ np.arange(values.shape[1]) % 2 == 0)


def refusals(make, samples, seeds):
    found = 0
    for seed in range(seeds):
        try:
            sc.SmoothedClassifier(make(seed), RARE_FLIPS).vote([RING], samples=samples, seed=seed)
        except (UnsteadyAnswersError, ChangedError):
            found += 1
    return found


def only(monkeypatch, defence):
    """Leaves one of three ways in which a fault that a table keeps is found."""
    if defence != "frequent answers":
        monkeypatch.setattr(distinct, "COPIES", 0)
    if defence != "audit":
        monkeypatch.setattr("starcert.methods.audit.check_kept", lambda *_: None)
    if defence != "votes":
        monkeypatch.setattr("starcert.voting.counting.DrawnVotes.check", lambda *_, **__: None)


@pytest.mark.parametrize("defence", ["frequent answers", "audit", "votes"])
@pytest.mark.parametrize(("is_false", "share"), [(rewired, 0.025), (is_clean, 0.54)])
def test_a_fault_that_a_table_keeps_is_found_in_three_ways(monkeypatch, defence, is_false, share):
    """Answers with a fortieth of the votes, each with a few of them; and one answer with half of the votes."""
    assert math.isclose(share_of(is_false), share, rel_tol=0.2)
    only(monkeypatch, defence)
    found = refusals(lambda _: FalseAtFirst(is_false, until=209), 20_000, 12)
    assert found >= (8 if defence == "audit" and is_false is rewired else 11)


def test_a_fault_that_a_table_keeps_is_found():
    assert refusals(lambda _: FalseAtFirst(rewired, until=209), 20_000, 12) == 12


@pytest.mark.slow
def test_a_rare_random_answer_is_found_as_often_as_without_tables():
    assert refusals(Random, 60_000, 60) >= 54


def test_where_nodes_are_classified_only_the_target_with_another_answer_must_be_tied():
    class Tied(sc.Classifier):
        """Two of eight nodes are tied on every copy, and get this or that answer."""

        n_classes, description, calls = 2, "tied", 0

        def n_targets(self, frame):
            return 8

        def classify(self, graphs):
            return self.scored(graphs).answers

        def scored(self, graphs):
            sum(range(100_000))
            self.calls += 1
            numbers = np.zeros((len(graphs), 8, 2))
            numbers[:, 2:, 1] = 1.0
            answers = numbers.argmax(axis=2)
            answers[:, :2] = self.calls % 2
            return Scores(answers, numbers)

    sc.SmoothedClassifier(Tied(), RARE_FLIPS).vote([RING], samples=20_000, seed=1)


def test_attacks_all_differ_and_are_not_looked_up(monkeypatch):
    monkeypatch.setattr(Table, "answers", lambda *_: pytest.fail("looked up"))
    sc.ExactClassifier(Counting()).certify([RING], threat="flips:2")


def test_tables_of_many_objects_share_their_bytes():
    noise, tables = sc.Noise(all=0.4), distinct.Tables(40_000)
    kept = []
    for n_edges in range(12):
        sites = Sites.everything(
            sc.Graph(8, [(i, i + 1) for i in range(n_edges % 7)] + [(0, 7)] * (n_edges > 6)), "all"
        )
        kept.append(tables.of(sites, noise))
        kept[-1].in_use = True  # all copies differ
        copies = sampler(sites, noise).draw(WordStream(n_edges), 300)
        kept[-1]._judge = lambda: None
        kept[-1].answers(copies, lambda some: np.zeros(len(some), dtype=np.int64), lambda *_: None)
        assert sum(each.n_bytes for each in kept) <= 40_000
    assert not kept[0].n_bytes
    assert kept[-1].n_bytes
