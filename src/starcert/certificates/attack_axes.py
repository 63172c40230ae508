"""The axes of a noise on one object, as an attacker finds them; and attacks on the base classifier without noise.

`undefended` samples nothing: an answer that no attack changes is certain, and so is an attack that does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, islice

import numpy as np
import numpy.typing as npt

from starcert.certificates.certificate import FoundAttack, Verdict
from starcert.certificates.questions import NO_ATTACK, Question
from starcert.classifiers.base import Classifier, checked_answers
from starcert.math.attacked_sites import (
    AttackAxis,
    ListedAxis,
    attacks_of,
    describe_attack,
    n_attacks,
    pools_of,
    shown_outcomes,
)
from starcert.math.evidence import Level
from starcert.math.flips import FlipRecord
from starcert.math.frontier import levels_of
from starcert.objects import Sites
from starcert.objects.binding import axes_of_sites, clean_values, why_no_evidence
from starcert.objects.laws import axis_moves
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat
from starcert.sampling.batch import Copies
from starcert.sampling.draws import FlippedDraw, Method
from starcert.sampling.sampler import Attack
from starcert.sampling.views import are_bits, view_of
from starcert.system.errors import InvalidParameterError

MAX_FLIPS_AT_ONCE = 2**24  # entries of the matrix of flips that `influences` makes


def axes_of(sites: Sites, noise: Noise) -> tuple[AttackAxis, ...]:
    """The axes of a noise on these sites, in the order of `noise.axes`."""
    return axes_from(noise, axes_of_sites(sites, noise), clean_values(sites))


def axes_from(
    noise: Noise, numbers: npt.NDArray[np.uint16], values: npt.NDArray[np.uint8] | None
) -> tuple[AttackAxis, ...]:
    """The axes of a noise, from the number of the first axis of every site (`axes_of_sites`) and its clean value.

    No values are needed where no law has more than two.
    """
    found: list[AttackAxis] = []
    axes = [axis for region in noise for axis in axis_moves(noise[region])]
    for first, axis in zip(first_axes(noise), axes, strict=True):
        there = np.flatnonzero(numbers == first)
        if axis.alphabet == 2:
            found.append(AttackAxis(axis.law, there))
            continue
        assert values is not None
        found.append(AttackAxis(axis.law, there, axis, values[there], len(numbers)))
    return tuple(found)


def first_axes(noise: Noise) -> tuple[int, ...]:
    """For each axis of a noise the number of the first one that has the same sites."""
    found: list[int] = []
    for region in noise:
        starts = [frozenset(axis.starts) for axis in axis_moves(noise[region])]
        found += [len(found) + starts.index(one) for one in starts]
    return tuple(found)


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


def undefended(
    classifier: Classifier, sites: Sites, noise: Noise, asked: Level | Threat, *, max_attacks: int
) -> Verdict:
    """Whether an attack changes the base classifier's answer, of a level exactly or of a threat; no noise is drawn.

    If there are more than `max_attacks`, only that many are tried, the smallest first, and the verdict may be open.
    """
    reason = why_no_evidence(sites, noise)
    if any(layer.alphabet > noise[region].alphabet for region, layer in zip(sites.regions, sites.layers, strict=True)):
        reason = "the noise leaves it open which type an added edge has"
    if classifier.n_targets(sites.frame) is not None:
        reason = "they have several targets"
    if reason:
        raise InvalidParameterError("graphs", "be graphs whose attacks can be tried", reason)
    axes = axes_of(sites, noise)
    if not isinstance(asked, Threat):
        number, attacks = _attacks_on_levels(axes, [asked])
        if not number:
            sizes = tuple(len(axis.sites) for axis in axes)
            raise InvalidParameterError("level", f"be at most what there is to attack, {sizes}", asked)
    elif asked.by_radius:
        number, attacks = _attacks_on_levels(axes, list(levels_within(asked, noise, sites.capacity(noise))))
    else:
        blocks = [block for blocks in Question.of(asked, sites, noise).attacks for block in blocks]
        number, attacks = sum(map(len, blocks)), (tuple(row.tolist()) for block in blocks for row in block)
    if not number:
        return Verdict("certified", NO_ATTACK)
    view, values_before = view_of(sites, Method.SPARSE), clean_values(sites)

    def show(attacks: Sequence[Attack]) -> Copies:
        changed = np.array(list(chain.from_iterable(attacks)), dtype=np.int64)
        ranks, positions = np.divmod(changed, sites.n_sites)
        shown = None if are_bits(sites) else (ranks + (ranks >= values_before[positions])).astype(np.uint8)
        return view(FlippedDraw(sites.n_sites, sites.nonzero, np.cumsum([0, *map(len, attacks)]), positions, shown))

    clean: int | None = None
    tried: Iterator[Attack] = chain([()], islice(attacks, max_attacks))  # the clean graph first
    while some := list(islice(tried, max(2, classifier.batch_size))):
        answers = checked_answers(classifier.classify(show(some)), len(some), classifier.n_classes)
        clean = int(answers[0]) if clean is None else clean
        changed = np.flatnonzero(answers != clean)
        if len(changed):
            first = int(changed[0])
            votes = tuple(int(label == answers[first]) for label in range(classifier.n_classes))
            attacked, values = describe_attack(axes, some[first])
            found = FoundAttack(attacked, votes, 0.0, values)
            return Verdict("broken", "by trying attacks on the base classifier", found)
    if number > max_attacks:
        return Verdict("open", f"{max_attacks:,} of {number:,} attacks on the base classifier were tried")
    return Verdict("certified", f"by trying all {number:,} attacks on the base classifier")


def _attacks_on_levels(axes: Sequence[AttackAxis], levels: Sequence[Level]) -> tuple[int, Iterator[Attack]]:
    """How many attacks there are on these levels, and each of them, level by level."""
    listed = [
        [
            ListedAxis(len(axis.sites), number, axis.law.moves, pool=pool)
            for axis, number, pool in zip(axes, level, pools_of(axes), strict=True)
        ]
        for level in levels
    ]
    numbers = list(map(n_attacks, listed))
    attacks = (
        tuple(sorted(chain.from_iterable(axis.attacked(part).tolist() for axis, part in zip(axes, each, strict=True))))
        for each in chain.from_iterable(map(attacks_of, compress(listed, numbers)))
    )
    return sum(numbers), attacks


def levels_within(threat: Threat, noise: Noise, capacity: Level) -> Iterator[Level]:
    """All levels of a threat by radius, those with few flips first."""
    box, most = box_of(threat, noise, capacity)
    return (level for flips in range(1, most + 1) for level in levels_of(flips, box))


def box_of(threat: Threat, noise: Noise, capacity: Level) -> tuple[Level, int]:
    """The most flips on each axis of a threat by radius, of those that are possible, and the most in all."""
    limits = threat.limits(noise)
    box = capacity if limits is None else tuple(map(min, limits, capacity))
    return box, sum(box) if threat.flips is None else min(threat.flips, sum(box))
