import numpy as np
import pytest
from report_worlds import weighed

import starcert as sc
from starcert.display.drawing import TONES
from starcert.system.errors import InvalidParameterError

pytest.importorskip("matplotlib")

NOISE = sc.Noise(a=0.1, b=0.4)
BOUNDS = sc.clopper_pearson(sc.Votes([[999, 1], [900, 100], [300, 700]], selection=[[9, 1], [9, 1], [3, 7]]))
CERTIFICATES = sc.certify(BOUNDS, NOISE)


def test_a_radius_map_is_the_certified_accuracy_of_every_radius():
    found = sc.display.RadiusMap.from_certificates(CERTIFICATES, [0, 0, 0], max_radius=(2, 5))
    assert found.share.shape == (3, 6)
    for radius in ((0, 0), (1, 0), (0, 5), (2, 5)):
        assert found.share[radius] == CERTIFICATES.certified_accuracy([0, 0, 0], radius)
    assert found.share[0, 0] == pytest.approx(2 / 3)
    assert found.majority_share == 1.0
    without = sc.display.RadiusMap.from_certificates(CERTIFICATES, max_radius=(2, 5))
    assert without.share[0, 0] == 1.0
    assert without.majority_share is None


def test_a_slack_map_knows_what_unanimous_votes_certify():
    found = sc.display.SlackMap.from_noise(NOISE, (4, 12), votes=(100, 10_000))
    np.testing.assert_array_equal(found.slack, sc.slack_table(NOISE, (4, 12)))
    one = sc.certify(sc.clopper_pearson(sc.Votes([[10_000, 0]], selection=[[1, 0]])), NOISE, max_radius=(4, 12))[0]
    for i in range(5):
        for j in range(13):
            assert (found.slack[i, j] > found.failures[10_000]) == one.certified((i, j))


@pytest.mark.parametrize("labels", [None, [0, 0, 1]])
def test_maps_are_drawn_on_any_axes(labels, tmp_path):
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert sc.display.radius_map(CERTIFICATES, labels, max_radius=(2, 5), ax=left) is left
    assert sc.display.slack_map(NOISE, (4, 12), ax=right) is right
    assert (left.get_xlabel(), left.get_ylabel()) == ("flips in b", "flips in a")
    # The drawn cells are the computed ones, in the right place.
    drawn = left.collections[0].get_array().reshape(3, 6)
    expected = sc.display.RadiusMap.from_certificates(CERTIFICATES, labels, max_radius=(2, 5)).share
    np.testing.assert_array_equal(drawn, expected)
    assert len(right.texts) == 4  # one label a line
    figure.savefig(tmp_path / "maps.png")
    assert (tmp_path / "maps.png").stat().st_size > 5000


def test_other_numbers_of_axes_and_labels_are_refused():
    with pytest.raises(InvalidParameterError, match=r"'axes' must be two\. Got 'a alone' instead\. Use"):
        sc.display.slack_map(sc.Noise(a=0.1), 3)
    with pytest.raises(InvalidParameterError, match="labels"):
        sc.display.radius_map(CERTIFICATES, [0, 1], max_radius=(1, 1))


def test_a_verdict_map_has_four_tones(tmp_path):
    certificates, _ = weighed()
    seen = set()
    for one in certificates:
        found = sc.display.VerdictMap.from_certificate(one)
        assert all(map(int.__le__, np.subtract(found.tones.shape, 1).tolist(), one.capacity))
        for radius, tone in np.ndenumerate(found.tones):
            levels = [(i, j) for i in range(radius[0] + 1) for j in range(radius[1] + 1)]
            certified = all(one.verdict(level) == "certified" for level in levels)
            broken = any(one.verdict(level) == "broken" for level in levels)
            assert (tone == 3) == broken
            assert (tone < 2) == certified
            assert (tone == 0) == (certified and one.why(radius) == "by p_A")
        seen |= set(found.tones.ravel().tolist())
        axes = sc.display.verdict_map(one)
        named = [text.get_text() for text in axes.get_legend().get_texts()]
        assert named == [name for number, name in enumerate(TONES) if number in found.tones]
        assert axes.get_xlabel() == "flips in rest"
    assert seen == {0, 1, 2, 3}
    wider = sc.display.VerdictMap.from_certificate(certificates[0], max_radius=(12, 9))
    assert wider.tones.shape == (13, 10)
    with pytest.raises(InvalidParameterError, match="axes"):
        sc.display.verdict_map(sc.certify(BOUNDS, sc.Noise(a=0.1))[0])


def test_a_map_of_nodes_takes_the_labels_of_all_nodes():
    class Even(sc.classifiers.Classifier):
        n_classes = 2
        description = "even nodes"

        def n_targets(self, frame):
            return 2

        def target_nodes(self, frame):
            return np.array([0, 2])

        def classify(self, graphs):
            return graphs.degrees()[:, ::2] > 1

    graph = sc.Graph(4, [(0, 1), (0, 2), (0, 3)])
    noise = sc.Noise(all=sc.Flip(delete=0.1, add=0.1))
    result = sc.SmoothedClassifier(Even(), noise).certify([graph], samples=500, seed=1)
    found = sc.display.RadiusMap.from_certificates(result, [1, 0, 0, 0], max_radius=(1, 1))
    assert (found.many, found.majority_share) == ("nodes", 0.5)
    assert found.plot().figure.axes[-1].get_ylabel() == "share of nodes\nright and certified"


THREE = sc.Noise(a=0.1, b=0.4, c=0.3)


def test_of_three_axes_two_are_drawn_and_the_title_says_that_the_other_is_at_0():
    found = sc.certify(BOUNDS, THREE, capacity=[(9, 20, 9)] * 3)
    shown = sc.display.RadiusMap.from_certificates(found, [0, 0, 0], max_radius=(5, 2), axes=("b", "a"))
    for at in np.ndindex(shown.share.shape):
        assert shown.share[at] == found.certified_accuracy([0, 0, 0], (at[1], at[0], 0))
    assert shown.share.shape == (6, 3)
    ax = shown.plot()
    assert ax.get_title() == "Certified at each radius (no flips in c)"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("flips in a", "flips in b")
    slack = sc.display.SlackMap.from_noise(THREE, {"a": 2, "c": 4}, axes=("a", "c"))
    np.testing.assert_array_equal(slack.slack, sc.slack_table(THREE, (2, 0, 4))[:, 0])
    one = sc.display.VerdictMap.from_certificate(found[0], axes=("c", "b"))
    for at in np.ndindex(one.tones.shape):
        assert (one.tones[at] < 2) == found[0].certified((0, at[1], at[0]))
    assert "no flips in a" in one.plot().get_xlabel()


@pytest.mark.parametrize(
    ("axes", "named"),
    [
        (None, r"Choose two, the others stay at 0: axes=\('a', 'b'\)"),
        (("a", "d"), "be two of a, b, c"),
        (("a", "a"), "be two different ones"),
        ("a", "be two different ones"),
    ],
)
def test_axes_that_cannot_be_drawn_are_refused(axes, named):
    with pytest.raises(InvalidParameterError, match=named):
        sc.display.slack_map(THREE, (2, 2), axes=axes)
    with pytest.raises(InvalidParameterError, match="be about a and c"):
        sc.display.slack_map(THREE, {"b": 1}, axes=("a", "c"))
