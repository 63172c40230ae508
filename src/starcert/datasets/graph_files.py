"""Graphs in text files: GraphML files or edge lists with classes in `labels.csv`, or molecules as SMILES strings.

The setting `edge_types` names the attribute that is the type of an edge. A module gets types as `edge_attr`, a column
for each, so all graphs of a data set have the same types in one order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, ParseError

from starcert.datasets.dataset import Dataset
from starcert.datasets.tables import (
    MAX_SHOWN,
    Columns,
    Row,
    labelled,
    lines_of,
    read_table,
    refuse_columns,
    refuse_line,
)
from starcert.objects import Graph
from starcert.objects.columns import MAX_DIGITS, natural_key
from starcert.objects.content import MAX_TYPES
from starcert.objects.convert import Parts, from_networkx
from starcert.objects.molecules import load_rdkit
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean

BOND, EDGE_LABELS = "bond", "edge_labels"  # what the type of an edge is called in molecules, and in the TU collection

ASK_FOR_TYPES = (
    f"In a run, write --edge-types {BOND} for molecules, --edge-types {EDGE_LABELS} for TU data, otherwise the name of "
    "the edge attribute, such as --edge-types edge_attr."
)
"""The next step where edges have no types and a noise or a model needs them."""

_LABELS = "labels.csv"
_FOREIGN = (ValueError, KeyError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, AssertionError)
"""The errors that a parser may raise on a file of another format."""


def read_folder(folder: Path, columns: Columns | None = None, edge_types: str | None = None) -> Dataset:
    """The graphs of a folder, in the order of their names, with the classes in its `labels.csv`."""
    readers = {".graphml": read_graphml} | dict.fromkeys((".edges", ".edgelist", ".txt"), read_edge_list)
    files = sorted(
        (each for each in folder.iterdir() if each.suffix in readers), key=lambda file: natural_key(file.name)
    )
    if not files:
        kinds = ", ".join(f"*{suffix}" for suffix in readers)
        hint = f"A folder of graphs has files {kinds}; the folder of a TU data set has a file *_A.txt."
        raise InvalidParameterError("data", "be a folder with graphs", str(folder), hint)
    names: dict[str, Path] = {}
    for path in files:
        if path.stem in names:
            raise StarcertError(f"{path}: has the same name as {names[path.stem].name}. Rename one of them.")
        names[path.stem] = path
    if edge_types is None:
        graphs = tuple(readers[path.suffix](path) for path in files)
    else:
        graphs = _read_typed(files, folder, edge_types)
    labels = folder / _LABELS
    if labels.exists():
        return labelled(graphs, list(names), _rows_by_name(labels, list(names), columns or {}), labels)
    if columns:
        refuse_columns(columns, f"there is no {_LABELS} in {folder}")
    return Dataset(graphs, names=list(names))


def _rows_by_name(path: Path, names: list[str], columns: Columns) -> list[Row]:
    """The row of `labels.csv` for each of these graphs; an empty label is a class that is not known."""
    found: dict[str, Row] = {}
    for number, row in read_table(path, columns, needed=("name", "label"), optional=("part",)):
        name = row["name"] if row["name"] in names else Path(row["name"]).stem
        if name not in names:
            wanted = row["name"][:MAX_SHOWN]
            hint = did_you_mean(wanted, names)
            raise StarcertError(f"{path}, line {number}: no graph is called {wanted!r}. {hint}".rstrip())
        if name in found:
            refuse_line(path, number, f"{name!r} has a label already")
        found[name] = number, row
    missing = [name for name in names if name not in found]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        unknown = "Where a class is not known, leave the label empty."
        raise StarcertError(f"{path}: has no line for {missing[0]!r}{more}. {unknown}")
    return [found[name] for name in names]


def read_graphml(path: Path) -> Graph:
    """The graph of a GraphML file: node ids are the names, attributes that all nodes carry are the node data."""
    with naming(path):
        return Graph.from_networkx(_parse_graphml(path))


def _parse_graphml(path: Path) -> Any:  # noqa: ANN401  (networkx carries no types)
    import networkx as nx  # noqa: PLC0415

    try:
        _check_graphml(path)
        graph = nx.read_graphml(path)
    except (ParseError, nx.NetworkXError, *_FOREIGN) as error:
        raise StarcertError(f"{path}: is not GraphML: {' '.join(str(error).split())}.") from error
    return nx.relabel_nodes(graph, dict(zip(graph, _as_numbers(graph), strict=True)))


def _check_graphml(path: Path) -> None:
    """Refuses what networkx would silently accept: several graphs, nodes declared twice, edges to undeclared nodes."""
    elements: dict[str, list[Element]] = {"graph": [], "node": [], "edge": []}
    for element in ElementTree.parse(path).iter():
        kind = element.tag.rpartition("}")[2]  # after its namespace
        if kind in elements:
            elements[kind].append(element)
    if (count := len(elements["graph"])) > 1:
        raise StarcertError(f"{path}: holds {count} graphs. Write each of them into a file of its own.")
    declared = Counter(node.get("id") for node in elements["node"])
    name, count = next(iter(declared.most_common(1)), (None, 0))
    if count > 1:
        raise StarcertError(f"{path}: declares the node {name!r} twice. Give every node an id of its own.")
    for edge in elements["edge"]:
        for end in (edge.get("source"), edge.get("target")):
            if end not in declared:
                pair = f"{edge.get('source')!r} and {edge.get('target')!r}"
                hint = "Declare the node, or take the edge out."
                raise StarcertError(f"{path}: has an edge between {pair}, but no node {end!r}. {hint}")


def read_edge_list(path: Path) -> Graph:
    """The graph of a text file with two names of nodes on a line, or one; # begins a comment."""
    index: dict[Hashable, int] = {}
    edges: set[tuple[int, int]] = set()
    for number, text in enumerate(lines_of(path), start=1):
        line = text.partition("#")[0].strip()
        names = line.replace(",", " ").split()
        if len(names) == 3 and names[2] in ("1", "1.0"):
            names.pop()
        if len(names) > 2:
            problem = f"{line!r} is not a pair of nodes; weights and other data of edges are not covered"
            refuse_line(path, number, problem)
        if len(names) == 2 and names[0] == names[1]:
            refuse_line(path, number, f"{line!r} is a self-loop, which starcert's graphs do not have; take it out")
        ends = [index.setdefault(name, len(index)) for name in names]
        if len(ends) == 2:
            edges.add((min(ends), max(ends)))
    return Graph(len(index), sorted(edges), nodes=_as_numbers(index))


