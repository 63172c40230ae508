"""Verdicts: every level certified, broken or open, from votes of real classifiers on small graphs."""

from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from multiprocessing import get_context

import networkx as nx
import numpy as np
import pytest
from asking import how_to
from evidence_worlds import World, symmetric

import starcert as sc
from starcert.math.attacked_sites import ListedAxis, attack_number
from starcert.math.evidence import FlipEvidence
from starcert.math.frontier import Frontier
from starcert.methods import evidence as module
from starcert.voting.store import VoteStore

NOISE = sc.Noise(ring=0.1, rest=0.15)


class ByEdges(sc.classifiers.Classifier):
    """Graphs by their number of edges: one class for every `step` of them."""

    def __init__(self, step, n_classes=2):
        self.step, self.n_classes = step, n_classes

    @property
    def description(self):
        return f"{self.n_classes} classes, {self.step} edges each"

    def classify(self, graphs):
        return np.minimum(graphs.degrees().sum(axis=1) // 2 // self.step, self.n_classes - 1)


@pytest.fixture(scope="module")
def smoothed():
    base = ByEdges(6)
    return sc.SmoothedClassifier(
        base, NOISE, regions=sc.Partition.from_node_sets({"ring": range(4), "rest": range(4, 7)})
    )


@pytest.fixture(scope="module")
def graphs():
    made = [nx.empty_graph(7), nx.cycle_graph(7), nx.complete_graph(7)]
    made[1].remove_edge(0, 6)
    return [sc.Graph.from_networkx(each) for each in made]


@pytest.fixture(scope="module")
def result(smoothed, graphs):
    return smoothed.certify(graphs, samples=4_000, seed=1, evidence=sc.Evidence(own_samples=40_000))


def truth(smoothed, graph, attack):
    """Whether the class of the attacked graph is that of the clean one, from 20,000 votes there."""
    edges = {tuple(sorted(pair)) for pair in graph.edges.tolist()}
    sites = smoothed.sites(graph)
    edges ^= {tuple(map(int, pair)) for pair in zip(*sites.coordinates(list(attack)), strict=True)}
    votes = smoothed.vote([graph.frame.with_edges(sorted(edges))], samples=20_000, seed=99).counts[0]
    return votes / votes.sum()


def test_levels_are_certified_from_below_and_say_why(result):
    for one in result:
        for level in one.frontier.radii:
            assert one.certified(level)
            assert one.verdict(level) == "certified"
            assert one.why(level).startswith("by ")
        for level in one.verdicts.certified:
            for axis in (0, 1):
                if level[axis]:
                    assert one.certified(tuple(r - (a == axis) for a, r in enumerate(level)))


def test_evidence_loses_nothing_that_counts_certify(smoothed, graphs, result):
    """At the alpha that counts have now."""
    counts = smoothed.certify(graphs, samples=4_000, seed=1, alpha=0.01 / 4)
    for plain, one in zip(counts, result, strict=True):
        assert plain.label == one.label
        assert all(one.certified(radius) for radius in plain.frontier.radii)
        assert one.frontier_by_p_A.radii == plain.frontier.radii


def test_evidence_certifies_more(result):
    assert any(set(one.frontier.radii) != set(one.frontier_by_p_A.radii) for one in result)


def test_what_is_broken_breaks(smoothed, graphs, result):
    found = 0
    for one, graph in zip(result, graphs, strict=True):
        for level in one.broken:
            attack = one.attack(level)
            found += 1
            assert attack.delta < 0.01
            assert sum(attack.votes) % 64 == 0
            assert truth(smoothed, graph, attack.sites)[one.label] < 0.52
            assert not one.certified(level)
            assert one.verdict(level) == "broken"
    assert found


def test_what_is_certified_by_votes_of_their_own_is_robust(smoothed, graphs, result):
    """Each of its attacks, by plain votes."""
    for one, graph in zip(result, graphs, strict=True):
        for level in one.verdicts.certified:
            if sum(level) == 1:
                sites = smoothed.sites(graph)
                axis = level.index(1)
                start = sites.offsets[axis]
                for site in range(start, start + sites.sizes[axis]):
                    assert truth(smoothed, graph, (site,))[one.label] > 0.48


def test_any_flips_is_the_largest_number_wherever_they_are(result):
    for one in result:
        k = one.any_flips
        assert all(one.certified((a, k - a)) for a in range(k + 1) if a <= one.capacity[0] and k - a <= one.capacity[1])
        more = [(a, k + 1 - a) for a in range(k + 2) if a <= one.capacity[0] and k + 1 - a <= one.capacity[1]]
        assert not more or not all(map(one.certified, more))


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, partial(ProcessPoolExecutor, mp_context=get_context("fork"))])
def test_verdicts_do_not_depend_on_workers_or_batches(smoothed, graphs, result, pool):
    with pool(3) as executor:
        again = smoothed.certify(
            graphs,
            samples=4_000,
            seed=1,
            evidence=sc.Evidence(own_samples=40_000),
            voting=sc.Voting(executor=executor, batch_size=100),
        )
    assert [one.verdicts for one in again] == [one.verdicts for one in result]


