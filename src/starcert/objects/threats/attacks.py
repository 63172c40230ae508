"""Attacks as arrays: what each of them changes, however many there are; and an object after one of them.

A *change* gives one site another value. It is written as one whole number, 256 · position + value, so that changes in
ascending order are ordered by site. An attack is a row of changes, at most one for each site.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.math.attacked_sites import row_numbers
from starcert.objects.binding import noise_for_sites
from starcert.objects.kinds import kind_of
from starcert.objects.layers import EDGE_LAYERS, Indices, Values
from starcert.objects.noise import Noise
from starcert.objects.sites import Sites
from starcert.system.errors import InvalidParameterError

MAX_ATTACKS = 2**21  # more attacks of one size than this are not listed
MAX_REACH = 2**22  # a threat that can change more sites of an object than this is not listed
VALUES = 256  # a change is VALUES · position + new value
_NOTHING = np.empty(0, dtype=np.int64)

Mask: TypeAlias = npt.NDArray[np.bool_]
Rows: TypeAlias = Indices
"""Changes of sites, 256 · position + new value; or rows of them."""


class UnfitError(InvalidParameterError):
    """A threat does not fit an object, such as rewired edges and a vector.

    Example:
        >>> str(UnfitError("threat", "fit the objects: 1 rewired edge needs pairs", "Bits"))
        "'threat' must fit the objects: 1 rewired edge needs pairs. Got 'Bits' instead."
    """


class Moves(NamedTuple):
    """Changes of one site each, ascending: where each is, what it changes, and into what."""

    changes: Rows
    site: Indices
    before: Values
    new: Indices
    region: Indices
    u: Indices  # −1 for sites that are no pairs or arcs
    v: Indices
    edge: Mask
    deletes: Mask  # whether an edge goes, or a bit becomes 0
    adds: Mask

    @classmethod
    def of(cls, sites: Sites, reach: Indices | None = None) -> Moves:
        """Every change of one site, or of one of those at these positions; refused where these are too many."""
        check_reach(sites.n_sites if reach is None else len(reach))
        u, v = sites.ends if reach is None else sites.ends_at(reach)
        reach = np.arange(sites.n_sites) if reach is None else reach
        alphabets = sites.alphabets_at(reach)
        of = np.repeat(np.arange(len(reach)), alphabets - 1)
        rank = np.arange(len(of)) - np.repeat(np.cumsum(alphabets - 1) - alphabets + 1, alphabets - 1)
        site, u, v = reach[of], u[of], v[of]
        before = sites.values[site]
        new, edge = rank + (rank >= before), u >= 0
        binary = edge | (alphabets[of] == 2)
        deletes, adds = binary & (new == 0), binary & (before == 0)
        return cls(VALUES * site + new, site, before, new, sites.regions_at(site), u, v, edge, deletes, adds)

    def where(self, chosen: Mask | Indices) -> Moves:
        """Some of them, in this order."""
        return Moves._make(each[chosen] for each in self)


def check_reach(number: int) -> None:
    """Refuses to look at more sites one by one than `MAX_REACH`."""
    if number > MAX_REACH:
        hint = "Ask about deletions:1, about nodes (controlled:1,nodes=…), or about radii, which need no list: flips:1."
        requirement = f"reach at most {MAX_REACH:,} sites of an object, to be listed"
        raise InvalidParameterError("threat", requirement, f"{number:,}", hint)


@dataclass(frozen=True, eq=False, repr=False)
class Attacks:
    """Attacks in `blocks` of those that change equally many sites, shape (attacks, sites); the changes of each ascend.

    Threats list each attack once, those that change few sites first, and then in lexicographic order: what `of` makes.
    A part of such a list, or several, is one too; `NO_CHANGE` is the object as it is.

    Example:
        >>> listed = Attacks.of([np.array([[256 * 4 + 1], [256 * 2]]), np.array([[256 * 3, 256 * 2]])])
        >>> listed, list(listed)
        (Attacks(3), [((2, 0),), ((4, 1),), ((2, 0), (3, 0))])
        >>> list(listed.run(1, 3)), listed.run(1, 3).starts.tolist()
        ([((4, 1),), ((2, 0), (3, 0))], [0, 1, 3])
        >>> list(listed - Attacks.of([np.array([[256 * 2]])]))
        [((4, 1),), ((2, 0), (3, 0))]
    """

    blocks: tuple[Rows, ...] = ()

    @classmethod
    def of(cls, blocks: Iterable[Rows]) -> Attacks:
        """The attacks in these blocks, rows of changes in any order and perhaps several times."""
        by_length: dict[int, list[Rows]] = {}
        for block in blocks:
            if block.size:
                by_length.setdefault(block.shape[1], []).append(block)
        found = []
        for length in sorted(by_length):
            rows = np.sort(np.concatenate(by_length[length]), axis=1)
            keys = row_numbers(rows)
            found.append(rows if (np.diff(keys) > 0).all() else rows[np.unique(keys, return_index=True)[1]])
        return cls(tuple(found))

    @classmethod
    def from_lists(cls, attacks: Iterable[Iterable[tuple[int, int]]]) -> Attacks:
        """Attacks from a list of each: pairs of a position and its new value.

        Example:
            >>> list(Attacks.from_lists([[(3, 1)], [(2, 0), (1, 1)]]))
            [((3, 1),), ((1, 1), (2, 0))]
        """
        blocks = list[Rows]()
        for pairs in map(list, attacks):
            for position, value in pairs:
                if position < 0 or not 0 <= value < VALUES:
                    raise InvalidParameterError("attacks", "give positions values from 0 to 255", (position, value))
            blocks.append(np.array([[VALUES * int(site) + int(value) for site, value in pairs]], dtype=np.int64))
        return cls.of(blocks)

    @classmethod
    def joined(cls, parts: Iterable[Attacks]) -> Attacks:
        """Several lists, one after the other."""
        return cls(tuple(block for part in parts for block in part.blocks))

    def run(self, start: int, stop: int) -> Attacks:
        """The attacks from number `start` to before `stop`."""
        found, begin = list[Rows](), 0
        for block in self.blocks:
            found.append(block[max(start - begin, 0) : max(stop - begin, 0)])
            begin += len(block)
        return Attacks(tuple(block for block in found if len(block)))

    def where(self, chosen: Mask) -> Attacks:
        """Some of them, in this order."""
        ends = np.cumsum([0, *map(len, self.blocks)])
        return Attacks(
            tuple(block[chosen[end - len(block) : end]] for block, end in zip(self.blocks, ends[1:], strict=True))
        )

    @property
    def starts(self) -> Indices:
        """The starts of the changes of each attack among those of all, and the end of the last one's."""
        found = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(np.repeat([block.shape[1] for block in self.blocks], list(map(len, self.blocks))), out=found[1:])
        return found

    @property
    def changes(self) -> Rows:
        """The changes of all attacks, one after the other."""
        found = [block.ravel() for block in self.blocks if block.size]
        return found[0] if len(found) == 1 else np.concatenate([_NOTHING, *found])

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[tuple[tuple[int, int], ...]]:
        """Each attack as pairs of a position and a new value."""
        for block in self.blocks:
            for row in block.tolist():
                yield tuple(divmod(change, VALUES) for change in row)

    def __repr__(self) -> str:
        return f"Attacks({len(self):,})"

    def __or__(self, other: Attacks) -> Attacks:
        if not (self.blocks and other.blocks):
            return self if self.blocks else other
        return Attacks.of([*self.blocks, *other.blocks])

    def __and__(self, other: Attacks) -> Attacks:
        return self._those(other, shared=True)

    def __sub__(self, other: Attacks) -> Attacks:
        return self._those(other, shared=False)

    def _those(self, other: Attacks, *, shared: bool) -> Attacks:
        """The attacks that another list has too, or those that it has not."""
        theirs = {block.shape[1]: block for block in other.blocks}
        found = []
        for block in self.blocks:
            also = theirs.get(block.shape[1], block[:0])
            keys = row_numbers(np.concatenate([block, also]))
            mine, other_keys = keys[: len(block)], np.append(np.sort(keys[len(block) :]), -1)
            kept = block[(other_keys[np.searchsorted(other_keys[:-1], mine)] == mine) == shared]
            if len(kept):
                found.append(kept)
        return Attacks(tuple(found))

    def check(self, sites: Sites) -> Attacks:
        """These attacks, if each gives different sites of the object other values than they have: refused if not."""
        for block in self.blocks:
            positions, values = np.divmod(block, VALUES)
            fine = (positions >= 0) & (positions < sites.n_sites)
            here = np.where(fine, positions, 0)
            fine &= (values < sites.alphabets_at(here)) & (values != sites.values[here])
            fine[:, 1:] &= np.diff(positions, axis=1) > 0
            if not fine.all():
                row = int(np.flatnonzero(~fine.all(axis=1))[0])
                got = list(zip(positions[row].tolist(), values[row].tolist(), strict=True))
                raise InvalidParameterError("attacks", "give sites of the object other values, each site once", got)
        return self

    def numbers(self, sites: Sites) -> list[Indices]:
        """The blocks as `starcert.sampling` takes attacks: position + n_sites · (rank of its new value), ascending."""
        found = []
        for block in self.blocks:
            positions, values = np.divmod(block, VALUES)
            ranks = values - (values > sites.values[positions])
            found.append(np.sort(positions + sites.n_sites * ranks, axis=1))
        return found


