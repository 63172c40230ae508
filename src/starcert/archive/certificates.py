"""Archives of certificates as files, and back: votes, what they follow from, and beside them what is claimed.

Each graph has a line of its own, so that a large file can be read, searched and compared by eye. Floats are written so
that they come back to the last bit; the premises of proofs are given as exact fractions, too. A file may be broken or
hostile: one message says what is wrong and where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UNSET, UnsetType

from starcert.archive.claims import claims_of, claims_of_form, claims_to_form, of_axes
from starcert.archive.evidence_file import SIDE, GraphEvidence, pack, unpack
from starcert.archive.format import (
    FORMAT,
    MAX_VOTES,
    VERSION,
    CertificatesFile,
    CollectivePart,
    FallbackForm,
    VotesOfRow,
    audit_form,
    audit_of,
    check_exact,
    exact,
    joint_alpha,
    noise_to_json,
    questions_of,
    sampled,
)
from starcert.archive.listed_attacks import question_form
from starcert.archive.record import Archive, states_margins
from starcert.archive.side_arrays import Sides, drawn_form, read_drawn, read_side, side_form
from starcert.archive.untrusted import MalformedError, check
from starcert.math.confidence import ANYTIME, CLOPPER_PEARSON
from starcert.math.fallback import BlindAnswers, check_threshold
from starcert.math.votes import Votes
from starcert.objects.noise import Noise

if TYPE_CHECKING:
    from starcert.archive.collective_votes import KeptClaims
    from starcert.claims.question import Question

GONE = {"deep_votes": "deep votes"}
"""Members of files of earlier versions, and what this version can no longer prove."""

MISSING = (
    "What evidence certifies or breaks is proved from {name}, which is not beside the file. Without it, certificates "
    "are those of the counts of votes (p_A) alone."
)
SAYS = (
    "For each graph by itself, with probability at least 1 - alpha over the sampling of its votes: unless its claims "
    "abstain, the smoothed classifier answers the claimed class for every graph that differs from this one by at most "
    "as many flips on each axis as one of the radii of its frontier counts, and nowhere else. Where 'anchored' gives a "
    "reason, the regions are frozen at this graph. {claims}"
)
PROVED = (
    "Everything under 'claims' follows from the noise, alpha and the votes: starcert verify proves it again from these."
)
STATED = (
    "Everything under 'claims' follows from alpha, the votes and from what the law {laws} states about the noise: "
    "starcert verify has no prover of these."
)
SAYS_TOGETHER = SAYS.replace(
    "For each graph by itself", "For all of 'together' graphs at once, these among them"
).replace("the sampling of its votes", "the sampling of their votes")
SAYS_MORE = (
    " What is claimed beyond the counts of the votes follows from where their flips fell, and from votes at attacked "
    "graphs: both are in the file that 'evidence' names. A quarter of alpha is for the bounds. Of each level in "
    "'broken', an attack is known that changes the answer."
)
SAYS_THREAT = (
    " Also under the threat {threat}: no attack that is listed with a size of at most 'certified_size' changes the "
    "answer, and of each size in 'broken' a listed attack is known that does. 'listed' has the levels and the number "
    "of the attacks of each size, for each graph. That the lists have all attacks of the threat is taken as stated. "
    "Radii follow from the counts of the votes alone."
)
SAYS_FALLBACK = (
    " The smoothed classifier falls back: it answers a class other than 'blind' where noisy copies have that class "
    "with more probability than the threshold of 'fallback' says, and 'blind' elsewhere. That 'blind' is the same for "
    "all graphs that an attacker makes of one is taken as stated."
)


def says(
    *,
    together: int,
    evidence: bool,
    noise: Noise,
    threat: str = "",
    fallback: bool = False,
) -> str:
    """The sentence that every file has, for the failure probability of one certificate or of all at once."""
    text = (SAYS if together == 1 else SAYS_TOGETHER) + (SAYS_MORE if evidence else "")
    claims = STATED.replace("{laws}", ", ".join(noise.outside)) if noise.outside else PROVED
    text = text.replace("{claims}", claims) + (SAYS_THREAT.replace("{threat}", threat) if threat else "")
    return text + (SAYS_FALLBACK if fallback else "")


def certificates_form(archive: Archive, stem: str, sides: Sides, *, claims: bool = True) -> CertificatesFile:
    """The file of an archive of votes, and the content of the files beside it."""
    blind, evidence, votes = archive.votes.blind, archive.evidence, archive.votes
    more: dict[str, Any] = drawn_form(f"{stem}.chunks.npz", votes, sides)
    if archive.together > 1:
        more["together"] = archive.together
    if states_margins(votes):
        more["margins"] = "chosen"
    if archive.bound != CLOPPER_PEARSON:
        more["bounds"] = archive.bound
    if blind is not None:
        more["fallback"] = FallbackForm(threshold=blind.threshold, exact=exact(blind.threshold))
    if evidence is not None:
        packed = pack(evidence, votes.objects.tolist()) if any(evidence) else None
        more["evidence"] = side_form(f"{stem}{SIDE}", packed, sides)
    if archive.asked is not None:
        from starcert.archive.threat_texts import threat_form  # noqa: PLC0415  (threats list attacks on objects)

        more["threat"] = threat_form(archive.asked[0].threat)
        more["listed"] = tuple(map(question_form, archive.asked))
    if archive.collective is not None:
        side = side_form(f"{stem}.collective{SIDE}", pack(archive.collective.evidence(archive.noise)), sides)
        more["collective"] = archive.collective.form(side)
    if votes.audit is not None:
        more["audit"] = audit_form(votes.audit)
    about = {"together": archive.together, "evidence": evidence is not None, "fallback": blind is not None}
    return CertificatesFile(
        format=FORMAT,
        version=VERSION,
        says=says(**about, noise=archive.noise, threat=archive.threat),  # type: ignore[arg-type]
        noise=tuple(noise_to_json(archive.noise)),
        axes=tuple(archive.noise.axes),
        alpha=archive.alpha,
        alpha_exact=exact(archive.alpha),
        max_radius=archive.max_radius,
        classes=archive.class_names,
        settings=dict(archive.settings),
        provenance=dict(archive.provenance),
        graphs=tuple(_row_form(archive, i, claims=claims) for i in range(len(archive))),
        **more,
    )


def _row_form(archive: Archive, i: int, *, claims: bool) -> VotesOfRow:
    votes, more = archive.votes, dict[str, Any]()
    if archive.nodes is not None or votes.targets.any():
        more = {"graph": int(votes.objects[i]), "target": int(votes.targets[i])}
        more |= {} if archive.nodes is None else {"node": archive.nodes[i]}
    if votes.blind is not None:
        more["blind"] = int(votes.blind.answers[i])
    return VotesOfRow(
        name=archive.names[i],
        true_class=archive.labels[i],
        estimation=tuple(votes.counts[i].tolist()),
        selection=None if votes.selection is None else tuple(votes.selection[i].tolist()),
        capacity=archive.boxes[i],
        anchored=archive.anchored[i],
        claims=claims_to_form(claims_of(archive.certificates[i])) if claims else None,  # type: ignore[arg-type]
        **more,
    )


def certificates_archive(told: CertificatesFile, path: Path, *, whole: bool) -> Archive:
    """The archive in a file; `whole`: not without its side files."""
    bound = CLOPPER_PEARSON if told.bounds is UNSET else told.bounds
    if bound not in (CLOPPER_PEARSON, ANYTIME):
        problem = f"it rests on what the bound {bound!r} states, which this version no longer reads"
        raise MalformedError(f"{problem}. Verify it with starcert 0.2.0.")
    noise, alpha, threat = sampled(told)
    rows, n_classes = told.graphs, len(told.classes)
    check(n_classes >= 2, "classes", "name two classes at least", told.classes)
    for i, row in enumerate(rows):
        _check_row(row, f"graphs[{i}]", noise, n_classes)
    listed = threat is not None
    claims = tuple(
        claims_of_form(row.claims, f"graphs[{i}].claims", len(noise.axes), n_classes, listed=listed)
        for i, row in enumerate(rows)
    )
    numbers = _all_or_none(rows, "graph")
    objects: Sequence[int] = range(len(rows)) if numbers is None else numbers
    asked = questions_of(told, threat, len(noise.axes), max(objects) + 1)
    evidence, counts = None, [row.estimation for row in rows]
    if told.evidence is not UNSET:
        sizes = None if asked is None else [each.counts for each in asked]
        unpacked = partial(unpack, counts=counts, noise=noise, objects=objects, listed=sizes)
        found = read_side(told.evidence, "evidence", path, SIDE, unpacked, MISSING, needed=whole)
        evidence = (None,) * len(rows) if found is None else tuple(found)
    kept = evidence or (None,) * len(rows)
    for i, one in enumerate(kept):
        if one is not None and rows[i].capacity != one.sizes:
            raise MalformedError(f"'graphs[{i}].capacity' must be the sizes of its axes, {one.sizes}.")
    selection = _all_or_none(rows, "selection")
    if told.bounds is not UNSET:
        fits = bound == ANYTIME and selection is not None
        check(fits, "bounds", "be 'anytime', with selection votes, or not there", bound)
    placed: dict[str, Any] = {} if numbers is None else {"objects": numbers, "targets": [row.target for row in rows]}
    votes = Votes(
        counts,
        selection,
        **placed,
        history="fixed" if told.bounds is UNSET else "stopped",  # at the worst: a file does not say
        records=[None if one is None else one.record for one in kept],
        audit=audit_of(told.audit),
        blind=_fallback(told.fallback, _all_or_none(rows, "blind")),
    )
    if told.margins is not UNSET:
        if not states_margins(votes):
            problem = "'margins' does not belong there: it is for three classes and more, with selection votes."
            raise MalformedError(problem)
        check(told.margins == "chosen", "margins", "be 'chosen'", told.margins)
    elif states_margins(votes):
        raise MalformedError("it rests on the margins of version 0.1.0. Verify it with starcert 0.2.0.")
    anchored = tuple(row.anchored for row in rows)
    collective = _together(told.collective, path, votes, noise, anchored, alpha, needed=whole)
    if told.drawn is not UNSET and told.keys is not UNSET:
        votes = replace(votes, chunks=read_drawn(told.drawn, told.keys, path, votes))
    if told.max_radius is not None:
        of_axes(told.max_radius, "max_radius", len(noise.axes))
    return Archive(
        noise=noise,
        votes=votes,
        alpha=alpha,
        max_radius=told.max_radius,
        # Not known, except where the axis of every site is stated and proofs rest on it.
        capacities=tuple(None if one is None else one.sizes for one in kept),
        anchored=anchored,
        names=tuple(row.name for row in rows),
        labels=tuple(row.true_class for row in rows),
        class_names=told.classes,
        settings=told.settings,
        provenance=told.provenance,
        boxes=tuple(row.capacity for row in rows),
        together=1 if told.together is UNSET else joint_alpha(told.together, len(rows)),
        evidence=evidence,
        nodes=_all_or_none(rows, "node"),
        bound=bound,
        asked=None if asked is None else _with_attacks(asked, objects, kept),
        collective=collective,
        claims=claims,
    )


def _check_row(row: VotesOfRow, place: str, noise: Noise, n_classes: int) -> None:
    """Refuses numbers of a row that are not such as noise and classes have."""
    complete = (row.graph is UNSET) is (row.target is UNSET) and (row.graph is not UNSET or row.node is UNSET)
    check(complete, place, "say which target of which graph it is, or neither", row.name)
    for name, votes in (("estimation", row.estimation), ("selection", row.selection)):
        if votes is not None:
            of_axes(votes, f"{place}.{name}", n_classes)
            check(0 < sum(votes) <= MAX_VOTES, f"{place}.{name}", f"hold from 1 to {MAX_VOTES:,} votes", votes)
    for name, label in (("true_class", row.true_class), ("blind", row.blind)):
        known = label is None or label is UNSET or label < n_classes
        check(known, f"{place}.{name}", f"be a class from 0 to {n_classes - 1}", label)
    if row.capacity is not None:
        of_axes(row.capacity, f"{place}.capacity", len(noise.axes))


def _fallback(told: FallbackForm | UnsetType, answers: Sequence[int] | None) -> BlindAnswers | None:
    """The threshold of a file, and the blind answer of each graph."""
    if told is UNSET or answers is None:
        if told is not UNSET or answers is not None:
            raise MalformedError("'fallback' must come with the member 'blind' of each graph, and else not be there.")
        return None
    threshold = check_threshold(told.threshold)
    check_exact({"exact": told.exact}, {"exact": threshold}, "fallback")
    return BlindAnswers(threshold, np.array(answers))


def _together(
    told: CollectivePart | UnsetType, path: Path, votes: Votes, noise: Noise, anchored: Sequence[str], alpha: float, *,
    needed: bool,
) -> KeptClaims | None:  # fmt: skip
    """The claims about all answers at once; None where there are none, or their side file is not there."""
    if told is UNSET:
        return None
    from starcert.archive.collective_votes import read_collective  # noqa: PLC0415  (threats list attacks on objects)

    return read_collective(told, path, votes, noise, anchored, alpha, needed=needed)


def _with_attacks(
    asked: Sequence[Question], objects: Sequence[int], kept: Sequence[GraphEvidence | None]
) -> tuple[Question, ...]:
    """The questions with the attacks of the side file."""
    lists = {number: one.attacks for number, one in zip(objects, kept, strict=True) if one is not None}
    return tuple(replace(each, attacks=lists.get(number) or ()) for number, each in enumerate(asked))


def _all_or_none(rows: Sequence[VotesOfRow], member: str) -> tuple[Any, ...] | None:
    """A member of every graph; None if no graph has it."""
    values = [getattr(row, member) for row in rows]
    known = tuple(value for value in values if value is not None and value is not UNSET)
    if known and len(known) < len(values):
        place = next(i for i, value in enumerate(values) if value is None or value is UNSET)
        raise MalformedError(f"'graphs[{place}].{member}' is missing or null: other graphs have it.")
    return known or None
