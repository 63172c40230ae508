"""Molecules by their atoms first, with a bounded correction by bonds, trained against every single deleted bond.

A forest answers each molecule from the counts of its atoms: no attack on bonds changes that. A network that sees bonds
moves its logit by at most a bound. It learns from *cross-fitted* answers of the forest, those that the forest has for
molecules it has not seen, half from molecules as they are and half from the deletion that is worst for it. Several
such networks are trained at once, side by side in one batch of matrices; the mean of some of them answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from starcert.datasets.dataset import Split
from starcert.models.fitting import own_generator
from starcert.objects import Graph

BOUNDS = (1.0, 1.0, 2.0, 2.0)  # how far each network may move the logit
TRIES: tuple[tuple[int, ...], ...] = (
    (0, 1),
    (2, 3),
    (0, 1, 2, 3),
)  # which networks answer together; the best of these on validation molecules
HIDDEN, LAYERS, DROPOUT, BATCH = 64, 4, 0.3, 128
RATE, DECAY, CLIP = 2e-3, 1e-3, 1.0
ATTACKED, TRIED, ALONE, FIRST_KEPT, KEEP_EVERY = 0.5, 0.5, 0.1, 0.3, 3
"""The weight of attacked molecules, the share of deletions tried in a step, the share of epochs without attacks, and
from which share of epochs on, and how often, validation molecules decide which weights are kept."""
TREES, CROSS, MAX_PROBABILITY = 400, 5, 0.97
AT_ONCE = 8_192  # attacked molecules that are evaluated at once

LogitsOf = Callable[[Sequence[Graph]], npt.NDArray[np.float64]]
"""The blind logits of molecules."""


@dataclass(frozen=True, eq=False)
class Molecules:
    """Molecules as flat tensors on a device: atoms and bonds of all of them, one after the other."""

    atoms: Tensor  # the kind of each atom
    sizes: Tensor  # atoms of each molecule
    bonds: Tensor  # both ends of each bond, by their place in the molecule, shape (bonds, 2)
    counts: Tensor  # bonds of each molecule
    blind: Tensor  # the logit of each molecule from its atoms
    classes: Tensor

    @classmethod
    def of(cls, data: Split, blind: npt.NDArray[np.float64], device: str) -> Molecules:
        """From a data set with one-hot atoms, and the logits of a blind model."""
        graphs = data.graphs
        atoms = np.concatenate([np.asarray(graph.node_data["x"]).argmax(axis=1) for graph in graphs])
        bonds = np.concatenate([np.asarray(graph.edges).reshape(-1, 2) for graph in graphs])
        numbers = [[graph.n_nodes for graph in graphs], [len(graph.edges) for graph in graphs]]
        found = (atoms, numbers[0], bonds, numbers[1], np.asarray(blind, dtype=np.float32), data.labels)
        return cls(*(torch.tensor(np.asarray(each), device=device) for each in found))

    def shown(self, ids: Tensor, skipped: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Copies of molecules, each without a bond: atoms, bonds both ways, whose atoms they are, and blind logits.

        `skipped` is the number of a bond in its molecule, or −1; shape (copies,), or (networks, copies): then bonds
        have the shape (networks, 2, bonds), as many for each.
        """
        places, owners = ragged(self.sizes.cumsum(0) - self.sizes, self.sizes, ids)
        numbers, of_bonds = ragged(self.counts.cumsum(0) - self.counts, self.counts, ids)
        starts, firsts = (each[ids].cumsum(0) - each[ids] for each in (self.sizes, self.counts))
        local = torch.arange(len(numbers), device=ids.device) - firsts[of_bonds]
        both = (self.bonds[numbers] + starts[of_bonds][:, None]).T
        kept = local != skipped[..., of_bonds]
        if skipped.dim() == 2:
            every = both.expand(len(skipped), 2, -1)
            both = torch.stack([every[:, 0][kept], every[:, 1][kept]]).view(2, len(skipped), -1).transpose(0, 1)
        else:
            both = both[:, kept]
        return self.atoms[places], torch.cat([both, both.flip(-2)], dim=-1), owners, self.blind[ids]

    def deletions(self, ids: Tensor, share: float = 1.0) -> tuple[Tensor, Tensor]:
        """All single deletions of some molecules, or a random share: the place in `ids`, and the number of the bond."""
        owners = torch.arange(len(ids), device=ids.device).repeat_interleave(self.counts[ids])
        local = torch.arange(len(owners), device=ids.device) - (self.counts[ids].cumsum(0) - self.counts[ids])[owners]
        if share < 1:
            kept = torch.rand(len(owners), device=ids.device) < share
            owners, local = owners[kept], local[kept]
        return owners, local


