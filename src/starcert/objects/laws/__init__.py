"""Laws: the noise of one region, a transition law on the alphabet of its sites; and how files and commands write it.

`LAWS` are starcert's own. Any other is found among the laws that are defined already, by its name, or by what a run
gives: nothing is imported because a file from elsewhere names it.

A command line has a shorter way to write the JSON of files. P and DELETE/ADD are flips, perhaps with @ and how types
are drawn; P:VALUES or P:* is categorical noise, and DELETE/ADD/CHANGE, perhaps with :TYPES, that of edges of several
types. NAME(P/P) is a law of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from typing import Any

from starcert.objects.laws.flips import Edges, Flip
from starcert.objects.laws.law import LEAST, Law, Move, axis_moves, channels_of, probability, real_number, why_not_alike
from starcert.objects.laws.values import Categorical, Mask
from starcert.system.errors import InvalidParameterError

__all__ = ["LAWS", "LEAST", "Categorical", "Edges", "Flip", "Law", "Mask", "Move", "axis_moves", "channels_of",
           "defined_law", "law_from_json", "law_from_text", "law_to_text", "probability", "real_number",
           "why_not_alike"]  # fmt: skip

LAWS: tuple[type[Law], ...] = (Categorical, Edges, Flip, Mask)
"""Starcert's own laws."""
_NUMBERS = ("flip", "categorical", "delete", "add", "change")  # members that are probabilities, in their order


def defined_law(name: str) -> type[Law]:
    """The law that was defined last under this name, in a module that is imported."""
    base: type[Any] = Law
    if found := [law for law in _derived(base) if law.name == name]:
        return found[-1]
    hint = "Import what defines it first: nothing is imported because a file names it."
    raise InvalidParameterError("law", "be a law that is defined here", name, hint)


def _derived(law: type[Any]) -> Iterator[type[Law]]:
    for each in law.__subclasses__():
        yield each
        yield from _derived(each)


def law_from_json(value: object, find: Callable[[str], object] = defined_law) -> Law:
    """The law that `to_json` wrote down; `find` has the class that `{"law": NAME, …}` names.

    Example:
        >>> law_from_json(0.1), law_from_json({"delete": 0.04, "add": 0.2})
        (Flip(0.1), Flip(delete=0.04, add=0.2))
        >>> law_from_json({"categorical": 0.3, "values": 4})
        Categorical(0.3, 4)
    """
    if isinstance(value, Mapping) and "law" in value:
        return law_from_outside(value["law"], find, lambda law: law.from_json({**value, "law": law.name}), value)
    bare = isinstance(value, Real) and not isinstance(value, bool)
    members: dict[str, Any] = dict(value) if isinstance(value, Mapping) else {"flip": value} if bare else {}
    try:
        match members:
            case {"flip": p, **more}:
                return Flip(p, **more)
            case {"categorical": p, **more}:
                return Categorical(p, **more)
            case {"mask": p, **more}:
                return Mask(p, **more)
            case {"delete": delete, "add": add, "change": change, **more}:
                return Edges(delete=delete, add=add, change=change, **more)
            case {"delete": delete, "add": add, **more}:
                return Flip(delete=delete, add=add, **more)
    except TypeError:
        pass  # a member that the law has not
    hint = "Write 0.02, { delete = 0.04, add = 0.2 }, { categorical = 0.05 } or { delete, add, change }."
    raise InvalidParameterError("law", "be a probability, or the named numbers of a law", value, hint)


def law_from_outside(
    name: object, find: Callable[[str], object], read: Callable[[Any], Law | None], given: object
) -> Law:
    """The law of somebody else's that is called so, from what is given."""
    law = find(str(name))
    if not (isinstance(law, type) and issubclass(law, Law)):
        raise InvalidParameterError("law", "name a class that derives from starcert.Law", name)
    try:
        found = read(law)
    except InvalidParameterError:
        raise
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise InvalidParameterError("law", f"be what {name} takes", given, f"({problem}.)") from error
    if found is None:
        raise InvalidParameterError("law", f"be what {name} takes", given, "Write its numbers.")
    return found


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
    if "law" in value or isinstance(law, Mask):
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
