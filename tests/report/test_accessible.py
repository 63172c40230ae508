"""A report can be used by keyboard and by screen reader: headings, names, table headers, pictures, focus, contrast."""

import pytest
from accessibility import keyboard_problems, problems
from browsing import open_page
from report_worlds import weighed

from starcert.archive import Archive
from starcert.report import write_report


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report with evidence, a found attack and a warning."""
    certificates, sites = weighed()
    path = tmp_path_factory.mktemp("accessible") / "report.html"
    write_report(path, Archive.from_result(certificates, labels=[1, 0, 0]), sites)
    return path.as_uri()


def test_a_screen_reader_finds_headings_names_and_table_headers(quiet, page):
    open_page(quiet, page)
    assert quiet.find_elements("css selector", ".notice h2")
    assert problems(quiet) == []


def test_the_tab_key_reaches_every_control_and_shows_where_it_is(quiet, page):
    open_page(quiet, page)
    assert keyboard_problems(quiet) == []
    assert quiet.execute_script("return window.reached.length") > 15
    assert quiet.execute_script("return window.reached[0].className") == "skip", (
        "first of all one can skip to the table"
    )


@pytest.mark.parametrize(
    ("breaks", "complaint"),
    [
        ("document.documentElement.removeAttribute('lang')", "no language"),
        ("document.querySelector('main').insertAdjacentHTML('afterbegin', '<h4>Deep</h4>')", "skips a level"),
        ("document.getElementById('surface-heading').textContent = ''", "empty heading"),
        ("document.querySelector('#verdict-table th').removeAttribute('scope')", "without scope"),
        ("document.getElementById('curves-plot').removeAttribute('aria-label')", "picture without words"),
        ("document.getElementById('curves-plot').setAttribute('role', 'img')", "control inside a picture"),
        (
            "document.querySelector('label:has(#filter)').replaceWith(document.getElementById('filter'))",
            "control without a name",
        ),
        ("document.querySelector('.caption').style.color = '#bbb'", "contrast of 1.9"),
    ],
)
def test_the_check_itself_complains(quiet, page, breaks, complaint):
    open_page(quiet, page)
    quiet.execute_script(breaks)
    assert any(complaint in each for each in problems(quiet)), problems(quiet)


def test_the_check_of_the_keyboard_complains(quiet, page):
    open_page(quiet, page)
    quiet.execute_script(
        "document.getElementById('search').style.outline = 'none';"
        "document.getElementById('filter').setAttribute('tabindex', '-1')"
    )
    found = keyboard_problems(quiet)
    assert any("no visible focus" in each and 'id="search"' in each for each in found)
    assert any("not reached" in each and 'id="filter"' in each for each in found)
