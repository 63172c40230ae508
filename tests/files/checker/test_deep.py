"""The second proof of deep votes: it wins the same capital as the engine, and catches an engine that is wrong."""

import math
from fractions import Fraction

import pytest
from archive_worlds import written
from deep_archives import DEEP_WORLDS, deep_world, ring
from flint import ctx

from starcert import files as archives
from starcert.files.checker import deep as checking
from starcert.files.checker import evidence as checks
from starcert.files.verification import evidence_checker
from starcert.math import deep_votes as engine
from starcert.math.arithmetic import LOCK
from starcert.math.attacked_sites import attacks_of
from starcert.math.bets import RESERVE, SCALE


@pytest.mark.parametrize("name", [name for name in DEEP_WORLDS if name not in ("rewire", "one-way")])
def test_two_ways_win_the_same_capital(name):
    """The second way rounds less, so it wins no less, and hardly more."""
    archive, compared, certain = deep_world(name), 0, 0
    for row, one in enumerate(archive.certificates):
        again, votes = evidence_checker(archive, row, one), archive.evidence[row].deep.votes(one.verdicts.grounds.axes)
        for level in one.verdicts.levels:
            scheme = again.engine.full_scheme(level) if any(level) else None
            if scheme is None or votes is None:
                continue
            choices, ratios = again.engine.listed(level, scheme), again.engine.ratios(level, scheme.listed)
            found = votes.weights(level, scheme.listed, choices, ratios)
            with LOCK, ctx.workprec(96):
                bet = again.deep.bet(again.engine, level, scheme)
                some = list(enumerate(attacks_of(choices)))[:60]
                for number, attack in some:
                    failing, second = bet.failing(attack), bet.capital(attack)
                    assert float(found.least[number]) <= float(failing) + 1e-15
                    first = int(found.capital[number])
                    if abs(first) == abs(engine.CERTAIN):
                        assert float(second) == (math.inf if first == engine.CERTAIN else 0)
                        certain += 1
                        continue
                    assert first / SCALE - 1e-9 <= math.log(float(second)) <= first / SCALE + 1e-3
                    compared += 1
    assert (certain if name in ("two flips", "for certain", "delete and add", "three classes") else compared) > 3


def lighter(monkeypatch):
    """Votes weigh a sixteenth of what they should."""
    weights_of = engine.weights_of
    monkeypatch.setattr(engine, "weights_of", lambda *of: weights_of(*of) / 16)


def all_covered(monkeypatch):
    """Nothing that an attacked object shows is out of reach."""
    monkeypatch.setattr(engine, "covered", lambda *_: 1.0)


def nothing_asked(monkeypatch):
    """A_S is left out."""
    weigh = engine.weigh

    def without(columns, *of):
        found = weigh(columns, *of)
        return found if of[1].any() else found._replace(estimate=0 * found.estimate)

    monkeypatch.setattr(engine, "weigh", without)


@pytest.mark.parametrize(
    ("wrong", "world"),
    [
        (lighter, {"limit": 45, "noise": 0.07, "deep": 1_000}),
        (all_covered, {"deep": 300}),
        (nothing_asked, {"limit": 21, "noise": 0.005}),
    ],
)
def test_an_engine_that_proves_too_much_is_caught(tmp_path, monkeypatch, wrong, world):
    assert ring(**world).certificates[0].verdict(2) != "certified"
    wrong(monkeypatch)
    archive = ring(**world)
    assert archive.certificates[0].verdict(2) == "certified"
    with pytest.raises(ArithmeticError, match=r"two proofs disagree about level \(2,\) of graph 0"):
        archives.verify(written(tmp_path, archive))


def heavier(monkeypatch):
    """w is four times what it is."""
    monkeypatch.setattr(checking, "UNIT", 4 * checking.UNIT)


def fewer(monkeypatch):
    """The sites that are attacked flip no more often than others."""
    masses = checking._AttackedLaw.masses
    monkeypatch.setattr(
        checking._AttackedLaw, "masses", lambda self, numbers: [mass / 2 for mass in masses(self, numbers)]
    )


def smaller(monkeypatch):
    """Stakes are made for smaller votes than there are: they might lose everything."""
    largest = engine.DeepVotes.largest
    monkeypatch.setattr(engine.DeepVotes, "largest", lambda *of: 0.9 * largest(*of))


@pytest.mark.parametrize("wrong", [heavier, fewer, smaller])
def test_a_second_proof_that_says_less_is_noticed(tmp_path, monkeypatch, wrong):
    path = written(tmp_path, deep_world("a bet"))
    assert archives.verify(path).verdict == "proved"
    wrong(monkeypatch)
    with pytest.raises(ArithmeticError, match="two proofs disagree"):
        archives.verify(path)


@pytest.mark.parametrize("name", ["a bet", "own votes"])
def test_the_second_way_needs_all_of_the_capital_and_no_more(name):
    """Delta is such that the weakest attack hardly passes, or hardly fails: shared, deep and own votes, one capital."""
    archive = deep_world(name)
    again, level = evidence_checker(archive, 0, archive.certificates[0]), (2,)
    scheme, kept = again.engine.full_scheme(level), float(RESERVE)
    capitals = []
    with LOCK, ctx.workprec(96):
        shared, deep = checks._SharedBet.of(again, level, scheme), again.deep.bet(again.engine, level, scheme)
        own = checks._OwnBet.of(again, level, scheme)
        for attack in attacks_of(again.engine.listed(level, scheme)):
            first = (1 - kept) * float(shared.capital(attack)) + kept
            second = first * ((1 - kept) * float(deep.capital(attack)) + kept)
            tallies = again.own_votes(scheme, attack)
            looks = [second * float(own.capital(tallies[: end + 1])) for end in range(len(tallies))]
            capitals.append(max(first, second, *looks))
    needed = 1 / Fraction(min(capitals)) / again.delta(level, scheme)
    alpha = again.alpha
    for factor, passes in ((Fraction(1001, 1000), True), (Fraction(999, 1000), False)):
        again.alpha = again.engine.alpha = alpha * needed * factor
        assert (again._certifies(level) is not None) is passes
