"""From votes with their flips to verdicts on levels, from below: a level is looked at only when all within it hold.

Attacks that the votes on the clean object leave open get votes of their own, the most dangerous first, until every one
of them is harmless, or one of them breaks the level, or no votes are left.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from math import ceil, prod, sqrt

import numpy as np
import numpy.typing as npt

from starcert.certificates.attack_axes import axes_of, first_choices
from starcert.certificates.auditing import audit_attacked
from starcert.certificates.certificate import Certificate, FoundAttack, Grounds, Verdict, Verdicts, lies_within
from starcert.certificates.certify import Certificates
from starcert.certificates.deep import AnyEvidence, DeepLevel, DeepSource, by_weighing
from starcert.certificates.questions import Question
from starcert.certificates.votes import AttackVotes, OwnVotes
from starcert.math.attacked_sites import AttackAxis, describe_attack
from starcert.math.bets import SCALE, OwnBet, anytime_limit, capital_of, class_and_rival, count_capital, needed
from starcert.math.confidence import Votes
from starcert.math.evidence import FlipEvidence, Level, Weighed
from starcert.math.frontier import Frontier, levels_below, levels_of
from starcert.math.limits import AlphaShares, upper_limit
from starcert.math.listed import ListedEvidence
from starcert.math.pooling import Scheme
from starcert.sampling.sampler import OWN_CHUNK, Attack
from starcert.system.output import Advance
from starcert.system.stages import staged
from starcert.voting.plans import Job
from starcert.voting.store import VoteStore

MAX_LEVELS = 4096  # of one object that are looked at, beyond those that the counts of votes certify
FEW = 2**16  # more attacks than these are weighed only after votes at attacked objects were tried

# Votes of their own. An attack that is not settled after 2¹⁰ chunks is too close to call.
N_LOOKS = 11
LOOKS = tuple(sorted({round(2 ** (half / 2)) for half in range(2 * N_LOOKS - 1)}))  # in chunks, to settle attacks
BATCH = 512  # attacks that have votes of their own at a time
GIVE_UP = 5.0  # standard deviations by which another class has more votes, where an attack is not harmless
HOPELESS = -4.0  # the same, where an attack breaks nothing
DANGEROUS = 32  # attacks, the most dangerous ones, that have votes of their own first
SEARCH = 3.5  # chunks of votes for each of these, about, that a search for one that breaks a level takes
CLOSEST = 0.47  # in predictions no attack fails more often: what looks worse is mostly chance

Whole = npt.NDArray[np.int64]


@staged("certifying")
def with_evidence(
    certificates: Certificates,
    job: Job,
    *,
    alpha: float,
    most: int,
    deep: int = 0,
    max_flips: int | None = None,
    each_class: bool = False,
    store: VoteStore | None = None,
    executor: Executor | None = None,
    advance: Advance,
) -> Certificates:
    """Certificates with the verdicts of evidence, where votes kept their flips; votes at attacked graphs are audited.

    The bounds of the certificates have the counts' share of `alpha`. There are at most `most` votes at attacked
    versions of a graph, and at most `deep` deep ones, shared evenly by its targets; levels of more than `max_flips`
    flips in all are not looked at. For `each_class` see `FlipEvidence`.
    """
    votes, found = certificates.votes, list[Verdicts | None]()
    assert votes is not None
    against: dict[int, dict[Attack, int]] = {}  # by graph and attack, the votes against the class
    drawn = 0
    axes_by_object = cache(lambda number: axes_of(job.sites[number], job.noise))
    for row, one in enumerate(certificates):
        verdicts, record, share = None, votes.records[row], most // job.n_targets(one.object)
        # Attacks of a list cannot be weighed where it is not known which sites flipped, only tried.
        if record is not None and (record.complete or share or one.asked is None):
            axes, own, further = axes_by_object(one.object), None, None
            if share:
                own = OwnVotes(job, one, axes, most=share, store=store, executor=executor)
            if deep_share := deep // job.n_targets(one.object):
                further = DeepSource(job, one, axes, most=deep_share, store=store, executor=executor)
            judge = partial(verdicts_of, alpha=alpha, max_flips=max_flips, asked=one.asked, each_class=each_class)
            verdicts = judge(one, votes.row(row), axes, own=own, deep=further)
            if further is not None and further.votes is not None:
                drawn += further.most
                against[one.object] = against.get(one.object, {}) | further.audited()
            if own is not None and verdicts.own_votes:
                drawn += verdicts.own_votes
                lost = {attack: sum(len(each.numbers) for each in tallies) for attack, tallies in own.tallies.items()}
                against[one.object] = against.get(one.object, {}) | lost
        found.append(verdicts)
        advance(1)
    judged = replace(certificates, verdicts=found)
    if not drawn or votes.audit is None:
        return judged
    audited = replace(votes, audit=votes.audit + audit_attacked(job, against, drawn, executor))
    return replace(judged, bounds=replace(judged.bounds, votes=audited))


def verdicts_of(
    one: Certificate,
    votes: Votes,
    axes: Sequence[AttackAxis],
    *,
    alpha: float,
    own: AttackVotes | None,
    deep: DeepSource | None = None,
    max_flips: int | None = None,
    asked: Question | None = None,
    each_class: bool = False,
) -> Verdicts:
    """The verdicts of evidence on one certificate of the counts, from its row of votes with their flips."""
    shares = AlphaShares.of(Fraction(alpha), family_size=one.together)
    zero, levels = (0,) * len(axes), {}
    if each_class and one.abstained:
        levels[zero] = _clean_verdict(votes, one.label, shares.certified)
    answered = not one.abstained or (zero in levels and levels[zero].kind == "certified")
    box = one.max_radius if asked is None else None
    evidence = evidence_of(votes, axes, alpha=shares.certified, box=box, each_class=each_class)
    find = partial(find_verdicts, own=own, deep=deep, label=one.label, alpha=alpha, broken=shares.broken)
    if asked is None:
        frontier = one.frontier_by_p_A
        if levels and answered:
            frontier = Frontier((zero,), tuple(levels_of(1, evidence.box)), verified=True)
        found = find(evidence, frontier, max_flips=max_flips)
        return replace(found, levels=levels | dict(found.levels), each_class=each_class)
    listed = ListedEvidence(evidence, asked.attacks, one.proves)
    certified, most = asked.certified_by(one.proves), asked.threat.most
    beyond = ((certified + 1,),) if certified < most else ()
    found = find(listed, Frontier(((certified,),) if answered else (), beyond, verified=True))
    assert found.grounds is not None
    sizes = {size: verdict for (size,), verdict in found.levels.items()}
    grounds = found.grounds._replace(attacks=asked.attacks)
    return replace(found, levels=levels, sizes=sizes, grounds=grounds, each_class=each_class)


def _clean_verdict(votes: Votes, label: int, share: Fraction) -> Verdict:
    """Whether the votes for the class and for each other one show that it is the likelier of the two, up to `share`."""
    mine, rival = class_and_rival(votes.counts[0], label)
    limit = upper_limit if votes.history == "fixed" else anytime_limit
    if limit(rival, mine + rival, share) < 1 / 2:
        return Verdict("certified", "by weighing its votes against those for each other class")
    return Verdict("open", "its votes are too few to show that its class is the likeliest")


def evidence_of(
    votes: Votes, axes: Sequence[AttackAxis], *, alpha: Fraction, box: Level | None, each_class: bool = False
) -> FlipEvidence:
    """One row of votes with their flips, ready to be weighed: `alpha` is the share for what evidence certifies."""
    record, selection = votes.records[0], votes.selection
    assert record is not None
    assert selection is not None
    failure = 1 - selection[0].max() / selection[0].sum()
    return FlipEvidence(record, axes, alpha=alpha, failure=failure, box=box, each_class=each_class)


def find_verdicts(
    evidence: AnyEvidence,
    frontier: Frontier,
    *,
    own: AttackVotes | None,
    deep: DeepSource | None = None,
    label: int,
    alpha: float,
    broken: Fraction,
    max_flips: int | None = None,
) -> Verdicts:
    """The verdicts on the levels beyond the frontier of the counts, of at most `max_flips` flips in all.

    Levels that the votes on the clean object leave open have deep votes next, and then votes at attacked objects.
    `alpha` is the probability that anything certified or broken is not, counts included; `broken` its part for what is
    broken. Without votes at attacked objects (`own`) nothing is broken.
    """
    levels: dict[Level, Verdict] = {}
    seen: set[Level] = set(frontier.beyond)
    most = sum(evidence.box) if max_flips is None else max_flips
    waiting = [(sum(level), level) for level in seen if lies_within(level, evidence.box) and sum(level) <= most]
    heapq.heapify(waiting)
    incomplete = frontier.incomplete
    left, tallies = (None, {}) if own is None else (own.left, own.tallies)
    grounds = Grounds(evidence.axes, left, tallies, max_flips)
    if not frontier.radii:  # not even the clean answer is certain
        return Verdicts(alpha, {}, grounds=grounds)
    known: dict[tuple[object, ...], Attack] = {}

    def holds(level: Level) -> bool:
        return frontier.covers(level) or (level in levels and levels[level].kind == "certified")

    while waiting:
        _, level = heapq.heappop(waiting)
        if len(levels) == MAX_LEVELS:
            incomplete = f"{MAX_LEVELS:,} levels were looked at"
            break
        search = None if own is None else _OpenLevel(evidence, level, own, label, known)
        further = None if deep is None else DeepLevel(evidence, level, deep, max_flips)
        verdict = _verdict(evidence, level, search, broken, further)
        levels[level] = verdict if further is None else further.explained(verdict)
        if levels[level].kind != "certified":
            continue
        for axis, limit in enumerate(evidence.box):
            above = (*level[:axis], level[axis] + 1, *level[axis + 1 :])
            if level[axis] < limit and above not in seen and all(map(holds, levels_below(above))):
                seen.add(above)
                if sum(above) <= most:
                    heapq.heappush(waiting, (sum(above), above))
                else:
                    incomplete = f"levels of more than {most} flips were not looked at"
    drawn = 0 if own is None or left is None else left - own.left
    return Verdicts(alpha, levels, drawn, incomplete, grounds._replace(deep=evidence.deep))


def _verdict(
    evidence: AnyEvidence, level: Level, search: _OpenLevel | None, broken: Fraction, deep: DeepLevel | None = None
) -> Verdict:
    """The schemes in turn; where many attacks would have to be weighed, votes at few attacked objects come first."""
    if not evidence.possible(level):
        return Verdict("certified", evidence.nothing_to_weigh)
    schemes = evidence.schemes(level)
    early = [each for each in schemes if each.n_attacks <= FEW] or schemes  # of a list, there is no other
    weighed: list[Weighed] = []
    for scheme in early:
        weighed.append(evidence.weighed(level, scheme))
        if weighed[-1].proved:
            return Verdict("certified", by_weighing(scheme.n_attacks) if scheme.listed else "by flip counts")
    if deep is not None and (further := deep.weighed()) is not None:
        weighed = [*(each for each in weighed if each.scheme != further.scheme), further]
        early = [each.scheme for each in weighed]
        if (verdict := deep.verdict(further)) is not None:
            return verdict
    if search is None:
        verdict = _left_open(weighed)
    else:
        share = broken / prod((r + 1) * (r + 2) for r in level)
        verdict = search.find_breaking_attack(weighed[-1], share) or search.settle_open_attacks(weighed)
    for scheme in (each for each in schemes if each not in early):
        if verdict.kind == "open":
            weighed.append(evidence.weighed(level, scheme))
            if weighed[-1].proved:
                return Verdict("certified", by_weighing(scheme.n_attacks))
            verdict = _left_open(weighed) if search is None else search.settle_open_attacks(weighed[-1:])
    return verdict


def _left_open(weighed: Sequence[Weighed]) -> Verdict:
    few = min((each for each in weighed if each.scheme.listed), key=lambda each: len(each.rest), default=None)
    if few is None:
        return Verdict("open", "its attacks are too many to weigh one by one")
    number = f"{len(few.rest):,} of {few.scheme.n_attacks:,}"
    return Verdict("open", f"{number} attacks are not settled by the votes on the clean object")


class _OpenLevel:
    """A level that the votes on the clean object leave open, and votes at attacked objects.

    `known` keeps attacks by scheme, counts and number: many levels share them.
    """

    def __init__(
        self,
        evidence: AnyEvidence,
        level: Level,
        own: AttackVotes,
        label: int,
        known: dict[tuple[object, ...], Attack],
    ) -> None:
        self._evidence, self._level, self._own, self._label, self._known = evidence, level, own, label, known
        self._left = own.left
        self._search_ahead = 0

    def find_breaking_attack(self, weighed: Weighed, alpha: Fraction) -> Verdict | None:
        """The level broken by one of its most dangerous attacks, or None.

        After 1, 2, 4, … chunks of votes, the half with the most votes against the class goes on. The attack of rank i
        has a part 1/((i + 1)(i + 2)) of alpha: ranks come from the votes on the clean object, which are others.
        """
        attacks = self._dangerous(weighed)
        ranks = list(range(len(attacks)))
        for look in range(N_LOOKS):
            if not ranks:
                return None
            if not self._own.draw([attacks[rank] for rank in ranks], 2**look):
                self._search_ahead = ceil(SEARCH * len(attacks))
                return None
            counts = [self._own.counts(attack) for attack in attacks]
            for rank in ranks:
                delta = alpha / ((rank + 1) * (rank + 2))
                if _capital_against_class(counts[rank], self._label) >= needed(delta):
                    votes = tuple(counts[rank].tolist())
                    why = f"by {sum(votes):,} votes at an attacked object"
                    sites, values = describe_attack(self._evidence.axes, attacks[rank])
                    return Verdict("broken", why, FoundAttack(sites, votes, float(delta), values))
            excess = {rank: self._excess(attacks[rank]) for rank in ranks}
            # Where the class has far more votes than any other, nothing breaks.
            hopeful = [rank for rank in ranks if excess[rank] >= HOPELESS]
            ranks = sorted(hopeful, key=lambda rank: -excess[rank])[: max(1, len(ranks) // 2)]
        return None

    def settle_open_attacks(self, weighed: Sequence[Weighed]) -> Verdict:
        """The level certified by votes at all attacks that are open, by whichever scheme seems to need the fewest."""
        plans = []
        for each in weighed:
            bet = self._evidence.own_bet(self._level, each.scheme)
            if bet is not None and each.scheme.listed:
                plans.append((_chunks_needed(each, bet), each, bet))
        verdict = Verdict("open", "no votes of their own can settle its attacks")
        for chunks, each, bet in sorted(plans, key=lambda plan: plan[0] * len(plan[1].rest)):
            price = self._price(each, chunks)
            if price > self._own.left:
                number = f"{len(each.rest):,} of {each.scheme.n_attacks:,}"
                more = max(price, _votes_needed(each, bet, each.rest) + OWN_CHUNK * self._search_ahead)
                return Verdict(
                    "open",
                    f"{number} attacks need about {more:,} more votes of their own, and fewer are left (own_samples)",
                    more_votes=more,
                )
            still_open = self._draw_until_harmless(each, bet)
            if still_open is None:
                own = f"{len(each.rest):,} of them with {self._left - self._own.left:,} votes of their own"
                return Verdict("certified", f"{by_weighing(each.scheme.n_attacks)}, {own}")
            verdict = still_open
        return verdict

    def _draw_until_harmless(self, weighed: Weighed, bet: OwnBet) -> Verdict | None:
        """None once all open attacks of a scheme are shown to be harmless; otherwise the level, open."""
        for start in range(0, len(weighed.rest), BATCH):
            rest = {
                self._attack(weighed.scheme, int(index)): int(weighed.weights.capital[index])
                for index in weighed.rest[start : start + BATCH]
            }
            for chunks in LOOKS:
                if not self._own.draw(list(rest), chunks):
                    why = f"{len(rest):,} attacks or more are not settled, and no votes are left"
                    more = max(self._own.missing(list(rest), chunks), self._predicted(rest, weighed.needed, bet))
                    later = _votes_needed(weighed, bet, weighed.rest[start + BATCH :])
                    return Verdict("open", why, more_votes=more + later)
                capitals = {attack: self._capital(attack, shared, bet) for attack, shared in rest.items()}
                if any(self._excess(attack) > GIVE_UP for attack in rest):
                    return Verdict("open", f"some attacks look as if they broke it, of {weighed.scheme.n_attacks:,}")
                rest = {attack: rest[attack] for attack, capital in capitals.items() if capital < weighed.needed}
                if not rest:
                    break
            if rest:
                return Verdict("open", f"{len(rest):,} attack{'s' * (len(rest) > 1)} too close to call")
        return None

    def _excess(self, attack: Attack) -> float:
        """By how many standard deviations another class has more votes than this one."""
        mine, rival = self._votes_for(attack)
        return (rival - mine) / sqrt(max(mine + rival, 1))

    def _votes_for(self, attack: Attack) -> tuple[int, int]:
        """The own votes for the class, and for the strongest other one; or for all others, where they count as one."""
        mine, rival = class_and_rival(self._own.counts(attack), self._label)
        return mine, rival if self._evidence.each_class else self._own.total(attack) - mine

    def _price(self, weighed: Weighed, chunks: int) -> int:
        """How many more votes bring every open attack to this many chunks; at least that, if too few are left."""
        own = self._own
        least = len(weighed.rest) * OWN_CHUNK * chunks - (own.most - own.left)
        if least > own.left:  # even if all votes that there are were at these attacks
            return least
        return own.missing([self._attack(weighed.scheme, int(index)) for index in weighed.rest], chunks)

    def _predicted(self, rest: Mapping[Attack, int], needed: int, bet: OwnBet) -> int:
        """About how many more votes settle these attacks (with their shared capital), if capitals go on as before."""
        votes, slowest = 0.0, max(SCALE * bet.speed(CLOSEST), 1.0)
        for attack, shared in rest.items():
            gained = self._capital(attack, shared, bet) - shared
            speed = max(gained / max(self._own.total(attack), 1), slowest)
            votes += min((needed - shared - gained) / speed, LOOKS[-1] * OWN_CHUNK)
        return ceil(votes)

    def _capital(self, attack: Attack, shared: int, bet: OwnBet) -> int:
        """The logarithm of the capital against "another class is as likely": that of the shared votes times its own."""
        total, against = self._own.total(attack), np.zeros(len(bet.limits), dtype=np.int64)
        mine, rival = self._votes_for(attack)
        if mine < total:
            numbers = np.concatenate([tally.numbers for tally in self._own.tallies[attack]])
            against = np.bincount(self._evidence.bins(bet.axes, numbers), minlength=len(bet.limits))
        return shared + bet.capital(total, against, rival)

    def _dangerous(self, weighed: Weighed) -> list[Attack]:
        """Attacks of the level, the most dangerous first: those that look worst, or one on the strongest sites."""

        def any_will_do(axis: int) -> bool:  # it has one attack alone, or attacks that cannot be distinguished
            one, number = self._evidence.axes[axis], self._level[axis]
            return not number or one.law.free or (number == len(one.sites) and one.law.moves == 1)

        if all(axis in weighed.scheme.listed or any_will_do(axis) for axis in range(len(self._level))):
            order = np.argsort(-weighed.failure, kind="stable")[:DANGEROUS]
            return [self._attack(weighed.scheme, int(index), whole=True) for index in order]
        sites: list[int] = []
        for axis in range(len(self._level)):
            ranked = np.argsort(-self._evidence.scores(axis), kind="stable").tolist()
            sites += first_choices(self._evidence.axes, axis, self._level[axis], ranked, sites)
        return [tuple(sorted(sites))]

    def _attack(self, scheme: Scheme, index: int, *, whole: bool = False) -> Attack:
        """The attacked sites of an attack of a scheme; those of the other axes too if it is `whole`: all, or any."""
        key = scheme.listed, self._level if whole else tuple(self._level[axis] for axis in scheme.listed), index, whole
        if key not in self._known:
            sites = list(self._evidence.attack(self._level, scheme, index))
            axes = self._evidence.axes
            for axis, number in enumerate(self._level) if whole else ():
                if axis not in scheme.listed:
                    sites += first_choices(axes, axis, number, range(axes[axis].n_choices), sites)
            self._known[key] = tuple(sorted(sites))
        return self._known[key]


def _capital_against_class(votes: Whole, label: int) -> int:
    """The logarithm of the capital against "the class has more than any other": it is shared between the others."""
    mine = int(votes[label])
    others = [count_capital(mine, mine + int(each)) for other, each in enumerate(votes) if other != label]
    return int(capital_of(np.array(others)))


def _chunks_needed(weighed: Weighed, bet: OwnBet) -> int:
    """About how many chunks of votes settle an attack that is open, if such attacks fail as often as all do."""
    failure = min(float(np.mean(weighed.weights.estimate)), 0.4)
    missing = weighed.needed - float(np.mean(weighed.weights.capital[weighed.rest]))
    return ceil(min(missing / SCALE / max(bet.speed(failure), 1e-6) / OWN_CHUNK, LOOKS[-1]))


def _votes_needed(weighed: Weighed, bet: OwnBet, attacks: Whole) -> int:
    """About how many votes settle these attacks, each by how often it seems to fail.

    This is more than `_price`: attacks close to one half need many times the votes that an average one does.
    """
    failures = np.linspace(0, CLOSEST, 48)
    speeds = np.maximum([bet.speed(float(failure)) for failure in failures], 1e-6)
    speed = np.interp(weighed.weights.estimate[attacks], failures, speeds)
    missing = np.maximum(weighed.needed - weighed.weights.capital[attacks], 0) / SCALE
    return OWN_CHUNK * int(np.minimum(np.ceil(missing / speed / OWN_CHUNK), LOOKS[-1]).sum())
