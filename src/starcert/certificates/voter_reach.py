"""Which classes each of some voters can be made to answer by how many changes, found by trying them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from starcert.certificates.exact import ANY, any_law
from starcert.certificates.exact_certificates import ExactCertificates
from starcert.math.switched_votes import Truths, Whole
from starcert.objects import Sites
from starcert.objects.binding import Problem
from starcert.objects.laws import Flip
from starcert.objects.noise import Noise
from starcert.objects.threats import AnyFlips, Box, Threat
from starcert.objects.threats.sets import SiteThreat

Ask = Callable[[Problem, Threat], ExactCertificates]
"""What tries the attacks of a threat on each object of a problem: `ExactClassifier(EachClass(base)).certify`."""


class Reached(NamedTuple):
    """What attacks inside a group do to each voter; a row is a graph, or a target of one.

    The last two axes are those of a cell: at most 0, 1, … `depth` changes, then any number; of one sort, or of two.
    """

    objects: Whole  # of each row, the number of its graph
    targets: Whole
    votes: Whole  # what each voter answers, shape (rows, voters)
    reached: Truths  # the classes that it is known to answer after an attack, shape (rows, voters, classes, …)
    covered: Truths  # whether that is all that it can answer, shape (rows, voters, …)
    attacks: int  # how many were tried
    forward_passes: int

    @classmethod
    def of(
        cls, ask: Ask, n_classes: int, voters: Sequence[Sites], n_voters: int, single: Threat | None, depth: int
    ) -> Reached:
        """Tries all attacks of at most `depth` changes on each voter; `n_voters` one after the other see one graph.

        Args:
            ask: tries attacks.
            n_classes: of the voters.
            voters: what each sees, and the pairs that reach it; none of these if depth is 0.
            n_voters: how many see each graph.
            single: the changes; None: deletions and additions, counted apart.
            depth: how many changes.
        """
        seen = dict[str, int]()  # voters that see the same answer alike: each is asked once
        which = np.array([seen.setdefault(each.clean.key + each.key, len(seen)) for each in voters])
        own = [voters[place] for place in np.unique(which, return_index=True)[1].tolist()]
        law = Flip(delete=ANY, add=ANY) if single is None and depth else any_law(own[0].layers[0])
        problem = Problem(Noise(all=law), tuple(own))
        if depth == 0 or isinstance(single, SiteThreat):
            within = replace(single, most=depth) if depth and isinstance(single, SiteThreat) else AnyFlips(1)  # type: ignore[type-var]
            runs = [ask(problem, within)]
            cells = [(size, 0) for size in range(1, depth + 1)]
        else:
            cells = [(i, size - i) for size in range(1, depth + 1) for i in range(size + 1)]
            boxes = [Box({"all.delete": i, "all.add": j}) for i, j in cells]
            runs = [ask(problem, box) for box in boxes]

        rows, objects, targets = _rows_of(runs[0], which.reshape(-1, n_voters), n_classes)
        shape = depth + 2, depth + 2 if single is None else 1
        reached, known = np.zeros((*rows.shape, *shape), np.bool_), np.zeros((len(own), *shape), np.bool_)
        known[:, 0, 0] = True
        for (i, j), run in zip(cells, runs if len(runs) > 1 else runs * len(cells), strict=True):
            found = (run.broken_sizes > 0) & (run.broken_sizes <= i + j)
            reached[..., i, j] = found[rows]
            known[:, i, j] = [ends[i + j - 1] <= limit for ends, limit in zip(run.ends, run.limits, strict=True)]
        for axis in (-2, -1):
            np.logical_or.accumulate(reached, axis=axis, out=reached)
        return cls(
            objects,
            targets,
            runs[0].labels[rows].argmax(axis=2),
            reached,
            _covered(known, _capacities(own, single, depth))[which.reshape(-1, n_voters)[objects]],
            sum(sum(run.tried) for run in runs),
            sum(run.forward_passes for run in runs),
        )


def _rows_of(run: ExactCertificates, which: Whole, n_classes: int) -> tuple[Whole, Whole, Whole]:
    """The row of each target, voter and class, given which object each voter of a graph is; and graphs and targets."""
    sizes = np.bincount(run.objects) // n_classes
    starts = n_classes * (np.cumsum(sizes) - sizes)
    objects = np.repeat(np.arange(len(which)), sizes[which[:, 0]])
    targets = np.concatenate([np.arange(size) for size in sizes[which[:, 0]].tolist()])
    rows = starts[which[objects]][..., None] + n_classes * targets[:, None, None] + np.arange(n_classes)
    return rows, objects, targets


def _capacities(voters: Sequence[Sites], single: Threat | None, depth: int) -> Whole:
    """How many changes of each sort there are on each voter, at most one more than were tried."""
    if depth == 0:  # it is not known
        found = np.ones((len(voters), 2), dtype=np.int64)
    elif isinstance(single, SiteThreat):
        found = np.array([(len(np.unique(single.moves(each).site)), 0) for each in voters])
    else:
        found = np.array([(each.graph.n_edges, each.n_sites - each.graph.n_edges) for each in voters])
    return np.minimum(found, depth + 1)


def _covered(known: Truths, capacities: Whole) -> Truths:
    """Whether all attacks in each cell were tried: those of a cell are those within the changes that there are."""
    first, second = (np.minimum(np.arange(n), capacities[:, [k]]) for k, n in enumerate(known.shape[1:]))
    return known[np.arange(len(known))[:, None, None], first[:, :, None], second[:, None, :]]
