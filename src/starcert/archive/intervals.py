"""Intervals that are kept: the outputs on all noisy copies, where their flips fell, and what is claimed from them.

A file of intervals is JSON like one of certificates, with the same kind of side file; `write`, `read` and `verify` tell
them apart. In it, objects have those sites alone whose flips were kept, numbered from 0.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from starcert.archive.drawn import drawn_keys, read_drawn, write_drawn
from starcert.archive.evidence_file import SIDE, GraphEvidence, pack, unpack
from starcert.archive.joint_votes import joint_evidence, joint_votes
from starcert.archive.kept import Kept, about_rows, json_lines, kept_from_json, targets_in_order
from starcert.archive.listed_attacks import question_to_json
from starcert.archive.premises import (
    audit_from_json,
    check_exact,
    evidence_from_json,
    exact,
    noise_from_json,
    noise_to_json,
    questions_from_json,
)
from starcert.archive.reading import INTERVALS
from starcert.archive.side_arrays import write_side
from starcert.archive.threat_texts import threat_from_json, threat_to_json
from starcert.archive.untrusted import VERSION, Field, MalformedError
from starcert.claims.certificates import Certificates
from starcert.claims.intervals import Claim, IntervalProof, KeptSites
from starcert.claims.proof import Rows
from starcert.claims.question import Question
from starcert.classifiers.values import ValueRange
from starcert.math.arithmetic import Whole
from starcert.math.ballots import Ballots
from starcert.math.channels import MAX_RADIUS
from starcert.math.confidence import check_alpha
from starcert.math.values import MAX_VOTES
from starcert.math.votes import Votes
from starcert.objects import TargetNodes
from starcert.objects.noise import MAX_SITES, Noise, RadiusLike
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError

SAYS = (
    "For each graph and each entry of 'claims' by itself, with probability at least 1 - alpha over the sampling of the "
    "graph's outputs: the mean output on noisy copies, or the probability of an output above 'above', lies in the "
    "interval, at the graph itself and at every graph that an attack of the entry makes of it: within a radius, or "
    "listed with a size of at most 'size'. Where 'together' is a number, all graphs share alpha. Outputs are known by "
    "the step of the range that they lie in. starcert verify proves the intervals again from the outputs, where their "
    "flips fell, the noise and alpha. That lists have all attacks of their threat is taken as stated."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class IntervalArchive(Kept):
    """Outputs on noisy copies, what is claimed from them, and what a reader wants to know about the objects."""

    kind = "intervals"
    result: Certificates[IntervalProof]  # what intervals are computed from
    claims: tuple[Claim, ...]  # what they are about
    intervals: tuple[tuple[tuple[float, float], ...], ...]  # of each row, in the order of the claims; as stated

    @classmethod
    def from_result(
        cls,
        result: Certificates[IntervalProof],
        claims: Sequence[tuple[Threat | str | RadiusLike, float | None]] = (),
        *,
        names: Sequence[str] | None = None,
        labels: Sequence[float | None] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> IntervalArchive:
        """The archive of a result of `SmoothedRegressor.certify`.

        Args:
            result: the result to keep.
            claims: what to claim, beside the intervals without attack and under the threat of `certify`: threats or
                radii, each with the number that outputs are above, or None for their mean.
            names: what the objects or targets are called; by default their numbers.
            labels: the true numbers, None where one is not known.
            settings: how the run was made, as JSON values.
        """
        if result.proof.noise.outside:
            raise InvalidParameterError("result", "have laws that are starcert's own", result.proof.noise)
        asked = [Claim(), *([result.proof.claim(None, None)] if result.proof.threat else [])]
        every = tuple(dict.fromkeys([*asked, *(result.proof.claim(*each) for each in claims)]))
        found = [[result.proof.interval(one, each, None) for each in every] for one in result]
        truth = None if labels is None else [None if each is None else float(each) for each in labels]
        objects, targets = result.proof.votes.objects.tolist(), result.proof.votes.targets.tolist()
        about = about_rows(objects, targets, names=names, labels=truth, settings=settings)
        ends = tuple(tuple((each.low, each.high) for each in row) for row in found)
        return cls(result=result, claims=every, intervals=ends, nodes=_indices(result), **about)

    @property
    def anchored(self) -> tuple[str, ...]:
        """Of each row, why its regions are anchored; "" if they are not."""
        return tuple(self.result.anchored)

    def title(self, claim: Claim) -> str:
        """The subject of a claim, in a few words."""
        asked = self.result.proof.asked
        under = "without attack" if claim.threat is None and not claim.size else (
            f"under {claim.threat.label if claim.threat else (asked or ())[0].threat.label_of(claim.size)}"
        )  # fmt: skip
        return f"{'mean' if claim.above is None else f'P(output > {claim.above:g})'} {under}"

    def rows(self) -> list[dict[str, object]]:
        """One row an object or target, for a CSV file: the ends of each claim's interval stand side by side."""
        found = []
        for one, name, label, intervals in zip(self.result, self.names, self.labels, self.intervals, strict=True):
            row: dict[str, object] = {"graph": one.object, "name": name, "true": label, "estimate": one.estimate}
            for claim, (low, high) in zip(self.claims, intervals, strict=True):
                row |= {f"{self.title(claim)}, low": low, f"{self.title(claim)}, high": high}
            found.append(row)
        return found


