"""Graphs, the regions of their node pairs, and the sites that an attacker may flip."""

from starcert.graphs.frame import Frame
from starcert.graphs.graph import Graph
from starcert.graphs.partition import Partition
from starcert.graphs.sites import Sites

__all__ = ["Frame", "Graph", "Partition", "Sites"]
