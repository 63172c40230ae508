"""Graphs and plain vectors, their regions, and the sites that an attacker may flip."""

from starcert.graphs.graph import Frame, Graph
from starcert.graphs.layers import CleanObject, Layer, Numbered, Region
from starcert.graphs.partition import Partition
from starcert.graphs.sites import Sites
from starcert.graphs.target_nodes import TargetNodes
from starcert.graphs.vectors import Bits, Categories, Vector

__all__ = [
    "Bits",
    "Categories",
    "CleanObject",
    "Frame",
    "Graph",
    "Layer",
    "Numbered",
    "Partition",
    "Region",
    "Sites",
    "TargetNodes",
    "Vector",
]
