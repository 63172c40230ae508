"""Templates: what they are given is text, and what they are not given is an error."""

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from report_worlds import HOSTILE
from starcert.report.document import assemble, render

FRAME = '{% extends "page.html" %}{% block sections %}<p>{{ told }}</p>{% endblock %}'


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_given_is_text(name):
    assert render("<p>{{ name }}</p>", {"name": name}) == f"<p>{Markup.escape(name)}</p>"


def test_a_page_of_its_own_in_the_common_frame():
    said = {"numbers": [], "notices": [], "origin": [{"<b>": []}], "told": "<i>"}
    page = assemble(
        FRAME, said, title="a & b", style="p > q {}", script="1 < 2", data={"x": "</script>"}, plotly="3 && 4"
    )
    assert "<p>&lt;i&gt;</p>" in page
    assert page.count("a &amp; b") == 2
    assert "<h3>&lt;b&gt;</h3><p>Nothing was recorded.</p>" in page
    assert "<script>1 < 2</script>" in page
    assert "<script>3 && 4</script>" in page
    assert "p > q {}" in page
    assert '{"x":"\\u003c/script\\u003e"}' in page


def test_a_name_that_nobody_gave_is_an_error():
    with pytest.raises(UndefinedError, match="'told' is undefined"):
        render("{{ told }}", {})
