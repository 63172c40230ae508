"""The graphs of a run, and those in text files: GraphML files or edge lists with classes in `labels.csv`, or molecules.

`RunData` is what a run works on, wherever the graphs come from.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, ParseError

import numpy as np

from starcert.objects import Graph
from starcert.objects.content import digest
from starcert.objects.convert import from_networkx
from starcert.runs.columns import LONGEST, Columns, Row, lines_of, part_named, read_table, refuse_columns, refuse_line
from starcert.runs.edge_types import BOND, check_edge_types, refuse_edge_types, same_types
from starcert.system.errors import InvalidParameterError, StarcertError

__all__ = [
    "LABELS",
    "RunData",
    "are_class_numbers",
    "number_labels",
    "read_edge_list",
    "read_folder",
    "read_graphml",
    "read_labels",
    "read_smiles",
]

_FRACTIONS = (0.8, 0.1, 0.1)

_MOST_NUMBERS = 1000


def are_class_numbers(values: Collection[int]) -> bool:
    """Whether whole numbers are taken for the numbers of classes, some of which may not occur.

    Where they lie far apart, the classes are the values themselves.

    Example:
        >>> are_class_numbers({0, 2}), are_class_numbers({0, 10**11})
        (True, False)
    """
    return min(values) >= 0 and max(values) < max(_MOST_NUMBERS, len(set(values)))


@dataclass(frozen=True, eq=False)
class RunData:
    """Graphs with their names, and their classes as far as these are known.

    This is what a model function gets as `data` and as `train`. As with a `Split` of `starcert.datasets`, `len(train)`
    is how many graphs there are, and `for graph, label in train:` goes through them; a label is None where the class is
    not known.

    Attributes:
        graphs: the graphs, or other objects such as `starcert.Bits`.
        names: what each is called, for people.
        labels: the class of each, a number from 0 or None; None if no class is known.
        class_names: what the classes are called where the data come from; empty if that is not known.
        numbered: whether the labels are the class numbers of whoever made the data, rather than numbered here.
        node_labels: where the nodes of one graph are classified, the class of each; None: not known, or graphs are.
        parts: where the user divides the data, the part of each, "train", "validation" or "test", or None for none.

    Example:
        >>> data = RunData((Graph(2, [(0, 1)]), Graph(3, [])), ("pair", "dots"), (1, 0), ("apart", "joined"))
        >>> data.first(1).names, data.part("all", 0) is data
        (('pair',), True)
        >>> [(graph.n_nodes, label) for graph, label in data]
        [(2, 1), (3, 0)]
    """

    graphs: tuple[Any, ...]
    names: tuple[str, ...]
    labels: tuple[int | None, ...] | None = None
    class_names: tuple[str, ...] = ()
    numbered: bool = False
    node_labels: tuple[int | None, ...] | None = None
    parts: tuple[str | None, ...] | None = None

    def __post_init__(self) -> None:
        counts = {len(self.graphs), len(self.names), len(self.graphs if self.labels is None else self.labels)}
        assert len(counts) == 1, counts
        for name in (*self.names, *self.class_names):
            if not _is_utf8(name):
                hint = "Rename the file, the graph or the class: the results name it."
                raise InvalidParameterError("data", "have names that UTF-8 can write", name, hint)

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Iterator[tuple[Any, int | None]]:
        return zip(self.graphs, self.labels or (None,) * len(self), strict=True)

    @cached_property
    def digest(self) -> str:
        """A digest of what the graphs, their names and their classes are; where they lie plays no part."""
        nodes = () if self.node_labels is None else (self.node_labels,)
        return digest("data", [graph.key for graph in self.graphs], self.names, self.labels, self.class_names, *nodes)

    def of_nodes(self) -> RunData:
        """The data for who classifies the nodes of one graph: its node data `y` are their classes, if it has such."""
        if len(self) != 1 or not isinstance(self.graphs[0], Graph):
            what = "one graph" if len(self) == 1 else f"{len(self)} graphs"
            hint = (
                "Nodes are certified of one graph: a folder with one file, a PyG file with one Data, or an .npz file."
            )
            raise InvalidParameterError("targets", f"be graphs for data of {what}", "nodes", hint)
        graph = self.graphs[0]
        if self.node_labels is not None or Y not in graph.node_data:
            return replace(self, labels=None)
        given: Any = graph.node_data[Y]
        classes = list(given.tolist() if hasattr(given, "tolist") else given)  # an array, a tensor, a tuple
        if all(isinstance(each, float) and each.is_integer() for each in classes):
            classes = [int(each) for each in classes]
        labels, class_names, numbered = number_labels(list(map(str, classes)), f"{self.names[0]}, node data {Y}")
        return RunData((graph.without(Y),), self.names, None, class_names, numbered, labels)

    def first(self, n: int | None) -> RunData:
        """The first n graphs; all of them for None."""
        return self if n is None or n >= len(self) else self.select(range(n))

    def limited(self, n: int | None, seed: int) -> RunData:
        """So many graphs: the first ones, if they have every class in its share, within one graph; else a draw.

        The draw takes one graph of every class, and then of each in proportion to its size; the draw of fewer graphs
        is a part of that of more. Graphs stay in their order.
        """
        first = self.first(n)
        if n is None or len(first) == len(self) or self.labels is None:
            return first
        sizes = Counter(self.labels)
        here = Counter(first.labels)
        fair = all(abs(here[label] - n * size / len(self)) < 1 for label, size in sizes.items())
        if fair and len(here) == min(n, len(sizes)):
            return first
        order = np.random.default_rng(seed).permutation(len(self)).tolist()
        seen: Counter[int | None] = Counter()
        places: list[tuple[float, int, int]] = []
        for index in order:
            label = self.labels[index]
            places.append((seen[label] / sizes[label], len(places), index))
            seen[label] += 1
        return self.select(sorted(index for *_, index in sorted(places)[:n]))

    def part(self, name: str, seed: int) -> RunData:
        """A part of the data: "all", or "train", "validation" or "test".

        Unless the user divides the data, these have 80%, 10% and 10% of every class.
        """
        if name == "all":
            return self
        found = self.part_if_any(name, seed)
        if found is not None:
            return found
        if self.parts is None:
            raise StarcertError(f'The {name} part of {len(self)} graphs is empty. Use split = "all".')
        sizes = Counter(part for part in self.parts if part)
        there = ", ".join(f"{part} has {n}" for part, n in sizes.items()) or "no part has any"
        raise StarcertError(f"The {name} part of {len(self)} graphs is empty ({there}). Choose another --split.")

    def part_if_any(self, name: str, seed: int) -> RunData | None:
        """The part "train", "validation" or "test" of the data; None if it is empty."""
        if self.parts is not None:
            which = [place for place, part in enumerate(self.parts) if part == name]
            return self.select(which) if which else None
        if self.labels is None or None in self.labels:
            hint = (
                'Use split = "all", or put the graphs to certify into a folder of their own. Where a table calls the '
                "column of classes otherwise than label: --columns label=COLUMN."
            )
            raise InvalidParameterError("split", "be all for data without classes", name, hint)
        from starcert.datasets.dataset import stratified_parts  # noqa: PLC0415

        found = stratified_parts(np.array(self.labels, dtype=np.int64), _FRACTIONS, seed)
        chosen = dict(zip(("train", "validation", "test"), found, strict=True))[name]
        return self.select(sorted(chosen.tolist())) if len(chosen) else None

    def select(self, which: Sequence[int]) -> RunData:
        """The graphs at these places."""
        return replace(
            self,
            graphs=tuple(self.graphs[i] for i in which),
            names=tuple(self.names[i] for i in which),
            labels=None if self.labels is None else tuple(self.labels[i] for i in which),
            parts=None if self.parts is None else tuple(self.parts[i] for i in which),
        )


LABELS = "labels.csv"

Y = "y"
"""The node data that are the classes of nodes."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)

