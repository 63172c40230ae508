"""Are the claims in a file true? Each is proved from the premises in the file, and from nothing else in it.

`PROVERS` has a prover for each kind of claim, and `TAKEN_AS_STATED` names what no file can prove. Nothing is searched:

1. the class is the most frequent selection vote, or the one that a fallback chooses, and the margin is chosen on these
   votes, too; the bounds are computed afresh, and their binomial tails are proved twice, by `math.limits` and in
   `checker`;
2. a radius is proved in balls and, where its cells are few enough, once more in whole numbers, by listing them; what
   `beyond` leaves out of the box of capacity and max_radius is proved likewise;
3. with evidence, every level within a radius is proved by the counts, or attack by attack from the votes of the side
   file; λ, g and the ranks of attacks are chosen anew, from the votes before;
4. of a threat that lists its attacks, each size is proved from the list of the file: all smaller ones are, and each of
   its attacks lies on a level that the counts prove, or is weighed, or has votes of its own; lists are no shorter than
   the capacities of their objects allow;
5. of a collective claim, every listed attack is weighed against the answers of all targets;
6. an end of an interval is proved as it is stated;
7. where every attack was tried, sizes follow from the number of the first breaking attack and the counts of attacks;
8. of link votes, scores are added up and harms sorted again, and each attack that breaks is made.

Of more attacks than `checker.evidence.MAX_AGAIN`, `weigh` proves all, which rounds down; otherwise balls do. A claim
that says more than can be proved is false, and refutes the file. One that says less is true. Where noise has a law from
outside, nothing is proved: claims are stated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from starcert.archive.checker.evidence import EvidenceCheck
from starcert.archive.checker.rows import FileProofs
from starcert.archive.claims import Answer, Broken, Interval, LinkRow, Reach, Size, Together, TriedRow
from starcert.archive.files import laws_from_outside, read_top, top_of
from starcert.archive.record import CERTIFICATES, EXACT, INTERVALS, LINKS, Archive
from starcert.archive.untrusted import archive_errors, proof_errors
from starcert.system.output import progress_bar, quantity

if TYPE_CHECKING:
    from starcert.archive.checker.collective import CollectiveCheck
    from starcert.objects import Sites
    from starcert.objects.binding import Problem

Verdict: TypeAlias = Literal["proved", "refuted", "stated", "consistent", "recounted"]

TAKEN_AS_STATED = (
    "Taken as stated, because no file can prove it: the votes, where their flips fell and how they were drawn, that "
    "the selection votes are others than the estimation votes, that noise, alpha and the numbers of votes were fixed "
    "before anyone looked, and what the objects are: their names, their true classes, their regions, how many sites "
    "these have (capacity), whether they are anchored, that no attack is missing where a threat lists its attacks, and "
    "that blind answers are blind."
)
"""The kinds of proof of a file. Documentation and commands use these words."""

TRIED_AS_STATED = (
    "Taken as stated, because no file can prove it: the answers of the classifier, that it answers the same whenever "
    "it is asked, what the objects are and which of their sites can be attacked, and that a list has all attacks of "
    "its threat."
)
"""The same where every attack was tried."""

LINKS_AS_STATED = (
    "Taken as stated, because no file can prove it: that own scores and votes are those of the model and follow from "
    "nothing that an attack on links can change, that the links are those of the graph, and the true classes."
)
"""The same of link votes."""

PROVERS: Mapping[type, str] = {
    Answer: "answer",
    Reach: "reach",
    Size: "size",
    Broken: "broken",
    Interval: "interval",
    TriedRow: "tried",
    LinkRow: "linked",
}
"""By the type of a claim, the method of the proofs of its row that yields all that is false of it."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A false claim: it says more than can be proved."""

    graph: int  # the number of the graph
    name: str  # what its data calls it
    field: str  # the name of the claim in the file
    claimed: object  # what the file says
    proved: object  # what can be proved


