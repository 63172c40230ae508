"""Hashed voting is sound, and complete as far as it was tried: on all graphs with four nodes, any function as voter.

The base classifier is a table with a class for each of the 64 graphs, drawn at random. So every answer is known, and
with it the nearest graph with another answer. Rules that are wrong on purpose claim what is false.
"""

from itertools import product

import numpy as np
import pytest

import starcert as sc
from starcert.classifiers import Classifier
from starcert.math import closed_forms
from starcert.methods.hashed import HashedVotes
from starcert.objects.sites import Sites

PAIRS = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
ROWS = np.array(list(product([0, 1], repeat=6)))
GRAPHS = [sc.Graph(4, [pair for pair, there in zip(PAIRS, row, strict=True) if there]) for row in ROWS]
CODE = 2 ** np.arange(5, -1, -1)
DELETED = ((ROWS[:, None] == 1) & (ROWS[None] == 0)).sum(axis=2)  # from each graph to each
ADDED = DELETED.T
FLIPS = DELETED + ADDED
LAYOUTS = {"one pair more": lambda u, v: u + v, "uneven": lambda u, v: int(u + v > 1), "by seed": None}


class Table(Classifier):
    """A class for every graph on four nodes."""

    description = "a table"

    def __init__(self, table, n_classes):
        self.table, self.n_classes = table, n_classes

    def classify(self, graphs):
        dense = graphs.adjacency()
        return self.table[sum(dense[:, u, v].astype(int) * place for (u, v), place in zip(PAIRS, CODE, strict=True))]


def tables(n_classes, number, seed=0):
    rng = np.random.default_rng((seed, n_classes))
    for each in range(number):
        shares = rng.dirichlet([3.0, 1.0, 1.0][:n_classes] if each % 2 else [1.0] * n_classes)
        yield Table(rng.choice(n_classes, size=64, p=shares), n_classes)


class Layout:
    """Groups as a function of two nodes has them, in place of the hash."""

    def __init__(self, function):
        self.function = function

    def groups(self, graph, u, v, n_groups):
        pairs = zip(u.tolist(), v.tolist(), strict=True)
        return np.array([self.function(*pair) % n_groups for pair in pairs], dtype=np.int64)


def voting_of(base, groups, function):
    """Voters whose groups a function gives; None: the hash."""
    voting = HashedVotes(base, groups, seed=3)
    voting.hash = voting.hash if function is None else Layout(function)
    return voting


def brute_answers(base, masks):
    """The answers to all graphs, voter by voter: masks say which pairs each sees."""
    counts = sum(np.eye(base.n_classes, dtype=int)[base.table[(ROWS * mask) @ CODE]] for mask in masks)
    return counts.argmax(axis=1)


def masks_of(voting):
    """Which pairs each voter sees, derived from what it sees of the complete graph."""
    (copies,) = voting.copies([GRAPHS[-1]])
    return [np.array([list(pair) in copy.edges.tolist() for pair in PAIRS]) for copy in copies]


def check_attacks(found, answers):
    """Replays the attack of every broken row: it is one of the threat, of that size, and changes the answer."""
    sites = [Sites.everything(graph, "all") for graph in GRAPHS]
    for number, one in enumerate(found.outcomes()):
        assert (one.found is None) == (one.broken is None)
        if one.found is None:
            continue
        row = ROWS[number].copy()
        row[list(one.found.sites)] ^= 1
        attack = tuple((site, int(row[site])) for site in one.found.sites)
        listed = (each for size in range(1, one.broken + 1) for each in found.threat.attacks(sites[number], size))
        assert attack in listed
        after = answers[row @ CODE]
        assert after == np.argmax(one.found.votes) != one.answer
        assert one.found.words == found.rows()[number]["attack"]


def nearest(answers, apart):
    """From each graph the least distance to one with another answer; 99 where there is none."""
    return np.where(answers[:, None] != answers, apart, 99).min(axis=1)


LOCAL = "local:3,per_node=1"
CASES = [("one pair more", 3, 2), ("one pair more", 5, 3), ("uneven", 2, 2), ("uneven", 2, 3), ("by seed", 3, 3)]


