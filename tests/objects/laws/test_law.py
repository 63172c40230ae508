"""What laws say about attacked sites: outcomes and moves from their transitions, and laws that evidence declines."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import starcert as sc
from starcert.math.attacked_sites import SiteLaw
from starcert.objects.laws import axis_moves, why_not_alike
from starcert.system.errors import InvalidParameterError, StarcertWarning


class Circle(sc.Law):
    """Values on a circle: noise moves by a step whose chances all differ, one axis for attacks by each distance."""

    alphabet, suffixes = 5, (".one", ".two")
    moves = tuple(tuple((a, (a + step) % 5) for a in range(5)) for step in (1, 2))

    def transitions(self, value):
        return tuple(Fraction(2 ** ((shown - value) % 5), 31) for shown in range(5))


class Split(sc.Law):
    """Two moves with one law, though their values are not shown equally often."""

    alphabet, suffixes, moves = 5, ("",), (((0, 1), (2, 3)),)

    def transitions(self, value):
        return tuple(
            Fraction(each, 16)
            for each in ((8, 4, 4, 0, 0), (4, 6, 6, 0, 0), (2, 2, 8, 2, 2), (3, 3, 4, 3, 3))[value % 4]
        )


LAWS = [
    sc.Flip(0.1),
    sc.Flip(delete=0.25, add=0.0),
    sc.Flip(delete=0.0, add=1.0),
    sc.Categorical(0.25, 3),
    sc.Categorical(0.75, 4),
    sc.Categorical(0.0, 3),
    sc.Categorical(1.0, 5),
    sc.Edges(delete=0.125, add=0.25, change=0.25, types=2),
    sc.Edges(delete=0.125, add=0.25, change=0.0, types=3),
    sc.Edges(delete=0.5, add=0.0, change=0.5, types=4),
    Circle(),
    Split(),
]


@pytest.mark.parametrize("law", LAWS, ids=[f"{place} {type(law).__name__}" for place, law in enumerate(LAWS)])
def test_outcomes_are_those_of_the_transitions(law):
    """Of every move, each value that is shown has the ratio of its outcome, and masses of outcomes add up."""
    for axis, moves, channel in zip(axis_moves(law), law.moves, law.channels, strict=True):
        assert set(axis.starts) == {before for before, _ in moves}
        assert axis.law.moves == len(moves) // len(axis.starts)
        for before in axis.starts:
            others = [value for value in range(law.alphabet) if value != before]
            targets = [others[rank] for rank in axis.ranks[before]]
            assert sorted(targets) == sorted(after for start, after in moves if start == before)
            for move, after in enumerate(targets):
                clean, attacked = law.transitions(before), law.transitions(after)
                numbers = axis.outcomes[before, move].tolist()
                assert [shown for shown, number in enumerate(numbers) if number == 0] == [before]
                for number, masses in enumerate(axis.law.outcomes, start=1):
                    here = [shown for shown in range(law.alphabet) if numbers[shown] == number]
                    assert masses == (sum(clean[z] for z in here), sum(attacked[z] for z in here))
                    ratios = {attacked[z] / clean[z] if clean[z] else None for z in here if clean[z] or attacked[z]}
                    assert len(ratios) <= 1
                assert (axis.law.clean, axis.law.attacked) == (1 - clean[before], 1 - attacked[before])
        assert axis.law.free == channel.free
        never = sum((mass for clean, mass in channel.outcomes if clean == 0), Fraction(0))
        assert axis.law.unseen == never


@pytest.mark.parametrize(
    ("law", "few"),
    [
        (sc.Categorical(0.4, 256), sc.Categorical(0.4, 5)),
        (sc.Edges(delete=0.3, add=0.1, change=0.2, types=255), sc.Edges(delete=0.3, add=0.1, change=0.2, types=4)),
    ],
)
def test_fractions_are_computed_once_for_each_kind_of_move(law, few, monkeypatch):
    """65,280 moves of 256 values are of one kind on each axis."""
    left, expected = iter(law.moves), axis_moves(few)
    monkeypatch.setattr(SiteLaw, "of", lambda *given, of=SiteLaw.of: of(*given) if next(left) else None)
    for axis, one in zip(axis_moves(law), expected, strict=True):
        assert len(axis.law.outcomes) == len(one.law.outcomes)
        assert np.array_equal(np.unique(axis.outcomes), np.unique(one.outcomes))


def test_two_values_have_one_outcome():
    for law in (sc.Flip(delete=0.25, add=0.125), sc.Categorical(0.25, 2)):
        assert [(axis.law.parts, axis.law.moves) for axis in axis_moves(law)] == [((), 1)] * len(law.moves)
    assert not sc.Noise(a=0.1, b=sc.Categorical(0.25, 2)).is_valued
    assert sc.Noise(a=0.1, b=sc.Categorical(0.25, 3)).is_valued


class Odd(sc.Law):
    """Three values of which noise changes one more often than the others."""

    alphabet, suffixes = 3, ("",)
    moves = (tuple(permutations(range(3), 2)),)

    def transitions(self, value):
        stays = Fraction(1 + (value > 0), 3)
        return tuple(stays if shown == value else (1 - stays) / 2 for shown in range(3))


class Sharing(Odd):
    """Two axes, one of which has some of the sites of the other."""

    suffixes = ".one", ".other"
    moves = ((0, 1), (1, 0)), ((1, 2), (2, 1))

    def transitions(self, value):
        return sc.Categorical(0.25, 3).transitions(value)


class Uneven(Sharing):
    """An axis on which some sites have two moves and others one."""

    moves = ((0, 1), (0, 2), (1, 0)), ((2, 0), (2, 1))


class Hiding(Odd):
    """Every value shows the same: attacks cannot be seen, but the first value is shown more often than the others."""

    def transitions(self, value):
        return Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)


@pytest.mark.parametrize(
    ("law", "reason"),
    [
        (Odd(), "not all attacked alike"),
        (Hiding(), "not all attacked alike"),
        (Uneven(), "sites of .one are not all attacked alike"),
        (Sharing(), "share some of their sites and not others"),
    ],
)
def test_laws_that_evidence_cannot_look_at_have_the_certificate_by_counts(law, reason):
    assert reason in why_not_alike(law)
    with pytest.raises(InvalidParameterError, match="whose axes evidence can look at"):
        axis_moves(law)
    if type(law) is Odd:  # moves with several channels have no certificate at all
        return
    base = sc.classifiers.from_callable(lambda batch: np.zeros(len(batch), dtype=int), on="batch", n_classes=2)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=law))
    with pytest.warns(StarcertWarning, match="Evidence is left out"):
        result = smoothed.certify([sc.Categories((0, 1, 2), values=3)], samples=500, seed=1, evidence=True)
    assert result.votes.records == (None,)
    assert result[0].frontier == result[0].frontier_by_p_A
