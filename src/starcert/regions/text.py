"""Region rules as text: NAME or NAME:PARAMETER=VALUE,PARAMETER=VALUE."""

from __future__ import annotations

from collections.abc import Iterable

from starcert.errors import InvalidParameterError

__all__ = ["parse_rule", "text_of", "words_of"]

_FORM = "be NAME or NAME:PARAMETER=VALUE, with commas between parameters"


def parse_rule(text: str) -> tuple[str, dict[str, str]]:
    """The name of a builder and its parameters, as text; commas inside brackets belong to a value.

    Example:
        >>> parse_rule("functional_groups:smarts=[N,O]=C,bonds=guess")
        ('functional_groups', {'smarts': '[N,O]=C', 'bonds': 'guess'})
    """
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameterError("regions", _FORM, text, "Write for instance communities:resolution=1.5.")
    name, colon, rest = text.partition(":")
    parameters: dict[str, str] = {}
    for item in _items(rest) if colon else []:
        parameter, equals, value = (part.strip() for part in item.partition("="))
        if not (parameter and equals and value):
            raise InvalidParameterError("regions", _FORM, text, f"{item.strip()!r} is no PARAMETER=VALUE.")
        if parameter in parameters:
            raise InvalidParameterError("regions", f"give {parameter!r} once", text)
        parameters[parameter] = value
    return name.strip(), parameters


def words_of(value: object, parameter: str) -> tuple[str, ...]:
    """Several words in one value: separated by slashes in text, or a sequence of strings.

    Example:
        >>> words_of("nitro/amine", "groups"), words_of(["C", "N"], "elements")
        (('nitro', 'amine'), ('C', 'N'))
    """
    words = value.split("/") if isinstance(value, str) else value
    if isinstance(words, list | tuple) and words and all(isinstance(word, str) and word.strip() for word in words):
        found = tuple(word.strip() for word in words)
        if len(set(found)) == len(found):
            return found
    hint = "In text they stand between slashes: C/N/O."
    raise InvalidParameterError(parameter, "be one or more different words", value, hint)


def text_of(words: str | Iterable[str] | None) -> str | None:
    """Several words as text, so that `words_of` reads them."""
    return words if words is None or isinstance(words, str) else "/".join(words)


def _items(text: str) -> list[str]:
    items, depth = [""], 0
    for character in text:
        depth += (character in "[(") - (character in "])")
        if character == "," and depth <= 0:
            items.append("")
        else:
            items[-1] += character
    return items
