import numpy as np
import pytest

from starcert.sampling.streams import WordStream


def words(stream: WordStream, portions: list[int]) -> list[int]:
    out: list[int] = []
    for portion in portions:
        out += stream.at_least(portion)[:portion].tolist()
        stream.use(portion)
    return out


def test_words_do_not_depend_on_the_portions():
    portions = ([100], [1] * 100, [7, 50, 3, 40])
    taken = [words(WordStream.of_chunk(1, "ab", "selection", 0), each) for each in portions]
    assert taken[0] == taken[1] == taken[2]


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
