"""Which level a sweep finds the best, with a threat and without: what graphs add, ties, and words."""

from dataclasses import replace

import numpy as np
import pytest
from browsing import open_page, texts
from sweep_worlds import invented

import starcert as sc
from starcert.claims.gains import paired_difference, share_interval
from starcert.report.document import write_page
from starcert.runs.sweep_levels import measure_level, standings
from starcert.runs.sweep_report import advice, sweep_report, sweep_rows, tie_sentence
from starcert.system.errors import StarcertError

NOISE = sc.Noise(motif=0.05, random=0.3)
TWO = "motif=0.02,0.05,0.1,random=0.2,0.45"
SIZES = [(5, 9), (5, 9), (0, 9), (5, 9), (5, 9)]
TRUTH = [0, 0, 0, 1, 0]


def certified(sizes=SIZES):
    """Five graphs: sure, less sure, without a motif, wrong, and one that abstains."""
    counts = [[4990, 10], [4700, 300], [4990, 10], [4990, 10], [2500, 2500]]
    bounds = sc.clopper_pearson(sc.Votes(counts, [[98, 2]] * 5))
    return sc.certify(bounds, NOISE, capacity=sizes)


def marks_of(threat, sizes=SIZES):
    return measure_level(certified(sizes), TRUTH, [0] * 5, sizes, threat=threat).marks


def test_without_a_threat_right_answers_count():
    assert marks_of(None) == (1, 1, 1, 0, 0)


@pytest.mark.parametrize("most", [1, 2, 10, 14])
def test_at_most_so_many_flips_count_on_every_graph_with_sites(most):
    sizes = [*SIZES[:-1], (0, 0)]
    for mark, one, truth in zip(marks_of(sc.threats.AnyFlips(most), sizes), certified(sizes), TRUTH, strict=True):
        right = one.label == truth and not one.abstained
        expected = float(right and one.any_flips >= min(most, sum(one.capacity))) if sum(one.capacity) else None
        assert mark == expected


@pytest.mark.parametrize("box", [(1, 1), (1, 0), (2, 9), (0, 0)])
@pytest.mark.parametrize("flips", [None, 1, 2])
def test_a_box_counts_where_all_of_it_is_certified(box, flips):
    threat = sc.threats.Box(box) if flips is None else sc.threats.Box(box) & sc.threats.AnyFlips(flips)
    inside = [(i, j) for i in range(box[0] + 1) for j in range(box[1] + 1) if flips is None or i + j <= flips]
    for mark, one, truth in zip(marks_of(threat), certified(), TRUTH, strict=True):
        right = one.label == truth and all(one.certified(radius) for radius in inside)
        attacked = not any(box) or any(n and size for n, size in zip(box, one.capacity, strict=True))
        assert mark == (float(right) if attacked else None)


@pytest.mark.parametrize(("threat", "sizes"), [(sc.threats.AnyFlips(15), (0, 0)), (sc.threats.Box((1, 0)), (0, 9))])
def test_a_threat_that_no_graph_is_open_to_is_refused(threat, sizes):
    with pytest.raises(StarcertError, match="No graph can be attacked under the threat"):
        marks_of(threat, [sizes] * 5)


def test_levels_are_compared_graph_by_graph():
    rng = np.random.default_rng(0)
    first, second = rng.random(50) < 0.9, rng.random(50) < 0.4
    best, other = standings([(*map(float, first), None), (*map(float, second), None)], 0)
    assert (other.by, other.least, other.most) == paired_difference(first, second)
    assert (other.value, other.low, other.high) == (second.mean(), *share_interval(int(second.sum()), 50))
    assert (best.by, best.tie, other.tie) == (0, True, False)


def under_threat(marks, threat=None):
    rows = enumerate(map(tuple, marks))
    sweep = invented(TWO, changes={number: {"n_right": 50, "marks": each} for number, each in rows})
    run = sweep.settings.run.changed(threat=threat or sc.threats.Box({"motif": 1, "random": 0}))
    return replace(sweep, settings=replace(sweep.settings, run=run))


GOAL = "accuracy certified against at most 1 in motif, 0 in random"


def test_the_best_has_most_and_ties_are_named():
    rng = np.random.default_rng(4)
    sweep = under_threat(rng.random((6, 60)) < np.array([0.1, 0.88, 0.9, 0.3, 0.2, 0.1])[:, None])
    assert sweep.suggested in (1, 2)
    assert sweep.ties == [3 - sweep.suggested]
    said = tie_sentence(sweep)
    assert said.startswith(f"Level {sweep.suggested + 1}, by {GOAL}: ")
    assert f"cannot tell it from level {4 - sweep.suggested}. They differ from it by " in said
    assert advice(sweep) == f"Next, for the best level by {GOAL}:"
    rows, name = list(sweep_rows(sweep)), "accuracy@box:motif=1,random=0"
    assert [row["best"] for row in rows].index(True) == sweep.suggested
    assert [n for n, row in enumerate(rows) if row["tie_with_best"]] == [1, 2]
    assert rows[0][f"{name}_low"] < rows[0][name] < rows[0][f"{name}_high"]
    assert rows[0]["accuracy_low"] < rows[0]["accuracy"] < rows[0]["accuracy_high"]


def test_a_threat_that_no_level_withstands_suggests_none_and_constants_are_no_choice():
    nothing = under_threat(np.zeros((6, 60)))
    assert (nothing.suggested, tie_sentence(nothing)) == (None, "")
    assert f"has any {GOAL}. Next: other levels" in advice(nothing)
    sweep = under_threat(np.ones((6, 60)))
    constant = replace(sweep.levels[sweep.suggested], n_right=30)
    again = replace(
        sweep, levels=tuple(constant if n == sweep.suggested else each for n, each in enumerate(sweep.levels))
    )
    assert again.suggested not in (None, sweep.suggested)
    assert sweep.suggested not in again.ties


def test_a_clear_winner_is_said_to_be_one():
    marks = np.zeros((6, 60))
    marks[4] = 1
    sweep = under_threat(marks)
    assert sweep.suggested == 4
    assert tie_sentence(sweep).endswith(
        "(95% interval 94%–100%). All others have clearly less, or are no better than a constant answer."
    )


def test_the_page_says_best_and_tie_and_is_named_by_the_data(quiet, tmp_path):
    rng = np.random.default_rng(4)
    sweep = under_threat(rng.random((6, 60)) < np.array([0.9, 0.88, 0.2, 0.3, 0.2, 0.1])[:, None])
    write_page(tmp_path / "sweep.html", sweep_report(sweep))
    open_page(quiet, (tmp_path / "sweep.html").as_uri())
    assert texts(quiet, "h1") == ["Choosing the noise: MUTAG"]
    assert texts(quiet, "#next p")[0] == tie_sentence(sweep)
    heads = texts(quiet, "#level-table thead th")
    place = heads.index("less the best")
    assert heads[place - 1] == "certified, at most 1 in motif, 0 in random"
    cells = dict(zip(sweep.order, texts(quiet, f"#level-table td:nth-child({place + 1})"), strict=True))
    assert cells[sweep.suggested] == "best"
    assert {n for n, text in cells.items() if text.endswith(", tie")} == set(sweep.ties) == {1 - sweep.suggested}
