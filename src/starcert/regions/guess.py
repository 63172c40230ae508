"""Bond orders for a skeleton of heavy atoms that has neither orders nor hydrogens: a guess, by a stated convention.

Such a graph does not say which molecule it is: benzene and cyclohexane have the same skeleton. The convention is to
read as much conjugation into it as valences allow, rings of six atoms first:

1. Atoms have their usual valence; what bonds leave over may become double bonds, or hydrogens.
2. Nitrogen with three bonds, one of them to an oxygen that ends there, is a nitro group or an N-oxide.
3. Double bonds are a heaviest matching of the bonds between atoms with a valence to spare: 100 for a bond in a ring of
   six, 10 for a bond to an oxygen that ends there, 3 for another bond in a ring, 1 for another bond with a nitrogen
   or oxygen. Bonds between carbons outside rings stay single, and no bond is triple.

On MUTAG, whose files have bond orders, RDKit then finds every atom aromatic that the files call so, in all 188
molecules, and in 29 of them further atoms, mostly of fused and five-membered rings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["VALENCES", "guess_orders"]

VALENCES: Mapping[int, int] = {1: 1, 5: 3, 6: 4, 7: 3, 8: 2, 9: 1, 14: 4, 15: 3, 16: 2, 17: 1, 34: 2, 35: 1, 53: 1}
"""The usual valence by atomic number; atoms of other elements get no double bonds."""

_NITROGEN, _OXYGEN = 7, 8


def guess_orders(
    numbers: Sequence[int], edges: Sequence[tuple[int, int]]
) -> tuple[dict[tuple[int, int], str], list[int]]:
    """The order of every bond and the formal charge of every atom, by the convention of this module.

    Equal choices are decided by the order of the atoms.

    Example:
        >>> orders, charges = guess_orders([6, 8, 6], [(0, 1), (0, 2)])
        >>> orders, charges
        ({(0, 1): 'double', (0, 2): 'single'}, [0, 0, 0])
    """
    import networkx as nx  # noqa: PLC0415  (takes its time)

    neighbours: list[list[int]] = [[] for _ in numbers]
    for u, v in edges:
        neighbours[u].append(v)
        neighbours[v].append(u)
    spare = [max(0, VALENCES.get(number, 0) - len(ends)) for number, ends in zip(numbers, neighbours, strict=True)]
    charges = [0] * len(numbers)
    ends_here = [number == _OXYGEN and len(ends) == 1 for number, ends in zip(numbers, neighbours, strict=True)]
    for atom, number in enumerate(numbers):
        oxygens = [other for other in neighbours[atom] if ends_here[other]]
        if number == _NITROGEN and len(neighbours[atom]) == 3 and oxygens:
            spare[atom], charges[atom] = 1, 1
            spare[oxygens[-1]], charges[oxygens[-1]] = 0, -1
    skeleton = nx.Graph(edges)
    in_ring = {frozenset(edge) for edge in skeleton.edges} - {frozenset(edge) for edge in nx.bridges(skeleton)}
    in_six = {
        frozenset(edge)
        for ring in nx.minimum_cycle_basis(skeleton)
        if len(ring) == 6
        for edge in skeleton.subgraph(ring).edges
    }
    candidates = nx.Graph()
    for u, v in edges:
        if spare[u] and spare[v]:
            pair, polar = frozenset((u, v)), {numbers[u], numbers[v]} & {_NITROGEN, _OXYGEN}
            oxygen = ends_here[u] or ends_here[v]
            weight = 100 if pair in in_six else 10 if oxygen else 3 if pair in in_ring else 1 if polar else 0
            if weight:
                candidates.add_edge(u, v, weight=weight)
    double = {frozenset(pair) for pair in nx.max_weight_matching(candidates)}
    return {(u, v): "double" if frozenset((u, v)) in double else "single" for u, v in edges}, charges
