"""Keywords that are parts of `threat`, `evidence` and `voting` now: they work for one more version, and warn."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import reduce, wraps
from operator import and_
from typing import Any, ParamSpec, TypeVar

from starcert.objects.threats import AnyFlips, Box, threat_of
from starcert.system.errors import InvalidParameterError
from starcert.voting.options import Evidence, Voting

_THREATS = {"max_radius": Box, "max_flips": AnyFlips}
_VOTING = {**{each.name: each.name for each in fields(Voting)}, "title": "progress"}
_P = ParamSpec("_P")
_R = TypeVar("_R")


def with_old_keywords(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """The method, which takes the old keywords too, with a warning that shows what to write instead."""
    known = {*_VOTING, *(("own_samples", *_THREATS) if "threat" in inspect.signature(method).parameters else ())}

    @wraps(method)
    def call(*args: _P.args, **given: _P.kwargs) -> _R:
        old: dict[str, Any] = {key: given.pop(key) for key in list(given) if key in known}
        if old:
            instead = ", ".join(f"{argument}={text}" for argument, text in _new_form(old))
            text = f"{method.__name__}({', '.join(f'{key}=…' for key in old)}) is deprecated: write {instead}."
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            given.update(_new_arguments(old, given))
        return method(*args, **given)

    return call


def _new_form(old: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The arguments that replace old keywords, as one writes them."""
    if threats := [f"{_THREATS[key].__name__}(…)" for key in _THREATS if key in old]:
        yield "threat", " & ".join(threats)
    if "own_samples" in old:
        yield "evidence", "Evidence(own_samples=…)"
    if parts := dict.fromkeys(_VOTING[key] for key in old if key in _VOTING):
        yield "voting", f"Voting({', '.join(f'{name}=…' for name in parts)})"


def _new_arguments(old: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Those arguments: what else is given, with the values of the old keywords."""
    values = {key: value for key, value in old.items() if value is not None}
    threats = [kind(values[key]) for key, kind in _THREATS.items() if key in values]
    if threats:
        others = [] if given.get("threat") is None else [threat_of(given["threat"])]
        yield "threat", reduce(and_, [*threats, *others])
    if "own_samples" in values:
        if Evidence.of(given.get("evidence", False)) is None:
            raise InvalidParameterError("own_samples", "be left out without evidence", values["own_samples"])
        yield "evidence", Evidence(values["own_samples"])
    voting = {_VOTING[key]: values[key] for key in ("title", *_VOTING) if key in values}  # progress=False has no title
    yield "voting", replace(Voting.of(given.get("voting")), **voting)
