import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import starcert as sc
from kernel_worlds import NOISE, PARTITION, draw, listed, many_batches, motif_graph, quiet_fit, random_graph
from starcert.classifiers.base import Classifier
from starcert.errors import ClassifierError

pytest.importorskip("sklearn")
pytest.importorskip("grakel")

from grakel.kernels import (
    GraphletSampling,
    HadamardCode,
    NeighborhoodSubgraphPairwiseDistance,
    ShortestPath,
    SvmTheta,
    VertexHistogram,
    WeisfeilerLehman,
)
from sklearn.base import BaseEstimator, ClassifierMixin

from starcert.classifiers.kernels import graphlets, nspd
from starcert.classifiers.sklearn import KernelClassifier, SklearnClassifier, from_sklearn
from starcert.models import KernelSVM, graphlet_svm, nspd_svm, vertex_histogram_svm

TRAIN = [motif_graph(i % 2, i) for i in range(16)] + [random_graph(8 + i, 0.3, i) for i in range(8)]
CLASSES = [i % 2 for i in range(24)]
THREE = [i % 3 for i in range(24)]
MODELS = {"degrees": vertex_histogram_svm, "graphlets": graphlet_svm, "nspd": nspd_svm}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return quiet_fit(MODELS[request.param](), TRAIN, CLASSES)


def compare(model, batches, name):
    """The largest difference of decisions, relative to the largest decision, with labels that must be the same."""
    base = from_sklearn(model)
    assert type(base) is KernelClassifier
    worst, scale, graphs = 0.0, 0.0, 0
    for batch in batches:
        copies = listed(batch)
        matrix = model._matrix(copies)
        want, got = model.svc_.decision_function(matrix), base.decision_function(batch)
        worst, scale = max(worst, np.abs(want - got).max()), max(scale, np.abs(want).max())
        assert base.classify(batch).tolist() == np.searchsorted(model.classes_, model.svc_.predict(matrix)).tolist()
        np.testing.assert_array_equal(base._matrix(batch)[:, model.svc_.support_], matrix[:, model.svc_.support_])
        graphs += len(copies)
    print(f"\n{name}: {graphs} graphs, largest difference {worst:.2e}, {worst / scale:.2e} of the largest decision")
    assert worst <= 1e-9 * scale
    return graphs


def test_decisions_are_those_of_grakel_and_scikit_learn(model):
    # GraKeL takes a tenth of a second for all graphlets of one noisy clique.
    motif_copies = 20 if type(model.kernel_) is GraphletSampling else 100
    assert compare(model, many_batches(motif_copies, 2_040), type(model.kernel_).__name__) >= 2_000


@pytest.mark.slow
def test_decisions_on_the_papers_graphs_alone(model):
    batches = [draw(motif_graph(i % 2, 500 + i), NOISE, 100, PARTITION) for i in range(20)]
    assert compare(model, batches, type(model.kernel_).__name__) == 2_000


