"""The run file: the settings of a run, of a sweep and of training in TOML, read and checked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from starcert.runs.declaration import UnknownSettingError, check_values
from starcert.runs.grid import Grid
from starcert.runs.settings import GROUPS, SETTINGS
from starcert.runs.training_run import TRAIN_SETTINGS
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.processes import in_words

EXPECTED = ("model", "data", "regions", "classifier", "noise", "threat", "fallback")
"""The inputs of a run: files and laws (of noise, threat and fallback those that are not starcert's own), and what
they make."""

RUN, CERTIFICATES, RESULTS, REPORT = FILES = ("run.toml", "certificates.json", "results.csv", "report.html")
"""The files in the finished folder of a run, beside its votes."""

_MAX_BYTES = 2**19
OF_SWEEPS = tuple(key for key, setting in SETTINGS.items() if setting.of_sweeps)
"""Settings that a sweep may have of its own."""


class RunFileError(StarcertError, ValueError):
    """A run file cannot be used; the message names the file, the key and the next step."""


@dataclass(frozen=True)
class RunFile:
    """The content of a run file; without arguments, that of a missing one."""

    values: Mapping[str, object] = field(default_factory=dict)  # settings by their keys, checked, with absolute paths
    expected: Mapping[str, str] = field(default_factory=dict)  # digests of what the run that wrote it was made from
    sweep: Mapping[str, object] = field(default_factory=dict)  # settings that are a sweep's own, by their keys
    grid: Grid | None = None  # the noise levels of a sweep; None if the file has none
    train: Mapping[str, object] = field(default_factory=dict)  # how to train, by the keys of `TRAIN_SETTINGS`
    folder: Path = field(default_factory=Path.cwd)  # where the file is, and where output goes by default


def read_run_file(path: str | os.PathLike[str]) -> RunFile:
    """Reads a run file, to whose folder paths are relative; a `RunFileError` names the line or key that is wrong."""
    file = Path(os.path.abspath(path))
    values = _parsed(file)
    expected = values.pop("expected", {})
    if not isinstance(expected, dict) or not all(k in EXPECTED and isinstance(v, str) for k, v in expected.items()):
        raise RunFileError(f"{file}: 'expected' must be the table that a run wrote. Take it out to go without it.")
    base = Path(os.path.realpath(file.parent))  # the same whichever links lead there
    try:
        _flatten(values)
        sweep = _table_in(values, "sweep", "[sweep.grid]", "motif = [0.02, 0.05] for every region")
        train = _table_in(values, "train", "[train]", "epochs = 300")
        grid = Grid.of(sweep.pop("grid"), "sweep.grid", base) if "grid" in sweep else None
        for key in sweep:
            if key not in OF_SWEEPS:
                hint = f"There are grid, {', '.join(OF_SWEEPS)}; everything else stands above all tables."
                raise UnknownSettingError(f"sweep.{key}", "be a setting of a sweep's own", key, hint)
        return RunFile(
            check_values(values, SETTINGS, base=base),
            expected,
            check_values(sweep, SETTINGS, base=base, within="sweep"),
            grid,
            check_values(train, TRAIN_SETTINGS, base=base, within="train"),
            file.parent,
        )
    except InvalidParameterError as error:
        raise RunFileError(f"{file}: {error}") from None


def _table_in(values: dict[str, Any], name: str, head: str, line: str) -> dict[str, Any]:
    table = values.pop(name, {})
    if not isinstance(table, dict):
        hint = f"Write a table: {head}, and below it a line such as {line}."
        raise InvalidParameterError(name, "be a table", table, hint)
    return table


def _flatten(values: dict[str, Any]) -> None:
    """Settings in the tables of `GROUPS` are settings like others; a table evidence means that there is evidence."""
    for name, keys in GROUPS.items():
        if name in SETTINGS and not isinstance(values.get(name), dict):
            continue
        table = _table_in(values, name, f"[{name}]", f"{keys[0]} = 1000")
        if name in SETTINGS:
            values[name] = True
        for key, value in table.items():
            if key not in keys:
                raise UnknownSettingError(f"{name}.{key}", "be a setting", key, f"There are {', '.join(keys)}.")
            if key in values:
                raise InvalidParameterError(f"{name}.{key}", f"is set twice: {key} stands above the tables, too.")
            values[key] = value


def _parsed(file: Path) -> dict[str, Any]:
    if file.exists() and not file.is_file() and not file.is_dir():
        raise RunFileError(f"{file}: is a device or a pipe. Give a file.")
    try:
        with open(file, "rb") as stream:
            content = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise RunFileError(f"{file}: there is no such file. `starcert init` writes one that runs.") from None
    except IsADirectoryError:
        raise RunFileError(f"{file}: is a folder. Give the run file in it, run.toml.") from None
    except OSError as error:
        raise RunFileError(f"{file}: cannot be read: {error.strerror}.") from None
    if len(content) > _MAX_BYTES:
        raise RunFileError(f"{file}: is not a run file: it has more than {in_words(_MAX_BYTES)}.")
    try:
        values: dict[str, Any] = tomlkit.parse(content.decode("utf-8-sig")).unwrap()  # some editors begin with a mark
    except (ValueError, TOMLKitError) as error:  # not TOML, not UTF-8, or a number of more digits than Python reads
        if "nested more than" in str(error):
            raise RunFileError(f"{file}: is not a run file: its lists or tables are nested too deep.") from None
        reason = " ".join(str(error).split()).rstrip(".")
        raise RunFileError(f"{file}: is not TOML: {reason}. Texts stand in quotes, tables at the end.") from None
    return values
