"""`starcert verify`, `compare` and `show`: what is in the files of finished runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcert.archive import Archive, Mismatch, Verification, read
from starcert.archive import verify as verify_file
from starcert.cli.command_line import JsonOption, app, report, show
from starcert.report.blocks import as_terminal, values_of
from starcert.report.comparison_report import comparison_report, write_comparison
from starcert.report.findings import anchored_notice
from starcert.runs.certification import certify_run
from starcert.runs.run_file import CERTIFICATES, REPORT, RUN, read_run_file
from starcert.runs.run_methods import rerun_file
from starcert.runs.settings import run_settings
from starcert.system.errors import ArchiveError, InvalidParameterError, StarcertError, did_you_mean
from starcert.system.output import at_most, facts, note, table

if TYPE_CHECKING:
    from rich.console import RenderableType


_COMPARISON = Path("compare.html")
_THREAT = (
    "Compare under any 1, any 2, … flips, wherever they are, up to these: flips:2. Or under a threat that lists its "
    "attacks and that all runs were asked about: rewire:1. Default: what they were asked about, at least any 2 flips."
)


_RERUN = (
    "Draw this many chunks of votes again, with the model and the data of the run, and compare them with the file. "
    "Where every attack was tried (certify --exact), try all that break again, and this many of the others."
)
_MODEL = "With --rerun, the run file that names the model and the data; by default the run.toml beside the file."
_SEED = "With --rerun, what chooses the chunks; by default it is drawn now."
_NAME = "With --rerun, the row whose votes are drawn again; by default all."


@app.command()
def verify(
    files: Annotated[
        list[Path], typer.Argument(help="Files of certificates, as `starcert certify` writes them, or their folders.")
    ],
    rerun: Annotated[int | None, typer.Option(help=_RERUN, min=1)] = None,
    model: Annotated[Path | None, typer.Option(help=_MODEL, metavar="RUN.TOML")] = None,
    seed: Annotated[int | None, typer.Option(help=_SEED, min=0)] = None,
    name: Annotated[str | None, typer.Option(help=_NAME)] = None,
    as_json: JsonOption = False,
) -> None:
    """Prove the claims in files of certificates, from their votes and their noise, in exact arithmetic.

    With --rerun, votes are drawn again, too: no file can prove that its votes were cast. Of a file in which every
    attack was tried, it checks that its numbers fit together. Of a folder, its certificates.json is meant, or all
    archives in it. Ends with status 0 if every claim is true, given what it takes as stated, 1 if any is refuted, 2 if
    a file cannot be read.

    For example:

    starcert verify certificates.json

    starcert verify certified --rerun 300
    """
    paths = [path for file in files for path in _archives_in(file)]
    if rerun is None and (given := [each for each in (model, seed, name) if each is not None]):
        hint = "For example --rerun 300."
        raise InvalidParameterError("--rerun", "be given with --model, --seed and --name", given[0], hint)
    if rerun is None:
        every = [verify_file(path, progress=None) for path in paths]
    else:
        every = [rerun_file(path, model, rerun, seed=seed, name=name) for path in paths]
    objects = [_verification_object(found) for found in every]
    several = {"verdicts": [found.verdict for found in every], "files": objects}
    views = chain.from_iterable(["", *_verification_view(found)] for found in every)
    report(as_json, lambda: objects[0] if len(objects) == 1 else several, lambda: islice(views, 1, None))
    if any(found.refuted for found in every):
        raise typer.Exit(1)


def _archives_in(file: Path) -> list[Path]:
    """The file itself; of a folder its certificates.json or, without one, all archives in it."""
    if not file.is_dir():
        return [file]
    found = [file / CERTIFICATES] if (file / CERTIFICATES).is_file() else sorted(file.glob("*.json"))
    if not found:
        raise ArchiveError(str(file), f"holds no archive. Name a folder with a {CERTIFICATES}, or with archives.")
    return found


def _verification_object(found: Verification) -> dict[str, object]:
    if found.laws:
        return {"file": found.path, "verdict": found.verdict, "laws": found.laws}
    archive, about = found.archive, dict[str, object]()
    if archive.plain:
        about = {"threat": str(archive.certificates.threat), "alpha": 0, "recounted": found.recounted}
    else:
        if archive.kind == "intervals":
            about["intervals"] = [archive.title(each.what) for each in archive.claims[0]]
        about |= {"noise": archive.noise.to_dict(), "alpha": archive.alpha, "together": archive.together}
        if archive.kind == "certificates":
            about |= {"proved_in_whole_numbers": found.listed, "proved_in_balls": found.enclosed}
            about |= {"threat": archive.threat, "premise": found.premise} if found.premise else {}
    if found.rerun is not None:
        about["rerun"] = asdict(found.rerun) | {"power": found.rerun.power}
    return {
        "file": found.path,
        "verdict": found.verdict,
        "graphs": len(archive),
        **about,
        "taken_as_stated": found.taken_as_stated,
        "anchored": sorted({reason for reason in archive.anchored if reason}),
        "mismatches": [asdict(each) for each in found.mismatches],
    }


def _verification_view(found: Verification) -> list[RenderableType]:
    if found.laws:
        return [str(found)]
    archive, noise = found.archive, list[str]()
    if not archive.plain:
        one = "interval" if archive.kind == "intervals" else archive.word
        whose = f"each {one}" if archive.together == 1 else f"all {archive.together:,} {one}s together"
        noise.append(f"Noise {json.dumps(archive.noise.to_dict())}, alpha {at_most(archive.alpha)} for {whose}.")
        if archive.kind == "certificates":
            radii = f"those on {found.listed:,} of {found.listed + found.enclosed:,} radii once more in whole numbers"
            noise.append(f"Each verdict is proved in balls; {radii}.")
    return [
        *_mismatches(archive.word, found.mismatches),
        str(found),
        *noise,
        found.taken_as_stated,
        *(f"{each.head}. {each.text}" for each in anchored_notice(archive.anchored, archive.word)),
    ]


def _mismatches(word: str, found: Sequence[Mismatch]) -> list[RenderableType]:
    """A table of the false claims, if there are any."""
    heads = (word, "name", "claim", "claimed", "proved")
    rows = [(one.graph, one.name, one.field, _short(one.claimed), _short(one.proved)) for one in found]
    return [table("Claims that cannot be proved", heads, rows, left=heads[1:]), ""] if rows else []


def _short(value: object, most: int = 4) -> str:
    if not isinstance(value, list | tuple):
        return str(value)
    more = f" and {len(value) - most:,} more" if len(value) > most else ""
    return " ".join(map(str, value[:most])) + more or "none"


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs, or their certificates.json.")],
    out: Annotated[Path, typer.Option(help="The page to write; another one that is there is kept.")] = _COMPARISON,
    threat: Annotated[str | None, typer.Option(help=_THREAT, metavar="NAME:NUMBER")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two or more runs on the same graphs: what is certified, broken and open, curves, differences.

    They may differ in model, noise, votes or argument. Graphs and axes that only some of them have are left out.

    For example:

    starcert compare runs/a runs/b --out compare.html

    starcert compare runs/a runs/b --threat flips:3
    """
    files = {str(each): each / CERTIFICATES if each.is_dir() else each for each in runs}
    for name, file in files.items():
        if not file.is_file():
            raise StarcertError(f"{name}: no finished run is there. Name the folder that starcert certify has written.")
    read = {name: _read(file) for name, file in files.items()}
    out = out if out.suffix else out.with_suffix(".html")
    shown = comparison_report(write_comparison(out, read, threat=threat))
    if as_json:
        print(json.dumps({"page": str(out), **values_of(shown)}))
    else:
        show(*as_terminal(shown), f"Comparison: {out}")


