"""A layer of one's own certifies soundly: boards of three-valued cells, every board looked at, exact answers."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from math import prod

import numpy as np
import pytest

import starcert as sc
from starcert.objects import Layer, Numbered, Sites
from starcert.objects.binding import Problem, bind_all
from starcert.objects.content import digest
from starcert.objects.laws import Law
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import clean_copy
from starcert.system.errors import InvalidParameterError


class Cells(Layer):
    """The cells of a board with two columns."""

    @property
    def ranges(self):
        return ("row", self.size // 2), ("column", 2)

    def coordinates(self, numbers):
        return np.divmod(numbers, 2)

    def numbers(self, row, column):
        return 2 * row + column


@dataclass(frozen=True)
class Board:
    """Cells with values from 0 to 2, row after row, and nothing that noise leaves alone but their number."""

    cells: tuple[int, ...]

    @property
    def key(self):
        return digest("board", self.cells)

    @property
    def layers(self):
        return (Cells("cells", size=len(self.cells), alphabet=3),)

    @property
    def frame(self):
        return Length(len(self.cells))

    def nonzero(self, layer):
        values = np.array(self.cells, dtype=np.uint8)
        return self.layers[0].coordinates(np.flatnonzero(values)), values[values > 0]


@dataclass(frozen=True)
class Length:
    cells: int

    @property
    def key(self):
        return digest("length", self.cells)


@dataclass(frozen=True)
class Spread(Law):
    """Another value, each of the two with p/(1 + p)."""

    p: float
    alphabet = 3
    suffixes = ("",)
    moves = (tuple(permutations(range(3), 2)),)

    def transitions(self, value):
        other = Fraction(self.p) / (1 + Fraction(self.p))
        return tuple(1 - 2 * other if each == value else other for each in range(3))

    def change(self, value):
        return float(1 - self.transitions(value)[value])

    def capacity(self, counts):
        return (sum(counts),)

    def to_json(self):
        return {"spread": self.p}


BOARDS = [Board(cells) for cells in product(range(3), repeat=4)]
CELLS = np.array([board.cells for board in BOARDS])
NOISE = sc.Noise(left=Spread(0.25), right=Spread(0.45))
LAWS = [NOISE["left"], NOISE["right"]] * 2
HALF = Fraction(1, 2)


def columns(board: Board) -> Sites:
    layer = board.layers[0]
    return Sites(board, ("left", "right"), (Numbered(layer, np.array([0, 2])), Numbered(layer, np.array([1, 3]))))


def table(seed: int) -> np.ndarray:
    """An answer for every board: mostly by the sum of its cells, some at random."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(81) < 0.1, rng.integers(2, size=81), CELLS.sum(axis=1) > 4)


def exact_shares(answers: np.ndarray) -> list[Fraction]:
    """With which probability the noisy copies of each board are answered 1, exactly."""
    shares = []
    for board in BOARDS:
        steps = [law.transitions(value) for law, value in zip(LAWS, board.cells, strict=True)]
        masses = [prod(step[z] for step, z in zip(steps, noisy.cells, strict=True)) for noisy in BOARDS]
        assert sum(masses) == 1
        shares.append(sum(mass for mass, answer in zip(masses, answers, strict=True) if answer))
    return shares


def flips(one: Board, other: Board) -> tuple[int, int]:
    """How many cells differ in the left and in the right column."""
    differ = [a != b for a, b in zip(one.cells, other.cells, strict=True)]
    return sum(differ[::2]), sum(differ[1::2])


def by_table(answers: np.ndarray):
    return sc.classifiers.from_callable(
        lambda batch: answers[batch.vectors() @ [27, 9, 3, 1]], on="batch", description=f"table {answers.tolist()}"
    )


@pytest.mark.parametrize("seed", range(4))
def test_no_certificate_covers_an_attack_that_changes_the_smoothed_answer(seed):
    """With the exact shares in place of bounds, every board and every attack on it."""
    shares = exact_shares(table(seed))
    labels = [share > HALF for share in shares]
    slacks = sc.slack_table(NOISE, (2, 2))
    covered = changed = 0
    for board, share, label in zip(BOARDS, shares, labels, strict=True):
        for other, changed_label in zip(BOARDS, labels, strict=True):
            certified = min(share, 1 - share) < slacks[flips(board, other)] * (1 - 1e-9)
            assert not certified or changed_label == label
            covered += certified and other is not board
            changed += changed_label != label
    assert covered > 100
    assert changed > 500


