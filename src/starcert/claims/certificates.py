"""From bounds to certificates, one a graph.

Bounds + Noise ─► certify ─► Certificates ─► certified(radius), frontiers, rows
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.claims.certificate import Certificate, Limits, Verdicts, in_box, margin_of
from starcert.claims.collective import Collective, CollectiveClaim
from starcert.claims.outcomes import Outcomes, Results, known, share_of
from starcert.claims.question import Question
from starcert.claims.sentences import cells_of
from starcert.claims.slack import slacks_of
from starcert.math.audit import Audit
from starcert.math.confidence import Bounds, Votes
from starcert.math.frontier import Frontier, Frontiers
from starcert.objects import TargetNodes
from starcert.objects.graph_kind import GRAPHS
from starcert.objects.kinds import Kind
from starcert.objects.noise import Noise, RadiusLike
from starcert.objects.threats import AnyFlips, Box, Threat, read_threat
from starcert.system.errors import InvalidParameterError
from starcert.system.markup import MAX_SHOWN, html_table
from starcert.system.output import as_frame

if TYPE_CHECKING:
    import pandas as pd

    from starcert.claims.outcomes import Labels

Radii: TypeAlias = tuple[tuple[float, ...], ...]
"""Maximal certified radii; a count is infinite where an attacker finds no further site."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificates(Results, Sequence[Certificate]):
    """One certificate a graph, or a target of a graph, made when it is looked at; proofs are shared between them.

    Its attributes are the arguments of `certify`, and `verdicts`: what evidence says about each certificate, or None.
    """

    bounds: Bounds
    noise: Noise
    max_radius: Limits
    capacity: Sequence[Limits]
    anchored: Sequence[str]
    boxes: Sequence[Limits]
    verdicts: Sequence[Verdicts | None] | None = None
    nodes: TargetNodes | None = None
    kind: Kind = GRAPHS
    classes: Sequence[Hashable] | None = None
    asked: Sequence[Question] | None = None  # for each object
    collective: Collective | None = None  # the votes of all targets side by side, if they were kept
    threat: Threat | None = None  # that they were asked about, listed or not
    _frontiers: dict[tuple[tuple[int | None, ...], float], Frontiers] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.bounds)

    def __repr__(self) -> str:
        threat = f", threat={str(self.asked[0].threat)!r}" if self.asked else ""
        number = f"{len(self)} {self.word}{'s' * (len(self) != 1)}"
        return f"Certificates({number}, {self.noise!r}, alpha={self.alpha}{threat})"

    def _repr_html_(self) -> str:
        rows = [
            {self.word: name, **cells_of(one)}
            for name, one in zip(self.names[:MAX_SHOWN], self[:MAX_SHOWN], strict=True)
        ]
        more = f", the first {MAX_SHOWN}" if len(self) > MAX_SHOWN else ""
        return html_table(rows, caption=f"{self!r}{more}")

    @property
    @override
    def word(self) -> str:
        return self.kind.word if self.nodes is None else "node"

    @overload
    def __getitem__(self, index: int) -> Certificate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Certificate]: ...
    def __getitem__(self, index: int | slice) -> Certificate | Sequence[Certificate]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        return Certificate(
            self.noise,
            self.bounds[row],
            self.max_radius,
            self.capacity[row],
            self.anchored[row],
            int(self.objects[row]),
            int(self.targets[row]),
            None if self.nodes is None else self.nodes.names[row],
            self._search(row),
            None if self.verdicts is None else self.verdicts[row],
            self.kind,
            None if self.asked is None else self.asked[int(self.objects[row])],
            self.classes,
        )

    def _search(self, row: int) -> Frontiers:
        """The search for the frontier of a certificate: in the box that lies in all of its boxes."""
        boxes = (box for box in (self.max_radius, self.capacity[row], self.boxes[row]) if box is not None)
        limits: tuple[int | None, ...] = tuple(map(min, zip(*boxes, strict=True))) or (None,) * len(self.noise.axes)
        key = limits, self.bounds.contests[row].limit
        if key not in self._frontiers:
            self._frontiers[key] = Frontiers(slacks_of(self.noise.product, key[1]), limits)
        return self._frontiers[key]

    def frontiers(self) -> list[Frontier]:
        """The frontier of each graph: those of `[one.frontier for one in certificates]`, and sooner."""
        if self.verdicts is not None:
            return [one.frontier for one in self]
        bounds = zip(self.bounds.failure.tolist(), self.bounds.other.tolist(), self.bounds.contests, strict=True)
        return [self._search(row).of(margin_of(self.noise, *each)) for row, each in enumerate(bounds)]

    @cached_property
    def objects(self) -> npt.NDArray[np.int64]:
        """For each certificate, the number of its graph."""
        return self.bounds.objects

    @cached_property
    def targets(self) -> npt.NDArray[np.int64]:
        """For each certificate, the number of its target in its graph; 0 where graphs themselves are classified."""
        return self.bounds.targets

    def grid(self, max_radius: RadiusLike) -> list[range]:
        """Every count of flips on each axis, up to `max_radius`."""
        return [range(limit + 1) for limit in self.noise.radius(max_radius, "max_radius")]

    def radii_within(self, max_radius: RadiusLike) -> list[Radii]:
        """The maximal radii of each graph up to `max_radius`; where a search ended early, all that are certified."""
        box, found = self.within(max_radius), []
        for row, frontier in enumerate(box.frontiers()):
            radii: Sequence[tuple[int, ...]] = frontier.radii
            if frontier.incomplete:
                radii = [radius for radius in product(*self.grid(max_radius)) if box[row].certified(radius)]
            found.append(open_ended(radii, self.capacity[row]))
        return found

    @property
    def names(self) -> list[str]:
        """What each certificate is called: the number of its graph, and its node or its target's number, if any."""
        graphs, targets = self.objects.tolist(), self.targets.tolist()
        if self.nodes is None and not any(targets):
            return [str(graph) for graph in graphs]
        named = targets if self.nodes is None else self.nodes.names
        return [f"{graph}.{target}" for graph, target in zip(graphs, named, strict=True)]

    @property
    @override
    def labels(self) -> npt.NDArray[np.int64]:
        """The class of each graph, as the selection votes chose it."""
        return self.bounds.labels

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.bounds.n_classes

    @property
    @override
    def abstained(self) -> npt.NDArray[np.bool_]:
        """For which graphs not even the answer on the clean graph is certain enough to be given."""
        return ~self.certified((0,) * len(self.noise.axes))

    @property
    def alpha(self) -> float | None:
        """The probability that anything that one of them says is false, or that all that share it say."""
        stated = [] if self.verdicts is None else [each.alpha for each in self.verdicts if each is not None]
        return max(stated, default=self.bounds.alpha)

    @property
    def votes(self) -> Votes | None:
        """The votes that the certificates were made from; None if the bounds were given without votes."""
        return self.bounds.votes

    @property
    def audit(self) -> Audit | None:
        """How many copies were classified again, to see that answers do not depend on the batch; None: not known."""
        return None if self.votes is None else self.votes.audit

    @property
    @override
    def together(self) -> int:
        return self.bounds.family_size

    @property
    @override
    def weighed(self) -> bool:
        return self.verdicts is not None

    @property
    def by_p_A(self) -> Certificates:  # noqa: N802  (the paper's p_A)
        """The same certificates by the bounds on the class probabilities alone, as the paper has them."""
        return replace(self, verdicts=None)

    @property
    def numbered(self) -> Certificates:
        """The same certificates for labels that are class numbers, whatever the classes are called."""
        return self if self.classes is None else replace(self, classes=None)

    def within(self, max_radius: RadiusLike) -> Certificates:
        """The same certificates, looked at in a smaller box of radii: their frontiers end there."""
        limits = in_box(self.noise.radius(max_radius, "max_radius"), self.max_radius, None)
        return replace(self, max_radius=limits, boxes=[None] * len(self))

    def certified(self, radius: RadiusLike) -> npt.NDArray[np.bool_]:
        """Which graphs are certified at `radius`, as an array; proved.

        Example:
            >>> noise = Noise(motif=0.02, random=0.45)
            >>> certify(Bounds.certain([0.9, 0.9995]), noise, max_radius=(35, 45)).certified((1, 45))
            array([False,  True])
        """
        counts, law = in_box(self.noise.radius(radius), self.max_radius, None), self.noise.product
        rows = [(limits, each.limit) for limits, each in zip(self.capacity, self.bounds.contests, strict=True)]
        below = {each: slacks_of(law, each[1]).bracket(in_box(counts, None, each[0])).below for each in set(rows)}
        verdicts = self.bounds.failure <= np.array([below[each] for each in rows])
        one_by_one = self.bounds.other < self.bounds.failure
        if self.verdicts is not None:
            one_by_one = one_by_one | ~verdicts
        for i in np.flatnonzero(one_by_one):
            verdicts[i] = self[int(i)].certified(counts)
        return verdicts

    def at_most_changed(
        self, threat: Threat | str, *, k: int | None = None, alpha: float | None = None
    ) -> CollectiveClaim:
        """The claim that at most k of all answers differ from the stated ones under any attack of a threat.

        The stated answers are `labels`, also where a certificate abstains. The claim stands by itself, beside what the
        certificates say: alpha is divided neither between targets nor between attacks. It needs certificates with
        evidence; if they are about a threat that lists its attacks, this one or one with fewer units of it.

        Args:
            threat: what the attacker can do, an object or its text; where there are several objects, to each of them.
            k: the number to be shown, fixed before the votes were seen; by default the smallest that can be shown for
                the whole threat, which costs nothing.
            alpha: the probability that the claim is false; by default that of `certify`.
        """
        if self.collective is None:
            hint = "Certify with evidence=True, and without a fallback."
            raise InvalidParameterError("certificates", "have evidence, and no fallback", self, hint)
        return self.collective.at_most_changed(read_threat(threat).for_noise(self.noise), k, alpha)

    @override
    def outcomes(self, threat: Threat | str | None = None) -> Outcomes:
        """What is known about each graph under a threat: any flips, a box, or the one whose attacks were listed.

        By default that is the threat that was asked about, or any flips: as many as evidence looked at, else two.
        """
        from starcert.claims.smoothed_outcomes import smoothed_outcomes  # noqa: PLC0415  (imports this module)

        return smoothed_outcomes(self, (self.counted or AnyFlips(2)) if threat is None else read_threat(threat))

    @property
    def listed_threat(self) -> Threat | None:
        """The threat whose attacks were listed; None where certificates are about radii."""
        return self.asked[0].threat if self.asked else None

    @property
    def counted(self) -> Threat | None:
        """The threat under which results are counted: the one that listed its attacks, or any flips; None: neither.

        Any flips are as many as the threat has; with evidence and no threat, as many as it looked at.
        """
        if self.listed_threat is not None:
            return self.listed_threat
        if self.threat is not None and self.threat.flips is not None:
            return AnyFlips(self.threat.flips)
        if self.verdicts is None:
            return None
        grounds = [each.grounds for each in self.verdicts if each is not None]
        return AnyFlips(max((each.max_flips or 0 for each in grounds if each is not None), default=0) or 2)

    @override
    def by_axis(self, flips: int | None = None) -> dict[str, Outcomes]:
        """What is known about each graph under flips on one axis alone, by default as far as anything is certified.

        Graphs without sites there have no such attack: counts leave them out (`SizeCounts.n_without`).

        Example:
            >>> noise, sizes = Noise(ring=0.01, rest=0.2), [(0, 9), (3, 9)]
            >>> found = certify(Bounds.certain([0.9, 0.9]), noise, capacity=sizes).by_axis(1)
            >>> [(axis, count.n_certified, count.n_without) for axis in found for count in found[axis].counts()]
            [('ring', 0, 1), ('rest', 2, 0)]
        """
        axes = self.noise.axes
        if flips is None:
            flips = max((max(radius) for one in self.frontiers() for radius in one.radii), default=0) or 1
        return {axis: self.outcomes(Box({each: flips * (each == axis) for each in axes})) for axis in axes}

    @override
    def certified_accuracy(self, labels: Labels, at: RadiusLike | Threat | str | None = None) -> float:
        """The share of graphs, or of nodes, that are answered right and certified at a radius, or under a threat.

        Those whose class is not known are left out; NaN if none is known. By default under the threat that was asked
        about.
        """
        if at is None or isinstance(at, Threat | str):
            return super().certified_accuracy(labels, at)
        return share_of(self.certified(at) & self.right(labels), known(self.truth(labels).tolist()))

    def rows(self, labels: Labels | None = None, **about: Any) -> list[dict[str, object]]:  # noqa: ANN401  (as there)
        """One row for each certificate, as in `results.csv`: see `result_rows.result_rows`, which takes the same.

        Example:
            >>> from starcert.math.confidence import Votes, clopper_pearson
            >>> bounds = clopper_pearson(Votes([[9_900, 100]], selection=[[98, 2]]))
            >>> (row,) = certify(bounds, Noise(bonds=0.1)).rows([0], names=["benzene"])
            >>> row["name"], row["class"], row["right"], row["votes_1"], row["reach_bonds"], row["frontier"]
            ('benzene', 0, True, 100, 1, ((1,),))
        """
        from starcert.claims.rows import result_rows  # noqa: PLC0415  (which imports this module)

        return result_rows(self, labels, **about)

    def to_frame(self, labels: Labels | None = None, **about: Any) -> pd.DataFrame:  # noqa: ANN401  (as in `rows`)
        """The `rows` as a pandas DataFrame: the columns of `results.csv`, radii as tuples."""
        return as_frame(self.rows(labels, **about))


