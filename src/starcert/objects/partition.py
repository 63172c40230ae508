"""The partition: named regions of a graph's sites, described by the names of nodes, apart from any one graph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from starcert.objects.blocks import Block, BothWays, Listed
from starcert.objects.content import is_index
from starcert.objects.graph import Graph
from starcert.objects.layers import Region, refuse_overlap
from starcert.objects.site_sets import (
    Across,
    ArcSet,
    Index,
    Inside,
    Node,
    Nodes,
    OfLayer,
    Outside,
    Pair,
    Pairs,
    PairSet,
    SiteSet,
)
from starcert.objects.sites import Sites
from starcert.system.errors import InvalidParameterError

MIN_PAIRS = 2  # a single pair that is an edge proves nothing


@dataclass(frozen=True, repr=False)
class Partition:
    """Named regions of node pairs or other sites of a graph, disjoint; sites in no region are fixed.

    It goes by the names of nodes, so that one partition serves every graph that has those nodes. Make one with
    `from_node_sets`, `from_node_labels`, `from_pairs`, `everything` or `from_present_edges`; of directed graphs these
    are both arcs of each pair, and `from_arcs` names them one by one. Regions of other layers come from `of_layers`,
    `from_nodes` and `from_columns`, and `one | other` joins two partitions.

    Regions that were derived from a graph's own edges are *anchored*: an attacked graph would have others, and the
    certificate holds for a classifier whose regions are frozen at the clean graph. Where that is not stated, `sites`
    marks those that look like it, see `read_off`.

    Example:
        >>> partition = Partition.from_node_sets({"core": range(6), "rest": range(6, 12)})
        >>> partition
        Partition(core, rest)
        >>> partition.sites(Graph(12, [(0, 1), (5, 6)])).sizes
        (15, 15)
    """

    parts: tuple[tuple[str, SiteSet], ...]  # the regions by name, each with a description of its sites
    anchored: bool | None = None  # whether they were derived from a graph's own edges; None: not stated
    reason: str = ""  # why they are anchored, a sentence; empty if they are not

    def __post_init__(self) -> None:
        for region, count in Counter(self.regions).items():
            if not isinstance(region, str) or not re.fullmatch(r"[^\s.,=/]+", region):
                raise InvalidParameterError("regions", "have names without spaces and without any of . , = /", region)
            if count > 1:
                raise InvalidParameterError("regions", "have different names", f"{region!r} twice")
        if self.reason and not self.anchored:
            hint = "Give anchored=True if the regions were derived from the graph's own edges."
            raise InvalidParameterError("reason", "be empty for regions that are not anchored", self.reason, hint)
        if self.anchored and not self.reason:
            object.__setattr__(self, "reason", "The regions were derived from the graph's own edges.")

    @classmethod
    def from_node_sets(
        cls, sets: Mapping[str, Iterable[Node]], *, between: Mapping[str, tuple[str, str]] | None = None
    ) -> Partition:
        """Regions of the pairs inside node sets, and of the pairs between two of them.

        Args:
            sets: the nodes of each set. The pairs inside it are a region of the same name.
            between: more regions, each by the names of two sets.

        Example:
            >>> atoms = {"ring": ["C1", "C2", "C3"], "tail": ["N", "O"]}
            >>> Partition.from_node_sets(atoms, between={"bridge": ("ring", "tail")})
            Partition(ring, tail, bridge)
        """
        given = _by_region(sets, "sets", "its nodes", {"motif": [0, 1, 2], "random": [3, 4, 5]})
        node_sets = {region: as_nodes(nodes, f"sets[{region}]") for region, nodes in given.items()}
        example = {"bridge": (*node_sets, "motif", "random")[:2]}
        named = _by_region(between or {}, "between", "the names of two sets", example).items()
        pairs = ((region, Across(_two_sets(names, node_sets, f"between[{region}]"))) for region, names in named)
        made, nodes = cls((*divide_nodes(node_sets).parts, *pairs)), frozenset[Node]().union(*node_sets.values())
        made.sites(Graph(len(nodes), (), nodes=nodes))  # overlapping regions are refused now
        return made

    @classmethod
    def from_node_labels(
        cls, labels: Mapping[Node, Hashable] | Sequence[Hashable], *, between: str | None = None
    ) -> Partition:
        """A region for each label, of the pairs of nodes that both carry it.

        Args:
            labels: the label of each node; a sequence labels the nodes 0, 1, …. The region is called str(label).
            between: a region for all pairs with different labels, which are fixed otherwise.

        Example:
            >>> Partition.from_node_labels({"C1": "carbon", "C2": "carbon", "O": "oxygen"}, between="mixed")
            Partition(carbon, oxygen, mixed)
        """
        if between is not None and not isinstance(between, str):
            raise InvalidParameterError("between", "be the name of one region", between, 'Write between="mixed".')
        if not isinstance(labels, Iterable):
            hint = "Write labels={0: 'carbon', 1: 'oxygen'} or labels=['carbon', 'oxygen']."
            raise InvalidParameterError("labels", "have a label for each node", labels, hint)
        given = labels if isinstance(labels, Mapping) else dict(enumerate(labels))
        texts = texts_of_labels(given.values(), "labels")
        groups: dict[str, list[Node]] = {region: [] for region in texts}
        for node, region in zip(given, texts, strict=True):
            groups[region].append(node)
        return divide_nodes({region: frozenset(members) for region, members in groups.items()}, between=between)

    @classmethod
    def from_pairs(
        cls, regions: Mapping[str, Iterable[tuple[Node, Node]]], *, anchored: bool | None = None, reason: str = ""
    ) -> Partition:
        """Regions of explicit pairs.

        Args:
            regions: the pairs of each region, each once and in either order.
            anchored: whether the pairs were derived from a graph's own edges. By default regions that are all edges of
                the graph, or all its absent ones, are taken to be.
            reason: how, a sentence for every certificate.

        Example:
            >>> Partition.from_pairs({"ring": [(0, 1), (1, 2), (2, 0)]})
            Partition(ring)
        """
        found = _listed(regions, "pair", {"ring": [(0, 1), (1, 2)]})
        return cls(tuple((region, Pairs(frozenset(pairs))) for region, pairs in found.items()), anchored, reason)

    @classmethod
    def everything(cls, region: str) -> Partition:
        """Every node pair in one region, whatever the graph.

        Example:
            >>> Partition.everything("all").sites(Graph(10_000, [])).n_sites
            49995000
        """
        return cls(((region, Outside()),))

    @classmethod
    def from_present_edges(cls, graph: Graph, *, present: str, absent: str) -> Partition:
        """The edges of a graph in one region, all its other node pairs in another: the paper's partition of MUTAG.

        Example:
            >>> partition = Partition.from_present_edges(Graph(4, [(0, 1), (1, 2)]), present="bonds", absent="gaps")
            >>> partition.anchored, partition.sites(Graph(4, [(0, 3)])).sizes
            (True, (2, 4))
        """
        reason = f"The regions {present} and {absent} are the present and the absent edges of the clean graph."
        if graph.directed:
            arcs = frozenset((graph.nodes[u], graph.nodes[v]) for u, v in graph.edges.tolist())
            others = frozenset(permutations(graph.nodes, 2)) - arcs
            return cls(((present, ArcSet(arcs)), (absent, ArcSet(others))), True, reason)
        edges = frozenset(frozenset((graph.nodes[u], graph.nodes[v])) for u, v in graph.edges.tolist())
        return cls(((present, Pairs(edges)), (absent, Inside(frozenset(graph.nodes), edges))), True, reason)

    @classmethod
    def from_arcs(
        cls, regions: Mapping[str, Iterable[tuple[Node, Node]]], *, anchored: bool | None = None, reason: str = ""
    ) -> Partition:
        """Regions of explicit arcs of a directed graph, each a source and a target; arguments as in `from_pairs`.

        Example:
            >>> partition = Partition.from_arcs({"forth": [(0, 1), (1, 2)], "back": [(1, 0)]})
            >>> partition.sites(Graph(3, [(0, 1)], directed=True))
            Sites(forth: 2, back: 1)
        """
        found = _listed(regions, "arc", {"forth": [(0, 1), (1, 2)]})
        return cls(tuple((region, ArcSet(frozenset(arcs))) for region, arcs in found.items()), anchored, reason)

    @classmethod
    def of_layers(cls, layers: Mapping[str, Any] | None = None, /, **regions: str) -> Partition:
        """Regions that are whole layers, each by the name of its layer: "pairs" or "arcs", or data of nodes.

        Example:
            >>> graph = Graph(3, [(0, 1)], node_data={"x": [0, 1, 1]}).with_bits("x")
            >>> Partition.of_layers(bonds="pairs", atoms="x").sites(graph)
            Sites(bonds: 3, atoms: 3)
        """
        if layers is not None and not isinstance(layers, Mapping):
            hint = 'Write Partition.of_layers(bonds="pairs").'
            raise InvalidParameterError("layers", "give for the name of each region its layer", layers, hint)
        given = {**(layers or {}), **regions}
        for region in (region for region, layer in given.items() if not isinstance(layer, str)):
            raise InvalidParameterError(f"regions[{region}]", "be the name of a layer", given[region])
        return cls(tuple((region, OfLayer(layer)) for region, layer in given.items()))

    @classmethod
    def from_nodes(cls, layer: str, sets: Mapping[str, Iterable[Node]]) -> Partition:
        """Regions of data of nodes that are sites, by the name of the data: those of some nodes each.

        Example:
            >>> graph = Graph(3, [(0, 1)], node_data={"x": [[0, 1], [1, 0], [1, 1]]}).with_bits("x")
            >>> Partition.from_nodes("x", {"first": [0], "others": [1, 2]}).sites(graph)
            Sites(first: 2, others: 4)
        """
        given = _by_region(sets, "sets", "its nodes", {"first": [0, 1], "others": [2, 3]})
        found = {region: as_nodes(nodes, f"sets[{region}]") for region, nodes in given.items()}
        return cls(tuple((region, OfLayer(layer, nodes)) for region, nodes in found.items()))

    @classmethod
    def from_columns(cls, layer: str, sets: Mapping[str, Iterable[int]]) -> Partition:
        """Regions of data of nodes that are sites: some columns of all nodes each.

        Example:
            >>> graph = Graph(3, [(0, 1)], node_data={"x": [[0, 1], [1, 0], [1, 1]]}).with_bits("x")
            >>> Partition.from_columns("x", {"first": [0], "second": [1]}).sites(graph)
            Sites(first: 3, second: 3)
        """
        parts = []
        for region, columns in _by_region(sets, "sets", "its columns", {"first": [0], "second": [1]}).items():
            listed: list[Any] = list(columns) if isinstance(columns, Iterable) else [None]
            if not all(is_index(column) for column in listed) or len(set(listed)) < len(listed):
                raise InvalidParameterError(f"sets[{region}]", "be numbers of columns, each once", columns)
            parts.append((region, OfLayer(layer, None, frozenset(map(int, listed)))))
        return cls(tuple(parts))

    def __or__(self, other: Partition) -> Partition:
        """The regions of both, anchored if either is."""
        if not isinstance(other, Partition):
            return NotImplemented
        open_question = self.anchored is None or other.anchored is None
        anchored = True if self.anchored or other.anchored else None if open_question else False
        return Partition(self.parts + other.parts, anchored, " ".join(filter(None, (self.reason, other.reason))))

    @property
    def regions(self) -> tuple[str, ...]:
        """The names of the regions."""
        return tuple(region for region, _ in self.parts)

    def sites(self, graph: Graph) -> Sites:
        """The sites of a graph that has these nodes and layers, layer after layer; overlapping regions are refused."""
        index, place = Index(graph), {layer.name: number for number, layer in enumerate(graph.layers)}
        bound = {name: part.region(index) for name, part in self.parts}
        names = tuple(sorted(bound, key=lambda name: place.get(bound[name].layer, -1)))
        sites = Sites(graph, names, tuple(bound[name] for name in names), bool(self.anchored), self.reason)
        reason = read_off(sites) if self.anchored is None else ""
        return sites.mark_anchored(reason) if reason else sites

    def __repr__(self) -> str:
        return f"Partition({', '.join(self.regions)}{', anchored' if self.anchored else ''})"


def texts_of_labels(labels: Iterable[Any], parameter: str) -> list[str]:
    """The text of each label; labels that differ in nothing else are refused."""
    found, first = list[str](), dict[str, Any]()
    for label in labels:
        # A region cannot be called 6.0, and a file of numbers means the label 6 by it.
        text = str(int(label) if isinstance(label, float) and label.is_integer() else label)
        if first.setdefault(text, label) != label:
            raise InvalidParameterError(parameter, "differ in their str", (first[text], label))
        found.append(text)
    return found


def divide_nodes(sets: Mapping[str, Nodes], *, between: str | None = None) -> Partition:
    """A region of the pairs inside each of some disjoint node sets, and one of all pairs between them."""
    parts: list[tuple[str, PairSet]] = [(region, Inside(nodes)) for region, nodes in sets.items()]
    if between is not None:
        parts.append((between, Across(tuple(sets.values()))))
    return Partition(tuple(parts))


def read_off(sites: Sites) -> str:
    """A sentence if these sites look as if they were derived from the edges of their graph; "" if they do not.

    Two kinds of regions do: pairs named one by one that are all edges of the graph, and all node pairs, or all inside a
    set, but for exactly the edges. Of node sets it cannot be seen.
    """
    found = []
    for region, block, counts in zip(sites.regions, sites.blocks, sites.counts, strict=True):
        pairs = block.pairs if isinstance(block, BothWays) else block
        if not isinstance(pairs, Listed) and not (isinstance(pairs, Block) and len(pairs.holes)):
            continue
        n_edges = block.size - counts[0]
        if n_edges == block.size >= MIN_PAIRS:
            found.append(f"The {pairs.layer} of the region {region} are edges of the clean graph")
        elif n_edges == 0 and _leaves_out_just_the_edges(block, pairs, sites.graph):
            found.append(f"The region {region} leaves out just the edges of the clean graph")
    return " ".join(f"{sentence}, as if they were derived from it." for sentence in found)


def _leaves_out_just_the_edges(block: Region, pairs: Region, graph: Graph) -> bool:
    """True if a region without any edge lacks nothing but edges."""
    if not isinstance(pairs, Block):
        return block.size >= MIN_PAIRS and 0 < graph.n_edges == graph.layers[0].size - block.size
    edges = pairs.whole.locate(*graph.edges.T)
    return len(pairs.holes) >= MIN_PAIRS and len(np.unique(edges[edges >= 0])) == len(pairs.holes)


def _by_region(given: Mapping[str, Any], parameter: str, what: str, example: Mapping[str, object]) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        hint = f"Write {parameter}={example!r}."
        raise InvalidParameterError(parameter, f"give for the name of each region {what}", given, hint)
    return given


def _listed(regions: Mapping[str, Any], site: str, example: Mapping[str, object]) -> dict[str, list[Any]]:
    """For each region its pairs, frozensets of two nodes, or its arcs, tuples; each in one region, and once."""
    home: dict[Hashable, str] = {}
    found: dict[str, list[Any]] = {}
    for region, pairs in _by_region(regions, "regions", f"its {site}s", example).items():
        name = f"regions[{region}]"
        found[region] = []
        if not isinstance(pairs, Iterable):
            raise InvalidParameterError(name, "be pairs of nodes", pairs)
        for pair in pairs:
            both = _as_pair(pair, name)
            key = both if site == "pair" else tuple(pair)
            if key in home and home[key] == region:
                raise InvalidParameterError(name, f"hold each {site} once", f"{tuple(pair)!r} twice")
            if home.setdefault(key, region) != region:
                refuse_overlap(tuple(pair), home[key], region)
            found[region].append(key)
    return found


def _two_sets(names: object, node_sets: Mapping[str, Nodes], parameter: str) -> tuple[Nodes, Nodes]:
    if not (isinstance(names, Sequence) and len(names) == 2 and all(name in node_sets for name in names)):
        raise InvalidParameterError(parameter, f"name two of the sets {', '.join(map(repr, node_sets))}", names)
    left, right = (node_sets[name] for name in names)
    for node in left & right:
        common = f"{node!r} in {names[0]!r} and {names[1]!r}"
        raise InvalidParameterError(parameter, "name two sets without a common node", common)
    return left, right


def as_nodes(nodes: Iterable[Node], name: str) -> Nodes:
    """A set of names of nodes; errors call it `name`."""
    if isinstance(nodes, str):
        raise InvalidParameterError(name, "be a set of nodes", nodes, f"For one node write [{nodes!r}].")
    try:
        return frozenset(nodes)
    except TypeError:
        raise InvalidParameterError(name, "be names of nodes", nodes) from None


def _as_pair(pair: tuple[Node, Node], name: str) -> Pair:
    try:
        one, other = pair
        both = frozenset((one, other))
    except (TypeError, ValueError):
        raise InvalidParameterError(name, "be pairs of nodes", pair) from None
    if len(both) < 2:
        raise InvalidParameterError(name, f"pairs the node {one!r} with itself.")
    return both
