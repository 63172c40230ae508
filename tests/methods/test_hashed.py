"""Hashed voting on every sort of graph and classifier, and what it refuses; that it is sound is in tests/validity."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import starcert as sc
from starcert.objects import Sites
from starcert.objects.hashed_pairs import PairHash
from starcert.objects.threats import after

FEW = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 0), n_classes=2)
RING = sc.Graph(9, [(node, (node + 1) % 9) for node in range(9)])
CODES = np.array([2**place for place in range(6)])


class Arcs(sc.Classifier):
    """Any function of a directed graph on three nodes, given as a table."""

    n_classes, description = 2, "a table of arcs"
    table = np.random.default_rng(3).integers(0, 2, 64)

    def classify(self, graphs):
        return self.table[graphs.adjacency()[:, [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1]].astype(int) @ CODES]


class LinkedNodes(sc.Classifier):
    """Whether a node has a link."""

    n_classes, description = 2, "linked"

    def n_targets(self, frame):
        return frame.n_nodes

    def classify(self, graphs):
        return graphs.degrees() > 0


def test_arcs_are_hashed_in_their_order_and_decided_as_brute_force_does():
    arcs = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    rows = (np.arange(64)[:, None] >> np.arange(6)) & 1
    graphs = [sc.Graph(3, [a for a, there in zip(arcs, row, strict=True) if there], directed=True) for row in rows]
    voting = sc.HashedVotes(Arcs(), groups=3)
    groups = voting.hash.groups(graphs[0], *np.array(arcs).T, 3)
    found, apart = voting.certify(graphs, threat="flips:4", tried=6), (rows[:, None] != rows).sum(axis=2)
    assert len({*groups.tolist()}) > 1
    assert groups.tolist() != voting.hash.groups(graphs[0], *np.array(arcs)[:, ::-1].T, 3).tolist()
    votes = sum(Arcs.table[(rows * (groups == group)) @ CODES] for group in range(3))
    answers = (votes > 1).astype(int)
    nearest = np.where(answers[:, None] != answers, apart, 99).min(axis=1)
    assert np.array_equal(found.labels, answers)
    assert np.array_equal(found.certified_sizes, np.minimum(nearest - 1, 4))


def test_nodes_of_a_graph_are_rows():
    found = sc.HashedVotes(LinkedNodes(), groups=2).certify([RING, RING], threat="deletions:1")
    assert (len(found), found.objects.tolist()[8:10], found.targets.tolist()[8:10]) == (18, [0, 1], [8, 0])
    linked = [[(voter.edges == node).any() for voter in sc.HashedVotes(FEW, 2).copies([RING])[0]] for node in range(9)]
    assert found.proof.votes[:9].tolist() == np.array(linked).astype(int).tolist()
    assert found.nodes.names[:3] == (0, 1, 2)


def test_typed_edges_keep_their_types_and_may_change_them():
    graph = sc.Graph(4, [(0, 1), (1, 2), (2, 3)], edge_types=["a", "b", "a"], type_names=("a", "b"))
    base = sc.classifiers.from_callable(
        lambda graphs: (graphs.edges().types == 2).sum() * np.ones(len(graphs), int) > 9, n_classes=2, on="batch"
    )
    (copies,) = sc.HashedVotes(base, groups=3).copies([graph])
    assert sorted(int(each) for copy in copies for each in copy.edge_types) == [1, 1, 2]
    found = sc.HashedVotes(FEW, groups=3).certify([graph], threat="changes:2")
    assert found[0].verdict() == "certified"  # types are not looked at
    assert sc.HashedVotes(FEW, groups=3).certify([graph], threat="rewire:1").proof.relaxed == "flips:2"
    with pytest.raises(sc.InvalidParameterError, match="adds up over groups"):
        sc.HashedVotes(FEW, groups=3).certify([graph], threat="deletions:1 + additions:1")


def test_attacks_on_typed_edges_have_values_and_change_the_answer():
    graph = sc.Graph(4, [(0, 1), (1, 2), (2, 3)], edge_types=["a", "b", "a"], type_names=("a", "b"))
    base = sc.classifiers.from_callable(lambda b: (b.adjacency() == 2).any(axis=(1, 2)), n_classes=2, on="batch")
    voting, sites = sc.HashedVotes(base, groups=2), Sites.everything(graph, "all")
    found = voting.certify([graph], threat="changes:3")
    attack = found[0].attack()
    attacked = after(sites, 256 * np.array(attack.sites) + attack.values).graph
    assert found.labels.tolist() != voting.predict([attacked]).tolist() == [np.argmax(attack.votes)]


def test_results_depend_neither_on_workers_nor_on_batches():
    voting = sc.HashedVotes(FEW, groups=3, seed=5)
    with ThreadPoolExecutor(2) as executor:
        found = [voting.certify([RING], threat="flips:4", **options)
                 for options in ({}, {"batch_size": 3}, {"executor": executor})]  # fmt: skip
    assert len({(*each.certified_sizes, *each.broken_sizes, each.proof.attacks) for each in found}) == 1


def test_a_module_votes_in_its_own_batches():
    torch = pytest.importorskip("torch")

    class Edges(torch.nn.Module):
        def forward(self, x, edge_index, batch):
            edges = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], x[edge_index[0], 0])
            return torch.stack([torch.full_like(edges, 0.5), edges], dim=1)

    graph = sc.Graph(9, RING.edges, node_data={"x": np.ones((9, 1))})
    module = sc.classifiers.from_pyg(Edges(), n_classes=2)
    own, function = (sc.HashedVotes(base, groups=4).certify([graph], threat="flips:4") for base in (module, FEW))
    assert np.array_equal(own.proof.votes, function.proof.votes)
    assert (own[0].certified_size, own[0].broken_size) == (function[0].certified_size, function[0].broken_size)


def test_records_say_what_is_known():
    voting = sc.HashedVotes(FEW, groups=5, seed=1)
    found = voting.certify([RING, sc.Graph(9, [])], threat="flips:5", tried=3)
    assert found.certified_accuracy([1, 0], 1) == 1.0
    assert [(each.n_certified, each.n_broken, each.n_open) for each in found.counts([1, 0])][:3] == [
        (2, 0, 0),
        (2, 0, 0),
        (1, 1, 0),
    ]
    one = found[1]
    assert (found.proof.votes[1].tolist(), one.certified_size, one.broken_size) == ([0] * 5, 2, 3)
    assert [one.verdict(size) for size in (1, 2, 3)] == ["certified", "certified", "broken"]
    assert repr(found).startswith("Certificates(2 graphs, 5 voters, exact rule")
    assert (found.rows()[1]["votes_0"], found.to_frame()["certified_size"].tolist()) == (
        5,
        found.certified_sizes.tolist(),
    )
    assert "part of deletions:1 + additions:1" in voting.certify([RING], threat="rewire:1")[0].why()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: sc.HashedVotes(FEW, 0), "groups"),
        (lambda: sc.HashedVotes(FEW, {"one": 2, "two": 2}), "groups"),
        (lambda: sc.HashedVotes(FEW, 3).certify([RING], threat="flips:1", rule="greedy"), "rule"),
        (lambda: sc.HashedVotes(FEW, 3).certify([RING], threat="flips:1 | rewire:1"), "adds up over groups"),
        (lambda: sc.HashedVotes(FEW, 3).certify([sc.Bits([0, 1])], threat="flips:1"), "graphs"),
    ],
)
def test_what_is_refused(wrong, message):
    with pytest.raises(sc.InvalidParameterError, match=message):
        wrong()


def test_groups_follow_from_names_alone():
    names, hashed = list("vwxyz"), PairHash(7)
    one, other = sc.Graph(5, [], nodes=names), sc.Graph(3, [(0, 1)], nodes=["y", "w", "z"])
    w_y, y_w = (hashed.groups(graph, np.array([u]), np.array([v]), 100) for graph, u, v in [(one, 1, 3), (other, 0, 1)])
    assert w_y == y_w
    u, v = np.triu_indices(60, 1)
    shares = np.bincount(hashed.groups(sc.Graph(60, []), u, v, 10)) / len(u)
    assert (abs(shares - 0.1) < 0.03).all()
