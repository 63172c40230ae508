"""Labelled graphs to train and certify on.

The paper's motif data, directed graphs that direction alone tells apart, TU data sets, large graphs of labelled nodes.

The functions are imported here at once: a module of the same name would stand in their place otherwise, as soon as
somebody imports it. What is heavy they import themselves, when they need it.
"""

from starcert.datasets.arcs import arcs
from starcert.datasets.dataset import Dataset, NodeDataset, Split
from starcert.datasets.motif import motif
from starcert.datasets.npz_files import npz
from starcert.datasets.tu_files import tu

__all__ = ["Dataset", "NodeDataset", "Split", "arcs", "motif", "npz", "tu"]


def __dir__() -> list[str]:
    return sorted(__all__)
