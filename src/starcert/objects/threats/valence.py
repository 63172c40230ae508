"""An attacker of molecules who keeps valences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from typing_extensions import override

from starcert.objects.layers import Indices
from starcert.objects.molecules import VALENCES
from starcert.objects.regions.atoms import as_bonds, as_elements
from starcert.objects.regions.builder import Names
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import Mask, Moves
from starcert.objects.threats.base import Find, UnfitError
from starcert.objects.threats.edges import EDGES
from starcert.objects.threats.sets import Limits, SiteThreat
from starcert.system.errors import whole_number

MAX_VALENCES: Mapping[str, int] = {
    "H": 1, "B": 3, "C": 4, "N": 3, "O": 2, "F": 1, "Si": 4, "P": 5, "S": 6, "Cl": 1, "Se": 6, "Br": 1, "I": 1,
}  # fmt: skip
"""The most bonds that an atom without charge usually has."""
_SYMBOLS = dict(zip(VALENCES, MAX_VALENCES, strict=True))  # by atomic number
_BY_CHARGE = {"B": -1, "C": 0, "Si": 0}  # bonds that a positive charge adds, 1 for other elements
BOND_ORDERS: Mapping[object, int] = {"single": 1, "double": 2, "triple": 3, "aromatic": 1}


@dataclass(frozen=True, init=False)
class Valence(SiteThreat):
    """An attacker who flips at most `most` bonds, after which no atom exceeds its valence; in text `valence:2`.

    Elements come from the node data `atomic_number` or `element`; with `elements` the node data `label` are numbers of
    these symbols. A `formal_charge` counts. The types of edges are orders of bonds, or their numbers in `bonds`. Edges
    without types count as single bonds, and so do aromatic ones, as in furan: where that is less than chemistry has it,
    more attacks are listed. Hydrogens that are no nodes give way.

    Only the attacked molecule has to keep valences, not those on the way there. Whether it does depends on all its
    bonds, but the clean molecule keeps them too: one that does not is refused. So the attacker gets from the attacked
    molecule back to the clean one, its reverse is itself, and nothing is anchored.

    Args:
        most: how many bonds.
        elements: the symbols that node labels 0, 1, … mean, or "MUTAG".
        bonds: the orders that types of edges 0, 1, … mean, or "MUTAG".
        valences: other valences, by symbol: {"S": 2}.

    Example:
        >>> str(Valence(2, elements=("C", "N"), valences={"S": 2})), Valence(1).label
        ('valence:2,elements=C|N,S=2', '1 flipped bond that keeps valences')
    """

    most: int
    elements: tuple[str, ...] | None
    bonds: tuple[str, ...] | None
    valences: tuple[tuple[str, int], ...]
    word = "valence"
    unit = "flipped bond that keeps valences"
    units = "flipped bonds that keep valences"
    needs = EDGES

    def __init__(
        self, most: int, elements: Names = None, bonds: Names = None, valences: Mapping[str, int] | None = None
    ) -> None:
        object.__setattr__(self, "most", most)
        self.__post_init__()
        object.__setattr__(self, "elements", as_elements(elements))
        object.__setattr__(self, "bonds", as_bonds(bonds))
        given = {} if valences is None else dict(valences)
        counted = ((symbol, whole_number(f"valences[{symbol}]", each, 0)) for symbol, each in given.items())
        object.__setattr__(self, "valences", tuple(sorted(counted)))

    @property
    @override
    def options(self) -> dict[str, object]:
        named = {"elements": self.elements, "bonds": self.bonds}
        return {name: names for name, names in named.items() if names is not None} | dict(self.valences)

    @classmethod
    @override
    def read(cls, numbers: Sequence[int], options: Mapping[str, Any], find: Find) -> Self:
        named = {name: each for name, each in options.items() if name in ("elements", "bonds")}
        return super().read(numbers, {**named, "valences": {k: v for k, v in options.items() if k not in named}}, find)

    @override
    def check(self, sites: Sites) -> None:
        super().check(sites)
        if sites.graph.directed:
            raise UnfitError("threat", f"fit the objects: {self.label} needs undirected edges", sites.graph)
        graph, allowed = sites.graph, self._allowed(sites)
        load = self._load(sites)
        over = np.flatnonzero(load > allowed)
        if len(over):
            symbol, atom = self._symbols(sites)[over[0]], graph.nodes[over[0]]
            got = f"{symbol} {atom!r} with {load[over[0]]} bonds where its valence is {allowed[over[0]]}"
            hint = f"Give it a larger one: valences={{{symbol!r}: {load[over[0]]}}}."
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
        types = np.ones(graph.n_edges, dtype=np.int64) if graph.edge_types is None else graph.edge_types
        load = np.zeros(graph.n_nodes, dtype=np.int64)
        for ends in graph.edges.T:
            np.add.at(load, ends, self._orders(sites)[types])
        return load

    def _orders(self, sites: Sites) -> Indices:
        """How many bonds an edge of each value is."""
        orders = [0, 1] if not sites.graph.type_names else [0]
        known = dict[object, str](enumerate(self.bonds or ()))
        for name in sites.graph.type_names:
            order = name if self.bonds is None else known.get(name)
            if order not in BOND_ORDERS:
                hint = "Say what they mean: bonds=('aromatic', 'single', 'double', 'triple')."
                raise UnfitError("threat", f"have types of edges out of {', '.join(map(str, BOND_ORDERS))}", name, hint)
            orders.append(BOND_ORDERS[order])
        return np.array(orders)

    def _symbols(self, sites: Sites) -> list[str]:
        data = sites.frame.node_data
        if self.elements is not None and "label" in data:
            labels = np.asarray(data["label"]).tolist()
            if all(isinstance(each, int) and 0 <= each < len(self.elements) for each in labels):
                return [self.elements[each] for each in labels]
            requirement = f"have labels from 0 to {len(self.elements) - 1}, as elements has symbols"
            raise UnfitError("threat", requirement, sorted(set(labels))[:20])
        if self.elements is None and "atomic_number" in data:
            return [_SYMBOLS.get(each, str(each)) for each in np.asarray(data["atomic_number"]).tolist()]
        if self.elements is None and "element" in data:
            return [str(each) for each in data["element"]]
        hint = "Graph.from_smiles makes atomic_number. Labels must be explained: elements=('C', 'N', 'O')."
        wanted = "label" if self.elements is not None else "atomic_number or element"
        raise UnfitError("threat", f"know the elements, node data {wanted} that is not attacked", sites.graph, hint)

    def _allowed(self, sites: Sites) -> Indices:
        """The valence of each atom."""
        known = {**MAX_VALENCES, **dict(self.valences)}
        charges = np.asarray(sites.frame.node_data.get("formal_charge", np.zeros(sites.graph.n_nodes, dtype=np.int64)))
        found = []
        for symbol, charge in zip(self._symbols(sites), charges.tolist(), strict=True):
            if symbol not in known:
                hint = f"Give valences={{{symbol!r}: 1}}, say."
                raise UnfitError("threat", "know the valence of every element", symbol, hint)
            extra = charge * _BY_CHARGE.get(symbol, 1) if _BY_CHARGE.get(symbol, 1) else -abs(charge)
            found.append(known[symbol] + (0 if symbol in dict(self.valences) else extra))
        return np.array(found, dtype=np.int64)