UNKNOWN = ""
"""The label of a graph whose class is not known."""

LONGEST_NUMBER = 1000
"""What has more digits is read as a name: Python reads no number of more than some thousand."""

_FOREIGN = (ValueError, KeyError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, AssertionError)
"""What a reader of files may raise on one that is none of its own."""


def read_folder(folder: Path, columns: Columns | None = None, edge_types: str | None = None) -> RunData:
    """The graphs of a folder, in the order of their names, with their classes where there is a `labels.csv`.

    Args:
        folder: where the files are.
        columns: which columns of `labels.csv` hold what, where they are not called after it.
        edge_types: the attribute that is the type of an edge; None: edges have no types.

    Raises:
        StarcertError: names the file, and the line where it has lines, that is no graph or no label.
    """
    readers: dict[str, Callable[[Path], Graph]] = {".graphml": read_graphml}
    readers |= dict.fromkeys((".edges", ".edgelist", ".txt"), read_edge_list)
    files = sorted((path for path in folder.iterdir() if path.suffix in readers), key=lambda path: _natural(path.name))
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
    if not (folder / LABELS).exists():
        if columns:
            refuse_columns(columns, f"there is no {LABELS} in {folder}")
        return RunData(graphs, tuple(names))
    return _with_labels(
        graphs, tuple(names), read_labels(folder / LABELS, tuple(names), columns or {}), folder / LABELS
    )


