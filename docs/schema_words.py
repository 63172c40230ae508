"""What a JSON schema says of a class: the types of its fields, and their meaning where the code says it."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from starcert.classifiers.values import ValueRange
from starcert.objects.noise import Noise

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
PLAIN = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}
_LAW = {"$ref": "#/$defs/law"}
_FORMS: dict[type, Schema] = {
    Noise: {"type": "object", "additionalProperties": _LAW, "minProperties": 1},
    ValueRange: {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3},
}


def described(text: str | None) -> Schema:
    """A description, if there is one: the first paragraph."""
    line = " ".join((text or "").partition("\n\n")[0].split())
    return {"description": line} if line else {}


def attribute_docs(owner: type) -> dict[str, str]:
    """What a class says about its attributes: in its docstring, or in comments beside its fields; "" if nothing."""
    section = re.split(r"^(?:Attributes|Args):$", inspect.getdoc(owner) or "", flags=re.MULTILINE)[-1]
    section = re.split(r"^\S", section, flags=re.MULTILINE)[0]
    entries = re.findall(r"^    (\w[\w, ]*): (.*(?:\n {5,}.*)*)", section, flags=re.MULTILINE)
    entries += re.findall(r"^    (\w+): .*?  # (?!type:|noqa)(.*)$", inspect.getsource(owner), flags=re.MULTILINE)
    found = {name: text for names, text in entries for name in names.split(", ")}
    return defaultdict(str, {name: f"{text[0].upper()}{text[1:].rstrip('.')}." for name, text in found.items()})


def types_of(owner: type) -> dict[str, Any]:
    """The types of the fields of a class, also where they are imported for the type checker alone."""
    module = sys.modules[owner.__module__]
    names = {name: value for each in owner.__mro__[::-1] for name, value in vars(sys.modules[each.__module__]).items()}
    for part in ast.parse(inspect.getsource(module)).body:
        if isinstance(part, ast.If):
            exec(compile(ast.Module(part.body, []), str(module.__file__), "exec"), names)
    return get_type_hints(owner, names)


def of_type(hint: Any) -> Schema:  # noqa: ANN401  (types have no common one)
    """The values of a file that become values of this type; None is left out, and anything else is text."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(inside)}
    if origin in (Union, UnionType):
        return any_of(*(of_type(each) for each in inside if each is not NoneType))
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": of_type(inside[1])}
    if origin in (list, tuple, Sequence):
        null = [{"type": "null"}] if NoneType in get_args(inside[0]) else []
        return {"type": "array", "items": any_of(of_type(inside[0]), *null)}
    if hint in _FORMS:
        return dict(_FORMS[hint])
    return {} if hint is object else {"type": PLAIN.get(hint, "string")}


def any_of(*forms: Schema) -> Schema:
    """A value that has one of these forms."""
    different = [form for i, form in enumerate(forms) if form not in forms[:i]]
    return different[0] if len(different) == 1 else {"anyOf": different}


def object_of(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """An object with these members and no others."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "properties": dict(properties), **needed, "additionalProperties": False}