def test_votes_on_boards_are_certified_and_the_certificates_hold():
    answers = table(0)
    smoothed = sc.SmoothedClassifier(by_table(answers), NOISE, columns)
    problem = smoothed.problem(BOARDS[::8])
    assert problem.capacities == ((2, 2),) * 11
    shares = dict(zip(BOARDS, exact_shares(answers), strict=True))
    votes = smoothed.vote(problem, samples=10_000, seed=3)
    for board, (_, ones) in zip(BOARDS[::8], votes.counts.tolist(), strict=True):
        assert abs(ones / 10_000 - shares[board]) < 5 * 0.5 / 10_000**0.5
    result = smoothed.certify(problem, samples=10_000, seed=3)
    assert sum(one.certified((0, 1)) for one in result) >= 2
    for board, one in zip(BOARDS[::8], result, strict=True):
        for other in BOARDS:
            assert not one.certified(flips(board, other)) or one.label == (shares[other] > HALF)


def test_votes_are_a_function_of_the_board_and_the_seed():
    smoothed = sc.SmoothedClassifier(by_table(table(1)), NOISE, columns)
    votes = smoothed.vote([BOARDS[5]], samples=3000, seed=1).counts
    both = smoothed.vote([BOARDS[7], BOARDS[5]], samples=3000, seed=1, voting=sc.Voting(batch_size=17)).counts
    assert votes.tolist() == both[1:].tolist() != smoothed.vote([BOARDS[5]], samples=3000, seed=2).counts.tolist()


def test_a_copy_is_shown_in_the_order_of_its_cells_with_those_that_are_fixed():
    board = Board((0, 1, 2, 1))
    sites = Sites(board, ("all",), (Numbered(board.layers[0], np.array([1, 2])),))
    assert (sites.n_sites, sites.n_fixed, sites.counts) == (2, 2, ((0, 1, 1),))
    batch = sampler(sites, sc.Noise(all=Spread(0.5))).draw(WordStream.of_chunk(1, board.key, "estimation", 0), 100)
    assert (batch.vectors()[:, [0, 3]] == [0, 1]).all()
    np.testing.assert_array_equal(batch.vectors()[:, [1, 2]], batch.values)
    np.testing.assert_array_equal(batch[10:30].vectors("cells"), batch.vectors()[10:30])
    assert {tuple(cells) for cells in batch.values.tolist()} == set(product(range(3), repeat=2))
    assert clean_copy(sites).vectors().tolist() == [[0, 1, 2, 1]]
    with pytest.raises(ValueError, match="not a function of the noisy copy"):
        batch.clean  # noqa: B018


def test_one_region_is_every_cell():
    problem = bind_all(BOARDS[:2], sc.Noise(all=Spread(0.1)), None)
    assert [each.sizes for each in problem.sites] == [(4,), (4,)]
    assert repr(problem).startswith("Problem(2 objects, Noise(all=Spread(")
    described = problem.sites[0].blocks[0].to_json()
    assert described == {"layer": "cells", "sites": [0, 1, 1, 1]}


class TestWhatDoesNotFit:
    layer = BOARDS[0].layers[0]

    def test_regions_that_share_a_cell(self):
        both = Numbered(self.layer, np.array([0, 1])), Numbered(self.layer, np.array([1, 2]))
        with pytest.raises(InvalidParameterError, match=r"be disjoint. Got .\(0, 1\) in both 'a' and 'b'"):
            Sites(BOARDS[0], ("a", "b"), both)

    def test_cells_that_are_none(self):
        with pytest.raises(InvalidParameterError, match=r"hold sites of the layer cells, 0 to 3, each once. Got 7"):
            Sites(BOARDS[0], ("a",), (Numbered(self.layer, np.array([7])),))

    def test_a_region_of_another_layer(self):
        with pytest.raises(InvalidParameterError, match=r"lie in a layer of cells. Got 'pairs'"):
            Sites(BOARDS[0], ("all",), sc.Partition.everything("all").sites(sc.Graph(3, [])).blocks)

    def test_a_law_on_bits(self):
        with pytest.raises(InvalidParameterError, match="be a law on the 3 values of cells"):
            Problem(sc.Noise(all=0.1), (Sites.everything(BOARDS[0], "all"),))

    def test_a_partition_of_node_pairs(self):
        with pytest.raises(InvalidParameterError, match="map each region to sites of each object"):
            bind_all(BOARDS[:1], sc.Noise(all=Spread(0.1)), sc.Partition.everything("all"))

    def test_what_needs_a_graph(self):
        with pytest.raises(InvalidParameterError, match=r"'sites' must be those of a Graph. Got 'Board'"):
            _ = Sites.everything(BOARDS[0], "all").graph
