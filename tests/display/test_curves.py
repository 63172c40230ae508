import math

import numpy as np
import pytest
from report_worlds import weighed

import starcert as sc
from starcert.system.errors import InvalidParameterError

pytest.importorskip("matplotlib")

BOUNDS = sc.clopper_pearson(sc.Votes([[999, 1], [900, 100], [300, 700]], selection=[[9, 1], [9, 1], [3, 7]]))
FOUND = sc.certify(BOUNDS, sc.Noise(a=0.1, b=0.4), capacity=[(9, 9), (9, 9), (9, 0)])


def test_a_curve_on_one_axis_is_the_certified_accuracy_there():
    curves = sc.display.AccuracyCurves.from_certificates(FOUND, [0, 0, 0], max_flips=4)
    assert list(curves.shares) == ["anywhere", "a", "b"]
    for flips in range(5):
        assert curves.shares["a"][flips] == FOUND.certified_accuracy([0, 0, 0], (flips, 0))
    with_sites = FOUND.certified((0, 2))[:2] & np.array([True, True])
    assert curves.shares["b"][2] == with_sites.mean()  # of those that have sites there
    assert curves.majority_share == 1.0
    assert curves.by_p_A == {}


def test_the_curve_of_flips_anywhere_counts_those_that_withstand_all_of_them():
    certificates, _ = weighed()
    labels = [*(one.label for one in certificates[:-1]), None]
    curves = sc.display.AccuracyCurves.from_certificates(certificates, labels, max_flips=2)
    known = [place for place, label in enumerate(labels) if label is not None]
    for flips in range(3):
        held = [
            not certificates[place].abstained
            and certificates[place].label == labels[place]
            and certificates[place].any_flips >= flips
            for place in known
        ]
        assert curves.shares["anywhere"][flips] == pytest.approx(np.mean(held))
    alone = sc.display.AccuracyCurves.from_certificates(certificates.by_p_A, labels, max_flips=2)
    assert curves.by_p_A == alone.shares
    assert curves.by_p_A != curves.shares


def test_curves_are_drawn_with_a_point_at_each_number_of_flips():
    ax = sc.display.accuracy_curves(FOUND, [0, 0, 1])
    lines = [line for line in ax.get_lines() if len(line.get_xdata()) and line.get_gid() != "majority"]
    curves = sc.display.AccuracyCurves.from_certificates(FOUND, [0, 0, 1])
    for line, shares in zip(lines, curves.shares.values(), strict=True):
        assert line.get_xdata().tolist() == list(range(len(shares)))
        np.testing.assert_array_equal(line.get_ydata(), shares)
    assert len({line.get_marker() for line in lines}) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "flips anywhere", "flips in a", "flips in b", "majority class",
    ]  # fmt: skip
    curves.plot(ax, name="again")
    assert [line.get_gid() for line in ax.get_lines()].count("majority") == 1


def test_without_sizes_or_with_many_axes_some_curves_are_left_out():
    open_ended = sc.certify(BOUNDS, sc.Noise(a=0.1, b=0.4))
    assert list(sc.display.AccuracyCurves.from_certificates(open_ended).shares) == ["a", "b"]
    many = sc.Noise({f"r{number}": 0.2 for number in range(6)})
    found = sc.certify(BOUNDS, many, capacity=[(3,) * 6] * 3)
    assert list(sc.display.AccuracyCurves.from_certificates(found, max_flips=2).shares) == ["anywhere"]
    chosen = sc.display.AccuracyCurves.from_certificates(found, axes=("r5", "r1"), max_flips=2)
    assert list(chosen.shares) == ["r5", "r1"]
    assert not any(math.isnan(share) for share in chosen.shares["r5"])
    with pytest.raises(InvalidParameterError, match="be some of anywhere, r0"):
        sc.display.accuracy_curves(found, axes=("r7",))
