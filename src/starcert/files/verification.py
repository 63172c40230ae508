"""Are the claims in a file true? They are proved again from its votes and its noise, and from nothing else in it.

`TAKEN_AS_STATED` names what no file can prove. Everything under "claims" follows from that, or not:

1. the class is the most frequent selection vote, or the one that a fallback chooses, and the margin is chosen on these
   votes, too; the bounds are computed afresh, and their binomial tails are proved twice, by `math.limits` and in
   `checker`;
2. the frontier is searched afresh in the box of capacity and max_radius, and each of its verdicts proved in balls;
   where the cells are few enough, `checker` proves each once more in whole numbers, by listing them;
3. what evidence certifies or breaks is judged afresh, with the votes of the side file, and `checker` proves every such
   verdict once more;
4. a claimed radius stands if it lies below a proved one, without the help of a capacity;
5. of a threat that lists its attacks, each size is proved from the list of the file: all smaller ones are, and each of
   its attacks lies on a level that the counts prove, or is weighed, or has votes of its own;
6. of a collective claim, every listed attack is weighed against the answers of all targets, by `checker` alone.

A claim that says more than can be proved is false, and refutes the file. One that says less is true. Where noise has a
law from outside, nothing is proved: claims are stated (`Stated`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, count, islice, starmap
from os import PathLike, fspath
from typing import Literal, NamedTuple

import numpy as np

from starcert.certificates.certificate import Certificate, lies_within
from starcert.certificates.evidence import evidence_of
from starcert.certificates.questions import Question
from starcert.files.checker.arithmetic import PROVERS
from starcert.files.checker.collective import CollectiveCheck
from starcert.files.checker.counts import CountBounds, CountVerdicts, Radii, list_cells
from starcert.files.checker.evidence import EvidenceCheck, EvidenceChecker
from starcert.files.claims import BrokenLevel, Claims
from starcert.files.collective_verification import check_collective, listed_otherwise, sentences
from starcert.files.frame import archive_errors, proof_errors
from starcert.files.reading import laws_from_outside, read_with_claims, top_of
from starcert.files.record import Archive
from starcert.files.untrusted import DisagreementError, MalformedError
from starcert.files.writing import FORMAT
from starcert.math.confidence import spends_on_all_classes
from starcert.math.evidence import FlipEvidence
from starcert.math.fallback import PLAIN, Contest
from starcert.math.frontier import Radius, levels_of
from starcert.math.limits import AlphaShares
from starcert.objects import Sites
from starcert.objects.binding import Problem
from starcert.system.errors import ArchiveError, InvalidParameterError
from starcert.system.output import progress_bar, quantity

TAKEN_AS_STATED = (
    "Taken as stated, because no file can prove it: the votes, where their flips fell and how they were drawn, that "
    "the selection votes are others than the estimation votes, that noise, alpha and the numbers of votes were fixed "
    "before anyone looked, and what the objects are: their names, their true classes, their regions, how many sites "
    "these have (capacity), whether they are anchored, that no attack is missing where a threat lists its attacks, and "
    "that blind answers are blind."
)
"""What a proof from a file rests on. Documentation and commands use these words."""

SAME = 1 + Fraction(1, 10**9)  # a number that is larger by less than this factor is the same on another platform
MAX_LOOKED_UP = 2**8  # of the radii that a longer search may have found: each is proved by itself
MAX_LISTED_LEVELS = 2**12  # of one number of flips that are looked up in the frontier, one by one


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A false claim: it says more than can be proved."""

    graph: int  # the number of the graph
    name: str  # what its data calls it
    field: str  # the name of the claim in the file
    claimed: object  # what the file says
    proved: object  # what can be proved


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of checking the claims of a file."""

    path: str  # the file
    archive: Archive  # what it holds; its certificates are made afresh
    mismatches: tuple[Mismatch, ...]  # every false claim, graph by graph
    listed: int  # how many radii were decided a second time, in whole numbers
    enclosed: int  # how many have too many cells for that, so that the proof in balls stands alone
    evidence: tuple[EvidenceCheck | None, ...] = ()  # for each graph, what was proved twice of verdicts of evidence
    listed_anew: bool = False  # whether the attacks of a threat were compared with those that it lists on the objects
    collective: tuple[CollectiveCheck, ...] = ()  # what was found about each collective claim

    @property
    def premise(self) -> str:
        """What is taken as stated about the attacks of a threat; "" where none are listed."""
        archive = self.archive
        if archive.asked is None:
            return ""
        number = sum(sum(each.counts) for each in archive.asked)
        found = "listed anew, they are the same" if self.listed_anew else "that none is missing is taken as stated"
        return f"What is certified under {archive.threat} is about the {quantity(number, 'attack')} listed: {found}."

    @property
    def refuted(self) -> tuple[Mismatch, ...]:
        """The false claims."""
        return self.mismatches

    @property
    def verdict(self) -> Literal["proved", "refuted"]:
        """The verdict on the whole file: "refuted" if any claim is false."""
        return "refuted" if self.mismatches else "proved"

    def __str__(self) -> str:
        graphs = quantity(len(self.archive), self.archive.word)
        if not self.mismatches:
            text = f"{self.path}: proved. Every claim about {graphs} follows from the votes and the noise."
            if twice := [each for each in self.evidence if each is not None]:
                levels, broken, attacks, _ = map(sum, zip(*twice, strict=True))
                text += (
                    f" By evidence {levels:,} {'sizes' if self.archive.asked else 'levels'} are certified and "
                    f"{broken:,} broken: proved again, and by another way, from the flips of the votes; {attacks:,} "
                    "attacks were weighed twice."
                )
            together = sentences(self.archive.collective, self.collective) if self.archive.collective else ()
            return " ".join(filter(None, (text, self.premise, *together)))
        false = quantity(len(self.mismatches), "claim")
        text = f"{self.path}: refuted. Of {graphs}, {false} {'is' if len(self.mismatches) == 1 else 'are'} false."
        return f"{text} {self.premise}".rstrip()


@dataclass(frozen=True, slots=True)
class Stated:
    """A file whose claims rest on laws that are not starcert's own: none is proved, and none refuted.

    Example:
        >>> Stated("certificates.json", laws=("coin.py:Coin",)).verdict
        'stated'
    """

    path: str  # the file
    laws: tuple[str, ...]  # the names of these laws
    verdict: Literal["stated"] = "stated"
    refuted: tuple[Mismatch, ...] = ()

    def __str__(self) -> str:
        by = " and ".join(f"the law {name}" for name in self.laws)
        return (
            f"{self.path}: stated by {by}, which {'is' if len(self.laws) == 1 else 'are'} not starcert's own. No claim "
            "in this file is proved, and nothing is imported to look at it."
        )


def verify(
    path: str | PathLike[str], *, progress: bool | None = False, sites: Problem | Sequence[Sites] | None = None
) -> Verification | Stated:
    """Proves the claims in a file of certificates again, from its votes and its noise alone.

    Of claims that rest on a law from outside nothing is proved: see `Stated`.

    Args:
        path: a file that `write` has written, or that claims to be one.
        progress: whether to draw a progress bar; None: on a terminal only.
        sites: those of the objects, or their problem: a threat lists its attacks on them anew, to see that the file
            has the same ones. Without them, that no attack is missing is taken as stated.
    """
    with archive_errors(path):
        top = top_of(path, FORMAT)
        if laws := laws_from_outside(top):
            return Stated(fspath(path), laws)
    archive, claimed = read_with_claims(path, whole=True, top=top)
    with proof_errors(path):
        return _verified(path, archive, claimed, progress, sites)


def _verified(
    path: str | PathLike[str],
    archive: Archive,
    claimed: Sequence[Claims],
    progress: bool | None,
    sites: Problem | Sequence[Sites] | None,
) -> Verification:
    mismatches: list[Mismatch] = [] if sites is None else list(_list_anew(archive, sites))
    verdicts: CountVerdicts = defaultdict(set)
    checks: list[EvidenceCheck | None] = []
    all_classes = spends_on_all_classes(archive.votes, alpha=archive.counts_alpha, family_size=archive.together)
    try:
        certificates = archive.certificates
    except InvalidParameterError as error:  # votes at attacked graphs that are not there
        raise ArchiveError(fspath(path), f"cannot be proved again: {error}") from error
    with progress_bar("graphs", len(archive), shown=progress) as advance:
        for i, certificate in enumerate(certificates):
            try:
                proved = Claims.of(certificate)
            except (InvalidParameterError, ArithmeticError, MemoryError) as error:  # a box without end, for instance
                problem = f"'graphs[{i}]' has a frontier that cannot be found: {error}"
                raise ArchiveError(fspath(path), problem) from error
            everything = bool(all_classes[i]) and archive.votes.history == "fixed"
            counts = _Counts.of(archive, i, proved, all_classes=everything)
            found = _compare(claimed[i], proved, counts, certificate)
            mismatches += [Mismatch(i, archive.names[i], *each) for each in found]
            frontier, compared = certificate.frontier_by_p_A, _compared(_contest(archive, i, proved.label), proved)
            for certified, radii in ((True, frontier.radii), (False, frontier.beyond)):
                for radius in radii:
                    verdicts[radius, certified].add(compared)
            by_counts = _levels_by_counts(certificate)
            for level in by_counts:
                verdicts[level, True].add(compared)
            checks.append(_check_evidence(archive, i, certificate, proved, by_counts))
            advance(1)
    listed, enclosed = list_cells(archive.noise, verdicts, progress)
    anew = sites is not None and archive.asked is not None
    together = [] if archive.collective is None else list(check_collective(archive.collective))
    for claim, each in zip(archive.collective.claims if archive.collective else (), together, strict=True):
        if not each.proved:
            what = f"changed under {claim.threat}"
            mismatches.append(Mismatch(0, f"all {len(archive)} answers", what, claim.k, each.smallest))
    return Verification(
        fspath(path), archive, tuple(mismatches), listed, enclosed, tuple(checks), anew, tuple(together)
    )


def _contest(archive: Archive, row: int, label: int) -> Contest:
    """What a class has to withstand, from the threshold and the blind answer of the file."""
    if (blind := archive.votes.blind) is None:
        return PLAIN
    return Contest(blind.threshold, 0.0) if label == blind.answers[row] else Contest(1 - blind.threshold, 1.0)


def _compared(contest: Contest, proved: Claims) -> CountBounds:
    """What the counts of a graph say about radii; of a fallback, by the bound that its contest is about."""
    bound = proved.failure if contest.third else proved.other
    return (proved.failure, proved.other, 0.5) if contest == PLAIN else (bound, bound, contest.limit)


def _list_anew(archive: Archive, sites: Problem | Sequence[Sites]) -> Iterator[Mismatch]:
    """What differs between the attacks of a file and those that its threat lists on the objects."""
    given, objects = list(sites.sites if isinstance(sites, Problem) else sites), archive.votes.objects.tolist()
    if len(given) != max(objects) + 1:
        raise InvalidParameterError("sites", f"have one entry for each of {max(objects) + 1} objects", len(given))
    for number, (asked, each) in enumerate(zip(archive.asked or (), given, strict=False)):
        anew = Question.of(asked.threat, each, archive.noise)
        pairs = zip(chain(*asked.attacks), chain(*anew.attacks), strict=False)
        same = all(starmap(np.array_equal, pairs)) and (asked.counts, asked.levels) == (anew.counts, anew.levels)
        if not same:
            row = objects.index(number)
            yield Mismatch(row, archive.names[row], "listed", asked.counts, anew.counts)
    if (kept := archive.collective) is not None:
        for number in listed_otherwise(kept, given, archive.noise):
            row, counts = objects.index(number), kept.votes.questions[number].asked.counts
            yield Mismatch(row, archive.names[row], "listed under 'collective'", counts, "others")


def evidence_checker(archive: Archive, row: int, certificate: Certificate) -> EvidenceChecker:
    """What proves the verdicts of evidence on one graph, with the engine's choices handed in."""
    graph = (archive.evidence or ())[row]
    assert graph is not None
    axes, box = graph.axes(archive.noise), certificate.max_radius

    def choices(chunks: int) -> FlipEvidence:
        votes = replace(archive.votes.row(row), records=(graph.record.first(chunks),))
        return evidence_of(votes, axes, alpha=AlphaShares.of(alpha).certified, box=box)

    alpha, label = Fraction(archive.alpha) / archive.together, certificate.label
    contest = _contest(archive, row, label)
    return EvidenceChecker(graph, axes, label=label, alpha=alpha, box=box, choices=choices, contest=contest)


