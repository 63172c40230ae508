"""PyTorch modules as base classifiers: `from_pyg` and `from_dense` on graphs, `from_torch` on rows.

A noisy batch becomes the inputs of a module (`inputs`), which are handed over by the names of its parameters
(`calling`). The forward pass runs in portions that fit (`module`, `graphs`), in which layers of exactly known classes
receive a sparse matrix in place of `edge_index` (`layers`); its result becomes answers.
"""

from starcert.classifiers.torch.graphs import TorchClassifier, from_dense, from_pyg
from starcert.classifiers.torch.module import ModuleClassifier, TorchRowClassifier, from_torch

__all__ = ["ModuleClassifier", "TorchClassifier", "TorchRowClassifier", "from_dense", "from_pyg", "from_torch"]
