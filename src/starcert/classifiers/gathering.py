"""Copies of several graphs as one batch: what a module is given of each, one after the other.

On a device a module that is asked about few copies spends its time on beginning. Copies of several graphs are one
block-diagonal batch like any other: the nodes of each are numbered on from those before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

__all__ = ["gathered"]


def gathered(
    inputs: Sequence[Mapping[str, Tensor | None]], blocks: Sequence[tuple[int, int]]
) -> dict[str, Tensor | None]:
    """What a module is given of all copies of several graphs.

    Args:
        inputs: what it is given of each graph, by the names of `starcert.classifiers.calling`.
        blocks: how many copies of each graph there are, and how many nodes each has.
    """
    found: dict[str, Tensor | None] = {}
    for name in inputs[0]:
        parts, first_node, first_copy = [], 0, 0
        for given, (n_copies, n_nodes) in zip(inputs, blocks, strict=True):
            part = given[name]
            if part is None:
                break
            before = {"edge_index": first_node, "batch": first_copy}.get(name, 0)
            parts.append(part + before if before else part)
            first_node, first_copy = first_node + n_copies * n_nodes, first_copy + n_copies
        whole = len(parts) == len(inputs)
        if parts and not whole:
            raise ValueError(f"some graphs have {name}, and others have none")
        found[name] = torch.cat(parts, dim=1 if name == "edge_index" else 0) if whole else None
    return found
