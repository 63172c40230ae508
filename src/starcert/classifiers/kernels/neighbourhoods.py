"""GraKeL's hashes of rooted neighbourhoods, for the neighbourhood subgraph pairwise distance kernel.

The neighbourhoods of a node grow by themselves: the first is the node with its neighbours, each further one joins the
last neighbourhoods of all nodes in the last one, so their reach is 1, 2, 4, 8, …. The *level* of two nodes is the
number of the first neighbourhood of one that holds the other, and it is what GraKeL calls their distance.

A neighbourhood is written down as text, and the text is hashed to 32 bits. Every node has a word: the sorted list of
"level,label" of all nodes of the neighbourhood that have a level to it. The text is the words of the nodes in ascending
order, then for each edge, in both directions, the words of its ends and the label of the edge, in the order in which
Python walks through a set of pairs: the pairs inside the largest neighbourhood were added in ascending order, those
inside each smaller one in the order of the next larger. Text for text, the same is written and hashed here; equal
neighbourhoods of one graph only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.classifiers.kernels.rows import Rows, bit_count, lowest_bit
from starcert.classifiers.kernels.sets import FREE, insert_growing
from starcert.core.compiled import compiled

__all__ = ["EDGE_LABEL", "Alphabet", "alphabet", "hash_neighbourhoods"]

EDGE_LABEL = "1"
"""Edges have no labels of their own: all have this one."""


class Alphabet(NamedTuple):
    """The entries "level,label" of words, numbered in the order in which they sort as text.

    Attributes:
        rank: the number of each, shape (levels, labels).
        letters: its bytes, shape (entries, longest).
        lengths: how many bytes that are.
    """

    rank: npt.NDArray[np.int64]
    letters: npt.NDArray[np.uint8]
    lengths: npt.NDArray[np.int64]


def alphabet(labels: Sequence[str], levels: int) -> Alphabet:
    """All entries of the levels 0 … levels − 1 with some labels, which must be ASCII text.

    Example:
        >>> alphabet(["2", "10"], 2).rank.tolist()  # 0,10 < 0,2 < 1,10 < 1,2
        [[1, 0], [3, 2]]
    """
    entries = [f"{level},{label}" for level in range(levels) for label in labels]
    order = sorted(range(len(entries)), key=entries.__getitem__)
    rank = np.empty(len(entries), dtype=np.int64)
    rank[order] = np.arange(len(entries))
    lengths = np.array([len(entries[i]) for i in order], dtype=np.int64)
    letters = np.zeros((len(entries), int(lengths.max(initial=1))), dtype=np.uint8)
    for row, i in zip(letters, order, strict=True):
        row[: len(entries[i])] = np.frombuffer(entries[i].encode("ascii"), dtype=np.uint8)
    return Alphabet(rank.reshape(levels, len(labels)), letters, lengths)


def hash_neighbourhoods(
    rows: Rows, labels: npt.NDArray[np.int64], words: Alphabet, radius: int, distance: int
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int8]]:
    """The hashes of all neighbourhoods, and the levels of all pairs of nodes.

    Args:
        rows: the copies, see `adjacency_rows`.
        labels: the number of each node's label in the alphabet; empty: the label of a node is its degree.
        words: the alphabet, with the levels 0 … distance.
        radius: the largest neighbourhood.
        distance: the largest level that counts.

    Returns:
        Hashes of shape (copies, radius + 1, nodes), and levels of shape (copies, nodes, nodes), −1 where there is none.
    """
    n = rows.shape[1]
    pair_hashes = np.array([hash((i, j)) for i in range(n) for j in range(n)], dtype=np.int64)
    result: tuple[npt.NDArray[np.uint32], npt.NDArray[np.int8]] = _hash_all(
        rows, labels, words.rank, words.letters, words.lengths, radius, distance, pair_hashes, ord(EDGE_LABEL)
    )
    return result


@compiled
def _hash_all(rows, labels, rank, letters, lengths, radius, distance, pair_hashes, edge_label):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0912, PLR0915
    copies, n = rows.shape
    hashes = np.empty((copies, radius + 1, n), np.uint32)
    levels = np.full((copies, n, n), -1, np.int8)
    balls = np.empty((max(radius, distance, 1) + 1, n), np.uint64)
    near, entries = np.empty((n, n), np.int64), np.empty((n, n), np.int64)
    near_count, label = np.empty(n, np.int64), np.empty(n, np.int64)
    n_pairs = 0
    for copy in range(copies):
        ends = 0
        for v in range(n):
            ends += bit_count(rows[copy, v])
        n_pairs = max(n_pairs, ends)
    slots = 8
    while slots <= 4 * n_pairs:
        slots *= 2
    table, spare = np.empty(2 * slots, np.int64), np.empty(2 * slots, np.int64)
    most = n * (radius + 1) + 1
    lists, listed = np.empty((most, max(n_pairs, 1)), np.int64), np.empty(most, np.int64)
    place = np.empty((most, 3), np.int64)  # what a neighbourhood was cut out of, the next of its kind, its text
    masks = np.empty(most, np.uint64)
    starts = np.empty(most + 1, np.int64)
    word_letters = np.empty((n, n * (letters.shape[1] + 1) + 1), np.uint8)
    word_lengths = np.empty(n, np.int64)
    text = np.empty(1 << 16, np.uint8)
    text_hashes = np.empty(most, np.uint64)
    chosen = np.empty((radius + 1, n), np.int64)
    for copy in range(copies):
        row = rows[copy]
        _grow_balls(row, radius, distance, balls, levels[copy])
        for v in range(n):
            label[v] = labels[v] if labels.size else bit_count(row[v])
        _sort_entries(levels[copy], label, rank, near, entries, near_count)
        # The whole graph is the neighbourhood 0, with all pairs in ascending order.
        count = 0
        for i in range(n):
            rest = row[i]
            while rest:
                lists[0, count] = i * n + lowest_bit(rest)
                rest &= rest - np.uint64(1)
                count += 1
        listed[0], masks[0], place[0, 0], place[0, 2] = count, 0, -1, -1
        known, texts, end = 1, 0, 0
        starts[0] = 0
        for v in range(n):
            outer = 0
            for reach in range(radius, -1, -1):
                mask = balls[reach, v]
                inner = -1
                for other in range(1, known):
                    if place[other, 0] == outer and masks[other] == mask:
                        inner = other
                        break
                if inner < 0:
                    inner = known
                    known += 1
                    place[inner, 0], masks[inner] = outer, mask
                    listed[inner] = _cut_out(
                        lists[outer], listed[outer], mask, n, lists[inner], table, spare, pair_hashes
                    )
                    place[inner, 2] = -1
                    for other in range(1, inner):
                        if masks[other] == mask and listed[other] == listed[inner]:
                            same = True
                            for k in range(listed[inner]):
                                if lists[other, k] != lists[inner, k]:
                                    same = False
                                    break
                            if same:
                                place[inner, 2] = place[other, 2]
                                break
                    if place[inner, 2] < 0:
                        _write_words(mask, near, entries, near_count, letters, lengths, word_letters, word_lengths)
                        needed = _text_length(mask, lists[inner], listed[inner], n, word_lengths)
                        while end + needed > text.size:
                            longer = np.empty(2 * text.size, np.uint8)
                            longer[:end] = text[:end]
                            text = longer
                        end = _write_text(
                            mask, lists[inner], listed[inner], n, word_letters, word_lengths, edge_label, text, end
                        )
                        place[inner, 2] = texts
                        texts += 1
                        starts[texts] = end
                chosen[reach, v] = place[inner, 2]
                outer = inner
        _hash_texts(text, starts, texts, text_hashes)
        for reach in range(radius + 1):
            for v in range(n):
                hashes[copy, reach, v] = np.uint32(text_hashes[chosen[reach, v]])
    return hashes, levels


@compiled
def _grow_balls(row, radius, distance, balls, levels):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The neighbourhoods of all nodes, and the level of every pair that has one."""
    n = row.size
    for v in range(n):
        balls[0, v] = np.uint64(1) << np.uint64(v)
        balls[1, v] = balls[0, v] | row[v]
        levels[v, v] = 0
    last = max(radius, distance) if radius else 0  # without neighbourhoods there are no distances either
    for level in range(1, last + 1):
        for v in range(n):
            if level > 1:
                joined = np.uint64(0)
                rest = balls[level - 1, v]
                while rest:
                    joined |= balls[level - 1, lowest_bit(rest)]
                    rest &= rest - np.uint64(1)
                balls[level, v] = joined
            if level <= distance:
                fresh = balls[level, v] & ~balls[level - 1, v]
                while fresh:
                    levels[v, lowest_bit(fresh)] = level
                    fresh &= fresh - np.uint64(1)


