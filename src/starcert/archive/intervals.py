"""Archives of intervals: the outputs on all noisy copies, where their flips fell, and what is claimed from them.

A file of intervals is JSON like one of certificates, with the same kind of side file; `write`, `read` and `verify` tell
them apart. In it, objects have those sites alone whose flips were kept, numbered from 0.
"""

# ruff: noqa: D101  (the comments beside members say what these parts of files are)

from __future__ import annotations

import operator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import UNSET, UnsetType, field

from starcert.archive.claims import Interval, of_axes
from starcert.archive.collective_votes import joint_evidence, joint_votes
from starcert.archive.evidence_file import SIDE, GraphEvidence, pack, unpack
from starcert.archive.format import INTERVALS as FORMAT
from starcert.archive.format import (
    MAX_VOTES,
    VERSION,
    AuditNumbers,
    DrawnForm,
    Flips,
    Form,
    ListedForm,
    Number,
    NumberOfSites,
    NumberOfVotes,
    SideFile,
    ThreatText,
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
from starcert.archive.record import INTERVALS, Archive
from starcert.archive.side_arrays import Sides, drawn_form, read_drawn, read_side, side_form, targets_in_order
from starcert.archive.threat_texts import threat_form
from starcert.archive.untrusted import MalformedError, check
from starcert.claims.certificates import Certificates
from starcert.claims.intervals import Claim, IntervalProof, KeptSites
from starcert.claims.proof import Rows
from starcert.claims.question import Question
from starcert.classifiers.values import ValueRange
from starcert.math.arithmetic import Whole
from starcert.math.ballots import Ballots
from starcert.math.votes import Votes
from starcert.objects import TargetNodes
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat, read_threat

SAYS = (
    "For each graph and each entry of 'claims' by itself, with probability at least 1 - alpha over the sampling of the "
    "graph's outputs: the mean output on noisy copies, or the probability of an output above 'above', lies in the "
    "interval, at the graph itself and at every graph that an attack of the entry makes of it: within a radius, or "
    "listed with a size of at most 'size'. Where 'together' is a number, all graphs share alpha. Outputs are known by "
    "the step of the range that they lie in. starcert verify proves the intervals again from the outputs, where their "
    "flips fell, the noise and alpha. That lists have all attacks of their threat is taken as stated."
)


MISSING = "Intervals are proved from {name}, which is not beside the file."


class OutputRange(Form, kw_only=True):
    low: Number  # the least output
    high: Number  # the largest one
    steps: int  # how many steps the range has
    exact: dict[str, Any]  # its ends, as the fractions that they are


class OutputCounts(Form, kw_only=True):
    first: Flips = field(name="from")  # the number of the first step
    counts: tuple[NumberOfVotes, ...]  # how many outputs lie in it, and in those that follow


class IntervalClaim(Form, kw_only=True):
    threat: str | None  # one by radius; null where `size` says which attacks
    size: Flips  # the largest size of the listed attacks; 0: none
    above: Number | None  # null: the interval is of the mean, else of the probability of more than this


class IntervalsOfRow(Form, kw_only=True):
    name: str  # what the data calls the row
    graph: Flips  # the number of its graph
    target: Flips  # which target of the graph it is
    node: Flips | None  # the index of its node
    true: Number | None  # the true number; null where it is not known
    outputs: OutputCounts  # on noisy copies, by the step of the range
    capacity: tuple[NumberOfSites, ...]  # how many sites there are on each axis
    anchored: str  # why its regions are anchored, "" if they are not
    intervals: tuple[tuple[Number, Number], ...]  # for each entry of `claims`


class IntervalsFile(Form, kw_only=True):
    """An archive of intervals."""

    format: str
    version: int
    says: str  # what is claimed, in words
    noise: tuple[dict[str, Any], ...]  # the law of each region
    axes: tuple[str, ...]  # the axes of radii, in order
    alpha: Number  # the failure probability of each interval, or of `together` of them
    alpha_exact: str  # the same, as the fraction that it is
    together: NumberOfVotes | None  # how many rows share alpha; null: each has all of it
    outputs: OutputRange  # of the model
    evidence: SideFile  # where the flips of the outputs fell
    drawn: DrawnForm | UnsetType = UNSET  # how the votes were drawn
    threat: ThreatText | UnsetType = UNSET  # the threat that lists its attacks
    claims: tuple[IntervalClaim, ...]  # what intervals are about
    audit: AuditNumbers | None  # which copies were classified again
    settings: dict[str, Any]  # how the run was made
    provenance: dict[str, Any]  # the versions that made it
    keys: tuple[str, ...] | UnsetType = UNSET  # the key of each object, by which its votes were drawn
    listed: tuple[ListedForm, ...] | UnsetType = UNSET  # the number and the levels of the attacks on each graph
    graphs: tuple[IntervalsOfRow, ...]  # the rows, one for each graph or target


def interval_premises(result: Certificates[IntervalProof]) -> dict[str, Any]:
    """The premises of an archive of intervals, from those of a result."""
    proof, about = result.proof, {"kind": INTERVALS, "result": result}
    return about | {name: getattr(proof, name) for name in ("noise", "votes", "alpha", "together", "asked")}


def interval_rows(archive: Archive) -> list[dict[str, object]]:
    """One row an object or target, for a CSV file: the ends of each claim's interval stand side by side."""
    found = []
    for one, name, label, claims in zip(
        archive.certificates, archive.names, archive.labels, archive.claims, strict=True
    ):
        row: dict[str, object] = {"graph": one.object, "name": name, "true": label, "estimate": one.estimate}
        for claim in claims:
            assert isinstance(claim, Interval)
            title = archive.title(claim.what)
            row |= {f"{title}, low": claim.low, f"{title}, high": claim.high}
        found.append(row)
    return found


def _evidence(result: Certificates[IntervalProof], number: int) -> GraphEvidence | None:
    kept, votes = result.proof.kept[number], result.proof.votes.ballots[number] if result.proof.votes.ballots else None
    attacks = None if result.proof.asked is None else result.proof.asked[number].attacks
    return (
        None
        if kept is None or votes is None
        else joint_evidence(votes, kept.sites, kept.axes, attacks, result.proof.noise)
    )


def intervals_form(archive: Archive, stem: str, sides: Sides) -> IntervalsFile:
    """The file of an archive of intervals, and the content of the files beside it."""
    result: Certificates[IntervalProof] = archive.certificates
    proof, outputs = result.proof, asdict(result.proof.outputs)
    found = [_evidence(result, number) for number in range(len(proof.kept))]
    more = drawn_form(f"{stem}.chunks.npz", replace(archive.votes, selection=None), sides)  # no interval rests on them
    if archive.asked is not None:
        more["threat"] = threat_form(archive.asked[0].threat)
        more["listed"] = tuple(map(question_form, archive.asked))
    return IntervalsFile(
        format=FORMAT,
        version=VERSION,
        says=SAYS,
        noise=tuple(noise_to_json(archive.noise)),
        axes=tuple(archive.noise.axes),
        alpha=archive.alpha,
        alpha_exact=exact(archive.alpha),
        together=archive.together if archive.together > 1 else None,
        outputs=OutputRange(**outputs, exact={name: exact(outputs[name]) for name in ("low", "high")}),
        evidence=side_form(f"{stem}{SIDE}", pack(found) if any(found) else None, sides),
        claims=tuple(_claim_form(each.what) for each in archive.claims[0]),
        audit=None if archive.votes.audit is None else audit_form(archive.votes.audit),
        settings=dict(archive.settings),
        provenance=dict(archive.provenance),
        graphs=tuple(_row_form(archive, row) for row in range(len(archive))),
        **more,
    )


def _claim_form(what: Claim) -> IntervalClaim:
    return IntervalClaim(threat=None if what.threat is None else str(what.threat), size=what.size, above=what.above)


def _row_form(archive: Archive, row: int) -> IntervalsOfRow:
    votes = archive.votes
    counts, number = votes.counts[row], int(votes.objects[row])
    first, last = np.flatnonzero(counts)[[0, -1]].tolist()
    return IntervalsOfRow(
        name=archive.names[row],
        graph=number,
        target=int(votes.targets[row]),
        node=None if archive.nodes is None else archive.nodes[row],
        true=archive.labels[row],
        outputs=OutputCounts(first=first, counts=tuple(counts[first : last + 1].tolist())),
        capacity=archive.certificates.proof.capacities[number],
        anchored=archive.anchored[row],
        intervals=tuple((each.low, each.high) for each in archive.claims[row]),
    )


def intervals_archive(told: IntervalsFile, path: Path) -> Archive:
    """The archive of intervals in a file, as it states them; without its side file it is refused."""
    noise, alpha, threat = sampled(told)
    check(not noise.outside, "noise", "have laws that are starcert's own", noise.outside)
    edges, rows = told.outputs, told.graphs
    outputs = ValueRange(edges.low, edges.high, edges.steps)
    check_exact(edges.exact, {"low": outputs.low, "high": outputs.high}, "outputs.exact")
    whats = tuple(_claim(each, f"claims[{i}]", noise, threat) for i, each in enumerate(told.claims))
    counts = [_counts(row, f"graphs[{i}]", noise, outputs.steps, len(whats)) for i, row in enumerate(rows)]
    objects, targets, nodes = zip(*((row.graph, row.target, row.node) for row in rows), strict=True)
    check(max(objects) < len(rows), "graphs", "number graphs from 0", objects)
    sizes = targets_in_order("graphs", objects, targets, max(objects) + 1)
    check(min(sizes) > 0, "graphs", "be the targets of one graph after the other, each in order", objects)
    firsts = np.cumsum([0, *sizes[:-1]]).tolist()
    asked = questions_of(told, threat, len(noise.axes), len(sizes))
    listed = None if asked is None else [each.counts for each in asked]
    unpacked = partial(unpack, counts=[counts[first] for first in firsts], noise=noise, listed=listed, n_targets=sizes)
    side = read_side(told.evidence, "evidence", path, SIDE, unpacked, MISSING, needed=True)
    kept, ballots = list[KeptSites | None](), list[Ballots | None]()
    for number, (found, first) in enumerate(zip(side or [None] * len(sizes), firsts, strict=True)):
        own, question = slice(first, first + sizes[number]), None if asked is None else asked[number]
        if any(row.capacity != rows[first].capacity for row in rows[own]):
            raise MalformedError(f"'graphs[{first}].capacity' must be that of all targets of its graph.")
        kept.append(None)
        ballots.append(None)
        if found is not None:
            of_targets, capacity = np.array(counts[own]), rows[first].capacity
            kept[-1], ballots[-1] = _kept(found, noise, of_targets, capacity, question, f"graph {number}")
            if question is not None and asked is not None:
                asked[number] = replace(question, attacks=found.attacks or ())
        elif threat is not None:
            raise MalformedError(f"'evidence' must have the flips of graph {number}, as a threat lists its attacks.")
    votes = Votes(counts, objects=objects, targets=targets, audit=audit_of(told.audit), ballots=tuple(ballots))
    if told.drawn is not UNSET and told.keys is not UNSET:
        votes = replace(votes, chunks=read_drawn(told.drawn, told.keys, path, votes))
    proof = IntervalProof(
        outputs,
        noise,
        votes,
        tuple(kept),
        tuple(rows[first].capacity for first in firsts),
        alpha,
        joint_alpha(told.together, len(rows)),
        None if asked is None else tuple(asked),
        threat,
    )
    own_nodes = None if None in nodes else TargetNodes(np.array(nodes), nodes, ())
    anchored = tuple(row.anchored for row in rows)
    about = Rows(np.array(objects), np.array(targets), 0, anchored, nodes=own_nodes)
    claims = (zip(whats, row.intervals, strict=True) for row in rows)
    return Archive(
        **interval_premises(Certificates(about, np.empty(0, np.int64), threat, proof)),
        claims=tuple(tuple(Interval(i, what, *ends) for what, ends in each) for i, each in enumerate(claims)),
        names=tuple(row.name for row in rows),
        labels=tuple(row.true for row in rows),
        anchored=anchored,
        nodes=None if own_nodes is None else nodes,
        settings=told.settings,
        provenance=told.provenance,
    )


def _kept(
    found: GraphEvidence, noise: Noise, counts: Whole, capacity: tuple[int, ...], asked: Question | None, name: str
) -> tuple[KeptSites, Ballots]:
    """The checked part of a side file about an object: its votes, its axes and its listed attacks."""
    votes, axes = joint_votes(found, noise, counts, None, asked, name)
    if any(map(operator.lt, capacity, found.sizes)) or (asked is None and capacity != found.sizes):
        raise MalformedError(f"the capacity of {name} must be the sizes of its axes, {found.sizes}.")
    return KeptSites(np.arange(votes.n_sites), axes, whole=asked is None), votes


def _claim(told: IntervalClaim, place: str, noise: Noise, asked: Threat | None) -> Claim:
    if told.threat is None:
        most = 0 if asked is None else asked.most
        check(told.size <= most, f"{place}.size", f"be a whole number from 0 to {most:,}", told.size)
        return Claim(None, told.size, told.above)
    threat = read_threat(told.threat if len(told.threat) < 1000 else "")
    fits = threat.by_radius and str(threat.for_noise(noise)) == told.threat and told.size == 0
    check(fits, f"{place}.threat", "be the text of a threat by radius", told.threat)
    return Claim(threat.for_noise(noise), 0, told.above)


def _counts(row: IntervalsOfRow, place: str, noise: Noise, steps: int, n_claims: int) -> list[int]:
    """The outputs of a row by step, once its numbers are such as they can be."""
    first, seen, counts = row.outputs.first, row.outputs.counts, np.zeros(steps, dtype=np.int64)
    check(first < steps, f"{place}.outputs.from", f"be a whole number from 0 to {steps - 1:,}", first)
    check(0 < len(seen) <= steps - first, f"{place}.outputs.counts", f"be of at most {steps - first} steps", len(seen))
    some = 0 < sum(seen) <= MAX_VOTES
    check(some, f"{place}.outputs.counts", f"hold from 1 to {MAX_VOTES:,} outputs", seen)
    of_axes(row.capacity, f"{place}.capacity", len(noise.axes))
    must = f"be {n_claims}, two numbers each"
    check(len(row.intervals) == n_claims, f"{place}.intervals", must, len(row.intervals))
    counts[first : first + len(seen)] = seen
    return counts.tolist()
