"""What certificates of many graphs are worth together: accuracy, certified accuracy and ratio, score, volume.

An answer is `right` if it is given and is the true class; an abstention is not. The share of the most frequent class
belongs beside each of them: heavy noise makes any classifier constant, and a constant classifier certifies everything.
So does an axis without sites, or a threat without attacks: shares on one axis (`shares_by_axis`) and under a threat
(`threat_verdicts`) are of the graphs that can be attacked.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
import numpy.typing as npt

from starcert.certificates.answers import Labels, Mask, accuracy, known_classes, majority_share, right, share_of
from starcert.certificates.certificate import lies_within
from starcert.certificates.certify import Certificates, Radii, certified_counts, open_ended
from starcert.certificates.paired import StructureGain
from starcert.certificates.sizes import SizeOutcome, size_outcomes, why_unknown_at
from starcert.certificates.slack import too_few_votes, votes_needed
from starcert.certificates.unknown import unknown_at
from starcert.math.evidence import Level
from starcert.math.frontier import levels_of
from starcert.objects.noise import RadiusLike
from starcert.objects.threats import AnyFlips, Threat, read_threat
from starcert.system.errors import InvalidParameterError
from starcert.system.output import quantity

__all__ = ["AxisShares", "Radii", "RadiusVerdicts", "SizeOutcome", "SizeVerdicts", "StructureGain", "accuracy",
           "certified_counts", "certified_ratio", "certified_share", "has_sites", "majority_share", "open_ended",
           "radii_of_flips", "radius_verdicts", "right", "score", "shares_by_axis", "size_outcomes", "size_steps",
           "steps_to", "structure_gain", "threat_asked", "threat_verdicts", "too_few_votes", "volume",
           "votes_needed"]  # fmt: skip

MAX_STEPS = 6
Shares = npt.NDArray[np.float64]


def certified_share(certificates: Certificates, labels: Labels | None = None, *, max_radius: RadiusLike) -> Shares:
    """The share of graphs that are certified (and right, given labels) at every radius up to `max_radius`.

    Entry [i, j, …] is the share at the radius (i, j, …): with labels, of the graphs whose class is known. A graph
    without sites on an axis counts as certified there: `has_sites` tells such graphs apart. Beyond the threat, and
    where no number of votes certifies anything, it is NaN instead of 0.

    Example:
        >>> import starcert as sc
        >>> certified_share(sc.certify(sc.Bounds.certain([0.9, 0.7]), sc.Noise(all=0.2)), max_radius=2)
        array([1. , 0.5, 0. ])
    """
    answered, among = _answered_of(certificates, labels)
    frontiers: Counter[Radii] = Counter()
    for radii, hit in zip(certificates.radii_within(max_radius), answered & among, strict=True):
        frontiers[radii] += int(hit)
    counts = certified_counts(frontiers, certificates.grid(max_radius))
    if not among.any():
        return np.full(counts.shape, np.nan)
    found: Shares = counts / among.sum()
    found[is_unknown(certificates, counts)] = np.nan
    return found


def is_unknown(
    certificates: Certificates, counts: npt.NDArray[np.int64], at: Callable[[Level], Level] = tuple
) -> npt.NDArray[np.bool_]:
    """At which places of a grid a count of 0 certified graphs says nothing; `at` makes a radius of a place."""
    why_unknown = unknown_at(certificates)
    found: Mask = counts == 0
    for place in np.argwhere(found).tolist():
        found[tuple(place)] = bool(why_unknown(at(tuple(place))))
    return found


def certified_ratio(certificates: Certificates, labels: Labels, *, max_radius: RadiusLike) -> Shares:
    """Of the graphs that are answered `right`, the share that is certified at every radius up to `max_radius`."""
    whole = accuracy(certificates, labels)
    share = certified_share(certificates, labels, max_radius=max_radius)
    return share / whole if whole else np.full_like(share, np.nan)


def score(certificates: Certificates, labels: Labels, *, max_radius: RadiusLike) -> int:
    """The paper's score: at how many radii up to `max_radius` more than half of the graphs are right and certified."""
    return int((certified_share(certificates, labels, max_radius=max_radius) > 0.5).sum())


