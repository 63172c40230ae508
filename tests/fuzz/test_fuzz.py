"""No input ends in a traceback, is called a fault of starcert, takes over 20 seconds or over 1 GB."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fuzz.batch import BYTES, SECONDS

SHORT = {
    "commands": 60,
    "run_files": 600,
    "certificates": 60,
    "exact": 60,
    "intervals": 60,
    "stores": 100,
    "tu": 600,
    "graphml": 500,
    "tensors": 200,
    "molecules": 300,
}
"""Inputs of the everyday run: a second or two of each kind."""

MILLION = {
    "commands": 20_000,
    "run_files": 290_000,
    "certificates": 30_000,
    "exact": 5_000,
    "intervals": 5_000,
    "stores": 60_000,
    "tu": 250_000,
    "graphml": 200_000,
    "tensors": 40_000,
    "molecules": 100_000,
}
"""Inputs of the slow run, a million altogether. One takes half a millisecond (a run file) to 24 (a command line): all
of them some 25 minutes of one core."""

BATCH = {
    "commands": 2_000,
    "run_files": 29_000,
    "tensors": 5_000,
    "stores": 20_000,
    "certificates": 5_000,
    "exact": 5_000,
    "intervals": 5_000,
}

NEEDS = {"tensors": "torch_geometric", "molecules": "rdkit"}


def batch(kind: str, seed: int, first: int, count: int) -> dict:
    """The outcome of so many inputs, in a process of its own."""
    tests = Path(__file__).parents[1]
    places = [str(tests), str(tests / "support"), str(tests.parent / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("batch.py")), kind, *map(str, (seed, first, count))],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places), "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, f"{kind} {seed} {first} {count}: {done.returncode} {done.stderr[-2000:]}"
    return json.loads(done.stdout)


def check(kind: str, outcome: dict, inputs: int) -> None:
    assert outcome["failures"] == []
    assert outcome["inputs"] == inputs
    assert 0 < outcome["taken"] < inputs, "inputs that are all taken, or all refused, are no good inputs"
    assert outcome["seconds"] < SECONDS
    assert outcome["bytes"] < BYTES


@pytest.mark.parametrize("kind", SHORT)
def test_a_few_inputs_of_each_kind(kind):
    pytest.importorskip(NEEDS.get(kind, "starcert"))
    check(kind, batch(kind, 0, 0, SHORT[kind]), SHORT[kind])


def test_the_slow_run_is_a_million():
    assert sum(MILLION.values()) == 1_000_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", MILLION)
def test_a_million_inputs(kind):
    pytest.importorskip(NEEDS.get(kind, "starcert"))
    began, count = time.monotonic(), BATCH.get(kind, 25_000)
    for first in range(0, MILLION[kind], count):
        check(kind, batch(kind, 1, first, count), count)
    print(f"{kind}: {MILLION[kind]:,} inputs in {time.monotonic() - began:.0f} s")
