"""What a threat asks about one object: its attacks, size after size, and the levels that they lie on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from starcert.objects.threats import Threat, attackable, by_level

if TYPE_CHECKING:
    from starcert.math.evidence import Level
    from starcert.math.listed import AttackList
    from starcert.objects import Sites
    from starcert.objects.noise import Noise


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
        threat.check(seen)
        found = [threat.attacks(seen, size) for size in range(1, threat.most + 1)]
        levels = tuple(frozenset(by_level(each, sites, noise)) for each in found)
        return cls(threat, levels, tuple(map(len, found)), [each.numbers(seen) for each in found])

    def certified_by(self, harmless: Callable[[Level], bool]) -> int:
        """The largest size up to which all attacks lie on levels that are harmless."""
        covered = (all(map(harmless, levels)) for levels in self.levels)
        return next((size for size, holds in enumerate(covered) if not holds), len(self.levels))

    def size_of(self, threat: Threat) -> int | None:
        """The size at which another threat is part of this one: the same threat with fewer units; None: it is not."""
        if threat == self.threat:
            return self.threat.most
        known: Any = self.threat
        if type(threat) is type(known) and is_dataclass(threat) and 0 < threat.most < known.most:
            return threat.most if replace(known, most=threat.most) == threat else None
        return None