NO_CHANGE = Attacks((_NOTHING[None],))


def net_changes(first: Rows, then: Rows, clean: Values) -> Iterator[Rows]:
    """The net changes of some attacks (rows of `then`) when one attack came before; by number of sites.

    Where both change a site the later value counts, and a site that has its clean value again is not changed.
    """
    rows = np.concatenate([np.broadcast_to(first, (len(then), len(first))), then], axis=1)
    for column in range(len(first)):
        again = (then // VALUES == first[column] // VALUES).any(axis=1)
        rows[again, column] = -1
    positions, values = np.divmod(rows, VALUES)
    rows[(rows >= 0) & (values == clean[positions])] = -1
    rows = np.sort(rows, axis=1)
    n_changed = (rows >= 0).sum(axis=1)
    for number in range(1, rows.shape[1] + 1):
        if (n_changed == number).any():
            yield rows[n_changed == number, -number:]


def after(sites: Sites, attack: Rows) -> Sites:
    """The sites of the object after an attack. Anchored data are left out: they describe the clean graph.

    Example:
        >>> from starcert.objects import Graph
        >>> sites = Sites.everything(Graph(3, [(0, 1)]), "all")
        >>> ((attack,),) = Attacks.from_lists([[(2, 1)]]).blocks
        >>> after(sites, attack).graph.edges.tolist()
        [[0, 1], [1, 2]]
    """
    positions, new = np.divmod(attack, VALUES)
    values = sites.values.copy()
    values[positions] = new
    return sites.of_other(kind_of(sites.clean).with_values(sites, values), values)


def attackable(sites: Sites, noise: Noise) -> Sites:
    """The sites as attacks under a noise change them: of typed edges under `Flip` only their presence.

    Threats list attacks at these sites.

    Example:
        >>> from starcert.objects import Graph
        >>> molecule = Graph(2, [(0, 1)], edge_types=["double"], type_names=("single", "double"))
        >>> attackable(Sites.everything(molecule, "bonds"), Noise(bonds=0.1)).graph
        Graph(2 nodes, 1 edges)
    """
    bound = noise_for_sites(noise, [sites])
    named = zip(sites.regions, sites.layers, strict=True)
    bare = {bound[region].alphabet < layer.alphabet for region, layer in named if layer.name in EDGE_LAYERS}
    if len(bare) > 1:
        hint = "Give all regions of edges Flip laws, or all of them Edges."
        raise InvalidParameterError("noise", "attack the types of all edges, or of none", noise, hint)
    if bare != {True}:
        return sites
    return sites.of_other(kind_of(sites.clean).with_values(sites, sites.values, typed=False))


def levels_of_attacks(attacks: Attacks, sites: Sites, noise: Noise) -> set[tuple[int, ...]]:
    """The levels of attacks at `attackable` sites: how many changes each axis of the noise counts.

    Example:
        >>> from starcert.objects import Graph
        >>> from starcert.objects.laws import Flip
        >>> sites = Sites.everything(Graph(3, [(0, 1)]), "all")
        >>> attacks = Attacks.from_lists([[(0, 0)], [(1, 1), (2, 1)]])
        >>> sorted(levels_of_attacks(attacks, sites, Noise(all=Flip(delete=0.1, add=0.01))))
        [(0, 2), (1, 0)]
    """
    bound, seen = noise_for_sites(noise, [sites]), attackable(sites, noise)
    width = max(bound[region].alphabet for region in bound)
    axis_of = np.full((len(sites.regions), width, width), -1, dtype=np.int64)
    every = [(region, moves) for region in bound for moves in bound[region].moves]
    for axis, (region, moves) in enumerate(every):
        for before, then in moves:
            axis_of[sites.regions.index(region), before, then] = axis
    found = set[tuple[int, ...]]()
    for block in attacks.check(seen).blocks:
        positions, values = np.divmod(block, VALUES)
        axes = np.sort(axis_of[seen.regions_at(positions), seen.values[positions], values], axis=1)
        if (axes < 0).any():
            requirement, hint = "have an axis for every change that the threat makes", "Choose a law with such moves."
            raise InvalidParameterError("noise", requirement, "changes on no axis", hint)
        different = axes[np.unique(row_numbers(axes), return_index=True)[1]]
        found.update(tuple(np.bincount(row, minlength=len(every)).tolist()) for row in different)
    return found
