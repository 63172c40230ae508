"""Streams are keyed by their chunk alone; their words and seeds are numpy's, bit by bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcert.sampling.streams import FOUR, WordStream, fill, fill_four, seeded, seeded_each


def words(stream: WordStream, portions: list[int]) -> list[int]:
    out: list[int] = []
    for portion in portions:
        out += stream.at_least(portion)[:portion].tolist()
        stream.use(portion)
    return out


def test_words_do_not_depend_on_the_portions():
    portions = ([100], [1] * 100, [7, 50, 3, 40])
    found = [words(WordStream.of_chunk(1, "ab", "selection", 0), each) for each in portions]
    assert found[0] == found[1] == found[2]


def test_a_portion_left_over_is_handed_out_again():
    stream = WordStream.of_chunk(1, "ab", "selection", 0)
    first = stream.at_least(10)[:10].tolist()
    stream.use(4)
    assert stream.at_least(3)[:6].tolist() == first[4:]


def test_every_part_of_the_key_makes_another_stream():
    keys = [(1, "ab", "estimation", 0), (2, "ab", "estimation", 0), (1, "ac", "estimation", 0)]
    keys += [
        (1, "ab", "selection", 0),
        (1, "ab", "estimation", 1),
        (0, "ab", "estimation", 0),
        (1, "ab", "training", 0),
    ]
    firsts = {int(WordStream.of_chunk(*key).at_least(1)[0]) for key in keys}
    assert len(firsts) == len(keys)


@pytest.mark.parametrize("draw", [lambda s: s.at_least(10)])
def test_no_global_generator_is_touched(draw):
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    draw(WordStream.of_chunk(1, "ab", "estimation", 0))
    assert (np.random.get_state()[1] == before).all()


def numpys(numbers, count: int) -> np.ndarray:
    return np.random.SFC64(np.random.SeedSequence(numbers)).random_raw(count)


@given(st.lists(st.one_of(st.integers(0, 2**33), st.integers(0, 2**300)), min_size=1, max_size=8))
def test_seeds_are_those_of_numpy(numbers):
    words = np.empty(5, dtype=np.uint64)
    fill(seeded(numbers), words)
    np.testing.assert_array_equal(words, numpys(numbers, 5))


@pytest.mark.parametrize("numbers", [[0], [0, 0, 0, 0, 0], [2**32 - 1], [2**32], [2**64 - 1, 1], [1 << 127, 0, 2, 9]])
def test_a_long_stream_in_portions(numbers):
    state, parts = seeded(numbers), []
    for size in (1, 0, 7, 1000, 20_000):
        parts.append(np.empty(size, dtype=np.uint64))
        fill(state, parts[-1])
    np.testing.assert_array_equal(np.concatenate(parts), numpys(numbers, 21_008))


def test_four_at_once_are_four_alone():
    states = np.array([seeded([7, i]) for i in range(FOUR)])
    for size in (1, 0, 5, 3000):  # each moves the states on
        words, alone = np.empty((FOUR, size), dtype=np.uint64), np.empty((FOUR, size), dtype=np.uint64)
        expected = states.copy()
        for state, row in zip(expected, alone, strict=True):
            fill(state, row)
        fill_four(states, words)
        np.testing.assert_array_equal(words, alone)
        np.testing.assert_array_equal(states, expected)


@given(
    st.lists(st.integers(0, 2**130), max_size=4),
    st.lists(st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 2**40)), max_size=5),
)
def test_states_that_differ_in_the_last_number(numbers, lasts):
    found = seeded_each(numbers, lasts)
    assert len(found) == len(lasts)
    for state, last in zip(found, lasts, strict=True):
        np.testing.assert_array_equal(state, seeded([*numbers, last]))
