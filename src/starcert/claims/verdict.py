"""Results about attacks on one object: verdicts, and those of evidence on all levels examined.

A level is *certified* when no attack of exactly this many flips changes the answer, *broken* when an attack is known
that does, and *open* otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from starcert.claims.found_attack import FoundAttack, most_plausible
from starcert.claims.outcomes import State
from starcert.math.attacked_sites import AttackAxis
from starcert.math.copies import Level
from starcert.math.frontier import Frontier
from starcert.objects.sites import Sites
from starcert.sampling.sampler import Attack

if TYPE_CHECKING:
    from starcert.math.ballots import OwnTally
    from starcert.math.listed import AttackList


Limits: TypeAlias = tuple[int, ...] | None


def lies_within(level: Level, other: Level) -> bool:
    """True if a level has at most as many flips as another on every axis."""
    return all(map(int.__le__, level, other))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a level."""

    kind: State
    why: str  # by which argument, or what is missing
    attack: FoundAttack | None = None  # what breaks the level
    more_votes: int | None = None  # about how many more votes of their own settle an open level; None: not known

    def on(self, sites: Sites) -> Verdict:
        """The same, with what its attack does to this object in words."""
        return self if self.attack is None else replace(self, attack=self.attack.on(sites))


class Grounds(NamedTuple):
    """The grounds of verdicts, besides the votes on the clean object.

    These are the axes of the noise on it, the votes at attacked objects for each attack, chunk by chunk (at most `most`
    in all; None: there were to be none), the most flips of a level that was looked at, and the attacks of a threat that
    lists them, size after size (if there are any, sizes were looked at instead of levels).
    """

    axes: tuple[AttackAxis, ...]
    most: int | None
    own: Mapping[Attack, Sequence[OwnTally]]
    max_flips: int | None = None
    attacks: AttackList | None = None


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on the levels of one object that were looked at, or on the sizes of a threat.

    Only what lies below a radius of `frontier` is certified at all levels, by counts or by evidence. Of a threat that
    lists its attacks, these are the radii of the counts: evidence adds at most the clean object itself.
    """

    alpha: float  # the probability that any of them, or the bounds of the votes, is false
    levels: Mapping[Level, Verdict]
    frontier: Frontier  # of what is certified by counts or by evidence
    own_votes: int = 0  # how many votes at attacked objects there were
    grounds: Grounds | None = field(default=None, repr=False, compare=False)
    sizes: Mapping[int, Verdict] = field(default_factory=dict)

    def of(self, level: Level) -> Verdict:
        """The verdict on a level that the counts of votes do not certify."""
        if level in self.levels:
            return self.levels[level]
        for below in self.broken:
            if lies_within(below, level):
                return Verdict("open", f"the radius is broken at {below}; this level itself was not looked at")
        return Verdict("open", "not examined: a smaller level is open, or it was not requested")

    def votes_to_settle(self, flips: int) -> int | None:
        """About how many votes at attacked objects would settle the open levels of this many flips; None: not known."""
        more = [one.more_votes for level, one in self.levels.items() if sum(level) == flips and one.kind == "open"]
        known = [votes for votes in more if votes is not None]
        return self.own_votes + sum(known) if known and len(known) == len(more) else None

    def on(self, sites: Sites) -> Verdicts:
        """The same, with what each attack does to this object in words."""
        levels = {level: one.on(sites) for level, one in self.levels.items()}
        return replace(self, levels=levels, sizes={size: one.on(sites) for size, one in self.sizes.items()})

    @cached_property
    def shown(self) -> FoundAttack | None:
        """The attack to show first of those that break: see `most_plausible`; small levels and sizes come first."""
        order = sorted(self.levels, key=lambda level: (sum(level), level))
        judged = [*(self.sizes[size] for size in sorted(self.sizes)), *(self.levels[level] for level in order)]
        return most_plausible(one.attack for one in judged if one.attack is not None)

    @cached_property
    def certified(self) -> tuple[Level, ...]:
        """The certified levels."""
        return tuple(sorted(level for level, one in self.levels.items() if one.kind == "certified"))

    @cached_property
    def broken(self) -> tuple[Level, ...]:
        """The broken levels."""
        return tuple(sorted(level for level, one in self.levels.items() if one.kind == "broken"))
