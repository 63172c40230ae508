"""Link votes survive exactly the attacks that they say: every attack on small graphs is tried."""

from itertools import combinations

import numpy as np
import pytest

import starcert as sc
from starcert.models.link_votes import LinkVotes
from starcert.objects import Sites
from starcert.objects.threats import read_threat
from starcert.system.errors import InvalidParameterError

N, PAIRS = 5, list(combinations(range(5), 2))


def world(seed: int, most: int = 4, density: float = 0.4) -> tuple[sc.Graph, LinkVotes]:
    """Small whole numbers: ties are frequent."""
    rng = np.random.default_rng(seed)
    graph = sc.Graph(N, [pair for pair in PAIRS if rng.random() < density])
    return graph, LinkVotes(rng.integers(-most, most, (N, 3)), rng.integers(-2, 3, (N, 3)))


def by_trying(graph, votes, additions, deletions) -> np.ndarray:
    edges, clean, kept = set(map(tuple, graph.edges.tolist())), votes.answers(graph), np.ones(N, dtype=bool)
    absent = [pair for pair in PAIRS if pair not in edges]
    for n_added in range(additions + 1):
        for n_deleted in range(deletions + 1):
            for added in combinations(absent, n_added):
                for deleted in combinations(sorted(edges), n_deleted):
                    kept &= votes.answers(sc.Graph(N, sorted(edges.difference(deleted).union(added)))) == clean
    return kept


@pytest.mark.parametrize("attack", [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (0, 2), (3, 0)])
def test_what_is_certified_is_what_no_attack_changes(attack):
    decided = []
    for seed in range(12):
        graph, votes = world(seed)
        truth = by_trying(graph, votes, *attack)
        assert votes.survives(graph, additions=attack[0], deletions=attack[1]).tolist() == truth.tolist()
        decided += truth.tolist()
    assert 0 < sum(decided) < len(decided) or attack == (0, 0)


THREATS = [
    "flips:3", "additions:2", "deletions:2", "deletions:1 + additions:2", "local:3,per_node=1", "local:3,per_node=2",
    "controlled:2,nodes=0|3", "rewire:1", "rewire:2", "swap:1",
]  # fmt: skip


def tried(graph, votes, threat):
    """For each node the size of the smallest attack that changes its answer, and how many change at each size."""
    asked, sites, clean = read_threat(threat), Sites.everything(graph, "all"), votes.answers(graph)
    smallest, most = np.full(N, 99), []
    for size in range(1, asked.most + 1):
        most.append(0)
        for attack in asked.attacks(sites, size):
            flipped = {PAIRS_OF[position] for position, _ in attack}
            edges = set(map(tuple, graph.edges.tolist())) ^ flipped
            changed = votes.answers(sc.Graph(N, sorted(edges))) != clean
            smallest[changed] = np.minimum(smallest[changed], size)
            most[-1] = max(most[-1], int(changed.sum()))
    return smallest, most


PAIRS_OF = [
    tuple(pair)
    for pair in np.stack(Sites.everything(sc.Graph(N, []), "all").coordinates(np.arange(10)), axis=1).tolist()
]


@pytest.mark.parametrize("threat", THREATS)
def test_every_threat_agrees_with_all_of_its_attacks(threat):
    exact = threat not in ("rewire:2", "swap:1")
    seen, attack_of = set(), {}
    for seed in range(40):  # nodes without links, and nodes linked to all others, are among them
        graph, votes = world(seed, density=(0.15, 0.4, 0.85)[seed % 3])
        found = votes.certify(graph, threat=threat)
        smallest, most = tried(graph, votes, threat)
        steps = found.threat.most
        for certified, broken, first in zip(found.certified_sizes, found.broken_sizes, smallest.tolist(), strict=True):
            assert certified < first
            assert broken in (0, first)
            if exact:
                assert certified == min(steps, first - 1)
                assert broken == (first if first <= steps else 0)
            seen.add((int(certified), int(broken)))
        sites, asked = Sites.everything(graph, "all"), found.threat
        for node, one in enumerate(found.outcomes()):
            assert (one.found is None) == (one.broken is None)
            if one.found is None:
                continue
            attack = tuple((site, int(not sites.values[site])) for site in one.found.sites)
            listed = {each for size in range(1, one.broken + 1) for each in asked.attacks(sites, size)}
            edges = set(map(tuple, graph.edges.tolist())) ^ {PAIRS_OF[site] for site, _ in attack}
            (answer,) = np.flatnonzero(one.found.votes)
            assert attack in listed
            assert votes.answers(sc.Graph(N, sorted(edges)))[node] == answer != one.answer
            assert one.found.words.count(";") == len(attack) - 1
            attack_of[threat, node] = attack
        for size, changed in enumerate(most, start=1):
            assert changed <= found.proof.at_most_changed(size)
    assert len(seen) > 1 or not exact
    assert bool(attack_of) == (threat != "swap:1")


