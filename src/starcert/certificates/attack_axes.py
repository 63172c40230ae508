"""What attacks are within a threat by radius, and how much each site of an object matters to its votes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import (
    AttackAxis,
    describe_attack,
    shown_outcomes,
)
from starcert.math.evidence import Level
from starcert.math.flips import FlipRecord
from starcert.math.frontier import levels_of
from starcert.objects import Sites
from starcert.objects.attack_axes import axes_of
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat

MAX_FLIPS_AT_ONCE = 2**24  # entries of the matrix of flips that `influences` makes


def first_choices(
    axes: Sequence[AttackAxis], axis: int, number: int, ranked: Iterable[int], taken: Sequence[int]
) -> list[int]:
    """The first of ranked choices on an axis that attack no site twice, nor one already taken; as attacks have them."""
    one, used = axes[axis], set(describe_attack(axes, taken)[0])
    chosen: dict[int, int] = {}  # by site
    for choice in ranked:
        if len(chosen) == number:
            break
        if (site := int(one.sites[choice // one.law.moves])) not in used:
            chosen.setdefault(site, choice)
    return [int(site) for site in one.attacked(list(chosen.values()))]


def influences(record: FlipRecord, sites: Sites, noise: Noise) -> npt.NDArray[np.float64]:
    """For each site how much likelier the class loses if that site is attacked in the worst way: E[Y·L] − E[Y].

    An estimate; 0 where it is less than twice its standard error, or the record does not say which sites flipped.
    """
    found = np.zeros(sites.n_sites)
    n_votes, against = int(record.samples.sum()), int(record.against.sum())
    if not record.complete or not against:
        return found
    for axis in axes_of(sites, noise):
        step = max(1, MAX_FLIPS_AT_ONCE // (against * axis.law.moves * len(axis.law.outcomes)))
        for start in range(0, len(axis.sites), step):
            some = axis.sites[start : start + step]
            part = axis._replace(sites=some, values=axis.values[start : start + step])
            shown = shown_outcomes(record, part).sum(axis=0)
            flips = shown.reshape(len(some), axis.law.moves, -1)
            stayed, ratios = against - flips.sum(axis=2), np.array(axis.law.shown)
            gain = (flips @ ratios + stayed * axis.law.stayed - against) / n_votes
            error = np.sqrt(flips @ (ratios - 1) ** 2 + stayed * (axis.law.stayed - 1) ** 2) / n_votes
            found[some] = np.maximum(found[some], np.where(gain > 2 * error, gain, 0.0).max(axis=1))
    return found


def levels_within(threat: Threat, noise: Noise, capacity: Level) -> Iterator[Level]:
    """All levels of a threat by radius, those with few flips first."""
    box, most = box_of(threat, noise, capacity)
    return (level for flips in range(1, most + 1) for level in levels_of(flips, box))


def box_of(threat: Threat, noise: Noise, capacity: Level) -> tuple[Level, int]:
    """The most flips on each axis of a threat by radius, of those that are possible, and the most in all."""
    limits = threat.limits(noise)
    box = capacity if limits is None else tuple(map(min, limits, capacity))
    return box, sum(box) if threat.flips is None else min(threat.flips, sum(box))
