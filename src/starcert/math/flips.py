"""Which sites flipped in the votes against a class: what evidence beyond p_A is made from.

A vote for the class says nothing more than that. Of a vote against it the flips are kept: as one bit for every site
where flips are many (or sites few, at most `FEW_SITES`), as the positions that flipped where they are few, whichever
takes fewer bytes in all. Where sites have more than two values, what each flip shows is kept beside them. A record that
would grow past `MAX_FLIP_BYTES` keeps only how many sites flipped on each axis, and says so (`complete`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from starcert.system.errors import InvalidParameterError

__all__ = ["MAX_FLIP_BYTES", "MAX_RECORDED_SITES", "FlipRecord", "Flips", "ListedFlips", "ShownFlips", "flip_bytes"]

MAX_FLIP_BYTES = 2**28
"""The most bytes that the flips of one object may take."""

FEW_SITES = 256
"""With at most this many sites bits are kept, without counting flips."""

MAX_RECORDED_SITES = 2**32
"""Positions are numbers of 32 bits."""

BLOCK = 2**24
"""How many sites are unpacked at a time, a byte each."""

POPCOUNT = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1).astype(np.uint8)
"""How many bits are set in each byte."""

Integers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]
AnyIntegers = npt.NDArray[np.integer[Any]]
Scalar = TypeVar("Scalar", bound=np.generic)


class ListedFlips(NamedTuple):
    """Flips as positions: those of vote i are positions[starts[i] : starts[i + 1]], ascending."""

    starts: Integers
    positions: npt.NDArray[np.uint32]


Places: TypeAlias = Bits | ListedFlips
"""Where the flips of some votes are: a row of bits each, site s being bit s % 8 of byte s // 8; or their positions."""


class ShownFlips(NamedTuple):
    """Flips, and the value that each of them shows, vote by vote, in ascending order of the sites."""

    places: Places
    shown: Bits


Flips: TypeAlias = Places | ShownFlips
"""The flips of some votes, with what they show where sites have more than two values."""


