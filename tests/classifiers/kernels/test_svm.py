import pickle

import numpy as np
import pytest
from kernel_worlds import motif_graph, quiet_fit, random_graph

import starcert as sc

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from starcert import kernels
from starcert.classifiers.sklearn import KernelSVM, graphlet_svm, nspd_svm, vertex_histogram_svm

GRAPHS = [motif_graph(i % 2, i) for i in range(12)]
CLASSES = np.array([i % 2 for i in range(12)])
NEW = [motif_graph(i % 2, 50 + i) for i in range(6)]


@pytest.mark.parametrize("make", [vertex_histogram_svm, graphlet_svm, nspd_svm])
def test_the_papers_three_separate_the_papers_graphs(make):
    model = quiet_fit(make(), GRAPHS, CLASSES)
    assert model.score(GRAPHS, CLASSES) == 1.0
    assert model.score(NEW, [0, 1] * 3) == 1.0


def test_conventions_of_scikit_learn():
    kernel = kernels.ShortestPath()
    model = KernelSVM(kernel, C=2.0)
    assert model.get_params(deep=False) == {"kernel": kernel, "C": 2.0}
    assert model.get_params()["kernel__normalize"] is False
    assert model.fit(GRAPHS, CLASSES) is model
    assert model.kernel is kernel
    assert model.kernel_ is not kernel
    assert not hasattr(kernel, "known_")  # the given kernel stays as it was
    assert model.classes_.tolist() == [0, 1]
    copy = clone(model)
    assert not hasattr(copy, "svc_")
    assert copy.set_params(C=3.0, kernel__normalize=True).C == 3.0
    assert copy.kernel.normalize
    with pytest.raises(NotFittedError):
        copy.predict(GRAPHS)
    with pytest.raises(NotFittedError):
        copy.decision_function(GRAPHS)
    with pytest.raises(NotFittedError):
        kernels.ShortestPath().transform(GRAPHS)
    assert clone(nspd_svm(r=2)).set_params(kernel__distance=1).kernel.get_params() == {
        "radius": 2, "distance": 1, "node_labels": "degree", "normalize": False,
    }  # fmt: skip


def test_model_selection_of_scikit_learn():
    assert cross_val_score(vertex_histogram_svm(), GRAPHS, CLASSES, cv=3).tolist() == [1.0] * 3
    search = GridSearchCV(vertex_histogram_svm(), {"C": [0.1, 1.0]}, cv=2).fit(GRAPHS, CLASSES)
    assert search.predict(NEW).tolist() == [0, 1] * 3


def test_classes_may_be_names_and_more_than_two():
    names = np.array(["ring", "clique", "sparse"])
    graphs = [*GRAPHS, *(random_graph(20, 0.05, i) for i in range(6))]
    model = quiet_fit(vertex_histogram_svm(), graphs, names[[*CLASSES, *[2] * 6]])
    assert model.classes_.tolist() == ["clique", "ring", "sparse"]
    assert model.predict([*NEW[:2], random_graph(20, 0.05, 99)]).tolist() == ["ring", "clique", "sparse"]
    assert model.decision_function(NEW).shape == (6, 3)


@pytest.mark.parametrize("kernel", [kernels.NeighbourhoodPairs(1, 1), kernels.Graphlets(), None])
def test_fitted_models_survive_pickling(kernel):
    model = quiet_fit(KernelSVM(kernel), GRAPHS, CLASSES)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))
    unfitted = pickle.loads(pickle.dumps(KernelSVM(kernel)))
    assert quiet_fit(unfitted, GRAPHS, CLASSES).predict(NEW).tolist() == [0, 1] * 3


def test_graphs_without_edges_and_in_pieces():
    graphs = [sc.Graph(3, []), sc.Graph(1, []), sc.Graph(6, [(0, 1), (2, 3)]), sc.Graph(6, [(0, 1), (1, 2), (4, 5)])]
    for make in (vertex_histogram_svm, graphlet_svm, nspd_svm):
        model = quiet_fit(make(), [*GRAPHS, *graphs], [*CLASSES, 0, 1, 0, 1])
        assert np.isfinite(model.decision_function(graphs)).all()


