"""Files that are either there and whole, or not there: nothing half-written has a final name.

A file is written as a draft beside it, `.NAME.0123456789abcdef.part`, which is locked until it gets its name. A draft
without a lock was left by a process that was killed: whoever writes the same file next removes it. The system releases
locks however a process ends.

Files that are not trusted are opened by `open_plain` alone. Arrays that numpy saved may come from broken or hostile
files: a header is checked before its numbers are unpacked.
Files say by which `versions` they were made: with the same ones, a run that is repeated gives the same bytes.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from io import BufferedReader, BytesIO
from math import prod
from os import PathLike
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from filelock import FileLock, Timeout, lock_descriptor
from numpy.lib import format as npy

from starcert.system.errors import StarcertError, WriteError

_ENDING = r"\.[0-9a-f]{16}\.part"

MAX_HEADER = 10_000  # bytes of the header of a saved array; those of starcert have 128

_BLOCK = 2**18  # bytes that are unpacked at a time, so that no array is in memory twice


def write_whole(path: str | PathLike[str], parts: Iterable[str] | Iterable[bytes]) -> None:
    """Writes a draft in the same folder, and gives it its name once it is on the disk.

    Whatever goes wrong, also while `parts` are being made, the file that was there before stays as it was.

    Raises:
        WriteError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_whole(Path(folder) / "note.txt", ["two ", "words"])
        ...     (Path(folder) / "note.txt").read_text(), len(list(Path(folder).iterdir()))
        ('two words', 1)
    """
    final = Path(os.path.realpath(path))  # a link stays a link
    _remove_drafts(final)
    try:
        _write_draft(final, parts)
    except StarcertError:  # raised while making the parts
        raise
    except OSError as error:
        raise WriteError(error.errno, error.strerror or str(error), os.fspath(path)) from error
    with suppress(OSError):  # not every system opens or syncs a folder; the file itself is safe
        handle = os.open(final.parent, os.O_RDONLY)
        try:
            os.fsync(handle)  # puts the new name on the disk too
        finally:
            os.close(handle)


def _write_draft(final: Path, parts: Iterable[str] | Iterable[bytes]) -> None:
    draft, file = _new_draft(final)
    try:
        with file:
            file.writelines(part.encode("utf-8") if isinstance(part, str) else part for part in parts)
            file.flush()
            os.fsync(file.fileno())
            if os.name == "nt":  # where an open file cannot be renamed
                file.close()
            draft.replace(final)  # still locked, so that no other process removes it first
    except BaseException:  # an interruption leaves nothing behind either
        draft.unlink(missing_ok=True)
        raise


def _new_draft(final: Path) -> tuple[Path, BinaryIO]:
    while True:
        draft = final.with_name(f"{_stem(final)}.{secrets.token_hex(8)}.part")
        file = draft.open("xb")
        try:
            # If the lock is taken or the file unlinked, another writer is just removing it as abandoned.
            if lock_descriptor(file.fileno(), blocking=False) and os.fstat(file.fileno()).st_nlink:
                return draft, file
        except OSError:  # no locks on this file system: drafts are never removed there
            return draft, file
        file.close()


def _remove_drafts(final: Path) -> None:
    """Removes the drafts of a file that no process is writing."""
    with suppress(OSError):  # a folder that cannot be read: writing the file will report it
        for each in final.parent.iterdir():
            if re.fullmatch(re.escape(_stem(final)) + _ENDING, each.name):
                with suppress(OSError), each.open("rb+") as file:  # removed by another, or not ours to remove
                    if lock_descriptor(file.fileno(), blocking=False):
                        each.unlink()


def _stem(final: Path) -> str:
    return f".{final.name[:100]}"


def is_empty(folder: Path) -> bool:
    """True if a folder holds nothing, or nothing but drafts."""
    return all(re.fullmatch(rf"\..+{_ENDING}", each.name) for each in folder.iterdir())


def lock_file(path: str) -> FileLock | None:
    """Takes the lock that a file stands for, and makes the file if need be; None if somebody else has the lock.

    A file that was left over means nothing, and a forked copy of this process does not hold the lock. Where the file
    cannot be made, or its file system has no locks, there is an OSError.
    """
    os.stat(os.path.dirname(os.path.abspath(path)))  # FileLock would make a folder that is missing
    lock = FileLock(path, blocking=False, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock


def unlock_file(lock: FileLock) -> None:
    """Removes the file of a lock, and releases it: whoever has opened the file meanwhile notices that it is gone."""
    with suppress(OSError):  # some systems cannot remove an open file
        os.unlink(lock.lock_file)
    lock.release()


@contextmanager
def holding_lock(path: str) -> Iterator[bool]:
    """Holds the lock that a file stands for; False inside if somebody else has it, True where there can be no locks."""
    try:
        lock = lock_file(path)
    except OSError:
        yield True
        return
    try:
        yield lock is not None
    finally:
        if lock is not None:
            unlock_file(lock)


_UNTRUSTED = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))


def open_plain(path: str | PathLike[str], max_bytes: int) -> BufferedReader:
    """A file that is not trusted, open for reading: nothing but a plain file of at most this many bytes is opened.

    A link is resolved first. An OSError says what is wrong: pipes and devices are never waited for, also where one
    takes the place of the file meanwhile.
    """
    try:
        place = os.path.realpath(path)
        _check_plain(os.lstat(place), max_bytes)
        file = os.fdopen(os.open(place, _UNTRUSTED), "rb")
    except ValueError:  # a NUL, or half of a surrogate pair
        raise OSError(errno.EINVAL, "no file can have this name") from None
    try:
        _check_plain(os.fstat(file.fileno()), max_bytes)
    except OSError:
        file.close()
        raise
    return file


def _check_plain(found: os.stat_result, max_bytes: int) -> None:
    if not S_ISREG(found.st_mode):  # a pipe or a device may have no end, or nothing in it
        raise OSError(errno.EINVAL, "it is not a plain file")
    if found.st_size > max_bytes:
        raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes; more than {max_bytes:,} are not read")


class ArrayHeader(NamedTuple):
    """The header that `numpy.save` writes before the numbers of an array; `start` is its length in bytes."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype[Any]
    start: int

    @property
    def size(self) -> int:
        """Bytes of header and numbers."""
        return self.start + prod(self.shape) * self.dtype.itemsize


