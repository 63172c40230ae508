"""Regions by functional groups: the atoms that a SMARTS pattern finds, and all others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from starcert.errors import InvalidParameterError
from starcert.graphs import Graph, Partition
from starcert.graphs.molecules import load_rdkit
from starcert.graphs.pairsets import Inside
from starcert.regions.builder import Builder
from starcert.regions.molecules import KINDS, Words, as_bonds, as_elements, molecule_of
from starcert.regions.rule import RegionRule, divided
from starcert.regions.text import text_of, words_of

__all__ = ["BUILDER", "GROUPS", "MATCH", "functional_groups"]

_WHY = "A functional group is where a molecule reacts: say how much may change there, and how much elsewhere."
_REASON = "Functional groups were found from the bonds of the clean graph."

MATCH = "match"
"""The region of a SMARTS pattern of one's own."""

_MOST = 100_000_000  # RDKit would stop after a thousand matches, and say nothing

GROUPS: Mapping[str, str] = {
    "nitro": "[$([N+](=O)[O-]),$(N(=O)=O)]~[OX1]",
    "nitroso": "[NX2]=[OX1]",
    "carboxyl": "[CX3](=O)[OX2H1,OX1-]",
    "ester": "[CX3](=O)[OX2H0;$(O([#6])[#6])]",
    "amide": "[CX3](=O)[NX3]",
    "carbonyl": "[CX3]=[OX1]",
    "hydroxyl": "[OX2H1;$(O[#6])]",
    "ether": "[OX2H0;$(O([#6])[#6])]",
    "amine": "[NX3;!$(N~[!#6]);!$(NC=[O,S,N])]",
    "nitrile": "[CX2]#[NX1]",
    "thiol": "[SX2H1]",
    "halide": "[F,Cl,Br,I;$(*[#6])]",
}
"""The groups that are known by name, as SMARTS; an atom belongs to the first group that has it."""


def functional_groups(
    groups: str | list[str] | tuple[str, ...] | Mapping[str, str] | None = None,
    *,
    smarts: str | None = None,
    elements: Words = None,
    bonds: Words = None,
) -> RegionRule:
    """Regions of the pairs inside functional groups, of the pairs of other atoms (`rest`), and `between` all of these.

    RDKit finds the groups, which needs the extra `molecules` and graphs that are molecules: those of
    `Graph.from_smiles` and `Graph.from_rdkit`, and those of the TU data sets with `elements` and `bonds`. Groups are
    made of bonds: anchored. An atom belongs to the first group that has it; two atoms of the same kind of group are
    in that region also if they belong to different groups.

    Args:
        groups: names from `GROUPS`, in text nitro/amine, each a region; or patterns of one's own by name of the region.
            By default the atoms of all known groups together, as the region `functional`; none if there is a `smarts`.
        smarts: a pattern of one's own; its atoms come first, as the region `match`.
        elements: which element each node label is, `MUTAG` or symbols for the labels 0, 1, …, in text C/N/O; by default
            the graphs have the node data `atomic_number`.
        bonds: which order each edge label is, `MUTAG` or orders for the labels 0, 1, …, in text
            aromatic/single/double/triple; `guess` for graphs that do not say, a guess by a stated convention (see
            `starcert.regions.guess`); by default the graphs have the anchored data `bonds`.

    Example:
        >>> graph = Graph.from_smiles("O=[N+]([O-])c1ccc(N)cc1")
        >>> rule = functional_groups("nitro/amine")
        >>> rule.regions, rule(graph).sites(graph).sizes
        (('nitro', 'amine', 'rest', 'between'), (3, 0, 15, 27))
    """
    patterns = _patterns(groups, smarts)
    regions = (*patterns, "rest", "between")
    Partition(tuple((region, Inside(frozenset())) for region in regions))  # names that cannot be are refused now
    for region, texts in patterns.items():
        for text in texts:
            _query(text, region)
    divide = partial(_divide, patterns=patterns, elements=as_elements(elements), bonds=as_bonds(bonds))
    given = {"groups": text_of(groups), "smarts": smarts, "elements": text_of(elements), "bonds": text_of(bonds)}
    # Text has no way to name several patterns of one's own; the record shows them all the same.
    described = f"functional_groups:{given | {'groups': dict(groups)}}" if isinstance(groups, Mapping) else ""
    return RegionRule("functional_groups", given, regions, divide, _WHY, _REASON, described=described)


def _patterns(groups: object, smarts: str | None) -> dict[str, tuple[str, ...]]:
    """The SMARTS of each region, in the order in which they take atoms."""
    patterns: dict[str, tuple[str, ...]] = {} if smarts is None else {MATCH: (smarts,)}
    if groups is None:
        return patterns or {"functional": tuple(GROUPS.values())}
    if isinstance(groups, Mapping):
        if not groups:
            raise InvalidParameterError("groups", "name at least one pattern", groups)
        return patterns | {region: (text,) for region, text in groups.items()}
    for name in words_of(groups, "groups"):
        if name not in GROUPS:
            hint = "A pattern of your own goes to smarts=…."
            raise InvalidParameterError("groups", f"be some of {', '.join(GROUPS)}", name, hint)
        patterns[name] = (GROUPS[name],)
    return patterns


def _query(text: object, region: str) -> object:
    chem = load_rdkit("Chem")
    with load_rdkit("rdBase").BlockLogs():
        query = chem.MolFromSmarts(text) if isinstance(text, str) and text else None
    if query is None:
        raise InvalidParameterError("smarts", f"be a SMARTS pattern that RDKit can read, for {region!r}", text)
    return query


def _divide(
    graph: Graph,
    *,
    patterns: Mapping[str, tuple[str, ...]],
    elements: tuple[str, ...] | None,
    bonds: tuple[str, ...] | None,
) -> Partition:
    molecule = molecule_of(graph, elements, bonds)
    free = set(range(graph.n_nodes))
    sets = {}
    for region, texts in patterns.items():
        matches = [molecule.GetSubstructMatches(_query(text, region), maxMatches=_MOST) for text in texts]
        found = {atom for match in matches for atoms in match for atom in atoms} & free
        free -= found
        sets[region] = frozenset(graph.nodes[atom] for atom in found)
    return divided({**sets, "rest": frozenset(graph.nodes[atom] for atom in free)}, between="between")


BUILDER = Builder(
    "functional_groups",
    functional_groups,
    "functional, or one for each group (groups=nitro/amine), or match (smarts=…); rest, between",
    _WHY,
    _REASON,
    {"groups": str, "smarts": str, **KINDS},
)
