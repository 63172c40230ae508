"""Whether a value is what a JSON schema says: the part of draft 2020-12 that our schemas use, and no more of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

ABOUT = {"$schema", "$defs", "title", "description", "default"}
TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "number": (int, float),
    "integer": int,
}


def faults(schema: Mapping[str, Any], value: object, *, root: Mapping[str, Any] | None = None) -> list[str]:
    """Everything that is wrong with a value, each with its place."""
    return list(_faults(schema, value, schema if root is None else root, "$"))


def _faults(schema: Mapping[str, Any], value: Any, root: Mapping[str, Any], at: str) -> Iterator[str]:
    for word, rule in schema.items():
        if word in ABOUT or (word in ("properties", "additionalProperties", "items") and not _inside(word, value)):
            continue
        yield from (f"{at}{fault}" for fault in _broken(word, rule, value, schema, root))


def _inside(word: str, value: object) -> bool:
    return isinstance(value, list if word == "items" else dict)


def _broken(word: str, rule: Any, value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match word:
        case "$ref":
            yield from _faults(root["$defs"][rule.removeprefix("#/$defs/")], value, root, "")
        case "type":
            if not isinstance(value, TYPES[rule]) or (rule in ("number", "integer") and not number):
                yield f": {value!r} is not of the type {rule}"
        case "pattern":
            if isinstance(value, str) and not re.search(rule, value):
                yield f": {value!r} has not the form {rule}"
        case "enum":
            if value not in rule:
                yield f": {value!r} is none of {rule}"
        case "const":
            if value != rule:
                yield f": {value!r} is not {rule!r}"
        case "minimum" | "maximum":
            if number and (value < rule if word == "minimum" else value > rule):
                yield f": {value!r} is beyond the {word}, {rule}"
        case "minItems" | "maxItems":
            if isinstance(value, list) and (len(value) < rule if word == "minItems" else len(value) > rule):
                yield f": has {len(value)} entries, beyond the {word}, {rule}"
        case "minProperties":
            if isinstance(value, dict) and len(value) < rule:
                yield f": has fewer than {rule} members"
        case "required":
            yield from (f".{name}: is missing" for name in rule if isinstance(value, dict) and name not in value)
        case "propertyNames":
            for name in value if isinstance(value, dict) else ():
                yield from _faults(rule, name, root, f".{name}")
        case "properties":
            for name in value.keys() & rule.keys():
                yield from _faults(rule[name], value[name], root, f".{name}")
        case "additionalProperties":
            for name in value.keys() - schema.get("properties", {}).keys():
                yield from (
                    [f".{name}: does not belong there"]
                    if rule is False
                    else _faults(rule, value[name], root, f".{name}")
                )
        case "items":
            for i, each in enumerate(value):
                yield from _faults(rule, each, root, f"[{i}]")
        case "anyOf":
            found = [list(_faults(each, value, root, "")) for each in rule]
            if all(found):
                yield f": is none of {len(rule)} forms ({'; '.join(found[0])})"
        case _:
            raise ValueError(f"what does {word!r} mean?")
