"""From the words of a command line to descriptions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from starcert.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.noise import Flip, Noise

__all__ = ["parse_counts", "parse_noise", "parse_radius"]


def parse_noise(text: str) -> Noise:
    """A noise from REGION=P or REGION=DELETE/ADD, separated by commas."""
    from starcert.noise import Flip, Noise  # noqa: PLC0415

    def law(probabilities: str) -> Flip:
        parts = [float(part) for part in probabilities.split("/")]
        if len(parts) > 2:
            raise ValueError(probabilities)
        return Flip(parts[0]) if len(parts) == 1 else Flip(delete=parts[0], add=parts[1])

    laws: dict[str, Flip] = {}
    for name, value in _parse_items(text, "--noise", "be REGION=P or REGION=DELETE/ADD, separated by commas"):
        try:
            laws[name] = law(value)
        except InvalidParameterError as error:
            _, requirement, got, hint = error.args
            raise InvalidParameterError(f"--noise {name}", requirement, got, hint) from None
        except ValueError:
            raise InvalidParameterError(
                f"--noise {name}",
                "be a probability, or two as delete/add",
                value,
                "Write motif=0.02 or bonds=0.04/0.2.",
            ) from None
    return Noise(laws)


def parse_radius(law: Noise, text: str, option: str) -> tuple[int, ...]:
    """A radius from AXIS=COUNT, separated by commas, or from counts alone in the order of the axes."""
    if "=" not in text:  # counts alone, in the order of the axes
        return law.radius(parse_counts(text, option), option)
    items = _parse_items(text, option, "be AXIS=COUNT, separated by commas")
    counts = {name: _number(value, f"{option} {name}") for name, value in items}
    return law.radius(counts, option)


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