def _read(file: Path) -> Archive:
    """A run's archive, read, and checked as far as the file alone allows."""
    archive = read(file)
    if archive.kind == "certificates":
        return archive.confirmed()
    if archive.kind == "intervals":
        raise ArchiveError(str(file), "holds intervals, and only runs of certificates can be compared.")
    if verify_file(file).refuted:
        raise ArchiveError(str(file), f"does not fit together. starcert verify {file} says where.")
    return archive


_RESULTS = "The folder of a finished run, or its certificates.json."
_ROW = "A graph, node or row of it, by its name or number: all that is known about it."
_REBUILD = "Write table and page again, from the votes of the run, with the model and the data of its run.toml."
_SHOWN = ("name", "true_name", "true", "class_name", "answer", "estimate", "p_lower", "frontier", "certified_size",
          "broken_size", "attack")  # fmt: skip
"""The columns of `results.csv` that the table has, beside those by size of attack; --json has all."""


@app.command(name="show")
def show_run(
    results: Annotated[Path, typer.Argument(help=_RESULTS)],
    name: Annotated[str | None, typer.Argument(help=_ROW, metavar="[NAME]")] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help=_REBUILD)] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a finished run again: how it was made and what is certified, or everything about one row.

    For example:

    starcert show certified

    starcert show certified graph_01
    """
    folder = results if results.is_dir() else results.parent
    file = folder / CERTIFICATES if results.is_dir() else results
    if not file.is_file():
        raise StarcertError(f"{results}: no finished run is there. Name the folder that starcert certify has written.")
    if rebuild:
        run = read_run_file(folder / RUN)
        certify_run(run_settings({**run.values, "out": folder}), expected=run.expected, note=note)
    archive: Any = read(file)
    rows = [dict(row) for row in archive.rows()]
    if name is not None:
        number = _row_of(name, rows)
        sentence = str(archive.certificates[number]) if isinstance(archive, Archive) else ""
        if as_json:
            print(json.dumps(rows[number] | ({"guarantee": sentence} if sentence else {}), default=str))
        else:
            known = {key: value for key, value in rows[number].items() if value not in (None, "")}
            show(facts(str(rows[number]["name"]), known.items()), *filter(None, [sentence]))
        return
    about = {key: value for key, value in archive.settings.items() if isinstance(value, str | int | float)}
    if as_json:
        print(json.dumps({"folder": str(folder), "settings": archive.settings, "rows": rows}, default=str))
        return
    heads = [key for key in rows[0] if key in _SHOWN or key.startswith(("any_", "threat_"))] if rows else []
    cells = [["–" if row[key] in (None, "") else _cell(row[key]) for key in heads] for row in rows]
    show(facts(str(folder), about.items()), table(f"{len(rows):,} rows", heads, cells, left=heads))
    show(f"As the file states it; starcert verify {file} proves it. Report: {folder / REPORT}")


def _row_of(name: str, rows: Iterable[Mapping[str, object]]) -> int:
    names = [str(row["name"]) for row in rows]
    if name in names:
        return names.index(name)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    hint = did_you_mean(name, names, f"There are {len(names):,}, such as {', '.join(names[:3])}.")
    raise InvalidParameterError("NAME", "name a row of the run", name, hint)


def _cell(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
