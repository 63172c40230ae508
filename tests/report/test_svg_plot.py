"""The plots of a page, drawn by its own script; and what else the page says at a glance."""

import os
from datetime import datetime

import numpy as np
import pytest
from browsing import open_page, texts
from report_worlds import FOUR, ONE, TWO, random_counts, world

import starcert as sc
from starcert.report import write_report
from starcert.report.page_data import Drawings
from starcert.system.errors import InvalidParameterError

LABELS = [0, 1] * 6


@pytest.mark.parametrize("noise", [ONE, TWO, FOUR])
def test_graphs_have_a_curve_for_each_axis(shown, noise):
    archive, sites = world(noise, random_counts(12, 2, seed=3), labels=LABELS)
    browser = shown(archive, sites)
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('#curves-plot .plot')]"
        ".flatMap((plot) => plot.data.map((each) => [each.name, [...each.x], [...each.y]]))"
    )
    assert tuple(name for name, _, _ in drawn) == noise.axes
    for number, (_, counts, shares) in enumerate(drawn):
        for count, share in zip(counts, shares, strict=True):
            radius = [0] * len(noise.axes)
            radius[number] = count
            assert share == archive.certificates.certified_accuracy(archive.labels, radius)
    assert texts(browser, "#curves-plot .legendtext") == [name for name, _, _ in drawn]


def test_clean_accuracy_and_the_date_of_the_file(quiet, tmp_path):
    archive, sites = world(TWO, random_counts(4, 2, seed=1), labels=[0, 1, None, 1])
    write_report(tmp_path / "report.html", archive, sites, base=[0, 0, 1, 1])
    when = datetime(2024, 5, 17, 9, 30)
    os.utime(tmp_path / "report.html", (when.timestamp(), when.timestamp()))
    open_page(quiet, (tmp_path / "report.html").as_uri())
    assert texts(quiet, "#number-base dd") == ["66.7%"]
    assert texts(quiet, "#written")[0].startswith(" Written on 17 May 2024")
    with pytest.raises(InvalidParameterError, match=r"'base' must have an answer for each of 4 rows. Got 3"):
        write_report(tmp_path / "report.html", archive, sites, base=[0, 0, 1])
    write_report(tmp_path / "other.html", archive, sites)
    assert "number-base" not in (tmp_path / "other.html").read_text(encoding="utf-8")


def test_atoms_have_their_symbols(shown):
    pytest.importorskip("rdkit")
    graph = sc.Graph.from_smiles("OCCl")
    sites = [sc.Partition.everything("bonds").sites(graph)]
    bounds = sc.clopper_pearson(sc.Votes([[990, 10]], [[10, 0]]))
    from starcert.archive import Archive  # noqa: PLC0415

    archive = Archive.from_result(sc.certify(bounds, ONE, capacity=[sites[0].capacity(ONE)]))
    browser = shown(archive, sites)
    assert texts(browser, "#drawing svg > text") == ["O", "Cl"]  # carbon has no letter
    assert texts(browser, "#drawing title") == ["O 0", "C 1", "Cl 2"]
    as_sites = graph.with_categories("atomic_number", (6, 8, 17))
    everything = sc.Partition.everything("bonds").sites(as_sites)
    (drawn,) = (found := Drawings([everything], ["bonds"])).graphs
    assert found.names[drawn["symbols"]] == ["O", "C", "Cl"]
    numbered = sc.Graph(2, [(0, 1)], node_data={"atomic_number": np.array([0, 200])})
    assert "symbols" not in Drawings([sc.Partition.everything("bonds").sites(numbered)], ["bonds"]).graphs[0]
