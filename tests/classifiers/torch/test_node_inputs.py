"""Bits and counts reach a module as numbers of its own kind, categories as whole numbers."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric")

import starcert as sc  # noqa: E402
from starcert.classifiers import features, from_dense, from_pyg  # noqa: E402
from starcert.datasets import npz  # noqa: E402
from starcert.sampling.sampler import sampler  # noqa: E402
from starcert.sampling.streams import WordStream  # noqa: E402

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4)]
BITS = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
COUNTS = BITS * [[3], [1], [200], [0], [7]]
CATEGORIES = np.array([4, 0, 2, 2, 1])
NARROW = (bool, np.uint8, np.int8, np.int16, np.uint16)


class GCN(torch.nn.Module):
    def __init__(self, columns=3):
        super().__init__()
        self.conv = pyg.nn.GCNConv(columns, 8)
        self.linear = torch.nn.Linear(8, 2)

    def forward(self, x, edge_index, batch):
        return self.linear(pyg.nn.global_add_pool(self.conv(x, edge_index).relu(), batch))


class Embedded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(201, 2)

    def forward(self, x, edge_index, batch):
        rows = self.table(x)
        return pyg.nn.global_add_pool(rows if rows.dim() == 2 else rows.sum(dim=1), batch)


class Seen(torch.nn.Module):
    def forward(self, x, edge_index, batch):
        return torch.zeros(int(batch.max()) + 1, 2)


def seeded(make, *args, dtype=torch.float32):
    torch.manual_seed(0)
    return make(*args).to(dtype)


def graph(x):
    return sc.Graph(5, EDGES, node_data={"x": x})


def shown(given, model, make=from_pyg, **said):
    """The x that a module receives, and its logits."""
    base = make(model, n_classes=2, **said)
    laws = {each.name: sc.Flip(0.1) if each.alphabet == 2 else sc.Categorical(0.1) for each in given.layers}
    problem = sc.SmoothedClassifier(base, sc.Noise(**laws), {name: name for name in laws}).problem([given])
    batch = sampler(problem.sites[0], problem.noise).draw(WordStream.of_chunk(1, "1", "estimation", 0), 20)
    return base.inputs(batch)["x"], base.logits(batch) if make is from_pyg else None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("make", [from_pyg, from_dense])
def test_bits_and_counts_arrive_in_the_type_of_the_model(make, dtype):
    for numbers, kinds in ((BITS, (*NARROW, np.int32, np.int64)), (COUNTS, (np.uint8, np.int32, np.int64, np.uint16))):
        expected, logits = shown(graph(numbers.astype(np.float64)), seeded(GCN, dtype=dtype), make)
        given = [numbers.astype(kind) for kind in kinds]
        given += [torch.from_numpy(numbers.astype(np.uint8)), numbers.tolist()]
        for x in given:
            found, same = shown(graph(x), seeded(GCN, dtype=dtype), make)
            assert found.dtype == dtype
            assert torch.equal(found, expected)
            assert logits is None or torch.equal(same, logits)


@pytest.mark.parametrize("kind", [*NARROW, np.int32, np.int64, np.float64])
def test_bits_that_are_sites_arrive_so_whatever_they_came_as(kind):
    for x in (BITS.astype(kind), torch.as_tensor(BITS.astype(kind))):
        found, _ = shown(graph(x).with_bits("x"), seeded(GCN))
        assert found.dtype == torch.float32
        assert set(found.unique().tolist()) == {0.0, 1.0}
        for flat in (graph(x[:, 0]), graph(x[:, 0]).with_bits("x")):  # to become sites changes no type
            whole = kind in (np.int32, np.int64)
            model = seeded(Embedded) if whole else Seen()
            assert shown(flat, model)[0].is_floating_point() == (not whole)


def test_the_features_of_an_npz_file_go_into_a_gcn(tmp_path):
    matrix = {"data": np.ones(8), "indices": [1, 0, 2, 1, 3, 2, 4, 3], "indptr": [0, 1, 3, 5, 7, 8], "shape": [5, 5]}
    rows, columns = np.nonzero(BITS)
    words = {
        "data": np.full(len(rows), 3),
        "indices": columns,
        "indptr": np.searchsorted(rows, range(6)),
        "shape": [5, 3],
    }
    arrays = {f"{of}_{part}": each for of, parts in (("adj", matrix), ("attr", words)) for part, each in parts.items()}
    np.savez(tmp_path / "words.npz", labels=[0, 1, 0, 1, 0], **arrays)
    read = npz(tmp_path / "words.npz").graph
    _, logits = shown(graph(BITS.astype(np.float32)), seeded(GCN))
    for given in (read, read.with_bits("x")):
        assert shown(given, seeded(GCN))[0].dtype == torch.float32
    assert torch.equal(shown(read, seeded(GCN))[1], logits)


def test_categories_stay_whole_numbers_for_an_embedding():
    column = CATEGORIES[:, None]
    several = np.stack([CATEGORIES, CATEGORIES[::-1]], axis=1)
    for x in (
        CATEGORIES,
        CATEGORIES.astype(np.int32),
        CATEGORIES.tolist(),
        *(torch.tensor(each) for each in (CATEGORIES, column, several)),  # as a Data of PyG has them
        torch.tensor(several, dtype=torch.int32),
    ):
        found, _ = shown(graph(x), seeded(Embedded))
        assert found[:5].tolist() == np.asarray(x).tolist()
        assert found.dtype in (torch.int32, torch.int64)
    found, _ = shown(graph(CATEGORIES).with_categories("x", range(5)), seeded(Embedded))
    assert found.dtype == torch.int64
    data = pyg.data.Data(x=torch.tensor(several), edge_index=pyg.utils.to_undirected(torch.tensor(EDGES).T))
    assert shown(sc.Graph.from_pyg(data), seeded(Embedded))[0].dtype == torch.int64


def test_the_same_holds_for_what_a_function_gives():
    def given(what):
        return shown(graph(BITS), seeded(GCN), features=lambda _: what)[0].dtype

    assert given(BITS) == given(BITS.astype(bool)) == torch.float32
    assert shown(graph(BITS), seeded(Embedded), features=lambda _: CATEGORIES)[0].dtype == torch.int64
    assert shown(graph(BITS), seeded(GCN, 4), features=("x", features.degree()))[0].dtype == torch.float32
