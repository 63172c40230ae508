"""How far attacks can turn a vote of T voters, where each change of the object reaches known voters only.

Class A has most votes, of equals the smallest class wins. It loses to B once the lead n_A − n_B has fallen by `needed`:
by a voter that goes from A to B it falls by 2, from A to another class by 1, and from another class to B by 1.

*Groups*: a change reaches one voter. With gain(g, B, r) the most by which r changes lower what voter g gives to the
lead, an attack with R changes lowers it by the sum of gain(g, B, r_g) over voters, Σ r_g ≤ R: the largest sum is a
knapsack with one choice for each voter. *Grid*: a change reaches all voters of a row, or all of a column.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

Whole = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]


def winners(votes: Whole, n_classes: int) -> tuple[Whole, Whole]:
    """The class with most votes of each row, and by how much its lead over each class must fall; 2·T + 1 over itself.

    Example:
        >>> winners(np.array([[1, 1, 0, 2]]), 3)
        (array([1]), array([[1, 9, 2]]))
    """
    counts = (votes[:, :, None] == np.arange(n_classes)).sum(axis=1)
    answers = counts.argmax(axis=1)
    needed = counts.max(axis=1, keepdims=True) - counts + (np.arange(n_classes) > answers[:, None])
    needed[np.arange(len(votes)), answers] = 2 * votes.shape[1] + 1
    return answers, needed


def largest_gains(votes: Whole, answers: Whole, n_classes: int) -> Whole:
    """What each voter can at most take from the lead over each class, shape (rows, classes, voters)."""
    rivals = np.arange(n_classes)[:, None]
    return np.where(votes[:, None] == rivals, 0, np.where(votes == answers[:, None], 2, 1)[:, None])


def known_gains(votes: Whole, answers: Whole, reached: Truths) -> Whole:
    """What each voter takes from the lead over each class, by the classes that it can be made to answer.

    `reached` has the shape (rows, voters, classes, …), and the gains (rows, classes, voters, …).
    """
    n_classes, more = reached.shape[2], (None,) * (reached.ndim - 3)
    others = reached & (np.arange(n_classes) != votes[..., None])[(..., *more)]
    to_rival = np.moveaxis(others, 2, 1)
    leaves = others.any(axis=2)[:, None]
    for_answer = (votes == answers[:, None])[:, None][(..., *more)]
    gains: Whole = np.where(for_answer, np.maximum(2 * to_rival, leaves), to_rival)
    return gains


def largest_sums(gains: Whole, budget: tuple[int, int]) -> Whole:
    """The largest sum of one gain for each voter, within each budget up to this one: the last two axes.

    gains[…, g, i, j] is what at most i and j changes of two sorts do to voter g, or, at the end of an axis, any number.

    Example:
        >>> largest_sums(np.array([[[0], [0], [2]], [[0], [1], [1]]]), (4, 0))[:, 0]
        array([0, 1, 2, 3, 3])
    """
    voters, first, second = gains.shape[-3:]
    sums = np.zeros((*gains.shape[:-3], budget[0] + 1, budget[1] + 1), dtype=np.int64)
    for voter in range(voters):
        before = sums.copy()
        for i in range(min(first, budget[0] + 1)):
            for j in range(min(second, budget[1] + 1)):
                taken = before[..., : budget[0] + 1 - i, : budget[1] + 1 - j] + gains[..., voter, i, j][..., None, None]
                np.maximum(sums[..., i:, j:], taken, out=sums[..., i:, j:])
    return sums


def grid_sums(gains: Whole, reachable: tuple[Truths, ...], budget: tuple[int, int]) -> Whole:
    """The largest sum of gains in i rows and j columns of a grid, for each i and j up to this budget.

    Every set of rows is tried; given the rows, the best columns are those with the largest sums outside of them. Rows
    that are best by themselves need not be best together with columns. The shorter side counts as rows.

    Example:
        >>> grid_sums(np.array([[2, 0], [1, 1]]), (np.ones(2, bool),) * 2, (1, 1)).tolist()
        [[0, 3], [2, 4]]
    """
    if gains.shape[0] > gains.shape[1]:
        return grid_sums(gains.T, reachable[::-1], budget[::-1]).T
    rows = np.flatnonzero(reachable[0]).tolist()
    sums = np.zeros((budget[0] + 1, budget[1] + 1), dtype=np.int64)
    for size in range(min(budget[0], len(rows)) + 1):
        taken = np.zeros((1, len(gains)), dtype=np.int64).repeat(comb(len(rows), size), axis=0)
        for place, chosen in enumerate(combinations(rows, size)):
            taken[place, list(chosen)] = 1
        left = -np.sort(-((1 - taken) @ gains) * reachable[1], axis=1)
        whole = (taken @ gains.sum(axis=1))[:, None] + np.cumsum(np.pad(left, [(0, 0), (1, 0)]), axis=1)
        best = whole.max(axis=0)
        sums[size:] = np.maximum(sums[size:], best[np.minimum(np.arange(budget[1] + 1), len(best) - 1)])
    return sums
