"""Exact flips where they are rare: draw how many sites flip, then which.

The cost follows the number of flips, not the number of sites: a graph of 10,000 nodes has 50 million node pairs, of
which p = 1e-5 flips five hundred. Both steps are exact. The count follows the binomial law to its last digit (see
`counts`); the sites are drawn one by one, each uniformly (by rejection, never by a remainder), and again if they were
drawn before.

Sites with one flip probability form a *pool*: a region under `Flip(p)`, or its present or its absent edges under
`Flip(delete, add)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import compiled
from starcert.sampling.streams import DIGIT_WORDS, Words, WordStream, count_table

__all__ = ["Pool", "SparseFlips", "drawn_counts"]

Positions = npt.NDArray[np.int64]


class Pool(NamedTuple):
    """Sites that flip with one probability.

    Attributes:
        first: the first position of the range that the sites lie in.
        size: the length of that range.
        p: the flip probability, the exact value of a float.
        only: the positions that belong, if they are a listed part of the range; None: all of it.
        but: positions of the range that do not belong.
    """

    first: int
    size: int
    p: float
    only: Positions | None = None
    but: Positions = np.empty(0, dtype=np.int64)

    @property
    def n_sites(self) -> int:
        """How many sites the pool has."""
        return self.size - self.but.size if self.only is None else self.only.size


class SparseFlips:
    """Draws the flipped positions of several pools."""

    def __init__(self, pools: list[Pool]) -> None:
        self._pools = [pool for pool in pools if pool.n_sites and pool.p > 0]
        self._excluded = [_excluded(pool) for pool in self._pools]

    def draw(self, stream: WordStream, samples: int) -> tuple[Positions, Positions]:
        """Flipped positions of each sample: where each sample starts (samples + 1 entries), and the positions."""
        return self._of([stream] * len(self._pools), samples)

    def portions(self, stream: WordStream, samples: int, most: int) -> Iterator[tuple[Positions, Positions]]:
        """What `draw` gives, at most so many samples at a time.

        All samples of a pool are drawn before those of the next one. So where the words of each pool begin is found out
        first, by drawing and forgetting.
        """
        streams = []
        for pool, excluded in zip(self._pools, self._excluded, strict=True):
            streams.append(stream.fork())
            if len(streams) < len(self._pools):
                for count in _counts(samples, most):
                    _draw_pool(stream, count, pool, excluded)
        for count in _counts(samples, most):
            yield self._of(streams, count)

    def _of(self, streams: Sequence[WordStream], samples: int) -> tuple[Positions, Positions]:
        starts = [np.zeros(samples + 1, dtype=np.int64)]
        drawn: list[Positions] = []
        for stream, pool, excluded in zip(streams, self._pools, self._excluded, strict=True):
            ends, positions = _draw_pool(stream, samples, pool, excluded)
            starts.append(ends)
            drawn.append(positions)
        return _interleave(np.stack(starts), drawn)


def _counts(samples: int, most: int) -> Iterator[int]:
    for start in range(0, samples, most):
        yield min(most, samples - start)


def _draw_pool(
    stream: WordStream, samples: int, pool: Pool, excluded: tuple[Words, Positions]
) -> tuple[Positions, Positions]:
    first_count, table = count_table(pool.n_sites, pool.p)
    starts = np.zeros(samples + 1, dtype=np.int64)
    flips = pool.n_sites * pool.p
    positions = np.empty(int(samples * flips + 10 * (samples * flips) ** 0.5 + 1024), dtype=np.int64)
    portion = min(int(4 * samples * (flips + 4) + 4096), LARGEST_PORTION)
    span = pool.size if pool.only is None else pool.only.size
    most = first_count + len(table)  # more cannot be drawn
    mapped, as_table = excluded
    seen = mapped.copy(), np.full(0 if mapped.size else _table_size(min(most, pool.n_sites)), -1, dtype=np.int64)
    sample = 0
    while sample < samples:
        raw = stream.at_least(portion)
        reached, used = _draw_samples(
            first_count, table, span, pool.n_sites, (mapped, as_table), seen, starts, sample, positions, raw
        )
        if reached < 0:
            raise ArithmeticError(TIED)
        if reached == sample:  # one that needs more words
            portion *= 2
        if reached < samples and positions.size - starts[reached] < most:  # perhaps out of room for positions
            positions = np.concatenate([positions, np.empty(positions.size // 4 + most, dtype=np.int64)])
        stream.use(used)
        sample = reached
    positions = positions[: starts[-1]]
    return starts, positions + pool.first if pool.only is None else pool.only[positions]


def drawn_counts(stream: WordStream, samples: int, n_sites: int, p: float) -> Positions:
    """How many of so many sites flip in each sample."""
    first_count, table = count_table(n_sites, p)
    raw = stream.at_least(DIGIT_WORDS * samples)
    counts: Positions = _counts_of(table, raw, samples)
    stream.use(DIGIT_WORDS * samples)
    if counts.min(initial=0) < 0:
        raise ArithmeticError(TIED)
    return first_count + counts


TIED = "a random number agrees with the distribution function in all 192 digits"

MOST_MAPPED = 2**25
"""Up to so many positions, whether one is taken is a bit in a map of all of them."""

LARGEST_PORTION = 2**24
"""So many random words are asked for at a time, unless one sample needs more."""

SMALLEST = 16
"""Places in a table for nothing."""


def _table_size(entries: int) -> int:
    return max(2 * SMALLEST, 1 << (2 * entries).bit_length()) if entries else SMALLEST


def _excluded(pool: Pool) -> tuple[Words, Positions]:
    """The positions of a pool's range that do not belong, counted from its first: as a map of bits, or as a table."""
    span = pool.size if pool.only is None else pool.only.size
    taken = pool.but - pool.first
    if span > MOST_MAPPED:
        return np.empty(0, dtype=np.uint64), _hash_set(taken)
    bits = np.zeros(-(-span // 64) * 64, dtype=np.bool_)
    bits[taken] = True
    # Bits are in order on a little-endian machine.
    return np.packbits(bits, bitorder="little").view(np.uint64), np.empty(0, dtype=np.int64)


def _hash_set(values: Positions) -> Positions:
    """The values in an open-addressed table, −1 where a place is free."""
    table = np.full(_table_size(values.size), -1, dtype=np.int64)
    _insert_all(table, values)
    return table


@compiled
def _place(table, value):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Where a value stands in an open-addressed table, or would stand."""
    mask = table.size - 1
    place = (value * 0x9E3779B1) & mask
    while table[place] != -1 and table[place] != value:
        place = (place + 1) & mask
    return place


@compiled
def _contains(table, value):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return table[_place(table, value)] == value


@compiled
def _insert(table, value):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Puts a value into the table; returns whether it was new."""
    place = _place(table, value)
    new = table[place] != value
    table[place] = value
    return new


@compiled
def _insert_all(table, values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for value in values:
        _insert(table, value)


@compiled
def _count(table, raw, used):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The first entry that the next random number is less than; −1 if all digits agree with one."""
    low, high = 0, table.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        order = 0
        for i in range(DIGIT_WORDS):
            if raw[used + i] != table[middle, i]:
                order = -1 if raw[used + i] < table[middle, i] else 1
                break
        if order == 0:
            return -1
        if order < 0:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _counts_of(table, raw, samples):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    counts = np.empty(samples, np.int64)
    for sample in range(samples):
        counts[sample] = _count(table, raw, DIGIT_WORDS * sample)
    return counts


@compiled
def _draw_samples(first_count, table, span, n_sites, barred, taken, starts, sample, positions, raw):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Draws samples from `sample` on, as long as words and room last; returns the first one not done, and words used.

    Args:
        first_count: the count of the first entry of the table.
        table: the distribution function of the count.
        span: positions go from 0 to before it.
        n_sites: how many of them belong to the pool.
        barred: which positions do not belong, as a map of bits and as a table; one of the two is empty.
        taken: likewise, those that are drawn; left as it was found: the map as that of `barred`, the table empty.
        starts: where the positions of each sample begin.
        sample: the first that is not done.
        positions: what is drawn, sample by sample.
        raw: random words.
    """
    (map_of_barred, table_of_barred), (map_of_taken, table_of_taken) = barred, taken
    mapped = map_of_barred.size > 0
    used = 0
    for number in range(sample, starts.size - 1):
        mark, begin = used, starts[number]
        if used + DIGIT_WORDS > raw.size:
            return number, mark
        entry = _count(table, raw, used)
        if entry < 0:
            return -1, mark
        count = first_count + entry
        if begin + count > positions.size:
            return number, mark
        # Where more than half flips, draw those that stay.
        stay = 2 * count > n_sites
        wanted = n_sites - count if stay else count
        used += DIGIT_WORDS
        if mapped:
            used = _choose_mapped(raw, used, span, wanted, map_of_taken, positions[begin:])
            if used >= 0 and not stay:
                for position in positions[begin : begin + count]:
                    map_of_taken[position >> 6] &= ~(np.uint64(1) << np.uint64(position & 63))
            else:
                if used >= 0:
                    _list_others(span, map_of_taken, positions[begin:])
                map_of_taken[:] = map_of_barred
        else:
            used = _choose(raw, used, span, wanted, table_of_barred, table_of_taken, positions[begin:])
            if used >= 0 and stay:
                _fill_with_others(span, table_of_barred, table_of_taken, positions[begin:])
            table_of_taken[:] = -1
        if used < 0:
            return number, mark
        starts[number + 1] = begin + count
    return starts.size - 1, used


@compiled
def _choose(raw, used, span, wanted, excluded, seen, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """So many different positions below `span`, each uniform; returns the words used, or −1 if there were too few."""
    mask = np.uint64(1)
    while mask < np.uint64(span):
        mask = (mask << np.uint64(1)) | np.uint64(1)
    any_excluded = excluded.size > SMALLEST
    found = 0
    while found < wanted:
        if used == raw.size:
            return -1
        position = np.int64(raw[used] & mask)
        used += 1
        if position < span and not (any_excluded and _contains(excluded, position)) and _insert(seen, position):
            out[found] = position
            found += 1
    return used


@compiled
def _choose_mapped(raw, used, span, wanted, seen, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """What `_choose` does; those that were chosen have their bit in the map."""
    mask = np.uint64(1)
    while mask < np.uint64(span):
        mask = (mask << np.uint64(1)) | np.uint64(1)
    found = 0
    while found < wanted:
        if used == raw.size:
            return -1
        position = np.int64(raw[used] & mask)
        used += 1
        if position < span:
            bit = np.uint64(1) << np.uint64(position & 63)
            if not seen[position >> 6] & bit:
                seen[position >> 6] |= bit
                out[found] = position
                found += 1
    return used


@compiled
def _list_others(span, seen, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """All positions below `span` that have no bit in the map."""
    at = 0
    for position in range(span):
        if not (seen[position >> 6] >> np.uint64(position & 63)) & np.uint64(1):
            out[at] = position
            at += 1


@compiled
def _fill_with_others(span, excluded, seen, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """All positions below `span` that were neither chosen nor excluded."""
    at = 0
    for position in range(span):
        if not _contains(excluded, position) and not _contains(seen, position):
            out[at] = position
            at += 1


def _interleave(starts: Positions, drawn: list[Positions]) -> tuple[Positions, Positions]:
    """The positions of several pools, sample by sample."""
    if len(drawn) == 1:
        return starts[1], drawn[0]
    lengths = np.diff(starts, axis=1)
    total = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))])
    merged = np.empty(total[-1], dtype=np.int64)
    offset = total[:-1].copy()
    for length, begin, positions in zip(lengths[1:], starts[1:, :-1], drawn, strict=True):
        place = np.repeat(offset - begin, length) + np.arange(positions.size)
        merged[place] = positions
        offset += length
    return total, merged