@pytest.mark.parametrize(("name", "n_groups", "n_classes"), CASES)
def test_exact_is_brute_force_where_all_was_tried_and_sound_where_not(name, n_groups, n_classes):
    (base,) = tables(n_classes, 1, seed=n_groups)
    voting = voting_of(base, n_groups, LAYOUTS[name])
    masks = masks_of(voting)
    assert (np.sum(masks, axis=0) == 1).all()
    answers, largest = brute_answers(base, masks), int(max(mask.sum() for mask in masks))
    for threat, tried, apart in [
        ("flips:6", 1, FLIPS),
        ("flips:6", largest, FLIPS),
        ("deletions:4", largest, np.where(ADDED, 99, DELETED)),
    ]:
        most, truth = int(threat[-1]), nearest(answers, apart)
        found = voting.certify(GRAPHS, threat=threat, tried=tried)
        assert np.array_equal(found.labels, answers)
        assert (found.certified_sizes < truth).all()
        assert (found.broken_sizes >= truth)[found.broken_sizes > 0].all()
        check_attacks(found, answers)
        if tried == largest:
            assert np.array_equal(found.certified_sizes, np.minimum(truth - 1, most))
            assert np.array_equal(found.broken_sizes, np.where(truth <= most, truth, 0))


def test_what_few_changes_in_each_group_break_is_found():
    for base in tables(3, 2, seed=5):
        voting = voting_of(base, 2, lambda u, v: int(u + v > 2))
        masks = masks_of(voting)
        few = np.all([((ROWS[:, None] != ROWS[None]) & mask).sum(axis=2) <= 1 for mask in masks], axis=0)
        truth = nearest(brute_answers(base, masks), np.where(few, FLIPS, 99))
        found = voting.certify(GRAPHS, threat="flips:6", tried=1)
        assert np.array_equal(found.broken_sizes, np.where(truth < 99, truth, 0))
        check_attacks(found, brute_answers(base, masks))


def test_a_budget_of_attacks_and_none_at_all_leave_it_sound():
    for base in tables(3, 1, seed=6):
        voting = HashedVotes(base, 3, seed=1)
        truth = nearest(brute_answers(base, masks_of(voting)), FLIPS)
        for options in ({"tried": 2, "max_attacks": 2}, {"tried": 0}, {"rule": "counting"}):
            found = voting.certify(GRAPHS, threat="flips:6", **options)
            assert (found.certified_sizes < truth).all()
            assert (found.broken_sizes >= truth)[found.broken_sizes > 0].all()


def test_exact_certifies_all_that_counting_does_and_more():
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 1), n_classes=2)
    graphs = [sc.Graph(8, [(u, v) for u in range(8) for v in range(u + 1, 8) if (u * v) % k == 0]) for k in (2, 3, 5)]
    voting = HashedVotes(base, 5, seed=2)
    exact, counting = (voting.certify(graphs, threat="flips:6", rule=rule) for rule in ("exact", "counting"))
    assert (exact.certified_sizes >= counting.certified_sizes).all()
    assert (exact.certified_sizes > counting.certified_sizes).any()


@pytest.mark.parametrize("threat", ["flips:6", "deletions:6", "additions:6", "rewire:3"])
def test_exact_certifies_what_counting_does_on_every_graph_at_every_size(threat):
    for base in [*tables(2, 3, seed=11), *tables(3, 3, seed=11)]:
        voting = HashedVotes(base, 5, seed=1)
        exact, counting = (voting.certify(GRAPHS, threat=threat, rule=rule) for rule in ("exact", "counting"))
        assert np.array_equal(exact.labels, counting.labels)
        assert (exact.certified_sizes >= counting.certified_sizes).all()


def test_deletions_and_additions_have_budgets_of_their_own():
    (base,) = tables(3, 1, seed=8)
    voting = HashedVotes(base, 3, seed=1)
    truth = nearest(brute_answers(base, masks_of(voting)), np.where((DELETED <= 2) & (ADDED <= 1), FLIPS, 99))
    found = voting.certify(GRAPHS, threat="additions:1 + deletions:2", tried=3)
    assert np.array_equal(found.certified_sizes, np.minimum(truth - 1, 3))
    assert np.array_equal(found.broken_sizes, np.where(truth < 99, truth, 0))
    check_attacks(found, brute_answers(base, masks_of(voting)))
    less = voting.certify(GRAPHS, threat="deletions:2 + additions:1", tried=1)
    assert (less.certified_sizes < truth).all()
    assert (less.broken_sizes >= truth)[less.broken_sizes > 0].all()


