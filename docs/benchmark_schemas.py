"""The JSON schemas of `starcert benchmark`: of its settings, and of the `benchmark.json` that it writes."""

from __future__ import annotations

from dataclasses import is_dataclass
from types import NoneType
from typing import Any, get_args

from schema_words import DIALECT, Schema, any_of, attribute_docs, described, object_of, of_type, types_of
from starcert.runs.declaration import table_schema


def _record(owner: type) -> Schema:
    """The fields of a class, as JSON has them."""
    meaning = attribute_docs(owner)
    found = {name: _form(hint) | described(meaning.get(name)) for name, hint in types_of(owner).items()}
    return object_of(found, tuple(found))


def _form(hint: Any) -> Schema:  # noqa: ANN401  (types have no common one)
    inside = get_args(hint)
    if inside and is_dataclass(inside[0]) and isinstance(inside[0], type):
        return {"type": "array", "items": _record(inside[0])}
    return any_of(of_type(hint), *([{"type": "null"}] if NoneType in inside else []))


def settings_schema() -> Schema:
    """The schema of the file of settings. Nothing is required: every setting has a default."""
    from starcert.benchmark.settings import SETTINGS  # noqa: PLC0415  (torch)

    return {"$schema": DIALECT, "title": "Settings of starcert benchmark", **table_schema(SETTINGS)}


def results_schema() -> Schema:
    """The schema of `benchmark.json`."""
    from starcert.benchmark.archives import Theirs  # noqa: PLC0415  (torch)
    from starcert.benchmark.results import Line  # noqa: PLC0415
    from starcert.benchmark.settings import SETTINGS  # noqa: PLC0415

    texts, by_name = of_type(list[str]), of_type(dict[str, str])
    settings = {
        "benchmark": {"const": 1},
        **table_schema(SETTINGS)["properties"],
        "code": by_name,
        "digests": by_name,
        "versions": by_name,
    }
    top: dict[str, Schema] = {
        "settings": object_of(settings, tuple(settings)) | described("What a folder of results must agree on."),
        "provenance": by_name | described("The versions that made it."),
        "notes": {"type": "object", "additionalProperties": texts} | described("What was left out of data, by name."),
        "devices": texts | described("What computed."),
        "lines": {"type": "array", "items": _record(Line)} | described(Line.__doc__),
        "theirs": {"type": "array", "items": _record(Theirs)} | described(Theirs.__doc__),
        "published": {"type": "array", "items": by_name} | described("Figures of others, and their sources."),
    }
    return {"$schema": DIALECT, "title": "Results of starcert benchmark", **object_of(top, tuple(top))}
