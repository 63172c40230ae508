"""The blind model: what it is shown, how it is chosen, and what it says about itself."""

import sys

import numpy as np
import pytest

import starcert as sc
from starcert.baselines import blind, blind_model
from starcert.baselines.candidates import SeenColumns, candidates_for
from starcert.objects.kinds import Untouched
from starcert.system.errors import InvalidParameterError

pytest.importorskip("sklearn.dummy")


ALL = blind_model.estimators


@pytest.fixture(autouse=True)
def simple(monkeypatch):
    """Logistic regression alone: forests take their time."""
    monkeypatch.setattr(blind_model, "estimators", lambda seed: dict(list(ALL(seed).items())[:1]))


def graph(labels, edges=(), **data):
    return sc.Graph(len(labels), edges, node_data={"label": list(labels), **data})


def two_classes(n=40, seed=0):
    """Graphs whose class is whether label 1 occurs more than once, with edges that say nothing."""
    rng = np.random.default_rng(seed)
    made = [rng.integers(0, 3, size=rng.integers(3, 7)) for _ in range(n)]
    graphs = [graph(labels, [(0, 1)] * int(rng.integers(2)), weight=rng.normal(size=len(labels))) for labels in made]
    return sc.datasets.Dataset(graphs, [int((labels == 1).sum() > 1) for labels in made])


def test_it_learns_from_counts_and_says_how(monkeypatch):
    monkeypatch.setattr(blind_model, "estimators", ALL)
    data = two_classes()
    model = blind(data, noise=sc.Noise(pairs=0.1))
    others = two_classes(seed=1)
    assert np.mean(model.predict(others.graphs) == others.labels) > 0.9
    assert "counts of label" in model.description
    tried = [each.cross_validated for each in model.candidates]
    assert len(tried) == 5
    assert model.cross_validated == max(tried) > 0.9
    assert tried[0] == pytest.approx(np.bincount(data.labels).max() / len(data), abs=0.05)
    assert f"{model.cross_validated:.1%}" in repr(model)


def test_the_same_seed_gives_the_same_model():
    data, others = two_classes(), two_classes(seed=1).graphs
    first, second = (blind(data, seed=3) for _ in range(2))
    assert first.candidates == second.candidates
    assert first.predict(others).tolist() == second.predict(others).tolist()


@pytest.mark.parametrize(("chosen", "threads"), [(None, {1}), ("2", {2})])
def test_it_learns_with_one_thread_unless_the_user_has_chosen(monkeypatch, chosen, threads):
    """Where other processes have the cores, threads that share little data wait for each other most of the time."""
    counted, pools = set(), sys.modules["threadpoolctl"]

    class Counting(sys.modules["sklearn.dummy"].DummyClassifier):
        def fit(self, rows, labels):
            counted.update(each["num_threads"] for each in pools.threadpool_info() if each["user_api"] == "openmp")
            return super().fit(rows, labels)

    monkeypatch.setattr(blind_model, "estimators", lambda _seed: {"counting": Counting})
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if chosen:
        monkeypatch.setenv("OMP_NUM_THREADS", chosen)
    with pools.threadpool_limits(2):
        blind(two_classes())
    assert counted == threads


def test_objects_and_labels_will_do():
    data = two_classes(12)
    assert blind(data.graphs, data.labels).predict(data.graphs[0]).shape == (1,)
    assert len(blind(data.graphs, [None] * 2 + data.labels.tolist()[2:]).predict(data.graphs)) == 12
    with pytest.raises(InvalidParameterError, match="have objects with classes"):
        blind(data.graphs, [None] * 12)


def test_without_anything_to_see_the_answer_is_the_most_frequent_class():
    rows = sc.Bits.rows(np.random.default_rng(0).integers(0, 2, size=(20, 3)))
    model = blind(rows, [0] * 8 + [1] * 12, noise=sc.Noise(all=0.1))
    assert model.description == "the most frequent class"
    assert model.predict(rows).tolist() == [1] * 20
    assert len(model.candidates) == 1


def test_rows_are_seen_by_the_columns_in_no_region():
    values = np.random.default_rng(0).integers(0, 3, size=(60, 4))
    rows = sc.Categories.rows(values, values=3)
    given = {"noise": sc.Noise(a=sc.Categorical(0.1)), "regions": {"a": [0, 1]}}
    model = blind(rows, (values[:, 3] == 1).astype(int), **given)
    assert model.cross_validated == 1
    assert model.description.endswith("on columns in no region")
    assert blind(rows, (values[:, 0] == 1).astype(int), **given).cross_validated < 0.8


def test_small_training_parts_are_no_error():
    for labels in ([0], [0, 1], [1, 1, 1], [0, 1, 2, 2]):
        graphs = [graph([label] * 3) for label in labels]
        assert set(blind(graphs, labels).predict(graphs)) <= set(labels)


