"""The contract of a classifier: three parts are owed, the others have defaults."""

import threading

import networkx as nx
import numpy as np
import pytest
import worlds
from asking import how_to

import starcert as sc
from starcert.classifiers import from_callable
from starcert.classifiers.base import Classifier, Scores, checked_answers
from starcert.system.errors import ClassifierError, InvalidParameterError
from starcert.voting.ask import answers_on

WANTED = {"samples": 500, "seed": 1}


class Dense(Classifier):
    """All that is owed."""

    n_classes = 2
    description = "dense core"

    def classify(self, graphs):
        return worlds.dense_core(graphs)


def vote(base, n=3, **options):
    return sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION).vote(
        worlds.graphs(n), **how_to(**WANTED | options)
    )


def test_three_parts_are_enough():
    expected = vote(sc.classifiers.from_callable(worlds.dense_core, on="batch"))
    np.testing.assert_array_equal(vote(Dense()).counts, expected.counts)


@pytest.mark.parametrize("missing", ["description", "classify"])
def test_what_is_owed_is_owed(missing):
    parts = {"n_classes": 2, "description": "some", "classify": Dense.classify}
    del parts[missing]
    with pytest.raises(TypeError, match=missing):
        type("Lazy", (Classifier,), parts)()


def test_what_only_looks_like_a_classifier_is_told_what_to_do():
    class Alike:
        n_classes, description, batch_size = 2, "looks like one", 10

        def classify(self, graphs):
            return worlds.dense_core(graphs)

    with pytest.raises(InvalidParameterError, match=r"'base' must be a classifier.*starcert\.classifiers\.Classifier"):
        vote(Alike())


def test_chunk_and_batch_sizes_are_the_classifiers_wish():
    seen = worlds.Calls()

    class Wishing(Dense):
        chunk_size, batch_size = 100, 40

        def classify(self, graphs):
            seen.append(len(graphs))
            return super().classify(graphs)

    votes = vote(Wishing())
    assert max(seen) == 40
    np.testing.assert_array_equal(votes.counts, vote(Dense(), chunk_size=100).counts)
    assert (votes.counts != vote(Dense()).counts).any()  # other chunks, other streams


def test_scores_are_compared_where_there_are_any():
    """The answers agree whatever the batch; the numbers that they come from do not."""

    class Centred(Dense):
        def scored(self, graphs):
            edges = graphs.degrees().sum(axis=1).astype(float)
            return Scores(np.zeros(len(graphs), dtype=int), np.column_stack([1e6 + edges - edges.mean(), edges]), 1e-9)

    with pytest.raises(ClassifierError, match=r"with class 0 \(.*\) in a batch of \d+, but with class 0 \("):
        vote(Centred())


def test_every_graph_is_checked_by_its_scores_too():
    class LaterCentred(Dense):
        def scored(self, graphs):
            edges = graphs.degrees().sum(axis=1).astype(float)
            shift = edges.mean() if graphs.frame.n_nodes == 14 else 0.0
            return Scores(self.classify(graphs), np.column_stack([edges - shift, 0 * edges]), 1e-9)

    graphs = [sc.Graph(12 + i, graph.edges) for i, graph in enumerate(worlds.graphs())]
    smoothed = sc.SmoothedClassifier(LaterCentred(), worlds.NOISE, worlds.PARTITION)
    with pytest.raises(ClassifierError, match="of graph 2 with class"):
        smoothed.vote(graphs, samples=500, voting=sc.Voting(selection_samples=1), seed=7)


def test_memory_is_the_classifiers_to_tell():
    class Heavy(Dense):
        def free_memory(self):
            return 10_000

        def copy_bytes(self, n_nodes, n_edges):
            return 1e6

    with pytest.raises(sc.StarcertError, match="graph 0 do not fit"):
        vote(Heavy())


@pytest.mark.parametrize("n_nodes", [12, 300])
def test_clean_answers_are_asked_for_directly(n_nodes):
    graph = sc.Graph(n_nodes, worlds.graphs(1)[0].edges)
    seen = []

    class Recording(Dense):
        def classify(self, graphs):
            (copy,) = graphs.copies()
            seen.append(copy.edges)
            return super().classify(graphs)

    answers = answers_on(Recording(), worlds.PARTITION.sites(graph))
    assert answers.tolist() == [int((graph.edges < 6).sum() > 20)]
    assert {tuple(edge) for edge in seen[0].tolist()} == {tuple(edge) for edge in graph.edges.tolist()}


def test_a_function_of_networkx_graphs_and_one_of_batches_agree():
    def one(graph: nx.Graph) -> int:
        return int(sum(dict(graph.degree(range(6))).values()) > 20)

    votes = [
        worlds.smoothed(function, on).vote(worlds.graphs(), samples=500, seed=1)
        for function, on in ((one, "networkx"), (worlds.dense_core, "batch"))
    ]
    np.testing.assert_array_equal(votes[0].counts, votes[1].counts)
    np.testing.assert_array_equal(votes[0].selection, votes[1].selection)


def test_it_is_a_classifier_with_a_description():
    base = sc.classifiers.from_callable(worlds.parity)
    assert isinstance(base, Classifier)
    assert base.description.startswith("parity ")
    assert sc.classifiers.from_callable(worlds.parity, description="v2").description == "v2"


class Above:
    def __init__(self, limit):
        self.limit = limit

    def __call__(self, graph):
        return int(graph.number_of_edges() > self.limit)


def test_the_description_is_that_of_now():
    above = Above(3)
    base = sc.classifiers.from_callable(lambda graph: 1 - above(graph))
    before = base.description
    above.limit = 4
    assert base.description != before
    assert base.description != sc.classifiers.from_callable(base.function, on="batch").description


