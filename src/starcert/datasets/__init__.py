"""Labelled graphs to train and certify on.

The paper's motif data, directed graphs that only direction distinguishes, TU data sets, large graphs of labelled nodes.
Files of graphs, molecules, tensors and tables are read here for runs, and divided into parts.
"""

from starcert.datasets.dataset import Dataset
from starcert.datasets.npz_files import npz
from starcert.datasets.synthetic import arcs, motif
from starcert.datasets.tu_files import tu

__all__ = ["Dataset", "arcs", "motif", "npz", "tu"]


def __dir__() -> list[str]:
    return sorted(__all__)