def certify(
    bounds: Bounds,
    noise: Noise,
    *,
    max_radius: RadiusLike | None = None,
    capacity: Sequence[RadiusLike | None] | None = None,
    anchored: Sequence[str] | None = None,
    boxes: Sequence[RadiusLike | None] | None = None,
    nodes: TargetNodes | None = None,
    kind: Kind = GRAPHS,
    classes: Sequence[Hashable] | None = None,
) -> Certificates:
    """One certificate for each row of `bounds`.

    Args:
        bounds: from `clopper_pearson`, or `Bounds.certain`.
        noise: the noise that the votes were drawn with.
        max_radius: the box of radii to look at. Without it, every axis is followed as far as it goes.
        capacity: for each row, how many sites an attacker finds on each axis; None where that is not known. It is
            believed: more flips than that are no further attack. A number that merely stands in a file is no capacity.
        anchored: for each row, why its regions are anchored, "" if they are not.
        boxes: for each row, how far its frontier is searched, within max_radius. Nothing else follows from it.
        nodes: the node of each row, where the nodes of graphs are classified.
        kind: the kind of the attacked objects.
        classes: what labels call the classes, in the order of their numbers; None: by their numbers alone.

    Example:
        >>> from starcert.math.confidence import Votes, clopper_pearson
        >>> bounds = clopper_pearson(Votes([[99_950, 50]], selection=[[995, 5]]), alpha=0.01)
        >>> certify(bounds, Noise(motif=0.02, random=0.45), max_radius=(35, 45))[0].frontier.radii
        ((1, 45),)
    """
    if not isinstance(bounds, Bounds):
        raise InvalidParameterError("bounds", "come from clopper_pearson(votes)", type(bounds).__name__)
    if not isinstance(noise, Noise):
        raise InvalidParameterError("noise", "be a Noise", noise, "Write for instance Noise(motif=0.02, random=0.45).")
    if classes is not None and len(set(classes)) != bounds.n_classes:
        raise InvalidParameterError("classes", f"be {bounds.n_classes}, each once", classes)
    for name, given in (("capacity", capacity), ("anchored", anchored), ("boxes", boxes), ("nodes", nodes)):
        if given is not None and len(given) != len(bounds):
            raise InvalidParameterError(name, f"have one entry for each of {len(bounds)} rows", len(given))
    limits = None if max_radius is None else noise.radius(max_radius, "max_radius")
    nothing = [None] * len(bounds)
    known, searched = (
        [None if each is None else noise.capacity(each, name) for each in (nothing if given is None else given)]
        for name, given in (("capacity", capacity), ("boxes", boxes))
    )
    reasons = [""] * len(bounds) if anchored is None else anchored
    return Certificates(bounds, noise, limits, known, reasons, searched, nodes=nodes, kind=kind, classes=classes)