@dataclass(frozen=True, slots=True)
class Rerun:
    """Which votes were drawn again with the model and the data of a run, chosen after the fact.

    Example:
        >>> Rerun(300, 1_000_000, 0, 7, 10_000).power
        '300 chunks find 1% of all chunks forged with 95%, one forged graph among 10,000 with 3%.'
    """

    chunks: int  # how many chunks
    of: int  # among how many
    tied: int  # in how many of them something differs only where two classes tie
    seed: int  # what chose them
    objects: int  # how many objects there are
    name: str = ""  # the row that they were drawn from; "": from all

    @property
    def power(self) -> str:
        """With what probability forged votes are found by as many chunks."""
        if self.chunks == self.of:
            return "These are all."
        found, one = (round(100 * (1 - (1 - share) ** self.chunks)) for share in (0.01, 1 / self.objects))
        what = f"{quantity(self.chunks, 'chunk')} find 1% of all chunks forged with {found}%"
        return f"{what}." if self.name else f"{what}, one forged graph among {self.objects:,} with {one}%."

    def __str__(self) -> str:
        where = f" of {self.name}" if self.name else ""
        drawn = f"{self.chunks:,} of {quantity(self.of, 'chunk')}{where}, chosen by the seed {self.seed}, drawn again"
        ties = f" In {self.tied:,} of them, votes differ only where classes tie." if self.tied else ""
        return f"{drawn}.{ties} {self.power}"


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of checking the claims of a file.

    Example:
        >>> Verification("certificates.json", laws=("coin.py:Coin",)).verdict
        'stated'
    """

    path: str  # the file
    archive: Any = None  # the `Archive` that it holds; None: nothing was read
    mismatches: tuple[Mismatch, ...] = ()  # every false claim, row by row
    laws: tuple[str, ...] = ()  # laws that are not starcert's own: no claim is proved, and none refuted
    listed: int = 0  # how many radii were decided a second time, in whole numbers
    enclosed: int = 0  # how many have too many cells for that, so that the proof in balls stands alone
    evidence: tuple[EvidenceCheck | None, ...] = ()  # of each row what was proved from its evidence, if it has any
    by_kernel: int = 0  # of these how many attacks were proved by `weigh`, as there are too many for balls
    listed_anew: bool = False  # whether the attacks of a threat were compared with those that it lists on the objects
    collective: tuple[CollectiveCheck, ...] = ()  # what was found about each collective claim
    weighed: int = 0  # of intervals, how many times an attack was weighed
    recounted: int | None = None  # of tried attacks, how many answers were asked for again; None: there was no model
    rerun: Rerun | None = None  # which chunks of votes were drawn again; None: none were

    @property
    def refuted(self) -> tuple[Mismatch, ...]:
        """The false claims."""
        return self.mismatches

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole file: "refuted" if any claim is false."""
        if self.laws:
            return "stated"
        if self.mismatches:
            return "refuted"
        if self.archive.kind != EXACT:
            return "proved"
        return "consistent" if self.recounted is None else "recounted"

    @property
    def taken_as_stated(self) -> str:
        """The premises that no file can prove."""
        return {EXACT: TRIED_AS_STATED, LINKS: LINKS_AS_STATED}.get(self.archive.kind, TAKEN_AS_STATED)

    @property
    def premise(self) -> str:
        """The premise about the attacks of a threat that is taken as stated; "" where none are listed."""
        archive = self.archive
        if archive.kind == EXACT:
            words = " That threat is not starcert's own: it is known by this text alone, and so are its counts."
            return words if _is_stated(archive.certificates.threat) else ""
        if (asked := archive.asked) is None:
            return ""
        number = quantity(sum(sum(each.counts) for each in asked), "attack")
        if archive.kind == INTERVALS:
            about = f"about the {number} listed: that none is missing is taken as stated"
            return f" Under {asked[0].threat} they are {about}."
        found = "listed anew, they are the same" if self.listed_anew else "that none is missing is taken as stated"
        return f"What is certified under {archive.threat} is about the {number} listed: {found}."

    def __str__(self) -> str:
        if self.laws:
            by, are = " and ".join(f"the law {name}" for name in self.laws), "is" if len(self.laws) == 1 else "are"
            nothing = "No claim in this file is proved, and nothing is imported to look at it."
            return f"{self.path}: stated by {by}, which {are} not starcert's own. {nothing}"
        rows = quantity(len(self.archive), self.archive.word)
        found = _SAYS[self.archive.kind](self, rows)
        again = "" if self.rerun is None else f" {self.rerun}"
        return f"{self.path}: {self.verdict}. {found}".rstrip() + again


def _is_stated(threat: object) -> bool:
    from starcert.archive.threat_texts import StatedThreat  # noqa: PLC0415  (threats list attacks on objects)

    return isinstance(threat, StatedThreat)


def _certificates_say(found: Verification, rows: str) -> str:
    if false := len(found.mismatches):
        return f"Of {rows}, {quantity(false, 'claim')} {'is' if false == 1 else 'are'} false. {found.premise}"
    text = [f"Every claim about {rows} follows from the votes and the noise."]
    if checks := [each for each in found.evidence if each is not None]:
        every = sum(checks, EvidenceCheck())
        text.append(
            f"By evidence {every.levels:,} {'sizes' if found.archive.asked else 'levels'} are certified and "
            f"{every.broken:,} broken: from the flips of the votes, {every.attacks:,} attacks were proved in balls."
        )
        if found.by_kernel:
            text.append(f"Where a level has too many for balls, {found.by_kernel:,} attacks were proved by `weigh`.")
    text.append(found.premise)
    for claim, check in zip(found.archive.together_claims, found.collective, strict=True):
        text.append(f"{claim} Proved: {quantity(check.attacks, 'attack')} and the clean graphs were weighed together.")
    return " ".join(filter(None, text))


def _intervals_say(found: Verification, rows: str) -> str:
    what = f"{quantity(len(found.archive.claims[0]), 'interval')} for each of {rows}"
    if found.mismatches:
        return f"Of {what}, {quantity(len(found.mismatches), 'end')} cannot be proved.{found.premise}"
    how = f"from the outputs, their flips and the noise; attacks were weighed {found.weighed:,} times"
    return f"{what[0].upper()}{what[1:]} follow {how}.{found.premise}"


