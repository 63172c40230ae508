"""The graphs of a run: one type, wherever they come from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from starcert.errors import InvalidParameterError, StarcertError
from starcert.graphs import Graph
from starcert.graphs.content import digest

__all__ = ["RunData", "are_class_numbers"]

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
        graphs: the graphs.
        names: what each is called, for people.
        labels: the class of each, a number from 0 or None; None if no class is known.
        class_names: what the classes are called where the data come from; empty if that is not known.
        numbered: whether the labels are the class numbers of whoever made the data, rather than numbered here.

    Example:
        >>> data = RunData((Graph(2, [(0, 1)]), Graph(3, [])), ("pair", "dots"), (1, 0), ("apart", "joined"))
        >>> data.first(1).names, data.part("all", 0) is data
        (('pair',), True)
        >>> [(graph.n_nodes, label) for graph, label in data]
        [(2, 1), (3, 0)]
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

    def __iter__(self) -> Iterator[tuple[Graph, int | None]]:
        return zip(self.graphs, self.labels or (None,) * len(self), strict=True)

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
        from starcert.datasets.dataset import stratified_parts  # noqa: PLC0415

        found = stratified_parts(np.array(self.labels, dtype=np.int64), _FRACTIONS, seed)
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
