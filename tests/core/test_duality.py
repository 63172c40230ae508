from flint import arb

from starcert.core import duality


def test_a_cell_that_may_not_hold_what_is_missing_is_not_trusted_to():
    """0.55 may or may not fit into a mass of 0.5 ± 0.1, so the next cell, with its larger ratio, must help."""
    balls = [
        duality._BandCell(0.0, arb(0.5, 0.1), arb(0.5, 0.1), arb(1)),
        duality._BandCell(1.0, arb(0.5), arb(2), arb(4)),
    ]
    assert duality._primal(balls, arb(0.55)) >= 0.4 + 4 * 0.15
    assert duality._primal(balls[:1], arb(0.55)) is None
    assert duality._primal(balls, arb(0.2)) < 0.31
