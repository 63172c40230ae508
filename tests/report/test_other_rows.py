"""Pages about rows that are no graphs: nodes of a graph, and objects of one's own; and graphs with arcs and types."""

import pytest
from browsing import open_page, set_value, texts
from target_worlds import named_star, nodes

import starcert as sc
from starcert.archive import Archive
from starcert.report import write_report
from starcert.report.page_data import page_data
from starcert.system.errors import InvalidParameterError
from validity.test_layers import BOARDS, columns

FEW = {"samples": 500, "seed": 1}
BOARD_NOISE = sc.Noise(left=sc.Categorical(0.1, 3), right=sc.Categorical(0.45, 3))


@pytest.fixture
def shown(quiet, tmp_path):
    def show(archive, problem):
        write_report(tmp_path / "report.html", archive, problem)
        open_page(quiet, (tmp_path / "report.html").as_uri())
        return quiet

    return show


def certified(smoothed, objects, **told):
    problem = smoothed.problem(objects)
    return Archive.from_result(smoothed.certify(problem, **FEW), **told), problem


def star_world(base=None):
    return certified(nodes(base), [named_star()], labels=[1, 0, 0, 0, 1], class_names=["quiet", "busy"])


def board_world():
    base = sc.classifiers.from_callable(lambda batch: batch.vectors().sum(axis=1) > 4, on="batch", description="sum")
    return certified(sc.SmoothedClassifier(base, BOARD_NOISE, columns), BOARDS[::20])


class TestNodes:
    def test_a_graph_is_there_once(self):
        archive, problem = star_world()
        data = page_data(archive, problem.sites)
        assert (data["graphs"]["object"], data["graphs"]["node"]) == ([0] * 5, [0, 1, 2, 3, 4])
        assert len(data["objects"]["about"]) == len(data["drawings"]["graphs"]) == 1
        assert data["objects"]["about"] == ["5 nodes, 4 edges"]
        assert data["words"]["many"] == "nodes"

    def test_the_page_has_a_table_of_nodes_curves_and_the_graph_in_colours(self, shown):
        archive, problem = star_world()
        browser = shown(archive, problem)
        assert texts(browser, "#graphs-heading") == ["Node by node"]
        assert texts(browser, "#graph-table .name") == ["0.hub", "0.a", "0.b", "0.c", "0.d"]
        assert texts(browser, "#table-head th") == [
            *("node", "true class", "answer", "p_lower", "votes for it", "furthest in all")
        ]
        reaches = [max((radius[0] for radius in one.frontier.radii), default=0) for one in archive.certificates]
        assert texts(browser, "#graph-table td:last-child") == [str(reach) for reach in reaches]
        assert "certified: 4" in texts(browser, "#picture-legend li")[0]
        filled = "return [...document.querySelectorAll('#picture-drawing .target')].map((e) => e.getAttribute('fill'))"
        assert len(set(browser.execute_script(filled))) == 2
        plots = "return [...document.querySelectorAll('#curves-plot .plot')].flatMap((plot) => plot.data)"
        drawn = browser.execute_script(f"{plots}.map((each) => [each.name, each.y])")
        ((name, shares),) = drawn
        assert name == "all"
        for count, right in enumerate(shares):
            assert right == archive.certificates.certified_accuracy(archive.labels, count)

    def test_nodes_of_several_graphs(self, shown):
        graphs = [named_star(), sc.Graph(3, [(0, 1)])]
        archive, problem = certified(nodes(), graphs)
        browser = shown(archive, problem)
        browser.execute_script("document.querySelector(`tr[data-graph='6'] .name button`).click()")
        assert texts(browser, "#detail-lead")[0].startswith("A node of a graph with 3 nodes, 1 edge.")
        assert browser.execute_script("return document.querySelectorAll('#picture-drawing .target').length") == 3

    def test_the_objects_must_be_those_of_the_rows(self, tmp_path):
        archive, problem = star_world()
        with pytest.raises(InvalidParameterError, match=r"'sites' must have one entry for each of 1 graphs. Got 5"):
            write_report(tmp_path / "report.html", archive, problem.sites * 5)


def test_objects_that_are_no_graphs_have_tables_and_curves_and_no_drawings(shown):
    archive, problem = board_world()
    assert page_data(archive, problem.sites)["drawings"]["graphs"] == [None] * 5
    browser = shown(archive, problem)
    assert texts(browser, "#graphs-heading") == ["Object by object"]
    assert texts(browser, "#detail-lead")[0].startswith("4 cells. The smoothed classifier")
    assert texts(browser, "#drawing svg") == texts(browser, "#drawing-caption")[1:] == []
    assert texts(browser, "#region-table th") == ["region", "sites", "not 0"]
    assert texts(browser, "#curves-heading") == ["Axis by axis"]
    assert texts(browser, "#surface") == []  # on one of two axes nothing is certified: a map would be one curve


def test_results_without_votes_are_searched_and_drawn_beside_what_an_attack_makes_of_them(shown):
    base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 2), n_classes=2)
    exact, graphs = sc.ExactClassifier(base), [sc.Graph(4, []), sc.Graph(4, [(0, 1), (1, 2)])]
    archive = Archive.from_result(exact.certify(graphs, threat="flips:1"), names=["none", "path"], labels=[0, 0])
    browser = shown(archive, exact.problem(graphs))
    assert texts(browser, "#graph-table tbody td:last-child") == ["–", "edge 0–2 added"]
    assert texts(browser, "#graph-table tbody td:nth-child(4)") == ["certified", "broken"]
    assert texts(browser, "#votes") == []
    for row, lines in ((0, 0), (1, 3)):
        browser.execute_script(f"document.querySelector(`tr[data-graph='{row}'] .name button`).click()")
        assert len(texts(browser, "#attacked:not([hidden]) svg > line")) == lines
    assert "The answer is then 1." in texts(browser, "#attack-text")[0]
    set_value(browser, "#search", "path", "input")
    assert texts(browser, "#graph-table .name") == ["path"]
