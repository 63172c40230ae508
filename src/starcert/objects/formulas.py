"""Molecules as chemists draw them: RDKit's coordinates, the orders of bonds, and charges.

RDKit is optional: without it, a molecule is drawn like any other graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from starcert.objects.formats import ELEMENT, element_symbols
from starcert.objects.molecules import ORDERS, load_rdkit, orders_of
from starcert.system.errors import InvalidParameterError, StarcertError

if TYPE_CHECKING:
    from starcert.objects.graph import Graph

PER_UNIT = 100  # coordinates are whole numbers: hundredths of what RDKit has, in which a bond is 1.5 long


def is_molecule(graph: Graph) -> bool:
    """Whether nodes are atoms and edges are bonds: their elements are known, or orders of bonds.

    Example:
        >>> from starcert import Graph
        >>> is_molecule(Graph(2, [(0, 1)])), is_molecule(Graph(2, [(0, 1)], node_data={"atomic_number": [6, 8]}))
        (False, True)
    """
    if graph.directed:
        return False
    if graph.type_names == ORDERS or ELEMENT in graph.node_data or ELEMENT in graph.node_sites:
        return True
    return element_symbols({}, graph.node_sites) is not None


def formula_of(graph: Graph, symbols: Sequence[str] | None) -> dict[str, Any]:
    """What a page draws a molecule by: `points`, x and y of each atom in turn, `orders` of edges and `charges`.

    Nothing without RDKit. The orders, numbers in `ORDERS` from 1, are left out where no one says them.
    """
    orders = _orders(graph)
    try:
        chem, depict = load_rdkit("Chem"), load_rdkit("Chem.rdDepictor")
    except StarcertError:
        return {}
    molecule = chem.RWMol()
    for symbol in symbols or ["*"] * graph.n_nodes:
        molecule.AddAtom(chem.Atom(symbol))
    for (u, v), order in zip(graph.edges.tolist(), orders or [1] * graph.n_edges, strict=True):
        molecule.AddBond(u, v, getattr(chem.BondType, ORDERS[order - 1].upper()))
    with load_rdkit("rdBase").BlockLogs():
        molecule.UpdatePropertyCache(strict=False)  # a graph need not be a possible molecule to be drawn
        chem.FastFindRings(molecule)
        depict.Compute2DCoords(molecule, canonOrient=True)
    places = molecule.GetConformer().GetPositions()[:, :2].reshape(-1, 2)
    found: dict[str, Any] = {"points": np.rint(places * [PER_UNIT, -PER_UNIT]).astype(int).ravel().tolist()}
    charges = np.asarray(graph.node_data.get("formal_charge", ()))
    if charges.any():
        found["charges"] = charges.tolist()
    return found | ({} if orders is None else {"orders": orders})


def _orders(graph: Graph) -> list[int] | None:
    """The number of each edge's order; None where nothing says it."""
    if graph.edge_types is not None:
        named = [ORDERS.index(name) + 1 if name in ORDERS else 0 for name in graph.type_names]
        return [named[number - 1] for number in graph.edge_types.tolist()] if all(named) else None
    try:
        known = orders_of(graph, None)
    except InvalidParameterError:
        return None
    return [ORDERS.index(known[u, v]) + 1 for u, v in graph.edges.tolist()]
