"""Node data of a run's graphs that become sites, and what else would give them away."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from starcert.datasets import Dataset
from starcert.objects import Graph
from starcert.objects.columns import in_order
from starcert.objects.content import as_array, copies_of
from starcert.objects.molecules import element_symbols
from starcert.system.errors import InvalidParameterError, StarcertError, StarcertWarning, did_you_mean
from starcert.system.output import note


def with_node_sites(data: Dataset, forms: Mapping[str, str]) -> Dataset:
    """The data with these node data as sites, bits or categories; copies of them become anchored in every graph.

    Categories are one-hot rows, or the values that occur in any graph.
    """
    graphs: Sequence[Any] = data.graphs
    if not all(isinstance(graph, Graph) for graph in graphs):
        raise InvalidParameterError("node_sites", "needs graphs. Columns of rows are sites without it.")
    for name, form in forms.items():
        _check(data, name)
        values = None if form == "bits" else _values(graphs, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StarcertWarning)  # what says the same is taken care of below
            made = []
            for called, graph in zip(data.names or map(str, range(len(graphs))), graphs, strict=True):
                try:
                    made.append(graph.with_bits(name) if form == "bits" else graph.with_categories(name, values))
                except InvalidParameterError as error:
                    raise StarcertError(f"node_sites.{name}, graph {called!r}: {error}") from None
        copies = {copy for graph in made for copy in copies_of(graph.node_sites[name], graph.node_data)}
        for copy in sorted(copies):  # where one graph shows it, all have it
            made = [graph.with_anchored(copy) if copy in graph.node_data else graph for graph in made]
            note(f"{copy} says the same as {name}, which is attacked: it is kept for regions, no model sees it.")
        graphs = made
    return replace(data, graphs=tuple(graphs))


def _check(data: Dataset, name: str) -> None:
    for place, graph in enumerate(data.graphs):
        if name not in graph.node_data:
            called = data.names[place] if data.names else place
            hint = did_you_mean(name, graph.node_data, f"There are {', '.join(graph.node_data) or 'none'}.")
            raise InvalidParameterError("node_sites", f"name node data of every graph, {called!r} too", name, hint)


def _values(graphs: Sequence[Graph], name: str) -> list[Any] | None:
    """All values of a datum in any graph; of one-hot rows the elements that they stand for, None where they do not."""
    arrays = [as_array(graph.node_data[name]) for graph in graphs]
    if all(array is not None and array.ndim == 2 for array in arrays):
        return _elements(graphs, name)
    return in_order(value for array in arrays if array is not None for value in array.reshape(-1).tolist())


def _elements(graphs: Sequence[Graph], name: str) -> list[str] | None:
    """The element of each column of one-hot rows, where every column is one of its own."""
    found: dict[int, set[str]] = {}
    for graph in graphs:
        symbols = element_symbols(graph.node_data, {})
        if symbols is None:
            return None
        for column, symbol in zip(np.asarray(graph.node_data[name]).argmax(axis=1).tolist(), symbols, strict=True):
            found.setdefault(column, set()).add(symbol)
    width = np.asarray(graphs[0].node_data[name]).shape[1]
    names = [symbol for column in range(width) for symbol in found.get(column, ())]
    return names if len(found) == len(names) == len(set(names)) == width else None
