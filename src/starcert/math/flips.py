"""Which sites flipped in some copies: one bit for every site, or the positions that flipped.

Bits are kept where flips are many (or sites few, at most `FEW_SITES`), positions where they are few, whichever takes
fewer bytes in all. Where sites have more than two values, what each flip shows is kept beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.system.errors import InvalidParameterError

MAX_FLIP_BYTES = 2**28  # the most bytes that the flips of one object may take
FEW_SITES = 256  # with at most this many sites bits are kept, without counting flips
MAX_RECORDED_SITES = 2**32  # positions are numbers of 32 bits
BLOCK = 2**24  # how many sites are unpacked at a time, a byte each
POPCOUNT = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)  # how many bits are set in each byte

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


def checked_flips(arrays: Arrays, form: Set[str], votes: int, n_sites: int) -> dict[str, npt.NDArray[Any]]:
    """The arrays of one form of flips, checked as if they came from anywhere."""
    if form == {"by_axis", "sizes"}:
        sizes = whole_numbers(arrays, "sizes", 0, MAX_RECORDED_SITES, 1).astype(np.int64)
        by_axis = whole_numbers(arrays, "by_axis", 0, MAX_RECORDED_SITES, 2)
        if sizes.sum() > n_sites:
            raise InvalidParameterError("sizes", f"add up to at most the {n_sites} sites", sizes)
        if by_axis.shape != (votes, len(sizes)) or (by_axis > sizes).any():
            raise InvalidParameterError("by_axis", f"have {votes} rows with at most {sizes.tolist()} flips", by_axis)
        return {"by_axis": by_axis.astype(numbers_type(n_sites)), "sizes": sizes}
    places: Places
    if form - {"shown"} == {"bits"}:
        found = {"bits": _checked_bits(arrays, votes, n_sites)}
        places = found["bits"]
    elif form - {"shown"} == {"starts", "positions"}:
        places = _checked_positions(arrays, votes, n_sites)
        found = places._asdict()
    else:
        must = "have one form of flips: bits, starts and positions, or by_axis and sizes"
        raise InvalidParameterError("arrays", must, ", ".join(sorted(form)))
    if "shown" in form:
        shown = whole_numbers(arrays, "shown", 0, 255, 1).astype(np.uint8, copy=False)
        if len(shown) != (n_flips := int(starts_of(places)[-1])):
            raise InvalidParameterError("shown", f"be a value for each of {n_flips} flips", len(shown))
        found["shown"] = shown
    return found


def _checked_bits(arrays: Arrays, votes: int, n_sites: int) -> Bits:
    bits = whole_numbers(arrays, "bits", 0, 255, 2).astype(np.uint8, copy=False)
    if bits.shape != (votes, -(-n_sites // 8)):
        raise InvalidParameterError("bits", f"have the shape {(votes, -(-n_sites // 8))}", bits.shape)
    if n_sites % 8 and (bits[:, -1] >> n_sites % 8).any():
        raise InvalidParameterError("bits", f"be 0 beyond the {n_sites} sites", bits[:, -1].max())
    return bits


def _checked_positions(arrays: Arrays, votes: int, n_sites: int) -> ListedFlips:
    starts = whole_numbers(arrays, "starts", 0, 2**53, 1).astype(np.int64)
    positions = whole_numbers(arrays, "positions", 0, max(0, n_sites - 1), 1).astype(np.uint32, copy=False)
    if len(starts) != votes + 1 or starts[0] or starts[-1] != len(positions) or (np.diff(starts) < 0).any():
        wanted = f"ascend from 0 to {len(positions)}, the number of flips, in {votes + 1} steps"
        raise InvalidParameterError("starts", wanted, starts)
    falls = positions[1:] <= positions[:-1]  # where one vote's end and the next one's begin, they may
    begins = starts[1:-1]
    falls[begins[(begins > 0) & (begins < len(positions))] - 1] = False
    if falls.any() or (len(positions) and not n_sites):
        raise InvalidParameterError("positions", "be sites that ascend in each vote", positions)
    return ListedFlips(starts, positions)


def whole_numbers(arrays: Arrays, name: str, low: int, high: int, dimensions: int = 0) -> AnyIntegers:
    """One of the arrays, once its numbers, its type and its dimensions are checked."""
    array = np.asarray(arrays[name]).view()  # one that can be made read-only without changing whose it is
    if array.ndim != dimensions or array.dtype.kind not in "iu":
        wanted = f"be an array of whole numbers with {dimensions} dimensions"
        raise InvalidParameterError(name, wanted, f"{array.dtype} of shape {array.shape}")
    if array.size and not low <= array.min() <= array.max() <= high:
        raise InvalidParameterError(name, f"be from {low} to {high}", array)
    return array


def numbers_type(n_sites: int) -> type[np.unsignedinteger[Any]]:
    """The type of numbers of flips by axis."""
    return np.uint16 if n_sites < 2**16 else np.uint32


def narrow(classes: AnyIntegers) -> AnyIntegers:
    """Classes in as few bytes as they take."""
    return classes.astype(np.uint8 if classes.max(initial=0) < 2**8 else np.uint16)


def positions_of(sites: npt.ArrayLike, n_sites: int) -> Integers:
    """Positions of sites, checked."""
    positions = np.asarray(sites)
    if positions.ndim != 1 or (positions.size and positions.dtype.kind not in "iu"):
        raise InvalidParameterError("sites", "be a row of positions of sites", sites)
    if positions.size and not 0 <= positions.min() <= positions.max() < n_sites:
        raise InvalidParameterError("sites", f"be positions from 0 to {n_sites - 1}", sites)
    return positions.astype(np.int64)


def axis_masks(axes: AnyIntegers | Sequence[npt.ArrayLike], n_sites: int, n_axes: int | None) -> Mask:
    """A mask of the sites on each axis, shape (axes, sites)."""
    if isinstance(axes, np.ndarray) and axes.ndim == 1 and axes.dtype.kind in "iu":
        if len(axes) != n_sites:
            raise InvalidParameterError("axes", f"name the axis of each of {n_sites} sites", f"{len(axes)} numbers")
        found: Mask = axes == np.arange(axes.max(initial=-1) + 1 if n_axes is None else n_axes)[:, None]
        return found
    masks = np.zeros((len(axes), n_sites), dtype=np.bool_)
    for mask, sites in zip(masks, axes, strict=True):
        mask[positions_of(sites, n_sites)] = True
    return masks


def flip_bytes(votes: int, flips: int, n_sites: int, *, shown: bool = False) -> int:
    """The bytes that flips take, in the form that they are kept in, with what they show or without."""
    as_bits, as_positions = votes * -(-n_sites // 8), 8 * (votes + 1) + 4 * flips
    return (as_bits if n_sites <= FEW_SITES else min(as_bits, as_positions)) + (flips if shown else 0)


def joined_flips(parts: Sequence[Flips], votes: int, n_sites: int) -> dict[str, npt.NDArray[Any]]:
    """The flips of several parts in one, in the form that they are kept in."""
    shown = [part.shown for part in parts if isinstance(part, ShownFlips)]
    places = [part.places if isinstance(part, ShownFlips) else part for part in parts]
    assert len(shown) in (0, len(parts))
    beside = {"shown": np.concatenate(shown)} if shown else {}
    width = -(-n_sites // 8)
    flips = sum(int(starts_of(part)[-1]) for part in places) if n_sites > FEW_SITES else 0
    if flip_bytes(votes, flips, n_sites) == votes * width:
        packed = [_packed(part, width) if isinstance(part, ListedFlips) else part for part in places]
        return beside | {"bits": packed[0] if len(packed) == 1 else np.concatenate(packed)}
    listed = [as_positions(part) for part in places]
    lengths = np.concatenate([np.diff(part.starts) for part in listed])
    positions = listed[0].positions if len(listed) == 1 else np.concatenate([part.positions for part in listed])
    return beside | {"starts": np.concatenate([[0], np.cumsum(lengths)]), "positions": positions}


def some_of(places: Places, shown: Bits | None, rows: Mask) -> Flips:
    """The flips of some of the votes."""
    if isinstance(places, ListedFlips):
        lengths = np.diff(places.starts)
        starts = np.concatenate([[0], np.cumsum(lengths[rows])])
        some: Places = ListedFlips(starts, places.positions[np.repeat(rows, lengths)])
    else:
        some = places[rows]
    return some if shown is None else ShownFlips(some, shown[np.repeat(rows, np.diff(starts_of(places)))])


def starts_of(flips: Places) -> Integers:
    """The places at which the flips of each vote begin among those of all, and where the last one's end."""
    return flips.starts if isinstance(flips, ListedFlips) else np.concatenate([[0], np.cumsum(_set_bits(flips))])


def matrix_of(flips: ListedFlips, sites: Integers, otherwise: np.generic, values: npt.ArrayLike) -> npt.NDArray[Any]:
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
    """The number of bits that are set in each row."""
    found = np.empty(len(bits), dtype=np.int64)
    for rows in _blocks(*bits.shape):
        found[rows] = np.take(POPCOUNT, bits[rows]).sum(axis=1, dtype=np.int64)
    return found


def count_in(flips: Places, mask: Mask) -> Integers:
    """The number of flips of each vote in the mask."""
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


def as_positions(flips: Places) -> ListedFlips:
    """The flips as positions."""
    if isinstance(flips, ListedFlips):
        return flips
    blocks = (np.unpackbits(flips[rows], axis=1, bitorder="little") for rows in _blocks(*flips.shape))
    positions = [np.nonzero(block)[1].astype(np.uint32) for block in blocks]
    return ListedFlips(starts_of(flips), np.concatenate([np.empty(0, dtype=np.uint32), *positions]))


def _blocks(votes: int, width: int) -> Iterator[slice]:
    """Rows of `width` bytes in blocks that can be unpacked."""
    most = max(1, BLOCK // max(1, 8 * width))
    return (slice(start, min(start + most, votes)) for start in range(0, votes, most))
