"""The study of intervals for log P, with few molecules and votes: what is learnt, compared and reported."""

import numpy as np
import pytest
import study_worlds as worlds

pytest.importorskip("matplotlib")
pytest.importorskip("torch_geometric")
pytest.importorskip("rdkit")

from starcert_studies.kinds import regression

TINY = regression.Regression(400, 60, 2, 60, 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return worlds.tiny_run(TINY, tmp_path_factory.mktemp("regression"))


def test_molecules_are_different_and_in_one_part_each():
    every = regression.molecules()
    assert len(set(every.smiles)) == len(every.graphs) > 2_600
    assert regression.OUTPUTS.low < every.log_p.min() < every.log_p.max() < regression.OUTPUTS.high
    parts = regression.splits(regression.Regression())
    assert [len(part.smiles) for part in parts] == [2_000, 500, 100]
    assert len({smiles for part in parts for smiles in part.smiles}) == 2_600


def test_every_interval_is_reported_beside_the_truth(folder):
    rows = worlds.table(folder, "molecules")
    assert len(rows) == 2
    for row in rows:
        ends = {name: (float(row[f"{name}_low"]), float(row[f"{name}_high"])) for name in regression.INTERVALS}
        assert ends["certified"][0] <= ends["clean"][0] < ends["clean"][1] <= ends["certified"][1]
        assert ends["by_radius"][0] <= ends["clean"][0] < ends["clean"][1] <= ends["by_radius"][1]
        assert ends["brute"][0] <= float(row["estimate"]) <= ends["brute"][1]
        assert float(row["brute_error"]) > 0
    widths = {row["interval"]: float(row["mean_width"]) for row in worlds.table(folder, "intervals")}
    low, high = (np.array([float(row[f"certified_{end}"]) for row in rows]) for end in ("low", "high"))
    assert widths["by weighing"] == pytest.approx((high - low).mean())
    assert [row["predictor"] for row in worlds.table(folder, "errors")] == ["smoothed", "constant", "atoms"]


def test_an_attack_changes_one_bond():
    """A bond of one of four types is broken or changes its type: four attacks for each bond."""
    graph = regression.molecules().graphs[0]
    result = regression.smoothed_network(TINY).certify([graph], samples=50, seed=1, threat=regression.THREAT)
    assert sum(result.proof.asked[0].counts) == 4 * len(graph.edges)
