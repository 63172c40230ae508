"""Molecules of RDKit as graphs, and graphs as molecules.

Atoms are nodes, bonds are edges, and orders of bonds are types of edges, or anchored data: for each atom the pairs of a
neighbour and an order.

Back to molecules, graphs of `from_smiles` and `from_rdkit` carry all that is needed. Those of the TU data sets carry
numbers, and a vocabulary says which number means what. A skeleton of heavy atoms alone does not say which molecule it
is: benzene and cyclohexane have the same one. Its bonds can be guessed, by a convention that reads as much conjugation
into it as valences allow, rings of six atoms first:

1. Atoms have their usual valence; what bonds leave over may become double bonds, or hydrogens.
2. Nitrogen with three bonds, one of them to an oxygen that ends there, is a nitro group or an N-oxide.
3. Double bonds are a heaviest matching of the bonds between atoms with a valence to spare: 100 for a bond in a ring of
   six, 10 for a bond to an oxygen that ends there, 3 for another bond in a ring, 1 for another bond with a nitrogen
   or oxygen. Bonds between carbons outside rings stay single, and no bond is triple.

On MUTAG, whose files have bond orders, RDKit then finds every atom aromatic that the files call so, and in 29 of 188
molecules further atoms, mostly of fused and five-membered rings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from starcert.objects.content import canonical_order
from starcert.objects.convert import Parts, load_module
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.objects.content import NodeSites
    from starcert.objects.graph import Graph

ORDERS = ("single", "double", "triple", "aromatic")
"""The orders of bonds, by the names that RDKit has for them in capitals."""
GUESS = "guess"  # in place of a vocabulary of bonds: orders by the convention of this module
USUAL = ("B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Se", "Br", "I")
"""The elements with a column each for elements="usual"; all others share one more."""

Elements: TypeAlias = Sequence[str] | Literal["usual"] | None
Orders: TypeAlias = dict[tuple[int, int], str]

_ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts "
    "Og"
)
SYMBOLS = tuple(_ELEMENTS.split())
"""The elements, from atomic number 1 on."""
ELEMENT = "atomic_number"
VALENCES: Mapping[int, int] = {1: 1, 5: 3, 6: 4, 7: 3, 8: 2, 9: 1, 14: 4, 15: 3, 16: 2, 17: 1, 34: 2, 35: 1, 53: 1}
"""The usual valence by atomic number; atoms of other elements get no double bonds."""
_NITROGEN, _OXYGEN = 7, 8


def load_rdkit(module: str) -> Any:  # noqa: ANN401  (RDKit may be missing)
    """A module of RDKit, or an error that names the extra to install."""
    return load_module(f"rdkit.{module}", "'starcert[molecules]'")


def from_smiles(smiles: str, elements: Elements, bond_types: bool = False) -> Parts:
    """The parts of the molecule that a SMILES string describes."""
    chem = load_rdkit("Chem")
    if not isinstance(smiles, str):
        raise InvalidParameterError("smiles", "be a string", smiles)
    if not smiles.strip():
        raise InvalidParameterError("smiles", "name at least one atom", smiles)
    with load_rdkit("rdBase").BlockLogs():  # the error says what is wrong
        try:
            molecule = chem.MolFromSmiles(smiles, sanitize=False)
            if molecule is None:
                raise InvalidParameterError("smiles", "be a SMILES string that RDKit can read", smiles)
            chem.SanitizeMol(molecule)
            molecule = chem.RemoveHs(molecule)
        except (chem.MolSanitizeException, RuntimeError, UnicodeError) as error:  # the second: no such element
            reason = str(error).strip().split("\n", maxsplit=1)[0]
            raise InvalidParameterError("smiles", "describe a possible molecule", smiles, f"RDKit: {reason}.") from None
    return from_rdkit(molecule, elements, bond_types)


def from_rdkit(source: object, elements: Elements, bond_types: bool = False) -> Parts:
    """The parts of an RDKit molecule."""
    chem = load_rdkit("Chem")
    if not isinstance(source, chem.Mol):
        hint = "rdkit.Chem.MolFromSmiles gives None for what it cannot read." if source is None else ""
        raise InvalidParameterError("molecule", "be an rdkit.Chem.Mol", source, hint)
    molecule: Any = source
    if molecule.NeedsUpdatePropertyCache():
        hint = "Call rdkit.Chem.SanitizeMol(molecule) first."
        raise InvalidParameterError("molecule", "be sanitized", source, hint)
    atoms = list(molecule.GetAtoms())
    numbers = [atom.GetAtomicNum() for atom in atoms]
    if max(numbers, default=0) > len(SYMBOLS):
        raise InvalidParameterError("molecule", f"have elements up to number {len(SYMBOLS)}", max(numbers))
    bonds: list[set[tuple[int, str]]] = [set() for _ in atoms]
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in molecule.GetBonds()]
    orders = [bond.GetBondType().name.lower() for bond in molecule.GetBonds()]
    for (u, v), order in zip(ends, orders, strict=True):
        if order not in ORDERS:
            requirement = f"have bonds that are {', '.join(ORDERS)}"
            raise InvalidParameterError("molecule", requirement, f"{order} between the atoms {u} and {v}")
        bonds[u].add((v, order))
        bonds[v].add((u, order))
    node_data: dict[str, object] = {
        "atomic_number": np.array(numbers, dtype=np.int64),
        "formal_charge": np.array([atom.GetFormalCharge() for atom in atoms], dtype=np.int64),
    }
    anchored_data: dict[str, object] = {
        "hydrogens": np.array([atom.GetTotalNumHs() for atom in atoms], dtype=np.int64),
        "bonds": list(map(frozenset, bonds)),
    }
    if elements is not None:
        node_data["x"] = _one_hot([atom.GetSymbol() for atom in atoms], elements)
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2)
    parts = Parts(len(atoms), edges, None, node_data, anchored_data)
    return parts._replace(edge_types=orders, type_names=ORDERS) if bond_types else parts


def _one_hot(symbols: Sequence[str], elements: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    usual = elements == "usual"
    listed = USUAL if usual else () if isinstance(elements, str) else tuple(elements)
    columns = {symbol: column for column, symbol in enumerate(listed)}
    if not columns or len(columns) < len(listed):
        raise InvalidParameterError("elements", "be different symbols, such as ('C', 'N', 'O'), or 'usual'", elements)
    for missing in (symbol for symbol in symbols if symbol not in columns and not usual):
        hint = f"It lists {', '.join(columns)}."
        raise InvalidParameterError("elements", "list every element of the molecule", f"{missing} missing", hint)
    places = [columns.get(symbol, len(columns)) for symbol in symbols]
    return np.eye(len(columns) + usual, dtype=np.float32)[places]


def orders_of(graph: Graph, bonds: tuple[str, ...] | None) -> Orders:
    """The order of every edge, from anchored data that say it of each node and its neighbours."""
    name = "bonds" if bonds is None else "edge_labels"
    if name not in graph.anchored_data:
        hint = (
            "Graph.from_smiles makes it; sc.datasets.tu(name, edge_labels=True) reads edge labels, which bonds=MUTAG "
            "(or the like) explains; bonds=guess needs neither, and guesses."
        )
        wanted = f"have the anchored data {name!r} that says which order a bond has"
        raise InvalidParameterError("graphs", wanted, f"{graph!r} without it", hint)
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
    """The sanitized RDKit molecule of a graph, its atoms numbered as the nodes; a graph that is none is refused."""
    chem = load_rdkit("Chem")
    numbers = _atomic_numbers(graph, elements, chem)
    orders, charges = _guess(graph, numbers) if bonds == (GUESS,) else (orders_of(graph, bonds), None)
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
    with load_rdkit("rdBase").BlockLogs():  # the error says what is wrong
        try:
            chem.SanitizeMol(molecule)
        except chem.MolSanitizeException as error:
            raise _unsound(graph, molecule, error) from None
    return molecule


def _guess(graph: Graph, numbers: list[int]) -> tuple[Orders, list[int]]:
    """The guess, with the atoms in the order of their names: it does not depend on how they are listed."""
    order = canonical_order(graph.nodes)
    place = {index: position for position, index in enumerate(order)}
    edges = sorted((min(place[u], place[v]), max(place[u], place[v])) for u, v in graph.edges.tolist())
    orders, charges = guess_orders([numbers[index] for index in order], edges)
    found = {(order[u], order[v]): each for (u, v), each in orders.items()}
    return found, [charges[place[index]] for index in range(graph.n_nodes)]


def _atomic_numbers(graph: Graph, elements: tuple[str, ...] | None, chem: Any) -> list[int]:  # noqa: ANN401
    name = "atomic_number" if elements is None else "label"
    sites = graph.node_sites.get(name)
    data = {**graph.anchored_data, **graph.node_data, **({} if sites is None else {name: sites.shown(sites.values)})}
    if name not in data:
        hint = (
            "Graph.from_smiles makes atomic_number; where atoms are sites, keep it with graph.with_anchored. Labels "
            "must be explained: elements=MUTAG, or elements=C/N/O."
        )
        raise InvalidParameterError("graphs", f"have the node data {name!r}", f"{graph!r} without it", hint)
    values = np.asarray(data[name]).tolist()
    table = chem.GetPeriodicTable()
    numbers = []
    for node, value in zip(graph.nodes, values, strict=True):
        limit = len(SYMBOLS) + 1 if elements is None else len(elements)
        if not isinstance(value, int) or not 0 <= value < limit:
            requirement = f"hold whole numbers from 0 to {limit - 1}"
            raise InvalidParameterError(f"node_data[{name}]", requirement, f"{value!r} at node {node!r}")
        try:
            with load_rdkit("rdBase").BlockLogs():
                numbers.append(value if elements is None else int(table.GetAtomicNumber(elements[value])))
        except RuntimeError:
            raise InvalidParameterError("elements", "be symbols of elements", elements and elements[value]) from None
    return numbers


def _set_hydrogens(molecule: Any, graph: Graph) -> None:  # noqa: ANN401
    """Sets charges and hydrogens where the graph knows them; otherwise RDKit fills valences with hydrogens."""
    charges, hydrogens = graph.node_data.get("formal_charge"), graph.anchored_data.get("hydrogens")
    for index, atom in enumerate(molecule.GetAtoms()):
        if charges is not None:
            atom.SetFormalCharge(int(np.asarray(charges)[index]))
        if hydrogens is not None:
            atom.SetNumExplicitHs(int(np.asarray(hydrogens)[index]))
            atom.SetNoImplicit(True)


def _charge_nitrogens(molecule: Any, chem: Any) -> None:  # noqa: ANN401
    """Edge labels have no charges: a nitrogen with four bonds has one, and so has an oxygen that ends at it."""
    for atom in molecule.GetAtoms():
        four_bonds = sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()) == 4
        if atom.GetAtomicNum() == _NITROGEN and four_bonds and not atom.GetIsAromatic():
            atom.SetFormalCharge(1)
            single = [bond.GetOtherAtom(atom) for bond in atom.GetBonds() if bond.GetBondType() == chem.BondType.SINGLE]
            oxygen = next((end for end in single if end.GetAtomicNum() == _OXYGEN and end.GetDegree() == 1), None)
            if oxygen is not None:
                oxygen.SetFormalCharge(-1)


def _unsound(graph: Graph, molecule: Any, error: Any) -> InvalidParameterError:  # noqa: ANN401
    cause = error.cause
    atoms = list(cause.GetAtomIndices()) if hasattr(cause, "GetAtomIndices") else [cause.GetAtomIdx()]
    named = ", ".join(f"{molecule.GetAtomWithIdx(atom).GetSymbol()} {graph.nodes[atom]!r}" for atom in atoms)
    got = f"{graph!r}, at {named}: {cause.Message().strip()}"
    hint = "Leave this graph out, correct its elements and bonds, or write bonds=guess."
    return InvalidParameterError("graphs", "be molecules that RDKit can sanitize", got, hint)


def guess_orders(numbers: Sequence[int], edges: Sequence[tuple[int, int]]) -> tuple[Orders, list[int]]:
    """The order of every bond and the formal charge of every atom, by the convention of this module.

    The order of the atoms decides between equal choices.
    """
    import networkx as nx  # noqa: PLC0415  (slow to import)

    skeleton = nx.Graph(edges)
    skeleton.add_nodes_from(range(len(numbers)))  # those without an edge, too
    neighbours = [list(skeleton.adj[atom]) for atom in range(len(numbers))]
    spare = [max(0, VALENCES.get(number, 0) - len(ends)) for number, ends in zip(numbers, neighbours, strict=True)]
    charges = [0] * len(numbers)
    ends_here = [number == _OXYGEN and len(ends) == 1 for number, ends in zip(numbers, neighbours, strict=True)]
    for atom, number in enumerate(numbers):
        oxygens = [other for other in neighbours[atom] if ends_here[other]]
        if number == _NITROGEN and len(neighbours[atom]) == 3 and oxygens:
            spare[atom], charges[atom] = 1, 1
            spare[oxygens[-1]], charges[oxygens[-1]] = 0, -1
    in_ring = {frozenset(edge) for edge in skeleton.edges} - {frozenset(edge) for edge in nx.bridges(skeleton)}
    rings = [ring for ring in nx.minimum_cycle_basis(skeleton) if len(ring) == 6]
    in_six = {frozenset(edge) for ring in rings for edge in skeleton.subgraph(ring).edges}
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


def element_symbols(data: Mapping[str, object], sites: Mapping[str, NodeSites]) -> list[str] | None:
    """The element of each node, from `atomic_number`, or from sites that are symbols; None where nothing says it."""
    own, known = sites.get(ELEMENT), frozenset(SYMBOLS)
    if (
        named := next((each for each in sites.values() if each.categories and known.issuperset(each.categories)), None)
    ) is not None:
        return [str((named.categories or ())[value]) for value in named.values[:, 0].tolist()]
    numbers = np.asarray(data.get(ELEMENT, ()) if own is None else own.shown(own.values))
    if numbers.ndim != 1 or not numbers.size or numbers.dtype.kind not in "iu":
        return None
    if numbers.min() < 1 or numbers.max() > len(SYMBOLS):
        return None
    return [SYMBOLS[number - 1] for number in numbers.tolist()]
