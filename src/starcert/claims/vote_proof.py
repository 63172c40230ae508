"""Votes as a proof: bounds on class probabilities, what they certify by radius, and what evidence shows beyond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from starcert.claims.outcomes import Labels, Mask, Outcomes
from starcert.claims.proof import Asked, Proof
from starcert.claims.question import NO_ATTACK, Question
from starcert.claims.slack import slacks_of, tradeoffs_of
from starcert.claims.smoothed_outcomes import smoothed_outcomes
from starcert.claims.tables import result_rows
from starcert.claims.verdict import FoundAttack, Limits, Verdict, Verdicts, lies_within
from starcert.math.confidence import Bounds
from starcert.math.fallback import PLAIN
from starcert.math.frontier import Frontier, Frontiers, flips_covered, levels_of
from starcert.math.margins import MultiClass, TwoClass
from starcert.objects.noise import Noise, RadiusLike
from starcert.objects.threats import AnyFlips, Box, Threat, read_threat
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.claims.certificate import Certificate
    from starcert.claims.certificates import Certificates
    from starcert.claims.collective import Collective


@dataclass(frozen=True, eq=False)
class VoteProof(Proof):
    """Bounds from votes on noisy copies, one row each; and what evidence says about each row, or None.

    Proofs by radius are shared between rows.
    """

    bounds: Bounds
    noise: Noise
    max_radius: Limits  # the box of radii to look at, in the order of `noise.axes`; None: no end
    capacity: Sequence[Limits]  # of each row, how many sites an attacker finds on each axis; None: not known
    boxes: Sequence[Limits]  # of each row, how far its frontier is searched
    verdicts: Sequence[Verdicts | None] | None = None
    asked: Sequence[Question] | None = None  # for each object, if a threat lists its attacks
    collective: Collective | None = None  # the votes of all targets side by side, if they were kept
    _frontiers: dict[tuple[tuple[int | None, ...], float], Frontiers] = field(default_factory=dict)

    @property
    @override
    def method(self) -> str:
        return f"{self.noise!r}, alpha={self.alpha}"

    @property
    @override
    def alpha(self) -> float | None:  # type: ignore[override]
        stated = [] if self.verdicts is None else [each.alpha for each in self.verdicts if each is not None]
        return max(stated, default=self.bounds.alpha)

    @override
    def alpha_of(self, row: int) -> float | None:
        verdicts = None if self.verdicts is None else self.verdicts[row]
        return self.bounds.alpha if verdicts is None else verdicts.alpha

    @property
    @override
    def together(self) -> int:  # type: ignore[override]
        return self.bounds.family_size

    @property
    @override
    def weighed(self) -> bool:  # type: ignore[override]
        return self.verdicts is not None

    def question(self, number: int) -> Question | None:
        """The question about an object, if the threat lists its attacks."""
        return None if self.asked is None else self.asked[number]

    def search(self, row: int) -> Frontiers:
        """The search for the frontier of a row: in the box that lies in all of its boxes."""
        boxes = (box for box in (self.max_radius, self.capacity[row], self.boxes[row]) if box is not None)
        limits: tuple[int | None, ...] = tuple(map(min, zip(*boxes, strict=True))) or (None,) * len(self.noise.axes)
        key = limits, self.bounds.contests[row].limit
        if key not in self._frontiers:
            self._frontiers[key] = Frontiers(slacks_of(self.noise.product, key[1]), limits)
        return self._frontiers[key]

    def margin(self, row: int) -> TwoClass | MultiClass:
        """The margin that decides the radii of a row: of all other answers together, or of every single one."""
        failure, other, law = float(self.bounds.failure[row]), float(self.bounds.other[row]), self.noise.product
        if (contest := self.bounds.contests[row]) != PLAIN:
            return TwoClass(slacks_of(law, contest.limit), failure if contest.third else other)
        return MultiClass(tradeoffs_of(law), failure, other) if other < failure else TwoClass(slacks_of(law), failure)

    def frontiers(self) -> list[Frontier]:
        """The frontier of each row."""
        by_p_A = [self.search(row).of(self.margin(row)) for row in range(len(self.bounds))]  # noqa: N806  (the paper's)
        judged = self.verdicts or [None] * len(by_p_A)
        return [alone if each is None else each.frontier for alone, each in zip(by_p_A, judged, strict=True)]

    def certified(self, of: Certificates, radius: RadiusLike) -> Mask:
        """Which rows are certified at a radius; proved."""
        counts, law = in_box(self.noise.radius(radius), self.max_radius, None), self.noise.product
        rows = [(limits, each.limit) for limits, each in zip(self.capacity, self.bounds.contests, strict=True)]
        below = {each: slacks_of(law, each[1]).bracket(in_box(counts, None, each[0])).below for each in set(rows)}
        found: Mask = self.bounds.failure <= np.array([below[each] for each in rows])
        one_by_one = self.bounds.other < self.bounds.failure
        if self.verdicts is not None:
            one_by_one = one_by_one | ~found
        for i in np.flatnonzero(one_by_one):
            found[i] = of[int(i)].certified(counts)
        return found

    @override
    def abstained(self, of: Certificates) -> Mask:
        return ~self.certified(of, (0,) * len(self.noise.axes))

    @override
    def outcomes(self, of: Certificates, threat: Threat | None) -> Outcomes:
        return smoothed_outcomes(of, (self.counted(of.threat) or AnyFlips(2)) if threat is None else threat)

    def counted(self, threat: Threat | None) -> Threat | None:
        """The threat under which results are counted: the one that listed its attacks, or any flips; None: neither.

        Any flips are as many as the threat has; with evidence and no threat, as many as it looked at.
        """
        if self.asked:
            return self.asked[0].threat
        if threat is not None and threat.flips is not None:
            return AnyFlips(threat.flips)
        if self.verdicts is None:
            return None
        grounds = [each.grounds for each in self.verdicts if each is not None]
        return AnyFlips(max((each.max_flips or 0 for each in grounds if each is not None), default=0) or 2)

    @override
    def by_axis(self, of: Certificates, flips: int | None) -> dict[str, Outcomes]:
        axes = self.noise.axes
        if flips is None:
            flips = max((max(radius) for one in self.frontiers() for radius in one.radii), default=0) or 1
        return {axis: of.outcomes(Box({each: flips * (each == axis) for each in axes})) for axis in axes}

    @override
    def certified_size(self, one: Certificate) -> int | None:
        if one.asked is None or one.abstained:
            return None
        found = (self._verdict_by_size(one, size, one.asked).kind for size in range(1, one.asked.threat.most + 1))
        return next((size for size, kind in enumerate(found) if kind != "certified"), one.asked.threat.most)

    @override
    def broken_size(self, one: Certificate) -> int | None:
        if one.verdicts is None:
            return None
        sizes = [size for size, each in one.verdicts.sizes.items() if each.kind == "broken"]
        return min([*sizes, *map(sum, one.broken)], default=None)

    @override
    def attack(self, one: Certificate) -> FoundAttack | None:
        return None if one.verdicts is None else one.verdicts.shown

    @override
    def rows(self, of: Certificates, labels: Labels | None, **about: Any) -> list[dict[str, object]]:
        return result_rows(of, labels, **about)

    @override
    def verdict(self, one: Certificate, asked: Asked) -> Verdict:
        if asked is None:
            asked = self.counted(one.certificates.threat) or AnyFlips(2)
        if isinstance(asked, Threat | str):
            return self._verdict_on(one, read_threat(asked))
        level = self.noise.radius(asked, "level")
        if one.capacity is not None and not lies_within(level, one.capacity):
            hint = "A level is a number of attacked sites."
            raise InvalidParameterError("level", f"be at most what there is to attack, {one.capacity}", level, hint)
        if self.margin(one.row).proves(in_box(level, self.max_radius, None)) is True:
            return Verdict("certified", "by p_A")
        if one.verdicts is None or (one.asked is not None and level not in one.verdicts.levels):
            about = "" if one.verdicts is None else " but about the threat that was asked about"
            return Verdict("open", f"not by p_A, and there is no evidence{about}")
        return one.verdicts.of(level)

    def _verdict_on(self, one: Certificate, threat: Threat) -> Verdict:
        """The verdict on all attacks of a threat."""
        size = None if one.asked is None else one.asked.size_of(threat.for_noise(self.noise))
        limits, flips = threat.limits(self.noise), threat.flips
        if size is None and limits is None and flips is None:
            hint = "Certify again with this threat: certify(…, threat=…)."
            raise InvalidParameterError("threat", "be the one that was asked about", str(threat), hint)
        if one.abstained:
            return Verdict("open", "the smoothed classifier abstains")
        if size is not None and one.asked is not None:
            return self._verdict_by_size(one, size, one.asked)
        boxes = [box for box in (limits, one.capacity) if box is not None]
        if not boxes:
            raise InvalidParameterError("capacity", "be known, to speak of flips wherever they are", None)
        box = tuple(map(min, zip(*boxes, strict=True)))
        most = sum(box) if flips is None else min(flips, sum(box))
        broken = [level for level in one.broken if lies_within(level, box) and sum(level) <= most]
        if threat.by_radius and broken:  # the level's attack is one of the threat
            return self.verdict(one, broken[0])
        if limits is None:
            holds = flips_covered(one.frontier.radii, box, most) >= most
        else:
            holds = one.certified(box) or (flips is not None and all(map(one.certified, levels_of(most, box))))
        if holds:
            return Verdict("certified", "by all radii that hold its attacks")
        return Verdict("open", "a radius that holds some of its attacks is not certified")

    def _verdict_by_size(self, one: Certificate, size: int, asked: Question) -> Verdict:
        """The verdict on the first size that is not certified, from below, or on the last."""
        by_p_A = asked.certified_by(one.proves)  # noqa: N806  (the paper's p_A)
        verdict = Verdict("certified", "by p_A" if any(asked.levels[:size]) else NO_ATTACK)
        for each in range(by_p_A + 1, size + 1):
            verdict = Verdict("open", "not by p_A, and there is no evidence")
            if one.verdicts is not None:
                verdict = one.verdicts.sizes.get(each, verdict)
            if verdict.kind != "certified":
                break
        return verdict

    def within(self, max_radius: RadiusLike) -> VoteProof:
        """The same, looked at in a smaller box of radii: frontiers end there."""
        limits = in_box(self.noise.radius(max_radius, "max_radius"), self.max_radius, None)
        return replace(self, max_radius=limits, boxes=[None] * len(self.bounds))


def in_box(radius: tuple[int, ...], max_radius: Limits, capacity: Limits) -> tuple[int, ...]:
    """The radius as far as there is anything to attack, once it is known to lie in the box."""
    if max_radius is not None and not lies_within(radius, max_radius):
        hint = "Certify again with a larger max_radius."
        raise InvalidParameterError("radius", f"stay within max_radius {max_radius}", radius, hint)
    return radius if capacity is None else tuple(map(min, radius, capacity))
