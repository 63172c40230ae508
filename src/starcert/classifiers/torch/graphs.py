"""Modules on graphs as base classifiers: PyG's, on `edge_index`, and those on dense adjacency, on any device."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.parameter import is_lazy
from typing_extensions import override

from starcert.classifiers.base import Scores
from starcert.classifiers.features import Features, SparseFeatures, sources_of
from starcert.classifiers.functions import nodes_of
from starcert.classifiers.identity import global_hooks
from starcert.classifiers.torch.calling import (
    ON_MATRICES,
    Arguments,
    Nodes,
    Outputs,
    Targets,
    calling_of,
    checked_targets,
    columns_of_classes,
    logits_in,
    logits_of,
)
from starcert.classifiers.torch.inputs import (
    EdgeFeatures,
    NodeInputs,
    edge_attr_of,
    edge_sources_of,
    edge_weight_of,
    join_inputs,
)
from starcert.classifiers.torch.layers import DrawnEdges, with_stand_ins
from starcert.classifiers.torch.module import ModuleClassifier, is_out_of_memory
from starcert.objects import NodeFrame
from starcert.sampling.batch import NoisyGraphs
from starcert.system.errors import InvalidParameterError

Inputs: TypeAlias = dict[str, torch.Tensor | None]

LAYER_WIDTH = 64  # numbers that a layer holds for a node, where the model is not known

CACHED_NODES = 2**12
"""Nodes of a portion of a batch on a CPU: what a layer of some 32 units holds for them stays in the cache of a core."""

MAX_BATCH_NODES, NODE_BYTES = 2**21, 2**14
"""On a device, copies of several graphs with up to this many nodes are one batch, given this much memory for each node.

