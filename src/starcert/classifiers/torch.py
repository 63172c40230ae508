"""PyTorch modules as base classifiers: PyG modules on `edge_index`, and modules on dense adjacency, on any device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.parameter import is_lazy

from starcert.classifiers.base import Scores, checked_names
from starcert.classifiers.calling import ON_MATRICES, Arguments, calling_of
from starcert.classifiers.conversion import converted, has_layers
from starcert.classifiers.edge_features import (
    EdgeFeatures,
    edge_attr_of,
    edge_sources_of,
    edge_weight_of,
    promised_edge_attr,
)
from starcert.classifiers.features import Features, sources_of
from starcert.classifiers.gathering import gathered
from starcert.classifiers.matrices import Matrices
from starcert.classifiers.modules import ModuleClassifier, NotANumberError, is_short_of_memory
from starcert.classifiers.node_inputs import NodeInputs
from starcert.classifiers.outputs import Nodes, Targets, checked_targets, logits_of, nodes_of, picked
from starcert.classifiers.products import Products, can_watch
from starcert.classifiers.promises import Given
from starcert.classifiers.sparse_features import SparseFeatures
from starcert.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.graphs import Frame
    from starcert.sampling.batch import NoisyGraphs

__all__ = ["TorchClassifier", "from_dense", "from_pyg"]

LAYER_WIDTH = 64
"""Numbers that a layer holds for a node, where nobody knows the model."""

COMPARED = 8
"""So many copies are asked in another way and as it is written at first, to see whether the answers are the same."""

MOST_DENSE_NODES = {"cpu": 40, "cuda": 160}
"""Layers multiply with dense adjacency where a graph has so many nodes at most.

Measured with noise that adds as many edges as there are: from there on sparse products are as fast, on a CPU for
networks that spend their time elsewhere (three GIN layers; two GCN layers gain to twice as many nodes), on an H200 for
these and for one GCN layer. With more noise dense products gain in larger graphs too.
"""

ROUNDING = 2048
"""Logits are the same if they differ by so many last digits of the largest, at most."""

BATCH, LARGER_BATCH = 96, 512
"""Copies in a batch on a CPU that stay in its cache: with a row of numbers for each edge, and without."""

GATHERED, NODE_BYTES = 2**21, 2**14
"""Copies of several graphs with so many nodes in all are one batch on a device, if it has so much memory for each.

