"""Listed attacks in files: their arrays, how many there are of each size and on which levels, and an index of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.archive.format import ListedForm
from starcert.archive.side_arrays import PackedArrays
from starcert.math.attacked_sites import AttackAxis, AttackList
from starcert.math.choices import Level
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.claims.question import Question

LISTED = {
    "lists": "<i8",  # for each size the number of blocks, and for each of these how many attacks change how many sites
    "listed": "<u4",  # the attacks of each block, column by column: see `AttackAxis.attacked`
}
"""Further arrays of a file about a threat that lists its attacks: all targets of a graph share them."""

Whole = npt.NDArray[np.int64]


def question_form(asked: Question) -> ListedForm:
    """The question about an object, without its attacks."""
    return ListedForm(levels=tuple(tuple(sorted(levels)) for levels in asked.levels), attacks=tuple(asked.counts))


def attack_parts(attacks: AttackList) -> Iterator[tuple[str, npt.ArrayLike]]:
    """The numbers of lists of attacks, and the arrays that they belong to."""
    for blocks in attacks:
        yield "lists", [len(blocks), *(length for block in blocks for length in block.shape)]
        yield from (("listed", block.T) for block in blocks)


def take_attacks(unread: PackedArrays, counts: Iterable[int], n_sites: int) -> AttackList:
    """The lists that come next, with this many attacks of each size."""
    found = []
    for count in counts:
        (n_blocks,) = unread.take("lists", 1).tolist()
        shapes = unread.take("lists", 2 * n_blocks).reshape(-1, 2).tolist()
        if any(rows < 1 or not 1 <= sites <= n_sites for rows, sites in shapes):
            raise InvalidParameterError("lists", f"be of attacks that change from 1 to {n_sites} sites", shapes)
        if (total := sum(rows for rows, _ in shapes)) != count:
            raise InvalidParameterError("lists", f"have the {count:,} attacks that the archive counts", total)
        found.append([unread.take("listed", rows * sites).reshape(sites, rows).T for rows, sites in shapes])
    return found


class AttackIndex:
    """For each number of an attack the axis, the choice on it and the site that it stands for."""

    def __init__(self, axes: Sequence[AttackAxis]) -> None:
        numbers = [axis.attacked(range(axis.n_choices)) for axis in axes]
        of_axis = [np.full(len(each), axis, dtype=np.int64) for axis, each in enumerate(numbers)]
        choices = [np.arange(len(each)) for each in numbers]
        sites = [np.repeat(axis.sites, axis.law.moves) for axis in axes]
        nothing = np.empty(0, dtype=np.int64)
        columns = [np.concatenate([nothing, *each]) for each in (numbers, of_axis, choices, sites)]
        order = np.argsort(columns[0], kind="stable")
        self.numbers, self.of_axis, self.choices, self.sites = (column[order] for column in columns)
        self.n_axes = len(axes)

    def places(self, block: Whole) -> Whole:
        """Where the numbers of attacks stand in this index; refused unless each attack takes different sites of it."""
        places = np.minimum(np.searchsorted(self.numbers, block), max(len(self.numbers) - 1, 0))
        if not len(self.numbers) or (self.numbers[places] != block).any():
            raise InvalidParameterError("listed", "attack sites of the axes", block[:3].tolist())
        sites = np.sort(self.sites[places], axis=1)
        if (sites[:, 1:] == sites[:, :-1]).any():
            raise InvalidParameterError("listed", "attack each site once", block[:3].tolist())
        return places

    def by_level(self, blocks: Sequence[Whole]) -> dict[Level, list[Whole]]:
        """The places of attacks by their level; refused if an attack of a block is listed twice."""
        found: dict[Level, list[Whole]] = {}
        for block in blocks:
            places = np.sort(self.places(block), axis=1)
            if _any_twice(places):
                raise InvalidParameterError("listed", "list each attack once", block[:3].tolist())
            group, of_axis = np.zeros(len(places), dtype=np.int64), self.of_axis[places]
            for axis in range(self.n_axes):
                flips = (of_axis == axis).sum(axis=1)
                if (flips != flips[0]).any():
                    group = np.unique(group * (block.shape[1] + 1) + flips, return_inverse=True)[1]
            for number in range(group.max() + 1):
                here = group == number
                level = np.bincount(of_axis[here.argmax()], minlength=self.n_axes).tolist()
                found.setdefault(tuple(level), []).append(places[here])
        return found

    def chosen(self, places: Whole, axes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
        """The choices of one attack on each of some axes."""
        of_axis, choices = self.of_axis[places], self.choices[places]
        return tuple(tuple(choices[of_axis == axis].tolist()) for axis in axes)

    def check(self, attacks: AttackList, asked: Question, name: str) -> None:
        """Refuses lists of attacks that are not as many, or not on the levels, as a question says."""
        counts = tuple(sum(map(len, blocks)) for blocks in attacks)
        levels = [frozenset(self.by_level(blocks)) for blocks in attacks]
        if counts != asked.counts or levels != list(asked.levels):
            must = f"list {asked.counts} attacks by size, on the levels {[sorted(each) for each in asked.levels]}"
            raise InvalidParameterError(name, must, f"{counts} on {[sorted(each) for each in levels]}")


def _any_twice(rows: Whole) -> bool:
    """True if two rows are equal: mostly they ascend, and then none are."""
    first = (rows[1:] != rows[:-1]).argmax(axis=1)[:, None]
    if (np.take_along_axis(rows[1:], first, 1) > np.take_along_axis(rows[:-1], first, 1)).all():
        return False
    ordered = rows[np.lexsort(rows.T)]
    return bool((ordered[1:] == ordered[:-1]).all(axis=1).any())


def numbered_attacks(kept: Whole, axes: Sequence[AttackAxis], attacks: AttackList) -> AttackList:
    """Listed attacks on an object as they are on its kept sites alone, numbered from 0."""
    whole = max((axis.n_sites for axis in axes if axis.moves is not None), default=0)

    def numbered(block: Whole) -> Whole:
        ranks, positions = divmod(block, whole) if whole else (0, block)
        return np.searchsorted(kept, positions) + len(kept) * ranks

    return [[numbered(block) for block in blocks] for blocks in attacks]
