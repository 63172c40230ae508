"""A method for `starcert benchmark`: a blind head with a bounded correction by edges, every attack tried.

    starcert benchmark --data NCI1 --method blind --method studies/benchmarks/corrected.py:Corrected

A forest answers each graph from the counts of its node labels: no attack on edges changes that. Networks that see edges
move its logit by at most a bound. They learn from *cross-fitted* answers of the forest, those that it has for graphs it
has not seen, half from graphs as they are and half from the deleted edge that is worst for them; the mean of some of
them answers. It is there for two classes of undirected graphs with node labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

import starcert as sc
from starcert.benchmark.methods import TRIED, TriedMethod
from starcert.benchmark.outcomes import Result, exact_result
from starcert.benchmark.work import BATCH, Timed, here
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
AT_ONCE = 8_192  # attacked graphs that are evaluated at once

Real = npt.NDArray[np.float64]
LogitsOf = Callable[[Sequence[sc.Graph]], Real]
"""The blind logits of graphs."""


class Corrected(TriedMethod):
    """A forest on the counts of node labels, and networks that move its logit by at most a bound."""

    name, certifies = "blind, corrected", "a blind logit with a bounded correction; certain"
    trains = False
    settings = TRIES

    @override
    @classmethod
    def fits(cls, train: Dataset) -> bool:
        graph = train.graphs[0]
        return set(train.known) == {0, 1} and "x" in graph.node_data and not graph.directed

    @override
    def words(self, setting: Sequence[int]) -> str:
        return f"networks {', '.join(map(str, setting))}"

    @override
    def model(self, setting: Sequence[int], train: Dataset, validation: Dataset) -> Timed:
        made = self.networks.once(lambda: self._trained(train, validation), "corrected", id(train), about=train)
        (every, logits_of), seconds = made
        chosen = Together([every[number] for number in setting])
        return Timed((chosen, logits_of), seconds / len(self.networks.tries(self.settings)))  # all are trained at once

    def _trained(self, train: Dataset, validation: Dataset) -> tuple[list[Correction], LogitsOf]:
        work, (device, _) = self.networks.work, here()
        unseen, logits_of = cross_fitted(train, work.seed)
        taught, held = Flat.of(train, unseen, device), Flat.of(validation, logits_of(validation.graphs), device)
        epochs = max(1, min(work.max_epochs, work.steps * BATCH // len(train)))
        kinds = np.shape(train.graphs[0].node_data["x"])[1]
        with own_generator(work.seed, device):
            return [trained(Correction(kinds, bound), taught, held, epochs) for bound in BOUNDS], logits_of

    @override
    def judge(self, model: Any, objects: Sequence[sc.Graph], threat: str, *, choosing: bool = False) -> Result:
        network, logits_of = model
        base = from_pyg(network, n_classes=2, features=("x", "blind"), outputs="logit")
        logits = logits_of(objects).astype(np.float32)
        shown = [  # the blind logit at each node: no attack on edges changes it
            sc.Graph(each.n_nodes, each.edges, node_data={"x": each.node_data["x"], "blind": [[z]] * each.n_nodes})
            for each, z in zip(objects, logits, strict=True)
        ]
        return exact_result(base, shown, threat, farthest=TRIED, max_attacks=self.networks.work.max_attacks)


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


@dataclass(frozen=True, eq=False)
class Flat:
    """Graphs as flat tensors on a device: nodes and edges of all of them, one after the other."""

    kinds: Tensor  # the label of each node
    sizes: Tensor  # nodes of each graph
    edges: Tensor  # both ends of each edge, by their place in the graph, shape (edges, 2)
    counts: Tensor  # edges of each graph
    blind: Tensor  # the blind logit of each graph
    classes: Tensor

    @classmethod
    def of(cls, data: Dataset, blind: Real, device: str) -> Flat:
        """From a data set with one-hot labels, and the logits of a blind model."""
        graphs = data.graphs
        kinds = np.concatenate([np.asarray(graph.node_data["x"]).argmax(axis=1) for graph in graphs])
        edges = np.concatenate([np.asarray(graph.edges).reshape(-1, 2) for graph in graphs])
        numbers = [[graph.n_nodes for graph in graphs], [len(graph.edges) for graph in graphs]]
        found = (kinds, numbers[0], edges, numbers[1], np.asarray(blind, dtype=np.float32), data.labels)
        return cls(*(torch.tensor(np.asarray(each), device=device) for each in found))

    def copies(self, ids: Tensor, skipped: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Copies of graphs, each without one of its edges (−1: with all): labels, edges both ways, owners, logits."""
        places, owners = runs(self.sizes, ids)
        numbers, of_edges = runs(self.counts, ids)
        starts, firsts = (each[ids].cumsum(0) - each[ids] for each in (self.sizes, self.counts))
        kept = torch.arange(len(numbers), device=ids.device) - firsts[of_edges] != skipped[of_edges]
        both = (self.edges[numbers] + starts[of_edges][:, None])[kept].T
        return self.kinds[places], torch.cat([both, both.flip(0)], dim=1), owners, self.blind[ids]

    def deletions(self, ids: Tensor, share: float = 1.0) -> tuple[Tensor, Tensor]:
        """All single deletions of some graphs, or a random share: the place in `ids`, and the number of the edge."""
        _, owners = runs(self.counts, ids)
        local = torch.arange(len(owners), device=ids.device) - (self.counts[ids].cumsum(0) - self.counts[ids])[owners]
        kept = torch.rand(len(owners), device=ids.device) < share
        return owners[kept], local[kept]


