"""The archive: what certificates are made from, and what they are about.

An archive holds no verdicts: its certificates are made from the votes and the noise on request.

How many sites a graph has, its *capacity*, decides what more flips than that mean: nothing further, if it is known. The
archive of a result knows it. An archive read from a file does not: the file states a *box*, how far the frontier was
searched, and no certificate rests on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert.archive.checker.limits import LIMITS
from starcert.archive.claims import MAX_VOTES, Claim
from starcert.archive.evidence_file import GraphEvidence
from starcert.archive.kept import Kept, plain_settings
from starcert.archive.listed_attacks import AttackIndex, question_to_json
from starcert.math.attacked_sites import AttackList
from starcert.math.confidence import ANYTIME, CLOPPER_PEARSON, Bounds, anytime_bounds, bounds_of, check_alpha
from starcert.math.frontier import Radius
from starcert.math.limits import counts_alpha
from starcert.math.votes import Votes
from starcert.objects.noise import Noise
from starcert.system.errors import InvalidParameterError
from starcert.system.output import as_frame

if TYPE_CHECKING:
    import pandas as pd

    from starcert.archive.collective_votes import KeptClaims
    from starcert.claims.certificates import Certificates
    from starcert.claims.collective import CollectiveClaim
    from starcert.claims.question import Question
    from starcert.claims.vote_proof import VoteProof


@dataclass(frozen=True, eq=False, kw_only=True)
class Archive(Kept):
    """Votes, noise and alpha of certified graphs, with what a reader wants to know about them.

    Example:
        >>> from starcert.claims.from_bounds import certify
        >>> from starcert.math.confidence import clopper_pearson
        >>> votes = Votes([[9_900, 100]], selection=[[98, 2]])
        >>> result = certify(clopper_pearson(votes), Noise(bonds=0.1), max_radius=5)
        >>> archive = Archive.from_result(result, names=["benzene"], labels=[0])
        >>> archive.names, archive.class_names, archive.certificates[0].frontier.radii
        (('benzene',), ('0', '1'), ((1,),))
    """

    noise: Noise  # that the votes were drawn with
    votes: Votes  # estimation votes, and selection votes if there were any; no proof rests on their audit
    alpha: float  # the failure probability of each certificate, or of `together` certificates, evidence included
    max_radius: tuple[int, ...] | None  # the box of requested radii, in the order of `noise.axes`; None: no end
    capacities: tuple[tuple[int, ...] | None, ...]  # how many sites an attacker finds on each axis; None: not known
    anchored: tuple[str, ...]  # why the regions of each graph are anchored, "" if they are not
    boxes: tuple[tuple[int, ...] | None, ...] = ()  # how far frontiers are searched, within capacities; None: no end
    together: int = 1  # how many certificates alpha is the joint failure probability of; 1: of each by itself
    # What the verdicts of each graph are proved from; None as a whole: no evidence, and bounds have all of alpha.
    evidence: tuple[GraphEvidence | None, ...] | None = None
    bound: str = ""  # what made bounds of the votes, "clopper-pearson" or "anytime"; by default as they came about
    asked: tuple[Question, ...] | None = None  # what a threat that lists its attacks asks about each object
    collective: KeptClaims | None = None  # how many answers change together, with the votes of all targets
    claims: tuple[tuple[Claim, ...], ...] = field(default=(), compare=False)  # about each row, as a file states them

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Noise):
            raise InvalidParameterError("noise", "be a Noise", self.noise)
        if not isinstance(self.votes, Votes):
            raise InvalidParameterError("votes", "be Votes", type(self.votes).__name__)
        n_graphs, n_classes = self.votes.counts.shape
        if self.boxes == ():
            object.__setattr__(self, "boxes", (None,) * n_graphs)
        for name in ("capacities", "boxes", "anchored", "names", "labels", "nodes", "evidence"):
            if (given := getattr(self, name)) is not None and len(given) != n_graphs:
                raise InvalidParameterError(name, f"have one entry for each of {n_graphs} graphs", len(given))
        if len(self.class_names) != n_classes:
            raise InvalidParameterError("class_names", f"name each of {n_classes} classes", list(self.class_names))
        if (largest := int(self.votes.counts.sum(axis=1).max(initial=0))) > MAX_VOTES:
            raise InvalidParameterError("votes", f"be at most {MAX_VOTES:,} a graph", largest)
        if self.together != 1 and not (isinstance(self.together, int) and self.together >= n_graphs):
            raise InvalidParameterError("together", f"be 1, or no fewer than {n_graphs} graphs", self.together)
        capacities, boxes = (
            [None if each is None else self.noise.capacity(each, f"{name}[{i}]") for i, each in enumerate(given)]
            for name, given in (("capacities", self.capacities), ("boxes", self.boxes))
        )
        checked: dict[str, object] = {
            "bound": _bound(self.bound or (CLOPPER_PEARSON if self.votes.history == "fixed" else ANYTIME)),
            "alpha": check_alpha(self.alpha),
            "max_radius": None if self.max_radius is None else self.noise.radius(self.max_radius, "max_radius"),
            "capacities": tuple(capacities),
            "boxes": tuple(map(_intersection, capacities, boxes)),
            # Where nothing is chosen it makes no difference: one word for one thing.
            "labels": tuple(_label(each, f"labels[{i}]", n_classes) for i, each in enumerate(self.labels)),
            "settings": plain_settings(self.settings),
            "provenance": {_text(k, "provenance"): _text(v, "provenance") for k, v in self.provenance.items()},
        }
        for name in ("anchored", "names", "class_names"):
            checked[name] = tuple(_text(each, f"{name}[{i}]") for i, each in enumerate(getattr(self, name)))
        vars(self).update(checked)
        if self.votes.blind is not None and self.collective is not None:
            raise InvalidParameterError("votes", "have no fallback beside collective claims", "a fallback")
        for i, graph in enumerate(self.evidence or ()):
            if graph is not None:
                self._check_evidence(i, graph)
        self._check_asked()

    def _check_evidence(self, row: int, graph: GraphEvidence) -> None:
        name, selection = f"evidence[{row}]", self.votes.selection
        if selection is None:
            raise InvalidParameterError(name, "needs selection votes.")
        graph.check(name, [int(self.votes.labels[row])], self.votes.counts[[row]], self.noise)
        if self.boxes[row] != graph.sizes:
            raise InvalidParameterError(f"boxes[{row}]", f"be the sizes of its axes, {graph.sizes}", self.boxes[row])

    def _check_asked(self) -> None:
        """Refuses questions that are not about all objects, and lists of attacks that are not theirs."""
        objects, lists = self.votes.objects.tolist(), dict[int, AttackList | None]()
        if self.asked is not None and len(self.asked) != max(objects, default=-1) + 1:
            raise InvalidParameterError("asked", f"have one entry for each of {max(objects) + 1} objects", self.asked)
        for row, number in enumerate(objects):
            asked = None if self.asked is None else self.asked[number]
            limits = _intersection(self.boxes[row], self.max_radius)
            levels = set() if asked is None else set[Radius]().union(*asked.levels)
            if limits is not None and (beyond := [each for each in levels if any(map(int.__gt__, each, limits))]):
                raise InvalidParameterError(f"asked[{number}]", f"have levels within {limits}", beyond[0])
            graph = None if self.evidence is None else self.evidence[row]
            if graph is None or (number in lists and lists[number] is graph.attacks):
                continue
            if number in lists or (graph.attacks is None) is not (asked is None):
                must = "list attacks if a threat does, once for an object"
                raise InvalidParameterError(f"evidence[{row}]", must, graph.attacks)
            lists[number] = graph.attacks
            if asked is not None and graph.attacks is not None:
                AttackIndex(graph.axes(self.noise)).check(graph.attacks, asked, f"evidence[{row}]")

    @classmethod
    def from_result(
        cls,
        certificates: Certificates,
        *,
        names: Sequence[str] | None = None,
        labels: npt.ArrayLike | Sequence[int | None] | None = None,
        class_names: Sequence[str] | None = None,
        settings: Mapping[str, object] | None = None,
        claims: Sequence[CollectiveClaim] | None = None,
    ) -> Archive:
        """The archive of certificates that were made from votes, for instance by `SmoothedClassifier.certify`.

        Args:
            certificates: the result to keep.
            names: what the graphs are called; by default their numbers (with the names of their nodes, or the numbers
                of their targets).
            labels: the true classes, None where one is not known; see `Certificates.truth`.
            class_names: what the classes are called; by default as the classifier calls them, or their numbers.
            settings: how the run was made, as JSON values.
            claims: what `at_most_changed` returned. By default there are none; or, of a result that was read from a
                file which has some, the one about its whole threat.
        """
        from starcert.archive.results import archive_of  # noqa: PLC0415  (what certifies; a proof needs none of it)

        about: dict[str, Any] = {"names": names, "labels": labels, "class_names": class_names, "settings": settings}
        return archive_of(certificates, claims=claims, **about)

    def confirmed(self) -> Archive:
        """The same archive, after its boxes were compared with the sites of its graphs: they are capacities."""
        if self.capacities == self.boxes:
            return self
        found = replace(self, capacities=self.boxes)
        if (verdicts := self.certificates.verdicts) is not None:  # they rest on the sizes of axes already
            vars(found)["certificates"] = found.by_counts.proved_by(replace(found.by_counts.proof, verdicts=verdicts))
        return found

    @cached_property
    def certificates(self) -> Certificates[VoteProof]:
        """The certificates of the graphs, made afresh from votes and noise: never read from a file."""
        from starcert.archive.results import certificates_of  # noqa: PLC0415  (as above)

        return certificates_of(self)

    @property
    def by_counts(self) -> Certificates[VoteProof]:
        """The certificates by the counts of votes alone."""
        from starcert.archive.results import by_counts  # noqa: PLC0415  (as above)

        return by_counts(self)

    @property
    def threat(self) -> str:
        """The text of the threat that was asked about, if it lists its attacks; "" if radii were looked at."""
        if self.asked is None:
            return ""
        from starcert.archive.threat_texts import text_of  # noqa: PLC0415  (threats list attacks on objects)

        return text_of(self.asked[0].threat)

    @property
    def counts_alpha(self) -> float:
        """The part of alpha that the bounds on class probabilities have."""
        return counts_alpha(self.alpha, evidence=self.evidence is not None)

    @property
    def bounds(self) -> Bounds:
        """The bounds on the class probabilities."""
        if self.bound == ANYTIME:
            return anytime_bounds(self.votes, alpha=self.counts_alpha, family_size=self.together)
        return bounds_of(self.votes, alpha=self.counts_alpha, family_size=self.together)

    def rows(self, base: Sequence[int] | None = None) -> list[dict[str, object]]:
        """One row a graph, for a CSV file: radii are JSON text, what is not known is None; see `result_rows`.

        Args:
            base: the base classifier's answer for each row, a class number: the one column that a file does not know.
        """
        from starcert.claims.tables import as_csv_rows  # noqa: PLC0415  (as above)

        return list(as_csv_rows(self._rows(base)))

    def to_frame(self, base: Sequence[int] | None = None) -> pd.DataFrame:
        """The rows as a pandas DataFrame, radii as tuples."""
        return as_frame(self._rows(base))

    def _rows(self, base: Sequence[int] | None) -> list[dict[str, object]]:
        from starcert.archive.blind_row import BlindRow  # noqa: PLC0415  (as above)

        blind = BlindRow.of(self)
        guesses = None if blind is None or blind.missing else blind.answers
        rows = self.certificates.rows(self.labels, class_names=self.class_names, base=base, blind=guesses)
        return [row | {"name": name} for row, name in zip(rows, self.names, strict=True)]

    @property
    def together_claims(self) -> tuple[CollectiveClaim, ...]:
        """The claims about all answers at once."""
        return () if self.collective is None else self.collective.claims

    def __eq__(self, other: object) -> bool:
        """True if both would be written to the same file, which holds boxes and no capacities."""
        return isinstance(other, Archive) and self._content() == other._content()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Archive({len(self)} {self.word}s, {len(self.class_names)} classes, {self.noise!r}, alpha={self.alpha})"

    def _content(self) -> tuple[object, ...]:
        selection = None if self.votes.selection is None else self.votes.selection.tolist()
        others = ("votes", "capacities", "asked", "collective", "claims")
        together = None if self.collective is None else self.collective.content(self.noise)
        plain = (getattr(self, name) for name in self.__dataclass_fields__ if name not in others)
        keys = self.votes.objects.tolist(), self.votes.targets.tolist()
        asked = [self.threat, *map(question_to_json, self.asked or ())]
        history, blind = self.votes.history == "fixed", str(self.votes.blind)
        drawn = None if self.votes.chunks is None else self.votes.chunks.content
        about = history, drawn, self.votes.audit, blind
        return self.votes.counts.tolist(), selection, *about, *keys, asked, together, *plain


def states_margins(votes: Votes) -> bool:
    """True if a file states how margins were chosen: with more than two classes, and selection votes.

    Version 0.1.0 took the multi-class margin there, and said nothing: its files are refused. With a fallback none is
    chosen.
    """
    return votes.selection is not None and votes.counts.shape[1] > 2 and votes.blind is None


def _intersection(capacity: tuple[int, ...] | None, box: tuple[int, ...] | None) -> tuple[int, ...] | None:
    if capacity is None or box is None:
        return capacity or box
    return tuple(map(min, capacity, box))


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidParameterError(name, "be text", value)
    return str(value)


def _bound(name: str) -> str:
    if name not in LIMITS:
        raise InvalidParameterError("bound", f"be one of {', '.join(LIMITS)}", name)
    return name


def _label(value: object, name: str, n_classes: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < n_classes:
        hint = "Give None where the true class is not known."
        raise InvalidParameterError(name, f"be a class from 0 to {n_classes - 1}", value, hint)
    return int(value)
