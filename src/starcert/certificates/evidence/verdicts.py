"""Verdicts: every level is certified, broken or open, and says why.

A level is *certified* when no attack of exactly so many flips changes the smoothed classifier's answer, *broken* when
one is known that does, and *open* otherwise. Levels are looked at from below: one is asked about only when every level
within it is certified, so certified levels are certified radii.

Attacks that stay open after the votes on the clean object are weighed get votes of their own, the most dangerous first,
until every one of them is harmless, or one of them breaks the level, or there are no votes left.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, prod, sqrt
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.certificates.evidence.own_votes import AttackVotes, OwnTally
from starcert.math.attack_axis import AttackAxis, described
from starcert.math.bets import SCALE, capital_of, count_capital, needed
from starcert.math.evidence import Evidence, Level, OwnBet, Scheme, Weighed
from starcert.math.frontier import Frontier, levels_below
from starcert.sampling.attacked import OWN_CHUNK, Attack

__all__ = ["FoundAttack", "Grounds", "Kind", "Verdict", "Verdicts", "judge"]

Kind: TypeAlias = Literal["certified", "broken", "open"]

MOST_LEVELS = 4096
"""So many levels of one object are looked at, beyond those that the counts of votes certify."""

MOST_LOOKS = 11
"""An attack has at most 2¹⁰ chunks of its own: one that is not settled then is too close to call."""

LOOKS = tuple(sorted({round(2 ** (half / 2)) for half in range(2 * MOST_LOOKS - 1)}))
"""Attacks that are to be settled are looked at after so many chunks."""

GIVE_UP = 5.0
"""An attack with so many standard deviations more votes against the class than half of them is not harmless."""

DANGEROUS = 32
"""So many attacks, the most dangerous ones, have votes of their own first."""

FEW = 2**16
"""More attacks than these are weighed only after votes at attacked objects were tried."""

CLOSEST = 0.47
"""Where votes of their own are predicted, no attack is taken to fail more often: what looks worse is mostly chance."""

SEARCH = 3.5
"""A search for an attack that breaks a level takes about so many chunks of votes for each attack it begins with."""

BATCH = 512
"""So many attacks have votes of their own at a time."""

Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FoundAttack:
    """An attack that changes the smoothed classifier's answer.

    Attributes:
        sites: the flat positions of the flipped sites.
        votes: what the base classifier said on noisy copies of the attacked object, for each class.
        delta: with which probability such votes come about though the answer stays.
        values: the new value of each of these sites, None for one that has two; empty where all have.
    """

    sites: tuple[int, ...]
    votes: tuple[int, ...]
    delta: float
    values: tuple[int | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known about a level.

    Attributes:
        kind: "certified", "broken" or "open".
        why: by which argument, or what is missing.
        attack: what breaks the level.
        more_votes: of an open level, about how many more votes of their own would settle its attacks; None: not known.
    """

    kind: Kind
    why: str
    attack: FoundAttack | None = None
    more_votes: int | None = None