@pytest.mark.parametrize(
    "kernel",
    [
        VertexHistogram(normalize=True),
        VertexHistogram(sparse=True),
        GraphletSampling(k=3),
        GraphletSampling(k=4),
        NeighborhoodSubgraphPairwiseDistance(r=1, d=2),
        NeighborhoodSubgraphPairwiseDistance(r=2, d=0),
        NeighborhoodSubgraphPairwiseDistance(r=0, d=2),
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [CLASSES, THREE], ids=["two classes", "three classes"])
def test_other_parameters_and_three_classes(kernel, classes):
    compare(quiet_fit(KernelSVM(kernel, C=0.7), TRAIN, classes), many_batches(10, 220), str(kernel))


@pytest.mark.parametrize(
    "kernel",
    [GraphletSampling(k=3, normalize=True), NeighborhoodSubgraphPairwiseDistance(r=2, d=2, normalize=True)],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_normalised_answer_is_the_one_on_the_graph_alone(kernel):
    """In GraKeL it depends on the graphs beside it, where they share features that training has not seen."""
    model = quiet_fit(KernelSVM(kernel), TRAIN, CLASSES)
    base = from_sklearn(model)
    for batch in (draw(motif_graph(0, 5), NOISE, 15, PARTITION), draw(random_graph(14, 0.3, 1), sc.Noise(all=0.1), 15)):
        alone = np.array([model.decision_function([copy])[0] for copy in listed(batch)])
        np.testing.assert_allclose(base.decision_function(batch), alone, rtol=1e-9)
        assert base.classify(batch).tolist() == (alone >= 0).astype(int).tolist()
        assert SklearnClassifier(model, 8).classify(batch).tolist() == (alone >= 0).astype(int).tolist()


@pytest.mark.parametrize(
    "kernel", [ShortestPath(), WeisfeilerLehman(n_iter=2, base_graph_kernel=VertexHistogram)], ids=str
)
def test_any_other_kernel_goes_through_grakel(kernel):
    model = quiet_fit(KernelSVM(kernel), TRAIN, CLASSES)
    base = from_sklearn(model)
    assert type(base) is SklearnClassifier
    batch = draw(motif_graph(0, 5), NOISE, 12, PARTITION)
    assert base.classify(batch).tolist() == model.predict(listed(batch)).tolist()


@pytest.mark.parametrize("kernel", [NeighborhoodSubgraphPairwiseDistance(r=2, d=2), VertexHistogram()], ids=str)
@pytest.mark.parametrize("alphabet", [("C", "N", "10", "2"), (0, 1, 10, 2), ("C", "é", "|", "0,1")], ids=str)
def test_node_labels_from_node_data(kernel, alphabet):
    rng = np.random.default_rng(0)
    graphs = [random_graph(11, 0.3, i, element=[alphabet[j] for j in rng.integers(4, size=11)]) for i in range(12)]
    model = quiet_fit(KernelSVM(kernel, node_labels="element"), graphs, [i % 2 for i in range(12)])
    base = from_sklearn(model)
    batch = draw(graphs[3], sc.Noise(all=0.05), 20)
    assert base.classify(batch).tolist() == model.predict(listed(batch)).tolist()
    if type(base) is KernelClassifier and base.features.takes(sc.graphs.Frame.of(graphs[3])):
        np.testing.assert_allclose(base.decision_function(batch), model.decision_function(listed(batch)), rtol=1e-9)


def test_large_graphs_go_through_the_estimator():
    model = quiet_fit(KernelSVM(GraphletSampling(k=3)), TRAIN, CLASSES)
    large = random_graph(70, 0.02, 3)
    batch = draw(large, sc.Noise(all=sc.Flip(delete=0.1, add=0.001)), 6)
    assert from_sklearn(model).classify(batch).tolist() == model.predict(listed(batch)).tolist()


def test_a_graph_of_64_nodes_still_fits_into_words():
    for kernel in (GraphletSampling(k=3), NeighborhoodSubgraphPairwiseDistance(r=2, d=2)):
        batch = draw(random_graph(64, 0.05, 3), sc.Noise(all=sc.Flip(delete=0.2, add=0.01)), 4)
        compare(quiet_fit(KernelSVM(kernel), TRAIN, CLASSES), [batch], str(kernel))


def test_a_decision_of_zero_is_decided_as_scikit_learn_does():
    """A graph with one edge lies halfway between one without and one with two that do not touch."""
    empty, two = sc.Graph(4, []), sc.Graph(4, [(0, 1), (2, 3)])
    model = quiet_fit(vertex_histogram_svm(), [empty, two], ["b", "a"])
    base = from_sklearn(model)
    noisy = [draw(graph, sc.Noise(all=0.2), 200) for graph in (empty, two)]
    assert min(np.abs(base.decision_function(batch)).min() for batch in noisy) < 1e-15
    for batch in noisy:
        assert (base.classify(batch) == np.searchsorted(["a", "b"], model.predict(listed(batch)))).all()


def test_rounding_decides_nothing(monkeypatch):
    """Decisions of the compiled code that are off by a rounding error, either way, on graphs that lie at zero."""
    empty, two = sc.Graph(4, []), sc.Graph(4, [(0, 1), (2, 3)])
    model = quiet_fit(vertex_histogram_svm(), [empty, two], [0, 1])
    base = from_sklearn(model)
    batch = draw(empty, sc.Noise(all=0.2), 100)
    values, magnitudes = base.features.decisions(batch)
    for error in (-1e-14, 1e-14):
        monkeypatch.setattr(base.features, "decisions", lambda _, error=error: (values + error, magnitudes))
        assert base.classify(batch).tolist() == model.predict(listed(batch)).tolist()


@pytest.mark.parametrize("normalize", [False, True])
def test_a_machine_that_looks_at_its_batch_sees_one_graph_at_a_time(monkeypatch, normalize):
    model = quiet_fit(KernelSVM(GraphletSampling(k=3, normalize=normalize)), TRAIN, CLASSES)
    sizes = []
    monkeypatch.setattr(model, "predict", lambda graphs: sizes.append(len(graphs)) or np.zeros(len(graphs), int))
    SklearnClassifier(model, 8).classify(draw(motif_graph(0, 5), NOISE, 5, PARTITION))
    assert sizes == ([1] * 5 if normalize else [5, 1])  # one copy of each batch is asked alone too


@pytest.mark.parametrize("classes", [["no", "yes"], [-1, 1], [7, 3], ["a", "b", "c"]], ids=str)
def test_classes_are_numbered_in_their_order(classes):
    model = quiet_fit(vertex_histogram_svm(), TRAIN, [classes[i % len(classes)] for i in range(24)])
    base = from_sklearn(model)
    assert base.n_classes == len(classes)
    for batch in (draw(motif_graph(kind, 3), NOISE, 30, PARTITION) for kind in (0, 1)):
        assert [sorted(classes)[i] for i in base.classify(batch)] == model.predict(listed(batch)).tolist()


def test_answers_do_not_depend_on_the_batch(model):
    base = from_sklearn(model)
    batch = draw(motif_graph(1, 9), NOISE, 60, PARTITION)
    whole = base.classify(batch).tolist()
    assert [answer for part in batch.split(7) for answer in base.classify(part).tolist()] == whole


def test_the_classifier_travels(model):
    base = from_sklearn(model)
    again = pickle.loads(pickle.dumps(base))
    batch = draw(motif_graph(0, 9), NOISE, 20, PARTITION)
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
    normalised = from_sklearn(quiet_fit(KernelSVM(VertexHistogram(normalize=True)), TRAIN, CLASSES)).description
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
    batch = draw(motif_graph(0, 4), NOISE, 40, PARTITION)
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
    quiet_fit(model, TRAIN[2:], CLASSES[2:])
    assert base.description != before


@pytest.mark.parametrize("scale", [1, 2])
def test_the_description_of_a_kernel_knows_a_function_among_its_parameters(scale):
    described = [
        from_sklearn(quiet_fit(KernelSVM(SvmTheta(metric=metric(by), random_state=0)), SMALL, CLASSES[:10])).description
        for by in (1, scale)
    ]
    assert (described[0] == described[1]) == (scale == 1)


def metric(scale):
    return lambda x, y: scale * float(np.inner(x[:, 0], y[:, 0]))


class Contrary(KernelSVM):
    def predict(self, X):  # noqa: N803
        return self.classes_[::-1][np.searchsorted(self.classes_, super().predict(X))]


def test_a_machine_derived_from_ours_answers_for_itself():
    model = quiet_fit(Contrary(VertexHistogram()), TRAIN, CLASSES)
    base = from_sklearn(model)
    assert type(base) is SklearnClassifier
    batch = draw(motif_graph(0, 5), NOISE, 12, PARTITION)
    assert base.classify(batch).tolist() == model.predict(listed(batch)).tolist()


def test_an_answer_that_is_no_class_is_refused():
    estimator = ManyEdges().fit(TRAIN, [0, 1])
    estimator.predict = lambda graphs: np.array([5] * len(graphs))
    base = SklearnClassifier(estimator, 8)
    with pytest.raises(ValueError, match=r"answered .*5.* none of its classes \[0, 1\]"):
        base.classify(draw(motif_graph(0, 4), NOISE, 2, PARTITION))


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # GraKeL's
        return smoothed.vote([graph], samples=10, selection_samples=20, seed=1, **settings)


@pytest.mark.parametrize(
    "kernel",
    [SvmTheta(), GraphletSampling(k=3, sampling={"n_samples": 5}, random_state=0)],
    ids=lambda k: type(k).__name__,
)
@pytest.mark.parametrize("batch_size", [None, 1])
def test_a_kernel_that_draws_at_random_is_refused(kernel, batch_size):
    model = quiet_fit(KernelSVM(kernel), SMALL, CLASSES[:10])
    with pytest.raises(
        ClassifierError, match=r"answers differently when it is asked twice about noisy copy .* of graph 0"
    ):
        voted(model, random_graph(7, 0.2, 77), batch_size=batch_size)


def test_a_kernel_whose_answers_depend_on_the_batch_is_refused_but_for_one_graph_at_a_time():
    """A label that training has not seen lengthens the code of all labels of the batch."""
    model = quiet_fit(KernelSVM(HadamardCode()), SMALL, CLASSES[:10])
    with pytest.raises(
        ClassifierError, match=r"graph 0 with class .* in a batch of 64, but with .* alone.*batch_size=1"
    ):
        voted(model, random_graph(12, 0.5, 77))
    votes = voted(model, random_graph(12, 0.5, 77), batch_size=1)
    batch = draw(random_graph(12, 0.5, 77), sc.Noise(all=0.2), 1024)[:10]
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
            next(batch for batch in draw(TRAIN[0], NOISE, 400, PARTITION).split(40) if even_in_the_middle(batch))
        )


def even_in_the_middle(batch) -> bool:
    return listed(batch)[20].n_edges % 2 == 0


@pytest.mark.parametrize(("module", "make"), [(graphlets, graphlet_svm), (nspd, nspd_svm)])
def test_grakel_is_used_where_the_compiled_code_disagrees_with_it(monkeypatch, module, make):
    graphs = [random_graph(8, 0.3, i) for i in range(6)]
    model = quiet_fit(make(), graphs, [0, 1] * 3)
    monkeypatch.setattr(module, "agrees_with_grakel", lambda *_: False)
    with pytest.warns(UserWarning, match="disagrees with the installed GraKeL"):
        base = from_sklearn(model)
    assert type(base) is SklearnClassifier


def test_certify_with_a_kernel_machine():
    model = quiet_fit(vertex_histogram_svm(), TRAIN[:16], CLASSES[:16])
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_sklearn(model), NOISE, PARTITION)
    result = smoothed.certify([motif_graph(0, 90), motif_graph(1, 91)], samples=2_000, alpha=0.01, seed=1)
    assert [certificate.label for certificate in result] == [0, 1]


@pytest.mark.parametrize("missing", ["sklearn", "grakel"])
def test_missing_packages_are_named_with_their_extra(missing):
    code = f"""
import sys
sys.modules[{missing!r}] = None
import starcert as sc
try:
    sc.models.vertex_histogram_svm()
except sc.StarcertError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'starcert[kernels]'" in done.stdout
    assert missing in done.stdout


def test_starcert_imports_neither():
    code = (
        "import sys, starcert, starcert.classifiers, starcert.models; print({'sklearn', 'grakel'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_no_warning_is_raised_on_the_way():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_sklearn(quiet_fit(vertex_histogram_svm(), TRAIN, CLASSES)).classify(draw(TRAIN[0], NOISE, 5, PARTITION))
