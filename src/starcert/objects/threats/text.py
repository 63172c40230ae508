"""Threats as run files and command lines write them: `rewire:1`, `local:3,per_node=1`, `rewire:1 | flips:2`."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from operator import add, and_, or_
from typing import NoReturn
from urllib.parse import unquote

from starcert.objects.threats.base import Find, Threat
from starcert.objects.threats.edges import Controlled, LocalBudget, Rewire, Swap, Where
from starcert.objects.threats.flips import Additions, AnyColumns, AnyFlips, AnyWords, Box, Changes, Deletions
from starcert.objects.threats.nodes import DeleteNode, InjectNode
from starcert.objects.threats.valence import Valence
from starcert.objects.threats.variants import Variants
from starcert.system.errors import InvalidParameterError, did_you_mean

THREATS: tuple[type[Threat], ...] = (
    AnyFlips, Box, Deletions, Additions, Changes, Rewire, Swap, LocalBudget, Controlled, Where, Valence, DeleteNode,
    InjectNode, AnyColumns, AnyWords, Variants,
)  # fmt: skip
MAX_TOKENS, MAX_NESTED = 1_000, 20
_OWN = {each.word: each for each in THREATS}
_OPERATORS = {"|": or_, "&": and_, "+": add}  # the loosest first, as in Python
_REFERENCE = re.compile(r"([^:]+:[^\W\d]\w*)(?::(.*))?")  # file.py:NAME or module:NAME, and what follows


def read_threat(given: object, name: str = "threat", *, find: Find | None = None) -> Threat:
    """The threat that a text describes; a threat stays as it is. Errors call the parameter `name`.

    Operators stand between spaces: `a | b`, `a & b`, `a + b`, and parentheses around parts. `find` has what
    `file.py:NAME:2` or `where:2,name=…` refer to; without it nothing is imported because a text names it.

    Example:
        >>> read_threat("rewire:1 | deletions:2")
        Either(parts=(Rewire(most=1), Deletions(most=2)))
        >>> str(read_threat("(deletions:1 + additions:1) & controlled:2,nodes=a|b"))
        '(deletions:1 + additions:1) & controlled:2,nodes=a|b'
    """
    if isinstance(given, Threat):
        return given
    text = re.sub(r"(?<=[:,])\s+", "", given) if isinstance(given, str) else ""
    reader = _Reader(_tokens(text), name, given, find)
    if len(reader.tokens) > MAX_TOKENS:
        reader.refuse(f"It has {len(reader.tokens):,} words and parentheses, more than {MAX_TOKENS}.")
    found = reader.combined(list(_OPERATORS))
    if reader.tokens:
        reader.refuse()
    return found


def _tokens(text: str) -> list[str]:
    """The words of a text, without the parentheses around them, and these, each by itself."""
    found = list[str]()
    for word in text.split():
        inner = word.lstrip("()")
        bare = inner.rstrip(")")
        found += [*word[: len(word) - len(inner)], *[bare] * bool(bare), *inner[len(bare) :]]
    return found


def threat_of(given: object, name: str = "threat") -> Threat:
    """The threat that `read_threat` reads, if certificates look at its radii.

    Example:
        >>> threat_of("flips:2")
        AnyFlips(most=2)
    """
    found = read_threat(given, name)
    if not found.by_radius:
        hint = 'For example "flips:2", or "box:motif=3,random=45 & flips:2" for what both allow.'
        raise InvalidParameterError(name, "be defined by radii", str(found), hint)
    return found


@dataclass
class _Reader:
    tokens: list[str]  # those that are not read yet
    name: str
    given: object
    find: Find | None
    nested: int = 0  # parentheses that are open

    def refuse(self, hint: str = "") -> NoReturn:
        requirement = f"be a threat with its number, such as flips:2 or rewire:1; there are {', '.join(_OWN)}"
        raise InvalidParameterError(self.name, requirement, self.given, hint)

    def combined(self, operators: list[str]) -> Threat:
        """One threat, or several with operators of these."""
        if not operators:
            return self._one()
        found = self.combined(operators[1:])
        while self.tokens and self.tokens[0] == operators[0]:
            operator = _OPERATORS[self.tokens.pop(0)]
            found = operator(found, self.combined(operators[1:]))
        return found

    def _one(self) -> Threat:
        if not self.tokens:
            self.refuse()
        token = self.tokens.pop(0)
        if token == "(":
            self.nested += 1
            if self.nested > MAX_NESTED:
                self.refuse(f"More than {MAX_NESTED} parentheses are open at one place.")
            found = self.combined(list(_OPERATORS))
            self.nested -= 1
            if not self.tokens or self.tokens.pop(0) != ")":
                self.refuse("A parenthesis is not closed.")
            return found
        word, _, rest = token.partition(":")
        if word in _OWN:
            return self._made(_OWN[word], word, rest)
        if (parts := _REFERENCE.fullmatch(token)) is None:
            self.refuse(did_you_mean(word, _OWN))
        kind = self._found(reference := unquote(parts[1]))
        if not (isinstance(kind, type) and issubclass(kind, Threat)):
            self.refuse(f"{reference} is not a class derived from starcert.Threat.")
        found = self._made(kind, parts[1], parts[2] or "")
        object.__setattr__(found, "reference", reference)
        return found

    def _found(self, reference: str) -> object:
        if self.find is None:
            hint = "In Python, give the object, such as Where(near, 2). In a run file or a command, write FILE.PY:near."
            raise InvalidParameterError(self.name, "refer to what is known here", reference or self.given, hint)
        return self.find(reference)

    def _made(self, kind: type[Threat], word: str, rest: str) -> Threat:
        rest = f"name={rest}" if kind.by_reference and rest else rest
        items = [item.rpartition("=")[::2] for item in rest.split(",")] if rest else []
        options = {key: _value(value) for key, value in items if key}
        numbers = [number for key, value in items if not key and isinstance(number := _value(value), int)]
        try:
            if len(numbers) + len(options) < len(items):
                raise ValueError(rest)
            return kind.read(numbers, options, self._found)
        except InvalidParameterError as error:
            raise InvalidParameterError(self.name, *error.args[1:]) from None
        except (KeyError, TypeError, ValueError):
            named = [each.name for each in fields(kind) if each.name not in ("most", "predicate")]  # type: ignore[arg-type]
            form = kind.form or ",".join(["NUMBER", *(f"{name}=…" for name in named)])
            raise InvalidParameterError(self.name, f"be written {word}:{form}", f"{word}:{rest}") from None


def _value(text: str) -> object:
    """A number, or one or several names."""
    if re.fullmatch(r"0|[1-9][0-9]{0,9}", text):
        return int(text)
    names = tuple(unquote(each) for each in text.split("|"))
    return names if len(names) > 1 else names[0]
