"""Evidence about a list of attacks: what the votes on one object prove about each attack that an attacker can make.

The attacks of a threat come size after size: r rewired edges, r flips at the nodes that he controls. An attack of one
size may change any number of sites, of any axes. All of them are listed, none is pooled.

**Where alpha goes.** A size is only taken for certified when all smaller ones are, and every one of its attacks is
proved to be harmless. So something false is claimed only if, of the smallest size that is broken, one certain attack
that breaks it is taken for harmless: alpha is divided neither between attacks nor between sizes. That the list is
complete is a premise; about attacks that are not on it nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import AttackAxis
from starcert.math.bets import OwnBet, needed
from starcert.math.evidence import FlipEvidence, Level, Weighed
from starcert.math.pooling import Scheme
from starcert.math.weighing import Weights
from starcert.system.errors import InvalidParameterError

Whole = npt.NDArray[np.int64]
AttackList = Sequence[Sequence[Whole]]
"""For each size, from 1 on, its attacks: arrays of shape (attacks, sites), numbers as in `AttackAxis.attacked`."""


class Group(NamedTuple):
    """Attacks that change the same number of sites on each axis."""

    level: Level
    rows: Whole  # the choices of each attack, axis after axis (see `weigh`), in lexicographic order
    attacks: Whole  # the attacked sites of each, in the same order

    @property
    def scheme(self) -> Scheme:
        """All attacked axes, listed."""
        return Scheme(tuple(axis for axis, number in enumerate(self.level) if number), len(self.rows), Fraction(1))


def group_attacks(axes: Sequence[AttackAxis], blocks: Sequence[Whole]) -> list[Group]:
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
            ordered = _lexicographic(rows)
            found.append(Group(tuple(level), rows[ordered], block[here][ordered]))
    return found


class GroupedOnce:
    """The attacks of a list by size and level: made once while the same list is asked about, as for all its targets."""

    def __init__(self) -> None:
        self._attacks: AttackList | None = None
        self._groups: list[list[Group]] = []

    def __call__(self, axes: Sequence[AttackAxis], attacks: AttackList) -> list[list[Group]]:
        """The groups of each size; a list is always that of an object with the same axes."""
        if attacks is not self._attacks:
            self._groups = [group_attacks(axes, blocks) for blocks in attacks]
            self._attacks = attacks
        return self._groups


def row_numbers(rows: Whole) -> Whole:
    """A number for each row: rows in lexicographic order have ascending numbers, and equal rows the same."""
    width = int(rows.max()) + 1
    if width ** rows.shape[1] >= 2**62:
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    numbers: Whole = rows @ width ** np.arange(rows.shape[1] - 1, -1, -1)
    return numbers


def _lexicographic(rows: Whole) -> Whole | slice:
    """The order of rows that puts them into lexicographic order: mostly they come in it."""
    numbers = row_numbers(rows)
    return slice(None) if (numbers[1:] > numbers[:-1]).all() else np.argsort(numbers, kind="stable")


class ListedEvidence:
    """The votes on one object, ready to be weighed against listed attacks; a *level* here is a size, (1,), (2,), ….

    `harmless` says which levels of flips by axis are certified otherwise: their attacks are not weighed. `grouped` is
    shared by the targets of an object.
    """

    nothing_to_weigh: ClassVar[str] = "its attacks, if there are any, are certified by p_A"

    def __init__(
        self,
        votes: FlipEvidence,
        attacks: AttackList,
        harmless: Callable[[Level], bool],
        grouped: GroupedOnce | None = None,
    ) -> None:
        self.axes, self.bins, self.alpha, self._votes = votes.axes, votes.bins, votes.alpha, votes
        self.n_votes, self.contest = votes.n_votes, votes.contest
        self.box = (len(attacks),)
        every = (grouped or GroupedOnce())(votes.axes, attacks)
        self.groups = [[group for group in groups if not harmless(group.level)] for groups in every]

    def possible(self, level: Level) -> bool:
        """Whether there is any attack of a size that is not harmless."""
        return bool(self.groups[level[0] - 1])

    def proves(self, level: Level) -> bool:
        """Whether the shared votes alone prove every attack of a size harmless."""
        return not self.possible(level) or all(self.weighed(level, scheme).proved for scheme in self.schemes(level))

    def schemes(self, level: Level) -> list[Scheme]:
        """The one scheme of a size: all of its attacks are listed."""
        return [Scheme((0,), sum(len(group.rows) for group in self.groups[level[0] - 1]), Fraction(1))]

    def attack(self, level: Level, _scheme: Scheme, index: int) -> tuple[int, ...]:
        """The attacked sites of attack number `index` of a size, ascending."""
        for group in self.groups[level[0] - 1]:
            if index < len(group.attacks):
                return tuple(sorted(group.attacks[index].tolist()))
            index -= len(group.attacks)
        raise IndexError(index)

    def weighed(self, level: Level, scheme: Scheme) -> Weighed:
        """What the shared votes say about all attacks of a size."""
        goal, groups = needed(self.alpha), self.groups[level[0] - 1]
        found = [self._votes.capitals(group.level, group.scheme, goal, group.rows) for group in groups]
        weights, failures = zip(*found, strict=True)
        joined = Weights(*map(np.concatenate, zip(*weights, strict=True)))
        return Weighed(scheme, goal, joined, np.concatenate(failures))

    def scores(self, axis: int) -> npt.NDArray[np.float64]:
        """For each choice on an axis the estimated probability of failure where it is the whole attack."""
        return self._votes.scores(axis)

    def own_bet(self, _level: Level, _scheme: Scheme) -> OwnBet:
        """The bet on votes at attacked objects: nothing is pooled, so it is the plain one."""
        return OwnBet((), np.ones(1), self.contest.limit, None, self.contest)
