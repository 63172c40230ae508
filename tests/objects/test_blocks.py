import json
import pickle
from itertools import combinations, pairwise

import numpy as np
import pytest
from block_worlds import blocks, from_json
from hypothesis import given
from hypothesis import strategies as st

from starcert.objects.blocks import Block, Listed, across, inside, within, without

N_NODES = 8


def check(block, pairs):
    """Holds the block to a list of its pairs: the same set, numbered both ways."""
    assert block.size == len(pairs)
    u, v = block.coordinates(np.arange(block.size))
    assert u.dtype == v.dtype == np.int64
    numbered = list(zip(u.tolist(), v.tolist(), strict=True))
    assert sorted(numbered) == sorted(pairs)
    number = {pair: position for position, pair in enumerate(numbered)}
    one, other = (side.ravel() for side in np.meshgrid(np.arange(N_NODES), np.arange(N_NODES)))
    expected = [number.get((min(pair), max(pair)), -1) for pair in zip(one.tolist(), other.tolist(), strict=True)]
    for twin in (block, pickle.loads(pickle.dumps(block))):
        located = twin.locate(one, other)
        assert located.dtype == np.int64
        assert located.tolist() == expected
    return numbered


@given(st.permutations(range(N_NODES)), st.lists(st.integers(0, N_NODES), max_size=4), st.data())
def test_pairs_inside_groups_and_listed_ones_are_in_lexicographic_order(nodes, cuts, data):
    groups = [nodes[start:end] for start, end in pairwise(sorted(cuts))]
    pairs = [pair for group in groups for pair in combinations(sorted(group), 2)]
    block = within([np.array(group, dtype=np.int64) for group in groups])
    assert check(block, pairs) == pairs
    out = [pair for pair in pairs if data.draw(st.booleans())]
    rows = np.array(data.draw(st.permutations(out)), dtype=np.int64).reshape(-1, 2)
    kept = [pair for pair in pairs if pair not in out]
    assert check(without(block, rows), kept) == kept
    assert check(Listed(np.array(sorted(out), dtype=np.int64).reshape(-1, 2)), out) == sorted(out)


def test_across_two_groups_is_a_rectangle_row_by_row():
    numbered = check(across([np.array([5, 1]), np.array([4, 0, 7])]), [(0, 1), (1, 4), (1, 7), (0, 5), (4, 5), (5, 7)])
    assert numbered == [(0, 1), (1, 4), (1, 7), (0, 5), (4, 5), (5, 7)]


@given(
    st.sampled_from(
        [inside, lambda nodes: within([nodes[:3], nodes[3:]]), lambda nodes: across([nodes[:3], nodes[3:]])]
    ),
    st.permutations(range(N_NODES)),
    st.data(),
)
def test_leaving_out_more_keeps_what_the_block_was(kind, nodes, data):
    block = kind(np.array(nodes, dtype=np.int64))
    kept = list(zip(*(ends.tolist() for ends in block.coordinates(np.arange(block.size))), strict=True))
    for _ in range(2):
        out = data.draw(
            st.lists(st.sampled_from(list(combinations(range(N_NODES), 2))), max_size=9)
        )  # twice, or absent
        block = without(block, np.array(out, dtype=np.int64).reshape(-1, 2))
        kept = [pair for pair in kept if pair not in out]
        assert check(block, kept) == kept


@given(blocks(N_NODES))
def test_what_a_block_writes_is_read_back_as_the_same_block(world):
    block, pairs = world
    check(block, list(pairs))
    told = json.loads(json.dumps(block.to_json()))
    again = from_json(told)
    assert type(again) is type(block)
    assert [array.tolist() for array in again.content] == [array.tolist() for array in block.content]
    assert all(array.dtype == np.int64 for array in again.content)
    check(again, list(pairs))
    assert again.to_json() == told


def test_blocks_write_few_numbers():
    assert inside(np.arange(100)).to_json() == {"nodes": list(range(100))}
    assert set(across([np.arange(3), np.arange(3, 9)]).to_json()) == {"nodes", "first"}
    assert set(within([np.arange(3), np.arange(3, 9)]).to_json()) == {"nodes", "last"}
    holes = Block(np.arange(200), np.arange(1, 201), np.arange(15_000, 15_100))
    assert holes.to_json()["holes"] == [15_000, *[1] * 99]
    listed = Listed(np.array([[97, 98], [97, 99], [98, 99]]))
    assert listed.to_json() == {"n": 100, "pairs": [97 * 100 + 98, 1, 100]}


@pytest.mark.parametrize("n_nodes", [2, 3, 1000])
def test_both_ends_of_every_row_of_a_triangle(n_nodes):
    block = inside(np.arange(n_nodes))
    starts = [row * n_nodes - row * (row + 1) // 2 for row in range(n_nodes)]
    for row in range(n_nodes - 1):
        (u, w), (v, x) = block.coordinates(np.array([starts[row], starts[row + 1] - 1]))
        assert (u, v, w, x) == (row, row + 1, row, n_nodes - 1)