def _with_labels(graphs: tuple[Graph, ...], names: tuple[str, ...], rows: Sequence[Row], path: Path) -> RunData:
    """Graphs with the classes and the parts that the rows of a table give them, as far as it has such columns."""
    data = RunData(graphs, names)
    if "label" in rows[0][1]:
        labels, class_names, numbered = number_labels([row["label"] for _, row in rows], str(path))
        data = replace(data, labels=labels, class_names=class_names, numbered=numbered)
    if "part" in rows[0][1]:
        parts = tuple(part_named(row["part"], f"{path}, line {number}") for number, row in rows)
        data = replace(data, parts=parts)
    return data


def _read_typed(files: Sequence[Path], folder: Path, edge_types: str) -> tuple[Graph, ...]:
    """The graphs of GraphML files whose edges have types."""
    for path in files:
        if path.suffix != ".graphml":
            refuse_edge_types(edge_types, f"{path.name} is a list of edges, which carry nothing")
    sources = [_parse_graphml(path) for path in files]
    there = {str(name) for source in sources for *_, carries in source.edges(data=True) for name in carries}
    check_edge_types(edge_types, there, folder.name)
    parts = []
    for path, source in zip(files, sources, strict=True):
        try:
            parts.append(from_networkx(source, edge_types))
        except InvalidParameterError as error:
            raise StarcertError(f"{path}: {error}") from error
    return same_types(edge_types, parts, list(map(str, files)))


def read_graphml(path: Path) -> Graph:
    """The graph of a GraphML file: node ids are the names, attributes that all nodes carry are the node data."""
    source = _parse_graphml(path)
    try:
        return Graph.from_networkx(source)
    except InvalidParameterError as error:
        raise StarcertError(f"{path}: {error}") from error


def _parse_graphml(path: Path) -> Any:  # noqa: ANN401  (networkx carries no types)
    """The networkx graph of a GraphML file."""
    import networkx as nx  # noqa: PLC0415

    try:
        _check_graphml(path)
        graph = nx.read_graphml(path)
    except (ParseError, nx.NetworkXError, *_FOREIGN) as error:
        raise StarcertError(f"{path}: is no GraphML: {' '.join(str(error).split())}.") from error
    names = _names(graph)
    return nx.relabel_nodes(graph, names) if names is not None else graph