def test_node_labels_from_node_data():
    def molecule(element):
        return sc.Graph(3, [(0, 1), (1, 2)], node_data={"element": ["C", element, "C"], "charge": np.array([0, 1, 0])})

    graphs = [molecule("N"), molecule("O")] * 3
    by_element, by_charge = (KernelSVM(kernels.VertexHistogram(node_labels=name)) for name in ("element", "charge"))
    assert by_element.fit(graphs, [0, 1] * 3).predict([molecule("O")]).tolist() == [1]
    assert by_charge.fit(graphs, [0, 1] * 3).svc_.n_support_.sum() > 0


def labelled(name):
    return {"kernel": kernels.VertexHistogram(node_labels=name)}


@pytest.mark.parametrize(
    ("graphs", "classes", "parameters", "message"),
    [
        (GRAPHS, CLASSES[1:], {}, "'y' must hold one class for each of the 12 graphs. Got 11"),
        (GRAPHS, [0] * 12, {}, r"'y' must hold two classes at least. Got \[0\]"),
        (GRAPHS[0], [0], {}, "'X' must be a list of starcert Graphs"),
        ([GRAPHS[0].to_networkx()] * 2, [0, 1], {}, r"'X\[0\]' must be a starcert Graph"),
        ([GRAPHS[0], sc.Graph(0, [])], [0, 1], {}, r"'X\[1\]' must have at least one node"),
        (GRAPHS, CLASSES, {"kernel": "graphlet"}, "'kernel' must be a kernel of starcert, or None"),
        (GRAPHS, CLASSES, labelled("element"), "'node_labels' must be 'degree' or .* Got 'element' .* has none"),
        (GRAPHS, CLASSES, labelled(3), "'node_labels' must be 'degree' or"),
        ([sc.Graph(1, [], node_data={"x": [[1]]})] * 2, [0, 1], labelled("x"), "one hashable label"),
    ],
)
def test_wrong_input_is_named(graphs, classes, parameters, message):
    with pytest.raises(sc.InvalidParameterError, match=message):
        KernelSVM(**parameters).fit(graphs, classes)


def test_there_is_nothing_else_in_models():
    with pytest.raises(AttributeError, match="no attribute 'perceptron'"):
        sc.models.perceptron  # noqa: B018
    assert "KernelSVM" in dir(sc.models)


def lettered(name, letters, labels="OCOCOC"):
    """Paths of three nodes that only their labels tell apart."""
    return [sc.Graph(3, [(0, 1), (1, 2)], node_data={name: [letters[each]] * 3}) for each in labels]


@pytest.mark.parametrize("name", ["label", "atomic_number"])
@pytest.mark.parametrize("kernel", [None, kernels.WeisfeilerLehman(2), kernels.ShortestPath()])
def test_node_labels_follow_the_data(name, kernel):
    graphs, classes = lettered(name, {"C": 6, "O": 8}), [8, 6] * 3
    model = quiet_fit(KernelSVM(kernel), graphs, classes)
    assert model.predict(graphs).tolist() == classes
    assert repr(model.kernel_).endswith(f" on node labels '{name}'")
    assert f"node_labels='{name}'" in sc.classifiers.from_sklearn(model).description
    # Degrees take their place where a graph has no such labels, or rows of numbers.
    for other in (sc.Graph(3, []), sc.Graph(3, [], node_data={name: np.eye(3)})):
        model = quiet_fit(KernelSVM(kernel), [*graphs, other], [*classes, 8])
        assert repr(model.kernel_).endswith(" on node labels 'degree'")


def test_the_papers_machines_see_degrees_whatever_the_data_hold():
    graphs, classes = lettered("label", {"C": 6, "O": 8}), [8, 6] * 3
    plain = [sc.Graph(3, graph.edges) for graph in graphs]
    for make in (sc.models.vertex_histogram_svm, sc.models.graphlet_svm, sc.models.nspd_svm):
        ours, theirs = make().fit(graphs, classes), make().fit(plain, classes)
        np.testing.assert_array_equal(ours.matrix(graphs), theirs.matrix(plain))
        assert ours.kernel_.labels_used in ("degree", None)
    assert "node_labels='degree'" in sc.classifiers.from_sklearn(sc.models.nspd_svm().fit(graphs, classes)).description


def test_kernels_tell_what_they_have_found():
    kernel = kernels.WeisfeilerLehman(2)
    assert repr(kernel) == "WeisfeilerLehman(rounds=2)"
    assert repr(kernel.fit(lettered("label", {"C": 6, "O": 8}))) == "WeisfeilerLehman(rounds=2) on node labels 'label'"
