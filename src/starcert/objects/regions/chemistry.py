"""Graphs as molecules: which element a node is, which order an edge has, and the RDKit molecule that they make.

Two kinds of graphs are understood. Those of `Graph.from_smiles` and `Graph.from_rdkit` carry all that is needed. Those
of the TU data sets carry numbers, and a vocabulary says which number means what.

A skeleton of heavy atoms that has neither orders nor hydrogens does not say which molecule it is: benzene and
cyclohexane have the same one. Its bonds can be guessed, by a stated convention, which reads as much conjugation into it
as valences allow, rings of six atoms first:

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
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from starcert.objects import Graph
from starcert.objects.molecules import ORDERS, load_rdkit
from starcert.objects.regions.builder import canonical_order, words_of
from starcert.system.errors import InvalidParameterError

__all__ = [
    "GUESS",
    "KINDS",
    "VALENCES",
    "VOCABULARIES",
    "Vocabulary",
    "Words",
    "as_bonds",
    "as_elements",
    "guess_orders",
    "molecule_of",
    "orders_of",
]

GUESS = "guess"
"""In place of a vocabulary of bonds: orders by the convention of `starcert.objects.regions.chemistry`."""

Orders: TypeAlias = dict[tuple[int, int], str]
Words: TypeAlias = str | list[str] | tuple[str, ...] | None


KINDS: Mapping[str, type] = {"elements": str, "bonds": str}
"""What text means for the parameters of builders that read molecules."""


class Vocabulary(NamedTuple):
    """What the labels 0, 1, … of nodes and edges mean."""

    elements: tuple[str, ...]
    bonds: tuple[str, ...]


VOCABULARIES: Mapping[str, Vocabulary] = {
    "MUTAG": Vocabulary(("C", "N", "O", "F", "I", "Cl", "Br"), ("aromatic", "single", "double", "triple")),
}
"""The vocabularies of TU data sets whose files state them."""


def as_elements(value: Words) -> tuple[str, ...] | None:
    """The elements that node labels mean, from a name in `VOCABULARIES` or symbols; None for atomic numbers."""
    if value is None:
        return None
    words = words_of(value, "elements")
    return VOCABULARIES[words[0]].elements if len(words) == 1 and words[0] in VOCABULARIES else words


def as_bonds(value: Words) -> tuple[str, ...] | None:
    """The orders that edge labels mean, from a name in `VOCABULARIES` or orders; None for the anchored data `bonds`."""
    if value is None or value == GUESS:
        return None if value is None else (GUESS,)
    words = words_of(value, "bonds")
    words = VOCABULARIES[words[0]].bonds if len(words) == 1 and words[0] in VOCABULARIES else words
    unknown = [word for word in words if word not in ORDERS]
    if unknown:
        names = ", ".join([*map(repr, VOCABULARIES), repr(GUESS)])
        hint = f"Write for instance aromatic/single/double/triple, for the labels 0 to 3, or one of {names}."
        raise InvalidParameterError("bonds", f"be orders of bonds ({', '.join(ORDERS)})", unknown[0], hint)
    return words


def orders_of(graph: Graph, bonds: tuple[str, ...] | None) -> Orders:
    """The order of every edge, from anchored data that say it of each node and its neighbours."""
    name = "bonds" if bonds is None else "edge_labels"
    if name not in graph.anchored_data:
        hint = (
            "Graph.from_smiles makes it; sc.datasets.tu(name, edge_labels=True) reads edge labels, which bonds=MUTAG "
            "(or the like) explains; bonds=guess needs neither, and guesses."
        )
        got = f"{graph!r} without it"
        raise InvalidParameterError(
            "graphs", f"have the anchored data {name!r} that says which order a bond has", got, hint
        )
    place = {node: index for index, node in enumerate(graph.nodes)}
    found: Orders = {}
    data: Any = graph.anchored_data[name]
    for u, ends in enumerate(data):
        for other, label in ends:
            v = place.get(other, -1)
            pair = (min(u, v), max(u, v))
            order = _order(graph, u, label, bonds)
            if found.setdefault(pair, order) != order:
                got = f"{found[pair]} and {order} between {graph.nodes[u]!r} and {other!r}"
                raise InvalidParameterError("graphs", f"have one order in {name} for each edge", got)
    edges = {(u, v) for u, v in graph.edges.tolist()}
    for u, v in sorted(edges ^ set(found)):
        names = f"{graph.nodes[u]!r} and {graph.nodes[v]!r}" if u >= 0 else f"{graph.nodes[v]!r} and an unknown node"
        got = f"{'an edge' if (u, v) in edges else 'an order'} alone between {names}"
        raise InvalidParameterError("graphs", f"have an order in {name} for every edge, and for no other pair", got)
    return found


def _order(graph: Graph, node: int, label: object, bonds: tuple[str, ...] | None) -> str:
    order = label if bonds is None else bonds[label] if isinstance(label, int) and 0 <= label < len(bonds) else None
    if order not in ORDERS:
        known = f"one of {', '.join(ORDERS)}" if bonds is None else f"labels from 0 to {len(bonds) - 1}"
        got = f"{label!r} at node {graph.nodes[node]!r}"
        raise InvalidParameterError("bonds", f"be {known}", got, "Say what the labels mean: bonds=single/double/….")
    return str(order)


def molecule_of(graph: Graph, elements: tuple[str, ...] | None, bonds: tuple[str, ...] | None) -> Any:  # noqa: ANN401
    """The sanitized RDKit molecule of a graph, its atoms numbered as the nodes.

    Raises:
        InvalidParameterError: if the graph does not say which molecule it is, or if RDKit cannot sanitize it; the
            message names the graph and the atom.
    """
    chem = load_rdkit("Chem")
    numbers = _atomic_numbers(graph, elements, chem)
    charges: list[int] | None = None
    if bonds == (GUESS,):
        orders, charges = _guess(graph, numbers)
    else:
        orders = orders_of(graph, bonds)
    molecule = chem.RWMol()
    for number in numbers:
        molecule.AddAtom(chem.Atom(number))
    for (u, v), order in sorted(orders.items()):
        molecule.AddBond(u, v, getattr(chem.BondType, order.upper()))
        if order == "aromatic":
            molecule.GetBondBetweenAtoms(u, v).SetIsAromatic(True)
            for atom in (u, v):
                molecule.GetAtomWithIdx(atom).SetIsAromatic(True)
    if bonds is None:
        _set_hydrogens(molecule, graph)
    elif charges is None:
        _charge_nitrogens(molecule, chem)
    else:
        for atom, charge in zip(molecule.GetAtoms(), charges, strict=True):
            atom.SetFormalCharge(charge)
    with load_rdkit("rdBase").BlockLogs():  # what is wrong is said in the error
        try:
            chem.SanitizeMol(molecule)
        except chem.MolSanitizeException as error:
            raise _unsound(graph, molecule, error) from None
    return molecule


def _guess(graph: Graph, numbers: list[int]) -> tuple[Orders, list[int]]:
    """The guess, with the atoms in the order of their names: it does not depend on how they are listed."""
    order = canonical_order(graph)
    place = {index: position for position, index in enumerate(order)}
    edges = sorted((min(place[u], place[v]), max(place[u], place[v])) for u, v in graph.edges.tolist())
    orders, charges = guess_orders([numbers[index] for index in order], edges)
    found = {(order[u], order[v]): word for (u, v), word in orders.items()}
    return found, [charges[place[index]] for index in range(graph.n_nodes)]


def _atomic_numbers(graph: Graph, elements: tuple[str, ...] | None, chem: Any) -> list[int]:  # noqa: ANN401
    name = "atomic_number" if elements is None else "label"
    if name not in graph.node_data:
        hint = "Graph.from_smiles makes atomic_number. Labels must be explained: elements=MUTAG, or elements=C/N/O."
        raise InvalidParameterError("graphs", f"have the node data {name!r}", f"{graph!r} without it", hint)
    values = np.asarray(graph.node_data[name]).tolist()
    table = chem.GetPeriodicTable()
    numbers = []
    for node, value in zip(graph.nodes, values, strict=True):
        limit = 119 if elements is None else len(elements)
        if not isinstance(value, int) or not 0 <= value < limit:
            requirement = f"hold whole numbers from 0 to {limit - 1}"
            raise InvalidParameterError(f"node_data[{name}]", requirement, f"{value!r} at node {node!r}")
        numbers.append(value if elements is None else _number_of(elements[value], table))
    return numbers


def _number_of(symbol: str, table: Any) -> int:  # noqa: ANN401  (RDKit may be missing)
    with load_rdkit("rdBase").BlockLogs():
        try:
            return int(table.GetAtomicNumber(symbol))
        except RuntimeError:
            raise InvalidParameterError("elements", "be symbols of elements", symbol) from None


def _set_hydrogens(molecule: Any, graph: Graph) -> None:  # noqa: ANN401
    """Charges and hydrogens, where the graph knows them; otherwise RDKit fills valences with hydrogens."""
    if "formal_charge" in graph.node_data:
        charges = np.asarray(graph.node_data["formal_charge"]).tolist()
        for atom, charge in zip(molecule.GetAtoms(), charges, strict=True):
            atom.SetFormalCharge(int(charge))
    if "hydrogens" in graph.anchored_data:
        hydrogens = np.asarray(graph.anchored_data["hydrogens"]).tolist()
        for atom, number in zip(molecule.GetAtoms(), hydrogens, strict=True):
            atom.SetNumExplicitHs(int(number))
            atom.SetNoImplicit(True)


def _charge_nitrogens(molecule: Any, chem: Any) -> None:  # noqa: ANN401
    """Edge labels know no charges: a nitrogen with four bonds has one, and so has an oxygen that ends at it."""
    for atom in molecule.GetAtoms():
        if atom.GetAtomicNum() == 7 and not atom.GetIsAromatic():
            if sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()) != 4:
                continue
            atom.SetFormalCharge(1)
            single = [bond.GetOtherAtom(atom) for bond in atom.GetBonds() if bond.GetBondType() == chem.BondType.SINGLE]
            oxygen = next((end for end in single if end.GetAtomicNum() == 8 and end.GetDegree() == 1), None)
            if oxygen is not None:
                oxygen.SetFormalCharge(-1)


def _unsound(graph: Graph, molecule: Any, error: Any) -> InvalidParameterError:  # noqa: ANN401
    cause = error.cause
    atoms = list(cause.GetAtomIndices()) if hasattr(cause, "GetAtomIndices") else [cause.GetAtomIdx()]
    named = ", ".join(f"{molecule.GetAtomWithIdx(atom).GetSymbol()} {graph.nodes[atom]!r}" for atom in atoms)
    return InvalidParameterError(
        "graphs",
        "be molecules that RDKit can sanitize",
        f"{graph!r}, at {named}: {cause.Message().strip()}",
        "Leave this graph out, correct its elements and bonds, or write bonds=guess.",
    )


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
