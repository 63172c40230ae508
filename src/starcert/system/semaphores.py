"""Semaphores of worker pools, removed even after all processes of a run were killed at once.

On Linux a named semaphore is a file in `/dev/shm`. Python's resource tracker removes those of a process that was
killed, unless it is killed as well, as with a whole process group. So a process writes the names of its semaphores into
a record beside them, which it keeps locked. The system takes the lock back however the process ends: a record without a
lock was left by a process that is gone, and whoever starts workers next removes what it names.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from starcert.system.files import lock_file, unlock_file

__all__ = ["SHARED", "recorded_semaphores", "remove_abandoned_semaphores"]

SHARED = "/dev/shm"
"""Where Linux keeps semaphores; other systems have no such folder, and nothing is recorded or removed there."""

_RECORD = "starcert-semaphores-"


@contextmanager
def recorded_semaphores() -> Iterator[None]:
    """Keeps a record of the semaphores that this process has open now."""
    record = None
    with suppress(OSError):
        record = _write_record(_open_semaphores())
    try:
        yield
    finally:
        if record is not None:
            unlock_file(*record)


def remove_abandoned_semaphores() -> None:
    """Removes the semaphores of this user's processes that have ended without removing them."""
    for record in Path(SHARED).glob(f"{_RECORD}*"):
        with suppress(OSError):  # removed by another process meanwhile
            found = record.lstat()
            if stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid():  # every user can write there
                _remove_if_abandoned(str(record))


def _open_semaphores() -> list[str]:
    """The names of the semaphores that this process has mapped; an inode identifies each, as its file was renamed."""
    maps = Path("/proc/self/maps").read_bytes().splitlines()
    inodes = {int(line.split()[4]) for line in maps if f" {SHARED}/sem.".encode() in line}
    return [each.name for each in Path(SHARED).glob("sem.*") if each.lstat().st_ino in inodes]


def _write_record(names: list[str]) -> tuple[int, str]:
    while True:
        path = f"{SHARED}/{_RECORD}{secrets.token_hex(8)}"
        handle = lock_file(path)
        if handle is not None:  # otherwise another process took the new file for an abandoned record
            os.write(handle, "\n".join(names).encode())
            return handle, path


def _remove_if_abandoned(record: str) -> None:
    handle = lock_file(record)
    if handle is None:
        return
    try:
        for name in os.read(handle, os.fstat(handle).st_size).decode(errors="replace").splitlines():
            if re.fullmatch(r"sem\.[\w-]+", name):
                with suppress(OSError):
                    os.unlink(f"{SHARED}/{name}")
    finally:
        unlock_file(handle, record)
