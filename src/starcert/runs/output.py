"""The output folder of a run: another name while the run is under way, its own once everything is there.

A run into `results` works in `results.partial`, where it keeps its settings and its votes; run again, it goes on there.
When report, certificates and table are written, the folder gets its name. What stands under that name is whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from starcert import __version__
from starcert.errors import InvalidParameterError, StarcertError
from starcert.files import write_whole
from starcert.runs.grid import Grid
from starcert.runs.run_file import RunFileError, differences, read, text_of
from starcert.runs.settings import RunSettings

__all__ = ["CERTIFICATES", "FILES", "REPORT", "RESULTS", "RUN", "VOTES", "Output"]

RUN, CERTIFICATES, RESULTS, REPORT = FILES = ("run.toml", "certificates.json", "results.csv", "report.html")
"""What a finished folder holds, the report last."""

VOTES = "votes.db"

_SAME_VOTES = {"samples", "selection_samples", "alpha", "family", "max_radius"}
"""Settings that may change without the votes becoming others."""


@dataclass(frozen=True)
class Output:
    """Where the files of a run go.

    Attributes:
        final: the folder's own name.
        files: what it holds once it is finished.
    """

    final: Path
    files: tuple[str, ...] = FILES

    @property
    def partial(self) -> Path:
        """Where the run works until everything is there."""
        return self.final.with_name(f"{self.final.name}.partial")

    @property
    def kept(self) -> Path:
        """The folder where votes are kept: the finished one, if the run is finished already."""
        return self.final if (self.final / RUN).exists() else self.partial

    @property
    def votes(self) -> Path:
        """The file of votes."""
        return self.kept / VOTES

    def check_place(self) -> None:
        """Refuses a place that cannot be an output folder, before any work is done."""
        for folder in (self.final, self.partial):
            if folder.exists() and not folder.is_dir():
                hint = "Give the name of a new folder."
                raise InvalidParameterError("out", "be a folder", str(folder), hint)
            if folder.is_dir() and any(folder.iterdir()) and not (folder / RUN).is_file():
                hint = "Give the name of a new folder, or empty this one."
                raise InvalidParameterError("out", "be a new folder, or that of an earlier run", str(folder), hint)
        above = self.final.parent
        while not above.exists():
            above = above.parent
        if not (above.is_dir() and os.access(above, os.W_OK)):
            raise InvalidParameterError("out", "be a folder that can be written", str(self.final))

    def begin(self, settings: RunSettings, expected: Mapping[str, str], grid: Grid | None = None) -> None:
        """Makes the working folder with the run file, or goes on in it; refuses one of another run.

        Args:
            settings: those of the run.
            expected: digests of what it is made from.
            grid: the noise levels of a sweep.
        """
        for folder in (self.final, self.partial):
            if (folder / RUN).is_file():
                self._check_same(folder, settings, expected, grid)
        self.partial.mkdir(parents=True, exist_ok=True)
        made_by = f"starcert {__version__}"
        write_whole(self.partial / RUN, [text_of(settings, expected, folder=self.final, made_by=made_by, grid=grid)])

    def finish(self) -> None:
        """Gives everything that was written its final name."""
        if not self.final.exists() or not any(self.final.iterdir()):
            if self.final.exists():
                self.final.rmdir()
            self.partial.rename(self.final)
            return
        for name in self.files:  # the same run again: every file is replaced whole
            os.replace(self.partial / name, self.final / name)
        shutil.rmtree(self.partial)

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
