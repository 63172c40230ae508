"""Where the regions of a noise lie in a graph: a partition for all graphs, or a rule from a graph to its own."""

from __future__ import annotations

from typing import TypeAlias

from starcert.errors import InvalidParameterError
from starcert.graphs import Graph, Partition, Sites
from starcert.graphs.rule import Rule, partition_by_rule
from starcert.noise import Noise

__all__ = ["Regions", "bind", "check_noise_and_regions"]

Regions: TypeAlias = Partition | Rule
"""A partition, if all graphs share their nodes, or a rule: a function from a graph to its partition."""


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
