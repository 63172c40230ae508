"""An attacker of molecules who keeps valences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from starcert.objects.layers import Indices
from starcert.objects.molecules import VALENCES
from starcert.objects.regions.atoms import as_bonds, as_elements
from starcert.objects.regions.builder import Names
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import Mask, Moves
from starcert.objects.threats.base import UnfitError
from starcert.objects.threats.edges import EDGES
from starcert.objects.threats.sets import Limits, SiteThreat
from starcert.system.errors import whole_number

MAX_VALENCES: Mapping[str, int] = {
    "H": 1, "B": 3, "C": 4, "N": 3, "O": 2, "F": 1, "Si": 4, "P": 5, "S": 6, "Cl": 1, "Se": 6, "Br": 1, "I": 1,
}  # fmt: skip
"""The most bonds that an atom without charge usually has."""
_SYMBOLS = dict(zip(VALENCES, MAX_VALENCES, strict=True))  # by atomic number
BOND_ORDERS: Mapping[object, int] = {"single": 1, "double": 2, "triple": 3, "aromatic": 1}


@dataclass(frozen=True)
class Valence(SiteThreat):
    """An attacker who flips at most `most` bonds, after which no atom exceeds its valence; in text `valence:2`.

    Elements come from the node data `atomic_number` or `element`; with `elements` the node data `label` are numbers of
    these symbols. A `formal_charge` counts. The types of edges are orders of bonds, or their numbers in `bonds`. Edges
    without types count as single bonds, and so do aromatic ones, as in furan: where that is less than chemistry has it,
    more attacks are listed. Hydrogens that are no nodes give way.

    Only the attacked molecule has to keep valences, not those on the way there. The clean molecule keeps them too: one
    that does not is refused. So the attacker gets back from the attacked molecule, and its reverse is itself.

    Args:
        most: how many bonds.
        elements: the symbols that node labels 0, 1, … mean, or "MUTAG".
        bonds: the orders that types of edges 0, 1, … mean, or "MUTAG".
        valences: other valences, by symbol: {"S": 2}, or "S:2".

    Example:
        >>> str(Valence(2, elements=("C", "N"), valences={"S": 2})), Valence(1).label
        ('valence:2,elements=C|N,valences=S:2', '1 flipped bond that keeps valences')
    """

    most: int
    elements: Names = None
    bonds: Names = None
    valences: Mapping[str, int] | Names = ()
    word = "valence"
    unit = "flipped bond that keeps valences"
    units = "flipped bonds that keep valences"
    needs = EDGES

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.valences
        if not isinstance(given, Mapping):
            pairs = (each.split(":") for each in ([given] if isinstance(given, str) else given or ()))
            given = {symbol: int(number) for symbol, number in pairs}
        numbers = {symbol: whole_number(f"valences[{symbol}]", number, 0) for symbol, number in given.items()}
        object.__setattr__(self, "elements", as_elements(self.elements))
        object.__setattr__(self, "bonds", as_bonds(self.bonds))
        object.__setattr__(self, "valences", tuple(f"{each}:{numbers[each]}" for each in sorted(numbers)))

    @override
    def check(self, sites: Sites) -> None:
        super().check(sites)
        if sites.graph.directed:
            raise UnfitError("threat", f"fit the objects: {self.label} needs undirected edges", sites.graph)
        every = zip(self._symbols(sites), sites.graph.nodes, self._load(sites), self._allowed(sites), strict=True)
        for symbol, atom, load, allowed in every:
            if load > allowed:
                got = f"{symbol} {atom!r} with {load} bonds where its valence is {allowed}"
                hint = f"Give it a larger one: valences={{{symbol!r}: {load}}}."
                raise UnfitError("threat", "be asked about molecules that keep valences", got, hint)

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        return moves.edge

    @override
    def budgets(self, sites: Sites, moves: Moves) -> Limits:
        orders = self._orders(sites)
        ends, weight = np.stack([moves.u, moves.v], axis=1), orders[moves.new] - orders[moves.before]
        return Limits(ends, weight, self._load(sites), self._allowed(sites))

    def _load(self, sites: Sites) -> Indices:
        """How many bonds each atom has, those that are fixed included."""
        graph = sites.graph
        orders = self._orders(sites)[1 if graph.edge_types is None else graph.edge_types]
        ends, weights = graph.edges.ravel(), np.repeat(np.broadcast_to(orders, graph.n_edges), 2)
        return np.bincount(ends, weights, minlength=graph.n_nodes).astype(np.int64)

    def _orders(self, sites: Sites) -> Indices:
        """How many bonds an edge of each value is."""
        orders, meanings = [0], dict[object, object](enumerate(self.bonds or ()))
        for name in sites.graph.type_names or ["single"]:
            order = meanings.get(name) if meanings and sites.graph.type_names else name
            if order not in BOND_ORDERS:
                hint = "Say what they mean: bonds=('aromatic', 'single', 'double', 'triple')."
                raise UnfitError("threat", f"have types of edges out of {', '.join(map(str, BOND_ORDERS))}", name, hint)
            orders.append(BOND_ORDERS[order])
        return np.array(orders)

    def _symbols(self, sites: Sites) -> list[str]:
        data, symbols = sites.frame.node_data, tuple(self.elements or ())
        if symbols and "label" in data:
            labels = np.asarray(data["label"]).tolist()
            if all(isinstance(each, int) and 0 <= each < len(symbols) for each in labels):
                return [symbols[each] for each in labels]
            requirement = f"have labels from 0 to {len(symbols) - 1}, one for each of elements"
            raise UnfitError("threat", requirement, sorted(set(labels))[:20])
        if not symbols and "atomic_number" in data:
            return [_SYMBOLS.get(each, str(each)) for each in np.asarray(data["atomic_number"]).tolist()]
        if not symbols and "element" in data:
            return [str(each) for each in data["element"]]
        wanted = "label" if symbols else "atomic_number or element"
        requirement = f"fit the objects: {self.label} needs node data {wanted} that no attack changes"
        hint = "Graph.from_smiles makes atomic_number. Labels must be explained: elements=('C', 'N', 'O')."
        raise UnfitError("threat", requirement, f"a graph with {', '.join(data) or 'no node data'}", hint)

    def _allowed(self, sites: Sites) -> Indices:
        """The valence of each atom."""
        stated = {symbol: int(number) for symbol, number in (each.split(":") for each in self.valences or ())}
        charges = sites.frame.node_data.get("formal_charge", np.zeros(sites.graph.n_nodes, dtype=np.int64))
        found = []
        for symbol, charge in zip(self._symbols(sites), np.asarray(charges).tolist(), strict=True):
            if symbol not in stated and symbol not in MAX_VALENCES:
                hint = f"Give valences={{{symbol!r}: 1}}, say."
                raise UnfitError("threat", "know the valence of every element", symbol, hint)
            gained = -abs(charge) if symbol in ("C", "Si") else -charge if symbol == "B" else charge
            found.append(stated[symbol] if symbol in stated else MAX_VALENCES[symbol] + gained)
        return np.array(found, dtype=np.int64)
