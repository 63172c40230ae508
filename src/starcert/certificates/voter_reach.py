"""Which classes each of some voters can be made to answer by how many changes, found by trying them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from starcert.certificates.exact import ANY, any_law
from starcert.certificates.exact_certificates import ExactCertificates
from starcert.certificates.group_budgets import Cell
from starcert.math.switched_votes import Truths, Whole
from starcert.objects import Sites
from starcert.objects.binding import Problem
from starcert.objects.laws import Flip
from starcert.objects.noise import Noise
from starcert.objects.threats import Additions, AnyFlips, Box, Deletions, Threat
from starcert.objects.threats.sets import SiteThreat

Ask = Callable[[Problem, Threat], ExactCertificates]
"""What tries the attacks of a threat on each object of a problem: `ExactClassifier(EachClass(base)).certify`."""


class Reached(NamedTuple):
    """What attacks inside a group do to each voter; a row is a graph, or a target of one.

    The last two axes are those of a cell: at most 0, 1, … changes, as many as were tried, then any number; of one sort,
    or of two.
    """

    objects: Whole  # of each row, the number of its graph
    targets: Whole
    votes: Whole  # what each voter answers, shape (rows, voters)
    reached: Truths  # the classes that it is known to answer after an attack, shape (rows, voters, classes, …)
    covered: Truths  # whether that is all that it can answer, shape (rows, voters, …)
    attacks: int  # how many were tried
    forward_passes: int
    graphs: tuple[str, ...]  # their keys
    depth: int
    asker: object = None  # what asked the voters, and alone knows which they are

    @classmethod
    def of(
        cls,
        ask: Ask,
        n_classes: int,
        voters: Sequence[Sites],
        graphs: Sequence[Sites],
        single: Threat | None,
        depth: int,
        most: Cell,
    ) -> Reached:
        """Tries all attacks of at most `depth` changes on each voter.

        Args:
            ask: tries attacks.
            n_classes: of the voters.
            voters: what each sees, and the pairs that reach it; none of these if depth is 0.
            graphs: what the voters see, as many one after the other each.
            single: the changes; None: deletions and additions, counted apart.
            depth: how many changes.
            most: how many of each sort.
        """
        seen = dict[str, int]()  # voters that see the same answer alike: each is asked once
        which = np.array([seen.setdefault(each.clean.key + each.key, len(seen)) for each in voters])
        own = [voters[place] for place in np.unique(which, return_index=True)[1].tolist()]
        which = which.reshape(len(graphs), -1)
        law = Flip(delete=ANY, add=ANY) if single is None and depth else any_law(own[0].layers[0])
        first, second = min(depth, most[0]), min(depth, most[1]) if single is None else 0
        tried = list[tuple[Threat, list[Cell]]]()
        if first:
            within = replace(single or Deletions(1), most=first)  # type: ignore[type-var]
            tried.append((within, [(i, 0) for i in range(1, first + 1)]))
        if second:
            tried.append((Additions(second), [(0, j) for j in range(1, second + 1)]))
        both = ((i, j) for i in range(1, first + 1) for j in range(1, min(second, depth - i) + 1))
        tried += [(Box({"all.delete": i, "all.add": j}), [(i, j)]) for i, j in both]
        problem = Problem(Noise(all=law), tuple(own))
        runs = [(ask(problem, within), cells) for within, cells in tried or [(AnyFlips(1), [])]]

        rows, objects, targets = _rows_of(runs[0][0], which, n_classes)
        shape = first + 2, second + 2 if single is None else 1
        reached, known = np.zeros((*rows.shape, *shape), np.bool_), np.zeros((len(own), *shape), np.bool_)
        known[:, 0, 0] = True
        for run, (i, j) in ((run, cell) for run, cells in runs for cell in cells):
            found = (run.broken_sizes > 0) & (run.broken_sizes <= i + j)
            reached[..., i, j] = found[rows]
            known[:, i, j] = [ends[i + j - 1] <= limit for ends, limit in zip(run.ends, run.limits, strict=True)]
        for axis in (-2, -1):
            np.logical_or.accumulate(reached, axis=axis, out=reached)
        return cls(
            objects,
            targets,
            runs[0][0].labels[rows].argmax(axis=2),
            reached,
            _covered(known, _capacities(own, single, (first, second)))[which[objects]],
            sum(sum(run.tried) for run, _ in runs),
            sum(run.forward_passes for run, _ in runs),
            tuple(each.clean.key for each in graphs),
            depth,
        )


def _rows_of(run: ExactCertificates, which: Whole, n_classes: int) -> tuple[Whole, Whole, Whole]:
    """The row of each target, voter and class, given which object each voter of a graph is; and graphs and targets."""
    sizes = np.bincount(run.objects) // n_classes
    starts = n_classes * (np.cumsum(sizes) - sizes)
    objects = np.repeat(np.arange(len(which)), sizes[which[:, 0]])
    targets = np.concatenate([np.arange(size) for size in sizes[which[:, 0]].tolist()])
    rows = starts[which[objects]][..., None] + n_classes * targets[:, None, None] + np.arange(n_classes)
    return rows, objects, targets


def _capacities(voters: Sequence[Sites], single: Threat | None, tried: Cell) -> Whole:
    """How many changes of each sort there are on each voter, at most one more than were tried."""
    if not any(tried):  # it is not known
        found = np.ones((len(voters), 2), dtype=np.int64)
    elif isinstance(single, SiteThreat):
        found = np.array([(len(np.unique(single.moves(each).site)), 0) for each in voters])
    else:
        found = np.array([(each.graph.n_edges, each.n_sites - each.graph.n_edges) for each in voters])
    return np.asarray(np.minimum(found, np.array(tried) + 1))


def _covered(known: Truths, capacities: Whole) -> Truths:
    """Whether all attacks in each cell were tried: those of a cell are those within the changes that there are."""
    first, second = (np.minimum(np.arange(n), capacities[:, [k]]) for k, n in enumerate(known.shape[1:]))
    return known[np.arange(len(known))[:, None, None], first[:, :, None], second[:, None, :]]