def volume(certificates: Certificates, *, max_radius: RadiusLike) -> Shares:
    """For each graph how many radii up to `max_radius` are certified, the radius 0 included."""
    grid, found = certificates.grid(max_radius), certificates.radii_within(max_radius)
    volumes = {radii: float(certified_counts({radii: 1}, grid).sum()) for radii in set(found)}
    return np.array([volumes[radii] for radii in found])


@dataclass(frozen=True)
class AxisShares:
    """How far graphs are certified on one axis, the others untouched."""

    axis: str
    n_graphs: int  # those with sites there
    n_without: int  # the others: they are certified there whatever their votes
    shares: tuple[float | None, ...]  # of `n_graphs`; None beyond the box, without sites, and where `why` says so
    why: tuple[str, ...]  # for each share, why 0 would say nothing (`unknown_at`); "" where it is a finding


def has_sites(certificates: Certificates) -> Mask:
    """Which graphs (rows) have sites on which axes (columns); those of unknown capacity are taken to have some."""
    unknown = (1,) * len(certificates.noise.axes)
    sizes = np.array([unknown if each is None else each for each in certificates.capacity], dtype=np.int64)
    return sizes.reshape(-1, len(unknown)) > 0


def shares_by_axis(
    certificates: Certificates, labels: Labels | None = None, *, flips: Sequence[int]
) -> tuple[AxisShares, ...]:
    """For each axis, the share of graphs certified (and right, given labels) against `flips` of any count there alone.

    Graphs without sites on an axis are counted apart, and with labels those whose class is not known are left out.

    Example:
        >>> import starcert as sc
        >>> noise, sizes = sc.Noise(ring=0.01, rest=0.2), [(0, 9), (3, 9)]
        >>> found = shares_by_axis(sc.certify(sc.Bounds.certain([0.9, 0.9]), noise, capacity=sizes), flips=[1])
        >>> [(each.axis, each.shares, each.n_without) for each in found]
        [('ring', (0.0,), 1), ('rest', (1.0,), 0)]
    """
    answered, eligible = _answered_of(certificates, labels)
    limits, n_axes, why_unknown = certificates.max_radius, len(certificates.noise.axes), unknown_at(certificates)
    found = []
    for place, (axis, there) in enumerate(zip(certificates.noise.axes, has_sites(certificates).T, strict=True)):
        among, shares, reasons = eligible & there, list[float | None](), list[str]()
        for n in flips:
            radius, share, why = tuple(n * (other == place) for other in range(n_axes)), None, ""
            if among.any() and (limits is None or n <= limits[place]):
                share = share_of(certificates.certified(radius) & answered, among)
                why = why_unknown(radius)
            shares.append(None if why and not share else share)
            reasons.append(why)
        n_without = int((eligible & ~there).sum())
        found.append(AxisShares(axis, int(among.sum()), n_without, tuple(shares), tuple(reasons)))
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class _VerdictCounts:
    """Graphs with enough sites (and a known class, given labels), and what becomes of those that are answered (right).

    They are certified, some by the bounds on the class probabilities alone, or broken by a known attack, or open.
    """

    n_graphs: int
    n_right: int
    n_by_p_A: int | None  # noqa: N815  (the paper's p_A) None: no finding, as `why` says
    n_certified: int | None
    n_broken: int
    why: str = ""  # why it would say nothing that none is certified (`unknown_at`)

    def __post_init__(self) -> None:
        if self.why and not self.n_certified:
            object.__setattr__(self, "n_by_p_A", None)
            object.__setattr__(self, "n_certified", None)

    @property
    def n_open(self) -> int:
        """How many are neither certified nor broken."""
        return self.n_right - (self.n_certified or 0) - self.n_broken

    def share(self, count: int | None) -> float | None:
        """A number of graphs as a share of those that can be attacked so; None where there is no finding."""
        return None if count is None else count / self.n_graphs if self.n_graphs else math.nan