@compiled
def _sort_entries(levels, label, rank, near, entries, near_count):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """For every node, the nodes with a level to it, in the order of their entries."""
    n = label.size
    for i in range(n):
        count = 0
        for j in range(n):
            if levels[i, j] < 0:
                continue
            entry = rank[levels[i, j], label[j]]
            at = count
            while at and entries[i, at - 1] > entry:
                entries[i, at], near[i, at] = entries[i, at - 1], near[i, at - 1]
                at -= 1
            entries[i, at], near[i, at] = entry, j
            count += 1
        near_count[i] = count


@compiled
def _cut_out(pairs, count, mask, n, inside, table, spare, pair_hashes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The pairs with both ends in the mask, in the order of a set to which they are added one after the other."""
    filled, slots_mask = 0, 7
    table[:8] = FREE
    for k in range(count):
        i, j = np.uint64(pairs[k] // n), np.uint64(pairs[k] % n)
        if (mask >> i) & (mask >> j) & np.uint64(1):
            slots_mask = insert_growing(table, spare, slots_mask, filled, pairs[k], pair_hashes)
            filled += 1
    at = 0
    for slot in range(slots_mask + 1):
        if table[slot] >= 0:
            inside[at] = table[slot]
            at += 1
    return filled


@compiled
def _write_words(mask, near, entries, near_count, letters, lengths, word_letters, word_lengths):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The word of every node in the mask."""
    rest = mask
    while rest:
        i = lowest_bit(rest)
        rest &= rest - np.uint64(1)
        end = 0
        for k in range(near_count[i]):
            if (mask >> np.uint64(near[i, k])) & np.uint64(1):
                if end:
                    word_letters[i, end] = 124  # |
                    end += 1
                entry = entries[i, k]
                for letter in range(lengths[entry]):
                    word_letters[i, end] = letters[entry, letter]
                    end += 1
        word_lengths[i] = end


@compiled
def _text_length(mask, pairs, count, n, word_lengths):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    length = 0
    rest = mask
    while rest:
        length += word_lengths[lowest_bit(rest)] + 1
        rest &= rest - np.uint64(1)
    for k in range(count):
        length += word_lengths[pairs[k] // n] + word_lengths[pairs[k] % n] + 4
    return length


@compiled
def _write_text(mask, pairs, count, n, word_letters, word_lengths, edge_label, text, end):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The text of a neighbourhood, from `end` on. Returns where it ends."""
    rest = mask
    while rest:
        i = lowest_bit(rest)
        rest &= rest - np.uint64(1)
        for k in range(word_lengths[i]):
            text[end + k] = word_letters[i, k]
        end += word_lengths[i]
        text[end] = 46 if rest else 58  # . between words, : after the last
        end += 1
    for k in range(count):
        for node in (pairs[k] // n, pairs[k] % n):
            for letter in range(word_lengths[node]):
                text[end + letter] = word_letters[node, letter]
            end += word_lengths[node]
            text[end] = 44  # ,
            end += 1
        text[end], text[end + 1] = edge_label, 95  # _
        end += 2
    return end


@compiled
def _hash_texts(text, starts, texts, hashes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Arash Partow's hash of every text, four at a time: each step waits for the last, so four take as long as one."""
    order = np.argsort(starts[1 : texts + 1] - starts[:texts])
    at = 0
    while at < texts:
        a = order[at]
        b, c, d = order[min(at + 1, texts - 1)], order[min(at + 2, texts - 1)], order[min(at + 3, texts - 1)]
        i, j, k, m = starts[a], starts[b], starts[c], starts[d]
        common = (starts[a + 1] - i) & ~1  # the shortest is first; whole pairs of letters
        p = q = r = s = np.uint64(0xAAAAAAAA)
        for step in range(0, common, 2):
            p = _pair(p, text[i + step], text[i + step + 1])
            q = _pair(q, text[j + step], text[j + step + 1])
            r = _pair(r, text[k + step], text[k + step + 1])
            s = _pair(s, text[m + step], text[m + step + 1])
        hashes[a] = _rest(p, text, i + common, starts[a + 1])
        hashes[b] = _rest(q, text, j + common, starts[b + 1])
        hashes[c] = _rest(r, text, k + common, starts[c + 1])
        hashes[d] = _rest(s, text, m + common, starts[d + 1])
        at += 4


@compiled
def _pair(h, even, odd):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    low = np.uint64(0xFFFFFFFF)
    h = (h ^ (h << np.uint64(7)) ^ (np.uint64(even) * (h >> np.uint64(3)))) & low
    return (h ^ ~((h << np.uint64(11)) + (np.uint64(odd) ^ (h >> np.uint64(5))))) & low


@compiled
def _rest(h, text, begin, end):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    while begin + 1 < end:
        h = _pair(h, text[begin], text[begin + 1])
        begin += 2
    if begin < end:
        h = (h ^ (h << np.uint64(7)) ^ (np.uint64(text[begin]) * (h >> np.uint64(3)))) & np.uint64(0xFFFFFFFF)
    return h
