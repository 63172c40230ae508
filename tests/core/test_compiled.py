import subprocess
import sys

import pytest

WITHOUT_A_PLACE = """
import sys
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
sys.argv = ["starcert", *{words!r}]
from starcert.cli import main
main()
"""


@pytest.mark.parametrize("words", [["slack", "--noise", "all=0.1", "--radius", "all=1"], ["--help"]])
def test_without_a_place_for_compiled_code_commands_work_and_say_once_how_to_get_it_back(words):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_PLACE.format(words=words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    needs_code = words != ["--help"]
    assert done.stderr.count("NUMBA_CACHE_DIR") == needs_code
    assert done.stderr.count("\n") == needs_code
    assert done.stdout


def test_the_same_number_comes_out_as_with_kept_code():
    import starcert as sc  # noqa: PLC0415

    code = WITHOUT_A_PLACE.partition("sys.argv")[0]
    code += "import warnings; warnings.simplefilter('ignore'); import starcert as sc; "
    code += "print(sc.slack(sc.Noise(a=0.02, b=0.45), (1, 45)).hex())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == sc.slack(sc.Noise(a=0.02, b=0.45), (1, 45)).hex()
