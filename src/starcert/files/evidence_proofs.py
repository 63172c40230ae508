"""The verdicts of evidence by another way: from single votes, in ball arithmetic.

The engine counts bits of packed columns and adds rounded logarithms. Here the votes against the class are rows of a
plain matrix, and are counted attack by attack: how many of each stage and bin flipped how many of the attacked sites,
and show which outcome there. The penalty π is summed over these numbers and K, likelihood ratios are fractions, and
with the θ and X that follow the capital is

    M = mean over g of Π (1 + g·(θ − X)),

and an attack is harmless if (1 − reserve)·M + reserve, times the capital of its own votes where it has some, is at
least 1/δ at some look.

What the engine chose, λ and g, is taken over: a bet is fair whatever is chosen, if only it was chosen before. So what
is chosen for a stage is asked of an engine that was shown the votes before that stage, and no others.

Every attack is weighed again where there are few; otherwise those that were nearest to failing, and all that were
settled with votes of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, factorial, prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from flint import acb, arb, ctx

from starcert.certificates.evidence import LOOKS, evidence_of
from starcert.math.arithmetic import LOCK, exact_number, float_below
from starcert.math.attack_axis import counted_sites, numbered
from starcert.math.attacks import attacks_of
from starcert.math.bets import RESERVE, sizes_of_stakes
from starcert.math.confidence import Votes
from starcert.math.evidence import MAX_FLIPS, STAGE_GROWTH, AlphaShares
from starcert.math.pooling import bins_of
from starcert.math.site_laws import SiteLaw

if TYPE_CHECKING:
    from starcert.certificates.certificate import Certificate, FoundAttack
    from starcert.certificates.votes import OwnTally
    from starcert.files.evidence_file import GraphEvidence
    from starcert.files.record import Archive
    from starcert.math.attack_axis import AttackAxis
    from starcert.math.evidence import Evidence, Level, Scheme, Weighed
    from starcert.math.flips import FlipRecord

__all__ = ["MOST_AGAIN", "EvidenceCheck", "check_verdicts"]

MOST_AGAIN = 2**14
"""A level with more attacks is not weighed again as a whole."""

NEAREST = 64
"""Of such a level, so many attacks with the least capital are."""

SCALE = 2**32
"""Logarithms are rounded down to multiples of 1/SCALE, and then added as whole numbers."""

PRECISION = 96

Whole = npt.NDArray[np.int64]
Ball: TypeAlias = arb
Chosen: TypeAlias = tuple[tuple[int, ...], ...]
"""Of each listed axis the numbers of the attacked sites."""


class EvidenceCheck(NamedTuple):
    """What was proved a second time about one graph.

    Attributes:
        levels: certified levels.
        broken: broken levels.
        attacks: attacks that were weighed again.
        own: of these, those that were settled with votes of their own.
    """

    levels: int
    broken: int
    attacks: int
    own: int


def check_verdicts(archive: Archive, row: int, certificate: Certificate) -> EvidenceCheck | None:
    """Proves the verdicts of evidence on one graph a second time; None if it has none.

    Raises:
        ArithmeticError: two proofs disagree.
    """
    graph = None if archive.evidence is None else archive.evidence[row]
    if graph is None or certificate.verdicts is None:
        return None
    again = _Again(archive, row, certificate, graph)
    attacks = own = 0
    for level in certificate.verdicts.certified:
        found = again.certifies(level)
        if found is None:
            raise ArithmeticError(
                f"two proofs disagree about level {level} of graph {row}: please report this as a bug"
            )
        attacks, own = attacks + found[0], own + found[1]
    for level in certificate.broken:
        attack = certificate.attack(level)
        if attack is None or not again.breaks(level, attack):
            raise ArithmeticError(
                f"two proofs disagree about level {level} of graph {row}: please report this as a bug"
            )
    return EvidenceCheck(len(certificate.verdicts.certified), len(certificate.broken), attacks, own)


class _Again:
    """The votes on one graph, to be looked at in the plainest way there is.

    Attributes:
        graph: the evidence.
        axes: the axes of the noise on it.
        engine: what weighs all its votes.
        before: for each stage of the bet, an engine that knows the votes before it.
        stages: the stage of each vote against the class.
        n_votes: how many votes each stage has.
        shown: for each axis and choice the outcome that each vote against the class shows, 0 where the site did not
            flip; None: not known, or too many.
        numbers: how many sites of each axis flipped in each vote against the class, shape (votes, axes).
    """

    def __init__(self, archive: Archive, row: int, certificate: Certificate, graph: GraphEvidence) -> None:
        record, selection = graph.record, archive.votes.selection
        assert selection is not None
        self.graph, self._label, self.axes = graph, certificate.label, graph.axes(archive.noise)
        ends = [0, 1]
        while ends[-1] < len(record.samples):
            ends.append(ends[-1] * STAGE_GROWTH)
        stage_of_chunk = np.searchsorted(ends, np.arange(len(record.samples)), side="right") - 1
        self.stages = np.repeat(stage_of_chunk, record.against)
        self.n_votes = [int(record.samples[stage_of_chunk == stage].sum()) for stage in range(len(ends) - 1)]
        choices = max(record.n_sites, sum(axis.n_choices for axis in self.axes))
        some = record.complete and len(record) * choices <= MAX_FLIPS
        self.shown = [_shown(record, axis) for axis in self.axes] if some else None
        counted = counted_sites(self.axes)
        self.numbers = (
            np.stack([record.matrix(sites).sum(axis=1) for sites in counted], axis=1)
            if some
            else record.numbers(counted)
        )

        shares = AlphaShares.of(Fraction(archive.alpha) / certificate.together)

        def engine(chunks: int) -> Evidence:
            votes = Votes(archive.votes.counts[[row]], selection[[row]], records=[record.first(chunks)])
            return evidence_of(votes, self.axes, alpha=shares.certified, box=certificate.max_radius)

        self.engine = engine(len(record.samples))
        self.before = [engine(end) for end in ends[:-1]]

    def certifies(self, level: Level) -> tuple[int, int] | None:
        """How many attacks of a level were weighed again, and how many of them with votes of their own; None: in vain.

        The engine says which attacks the votes on the clean graph leave open: if any of them has no votes of its own,
        a scheme is not worth a proof.
        """
        if not self.engine.possible(level):
            return 0, 0
        for scheme in self.engine.schemes(level):
            weighed = self.engine.weighed(level, scheme)
            if len(weighed.rest) <= len(self.graph.own):
                with LOCK, ctx.workprec(PRECISION):
                    found = self._weighed_again(level, scheme, weighed)
                if found is not None:
                    return found
        return None

    def _weighed_again(self, level: Level, scheme: Scheme, weighed: Weighed) -> tuple[int, int] | None:
        delta, reserve = exact_number(self.engine.delta(level, scheme)), exact_number(RESERVE)
        shared = _SharedBet.of(self, level, scheme)
        # Where no bet is possible nothing was lost either. Where flips are not known, all may have been lost.
        unweighed = arb(self.engine.wager(level, scheme, 0) is None)
        own = _OwnBet.of(self, level, scheme) if len(weighed.rest) else None
        attacks = settled = 0
        for attack in self._chosen(level, scheme, weighed):
            attacks += 1
            won = unweighed if shared is None else shared.capital(attack)
            capital = (1 - reserve) * won + reserve
            if capital * delta >= 1:
                continue
            settled += 1
            sites = [self.axes[axis].attacked(chosen) for axis, chosen in zip(scheme.listed, attack, strict=True)]
            tallies = self.graph.own.get(
                tuple(sorted(np.concatenate([np.empty(0, dtype=np.int64), *sites]).tolist())), ()
            )
            if own is None or not own.reaches(capital * delta, tallies):
                return None
        return attacks, settled

    def _chosen(self, level: Level, scheme: Scheme, weighed: Weighed) -> Iterator[Chosen]:
        """The attacks that are weighed again: all, or those nearest to failing and those that are open."""
        attacks = attacks_of(self.engine.listed(level, scheme))
        if scheme.n_attacks <= MOST_AGAIN:
            return attacks
        least = np.argsort(weighed.weights.capital, kind="stable")[:NEAREST].tolist()
        wanted = {*least, *weighed.rest.tolist()}
        return (attack for number, attack in enumerate(attacks) if number in wanted)

    def breaks(self, level: Level, attack: FoundAttack) -> bool:
        """Whether an attack is of a level, its votes were recorded, and they are too few for the class."""
        moved = numbered(self.axes, attack.sites, attack.values)
        of_level = level == tuple(int(np.isin(axis.attacked(range(axis.n_choices)), moved).sum()) for axis in self.axes)
        sums = np.cumsum([tally.counts for tally in self.graph.own.get(moved, ())], axis=0)
        if not of_level or len(attack.sites) != sum(level) or list(attack.votes) not in sums.tolist():
            return False
        mine = attack.votes[self._label]
        others = [votes for label, votes in enumerate(attack.votes) if label != self._label]
        with LOCK, ctx.workprec(PRECISION):
            capital = sum((_mixture(mine, mine + each) for each in others), arb(0)) / len(others)
            return bool(capital * exact_number(Fraction(attack.delta)) >= 1)


class _SharedBet:
    """The bet on the votes on the clean graph, for all attacks of a scheme.

    Args:
        again: the votes.
        scheme: which axes are listed.
        level: how many sites are attacked on each axis.
        groups: the stage and bin of each vote against the class, as one number.
        seen: what such a vote adds to the logarithm of capital, shape (stakes, *(numbers of outcomes), groups).
        quiet: what all votes for the class add together, shape (stakes,).
    """

    def __init__(self, again: _Again, scheme: Scheme, level: Level, groups: Whole, seen: Whole, quiet: Whole) -> None:
        self._again, self._scheme, self._groups, self._quiet = again, scheme, groups, quiet
        self._steps: list[Whole] = []
        step = seen.shape[-1]
        for axis in reversed(scheme.listed):  # for each outcome how far it leads; the last one leads least
            lengths = [step * (level[axis] + 1) ** i for i in range(len(again.axes[axis].law.outcomes))]
            self._steps.insert(0, np.array([0, *reversed(lengths)]))
            step = lengths[-1] * (level[axis] + 1)
        self._seen = seen.reshape(len(seen), -1)

    @classmethod
    def of(cls, again: _Again, level: Level, scheme: Scheme) -> _SharedBet | None:
        """The bet of a scheme; None where the engine makes none, or single flips are not known."""
        if scheme.listed and again.shown is None:
            return None
        pooled = tuple(axis for axis, number in enumerate(level) if number and axis not in scheme.listed)
        bins, n_bins = _bins(again, pooled, again.numbers)
        # Without pooled axes nothing is chosen, and all votes are of one stage.
        n_votes = again.n_votes if pooled else [sum(again.n_votes)]
        stages = again.stages if pooled else np.zeros_like(again.stages)
        seen, quiet = [], np.zeros(0, dtype=np.int64)
        for stage, votes in enumerate(n_votes):
            wager = again.before[stage].wager(level, scheme, stage)
            if wager is None:
                return None
            theta = _theta(again, level, range(len(level)), pooled, wager.limits)
            values = [
                [ratio * arb(limit) for limit in wager.limits.tolist()] for ratio in _ratios(again, level, scheme)
            ]
            gains = _gains(wager.sizes, theta, [x for row in values for x in row])
            seen.append(gains.reshape(len(gains), -1, n_bins))
            lost = int((stages == stage).sum())
            quiet = (votes - lost) * _gains(wager.sizes, theta, [arb(0)])[:, 0] + (quiet if len(quiet) else 0)
        return cls(again, scheme, level, stages * n_bins + bins, np.concatenate(seen, axis=-1), quiet)

    def capital(self, attack: Chosen) -> Ball:
        """At least the capital against one attack: votes are counted by what they show at its sites, and group."""
        cells = self._groups.copy()
        for axis, steps, chosen in zip(self._scheme.listed, self._steps, attack, strict=True):
            assert self._again.shown is not None
            for number in chosen:
                cells += steps[self._again.shown[axis][number]]
        counts = np.bincount(cells, minlength=self._seen.shape[1])
        return _mean_of_exponentials(self._quiet + self._seen @ counts)


class _OwnBet:
    """The bet on votes at attacked graphs."""

    def __init__(self, again: _Again, axes: tuple[int, ...], gains: Whole | None, quiet: Whole | None) -> None:
        self._again, self._axes, self._gains, self._quiet = again, axes, gains, quiet

    @classmethod
    def of(cls, again: _Again, level: Level, scheme: Scheme) -> _OwnBet | None:
        """That of a scheme; None where the engine makes none."""
        bet = again.engine.own_bet(level, scheme)
        if bet is None:
            return None
        if not bet.axes:
            return cls(again, (), None, None)
        theta = _theta(again, level, bet.axes, bet.axes, bet.limits)
        sizes = sizes_of_stakes(bet.theta, bet.limits)
        gains = _gains(sizes, theta, [arb(limit) for limit in bet.limits.tolist()])
        return cls(again, bet.axes, gains, _gains(sizes, theta, [arb(0)])[:, 0])

    def reaches(self, already: Ball, tallies: Sequence[OwnTally]) -> bool:
        """Whether the capital, times what there is already, was 1 or more at any look."""
        looks = (look for look in LOOKS if look <= len(tallies))
        return any(bool(already * self._capital(tallies[:look]) >= 1) for look in looks)

    def _capital(self, tallies: Sequence[OwnTally]) -> Ball:
        votes = sum(int(tally.counts.sum()) for tally in tallies)
        numbers = np.concatenate([tally.numbers for tally in tallies])
        if self._gains is None or self._quiet is None:
            return _mixture(len(numbers), votes)
        bins, n_bins = _bins(self._again, self._axes, numbers)
        counts = np.bincount(bins, minlength=n_bins)
        return _mean_of_exponentials(self._quiet * (votes - len(numbers)) + self._gains @ counts)


def _bins(again: _Again, pooled: tuple[int, ...], numbers: Whole) -> tuple[Whole, int]:
    """The bin of each vote from its flip numbers, and how many bins there are."""
    bins, n_bins = np.zeros(len(numbers), dtype=np.int64), 1
    for first in dict.fromkeys(again.engine.pools[axis] for axis in pooled):
        starts = bins_of(len(again.axes[first].sites), again.axes[first].law.clean)
        own = sum((numbers[:, first] >= start).astype(np.int64) for start in starts[1:])
        bins, n_bins = bins * len(starts) + own, n_bins * len(starts)
    return bins, n_bins


def _shown(record: FlipRecord, axis: AttackAxis) -> npt.NDArray[np.uint8]:
    """The outcome that each vote shows at each choice of an axis, shape (choices, votes)."""
    if axis.moves is None:
        return np.ascontiguousarray(record.matrix(axis.sites).T).view(np.uint8)
    found = np.zeros((axis.n_choices, len(record)), dtype=np.uint8)
    values = record.values(axis.sites)
    for site, clean in enumerate(axis.moves.values.tolist()):
        shown = np.where(values[:, site] < 0, clean, values[:, site])
        for move in range(axis.law.moves):
            found[axis.law.moves * site + move] = axis.moves.outcomes[clean, move][shown]
    return found


def _ratios(again: _Again, level: Level, scheme: Scheme) -> list[Ball]:
    """The likelihood ratio of each combination of outcomes on the listed axes."""
    own = [_powers(again.axes[axis].law, level[axis]) for axis in scheme.listed]
    return [prod(parts, start=arb(1)) for parts in product(*own)]


def _powers(law: SiteLaw, number: int) -> list[Ball]:
    """The likelihood ratio of so many attacked sites, for all numbers of each outcome of a flip; 0: it never is."""
    shown = [exact_number(attacked / clean if clean else Fraction(0)) for clean, attacked in law.outcomes]
    stayed = exact_number((1 - law.attacked) / (1 - law.clean) if law.clean < 1 else Fraction(0))
    return [
        prod((ratio**j for ratio, j in zip(shown, shares, strict=True)), start=stayed ** (number - sum(shares)))
        if sum(shares) <= number
        else arb(0)
        for shares in _grid(law, number)
    ]


def _grid(law: SiteLaw, number: int) -> Iterator[tuple[int, ...]]:
    """All numbers of each outcome of a flip up to this one, though they may be too many together."""
    return product(range(number + 1), repeat=len(law.outcomes))


def _theta(
    again: _Again, level: Level, attacked: Sequence[int], pooled: tuple[int, ...], limits: npt.NDArray[np.float64]
) -> Ball:
    """1/2, less π, less what an object that is attacked on these axes shows and the clean one never does."""
    shown = prod(((1 - again.axes[axis].law.unseen) ** level[axis] for axis in attacked), start=Fraction(1))
    pools = again.engine.pools
    together = [[axis for axis in pooled if pools[axis] == first] for first in dict.fromkeys(pools[a] for a in pooled)]
    ratios, masses = _pool(
        tuple(
            (tuple((again.axes[axis].law, level[axis]) for axis in some), len(again.axes[some[0]].sites))
            for some in together
        )
    )
    penalty = arb(0)
    bounds = [arb(limit) for limit in limits.tolist()]
    for ratio, row in zip(ratios, masses, strict=True):
        for limit, mass in zip(bounds, row, strict=True):
            over = ratio - limit
            if not over <= 0:
                penalty += mass * (over if over > 0 else over.upper())
    theta: Ball = exact_number(shown - Fraction(1, 2)) - penalty
    return theta


Attacked: TypeAlias = tuple[tuple[SiteLaw, int], ...]
"""Of each axis of a pool the law and how many sites are attacked."""


@lru_cache(maxsize=64)
def _pool(pools: tuple[tuple[Attacked, int], ...]) -> tuple[list[Ball], list[list[Ball]]]:
    """For all that attacked sites may show: the likelihood ratio, and its mass in each bin."""
    ratios, masses = [arb(1)], [[arb(1)]]
    for pool, n_sites in pools:
        own = _joint_masses(pool, n_sites)
        for law, attacked in pool:
            ratios = [left * right for left in ratios for right in _powers(law, attacked)]
        masses = [[x * y for x in left for y in right] for left in masses for right in own]
    return ratios, masses


@lru_cache(maxsize=1024)
def _joint_masses(pool: Attacked, n_sites: int) -> list[list[Ball]]:
    """P(attacked sites show these outcomes, K in bin): with j flips among them, K is j and those of the others."""
    clean = pool[0][0].clean
    starts = bins_of(n_sites, clean)
    others = _binomial(n_sites - sum(attacked for _, attacked in pool), clean) if len(starts) > 1 else []
    ends = [*starts[1:], n_sites + 1]
    hit = [(0, arb(1))]
    for law, attacked in pool:
        hit = [(i + j, left * right) for i, left in hit for j, right in _multinomial(law, attacked)]
    return [
        [
            mass * sum(others[max(start - j, 0) : max(end - j, 0)], arb(0)) if len(starts) > 1 else mass
            for start, end in zip(starts, ends, strict=True)
        ]
        for j, mass in hit
    ]


def _multinomial(law: SiteLaw, attacked: int) -> list[tuple[int, Ball]]:
    """For all numbers of each outcome of a flip: how many flips these are, and the probability of that."""
    chances = [exact_number(clean) for clean, _ in law.outcomes]
    stays, found = exact_number(1 - law.clean), []
    for shares in _grid(law, attacked):
        left = attacked - sum(shares)
        ways = factorial(attacked) // prod(map(factorial, (*shares, left))) if left >= 0 else 0
        mass = prod((chance**j for chance, j in zip(chances, shares, strict=True)), start=arb(ways))
        found.append((sum(shares), mass * stays**left if ways else arb(0)))
    return found


def _binomial(n: int, p: Fraction) -> list[Ball]:
    yes, no = exact_number(p), exact_number(1 - p)
    return [arb(comb(n, k)) * yes**k * no ** (n - k) for k in range(n + 1)]


def _gains(sizes: npt.NDArray[np.float64], theta: Ball, values: Sequence[Ball]) -> Whole:
    """At most log(1 + g·(θ − X)), for each g and X, in 1/SCALE."""
    found = np.zeros((len(sizes), len(values)), dtype=np.int64)
    for i, size in enumerate(sizes.tolist()):
        for k, value in enumerate(values if size else ()):
            logarithm = ((1 + arb(size) * (theta - value)).lower()).log()
            found[i, k] = math.floor(float_below((logarithm * SCALE).lower()))
    return found


def _mean_of_exponentials(logarithms: Whole) -> Ball:
    return sum(((arb(each) / SCALE).exp() for each in logarithms.tolist()), arb(0)) / len(logarithms)


@lru_cache(maxsize=2**14)
def _mixture(count: int, total: int) -> Ball:
    """The capital against "at least half" after `count` of `total` votes, as an integral.

    With v = sin²t the mean of (2v)ᵐ(2(1 − v))ⁿ⁻ᵐ over the arcsine law below 1/2 is that over t from 0 to π/4, evenly.
    """

    def capital(t: acb, _: bool) -> acb:  # flint asks for what is analytic, as this is
        return (2 * t.sin() ** 2) ** count * (2 * t.cos() ** 2) ** (total - count)

    with ctx.workprec(64):
        whole = acb.integral(capital, acb(0), acb(arb.pi() / 4), rel_tol=arb(2) ** -50)
        return whole.real * 4 / arb.pi()
