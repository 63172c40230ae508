"""Templates: what they are given is text, and what they are not given is an error."""

import json
import re

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup
from report_worlds import HOSTILE

from starcert.report.blocks import Report
from starcert.report.document import page_of, render, templates
from starcert.system.output import harmless


def page(title, **parts):
    empty = {"statement": [], "numbers": [], "notices": [], "sections": [], "origin": []}
    return page_of(Report(title=title, **{**empty, **parts}))


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_given_is_text(name):
    written = templates().from_string("<p>{{ name }}</p>").render(name=name)
    assert re.sub("</?bdi>", "", written) == f"<p>{Markup.escape(name)}</p>"
    assert ("<bdi>שלום</bdi>" in written) is ("שלום" in name)
    assert templates().from_string("{{ name | text }}").render(name=name) == Markup.escape(name)


@pytest.mark.parametrize(
    "given", ["\x1b[31m", "\a", "\x9b2J", "\u202ereversed", "\u2066isolated", "\b\f", "a\\u001b", "\\\x1b"]
)
def test_control_characters_are_shown_as_their_numbers(given):
    shown = harmless(given)
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown)
    assert templates().from_string("{{ name }}{{ name | text }}").render(name=given) == 2 * str(Markup.escape(shown))
    written = page(given, data={given: [given]})
    (data,) = re.findall(r'<script type="application/json" id="data">(.*)</script>', written)
    assert json.loads(data) == {shown: [shown], "plots": {}}


@pytest.mark.parametrize("given", ["a\tb", "a\nb", "👩\u200d🔬", "می\u200cخواهم", "größer ≥ 日本語"])
def test_white_space_and_scripts_stay_as_they_are(given):
    assert harmless(given) == given


def test_a_name_that_nobody_gave_is_an_error():
    with pytest.raises(UndefinedError, match="'title' is undefined"):
        render("report/templates/study_frame.html", {})
