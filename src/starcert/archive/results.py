"""From certificates to the archive that keeps them, and from an archive back to its certificates.

Only this module of archives knows what certifies: a proof needs none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy.typing as npt

from starcert.archive.collective_votes import KeptClaims
from starcert.archive.evidence_file import GraphEvidence
from starcert.archive.kept import about_rows
from starcert.archive.record import Archive
from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.collective import CollectiveClaim
from starcert.claims.from_bounds import certify
from starcert.claims.verdict import Verdicts
from starcert.claims.vote_proof import VoteProof
from starcert.methods.evidence import verdicts_of
from starcert.methods.own_votes import RecordedVotes
from starcert.objects.threats import threat_of
from starcert.system.errors import InvalidParameterError


def archive_of(
    certificates: Certificates,
    *,
    names: Sequence[str] | None,
    labels: npt.ArrayLike | Sequence[int | None] | None,
    class_names: Sequence[str] | None,
    settings: Mapping[str, object] | None,
    claims: Sequence[CollectiveClaim] | None,
) -> Archive:
    """The archive of certificates: see `Archive.from_result`."""
    if not isinstance(certificates, Certificates) or not certificates.of_radii:
        hint = "Give what SmoothedClassifier.certify or certify returned."
        raise InvalidParameterError("certificates", "be Certificates", type(certificates).__name__, hint)
    votes, alpha = certificates.votes, certificates.alpha
    if votes is None or alpha is None:
        hint = "Make the bounds with clopper_pearson(votes)."
        raise InvalidParameterError("certificates", f"needs bounds from votes. {hint}")
    n_classes = votes.counts.shape[1]
    by, word = certificates.bounds, certificates.kind.word
    about = {} if word == "graph" else {"objects": f"{word}s"}
    if certificates.threat is not None and certificates.threat.by_radius:
        about["threat"] = str(certificates.threat)
    if class_names is not None and len(set(class_names)) < len(class_names):
        raise InvalidParameterError("class_names", "be different names", list(class_names))
    verdicts = certificates.verdicts or ()
    rows = about_rows(
        certificates.objects.tolist(),
        certificates.targets.tolist(),
        names=certificates.names if names is None else names,
        labels=None if labels is None else certificates.truth(labels).tolist(),
        settings={**about, **settings} if isinstance(settings, Mapping) else settings or about,
    )
    archive = Archive(
        **rows,
        noise=certificates.noise,
        votes=votes,
        alpha=alpha,
        max_radius=certificates.max_radius,
        capacities=tuple(certificates.capacity),
        anchored=tuple(certificates.anchored),
        class_names=tuple(map(str, certificates.classes or range(n_classes)) if class_names is None else class_names),
        boxes=tuple(certificates.by_votes.boxes),
        asked=None if certificates.asked is None else tuple(certificates.asked),
        together=certificates.bounds.family_size,
        bound=by.bound,
        evidence=tuple(map(GraphEvidence.of, votes.records, verdicts)) if any(verdicts) else None,
        collective=KeptClaims.of(certificates.by_votes.collective, claims),
        nodes=None if certificates.nodes is None else tuple(certificates.nodes.index.tolist()),
    )
    if certificates.bounds.agrees_with(archive.bounds):
        vars(archive)["certificates"] = certificates.numbered  # with what was proved already
    return archive


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
