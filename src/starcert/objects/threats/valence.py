"""An attacker of molecules who keeps valences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from starcert.objects.content import NodeSites
from starcert.objects.graph import NodeFrame
from starcert.objects.layers import Indices
from starcert.objects.molecules import ELEMENT, SYMBOLS
from starcert.objects.regions.atoms import as_bonds, as_elements
from starcert.objects.regions.builder import Names
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import Attacks, Mask, Moves, UnfitError
from starcert.objects.threats.sets import Limits, SiteThreat
from starcert.system.errors import whole_number

MAX_VALENCES: Mapping[str, int] = {
    "H": 1, "B": 3, "C": 4, "N": 3, "O": 2, "F": 1, "Si": 4, "P": 5, "S": 6, "Cl": 1, "Se": 6, "Br": 1, "I": 1,
}  # fmt: skip
"""The most bonds that an atom without charge usually has."""
BOND_ORDERS: Mapping[object, int] = {"single": 1, "double": 2, "triple": 3, "aromatic": 1}


@dataclass(frozen=True)
class Valence(SiteThreat):
    """An attacker who makes at most `most` changes, after which no atom exceeds its valence; in text `valence:2`.

    A change gives a bond another order, adds or deletes it; where elements are sites, it also makes another element of
    an atom. Elements come from sites whose values are symbols, or from the node data or sites `atomic_number` or
    `element`; with `elements`, the node data or sites `label` are numbers of these symbols. A `formal_charge` counts,
    and stays with its atom. The types of edges are orders of bonds, or their numbers in `bonds`. Edges without types
    count as single bonds, and so do aromatic ones, as in furan: where that is less than chemistry has it, more attacks
    are listed. Hydrogens that are no nodes give way.

    Only the attacked molecule has to keep valences, not those on the way there. The clean molecule keeps them too: one
    that does not is refused. So the attacker gets back from the attacked molecule, and its reverse is itself.

    Args:
        most: how many changes.
        elements: the symbols that node labels 0, 1, … mean, or "MUTAG".
        bonds: the orders that types of edges 0, 1, … mean, or "MUTAG".
        valences: other valences, by symbol: {"S": 2}, or "S:2".

    Example:
        >>> str(Valence(2, elements=("C", "N"), valences={"S": 2})), Valence(1).label
        ('valence:2,elements=C|N,valences=S:2', '1 change that keeps valences')
    """

    most: int
    elements: Names = None
    bonds: Names = None
    valences: Mapping[str, int] | Names = ()
    word = "valence"
    unit = "change that keeps valences"
    units = "changes that keep valences"
    needs = "bonds or elements"

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
        if not (isinstance(sites.frame, NodeFrame) and (self._node_of(sites) >= 0).any()):
            super().check(sites)
        if sites.graph.directed:
            raise UnfitError("threat", f"fit the objects: {self.label} needs undirected edges", sites.graph)
        symbols = self._symbols(sites)
        every = zip(symbols, sites.graph.nodes, self._load(sites), self._allowed(sites, symbols), strict=True)
        for symbol, atom, load, allowed in every:
            if load > allowed:
                got = f"{symbol} {atom!r} with {load} bonds where its valence is {allowed}"
                hint = f"Give it a larger one: valences={{{symbol!r}: {load}}}."
                raise UnfitError("threat", "be asked about molecules that keep valences", got, hint)

    @override
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        return moves.edge | (self._node_of(sites)[moves.site] >= 0)

    @override
    def budgets(self, sites: Sites, moves: Moves) -> Limits:
        """An element with a smaller valence is that much more load on its atom."""
        symbols, atoms, orders = self._symbols(sites), self._atoms(sites), self._orders(sites)
        allowed = self._allowed(sites, symbols)
        node = self._node_of(sites)[moves.site]
        ends, weight = np.stack([moves.u, moves.v], axis=1), np.zeros(len(node), dtype=np.int64)
        weight[moves.edge] = orders[moves.new[moves.edge]] - orders[moves.before[moves.edge]]
        if atoms is not None and (other := node >= 0).any():
            after = [self._allowed(sites, [symbol] * len(symbols)) for symbol in self._names(atoms)]
            weight[other] = allowed[node[other]] - np.stack(after)[moves.new[other], node[other]]
            ends[other] = node[other, None]
        return Limits(ends, weight, self._load(sites), allowed)

    def keeps(self, sites: Sites, attacks: Attacks) -> Mask:
        """A truth value for each of some attacks: it keeps valences, whatever else it changes.

        Example:
            >>> from starcert.objects import Graph
            >>> sites = Sites.everything(Graph(3, [(0, 1)], node_data={"element": ["C", "F", "C"]}), "all")
            >>> Valence(1).keeps(sites, Attacks.from_lists([[(1, 1)], [(2, 1)]])).tolist()
            [True, False]
        """
        self.check(sites)
        moves = Moves.of(sites)
        moves = moves.where(self.allowed(sites, moves))
        changes = attacks.changes
        limits, place = self.budgets(sites, moves), np.searchsorted(moves.changes, changes)
        attack = np.repeat(np.arange(len(attacks)), np.diff(attacks.starts))
        known = np.isin(changes, moves.changes)  # others have no weight
        place, attack = place[known], attack[known]
        found = np.tile(limits.load, (len(attacks), 1))
        one, other = limits.ends[place].T
        np.add.at(found, (attack, one), limits.weight[place])
        two = one != other
        np.add.at(found, (attack[two], other[two]), limits.weight[place[two]])
        return np.asarray((found <= limits.limit).all(axis=1))

    def _load(self, sites: Sites) -> Indices:
        """The number of bonds of each atom, those that are fixed included."""
        graph = sites.graph
        orders = self._orders(sites)[1 if graph.edge_types is None else graph.edge_types]
        ends, weights = graph.edges.ravel(), np.repeat(np.broadcast_to(orders, graph.n_edges), 2)
        return np.bincount(ends, weights, minlength=graph.n_nodes).astype(np.int64)

    def _orders(self, sites: Sites) -> Indices:
        """The number of bonds that an edge of each value is."""
        orders, meanings = [0], dict[object, object](enumerate(self.bonds or ()))
        for name in sites.graph.type_names or ["single"]:
            order = meanings.get(name) if meanings and sites.graph.type_names else name
            if order not in BOND_ORDERS:
                hint = "Say what they mean: bonds=('aromatic', 'single', 'double', 'triple')."
                raise UnfitError("threat", f"have types of edges out of {', '.join(map(str, BOND_ORDERS))}", name, hint)
            orders.append(BOND_ORDERS[order])
        return np.array(orders)

    def _atoms(self, sites: Sites) -> NodeSites | None:
        """The elements, if they are sites; of an object whose node data say them, only where they are in a region."""
        data, here = sites.frame.node_data, {block.layer for block in sites.blocks}
        known = {name: each for name, each in sites.graph.node_sites.items() if each.categories is not None}
        names = ["label"] if self.elements else [ELEMENT, "element"]
        stated, found = any(name in data for name in names), [known[name] for name in names if name in known]
        if not self.elements:
            found += (each for each in known.values() if set(SYMBOLS).issuperset(each.categories or ()))
        attacked = next((each for each in found if each.name in here), None)
        return attacked or (None if stated else next(iter(found), None))

    def _node_of(self, sites: Sites) -> Indices:
        """For each site the atom whose element it is; −1 for others."""
        atoms, found = self._atoms(sites), np.full(sites.n_sites, -1, dtype=np.int64)
        for block, offset, size in zip(sites.blocks, sites.offsets, sites.sizes, strict=True):
            if atoms is not None and block.layer == atoms.name:
                found[offset : offset + size] = block.coordinates(np.arange(size))[0]
        return found

    def _names(self, atoms: NodeSites) -> list[str]:
        """The symbol of each value of elements that are sites."""
        return self._read(atoms.categories or (), atoms.name if atoms.name in ("label", ELEMENT) else "element")

    def _symbols(self, sites: Sites) -> list[str]:
        if (atoms := self._atoms(sites)) is not None:
            names = self._names(atoms)
            return [names[value] for value in atoms.values[:, 0].tolist()]
        data = sites.frame.node_data
        for name in ("label",) if self.elements else (ELEMENT, "element"):
            if name in data:
                return self._read(np.asarray(data[name]).tolist() if name != "element" else data[name], name)
        wanted = "or sites label" if self.elements else "atomic_number or element, or sites that are symbols"
        requirement = f"fit the objects: {self.label} needs elements: node data {wanted}"
        kept = [*data, *(f"{name} (sites)" for name in sites.graph.node_sites)]
        got = f"a graph with {', '.join(kept) or 'no node data'}"
        hint = (
            "Graph.from_smiles makes atomic_number. Labels must be explained: elements=('C', 'N', 'O'). Sites without "
            "symbols get them by graph.with_categories('x', ('C', 'N', 'O'))."
        )
        raise UnfitError("threat", requirement, got, hint)

    def _read(self, values: Iterable[Any], name: str) -> list[str]:
        """The symbols that values of node data mean."""
        if name == "element":
            return list(map(str, values))
        if name == ELEMENT:
            return [SYMBOLS[each - 1] if each in range(1, len(SYMBOLS) + 1) else str(each) for each in values]
        symbols, labels = tuple(self.elements or ()), list(values)
        if all(isinstance(each, int) and 0 <= each < len(symbols) for each in labels):
            return [symbols[each] for each in labels]
        requirement = f"have labels from 0 to {len(symbols) - 1}, one for each of elements"
        raise UnfitError("threat", requirement, sorted(set(labels))[:20])

    def _allowed(self, sites: Sites, symbols: Sequence[str]) -> Indices:
        """The valence of each atom, if these are their elements."""
        stated = {symbol: int(number) for symbol, number in (each.split(":") for each in self.valences or ())}
        charges = sites.frame.node_data.get("formal_charge", np.zeros(sites.graph.n_nodes, dtype=np.int64))
        found = []
        for symbol, charge in zip(symbols, np.asarray(charges).tolist(), strict=True):
            if symbol not in stated and symbol not in MAX_VALENCES:
                hint = f"Give valences={{{symbol!r}: 1}}, say."
                raise UnfitError("threat", "know the valence of every element", symbol, hint)
            gained = -abs(charge) if symbol in ("C", "Si") else -charge if symbol == "B" else charge
            found.append(stated[symbol] if symbol in stated else MAX_VALENCES[symbol] + gained)
        return np.array(found, dtype=np.int64)


def keep_valences(sites: Sites, attacks: Attacks) -> Mask | None:
    """A truth value for each attack, as `Valence.keeps` has it for usual valences; None where these are not known.

    They are known of molecules with elements that keep them before the attack.
    """
    threat = Valence(1)
    try:
        if isinstance(sites.frame, NodeFrame):
            threat._symbols(sites)  # before anything as large as the object is made
        return threat.keeps(sites, attacks)
    except UnfitError:
        return None
