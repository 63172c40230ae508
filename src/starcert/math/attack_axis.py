"""An axis as an attacker finds it on one object: which sites it has, and what may be done to each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.site_laws import SiteLaw

__all__ = ["AttackAxis", "Moves", "counted_sites", "described", "numbered", "pools_of"]

Whole = npt.NDArray[np.int64]


class Moves(NamedTuple):
    """What an attack may do to the sites of an axis that have more than two values.

    Attributes:
        values: the clean value of each site.
        ranks: for each clean value, which of the other values an attack may give it, counted from 0 in ascending order,
            shape (values, moves).
        outcomes: for each of these the number of the outcome of each value that may be shown, 0 for the clean one,
            shape (values, moves, values).
        n_sites: how many sites the object has.
    """

    values: npt.NDArray[np.uint8]
    ranks: Whole
    outcomes: npt.NDArray[np.uint8]
    n_sites: int


class AttackAxis(NamedTuple):
    """An axis of a noise on one object.

    Attributes:
        law: the law of each of its sites.
        sites: the flat positions of those that an attacker finds there.
        moves: what an attack may do to each of them; None: there is one other value.
    """

    law: SiteLaw
    sites: Whole
    moves: Moves | None = None

    @property
    def n_choices(self) -> int:
        """In how many ways one site is attacked."""
        return len(self.sites) * self.law.moves

    def attacked(self, choices: Sequence[int] | range | Whole) -> Whole:
        """The attacked sites of choices as attacks have them: site + n_sites · (the rank of its new value).

        Ranks count the values other than the clean one from 0: with two values that is the site.
        """
        chosen = np.asarray(choices, dtype=np.int64)
        found = self.sites[chosen // self.law.moves]
        if self.moves is None:
            return found
        clean = self.moves.values[chosen // self.law.moves]
        return found + self.moves.n_sites * self.moves.ranks[clean, chosen % self.law.moves]


def described(axes: Sequence[AttackAxis], attack: Sequence[int]) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """The sites that an attack takes, and their new values; None for one with two values: it flips.

    Where all sites have two values, nothing is said about them.
    """
    valued = [axis for axis in axes if axis.moves is not None]
    if not valued or not attack:
        return tuple(attack), ()
    assert valued[0].moves is not None
    found: list[tuple[int, int | None]] = []
    for rank, site in (divmod(number, valued[0].moves.n_sites) for number in attack):
        value: int | None = None
        for axis in valued:
            place = int(np.searchsorted(axis.sites, site))
            if axis.moves is not None and axis.sites[place : place + 1].tolist() == [site]:
                clean = int(axis.moves.values[place])
                value = rank + (rank >= clean)
        found.append((site, value))
    sites, values = zip(*sorted(found, key=lambda pair: pair[0]), strict=True)
    return sites, values


def numbered(axes: Sequence[AttackAxis], sites: Sequence[int], values: Sequence[int | None]) -> tuple[int, ...]:
    """The attack on these sites that gives them these values: what `described` tells, taken back."""
    if not values:
        return tuple(sites)
    found = []
    for site, value in zip(sites, values, strict=True):
        number = site
        for axis in axes:
            place = int(np.searchsorted(axis.sites, site))
            if value is not None and axis.moves is not None and axis.sites[place : place + 1].tolist() == [site]:
                number = site + axis.moves.n_sites * (value - (value > int(axis.moves.values[place])))
        found.append(number)
    return tuple(sorted(found))


def pools_of(axes: Sequence[AttackAxis]) -> tuple[int, ...]:
    """For each axis the number of the first one that has the same sites: axes with one number are a pool."""
    return tuple(
        next(
            (first for first in range(number) if _are_the_same(axes[first].sites, axis.sites)),
            number,
        )
        for number, axis in enumerate(axes)
    )


def _are_the_same(one: Whole, other: Whole) -> bool:
    """Whether these are the same sites, and any; where axes share none, their first sites tell."""
    return len(one) == len(other) > 0 and bool(one[0] == other[0]) and np.array_equal(one, other)


def counted_sites(axes: Sequence[AttackAxis]) -> list[Whole]:
    """The sites whose flips are counted for each axis: those of a pool for its first axis, and none for the others."""
    pools = pools_of(axes)
    return [axis.sites if pools[i] == i else np.empty(0, dtype=np.int64) for i, axis in enumerate(axes)]
