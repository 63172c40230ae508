"""Every threat lists exactly what its attacker can do, on all objects of small worlds, against the definitions."""

from dataclasses import dataclass
from itertools import combinations
from operator import add, and_, or_

import numpy as np
import pytest
import threat_worlds as worlds

import starcert as sc
from starcert.objects.threats import (
    Additions,
    AnyFlips,
    Attacks,
    Box,
    Changes,
    Controlled,
    DeleteNode,
    Deletions,
    InjectNode,
    LocalBudget,
    Rewire,
    Swap,
    Threat,
    UnfitError,
    Valence,
    Where,
    attackable,
)

FOUR = worlds.plain()
REGIONS = worlds.in_two_regions()
ARCS = worlds.plain(3, directed=True)
TYPED = worlds.plain(3, types=2)
SITES = worlds.with_node_sites()
BITS, LETTERS = worlds.rows(2, 4), worlds.rows(3, 3)
CROSSED = worlds.of_ends([(0, 1), (0, 3), (2, 1), (2, 3), (1, 0), (3, 2)], 4, directed=True)
BONDS = worlds.of_ends([(0, 1), (0, 3), (1, 2), (2, 3)], 4, types=2)
MANY = {"four nodes": FOUR, "two regions": REGIONS, "arcs": ARCS, "types": TYPED, "node sites": SITES}


def early(frame, u, v):
    return u + v < 3


def early_flips(world, x):
    return worlds.flips(world, x, lambda site, *_: world.ends[site] is not None and sum(world.ends[site]) < 3)


ON_EDGES = {
    "any flips": (AnyFlips(2), worlds.steps(worlds.flips, 2)),
    "deletions": (Deletions(2), worlds.steps(worlds.deletions, 2)),
    "additions": (Additions(2), worlds.steps(worlds.additions, 2)),
    "rewired": (Rewire(2), worlds.steps(worlds.rewirings, 2)),
    "local": (LocalBudget(3, per_node=1), worlds.pairs(worlds.within_budget(lambda world, _: [1] * world.nodes), 3)),
    "local, two": (LocalBudget(3, per_node=2), worlds.pairs(worlds.within_budget(lambda world, _: [2] * 4), 3)),
    "controlled": (Controlled([1, 2], 2), worlds.steps(worlds.at_nodes(1, 2), 2)),
    "where": (Where(early, 2), worlds.steps(early_flips, 2)),
    "removed": (DeleteNode(2), worlds.steps(worlds.removed_nodes, 2)),
    "injected": (InjectNode(edges=2, nodes=["2"]), worlds.steps(worlds.injections(2), 2)),
    "two injected": (InjectNode(edges=2, nodes=[0, 2]), worlds.steps(worlds.injections(0, 2), 2)),
}


@pytest.mark.parametrize("world", MANY)
@pytest.mark.parametrize("threat", ON_EDGES)
def test_it_lists_what_its_attacker_can_do_to_graphs(threat, world):
    assert worlds.check_threat(*ON_EDGES[threat], MANY[world]) > 0


@pytest.mark.parametrize(("world", "number"), [(FOUR, 24), (CROSSED, 8), (BONDS, 16)], ids=["four", "arcs", "types"])
def test_edges_exchange_ends(world, number):
    """Of four nodes: a perfect matching for another, and four ways for the rest."""
    assert worlds.check_threat(Swap(2), worlds.steps(worlds.swaps, 2), world) == number


@pytest.mark.parametrize("world", [worlds.plain(4, directed=True), worlds.plain(4, types=2)], ids=["arcs", "types"])
def test_edges_exchange_ends_in_larger_worlds(world):
    rng = np.random.default_rng(0)
    some = [tuple(rng.integers(world.alphabets).tolist()) for _ in range(25)]
    assert worlds.check_threat(Swap(1), worlds.steps(worlds.swaps, 1), world, objects=some) > 5
    few = [(1, 0, 0, 0, 0, 2), (1, 0, 2, 0, 0, 1), (0, 1, 0, 2, 1, 0)] if not world.directed else some[:3]
    assert worlds.check_threat(Swap(3), worlds.steps(worlds.swaps, 3), world, objects=few) > 5


