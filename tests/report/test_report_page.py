import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from report_worlds import HOSTILE, ONE, TWO, ragged, random_counts, world

import starcert as sc
from starcert import archive as archives
from starcert.report import write_report
from starcert.system.errors import InvalidParameterError, StarcertError


class Page(HTMLParser):
    """What a browser would make of the markup: elements, their attributes, and the text of scripts."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.scripts, self.text = [], [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text.append(data)


def written(tmp_path, archive, sites, **told):
    path = tmp_path / "report.html"
    write_report(path, archive, sites, **told)
    return Page(path.read_text(encoding="utf-8"))


def test_hostile_names_stay_names(tmp_path):
    n = len(HOSTILE)
    archive, sites = world(
        TWO,
        random_counts(n, n, seed=1),
        labels=list(range(n)),
        names=HOSTILE,
        class_names=HOSTILE,
        settings={"model": HOSTILE[1], HOSTILE[0]: {HOSTILE[2]: [HOSTILE[1]]}},
    )
    page = written(tmp_path, archive, sites, title=HOSTILE[1])
    assert len(page.scripts) == 3
    assert [attributes.get("type") for tag, attributes in page.elements if tag == "script"] == [
        "application/json",
        None,
        None,
    ]
    assert not [tag for tag, _ in page.elements if tag in ("img", "iframe", "object", "link")]
    data = json.loads(page.scripts[0])
    assert data["graphs"]["names"] == data["classes"] == HOSTILE
    assert not set("<>&\u2028") & set(page.scripts[0])
    shown = "".join(page.text)
    assert shown.count(HOSTILE[1]) >= 3  # the title twice, and a setting
    assert HOSTILE[0] in shown


def test_the_page_loads_nothing_and_runs_its_own_scripts_only(tmp_path):
    page = written(tmp_path, *world(TWO, random_counts(3, 2, seed=1)))
    for _, attributes in page.elements:
        assert not {"src", "srcset", "action", "data", "poster"} & set(attributes)
        assert attributes.get("href", "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]
    (policy,) = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
    package = files("starcert.report")
    own_files = [each for each in package.iterdir() if each.name.endswith((".js", ".css"))]
    folders = (package / "templates", package / "templates" / "blocks")
    templates = [each for folder in folders for each in folder.iterdir() if each.name.endswith(".html")]
    assert {"page.css", "page.html", "table.html", "objects.html"} <= {each.name for each in own_files + templates}
    for each in own_files + templates:
        own = each.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|fetch\(|XMLHttp|url\(", own)
        assert set(re.findall(r"https?://[^\"' ]+", own)) <= {"http://www.w3.org/2000/svg"}
    for each in templates:
        assert not re.search(r"\|\s*safe\b|autoescape", each.read_text(encoding="utf-8"))


def test_unknown_classes_are_said_to_be_unknown(tmp_path):
    text = "".join(written(tmp_path, *world(TWO, [[990, 10]])).text)
    assert "the true classes are not known" in text
    assert "majority-class share" not in text


def test_settings_are_shown_one_by_one_and_long_ones_cut(tmp_path):
    archive, sites = world(TWO, [[990, 10]], settings={"data": {"name": "MUTAG", "keep": [1, 2]}, "note": "x" * 5000})
    text = "".join(written(tmp_path, archive, sites).text)
    assert "data.nameMUTAG" in text
    assert "data.keep[1, 2]" in text
    assert "… (5,000 characters)" in text


def test_lone_surrogates_of_file_names_are_no_obstacle(tmp_path):
    archive, sites = world(TWO, [[990, 10]], names=["caf\udce9"], settings={"path": "caf\udce9"})
    page = written(tmp_path, archive, sites, title="caf\udce9")
    assert json.loads(page.scripts[0])["graphs"]["names"] == ["caf\udce9"]
    assert "caf\\udce9" in "".join(page.text)


def test_the_sites_must_be_those_of_the_graphs(tmp_path):
    archive, sites = world(TWO, [[990, 10], [10, 990]])
    other = sc.Partition.from_node_sets({"core": range(5), "rest": range(6, 12)}).sites(sites[1].graph)
    path = tmp_path / "report.html"
    with pytest.raises(InvalidParameterError, match=r"'sites' must have one entry for each of 2 graphs. Got 1"):
        write_report(path, archive, sites[:1])
    with pytest.raises(InvalidParameterError, match=r"'sites\[1\]' must offer .* '1', \(15, 15\). Got \(10, 15\)"):
        write_report(path, archive, [sites[0], other])
    with pytest.raises(InvalidParameterError, match=r"'sites\[0\]' must have the regions core, rest"):
        write_report(path, archive, world(ONE, [[990, 10]] * 2)[1])
    with pytest.raises(InvalidParameterError, match=r"'sites\[1\]' must be Sites. Got 'Graph'"):
        write_report(path, archive, [sites[0], sites[0].graph])
    with pytest.raises(InvalidParameterError, match=r"'archive' must be an Archive. Got 'Certificates'"):
        write_report(path, archive.certificates, sites)
    assert os.listdir(tmp_path) == []


def test_nothing_half_written_and_plain_words_about_the_file(tmp_path, monkeypatch):
    archive, sites = world(TWO, [[990, 10]])
    with pytest.raises(StarcertError, match=r"the folder .*nowhere does not exist"):
        write_report(tmp_path / "nowhere" / "report.html", archive, sites)
    with pytest.raises(StarcertError, match="is a folder"):
        write_report(tmp_path, archive, sites)
    path = tmp_path / "report.html"
    path.write_text("before")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StarcertError, match=r"report\.html: cannot be written \(No space left on device\)"):
        write_report(path, archive, sites)
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["report.html"]


def test_probabilities_are_rounded_against_ourselves(tmp_path):
    archive, sites = world(TWO, [[990, 10]])
    text = "".join(written(tmp_path, replace(archive, alpha=1e-7), sites).text).replace("\xa0", " ")
    assert "≥ 1 − alpha = 0.9999999 over the sampling" in text
    assert json.loads(written(tmp_path, replace(archive, alpha=1e-7), sites).scripts[0])["holds"] == "0.9999999"


def test_the_report_of_a_file_is_that_of_the_result(tmp_path):
    """Once the stated capacities are compared with the sites they are known, and the page is the same."""
    archive, sites = world(TWO, random_counts(12, 2, seed=3), labels=[0] * 12, partition=ragged)
    archives.write(tmp_path / "c.json", archive)
    read = archives.read(tmp_path / "c.json")
    write_report(tmp_path / "one.html", archive, sites)
    write_report(tmp_path / "other.html", read, sites)
    assert (tmp_path / "one.html").read_text() == (tmp_path / "other.html").read_text()


def test_anchored_sites_are_refused_where_the_archive_says_nothing_of_it(tmp_path):
    pairs = {"core": [(0, 1), (1, 2)], "rest": [(6, 7)]}
    anchored = sc.Partition.from_pairs(pairs, anchored=True, reason="Read off the edges.")
    archive, sites = world(TWO, [[990, 10]], partition=lambda _: anchored)
    write_report(tmp_path / "report.html", archive, sites)
    with pytest.raises(InvalidParameterError, match=r"'sites\[0\]' must not be anchored"):
        write_report(tmp_path / "report.html", replace(archive, anchored=("",)), sites)
