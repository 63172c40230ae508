"""The attacks of a threat on one object, size after size, and the levels that they lie on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import accumulate
from operator import le
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import AttackAxis
from starcert.math.copies import Level
from starcert.math.frontier import levels_below, levels_of
from starcert.math.listed import AttackList, LevelAttacks, changed_sites, group_attacks
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.objects.threats import MAX_ATTACKS, Attacks, Threat, attackable
from starcert.objects.threats.attacks import Rows, levels_of_attacks
from starcert.objects.threats.base import refuse_many
from starcert.objects.threats.sets import SiteThreat
from starcert.objects.threats.text import THREATS
from starcert.system.errors import InvalidParameterError, whole_number

NO_ATTACK = "there is no such attack"
MAX_SIZES = 2**12  # of a threat that lists its attacks


@dataclass(frozen=True, eq=False)
class Question:
    """A threat that lists its attacks, asked about one object; sizes are 1, 2, … up to `threat.most`."""

    threat: Threat
    levels: tuple[frozenset[Level], ...]  # of each size, the flips on each axis of its attacks
    counts: tuple[int, ...]  # of each size, how many attacks there are
    attacks: AttackList  # none of any size where a file does not hold them

    @classmethod
    def of(cls, threat: Threat, sites: Sites, noise: Noise) -> Question:
        """The question about the object with these sites; refused where the threat does not fit it."""
        seen = attackable(sites, noise)
        threat = checked_threat(threat, seen, noise)
        found = [list_attacks(threat, seen, size) for size in range(1, threat.most + 1)]
        levels = tuple(frozenset(levels_of_attacks(each, sites, noise)) for each in found)
        return cls(threat, levels, tuple(map(len, found)), [each.numbers(seen) for each in found])

    def parts(self, axes: Sequence[AttackAxis]) -> list[list[LevelAttacks]]:
        """The attacks of each size by level, on the axes of the object: made once for all of its targets."""
        found = _parts_of(self)
        if len(found) < len(self.attacks):
            found[:] = [group_attacks(axes, blocks) for blocks in self.attacks]  # at once: another thread may do it too
        return found

    @cached_property
    def largest(self) -> tuple[Level, ...]:
        """The levels that no other level contains; none where there is no attack at all."""
        every = sorted({level for levels in self.levels for level in levels})
        return tuple(one for one in every if not any(one != other and all(map(le, one, other)) for other in every))

    @cached_property
    def digest(self) -> str:
        """A digest of the listed attacks."""
        return _digest_of(self.attacks)

    def certified_by(self, harmless: Callable[[Level], bool]) -> int:
        """The largest size up to which all attacks lie on levels that are harmless."""
        covered = (all(map(harmless, levels)) for levels in self.levels)
        return next((size for size, holds in enumerate(covered) if not holds), len(self.levels))

    def changed(self, n_sites: int) -> npt.NDArray[np.int64]:
        """The sites that the attacks change, of an object with this many."""
        return changed_sites(self.attacks, n_sites)

    def size_of(self, threat: Threat) -> int | None:
        """The size at which another threat is part of this one: the same threat with fewer units; None: it is not."""
        return size_within(self.threat, threat)


def _digest_of(sizes: Iterable[Iterable[Rows]]) -> str:
    digest = blake2b(digest_size=12)
    for blocks in sizes:
        digest.update(b"size")
        for block in blocks:
            digest.update(b"%d x %d," % block.shape)
            digest.update(block.astype("<i8").tobytes())
    return digest.hexdigest()


@lru_cache(maxsize=1)  # the targets of an object follow one another; lists of several objects take much memory
def _parts_of(asked: Question) -> list[list[LevelAttacks]]:
    """Where the parts of a question are kept; empty at first."""
    return []


class LevelQuestion(NamedTuple):
    """A threat by radius, asked about one object: all levels within a box, of at most `most` flips in all."""

    box: Level
    most: int

    @classmethod
    def of(cls, threat: Threat, noise: Noise, capacity: Level) -> LevelQuestion:
        """The question about an object with this many sites on each axis."""
        limits = threat.limits(noise)
        box = capacity if limits is None else tuple(map(min, limits, capacity))
        return cls(box, sum(box) if threat.flips is None else min(threat.flips, sum(box)))

    def levels(self) -> Iterator[Level]:
        """All of its levels but that without flips, those with few flips first."""
        return (level for flips in range(1, self.most + 1) for level in levels_of(flips, self.box))

    @property
    def largest(self) -> tuple[Level, ...]:
        """The levels that no other level contains."""
        return _largest(self)

    def left(self, harmless: Callable[[Level], bool], limit: int) -> list[Level] | None:
        """The levels that are not harmless, largest first; None if they are more than a limit."""
        found = dict.fromkeys(level for level in self.largest if not harmless(level))
        for level in (listed := list(found)):
            for below in levels_below(level):
                if below not in found and not harmless(below):
                    found[below] = None
                    listed.append(below)
            if len(found) > limit:
                return None
        return listed


@lru_cache(maxsize=2**10)
def _largest(asked: LevelQuestion) -> tuple[Level, ...]:
    return tuple(levels_of(asked.most, asked.box))


class OrderedAttacks:
    """The attacks of a threat on one object, numbered from 0; those of size 1 come first.

    Sets of changes without limits are numbered as `AllSets` does, without being listed; others as they are listed.

    Args:
        threat: what the attacker can do; refused where it does not fit the object.
        sites: the sites of the object.
        noise: names the axes of a box of flips; its numbers do not matter.

    Example:
        >>> from starcert.objects import Bits
        >>> from starcert.objects.threats import read_threat
        >>> sites = Sites.everything(Bits([0, 1, 1]), "all")
        >>> found = OrderedAttacks(read_threat("flips:2"), sites, Noise(all=0.1))
        >>> found.counts, found.ends, list(found.run(2, 4))
        ((3, 3), (3, 6), [((2, 0),), ((0, 1), (1, 0))])
    """

    def __init__(self, threat: Threat, sites: Sites, noise: Noise) -> None:
        if attackable(sites, noise) is not sites:
            hint = "Give these regions Edges laws, or no noise at all: then every type is tried."
            raise InvalidParameterError("noise", f"does not give the type of an added edge, which attacks need. {hint}")
        self.threat, self._sites = checked_threat(threat, sites, noise), sites
        self._sets = self.threat.all_sets(sites) if isinstance(self.threat, SiteThreat) else None

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The number of attacks of each size, from size 1 on."""
        return tuple(map(len, self._listed)) if self._sets is None else self._sets.counts

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The number of attacks of at most each size: the attacks of a size end there."""
        return tuple(accumulate(self.counts))

    @cached_property
    def digest(self) -> str:
        """A digest of the attacks and their numbers."""
        if self._sets is not None:
            return _digest_of([[self._sets.changes[:, None]]])
        return _digest_of(each.blocks for each in self._listed)

    def run(self, start: int, stop: int) -> Attacks:
        """The attacks from number `start` to before `stop`."""
        parts, begin = list[Attacks](), 0
        for size, end in enumerate(self.ends, start=1):
            if start < end and stop > begin:
                some = max(start, begin) - begin, min(stop, end) - begin
                parts.append(self._listed[size - 1].run(*some) if self._sets is None else self._sets.run(size, *some))
            begin = end
        return Attacks.joined(parts)

    @cached_property
    def _listed(self) -> tuple[Attacks, ...]:
        """The attacks of each size, where the threat lists them."""
        found = (list_attacks(self.threat, self._sites, size) for size in range(1, self.threat.most + 1))
        return tuple(each.check(self._sites) for each in found)


def checked_threat(threat: Threat, seen: Sites, noise: Noise) -> Threat:
    """The threat with the axes of a noise named; refused where it does not fit the object."""
    threat = threat.for_noise(noise)
    whole_number("threat.most", getattr(threat, "most", None), 1, MAX_SIZES)
    if not isinstance(threat.label, str):
        raise InvalidParameterError("threat.label", "be a text", threat.label)
    threat.check(seen)
    return threat


def list_attacks(threat: Threat, sites: Sites, size: int) -> Attacks:
    """The attacks of one size; refused unless they are such, and not too many."""
    found = threat.attacks(sites, size)
    blocks = found.blocks if isinstance(found, Attacks) else [None]
    if not all(isinstance(block, np.ndarray) and block.ndim == 2 and block.dtype.kind == "i" for block in blocks):
        hint = "Attacks.from_lists makes them from pairs of a position and its new value."
        raise InvalidParameterError("threat", f"return Attacks for size {size:,}: {threat.label}", found, hint)
    if len(found) > MAX_ATTACKS:
        refuse_many(threat, size, len(found))
    if any(len(block) and not block.shape[1] for block in found.blocks):
        raise InvalidParameterError("threat", f"has an attack that changes nothing: {threat.label}.")
    return Attacks(tuple(block.astype(np.int64, copy=False) for block in found.blocks if len(block)))


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
