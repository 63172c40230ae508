"""Files that are either there and whole, or not there: nothing half-written stands under a final name.

A file is written as a draft beside it, `.NAME.0123456789abcdef.part`, which is locked until it gets its name. A draft
without a lock was left by a process that was killed: whoever writes the same file next removes it.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from starcert.system import locks

__all__ = ["is_empty", "write_whole"]

_ENDING = r"\.[0-9a-f]{16}\.part"


def write_whole(path: str | PathLike[str], parts: Iterable[str] | Iterable[bytes]) -> None:
    """Writes a temporary file in the same folder, and gives it its name once it is on the disk.

    Whatever goes wrong, also while `parts` are being made, the file that was there before stays as it was.

    Args:
        path: the final name; a file of that name is replaced.
        parts: the text, or the bytes, piece by piece.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_whole(Path(folder) / "note.txt", ["two ", "words"])
        ...     (Path(folder) / "note.txt").read_text(), len(list(Path(folder).iterdir()))
        ('two words', 1)
    """
    final = Path(os.path.realpath(path))  # a link stays a link
    _remove_drafts(final)
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
    _settle(final.parent)


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
            if locks.take(file.fileno()) and os.fstat(file.fileno()).st_nlink:
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
                    if locks.take(file.fileno()):
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
