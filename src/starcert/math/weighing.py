"""Weighing: every attack on the listed axes against the votes, by counting bits.

The votes against the class are columns of bits: bit i says whether a site flipped in vote i. With more than two values
an attack chooses a site and its new value, a *choice*, which has a column for each outcome of a flip. For an attack,
all that counts is how many votes show each number of each outcome. Votes of one group (one bin of the pooled axes, one
stage of the bet) lie in words of their own.

All attacks are visited in the order of `itertools.combinations`, axis after axis; or those of a list, in that order.
What is known of all choices but the last is kept: the last one costs one AND and one count of bits a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import Floats, Whole, compiled
from starcert.math.attacked_sites import ListedAxis, n_attacks
from starcert.math.bets import Bet, capital_of

WORD = 64
Mask = npt.NDArray[np.bool_]


class Columns(NamedTuple):
    """Votes by site, a bit each."""

    words: npt.NDArray[np.uint64]  # shape (sites, words)
    groups: Whole  # the word at which each group of votes begins, and where the last one ends
    full: npt.NDArray[np.uint64]  # the bits that are votes: no others count


class Weights(NamedTuple):
    """For each attack the logarithm of the capital against it, in `bets.SCALE`, and its estimated failure rate."""

    capital: Whole
    estimate: Floats


def columns_of(flips: npt.NDArray[np.bool_], groups: Whole, n_groups: int) -> Columns:
    """The columns of votes, from whether each site flipped in each vote, shape (votes, sites), and their groups."""
    votes = np.bincount(groups, minlength=n_groups)
    lengths = -(-votes // WORD)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    order = np.argsort(groups, kind="stable")
    first = np.cumsum(votes) - votes
    place = WORD * starts[groups[order]] + np.arange(len(groups)) - first[groups[order]]
    words = _words(flips[order].T, place, int(starts[-1]))
    return Columns(words, starts.astype(np.int64), _words(np.ones(len(groups), dtype=np.bool_), place, len(words.T)))


def _words(bits: npt.NDArray[np.bool_], place: Whole, n_words: int) -> npt.NDArray[np.uint64]:
    """Bits in words, each at its place; all others are 0."""
    padded = np.zeros((*bits.shape[:-1], WORD * n_words), dtype=np.bool_)
    padded[..., place] = bits
    return np.ascontiguousarray(np.packbits(padded, axis=-1, bitorder="little").view(np.uint64))


def weigh(
    columns: Columns,
    axes: Sequence[ListedAxis],
    bet: Bet,
    total: int,
    rows: Whole | None = None,
    wanted: Mask | None = None,
) -> Weights:
    """Weighs every attack on the listed axes, at least one of them attacked; or those in `rows`, or `wanted`, alone.

    The choices of the first axis are the first columns, and for each choice the outcomes of a flip follow one another.
    For each axis and outcome there are attacked + 1 cells. The bet has a gain for a vote against the class in each cell
    and group, against each rival, shape (stakes, rivals, *cells, groups); what all votes for it add together, shape
    (stakes,); and what a vote says about the attacked object, shape (rivals, *cells, groups). An attack has the least
    capital of all rivals, and the largest estimate. `total` counts all votes. A row has the numbers of an attack's
    choices, axis after axis, those of the second axis beginning where the first one's end.
    """
    choices = [axis.size * axis.moves for axis in axes]
    shape = [axis.attacked + 1 for axis in axes for _ in range(axis.outcomes)]
    cells, groups = prod(shape), len(columns.groups) - 1
    strides = [prod(shape[place + 1 :]) for place in range(len(shape))]
    steps = np.zeros((len(axes), max(axis.outcomes for axis in axes)), dtype=np.int64)
    for number, axis in enumerate(axes):
        steps[number, : axis.outcomes] = [strides.pop(0) for _ in range(axis.outcomes)]
    first_site = np.concatenate([[0], np.cumsum([axis.size for axis in axes])])
    pools = [axis.pool for axis in axes]
    owners = [
        first_site[pools.index(axis.pool) if axis.pool >= 0 else number] + np.arange(choices[number]) // axis.moves
        for number, axis in enumerate(axes)
    ]
    number = n_attacks(axes) if rows is None else len(rows)
    capital, estimate = np.zeros(number, dtype=np.int64), np.zeros(number)
    _weigh(
        columns.words,
        columns.groups,
        columns.full,
        _starts(choices),
        _starts([size * axis.outcomes for size, axis in zip(choices, axes, strict=True)]),
        np.repeat(np.arange(len(axes)), [axis.attacked for axis in axes]).astype(np.int64),
        np.array([axis.outcomes for axis in axes], dtype=np.int64),
        steps,
        np.concatenate(owners).astype(np.int64),
        np.ascontiguousarray(bet.gains.reshape(len(bet.gains), len(bet.values), cells * groups).transpose(1, 2, 0)),
        bet.quiet,
        np.ascontiguousarray(bet.values.reshape(len(bet.values), cells * groups)),
        (
            capital,
            estimate,
            np.empty((0, 0), np.int64) if rows is None else np.ascontiguousarray(rows),
            np.ones(number, dtype=np.bool_) if wanted is None else wanted,
        ),
    )
    return Weights(capital, estimate / total)


def _starts(lengths: Sequence[int]) -> Whole:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@compiled
def _bits(word):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The number of bits that are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def _known_votes(words, full, columns, outcomes, steps, known, used):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The votes that show each combination of outcomes at all attacked sites but the last, as words by cell."""
    cells, n_words = known.shape
    for cell in range(cells):
        used[cell] = cell == 0
        for w in range(n_words):
            known[cell, w] = full[w] if cell == 0 else np.uint64(0)
    for d in range(columns.size - 1):
        for cell in range(cells - 1, -1, -1):
            if used[cell]:
                for outcome in range(outcomes[d]):
                    there = cell + steps[d, outcome]
                    used[there] = True
                    for w in range(n_words):
                        moved = known[cell, w] & words[columns[d] + outcome, w]
                        known[there, w] |= moved
                        known[cell, w] ^= moved


