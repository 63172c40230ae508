"""How verdicts are counted, and drawn for all draws."""

import pytest
from study_worlds import judged_entry

from starcert_studies import evidence_votes as votes
from starcert_studies.evidence_tallies import RadiusTally, tallies, verdict_bars

pytest.importorskip("matplotlib")


def test_wrong_answers_and_abstentions_count_for_nothing():
    question = votes.Question("PROTEINS", "gin", (0.05, 0.0025), votes.ONE_FLIP, 10, 10, 1, 4)
    found = [
        judged_entry(),
        judged_entry(truth=1),
        judged_entry(abstained=True),
        judged_entry(
            own=["certified", "broken"], shared=["open", "open"], by_p_A=[True, False], by_counts=[False, False]
        ),
        judged_entry(own=["open", "certified"], by_counts=[True, True]),
    ]
    deleted, added, anywhere = tallies(question, found)
    assert (deleted.graphs, deleted.right, deleted.by_p_A, deleted.own, deleted.broken, deleted.open) == (
        5,
        3,
        3,
        2,
        0,
        1,
    )
    assert (added.own, added.broken, added.open, added.by_p_A) == (2, 1, 0, 2)
    assert (anywhere.radius, anywhere.own, anywhere.broken, anywhere.open) == ("any flip", 1, 1, 1)
    assert (anywhere.lost, anywhere.shared_away) == (1, 1)


def test_picture_has_a_bar_for_every_draw_and_the_median():
    question = votes.Question("motif", "histogram", (0.1, 0.1), votes.TWO_FLIPS, 10, 10, 2, 100, 3)
    counts = {"right": 100, "by_p_A": 50, "by_counts": 50, "shared": 50, "lost": 0, "shared_away": 0, "own_votes": 0.0}
    draws = [
        RadiusTally(question, "any 2 flips", 100, own=own, broken=broken, **counts)
        for own, broken in ((50, 43), (100, 0), (95, 3))
    ]
    (ax,) = verdict_bars([draws]).axes
    certified = [sum(bars.patches[place].get_width() for bars in ax.containers[:3]) for place in range(len(draws))]
    assert certified == pytest.approx([1, 0.95, 0.5])
    assert [text.get_text() for text in ax.texts] == ["95 (50–100)"]
