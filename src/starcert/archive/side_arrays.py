"""Side arrays: the `.npz` file beside a JSON file, which has its size and SHA-256; any other one is refused.

It holds plain rows of whole numbers, nothing pickled; equal numbers make equal bytes. A file may be hostile: no more of
it is unpacked than is asked for.
"""

from __future__ import annotations

import io
import os
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import file_digest, sha256
from os import fspath
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from starcert.archive.format import MAX_SIDE, DrawnForm, SideFile
from starcert.archive.untrusted import MalformedError, check, opened
from starcert.math.votes import MAX_CHUNK_COUNTS, ChunkCounts, Counts, SmallCounts, Votes, chunk_type
from starcert.system.errors import ArchiveError, InvalidParameterError, StarcertWarning
from starcert.system.files import read_header, read_numbers

Content = TypeVar("Content")
Sides: TypeAlias = dict[str, bytes]
"""The files beside a file, by their names."""

DRAWN = ".chunks.npz"  # how the name of the file with the counts of chunks ends
MAX_SEED = 2**512
TARGETS = "be the targets of one graph after the other, each in order"

MAX_NAME = 255  # bytes of the name of a side file
MAX_UNPACKED = 2**32  # the most bytes that all arrays of a file take
SMALL_UNPACKED = 2**24  # bytes that are unpacked however few are packed
MAX_RATIO = 64  # bytes for each packed one; flips are random, and take 3 to 14 in the files that starcert writes
ZIP_END = 22  # the bytes of the last record of a zip file that has no comment
MAX_DIRECTORY = 2**13  # more bytes than the list of the members of a file takes


class PackedArrays:
    """The arrays of an `.npz` file that are still packed: each is unpacked only as far as it is taken.

    They take at most `most` bytes in all; by default as many as flips of a file of this size may take.
    """

    def __init__(self, file: BinaryIO, wanted: Mapping[str, str], most: int | None = None) -> None:
        with _unpacking():
            _check_directory(file)
            self._file = zipfile.ZipFile(file)  # stays open as long as it is read from
            self._kinds = {name: np.dtype(kind) for name, kind in wanted.items()}
            members = self._file.infolist()
            if [each.filename for each in members] != [f"{name}.npy" for name in wanted]:
                raise MalformedError(f"its arrays must be {', '.join(wanted)}.")
            packed = file.seek(0, io.SEEK_END)
            most = min(MAX_UNPACKED, max(SMALL_UNPACKED, MAX_RATIO * packed)) if most is None else most
            if (size := sum(each.file_size for each in members)) > most:
                raise MalformedError(
                    f"its arrays take {size:,} bytes; more than {most:,} are not unpacked of a file of {packed:,}."
                )
            if any(each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for each in members):
                raise MalformedError("its arrays must be stored or deflated.")
            self._streams = {name: self._file.open(each) for name, each in zip(wanted, members, strict=True)}
            self.left = {name: self._length(name) for name in wanted}  # how many numbers of each are left

    def _length(self, name: str) -> int:
        header, kind = read_header(self._streams[name]), self._kinds[name]
        if header.dtype.str != kind.str or header.by_columns or len(header.shape) != 1:
            got = f"{header.dtype} {header.shape}"
            raise MalformedError(f"'{name}' must be one row of numbers of the type {kind.str}. Got {got}.")
        if header.size != self._file.getinfo(f"{name}.npy").file_size:
            raise MalformedError(f"'{name}' must be as long as it says.")
        return header.shape[0]

    def take(self, name: str, length: int) -> npt.NDArray[Any]:
        """The next numbers of an array."""
        left = self.left[name]
        if not 0 <= length <= left:
            raise MalformedError(f"'{name}' must be longer: of {length:,} numbers that come next it has {left:,}.")
        self.left[name] -= length
        with _unpacking():
            return read_numbers(self._streams[name], length, self._kinds[name])

    def check_empty(self) -> None:
        """Refuses numbers that were not taken."""
        for name, left in self.left.items():
            if left:
                raise MalformedError(f"'{name}' must be shorter: {left:,} numbers belong to no graph.")


