"""Regions by what a model looks at: an explainer of PyTorch Geometric weighs edges, and nodes inherit the weights."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.errors import InvalidParameterError, StarcertError
from starcert.graphs import Graph, Partition
from starcert.graphs.content import digest
from starcert.graphs.pairsets import Inside, Outside
from starcert.regions.builder import Builder
from starcert.regions.node_labels import data_of
from starcert.regions.numbers import share, whole
from starcert.regions.rule import RegionRule, canonical_order

__all__ = ["BUILDER", "REGIONS", "explained"]

_WHY = "The model tells which part of a graph its answer rests on: that part is given less noise than the rest."
_REASON = "Which nodes are important was learned from the model's answer on the edges of the clean graph."
REGIONS = ("important", "other")


def explained(
    model: object = None, *, quantile: float = 0.8, attribute: str = "x", epochs: int = 100, seed: int = 0
) -> RegionRule:
    """Regions of the pairs of two important nodes (`important`) and of all other pairs (`other`).

    GNNExplainer (Ying et al. 2019), as PyTorch Geometric has it, learns a mask of the edges that keeps the model's
    answer on the clean graph. A mask speaks of present edges only, but regions must cover absent ones too: so a node
    is as important as the heaviest edge at it, and a pair is important if both of its nodes are. A node without edges,
    or with none that the answer depends on, is not. The mask is read off the edges: anchored.

    The explanation has its own random numbers; the global ones are left alone. The model is copied, as it is now. It is
    the same by names of nodes however these are listed, up to rounding. Each graph is explained once in a process.

    Args:
        model: a module called as `model(x, edge_index, batch)` that returns one row of logits a graph, made of PyG's
            message-passing layers; or the classifier that `sc.classifiers.from_pyg` made of one.
        quantile: the share of the nodes that are not important, at least; equal ones are taken in the order of names.
        attribute: the node data that is x.
        epochs: how long to learn.
        seed: of the first mask.
    """
    if model is None:
        hint = "Pass the module: regions.build('explained:quantile=0.8', model=module)."
        raise InvalidParameterError(
            "model", "be the model to explain, for this builder has no regions without", None, hint
        )
    try:
        import torch  # noqa: PLC0415  (takes its time)
    except ModuleNotFoundError as error:
        raise StarcertError("Explanations need PyTorch Geometric: pip install 'starcert[torch]'") from error
    module = model if isinstance(model, torch.nn.Module) else getattr(model, "model", None)
    if not isinstance(module, torch.nn.Module):
        hint = "Pass a module that is called as model(x, edge_index, batch)."
        raise InvalidParameterError("model", "be a torch.nn.Module", type(model).__name__, hint)
    if not isinstance(attribute, str) or not attribute:
        raise InvalidParameterError("attribute", "be the name of node data", attribute)
    parameters: dict[str, Any] = {
        "quantile": share(quantile, "quantile"),
        "attribute": attribute,
        "epochs": whole(epochs, "epochs", 1),
        "seed": whole(seed, "seed", 0),
    }
    frozen = deepcopy(module).cpu().eval().requires_grad_(False)
    weights = digest(repr(frozen), dict(frozen.state_dict()))[:16]
    named = f"{type(frozen).__name__} {weights}"
    described = "explained:" + ",".join(f"{name}={value}" for name, value in parameters.items()) + f" of {named}"
    return RegionRule(
        "explained",
        {"model": named, **parameters},
        REGIONS,
        _Explain(frozen, **parameters),
        _WHY,
        _REASON,
        described=described,
    )


class _Explain:
    """From a graph to the regions of its important nodes; remembers what it has explained."""

    def __init__(self, model: Any, *, quantile: float, attribute: str, epochs: int, seed: int) -> None:  # noqa: ANN401
        self.model = model
        self.quantile = quantile
        self.attribute = attribute
        self.epochs = epochs
        self.seed = seed
        self._known: dict[str, Partition] = {}

    def __call__(self, graph: Graph) -> Partition:
        if graph.key not in self._known:
            self._known[graph.key] = self._divide(graph)
        return self._known[graph.key]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": {}}

    def _divide(self, graph: Graph) -> Partition:
        order = np.array(canonical_order(graph), dtype=np.int64)
        weights = self._weights(graph, order)
        most = graph.n_nodes - int(np.floor(self.quantile * graph.n_nodes + 1e-9))
        heaviest = np.argsort(-weights, kind="stable")[:most]
        important = frozenset(graph.nodes[order[position]] for position in heaviest if weights[position] > 0)
        return Partition(((REGIONS[0], Inside(important)), (REGIONS[1], Outside(important))))

    def _weights(self, graph: Graph, order: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """How important each node is, the nodes in this order."""
        weights = np.zeros(graph.n_nodes)
        x = np.array(data_of(graph, self.attribute), dtype=np.float32)
        if not graph.n_edges:
            return weights
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        arcs = np.concatenate([place[graph.edges], place[graph.edges][:, ::-1]])
        arcs = arcs[np.lexsort([arcs[:, 1], arcs[:, 0]])]
        mask = _edge_mask(self.model, x[order], arcs, self.epochs, self.seed)
        for end in (0, 1):
            np.maximum.at(weights, arcs[:, end], mask)
        # What differs in the last digits only is equal: its order must not depend on the machine.
        return np.round(weights, 6)


def _edge_mask(
    model: Any,  # noqa: ANN401  (torch is imported below)
    x: npt.NDArray[np.float32],
    arcs: npt.NDArray[np.int64],
    epochs: int,
    seed: int,
) -> npt.NDArray[np.float64]:
    """The weight of every arc of a graph, from 0 to 1, as GNNExplainer learns it."""
    import torch  # noqa: PLC0415

    try:
        from torch_geometric.explain import Explainer, GNNExplainer  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise StarcertError("Explanations need PyTorch Geometric: pip install 'starcert[torch]'") from error

    class OneGraph(torch.nn.Module):
        """The model on a single graph: nobody need know what it calls its third argument."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.model(x, edge_index, torch.zeros(len(x), dtype=torch.int64))
            return logits

    explainer = Explainer(
        OneGraph(),
        GNNExplainer(epochs=epochs),
        explanation_type="model",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
    )
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            explanation = explainer(torch.from_numpy(x), torch.from_numpy(np.ascontiguousarray(arcs.T)))
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        what = str(error).strip().partition("\n")[0] or type(error).__name__
        raise StarcertError(
            f"The model cannot be explained: {what}. "
            "'explained' needs a module that is called as model(x, edge_index, batch), takes the node data named by "
            "'attribute' as x, and passes messages with layers of PyTorch Geometric."
        ) from error
    mask: npt.NDArray[np.float64] = explanation.edge_mask.detach().numpy().astype(np.float64)
    return mask


BUILDER = Builder(
    "explained",
    explained,
    ", ".join(REGIONS),
    _WHY,
    _REASON,
    {"quantile": float, "attribute": str, "epochs": int, "seed": int},
    needs_model=True,
)