def test_attacks_that_are_tried_once_decide_every_threat_as_if_tried_for_it():
    for n_classes, tried in ((2, 2), (3, 6)):
        (base,) = tables(n_classes, 1, seed=tried)
        voting = HashedVotes(base, 2, seed=1)
        answers, reached = brute_answers(base, masks_of(voting)), voting.reach(GRAPHS, most=tried, tried=tried)
        for threat in ("flips:6", "deletions:6", "additions:4", "deletions:2 + additions:1", "rewire:2", LOCAL):
            for rule in ("exact", "counting"):
                alone, shared = (voting.certify(GRAPHS, threat=threat, tried=tried, rule=rule, reached=each)
                                 for each in (None, reached))  # fmt: skip
                assert np.array_equal(alone.proof.votes, shared.proof.votes)
                check_attacks(shared, answers)
                for name in ("labels", "broken_sizes", "certified_sizes"):
                    assert np.array_equal(getattr(alone, name), getattr(shared, name)), (threat, rule, name)
        with pytest.raises(sc.InvalidParameterError, match="reached"):
            voting.certify(GRAPHS[:3], threat="flips:1", reached=reached)
        with pytest.raises(sc.InvalidParameterError, match="reached"):
            voting.certify(GRAPHS, threat="controlled:1,nodes=0", reached=reached)
        other = HashedVotes(base, voting.groups + 1)
        with pytest.raises(sc.InvalidParameterError, match="that of other voters"):
            other.certify(GRAPHS, threat="flips:1", reached=reached)


@pytest.mark.parametrize("threat", ["rewire:2", "swap:1", "local:3,per_node=1"])
def test_threats_that_are_part_of_others_are_certified_and_never_broken(threat):
    asked = sc.threats.read_threat(threat)
    apart = np.full((64, 64), 99)
    for number, row in enumerate(ROWS):
        for size in range(asked.most, 0, -1):
            for attack in asked.attacks(Sites.everything(GRAPHS[number], "all"), size):
                after = row.copy()
                after[[site for site, _ in attack]] = [value for _, value in attack]
                apart[number, after @ CODE] = size
    certified = 0
    for seed in (1, 3):  # with either budget left out, both rewire and swap would be claimed where they are not
        base = Table(np.random.default_rng(seed).integers(0, 2, 64), 2)
        voting = HashedVotes(base, 2, seed=1)
        truth = nearest(brute_answers(base, masks_of(voting)), apart)
        found = voting.certify(GRAPHS, threat=threat, tried=2)
        assert (found.certified_sizes < truth).all()
        assert not found.broken_sizes.any()
        certified += found.certified_sizes.sum()
    assert certified


# Controls: each of these rules is wrong, and claims something false.


def false_claims(bases, n_groups, **options):
    for base in bases:
        voting = HashedVotes(base, n_groups, seed=1)
        found = voting.certify(GRAPHS, threat="flips:3", tried=6, **options)
        yield (found.certified_sizes >= nearest(brute_answers(base, masks_of(voting)), FLIPS)).any()


def test_counting_only_voters_that_change_sides_claims_what_is_false(monkeypatch):
    honest = closed_forms.known_gains
    assert not any(false_claims(tables(3, 4, seed=13), 3))
    monkeypatch.setattr(closed_forms, "known_gains", lambda *given: np.where(honest(*given) == 2, 2, 0))
    assert any(false_claims(tables(3, 4, seed=13), 3))


def test_ties_that_count_for_the_answer_claim_what_is_false(monkeypatch):
    honest = closed_forms.winners
    bases = [Table((np.random.default_rng(15).random(64) < 0.6).astype(int), 2)]
    assert not any(false_claims(bases, 4))

    def lenient(votes, n_classes):
        answers, needed = honest(votes, n_classes)
        return answers, needed + (np.arange(n_classes) < answers[:, None])

    monkeypatch.setattr(closed_forms, "winners", lenient)
    assert any(false_claims(bases, 4))


@pytest.mark.parametrize("reads", ["edges", "nodes with an edge"])
def test_groups_that_follow_from_the_graph_claim_what_is_false(reads):
    """A number that was derived from each graph decides the groups, so an attacked graph has others."""

    def read(row):
        ends = [pair[1] + 1 for pair, there in zip(PAIRS, row, strict=True) if there]
        return int(row.sum()) if reads == "edges" else max(ends, default=0)

    wrong = False
    for base in tables(2, 6, seed=15):
        by_number = {n: voting_of(base, 3, lambda u, v, n=n: u * n + v) for n in set(map(read, ROWS))}
        every = {n: brute_answers(base, masks_of(voting)) for n, voting in by_number.items()}
        answers = np.array([every[read(row)][number] for number, row in enumerate(ROWS)])
        truth = nearest(answers, FLIPS)
        for n, voting in by_number.items():
            mine = np.array([read(row) == n for row in ROWS])
            found = voting.certify([graph for graph, here in zip(GRAPHS, mine, strict=True) if here], threat="flips:3")
            wrong |= (found.certified_sizes >= truth[mine]).any()
    assert wrong
