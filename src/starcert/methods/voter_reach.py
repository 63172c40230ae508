"""The changes that a threat allows inside groups of node pairs, and their effect on voters that see one group each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from starcert.claims.certificates import Certificates
from starcert.math.switched_votes import Truths, Whole
from starcert.methods.exhaustive import ANY, any_law
from starcert.methods.tried_attacks import TriedAttacks
from starcert.objects import Sites
from starcert.objects.binding import Problem
from starcert.objects.laws import Flip
from starcert.objects.noise import Noise
from starcert.objects.threats import (
    Additions,
    AnyFlips,
    Box,
    Changes,
    Controlled,
    Deletions,
    LocalBudget,
    Rewire,
    Swap,
    Then,
    Threat,
    Where,
)
from starcert.objects.threats.sets import SiteThreat
from starcert.system.errors import InvalidParameterError

Cell = tuple[int, int]
"""At most i deletions and j additions; (i, 0) where there is one sort of changes."""

SINGLE = (AnyFlips, Deletions, Additions, Changes, Controlled, Where)  # any set of allowed changes, of a size each

Ask = Callable[[Problem, Threat], Certificates[TriedAttacks]]
"""Tries the attacks of a threat on each object of a problem: `ExactClassifier(EachClass(base)).certify`."""


class Budget(NamedTuple):
    """The changes that a threat allows, as budgets that add up over groups of node pairs."""

    cells: list[list[Cell]]  # of each size: every attack lies within one of its cells
    single: Threat | None = None  # what is tried inside a group; None: deletions and additions
    relaxed: str = ""  # what is certified in place of the threat, which is part of it; "": the threat itself


def budget_of(threat: Threat, *, typed: bool, apart: bool = False) -> Budget:
    """The budget of a threat on graphs, of typed edges or not; others are refused.

    `apart`: flips, deletions and additions are counted as deletions and additions, like all that is tried once.

    A rewired edge deletes one and adds one, two that exchange ends two each; of typed edges, one site may see both.

    Example:
        >>> budget_of(Rewire(2), typed=False).cells, budget_of(Deletions(1) + Additions(1), typed=False).cells
        ([[(1, 1)], [(2, 2)]], [[(0, 1), (1, 0)], [(0, 1), (1, 1)]])
    """
    sizes = range(1, threat.most + 1)

    def shared(first: int, second: int) -> list[list[Cell]]:
        """All ways to divide each size between two sorts with these limits."""
        return [[(i, min(size - i, second)) for i in range(min(size, first) + 1)] for size in sizes]

    if apart and type(threat) in (AnyFlips, Deletions, Additions):
        most = threat.most
        return Budget(shared(most * (type(threat) is not Additions), most * (type(threat) is not Deletions)))
    if type(threat) in SINGLE:
        return Budget([[(size, 0)] for size in sizes], threat)
    if type(threat) in (Rewire, Swap):
        each = 1 if isinstance(threat, Rewire) else 2
        most = each * threat.most
        if typed:
            return Budget([[(2 * each * size, 0)] for size in sizes], AnyFlips(2 * most), str(AnyFlips(2 * most)))
        return Budget([[(each * size, each * size)] for size in sizes], None, str(Deletions(most) + Additions(most)))
    if type(threat) is LocalBudget:
        return Budget([[(size, 0)] for size in sizes], AnyFlips(threat.most), str(AnyFlips(threat.most)))
    if isinstance(threat, Then) and not typed:
        counts = {type(part): part.most for part in threat.parts}
        if counts.keys() == {Deletions, Additions} and len(threat.parts) == 2:
            return Budget(shared(counts[Deletions], counts[Additions]))
    hint = "Take flips:2, deletions:2, additions:2, deletions:1 + additions:1, rewire:1, swap:1, local:2,per_node=1."
    raise InvalidParameterError("threat", "be one that adds up over groups of pairs, or is part of one", threat, hint)


class Reached(NamedTuple):
    """The effect of attacks inside a group on each voter; a row is a graph, or a target of one.

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
        threats = list[tuple[Threat, list[Cell]]]()
        if first:
            within = replace(single or Deletions(1), most=first)  # type: ignore[type-var]
            threats.append((within, [(i, 0) for i in range(1, first + 1)]))
        if second:
            threats.append((Additions(second), [(0, j) for j in range(1, second + 1)]))
        both = ((i, j) for i in range(1, first + 1) for j in range(1, min(second, depth - i) + 1))
        threats += [(Box({"all.delete": i, "all.add": j}), [(i, j)]) for i, j in both]
        problem = Problem(Noise(all=law), tuple(own))
        runs = [(ask(problem, within), cells) for within, cells in threats or [(AnyFlips(1), [])]]

        rows, objects, targets = _rows_of(runs[0][0], which, n_classes)
        shape = first + 2, second + 2 if single is None else 1
        reached, known = np.zeros((*rows.shape, *shape), np.bool_), np.zeros((len(own), *shape), np.bool_)
        known[:, 0, 0] = True
        for run, (i, j) in ((run, cell) for run, cells in runs for cell in cells):
            found = (run.broken_sizes > 0) & (run.broken_sizes <= i + j)
            reached[..., i, j] = found[rows]
            known[:, i, j] = [
                ends[i + j - 1] <= limit for ends, limit in zip(run.proof.ends, run.proof.limits, strict=True)
            ]
        for axis in (-2, -1):
            np.logical_or.accumulate(reached, axis=axis, out=reached)
        return cls(
            objects,
            targets,
            runs[0][0].labels[rows].argmax(axis=2),
            reached,
            _covered(known, _capacities(own, single, (first, second)))[which[objects]],
            sum(sum(run.proof.tried) for run, _ in runs),
            sum(run.proof.forward_passes for run, _ in runs),
            tuple(each.clean.key for each in graphs),
            depth,
        )


def _rows_of(run: Certificates[TriedAttacks], which: Whole, n_classes: int) -> tuple[Whole, Whole, Whole]:
    """The row of each target, voter and class, given which object each voter of a graph is; and graphs and targets."""
    sizes = np.bincount(run.objects) // n_classes
    starts = n_classes * (np.cumsum(sizes) - sizes)
    objects = np.repeat(np.arange(len(which)), sizes[which[:, 0]])
    targets = np.concatenate([np.arange(size) for size in sizes[which[:, 0]].tolist()])
    rows = starts[which[objects]][..., None] + n_classes * targets[:, None, None] + np.arange(n_classes)
    return rows, objects, targets


def _capacities(voters: Sequence[Sites], single: Threat | None, tried: Cell) -> Whole:
    """The number of changes of each sort on each voter, at most one more than were tried."""
    if not any(tried):  # it is not known
        found = np.ones((len(voters), 2), dtype=np.int64)
    elif isinstance(single, SiteThreat):
        found = np.array([(len(np.unique(single.moves(each).site)), 0) for each in voters])
    else:
        found = np.array([(each.graph.n_edges, each.n_sites - each.graph.n_edges) for each in voters])
    return np.asarray(np.minimum(found, np.array(tried) + 1))


def _covered(known: Truths, capacities: Whole) -> Truths:
    """True if all attacks in each cell were tried: those of a cell are those within the changes that there are."""
    first, second = (np.minimum(np.arange(n), capacities[:, [k]]) for k, n in enumerate(known.shape[1:]))
    return known[np.arange(len(known))[:, None, None], first[:, :, None], second[:, None, :]]