Measured with 10,000 votes a graph: proteins take a third less time, molecules a fifth.
"""

MESSAGES = 2
"""Numbers that a layer holds at once along an edge, for each column: what it gathers, and what it makes of it."""


class TorchClassifier(ModuleClassifier):
    """A module on graphs. See `from_pyg` and `from_dense`."""

    def __init__(
        self,
        model: torch.nn.Module,
        n_classes: int | None,
        *,
        dense: bool,
        features: Features,
        arguments: Arguments = None,
        output: str | int | None = None,
        targets: Targets = "graph",
        nodes: Nodes = None,
        edge_features: EdgeFeatures = None,
        edge_weight: str | None = None,
        **options: Any,  # noqa: ANN401  (those of `ModuleClassifier`)
    ) -> None:
        super().__init__(model, n_classes, **options)
        self.dense, self.features, self.output, self.edge_weight = dense, features, output, edge_weight
        self.targets, self.nodes = targets, checked_targets(targets, nodes)
        self._calling = ON_MATRICES if dense else calling_of(model, arguments, of_graphs=targets == "graph")
        self._edge_sources = edge_sources_of(edge_features)
        self._settings = arguments, output, targets, self.nodes, self._edge_sources, edge_weight, self.outputs
        sources = sources_of(features)
        if any(isinstance(source, SparseFeatures) for source in sources) and (dense or len(sources) > 1):
            hint = "Side by side, and for modules on dense adjacency, give the name of the node data."
            raise InvalidParameterError("features", "be sparse(name) alone, for a module on edge_index", features, hint)
        self._nodes = NodeInputs(sources)
        self._as_written = dense

    @override
    def _content(self) -> tuple[object, ...]:
        return self.model, self.dense, self.features, self._settings

    @override
    def n_targets(self, frame: NodeFrame) -> int | None:
        return None if self.targets == "graph" else len(nodes_of(self.nodes, frame))

    @override
    def target_nodes(self, frame: NodeFrame) -> npt.NDArray[np.int64] | None:
        return None if self.targets == "graph" else nodes_of(self.nodes, frame)

    @override
    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        if self.dense:  # a matrix of bytes and one of floats
            return 5 * n_nodes**2
        # For both directions of an edge its two nodes and the messages of the widest layer, which has at least as many
        # columns as a bias, or the shorter side of a matrix.
        known = (each for each in self.model.parameters() if not is_lazy(each))
        width = max((min(each.shape) for each in known if each.dim()), default=1)
        message = MESSAGES * self._dtype.itemsize * width
        return (32 + 2 * message) * n_edges + (8 + message) * n_nodes

    @override
    def _numbers(self, frame: NodeFrame) -> int:
        return LAYER_WIDTH * frame.n_nodes

    def raw(self, graphs: NoisyGraphs) -> torch.Tensor:
        """The output of the model for all graphs at once, unchecked: its columns show the number of classes."""
        with torch.inference_mode():
            return self._call(self.model, self.inputs(graphs), len(graphs))

    def inputs(self, graphs: NoisyGraphs) -> Inputs:
        """The inputs of the model for these copies, by the names of `starcert.classifiers.torch.calling`."""
        if self.dense:
            # Features that all copies share are copied: a module that writes into them changes no other batch.
            x, _ = self._nodes.of(graphs, self._dtype, self.device)
            return {"x": x.clone(), "adjacency": graphs.adjacency_on(self.device)}
        edge_index, batch = graphs.edge_index_on(self.device)
        found: Inputs = {"edge_index": edge_index, "batch": batch}
        if "x" in self._calling.needed:
            found["x"] = self._nodes.rows(graphs, self._dtype, self.device)
        if "edge_attr" in self._calling.needed:
            found["edge_attr"] = edge_attr_of(self._edge_sources, graphs, self._dtype, self.device)
        if "edge_weight" in self._calling.needed:
            found["edge_weight"] = edge_weight_of(self.edge_weight, graphs, self._dtype, self.device)
        return found

    def logits_from(self, inputs: Inputs, n_copies: int, n_nodes: int) -> torch.Tensor:
        """The logits of each copy, shape (copies, classes), or of each of its nodes, shape (copies, nodes, classes).

        They are those to train with: for a probability, the logarithms of both classes' probabilities.
        """
        columns = columns_of_classes(self._checked_call(self.model, inputs, n_copies, n_nodes), self.outputs)
        return columns.clamp_min(torch.finfo(columns.dtype).tiny).log() if self.outputs == "probability" else columns

    def _call(self, model: torch.nn.Module, inputs: Inputs, n_copies: int) -> torch.Tensor:
        return logits_in(self._calling.call(model, inputs, n_copies), self.output)

    def _checked_call(self, model: torch.nn.Module, inputs: Inputs, n_copies: int, n_nodes: int) -> torch.Tensor:
        found, of_nodes = self._call(model, inputs, n_copies), self.targets == "nodes"
        return logits_of(found, n_copies, self._n_columns, n_nodes=n_nodes, of_nodes=of_nodes)

    @override
    def _fitting(self, graphs: NoisyGraphs) -> int:
        fitting = super()._fitting(graphs)
        if self.device.type != "cpu":
            return fitting
        return min(fitting, max(1, CACHED_NODES // max(1, graphs.frame.n_nodes)))

    @override
    def _forward(self, graphs: NoisyGraphs) -> torch.Tensor:
        logits = self._logits([graphs])
        if self.nodes is None:
            return logits
        return logits[:, torch.as_tensor(nodes_of(self.nodes, graphs.frame), device=logits.device)]

    @property
    @override
    def as_written(self) -> TorchClassifier:
        plain = copy(self)
        plain._as_written = True
        return plain

    def _logits(self, batches: Sequence[NoisyGraphs]) -> torch.Tensor:
        """The logits of all copies of one or several graphs, one after the other.

        A copy alone is answered by the module as it is written: the checks compare that with stand-ins, too.
        """
        blocks = [(len(graphs), graphs.frame.n_nodes) for graphs in batches]
        n_copies, n_nodes = sum(count for count, _ in blocks), blocks[0][1]
        inputs = self._joined_inputs(batches, blocks)
        if n_copies > 1 and self._may_have_stand_ins():
            edge_index = inputs["edge_index"]
            assert edge_index is not None  # it is always among the inputs
            edges = DrawnEdges(edge_index, sum(count * nodes for count, nodes in blocks), self._dtype)
            shadow = with_stand_ins(self.model, edges)
            if shadow is not self.model:
                try:
                    return self._checked_call(shadow, inputs, n_copies, n_nodes)
                except Exception as error:
                    if is_out_of_memory(error):
                        raise
                    # As it is written it may work, or report what is wrong, on inputs that nothing has changed.
                    inputs = self._joined_inputs(batches, blocks)
        return self._checked_call(self.model, inputs, n_copies, n_nodes)

    def _may_have_stand_ins(self) -> bool:
        """True if layers may have stand-ins: on a CPU, where they were measured, unless others look on or round."""
        written = self._as_written or self.device.type != "cpu" or torch.is_autocast_enabled("cpu")
        return not written and not any(global_hooks())

    def _joined_inputs(self, batches: Sequence[NoisyGraphs], blocks: Sequence[tuple[int, int]]) -> Inputs:
        inputs = [self.inputs(graphs) for graphs in batches]
        return inputs[0] if len(inputs) == 1 else join_inputs(inputs, blocks)

    @property
    @override
    def max_batch_nodes(self) -> int:  # type: ignore[override]  # a number elsewhere
        # On a GPU a call takes long to begin. PyG's data object says how many nodes a copy has: the same for all.
        one_block = self.dense or self.targets == "nodes" or "data" in (each.input for each in self._calling.arguments)
        if one_block or self.device.type != "cuda":
            return 0
        return min(MAX_BATCH_NODES, torch.cuda.get_device_properties(self.device).total_memory // NODE_BYTES)

    @override
    def scored_each(self, batches: Sequence[NoisyGraphs]) -> list[Scores]:
        self.model.eval()
        with torch.inference_mode():
            found = self._scores(self._logits(batches))
        assert found.numbers is not None  # they are the logits
        ends = np.cumsum([len(graphs) for graphs in batches])[:-1]
        parts = zip(np.split(np.asarray(found.answers), ends), np.split(found.numbers, ends), strict=True)
        return [found._replace(answers=answers, numbers=numbers) for answers, numbers in parts]


def from_pyg(
    model: torch.nn.Module,
    *,
    n_classes: int | None = None,
    features: Features = "x",
    arguments: Arguments = None,
    output: str | int | None = None,
    targets: Targets = "graph",
    nodes: Nodes = None,
    edge_features: EdgeFeatures = None,
    edge_weight: str | None = None,
    description: str | None = None,
    class_names: Sequence[str] | None = None,
    outputs: Outputs = None,
) -> TorchClassifier:
    """A base classifier from any PyTorch Geometric module that returns one row of logits per graph, or per node.

    The parameters of its forward pass get what they are named after: `x`, `edge_index`, `edge_attr`, `edge_weight`,
    `batch`, or all of it as `data`. Modules from `torch.compile` and `torch.jit.script` go by the names of what they
    were made from; the latter need a `description`.

    Args:
        model: the module, on the device where it shall run. It is put into evaluation mode.
        n_classes: how many columns its logits have. One column tells two classes apart, see `outputs`. Left out where
            outputs are numbers.
        features: what x is: the name of node data, as noise left them where they are sites; something ready-made from
            `starcert.classifiers.features`, such as `degree()`; a function from a graph to an array with a row for each
            node, called for every noisy copy if it looks at edges or sites; or a tuple of such, side by side.
        arguments: what parameters with other names get, such as `{"h": "x", "ei": "edge_index"}`; for a forward without
            names, what it gets one after the other, such as `("x", "edge_index", "batch")`.
        output: the entry that holds the logits, where the module returns a dict (its name) or a tuple (its index).
        targets: what is classified: "graph", or "nodes", each by itself, from a row of logits for each.
        nodes: which nodes are: None for all, the name of node data of zeros and ones such as "test_mask", or indices.
        edge_features: what edge_attr is: by default the type of the edge, one-hot; or an array with a row for each
            type, the name of edge data, "types" for those one-hot, or a tuple of such, side by side.
        edge_weight: the edge data that are edge_weight; by default those of that name.
        description: says which classifier it is; by default its class and a digest of weights, code and features.
        class_names: the names of the columns of its logits, in their order.
        outputs: what a single output is: a "logit" (class 1 where it is above 0), or a "probability" (above 1/2). By
            default a logit, unless all outputs of the first noisy copies lie in [0, 1]: such a module is refused. Or a
            number in place of a class, which lies in a `ValueRange`: for `SmoothedRegressor`.

    Example:
        >>> import starcert as sc
        >>> from starcert.classifiers.features import degree
        >>> base = from_pyg(sc.models.GIN(1, 2, hidden=8), n_classes=2, features=degree(), class_names=("ring", "path"))
        >>> base.n_classes, base.class_names
        (2, ('ring', 'path'))
    """
    return TorchClassifier(
        model,
        n_classes,
        dense=False,
        features=features,
        description=description,
        arguments=arguments,
        output=output,
        targets=targets,
        nodes=nodes,
        edge_features=edge_features,
        edge_weight=edge_weight,
        class_names=class_names,
        outputs=outputs,
    )


def from_dense(
    model: torch.nn.Module,
    *,
    n_classes: int | None = None,
    features: Features = "x",
    output: str | int | None = None,
    targets: Targets = "graph",
    nodes: Nodes = None,
    description: str | None = None,
    class_names: Sequence[str] | None = None,
    outputs: Outputs = None,
) -> TorchClassifier:
    """A base classifier from any module called as `model(x, adjacency)` that returns one row of logits per graph.

    x has the shape (nodes, features) where all copies share it, and (copies, nodes, features) where features depend on
    edges; adjacency is (copies, nodes, nodes), zeros and ones as floats, whatever the types of edges. With
    `targets="nodes"` the logits are of shape (copies, nodes, classes). Arguments as in `from_pyg`.

    Example:
        >>> from starcert.classifiers.features import constant
        >>> class CountEdges(torch.nn.Module):
        ...     def forward(self, x, adjacency):
        ...         edges = adjacency.sum(dim=(1, 2)) / 2
        ...         return torch.stack([2.5 - edges, edges - 2.5], dim=1)
        >>> base = from_dense(CountEdges(), n_classes=2, features=constant(), description="more than two edges")
        >>> base.description
        'more than two edges'
    """
    return TorchClassifier(
        model,
        n_classes,
        dense=True,
        features=features,
        description=description,
        output=output,
        targets=targets,
        nodes=nodes,
        class_names=class_names,
        outputs=outputs,
    )
