"""Exact draws where flips are rare: how many sites flip, then which, then what they show.

The cost follows the number of flips, not of sites. All steps are exact. The count follows the binomial law to its last
digit: its distribution function is computed in ball arithmetic to 192 binary digits and compared with a uniform number;
if they agree in all digits (with probability 2⁻¹⁸⁰) an error is raised. The sites are drawn one by one, each uniformly
(by rejection, never by a remainder), and again if they were drawn before; what a flip shows if there are more than two
values follows its law, given that it is not the clean value.

Sites with one flip probability form a *pool*: a region under `Flip(p)`, or its sites of one clean value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from flint import arb, ctx, fmpz
from typing_extensions import override

from starcert.math.arithmetic import LOCK, binomial_masses, compiled
from starcert.math.cells import window
from starcert.objects import Sites
from starcert.objects.laws.law import Law
from starcert.sampling.draws import FlippedDraw, Nonzero, Positions, SiteSampler, UInt64s, runs_of
from starcert.sampling.streams import MAX_BYTES, DenseValues, WordStream
from starcert.sampling.views import are_bits
from starcert.system.errors import PrecisionError

FLIP_BYTES = 24  # bytes of one flipped position while it is drawn: itself, twice while pools are merged, and its copy
BLOCK_FLIPS = 2**22  # flips with values are drawn in blocks of copies with about this many: what is drawn depends on it


class Pool(NamedTuple):
    """Sites that flip with one probability."""

    first: int  # the first position of the range that the sites lie in
    size: int  # the length of that range
    p: float | Fraction  # the exact flip probability
    only: Positions | None = None  # the positions that belong, if they are a listed part of the range; None: all of it
    but: Positions = np.empty(0, dtype=np.int64)  # positions of the range that do not belong

    @property
    def n_sites(self) -> int:
        """The number of sites of the pool."""
        return self.size - self.but.size if self.only is None else self.only.size

    @property
    def flips(self) -> float:
        """The number of them that flip on average."""
        return self.n_sites * float(self.p)


def pools_of(sites: Sites, laws: list[Law]) -> list[Pool]:
    """The sites of each region by how often they flip."""
    pools, bits = [], are_bits(sites)
    positions, values = sites.nonzero
    for law, first, size in zip(laws, sites.offsets, sites.sizes, strict=True):
        if bits and law.change(1) == law.change(0):
            pools.append(Pool(first, size, law.change(0)))
            continue
        here = slice(*np.searchsorted(positions, (first, first + size)))
        for value in (1, 0) if bits else range(law.alphabet):  # the order decides which copies a seed gives
            p = law.change(value) if bits else 1 - law.transitions(value)[value]
            if value:
                pools.append(Pool(first, size, p, only=positions[here][values[here] == value]))
            else:
                pools.append(Pool(first, size, p, but=positions[here]))
    return pools


class SparseSites(SiteSampler):
    """Draws the sites that flip, pool by pool, and what they show.

    If sites have more than two values, `regions` are the first position and the law of each region.
    """

    def __init__(
        self, n_sites: int, nonzero: Nonzero, pools: Sequence[Pool], regions: Sequence[tuple[int, Law]] = ()
    ) -> None:
        self._n_sites, self._nonzero = n_sites, nonzero
        self._pools = [pool for pool in pools if pool.n_sites and pool.p > 0]
        self._taken = [_taken_by_others(pool) for pool in self._pools]
        self._flips = sum(pool.flips for pool in pools)
        self._values = ShownValues(regions) if regions else None

    @override
    def draw(self, stream: WordStream, samples: int) -> FlippedDraw:
        if self._values is not None:
            return FlippedDraw.joined(list(self._blocks(stream, samples, samples)))
        return self._drawn([stream] * len(self._pools), samples)

    @override
    def portions(self, stream: WordStream, samples: int, wanted: int) -> Iterator[FlippedDraw]:
        if self._values is not None:
            yield from self._blocks(stream, samples, wanted)
            return
        most = max(1, int(MAX_BYTES / (FLIP_BYTES * (1 + self._flips))))
        if most >= samples:
            yield self.draw(stream, samples)[:wanted]
            return
        # All samples of a pool come before those of the next. Where each pool's words begin is found by drawing once.
        streams = []
        for pool, taken in zip(self._pools, self._taken, strict=True):
            streams.append(stream.fork())
            if len(streams) < len(self._pools):
                for start in range(0, samples, most):
                    _draw_pool(stream, min(most, samples - start), pool, taken)
        for start in range(0, wanted, most):
            yield self._drawn(streams, min(most, samples - start))[: wanted - start]

    def _drawn(self, streams: Sequence[WordStream], samples: int) -> FlippedDraw:
        pools = zip(streams, self._pools, self._taken, strict=True)
        drawn = [_draw_pool(stream, samples, pool, taken) for stream, pool, taken in pools]
        if len(drawn) == 1:
            return FlippedDraw(self._n_sites, self._nonzero, *drawn[0])
        lengths = np.array([np.diff(starts) for starts, _ in drawn], dtype=np.int64).reshape(len(drawn), samples)
        by_copy = np.arange(lengths.size).reshape(lengths.shape).T.reshape(-1)  # all pools of a copy, then of the next
        _, places = runs_of(np.concatenate([[0], np.cumsum(lengths)]), by_copy)
        positions = np.concatenate([np.empty(0, dtype=np.int64), *(positions for _, positions in drawn)])[places]
        starts = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))])
        return FlippedDraw(self._n_sites, self._nonzero, starts, positions)

    def _blocks(self, stream: WordStream, samples: int, wanted: int) -> Iterator[FlippedDraw]:
        """Flips with values: in each block of copies the positions first, then what they show."""
        rows = max(1, int(BLOCK_FLIPS / (1 + self._flips)))
        for start in range(0, max(1, wanted), rows):
            drawn = self._drawn([stream] * len(self._pools), min(rows, samples - start))
            assert self._values is not None
            yield self._values.draw(stream, drawn)[: wanted - start]


class ShownValues:
    """Draws what flips show where sites have more than two values: `regions` as in `SparseSites`."""

    def __init__(self, regions: Sequence[tuple[int, Law]]) -> None:
        self._offsets = np.array([first for first, _ in regions])
        self._first_laws = np.cumsum([0, *(law.alphabet for _, law in regions)])
        self._laws = [_law_of_flips(law, value) for _, law in regions for value in range(law.alphabet)]

    def draw(self, stream: WordStream, drawn: FlippedDraw) -> FlippedDraw:
        """The same flips, each with a value."""
        regions = np.searchsorted(self._offsets, drawn.positions, side="right") - 1
        laws = self._first_laws[regions] + drawn.clean_at(drawn.positions)
        shown = DenseValues(self._laws, laws).draw_values(stream, 1)[0]
        return FlippedDraw(drawn.n_sites, drawn.nonzero, drawn.starts, drawn.positions, shown)


def _law_of_flips(law: Law, value: int) -> Sequence[Fraction]:
    """The law of the values that a site of this clean value shows, given that it flips."""
    chances = law.transitions(value)
    change = 1 - chances[value]
    return [(p / change if shown != value else Fraction(0)) if change else p for shown, p in enumerate(chances)]


MAX_EXACT_SITES = 20_000

COUNT_WORDS = 3  # 64-bit words in an entry of the distribution function, and in the number that is compared with it


@lru_cache(maxsize=256)
def count_table(sites: int, p: float | Fraction) -> tuple[int, UInt64s]:
    """The distribution function of Bin(sites, p): the first count, and floor(2¹⁹²·P(count ≤ k)) for k from there on.

    Shape (counts, 3), most significant word first; the last entry, which is 1 or so close that no digit differs, is all
    ones. A uniform number of 192 digits means the first count whose entry it is less than.
    """
    digits = 64 * COUNT_WORDS
    if p in (0, 1):
        return int(sites * p), np.full((1, COUNT_WORDS), 2**64 - 1, dtype=np.uint64)
    low, high = window(sites, float(p), bits=digits + 120)
    for bits in (384, 768, None):
        floors = _floors(sites, Fraction(p), low, high, bits)
        if None not in floors:
            break
    else:
        raise PrecisionError(
            f"Flips of {sites:,} sites with probability {float(p)!r} cannot be drawn exactly. Change the probability "
            "a little."
        )
    entries = [*(int(x) for x in floors if x is not None), 2**digits - 1]
    words = [[x >> (64 * (COUNT_WORDS - 1 - i)) & (2**64 - 1) for i in range(COUNT_WORDS)] for x in entries]
    return low, np.array(words, dtype=np.uint64)


def _floors(sites: int, p: Fraction, low: int, high: int, bits: int | None) -> Sequence[fmpz | None]:
    """floor(2¹⁹²·P(count ≤ k)) for `low` ≤ k < `high`, None where balls leave it open; `bits` None: exactly."""
    unit = fmpz(2) ** (64 * COUNT_WORDS)
    if bits is None:  # an entry that has no more than 192 digits, such as 1/4: no ball can tell it from less
        if sites > MAX_EXACT_SITES:
            return [None]
        sums = accumulate(binomial_masses(sites, p, 0, high - 1, None))
        return [(total * unit).floor() for k, total in enumerate(sums) if k >= low]
    with LOCK, ctx.workprec(bits):
        # What lies below the window is less than 2⁻³¹⁰, somewhere between 0 and that.
        below, entries = arb(arb(2) ** -311, arb(2) ** -311), list[fmpz | None]()
        for k, mass in enumerate(binomial_masses(sites, p, low, high - 1), low):
            below += mass
            scaled = below * unit
            if 2 * p == 1 and 2 * k + 1 == sites:  # by symmetry 1/2 exactly, which no ball can tell from less
                entries.append(unit // 2)
            elif scaled.upper() < 1 or scaled.lower() >= unit - 1:  # true entries lie between 0 and 1
                entries.append(fmpz(0) if scaled < 1 else unit - 1)
            else:
                entries.append(scaled.floor().unique_fmpz())
        return entries


def drawn_counts(stream: WordStream, samples: int, n_sites: int, p: float | Fraction) -> Positions:
    """The number of sites of a pool that flip in each sample."""
    first_count, table = count_table(n_sites, p)
    raw = stream.at_least(COUNT_WORDS * samples)
    counts: Positions = _counts_of(table, raw, samples)
    stream.use(COUNT_WORDS * samples)
    if counts.min(initial=0) < 0:
        raise ArithmeticError(TIED)
    return first_count + counts


TIED = "a random number agrees with the distribution function in all 192 digits"

MAX_PORTION = 2**24  # random words requested at a time, unless one sample needs more


def _taken_by_others(pool: Pool) -> Positions:
    """A hash table of the positions of a pool's range that do not belong to it, with room for those of a sample."""
    first_count, counts = count_table(pool.n_sites, pool.p)
    entries = pool.but.size + min(first_count + len(counts), pool.n_sites)
    table = np.full(1 << (2 * entries).bit_length(), -1, dtype=np.int64)
    _take_all(table, pool.but - pool.first)
    return table