def read_header(stream: IO[bytes]) -> ArrayHeader:
    """The header of a saved array, of numpy's version 1.0 or 2.0; the stream is then where the numbers begin.

    Example:
        >>> import io
        >>> saved = io.BytesIO()
        >>> np.save(saved, np.array([1.5, 2.5]))
        >>> _ = saved.seek(0)
        >>> header = read_header(saved)
        >>> header.shape, header.size == len(saved.getvalue()), read_numbers(saved, 2, header.dtype)
        ((2,), True, array([1.5, 2.5]))
    """
    readers = {(1, 0): (2, npy.read_array_header_1_0), (2, 0): (4, npy.read_array_header_2_0)}
    form = npy.read_magic(stream)
    if form not in readers:
        raise ValueError(f"an array of numpy's version {form[0]}.{form[1]}, which is not read")
    width, reader = readers[form]
    given = stream.read(width)
    if (length := int.from_bytes(given, "little")) > MAX_HEADER:  # numpy would read all of it first
        raise ValueError(f"an array with a header of {length:,} bytes; more than {MAX_HEADER:,} are not read")
    shape, by_columns, dtype = reader(BytesIO(given + stream.read(length)))
    if any(length < 0 for length in shape):
        raise ValueError(f"an array with shape {shape}")
    return ArrayHeader(shape, by_columns, dtype, stream.tell())


def read_numbers(stream: IO[bytes], count: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The next numbers of a saved array; an EOFError if there are fewer."""
    raw = np.empty(count * dtype.itemsize, dtype=np.uint8)
    at = 0
    while at < len(raw):
        part = stream.read(min(_BLOCK, len(raw) - at))
        if not part:
            raise EOFError("an array is shorter than it says")
        raw[at : at + len(part)] = np.frombuffer(part, dtype=np.uint8)
        at += len(part)
    return raw.view(dtype)


USER_MODULE = "starcert_user_"
"""Names of modules that are files of a user's, imported by their places, begin so."""


def is_user_module(name: str) -> bool:
    """True if a module of this name is a file of a user's, imported by its place."""
    return name.startswith(USER_MODULE)


_PACKAGES = "starcert numpy scipy numba python-flint networkx torch torch-geometric grakel scikit-learn"


def versions() -> dict[str, str]:
    """The versions of Python, of the machine and of the installed packages that compute."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES.split():
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
