import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from starcert.datasets import tu
from starcert.system.errors import InvalidParameterError, StarcertError

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "TU"

TINY = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "1\n2\n"}


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """No folder of the user is looked at or written to."""
    monkeypatch.delenv("STARCERT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def download(monkeypatch):
    """A stand-in for the network: what it is given happens when PyG downloads."""
    datasets = pytest.importorskip("torch_geometric.datasets")
    return lambda act: monkeypatch.setattr(datasets.TUDataset, "download", act)


def write(folder):
    folder.mkdir(parents=True)
    for kind, text in TINY.items():
        (folder / f"TINY_{kind}.txt").write_text(text)


def test_mutag_comes_with_grakel():
    pytest.importorskip("grakel")
    data = tu("MUTAG")
    assert (data.name, len(data), data.n_classes, data.label_names) == ("MUTAG", 188, 2, (-1, 1))
    assert np.bincount(data.labels).tolist() == [63, 125]
    assert data.majority_share == 125 / 188
    assert round(np.mean([graph.n_nodes for graph in data.graphs]), 2) == 17.93
    assert {int(label) for graph in data.graphs for label in graph.node_data["label"]} == set(range(7))
    for graph in data.graphs:
        assert graph.node_data["x"].shape == (graph.n_nodes, 7)
        np.testing.assert_array_equal(graph.node_data["x"].argmax(axis=1), graph.node_data["label"])
        np.testing.assert_array_equal(graph.node_data["x"].sum(axis=1), 1)
    assert [np.bincount(part.labels).tolist() for part in data.split(seed=0)] == [[50, 100], [6, 13], [7, 12]]


@pytest.mark.skipif(not SHARED.is_dir(), reason="PROTEINS is not on this machine")
def test_proteins_from_a_folder():
    data = tu("PROTEINS", root=SHARED)
    assert (len(data), data.label_names) == (1113, (1, 2))
    assert np.bincount(data.labels).tolist() == [663, 450]
    assert round(np.mean([graph.n_nodes for graph in data.graphs]), 2) == 39.06
    assert round(np.mean([graph.n_edges for graph in data.graphs]), 2) == 72.82
    assert data.graphs[0].node_data["x"].shape == (42, 3)
    assert data.graphs[0].node_data["attributes"].shape == (42, 1)


@pytest.mark.parametrize("below", [".", "TINY", "TINY/raw"])
def test_a_folder_may_have_three_layouts(tmp_path, monkeypatch, below):
    write(tmp_path / "data" / below)
    data = tu("TINY", root=str(tmp_path / "data"))
    assert [graph.n_nodes for graph in data.graphs] == [2, 1]
    monkeypatch.setenv("STARCERT_DATA", str(tmp_path / "data"))
    assert tu("TINY").graphs == data.graphs


@pytest.mark.parametrize("below", [".", "raw", "data", "data/raw"])
def test_the_folder_itself_will_do(tmp_path, monkeypatch, below):
    write(tmp_path / "data" / below)
    monkeypatch.chdir(tmp_path)
    wanted = tu("TINY", root=tmp_path / "data" / below)
    for folder in (tmp_path / "data", str(tmp_path / "data"), "./data", Path("data")):
        assert tu(folder).graphs == wanted.graphs
        assert tu(folder).name == "TINY"
    with pytest.raises(StarcertError, match="'name' must be the folder of a TU data set, or its name"):
        tu(tmp_path)


def test_a_folder_without_the_data_is_no_reason_to_look_elsewhere(tmp_path):
    with pytest.raises(StarcertError, match=r"There is no MUTAG_A.txt in .*nor in MUTAG/raw or MUTAG below it"):
        tu("MUTAG", root=tmp_path)


def test_given_folders_come_before_the_copy_of_grakel(tmp_path, monkeypatch):
    write(tmp_path / "data")
    for file in (tmp_path / "data").iterdir():
        file.rename(file.with_name(file.name.replace("TINY", "MUTAG")))
    assert len(tu("MUTAG", root=tmp_path / "data")) == 2
    monkeypatch.setenv("STARCERT_DATA", str(tmp_path / "data"))
    assert len(tu("MUTAG")) == 2


def test_what_pyg_downloads_is_cached(tmp_path, download):
    calls = []

    def fetch(dataset):
        calls.append(dataset.name)
        shutil.rmtree(dataset.raw_dir, ignore_errors=True)
        write(Path(dataset.raw_dir))

    download(fetch)
    first, again = tu("TINY"), tu("TINY")
    assert calls == ["TINY"]
    assert first.graphs == again.graphs
    cache = tmp_path / "cache" / "starcert" / "TU"
    assert [path.name for path in cache.iterdir()] == ["TINY"]
    assert (cache / "TINY" / "raw" / "TINY_A.txt").is_file()


def test_an_interrupted_download_is_no_copy(tmp_path, download):
    def fetch(dataset):
        write(Path(dataset.raw_dir) / "half")
        shutil.copy(Path(dataset.raw_dir) / "half" / "TINY_A.txt", dataset.raw_dir)
        raise TimeoutError("the line went dead")

    download(fetch)
    for _ in range(2):
        with pytest.raises(StarcertError, match="TimeoutError: the line went dead"):
            tu("TINY")
    assert not list((tmp_path / "cache" / "starcert" / "TU").iterdir())


@pytest.mark.parametrize("reason", [ConnectionError("no route"), FileNotFoundError("404: TINY.zip")])
def test_offline_the_message_says_what_was_tried_and_how_to_go_on(download, reason):
    def fetch(dataset):
        raise reason

    download(fetch)
    with pytest.raises(StarcertError) as error:
        tu("TINY")
    message = str(error.value)
    assert message.startswith("The TU data set TINY is nowhere to be had. Tried: STARCERT_DATA (not set); the cache (")
    assert f"a download with PyTorch Geometric (which failed: {type(reason).__name__}: {reason})" in message
    assert "case-sensitive" in message
    assert message.endswith("tu('TINY', root=folder).")


def test_without_pyg_the_message_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch_geometric.datasets", None)
    monkeypatch.setenv("STARCERT_DATA", str(tmp_path))
    with pytest.raises(StarcertError, match=r"not installed. Try: pip install 'starcert\[torch\]'") as error:
        tu("TINY")
    assert f"STARCERT_DATA ({tmp_path})" in str(error.value)


def test_without_grakel_mutag_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_geometric.datasets", None)
    # The function of the same name stands in the package where its module would.
    monkeypatch.setattr(sys.modules["starcert.datasets.tu_files"], "find_spec", lambda name: None)
    with pytest.raises(StarcertError, match=r"the copy in GraKeL \(pip install grakel\)"):
        tu("MUTAG")


def test_local_copies_are_read_without_torch_or_grakel_being_imported(tmp_path):
    write(tmp_path / "data")
    script = (
        "import sys; from starcert.datasets import tu; tu('TINY', root=sys.argv[1])\n"
        "loaded = {'torch', 'torch_geometric', 'grakel', 'sklearn', 'networkx'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "data")], check=True)


@pytest.mark.parametrize("name", ["", "../MUTAG", "a/b", ".", None, 3, "MU TAG"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(InvalidParameterError, match="'name' must be the name of a TU data set"):
        tu(name)
