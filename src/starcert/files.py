"""Files that are either there and whole, or not there: nothing half-written stands under a final name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

__all__ = ["write_whole"]


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
    draft = final.with_name(f".{final.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with draft.open("xb") as file:
            file.writelines(part.encode("utf-8") if isinstance(part, str) else part for part in parts)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(final)
    except BaseException:  # an interruption leaves nothing behind either
        draft.unlink(missing_ok=True)
        raise
    _settle(final.parent)


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
