"""Templates: what they are given is text, and what they are not given is an error."""

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup
from report_worlds import HOSTILE

from starcert.pages.document import KeyFigure, assemble, render, templates


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_given_is_text(name):
    assert templates().from_string("<p>{{ name }}</p>").render(name=name) == f"<p>{Markup.escape(name)}</p>"


def test_the_common_frame():
    said = {"numbers": [KeyFigure("1 > 0", "<u>", "number-x", "")], "notices": [], "origin": [{"<b>": []}]}
    frame = "pages/templates/page.html"
    page = assemble(frame, said, title="a & b", scripts=["charts.js"], data={"x": "</script>"})
    assert '<div class="number" id="number-x"><dt>&lt;u&gt; (<bdi></bdi>)</dt><dd>1 &gt; 0</dd></div>' in page
    assert page.count("a &amp; b") == 2
    assert "<h3>&lt;b&gt;</h3><p>Nothing was recorded.</p>" in page
    assert "\nconst Charts = (() => {" in page
    assert "#slider-box > label {" in page
    assert '<script>"use strict";\n// Plots as SVG' in page
    assert '{"x":"\\u003c/script\\u003e"}' in page


def test_a_name_that_nobody_gave_is_an_error():
    with pytest.raises(UndefinedError, match="'title' is undefined"):
        render("pages/templates/study_frame.html", {})
