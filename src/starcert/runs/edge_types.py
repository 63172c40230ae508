"""The setting `edge_types`: which attribute of edges is their type, and the same types for all graphs of a data set.

Types are what a noise of edges changes, and what a module gets as `edge_attr`, a column for each. A column must mean
the same in every graph, so the types of a graph are all that occur in the data set, in one order.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, NoReturn

from starcert.objects import Graph
from starcert.objects.content import MAX_TYPES
from starcert.objects.convert import Parts
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean

__all__ = ["BOND", "EDGE_LABELS", "HOW_TO_SAY", "check_edge_types", "refuse_edge_types", "same_types"]

BOND = "bond"
"""What the type of an edge is called in molecules."""

EDGE_LABELS = "edge_labels"
"""What it is called in the TU collection."""

HOW_TO_SAY = (
    f"In a run, write --edge-types {BOND} for molecules, --edge-types {EDGE_LABELS} for TU data, otherwise the name of "
    "the edge attribute, such as --edge-types edge_attr."
)
"""The next step of who has edges without types, and wants some."""


def check_edge_types(name: str, there: Collection[str], where: object) -> None:
    """Refuses a name that no edge of the data has; the message lists those that there are."""
    if name in there:
        return
    if not there:
        refuse_edge_types(name, f"the edges of {where} carry nothing")
    must = f"name what the edges of {where} carry, {', '.join(sorted(there))}"
    raise InvalidParameterError("edge_types", must, name, did_you_mean(name, there))


def refuse_edge_types(name: str, reason: str) -> NoReturn:
    """Refuses the setting for data that have no use for it."""
    raise InvalidParameterError("edge_types", f"be left out: {reason}", name)


def same_types(name: str, parts: Sequence[Parts], where: Sequence[str]) -> tuple[Graph, ...]:
    """The graphs of a data set, each with all types that occur in any of them.

    Args:
        name: the attribute that is the type.
        parts: what the graphs are made of, with their own types.
        where: what a message calls each of them.

    Example:
        >>> import numpy as np
        >>> pair = np.array([[0, 1]])
        >>> parts = [Parts(2, pair, edge_types=[kind]) for kind in ("b", "a")]
        >>> graphs = same_types("kind", parts, ["first", "second"])
        >>> [graph.type_names for graph in graphs], graphs[0].edge_types.tolist()
        ([('a', 'b'), ('a', 'b')], [2])
    """
    names = _all_types(name, parts, where)
    graphs = []
    for place, each in zip(where, parts, strict=True):
        try:
            graphs.append(Graph(**each._replace(type_names=names)._asdict()))
        except InvalidParameterError as error:
            raise StarcertError(f"{place}: {error}") from error
    return tuple(graphs)


def _all_types(name: str, parts: Sequence[Parts], where: Sequence[str]) -> tuple[Hashable, ...]:
    """The columns of one-hot rows, which must be as many in every graph; else all values that occur, sorted."""
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
