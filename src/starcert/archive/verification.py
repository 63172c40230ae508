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
7. where every attack was tried, sizes follow from the number of the first breaking attack and the counts of attacks.

Of more attacks than `checker.evidence.MAX_AGAIN`, `weigh` proves all, which rounds down; otherwise balls do. A claim
that says more than can be proved is false, and refutes the file. One that says less is true. Where noise has a law from
outside, nothing is proved: claims are stated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from starcert.archive.checker.cells import list_cells
from starcert.archive.checker.evidence import EvidenceCheck
from starcert.archive.checker.rows import Difference, FileProofs, RowProofs
from starcert.archive.claims import Answer, Broken, Interval, Reach, Size, Together, TriedRow
from starcert.archive.reading import laws_from_outside, read_top, top_of
from starcert.archive.record import Archive
from starcert.archive.untrusted import archive_errors, proof_errors
from starcert.system.output import progress_bar, quantity

if TYPE_CHECKING:
    from starcert.archive.checker.collective import CollectiveCheck
    from starcert.archive.exact_archive import ExactArchive
    from starcert.archive.intervals import IntervalArchive
    from starcert.claims.question import Question
    from starcert.objects import Sites
    from starcert.objects.binding import Problem
    from starcert.objects.noise import Noise

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

PROVERS: Mapping[type, str] = {
    Answer: "rows.RowProofs.answer",
    Reach: "rows.RowProofs.reach",
    Size: "rows.RowProofs.size",
    Broken: "rows.RowProofs.broken",
    Interval: "intervals.IntervalProofs.interval",
    Together: "collective.prove_together",
    TriedRow: "trials.TrialProofs.tried",
}
"""By the type of a claim what in `checker` yields all that is false of it; a file imports those of its claims alone."""


def prover_of(claim: type) -> Callable[[Any, Any], Iterator[Difference]]:
    """The prover of a type of claims: it takes the proofs of a row, and a claim about it."""
    module, *names = PROVERS[claim].split(".")
    found: Callable[[Any, Any], Iterator[Difference]] = reduce(
        getattr, names, import_module(f"starcert.archive.checker.{module}")
    )  # type: ignore[assignment]
    return found


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
    archive: Any = None  # what it holds: an `Archive`, `ExactArchive` or `IntervalArchive`; None: nothing was read
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
        if self.archive.kind != "exact":
            return "proved"
        return "consistent" if self.recounted is None else "recounted"

    @property
    def taken_as_stated(self) -> str:
        """The premises that no file can prove."""
        return TRIED_AS_STATED if self.archive.kind == "exact" else TAKEN_AS_STATED

    @property
    def premise(self) -> str:
        """The premise about the attacks of a threat that is taken as stated; "" where none are listed."""
        archive = self.archive
        if archive.kind == "exact":
            words = " That threat is not starcert's own: it is known by this text alone, and so are its counts."
            return words if archive.of_unknown_threat else ""
        asked = archive.result.proof.asked if archive.kind == "intervals" else archive.asked
        if asked is None:
            return ""
        number = quantity(sum(sum(each.counts) for each in asked), "attack")
        if archive.kind == "intervals":
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
    what = f"{quantity(len(found.archive.claims), 'interval')} for each of {rows}"
    if found.mismatches:
        return f"Of {what}, {quantity(len(found.mismatches), 'end')} cannot be proved.{found.premise}"
    how = f"from the outputs, their flips and the noise; attacks were weighed {found.weighed:,} times"
    return f"{what[0].upper()}{what[1:]} follow {how}.{found.premise}"


def _trials_say(found: Verification, rows: str) -> str:
    result = found.archive.result
    what = f"{rows} under {result.threat}"
    if found.mismatches:
        return f"Of {what}, {quantity(len(found.mismatches), 'claim')} cannot be true."
    if found.recounted is None:
        stated = f"{sum(result.proof.tried):,} answers are taken as stated"
        return f"The numbers of {what} fit together; {stated}.{found.premise}"
    again = f"{found.recounted:,} of {result.proof.forward_passes:,} answers were asked for again, and are the same"
    return f"{what[0].upper()}{what[1:]}: {again}."


_SAYS = {"certificates": _certificates_say, "intervals": _intervals_say, "exact": _trials_say}


