"""Regions by nodes that are found in the graph: its communities, or those that a model looks at."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.objects.content import canonical_order, digest
from starcert.objects.graph import Graph
from starcert.objects.partition import Partition
from starcert.objects.regions.builder import RegionRule, as_text, builder, check_number, data_of, rule_by
from starcert.objects.site_sets import Across, Inside, Outside, Within
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number

__all__ = ["communities", "explained", "with_pyg_layers"]

_METHODS = ("louvain", "greedy")
_NEEDS_PYG = "Explanations need PyTorch Geometric: pip install 'starcert[torch]'"


@builder(
    "inside, between",
    why="Edges between communities hold a graph together in few places: they can be given another noise than the rest.",
    reason="The communities were found from the edges of the clean graph.",
)
def communities(resolution: float = 1.0, *, method: str = "louvain", seed: int = 0) -> RegionRule:
    """Regions of the pairs inside one community (`inside`) and of the pairs of different ones (`between`).

    Communities maximise modularity, as networkx finds them, whatever the order of the nodes. They are read off the
    edges: anchored.

    Args:
        resolution: above 1 for more and smaller communities, below 1 for fewer and larger ones.
        method: "louvain" (Blondel et al. 2008), or "greedy" (Clauset, Newman and Moore 2004), which takes longer.
        seed: of the Louvain method, which looks at nodes in a random order.

    Example:
        >>> graph = Graph(6, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)])
        >>> communities()(graph).sites(graph).sizes
        (6, 9)
    """
    resolution = check_number(resolution, "resolution")
    if method not in _METHODS:
        raise InvalidParameterError("method", f"be one of {', '.join(_METHODS)}", method)
    seed = whole_number("seed", seed, 0)
    return rule_by(_divide_by_community, ("inside", "between"), resolution=resolution, method=method, seed=seed)


def _divide_by_community(graph: Graph, *, resolution: float, method: str, seed: int) -> Partition:
    import networkx as nx  # noqa: PLC0415  (slow to import)

    order = canonical_order(graph.nodes)
    place = {index: position for position, index in enumerate(order)}
    # Small whole numbers in their order: networkx goes through sets, and sets of names have another order every time.
    canonical = nx.Graph()
    canonical.add_nodes_from(range(graph.n_nodes))
    canonical.add_edges_from(sorted(tuple(sorted((place[u], place[v]))) for u, v in graph.edges.tolist()))
    found: list[Any]
    if not graph.n_edges:  # modularity divides by the number of edges; nothing holds these nodes together
        found = [{position} for position in range(graph.n_nodes)]
    elif method == "louvain":
        found = nx.community.louvain_communities(canonical, resolution=resolution, seed=seed)
    else:
        found = nx.community.greedy_modularity_communities(canonical, resolution=resolution)
    groups = tuple(frozenset(graph.nodes[order[position]] for position in group) for group in sorted(found, key=min))
    return Partition((("inside", Within(groups)), ("between", Across(groups))))


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
    nodes are. The mask is read off the edges: anchored. The model is copied.

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
        wanted = "be the model to explain, as this builder has no regions without it"
        raise InvalidParameterError("model", wanted, None, hint)
    try:
        import torch  # noqa: PLC0415  (slow to import)
    except ModuleNotFoundError as error:
        raise StarcertError(_NEEDS_PYG) from error
    module = model if isinstance(model, torch.nn.Module) else getattr(model, "model", model)
    if not isinstance(module, torch.nn.Module):
        hint = "Pass a module that is called as model(x, edge_index, batch)."
        raise InvalidParameterError("model", "be a torch.nn.Module", type(model).__name__, hint)
    if not isinstance(attribute, str) or not attribute:
        raise InvalidParameterError("attribute", "be the name of node data", attribute)
    parameters: dict[str, Any] = {
        "quantile": check_number(quantile, "quantile", share=True),
        "attribute": attribute,
        "epochs": whole_number("epochs", epochs, 1),
        "seed": whole_number("seed", seed, 0),
    }
    frozen = deepcopy(module).cpu().eval().requires_grad_(False)
    named = f"{type(frozen).__name__} {digest(repr(frozen), dict(frozen.state_dict()))[:16]}"
    described = f"{as_text('explained', parameters)} of {named}"
    regions = ("important", "other")
    return RegionRule("", {"model": named, **parameters}, regions, _Explain(frozen, **parameters), described=described)


@dataclass
class _Explain:
    """From a graph to the regions of its important nodes; each graph is explained once."""

    model: Any
    quantile: float
    attribute: str
    epochs: int
    seed: int
    _known: dict[str, Partition] = field(default_factory=dict)

    def __call__(self, graph: Graph) -> Partition:
        if graph.key not in self._known:
            self._known[graph.key] = self._divide(graph)
        return self._known[graph.key]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_known": {}}

    def _divide(self, graph: Graph) -> Partition:
        order = np.array(canonical_order(graph.nodes), dtype=np.int64)
        weights = self._weights(graph, order)
        most = graph.n_nodes - int(np.floor(self.quantile * graph.n_nodes + 1e-9))
        heaviest = np.argsort(-weights, kind="stable")[:most]
        important = frozenset(graph.nodes[order[position]] for position in heaviest if weights[position] > 0)
        return Partition((("important", Inside(important)), ("other", Outside(important))))

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
        # Numbers that differ only in the last digits are equal: their order must not depend on the machine.
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
        raise StarcertError(_NEEDS_PYG) from error

    class OneGraph(torch.nn.Module):
        """The model on a single graph, whatever it calls its third argument."""

        def __init__(self) -> None:
            super().__init__()
            self.model = with_pyg_layers(model).requires_grad_(False)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            logits: torch.Tensor = self.model(x, edge_index, torch.zeros(len(x), dtype=torch.int64))
            return logits

    try:
        with torch.random.fork_rng(devices=[]):
            explainer = Explainer(
                OneGraph(),
                GNNExplainer(epochs=epochs),
                explanation_type="model",
                edge_mask_type="object",
                model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
            )
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


def with_pyg_layers(module: Any) -> Any:  # noqa: ANN401  (torch may be missing)
    """A copy of a module where PyG's layers stand in for those that can become one: explainers know no others."""
    copied = deepcopy(module)
    for owner in list(copied.modules()):
        for name, part in owner.named_children():
            if hasattr(part, "to_pyg"):
                owner.add_module(name, part.to_pyg())
    return copied
