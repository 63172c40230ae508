"""What a sweep finds the best level for: how a goal is read, what each graph adds, ties, and what is said of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from browsing import open_page, texts
from sweep_worlds import invented

import starcert as sc
from starcert.certificates.paired import paired_difference
from starcert.pages.compared_runs import mean_interval
from starcert.runs.grid import ACCURACY, Goal
from starcert.runs.sweep_levels import marks_of, outcome_of, standings
from starcert.runs.sweep_result import advice, tie_sentence, write_sweep_page
from starcert.runs.sweep_table import sweep_rows
from starcert.system.errors import InvalidParameterError, StarcertError

NOISE = sc.Noise(motif=0.05, random=0.3)
TWO = "motif=0.02,0.05,0.1,random=0.2,0.45"
SIZES = [(5, 9), (5, 9), (0, 9), (5, 9), (5, 9)]
TRUTH = [0, 0, 0, 1, 0]


def certified(noise=NOISE):
    """Five graphs: sure, less sure, without a motif, wrong, and one that abstains."""
    counts = [[4990, 10], [4700, 300], [4990, 10], [4990, 10], [2500, 2500]]
    bounds = sc.clopper_pearson(sc.Votes(counts, [[98, 2]] * 5))
    found = sc.certify(bounds, noise, capacity=SIZES)
    return found, outcome_of(found, TRUTH, [0] * 5, SIZES)


@pytest.mark.parametrize(
    "text", ["accuracy", "accuracy@motif=1,random=10", "accuracy@random=2", "accuracy@flips:2", "flips", "flips@motif"]
)
def test_a_goal_is_read_as_it_is_written(text):
    assert str(Goal.parse(text, NOISE)) == text
    assert Goal.parse(f" {text.replace(',', ' , ')} ", NOISE) == Goal.parse(text, NOISE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flps", "'best' must be accuracy or flips"),
        ("", "There are accuracy, accuracy@motif=1, accuracy@flips:2, flips, flips@motif."),
        ("flips@", "'best' must be accuracy or flips"),
        (
            "flips@hub",
            "'best' must name axes of the noise: motif, random. Got 'flips@hub' instead. There is no axis hub.",
        ),
        ("accuracy@hub=1", "'best' must name axes of the noise: motif, random."),
        ("accuracy@2", "'best' must say against how many flips on which axes"),
        ("accuracy@motif=few", "'best motif' must be a whole number"),
        ("accuracy@motif=-1", "'best[motif]' must be a whole number"),
        ("accuracy@motif=3", "'best' must stay within the threat, motif=2, random=9."),
    ],
)
def test_bad_goals_get_one_message(text, said):
    with pytest.raises(InvalidParameterError) as caught:
        Goal.parse(text, NOISE, sc.threats.Box((2, 9)))
    assert said in str(caught.value)


def test_marks_are_what_the_certificates_say_of_right_answers():
    found, outcome = certified()
    assert marks_of(ACCURACY, found, outcome) == (1, 1, 1, 0, 0)
    at = {"motif": 1, "random": 1}
    marks = marks_of(Goal.parse("accuracy@motif=1,random=1", NOISE), found, outcome)
    assert marks == (float(found[0].certified(at)), float(found[1].certified(at)), None, 0, 0)
    assert marks[0] > marks[1]
    alone = marks_of(Goal.parse("flips@motif", NOISE), found, outcome)
    assert alone == (max(radius[0] for radius in found[0].frontier.radii), outcome.reach[1, 0], None, 0, 0)
    anywhere = marks_of(Goal.parse("flips", NOISE), found, outcome)
    assert anywhere == (found[0].any_flips, found[1].any_flips, found[2].any_flips, 0, 0)
    assert anywhere[0] >= 1


def test_a_goal_on_axes_that_no_graph_has_is_refused():
    found, outcome = certified()
    none = replace(outcome, capacities=np.array([(0, 9)] * 5))
    with pytest.raises(StarcertError, match="best = flips@motif: no graph has sites on all of these axes"):
        marks_of(Goal.parse("flips@motif", NOISE), found, none)


def test_levels_are_compared_graph_by_graph():
    rng = np.random.default_rng(0)
    first, second = rng.random(50) < 0.9, rng.random(50) < 0.4
    rows = [tuple(map(float, first)), tuple(map(float, second))]
    best, other = standings(ACCURACY, rows, 0)
    assert (other.by, other.least, other.most) == paired_difference(first, second)
    assert (best.by, best.tie, other.tie) == (0, True, False)
    flips = [tuple(rng.poisson(mean, 50).astype(float)) for mean in (3.0, 3.1, 1.0)]
    found = standings(Goal("flips"), flips, 0)
    apart = np.subtract(flips[2], flips[0])
    assert (found[2].by, found[2].least, found[2].most) == mean_interval(apart)
    assert [each.tie for each in found] == [True, True, False]


def test_student_s_interval_covers_the_mean_and_a_single_graph_tells_nothing():
    rng = np.random.default_rng(2)
    missed = sum(not low <= 3 <= high for _, low, high in (mean_interval(rng.poisson(3, 30) * 1.0) for _ in range(400)))
    assert 5 <= missed <= 40
    assert mean_interval(np.array([2.0])) == (2.0, -math.inf, math.inf)


def with_goal(text, marks):
    sweep = invented(TWO, changes={number: {"n_right": 50} for number in range(6)})
    goal = Goal.parse(text, sweep.levels[0].noise)
    return replace(sweep, settings=replace(sweep.settings, goal=goal), marks=tuple(map(tuple, marks)))


def test_the_best_has_most_of_the_goal_and_ties_are_named():
    rng = np.random.default_rng(4)
    means = (1.0, 4.0, 4.1, 1.5, 2.0, 0.5)
    sweep = with_goal("flips@random", [rng.poisson(mean, 60).astype(float) for mean in means])
    assert sweep.suggested in (1, 2)
    assert sweep.ties == [3 - sweep.suggested]
    said = tie_sentence(sweep)
    assert said.startswith(f"Level {sweep.suggested + 1}, by mean certified flips in random alone: ")
    assert f"cannot tell it from level {4 - sweep.suggested}. They differ from it by −" in said
    assert advice(sweep) == "Next, for the best level by mean certified flips in random alone:"
    rows = list(sweep_rows(sweep))
    assert [row["best"] for row in rows].index(True) == sweep.suggested
    assert [n for n, row in enumerate(rows) if row["tie_with_best"]] == [1, 2]
    assert rows[0]["flips@random_low"] < rows[0]["flips@random"] < rows[0]["flips@random_high"]
    assert rows[0]["accuracy_low"] < rows[0]["accuracy"] < rows[0]["accuracy_high"]


def test_a_goal_that_no_level_reaches_suggests_none_and_constants_are_no_choice():
    nothing = with_goal("accuracy@motif=9", np.zeros((6, 60)))
    assert nothing.suggested is None
    assert "has any accuracy certified against 9 flips in motif. Next: other levels" in advice(nothing)
    assert tie_sentence(nothing) == ""
    marks = np.ones((6, 60))
    sweep = with_goal("accuracy@motif=1", marks)
    constant = replace(sweep.levels[sweep.suggested], n_right=30)
    levels = [constant if n == sweep.suggested else level for n, level in enumerate(sweep.levels)]
    again = replace(sweep, levels=tuple(levels))
    assert again.suggested not in (None, sweep.suggested)
    assert sweep.suggested not in again.ties


def test_a_clear_winner_is_said_to_be_one():
    marks = np.zeros((6, 60))
    marks[4] = 1
    sweep = with_goal("accuracy@motif=1", marks)
    assert sweep.suggested == 4
    assert tie_sentence(sweep).endswith(
        "(95% interval 94%–100%). All others have clearly less, or are no better than a constant answer."
    )


def test_the_page_says_best_and_tie_and_is_named_by_the_data(quiet, tmp_path):
    rng = np.random.default_rng(4)
    sweep = with_goal("accuracy@motif=1", rng.random((6, 60)) < np.array([0.9, 0.88, 0.2, 0.3, 0.2, 0.1])[:, None])
    write_sweep_page(tmp_path / "sweep.html", sweep)
    open_page(quiet, (tmp_path / "sweep.html").as_uri())
    assert texts(quiet, "h1") == ["Choosing the noise: MUTAG"]
    assert quiet.execute_script("return document.title") == "Choosing the noise: MUTAG"
    assert texts(quiet, "#tie") == [tie_sentence(sweep)]
    heads = texts(quiet, "#level-table thead th")
    place = heads.index("less the best")
    assert heads[place - 1] == "accuracy @ motif=1"
    cells = {n: texts(quiet, f"#level-table tr[data-level='{n}'] td:nth-child({place + 1})")[0] for n in range(6)}
    assert cells[sweep.suggested] == "best"
    assert {n for n, text in cells.items() if text.endswith(", tie")} == set(sweep.ties) == {1 - sweep.suggested}
    assert texts(quiet, "#chosen-heading")[0].startswith(f"Level {sweep.suggested + 1}: ")
    assert "; the best; " in texts(quiet, "#chosen-text")[0]
    drawn = (
        "const [chosen, plot] = ['measure', 'measure-plot'].map((id) => document.getElementById(id));"
        "return [chosen.selectedOptions[0].textContent, plot.data[0].z.flat()]"
    )
    name, shares = quiet.execute_script(drawn)
    assert name == "accuracy certified against 1 flip in motif"
    assert sorted(shares) == pytest.approx(sorted(each.value for each in sweep.standings))


def test_accuracy_under_any_flips_counts_graphs_with_that_many_sites():
    found, outcome = certified()
    for most in (1, 2, 10, 14):
        goal = Goal.parse(f"accuracy@flips:{most}", NOISE)
        marks = marks_of(goal, found, outcome)
        for mark, one, truth in zip(marks, found, TRUTH, strict=True):
            right = one.label == truth and not one.abstained
            expected = float(right and one.any_flips >= most) if sum(one.capacity) >= most else None
            assert mark == expected
    assert goal.description == "accuracy certified against any 14 flips"
    with pytest.raises(StarcertError, match=r"best = accuracy@flips:15: no graph has such an attack"):
        marks_of(Goal.parse("accuracy@flips:15", NOISE), found, outcome)
    with pytest.raises(InvalidParameterError, match="'best' must be written flips:NUMBER"):
        Goal.parse("accuracy@flips:none", NOISE)
