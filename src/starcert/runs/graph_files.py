"""Graphs in text files: GraphML files or edge lists with classes in `labels.csv`, or molecules as SMILES strings.

The setting `columns` names columns of tables that are not called `smiles`, `label` or `name`, and the column of parts.
The setting `edge_types` names the attribute that is the type of an edge. A module gets types as `edge_attr`, a column
for each, so all graphs of a data set have the same types in one order.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, ParseError

from starcert.datasets.dataset import Dataset
from starcert.objects import Graph
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
Columns = Mapping[str, str]  # from what a column holds (`COLUMN_ROLES`) to its name

Row = tuple[int, dict[str, str]]  # the number of a line, and its cells by role

MAX_SHOWN = 200  # a message shows at most this many characters of a name
_MAX_DIGITS = 1000  # longer numbers are read as names: Python refuses to parse numbers of several thousand digits
_MAX_COLUMNS_SHOWN = 20
_MAX_CLASS_NUMBER = 1000
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_PARTS = {"train": "train", "training": "train", "test": "test", "": None}
_PARTS |= dict.fromkeys(("validation", "valid", "val"), "validation")
_FOREIGN = (ValueError, KeyError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, AssertionError)
"""What a parser may raise on a file of another format."""


def read_folder(folder: Path, columns: Columns | None = None, edge_types: str | None = None) -> Dataset:
    """The graphs of a folder, in the order of their names, with the classes in its `labels.csv`."""
    readers = {".graphml": read_graphml} | dict.fromkeys((".edges", ".edgelist", ".txt"), read_edge_list)
    files = sorted(
        (each for each in folder.iterdir() if each.suffix in readers), key=lambda file: _natural_key(file.name)
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
        return _labelled(graphs, list(names), _rows_by_name(labels, list(names), columns or {}), labels)
    if columns:
        refuse_columns(columns, f"there is no {_LABELS} in {folder}")
    return Dataset(graphs, names=list(names))


def _labelled(graphs: Sequence[Graph], names: list[str], rows: Sequence[Row], path: Path) -> Dataset:
    """Graphs with the classes and the parts in the rows of a table, as far as it has such columns."""
    given: dict[str, Any] = {}
    if "label" in rows[0][1]:
        labels, class_names, numbered = number_labels([row["label"] for _, row in rows])
        given = {"labels": labels, "label_names": class_names, "numbered": numbered}
    if "part" in rows[0][1]:
        given["parts"] = [part_named(row["part"], f"{path}, line {number}") for number, row in rows]
    return Dataset(graphs, names=names, **given)


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
            _refuse_line(path, number, f"{name!r} has a label already")
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
    for number, text in enumerate(_lines_of(path), start=1):
        line = text.partition("#")[0].strip()
        names = line.replace(",", " ").split()
        if len(names) == 3 and names[2] in ("1", "1.0"):
            names.pop()
        if len(names) > 2:
            problem = f"{line!r} is not a pair of nodes; weights and other data of edges are not covered"
            _refuse_line(path, number, problem)
        if len(names) == 2 and names[0] == names[1]:
            _refuse_line(path, number, f"{line!r} is a self-loop, which starcert's graphs do not have; take it out")
        ends = [index.setdefault(name, len(index)) for name in names]
        if len(ends) == 2:
            edges.add((min(ends), max(ends)))
    return Graph(len(index), sorted(edges), nodes=_as_numbers(index))


def _as_numbers(nodes: Iterable[Hashable]) -> list[Hashable]:
    """Node names, as numbers if all are whole numbers, so that ranges of nodes fit them."""
    names = [str(node) for node in nodes]
    if all(name.isdecimal() and len(name) <= _MAX_DIGITS and str(int(name)) == name for name in names):
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
        for number, line in enumerate(_lines_of(path), start=1):
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
    return _labelled(graphs, [row.get("name") or row["smiles"] for _, row in rows], rows, path)


def check_edge_types(name: str, there: Collection[str], where: object) -> None:
    """Refuses a name that no edge of the data carries; the message lists those that are there."""
    if not there:
        refuse_edge_types(name, f"the edges of {where} carry nothing")
    if name not in there:
        requirement = f"name what the edges of {where} carry, {', '.join(sorted(there))}"
        raise InvalidParameterError("edge_types", requirement, name, did_you_mean(name, there))


def refuse_edge_types(name: str, reason: str) -> NoReturn:
    """Refuses the setting `edge_types` for data that have no use for it."""
    raise InvalidParameterError("edge_types", f"be left out: {reason}", name)


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


def read_table(path: Path, columns: Columns, *, needed: Sequence[str], optional: Sequence[str] = ()) -> list[Row]:
    """The rows of a table with the cells of these roles; empty rows are left out."""
    for role in columns:
        if role not in (*needed, *optional):
            refuse_columns({role: columns[role]}, f"{path} has no use for it")
    reader = csv.reader(_lines_of(path))
    rows = []
    try:
        for number, row in enumerate(reader, start=1):
            if reader.line_num != number:
                _refuse_line(path, number, "a cell in quotes goes on in the next line; close the quotes in this one")
            rows.append((number, row))
    except csv.Error as error:
        raise StarcertError(f"{path}: is not a table: {error}.") from error
    header = [cell.strip() for cell in rows[0][1]] if rows else []
    lower = [name.lower() for name in header]
    found = [role for role in optional if role in columns or (role != "part" and role in lower)]
    missing = ["label"] if "label" in optional and "label" not in found else []
    places = {role: _place(path, header, role, columns, needed, missing) for role in (*needed, *found)}
    kept = []
    for number, row in rows[1:]:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            _refuse_line(path, number, f"has {len(row)} cells, the first line {len(header)}")
        kept.append((number, {role: row[place].strip() for role, place in places.items()}))
    return kept


def _place(
    path: Path, header: list[str], role: str, columns: Columns, needed: Sequence[str], missing: Sequence[str]
) -> int:
    """Which column has a role; case matters only if several names differ in nothing else."""
    name = columns.get(role, role)
    lower = [each.lower() for each in header]
    exact = [place for place, each in enumerate(header) if each == name]
    found = exact or [place for place, each in enumerate(lower) if each == name.lower()]
    if len(found) == 1:
        return found[0]
    more = len(header) - _MAX_COLUMNS_SHOWN
    listed = ", ".join(header[:_MAX_COLUMNS_SHOWN]) + (f" and {more} more" if more > 0 else "")
    if found:
        _refuse_line(path, 1, f"names the column {name} {len(found)} times; rename all but one ({listed})")

    def likely(wanted: str) -> str:
        close = get_close_matches(columns.get(wanted, wanted).lower(), lower, n=1)
        return header[lower.index(close[0])] if close else "COLUMN"

    names = [columns.get(each, each) for each in needed]
    what = f"a column {name}" if len(names) < 2 or role not in needed else f"the columns {' and '.join(names)}"
    option = ",".join(f"{each}={likely(each)}" for each in (role, *missing))
    raise StarcertError(
        f"{path}, line 1: must name {what}. It has {listed or 'none'}. Say which column it is: --columns {option}."
    )


def refuse_columns(columns: Columns, reason: str) -> NoReturn:
    """Refuses the setting `columns` for data that have no such columns."""
    hint = "Columns are those of a .csv file with SMILES strings, or of labels.csv in a folder of graphs."
    given = ",".join(f"{role}={name}" for role, name in columns.items())
    raise InvalidParameterError("columns", f"be left out: {reason}", given, hint)


def _refuse_line(path: Path, number: int, problem: str) -> NoReturn:
    raise StarcertError(f"{path}, line {number}: {problem}.")


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except (UnicodeDecodeError, OSError) as error:
        raise StarcertError(f"{path}: is not text in UTF-8: {error}.") from error


def are_class_numbers(values: Collection[int]) -> bool:
    """Whether whole numbers are class numbers, some of which may not occur; far apart, they are names of classes."""
    return min(values) >= 0 and max(values) < max(_MAX_CLASS_NUMBER, len(set(values)))


def measurement_in(names: Sequence[str]) -> str | None:
    """A name of a class that is a number with a fraction, where all of them are numbers; None: they are classes."""
    numeric = all(map(_NUMBER.fullmatch, names))
    return next((text for text in names if numeric and math.isfinite(float(text)) and float(text) % 1), None)


def number_labels(labels: list[str]) -> tuple[list[int | None], tuple[str, ...], bool]:
    """Classes from labels as text ("": not known), the names of the classes, and whether labels are class numbers.

    Labels that are whole numbers from 0, not too far apart, are class numbers (1.0 is 1); others are numbered in their
    order. Numbers that are not all whole are measurements: `measurement_in` finds one.

    Example:
        >>> number_labels(["ring", "star", "", "ring"]), number_labels(["2", "0"])
        (([0, 1, None, 0], ('ring', 'star'), False), ([2, 0], ('0', '1', '2'), True))
    """
    if all(re.fullmatch(r"(-?\d+(\.0*)?)?", label) for label in labels):
        labels = [label.partition(".")[0] for label in labels]
    texts = sorted({label for label in labels if label}, key=_natural_key)
    whole = all(re.fullmatch(r"-?\d+", text) and len(text) <= _MAX_DIGITS for text in texts)
    if whole:
        texts.sort(key=int)
    numbered = bool(texts) and whole and int(texts[0]) == 0 and are_class_numbers(set(map(int, texts)))
    numbers = {text: int(text) if numbered else place for place, text in enumerate(texts)}
    class_names = map(str, range(int(texts[-1]) + 1)) if numbered else texts
    return [numbers.get(label) for label in labels], tuple(class_names), numbered


def _natural_key(name: str) -> tuple[tuple[int, str], ...]:
    parts = re.split(r"(\d+)", name)  # graph2 comes before graph10
    return tuple((int(p), "") if p.isdecimal() and len(p) <= _MAX_DIGITS else (-1, p) for p in parts)


def part_named(word: str, where: str) -> str | None:
    """The part that a word means, whatever its case; "" means none."""
    known = word.strip().lower()
    if known not in _PARTS:
        hint = "There are train, validation and test; leave it empty for none."
        raise StarcertError(f"{where}: {word[:MAX_SHOWN]!r} is not a part. {hint}")
    return _PARTS[known]
