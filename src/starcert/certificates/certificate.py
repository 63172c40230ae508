"""Certificates: what the bounds of a graph guarantee under a noise.

Bounds + Noise ─► certify ─► Certificates, one a graph ─► certified(radius), margin(radius), frontier

With evidence a certificate knows more than its bounds tell: each level is certified, broken or open, and says why.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from starcert.certificates.evidence.verdicts import FoundAttack, Kind, Verdict, Verdicts
from starcert.certificates.slack import slacks_of, tradeoffs_of
from starcert.math.audit import Audit
from starcert.math.classes import class_numbers
from starcert.math.confidence import Bounds, Votes
from starcert.math.frontier import Frontier, Frontiers, levels_of
from starcert.math.margins import MultiClass, TwoClass
from starcert.objects import TargetNodes
from starcert.objects.noise import Noise, RadiusLike
from starcert.system.errors import InvalidParameterError
from starcert.system.output import MAX_SHOWN, as_frame, at_least, at_most, holds_at_least, html_table
from starcert.system.stages import staged

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Certificate", "Certificates", "certify", "margin_of"]

MOST_LOOKED = 10_000
"""So many levels of a frontier that is not complete are looked at, to tell how many flips it withstands anywhere."""

MOST_NAMED = 8
"""So many maximal radii are named in the sentence that a certificate says."""


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """What is guaranteed about one graph: a statement about the *smoothed* classifier.

    Attributes:
        noise: the noise that the classifier is smoothed with.
        bounds: the bounds on the class probabilities (one row).
        max_radius: the box of radii that was asked about, in the order of `noise.axes`; None: no end.
        capacity: how many sites an attacker finds on each axis, as the sites of the graph tell; more flips are no
            further attack. None: not known.
        anchored: why the regions are anchored, "" if they are not: they were then read off the graph's own edges, and
            the certificate speaks of a classifier whose regions are frozen at the clean graph.
        object: the number of the graph.
        target: the number of the target in it, of which there is one, 0, where the graph itself is classified.
        node: the name of the node that the target is; None where it is no node.
        verdicts: what evidence says beyond the bounds; None: nobody asked.
        word: what is attacked is called: a graph, a row, or an object.
    """

    noise: Noise
    bounds: Bounds
    max_radius: tuple[int, ...] | None
    capacity: tuple[int, ...] | None
    anchored: str
    object: int
    target: int
    node: Hashable | None
    _frontiers: Frontiers = field(repr=False)
    verdicts: Verdicts | None = field(repr=False, default=None)
    word: str = "graph"

    @property
    def label(self) -> int:
        """The class, as the selection votes chose it."""
        return int(self.bounds.labels[0])

    @property
    def p_lower(self) -> float:
        """The lower bound on the probability of the class, rounded down."""
        return float(self.bounds.p_lower[0])

    @property
    def alpha(self) -> float | None:
        """The probability that anything this certificate says is false; None: its bounds are taken for certain."""
        return self.bounds.alpha if self.verdicts is None else self.verdicts.alpha

    @property
    def together(self) -> int:
        """Alpha is the failure probability of so many certificates together, this one among them; 1: of this one."""
        return self.bounds.together

    @property
    def margin_kind(self) -> str:
        """Which margin decides: "multi-class" if alpha was spent on bounds of the other classes, too, and they help."""
        return "multi-class" if self.bounds.other[0] < self.bounds.failure[0] else "two-class"

    @property
    def abstained(self) -> bool:
        """Whether not even the answer on the clean graph is certain enough to be given."""
        return self._margin.proves((0,) * len(self.noise.axes)) is not True

    @property
    def frontier(self) -> Frontier:
        """The maximal certified radii, each verdict proved; `incomplete` says why, where there may be more."""
        return self.counted if self.verdicts is None else self.verdicts.beyond(self.counted)

    @property
    @staged("certifying")
    def counted(self) -> Frontier:
        """The frontier of what the bounds on the class probabilities certify by themselves: the paper's certificate."""
        return self._frontiers.of(self._margin)

    @property
    def broken(self) -> tuple[tuple[int, ...], ...]:
        """The levels of which an attack is known that changes the smoothed classifier's answer."""
        return () if self.verdicts is None else self.verdicts.broken

    @property
    def any_flips(self) -> int:
        """The largest k, as far as was asked, such that no k flips, wherever they are, change the answer."""
        return self.any_flips_to(None)

    def any_flips_to(self, limit: int | None) -> int:
        """`any_flips`, as far as this limit: a search that is not complete then looks no further."""
        capacity, frontier = self.capacity, self.frontier
        if capacity is None:
            raise InvalidParameterError("capacity", "be known, to speak of flips wherever they are", None)
        asked = capacity if self.max_radius is None else tuple(map(min, self.max_radius, capacity))
        unasked = [limit + 1 for limit, size in zip(asked, capacity, strict=True) if limit < size]
        most = max(0, min([sum(capacity) + 1, *unasked, *map(sum, frontier.beyond)]) - 1)
        most = most if limit is None else min(most, limit)
        if not frontier.incomplete:  # what is not certified lies beyond one of these
            return most
        levels = ((flips, level) for flips in range(1, most + 1) for level in levels_of(flips, asked))
        for looked, (flips, level) in enumerate(levels):
            if looked == MOST_LOOKED or not frontier.covers(level):
                return flips - 1
        return most

    def verdict(self, level: RadiusLike) -> Kind:
        """Whether attacks of exactly so many flips are "certified" to change nothing, "broken", or "open"."""
        return self._verdict(level).kind

    def why(self, level: RadiusLike) -> str:
        """By which argument a level has its verdict, such as "by p_A", or "by weighing 11,628 attacks"."""
        return self._verdict(level).why

    def attack(self, level: RadiusLike) -> FoundAttack | None:
        """The attack that breaks a level, with the votes at the attacked graph; None if none is known."""
        return self._verdict(level).attack

    def _verdict(self, level: RadiusLike) -> Verdict:
        counts = self.noise.radius(level, "level")
        if self.capacity is not None and any(r > n for r, n in zip(counts, self.capacity, strict=True)):
            hint = "A level is a number of attacked sites."
            raise InvalidParameterError("level", f"be at most what there is to attack, {self.capacity}", counts, hint)
        if self._margin.proves(_within(counts, self.max_radius, None)) is True:
            return Verdict("certified", "by p_A")
        if self.verdicts is None:
            return Verdict("open", "not by p_A, and there is no evidence")
        return self.verdicts.of(counts)

    def _is_certified(self, radius: tuple[int, ...]) -> bool:
        if self._margin.proves(radius) is True:
            return True
        return self.verdicts is not None and self.verdicts.of(radius).kind == "certified"

    def certified(self, radius: RadiusLike) -> bool:
        """Whether no attack within `radius` changes the smoothed classifier's answer; proved, by whichever argument.

        Example:
            >>> one = certify(Bounds.certain([0.9995]), Noise(motif=0.02, random=0.45), max_radius=(35, 45))[0]
            >>> one.certified({"motif": 1, "random": 45}), one.certified((2, 0))
            (True, False)
        """
        return self._is_certified(_within(self.noise.radius(radius), self.max_radius, self.capacity))

    def margin(self, radius: RadiusLike) -> float:
        """ρ_low(p_A) − ρ_up(p_B), equation (5) of the paper: certified iff positive.

        A number to look at; near zero `certified` decides, because it does not round.
        """
        counts = _within(self.noise.radius(radius), self.max_radius, self.capacity)
        tradeoffs = tradeoffs_of(self.noise.product)
        failure, other = float(self.bounds.failure[0]), float(self.bounds.other[0])
        return tradeoffs.lower(counts, 1 - failure, failure) - tradeoffs.upper(counts, other, 1 - other)

    def __str__(self) -> str:
        if self.abstained:
            return (
                f"The smoothed classifier abstains: class {self.label} cannot be shown to be the likeliest "
                f"(p_lower = {at_least(self.p_lower)})."
            )
        whom = "" if self.node is None else f"the node {self.node!r} of "
        where = f"answers class {self.label} for {whom}{self._attacks()}"
        return f"{self._premise}, the smoothed classifier {where}.{self._anchor_sentence}"

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentence, and the numbers."""
        return f"<p>{escape(str(self))}</p>{html_table([_shown(self)])}"

    @property
    def _premise(self) -> str:
        if self.alpha is None:  # what is presupposed is rounded up, so that no less is presupposed than it takes
            return f"If the smoothed probability of class {self.label} is at least {at_most(self.p_lower)}"
        all_of_them = f", for all {self.together:,} certificates together" if self.together > 1 else ""
        return f"With probability at least {holds_at_least(self.alpha)} over the sampling{all_of_them}"

    def _attacks(self) -> str:
        named = [
            [f"{count} in {axis}" for axis, count in zip(self.noise.axes, radius, strict=True) if count]
            for radius in self.frontier.radii[:MOST_NAMED]
        ]
        if not any(named):
            return f"this {self.word} itself; no flip is certified"
        flips = "; or ".join(", ".join(counts) for counts in named)
        if len(self.frontier) > MOST_NAMED:
            flips += f"; or any of {len(self.frontier) - MOST_NAMED:,} further radii of its frontier"
        return f"every {self.word} that differs from this one by at most so many flips, and nowhere else: {flips}"

    @property
    def _anchor_sentence(self) -> str:
        return (
            f" The regions are anchored ({self.anchored}): they stay as they are in this {self.word}."
            if self.anchored
            else ""
        )

    @property
    def _margin(self) -> TwoClass | MultiClass:
        return margin_of(self.noise, float(self.bounds.failure[0]), float(self.bounds.other[0]))


def margin_of(noise: Noise, failure: float, other: float) -> TwoClass | MultiClass:
    """What decides about radii, given bounds on the probability of all other answers and of every single one."""
    if other < failure:
        return MultiClass(tradeoffs_of(noise.product), failure, other)
    return TwoClass(slacks_of(noise.product), failure)


Limits: TypeAlias = tuple[int, ...] | None


def _limits(noise: Noise, *boxes: Limits) -> tuple[int | None, ...]:
    """The box to search: what lies in all of these."""
    open_ended: tuple[int | None, ...] = (None,) * len(noise.axes)
    columns = zip(*(box or open_ended for box in boxes), strict=True)
    return tuple(min((x for x in column if x is not None), default=None) for column in columns)


def _within(radius: tuple[int, ...], max_radius: Limits, capacity: Limits) -> tuple[int, ...]:
    """The radius as far as there is anything to attack, once it is known to lie in the box that was asked about."""
    if max_radius is not None and any(r > limit for r, limit in zip(radius, max_radius, strict=True)):
        raise InvalidParameterError(
            "radius", f"stay within max_radius {max_radius}", radius, "Certify again with a larger max_radius."
        )
    return radius if capacity is None else tuple(map(min, radius, capacity))


class Certificates(Sequence[Certificate]):
    """One certificate a graph, or a target of a graph, made when it is looked at; proofs are shared between them.

    Attributes:
        objects: for each certificate, the number of its graph.
        targets: for each certificate, the number of its target in its graph; 0 where graphs themselves are classified.
        nodes: the node of each certificate; None where targets are no nodes.
        word: what is attacked is called: a graph, a row, or an object.
        classes: what labels call the classes, in the order of their numbers; None: by their numbers alone.
    """

    def __init__(
        self,
        bounds: Bounds,
        noise: Noise,
        max_radius: Limits,
        capacity: Sequence[Limits],
        anchored: Sequence[str],
        boxes: Sequence[Limits],
        verdicts: Sequence[Verdicts | None] | None = None,
        nodes: TargetNodes | None = None,
        word: str = "graph",
        classes: Sequence[Hashable] | None = None,
    ) -> None:
        self.bounds = bounds
        self.word = word
        self.classes = classes
        self.nodes = nodes
        self.verdicts = verdicts
        self.objects, self.targets = bounds.objects, bounds.targets
        self.noise = noise
        self.max_radius = max_radius
        self.capacity = capacity
        self.anchored = anchored
        self.boxes = boxes
        self._frontiers: dict[tuple[int | None, ...], Frontiers] = {}

    def __len__(self) -> int:
        return len(self.bounds)

    def __repr__(self) -> str:
        what = self.word if self.nodes is None else "node"
        return f"Certificates({len(self)} {what}{'s' * (len(self) != 1)}, {self.noise!r}, alpha={self.alpha})"

    def _repr_html_(self) -> str:
        """What a notebook shows: a row for each of the first certificates."""
        names = self.names[:MAX_SHOWN]
        what = self.word if self.nodes is None else "node"
        rows = [{what: name, **_shown(one)} for name, one in zip(names, self[:MAX_SHOWN], strict=True)]
        more = f", the first {MAX_SHOWN}" if len(self) > MAX_SHOWN else ""
        return html_table(rows, caption=f"{self!r}{more}")

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
            self._searched(row),
            None if self.verdicts is None else self.verdicts[row],
            self.word,
        )

    def _searched(self, row: int) -> Frontiers:
        limits = _limits(self.noise, self.max_radius, self.capacity[row], self.boxes[row])
        if limits not in self._frontiers:
            self._frontiers[limits] = Frontiers(slacks_of(self.noise.product), limits)
        return self._frontiers[limits]

    @staged("certifying")
    def frontiers(self) -> list[Frontier]:
        """The frontier of each graph: those of `[one.frontier for one in certificates]`, and sooner."""
        if self.verdicts is not None:
            return [one.frontier for one in self]
        bounds = zip(self.bounds.failure.tolist(), self.bounds.other.tolist(), strict=True)
        return [self._searched(row).of(margin_of(self.noise, *each)) for row, each in enumerate(bounds)]

    @property
    def names(self) -> list[str]:
        """What each certificate is called: the number of its graph, and its node or its target's number, if any."""
        graphs, targets = self.objects.tolist(), self.targets.tolist()
        if self.nodes is None and not any(targets):
            return [str(graph) for graph in graphs]
        named = targets if self.nodes is None else self.nodes.names
        return [f"{graph}.{target}" for graph, target in zip(graphs, named, strict=True)]

    def truth(self, labels: npt.ArrayLike | Sequence[int | None]) -> npt.NDArray[np.generic]:
        """The true class number of each certificate; None where the label is None, for a class that is not known.

        Args:
            labels: a class for each certificate, in the words of `classes` or by its number; where the nodes of one
                graph are classified, a class for each of all its nodes will do.
        """
        given: npt.NDArray[np.generic] = np.array(labels, dtype=object)
        if self.nodes is not None:
            given = self.nodes.labels(given)
        elif given.shape != (len(self),):
            raise InvalidParameterError("labels", f"have one class for each of {len(self)} graphs", given.shape)
        return class_numbers(given, self.bounds.n_classes, self.classes)

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """The class of each graph, as the selection votes chose it."""
        return self.bounds.labels

    @property
    def alpha(self) -> float | None:
        """The probability that anything that one of them says is false, or that `together` of them say."""
        said = [] if self.verdicts is None else [each.alpha for each in self.verdicts if each is not None]
        return max(said, default=self.bounds.alpha)

    @property
    def counted(self) -> Certificates:
        """The same certificates by the bounds on the class probabilities alone, as the paper has them."""
        return self._like(self.max_radius, self.boxes, None)

    @property
    def votes(self) -> Votes | None:
        """The votes that the certificates were made from; None if the bounds were given without votes."""
        return self.bounds.votes

    def certified(self, radius: RadiusLike) -> npt.NDArray[np.bool_]:
        """Which graphs are certified at `radius`, as an array; proved.

        Example:
            >>> noise = Noise(motif=0.02, random=0.45)
            >>> certify(Bounds.certain([0.9, 0.9995]), noise, max_radius=(35, 45)).certified((1, 45))
            array([False,  True])
        """
        counts = _within(self.noise.radius(radius), self.max_radius, None)
        slacks = slacks_of(self.noise.product)
        below = np.empty(len(self))
        for limits, rows in self._rows_by_capacity().items():
            below[rows] = slacks.bracket(_within(counts, None, limits)).below
        verdicts = self.bounds.failure <= below
        one_by_one = self.bounds.other < self.bounds.failure
        if self.verdicts is not None:
            one_by_one = one_by_one | ~verdicts
        for i in np.flatnonzero(one_by_one):
            verdicts[i] = self[int(i)].certified(counts)
        return verdicts

    @property
    def audit(self) -> Audit | None:
        """How many copies were asked about again, to see that answers do not depend on company; None: not known."""
        return None if self.votes is None else self.votes.audit

    def audited(self, audit: Audit) -> Certificates:
        """The same certificates, with this audit of their votes."""
        bounds = replace(self.bounds, votes=None if self.votes is None else replace(self.votes, audit=audit))
        return self._like(self.max_radius, self.boxes, self.verdicts, bounds)

    def weighed(self, verdicts: Sequence[Verdicts | None]) -> Certificates:
        """The same certificates with what evidence says about each of them."""
        if len(verdicts) != len(self):
            raise InvalidParameterError("verdicts", f"be one, or None, for each of {len(self)} rows", len(verdicts))
        return self._like(self.max_radius, self.boxes, list(verdicts))

    @property
    def numbered(self) -> Certificates:
        """The same certificates for labels that are class numbers, whatever the classes are called."""
        if self.classes is None:
            return self
        found = copy(self)  # with what was proved already
        found.classes = None
        return found

    def within(self, max_radius: RadiusLike) -> Certificates:
        """The same certificates, looked at in a smaller box of radii: their frontiers end there."""
        limits = _within(self.noise.radius(max_radius, "max_radius"), self.max_radius, None)
        boxes: list[Limits] = [None] * len(self)
        return self._like(limits, boxes, self.verdicts)

    def _like(
        self,
        max_radius: Limits,
        boxes: Sequence[Limits],
        verdicts: Sequence[Verdicts | None] | None,
        bounds: Bounds | None = None,
    ) -> Certificates:
        capacity, anchored = self.capacity, self.anchored
        return Certificates(
            bounds or self.bounds,
            self.noise,
            max_radius,
            capacity,
            anchored,
            boxes,
            verdicts,
            self.nodes,
            self.word,
            self.classes,
        )

    def certified_accuracy(self, labels: npt.ArrayLike, radius: RadiusLike) -> float:
        """The share of graphs, or of nodes, that are answered right and certified at `radius`; see `truth`."""
        return float(np.mean(self.certified(radius) & (self.labels == self.truth(labels))))

    def rows(self) -> list[dict[str, object]]:
        """One row a graph: class, whether it abstained, bound, votes, margin, how far each axis reaches, frontier.

        Where graphs have several targets, there is a row for each, with a column `target`, its number, and a column
        `node`, the name of the node that it is.
        `reach_…` is the largest certified count on one axis alone, None after an abstention.

        Example:
            >>> from starcert.math.confidence import Votes, clopper_pearson
            >>> bounds = clopper_pearson(Votes([[9_900, 100]], selection=[[98, 2]]))
            >>> (row,) = certify(bounds, Noise(bonds=0.1)).rows()
            >>> row["class"], row["votes_1"], row["reach_bonds"], row["frontier"]
            (0, 100, 1, ((1,),))
        """
        node = self.nodes is not None
        several = node or bool(self.targets.any())
        return [
            _row(one, ({"target": one.target} if several else {}) | ({"node": one.node} if node else {}))
            for one in self
        ]

    def to_frame(self) -> pd.DataFrame:
        """The `rows` as a pandas DataFrame."""
        return as_frame(self.rows())

    def _rows_by_capacity(self) -> dict[Limits, list[int]]:
        rows: dict[Limits, list[int]] = {}
        for row, limits in enumerate(self.capacity):
            rows.setdefault(limits, []).append(row)
        return rows


