"""The result of every method: one certificate for each row, and what they are worth together.

Methods differ in the proof alone, which says what is known about each row (`Proof.outcomes`); accuracies, counts,
structure gains, tables and frames follow from that.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeVar

from starcert.claims.certificate import Certificate
from starcert.claims.gains import StructureGain, structure_gain
from starcert.claims.intervals import IntervalProof, ValueInterval
from starcert.claims.outcomes import Labels, Mask, Outcomes, SizeCounts, known, share_of
from starcert.claims.proof import Asked, Proof, Rows, Whole
from starcert.claims.question import Question
from starcert.claims.sentences import cells_of, summary_of
from starcert.claims.tables import AccuracyTable
from starcert.claims.verdict import Limits, Verdicts
from starcert.claims.vote_proof import VoteProof
from starcert.math.confidence import Bounds
from starcert.math.frontier import Frontier
from starcert.math.votes import Audit, Votes
from starcert.objects import TargetNodes
from starcert.objects.kinds import Kind
from starcert.objects.noise import Noise, RadiusLike
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.markup import MAX_SHOWN, html_table
from starcert.system.output import as_frame, quantity

if TYPE_CHECKING:
    import pandas as pd

    from starcert.claims.collective import CollectiveClaim

ProofT_co = TypeVar("ProofT_co", bound=Proof, default=Proof, covariant=True)


@dataclass(frozen=True, eq=False, repr=False)
class Certificates(Sequence[Certificate], Generic[ProofT_co]):
    """One certificate for each graph, or each target of a graph; each is computed when it is read.

    Example:
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 2), n_classes=2)
        >>> found = sc.ExactClassifier(base).certify([sc.Graph(4, [(0, 1), (1, 2)]), sc.Graph(4, [])], threat="flips:2")
        >>> found
        Certificates(2 graphs, plain model, every attack tried, alpha = 0, threat='flips:2')
        >>> found.labels, found.certified_sizes, found.proof.forward_passes, found.certified_accuracy([0, 0], 1)
        (array([0, 0]), array([0, 2]), 25, 0.5)
        >>> print(found)
        2 graphs, plain model, every attack tried, alpha = 0, threat='flips:2'
        answers: 2 of class 0
        any 1 flip: 1 certified, 1 broken, 0 open; any 2 flips: 1 certified, 1 broken, 0 open
    """

    about: Rows
    labels: Whole  # the answer of each row, a class number; also where a method abstains. Numbers have none
    threat: Threat | None  # that was asked about, listed or not
    proof: ProofT_co
    seconds: float = 0.0  # that it took, where that is known

    def __len__(self) -> int:
        return len(self.about)

    def __repr__(self) -> str:
        threat = "" if self.threat is None else f", threat={str(self.threat)!r}"
        return f"Certificates({quantity(len(self), self.word)}, {self.proof.method}{threat})"

    def __str__(self) -> str:
        return summary_of(self)

    def _repr_html_(self) -> str:
        rows = [{self.word: name, **cells_of(one)} for name, one in zip(self.names, self[:MAX_SHOWN], strict=False)]
        more = f", the first {MAX_SHOWN}" if len(self) > MAX_SHOWN else ""
        return html_table(rows, caption=f"{self!r}{more}")

    @overload
    def __getitem__(self, index: int) -> Certificate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Certificate]: ...
    def __getitem__(self, index: int | slice) -> Certificate | Sequence[Certificate]:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        return Certificate(self, range(len(self))[index])

    # What rows are about -------------------------------------------------------------------------------------------

    @property
    def word(self) -> str:
        """The word for a row."""
        return self.about.word

    @property
    def names(self) -> list[str]:
        """The name of each certificate: the number of its graph, and its node or its target's number, if any."""
        return self.about.names

    @property
    def objects(self) -> Whole:
        """For each certificate, the number of its graph."""
        return self.about.objects

    @property
    def targets(self) -> Whole:
        """For each certificate, the number of its target in its graph; 0 where graphs themselves are classified."""
        return self.about.targets

    @property
    def nodes(self) -> TargetNodes | None:
        """The node of each row, where the nodes of graphs are classified."""
        return self.about.nodes

    @property
    def kind(self) -> Kind:
        """The kind of the attacked objects."""
        return self.about.kind

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.about.n_classes

    @property
    def classes(self) -> Sequence[Hashable] | None:
        """The class labels, in the order of their numbers; None: the numbers themselves."""
        return self.about.classes

    @property
    def anchored(self) -> Sequence[str]:
        """Why what rows say is anchored; "" where it is not."""
        return self.about.anchored

    @property
    def numbered(self) -> Certificates[ProofT_co]:
        """The same certificates for labels that are class numbers, whatever the classes are called."""
        return self if self.classes is None else replace(self, about=replace(self.about, classes=None))

    # What is known -------------------------------------------------------------------------------------------------

    @property
    def alpha(self) -> float | None:
        """The probability that anything that one of them says is false, or that all that share it say."""
        return self.proof.alpha

    @property
    def together(self) -> int:
        """The number of rows that share alpha; 1: each has its own."""
        return self.proof.together

    @property
    def weighed(self) -> bool:
        """True if there are results beyond p_A: rows may be broken then."""
        return self.proof.weighed

    @cached_property
    def abstained(self) -> Mask:
        """For which rows not even the answer on the clean graph is certain enough to be given."""
        return self.proof.abstained(self)

    def outcomes(self, threat: Threat | str | None = None) -> Outcomes:
        """The outcome of each row under a threat; by default the threat of `certify`.

        Certificates by votes speak of any flips, a box, and the threat whose attacks were listed; by default, without
        a threat, of any flips: as many as evidence looked at, else two.
        """
        return self.proof.outcomes(self, None if threat is None else read_threat(threat))

    @cached_property
    def certified_sizes(self) -> Whole:
        """For each row the largest size of the threat up to which no attack changes the answer."""
        return np.array([one.certified or 0 for one in self.outcomes()], dtype=np.int64)

    @cached_property
    def broken_sizes(self) -> Whole:
        """For each row the size of the smallest attack that is known to change the answer; 0: none is."""
        return np.array([one.broken or 0 for one in self.outcomes()], dtype=np.int64)

    def by_axis(self, flips: int | None = None) -> dict[str, Outcomes]:
        """The outcome of each graph under flips on one axis alone, by default as far as anything is certified.

        Graphs without sites there have no such attack: counts leave them out (`SizeCounts.n_without`). Without votes
        there are no axes.

        Example:
            >>> import starcert as sc
            >>> noise, sizes = sc.Noise(ring=0.01, rest=0.2), [(0, 9), (3, 9)]
            >>> found = sc.certify(sc.Bounds.certain([0.9, 0.9]), noise, capacity=sizes).by_axis(1)
            >>> [(axis, count.n_certified, count.n_without) for axis in found for count in found[axis].counts()]
            [('ring', 0, 1), ('rest', 2, 0)]
        """
        return self.proof.by_axis(self, flips)

    def truth(self, labels: Labels) -> npt.NDArray[np.generic]:
        """The true class number of each row, None where it is not known: see `Rows.truth`."""
        return self.about.truth(labels)

    def right(self, labels: Labels) -> Mask:
        """Which rows are answered right: an answer is given, and it is the true class, which is known."""
        agrees: Mask = self.labels == np.array(self.truth(labels), dtype=object)
        return agrees & ~self.abstained

    def certified_accuracy(self, labels: Labels, at: Asked = None) -> float:
        """The share of graphs, or of nodes, that are answered right and certified under a threat, or at a radius.

        By default under the threat that was asked about. Without votes, a number of units is a smaller threat. Rows of
        a class that is not known are left out; NaN if none is known.
        """
        truth = self.truth(labels).tolist()
        if at is not None and not isinstance(at, Threat | str):
            if isinstance(self.proof, VoteProof):
                return share_of(self.certified(at) & self.right(labels), known(truth))
            outcomes = self.outcomes()
            size = whole_number("at", at, 0, outcomes.threat.most)
        else:
            outcomes = self.outcomes(at)
            size = outcomes.threat.most
        return share_of(outcomes.certified(size) & outcomes.right(truth), known(truth))

    def counts(self, labels: Labels | None = None, threat: Threat | str | None = None) -> list[SizeCounts]:
        """The rows in each state (given labels, of those of a known class) at some sizes of a threat, 1 first.

        Example:
            >>> import starcert as sc
            >>> found = sc.certify(sc.Bounds.certain([0.9, 0.7]), sc.Noise(all=0.2), capacity=[(9,), (9,)])
            >>> [(each.label, each.n_by_p_A, each.n_open) for each in found.counts([0, None])]
            [('any 1 flip', 1, 0), ('any 2 flips', 0, 1)]
        """
        return self.outcomes(threat).counts(None if labels is None else self.truth(labels).tolist())

    def structure_gain(self, labels: Labels, blind: Labels, **at: Any) -> StructureGain:  # noqa: ANN401  (as there)
        """The share right and certified, less the share that a blind model has right: see `gains.structure_gain`."""
        return structure_gain(self, labels, blind, **at)

    def accuracy_table(self, labels: Labels | None = None, **at: Any) -> AccuracyTable:  # noqa: ANN401  (as there)
        """The shares right and certified, with and without attack: see `accuracy_table.AccuracyTable.of`."""
        return AccuracyTable.of(self, labels, **at)

    def to_latex(self, labels: Labels | None = None, **at: Any) -> str:  # noqa: ANN401  (as in `accuracy_table`)
        """The `accuracy_table` for a paper: LaTeX, with the rules of the package booktabs."""
        return self.accuracy_table(labels, **at).to_latex()

    def rows(self, labels: Labels | None = None, **about: Any) -> list[dict[str, object]]:  # noqa: ANN401  (as there)
        """One row for each certificate, as in `results.csv`; of votes see `columns.result_rows`, which takes the same.

        Example:
            >>> import starcert as sc
            >>> bounds = sc.clopper_pearson(sc.Votes([[9_900, 100]], selection=[[98, 2]]))
            >>> (row,) = sc.certify(bounds, sc.Noise(bonds=0.1)).rows([0], names=["benzene"])
            >>> row["name"], row["class"], row["right"], row["votes_1"], row["reach_bonds"], row["frontier"]
            ('benzene', 0, True, 100, 1, ((1,),))
        """
        return self.proof.rows(self, labels, **about)

    def to_frame(self, labels: Labels | None = None, **about: Any) -> pd.DataFrame:  # noqa: ANN401  (as in `rows`)
        """The `rows` as a pandas DataFrame: the columns of `results.csv`, radii as tuples."""
        return as_frame(self.rows(labels, **about))

    # Of votes on noisy copies --------------------------------------------------------------------------------------

    @property
    def by_votes(self) -> VoteProof:
        """The votes as a proof; refused where a method draws none."""
        if isinstance(self.proof, VoteProof):
            return self.proof
        hint = "Radii, bounds and votes are those of SmoothedClassifier; outcomes() has what every method knows."
        raise InvalidParameterError("certificates", "come from votes", self, hint)

    @property
    def of_radii(self) -> bool:
        """True if they come from votes, so that they have radii."""
        return isinstance(self.proof, VoteProof)

    @property
    def bounds(self) -> Bounds:
        """The bounds on the class probabilities, one row each."""
        return self.by_votes.bounds

    @property
    def noise(self) -> Noise:
        """The noise that the votes were drawn with."""
        return self.by_votes.noise

    @property
    def max_radius(self) -> Limits:
        """The box of radii to look at; None: no end."""
        return self.by_votes.max_radius

    @property
    def capacity(self) -> Sequence[Limits]:
        """For each row, how many sites an attacker finds on each axis; None where that is not known."""
        return self.by_votes.capacity

    @property
    def verdicts(self) -> Sequence[Verdicts | None] | None:
        """The verdicts of evidence for each certificate; None without evidence."""
        return self.by_votes.verdicts

    @property
    def asked(self) -> Sequence[Question] | None:
        """The question about each object, where a threat lists its attacks."""
        return self.by_votes.asked

    @property
    def votes(self) -> Votes | None:
        """The votes that the certificates were made from; None if the bounds were given without votes."""
        return self.bounds.votes

    @property
    def audit(self) -> Audit | None:
        """The audit of copies that were classified again, to see that answers do not depend on the batch; or None."""
        return None if self.votes is None else self.votes.audit

    @property
    def listed_threat(self) -> Threat | None:
        """The threat whose attacks were listed; None where certificates are about radii."""
        return self.asked[0].threat if self.asked else None

    @property
    def counted(self) -> Threat | None:
        """The threat under which results are counted: see `VoteProof.counted`."""
        return self.by_votes.counted(self.threat)

    @property
    def by_p_A(self) -> Certificates[VoteProof]:  # noqa: N802  (the paper's p_A)
        """The same certificates by the bounds on the class probabilities alone, as the paper has them."""
        return self.proved_by(replace(self.by_votes, verdicts=None))

    def within(self, max_radius: RadiusLike) -> Certificates[VoteProof]:
        """The same certificates, looked at in a smaller box of radii: their frontiers end there."""
        return self.proved_by(self.by_votes.within(max_radius))

    def proved_by(self, proof: VoteProof) -> Certificates[VoteProof]:
        """The same certificates with another proof from votes."""
        return Certificates(self.about, proof.bounds.labels, self.threat, proof, self.seconds)

    def certified(self, radius: RadiusLike) -> Mask:
        """Which graphs are certified at `radius`, as an array; proved.

        Example:
            >>> import starcert as sc
            >>> noise = sc.Noise(motif=0.02, random=0.45)
            >>> sc.certify(sc.Bounds.certain([0.9, 0.9995]), noise, max_radius=(35, 45)).certified((1, 45))
            array([False,  True])
        """
        return self.by_votes.certified(self, radius)

    def frontiers(self) -> list[Frontier]:
        """The frontier of each graph: those of `[one.frontier for one in certificates]`, and sooner."""
        return self.by_votes.frontiers()

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
        if self.by_votes.collective is None:
            hint = "Certify with evidence=True, and without a fallback."
            raise InvalidParameterError("certificates", "have evidence, and no fallback", self, hint)
        return self.by_votes.collective.at_most_changed(read_threat(threat).for_noise(self.noise), k, alpha)

    # Of outputs that are numbers -----------------------------------------------------------------------------------

    @property
    def by_outputs(self) -> IntervalProof:
        """The outputs as a proof; refused where classes are answered."""
        if isinstance(self.proof, IntervalProof):
            return self.proof
        hint = "Intervals are those of SmoothedRegressor; outcomes() has what is known about classes."
        raise InvalidParameterError("certificates", "be of outputs that are numbers", self, hint)

    def intervals(
        self, threat: Threat | str | RadiusLike | None = None, *, above: float | None = None, alpha: float | None = None
    ) -> list[ValueInterval]:
        """The interval of each object or target: see `Certificate.interval`.

        Example:
            >>> import starcert as sc
            >>> outputs = sc.ValueRange(0, 1)
            >>> share = sc.classifiers.from_callable(lambda rows: rows.mean(axis=1), on="vectors", outputs=outputs)
            >>> smoothed = sc.SmoothedRegressor(share, sc.Noise(all=0.1))
            >>> found = smoothed.certify(sc.Bits.rows([[1, 1, 0, 1], [0, 0, 0, 0]]), samples=1000, seed=1)
            >>> [round(each.high, 2) for each in found.intervals("flips:1")]
            [0.93, 0.35]
        """
        return [each.interval(threat, above=above, alpha=alpha) for each in self]