@dataclass(frozen=True, eq=False)
class FlipRecord:
    """The votes against a class on one object, and which sites flipped in each of them.

    Exactly one form is there: `bits`; `starts` and `positions`; or, where the flips would take too much, `by_axis`.

    Attributes:
        label: the class that they are against.
        n_sites: how many sites the object has.
        samples: votes in each chunk, in the order of the chunks.
        against: of these, votes against the class.
        classes: what each of them was for instead, chunk by chunk, in the order of the copies.
        bits: for each of them a bit for every site, site s being bit s % 8 of byte s // 8.
        starts: where the positions of each of them begin, and where the last one's end.
        positions: the sites that flipped, ascending in each vote.
        by_axis: for each of them how many sites flipped on each axis.
        sizes: with it, how many sites each axis has.
        shown: beside the first two forms, the value that each flip shows, vote by vote, in ascending order of the
            sites; None where all sites have two values, and with the last form.

    Example:
        >>> record = FlipRecord.of_chunk(0, 3, 10, np.array([1, 1]), [np.array([[0b101], [0b010]], dtype=np.uint8)])
        >>> record.matrix([2, 1])
        array([[ True, False],
               [False,  True]])
        >>> record.numbers([[0, 1], [2]])
        array([[1, 1],
               [1, 0]])
    """

    label: int
    n_sites: int
    samples: Integers
    against: Integers
    classes: AnyIntegers
    bits: Bits | None = None
    starts: Integers | None = None
    positions: npt.NDArray[np.uint32] | None = None
    by_axis: AnyIntegers | None = None
    sizes: Integers | None = None
    shown: Bits | None = None

    def __post_init__(self) -> None:
        for name in (*COUNTS, *FORMS):
            if (array := getattr(self, name)) is not None:
                array.setflags(write=False)

    @classmethod
    def of_chunk(
        cls, label: int, n_sites: int, samples: int, classes: npt.NDArray[np.int64], flips: Sequence[Flips]
    ) -> Self:
        """The record of one chunk of `samples` votes; those against the class were for `classes`, with these flips."""
        counts = np.array([samples]), np.array([len(classes)])
        return cls(label, n_sites, *counts, _narrow(classes), **_smaller(flips, len(classes), n_sites))

    @classmethod
    def joined(cls, records: Sequence[FlipRecord]) -> Self:
        """The record of the chunks of several, one after the other; all of them complete, or none."""
        first = records[0]
        kind = first.label, first.n_sites, first.complete, first.shown is None
        for each in records:
            if (each.label, each.n_sites, each.complete, each.shown is None) != kind:
                wanted = "be against one class on the same sites, and all complete or none"
                raise InvalidParameterError("records", wanted, [first, each])
        samples, against, classes = (np.concatenate([getattr(each, name) for each in records]) for name in COUNTS)
        if first.complete:
            flips = _smaller([each._flips for each in records], len(classes), first.n_sites)
            return cls(first.label, first.n_sites, samples, against, classes, **flips)
        by_axis = np.concatenate([each.by_axis for each in records if each.by_axis is not None])
        return cls(first.label, first.n_sites, samples, against, classes, by_axis=by_axis, sizes=first.sizes)

    def __len__(self) -> int:
        return len(self.classes)

    def __repr__(self) -> str:
        flips = f"{self.n_flips:,} flips" if self.complete else f"flips by {len(self.axis_sizes)} axes"
        votes = f"{len(self):,} of {int(self.samples.sum()):,} votes"
        return f"FlipRecord({votes} against class {self.label}, {flips} of {self.n_sites:,} sites)"

    @property
    def complete(self) -> bool:
        """Whether it is known which sites flipped; otherwise only how many on each axis."""
        return self.by_axis is None

    @property
    def axis_sizes(self) -> Integers:
        """How many sites each axis has, of a record that is not complete."""
        assert self.sizes is not None
        return self.sizes

    @property
    def n_flips(self) -> int:
        """How many flips there are in all votes."""
        return _n_flips(self._places) if self.by_axis is None else int(self.by_axis.sum())

    @property
    def flipped(self) -> npt.NDArray[np.uint32]:
        """The sites of all flips, vote by vote, ascending in each."""
        flips = self._places
        return (flips if isinstance(flips, ListedFlips) else _listed(flips)).positions

    @property
    def flip_bytes(self) -> int:
        """What the flips take, or would take if they were all kept."""
        return flip_bytes(len(self), self.n_flips, self.n_sites, shown=self.shown is not None)

    @property
    def _flips(self) -> Flips:
        return self._places if self.shown is None else ShownFlips(self._places, self.shown)

    @property
    def _places(self) -> Places:
        """The flips, without what they show."""
        if self.bits is not None:
            return self.bits
        if self.starts is None or self.positions is None:
            hint = f"Its flips would take more than {MAX_FLIP_BYTES:,} bytes: only their numbers by axis were kept."
            raise InvalidParameterError("record", "be complete where single sites are asked for", self, hint)
        return ListedFlips(self.starts, self.positions)

    def matrix(self, sites: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether these sites flipped, shape (votes against, sites)."""
        flips = self._places
        wanted = _positions(sites, self.n_sites)
        if not isinstance(flips, ListedFlips):
            found = flips[:, wanted >> 3]
            np.right_shift(found, (wanted & 7).astype(np.uint8), out=found)  # in place: it may take a gigabyte
            return np.bitwise_and(found, 1, out=found).view(np.bool_)
        return _matrix_of(flips, wanted, np.bool_(False), np.bool_(True))

    def values(self, sites: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """The values that these sites show, −1 where they did not flip, shape (votes against, sites)."""
        flips = self._places
        if self.shown is None:
            raise InvalidParameterError("record", "know what flips show, as of sites with more than two values", self)
        listed = flips if isinstance(flips, ListedFlips) else _listed(flips)
        return _matrix_of(listed, _positions(sites, self.n_sites), np.int16(-1), self.shown.astype(np.int16))

    def numbers(self, axes: AnyIntegers | Sequence[npt.ArrayLike], n_axes: int | None = None) -> Integers:
        """How many sites of each axis flipped in each vote, shape (votes against, axes).

        `axes` has the positions of the sites of each axis; or it is an array with the number of the axis of every site,
        −1 for none, and `n_axes` their number where the last ones may have no site. A record that is not complete knows
        the axes of its noise only.
        """
        masks = _masks(axes, self.n_sites, n_axes)
        if self.by_axis is not None:
            if [int(mask.sum()) for mask in masks] != self.axis_sizes.tolist():
                sizes = f"have {self.axis_sizes.tolist()} sites, those of the noise, where the record is not complete"
                raise InvalidParameterError("axes", sizes, [int(mask.sum()) for mask in masks])
            return self.by_axis.astype(np.int64)
        flips = self._places
        found = np.zeros((len(self), len(masks)), dtype=np.int64)
        for axis, mask in enumerate(masks):
            found[:, axis] = _count_in(flips, mask)
        return found

    def against_class(self, label: int, classes: npt.NDArray[np.int64]) -> FlipRecord:
        """The votes of a record of one chunk that are against a class, given what each of them is for."""
        rows = np.flatnonzero(classes != label)
        counts = self.samples, np.array([len(rows)]), _narrow(classes[rows])
        if self.by_axis is not None:
            return FlipRecord(label, self.n_sites, *counts, by_axis=self.by_axis[rows], sizes=self.sizes)
        some = _smaller([_rows(self._flips, rows)], len(rows), self.n_sites)
        return FlipRecord(label, self.n_sites, *counts, **some)

    def first(self, chunks: int) -> FlipRecord:
        """The record of the first chunks."""
        if not 0 <= chunks <= len(self.samples):
            raise InvalidParameterError("chunks", f"be a number of chunks from 0 to {len(self.samples)}", chunks)
        votes = int(self.against[:chunks].sum())
        counts = self.samples[:chunks].copy(), self.against[:chunks].copy(), _narrow(self.classes[:votes])
        if self.by_axis is not None:
            return FlipRecord(self.label, self.n_sites, *counts, by_axis=self.by_axis[:votes], sizes=self.sizes)
        places = _first(self._places, votes)
        flips = places if self.shown is None else ShownFlips(places, self.shown[: _n_flips(places)])
        return FlipRecord(self.label, self.n_sites, *counts, **_smaller([flips], votes, self.n_sites))

    def by_numbers(self, axes: AnyIntegers | Sequence[npt.ArrayLike], n_axes: int | None = None) -> FlipRecord:
        """The record with the numbers of flips by axis only; `axes` as in `numbers`."""
        if not self.complete:
            return self
        sizes = np.array([int(mask.sum()) for mask in _masks(axes, self.n_sites, n_axes)], dtype=np.int64)
        numbers: AnyIntegers = self.numbers(axes, n_axes).astype(np.uint16 if self.n_sites < 2**16 else np.uint32)
        head = self.label, self.n_sites, self.samples, self.against, self.classes
        return FlipRecord(*head, by_axis=numbers, sizes=sizes)

    def agrees_with(self, other: FlipRecord) -> bool:
        """Whether both are of the same votes and have the same flips, in the same form."""
        mine, theirs = self.to_arrays(), other.to_arrays()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as plain arrays of whole numbers, by name; forms that are not there are left out."""
        head = {"label": np.array(self.label), "n_sites": np.array(self.n_sites)}
        arrays = {name: getattr(self, name) for name in (*COUNTS, *FORMS)}
        return head | {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> FlipRecord:
        """What `to_arrays` gave, checked as if it came from anywhere. Flips are not copied: they may take gigabytes."""
        names = frozenset(arrays)
        form = names - {"label", "n_sites", *COUNTS}
        known = form - {"shown"} if form != {"shown", *REDUCED} else form
        if names - form != {"label", "n_sites", *COUNTS} or known not in ({"bits"}, {"starts", "positions"}, REDUCED):
            wanted = f"be label, n_sites, {', '.join(COUNTS)} and one form: bits, starts and positions, or by_axis"
            raise InvalidParameterError("arrays", f"{wanted} and sizes", ", ".join(sorted(names)))
        n_sites = int(_whole(arrays, "n_sites", 0, MAX_RECORDED_SITES))
        label = int(_whole(arrays, "label", 0, 2**16 - 1))
        samples = _whole(arrays, "samples", 1, 2**53, 1).astype(np.int64)
        against = _whole(arrays, "against", 0, 2**53, 1).astype(np.int64)
        classes = _whole(arrays, "classes", 0, 2**16 - 1, 1)
        if against.shape != samples.shape or (against > samples).any():
            raise InvalidParameterError("against", "be at most the samples of each chunk", against)
        if against.sum() != len(classes) or (classes == label).any():
            wanted = f"be other classes than {label}, one for each of {against.sum()} votes against it"
            raise InvalidParameterError("classes", wanted, classes)
        given = _checked_form(arrays, known, len(classes), n_sites)
        if "shown" in form:
            shown = _whole(arrays, "shown", 0, 255, 1).astype(np.uint8, copy=False)
            flips = given["bits"] if "bits" in given else ListedFlips(given["starts"], given["positions"])
            if len(shown) != _n_flips(flips):
                raise InvalidParameterError("shown", f"be a value for each of {_n_flips(flips)} flips", len(shown))
            given["shown"] = shown
        return cls(label, n_sites, samples, against, _narrow(classes), **given)


COUNTS = ("samples", "against", "classes")
FORMS = ("bits", "starts", "positions", "by_axis", "sizes", "shown")
REDUCED = {"by_axis", "sizes"}


def _checked_form(
    arrays: Mapping[str, npt.NDArray[Any]], form: frozenset[str], votes: int, n_sites: int
) -> dict[str, npt.NDArray[Any]]:
    """The flips of `votes` votes in the form that is there, checked."""
    if form == {"bits"}:
        bits = _whole(arrays, "bits", 0, 255, 2).astype(np.uint8, copy=False)
        if bits.shape != (votes, -(-n_sites // 8)):
            raise InvalidParameterError("bits", f"have the shape {(votes, -(-n_sites // 8))}", bits.shape)
        if n_sites % 8 and (bits[:, -1] >> n_sites % 8).any():
            raise InvalidParameterError("bits", f"be 0 beyond the {n_sites} sites", bits[:, -1].max())
        return {"bits": bits}
    if form == REDUCED:
        sizes = _whole(arrays, "sizes", 0, MAX_RECORDED_SITES, 1).astype(np.int64)
        by_axis = _whole(arrays, "by_axis", 0, MAX_RECORDED_SITES, 2)
        if sizes.sum() > n_sites:
            raise InvalidParameterError("sizes", f"add up to at most the {n_sites} sites", sizes)
        if by_axis.shape != (votes, len(sizes)) or (by_axis > sizes).any():
            wanted = f"have {votes} rows with at most {sizes.tolist()} flips"
            raise InvalidParameterError("by_axis", wanted, f"an array of shape {by_axis.shape}")
        return {"by_axis": by_axis.astype(np.uint16 if n_sites < 2**16 else np.uint32), "sizes": sizes}
    starts = _whole(arrays, "starts", 0, 2**53, 1).astype(np.int64)
    positions = _whole(arrays, "positions", 0, max(0, n_sites - 1), 1).astype(np.uint32, copy=False)
    if len(starts) != votes + 1 or starts[0] or starts[-1] != len(positions) or (np.diff(starts) < 0).any():
        wanted = f"ascend from 0 to {len(positions)}, the number of flips, in {votes + 1} steps"
        raise InvalidParameterError("starts", wanted, starts)
    falls = positions[1:] <= positions[:-1]  # where one vote's end and the next one's begin, they may
    begins = starts[1:-1]
    falls[begins[(begins > 0) & (begins < len(positions))] - 1] = False
    if falls.any() or (len(positions) and not n_sites):
        raise InvalidParameterError("positions", "be sites that ascend in each vote", positions)
    return {"starts": starts, "positions": positions}


def _whole(arrays: Mapping[str, npt.NDArray[Any]], name: str, low: int, high: int, dimensions: int = 0) -> AnyIntegers:
    """One of the arrays, once it is known to hold whole numbers within limits."""
    array = np.asarray(arrays[name]).view()  # one that can be made read-only without changing whose it is
    if array.ndim != dimensions or array.dtype.kind not in "iu":
        wanted = f"be an array of whole numbers with {dimensions} dimensions"
        raise InvalidParameterError(name, wanted, f"{array.dtype} of shape {array.shape}")
    kind = np.iinfo(array.dtype)
    if array.size and not (low <= kind.min and kind.max <= high) and not low <= array.min() <= array.max() <= high:
        raise InvalidParameterError(name, f"be from {low} to {high}", array)
    return array


def _narrow(classes: AnyIntegers) -> AnyIntegers:
    """Classes in one byte each where that does, in two otherwise."""
    return classes.astype(np.uint8 if not len(classes) or classes.max() < 2**8 else np.uint16)


def _positions(sites: npt.ArrayLike, n_sites: int) -> Integers:
    positions = np.asarray(sites)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise InvalidParameterError("sites", "be a row of positions of sites", sites)
    if positions.size and not (positions.min() >= 0 and positions.max() < n_sites):
        raise InvalidParameterError("sites", f"be positions from 0 to {n_sites - 1}", sites)
    return positions.astype(np.int64)


def _masks(
    axes: AnyIntegers | Sequence[npt.ArrayLike], n_sites: int, n_axes: int | None
) -> list[npt.NDArray[np.bool_]]:
    """For each axis which sites are on it."""
    if isinstance(axes, np.ndarray) and axes.ndim == 1 and axes.dtype.kind in "iu":
        if len(axes) != n_sites:
            raise InvalidParameterError("axes", f"name the axis of each of {n_sites} sites", f"{len(axes)} numbers")
        return [axes == axis for axis in range(int(axes.max(initial=-1)) + 1 if n_axes is None else n_axes)]
    masks = []
    for sites in axes:
        mask = np.zeros(n_sites, dtype=np.bool_)
        mask[_positions(sites, n_sites)] = True
        masks.append(mask)
    return masks


def flip_bytes(votes: int, flips: int, n_sites: int, *, shown: bool = False) -> int:
    """How many bytes flips take, in the form that they are kept in, with what they show or without."""
    as_bits, as_positions = votes * -(-n_sites // 8), 8 * (votes + 1) + 4 * flips
    return (as_bits if n_sites <= FEW_SITES else min(as_bits, as_positions)) + (flips if shown else 0)


def _smaller(parts: Sequence[Flips], votes: int, n_sites: int) -> dict[str, npt.NDArray[Any]]:
    """The flips of several parts in one, in the form that they are kept in."""
    shown = [part.shown for part in parts if isinstance(part, ShownFlips)]
    places = [part.places if isinstance(part, ShownFlips) else part for part in parts]
    assert len(shown) in (0, len(parts))
    return _smaller_places(places, votes, n_sites) | ({"shown": np.concatenate(shown)} if shown else {})


def _smaller_places(parts: Sequence[Places], votes: int, n_sites: int) -> dict[str, npt.NDArray[Any]]:
    width = -(-n_sites // 8)
    bits = [part for part in parts if not isinstance(part, ListedFlips)]
    if len(bits) == len(parts) > 1:  # as a rule: they are looked at together
        parts = [np.concatenate(bits)]
    flips = 0
    if n_sites > FEW_SITES:
        flips = sum(map(_n_flips, parts))
    if flip_bytes(votes, flips, n_sites) == votes * width:
        packed = [_packed(part, width) if isinstance(part, ListedFlips) else part for part in parts]
        return {"bits": packed[0] if len(packed) == 1 else np.concatenate(packed)}
    listed = [part if isinstance(part, ListedFlips) else _listed(part) for part in parts]
    if len(listed) == 1:
        return listed[0]._asdict()
    lengths = np.concatenate([np.diff(part.starts) for part in listed])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return {"starts": starts, "positions": np.concatenate([part.positions for part in listed])}


def _n_flips(flips: Places) -> int:
    return len(flips.positions) if isinstance(flips, ListedFlips) else _count_all(flips)


def _first(flips: Places, votes: int) -> Places:
    if not isinstance(flips, ListedFlips):
        return flips[:votes]
    return ListedFlips(flips.starts[: votes + 1], flips.positions[: flips.starts[votes]])


def _rows(flips: Flips, rows: Integers) -> Flips:
    if isinstance(flips, ShownFlips):
        return ShownFlips(_places_of(flips.places, rows), flips.shown[_runs(_starts(flips.places), rows)])
    return _places_of(flips, rows)


def _places_of(flips: Places, rows: Integers) -> Places:
    if not isinstance(flips, ListedFlips):
        return flips[rows]
    starts = np.concatenate([[0], np.cumsum(np.diff(flips.starts)[rows])])
    return ListedFlips(starts, flips.positions[_runs(flips.starts, rows)])


def _starts(flips: Places) -> Integers:
    """Where the flips of each vote begin among those of all, and where the last one's end."""
    if isinstance(flips, ListedFlips):
        return flips.starts
    return np.concatenate([[0], np.cumsum(POPCOUNT[flips].sum(axis=1, dtype=np.int64))])


def _runs(starts: Integers, rows: Integers) -> Integers:
    """The numbers from starts[row] to before starts[row + 1], for some rows one after the other."""
    lengths = np.diff(starts)[rows]
    first = np.repeat(starts[rows] - np.concatenate([[0], np.cumsum(lengths)[:-1]])[: len(rows)], lengths)
    found: Integers = first + np.arange(len(first))
    return found


def _matrix_of(
    flips: ListedFlips, sites: Integers, otherwise: Scalar, values: Scalar | npt.NDArray[Scalar]
) -> npt.NDArray[Scalar]:
    """A matrix with the values of flips at these sites, and `otherwise` where there is none, shape (votes, sites)."""
    n_votes = len(flips.starts) - 1
    different, column = np.unique(sites, return_inverse=True)
    found = np.full((n_votes, len(different) + 1), otherwise, dtype=otherwise.dtype)  # the last column: all other sites
    place = np.searchsorted(different, flips.positions)
    there = np.append(different, -1)[place] == flips.positions
    votes = np.repeat(np.arange(n_votes), np.diff(flips.starts))
    found[votes, np.where(there, place, len(different))] = values
    return found[:, column.reshape(-1)]


def _count_all(bits: Bits) -> int:
    octets = bits.reshape(-1)
    parts = range(0, octets.size, BLOCK // 8)
    return sum([int(np.count_nonzero(np.unpackbits(octets[start : start + BLOCK // 8]))) for start in parts])


def _count_in(flips: Places, mask: npt.NDArray[np.bool_]) -> Integers:
    """How many flips of each vote are in the mask."""
    if not isinstance(flips, ListedFlips):
        masked: Integers = POPCOUNT[flips & np.packbits(mask, bitorder="little")].sum(axis=1, dtype=np.int64)
        return masked
    before = np.concatenate([[0], np.cumsum(mask[flips.positions])])
    counts: Integers = before[flips.starts[1:]] - before[flips.starts[:-1]]
    return counts


def _packed(flips: ListedFlips, width: int) -> Bits:
    """Positions as rows of bits."""
    bits = np.empty((len(flips.starts) - 1, width), dtype=np.uint8)
    for rows in _blocks(len(bits), width):
        starts = flips.starts[rows.start : rows.stop + 1]
        sites = np.zeros((len(starts) - 1, 8 * width), dtype=np.uint8)
        votes = np.repeat(np.arange(len(sites)), np.diff(starts))
        sites[votes, flips.positions[starts[0] : starts[-1]]] = 1
        bits[rows] = np.packbits(sites, axis=1, bitorder="little")
    return bits


def _listed(bits: Bits) -> ListedFlips:
    """Rows of bits as positions."""
    starts = _starts(bits)
    blocks = (np.unpackbits(bits[rows], axis=1, bitorder="little") for rows in _blocks(*bits.shape))
    positions = [np.nonzero(block)[1].astype(np.uint32) for block in blocks]
    return ListedFlips(starts, np.concatenate([np.empty(0, dtype=np.uint32), *positions]))


def _blocks(votes: int, width: int) -> Iterator[slice]:
    """Rows of `width` bytes in blocks that can be unpacked."""
    most = max(1, BLOCK // max(1, 8 * width))
    for start in range(0, votes, most):
        yield slice(start, min(start + most, votes))
