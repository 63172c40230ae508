"""The study of directed graphs, in a small size: what only direction can tell, and how cycles are counted."""

import networkx as nx
import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc

pytest.importorskip("matplotlib")
pytest.importorskip("torch_geometric")

from starcert.sampling.views import clean_copy
from starcert_studies import arcs
from starcert_studies.figures import ring_positions
from starcert_studies.voted import ALPHA

TINY = arcs.Arcs(200, 30, 120, 6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return worlds.tiny_run(TINY, tmp_path_factory.mktemp("arcs"))


@pytest.fixture(scope="module")
def rows(folder):
    return {(row["model"], row["shown"]): row for row in worlds.table(folder, "models")}


def test_settings_of_the_command_line():
    worlds.check_settings(arcs.Arcs, quick=(1_000, 50, 200, 20))
    assert (TINY.votes_on("arcs"), TINY.votes_on("skeleton")) == (200, 20)


def test_skeletons_keep_nodes_regions_and_classes():
    directed, plain = (TINY.graph_data(shown) for shown in arcs.SHOWN)
    assert not any(graph.directed for graph in plain.graphs)
    assert directed.labels.tolist() == plain.labels.tolist()
    assert directed.parts == plain.parts
    for one, other in zip(directed.test.graphs, plain.test.graphs, strict=True):
        assert nx.utils.graphs_equal(one.to_networkx().to_undirected(), other.to_networkx())


def test_closed_walks_are_three_for_each_cycle():
    for graph in TINY.graph_data("arcs").test.graphs[:6]:
        cycles = sum(len(found) == 3 for found in nx.simple_cycles(graph.to_networkx(), length_bound=3))
        assert arcs.cycles(clean_copy(sc.Partition.everything("all").sites(graph))).tolist() == [3 * cycles]


def test_only_direction_tells(rows):
    assert list(rows) == [(model, shown) for model in ("cycles", "network") for shown in ("arcs", "skeleton")]
    for (model, shown), row in rows.items():
        assert row["majority"] == "0.5"
        if shown == "arcs":
            assert float(row["smoothed"]) > 0.85, model
        else:
            assert float(row["smoothed"]) < 0.75, model  # chance: deviation 0.09
            assert float(row["certified_at_1_0"]) == 0
    assert float(rows["network", "arcs"]["certified_at_0_10"]) > 0.5


def test_shares_are_those_of_certificates(folder, rows):
    data = TINY.graph_data("arcs")
    smoothed = sc.SmoothedClassifier(TINY.model(("cycles", "arcs")), arcs.NOISE, data.partition)
    found = smoothed.certify(data.test.graphs, samples=200, alpha=ALPHA, seed=1, voting=sc.Voting(progress=False))
    kept = [worlds.part(folder, f"cycles-arcs-{at}") for at in (0, 25)]
    assert found.votes.counts.tolist() == kept[0]["estimation"] + kept[1]["estimation"]
    right = sc.metrics.right(found, data.test.labels)
    assert float(rows["cycles", "arcs"]["smoothed"]) == pytest.approx(right.mean())
    assert float(rows["cycles", "arcs"]["certified_at_0_10"]) == pytest.approx(
        (right & found.certified((0, 10))).mean()
    )


def test_the_folder_has_what_the_page_shows(folder):
    kept = worlds.results(folder)
    assert {path.stem for path in (folder / "figures").iterdir()} == {"graphs", "radii"}
    assert [check["holds"] for check in kept["checks"]] == [None, True, None, True, None]
    assert "network, shown the skeleton: right on" in kept["summary"][3]


def test_the_motif_is_drawn_in_the_order_of_its_arcs():
    data = TINY.graph_data("arcs")
    for graph, label in data.test[:8]:
        x, y = ring_positions(graph, 9)[:9].T
        clockwise = np.rint(9 * np.arctan2(x, y) / (2 * np.pi)).astype(int) % 9  # the place on the circle
        motif = clockwise[graph.edges[(graph.edges < 9).all(axis=1)]]
        if label:
            assert ((motif[:, 1] - motif[:, 0]) % 9 <= 4).all()
        else:
            assert (motif[:, 0] < motif[:, 1]).all()


def test_claims_fail_where_they_are_not_so():
    labels = np.arange(100) % 2

    def checked(directed, plain, wins=99_990, clean=50):
        guesses = np.where(np.arange(100) < clean, labels, 1 - labels)
        found = {
            (model, shown): worlds.voted(
                arcs.NOISE, labels, directed if shown == "arcs" else plain, wins, clean=guesses
            )
            for model in arcs.MODELS
            for shown in arcs.SHOWN
        }
        return worlds.claims(arcs.Arcs(), found)

    constant = np.zeros(100, dtype=int)
    assert checked(labels, constant) == [True] * 5
    assert checked(constant, constant) == [False, True, False, True, False]
    assert checked(labels, labels) == [True, False, True, False, True]
    assert checked(labels, constant, clean=70) == [True, False, True, False, True]
    assert checked(labels, constant, wins=60_000) == [True] * 4 + [False]