def certified_counts(frontiers: Mapping[Radii, npt.ArrayLike], ticks: Sequence[Sequence[int]]) -> npt.NDArray[np.int64]:
    """How many graphs are certified at each radius of a grid, read off their frontiers: the one place that counts.

    Args:
        frontiers: for each set of maximal radii, how many graphs have it; or several such numbers, each summed by
            itself: all of them, those that are answered right, … The result has shape (numbers, *grid) then.
        ticks: on each axis, the counts of flips of the grid, in ascending order.

    Example:
        >>> certified_counts({((0, 2), (1, 1)): 3, ((1, math.inf),): 1, (): 5}, [(0, 1, 2), (0, 1, 2)]).tolist()
        [[4, 4, 4], [4, 4, 1], [0, 0, 0]]
    """
    numbers = np.array([np.asarray(each) for each in frontiers.values()], dtype=np.int64)
    *others, last = map(np.asarray, ticks)
    shape = tuple(len(axis) for axis in others)
    # ends[…, k]: the graphs that are certified at exactly the first k counts of the last axis.
    ends = np.zeros((*numbers.shape[1:], *shape, len(last) + 1), dtype=np.int64)
    places = np.indices(shape, sparse=True)
    for radii, number in zip(frontiers, numbers, strict=True):
        heights = np.full(shape, -1.0)
        for radius in radii:
            below = tuple(
                slice(np.searchsorted(axis, count, "right")) for axis, count in zip(others, radius, strict=False)
            )
            heights[below] = np.maximum(heights[below], radius[-1])
        covers = np.searchsorted(last, heights, side="right")
        here: Any = (..., *places, covers)
        ends[here] += np.reshape(number, (*number.shape, *[1] * len(shape)))
    return ends[..., :0:-1].cumsum(axis=-1)[..., ::-1]


def open_ended(radii: Sequence[Sequence[int]], capacity: Sequence[int | None] | None) -> Radii:
    """The radii, without an end where they take all sites of an axis (its capacity; None: not known).

    Example:
        >>> open_ended(((0, 4), (1, 2)), (3, 4))
        ((0, inf), (1, 2))
    """
    if capacity is None:
        return tuple(map(tuple, radii))
    ends = [math.inf if size is None else size for size in capacity]
    return tuple(
        tuple(math.inf if count >= end else count for count, end in zip(radius, ends, strict=True)) for radius in radii
    )
