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
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starcert import __version__
from starcert.errors import InvalidParameterError, StarcertError
from starcert.runs.grid import Grid
from starcert.runs.run_file import RunFileError, differences, read, text_of
from starcert.runs.settings import RunSettings
from starcert.system.files import is_empty, write_whole

__all__ = ["CERTIFICATES", "FILES", "REPORT", "RESULTS", "RUN", "VOTES", "Output"]

RUN, CERTIFICATES, RESULTS, REPORT = FILES = ("run.toml", "certificates.json", "results.csv", "report.html")
"""What the finished folder of a run holds, beside its votes."""

VOTES = "votes.db"

_SAME_VOTES = {"samples", "selection_samples", "alpha", "family", "max_radius"}
"""Settings that may change without the votes becoming others."""

_INSIDE = "Give the name of a new folder, such as {}."


@dataclass(frozen=True)
class Output:
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

    def text(self, settings: RunSettings, expected: Mapping[str, str], grid: Grid | None = None) -> str:
        """The run file that repeats the run from its folder."""
        return text_of(settings, expected, folder=self.final, made_by=f"starcert {__version__}", grid=grid)

    def check_place(self) -> None:
        """Refuses a place that cannot be an output folder, before any work is done."""
        if not self.finished:
            for folder in (self.final, self.partial):
                _check_free(folder)
        for folder in (self.final,) if self.finished else (self.partial, self.final.parent):
            there = next(each for each in (folder, *folder.parents) if each.exists())
            if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
                raise InvalidParameterError("out", "be a folder that can be written", str(self.final))

    def begin(self, settings: RunSettings, expected: Mapping[str, str], grid: Grid | None = None) -> None:
        """Makes the working folder with the run file, or goes on where the run is; refuses the folder of another run.

        Args:
            settings: those of the run.
            expected: digests of what it is made from.
            grid: the noise levels of a sweep.
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
        write_whole(self.partial / RUN, [self.text(settings, expected, grid)])

    def finish(self) -> None:
        """Gives the folder its name, unless it has it already."""
        if not self.finished:
            self.partial.rename(self.final)

    def _check_same(self, folder: Path, settings: RunSettings, expected: Mapping[str, str], grid: Grid | None) -> None:
        advice = f"Give another --out, or remove {folder} first."
        try:
            found = differences(read(folder / RUN), settings, expected, grid)
        except (RunFileError, InvalidParameterError) as error:
            raise StarcertError(f"{folder}: holds a run whose settings cannot be read ({error}) {advice}") from error
        if found:
            own = grid is None and settings.store is None and (folder / VOTES).is_file()
            if own and {each.partition(":")[0] for each in found} <= _SAME_VOTES:
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
