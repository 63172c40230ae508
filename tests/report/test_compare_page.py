"""Runs on the same graphs compared: shares, paired intervals, the graphs where they differ, the page, the command."""

import json

import numpy as np
import pytest

from browsing import open_page, texts
from report_worlds import DELETE_ADD, HOSTILE, TWO, random_counts, world
from starcert import archive as archives
from starcert.archive import Archive
from starcert.errors import InvalidParameterError
from starcert.metrics import shares_by_axis
from starcert.report.compare_page import compare, write_comparison
from starcert.report.intervals import paired_difference

LABELS = [0, 1, None, 1, 0, 0]
NAMES = HOSTILE[:6]


def pair(labels=LABELS):
    """Two runs on six graphs, the second with other votes."""
    told = {"labels": labels, "names": NAMES, "class_names": ["<i>no", "yes"]}
    return {
        "a": world(TWO, random_counts(6, 2, seed=3), **told)[0],
        HOSTILE[0]: world(TWO, random_counts(6, 2, seed=4), **told)[0],
    }


@pytest.mark.parametrize("labels", [LABELS, None])
def test_curves_and_differences_are_those_of_the_metrics(labels):
    runs = pair(labels)
    found = compare(runs)
    assert (found.known, found.n_graphs) == ((True, 5) if labels else (False, 6))
    for curve in found.curves:
        each = runs[curve["run"]]
        shares = shares_by_axis(each.certificates, each.labels if labels else None, flips=curve["x"])
        assert curve["y"] == list(next(one.shares for one in shares if one.axis == curve["axis"]))
    first, second = runs.values()
    for each in found.differences:
        n, _, axis = ("0", "", "core") if each.flips == "no flip" else each.flips.split()
        (own, other) = (
            next(
                one.shares[0]
                for one in shares_by_axis(run.certificates, run.labels if labels else None, flips=[int(n)])
                if one.axis == axis
            )
            for run in (second, first)
        )
        assert each.share == pytest.approx(own)
        assert each.by == pytest.approx(own - other)
        assert each.low <= each.by <= each.high


def test_rows_are_the_graphs_on_which_runs_differ():
    runs = pair()
    found = compare(runs)
    first, second = runs.values()

    def told(run, row):
        one = run.certificates[row]
        reach = [
            str(max(radius[axis] for radius in one.frontier.radii)) if one.frontier.radii else "–" for axis in (0, 1)
        ]
        return ["abstains" if one.abstained else run.class_names[one.label], *reach]

    expected = {
        NAMES[row]: told(first, row) + told(second, row) for row in range(6) if told(first, row) != told(second, row)
    }
    assert {row[0]: list(row[2:]) for row in found.rows} == expected
    assert len(expected) > 0
    assert compare({"a": first, "b": first}).rows == ()


def test_the_interval_covers_the_true_difference():
    """The guarantee itself: at the promised level, over samples of graphs on which the runs agree more or less."""
    rng = np.random.default_rng(1)
    n, missed, tries = 40, 0, 300
    for _ in range(tries):
        before = rng.random(n) < 0.6
        after = np.where(rng.random(n) < 0.3, rng.random(n) < 0.9, before)  # P = 0.7·0.6 + 0.3·0.9
        _, low, high = paired_difference(before, after)
        missed += not low <= 0.69 - 0.6 <= high
    assert missed <= 0.05 * tries
    assert paired_difference(np.zeros(9, bool), np.ones(9, bool))[0] == 1


def test_runs_with_other_axes_are_compared_without_flips():
    first = world(TWO, random_counts(6, 2, seed=3), labels=LABELS)[0]
    second = world(DELETE_ADD, random_counts(6, 2, seed=3), labels=LABELS)[0]
    found = compare({"a": first, "b": second})
    assert [each.flips for each in found.differences] == ["no flip"]
    assert {curve["axis"] for curve in found.curves} == {*TWO.axes, *DELETE_ADD.axes}


def test_other_graphs_are_refused():
    runs = pair()
    other = world(TWO, random_counts(6, 2, seed=4), labels=LABELS)[0]
    with pytest.raises(
        InvalidParameterError, match=r"'b' must be about the same graphs and classes as a. Got 'other n"
    ):
        compare({"a": runs["a"], "b": other})
    with pytest.raises(InvalidParameterError, match=r"'runs' must be two or more. Got 1"):
        compare({"a": runs["a"]})


def test_the_page_shows_it_and_names_are_text(quiet, tmp_path):
    runs = pair()
    found = write_comparison(tmp_path / "compare.html", runs)
    open_page(quiet, (tmp_path / "compare.html").as_uri())
    assert texts(quiet, "img, iframe") == []
    assert texts(quiet, "h1") == [f"Compared: a, {HOSTILE[0]}"]
    assert texts(quiet, "#compare-plot .legendtext") == [f"{run}: {axis}" for run in runs for axis in TWO.axes]
    assert len(texts(quiet, "#difference-table tbody tr")) == len(found.differences)
    assert texts(quiet, "#different-table tbody tr td:first-child") == [row[0] for row in found.rows]
    assert texts(quiet, "#number-different dd") == [str(len(found.rows))]


def test_the_command_writes_the_page_and_says_the_differences(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 3), ("b", 4)):
        (tmp_path / name).mkdir()
        made = world(TWO, random_counts(6, 2, seed=seed), labels=LABELS)[0]
        archives.write(tmp_path / name / "certificates.json", made)
    status, out, _ = here("compare", "a", "b", "--out", "page.html")
    assert status == 0
    assert "Compared with a" in out
    assert "Comparison: page.html" in out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    told = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert told["runs"] == ["a", "b"]
    status, _, said = here("compare", "a", "nowhere")
    assert status == 2
    assert "nowhere: no finished run is there." in said
    assert isinstance(archives.read(tmp_path / "a" / "certificates.json"), Archive)
