"""Locks on open files: the operating system takes them back however a process ends, so that none is ever left over."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = ["let_go", "take", "take_file"]


def take(handle: int) -> bool:
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


def take_file(path: str) -> int | None:
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
            taken, named = take(handle), _is_named(handle, path)
        except BaseException:
            os.close(handle)
            raise
        if taken and named:
            _held.add(handle)
            return handle
        os.close(handle)
        if named:
            return None


def let_go(handle: int, path: str) -> None:
    """Removes the file of a lock, and lets go of it."""
    try:
        os.unlink(path)
    except OSError:  # some systems remove no open file; one that is left over means nothing
        pass
    finally:
        _held.discard(handle)
        os.close(handle)


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
