"""The study of types of bonds, with little training and few votes: what the network sees, and what is counted."""

import numpy as np
import pytest
import study_worlds as worlds

pytest.importorskip("matplotlib")
pytest.importorskip("torch_geometric")
pytest.importorskip("grakel")  # brings MUTAG along

from starcert_studies.kinds import bonds

TINY = bonds.Bonds(60, 2, 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return worlds.tiny_run(TINY, tmp_path_factory.mktemp("bonds"))


def test_settings_of_the_command_line():
    worlds.check_settings(bonds.Bonds, quick=(500, 20, 2))
    assert bonds.NOISE.axes == ("bonds.delete", "bonds.add", "bonds.change", "atoms")
    assert list(bonds.molecules().graphs[0].node_sites) == ["x"]


def test_every_molecule_is_tested_once_by_a_network_that_did_not_see_it(folder):
    parts = [worlds.part(folder, f"fold-{k}") for k in range(2)]
    for fold, part in enumerate(parts):
        taught, test = bonds.molecules().folds(10, seed=1)[fold]
        assert part["numbers"] == test.tolist()
        assert not set(part["numbers"]) & set(taught.tolist())
        assert [sum(row) for row in part["estimation"]] == [60] * len(test)
    assert not set(parts[0]["numbers"]) & set(parts[1]["numbers"])


def test_the_folder_has_what_the_page_shows(folder):
    share = {row["radius"]: float(row["certified"]) for row in worlds.table(folder, "radii")}
    assert list(share) == list(bonds.RADII)
    assert share["1 change"] >= share["2 change"]
    assert share["1 atom"] >= share["1 delete, 1 atom"]
    kept = worlds.results(folder)
    assert [check["holds"] for check in kept["checks"]] == [None, True]
    assert "a constant answer on 66.5%" in kept["summary"][0]


@pytest.mark.parametrize(
    ("answers", "wins", "numbers", "holds"),
    [
        (np.repeat([0, 1], [70, 30]), 99_900, np.arange(100), [True, True]),
        (np.zeros(100, dtype=int), 99_900, np.arange(100), [False, True]),
        (np.repeat([0, 1], [70, 30]), 50_001, np.arange(100), [False, True]),  # it abstains
        (np.repeat([0, 1], [70, 30]), 99_900, np.arange(100) // 2, [True, False]),  # some are tested twice
    ],
)
def test_claims_fail_where_they_are_not_so(answers, wins, numbers, holds):
    labels = np.repeat([0, 1], [70, 30])
    more = {"clean": answers, "fold": np.arange(100) // 20, "numbers": numbers}
    voted = worlds.voted(bonds.NOISE, labels, answers, wins, **more)
    assert worlds.claims(bonds.Bonds(), {"gine": voted}) == holds
