"""Archives as files: JSON, with files of arrays beside it, written whole or not at all; and read, whoever made them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, structs

from starcert.archive.certificates import GONE, certificates_archive, certificates_form
from starcert.archive.format import EXACT, FORMATS, INTERVALS, LINKS, VERSION, CertificatesFile, Form
from starcert.archive.record import CERTIFICATES, Archive
from starcert.archive.record import INTERVALS as OF_INTERVALS
from starcert.archive.record import LINKS as OF_LINKS
from starcert.archive.side_arrays import Sides
from starcert.archive.untrusted import MalformedError, archive_errors, check, converted, read_untrusted
from starcert.system.errors import ArchiveError
from starcert.system.files import write_whole

_ADVICE = "Give a certificates.json that starcert certify has written."
_LINES = ("keys", "listed", "objects", "graphs")  # members that are written with a line for each entry


def write(path: str | PathLike[str], archive: Archive) -> None:
    """Writes an archive and its claims to a JSON file, which is replaced whole or not at all.

    Side files are written first, beside `certificates.json`: `certificates.chunks.npz` with the votes of each chunk,
    `certificates.evidence.npz` with evidence, `certificates.collective.evidence.npz` with collective claims, and
    `certificates.links.npz` with the scores, votes and links of link votes.

    Example:
        >>> import tempfile
        >>> import starcert as sc
        >>> bounds = sc.clopper_pearson(sc.Votes([[9_900, 100]], selection=[[98, 2]]))
        >>> kept = sc.archive.Archive.from_result(sc.certify(bounds, sc.Noise(bonds=0.1)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sc.archive.write(f"{folder}/certificates.json", kept)
        ...     sc.archive.read(f"{folder}/certificates.json") == kept
        True
    """
    with archive_errors():
        place, sides = Path(path), Sides()
        form = _form(archive, place.stem, sides, claims=True)
        for name, data in sides.items():
            write_whole(place.with_name(name), [data])
        write_whole(path, _lines(form))


def _form(archive: Archive, stem: str, sides: Sides, *, claims: bool) -> Form:
    """The file of an archive, and the content of the files beside it."""
    if archive.kind == CERTIFICATES:
        return certificates_form(archive, stem, sides, claims=claims)
    if archive.kind == OF_INTERVALS:
        from starcert.archive.intervals import intervals_form  # noqa: PLC0415  (each kind where it is written)

        return intervals_form(archive, stem, sides)
    if archive.kind == OF_LINKS:
        from starcert.archive.links import links_form  # noqa: PLC0415  (as above)

        return links_form(archive, stem, sides)
    from starcert.archive.exact import exact_form  # noqa: PLC0415  (as above)

    return exact_form(archive)


def contents(archive: Archive) -> tuple[Form, Sides]:
    """The contents of an archive's files, without the claims that follow from its votes."""
    sides = Sides()
    return _form(archive, "", sides, claims=False), sides


def _lines(form: Form) -> Iterator[str]:
    """The text of a file, piece by piece: each member on a line, and each entry of a long list."""
    first = True
    for name, value in _members(form).items():
        yield f'{"{" if first else ","}\n"{name}": '
        first = False
        if name not in _LINES:
            yield json.dumps(value, allow_nan=False, default=_members)
            continue
        for number, entry in enumerate(value):
            yield f"{',' if number else '['}\n{json.dumps(entry, allow_nan=False, default=_members)}"
        yield "\n]"
    yield "\n}\n"


def _members(form: Struct) -> dict[str, Any]:
    """The members of a form that are set, by the names that they have in a file."""
    values = ((each.encode_name, getattr(form, each.name)) for each in structs.fields(form))
    return {name: value for name, value in values if value is not UNSET}


def read(path: str | PathLike[str]) -> Archive:
    """The archive in a file that `write` has written.

    Claims are as the file states them, and `verify` says whether they are true; of certificates only the form of the
    claims is checked: they are made afresh from the votes and the noise. Without its side file with evidence, they are
    those of the counts of votes: a warning.
    """
    with archive_errors(path):
        return read_top(top_of(path), path)


def read_top(top: dict[str, Any], path: str | PathLike[str], *, whole: bool = False) -> Archive:
    """The archive in a file of which the JSON is read already; `whole`: not without its side file."""
    with archive_errors(path):
        for name, version in converted(top.get("provenance", {}), dict[str, Any], "provenance").items():
            check(isinstance(version, str), f"provenance.{name}", "be text", version)
        if top["format"] == EXACT:
            from starcert.archive.exact import ExactFile, exact_archive  # noqa: PLC0415  (each kind where it is read)

            return exact_archive(converted(top, ExactFile))
        if top["format"] == INTERVALS:
            from starcert.archive.intervals import IntervalsFile, intervals_archive  # noqa: PLC0415  (as above)

            return intervals_archive(converted(top, IntervalsFile), Path(path))
        if top["format"] == LINKS:
            from starcert.archive.links import LinksFile, links_archive  # noqa: PLC0415  (as above)

            return links_archive(converted(top, LinksFile), Path(path))
        for name, what in GONE.items():
            if name in top:
                problem = f"it rests on {what}, which this version no longer proves"
                raise MalformedError(f"{problem}. Verify it with starcert 0.2.0.")
        return certificates_archive(converted(top, CertificatesFile), Path(path), whole=whole)


def laws_from_outside(top: dict[str, Any]) -> tuple[str, ...]:
    """The names of the laws in a file that are not starcert's own."""
    regions = converted(top.get("noise", []), list[dict[str, Any]], "noise")
    named = (converted(law["law"], str, f"noise[{i}].law") for i, law in enumerate(regions) if "law" in law)
    return tuple(dict.fromkeys(named))


def top_of(path: str | PathLike[str]) -> dict[str, Any]:
    """The JSON of an archive, of a format and version that is read here."""
    top = read_untrusted(path, _ADVICE)
    try:
        check(isinstance(top, dict), "", "be an object", top)
        kind, version = top.get("format"), top.get("version")
        check(kind in FORMATS, "format", f"be {' or '.join(map(repr, FORMATS))}", kind)
        known = type(version) is int and version == VERSION
        check(known, "version", f"be {VERSION}, the version that this starcert reads", version)
    except MalformedError as error:  # some other file
        raise ArchiveError(fspath(path), f"{error} {_ADVICE}") from None
    found: dict[str, Any] = top
    return found
