"""The page of a sweep, as a file and in a real browser."""

import shlex
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from browsing import open_page, texts
from report_worlds import HOSTILE
from sweep_worlds import invented

from starcert.report.document import write_page
from starcert.runs.grid import noise_text
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


def test_maps_of_two_factors_show_the_measures(shown):
    sweep = invented(TWO, changes={0: {"n_right": 10}})
    browser = shown(sweep)
    found = browser.execute_script(
        "return [...document.querySelectorAll('#maps table')]"
        ".map((each) => [each.querySelector('th').textContent, [...each.querySelectorAll('.shade')]"
        ".map((cell) => cell.textContent)])"
    )
    maps = {head.removesuffix(": motif ↓  random →"): cells for head, cells in found}
    assert list(maps) == ["accuracy", "mean certified radius, motif", "mean certified radius, random"]
    for name, shown_as in (
        ("accuracy", lambda level: f"{level.accuracy:.0%}"),
        ("mean certified radius, random", lambda level: f"{level.mean_radii[1]:.2f}"),
    ):
        assert [text.split()[0] for text in maps[name]] == [shown_as(level) for level in sweep.levels]
        assert [text.endswith("★") for text in maps[name]] == [number in sweep.worthwhile for number in range(6)]
        assert maps[name][0].endswith("✗")


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
    assert sweep.worthwhile[:2] == (0, 1)
    assert sweep.suggested == 1
    assert suggested(dict.fromkeys(range(6), nothing)).suggested is None


@pytest.mark.parametrize("grid", ["all=0.1", "a=0.1,0.2", "a=0.1,0.2,b=0.1,0.2,c=0.3,0.4"])
def test_only_two_factors_have_maps(shown, grid):
    browser = shown(invented(grid, changes={0: {"n_right": 50}}))
    assert texts(browser, "#maps") == []
    assert texts(browser, "#level-table tbody tr")


def test_hostile_names_are_text(shown):
    grid = "<b>x=0.1,0.2,%{y}<i>=0.3,0.4"
    sweep = invented(grid, classes=(HOSTILE[1], HOSTILE[0]), anchored=(HOSTILE[1],))
    browser = shown(sweep)
    assert texts(browser, "img, iframe") == []
    assert browser.execute_script("return document.scripts.length") == 3
    assert texts(browser, "#number-majority bdi") == [HOSTILE[1]]
    assert texts(browser, "#maps th")[0] == "accuracy: <b>x ↓  %{y}<i> →"
    assert "<b>x=0.1,%{y}<i>=0.3" in texts(browser, "#level-table td:nth-child(2)")
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
    for _, attributes in page.elements:
        assert not {"src", "srcset", "action", "poster"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")
    (policy,) = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


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
