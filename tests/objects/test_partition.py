import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcert.objects import Graph, Partition
from starcert.system.errors import InvalidParameterError


def regions_of(partition, graph):
    """The pairs of each region, by the names of the nodes."""
    sites = partition.sites(graph)
    u, v = sites.coordinates(np.arange(sites.n_sites))
    pairs = [{graph.nodes[a], graph.nodes[b]} for a, b in zip(u, v, strict=True)]
    bounds = zip(sites.regions, sites.offsets, sites.sizes, strict=True)
    return {region: pairs[offset : offset + size] for region, offset, size in bounds}


def test_regions_speak_of_names():
    graph = Graph(4, [(0, 1)], nodes=["O", "C2", "C1", "H"])
    partition = Partition.from_node_sets({"carbon": ["C1", "C2"], "rest": ["O"]}, between={"bond": ("rest", "carbon")})
    regions = regions_of(partition, graph)
    assert regions == {"carbon": [{"C1", "C2"}], "rest": [], "bond": [{"O", "C2"}, {"O", "C1"}]}


def test_node_labels():
    labels = {"p": 1, "q": 2, "r": 1, "s": 2, "t": 1}
    graph = Graph(6, [], nodes="pqrstu")
    inside = {"1": [{"p", "r"}, {"p", "t"}, {"r", "t"}], "2": [{"q", "s"}]}
    assert regions_of(Partition.from_node_labels(labels), graph) == inside
    mixed = regions_of(Partition.from_node_labels(labels, between="mixed"), graph)
    assert list(mixed) == ["1", "2", "mixed"]
    assert sorted(map(sorted, mixed["mixed"])) == sorted(sorted((x, y)) for x in "prt" for y in "qs")


@pytest.mark.parametrize("labels", [["a", "b", "a"], np.array(["a", "b", "a"]), {0: "a", 1: "b", 2: "a"}])
def test_labels_by_position(labels):
    partition = Partition.from_node_labels(labels)
    assert partition == Partition.from_node_sets({"a": [0, 2], "b": [1]})


def test_a_label_that_is_a_whole_number_names_its_region_so():
    assert Partition.from_node_labels(np.array([6.0, 8.0, 6.0])).regions == ("6", "8")


def test_labels_with_one_str_are_refused():
    with pytest.raises(InvalidParameterError, match=r"their str. Got \(1, '1'\)"):
        Partition.from_node_labels([1, "1"])


def test_present_edges():
    graph = Graph(4, [(0, 1), (1, 2)], nodes="abcd")
    partition = Partition.from_present_edges(graph, present="bonds", absent="gaps")
    assert partition.anchored
    assert partition.reason.endswith(".")
    assert "bonds" in partition.reason
    attacked = Graph(4, [(0, 3)], nodes="abcd")
    for other in (graph, attacked):  # the regions are frozen at the graph they were derived from
        regions = regions_of(partition, other)
        assert regions["bonds"] == [{"a", "b"}, {"b", "c"}]
        assert sorted(map(sorted, regions["gaps"])) == [["a", "c"], ["a", "d"], ["b", "d"], ["c", "d"]]
    assert partition.sites(graph).nonzero[0].tolist() == [0, 1]
    assert partition.sites(Graph(4, [], nodes="dcba")).sizes == (2, 4)


@st.composite
def sets_and_between(draw):
    sets = {name: draw(st.frozensets(st.integers(0, 5))) for name in "abcd"}
    names = st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"))
    between = {f"x{number}": pair for number, pair in enumerate(draw(st.lists(names, max_size=2)))}
    return sets, between


