"""A blind model is certified everywhere: in whole small worlds no attack changes its answer. Models that peek fail.

Its candidates are trees here, which use whatever they are shown, and they learn classes that follow from what may be
attacked: a model that saw any of it would answer by it.
"""

from itertools import combinations, product

import numpy as np
import pytest

import starcert as sc
from starcert.baselines import blind, blind_model
from starcert.objects.graph_kind import GraphKind
from starcert.objects.kinds import Untouched

tree = pytest.importorskip("sklearn.tree")

ATOMS = ("CCNO", "CCCO", "NNOO", "CCCC")


@pytest.fixture(autouse=True)
def greedy(monkeypatch):
    """A tree that always wins against the constant, and learns all by heart."""
    trees = {"tree": lambda: tree.DecisionTreeClassifier(random_state=0)}
    monkeypatch.setattr(blind_model, "estimators", lambda seed: trees)
    monkeypatch.setattr(blind_model, "fit_constant", lambda labels: lambda asked: np.full(len(asked), -1))


def sets(ends, values=2):
    """All choices of values for these sites."""
    return product(range(values), repeat=len(ends))


def graphs(ends, atoms=ATOMS, *, directed=False, names=()):
    """Every graph with four nodes and edges at these ends, for every choice of atoms, and what no attack changes."""
    for labels, values in product(atoms, sets(ends, 1 + max(1, len(names)))):
        present = [(pair, value) for pair, value in zip(ends, values, strict=True) if value]
        types = {"edge_types": [names[value - 1] for _, value in present], "type_names": names} if names else {}
        data = {"element": list(labels), "charge": [float(each == "O") / 3 for each in labels]}
        degrees = {"degree": [sum(node in pair for pair, _ in present) for node in range(4)]}
        edges = [pair for pair, _ in present]
        yield sc.Graph(4, edges, directed=directed, node_data=data, anchored_data=degrees, **types), labels


PAIRS = list(combinations(range(4), 2))
ARCS = [(0, 1), (1, 0), (1, 2), (2, 3)]
BONDS = sc.Noise(bonds=sc.Edges(delete=0.1, add=0.1, change=0.1))
INNER = [(0, 1), (0, 2), (1, 2)]


def with_fixed_pairs():
    inner = sc.Partition.from_pairs({"inner": INNER}, anchored=False)
    made = [(each, (atoms, tuple(map(tuple, each.edges[each.edges[:, 1] == 3])))) for each, atoms in graphs(PAIRS)]
    return made, {"noise": sc.Noise(inner=0.1), "regions": inner}


def with_bits(threat=None):
    """Two nodes and their pair, and two bits at each: the pair and the bits of the first column are attacked."""
    made = []
    for pair, bits in product((0, 1), sets(range(4))):
        x = np.reshape(bits, (2, 2))
        graph = sc.Graph(2, [(0, 1)] * pair, node_data={"x": x}).with_bits("x")
        made.append((graph, tuple(bits) if threat else tuple(sorted(x[:, 1].tolist()))))
    regions = sc.Partition.everything("pairs") | sc.Partition.from_columns("x", {"bits": [0]})
    return made, {"noise": sc.Noise(pairs=0.1, bits=0.1), "regions": regions, "threat": threat}


def rows(alphabet):
    made = []
    for values in sets(range(4), alphabet):
        row = sc.Bits(values) if alphabet == 2 else sc.Categories(values, values=alphabet)
        made.append((row, values[2:]))
    law = 0.1 if alphabet == 2 else sc.Categorical(0.1)
    return made, {"noise": sc.Noise(a=law, b=law), "regions": {"a": [0], "b": [1]}}


WORLDS = {
    "pairs": lambda: (list(graphs(PAIRS)), {"noise": sc.Noise(pairs=0.1)}),
    "no noise named": lambda: (list(graphs(PAIRS)), {}),
    "arcs": lambda: (list(graphs(ARCS, directed=True)), {"noise": sc.Noise(arcs=0.1)}),
    "types": lambda: (
        list(graphs(INNER, names=("a", "b"))),
        {"noise": BONDS},
    ),
    "fixed pairs": with_fixed_pairs,
    "bits": with_bits,
    "bits that a threat leaves alone": lambda: with_bits("rewire:1"),
    "rows of bits": lambda: rows(2),
    "rows of categories": lambda: rows(3),
}


def tempting(objects):
    """Classes that follow from all there is to see: whether there are many edges and other values."""
    sizes = [sum(len(each.nonzero(layer.name)[1]) for layer in each.layers) for each in objects]
    return [int(size > np.median(sizes)) for size in sizes]


