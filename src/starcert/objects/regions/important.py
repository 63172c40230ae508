"""Regions by the nodes that are important to a model, as GNNExplainer finds them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.content import canonical_order, digest
from starcert.objects.convert import load_module
from starcert.objects.graph import Graph
from starcert.objects.partition import Partition
from starcert.objects.regions.builder import RegionRule, as_text, builder, check_attribute, check_number, data_of
from starcert.objects.site_sets import Inside, Outside
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number

_TORCH = "'starcert[torch]'"


@builder(
    "important, other",
    why="The model shows which part of a graph its answer rests on: that part gets less noise than the rest.",
    reason="Which nodes are important was learned from the model's answer on the edges of the clean graph.",
)
def explained(
    model: object = None, *, quantile: float = 0.8, attribute: str = "x", epochs: int = 100, seed: int = 0
) -> RegionRule:
    """Regions of the pairs of two important nodes (`important`) and of all other pairs (`other`).

    GNNExplainer (Ying et al. 2019), as PyTorch Geometric has it, learns a mask of the edges that keeps the model's
    answer on the clean graph. A node is as important as the heaviest edge at it, and a pair is important if both of its
    nodes are. The mask is derived from the edges: anchored. The model is copied.

    Args:
        model: a module called as `model(x, edge_index, batch)` that returns one row of logits a graph, made of PyG's
            message-passing layers; or the classifier that `sc.classifiers.from_pyg` made of one.
        quantile: the share of the nodes that are not important, at least; equal ones are taken in the order of names.
        attribute: the node data that is x.
        epochs: how long to learn.
        seed: of the first mask.

    Example:
        >>> import starcert as sc
        >>> explained(sc.models.GCN(3, 2, hidden=8), quantile=0.9).regions
        ('important', 'other')
    """
    if model is None:
        hint = "Pass the module: regions.build('explained:quantile=0.8', model=module)."
        wanted = "be the model to explain, as this builder has no regions without it"
        raise InvalidParameterError("model", wanted, None, hint)
    torch = load_module("torch", _TORCH)
    module = model if isinstance(model, torch.nn.Module) else getattr(model, "model", model)
    if not isinstance(module, torch.nn.Module):
        hint = "Pass a module that is called as model(x, edge_index, batch)."
        raise InvalidParameterError("model", "be a torch.nn.Module", type(model).__name__, hint)
    check_attribute(attribute)
    share = check_number(quantile, "quantile", share=True)
    epochs, seed = whole_number("epochs", epochs, 1), whole_number("seed", seed, 0)
    parameters: dict[str, Any] = {"quantile": share, "attribute": attribute, "epochs": epochs, "seed": seed}
    frozen = deepcopy(module).cpu().eval().requires_grad_(False)
    named = f"{type(frozen).__name__} {digest(repr(frozen), dict(frozen.state_dict()))[:16]}"
    described = f"{as_text('explained', parameters)} of {named}"
    regions = ("important", "other")
    return RegionRule("", {"model": named, **parameters}, regions, _Explain(frozen, **parameters), described=described)


@dataclass
class _Explain:
    """Divides a graph by its important nodes; each graph is explained once."""

    model: Any
    quantile: float
    attribute: str
    epochs: int
    seed: int
    _known: dict[str, Partition] = field(default_factory=dict)

    def __call__(self, graph: Graph) -> Partition:
        if graph.key not in self._known:
            order = np.array(canonical_order(graph.nodes), dtype=np.int64)
            weights = self._weights(graph, order)
            most = graph.n_nodes - int(np.floor(self.quantile * graph.n_nodes + 1e-9))
            heaviest = np.argsort(-weights, kind="stable")[:most]
            important = frozenset(graph.nodes[order[position]] for position in heaviest if weights[position] > 0)
            self._known[graph.key] = Partition((("important", Inside(important)), ("other", Outside(important))))
        return self._known[graph.key]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": {}}

    def _weights(self, graph: Graph, order: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
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
        return np.round(weights, 6)  # the order of numbers that differ in the last digits depends on the machine


def _edge_mask(
    model: Any,  # noqa: ANN401  (torch is imported below)
    x: npt.NDArray[np.float32],
    arcs: npt.NDArray[np.int64],
    epochs: int,
    seed: int,
) -> npt.NDArray[np.float64]:
    """The weight of every arc of a graph, from 0 to 1, as GNNExplainer learns it."""
    import torch  # noqa: PLC0415  (slow to import)

    explain = load_module("torch_geometric.explain", _TORCH)

    class OneGraph(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = with_pyg_layers(model).cpu().requires_grad_(False)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.model(x, edge_index, torch.zeros(len(x), dtype=torch.int64))
            return logits

    try:
        with torch.random.fork_rng(devices=[]):
            explainer = explain.Explainer(
                OneGraph(),
                explain.GNNExplainer(epochs=epochs),
                explanation_type="model",
                edge_mask_type="object",
                model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
            )
            torch.manual_seed(seed)
            explanation = explainer(torch.from_numpy(x), torch.from_numpy(np.ascontiguousarray(arcs.T)))
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        what = str(error).strip().partition("\n")[0] or type(error).__name__
        raise StarcertError(
            f"The model cannot be explained: {what}. 'explained' needs a module that is called as "
            "model(x, edge_index, batch), takes the node data named by 'attribute' as x, and passes messages with "
            "layers of PyTorch Geometric."
        ) from error
    mask: npt.NDArray[np.float64] = explanation.edge_mask.detach().numpy().astype(np.float64)
    return mask


def with_pyg_layers(module: Any) -> Any:  # noqa: ANN401  (torch may be missing)
    """A copy of a module with PyG's layers for those that can become one: explainers know no others."""
    copied = deepcopy(module)
    for owner in list(copied.modules()):
        for name, part in owner.named_children():
            if hasattr(part, "to_pyg"):
                owner.add_module(name, part.to_pyg())
    return copied
