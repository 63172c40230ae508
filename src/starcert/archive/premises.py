"""Premises of claims as files have them, whatever the claims are: noise, questions, an audit, and side files.

A side file is found beside its JSON file, which has its size and SHA-256: any other one is refused.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from hashlib import file_digest, sha256
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from starcert.archive.claims import MAX_VOTES
from starcert.archive.evidence_file import GraphEvidence
from starcert.archive.untrusted import Field, MalformedError, opened
from starcert.math.audit import Audit
from starcert.objects.laws import Law, law_from_json
from starcert.objects.noise import Noise
from starcert.system.errors import ArchiveError, InvalidParameterError, StarcertWarning
from starcert.system.files import write_whole

if TYPE_CHECKING:
    from starcert.claims.question import Question
    from starcert.objects.threats import Threat

SIDE = ".evidence.npz"  # how the name of a side file ends
MAX_NAME = 255  # bytes of the name of a side file
MAX_SIDE = 2**31  # bytes of a side file; larger ones are refused before they are read
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


def write_side(path: Path, data: bytes | None) -> dict[str, object]:
    """Writes the side file of a file, unless there is nothing in it, and returns the entry about it."""
    if data is None:
        return {"evidence": {"file": None, "bytes": 0, "sha256": ""}}
    side = path.with_name(f"{path.stem}{SIDE}")
    write_whole(side, [data])
    return {"evidence": {"file": side.name, "bytes": len(data), "sha256": sha256(data).hexdigest()}}


def evidence_from_json(
    field: Field,
    path: Path,
    unpacked: Callable[[BinaryIO], list[GraphEvidence | None]],
    *,
    needed: bool,
    n_graphs: int,
    missing: str = MISSING,
) -> tuple[GraphEvidence | None, ...]:
    """The content of the side file that a field describes; one that is missing may not be needed."""
    entry = field.members("file", "bytes", "sha256")
    nothing = (None,) * n_graphs
    if entry["file"].value is None:
        return nothing
    name, size, digest = entry["file"].text(), entry["bytes"].whole(MAX_SIDE), entry["sha256"].text()
    beside = (
        name.endswith(SIDE)
        and Path(name).name == name
        and "\0" not in name
        and len(name.encode("utf-8", "surrogatepass")) <= MAX_NAME
    )
    entry["file"].check(beside, f"be the name of a file in the same folder that ends in {SIDE}")
    side = path.with_name(name)
    if not side.exists():
        what, less = (each.replace("{name}", name) for each in missing.split(". ", 1))
        if needed:
            raise ArchiveError(fspath(path), f"{what}. Put it there.")
        warnings.warn(f"{path}: {what}. {less}", StarcertWarning, stacklevel=1)
        return nothing
    with opened(side, f"It was written together with {path.name}.", MAX_SIDE) as file:
        if os.fstat(file.fileno()).st_size != size or file_digest(file, "sha256").hexdigest() != digest:
            raise ArchiveError(fspath(side), f"is not the file that {path.name} was written with: other bytes.")
        try:
            return tuple(unpacked(file))
        except MalformedError as error:
            raise ArchiveError(fspath(side), str(error)) from None


def questions_from_json(field: Field, threat: Threat, n_axes: int, n_objects: int) -> list[Question]:
    """What a threat asks about each object, without its attacks."""
    from starcert.archive.threat_texts import question_from_json  # noqa: PLC0415  (threats list attacks on objects)

    found = [question_from_json(each, threat, n_axes) for each in field.items()]
    field.check(len(found) == n_objects, f"have an entry for each of {n_objects:,} graphs")
    return found


def audit_from_json(field: Field) -> Audit:
    """What an audit found, as a file states it."""
    names = [each.name for each in fields(Audit)]
    inside = field.members(*names, "says")
    audit = Audit(*(inside[name].whole(MAX_VOTES) for name in names))
    alone = audit.clean_alone <= audit.clean and audit.attacked_alone <= audit.attacked
    field.check(alone, "have no more copies alone than copies")
    field.check(audit.independent <= audit.clean, "have no more independent copies than copies of the graphs")
    inside["says"].text()
    return audit
