"""Threats in files: text, label and number, and what is asked about each object.

A file states the threat as text. One that cannot be read from its text, as it belongs to somebody else's code or rests
on a function, is a `StatedThreat`: never one with a word of starcert's own. That a list has all attacks of its threat
is a premise: no file can prove it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from unicodedata import normalize

from typing_extensions import override

from starcert.archive.untrusted import Field
from starcert.claims.question import Question
from starcert.math.channels import MAX_RADIUS
from starcert.objects.threats import MAX_ATTACKS, THREATS, AnyFlips, Threat, Variants, Where, read_threat
from starcert.system.errors import InvalidParameterError

MAX_WORDS = 2**8  # a text of more words is not read: each operator may nest one threat in another

MAX_TEXT = 10_000  # characters of a text that has words of ours

_WORDS = {each.word for each in THREATS if each not in (Where, Variants)}  # a function cannot be read
_SIGNS = {"(", ")", "|", "&", "+"}
_STAND_IN = str(AnyFlips(1))
_TOKENS = re.compile(r"[()]|\S+?(?=\)*(?:\s|$))")
_CALL = re.compile(r"[^\W\d][\w.]*\((?:[^()]|\([^()]*\))*\)")  # as Python shows an object


@dataclass(frozen=True)
class StatedThreat(Threat):
    """A threat that is known by what a file says about it: it lists nothing anew."""

    text: str
    most: int
    label: str = ""
    by_radius = False

    @override
    def __str__(self) -> str:
        return self.text


def text_of(threat: Threat) -> str:
    """The text of a threat in files: one that another threat is read from is not its own."""
    if isinstance(threat, StatedThreat):
        return threat.text
    try:
        return str(threat) if read_threat(str(threat)) == threat else repr(threat)
    except InvalidParameterError:
        return str(threat)


def threat_to_json(threat: Threat) -> dict[str, object]:
    """A threat as files have it."""
    return {"text": text_of(threat), "label": threat.label, "most": threat.most}


def threat_from_json(field: Field, *, by_radius: bool = False) -> Threat:
    """The threat that a file is about, as its text describes it, or as the file states it if that cannot be read.

    One that is asked about by its radii is refused, unless `by_radius` allows it: its attacks are not listed.
    """
    inside = field.members("text", "label", "most")
    text, label, most = inside["text"].text(), inside["label"].text(), inside["most"].whole(MAX_RADIUS)
    inside["most"].check(most > 0, "be 1 or more")
    for name in ("text", "label"):
        inside[name].check(inside[name].text().isprintable(), "be printable text")
    try:
        threat = read_threat(text if len(text.split()) <= MAX_WORDS else None)
    except (InvalidParameterError, RecursionError):
        inside["text"].check(_is_foreign(text), "be read wherever it has a word of starcert's own")
        return StatedThreat(text, most, label)
    fits = str(threat) == text and (by_radius or not threat.by_radius)
    inside["text"].check(fits, "be the text of a threat" + " that lists its attacks" * (not by_radius))
    inside["most"].check(threat.most == most, f"be {threat.most}, as the text says")
    earlier = threat.label.replace("changes that keep", "flipped bonds that keep")
    earlier = earlier.replace("change that keeps", "flipped bond that keeps")
    inside["label"].check(label in (threat.label, earlier), f"be {threat.label!r}, as the text says")
    return threat


def _is_foreign(text: str) -> bool:
    """True if a text that cannot be read has no word of ours, or can be read once other words are replaced by ours."""
    tokens = _TOKENS.findall(_CALL.sub(_STAND_IN, text) if len(text) <= MAX_TEXT else text)
    ours = {each for each in tokens if normalize("NFKC", each.partition(":")[0]).casefold() in _WORDS}
    if not ours or len(text) > MAX_TEXT:
        return not ours
    try:
        read_threat(" ".join(each if each in ours or each in _SIGNS else _STAND_IN for each in tokens))
    except (InvalidParameterError, RecursionError):
        return False
    return True


def question_from_json(field: Field, threat: Threat, n_axes: int) -> Question:
    """The question about an object; its attacks are in the side file, if anywhere."""
    inside = field.members("levels", "attacks")
    levels = [[level.wholes(n_axes, MAX_RADIUS) for level in levels.items()] for levels in inside["levels"].items()]
    counts = inside["attacks"].wholes(threat.most, MAX_ATTACKS)
    inside["levels"].check(len(levels) == threat.most, f"have an entry for each of {threat.most} sizes")
    for of_size, count in zip(levels, counts, strict=True):
        fits = len(set(of_size)) == len(of_size) <= count and bool(of_size) is bool(count) and all(map(any, of_size))
        inside["levels"].check(fits, "be different levels, each with attacks of its own")
    return Question(threat, tuple(map(frozenset, levels)), counts, ())
