"""Threats in files: text, label and number, and what is asked about each object.

A file states the threat as text. One that cannot be read from its text, as it belongs to somebody else's code or rests
on a function, is a `StatedThreat`: never one with a word of starcert's own. That a list has all attacks of its threat
is a premise: no file can prove it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, starmap
from typing import TYPE_CHECKING
from unicodedata import normalize

import numpy as np
from typing_extensions import override

from starcert.archive.claims import of_axes
from starcert.archive.format import ListedForm, ThreatText
from starcert.archive.listed_attacks import numbered_attacks
from starcert.archive.untrusted import check
from starcert.archive.verification import Mismatch
from starcert.claims.question import Question
from starcert.objects import Sites
from starcert.objects.binding import Problem
from starcert.objects.threats import THREATS, AnyFlips, Threat, Variants, Where, read_threat
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.archive.record import Archive

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


def threat_form(threat: Threat) -> ThreatText:
    """A threat as files have it."""
    return ThreatText(text=text_of(threat), label=threat.label, most=threat.most)


def threat_of_form(told: ThreatText, place: str, *, by_radius: bool = False) -> Threat:
    """The threat that a file is about, as its text describes it, or as the file states it if that cannot be read.

    One that is asked about by its radii is refused, unless `by_radius` allows it: its attacks are not listed.
    """
    text, label = told.text, told.label
    for name in ("text", "label"):
        check(getattr(told, name).isprintable(), f"{place}.{name}", "be printable text", getattr(told, name))
    try:
        threat = read_threat(text if len(text.split()) <= MAX_WORDS else None)
    except (InvalidParameterError, RecursionError):
        check(_is_foreign(text), f"{place}.text", "be read wherever it has a word of starcert's own", text)
        return StatedThreat(text, told.most, label)
    fits = str(threat) == text and (by_radius or not threat.by_radius)
    check(fits, f"{place}.text", "be the text of a threat" + " that lists its attacks" * (not by_radius), text)
    check(threat.most == told.most, f"{place}.most", f"be {threat.most}, as the text says", told.most)
    earlier = threat.label.replace("changes that keep", "flipped bonds that keep")
    earlier = earlier.replace("change that keeps", "flipped bond that keeps")
    check(label in (threat.label, earlier), f"{place}.label", f"be {threat.label!r}, as the text says", label)
    return threat


def question_of_form(told: ListedForm, place: str, threat: Threat, n_axes: int) -> Question:
    """The question about an object; its attacks are in the side file, if anywhere."""
    of_axes(told.attacks, f"{place}.attacks", threat.most)
    must = f"have an entry for each of {threat.most} sizes"
    check(len(told.levels) == threat.most, f"{place}.levels", must, len(told.levels))
    for size, (levels, count) in enumerate(zip(told.levels, told.attacks, strict=True)):
        where = f"{place}.levels[{size}]"
        for level in levels:
            of_axes(level, where, n_axes)
        fits = len(set(levels)) == len(levels) <= count and bool(levels) is bool(count) and all(map(any, levels))
        check(fits, where, "be different levels, each with attacks of its own", levels)
    return Question(threat, tuple(map(frozenset, told.levels)), told.attacks, ())


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


def listed_otherwise(archive: Archive, sites: Problem | Sequence[Sites]) -> Iterator[Mismatch]:
    """The differences between the attacks of a file and those that its threat lists on the objects."""
    given, objects = list(sites.sites if isinstance(sites, Problem) else sites), archive.votes.objects.tolist()
    if len(given) != max(objects) + 1:
        raise InvalidParameterError("sites", f"have one entry for each of {max(objects) + 1} objects", len(given))
    for number, (asked, each) in enumerate(zip(archive.asked or (), given, strict=False)):
        anew = Question.of(asked.threat, each, archive.noise)
        if not _same(asked, anew) or asked.levels != anew.levels:
            row = objects.index(number)
            yield Mismatch(row, archive.names[row], "listed", asked.counts, anew.counts)
    together = () if archive.collective is None else archive.collective.votes.asked
    for number, (here, each) in enumerate(zip(together, given, strict=False)):
        again = Question.of(here.threat, each, archive.noise).on(each, archive.noise)
        lists = numbered_attacks(again.sites, again.axes, again.attacks)
        if not _same(here, replace(again, attacks=lists)) or len(here.sites) != len(again.sites):
            row = objects.index(number)
            yield Mismatch(row, archive.names[row], "listed under 'collective'", here.counts, "others")


def _same(one: Question, other: Question) -> bool:
    """True if two questions list the same attacks."""
    pairs = zip(chain(*one.attacks), chain(*other.attacks), strict=False)
    return one.counts == other.counts and all(starmap(np.array_equal, pairs))
