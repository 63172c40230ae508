"""Regions of molecules: atoms on rings, aromatic atoms, functional groups; each against all other atoms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from starcert.objects.graph import Graph
from starcert.objects.molecules import GUESS, ORDERS, load_rdkit, molecule_of, orders_of
from starcert.objects.partition import Partition, divide_nodes
from starcert.objects.regions.builder import Names, RegionRule, builder, join_names, split_names
from starcert.objects.site_sets import Inside
from starcert.system.errors import InvalidParameterError

Meanings: TypeAlias = tuple[str, ...] | None
"""The meanings of the labels 0, 1, …; None where the data say it themselves."""

MUTAG = "MUTAG"  # the TU data set whose files state what the labels 0, 1, … of its nodes and edges mean
MUTAG_ELEMENTS = ("C", "N", "O", "F", "I", "Cl", "Br")
MUTAG_BONDS = ("aromatic", "single", "double", "triple")


def as_elements(value: Names) -> Meanings:
    """The elements that node labels mean, from MUTAG or symbols; None for atomic numbers."""
    names = None if value is None else split_names(value, "elements")
    return MUTAG_ELEMENTS if names == (MUTAG,) else names


def as_bonds(value: Names) -> Meanings:
    """The orders that edge labels mean, from MUTAG or orders; None for the anchored data `bonds`."""
    names = None if value is None else split_names(value, "bonds")
    if names is None or names == (GUESS,):
        return names
    names = MUTAG_BONDS if names == (MUTAG,) else names
    unknown = [name for name in names if name not in ORDERS]
    if unknown:
        hint = f"Write for example aromatic/single/double/triple for the labels 0 to 3, or one of {MUTAG!r}, {GUESS!r}."
        raise InvalidParameterError("bonds", f"be orders of bonds ({', '.join(ORDERS)})", unknown[0], hint)
    return names


MATCH = "match"  # the region of a SMARTS pattern of one's own
_MAX_MATCHES = 100_000_000  # RDKit would stop after a thousand matches, and say nothing

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


@builder(
    "ring, rest, between",
    why="Rings are the stiff part of a molecule, so a change there differs from a change in a side chain.",
    reason="Which atoms lie on rings was derived from the bonds of the clean graph.",
)
def ring_atoms() -> RegionRule:
    """Regions of the pairs of two ring atoms (`ring`), of two others (`rest`), and of one of each (`between`).

    A node is a ring atom if it lies on a cycle of the graph, whatever graph it is. Rings are made of edges: anchored.

    Example:
        >>> toluene = Graph(7, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (5, 6)])
        >>> ring_atoms()(toluene).sites(toluene).sizes
        (15, 0, 6)
    """
    return RegionRule("", {}, ("ring", "rest", "between"), _divide_by_rings)


def _divide_by_rings(graph: Graph) -> Partition:
    import networkx as nx  # noqa: PLC0415  (slow to import)

    skeleton = nx.Graph(graph.edges.tolist())
    # An edge is a bridge if it lies on no cycle.
    skeleton.remove_edges_from(list(nx.bridges(skeleton)))
    ring = frozenset(graph.nodes[index] for index, degree in skeleton.degree if degree)
    return divide_nodes({"ring": ring, "rest": frozenset(graph.nodes) - ring}, between="between")


@builder(
    "aromatic, rest, between",
    why="Aromatic rings carry much of what a molecule does: protect them with less noise than the rest.",
    reason="Which atoms are aromatic was derived from the bonds of the clean graph.",
)
def aromatic_atoms(*, elements: Names = None, bonds: Names = None) -> RegionRule:
    """Regions of the pairs of two aromatic atoms (`aromatic`), of two others (`rest`), and of one of each (`between`).

    Where the data call bonds aromatic, as those of `Graph.from_smiles` and `sc.datasets.tu("MUTAG", edge_labels=True)`
    do, their atoms are. Where the data only say single and double, or nothing, RDKit perceives aromaticity. Aromatic
    bonds are edges: anchored.

    Args:
        elements: which element each node label is, `MUTAG` or symbols for the labels 0, 1, …, in text C/N/O; by default
            the graphs have `atomic_number`: node data, anchored data or sites. Needed only where RDKit perceives.
        bonds: which order each edge label is, `MUTAG` or orders for the labels 0, 1, …, in text
            aromatic/single/double/triple; `guess` for graphs that do not say, a guess by a stated convention (see
            `starcert.objects.molecules`); by default the graphs have the anchored data `bonds`.

    Example:
        >>> toluene = Graph.from_smiles("Cc1ccccc1")
        >>> aromatic_atoms()(toluene).sites(toluene).sizes
        (15, 0, 6)
    """
    divide = partial(_divide_by_aromaticity, elements=as_elements(elements), bonds=as_bonds(bonds))
    given = {"elements": join_names(elements), "bonds": join_names(bonds)}
    return RegionRule("", given, ("aromatic", "rest", "between"), divide)


def _divide_by_aromaticity(graph: Graph, *, elements: Meanings, bonds: Meanings) -> Partition:
    if bonds is None or "aromatic" in bonds:
        found = {end for pair, order in orders_of(graph, bonds).items() if order == "aromatic" for end in pair}
    else:
        molecule = molecule_of(graph, elements, bonds)
        found = {atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetIsAromatic()}
    aromatic = frozenset(graph.nodes[index] for index in found)
    return divide_nodes({"aromatic": aromatic, "rest": frozenset(graph.nodes) - aromatic}, between="between")


@builder(
    "functional, or one for each group (groups=nitro/amine), or match (smarts=…); rest, between",
    why="A molecule reacts at its functional groups, so count changes there and elsewhere separately.",
    reason="Functional groups were found from the bonds and atoms of the clean graph.",
)
def functional_groups(
    groups: str | list[str] | tuple[str, ...] | Mapping[str, str] | None = None,
    *,
    smarts: str | None = None,
    elements: Names = None,
    bonds: Names = None,
) -> RegionRule:
    """Regions of the pairs inside functional groups, of the pairs of other atoms (`rest`), and `between` all of these.

    RDKit finds the groups, which needs the extra `molecules` and graphs that are molecules: those of
    `Graph.from_smiles` and `Graph.from_rdkit`, and those of the TU data sets with `elements` and `bonds`. Groups are
    made of bonds and elements: anchored, also where the elements are sites. An atom belongs to the first group that has
    it.

    Args:
        groups: names from `GROUPS`, in text nitro/amine, each a region; or patterns of one's own by name of the region.
            By default the atoms of all known groups together, as the region `functional`; none if there is a `smarts`.
        smarts: a pattern of one's own; its atoms come first, as the region `match`.
        elements: as in `aromatic_atoms`; needed for all graphs without `atomic_number`.
        bonds: as in `aromatic_atoms`.

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
    divide = partial(_divide_by_groups, patterns=patterns, elements=as_elements(elements), bonds=as_bonds(bonds))
    given: dict[str, object] = {"groups": join_names(groups), "smarts": smarts}
    given |= {"elements": join_names(elements), "bonds": join_names(bonds)}
    # Text has no way to name several patterns of one's own; the record shows them all the same.
    described = f"functional_groups:{given | {'groups': dict(groups)}}" if isinstance(groups, Mapping) else ""
    return RegionRule("", given, regions, divide, described=described)


