"""Laws: the noise of one region, a transition law on the alphabet of its sites; and how files and commands write it.

`LAWS` are starcert's own. Any other is found among the laws that are defined already, by its name, or by what a run
gives: nothing is imported because a file from elsewhere names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from starcert.objects.laws.flips import Flip, TypedFlip
from starcert.objects.laws.law import LEAST, Law, Move, axis_moves, channels_of, probability, real_number, why_not_alike
from starcert.objects.laws.values import Categorical, Edges
from starcert.system.errors import InvalidParameterError

__all__ = ["LAWS", "LEAST", "Categorical", "Edges", "Flip", "Law", "Move", "TypedFlip", "axis_moves", "channels_of",
           "defined_law", "law_from_json", "law_from_text", "probability", "real_number",
           "why_not_alike"]  # fmt: skip

LAWS: tuple[type[Law], ...] = (Categorical, Edges, Flip)
"""Starcert's own laws. Each knows what it has written; they are asked in turn."""


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
        return _from_outside(value["law"], find, lambda law: law.from_json({**value, "law": law.name}), value)
    if (found := _first(LAWS, lambda law: law.from_json(value))) is None:
        hint = "Write 0.02, { delete = 0.04, add = 0.2 }, { categorical = 0.05 } or { delete, add, change }."
        raise InvalidParameterError("law", "be a probability, or the named numbers of a law", value, hint)
    return found


def law_from_text(text: str, name: str, find: Callable[[str], object] = defined_law) -> Law:
    """The law that `to_text` wrote down. Errors call it `name`.

    P and DELETE/ADD are flips, perhaps with @ and how types are drawn; P:VALUES or P:* is categorical noise, and
    DELETE/ADD/CHANGE, perhaps with :TYPES, that of edges of several types. NAME(P/P) is a law that `find` has.

    Example:
        >>> law_from_text("0.1", "--noise"), law_from_text("0.04/0.2", "--noise"), law_from_text("0.3:4", "--noise")
        (Flip(0.1), Flip(delete=0.04, add=0.2), Categorical(0.3, 4))
        >>> law_from_text("0.04/0.2/0.1", "--noise"), law_from_text("0.1@graph", "--noise")
        (Edges(delete=0.04, add=0.2, change=0.1), Flip(0.1, added='graph'))
    """
    outside, opened, numbers = text.partition("(")
    try:
        if opened:
            return _from_outside(outside, find, lambda law: law.from_text(f"{law.name}({numbers}"), text)
        if (found := _first(LAWS, lambda law: law.from_text(text))) is not None:
            return found
    except InvalidParameterError as error:
        raise InvalidParameterError(name, *error.args[1:]) from None
    except ValueError:
        pass
    hint = "Write motif=0.02, bonds=0.04/0.2, bonds=0.04/0.2/0.1 for typed edges or atoms=0.05:* for categories."
    raise InvalidParameterError(name, "be a probability, or several as delete/add", text, hint)


def _first(laws: Sequence[type[Law]], read: Callable[[type[Law]], Law | None]) -> Law | None:
    return next((found for law in laws if (found := read(law)) is not None), None)


def _from_outside(
    name: object, find: Callable[[str], object], read: Callable[[type[Law]], Law | None], given: object
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
