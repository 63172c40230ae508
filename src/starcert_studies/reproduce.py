"""From the name of a study to a folder with its figures, tables, checks and page.

Its work is done in parts, here or by worker processes. A part is a function and its arguments; its result is kept in a
small JSON file of its own, written whole or not at all, so a run that was killed continues after the last of them.
"""

from __future__ import annotations

import io
import json
import resource
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from starcert.pages.plots.drawing import style
from starcert.system.errors import InvalidParameterError, StarcertError, needing
from starcert.system.files import is_empty, versions, write_whole
from starcert.system.output import progress_bar
from starcert.system.plugins import PluginError, plugins
from starcert.system.processes import Pending, worker_processes
from starcert_studies.outcome import Finished, Report, all_texts, study_page

if TYPE_CHECKING:
    from starcert_studies.study import Study


@dataclass(frozen=True)
class Part:
    """A piece of work."""

    name: str  # the name of its file, unique in the study
    function: Callable[..., Any]  # at the top of a module, so that workers can import it; returns what JSON can hold
    arguments: tuple[Any, ...]  # for the function
    weight: int = 1  # how much work it is next to the others, for the progress bar


@dataclass(frozen=True)
class StudyParts:
    """The finished parts of a study in a folder, and the workers that make more."""

    folder: Path
    workers: int = 1  # how many processes; 1: this one
    progress: bool | None = None  # whether to draw a progress bar; None: on a terminal only

    def result(self, name: str) -> Any:  # noqa: ANN401  (whatever JSON holds)
        """What a finished part returned."""
        try:
            return json.loads(self._path(name).read_text("utf-8"))
        except ValueError as error:  # a killed run leaves no half-written file: something else wrote there
            raise StarcertError(
                f"{self._path(name)}: is damaged ({error}). Delete it, and run the same again."
            ) from error

    def run(self, parts: Sequence[Part], title: str) -> dict[str, Any]:
        """What each part returned, by name; computed now where it is missing.

        When a part fails, what is finished or in progress is kept, and then its error is raised.
        """
        assert len({part.name for part in parts}) == len(parts), "each part has a name of its own"
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = [part for part in parts if not self._path(part.name).exists()]
        total, left = (sum(part.weight for part in some) for some in (parts, missing))
        # Closed at once, also when a result cannot be written: the workers stop and do not finish the other parts.
        bar, computed = progress_bar(title, total, total - left, shown=self.progress), closing(self._computed(missing))
        with bar as advance, computed as results:
            for part, result in results:
                write_whole(self._path(part.name), [json.dumps(result), "\n"])
                advance(part.weight)
        return {part.name: self.result(part.name) for part in parts}

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _computed(self, parts: Sequence[Part]) -> Generator[tuple[Part, Any]]:
        if self.workers == 1 or len(parts) < 2:
            for part in parts:
                yield part, part.function(*part.arguments)
            return
        with worker_processes(min(self.workers, len(parts)), "What is finished is kept.") as pool:
            pending: Pending[Any] = Pending(pool)
            waiting: dict[Future[Any], Part] = {pending.submit(p.function, *p.arguments): p for p in parts}
            failed: BaseException | None = None
            while len(pending):
                future = pending.next_done()
                if future.cancelled():
                    continue
                if (error := future.exception()) is None:
                    yield waiting[future], future.result()
                elif failed is None:
                    failed = error
                    pending.cancel()
            if failed is not None:
                raise failed


@dataclass(frozen=True)
class ListedStudy:
    """A study of starcert's own, which is loaded when it is run."""

    name: str  # what it is called on the command line
    place: str  # where it is, as "module:class"

    @property
    def texts(self) -> Mapping[str, Any]:
        """Its title, captions and claims."""
        return all_texts().get(self.name) or self.load().texts

    @property
    def about(self) -> str:
        """What it shows, for a list of studies."""
        return str(self.texts.get("about", ""))

    @property
    def alone(self) -> str:
        """Why it is run by itself only, and not with all others; "" if it is one of all."""
        return str(self.texts.get("alone", ""))

    def load(self) -> type[Study]:
        """The study, with what it needs; without that, an error that says what to install."""
        with needing(f"The study {self.name!r} needs", "all"):
            for package in ("matplotlib", *all_texts().get(self.name, {}).get("needs", ())):  # before hours of votes
                import_module(package)
            module, _, study = self.place.partition(":")
            return cast("type[Study]", getattr(import_module(module), study))


STUDIES = {name: ListedStudy(name, f"starcert_studies.{name}:{name.capitalize()}") for name in all_texts()}
"""Starcert's own studies by name, in the order of `studies.toml`: `arcs` is the class `Arcs` in the module `arcs`."""


