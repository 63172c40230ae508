"""Threats as run files and command lines write them: `rewire:1`, `local:3,per_node=1`, `rewire:1 | flips:2`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NoReturn
from urllib.parse import unquote

from starcert.objects.threats.base import _KINDS, Threat, parts_of
from starcert.objects.threats.edges import Controlled, LocalBudget, Predicate, Rewire, Swap, Where
from starcert.objects.threats.flips import Additions, AnyFlips, Box, Changes, Deletions
from starcert.objects.threats.nodes import DeleteNode, InjectNode, RestoreNode
from starcert.objects.threats.valence import Valence
from starcert.system.errors import InvalidParameterError, did_you_mean

THREATS: tuple[type[Threat], ...] = (
    AnyFlips,
    Box,
    Deletions,
    Additions,
    Changes,
    Rewire,
    Swap,
    LocalBudget,
    Controlled,
    Where,
    Valence,
    DeleteNode,
    RestoreNode,
    InjectNode,
)
_LOOSEST_FIRST = ("|", "&", "+")  # as in Python


def read_threat(
    given: object,
    name: str = "threat",
    *,
    predicates: Mapping[str, Predicate] | None = None,
    threats: Iterable[type[Threat]] = (),
) -> Threat:
    """The threat that a text describes; a threat stays as it is. Errors call the parameter `name`.

    Operators stand between spaces: `a | b`, `a & b`, `a + b`, and parentheses around parts. `predicates` are functions
    that `where:2,name=near` may name, `threats` further classes with a `word`.

    Example:
        >>> read_threat("rewire:1 | local:3,per_node=1")
        Either(left=Rewire(most=1), right=LocalBudget(most=3, per_node=1, strength=None, counting='flips'))
        >>> str(read_threat("(deletions:1 + additions:1) & controlled:2,nodes=a|b"))
        '(deletions:1 + additions:1) & controlled:2,nodes=a|b'
    """
    if isinstance(given, Threat):
        return given
    tokens = re.findall(r"[()]|[^\s()]+", given) if isinstance(given, str) else []
    known = _KINDS | {each.word: each for each in (*THREATS, *threats) if each.word}
    reader = _Reader(tokens, known, predicates or {}, name, given)
    found = reader.combined(0)
    if reader.tokens:
        reader.refuse()
    return found


class _Reader:
    def __init__(
        self,
        tokens: list[str],
        known: Mapping[str, type[Threat]],
        predicates: Mapping[str, Predicate],
        name: str,
        given: object,
    ) -> None:
        self.tokens, self._known, self._predicates, self._name, self._given = tokens, known, predicates, name, given

    def refuse(self, hint: str = "") -> NoReturn:
        requirement = f"be a threat with its number, such as flips:2 or rewire:1; there are {', '.join(self._known)}"
        raise InvalidParameterError(self._name, requirement, self._given, hint)

    def combined(self, looseness: int) -> Threat:
        """One threat, or several with operators that bind at least as tightly."""
        if looseness == len(_LOOSEST_FIRST):
            return self._one()
        found = self.combined(looseness + 1)
        while self.tokens and self.tokens[0] == _LOOSEST_FIRST[looseness]:
            operator = self.tokens.pop(0)
            other = self.combined(looseness + 1)
            found = found | other if operator == "|" else found & other if operator == "&" else found + other
        return found

    def _one(self) -> Threat:
        if not self.tokens:
            self.refuse()
        token = self.tokens.pop(0)
        if token == "(":
            found = self.combined(0)
            if not self.tokens or self.tokens.pop(0) != ")":
                self.refuse("A parenthesis is not closed.")
            return found
        word, _, rest = token.partition(":")
        if word not in self._known:
            self.refuse(did_you_mean(word, self._known))
        if self._known[word].form:
            parsed = self._known[word].parse(rest)
            return self.refuse(f"{token!r} is to be {self._known[word].form}.") if parsed is None else parsed
        return self._with_options(token, word, rest)

    def _with_options(self, token: str, word: str, rest: str) -> Threat:
        number, options = None, dict[str, object]()
        for place, part in enumerate(rest.split(",")):
            key, equals, value = part.partition("=")
            if not equals and place == 0 and re.fullmatch(r"[1-9][0-9]{0,8}", part):
                number = int(part)
            elif not equals or not key or not value or key in options:
                self.refuse(f"{token!r} is to be {word}:NUMBER,NAME=VALUE,…")
            else:
                options[key] = _value(value)
        if word == Where.word:
            options["predicates"] = self._predicates
        try:
            return self._known[word].read(number, options)
        except InvalidParameterError as error:
            raise InvalidParameterError(self._name, *error.args[1:]) from None
        except TypeError:  # an option that it does not have
            self.refuse(f"{token!r} has an option that {word} does not have.")


def _value(text: str) -> object:
    """A number, or one or several names."""
    if re.fullmatch(r"0|[1-9][0-9]{0,8}", text):
        return int(text)
    names = tuple(unquote(each) for each in text.split("|"))
    return names if len(names) > 1 else names[0]


def threat_of(given: object, name: str = "threat") -> Threat:
    """The threat that a text describes; a threat stays as it is. Errors call the parameter `name`.

    Example:
        >>> threat_of("flips:2")
        AnyFlips(most=2)
    """
    if isinstance(given, Threat):
        for each in (part for part in parts_of(given) if not part.by_radius):
            hint = "Its attacks can be listed: threat.attacks(sites, size)."
            raise InvalidParameterError(name, "be one that certificates look at by radius", each.label, hint)
        return given
    texts = re.split(r"\s+&\s+", given.strip()) if isinstance(given, str) else []  # a region's name has no spaces
    found = [
        _KINDS[word].parse(rest.strip()) if word in _KINDS else None
        for word, _, rest in (text.partition(":") for text in texts)
    ]
    threats = [each for each in found if each is not None]
    if not threats or len(threats) < len(found):
        forms = ", ".join(kind.form for kind in _KINDS.values())
        hint = 'For example "flips:2", or "box:motif=3,random=45 & flips:2" for what both allow.'
        raise InvalidParameterError(name, f"be {forms}, or several with & between them", given, hint)
    first, *others = threats
    for other in others:
        first &= other
    return first