def verify(
    path: str | PathLike[str], *, progress: bool | None = False, sites: Problem | Sequence[Sites] | None = None
) -> Verification:
    """Proves the claims in a file of certificates, of intervals or of tried attacks, from what else is in it.

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
    archive: Any = read_top(top, path, whole=True)
    with proof_errors(path):
        if archive.kind == "exact":
            return Verification(fspath(path), archive, tuple(_false_trials(archive)))
        if archive.kind == "intervals":
            return _intervals(fspath(path), archive, progress)
        anew = tuple[Mismatch, ...]()
        if sites is not None:
            from starcert.archive.listing import listed_otherwise  # noqa: PLC0415  (threats and objects)

            anew = tuple(listed_otherwise(archive, sites))
        return _certificates(fspath(path), archive, progress, anew, listed_anew=sites is not None)


def _mismatches(row: int, name: str, proofs: object, claims: Iterable[object]) -> Iterator[Mismatch]:
    """Yields the errors in the claims about a row."""
    for claim in claims:
        for difference in prover_of(type(claim))(proofs, claim):
            yield Mismatch(row, name, *difference)


def _certificates(
    path: str, archive: Archive, progress: bool | None, anew: tuple[Mismatch, ...], *, listed_anew: bool
) -> Verification:
    mismatches, checks, file, by_kernel = [*anew], list[EvidenceCheck | None](), FileProofs(archive), 0
    rows, joint = dict.fromkeys(zip(archive.votes.objects.tolist(), archive.boxes, strict=True)), archive.collective
    for questions in (archive.asked or (), [] if joint is None else joint.votes.asked):
        mismatches += _false_lists(archive, questions, archive.noise, rows)
    with progress_bar("graphs", len(archive), shown=progress) as advance:
        for row, name in enumerate(archive.names):
            proofs = RowProofs(file, row)
            mismatches += _mismatches(row, name, proofs, (archive.claims or ())[row])
            checks.append(None if proofs.evidence is None else proofs.check)
            by_kernel += 0 if proofs.evidence is None else proofs.evidence.by_kernel
            advance(1)
    listed, enclosed = list_cells(archive.noise, file.verdicts, progress)
    together, what = list["CollectiveCheck"](), f"all {len(archive)} answers"
    for claim in archive.together_claims:
        mismatches += _mismatches(0, what, (archive.collective, together), [Together(claim)])
    return Verification(
        path,
        archive,
        tuple(mismatches),
        listed=listed,
        enclosed=enclosed,
        evidence=tuple(checks),
        by_kernel=by_kernel,
        listed_anew=listed_anew and archive.asked is not None,
        collective=tuple(together),
    )


def _intervals(path: str, archive: IntervalArchive, progress: bool | None) -> Verification:
    from starcert.archive.checker.intervals import IntervalProofs  # noqa: PLC0415  (as its prover)

    result, proofs = archive.result, IntervalProofs(archive)
    mismatches = list(
        _false_lists(archive, result.proof.asked or (), result.proof.noise, enumerate(result.proof.capacities))
    )
    with progress_bar("intervals", len(archive), shown=progress) as advance:
        for row, name in enumerate(archive.names):
            claims = zip(archive.claims, archive.intervals[row], strict=True)
            mismatches += _mismatches(row, name, proofs, (Interval(row, claim, *ends) for claim, ends in claims))
            advance(1)
    return Verification(path, archive, tuple(mismatches), weighed=proofs.weighed)


def _false_lists(
    archive: Any,  # noqa: ANN401  (of certificates, or of intervals)
    asked: Sequence[Question],
    noise: Noise,
    objects: Iterable[tuple[int, Sequence[int] | None]],
) -> Iterator[Mismatch]:
    """Numbers of listed attacks that no object of this capacity has: of fewer there would be less to prove."""
    if not asked:
        return
    from starcert.archive.checker.trials import check_listed  # noqa: PLC0415  (threats list attacks on objects)

    rows = (archive.votes if archive.kind == "certificates" else archive.result).objects.tolist()
    for number, capacity in objects:
        counts = asked[number].counts
        if capacity is not None and (must := check_listed(asked[number].threat, counts, noise, capacity)):
            row = rows.index(number)
            yield Mismatch(row, archive.names[row], "listed", counts, must)


def _false_trials(archive: ExactArchive) -> Iterator[Mismatch]:
    from starcert.archive.checker.trials import TrialProofs  # noqa: PLC0415  (as its prover)

    proofs = TrialProofs(archive)
    for row, claim in enumerate(archive.claims):
        yield from _mismatches(archive.result[row].object, archive.names[row], proofs, [claim])
    for number, name in enumerate(archive.object_names):
        yield from (Mismatch(number, name, *each) for each in proofs.counts(number))