def _row(certificate: Certificate, target: Mapping[str, object]) -> dict[str, object]:
    radii, votes = certificate.frontier.radii, certificate.bounds.votes
    counted = {} if votes is None else {f"votes_{label}": int(n) for label, n in enumerate(votes.counts[0])}
    reaches = map(max, zip(*radii, strict=True)) if radii else [None] * len(certificate.noise.axes)
    return {
        "graph": certificate.object,
        **target,
        "class": certificate.label,
        "abstained": certificate.abstained,
        "p_lower": certificate.p_lower,
        **counted,
        "margin": certificate.margin_kind,
        **{f"reach_{axis}": reach for axis, reach in zip(certificate.noise.axes, reaches, strict=True)},
        "frontier": radii,
        "anchored": certificate.anchored,
    }


def _shown(certificate: Certificate) -> dict[str, object]:
    """What a notebook shows of a certificate, in a few columns."""
    radii = certificate.frontier.radii
    named = ", ".join(str(radius[0] if len(radius) == 1 else radius) for radius in radii[:MOST_NAMED])
    more = f" … and {len(radii) - MOST_NAMED:,} more" if len(radii) > MOST_NAMED else ""
    return {
        "class": "abstains" if certificate.abstained else certificate.label,
        "p_lower": at_least(certificate.p_lower, decimals=6),
        f"certified ({', '.join(certificate.noise.axes)})": named + more or "none",
        **({} if certificate.verdicts is None else {"broken": ", ".join(map(str, certificate.broken)) or "–"}),
    }


