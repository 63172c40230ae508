"""Metrics against loops over the certificates themselves."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_worlds import weighed

import starcert as sc
from starcert.archive import Archive
from starcert.claims.metrics import (
    accuracy,
    certified_counts,
    certified_ratio,
    certified_share,
    has_sites,
    open_ended,
    radii_of_flips,
    right,
    score,
    too_few_votes,
    votes_needed,
)
from starcert.claims.outcomes import majority_share
from starcert.math.confidence import anytime_bounds
from starcert.objects.threats import Box
from starcert.report.findings import summary
from starcert.runs.sweep_levels import measure_level
from starcert.system.errors import InvalidParameterError

NOISE = sc.Noise(a=0.1, b=0.4)
VOTES = sc.Votes(
    [[9990, 10], [9000, 1000], [3000, 7000], [4900, 5100], [40, 9960]],
    selection=[[99, 1], [90, 10], [70, 30], [49, 51], [0, 100]],
)
CERTIFICATES = sc.certify(sc.clopper_pearson(VOTES), NOISE)
LABELS = [0, 1, 1, 1, 1]
# By selection votes: right, wrong, wrong (its estimation votes say otherwise), the true class but abstains, right.
RIGHT = [True, False, False, False, True]
BOX = (3, 4)
RADII = list(product(range(4), range(5)))


@given(st.data())
def test_counts_are_those_of_a_loop_over_radii_and_graphs(data):
    n_axes = data.draw(st.integers(1, 3))
    radius = st.tuples(*[st.integers(0, 4) | st.just(np.inf)] * n_axes)
    frontiers = data.draw(
        st.dictionaries(st.lists(radius, max_size=3).map(tuple), st.tuples(st.integers(0, 3), st.integers(0, 3)))
    )
    ticks = [sorted(data.draw(st.sets(st.integers(0, 6), min_size=1))) for _ in range(n_axes)]
    found = certified_counts(frontiers or {(): (0, 0)}, ticks)
    for place in product(*map(range, map(len, ticks))):
        at = [axis[i] for axis, i in zip(ticks, place, strict=True)]
        inside = [
            n
            for radii, n in frontiers.items()
            if any(all(i <= r for i, r in zip(at, each, strict=True)) for each in radii)
        ]
        assert found[(slice(None), *place)].tolist() == [sum(n[0] for n in inside), sum(n[1] for n in inside)]


def test_all_sites_of_an_axis_have_no_end():
    assert open_ended(((0, 4), (1, 2)), (1, None)) == ((0, 4), (np.inf, 2))
    assert open_ended(((0, 4),), None) == ((0, 4),)


def test_the_certified_share_is_counted_graph_by_graph():
    found = certified_share(CERTIFICATES, LABELS, max_radius=BOX)
    anyway = certified_share(CERTIFICATES, max_radius={"b": 4, "a": 3})
    assert found.shape == anyway.shape == (4, 5)
    for radius in RADII:
        verdicts = [one.certified(radius) for one in CERTIFICATES]
        assert anyway[radius] == sum(verdicts) / 5
        both = sum(verdict and right for verdict, right in zip(verdicts, RIGHT, strict=True))
        assert found[radius] == both / 5 == CERTIFICATES.certified_accuracy(LABELS, radius)
    assert (anyway[0, 0], found[0, 0]) == (3 / 5, 2 / 5)  # two abstain, one is wrong
    assert len(np.unique(found)) > 2


def test_one_axis_and_three():
    bounds = sc.Bounds.certain([0.9, 0.7])
    assert certified_share(sc.certify(bounds, sc.Noise(all=0.2)), max_radius=2).tolist() == [1, 0.5, 0]
    three = sc.certify(bounds, sc.Noise(a=0.2, b=0.3, c=0.4))
    found = certified_share(three, max_radius=(1, 1, 2))
    assert found.shape == (2, 2, 3)
    for radius in product(range(2), range(2), range(3)):
        assert found[radius] == np.mean([one.certified(radius) for one in three])


def test_the_certified_ratio_is_of_the_right_ones():
    found = certified_ratio(CERTIFICATES, LABELS, max_radius=BOX)
    for radius in RADII:
        among = [one.certified(radius) for one, right in zip(CERTIFICATES, RIGHT, strict=True) if right]
        assert found[radius] == pytest.approx(sum(among) / 2, abs=1e-15)
    assert found[0, 0] == 1  # what is answered right is certified where nothing is flipped
    assert len(np.unique(found)) > 2


def test_without_right_answers_there_is_no_ratio():
    wrong = 1 - CERTIFICATES.labels
    assert np.isnan(certified_ratio(CERTIFICATES, wrong, max_radius=BOX)).all()
    assert (majority_share(LABELS), majority_share([2, 2, 7, 7])) == (4 / 5, 0.5)
    assert certified_share(CERTIFICATES, wrong, max_radius=BOX).max() == 0


def test_the_score_wants_strictly_more_than_half():
    bounds = sc.Bounds.certain([0.999, 0.999, 0.4, 0.4])
    noise = sc.Noise(all=0.2)
    labels = [0, 0, 0, 0]
    # Two of four are certified up to some radius: that is half of them, not more.
    assert certified_share(sc.certify(bounds, noise), labels, max_radius=9)[0] == 0.5
    assert score(sc.certify(bounds, noise), labels, max_radius=9) == 0
    three = sc.certify(sc.Bounds.certain([0.999, 0.999, 0.999, 0.4]), noise)
    reach = max(three[0].frontier.radii)[0]
    assert score(three, labels, max_radius=9) == reach + 1 == 6
    assert score(three, labels, max_radius=1) == 2
    assert score(three, [0, 0, 1, 1], max_radius=9) == 0  # certified, but wrong
    shares = [
        sum(one.certified(radius) and right for one, right in zip(CERTIFICATES, RIGHT, strict=True)) for radius in RADII
    ]
    assert score(CERTIFICATES, LABELS, max_radius=BOX) == sum(2 * share > 5 for share in shares)


def test_an_abstention_is_no_right_answer():
    assert right(CERTIFICATES, LABELS).tolist() == RIGHT
    assert CERTIFICATES[3].abstained
    assert CERTIFICATES[3].label == LABELS[3]
    assert accuracy(CERTIFICATES, LABELS) == 2 / 5 == certified_share(CERTIFICATES, LABELS, max_radius=(0, 0))[0, 0]


def test_a_class_that_is_not_known_counts_for_nothing():
    some = [0, None, 1, 1, None]
    assert right(CERTIFICATES, some).tolist() == [True, False, False, False, False]
    assert accuracy(CERTIFICATES, some) == certified_share(CERTIFICATES, some, max_radius=(0, 0))[0, 0] == 1 / 3
    assert certified_ratio(CERTIFICATES, some, max_radius=(0, 0))[0, 0] == 1
    assert np.isnan(accuracy(CERTIFICATES, [None] * 5))


@given(
    st.lists(st.tuples(*[st.integers(0, 60)] * 3).filter(any), min_size=1, max_size=6),
    st.integers(2, 3),
    st.booleans(),
    st.data(),
)
def test_right_is_answered_and_true_wherever_it_is_counted(rows, n_classes, apart, data):
    """One meaning for votes of every kind, in metrics, archives, reports and sweeps."""
    counts = np.array(rows)[:, :n_classes] + np.eye(n_classes, dtype=int)[0]
    labels = [data.draw(st.integers(0, n_classes - 1)) for _ in rows]
    votes = sc.Votes(counts, selection=counts[:, ::-1] if apart else None)
    found = sc.certify(sc.clopper_pearson(votes, alpha=0.1), NOISE, capacity=[(3, 3)] * len(rows), max_radius=(1, 1))
    expected = [not one.abstained and one.label == label for one, label in zip(found, labels, strict=True)]
    assert right(found, labels).tolist() == expected
    n_right = sum(expected)
    assert accuracy(found, labels) == n_right / len(rows)
    archive = Archive.from_result(found, labels=labels)
    assert [row["right"] for row in archive.rows()] == expected
    assert summary(archive).n_right == n_right
    level = measure_level(found, labels, labels, [(3, 3)] * len(rows))
    assert level.n_right == n_right
    for radius in product(range(2), range(2)):
        assert found.certified_accuracy(labels, radius) == (found.certified(radius) & expected).mean()


def test_graphs_without_sites_on_an_axis_are_counted_apart():
    capacity = [(0, 4), (5, 4), (0, 4), (5, 4), None]
    found = sc.certify(sc.clopper_pearson(VOTES), NOISE, capacity=capacity, max_radius=(2, 9))
    assert has_sites(found).tolist() == [[False, True], [True, True], [False, True], [True, True], [True, True]]
    # Nothing to flip: certified whatever the number, which says nothing about the votes.
    assert found.certified((2, 0))[0]
    for labels in (None, LABELS, [None, *LABELS[1:]]):
        truth = None if labels is None else found.truth(labels).tolist()
        for axis, outcomes in enumerate(found.by_axis(5).values()):
            among = [
                i for i in range(5) if has_sites(found)[i, axis] and (labels is None or labels[i] is not None)
            ]  # fmt: skip
            known = 5 if labels is None else sum(label is not None for label in labels)
            for step in (1, 2, 5):
                counts = outcomes.counts_at(step, truth)
                assert (counts.n_graphs, counts.n_without) == (len(among), known - len(among))
                radius = (step, 0) if axis == 0 else (0, step)
                if axis == 0 and step == 5:
                    assert counts.n_certified is None  # beyond the box
                    assert counts.why == "beyond the radii that were looked at"
                    continue
                verdicts = found.certified(radius) & (True if labels is None else np.array(RIGHT))
                assert counts.share(counts.n_certified) == verdicts[among].mean()
    nothing = sc.certify(sc.clopper_pearson(VOTES), NOISE, capacity=[(0, 4)] * 5)
    first, second = (nothing.by_axis(1)[axis].counts_at(1, LABELS) for axis in "ab")
    assert (first.n_graphs, first.n_without, first.n_certified) == (0, 5, 0)
    assert second.n_without == 0


@pytest.mark.parametrize("labels", [[0, 1], [[0], [1], [1], [1], [1]], 1, []])
def test_labels_of_another_shape_are_refused(labels):
    for metric in (certified_share, certified_ratio, score):
        with pytest.raises(InvalidParameterError, match="'labels' must have one class for each of 5 graphs"):
            metric(CERTIFICATES, labels, max_radius=BOX)
    with pytest.raises(InvalidParameterError, match="'labels' must have one class for each of 5 graphs"):
        accuracy(CERTIFICATES, labels)
    if np.ndim(labels) != 1 or not labels:
        with pytest.raises(InvalidParameterError, match="'labels' must be a row of classes, one or more"):
            majority_share(labels)


def test_radii_of_other_axes_are_refused():
    with pytest.raises(InvalidParameterError, match="max_radius"):
        certified_share(CERTIFICATES, max_radius={"a": 1})


@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("alpha", [0.01, 0.2])
def test_the_votes_needed_are_the_fewest_that_certify_a_flip(apart, n_classes, alpha):
    noise = sc.Noise(a=0.02, b=sc.Flip(delete=0.3, add=0.001), c=0.5, never=0.0, always=1.0)
    needed = votes_needed(noise, alpha, n_classes, selected_apart=apart)
    assert list(needed) == list(noise.axes)
    assert needed["never"] is needed["always"] is None
    for axis in ("a", "b.delete", "b.add", "c"):
        radius = {each: int(each == axis) for each in noise.axes}
        for n, enough in ((needed[axis] - 1, False), (needed[axis], True)):
            if n:
                row = [[n] + [0] * (n_classes - 1)]
                bounds = sc.clopper_pearson(sc.Votes(row, row if apart else None), alpha=alpha)
                assert sc.certify(bounds, noise)[0].certified(radius) is enough


@pytest.mark.parametrize("spent", [{}, {"family": "all"}], ids=repr)
@pytest.mark.parametrize("radius", [{"a": 2, "b.delete": 1, "b.add": 0}, (1, 0, 1), (0, 0, 0)], ids=repr)
def test_the_votes_needed_for_a_radius_are_the_fewest_that_certify_it(radius, spent):
    noise = sc.Noise(a=0.2, b=sc.Flip(delete=0.3, add=0.01))
    together = 3 if spent.get("family") == "all" else 1
    needed = votes_needed(noise, 0.01, 3, radius=radius, together=together)
    for n, enough in ((needed - 1, False), (needed, True)):
        rows = [[n, 0, 0]] * 3
        bounds = sc.clopper_pearson(sc.Votes(rows, rows), alpha=0.01, **spent)
        assert sc.certify(bounds, noise)[0].certified(radius) is enough


def test_a_radius_on_an_axis_that_gives_attacks_away_needs_more_votes_than_there_are():
    noise = sc.Noise(a=0.1, never=0.0)
    assert votes_needed(noise, 0.01, 2, radius=(1, 1)) is None
    assert votes_needed(noise, 0.01, 2, radius=(1, 0)) == votes_needed(noise, 0.01, 2)["a"]
    with pytest.raises(InvalidParameterError, match="Missing: never"):
        votes_needed(noise, 0.01, 2, radius={"a": 1})


def test_too_few_votes_are_named_by_axis():
    assert too_few_votes(228, {"motif": 228, "random": 8}) == ""
    said = too_few_votes(227, {"motif": 228, "random": 8})
    assert "all 227 votes" in said
    assert "motif (228 votes could)." in said
    assert "random" not in said
    assert votes_needed(sc.Noise(all=1e-12), 0.01, 2)["all"] > 10**12
    assert votes_needed(sc.Noise(all=1e-100), 0.01, 2) == {"all": None}  # more than can be counted


@pytest.mark.parametrize("evidence", [False, True])
@pytest.mark.parametrize("together", [1, 7])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_votes_needed_under_a_plan_that_stops_are_the_fewest_that_certify_a_flip(n_classes, together, evidence):
    noise = sc.Noise(a=0.02, b=sc.Flip(delete=0.3, add=0.001), never=0.0)
    needed = votes_needed(noise, 0.01, n_classes, together=together, evidence=evidence, plan="decided")
    assert needed["never"] is None
    for axis in ("a", "b.delete", "b.add"):
        radius = {each: int(each == axis) for each in noise.axes}
        for n, enough in ((needed[axis] - 1, False), (needed[axis], True)):
            row = [[n] + [0] * (n_classes - 1)]
            bounds = anytime_bounds(
                sc.Votes(row, row, history="stopped"), alpha=0.0025 if evidence else 0.01, family_size=together
            )
            assert sc.certify(bounds, noise)[0].certified(radius) is enough


def test_evidence_leaves_the_counts_a_quarter_of_alpha():
    noise = sc.Noise(a=0.02, b=0.3)
    assert votes_needed(noise, 0.01, 2, evidence=True) == votes_needed(noise, 0.0025, 2)
    with pytest.raises(InvalidParameterError, match="'plan' must be"):
        votes_needed(noise, 0.01, 2, plan="undecided")


def test_verdicts_at_radii_are_counted_graph_by_graph():
    certificates, _ = weighed()
    labels = [1, None, 0]
    radii = radii_of_flips(certificates, 2)
    assert radii == [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    for radius in radii:
        found = certificates.outcomes(Box(radius)).counts_at(sum(radius), labels)
        judged = [one for one, label in zip(certificates, labels, strict=True) if one.label == label]
        assert (found.n_graphs, found.n_right) == (2, len(judged))
        assert found.n_certified == sum(one.certified(radius) for one in judged)
        assert found.n_by_p_A == sum(one.frontier_by_p_A.covers(radius) for one in judged)
        within = [any(all(map(int.__le__, level, radius)) for level in one.broken) for one in judged]
        assert found.n_broken == sum(within)
        assert found.n_open == found.n_right - found.n_certified - found.n_broken >= 0
    everything = certificates.outcomes(Box((1, 0))).counts_at(1)
    assert (everything.n_graphs, everything.n_right) == (3, 3)
    # A graph without sites there is left out, one with fewer sites counts: all of its attacks are certified, or not.
    fewer = sc.certify(sc.Bounds.certain([0.9, 0.9]), sc.Noise(a=0.1, b=0.2), capacity=[(0, 1), (1, 1)])
    assert [fewer.outcomes(Box(radius)).counts_at(sum(radius)).n_graphs for radius in [(1, 0), (2, 0), (2, 1)]] == [
        1,
        1,
        2,
    ]


def test_radii_of_flips_stay_in_the_box():
    bounds = sc.Bounds.certain([0.9, 0.9])
    found = sc.certify(bounds, sc.Noise(a=0.1, b=0.2), max_radius=(1, 5), capacity=[(9, 1), None])
    assert radii_of_flips(found, 2) == [(1, 0), (0, 1), (1, 1), (0, 2)]


# A threat that lists its attacks ------------------------------------------------------------------------------------

CUTS = sc.threats.Deletions(2)


@pytest.fixture(scope="module")
def cut():
    """A star, a clique with a spare edge, and a graph without edges, under deletions."""
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 3), n_classes=2)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.05))
    edges = [[(0, 1), (0, 2), (0, 3), (0, 4)], [(i, j) for i in range(5) for j in range(i)], []]
    graphs = [sc.Graph(5, each) for each in edges]
    return smoothed.certify(graphs, samples=2_000, seed=1, threat=CUTS, evidence=sc.Evidence(4_000))


def test_sizes_of_a_threat_are_counted_certificate_by_certificate(cut):
    for argument in (cut, cut.by_p_A):
        found = argument.counts()
        assert [(each.size, each.label) for each in found] == [(1, "1 deletion"), (2, "at most 2 deletions")]
        for each in found:
            asked = sc.threats.Deletions(each.size)
            among = [one for one in argument if sum(one.asked.counts[: each.size])]
            assert (each.n_graphs, each.n_without) == (len(among), len(cut) - len(among)) == (2, 1)
            assert each.n_attacks == sum(sum(one.asked.counts[: each.size]) for one in among)
            kinds = [one.verdict(asked) for one in among]
            counts = (each.n_certified, each.n_broken, each.n_open)
            assert counts == tuple(map(kinds.count, ("certified", "broken", "open")))
            assert each.n_by_p_A == sum(one.why(asked) == "by p_A" for one in among)
    broken, robust, empty = cut
    assert (broken.verdict(CUTS), robust.verdict(CUTS), empty.verdict(CUTS)) == ("broken", "certified", "certified")


def test_votes_that_would_settle_a_size_are_those_of_its_verdict():
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 2), n_classes=2)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.1))
    graph = sc.Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)])
    found = smoothed.certify([graph], samples=400, seed=1, threat="deletions:2", evidence=sc.Evidence(64))
    (one,) = found
    outcomes = found.outcomes()
    size, needed = outcomes[0].certified + 1, outcomes.to_settle[0]
    assert one.verdicts.sizes[size].kind == "open"
    assert needed == one.verdicts.own_votes + one.verdicts.sizes[size].more_votes
    assert [each.own_samples for each in found.counts()] == [(needed,) if n == size else () for n in (1, 2)]


def test_only_what_was_asked_is_counted(cut):
    assert [each.label for each in cut.counts(threat="deletions:1")] == ["1 deletion"]
    assert [each.label for each in cut.counts(threat="flips:1")] == ["any 1 flip"]
    (other,) = cut.counts(threat="rewire:1")
    assert (other.n_certified, other.n_open, other.why) == (None, 3, "rewire:1 was not asked about")
    assert {(one.certified, one.broken, one.looked) for one in cut.outcomes("rewire:1")} == {(None, None, 0)}
    *asked, beyond = cut.counts(threat="deletions:3")
    assert [each[1:] for each in asked] == [each[1:] for each in cut.counts()]
    assert (beyond.n_certified, beyond.why) == (None, "beyond the threat that was asked about, at most 2 deletions")


def test_any_flips_of_certificates_under_a_threat_are_by_p_a_alone(cut):
    outcomes = cut.outcomes("flips:2")
    for one, known, alone in zip(outcomes, outcomes.by_p_A, cut.by_p_A, strict=True):
        assert one.certified == known.certified == (min(2, alone.any_flips) or None)  # p_A was not asked to go on
