"""The structure gain: what certificates are worth beside a model that sees nothing an attacker can change.

Intervals are over the choice of graphs: for a share, and for the difference of two shares of the same graphs. They
hold with probability 1 − INTERVAL, each by itself. Those of shares are exact (Clopper–Pearson). A difference is
(b − c)/n, where b graphs have what is counted in the second case alone, and c in the first alone. It is s · (2t − 1),
with s the share of graphs on which the cases differ, (b + c)/n, and t that of b among them, which is binomial whatever
b + c is. Both have exact intervals, t at 4/5 of INTERVAL and s at 1/5; their products bound the difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from starcert.claims.outcomes import NEVER, TOO_FAR, Labels, Mask, Outcomes, known, size_steps, steps_to
from starcert.math.limits import upper_limit
from starcert.objects.noise import RadiusLike
from starcert.objects.threats import Box, Threat
from starcert.system.errors import InvalidParameterError
from starcert.system.output import quantity

if TYPE_CHECKING:
    from starcert.claims.certificates import Certificates

NO_ATTACK = "no attack"
INTERVAL = Fraction(1, 20)  # intervals fail with this probability, over the choice of graphs


def structure_gain(
    results: Certificates,
    labels: Labels,
    blind: Labels,
    *,
    radius: RadiusLike | None = None,
    threat: Threat | str | None = None,
) -> StructureGain:
    """The share of graphs right and certified, minus the share that a blind model has right, with an interval.

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
    gain = _gain_by(results, labels, blind)
    outcomes = results.outcomes(threat if radius is None else Box(radius))
    if radius is not None:
        return gain(outcomes, outcomes.threat.most, box_in_words(outcomes.threat))
    size = 0 if threat is None else outcomes.threat.most
    return gain(outcomes, size, outcomes.threat.label_of(size) if size else NO_ATTACK)


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
    gain, outcomes = _gain_by(results, labels, blind), results.outcomes(threat)
    found = [gain(outcomes, 0, NO_ATTACK)]
    if threat is not None:
        found += [gain(outcomes, size, threat.label_of(size)) for size in size_steps(outcomes.threat.most)]
    for axis in results.by_axis(flips).values():
        found += [gain(axis, size, box_in_words(axis.threat, size)) for size in steps_to(axis.threat.most)]
    return [each for each in found if each.n_graphs and each.why != TOO_FAR]


def _gain_by(results: Certificates, labels: Labels, blind: Labels) -> Callable[[Outcomes, int, str], StructureGain]:
    """The gain under attacks of at most a size, which are called so."""
    truth = results.truth(labels)
    right, labelled = results.right(truth.tolist()), known(truth.tolist())
    blind_right: Mask = np.asarray(results.truth(blind) == truth)

    def gain(outcomes: Outcomes, size: int, attacks: str) -> StructureGain:
        among = labelled & outcomes.possible(size)
        why = outcomes.why_unknown(size, among)
        return StructureGain.of(attacks, right & outcomes.certified(size), blind_right, among, why)

    return gain


def box_in_words(box: Threat, size: int | None = None) -> str:
    """The flips of a box whose axes are named, such as "1 flip in motif, 2 flips in random"; of one axis, `size`."""
    assert isinstance(box, Box)
    counts = [(axis, n) for axis, n in zip(box.axes, box.radius, strict=True) if n]
    return ", ".join(f"{quantity(n if size is None else size, 'flip')} in {axis}" for axis, n in counts) or NO_ATTACK


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


def share_interval(count: int, total: int, alpha: Fraction = INTERVAL) -> tuple[float, float]:
    """An interval for the share that `count` of `total` graphs estimate, alpha/2 a side."""
    return 1 - upper_limit(total - count, total, alpha / 2), upper_limit(count, total, alpha / 2)


def paired_difference(before: Mask, after: Mask) -> tuple[float, float, float]:
    """The difference of two shares of the same graphs, and an interval for it."""
    return difference_of_counts(int((after & ~before).sum()), int((before & ~after).sum()), len(before))


def difference_of_counts(gained: int, lost: int, total: int) -> tuple[float, float, float]:
    """The same, where some graphs have what is counted in the second case alone, and some in the first alone."""
    either = gained + lost
    least, most = share_interval(either, total, INTERVAL / 5)
    ends = share_interval(gained, either, INTERVAL * 4 / 5) if either else (0.0, 1.0)
    low, high = (2 * end - 1 for end in ends)
    return (gained - lost) / total, low * (least if low > 0 else most), high * (most if high > 0 else least)


@dataclass(frozen=True)
class StructureGain:
    """The share right and certified, minus the share that a blind model has right, of the same graphs."""

    attacks: str  # what is certified against, in words
    n_graphs: int  # those of a known class that can be attacked so
    certified: float | None  # the share that is right and certified; None: no finding, as `why` says
    blind: float  # the share that the blind model has right: it is certified against every attack
    gain: float | None  # their difference
    low: float | None  # its interval
    high: float | None
    why: str = ""  # why it would say nothing that none is certified; "" where it is a finding

    @classmethod
    def of(cls, attacks: str, certified: Mask, blind: Mask, among: Mask, why: str = "") -> StructureGain:
        """The gain on some graphs, given which are right and certified, and which the blind model has right.

        Where none is certified, and there is a reason `why` that says nothing, there is no gain.
        """
        if not among.any():
            return cls(attacks, 0, math.nan, math.nan, math.nan, math.nan, math.nan)
        one, other = certified[among], blind[among]
        if why and not one.any():
            return cls(attacks, len(one), None, float(other.mean()), None, None, None, why)
        shares = float(one.mean()), float(other.mean())
        return cls(attacks, len(one), *shares, *paired_difference(other, one), why * (why != NEVER))

    def __str__(self) -> str:
        if self.gain is None or self.low is None or self.high is None:
            return f"– ({self.why})"
        return f"{100 * self.gain:+.1f} points ({100 * self.low:+.1f} to {100 * self.high:+.1f})"