def test_a_store_keeps_votes_at_attacked_graphs(smoothed, graphs, tmp_path):
    asked = {"samples": 2_000, "seed": 1, "evidence": True, "own_samples": 8_000}
    expected = smoothed.certify(graphs, **how_to(**asked))
    for _ in range(2):
        again = smoothed.certify(graphs, **how_to(**asked, store=tmp_path / "votes.db"))
        assert [one.verdicts for one in again] == [one.verdicts for one in expected]


def test_a_store_is_read_once_for_each_attack(tmp_path, monkeypatch):
    """An attack may have thousands of chunks: to read all of them for each of them would take their number squared."""
    base = sc.classifiers.from_callable(lambda batch: batch.degrees().sum(axis=1) > 4, n_classes=2, on="batch")
    asked, read = Counter(), VoteStore.attack_chunks

    def counted(store, graph, positions, **more):
        asked[tuple(positions)] += 1
        return read(store, graph, positions, **more)

    monkeypatch.setattr(VoteStore, "attack_chunks", counted)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.2))
    for _ in range(2):  # fresh votes, and stored ones
        (one,) = smoothed.certify(
            [sc.Graph(4, [(0, 1)])], samples=4000, evidence=True, seed=1, voting=sc.Voting(store=tmp_path / "votes.db")
        )
        assert max(map(len, one.verdicts.grounds.own.values())) > 2
        assert set(asked.values()) == {1}
        asked.clear()


def test_without_votes_of_their_own_attacks_stay_open(smoothed, graphs):
    result = smoothed.certify(graphs, samples=4_000, seed=1, evidence=sc.Evidence(own_samples=0))
    kinds = {verdict.kind for one in result for verdict in one.verdicts.levels.values()}
    assert kinds <= {"certified", "open"}
    assert all(one.broken == () for one in result)
    assert all(
        "attacks" in one.why(level) for one in result for level in one.frontier.beyond if level in one.verdicts.levels
    )


def test_after_an_abstention_all_is_open(smoothed):
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() % 2), n_classes=2)
    coin = sc.SmoothedClassifier(base, sc.Noise(all=0.5))
    (one,) = coin.certify([sc.Graph(4, [])], samples=500, seed=1, evidence=True)
    assert one.abstained
    assert [verdict.kind for verdict in one.verdicts.levels.values()] == ["open"]
    assert one.verdict(0) == one.verdict(1) == "open"


@pytest.mark.parametrize(("plan", "samples"), [("fixed", 800), ("decided", 1_500)])
def test_an_answer_without_a_majority_is_certified_class_by_class_and_proved_again(graphs, plan, samples, tmp_path):
    """Four classes, the first with less than half of the votes and more than any other; flips change little."""
    weights = np.random.default_rng(1).integers(1, 1_000, (7, 7))

    def answers(batch):
        return np.searchsorted([44, 74, 88], (batch.adjacency() * weights).sum(axis=(1, 2)) % 100, side="right")

    base = sc.classifiers.from_callable(answers, on="batch", n_classes=4, description="remainders")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.45))
    voting = sc.Voting(selection_samples=500, plan=plan)
    certify = partial(smoothed.certify, graphs, samples=samples, seed=1, voting=voting)
    weighing = sc.Evidence(own_samples=50_000)
    after = certify(evidence=weighing, threat="flips:1")
    before = after.by_p_A
    listed = certify(evidence=weighing, threat="additions:1")
    assert before.abstained.sum() > after.abstained.sum()
    for one, narrow in zip(after, listed, strict=True):
        assert one.abstained == narrow.abstained
        assert one.verdict(0) == ("open" if one.abstained else "certified")
        if one.abstained:
            assert (one.verdict(1), narrow.verdict("additions:1")) == ("open", "open")
    gained = [i for i in range(len(graphs)) if before.abstained[i] and not after.abstained[i]]
    assert all("by weighing" in after[i].why(0) for i in gained)
    assert all(after[i].frontier.radii for i in gained)
    assert all(after[i].verdict(1) == "certified" == listed[i].verdict("additions:1") for i in gained)


def test_three_classes(graphs):
    base = ByEdges(5, n_classes=3)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.1))
    result = smoothed.certify(graphs, samples=2_000, seed=1, evidence=True, threat=sc.threats.Box(2))
    for one in result:
        for level in one.broken:
            votes = one.attack(level).votes
            assert max(votes) > votes[one.label]
    assert any(one.verdicts.certified for one in result)


