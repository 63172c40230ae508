"""From the name of a study to a folder with its figures, tables, checks and page."""

from __future__ import annotations

import io
import json
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from starcert.display.drawing import style
from starcert.system.errors import InvalidParameterError, needing
from starcert.system.files import versions, write_whole
from starcert.system.parts import PartsFolder, claim_folder
from starcert_studies.report import Finished, Report, all_texts, study_page

if TYPE_CHECKING:
    from starcert_studies.trials import Study


STUDIES = {
    name: f"starcert_studies.{texts['folder']}.{name}:{name.capitalize()}" for name, texts in all_texts().items()
}
"""Where each study is, by name, in the order of `texts.toml`: `digits` is the class `Digits` of `kinds.digits`."""


def why_alone(name: str) -> str:
    """Why a study is run by itself only, and not with all others; "" if it is one of all."""
    return str(all_texts().get(name, {}).get("alone", ""))


def find_study(name: str, parameter: str = "name", *more: str) -> type[Study]:
    """The study of this name, loaded, with what it needs; `more` are other words to propose."""
    if name not in STUDIES:
        raise InvalidParameterError(parameter, f"be one of {', '.join([*STUDIES, *more])}", name)
    with needing(f"The study {name!r} needs", "all"):
        for package in ("matplotlib", *all_texts().get(name, {}).get("needs", ())):  # before hours of votes
            import_module(package)
        module, _, study = STUDIES[name].partition(":")
        return cast("type[Study]", getattr(import_module(module), study))


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
    found = find_study(name)
    for parameter, value, least in (("samples", samples, 10), ("seed", seed, 0), ("workers", workers, 1)):
        if value is not None and value < least:
            raise InvalidParameterError(parameter, f"be {least} or more", value)
    study = found.from_options(samples, seed, quick)
    claim_folder(out, {"study": name, **asdict(study)})
    start = time.perf_counter()
    report = study.report(*study.votes(PartsFolder(out / "parts", workers=workers, progress=progress)))
    _write(report, out)
    seconds = time.perf_counter() - start
    results = {
        "study": name,
        "settings": asdict(study),
        "checks": [asdict(check) for check in report.checks],
        "summary": report.summary,
        "values": report.values,
        "seconds": round(seconds, 1),
        "provenance": versions(),
    }
    write_whole(out / "results.json", [json.dumps(results, indent=2), "\n"])
    write_whole(out / "index.html", [study_page(report, results)])
    return Finished(name, study.texts.get("about", ""), out, report.checks, seconds)


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
