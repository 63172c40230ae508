"""The partition: named regions of node pairs, described by the names of nodes, apart from any one graph."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from starcert.errors import InvalidParameterError
from starcert.graphs.blocks import AnyBlock, Block, Listed
from starcert.graphs.graph import Graph
from starcert.graphs.pairs import refuse_overlap
from starcert.graphs.pairsets import Across, Everything, Index, Inside, Node, Nodes, Pair, Pairs, PairSet, shared_pair
from starcert.graphs.sites import Sites

__all__ = ["Partition", "read_off"]

FEWEST = 2
"""A single pair that is an edge says nothing."""


@dataclass(frozen=True, repr=False)
class Partition:
    """Named regions of node pairs, disjoint; pairs in no region are fixed.

    It speaks of the names of nodes, so that one partition serves every graph that has those nodes. Make one with
    `from_node_sets`, `from_node_labels`, `from_pairs`, `everything` or `from_present_edges`. Whether regions share a
    pair is asked at the latest when a graph shows which nodes there are: `sites` refuses those that do.

    A certificate holds when the regions are the same for the clean and the attacked graph. Regions that were read
    off a graph's own edges are *anchored*: the certificate then speaks of a classifier whose regions are frozen at
    the clean graph.

    Attributes:
        parts: the regions by name, each with a description of its pairs.
        anchored: whether the regions were read off a graph's own edges. None if nobody says so: then `sites` marks
            those that look like it, see `read_off`. False is the author's word that they were not.
        reason: why they are anchored, a sentence; empty if they are not.

    Example:
        >>> partition = Partition.from_node_sets({"core": range(6), "rest": range(6, 12)})
        >>> partition
        Partition(core, rest)
        >>> partition.sites(Graph(12, [(0, 1), (5, 6)])).sizes
        (15, 15)
    """

    parts: tuple[tuple[str, PairSet], ...]
    anchored: bool | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for region in self.regions:
            if not isinstance(region, str) or not re.fullmatch(r"[^\s.,=/]+", region):
                raise InvalidParameterError("regions", "have names without spaces and without any of . , = /", region)
            if region in seen:
                raise InvalidParameterError("regions", "have different names", f"{region!r} twice")
            seen.add(region)
        if self.reason and not self.anchored:
            hint = "Give anchored=True if the regions were read off the graph's own edges."
            raise InvalidParameterError("reason", "be empty for regions that are not anchored", self.reason, hint)
        if self.anchored and not self.reason:
            object.__setattr__(self, "reason", "The regions were read off the graph's own edges.")

    @classmethod
    def from_node_sets(
        cls, sets: Mapping[str, Iterable[Node]], *, between: Mapping[str, tuple[str, str]] | None = None
    ) -> Partition:
        """Regions of the pairs inside node sets, and of the pairs between two of them.

        Args:
            sets: the nodes of each set. The pairs inside it are a region of the same name.
            between: more regions, each by the names of two sets. Its pairs have one node in either.

        Example:
            >>> atoms = {"ring": ["C1", "C2", "C3"], "tail": ["N", "O"]}
            >>> Partition.from_node_sets(atoms, between={"bridge": ("ring", "tail")})
            Partition(ring, tail, bridge)
        """
        node_sets = {region: _as_nodes(nodes, f"sets[{region}]") for region, nodes in sets.items()}
        parts: list[tuple[str, PairSet]] = [(region, Inside(nodes)) for region, nodes in node_sets.items()]
        sides = [(region, (nodes, nodes)) for region, nodes in node_sets.items()]
        for region, names in (between or {}).items():
            left, right = _two_sets(names, node_sets, f"between[{region}]")
            parts.append((region, Across((left, right))))
            sides.append((region, (left, right)))
        for (region, one), (another, other) in combinations(sides, 2):
            pair = shared_pair(one, other)
            if pair is not None:
                refuse_overlap(pair, region, another)
        return cls(tuple(parts))

    @classmethod
    def from_node_labels(
        cls, labels: Mapping[Node, Hashable] | Sequence[Hashable], *, between: str | None = None
    ) -> Partition:
        """A region for each label, of the pairs of nodes that both carry it.

        Args:
            labels: the label of each node; a sequence labels the nodes 0, 1, …. The region is called str(label), and
                regions come in the order in which labels are first seen. Pairs with a node that has none are fixed.
            between: a region for all pairs with different labels, which are fixed otherwise.

        Example:
            >>> Partition.from_node_labels({"C1": "carbon", "C2": "carbon", "O": "oxygen"}, between="mixed")
            Partition(carbon, oxygen, mixed)
        """
        groups: dict[str, tuple[Hashable, list[Node]]] = {}
        for node, label in labels.items() if isinstance(labels, Mapping) else enumerate(labels):
            first, members = groups.setdefault(str(label), (label, []))
            if first != label:
                raise InvalidParameterError("labels", "be told apart by their str", (first, label))
            members.append(node)
        node_sets = {region: frozenset(members) for region, (_, members) in groups.items()}
        parts: list[tuple[str, PairSet]] = [(region, Inside(nodes)) for region, nodes in node_sets.items()]
        if between is not None:
            parts.append((between, Across(tuple(node_sets.values()))))
        return cls(tuple(parts))

    @classmethod
    def from_pairs(
        cls, regions: Mapping[str, Iterable[tuple[Node, Node]]], *, anchored: bool | None = None, reason: str = ""
    ) -> Partition:
        """Regions of explicit pairs.

        Args:
            regions: the pairs of each region, each once and in either order.
            anchored: whether the pairs were read off a graph's own edges. By default a region whose pairs are all
                edges of the graph at hand, or all its absent ones, is taken to be; False says that it is not.
            reason: how, a sentence for every certificate.

        Example:
            >>> Partition.from_pairs({"ring": [(0, 1), (1, 2), (2, 0)]})
            Partition(ring)
        """
        home: dict[Pair, str] = {}
        parts = []
        for region, pairs in regions.items():
            listed = set()
            for pair in pairs:
                key = _as_pair(pair, f"regions[{region}]")
                if key in listed:
                    raise InvalidParameterError(f"regions[{region}]", "hold each pair once", f"{tuple(pair)!r} twice")
                if home.setdefault(key, region) != region:
                    refuse_overlap(tuple(pair), home[key], region)
                listed.add(key)
            parts.append((region, Pairs(frozenset(listed))))
        return cls(tuple(parts), anchored, reason)

    @classmethod
    def everything(cls, region: str) -> Partition:
        """Every node pair in one region, whatever the graph.

        Example:
            >>> Partition.everything("all").sites(Graph(10_000, [])).n_sites
            49995000
        """
        return cls(((region, Everything()),))

    @classmethod
    def from_present_edges(cls, graph: Graph, *, present: str, absent: str) -> Partition:
        """The edges of a graph in one region, all its other node pairs in another: the paper's partition of MUTAG.

        It is anchored: an attacked graph has other edges, and would have other regions.

        Example:
            >>> partition = Partition.from_present_edges(Graph(4, [(0, 1), (1, 2)]), present="bonds", absent="gaps")
            >>> partition.anchored, partition.sites(Graph(4, [(0, 3)])).sizes
            (True, (2, 4))
        """
        edges = frozenset(frozenset((graph.nodes[u], graph.nodes[v])) for u, v in graph.edges.tolist())
        reason = f"The regions {present} and {absent} are the present and the absent edges of the clean graph."
        return cls(((present, Pairs(edges)), (absent, Inside(frozenset(graph.nodes), edges))), True, reason)

    @property
    def regions(self) -> tuple[str, ...]:
        """The names of the regions."""
        return tuple(region for region, _ in self.parts)

    def sites(self, graph: Graph) -> Sites:
        """The sites of a graph that has these nodes.

        Raises:
            InvalidParameterError: if the partition names a node that the graph does not have, or if two regions share
                a node pair.
        """
        index = Index(graph)
        bound = tuple(part.block(index) for _, part in self.parts)
        sites = Sites(graph, self.regions, bound, bool(self.anchored), self.reason)
        reason = read_off(sites) if self.anchored is None else ""
        return sites.marked(reason) if reason else sites

    def __repr__(self) -> str:
        return f"Partition({', '.join(self.regions)}{', anchored' if self.anchored else ''})"


def read_off(sites: Sites) -> str:
    """Why these sites look as if they were read off the edges of their graph; "" if they do not.

    Two kinds of regions do: those whose pairs are named one by one and are all edges of the graph, and those that take
    in all node pairs, or all inside a set, but for exactly the edges. Regions of node sets are never of that kind, even
    if somebody has found the sets by the edges: that cannot be seen.

    Example:
        >>> graph = Graph(4, [(0, 1), (1, 2)])
        >>> read_off(Partition.from_pairs({"bonds": [(1, 0), (1, 2)]}, anchored=False).sites(graph))
        'The pairs of the region bonds are edges of the clean graph, as if they were read off it.'
    """
    return " ".join(_sentences(sites))


def _sentences(sites: Sites) -> Iterator[str]:
    for number, (region, block) in enumerate(zip(sites.regions, sites.blocks, strict=True)):
        if not isinstance(block, Listed) and not (isinstance(block, Block) and len(block.holes)):
            continue
        n_edges = len(sites.ones[number])
        if n_edges == block.size >= FEWEST:
            yield f"The pairs of the region {region} are edges of the clean graph, as if they were read off it."
        elif n_edges == 0 and _leaves_out_just_the_edges(block, sites.graph):
            yield f"The region {region} leaves out just the edges of the clean graph, as if they were read off it."


def _leaves_out_just_the_edges(block: AnyBlock, graph: Graph) -> bool:
    """Whether a block without any edge lacks nothing but edges."""
    n_pairs = graph.n_nodes * (graph.n_nodes - 1) // 2
    if isinstance(block, Listed):
        return block.size >= FEWEST and 0 < graph.n_edges == n_pairs - block.size
    edges = block.whole.locate(*graph.edges.T)
    return len(block.holes) >= FEWEST and int((edges >= 0).sum()) == len(block.holes)


def _two_sets(names: object, node_sets: Mapping[str, Nodes], parameter: str) -> tuple[Nodes, Nodes]:
    if not (isinstance(names, Sequence) and len(names) == 2 and all(name in node_sets for name in names)):
        raise InvalidParameterError(parameter, f"name two of the sets {', '.join(map(repr, node_sets))}", names)
    left, right = (node_sets[name] for name in names)
    for node in left & right:
        common = f"{node!r} in {names[0]!r} and {names[1]!r}"
        raise InvalidParameterError(parameter, "name two sets without a common node", common)
    return left, right


def _as_nodes(nodes: Iterable[Node], name: str) -> Nodes:
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
        raise InvalidParameterError(name, "pair each node with another one", (one, other))
    return both