class Grounds(NamedTuple):
    """What verdicts rest on, besides the votes on the clean object.

    Attributes:
        axes: the axes of the noise on the object.
        most: how many votes at attacked objects there might be; None: none were asked for.
        own: those that there were: of each attack its votes, chunk by chunk.
        max_flips: levels of more flips in all were not looked at; None: all were.
    """

    axes: tuple[AttackAxis, ...]
    most: int | None
    own: Mapping[Attack, Sequence[OwnTally]]
    max_flips: int | None = None


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on the levels of one object.

    Attributes:
        alpha: with which probability any of them, or the bounds of the votes, is false.
        levels: those that were looked at: all others are within the frontier of the counts, or beyond one that is not
            certified.
        own_votes: how many votes at attacked objects there were.
        incomplete: why the search ended early; "" if it did not.
        grounds: what they rest on.
    """

    alpha: float
    levels: Mapping[Level, Verdict]
    own_votes: int = 0
    incomplete: str = ""
    grounds: Grounds | None = field(default=None, repr=False, compare=False)
    _sides: dict[str, tuple[Level, ...]] = field(default_factory=dict, repr=False, compare=False)

    def of(self, level: Level) -> Verdict:
        """The verdict on a level that the counts of votes do not certify."""
        if level in self.levels:
            return self.levels[level]
        for below in self.broken:
            if _lies_in(below, level):
                return Verdict("open", f"the radius is broken at {below}; this level itself was not looked at")
        return Verdict("open", "a level within it is open, or it lies beyond what was asked")

    def beyond(self, counted: Frontier) -> Frontier:
        """The frontier of what is certified by counts or by evidence."""
        if not self.certified:
            return counted
        maximal: list[Level] = []
        for level in sorted({*self.certified, *counted.radii}, key=sum, reverse=True):
            if not any(_lies_in(level, other) for other in maximal):
                maximal.append(level)
        outside = [level for level, verdict in self.levels.items() if verdict.kind != "certified"]
        outside += [level for level in counted.beyond if level not in self.levels]
        minimal = [each for each in outside if not any(each != other and _lies_in(other, each) for other in outside)]
        radii, beyond = tuple(sorted(maximal)), tuple(sorted(minimal))
        return Frontier(radii, beyond, verified=counted.verified, incomplete=self.incomplete)

    @property
    def certified(self) -> tuple[Level, ...]:
        """The certified levels."""
        return self._side("certified")

    @property
    def broken(self) -> tuple[Level, ...]:
        """The broken levels."""
        return self._side("broken")

    def _side(self, kind: Kind) -> tuple[Level, ...]:
        if kind not in self._sides:
            self._sides[kind] = tuple(sorted(level for level, one in self.levels.items() if one.kind == kind))
        return self._sides[kind]


def _lies_in(level: Level, other: Level) -> bool:
    return all(map(int.__le__, level, other))


def judge(
    evidence: Evidence,
    frontier: Frontier,
    *,
    own: AttackVotes | None,
    label: int,
    alpha: float,
    alpha_broken: Fraction,
    max_flips: int | None = None,
) -> Verdicts:
    """Looks at the levels beyond the frontier of the counts, from below.

    Args:
        evidence: the votes on the clean object.
        frontier: the radii that the counts of votes certify.
        own: votes at attacked objects; None: there are none.
        label: the class.
        alpha: with which probability anything that is certified or broken is not, counts included.
        alpha_broken: of that, the part for what is broken.
        max_flips: levels of more flips in all are not looked at; None: all are.
    """
    levels: dict[Level, Verdict] = {}
    asked: set[Level] = set(frontier.beyond)
    most = sum(evidence.box) if max_flips is None else max_flips
    waiting = [(sum(level), level) for level in asked if _lies_in(level, evidence.box) and sum(level) <= most]
    heapq.heapify(waiting)
    before = own.left if own is not None else 0
    records = None if own is None else _OwnRecords(own, label)
    incomplete = frontier.incomplete
    tallies = {} if records is None else records.tallies
    grounds = Grounds(evidence.axes, None if own is None else own.left, tallies, max_flips)
    if not frontier.radii:  # not even the clean answer is certain
        return Verdicts(alpha, {}, grounds=grounds)

    def accepted(level: Level) -> bool:
        return frontier.covers(level) or (level in levels and levels[level].kind == "certified")

    while waiting:
        _, level = heapq.heappop(waiting)
        if len(levels) == MOST_LEVELS:
            incomplete = f"{MOST_LEVELS:,} levels were looked at"
            break
        levels[level] = _verdict(evidence, level, records, alpha_broken)
        if levels[level].kind != "certified":
            continue
        for axis, limit in enumerate(evidence.box):
            above = (*level[:axis], level[axis] + 1, *level[axis + 1 :])
            if level[axis] < limit and above not in asked and all(map(accepted, levels_below(above))):
                asked.add(above)
                if sum(above) <= most:
                    heapq.heappush(waiting, (sum(above), above))
                else:
                    incomplete = f"levels of more than {most} flips were not looked at"
    return Verdicts(alpha, levels, before - own.left if own is not None else 0, incomplete, grounds)


def _verdict(evidence: Evidence, level: Level, own: _OwnRecords | None, alpha_broken: Fraction) -> Verdict:
    """The schemes in turn; where many attacks would have to be weighed, votes at few attacked objects come first."""
    if not evidence.possible(level):
        return Verdict("certified", "there is no such attack: its axes have fewer sites together")
    schemes = evidence.schemes(level)
    weighed: list[Weighed] = []
    for scheme in (each for each in schemes if each.n_attacks <= FEW):
        weighed.append(evidence.weighed(level, scheme))
        if weighed[-1].proved:
            return _certified(scheme)
    settling = None if own is None else _Settling(evidence, level, own, weighed)
    verdict = Verdict("open", _open_attacks(weighed))
    if settling is not None:
        verdict = settling.hunted(alpha_broken / prod((r + 1) * (r + 2) for r in level)) or settling.gone_through()
    for scheme in (each for each in schemes if each.n_attacks > FEW):
        if verdict.kind == "open":
            weighed.append(evidence.weighed(level, scheme))
            if weighed[-1].proved:
                return _certified(scheme)
            verdict = Verdict("open", _open_attacks(weighed)) if settling is None else settling.gone_through()
    return verdict


def _certified(scheme: Scheme) -> Verdict:
    return Verdict("certified", _weighing(scheme.n_attacks) if scheme.listed else "by flip counts")


def _open_attacks(weighed: Sequence[Weighed]) -> str:
    few = min((each for each in weighed if each.scheme.listed), key=lambda each: len(each.rest), default=None)
    if few is None:
        return "its attacks are too many to weigh one by one"
    return f"{len(few.rest):,} of {few.scheme.n_attacks:,} attacks are not settled by the votes on the clean graph"


def _weighing(number: int) -> str:
    return f"by weighing {number:,} attack{'s' * (number > 1)}"


class _OwnRecords:
    """The votes at attacked objects so far: they serve every level that lists their attack."""

    def __init__(self, own: AttackVotes, label: int) -> None:
        self.own, self.label = own, label
        self.tallies: dict[Attack, list[OwnTally]] = {}
        self._counts: dict[Attack, Whole] = {}
        self._totals: dict[Attack, int] = {}
        self.attacks: dict[tuple[object, ...], Attack] = {}  # by scheme, counts and number: many levels share them

    def counts(self, attack: Attack) -> Whole:
        """Votes for each class."""
        return self._counts.get(attack, np.zeros(self.own.n_classes, dtype=np.int64))

    def total(self, attack: Attack) -> int:
        """Votes in all."""
        return self._totals.get(attack, 0)

    def numbers(self, attack: Attack) -> list[Whole]:
        """The flip numbers of the votes against the class."""
        return [tally.numbers for tally in self.tallies.get(attack, [])]

    def price(self, attacks: Sequence[Attack], chunks: int) -> int:
        """How many votes are missing until each of these attacks has so many chunks of them."""
        return sum(max(0, chunks * OWN_CHUNK - self.total(attack)) for attack in attacks)

    def excess(self, attack: Attack) -> float:
        """By how many standard deviations the votes against the class are more than half."""
        total = self.total(attack)
        return (total - 2 * int(self.counts(attack)[self.label])) / sqrt(max(total, 1))

    def ask(self, attacks: Sequence[Attack], chunks: int) -> bool:
        """Brings these attacks to so many chunks of votes; whether there were votes enough left."""
        if self.price(attacks, chunks) > self.own.left:
            return False
        for chunk in range(chunks):
            some = [attack for attack in attacks if self.total(attack) == chunk * OWN_CHUNK]
            for attack, tally in zip(some, self.own.count(some, chunk) if some else [], strict=True):
                self._counts[attack] = self.counts(attack) + tally.counts
                self.tallies.setdefault(attack, []).append(tally)
                self._totals[attack] = self.total(attack) + OWN_CHUNK
        return True


class _Settling:
    """A level that the votes on the clean object leave open, and votes at attacked objects."""

    def __init__(self, evidence: Evidence, level: Level, own: _OwnRecords, weighed: Sequence[Weighed]) -> None:
        self._evidence, self._level, self._own = evidence, level, own
        self._weighed = weighed
        self._tried = 0
        self._left = own.own.left
        self._search_ahead = 0

    def hunted(self, alpha: Fraction) -> Verdict | None:
        """The level broken by one of the most dangerous attacks, or None.

        After 1, 2, 4, … chunks of votes, the half with the most votes against the class goes on. The attack of rank i
        has a part 1/((i + 1)(i + 2)) of alpha: ranks come from the votes on the clean object, which are others.
        """
        attacks = self._dangerous()
        ranks = list(range(len(attacks)))
        for look in range(MOST_LOOKS):
            if not ranks:
                return None
            if not self._own.ask([attacks[rank] for rank in ranks], 2**look):
                self._search_ahead = ceil(SEARCH * len(attacks))
                return None
            counts = [self._own.counts(attack) for attack in attacks]
            for rank in ranks:
                delta = alpha / ((rank + 1) * (rank + 2))
                if _breaks(counts[rank], self._own.label) >= needed(delta):
                    votes = tuple(counts[rank].tolist())
                    why = f"by {sum(votes):,} votes at an attacked graph"
                    sites, values = described(self._evidence.axes, attacks[rank])
                    return Verdict("broken", why, FoundAttack(sites, votes, float(delta), values))
            total = OWN_CHUNK * 2**look
            mine = {rank: int(counts[rank][self._own.label]) for rank in ranks}
            # What has far fewer votes against the class than half will not break anything.
            hopeful = [rank for rank in ranks if mine[rank] <= total / 2 + 2 * total**0.5]
            ranks = sorted(hopeful, key=lambda rank: mine[rank])[: max(1, len(ranks) // 2)]
        return None

    def _dangerous(self) -> list[Attack]:
        """Attacks of the level, the most dangerous first: those that look worst, or one on the sites with most say."""
        last = self._weighed[-1]
        if all(axis in last.scheme.listed or self._any_will_do(axis) for axis in range(len(self._level))):
            order = np.argsort(-last.weights.estimate, kind="stable")[:DANGEROUS]
            return [self._attack(last.scheme, int(index), whole=True) for index in order]
        sites: list[int] = []
        for axis in range(len(self._level)):
            ranked = np.argsort(-self._evidence.scores(axis), kind="stable").tolist()
            sites.extend(self._first_choices(axis, ranked, sites))
        return [tuple(sorted(sites))]

    def _first_choices(self, axis: int, ranked: Iterable[int], taken: Sequence[int]) -> list[int]:
        """The first choices on an axis, as many as the level has, that take no site twice; as attacks have them."""
        one = self._evidence.axes[axis]
        used = set(described(self._evidence.axes, taken)[0])
        chosen: list[int] = []
        for choice in ranked:
            if len(chosen) == self._level[axis]:
                break
            site = int(one.sites[choice // one.law.moves])
            if site not in used:
                chosen.append(choice)
                used.add(site)
        return [int(site) for site in one.attacked(chosen)]

    def _any_will_do(self, axis: int) -> bool:
        """Whether there is one attack on an axis alone, or none that can be told from another."""
        one, number = self._evidence.axes[axis], self._level[axis]
        return not number or one.law.free or (number == len(one.sites) and one.law.moves == 1)

    def gone_through(self) -> Verdict:
        """The level certified by votes at all attacks that are open, of whichever scheme seems to need the fewest."""
        plans = []
        for weighed in self._weighed[self._tried :]:
            bet = self._evidence.own_bet(self._level, weighed.scheme)
            if bet is not None and weighed.scheme.listed:
                plans.append((self._chunks(weighed, bet), weighed, bet))
        verdict = Verdict("open", "no votes of their own can settle its attacks")
        self._tried = len(self._weighed)
        for chunks, weighed, bet in sorted(plans, key=lambda plan: plan[0] * len(plan[1].rest)):
            price = self._price(weighed, chunks)
            if price > self._own.own.left:
                number = f"{len(weighed.rest):,} of {weighed.scheme.n_attacks:,}"
                more = max(price, self._predicted(weighed, bet, weighed.rest) + OWN_CHUNK * self._search_ahead)
                return Verdict(
                    "open",
                    f"{number} attacks need about {more:,} more votes of their own, and fewer are left (own_samples)",
                    more_votes=more,
                )
            still_open = self._not_harmless(weighed, bet)
            if still_open is None:
                own = f"{len(weighed.rest):,} of them with {self._left - self._own.own.left:,} votes of their own"
                return Verdict("certified", f"{_weighing(weighed.scheme.n_attacks)}, {own}")
            verdict = still_open
        return verdict

    @staticmethod
    def _chunks(weighed: Weighed, bet: OwnBet) -> int:
        """About how many chunks of votes settle an attack that is open, if such attacks fail as often as all do."""
        failure = min(float(np.mean(weighed.weights.estimate)), 0.4)
        missing = weighed.needed - float(np.mean(weighed.weights.capital[weighed.rest]))
        return ceil(min(missing / SCALE / max(bet.speed(failure), 1e-6) / OWN_CHUNK, LOOKS[-1]))

    @staticmethod
    def _predicted(weighed: Weighed, bet: OwnBet, attacks: Whole) -> int:
        """About how many votes settle these attacks, each by how often it seems to fail.

        More than `_price`, which decides whether to begin, says: attacks close to one half need many times the votes
        that an average one does.
        """
        failures = np.linspace(0, CLOSEST, 48)
        speeds = np.maximum([bet.speed(float(failure)) for failure in failures], 1e-6)
        speed = np.interp(weighed.weights.estimate[attacks], failures, speeds)
        missing = np.maximum(weighed.needed - weighed.weights.capital[attacks], 0) / SCALE
        return OWN_CHUNK * int(np.minimum(np.ceil(missing / speed / OWN_CHUNK), LOOKS[-1]).sum())

    def _price(self, weighed: Weighed, chunks: int) -> int:
        """How many more votes it takes until every attack that is open has so many chunks; too many: at least so many.

        Levels that list the same attacks share their votes.
        """
        own = self._own.own
        least = len(weighed.rest) * OWN_CHUNK * chunks - (own.most - own.left)
        if least > own.left:  # even if all votes that there are were at these attacks
            return least
        return self._own.price([self._attack(weighed.scheme, int(index)) for index in weighed.rest], chunks)

    def _not_harmless(self, weighed: Weighed, bet: OwnBet) -> Verdict | None:
        """The level, open, if not all open attacks of a scheme are settled; None: they are harmless."""
        for start in range(0, len(weighed.rest), BATCH):
            rest = {
                self._attack(weighed.scheme, int(index)): int(weighed.weights.capital[index])
                for index in weighed.rest[start : start + BATCH]
            }
            for chunks in LOOKS:
                if not self._own.ask(list(rest), chunks):
                    why = f"{len(rest):,} attacks or more are not settled, and no votes are left"
                    more = max(self._own.price(list(rest), chunks), self._missing(rest, weighed.needed, bet))
                    later = self._predicted(weighed, bet, weighed.rest[start + BATCH :])
                    return Verdict("open", why, more_votes=more + later)
                capitals = {attack: self._capital(attack, shared, bet) for attack, shared in rest.items()}
                if any(self._own.excess(attack) > GIVE_UP for attack in rest):
                    return Verdict("open", f"some attacks look as if they broke it, of {weighed.scheme.n_attacks:,}")
                rest = {attack: rest[attack] for attack, capital in capitals.items() if capital < weighed.needed}
                if not rest:
                    break
            if rest:
                return Verdict("open", f"{len(rest):,} attack{'s' * (len(rest) > 1)} too close to call")
        return None

    def _missing(self, rest: Mapping[Attack, int], needed: int, bet: OwnBet) -> int:
        """About how many more votes settle these attacks, if their capitals go on as before.

        Args:
            rest: the attacks, with their capital from the votes on the clean object.
            needed: the capital that settles one.
            bet: the bet on votes of their own.
        """
        votes, slowest = 0.0, max(SCALE * bet.speed(CLOSEST), 1.0)
        for attack, shared in rest.items():
            gained = self._capital(attack, shared, bet) - shared
            speed = max(gained / max(self._own.total(attack), 1), slowest)
            votes += min((needed - shared - gained) / speed, LOOKS[-1] * OWN_CHUNK)
        return ceil(votes)

    def _capital(self, attack: Attack, shared: int, bet: OwnBet) -> int:
        """The logarithm of the capital against "the class has at most half": that of the shared votes times its own."""
        total, against = self._own.total(attack), np.zeros(len(bet.limits), dtype=np.int64)
        if self._own.counts(attack)[self._own.label] < total:
            bins = self._evidence.bins(bet.axes, np.concatenate(self._own.numbers(attack)))
            against = np.bincount(bins, minlength=len(bet.limits))
        return shared + bet.capital(total, against)

    def _attack(self, scheme: Scheme, index: int, *, whole: bool = False) -> Attack:
        """The attacked sites of an attack of a scheme; those of the other axes too if it is `whole`: all, or any."""
        key = scheme.listed, self._level if whole else tuple(self._level[axis] for axis in scheme.listed), index, whole
        if key not in self._own.attacks:
            self._own.attacks[key] = self._found(scheme, index, whole=whole)
        return self._own.attacks[key]

    def _found(self, scheme: Scheme, index: int, *, whole: bool) -> Attack:
        sites = list(self._evidence.attack(self._level, scheme, index))
        for axis in range(len(self._level)) if whole else ():
            if axis not in scheme.listed:
                sites += self._first_choices(axis, range(self._evidence.axes[axis].n_choices), sites)
        return tuple(sorted(sites))


def _breaks(votes: Whole, label: int) -> int:
    """The logarithm of the capital against "the class has more than any other": it is shared between the others."""
    mine = int(votes[label])
    others = [count_capital(mine, mine + int(each)) for other, each in enumerate(votes) if other != label]
    return int(capital_of(np.array(others)))
