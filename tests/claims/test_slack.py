import tracemalloc
from itertools import product

import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError


def test_the_table_holds_the_slack_of_every_radius():
    noise = sc.Noise(a=0.1, b=sc.Flip(delete=0.3, add=0.05))
    table = sc.slack_table(noise, {"a": 2, "b.delete": 3, "b.add": 1})
    assert table.shape == (3, 4, 2)
    for radius in product(range(3), range(4), range(2)):
        assert table[radius] == sc.slack(noise, radius)


def test_slack_starts_at_one_half_and_falls():
    table = sc.slack_table(sc.Noise(a=0.02, b=0.45), (35, 45))
    assert table[0, 0] == 0.5
    # Floats may differ in the last digits where the truth is flat, hence not strictly.
    assert (np.diff(table, axis=0) <= 0).all()
    assert (np.diff(table, axis=1) <= 1e-12 * table[:, 1:]).all()


def test_rhos_at_radius_zero_change_nothing():
    noise = sc.Noise(a=0.1)
    assert sc.rho_lower(noise, 0, 0.7) == pytest.approx(0.7, rel=1e-15)
    assert sc.rho_upper(noise, 0, 0.7) == pytest.approx(0.7, rel=1e-15)


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan"), "0.5", None])
@pytest.mark.parametrize("function", [sc.rho_lower, sc.rho_upper])
def test_bad_probabilities_are_refused(function, p):
    with pytest.raises(InvalidParameterError, match="'p' must be a probability"):
        function(sc.Noise(a=0.1), 1, p)


def test_a_table_too_large_is_refused_before_it_is_made():
    with pytest.raises(InvalidParameterError, match="use certify"):
        sc.slack_table(sc.Noise(a=0.1, b=0.2, c=0.3), (10**9,) * 3)


def test_what_is_no_noise_is_refused():
    for ask in (lambda: sc.slack(0.1, 1), lambda: sc.slack_table(0.1, 1), lambda: sc.rho_lower({"a": 0.1}, 1, 0.5)):
        with pytest.raises(InvalidParameterError, match="'noise' must be a Noise"):
            ask()


def test_memory_does_not_follow_the_number_of_cells():
    """Six axes of radius 20 have 86 million cells: listing them once would take more than two gigabytes."""
    noise = sc.Noise(a=0.02, b=0.1, c=0.2, d=0.3, e=0.4, f=0.45)
    tracemalloc.start()
    assert sc.slack(noise, (20,) * 6) == pytest.approx(3.8117410737e-61, rel=1e-9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