def _indices(result: Certificates[IntervalProof]) -> tuple[int, ...] | None:
    """The index of the node of each row, where it is one."""
    return None if result.nodes is None else tuple(result.nodes.index.tolist())


def _evidence(result: Certificates[IntervalProof], number: int) -> GraphEvidence | None:
    kept, votes = result.proof.kept[number], result.proof.votes.ballots[number] if result.proof.votes.ballots else None
    attacks = None if result.proof.asked is None else result.proof.asked[number].attacks
    return (
        None
        if kept is None or votes is None
        else joint_evidence(votes, kept.sites, kept.axes, attacks, result.proof.noise)
    )


def interval_lines(archive: IntervalArchive, path: Path) -> Iterator[str]:
    """The archive as the text of a file; its side files are written first."""
    result = archive.result
    found = [_evidence(result, number) for number in range(len(result.proof.kept))]
    votes = replace(result.proof.votes, selection=None)  # no interval rests on them
    outputs = asdict(result.proof.outputs)
    head = {
        "format": INTERVALS,
        "version": VERSION,
        "says": SAYS,
        "noise": noise_to_json(result.proof.noise),
        "axes": result.proof.noise.axes,
        "alpha": result.proof.alpha,
        "alpha_exact": exact(result.proof.alpha),
        "together": result.together if result.together > 1 else None,
        "outputs": outputs | {"exact": {name: exact(outputs[name]) for name in ("low", "high")}},
        "evidence": write_side(path, SIDE, pack(found) if any(found) else None),
        **write_drawn(path, votes),
        **({} if result.proof.asked is None else {"threat": threat_to_json(result.proof.asked[0].threat)}),
        "claims": [_claim_to_json(each) for each in archive.claims],
        "audit": None if (audit := result.proof.votes.audit) is None else asdict(audit) | {"says": str(audit)},
        "settings": archive.settings,
        "provenance": archive.provenance,
    }
    listed = {} if result.proof.asked is None else {"listed": map(question_to_json, result.proof.asked)}
    rows = (_row_to_json(archive, row) for row in range(len(archive)))
    return json_lines(head, {**drawn_keys(votes), **listed, "graphs": rows})


def _claim_to_json(claim: Claim) -> dict[str, object]:
    return {"threat": None if claim.threat is None else str(claim.threat), "size": claim.size, "above": claim.above}


