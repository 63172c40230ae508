"""Graphs of PyG and networkx go into the smoothed classifier as they are; what does not fit is named by its place."""

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError

NOISE = sc.Noise(all=0.1)
SMOOTHED = sc.SmoothedClassifier(sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 7)), NOISE)
GRAPHS = [nx.cycle_graph(6), nx.complete_graph(6)]
OWN = [sc.Graph.from_networkx(each) for each in GRAPHS]


def test_networkx_graphs_are_read_by_every_method():
    mixed = [GRAPHS[0], OWN[1]]
    said = {"samples": 300, "seed": 1}
    votes = SMOOTHED.vote(OWN, **said).counts
    np.testing.assert_array_equal(SMOOTHED.vote(GRAPHS, **said).counts, votes)
    np.testing.assert_array_equal(SMOOTHED.vote(mixed, **said).counts, votes)
    assert SMOOTHED.predict(GRAPHS, **said).tolist() == [0, 1]
    assert SMOOTHED.certify(GRAPHS, **said).rows() == SMOOTHED.certify(OWN, **said).rows()
    exact = sc.ExactClassifier(SMOOTHED.base, NOISE)
    assert exact.certify(GRAPHS, threat="flips:1").rows() == exact.certify(OWN, threat="flips:1").rows()
    assert [each.key for each in SMOOTHED.problem(GRAPHS).sites] == [SMOOTHED.sites(each).key for each in GRAPHS]
    assert SMOOTHED.fit(GRAPHS, [0, 1]).score(GRAPHS, [0, 1]) == 1.0


def test_an_estimator_is_taught_what_it_will_see():
    pytest.importorskip("sklearn")
    svm = sc.SmoothedClassifier(sc.models.KernelSVM(sc.kernels.VertexHistogram()), NOISE, samples=300)
    assert svm.fit(GRAPHS * 3, [0, 1] * 3).predict(GRAPHS).tolist() == svm.predict(OWN).tolist()


def test_data_of_pyg_are_read_as_they_come_from_a_data_set():
    pytest.importorskip("torch_geometric")
    data = [each.to_pyg() for each in OWN]
    np.testing.assert_array_equal(
        SMOOTHED.vote(data, samples=300, seed=1).counts, SMOOTHED.vote(OWN, samples=300, seed=1).counts
    )


@pytest.mark.parametrize(
    ("graphs", "words"),
    [
        ([OWN[0], nx.MultiGraph(GRAPHS[0])], r"'graphs\[1\]' is a multigraph"),
        ([nx.Graph([(0, 1), (1, 1)])], r"'graphs\[0\]' must have no self-loops. Got \(1, 1\)"),
        (
            [OWN[0], [[0, 1], [1, 0]]],
            r"'graphs\[1\]' must be a starcert Graph, a PyG Data or a networkx graph. Got 'list'",
        ),
        (GRAPHS[0], r"'graphs' must be a list of graphs.*Wrap a single one in a list"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(graphs, words):
    with pytest.raises(InvalidParameterError, match=words):
        SMOOTHED.certify(graphs, samples=100, seed=1)


def test_what_pyg_allows_and_a_certificate_does_not_is_said_with_the_remedy():
    torch = pytest.importorskip("torch")
    pyg = pytest.importorskip("torch_geometric.data")

    def data(*arcs):
        return pyg.Data(edge_index=torch.tensor(arcs).T, num_nodes=3)

    good = data((0, 1), (1, 0))
    for each, words in [
        (data((0, 1)), r"'graphs\[1\].edge_index' must have both directions of every edge.*to_undirected adds"),
        (data((0, 1), (1, 0), (0, 1)), r"'graphs\[1\].edge_index' must have each direction of an edge once.*coalesce"),
        (data((0, 1), (1, 0), (2, 2)), r"'graphs\[1\].edge_index' must have no self-loops.*remove_self_loops"),
        (pyg.Batch.from_data_list([good, good]), r"'graphs\[1\]' must be one graph. Got 'a batch of 2'.*to_data_list"),
    ]:
        with pytest.raises(InvalidParameterError, match=words):
            SMOOTHED.vote([good, each], samples=100, seed=1)


@pytest.mark.parametrize(
    "name",
    [
        "archive",
        "classifiers",
        "datasets",
        "display",
        "kernels",
        "metrics",
        "models",
        "regions",
        "report",
        "transforms",
    ],
)
def test_public_modules_list_what_is_theirs(name):
    module = getattr(sc, name)
    assert dir(module) == sorted(module.__all__)


def test_every_public_module_is_tried():
    assert dir(sc) == sorted([*sc.__all__, "__version__"])