def ragged(starts: Tensor, lengths: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The places of the runs with these numbers, one run after the other, and the place in `ids` of each."""
    owners = torch.arange(len(ids), device=ids.device).repeat_interleave(lengths[ids])
    before = lengths[ids].cumsum(0) - lengths[ids]
    return (starts[ids] - before)[owners] + torch.arange(len(owners), device=ids.device), owners


class Stacked(nn.Module):
    """Linear layers of several networks."""

    def __init__(self, networks: int, inputs: int, outputs: int) -> None:
        super().__init__()
        reach = 1 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(networks, inputs, outputs).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.empty(networks, 1, outputs).uniform_(-reach, reach))

    def forward(self, x: Tensor) -> Tensor:
        """From (networks, rows, inputs) to (networks, rows, outputs)."""
        return torch.baddbmm(self.bias, x, self.weight)


class Corrections(nn.Module):
    """Several networks: the blind logit, scaled, and what bonds add to it, at most the bound of each.

    As a classifier it gets atoms one-hot, with the blind logit in the last column, and answers the mean of `chosen`.
    """

    def __init__(self, kinds: int, bounds: Sequence[float] = BOUNDS, hidden: int = HIDDEN) -> None:
        super().__init__()
        n = len(bounds)
        self.chosen = list(range(n))
        self.register_buffer("bounds", torch.tensor(bounds).view(-1, 1))
        self.bounds: Tensor
        self.first = nn.Parameter(torch.randn(n, kinds, hidden))
        self.inner = nn.ModuleList(Stacked(n, 2 * hidden, hidden) for _ in range(LAYERS))
        self.outer = nn.ModuleList(Stacked(n, hidden, hidden) for _ in range(LAYERS))
        self.read, self.last = Stacked(n, LAYERS * hidden, hidden), Stacked(n, hidden, 1)
        self.scale = nn.Parameter(torch.zeros(n, 1))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """The logit of class 1 of each molecule, shape (molecules, 1)."""
        blind = x.new_zeros(int(batch.max()) + 1).scatter(0, batch, x[:, -1])  # the same at all atoms of a molecule
        return self.networks(x[:, :-1].argmax(dim=1), edge_index, batch, blind)[self.chosen].mean(dim=0).unsqueeze(1)

    def networks(self, atoms: Tensor, bonds: Tensor, owners: Tensor, blind: Tensor) -> Tensor:
        """The logit of each network for each molecule; bonds are the same for all, or the first axis is theirs."""
        n, rows = len(self.bounds), len(atoms)
        offsets = torch.arange(n, device=atoms.device).view(-1, 1, 1) * rows
        sources, targets = (bonds + offsets).transpose(0, 1).flatten(1)
        shown, sums = self.first[:, atoms], list[Tensor]()
        for inner, outer in zip(self.inner, self.outer, strict=True):
            flat = shown.flatten(0, 1)
            near = torch.zeros_like(flat).index_add(0, targets, flat[sources]).view_as(shown)
            passed = outer(inner(torch.cat([shown, near], dim=2)).relu())
            passed = functional.layer_norm(passed, passed.shape[-1:]).relu()
            shown = shown + passed if sums else passed
            sums.append(shown.new_zeros(n, len(blind), shown.shape[2]).index_add(1, owners, shown))
        pooled = torch.cat(sums, dim=2).log1p()  # sums of what is 0 or more
        found = self.last(functional.dropout(self.read(pooled).relu(), DROPOUT, self.training)).squeeze(2)
        return blind * self.scale.exp() + self.bounds * torch.tanh(found / self.bounds)


@dataclass(frozen=True, eq=False)
class Tried:
    """Logits of each network, positive where right: of molecules as they are, and after every single deletion."""

    clean: Tensor  # shape (networks, molecules)
    attacked: Tensor  # shape (networks, deletions)
    owners: Tensor  # the molecule of each deletion

    @classmethod
    def of(cls, model: Corrections, data: Molecules, ids: Tensor) -> Tried:
        """All deletions of some molecules."""
        signs, (owners, bonds) = 2 * data.classes[ids] - 1, data.deletions(ids)
        blocks = zip(torch.split(owners, AT_ONCE), torch.split(bonds, AT_ONCE), strict=True)
        with torch.no_grad():
            clean = model.networks(*data.shown(ids, torch.full_like(ids, -1)))
            parts = [model.networks(*data.shown(ids[some], skipped)) for some, skipped in blocks]
        return cls(clean * signs, torch.cat([clean[:, :0], *parts], dim=1) * signs[owners], owners)

    def certified(self, chosen: Iterable[int]) -> float:
        """The share of molecules that the mean of some networks answers right, whichever bond is deleted."""
        some = list(chosen)
        clean, attacked = (each[some].mean(dim=0) for each in (self.clean, self.attacked))
        return float((clean.scatter_reduce(0, self.owners, attacked, "amin") > 0).double().mean())


def cross_fitted(taught: Split, seed: int) -> tuple[npt.NDArray[np.float64], LogitsOf]:
    """Logits of a forest on the counts of atoms: of molecules to learn from by forests that have not seen them.

    And a function that gives those of other molecules, by a forest that has seen all of the first.
    """
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415  (slow to import)
    from sklearn.model_selection import cross_val_predict  # noqa: PLC0415

    def counts(graphs: Sequence[Graph]) -> npt.NDArray[np.float64]:
        return np.array([np.asarray(graph.node_data["x"]).sum(axis=0) for graph in graphs], dtype=np.float64)

    def logits(found: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        kept = np.clip(np.asarray(found)[:, 1], 1 - MAX_PROBABILITY, MAX_PROBABILITY)
        return np.asarray(np.log(kept / (1 - kept)))

    forest = RandomForestClassifier(TREES, min_samples_leaf=2, random_state=seed)
    unseen = cross_val_predict(forest, counts(taught.graphs), taught.labels, cv=CROSS, method="predict_proba")
    forest.fit(counts(taught.graphs), taught.labels)
    return logits(unseen), lambda graphs: logits(forest.predict_proba(counts(graphs)))


def train_corrections(taught: Molecules, held: Molecules, kinds: int, *, epochs: int, seed: int) -> Corrections:
    """Networks trained against deletions; of each the weights that have most validation molecules right and certified.

    Which of `TRIES` answers is chosen on the validation molecules, too.
    """
    device = taught.atoms.device
    everyone, deciding = (torch.arange(len(each.sizes), device=device) for each in (taught, held))
    with own_generator(seed, str(device)):
        model = Corrections(kinds).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 - epoch / epochs)
        best, kept = [-1.0] * len(BOUNDS), {name: value.clone() for name, value in model.state_dict().items()}
        for epoch in range(epochs):
            for ids in torch.split(everyone[torch.randperm(len(everyone), device=device)], BATCH):
                optimizer.zero_grad()
                step_loss(model, taught, ids, attacked=epoch >= ALONE * epochs).backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(model.parameters(), CLIP * math.sqrt(len(BOUNDS)))
                optimizer.step()
            schedule.step()
            if epoch + 1 == epochs or (epoch >= FIRST_KEPT * epochs and epoch % KEEP_EVERY == 0):
                tried = Tried.of(model.eval(), held, deciding)
                for number, before in enumerate(best):
                    if (now := tried.certified([number])) >= before:
                        best[number] = now
                        for name, value in model.state_dict().items():
                            kept[name][number] = value[number]
    model.load_state_dict(kept)
    tried = Tried.of(model.eval(), held, deciding)
    model.chosen = list(max(TRIES, key=tried.certified))
    return model


def step_loss(model: Corrections, data: Molecules, ids: Tensor, *, attacked: bool) -> Tensor:
    """The loss of a step, summed over the networks: each is attacked by the deletion that is worst for itself."""
    wanted = data.classes[ids].to(torch.float32).expand(len(model.bounds), -1)

    def loss(skipped: Tensor) -> Tensor:
        found = model.train().networks(*data.shown(ids, skipped))
        return functional.binary_cross_entropy_with_logits(found, wanted, reduction="none").mean(dim=1).sum()

    clean = loss(torch.full_like(ids, -1))
    if not attacked:
        return clean
    owners, bonds = data.deletions(ids, TRIED)
    with torch.no_grad():
        found = model.eval().networks(*data.shown(ids[owners], bonds)) * (2 * data.classes[ids[owners]] - 1)
    places = owners.expand_as(found)
    worst = found.new_full((len(found), len(ids)), torch.inf).scatter_reduce(1, places, found, "amin")
    hits = torch.where(found == worst.gather(1, places), bonds, -1)
    skipped = torch.full_like(worst, -1, dtype=torch.int64).scatter_reduce(1, places, hits, "amax")
    return (1 - ATTACKED) * clean + ATTACKED * loss(skipped)


def with_blind(graphs: Sequence[Graph], logits: npt.NDArray[np.float64]) -> list[Graph]:
    """The same molecules, with the blind logit at each atom: no attack on bonds changes it."""
    return [
        Graph(
            graph.n_nodes, graph.edges, node_data={"x": graph.node_data["x"], "blind": np.full((graph.n_nodes, 1), z)}
        )
        for graph, z in zip(graphs, logits.astype(np.float32), strict=True)
    ]
