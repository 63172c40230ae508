"""Colours are told apart by readers who do not see some of them: simulated, and compared as Lab colours.

Simulation: Machado, Oliveira and Fernandes (2009), severity 1, on linear sRGB.
"""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import starcert.report
from starcert.display import drawing

PAGES = Path(starcert.report.__file__).parent
LEAST = 15  # the smallest difference of two colours that mean different things; one that is just seen is about 2
SIGHTS = {
    "all colours": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
)
WHITE = TO_XYZ.sum(axis=1)


def constant(file, name):
    """The colours of a constant of a script."""
    (found,) = re.findall(rf"^  const {name} = (.*);$", (PAGES / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return re.findall(r"#[0-9a-fA-F]{6}\b", found)


REGIONS = [colour for name in ("COLOURS", "FIXED") for colour in constant("drawing.js", name)]
CATEGORIES = {
    "regions": REGIONS,
    "the mark of an attack and its rim": constant("formula.js", r"\[MARK, RIM\]"),
    "runs and axes": constant("charts.js", "COLOURS"),
    "nodes": constant("page.js", "KINDS"),
    "regions and curves of plots": [*drawing.COLOURS, drawing.FIXED],
    "verdicts of plots": list(drawing.TONES.values()),
}


def seen(colour, sight):
    """A colour as someone with this sight sees it, in Lab: lightness, green to red, blue to yellow."""
    values = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(SIGHTS[sight] @ linear, 1e-4, 1) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one, other, sight):
    return float(np.linalg.norm(seen(one, sight) - seen(other, sight)))


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("name", CATEGORIES)
def test_colours_of_categories_are_told_apart(name, sight):
    assert len(CATEGORIES[name]) >= 2
    alike = [(one, other) for one, other in combinations(CATEGORIES[name], 2) if difference(one, other, sight) < LEAST]
    assert alike == []


def test_the_check_refuses_red_and_green():
    assert difference("#d62728", "#2ca02c", "all colours") > 4 * LEAST
    assert difference("#d55e00", "#8c7a00", "protanopia") < LEAST
