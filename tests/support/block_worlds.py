"""Random blocks of every kind, each with its node pairs by definition."""

from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from starcert.objects.blocks import AnyBlock, Block, Listed, across, inside, outside, within

KINDS = ("inside", "across", "within", "outside", "rows", "listed", "empty")


def row(nodes) -> np.ndarray:
    return np.array(nodes, dtype=np.int64)


@st.composite
def blocks(draw, n_nodes: int = 9) -> tuple[AnyBlock, set[tuple[int, int]]]:
    """A block and its pairs u < v; but for listed ones, with or without pairs that are left out."""
    kind = draw(st.sampled_from(KINDS))
    order = draw(st.permutations(range(n_nodes)))
    cuts = sorted(draw(st.lists(st.integers(0, n_nodes), max_size=4)))
    groups = [order[first:last] for first, last in pairwise(cuts)]
    start, end = (cuts[0], cuts[-1]) if cuts else (0, 0)
    some, others = order[:start], order[start:end]  # the groups divide the others
    every = {frozenset(pair) for pair in combinations(range(n_nodes), 2)}
    joined = {frozenset(pair) for group in groups for pair in combinations(group, 2)}
    inner = {frozenset(pair) for pair in combinations(some, 2)}
    block, pairs = {
        "inside": lambda: (inside(row(some)), inner),
        "across": lambda: (
            across([row(group) for group in groups]),
            {frozenset(pair) for pair in combinations(others, 2)} - joined,
        ),
        "within": lambda: (within([row(group) for group in groups]), joined),
        "outside": lambda: (
            outside(row(some), row(others)),
            {pair for pair in every if pair <= set(some + others)} - inner,
        ),
        "rows": lambda: _rows(order, sorted(draw(_counts(n_nodes, n_nodes))), draw(_counts(n_nodes, 4))),
        "listed": lambda: _listed(draw(st.sets(st.sampled_from(sorted(map(tuple, map(sorted, every))))))),
        "empty": lambda: draw(st.sampled_from([(inside(row([])), set()), _listed(set()), (within([]), set())])),
    }[kind]()
    if isinstance(block, Block) and draw(st.booleans()):
        u, v = block.coordinates(np.arange(block.size))
        numbers = sorted(draw(st.sets(st.integers(0, block.size - 1)))) if block.size else []
        pairs = pairs - {frozenset((int(u[i]), int(v[i]))) for i in numbers}
        block = Block(block.nodes, block.first, row(numbers), block.last)
    return block, {tuple(sorted(pair)) for pair in pairs}


def _counts(length: int, most: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, most), min_size=length, max_size=length)


def _rows(nodes: list[int], first: list[int], widths: list[int]) -> tuple[Block, set[frozenset[int]]]:
    """Rows that begin and end wherever a block allows."""
    first = [max(start, r + 1) for r, start in enumerate(first)]
    last = [min(start + width, len(nodes)) for start, width in zip(first, widths, strict=True)]
    pairs = {
        frozenset((node, nodes[column]))
        for node, start, end in zip(nodes, first, last, strict=True)
        for column in range(start, end)
    }
    return Block(row(nodes), row(first), last=row(last)), pairs


def _listed(pairs: set[tuple[int, int]]) -> tuple[Listed, set[frozenset[int]]]:
    return Listed(row(sorted(pairs)).reshape(-1, 2)), {frozenset(pair) for pair in pairs}


def numbered(block: AnyBlock) -> list[list[int]]:
    """The pairs of a block in the order of their numbers."""
    return np.stack(block.coordinates(np.arange(block.size)), axis=1).tolist()


def from_json(described: Mapping[str, Any]) -> AnyBlock:
    """The block that `to_json` wrote down, with the same pairs under the same numbers: what the report's page reads."""
    arrays = {name: np.array(part, dtype=np.int64) for name, part in described.items()}
    if "pairs" in arrays:
        return Listed(np.stack(np.divmod(np.cumsum(arrays["pairs"]), arrays["n"]), axis=1))
    return Block(
        arrays["nodes"],
        arrays.get("first", np.arange(1, len(arrays["nodes"]) + 1)),
        np.cumsum(arrays["holes"]) if "holes" in arrays else row([]),
        arrays.get("last"),
    )