def find_study(name: str, parameter: str = "name", *more: str) -> type[Study]:
    """The study of this name, starcert's own or another distribution's, loaded; `more` are other words to propose."""
    if name in STUDIES:
        return STUDIES[name].load()
    added = plugins("studies", STUDIES)
    if name not in added:
        raise InvalidParameterError(parameter, f"be one of {', '.join([*STUDIES, *added, *more])}", name)
    from starcert_studies.study import Study  # noqa: PLC0415  (which imports this module)

    found = added[name].load()
    if not (isinstance(found, type) and issubclass(found, Study)):
        raise PluginError(f"{added[name].origin}: {added[name].place!r} is no Study.")
    return found


def reproduce(
    name: str,
    out: Path,
    *,
    samples: int | None = None,
    seed: int = 1,
    workers: int = 1,
    quick: bool = False,
    progress: bool | None = None,
) -> Finished:
    """Runs or continues a study, and writes figures, tables, `results.json` and `index.html`.

    Args:
        name: one of `STUDIES`, or of those that other distributions add.
        out: the folder; if it holds the same study with the same settings, that is continued.
        samples: estimation votes for each graph; by default as in the paper.
        seed: of all votes.
        workers: worker processes. The results do not depend on them.
        quick: fewer votes and levels.
        progress: whether to draw progress bars; None: on a terminal only.
    """
    found = find_study(name)
    for parameter, value, least in (("samples", samples, 10), ("seed", seed, 0), ("workers", workers, 1)):
        if value is not None and value < least:
            raise InvalidParameterError(parameter, f"be {least} or more", value)
    study = found.from_options(samples, seed, quick)
    claim(out, {"study": name, **asdict(study)})
    start = time.perf_counter()
    report = study.report(*study.votes(StudyParts(out / "parts", workers=workers, progress=progress)))
    _write(report, out)
    seconds, peak_bytes = time.perf_counter() - start, _peak_bytes(workers)
    results = {
        "study": name,
        "settings": asdict(study),
        "checks": [asdict(check) for check in report.checks],
        "summary": report.summary,
        "values": report.values,
        "seconds": round(seconds, 1),
        "peak_bytes": peak_bytes,
        "provenance": versions(),
    }
    write_whole(out / "results.json", [json.dumps(results, indent=2), "\n"])
    write_whole(out / "index.html", [study_page(report, results)])
    return Finished(name, study.texts.get("about", ""), out, report.checks, seconds, peak_bytes)


def claim(out: Path, settings: dict[str, Any]) -> None:
    """Takes an empty folder for these settings, or one that already has them."""
    record = out / "settings.json"
    wanted = json.loads(json.dumps(settings))
    try:
        if record.exists():
            stored = json.loads(record.read_text("utf-8"))
            if not isinstance(stored, dict):
                raise TypeError(f"{record.name} holds no settings")
            if stored != wanted:
                differ = sorted(k for k in {*stored, *wanted} if stored.get(k) != wanted.get(k))
                reason = "; ".join(f"{k}: there {stored.get(k)}, now {wanted.get(k)}" for k in differ)
                raise InvalidParameterError(
                    "--out", "be a folder of the same study", f"{out} ({reason})", "Give another."
                )
        elif out.exists() and not is_empty(out):
            hint = "Give a new folder, or one that this command began."
            raise InvalidParameterError("--out", "be empty or hold the same study", str(out), hint)
        out.mkdir(parents=True, exist_ok=True)
        write_whole(record, [json.dumps(settings, indent=2), "\n"])
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, TypeError) as error:
        raise StarcertError(f"{out}: cannot be used as the folder of a study ({error}). Give another --out.") from error


def _write(report: Report, out: Path) -> None:
    title = report.texts["title"]
    (out / "tables").mkdir(exist_ok=True)
    for table in report.tables:
        write_whole(out / "tables" / f"{table.name}.csv", [table.to_csv()])
    (out / "figures").mkdir(exist_ok=True)
    with style():
        for picture in report.pictures:
            figure = picture.draw()
            for ending, about in (("svg", {"Date": None, "Title": title}), ("png", {"Title": title})):
                drawn = io.BytesIO()
                figure.savefig(drawn, format=ending, metadata=about)
                write_whole(out / "figures" / f"{picture.name}.{ending}", [drawn.getvalue()])


def _peak_bytes(workers: int) -> int:
    """Peak memory of this process, and `workers` times that of its largest child (in KiB, but on macOS in bytes)."""
    unit = 1 if sys.platform == "darwin" else 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return unit * (own + (workers * child if workers > 1 else 0))
