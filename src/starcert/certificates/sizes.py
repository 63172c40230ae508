"""What is known about each graph under a threat, by the size of its attacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Literal, NamedTuple

from starcert.certificates.answers import Mask
from starcert.certificates.certificate import Certificate
from starcert.certificates.certify import Certificates
from starcert.certificates.unknown import NEVER, beyond, never_certified, threat_of
from starcert.math.evidence import Level
from starcert.objects.threats import Threat
from starcert.system.errors import InvalidParameterError


class SizeOutcome(NamedTuple):
    """What is known about one graph under a threat, by the size of its attacks."""

    least: int  # the smallest size of an attack
    asked: int  # the largest size that is looked at; less than `least` where there is no attack
    by_p_A: int  # noqa: N815  (the largest size certified by the bounds on the class probabilities alone)
    certified: int  # the largest size certified, by whichever argument
    broken: int | None  # the smallest size of an attack that is known to change the answer
    to_settle: int | None  # about how many votes of its own would settle the size after those that are certified
    n_attacks: tuple[int, ...] = ()  # how many attacks of each size are listed, from 1 on; empty: none are
    unknown: tuple[int, str] | None = None  # from which size on 0 would say nothing, and why; None: nowhere

    def under(self, size: int) -> Literal["by p_A", "by evidence", "broken", "open"]:
        """Whether attacks of at most this size are certified, by which argument, or broken, or open."""
        if size <= self.certified:
            return "by p_A" if size <= self.by_p_A else "by evidence"
        return "open" if self.broken is None or self.broken > size else "broken"

    def possible(self, size: int) -> bool:
        """Whether there are attacks of at most this size, and they are looked at."""
        return self.least <= size <= self.asked

    def why_unknown(self, size: int) -> str:
        """Why a share of 0 at this size would say nothing; "" where it is a finding."""
        return self.unknown[1] if self.unknown is not None and self.unknown[0] <= size else ""


def size_outcomes(certificates: Certificates, threat: Threat) -> list[SizeOutcome]:
    """What is known about each graph under any flips, or under the threat that was asked about, by size."""
    sharing = Counter(certificates.objects.tolist())  # targets of one object share its votes
    known, never = threat_of(certificates), never_certified(certificates)
    found = []
    for one, alone in zip(certificates, certificates.by_p_A, strict=True):
        outcome = _by_flips(one, alone, threat) if threat.by_radius else _by_size(one, threat)
        outcome = outcome._replace(unknown=_unknown(one, outcome, threat, known, never))
        needed = outcome.to_settle
        found.append(outcome if needed is None else outcome._replace(to_settle=needed * sharing[one.object]))
    return found


def _unknown(
    one: Certificate,
    outcome: SizeOutcome,
    threat: Threat,
    known: Threat | None,
    never: Callable[[Level], bool] | None,
) -> tuple[int, str] | None:
    """From which size on it would say nothing that a graph is not certified, and why; `known` is what was asked."""
    first, last = outcome.certified + 1, outcome.asked
    within = last if known is None or not threat.by_radius else (known.flips or last) if known.by_radius else 0
    for size in range(first, last + 1):
        if known is not None and size > within:
            return size, beyond(known)
        if never is not None and any(map(never, _farthest(one, size))):
            return size, NEVER
    return None


def _farthest(one: Certificate, size: int) -> Iterable[Level]:
    """Levels of attacks of at most this size that votes can hardly certify: of any flips, those on one axis alone."""
    if one.asked is not None:
        return one.asked.levels[size - 1]
    counts = [min(size, limit) for limit in one.capacity or ()]
    return [tuple(n * (axis == other) for other in range(len(counts))) for axis, n in enumerate(counts)]


def _by_flips(one: Certificate, alone: Certificate, threat: Threat) -> SizeOutcome:
    """What is known under flips wherever they are: nothing without the capacity."""
    if threat.flips is None:
        raise InvalidParameterError("threat", "limit the number of flips", str(threat), "For example flips:2.")
    if one.capacity is None:
        return SizeOutcome(1, 0, 0, 0, None, None)
    # All its sites, or as many as `max_radius` allows on every axis.
    limits = zip(one.max_radius or one.capacity, one.capacity, strict=True)
    asked = min([threat.flips, sum(one.capacity), *(limit for limit, size in limits if limit < size)])
    certified, broken = one.any_flips_to(asked), min(map(sum, one.broken), default=None)
    needed = None if one.verdicts is None else one.verdicts.votes_to_settle(certified + 1)
    return SizeOutcome(1, asked, alone.any_flips_to(asked), certified, broken, needed)


def _by_size(one: Certificate, threat: Threat) -> SizeOutcome:
    """What is known under a threat that lists its attacks."""
    most = None if one.asked is None else one.asked.size_of(threat)
    if one.asked is None or most is None:
        hint = "Certify again with this threat, or name any flips: flips:2."
        raise InvalidParameterError("threat", "be the one that was asked about", str(threat), hint)
    least = next((size for size, n in enumerate(one.asked.counts, start=1) if n), most + 1)
    sizes = {} if one.verdicts is None else one.verdicts.sizes
    certified = min(most, one.certified_size or 0)
    by_counts = min(certified, one.asked.certified_by(one.proves))
    broken = min((size for size, verdict in sizes.items() if verdict.kind == "broken"), default=None)
    more = sizes[certified + 1].more_votes if certified + 1 in sizes else None
    needed = None if one.verdicts is None or more is None else one.verdicts.own_votes + more
    return SizeOutcome(least, most, by_counts, certified, broken, needed, one.asked.counts[:most])


def why_unknown_at(size: int, outcomes: Sequence[SizeOutcome], among: Mask) -> str:
    """Why a share of 0 of some graphs at this size would say nothing; "" where it is a finding on any of them."""
    reasons = {one.why_unknown(size) for one in compress(outcomes, among)}
    return reasons.pop() if len(reasons) == 1 else ""
