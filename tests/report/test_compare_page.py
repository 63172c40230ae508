"""Runs on the same graphs compared: shares, paired intervals, the graphs where they differ, the page, the command."""

import json
from dataclasses import replace

import numpy as np
import pytest
from browsing import open_page, texts
from report_worlds import DELETE_ADD, HOSTILE, STARS, TWO, random_counts, weighed, world

import starcert as sc
from starcert import archive as archives
from starcert.archive import Archive
from starcert.claims.gains import paired_difference
from starcert.claims.metrics import right
from starcert.objects.binding import bind_all
from starcert.objects.threats import AnyFlips
from starcert.report.comparison import compare
from starcert.report.comparison_report import comparison_notices, write_comparison
from starcert.report.findings import verdict_cells
from starcert.system.errors import InvalidParameterError

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
    for panel, line in ((each, line) for each in found.panels for line in each.lines):
        each = runs[line.name]
        on_axis = each.certificates.by_axis(max(line.x))[panel.x_title.removeprefix("flips in ")]
        counts = [on_axis.counts_at(n, each.labels if labels else None) for n in line.x]
        assert line.y == [one.share(one.n_certified) for one in counts]
    first, second = runs.values()
    anywhere = [each for each in found.differences if each.flips.startswith("any ")]
    assert [each.flips for each in anywhere] == ["any 1 flip", "any 2 flips"]
    for flips, each in enumerate(anywhere, start=1):
        own, other = (
            np.array([one.any_flips >= flips for one in run.certificates])
            & (right(run.certificates, LABELS) if labels else True)
            for run in (second, first)
        )
        among = np.array([label is not None for label in LABELS]) if labels else np.ones(6, bool)
        assert each.share == own[among].mean()
        assert (each.by, each.low, each.high) == paired_difference(other[among], own[among])
    for each in (each for each in found.differences if each not in anywhere):
        n, _, axis = ("0", "", "core") if each.flips == "no flip" else each.flips.split()
        counts = (
            run.certificates.by_axis(int(n))[axis].counts_at(int(n), run.labels if labels else None)
            for run in (second, first)
        )
        own, other = (one.share(one.n_certified) for one in counts)
        assert each.share == pytest.approx(own)
        assert each.by == pytest.approx(own - other)
        assert each.low <= each.by <= each.high


def test_certified_broken_and_open_of_each_run_are_those_of_the_metrics(tmp_path):
    made, _ = weighed(STARS)
    told = {"labels": [1, 0, 0], "names": NAMES[:3]}
    runs = {"evidence": Archive.from_result(made, **told), "p_A": Archive.from_result(made.by_p_A, **told)}
    for threat, most in ((None, 2), ("flips:3", 3)):
        found = compare(runs, threat=threat)
        expected = [
            (name, row)
            for rows in zip(
                *(
                    [(name, row) for row in each.certificates.counts([1, 0, 0], threat=AnyFlips(most))]
                    for name, each in runs.items()
                ),
                strict=True,
            )
            for name, row in rows
        ]
        assert [(run, row) for run, row, _ in found.verdicts] == [(name, row) for name, row in expected]
        assert [row.label for _, row, _ in found.verdicts][::2] == ["any 1 flip", "any 2 flips", "any 3 flips"][:most]
        assert any(row.n_broken for _, row, _ in found.verdicts)
    weighed_cells, plain_cells = (verdict_cells(row, has_evidence) for _, row, has_evidence in found.verdicts[:2])
    assert (plain_cells["certified with evidence"], plain_cells["broken"]) == ("–", "–")
    assert weighed_cells["broken"] == str(found.verdicts[0][1].n_broken)
    page = tmp_path / "compare.html"
    write_comparison(page, runs)
    assert "certified with evidence" in page.read_text(encoding="utf-8")


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
    assert compare({"a": first, "b": first}).rows == []


def test_runs_with_other_axes_are_compared_without_flips():
    first = world(TWO, random_counts(6, 2, seed=3), labels=LABELS)[0]
    second = world(DELETE_ADD, random_counts(6, 2, seed=3), labels=LABELS)[0]
    found = compare({"a": first, "b": second})
    assert [each.flips for each in found.differences] == ["no flip"]
    assert {panel.x_title for panel in found.panels} == {f"flips in {axis}" for axis in (*TWO.axes, *DELETE_ADD.axes)}