def test_one_rewired_edge_that_stays_at_the_node_is_not_all():
    """Were only links looked at that move from the node to another one, false claims would be made."""
    wrong = 0
    for seed in range(60):
        graph, votes = world(seed)
        smallest, _ = tried(graph, votes, "rewire:1")
        moved = votes.certify(graph, threat="rewire:1").certified_sizes
        stays = votes.survives(graph, additions=1, deletions=1) | ~votes.survives(graph, additions=0, deletions=0)
        wrong += int(((smallest == 1) & (moved == 1)).sum())
        assert (moved[stays & (smallest > 1)] == 1).all()
    assert wrong == 0


@pytest.mark.parametrize("votes", ["hard", "soft", "log"])
def test_votes_of_each_sort_are_within_their_weight(votes):
    logits = np.random.default_rng(0).normal(0, 3, (20, 4))
    found = LinkVotes.of_logits(logits, weight=0.7, votes=votes, known=([0], [2])).votes
    assert found.min() >= 0
    assert found.max() <= round(0.7 * 2**20)
    assert found[0].tolist() == [0, 0, round(0.7 * 2**20), 0]


def test_without_votes_it_is_blind_and_survives_everything():
    graph, votes = world(0)
    blind = LinkVotes(votes.own, np.zeros_like(votes.own))
    assert blind.survives(graph, additions=10, deletions=10).all()


def test_a_control_that_forgets_rivals_fails():
    """Were only the second class of each node looked at, false claims would be made."""
    wrong = 0
    for seed in range(40):
        graph, votes = world(seed)
        scores = votes.scores(graph)
        second = np.argsort(-scores, axis=1, kind="stable")[:, 1]
        for node in range(N):
            both = np.sort([scores[node].argmax(), second[node]])
            only = LinkVotes(votes.own[:, both], votes.votes[:, both])
            claim = only.survives(graph, additions=1)[node]
            wrong += bool(claim and not by_trying(graph, votes, 1, 0)[node])
    assert wrong > 0


def test_a_bonus_and_known_classes_make_what_they_say():
    logits = np.log([[0.6, 0.4], [0.3, 0.7], [0.5, 0.5]])
    votes = LinkVotes.of_logits(logits, weight=0.5, bonus=2, known=([1], [0]))
    assert votes.votes.tolist() == [[2**19, 0], [2**19, 0], [2**19, 0]]
    assert votes.own[0] == pytest.approx(np.array([np.log(0.6) + 1, np.log(0.4)]) * 2**20, abs=1)
    alone = sc.Graph(3, [])
    assert votes.answers(alone).tolist() == [0, 1, 0]


def test_fitting_chooses_what_survives_on_validation_nodes():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    edges = [(u, v) for u, v in combinations(range(60), 2) if rng.random() < (0.3 if labels[u] == labels[v] else 0.02)]
    graph = sc.Graph(60, edges)
    logits = np.where(labels[:, None] == [0, 1], 1.0, 0.0) + rng.normal(0, 1.0, (60, 2))
    found = LinkVotes.fit(
        graph, logits, labels, train=range(0, 60, 6), validation=range(1, 60, 2), threat="additions:2"
    )
    right = found.answers(graph) == labels
    survived = right & found.survives(graph, additions=2)
    assert survived.mean() > (logits.argmax(axis=1) == labels).mean() + 0.05


@pytest.mark.parametrize("wrong", [{"own": [[0.5, 1]]}, {"own": [1, 2]}, {"votes": [[1, 2, 3]]}])
def test_other_scores_are_refused(wrong):
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        LinkVotes(**{"own": [[0, 1]], "votes": [[0, 1]], **wrong})


@pytest.mark.parametrize("name", ["own", "votes"])
@pytest.mark.parametrize("huge", [np.array(2**61), np.array(-(2**61)), np.array(2**63, dtype=np.uint64)])
def test_sums_that_would_leave_64_bits_are_refused(name, huge):
    """They would wrap around: what adds to a class would take from it."""
    given = {each: np.zeros((4, 2), dtype=huge.dtype) for each in ("own", "votes")}
    given[name][2, 0] = huge
    with pytest.raises(InvalidParameterError, match=f"'{name}' must be at most .* in size"):
        LinkVotes(**given)
    with pytest.raises(InvalidParameterError, match="not huge"):
        LinkVotes.of_logits([[1.0, 0.0], [0.0, 1.0]], weight=1e13, bonus=5)
