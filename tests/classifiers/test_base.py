"""The contract of a classifier: three parts are owed, the others have defaults."""

import numpy as np
import pytest

import starcert as sc
import worlds
from starcert.classifiers.base import Classifier, DrawsItself, Scores
from starcert.errors import ClassifierError, InvalidParameterError
from starcert.sampling.sampler import sampler
from starcert.voting import answers_on

WANTED = {"samples": 500, "seed": 1}


class Dense(Classifier):
    """All that is owed."""

    n_classes = 2
    description = "dense core"

    def classify(self, graphs):
        return worlds.dense_core(graphs)


def vote(base, n=3, **options):
    return sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION).vote(worlds.graphs(n), **WANTED | options)


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
    seen = []

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
        smoothed.vote(graphs, samples=500, selection_samples=1, seed=7)


def test_memory_is_the_classifiers_to_tell():
    class Heavy(Dense):
        def free_memory(self):
            return 10_000

        def copy_bytes(self, n_nodes, n_edges):
            return 1e6

    with pytest.raises(sc.StarcertError, match="graph 0 do not fit"):
        vote(Heavy())


def test_a_sampler_of_its_own_is_used():
    class Own(DrawsItself, Dense):
        device = "here"
        asked = 0

        def sampler(self, sites, noise):
            Own.asked += 1
            return sampler(sites, noise)

    np.testing.assert_array_equal(vote(Own()).counts, vote(Dense()).counts)
    assert Own.asked == 3


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
