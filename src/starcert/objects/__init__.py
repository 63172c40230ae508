"""Graphs and plain vectors, their regions, and the sites that an attacker may flip."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starcert.objects.cells import TableRow, Tokens
    from starcert.objects.graph import Graph, NodeFrame
    from starcert.objects.graph_kind import GraphKind
    from starcert.objects.kinds import Kind
    from starcert.objects.layers import CleanObject, Layer, Numbered, Region
    from starcert.objects.partition import Partition
    from starcert.objects.sites import Sites, TargetNodes
    from starcert.objects.vectors import Bits, Categories, Vector

_PLACES = {
    "cells": ("TableRow", "Tokens"),
    "graph": ("Graph", "NodeFrame"),
    "graph_kind": ("GraphKind",),
    "kinds": ("Kind",),
    "layers": ("CleanObject", "Layer", "Numbered", "Region"),
    "partition": ("Partition",),
    "sites": ("Sites", "TargetNodes"),
    "vectors": ("Bits", "Categories", "Vector"),
}
_PLACE_OF = {name: place for place, names in _PLACES.items() for name in names}

__all__ = ["Bits", "Categories", "CleanObject", "Graph", "GraphKind", "Kind", "Layer", "NodeFrame", "Numbered",
           "Partition", "Region", "Sites", "TableRow", "TargetNodes", "Tokens", "Vector"]  # fmt: skip


def __getattr__(name: str) -> object:
    """Looks a name up where it is defined: noise alone, which proofs need, takes no graphs."""
    if name not in _PLACE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACE_OF[name]}"), name)
