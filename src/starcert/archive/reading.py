"""A JSON file back into an archive. The file may be broken or hostile: one message says what is wrong and where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np

from starcert.archive.claims import MAX_VOTES, claims_from_json
from starcert.archive.drawn import read_drawn
from starcert.archive.evidence_file import GraphEvidence, unpack
from starcert.archive.kept import kept_from_json
from starcert.archive.premises import (
    audit_from_json,
    check_exact,
    evidence_from_json,
    noise_from_json,
    questions_from_json,
)
from starcert.archive.record import Archive, states_margins
from starcert.archive.untrusted import VERSION, Field, MalformedError, archive_errors, read_untrusted
from starcert.math.channels import MAX_RADIUS
from starcert.math.confidence import ANYTIME, CLOPPER_PEARSON, check_alpha
from starcert.math.fallback import BlindAnswers, check_threshold
from starcert.math.frontier import Radius
from starcert.math.votes import Votes
from starcert.objects.noise import MAX_SITES, Noise
from starcert.system.errors import ArchiveError

if TYPE_CHECKING:
    from starcert.archive.collective_votes import KeptClaims
    from starcert.archive.exact_archive import ExactArchive
    from starcert.archive.intervals import IntervalArchive
    from starcert.claims.question import Question
    from starcert.objects.threats import Threat

FORMAT, EXACT, INTERVALS = FORMATS = "starcert certificates", "starcert exact", "starcert intervals"
MAX_ROWS = 2**31  # more nodes than any graph has, and more graphs than any file
GONE = {"deep_votes": "deep votes"}
"""Members of files of earlier versions, and what this version can no longer prove."""

_ADVICE = "Give a certificates.json that starcert certify has written."


def read(path: str | PathLike[str]) -> Archive | ExactArchive | IntervalArchive:
    """The archive in a file that `write` has written.

    Claims are as the file states them, and `verify` says whether they are true; of certificates only the form of the
    claims is checked: they are made afresh from the votes and the noise. Without its side file with evidence, they are
    those of the counts of votes: a warning.
    """
    with archive_errors(path):
        return read_top(top_of(path), path)


def read_top(top: Field, path: str | PathLike[str], *, whole: bool = False) -> Archive | ExactArchive | IntervalArchive:
    """The archive in a file of which the JSON is read already; `whole`: not without its side file."""
    with archive_errors(path):
        if top.value["format"] == EXACT:
            from starcert.archive.exact_archive import exact_from_json  # noqa: PLC0415  (each kind where it is read)

            return exact_from_json(top)
        if top.value["format"] == INTERVALS:
            from starcert.archive.intervals import intervals_from_json  # noqa: PLC0415  (as above)

            return intervals_from_json(top, Path(path))
        return _archive(top, Path(path), all_of_it=whole)


def laws_from_outside(top: Field) -> tuple[str, ...]:
    """The names of the laws in a file that are not starcert's own."""
    regions = Field(top.mapping().get("noise", []), "noise").items()
    named = (Field(each.mapping()["law"], f"{each.name}.law") for each in regions if "law" in each.mapping())
    return tuple(dict.fromkeys(each.text() for each in named))


def top_of(path: str | PathLike[str]) -> Field:
    """The JSON of an archive, of a format and version that is read here."""
    top = read_untrusted(path, _ADVICE)
    try:
        kind, version = (Field(top.mapping().get(name), name) for name in ("format", "version"))
        kind.check(kind.value in FORMATS, f"be {' or '.join(map(repr, FORMATS))}")
        known = type(version.value) is int and version.value == VERSION
        version.check(known, f"be {VERSION}, the version that this starcert reads")
    except MalformedError as error:  # some other file
        raise ArchiveError(fspath(path), f"{error} {_ADVICE}") from None
    return top


def _check_gone(whole: Field) -> None:
    """Refuses a file that rests on what this version no longer proves."""
    for name, what in GONE.items():
        if name in whole.mapping():
            raise MalformedError(
                f"it rests on {what}, which this version no longer proves. Verify it with starcert 0.2.0."
            )