@given(sets_and_between())
def test_overlaps_against_listing_all_pairs(case):
    sets, between = case
    if any(sets[one] & sets[other] for one, other in between.values()):
        with pytest.raises(InvalidParameterError, match="without a common node"):
            Partition.from_node_sets(sets, between=between)
        return
    regions = {name: {frozenset(pair) for pair in combinations(nodes, 2)} for name, nodes in sets.items()}
    for name, (one, other) in between.items():
        regions[name] = {frozenset((u, v)) for u in sets[one] for v in sets[other]}
    shared = {(one, other): regions[one] & regions[other] for one, other in combinations(regions, 2)}
    if any(shared.values()):
        with pytest.raises(InvalidParameterError, match="be disjoint") as caught:
            Partition.from_node_sets(sets, between=between)
        message = str(caught.value)
        named = [key for key, pairs in shared.items() if pairs and f"in both {key[0]!r} and {key[1]!r}" in message]
        assert len(named) == 1
        shown = [(u, v) for pair in shared[named[0]] for u in pair for v in pair if u != v]
        assert any(f"{pair!r} in both" in message for pair in shown)
    else:
        found = regions_of(Partition.from_node_sets(sets, between=between), Graph(6, []))
        assert {name: set(map(frozenset, pairs)) for name, pairs in found.items()} == regions


