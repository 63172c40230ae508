"""All attacks of a threat on one object in a fixed order, the smallest sizes first; any run of them without the others.

Sets of r changes at different sites without further limits are numbered by the *combinatorial number system*: sets are
ordered by their largest change, then by the next one, and so on. With N_r(c) the number of sets of r changes that all
come before change c, the largest change of set number i is the largest c with N_r(c) ≤ i, and the others are set number
i − N_r(c) of the r − 1 changes at sites before that of c. So a run of millions of sets is a few searches in a table,
and none of them is ever listed for the sake of another. Other threats list what they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from starcert.certificates.questions import checked_threat, list_attacks
from starcert.objects.layers import Indices
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.objects.threats import Attacks, Threat, attackable
from starcert.objects.threats.attacks import VALUES, Mask, Moves, Rows
from starcert.objects.threats.sets import SiteThreat, tally
from starcert.system.errors import InvalidParameterError

ENOUGH = 2**62  # sets beyond this number are not told apart: none of them is ever reached


@dataclass(frozen=True, slots=True, eq=False)
class AttackRun:
    """Attacks one after the other: attack i makes changes[starts[i] : starts[i + 1]], at ascending sites."""

    starts: Indices
    changes: Rows  # 256 · position + new value

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def positions(self) -> Indices:
        """The changed sites, attack by attack."""
        return self.changes // VALUES

    @property
    def values(self) -> Indices:
        """What they become."""
        return self.changes % VALUES

    def where(self, chosen: Mask) -> AttackRun:
        """Some of them, in this order."""
        lengths = np.diff(self.starts)
        starts = np.concatenate([[0], np.cumsum(lengths[chosen])])
        return AttackRun(starts, self.changes[np.repeat(chosen, lengths)])

    def after_none(self) -> AttackRun:
        """The same with an attack before them that changes nothing."""
        return AttackRun(np.concatenate([[0], self.starts]), self.changes)

    @classmethod
    def of_rows(cls, rows: Rows) -> AttackRun:
        """The attacks that are the rows of an array."""
        return cls(np.arange(len(rows) + 1) * rows.shape[1], rows.reshape(-1))

    @classmethod
    def joined(cls, runs: Sequence[AttackRun]) -> AttackRun:
        """Several runs, one after the other."""
        lengths = np.concatenate([np.empty(0, np.int64), *(np.diff(each.starts) for each in runs)])
        changes = np.concatenate([np.empty(0, np.int64), *(each.changes for each in runs)])
        return cls(np.concatenate([[0], np.cumsum(lengths)]), changes)


class OrderedAttacks:
    """The attacks of a threat on one object, numbered from 0; those of size 1 come first.

    Args:
        threat: what the attacker can do; refused where it does not fit the object.
        sites: the sites of the object.
        noise: names the axes of a box of flips; its numbers do not matter.

    Example:
        >>> from starcert.objects import Bits
        >>> from starcert.objects.threats import read_threat
        >>> sites = Sites.everything(Bits([0, 1, 1]), "all")
        >>> found = OrderedAttacks(read_threat("flips:2"), sites, Noise(all=0.1))
        >>> found.counts, found.ends, [run.positions.tolist() for run in (found.run(1, 3), found.run(3, 6))]
        ((3, 3), (3, 6), [[1, 2], [0, 1, 0, 2, 1, 2]])
    """

    def __init__(self, threat: Threat, sites: Sites, noise: Noise) -> None:
        seen = attackable(sites, noise)
        if seen is not sites:
            hint = "Give these regions Edges laws, or no noise at all: then every type is tried."
            raise InvalidParameterError(
                "noise", "say which type an added edge has, for attacks to be tried", noise, hint
            )
        self.threat, self._sites = checked_threat(threat, sites, noise), sites
        self._sets = _Sets.of(self.threat, sites)

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many attacks of each size there are, from size 1 on."""
        return tuple(map(len, self._listed)) if self._sets is None else self._sets.counts

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """How many attacks of at most each size there are: the attacks of a size end there."""
        return tuple(accumulate(self.counts))

    def run(self, start: int, stop: int) -> AttackRun:
        """The attacks from number `start` to before `stop`."""
        parts, begin = list[AttackRun](), 0
        for size, end in enumerate(self.ends, start=1):
            if start < end and stop > begin:
                parts.append(self._of_size(size, max(start, begin) - begin, min(stop, end) - begin))
            begin = end
        return parts[0] if len(parts) == 1 else AttackRun.joined(parts)

    def _of_size(self, size: int, start: int, stop: int) -> AttackRun:
        if self._sets is not None:
            return AttackRun.of_rows(self._sets.rows(self._sets.lengths[size - 1], start, stop))
        parts = list[AttackRun]()
        for block in self._listed[size - 1].blocks:
            parts.append(AttackRun.of_rows(block[max(start, 0) : max(stop, 0)]))
            start, stop = start - len(block), stop - len(block)
        return AttackRun.joined(parts)

    @cached_property
    def _listed(self) -> tuple[Attacks, ...]:
        """The attacks of each size, where the threat lists them."""
        found = (list_attacks(self.threat, self._sites, size) for size in range(1, self.threat.most + 1))
        return tuple(each.check(self._sites) for each in found)


class _Sets:
    """All sets of allowed changes at different sites, with these `lengths` for each size of the threat."""

    def __init__(self, moves: Moves, lengths: Sequence[int]) -> None:
        self._moves, self.lengths = moves, tuple(lengths)
        self._firsts = np.searchsorted(moves.site, moves.site)  # for every change the first one at the same site
        self._tables = list[Indices]()

    @classmethod
    def of(cls, threat: Threat, sites: Sites) -> _Sets | None:
        """The attacks of a threat as such sets; None if they have limits, or the threat lists them by itself."""
        if not isinstance(threat, SiteThreat) or type(threat).attacks is not SiteThreat.attacks:
            return None
        moves = threat.moves(sites)
        if threat.budgets(sites, moves) is not None:
            return None
        return cls(moves, range(1, threat.most + 1))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many there are of each size."""
        owners = self._moves.site
        found = tally(owners, np.zeros_like(owners), 1, min(max(self.lengths), len(owners)))
        return tuple(found.get((length,), 0) if length else 0 for length in self.lengths)

    def rows(self, length: int, start: int, stop: int) -> Rows:
        """The sets of this many changes from number `start` to before `stop`, as ascending rows."""
        left = np.arange(start, stop, dtype=np.int64)
        found = np.empty((len(left), length), dtype=np.int64)
        for column in range(length - 1, -1, -1):
            before = self._before(column + 1)
            found[:, column] = np.searchsorted(before, left, side="right") - 1
            left -= before[found[:, column]]
        return self._moves.changes[found]

    def _before(self, length: int) -> Indices:
        """For every change c the number N(c) of sets of this many changes that all come before it; at most `ENOUGH`."""
        while len(self._tables) < length:
            # One more change gives sets whose largest change it is: its others lie at the sites before.
            ending = self._tables[-1][self._firsts] if self._tables else np.ones_like(self._firsts)
            total, about = np.cumsum(ending), np.cumsum(ending, dtype=np.float64)
            total[about > 0.999 * ENOUGH] = ENOUGH  # sums of 64 bits may have begun anew there
            self._tables.append(np.concatenate([[0], total[:-1]]))
        return self._tables[length - 1]