def test_other_graphs_are_refused():
    runs = pair()
    other = world(TWO, random_counts(6, 2, seed=4), labels=LABELS)[0]
    with pytest.raises(InvalidParameterError) as caught:
        compare({"a": runs["a"], "b": other})
    assert "'b' must be about the same graphs and classes as a. Got 'other names' instead. " in str(caught.value)
    assert f"No graph's name is in both: here is for example {other.names[0]}, there {NAMES[0]}." in str(caught.value)
    with pytest.raises(InvalidParameterError, match=r"'runs' must be two or more. Got 1"):
        compare({"a": runs["a"]})


def test_the_page_shows_it_and_names_are_text(quiet, tmp_path):
    runs = pair()
    found = write_comparison(tmp_path / "compare.html", runs)
    open_page(quiet, (tmp_path / "compare.html").as_uri())
    assert texts(quiet, "img, iframe") == []
    assert texts(quiet, "h1") == [f"Compared: a, {HOSTILE[0]}"]
    assert texts(quiet, "#compare-plot .legendtext") == [run for _ in TWO.axes for run in runs]
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
    assert "Differences" in out
    assert "Comparison: page.html" in out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    told = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert {line["name"] for panel in told["plots"]["compare-plot"]["panels"] for line in panel["lines"]} == {"a", "b"}
    status, out, _ = here("compare", "a", "b", "--out", "page.html", "--json")
    values = json.loads(out)
    assert (status, values["runs"], {each["run"] for each in values["verdicts"]}) == (0, ["a", "b"], {"a", "b"})
    assert [each["flips"] for each in values["differences"]][:2] == ["no flip", "any 1 flip"]
    status, _, said = here("compare", "a", "nowhere")
    assert status == 2
    assert "nowhere: no finished run is there." in said
    assert isinstance(archives.read(tmp_path / "a" / "certificates.json"), Archive)


SOME = [0, 1, 1, 1, 0, 0, 1, 0]


def test_of_runs_on_other_parts_the_common_graphs_are_compared_and_that_is_said(tmp_path, quiet):
    names = [f"graph {k}" for k in range(8)]
    counts = random_counts(8, 2, seed=3)
    first = world(TWO, counts, labels=SOME, names=names)[0]
    order = [6, 2, 5, 3]  # of the other run, in an order of its own, beside a graph that the first has not
    other = world(
        TWO,
        [counts[k] for k in order] + [[1990, 10]],
        labels=[SOME[k] for k in order] + [0],
        names=[names[k] for k in order] + ["another"],
    )[0]
    found = write_comparison(tmp_path / "page.html", {"a": first, "b": other})
    assert found.n_graphs == 4
    assert found.rows == []  # the same votes, whatever the order
    assert {each.by for each in found.differences} == {0}
    (notice,) = comparison_notices(found)
    assert notice.head == "Compared on the 4 graphs that all runs have"
    assert "a, 4 graphs; b, 1 graph." in notice.text
    open_page(quiet, (tmp_path / "page.html").as_uri())
    assert texts(quiet, ".notice h2") == [notice.head]
    wrong = world(TWO, counts, labels=[1 - label for label in SOME], names=names)[0]
    with pytest.raises(InvalidParameterError, match=r"the same graphs and classes as a. Got 'other lab") as caught:
        compare({"a": first, "b": wrong})
    assert "The true class of graph 0 is 1 here, and 0 there." in str(caught.value)


def test_other_content_under_the_same_names_and_axes_that_some_lack_are_said():
    told = {"labels": LABELS, "names": NAMES}
    first = world(TWO, random_counts(6, 2, seed=3), **told, settings={"digests": {"data": "one"}})[0]
    second = world(DELETE_ADD, random_counts(6, 2, seed=3), **told, settings={"digests": {"data": "two"}})[0]
    content, axes, sites = comparison_notices(compare({"a": first, "b": second}))
    assert sites.head == "Any flip is not the same attacker in all runs"
    assert f"(sites of {NAMES[0]}: 30 in a, 66 in b)" in sites.text
    assert content.head == "b was made from other data"
    assert axes.head == "The runs have no axis in common"
    assert "(a: core, rest; b: bonds.delete, bonds.add)" in axes.text


@pytest.mark.parametrize(("settings", "one"), [({}, "graph"), ({"objects": "rows"}, "row")])
def test_what_is_compared_has_its_own_word(settings, one):
    made = world(TWO, random_counts(6, 2, seed=3), labels=LABELS, names=NAMES, settings=settings)[0]
    found = compare({"a": made, "b": made})
    assert (found.one, found.heads[0]) == (one, one)