def test_columns_count_categories_and_have_moments_of_numbers():
    seen = [
        Untouched({"kind": "a"}, {"label": [0, 2, 2], "x": np.eye(3)[:, :2], "w": [0.5, 1.5, 1.0]}, 3, "node"),
        Untouched({"kind": "b"}, {"label": [1], "x": [[1.0, 0.0]], "w": [np.nan]}, 1, "node"),
    ]
    columns = SeenColumns.of(seen)
    found = dict(zip(zip(columns.names, range(99), strict=False), columns.whole(seen[0]), strict=True))
    by_name = {}
    for (name, _), value in found.items():
        by_name.setdefault(name, []).append(value)
    assert by_name == {
        "kind in no region": [1, 0],
        "the number of nodes": [3],
        "counts of label": [1, 0, 2, 1, 0, 1],
        "counts of x": [1, 1, 1, 1],
        "moments of w": pytest.approx([3, 1, np.std([0.5, 1.5, 1]), 0.5, 1.5]),
    }
    assert np.isfinite(columns.whole(seen[1])).all()


def test_what_comes_in_another_form_later_counts_as_nothing():
    columns = SeenColumns.of([Untouched({}, {"label": [0, 1], "x": [[1.0], [2.0]]}, 2, "node")])
    other = Untouched({}, {"label": ["new"], "x": [[1.0, 2.0]], "more": [3]}, 1, "node")
    assert columns.part_rows(other).tolist() == [[0, 0, 0]]
    assert columns.whole(Untouched({}, {}, 0, "node")).shape == columns.whole(other).shape


def test_classes_and_masks_of_nodes_are_not_shown():
    one = graph([0, 1], y=[0, 1], train_mask=[True, False])
    assert blind_model.Blindfold(None, None, None).show(one).parts.keys() == {"label", "edges in no region"}


def nodes(n=60, seed=0):
    """Three communities; words tell which, and links lead astray."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    words = (rng.random((n, 12)) < np.where(np.arange(12) // 4 == labels[:, None], 0.6, 0.05)).astype(float)
    edges = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(2 * n)}
    train = np.zeros(n, dtype=bool)
    train[:18] = True
    made = sc.Graph(n, sorted(edges), node_data={"x": words, "train_mask": train})
    return sc.datasets.Dataset(made, labels)


def test_nodes_are_told_by_their_data_and_neighbours():
    data = nodes()
    model = blind(data, noise=sc.Noise(links=0.1))
    assert (model.predict(data.graph) == data.labels)[18:].mean() > 0.85
    assert model.predict(data.graph).shape == (60,)
    assert [each.description for each in model.candidates][1] == "logistic regression on the data of nodes"
    assert sum("neighbours" in each.description for each in model.candidates) == 4
    assert blind(data, nodes=range(18), noise=sc.Noise(links=0.1)).candidates == model.candidates


def test_links_that_no_attack_changes_are_used():
    data, seen = nodes(), nodes().graph.with_bits("x")
    groups = [(u, v) for u in range(60) for v in range(u + 1, 60) if (u - v) % 3 == 0 and v - u < 7]
    linked = sc.Graph(60, groups, node_data={**nodes().graph.node_data}).with_bits("x")
    given = {"nodes": range(18), "noise": sc.Noise(words=0.1), "regions": {"words": "x"}}
    model = blind(sc.datasets.Dataset(linked, data.labels), **given)
    assert "edges that no attack changes" in model.description
    assert (model.predict(linked) == data.labels).all()
    assert not (model.predict(seen) == data.labels).all()


def test_averages_and_propagation_are_those_of_the_definition():
    data = nodes(24)
    seen = blind_model.Blindfold(sc.Noise(links=0.1), None, None).show(data.graph)
    (candidate,) = (each for each in candidates_for(seen) if each.averaged == "alike" and not each.scaling.rare)
    view = candidate.taught
    rows = view.rows.toarray()
    cosines = rows @ rows.T - 2 * np.eye(24)
    near = np.argsort(-cosines, axis=1)[:, :10]
    ties = np.isclose(np.sort(-cosines, axis=1)[:, 9], np.sort(-cosines, axis=1)[:, 10])
    graph = view.alike.toarray()
    for node in np.flatnonzero(~ties):
        assert (graph[node, near[node]] > 0).all()
    assert np.allclose(graph, graph.T)
    chosen = np.arange(18)
    fitted = candidate.fit(chosen, data.labels[chosen])
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    twice = graph @ graph @ rows
    plain = LogisticRegression(C=100.0, max_iter=10_000, tol=1e-8).fit(twice[chosen], data.labels[chosen])
    first = scores = plain.predict_proba(twice)
    for _ in range(10):
        scores = 0.9 * graph @ scores + 0.1 * first
    assert (fitted(view).argmax(axis=1) == scores.argmax(axis=1)).mean() > 0.95


def test_the_nodes_to_learn_from_must_be_known():
    data = sc.datasets.Dataset(sc.Graph(3, [(0, 1)], node_data={"x": np.eye(3)}), [0, 1, None])
    with pytest.raises(InvalidParameterError, match="it says which nodes are learned from"):
        blind(data)
    with pytest.raises(InvalidParameterError, match="have nodes whose class is known"):
        blind(data, nodes=[2])
    assert blind(data, nodes=[1, 2]).predict(data.graph).tolist() == [1, 1, 1]


def test_mutag_is_told_by_atoms_alone():
    data = sc.datasets.tu("MUTAG")
    train, test = data.folds(4, 0)[0]
    model = blind(data[train], noise=sc.Noise(bonds=0.1))
    assert np.mean(model.predict(data[test].graphs) == data[test].labels) > 0.78
