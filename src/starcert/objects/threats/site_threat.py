"""Attackers who change sites one by one, and how their attacks are listed and counted.

A `SiteThreat` has candidates, and an attack of size r is any set of r of them at different sites; perhaps with *limits*
on what a set may load on a node or an axis. The sets are listed column by column, never one by one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import comb
from operator import add
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.objects.layers import Indices
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import MAX_ATTACKS, VALUES, Attacks, Rows, attackable, ground_of
from starcert.objects.threats.base import CountedThreat, Threat, UnfitError, refuse_many
from starcert.objects.threats.levels import axis_table, check_axes

Mask = npt.NDArray[np.bool_]
Level = tuple[int, ...]
MAX_WORK = 2**23  # sets that are looked at, column by column


class Limits(NamedTuple):
    """What sets of changes may load on nodes or axes: a change adds `weight` to each of its `ends`.

    Every change that adds something must leave its ends within their limit: those that take something away come first.
    """

    ends: Indices  # shape (changes, ends)
    weight: Indices  # of each change
    load: Indices  # of each end, before any change
    limit: Indices  # of each end

    def hold(self, rows: Indices) -> Mask:
        """Whether the ends of the last change of each row are within their limits."""
        *others, last = rows.T
        within = np.ones(len(rows), dtype=np.bool_)
        ends = [np.ascontiguousarray(each) for each in self.ends.T]
        for end in (each[last] for each in ends):
            load = self.load[end] + self.weight[last]
            for column in others:
                load += self.weight[column] * np.logical_or.reduce([each[column] == end for each in ends])
            within &= load <= self.limit[end]
        fine: Mask = within | (self.weight[last] <= 0)
        return fine


class SiteThreat(CountedThreat):
    """Sets of changes at different sites, out of all moves of some candidate sites."""

    limited: ClassVar[bool] = False  # whether there are limits

    @abstractmethod
    def moves(self, sites: Sites, region: int) -> Mask:
        """Which values may become which others in a region: shape (alphabet, alphabet), before and after."""

    def candidates(self, sites: Sites) -> Mask | None:
        """Which sites may be attacked; None for all."""
        return None

    def budgets(self, sites: Sites, changes: Rows) -> Limits:
        """The limits on sets of these changes, where there are any."""
        raise NotImplementedError

    def n_changes(self, sites: Sites, size: int) -> int:
        """How many sites an attack of this size changes; 0 where there is no such attack."""
        return size if 1 <= size <= self.most else 0

    @override
    def check(self, sites: Sites) -> None:
        if not any(self.moves(sites, region).any() for region in range(len(sites.regions))):
            layers = ", ".join(f"{layer.name} ({layer.alphabet} values)" for layer in dict.fromkeys(sites.layers))
            requirement = f"fit the objects, and {self.label} can change nothing there"
            raise UnfitError(
                "threat", requirement, f"{type(sites.clean).__name__} with sites in {layers or 'no layer'}"
            )

    def changes(self, sites: Sites) -> Rows:
        """Every change that may be part of an attack, ascending."""
        ground = ground_of(sites)
        changes = ground.changes
        positions, values = np.divmod(changes, VALUES)
        allowed = move_table(sites, False)
        for region, layer in enumerate(sites.layers):
            allowed[region, : layer.alphabet, : layer.alphabet] = self.moves(sites, region)
        kept = allowed[ground.regions[positions], ground.values[positions], values]
        if (candidates := self.candidates(sites)) is not None:
            kept &= candidates[positions]
        found: Rows = changes[kept]
        return found

    @override
    def attacks(self, sites: Sites, size: int) -> Attacks:
        self.check(sites)
        number = self.n_changes(sites, size)
        if not number:
            return Attacks()
        changes = self.changes(sites)
        limits = self.budgets(sites, changes) if self.limited else None
        if limits is None and (total := self.count(sites, size)) > MAX_ATTACKS:
            refuse_many(self, size, total)
        if limits is not None and limits.weight.min(initial=1) <= 0:
            order = np.argsort(limits.weight > 0, kind="stable")
            limits = limits._replace(ends=limits.ends[order], weight=limits.weight[order])
            return Attacks.of([changes[order][list_sets(self, changes[order] // VALUES, number, limits)]])
        rows = changes[list_sets(self, changes // VALUES, number, limits)]
        return Attacks((rows,) if len(rows) else ())

    @override
    def count(self, sites: Sites, size: int) -> int:
        if self.limited:
            return len(self.attacks(sites, size))
        self.check(sites)
        number = self.n_changes(sites, size)
        return self.tally(sites, move_table(sites, 0), 1, number).get((number,), 0) if number else 0

    @override
    def levels(self, sites: Sites, noise: Noise, size: int) -> set[Level]:
        if self.limited:
            return super().levels(sites, noise, size)
        seen = attackable(sites, noise)
        self.check(seen)
        number = self.n_changes(seen, size)
        tally = self.tally(seen, axis_table(sites, noise), len(noise.axes), number)
        return {level for level in tally if sum(level) == number > 0}

    def tally(self, sites: Sites, axes: Indices, n_axes: int, most: int) -> dict[Level, int]:
        """How many sets of at most `most` changes there are, by how many of them each axis counts.

        Sites with one value in one region are alike, so nothing here is as large as the number of sites.
        """
        groups, candidates = sites.counts, self.candidates(sites)
        if candidates is not None:
            ground = ground_of(sites)
            each = (ground.values[candidates & (ground.regions == region)] for region in range(len(sites.regions)))
            groups = tuple(tuple(np.bincount(values).tolist()) for values in each)
        found = {(0,) * n_axes: 1}
        for region, counts in enumerate(groups):
            moves = self.moves(sites, region)
            for before, number in enumerate(counts):
                there = axes[region, before, np.flatnonzero(moves[before])]
                if number:
                    check_axes(there)
                found = _joined(found, _sets_of_group(number, Counter(there.tolist()), n_axes, most), most)
        return found


def move_table(sites: Sites, value: int) -> npt.NDArray[Any]:
    """A table for each region, value before and after, filled with one value."""
    width = max((layer.alphabet for layer in sites.layers), default=2)
    return np.full((len(sites.regions), width, width), value)


def _sets_of_group(number: int, ways: Mapping[int, int], n_axes: int, most: int) -> dict[Level, int]:
    """The sets of changes of sites that are alike, given in how many ways each axis counts a change of one of them."""
    found = {(0,) * n_axes: 1}
    for axis, n_values in ways.items():
        grown = dict[Level, int]()
        for level, sets in found.items():
            taken = sum(level)
            for more in range(min(most, number) - taken + 1):
                above = (*level[:axis], level[axis] + more, *level[axis + 1 :])
                grown[above] = grown.get(above, 0) + sets * comb(number - taken, more) * n_values**more
        found = grown
    return found


def _joined(one: Mapping[Level, int], other: Mapping[Level, int], most: int) -> dict[Level, int]:
    found = dict[Level, int]()
    for (level, sets), (more, times) in product(one.items(), other.items()):
        if sum(level) + sum(more) <= most:
            both = tuple(map(add, level, more))
            found[both] = found.get(both, 0) + sets * times
    return found


def list_sets(threat: Threat, owners: Indices, size: int, limits: Limits | None = None) -> Indices:
    """All sets of `size` choices with different owners, as ascending rows of their numbers, in lexicographic order."""
    n = len(owners)
    last_places = np.zeros(n, dtype=np.int64)
    last_places[n - 1 - np.unique(owners[::-1], return_index=True)[1]] = 1
    owners_from = np.cumsum(last_places[::-1])[::-1]  # how many different owners there are from each choice on
    shared = len(np.unique(owners)) < n
    rows = np.arange(n)[:, None]
    for column in range(size):
        last = int(np.searchsorted(-owners_from, column - size, side="right"))  # choices beyond leave too few owners
        if column:
            more = np.maximum(last - 1 - rows[:, -1], 0)
            if (total := int(more.sum())) > MAX_WORK:
                refuse_many(threat, size)
            parents = np.repeat(np.arange(len(rows)), more)
            added = np.arange(total) - np.repeat(np.cumsum(more) - more, more) + rows[parents, -1] + 1
            rows = np.concatenate([rows[parents], added[:, None]], axis=1)
            if shared:
                rows = rows[(owners[rows[:, :-1]] != owners[rows[:, -1:]]).all(axis=1)]
        else:
            rows = rows[:last]
        if limits is not None:
            rows = rows[limits.hold(rows)]
    if len(rows) > MAX_ATTACKS:
        refuse_many(threat, size, len(rows))
    return rows