def _archive(whole: Field, path: Path, *, all_of_it: bool) -> Archive:
    _check_gone(whole)
    top = whole.members(
        *("format", "version", "says", "noise", "axes", "alpha", "alpha_exact", "max_radius", "classes", "settings"),
        *("provenance", "graphs"),
        optional=(
            *("together", "margins", "bounds", "fallback", "evidence", "audit", "threat", "listed", "collective"),
            *("drawn", "keys"),
        ),
    )
    bound = top["bounds"].text() if "bounds" in top else CLOPPER_PEARSON
    if bound not in (CLOPPER_PEARSON, ANYTIME):
        problem = f"it rests on what the bound {bound!r} states, which this version no longer reads"
        raise MalformedError(f"{problem}. Verify it with starcert 0.2.0.")
    noise = noise_from_json(top["noise"])
    threat = _threat(top["threat"]) if "threat" in top else None
    whole.check(("listed" in top) is (threat is not None), "have 'listed' with a threat, and else not")
    top["says"].text()
    top["axes"].check(top["axes"].value == list(noise.axes), f"be the axes of the noise, {', '.join(noise.axes)}")
    alpha = check_alpha(top["alpha"].number())
    check_exact(top["alpha_exact"], alpha)
    classes = tuple(name.text() for name in top["classes"].items())
    top["classes"].check(len(classes) >= 2, "name two classes at least")
    graphs = [_graph(each, noise, len(classes), listed=threat is not None) for each in top["graphs"].items()]
    top["graphs"].check(bool(graphs), "hold at least one graph")
    names, labels, counts, chosen, boxes, anchored, claims, placed, indices, answers = zip(*graphs, strict=True)
    selection, places = _all_or_none(chosen, "selection"), _all_or_none(placed, "graph")
    objects = range(len(graphs)) if places is None else [number for number, _ in places]
    asked = None if threat is None else questions_from_json(top["listed"], threat, len(noise.axes), max(objects) + 1)
    evidence = None
    if "evidence" in top:
        listed = None if asked is None else [each.counts for each in asked]
        unpacked = partial(unpack, counts=counts, noise=noise, objects=objects, listed=listed)
        evidence = evidence_from_json(top["evidence"], path, unpacked, needed=all_of_it, n_graphs=len(graphs))
    kept = evidence or (None,) * len(graphs)
    for i, (found, box) in enumerate(zip(kept, boxes, strict=True)):
        if found is not None and box != found.sizes:
            raise MalformedError(f"'graphs[{i}].capacity' must be the sizes of its axes, {found.sizes}.")
    if "bounds" in top:
        fits = bound == ANYTIME and selection is not None
        top["bounds"].check(fits, "be 'anytime', with selection votes, or not there")
    together, n = top["together"].whole(MAX_VOTES) if "together" in top else 1, len(graphs)
    if "together" in top:
        top["together"].check(together >= max(2, n), f"be 2 or more, and no fewer than the {n} graphs of the file")
    keys: dict[str, Any] = dict(zip(("objects", "targets"), zip(*places or (), strict=True), strict=bool(places)))
    votes = Votes(
        counts,
        selection,
        **keys,
        history="stopped" if "bounds" in top else "fixed",  # at the worst: a file does not say
        records=[None if found is None else found.record for found in kept],
        audit=audit_from_json(top["audit"]) if "audit" in top else None,
        blind=_fallback(top.get("fallback"), _all_or_none(answers, "blind")),
    )
    if "margins" in top:
        if not states_margins(votes):
            problem = "'margins' does not belong there: it is for three classes and more, with selection votes."
            raise MalformedError(problem)
        top["margins"].check(top["margins"].value == "chosen", "be 'chosen'")
    elif states_margins(votes):
        raise MalformedError("it rests on the margins of version 0.1.0. Verify it with starcert 0.2.0.")
    collective = _together(top.get("collective"), path, votes, noise, anchored, alpha, needed=all_of_it)
    return Archive(
        noise=noise,
        votes=replace(votes, chunks=read_drawn(top, path, votes)),
        alpha=alpha,
        max_radius=_limits(top["max_radius"], noise, MAX_RADIUS),
        # Not known, except where the axis of every site is stated and proofs rest on it.
        capacities=tuple(None if found is None else found.sizes for found in kept),
        anchored=anchored,
        names=names,
        labels=labels,
        class_names=classes,
        **kept_from_json(top),
        boxes=boxes,
        together=together,
        evidence=evidence,
        nodes=_all_or_none(indices, "node"),
        bound=bound,
        asked=None if asked is None else _with_attacks(asked, objects, kept),
        collective=collective,
        claims=claims,
    )


