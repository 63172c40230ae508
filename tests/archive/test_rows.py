"""Archives of rows that are no graphs: nodes of a graph, objects of one's own, and laws on more than two values."""

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from target_worlds import WANTED, Busy, Some, graphs, named_star, nodes

import starcert as sc
from starcert.archive import Archive, read, verify, write
from starcert.system.errors import ArchiveError, InvalidParameterError
from validity.test_layers import BOARDS, Spread, columns

FILE = "certificates.json"


def boards(noise):
    base = sc.classifiers.from_callable(
        lambda batch: batch.vectors().sum(axis=1) > 4, on="batch", description="more than four"
    )
    smoothed = sc.SmoothedClassifier(base, noise, columns)
    return smoothed.certify(BOARDS[::20], samples=1000, seed=1)


def written(tmp_path, archive):
    write(tmp_path / FILE, archive)
    return json.loads((tmp_path / FILE).read_text())


def rewritten(tmp_path, told):
    (tmp_path / FILE).write_text(json.dumps(told))
    return tmp_path / FILE


def test_nodes_keep_their_place(tmp_path):
    archive = Archive.from_result(nodes(Some()).certify([named_star()], **WANTED), labels=[1, 0, 0, 0, 0])
    assert (archive.names, archive.nodes, archive.labels) == (("0.hub", "0.b"), (0, 2), (1, 0))
    first, second = written(tmp_path, archive)["graphs"]
    assert [second[key] for key in ("name", "graph", "target", "node")] == ["0.b", 0, 1, 2]
    assert list(first)[:4] == ["name", "graph", "target", "node"]
    again = read(tmp_path / FILE)
    assert again == archive
    assert (again.nodes, again.votes.objects.tolist(), again.votes.targets.tolist()) == ((0, 2), [0, 0], [0, 1])
    assert verify(tmp_path / FILE).verdict == "proved"
    assert "Every claim about 2 nodes follows" in str(verify(tmp_path / FILE))


def test_graphs_say_nothing_of_targets(tmp_path):
    class Whole(Busy):
        def n_targets(self, frame):
            return None

        def classify(self, graphs):
            return super().classify(graphs)[:, 0]

    archive = Archive.from_result(nodes(Whole()).certify(graphs(), **WANTED))
    assert archive.nodes is None
    assert not {"graph", "target", "node"} & set(written(tmp_path, archive)["graphs"][0])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"target": "x"}, r"'graphs\[1\].target' must be a whole number"),
        ({"node": -1}, r"'graphs\[1\].node' must be a whole number"),
        ({"target": None}, r"'graphs\[1\]' must say which target of which graph it is, or neither"),
        ({"graph": None, "target": None}, r"'graphs\[1\]' must say which target"),
        (
            {"graph": None, "target": None, "node": None},
            r"'graphs\[1\].graph' is missing or null: other graphs have it",
        ),
        ({"node": None}, r"'graphs\[1\].node' is missing or null: other graphs have it"),
        ({"target": 0}, "be different in the rows of one object"),
    ],
)
def test_places_that_cannot_be_are_refused(tmp_path, change, reason):
    told = written(tmp_path, Archive.from_result(nodes(Some()).certify([named_star()], **WANTED)))
    row = told["graphs"][1] | change
    told["graphs"][1] = {key: value for key, value in row.items() if key not in change or value is not None}
    with pytest.raises(ArchiveError, match=reason):
        read(rewritten(tmp_path, told))


def test_as_many_nodes_as_rows():
    archive = Archive.from_result(nodes(Some()).certify([named_star()], **WANTED))
    with pytest.raises(InvalidParameterError, match="'nodes' must have one entry for each of 2 graphs"):
        replace(archive, nodes=(1,))


def test_objects_that_are_no_graphs_and_laws_on_three_values(tmp_path):
    noise = sc.Noise(left=sc.Categorical(0.25, 3), right=sc.Categorical(0.45, 3))
    archive = Archive.from_result(boards(noise))
    told = written(tmp_path, archive)
    assert told["noise"][0] == {
        "region": "left",
        "categorical": 0.25,
        "values": 3,
        "exact": {"categorical": "1/4", "values": "3"},
    }
    assert read(tmp_path / FILE) == archive
    assert verify(tmp_path / FILE).verdict == "proved"


@pytest.mark.parametrize(
    ("law", "reason"),
    [
        ({"categorical": 0.25}, r"'noise\[0\].values' is missing: it says how many values"),
        ({"categorical": 0.25, "values": 2.5}, r"'noise\[0\].values' must be a whole number"),
        ({"categorical": 0.25, "values": 1}, "be a whole number of values, at least 2"),
        ({"categorical": 0.25, "values": 10**6}, r"'noise\[0\]' must be a law on at most 256 values"),
        ({"categorical": 1.5, "values": 3}, r"'noise\[0\].categorical' must be a probability"),
        ({"delete": 0.1, "add": 0.1, "change": 0.1}, r"'noise\[0\].types' is missing: it says how many types"),
        ({"delete": 0.6, "add": 0.1, "change": 0.6, "types": 3}, "delete \\+ change of 1 at most"),
        ({"flip": 0.1, "added": "never"}, r"'noise\[0\].added' must be 'uniform', 'graph' or a share for each type"),
        (
            {"categorical": 0.25, "values": 3, "flip": 0.1},
            r"'noise\[0\]' must be .* the named numbers of a law",
        ),
    ],
)
def test_laws_that_cannot_be_are_refused(tmp_path, law, reason):
    noise = sc.Noise(left=sc.Categorical(0.25, 3), right=sc.Categorical(0.45, 3))
    told = written(tmp_path, Archive.from_result(boards(noise)))
    fractions = {name: str(sc.archive.format.exact(value)) for name, value in law.items() if name != "added"}
    told["noise"][0] = {"region": "left", **law, "exact": fractions}
    with pytest.raises(ArchiveError, match=reason):
        read(rewritten(tmp_path, told))


@pytest.mark.parametrize(
    "law",
    [
        sc.Edges(delete=0.1, add=0.2, change=0.05, types=3),
        sc.Flip(0.1, added="graph"),
        sc.Flip(delete=0.1, add=0.2, added=(0.5, 0.25, 0.25)),
        sc.Flip(0.1),
        sc.Flip(delete=0.1, add=0.2),
    ],
)
def test_every_law_comes_back(tmp_path, law):
    bounds = sc.clopper_pearson(sc.Votes([[990, 10]], [[99, 1]]))
    box = (2,) * len(law.suffixes)
    archive = Archive.from_result(sc.certify(bounds, sc.Noise(bonds=law), max_radius=box))
    write(tmp_path / FILE, archive)
    assert read(tmp_path / FILE).noise == archive.noise
    assert verify(tmp_path / FILE).verdict == "proved"


def test_a_law_that_files_do_not_know_is_refused(tmp_path):
    archive = Archive.from_result(boards(sc.Noise(left=Spread(0.25), right=Spread(0.45))))
    with pytest.raises(InvalidParameterError, match="'noise' must have laws that files know"):
        write(tmp_path / FILE, archive)


def test_a_thousand_nodes_take_no_more_than_their_votes(tmp_path):
    """Per node some three hundred bytes: its votes twice, its bounds and its frontier."""
    graph = sc.Graph.from_networkx(nx.random_regular_graph(3, 1000, seed=1))
    result = nodes().certify([graph], samples=200, seed=1)
    write(tmp_path / FILE, Archive.from_result(result, labels=np.zeros(1000, dtype=int)))
    assert (tmp_path / FILE).stat().st_size < 450 * 1000
    assert verify(tmp_path / FILE).verdict == "proved"
