"""Words for the rows of results, their sites, and attacks, as in "1 bond deleted and 1 atom changed".

Radii and levels are tuples, a count for each axis. Files have these tuples; people read what they count. What the sites
of a region are called depends on the kind of object and on the layer, so that it is known where the sites are
(`Words.of`). With the noise alone, only regions that bear the name of edges, such as `bonds`, are taken by their word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple

from starcert.objects.kinds import Kind, kind_of
from starcert.objects.laws import Edges, Flip, Law
from starcert.objects.layers import EDGE_LAYERS, Layer
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.system.output import plural

EDGE_NOUNS = {"bonds": "bond", "edges": "edge", "links": "link", "arcs": "arc"}
SITE_NOUNS = {"atoms": "atom", "features": "feature", "words": "word", "pixels": "pixel", "columns": "column"}
"""Names of regions that say what their sites are: on the edges of a graph, and elsewhere."""
VERBS = {".delete": "deleted", ".add": "added", ".change": "changed"}
MAX_TUPLE = 2  # radii of more axes than these are written in words


class RegionWords(NamedTuple):
    """The words for the sites of a region."""

    noun: str  # one site
    where: str = ""  # " in ring", or nothing where the noun says it all
    covered: bool = False  # whether the regions leave no site of its layer out, in any object


@dataclass(frozen=True)
class Words:
    """The words for the rows of results, and for the sites of an attacker."""

    one: str = "graph"
    site: str = "node pair"
    whole: str = "graph"  # what noise falls on: an object, also where its nodes are the rows
    regions: Mapping[str, RegionWords] = field(default_factory=dict)  # empty where the sites are not known

    @classmethod
    def of(cls, sites: Sequence[Sites], *, nodes: bool) -> Words:
        """The words for objects with these sites; `nodes`: their nodes are the rows."""
        kind = kind_of(*(each.clean for each in sites))
        nouns = {kind.site_noun(each.clean, layer) for each in sites for layer in each.layers}
        layers = {block.layer for each in sites for block in each.blocks}
        usual = nouns.pop() if len(nouns) == 1 and len(layers) > 1 else "site"
        site = kind.site_words.get(layers.pop() if len(layers) == 1 else "", usual)
        return cls("node" if nodes else kind.word, site, kind.word, dict(_region_words(sites)))

    @property
    def many(self) -> str:
        """Several rows."""
        return f"{self.one}s"

    @property
    def sites(self) -> str:
        """Several sites."""
        return f"{self.site}s"


def _region_words(sites: Sequence[Sites]) -> Iterator[tuple[str, RegionWords]]:
    found: dict[str, set[RegionWords]] = {}
    for each in sites:
        kind, held = kind_of(each.clean), Counter[str]()
        for layer, size in zip(each.layers, each.sizes, strict=True):
            held[layer.name] += size
        for region, layer, size in zip(each.regions, each.layers, each.sizes, strict=True):
            own = _own_noun(kind, region, layer)
            where = "" if own is not None or size == layer.size else f" in {region}"
            noun = kind.site_noun(each.clean, layer) if own is None else own
            found.setdefault(region, set()).add(RegionWords(noun, where, held[layer.name] == layer.size))
    joined = {}
    for region, several in found.items():  # the words in all objects, from those in each
        nouns, wheres, covered = map(set, zip(*several, strict=True))
        joined[region] = RegionWords(nouns.pop() if len(nouns) == 1 else "site", max(wheres), all(covered))
    everywhere = Counter(words.noun for words in joined.values() if not words.where)
    for region, words in joined.items():
        alone = words.where or everywhere[words.noun] == 1
        yield region, words if alone else words._replace(where=f" in {region}")


def _own_noun(kind: Kind, region: str, layer: Layer) -> str | None:
    """The noun for its sites that a region's name states; None where that says nothing."""
    return (EDGE_NOUNS if kind.has_nodes and layer.name in EDGE_LAYERS else SITE_NOUNS).get(region)


class AxisWords(NamedTuple):
    """The words for what one axis counts: after a number, of one and of several; and as a title."""

    one: str
    many: str
    title: str


