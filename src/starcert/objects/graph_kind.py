"""The kind of graphs: undirected or directed, their edges of one type or several, perhaps with sites on their nodes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from starcert.objects.convert import is_networkx, is_pyg
from starcert.objects.graph import Graph
from starcert.objects.kinds import Kind, Untouched, attacked_blocks, fixed_at, fixed_columns
from starcert.objects.laws import Flip
from starcert.objects.layers import ARCS, PAIRS, Layer
from starcert.objects.molecules import ELEMENT, ORDERS, element_symbols, load_rdkit, molecule_of, orders_of
from starcert.objects.noise import Noise
from starcert.objects.partition import Partition
from starcert.objects.rule import partition_by_rule
from starcert.objects.sites import Sites
from starcert.system.errors import InvalidParameterError, StarcertError, StarcertWarning
from starcert.system.output import quantity

if TYPE_CHECKING:
    from starcert.objects.threats import Threat

DRAWN_NODES, DRAWN_EDGES = 300, 3_000  # larger graphs are described, not drawn: nothing could be made out
LONGEST_NAME = 60
PER_UNIT = 100  # coordinates are whole numbers: hundredths of what RDKit has, in which a bond is 1.5 long
FIXED_DEGREE = "edges in no region"  # how many a node has, beside the node data that attacks leave alone
TYPES_STAY = (
    "Types of edges are not attacked: an edge of the clean graph keeps its type, and one that is added draws its own"
)
DATA_STAY = (
    "The numbers of edges ({names}) are not attacked: an edge of the clean graph keeps its own, and one that is added "
    "takes what the graph says for such."
)
_RULES = {"uniform": "uniformly", "graph": "as often as in the clean graph"}


class GraphKind(Kind):
    """The kind of starcert Graphs."""

    word = "graph"
    site_words = {PAIRS: "node pair", ARCS: "arc"}  # noqa: RUF012  (as in `Kind`)
    has_nodes = True

    @override
    def convert(self, given: Any) -> Graph | None:
        if is_networkx(given):
            return Graph.from_networkx(given)
        return Graph.from_pyg(given) if is_pyg(given) else None

    @override
    def sites(self, clean: Any, regions: Any) -> Sites:
        if isinstance(regions, Mapping):
            regions = Partition.of_layers(regions)
        return (regions if isinstance(regions, Partition) else partition_by_rule(regions, clean)).sites(clean)

    @override
    def unattacked(self, sites: Sites, noise: Noise) -> Iterator[str]:
        graph = sites.graph
        named = zip(sites.regions, sites.blocks, strict=True)
        laws = [noise[region] for region, block in named if block.layer == graph.layers[0].name and region in noise]
        rules = {_RULES.get(str(law.added), "with given shares") for law in laws if isinstance(law, Flip)}
        if graph.type_names and rules:
            yield f"{TYPES_STAY} ({' or '.join(sorted(rules))})."
        if graph.edge_data and laws:
            yield DATA_STAY.format(names=" and ".join(graph.edge_data))

    @override
    def untouched(self, sites: Sites, noise: Noise | None = None, threat: Threat | None = None) -> Untouched:
        """The node data, but for classes (`y`) and masks; columns of node sites, and edges, that lie in no region."""
        graph, blocks = sites.graph, attacked_blocks(sites, noise, threat)
        parts = {name: data for name, data in graph.node_data.items() if name != "y" and not name.endswith("_mask")}
        for name, each in graph.node_sites.items():
            fixed = fixed_columns(sites, blocks, each.layer)
            if fixed.all():
                parts[name] = each.shown(each.values)
            elif fixed.any():
                parts[name] = each.values[:, fixed]
        links = graph.edges[fixed_at(sites, blocks, graph.layers[0], tuple(graph.edges.T))]
        if stay := threat is None or not threat.moves_nodes:
            parts[FIXED_DEGREE] = np.bincount(links.ravel(), minlength=graph.n_nodes).astype(np.float64)
        return Untouched({}, parts, graph.n_nodes, "node", links[: len(links) if stay else 0], stay)

    @override
    def with_values(self, sites: Sites, values: Any, *, typed: bool = True) -> Graph:
        clean = sites.graph
        pairs, types = [sites.fixed_edges], [sites.fixed_types]
        shown = {name: each.values.copy() for name, each in clean.node_sites.items()}
        for block, offset, size in zip(sites.blocks, sites.offsets, sites.sizes, strict=True):
            here = values[offset : offset + size]
            if block.layer in shown:
                shown[block.layer][tuple(block.coordinates(np.arange(size)))] = here
            else:
                present = np.flatnonzero(here)
                pairs.append(np.stack(block.coordinates(present), axis=1))
                types.append(here[present])
        has_types = typed and clean.type_names
        edges = np.concatenate(pairs), np.concatenate(types) if has_types else None
        return like_node_sites(clean.frame.with_edges(*edges, None, shown), clean)

    @override
    def short(self, clean: Any) -> str:
        if "hydrogens" not in clean.anchored_data:
            return super().short(clean)
        return str(load_rdkit("Chem").MolToSmiles(molecule_of(clean, None, None)))

    @override
    def describe(self, clean: Any) -> str:
        edges = quantity(clean.n_edges, "arc" if clean.directed else "edge")
        types = f" of {len(clean.type_names)} types" if clean.type_names else ""
        return f"{quantity(clean.n_nodes, 'node')}, {edges}{types}"

    @override
    def explain(self, clean: Any) -> str:
        shapes = {key: getattr(data, "shape", None) or (len(data),) for key, data in clean.node_data.items()}
        there = ", ".join(f"{key} ({' × '.join(map(str, shape))})" for key, shape in shapes.items()) or "none"
        about = f"The graph has {clean.n_nodes} nodes and the node data: {there}."
        if not clean.type_names:
            return about
        types = ", ".join(map(str, clean.type_names))
        return f"{about} Its edges have {len(clean.type_names)} types, the columns of edge_attr: {types}."

    @override
    def site_noun(self, clean: Any, layer: Layer) -> str:
        if layer.name == clean.layers[0].name:
            return "arc" if clean.directed else "bond" if is_molecule(clean) else "edge"
        data = clean.node_sites[layer.name]
        one_each = data.flat and data.alphabet > 2
        return ("atom" if is_molecule(clean) else "node") if one_each else "feature"

    @override
    def site_name(self, clean: Any, layer: Layer, place: Sequence[int], value: int | None) -> str:
        noun = self.site_noun(clean, layer)
        if layer.name != clean.layers[0].name:
            data, (node, column) = clean.node_sites[layer.name], place
            known = data.categories or range(data.alphabet)
            before = int(data.values[node, column])
            moved = f"{known[before]} → {known[1 - before if value is None else value]}"[:LONGEST_NAME]
            name, column_name = (
                str(clean.nodes[node])[:LONGEST_NAME],
                data.name if data.flat else f"{data.name}[{column}]",
            )
            if noun == "feature":
                return f"feature {column_name} of {name}: {moved}"
            alone = sum(each.flat and each.alphabet > 2 for each in clean.node_sites.values()) == 1
            return f"{noun} {name}: {moved}" if alone else f"{noun} {name}, {data.name}: {moved}"
        symbols = element_symbols(clean.node_data, {})  # those that no attack changes
        names = [f"{symbols[node]} {clean.nodes[node]}" if symbols else str(clean.nodes[node]) for node in place]
        name = f"{noun} {('→' if clean.directed else '–').join(each[:LONGEST_NAME] for each in names)}"
        there = np.flatnonzero((clean.edges == np.asarray(place)).all(axis=1))
        if value is None:  # a bit
            return f"{name} {'deleted' if len(there) else 'added'}"
        types = [str(each)[:LONGEST_NAME] for each in clean.type_names]
        if not len(there):
            return f"{name} added, {types[value - 1]}"
        before_type = types[int(clean.edge_types[there[0]]) - 1]
        return f"{name}: {before_type} → {types[value - 1]}" if value else f"{name} deleted, {before_type}"

    @override
    def drawing(self, clean: Any) -> dict[str, Any] | None:
        if clean.n_nodes > DRAWN_NODES or clean.n_edges > DRAWN_EDGES:
            return None
        n = int(clean.edges.max(initial=0)) + 1
        edges = {"n": n, "pairs": np.diff(clean.edges @ np.array([n, 1]), prepend=0).tolist()}
        drawing: dict[str, Any] = {"n": clean.n_nodes, "edges": edges}
        if clean.directed:
            drawing["directed"] = True
        if clean.edge_types is not None:
            drawing["types"] = clean.edge_types.tolist()
            drawing["type_names"] = [str(name)[:LONGEST_NAME] for name in clean.type_names]
        if clean.nodes != tuple(range(clean.n_nodes)):
            drawing["names"] = [str(node)[:LONGEST_NAME] for node in clean.nodes]
        if (symbols := element_symbols({**clean.anchored_data, **clean.node_data}, clean.node_sites)) is not None:
            drawing["symbols"] = symbols
        return drawing | (formula_of(clean, symbols) if is_molecule(clean) else {})


GRAPHS = GraphKind()
Graph.kind = GRAPHS


def like_node_sites(graph: Graph, other: Graph) -> Graph:
    """The graph whose node data are sites if those of another graph, with the same names, are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StarcertWarning)  # there was one about the other graph
        for name, data in other.node_sites.items():
            bits = data.categories is None and not data.one_hot
            graph = graph.with_bits(name) if bits else graph.with_categories(name, data.categories)
    return graph


def is_molecule(graph: Graph) -> bool:
    """True if nodes are atoms and edges are bonds: their elements are known, or orders of bonds.

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
    """The parts of a molecule's drawing: `points`, x and y of each atom in turn, `orders` of edges and `charges`.

    Nothing without RDKit. The orders, numbers in `ORDERS` from 1, are left out where no one says them.
    """
    orders = _orders_of_edges(graph)
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


def _orders_of_edges(graph: Graph) -> list[int] | None:
    """The number of each edge's order; None where nothing says it."""
    if graph.edge_types is not None:
        named = [ORDERS.index(name) + 1 if name in ORDERS else 0 for name in graph.type_names]
        return [named[number - 1] for number in graph.edge_types.tolist()] if all(named) else None
    try:
        known = orders_of(graph, None)
    except InvalidParameterError:
        return None
    return [ORDERS.index(known[u, v]) + 1 for u, v in graph.edges.tolist()]
