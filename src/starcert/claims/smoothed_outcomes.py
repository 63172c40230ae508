"""The outcomes of certificates by votes for each object under a threat: by p_A, and by evidence."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from starcert.claims.outcomes import NEVER, TOO_FAR, Outcome, Outcomes, beyond, common_size
from starcert.claims.question import NO_ATTACK
from starcert.claims.slack import slacks_of
from starcert.claims.verdict import lies_within
from starcert.math.choices import Level
from starcert.math.frontier import Frontier, flips_covered
from starcert.objects.threats import Threat

if TYPE_CHECKING:
    from starcert.claims.certificate import Certificate
    from starcert.claims.certificates import Certificates

NO_CAPACITY = "it is not known how many sites an attacker finds"

Why = Callable[[Level], str]


def smoothed_outcomes(certificates: Certificates, threat: Threat) -> Outcomes:
    """The outcomes under a threat by radius, or under the one whose attacks were listed."""
    threat, alone = threat.for_noise(certificates.noise), None
    if certificates.verdicts is not None:
        alone = smoothed_outcomes(certificates.by_p_A, threat)
    reason, sharing = unknown_at(certificates), Counter(certificates.objects.tolist())
    rows, to_settle = [], list[int | None]()
    answered = (~certificates.abstained).tolist()
    for one, frontier, is_answered in zip(certificates, certificates.frontiers(), answered, strict=True):
        blank = Outcome(one.label if is_answered else None, None, looked=0)
        if one.asked is not None and not threat.by_radius:
            outcome = _by_size(one, blank, threat)
        else:
            outcome = _by_radius(one, blank, threat, frontier, reason)
        needed = None if outcome.certified is None else _votes_to_settle(one, outcome.certified + 1, threat)
        rows.append(outcome)
        to_settle.append(None if needed is None else needed * sharing[one.object])  # targets share the votes of theirs
    objects = tuple(certificates.objects.tolist())
    found = Outcomes(threat, tuple(rows), objects, alone, to_settle=tuple(to_settle))
    return found if alone is not None else replace(found, by_p_A=found)


def _by_radius(one: Certificate, blank: Outcome, threat: Threat, frontier: Frontier, reason: Why) -> Outcome:
    """The outcome under a threat by radius: the number of flips within its box that certified radii cover."""
    boxes = [box for box in (threat.limits(one.noise), one.capacity) if box is not None]
    if not threat.by_radius or not boxes:
        return blank._replace(why=NO_CAPACITY if threat.by_radius else f"{threat} was not asked about")
    box: Level = tuple(map(min, zip(*boxes, strict=True)))
    flips = sum(box) if threat.flips is None else min(threat.flips, sum(box))
    if not flips:
        certified = 0 if blank.answer is None else threat.most
        return blank._replace(certified=certified, looked=threat.most, attacks=(0,), why=NO_ATTACK)
    reach = [limit for limit, size in zip(one.max_radius or box, box, strict=True) if limit < size]
    looked, why = min([flips, *reach]), TOO_FAR
    certified = flips_covered(frontier.radii, box, looked)
    if certified < looked == sum(box) and frontier.incomplete and one.certified(box):
        certified = looked
    within = (level for level in one.broken if lies_within(level, box) and sum(level) <= flips)
    broken = min(within, key=sum, default=None)
    verdict = None if broken is None else one.judge(broken)

    def unknown(size: int) -> str:
        """Of any flips, those on one axis alone are the farthest that votes reach."""
        axes = range(len(box))
        farthest = (tuple(min(size, box[axis]) * (axis == other) for other in axes) for axis in axes)
        return next(filter(None, map(reason, farthest)), "")

    sizes = range(certified + 1, looked + 1)
    if (first := bisect_left(sizes, True, key=lambda size: bool(unknown(size)))) < len(sizes):
        looked, why = sizes[first] - 1, unknown(sizes[first])
    if certified == flips:  # there are no attacks with more flips
        looked, certified, why = threat.most, threat.most, "by all radii that hold its attacks"
    elif looked == flips:
        looked, why = threat.most, "a radius that holds some is not certified" if verdict is None else verdict.why
    return blank._replace(
        certified=certified if looked else None,
        broken=None if broken is None else sum(broken),
        looked=looked,
        found=None if verdict is None else verdict.attack,
        why=why,
    )


def _by_size(one: Certificate, blank: Outcome, threat: Threat) -> Outcome:
    """The outcome under a threat that lists its attacks."""
    asked = one.asked
    assert asked is not None
    if (most := common_size(asked.threat, threat)) is None:
        return blank._replace(why=f"{threat} was not asked about")
    sizes = {} if one.verdicts is None else one.verdicts.sizes
    certified = min(most, one.certified_size or 0)
    why = beyond(asked.threat) if most < threat.most else one.judge(threat).why
    broken = [size for size in sorted(sizes) if sizes[size].kind == "broken" and size <= most]
    return blank._replace(
        certified=certified,
        broken=broken[0] if broken else None,
        looked=most,
        attacks=asked.counts[:most],
        found=sizes[broken[0]].attack if broken else None,
        why=why,
    )


def _votes_to_settle(one: Certificate, size: int, threat: Threat) -> int | None:
    """About how many votes of its own would settle a size; None: not known, or there is nothing to settle."""
    if one.verdicts is None:
        return None
    if threat.by_radius:
        return one.verdicts.votes_to_settle(size)
    more = one.verdicts.sizes[size].more_votes if size in one.verdicts.sizes else None
    return None if more is None else one.verdicts.own_votes + more


def unknown_at(certificates: Certificates) -> Why:
    """Says of a radius why a share of 0 there would say nothing; "" where it is a finding."""
    threat, never = certificates.listed_threat or certificates.threat, never_certified(certificates)
    limits = None if threat is None else threat.limits(certificates.noise)

    def why(radius: Level) -> str:
        if threat is not None and any(radius):
            within = (limits is None or lies_within(radius, limits)) and sum(radius) <= (threat.flips or sum(radius))
            if not (threat.by_radius and within):
                return beyond(threat)
        return NEVER if never is not None and never(radius) else ""

    return why


def never_certified(certificates: Certificates) -> Callable[[Level], bool] | None:
    """Says of a level whether no number of votes on clean objects certifies it; None: there is no such level.

    Copies of attacked objects show there too often what those of clean ones never show. Votes at attacked objects can
    settle such attacks: where there could be some, none is out of reach.
    """
    law = certificates.noise.product
    if not any(attacked and not clean for each in law.channels for clean, attacked in each.outcomes):
        return None
    grounds = (None if each is None else each.grounds for each in certificates.verdicts or ())
    if any(each is not None and each.most for each in grounds):
        return None
    slacks = [slacks_of(law, limit) for limit in {each.limit for each in certificates.bounds.contests}]
    return cache(lambda level: all(each.bracket(level).below <= 0 for each in slacks))
