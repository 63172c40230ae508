"""Attacked sites: the law of one, the axes on which an attacker finds them, and the listing of attacks.

A copy of the clean object shows the clean value of a site, or another one: the site *flipped*. Each value has a
likelihood ratio, that of the attacked object to the clean one; values with one ratio are one *outcome*. With two values
a flip has one outcome; with more it may show the value that the attack put there, or a third one. The ratio of r
attacked sites depends only on how many of them show each outcome: `shares_of`.

An attack takes a given number of sites of each axis, and gives each of them another value: a *choice*. With two values
a choice is a site. No two choices of an attack take one site, not even of different axes. The attacks of a level are
numbered in the order in which they are weighed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from math import comb, prod
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import Whole
from starcert.math.channels import Outcome, merge_outcomes
from starcert.system.errors import InvalidParameterError

Shares: TypeAlias = tuple[int, ...]  # how many attacked sites show each of the outcomes of a flip


MAX_EVIDENCE_SITES = 2**22  # objects with more sites have no evidence: votes are not looked at one by one
NO_AXIS = 2**16 - 1  # the number of the axis of a site that lies on none
MAX_BITS = 900  # of the logarithms of factors: their product stays within the range of a float, with all its digits


class SiteLaw(NamedTuple):
    """The law of one site of an axis: with which probability it shows another value than the clean one, exactly.

    `clean` is that probability in a noisy copy of the clean object, `attacked` in one of an object that is attacked
    there. Where a flip has several outcomes, `parts` holds the clean and attacked mass of each; they add up to these.
    An attack may give the site one of `moves` values.
    """

    clean: Fraction
    attacked: Fraction
    parts: tuple[Outcome, ...] = ()
    moves: int = 1

    @classmethod
    def of(cls, clean: Sequence[Fraction], attacked: Sequence[Fraction], value: int, moves: int = 1) -> SiteLaw:
        """The law of a site with this clean value, from the probability of each value in copies of either object."""
        parts = merge_outcomes(pair for shown, pair in enumerate(zip(clean, attacked, strict=True)) if shown != value)
        masses = 1 - clean[value], 1 - attacked[value]
        return cls(*masses, tuple(parts.values()) if len(parts) > 1 else (), moves)

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes of a flip: clean and attacked mass of each, in ascending order of their ratio."""
        return self.parts or ((self.clean, self.attacked),)

    @property
    def shown(self) -> tuple[float, ...]:
        """At least the likelihood ratio of each outcome of a flip; 0 for those that the clean object never shows."""
        return tuple(_at_least(attacked / clean) if clean else 0.0 for clean, attacked in self.outcomes)

    @property
    def stayed(self) -> float:
        """At least that of a site that did not flip."""
        return _at_least((1 - self.attacked) / (1 - self.clean)) if self.clean < 1 else 0.0

    @property
    def unseen(self) -> Fraction:
        """The probability that the attacked object shows at such a site what the clean one never does."""
        never = sum((attacked for clean, attacked in self.outcomes if clean == 0), Fraction(0))
        return never + (1 - self.attacked if self.clean == 1 else 0)

    @property
    def free(self) -> bool:
        """True if an attack on such a site cannot be seen."""
        return all(clean == attacked for clean, attacked in self.outcomes)


def _at_least(x: Fraction) -> float:
    try:
        nearest = float(x)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= x else math.nextafter(nearest, math.inf)


@lru_cache(maxsize=2**10)
def shares_of(law: SiteLaw, attacked: int) -> tuple[Shares, ...]:
    """All ways in which `attacked` sites may be shared among the outcomes of a flip, in ascending order."""
    found: list[Shares] = [()]
    for _ in law.outcomes:
        found = [(*some, more) for some in found for more in range(attacked - sum(some) + 1)]
    return tuple(found)


def ratio_of(law: SiteLaw, attacked: int, shares: Shares, *, times: float = 1.0) -> float:
    """The likelihood ratio of `attacked` sites that show these shares, times another number; infinite beyond floats.

    Factors are rounded up. Where a float might not hold a part of the product, it is taken in fractions.
    """
    powers = [*zip(law.shown, shares, strict=True), (law.stayed, attacked - sum(shares))]
    if sum(number * abs(math.log2(factor)) for factor, number in powers if factor) > MAX_BITS:
        return _at_least(prod((Fraction(factor) ** number for factor, number in powers), start=Fraction(times)))
    for factor, number in powers:
        times *= factor**number
    return times


