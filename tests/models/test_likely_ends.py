"""A learned filter of edges: what it learns, that both its forms agree, and where it is refused."""

import pickle

import numpy as np
import pytest
import training_worlds

import starcert as sc
from starcert.system.errors import InvalidParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")
likely_ends = pytest.importorskip("starcert.models.likely_ends")
LikelyEnds = sc.models.LikelyEnds


def molecules(count, seed):
    """Nodes of three kinds; the kinds 0 and 1, and 2 and 2, are linked often, all others rarely."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        kinds = rng.integers(0, 3, 12)
        chance = np.array([[0.02, 0.6, 0.02], [0.6, 0.02, 0.02], [0.02, 0.02, 0.6]])
        edges = [(u, v) for v in range(12) for u in range(v) if rng.random() < chance[kinds[u], kinds[v]]]
        found.append(sc.Graph(12, edges, node_data={"x": np.eye(3)[kinds]}))
    return found


@pytest.mark.parametrize("most", [32, 2])
def test_it_learns_which_ends_are_linked_and_both_forms_agree(monkeypatch, most):
    monkeypatch.setattr(likely_ends, "MAX_CROSSED", most)
    likely = LikelyEnds.fit(molecules(20, 0), threshold=0.5)
    assert likely.products.ndim == (2 if most == 32 else 1)
    kinds = np.eye(3)
    found = likely.likely(kinds, np.arange(3))
    if most == 32:  # with single products, how the kinds 0 and 1 meet cannot be learned
        assert found.tolist() == [[False, True, False], [True, False, False], [False, False, True]]
    assert np.array_equal(found, found.T)
    graph = molecules(1, 1)[0]
    x = torch.tensor(np.asarray(graph.node_data["x"]), dtype=torch.float32)
    pairs = torch.combinations(torch.arange(12)).T
    let = likely(x, pairs)
    assert torch.equal(let, likely(x, pairs.flip(0)))
    regions = likely.regions(graph).sites(graph)
    assert (regions.locate(*pairs.numpy()) < regions.offsets[1]).tolist() == let.tolist()
    assert 0 < let.sum() < len(let)


@pytest.mark.parametrize("words", [5, 40])
def test_both_forms_agree_on_words(words):
    labels = np.repeat(np.arange(3), 10)
    pairs, x = training_worlds.grouped(labels, words, 0.4, (0.5, 0.05), 0)
    graph = sc.Graph(30, pairs, node_data={"x": x})
    likely = LikelyEnds.fit([graph], threshold=0.4)
    every = torch.combinations(torch.arange(30)).T
    let = likely(torch.tensor(x), every)
    sites = likely.regions(graph).sites(graph)
    assert (sites.locate(*every.numpy()) < sites.offsets[1]).tolist() == let.tolist()
    edges = torch.tensor(graph.edges.T.copy())
    assert likely(torch.tensor(x), edges).double().mean() > let.double().mean()


def test_it_is_a_filter_of_any_module_and_travels():
    graphs = molecules(8, 2)
    keep = LikelyEnds.fit(graphs)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = sc.models.Filtered(sc.models.GIN(3, 2, hidden=4), keep).eval()
    noise = sc.Noise(likely=0.1, unlikely=sc.Flip(delete=1, add=0))
    again = pickle.loads(pickle.dumps(keep.regions))
    assert again == keep.regions
    assert again != LikelyEnds.fit(graphs, threshold=0.4).regions
    certificates = [
        sc.SmoothedClassifier(sc.classifiers.from_pyg(each, n_classes=2), noise, again).certify(
            graphs, samples=64, seed=0
        )
        for each in (module, pickle.loads(pickle.dumps(module)), module.module)  # what it hides is not shown anyway
    ]
    assert all(np.array_equal(each.votes.counts, certificates[0].votes.counts) for each in certificates)
    assert not any(one.anchored for one in certificates[0])
    assert noise.invisible == ("unlikely",)


def test_features_within_reach_of_attacks_are_refused():
    (graph,) = molecules(1, 3)
    likely = LikelyEnds.fit(molecules(4, 0))
    sites = graph.with_categories("x")
    noise = sc.Noise(likely=0.1, unlikely=sc.Flip(delete=1, add=0))
    base = sc.classifiers.from_callable(lambda batch: np.zeros(len(batch), dtype=int), n_classes=2, on="batch")
    with pytest.raises(InvalidParameterError, match="'attribute' must name data that every node has"):
        sc.SmoothedClassifier(base, noise, likely.regions).problem([sites])
    with pytest.raises(InvalidParameterError, match="attribute"):
        LikelyEnds.fit([sites])


def other_features():
    return sc.Graph(2, [(0, 1)], node_data={"x": np.ones((2, 2))})


@pytest.mark.parametrize(("make", "problem"), [
    (lambda graphs: LikelyEnds.fit(graphs, threshold=1), "probability between 0 and 1"),
    (lambda graphs: LikelyEnds.fit([]), "edges and node pairs without one"),
    (lambda graphs: LikelyEnds.fit([*graphs, other_features()]), "same features"),
    (lambda graphs: LikelyEnds.fit([sc.Graph(2, [], node_data={"x": ["a", "b"]})]), "row of finite numbers"),
    (lambda graphs: LikelyEnds.fit(graphs).regions(other_features()), "3 features"),
])  # fmt: skip
def test_bad_settings_are_refused(make, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        make(molecules(2, 0))
