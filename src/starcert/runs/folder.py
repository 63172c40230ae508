"""The output folder of a run, and the run file in it that repeats the run.

A run into `results` works in `results.partial`, where it keeps its settings and its votes; run again, it goes on there.
When report, certificates and table are written, the folder gets its name: what stands under that name is whole.

| `results/run.toml` | `results.partial/run.toml` | the run is | the same command                                     |
| ------------------ | -------------------------- | ---------- | ---------------------------------------------------- |
| no                 | no                         | not begun  | makes `results.partial` with its run.toml            |
| no                 | yes                        | under way  | goes on in `results.partial`, then gives it its name |
| yes                | is not looked at           | finished   | goes on in `results`, file by file                   |

One rename leads from line to line, and each file is replaced whole (`write_whole`): a process that is killed leaves one
of these lines, and at most drafts, which count as nothing. Without run.toml, both folders must be empty or missing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from starcert import __version__
from starcert.classifiers.values import ValueRange
from starcert.objects.laws import defined_law
from starcert.objects.threats import Threat
from starcert.runs.grid import Grid
from starcert.runs.run_file import EXPECTED, OF_SWEEPS, RUN, RunFile, RunFileError, read_run_file
from starcert.runs.setting_values import threat_text
from starcert.runs.settings import CERTIFICATE_SETTINGS, SETTINGS, RunSettings, run_settings
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import holding_lock, is_empty, is_user_module, write_whole

VOTES, BLIND_ROW = "votes.db", "blind.json"

# others, a store refuses
_FIXED_ONCE_USED = {"samples", "selection_samples", "evidence", "fallback", "threshold"}
_HEAD = 2  # lines that say how the file was made
_TABLES = ("noise", "regions", "columns", "node_sites", "alphabets", "fractions", "spare_node")


@dataclass(frozen=True)
class RunRecord:
    """The record of a run in the run file of its output folder: all that repeats it, or a sweep if there is a grid."""

    settings: RunSettings
    expected: Mapping[str, str]  # digests of what it was made from
    grid: Grid | None = None  # the noise levels of a sweep
    certifying: Mapping[str, object] = field(default_factory=dict)  # of a sweep, settings for a certification alone
    comments: Sequence[str] = ()  # further lines of the head


def run_file_text(record: RunRecord, *, folder: Path) -> str:
    """The run file that repeats a run from its folder, to which paths are relative, into another output folder.

    What is a sweep's own stands in its table, so that `starcert certify` takes the same file.
    """
    settings, grid = record.settings, record.grid
    command = "certify" if grid is None else "sweep"
    document = tomlkit.document()
    made = f"A run of starcert {command}, made by starcert {__version__}."
    again = f"Run it again: starcert {command} run.toml --out FOLDER"
    for line in (f"{made} {again}", "Paths are relative to the folder of this file.", *record.comments):
        document.add(tomlkit.comment(line))
    document.add(tomlkit.nl())
    plain: dict[str, object] = {}
    brought = settings.filled
    tables: dict[str, Mapping[str, object]] = (
        {} if settings.noise == brought.get("noise") else {"noise": settings.noise.to_dict()}
    )
    for key, setting in SETTINGS.items():
        value = getattr(settings, key)
        if key in brought and value == brought[key]:
            continue
        if not setting.written or value is None or key == "noise" or (setting.implied and value == setting.default):
            continue
        if isinstance(value, dict):
            tables[key] = value
        else:
            plain[key] = plain_value(value, lambda file: _relative(file, folder))
    own = {} if grid is None else {key: plain.pop(key) for key in OF_SWEEPS if key in plain}
    for key, value in {**record.certifying, **plain}.items():
        document.add(key, toml_item(value))
    tables = {key: tables[key] for key in _TABLES if key in tables}
    if grid is not None:
        tables["sweep"] = own | {"grid": grid.to_table()}
    for name, values in tables.items():
        document.add(tomlkit.nl())
        document.add(name, _filled(tomlkit.table(), _with_places(values, folder)))
    document.add(tomlkit.nl())
    about = "What the run was made from: a run from this file refuses to start from anything else."
    document.add(tomlkit.comment(about))
    document.add("expected", _filled(tomlkit.table(), record.expected))
    return tomlkit.dumps(document)


def _filled(table: Any, values: Mapping[str, object]) -> Any:  # noqa: ANN401  (tomlkit's own types)
    for name, value in values.items():
        table.append(tomlkit.key(name), toml_item(value))
    return table


def toml_item(value: object) -> Any:  # noqa: ANN401  (tomlkit's own types)
    """A value as TOML writes it on one line; read back, it is the same to the last bit."""
    if isinstance(value, Mapping):
        return _filled(tomlkit.inline_table(), value)
    if isinstance(value, list | tuple):
        array = tomlkit.array()
        array.extend(toml_item(each) for each in value)
        return array
    return tomlkit.item(value)


def plain_value(value: Any, called: Callable[[Path], str]) -> Any:  # noqa: ANN401  (of any setting)
    """A value of a setting as plain values have it; `called` says what a file is called."""
    if isinstance(value, Reference):
        return value.text or f"{called(value.file)}:{value.name}"
    if isinstance(value, Path):
        return called(value)
    if isinstance(value, Threat):
        return threat_text(value, called)
    return list(astuple(value)) if isinstance(value, ValueRange) else value


def _with_places(value: Any, folder: Path) -> Any:  # noqa: ANN401  (plain values)
    """The same values, with the places of laws from outside in place of their names."""
    if isinstance(value, list | tuple):
        return [_with_places(each, folder) for each in value]
    if not isinstance(value, Mapping):
        return value
    found = {key: _with_places(each, folder) for key, each in value.items()}
    if isinstance(name := found.get("law"), str):
        law = defined_law(name)
        module = sys.modules[law.__module__]
        file = module.__file__ if is_user_module(module.__name__) else None
        place = module.__name__ if file is None else _relative(Path(file), folder)
        found["law"] = f"{place}:{law.__qualname__}"
    return found


def _relative(path: Path, folder: Path) -> str:
    real = Path(os.path.realpath(path.parent), path.name)
    try:
        return Path(os.path.relpath(real, os.path.realpath(folder))).as_posix()
    except ValueError:  # on another drive
        return path.as_posix()


def _says_all(file: Path, text: str) -> bool:
    """True if a run file has the values of a text, except workers, and its comments below the head."""
    try:
        there = file.read_text(encoding="utf-8-sig")
        known, new = (tomlkit.parse(each).unwrap() | {"workers": 1} for each in (there, text))
    except (OSError, ValueError, TOMLKitError):
        return False
    return known == new and all(line in there for line in text.splitlines()[_HEAD:] if line.startswith("#"))


def differences(there: RunFile, record: RunRecord) -> list[str]:
    """Every difference that makes a stored run another one than this; workers and places of files make none."""
    grid, settings = record.grid, record.settings
    if (there.grid is None) != (grid is None):
        return [f"there {'a run of certify' if there.grid is None else 'a sweep'}"]
    own = {} if grid is None else there.sweep
    known = run_settings({**there.values, **own, "out": settings.out})
    # Of data it is the content that counts; of code the names and the content, not the folder.
    keys = [key for key, setting in SETTINGS.items() if setting.changes != "nothing"]
    if grid is not None and there.grid == grid and grid.levels(known.noise) == grid.levels(settings.noise):
        keys.remove("noise")  # a finished sweep has written the one that it suggests
    pairs: list[tuple[str, object, object]] = [("grid", there.grid, grid)]
    for key in keys:
        before, now = (plain_value(getattr(each, key), lambda file: file.name) for each in (known, settings))
        pairs.append((key, before, now))
    pairs += [(f"content of {key}", there.expected.get(key), record.expected.get(key)) for key in EXPECTED]
    return [f"{name}: there {before}, now {now}" for name, before, now in pairs if before != now]


@dataclass(frozen=True)
class OutputFolder:
    """Where the files of a run go."""

    final: Path  # links followed: the partial folder lies beside the folder itself

    def __post_init__(self) -> None:
        object.__setattr__(self, "final", Path(os.path.realpath(self.final)))

    @property
    def partial(self) -> Path:
        """Where the run works until everything is there."""
        return Path(f"{self.final}.partial")

    @property
    def finished(self) -> bool:
        """True if the folder has its name."""
        return (self.final / RUN).is_file()

    @property
    def kept(self) -> Path:
        """Where the run keeps its files now."""
        return self.final if self.finished else self.partial

    def votes(self, store: Path | None) -> Path:
        """Where the votes are kept: in the folder, unless a run names another store."""
        return store or self.kept / VOTES

    def blind_row(self, store: Path | None) -> Path:
        """Where the blind row is kept: beside the votes."""
        return self.kept / BLIND_ROW if store is None else store.with_suffix(f".{BLIND_ROW}")

    def write_run_file(self, record: RunRecord) -> None:
        """Writes the run file that repeats the run from its folder; one that says the same stays as it is."""
        text = run_file_text(record, folder=self.final)
        if not _says_all(self.kept / RUN, text):
            write_whole(self.kept / RUN, [text])

    def check_place(self) -> None:
        """Refuses a place that cannot be an output folder, before any work is done."""
        for folder in () if self.finished else (self.final, self.partial):
            if os.path.lexists(folder) and not folder.is_dir():
                raise InvalidParameterError("out", "be a folder", str(folder), "Give the name of a new folder.")
            if os.path.ismount(folder):  # no other folder can get this name
                hint = f"Give the name of a new folder, such as {folder / 'certified'}."
                requirement = "be a new folder, not a place where a disk is mounted"
                raise InvalidParameterError("out", requirement, str(folder), hint)
            if folder.is_dir() and not (folder / RUN).is_file() and not is_empty(folder):
                hint = "Give the name of a new folder, or empty this one."
                raise InvalidParameterError("out", "be a new folder, or that of an earlier run", str(folder), hint)
        for folder in (self.final,) if self.finished else (self.partial, self.final.parent):
            there = next(each for each in (folder, *folder.parents) if each.exists())
            if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
                raise InvalidParameterError("out", "be a folder that can be written", str(self.final))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Checks the place, and keeps it for one run: a lock on `results.lock` beside it ends with the process."""
        self.check_place()
        with suppress(OSError):
            self.final.parent.mkdir(parents=True, exist_ok=True)
        with holding_lock(f"{self.final}.lock") as free:
            if not free:
                hint = "Wait for its end or stop it, or give another --out."
                raise InvalidParameterError("out", "be a folder in which no run is still going", str(self.final), hint)
            fresh = not self.partial.exists()
            try:
                yield
            except StarcertError:
                if fresh and self.partial.is_dir() and {*os.listdir(self.partial)} <= {RUN, BLIND_ROW}:  # no votes
                    for file in self.partial.iterdir():
                        file.unlink()
                    self.partial.rmdir()
                raise

    def begin(self, record: RunRecord) -> None:
        """Makes the working folder with the run file, or goes on where the run is; refuses that of another run."""
        if (self.kept / RUN).is_file():
            self._check_same(record)
        if self.finished:
            return
        try:
            if self.final.exists():  # and empty: a name that cannot be had is reported before the first vote
                self.final.rmdir()
            self.partial.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            must = f"be a folder that can get its name when all is done ({error.strerror})"
            hint = f"Give the name of a new folder, such as {self.final / 'certified'}."
            raise InvalidParameterError("out", must, str(self.final), hint) from None
        self.write_run_file(record)

    def finish(self) -> None:
        """Gives the folder its name, unless it has it already."""
        if not self.finished:
            self.partial.rename(self.final)

    def _check_same(self, record: RunRecord) -> None:
        folder = self.kept
        advice = f"Give another --out, or remove {folder} first."
        try:
            found = differences(read_run_file(folder / RUN), record)
        except (RunFileError, InvalidParameterError) as error:
            raise StarcertError(f"{folder}: holds a run whose settings cannot be read ({error}) {advice}") from error
        if found:
            own = record.grid is None and record.settings.store is None and (folder / VOTES).is_file()
            if own and {each.partition(":")[0] for each in found} <= set(CERTIFICATE_SETTINGS) - _FIXED_ONCE_USED:
                advice += f" Another --out with --store {folder / VOTES} uses its votes again."
            raise StarcertError(f"{folder}: holds another run ({'; '.join(found)}). {advice}")
