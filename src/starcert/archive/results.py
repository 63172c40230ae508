"""From what a method has certified to the archive that keeps it, and from an archive back to its certificates.

Only this module of archives, and those of tried attacks and intervals, know what certifies: a proof needs none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from starcert.archive.claims import Interval
from starcert.archive.collective_votes import KeptClaims
from starcert.archive.evidence_file import GraphEvidence
from starcert.archive.exact import exact_rows
from starcert.archive.intervals import interval_premises, interval_rows
from starcert.archive.links import check_kept
from starcert.archive.record import EXACT, INTERVALS, LINKS, Archive, BlindRow, plain_settings
from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.from_bounds import certify
from starcert.claims.intervals import Claim, IntervalProof
from starcert.claims.verdict import Verdicts
from starcert.claims.vote_proof import VoteProof
from starcert.methods.evidence import verdicts_of
from starcert.methods.exhaustive import TriedAttacks
from starcert.methods.links import LinkProof
from starcert.methods.own_votes import RecordedVotes
from starcert.objects.threats import threat_of
from starcert.system.errors import InvalidParameterError
from starcert.system.files import versions


def archive_of(result: Certificates[Any], claims: Sequence[Any] | None, about: dict[str, Any]) -> Archive:
    """The archive of a result: see `Archive.from_result`."""
    if isinstance(result, Certificates):
        if isinstance(result.proof, TriedAttacks):
            return _of_trials(result, about)
        if isinstance(result.proof, LinkProof):
            check_kept(result)
            return _of_trials(result, about, LINKS)
        if isinstance(result.proof, IntervalProof):
            return _of_intervals(result, claims or (), about)
        if result.of_radii:
            return _of_votes(result, claims, about)
    hint = "Give what certify of a SmoothedClassifier, an ExactClassifier or a SmoothedRegressor returned."
    raise InvalidParameterError("result", "be Certificates that a file can keep", type(result).__name__, hint)


def _rows(result: Certificates[Any], about: Mapping[str, Any], labels: Sequence[object] | None) -> dict[str, Any]:
    """The archive's rows for a result: by default names are numbers, and no label is known."""
    objects, targets, names = result.objects.tolist(), result.targets.tolist(), about["names"]
    for what, given in (("names", names), ("labels", labels)):
        if given is not None and len(given) != len(objects):
            raise InvalidParameterError(what, f"be one for each of {len(objects)} rows", len(given))
    for place, name in enumerate(names or ()):
        if not isinstance(name, str):
            raise InvalidParameterError(f"names[{place}]", "be text", name)
    numbers = zip(objects, targets, strict=True) if any(targets) else zip(objects, strict=True)
    return {
        "names": tuple(".".join(map(str, each)) for each in numbers) if names is None else tuple(names),
        "labels": (None,) * len(objects) if labels is None else tuple(labels),
        "anchored": tuple(result.anchored),
        "settings": plain_settings(about["settings"] or {}),
        "provenance": versions(),
        "nodes": None if result.nodes is None else tuple(result.nodes.index.tolist()),
    }


def _of_votes(found: Certificates[Any], claims: Sequence[Any] | None, about: dict[str, Any]) -> Archive:
    votes, alpha, given = found.votes, found.alpha, about["settings"]
    if votes is None or alpha is None:
        hint = "Make the bounds with clopper_pearson(votes)."
        raise InvalidParameterError("certificates", f"needs bounds from votes. {hint}")
    word, names = found.kind.word, about["class_names"]
    more = {} if word == "graph" else {"objects": f"{word}s"}
    if found.threat is not None and found.threat.by_radius:
        more["threat"] = str(found.threat)
    if names is not None and len(set(names)) < len(names):
        raise InvalidParameterError("class_names", "be different names", list(names))
    about |= {"names": found.names if about["names"] is None else about["names"]}
    about |= {"settings": {**more, **given} if isinstance(given, Mapping) else given or more}
    truth = None if about["labels"] is None else found.truth(about["labels"]).tolist()
    verdicts = found.verdicts or ()
    archive = Archive(
        **_rows(found, about, truth),
        class_names=tuple(map(str, found.classes or range(votes.counts.shape[1])) if names is None else names),
        noise=found.noise,
        votes=votes,
        alpha=alpha,
        together=found.bounds.family_size,
        asked=None if found.asked is None else tuple(found.asked),
        max_radius=found.max_radius,
        capacities=tuple(found.capacity),
        boxes=tuple(found.by_votes.boxes),
        evidence=tuple(map(GraphEvidence.of, votes.records, verdicts)) if any(verdicts) else None,
        bound=found.bounds.bound,
        collective=KeptClaims.of(found.by_votes.collective, claims),
    )
    if found.bounds.agrees_with(archive.bounds):
        vars(archive)["certificates"] = found.numbered  # with what was proved already
    return archive


