"""Valid examples, changed a little: what a careless hand, a broken disk or a malicious stranger may leave in a file."""

import re
from random import Random

NUMBERS = (
    *("0", "-0", "1", "-1", "2", "0.5", "1.5", "-0.1", "1e-400", "5e-324", "1e30", "1e400", "nan", "inf", "-inf"),
    *("99999999999", "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551616"),
    *("1_000", "0x10", "٣", "²", "1e", "--1", "1,", "7" * 5000, "0" * 300 + "1", "1" * 400),
)
PIECES = (
    *(
        "",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\x00",
        "\ufeff",
        "\u2028",
        "\x85",
        "\x1b[31m",
        "\ud800",
        "é",
        "☃",
        "𝟙",
        "e\u0301",
    ),
    *(
        "'",
        '"',
        '"""',
        "\\",
        "\\u0000",
        "%s",
        "{}",
        "{",
        "}",
        "[",
        "]",
        "[[",
        "(",
        ")",
        "<",
        ">",
        "&amp;",
        "&x;",
        "]]>",
    ),
    *(",", ";", ":", "=", "==", "/", "//", "../", "~", "~nosuchuser/x", ".", "..", "#", "!", "*", "-", "--", "null"),
    *("true", "None", "a" * 300, "[" * 3000, "{" * 3000, "(" * 3000, "a." * 500, "é" * 2000),
)


def mutate(rng: Random, text: str, times: int | None = None) -> str:
    """A text with one to four changes: pieces lost, doubled, exchanged, replaced by what is awkward."""
    for _ in range(times or rng.choice((1, 1, 1, 2, 2, 3, 4))):
        text = rng.choice(_CHANGES)(rng, text)
    return text


def mutate_bytes(rng: Random, content: bytes) -> bytes:
    """Bytes with a few changes: bits flipped, spans lost, doubled, or filled."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        start, stop = _span(rng, len(data))
        kind = rng.randrange(5)
        if kind == 0 and data:
            data[start % len(data)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[start:stop]
        elif kind == 2:
            data[start:start] = data[start:stop]
        elif kind == 3:
            data[start:stop] = bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF))]) * (stop - start)
        else:
            data[start:stop] = rng.randbytes(min(stop - start, 64))
    return bytes(data)


def _span(rng: Random, size: int) -> tuple[int, int]:
    start = rng.randrange(size + 1)
    length = rng.choice((0, 1, 1, 2, 4, 8, 16, 64, size))
    return start, min(size, start + length)


def _lose(rng: Random, text: str) -> str:
    start, stop = _span(rng, len(text))
    return text[:start] + text[stop:]


def _double(rng: Random, text: str) -> str:
    start, stop = _span(rng, len(text))
    return text[:stop] + text[start:stop] * rng.choice((1, 1, 2, 50)) + text[stop:]


def _insert(rng: Random, text: str) -> str:
    start, _ = _span(rng, len(text))
    return text[:start] + rng.choice(PIECES) + text[start:]


def _replace(rng: Random, text: str) -> str:
    start, stop = _span(rng, len(text))
    return text[:start] + rng.choice(PIECES + NUMBERS) + text[stop:]


def _renumber(rng: Random, text: str) -> str:
    found = list(re.finditer(r"-?\d+(\.\d+)?(e-?\d+)?", text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + rng.choice(NUMBERS) + text[match.end() :]


def _rearrange(rng: Random, text: str) -> str:
    """Lines lost, doubled or exchanged."""
    lines = text.split("\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        del lines[one]
    elif kind == 1:
        lines.insert(other, lines[one])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _cut(rng: Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _reword(rng: Random, text: str) -> str:
    """One word where another stands."""
    words = list(re.finditer(r"\w+", text))
    if not words:
        return text
    one, other = rng.choice(words), rng.choice(words)
    return text[: one.start()] + other.group() + text[one.end() :]


_CHANGES = (_lose, _double, _insert, _replace, _renumber, _renumber, _rearrange, _cut, _reword)
