"""Regions by aromaticity: the aromatic atoms of a molecule, and all others."""

from __future__ import annotations

from functools import partial

from starcert.graphs import Graph, Partition
from starcert.regions.builder import Builder
from starcert.regions.molecules import KINDS, Words, as_bonds, as_elements, molecule_of, orders_of
from starcert.regions.rule import RegionRule, divided
from starcert.regions.text import text_of

__all__ = ["BUILDER", "REGIONS", "aromatic_atoms"]

_WHY = "Aromatic rings carry much of what a molecule does: protect them with less noise than the rest."
_REASON = "Which atoms are aromatic was read off the bonds of the clean graph."
REGIONS = ("aromatic", "rest", "between")


def aromatic_atoms(*, elements: Words = None, bonds: Words = None) -> RegionRule:
    """Regions of the pairs of two aromatic atoms (`aromatic`), of two others (`rest`), and of one of each (`between`).

    Where the bonds are called aromatic in the data, their atoms are: in graphs of `Graph.from_smiles` and
    `Graph.from_rdkit` these are RDKit's aromatic atoms, in graphs of `sc.datasets.tu("MUTAG", edge_labels=True)` those
    of the files. Where the data only say single and double, or nothing, RDKit perceives aromaticity. Aromatic
    bonds are edges: anchored.

    Args:
        elements: which element each node label is, `MUTAG` or symbols for the labels 0, 1, …, in text C/N/O; by default
            the graphs have the node data `atomic_number`. Needed only where RDKit perceives.
        bonds: which order each edge label is, `MUTAG` or orders for the labels 0, 1, …, in text
            aromatic/single/double/triple; `guess` for graphs that do not say, a guess by a stated convention (see
            `starcert.regions.guess`); by default the graphs have the anchored data `bonds`.

    Example:
        >>> toluene = Graph.from_smiles("Cc1ccccc1")
        >>> aromatic_atoms()(toluene).sites(toluene).sizes
        (15, 0, 6)
    """
    known, orders = as_elements(elements), as_bonds(bonds)
    given = {"elements": text_of(elements), "bonds": text_of(bonds)}
    return RegionRule("aromatic_atoms", given, REGIONS, partial(_divide, elements=known, bonds=orders), _WHY, _REASON)


def _divide(graph: Graph, *, elements: tuple[str, ...] | None, bonds: tuple[str, ...] | None) -> Partition:
    if bonds is None or "aromatic" in bonds:
        found = {end for pair, order in orders_of(graph, bonds).items() if order == "aromatic" for end in pair}
    else:
        molecule = molecule_of(graph, elements, bonds)
        found = {atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetIsAromatic()}
    aromatic = frozenset(graph.nodes[index] for index in found)
    return divided({REGIONS[0]: aromatic, REGIONS[1]: frozenset(graph.nodes) - aromatic}, between=REGIONS[2])


BUILDER = Builder("aromatic_atoms", aromatic_atoms, ", ".join(REGIONS), _WHY, _REASON, KINDS)
