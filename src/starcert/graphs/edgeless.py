"""What a function of a graph gives without any edge: if it gives something, that cannot depend on edges.

To watch whether a function reads edges would leave ways past the watch. Here there are none to read: the function gets
a graph that has nodes and their data, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from starcert.graphs.frame import Frame
from starcert.graphs.graph import Graph

__all__ = ["EdgesAskedError", "without_edges"]

Value = TypeVar("Value")

_SHOWN = ("n_nodes", "nodes", "node_data")


class EdgesAskedError(Exception):
    """A function wants to know more of a graph than its nodes and their data."""


class _Edgeless(Graph):
    """The nodes of a graph and their data. It remembers being asked for anything else, caught or not."""

    def __getattribute__(self, name: str) -> object:
        if name in (*_SHOWN, "__class__"):
            return object.__getattribute__(self, name)
        object.__setattr__(self, "asked", True)
        raise EdgesAskedError(name)

    def __repr__(self) -> str:
        data = f", node data: {', '.join(self.node_data)}" if self.node_data else ""
        return f"Graph({self.n_nodes} nodes, edges not shown{data})"


def without_edges(function: Callable[[Graph], Value], frame: Frame) -> Value:
    """What a function of a graph gives where it needs no edges.

    Raises:
        EdgesAskedError: if the function asks for anything but the nodes and their data (edges, anchored data, the
            key, another format, a copy, …), or fails on a graph that has nothing else.

    Example:
        >>> frame = Frame.of(Graph(3, [(0, 1)]))
        >>> without_edges(lambda graph: graph.n_nodes, frame)
        3
        >>> without_edges(lambda graph: graph.n_edges, frame)
        Traceback (most recent call last):
        starcert.graphs.edgeless.EdgesAskedError: n_edges
    """
    bare = frame.with_edges(())  # with data of its own: a function that writes into them spoils nobody else's
    shown = object.__new__(_Edgeless)
    for name in _SHOWN:
        object.__setattr__(shown, name, getattr(bare, name))
    try:
        value = function(shown)
    except Exception as error:  # whatever it is: the function may have failed for want of edges
        raise EdgesAskedError(str(error)) from error
    if "asked" in object.__getattribute__(shown, "__dict__"):
        raise EdgesAskedError("more than the nodes and their data, and an error about it was caught")
    return value
