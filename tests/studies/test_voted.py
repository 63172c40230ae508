"""What is derived from votes, how verdicts are counted, and what they would be with more votes or other luck."""

from itertools import pairwise

import numpy as np
import pytest
import study_worlds as worlds

import starcert as sc
from starcert_studies.figures import verdict_bars
from starcert_studies.voted import ALPHA, Question, Tally, Voted, tallies

NOISE = sc.Noise(motif=0.3, random=0.45)


@pytest.mark.parametrize("counts", [[[99, 1]], [[50, 50], [33, 67]], [[1, 1]], [[7, 0, 3], [1, 8, 1]]])
@pytest.mark.parametrize("samples", [3, 55, 1000, 100_000])
def test_as_if_keeps_the_shares_and_has_exactly_as_many_votes(counts, samples):
    voted = Voted(NOISE, np.zeros(len(counts), dtype=int), sc.Votes(counts, selection=counts))
    found = voted.as_if(samples).votes
    assert (found.counts.sum(axis=1) == samples).all()
    before = voted.votes.counts / voted.votes.counts.sum(axis=1, keepdims=True)
    assert np.abs(found.counts / samples - before).max() <= 1 / samples
    assert found.selection.tolist() == counts


def test_shifted_by_nothing_is_the_same_and_otherwise_monotone():
    rng = np.random.default_rng(2)
    wins, classes = rng.integers(520, 1001, size=6), np.array([0, 1, 0, 1, 0, 1])
    voted = worlds.voted(NOISE, classes, classes, wins, 1000, capacity=[(45, 45)] * 6)
    assert voted.shifted(0).bounds.failure.tolist() == voted.bounds.failure.tolist()
    bounds = [voted.shifted(errors).bounds for errors in (-30, -3, -1, 0, 1, 3, 30)]
    for below, above in pairwise(bounds):
        assert (below.labels == classes).all()
        assert (below.p_lower <= above.p_lower).all()
        assert (below.p_lower < above.p_lower).any() or above is bounds[-1]
    # Three standard errors of a binomial count, by hand.
    share = wins / 1000
    moved = np.clip(np.rint(wins - 3 * np.sqrt(1000 * share * (1 - share))), 0, 1000)
    expected = sc.clopper_pearson(sc.Votes(np.stack([moved, 1000 - moved], 1), selection=[[1, 0]] * 6), alpha=ALPHA)
    assert voted.shifted(-3).bounds.failure.tolist() == expected.failure.tolist()
    assert voted.shifted(3).capacity == voted.capacity


def test_an_abstention_is_not_right_but_has_a_plurality():
    voted = worlds.voted(NOISE, [0, 0, 1, 1], [0, 0, 1, 0], [99_990, 50_010, 99_990, 99_990])
    assert voted.right.tolist() == [True, False, True, False]
    assert (voted.accuracy, voted.plurality, voted.majority) == (0.5, 0.75, 0.5)
    assert voted.certificates.abstained.mean() == 0.25
    assert voted.certified_at([(0, 0), (1, 2)]) == {"certified_at_0_0": 0.5, "certified_at_1_2": voted.share((1, 2))}
    assert voted.shares((1, 2))[1, 2] == voted.share((1, 2))


def test_wrong_answers_count_for_nothing():
    found = [
        worlds.judged_entry(),
        worlds.judged_entry(right=False),
        worlds.judged_entry(with_own_votes=[True, False], by_evidence=[False] * 2, by_p_A=[True, False],
                            broken=[False, True]),
        worlds.judged_entry(with_own_votes=[False, True]),
    ]  # fmt: skip
    deleted, added, anywhere = tallies(Question(((1, 0), (0, 1)), 10, 1), found).values()
    assert deleted == Tally(right=3, by_p_A=3, by_evidence=2, with_own_votes=2, broken=0, open=1)
    assert added == Tally(right=3, by_p_A=2, by_evidence=2, with_own_votes=2, broken=1, open=0)
    assert anywhere == Tally(right=3, by_p_A=2, by_evidence=2, with_own_votes=1, broken=1, open=1)


def test_picture_has_a_bar_for_every_draw_and_the_median():
    pytest.importorskip("matplotlib")
    draws = [Tally(100, 50, 50, own, broken, 100 - own - broken) for own, broken in ((50, 43), (100, 0), (95, 3))]
    (ax,) = verdict_bars({"motif": draws}).axes
    certified = [sum(bars.patches[place].get_width() for bars in ax.containers[:3]) for place in range(len(draws))]
    assert certified == pytest.approx([1, 0.95, 0.5])
    assert [text.get_text() for text in ax.texts] == ["95 (50–100)"]