def _levels_by_counts(certificate: Certificate) -> set[Radius]:
    """Of the levels that listed attacks lie on, those that the counts of votes prove."""
    asked = certificate.asked
    return set() if asked is None else set(filter(certificate.proves, set().union(*asked.levels)))


def _check_evidence(
    archive: Archive, row: int, certificate: Certificate, proved: Claims, by_counts: set[Radius]
) -> EvidenceCheck | None:
    """Proves the verdicts of evidence on one graph a second time; None if it has none."""
    if certificate.verdicts is None or archive.evidence is None or archive.evidence[row] is None:
        return None
    if proved.any_flips and certificate.capacity is not None:
        levels = islice(levels_of(proved.any_flips, certificate.capacity), MAX_LISTED_LEVELS)
        if not all(map(Radii(proved.frontier).hold, levels)):
            raise DisagreementError(f"about all flips of graph {row}")
    if len(proved.broken) < len(certificate.broken):
        raise DisagreementError(f"a broken level of graph {row} has no attack")
    checker, name = evidence_checker(archive, row, certificate), f"graph {row}"
    certified = [level for level in certificate.verdicts.certified if any(level)]
    if len(certified) < len(certificate.verdicts.certified):
        checker.check_clean_answer(fixed=archive.votes.history == "fixed", name=name)
    if proved.certified_size is not None:
        return checker.check_sizes(proved.certified_size, proved.broken, by_counts, name)
    return checker.check(certified, proved.broken, name)


