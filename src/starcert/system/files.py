"""Files that are either there and whole, or not there: nothing half-written stands under a final name.

A file is written as a draft beside it, `.NAME.0123456789abcdef.part`, which is locked until it gets its name. A draft
without a lock was left by a process that was killed: whoever writes the same file next removes it.

A lock is one on an open file: the system takes it back however a process ends, so that none is ever left over.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from starcert.system.errors import StarcertError, WriteError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["holding_lock", "is_empty", "lock_file", "try_lock", "unlock_file", "write_whole"]

_ENDING = r"\.[0-9a-f]{16}\.part"


def write_whole(path: str | PathLike[str], parts: Iterable[str] | Iterable[bytes]) -> None:
    """Writes a temporary file in the same folder, and gives it its name once it is on the disk.

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
    except StarcertError:  # of what makes the parts
        raise
    except OSError as error:
        raise WriteError(error.errno, error.strerror or str(error), os.fspath(path)) from error
    _settle(final.parent)


def _write_draft(final: Path, parts: Iterable[str] | Iterable[bytes]) -> None:
    """Writes a draft and gives it its name, or leaves nothing behind."""
    draft, file = _new_draft(final)
    try:
        with file:
            file.writelines(part.encode("utf-8") if isinstance(part, str) else part for part in parts)
            file.flush()
            os.fsync(file.fileno())
            if os.name == "nt":  # where an open file keeps its name
                file.close()
            draft.replace(final)  # still locked: until now the draft is somebody's
    except BaseException:  # an interruption leaves nothing behind either
        draft.unlink(missing_ok=True)
        raise


def is_empty(folder: Path) -> bool:
    """Whether a folder holds nothing, or nothing but drafts.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     is_empty(Path(folder))
        True
    """
    return all(re.fullmatch(rf"\..+{_ENDING}", each.name) for each in folder.iterdir())


def _stem(final: Path) -> str:
    return f".{final.name[:100]}"


def _new_draft(final: Path) -> tuple[Path, BinaryIO]:
    while True:
        draft = final.with_name(f"{_stem(final)}.{secrets.token_hex(8)}.part")
        file = draft.open("xb")
        try:
            # Without a lock somebody has just taken it for one that was left over, and removes it.
            if try_lock(file.fileno()) and os.fstat(file.fileno()).st_nlink:
                return draft, file
        except OSError:  # no locks on this file system: nobody removes drafts there
            return draft, file
        file.close()


def _remove_drafts(final: Path) -> None:
    """Removes the drafts of a file that nobody is writing."""
    with suppress(OSError):  # no such folder, or none that may be read, as will be said when the file is written
        for each in final.parent.iterdir():
            if re.fullmatch(re.escape(_stem(final)) + _ENDING, each.name):
                with suppress(OSError), each.open("rb+") as file:  # removed by another, or not ours to remove
                    if try_lock(file.fileno()):
                        each.unlink()


def _settle(folder: Path) -> None:
    """Puts the new name on the disk too, where the system lets a folder be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:  # some file systems refuse this for folders; the file itself is safe
        return
    finally:
        os.close(handle)


def try_lock(handle: int) -> bool:
    """Takes the lock of an open file, until that file is closed; False if somebody else has it.

    Two openings of one file are two candidates, in one process as in two.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def lock_file(path: str) -> int | None:
    """Takes the lock that a file stands for, and makes the file if need be; None if somebody else has the lock.

    Who has it may remove the file, as the last thing before it is closed. So a lock counts only if the file still
    has its name once it is locked; else somebody has just let go of it, and the next file of that name is tried.

    Returns:
        The open file. A copy of it in a forked process is closed at once: the lock ends with the one that took it.

    Raises:
        OSError: the file cannot be made, or its file system has no locks.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            taken, named = try_lock(handle), _is_named(handle, path)
        except BaseException:
            os.close(handle)
            raise
        if taken and named:
            _held.add(handle)
            return handle
        os.close(handle)
        if named:
            return None


def unlock_file(handle: int, path: str) -> None:
    """Removes the file of a lock, and lets go of it."""
    try:
        os.unlink(path)
    except OSError:  # some systems remove no open file; one that is left over means nothing
        pass
    finally:
        _held.discard(handle)
        os.close(handle)


@contextmanager
def holding_lock(path: str) -> Iterator[bool]:
    """Holds the lock that a file stands for; False inside if somebody else has it.

    Where no such file can be made or locked, everybody holds it.
    """
    try:
        handle = lock_file(path)
    except OSError:
        yield True
        return
    try:
        yield handle is not None
    finally:
        if handle is not None:
            unlock_file(handle, path)


def _is_named(handle: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


_held: set[int] = set()


def _forget() -> None:
    for handle in _held:
        os.close(handle)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
