"""Graphs and plain vectors, their regions, and the sites that an attacker may flip."""

from starcert.objects.graph import Frame, Graph
from starcert.objects.layers import CleanObject, Layer, Numbered, Region
from starcert.objects.partition import Partition
from starcert.objects.sites import Sites
from starcert.objects.target_nodes import TargetNodes
from starcert.objects.vectors import Bits, Categories, Vector

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
