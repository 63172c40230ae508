"""What a PyTorch module returns, as logits of targets: of each copy, or of some nodes of each copy.

Two or more columns answer the class of the largest, be they logits or probabilities. One column tells two classes
apart, and there it matters what it is: a logit is class 1 above 0, a probability above 1/2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch

from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.objects import NodeFrame

__all__ = [
    "Nodes",
    "Outputs",
    "Targets",
    "checked_outputs",
    "checked_targets",
    "columns_of_classes",
    "logits_in",
    "logits_of",
    "nodes_of",
]

Targets: TypeAlias = Literal["graph", "nodes"]
Nodes: TypeAlias = "str | npt.ArrayLike | None"
Outputs: TypeAlias = Literal["logit", "probability"] | None
"""What the one output of a module is; None: taken for a logit unless it looks like a probability."""


def logits_in(returned: Any, output: str | int | None) -> torch.Tensor:  # noqa: ANN401  (whatever a module returns)
    """The logits in what a module returned: all of it, or one entry of several.

    Example:
        >>> logits_in({"logits": torch.zeros(2, 3), "hidden": torch.zeros(2, 64)}, "logits").shape
        torch.Size([2, 3])
    """
    if isinstance(returned, torch.Tensor):
        if output is None:
            return returned
        raise ValueError(f"it gave one tensor, and none has the name {output!r}: leave output={output!r} out")
    entries: dict[Any, Any] = {}
    if isinstance(returned, Mapping | tuple | list):
        entries = dict(returned if isinstance(returned, Mapping) else enumerate(returned))
    found = entries.get(output)
    if isinstance(found, torch.Tensor):
        return found
    tensors = [name for name, value in entries.items() if isinstance(value, torch.Tensor)]
    if not tensors:
        raise ValueError(f"it gave no tensor of logits, but {type(returned).__name__}")
    shown = ", ".join(f"{name!r} {tuple(entries[name].shape)}" for name in tensors)
    raise ValueError(f"it gave a {type(returned).__name__} of {shown}: say which the logits are, output={tensors[0]!r}")


def logits_of(returned: torch.Tensor, n_copies: int, n_classes: int, *, n_nodes: int, of_nodes: bool) -> torch.Tensor:
    """The logits of each copy, shape (copies, columns), or of each of its nodes, shape (copies, nodes, columns).

    There is a column for each class, or a single one that tells two classes apart (`columns_of_classes`). The module
    returned a row for each copy; or, `of_nodes`, a row for each node of each copy, copy after copy.

    Example:
        >>> logits_of(torch.tensor([0.5, -0.5]), 2, 2, n_nodes=7, of_nodes=False)
        tensor([[ 0.5000],
                [-0.5000]])
    """
    all_nodes = n_copies * n_nodes
    rows, other_rows = (all_nodes, n_copies) if of_nodes else (n_copies, all_nodes)
    found = returned.flatten(0, 1) if of_nodes and returned.shape[:2] == (n_copies, n_nodes) else returned
    if n_classes == 2 and found.shape in ((rows,), (rows, 1)):
        found = found.reshape(rows, 1)
    elif found.shape != (rows, n_classes):
        what = f"{n_nodes} nodes in each of {n_copies} copies" if of_nodes else f"{n_copies} graphs"
        hint = _hint(found, rows, other_rows, of_nodes=of_nodes)
        raise ValueError(f"it gave logits of shape {tuple(returned.shape)} for {what} and {n_classes} classes{hint}")
    return found.view(n_copies, n_nodes, -1) if of_nodes else found


def _hint(found: torch.Tensor, rows: int, other_rows: int, *, of_nodes: bool) -> str:
    """What would fit, if logits of another shape have an obvious cause."""
    columns = found.shape[1] if found.dim() == 2 else 1 if found.dim() == 1 else 0
    if not columns or found.shape[0] not in (rows, other_rows):
        return ""
    if found.shape[0] == rows:
        return f": set n_classes={max(2, columns)}, or let it have a column for each class"
    if of_nodes:
        return ": it answers the whole graph. Leave targets='nodes' out, or let it answer every node"
    return ": it answers every node. Let it pool over the nodes of a graph, or say targets='nodes'"


def columns_of_classes(found: torch.Tensor, outputs: Outputs) -> torch.Tensor:
    """A column for each class, the largest of which is the answer.

    A single output is class 1 where it is above 0, or above 1/2 if it is a probability. A number outside [0, 1], which
    is no probability, becomes NaN.

    Example:
        >>> columns_of_classes(torch.tensor([[0.25], [-3.0]]), None)
        tensor([[ 0.0000,  0.2500],
                [ 0.0000, -3.0000]])
        >>> columns_of_classes(torch.tensor([[0.25], [-3.0]]), "probability")
        tensor([[0.7500, 0.2500],
                [   nan,    nan]])
    """
    if found.shape[-1] > 1:
        return found
    if outputs != "probability":
        return torch.cat([torch.zeros_like(found), found], dim=-1)
    possible = found.where((found >= 0) & (found <= 1), torch.nan)
    return torch.cat([1 - possible, possible], dim=-1)


def checked_outputs(outputs: Outputs, n_classes: int) -> Outputs:
    """What the one output of a module is, checked."""
    if outputs not in (None, "logit", "probability"):
        raise InvalidParameterError("outputs", "be 'logit' or 'probability'", outputs)
    if outputs is not None and n_classes != 2:
        hint = "Several columns answer the class of the largest, be they logits or probabilities."
        raise InvalidParameterError("outputs", f"be left out where there are {n_classes} classes", outputs, hint)
    return outputs


def checked_targets(targets: object, nodes: Any) -> Nodes:  # noqa: ANN401  (whatever a user may give)
    """The nodes that are targets, checked: a name, an array of indices or of truth values, or None for all."""
    if targets not in ("graph", "nodes"):
        raise InvalidParameterError("targets", "be 'graph' or 'nodes'", targets)
    if targets == "graph" and nodes is not None:
        raise InvalidParameterError("nodes", "be left out where the graph is classified", nodes, "Say targets='nodes'.")
    if nodes is None or isinstance(nodes, str):
        return nodes
    array = np.asarray(nodes)
    if array.ndim != 1 or array.dtype.kind not in "biu" or not array.size:
        requirement = "be node indices, a truth value for each node, or the name of node data that is one"
        raise InvalidParameterError("nodes", requirement, nodes)
    if array.dtype.kind != "b" and (array.min() < 0 or len(np.unique(array)) < len(array)):
        raise InvalidParameterError("nodes", "be node indices, 0 or more, each once", nodes)
    return array.copy()


def nodes_of(nodes: Nodes, frame: NodeFrame) -> npt.NDArray[np.int64]:
    """The indices of the nodes that are targets.

    Example:
        >>> from starcert.objects import Graph
        >>> nodes_of("test_mask", Graph(3, [(0, 1)], node_data={"test_mask": [0, 1, 1]}).frame)
        array([1, 2])
    """
    if nodes is None:
        return np.arange(frame.n_nodes)
    named = isinstance(nodes, str)
    what = f"the node data {nodes!r}" if named else "nodes"
    if named and nodes not in frame.node_data:
        raise ValueError(f"the graph has no node data {nodes!r} to say which nodes; it has {list(frame.node_data)}")
    array = np.asarray(frame.node_data[nodes] if named else nodes)  # type: ignore[index]
    if not named and array.dtype.kind != "b":
        if array.max() >= frame.n_nodes:
            raise ValueError(f"nodes names the node {array.max()}, and the graph has {frame.n_nodes}, from 0 on")
        return array.astype(np.int64)
    if array.shape != (frame.n_nodes,) or array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise ValueError(f"{what} must be one 0 or 1 for each of the {frame.n_nodes} nodes; it is of {array.shape}")
    if not array.any():
        raise ValueError(f"{what} names no node: there is nothing to classify")
    return np.flatnonzero(array)
