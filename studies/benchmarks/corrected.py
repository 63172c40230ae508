"""A method for `starcert benchmark`: a blind head with a bounded correction by edges, every attack tried.

    starcert benchmark --data NCI1 --method blind --method studies/benchmarks/corrected.py:Corrected

A forest answers each graph from the counts of its node labels: no attack on edges changes that. Networks that see edges
move its logit by at most a bound. They learn from *cross-fitted* answers of the forest, those that it has for graphs it
has not seen, half from graphs as they are and half from the deleted edge that is worst for them; the mean of some of
them answers. It is there for two classes of undirected graphs with node labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.utils import to_dense_adj, to_dense_batch
from typing_extensions import override

import starcert as sc
from starcert.benchmark.methods import TriedMethod
from starcert.benchmark.networks import BATCH, here
from starcert.benchmark.outcomes import TRIED, Result, Timed, exact_result
from starcert.classifiers import from_pyg
from starcert.datasets import Dataset
from starcert.models.fitting import own_generator

BOUNDS = (1.0, 1.0, 2.0, 2.0)  # how far each network may move the logit
TRIES = (0, 1), (2, 3), (0, 1, 2, 3)  # which networks answer together
HIDDEN, LAYERS, DROPOUT, BATCH_SIZE = 64, 4, 0.3, 128
RATE, DECAY = 2e-3, 1e-3
ATTACKED, SHARE, ALONE, FIRST_KEPT, KEEP_EVERY = 0.5, 0.5, 0.1, 0.3, 3
"""The weight of attacked graphs, the share of deletions tried in a step, the share of epochs without attacks, and from
which share of epochs on, and how often, validation graphs decide which weights are kept."""
AT_ONCE = 2_048  # attacked graphs that are evaluated at once

Real = npt.NDArray[np.float64]
LogitsOf = Callable[[Sequence[sc.Graph]], Real]
"""The blind logits of graphs."""


class Corrected(TriedMethod):
    """A forest on the counts of node labels, and networks that move its logit by at most a bound."""

    name, certifies = "blind, corrected", "a blind logit with a bounded correction; certain"
    trains = False
    settings = TRIES

    @override
    def fits(self, train: Dataset) -> bool:
        graph = train.graphs[0]
        return set(train.known) == {0, 1} and "x" in graph.node_data and not graph.directed

    @override
    def words(self, setting: Sequence[int]) -> str:
        return f"networks {', '.join(map(str, setting))}"

    @override
    def model(self, setting: Sequence[int], train: Dataset, validation: Dataset) -> Timed:
        trained, seconds = self.networks.kept(("corrected", train), partial(self._trained, train, validation))
        every, logits_of = trained  # all are trained at once
        return Timed((Together([every[number] for number in setting]), logits_of), seconds / len(self.settings))

    def _trained(self, train: Dataset, validation: Dataset) -> tuple[list[Correction], LogitsOf]:
        setting, (device, _) = self.networks.setting, here()
        unseen, logits_of = cross_fitted(train, setting.seed)
        taught, held = Dense.of(train, unseen, device), Dense.of(validation, logits_of(validation.graphs), device)
        epochs = max(1, min(setting.max_epochs, setting.steps * BATCH // len(train)))
        with own_generator(setting.seed, device):
            return [trained(Correction(taught.x.shape[2], bound), taught, held, epochs) for bound in BOUNDS], logits_of

    @override
    def judge(self, model: Any, objects: Sequence[sc.Graph], threat: str, *, choosing: bool = False) -> Result:
        network, logits_of = model
        base = from_pyg(network, n_classes=2, features=("x", "blind"), outputs="logit")
        logits = logits_of(objects).astype(np.float32)
        shown = [  # the blind logit at each node: no attack on edges changes it
            sc.Graph(each.n_nodes, each.edges, node_data={"x": each.node_data["x"], "blind": [[z]] * each.n_nodes})
            for each, z in zip(objects, logits, strict=True)
        ]
        return exact_result(base, shown, threat, farthest=TRIED, max_attacks=self.networks.setting.max_attacks)


def cross_fitted(taught: Dataset, seed: int) -> tuple[Real, LogitsOf]:
    """Logits of a forest on the counts of labels: of graphs to learn from by forests that have not seen them.

    And a function that gives those of other graphs, by a forest that has seen all of the first.
    """
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415  (slow to import)
    from sklearn.model_selection import cross_val_predict  # noqa: PLC0415

    def counts(graphs: Sequence[sc.Graph]) -> Real:
        return np.array([np.asarray(graph.node_data["x"]).sum(axis=0) for graph in graphs], dtype=np.float64)

    def logits(found: Real) -> Real:
        kept = np.clip(np.asarray(found)[:, 1], 0.03, 0.97)
        return np.asarray(np.log(kept / (1 - kept)))

    forest = RandomForestClassifier(400, min_samples_leaf=2, random_state=seed)
    unseen = cross_val_predict(forest, counts(taught.graphs), taught.labels, cv=5, method="predict_proba")
    forest.fit(counts(taught.graphs), taught.labels)
    return logits(unseen), lambda graphs: logits(forest.predict_proba(counts(graphs)))


class Dense(NamedTuple):
    """Graphs as dense tensors on a device, padded to the size of the largest."""

    x: Tensor  # one-hot labels, shape (graphs, nodes, labels)
    links: Tensor  # adjacency matrices
    blind: Tensor  # the blind logit of each graph
    classes: Tensor

    @classmethod
    def of(cls, data: Dataset, blind: Real, device: str) -> Dense:
        """From a data set with one-hot labels, and the logits of a blind model."""
        n, kinds = max(graph.n_nodes for graph in data.graphs), np.shape(data.graphs[0].node_data["x"])[1]
        x, links = torch.zeros(len(data), n, kinds), torch.zeros(len(data), n, n)
        for place, graph in enumerate(data.graphs):
            x[place, : graph.n_nodes] = torch.tensor(np.asarray(graph.node_data["x"]), dtype=torch.float32)
            u, v = torch.tensor(np.asarray(graph.edges).reshape(-1, 2)).T
            links[place, u, v] = links[place, v, u] = 1
        found = x, links, torch.tensor(blind, dtype=torch.float32), torch.tensor(data.labels)
        return cls(*(each.to(device) for each in found))

    def some(self, ids: Tensor) -> Dense:
        """Some of the graphs."""
        return Dense(*(each[ids] for each in self))

    def without(self, edges: Tensor) -> Dense:
        """Copies of graphs, each without an edge: rows of the place of the graph and both ends; −1: with all."""
        copies, (_, u, v) = self.some(edges[:, 0]), edges.T
        links, place = copies.links.clone(), torch.arange(len(edges), device=edges.device)
        deleted = u >= 0
        links[place[deleted], u[deleted], v[deleted]] = links[place[deleted], v[deleted], u[deleted]] = 0
        return copies._replace(links=links)


class Correction(nn.Module):
    """The blind logit, scaled, and what edges add to it, at most a bound."""

    def __init__(self, kinds: int, bound: float) -> None:
        super().__init__()
        self.bound, self.scale = bound, nn.Parameter(torch.zeros(1))
        self.first = nn.Parameter(torch.randn(kinds, HIDDEN))
        self.inner = nn.ModuleList(nn.Linear(2 * HIDDEN, HIDDEN) for _ in range(LAYERS))
        self.outer = nn.ModuleList(nn.Linear(HIDDEN, HIDDEN) for _ in range(LAYERS))
        self.read, self.last = nn.Linear(LAYERS * HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, x: Tensor, links: Tensor, blind: Tensor) -> Tensor:
        """The logit of class 1 of each graph."""
        shown, sums, there = x @ self.first, list[Tensor](), x.sum(dim=2, keepdim=True)
        for inner, outer in zip(self.inner, self.outer, strict=True):
            passed = outer(inner(torch.cat([shown, links @ shown], dim=2)).relu())
            passed = functional.layer_norm(passed, passed.shape[-1:]).relu() * there
            shown = shown + passed if sums else passed
            sums.append(shown.sum(dim=1))
        pooled = torch.cat(sums, dim=1).log1p()  # sums of what is 0 or more
        found = self.last(functional.dropout(self.read(pooled).relu(), DROPOUT, self.training)).squeeze(1)
        logit: Tensor = blind * self.scale.exp() + self.bound * torch.tanh(found / self.bound)
        return logit

    def of(self, data: Dense) -> Tensor:
        """The logits of some graphs, positive where right."""
        found: Tensor = self(data.x, data.links, data.blind) * (2 * data.classes - 1)
        return found


class Together(nn.Module):
    """The mean of several corrections, for node labels one-hot with the blind logit in the last column."""

    def __init__(self, some: Sequence[Correction]) -> None:
        super().__init__()
        self.some = nn.ModuleList(some)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """The logit of class 1 of each graph, shape (graphs, 1)."""
        shown, _ = to_dense_batch(x, batch)
        links = to_dense_adj(edge_index, batch, batch_size=len(shown), max_num_nodes=shown.shape[1])
        inputs = shown[:, :, :-1], links, shown[:, 0, -1]  # the blind logit is the same at all nodes of a graph
        return torch.stack([each(*inputs) for each in self.some]).mean(dim=0).unsqueeze(1)


def trained(model: Correction, taught: Dense, held: Dense, epochs: int) -> Correction:
    """The weights that have most validation graphs right, whichever edge is deleted."""
    optimizer = torch.optim.AdamW(model.to(taught.x.device).parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 - epoch / epochs)
    best, kept = -1.0, dict[str, Tensor]()
    for epoch in range(epochs):
        for ids in torch.split(torch.randperm(len(taught.x), device=taught.x.device), BATCH_SIZE):
            optimizer.zero_grad()
            step_loss(model, taught.some(ids), attacked=epoch >= ALONE * epochs).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        schedule.step()
        if epoch + 1 == epochs or (epoch >= FIRST_KEPT * epochs and epoch % KEEP_EVERY == 0):
            least, _ = worst(model.eval(), held, 1.0)
            if (now := float((least > 0).double().mean())) >= best:
                best, kept = now, {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(kept)
    return model.eval()


@torch.no_grad()
def worst(model: Correction, data: Dense, share: float) -> tuple[Tensor, Tensor]:
    """The least logit of each graph, as it is or without an edge of a random share of its edges, and which edge."""
    everything = torch.arange(len(data.x), device=data.x.device)
    edges = data.links.triu().nonzero()
    edges = edges[torch.rand(len(edges), device=edges.device) < share]
    found = torch.cat([model.of(data), *(model.of(data.without(some)) for some in torch.split(edges, AT_ONCE))])
    edges = torch.cat([torch.stack([everything, *[torch.full_like(everything, -1)] * 2], dim=1), edges])
    least = found.new_full((len(data.x),), torch.inf).scatter_reduce(0, edges[:, 0], found, "amin")
    place = torch.arange(len(found), device=found.device)
    hits = torch.where(found == least[edges[:, 0]], place, -1)
    return least, edges[torch.full_like(everything, -1).scatter_reduce(0, edges[:, 0], hits, "amax")]


def step_loss(model: Correction, data: Dense, *, attacked: bool) -> Tensor:
    """The loss of a step: of graphs as they are, and of each after the deletion that is worst for it."""
    clean = functional.softplus(-model.train().of(data)).mean()
    if not attacked:
        return clean
    _, edges = worst(model.eval(), data, SHARE)
    return (1 - ATTACKED) * clean + ATTACKED * functional.softplus(-model.train().of(data.without(edges))).mean()
