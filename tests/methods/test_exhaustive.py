"""The base classifier by itself, under every attack: beside every object there is, one by one."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from target_worlds import Busy, Some, named_star

import starcert as sc
from starcert.methods import trying
from starcert.objects.sites import Sites
from starcert.objects.threats import read_threat
from starcert.system.errors import InvalidParameterError, StoreSettingsError

PAIRS = list(combinations(range(4), 2))
GRAPHS = [
    sc.Graph(4, [pair for pair, there in zip(PAIRS, bits, strict=True) if there]) for bits in product((0, 1), repeat=6)
]
TYPED = sc.Graph(3, [(0, 1), (1, 2)], edge_types=["s", "d"], type_names=("s", "d"))
THREATS = [
    "flips:2",
    "box:2,1",
    "box:1,1 & flips:1",
    "deletions:2",
    "rewire:2",
    "swap:1",
    "deletions:1 + additions:1",
    "local:2,per_node=1",
]


def by_edges(graph, least):
    return int(graph.number_of_edges() * 2 + graph.has_edge(1, 3) > least)


def attacked(graph, attack):
    other = graph.to_networkx()
    for site, value in attack:
        (other.add_edge if value else other.remove_edge)(*PAIRS[site])
    return other


@pytest.mark.parametrize("least", [3, 6])
@pytest.mark.parametrize("text", THREATS)
def test_every_graph_on_four_nodes_under_every_attack(text, least):
    """Beside the attacks that the threat lists, tried one by one on graphs of networkx."""
    base = sc.classifiers.from_callable(lambda graph: by_edges(graph, least), n_classes=2)
    noise = sc.Noise(all=sc.Flip(delete=0.2, add=0.1))
    threat = read_threat(text).for_noise(noise)
    found = sc.ExactClassifier(base, noise).certify(GRAPHS[::7], threat=text)
    for graph, one in zip(GRAPHS[::7], found, strict=True):
        sites = Sites.everything(graph, "all")
        answer, breaking = by_edges(graph.to_networkx(), least), {}
        assert one.label == answer
        for size in range(1, threat.most + 1):
            every = list(threat.attacks(sites, size))
            breaking[size] = [attack for attack in every if by_edges(attacked(graph, attack), least) != answer]
            kind = "broken" if any(breaking.values()) else "certified"
            assert one.verdict(size) == kind
            if kind == "certified":
                number = sum(len(list(threat.attacks(sites, each))) for each in range(1, size + 1))
                assert one.why(size) in (
                    f"by trying all {number:,} attack{'s' * (number != 1)}",
                    "there is no such attack",
                )
        if one.attack() is not None:
            assert set(one.attack().sites) in [{site for site, _ in each} for each in breaking[one.broken_size]]


def answer(values):
    return (values @ np.array([1, 2, 3]) % 7 > 3).astype(int)


def on_values():
    return sc.classifiers.from_callable(lambda batch: answer(batch.values.astype(int)), on="batch", n_classes=2)


def smallest(clean, alphabet):
    """For each number of changes the vectors on which the answer is another one."""
    found = {}
    for vector in product(range(alphabet), repeat=len(clean)):
        size = sum(x != y for x, y in zip(clean, vector, strict=True))
        if size and answer(np.array(vector)) != answer(np.array(clean)):
            found.setdefault(size, set()).add(vector)
    return found


@pytest.mark.parametrize("clean", list(product(range(3), repeat=3)))
def test_typed_pairs_and_rows_of_three_values(clean):
    """All values of three sites, as bonds and as a row; without a noise any value may become any other."""
    edges = [(pair, value) for pair, value in zip(combinations(range(3), 2), clean, strict=True) if value]
    types = ["sd"[value - 1] for _, value in edges]
    bonds = sc.Graph(3, [pair for pair, _ in edges], edge_types=types, type_names=("s", "d"))
    expected = smallest(clean, 3)
    for one in (
        *sc.ExactClassifier(on_values()).certify([bonds], threat="flips:3"),
        *sc.ExactClassifier(on_values(), sc.Noise(all=sc.Edges(delete=0.1, add=0.1, change=0.1))).certify(
            [bonds], threat="flips:3"
        ),
        *sc.ExactClassifier(on_values()).certify([sc.Categories(clean, values=3)], threat="flips:3"),
    ):
        assert one.certificates.proof.ends[0] == (6, 18, 26)
        assert one.broken_size == min(expected, default=None)
        if one.attack() is not None:
            vector = list(clean)
            for site, value in zip(one.attack().sites, one.attack().values, strict=True):
                vector[site] = value
            assert tuple(vector) in expected[one.broken_size]
        else:
            assert one.certified_size == 3


def test_arcs_and_bits():
    arcs = list(product(range(3), repeat=2))
    arcs = [(u, v) for u, v in arcs if u != v]

    def forward(graph):
        return int(sum(u < v for u, v in graph.edges) > 1)

    base = sc.classifiers.from_callable(forward, n_classes=2)
    graph = sc.Graph(3, [(0, 1), (2, 1)], directed=True)
    (one,) = sc.ExactClassifier(base).certify([graph], threat="flips:2")
    assert (one.label, one.verdict(1), one.certificates.proof.ends[0]) == (0, "broken", (6, 21))
    (u,), (v,) = Sites.everything(graph, "all").coordinates(np.array(one.attack().sites))
    assert (u, v) in arcs
    assert forward(nx.DiGraph([*map(tuple, graph.edges.tolist()), (u, v)])) == 1
    row = sc.Bits([0, 1, 1, 0])
    total = sc.classifiers.from_callable(lambda rows: rows.sum(axis=1) > 3, on="vectors", n_classes=2)
    (one,) = sc.ExactClassifier(total).certify([row], threat="flips:3")
    assert (one.certified_size, one.broken_size, one.attack().sites, one.certificates.proof.tried_for(one.row)) == (
        1,
        2,
        (0, 3),
        8,
    )


@pytest.mark.parametrize("base", [Busy(), Some()])
def test_nodes_are_decided_one_by_one(base):
    """Whether a node has more than two neighbours: two deletions change the hub, two additions a leaf."""
    graph = named_star()
    found = sc.ExactClassifier(base).certify([graph, graph], threat="flips:2")
    nodes = base.target_nodes(graph.frame).tolist() * 2
    assert [one.target for one in found] == [*range(len(nodes) // 2)] * 2
    pairs = list(combinations(range(5), 2))
    for one, node in zip(found, nodes, strict=True):
        flipped = {pairs[site] for site in one.attack().sites}
        assert (one.certified_size, one.broken_size) == (1, 2)
        assert all(node in pair for pair in flipped)
    assert found.rows()[0]["node"] == "hub"
    first = found.counts()[0]
    assert (first.label, first.n_graphs, first.n_certified, first.n_open) == ("any 1 flip", len(nodes), len(nodes), 0)


def test_a_budget_that_runs_out_says_what_is_left():
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 4), n_classes=2)
    graph = sc.Graph(4, [(0, 1), (1, 2)])
    for text, number in (("rewire:1", 6), ("flips:2", 21)):
        (few,) = sc.ExactClassifier(base).certify([graph], threat=text, max_attacks=5)
        assert (few.verdict(), few.certificates.proof.left(0)) == ("open", number - 5)
        assert few.why() == f"5 of {number} attacks were tried: {number - 5} are left"
        (all_of_them,) = sc.ExactClassifier(base).certify([graph], threat=text, max_attacks=number)
        assert (all_of_them.verdict(), all_of_them.certificates.proof.left(0)) == ("certified", 0)
    found = sc.ExactClassifier(base).certify([graph, graph], threat="flips:3", max_attacks=25)
    assert [one.certified_size for one in found] == [2, 2]
    assert [(row.n_certified, row.n_open, row.n_left) for row in found.counts([0, 1])] == [
        (1, 0, 0),
        (1, 0, 0),
        (0, 1, 16),
    ]
    assert (found.certified_accuracy([0, 1], 2), found.certified_accuracy([0, None])) == (0.5, 0.0)
    assert (found.alpha, found.proof.forward_passes) == (0, 52)


def test_neither_batches_nor_workers_change_what_is_found():
    base = Busy()
    graphs = [named_star(), *GRAPHS[3:60:9]]
    wanted = sc.ExactClassifier(base).certify(graphs, threat="flips:3")
    with ThreadPoolExecutor(3) as pool:
        for how in ({"batch_size": 2}, {"batch_size": 7}, {"executor": pool}, {"executor": pool, "batch_size": 5}):
            found = sc.ExactClassifier(base).certify(graphs, threat="flips:3", **how)
            assert (found.rows(), found.proof.tried) == (wanted.rows(), wanted.proof.tried)
            np.testing.assert_array_equal(found.proof.first, wanted.proof.first)


class StoppedError(Exception):
    """Stands for whatever ends a run."""


class Fragile(Busy):
    """It fails once it was asked too often."""

    def __init__(self, calls):
        self.calls = calls

    def classify(self, graphs):
        self.calls -= 1
        if self.calls < 0:
            raise StoppedError
        return super().classify(graphs)


@pytest.mark.parametrize("calls", [12, 20, 33, 47])
def test_an_interrupted_run_goes_on_where_it_was(tmp_path, monkeypatch, calls):
    """Kept after every piece here: what was tried is not tried again, and nothing else differs."""
    monkeypatch.setattr(trying, "SAVE_SECONDS", -1)
    graphs = [named_star(), *GRAPHS[3:60:19]]
    how = {"threat": "flips:3", "batch_size": 11}
    wanted = sc.ExactClassifier(Busy()).certify(graphs, **how)
    with pytest.raises(sc.ClassifierError):
        sc.ExactClassifier(Fragile(calls)).certify(graphs, **how, store=tmp_path / "tried.json")
    kept = json.loads((tmp_path / "tried.json").read_text())["objects"]
    found = sc.ExactClassifier(Busy()).certify(graphs, **how, store=tmp_path / "tried.json")
    assert (found.rows(), found.proof.tried) == (wanted.rows(), wanted.proof.tried)
    done = json.loads((tmp_path / "tried.json").read_text())["objects"]
    assert sum(each["done"] for each in kept.values()) <= sum(each["done"] for each in done.values())
    again = sc.ExactClassifier(Fragile(2 + 32)).certify(graphs, **how, store=tmp_path / "tried.json")
    assert again.rows() == wanted.rows()  # all calls are for the audit


def test_a_larger_budget_goes_on_and_a_smaller_one_claims_less(tmp_path):
    graphs, store = [named_star(), GRAPHS[0]], tmp_path / "tried.json"
    exact = sc.ExactClassifier(Busy())
    few = exact.certify(graphs, threat="flips:2", max_attacks=12, store=store)
    more = exact.certify(graphs, threat="flips:2", store=store)
    assert {one.verdict() for one in few} >= {"open"}
    assert more.rows() == exact.certify(graphs, threat="flips:2").rows()
    assert exact.certify(graphs, threat="flips:2", max_attacks=12, store=store).rows() == few.rows()
    with pytest.raises(StoreSettingsError, match=r"threat: 'flips:2', not 'flips:3'"):
        exact.certify(graphs, threat="flips:3", store=store)
    store.write_text("{")
    with pytest.raises(sc.StoreError, match="not a file of attacks that were tried"):
        exact.certify(graphs, threat="flips:2", store=store)


def test_a_file_of_other_attacks_is_refused_even_if_the_threat_has_the_same_text(tmp_path):
    """Otherwise attacks that were never tried would count as harmless."""
    graph, store = sc.Graph(5, [(0, 1)]), tmp_path / "tried.json"
    exact = sc.ExactClassifier(sc.classifiers.from_callable(lambda g: int(g.has_edge(2, 3)), n_classes=2))
    first, second = (sc.threats.Where(lambda frame, u, v, at=at: u == at, 1, name="near") for at in (0, 2))
    assert str(first) == str(second)
    assert exact.certify([graph], threat=first, store=store)[0].certified_size == 1
    assert exact.certify([graph], threat=second)[0].certified_size == 0
    with pytest.raises(StoreSettingsError, match="attacks: "):
        exact.certify([graph], threat=second, store=store)
    whole = json.loads(store.read_text())
    del whole["about"]["attacks"]  # as version 0.2.0 wrote it
    store.write_text(json.dumps(whole))
    with pytest.raises(StoreSettingsError, match="attacks: None"):
        exact.certify([graph], threat=first, store=store)


@dataclass(frozen=True)
class MissesOne(sc.threats.AnyFlips):
    """Any flips, but one of its attacks is not on the list."""

    missing: int = 0

    def attacks(self, sites, size):
        found = super().attacks(sites, size)
        blocks = tuple(np.delete(block, self.missing, axis=0) for block in found.blocks)
        return type(found)(blocks) if size == 1 else found


def test_a_list_that_misses_the_one_attack_that_breaks_certifies_what_is_broken():
    """A control: that the list is complete is what the verdict rests on. A threat that lists for itself is believed."""
    base = sc.classifiers.from_callable(lambda rows: rows[:, 2] > 0, on="vectors", n_classes=2)
    row = sc.Bits([0, 1, 0, 1])
    (whole,) = sc.ExactClassifier(base).certify([row], threat="flips:1")
    (missed,) = sc.ExactClassifier(base).certify([row], threat=MissesOne(1, missing=2))
    (other,) = sc.ExactClassifier(base).certify([row], threat=MissesOne(1, missing=1))
    assert [one.verdict() for one in (whole, missed, other)] == ["broken", "certified", "broken"]


class Neighbourly(Busy):
    """Its answers depend on the other graphs of a batch, or on how often it was asked."""

    def __init__(self, least):
        self.least, self.asked = least, 0

    def classify(self, graphs):
        self.asked += 1
        return graphs.degrees() > 2 + (len(graphs) > self.least)


class Late(Neighbourly):
    """Asked alone it is another one, but not yet when it is checked; the audit sees it."""

    def classify(self, graphs):
        self.asked += 1
        return graphs.degrees() > 2 + (len(graphs) == 1 and self.asked > self.least)


class Moving(Neighbourly):
    """From some call on it is another one."""

    def classify(self, graphs):
        self.asked += 1
        return graphs.degrees() > 2 + (self.asked > self.least)


@pytest.mark.parametrize("base", [Neighbourly(2), Neighbourly(9), Late(12), Moving(12)])
def test_answers_that_depend_on_the_batch_or_on_time_are_refused_and_not_kept(base, tmp_path):
    star, store = sc.Graph.from_networkx(nx.star_graph(3)), tmp_path / "tried.json"
    with pytest.raises(sc.ClassifierError, match="beside it"):
        sc.ExactClassifier(base).certify([star], threat="flips:2", store=store, batch_size=10)
    assert not store.exists()


def test_another_classifier_of_the_same_description_does_not_continue(tmp_path):
    """The first and the last attack are tried again, whichever run tried them."""
    store, how = tmp_path / "tried.json", {"threat": "flips:2"}
    sc.ExactClassifier(Busy()).certify([named_star(), GRAPHS[0]], store=store, **how)
    with pytest.raises(sc.ClassifierError, match=r"graph 0 \(target \d\) with class . in a batch, but"):
        sc.ExactClassifier(Moving(0)).certify([named_star(), GRAPHS[0]], store=store, **how)
    assert not store.exists()


def test_what_cannot_be_tried_is_refused():
    with pytest.raises(InvalidParameterError, match="the type of an added edge"):
        sc.ExactClassifier(on_values(), sc.Noise(all=0.1)).certify([TYPED], threat="flips:1")
    with pytest.raises(InvalidParameterError, match="hold at least one graph"):
        sc.ExactClassifier(on_values()).certify([], threat="flips:1")
    with pytest.raises(InvalidParameterError, match="the same with fewer units"):
        sc.ExactClassifier(Busy()).certify([named_star()], threat="flips:1")[0].verdict("flips:2")
    with pytest.raises(InvalidParameterError, match="at most 10⁴⁰⁰ attacks"):
        sc.ExactClassifier(on_values()).certify([sc.Bits([0] * 3000)], threat="flips:1000")
    with pytest.raises(InvalidParameterError, match="answers classes"):
        sc.ExactClassifier(len)


def test_rows_say_what_is_right_where_the_classes_are_known():
    base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 2), n_classes=2)
    found = sc.ExactClassifier(base).certify([sc.Graph(4, [(0, 1), (1, 2)]), sc.Graph(4, [])] * 2, threat="flips:1")
    rows = found.rows([0, 1, None, 0], names=list("abcd"))
    assert [(row["name"], row["true_class"], row["right"]) for row in rows] == [
        ("a", 0, True), ("b", 1, False), ("c", None, None), ("d", 0, True)
    ]  # fmt: skip
    for wrong, given in (("base", {"base": [0] * 4}), ("names", {"names": ["a"]})):
        with pytest.raises(InvalidParameterError, match=wrong):
            found.rows(**given)
