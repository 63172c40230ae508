"""The answer that a page begins with: its sentence and its bar say the same, and leave nothing out."""

import pytest
from report_worlds import ONE, world

import starcert as sc
from starcert.claims.outcomes import SizeCounts
from starcert.objects.words import Words
from starcert.report.answer import BlindShare, answer_in, answer_of
from starcert.report.blocks import plain_text


def counts(n=10, right=9, certified=5, broken=3, why=""):
    return SizeCounts("any 2 flips", 2, n, 0, right, None, certified, broken, None, None, (), why)


@pytest.mark.parametrize(
    ("found", "given", "said"),
    [
        (
            counts(),
            {"labelled": True, "blind": BlindShare(0.62, "a model without edges"), "abstained": 1},
            "Against any 2 flips: 50% certified, 30% broken, 10% open, of the 90% of 10 graphs that are right; 10% get "
            "no answer; a model without edges: 62%.",
        ),
        (
            counts(right=10, broken=0),
            {"labelled": False, "attacked": False},
            "Against any 2 flips: 50% certified, 50% open, of 10 graphs, all of them answered. Their true classes are "
            "not known.",
        ),
        (
            counts(certified=None, broken=0, why="too far"),
            {"labelled": True, "blind": "No labels."},
            "Against any 2 flips, nothing is known of the 90% of 10 graphs that are right: too far. No blind model: No "
            "labels.",
        ),
        (counts(0, 0, 0, 0), {"labelled": True}, "None of the graphs has such an attack: any 2 flips."),
    ],
)
def test_the_sentence_and_the_bar_say_the_same(found, given, said):
    answer = answer_in(found, "graphs", **given)
    assert plain_text(answer.phrase) == said
    assert sum(share for _, share in answer.bar.shares) == pytest.approx(1.0 if found.n_graphs else 0.0)
    assert answer.values["n"] == found.n_graphs


def test_shares_are_of_rows_that_can_be_attacked_and_add_up():
    archive, sites = world(ONE, [[990, 10], [500, 500], [10, 990]], labels=[0, 0, 0])
    answer = answer_of(archive, Words(), sites)
    shares = dict(answer.bar.shares)
    assert answer.values["abstained"] == 1
    assert shares["wrong"] == shares["abstains"] == pytest.approx(1 / 3)
    found = archive.certificates.counts([0, 0, 0], sc.threats.AnyFlips(1))[0]
    assert (answer.values["certified"], answer.values["open"]) == (found.n_certified, found.n_open)


def test_one_function_writes_the_page_of_every_method(tmp_path):
    base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 2), n_classes=2)
    exact = sc.ExactClassifier(base, regions=None)
    graphs = [sc.Graph(4, [(0, 1), (1, 2)]), sc.Graph(4, [])]
    found = exact.certify(graphs, threat="flips:1")
    archive = sc.archive.Archive.from_result(found, names=["path", "none"], labels=[0, 0])
    sc.report.write_report(tmp_path / "page.html", archive, exact.problem(graphs))
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "50% certified" in html
    assert '"named":["edge 0\\u20132 added"]' in html
    assert '"failure"' not in html  # there are no votes