@compiled
def _count_votes(known, used, starts, words, votes, inside, steps, counts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The number of votes of each cell and group, once the last site is known too."""
    groups = starts.size - 1
    counts[:] = 0
    for group in range(groups):
        for outcome in range(words.shape[0]):
            rest = votes[outcome, group]
            for cell in range(known.shape[0] - 1, -1, -1):
                if used[cell]:
                    moved = 0
                    if cell == 0:  # most votes are here: those that are in no other cell
                        moved = rest
                    elif inside[cell, group]:
                        for w in range(starts[group], starts[group + 1]):
                            moved += _bits(known[cell, w] & words[outcome, w])
                    rest -= moved
                    stayed = inside[cell, group] - moved if outcome == 0 else -moved
                    counts[cell * groups + group] += stayed
                    counts[(cell + steps[outcome]) * groups + group] += moved


@compiled
def _bits_by_group(words, full, starts, found):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The number of votes that are set in each row of words, by group."""
    for row in range(words.shape[0]):
        for group in range(starts.size - 1):
            found[row, group] = 0
            for w in range(starts[group], starts[group + 1]):
                found[row, group] += _bits(words[row, w] & full[w])


@compiled
def _move_on(choices, axes, firsts):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The next combination of all choices but the last, which becomes the first that it can be; False: none is left."""
    for d in range(choices.size - 2, -1, -1):
        end = firsts[axes[d] + 1]
        for later in range(d + 1, choices.size):
            end -= axes[later] == axes[d]
        if choices[d] + 1 < end:
            choices[d] += 1
            for later in range(d + 1, choices.size):
                choices[later] = choices[later - 1] + 1 if axes[later] == axes[later - 1] else firsts[axes[later]]
            return True
    return False


@compiled
def _takes_again(choices, owners, last):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """True if one of the choices before the last one takes its site."""
    again = False
    for d in range(last):
        again |= owners[choices[d]] == owners[choices[last]]
    return again


@compiled
def _next_row(rows, done, choices):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Takes over all choices of a row; returns where the rows end that differ from it in nothing but the last one."""
    last = choices.size - 1
    choices[:] = rows[done]
    end, same = done + 1, True
    while same and end < len(rows):
        for d in range(last):
            same &= rows[end, d] == choices[d]
        end += same
    return end


@compiled
def _weigh(words, starts, full, firsts, first_columns, axes, outcomes, steps, owners, seen, quiet, values, found):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0912
    capital, estimate, rows, wanted = found
    listed = rows.size > 0
    groups, n_words, last = starts.size - 1, words.shape[1], axes.size - 1
    cells = values.shape[1] // groups
    choices, columns = np.empty(axes.size, np.int64), np.empty(axes.size, np.int64)
    for d in range(axes.size):
        choices[d] = firsts[axes[d]] if d == 0 or axes[d - 1] != axes[d] else choices[d - 1] + 1
    known, used = np.zeros((cells, n_words), np.uint64), np.zeros(cells, np.bool_)
    inside, counts = np.zeros((cells, groups), np.int64), np.empty(cells * groups, np.int64)
    flipped = np.empty((words.shape[0], groups), np.int64)
    _bits_by_group(words, full, starts, flipped)
    logarithms = np.empty(quiet.size, np.int64)
    own = axes[last]
    own_steps = steps[own]
    done, more = 0, capital.size > 0
    while more:
        first, end = choices[last], firsts[own + 1]
        if listed:
            first, end = done, _next_row(rows, done, choices)
        twice = False
        for d in range(last):
            twice |= _takes_again(choices, owners, d)
            columns[d] = first_columns[axes[d]] + (choices[d] - firsts[axes[d]]) * outcomes[axes[d]]
        if not twice:
            _known_votes(words, full, columns, outcomes[axes], steps[axes], known, used)
            _bits_by_group(known, full, starts, inside)
            for number in range(first, end):
                choice = rows[number, last] if listed else number
                choices[last] = choice
                if _takes_again(choices, owners, last):
                    continue
                if wanted[done]:
                    column = first_columns[own] + (choice - firsts[own]) * outcomes[own]
                    here = slice(column, column + outcomes[own])
                    _count_votes(known, used, starts, words[here], flipped[here], inside, own_steps, counts)
                    for rival in range(values.shape[0]):
                        logarithms[:] = quiet
                        guess = 0.0
                        for index in range(counts.size):
                            if counts[index]:
                                guess += counts[index] * values[rival, index]
                                for stake in range(quiet.size):
                                    logarithms[stake] += counts[index] * seen[rival, index, stake]
                        won = capital_of(logarithms)
                        if rival == 0 or won < capital[done]:
                            capital[done] = won
                        estimate[done] = max(estimate[done], guess)
                done += 1
        more = done < capital.size if listed else _move_on(choices, axes, firsts)
