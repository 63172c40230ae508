"""Colours and files: the same for the same thing, whenever it is drawn."""

import io

import pytest

from starcert.display.canvas import COLOURS, FIXED, MAJORITY, SHADES, colour_of, new_axes, new_figure, style

matplotlib = pytest.importorskip("matplotlib")


def test_colours_come_from_the_palette_in_order():
    assert [colour_of(i) for i in range(8)] == list(COLOURS)
    assert colour_of(8) == colour_of(0)
    assert len(set(COLOURS)) == 8
    assert MAJORITY in COLOURS
    assert FIXED not in COLOURS
    assert SHADES in matplotlib.colormaps


def test_shades_go_from_dark_to_light_so_that_they_survive_in_grey():
    from matplotlib.colors import to_rgb  # noqa: PLC0415

    def light(colour):
        red, green, blue = to_rgb(colour)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    shades = [light(matplotlib.colormaps[SHADES](k / 20)[:3]) for k in range(21)]
    assert shades == sorted(shades)
    assert shades[-1] - shades[0] > 0.6


def test_two_drawings_are_the_same_bytes_and_settings_end_with_the_block():
    before = dict(matplotlib.rcParams)
    files = []
    for _ in range(2):
        with style():
            figure = new_figure(2, 2)
            figure.add_subplot().plot([1, 3, 2], label="words")
            drawn = io.BytesIO()
            figure.savefig(drawn, format="svg", metadata={"Date": None})
            files.append(drawn.getvalue())
    assert files[0] == files[1]
    assert b"<text" in files[0]  # words stay words: they can be searched
    assert dict(matplotlib.rcParams) == before


def test_new_axes_are_the_given_ones_or_fresh():
    ax = new_figure(1, 1).add_subplot()
    assert new_axes(ax) is ax
    assert new_axes(None) is not new_axes(None)
    assert tuple(new_figure(3, 2).get_size_inches()) == (3, 2)
