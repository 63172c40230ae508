"""`starcert show`: a finished run once more, or one of its rows explained."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from starcert import archive as archives
from starcert.cli.command_line import JsonOption, app, show
from starcert.runs.certification import certify_run
from starcert.runs.run_file import CERTIFICATES, REPORT, RUN, read_run_file
from starcert.runs.settings import run_settings
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean
from starcert.system.output import note
from starcert.system.tables import facts, table

_RESULTS = "The folder of a finished run, or its certificates.json."
_NAME = "A graph, node or row of it, by its name or number: all that is known about it."
_REBUILD = "Write table and page again, from the votes of the run, with the model and the data of its run.toml."
_SHOWN = ("name", "true_name", "true", "class_name", "answer", "estimate", "p_lower", "frontier", "certified_size",
          "broken_size", "attack")  # fmt: skip
"""The columns of `results.csv` that the table has, beside those by size of attack; --json has all."""


@app.command(name="show")
def show_run(
    results: Annotated[Path, typer.Argument(help=_RESULTS)],
    name: Annotated[str | None, typer.Argument(help=_NAME, metavar="[NAME]")] = None,
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
        _rebuild(folder)
    archive: Any = archives.read(file)
    rows = [dict(row) for row in archive.rows()]
    if name is not None:
        number = _row_of(name, rows)
        sentence = str(archive.certificates[number]) if isinstance(archive, archives.Archive) else ""
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
    cells = [["–" if row[key] in (None, "") else _short(row[key]) for key in heads] for row in rows]
    show(facts(str(folder), about.items()), table(f"{len(rows):,} rows", heads, cells, left=heads))
    show(f"As the file states it; starcert verify {file} proves it. Report: {folder / REPORT}")


def _rebuild(folder: Path) -> None:
    run = read_run_file(folder / RUN)
    settings = run_settings({**run.values, "out": folder})
    if not any((folder / kept).is_file() for kept in ("votes.db", "tried.json")):
        hint = "Its votes were kept elsewhere: repeat it with starcert certify and --set store=FILE."
        raise InvalidParameterError("--rebuild", "have the votes of the run beside its certificates", str(folder), hint)
    certify_run(settings, expected=run.expected, note=note)


def _row_of(name: str, rows: Iterable[Mapping[str, object]]) -> int:
    names = [str(row["name"]) for row in rows]
    if name in names:
        return names.index(name)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    hint = did_you_mean(name, names, f"There are {len(names):,}, such as {', '.join(names[:3])}.")
    raise InvalidParameterError("NAME", "name a row of the run", name, hint)


def _short(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
