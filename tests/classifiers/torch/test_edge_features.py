"""Types and numbers of edges as modules see them: those of the noisy copy, aligned with its edges."""

import numpy as np
import pytest
from asking import drawn

import starcert as sc
from starcert.system.errors import ClassifierError, InvalidParameterError

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")
pytest.importorskip("starcert.models.networks")

from_pyg = sc.classifiers.from_pyg
TYPES = ("single", "double", "aromatic")
RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (5, 6)]
NAMED = ["aromatic", "aromatic", "aromatic", "single", "double", "single", "single"]
NOISE = sc.Noise(bonds=sc.Edges(delete=0.2, add=0.1, change=0.15))
LENGTHS = np.linspace(1.0, 2.0, 7)


def molecule(**more) -> sc.Graph:
    x = np.eye(3, dtype=np.float32)[[0, 0, 1, 0, 2, 0, 1]]
    given = {"edge_types": NAMED, "type_names": TYPES, "node_data": {"x": x}} | more
    return sc.Graph(7, RING, **given)


class Seen(torch.nn.Module):
    """Keeps what it was given."""

    def forward(self, x, edge_index, batch, edge_attr=None, edge_weight=None):
        self.given = {"edge_index": edge_index, "edge_attr": edge_attr, "edge_weight": edge_weight}
        return torch.zeros(int(batch.max()) + 1, 2)


def seen(graph, noise=NOISE, **said):
    model, copies = Seen(), drawn(graph, noise, 40)
    from_pyg(model, n_classes=2, **said).logits(copies)
    return model.given, copies


def edges_of(copies) -> dict[tuple[int, int], int]:
    """From both directions of every edge of all copies, by number of node in the block-diagonal graph, to its type."""
    found = {}
    for number, graph in enumerate(copies.copies()):
        for (u, v), kind in zip(graph.edges.tolist(), graph.edge_types.tolist(), strict=True):
            for pair in ((u, v), (v, u))[: 1 if graph.directed else 2]:
                found[pair[0] + 7 * number, pair[1] + 7 * number] = kind
    return found


@pytest.mark.parametrize("directed", [False, True], ids=["pairs", "arcs"])
def test_types_are_one_hot_and_aligned_with_the_edges(directed):
    given, copies = seen(molecule(directed=directed))
    expected = edges_of(copies)
    assert given["edge_attr"].shape == (len(expected), 3)
    assert given["edge_attr"].dtype == torch.float32
    listed = {
        (u, v): int(row.argmax()) + 1
        for (u, v), row in zip(given["edge_index"].T.tolist(), given["edge_attr"], strict=True)
    }
    assert listed == expected
    assert set(expected.values()) == {1, 2, 3}
    assert given["edge_attr"].sum() == len(expected)


def test_an_encoding_of_types_of_ones_own_and_numbers_side_by_side():
    order = np.array([1.0, 2.0, 1.5])
    graph = molecule(edge_data={"length": LENGTHS}, added_edge_data={"length": 9.0})
    given, copies = seen(graph, edge_features=(order, "types", "length", torch.eye(3)[:, :2]))
    types = copies.edge_types().astype(int)
    clean = {tuple(pair): length for pair, length in zip(graph.edges.tolist(), graph.edge_data["length"], strict=True)}
    pairs = np.sort(copies.edge_index()[0] % 7, axis=0).T.tolist()
    lengths = [clean.get(tuple(pair), 9.0) for pair in pairs]
    expected = np.column_stack([order[types - 1], np.eye(3)[types - 1], lengths, np.eye(3)[types - 1, :2]])
    np.testing.assert_allclose(given["edge_attr"].numpy(), expected, rtol=1e-6)
    assert 9.0 in lengths


def test_numbers_of_edges_without_types():
    rows = np.arange(14.0).reshape(7, 2)
    graph = molecule(
        edge_types=None, type_names=None, edge_data={"edge_attr": rows, "edge_weight": LENGTHS, "own": LENGTHS[:, None]}
    )
    noise = sc.Noise(bonds=sc.Flip(delete=0.2, add=0.1))
    given, copies = seen(graph, noise)
    np.testing.assert_allclose(given["edge_attr"].numpy(), copies.edge_data("edge_attr"), rtol=1e-6)
    np.testing.assert_allclose(given["edge_weight"].numpy(), copies.edge_data("edge_weight"), rtol=1e-6)
    own, _ = seen(graph, noise, edge_weight="own", edge_features="edge_weight")
    assert torch.equal(own["edge_weight"], given["edge_weight"])
    assert torch.equal(own["edge_attr"][:, 0], given["edge_weight"])


