"""The page in a real browser, opened from disk."""

import json
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from block_worlds import blocks, numbered
from browsing import open_page, set_value, texts
from hypothesis import given, settings
from report_worlds import DELETE_ADD, FOUR, HOSTILE, ONE, TWO, ragged, random_counts, world

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
    """The failure probability that the page is at, and the radii that it names."""
    told = browser.execute_script("return {...document.getElementById('frontier-text').dataset}")
    return float(told["failure"]), tuple(map(tuple, json.loads(told["radii"])))


def computed(archive, graph, failure, pair=None):
    """The same radii from the library, for a graph whose bound is this failure probability."""
    box = archive.capacities[graph]
    if pair is not None:
        box = tuple(size if axis in pair else 0 for axis, size in enumerate(box))
    bounds = sc.Bounds.certain([1 - failure])
    assert bounds.failure[0] == failure
    (one,) = sc.certify(bounds, archive.noise, max_radius=archive.max_radius, capacity=[box])
    return tuple(tuple(radius[axis] for axis in pair or range(len(radius))) for radius in one.frontier.radii)


SURE = [[4990, 10], [60, 4940], [5000, 0]]


@pytest.mark.parametrize(
    ("noise", "max_radius", "partition"),
    [(TWO, None, None), (TWO, None, ragged), (ONE, None, None), (DELETE_ADD, 3, None)],
    ids=lambda each: getattr(each, "__name__", repr(each)),
)
def test_the_slider_moves_the_frontier_to_what_the_library_computes(shown, noise, max_radius, partition):
    asked = None if max_radius is None else (max_radius,) * len(noise.axes)
    archive, sites = world(noise, SURE, labels=[0, 1, 0], max_radius=asked, partition=partition)
    browser = shown(archive, sites)
    seen = set()
    for graph in range(3):
        choose(browser, graph)
        own = archive.certificates.bounds.failure[graph], archive.certificates[graph].frontier.radii
        assert on_the_page(browser) == own
        for position in (0.3, 0.31, 0.8, 1.5, 2.2, 3, 4.15, 5, 6):
            set_value(browser, "#slider", position, "input")
            failure, radii = on_the_page(browser)
            assert failure == pytest.approx(10**-position, rel=0.02)
            assert radii == computed(archive, graph, failure)
            seen.add(radii)
    assert () in seen
    assert len(seen) > 3


def test_a_typed_p_lower_is_taken_to_the_last_digit(on_sure):
    browser, archive, _ = on_sure
    slack = sc.slack(TWO, (1, 2))
    for p in (0.5, 0.9, 0.9995, 1 - slack * (1 + 1e-12), 1 - slack * (1 - 1e-12), 1 - 1e-6):
        set_value(browser, "#p-lower", repr(p), "change")
        failure, radii = on_the_page(browser)
        assert failure == 1 - p
        assert radii == computed(archive, 0, failure)
    for wrong in ("", "-1", "1.5"):
        set_value(browser, "#p-lower", wrong, "change")
        assert on_the_page(browser)[0] == 1 - p
    set_value(browser, "#p-lower", "1", "change")  # beyond the table: as far as it goes
    assert on_the_page(browser)[0] == 1e-6


def test_the_keyboard_moves_the_slider(on_sure):
    from selenium.webdriver.common.keys import Keys  # noqa: PLC0415

    browser, archive, _ = on_sure
    set_value(browser, "#slider", 1, "input")
    before, _ = on_the_page(browser)
    browser.find_element("id", "slider").send_keys(Keys.ARROW_RIGHT * 40)
    failure, radii = on_the_page(browser)
    assert failure == pytest.approx(before * 10**-0.4)
    assert radii == computed(archive, 0, failure)


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
    (caption,) = texts(browser, "#surface-caption")
    assert caption.startswith("There is no such graph. 2 of 2 graphs have nothing to flip in core or in rest")
    assert browser.execute_script("return document.getElementById('surface-plot').hidden")


def test_other_numbers_of_samples_move_the_slider(on_sure):
    browser, archive, _ = on_sure
    browser.execute_script("document.querySelector('#samples button[data-samples=\"100000\"]').click()")
    failure, radii = on_the_page(browser)
    assert failure == pytest.approx(sc.clopper_pearson(sc.Votes([[99_800, 200]], [[1, 0]])).failure[0], rel=1e-6)
    # This number is no 1 − p of a double p: the library is asked with the bound itself.
    bounds = sc.Bounds(np.array([0]), np.array([failure]), np.array([failure]), None, 2)
    assert radii == sc.certify(bounds, TWO, capacity=[archive.capacities[0]])[0].frontier.radii


