"""A table of numbers as a heatmap: what is written is what was given."""

import numpy as np
import pytest

from starcert.pages.plots.drawing import SHADES, new_figure
from starcert.pages.plots.maps import NumberGrid
from starcert.system.errors import InvalidParameterError

pytest.importorskip("matplotlib")

VALUES = np.array([[0.0, 0.26, 1.0], [0.5, np.nan, 0.51]])


def grid(values=VALUES, rows=("a", "b"), columns=(1, 2, 3), **more):
    return NumberGrid(values, rows, columns, "letters", "digits", "share", **more)


@pytest.mark.parametrize("shape", [(3, 2), (2, 2), (3, 3), (6,), (2, 3, 1)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(InvalidParameterError, match=r"'values' must have the shape \(2, 3\)") as told:
        grid(np.zeros(shape))
    assert str(shape) in str(told.value)


@pytest.mark.parametrize("digits", [0, 2])
def test_every_number_is_written_in_its_place(digits):
    ax = grid(digits=digits, limits=(0, 1)).plot(bar=False)
    written = {(round(text.get_position()[1]), round(text.get_position()[0])): text.get_text() for text in ax.texts}
    assert written == {at: f"{value:.{digits}f}" for at, value in np.ndenumerate(VALUES) if not np.isnan(value)}
    assert len(ax.texts) == 5  # nothing is written where there is no number
    np.testing.assert_array_equal(np.asarray(ax.images[0].get_array().filled(np.nan)), VALUES)
    assert ax.yaxis_inverted()  # the first row is at the top


def test_axes_are_named():
    ax = grid().plot(bar=False)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("digits", "letters")


def test_numbers_stand_out_from_their_cells():
    ax = grid(limits=(0, 1), digits=2).plot()
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert colours == {"0.00": "white", "0.26": "white", "0.50": "white", "0.51": "black", "1.00": "black"}
    assert ax.images[0].get_cmap().name == SHADES


def test_limits_are_the_given_ones_or_the_numbers_own():
    assert grid(limits=(-1, 2)).plot().images[0].get_clim() == (-1, 2)
    assert grid().plot().images[0].get_clim() == (0, 1)


def test_the_scale_is_drawn_on_request_on_the_axes_that_were_given():
    figure = new_figure(4, 2)
    left, right = figure.subplots(1, 2)
    assert grid().plot(left, bar=False) is left
    assert len(figure.axes) == 2
    grid().plot(right)
    assert figure.axes[2].get_ylabel() == "share"
