"""Classifiers by statistics: every verdict equals brute force over all attacks, whatever the quantities."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import starcert as sc
from starcert.models import quantities, statistics
from starcert.models.statistics import Statistics
from starcert.system.errors import InvalidParameterError

PAIRS = list(combinations(range(5), 2))
LABELS = ["C", "C", "N", "N", "O"]


def graph_of(chosen):
    return sc.Graph(
        5, [pair for pair, present in zip(PAIRS, chosen, strict=True) if present], node_data={"label": LABELS}
    )


def drawn(number, seed):
    rng = np.random.default_rng(seed)
    return [graph_of(rng.random(len(PAIRS)) < rng.uniform(0.2, 0.8)) for _ in range(number)]


def changed(graph, most_deleted, most_added, most):
    present = {tuple(edge) for edge in graph.edges.tolist()}
    for size in range(1, most + 1):
        for attack in combinations(PAIRS, size):
            deleted = sum(pair in present for pair in attack)
            if deleted <= most_deleted and size - deleted <= most_added:
                yield size, sc.Graph(5, sorted(present ^ set(attack)), node_data={"label": LABELS})


@pytest.mark.parametrize("threat", ["flips:3", "deletions:2", "additions:2", "deletions:1 + additions:1"])
@pytest.mark.parametrize(
    ("names", "estimator"),
    [
        (["edges"], KNeighborsClassifier(3)),
        (["nodes", "labels", "edges by label"], DecisionTreeClassifier(random_state=0)),
        (["edges", "triangles"], RandomForestClassifier(7, random_state=0)),
        (["degrees", "components"], LogisticRegression()),
        (["largest degrees", "cores"], RandomForestClassifier(7, max_depth=3, random_state=0)),
    ],
)
@pytest.mark.parametrize("few_points", [False, True])
def test_verdicts_agree_with_all_attacks(monkeypatch, names, estimator, threat, few_points):
    if few_points:
        monkeypatch.setattr(statistics, "MAX_POINTS", 2)  # boxes are bounded instead
    train = drawn(80, 0)
    truth = [graph.n_edges + (graph.edges[:, 0] == 0).sum() > 6 for graph in train]
    model = Statistics(estimator, names).fit(train, truth)
    graphs = drawn(12, 1)
    found = model.certify(graphs, threat=threat)
    assert found.labels.tolist() == model.predict(graphs).astype(int).tolist()
    most_deleted = {"flips:3": 3, "deletions:2": 2, "additions:2": 0}.get(threat, 1)
    most_added = {"flips:3": 3, "deletions:2": 0, "additions:2": 2}.get(threat, 1)
    seen = set()
    for one, graph in zip(found, graphs, strict=True):
        attacked = list(changed(graph, most_deleted, most_added, found.threat.most))
        answers = model.predict([other for _, other in attacked]).astype(int)
        first = min(
            (size for (size, _), answer in zip(attacked, answers, strict=True) if answer != one.label), default=9
        )
        assert one.certified_size < first
        assert one.broken_size is None or one.broken_size == first
        if one.broken_size is not None:
            edges = {tuple(edge) for edge in graph.edges.tolist()} ^ {PAIRS[site] for site in one.attack().sites}
            broken = sc.Graph(5, sorted(edges), node_data={"label": LABELS})
            assert model.predict([broken])[0] != model.predict([graph])[0]
            assert len(one.attack().sites) == one.broken_size
        if names in (["edges"], ["nodes", "labels", "edges by label"]) and not few_points:  # exact at any size
            assert one.certified_size == min(first - 1, found.threat.most)
            assert one.broken_size == (first if first <= found.threat.most else None)
        seen.add(one.verdict())
    assert "certified" in seen or "broken" in seen


def test_a_blind_model_is_certified_everywhere():
    train = [sc.Graph(n % 7 + 2, []) for n in range(40)]
    model = Statistics(DecisionTreeClassifier(), ["nodes", "labels"]).fit(train, [n % 7 > 3 for n in range(40)])
    assert (model.certify(drawn(5, 2), threat="flips:9").certified_sizes == 9).all()


def test_a_forgotten_addition_is_caught(monkeypatch):
    class Forgetful(quantities.EdgeCount):
        def box(self, graph, deletions, additions):
            return super().box(graph, deletions, 0)

    monkeypatch.setitem(quantities.QUANTITIES, "edges", Forgetful)
    train = drawn(60, 0)
    model = Statistics(DecisionTreeClassifier(), ["edges"]).fit(train, [graph.n_edges > 5 for graph in train])
    graph = next(graph for graph in drawn(60, 3) if graph.n_edges == 5)
    (one,) = model.certify([graph], threat="additions:1")
    (broken,) = model.predict(
        [sc.Graph(5, [*graph.edges.tolist(), next(p for p in PAIRS if list(p) not in graph.edges.tolist())])]
    )
    assert one.verdict() == "certified"  # falsely: the answer does change
    assert broken != model.predict([graph])[0]


def test_rewired_edges_are_certified_as_part_of_both_changes_and_never_broken():
    train = drawn(60, 0)
    model = Statistics(DecisionTreeClassifier(), ["edges"]).fit(train, [graph.n_edges > 5 for graph in train])
    found = model.certify(drawn(20, 4), threat="rewire:1")
    assert not found.broken_sizes.any()
    assert "as part of" in found[0].why()


def test_graphs_without_edges_have_attacks_as_others_do():
    train = drawn(60, 0)
    model = Statistics(DecisionTreeClassifier(), ["components"]).fit(train, [graph.n_edges > 2 for graph in train])
    (one,) = model.certify([sc.Graph(5, [])], threat="flips:3")
    assert one.verdict() == "broken"


@pytest.mark.parametrize("graph", [sc.Graph(3, [(0, 1)], directed=True), "graph"])
def test_other_objects_are_refused(graph):
    with pytest.raises(InvalidParameterError, match="undirected"):
        Statistics(LogisticRegression()).fit([graph, graph], [0, 1])