def _row_to_json(archive: IntervalArchive, row: int) -> dict[str, object]:
    result, counts = archive.result, archive.result.proof.votes.counts[row]
    first, last = np.flatnonzero(counts)[[0, -1]].tolist()
    number = int(result.proof.votes.objects[row])
    return {
        "name": archive.names[row],
        "graph": number,
        "target": int(result.proof.votes.targets[row]),
        "node": None if result.nodes is None else int(result.nodes.index[row]),
        "true": archive.labels[row],
        "outputs": {"from": first, "counts": counts[first : last + 1].tolist()},
        "capacity": result.proof.capacities[number],
        "anchored": result.anchored[row],
        "intervals": archive.intervals[row],
    }


def intervals_from_json(whole: Field, path: Path) -> IntervalArchive:
    """The archive of intervals in a file, as it states them; without its side file it is refused."""
    top = whole.members(
        *("format", "version", "says", "noise", "axes", "alpha", "alpha_exact", "together", "outputs", "evidence"),
        *("claims", "audit", "settings", "provenance", "graphs"),
        optional=("threat", "listed", "drawn", "keys"),
    )
    top["says"].text()
    noise, threat = noise_from_json(top["noise"]), threat_from_json(top["threat"]) if "threat" in top else None
    top["noise"].check(not noise.outside, "have laws that are starcert's own")
    whole.check(("listed" in top) is (threat is not None), "have 'listed' with a threat, and else not")
    top["axes"].check(top["axes"].value == list(noise.axes), f"be the axes of the noise, {', '.join(noise.axes)}")
    alpha, outputs = check_alpha(top["alpha"].number()), _outputs(top["outputs"])
    check_exact(top["alpha_exact"], alpha)
    claims = tuple(_claim(each, noise, threat) for each in top["claims"].items())
    rows = [_row(each, noise, outputs, len(claims)) for each in top["graphs"].items()]
    top["graphs"].check(bool(rows), "hold at least one graph")
    names, objects, targets, nodes, labels, counts, capacities, anchored, intervals = zip(*rows, strict=True)
    top["graphs"].check(max(objects) < len(rows), "number graphs from 0")
    sizes = targets_in_order(top["graphs"], objects, targets, max(objects) + 1)
    top["graphs"].check(min(sizes) > 0, "be the targets of one graph after the other, each in order")
    firsts = np.cumsum([0, *sizes[:-1]]).tolist()
    asked = None if threat is None else questions_from_json(top["listed"], threat, len(noise.axes), len(sizes))
    listed = None if asked is None else [each.counts for each in asked]
    unpacked = partial(unpack, counts=[counts[first] for first in firsts], noise=noise, listed=listed, n_targets=sizes)
    side = evidence_from_json(top["evidence"], path, unpacked, needed=True, n_graphs=len(sizes))
    kept, ballots = list[KeptSites | None](), list[Ballots | None]()
    for number, (found, first) in enumerate(zip(side, firsts, strict=True)):
        own = slice(first, first + sizes[number])
        if any(each != capacities[first] for each in capacities[own]):
            raise MalformedError(f"'graphs[{first}].capacity' must be that of all targets of its graph.")
        kept.append(None)
        ballots.append(None)
        if found is not None:
            question = None if asked is None else asked[number]
            kept[-1], ballots[-1] = _kept(
                found, noise, np.array(counts[own]), capacities[first], question, f"graph {number}"
            )
            if question is not None and asked is not None:
                asked[number] = replace(question, attacks=found.attacks or ())
        elif threat is not None:
            raise MalformedError(f"'evidence' must have the flips of graph {number}, as a threat lists its attacks.")
    together = 1 if top["together"].value is None else top["together"].whole(MAX_VOTES)
    fits = top["together"].value is None or together >= max(2, len(rows))
    top["together"].check(fits, f"be null, or 2 or more, and no fewer than the {len(rows)} rows of the file")
    audit = None if top["audit"].value is None else audit_from_json(top["audit"])
    votes = Votes(counts, objects=objects, targets=targets, audit=audit, ballots=tuple(ballots))
    proof = IntervalProof(
        outputs,
        noise,
        replace(votes, chunks=read_drawn(top, path, votes)),
        tuple(kept),
        tuple(capacities[first] for first in firsts),
        alpha,
        together,
        None if asked is None else tuple(asked),
        threat,
    )
    found_nodes = None if None in nodes else TargetNodes(np.array(nodes), tuple(nodes), ())
    about = Rows(np.array(objects), np.array(targets), 0, anchored, nodes=found_nodes)
    result = Certificates(about, np.empty(0, np.int64), threat, proof)
    return IntervalArchive(
        result=result,
        claims=claims,
        intervals=intervals,
        names=names,
        labels=labels,
        nodes=_indices(result),
        **kept_from_json(top),
    )


