"""Large graphs of labelled nodes in the sparse CSR layout: one made up here, and the real Cora-ML where it lies."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import runs_worlds
from memory_worlds import command_with_memory, run_with_memory
from scipy.sparse import csr_array

import starcert as sc
from starcert.system.errors import InvalidParameterError, StarcertError

CORA = Path(__file__).parents[2].parent / "shared" / "data" / "CORA_ML" / "cora_ml.npz"

ADJACENCY = np.array(
    [
        [0, 1, 0, 0, 0],
        [1, 2, 3, 0, 0],  # a self-loop, and a weight
        [0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
        [0, 0, 0, 0, 0],
    ]
)
X = np.array([[0.5, 0], [0, 0], [0, 2], [1, 1], [0, 0]])
LABELS = [0, 2, 0, 1, 1]


def parts(matrix, name):
    sparse = csr_array(matrix)
    return {f"{name}_{part}": getattr(sparse, part) for part in ("data", "indices", "indptr", "shape")}


def arrays(**changes):
    made = parts(ADJACENCY, "adj") | parts(X, "attr") | {"labels": LABELS, "test_mask": [True, False] * 2 + [True]}
    return {name: value for name, value in (made | changes).items() if value is not None}


@pytest.fixture
def file(tmp_path):
    def write(content):
        np.savez(tmp_path / "tiny.npz", **content)
        return tmp_path / "tiny.npz"

    return write


def test_edges_have_no_direction_and_no_weight_and_features_are_bits(file):
    data = sc.datasets.npz(file(arrays()))
    assert data.graph.edges.tolist() == [[0, 1], [1, 2], [3, 4]]
    assert data.graph.node_data["x"].tolist() == [[1, 0], [0, 0], [0, 1], [1, 1], [0, 0]]
    assert data.graph.node_data["x"].dtype == np.uint8
    assert (data.labels.tolist(), data.label_names, data.n_classes) == (LABELS, ("0", "1", "2"), 3)
    assert data.said == ("1 self-loop is left out.", "2 of 3 edges are there in one direction only.")
    assert data.graph.node_data["test_mask"].tolist() == [True, False, True, False, True]
    assert repr(data) == "Dataset(tiny, Graph(5 nodes, 3 edges, node data: test_mask, x), by class: 2, 2, 1)"
    assert data.graph.with_bits("x").layers[1].size == 10


def test_directions_are_kept_where_they_are_wanted(file):
    data = sc.datasets.npz(file(arrays()), directed=True, name="arcs")
    assert data.graph.directed
    assert data.graph.edges.tolist() == [[0, 1], [1, 0], [1, 2], [3, 4]]
    assert data.said == ("1 self-loop is left out.",)
    assert data.name == "arcs"


def test_the_largest_component_keeps_the_numbers_of_its_nodes(file):
    permuted = ADJACENCY[::-1, ::-1]
    content = arrays(**parts(permuted, "adj"), **parts(X[::-1], "attr"), labels=LABELS[::-1])
    data = sc.datasets.npz(file(content), largest_component=True)
    assert data.graph.nodes == (2, 3, 4)
    assert data.graph.edges.tolist() == [[0, 1], [1, 2]]
    assert data.labels.tolist() == [0, 2, 0]
    assert data.graph.node_data["x"].tolist() == [[0, 1], [0, 0], [1, 0]]
    assert data.graph.node_data["test_mask"].tolist() == [True, False, True]
    assert data.said[-1] == "The largest connected component has 3 of 5 nodes."


def test_longer_names_class_names_and_no_features(file):
    made = {name.replace("adj_", "adj_matrix_"): value for name, value in parts(ADJACENCY, "adj").items()}
    data = sc.datasets.npz(file(made | {"labels": LABELS, "class_names": ["a", "b", "c"]}))
    assert data.label_names == ("a", "b", "c")
    assert dict(data.graph.node_data) == {}


def test_entries_of_0_are_no_edges(file):
    content = arrays()
    content["adj_data"] = np.zeros_like(content["adj_data"])
    assert sc.datasets.npz(file(content)).graph.n_edges == 0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"adj_data": None}, r"has no array adj_data \(nor adj_matrix_data\). It has adj_indices"),
        ({"labels": None}, "has no array labels"),
        ({"labels": [0, 1]}, "labels must be a class from 0 for each of 5 nodes. It is an array of int64"),
        ({"labels": [0, 1, 2, -1, 0]}, "labels must be a class from 0 for each of 5 nodes"),
        ({"labels": list("abcde")}, "labels must be a class from 0"),
        ({"adj_shape": [5, 4]}, "adj_indices must be columns from 0 to 3|must be square"),
        ({"adj_shape": [5]}, "adj_shape must be two numbers"),
        ({"adj_shape": [4, 4]}, "adj_indptr must rise from 0 to the 5 entries in 5 steps"),
        ({"adj_indptr": [0, 1, 9, 4, 5, 5]}, "adj_indptr must rise"),
        ({"adj_indptr": [0, 2**63 - 1, -(2**63), -1, 4, 5]}, "adj_indptr must rise"),  # modulo 2⁶⁴ it does
        ({"adj_indices": [1, 0, 1, 2, 9]}, "adj_indices must be columns from 0 to 4"),
        ({"adj_indices": [1.0, 0, 1, 2, 4]}, "adj_indices must be a row of whole numbers. It is an array of float64"),
        ({"adj_data": [1]}, "adj_data must be a number for each of 5 entries"),
        ({"attr_shape": [4, 2]}, "attr_indptr must rise"),
        (parts(X[:4], "attr"), "its features must have a row for each of 5 nodes. They have 4."),
    ],
)
def test_what_is_no_such_graph_is_refused_by_name(file, changes, reason):
    with pytest.raises(StarcertError, match=reason) as caught:
        sc.datasets.npz(file(arrays(**changes)))
    assert "tiny.npz" in str(caught.value)


def test_files_that_are_none_are_refused(file, tmp_path):
    for name, content in (("text.npz", b"hello"), ("empty.npz", b"")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StarcertError, match="is no file of plain arrays"):
            sc.datasets.npz(tmp_path / name)
    np.save(tmp_path / "one.npy", np.zeros(3))
    with pytest.raises(StarcertError, match="it holds a single array"):
        sc.datasets.npz(tmp_path / "one.npy")
    with pytest.raises(StarcertError, match="there is no such file"):
        sc.datasets.npz(tmp_path / "none.npz")
    data = sc.datasets.npz(file(arrays(more=np.array([{}], dtype=object))))
    assert "more is not read: it holds Python objects." in data.said
    for needed in ("labels", "adj_data"):
        with pytest.raises(StarcertError, match=f"{needed} holds Python objects, a pickle"):
            sc.datasets.npz(file(arrays(**{needed: np.array([{}], dtype=object)})))


def packed(path, arrays, *, compression=zipfile.ZIP_DEFLATED, raw=None, **changes):
    """A file as `numpy.savez` would write it, with members that are no arrays, and headers that lie."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, value in (arrays | changes).items():
            content = io.BytesIO()
            np.save(content, value)
            file.writestr(f"{name}.npy", content.getvalue())
        for name, content in (raw or {}).items():
            file.writestr(name, content)
    return path


