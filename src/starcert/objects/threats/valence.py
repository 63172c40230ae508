"""An attacker of molecules who keeps valences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from typing_extensions import override

from starcert.objects.layers import Indices
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import VALUES, Rows, ground_of
from starcert.objects.threats.base import UnfitError, check_edges, names_of
from starcert.objects.threats.edges import EdgeThreat
from starcert.objects.threats.site_threat import Limits
from starcert.system.errors import whole_number

MAX_VALENCES: Mapping[str, int] = {
    "H": 1, "B": 3, "C": 4, "N": 3, "O": 2, "F": 1, "Si": 4, "P": 5, "S": 6, "Cl": 1, "Se": 6, "Br": 1, "I": 1,
}  # fmt: skip
"""The most bonds that an atom without charge usually has."""
_SYMBOLS = {
    1: "H",
    5: "B",
    6: "C",
    7: "N",
    8: "O",
    9: "F",
    14: "Si",
    15: "P",
    16: "S",
    17: "Cl",
    34: "Se",
    35: "Br",
    53: "I",
}
_BY_CHARGE = {"B": -1, "C": 0, "Si": 0}  # bonds that a positive charge adds, 1 for other elements
BOND_ORDERS: Mapping[object, int] = {"single": 1, "double": 2, "triple": 3, "aromatic": 1}


@dataclass(frozen=True, init=False)
class Valence(EdgeThreat):
    """An attacker who flips at most `most` bonds, after which no atom exceeds its valence; in text `valence:2`.

    Elements come from the node data `atomic_number` or `element`; with `elements` the node data `label` are numbers of
    these symbols. A `formal_charge` counts. Edges with types must have the orders of bonds as types. Others count as
    single bonds, and so do aromatic ones, as they do in furan: where that is less than chemistry has it, more attacks
    are listed. Hydrogens that are no nodes give way.

    Only the attacked molecule has to keep valences, not those on the way there. Whether it does depends on all its
    bonds, but the clean molecule keeps them too: one that does not is refused. So the attacker gets from the attacked
    molecule back to the clean one, its reverse is itself, and nothing is anchored.

    Args:
        most: how many bonds.
        elements: the symbols that node labels 0, 1, … mean.
        valences: other valences, by symbol: {"S": 2}.

    Example:
        >>> str(Valence(2, elements=("C", "N"), valences={"S": 2})), Valence(1).label
        ('valence:2,elements=C|N,S=2', '1 flipped bond that keeps valences')
    """

    most: int
    elements: tuple[str, ...] | None
    valences: tuple[tuple[str, int], ...]
    word = "valence"
    unit = "flipped bond that keeps valences"
    units = "flipped bonds that keep valences"
    limited = True

    def __init__(
        self, most: int, elements: tuple[str, ...] | None = None, valences: Mapping[str, int] | None = None
    ) -> None:
        object.__setattr__(self, "most", most)
        self.__post_init__()
        object.__setattr__(self, "elements", None if elements is None else names_of(elements))
        given = {} if valences is None else dict(valences)
        counted = ((symbol, whole_number(f"valences[{symbol}]", each, 0)) for symbol, each in given.items())
        object.__setattr__(self, "valences", tuple(sorted(counted)))

    @property
    @override
    def options(self) -> dict[str, object]:
        return ({} if self.elements is None else {"elements": self.elements}) | dict(self.valences)

    @classmethod
    @override
    def read(cls, most: int | None, options: Mapping[str, Any]) -> Self:
        elements = options.get("elements")
        return cls(most, elements, {key: value for key, value in options.items() if key != "elements"})  # type: ignore[arg-type]

    @override
    def check(self, sites: Sites) -> None:
        check_edges(self, sites)
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
    def limits(self, sites: Sites, changes: Rows) -> Limits:
        ground, orders = ground_of(sites), self._orders(sites)
        positions, values = np.divmod(changes, VALUES)
        ends = np.stack([ground.u, ground.v], axis=1)[positions]
        weight = orders[values] - orders[ground.values[positions]]
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
        names = sites.graph.type_names
        for name in names:
            if name not in BOND_ORDERS:
                hint = "Name the types so: Graph(…, edge_types=…, type_names=('single', 'double'))."
                raise UnfitError("threat", f"have types of edges out of {', '.join(map(str, BOND_ORDERS))}", name, hint)
        return np.array([0, *(BOND_ORDERS[name] for name in names)] if names else [0, 1])

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