class _Counts(NamedTuple):
    """What the bounds of one graph rest on."""

    against: int  # votes against the class
    rival: int | None  # votes for the best other class; None if alpha is spent on all of them together
    total: int
    share: Fraction  # alpha's part for each bound
    bound: str  # its name

    @classmethod
    def of(cls, archive: Archive, graph: int, proved: Claims, *, all_classes: bool) -> _Counts:
        counts = archive.votes.counts[graph].tolist()
        rivals = counts[: proved.label] + counts[proved.label + 1 :]
        # The table of `math.confidence`: that many bounds, and choosing the class on the same votes counts double.
        bounded = (len(counts) if all_classes else 1) * (2 if archive.votes.selection is None else 1)
        share = Fraction(archive.counts_alpha) / (bounded * archive.together)
        # Against a blind answer alpha is spent on the strongest other class: nothing is known about all together.
        alone = not _contest(archive, graph, proved.label).third
        against = sum(counts) if alone and len(rivals) > 1 else sum(rivals)
        self = cls(against, max(rivals) if all_classes or alone else None, sum(counts), share, archive.bound)
        if not (self.bound_all(Fraction(proved.failure)) and self.bound_each(Fraction(proved.other))):
            raise DisagreementError(f"about the bounds of graph {graph}")
        return self

    def bound_all(self, limit: Fraction) -> bool:
        """Whether `limit` bounds the probability of any other answer."""
        return PROVERS[self.bound](self.against, self.total, limit, self.share)

    def bound_each(self, limit: Fraction) -> bool:
        """Whether it bounds every single other class: by its own votes, or because it bounds all of them at once."""
        by_votes = self.rival is not None and PROVERS[self.bound](self.rival, self.total, limit, self.share)
        return by_votes or self.bound_all(limit)