def _fallback(field: Field | None, answers: Sequence[int] | None) -> BlindAnswers | None:
    """The threshold of a file, and the blind answer of each graph."""
    if field is None or answers is None:
        if field is not None or answers is not None:
            raise MalformedError("'fallback' must come with the member 'blind' of each graph, and else not be there.")
        return None
    inside = field.members("threshold", "exact")
    threshold = check_threshold(inside["threshold"].number())
    check_exact(inside["exact"], threshold)
    return BlindAnswers(threshold, np.array(answers))


def _threat(field: Field) -> Threat:
    """The threat that a file is about."""
    from starcert.archive.threat_texts import threat_from_json  # noqa: PLC0415  (threats list attacks on objects)

    return threat_from_json(field)


def _together(
    field: Field | None,
    path: Path,
    votes: Votes,
    noise: Noise,
    anchored: Sequence[str],
    alpha: float,
    *,
    needed: bool,
) -> KeptClaims | None:
    """The claims about all answers at once; None where there are none, or their side file is not there."""
    if field is None:
        return None
    from starcert.archive.collective_votes import MISSING_COLLECTIVE, read_collective  # noqa: PLC0415  (as above)

    def side(
        entry: Field, unpacked: Callable[[BinaryIO], list[GraphEvidence | None]], n_graphs: int
    ) -> tuple[GraphEvidence | None, ...] | None:
        found = evidence_from_json(entry, path, unpacked, needed=needed, n_graphs=n_graphs, missing=MISSING_COLLECTIVE)
        named = any(found) or not (needed or entry.mapping()["file"] is None)
        entry.check(named, "name a file with votes of some graph")
        return found if any(found) else None

    return read_collective(field, side, votes, noise, anchored, alpha)


def _with_attacks(
    asked: Sequence[Question], objects: Sequence[int], kept: Sequence[GraphEvidence | None]
) -> tuple[Question, ...]:
    """The questions with the attacks of the side file."""
    lists = {number: one.attacks for number, one in zip(objects, kept, strict=True) if one is not None}
    return tuple(replace(each, attacks=lists.get(number) or ()) for number, each in enumerate(asked))


Value = TypeVar("Value")


def _all_or_none(values: Sequence[Value | None], member: str) -> tuple[Value, ...] | None:
    """A member of every graph; None if no graph has it."""
    known = tuple(value for value in values if value is not None)
    if known and len(known) < len(values):
        raise MalformedError(f"'graphs[{values.index(None)}].{member}' is missing or null: other graphs have it.")
    return known or None


def _graph(graph: Field, noise: Noise, n_classes: int, *, listed: bool) -> tuple[Any, ...]:
    """Name, true class, votes, selection votes, box, reason of anchoring, claims, target, node, and blind answer."""
    inside = graph.members(
        *("name", "true_class", "estimation", "selection", "capacity", "anchored", "claims"),
        optional=("graph", "target", "node", "blind"),
    )
    complete = ("graph" in inside) == ("target" in inside) and ("graph" in inside or "node" not in inside)
    graph.check(complete, "say which target of which graph it is, or neither")

    def votes(field: Field) -> tuple[int, ...]:
        counts = field.wholes(n_classes, MAX_VOTES)
        field.check(0 < sum(counts) <= MAX_VOTES, f"hold from 1 to {MAX_VOTES:,} votes")
        return counts

    truth, selection = inside["true_class"], inside["selection"]
    return (
        inside["name"].text(),
        None if truth.value is None else truth.whole(n_classes - 1),
        votes(inside["estimation"]),
        None if selection.value is None else votes(selection),
        _limits(inside["capacity"], noise, MAX_SITES),
        inside["anchored"].text(),
        claims_from_json(inside["claims"], len(noise.axes), n_classes, listed=listed),
        (inside["graph"].whole(MAX_ROWS), inside["target"].whole(MAX_ROWS)) if "graph" in inside else None,
        inside["node"].whole(MAX_ROWS) if "node" in inside else None,
        inside["blind"].whole(n_classes - 1) if "blind" in inside else None,
    )


def _limits(field: Field, noise: Noise, most: int) -> Radius | None:
    return None if field.value is None else field.wholes(len(noise.axes), most)