@pytest.mark.parametrize(
    ("regions", "problem"),
    [
        ({"a": [(0, 1)], "b": [(2, 3), (1, 0)]}, r"\(1, 0\) in both 'a' and 'b'"),
        ({"a": [(0, 1), (1, 0)]}, r"regions\[a\].*once.*\(1, 0\) twice"),
        ({"a": [(0, 1), (2, 2)]}, r"regions\[a\]' pairs the node 2 with itself"),
        ({"a": [(0, 1, 2)]}, r"pairs of nodes. Got \(0, 1, 2\)"),
        ({"a": [3]}, "pairs of nodes. Got 3"),
        ({"a": [([], 1)]}, r"pairs of nodes. Got \(\[\], 1\)"),
    ],
)
def test_bad_pairs_are_refused_by_name(regions, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        Partition.from_pairs(regions)


@pytest.mark.parametrize(
    ("between", "problem"),
    [
        ({"x": ("a", "c")}, r"between\[x\].*two of the sets 'a', 'b'.*\('a', 'c'\)"),
        ({"x": ("a",)}, r"between\[x\]"),
        ({"x": 3}, r"between\[x\]"),
        ({"x": ("a", "a")}, "0 in 'a' and 'a'"),
        ({"a": ("a", "b")}, "'a' twice"),
        ({"x": ("a", "b"), "y": ("b", "a")}, "in both 'x' and 'y'"),
    ],
)
def test_bad_regions_between_are_refused(between, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        Partition.from_node_sets({"a": [0], "b": [2]}, between=between)


@pytest.mark.parametrize("name", ["", "a.b", "a b", "a=b", "a,b", "a/b", 3, None])
def test_region_names_must_be_able_to_name_axes(name):
    for make in (
        lambda: Partition.everything(name),
        lambda: Partition.from_node_sets({name: [0, 1]}),
        lambda: Partition.from_pairs({name: [(0, 1)]}),
        lambda: Partition.from_present_edges(Graph(2, []), present="p", absent=name),
    ):
        with pytest.raises(InvalidParameterError, match="have names without spaces"):
            make()
    if name is not None and name != 3:
        with pytest.raises(InvalidParameterError, match="have names without spaces"):
            Partition.from_node_labels([name])


def test_region_names_differ():
    with pytest.raises(InvalidParameterError, match=r"different names. Got \"'a' twice\""):
        Partition.from_node_labels(["a", "b"], between="a")
    with pytest.raises(InvalidParameterError, match="different names"):
        Partition.from_present_edges(Graph(2, []), present="p", absent="p")


@pytest.mark.parametrize(
    "partition",
    [
        Partition.from_node_sets({"a": ["p", "z"]}),
        Partition.from_node_sets({"a": ["p"], "b": ["z"]}, between={"x": ("a", "b")}),
        Partition.from_node_labels({"p": 1, "z": 1}, between="x"),
        Partition.from_pairs({"a": [("p", "z")]}),
        Partition.from_present_edges(Graph(2, [(0, 1)], nodes="pz"), present="x", absent="y"),
    ],
)
def test_nodes_that_the_graph_lacks_are_refused_by_name(partition):
    with pytest.raises(InvalidParameterError, match=r"Graph\(2 nodes, 0 edges\) without a node 'z'"):
        partition.sites(Graph(2, [], nodes="pq"))


def test_anchored_pairs_carry_a_reason():
    rings = {"ring": [(0, 1)]}
    assert Partition.from_pairs(rings, anchored=True, reason="They are its rings.").reason == "They are its rings."
    assert Partition.from_pairs(rings, anchored=True).reason.endswith(".")
    sites = Partition.from_pairs(rings, anchored=True, reason="Rings.").sites(Graph(2, []))
    assert (sites.anchored, sites.reason) == (True, "Rings.")
    with pytest.raises(InvalidParameterError, match="anchored=True"):
        Partition.from_pairs(rings, reason="They are its rings.")


PARTITIONS = [
    Partition.everything("a"),
    Partition.everything("b"),
    Partition.from_node_sets({"a": range(3)}),
    Partition.from_node_sets({"a": range(3), "b": [3, 4]}),
    Partition.from_node_sets({"b": [3, 4], "a": range(3)}),
    Partition.from_node_sets({"a": range(3), "b": [3, 4]}, between={"x": ("a", "b")}),
    Partition.from_pairs({"a": [(0, 1)]}),
    Partition.from_pairs({"a": [(0, 2)]}),
    Partition.from_pairs({"a": [(0, 1)]}, anchored=True),
    Partition.from_present_edges(Graph(3, [(0, 1)]), present="a", absent="b"),
    Partition.from_present_edges(Graph(3, [(0, 2)]), present="a", absent="b"),
]


def test_partitions_are_values():
    assert len(set(PARTITIONS)) == len(PARTITIONS)
    for partition in PARTITIONS:
        again = pickle.loads(pickle.dumps(partition))
        assert again == partition
        assert hash(again) == hash(partition)
        with pytest.raises(AttributeError):
            partition.anchored = True


def test_a_string_is_not_a_set_of_letters():
    with pytest.raises(InvalidParameterError, match=r"For one node write \['ring0'\]"):
        Partition.from_node_sets({"ring": "ring0"})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Partition.from_node_sets({"motif": [0, 1], "random": [2, 3]}, between="between"),
            "'between' must give for the name of each region the names of two sets. Got 'between' instead. "
            "Write between={'bridge': ('motif', 'random')}.",
        ),
        (
            lambda: Partition.from_node_sets([[0, 1], [2, 3]]),
            "Write sets={'motif': [0, 1, 2], 'random': [3, 4, 5]}.",
        ),
        (lambda: Partition.from_node_labels([0, 1], between={"m": (0, 1)}), 'Write between="mixed".'),
        (lambda: Partition.from_node_labels(3), "'labels' must have a label for each node. Got 3"),
        (lambda: Partition.from_pairs([(0, 1)]), "Write regions={'ring': [(0, 1), (1, 2)]}."),
        (lambda: Partition.from_pairs({"ring": 3}), "'regions[ring]' must be pairs of nodes. Got 3"),
        (lambda: Partition.from_arcs([(0, 1)]), "Write regions={'forth': [(0, 1), (1, 2)]}."),
        (lambda: Partition.from_arcs({"forth": 3}), "'regions[forth]' must be pairs of nodes. Got 3"),
        (lambda: Partition.of_layers("pairs"), 'Write Partition.of_layers(bonds="pairs").'),
        (lambda: Partition.from_nodes("x", [0]), "Write sets={'first': [0, 1], 'others': [2, 3]}."),
        (lambda: Partition.from_nodes("x", {"a": 0}), "'sets[a]' must be names of nodes. Got 0"),
        (lambda: Partition.from_columns("x", [0]), "Write sets={'first': [0], 'second': [1]}."),
        (lambda: Partition.from_columns("x", {"a": 0}), "'sets[a]' must be numbers of columns, each once. Got 0"),
    ],
)
def test_what_is_no_mapping_is_told_what_to_write(make, words):
    with pytest.raises(InvalidParameterError) as caught:
        make()
    assert words in str(caught.value)
