"""Laws as a command line has them: a shorter way to write their JSON.

P and DELETE/ADD are flips, perhaps with @ and how types are drawn; P:VALUES or P:* is categorical noise, and
DELETE/ADD/CHANGE, perhaps with :TYPES, that of edges of several types. NAME(P/P) is a law of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starcert.objects.laws.law import Law
from starcert.objects.laws.reading import defined_law, law_from_json, law_from_outside
from starcert.system.errors import InvalidParameterError

_NUMBERS = ("flip", "categorical", "delete", "add", "change")  # members that are probabilities, in their order


def law_to_text(law: Law) -> str:
    """The law as a command line takes it; `law_from_text` reads it back.

    Example:
        >>> from starcert.objects.laws import Categorical, Flip
        >>> law_to_text(Flip(delete=0.04, add=0.2, added=(3, 1))), law_to_text(Categorical(0.3))
        ('0.04/0.2@3.0:1.0', '0.3:*')
    """
    value = law.to_json()
    if not isinstance(value, Mapping):
        return repr(value)
    if "law" in value:
        return f"{law.name}({'/'.join(map(repr, law.numbers.values()))})"
    chances = "/".join(repr(value[name]) for name in _NUMBERS if name in value)
    if (rule := value.get("added")) is not None:
        return f"{chances}@{rule if isinstance(rule, str) else ':'.join(map(repr, rule))}"
    number = value.get("values", value.get("types", "*" if "categorical" in value else None))
    return chances if number is None else f"{chances}:{number}"


def law_from_text(text: str, name: str, find: Callable[[str], object] = defined_law) -> Law:
    """The law that `law_to_text` wrote down. Errors call it `name`; `find` has the class that NAME(…) names.

    Example:
        >>> law_from_text("0.1", "--noise"), law_from_text("0.04/0.2", "--noise"), law_from_text("0.3:4", "--noise")
        (Flip(0.1), Flip(delete=0.04, add=0.2), Categorical(0.3, 4))
        >>> law_from_text("0.04/0.2/0.1", "--noise"), law_from_text("0.1@graph", "--noise")
        (Edges(delete=0.04, add=0.2, change=0.1), Flip(0.1, added='graph'))
    """
    outside, opened, numbers = text.partition("(")
    try:
        if opened:
            given = numbers.removesuffix(")").split("/")
            return law_from_outside(outside, find, lambda law: law(*map(float, filter(None, given))), text)
        return law_from_json(_members(text))
    except InvalidParameterError as error:
        raise InvalidParameterError(name, *error.args[1:]) from None
    except ValueError:
        hint = "Write motif=0.02, bonds=0.04/0.2, bonds=0.04/0.2/0.1 for typed edges or atoms=0.05:* for categories."
        raise InvalidParameterError(name, "be a probability, or several as delete/add", text, hint) from None


def _members(text: str) -> dict[str, Any]:
    """The JSON of a law that is not from outside; a ValueError if the text is none of its forms."""
    flips, typed, rule = text.partition("@")
    chances, numbered, number = flips.partition(":")
    given = [float(chance) for chance in chances.split("/")]
    names = {1: _NUMBERS[1:2] if numbered else _NUMBERS[:1], 2: _NUMBERS[2:4], 3: _NUMBERS[2:]}.get(len(given), ())
    found: dict[str, Any] = dict(zip(names, given, strict=True))
    if typed:
        found["added"] = rule if rule.isalpha() else [float(share) for share in rule.split(":")]
    if numbered and (len(given) == 2 or typed):
        raise ValueError(text)
    if numbered and (number, len(given)) != ("*", 1):
        found["values" if len(given) == 1 else "types"] = int(number)
    return found
