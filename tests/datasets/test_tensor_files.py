import pickle
import warnings
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from starcert.datasets.tensor_files import read_tensors
from starcert.runs.sources import load_graphs
from starcert.system.errors import StarcertError

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
    data = load_graphs(tmp_path / "rings.pt")
    assert [graph.n_nodes for graph in data.graphs] == [3, 4, 5]
    assert [graph.n_edges for graph in data.graphs] == [3, 4, 5]
    assert data.graphs[2].edges.tolist() == [[0, 1], [0, 4], [1, 2], [2, 3], [3, 4]]
    assert all(torch.equal(graph.node_data["x"], each.x) for graph, each in zip(data.graphs, expected, strict=True))
    assert set(data.graphs[0].node_data) == {"x"}
    assert tuple(data.labels) == (0, 2, 0)
    assert data.class_names == ("0", "1", "2")
    assert data.names == ("rings 0", "rings 1", "rings 2")
    assert data.numbered


def test_a_single_node_keeps_its_class_out_of_its_data(tmp_path):
    torch.save(
        [{"x": torch.ones(1, 2), "edge_index": torch.empty(2, 0, dtype=torch.long), "y": torch.tensor([1])}],
        tmp_path / "d.pt",
    )
    data = read_tensors(tmp_path / "d.pt")
    assert (set(data.graphs[0].node_data), data.known) == ({"x"}, [1])


def test_without_y_no_class_is_known(tmp_path):
    torch.save([{"x": torch.ones(2, 1), "edge_index": torch.tensor([[0, 1], [1, 0]])}], tmp_path / "d.pt")
    assert read_tensors(tmp_path / "d.pt").known == []


class Trap:
    fell = False

    def __reduce__(self):
        return setattr, (Trap, "fell", True)


def test_nothing_in_a_file_is_run(tmp_path):
    torch.save([Trap()], tmp_path / "d.pt")
    with pytest.raises(StarcertError, match=r"could run anything.*torch\.save\(\[data\.to_dict"):
        read_tensors(tmp_path / "d.pt")
    (tmp_path / "e.pt").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(StarcertError, match="not a file of tensors"):
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


def test_a_y_with_fractions_is_a_number(tmp_path):
    """A measurement, which is no class; where numbers are wanted, each different one is a class by its name."""
    one = {"x": torch.ones(2, 1), "edge_index": torch.tensor([[0, 1], [1, 0]])}
    torch.save([{**one, "y": torch.tensor([y])} for y in (0.5, -1.0, 0.5)], tmp_path / "d.pt")
    with pytest.raises(StarcertError, match=r"d.pt: 0.5 is a measurement, not a class; .*--outputs LOW..HIGH"):
        load_graphs(tmp_path / "d.pt")
    data = load_graphs(tmp_path / "d.pt", numbers=True)
    assert [float(data.class_names[label]) for label in data.labels] == [0.5, -1.0, 0.5]


EDGES = torch.tensor([[0, 1], [1, 0]])


def saved(path, *records):
    torch.save(list(records), path)
    return path


@pytest.mark.parametrize(
    "y",
    [
        float("nan"),
        float("inf"),
        torch.tensor([float("nan")]),
        "one",
        [1],
        {"class": 1},
        1 + 2j,
        torch.tensor([1 + 2j]),
        torch.tensor([0, 1]),
        torch.tensor([]),
        torch.eye(2).to_sparse(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_label_that_is_no_class_is_named(tmp_path, y):
    path = saved(tmp_path / "g.pt", {"edge_index": EDGES, "num_nodes": 2, "y": y})
    with pytest.raises(StarcertError, match=r"g\.pt, graph 0: its y must be one class, a whole number"):
        read_tensors(path)


def test_classes_that_lie_far_apart_are_the_values_that_there_are(tmp_path):
    path = saved(tmp_path / "g.pt", *({"edge_index": EDGES, "num_nodes": 2, "y": y} for y in (10**11, 0, 10**11)))
    data = read_tensors(path)
    assert (tuple(data.labels), data.class_names, data.numbered) == ((1, 0, 1), ("0", "100000000000"), False)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"edge_index": EDGES, "num_nodes": 10**8}, "brings the file to 100,000,000 nodes, though it has"),
        ({"edge_index": EDGES, "num_nodes": torch.tensor([10**11])}, "the file to 100,000,000,000 nodes"),
        ({"edge_index": EDGES * 10**9, "y": 0}, "brings the file to 1,000,000,001 nodes"),
        ({"edge_index": EDGES, "x": torch.ones(1).expand(2, 10**9)}, "brings the file to 8.0 GB of tensors"),
        ({"edge_index": EDGES, "num_nodes": "two"}, "'num_nodes' must be a whole number"),
        ({"edge_index": EDGES, "num_nodes": -1}, "'num_nodes' must be a whole number"),
        ({"edge_index": EDGES, "num_nodes": 2.5}, "'num_nodes' must be a whole number"),
        ({"edge_index": EDGES.to_sparse(), "num_nodes": 2}, "'edge_index' must be a dense tensor"),
        ({"edge_index": EDGES + 0.5, "num_nodes": 3}, "'edge_index' must be a dense tensor of two rows of whole"),
        ({"edge_index": EDGES[:, :, None], "num_nodes": 3}, "'edge_index' must be a dense tensor of two rows"),
        ({"edge_index": EDGES, "num_nodes": 2, "edge_weight": "heavy"}, "'edge_weight' must be a tensor"),
        ({"edge_index": EDGES, "num_nodes": 2, "x": torch.ones(3, 4)}, "'x' must have a row for each of the 2 nodes"),
        ({"edge_index": EDGES, "num_nodes": 2, "x": torch.tensor(1.0)}, "'x' must have a row for each of the 2 nodes"),
        ({"edge_index": torch.tensor([[0, 0], [0, 0]])}, "remove_self_loops"),
        ({"edge_index": torch.tensor([[0, 0, 1], [1, 1, 0]])}, "torch_geometric.utils.coalesce"),
        ({"edge_index": torch.tensor([[0], [1]])}, "torch_geometric.utils.to_undirected"),
    ],
)
@pytest.mark.filterwarnings("ignore:Unable to accurately infer")
def test_what_a_file_cannot_mean_is_said_with_the_remedy(tmp_path, record, words):
    with pytest.raises(StarcertError) as caught:
        read_tensors(saved(tmp_path / "g.pt", record))
    assert "g.pt" in str(caught.value)
    assert words in str(caught.value)


def test_a_file_that_unpacks_to_far_more_than_it_is(tmp_path):
    with ZipFile(tmp_path / "bomb.pt", "w", ZIP_DEFLATED) as file:
        file.writestr("archive/data/0", bytes(2**27))
    with pytest.raises(StarcertError, match=r"bomb\.pt: is compressed, to 134\.2 MB"):
        read_tensors(tmp_path / "bomb.pt")


@pytest.mark.parametrize(
    "content", [b"", b"root:x:0:0:root:/root:/bin/bash\n", b"\x80\x02}q\x00.", bytes(100), b"PK\x03\x04"]
)
def test_other_files_are_no_fault_of_starcert(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(StarcertError, match=r"other: (is not a file of tensors|holds a)"):
        read_tensors(tmp_path / "other")


def test_slices_that_repeat_themselves_are_no_graphs(tmp_path):
    path = tmp_path / "g.pt"
    torch.save(({"edge_index": EDGES}, {"edge_index": torch.zeros(1, dtype=torch.long).expand(10**9)}), path)
    with pytest.raises(StarcertError, match=r"g\.pt: its slices tell of 999,999,999 graphs in .* bytes"):
        read_tensors(path)
