"""Labelled graphs to train and certify on.

The paper's motif data, directed graphs that only direction distinguishes, TU data sets, large graphs of labelled nodes.
"""

from starcert.datasets.dataset import Dataset
from starcert.datasets.npz_files import npz
from starcert.datasets.synthetic import arcs, motif
from starcert.datasets.tu_files import tu

__all__ = ["Dataset", "arcs", "motif", "npz", "tu"]


def __dir__() -> list[str]:
    return sorted(__all__)
