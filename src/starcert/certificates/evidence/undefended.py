"""The base classifier alone, without noise: which attack of a level changes its answer, by trying all of them.

Nothing is sampled here, so nothing is left to chance: an answer that no attack of a level changes is certain, and so is
an attack that changes it. It is the question that a smoothed classifier is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from starcert.certificates.evidence.attack_axes import axes_of
from starcert.certificates.evidence.verdicts import FoundAttack, Verdict
from starcert.classifiers.base import checked_answers
from starcert.math.attack_axis import described, pools_of
from starcert.math.attacks import ListedAxis, attacks_of, n_attacks
from starcert.objects.binding import clean_values, why_no_evidence
from starcert.sampling.draws import FlippedDraw, Method
from starcert.sampling.views import are_bits, view_of
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier
    from starcert.math.evidence import Level
    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.sampling.attacked import Attack
    from starcert.sampling.batch import Copies

__all__ = ["undefended"]


def undefended(classifier: Classifier, sites: Sites, noise: Noise, level: Level, *, most_attacks: int) -> Verdict:
    """Whether any attack of exactly so many flips changes the base classifier's answer on a graph, or another object.

    Args:
        classifier: the base classifier.
        sites: the sites of the graph.
        noise: whose axes the level counts on; no noise is drawn.
        level: how many sites are attacked on each axis.
        most_attacks: so many attacks are tried; if there are more, the level may stay open.
    """
    reason = why_no_evidence(sites, noise)
    typed = [layer.alphabet > noise[region].alphabet for region, layer in zip(sites.regions, sites.layers, strict=True)]
    if any(typed):
        reason = "the noise leaves it open which type an added edge has"
    if classifier.n_targets(sites.frame) is not None:
        reason = "they have several targets"
    if reason:
        raise InvalidParameterError("graphs", "be graphs whose attacks can be tried", reason)
    axes = axes_of(sites, noise)
    listed = [
        ListedAxis(len(axis.sites), number, axis.law.moves, pool=pool)
        for axis, number, pool in zip(axes, level, pools_of(axes), strict=True)
    ]
    number = n_attacks(listed)
    if not number:
        sizes = tuple(axis.size for axis in listed)
        raise InvalidParameterError("level", f"be at most what there is to attack, {sizes}", level)
    show = _attacked_versions(sites)
    clean: int | None = None
    tried: Iterator[Attack] = (
        tuple(
            sorted(chain.from_iterable(axis.attacked(part).tolist() for axis, part in zip(axes, attack, strict=True)))
        )
        for attack in attacks_of(listed)
    )
    asked: Iterator[Attack] = chain([()], islice(tried, most_attacks))  # the clean graph first
    while some := list(islice(asked, max(2, classifier.batch_size))):
        answers = checked_answers(classifier.classify(show(some)), len(some), classifier.n_classes)
        clean = int(answers[0]) if clean is None else clean
        changed = np.flatnonzero(answers != clean)
        if len(changed):
            first = int(changed[0])
            votes = tuple(int(label == answers[first]) for label in range(classifier.n_classes))
            attacked, values = described(axes, some[first])
            found = FoundAttack(attacked, votes, 0.0, values)
            return Verdict("broken", "by trying attacks on the base classifier", found)
    if number > most_attacks:
        return Verdict("open", f"{most_attacks:,} of {number:,} attacks on the base classifier were tried")
    return Verdict("certified", f"by trying all {number:,} attacks on the base classifier")


def _attacked_versions(sites: Sites) -> Callable[[Sequence[Attack]], Copies]:
    """What shows attacked versions of an object, by the sites that the attack changes."""
    view, clean = view_of(sites, Method.SPARSE), clean_values(sites)

    def show(attacks: Sequence[Attack]) -> Copies:
        changed = np.array(list(chain.from_iterable(attacks)), dtype=np.int64)
        ranks, positions = np.divmod(changed, sites.n_sites)
        shown = None if are_bits(sites) else (ranks + (ranks >= clean[positions])).astype(np.uint8)
        starts = np.cumsum([0, *map(len, attacks)])
        return view(FlippedDraw(sites.n_sites, sites.nonzero, starts, positions, shown))

    return show
