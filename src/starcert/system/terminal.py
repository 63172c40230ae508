"""What reaches a terminal: text in which nothing commands it.

Names of classes, regions, graphs and files come from data that nobody vouches for. A terminal obeys what is written to
it: an escape sequence in a name could hide a warning, paint a verdict or change the window's title. So every text that
is printed passes through `plain`, and what the terminal's encoding does not have is replaced.
"""

from __future__ import annotations

import contextlib
import io
import sys
import unicodedata

__all__ = ["plain", "say", "tolerate_encodings"]

_COMMANDING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Categories of characters that command a terminal, are invisible, or are none: see the Unicode standard."""


def plain(text: str) -> str:
    r"""The text on as many lines as it has, with everything that is no visible character written as its number.

    Example:
        >>> plain("class \x1b[31mred\x1b[0m, \u202egnp.exe, ärztlich")
        'class \\x1b[31mred\\x1b[0m, \\u202egnp.exe, ärztlich'
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(
        sign if sign == "\n" or unicodedata.category(sign) not in _COMMANDING else _number(sign) for sign in text
    )


def _number(sign: str) -> str:
    code = ord(sign)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def say(text: str) -> None:
    """Writes a line to standard error, one line whatever the text holds; a closed standard error stays silent."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # nobody listens: closed, or never there
        print(plain(" ".join(text.splitlines())), file=sys.stderr, flush=True)


def tolerate_encodings() -> None:
    """Lets standard output and error replace what their encoding does not have, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
