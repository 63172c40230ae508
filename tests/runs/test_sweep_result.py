"""The page of a sweep, as a file and in a real browser."""

import json
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from browsing import open_page, set_value, texts
from report_worlds import HOSTILE
from sweep_worlds import invented

from starcert.report.document import write_page
from starcert.runs.sweep_report import sweep_report
from starcert.runs.sweep_result import OTHER, next_command, notices

TWO = "motif=0.02,0.05,0.1,random=0.2,0.45"


@pytest.fixture
def shown(quiet, tmp_path):
    """Writes the page of a sweep and opens it."""

    def show(sweep):
        write_page(tmp_path / "sweep.html", sweep_report(sweep))
        open_page(quiet, (tmp_path / "sweep.html").as_uri())
        return quiet

    return show


def plot(browser, name):
    """What is drawn: for each trace its name, coordinates, values and texts; and the words of the legend and axes."""
    script = """
        const plot = document.getElementById(arguments[0]);
        const list = (values) => values && [...values].map((each) => (Array.isArray(each) ? [...each] : each));
        const traces = plot.data.map((t) => ({
            name: t.name, x: list(t.x), y: list(t.y), z: list(t.z), text: list(t.text),
            ticks: t.colorbar && t.colorbar.ticktext
        }));
        const annotations = (plot.layout.annotations || []).map((each) => each.text);
        return { traces, words: plot.textContent, annotations };
    """
    return browser.execute_script(script, name)


def test_maps_of_two_factors_show_the_measures(shown):
    sweep = invented(TWO, changes={0: {"n_right": 10}})
    browser = shown(sweep)
    grid = [[sweep.levels[2 * i + j] for j in range(2)] for i in range(3)]
    accuracy = plot(browser, "accuracy-plot")
    assert accuracy["traces"][0]["z"] == [[level.accuracy for level in row] for row in grid]
    assert any("majority" in tick and "50.0%" in tick for tick in accuracy["traces"][0]["ticks"])
    for option, of in ((0, lambda x: x.mean_radii[0]), (1, lambda x: x.mean_radii[1])):
        set_value(browser, "#measure", str(option), "change")
        drawn = plot(browser, "measure-plot")
        assert drawn["traces"][0]["z"] == [[of(level) for level in row] for row in grid]
        assert "majority-class share 50.0%" in drawn["words"]
        assert drawn["annotations"][0].endswith("✗")
    marked = [text.endswith("★") for text in accuracy["annotations"]]
    assert marked == [number in sweep.worthwhile for number in range(6)]


def test_of_three_factors_two_are_drawn_and_one_is_held(shown):
    sweep = invented("a=0.1,0.2,b=0.1,0.2,0.3,c=0.3,0.4,d=0.05")
    browser = shown(sweep)
    assert len(texts(browser, "#map-controls select")) == 3

    def drawn():
        return plot(browser, "accuracy-plot")["traces"][0]["z"]

    def level(i, j, k):
        return sweep.levels[(i * 3 + j) * 2 + k].accuracy

    assert drawn() == [[level(i, j, 0) for j in range(3)] for i in range(2)]
    set_value(browser, "#map-controls [data-held='2']", "1", "change")
    assert drawn() == [[level(i, j, 1) for j in range(3)] for i in range(2)]
    set_value(browser, "#map-controls [data-role=up]", "2", "change")
    assert drawn() == [[level(0, j, k) for j in range(3)] for k in range(2)]
    set_value(browser, "#map-controls [data-role=across]", "2", "change")  # they change places
    assert drawn() == [[level(0, j, k) for k in range(2)] for j in range(3)]


def test_a_chosen_level_has_its_command(shown):
    sweep = invented(TWO)
    browser = shown(sweep)
    assert f"Level {sweep.suggested + 1}: " in texts(browser, "#chosen-heading")[0]
    for number, noise in ((0, "motif=0.02,random=0.2"), (5, "motif=0.1,random=0.45")):
        browser.execute_script("document.querySelector(`tr[data-level='${arguments[0]}'] button`).click()", number)
        assert texts(browser, "#chosen-heading") == [f"Level {number + 1}: {noise}"]
        words = ["starcert", "certify", "my sweep/run.toml", "--noise", noise, "--split", "test", "--out", "certified"]
        assert shlex.split(texts(browser, "#command")[0]) == words
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
    assert sweep.worthwhile[:2] == (0, 1)
    assert sweep.suggested == 1
    assert suggested(dict.fromkeys(range(6), nothing)).suggested is None


def test_one_level_has_no_grid(shown):
    browser = shown(invented("all=0.1", changes={0: {"n_right": 50}}))
    assert texts(browser, "#measure option") == ["mean certified radius, all"]
    assert browser.execute_script("return getComputedStyle(document.getElementById('maps')).display") == "none"


def test_hostile_names_are_text(shown):
    grid = "<b>x=0.1,0.2,%{y}<i>=0.3,0.4"
    sweep = invented(grid, classes=(HOSTILE[1], HOSTILE[0]), anchored=(HOSTILE[1],))
    browser = shown(sweep)
    assert texts(browser, "img, iframe") == []
    assert browser.execute_script("return document.scripts.length") == 3
    assert texts(browser, "#number-majority bdi") == [HOSTILE[1]]
    assert texts(browser, "#accuracy-plot .ytitle") == ["noise in <b>x"]
    assert "<b>x=0.1,%{y}<i>=0.3" in texts(browser, "#level-table .name")
    assert any(HOSTILE[1] in text for text in texts(browser, ".notice p"))


class Page(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.scripts = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.cdata_elem == "script":
            self.scripts[-1] += data


def test_the_page_loads_nothing_and_runs_its_own_scripts_only(tmp_path):
    write_page(tmp_path / "sweep.html", sweep_report(invented(TWO, classes=HOSTILE[:2])))
    page = Page((tmp_path / "sweep.html").read_text(encoding="utf-8"))
    assert len(page.scripts) == 3
    assert not set("<>&") & set(page.scripts[0])
    assert len(json.loads(page.scripts[0])["levels"]) == 6
    for _, attributes in page.elements:
        assert not {"src", "srcset", "action", "poster"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")
    (policy,) = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    for each in files("starcert.report").iterdir():
        if each.name.startswith("sweep") and each.name.endswith((".js", ".css")):
            own = each.read_text(encoding="utf-8")
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|fetch\(|url\(|https?:", own
            )


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
    assert "certified in motif at levels 1, 2 (450 votes could); random at levels 1, 2 (none ever could)." in text
    few = {number: {"n_right": 9, "n_graphs": 10, "n_majority": 5} for number in range(6)}
    assert heads(changes=few)[-1] == "Only 10 graphs"