def test_other_class_names_and_names_that_tell_nothing_are_said():
    counts = random_counts(3, 2, seed=3)
    first = world(TWO, counts, names=["x", "y", "z"], class_names=["no", "yes"])[0]
    called = world(TWO, counts, names=["x", "y", "z"], class_names=["0", "1"])[0]
    with pytest.raises(InvalidParameterError, match=r"Its classes are called 0, 1, those of a no, yes\."):
        compare({"a": first, "b": called})
    often = world(TWO, counts, names=["x", "x", "u"], class_names=["no", "yes"])[0]
    with pytest.raises(InvalidParameterError, match=r"that are in both, such as x, are those of several graphs\."):
        compare({"a": first, "b": often})
    one, other = (
        world(TWO, counts, names=names, class_names=["no", "yes"])[0] for names in (["x", "u", "v"], ["y", "r", "s"])
    )
    with pytest.raises(InvalidParameterError, match="'runs' must have a graph in common"):
        compare({"a": first, "b": one, "c": other})


def typed(noise, n=2):
    """A run on graphs whose edges have three types, under a noise of its own."""
    graphs = [sc.Graph(4, [(0, 1), (1, 2), (2, 3)], edge_types=list("abc")) for _ in range(n)]
    problem = bind_all(graphs, noise, None)
    made = sc.certify(
        sc.clopper_pearson(sc.Votes([[1990, 10]] * n, [[1990, 10]] * n)),
        problem.noise,
        capacity=problem.capacities,
        anchored=problem.anchored,
    )
    return Archive.from_result(made)


FLIPS = sc.Noise(bonds=sc.Flip(delete=0.1, add=0.05))
TYPES = sc.Noise(bonds=sc.Edges(delete=0.1, add=0.05, change=0.1))


def test_other_threat_models_are_said_on_the_page_and_in_the_terminal(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, noise in (("frozen", FLIPS), ("free", TYPES)):
        (tmp_path / name).mkdir()
        archives.write(tmp_path / name / "certificates.json", typed(noise))
    status, out, _ = here("compare", "frozen", "free", "--out", "page.html")
    assert status == 0
    anchored, laws, axes = comparison_notices(
        compare({name: archives.read(f"{name}/certificates.json") for name in ("frozen", "free")})
    )
    assert anchored.head == "The runs do not have the same threat model"
    assert "frozen is anchored (Types of edges are not attacked: an edge of the clean graph keeps" in anchored.text
    assert anchored.text.endswith("; free is not anchored.")
    assert laws.head == "One name, different laws: bonds.delete, bonds.add"
    assert "(frozen: bonds under Flip(delete=0.1, add=0.05); free: bonds under Edges(delete=0.1, add=" in laws.text
    assert axes.head == "Some axes are not those of all runs"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for notice in (anchored, laws):
        assert notice.head in page
        assert notice.text in page
        assert "".join(f"{notice.head}. {notice.text}".split()) in "".join(out.split())


def test_the_same_threat_model_is_not_worth_a_word():
    other = sc.Noise(bonds=sc.Flip(delete=0.2, add=0.01))
    assert comparison_notices(compare({"a": typed(FLIPS), "b": typed(other)})) == []
    assert comparison_notices(compare({"a": typed(TYPES), "b": typed(TYPES)})) == []


def test_a_run_that_is_anchored_in_some_graphs_says_in_how_many():
    counts = random_counts(8, 2, seed=3)
    first, second = (world(TWO, counts)[0] for _ in range(2))
    some = replace(second, anchored=tuple(f"Reason {k}." if k < 7 else "" for k in range(8)))
    (notice,) = comparison_notices(compare({"a": first, "b": some}))
    assert "a is not anchored; b is anchored in 7 of 8 graphs (Reason 0. Reason 1." in notice.text
    assert notice.text.endswith("Reason 4. And 2 further reasons).")


def test_a_page_that_is_there_is_not_overwritten_by_another(here, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate("abc"):
        (tmp_path / name).mkdir()
        archives.write(tmp_path / name / "certificates.json", world(TWO, random_counts(6, 2, seed=seed))[0])
    assert here("compare", "a", "b")[0] == 0
    before = (tmp_path / "compare.html").read_bytes()
    assert here("compare", "a", "b")[0] == 0  # the same page
    status, _, said = here("compare", "a", "c")
    assert status == 2
    assert "compare.html: is there already, with other content. Name another file: --out another.html" in said
    assert (tmp_path / "compare.html").read_bytes() == before
    assert here("compare", "a", "c", "--out", "another.html")[0] == 0
