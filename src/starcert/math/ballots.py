"""The ballots of one object: the copies that are kept, which sites flipped in each, and what each target answered.

A vote for its class says nothing more than that. So a copy is kept where at least one target disagrees with its class;
where outputs are numbers, there are no classes, and every copy is kept. The targets of an object share its copies, so
the flips of a copy are there once. What evidence weighs for one target are the copies on which that one disagrees:
`Ballots.of_target`.

Of the flips of a copy there is one form: bits or positions, whichever take fewer bytes (see `flips`); or, where that
would be too much, how many sites of each axis flipped (`complete` says so). Bits and positions are those of all sites,
or of those that are listed in `sites`: about the others nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from starcert.math.flips import (
    MAX_FLIP_BYTES,
    MAX_RECORDED_SITES,
    AnyIntegers,
    Bits,
    Flips,
    Integers,
    ListedFlips,
    Mask,
    Places,
    ShownFlips,
    as_positions,
    axis_masks,
    checked_flips,
    count_in,
    flip_bytes,
    joined_flips,
    matrix_of,
    narrow,
    numbers_type,
    positions_of,
    some_of,
    starts_of,
    whole_numbers,
)
from starcert.system.errors import InvalidParameterError

COUNTS = ("samples", "kept", "answers")
FORMS = ("bits", "starts", "positions", "by_axis", "sizes", "shown", "sites")
MAX_CLASS = 2**16 - 1


@dataclass(frozen=True, eq=False)
class Ballots:
    """The copies of one object that are kept, chunk by chunk, in the order of the copies.

    Exactly one form of flips is there: `bits`; `starts` and `positions`; or `by_axis` and `sizes`.
    """

    labels: tuple[int, ...] | None  # the class of each target; None: there are none, and every copy is kept
    n_sites: int  # of the object
    samples: Integers  # copies in each chunk, in the order of the chunks
    kept: Integers  # of these, those that are kept
    answers: AnyIntegers  # what each target answered on them, shape (kept copies, targets)
    bits: Bits | None = None  # for each of them a bit for every site, site s being bit s % 8 of byte s // 8
    starts: Integers | None = None  # where the positions of each of them begin, and where the last one's end
    positions: npt.NDArray[np.uint32] | None = None  # the sites that flipped, ascending in each copy
    by_axis: AnyIntegers | None = None  # for each of them how many sites flipped on each axis
    sizes: Integers | None = None  # with it, how many sites each axis has
    shown: Bits | None = None  # the value that each flip shows, with bits or positions; None: all sites have two
    sites: Integers | None = None  # the sites that bits and positions number from 0, ascending; None: all of them

    def __post_init__(self) -> None:
        for name in (*COUNTS, *FORMS):
            if (array := getattr(self, name)) is not None:
                array.setflags(write=False)

    @classmethod
    def of_chunk(
        cls,
        labels: Sequence[int] | None,
        n_sites: int,
        samples: int,
        answers: AnyIntegers,
        flips: Sequence[Flips],
        sites: Integers | None = None,
    ) -> Self:
        """Those of one chunk of `samples` copies: the answers on the ones that are kept, and their flips."""
        counts, classes = (np.array([samples]), np.array([len(answers)])), None if labels is None else tuple(labels)
        form = joined_flips(flips, len(answers), n_sites if sites is None else len(sites))
        return cls(classes, n_sites, *counts, narrow(answers), **form, sites=sites)

    @classmethod
    def joined(cls, parts: Sequence[Ballots]) -> Self:
        """Those of the chunks of several, one after the other; all of them in one form."""
        first = parts[0]
        if any(not first.is_alike(each) for each in parts[1:]):
            wanted = "be of one object, against the same classes, and in one form"
            raise InvalidParameterError("ballots", wanted, list(parts)[:8])
        samples, kept, answers = (np.concatenate([getattr(each, name) for each in parts]) for name in COUNTS)
        if first.complete:
            form = joined_flips([each._flips for each in parts], len(answers), first._width)
        else:
            form = {"by_axis": np.concatenate([each.by_axis for each in parts]), "sizes": first.axis_sizes}
        return cls(first.labels, first.n_sites, samples, kept, answers, **form, sites=first.sites)

    def is_alike(self, other: Ballots) -> bool:
        """True if both are of copies that were kept by one rule, in one form."""
        same = (self.labels, self.n_sites, self.complete) == (other.labels, other.n_sites, other.complete)
        if (self.sites is None) != (other.sites is None) or (self.shown is None) != (other.shown is None):
            return False
        return same and (self.sites is None or np.array_equal(self.sites, other.sites))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.answers)

    def __repr__(self) -> str:
        flips = f"{self.n_flips:,} flips" if self.complete else f"flips by {len(self.axis_sizes)} axes"
        against = "" if self.labels is None else f" against the classes {self.labels[:8]}"
        return f"Ballots({len(self):,} of {self.n_copies:,} copies{against}, {flips} of {self._width:,} sites)"

    @property
    def n_copies(self) -> int:
        """The number of copies, with those that are not kept."""
        return int(self.samples.sum())

    @property
    def n_targets(self) -> int:
        """The number of targets."""
        return int(self.answers.shape[1])

    @property
    def complete(self) -> bool:
        """True if it is known which sites flipped, of those that are listed; otherwise only how many on each axis."""
        return self.by_axis is None

    @property
    def axis_sizes(self) -> Integers:
        """The number of sites of each axis, where only numbers of flips are known."""
        assert self.sizes is not None
        return self.sizes

    @property
    def n_flips(self) -> int:
        """The number of flips in all copies."""
        return int(starts_of(self.places)[-1] if self.by_axis is None else self.by_axis.sum())

    @property
    def flipped(self) -> npt.NDArray[np.uint32]:
        """The sites of all flips, copy by copy, ascending in each."""
        positions = as_positions(self.places).positions
        return positions if self.sites is None else self.sites[positions].astype(np.uint32)

    @property
    def flip_bytes(self) -> int:
        """The bytes that the flips take, or would take if they were all kept."""
        return flip_bytes(len(self), self.n_flips, self._width, shown=self.shown is not None)

    @property
    def _width(self) -> int:
        """The number of sites that bits and positions are about."""
        return self.n_sites if self.sites is None else len(self.sites)

    @property
    def places(self) -> Places:
        """The flips, without what they show."""
        if self.bits is not None:
            return self.bits
        if self.starts is None or self.positions is None:
            hint = f"Its flips would take more than {MAX_FLIP_BYTES:,} bytes: only their numbers by axis were kept."
            raise InvalidParameterError("ballots", "be complete where single sites are asked for", self, hint)
        return ListedFlips(self.starts, self.positions)

    @property
    def _flips(self) -> Flips:
        return self.places if self.shown is None else ShownFlips(self.places, self.shown)

    def _numbered(self, sites: npt.ArrayLike) -> Integers:
        """Positions of the object as bits and positions number them."""
        wanted = positions_of(sites, self.n_sites)
        if self.sites is None:
            return wanted
        places = np.minimum(np.searchsorted(self.sites, wanted), max(len(self.sites) - 1, 0))
        if len(wanted) and (not len(self.sites) or (self.sites[places] != wanted).any()):
            raise InvalidParameterError("sites", "be among those whose flips were kept", sites)
        return places

    def matrix(self, sites: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Marks the flipped ones among these sites, shape (kept copies, sites)."""
        flips, wanted = self.places, self._numbered(sites)
        if not isinstance(flips, ListedFlips):
            found = flips[:, wanted >> 3]
            np.right_shift(found, (wanted & 7).astype(np.uint8), out=found)  # in place: it may take a gigabyte
            return np.bitwise_and(found, 1, out=found).view(np.bool_)
        return matrix_of(flips, wanted, np.bool_(False), np.bool_(True))

    def values(self, sites: npt.ArrayLike) -> npt.NDArray[np.int16]:
        """The values that these sites show, −1 where they did not flip, shape (kept copies, sites)."""
        flips = self.places
        if self.shown is None:
            raise InvalidParameterError("ballots", "know what flips show, as of sites with more than two values", self)
        return matrix_of(as_positions(flips), self._numbered(sites), np.int16(-1), self.shown.astype(np.int16))

    def numbers(self, axes: AnyIntegers | Sequence[npt.ArrayLike], n_axes: int | None = None) -> Integers:
        """The number of sites of each axis that flipped in each copy, shape (kept copies, axes).

        `axes` has the positions of the sites of each axis, or is an array with the axis of every site (−1: none), with
        `n_axes` axes. Where only numbers are known, they are those of the axes of the noise.
        """
        if self.sites is not None:
            raise InvalidParameterError("ballots", "know the flips of all sites where they are counted", self)
        masks = axis_masks(axes, self.n_sites, n_axes)
        if self.by_axis is None:
            counts = [count_in(self.places, mask) for mask in masks]
            return np.stack(counts, axis=1) if counts else np.zeros((len(self), 0), dtype=np.int64)
        if masks.sum(axis=1).tolist() != self.axis_sizes.tolist():
            sizes = f"have {self.axis_sizes.tolist()} sites, those of the noise, where the flips are not complete"
            raise InvalidParameterError("axes", sizes, masks.sum(axis=1).tolist())
        return self.by_axis.astype(np.int64)

    def of_target(self, target: int) -> Ballots | None:
        """Those of one target alone: the copies on which it disagrees with its class; None if it has no answers."""
        if target >= self.n_targets:
            return None
        if self.n_targets == 1:
            return self
        assert self.labels is not None
        return replace(self, answers=self.answers[:, [target]]).disagreeing_with([self.labels[target]])

    def disagreeing_with(self, labels: Sequence[int]) -> Ballots:
        """The copies on which at least one target disagrees with these classes."""
        rows = (self.answers != labels).any(axis=1)
        chunk = np.repeat(np.arange(len(self.samples)), self.kept)
        kept = np.bincount(chunk[rows], minlength=len(self.samples))
        return self._of_rows(rows, tuple(labels), self.samples, kept, self.answers[rows])

    def first(self, chunks: int) -> Ballots:
        """Those of the first chunks."""
        if not 0 <= chunks <= len(self.samples):
            raise InvalidParameterError("chunks", f"be a number of chunks from 0 to {len(self.samples)}", chunks)
        return self._of_chunks(0, chunks)

    def chunk(self, number: int) -> Ballots:
        """Those of one chunk alone."""
        return self._of_chunks(number, number + 1)

    def _of_chunks(self, first: int, end: int) -> Ballots:
        places, ends = slice(first, end), np.cumsum([0, *self.kept])
        rows = np.zeros(len(self), dtype=np.bool_)
        rows[ends[first] : ends[end]] = True
        return self._of_rows(
            rows, self.labels, self.samples[places].copy(), self.kept[places].copy(), self.answers[rows]
        )

    def _of_rows(
        self, rows: Mask, labels: tuple[int, ...] | None, samples: Integers, kept: Integers, answers: AnyIntegers
    ) -> Ballots:
        form: dict[str, Any] = {}
        if self.by_axis is None:
            form = joined_flips([some_of(self.places, self.shown, rows)], len(answers), self._width)
        else:
            form = {"by_axis": self.by_axis[rows], "sizes": self.sizes}
        return Ballots(labels, self.n_sites, samples, kept, narrow(answers), **form, sites=self.sites)

    def by_numbers(self, axes: AnyIntegers | Sequence[npt.ArrayLike], n_axes: int | None = None) -> Ballots:
        """The same with the numbers of flips by axis only; `axes` as in `numbers`."""
        sizes = axis_masks(axes, self.n_sites, n_axes).sum(axis=1)
        numbers: AnyIntegers = self.numbers(axes, n_axes).astype(numbers_type(self.n_sites))
        return replace(self, bits=None, starts=None, positions=None, shown=None, by_axis=numbers, sizes=sizes)

    def at(self, sites: Integers) -> Ballots:
        """The same with the flips of these sites alone, which ascend."""
        if self.shown is None:
            there = self.matrix(sites)
        else:
            values = self.values(sites)
            there = values >= 0
        bits = np.packbits(there, axis=1, bitorder="little")
        flips = bits if self.shown is None else ShownFlips(bits, values[there].astype(np.uint8))
        form = joined_flips([flips], len(self), len(sites))
        return Ballots(self.labels, self.n_sites, self.samples, self.kept, self.answers, **form, sites=sites)

    def renumbered(self) -> Ballots:
        """The same as of an object that has the listed sites alone."""
        return self if self.sites is None else replace(self, n_sites=len(self.sites), sites=None)

    def agrees_with(self, other: Ballots) -> bool:
        """True if both are of the same copies and have the same flips, in the same form."""
        mine, theirs = self.to_arrays(), other.to_arrays()
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All of it as plain arrays of whole numbers, by name; what is not there is left out."""
        arrays = {name: getattr(self, name) for name in ("labels", "n_sites", *COUNTS, *FORMS)}
        return {name: np.asarray(array) for name, array in arrays.items() if array is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Ballots:
        """The ballots of such arrays, checked as if they came from anywhere. Flips are not copied: they are large."""
        names = frozenset(arrays)
        if missing := {"n_sites", *COUNTS} - names:
            raise InvalidParameterError("arrays", f"have {', '.join(sorted(missing))}", ", ".join(sorted(names)))
        n_sites = int(whole_numbers(arrays, "n_sites", 0, MAX_RECORDED_SITES))
        samples = whole_numbers(arrays, "samples", 1, 2**53, 1).astype(np.int64)
        kept = whole_numbers(arrays, "kept", 0, 2**53, 1).astype(np.int64)
        answers = whole_numbers(arrays, "answers", 0, MAX_CLASS, 2)
        if kept.shape != samples.shape or (kept > samples).any():
            raise InvalidParameterError("kept", "be at most the samples of each chunk", kept)
        labels = None
        if "labels" in names:
            labels = tuple(whole_numbers(arrays, "labels", 0, MAX_CLASS, 1).tolist())
        agree = labels is not None and (len(labels) != answers.shape[1] or (answers == labels).all(axis=1).any())
        if agree or kept.sum() != len(answers):
            wanted = f"differ from the classes {labels} somewhere on each of {kept.sum()} copies"
            raise InvalidParameterError("answers", wanted, answers)
        sites = None
        if "sites" in names:
            sites = whole_numbers(arrays, "sites", 0, max(0, n_sites - 1), 1).astype(np.int64)
            if (sites[1:] <= sites[:-1]).any():
                raise InvalidParameterError("sites", "ascend", sites)
        form = names - {"labels", "n_sites", "sites", *COUNTS}
        flips = checked_flips(arrays, form, len(answers), n_sites if sites is None else len(sites))
        return cls(labels, n_sites, samples, kept, narrow(answers), **flips, sites=sites)


class OwnTally(NamedTuple):
    """One chunk of votes at one attacked object: for each class, and for each one against the class its flips by axis.

    An attacked site counts as flipped where it differs from the clean object.
    """

    counts: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]  # shape (votes, axes)