def _trials_say(found: Verification, rows: str) -> str:
    result = found.archive.certificates
    what = f"{rows} under {result.threat}"
    if found.mismatches:
        return f"Of {what}, {quantity(len(found.mismatches), 'claim')} cannot be true."
    if found.recounted is None:
        stated = f"{sum(result.proof.tried):,} answers are taken as stated"
        return f"The numbers of {what} fit together; {stated}.{found.premise}"
    again = f"{found.recounted:,} of {result.proof.forward_passes:,} answers were asked for again, and are the same"
    return f"{what[0].upper()}{what[1:]}: {again}."


def _links_say(found: Verification, rows: str) -> str:
    what = f"{rows} under {found.archive.certificates.threat}"
    if found.mismatches:
        return f"Of {what}, {quantity(len(found.mismatches), 'claim')} cannot be proved."
    return f"Every claim about {what} follows from scores, votes and links: each was computed again, by sorting."


_SAYS = {"certificates": _certificates_say, "intervals": _intervals_say, "exact": _trials_say, "links": _links_say}


def verify(
    path: str | PathLike[str], *, progress: bool | None = False, sites: Problem | Sequence[Sites] | None = None
) -> Verification:
    """Proves the claims in a file of certificates, intervals or tried attacks from the other data in it.

    Of claims that rest on a law from outside nothing is proved: the verdict is "stated".

    Args:
        path: a file that `write` has written, or that claims to be one.
        progress: whether to draw a progress bar; None: on a terminal only.
        sites: those of the objects, or their problem: a threat lists its attacks on them anew, to see that the file
            has the same ones. Without them, that no attack is missing is taken as stated.
    """
    with archive_errors(path):
        top = top_of(path)
        if laws := laws_from_outside(top):
            return Verification(fspath(path), laws=laws)
    archive = read_top(top, path, whole=True)
    with proof_errors(path):
        mismatches = list[Mismatch]()
        if sites is not None and archive.kind == CERTIFICATES:
            from starcert.archive.threat_texts import listed_otherwise  # noqa: PLC0415  (threats and objects)

            mismatches += listed_otherwise(archive, sites)
        mismatches += _false_lists(archive)
        false, found = _claims_of_rows(archive, progress)
        together, what = list["CollectiveCheck"](), f"all {len(archive)} answers"
        if archive.collective is not None:
            from starcert.archive.checker.collective import prove_together  # noqa: PLC0415  (where it is claimed)

            for claim in map(Together, archive.collective.claims):
                differences = prove_together((archive.collective, together), claim)
                false += (Mismatch(0, what, *each) for each in differences)
        anew = sites is not None and archive.asked is not None and archive.kind == CERTIFICATES
        everything = (*mismatches, *false)
        return Verification(
            fspath(path), archive, everything, **found, listed_anew=anew, collective=tuple(together)
        )  # fmt: skip


def _claims_of_rows(archive: Archive, progress: bool | None) -> tuple[list[Mismatch], dict[str, Any]]:
    """The false claims, row by row, and what `Verification` says about the proofs of a kind."""
    if archive.kind == EXACT:
        from starcert.archive.checker.trials import TrialProofs  # noqa: PLC0415  (each kind where it is proved)

        proofs: Any = TrialProofs(archive)
    elif archive.kind == LINKS:
        from starcert.archive.checker.links import LinkProofs  # noqa: PLC0415  (as above)

        proofs = LinkProofs(archive)
    elif archive.kind == INTERVALS:
        from starcert.archive.checker.intervals import IntervalProofs  # noqa: PLC0415  (as above)

        proofs = IntervalProofs(archive)
    else:
        proofs = FileProofs(archive)
    mismatches = list[Mismatch]()
    with progress_bar(f"{archive.word}s", len(archive), shown=progress) as advance:
        for row, name in enumerate(archive.names):
            of_row = proofs.of_row(row)
            number = row if archive.kind != EXACT else archive.certificates[row].object
            for claim in archive.claims[row]:
                mismatches += (Mismatch(number, name, *each) for each in getattr(of_row, PROVERS[type(claim)])(claim))
            advance(1)
    mismatches += (Mismatch(*each) for each in proofs.of_objects())
    return mismatches, proofs.found(progress)


def _false_lists(archive: Archive) -> Iterator[Mismatch]:
    """Numbers of listed attacks that no object of this capacity has: of fewer there would be less to prove."""
    joint = () if archive.collective is None else archive.collective.votes.asked
    if not archive.asked and not joint:
        return
    from starcert.archive.checker.trials import check_listed  # noqa: PLC0415  (threats list attacks on objects)

    rows = archive.votes.objects.tolist()
    capacities: Iterable[tuple[int, Sequence[int] | None]] = dict.fromkeys(zip(rows, archive.boxes, strict=False))
    if archive.kind == INTERVALS:
        capacities = list(enumerate(archive.certificates.proof.capacities))
    for asked in filter(None, (archive.asked, joint)):
        for number, capacity in capacities:
            counts = asked[number].counts
            must = "" if capacity is None else check_listed(asked[number].threat, counts, archive.noise, capacity)
            if must:
                row = rows.index(number)
                yield Mismatch(row, archive.names[row], "listed", counts, must)
