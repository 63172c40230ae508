"""How notebooks show certificates and their parts; and the example notebook, run."""

import ast
import json
from pathlib import Path
from xml.etree import ElementTree

from report_worlds import HOSTILE, ONE, TWO, weighed, world

import starcert as sc
from starcert.math.frontier import Frontier

NOTEBOOK = Path(__file__).parent.parent / "examples" / "first_certificate.ipynb"
HOSTILE_NAME = HOSTILE[0]


def shown(value):
    """The elements that a notebook shows, parsed: the markup must be well-formed."""
    return ElementTree.fromstring(f"<div>{value._repr_html_()}</div>")


def cells_of(value):
    return [["".join(cell.itertext()) for cell in row] for row in shown(value).iter("tr")]


def test_a_noise_is_a_row_for_each_region():
    noise = sc.Noise({"core": 0.05, "<b>": sc.Flip(delete=0.1, add=0.2)})
    head, core, other = cells_of(noise)
    assert head == ["region", "noise", "axes"]
    assert (core[0], core[2]) == ("core", "core")
    assert (other[0], other[2]) == ("<b>", "<b>.delete, <b>.add")
    assert core[1] == noise["core"].describe()


def test_a_certificate_is_its_sentence_and_its_radii():
    archive, _ = world(TWO, [[4990, 10], [2510, 2490]])
    sure, abstains = archive.certificates
    assert "".join(next(shown(sure).iter("p")).itertext()) == str(sure)
    head, row = cells_of(sure)
    assert head == ["class", "p_lower", "certified (core, rest)"]
    assert row[0] == "0"
    assert 0 <= sure.p_lower - float(row[1]) < 1e-6
    assert row[2] == ", ".join(map(str, sure.frontier.radii))
    assert cells_of(abstains)[1][::2] == ["abstains", "none"]


def test_certificates_are_a_table_of_the_first():
    archive, _ = world(ONE, [[990, 10]] * 15)
    rows = cells_of(archive.certificates)
    assert rows[0] == ["graph", "class", "p_lower", "certified (bonds)"]
    assert [row[0] for row in rows[1:]] == [str(number) for number in range(12)]
    assert "15 graphs" in archive.certificates._repr_html_()
    assert "the first 12" in archive.certificates._repr_html_()


def test_what_evidence_breaks_is_shown():
    made, _ = weighed()
    rows = cells_of(made)
    assert rows[0][-1] == "broken"
    assert [row[-1] for row in rows[1:]] == [", ".join(map(str, one.broken)) or "–" for one in made]


def test_a_frontier_is_a_row_for_each_radius():
    assert cells_of(Frontier(((0, 3), (1, 1)), (), verified=True)) == [["axis 1", "axis 2"], ["0", "3"], ["1", "1"]]
    assert "Nothing is certified" in Frontier((), ((0,),), verified=True)._repr_html_()
    long = Frontier(tuple((k, 20 - k) for k in range(20)), (), verified=True)
    assert len(cells_of(long)) == 13
    assert "the first 12 of 20" in long._repr_html_()


def test_the_notebook_runs_and_every_result_shows_itself():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    space, seen = {}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []  # the notebook is stored without outputs
        *body, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(body, []), str(NOTEBOOK), "exec"), space)
        seen.append(eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), space))
    for value in seen[1:-1]:  # all but the graph
        shown(value)
    kinds = [sc.Graph, sc.Noise, sc.Certificates, sc.Certificate, Frontier]
    assert [type(value) for value in seen[:-1]] == kinds
    assert seen[-1][0] == 1.0
    assert space["certificates"][0].certified((1, 0))
