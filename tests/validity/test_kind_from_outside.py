"""The kind of the docs' recipe certifies soundly: every strand of three letters, every attack on it, exact answers."""

import sys
from fractions import Fraction
from itertools import product
from math import prod
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import examples
import starcert as sc

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
NOISE = sc.Noise(head=sc.Categorical(0.45, 4), tail=sc.Categorical(0.3, 4))
LAWS = [NOISE["head"], NOISE["head"], NOISE["tail"]]
ALPHA = 0.05
ROWS = list(product(range(4), repeat=3))


@pytest.fixture(scope="module")
def strands():
    """The recipe's module, as its readers import it."""
    (code,) = (each.code for each in examples.blocks_of(PAGE.read_text("utf-8")) if each.title == "strands.py")
    module = sys.modules["strands"] = ModuleType("strands")
    exec(code, vars(module))
    yield module
    del sys.modules["strands"]


def answers(seed):
    """A class for every strand: mostly by its letters, some at random."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(64) < 0.15, rng.integers(2, size=64), np.array(ROWS).sum(axis=1) > 4)


def exact_shares(table):
    shares = {}
    for row in ROWS:
        steps = [law.transitions(value) for law, value in zip(LAWS, row, strict=True)]
        masses = [prod(step[value] for step, value in zip(steps, copy, strict=True)) for copy in ROWS]
        shares[row] = sum(mass for mass, answer in zip(masses, table, strict=True) if answer)
    return shares


def flips(one, other):
    differ = [a != b for a, b in zip(one, other, strict=True)]
    return sum(differ[:2]), sum(differ[2:])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_no_strand_is_certified_where_an_attack_changes_the_answer(strands, seed):
    table = answers(seed)
    base = sc.classifiers.from_callable(
        lambda rows: table[rows @ [16, 4, 1]].astype(int), on="vectors", description=f"table {table.tolist()}"
    )
    smoothed = sc.SmoothedClassifier(base, NOISE, {"head": [0, 1], "tail": [2]})
    objects = [strands.Strand("".join(strands.LETTERS[value] for value in row)) for row in ROWS]
    found = smoothed.certify(objects, samples=4_000, seed=seed, alpha=ALPHA, evidence=True)
    label = {row: share > Fraction(1, 2) for row, share in exact_shares(table).items()}
    wrong = certified = broken = 0
    for row, one in zip(ROWS, found, strict=True):
        claims = [one.label == label[other] for other in ROWS if one.certified(flips(row, other))]
        wrong += not all(claims)
        certified += len(claims) - bool(claims)
        for level in one.broken:
            broken += 1
            wrong += all(label[other] == label[row] for other in ROWS if flips(row, other) == level)
    assert certified > 40
    assert broken > 40
    assert wrong <= 3  # of 64 strands, each with probability 0.05 at most; mostly none are


def test_letters_in_no_region_are_fixed_and_nothing_is_said_of_them(strands):
    table = np.array([row[2] > 1 for row in ROWS])
    base = sc.classifiers.from_callable(
        lambda rows: table[rows @ [16, 4, 1]].astype(int), on="vectors", description="the last letter"
    )
    smoothed = sc.SmoothedClassifier(base, sc.Noise(head=sc.Categorical(0.45, 4)), {"head": [0, 1]})
    one = smoothed.certify([strands.Strand("AAA")], samples=1_000, seed=0)[0]
    assert one.certified((2,))  # its letters decide nothing
    assert one.label != table[ROWS.index((0, 0, 3))]  # and the last one decides all: it is fixed, and said to be so
    assert smoothed.problem([strands.Strand("AAA")]).sites[0].n_fixed == 1
