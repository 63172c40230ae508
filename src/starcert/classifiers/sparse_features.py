"""Features of nodes that are mostly 0, handed to a module as a sparse matrix: cost by entries, not by columns.

Words of papers, say: 2,810 nodes with 2,879 columns, of which one in sixty is 1. A module whose first layer is linear
(`torch.nn.Linear`, a graph convolution of PyG's) takes such a matrix as it is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.objects import Graph
    from starcert.sampling.batch import NodeOnes, NoisyGraphs

__all__ = ["SparseFeatures", "sparse", "sparse_rows"]


@dataclass(frozen=True)
class SparseFeatures:
    """Node data of zeros and ones as a sparse matrix."""

    name: str

    def __call__(self, graph: Graph) -> npt.NDArray[np.generic]:
        """The features of a graph's nodes, shape (nodes, columns), written out."""
        return np.asarray(graph.node_data[self.name])


def sparse(name: str) -> SparseFeatures:
    """Node data of zeros and ones as a sparse matrix (`torch.sparse_csr`) with a row for each node of each copy.

    It is the whole of x: nothing stands beside it.

    Args:
        name: the node data. Where they are sites, each copy shows them as noise left them.

    Example:
        >>> sparse("x")
        SparseFeatures(name='x')
    """
    if not isinstance(name, str):
        raise InvalidParameterError("name", "be the name of node data", name)
    return SparseFeatures(name)


def sparse_rows(source: SparseFeatures, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """The features of all copies, shape (copies · nodes, columns)."""
    frame = graphs.frame
    if source.name in frame.node_sites:
        return _matrix(graphs.node_ones(source.name), dtype, device)
    if source.name not in frame.node_data:
        known = sorted({*frame.node_data, *frame.node_sites}) or "none"
        raise ValueError(f"the graph has no node data {source.name!r}; it has {known}")
    data = np.asarray(frame.node_data[source.name])
    if data.ndim != 2 or not np.isin(data, (0, 1)).all():
        raise ValueError(f"the node data {source.name!r} must be rows of zeros and ones to be sparse features")
    return _matrix(_repeated(data, len(graphs)), dtype, device)


def _repeated(data: npt.NDArray[np.generic], times: int) -> NodeOnes:
    from starcert.sampling.batch import NodeOnes  # noqa: PLC0415  (voting has it loaded already)

    rows, columns = np.nonzero(data)
    starts = np.searchsorted(rows, np.arange(len(data) + 1))
    shifted = (starts[:-1] + np.arange(times)[:, None] * len(rows)).reshape(-1)
    return NodeOnes(np.append(shifted, times * len(rows)), np.tile(columns, times), data.shape[1])


def _matrix(ones: NodeOnes, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    index = torch.int32 if len(ones.columns) < 2**31 else torch.int64
    starts, columns = (torch.from_numpy(each).to(device, index) for each in (ones.starts, ones.columns))
    values = torch.ones(len(columns), dtype=dtype, device=device)
    with warnings.catch_warnings():  # torch says of its sparse matrices that they are new
        warnings.simplefilter("ignore", UserWarning)
        return torch.sparse_csr_tensor(
            starts, columns, values, (len(starts) - 1, ones.n_columns), check_invariants=False
        )
