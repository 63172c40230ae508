"""Which laws there are, and how files write them.

`LAWS` are starcert's own. Any other is found among the laws that are defined already, by its name, or by what a run
gives: nothing is imported because a file from elsewhere names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from typing import Any

from starcert.objects.laws.flips import Flip
from starcert.objects.laws.law import Law
from starcert.objects.laws.values import Categorical, Edges
from starcert.system.errors import InvalidParameterError

LAWS: tuple[type[Law], ...] = (Categorical, Edges, Flip)
"""Starcert's own laws."""


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