@dataclass(frozen=True, kw_only=True)
class RadiusVerdicts(_VerdictCounts):
    """What becomes of graphs within a radius."""

    radius: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class SizeVerdicts(_VerdictCounts):
    """What becomes of graphs under attacks of at most this size; `own_samples` would settle open ones, if known.

    Graphs without such an attack are left out: they are certified for nothing.
    """

    threat: Threat
    size: int
    own_samples: tuple[int, ...]
    n_without: int  # how many graphs are left out
    n_attacks: int | None  # how many attacks are listed, of all graphs; None: none are

    @property
    def label(self) -> str:
        """The attacks in words."""
        return self.threat.label_of(self.size)

    @classmethod
    def of(
        cls, threat: Threat, size: int, outcomes: Sequence[SizeOutcome], eligible: Mask, answered: Mask
    ) -> SizeVerdicts:
        """Counts graphs: those that are `eligible` and can be attacked, and of these the ones that are `answered`."""
        possible = eligible & np.array([one.possible(size) for one in outcomes], dtype=np.bool_)
        among = list(compress(outcomes, possible & answered))
        found = Counter(one.under(size) for one in among)
        # Where smaller attacks are open already, nothing is predicted.
        still_open = [one for one in among if one.under(size) == "open" and size == one.certified + 1]
        needed = [one.to_settle for one in still_open if one.to_settle is not None]
        listed = [sum(one.n_attacks[:size]) for one in compress(outcomes, possible)]
        return cls(
            n_graphs=int(possible.sum()),
            n_right=len(among),
            n_by_p_A=found["by p_A"],
            n_certified=found["by p_A"] + found["by evidence"],
            n_broken=found["broken"],
            threat=threat,
            size=size,
            own_samples=tuple(sorted(needed)),
            n_without=int((eligible & ~possible).sum()),
            n_attacks=sum(listed) if all(listed) else None,
            why=why_unknown_at(size, outcomes, possible),
        )


def structure_gain(
    certificates: Certificates,
    labels: Labels,
    blind: Labels,
    *,
    radius: RadiusLike | None = None,
    threat: Threat | str | None = None,
) -> StructureGain:
    """The share of graphs that are right and certified, less that which a blind model has right, with an interval.

    A model that sees nothing that an attack can change (`starcert.baselines.blind`) is certified against every attack:
    certificates are worth having where the gain is positive. Of the graphs whose class is known, those count that can
    be attacked: with sites on some axis of the radius, or with attacks of the threat.

    Args:
        certificates: the certificates of the graphs.
        labels: the true classes.
        blind: the answers of the blind model, a class for each certificate.
        radius: at which radius; by default, and without a threat, at radius 0: the accuracies.
        threat: or against which attacks: any flips, such as "flips:2", or the threat that was asked about.

    Example:
        >>> import starcert as sc
        >>> found = sc.certify(sc.Bounds.certain([0.9, 0.7, 0.9]), sc.Noise(all=0.2), capacity=[(9,)] * 3)
        >>> gain = structure_gain(found, [0, 0, 0], [1, 0, 1], radius=1)
        >>> gain.attacks, round(gain.certified, 3), round(gain.blind, 3), round(gain.gain, 3)
        ('1 flip in all', 0.667, 0.333, 0.333)
    """
    if radius is not None and threat is not None:
        raise InvalidParameterError("radius", "be left out where a threat is given", radius)
    answered, among = _answered_of(certificates, labels)
    wise: Mask = np.asarray(certificates.truth(blind) == certificates.truth(labels))
    if threat is not None:
        asked = read_threat(threat)
        outcomes = size_outcomes(certificates, asked)
        among &= np.array([one.possible(asked.most) for one in outcomes], dtype=np.bool_)
        safe = np.array([one.certified >= asked.most for one in outcomes], dtype=np.bool_)
        why = why_unknown_at(asked.most, outcomes, among)
        return StructureGain.of(asked.label, answered & safe, wise, among, why)
    counts = certificates.noise.radius((0,) * len(certificates.noise.axes) if radius is None else radius)
    flips = [f"{quantity(n, 'flip')} in {axis}" for axis, n in zip(certificates.noise.axes, counts, strict=True) if n]
    if flips:
        among &= has_sites(certificates)[:, np.array(counts) > 0].any(axis=1)
    safe, why = answered & certificates.certified(counts), unknown_at(certificates)(counts)
    return StructureGain.of(", ".join(flips) or "no attack", safe, wise, among, why)


