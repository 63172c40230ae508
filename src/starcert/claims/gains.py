"""The structure gain: what certificates are worth beside a model that sees nothing an attacker can change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from starcert.claims.certificates import Certificates
from starcert.claims.outcomes import TOO_FAR, Labels, Mask, Outcomes, known, size_steps, steps_to
from starcert.claims.paired import StructureGain
from starcert.objects.noise import RadiusLike
from starcert.objects.threats import Box, Threat
from starcert.system.errors import InvalidParameterError
from starcert.system.output import quantity

NO_ATTACK = "no attack"


def structure_gain(
    results: Certificates,
    labels: Labels,
    blind: Labels,
    *,
    radius: RadiusLike | None = None,
    threat: Threat | str | None = None,
) -> StructureGain:
    """The share of graphs that are right and certified, less that which a blind model has right, with an interval.

    A model that sees nothing that an attack can change (`starcert.baselines.blind`) is certified against every attack:
    certificates are worth having where the gain is positive. Of the graphs whose class is known, those count that can
    be attacked so.

    Args:
        results: the certificates of the graphs.
        labels: the true classes.
        blind: the answers of the blind model, a class for each certificate.
        radius: at which radius; by default, and without a threat, without attack: the accuracies.
        threat: or against which attacks: any flips, such as "flips:2", or the threat that was asked about.

    Example:
        >>> import starcert as sc
        >>> found = sc.certify(sc.Bounds.certain([0.9, 0.7, 0.9]), sc.Noise(all=0.2), capacity=[(9,)] * 3)
        >>> gain = structure_gain(found, [0, 0, 0], [1, 0, 1], radius=1)
        >>> gain.attacks, round(gain.certified, 3), round(gain.blind, 3), round(gain.gain, 3)
        ('1 flip in all', 0.667, 0.333, 0.333)
    """
    if radius is not None and threat is not None:
        raise InvalidParameterError("radius", "cannot be combined with a threat.")
    outcomes, paired = results.outcomes(threat if radius is None else Box(radius)), _Paired.of(results, labels, blind)
    if radius is None:
        size = 0 if threat is None else outcomes.threat.most
        return paired.gain(outcomes, size, outcomes.threat.label_of(size) if size else NO_ATTACK)
    return paired.gain(outcomes, outcomes.threat.most, box_in_words(outcomes.threat))


def structure_gains(
    results: Certificates,
    labels: Labels,
    blind: Labels,
    threat: Threat | None = None,
    flips: int | None = None,
) -> list[StructureGain]:
    """The gain over a blind model, wherever some graph of a known class can be attacked.

    Without attack, by the size of attacks of a threat, and at 1, 2, 5, … flips on each axis alone, up to `flips`, by
    default as far as anything is certified.
    """
    paired, outcomes = _Paired.of(results, labels, blind), results.outcomes(threat)
    found = [paired.gain(outcomes, 0, NO_ATTACK)]
    if threat is not None:
        found += [paired.gain(outcomes, size, threat.label_of(size)) for size in size_steps(outcomes.threat.most)]
    for axis in results.by_axis(flips).values():
        found += [paired.gain(axis, size, box_in_words(axis.threat, size)) for size in steps_to(axis.threat.most)]
    return [each for each in found if each.n_graphs and each.why != TOO_FAR]


def box_in_words(box: Threat, size: int | None = None) -> str:
    """The flips of a box whose axes are named, such as "1 flip in motif, 2 flips in random"; of one axis, `size`."""
    assert isinstance(box, Box)
    counts = [(axis, n) for axis, n in zip(box.axes, box.radius, strict=True) if n]
    return ", ".join(f"{quantity(n if size is None else size, 'flip')} in {axis}" for axis, n in counts) or NO_ATTACK


class _Paired(NamedTuple):
    """Which rows are answered right, by certificates and by a blind model, and of which the class is known."""

    right: Mask
    blind: Mask
    known: Mask

    @classmethod
    def of(cls, results: Certificates, labels: Labels, blind: Labels) -> _Paired:
        truth = results.truth(labels)
        wise: Mask = np.asarray(results.truth(blind) == truth)
        return cls(results.right(truth.tolist()), wise, known(truth.tolist()))

    def gain(self, outcomes: Outcomes, size: int, attacks: str) -> StructureGain:
        among = self.known & outcomes.possible(size)
        why = outcomes.why_unknown(size, among)
        return StructureGain.of(attacks, self.right & outcomes.certified(size), self.blind, among, why)


def worth_sentence(gains: Sequence[StructureGain], what: str = "graphs") -> str:
    """One sentence where certificates gain nothing against the smallest attacks; "" otherwise, or if unknown."""
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
