"""What a law says about attacked sites, axis by axis: how likely each outcome is, and which value is which outcome.

Evidence counts flips, and looks at what attacked sites show. So all sites of an axis must be alike to it: however they
are attacked, noise flips them as often, and shows each likelihood ratio as often.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from starcert.math.site_laws import SiteLaw, outcome_numbers
from starcert.objects.laws.law import Law
from starcert.system.errors import InvalidParameterError

__all__ = ["AxisMoves", "Laws", "axis_moves", "is_valued", "why_not_alike"]


class Laws(Protocol):
    """The laws of regions, by name: a noise."""

    def __iter__(self) -> Iterator[str]: ...

    def __getitem__(self, region: str, /) -> Law: ...


class AxisMoves(NamedTuple):
    """One axis of a law.

    Attributes:
        law: the law of an attacked site.
        starts: the values of the sites that an attacker finds there.
        ranks: for each value of a site the other values that an attack may give it: their ranks among those that it has
            not, from 0, shape (alphabet, moves).
        outcomes: for each of these and each value that is shown the number of its outcome, shape (alphabet, moves,
            alphabet).
    """

    law: SiteLaw
    starts: tuple[int, ...]
    ranks: npt.NDArray[np.int64]
    outcomes: npt.NDArray[np.uint8]

    @property
    def alphabet(self) -> int:
        """How many values a site has."""
        return len(self.ranks)


def is_valued(laws: Laws) -> bool:
    """Whether some law of a noise is on more than two values: which value a flip shows then matters."""
    return any(laws[region].alphabet > 2 for region in laws)


@lru_cache(maxsize=256)
def axis_moves(law: Law) -> tuple[AxisMoves, ...]:
    """The axes of a law, in their order.

    Example:
        >>> from starcert.objects.laws import Categorical
        >>> (axis,) = axis_moves(Categorical(0.25, 3))
        >>> axis.law.shown, axis.ranks[1].tolist(), axis.outcomes[1].tolist()
        ((1.0, 6.0), [0, 1], [[2, 0, 1], [1, 0, 2]])
    """
    if reason := why_not_alike(law):
        raise InvalidParameterError("noise", "have laws whose axes evidence can look at", law, reason)
    found = []
    for moves in law.moves:
        targets = {before: [after for start, after in moves if start == before] for before, _ in moves}
        number = max(map(len, targets.values()))
        ranks = np.zeros((law.alphabet, number), dtype=np.int64)
        outcomes = np.zeros((law.alphabet, number, law.alphabet), dtype=np.uint8)
        for before, afters in targets.items():
            ranks[before] = [after - (after > before) for after in afters]
            outcomes[before] = [
                outcome_numbers(law.transitions(before), law.transitions(after), before) for after in afters
            ]
        (one,) = _site_laws(law, moves)
        found.append(AxisMoves(one._replace(moves=number), tuple(targets), ranks, outcomes))
    return tuple(found)


def why_not_alike(law: Law) -> str:
    """Why evidence cannot look at the axes of a law; "" if it can."""
    starts = []
    for suffix, moves in zip(law.suffixes, law.moves, strict=True):
        befores = [before for before, _ in moves]
        if len(_site_laws(law, moves)) > 1 or len({befores.count(before) for before in befores}) > 1:
            return f"sites of {suffix or 'its axis'} are not all attacked alike, and evidence tells them apart"
        if any(before == after for before, after in moves) or len(set(moves)) < len(moves):
            return f"{suffix or 'its axis'} has a move that is none, or one twice"
        starts.append(frozenset(befores))
    for i, one in enumerate(starts):
        if any(one != other and one & other for other in starts[:i]):
            return "two axes share some of their sites and not others"
    return ""


def _site_laws(law: Law, moves: tuple[tuple[int, int], ...]) -> set[SiteLaw]:
    return {SiteLaw.of(law.transitions(before), law.transitions(after), before) for before, after in moves}
