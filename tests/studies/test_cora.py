"""The study of nodes, the whole of it on a small graph in Cora-ML's layout."""

import importlib

import pytest
import study_worlds as worlds

from starcert.benchmark.data import nodes_of
from starcert.system.errors import StarcertError
from starcert_studies import reproduce

pytest.importorskip("matplotlib")
pytest.importorskip("torch_geometric")

study = importlib.import_module("starcert_studies.kinds.cora")


@pytest.fixture(autouse=True)
def forgotten():
    """Whichever file was read is read anew."""
    nodes_of.cache_clear()
    yield
    nodes_of.cache_clear()


@pytest.fixture
def papers(tmp_path, monkeypatch):
    worlds.write_papers(tmp_path / "cora_ml.npz", of_a_field=50, links=(0.08, 0.005))
    monkeypatch.setenv("STARCERT_DATA", str(tmp_path))
    return tmp_path


def test_the_whole_study_on_a_small_graph(papers):
    reproduce("cora", papers / "out", quick=True, samples=400, progress=False)
    assert (papers / "out" / "index.html").exists()
    results = worlds.results(papers / "out")
    assert {check["holds"] for check in results["checks"]} == {None}  # too few votes to decide
    tables = {name: worlds.table(papers / "out", name) for name in ("networks", "words", "links", "both")}
    assert [row["noisy"] for row in tables["networks"]] == ["words", "links", "both"]
    assert all(float(row["smoothed"]) > 0.6 > float(row["constant"]) for row in tables["networks"])
    ratios = {(int(row["deleted"]), int(row["added"])): float(row["certified"]) for row in tables["words"]}
    assert ratios[0, 0] > ratios[1, 0] > ratios[3, 0]
    for row in tables["both"]:
        assert float(row["right_and_certified"]) <= float(row["certified"])
    shares = [float(row["certified"]) for row in tables["both"]]
    assert shares[0] >= shares[1] >= shares[3] >= shares[4]  # each radius is within the next


def test_without_the_file_it_is_said_where_to_get_it(monkeypatch, tmp_path):
    for value in ("", str(tmp_path)):
        monkeypatch.setenv("STARCERT_DATA", value)
        with pytest.raises(StarcertError, match=r"file cora_ml.npz .*environment variable STARCERT_DATA"):
            study.nodes_of("Cora-ML")
