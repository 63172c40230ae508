"""The graphs of a run, from wherever they come: one type out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from starcert.errors import InvalidParameterError, StarcertError
from starcert.graphs import Graph
from starcert.graphs.content import digest

__all__ = ["RunData", "load"]

_FRACTIONS = (0.8, 0.1, 0.1)


@dataclass(frozen=True, eq=False)
class RunData:
    """Graphs with their names, and their classes as far as these are known.

    Attributes:
        graphs: the graphs.
        names: what each is called, for people.
        labels: the class of each, a number from 0 or None; None if no class is known.
        class_names: what the classes are called where the data come from; empty if that is not known.
        numbered: whether the labels are the class numbers of whoever made the data, rather than numbered here.

    Example:
        >>> data = RunData((Graph(2, [(0, 1)]), Graph(3, [])), ("pair", "dots"), (1, 0), ("apart", "joined"))
        >>> data.first(1).names, data.part("all", 0) is data
        (('pair',), True)
    """

    graphs: tuple[Graph, ...]
    names: tuple[str, ...]
    labels: tuple[int | None, ...] | None = None
    class_names: tuple[str, ...] = ()
    numbered: bool = False

    def __post_init__(self) -> None:
        counts = {len(self.graphs), len(self.names), len(self.graphs if self.labels is None else self.labels)}
        assert len(counts) == 1, counts

    def __len__(self) -> int:
        return len(self.graphs)

    @cached_property
    def digest(self) -> str:
        """A digest of what the graphs, their names and their classes are; where they lie plays no part."""
        return digest("data", [graph.key for graph in self.graphs], self.names, self.labels, self.class_names)

    def first(self, n: int | None) -> RunData:
        """The first n graphs; all of them for None."""
        return self if n is None or n >= len(self) else self.select(range(n))

    def part(self, name: str, seed: int) -> RunData:
        """A part of the data: "all", or "train", "validation" or "test" with 80%, 10% and 10% of every class."""
        if name == "all":
            return self
        if self.labels is None or None in self.labels:
            hint = 'Use split = "all", or put the graphs to certify into a folder of their own.'
            raise InvalidParameterError("split", "be all for data without classes", name, hint)
        from starcert.datasets.stratify import parts  # noqa: PLC0415

        found = parts(np.array(self.labels, dtype=np.int64), _FRACTIONS, seed)
        chosen = dict(zip(("train", "validation", "test"), found, strict=True))[name]
        if not len(chosen):
            raise StarcertError(f'The {name} part of {len(self)} graphs is empty. Use split = "all".')
        return self.select(sorted(chosen.tolist()))

    def select(self, which: Sequence[int]) -> RunData:
        """The graphs at these places."""
        return replace(
            self,
            graphs=tuple(self.graphs[i] for i in which),
            names=tuple(self.names[i] for i in which),
            labels=None if self.labels is None else tuple(self.labels[i] for i in which),
        )


def load(source: Path | str) -> RunData:
    """The graphs of a TU data set, of a folder of GraphML files or edge lists, or of a PyG file of tensors.

    Args:
        source: a file or a folder, or the name of a TU data set.
    """
    if isinstance(source, str):
        return _tu(source, None)
    if source.is_file():
        if source.suffix == ".py":
            hint = "Give --model file.py:function and --data separately."
            raise InvalidParameterError("data", "be graphs, not code", str(source), hint)
        if source.suffix in (".smi", ".smiles"):
            from starcert.runs.smiles import read_smiles  # noqa: PLC0415  (RDKit: only for molecules)

            return read_smiles(source)
        from starcert.runs.tensors import read_tensors  # noqa: PLC0415  (torch: only for its files)

        return read_tensors(source)
    raw = _raw_files(source)
    if raw is not None:
        return _tu(raw[0], raw[1])
    from starcert.runs.folder import read_folder  # noqa: PLC0415  (networkx: only for its files)

    return read_folder(source)


def _raw_files(folder: Path) -> tuple[str, Path] | None:
    """The name of the TU data set in a folder, and the folder of its raw files."""
    for place in (folder, folder / "raw", folder / folder.name / "raw", folder / folder.name):
        names = sorted(path.name.removesuffix("_A.txt") for path in place.glob("*_A.txt"))
        if len(names) > 1:
            hint = "Give the folder of one of them."
            raise InvalidParameterError("data", "be the folder of one data set", f"{place} with {names}", hint)
        if names and re.fullmatch(r"\w[\w.+-]*", names[0]):
            return names[0], place
    return None


def _tu(name: str, root: Path | None) -> RunData:
    from starcert.datasets import tu  # noqa: PLC0415

    found = tu(name, root=root)
    digits = len(str(len(found)))
    names = tuple(f"{name} {number:0{digits}d}" for number in range(1, len(found) + 1))
    return RunData(found.graphs, names, tuple(found.labels.tolist()), tuple(map(str, found.label_names)))
