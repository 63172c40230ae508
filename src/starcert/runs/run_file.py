"""Run files: the settings of a run in TOML, read with a message for every mistake, and written back.

A run file is its user's: where one is written again, comments and order stay.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from starcert import __version__
from starcert.objects.noise import AnyFlips
from starcert.runs.grid import Grid
from starcert.runs.settings import SETTINGS, RunSettings, UnknownSettingError, check_values
from starcert.runs.train_settings import TRAIN_SETTINGS
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.processes import in_words

__all__ = [
    "EXPECTED",
    "RunFile",
    "RunFileError",
    "differences",
    "read_run_file",
    "rewritten",
    "run_file_text",
    "toml_item",
]

EXPECTED = ("model", "data", "regions", "classifier")
"""What a run is made from: the model's file, the graphs, their regions, and the classifier as it describes itself."""

_MOST_BYTES = 2**19
_OF_SWEEPS = tuple(key for key, setting in SETTINGS.items() if setting.of_sweeps)

_HEAD = (
    "# A run of starcert",
    "# Paths are relative to the folder",
    "# starcert certify takes this file too",
    "# Level ",
)


class RunFileError(StarcertError, ValueError):
    """A run file cannot be used; the message names the file, the key and the next step."""


@dataclass(frozen=True)
class RunFile:
    """What a run file says; without arguments, that there is none.

    Attributes:
        values: settings by their keys, checked, with absolute paths.
        expected: what the run that wrote the file was made from, as digests; see `EXPECTED`.
        sweep: settings that are a sweep's own, by their keys.
        grid: the noise levels of a sweep; None if the file has none.
        best: what the best level of a sweep has most of; "" if the file does not say.
        train: how to train, by the keys of `TRAIN_SETTINGS`.
        folder: where the file is, and where output goes unless it is said.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    expected: Mapping[str, str] = field(default_factory=dict)
    sweep: Mapping[str, object] = field(default_factory=dict)
    grid: Grid | None = None
    best: str = ""
    train: Mapping[str, object] = field(default_factory=dict)
    folder: Path = field(default_factory=Path.cwd)


def read_run_file(path: str | os.PathLike[str]) -> RunFile:
    """Reads a run file. Paths in it are relative to the folder that it is in.

    Raises:
        RunFileError: names the file, and the line or the key that is wrong.
    """
    file = Path(os.path.abspath(path))
    values = _values_in(file)
    expected = values.pop("expected", {})
    if not isinstance(expected, dict) or not all(k in EXPECTED and isinstance(v, str) for k, v in expected.items()):
        raise RunFileError(f"{file}: 'expected' must be the table that a run wrote. Take it out to go without it.")
    base = Path(os.path.realpath(file.parent))  # the same by whatever links one comes there
    try:
        sweep, grid, best = _sweep_of(values.pop("sweep", {}), base)
        train = _train_of(values.pop("train", {}), base)
        return RunFile(check_values(values, base=base), expected, sweep, grid, best, train, file.parent)
    except InvalidParameterError as error:
        raise RunFileError(f"{file}: {error}") from None


def _values_in(file: Path) -> dict[str, Any]:
    """What a run file says in TOML."""
    content = _bytes_in(file)
    try:
        values: dict[str, Any] = tomlkit.parse(content.decode("utf-8-sig")).unwrap()  # some editors begin with a mark
    except (ValueError, TOMLKitError) as error:  # no TOML, no UTF-8, or a number of more digits than Python reads
        if "nested more than" in str(error):
            raise RunFileError(f"{file}: is no run file: its lists or tables are nested too deep.") from None
        reason = " ".join(str(error).split()).rstrip(".")
        raise RunFileError(f"{file}: is no TOML: {reason}. Texts stand in quotes, tables at the end.") from None
    return values


def _bytes_in(file: Path) -> bytes:
    """What a run file holds; not what an endless device does, nor what takes the parser forever."""
    if file.exists() and not file.is_file() and not file.is_dir():
        raise RunFileError(f"{file}: is a device or a pipe. Give a file.")
    try:
        with open(file, "rb") as stream:
            content = stream.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise RunFileError(f"{file}: there is no such file. `starcert init` writes one that runs.") from None
    except IsADirectoryError:
        raise RunFileError(f"{file}: is a folder. Give the run file in it, run.toml.") from None
    except OSError as error:
        raise RunFileError(f"{file}: cannot be read: {error.strerror}.") from None
    if len(content) > _MOST_BYTES:
        raise RunFileError(f"{file}: is no run file: it has more than {in_words(_MOST_BYTES)}.")
    return content


def _sweep_of(table: object, base: Path) -> tuple[dict[str, object], Grid | None, str]:
    """What the table [sweep] says."""
    if not isinstance(table, dict):
        hint = "Write a table: [sweep.grid], and below it a line such as motif = [0.02, 0.05] for every region."
        raise InvalidParameterError("sweep", "be a table", table, hint)
    given = dict(table)
    grid = Grid.of(given.pop("grid"), "sweep.grid") if "grid" in given else None
    best = given.pop("best", "")
    if not isinstance(best, str):
        hint = 'For example best = "accuracy@motif=1", or best = "flips".'
        raise InvalidParameterError("sweep.best", "be a text", best, hint)
    for key in given:
        if key not in _OF_SWEEPS:
            hint = f"There are grid, best, {', '.join(_OF_SWEEPS)}; everything else stands above all tables."
            raise UnknownSettingError(f"sweep.{key}", "be a setting of a sweep's own", key, hint)
    return check_values(given, base=base, named=lambda key: f"sweep.{key}"), grid, best


def _train_of(table: object, base: Path) -> dict[str, object]:
    """What the table [train] says."""
    if not isinstance(table, dict):
        hint = "Write a table: [train], and below it a line such as epochs = 300."
        raise InvalidParameterError("train", "be a table", table, hint)
    return check_values(table, base=base, named=lambda key: f"train.{key}", known=TRAIN_SETTINGS)


def run_file_text(
    settings: RunSettings,
    expected: Mapping[str, str],
    *,
    folder: Path,
    grid: Grid | None = None,
    best: str = "",
    certifying: Mapping[str, object] | None = None,
    comments: Sequence[str] = (),
) -> str:
    """The run file that repeats a run, or a sweep if there is a grid, from another folder.

    Paths are relative to that folder, so that a whole project can move. Where the output went is left out: a
    repetition writes into a folder of its own. What is a sweep's own stands in its table, so that `starcert certify`
    can take the same file.

    Args:
        settings: those of the run.
        expected: digests of what it was made from.
        folder: where the file will be.
        grid: the noise levels of a sweep.
        best: what its best level has most of, where that is said.
        certifying: of a sweep, what a certification has settings of its own for.
        comments: further lines of the head.
    """
    command = "certify" if grid is None else "sweep"
    document = tomlkit.document()
    head = (
        f"A run of starcert {command}, made by starcert {__version__}. "
        f"Run it again: starcert {command} run.toml --out FOLDER",
        "Paths are relative to the folder of this file.",
        *comments,
    )
    for line in head:
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    own = () if grid is None else _OF_SWEEPS
    plain = dict(_plain_values(settings, folder))
    for key, item in {**(certifying or {}), **{key: item for key, item in plain.items() if key not in own}}.items():
        document.add(key, toml_item(item))
    tables: dict[str, Mapping[str, object]] = {"noise": settings.noise.to_dict()}
    if isinstance(settings.regions, dict):
        tables["regions"] = settings.regions
    if settings.columns is not None:
        tables["columns"] = settings.columns
    if settings.max_radius is not None:
        tables["max_radius"] = dict(zip(settings.noise.axes, settings.max_radius, strict=True))
    if grid is not None:
        said = {"best": best} if best else {}
        tables["sweep"] = {key: item for key, item in plain.items() if key in own} | said | {"grid": grid.to_table()}
    for name, values in tables.items():
        document.add(tomlkit.nl())
        document.add(name, _table(values))
    document.add(tomlkit.nl())
    document.add(tomlkit.comment("What the run was made from: no run starts from this file that finds something else."))
    document.add("expected", _table(expected))
    return tomlkit.dumps(document)


def _plain_values(settings: RunSettings, folder: Path) -> Iterator[tuple[str, object]]:
    """What a run file says above its tables."""
    for key, setting in SETTINGS.items():
        item = getattr(settings, key)
        said = item is not None and item != setting.unsaid
        if setting.written and said and key not in ("noise", "max_radius") and not isinstance(item, dict):
            yield key, _plain(item, folder)


def _table(values: Mapping[str, object]) -> Any:  # noqa: ANN401  (tomlkit's own types)
    table = tomlkit.table()
    for name, value in values.items():
        table.add(tomlkit.key(name), toml_item(value))
    return table


def toml_item(value: object) -> Any:  # noqa: ANN401  (tomlkit's own types)
    """A value as TOML writes it on one line; read back, it is the same to the last bit.

    Example:
        >>> print(toml_item({"delete": 0.04, "add": 1e-05}).as_string(), toml_item([1, 45]).as_string())
        {delete = 0.04, add = 1e-05} [1, 45]
    """
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for name, each in value.items():
            table.append(tomlkit.key(name), toml_item(each))
        return table
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        for each in value:
            array.append(toml_item(each))
        return array
    return tomlkit.item(value)


def rewritten(there: str, text: str) -> str:
    r"""A run file with the values of `text` and, as far as they are the same, the lines and comments that are `there`.

    Example:
        >>> print(rewritten("seed = 1  # mine\nworkers = 1  # too many?\n", "seed = 1\nworkers = 2\n"), end="")
        seed = 1  # mine
        workers = 2  # too many?
    """
    new = tomlkit.parse(text)
    try:
        old = tomlkit.parse(there)
        for key in [key for key in old if key not in new and key in SETTINGS and SETTINGS[key].written]:
            del old[key]
        _update(old, new)
        found = _with_head(tomlkit.dumps(old), text)
        kept = {key: item for key, item in old.unwrap().items() if key not in new}
        right = tomlkit.parse(found).unwrap() == new.unwrap() | kept
    except (ValueError, TOMLKitError):  # what is there is no TOML, or written in a way that cannot be changed in place
        return text
    return found if right else text


def _update(old: MutableMapping[str, Any], new: Mapping[str, Any]) -> None:
    for key, item in new.items():
        if key in old and isinstance(item, dict) and isinstance(old[key], dict):
            for name in [name for name in old[key] if name not in item]:
                del old[key][name]
            _update(old[key], item)
        elif key not in old or old[key] != item:
            old[key] = item


def _with_head(there: str, text: str) -> str:
    """What is there, with the first lines that starcert wrote replaced by those of the text."""
    lines, new = there.splitlines(keepends=True), text.splitlines(keepends=True)
    if not lines or not lines[0].startswith(_HEAD):
        return there
    return "".join(
        [line for line in new if line.startswith(_HEAD)] + [line for line in lines if not line.startswith(_HEAD)]
    )


def differences(
    there: RunFile, settings: RunSettings, expected: Mapping[str, str], grid: Grid | None = None
) -> list[str]:
    """Every difference that makes a stored run another one than this; workers and places of files make none."""
    if (there.grid is None) != (grid is None):
        return [f"there {'a run of certify' if there.grid is None else 'a sweep'}"]
    own = {} if grid is None else there.sweep
    known = RunSettings(**{**there.values, **own, "out": settings.out})  # type: ignore[arg-type]
    found = [] if there.grid == grid else [f"grid: there {there.grid}, now {grid}"]
    for key, setting in SETTINGS.items():
        # Of data it is the content that counts, below; of code the names and the content, not the folder.
        if setting.changes != "nothing":
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
        case AnyFlips():
            return str(item)
    return item


def _relative(path: Path, folder: Path) -> str:
    try:
        return Path(
            os.path.relpath(Path(os.path.realpath(path.parent), path.name), os.path.realpath(folder))
        ).as_posix()
    except ValueError:  # on another drive
        return path.as_posix()
