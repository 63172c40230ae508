"""The archive: what claims are made from, and what they are about.

An archive of votes holds no verdicts: its certificates are made from the votes and the noise on request. How many sites
a graph has, its *capacity*, decides what more flips than that mean: nothing further, if it is known. The archive of a
result knows it. An archive read from a file does not: the file states a *box*, how far the frontier was searched, and
no certificate rests on it.

Where every attack was tried, and of intervals, the archive has the result itself, as a file states it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert.archive.evidence_file import GraphEvidence
from starcert.archive.format import MAX_VOTES
from starcert.archive.listed_attacks import AttackIndex
from starcert.math.attacked_sites import AttackList
from starcert.math.confidence import ANYTIME, CLOPPER_PEARSON, Bounds, anytime_bounds, bounds_of
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
    from starcert.claims.intervals import Claim as OutputClaim
    from starcert.claims.question import Question
    from starcert.claims.vote_proof import VoteProof

BLIND = "blind"  # the setting that keeps a `BlindRow`
CERTIFICATES, EXACT, INTERVALS, LINKS = "certificates", "exact", "intervals", "links"  # the kinds of archives


@dataclass(frozen=True, eq=False, kw_only=True)
class Archive:
    """The data that claims are proved from, the claims, and what describes the rows: names, classes and the like.

    Example:
        >>> from starcert.claims.from_bounds import certify
        >>> from starcert.math.confidence import clopper_pearson
        >>> votes = Votes([[9_900, 100]], selection=[[98, 2]])
        >>> result = certify(clopper_pearson(votes), Noise(bonds=0.1), max_radius=5)
        >>> archive = Archive.from_result(result, names=["benzene"], labels=[0])
        >>> archive.names, archive.class_names, archive.certificates[0].frontier.radii
        (('benzene',), ('0', '1'), ((1,),))
    """

    names: tuple[str, ...]  # what the data calls each row: an object, or a target
    labels: tuple[Any, ...]  # the true class of each row, or its true number; None: not known
    anchored: tuple[str, ...]  # why the regions of each row are anchored, "" if they are not
    settings: Mapping[str, object]  # how the run was made (model, data, regions, samples, seed, …), as JSON values
    provenance: Mapping[str, str]  # the versions that made it
    class_names: tuple[str, ...] = ()
    nodes: tuple[int, ...] | None = None  # the index of the node of each row, where nodes are classified
    kind: str = CERTIFICATES  # or "exact", where every attack was tried, "intervals", or "links"
    claims: tuple[tuple[Any, ...], ...] = ()  # about each row, as a file states them: types of `archive.claims`
    result: Certificates[Any] | None = None  # of tried attacks, and of outputs that are numbers
    # The premises of claims that follow from votes; where every attack was tried, there are none.
    noise: Noise = field(default=None)  # type: ignore[assignment]  # that the votes were drawn with
    votes: Votes = field(default=None)  # type: ignore[assignment]  # no proof rests on their audit
    alpha: float = 0.0  # the failure probability of each certificate, or of `together` certificates, evidence included
    together: int = 1  # how many certificates alpha is the joint failure probability of; 1: of each by itself
    asked: tuple[Question, ...] | None = None  # what a threat that lists its attacks asks about each object
    max_radius: tuple[int, ...] | None = None  # the box of requested radii, in the order of `noise.axes`; None: no end
    capacities: tuple[tuple[int, ...] | None, ...] = ()  # how many sites an attacker finds on each axis; None: unknown
    boxes: tuple[tuple[int, ...] | None, ...] = ()  # how far frontiers are searched, within capacities; None: no end
    # What the verdicts of each graph are proved from; None as a whole: no evidence, and bounds have all of alpha.
    evidence: tuple[GraphEvidence | None, ...] | None = None
    bound: str = ""  # what made bounds of the votes, "clopper-pearson" or "anytime"; by default as they came about
    collective: KeptClaims | None = None  # how many answers change together, with the votes of all targets

    def __post_init__(self) -> None:
        if self.kind != CERTIFICATES:
            return
        n_graphs, n_classes = self.votes.counts.shape
        boxes = self.boxes or (None,) * n_graphs
        for name in ("capacities", "anchored", "names", "labels", "nodes", "evidence"):
            if (given := getattr(self, name)) is not None and len(given) != n_graphs:
                raise InvalidParameterError(name, f"have one entry for each of {n_graphs} graphs", len(given))
        if len(self.class_names) != n_classes:
            raise InvalidParameterError("class_names", f"name each of {n_classes} classes", list(self.class_names))
        if (largest := int(self.votes.counts.sum(axis=1).max(initial=0))) > MAX_VOTES:
            raise InvalidParameterError("votes", f"be at most {MAX_VOTES:,} a graph", largest)
        vars(self).update(
            bound=self.bound or (CLOPPER_PEARSON if self.votes.history == "fixed" else ANYTIME),
            boxes=tuple(map(_intersection, self.capacities, boxes)),
            labels=tuple(_label(each, f"labels[{i}]", n_classes) for i, each in enumerate(self.labels)),
        )
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
        result: Certificates[Any],
        *,
        names: Sequence[str] | None = None,
        labels: npt.ArrayLike | Sequence[object] | None = None,
        class_names: Sequence[str] | None = None,
        settings: Mapping[str, object] | None = None,
        claims: Sequence[Any] | None = None,
    ) -> Archive:
        """The archive of what `certify` of a method returned: from votes, by trying every attack, or of numbers.

        Args:
            result: the result to keep.
            names: what the rows are called; by default their numbers (with the names of their nodes, or the numbers
                of their targets).
            labels: the true classes, or numbers, None where one is not known; see `Certificates.truth`.
            class_names: what the classes are called; by default as the classifier calls them, or their numbers.
            settings: how the run was made, as JSON values.
            claims: of classes, what `at_most_changed` returned. By default there are none; or, of a result that was
                read from a file which has some, the one about its whole threat. Of numbers, what to claim beside the
                intervals without attack and under the threat of `certify`: threats or radii, each with the number that
                outputs are above, or None for their mean.
        """
        from starcert.archive.results import archive_of  # noqa: PLC0415  (what certifies; a proof needs none of it)

        about: dict[str, Any] = {"names": names, "labels": labels, "class_names": class_names, "settings": settings}
        return archive_of(result, claims, about)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def word(self) -> str:
        """The word for a row: a graph, a node, or the word for objects in the settings."""
        of_nodes = self.nodes is not None or self.settings.get("targets") == "nodes"
        return "node" if of_nodes else str(self.settings.get("objects", "graphs")).removesuffix("s")

    @property
    def plain(self) -> bool:
        """True where nothing was sampled: there is no noise, and alpha is 0."""
        return self.kind in (EXACT, LINKS)

    @property
    def known(self) -> tuple[Any, ...] | None:
        """The true classes, or numbers, if any is known."""
        return self.labels if any(label is not None for label in self.labels) else None

    @property
    def truth(self) -> list[Any]:
        """Those that are known."""
        return [label for label in self.labels if label is not None]

    def confirmed(self) -> Archive:
        """The same archive, after its boxes were compared with the sites of its graphs: they are capacities."""
        if self.capacities == self.boxes:
            return self
        found = replace(self, capacities=self.boxes)
        if (verdicts := self.certificates.verdicts) is not None:  # they rest on the sizes of axes already
            vars(found)["certificates"] = found.by_counts.proved_by(replace(found.by_counts.proof, verdicts=verdicts))
        return found

    @cached_property
    def certificates(self) -> Certificates[Any]:
        """The certificates of the rows: of votes made afresh from these and the noise, never read from a file."""
        from starcert.archive.results import certificates_of  # noqa: PLC0415  (as above)

        return certificates_of(self) if self.result is None else self.result

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
        from starcert.archive.results import rows_of  # noqa: PLC0415  (as above)
        from starcert.claims.tables import as_csv_rows  # noqa: PLC0415  (as above)

        rows = rows_of(self, base)
        return list(as_csv_rows(rows)) if self.result is None else rows

    def to_frame(self, base: Sequence[int] | None = None) -> pd.DataFrame:
        """The rows as a pandas DataFrame, radii as tuples."""
        from starcert.archive.results import rows_of  # noqa: PLC0415  (as above)

        return as_frame(rows_of(self, base))

    def title(self, what: OutputClaim) -> str:
        """The subject of an interval, in a few words."""
        asked = (self.asked or ())[0].threat.label_of(what.size) if what.size else ""
        under = f"under {what.threat.label if what.threat else asked}" if what.threat or what.size else "without attack"
        return f"{'mean' if what.above is None else f'P(output > {what.above:g})'} {under}"

    @property
    def together_claims(self) -> tuple[CollectiveClaim, ...]:
        """The claims about all answers at once."""
        return () if self.collective is None else self.collective.claims

    def __eq__(self, other: object) -> bool:
        """True if both would be written to the same files, but for the claims, which follow from the rest."""
        from starcert.archive.files import contents  # noqa: PLC0415  (as above)

        return isinstance(other, Archive) and contents(self) == contents(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        about = self.certificates.proof.method if self.plain else f"{self.noise!r}, alpha={self.alpha}"
        return f"Archive({len(self)} {self.word}s, {len(self.class_names)} classes, {about})"


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


def _label(value: object, name: str, n_classes: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < n_classes:
        hint = "Give None where the true class is not known."
        raise InvalidParameterError(name, f"be a class from 0 to {n_classes - 1}", value, hint)
    return int(value)


def plain_settings(value: Mapping[str, object]) -> dict[str, object]:
    """A copy of what JSON can hold: tuples become lists."""
    try:
        plain = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        hint = "Texts, finite numbers, true, false, None, lists and mappings of these can be kept."
        raise InvalidParameterError("settings", "be plain values", str(error), hint) from None
    if not isinstance(plain, dict):
        raise InvalidParameterError("settings", "be a mapping", value)
    return plain


@dataclass(frozen=True)
class BlindRow:
    """The answers of a model that sees nothing an attack can change, or the reason that there is none (`missing`).

    Example:
        >>> BlindRow("logistic regression on counts of label", 0.9, learned_from=20, answers=(0, 1)).answers
        (0, 1)
    """

    model: str = ""  # what it is, and what it looks at
    cross_validated: float = math.nan  # the share of its training part that it had right in cross-validation
    learned_from: int = 0  # how many graphs, or nodes, it learned from
    answers: tuple[int, ...] = ()  # a class for each row
    missing: str = ""

    def to_json(self) -> dict[str, object]:
        """As `of` reads it."""
        if self.missing:
            return {"missing": self.missing}
        numbers = {"cross_validated": self.cross_validated, "learned_from": self.learned_from}
        return {"model": self.model, **numbers, "answers": list(self.answers)}

    @classmethod
    def of(cls, archive: Archive) -> BlindRow | None:
        """The blind row of an archive; None if it has none that can be read, because settings may hold anything."""
        kept = archive.settings.get(BLIND)
        if not isinstance(kept, Mapping):
            return None
        if isinstance(missing := kept.get("missing"), str):
            return cls(missing=missing)
        model, answers = kept.get("model"), kept.get("answers")
        numbers = kept.get("cross_validated"), kept.get("learned_from")
        if not isinstance(model, str) or not isinstance(answers, list) or len(answers) != len(archive.names):
            return None
        classes = range(len(archive.class_names))
        if any(type(each) is not int or each not in classes for each in answers):
            return None
        share, learned = numbers
        if not isinstance(share, int | float) or not isinstance(learned, int):
            return None
        return cls(model, float(share), learned, tuple(answers))
