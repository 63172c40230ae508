"""The output folder of a run: another name while the run is under way, its own once everything is there.

A run into `results` works in `results.partial`, where it keeps its settings and its votes; run again, it goes on there.
When report, certificates and table are written, the folder gets its name. What stands under that name is whole. The
files say how far a run is:

| `results/run.toml` | `results.partial/run.toml` | the run is  | the same command                                    |
| ------------------ | -------------------------- | ----------- | --------------------------------------------------- |
| no                 | no                         | not begun   | makes `results.partial` with its run.toml           |
| no                 | yes                        | under way   | goes on in `results.partial`, then gives it its name |
| yes                | is not looked at           | finished    | goes on in `results`, file by file                  |

From line to line leads one rename, of run.toml or of the folder, and each file is replaced whole (`write_whole`): a
process that is killed at any moment leaves one of these lines, and at most drafts, which count as nothing. Without
run.toml, both folders must be empty, or not there: what somebody else keeps there is never touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from starcert.runs.grid import Grid
from starcert.runs.run_file import RunFileError, differences, read_run_file, rewritten, run_file_text
from starcert.runs.settings import SETTINGS, RunSettings
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import holding_lock, is_empty, write_whole

__all__ = ["CERTIFICATES", "FILES", "PROFILE", "REPORT", "RESULTS", "RUN", "VOTES", "OutputFolder"]

RUN, CERTIFICATES, RESULTS, REPORT = FILES = ("run.toml", "certificates.json", "results.csv", "report.html")
"""What the finished folder of a run holds, beside its votes."""

VOTES = "votes.db"
FIXED_BY_A_LOOK = {"samples", "selection_samples", "evidence"}
"""Settings that stay as they are where certificates were computed from votes: the store refuses others."""


PROFILE = "profile.json"
"""Where the time went, of a run that was asked for it."""

_INSIDE = "Give the name of a new folder, such as {}."


@dataclass(frozen=True)
class OutputFolder:
    """Where the files of a run go.

    Attributes:
        final: the folder's own name; links are followed when this is made, as a name is given beside the folder itself.
    """

    final: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "final", Path(os.path.realpath(self.final)))

    @property
    def partial(self) -> Path:
        """Where the run works until everything is there."""
        return Path(f"{self.final}.partial")

    @property
    def finished(self) -> bool:
        """Whether the folder has its name."""
        return (self.final / RUN).is_file()

    @property
    def kept(self) -> Path:
        """Where the run keeps its files now."""
        return self.final if self.finished else self.partial

    @property
    def votes(self) -> Path:
        """The file of votes."""
        return self.kept / VOTES

    def write_run_file(
        self,
        settings: RunSettings,
        expected: Mapping[str, str],
        grid: Grid | None = None,
        best: str = "",
        certifying: Mapping[str, object] | None = None,
        comments: Sequence[str] = (),
    ) -> None:
        """Writes the run file that repeats the run from its folder; comments in one that is there stay."""
        file = self.kept / RUN
        text = run_file_text(
            settings, expected, folder=self.final, grid=grid, best=best, certifying=certifying, comments=comments
        )
        write_whole(file, [rewritten(file.read_text(encoding="utf-8-sig"), text) if file.is_file() else text])

    def check_place(self) -> None:
        """Refuses a place that cannot be an output folder, before any work is done."""
        if not self.finished:
            for folder in (self.final, self.partial):
                _check_free(folder)
        for folder in (self.final,) if self.finished else (self.partial, self.final.parent):
            there = next(each for each in (folder, *folder.parents) if each.exists())
            if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
                raise InvalidParameterError("out", "be a folder that can be written", str(self.final))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps the folder for one run: whoever wants it meanwhile is told that a run is still going.

        The lock is on a file beside the folder, `results.lock`, and ends with the process. Where no such file can be
        made or locked, nobody is told.
        """
        with suppress(OSError):
            self.final.parent.mkdir(parents=True, exist_ok=True)
        with holding_lock(f"{self.final}.lock") as free:
            if not free:
                hint = "Wait for its end or stop it, or give another --out."
                raise InvalidParameterError("out", "be a folder in which no run is still going", str(self.final), hint)
            yield

    def begin(
        self,
        settings: RunSettings,
        expected: Mapping[str, str],
        grid: Grid | None = None,
        best: str = "",
        certifying: Mapping[str, object] | None = None,
    ) -> None:
        """Makes the working folder with the run file, or goes on where the run is; refuses the folder of another run.

        Args:
            settings: those of the run.
            expected: digests of what it is made from.
            grid: the noise levels of a sweep.
            best: what its best level has most of, where that is said.
            certifying: of a sweep, what a certification has settings of its own for.
        """
        if (self.kept / RUN).is_file():
            self._check_same(self.kept, settings, expected, grid)
        if self.finished:
            return
        try:
            if self.final.exists():  # and empty: a name that cannot be had is told before the first vote
                self.final.rmdir()
            self.partial.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            must = f"be a folder that can get its name when all is done ({error.strerror})"
            raise InvalidParameterError(
                "out", must, str(self.final), _INSIDE.format(self.final / "certified")
            ) from None
        self.write_run_file(settings, expected, grid, best, certifying)

    def finish(self) -> None:
        """Gives the folder its name, unless it has it already."""
        if not self.finished:
            self.partial.rename(self.final)

    def _check_same(self, folder: Path, settings: RunSettings, expected: Mapping[str, str], grid: Grid | None) -> None:
        advice = f"Give another --out, or remove {folder} first."
        try:
            found = differences(read_run_file(folder / RUN), settings, expected, grid)
        except (RunFileError, InvalidParameterError) as error:
            raise StarcertError(f"{folder}: holds a run whose settings cannot be read ({error}) {advice}") from error
        if found:
            own = grid is None and settings.store is None and (folder / VOTES).is_file()
            same = {key for key, setting in SETTINGS.items() if setting.changes == "certificates"} - FIXED_BY_A_LOOK
            if own and {each.partition(":")[0] for each in found} <= same:
                advice += f" Another --out with --store {folder / VOTES} uses its votes again."
            raise StarcertError(f"{folder}: holds another run ({'; '.join(found)}). {advice}")


def _check_free(folder: Path) -> None:
    """Refuses what can be neither a new folder nor the one that a run works in."""
    if os.path.lexists(folder) and not folder.is_dir():
        raise InvalidParameterError("out", "be a folder", str(folder), "Give the name of a new folder.")
    if os.path.ismount(folder):  # no other folder can get this name
        hint = _INSIDE.format(folder / "certified")
        raise InvalidParameterError("out", "be a new folder, not a place where a disk is mounted", str(folder), hint)
    if folder.is_dir() and not (folder / RUN).is_file() and not is_empty(folder):
        hint = "Give the name of a new folder, or empty this one."
        raise InvalidParameterError("out", "be a new folder, or that of an earlier run", str(folder), hint)
