import pickle
import warnings

import pytest

from starcert.errors import StarcertError
from starcert.runs.sources import load
from starcert.runs.tensors import read_tensors

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("torch_geometric")
from torch_geometric.data import Data, InMemoryDataset  # noqa: E402


def records() -> list[Data]:
    rings = []
    for size, label in ((3, 0), (4, 2), (5, 0)):
        nodes = torch.arange(size)
        ring = torch.stack([nodes, (nodes + 1) % size])
        rings.append(
            Data(
                x=torch.rand(size, 2),
                edge_index=torch.cat([ring, ring.flip(0)], 1),
                y=torch.tensor([label]),
                num_nodes=size,
            )
        )
    return rings


def as_dicts(path):
    torch.save([data.to_dict() for data in records()], path)


def as_data(path):
    torch.save(records(), path)


def as_saved(path):
    InMemoryDataset.save(records(), str(path))


def as_collated(path):
    data, slices = InMemoryDataset.collate(records())
    torch.save((data.to_dict(), slices), path)


@pytest.mark.parametrize("save", [as_dicts, as_data, as_saved, as_collated])
def test_graphs_come_back_however_they_were_saved(tmp_path, save):
    torch.manual_seed(0)
    save(tmp_path / "rings.pt")
    torch.manual_seed(0)
    expected = records()
    data = load(tmp_path / "rings.pt")
    assert [graph.n_nodes for graph in data.graphs] == [3, 4, 5]
    assert [graph.n_edges for graph in data.graphs] == [3, 4, 5]
    assert data.graphs[2].edges.tolist() == [[0, 1], [0, 4], [1, 2], [2, 3], [3, 4]]
    assert all(torch.equal(graph.node_data["x"], each.x) for graph, each in zip(data.graphs, expected, strict=True))
    assert set(data.graphs[0].node_data) == {"x"}
    assert data.labels == (0, 2, 0)
    assert data.class_names == ("0", "1", "2")
    assert data.names == ("rings 0", "rings 1", "rings 2")
    assert data.numbered


def test_a_single_node_keeps_its_class_out_of_its_data(tmp_path):
    torch.save(
        [{"x": torch.ones(1, 2), "edge_index": torch.empty(2, 0, dtype=torch.long), "y": torch.tensor([1])}],
        tmp_path / "d.pt",
    )
    data = read_tensors(tmp_path / "d.pt")
    assert (set(data.graphs[0].node_data), data.labels) == ({"x"}, (1,))


def test_without_y_no_class_is_known(tmp_path):
    torch.save([{"x": torch.ones(2, 1), "edge_index": torch.tensor([[0, 1], [1, 0]])}], tmp_path / "d.pt")
    assert read_tensors(tmp_path / "d.pt").labels is None


class Trap:
    fell = False

    def __reduce__(self):
        return setattr, (Trap, "fell", True)


def test_nothing_in_a_file_is_run(tmp_path):
    torch.save([Trap()], tmp_path / "d.pt")
    with pytest.raises(StarcertError, match=r"could run anything.*torch\.save\(\[data\.to_dict"):
        read_tensors(tmp_path / "d.pt")
    (tmp_path / "e.pt").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(StarcertError, match="no file of tensors"):
        read_tensors(tmp_path / "e.pt")
    assert not Trap.fell


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ([], "holds an empty list"),
        ({"x": 1}, "holds a dict, not graphs"),
        ([{"x": 1}], "holds a dict without edge_index"),
        (7, "holds a int, not graphs"),
        ([{"edge_index": [[0], [1]]}], "graph 0: 'data' must be a torch_geometric Data with an edge_index"),
    ],
)
def test_what_is_no_graph_is_refused(tmp_path, content, words):
    torch.save(content, tmp_path / "d.pt")
    with pytest.raises(StarcertError) as caught:
        read_tensors(tmp_path / "d.pt")
    assert words in str(caught.value)
    assert str(tmp_path / "d.pt") in str(caught.value)


@pytest.mark.parametrize("y", [torch.tensor([0.5]), torch.tensor([1, 2]), torch.tensor([-1])])
def test_a_y_that_is_no_class_is_refused(tmp_path, y):
    torch.save([{"x": torch.ones(2, 1), "edge_index": torch.tensor([[0, 1], [1, 0]]), "y": y}], tmp_path / "d.pt")
    with pytest.raises(StarcertError, match="graph 0: its y must be one class"):
        read_tensors(tmp_path / "d.pt")


def test_a_directed_graph_is_refused_with_its_number(tmp_path):
    torch.save([{"x": torch.ones(2, 1), "edge_index": torch.tensor([[0], [1]])}], tmp_path / "d.pt")
    with pytest.raises(StarcertError, match=r"graph 0: .*both directions"):
        read_tensors(tmp_path / "d.pt")
