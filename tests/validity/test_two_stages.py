"""An attack passes by the shared votes, or by these together with votes of its own: one capital, one delta for both.

First the worst case over all fair bets, enumerated in fractions. Then real votes in worlds exactly at the edge, where
one attack fails with probability one half: whatever is certified there is false.
"""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from evidence_worlds import OwnVotesOf, adding, at_the_edge, deleting, symmetric

from starcert.math.bets import NO_CAPITAL, SCALE, capital_of, needed, with_reserve
from starcert.math.evidence import FlipEvidence
from starcert.math.frontier import Frontier
from starcert.math.pooling import level_weight
from starcert.methods.evidence import find_verdicts

DELTA = Fraction(1, 10)
CAPITALS = [Fraction(quarter, 4) for quarter in range(4 * 256)]
FAIR_BETS = [{Fraction(1): Fraction(1)}] + [
    {high: (1 - low) / (high - low), low: (high - 1) / (high - low)}
    for low in CAPITALS
    for high in CAPITALS
    if low < 1 < high
]
"""The chance of each capital, with a mean of 1. Laws with more than two values are mixtures of these."""


def logarithm(capital):
    return math.floor(math.log(capital) * SCALE) if capital else NO_CAPITAL


LOGARITHMS = {capital: logarithm(capital) for capital in CAPITALS}


def one_capital(shared, own=None):
    """The rule: at every look the same capital, times what was won on own votes if there are some."""
    capital = int(with_reserve(np.array([LOGARITHMS[shared]]))[0])
    return capital + (0 if own is None else LOGARITHMS[own]) >= needed(DELTA)


def two_capitals(shared, own=None):
    """A negative control: shared votes pass alone with all they won, and with own votes with half of it."""
    capital = LOGARITHMS[shared]
    if own is not None:
        capital = int(capital_of(np.array([0, capital]))) + LOGARITHMS[own]
    return capital >= needed(DELTA)


def worst_case(passes):
    """The largest probability to pass, of a fair bet on shared votes followed by any fair bet on own votes."""

    @cache
    def reaches(least):
        return max(sum(chance for capital, chance in bet.items() if capital >= least) for bet in FAIR_BETS)

    later = {shared: reaches(next(own for own in CAPITALS if passes(shared, own))) for shared in CAPITALS}
    chances = {shared: 1 if passes(shared) else later[shared] for shared in CAPITALS}
    return max(sum(chance * chances[shared] for shared, chance in bet.items()) for bet in FAIR_BETS)


def test_one_capital_keeps_delta_in_the_worst_case_of_two_stages():
    assert 0.95 * DELTA < worst_case(one_capital) <= DELTA


def test_two_capitals_spend_half_as_much_again():
    assert 1.4 * DELTA < worst_case(two_capitals) <= 1.5 * DELTA


@cache
def chance_to_pass(shared):
    """With own votes that double the capital or lose all of it: the same votes serve every capital of shared votes."""
    if one_capital(shared):
        return Fraction(1)
    least = next(own for own in CAPITALS if one_capital(shared, own))
    return Fraction(1, 2 ** math.ceil(math.log2(least)))


def test_own_votes_that_continue_two_numbers_of_shared_votes_break_the_promise():
    """A negative control, which a store refuses: after a look at own votes, shared votes are added."""

    def chance(of):
        return max(sum(chance * of(shared) for shared, chance in bet.items()) for bet in FAIR_BETS)

    assert chance(chance_to_pass) <= DELTA
    assert chance(lambda shared: max(chance_to_pass(Fraction(1)), chance_to_pass(shared))) > 1.4 * DELTA


ALPHA = 0.3
WORLDS = {
    "symmetric": ((symmetric(0.2),), (6,), (1,)),
    "two flips": ((symmetric(0.3),), (5,), (2,)),
    "delete and add": ((deleting(0.3, 0.15), adding(0.3, 0.15)), (3, 3), (1, 1)),
    "listed and pooled": ((symmetric(0.1), symmetric(0.4)), (3, 3), (1, 2)),
    "no noise": ((symmetric(0), symmetric(0.3)), (3, 3), (1, 0)),
}
LOOKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


class DrawnAgain(OwnVotesOf):
    """A negative control: chunks of own votes that go against the class are drawn once more."""

    def count(self, attacks, chunk):
        first, second = super().count(attacks, chunk), super().count(attacks, chunk)
        return [max(pair, key=lambda tally: tally.counts[0]) for pair in zip(first, second, strict=True)]


def false_certificates(name, runs, seed, own_votes=OwnVotesOf):
    """How many of these worlds are certified at a look at shared votes, or in the end with own votes."""
    laws, sizes, level = WORLDS[name]
    rng = np.random.default_rng([seed, list(WORLDS).index(name)])
    zero = (0,) * len(level)
    certified = 0
    for _ in range(runs):
        world = at_the_edge(rng, laws, sizes, level)
        assert world.worst(level) == pytest.approx(0.5)
        votes = world.votes(rng, 64 * LOOKS[-1])
        own = own_votes(world, rng, 12_000)
        certified += any(
            find_verdicts(
                FlipEvidence(
                    votes.first(look),
                    world.axes,
                    alpha=Fraction(ALPHA) / level_weight(level, level),
                    failure=0.1,
                    box=level,
                ),
                Frontier((zero,), (level,), verified=True),
                own=source,
                label=0,
                alpha=ALPHA,
                broken=Fraction(1, 1000),
            ).certified
            for look, source in [*((look, None) for look in LOOKS), (LOOKS[-1], own)]
        )
    return certified


def at_most(runs):
    """The number of false certificates that a rate of ALPHA exceeds once in 100,000 tests."""
    return runs * ALPHA + 4.3 * math.sqrt(runs * ALPHA * (1 - ALPHA))


@pytest.mark.parametrize("name", WORLDS)
def test_shared_and_own_votes_together_keep_the_promise(name):
    assert false_certificates(name, 30, 1) <= at_most(30)


@pytest.mark.slow
def test_shared_and_own_votes_together_keep_the_promise_in_two_thousand_worlds():
    assert sum(false_certificates(name, 400, 2) for name in WORLDS) <= 2_000 * ALPHA


def test_own_votes_that_are_drawn_again_break_the_promise():
    assert sum(false_certificates(name, 10, 3, DrawnAgain) for name in WORLDS) > at_most(50)
