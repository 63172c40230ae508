"""Results about single objects under a threat, in the same form for every method."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

import starcert as sc
from starcert.claims.outcomes import Outcome
from starcert.claims.smoothed_outcomes import unknown_at
from starcert.claims.verdict import State, lies_within
from starcert.math.channels import MAX_RADIUS
from starcert.math.frontier import levels_of
from starcert.objects import Partition
from starcert.objects.threats import THREATS, Threat
from starcert.runs.setting_values import as_threat

ANY = MAX_RADIUS  # certified against attacks of any size: no threat has larger ones
KINDS = {"flips": (None,), "deletions": (".delete",), "additions": (".add",), "rewire": (".delete", ".add")}
"""Threats that need no list of attacks: the sorts of changes in a unit of each, by the ends of axes; None: any."""
FLIP_AXES = (".delete", ".add", ".change")
SIZES = (0, 1, 2, 3, 5, 10, 15)
"""Sizes of attacks that are shown, as far as a threat goes."""
TRIED = 2
"""The most changes of a graph that are tried, or asked evidence about."""

Labels = npt.NDArray[np.int64]


class Timed(NamedTuple):
    """Something that was made, and how long it took."""

    value: Any
    seconds: float


@dataclass(frozen=True)
class Result:
    """The results of a method on some objects under a threat: the record that every method returns.

    Example:
        >>> found = Result("flips:2", (Outcome(1, 2), Outcome(0, 0, 1), Outcome(None, 0)), alpha=None)
        >>> [one.state(1) for one in found.outcomes], found.share(np.array([1, 1, 1]), 1)
        (['certified', 'broken', 'open'], 0.3333333333333333)
    """

    threat: str  # with the largest size that was asked about
    outcomes: tuple[Outcome, ...]  # one for each object
    alpha: float | None  # the probability of a false claim about an object; None: nothing is left to chance
    votes: int = 0  # noisy copies, or voters, that answered
    forward_passes: int = 0  # how many objects the model had to answer in all
    seconds: float = 0.0
    asked: int | None = None  # the largest size that the method could speak about; None: all
    certificates: sc.Certificates | None = None  # that can be kept, and verified; None: none

    @classmethod
    def of(cls, found: sc.Certificates, threat: str, rows: Sequence[int] | None = None, **work: Any) -> Self:  # noqa: ANN401
        """The record of certificates by any method of the library, of all rows or some; `work` has the other fields."""
        chosen = range(len(found)) if rows is None else rows
        known = None if found.of_radii else found.outcomes().rows
        outcomes = tuple(outcome_of(found[row], threat) if known is None else known[row] for row in chosen)
        return cls(threat, outcomes, found.alpha or None, certificates=found, **work)

    def check(self, threat: str, n_objects: int, n_classes: int) -> None:
        """Refuses a record about another threat or number of objects, or one that contradicts itself."""
        if self.threat != threat:
            raise ValueError(f"certify must return a Result about {threat}, not about {self.threat!r}")
        if len(self.outcomes) != n_objects:
            raise ValueError(f"certify must return {n_objects} outcomes, one for each object, not {len(self.outcomes)}")
        if self.alpha is not None and not 0 < self.alpha < 0.5:
            raise ValueError(f"alpha must be between 0 and 0.5, or None, not {self.alpha}")
        for place, one in enumerate(self.outcomes):
            if not isinstance(one, Outcome):
                raise TypeError(f"outcome {place} must be an Outcome, not {one!r}")
            if one.answer is not None and not (isinstance(one.answer, int) and 0 <= one.answer < n_classes):
                said = f"a class from 0 to {n_classes - 1}, or None, not {one.answer!r}"
                raise ValueError(f"outcome {place}: the answer must be {said}")
            sizes = (0 if one.certified is None else one.certified, 1 if one.broken is None else one.broken)
            if not all(isinstance(size, int) for size in sizes) or sizes[0] < 0 or sizes[1] < 1:
                raise ValueError(f"outcome {place}: sizes must be whole numbers, not {one}")
            if one.broken is not None and one.broken <= sizes[0]:
                raise ValueError(f"outcome {place} is certified and broken at size {one.broken}: {one}")

    def share(self, truth: Labels, size: int, weights: npt.NDArray[np.float64] | None = None) -> float:
        """The share of objects that are right and certified, by weight; abstentions are wrong.

        At sizes that the method could not speak about, it is that at the largest which it could.
        """
        size = size if self.asked is None else min(size, self.asked)
        kept = [one.answer == label and one.withstands(size) for one, label in zip(self.outcomes, truth, strict=True)]
        return float(np.mean(kept) if weights is None else weights @ np.array(kept))


def read_threat(threat: str) -> Threat:
    """The threat of a text; files of your own in it are named from the working directory."""
    return _read(threat, os.getcwd())


@lru_cache(maxsize=64)
def _read(threat: str, folder: str) -> Threat:
    return as_threat(threat, Path(folder), "threats")


def kind_of(threat: str) -> tuple[str, int]:
    """The kind of a threat, and its largest size; what is more than a word and a number is its own kind.

    Example:
        >>> kind_of("deletions:10"), kind_of("local:3,per_node=1")
        (('deletions', 10), ('local:3,per_node=1', 3))
    """
    found = read_threat(threat)
    return (found.word if threat == f"{found.word}:{found.most}" else threat), found.most


def fewer(threat: str, size: int) -> str:
    """The same threat with at most this many units; one that cannot be divided stays whole.

    Example:
        >>> fewer("flips:15", 2), fewer("local:3,per_node=1", 2), fewer("rewire:2 | flips:1", 1)
        ('flips:2', 'local:2,per_node=1', 'rewire:2 | flips:1')
    """
    found = read_threat(threat)
    if type(found) not in THREATS or "most" not in {each.name for each in fields(found)} or size >= found.most:  # type: ignore[arg-type]
        return threat
    return re.sub(r":\d+", f":{size}", threat, count=1)


def outcome_of(one: sc.Certificate, threat: str, *, asked: bool = True) -> Outcome:
    """The outcome of a certificate under noise on all node pairs, in one region or several.

    Where `asked` is False, the threat that it was asked about is left aside: of a certificate in a file, nothing proves
    which attacks that threat has.
    """
    if one.abstained:
        return Outcome(None, 0)
    most = kind_of(threat)[1]
    states = (state_of(one, threat, size, asked=asked) for size in range(1, most + 1))
    certified = next((size for size, state in enumerate(states) if state != "certified"), most)
    larger = range(certified + 1, most + 1) if one.verdicts is not None else ()
    broken = next((size for size in larger if state_of(one, threat, size, asked=asked) == "broken"), None)
    return Outcome(one.label, certified, broken)


def state_of(one: sc.Certificate, threat: str, size: int, *, asked: bool = True) -> State:
    """The state of a certificate for attacks of at most a size.

    That is its verdict on a threat that it was asked about. Of flips, deleted, added and moved edges, all ways to
    divide changes over regions are certified; edges that move are deletions and as many additions.
    """
    smaller, (kind, _) = read_threat(fewer(threat, size)), kind_of(threat)
    if (asked and _was_asked(one, smaller)) or (smaller.by_radius and kind not in KINDS):
        return one.verdict(smaller)
    if kind not in KINDS:
        return "open"
    levels = list(levels_within(one.noise, kind, size))
    within = one.max_radius is None or all(lies_within(level, one.max_radius) for level in levels)
    if levels and within and all(map(one.certified, levels)):
        return "certified"
    sort = KINDS[kind][0]
    sure = {place for place, suffix in enumerate(suffixes_of(one.noise)) if sort in (None, suffix)}
    found = (level for level in one.broken if sum(level) <= size and kind != "rewire")
    return "broken" if any(sure.issuperset(np.flatnonzero(level).tolist()) for level in found) else "open"


def _was_asked(one: sc.Certificate, threat: Threat) -> bool:
    return one.asked is not None and one.asked.size_of(threat.for_noise(one.noise)) is not None


def suffixes_of(noise: sc.Noise) -> list[str]:
    """The end of each axis: which changes it counts; "": all."""
    return [suffix for region in noise for suffix in noise[region].suffixes]


def levels_within(noise: sc.Noise, kind: str, size: int) -> Iterator[tuple[int, ...]]:
    """Every way to divide this many changes of each sort over the axes; what an axis counts may be any change.

    Example:
        >>> list(levels_within(sc.Noise(a=0.2, b=sc.Flip(delete=0.3, add=0.1)), "deletions", 1))
        [(1, 0, 0), (0, 1, 0)]
    """
    ways = []
    for sort in KINDS[kind]:
        counted = (sort is None or each == sort or each not in FLIP_AXES for each in suffixes_of(noise))
        ways.append(list(levels_of(size, tuple(size if counts else 0 for counts in counted))))
    for chosen in product(*ways):
        yield tuple(map(sum, zip(*chosen, strict=True)))


def speaks_to(certificates: sc.Certificates, outcomes: Sequence[Outcome], threat: str) -> int | None:
    """The largest size that certificates say something about: beyond it, none would be certified; None: all do."""
    why_unknown, (kind, most), noise = unknown_at(certificates), kind_of(threat), certificates.noise
    for size in range(1, most + 1):
        if kind not in KINDS or _was_asked(certificates[0], read_threat(fewer(threat, size))):
            continue
        levels = levels_within(noise, kind, size)
        if any(map(why_unknown, levels)) and not any(one.withstands(size) for one in outcomes):
            return size - 1
    return None


def exact_result(
    base: sc.Classifier, graphs: Sequence[sc.Graph], threat: str, *, farthest: int, max_attacks: int
) -> Result:
    """The results of trying every attack, up to size `farthest`, while there are at most `max_attacks` on a graph.

    Where even the attacks of size 1 are more on every graph, nothing is said.
    """
    asked, limits, reached = read_threat(fewer(threat, farthest)), [], 0
    for graph in graphs:
        sites = Partition.everything("all").sites(graph)
        numbers = np.cumsum([asked.count(sites, size) for size in range(1, asked.most + 1)])
        whole = numbers[numbers <= max_attacks].tolist()  # attacks up to each size of which all can be tried
        limits.append(max([1, *whole]))
        reached = max(reached, len(whole))
    found = sc.ExactClassifier(base).certify(graphs, threat=asked, max_attacks=limits, progress=False)
    passes = found.proof.forward_passes
    return Result.of(found, threat, forward_passes=passes, seconds=found.seconds, asked=reached)