@pytest.mark.parametrize("threat", ["any flips", "deletions", "additions"])
def test_it_lists_what_its_attacker_can_do_to_rows_of_bits(threat):
    assert worlds.check_threat(*ON_EDGES[threat], BITS) > 0


@pytest.mark.parametrize("world", [BITS, LETTERS, TYPED, SITES, FOUR, ARCS])
def test_values_change(world):
    """Graphs without types have no values to change, and are refused."""
    found = worlds.check_threat(Changes(2), worlds.steps(worlds.changes, 2), world)
    assert (found > 0) == (world not in (FOUR, ARCS))


def test_any_letters_change():
    assert worlds.check_threat(AnyFlips(3), worlds.steps(worlds.flips, 3), LETTERS) == 27 * 26


def first_two(frame, site):
    return site < 2


def bits_of_the_second_node(frame, node, column):
    return node == 1


def test_a_function_chooses_sites_of_a_layer():
    one = worlds.steps(lambda world, x: worlds.flips(world, x, lambda site, *_: site < 2), 2)
    assert worlds.check_threat(Where(first_two, 2), one, LETTERS) > 0
    other = worlds.steps(lambda world, x: worlds.flips(world, x, lambda site, *_: site == 3), 1)
    assert worlds.check_threat(Where(bits_of_the_second_node, 1, layer="bit"), other, SITES) == len(SITES.objects)


@pytest.mark.parametrize(
    ("world", "radius"),
    [
        (REGIONS, {"inner": 1, "outer.delete": 1}),
        (REGIONS, {"inner": 2, "outer.delete": 1, "outer.add": 2}),
        (TYPED, {"all.delete": 1, "all.change": 1, "all.add": 1}),
        (TYPED, {"all.change": 2}),
        (ARCS, {"all.delete": 2, "all.add": 1}),
        (SITES, {"pairs.add": 1, "elements": 2}),
        (LETTERS, {"a": 1, "b": 1}),
    ],
)
def test_a_box_lists_flips_by_axis(world, radius):
    oracle = worlds.pairs(worlds.within_box(**{axis.replace(".", "_"): count for axis, count in radius.items()}), 9)
    assert worlds.check_threat(Box(radius), oracle, world) > 0


def test_a_box_of_a_region_holds_deletions_and_additions():
    oracle = worlds.pairs(lambda world, x, y: True, 2)
    assert worlds.check_threat(Box({"all": 2}), oracle, FOUR) > 0


def test_removed_nodes_are_anchored():
    """Nothing at the attacked graph tells which edges a node had: two graphs become one."""
    assert DeleteNode(1).anchored == "Which edges a removed node had is read from the clean graph."
    reached = [set(worlds.removed_nodes(FOUR, x)) for x in FOUR.objects]
    assert len(set().union(*reached)) < sum(map(len, reached))


ATOMS = ["C", "O", "F", "O"]
VALENCES = [4, 2, 1, 2]


@pytest.mark.parametrize("types", [1, 2, 3])
def test_valences_are_kept(types):
    n = 4 if types == 1 else 3
    world = worlds.plain(n, types=types, node_data={"element": ATOMS[:n]})
    oracle = worlds.pairs(worlds.keeping_valences(VALENCES[:n], [0, 1, 2, 3]), 3)
    assert worlds.check_threat(Valence(3), oracle, world) > 50
    small = worlds.pairs(worlds.keeping_valences([1, 2, 1, 2][:n], [0, 1, 2, 3]), 2)
    assert worlds.check_threat(Valence(2, valences={"C": 1}), small, world) > 0


def test_fixed_bonds_count_too():
    world = worlds.in_two_regions(node_data={"element": ATOMS})
    oracle = worlds.pairs(worlds.keeping_valences(VALENCES, [0, 1]), 3)
    assert worlds.check_threat(Valence(3), oracle, world) > 50


