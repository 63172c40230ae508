"""The page in a real browser, opened from disk."""

import json
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from block_worlds import blocks, numbered
from browsing import open_page, set_value, texts
from hypothesis import given, settings
from report_worlds import HOSTILE, TWO, world

import starcert as sc
from starcert.archive import Archive
from starcert.report import write_report


@pytest.fixture(scope="module")
def sure(tmp_path_factory):
    """A report that several tests look at."""
    path = tmp_path_factory.mktemp("sure") / "report.html"
    archive, sites = world(TWO, SURE)
    write_report(path, archive, sites)
    return path.as_uri(), archive, sites


@pytest.fixture
def on_sure(quiet, sure):
    """The browser at that report, at its first graph; a page that is open already is not opened again."""
    uri, archive, sites = sure
    if quiet.current_url != uri:
        open_page(quiet, uri)
    choose(quiet, 0)
    return quiet, archive, sites


def choose(browser, graph):
    browser.execute_script("document.querySelector(`tr[data-graph='${arguments[0]}'] .name button`).click()", graph)


def on_the_page(browser):
    """The maximal certified radii that the page names."""
    told = browser.execute_script("return document.getElementById('frontier-text').dataset.radii")
    return tuple(map(tuple, json.loads(told)))


SURE = [[4990, 10], [60, 4940], [5000, 0]]


def test_the_page_reads_blocks_of_every_kind(on_sure):
    browser, *_ = on_sure
    worlds = []

    @settings(max_examples=400)
    @given(blocks())
    def gather(world):
        worlds.append(world)

    gather()
    kinds = {(type(block).__name__, *block.to_json()) for block, _ in worlds}
    assert len(kinds) == 9  # every combination of first, last and holes, and listed pairs
    told = [block.to_json() for block, _ in worlds]
    read = browser.execute_script("return arguments[0].map(Drawing.pairsOf)", told)
    for (block, pairs), found in zip(worlds, read, strict=True):
        assert found == numbered(block)
        assert set(map(tuple, found)) == pairs


def test_axes_that_no_graph_has_are_not_drawn(shown):
    archive, sites = world(
        TWO,
        [[990, 10], [10, 990]],
        labels=[0, 1],
        partition=lambda graph: sc.Partition.from_node_sets({"core": range(1), "rest": range(6, 12)}),
    )
    browser = shown(archive, sites)
    assert "No graph has something to flip in both: flips in core and flips in rest." in texts(browser, "#surface p")
    assert texts(browser, "#surface table") == []


def test_hostile_names_are_text(shown):
    n = len(HOSTILE)
    regions = {"<b>x": range(6), "%{y}</b>"[:-4] + "<i>": range(6, 12)}
    partition = sc.Partition.from_node_sets(regions)
    archive, sites = world(
        sc.Noise(dict.fromkeys(regions, 0.1)),
        np.full((n, n), 10) + 900 * np.eye(n, dtype=int),
        labels=list(range(n)),
        partition=lambda graph: partition,
        names=HOSTILE,
        class_names=HOSTILE,
        settings={name or "empty": HOSTILE for name in HOSTILE},
    )
    browser = shown(archive, sites, title=HOSTILE[1])
    assert texts(browser, "h1") == [HOSTILE[1]]
    wanted = [name or "(no name)" for name in HOSTILE]
    assert texts(browser, "#graph-table .name") == wanted
    assert texts(browser, "#graph-table tbody td:nth-child(2)") == wanted
    for graph, name in enumerate(wanted):
        choose(browser, graph)
        assert texts(browser, "#detail-heading") == [name]
        assert name in texts(browser, "#votes bdi")
    assert texts(browser, "img, iframe") == []
    assert browser.execute_script("return document.scripts.length") == 3
    assert texts(browser, "#surface thead th")[0] == "flips in <b>x ↓  flips in %{y}<i> →"
    set_value(browser, "#search", "onerror", "input")
    assert texts(browser, "#graph-table .name") == [HOSTILE[0]]


def test_an_abstaining_graph_and_unlabelled_data(shown):
    browser = shown(*world(TWO, [[510, 490], [990, 10]]))
    assert texts(browser, "tr[data-graph='0'] td:nth-child(3)") == ["abstains"]
    assert texts(browser, "tr[data-graph='0'] td:nth-child(6)") == ["none"]
    assert "abstains" in texts(browser, "#detail-lead")[0]
    assert "none" in texts(browser, "#frontier-text")[0]
    assert texts(browser, "#surface-heading") == ["Certified share"]
    assert "abstains on 1 of 2 graphs" in texts(browser, "#notices")[0]
    set_value(browser, "#filter", "abstained", "change")
    assert len(texts(browser, "#graph-table tbody tr")) == 1