@staged("certifying")
def certify(
    bounds: Bounds,
    noise: Noise,
    *,
    max_radius: RadiusLike | None = None,
    capacity: Sequence[RadiusLike | None] | None = None,
    anchored: Sequence[str] | None = None,
    boxes: Sequence[RadiusLike | None] | None = None,
    nodes: TargetNodes | None = None,
    word: str = "graph",
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
        word: what is attacked is called, in what certificates say: a graph, a row, or an object.
        classes: what labels call the classes, in the order of their numbers; None: by their numbers alone.

    Example:
        >>> from starcert.math.confidence import Votes, clopper_pearson
        >>> bounds = clopper_pearson(Votes([[99_950, 50]], selection=[[995, 5]]), alpha=0.01)
        >>> certify(bounds, Noise(motif=0.02, random=0.45), max_radius=(35, 45))[0].frontier.radii
        ((1, 45),)
    """
    if not isinstance(bounds, Bounds):
        raise InvalidParameterError("bounds", "be Bounds", type(bounds).__name__, "Call clopper_pearson(votes) first.")
    if not isinstance(noise, Noise):
        raise InvalidParameterError("noise", "be a Noise", noise, "Write for instance Noise(motif=0.02, random=0.45).")
    if classes is not None and len(set(classes)) != bounds.n_classes:
        raise InvalidParameterError("classes", f"be {bounds.n_classes}, each once", classes)
    for name, given in (("capacity", capacity), ("anchored", anchored), ("boxes", boxes), ("nodes", nodes)):
        if given is not None and len(given) != len(bounds):
            raise InvalidParameterError(name, f"have one entry for each of {len(bounds)} rows", len(given))
    limits = None if max_radius is None else noise.radius(max_radius, "max_radius")
    known, searched = (
        [
            None if each is None else noise.capacity(each, name)
            for each in ([None] * len(bounds) if given is None else given)
        ]
        for name, given in (("capacity", capacity), ("boxes", boxes))
    )
    reasons = [""] * len(bounds) if anchored is None else anchored
    return Certificates(bounds, noise, limits, known, reasons, searched, nodes=nodes, word=word, classes=classes)