def _check_graphml(path: Path) -> None:
    """Refuses what networkx would pass over: further graphs, nodes declared twice, and edges to undeclared nodes."""
    elements: dict[str, list[Element]] = {"graph": [], "node": [], "edge": []}
    for element in ElementTree.parse(path).iter():
        kind = element.tag.rpartition("}")[2]  # its namespace stands before it
        if kind in elements:
            elements[kind].append(element)
    if len(elements["graph"]) > 1:
        count = len(elements["graph"])
        raise StarcertError(f"{path}: holds {count} graphs. Write each of them into a file of its own.")
    declared = [node.get("id") for node in elements["node"]]
    known = set(declared)
    if len(known) < len(declared):
        twice = next(name for name, count in Counter(declared).items() if count > 1)
        raise StarcertError(f"{path}: declares the node {twice!r} twice. Give every node an id of its own.")
    for edge in elements["edge"]:
        for end in ("source", "target"):
            if edge.get(end) not in known:
                pair = f"{edge.get('source')!r} and {edge.get('target')!r}"
                raise StarcertError(
                    f"{path}: has an edge between {pair}, but no node {edge.get(end)!r}. Declare the node, or take "
                    "the edge out."
                )


def read_edge_list(path: Path) -> Graph:
    """The graph of a text file with two names of nodes on a line; one name is a node, # begins a comment.

    Names are separated by blanks or a comma. A pair that is said twice is one edge.
    """
    index: dict[Hashable, int] = {}
    edges: set[tuple[int, int]] = set()
    for number, line in lines_of(path):
        names = line.replace(",", " ").split()
        if len(names) == 3 and names[2] in ("1", "1.0"):
            names.pop()
        if len(names) > 2:
            refuse_line(path, number, f"{line!r} is no pair of nodes; weights and other data of edges are not covered")
        if len(names) == 2 and names[0] == names[1]:
            refuse_line(path, number, f"{line!r} is a self-loop, which starcert's graphs do not have; take it out")
        ends = [index.setdefault(name, len(index)) for name in names]
        if len(ends) == 2:
            edges.add((min(ends), max(ends)))
    whole = _names(index)
    return Graph(len(index), sorted(edges), nodes=list(index if whole is None else whole.values()))


def read_labels(path: Path, names: tuple[str, ...], columns: Columns) -> list[Row]:
    """The row of each of these graphs, in their order: its label, and its part where `columns` names that column.

    The file has the columns `name` and `label`, or those that `columns` names. See `number_labels`. An empty label is
    a class that is not known.
    """
    found: dict[str, Row] = {}
    for number, row in read_table(path, columns, needed=("name", "label"), more=("part",)):
        name = row["name"] if row["name"] in names else Path(row["name"]).stem
        if name not in names:
            wanted = row["name"][:LONGEST]
            close = get_close_matches(wanted, names, n=1)
            refuse_line(path, number, f"no graph is called {wanted!r}" + (f"; {close[0]!r} is" if close else ""))
        if name in found:
            refuse_line(path, number, f"{name!r} has a label already")
        found[name] = number, row
    missing = [name for name in names if name not in found]
    if missing:
        raise StarcertError(
            f"{path}: has no line for {missing[0]!r}"
            + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            + ". Where a class is not known, leave the label empty."
        )
    return [found[name] for name in names]


def number_labels(labels: list[str], where: str = "labels") -> tuple[tuple[int | None, ...], tuple[str, ...], bool]:
    """Classes from labels as text, the names of the classes, and whether the labels are class numbers.

    Labels that are whole numbers from 0, not too far apart, are the numbers of the classes (1.0 is 1); others are
    numbered in their order. Numbers that are not all whole are measurements, and refused.

    Args:
        labels: the label of each graph or node; "" where the class is not known.
        where: where they stand, for a message.

    Example:
        >>> number_labels(["ring", "star", "", "ring"]), number_labels(["2", "0"])
        (((0, 1, None, 0), ('ring', 'star'), False), ((2, 0), ('0', '1', '2'), True))
        >>> number_labels(["0", "99999999999"]), number_labels(["2.0", "0.0"])
        (((0, 1), ('0', '99999999999'), False), ((2, 0), ('0', '1', '2'), True))
    """
    if all(re.fullmatch(r"(-?\d+(\.0*)?)?", label) for label in labels):
        labels = [label.partition(".")[0] for label in labels]
    texts = sorted({label for label in labels if label != UNKNOWN}, key=_natural)
    if all(map(_NUMBER.fullmatch, texts)):
        fractions = [text for text in texts if math.isfinite(number := float(text)) and number % 1]
        if fractions:
            raise StarcertError(
                f"{where}: {fractions[0]} is a measurement, not a class; there are {len(texts)} different numbers. "
                "Divide them into classes first, give them names, or choose another column of a table: "
                "--columns label=COLUMN."
            )
    whole = all(re.fullmatch(r"-?\d+", text) and len(text) <= LONGEST_NUMBER for text in texts)
    if texts and whole and min(map(int, texts)) == 0 and are_class_numbers(set(map(int, texts))):
        numbers = {text: int(text) for text in texts}
        class_names = tuple(map(str, range(max(numbers.values()) + 1)))
        return tuple(numbers.get(label) for label in labels), class_names, True
    if whole:
        texts.sort(key=int)
    numbers = {text: number for number, text in enumerate(texts)}
    return tuple(numbers.get(label) for label in labels), tuple(texts), False


