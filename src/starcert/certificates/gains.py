"""The structure gain at all that a page shows: no attack, each size of a threat, and some flips on each axis alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from starcert.certificates.answers import Labels, known_classes, right
from starcert.certificates.certify import Certificates
from starcert.certificates.exact_certificates import ExactCertificate, ExactCertificates
from starcert.certificates.metrics import has_sites, size_steps, steps_to
from starcert.certificates.paired import Mask, StructureGain
from starcert.certificates.questions import size_within
from starcert.certificates.sizes import SizeOutcome, size_outcomes, why_unknown_at
from starcert.certificates.unknown import unknown_at
from starcert.objects.threats import AnyFlips, Threat
from starcert.system.output import quantity

NOT_LOOKED_AT = SizeOutcome(1, 0, 0, 0, None, None)


def structure_gains(
    certificates: Certificates,
    labels: Labels,
    blind: Labels,
    threat: Threat | None = None,
    flips: Sequence[int] | None = None,
) -> list[StructureGain]:
    """What is gained on a blind model (`metrics.structure_gain`), wherever some graph of a known class can be attacked.

    Under a threat, by the size of attacks. On an axis alone at these numbers of flips, by default at 1, 2, 5, … as far
    as anything is certified.
    """
    reach = (max(radius) for one in certificates.frontiers() for radius in one.radii) if flips is None else ()
    steps = steps_to(max(reach, default=0)) if flips is None else flips
    return [each for each in _gains(certificates, labels, blind, threat, steps) if each.n_graphs]


def _gains(
    certificates: Certificates, labels: Labels, blind: Labels, threat: Threat | None, flips: Sequence[int]
) -> Iterator[StructureGain]:
    answered, known = right(certificates, labels), known_classes(certificates, labels)
    wise = np.asarray(certificates.truth(blind) == certificates.truth(labels))
    yield StructureGain.of("no attack", answered, wise, known)
    if threat is not None:
        yield from _gains_by_size(threat, size_outcomes(certificates, threat), answered, wise, known)
    limits, axes, why_unknown = certificates.max_radius, certificates.noise.axes, unknown_at(certificates)
    for place, (axis, there) in enumerate(zip(axes, has_sites(certificates).T, strict=True)):
        for n in (each for each in flips if limits is None or each <= limits[place]):
            radius = tuple(n * (other == place) for other in range(len(axes)))
            safe, why = answered & certificates.certified(radius), why_unknown(radius)
            yield StructureGain.of(f"{quantity(n, 'flip')} in {axis}", safe, wise, known & there, why)


def _gains_by_size(
    threat: Threat, outcomes: Sequence[SizeOutcome], answered: Mask, wise: Mask, known: Mask
) -> Iterator[StructureGain]:
    for size in size_steps(outcomes):
        possible = np.array([one.possible(size) for one in outcomes], dtype=np.bool_)
        safe = np.array([one.certified >= size for one in outcomes], dtype=np.bool_)
        why = why_unknown_at(size, outcomes, known & possible)
        yield StructureGain.of(threat.label_of(size), answered & safe, wise, known & possible, why)


def exact_gains(result: ExactCertificates, labels: Labels, blind: Labels) -> list[StructureGain]:
    """The same of a plain model on which attacks were tried: by their size alone."""
    truth, outcomes = result.truth(labels), [exact_outcome(one, result.threat) for one in result]
    known = np.array([each is not None for each in truth], dtype=np.bool_)
    answered, wise = np.asarray(truth == result.labels), np.asarray(truth == result.truth(blind))
    plain = StructureGain.of("no attack", answered, wise, known)
    by_size = _gains_by_size(result.threat, outcomes, answered, wise, known)
    return [each for each in (plain, *by_size) if each.n_graphs]


def exact_outcome(one: ExactCertificate, threat: Threat) -> SizeOutcome:
    """What trying attacks shows about one graph under a threat; nothing where other attacks were tried."""
    result = one.certificates
    if isinstance(threat, AnyFlips):
        if not isinstance(result.threat, AnyFlips):
            return NOT_LOOKED_AT
        asked = min(threat.most, result.threat.most, result.n_sites[one.object])
        return SizeOutcome(1, asked, 0, min(asked, one.certified_size), one.broken_size, None)
    most = size_within(result.threat, threat)
    if most is None:
        return NOT_LOOKED_AT
    counts = tuple(later - earlier for earlier, later in pairwise((0, *result.ends[one.object])))
    least = next((size for size, n in enumerate(counts, start=1) if n), most + 1)
    return SizeOutcome(least, most, 0, min(most, one.certified_size), one.broken_size, None, counts[:most])


def worth_sentence(gains: Sequence[StructureGain], what: str = "graphs") -> str:
    """One sentence where certificates gain nothing against the smallest attacks; "" where they do, or nobody knows."""
    for each in gains[1:2]:
        if each.certified is None or each.gain is None or each.low is None:
            return ""
        model = f"A model that sees nothing an attack can change is right on {each.blind:.1%}"
        if each.gain <= 0:
            worth = "no more" if each.gain == 0 else "less"
            shares = f"{each.certified:.1%} are right and certified"
            return f"{model}: against {each.attacks} these certificates are worth {worth} than that ({shares})."
        if each.low <= 0:
            return f"{model}: against {each.attacks} these {what} do not show that certificates are worth more."
    return ""