def chance_of(law: SiteLaw, number: int, shares: Shares, *, times: float) -> float:
    """The probability that `number` attacked sites of the clean object show these outcomes, times another number."""
    for (clean, _), count in zip(law.outcomes, shares, strict=True):
        times = times * comb(number, count) * float(clean) ** count
        number -= count
    return times * (1 - float(law.clean)) ** number


class AxisMoves(NamedTuple):
    """The possible changes of an attack on the sites of an axis of a law."""

    law: SiteLaw
    starts: tuple[int, ...]  # the values of sites that it can change
    ranks: Whole  # what it may give a site of each value: the rank among other values, shape (alphabet, moves)
    outcomes: npt.NDArray[np.uint8]  # of each of these and each shown value, shape (alphabet, moves, alphabet)

    @property
    def alphabet(self) -> int:
        """The number of values of a site."""
        return len(self.ranks)


class AttackAxis(NamedTuple):
    """An axis of a noise on one object; the last three are there where sites have more than two values."""

    law: SiteLaw  # of each of its sites
    sites: Whole  # their flat positions
    moves: AxisMoves | None = None  # what an attack may do to them
    values: npt.NDArray[np.uint8] = np.empty(0, dtype=np.uint8)  # their clean values
    n_sites: int = 0  # how many sites the object has

    @property
    def n_choices(self) -> int:
        """In how many ways one site is attacked."""
        return len(self.sites) * self.law.moves

    def attacked(self, choices: Sequence[int] | range | Whole) -> Whole:
        """The attacked sites of choices as attacks have them: site + n_sites · (the rank of its new value)."""
        chosen = np.asarray(choices, dtype=np.int64)
        found = self.sites[chosen // self.law.moves]
        if self.moves is None:
            return found
        clean = self.values[chosen // self.law.moves]
        return found + self.n_sites * self.moves.ranks[clean, chosen % self.law.moves]


def describe_attack(
    axes: Sequence[AttackAxis], attack: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """The sites that an attack takes, and their new values: None for one with two, none at all where all have two."""
    n_sites = max((axis.n_sites for axis in axes if axis.moves is not None), default=0)
    if not n_sites or not attack:
        return tuple(attack), ()
    found: list[tuple[int, int | None]] = []
    for rank, site in (divmod(number, n_sites) for number in attack):
        clean = _clean_value(axes, site)
        found.append((site, None if clean is None else rank + (rank >= clean)))
    sites, values = zip(*sorted(found, key=lambda pair: pair[0]), strict=True)
    return sites, values


def number_attack(axes: Sequence[AttackAxis], sites: Sequence[int], values: Sequence[int | None]) -> tuple[int, ...]:
    """The attack on these sites that gives them these values: the inverse of `describe_attack`."""
    if not values:
        return tuple(sites)
    n_sites = max((axis.n_sites for axis in axes), default=0)
    found = []
    for site, value in zip(sites, values, strict=True):
        clean = _clean_value(axes, site)
        found.append(site if clean is None or value is None else site + n_sites * (value - (value > clean)))
    return tuple(sorted(found))


def _clean_value(axes: Sequence[AttackAxis], site: int) -> int | None:
    """The clean value of a site on an axis with more than two values; None for other sites."""
    for axis in axes:
        place = int(np.searchsorted(axis.sites, site))
        if axis.moves is not None and axis.sites[place : place + 1].tolist() == [site]:
            return int(axis.values[place])
    return None


def axes_at(axes: Sequence[AttackAxis], sites: Whole) -> tuple[AttackAxis, ...]:
    """The axes with these sites alone."""
    found = []
    for axis in axes:
        there = np.isin(axis.sites, sites)
        values = axis.values if axis.moves is None else axis.values[there]
        found.append(axis._replace(sites=axis.sites[there], values=values))
    return tuple(found)


def pools_of(axes: Sequence[AttackAxis]) -> tuple[int, ...]:
    """For each axis the number of the first one that has the same sites: axes with one number are a pool."""

    def same(one: Whole, other: Whole) -> bool:  # axes that share no site already differ in the first one
        return len(one) == len(other) > 0 and bool(one[0] == other[0]) and np.array_equal(one, other)

    return tuple(
        next((first for first in range(number) if same(axes[first].sites, axis.sites)), number)
        for number, axis in enumerate(axes)
    )


def sites_by_pool(axes: Sequence[AttackAxis]) -> list[Whole]:
    """For each axis the sites whose flips it counts: those of a pool for its first axis, none for the others."""
    pools = pools_of(axes)
    return [axis.sites if pools[i] == i else np.empty(0, dtype=np.int64) for i, axis in enumerate(axes)]


class ListedAxis(NamedTuple):
    """An axis with `size` sites, `attacked` of them attacked. Choices are numbered site by site."""

    size: int
    attacked: int
    moves: int = 1  # values that an attack may give a site
    outcomes: int = 1  # of a flip
    pool: int = -1  # axes with one number have the same sites; −1: no other axis has them


def _left(axes: Sequence[ListedAxis], axis: int) -> int:
    """The number of sites of an axis that the axes before it leave to attack."""
    one = axes[axis]
    return one.size - sum(other.attacked for other in axes[:axis] if one.pool == other.pool >= 0)


def _ways(axes: Sequence[ListedAxis], axis: int) -> int:
    """The number of attacks on an axis, whatever sites the axes before it have taken."""
    left = _left(axes, axis)
    return comb(left, axes[axis].attacked) * axes[axis].moves ** axes[axis].attacked if left >= 0 else 0


def n_attacks(axes: Sequence[ListedAxis]) -> int:
    """The number of attacks on these axes."""
    return prod(_ways(axes, axis) for axis in range(len(axes)))


def attacks_of(axes: Sequence[ListedAxis]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """The attacks in the order in which they are weighed: for each axis the numbers of its choices."""
    every = product(*(combinations(range(axis.size * axis.moves), axis.attacked) for axis in axes))
    if all(axis.moves == 1 and axis.pool < 0 for axis in axes):
        return every
    return (attack for attack in every if _takes_no_site_twice(axes, attack))


def _takes_no_site_twice(axes: Sequence[ListedAxis], attack: Sequence[Sequence[int]]) -> bool:
    taken = [
        (axis.pool if axis.pool >= 0 else -1 - number, choice // axis.moves)
        for number, (axis, chosen) in enumerate(zip(axes, attack, strict=True))
        for choice in chosen
    ]
    return len(set(taken)) == len(taken)


def attack_number(axes: Sequence[ListedAxis], index: int) -> tuple[tuple[int, ...], ...]:
    """Attack number `index` of `attacks_of`."""
    digits = []
    for axis in reversed(range(len(axes))):
        index, digit = divmod(index, _ways(axes, axis))
        digits.append(digit)
    found: list[tuple[int, ...]] = []
    taken: dict[int, set[int]] = {}
    for axis, (one, digit) in enumerate(zip(axes, reversed(digits), strict=True)):
        used = taken.setdefault(one.pool if one.pool >= 0 else -1 - axis, set())
        chosen = _combination(_left(axes, axis), one.attacked, one.moves, digit)
        if used:  # numbers are those of the sites that are left
            left = [site for site in range(one.size) if site not in used]
            chosen = [one.moves * left[choice // one.moves] + choice % one.moves for choice in chosen]
        used.update(choice // one.moves for choice in chosen)
        found.append(tuple(chosen))
    return tuple(found)


def _combination(size: int, length: int, moves: int, index: int) -> list[int]:
    """Combination number `index` of choices at different sites, in the order of `itertools.combinations`."""
    chosen, at = [], 0
    for left in range(length, 0, -1):
        while index >= moves * (block := comb(size - at - 1, left - 1) * moves ** (left - 1)):
            index -= moves * block
            at += 1
        move, index = divmod(index, block)
        chosen.append(moves * at + move)
        at += 1
    return chosen


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
