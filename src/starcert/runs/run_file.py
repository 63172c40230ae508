"""Run files: the settings of a run in TOML, read with a message for every mistake, and written back."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from starcert.errors import InvalidParameterError, StarcertError
from starcert.runs import toml
from starcert.runs.reference import Reference
from starcert.runs.settings import KEYS, RunSettings, take

__all__ = ["EXPECTED", "RunFile", "RunFileError", "differences", "read", "text_of"]

EXPECTED = ("model", "data", "regions", "classifier")
"""What a run is made from: the model's file, the graphs, their regions, and the classifier as it describes itself."""


class RunFileError(StarcertError, ValueError):
    """A run file cannot be used; the message names the file, the key and the next step."""


@dataclass(frozen=True)
class RunFile:
    """What a run file says.

    Attributes:
        values: settings by their keys, checked, with absolute paths.
        expected: what the run that wrote the file was made from, as digests; see `EXPECTED`.
    """

    values: Mapping[str, object]
    expected: Mapping[str, str] = field(default_factory=dict)


def read(path: str | os.PathLike[str]) -> RunFile:
    """Reads a run file. Paths in it are relative to the folder that it is in.

    Raises:
        RunFileError: names the file, and the line or the key that is wrong.
    """
    file = Path(os.path.abspath(path))
    try:
        with open(file, "rb") as stream:
            values = tomllib.load(stream)
    except FileNotFoundError:
        raise RunFileError(f"{file}: there is no such file. `starcert init` writes one that runs.") from None
    except IsADirectoryError:
        raise RunFileError(f"{file}: is a folder. Give the run file in it, run.toml.") from None
    except OSError as error:
        raise RunFileError(f"{file}: cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RunFileError(f"{file}: is no TOML: {error}. Texts stand in quotes, tables at the end.") from None
    expected = values.pop("expected", {})
    if not isinstance(expected, dict) or not all(k in EXPECTED and isinstance(v, str) for k, v in expected.items()):
        raise RunFileError(f"{file}: 'expected' must be the table that a run wrote. Take it out to go without it.")
    try:
        return RunFile(take(values, base=file.parent), expected)
    except InvalidParameterError as error:
        raise RunFileError(f"{file}: {error}") from None


def text_of(settings: RunSettings, expected: Mapping[str, str], *, folder: Path, made_by: str) -> str:
    """The run file that repeats a run from another folder.

    Paths are relative to that folder, so that a whole project can move. Where the output went is left out: a
    repetition writes into a folder of its own.
    """
    lines: list[str | tuple[str, object]] = [
        f"# A run of starcert certify, made by {made_by}. Certify again: starcert certify run.toml --out FOLDER",
        "# Paths are relative to the folder of this file.",
        "",
    ]
    for key in KEYS:
        item = _plain(getattr(settings, key), folder)
        if item is not None and key not in ("noise", "max_radius", "store", "out"):
            lines.append((key, item))
    lines.append(("noise", settings.noise.to_dict()))
    if settings.max_radius is not None:
        lines.append(("max_radius", dict(zip(settings.noise.axes, settings.max_radius, strict=True))))
    lines += ["", "# What the run was made from: no run starts from this file that finds something else."]
    lines.append(("expected", dict(expected)))
    return toml.document(lines)


def differences(there: RunFile, settings: RunSettings, expected: Mapping[str, str]) -> list[str]:
    """Every difference that makes a stored run another one than this; workers and places of files make none."""
    known = RunSettings(**{**there.values, "out": settings.out})  # type: ignore[arg-type]
    found = []
    for key in KEYS:
        # Of data it is the content that counts, below; of code the names and the content, not the folder.
        if key not in ("workers", "store", "out", "data"):
            before, now = (str(getattr(each, key)) for each in (known, settings))
            found += [f"{key}: there {before}, now {now}"] if before != now else []
    changed = [key for key in EXPECTED if there.expected.get(key) != expected.get(key)]
    return found + [f"content of {key}: there {there.expected.get(key)}, now {expected.get(key)}" for key in changed]


def _plain(item: object, folder: Path) -> object:
    match item:
        case Reference():
            return f"{_relative(item.file, folder)}:{item.name}"
        case Path():
            return _relative(item, folder)
    return item


def _relative(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return path.as_posix()
