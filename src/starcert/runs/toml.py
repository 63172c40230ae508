"""TOML from plain values, with comments.

Python reads TOML but does not write it. What a run file needs is small: texts, numbers, lists of whole numbers, and
tables; and it needs comments, which the writers that one could install do not have.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping

from starcert.errors import InvalidParameterError

__all__ = ["document", "entry", "value"]


def value(item: object) -> str:
    r"""A value as TOML writes it; read back, it is the same to the last bit.

    Example:
        >>> print(value({"delete": 0.04, "add": 1e-05}), value('a "name"'), value([1, 45]))
        { delete = 0.04, add = 1e-05 } "a \"name\"" [1, 45]
    """
    match item:
        case bool():
            return "true" if item else "false"
        case int():
            return str(int(item))
        case float() if math.isfinite(item):
            return repr(float(item))  # the shortest decimal that reads back as this float
        case str():
            # JSON's escapes are TOML's; only the delete character may stand in JSON but not in TOML.
            return json.dumps(str(item), ensure_ascii=False).replace("\x7f", "\\u007f")
        case list() | tuple():
            return f"[{', '.join(map(value, item))}]"
        case Mapping():
            return "{ " + ", ".join(entry(name, each) for name, each in item.items()) + " }"
    raise InvalidParameterError("item", "be text, a finite number, true or false, a list or a mapping of such", item)


def entry(name: str, item: object) -> str:
    """A line that gives a name its value."""
    return f"{_key(name)} = {value(item)}"


def document(lines: Iterable[str | tuple[str, object]]) -> str:
    """A whole file from comments, empty lines, and names with their values.

    A mapping becomes a table; TOML wants those after everything that stands in none.

    Example:
        >>> print(document(["# half of it", ("seed", 1), ("noise", {"motif": 0.02})]), end="")
        # half of it
        seed = 1
        <BLANKLINE>
        [noise]
        motif = 0.02
    """
    written = []
    for line in lines:
        if isinstance(line, str):
            written.append(line)
        elif isinstance(line[1], Mapping):
            written += ["", f"[{_key(line[0])}]", *(entry(name, each) for name, each in line[1].items())]
        else:
            written.append(entry(*line))
    return "\n".join(written) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else value(name)