def test_large_graphs_are_described(shown):
    noise = sc.Noise(bonds=0.2)
    sites = sc.Partition.everything("bonds").sites(sc.Graph.from_networkx(nx.cycle_graph(2000)))
    bounds = sc.clopper_pearson(sc.Votes([[5000, 0]], [[10, 0]]))
    archive = Archive.from_result(sc.certify(bounds, noise, capacity=[sites.capacity(noise)]))
    browser = shown(archive, [sites])
    assert texts(browser, "#drawing svg") == []
    assert "Not drawn: graphs with more than 300 nodes" in texts(browser, "#drawing-caption")[0]
    assert texts(browser, "#region-table td") == ["bonds", "1,999,000", "2,000"]
    assert on_the_page(browser) == archive.certificates[0].frontier.radii


@pytest.mark.parametrize("n", [1_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_thousands_of_graphs_open_and_page_through(shown, tmp_path, n):
    rng = np.random.default_rng(1)
    partition = sc.Partition.from_node_sets({"core": range(10), "rest": range(10, 20)})
    pairs = np.array([(u, v) for u in range(20) for v in range(u + 1, 20)])
    sites = [partition.sites(sc.Graph(20, pairs[rng.random(190) < 0.3])) for _ in range(n)]
    wrong = rng.binomial(10_000, 10 ** -rng.uniform(0.5, 4, n))
    labels = rng.integers(0, 2, n)
    counts = np.stack([10_000 - wrong, wrong], axis=1)
    counts[labels == 1] = counts[labels == 1][:, ::-1]
    bounds = sc.clopper_pearson(sc.Votes(counts, counts))
    result = sc.certify(bounds, TWO, capacity=[each.capacity(TWO) for each in sites])
    archive = Archive.from_result(result, names=[f"graph {i}" for i in range(n)], labels=labels.tolist())
    browser = shown(archive, sites)
    assert (tmp_path / "report.html").stat().st_size < min(25e6, 2e6 + 2_500 * n)
    assert texts(browser, "#table-count") == [f"1–15 of {n:,} graphs"]
    assert len(texts(browser, "#graph-table tbody tr")) == 15
    browser.execute_script("document.getElementById('last-page').click()")
    assert texts(browser, "#graph-table .name")[-1] == f"graph {n - 1}"
    choose(browser, n - 1)
    assert texts(browser, "#detail-heading") == [f"graph {n - 1}"]
    assert len(texts(browser, "#drawing circle")) == 20
    assert on_the_page(browser) == archive.certificates[n - 1].frontier.radii
    set_value(browser, "#search", "graph 1234", "input")
    assert texts(browser, "#graph-table .name") == ["graph 1234"]
    set_value(browser, "#search", "", "input")
    browser.execute_script("document.querySelector('th[data-column=p_lower] button').click()")
    first = browser.execute_script("return Number(document.querySelector('#graph-table tbody tr').dataset.graph)")
    assert bounds.failure[first] == bounds.failure.max()


def test_p_lower_has_six_digits_everywhere_and_is_rounded_down(on_sure):
    browser, archive, _ = on_sure
    failures = archive.certificates.bounds.failure.tolist()
    shown = browser.execute_script("return arguments[0].map(Text.probability)", failures)
    for text, p_lower in zip(shown, archive.certificates.bounds.p_lower, strict=True):
        assert len(text.partition(".")[2]) == 6
        assert p_lower - 1.1e-6 < float(text) <= p_lower
    assert shown[0] in browser.find_element("css selector", "tr[data-graph='0']").text
    assert browser.execute_script("return Text.probability(1e-9)") == "0.999999"


def test_numbers_in_the_page_are_rounded_against_ourselves(on_sure):
    browser, _, _ = on_sure
    rng = np.random.default_rng(0)
    values = [
        *(10 ** -rng.uniform(0, 12, 300)).tolist(),
        1e-6,
        1e-7,
        0.1,
        0.01,
        0.5,
        1.0,
        9.995e-4,
        0.0010000000001,
        1e-17,
    ]
    shown = browser.execute_script("return arguments[0].map((x) => [Text.failure(x), Text.probability(x)])", values)
    for value, (failure, probability) in zip(values, shown, strict=True):
        exact = Fraction(repr(value))
        assert exact <= Fraction(failure) <= exact * Fraction(101, 100)
        assert 1 - exact - Fraction(1, 10**6) <= Fraction(probability) <= 1 - exact
    assert dict(zip(values, shown, strict=True))[0.1] == ["0.100", "0.900000"]
