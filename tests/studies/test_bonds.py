"""The study of types of bonds, with little training and few votes: what each network sees, and what is counted."""

import numpy as np
import pytest
import study_worlds as worlds

pytest.importorskip("matplotlib")
pytest.importorskip("torch_geometric")
pytest.importorskip("grakel")  # brings MUTAG along

from starcert_studies.kinds import bonds

NOISE = (0.4, 0.05, 0.3)
TINY = bonds.Bonds(60, 2, 2, (NOISE,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return worlds.tiny_run(TINY, tmp_path_factory.mktemp("bonds"))


def test_settings_of_the_command_line():
    worlds.check_settings(bonds.Bonds, quick=(500, 20, 2, bonds.NOISES[-1:]))
    assert list(TINY.trials()) == [("gine", NOISE), ("gin", NOISE), ("gine_atoms", NOISE)]
    assert len(bonds.Bonds().trials()) == 7


def test_each_network_has_its_molecules_and_its_axes():
    axes = {model: bonds.noise_of(model, NOISE).axes for model in bonds.MODELS}
    three = ("bonds.delete", "bonds.add", "bonds.change")
    assert axes == {"gine": three, "gin": three[:2], "gine_atoms": (*three, "atoms")}
    typed, plain, atoms = (bonds.molecules(model) for model in bonds.MODELS)
    assert typed.labels.tolist() == plain.labels.tolist() == atoms.labels.tolist()
    assert [len(data.graphs[0].type_names) for data in (typed, plain, atoms)] == [4, 0, 4]
    assert [list(data.graphs[0].node_sites) for data in (typed, plain, atoms)] == [[], [], ["x"]]
    for one, other in zip(typed.graphs, plain.graphs, strict=True):
        assert one.edges.tolist() == other.edges.tolist()


def test_every_molecule_is_tested_once_by_a_network_that_did_not_see_it(folder):
    data = bonds.molecules("gine")
    for model in bonds.MODELS:
        parts = [worlds.part(folder, f"{model}-0.4-0.05-0.3-{k}") for k in range(2)]
        for fold, part in enumerate(parts):
            taught, test = data.folds(10, seed=1)[fold]
            assert part["numbers"] == test.tolist()
            assert not set(part["numbers"]) & set(taught.tolist())
            assert [sum(row) for row in part["estimation"]] == [60] * len(test)
        assert not set(parts[0]["numbers"]) & set(parts[1]["numbers"])


def test_the_tables_have_a_row_for_each_network_and_radius(folder):
    networks = worlds.table(folder, "networks")
    assert [row["model"] for row in networks] == ["gine", "gin", "gine_atoms"]
    for row in networks:
        assert (row["noise"], row["molecules"]) == ("0.4/0.05/0.3", "38")
        assert float(row["majority"]) == pytest.approx(125 / 188)
    share = {(row["model"], row["radius"]): float(row["certified"]) for row in worlds.table(folder, "radii")}
    assert {radius for model, radius in share if "atoms" in radius and model != "gine_atoms"} == set()
    assert len(share) == 11 + 11 + 16
    for model in bonds.MODELS:
        smoothed = float(next(row for row in networks if row["model"] == model)["smoothed"])
        assert smoothed >= share[model, "1 delete"] >= share[model, "2 delete"] >= share[model, "4 delete"]
        assert share[model, "1 delete"] >= share[model, "1 delete, 1 add"]


def test_the_folder_has_what_the_page_shows(folder):
    kept = worlds.results(folder)
    assert list((folder / "figures").iterdir()) == []
    assert [check["holds"] for check in kept["checks"]] == [None, None, None, True]
    assert "GIN, no types, noise 0.4/0.05/0.3: right on" in kept["summary"][1]


def voted(model, answers, labels, wins=99_900, numbers=None):
    numbers = np.arange(len(labels)) if numbers is None else numbers
    more = {"clean": answers, "fold": np.arange(len(labels)) // 20, "numbers": numbers}
    return worlds.voted(bonds.noise_of(model, NOISE), labels, answers, wins, **more)


def test_changes_of_type_cost_nothing_where_no_type_is_seen():
    labels = np.arange(100) % 2

    found = {model: bonds.certified(model, voted(model, labels, labels)) for model in bonds.MODELS}
    assert found["gin"]["4 change"] == 1 > found["gine"]["4 add"]
    assert not {"1 atoms", "1 delete, 1 atoms"} & {*found["gin"], *found["gine"]}
    assert found["gine_atoms"]["1 delete, 1 atoms"] == 1


def test_claims_fail_where_they_are_not_so():
    labels = np.repeat([0, 1], [70, 30])

    def checked(answers, wins=99_900):
        return worlds.claims(bonds.Bonds(), {("gine", NOISE): voted("gine", answers, labels, wins)})

    assert checked(labels) == [True, True]
    assert checked(np.zeros(100, dtype=int)) == [False, True]
    assert checked(labels, wins=50_001) == [False, True]  # it abstains


def test_molecules_that_are_tested_twice_or_by_one_network_only_are_noticed():
    labels = np.arange(100) % 2
    usual, twice, others = (
        voted("gine", labels, labels, numbers=numbers)
        for numbers in (np.arange(100), np.arange(100) // 2, np.arange(100) + 1)
    )
    for some, holds in (([usual, usual], True), ([usual, twice], False), ([twice], False), ([usual, others], False)):
        found = dict(zip([("gine", NOISE), ("gine", bonds.NOISES[0])], some, strict=False))
        assert worlds.claims(bonds.Bonds(), found)[-1] is holds
