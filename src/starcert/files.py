"""Files that are there as a whole or not at all."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

__all__ = ["csv_text", "write", "write_text"]


def write(path: Path, fill: Callable[[IO[bytes]], object]) -> None:
    """Writes a file under another name and then gives it its own: nothing half-written ever has that."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def write_text(path: Path, text: str) -> None:
    """Writes a text, as a whole or not at all."""
    write(path, lambda file: file.write(text.encode("utf-8")))


def csv_text(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    r"""A table as CSV; floats in the shortest form that reads back exactly.

    Example:
        >>> csv_text(["p", "name"], [[0.1, "a,b"]])
        'p,name\n0.1,"a,b"\n'
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[repr(float(x)) if isinstance(x, float) else x for x in row] for row in rows])
    return text.getvalue()