def _of_trials(found: Certificates[Any], about: dict[str, Any], kind: str = EXACT) -> Archive:
    truth = None if about["labels"] is None else found.truth(about["labels"]).tolist()
    called = about["class_names"] or found.classes or range(found.n_classes)
    kept = Certificates(found.numbered.about, found.labels, found.threat, found.proof, found.seconds)
    return Archive(**_rows(found, about, truth), kind=kind, result=kept, class_names=tuple(map(str, called)))


def _of_intervals(found: Certificates[IntervalProof], claims: Sequence[Any], about: dict[str, Any]) -> Archive:
    proof = found.proof
    if proof.noise.outside:
        raise InvalidParameterError("result", "have laws that are starcert's own", proof.noise)
    asked = [Claim(), *([proof.claim(None, None)] if proof.threat else [])]
    every = tuple(dict.fromkeys([*asked, *(proof.claim(*each) for each in claims)]))
    truth = None if about["labels"] is None else [None if each is None else float(each) for each in about["labels"]]
    ends = [[(what, proof.interval(one, what, None)) for what in every] for one in found]
    stated = tuple(
        tuple(Interval(row, what, each.low, each.high) for what, each in own) for row, own in enumerate(ends)
    )
    return Archive(**_rows(found, about, truth), **interval_premises(found), claims=stated)


def certificates_of(archive: Archive) -> Certificates[VoteProof]:
    """The certificates of an archive, made afresh from votes and noise."""
    found = by_counts(archive)
    if archive.evidence is None or not any(archive.evidence):
        return found
    verdicts = [_verdicts(archive, row, one) for row, one in enumerate(found)]
    return found.proved_by(replace(found.proof, verdicts=verdicts))


def by_counts(archive: Archive) -> Certificates[VoteProof]:
    """The certificates by the counts of votes alone."""
    found = certify(
        archive.bounds,
        archive.noise,
        max_radius=archive.max_radius,
        capacity=archive.capacities,
        anchored=archive.anchored,
        boxes=archive.boxes,
    )
    threat = None
    with suppress(InvalidParameterError):  # settings are what a file says
        threat = threat_of(archive.settings.get("threat"))
    collective = None if archive.collective is None else archive.collective.votes
    proof = replace(found.proof, asked=archive.asked, collective=collective)
    return replace(found, threat=threat, proof=proof)


def _verdicts(archive: Archive, row: int, one: Certificate) -> Verdicts | None:
    graph = None if archive.evidence is None else archive.evidence[row]
    if graph is None or archive.votes.selection is None:
        return None
    votes = replace(archive.votes.row(row), records=(graph.record,))
    own = None if graph.most is None else RecordedVotes(graph.most, len(archive.class_names), graph.own)
    how = {"alpha": archive.alpha, "max_flips": graph.max_flips, "asked": one.asked, "own": own}
    return verdicts_of(one, votes, graph.axes(archive.noise), **how)  # type: ignore[arg-type]


def rows_of(archive: Archive, base: Sequence[int] | None) -> list[dict[str, object]]:
    """One row for each of the archive, for a CSV file."""
    if archive.plain:
        return exact_rows(archive)
    if archive.kind == INTERVALS:
        return interval_rows(archive)
    blind = BlindRow.of(archive)
    guesses = None if blind is None or blind.missing else blind.answers
    rows = archive.certificates.rows(archive.labels, class_names=archive.class_names, base=base, blind=guesses)
    return [row | {"name": name} for row, name in zip(rows, archive.names, strict=True)]
