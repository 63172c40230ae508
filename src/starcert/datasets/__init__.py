"""Labelled graphs to train and certify on: the paper's motif data and the TU data sets.

The functions are imported here at once: a module of the same name would stand in their place otherwise, as soon as
somebody imports it. What is heavy they import themselves, when they need it.
"""

from starcert.datasets.dataset import Dataset, Split
from starcert.datasets.motif import motif
from starcert.datasets.tu_files import tu

__all__ = ["Dataset", "Split", "motif", "tu"]
