"""The order in which Python walks through a set.

GraKeL's graphlets and neighbourhoods depend on it: what it finds, and what it hashes, follow the walk through sets of
numbers and of pairs. Those orders are no accident of a run: numbers and pairs of numbers have fixed hashes, and the
table of a set fills by fixed rules. Here are these rules, for sets that only grow and for the difference `s - {x}`.

A table has a power of two of slots. An element goes to the first free slot of a sequence that begins at its hash: ten
neighbours where they fit, then a jump. A table that is three fifths full moves to one of more than four times as many
slots as it has elements.
"""

from __future__ import annotations

import numpy as np

from starcert.core.compiled import compiled

__all__ = ["FREE", "insert", "insert_growing", "remove_one"]

FREE, GONE = -1, -2
SMALLEST = 8
NEIGHBOURS = 9


@compiled
def insert(table, mask, element, element_hash):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Put an element that is not there yet into the slots 0 … mask of a table with free ones."""
    wide = np.uint64(mask)
    perturb = np.uint64(element_hash)
    at = perturb & wide
    while True:
        slot = np.int64(at)
        last = slot + NEIGHBOURS if slot + NEIGHBOURS <= mask else slot
        while slot <= last:
            if table[slot] == FREE:
                table[slot] = element
                return
            slot += 1
        perturb >>= np.uint64(5)
        at = (at * np.uint64(5) + np.uint64(1) + perturb) & wide


@compiled
def insert_growing(table, spare, mask, used, element, hashes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """`insert`, then grow if the table is too full. Returns the new mask.

    Args:
        table: the slots; those up to `mask` are in use.
        spare: as long as the table, for moving.
        mask: the number of slots less one.
        used: how many elements there are before this one.
        element: the new one.
        hashes: the hash of every element.
    """
    insert(table, mask, element, hashes[element])
    used += 1
    if used * 5 < mask * 3:
        return mask
    slots = SMALLEST
    while slots <= used * 4:
        slots *= 2
    spare[: mask + 1] = table[: mask + 1]
    table[:slots] = FREE
    for slot in range(mask + 1):
        if spare[slot] != FREE:
            insert(table, slots - 1, spare[slot], hashes[spare[slot]])
    return slots - 1


@compiled
def remove_one(table, spare, state, element):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """The table of `s - {element}` in the place of that of s, a set of numbers.

    A set of eight or more is copied, and the element struck out; a smaller one is built anew from the elements that
    stay.

    Args:
        table: the slots of s.
        spare: as long as the table, for moving.
        state: mask, elements, and elements with those struck out; changed in place.
        element: the number to take out; it need not be there.
    """
    mask, used, filled = state[0], state[1], state[2]
    spare[: mask + 1] = table[: mask + 1]
    if used >> 2 > 1:
        slots = SMALLEST
        while slots <= used * 2:
            slots *= 2
        if slots - 1 != mask or filled != used:
            table[:slots] = FREE
            for slot in range(mask + 1):
                if spare[slot] >= 0:
                    insert(table, slots - 1, spare[slot], spare[slot])
        state[0], state[2] = slots - 1, used
        for slot in range(slots):
            if table[slot] == element:
                table[slot] = GONE
                state[1] = used - 1
        return
    new_mask, kept = SMALLEST - 1, 0
    table[:SMALLEST] = FREE
    other = np.empty_like(table)
    identity = np.arange(64)
    for slot in range(mask + 1):
        if spare[slot] >= 0 and spare[slot] != element:
            new_mask = insert_growing(table, other, new_mask, kept, spare[slot], identity)
            kept += 1
    state[0], state[1], state[2] = new_mask, kept, kept