def damaged(path):
    """A file whose members cannot be inflated."""
    packed(path, arrays())
    data = bytearray(path.read_bytes())
    member = zipfile.ZipFile(path).getinfo("adj_indices.npy")
    at = member.header_offset + 30 + len(member.filename)
    data[at : at + 4] = b"\xff" * 4
    path.write_bytes(data)
    return path


def later_version(path):
    """A file that says that it needs a later version of the format than there is."""
    packed(path, arrays())
    data = path.read_bytes()
    path.write_bytes(data.replace(b"PK\x01\x02\x14\x03\x14\x00", b"PK\x01\x02\x14\x03\xff\x00"))
    return path


def claiming(path):
    """A file with an array that says to have far more numbers than are there."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (10**11,)})
    return packed(path, arrays(labels=None), raw={"labels.npy": header.getvalue()})


HOSTILE = {
    "classes": (lambda path: packed(path, arrays(labels=[0, 10**11, 0, 0, 0])), "labels must be classes below 1,000"),
    "unsigned classes": (
        lambda path: packed(path, arrays(labels=np.array([0, 2**64 - 1, 0, 0, 0], dtype=np.uint64))),
        "labels must be classes below 1,000",
    ),
    "sizes": (
        lambda path: packed(path, arrays(), raw={"more.npy": bytes(2**29)}),
        "it would unpack to 536.9 MB, though it has",
    ),
    "features": (
        lambda path: packed(path, arrays(attr_shape=[5, 2**30])),
        "5 × 1,073,741,824 features are too many for a file of",
    ),
    "a member that is no array": (
        lambda path: packed(path, arrays(), raw={"labels.txt": b"0 1 2"}),
        "labels.txt is no plain array",
    ),
    "damaged": (damaged, "is no file of plain arrays: Error -3 while decompressing"),
    "another compression": (
        lambda path: packed(path, arrays(), compression=zipfile.ZIP_LZMA),
        "must be deflated or stored",
    ),
    "a later version": (later_version, "is no file of plain arrays: zip file version 25.5"),
    "more than is there": (claiming, "labels.npy must be as long as it says"),
}


def test_hostile_files_are_refused_in_one_sentence_and_little_memory(tmp_path):
    for kind, (make, _) in HOSTILE.items():
        make(tmp_path / f"{kind}.npz")
    code = """