def answers_by_key(made, labels=None, **given):
    """The answers of a blind model that learned from the whole world, by what no attack changes."""
    objects = [each for each, _ in made]
    model = blind(objects, tempting(objects) if labels is None else labels, **given)
    found = {}
    for answer, (_, key) in zip(model.predict(objects).tolist(), made, strict=True):
        found.setdefault(key, set()).add(answer)
    return found


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_no_attack_changes_its_answer(world):
    made, given = world()
    assert all(len(answers) == 1 for answers in answers_by_key(made, **given).values())


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_it_uses_what_no_attack_changes(world):
    made, given = world()
    keys = {key: number % 2 for number, key in enumerate(sorted({key for _, key in made}))}
    found = answers_by_key(made, [keys[key] for _, key in made], **given)
    assert {answer for answers in found.values() for answer in answers} == {0, 1}


def test_a_model_that_sees_the_number_of_edges_fails(monkeypatch):
    whole = GraphKind.untouched

    def peeking(self, sites, noise=None, threat=None):
        seen = whole(self, sites, noise, threat)
        return Untouched({"edges": sites.graph.n_edges}, seen.parts, seen.n_parts, seen.part)

    monkeypatch.setattr(GraphKind, "untouched", peeking)
    made, given = WORLDS["pairs"]()
    assert any(len(answers) > 1 for answers in answers_by_key(made, **given).values())


def with_and_without_nodes():
    """Graphs of one to four nodes with any atoms: what removing and injecting nodes makes of one another."""
    for n in range(1, 5):
        for labels in product("CN", repeat=n):
            edges = [(0, n - 1)] if n > 1 else []
            yield sc.Graph(n, edges, node_data={"element": list(labels)}), ()


@pytest.mark.parametrize("threat", ["delete_node:1", "inject:2", "flips:1 | delete_node:2"])
def test_nothing_is_counted_where_nodes_come_or_go(threat):
    assert len(answers_by_nodes(threat)) == 1


def test_a_model_that_counts_nodes_fails_where_they_come_or_go():
    assert len(answers_by_nodes("flips:1")) > 1


def answers_by_nodes(threat):
    made = list(with_and_without_nodes())
    many = [int(graph.n_nodes > 3) for graph, _ in made]
    (answers,) = answers_by_key(made, many, noise=sc.Noise(pairs=0.1), threat=threat).values()
    return answers


def anchored(graph):
    return sc.Partition.from_pairs({"inner": [(0, 1)] if graph.n_edges > 2 else [(2, 3)]})


def test_regions_that_were_read_off_edges_show_no_fixed_edge():
    found = answers_by_key(list(graphs(PAIRS)), noise=sc.Noise(inner=0.1), regions=anchored)
    assert all(len(answers) == 1 for answers in found.values())


FEATURES = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1], [0, 1, 0]])


def node_answers(graphs, **given):
    data = sc.datasets.Dataset(graphs[0], [0, 0, 1, 1, None])
    model = blind(data, nodes=[0, 1, 2, 3], noise=sc.Noise(pairs=0.1), **given)
    return [model.predict(each) for each in graphs]


def graphs_of_nodes(keep=range(5)):
    ends = [(0, 1), (1, 2), (2, 3), (3, 4)]
    for values in sets(ends):
        edges = [pair for pair, value in zip(ends, values, strict=True) if value and set(pair) <= set(keep)]
        place = {node: number for number, node in enumerate(keep)}
        moved = [(place[u], place[v]) for u, v in edges]
        yield sc.Graph(len(place), moved, nodes=list(keep), node_data={"x": FEATURES[list(keep)]})


def test_answers_for_nodes_do_not_depend_on_edges():
    found = node_answers(list(graphs_of_nodes()))
    assert len({tuple(each) for each in found}) == 1
    assert len(set(found[0])) == 2


def test_answers_for_nodes_that_look_at_edges_fail(monkeypatch):
    whole = GraphKind.untouched

    def peeking(self, sites, noise=None, threat=None):
        seen = whole(self, sites, noise, threat)
        return Untouched({}, {}, seen.n_parts, "node", sites.graph.edges)

    monkeypatch.setattr(GraphKind, "untouched", peeking)
    assert len({tuple(each) for each in node_answers(list(graphs_of_nodes())[::-1])}) > 1


def test_answers_for_nodes_do_not_depend_on_nodes_that_are_removed():
    whole, smaller = next(graphs_of_nodes()), list(graphs_of_nodes((0, 1, 3, 4)))[-1]
    found, others = node_answers([whole, smaller], threat="delete_node:1")
    assert found[[0, 1, 3, 4]].tolist() == others.tolist()


def test_no_neighbours_are_looked_for_where_nodes_come_or_go():
    data = sc.datasets.Dataset(next(graphs_of_nodes()), [0, 0, 1, 1, None])
    tried = {
        threat: [each.description for each in blind(data, nodes=[0, 1, 2, 3], threat=threat).candidates]
        for threat in ("flips:1", "delete_node:1", "inject:1")
    }
    near = {threat: any("neighbours" in each for each in found) for threat, found in tried.items()}
    assert near == {"flips:1": True, "delete_node:1": False, "inject:1": False}
