"""Names and data of nodes, as a graph takes and shows them; nobody here looks into the data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import NoReturn

from starcert.objects.content import frozen_copy
from starcert.system.errors import InvalidParameterError

__all__ = ["NodeData", "data_of_nodes", "names_of_nodes"]


class NodeData(dict[str, object]):
    """Node data that say of a name they do not have where its data are."""

    def __init__(
        self, data: Mapping[str, object], anchored: Mapping[str, object], sites: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(data)
        self._anchored, self._sites = frozenset(anchored), frozenset(sites or ())

    def __missing__(self, name: object) -> NoReturn:
        if name in self._sites:
            raise KeyError(f"{name!r} may be changed by noise and attacks: it is in graph.node_sites")
        where = f"{name!r} tells of the graph's own edges: it is in graph.anchored_data"
        raise KeyError(where if name in self._anchored else name)


def names_of_nodes(nodes: Iterable[Hashable] | None, n_nodes: int) -> tuple[Hashable, ...]:
    """The names of the nodes, each once; their indices if none are given."""
    if nodes is None:
        return tuple(range(n_nodes))
    names = tuple(nodes)
    if len(names) != n_nodes:
        raise InvalidParameterError("nodes", f"be {n_nodes} names, one for each node", f"{len(names)} names")
    seen: set[Hashable] = set()
    for name in names:
        try:
            known = name in seen
        except TypeError:
            raise InvalidParameterError("nodes", "be hashable names", name) from None
        if known:
            raise InvalidParameterError("nodes", "name each node once", f"{name!r} twice")
        seen.add(name)
    return names


def data_of_nodes(data: object, n_nodes: int, parameter: str) -> dict[str, object]:
    """Copies of the data that nobody can write to, with an entry for each node."""
    if not isinstance(data, Mapping) or not all(isinstance(name, str) for name in data):
        raise InvalidParameterError(parameter, "map names of attributes to data", data)
    return {name: frozen_copy(values, n_nodes, f"{parameter}[{name}]") for name, values in data.items()}
