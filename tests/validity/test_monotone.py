"""A larger attack is never easier to withstand: the theorem of docs/mathematics.md, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from starcert.claims.slack import slacks_of
from starcert.math.channels import Channel

fractions = st.fractions(0, 1, max_denominator=50)
weights = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4)


def channel(weights: list[tuple[int, int]]) -> Channel:
    """Outcomes with these weights on either side, and one more that both sides show."""
    sums = [sum(side) + 1 for side in zip(*weights, strict=True)]
    return Channel((Fraction(r, sums[0]), Fraction(q, sums[1])) for r, q in [*weights, (1, 1)])


channels = st.builds(oracles.bit_channel, fractions, fractions) | st.builds(channel, weights)


@settings(max_examples=150)
@given(st.data())
def test_rho_lower_and_slack_fall_as_the_radius_grows(data):
    n_axes = data.draw(st.integers(1, 3))
    law = data.draw(st.lists(channels, min_size=n_axes, max_size=n_axes))
    small = tuple(data.draw(st.integers(0, 3)) for _ in law)
    large = tuple(r + data.draw(st.integers(0, 2)) for r in small)
    p = data.draw(fractions)
    cells, more = oracles.cells(law, small), oracles.cells(law, large)
    assert oracles.slack(cells) >= oracles.slack(more)
    assert oracles.rho_lower(cells, p) >= oracles.rho_lower(more, p)
    assert oracles.rho_upper(cells, p) <= oracles.rho_upper(more, p)


@pytest.mark.parametrize("seed", range(10))
def test_proved_brackets_fall_too(seed):
    rng = np.random.default_rng([13, seed])
    noise = oracles.random_noise(rng, 2)
    box = [(i, j) for i in range(5) for j in range(5)]
    proved = {r: slacks_of(noise.product).bracket(r) for r in box}
    for i, j in box:
        for larger in ((i + 1, j), (i, j + 1)):
            if larger in proved:
                assert Fraction(proved[larger].below) <= Fraction(proved[i, j].below)