def test_only_the_presence_of_typed_edges_is_attacked_under_flips():
    world = worlds.plain(3, types=2, noise=sc.Noise(all=sc.Flip(delete=0.1, add=0.2)))
    for values in world.objects:
        sites = world.sites(values)
        bare = attackable(sites, world.noise)
        assert len(AnyFlips(2).attacks(bare, 2)) == 3
        n_edges = sum(value > 0 for value in values)
        levels = {(d, 2 - d) for d in range(3) if d <= n_edges and 2 - d <= 3 - n_edges}
        assert AnyFlips(2).levels(sites, world.noise, 2) == levels
        assert Rewire(1).levels(sites, world.noise, 1) == ({(1, 1)} if n_edges in (1, 2) else set())
        assert attackable(world.sites(values), sc.Noise(all=sc.Edges(delete=0.1, add=0.1, change=0.1))) is sites


# Combinations -------------------------------------------------------------------------------------------------------

SQUARE = worlds.of_ends([(0, 1), (0, 3), (1, 2), (2, 3)], 4)
PARTS = {
    "flip": (AnyFlips(1), worlds.steps(worlds.flips, 1)),
    "deletion": (Deletions(1), worlds.steps(worlds.deletions, 1)),
    "addition": (Additions(2), worlds.steps(worlds.additions, 2)),
    "box": (Box({"all.add": 1}), worlds.steps(worlds.additions, 1)),
    "rewired": (Rewire(1), worlds.steps(worlds.rewirings, 1)),
    "swapped": (Swap(1), worlds.steps(worlds.swaps, 1)),
    "local": (LocalBudget(1, per_node=1), worlds.pairs(worlds.within_budget(lambda world, _: [1] * world.nodes), 1)),
    "controlled": (Controlled([1, 2], 1), worlds.steps(worlds.at_nodes(1, 2), 1)),
    "where": (Where(early, 1), worlds.steps(early_flips, 1)),
    "removed": (DeleteNode(1), worlds.steps(worlds.removed_nodes, 1)),
    "injected": (InjectNode(edges=1, nodes=[2]), worlds.steps(worlds.injections(2), 1)),
}


@pytest.mark.parametrize(("one", "other"), list(combinations(PARTS, 2)))
def test_threats_combine(one, other):
    (a, first), (b, second) = PARTS[one], PARTS[other]
    assert worlds.check_threat(a | b, worlds.either(first, second), SQUARE) > 0
    worlds.check_threat(a & b, worlds.both(first, second), SQUARE)


@pytest.mark.parametrize("other", PARTS)
@pytest.mark.parametrize("one", PARTS)
def test_one_attack_follows_another(one, other):
    (a, first), (b, second) = PARTS[one], PARTS[other]
    assert worlds.check_threat(a + b, worlds.then(first, second), SQUARE) > 0


@pytest.mark.parametrize("operator", [or_, and_, add])
def test_threats_combine_on_all_graphs_with_four_nodes(operator):
    oracle = {or_: worlds.either, and_: worlds.both, add: worlds.then}[operator]
    (a, first), (b, second) = PARTS["rewired"], ON_EDGES["controlled"]
    assert worlds.check_threat(operator(a, b), oracle(first, second), FOUR) > 0


def test_three_threats_combine():
    (a, first), (b, second), (c, third) = PARTS["deletion"], PARTS["rewired"], ON_EDGES["local"]
    assert worlds.check_threat((a + b) & c, worlds.both(worlds.then(first, second), third), REGIONS) > 0
    assert worlds.check_threat(a + b, worlds.then(first, second), TYPED) > 0
    every, oracle = a + b + Additions(1), worlds.then(worlds.then(first, second), worlds.steps(worlds.additions, 1))
    assert worlds.check_threat(every, oracle, SQUARE) > 0


def test_attacks_on_everything_follow_one_another():
    a, first = Deletions(1), worlds.steps(worlds.deletions, 1)
    b, second = Changes(1), worlds.steps(worlds.changes, 1)
    assert worlds.check_threat(a + b, worlds.then(first, second), SITES) > 0
    assert (
        worlds.check_threat(Deletions(1) + Additions(1), worlds.then(first, worlds.steps(worlds.additions, 1)), BITS)
        > 0
    )


