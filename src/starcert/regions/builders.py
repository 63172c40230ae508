"""The region builders by name, and the rule that a line of text describes."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from starcert.errors import InvalidParameterError
from starcert.regions.aromatic_atoms import BUILDER as AROMATIC_ATOMS
from starcert.regions.builder import Builder
from starcert.regions.communities import BUILDER as COMMUNITIES
from starcert.regions.explained import BUILDER as EXPLAINED
from starcert.regions.functional_groups import BUILDER as FUNCTIONAL_GROUPS
from starcert.regions.low_rank import BUILDER as LOW_RANK
from starcert.regions.node_labels import BUILDER as NODE_LABELS
from starcert.regions.node_sets import BUILDER as NODE_SETS
from starcert.regions.ring_atoms import BUILDER as RING_ATOMS
from starcert.regions.rule import RegionRule
from starcert.regions.similar_features import BUILDER as SIMILAR_FEATURES
from starcert.regions.text import parse_rule

__all__ = ["BUILDERS", "build"]

_LISTED = (
    NODE_LABELS,
    NODE_SETS,
    RING_ATOMS,
    AROMATIC_ATOMS,
    FUNCTIONAL_GROUPS,
    COMMUNITIES,
    SIMILAR_FEATURES,
    LOW_RANK,
    EXPLAINED,
)

BUILDERS: Mapping[str, Builder] = MappingProxyType({builder.name: builder for builder in _LISTED})
"""All builders by name."""


def build(text: str, **parameters: object) -> RegionRule:
    """The region rule that a line of text describes: NAME, or NAME:PARAMETER=VALUE,PARAMETER=VALUE.

    Args:
        text: the name of a builder, with parameters or without.
        parameters: more parameters, for what text cannot say.

    Example:
        >>> build("communities:resolution=1.5") == build("communities", resolution=1.5)
        True
        >>> build("node_sets:motif=0-9,random=10-19,between=bridge").regions
        ('motif', 'random', 'bridge')
    """
    name, given = parse_rule(text)
    if name not in BUILDERS:
        near = get_close_matches(name, BUILDERS, n=1)
        hint = f"Did you mean {near[0]}?" if near else "A partition of your own is a function from a graph to one."
        raise InvalidParameterError("regions", f"name one of the builders {', '.join(BUILDERS)}", name, hint)
    for twice in given.keys() & parameters.keys():
        raise InvalidParameterError("regions", f"give {twice!r} once", f"{text!r} and {parameters[twice]!r}")
    return BUILDERS[name](**given, **parameters)
