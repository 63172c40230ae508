"""A level that the votes on the clean object leave open: votes at attacked objects break it, or settle what is open.

An attack is harmless once the capital of the shared votes times that of its own shows it; one whose own votes are for
another class breaks the level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from starcert.claims.verdict import FoundAttack, Verdict
from starcert.math.attacked_sites import describe_attack
from starcert.math.bets import SCALE, OwnBet, capital_of, class_and_rival, count_capital, needed
from starcert.math.choices import Level
from starcert.math.evidence import FlipEvidence, Weighed, breaking_share, dangerous_attacks
from starcert.math.fallback import Contest
from starcert.methods.own_votes import AttackVotes
from starcert.sampling.attacked import OWN_CHUNKS, OWN_ENDS, Attack

# An attack that is not settled after 2¹⁶ votes is too close to call.
LOOKS = *OWN_ENDS[1:-1], *sorted({OWN_ENDS[-1] * round(2 ** (half / 2)) for half in range(21)})  # to settle attacks
SEARCH_LOOKS = tuple(2**k for k in range(4, 17))  # to find one that breaks a level
BATCH = 4096  # attacks that have votes of their own at a time
GIVE_UP = 5.0  # standard deviations by which votes exceed the limit, where an attack is not harmless
HOPELESS = -4.0  # the same, where an attack breaks nothing
HALVED = 64  # votes, from which on half of them goes on
SEARCH = 224  # votes for each of these, about, that a search for one that breaks a level takes
CLOSEST = 0.94  # of the limit: in predictions no attack fails more often, as what looks worse is mostly chance
TYPICAL = 0.8  # of the limit: the same for attacks that are open, on average

Whole = npt.NDArray[np.int64]


@dataclass(eq=False)
class OpenLevel:
    """A level that the votes on the clean object leave open, and votes at attacked objects.

    Of a threat that lists its attacks, a level is a size, (1,), (2,), …; all axes are listed then.
    `known` keeps attacks by scheme, counts and number: many levels share them.
    """

    evidence: FlipEvidence
    level: Level
    own: AttackVotes
    label: int
    known: dict[tuple[object, ...], Attack]

    def __post_init__(self) -> None:
        self._left, self._search_ahead = self.own.left, 0

    def find_breaking_attack(self, weighed: Weighed, alpha: Fraction) -> Verdict | None:
        """The level broken by one of its most dangerous attacks, or None.

        After 16, 32, 64, … votes, attacks that look harmless are left out; from 64 on, the half with the most votes
        against the class goes on. The attack of rank i has a part 1/((i + 1)(i + 2)) of alpha: ranks come from the
        votes on the clean object, which are others.
        """
        attacks = dangerous_attacks(self.evidence, self.level, weighed)
        ranks, going = list(range(len(attacks))), len(attacks)
        for look in SEARCH_LOOKS:
            if not ranks:
                return None
            if not self.own.draw([attacks[rank] for rank in ranks], look):
                self._search_ahead = SEARCH * len(attacks)
                return None
            counts = {rank: self.own.counts(attacks[rank]) for rank in ranks}
            for rank in ranks:
                delta = breaking_share(self.level, alpha, rank)
                if _capital_against_class(counts[rank], self.label, self.evidence.contest) >= needed(delta):
                    votes = tuple(counts[rank].tolist())
                    why = f"by {sum(votes):,} votes at an attacked object"
                    sites, values = describe_attack(self.evidence.axes, attacks[rank])
                    return Verdict("broken", why, FoundAttack(sites, votes, float(delta), values))
            excess = {rank: self._excess(attacks[rank]) for rank in ranks}
            # Where the class has far more votes than any other, nothing breaks.
            hopeful = sorted((rank for rank in ranks if excess[rank] > HOPELESS), key=lambda rank: -excess[rank])
            if look >= HALVED:
                hopeful = hopeful[: max(1, going // 2)]
                going = len(hopeful)
            ranks = hopeful
        return None

    def settle_open_attacks(self, weighed: Sequence[Weighed]) -> Verdict:
        """The level certified by votes at all attacks that are open, by whichever scheme seems to need the fewest."""
        bets = ((each, self.evidence.own_bet(self.level, each.scheme)) for each in weighed if each.scheme.listed)
        plans = [(_mean_votes(each, bet), each, bet) for each, bet in bets if bet is not None]
        verdict = Verdict("open", "no votes of their own can settle its attacks")
        for votes, each, bet in sorted(plans, key=lambda plan: plan[0] * len(plan[1].rest)):
            price = self._price(each, votes)
            if price > self.own.left:
                number = f"{len(each.rest):,} of {each.scheme.n_attacks:,}"
                more = max(price, _votes_needed(each, bet, each.rest) + self._search_ahead)
                return Verdict(
                    "open",
                    f"{number} attacks need about {more:,} more votes of their own, and fewer are left (own_samples)",
                    more_votes=more,
                )
            still_open = self._draw_until_harmless(each, bet)
            if still_open is None:
                own = f"{len(each.rest):,} of them with {self._left - self.own.left:,} votes of their own"
                return Verdict("certified", f"{by_weighing(each.scheme.n_attacks)}, {own}")
            verdict = still_open
        return verdict

    def _draw_until_harmless(self, weighed: Weighed, bet: OwnBet) -> Verdict | None:
        """None once all open attacks of a scheme are shown to be harmless; otherwise the level, open."""
        nothing = np.zeros(len(bet.limits), dtype=np.int64)
        for start in range(0, len(weighed.rest), BATCH):
            rest = {
                self._attack(weighed, int(index)): int(weighed.weights.capital[index])
                for index in weighed.rest[start : start + BATCH]
            }
            # Before the first look that could settle any, if all votes were for the class, there is nothing to see.
            missing = weighed.needed - max(rest.values())
            first = next(
                (i for i, look in enumerate(LOOKS) if bet.capital(look, nothing, 0) >= missing), len(LOOKS) - 1
            )
            for look in LOOKS[first:]:
                if not self.own.draw(list(rest), look):
                    why = f"{len(rest):,} attacks or more are not settled, and no votes are left"
                    more = max(self.own.missing(list(rest), look), self._predicted(rest, weighed.needed, bet))
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
        """By how many standard deviations votes for another class exceed the limit of the contest."""
        contest = self.evidence.contest
        against, of = contest.score(*self._votes_for(attack), self.own.total(attack))
        return (against - contest.limit * of) / sqrt(contest.limit * (1 - contest.limit) * max(of, 1))

    def _votes_for(self, attack: Attack) -> tuple[int, int]:
        """The own votes for the class, and for the strongest other one."""
        return class_and_rival(self.own.counts(attack), self.label)

    def _price(self, weighed: Weighed, votes: int) -> int:
        """The number of further votes that bring every open attack to this many; at least that, if too few are left."""
        own = self.own
        least = len(weighed.rest) * votes - (own.most - own.left)
        if least > own.left:  # even if all votes that there are were at these attacks
            return least
        return own.missing([self._attack(weighed, int(index)) for index in weighed.rest], votes)

    def _predicted(self, rest: Mapping[Attack, int], needed: int, bet: OwnBet) -> int:
        """About how many more votes settle these attacks (with their shared capital), if capitals go on as before."""
        votes, slowest = 0.0, max(SCALE * bet.speed(CLOSEST * bet.contest.limit), 1.0)
        for attack, shared in rest.items():
            gained = self._capital(attack, shared, bet) - shared
            speed = max(gained / max(self.own.total(attack), 1), slowest)
            votes += min((needed - shared - gained) / speed, LOOKS[-1])
        return ceil(votes)

    def _capital(self, attack: Attack, shared: int, bet: OwnBet) -> int:
        """The logarithm of the capital against "another class is as likely": that of the shared votes times its own."""
        total, against = self.own.total(attack), np.zeros(len(bet.limits), dtype=np.int64)
        mine, rival = self._votes_for(attack)
        if bet.bet is None:  # flips do not matter
            against[0] = total - mine
        elif mine < total:
            numbers = np.concatenate([tally.numbers for tally in self.own.tallies[attack]])
            against = np.bincount(self.evidence.bins(bet.axes, numbers), minlength=len(bet.limits))
        return shared + bet.capital(total, against, rival)

    def _attack(self, weighed: Weighed, index: int) -> Attack:
        """The attacked sites of a weighed attack, without those of pooled axes."""
        listed = weighed.scheme.listed
        whole_level = weighed.parts[0].rows is not None
        key = listed, self.level if whole_level else tuple(self.level[axis] for axis in listed), index
        if key not in self.known:
            self.known[key] = self.evidence.attack(weighed, index)
        return self.known[key]


def _capital_against_class(votes: Whole, label: int, contest: Contest) -> int:
    """The logarithm of the capital against "the class wins each contest": it is shared between the others."""
    mine, total, others = int(votes[label]), int(votes.sum()), []
    for other, each in enumerate(votes.tolist()):
        if other != label:
            against, of = contest.score(mine, each, total)
            others.append(count_capital(of - against, of, 1 - contest.limit))
    return int(capital_of(np.array(others)))


def _mean_votes(weighed: Weighed, bet: OwnBet) -> int:
    """About how many votes settle an attack that is open, if such attacks fail as often as all do."""
    failure = min(float(np.mean(weighed.weights.estimate)), TYPICAL * bet.contest.limit)
    missing = weighed.needed - float(np.mean(weighed.weights.capital[weighed.rest]))
    votes = min(missing / SCALE / max(bet.speed(failure), 1e-6), LOOKS[-1])
    return OWN_CHUNKS[0] * ceil(votes / OWN_CHUNKS[0])


def _votes_needed(weighed: Weighed, bet: OwnBet, attacks: Whole) -> int:
    """About how many votes settle these attacks, each by how often it seems to fail.

    This is more than `_price`: attacks close to one half need many times the votes that an average one does.
    """
    failures = np.linspace(0, CLOSEST * bet.contest.limit, 48)
    speeds = np.maximum([bet.speed(float(failure)) for failure in failures], 1e-6)
    speed = np.interp(weighed.weights.estimate[attacks], failures, speeds)
    missing = np.maximum(weighed.needed - weighed.weights.capital[attacks], 0) / SCALE
    looks = np.array(LOOKS)
    return int(looks[np.minimum(np.searchsorted(looks, missing / speed), len(looks) - 1)].sum())


def by_weighing(number: int) -> str:
    """The reason for a verdict."""
    return f"by weighing {number:,} attack{'s' * (number > 1)}"
