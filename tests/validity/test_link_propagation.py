"""Propagation survives exactly the attacks that it says: every link of small graphs is added or deleted."""

from itertools import combinations

import numpy as np
import pytest

import starcert as sc
from starcert.models import link_propagation
from starcert.models.link_propagation import LinkPropagation
from starcert.objects.neighbours import nearest_neighbours
from starcert.system.errors import InvalidParameterError

N, PAIRS = 9, list(combinations(range(9), 2))


def world(seed: int, *, fixed: bool = True) -> tuple[sc.Graph, LinkPropagation]:
    rng = np.random.default_rng(seed)
    graph = sc.Graph(N, [pair for pair in PAIRS if rng.random() < (0.2, 0.4)[seed % 2]])
    pairs = np.array([pair for pair in PAIRS if rng.random() < 0.2]) if fixed else None
    own, start = rng.normal(0, 0.1, (N, 3)), rng.random((N, 3))
    return graph, LinkPropagation(own, start, keep=(0.1, 0.5, 2.0)[seed % 3], fixed=pairs, fixed_weight=0.3)


def direct(model: LinkPropagation, edges) -> np.ndarray:
    """The scores by their definition: node by node, a dense system of its own."""
    system = np.diag(np.full(N, float(model.keep)))
    for pairs, weight in ((edges, 1.0), (model.fixed.tolist(), model.fixed_weight)):
        for u, v in pairs:
            system[[u, v], [u, v]] += weight
            system[[u, v], [v, u]] -= weight
    return model.own + np.linalg.solve(system, model.keep * model.start)


def by_trying(model, edges: set, *, add: bool) -> np.ndarray:
    clean, kept = direct(model, edges).argmax(axis=1), np.ones(N, dtype=bool)
    for pair in sorted(set(PAIRS) - edges if add else edges):
        kept &= direct(model, edges ^ {pair}).argmax(axis=1) == clean
    return kept


def edges_of(graph) -> set:
    return set(map(tuple, graph.edges.tolist()))


@pytest.mark.parametrize("kind", ["additions", "deletions"])
@pytest.mark.parametrize("block", [1, 32])
def test_what_is_certified_is_what_no_link_changes(kind, block, monkeypatch):
    monkeypatch.setattr(link_propagation, "BLOCK", block)
    decided = []
    for seed in range(60):
        graph, model = world(seed, fixed=seed % 4 > 0)
        truth = by_trying(model, edges_of(graph), add=kind == "additions")
        assert model.survives(graph, **{kind: 1}).tolist() == truth.tolist()
        decided += truth.tolist()
    assert 0.1 < np.mean(decided) < 0.95


def test_answers_are_those_of_the_definition_and_of_attacked_graphs():
    for seed in range(10):
        graph, model = world(seed)
        assert model.scores(graph) == pytest.approx(direct(model, edges_of(graph)), abs=1e-12)
        assert model.survives(graph).all()
        some = [4, 1]
        every = model.survives(graph, deletions=1)
        assert model.survives(graph, deletions=1, nodes=some).tolist() == every[some].tolist()


def test_controls_that_forget_links_elsewhere_or_rivals_fail():
    """Were only links of the node itself tried, or only its second class looked at, false claims would be made."""
    elsewhere = rivals = 0
    for seed in range(60):
        graph, model = world(seed)
        edges = edges_of(graph)
        scores, kept = direct(model, edges), by_trying(model, edges, add=True)
        clean, second = np.argsort(-scores, axis=1)[:, :2].T
        deleted = {pair: direct(model, edges ^ {pair}).argmax(axis=1) != clean for pair in edges}
        for node in range(N):
            of_node = [deleted[pair][node] for pair in edges if node in pair]
            elsewhere += not any(of_node) and any(each[node] for each in deleted.values())
            both = np.sort([clean[node], second[node]])
            two = LinkPropagation(model.own[:, both], model.start[:, both], model.keep, model.fixed, model.fixed_weight)
            rivals += bool(two.survives(graph, additions=1, nodes=[node])[0] and not kept[node])
    assert elsewhere > 0
    assert rivals > 0


def test_a_lead_that_rounding_could_make_is_not_certified():
    """Two classes that are equal but for the last digits, on a graph where links are without effect."""
    graph = sc.Graph(3, [(0, 1), (1, 2)])
    start = np.array([[0.5, 0.5]] * 3)
    equal = LinkPropagation(np.array([[1e-10, 0.0]] * 3), start, keep=0.3)
    ahead = LinkPropagation(np.array([[1e-8, 0.0]] * 3), start, keep=0.3)
    for kind in ("additions", "deletions"):
        assert not equal.survives(graph, **{kind: 1}).any()
        assert ahead.survives(graph, **{kind: 1}).all()


