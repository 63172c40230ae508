"""From the name of a study to a folder with its figures, tables, checks and page."""

from __future__ import annotations

import io
import json
import resource
import sys
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from starcert.pages.plots.drawing import style
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import is_empty, versions, write_whole
from starcert_studies.outcome import Finished, Outcome, Words, study_page
from starcert_studies.parts import StudyParts

if TYPE_CHECKING:
    from starcert_studies.study import Study

__all__ = ["STUDIES", "ListedStudy", "reproduce"]


@dataclass(frozen=True)
class ListedStudy:
    """A study in the list of all, which is loaded when it is run."""

    name: str  # what it is called on the command line
    module: str  # where it is; its `STUDY` is a `Study`
    about: str  # what it shows, for a list of studies
    alone: str = ""  # why it is run by itself only, and not with all others; "" if it is one of all

    def load(self) -> type[Study]:
        """The study, with what it needs; without that, an error that says what to install."""
        try:
            import_module("matplotlib")  # before hours of votes, not after
            return cast("type[Study]", import_module(self.module).STUDY)
        except ModuleNotFoundError as error:
            raise StarcertError(
                f"The study {self.name!r} needs {error.name}. Install it with: pip install 'starcert[all]'"
            ) from error


def _listed(name: str) -> ListedStudy:
    words = Words(name)
    return ListedStudy(name, f"starcert_studies.{name}", words.about, words.alone)


_NAMES = ("synthetic", "samples", "kernels", "mutag", "evidence", "digits", "bonds", "arcs", "cora")
STUDIES = {name: _listed(name) for name in _NAMES}
"""All studies by name."""


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
        name: one of `STUDIES`.
        out: the folder; if it holds the same study with the same settings, that is continued.
        samples: estimation votes for each graph; by default as in the paper.
        seed: of all votes.
        workers: worker processes. The results do not depend on them.
        quick: fewer votes and levels.
        progress: whether to draw progress bars; None: on a terminal only.
    """
    if name not in STUDIES:
        raise InvalidParameterError("name", f"be one of {', '.join(STUDIES)}", name)
    for parameter, value, least in (("samples", samples, 10), ("seed", seed, 0), ("workers", workers, 1)):
        if value is not None and value < least:
            raise InvalidParameterError(parameter, f"be {least} or more", value)
    study = STUDIES[name].load().from_options(samples, seed, quick)
    _claim(out, {"study": name, **asdict(study)})
    start = time.perf_counter()
    outcome = study.run(StudyParts(out / "parts", workers=workers, progress=progress))
    _write(outcome, out, study.words.title)
    finished = Finished(
        name, STUDIES[name].about, out, outcome.checks, time.perf_counter() - start, _peak_bytes(workers)
    )
    results = {
        "study": name,
        "settings": asdict(study),
        "checks": [asdict(check) for check in outcome.checks],
        "summary": list(outcome.summary),
        "values": outcome.values,
        "seconds": round(finished.seconds, 1),
        "peak_bytes": finished.peak_bytes,
        "provenance": versions(),
    }
    write_whole(out / "results.json", [json.dumps(results, indent=2), "\n"])
    write_whole(out / "index.html", [study_page(study.words.title, outcome, results)])
    return finished


def _claim(out: Path, settings: dict[str, Any]) -> None:
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


def _write(outcome: Outcome, out: Path, title: str) -> None:
    (out / "tables").mkdir(exist_ok=True)
    for table in outcome.tables:
        write_whole(out / "tables" / f"{table.name}.csv", [table.to_csv()])
    (out / "figures").mkdir(exist_ok=True)
    with style():
        for picture in outcome.pictures:
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
