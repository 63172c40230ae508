"""Graphs of the study of what certificates are worth: what is tested, what single graphs come to, and the table."""

from dataclasses import asdict

import numpy as np
import pytest

import starcert as sc

pytest.importorskip("torch_geometric")
pytest.importorskip("sklearn")

from starcert_studies import graph_outcomes as outcomes
from starcert_studies import worth_methods as worth

TINY = worth.GraphRows(
    data=("motif",), folds=1, held=4, samples=300, own_samples=100, choosing_samples=100, max_attacks=200,
    drawn_epochs=2, hidden=4, drawn=16, drawn_graphs=4,
)  # fmt: skip
METHODS = ["p_A", "evidence", "fallback", "one-way", "one-way, for 10", "plain", "blind"]


@pytest.fixture(scope="module")
def rows():
    return [row for part in TINY.parts() for row in part.function(*part.arguments)]


def test_every_method_answers_the_same_graphs(rows):
    assert [row["method"] for row in rows] == METHODS
    graphs = [[(one["name"], one["truth"]) for one in row["graphs"]] for row in rows]
    assert all(each == graphs[0] for each in graphs)
    assert len(graphs[0]) == 4
    for row in rows:
        assert len(row["tries"]) == (1 if row["method"] == "blind" else 3)
        assert row["alpha"] == (0 if row["method"] in ("plain", "blind") else 0.01)
        for one in row["graphs"]:
            certified = one["certified"]
            assert min(certified["delete"], certified["add"]) >= certified["flips"]
            assert one["broken"] is None or one["broken"] > certified["flips"]


def test_a_part_gives_the_same_rows_again(rows):
    again = worth.judge_group(TINY, "motif", 0, "one-way")
    worth.cut_of.cache_clear()
    times = dict.fromkeys(("train_seconds", "seconds"), 0)
    assert [row | times for row in again] == [row | times for row in rows[3:5]]


def test_parts_have_names_of_their_own_and_quick_ones_are_fewer():
    full, quick = worth.GraphRows().parts(), worth.GraphRows.quick(seed=2).parts()
    assert len({part.name for part in full}) == len(full) == 4 * (10 + 4 * 3)
    assert full[0].name == "graphs-NCI1-0-two-way"
    assert len(quick) == 8
    assert quick[0].arguments[0].seed == 2


def test_molecules_are_numbered_as_in_the_data_and_tested_only():
    pytest.importorskip("grakel")  # brings MUTAG along
    setting = worth.GraphRows(graphs=7, max_nodes=20)
    every, cut = sc.datasets.tu("MUTAG"), worth.cut_of(setting, "MUTAG", 3)
    assert len(cut.numbers) == 7
    for number, graph, label in zip(cut.numbers, cut.tested.graphs, cut.tested.labels, strict=True):
        assert (every.graphs[number].key, every.labels[number]) == (graph.key, label)
    small = [graph for graph in every.graphs if graph.n_nodes <= 20]
    untested = {id(graph) for part in (cut.taught, cut.held) for graph in part.graphs}
    assert len(untested) == len(cut.taught) + len(cut.held) == len(small) - len(small) // 10 - (len(small) % 10 > 3)
    assert untested.isdisjoint(map(id, cut.tested.graphs))


def row(method, fold, found):
    graphs = [
        {"name": number, "truth": 1, "answer": answer, "broken": broken,
         "certified": {"flips": flips, "delete": flips, "add": flips}}
        for number, (answer, flips, broken) in enumerate(found)
    ]  # fmt: skip
    times = {"train_seconds": 1.0, "seconds": 2.0}
    return {
        "data": "D",
        "fold": fold,
        "method": method,
        "tries": {"a": 1, "b": 0},
        "chosen": "a",
        "graphs": graphs,
    } | times


def test_table_counts_what_is_right_and_certified_of_all_folds():
    blind = [row("blind", fold, [(fold, -1, None)] * 20) for fold in (0, 1)]
    found = [(1, 3, None), (None, 0, None), (0, 9, None), (1, 0, 1)] * 5
    other = [row("p_A", fold, found) for fold in (1, 0)]  # rows may come in any order
    first, second = worth.table(blind + other)
    assert [first[f"certified_{n}"] for n in outcomes.SIZES] == [first["right"]] * 5 == [0.5] * 5
    assert (first["gain_certified_1"], first["open_1"], first["graphs"], first["folds"]) == (0, 0, 40, 2)
    assert (second["right"], second["certified_1"], second["certified_3"], second["certified_5"]) == (
        0.5,
        0.25,
        0.25,
        0,
    )
    assert (second["open_1"], second["blind"], second["majority"], second["seconds"]) == (0.25, 0.5, 1, 4)
    # 5 graphs of fold 0 are gained, 15 of fold 1 are lost
    assert second["gain_certified_1"] == -0.25
    assert second["gain_certified_1_low"] < -0.25 < second["gain_certified_1_high"]
    (alone,) = worth.table(other[:1])
    assert "blind" not in alone
    (plain,) = worth.table([row("plain", 0, found)])
    assert (plain["certified_2"], plain["certified_3"]) == (0.25, None)


def test_settings_are_json():
    assert np.all([isinstance(value, int | tuple | dict) for value in asdict(worth.GraphRows()).values()])
