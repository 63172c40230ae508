"""Votes that are looked at as they come: a false claim is as rare as alpha says, whatever makes a plan stop.

At the edge, where the failure probability is exactly the limit, each claim is false. The probability of one at any time
is computed exactly for the first votes, and counted in runs of the real plan.
"""

import math

import numpy as np
import pytest
from decided_plan_worlds import SLACK, drawn, plan_for_one_flip
from scipy.special import betaincinv

import starcert as sc
from starcert.math.confidence import anytime_bounds
from starcert.math.limits import capital_against
from starcert.methods import early_stopping as decided_plan

ALPHA = 0.1
RUNS = 250


def anytime(lost, total, limit):
    return capital_against(lost, total, limit) >= math.log(1 / ALPHA)


def fixed_in_advance(lost, total, limit):
    """A negative control: Clopper–Pearson's bound at every look."""
    return lost < total and betaincinv(lost + 1, total - lost, 1 - ALPHA) < limit


def normalised_twice(lost, total, limit):
    """A negative control: the mean over v < limit is divided by the mass of these v once more."""
    mass = 2 / math.pi * math.asin(math.sqrt(limit))
    return capital_against(lost, total, limit) - math.log(mass) >= math.log(1 / ALPHA)


def ever_claimed(claims, limit, most=400):
    """The probability that a claim is made at any of the first votes, with a failure probability of `limit`."""
    alive, claimed = np.array([1.0]), 0.0  # the chance of each number of lost votes, without a claim so far
    for total in range(1, most + 1):
        alive = np.append(alive * (1 - limit), 0) + np.insert(alive * limit, 0, 0)
        lost = 0
        while lost <= total and claims(lost, total, limit):  # claims are made up to some number of lost votes
            claimed += alive[lost]
            alive[lost] = 0
            lost += 1
    return claimed


@pytest.mark.parametrize("limit", [0.02, SLACK, 0.5, 0.9])
def test_a_false_claim_at_any_time_is_as_rare_as_alpha(limit):
    assert 0.2 * ALPHA < ever_claimed(anytime, limit) <= ALPHA


@pytest.mark.parametrize("claims", [fixed_in_advance, normalised_twice])
def test_other_bounds_are_not_for_any_time(claims):
    assert ever_claimed(claims, SLACK) > ALPHA


def runs_of_the_plan(p, runs=RUNS):
    """How many runs of the plan at p_A = p end with a claim, and the mean number of their estimation votes."""
    plan, rng = plan_for_one_flip(20_000, alpha=ALPHA), np.random.default_rng(3)
    found = [drawn(plan, p, rng) for _ in range(runs)]
    votes = sc.Votes([each[1] for each in found], [each[0] for each in found], history="stopped")
    assert (votes.selection.argmax(axis=1) == 0).all()
    claims = anytime_bounds(votes, alpha=ALPHA).failure < SLACK
    return claims.sum(), votes.counts.sum(axis=1).mean()


@pytest.mark.parametrize("give_up", [1e-6, 0.01, 0.5])
def test_giving_up_claims_nothing(give_up, monkeypatch):
    """However often a question is given up, claims are not more often false."""
    monkeypatch.setattr(decided_plan, "GIVE_UP", give_up)
    claims, _ = runs_of_the_plan(1 - SLACK)
    assert claims <= RUNS * ALPHA + 4 * math.sqrt(RUNS * ALPHA)


def test_giving_up_saves_votes_and_costs_little_power(monkeypatch):
    claims, _ = runs_of_the_plan(0.9)
    assert claims >= 0.97 * RUNS
    _, few = runs_of_the_plan(0.85)
    monkeypatch.setattr(decided_plan, "GIVE_UP", 1e-300)
    _, many = runs_of_the_plan(0.85)
    assert many > 4 * few