def test_an_attacker_who_does_not_fit_an_object_in_between_is_refused():
    """After any flip the molecule may exceed valences: `Valence` says nothing about such, and nothing is left out."""
    world = worlds.plain(3, node_data={"element": ["F", "F", "O"]})
    kept, flipped = worlds.pairs(worlds.keeping_valences([1, 1, 2], [0, 1]), 1), worlds.steps(worlds.flips, 1)
    with pytest.raises(UnfitError, match=r"keep valences, also after the first part of any 1 flip, then 1 change"):
        (AnyFlips(1) + Valence(1)).attacks(world.sites((0, 1, 0)), 2)
    for clean in ((0, 0, 0), (0, 1, 0)):
        expected = worlds.then(kept, flipped)(world, clean)
        for size in (1, 2):
            found = worlds.listed(Valence(1) + AnyFlips(1), world, clean, size)
            assert set(found) == {y for y, d in expected.items() if d == size}


# Controls -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wrong(Threat):
    """A list that lacks its last attack, or has one twice, or one too many."""

    right: Threat
    how: str
    most: int = 2
    label = "wrong"

    @property
    def reverse(self):
        return self.right.reverse

    def attacks(self, sites, size):
        found = self.right.attacks(sites, size)
        if not len(found):
            return found
        *others, last = found.blocks
        changed = {"few": last[:-1], "twice": np.concatenate([last, last[-1:]]), "many": last}[self.how]
        if self.how == "many" and size == 2:
            return Attacks.of([*found.blocks, *self.right.attacks(sites, 1).blocks])
        return Attacks((*others, changed))


@pytest.mark.parametrize("how", ["few", "twice", "many"])
@pytest.mark.parametrize("name", [*ON_EDGES, *PARTS])
def test_a_list_that_is_wrong_is_found(name, how):
    threat, oracle = (ON_EDGES | PARTS)[name]
    if how == "many" and threat.most == 1:
        threat, oracle = threat + AnyFlips(1), worlds.then(oracle, worlds.steps(worlds.flips, 1))
    with pytest.raises(AssertionError):
        worlds.check_threat(Wrong(threat, how, threat.most), oracle, SQUARE if name in PARTS else REGIONS)


def test_a_reverse_that_does_not_lead_back_is_found():
    @dataclass(frozen=True)
    class OneWay(Deletions):
        @property
        def reverse(self):
            return Deletions(self.most)

    with pytest.raises(AssertionError):
        worlds.check_threat(OneWay(1), worlds.steps(worlds.deletions, 1), REGIONS)


def test_attacks_are_listed_where_few_sites_can_change_on_a_graph_of_any_size():
    """2,900 nodes have more pairs than are looked at one by one: only what a threat can reach counts."""
    edges = [(0, 1), (0, 7), (5, 2_899)]
    sites = sc.objects.Sites.everything(sc.Graph(2_900, edges), "all")
    noise = sc.Noise(all=sc.Flip(delete=0.4, add=1e-7))
    present = sites.locate(*np.transpose(edges)).tolist()
    assert sites.n_sites > 2**22
    assert list(Deletions(2).attacks(sites, 1)) == [((site, 0),) for site in sorted(present)]
    assert (Deletions(2).count(sites, 2), Deletions(2).levels(sites, noise, 2)) == (3, {(2, 0)})
    assert sorted(map(len, DeleteNode(1).attacks(sites, 1))) == [1, 1, 1, 2]
    at_five = Controlled([5], 1)
    assert (at_five.count(sites, 1), at_five.levels(sites, noise, 1)) == (2_899, {(1, 0), (0, 1)})
    assert len((at_five & Deletions(1)).attacks(sites, 1)) == 1
    for many in (Additions(1), Rewire(1), LocalBudget(1, per_node=1), Deletions(1) + Additions(1)):
        with pytest.raises(sc.InvalidParameterError, match="'threat' must reach at most 4,194,304 sites"):
            many.attacks(sites, many.most)
