"""Region builders: from a name or a function to a rule that divides the node pairs of any graph.

Each says whether its regions are anchored, that is, read off the graph's own edges, and why one would choose it; see
`BUILDERS`. The functions are imported here at once: a module of the same name would stand in their place otherwise.
What is heavy they import themselves, when they need it.
"""

from starcert.regions.aromatic_atoms import aromatic_atoms
from starcert.regions.builder import Builder
from starcert.regions.builders import BUILDERS, build
from starcert.regions.communities import communities
from starcert.regions.explained import explained
from starcert.regions.functional_groups import functional_groups
from starcert.regions.low_rank import low_rank
from starcert.regions.node_labels import node_labels
from starcert.regions.node_sets import node_sets
from starcert.regions.ring_atoms import ring_atoms
from starcert.regions.rule import RegionRule
from starcert.regions.similar_features import similar_features

__all__ = [
    "BUILDERS",
    "Builder",
    "RegionRule",
    "aromatic_atoms",
    "build",
    "communities",
    "explained",
    "functional_groups",
    "low_rank",
    "node_labels",
    "node_sets",
    "ring_atoms",
    "similar_features",
]
