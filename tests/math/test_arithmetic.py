import math
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq

from starcert.math import margins
from starcert.math.arithmetic import Compiled, exact_number, float_at_least, float_below, lower_end, midpoint, upper_end


def fraction(x: arb | fmpq) -> Fraction:
    x = x if isinstance(x, fmpq) else x.fmpq()
    return Fraction(int(x.p), int(x.q))


@pytest.mark.parametrize("x", [fmpq(1, 3), fmpq(1, 8), fmpq(0), fmpq(1, 10**320), arb(0.1), arb(1) / 3])
def test_floats_around_an_exact_number(x):
    x = x if isinstance(x, fmpq) else x.lower()
    below, at_least = float_below(x), float_at_least(x)
    assert Fraction(below) < fraction(x) <= Fraction(at_least)
    assert math.nextafter(below, math.inf) == at_least


def test_a_ball_has_ends_and_a_fraction_is_its_own():
    third = exact_number(Fraction(1, 3))
    assert fraction(lower_end(third)) < Fraction(1, 3) < fraction(upper_end(third))
    assert fraction(lower_end(third)) <= fraction(midpoint(third)) <= fraction(upper_end(third))
    exact = exact_number(Fraction(1, 3), None)
    assert fraction(lower_end(exact)) == fraction(midpoint(exact)) == fraction(upper_end(exact)) == Fraction(1, 3)


WITHOUT_A_PLACE = """
import sys
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
sys.argv = ["starcert", *{words!r}]
from starcert.cli import main
main()
"""


@pytest.mark.slow
def test_without_a_place_for_compiled_code_commands_work_and_say_once_how_to_get_it_back(here):
    words = ["radius", "--noise", "all=0.1", "--radius", "all=1"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_PLACE.format(words=words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
    assert done.stdout == here(*words)[1]  # the same numbers as with code that is kept


AT_ONCE = """
import sys
from concurrent.futures import ThreadPoolExecutor
import starcert as sc
noise = sc.Noise(motif=0.02, random=0.45)
assert "numba" not in sys.modules
with ThreadPoolExecutor(8) as pool:
    found = set(pool.map(lambda _: sc.slack(noise, (1, 45)), range(8)))
print(found, "numba" in sys.modules)
"""


def test_the_first_calls_of_compiled_code_may_come_from_many_threads():
    done = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("{0.0018759438408875993} True", "")


def test_compiled_functions_are_found_by_their_names():
    found = margins._finite_range
    assert isinstance(found, Compiled)
    assert pickle.loads(pickle.dumps(found)) is found  # workers receive them so
    assert found.made() is found.made()
    low, high = found(np.array([[-np.inf, -1.0, 2.0]]))
    assert (low, high) == (-1.0, 2.0)
