"""Attackers who change sites one by one, how their attacks are listed and counted, and the attacks of any by number.

A `SiteThreat` allows some changes, and an attack of size r is any set of r of them at different sites; perhaps within
*limits* on what a set may load on a node or an axis. The sets are listed column by column, never one by one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from math import comb
from typing import NamedTuple

import numpy as np
from typing_extensions import override

from starcert.objects.layers import Indices
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import MAX_ATTACKS, Attacks, Mask, Moves, Rows, attackable
from starcert.objects.threats.base import Threat, refuse_many
from starcert.system.errors import InvalidParameterError, whole_number

MAX_WORK = 2**23  # sets that are looked at, column by column
MAX_SIZES = 2**12  # of a threat that lists its attacks
ENOUGH = 2**62  # sets beyond this number are not told apart: none of them is ever reached


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


class NumberedAttacks:
    """The attacks of a threat on one object, numbered from 0; those of size 1 come first.

    Those of a size are numbered as they are listed. Where every set of changes is an attack, none is listed for the
    sake of another: sets are ordered by their largest change, then by the next one, and so on (the *combinatorial
    number system*). With N_r(c) the number of sets of r changes that all come before change c, the largest change of
    set number i is the largest c with N_r(c) ≤ i, and the others are set number i − N_r(c) of the r − 1 changes at
    sites before that of c. Files of exact results hold these numbers: the order never changes.

    Args:
        threat: what the attacker can do; refused where it does not fit the object.
        sites: the sites of the object.
        noise: names the axes of a box of flips; its numbers do not matter.

    Example:
        >>> from starcert.objects import Bits
        >>> from starcert.objects.threats import read_threat
        >>> sites = Sites.everything(Bits([0, 1, 1]), "all")
        >>> found = NumberedAttacks(read_threat("flips:2"), sites, Noise(all=0.1))
        >>> found.counts, found.ends, list(found.run(2, 4))
        ((3, 3), (3, 6), [((2, 0),), ((0, 1), (1, 0))])
    """

    def __init__(self, threat: Threat, sites: Sites, noise: Noise) -> None:
        if attackable(sites, noise) is not sites:
            hint = "Give these regions Edges laws, or no noise at all: then every type is tried."
            raise InvalidParameterError("noise", f"does not give the type of an added edge, which attacks need. {hint}")
        self.threat, self._sites = checked_threat(threat, sites, noise), sites
        self._free = self.threat.free_moves(sites) if isinstance(self.threat, SiteThreat) else None
        self._tables = list[Indices]()

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The number of attacks of each size, from size 1 on."""
        if self._free is None:
            return tuple(map(len, self._listed))
        return tuple(count_sets(self._free.site, self.threat.most)[1:])

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The number of attacks of at most each size: the attacks of a size end there."""
        return tuple(accumulate(self.counts))

    @cached_property
    def digest(self) -> str:
        """A digest of the attacks and their numbers."""
        free = self._free
        return digest_of_attacks((each.blocks for each in self._listed) if free is None else [[free.changes[:, None]]])

    def run(self, start: int, stop: int) -> Attacks:
        """The attacks from number `start` to before `stop`."""
        parts, begin = list[Attacks](), 0
        for size, end in enumerate(self.ends, start=1):
            if start < end and stop > begin:
                some = max(start, begin) - begin, min(stop, end) - begin
                parts.append(self._listed[size - 1].run(*some) if self._free is None else self._sets(size, *some))
            begin = end
        return Attacks.joined(parts)

    @cached_property
    def _listed(self) -> tuple[Attacks, ...]:
        """The attacks of each size, where the threat lists them."""
        found = (list_attacks(self.threat, self._sites, size) for size in range(1, self.threat.most + 1))
        return tuple(each.check(self._sites) for each in found)

    def _sets(self, size: int, start: int, stop: int) -> Attacks:
        """The sets of this many changes from number `start` to before `stop`."""
        assert self._free is not None
        left = np.arange(start, stop, dtype=np.int64)
        found = np.empty((len(left), size), dtype=np.int64)
        for column in range(size - 1, -1, -1):
            before = self._before(column + 1)
            found[:, column] = np.searchsorted(before, left, side="right") - 1
            left -= before[found[:, column]]
        return Attacks((self._free.changes[found],))

    def _before(self, size: int) -> Indices:
        """For every change c the number N(c) of sets of this many changes that all come before it; at most `ENOUGH`."""
        assert self._free is not None
        owners = self._free.site
        while len(self._tables) < size:
            # One more change gives sets whose largest change it is: its others lie at the sites before.
            firsts = np.searchsorted(owners, owners)
            ending = self._tables[-1][firsts] if self._tables else np.ones_like(owners)
            total, about = np.cumsum(ending), np.cumsum(ending, dtype=np.float64)
            total[about > 0.999 * ENOUGH] = ENOUGH  # sums of 64 bits may have begun anew there
            self._tables.append(np.concatenate([[0], total[:-1]]))
        return self._tables[size - 1]


def digest_of_attacks(sizes: Iterable[Iterable[Rows]]) -> str:
    """A digest of the attacks of each size."""
    digest = blake2b(digest_size=12)
    for blocks in sizes:
        digest.update(b"size")
        for block in blocks:
            digest.update(b"%d x %d," % block.shape)
            digest.update(block.astype("<i8").tobytes())
    return digest.hexdigest()


def checked_threat(threat: Threat, seen: Sites, noise: Noise) -> Threat:
    """The threat with the axes of a noise named; refused where it does not fit the object."""
    threat = threat.for_noise(noise)
    whole_number("threat.most", getattr(threat, "most", None), 1, MAX_SIZES)
    if not isinstance(threat.label, str):
        raise InvalidParameterError("threat.label", "be a text", threat.label)
    threat.check(seen)
    return threat


def list_attacks(threat: Threat, sites: Sites, size: int) -> Attacks:
    """The attacks of one size; refused unless they are such, and not too many."""
    found = threat.attacks(sites, size)
    blocks = found.blocks if isinstance(found, Attacks) else [None]
    if not all(isinstance(block, np.ndarray) and block.ndim == 2 and block.dtype.kind == "i" for block in blocks):
        hint = "Attacks.from_lists makes them from pairs of a position and its new value."
        raise InvalidParameterError("threat", f"return Attacks for size {size:,}: {threat.label}", found, hint)
    if len(found) > MAX_ATTACKS:
        refuse_many(threat, size, len(found))
    if any(len(block) and not block.shape[1] for block in found.blocks):
        raise InvalidParameterError("threat", f"has an attack that changes nothing: {threat.label}.")
    return Attacks(tuple(block.astype(np.int64, copy=False) for block in found.blocks if len(block)))
