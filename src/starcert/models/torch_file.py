"""Files of `torch.save` with a digest, so that damage is found before anything in them is used.

`torch.save` writes a zip archive, and torch does not compare its checksums: a flipped bit gives other weights. Here the
comment of the archive, the last thing in the file, is the SHA-256 digest of the archive without that comment. Such a
file is still one that `torch.load` reads.
"""

from __future__ import annotations

import io
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from starcert.system.errors import StarcertError
from starcert.system.files import write_whole

__all__ = ["DamagedFileError", "load_file", "save_file"]

_MARK = b"starcert sha256 "
_COMMENT_BYTES = len(_MARK) + 64
_NO_COMMENT = b"\0\0"
"""The last bytes of a zip archive are the length of its comment, and the comment."""


class DamagedFileError(StarcertError):
    """A file has a digest that is not the one of its content, or lacks one that it must have."""

    def __init__(self) -> None:
        super().__init__("its content and its digest do not agree")


def save_file(content: object, path: str | PathLike[str]) -> None:
    """Writes what `torch.save` can write, with a digest; the file is there whole or not at all."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_whole(path, [_with_digest(buffer.getvalue())])


def load_file(path: str | PathLike[str]) -> tuple[Any, bool]:
    """What a file holds, read without running anything in it, and whether it has a digest, which then agrees.

    Raises:
        OSError: the file cannot be read.
        DamagedFileError: its digest does not agree.
        Exception: nearly anything, from torch, on a file that it did not write.
    """
    data = Path(path).read_bytes()
    has_digest = data[-_COMMENT_BYTES:].startswith(_MARK)
    if has_digest and data != _with_digest(data[: -_COMMENT_BYTES - 2] + _NO_COMMENT):
        raise DamagedFileError
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True), has_digest


def _with_digest(archive: bytes) -> bytes:
    assert archive.endswith(_NO_COMMENT)
    comment = _MARK + sha256(archive).hexdigest().encode()
    return archive[:-2] + len(comment).to_bytes(2, "little") + comment
