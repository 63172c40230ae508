"""How verdicts are counted, and drawn."""

import pytest
import study_worlds as worlds

from starcert_studies.figures import verdict_bars
from starcert_studies.judged import Question, Tally, tallies


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
