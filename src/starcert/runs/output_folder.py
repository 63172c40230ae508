"""The output folder of a run: another name while the run is under way, its own once everything is there.

A run into `results` works in `results.partial`, where it keeps its settings and its votes; run again, it goes on there.
When report, certificates and table are written, the folder gets its name. What stands under that name is whole. The
files say how far a run is:

| `results/run.toml` | `results.partial/run.toml` | the run is  | the same command                                    |
| ------------------ | -------------------------- | ----------- | --------------------------------------------------- |
| no                 | no                         | not begun   | makes `results.partial` with its run.toml           |
| no                 | yes                        | under way   | goes on in `results.partial`, then gives it its name |
| yes                | is not looked at           | finished    | goes on in `results`, file by file                  |

One rename, of run.toml or of the folder, leads from line to line, and each file is replaced whole (`write_whole`): a
process that is killed at any moment leaves one of these lines, and at most drafts, which count as nothing. Without
run.toml, both folders must be empty or missing: what somebody else keeps there is never touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from starcert.runs.run_file import RunFileError, RunRecord, differences, read_run_file, rewritten, run_file_text
from starcert.runs.settings import SETTINGS
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import holding_lock, is_empty, write_whole

RUN, CERTIFICATES, RESULTS, REPORT = FILES = ("run.toml", "certificates.json", "results.csv", "report.html")
"""What the finished folder of a run holds, beside its votes."""

VOTES = "votes.db"
PROFILE = "profile.json"

_FIXED_ONCE_USED = {"samples", "selection_samples", "evidence"}
"""Settings that must stay once certificates were computed from the votes of a store: it refuses others."""

_INSIDE = "Give the name of a new folder, such as {}."


@dataclass(frozen=True)
class OutputFolder:
    """Where the files of a run go.

    Attributes:
        final: the folder's own name, links followed: the partial folder lies beside the folder itself.
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

    def write_run_file(self, record: RunRecord) -> None:
        """Writes the run file that repeats the run from its folder; comments in one that is there stay."""
        file = self.kept / RUN
        text = run_file_text(record, folder=self.final)
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
        """Keeps the folder for one run; another one that wants it meanwhile is refused.

        The lock is on a file beside the folder, `results.lock`, and ends with the process. Where no such file can be
        made or locked, nothing is refused.
        """
        with suppress(OSError):
            self.final.parent.mkdir(parents=True, exist_ok=True)
        with holding_lock(f"{self.final}.lock") as free:
            if not free:
                hint = "Wait for its end or stop it, or give another --out."
                raise InvalidParameterError("out", "be a folder in which no run is still going", str(self.final), hint)
            yield

    def begin(self, record: RunRecord) -> None:
        """Makes the working folder with the run file, or goes on where the run is; refuses that of another run."""
        if (self.kept / RUN).is_file():
            self._check_same(self.kept, record)
        if self.finished:
            return
        try:
            if self.final.exists():  # and empty: a name that cannot be had is reported before the first vote
                self.final.rmdir()
            self.partial.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            must = f"be a folder that can get its name when all is done ({error.strerror})"
            hint = _INSIDE.format(self.final / "certified")
            raise InvalidParameterError("out", must, str(self.final), hint) from None
        self.write_run_file(record)

    def finish(self) -> None:
        """Gives the folder its name, unless it has it already."""
        if not self.finished:
            self.partial.rename(self.final)

    def _check_same(self, folder: Path, record: RunRecord) -> None:
        advice = f"Give another --out, or remove {folder} first."
        try:
            found = differences(read_run_file(folder / RUN), record)
        except (RunFileError, InvalidParameterError) as error:
            raise StarcertError(f"{folder}: holds a run whose settings cannot be read ({error}) {advice}") from error
        if found:
            own = record.grid is None and record.settings.store is None and (folder / VOTES).is_file()
            same = {key for key, each in SETTINGS.items() if each.changes == "certificates"} - _FIXED_ONCE_USED
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
