"""Region builders: from a name or a function to a rule that divides the node pairs of any graph; see `BUILDERS`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from starcert.objects.regions.atoms import aromatic_atoms, functional_groups, ring_atoms
from starcert.objects.regions.builder import BUILT, Builder, RegionRule, parse_rule
from starcert.objects.regions.groups import communities, explained, node_labels, node_sets
from starcert.objects.regions.scores import low_rank, similar_features
from starcert.system.errors import InvalidParameterError, did_you_mean

__all__ = ["BUILDERS", "Builder", "RegionRule", "aromatic_atoms", "build", "communities", "explained",
           "functional_groups", "low_rank", "node_labels", "node_sets", "ring_atoms", "similar_features"]  # fmt: skip

_NAMES = (
    "node_labels node_sets ring_atoms aromatic_atoms functional_groups communities similar_features low_rank explained"
)

BUILDERS: Mapping[str, Builder] = MappingProxyType({name: BUILT[name] for name in _NAMES.split()})
"""All builders by name."""


def build(text: str, **parameters: object) -> RegionRule:
    """The region rule that a line of text describes: NAME, or NAME:PARAMETER=VALUE,PARAMETER=VALUE.

    `parameters` are more of them, for values that text cannot express.

    Example:
        >>> build("communities:resolution=1.5") == build("communities", resolution=1.5)
        True
        >>> build("node_sets:motif=0-9,random=10-19,between=bridge").regions
        ('motif', 'random', 'bridge')
    """
    name, given = parse_rule(text)
    if name not in BUILDERS:
        hint = did_you_mean(name, BUILDERS, "A partition of your own is a function from a graph to one.")
        raise InvalidParameterError("regions", f"name one of the builders {', '.join(BUILDERS)}", name, hint)
    for twice in given.keys() & parameters.keys():
        raise InvalidParameterError("regions", f"give {twice!r} once", f"{text!r} and {parameters[twice]!r}")
    return BUILDERS[name](**given, **parameters)


def __dir__() -> list[str]:
    return sorted(__all__)
