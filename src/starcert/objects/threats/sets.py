"""Attackers who change sites one by one, and how their attacks are listed and counted.

A `SiteThreat` allows some changes, and an attack of size r is any set of r of them at different sites; perhaps within
*limits* on what a set may load on a node or an axis. The sets are listed column by column, never one by one.
"""

from __future__ import annotations

from abc import abstractmethod
from math import comb
from typing import NamedTuple

import numpy as np
from typing_extensions import override

from starcert.objects.layers import Indices
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import MAX_ATTACKS, Attacks, Mask, Moves
from starcert.objects.threats.base import Threat, refuse_many

MAX_WORK = 2**23  # sets that are looked at, column by column


class Limits(NamedTuple):
    """Limits on what sets of changes load on nodes or axes: a change adds `weight` to each of its `ends`.

    Every change that adds something must leave its ends within their limit: those that take something away come first.
    """

    ends: Indices  # shape (changes, ends)
    weight: Indices  # of each change
    load: Indices  # of each end, before any change
    limit: Indices  # of each end

    def hold(self, rows: Indices) -> Mask:
        """A truth value for each row: the ends of its last change are within their limits."""
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


class SiteThreat(Threat):
    """Sets of allowed changes at different sites.

    Its reverse is itself, as long as nothing that attacks change decides what is allowed: others say what it is.
    """

    symmetric = True

    def reach(self, sites: Sites) -> Indices | None:
        """The positions of the only sites that it may change, ascending; None: perhaps any.

        Where these are few, its attacks are listed on objects of any size.
        """
        return None

    @abstractmethod
    def allowed(self, sites: Sites, moves: Moves) -> Mask:
        """A truth value for each change: it may be part of an attack."""

    def budgets(self, sites: Sites, moves: Moves) -> Limits | None:
        """The limits on sets of these changes; None: there are none."""
        return None

    def moves(self, sites: Sites) -> Moves:
        """The changes that may be part of an attack, those that take something away first where there are limits."""
        self.check(sites)
        every = Moves.of(sites, self.reach(sites))
        found = every.where(self.allowed(sites, every))
        limits = self.budgets(sites, found)
        return found if limits is None else found.where(np.argsort(limits.weight > 0, kind="stable"))

    def free_moves(self, sites: Sites) -> Moves | None:
        """Its changes, if every set of them is an attack; None where it has limits, or its own way to list them."""
        moves = self.moves(sites)
        is_limited = type(self).attacks is not SiteThreat.attacks or self.budgets(sites, moves) is not None
        return None if is_limited else moves

    @override
    def attacks(self, sites: Sites, size: int) -> Attacks:
        moves = self.moves(sites)
        if not 1 <= size <= self.most:
            return Attacks()
        limits = self.budgets(sites, moves)
        many = limits is None and comb(len(moves.site), size) > MAX_ATTACKS  # of several values a site takes one
        if many and (total := count_sets(moves.site, size)[size]) > MAX_ATTACKS:
            refuse_many(self, size, total)
        rows = moves.changes[list_sets(self, moves.site, size, limits)]
        return Attacks.of([rows]) if limits is not None or not rows.size else Attacks((rows,))  # in their order already

    @override
    def count(self, sites: Sites, size: int) -> int:
        moves = self.moves(sites)
        if self.budgets(sites, moves) is not None:
            return len(self.attacks(sites, size))
        return count_sets(moves.site, size)[size] if 1 <= size <= self.most else 0


def count_sets(owners: Indices, most: int) -> list[int]:
    """The numbers of sets of 0, 1, … `most` choices with different owners.

    With w choices of an owner, the numbers are the coefficients of the product of 1 + w·x over all owners.
    """
    found = [1]
    for ways, number in zip(*np.unique(np.unique(owners, return_counts=True)[1], return_counts=True), strict=True):
        alike = [comb(int(number), size) * int(ways) ** size for size in range(min(most, int(number)) + 1)]
        sizes = range(min(most, len(found) + len(alike) - 2) + 1)
        found = [
            sum(found[size - more] * alike[more] for more in range(len(alike)) if 0 <= size - more < len(found))
            for size in sizes
        ]
    return found + [0] * (most + 1 - len(found))


def list_sets(threat: Threat, owners: Indices, size: int, limits: Limits | None = None) -> Indices:
    """All sets of `size` choices with different owners, as ascending rows of their numbers, in lexicographic order."""
    rows = np.empty((1, 0), dtype=np.int64)
    for column in range(size):
        first = rows[:, -1] + 1 if column else np.zeros(1, dtype=np.int64)
        more = np.maximum(len(owners) - (size - 1 - column) - first, 0)  # choices beyond leave too few for the others
        if (total := int(more.sum())) > MAX_WORK:
            refuse_many(threat, size)
        parents = np.repeat(np.arange(len(rows)), more)
        added = np.arange(total) - np.repeat(np.cumsum(more) - more - first, more)
        rows = np.concatenate([rows[parents], added[:, None]], axis=1)
        rows = rows[(owners[rows[:, :-1]] != owners[added][:, None]).all(axis=1)]
        if limits is not None:
            rows = rows[limits.hold(rows)]
    if len(rows) > MAX_ATTACKS:
        refuse_many(threat, size, len(rows))
    return rows
