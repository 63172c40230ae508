"""Intervals for outputs that are numbers: they contain the mean at every object that a threat makes of the clean one.

`math/values.py` has the argument. Each interval is a claim by itself: it fails with probability at most alpha, half of
it at either end. Which of two arguments an interval rests on is fixed before the votes:

    weighing    a threat lists its attacks, or those within a radius are at most `MAX_ATTACKS`, and flips are kept
    ρ           any other radius

Taking the narrower of both would fail more often than alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from typing_extensions import override

from starcert.claims.outcomes import Labels, Outcomes
from starcert.claims.proof import Proof
from starcert.claims.question import Question
from starcert.claims.slack import tradeoffs_of
from starcert.classifiers.values import ValueRange
from starcert.math.attacked_sites import AttackAxis, LevelAttacks, ListedAxis, group_attacks, n_attacks, pools_of
from starcert.math.bets import needed
from starcert.math.confidence import check_alpha
from starcert.math.evidence import MAX_ATTACKS
from starcert.math.flips import Integers
from starcert.math.values import ENDS, ValueEvidence, bounds_of_steps, upper_by_radius
from starcert.math.votes import Votes
from starcert.objects import Sites
from starcert.objects.binding import attack_axes, why_no_evidence
from starcert.objects.laws import real_number
from starcert.objects.noise import Noise, RadiusLike
from starcert.objects.threats import Box, Threat, read_threat
from starcert.system.errors import InvalidParameterError
from starcert.system.output import holds_at_least, quantity

if TYPE_CHECKING:
    from starcert.claims.certificate import Certificate
    from starcert.claims.certificates import Certificates

MAX_LEVELS = 2**12  # within a radius of more levels, attacks are not counted: they are not listed either


class Claim(NamedTuple):
    """The subject of an interval: attacks by radius or of a size, and the outputs themselves or those above t."""

    threat: Threat | None = None  # by radius; None where `size` says which attacks
    size: int = 0  # of the threat that was asked about: all its attacks up to this size; 0: none, the clean object
    above: float | None = None


@dataclass(frozen=True)
class ValueInterval:
    """An interval that contains a mean at the clean object and every attacked one, up to probability `alpha`.

    Example:
        >>> import starcert as sc
        >>> outputs = sc.ValueRange(0, 1)
        >>> share = sc.classifiers.from_callable(lambda rows: rows.mean(axis=1), on="vectors", outputs=outputs)
        >>> smoothed = sc.SmoothedRegressor(share, sc.Noise(all=0.1))
        >>> (one,) = smoothed.certify(sc.Bits.rows([[1, 1, 0, 1]]), samples=1000, seed=1)
        >>> one.interval("flips:1").how, one.clean.alpha
        ('by weighing 4 attacks', 0.01)
    """

    low: float
    high: float
    alpha: float
    what: str  # which mean it is, of which objects
    how: str  # by which argument
    ends: tuple[int, int] = field(repr=False)  # the same, as multiples of 1/ENDS of the range

    @property
    def width(self) -> float:
        """Its length."""
        return self.high - self.low

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        premise = f"With probability at least {holds_at_least(self.alpha)} over the sampling"
        return f"{premise}, {self.what} lies from {self.low:.6g} to {self.high:.6g} ({self.how})."


class KeptSites(NamedTuple):
    """The sites of an object whose flips are kept with each of its votes."""

    sites: Integers  # their positions, ascending
    axes: tuple[AttackAxis, ...]  # with these sites alone
    whole: bool  # whether these are all sites that can be attacked

    @classmethod
    def everywhere(cls, sites: Sites, noise: Noise) -> KeptSites | None:
        """All sites that can be attacked; None where it is not known which flipped."""
        if why_no_evidence(sites.n_sites, noise):
            return None
        axes = attack_axes(sites, noise)
        every = np.unique(np.concatenate([np.empty(0, np.int64), *(axis.sites for axis in axes)]))
        return cls(every, axes, whole=True)


@dataclass(frozen=True, eq=False)
class IntervalProof(Proof):
    """Outputs on noisy copies of each object, or target, as a proof: it answers intervals in place of verdicts."""

    outputs: ValueRange
    noise: Noise
    votes: Votes = field(repr=False)  # their classes are the steps of the range
    kept: tuple[KeptSites | None, ...] = field(repr=False)  # for each object; None: flips are not kept
    capacities: tuple[tuple[int, ...], ...] = field(repr=False)  # how many sites of each object there are on each axis
    alpha: float
    together: int = 1  # how many intervals share alpha
    asked: tuple[Question, ...] | None = field(default=None, repr=False)  # of a threat that lists its attacks
    threat: Threat | None = None
    _found: dict[tuple[int, Claim, Fraction], ValueInterval] = field(default_factory=dict, init=False, repr=False)
    _ready: dict[int, ValueEvidence] = field(default_factory=dict, init=False, repr=False)  # by object

    @property
    @override
    def method(self) -> str:
        return f"intervals, {self.noise!r}, alpha={self.alpha}"

    @override
    def outcomes(self, of: Certificates, threat: Threat | None) -> Outcomes:
        hint = "See intervals(threat)."
        raise InvalidParameterError("threat", f"has no outcome where outputs are numbers: they have intervals. {hint}")

    @override
    def rows(self, of: Certificates, labels: Labels | None, **about: Any) -> list[dict[str, object]]:
        """The estimate, and the intervals without attack and under the threat of `certify`."""
        if labels is not None or about:
            raise InvalidParameterError("labels", "not be given where outputs are numbers", labels)
        found = []
        for one in of:
            row: dict[str, object] = {"graph": one.object, "target": one.target, "estimate": one.estimate}
            row |= {"clean_low": one.clean.low, "clean_high": one.clean.high}
            if self.threat is not None:
                row |= {"low": (under := one.interval()).low, "high": under.high}
            found.append(row)
        return found

    def estimate(self, row: int) -> float:
        """The mean of the outputs of a row as it was seen, up to half a step."""
        edges, counts = self.outputs.edges, self.votes.counts[row]
        return float((edges[1:] + edges[:-1]) / 2 @ counts / counts.sum())

    def claim(self, threat: Threat | str | RadiusLike | None, above: float | None) -> Claim:
        """The claim, checked; without a threat, about that of `certify`."""
        if above is not None:
            if not np.isfinite(real_number(above)):
                raise InvalidParameterError("above", "be a number", above)
            above = real_number(above)
        given = self.threat if threat is None else threat
        if given is None:
            hint = 'For example interval("flips:1"), or interval((3, 45)); `clean` is that without attack.'
            raise InvalidParameterError("threat", f"is missing, here and in certify. {hint}")
        asked = read_threat(given) if isinstance(given, Threat | str) else Box(self.noise.radius(given))
        if asked.by_radius:
            return Claim(asked.for_noise(self.noise), 0, above)
        size = None if self.asked is None else self.asked[0].size_of(asked.for_noise(self.noise))
        if size is None:
            hint = "Certify with this threat: certify(…, threat=…)."
            raise InvalidParameterError("threat", "be the one that was asked about", str(asked), hint)
        return Claim(None, size, above)

    def interval(self, one: Certificate, claim: Claim, alpha: float | None) -> ValueInterval:
        """The interval of a row; what was computed before is remembered."""
        row = one.row
        failure = self.alpha if alpha is None else check_alpha(alpha)
        key = row, claim, Fraction(failure) / self.together
        if key not in self._found:
            ends = self.ends(row, claim, key[-1])
            self._found[key] = self._shown(one, claim, ends, failure)
        return self._found[key]

    def ends(self, row: int, claim: Claim, alpha: Fraction) -> tuple[int, int]:
        """The ends of an interval as multiples of 1/ENDS of the range, or of a probability; each with half of alpha."""
        number, n = int(self.votes.objects[row]), self.outputs.steps
        bottoms, tops = bounds_of_steps(self.outputs.edges, claim.above)
        listed, found = self.attacks(number, claim), list[int]()
        for numbers in (n - bottoms, tops):
            if listed is not None:
                target, evidence = int(self.votes.targets[row]), self._evidence(number)
                found.append(evidence.upper(target, numbers, n, listed, needed(alpha / 2)))
            else:
                counts, tradeoff = self.votes.counts[row], tradeoffs_of(self.noise.product)
                ends = (
                    upper_by_radius(counts, numbers, n, alpha / 2, tradeoff, radius)
                    for radius in self.largest(number, claim)
                )
                found.append(max(ends))
        return ENDS - found[0], found[1]

    def attacks(self, number: int, claim: Claim) -> list[LevelAttacks] | None:
        """The attacks on an object that are weighed, and none at all as one of them; None: they are too many to list.

        That does not depend on votes.
        """
        kept, clean = self.kept[number], LevelAttacks((0,) * len(self.noise.axes))
        if kept is None and claim.size:
            must, hint = "be one by radius where it is not known which sites flipped", "For example flips:1."
            raise InvalidParameterError("threat", must, str(self.threat), hint)
        if kept is None or (claim.threat is not None and not kept.whole):
            return None
        if claim.threat is None:
            blocks = () if self.asked is None else self.asked[number].attacks[: claim.size]
            return [clean, *(part for each in blocks for part in group_attacks(kept.axes, each))]
        within = Question.by_radius(claim.threat, self.noise, self.capacities[number])
        levels = list(islice(within.within(), MAX_LEVELS + 1))
        total = (
            sum(count_attacks(kept.axes, level) for level in levels) if len(levels) <= MAX_LEVELS else MAX_ATTACKS + 1
        )
        return [clean, *map(LevelAttacks, levels)] if total <= MAX_ATTACKS else None

    def largest(self, number: int, claim: Claim) -> Sequence[tuple[int, ...]]:
        """The largest radii that a claim is about: all other attacks on an object lie within one of them."""
        if claim.threat is None:
            return [(0,) * len(self.noise.axes)]
        return Question.by_radius(claim.threat, self.noise, self.capacities[number]).largest

    def _evidence(self, number: int) -> ValueEvidence:
        kept, votes = self.kept[number], self.votes.ballots[number]
        assert kept is not None
        assert votes is not None
        if number not in self._ready:
            self._ready[number] = ValueEvidence(votes, kept.axes)
        return self._ready[number]

    def _shown(self, one: Certificate, claim: Claim, ends: tuple[int, int], alpha: float) -> ValueInterval:
        number, (low, high) = one.object, self.numbers(ends, claim.above)
        what = "the mean output" if claim.above is None else f"the probability of an output above {claim.above:g}"
        what += " on noisy copies"
        if claim.threat is not None or claim.size:
            label = claim.threat.label if claim.threat else (self.asked or ())[number].threat.label_of(claim.size)
            what += f", whatever the attacker does with {label},"
        kept, listed = self.kept[number], self.attacks(number, claim)
        how = "by ρ, from how the outputs on the clean object are distributed"
        if kept is not None and listed is not None:
            parts = (
                count_attacks(kept.axes, each.level) if each.rows is None else len(each.rows) for each in listed[1:]
            )
            weighed = sum(parts)
            how = f"by weighing {quantity(weighed, 'attack')}" if len(listed) > 1 else "by a bet on its votes"
        anchor = f"; anchored: {one.anchored}" * bool(one.anchored)
        return ValueInterval(low, high, alpha, what, how + anchor, ends)

    def numbers(self, ends: tuple[int, int], above: float | None) -> tuple[float, float]:
        """The ends of an interval as outputs, or as probabilities, rounded outward."""
        low, high = (Fraction(end, ENDS) for end in ends)
        if above is not None:
            return float(low), float(high)
        return self.outputs.value(low, up=False), self.outputs.value(high, up=True)


def count_attacks(axes: Sequence[AttackAxis], level: Sequence[int]) -> int:
    """The number of attacks of a level."""
    listed = zip(axes, level, pools_of(axes), strict=True)
    return n_attacks([ListedAxis(len(axis.sites), each, axis.law.moves, pool=pool) for axis, each, pool in listed])
