"""Laws: the noise of one region, a transition law on the alphabet of its sites; and how files and commands write it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from starcert.objects.laws.law import Flip, Law, Move, TypedFlip, axis_moves, probability, real_number, why_not_alike
from starcert.objects.laws.values import Categorical, Edges
from starcert.system.errors import InvalidParameterError

__all__ = [
    "Categorical",
    "Edges",
    "Flip",
    "Law",
    "Move",
    "TypedFlip",
    "axis_moves",
    "law_from_json",
    "law_from_text",
    "probability",
    "real_number",
    "why_not_alike",
]


def law_from_json(value: object) -> Law:
    """The law that `to_json` wrote down.

    Example:
        >>> law_from_json(0.1), law_from_json({"delete": 0.04, "add": 0.2})
        (Flip(0.1), Flip(delete=0.04, add=0.2))
        >>> law_from_json({"categorical": 0.3, "values": 4})
        Categorical(0.3, 4)
    """
    if isinstance(value, Mapping):
        names = frozenset(value)
        if names - {"added"} in ({"flip"}, {"delete", "add"}):
            chances = {("p" if name == "flip" else name): chance for name, chance in value.items()}
            return Flip(**chances)
        if names - {"types"} == {"delete", "add", "change"}:
            return Edges(**value)
        if names - {"values"} == {"categorical"}:
            return Categorical(value["categorical"], value.get("values"))
    if isinstance(value, Mapping) or math.isnan(real_number(value)):
        hint = "Write 0.02, { delete = 0.04, add = 0.2 }, { categorical = 0.05 } or { delete, add, change }."
        raise InvalidParameterError("law", "be a probability, or the named numbers of a law", value, hint)
    return Flip(real_number(value))


def law_from_text(text: str, name: str) -> Law:
    """The law that `to_text` wrote down. Errors call it `name`.

    P and DELETE/ADD are flips, perhaps with @ and how types are drawn; P:VALUES or P:* is categorical noise, and
    DELETE/ADD/CHANGE, perhaps with :TYPES, that of edges of several types.

    Example:
        >>> law_from_text("0.1", "--noise"), law_from_text("0.04/0.2", "--noise"), law_from_text("0.3:4", "--noise")
        (Flip(0.1), Flip(delete=0.04, add=0.2), Categorical(0.3, 4))
        >>> law_from_text("0.04/0.2/0.1", "--noise"), law_from_text("0.1@graph", "--noise")
        (Edges(delete=0.04, add=0.2, change=0.1), Flip(0.1, added='graph'))
    """
    flips, typed, rule = text.partition("@")
    chances, numbered, number = flips.partition(":")
    try:
        parts = [float(part) for part in chances.split("/")]
        added: Any = {}
        if typed:
            added["added"] = rule if rule.isalpha() else [float(share) for share in rule.split(":")]
        if len(parts) == 3 and not typed:
            delete, add, change = parts
            return Edges(delete=delete, add=add, change=change, types=int(number) if numbered else None)
        if len(parts) == 1 and numbered and not typed:
            return Categorical(parts[0], None if number == "*" else int(number))
        if len(parts) > 2 or numbered:
            raise ValueError(text)
        return Flip(*parts, **added) if len(parts) == 1 else Flip(delete=parts[0], add=parts[1], **added)
    except InvalidParameterError as error:
        raise InvalidParameterError(name, *error.args[1:]) from None
    except ValueError:
        hint = "Write motif=0.02, bonds=0.04/0.2, bonds=0.04/0.2/0.1 for typed edges or atoms=0.05:* for categories."
        raise InvalidParameterError(name, "be a probability, or several as delete/add", text, hint) from None
