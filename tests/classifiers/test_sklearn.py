import pickle

import numpy as np
import pytest
from asking import drawn
from kernel_worlds import NOISE, PARTITION, listed, many_batches, motif_graph, quiet_fit, random_graph

import starcert as sc
from starcert.classifiers.base import Classifier
from starcert.system.errors import ClassifierError

pytest.importorskip("sklearn")

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from starcert import kernels
from starcert.classifiers.sklearn import (
    KernelClassifier,
    KernelSVM,
    PipelineClassifier,
    SklearnClassifier,
    from_sklearn,
    graphlet_svm,
    nspd_svm,
    vertex_histogram_svm,
)

TRAIN = [motif_graph(i % 2, i) for i in range(16)] + [random_graph(8 + i, 0.3, i) for i in range(8)]
CLASSES = [i % 2 for i in range(24)]
THREE = [i % 3 for i in range(24)]
MODELS = {"degrees": vertex_histogram_svm, "graphlets": graphlet_svm, "nspd": nspd_svm}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return quiet_fit(MODELS[request.param](), TRAIN, CLASSES)


def compare(model, batches):
    """The fast path against the plain one, on the list of copies: how many graphs there were."""
    base, worst, scale, graphs = from_sklearn(model), 0.0, 0.0, 0
    assert type(base) is KernelClassifier
    for batch in batches:
        copies = listed(batch)
        matrix = model.matrix(copies)
        np.testing.assert_array_equal(model.matrix(batch), matrix)
        want, got = model.svc_.decision_function(matrix), base.scored(batch).numbers
        got = got[:, 1] if got.shape[1] == 2 else got
        worst, scale = max(worst, np.abs(want - got).max()), max(scale, np.abs(want).max())
        assert base.classify(batch).tolist() == np.searchsorted(model.classes_, model.predict(copies)).tolist()
        graphs += len(copies)
    assert worst <= 1e-9 * scale
    return graphs


def test_the_fast_path_decides_as_the_machine_does(model):
    assert compare(model, many_batches(100, 1_000)) >= 1_000


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.VertexHistogram(normalize=True),
        kernels.WeisfeilerLehman(3, normalize=True),
        kernels.ShortestPath(),
        kernels.Graphlets(normalize=True),
        kernels.NeighbourhoodPairs(1, 2, normalize=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [CLASSES, THREE], ids=["two classes", "three classes"])
def test_every_kernel_and_three_classes(kernel, classes):
    compare(quiet_fit(KernelSVM(kernel, C=0.7), TRAIN, classes), many_batches(10, 120))


