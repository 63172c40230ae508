"""Small worlds for threats: all objects there are, and who can get from which to which, straight from the definitions.

An object is a tuple of values, site by site. An oracle says, for an object, to which others an attacker can get, and in
how many units: a dict from objects to sizes. Nothing here uses the code that lists attacks.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product

import numpy as np

import starcert as sc
from starcert.objects import Sites
from starcert.objects.binding import bind
from starcert.objects.threats import Threat, UnfitError

Values = tuple[int, ...]
Reached = dict[Values, int]
Oracle = Callable[["World", Values], Reached]


@dataclass(eq=False)
class World:
    """All objects with these sites; `site` makes the object of values, `ends` has the nodes of sites that are pairs."""

    make: Callable[[Values], sc.Graph]
    alphabets: Values
    ends: list[tuple[int, int] | None]
    noise: sc.Noise
    axis: Callable[[int, int, int], str]  # of a site, its value and its new one
    regions: object = None
    directed: bool = False
    nodes: int = 0
    known: dict = field(default_factory=dict)

    @cached_property
    def objects(self) -> list[Values]:
        return list(product(*map(range, self.alphabets)))

    def sites(self, values: Values) -> Sites:
        if values not in self.known:
            self.known[values] = bind(self.make(values), self.noise, self.regions)
        return self.known[values]

    def is_bit(self, site: int) -> bool:
        return self.ends[site] is None and self.alphabets[site] == 2


def after(values: Values, *changes: tuple[int, int]) -> Values:
    new = list(values)
    for site, value in changes:
        new[site] = value
    return tuple(new)


def different(one: Values, other: Values) -> list[int]:
    return [site for site, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]


# Oracles ------------------------------------------------------------------------------------------------------------


def steps(unit: Callable[[World, Values], Iterator[Values]], most: int) -> Oracle:
    """Whoever can do one unit at a time: breadth first."""

    def reached(world: World, clean: Values) -> Reached:
        found, border = {clean: 0}, [clean]
        for size in range(1, most + 1):
            border = list({y for x in border for y in unit(world, x)} - found.keys())
            found |= dict.fromkeys(border, size)
        return {y: size for y, size in found.items() if size}

    return reached


def pairs(allowed: Callable[[World, Values, Values], bool], most: int) -> Oracle:
    """Whoever may change at most `most` sites, if both objects are as asked."""

    def reached(world: World, clean: Values) -> Reached:
        sizes = {y: len(different(clean, y)) for y in world.objects}
        return {y: size for y, size in sizes.items() if 1 <= size <= most and allowed(world, clean, y)}

    return reached


def either(a: Oracle, b: Oracle) -> Oracle:
    def reached(world: World, clean: Values) -> Reached:
        one, other = a(world, clean), b(world, clean)
        return {y: min(each[y] for each in (one, other) if y in each) for y in one | other}

    return reached


def both(a: Oracle, b: Oracle) -> Oracle:
    def reached(world: World, clean: Values) -> Reached:
        one, other = a(world, clean), b(world, clean)
        return {y: max(one[y], other[y]) for y in one if y in other}

    return reached


def then(a: Oracle, b: Oracle) -> Oracle:
    def reached(world: World, clean: Values) -> Reached:
        found: Reached = {}
        for y, first in ({clean: 0} | a(world, clean)).items():
            for z, second in ({y: 0} | b(world, y)).items():
                found[z] = min(found.get(z, 99), first + second)
        del found[clean]
        return found

    return reached


def flips(world: World, x: Values, may: Callable[[int, int, int], bool] = lambda *_: True) -> Iterator[Values]:
    for site, alphabet in enumerate(world.alphabets):
        for value in range(alphabet):
            if value != x[site] and may(site, x[site], value):
                yield after(x, (site, value))


def deletions(world: World, x: Values) -> Iterator[Values]:
    return flips(world, x, lambda site, _, new: new == 0 and (world.ends[site] is not None or world.is_bit(site)))


def additions(world: World, x: Values) -> Iterator[Values]:
    return flips(world, x, lambda site, old, _: old == 0 and (world.ends[site] is not None or world.is_bit(site)))


def changes(world: World, x: Values) -> Iterator[Values]:
    return flips(world, x, lambda site, old, new: world.ends[site] is None or (old > 0 and new > 0))


def at_nodes(*nodes: int) -> Callable[[World, Values], Iterator[Values]]:
    return lambda world, x: flips(world, x, lambda site, *_: bool(set(nodes) & set(world.ends[site] or ())))


def injections(*nodes: int) -> Callable[[World, Values], Iterator[Values]]:
    return lambda world, x: flips(
        world, x, lambda site, old, _: old == 0 and bool(set(nodes) & set(world.ends[site] or ()))
    )


def rewirings(world: World, x: Values) -> Iterator[Values]:
    for one, other in product(range(len(x)), repeat=2):
        here, there = world.ends[one], world.ends[other]
        if here is None or there is None or not x[one] or x[other]:
            continue
        kept = [a == b for a, b in zip(here, there, strict=True)]
        if any(kept) if world.directed else len(set(here) & set(there)) == 1:
            yield after(x, (one, 0), (other, x[one]))


def swaps(world: World, x: Values) -> Iterator[Values]:
    place = {ends: site for site, ends in enumerate(world.ends) if ends is not None}
    if not world.directed:
        place |= {(v, u): site for (u, v), site in place.items()}
    present = [(ends, site) for ends, site in place.items() if x[site]]
    for ((u, v), one), ((s, t), other) in product(present, repeat=2):
        news = place.get((u, t)), place.get((s, v))
        if len({u, v, s, t}) == 4 and None not in news and not any(x[new] for new in news):
            for first, second in (news, news[::-1]):  # either edge may be called the first one
                yield after(x, (one, 0), (other, 0), (first, x[one]), (second, x[other]))


def removed_nodes(world: World, x: Values) -> Iterator[Values]:
    for node in range(world.nodes):
        yield after(x, *((site, 0) for site, ends in enumerate(world.ends) if ends is not None and node in ends))


def within_budget(budget: Callable[[World, Values], list[int]]) -> Callable[[World, Values, Values], bool]:
    def allowed(world: World, x: Values, y: Values) -> bool:
        changed = [world.ends[site] for site in different(x, y)]
        if None in changed:
            return False
        at_node = Counter(node for ends in changed for node in ends)
        return all(at_node[node] <= most for node, most in enumerate(budget(world, x)))

    return allowed


def within_box(**radius: int) -> Callable[[World, Values, Values], bool]:
    def allowed(world: World, x: Values, y: Values) -> bool:
        level = Counter(world.axis(site, x[site], y[site]) for site in different(x, y))
        return all(count <= radius.get(axis.replace(".", "_"), 0) for axis, count in level.items())

    return allowed


def keeping_valences(valences: list[int], orders: list[int]) -> Callable[[World, Values, Values], bool]:
    def keeps(world: World, x: Values) -> bool:
        graph, load = world.make(x), [0] * world.nodes  # the graph has fixed edges too
        types = [1] * graph.n_edges if graph.edge_types is None else graph.edge_types.tolist()
        for ends, value in zip(graph.edges.tolist(), types, strict=True):
            for node in ends:
                load[node] += orders[value]
        return all(has <= may for has, may in zip(load, valences, strict=True))

    return lambda world, x, y: (
        keeps(world, x) and keeps(world, y) and all(world.ends[site] is not None for site in different(x, y))
    )


# Checks -------------------------------------------------------------------------------------------------------------


def listed(threat: Threat, world: World, clean: Values, size: int) -> list[Values]:
    """The attacked objects of a list, in its order."""
    return [after(clean, *attack) for attack in threat.attacks(world.sites(clean), size)]


def fits(threat: Threat, world: World, clean: Values) -> bool:
    try:
        threat.check(world.sites(clean))
    except UnfitError:
        return False
    return True


def check_threat(threat: Threat, oracle: Oracle, world: World, *, objects: list[Values] | None = None) -> int:
    """What is listed, counted, on levels and led back, against the oracle, on all objects; how many there are."""
    relation: dict[tuple[Values, Values], int] = {}
    for clean in objects or world.objects:
        expected = oracle(world, clean)
        if not fits(threat, world, clean):
            assert not expected
            continue
        sites = world.sites(clean)
        for size in range(1, threat.most + 2):
            attacks = threat.attacks(sites, size)
            found = [after(clean, *attack) for attack in attacks]
            assert len(set(found)) == len(found), (clean, size)
            assert set(found) == {y for y, d in expected.items() if d == size}, (clean, size)
            assert threat.count(sites, size) == len(found)
            for block in attacks.blocks:
                assert block.tolist() == sorted(block.tolist())
                assert all(row == sorted(row) for row in block.tolist())
            levels = {level_of(world, clean, y) for y in found}
            assert threat.levels(sites, world.noise, size) == levels
        relation |= {(clean, y): d for y, d in expected.items()}
    if objects is None:
        check_reverse(threat, relation, world)
    return len(relation)


def level_of(world: World, x: Values, y: Values) -> tuple[int, ...]:
    level = Counter(world.axis(site, x[site], y[site]) for site in different(x, y))
    return tuple(level[axis] for axis in world.noise.axes)


def check_reverse(threat: Threat, relation: dict[tuple[Values, Values], int], world: World) -> None:
    """The reverse lists, at every object, exactly those from which the attacker gets there, in as many units."""
    back = threat.reverse
    assert (threat.anchored == "") == (back is not None)
    if back is None:
        return
    assert back.most == threat.most
    found = {
        (x, y): size
        for y in world.objects
        if fits(back, world, y)
        for size in range(1, back.most + 1)
        for x in listed(back, world, y, size)
    }
    assert found == relation


# Worlds -------------------------------------------------------------------------------------------------------------


def plain(n: int = 4, *, directed: bool = False, types: int = 1, noise: sc.Noise | None = None, **data) -> World:
    """All graphs with n nodes, every pair or arc in one region."""
    ends = list(combinations(range(n), 2))
    if directed:
        ends = [arc for u, v in ends for arc in ((u, v), (v, u))]
    names = ("single", "double", "triple")[:types]
    if noise is None:
        flip = sc.Flip(delete=0.1, add=0.2)
        noise = sc.Noise(all=sc.Edges(delete=0.1, add=0.2, change=0.1) if types > 1 else flip)

    def make(values: Values) -> sc.Graph:
        present = [(pair, value) for pair, value in zip(ends, values, strict=True) if value]
        typed = {"edge_types": [names[value - 1] for _, value in present], "type_names": names} if types > 1 else {}
        return sc.Graph(n, [pair for pair, _ in present], directed=directed, **typed, **data)

    def axis(_: int, old: int, new: int) -> str:
        return "all." + ("delete" if not new else "add" if not old else "change")

    return World(make, (1 + types,) * len(ends), ends, noise, axis, directed=directed, nodes=n)


def of_ends(ends: list[tuple[int, int]], n: int, *, directed: bool = False, types: int = 1, **more) -> World:
    """All graphs with n nodes and edges among these pairs or arcs, in one region; others are fixed to be absent."""
    whole, ends = plain(n, directed=directed, types=types, **more), sorted(ends)
    places = [whole.ends.index(each) for each in ends]

    def make(values: Values) -> sc.Graph:
        return whole.make(after((0,) * len(whole.ends), *zip(places, values, strict=True)))

    regions = (sc.Partition.from_arcs if directed else sc.Partition.from_pairs)({"all": ends}, anchored=False)
    return World(
        make, (1 + types,) * len(ends), list(ends), whole.noise, whole.axis, regions, directed=directed, nodes=n
    )


def in_two_regions(**data) -> World:
    """Graphs with four nodes: the pairs of 1, 2 and 3 in one region, 0–1 and 0–2 in another, and 0–3 a fixed edge."""
    ends = [(1, 2), (1, 3), (2, 3), (0, 1), (0, 2)]
    partition = sc.Partition.from_pairs({"inner": ends[:3], "outer": ends[3:]}, anchored=False)

    def make(values: Values) -> sc.Graph:
        return sc.Graph(4, [(0, 3), *(pair for pair, value in zip(ends, values, strict=True) if value)], **data)

    def axis(site: int, old: int, _: int) -> str:
        return "inner" if site < 3 else "outer.delete" if old else "outer.add"

    noise = sc.Noise(inner=0.2, outer=sc.Flip(delete=0.1, add=0.3))
    return World(make, (2,) * 5, list(ends), noise, axis, partition, nodes=4)


def with_node_sites() -> World:
    """Graphs with three nodes whose pairs are 0–1 and 1–2, bits at two nodes, and one of three elements at one."""
    ends = [(0, 1), (1, 2)]

    def make(values: Values) -> sc.Graph:
        bits, elements = [*values[2:4], 0], ["CNO"[values[4]], "N", "C"]
        graph = sc.Graph(
            3,
            [pair for pair, value in zip(ends, values[:2], strict=True) if value],
            node_data={"bit": np.array(bits)[:, None], "element": elements},
        )
        return graph.with_bits("bit").with_categories("element", tuple("CNO"))

    regions = (
        sc.Partition.from_pairs({"pairs": ends}, anchored=False)
        | sc.Partition.from_nodes("bit", {"bits": [0, 1]})
        | sc.Partition.from_nodes("element", {"elements": [0]})
    )

    def axis(site: int, old: int, _: int) -> str:
        return ("pairs" + (".delete" if old else ".add")) if site < 2 else "bits" if site < 4 else "elements"

    noise = sc.Noise(pairs=sc.Flip(delete=0.1, add=0.2), bits=0.1, elements=sc.Categorical(0.2))
    return World(make, (2, 2, 2, 2, 3), [*ends, None, None, None], noise, axis, regions, nodes=3)


def rows(alphabet: int, columns: int) -> World:
    """All rows of bits or categories, in two regions."""

    def make(values: Values) -> object:
        return sc.Bits(list(values)) if alphabet == 2 else sc.Categories(list(values), values=alphabet)

    noise = sc.Noise(a=0.1, b=0.2) if alphabet == 2 else sc.Noise(a=sc.Categorical(0.1), b=sc.Categorical(0.2))
    regions = {"a": [0], "b": list(range(1, columns))}
    return World(make, (alphabet,) * columns, [None] * columns, noise, lambda site, *_: "b" if site else "a", regions)