def _as_numbers(nodes: Iterable[Hashable]) -> list[Hashable]:
    """Node names, as numbers if all are whole numbers, so that ranges of nodes fit them."""
    names = [str(node) for node in nodes]
    if all(name.isdecimal() and len(name) <= MAX_DIGITS and str(int(name)) == name for name in names):
        return list(map(int, names))
    return list(nodes)


def read_smiles(path: Path, columns: Columns | None = None, edge_types: str | None = None) -> Dataset:
    """The molecules of a file, as RDKit reads them, without hydrogens.

    A file `*.smi` has a SMILES string on each line and, after a blank, the molecule's name. A file `*.csv` has the
    columns `smiles`, and possibly `name` and `label`. Elements become one-hot features `x`, a column for each element
    of the file in alphabetical order. Bonds have their orders for types where `edge_types` asks for them.
    """
    if edge_types is not None:
        check_edge_types(edge_types, (BOND,), path.name)
    if path.suffix == ".csv":
        rows = read_table(path, columns or {}, needed=("smiles",), optional=("label", "name", "part"))
    elif columns:
        refuse_columns(columns, f"{path} has no line that names columns")
    else:
        rows = []
        for number, line in enumerate(lines_of(path), start=1):
            smiles, _, name = line.strip().partition("\t" if "\t" in line else " ")
            if smiles:
                rows.append((number, {"smiles": smiles, "name": name.strip()}))
    if not rows:
        raise StarcertError(f"{path}: has no molecules. Write a SMILES string on each line, or a column `smiles`.")
    elements, table = set(), load_rdkit("Chem").GetPeriodicTable()
    for number, row in rows:
        with naming(f"{path}, line {number}"):
            atoms: Any = Graph.from_smiles(row["smiles"]).node_data["atomic_number"]
            elements |= {table.GetElementSymbol(each) for each in atoms.tolist()}
    how: dict[str, Any] = {"elements": sorted(elements), "bond_types": edge_types is not None}
    graphs = [Graph.from_smiles(row["smiles"], **how) for _, row in rows]
    return labelled(graphs, [row.get("name") or row["smiles"] for _, row in rows], rows, path)