@contextmanager
def _unpacking() -> Iterator[None]:
    """Turns whatever a foreign file makes the unpacking raise into a `MalformedError`."""
    try:
        yield
    except MalformedError:
        raise
    except Exception as error:
        raise MalformedError(f"it cannot be unpacked ({error}).") from error


def _check_directory(file: BinaryIO) -> None:
    """Refuses a zip file whose list of members is long, or somewhere else: it would be read whole."""
    file.seek(max(0, file.seek(0, io.SEEK_END) - ZIP_END - 20))
    last = file.read()
    end = last[-ZIP_END:]
    directory = int.from_bytes(end[12:16], "little")
    if end[:4] != b"PK\x05\x06" or directory > MAX_DIRECTORY or last.startswith(b"PK\x06\x07"):
        raise MalformedError("it is not a file of arrays, or holds others.")


def pack_arrays(kinds: Mapping[str, str], parts: Mapping[str, Sequence[npt.ArrayLike]]) -> bytes:
    """A side file of arrays of these types, each joined from its parts: the same bytes whenever it is written."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, dtype in kinds.items():
            content = io.BytesIO()
            flat = [np.asarray(part).astype(dtype).reshape(-1) for part in parts[name]]
            npy.write_array(content, np.concatenate([np.empty(0, dtype=dtype), *flat]), allow_pickle=False)
            member = zipfile.ZipInfo(f"{name}.npy")
            member.create_system, member.external_attr = 3, 0o644 << 16
            file.writestr(member, content.getbuffer(), zipfile.ZIP_DEFLATED, 6)
        size = sum(each.file_size for each in file.infolist())
    if size > MAX_UNPACKED:
        hint = "Write fewer graphs into one archive."
        raise InvalidParameterError("evidence", f"take at most {MAX_UNPACKED:,} bytes in all", size, hint)
    return packed.getvalue()


def side_form(name: str, data: bytes | None, sides: Sides) -> SideFile:
    """The entry about a side file, which joins those to be written, unless there is nothing in it."""
    if data is None:
        return SideFile(file=None, bytes=0, sha256="")
    sides[name] = data
    return SideFile(file=name, bytes=len(data), sha256=sha256(data).hexdigest())


def read_side(
    entry: SideFile,
    place: str,
    path: Path,
    suffix: str,
    unpacked: Callable[[BinaryIO], Content],
    missing: str,
    *,
    needed: bool,
) -> Content | None:
    """The content of the side file that an entry describes; None where there is none, or it is not there.

    One that is needed must be there; otherwise a warning says what is `missing` without it, unless that is nothing.
    """
    if (name := entry.file) is None:
        return None
    plain = name.endswith(suffix) and Path(name).name == name and "\0" not in name
    beside = plain and len(name.encode("utf-8", "surrogatepass")) <= MAX_NAME
    check(beside, f"{place}.file", f"be the name of a file in the same folder that ends in {suffix}", name)
    side = path.with_name(name)
    if not side.exists():
        what, _, less = missing.replace("{name}", name).partition(". ")
        if needed:
            raise ArchiveError(fspath(path), f"{what}. Put it there.")
        if missing:
            warnings.warn(f"{path}: {what}. {less}", StarcertWarning, stacklevel=1)
        return None
    with opened(side, f"It was written together with {path.name}.", MAX_SIDE) as file:
        same = (
            os.fstat(file.fileno()).st_size == entry.bytes and file_digest(file, "sha256").hexdigest() == entry.sha256
        )
        if not same:
            raise ArchiveError(fspath(side), f"is not the file that {path.name} was written with: other bytes.")
        try:
            return unpacked(file)
        except MalformedError as error:
            raise ArchiveError(fspath(side), str(error)) from None


# How the votes of a file were drawn: enough to draw some again, with the counts of each chunk in a side file. No claim
# is proved from it. For each purpose it has the counts of all chunks, object by object, for all classes but the last.


def drawn_form(name: str, votes: Votes, sides: Sides) -> dict[str, Any]:
    """The members of a file about how its votes were drawn, if that is known; the counts of each chunk stand beside."""
    chunks = votes.chunks
    if chunks is None:
        return {}
    kept = {"selection": None if votes.selection is None else chunks.selection, "estimation": chunks.estimation}
    parts = {name: [each[..., :-1] for each in counts] for name, counts in kept.items() if counts is not None}
    data = pack_arrays(dict.fromkeys(parts, chunk_type(chunks.chunk_size)), parts) if parts else None
    about = {name: getattr(chunks, name) for name in ("seed", "chunk_size", "first_chunk", "backend")}
    return {"drawn": DrawnForm(**about, counts=side_form(name, data, sides)), "keys": tuple(chunks.keys)}


def read_drawn(drawn: DrawnForm, keys: tuple[str, ...], path: Path, votes: Votes) -> ChunkCounts:
    """The way these votes were drawn, by the file; counts of chunks, if there are any, must add up to the votes."""
    check(drawn.seed <= MAX_SEED, "drawn.seed", f"be a whole number up to {MAX_SEED:,}", drawn.seed)
    must = "be one for each graph, whose targets 'graphs' has in order"
    sizes = targets_in_order("keys", votes.objects.tolist(), votes.targets.tolist(), len(keys), must)
    found = ChunkCounts(drawn.seed, drawn.chunk_size, drawn.first_chunk, drawn.backend, keys, None, None)
    unpacked = partial(_chunks, found, votes, sizes)
    return read_side(drawn.counts, "drawn.counts", path, DRAWN, unpacked, "", needed=False) or found


def targets_in_order(
    place: str, objects: Sequence[int], targets: Sequence[int], n_objects: int, must: str = TARGETS
) -> list[int]:
    """The number of targets of each object; refused unless rows are those of one object after the other."""
    counts = Counter(objects)
    sizes = [counts[number] for number in range(n_objects)]
    places = [(number, target) for number, size in enumerate(sizes) for target in range(size)]
    rows = list(zip(objects, targets, strict=True))
    check(places == rows, place, must, rows)
    return sizes


def _chunks(about: ChunkCounts, votes: Votes, sizes: list[int], file: BinaryIO) -> ChunkCounts:
    """The counts of each chunk, for all classes: those for the last one are what is left of its votes."""
    rows = {"selection": votes.selection, "estimation": votes.counts}
    purposes = {name: counts for name, counts in rows.items() if counts is not None}
    arrays = PackedArrays(file, dict.fromkeys(purposes, chunk_type(about.chunk_size)), MAX_CHUNK_COUNTS)
    kept: dict[str, tuple[SmallCounts, ...] | None] = {"selection": None, "estimation": None}
    try:
        for purpose, counts in purposes.items():
            of_objects = np.split(counts, np.cumsum(sizes[:-1]).astype(int)) if sizes else []
            kept[purpose] = tuple(_taken(arrays, about, purpose, of_object) for of_object in of_objects)
        found = replace(about, selection=kept["selection"], estimation=kept["estimation"])
        for purpose, counts in purposes.items():
            found.check(purpose, counts, sizes)
    except InvalidParameterError as error:
        raise MalformedError(str(error)) from None
    arrays.check_empty()
    return found


def _taken(arrays: PackedArrays, about: ChunkCounts, purpose: str, rows: Counts) -> SmallCounts:
    """The counts of an object's chunks that come next."""
    n_targets, n_classes = rows.shape
    lengths = about.lengths(purpose, int(rows[:1].sum()))
    most = arrays.take(purpose, len(lengths) * n_targets * (n_classes - 1))
    most = most.reshape(len(lengths), n_targets, n_classes - 1)
    last = lengths[:, None] - most.sum(axis=2, dtype=np.int64)
    if (last < 0).any():
        raise MalformedError(f"'{purpose}' must have at most {lengths.max()} votes in each chunk.")
    return np.concatenate([most, last[..., None].astype(most.dtype)], axis=2)
