"""The features of nodes as a module is given them: those that all copies share, brought to its device once a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from starcert.classifiers.features import (
    CATEGORIES,
    Source,
    features_of_copies,
    features_of_nodes,
    name_of,
    side_by_side,
)
from starcert.classifiers.sparse_features import SparseFeatures, sparse_rows

if TYPE_CHECKING:
    from starcert.objects import NodeFrame
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["NodeInputs"]

SPARSE_ROW = 1024
"""Bytes that a node of a copy may take where features are sparse: some eighty entries."""


class NodeInputs:
    """The features of nodes.

    Args:
        sources: what they come from, side by side.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._kept: tuple[str, list[torch.Tensor | None]] | None = None

    def rows(self, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """The features of all nodes of all copies, a row each."""
        source = self._sources[0]
        if isinstance(source, SparseFeatures):
            return sparse_rows(source, graphs, dtype, device)
        x, of_copies = self.of(graphs, dtype, device)
        return x.flatten(0, 1) if of_copies else x.repeat(len(graphs), *[1] * (x.dim() - 1))

    def of(self, graphs: NoisyGraphs, dtype: torch.dtype, device: torch.device) -> tuple[torch.Tensor, bool]:
        """The features of the nodes, and whether each copy has its own, shape (copies, nodes, …), or all share them."""
        shared = self._shared(graphs.frame, dtype, device)
        if len(shared) == 1 and shared[0] is not None:
            return shared[0], False
        parts = [
            features_of_copies(source, graphs, dtype, device) if x is None else x.expand(len(graphs), *x.shape)
            for source, x in zip(self._sources, shared, strict=True)
        ]
        return _ready(side_by_side(parts, of_copies=True), dtype, device), True

    def bytes_of(self, frame: NodeFrame, dtype: torch.dtype, device: torch.device, *, repeated: bool) -> int:
        """What the features of one copy take, where that can be told without asking for them."""
        if isinstance(self._sources[0], SparseFeatures):
            return SPARSE_ROW * frame.n_nodes
        shared = self._shared(frame, dtype, device)
        known = sum(x.nbytes for x in shared if x is not None) if repeated else 0
        sites = [frame.node_sites[name] for name in map(name_of, self._sources) if name in frame.node_sites]
        return known + sum(8 * each.values.size * (each.alphabet if each.one_hot else 1) for each in sites)

    def _shared(self, frame: NodeFrame, dtype: torch.dtype, device: torch.device) -> list[torch.Tensor | None]:
        """The features that noise does not touch; None for those of the copy."""
        kept = self._kept  # read once: another thread may put another graph's there
        if kept is None or kept[0] != frame.key:
            with torch.inference_mode(False):  # whoever trains next needs them as plain tensors
                shared = [features_of_nodes(source, frame) for source in self._sources]
                known = [x for x in shared if x is not None]
                whole = [side_by_side(known, of_copies=False)] if len(known) == len(shared) else shared
                kept = self._kept = (frame.key, [x if x is None else _ready(x, dtype, device) for x in whole])
        return kept[1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": None}


def _ready(x: torch.Tensor, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return x.to(device, x.dtype if x.dtype in CATEGORIES else dtype)
