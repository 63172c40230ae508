"""Flips on top of noise, and what several copies of an object lose together: a step of training for certificates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from starcert.classifiers.torch import TorchClassifier
from starcert.models.against import Against
from starcert.models.copies import Inputs

MIN_TRIED = 4  # random pairs that are tried at each object, besides as many as it has edges


def defended_loss(
    base: TorchClassifier,
    inputs: Inputs,
    wanted: Tensor,
    against: Against,
    answers: Callable[[Inputs], Tensor],
    find: Callable[..., Candidates],
    key: tuple[int, ...],
    *,
    directed: bool,
    weights: Tensor | None = None,
) -> Tensor:
    """The loss of several copies of some objects, with flips on top of their noise.

    Args:
        base: what is trained.
        inputs: those of all copies: the first copies of all objects first.
        wanted: the class, or number, of each object.
        against: what to defend against.
        answers: from inputs to outputs, shape (copies, objects, outputs).
        find: from inputs and a generator to what may be flipped.
        key: seeds the flips.
        directed: whether edges are arcs.
        weights: what the loss of an object of each class is multiplied by.
    """
    if against.flips:
        drawing = torch.Generator().manual_seed(hash(key))

        def total(shown: Inputs) -> Tensor:
            return losses_of(answers(shown).flatten(0, 1), wanted.repeat(against.copies)).sum()

        candidates = find(inputs, generator=drawing)
        inputs = flip_worst(base, inputs, candidates, total, against.flips, drawing, directed=directed)
    return loss_of_copies(answers(inputs), wanted, against, weights)


def answers_of_graphs(base: TorchClassifier, n_copies: int, inputs: Inputs) -> Tensor:
    """The logits of several copies of some graphs, shape (copies, graphs, classes)."""
    n_rows = int(_needed(inputs, "batch").max()) + 1
    found = base.logits_from(inputs, n_rows, 0)
    return found.view(n_copies, n_rows // n_copies, -1)


def answers_of_nodes(base: TorchClassifier, n_copies: int, nodes: Tensor, inputs: Inputs) -> Tensor:
    """The logits of some nodes of several copies, shape (copies, nodes, classes)."""
    return base.logits_from(inputs, n_copies, len(_needed(inputs, "batch")) // n_copies)[:, nodes]


def in_copies(nodes: Tensor, n_copies: int, n_nodes: int) -> Tensor:
    """The places of some nodes in all copies but the first."""
    first = torch.arange(1, n_copies, device=nodes.device) * n_nodes
    return (first[:, None] + nodes).flatten()


def loss_of_copies(found: Tensor, wanted: Tensor, against: Against, weights: Tensor | None = None) -> Tensor:
    """The loss of several copies of some objects; `found` has the shape (copies, objects, outputs)."""
    losses = torch.stack([losses_of(each, wanted, weights) for each in found])
    loss = (1 - against.worst) * losses.mean() + against.worst * losses.amax(dim=0).mean()
    if not against.consistency:
        return loss
    if wanted.is_floating_point():
        return loss + against.consistency * found.var(dim=0, unbiased=False).mean()
    logs = found.log_softmax(dim=-1)
    mean = logs.exp().mean(dim=0)
    divergence = (mean * (mean.clamp_min(torch.finfo(mean.dtype).tiny).log() - logs)).sum(dim=-1)
    return loss + against.consistency * divergence.mean()


def losses_of(found: Tensor, wanted: Tensor, weights: Tensor | None = None) -> Tensor:
    """The cross entropy of each class, times the weight of the class, or the squared error of each number."""
    if wanted.is_floating_point():
        return functional.mse_loss(found[:, 0], wanted, reduction="none")
    return functional.cross_entropy(found, wanted, weight=weights, reduction="none")


@dataclass(frozen=True)
class Candidates:
    """Node pairs, or arcs, that may be flipped: both ends by their place in the batch, and whose they are."""

    ends: Tensor  # shape (2, pairs)
    owners: Tensor  # the object that each pair belongs to

    @classmethod
    def of_graphs(cls, inputs: Inputs, *, first: int, generator: torch.Generator, directed: bool) -> Candidates:
        """The edges of all graphs of a batch from number `first` on, and at least as many random pairs of each."""
        edges, batch = _needed(inputs, "edge_index"), _needed(inputs, "batch")
        sizes = torch.bincount(batch)
        starts = sizes.cumsum(0) - sizes
        present = edges if directed else edges[:, edges[0] < edges[1]]
        present = present[:, batch[present[0]] >= first]
        numbers = torch.bincount(batch[present[0]], minlength=len(sizes)) + MIN_TRIED
        numbers[:first] = 0
        owners = torch.arange(len(sizes), device=batch.device).repeat_interleave(numbers)
        chances = torch.rand((2, len(owners)), generator=generator).to(batch.device)
        ends = starts[owners] + (chances * sizes[owners]).long()
        return cls.different(
            torch.cat([present, ends], dim=1), torch.cat([batch[present[0]], owners]), directed=directed
        )

    @classmethod
    def at_nodes(cls, inputs: Inputs, *, nodes: Tensor, generator: torch.Generator, directed: bool) -> Candidates:
        """The edges at some nodes of a batch, and random pairs with each of them; each belongs to its node."""
        edges, n_all = _needed(inputs, "edge_index"), len(_needed(inputs, "batch"))
        number = torch.full((n_all,), -1, device=nodes.device)
        number[nodes] = torch.arange(len(nodes), device=nodes.device)
        present = edges if directed else edges[:, edges[0] < edges[1]]
        owners = number[present].amax(dim=0)
        present, owners = present[:, owners >= 0], owners[owners >= 0]
        owners_of_more = torch.arange(len(nodes), device=nodes.device).repeat_interleave(2 * MIN_TRIED)
        n_nodes = n_all // max(1, int(_needed(inputs, "batch").max()) + 1)
        one = nodes[owners_of_more]
        chances = torch.rand(len(one), generator=generator).to(nodes.device)
        other = one // n_nodes * n_nodes + (chances * n_nodes).long()  # of the same copy
        ends = torch.cat([present, torch.stack([one, other])], dim=1)
        return cls.different(ends, torch.cat([owners, owners_of_more]), directed=directed)

    @classmethod
    def different(cls, ends: Tensor, owners: Tensor, *, directed: bool) -> Candidates:
        """Each pair once, without loops."""
        ends = ends if directed else ends.sort(dim=0).values
        ends, owners = ends[:, ends[0] != ends[1]], owners[ends[0] != ends[1]]
        codes = ends[0] * (int(ends.max()) + 1 if ends.numel() else 1) + ends[1]
        _, places = torch.unique(codes, return_inverse=True)
        first = torch.full((int(places.max()) + 1 if len(places) else 0,), len(places), device=places.device)
        first = first.scatter_reduce(0, places, torch.arange(len(places), device=places.device), reduce="amin")
        return cls(ends[:, first], owners[first])

    def top(self, scores: Tensor, count: int) -> Tensor:
        """The ends of the pairs with the largest scores, at most `count` of each owner."""
        order = scores.argsort(descending=True)
        order = order[self.owners[order].argsort(stable=True)]
        owners = self.owners[order]
        starts = torch.searchsorted(owners, owners)  # where the pairs of its owner begin
        return self.ends[:, order[torch.arange(len(order), device=order.device) - starts < count]]


def flip_worst(
    base: TorchClassifier,
    inputs: Inputs,
    candidates: Candidates,
    loss: Callable[[Inputs], Tensor],
    flips: int,
    generator: torch.Generator,
    *,
    directed: bool,
) -> Inputs:
    """The inputs after `flips` flips at each owner: those of the largest gradient of the loss, or random ones."""
    scores = _gradient(inputs, candidates, loss, directed=directed) if base.takes_edge_weight else None
    if scores is None:
        scores = torch.rand(len(candidates.owners), generator=generator).to(candidates.owners.device)
    return toggle(inputs, candidates.top(scores, flips), generator, directed=directed)


def toggle(inputs: Inputs, ends: Tensor, generator: torch.Generator, *, directed: bool) -> Inputs:
    """The inputs with these pairs flipped; an added edge carries what a random edge does."""
    edges, n_nodes = _needed(inputs, "edge_index"), len(_needed(inputs, "batch"))
    both = ends if directed else torch.cat([ends, ends.flip(0)], dim=1)
    codes, flipped = edges[0] * n_nodes + edges[1], both[0] * n_nodes + both[1]
    kept, added = ~torch.isin(codes, flipped), both[:, ~torch.isin(flipped, codes)]
    found = {**inputs, "edge_index": torch.cat([edges[:, kept], added], dim=1)}
    for name, value in inputs.items():
        if name.startswith("edge_") and name != "edge_index" and value is not None:
            like = torch.randint(max(1, len(value)), (added.shape[1],), generator=generator).to(value.device)
            more = value[like] if len(value) else value.new_zeros((added.shape[1], *value.shape[1:]))
            found[name] = torch.cat([value[kept], more])
    return found


def _gradient(
    inputs: Inputs, candidates: Candidates, loss: Callable[[Inputs], Tensor], *, directed: bool
) -> Tensor | None:
    """How much the loss grows if each pair flips, to first order in edge weights; None if they do not matter to it."""
    edges, n_nodes = _needed(inputs, "edge_index"), len(_needed(inputs, "batch"))
    both = candidates.ends if directed else torch.cat([candidates.ends, candidates.ends.flip(0)], dim=1)
    present = torch.isin(both[0] * n_nodes + both[1], edges[0] * n_nodes + edges[1])
    tried = toggle(
        inputs, candidates.ends[:, ~present[: candidates.ends.shape[1]]], torch.Generator(), directed=directed
    )
    shown = _needed(tried, "edge_index")
    weights = inputs.get("edge_weight")
    known = torch.ones(edges.shape[1], device=edges.device) if weights is None else weights.detach()
    weight = torch.cat([known, known.new_zeros(shown.shape[1] - edges.shape[1])]).requires_grad_()
    (slope,) = torch.autograd.grad(loss({**tried, "edge_weight": weight}), weight, allow_unused=True)
    if slope is None:
        return None
    codes, order = (shown[0] * n_nodes + shown[1]).sort()
    of_both = slope[order][torch.searchsorted(codes, both[0] * n_nodes + both[1])]
    of_both = torch.where(present, -of_both, of_both)
    return of_both if directed else of_both.view(2, -1).sum(dim=0)


def _needed(inputs: Inputs, name: str) -> Tensor:
    value = inputs[name]
    assert value is not None
    return value