@pytest.mark.parametrize("pair", [(0, 1), (0, 3)])
def test_a_lead_after_the_attack_that_rounding_could_make_is_not_certified(pair):
    """Node 0 is ahead without attack, and all but equal after the one that hurts it most."""
    edges, start = {(0, 1), (0, 2), (1, 2)}, np.array([[0.5, 0.5], [1, 0], [1, 0], [0, 1]] + [[0.5, 0.5]] * (N - 4))
    kind = "deletions" if pair in edges else "additions"
    for ahead, certified in ((1e-10, False), (1e-7, True)):
        model = LinkPropagation(np.zeros((N, 2)), start, keep=0.3)
        tried = [each for each in PAIRS if (each in edges) == (kind == "deletions")]
        least = min(direct(model, edges ^ {each})[0] @ [1, -1] for each in tried)
        own = np.zeros((N, 2))
        own[0, 0] = ahead - least
        model = LinkPropagation(own, start, keep=0.3)
        assert model.survives(sc.Graph(N, sorted(edges)), **{kind: 1}, nodes=[0]).tolist() == [certified]


def test_the_proved_error_is_above_the_one_that_is_made():
    graph, model = world(4)
    solved = link_propagation._Solved(model, graph)
    assert solved.tolerance < 1e-8
    spoilt = solved.inverse + np.random.default_rng(0).uniform(-1e-6, 1e-6, (N, N))
    assert np.abs(spoilt - solved.inverse).max() <= solved.error(spoilt, np.eye(N)) < 1e-3


def test_a_keep_that_is_lost_in_rounding_errors_is_refused():
    graph, model = world(4)
    assert model.tolerance(graph) < 1e-8

    def keeping(keep):
        return LinkPropagation(model.own, model.start, keep, model.fixed, model.fixed_weight)

    for part in (0.5, 2):  # no link matters where all start alike: own scores decide
        flat = LinkPropagation(np.zeros((N, 3)), np.full((N, 3), 0.5), 0.003, model.fixed, model.fixed_weight)
        own = np.tile([part * flat.tolerance(graph), 0, 0], (N, 1))
        flat = LinkPropagation(own, flat.start, flat.keep, flat.fixed, flat.fixed_weight)
        assert own[0, 0] > link_propagation.TOLERANCE
        assert flat.survives(graph, deletions=1).all() == flat.survives(graph, additions=1).all() == (part > 1)
    assert keeping(1e-3).answers(graph).tolist() == direct(keeping(1e-3), edges_of(graph)).argmax(axis=1).tolist()
    with pytest.raises(InvalidParameterError, match="'keep' must be so large that rounding errors"):
        keeping(1e-3).survives(graph, deletions=1)
    for keep in (1e-14, 1e-17, 1e-300):
        with pytest.raises(InvalidParameterError, match="take a larger keep"):
            keeping(keep).answers(graph)


def test_rounding_of_large_scores_counts():
    """Own scores so large that adding what is propagated loses more than 1e-9 of it."""
    graph, model = world(4)
    assert LinkPropagation(1e9 + model.own, model.start, model.keep).tolerance(graph) > np.spacing(1e9)


def test_without_links_that_count_it_is_blind():
    graph, model = world(0)
    flat = LinkPropagation(model.start, np.ones((N, 3)), keep=1)
    assert flat.survives(graph, additions=1).all()
    assert flat.survives(graph, deletions=1).all()


def test_from_logits_and_nearest_neighbours():
    logits, words = np.log([[0.6, 0.4], [0.3, 0.7], [0.5, 0.5]]), np.eye(3)[[0, 0, 1]]
    near = nearest_neighbours(words, 1)
    model = LinkPropagation.of_logits(logits, own=0.1, known=([1], [0]), fixed=near)
    assert model.start == pytest.approx(np.array([[0.36 / 0.52, 0.16 / 0.52], [1, 0], [0.5, 0.5]]))
    assert model.own[0] == pytest.approx(0.1 * logits[0])
    assert model.scores(sc.Graph(3, []))[2] == pytest.approx(model.own[2] + 0.5)
    assert model.scores(sc.Graph(3, []))[0, 0] > model.own[0, 0] + model.start[0, 0]  # drawn to its neighbour


@pytest.mark.parametrize("wrong", [{"own": [1, 2]}, {"start": [[1, np.inf]]}, {"keep": 0}, {"fixed": [[0, 1]]},
                                   {"fixed_weight": -1}])  # fmt: skip
def test_other_values_are_refused(wrong):
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        LinkPropagation(**{"own": [[0, 1]], "start": [[0, 1]], "keep": 1.0, **wrong})


@pytest.mark.parametrize("attack", [{"additions": 2}, {"deletions": 2}, {"additions": 1, "deletions": 1}])
def test_attacks_with_several_links_are_refused(attack):
    graph, model = world(0)
    with pytest.raises(InvalidParameterError, match="one link"):
        model.survives(graph, **attack)
    with pytest.raises(InvalidParameterError, match="9 nodes"):
        model.answers(sc.Graph(3, []))
