"""Side arrays: the `.npz` file beside a JSON file, which has its size and SHA-256; any other one is refused.

It holds plain rows of whole numbers, nothing pickled; equal numbers make equal bytes. A file may be hostile: no more of
it is unpacked than is asked for.
"""

from __future__ import annotations

import io
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import file_digest, sha256
from os import fspath
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from starcert.archive.untrusted import Field, MalformedError, opened
from starcert.system.errors import ArchiveError, InvalidParameterError, StarcertWarning
from starcert.system.files import read_header, read_numbers, write_whole

Content = TypeVar("Content")

MAX_NAME = 255  # bytes of the name of a side file
MAX_SIDE = 2**31  # bytes of a side file; larger ones are refused before they are read

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


def write_side(path: Path, suffix: str, data: bytes | None) -> dict[str, object]:
    """Writes a side file of a file, unless there is nothing in it, and returns the entry about it."""
    if data is None:
        return {"file": None, "bytes": 0, "sha256": ""}
    side = path.with_name(f"{path.stem}{suffix}")
    write_whole(side, [data])
    return {"file": side.name, "bytes": len(data), "sha256": sha256(data).hexdigest()}


def read_side(
    field: Field, path: Path, suffix: str, unpacked: Callable[[BinaryIO], Content], missing: str, *, needed: bool
) -> Content | None:
    """The content of the side file that an entry describes; None where there is none, or it is not there.

    One that is needed must be there; otherwise a warning says what is `missing` without it, unless that is nothing.
    """
    entry = field.members("file", "bytes", "sha256")
    size, digest = entry["bytes"].whole(MAX_SIDE), entry["sha256"].text()
    if entry["file"].value is None:
        return None
    name = entry["file"].text()
    beside = (
        name.endswith(suffix)
        and Path(name).name == name
        and "\0" not in name
        and len(name.encode("utf-8", "surrogatepass")) <= MAX_NAME
    )
    entry["file"].check(beside, f"be the name of a file in the same folder that ends in {suffix}")
    side = path.with_name(name)
    if not side.exists():
        what, _, less = missing.replace("{name}", name).partition(". ")
        if needed:
            raise ArchiveError(fspath(path), f"{what}. Put it there.")
        if missing:
            warnings.warn(f"{path}: {what}. {less}", StarcertWarning, stacklevel=1)
        return None
    with opened(side, f"It was written together with {path.name}.", MAX_SIDE) as file:
        if os.fstat(file.fileno()).st_size != size or file_digest(file, "sha256").hexdigest() != digest:
            raise ArchiveError(fspath(side), f"is not the file that {path.name} was written with: other bytes.")
        try:
            return unpacked(file)
        except MalformedError as error:
            raise ArchiveError(fspath(side), str(error)) from None