@pytest.mark.parametrize("classes", [2, 3])
def test_any_two_of_four_axes(shown, classes):
    archive, sites = world(FOUR, random_counts(4, classes, seed=11), labels=[0, 1, 1, 0])
    browser = shown(archive, sites)
    assert len(texts(browser, "#frontier-axes select option")) == 8
    for up, across in ((0, 3), (2, 1), (3, 1)):
        set_value(browser, "#frontier-axes select[data-role=yAxis]", str(up), "change")
        set_value(browser, "#frontier-axes select[data-role=xAxis]", str(across), "change")
        pair = tuple(sorted((up, across)))
        for position in (0.9, 2.5, 5.5):
            set_value(browser, "#slider", position, "input")
            failure, radii = on_the_page(browser)
            assert radii == computed(archive, 0, failure, pair)
        y_title, x_title, shares = browser.execute_script(
            "const plot = document.getElementById('surface-plot');"
            "return [plot.layout.yaxis.title.text, plot.layout.xaxis.title.text, plot.data[0].z.map((row) => [...row])]"
        )
        assert (y_title, x_title) == (f"flips in {FOUR.axes[up]}", f"flips in {FOUR.axes[across]}")
        for y, row in enumerate(shares):
            for x, share in enumerate(row):
                radius = [0] * 4
                radius[up], radius[across] = y, x
                assert share == archive.certificates.certified_accuracy(archive.labels, radius)
    # The same axis twice is no pair: the other one gives way.
    set_value(browser, "#surface-axes select[data-role=xAxis]", "3", "change")
    script = "return [...document.querySelectorAll('#surface-axes select')].map((each) => each.value)"
    assert browser.execute_script(script) == ["1", "3"]


def test_the_multi_class_certificate_stands_beside_the_slider(shown):
    archive, sites = world(TWO, [[4000, 500, 500], [100, 4800, 100]], class_names=["a", "b", "c"])
    assert archive.certificates[0].margin_kind == "multi-class"
    browser = shown(archive, sites)
    (caption,) = texts(browser, "#frontier-caption")
    assert "The slider shows the two-class margin" in caption
    radii = archive.certificates[0].frontier.radii
    failure, moved = on_the_page(browser)
    assert failure == archive.certificates.bounds.failure[0]
    assert moved != radii  # the two-class margin reaches less far here
    assert f"This graph's certificate: {', '.join(map(str, radii))}." in caption
    assert texts(browser, "tr[data-graph='0'] .radii") == [", ".join(map(str, radii))]


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
    assert texts(browser, "#frontier-plot .ytitle") == ["flips in <b>x"]
    assert texts(browser, "#frontier-plot .xtitle") == ["flips in %{y}<i>"]
    set_value(browser, "#search", "onerror", "input")
    assert texts(browser, "#graph-table .name") == [HOSTILE[0]]


def test_an_abstaining_graph_and_unlabelled_data(shown):
    browser = shown(*world(TWO, [[510, 490], [990, 10]]))
    assert texts(browser, "tr[data-graph='0'] td:nth-child(3)") == ["abstains"]
    assert texts(browser, "tr[data-graph='0'] td:nth-child(6)") == ["none"]
    assert "abstains" in texts(browser, "#detail-lead")[0]
    assert "certifies nothing" in texts(browser, "#frontier-text")[0]
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
    set_value(browser, "#slider", 4, "input")
    failure, radii = on_the_page(browser)
    assert radii == computed(archive, 0, failure)


def test_axes_in_steps_say_so_and_stay_sound(shown):
    noise = sc.Noise(core=0.05, rest=0.49)
    partition = sc.Partition.from_node_sets({"core": range(6), "rest": range(6, 12)})
    archive, sites = world(
        noise, [[5000, 0]], partition=lambda graph: partition, known_capacity=False, max_radius=(5, 10**6)
    )
    browser = shown(archive, sites)
    (caption,) = texts(browser, "#frontier-caption")
    step = int(caption.partition("rest in steps of ")[2].partition(" flips")[0].replace(",", ""))
    failure, radii = on_the_page(browser)
    assert failure == archive.certificates.bounds.failure[0]
    ends = {}
    for up, across in archive.certificates[0].frontier.radii:
        ends.update({count: max(across, ends.get(count, 0)) for count in range(up + 1)})
    assert radii
    for up, across in radii:
        assert 0 <= ends[up] - across < step


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
    assert on_the_page(browser)[1] == archive.certificates[n - 1].frontier.radii
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
    assert browser.execute_script("return document.getElementById('p-lower').value") == str(float(shown[0]))
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
