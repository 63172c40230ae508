"""Writes the JSON schemas of run files, archives and benchmarks into docs/schemas, from the code alone: `make schemas`.

The keys of a run file, with types, limits, defaults and help, are those of the settings (`starcert.runs.settings`).

The fields of an archive are those that its reader asks for (`starcert.archive.reading`): archives that the tests keep
are read, and each question about a field is noted. A field that is never asked for a type, because it is only compared,
has the type of what it held. What a field means is said where the code says it.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any, get_args, get_type_hints
from unittest.mock import patch

from benchmark_schemas import results_schema, settings_schema
from schema_words import (
    DIALECT,
    PLAIN,
    PROBABILITY,
    Schema,
    any_of,
    attribute_docs,
    described,
    object_of,
    of_type,
    types_of,
)
from starcert.archive import collective_votes, premises, reading, record, writing
from starcert.archive.claims import MARGINS, Answer, Broken, Reach, Size
from starcert.archive.kept import Kept
from starcert.archive.record import Archive
from starcert.archive.untrusted import VERSION, Field
from starcert.claims.certificate import Certificate
from starcert.claims.collective import CollectiveClaim
from starcert.claims.question import Question
from starcert.claims.verdict import FoundAttack
from starcert.cli.run_commands import RunArgument
from starcert.math.fallback import BlindAnswers
from starcert.math.votes import Audit, Votes
from starcert.objects.laws import Categorical, Edges, Flip, Mask
from starcert.objects.noise import Noise
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

_QUESTIONS: dict[str, Schema] = {
    "text": {"type": "string"},
    "flag": {"type": "boolean"},
    "number": {"type": "number"},
    "probability": PROBABILITY,
    "whole": {"type": "integer", "minimum": 0},
    "wholes": {"type": "array", "items": {"type": "integer", "minimum": 0}},
    "mapping": {"type": "object"},
    "items": {"type": "array"},
}
"""What each method of `Field` asks a value to be."""


@dataclass
class _Asked:
    """What a reader asks of the fields with one place in the file, and what they held."""

    forms: list[Schema] = field(default_factory=list)
    members: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(default_factory=list)  # required, and optional
    held: list[Any] = field(default_factory=list)


@contextmanager
def _listening() -> Iterator[dict[str, _Asked]]:
    """Notes, by the place of a field (`graphs[].claims`), what is asked of it by anybody but `Field` itself."""
    asked: dict[str, _Asked] = defaultdict(_Asked)
    inside: list[str] = []

    def place(one: Field) -> _Asked:
        return asked[re.sub(r"\[\d+\]", "[]", one.name)]

    def listen(name: str) -> Any:  # noqa: ANN401  (a method)
        method = getattr(Field, name)

        @wraps(method)
        def noted(one: Field, *words: Any, **more: Any) -> Any:  # noqa: ANN401
            if not inside and name == "members":
                place(one).members.append((words, more.get("optional", ())))
            elif not inside:
                place(one).forms.append(_QUESTIONS[name])
            inside.append(name)
            try:
                found = method(one, *words, **more)
            finally:
                inside.pop()
            for each in found.values() if name == "members" else found if name == "items" else ():
                place(each).held.append(each.value)
            return found

        return noted

    with ExitStack() as patches:
        for name in (*_QUESTIONS, "members"):
            patches.enter_context(patch.object(Field, name, listen(name)))
        yield asked


def _meanings() -> dict[str, Schema]:
    """What the fields of an archive mean, by their places."""
    archive, votes, audit = attribute_docs(Kept) | attribute_docs(Archive), attribute_docs(Votes), attribute_docs(Audit)
    blind = attribute_docs(BlindAnswers)
    names = (*Answer._fields, *Reach._fields)
    claims = {name: vars(Certificate)[name].__doc__ for name in names if name in vars(Certificate)}
    claims |= {"margin": Certificate.margin_kind.__doc__} | attribute_docs(Answer) | attribute_docs(Reach)
    claims |= {"certified_size": Size.__doc__, "broken": "The broken levels, and the attacks that break them."}
    top = {name: archive[name] for name in archive} | {
        "says": writing.says.__doc__,
        "axes": Noise.axes.__doc__,
        "alpha_exact": premises.exact.__doc__,
        "margins": record.states_margins.__doc__,
        "classes": archive["class_names"],
        "bounds": archive["bound"],
        "fallback": votes["blind"],
        "audit": Audit.__doc__,
        "threat": Archive.threat.__doc__,
        "listed": archive["asked"],
    }
    question, together = attribute_docs(Question), attribute_docs(CollectiveClaim)
    graph = {
        "name": archive["names"],
        "true_class": archive["labels"],
        "estimation": votes["counts"],
        "selection": votes["selection"],
        "capacity": archive["boxes"],
        "anchored": archive["anchored"],
        "graph": votes["objects"],
        "target": votes["targets"],
        "node": archive["nodes"],
        "blind": blind["answers"],
        "claims": "What is claimed about the row.",
    }
    parts = {
        "": top,
        "audit.": audit,
        "fallback.": {"threshold": blind["threshold"], "exact": premises.exact.__doc__},
        "collective.": {"says": collective_votes.SAYS, "claims": CollectiveClaim.__doc__, "listed": archive["asked"]},
        "collective.listed[].": {"levels": question["levels"], "attacks": question["counts"]},
        "collective.claims[].": {name: together[name] for name in ("threat", "k", "alpha")},
        "listed[].": {"levels": question["levels"], "attacks": question["counts"]},
        "graphs[].": graph,
        "graphs[].claims.": {"class" if name == "label" else name: text for name, text in claims.items()},
        "graphs[].claims.broken[].": attribute_docs(FoundAttack),
    }
    return {f"{head}{name}": described(text) for head, texts in parts.items() for name, text in texts.items()}


def _region(law: dict[str, Schema]) -> Schema:
    """A region of the noise in an archive: a law, all of whose numbers are given, and again as exact fractions."""
    names = tuple(name for name in law if name != "added")
    exact = object_of({name: {"type": "string"} for name in names}, names)
    return object_of({"region": {"type": "string"}, **law, "exact": exact}, ("region", *names, "exact"))


def archive_schema() -> Schema:
    """The schema of an archive: of each field, what its reader asks for."""
    with _listening() as asked:
        for path in ARCHIVES:
            reading.read_top(reading.top_of(path), path, whole=True)
    meanings = _meanings()
    exact = {"type": "object", "additionalProperties": {"type": "string"}}
    region = {"region": {"type": "string"}, **_OUTSIDE["properties"], "exact": exact}
    outside = _OUTSIDE | {"properties": region, "required": list(region)}
    known = {
        "noise[]": {"anyOf": [*(_region(form) for form, _ in _law_forms()), outside]},
        "format": {"const": reading.FORMAT},
        "version": {"const": VERSION},
        "graphs[].claims.margin": {"enum": list(MARGINS)},
        "graphs[].claims.broken[].values": of_type(types_of(Broken)["values"]),
        **{name: of_type(types_of(Kept)[name]) for name in ("settings", "provenance")},  # with any names
    }

    def schema(place: str) -> Schema:
        one = asked[place]
        if place in known:
            forms = [known[place]]
        elif f"{place}[]" in asked:
            forms = [{"type": "array", "items": schema(f"{place}[]")}]
        elif one.members:
            prefix = f"{place}." if place else ""
            forms = [
                object_of({name: schema(prefix + name) for name in (*names, *optional)}, names)
                for names, optional in dict.fromkeys(one.members)
            ]
        else:
            forms = one.forms or [_of_value(value) for value in one.held if value is not None]
        if not forms:
            raise SystemExit(f"No archive that the tests keep has {place!r}: add one to {_TESTS / 'archive/kept'}.")
        null = [{"type": "null"}] if None in one.held else []
        return any_of(*forms, *null) | meanings.get(place, {})

    return {"$schema": DIALECT, "title": "An archive of starcert", **described(writing.__doc__), **schema("")}


def _of_value(value: Any) -> Schema:  # noqa: ANN401  (JSON)
    inside = {"items": any_of(*map(_of_value, value))} if isinstance(value, list) and value else {}
    return {"type": PLAIN[type(value)]} | inside


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
