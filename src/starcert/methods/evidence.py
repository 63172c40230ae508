"""From votes with their flips to verdicts on levels, from below: a level is looked at only when all within it hold.

Attacks that the votes on the clean object leave open get votes of their own, the most dangerous first, until every one
of them is harmless, or one of them breaks the level, or no votes are left.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import chain

from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.question import Question
from starcert.claims.verdict import Grounds, Verdict, Verdicts, lies_within
from starcert.claims.vote_proof import VoteProof
from starcert.math.attacked_sites import AttackAxis, LevelAttacks, axes_at
from starcert.math.bets import class_and_rival
from starcert.math.choices import Level
from starcert.math.evidence import FEW, FlipEvidence, Weighed
from starcert.math.frontier import Frontier, levels_below, levels_of
from starcert.math.limits import AlphaShares, anytime_limit, upper_limit
from starcert.math.votes import Votes
from starcert.methods.audit import audit_attacked
from starcert.methods.open_level import OpenLevel, by_weighing
from starcert.methods.own_votes import AttackVotes, OwnVotes
from starcert.objects.binding import attack_axes
from starcert.sampling.attacked import Attack
from starcert.system.output import Advance
from starcert.voting.plans import Job
from starcert.voting.store import VoteStore

_LOG = logging.getLogger(__name__)

MAX_LEVELS = 4096  # of one object that are looked at, beyond those that the counts of votes certify


def with_evidence(
    certificates: Certificates,
    job: Job,
    *,
    alpha: float,
    most: int,
    max_flips: int | None = None,
    store: VoteStore | None = None,
    executor: Executor | None = None,
    advance: Advance,
) -> Certificates[VoteProof]:
    """Certificates with the verdicts of evidence, where votes kept their flips; votes at attacked graphs are audited.

    The bounds of the certificates have the counts' share of `alpha`. There are at most `most` votes at attacked
    versions of a graph, shared evenly by its targets; levels of more than `max_flips` flips in all are not looked at.
    """
    votes, found = certificates.votes, list[Verdicts | None]()
    assert votes is not None
    against: dict[int, dict[Attack, int]] = {}  # by graph and attack, the votes against the class
    drawn, ends = 0, list[OwnVotes]()
    axes_by_object = cache(lambda number: attack_axes(job.sites[number], job.noise))
    for row, one in enumerate(certificates):
        verdicts, of_row, share = None, votes.row(row), most // job.n_targets(one.object)
        (record,) = of_row.records
        # Attacks of a list cannot be weighed where it is not known which sites flipped, only tried; clean answers can.
        attacked = record is not None and (record.complete or share > 0 or one.asked is None)
        if attacked or (record is not None and one.abstained):
            axes, own = axes_by_object(one.object), None
            if share:
                own = OwnVotes(job, one, most=share, store=store, executor=executor)
            judge = partial(verdicts_of, alpha=alpha, max_flips=max_flips, asked=one.asked)
            verdicts = judge(one, of_row, axes, own=own)
            if verdicts.shown is not None:
                verdicts = verdicts.on(job.sites[one.object])
            if own is not None and verdicts.own_votes:
                drawn += verdicts.own_votes
                ends = [*ends[:1], own]
                lost = {attack: sum(len(each.numbers) for each in tallies) for attack, tallies in own.tallies.items()}
                against[one.object] = against.get(one.object, {}) | lost
        if verdicts is not None:
            looked, own_votes = len(verdicts.levels or verdicts.sizes), verdicts.own_votes
            _LOG.debug("row %d: %d levels looked at, %d votes at attacked graphs", row, looked, own_votes)
        found.append(verdicts)
        advance(1)
    for own in ends:
        own.check()
    proof = replace(certificates.by_votes, verdicts=found)
    if not drawn or votes.audit is None:
        return certificates.proved_by(proof)
    audited = replace(votes, audit=votes.audit + audit_attacked(job, against, drawn, executor))
    return certificates.proved_by(replace(proof, bounds=replace(proof.bounds, votes=audited)))


def verdicts_of(
    one: Certificate,
    votes: Votes,
    axes: Sequence[AttackAxis],
    *,
    alpha: float,
    own: AttackVotes | None,
    max_flips: int | None = None,
    asked: Question | None = None,
) -> Verdicts:
    """The verdicts of evidence on one certificate of the counts, from its row of votes with their flips."""
    shares = AlphaShares.of(Fraction(alpha), family_size=one.together)
    levels: dict[Level, Verdict] = {}
    box = one.max_radius if asked is None else None
    evidence, frontier = evidence_of(votes, axes, alpha=shares.certified, box=box), one.frontier_by_p_A
    if one.abstained:
        zero = (0,) * len(axes)
        levels[zero] = _clean_verdict(votes, one.label, shares.certified)
        if levels[zero].kind == "certified":
            frontier = Frontier((zero,), tuple(sorted(levels_of(1, evidence.box))), verified=True)
    find = partial(find_verdicts, own=own, label=one.label, alpha=alpha, broken=shares.broken)
    if asked is None:
        found = find(evidence, frontier, max_flips=max_flips)
        return replace(found, levels=levels | dict(found.levels))
    listed = [[part for part in parts if not one.proves(part.level)] for parts in asked.parts(evidence.axes)]
    certified, most = asked.certified_by(one.proves), asked.threat.most
    beyond = ((certified + 1,),) if certified < most else ()
    found = find(evidence, Frontier(((certified,),) if frontier.radii else (), beyond, verified=True), listed=listed)
    assert found.grounds is not None
    sizes = {size: verdict for (size,), verdict in found.levels.items()}
    grounds = found.grounds._replace(attacks=asked.attacks, axes=tuple(axes))
    return replace(found, levels=levels, frontier=frontier, sizes=sizes, grounds=grounds)


def _clean_verdict(votes: Votes, label: int, share: Fraction) -> Verdict:
    """The verdict on the clean object: certified if the class wins its contest with each other one, up to `share`."""
    (contest,), counts = votes.contests, votes.counts[0]
    against, of = contest.score(*class_and_rival(counts, label), int(counts.sum()))
    limit = upper_limit if votes.history == "fixed" else anytime_limit
    if limit(against, of, share) < contest.limit:
        return Verdict("certified", "by weighing its votes against those for each other class")
    return Verdict("open", "its votes are too few to show that its class is the answer")


def evidence_of(votes: Votes, axes: Sequence[AttackAxis], *, alpha: Fraction, box: Level | None) -> FlipEvidence:
    """One row of votes with their flips, ready to be weighed: `alpha` is the share for what evidence certifies."""
    record, selection = votes.records[0], votes.selection
    assert record is not None
    assert selection is not None
    kept = axes if record.sites is None else axes_at(axes, record.sites)
    failure = 1 - selection[0][votes.labels[0]] / selection[0].sum()
    return FlipEvidence(record, kept, alpha=alpha, failure=failure, box=box, contest=votes.contests[0])


def find_verdicts(
    evidence: FlipEvidence,
    frontier: Frontier,
    *,
    own: AttackVotes | None,
    label: int,
    alpha: float,
    broken: Fraction,
    max_flips: int | None = None,
    listed: Sequence[Sequence[LevelAttacks]] | None = None,
) -> Verdicts:
    """The verdicts on the levels beyond the frontier of the counts, of at most `max_flips` flips in all.

    With `listed`, the attacks of each size that the counts leave open, levels are sizes: (1,), (2,), …

    Levels that the votes on the clean object leave open are broken by votes at the most dangerous attacks, or settled
    by votes at all that are open.
    `alpha` is the probability that anything certified or broken is not, counts included; `broken` its part for what is
    broken. Without votes at attacked objects (`own`) nothing is broken.
    """
    levels: dict[Level, Verdict] = {}
    seen: set[Level] = set(frontier.beyond)
    box = evidence.box if listed is None else (len(listed),)
    most = sum(box) if max_flips is None else max_flips
    waiting = [(sum(level), level) for level in seen if lies_within(level, box) and sum(level) <= most]
    heapq.heapify(waiting)
    incomplete = frontier.incomplete
    left, tallies = (None, {}) if own is None else (own.left, own.tallies)
    grounds = Grounds(evidence.axes, left, tallies, max_flips)
    if not frontier.radii:  # not even the clean answer is certain
        return Verdicts(alpha, {}, frontier, grounds=grounds)
    known: dict[tuple[object, ...], Attack] = {}

    def holds(level: Level) -> bool:
        return frontier.covers(level) or (level in levels and levels[level].kind == "certified")

    while waiting:
        _, level = heapq.heappop(waiting)
        if len(levels) == MAX_LEVELS:
            incomplete = f"{MAX_LEVELS:,} levels were looked at"
            break
        search = None if own is None else OpenLevel(evidence, level, own, label, known)
        levels[level] = _verdict(evidence, level, search, broken, None if listed is None else listed[level[0] - 1])
        if levels[level].kind != "certified":
            continue
        for axis, limit in enumerate(box):
            above = (*level[:axis], level[axis] + 1, *level[axis + 1 :])
            if level[axis] < limit and above not in seen and all(map(holds, levels_below(above))):
                seen.add(above)
                if sum(above) <= most:
                    heapq.heappush(waiting, (sum(above), above))
                else:
                    incomplete = f"levels of more than {most} flips were not looked at"
    drawn = 0 if own is None or left is None else left - own.left
    joined = extended_frontier(frontier, levels, box, incomplete)
    return Verdicts(alpha, levels, joined, drawn, grounds)


def extended_frontier(counted: Frontier, levels: Mapping[Level, Verdict], box: Level, incomplete: str) -> Frontier:
    """The frontier of what is certified by counts or by evidence."""
    certified = {level for level, verdict in levels.items() if verdict.kind == "certified"}
    if not certified:
        return replace(counted, incomplete=incomplete)
    maximal: list[Level] = []
    for level in sorted({*certified, *counted.radii}, key=sum, reverse=True):
        if not any(lies_within(level, other) for other in maximal):
            maximal.append(level)
    outside = [level for level in chain(levels, counted.beyond) if level not in certified]
    minimal = {one for one in outside if not any(one != other and lies_within(other, one) for other in outside)}
    found = Frontier(tuple(sorted(maximal)), tuple(sorted(minimal)), counted.verified, incomplete)
    if not (minimal or incomplete or found.covers(box)):
        raise ArithmeticError(f"evidence certifies all of {box} without its corner: please report this as a bug")
    return found


def _verdict(
    evidence: FlipEvidence,
    level: Level,
    search: OpenLevel | None,
    broken: Fraction,
    listed: Sequence[LevelAttacks] | None,
) -> Verdict:
    """The schemes in turn; where many attacks would have to be weighed, votes at few attacked objects come first."""
    if listed is not None and not listed:
        return Verdict("certified", "its attacks, if there are any, are certified by p_A")
    if listed is None and not evidence.possible(level):
        return Verdict("certified", "there is no such attack: its axes have fewer sites together")
    schemes = _schemes(evidence, level, listed)
    early = [each for each in schemes if each[0] <= FEW] or schemes
    weighed: list[Weighed] = []
    for n_attacks, weigh in early:
        weighed.append(weigh())
        if weighed[-1].proved:
            return Verdict("certified", by_weighing(n_attacks) if weighed[-1].scheme.listed else "by flip counts")
    if search is None:
        verdict = _left_open(weighed)
    else:
        verdict = search.find_breaking_attack(weighed[-1], broken) or search.settle_open_attacks(weighed)
    for n_attacks, weigh in (each for each in schemes if each not in early):
        if verdict.kind == "open":
            weighed.append(weigh())
            if weighed[-1].proved:
                return Verdict("certified", by_weighing(n_attacks))
            verdict = _left_open(weighed) if search is None else search.settle_open_attacks(weighed[-1:])
    return verdict


def _schemes(
    evidence: FlipEvidence, level: Level, listed: Sequence[LevelAttacks] | None
) -> list[tuple[int, Callable[[], Weighed]]]:
    """The number of attacks in each scheme, and what weighs them; of a list, there is one scheme."""
    if listed is not None:
        return [
            (sum(len(part.rows) for part in listed if part.rows is not None), partial(evidence.weighed_list, listed))
        ]
    return [(each.n_attacks, partial(evidence.weighed, level, each)) for each in evidence.schemes(level)]


def _left_open(weighed: Sequence[Weighed]) -> Verdict:
    few = min((each for each in weighed if each.scheme.listed), key=lambda each: len(each.rest), default=None)
    if few is None:
        return Verdict("open", "its attacks are too many to weigh one by one")
    number = f"{len(few.rest):,} of {few.scheme.n_attacks:,}"
    return Verdict("open", f"{number} attacks are not settled by the votes on the clean object")