def _kept(
    found: GraphEvidence, noise: Noise, counts: Whole, capacity: tuple[int, ...], asked: Question | None, name: str
) -> tuple[KeptSites, Ballots]:
    """The checked part of a side file about an object: its votes, its axes and its listed attacks."""
    votes, axes = joint_votes(found, noise, counts, None, asked, name)
    if any(map(operator.lt, capacity, found.sizes)) or (asked is None and capacity != found.sizes):
        raise MalformedError(f"the capacity of {name} must be the sizes of its axes, {found.sizes}.")
    return KeptSites(np.arange(votes.n_sites), axes, whole=asked is None), votes


def _outputs(field: Field) -> ValueRange:
    inside = field.members("low", "high", "steps", "exact")
    found = ValueRange(inside["low"].number(), inside["high"].number(), inside["steps"].value)
    for name, fraction in inside["exact"].members("low", "high").items():
        check_exact(fraction, getattr(found, name))
    return found


def _claim(field: Field, noise: Noise, asked: Threat | None) -> Claim:
    inside = field.members("threat", "size", "above")
    above = None if inside["above"].value is None else inside["above"].number()
    if inside["threat"].value is None:
        return Claim(None, inside["size"].whole(0 if asked is None else asked.most), above)
    text = inside["threat"].text()
    threat = read_threat(text if len(text) < 1000 else "")
    fits = threat.by_radius and str(threat.for_noise(noise)) == text and inside["size"].value == 0
    inside["threat"].check(fits, "be the text of a threat by radius")
    return Claim(threat.for_noise(noise), 0, above)


def _row(field: Field, noise: Noise, outputs: ValueRange, n_claims: int) -> tuple[Any, ...]:
    inside = field.members(*("name", "graph", "target", "node", "true", "outputs", "capacity", "anchored", "intervals"))
    about = inside["outputs"].members("from", "counts")
    first, seen = about["from"].whole(outputs.steps - 1), about["counts"]
    counts = np.zeros(outputs.steps, dtype=np.int64)
    length = len(seen.items())
    seen.check(0 < length <= outputs.steps - first, f"be of at most {outputs.steps - first} steps")
    counts[first : first + length] = seen.wholes(length, MAX_VOTES)
    seen.check(0 < counts.sum() <= MAX_VOTES, f"hold from 1 to {MAX_VOTES:,} outputs")
    intervals = [tuple(each.number() for each in pair.items()) for pair in inside["intervals"].items()]
    inside["intervals"].check([2] * n_claims == list(map(len, intervals)), f"be {n_claims}, two numbers each")
    node, truth = inside["node"], inside["true"]
    return (
        inside["name"].text(),
        inside["graph"].whole(MAX_RADIUS),
        inside["target"].whole(MAX_RADIUS),
        None if node.value is None else node.whole(MAX_RADIUS),
        None if truth.value is None else truth.number(),
        counts.tolist(),
        inside["capacity"].wholes(len(noise.axes), MAX_SITES),
        inside["anchored"].text(),
        tuple(intervals),
    )
