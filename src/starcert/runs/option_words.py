"""From the words of a command line to descriptions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from starcert.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.noise import Noise
    from starcert.runs.grid import Grid

__all__ = ["parse_by_axis", "parse_counts", "parse_grid", "parse_noise", "parse_radius"]


def parse_noise(text: str, option: str = "--noise") -> Noise:
    """A noise from REGION=P or REGION=DELETE/ADD, separated by commas."""
    from starcert.laws import law_from_text  # noqa: PLC0415
    from starcert.noise import Noise  # noqa: PLC0415

    items = _parse_items(text, option, "be REGION=P or REGION=DELETE/ADD, separated by commas")
    return Noise({name: law_from_text(value, f"{option} {name}") for name, value in items})


def parse_grid(texts: Sequence[str]) -> Grid:
    """A grid from REGION=P,P,… with commas between regions too; P may be DELETE/ADD.

    REGION.delete=P,P,… and REGION.add=P,P,… vary the two apart. A part without = is one more level of what was named
    last.
    """
    from starcert.laws import law_from_text  # noqa: PLC0415
    from starcert.runs.grid import Factor, Grid  # noqa: PLC0415

    levels: list[tuple[str, list[str]]] = []
    for part in (part.strip() for text in texts for part in text.split(",")):
        name, equals, value = (word.strip() for word in part.rpartition("="))
        if equals and name and "=" not in name:
            levels.append((name, [value]))
        elif levels and not equals:
            levels[-1][1].append(value)
        else:
            hint = "For example motif=0.02,0.05,0.1,random=0.2,0.45 or bonds=0.04/0.2,0.1/0.3."
            raise InvalidParameterError("--grid", "be REGION=P,P,… for each region", ", ".join(texts), hint)
    factors = []
    for name, values in levels:
        laws = [law_from_text(value, f"--grid {name}") for value in values]
        if "." in name and not all("flip" in law.numbers for law in laws):
            hint = f"Write {name}=0.04,0.1, or {name.partition('.')[0]}=0.04/0.2 for both."
            raise InvalidParameterError(f"--grid {name}", "be probabilities", ", ".join(values), hint)
        try:
            factors.append(Factor(name, tuple(law.numbers["flip"] if "." in name else law for law in laws)))
        except InvalidParameterError as error:
            raise InvalidParameterError(f"--grid {name}", *error.args[1:]) from None
    try:
        return Grid(tuple(factors))
    except InvalidParameterError as error:
        raise InvalidParameterError("--grid", *error.args[1:]) from None


def parse_radius(law: Noise, text: str, option: str) -> tuple[int, ...]:
    """A radius from AXIS=COUNT, separated by commas, or from counts alone in the order of the axes."""
    return law.radius(parse_by_axis(text, option), option)


def parse_by_axis(text: str, option: str) -> Sequence[float] | dict[str, float]:
    """The counts of a radius, by their axes or in the order of these; whether they fit a noise is not looked at."""
    if "=" not in text:
        return parse_counts(text, option)
    items = _parse_items(text, option, "be AXIS=COUNT, separated by commas")
    return {name: _number(value, f"{option} {name}") for name, value in items}


def _parse_items(text: str, option: str, requirement: str) -> list[tuple[str, str]]:
    items: list[tuple[str, str]] = []
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not (name and equals and value):
            raise InvalidParameterError(option, requirement, text)
        if name in dict(items):
            raise InvalidParameterError(option, f"name {name!r} once", text)
        items.append((name, value))
    return items


def parse_counts(text: str, option: str) -> list[float]:
    """Numbers separated by commas."""
    return [_number(part, option) for part in text.split(",")]


def _number(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InvalidParameterError(option, "be a whole number, or several with commas", text) from None
    return int(value) if math.isfinite(value) and value == int(value) else value
