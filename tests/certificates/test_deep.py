"""Deep votes in a whole call: what they settle, what they say, and what refuses them."""

from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.math import deep_votes as weighing
from starcert.sampling import deep as sampling
from starcert.voting.options import Evidence, Voting

RING = sc.Graph.from_networkx(nx.cycle_graph(9))


def many(limit):
    """Whether the squares of the degrees add up to more than those of the ring and this."""
    base = int((RING.to_networkx().number_of_nodes()) * 4) + limit
    return sc.classifiers.from_callable(
        lambda batch: ((batch.degrees().astype(int) ** 2).sum(axis=1) > base).astype(int),
        n_classes=2,
        on="batch",
        description=f"squares {limit}",
    )


def certified(limit=40, noise=0.01, *, deep=20_000, own=0, threat="flips:2", n=1, voting=None):
    smoothed = sc.SmoothedClassifier(many(limit), sc.Noise(all=noise))
    evidence = Evidence(own_samples=own, deep_samples=deep)
    return smoothed.certify([RING] * n, samples=2_000, seed=1, threat=threat, evidence=evidence, voting=voting)


def test_two_flips_that_plain_votes_leave_open_are_certified_by_deep_votes():
    assert certified(deep=0)[0].verdict(2) == "open"
    found = certified()[0]
    assert found.verdict(2) == "certified"
    assert "deep votes, and all" in found.why(2)
    assert found.verdict("flips:2") == "certified"


def test_why_says_what_is_missing():
    found = certified(40, deep=300)[0]
    assert found.verdict(2) == "open"
    assert "deep votes" in found.why(2)
    assert "(deep_samples) would settle" in found.why(2)


def test_an_attack_that_copies_show_to_break_the_class_is_broken_for_certain():
    found = certified(21, noise=0.005)[0]
    assert found.verdict(2) == "broken"
    assert found.why(2).startswith("for certain")
    attack = found.attack(2)
    assert attack.delta == 0
    assert len(attack.sites) == 2


def test_deep_votes_do_not_depend_on_batches_workers_or_chunks_of_other_graphs():
    one = certified(40, deep=6_000)
    with ThreadPoolExecutor(2) as executor:
        other = certified(40, deep=6_000, n=2, voting=Voting(executor=executor, batch_size=77))
    for each in (0, 1):
        np.testing.assert_array_equal(
            one[0].verdicts.grounds.deep.law.weights, other[each].verdicts.grounds.deep.law.weights
        )
        assert one[0].why(2) == other[each].why(2)


def test_attacks_that_deep_votes_leave_open_have_votes_of_their_own():
    without, found = certified(40, deep=300)[0], certified(40, deep=300, own=80_000)[0]
    assert without.verdict(2) == "open"
    assert found.verdict(2) == "certified"
    assert found.verdicts.own_votes > 0


def test_a_threat_that_lists_its_attacks_has_deep_votes():
    threat = sc.threats.Rewire(1)
    assert certified(deep=0, threat=threat)[0].verdict(threat) == "open"
    found = certified(threat=threat)[0]
    assert found.verdict(threat) == "certified"
    assert "deep votes" in found.why(threat)


@pytest.mark.parametrize("wrong", [-1, 1.5, "many"])
def test_a_number_of_deep_votes_is_a_whole_number(wrong):
    with pytest.raises(sc.InvalidParameterError, match="deep_samples"):
        Evidence(deep_samples=wrong)


def test_nothing_is_bet_on_votes_that_do_not_fit(monkeypatch):
    monkeypatch.setattr(weighing, "MAX_BITS", 0)
    for limit, noise in ((60, 0.07), (21, 0.005)):  # some copies asked are against the class, or some drawn
        assert certified(limit, noise, deep=10_000)[0].verdict(2) == "open"


def test_all_copies_are_counted_once():
    deep = certified(40)[0].verdicts.grounds.deep
    assert deep.n_asked + deep.n_drawn == 20_000


def refuse(*_):
    raise AssertionError("it was asked again")


def test_stored_deep_votes_are_not_counted_again(tmp_path, monkeypatch):
    voting = Voting(store=tmp_path / "votes.db")
    first = certified(40, voting=voting)[0]
    monkeypatch.setattr(sampling.DeepCopies, "draw", refuse)
    monkeypatch.setattr(sampling.DeepCopies, "asked", refuse)
    again = certified(40, voting=voting)[0]
    assert again.why(2) == first.why(2)
    assert again.verdicts.levels == first.verdicts.levels
    with pytest.raises(AssertionError, match="asked again"):
        certified(40)


@pytest.mark.parametrize(
    ("before", "now", "refused"),
    [
        ({"deep": 900}, {"deep": 1_000}, True),
        ({"deep": 900}, {"deep": 900, "threat": "flips:1"}, True),
        ({"deep": 0, "own": 500}, {"deep": 900}, True),
        ({"deep": 900}, {"deep": 0, "own": 500}, True),
        ({"deep": 0}, {"deep": 900, "own": 500}, False),
        ({"deep": 900}, {"deep": 900, "own": 500}, False),
        ({"deep": 900}, {"deep": 0}, False),
    ],
)
def test_a_store_refuses_other_deep_votes_once_they_were_looked_at(tmp_path, before, now, refused):
    voting = Voting(store=tmp_path / "votes.db")
    certified(40, voting=voting, **before)
    if refused:
        with pytest.raises(sc.InvalidParameterError, match="deep_samples"):
            certified(40, voting=voting, **now)
    else:
        certified(40, voting=voting, **now)