def test_two_families_of_alpha(smoothed, graphs):
    each = smoothed.certify(graphs, samples=2_000, seed=1, evidence=sc.Evidence(own_samples=0))
    together = smoothed.certify(graphs, samples=2_000, seed=1, evidence=sc.Evidence(own_samples=0), family="all")
    for one, other in zip(each, together, strict=True):
        assert set(other.verdicts.certified) <= {*one.verdicts.certified}
        assert other.together == len(graphs)
    assert "all 3 certificates together" in str(together[0])


@pytest.mark.parametrize("given", [-1, 0.5, True, "many"])
def test_own_samples_are_a_whole_number(given):
    with pytest.raises(sc.InvalidParameterError, match="'own_samples' must be a whole number, 0 or more"):
        sc.Evidence(own_samples=given)


def test_a_search_that_is_too_long_says_so(smoothed, graphs, monkeypatch):
    monkeypatch.setattr(module, "MAX_LEVELS", 1)
    one = smoothed.certify(graphs[1:2], samples=4_000, seed=1, evidence=sc.Evidence(own_samples=0))[0]
    assert "1 levels" in one.frontier.incomplete or not one.verdicts.certified


@pytest.mark.parametrize(("size", "length"), [(5, 0), (5, 1), (6, 3), (7, 7)])
def test_combinations_by_their_number(size, length):
    listed = list(combinations(range(size), length))
    axes = [ListedAxis(size, length)]
    assert [attack_number(axes, i) for i in range(len(listed))] == [(each,) for each in listed]


def test_one_way_noise_and_no_noise_are_decided_by_votes_of_their_own():
    """On an axis with p = 0 votes on the clean graph know nothing, and votes at attacked graphs do."""
    base = ByEdges(3)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(delete=0.1, add=0)))
    (one,) = smoothed.certify(
        [sc.Graph(4, [(0, 1)])],
        samples=500,
        seed=1,
        evidence=sc.Evidence(own_samples=20_000),
        threat=sc.threats.Box((1, 1)),
    )
    assert one.verdict((0, 1)) == "certified"
    assert one.verdict((1, 1)) == "certified"
    assert np.isfinite(one.p_lower)


def test_any_flips_ends_where_nobody_asked(smoothed, graphs):
    """A box, or a number of flips, is an end: what lies beyond was not looked at."""
    boxed = smoothed.certify(
        graphs[:1], samples=2_000, seed=1, threat=sc.threats.Box((1, 3)), evidence=sc.Evidence(own_samples=0)
    )[0]
    assert boxed.frontier.covers((1, 0))
    assert boxed.any_flips <= 1
    counted = smoothed.certify(
        graphs[:1], samples=400, seed=1, evidence=sc.Evidence(own_samples=20_000), threat="flips:2"
    )[0]
    assert "more than 2 flips" in counted.frontier.incomplete
    assert counted.any_flips == 2


def test_any_flips_of_a_large_frontier_is_told_at_once():
    """Three regions of a thousand pairs each have millions of levels."""
    noise = sc.Noise(a=0.3, b=0.31, c=0.32)
    one = sc.certify(sc.Bounds.certain([1 - 1e-9]), noise, capacity=[(1000, 1000, 1000)])[0]
    k = one.any_flips
    assert k == min(map(sum, one.frontier.beyond)) - 1 > 50
    assert one.certified((k, 0, 0))
    assert one.certified((0, 0, k))


def test_a_level_is_asked_about_only_when_every_level_within_it_is_certified(monkeypatch):
    """The theorem about alpha rests on it: whatever the verdicts are, those that certify are closed downwards."""
    rng = np.random.default_rng(3)
    world = World((symmetric(0.2), symmetric(0.3)), (3, 3), np.zeros((2,) * 6))
    evidence = FlipEvidence(world.votes(rng, 64), world.axes, alpha=Fraction(1, 10), failure=0.1)
    frontier = Frontier(((0, 0),), ((0, 1), (1, 0)), verified=True)
    for _ in range(50):
        kinds = {level: rng.choice(["certified", "certified", "open"]) for level in product(range(4), repeat=2)}
        monkeypatch.setattr(
            module, "_verdict", lambda _, level, *__, kinds=kinds: module.Verdict(str(kinds[level]), "")
        )
        found = module.find_verdicts(evidence, frontier, own=None, label=0, alpha=0.1, broken=Fraction(1, 40))
        inside = {(0, 0), *found.certified}
        for level in found.levels:
            assert inside >= {each for each in product(*(range(r + 1) for r in level)) if each != level}
        for level in set(kinds) - inside - {*found.levels}:  # and nothing is left out
            assert not inside >= {each for each in product(*(range(r + 1) for r in level)) if each != level}
