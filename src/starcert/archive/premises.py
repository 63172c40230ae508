"""Premises of claims as files have them, whatever the claims are: noise, questions, an audit, and side files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from starcert.archive.claims import MAX_VOTES
from starcert.archive.evidence_file import SIDE, GraphEvidence
from starcert.archive.side_arrays import read_side
from starcert.archive.untrusted import Field
from starcert.math.votes import Audit
from starcert.objects.laws import Law, law_from_json
from starcert.objects.noise import Noise
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.claims.question import Question
    from starcert.objects.threats import Threat

MAX_VALUES = 256  # a value of a site fits in a byte

MISSING = (
    "What evidence certifies or breaks is proved from {name}, which is not beside the file. Without it, certificates "
    "are those of the counts of votes (p_A) alone."
)


def exact(value: float) -> str:
    """A float as the fraction that it is."""
    return str(Fraction(value))


def noise_to_json(noise: Noise) -> list[dict[str, object]]:
    """The laws of a noise as files have them; refused if they would not be read as they are."""
    laws: list[dict[str, object]] = []
    for region in noise:
        law = noise[region]
        form = law.to_json()
        try:
            again = law_from_json(form)
        except InvalidParameterError as error:
            raise InvalidParameterError("noise", "have laws that files know", law, str(error)) from error
        if type(again) is not type(law) or again.to_json() != form:  # otherwise the file would speak of another law
            hint = "A law that derives from another needs its own to_json and from_json."
            raise InvalidParameterError("noise", "have laws that are read as they are written", law, hint)
        given = form if isinstance(form, dict) else law.numbers  # how added types are drawn stands beside the numbers
        laws.append({"region": region, **given, "exact": {name: exact(p) for name, p in law.numbers.items()}})
    return laws


def noise_from_json(laws: Field) -> Noise:
    """The noise that a file is about."""
    found: dict[str, Law] = {}
    for each in laws.items():
        inside = each.members("region", "exact", optional=tuple(each.mapping()))
        region, fractions = inside.pop("region"), inside.pop("exact")
        region.check(region.text() not in found, "name a region once")
        for name, number in inside.items():
            if name not in ("law", "added"):
                number.number()
        given = {name: field.value for name, field in inside.items()}
        try:
            law = law_from_json(given)
            each.check(law.alphabet <= MAX_VALUES, f"be a law on at most {MAX_VALUES} values")
        except InvalidParameterError as error:
            parameter, requirement, got, hint = error.args
            whose = [field.name for field in inside.values() if field.value is got]
            whose.append(each.name if parameter == "law" else f"{each.name}.{parameter}")
            raise InvalidParameterError(whose[0], requirement, got, hint) from None
        for name, fraction in fractions.members(*law.numbers).items():
            check_exact(fraction, law.numbers[name])
        found[region.text()] = law
    return Noise(found)


def check_exact(field: Field, value: float) -> None:
    """Refuses a fraction that is not what a number is exactly."""
    field.check(field.value == exact(value), f"be the fraction that {value!r} is")


def evidence_from_json(
    field: Field,
    path: Path,
    unpacked: Callable[[BinaryIO], list[GraphEvidence | None]],
    *,
    needed: bool,
    n_graphs: int,
    missing: str = MISSING,
) -> tuple[GraphEvidence | None, ...]:
    """The evidence in the side file that a field describes; one that is missing may not be needed."""
    found = read_side(field, path, SIDE, unpacked, missing, needed=needed)
    return (None,) * n_graphs if found is None else tuple(found)


def questions_from_json(field: Field, threat: Threat, n_axes: int, n_objects: int) -> list[Question]:
    """The question of a threat about each object, without its attacks."""
    from starcert.archive.threat_texts import question_from_json  # noqa: PLC0415  (threats list attacks on objects)

    found = [question_from_json(each, threat, n_axes) for each in field.items()]
    field.check(len(found) == n_objects, f"have an entry for each of {n_objects:,} graphs")
    return found


def audit_from_json(field: Field) -> Audit:
    """The result of an audit, as a file states it."""
    names = [each.name for each in fields(Audit)]
    inside = field.members(*names, "says")
    audit = Audit(*(inside[name].whole(MAX_VOTES) for name in names))
    alone = audit.clean_alone <= audit.clean and audit.attacked_alone <= audit.attacked
    field.check(alone, "have no more copies alone than copies")
    field.check(audit.independent <= audit.clean, "have no more independent copies than copies of the graphs")
    inside["says"].text()
    return audit
