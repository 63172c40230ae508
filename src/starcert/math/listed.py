"""Listed attacks, as they are weighed: by how many sites they change on each axis, and as rows of choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import AttackAxis
from starcert.system.errors import InvalidParameterError

Whole = npt.NDArray[np.int64]
AttackList = Sequence[Sequence[Whole]]
"""For each size, from 1 on, its attacks: arrays of shape (attacks, sites), numbers as in `AttackAxis.attacked`."""


class LevelAttacks(NamedTuple):
    """Attacks that change the same number of sites on each axis: all of that level, or those in `rows`.

    A row has the numbers of an attack's choices, axis after axis, as `weigh` takes them; rows are in lexicographic
    order.
    """

    level: tuple[int, ...]
    rows: Whole | None = None

    @property
    def attacked(self) -> tuple[int, ...]:
        """The axes that are attacked."""
        return tuple(axis for axis, number in enumerate(self.level) if number)

    def attack(self, axes: Sequence[AttackAxis], row: int) -> tuple[int, ...]:
        """The attacked sites of one of the rows, see `AttackAxis.attacked`, ascending."""
        assert self.rows is not None
        found, place, first = list[int](), 0, 0
        for axis in self.attacked:
            choices = self.rows[row, place : place + self.level[axis]] - first
            found += axes[axis].attacked(choices).tolist()
            place, first = place + self.level[axis], first + axes[axis].n_choices
        return tuple(sorted(found))


def changed_sites(attacks: AttackList, n_sites: int) -> Whole:
    """The sites that attacks change, of an object with this many; ascending."""
    changed = [block.ravel() % max(n_sites, 1) for blocks in attacks for block in blocks]
    return np.unique(np.concatenate([np.empty(0, np.int64), *changed]))


def group_attacks(axes: Sequence[AttackAxis], blocks: Sequence[Whole]) -> list[LevelAttacks]:
    """The attacks of one size by level; refused unless each gives different sites of these axes other values."""
    sizes = [axis.n_choices for axis in axes]
    known = np.concatenate([np.empty(0, np.int64), *(axis.attacked(range(axis.n_choices)) for axis in axes)])
    owners = np.concatenate([np.empty(0, np.int64), *(np.repeat(axis.sites, axis.law.moves) for axis in axes)])
    of_choice = np.repeat(np.arange(len(axes)), sizes)
    shared = len(np.unique(owners)) < len(owners)  # whether there are several choices for some sites
    order = np.argsort(known, kind="stable")
    ascending, found = known[order], []
    for block in blocks:
        places = np.minimum(np.searchsorted(ascending, block), max(len(known) - 1, 0))
        if block.ndim != 2 or not block.size or not len(known) or (ascending[places] != block).any():
            raise InvalidParameterError("attacks", "change sites of the axes of the noise", block.tolist()[:3])
        choices = np.sort(order[places], axis=1)
        taken = np.sort(owners[choices], axis=1) if shared else choices
        if (taken[:, 1:] == taken[:, :-1]).any():
            raise InvalidParameterError("attacks", "change each site once", block.tolist()[:3])
        of_axis = of_choice[choices]
        # As choices ascend, so do their axes: the rows of axes are the levels.
        numbers = row_numbers(of_axis)
        for number in np.unique(numbers):
            here = np.flatnonzero(numbers == number)
            level = np.bincount(of_axis[here[0]], minlength=len(axes)).tolist()
            skipped = np.cumsum([0 if attacked else size for attacked, size in zip(level, sizes, strict=True)])
            rows = choices[here] - skipped[of_axis[here[0]]]
            found.append(LevelAttacks(tuple(level), rows[_order(rows)]))
    return found


def row_numbers(rows: Whole) -> Whole:
    """A number for each row: rows in lexicographic order have ascending numbers, and equal rows the same."""
    width = int(rows.max(initial=0)) + 1
    if width ** rows.shape[1] < 2**62:
        found: Whole = rows @ width ** np.arange(rows.shape[1] - 1, -1, -1)
        return found
    keys = rows[:, 0]
    for column in rows.T[1:]:
        keys = np.unique(keys, return_inverse=True)[1] * width + column
    return keys


def _order(rows: Whole) -> Whole | slice:
    """The order of rows that puts them into lexicographic order: mostly they come in it."""
    numbers = row_numbers(rows)
    return slice(None) if (numbers[1:] > numbers[:-1]).all() else np.argsort(numbers, kind="stable")
