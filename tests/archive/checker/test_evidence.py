"""The second proof of evidence: it wins the same capital as the engine, and catches an engine that is wrong."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from archive_worlds import by_numbers, evidence_world, found, many_edges, more_than_five, small, written

import starcert as sc
from starcert import archive as archives
from starcert.archive.checker import evidence as checking
from starcert.archive.checker.rows import FileProofs, RowProofs
from starcert.math import evidence as engine
from starcert.math.attacked_sites import attacks_of
from starcert.math.bets import RESERVE, SCALE
from starcert.math.choices import Choices
from starcert.math.fallback import PLAIN
from starcert.methods.own_votes import OwnTally


def evidence_checker(archive, row):
    return RowProofs(FileProofs(archive), row).evidence


def chosen_of(checker, level, scheme):
    return [dict(zip(scheme.listed, each, strict=True)) for each in attacks_of(checker.listed(level, scheme))]


def one_capital(won: float) -> float:
    """The capital of an attack before votes of its own, where the shared votes have won so much."""
    return float(1 - RESERVE) * won + float(RESERVE)


@pytest.mark.parametrize("name", ["edges", "by region", "one-way", "no own votes", "stopped", "motif"])
def test_two_ways_win_the_same_capital(name):
    """The second way rounds less, so it wins no less, and hardly more; with another π or other stages it would not."""
    archive = evidence_world(name)
    compared = 0
    for row, one in enumerate(archive.certificates):
        again = evidence_checker(archive, row)
        for level in one.verdicts.levels:
            for scheme in again.schemes(level):
                assert again.delta(level, scheme) == again.engine.delta(level, scheme)
                weighed = again.engine.weighed(level, scheme)
                bet = checking._SharedBet.of(again, level, scheme)
                attacks = chosen_of(again, level, scheme)
                assert len(attacks) == scheme.n_attacks
                for attack, first in list(zip(attacks, weighed.weights.capital.tolist(), strict=True))[:50]:
                    if bet is None:
                        assert first == -1  # no bet is possible, and a capital of 1 is rounded down
                        continue
                    second = math.log(one_capital(float(bet.capital(attack))))
                    assert first / SCALE - 1e-9 <= second <= first / SCALE + 1e-4
                    compared += 1
    assert compared > 10


def test_two_ways_win_the_same_with_own_votes():
    archive, compared = evidence_world("by region"), 0
    for row, one in enumerate(archive.certificates):
        again = evidence_checker(archive, row)
        for level in one.verdicts.levels:
            for scheme in again.schemes(level):
                first, second = again.choices.own_bet(level, scheme), checking._OwnBet.of(again, level, scheme)
                assert (first is None) == (second is None)
                for tallies in archive.evidence[row].own.values():
                    if first is None:
                        continue
                    bins = again.choices.bins(first.axes, np.concatenate([each.numbers for each in tallies]))
                    votes = sum(int(each.counts.sum()) for each in tallies)
                    mine = first.capital(votes, np.bincount(bins, minlength=len(first.limits)), len(bins)) / SCALE
                    assert mine - 1e-9 <= float(second.capital(tallies).log()) <= mine + 1e-5
                    compared += 1
    assert compared > 10


@pytest.mark.parametrize(
    ("name", "flips_known"),
    [("by region", True), ("by region", False), ("one-way", True), ("nodes", True), ("three values", True)],
)
def test_the_second_way_needs_all_of_the_capital_and_no_more(name, flips_known):
    """Delta is such that the weakest attack hardly passes, or hardly fails."""
    archive, by_own_votes = evidence_world(name), 0
    for row, one in enumerate(archive.certificates):
        again = evidence_checker(archive if flips_known else by_numbers(archive), row)
        for level in one.verdicts.certified:
            for scheme in again.schemes(level):
                shared = checking._SharedBet.of(again, level, scheme)
                own = checking._OwnBet.of(again, level, scheme)
                if not scheme.listed or own is None:
                    continue
                capitals = {}
                for attack in chosen_of(again, level, scheme):
                    tallies = again.own_votes(attack)
                    looks = [float(own.capital(tallies[: end + 1])) for end in range(len(tallies))]
                    won = float(again.choices.choose(level, scheme, 0) is None)
                    kept = one_capital(won if shared is None else float(shared.capital(attack)))
                    capitals[kept * max([1.0, *looks])] = max([0.0, *looks]) > 1
                by_own_votes += capitals[min(capitals)]
                alpha, needed = again.alpha, 1 / Fraction(min(capitals)) / again.delta(level, scheme)
                for factor, passes in ((Fraction(1001, 1000), True), (Fraction(999, 1000), False)):
                    again.alpha = alpha * needed * factor
                    assert (again._by_scheme(level, scheme) is not None) is passes
                again.alpha = alpha
    assert by_own_votes


def test_the_second_way_looks_after_every_chunk():
    """Own votes that win for three chunks and lose the fourth."""
    tallies = [OwnTally(np.array([64 - lost, lost]), np.zeros((lost, 1), dtype=np.int64)) for lost in (24, 24, 24, 64)]
    checker = SimpleNamespace(label=0, contest=PLAIN)
    bet = checking._OwnBet(checker)
    capitals = [bet.capital(tallies[:look]) for look in range(1, 5)]
    assert max(map(float, capitals)) == float(capitals[2])
    for factor, passes in ((1.001, True), (0.999, False)):
        assert bet.reaches(factor / capitals[2], tallies) is passes


def test_what_shared_votes_prove_without_the_reserve_is_not_proved(tmp_path, monkeypatch):
    """As files of earlier versions may claim: the shared votes won 1/δ, but nothing was kept for votes of its own."""
    monkeypatch.setattr(engine, "with_reserve", lambda capital: capital)
    archive = small(more_than_five, sc.Noise(all=0.15), own_samples=0, max_radius=1, samples=1_000, alpha=0.0102)
    assert archive.certificates[0].verdict((1,)) == "certified"
    result = archives.verify(written(tmp_path, archive))
    assert result.verdict == "refuted"
    assert (0, "frontier") in found(result)


def test_an_engine_that_proves_too_much_is_refuted(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "needed", lambda delta: -(10**15))
    archive = small(many_edges, sc.Noise(all=0.15), own_samples=0, max_radius=2)
    assert all(one.abstained or one.any_flips == 2 for one in archive.certificates)
    assert archives.verify(written(tmp_path, archive)).verdict == "refuted"


def test_a_choice_that_looked_ahead_is_caught(monkeypatch):
    """λ is asked of an engine that does not know the votes it is about."""
    looked = Choices._rates

    def ahead(self, level, scheme, pool, stage):
        return looked(self, level, scheme, pool, len(self._ends))

    monkeypatch.setattr(Choices, "_rates", ahead)
    motif = evidence_world("motif")
    again = evidence_checker(motif, 1)
    level = (0, 2)
    (scheme, *_) = again.schemes(level)
    first = float(again.engine.weighed(level, scheme).weights.capital[0]) / SCALE
    second = math.log(one_capital(float(checking._SharedBet.of(again, level, scheme).capital({}))))
    assert not math.isclose(first, second, abs_tol=1e-3)


def test_of_many_attacks_the_nearest_and_the_open_ones_are_weighed_again(tmp_path, monkeypatch):
    path = written(tmp_path, evidence_world("by region"))
    everything = sum(each.attacks for each in archives.verify(path).evidence)
    own = sum(each.own for each in archives.verify(path).evidence)
    monkeypatch.setattr(checking, "MAX_AGAIN", 9)
    monkeypatch.setattr(checking, "NEAREST", 2)
    result = archives.verify(path)
    assert result.verdict == "proved"
    assert own < sum(each.attacks for each in result.evidence) < everything
    assert sum(each.own for each in result.evidence) == own > 10


def test_schemes_have_no_more_than_the_alpha_of_a_level(tmp_path, monkeypatch):
    path = written(tmp_path, evidence_world("no own votes"))
    generous = engine.schemes_of

    def twice(*how):
        return [scheme._replace(share=2 * scheme.share) for scheme in generous(*how)]

    monkeypatch.setattr(checking, "schemes_of", twice)
    assert archives.verify(path).verdict == "refuted"
