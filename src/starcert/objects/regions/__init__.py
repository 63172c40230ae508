"""Region builders: from a name or a function to a rule that divides the node pairs of any graph; see `BUILDERS`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from starcert.objects.regions.atoms import aromatic_atoms, functional_groups, ring_atoms
from starcert.objects.regions.builder import BUILT, Builder, RegionRule, join, layers, parse_rule
from starcert.objects.regions.groups import communities, node_labels, node_sets
from starcert.objects.regions.scores import low_rank, similar_features
from starcert.system.errors import InvalidParameterError, did_you_mean

__all__ = ["BUILDERS", "Builder", "RegionRule", "aromatic_atoms", "build", "communities", "functional_groups",
           "join", "layers", "low_rank", "node_labels", "node_sets", "ring_atoms",
           "similar_features"]  # fmt: skip

_NAMES = (
    "node_labels node_sets ring_atoms aromatic_atoms functional_groups communities similar_features low_rank layers"
)

BUILDERS: Mapping[str, Builder] = MappingProxyType({name: BUILT[name] for name in _NAMES.split()})
"""All builders by name."""


def build(text: str, **parameters: object) -> RegionRule:
    """The region rule that a line of text describes: NAME, or NAME:PARAMETER=VALUE,PARAMETER=VALUE.

    `one | other` has the regions of both. `parameters` are more of them, for values that text cannot express: where
    rules are joined, each goes to the builders that have it.

    Example:
        >>> build("communities:resolution=1.5") == build("communities", resolution=1.5)
        True
        >>> build("node_sets:motif=0-9,random=10-19,between=bridge").regions
        ('motif', 'random', 'bridge')
        >>> build("ring_atoms | layers:atoms=x").regions
        ('ring', 'rest', 'between', 'atoms')
    """
    if isinstance(text, str) and len(texts := re.split(r"\s\|\s", text)) > 1:
        own = [{name: parameters[name] for name in parameters.keys() & _parameters(each)} for each in texts]
        return join(*(build(each, **some) for each, some in zip(texts, own, strict=True)))
    name, given = parse_rule(text)
    if name not in BUILDERS:
        hint = did_you_mean(name, BUILDERS, "A partition of your own is a function from a graph to one.")
        raise InvalidParameterError("regions", f"name one of the builders {', '.join(BUILDERS)}", name, hint)
    for twice in given.keys() & parameters.keys():
        raise InvalidParameterError("regions", f"give {twice!r} once", f"{text!r} and {parameters[twice]!r}")
    return BUILDERS[name](**given, **parameters)


def _parameters(text: str) -> set[str]:
    found = BUILDERS.get(text.partition(":")[0].strip())
    return set() if found is None else set(found.parameters)


def __dir__() -> list[str]:
    return sorted(__all__)