def test_what_cannot_be_told_needs_a_description_where_votes_are_stored(tmp_path):
    lock = threading.Lock()

    def locked(graph):
        with lock:
            return worlds.parity(graph)

    wanted = {"samples": 200, "seed": 1}
    smoothed = worlds.smoothed(locked, "networkx")
    assert repr(smoothed).startswith("SmoothedClassifier(CallableClassifier, ")
    votes = smoothed.vote(worlds.graphs(1), **wanted)  # nothing is stored: nobody needs to know
    with pytest.raises(InvalidParameterError, match=r"'description' is needed.*lock, in the function .*locked"):
        smoothed.vote(worlds.graphs(1), voting=sc.Voting(store=tmp_path / "votes.db"), **wanted)
    base = sc.classifiers.from_callable(locked, description="locked parity")
    named = sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION)
    again = named.vote(worlds.graphs(1), voting=sc.Voting(store=tmp_path / "votes.db"), **wanted)
    np.testing.assert_array_equal(again.counts, votes.counts)


def test_a_function_of_a_batch_that_compares_its_graphs_is_asked_one_by_one():
    def above_average(batch):
        edges = batch.degrees().sum(axis=1)
        return (edges > edges.mean()).astype(int)

    with pytest.raises(
        ClassifierError, match=r"copy \d+ of graph 0 with class 1 in a batch of \d+, but with class 0 al"
    ):
        worlds.smoothed(above_average).vote(worlds.graphs(), samples=500, seed=1)
    one_by_one = sc.classifiers.from_callable(above_average, on="batch", batch_size=1)
    votes = sc.SmoothedClassifier(one_by_one, worlds.NOISE, worlds.PARTITION).vote(worlds.graphs(), samples=500, seed=1)
    assert votes.counts.tolist() == [[500, 0]] * 3  # alone, every graph is average


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"function": 3}, "function"),
        ({"function": worlds.parity, "n_classes": 1}, "n_classes"),
        ({"function": worlds.parity, "n_classes": 2.0}, "n_classes"),
        ({"function": worlds.parity, "on": "tensors"}, "on"),
        ({"function": worlds.parity, "batch_size": 0}, "batch_size"),
    ],
)
def test_bad_arguments_are_refused(arguments, named):
    with pytest.raises(InvalidParameterError, match=f"'{named}'"):
        sc.classifiers.from_callable(arguments.pop("function"), **arguments)


@pytest.mark.parametrize("answers", [[0, 1, 2], np.array([0, 1, 2]), [0.0, 1.0, 2.0], [False, True, False]])
def test_good_answers_are_taken(answers):
    assert checked_answers(answers, 3, 3).dtype == np.int64


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([0, 1], "shape"),
        (1, "shape"),
        ([[0], [1], [2]], "shape"),
        ([0, 1, 3], "answered 3"),
        ([0, -1, 1], "answered -1"),
        ([0, 0.5, 1], "answered 0.5"),
        ([0, float("nan"), 1], "answered nan"),
        (["a", "b", "c"], "answered 'a'"),
        ([None, 1, 1], "answered None"),
    ],
)
def test_bad_answers_are_named(answers, problem):
    with pytest.raises(ValueError, match=problem):
        checked_answers(answers, 3, 3)


def test_names_of_classes_are_answers():
    names = ("depot", "factory", "shop")
    edges = lambda graph: graph.number_of_edges()  # noqa: E731
    numbered = from_callable(lambda graph: edges(graph) % 3, n_classes=3, description="f")
    named = from_callable(lambda graph: names[edges(graph) % 3], class_names=names, description="f")
    graphs = [sc.Graph(4, [(0, 1), (1, 2)])]

    def votes(base):
        return sc.SmoothedClassifier(base, sc.Noise(all=0.1)).vote(graphs, samples=200, seed=1).counts

    assert (named.n_classes, named.class_names) == (3, names)
    np.testing.assert_array_equal(votes(named), votes(numbered))
    turned = from_callable(lambda graph: names[edges(graph) % 3], class_names=names[::-1], description="f")
    np.testing.assert_array_equal(votes(turned), votes(numbered)[:, ::-1])
    assert len({each.description for each in (numbered, named, turned)}) == 3
    with pytest.raises(ClassifierError, match="it answered 'port'; the classes are 0 = depot, 1 = factory, 2 = shop"):
        votes(from_callable(lambda graph: "port", class_names=names))


def test_names_of_classes_of_nodes_are_answers():
    node = sc.classifiers.from_node_function(
        lambda graph: ["busy" if degree > 1 else "calm" for _, degree in graph.degree], class_names=("calm", "busy")
    )
    smoothed = sc.SmoothedClassifier(node, sc.Noise(all=0.1))
    assert smoothed.predict([sc.Graph(3, [(0, 1), (1, 2)])], samples=1000, seed=1).tolist() == [0, 1, 0]


@pytest.mark.parametrize("names", ["ab", ["a"], ["a", "a"], ["a", 1]])
def test_names_of_classes_must_tell_them_apart(names):
    with pytest.raises(InvalidParameterError, match="'class_names' must be different texts, two or more"):
        from_callable(lambda graph: 0, class_names=names)


def test_as_many_names_as_classes():
    with pytest.raises(
        InvalidParameterError, match=r"'n_classes' must be 2, as there are class names. Got 3.*0 = a, 1 = b"
    ):
        from_callable(lambda graph: 0, class_names=["a", "b"], n_classes=3)