def runs(lengths: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The places of the runs with these numbers, one run after the other, and the place in `ids` of each."""
    owners = torch.arange(len(ids), device=ids.device).repeat_interleave(lengths[ids])
    starts, before = (each.cumsum(0) - each for each in (lengths, lengths[ids]))
    return (starts[ids] - before)[owners] + torch.arange(len(owners), device=ids.device), owners


class Correction(nn.Module):
    """The blind logit, scaled, and what edges add to it, at most a bound."""

    def __init__(self, kinds: int, bound: float) -> None:
        super().__init__()
        self.bound, self.scale = bound, nn.Parameter(torch.zeros(1))
        self.first = nn.Embedding(kinds, HIDDEN)
        self.inner = nn.ModuleList(nn.Linear(2 * HIDDEN, HIDDEN) for _ in range(LAYERS))
        self.outer = nn.ModuleList(nn.Linear(HIDDEN, HIDDEN) for _ in range(LAYERS))
        self.read, self.last = nn.Linear(LAYERS * HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, kinds: Tensor, edges: Tensor, owners: Tensor, blind: Tensor) -> Tensor:
        """The logit of class 1 of each graph."""
        shown, sums = self.first(kinds), list[Tensor]()
        for inner, outer in zip(self.inner, self.outer, strict=True):
            near = torch.zeros_like(shown).index_add(0, edges[1], shown[edges[0]])
            passed = outer(inner(torch.cat([shown, near], dim=1)).relu())
            passed = functional.layer_norm(passed, passed.shape[-1:]).relu()
            shown = shown + passed if sums else passed
            sums.append(shown.new_zeros(len(blind), HIDDEN).index_add(0, owners, shown))
        pooled = torch.cat(sums, dim=1).log1p()  # sums of what is 0 or more
        found = self.last(functional.dropout(self.read(pooled).relu(), DROPOUT, self.training)).squeeze(1)
        logit: Tensor = blind * self.scale.exp() + self.bound * torch.tanh(found / self.bound)
        return logit


class Together(nn.Module):
    """The mean of several corrections, for node labels one-hot with the blind logit in the last column."""

    def __init__(self, some: Sequence[Correction]) -> None:
        super().__init__()
        self.some = nn.ModuleList(some)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """The logit of class 1 of each graph, shape (graphs, 1)."""
        blind = x.new_zeros(int(batch.max()) + 1).scatter(0, batch, x[:, -1])  # the same at all nodes of a graph
        kinds = x[:, :-1].argmax(dim=1)
        return torch.stack([each(kinds, edge_index, batch, blind) for each in self.some]).mean(dim=0).unsqueeze(1)


def trained(model: Correction, taught: Flat, held: Flat, epochs: int) -> Correction:
    """The weights that have most validation graphs right, whichever edge is deleted."""
    device = taught.kinds.device
    everyone, deciding = (torch.arange(len(each.sizes), device=device) for each in (taught, held))
    optimizer = torch.optim.AdamW(model.to(device).parameters(), lr=RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 - epoch / epochs)
    best, kept = -1.0, dict[str, Tensor]()
    for epoch in range(epochs):
        for ids in torch.split(everyone[torch.randperm(len(everyone), device=device)], BATCH_SIZE):
            optimizer.zero_grad()
            step_loss(model, taught, ids, attacked=epoch >= ALONE * epochs).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        schedule.step()
        if epoch + 1 == epochs or (epoch >= FIRST_KEPT * epochs and epoch % KEEP_EVERY == 0):
            clean, attacked, owners, _ = margins(model.eval(), held, deciding)
            now = float((clean.scatter_reduce(0, owners, attacked, "amin") > 0).double().mean())
            if now >= best:
                best, kept = now, {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(kept)
    return model.eval()


def margins(model: Correction, data: Flat, ids: Tensor, share: float = 1.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits, positive where right: of graphs, and of single deletions with the graph and the edge of each."""
    signs, (owners, edges) = 2 * data.classes[ids] - 1, data.deletions(ids, share)
    blocks = zip(torch.split(owners, AT_ONCE), torch.split(edges, AT_ONCE), strict=True)
    with torch.no_grad():
        clean = model(*data.copies(ids, torch.full_like(ids, -1))) * signs
        parts = [model(*data.copies(ids[some], skipped)) for some, skipped in blocks]
    return clean, torch.cat(parts) * signs[owners], owners, edges


def step_loss(model: Correction, data: Flat, ids: Tensor, *, attacked: bool) -> Tensor:
    """The loss of a step: of graphs as they are, and of each after the deletion that is worst for it."""
    wanted, whole = data.classes[ids].to(torch.float32), torch.full_like(ids, -1)
    if not attacked:
        return functional.binary_cross_entropy_with_logits(model.train()(*data.copies(ids, whole)), wanted)
    clean, found, owners, edges = margins(model.eval(), data, ids, SHARE)
    worst = torch.full_like(clean, torch.inf).scatter_reduce(0, owners, found, "amin")
    skipped = whole.scatter_reduce(0, owners, torch.where(found == worst[owners], edges, -1), "amax")
    losses = [functional.binary_cross_entropy_with_logits(model.train()(*data.copies(ids, some)), wanted)
              for some in (whole, skipped)]  # fmt: skip
    return (1 - ATTACKED) * losses[0] + ATTACKED * losses[1]