def _patterns(groups: object, smarts: str | None) -> dict[str, tuple[str, ...]]:
    """The SMARTS of each region, in the order in which they take atoms."""
    patterns: dict[str, tuple[str, ...]] = {} if smarts is None else {MATCH: (smarts,)}
    if groups is None:
        return patterns or {"functional": tuple(GROUPS.values())}
    if isinstance(groups, Mapping):
        if not groups:
            raise InvalidParameterError("groups", "name at least one pattern", groups)
        return patterns | {region: (text,) for region, text in groups.items()}
    for name in split_names(groups, "groups"):
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


def _divide_by_groups(
    graph: Graph, *, patterns: Mapping[str, tuple[str, ...]], elements: Meanings, bonds: Meanings
) -> Partition:
    molecule = molecule_of(graph, elements, bonds)
    free = set(range(graph.n_nodes))
    sets = {}
    for region, texts in patterns.items():
        matches = [molecule.GetSubstructMatches(_query(text, region), maxMatches=_MAX_MATCHES) for text in texts]
        found = {atom for match in matches for atoms in match for atom in atoms} & free
        free -= found
        sets[region] = frozenset(graph.nodes[atom] for atom in found)
    return divide_nodes({**sets, "rest": frozenset(graph.nodes[atom] for atom in free)}, between="between")
