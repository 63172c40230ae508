"""Which sites flipped in the votes against a class: what evidence beyond p_A is made from.

A vote for the class says nothing more than that. Of a vote against it the flips are kept: as one bit for every site
where flips are many (or sites few, at most `FEW_SITES`), as the positions that flipped where they are few, whichever
takes fewer bytes in all. Where sites have more than two values, what each flip shows is kept beside them. A record that
would grow past `MAX_FLIP_BYTES` keeps only how many sites flipped on each axis, and says so (`complete`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.system.errors import InvalidParameterError

MAX_FLIP_BYTES = 2**28  # the most bytes that the flips of one object may take
FEW_SITES = 256  # with at most this many sites bits are kept, without counting flips
MAX_RECORDED_SITES = 2**32  # positions are numbers of 32 bits
BLOCK = 2**24  # how many sites are unpacked at a time, a byte each
POPCOUNT = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)  # how many bits are set in each byte
COUNTS = ("samples", "against", "classes")
FORMS = ("bits", "starts", "positions", "by_axis", "sizes", "shown")
REDUCED = {"by_axis", "sizes"}

Integers = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]
AnyIntegers = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]
Arrays = Mapping[str, npt.NDArray[Any]]


class ListedFlips(NamedTuple):
    """Flips as positions: those of vote i are positions[starts[i] : starts[i + 1]], ascending."""

    starts: Integers
    positions: npt.NDArray[np.uint32]


class ShownFlips(NamedTuple):
    """Flips, and the value that each of them shows, vote by vote, in ascending order of the sites."""

    places: Places
    shown: Bits


Places: TypeAlias = Bits | ListedFlips  # rows of bits, site s being bit s % 8 of byte s // 8; or a list of positions
Flips: TypeAlias = Places | ShownFlips  # with what they show, where sites have more than two values


@dataclass(frozen=True, eq=False)
class FlipRecord:
    """The votes against a class on one object, and which sites flipped in each of them.

    Exactly one form is there: `bits`; `starts` and `positions`; or, where the flips would take too much, `by_axis`.
    """

    label: int  # the class that they are against
    n_sites: int  # of the object
    samples: Integers  # votes in each chunk, in the order of the chunks
    against: Integers  # of these, votes against the class
    classes: AnyIntegers  # what each of them was for instead, chunk by chunk, in the order of the copies
    bits: Bits | None = None  # for each of them a bit for every site, site s being bit s % 8 of byte s // 8
    starts: Integers | None = None  # where the positions of each of them begin, and where the last one's end
    positions: npt.NDArray[np.uint32] | None = None  # the sites that flipped, ascending in each vote
    by_axis: AnyIntegers | None = None  # for each of them how many sites flipped on each axis
    sizes: Integers | None = None  # with it, how many sites each axis has
    shown: Bits | None = None  # the value that each flip shows, with bits or positions; None: all sites have two

    def __post_init__(self) -> None:
        for name in (*COUNTS, *FORMS):
            if (array := getattr(self, name)) is not None:
                array.setflags(write=False)

    @classmethod
    def of_chunk(cls, label: int, n_sites: int, samples: int, classes: Integers, flips: Sequence[Flips]) -> Self:
        """The record of one chunk of `samples` votes; those against the class were for `classes`, with these flips."""
        counts = np.array([samples]), np.array([len(classes)])
        return cls(label, n_sites, *counts, narrow(classes), **_smaller(flips, len(classes), n_sites))

    @classmethod
    def joined(cls, records: Sequence[FlipRecord]) -> Self:
        """The record of the chunks of several, one after the other; all of them complete, or none."""
        first = records[0]
        if len({(each.label, each.n_sites, each.complete, each.shown is None) for each in records}) > 1:
            wanted = "be against one class on the same sites, and all complete or none"
            raise InvalidParameterError("records", wanted, list(records)[:8])
        samples, against, classes = (np.concatenate([getattr(each, name) for each in records]) for name in COUNTS)
        if first.complete:
            parts = [each._places if each.shown is None else ShownFlips(each._places, each.shown) for each in records]
            kept = _smaller(parts, len(classes), first.n_sites)
        else:
            kept = {"by_axis": np.concatenate([each.by_axis for each in records]), "sizes": first.axis_sizes}
        return cls(first.label, first.n_sites, samples, against, classes, **kept)

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
        return int(_starts(self._places)[-1] if self.by_axis is None else self.by_axis.sum())

    @property
    def flipped(self) -> npt.NDArray[np.uint32]:
        """The sites of all flips, vote by vote, ascending in each."""
        return _listed(self._places).positions

    @property
    def flip_bytes(self) -> int:
        """What the flips take, or would take if they were all kept."""
        return flip_bytes(len(self), self.n_flips, self.n_sites, shown=self.shown is not None)

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
        flips, wanted = self._places, _positions(sites, self.n_sites)
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
        return _matrix_of(_listed(flips), _positions(sites, self.n_sites), np.int16(-1), self.shown.astype(np.int16))

    def numbers(self, axes: AnyIntegers | Sequence[npt.ArrayLike], n_axes: int | None = None) -> Integers:
        """How many sites of each axis flipped in each vote, shape (votes against, axes).

        `axes` has the positions of the sites of each axis, or is an array with the axis of every site (−1: none), with
        `n_axes` axes. A record that is not complete knows the axes of its noise only.
        """
        masks = _masks(axes, self.n_sites, n_axes)
        if self.by_axis is None:
            counts = [_count_in(self._places, mask) for mask in masks]
            return np.stack(counts, axis=1) if counts else np.zeros((len(self), 0), dtype=np.int64)
        if masks.sum(axis=1).tolist() != self.axis_sizes.tolist():
            sizes = f"have {self.axis_sizes.tolist()} sites, those of the noise, where the record is not complete"
            raise InvalidParameterError("axes", sizes, masks.sum(axis=1).tolist())
        return self.by_axis.astype(np.int64)

    def against_class(self, label: int, classes: npt.NDArray[np.int64]) -> FlipRecord:
        """The votes of a record of one chunk that are against a class, given what each of them is for."""
        rows = classes != label
        return self._of_rows(rows, label, self.samples, np.array([rows.sum()]), classes[rows])

    def first(self, chunks: int) -> FlipRecord:
        """The record of the first chunks."""
        if not 0 <= chunks <= len(self.samples):
            raise InvalidParameterError("chunks", f"be a number of chunks from 0 to {len(self.samples)}", chunks)
        samples, against = self.samples[:chunks].copy(), self.against[:chunks].copy()
        rows = np.arange(len(self)) < against.sum()
        return self._of_rows(rows, self.label, samples, against, self.classes[rows])

    def _of_rows(
        self, rows: Mask, label: int, samples: Integers, against: Integers, classes: AnyIntegers
    ) -> FlipRecord:
        kept: dict[str, Any] = {}
        if self.by_axis is None:
            kept = _smaller([_some_of(self._places, self.shown, rows)], len(classes), self.n_sites)
        else:
            kept = {"by_axis": self.by_axis[rows], "sizes": self.sizes}
        return FlipRecord(label, self.n_sites, samples, against, narrow(classes), **kept)

    def by_numbers(self, axes: AnyIntegers | Sequence[npt.ArrayLike], n_axes: int | None = None) -> FlipRecord:
        """The record with the numbers of flips by axis only; `axes` as in `numbers`."""
        sizes = _masks(axes, self.n_sites, n_axes).sum(axis=1)
        numbers: AnyIntegers = self.numbers(axes, n_axes).astype(np.uint16 if self.n_sites < 2**16 else np.uint32)
        return replace(self, bits=None, starts=None, positions=None, shown=None, by_axis=numbers, sizes=sizes)

    def agrees_with(self, other: FlipRecord) -> bool:
        """Whether both are of the same votes and have the same flips, in the same form."""
        mine, theirs = self.to_arrays(), other.to_arrays()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as plain arrays of whole numbers, by name; forms that are not there are left out."""
        arrays = {name: getattr(self, name) for name in ("label", "n_sites", *COUNTS, *FORMS)}
        return {name: np.asarray(array) for name, array in arrays.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> FlipRecord:
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
        flips = _checked_form(arrays, known, len(classes), n_sites)
        record = cls(label, n_sites, samples, against, narrow(classes), **flips)
        if "shown" not in form:
            return record
        shown = _whole(arrays, "shown", 0, 255, 1).astype(np.uint8, copy=False)
        if len(shown) != record.n_flips:
            raise InvalidParameterError("shown", f"be a value for each of {record.n_flips} flips", len(shown))
        return replace(record, shown=shown)


def _checked_form(arrays: Arrays, form: frozenset[str], votes: int, n_sites: int) -> dict[str, npt.NDArray[Any]]:
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
            raise InvalidParameterError("by_axis", f"have {votes} rows with at most {sizes.tolist()} flips", by_axis)
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


def _whole(arrays: Arrays, name: str, low: int, high: int, dimensions: int = 0) -> AnyIntegers:
    array = np.asarray(arrays[name]).view()  # one that can be made read-only without changing whose it is
    if array.ndim != dimensions or array.dtype.kind not in "iu":
        wanted = f"be an array of whole numbers with {dimensions} dimensions"
        raise InvalidParameterError(name, wanted, f"{array.dtype} of shape {array.shape}")
    if array.size and not low <= array.min() <= array.max() <= high:
        raise InvalidParameterError(name, f"be from {low} to {high}", array)
    return array


def narrow(classes: AnyIntegers) -> AnyIntegers:
    """Classes in as few bytes as they take."""
    return classes.astype(np.uint8 if classes.max(initial=0) < 2**8 else np.uint16)


def _positions(sites: npt.ArrayLike, n_sites: int) -> Integers:
    positions = np.asarray(sites)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise InvalidParameterError("sites", "be a row of positions of sites", sites)
    if positions.size and not 0 <= positions.min() <= positions.max() < n_sites:
        raise InvalidParameterError("sites", f"be positions from 0 to {n_sites - 1}", sites)
    return positions.astype(np.int64)


def _masks(axes: AnyIntegers | Sequence[npt.ArrayLike], n_sites: int, n_axes: int | None) -> Mask:
    """Which sites are on which axis, shape (axes, sites)."""
    if isinstance(axes, np.ndarray) and axes.ndim == 1 and axes.dtype.kind in "iu":
        if len(axes) != n_sites:
            raise InvalidParameterError("axes", f"name the axis of each of {n_sites} sites", f"{len(axes)} numbers")
        found: Mask = axes == np.arange(axes.max(initial=-1) + 1 if n_axes is None else n_axes)[:, None]
        return found
    masks = np.zeros((len(axes), n_sites), dtype=np.bool_)
    for mask, sites in zip(masks, axes, strict=True):
        mask[_positions(sites, n_sites)] = True
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
    beside = {"shown": np.concatenate(shown)} if shown else {}
    width = -(-n_sites // 8)
    flips = sum(int(_starts(part)[-1]) for part in places) if n_sites > FEW_SITES else 0
    if flip_bytes(votes, flips, n_sites) == votes * width:
        packed = [_packed(part, width) if isinstance(part, ListedFlips) else part for part in places]
        return beside | {"bits": packed[0] if len(packed) == 1 else np.concatenate(packed)}
    listed = [_listed(part) for part in places]
    lengths = np.concatenate([np.diff(part.starts) for part in listed])
    positions = listed[0].positions if len(listed) == 1 else np.concatenate([part.positions for part in listed])
    return beside | {"starts": np.concatenate([[0], np.cumsum(lengths)]), "positions": positions}


def _some_of(places: Places, shown: Bits | None, rows: Mask) -> Flips:
    """The flips of some of the votes."""
    if isinstance(places, ListedFlips):
        lengths = np.diff(places.starts)
        starts = np.concatenate([[0], np.cumsum(lengths[rows])])
        some: Places = ListedFlips(starts, places.positions[np.repeat(rows, lengths)])
    else:
        some = places[rows]
    return some if shown is None else ShownFlips(some, shown[np.repeat(rows, np.diff(_starts(places)))])


def _starts(flips: Places) -> Integers:
    """Where the flips of each vote begin among those of all, and where the last one's end."""
    return flips.starts if isinstance(flips, ListedFlips) else np.concatenate([[0], np.cumsum(_set_bits(flips))])


def _matrix_of(flips: ListedFlips, sites: Integers, otherwise: np.generic, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """A matrix with the values of flips at these sites, and `otherwise` where there is none, shape (votes, sites)."""
    n_votes = len(flips.starts) - 1
    different, column = np.unique(sites, return_inverse=True)
    found = np.full((n_votes, len(different) + 1), otherwise, dtype=otherwise.dtype)  # the last column: all other sites
    place = np.searchsorted(different, flips.positions)
    there = np.append(different, -1)[place] == flips.positions
    votes = np.repeat(np.arange(n_votes), np.diff(flips.starts))
    found[votes, np.where(there, place, len(different))] = values
    return found[:, column.reshape(-1)]


def _set_bits(bits: Bits) -> Integers:
    """How many bits are set in each row."""
    found = np.empty(len(bits), dtype=np.int64)
    for rows in _blocks(*bits.shape):
        found[rows] = np.take(POPCOUNT, bits[rows]).sum(axis=1, dtype=np.int64)
    return found


def _count_in(flips: Places, mask: Mask) -> Integers:
    """How many flips of each vote are in the mask."""
    if isinstance(flips, ListedFlips):
        return np.diff(np.concatenate([[0], np.cumsum(mask[flips.positions])])[flips.starts])
    return _set_bits(flips & np.packbits(mask, bitorder="little"))


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


def _listed(flips: Places) -> ListedFlips:
    """The flips as positions."""
    if isinstance(flips, ListedFlips):
        return flips
    blocks = (np.unpackbits(flips[rows], axis=1, bitorder="little") for rows in _blocks(*flips.shape))
    positions = [np.nonzero(block)[1].astype(np.uint32) for block in blocks]
    return ListedFlips(_starts(flips), np.concatenate([np.empty(0, dtype=np.uint32), *positions]))


def _blocks(votes: int, width: int) -> Iterator[slice]:
    """Rows of `width` bytes in blocks that can be unpacked."""
    most = max(1, BLOCK // max(1, 8 * width))
    return (slice(start, min(start + most, votes)) for start in range(0, votes, most))
