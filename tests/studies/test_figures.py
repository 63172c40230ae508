"""Grids of numbers: what is written is what was given."""

import numpy as np
import pytest

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


def test_one_scale_serves_all_and_marks_the_majority():
    figure = grids(limits=(-1, 2), majority=0.75)
    assert [ax.images[0].get_clim() for ax in figure.axes[:2]] == [(-1, 2)] * 2
    assert len(figure.axes) == 3
    assert figure.axes[2].get_ylabel() == "share"
    assert "majority" in figure.axes[2].get_title()
    assert "majority" not in grids().axes[2].get_title()