_Difference = tuple[str, object, object]  # the name of a false claim, what it says, and what can be proved


def _compare(claimed: Claims, proved: Claims, counts: _Counts, certificate: Certificate) -> Iterator[_Difference]:
    if claimed.label != proved.label:
        yield "class", claimed.label, proved.label
    if proved.abstained and not claimed.abstained:
        yield "abstained", claimed.abstained, proved.abstained
    for field, claim, best, rest, least, holds in (
        ("p_lower", claimed.p_lower, proved.p_lower, 1 - Fraction(claimed.p_lower), proved.failure, _Counts.bound_all),
        ("failure", claimed.failure, proved.failure, Fraction(claimed.failure), proved.failure, _Counts.bound_all),
        ("other", claimed.other, proved.other, Fraction(claimed.other), proved.other, _Counts.bound_each),
    ):
        # What is no less than a proved bound is proved with it.
        if rest < least and not holds(counts, rest):
            yield field, claim, best
    if claimed.margin != proved.margin:
        yield "margin", claimed.margin, proved.margin
    yield from _compare_frontiers(claimed, proved, certificate)
    yield from _compare_evidence(claimed, proved)
    # A search that ended early proves less about what lies beyond: whoever searched longer may know more.
    if claimed.proved and not proved.proved and not certificate.frontier.incomplete:
        yield "proved", claimed.proved, proved.proved


def _compare_frontiers(claimed: Claims, proved: Claims, certificate: Certificate) -> Iterator[_Difference]:
    known, admitted, looked_up = Radii(proved.frontier), Radii(claimed.beyond), count()

    def stands(radius: Radius) -> bool:
        """Whether a claimed radius is certified: by the frontier, or by itself where the search has ended early."""
        if known.hold(radius) or not certificate.frontier.incomplete:
            return known.hold(radius)
        inside = certificate.max_radius is None or lies_within(radius, certificate.max_radius)
        if inside and next(looked_up) >= MAX_LOOKED_UP:
            raise MalformedError(f"more than {MAX_LOOKED_UP:,} claimed radii are beyond what a search finds.")
        return inside and certificate.certified(radius)

    if too_far := [radius for radius in claimed.frontier if not stands(radius)]:
        yield "frontier", too_far, proved.frontier
    # Leaving a radius out of "beyond" claims that it is certified.
    if hidden := [radius for radius in proved.beyond if not admitted.reach(radius)]:
        yield "beyond", claimed.beyond, hidden


def _compare_evidence(claimed: Claims, proved: Claims) -> Iterator[_Difference]:
    for field, claim, best in (
        ("any_flips", claimed.any_flips, proved.any_flips),
        ("certified_size", claimed.certified_size, proved.certified_size),
    ):
        if (claim or 0) > (best or 0):
            yield field, claim, best
    attacks = {each.level: each for each in proved.broken}

    def stands(one: BrokenLevel) -> bool:
        other = attacks.get(one.level)
        return other is not None and one._replace(delta=other.delta) == other and one.delta * SAME >= other.delta

    if unproved := [one for one in claimed.broken if not stands(one)]:
        yield "broken", unproved, proved.broken