class AttackWords:
    """The words for what the axes of a noise count.

    Example:
        >>> from starcert.objects.laws import Categorical
        >>> noise = Noise(bonds=Edges(delete=0.1, add=0.1, change=0.1), atoms=Categorical(0.1))
        >>> atoms = Words(regions={"bonds": RegionWords("bond"), "atoms": RegionWords("atom")})
        >>> AttackWords(noise, atoms).level((1, 0, 0, 2)), AttackWords(noise).level((1, 0, 0, 2))
        ('1 bond deleted and 2 atoms changed', '1 bond deleted and 2 changed in atoms')
        >>> AttackWords(Noise(motif=0.1, random=0.2)).level((1, 45))
        '1 in motif and 45 in random'
    """

    def __init__(self, noise: Noise, words: Words | None = None) -> None:
        self.noise = noise
        known = {region: RegionWords(EDGE_NOUNS[region]) for region in noise if region in EDGE_NOUNS}
        self._regions = known | dict(words.regions if words is not None else {})
        self.axes = tuple(self._axis(region, suffix) for region in noise for suffix in noise[region].suffixes)

    def _axis(self, region: str, suffix: str) -> AxisWords:
        verb = VERBS.get(suffix, "" if suffix else "flipped" if isinstance(self.noise[region], Flip) else "changed")
        named = self._regions.get(region)
        if not verb or (named is None and verb == "flipped"):
            return AxisWords(f"in {region}{suffix}", f"in {region}{suffix}", f"flips in {region}{suffix}")
        if named is None:
            return AxisWords(f"{verb} in {region}", f"{verb} in {region}", f"{verb} in {region}")
        one, many = (f"{plural(n, named.noun)} {verb}{named.where}" for n in (1, 2))
        return AxisWords(one, many, f"flips in {region}" if verb == "flipped" else many)

    def level(self, counts: Sequence[int], last: str = " and ") -> str:
        """A level, or the most that a radius allows, such as "1 bond deleted and 1 atom changed"."""
        axes = zip(counts, self.axes, strict=True)
        return listed([f"{n:,} {axis.one if n == 1 else axis.many}" for n, axis in axes if n], last) or "no flip"

    def radius(self, counts: Sequence[int]) -> str:
        """A radius as tables have it: its number or its tuple on few axes, words on many."""
        if len(counts) > MAX_TUPLE:
            return self.level(counts)
        return f"({', '.join(map(str, counts))})"

    def spelled(self, found: Sequence[Sequence[int]], most: int) -> str:
        """Some levels in words, the first of them, and how many more there are."""
        more = f"; and {len(found) - most:,} more" if len(found) > most else ""
        return "; ".join(map(self.level, found[:most])) + more

    def radii(self, found: Sequence[Sequence[int]], most: int) -> str:
        """The first of some radii, and how many more there are."""
        between = "; " if len(self.axes) > MAX_TUPLE else ", "
        shown = between.join(map(self.radius, found[:most]))
        return f"{shown}{between}{len(found) - most:,} more" if len(found) > most else shown or "none"

    def step(self, capacity: Sequence[int]) -> str:
        """A single attack on whatever there is to attack, such as "change of an atom in ring or chain".

        Regions are left out where together they hold every site of their layer: a step may then be anywhere.
        """
        places = iter(capacity)
        sizes = {region: [next(places) for _ in self.noise[region].suffixes] for region in self.noise}
        groups: dict[tuple[str, str], list[str]] = {}
        for region in (region for region in self.noise if any(sizes[region])):
            groups.setdefault(self._deed(region), []).append(region)
        said: list[str] = []
        for (deed, noun), regions in groups.items():
            alone = sum(each == noun for _, each in groups) == 1
            covered = alone and all(region in self._regions and self._regions[region].covered for region in regions)
            of = f" of {'an' if noun[0] in 'aeiou' else 'a'} {noun}" if noun else ""
            where = "" if noun and covered else f" in {listed(regions, ' or ')}"
            before = "change " if noun and any(each.startswith("change of") for each in said) else ""
            said.append((deed.format(of) + where).removeprefix(before))  # a change of a bond or of an atom
        return listed(said, " or ") or "flip"

    def _deed(self, region: str) -> tuple[str, str]:
        """A single attack on a region, with a place for the noun, and the noun; all its moves are in it."""
        law, named = self.noise[region], self._regions.get(region)
        if named is None or not _is_own(law):
            return "flip{}", "" if named is None else named.noun
        if isinstance(law, Edges):
            return "change{} (deleted, added or of another type)", named.noun
        if isinstance(law, Flip):
            return ("addition or deletion{}" if named.noun in EDGE_NOUNS.values() else "flip{}"), named.noun
        return "change{}", named.noun


def _is_own(law: Law) -> bool:
    """True if it is known what its moves are: of laws from outside, only that they are counted."""
    return all(not suffix or suffix in VERBS for suffix in law.suffixes)


def listed(parts: Sequence[str], last: str = " and ") -> str:
    """Several things in a row: "a, b and c"."""
    return last.join(filter(None, (", ".join(parts[:-1]), parts[-1]))) if parts else ""


def attack_words(positions: Sequence[int], values: Sequence[int | None], sites: Sites) -> tuple[str, ...]:
    """The changes of an attack, site by site: new values are None where sites have two, and left out where all have.

    Example:
        >>> from starcert.objects import Graph
        >>> molecule = Graph(3, [(0, 1)], edge_types=["single"], type_names=("single",))
        >>> sites = Sites.everything(molecule, "bonds")
        >>> attack_words((0, 2), (0, 1), sites)
        ('bond 0–1 deleted, single', 'bond 1–2 added, single')
    """
    kind, found = kind_of(sites.clean), list[str]()
    regions = sites.regions_at(positions).tolist()
    for position, value, number in zip(positions, values or repeat(None), regions, strict=False):
        layer, place = sites.layers[number], [int(each[0]) for each in sites.coordinates([position])]
        said = kind.site_name(sites.clean, layer, place, value)
        usual, own = f"{kind.site_noun(sites.clean, layer)} ", _own_noun(kind, sites.regions[number], layer)
        found.append(f"{own} {said.removeprefix(usual)}" if own and said.startswith(usual) else said)
    return tuple(found)
