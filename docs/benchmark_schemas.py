"""The JSON schemas of `starcert benchmark`: of its settings, and of the `benchmark.json` that it writes."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import Any, get_args

import msgspec

from schema_words import DIALECT, PROBABILITY, Schema, any_of, attribute_docs, described, object_of, of_type, types_of
from starcert.runs.settings import SETTINGS


def _properties(owner: type) -> dict[str, Schema]:
    """The fields of a class and of those that it derives from, as JSON has them."""
    meaning = {name: text for each in reversed(owner.__mro__[:-1]) for name, text in attribute_docs(each).items()}
    return {name: _form(hint) | described(meaning.get(name)) for name, hint in types_of(owner).items()}


def _form(hint: Any) -> Schema:  # noqa: ANN401  (types have no common one)
    inside = get_args(hint)
    if inside and is_dataclass(inside[0]) and isinstance(inside[0], type):
        return {"type": "array", "items": _record(inside[0])}
    return any_of(of_type(hint), *([{"type": "null"}] if NoneType in inside else []))


def _record(owner: type) -> Schema:
    found = _properties(owner)
    return object_of(found, tuple(found))


def settings_schema() -> Schema:
    """The schema of the file of settings. Nothing is required: every setting has a default."""
    from starcert.benchmark.networks import Networks  # noqa: PLC0415  (torch)
    from starcert.benchmark.settings import METHODS, Benchmark  # noqa: PLC0415

    found = _properties(Benchmark)
    for each in fields(Benchmark):
        if each.default is not MISSING:
            found[each.name]["default"] = list(each.default) if isinstance(each.default, tuple) else each.default
        if isinstance(each.default, tuple) and each.default:
            found[each.name]["minItems"] = 1
        elif type(each.default) is int:
            found[each.name]["minimum"] = 0 if each.name in ("seed", "own_samples") else 1
    for name in ("seeds", "chosen_for", "voters"):  # one number may stand for a list of them
        number = {"type": "integer", "minimum": 0 if name == "seeds" else 1}
        meaning = {key: found[name][key] for key in ("description", "default")}
        found[name] = {"anyOf": [number, {"type": "array", "items": number}], **meaning}
    found["folds"]["maximum"] = 10
    pair = {"type": "array", "items": PROBABILITY, "minItems": 2, "maxItems": 2}
    pairs = {"type": "array", "items": pair, "minItems": 1}
    found["rates"] = object_of(dict.fromkeys(Networks.rates, pairs)) | described(found["rates"]["description"])
    found["columns"] = msgspec.json.schema(SETTINGS["columns"].form) | described(found["columns"]["description"])
    groups = f"Groups are {', '.join(METHODS)}."
    found["methods"]["description"] += f" {groups}"
    return {"$schema": DIALECT, "title": "Settings of starcert benchmark", **object_of(found)}


def results_schema() -> Schema:
    """The schema of `benchmark.json`."""
    from starcert.benchmark.archives import Theirs  # noqa: PLC0415  (torch)
    from starcert.benchmark.settings import Benchmark  # noqa: PLC0415
    from starcert.benchmark.table import Line  # noqa: PLC0415

    texts, by_name = of_type(list[str]), of_type(dict[str, str])
    settings = _properties(Benchmark) | {
        "benchmark": {"const": 1},
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
