"""Molecules of RDKit as parts of graphs: atoms are nodes, bonds are edges, and their orders types or anchored data.

Orders that are types may be changed by noise and attacks. Otherwise what a bond was in the molecule is kept with its
two atoms, as a pair of the neighbour and the order. That tells of edges, and so do the hydrogens that an atom has room
for.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal, TypeAlias

import numpy as np

from starcert.objects.convert import Parts
from starcert.system.errors import InvalidParameterError, StarcertError

__all__ = ["ORDERS", "USUAL", "Elements", "from_rdkit", "from_smiles", "load_rdkit"]

ORDERS = ("single", "double", "triple", "aromatic")
"""The orders of bonds, by the names that RDKit has for them in capitals."""

USUAL = ("B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Se", "Br", "I")
"""The elements that have a column each where the usual ones are asked for; all others share one more."""

Elements: TypeAlias = Sequence[str] | Literal["usual"] | None

HEAVIEST = 118
"""The last element that has a name; RDKit reads higher numbers."""


def load_rdkit(module: str) -> Any:  # noqa: ANN401  (RDKit may be missing)
    """A module of RDKit, or an error that names the extra to install."""
    try:
        return import_module(f"rdkit.{module}")
    except ModuleNotFoundError as error:
        raise StarcertError("Molecules need RDKit: pip install 'starcert[molecules]'") from error


def from_smiles(smiles: str, elements: Elements, bond_types: bool = False) -> Parts:
    """The parts of the molecule that a SMILES string describes."""
    chem = load_rdkit("Chem")
    if not isinstance(smiles, str):
        raise InvalidParameterError("smiles", "be a string", smiles)
    if not smiles.strip():
        raise InvalidParameterError("smiles", "name at least one atom", smiles)
    with load_rdkit("rdBase").BlockLogs():  # what is wrong is said in the error
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
    if max(numbers, default=0) > HEAVIEST:
        raise InvalidParameterError("molecule", f"have elements up to number {HEAVIEST}", max(numbers))
    bonds: list[set[tuple[int, str]]] = [set() for _ in atoms]
    orders = list[str]()
    edges = np.empty((molecule.GetNumBonds(), 2), dtype=np.int64)
    for row, bond in enumerate(molecule.GetBonds()):
        u, v = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        order = bond.GetBondType().name.lower()
        if order not in ORDERS:
            requirement = f"have bonds that are {', '.join(ORDERS)}"
            raise InvalidParameterError("molecule", requirement, f"{order} between the atoms {u} and {v}")
        edges[row] = u, v
        orders.append(order)
        bonds[u].add((v, order))
        bonds[v].add((u, order))
    node_data: dict[str, object] = {
        "atomic_number": np.array(numbers, dtype=np.int64),
        "formal_charge": np.array([atom.GetFormalCharge() for atom in atoms], dtype=np.int64),
    }
    anchored_data: dict[str, object] = {
        "hydrogens": np.array([atom.GetTotalNumHs() for atom in atoms], dtype=np.int64),
        "bonds": [frozenset(ends) for ends in bonds],
    }
    if elements is not None:
        node_data["x"] = _one_hot([atom.GetSymbol() for atom in atoms], elements)
    parts = Parts(len(atoms), edges, None, node_data, anchored_data)
    return parts._replace(edge_types=orders, type_names=ORDERS) if bond_types else parts


def _one_hot(symbols: Sequence[str], elements: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
    if elements == "usual":
        places = [USUAL.index(symbol) if symbol in USUAL else len(USUAL) for symbol in symbols]
        return np.eye(len(USUAL) + 1, dtype=np.float32)[places]
    columns = {} if isinstance(elements, str) else {symbol: column for column, symbol in enumerate(elements)}
    if not columns or len(columns) < len(elements):
        raise InvalidParameterError("elements", "be different symbols, such as ('C', 'N', 'O'), or 'usual'", elements)
    x = np.zeros((len(symbols), len(columns)), dtype=np.float32)
    for atom, symbol in enumerate(symbols):
        if symbol not in columns:
            hint = f"It lists {', '.join(columns)}."
            raise InvalidParameterError("elements", "list every element of the molecule", f"{symbol} missing", hint)
        x[atom, columns[symbol]] = 1
    return x