def read_smiles(path: Path, columns: Columns | None = None, edge_types: str | None = None) -> RunData:
    """The molecules of a file, as RDKit reads them, hydrogens left out.

    A file `*.smi` has a SMILES string on each line, and after a blank the molecule's name, if it has one. A file
    `*.csv` names its columns: `smiles`, and `name` and `label` where there are such, or those that `columns` names.
    Elements become one-hot features `x`, a column for each element of the file in the order of the alphabet. Bonds have
    their orders for types where `edge_types` asks for them.
    """
    if edge_types is not None:
        check_edge_types(edge_types, (BOND,), path.name)
    if path.suffix == ".csv":
        rows = read_table(path, columns or {}, needed=("smiles",), more=("label", "name", "part"))
    elif columns:
        refuse_columns(columns, f"{path} has no line that names columns")
    else:
        rows = _listed_molecules(list(lines_of(path, comments=False)))
    if not rows:
        raise StarcertError(f"{path}: has no molecules. Write a SMILES string on each line, or a column `smiles`.")
    molecules = []
    for number, row in rows:
        try:
            molecules.append(Graph.from_smiles(row["smiles"]))
        except InvalidParameterError as error:
            raise StarcertError(f"{path}, line {number}: {error}") from error
    elements = sorted({symbol for molecule in molecules for symbol in _symbols(molecule)})
    typed = edge_types is not None
    graphs = tuple(Graph.from_smiles(row["smiles"], elements=elements, bond_types=typed) for _, row in rows)
    names = tuple(row.get("name") or row["smiles"] for _, row in rows)
    return _with_labels(graphs, names, rows, path)


def _listed_molecules(lines: list[tuple[int, str]]) -> list[Row]:
    rows = []
    for number, line in lines:
        smiles, _, name = line.strip().partition(" ") if "\t" not in line else line.strip().partition("\t")
        if smiles:
            rows.append((number, {"smiles": smiles, "name": name.strip()}))
    return rows


def _symbols(molecule: Graph) -> set[str]:
    from starcert.objects.molecules import load_rdkit  # noqa: PLC0415

    table = load_rdkit("Chem").GetPeriodicTable()
    numbers: list[int] = molecule.node_data["atomic_number"].tolist()  # type: ignore[attr-defined]
    return {table.GetElementSymbol(number) for number in numbers}


def _names(nodes: Iterable[Hashable]) -> dict[Hashable, int] | None:
    """Names of nodes that are all whole numbers, as numbers: regions that are given by ranges of nodes then fit."""
    listed = [str(node) for node in nodes]
    if not all(name.isdecimal() and len(name) <= LONGEST_NUMBER and str(int(name)) == name for name in listed):
        return None
    return {node: int(name) for node, name in zip(nodes, listed, strict=True)}


def _is_utf8(name: str) -> bool:
    """Whether UTF-8 can write a name. The name of a file can hold any bytes; those that are no text are surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts graph2 before graph10."""
    parts = re.split(r"(\d+)", name)
    return tuple((int(p), "") if p.isdecimal() and len(p) <= LONGEST_NUMBER else (-1, p) for p in parts)
