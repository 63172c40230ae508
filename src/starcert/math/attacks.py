"""The attacks of a level on listed axes, numbered in the order in which they are weighed.

An attack takes so many sites of each axis, and gives each of them another value: a *choice*. With two values a choice
is a site. No two choices of an attack take one site, not even of different axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import comb, prod
from typing import NamedTuple

__all__ = ["ListedAxis", "attack_number", "attacks_of", "n_attacks"]


class ListedAxis(NamedTuple):
    """A listed axis.

    Attributes:
        size: how many sites it has.
        attacked: how many of them are.
        moves: how many values an attack may give a site. Choices are numbered site by site.
        outcomes: how many outcomes a flip has.
        pool: axes with one number have the same sites; −1: no other axis has them.
    """

    size: int
    attacked: int
    moves: int = 1
    outcomes: int = 1
    pool: int = -1


def _left(axes: Sequence[ListedAxis], axis: int) -> int:
    """How many sites of an axis the axes before it leave to attack."""
    one = axes[axis]
    return one.size - sum(other.attacked for other in axes[:axis] if one.pool == other.pool >= 0)


def _ways(axes: Sequence[ListedAxis], axis: int) -> int:
    """In how many ways so many sites of an axis are attacked, whatever the axes before it have taken."""
    left = _left(axes, axis)
    return comb(left, axes[axis].attacked) * axes[axis].moves ** axes[axis].attacked if left >= 0 else 0


def n_attacks(axes: Sequence[ListedAxis]) -> int:
    """How many attacks there are on so many sites of these axes.

    Example:
        >>> n_attacks([ListedAxis(5, 2)]), n_attacks([ListedAxis(3, 1, pool=0), ListedAxis(3, 1, moves=4, pool=0)])
        (10, 24)
    """
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
    """Attack number `index` of `attacks_of`.

    Example:
        >>> shared = [ListedAxis(3, 1, pool=0), ListedAxis(3, 1, moves=4, pool=0)]
        >>> attack_number([ListedAxis(4, 2)], 4), attack_number(shared, 9)
        (((1, 3),), ((1,), (1,)))
    """
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
    """Combination number `index` of choices at different sites, in the order of `itertools.combinations`.

    Example:
        >>> [_combination(4, 2, 1, index) for index in range(6)]
        [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    """
    chosen, at = [], 0
    for left in range(length, 0, -1):
        while index >= moves * (block := comb(size - at - 1, left - 1) * moves ** (left - 1)):
            index -= moves * block
            at += 1
        move, index = divmod(index, block)
        chosen.append(moves * at + move)
        at += 1
    return chosen
