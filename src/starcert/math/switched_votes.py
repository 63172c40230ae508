"""The effect of attacks on a vote of T voters, where each change of the object reaches one voter only.

Class A has most votes, of equals the smallest class wins. It loses to B once the lead n_A − n_B has fallen by `needed`:
by a voter that goes from A to B it falls by 2, from A to another class by 1, and from another class to B by 1.

A change reaches one voter. With gain(g, B, r) the most by which r changes lower what voter g gives to the lead, an
attack with R changes lowers it by the sum of gain(g, B, r_g) over voters, Σ r_g ≤ R: the largest sum is a knapsack with
one choice for each voter.
"""

from __future__ import annotations

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
    """The most that each voter can take from the lead over each class, shape (rows, classes, voters)."""
    rivals = np.arange(n_classes)[:, None]
    return np.where(votes[:, None] == rivals, 0, np.where(votes == answers[:, None], 2, 1)[:, None])


def known_gains(votes: Whole, answers: Whole, reached: Truths) -> Whole:
    """The number that each voter takes from the lead over each class, by the classes that it can be made to answer.

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
    sums = np.zeros((*gains.shape[:-3], budget[0] + 1, budget[1] + 1), dtype=np.int64)
    for voter in range(gains.shape[-3]):
        sums = _with_voter(sums, gains[..., voter, :, :])
    return sums


def best_division(gains: Whole, budget: tuple[int, int]) -> list[tuple[int, int]]:
    """The changes of two sorts that each voter gets where gains, shape (voters, …, …), add up to the largest sum.

    Example:
        >>> best_division(np.array([[[0], [0], [2]], [[0], [1], [1]]]), (2, 0))
        [(2, 0), (0, 0)]
    """
    sums = [np.zeros((budget[0] + 1, budget[1] + 1), dtype=np.int64)]
    for gain in gains:
        sums.append(_with_voter(sums[-1], gain))
    (i, j), found = budget, list[tuple[int, int]]()
    for before, after, gain in zip(sums[-2::-1], sums[:0:-1], gains[::-1], strict=True):
        own = next(
            (a, b)
            for a in range(min(len(gain), i + 1))
            for b in range(min(gain.shape[1], j + 1))
            if before[i - a, j - b] + gain[a, b] == after[i, j]
        )
        i, j = i - own[0], j - own[1]
        found.append(own)
    return found[::-1]


def _with_voter(before: Whole, gains: Whole) -> Whole:
    """The largest sums with one voter more."""
    sums, (most_first, most_second) = before.copy(), before.shape[-2:]
    for i in range(min(gains.shape[-2], most_first)):
        for j in range(min(gains.shape[-1], most_second)):
            taken = before[..., : most_first - i, : most_second - j] + gains[..., i, j][..., None, None]
            np.maximum(sums[..., i:, j:], taken, out=sums[..., i:, j:])
    return sums