def radii_of_flips(certificates: Certificates, most: int) -> list[tuple[int, ...]]:
    """Every radius of 1 to `most` flips in all that lies in the box and that some graph has sites for."""
    anywhere = (most,) * len(certificates.noise.axes)
    sizes = [anywhere if each is None else each for each in certificates.capacity]
    limits = anywhere if certificates.max_radius is None else certificates.max_radius
    radii = (radius for flips in range(1, most + 1) for radius in levels_of(flips, limits))
    return [radius for radius in radii if any(lies_within(radius, size) for size in sizes)]


def radius_verdicts(
    certificates: Certificates, labels: Labels | None = None, *, radii: Sequence[tuple[int, ...]]
) -> list[RadiusVerdicts]:
    """For each radius how many graphs (given labels, right ones) are certified by p_A, or at all, broken and open."""
    answered, eligible, why_unknown = *_answered_of(certificates, labels), unknown_at(certificates)
    by_p_A, known, found = certificates.by_p_A, [one.broken for one in certificates], []  # noqa: N806
    for radius in radii:
        has = [size is None or lies_within(radius, size) for size in certificates.capacity]
        enough = eligible & np.array(has, dtype=np.bool_)
        judged = enough & answered
        broken = [any(lies_within(level, radius) for level in levels) for levels in compress(known, judged)]
        found.append(
            RadiusVerdicts(
                n_graphs=int(enough.sum()),
                n_right=int(judged.sum()),
                n_by_p_A=int((by_p_A.certified(radius) & judged).sum()),
                n_certified=int((certificates.certified(radius) & judged).sum()),
                n_broken=sum(broken),
                why=why_unknown(radius),
                radius=radius,
            )
        )
    return found


def threat_asked(certificates: Certificates) -> Threat | None:
    """The threat whose attacks were listed; None where certificates are about radii."""
    return certificates.asked[0].threat if certificates.asked else None


def threat_verdicts(
    certificates: Certificates, labels: Labels | None = None, *, threat: Threat | str | None = None
) -> list[SizeVerdicts]:
    """For attacks of at most 1, at most 2, … units, how many graphs (given labels, right ones) are certified and so on.

    Args:
        certificates: the certificates of the graphs.
        labels: the true classes.
        threat: any flips, such as "flips:3", or the threat that the certificates were asked about. By default that one;
            two flips where it does not list its attacks. Of many sizes, only some have a row.

    Example:
        >>> import starcert as sc
        >>> found = sc.certify(sc.Bounds.certain([0.9, 0.7]), sc.Noise(all=0.2), capacity=[(9,), (9,)])
        >>> [(each.label, each.n_by_p_A, each.n_open) for each in threat_verdicts(found)]
        [('any 1 flip', 1, 1), ('any 2 flips', 0, 2)]
    """
    answered, eligible = _answered_of(certificates, labels)
    asked = threat_asked(certificates) or AnyFlips(2) if threat is None else read_threat(threat)
    outcomes = size_outcomes(certificates, asked)
    return [SizeVerdicts.of(asked, size, outcomes, eligible, answered) for size in size_steps(outcomes)]


def size_steps(outcomes: Sequence[SizeOutcome]) -> list[int]:
    """Some sizes, 1 first, as far as any graph was looked at."""
    last = max((one.asked for one in outcomes), default=0)
    return list(range(1, last + 1)) if last <= MAX_STEPS else sorted({*steps_to(last), last})


def steps_to(farthest: int) -> list[int]:
    """Some counts of flips to state shares at: 1, 2, 5, 10, … as far as anything is certified.

    Example:
        >>> steps_to(30)
        [1, 2, 5, 10, 20]
    """
    steps = [first * 10**power for power in range(9) for first in (1, 2, 5)]
    reached = [step for step in steps if step <= farthest] or [1]
    return reached if len(reached) <= MAX_STEPS else [*reached[: MAX_STEPS - 1], reached[-1]]


def _answered_of(certificates: Certificates, labels: Labels | None) -> tuple[Mask, Mask]:
    """Which graphs are answered (right, given labels), and which are eligible: with labels, those of a known class."""
    if labels is None:
        return ~certificates.abstained, np.ones(len(certificates), dtype=np.bool_)
    return right(certificates, labels), known_classes(certificates, labels)


def __dir__() -> list[str]:
    return sorted(__all__)