for kind in kinds:
    try:
        npz(kind)
        print("read")
    except StarcertError as error:
        print(error)
"""
    imports = "from starcert.datasets import npz\nfrom starcert.system.errors import StarcertError"
    paths = [str(tmp_path / f"{kind}.npz") for kind in HOSTILE]
    done = run_with_memory(2**28, f"kinds = {paths!r}\n{code}", imports=imports)
    assert (done.returncode, done.stderr) == (0, "")
    for path, line, (_, said) in zip(paths, done.stdout.splitlines(), HOSTILE.values(), strict=True):
        assert line.startswith(f"{path}: ")
        assert said in line


def test_the_command_refuses_a_hostile_file_in_one_line(tmp_path):
    claiming(tmp_path / "hostile.npz")
    runs_worlds.project(tmp_path / "project")
    done = command_with_memory(
        2**28, "certify", tmp_path / "project" / "run.toml", "--data", tmp_path / "hostile.npz", "--out", tmp_path / "o"
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(f"Error: {tmp_path / 'hostile.npz'}: ")
    assert "labels.npy must be as long as it says" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not CORA.exists(), reason="Cora-ML is not here")
def test_the_real_one():
    data = sc.datasets.npz(CORA, largest_component=True)
    assert (data.graph.n_nodes, data.graph.n_edges, data.n_classes) == (2810, 7981, 7)
    assert data.graph.node_data["x"].shape == (2810, 2879)
    assert set(np.unique(data.graph.node_data["x"])) == {0, 1}
    assert data.label_names[4].endswith("Neural_Networks")


def test_two_classes_of_one_name_are_refused(file):
    with pytest.raises(StarcertError, match=r"tiny.npz: 'label_names' must be different. Got \"'a' 2 times\""):
        sc.datasets.npz(file(arrays(class_names=np.array(["a", "b", "a"]))))
    with pytest.raises(InvalidParameterError, match="label_names"):
        sc.datasets.Dataset(sc.Graph(2, [(0, 1)]), [0, 1], label_names=("a", "a"))
    with pytest.raises(InvalidParameterError, match=r"'1' 2 times.*merge them"):
        sc.datasets.Dataset([sc.Graph(1, []), sc.Graph(2, [])], [0, 1], label_names=(1, "1"))
