"""Grids of numbers: what is written is what was given."""

import numpy as np
import pytest

from starcert.pages.plots.drawing import SHADES
from starcert_studies.figures import number_grids

pytest.importorskip("matplotlib")

VALUES = np.array([[0.0, 0.26, 1.0], [0.5, np.nan, 0.51]])
NAMES = ("letters", "digits", "share")


def grids(n_lines=1, **more):
    panels = [{"left": VALUES, "right": VALUES + 1}] * n_lines
    return number_grids(panels, **{"names": NAMES, "height": 2.0, **more})


@pytest.mark.parametrize("digits", [0, 2])
def test_every_number_is_written_in_its_place(digits):
    ax = grids(digits=digits).axes[0]
    written = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in ax.texts}
    assert written == {at: f"{value:.{digits}f}" for at, value in np.ndenumerate(VALUES) if not np.isnan(value)}
    assert len(ax.texts) == 5  # nothing is written where there is no number
    np.testing.assert_array_equal(np.asarray(ax.images[0].get_array().filled(np.nan)), VALUES)
    assert ax.yaxis_inverted()  # the first row is at the top


def test_axes_are_named_once_and_numbered_unless_named():
    upper_left, upper_right, lower_left, *_ = grids(2, rows=("a", "b")).axes
    assert [label.get_text() for label in upper_left.get_xticklabels()] == ["0", "1", "2"]
    assert [label.get_text() for label in upper_left.get_yticklabels()] == ["a", "b"]
    assert [(ax.get_xlabel(), ax.get_ylabel()) for ax in (upper_left, upper_right, lower_left)] == [
        ("", "letters"),
        ("", ""),
        ("digits", "letters"),
    ]
    with pytest.raises(ValueError, match="does not match"):
        grids(rows=("a", "b", "c"))


def test_numbers_stand_out_from_their_cells():
    ax = grids().axes[0]
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert colours == {"0.00": "white", "0.26": "white", "0.50": "white", "0.51": "black", "1.00": "black"}
    assert ax.images[0].get_cmap().name == SHADES


def test_one_scale_serves_all_and_marks_the_majority():
    figure = grids(limits=(-1, 2), majority=0.75)
    assert [ax.images[0].get_clim() for ax in figure.axes[:2]] == [(-1, 2)] * 2
    assert len(figure.axes) == 3
    assert figure.axes[2].get_ylabel() == "share"
    assert "majority" in figure.axes[2].get_title()
    assert "majority" not in grids().axes[2].get_title()
