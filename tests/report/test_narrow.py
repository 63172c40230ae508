"""A page with ten axes, and one with a known attack on a molecule, wide and at 420 pixels."""

import pytest
from browsing import open_page, texts

import starcert as sc
from starcert.archive import Archive
from starcert.claims.metrics import radii_of_flips
from starcert.objects.molecules import ORDERS
from starcert.report import write_report
from starcert.report.certificate_report import SHOWN_VERDICTS

RING = [(i, (i + 1) % 6) for i in range(6)]
EDGES = sc.Edges(delete=0.03, add=0.02, change=0.03)
TEN = sc.Noise(ring=EDGES, chain=EDGES, link=EDGES, atoms=sc.Categorical(0.1))
MOLECULE = sc.Graph(
    9, [*RING, (5, 6), (6, 7), (7, 8)], edge_types=[*["aromatic"] * 6, "single", "double", "single"], type_names=ORDERS,
    node_data={"element": tuple("CCCCCNCCO")},
).with_categories("element", ("C", "N", "O"))  # fmt: skip
FOUR = sc.Noise(bonds=EDGES, atoms=sc.Categorical(0.1))
LARGE = sc.Graph(41, [(i, i + 1) for i in range(40)])


def regions(graph):
    pairs = sc.Partition.from_node_sets({"ring": range(6), "chain": [6, 7, 8]}, between={"link": ("ring", "chain")})
    return pairs | sc.Partition.of_layers(atoms="element")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages, by name: ten axes; a molecule and a large graph that one flip breaks."""
    folder = tmp_path_factory.mktemp("narrow")
    aromatic = sc.classifiers.from_callable(
        lambda batch: (batch.values == 4).sum(axis=1) >= 6, on="batch", n_classes=2, description="aromatic"
    )
    count = sc.classifiers.from_callable(
        lambda batch: batch.values.sum(axis=1) >= 40, on="batch", n_classes=2, description="40 edges"
    )
    sparse = sc.Noise(all=sc.Flip(delete=0.01, add=1e-4))
    found = {}
    for name, smoothed, graphs, threat in (
        ("ten", sc.SmoothedClassifier(aromatic, TEN, regions), [MOLECULE], "flips:2"),
        (
            "molecule",
            sc.SmoothedClassifier(aromatic, FOUR, {"bonds": "pairs", "atoms": "element"}),
            [MOLECULE],
            "flips:1",
        ),
        ("large", sc.SmoothedClassifier(count, sparse), [LARGE], "deletions:1"),
    ):
        problem = smoothed.problem(graphs)
        result = smoothed.certify(problem, samples=1_000, seed=1, evidence=sc.Evidence(4_000), threat=threat)
        archive = Archive.from_result(result, class_names=["aliphatic", "aromatic"])
        write_report(folder / f"{name}.html", archive, problem)
        found[name] = (folder / f"{name}.html").as_uri(), archive
    return found


def at(browser, page, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    open_page(browser, page)


@pytest.fixture
def narrow(quiet):
    yield quiet
    quiet.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("name", ["ten", "molecule", "large"])
@pytest.mark.parametrize("width", [420, 1240])
def test_nothing_is_wider_than_the_screen(narrow, pages, name, width):
    page, _ = pages[name]
    at(narrow, page, width)
    assert narrow.execute_script("return document.documentElement.scrollWidth") <= width
    wide = "return [...document.querySelectorAll('.scroll, table')].filter((e) => e.scrollWidth > e.clientWidth + 1)"
    assert narrow.execute_script(f"{wide}.map((e) => e.id || e.className)") == []
    if width == 420:  # every cell has its title beside it
        said = "return getComputedStyle(document.querySelector('#table-body td:nth-child(3)'), '::before').content"
        assert narrow.execute_script(said).startswith('"answer')


def test_ten_axes_are_read_in_words_and_none_is_left_out(narrow, pages):
    page, archive = pages["ten"]
    at(narrow, page, 1240)
    assert len(archive.noise.axes) == 10
    listed = "return [...document.querySelectorAll('#verdict-table tbody tr')]"
    rows = narrow.execute_script(f"{listed}.map((e) => [e.cells[0].textContent, e.offsetHeight > 0])")
    assert [seen for _, seen in rows] == [True] * SHOWN_VERDICTS + [False] * (len(rows) - SHOWN_VERDICTS)
    assert len(rows) == 2 + len(radii_of_flips(archive.certificates, 2)) > 40
    assert "1 bond deleted in chain and 1 atom changed" in [text for text, _ in rows]
    narrow.execute_script("document.getElementById('further').click()")
    assert narrow.execute_script(f"{listed}.filter((e) => e.offsetHeight > 0).length") == len(rows)
    assert texts(narrow, "#curves-plot .xtitle")[0] == "bonds deleted in ring"  # a small plot for each axis
    broken = narrow.execute_script("return document.querySelector('#table-body tr td:last-child').textContent")
    assert "(" not in broken


def test_an_attack_on_a_molecule_is_marked_and_says_what_changes(narrow, pages):
    page, archive = pages["molecule"]
    at(narrow, page, 1240)
    one = archive.certificates[0]
    assert one.broken
    said = texts(narrow, "#in-short")[0]
    assert said.startswith("No single") or said.startswith("Attacks of a single step")
    assert texts(narrow, "#in-short em") == ["aromatic", "aliphatic"]
    (attack,) = texts(narrow, "#attack-text")
    counted = sum(min(one.broken, key=lambda level: (sum(level), level)))
    assert "→" in attack or "deleted" in attack
    assert len(texts(narrow, "#drawing .note")) == counted
    marked = narrow.execute_script("return document.querySelectorAll('#drawing line.attack').length")
    assert marked == counted
