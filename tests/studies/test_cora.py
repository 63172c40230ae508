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
    networks, radii = (worlds.table(papers / "out", name) for name in ("networks", "radii"))
    assert [row["noisy"] for row in networks] == ["words", "links", "both"]
    assert all(float(row["smoothed"]) > 0.6 > float(row["constant"]) for row in networks)
    ratios = {(row["noisy"], row["radius"]): float(row["certified"]) for row in radii}
    assert ratios["words", "(0, 0)"] > ratios["words", "(3, 0)"] >= ratios["words", "(6, 0)"]
    shares = [ratios["both", str(radius)] for radius in study.RADII["both"]]
    assert shares[0] >= shares[1] >= shares[2]  # each radius is within the next
    assert all(float(row["right_and_certified"]) <= float(row["certified"]) for row in radii)


def test_without_the_file_it_is_said_where_to_get_it(monkeypatch, tmp_path):
    for value in ("", str(tmp_path)):
        monkeypatch.setenv("STARCERT_DATA", value)
        with pytest.raises(StarcertError, match=r"file cora_ml.npz .*environment variable STARCERT_DATA"):
            study.nodes_of("Cora-ML")
