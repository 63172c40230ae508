"""What is known about single graphs under a threat, whichever method says it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

import starcert as sc
from starcert.certificates.unknown import unknown_at
from starcert.math.frontier import levels_of
from starcert.objects import Partition
from starcert.objects.threats import read_threat
from starcert.system.errors import InvalidParameterError

ANY = -1  # certified against attacks of any size
KINDS = ("flips", "deletions", "additions", "rewire")
"""Threats of a benchmark: k node pairs that flip, k deleted edges, k added ones, k edges that move."""
DELETE, ADD = ".delete", ".add"  # how the names of axes end

State = Literal["certified", "broken", "open"]
Labels = npt.NDArray[np.int64]


class Outcome(NamedTuple):
    """What is known about one graph: its answer, and up to which size attacks are certified to change nothing."""

    answer: int | None  # None: the method abstains
    certified: int  # the largest certified size, or `ANY`
    broken: int | None = None  # the smallest size of an attack that is known to change the answer

    def withstands(self, size: int) -> bool:
        """Whether all attacks of at most this size are certified to change nothing."""
        return self.answer is not None and (self.certified == ANY or self.certified >= size)

    def state(self, size: int) -> State:
        """What is known about attacks of at most this size."""
        if self.withstands(size):
            return "certified"
        return "broken" if self.broken is not None and self.broken <= size else "open"


@dataclass(frozen=True)
class Result:
    """What a method found on some objects under a threat: the record that every method returns.

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
    certificates: sc.Certificates | sc.ExactCertificates | None = None  # that can be kept, and verified; None: none

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
                raise ValueError(f"outcome {place}: the answer must be a class from 0 to {n_classes - 1}, or None, "
                                 f"not {one.answer!r}")  # fmt: skip
            sizes = (one.certified, 1 if one.broken is None else one.broken)
            if not all(isinstance(size, int) for size in sizes) or sizes[0] < ANY or sizes[1] < 1:
                raise ValueError(f"outcome {place}: sizes must be whole numbers, not {one}")
            if one.broken is not None and (one.certified == ANY or one.broken <= one.certified):
                raise ValueError(f"outcome {place} is certified and broken at size {one.broken}: {one}")

    def share(self, truth: Labels, size: int, weights: npt.NDArray[np.float64] | None = None) -> float:
        """The share of objects that are right and certified, by weight; abstentions are wrong.

        At sizes that the method could not speak about, it is that at the largest which it could.
        """
        size = size if self.asked is None else min(size, self.asked)
        kept = [one.answer == label and one.withstands(size) for one, label in zip(self.outcomes, truth, strict=True)]
        return float(np.mean(kept) if weights is None else weights @ np.array(kept))


def kind_of(threat: str) -> tuple[str, int]:
    """The kind of a threat of the benchmark, and its largest size.

    Example:
        >>> kind_of("deletions:10")
        ('deletions', 10)
    """
    word, _, size = threat.partition(":")
    if word not in KINDS or not size.isdecimal() or not int(size):
        raise InvalidParameterError("threat", f"be one of {', '.join(KINDS)} with a size", threat, "Say flips:10.")
    return word, int(size)


def outcome_of(one: sc.Certificate, threat: str) -> Outcome:
    """What a certificate under noise on all node pairs says, in one region or several.

    All ways to divide changes over regions are certified; edges that move are deletions and as many additions.
    """
    if one.abstained:
        return Outcome(None, 0)
    (kind, most), axes = kind_of(threat), one.noise.axes
    if kind == "flips":
        return Outcome(one.label, one.any_flips_to(most), min(map(sum, one.broken), default=None))
    places = places_of(kind, axes)

    def withstands(size: int) -> bool:
        return all(map(one.certified, levels_within(size, places, len(axes))))

    certified = next((size for size in range(1, most + 1) if not withstands(size)), most + 1) - 1
    sure = {place for place in places[0] if "." in axes[place]} if len(places) == 1 else set()
    alone = [sum(level) for level in one.broken if sure.issuperset(np.flatnonzero(level).tolist())]
    return Outcome(one.label, certified, min(alone, default=None))


def speaks_to(certificates: sc.Certificates, outcomes: Sequence[Outcome], threat: str) -> int | None:
    """The largest size that certificates say something about: beyond it, none would be certified; None: all do."""
    why_unknown, (kind, most) = unknown_at(certificates), kind_of(threat)
    places = places_of(kind, certificates.noise.axes)
    for size in range(1, most + 1):
        levels = levels_within(size, places, len(certificates.noise.axes))
        if any(map(why_unknown, levels)) and not any(one.withstands(size) for one in outcomes):
            return size - 1
    return None


def places_of(kind: str, axes: Sequence[str]) -> list[list[int]]:
    """For each sort of change, the axes on which it counts: noise may not tell deletions from additions."""
    if kind == "flips":
        return [list(range(len(axes)))]
    sorts = [sort for sort in (DELETE, ADD) if kind in ("rewire", "deletions" if sort == DELETE else "additions")]
    return [[place for place, axis in enumerate(axes) if axis.endswith(sort) or "." not in axis] for sort in sorts]


def levels_within(size: int, places: Sequence[Sequence[int]], n_axes: int) -> Iterator[tuple[int, ...]]:
    """Every way to divide this many changes of each sort over the axes that they count on.

    Example:
        >>> list(levels_within(1, [[0, 2], [1]], 3))
        [(1, 1, 0), (0, 1, 1)]
    """
    ways = [list(levels_of(size, (size,) * len(each))) for each in places]
    for chosen in product(*ways):
        level = [0] * n_axes
        for some, changes in zip(places, chosen, strict=True):
            for place, number in zip(some, changes, strict=True):
                level[place] += number
        yield tuple(level)


def exact_result(
    base: sc.Classifier, graphs: Sequence[sc.Graph], threat: str, *, farthest: int, max_attacks: int
) -> Result:
    """What trying every attack shows, up to size `farthest`, while there are at most `max_attacks` on a graph."""
    kind, most = kind_of(threat)
    asked = f"{kind}:{min(most, farthest)}"
    limits = [whole_sizes(graph, asked, max_attacks) for graph in graphs]
    found = sc.ExactClassifier(base).certify(graphs, threat=asked, max_attacks=limits, progress=False)
    outcomes = tuple(Outcome(one.label, one.certified_size, one.broken_size) for one in found)
    return Result(
        threat, outcomes, None, 0, found.forward_passes, found.seconds, asked=min(most, farthest), certificates=found
    )


def whole_sizes(graph: sc.Graph, threat: str, max_attacks: int) -> int:
    """How many attacks of a threat there are up to the largest size with at most `max_attacks`; all of these are tried.

    Where even those of size 1 are more, `max_attacks`.
    """
    asked, sites = read_threat(threat), Partition.everything("all").sites(graph)
    numbers = np.cumsum([asked.count(sites, size) for size in range(1, asked.most + 1)])
    return int(max(numbers[numbers <= max_attacks], default=max_attacks)) or 1