def _draw_pool(stream: WordStream, samples: int, pool: Pool, taken: Positions) -> tuple[Positions, Positions]:
    """The places at which the flips of each sample begin (samples + 1 entries), and their positions."""
    if pool.p == 1 and pool.only is not None:  # nothing is left to chance, and no word is used
        return np.arange(samples + 1, dtype=np.int64) * pool.n_sites, np.tile(pool.only, samples)
    first_count, table = count_table(pool.n_sites, pool.p)
    starts = np.zeros(samples + 1, dtype=np.int64)
    flips = samples * pool.flips
    positions = np.empty(int(flips + 10 * flips**0.5 + 1024), dtype=np.int64)
    portion = min(int(4 * (flips + 4 * samples) + 4096), MAX_PORTION)
    span = pool.size if pool.only is None else pool.only.size
    most = first_count + len(table)  # more cannot be drawn
    taken = taken.copy()
    sample = 0
    while sample < samples:
        raw = stream.at_least(portion)
        reached, used = _draw_samples(first_count, table, span, pool.n_sites, taken, starts, sample, positions, raw)
        if reached < 0:
            raise ArithmeticError(TIED)
        if reached == sample:  # one that needs more words
            portion *= 2
        if reached < samples and positions.size - starts[reached] < most:  # positions may not fit
            positions = np.concatenate([positions, np.empty(positions.size // 4 + most, dtype=np.int64)])
        stream.use(used)
        sample = reached
    positions = positions[: starts[-1]]
    return starts, positions + pool.first if pool.only is None else pool.only[positions]


@compiled
def _place(taken, position):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The place of a position in an open-addressed table with −1 in free places, or would be."""
    mask = taken.size - 1
    place = (position * 0x9E3779B1) & mask
    while taken[place] != -1 and taken[place] != position:
        place = (place + 1) & mask
    return place


@compiled
def _take(taken, position):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Puts a position into the table; returns whether it was new."""
    place = _place(taken, position)
    new = taken[place] != position
    taken[place] = position
    return new


@compiled
def _take_all(taken, positions):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    for position in positions:
        _take(taken, position)


@compiled
def _count(table, raw, used):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The first entry that the next random number is less than; −1 if all digits agree with one."""
    low, high = 0, table.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        order = 0
        for i in range(COUNT_WORDS):
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
        counts[sample] = _count(table, raw, COUNT_WORDS * sample)
    return counts


@compiled
def _draw_samples(first_count, table, span, n_sites, taken, starts, sample, positions, raw):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Draws samples from `sample` on while words and space last; returns the first one not done, and words used.

    Counts are drawn by the distribution function `table`, which begins at `first_count`; then positions below `span`,
    of which those in the hash table `taken` are not available. The table is left as it was.
    """
    used = 0
    for number in range(sample, starts.size - 1):
        mark, begin = used, starts[number]
        if used + COUNT_WORDS > raw.size:
            return number, mark
        entry = _count(table, raw, used)
        if entry < 0:
            return -1, mark
        count = first_count + entry
        if begin + count > positions.size:
            return number, mark
        used += COUNT_WORDS
        stay = 2 * count > n_sites  # where more than half flips, draw those that stay
        chosen = np.empty(n_sites - count, np.int64) if stay else positions[begin : begin + count]
        found, used = _choose(raw, used, span, taken, chosen)
        if found == chosen.size and stay:
            _list_others(taken, span, positions[begin:])
        for k in range(found - 1, -1, -1):  # the last one first: so the table becomes what it was
            taken[_place(taken, chosen[k])] = -1
        if found < chosen.size:
            return number, mark
        starts[number + 1] = begin + count
    return starts.size - 1, used


@compiled
def _choose(raw, used, span, taken, chosen):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Fills `chosen` with different free positions, each uniform; returns how many it found, and the words used."""
    mask = np.uint64(1)
    while mask < np.uint64(span):
        mask = (mask << np.uint64(1)) | np.uint64(1)
    found = 0
    while found < chosen.size and used < raw.size:
        position = np.int64(raw[used] & mask)
        used += 1
        if position < span and _take(taken, position):
            chosen[found] = position
            found += 1
    return found, used


@compiled
def _list_others(taken, span, out):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """All positions below `span` that are not in the table, ascending."""
    free, at = np.ones(span, np.bool_), 0
    for position in taken:
        if position >= 0:
            free[position] = False
    for position in range(span):
        if free[position]:
            out[at] = position
            at += 1
