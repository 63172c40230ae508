"""The page of a sweep, as a file and in a real browser."""

import shlex
from dataclasses import replace

import pytest
from browsing import open_page, texts
from report_worlds import HOSTILE
from sweep_worlds import invented

from starcert.report.document import write_page
from starcert.runs.grid import noise_text
from starcert.runs.sweep_report import OTHER, next_command, notices, sweep_report

TWO = "motif=0.02,0.05,0.1,random=0.2,0.45"


@pytest.fixture
def shown(quiet, tmp_path):
    """Writes the page of a sweep and opens it."""

    def show(sweep):
        write_page(tmp_path / "sweep.html", sweep_report(sweep))
        open_page(quiet, (tmp_path / "sweep.html").as_uri())
        return quiet

    return show


def test_the_suggested_level_has_its_command(shown):
    sweep = invented(TWO)
    browser = shown(sweep)
    (command,) = (text for text in texts(browser, "#next p") if "starcert certify" in text)
    noise = noise_text(sweep.levels[sweep.suggested].noise)
    assert shlex.split(command)[:2] == ["starcert", "certify"]
    assert shlex.split(command)[3:] == ["--noise", noise, "--split", "test", "--out", "certified"]
    assert [int(text) - 1 for text in texts(browser, "#level-table tbody td:first-child")] == sweep.order


def test_graphs_that_the_sweep_has_seen_are_in_no_command():
    divided = invented(TWO)
    run = divided.settings.run.changed(split="all")
    undivided = replace(divided, settings=replace(divided.settings, run=run))
    assert shlex.split(next_command(divided, 0, "run.toml"))[-4:-2] == ["--split", "test"]
    assert shlex.split(next_command(undivided, 0, "run.toml"))[-4:-2] == ["--data", OTHER]
    (text,) = [notice.text for notice in notices(undivided) if "other graphs" in notice.head]
    assert OTHER in text


def test_what_is_suggested_certifies_something():
    def suggested(changes):
        return invented(
            TWO, changes={number: {"n_right": 40 - number, **changes.get(number, {})} for number in range(6)}
        )

    nothing = {"mean_radii": (0.0, 0.0)}
    sweep = suggested({0: {"n_right": 60, **nothing}, 1: {"n_right": 59}, 2: {"n_right": 58}})
    assert sweep.worthwhile[:2] == [0, 1]
    assert sweep.suggested == 1
    assert suggested(dict.fromkeys(range(6), nothing)).suggested is None


def test_hostile_names_are_text(shown):
    grid = "<b>x=0.1,0.2,%{y}<i>=0.3,0.4"
    sweep = invented(grid, classes=(HOSTILE[1], HOSTILE[0]), anchored=(HOSTILE[1],))
    browser = shown(sweep)
    assert texts(browser, "img, iframe") == []
    assert browser.execute_script("return document.scripts.length") == 3
    assert texts(browser, "#number-majority bdi") == [HOSTILE[1]]
    assert "<b>x=0.1,%{y}<i>=0.3" in texts(browser, "#level-table td:nth-child(2)")
    assert any(HOSTILE[1] in text for text in texts(browser, ".notice p"))


def test_warnings():
    def heads(**told):
        return [notice.head for notice in notices(invented(TWO, **told))]

    bias = "A level that is chosen here must be certified on other graphs"
    good = {number: {"n_right": 50} for number in range(6)}
    assert heads(changes=good) == [bias]
    assert heads(changes={**good, 3: {"n_right": 30}}) == ["No better than a constant answer: 1 of 6 levels", bias]
    poor = {number: {"n_right": 30} for number in range(6)}
    assert heads(changes=poor)[0] == "No level is better than a constant answer"
    short = {**good, 0: {"n_right": 50, "short": {"motif": 450}}}
    assert heads(changes=short, anchored=("From edges.",)) == [
        bias,
        "Too few votes for a single flip: motif",
        "Anchored regions",
    ]
    (text,) = [
        notice.text
        for notice in notices(invented(TWO, changes={n: {"short": {"motif": 450, "random": None}} for n in (0, 1)}))
        if notice.head == "Too few votes for a single flip: motif, random"
    ]
    assert "At some of them no number of votes could. Where votes could, 450 would do" in text
    few = {number: {"n_right": 9, "n_graphs": 10, "n_majority": 5} for number in range(6)}
    assert heads(changes=few)[-1] == "Only 10 graphs"
