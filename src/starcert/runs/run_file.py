"""Run files: the settings of a run in TOML, read with a message for every mistake, and written back."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from starcert.errors import InvalidParameterError, StarcertError
from starcert.runs import toml
from starcert.runs.grid import Grid
from starcert.runs.reference import Reference
from starcert.runs.settings import KEYS, RunSettings, UnknownSettingError, take
from starcert.system.memory import in_words

__all__ = ["EXPECTED", "SWEEP_KEYS", "RunFile", "RunFileError", "differences", "read", "text_of"]

EXPECTED = ("model", "data", "regions", "classifier")
"""What a run is made from: the model's file, the graphs, their regions, and the classifier as it describes itself."""


_MOST_BYTES, _MOST_DOTS = 2**20, 2000
_TOO_DEEP = "its lists or tables are nested too deep"

SWEEP_KEYS = ("samples", "selection_samples", "limit", "split", "out")
"""What a sweep may have settings of its own for, in the table [sweep], beside its grid."""


class RunFileError(StarcertError, ValueError):
    """A run file cannot be used; the message names the file, the key and the next step."""


@dataclass(frozen=True)
class RunFile:
    """What a run file says.

    Attributes:
        values: settings by their keys, checked, with absolute paths.
        expected: what the run that wrote the file was made from, as digests; see `EXPECTED`.
        sweep: settings that are a sweep's own, by their keys; see `SWEEP_KEYS`.
        grid: the noise levels of a sweep; None if the file has none.
    """

    values: Mapping[str, object]
    expected: Mapping[str, str] = field(default_factory=dict)
    sweep: Mapping[str, object] = field(default_factory=dict)
    grid: Grid | None = None


def read(path: str | os.PathLike[str]) -> RunFile:
    """Reads a run file. Paths in it are relative to the folder that it is in.

    Raises:
        RunFileError: names the file, and the line or the key that is wrong.
    """
    file = Path(os.path.abspath(path))
    try:
        values = tomllib.loads(_text_in(file))
    except FileNotFoundError:
        raise RunFileError(f"{file}: there is no such file. `starcert init` writes one that runs.") from None
    except IsADirectoryError:
        raise RunFileError(f"{file}: is a folder. Give the run file in it, run.toml.") from None
    except OSError as error:
        raise RunFileError(f"{file}: cannot be read: {error.strerror}.") from None
    except RecursionError:
        raise RunFileError(f"{file}: is no run file: {_TOO_DEEP}.") from None
    except ValueError as error:  # no TOML, no UTF-8, or a number of more digits than Python reads
        raise RunFileError(f"{file}: is no TOML: {error}. Texts stand in quotes, tables at the end.") from None
    expected = values.pop("expected", {})
    if not isinstance(expected, dict) or not all(k in EXPECTED and isinstance(v, str) for k, v in expected.items()):
        raise RunFileError(f"{file}: 'expected' must be the table that a run wrote. Take it out to go without it.")
    base = Path(os.path.realpath(file.parent))  # the same by whatever links one comes there
    try:
        sweep, grid = _sweep_of(values.pop("sweep", {}), base)
        return RunFile(take(values, base=base), expected, sweep, grid)
    except InvalidParameterError as error:
        raise RunFileError(f"{file}: {error}") from None


def _text_in(file: Path) -> str:
    """What a run file holds; not what an endless device does, nor what takes the parser forever."""
    if file.exists() and not file.is_file() and not file.is_dir():
        raise RunFileError(f"{file}: is a device or a pipe. Give a file.")
    with open(file, "rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise RunFileError(f"{file}: is no run file: it has more than {in_words(_MOST_BYTES)}.")
    text = content.decode("utf-8-sig")  # some editors begin a file with a mark
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):  # tables in tables: it takes their square
        raise RunFileError(f"{file}: is no run file: {_TOO_DEEP}.")
    return text


def _sweep_of(table: object, base: Path) -> tuple[dict[str, object], Grid | None]:
    """What the table [sweep] says."""
    if not isinstance(table, dict):
        hint = "Write a table: [sweep.grid], and below it a line such as motif = [0.02, 0.05] for every region."
        raise InvalidParameterError("sweep", "be a table", table, hint)
    given = dict(table)
    grid = Grid.of(given.pop("grid"), "sweep.grid") if "grid" in given else None
    for key in given:
        if key not in SWEEP_KEYS:
            hint = f"There are grid, {', '.join(SWEEP_KEYS)}; everything else stands above all tables."
            raise UnknownSettingError(f"sweep.{key}", "be a setting of a sweep's own", key, hint)
    return take(given, base=base, named=lambda key: f"sweep.{key}"), grid


def text_of(
    settings: RunSettings, expected: Mapping[str, str], *, folder: Path, made_by: str, grid: Grid | None = None
) -> str:
    """The run file that repeats a run, or a sweep if there is a grid, from another folder.

    Paths are relative to that folder, so that a whole project can move. Where the output went is left out: a
    repetition writes into a folder of its own. What is a sweep's own stands in its table, so that `starcert certify`
    can take the same file.
    """
    command = "certify" if grid is None else "sweep"
    own = () if grid is None else SWEEP_KEYS
    lines: list[str | tuple[str, object]] = [
        f"# A run of starcert {command}, made by {made_by}. Run it again: starcert {command} run.toml --out FOLDER",
        "# Paths are relative to the folder of this file.",
        "",
    ]
    plain = {
        key: _plain(getattr(settings, key), folder)
        for key in KEYS
        if key not in ("noise", "max_radius", "store", "out")
    }
    lines += [(key, item) for key, item in plain.items() if item is not None and key not in own]
    lines.append(("noise", settings.noise.to_dict()))
    if settings.max_radius is not None:
        lines.append(("max_radius", dict(zip(settings.noise.axes, settings.max_radius, strict=True))))
    if grid is not None:
        sweep = {key: item for key, item in plain.items() if item is not None and key in own}
        lines.append(("sweep", {**sweep, "grid": grid.to_table()}))
    lines += ["", "# What the run was made from: no run starts from this file that finds something else."]
    lines.append(("expected", dict(expected)))
    return toml.document(lines)


def differences(
    there: RunFile, settings: RunSettings, expected: Mapping[str, str], grid: Grid | None = None
) -> list[str]:
    """Every difference that makes a stored run another one than this; workers and places of files make none."""
    if (there.grid is None) != (grid is None):
        return [f"there {'a run of certify' if there.grid is None else 'a sweep'}"]
    own = {} if grid is None else there.sweep
    known = RunSettings(**{**there.values, **own, "out": settings.out})  # type: ignore[arg-type]
    found = [] if there.grid == grid else [f"grid: there {there.grid}, now {grid}"]
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
        return Path(
            os.path.relpath(Path(os.path.realpath(path.parent), path.name), os.path.realpath(folder))
        ).as_posix()
    except ValueError:  # on another drive
        return path.as_posix()