def check_edge_types(name: str, there: Collection[str], where: object) -> None:
    """Refuses a name that no edge of the data carries; the message lists those that are there."""
    if not there:
        refuse_edge_types(name, f"the edges of {where} carry nothing")
    if name not in there:
        requirement = f"name what the edges of {where} carry, {', '.join(sorted(there))}"
        raise InvalidParameterError("edge_types", requirement, name, did_you_mean(name, there))


def refuse_edge_types(name: str, reason: str) -> NoReturn:
    """Refuses the setting `edge_types` for data that have no use for it."""
    raise InvalidParameterError("edge_types", f"cannot be {name}: {reason}.")


def _read_typed(files: Sequence[Path], folder: Path, edge_types: str) -> tuple[Graph, ...]:
    for path in files:
        if path.suffix != ".graphml":
            refuse_edge_types(edge_types, f"{path.name} is a list of edges, which carry nothing")
    sources = [_parse_graphml(path) for path in files]
    there = {str(name) for source in sources for *_, attributes in source.edges(data=True) for name in attributes}
    check_edge_types(edge_types, there, folder.name)
    parts = []
    for path, source in zip(files, sources, strict=True):
        with naming(path):
            parts.append(from_networkx(source, edge_types))
    return graphs_of(parts, list(map(str, files)), edge_types)


@contextmanager
def naming(place: object) -> Iterator[None]:
    """Lets an error about a graph begin with the place in a file that it comes from."""
    try:
        yield
    except InvalidParameterError as error:
        raise StarcertError(f"{place}: {error}") from error


def graphs_of(parts: Sequence[Parts], where: Sequence[str], edge_types: str | None) -> tuple[Graph, ...]:
    """The graphs of a data set, each with all types of that attribute in any of them; messages say `where`."""
    names = None if edge_types is None else _all_types(edge_types, parts, where)
    graphs = []
    for place, each in zip(where, parts, strict=True):
        with naming(place):
            graphs.append(Graph(**each._replace(type_names=names)._asdict()))
    return tuple(graphs)


def _all_types(name: str, parts: Sequence[Parts], where: Sequence[str]) -> tuple[Hashable, ...]:
    """The columns of one-hot rows, which must be as many in every graph; otherwise all values that occur, sorted."""
    found: set[Any] = {each for one in parts for each in one.edge_types or ()}
    if not found:
        refuse_edge_types(name, "no graph has an edge")
    columns = {place: each.type_names for place, each in zip(where, parts, strict=True) if len(each.edges)}
    first, names = next(iter(columns.items()))
    for place, others in columns.items():
        if others != names:
            one, other = ("numbers" if each is None else f"{len(each)} columns" for each in (names, others))
            raise StarcertError(f"{place}: has {other} for {name}, but {first} {one}. Let all graphs have the same.")
    if names is not None:
        return tuple(names)
    values = sorted(found, key=lambda each: (isinstance(each, str), each))
    if len(values) > MAX_TYPES:
        requirement = f"name what has at most {MAX_TYPES} values: a type, not a measurement"
        got = f"{name}, which has {len(values):,}, such as {values[0]!r} and {values[1]!r}"
        raise InvalidParameterError("edge_types", requirement, got)
    return tuple(values)
