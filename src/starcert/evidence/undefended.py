"""The base classifier alone, without noise: which attack of a level changes its answer, by trying all of them.

Nothing is sampled here, so nothing is left to chance: an answer that no attack of a level changes is certain, and so is
an attack that changes it. It is the question that a smoothed classifier is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np

from starcert.classifiers.base import checked_answers
from starcert.core.attacks import Listed, attacks_of, n_attacks
from starcert.errors import InvalidParameterError
from starcert.evidence.attack_axes import axes_of, why_not
from starcert.evidence.verdicts import FoundAttack, Verdict
from starcert.sampling.draws import FlippedDraw, Way
from starcert.sampling.views import shows_graphs, view_of

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier
    from starcert.core.evidence import Level
    from starcert.graphs import Sites
    from starcert.noise import Noise
    from starcert.sampling.attacked import Attack

__all__ = ["undefended"]


def undefended(classifier: Classifier, sites: Sites, noise: Noise, level: Level, *, most_attacks: int) -> Verdict:
    """Whether any attack of exactly so many flips changes the base classifier's answer on a graph.

    Args:
        classifier: the base classifier.
        sites: the sites of the graph.
        noise: whose axes the level counts on; no noise is drawn.
        level: how many sites are attacked on each axis.
        most_attacks: so many attacks are tried; if there are more, the level may stay open.
    """
    reason = why_not(sites, noise)
    if any(noise[region].alphabet > 2 for region in noise):
        reason = "some of their sites have more than two values"
    if classifier.n_targets(sites.frame) is not None:
        reason = "they have several targets"
    if reason or not shows_graphs(sites):
        got = reason or type(sites.clean).__name__
        raise InvalidParameterError("graphs", "be graphs whose attacks can be tried", got)
    view = view_of(sites, Way.SPARSE)
    ones = sites.nonzero[0]
    axes = axes_of(sites, noise)
    listed = [Listed(len(axis.sites), number) for axis, number in zip(axes, level, strict=True)]
    number = n_attacks(listed)
    if not number:
        sizes = tuple(axis.size for axis in listed)
        raise InvalidParameterError("level", f"be at most what there is to attack, {sizes}", level)
    clean: int | None = None
    tried: Iterator[Attack] = (
        tuple(
            sorted(chain.from_iterable(axis.attacked(part).tolist() for axis, part in zip(axes, attack, strict=True)))
        )
        for attack in attacks_of(listed)
    )
    asked: Iterator[Attack] = chain([()], islice(tried, most_attacks))  # the clean graph first
    while some := list(islice(asked, max(2, classifier.batch_size))):
        starts = np.cumsum([0, *map(len, some)])
        positions = np.array(list(chain.from_iterable(some)), dtype=np.int64)
        copies = view(FlippedDraw(sites.n_sites, ones, starts, positions))
        answers = checked_answers(classifier.classify(copies), len(some), classifier.n_classes)
        clean = int(answers[0]) if clean is None else clean
        changed = np.flatnonzero(answers != clean)
        if len(changed):
            first = int(changed[0])
            votes = tuple(int(label == answers[first]) for label in range(classifier.n_classes))
            return Verdict("broken", "by trying attacks on the base classifier", FoundAttack(some[first], votes, 0.0))
    if number > most_attacks:
        return Verdict("open", f"{most_attacks:,} of {number:,} attacks on the base classifier were tried")
    return Verdict("certified", f"by trying all {number:,} attacks on the base classifier")
