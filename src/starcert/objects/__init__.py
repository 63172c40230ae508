"""Graphs and plain vectors, their regions, and the sites that an attacker may flip."""

from starcert.objects.graph import Graph, NodeFrame
from starcert.objects.graph_kind import GraphKind
from starcert.objects.kinds import Kind
from starcert.objects.layers import CleanObject, Layer, Numbered, Region
from starcert.objects.partition import Partition
from starcert.objects.sites import Sites, TargetNodes
from starcert.objects.vectors import Bits, Categories, Vector

__all__ = ["Bits", "Categories", "CleanObject", "Graph", "GraphKind", "Kind", "Layer", "NodeFrame", "Numbered",
           "Partition", "Region", "Sites", "TargetNodes", "Vector"]  # fmt: skip