Measured with 10,000 votes a graph: proteins take a third less time, molecules a fifth, and half as long with sparse
products alone.
"""

MESSAGES = 2
"""Numbers that a layer holds at once along an edge, for each column: what it gathers, and what it makes of it."""


Found = TypeVar("Found")


class Asking(Enum):
    """How a module is asked: as it is written, with sums as products, or with layers of PyG on dense adjacency too."""

    WRITTEN = 0
    PRODUCTS = 1
    MATRICES = 2


class TorchClassifier(ModuleClassifier):
    """A module on graphs. See `from_pyg` and `from_dense`."""

    def __init__(
        self,
        model: torch.nn.Module,
        n_classes: int,
        *,
        dense: bool,
        features: Features,
        description: str | None,
        arguments: Arguments = None,
        output: str | int | None = None,
        targets: Targets = "graph",
        nodes: Nodes = None,
        edge_features: EdgeFeatures = None,
        edge_weight: str | None = None,
        class_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(model, n_classes, batch_size=LARGER_BATCH if dense else BATCH, description=description)
        self.class_names, _ = checked_names(class_names, n_classes)
        self.dense = dense
        self.features = features
        self.targets = targets
        self.nodes = checked_targets(targets, nodes)
        self.output = output
        self._calling = ON_MATRICES if dense else calling_of(model, arguments, of_graphs=targets == "graph")
        self.edge_weight = edge_weight
        self._edge_sources = edge_sources_of(edge_features)
        said: dict[str, object] = {
            "arguments": arguments,
            "output": output,
            "targets": None if targets == "graph" else targets,
            "nodes": self.nodes,
            "edge features": self._edge_sources,
            "edge weight": edge_weight,
        }
        self._said = {name: value for name, value in said.items() if value is not None}
        sources = sources_of(features)
        if any(isinstance(source, SparseFeatures) for source in sources) and (dense or len(sources) > 1):
            hint = "Side by side, and for modules on dense adjacency, give the name of the node data."
            raise InvalidParameterError("features", "be sparse(name) alone, for a module on edge_index", features, hint)
        self._nodes = NodeInputs(sources)
        watched = not dense and can_watch(model)
        self._agrees: dict[Asking, bool] = {} if watched else dict.fromkeys((Asking.PRODUCTS, Asking.MATRICES), False)
        """Whether it answers the same in another way than it is written, as far as that was tried."""
        self._makes: frozenset[str] = frozenset()  # which matrices the last batch was multiplied with

    def _content(self) -> tuple[object, ...]:
        return (self.model, self.dense, self.features, *((self._said,) if self._said else ()))

    def n_targets(self, frame: Frame) -> int | None:
        """How many nodes are classified; None: the graph is."""
        return None if self.targets == "graph" else len(nodes_of(self.nodes, frame))

    def target_nodes(self, frame: Frame) -> npt.NDArray[np.int64] | None:
        """The node index of each target; None: the graph is classified."""
        return None if self.targets == "graph" else nodes_of(self.nodes, frame)

    def copy_bytes(self, n_nodes: int, n_edges: float) -> float:
        """What one noisy copy takes as the model sees it, with the messages of its widest layer.

        That is a matrix of bytes and one of floats; or for both directions of an edge its two nodes and the messages.
        """
        if self.dense:
            return 5 * n_nodes**2
        message = MESSAGES * self._dtype.itemsize * self._width()
        return (32 + 2 * message) * n_edges + (8 + message) * n_nodes

    def _width(self) -> int:
        """How many columns the widest layer has, at least: a bias has one for each, a matrix leads from or to as many.

        The longer side of a matrix may be the features of a node, or the entries of a table, and is not counted.
        """
        known = (each for each in self.model.parameters() if not is_lazy(each))
        return max((min(each.shape) for each in known if each.dim()), default=1)

    def _feature_bytes(self, frame: Frame) -> int:
        """What the features of one copy take, where that can be told without asking for them."""
        return self._nodes.bytes_of(frame, self._dtype, self.device, repeated=not self.dense)

    def _numbers(self, frame: Frame) -> int:
        return LAYER_WIDTH * frame.n_nodes

    def raw(self, graphs: NoisyGraphs) -> torch.Tensor:
        """What the model gives for all graphs at once, unchecked: its columns tell how many classes it knows."""
        with torch.inference_mode():
            return self._asked(self.inputs(graphs), len(graphs))

    def inputs(self, graphs: NoisyGraphs) -> dict[str, torch.Tensor | None]:
        """What the model is given of these copies, by the names of `starcert.classifiers.calling`."""
        if self.dense:
            return {"x": self._features_of(graphs)[0], "adjacency": graphs.adjacency_on(self.device)}
        edge_index, batch = graphs.edge_index_on(self.device)
        given: dict[str, torch.Tensor | None] = {"edge_index": edge_index, "batch": batch}
        if "x" in self._calling.wanted:
            given["x"] = self._nodes.rows(graphs, self._dtype, self.device)
        if "edge_attr" in self._calling.wanted:
            given["edge_attr"] = edge_attr_of(self._edge_sources, graphs, self._dtype, self.device)
        if "edge_weight" in self._calling.wanted:
            given["edge_weight"] = edge_weight_of(self.edge_weight, graphs, self._dtype, self.device)
        return given

    def logits_from(self, inputs: Mapping[str, torch.Tensor | None], n_copies: int, n_nodes: int) -> torch.Tensor:
        """The logits of each copy, shape (copies, classes), or of each of its nodes, shape (copies, nodes, classes)."""
        of_nodes = self.targets == "nodes"
        return logits_of(self._asked(inputs, n_copies), n_copies, self.n_classes, n_nodes=n_nodes, of_nodes=of_nodes)

    def _asked(self, inputs: Mapping[str, torch.Tensor | None], n_copies: int) -> torch.Tensor:
        return picked(self._calling.call(self.model, inputs, n_copies), self.output)

    def classify(self, graphs: NoisyGraphs) -> npt.ArrayLike:
        """See `ModuleClassifier`."""
        return self._surely(lambda: super(TorchClassifier, self).classify(graphs))

    def scored(self, graphs: NoisyGraphs) -> Scores:
        """See `ModuleClassifier`."""
        return self._surely(lambda: super(TorchClassifier, self).scored(graphs))

    def logits(self, graphs: NoisyGraphs) -> torch.Tensor:
        """See `ModuleClassifier`."""
        found = super().logits(graphs)
        if self._agrees.get(Asking.MATRICES) and bool(found.isnan().any()):
            self._agrees[Asking.MATRICES] = False
            return super().logits(graphs)
        return found

    def _surely(self, ask: Callable[[], Found]) -> Found:
        """What is answered: without matrices from now on, where features are not finite, and products tell nothing."""
        multiplied = self._agrees.get(Asking.MATRICES)
        try:
            return ask()
        except NotANumberError:
            if not multiplied:
                raise
            self._agrees[Asking.MATRICES] = False
            return ask()

    def _forward(self, graphs: NoisyGraphs) -> torch.Tensor:
        logits = self._logits(graphs, self._way(graphs))[0]
        if self.nodes is None:
            return logits
        return logits[:, torch.as_tensor(nodes_of(self.nodes, graphs.frame), device=logits.device)]

    def _way(self, graphs: NoisyGraphs) -> Asking:
        """How these copies are asked about: the fastest way that gives the same logits."""
        if len(graphs) == 1:
            return Asking.WRITTEN  # so voting compares both ways on every graph
        for way in (Asking.MATRICES, Asking.PRODUCTS):
            if way is Asking.MATRICES and not self._are_small(graphs.frame):
                continue
            if self._tried(graphs, way):
                return way
        return Asking.WRITTEN

    @property
    def as_written(self) -> TorchClassifier:
        """See `Classifier`: the module is asked as it is written."""
        plain = copy(self)
        plain._agrees = dict.fromkeys((Asking.PRODUCTS, Asking.MATRICES), False)
        return plain

    def _are_small(self, frame: Frame) -> bool:
        """Whether dense adjacency pays, and is multiplied with to the last digit."""
        on: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul, torch.backends)  # type: ignore[attr-defined]
        exact = self._dtype == torch.float64 or all(each.fp32_precision in ("none", "ieee") for each in on)
        return exact and 0 < frame.n_nodes <= MOST_DENSE_NODES.get(self.device.type, 0)

    def _logits(self, graphs: NoisyGraphs, way: Asking) -> tuple[torch.Tensor, int]:
        """The logits of all copies, asked in some way, and how many products there were that are not written so."""
        n_copies, n_nodes = len(graphs), graphs.frame.n_nodes
        if way is Asking.MATRICES:
            return self._logits_of_layers(graphs)
        inputs = self.inputs(graphs)
        if way is Asking.WRITTEN:
            return self.logits_from(inputs, n_copies, n_nodes), 0
        edge_index, batch = inputs["edge_index"], inputs["batch"]
        assert edge_index is not None  # they are always among the inputs
        assert batch is not None
        with Products(batch, (n_copies, n_nodes), ascending=edge_index[1] if graphs.by_target else None) as found:
            return self.logits_from(inputs, n_copies, n_nodes), found.used

    def _logits_of_layers(self, graphs: NoisyGraphs) -> tuple[torch.Tensor, int]:
        """The logits of all copies, with layers on dense adjacency, and how many layers multiplied.

        No numbers, where features were not finite.
        """
        n_copies, n_nodes = len(graphs), graphs.frame.n_nodes
        matrices = Matrices(graphs, self._dtype, self.device)
        matrices.make(self._makes)
        batch = torch.arange(n_copies, device=self.device).repeat_interleave(n_nodes)
        found = Products(batch, (n_copies, n_nodes))
        with converted(self.model), found:
            logits = self.logits_from(self._promised(graphs, matrices, found, batch), n_copies, n_nodes)
        self._makes = matrices.made
        return (matrices.in_doubt(logits), matrices.used) if logits.is_floating_point() else (logits, 0)

    def _promised(
        self, graphs: NoisyGraphs, matrices: Matrices, found: Products, batch: torch.Tensor
    ) -> dict[str, torch.Tensor | None]:
        """The same as `inputs`, not made before it is looked at."""
        wanted, device = self._calling.wanted, self.device

        def edge_index() -> torch.Tensor:
            index = graphs.edge_index_on(device)[0]
            found.ascending = index[1] if graphs.by_target else None
            return index

        promised = Given(edge_index, matrices, shape=(2, None), dtype=torch.int64, device=device)
        given: dict[str, torch.Tensor | None] = {"edge_index": promised, "batch": batch}
        if "x" in wanted:
            given["x"] = self._nodes.rows(graphs, self._dtype, device, promised=True)
        if "edge_attr" in wanted:
            given["edge_attr"] = promised_edge_attr(self._edge_sources, graphs, self._dtype, device)
        if "edge_weight" in wanted:
            given["edge_weight"] = edge_weight_of(self.edge_weight, graphs, self._dtype, device)
        return given

    @property
    def gathers(self) -> int:  # type: ignore[override]  # a number elsewhere
        """See `Classifier`: where beginning takes long, and a batch is not told by how many nodes its copies have."""
        plain = (
            not self.dense and self.targets == "graph" and not any(each.what == "data" for each in self._calling.places)
        )
        if not plain or self.device.type != "cuda":
            return 0
        return min(GATHERED, torch.cuda.get_device_properties(self.device).total_memory // NODE_BYTES)

    def scored_each(self, batches: Sequence[NoisyGraphs]) -> list[Scores]:
        """See `Classifier`: one call for all of them."""
        found = self._scores(self._logits_each(batches))
        assert found.numbers is not None  # they are the logits
        both = zip(_split(np.asarray(found.answers), batches), _split(found.numbers, batches), strict=True)
        return [found._replace(answers=answers, numbers=numbers) for answers, numbers in both]

    def _logits_each(self, batches: Sequence[NoisyGraphs]) -> torch.Tensor:
        """The logits of all copies of several graphs, one after the other."""
        self.model.eval()
        blocks = [(len(graphs), graphs.frame.n_nodes) for graphs in batches]
        n_copies = sum(count for count, _ in blocks)
        with torch.inference_mode():
            multiplies = self._tried(batches[0], Asking.PRODUCTS)
            inputs = gathered([self.inputs(graphs) for graphs in batches], blocks)
            edge_index, batch = inputs["edge_index"], inputs["batch"]
            assert edge_index is not None  # they are always among the inputs
            assert batch is not None
            ascending = edge_index[1] if all(graphs.by_target for graphs in batches) else None
            with Products(batch, *blocks, ascending=ascending) if multiplies else nullcontext():
                return self.logits_from(inputs, n_copies, 1)

    def _tried(self, graphs: NoisyGraphs, way: Asking) -> bool:
        """Whether a way gives the same logits: tried on the first copies, once."""
        if way not in self._agrees:
            self._agrees[way] = self._agree(graphs[:COMPARED], way)
            if self._agrees[way] and self.device.type == "cpu":
                self.batch_size = LARGER_BATCH
        return self._agrees[way]

    def _agree(self, graphs: NoisyGraphs, way: Asking) -> bool:
        """Whether there is anything to multiply in some way, and the logits are the same, up to rounding."""
        if way is Asking.MATRICES and not has_layers(self.model):
            return False
        try:
            plain, _ = self._logits(graphs, Asking.WRITTEN)
            other, used = self._logits(graphs, way)
        except Exception as error:
            if is_short_of_memory(error):
                raise
            return False  # whatever it is: it is not tried again, and said if it comes up as it is written
        rounding = ROUNDING * torch.finfo(plain.dtype).eps * plain.abs().max() if plain.is_floating_point() else 0
        return used > 0 and plain.shape == other.shape and bool(((plain - other).abs() <= rounding).all())

    def _features_of(self, graphs: NoisyGraphs) -> tuple[torch.Tensor, bool]:
        """The features of the nodes, and whether each copy has its own, shape (copies, nodes, …), or all share them."""
        return self._nodes.of(graphs, self._dtype, self.device)


def _split(values: npt.NDArray[Any], batches: Sequence[NoisyGraphs]) -> Iterator[npt.NDArray[Any]]:
    """What there is for each copy, batch by batch."""
    return iter(np.split(values, np.cumsum([len(graphs) for graphs in batches])[:-1]))


def from_pyg(
    model: torch.nn.Module,
    *,
    n_classes: int,
    features: Features = "x",
    arguments: Arguments = None,
    output: str | int | None = None,
    targets: Targets = "graph",
    nodes: Nodes = None,
    edge_features: EdgeFeatures = None,
    edge_weight: str | None = None,
    description: str | None = None,
    class_names: Sequence[str] | None = None,
) -> TorchClassifier:
    """A base classifier from any module of PyTorch Geometric that returns one row of logits a graph, or a node.

    The module's forward pass is read once, and its parameters get what they are named after: `x`, `edge_index`,
    `edge_attr`, `edge_weight`, `batch`, or all of it as `data`. So `forward(x, edge_index, batch)`,
    `forward(x, edge_index, edge_weight=None, batch=None)` and `forward(data)` work as they are. Three parameters with
    names of their own are x, edge_index and batch. Modules from `torch.compile` and from `torch.jit` go by the names of
    what they were made from; the latter need a `description` for the record.

    Args:
        model: the module, on the device where it shall run. It is put into evaluation mode.
        n_classes: how many columns its logits have. One logit tells two classes apart: class 1 where it is above 0.
        features: what x is: the name of node data, which noise leaves alone, or which every copy shows as noise left
            them, where they are sites; something ready-made from `starcert.classifiers.features`, such as `degree()`; a
            function from a graph to an array with a row for each node; or a tuple of such, side by side. What depends
            on edges or sites is computed on every noisy copy: the ready-made for all copies at once, a function copy by
            copy. A function that asks for nothing but nodes and their data is called once a graph.
        arguments: what parameters with other names get, such as `{"h": "x", "ei": "edge_index"}`; for a forward without
            names, what it gets one after the other, such as `("x", "edge_index", "batch")`.
        output: the entry that holds the logits, where the module returns a dict (its name) or a tuple (its index).
        targets: what is classified: "graph", or "nodes", each by itself, from a row of logits for each.
        nodes: which nodes are: None for all, the name of node data of zeros and ones such as "test_mask", or indices.
        edge_features: what edge_attr is: by default the type of the edge, one-hot; or an array with a row for each
            type, the name of edge data, or a tuple of such, side by side. See `starcert.classifiers.edge_features`.
        edge_weight: the edge data that are edge_weight; by default those of that name.
        description: says which classifier it is, for the record; by default its class and a digest of its weights, its
            code and its features.
        class_names: what the columns of its logits are called, in their order.
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
    )


def from_dense(
    model: torch.nn.Module,
    *,
    n_classes: int,
    features: Features = "x",
    output: str | int | None = None,
    targets: Targets = "graph",
    nodes: Nodes = None,
    description: str | None = None,
    class_names: Sequence[str] | None = None,
) -> TorchClassifier:
    """A base classifier from any module called as `model(x, adjacency)` that returns one row of logits a graph.

    x has the shape (nodes, features) where all copies share it, and (copies, nodes, features) where features depend on
    edges; adjacency is (copies, nodes, nodes), zeros and ones as floats, whatever the types of edges. For small graphs
    this is the fastest way by far. With `targets="nodes"` the logits are of shape (copies, nodes, classes). Arguments
    as in `from_pyg`.
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
    )
