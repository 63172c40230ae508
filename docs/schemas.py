"""Writes the JSON schemas of run files, archives and benchmarks into docs/schemas, from the code alone: `make schemas`.

The keys of a run file, with types, limits, defaults and help, are those of the settings (`starcert.runs.settings`).

Those of an archive are its form (`starcert.archive.format`).
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import get_args, get_type_hints

import msgspec

from benchmark_schemas import results_schema, settings_schema
from schema_words import DIALECT, PROBABILITY, Schema, any_of, attribute_docs, described, object_of, of_type
from starcert.archive import format as forms
from starcert.cli.run_commands import RunArgument
from starcert.objects.laws import Categorical, Edges, Flip, Mask
from starcert.runs import grid, run_file
from starcert.runs.declaration import table_schema
from starcert.runs.settings import GROUPS, SETTINGS, SWEEP_SETTINGS
from starcert.runs.training_run import TRAIN_SETTINGS, TrainSettings

__all__ = ["ARCHIVES", "FOLDER", "LAWS", "SCHEMAS", "archive_schema", "run_file_schema", "text_of"]

HERE = Path(__file__).parent
FOLDER = HERE / "schemas"
_TESTS = HERE.parent / "tests"
ARCHIVES = [path for place in ("archive/*", "golden/archives") for path in sorted(_TESTS.glob(f"{place}/*.json"))]
"""Archives that the tests keep: together they have every field."""

LAWS = (
    Flip(0.1),
    Flip(delete=0.1, add=0.1),
    Categorical(0.1, 2),
    Edges(delete=0.1, add=0.1, change=0.1, types=2),
    Mask(0.1),
)
"""One law for each set of numbers that a file may have."""

_OUTSIDE = {
    "type": "object",
    "properties": {"law": {"type": "string", "description": "A law of your own, by its place."}},
    "required": ["law"],
    "additionalProperties": {"type": "number"},
}
"""A law that is not starcert's own, with any numbers."""


# What the code says -------------------------------------------------------------------------------------------------


def _law_forms() -> list[tuple[dict[str, Schema], tuple[str, ...]]]:
    """The laws as files have them: each with its numbers and their meaning, and the names that must be given."""
    forms = []
    for law in LAWS:
        hints, meaning = get_type_hints(type(law).__init__), attribute_docs(type(law))
        properties = {}
        for name in (*law.numbers, *(name for name in ("added",) if name in hints)):
            parameter = name if name in hints else "p"
            numeric = float in (hints[parameter], *get_args(hints[parameter]))
            properties[name] = (PROBABILITY if numeric else of_type(hints[parameter])) | described(meaning[parameter])
        forms.append((properties, tuple(name for name in law.numbers if properties[name]["type"] == "number")))
    return forms


# Run files ----------------------------------------------------------------------------------------------------------


def _grid() -> Schema:
    """The levels of each region, as `Grid.of` reads them."""
    several = {"anyOf": [PROBABILITY, {"type": "array", "items": PROBABILITY}]}
    apart = object_of(dict.fromkeys(grid._FLIPS, PROBABILITY), ("delete", "add"))
    level = {"anyOf": [PROBABILITY, apart, _OUTSIDE]}
    levels = {"anyOf": [level, {"type": "array", "items": level}, object_of(dict.fromkeys(grid._FLIPS, several))]}
    about = described((inspect.getdoc(grid.Grid.of) or "").partition("\n\n")[2])
    return {"type": "object", "additionalProperties": levels, "minProperties": 1} | about


def run_file_schema() -> Schema:
    """The schema of a run file. Nothing is required: an option may give what the file leaves out."""
    about, laws = attribute_docs(run_file.RunFile), [object_of(*form) for form in _law_forms()]
    expected = object_of({key: {"type": "string"} for key in run_file.EXPECTED})
    of_sweeps = {key: each for key, each in SWEEP_SETTINGS.items() if each.of_sweeps}
    found = table_schema(
        SETTINGS,
        sweep=table_schema(of_sweeps, grid=_grid()) | described(about["sweep"]),
        train=table_schema(TRAIN_SETTINGS) | described(TrainSettings.__doc__),
        expected=expected | described(about["expected"]),
        voting=described("The settings selection_samples, plan and store, as a table."),
    )
    for name, keys in GROUPS.items():
        table = table_schema({key: SETTINGS[key] for key in keys})
        words = found["properties"][name].pop("description")
        flag = found["properties"][name]
        found["properties"][name] = (any_of(flag, table) if flag else table) | described(words)
    return {
        "$schema": DIALECT,
        "title": "A run file of starcert",
        **described(get_args(RunArgument)[1].help),
        **found,
        "$defs": {"law": {"anyOf": [PROBABILITY, *laws, _OUTSIDE]}},
    }


# Archives -----------------------------------------------------------------------------------------------------------


def _region(law: dict[str, Schema]) -> Schema:
    """A region of the noise in an archive: a law, all of whose numbers are given, and again as exact fractions."""
    names = tuple(name for name in law if name != "added")
    exact = object_of({name: {"type": "string"} for name in names}, names)
    return object_of({"region": {"type": "string"}, **law, "exact": exact}, ("region", *names, "exact"))


def archive_schema() -> Schema:
    """The schema of an archive of certificates: its form as the reader and the writer have it."""
    _, parts = msgspec.json.schema_components([forms.CertificatesFile], ref_template="#/$defs/{name}")
    for name, part in parts.items():
        owner = getattr(forms, name)
        meanings = attribute_docs(owner)
        for each in msgspec.structs.fields(owner):
            part["properties"][each.encode_name] |= described(meanings[each.name])
    whole, exact = parts.pop("CertificatesFile"), {"type": "object", "additionalProperties": {"type": "string"}}
    region = {"region": {"type": "string"}, **_OUTSIDE["properties"], "exact": exact}
    outside = _OUTSIDE | {"properties": region, "required": list(region)}
    whole["properties"]["noise"]["items"] = {"anyOf": [*(_region(form) for form, _ in _law_forms()), outside]}
    whole["properties"]["provenance"]["additionalProperties"] = {"type": "string"}
    for name, value in (("format", forms.FORMAT), ("version", forms.VERSION)):
        whole["properties"][name] |= {"const": value}
    return {"$schema": DIALECT, **whole, "title": "An archive of starcert", "$defs": parts}


# The files ----------------------------------------------------------------------------------------------------------

SCHEMAS = {
    "run-file.schema.json": run_file_schema,
    "archive.schema.json": archive_schema,
    "benchmark-settings.schema.json": settings_schema,
    "benchmark.schema.json": results_schema,
}
"""What makes each file of the folder."""


def text_of(name: str) -> str:
    """What a file must hold."""
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (FOLDER / name).write_text(text_of(name), encoding="utf-8")
