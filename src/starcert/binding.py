"""Where the regions of a noise lie in graphs: asked once, by a partition for all graphs or a rule for each.

What is bound is a `Problem`. Votes, certificates, archive and report are all made from the same one: a rule that is
asked again may give other regions, or hide how it came by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from starcert.errors import InvalidParameterError
from starcert.graphs import Graph, Partition, Sites
from starcert.graphs.rule import READS_EDGES, Rule, partition_by_rule, was_seen_to_read_edges
from starcert.noise import Noise

__all__ = [
    "Problem",
    "Regions",
    "anchored_together",
    "bind",
    "bind_all",
    "capacity",
    "check_noise_and_regions",
    "check_regions",
]

Regions: TypeAlias = Partition | Rule
"""A partition, if all graphs share their nodes, or a rule: a function from a graph to its partition."""


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """Graphs, a noise, and where its regions lie in each graph: what is to be certified, bound once.

    Make one with `SmoothedClassifier.problem`, and give it to `vote`, `certify` and `predict` in place of the graphs.

    Attributes:
        noise: a flip law for every region.
        sites: the sites of each graph.

    Example:
        >>> problem = bind_all([Graph(3, [(0, 1)]), Graph(4, [])], Noise(all=0.1), None)
        >>> problem, problem.capacities, problem.anchored
        (Problem(2 graphs, Noise(all=0.1)), ((3,), (6,)), ('', ''))
    """

    noise: Noise
    sites: tuple[Sites, ...]

    def __post_init__(self) -> None:
        for each in self.sites:
            check_regions(each, self.noise)

    def __len__(self) -> int:
        return len(self.sites)

    def __repr__(self) -> str:
        return f"Problem({len(self)} graph{'s' * (len(self) != 1)}, {self.noise!r})"

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs."""
        return tuple(each.graph for each in self.sites)

    @cached_property
    def capacities(self) -> tuple[tuple[int, ...], ...]:
        """For each graph, how many sites an attacker finds on each axis."""
        return tuple(capacity(each, self.noise) for each in self.sites)

    @property
    def anchored(self) -> tuple[str, ...]:
        """For each graph, why its regions are anchored; "" if they are not."""
        return tuple(each.reason for each in self.sites)

    def under(self, noise: Noise) -> Problem:
        """The same regions of the same graphs under another noise."""
        return replace(self, noise=noise)


def check_noise_and_regions(noise: object, regions: object) -> None:
    """Refuses what is no noise, and regions that cannot be those of the noise."""
    if not isinstance(noise, Noise):
        raise InvalidParameterError("noise", "be a Noise", noise, "Write for instance Noise(motif=0.02, random=0.45).")
    if regions is None and len(noise.regions) > 1:
        raise InvalidParameterError(
            "regions",
            f"say where the {len(noise.regions)} regions of the noise are",
            None,
            "Give a Partition, for instance Partition.from_node_sets({...}), or a rule from a graph to one.",
        )
    if not (regions is None or isinstance(regions, Partition) or callable(regions)):
        raise InvalidParameterError("regions", "be a Partition or a function from a graph to one", regions)


def check_regions(sites: Sites, noise: Noise) -> None:
    """Refuses sites whose regions are not those of the noise."""
    if set(sites.regions) != set(noise.regions):
        raise InvalidParameterError(
            "regions",
            f"be those of the noise, {', '.join(noise.regions)}",
            ", ".join(sites.regions),
            "Give every region of the partition a flip law, and no other.",
        )


def capacity(sites: Sites, noise: Noise) -> tuple[int, ...]:
    """How many sites an attacker finds on each axis: more flips than these are no further attack."""
    found = {
        region: noise[region].capacity((size - ones.size, ones.size))
        for region, size, ones in zip(sites.regions, sites.sizes, sites.ones, strict=True)
    }
    return tuple(count for region in noise for count in found[region])


def bind_all(graphs: Iterable[Graph], noise: Noise, regions: Regions | None) -> Problem:
    """The problem of these graphs: each is bound once, in their order."""
    return Problem(noise, anchored_together([bind(graph, noise, regions) for graph in graphs], regions))


def anchored_together(sites: Sequence[Sites], regions: Regions | None) -> tuple[Sites, ...]:
    """The sites that a rule has given, all of them anchored if it was seen to read the edges of any graph.

    A rule that remembers its answers may have read off one graph what it says of another. And marks that depend on
    which graph came first would change when the same graphs are bound again.
    """
    if regions is None or isinstance(regions, Partition) or not was_seen_to_read_edges(regions):
        return tuple(sites)
    return tuple(each if each.anchored else each.marked(READS_EDGES) for each in sites)


def bind(graph: Graph, noise: Noise, regions: Regions | None) -> Sites:
    """The sites of a graph; without `regions`, the one region of the noise is every node pair.

    Example:
        >>> bind(Graph(4, [(0, 1)]), Noise(all=0.1), None)
        Sites(all: 6)
    """
    if not isinstance(graph, Graph):
        hint = "Convert it first, for instance with Graph.from_networkx(graph)."
        raise InvalidParameterError("graphs", "be starcert Graphs", type(graph).__name__, hint)
    if regions is None:
        partition = Partition.everything(noise.regions[0])
    elif isinstance(regions, Partition):
        partition = regions
    else:
        partition = partition_by_rule(regions, graph)
    return partition.sites(graph)
