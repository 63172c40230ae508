"""A threat asked about one object: the levels, or the attacks size after size, about which certificates decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from operator import le
from typing import Self

import numpy as np

from starcert.math.attacked_sites import AttackAxis, AttackList, LevelAttacks, axes_at, changed_sites, group_attacks
from starcert.math.choices import Level
from starcert.math.flips import Integers
from starcert.math.frontier import levels_below, levels_of
from starcert.objects.binding import attack_axes
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.objects.threats import Threat, attackable
from starcert.objects.threats.attacks import levels_of_attacks
from starcert.objects.threats.sets import checked_threat, digest_of_attacks, list_attacks
from starcert.objects.threats.text import THREATS

NO_ATTACK = "there is no such attack"


@dataclass(frozen=True, eq=False)
class Question:
    """A threat asked about one object: by radius about all levels within `box`, otherwise about the attacks it lists.

    Listed attacks have sizes 1, 2, … up to `threat.most`.
    """

    threat: Threat
    levels: tuple[frozenset[Level], ...] = ()  # of each size, the flips on each axis of its attacks
    counts: tuple[int, ...] = ()  # of each size, how many attacks there are
    attacks: AttackList = ()  # none of any size where a file does not hold them
    axes: tuple[AttackAxis, ...] = ()  # with the sites that listed attacks change, alone: see `on`
    anchored: str = ""  # why the regions are anchored at the clean object; "" if they are not
    box: Level | None = None  # by radius: the most flips on each axis

    @classmethod
    def of(cls, threat: Threat, sites: Sites, noise: Noise) -> Self:
        """The attacks on the object with these sites; refused where the threat does not fit it."""
        seen = attackable(sites, noise)
        threat = checked_threat(threat, seen, noise)
        found = [list_attacks(threat, seen, size) for size in range(1, threat.most + 1)]
        levels = tuple(frozenset(levels_of_attacks(each, sites, noise)) for each in found)
        return cls(threat, levels, tuple(map(len, found)), [each.numbers(seen) for each in found])

    @classmethod
    def by_radius(cls, threat: Threat, noise: Noise, capacity: Level) -> Self:
        """The levels of an object with this many sites on each axis."""
        limits = threat.limits(noise)
        return cls(threat, box=capacity if limits is None else tuple(map(min, limits, capacity)))

    def on(self, sites: Sites, noise: Noise) -> Self:
        """The same with the axes of the object, at the sites that attacks change: for all its targets together."""
        return replace(self, axes=axes_at(attack_axes(sites, noise), self.changed(sites)), anchored=sites.reason)

    def changed(self, sites: Sites) -> Integers:
        """The sites of the object that listed attacks change, ascending."""
        return changed_sites(self.attacks, sites.n_sites)

    @property
    def sites(self) -> Integers:
        """The sites of `axes`, ascending."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *(axis.sites for axis in self.axes)]))

    @property
    def most_flips(self) -> int:
        """By radius: the most flips of a level."""
        assert self.box is not None
        return sum(self.box) if self.threat.flips is None else min(self.threat.flips, sum(self.box))

    def within(self) -> Iterator[Level]:
        """By radius: all levels but that without flips, those with few flips first."""
        assert self.box is not None
        return (level for flips in range(1, self.most_flips + 1) for level in levels_of(flips, self.box))

    @cached_property
    def largest(self) -> tuple[Level, ...]:
        """The levels that no other level contains; none where there is no attack at all."""
        if self.box is not None:
            return _largest_in(self.box, self.most_flips)
        every = sorted({level for levels in self.levels for level in levels})
        return tuple(one for one in every if not any(one != other and all(map(le, one, other)) for other in every))

    def left(self, harmless: Callable[[Level], bool], limit: int) -> list[Level] | None:
        """By radius: the levels that are not harmless, largest first; None if they are more than a limit."""
        found = dict.fromkeys(level for level in self.largest if not harmless(level))
        for level in (listed := list(found)):
            for below in levels_below(level):
                if below not in found and not harmless(below):
                    found[below] = None
                    listed.append(below)
            if len(found) > limit:
                return None
        return listed

    def parts(self, axes: Sequence[AttackAxis]) -> list[list[LevelAttacks]]:
        """The attacks of each size by level, on the axes of the object: made once for all of its targets."""
        found = _parts_of(self)
        if len(found) < len(self.attacks):
            found[:] = [group_attacks(axes, blocks) for blocks in self.attacks]  # at once: another thread may do it too
        return found

    @cached_property
    def digest(self) -> str:
        """A digest of the listed attacks."""
        return digest_of_attacks(self.attacks)

    def certified_by(self, harmless: Callable[[Level], bool]) -> int:
        """The largest size up to which all attacks lie on levels that are harmless."""
        covered = (all(map(harmless, levels)) for levels in self.levels)
        return next((size for size, holds in enumerate(covered) if not holds), len(self.levels))

    def size_of(self, threat: Threat) -> int | None:
        """The size at which another threat is part of this one: the same threat with fewer units; None: it is not."""
        return size_within(self.threat, threat)


@lru_cache(maxsize=1)  # the targets of an object follow one another; lists of several objects take much memory
def _parts_of(asked: Question) -> list[list[LevelAttacks]]:
    """Where the parts of a question are kept; empty at first."""
    return []


@lru_cache(maxsize=2**10)
def _largest_in(box: Level, flips: int) -> tuple[Level, ...]:
    return tuple(levels_of(flips, box))


def size_within(known: Threat, threat: Threat) -> int | None:
    """The size at which a threat is part of a known one: the same threat with fewer units; None: it is not.

    Only of starcert's own threats it is known that the attacks of a size do not depend on how many units there are.
    """
    if threat == known:
        return known.most
    if type(threat) is not type(known) or type(known) not in THREATS or not threat.most < known.most:
        return None
    units = ("most", "edges")
    others = (each.name for each in fields(known) if each.name not in units)  # type: ignore[arg-type]
    return threat.most if all(getattr(threat, name) == getattr(known, name) for name in others) else None