def test_edges_that_carry_nothing_leave_defaults_alone():
    given, _ = seen(molecule(edge_types=None, type_names=None), sc.Noise(bonds=0.1))
    assert given["edge_attr"] is None
    assert given["edge_weight"] is None


class OfData(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, data):
        return self.inner(data.x, data.edge_index, data.edge_attr, data.batch)


def gine(seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return sc.models.GINE(3, 3, 2, hidden=8).eval()


@pytest.mark.parametrize("wrap", [lambda net: net, OfData], ids=["by name", "data"])
@pytest.mark.parametrize("directed", [False, True], ids=["pairs", "arcs"])
def test_gine_answers_batches_as_it_does_graph_by_graph(wrap, directed):
    graph = molecule(directed=directed)
    copies = drawn(graph, NOISE, 40)
    together = from_pyg(wrap(gine()), n_classes=2).logits(copies)
    alone = []
    for one in copies.copies():
        there = torch.as_tensor(one.edges.T.copy())
        types = torch.eye(3)[torch.as_tensor(one.edge_types.astype(np.int64)) - 1]
        if not directed:
            there, types = torch.cat([there, there.flip(0)], dim=1), torch.cat([types, types])
        x = torch.as_tensor(np.array(one.node_data["x"]))
        with torch.inference_mode():
            alone.append(gine()(x, there, types, torch.zeros(7, dtype=torch.int64)))
    torch.testing.assert_close(together, torch.cat(alone), rtol=1e-4, atol=1e-5)


def test_gine_is_trained_with_noise_on_types_and_certified():
    """All bonds double, or all single: nothing but types can tell."""
    labels = np.arange(8) % 2
    ones = np.ones((7, 3), dtype=np.float32)
    graphs = [molecule(edge_types=[TYPES[label]] * 7, node_data={"x": ones}) for label in labels]
    noise = sc.Noise(bonds=sc.Edges(delete=0.02, add=0.01, change=0.3))
    smoothed = sc.SmoothedClassifier(from_pyg(gine(), n_classes=2), noise)
    report = sc.models.fit_with_noise(
        smoothed, graphs, labels, validation=(graphs, labels), epochs=25, learning_rate=0.01
    )
    assert report.validation_accuracy > 0.8
    result = smoothed.certify(graphs[:4], samples=2000, seed=1)
    assert [one.label for one in result] == [0, 1, 0, 1]
    assert noise.axes == ("bonds.delete", "bonds.add", "bonds.change")
    assert result[0].certified({"bonds.delete": 0, "bonds.add": 0, "bonds.change": 1})


@pytest.mark.parametrize(
    ("said", "graph", "words"),
    [
        (
            {"edge_features": np.eye(4)},
            {},
            "edge_features has 4 rows; the graph has 3 types of edges: single, double, a",
        ),
        ({"edge_features": "length"}, {}, "the graph has no edge data 'length'; it has none"),
        ({"edge_weight": "length"}, {}, "the graph has no edge data 'length'; it has none"),
        ({"edge_features": "types"}, {"edge_types": None, "type_names": None}, "edge_features asks for types, and the"),
        (
            {"edge_weight": "wide"},
            {"edge_data": {"wide": np.ones((7, 2))}},
            "edge_weight is one number an edge; the edge data 'wide' has 2",
        ),
    ],
)
def test_what_the_edges_do_not_carry_is_said(said, graph, words):
    noise = sc.Noise(bonds=0.1) if graph.get("edge_types", 1) is None else NOISE
    with pytest.raises(ClassifierError, match=words):
        sc.SmoothedClassifier(from_pyg(Seen(), n_classes=2, **said), noise).vote([molecule(**graph)], samples=9, seed=1)


@pytest.mark.parametrize("features", [(), ("a", None), np.zeros((2, 2, 2)), [["a"]], 1j])
def test_bad_edge_features_are_refused(features):
    with pytest.raises(InvalidParameterError, match="'edge_features' must be the name of edge data, 'types', an array"):
        from_pyg(Seen(), n_classes=2, edge_features=features)


def test_edge_features_are_part_of_the_identity():
    kinds = [{}, {"edge_features": np.eye(3)}, {"edge_features": 2 * np.eye(3)}, {"edge_weight": "w"}]
    assert len({from_pyg(Seen(), n_classes=2, **said).description for said in kinds}) == 4