@pytest.mark.parametrize("classes", [CLASSES, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("last", [SVC(kernel="linear"), RandomForestClassifier(20, random_state=0)], ids=str)
def test_a_pipeline_that_begins_with_a_kernel_sees_whole_batches(last, classes):
    model = make_pipeline(kernels.WeisfeilerLehman(2, normalize=True), last).fit(TRAIN, classes)
    base = from_sklearn(model)
    assert type(base) is PipelineClassifier
    for kind in (0, 1):
        batch = drawn(motif_graph(kind, 5), NOISE, 40, PARTITION)
        assert base.classify(batch).tolist() == model.predict(listed(batch)).tolist()
        assert base.scored(batch).numbers.shape == (40, max(2, len(set(classes))))
        alone = [int(base.classify(batch[i : i + 1])[0]) for i in range(40)]
        assert alone == base.classify(batch).tolist()
    again = pickle.loads(pickle.dumps(base))
    assert again.description == base.description
    votes = sc.SmoothedClassifier(base, NOISE, PARTITION).vote([motif_graph(0, 5)], samples=100, seed=1)
    assert votes.counts.sum() == 100


def test_a_linear_machine_in_a_pipeline_is_the_kernel_machine():
    batch = drawn(motif_graph(0, 5), NOISE, 60, PARTITION)
    for kernel in (kernels.ShortestPath(normalize=True), kernels.NeighbourhoodPairs(2, 2)):
        piped = from_sklearn(make_pipeline(kernel, SVC(kernel="linear")).fit(TRAIN, CLASSES))
        machine = from_sklearn(quiet_fit(KernelSVM(kernel), TRAIN, CLASSES))
        assert piped.classify(batch).tolist() == machine.classify(batch).tolist()
        np.testing.assert_allclose(piped.scored(batch).numbers, machine.scored(batch).numbers, atol=2e-2)


@pytest.mark.parametrize("alphabet", [("C", "N", "10", "2"), (0, 1, 10, 2), ("C", "é", "|", "0,1")], ids=str)
def test_node_labels_from_node_data(alphabet):
    rng = np.random.default_rng(0)
    graphs = [random_graph(11, 0.3, i, element=[alphabet[j] for j in rng.integers(4, size=11)]) for i in range(12)]
    batch = drawn(graphs[3], sc.Noise(all=0.05), 20)
    for make in (kernels.VertexHistogram, kernels.NeighbourhoodPairs, kernels.WeisfeilerLehman):
        compare(quiet_fit(KernelSVM(make(node_labels="element")), graphs, [i % 2 for i in range(12)]), [batch])


def test_large_graphs():
    batch = drawn(random_graph(150, 0.02, 3), sc.Noise(all=sc.Flip(delete=0.1, add=0.001)), 6)
    for kernel in (kernels.Graphlets(), kernels.NeighbourhoodPairs(1, 2), kernels.WeisfeilerLehman()):
        compare(quiet_fit(KernelSVM(kernel), TRAIN, CLASSES), [batch])
        assert from_sklearn(quiet_fit(KernelSVM(kernel), TRAIN, CLASSES)).copy_bytes(150, 300.0) > 1_000


def test_a_decision_of_zero_is_decided_as_scikit_learn_does():
    """A graph with one edge lies halfway between one without and one with two that do not touch."""
    empty, two = sc.Graph(4, []), sc.Graph(4, [(0, 1), (2, 3)])
    model = quiet_fit(vertex_histogram_svm(), [empty, two], ["b", "a"])
    base = from_sklearn(model)
    noisy = [drawn(graph, sc.Noise(all=0.2), 200) for graph in (empty, two)]
    assert min(np.abs(base.scored(batch).numbers[:, 1]).min() for batch in noisy) < 1e-15
    for batch in noisy:
        assert (base.classify(batch) == np.searchsorted(["a", "b"], model.predict(listed(batch)))).all()


def test_rounding_decides_nothing(monkeypatch):
    """Decisions of the compiled code that are off by a rounding error, either way, on graphs that lie at zero."""
    empty, two = sc.Graph(4, []), sc.Graph(4, [(0, 1), (2, 3)])
    model = quiet_fit(vertex_histogram_svm(), [empty, two], [0, 1])
    base = from_sklearn(model)
    batch = drawn(empty, sc.Noise(all=0.2), 100)
    values, magnitudes = model.kernel_.weighted_sums(batch, *base._weights())
    for error in (-1e-14, 1e-14):
        monkeypatch.setattr(model.kernel_, "weighted_sums", lambda *_, error=error: (values + error, magnitudes))
        assert base.classify(batch).tolist() == model.predict(listed(batch)).tolist()


@pytest.mark.parametrize("classes", [["no", "yes"], [-1, 1], [7, 3], ["a", "b", "c"]], ids=str)
def test_classes_are_numbered_in_their_order(classes):
    model = quiet_fit(vertex_histogram_svm(), TRAIN, [classes[i % len(classes)] for i in range(24)])
    base = from_sklearn(model)
    assert base.n_classes == len(classes)
    for batch in (drawn(motif_graph(kind, 3), NOISE, 30, PARTITION) for kind in (0, 1)):
        assert [sorted(classes)[i] for i in base.classify(batch)] == model.predict(listed(batch)).tolist()


def test_answers_do_not_depend_on_the_batch(model):
    base = from_sklearn(model)
    batch = drawn(motif_graph(1, 9), NOISE, 60, PARTITION)
    whole = base.classify(batch).tolist()
    assert [answer for part in batch.split(7) for answer in base.classify(part).tolist()] == whole


def test_the_classifier_travels(model):
    base = from_sklearn(model)
    again = pickle.loads(pickle.dumps(base))
    batch = drawn(motif_graph(0, 9), NOISE, 20, PARTITION)
    assert again.description == base.description
    assert again.classify(batch).tolist() == base.classify(batch).tolist()
    np.testing.assert_array_equal(again.estimator.predict(listed(batch)[:3]), model.predict(listed(batch)[:3]))
    assert isinstance(again, Classifier)


def test_descriptions_tell_models_apart():
    def described(graphs=TRAIN, classes=CLASSES, **parameters):
        return from_sklearn(quiet_fit(vertex_histogram_svm(**parameters), graphs, classes)).description

    assert described() == described()
    assert described().startswith("VertexHistogram(")
    assert len({described(), described(C=0.01), described(TRAIN[2:], CLASSES[2:]), described(classes=THREE)}) == 4
    normalised = from_sklearn(quiet_fit(KernelSVM(kernels.VertexHistogram(normalize=True)), TRAIN, CLASSES)).description
    assert normalised != described()


class ManyEdges(ClassifierMixin, BaseEstimator):
    """An estimator that is no kernel machine."""

    def __init__(self, least=10):
        self.least = least

    def fit(self, X, y):  # noqa: N803
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):  # noqa: N803
        return self.classes_[[int(graph.n_edges > self.least) for graph in X]]


def test_any_estimator_with_predict():
    base = from_sklearn(ManyEdges(30).fit(TRAIN, ["few", "many"]))
    batch = drawn(motif_graph(0, 4), NOISE, 40, PARTITION)
    assert base.classify(batch).tolist() == [int(graph.n_edges > 30) for graph in listed(batch)]
    assert base.description == from_sklearn(ManyEdges(30).fit(TRAIN, ["few", "many"])).description
    assert base.description != from_sklearn(ManyEdges(31).fit(TRAIN, ["few", "many"])).description


def test_the_description_of_an_estimator_knows_its_code_and_is_that_of_now():
    class Fewer(ManyEdges):
        def predict(self, X):  # noqa: N803
            return self.classes_[[int(graph.n_edges <= self.least) for graph in X]]

    Fewer.__name__ = "ManyEdges"
    many, fewer = (from_sklearn(kind(30).fit(TRAIN, ["few", "many"])) for kind in (ManyEdges, Fewer))
    assert many.description != fewer.description
    before = many.description
    many.estimator.predict = lambda graphs: ["few"] * len(graphs)
    assert many.description != before
    model = quiet_fit(vertex_histogram_svm(), TRAIN, CLASSES)
    base = from_sklearn(model)
    before = base.description
    batch = drawn(TRAIN[0], NOISE, 30, PARTITION)
    base.classify(batch)
    quiet_fit(model, TRAIN[1:], [1 - c for c in CLASSES[1:]])
    assert base.description != before
    assert base.classify(batch).tolist() == model.predict(listed(batch)).tolist()


class Contrary(KernelSVM):
    def predict(self, X):  # noqa: N803
        return self.classes_[::-1][np.searchsorted(self.classes_, super().predict(X))]


def test_a_machine_derived_from_ours_answers_for_itself():
    model = quiet_fit(Contrary(), TRAIN, CLASSES)
    base = from_sklearn(model)
    assert type(base) is SklearnClassifier
    batch = drawn(motif_graph(0, 5), NOISE, 12, PARTITION)
    assert base.classify(batch).tolist() == model.predict(listed(batch)).tolist()


def test_an_answer_that_is_no_class_is_refused():
    estimator = ManyEdges().fit(TRAIN, [0, 1])
    estimator.predict = lambda graphs: np.array([5] * len(graphs))
    base = SklearnClassifier(estimator, 8)
    with pytest.raises(ValueError, match=r"answered .*5.* none of its classes \[0, 1\]"):
        base.classify(drawn(motif_graph(0, 4), NOISE, 2, PARTITION))


@pytest.mark.parametrize("wrong", [None, len, KernelSVM, 3], ids=str)
def test_what_is_no_estimator_is_refused(wrong):
    with pytest.raises(sc.InvalidParameterError, match="'estimator' must be a fitted scikit-learn classifier"):
        from_sklearn(wrong)


def test_estimators_must_be_fitted():
    with pytest.raises(sc.InvalidParameterError, match="'estimator' must be fitted"):
        from_sklearn(vertex_histogram_svm())
    with pytest.raises(sc.InvalidParameterError, match="'batch_size'"):
        from_sklearn(quiet_fit(vertex_histogram_svm(), TRAIN, CLASSES), batch_size=0)


SMALL = [random_graph(6 + i % 3, 0.4, i) for i in range(10)]


def voted(estimator, graph, **settings):
    smoothed = sc.SmoothedClassifier(from_sklearn(estimator), sc.Noise(all=0.2))
    return smoothed.vote([graph], samples=10, seed=1, voting=sc.Voting(selection_samples=20, **settings))


class Drawn(ClassifierMixin, BaseEstimator):
    """Answers every graph at random."""

    def fit(self, X, y):  # noqa: N803
        self.classes_, self.random_ = np.unique(y), np.random.default_rng(0)
        return self

    def predict(self, X):  # noqa: N803
        return self.random_.choice(self.classes_, size=len(X))


@pytest.mark.parametrize("batch_size", [None, 1])
def test_an_estimator_that_draws_at_random_is_refused(batch_size):
    with pytest.raises(ClassifierError, match=r"of graph 0"):
        voted(Drawn().fit(SMALL, CLASSES[:10]), random_graph(7, 0.2, 77), batch_size=batch_size)


def test_an_estimator_whose_answers_depend_on_the_batch_is_refused_but_for_one_graph_at_a_time():
    model = Rare().fit(SMALL, CLASSES[:10])
    with pytest.raises(
        ClassifierError, match=r"of graph 0 .*with class .* in a batch of \d+, but with .* alone.*batch_size=1"
    ):
        voted(model, random_graph(12, 0.5, 77))
    votes = voted(model, random_graph(12, 0.5, 77), batch_size=1)
    batch = drawn(random_graph(12, 0.5, 77), sc.Noise(all=0.2), 1024)[:10]
    alone = [int(model.predict([copy])[0]) for copy in listed(batch)]
    assert votes.counts[0].tolist() == np.bincount(alone, minlength=2).tolist()


class Rare(ClassifierMixin, BaseEstimator):
    """Answers all graphs of a batch differently if one of them has an odd number of edges."""

    def fit(self, X, y):  # noqa: N803
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):  # noqa: N803
        return self.classes_[[int(any(graph.n_edges % 2 for graph in X))] * len(X)]


def test_one_copy_of_every_batch_is_asked_alone():
    base = from_sklearn(Rare().fit(TRAIN, [0, 1]))
    with pytest.raises(ValueError, match=r"class 1 in a batch of 40, but with class 0 alone.*batch_size=1"):
        base.classify(
            next(batch for batch in drawn(TRAIN[0], NOISE, 400, PARTITION).split(40) if even_in_the_middle(batch))
        )


def even_in_the_middle(batch) -> bool:
    return listed(batch)[20].n_edges % 2 == 0
