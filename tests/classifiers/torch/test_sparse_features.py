"""Sparse features: the same answers as with all zeros written out, for every way in which copies are drawn."""

import importlib

import numpy as np
import pytest

import starcert as sc
from starcert.sampling.draws import Method
from starcert.sampling.sampler import method_of, sampler
from starcert.sampling.streams import WordStream
from starcert.system.errors import ClassifierError, InvalidParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
features = importlib.import_module("starcert.classifiers.features")
NodeGCN = importlib.import_module("starcert.models.networks").NodeGCN

RNG = np.random.default_rng(0)
SMALL = sc.Graph(5, [(0, 1), (1, 2), (3, 4)], node_data={"x": RNG.integers(2, size=(5, 7))})
LARGE = sc.Graph(90, [(0, 1), (3, 7)], node_data={"x": (RNG.random((90, 70)) < 0.05).astype(np.uint8)})
WHOLE = sc.Partition.of_layers(words="x")
SOME = sc.Partition.from_columns("x", {"words": [0, 2, 5]})


def bound(graph: sc.Graph, partition: sc.Partition):
    return partition.sites(graph.with_bits("x"))


def copies(sites, noise, n=9):
    return sampler(sites, noise).draw(WordStream.of_chunk(3, sites.clean.key, "estimation", 0), n)


@pytest.mark.parametrize("partition", [WHOLE, SOME], ids=["all columns", "some columns"])
@pytest.mark.parametrize(
    ("graph", "p", "method"), [(SMALL, 0.3, Method.DENSE), (LARGE, 0.01, Method.SPARSE), (LARGE, 0.3, Method.DENSE)]
)
def test_the_ones_are_those_of_the_values(graph, p, method, partition):
    sites, noise = bound(graph, partition), sc.Noise(words=sc.Flip(delete=2 * p, add=p))
    assert partition is SOME or method_of(sites, noise) is method
    for batch in (copies(sites, noise), copies(sites, noise)[2:7]):
        values, ones = batch.node_values("x"), batch.node_ones("x")
        assert ones.n_columns == values.shape[2]
        rows = np.repeat(np.arange(len(ones.starts) - 1), np.diff(ones.starts))
        written = np.zeros((len(ones.starts) - 1, ones.n_columns), dtype=np.uint8)
        written[rows, ones.columns] = 1
        np.testing.assert_array_equal(written.reshape(values.shape), values)
        assert len(rows) == values.sum()


@pytest.mark.parametrize("noisy", [True, False], ids=["sites", "node data"])
@pytest.mark.parametrize("graph", [SMALL, LARGE], ids=["small", "large"])
def test_a_module_answers_as_it_does_with_zeros_written_out(graph, noisy):
    model = NodeGCN(graph.node_data["x"].shape[1], 3, hidden=8)
    noise = sc.Noise(words=sc.Flip(delete=0.3, add=0.02)) if noisy else sc.Noise(links=sc.Flip(delete=0.3, add=0.01))
    sites = bound(graph, WHOLE) if noisy else sc.Partition.everything("links").sites(graph)
    batch = copies(sites, noise)
    dense, sparse = (
        sc.classifiers.from_pyg(model, n_classes=3, targets="nodes", features=each)
        for each in ("x", features.sparse("x"))
    )
    assert sparse.inputs(batch)["x"].layout == torch.sparse_csr
    torch.testing.assert_close(sparse.logits(batch), dense.logits(batch))
    assert sparse.description != dense.description


def test_votes_of_both_agree():
    model = NodeGCN(7, 2, hidden=8)
    votes = [
        sc.SmoothedClassifier(
            sc.classifiers.from_pyg(model, n_classes=2, targets="nodes", features=each),
            sc.Noise(words=0.2),
            {"words": "x"},
        )
        .vote([SMALL.with_bits("x")], samples=500, seed=1)
        .counts
        for each in ("x", features.sparse("x"))
    ]
    assert np.abs(votes[0] - votes[1]).max() <= 1  # rounding at a tie


def test_what_cannot_be_sparse_is_refused():
    model = NodeGCN(7, 2)
    with pytest.raises(InvalidParameterError, match=r"be sparse\(name\) alone, for a module on edge_index"):
        sc.classifiers.from_pyg(model, n_classes=2, targets="nodes", features=("x", features.sparse("x")))
    with pytest.raises(InvalidParameterError, match="be the name of node data"):
        features.sparse(3)
    graph = sc.Graph(2, [(0, 1)], node_data={"x": [[0.5], [1.0]]})
    for name, told in (("x", "must be rows of zeros and ones"), ("y", "the graph has no node data 'y'")):
        base = sc.classifiers.from_pyg(NodeGCN(1, 2), n_classes=2, targets="nodes", features=features.sparse(name))
        with pytest.raises(ClassifierError, match=told):
            sc.SmoothedClassifier(base, sc.Noise(all=0.1)).vote([graph], samples=10, seed=1)
    atoms = sc.Graph(2, [], node_data={"e": ["C", "N"]}).with_categories("e", ("C", "N", "O"))
    with pytest.raises(ValueError, match="'e' are categories"):
        copies(sc.Partition.of_layers(a="e").sites(atoms), sc.Noise(a=sc.Categorical(0.1))).node_ones("e")
