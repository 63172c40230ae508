"""Archives of tried attacks: answers, how many attacks there are and were tried, what breaks; and tries them again.

The file is JSON like one of certificates. Nothing in it was sampled; what it takes as stated is the classifier.
"""

# ruff: noqa: D101  (the comments beside members say what these parts of files are)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, field

from starcert.archive.checker.trials import MAX_TRIED
from starcert.archive.claims import TriedRow
from starcert.archive.format import EXACT as FORMAT
from starcert.archive.format import VERSION, Flips, Form, NumberOfSites, ThreatText, Whole
from starcert.archive.record import EXACT, Archive
from starcert.archive.side_arrays import targets_in_order
from starcert.archive.threat_texts import StatedThreat, threat_form, threat_of_form
from starcert.archive.untrusted import check
from starcert.archive.verification import Mismatch
from starcert.claims.certificates import Certificates
from starcert.claims.proof import Rows
from starcert.claims.verdict import FoundAttack
from starcert.classifiers.base import Classifier
from starcert.methods.estimator import GraphLike
from starcert.methods.exhaustive import ExactClassifier, TriedAttacks, describe
from starcert.methods.trying import MAX_COUNTED, NEVER, Tried, attacks_at_once
from starcert.methods.trying import recount as ask_again
from starcert.objects import TargetNodes
from starcert.objects.binding import Problem
from starcert.objects.graph_kind import GRAPHS
from starcert.objects.threats import Threat, read_threat
from starcert.objects.threats.sets import NumberedAttacks
from starcert.system.errors import InvalidParameterError
from starcert.system.output import progress_bar
from starcert.voting.plans import Job

SAYS = (
    "Nothing is sampled, so alpha is 0. Without attack the plain classifier answers 'class'. The attacks of the threat "
    "on each object are numbered from 0, those of size 1 first, and were tried in this order, at most 'limit' of them: "
    "'first' is the number of the first one that changes the answer, 'attack' what it changes, and 'answer_after' what "
    "the classifier then answers. No attack of a size of at most 'certified_size' changes the answer. Sites are "
    "positions in the regions of the object. starcert verify checks that these numbers fit together, and with the "
    "model it tries the breaking attacks and some of the others again."
)


NumberTried = Annotated[int, Meta(ge=0, le=MAX_TRIED)]


class TriedObject(Form, kw_only=True):
    attacks: tuple[Whole, ...]  # how many attacks of each size there are
    limit: NumberTried  # how many were to be tried at most
    tried: NumberTried  # how many were needed
    sites: NumberOfSites  # how many sites its regions have
    capacity: tuple[NumberOfSites, ...]  # how many can be changed on each axis
    anchored: str  # why its regions are anchored, "" if they are not


class FirstAttack(Form, kw_only=True):
    sites: tuple[NumberOfSites, ...]  # what it attacks
    values: tuple[Annotated[int, Meta(ge=0, le=255)] | None, ...]  # the new values, where sites have more than two


class TriedRowForm(Form, kw_only=True):
    name: str  # what the data calls the row
    graph: Whole  # the number of its object
    target: Flips  # which target of the object it is
    node: Flips | None  # the index of its node
    true: Whole | None  # the true class; null where it is not known
    label: Whole = field(name="class")  # the answer without attack
    certified_size: Flips  # no attack of at most this size changes it
    broken_size: Flips | None  # the size of the first one that does
    first: NumberTried | None  # its number
    answer_after: Whole | None  # what the classifier then answers
    attack: FirstAttack | None  # what it changes


class ExactFile(Form, kw_only=True):
    """An archive of tried attacks."""

    format: str
    version: int
    says: str  # what is claimed, in words
    alpha: float  # 0: nothing is sampled
    threat: ThreatText  # whose attacks were tried
    classifier: str  # which one it is
    class_names: tuple[str, ...]  # what the classes are called
    axes: tuple[str, ...]  # of the noise that names the regions
    settings: dict[str, Any]  # how the run was made
    provenance: dict[str, Any]  # the versions that made it
    objects: tuple[TriedObject, ...]  # the attacks on each object
    graphs: tuple[TriedRowForm, ...]  # the rows, one for each object or target


def exact_form(archive: Archive) -> ExactFile:
    """The file of an archive of tried attacks."""
    result, proof = archive.certificates, archive.certificates.proof
    anchored = dict(zip(result.objects.tolist(), archive.anchored, strict=True))
    objects = [
        TriedObject(
            attacks=tuple(later - earlier for earlier, later in pairwise((0, *ends))),
            limit=limit,
            tried=proof.tried[number],
            sites=proof.n_sites[number],
            capacity=proof.capacities[number],
            anchored=anchored.get(number, ""),
        )
        for number, (ends, limit) in enumerate(zip(proof.ends, proof.limits, strict=True))
    ]
    return ExactFile(
        format=FORMAT,
        version=VERSION,
        says=SAYS,
        alpha=0,
        threat=threat_form(proof.threat),
        classifier=proof.classifier,
        class_names=archive.class_names,
        axes=proof.axes,
        settings=dict(archive.settings),
        provenance=dict(archive.provenance),
        objects=tuple(objects),
        graphs=tuple(_row_form(archive, row) for row in range(len(archive))),
    )


def _row_form(archive: Archive, row: int) -> TriedRowForm:
    one, proof = archive.certificates[row], archive.certificates.proof
    first: FoundAttack | None = proof.attacks[row]
    return TriedRowForm(
        name=archive.names[row],
        graph=one.object,
        target=one.target,
        node=None if archive.nodes is None else archive.nodes[row],
        true=archive.labels[row],
        label=one.label,
        certified_size=one.certified_size or 0,
        broken_size=one.broken_size,
        first=None if first is None else int(proof.first[row]),
        answer_after=None if first is None else int(proof.answers[row]),
        attack=None if first is None else FirstAttack(sites=first.sites, values=first.values),
    )


def exact_archive(told: ExactFile) -> Archive:
    """The archive in a file, as it states it."""
    check(told.alpha == 0, "alpha", "be 0, as nothing is sampled", told.alpha)
    threat, n_classes, n_objects = threat_of_form(told.threat, "threat", by_radius=True), len(told.class_names), 0
    check(len(set(told.axes)) == len(told.axes), "axes", "be different names", told.axes)
    check(n_classes > 1, "class_names", "be two or more", told.class_names)
    check(bool(told.objects), "objects", "hold at least one object", [])
    check(bool(told.graphs), "graphs", "hold at least one graph", [])
    for n_objects, each in enumerate(told.objects, 1):
        place, total = f"objects[{n_objects - 1}]", sum(each.attacks)
        sized = len(each.attacks) == threat.most and max(each.attacks) <= MAX_COUNTED
        check(sized, f"{place}.attacks", f"be a list of {threat.most} whole numbers up to 10^400", each.attacks)
        check(each.limit <= total, f"{place}.limit", f"be at most the number of attacks, {total:,}", each.limit)
        check(len(each.capacity) == len(told.axes), f"{place}.capacity", "have a number for each axis", each.capacity)
    found = [_first_attack(row, f"graphs[{i}]", n_classes, n_objects) for i, row in enumerate(told.graphs)]
    nodes = [row.node for row in told.graphs]
    check(len({node is None for node in nodes}) == 1, "graphs", "all have a node, or all null", nodes)
    objects, targets = [row.graph for row in told.graphs], [row.target for row in told.graphs]
    targets_in_order("graphs", objects, targets, n_objects)
    proof = TriedAttacks(
        threat,
        np.array(objects),
        np.array([NEVER if row.first is None else row.first for row in told.graphs]),
        np.array([NEVER if row.answer_after is None else row.answer_after for row in told.graphs]),
        tuple(found),
        tuple(tuple(accumulate(each.attacks)) for each in told.objects),
        tuple(each.limit for each in told.objects),
        told.classifier,
        told.axes,
        tuple(each.capacity for each in told.objects),
        tuple(each.sites for each in told.objects),
    )
    reasons, own = [told.objects[number].anchored for number in objects], None
    if None not in nodes:
        own = TargetNodes(np.array(nodes), tuple(nodes), ())
    tried = tuple(each.tried for each in told.objects)
    check(proof.tried == tried, "objects", f"say how many attacks were needed: {proof.tried[:5]}, …", tried)
    about = Rows(np.array(objects), np.array(targets), n_classes, reasons, GRAPHS, own)
    return Archive(
        kind=EXACT,
        result=Certificates(about, np.array([row.label for row in told.graphs]), threat, proof),
        claims=tuple((TriedRow(i, row.certified_size, row.broken_size),) for i, row in enumerate(told.graphs)),
        names=tuple(row.name for row in told.graphs),
        labels=tuple(row.true for row in told.graphs),
        anchored=tuple(reasons),
        class_names=told.class_names,
        nodes=None if own is None else tuple(nodes),  # type: ignore[arg-type]
        settings=told.settings,
        provenance=told.provenance,
    )


def _first_attack(told: TriedRowForm, place: str, n_classes: int, n_objects: int) -> FoundAttack | None:
    """The attack that breaks a row, once the numbers of the row are such as they can be."""
    for name, number in (("class", told.label), ("true", told.true), ("answer_after", told.answer_after)):
        check((number or 0) < n_classes, f"{place}.{name}", f"be a class from 0 to {n_classes - 1}", number)
    check(told.graph < n_objects, f"{place}.graph", f"be one of {n_objects} objects", told.graph)
    missing = {told.first is None, told.answer_after is None, told.attack is None}
    check(len(missing) == 1, f"{place}.first", "stand beside 'answer_after' and 'attack', or all be null", told.first)
    if (attack := told.attack) is None:
        return None
    fits = len(attack.values) in (0, len(attack.sites))
    check(fits, f"{place}.attack.values", "be none, or one for each site", attack.values)
    votes = tuple(int(each == told.answer_after) for each in range(n_classes))
    return FoundAttack(attack.sites, votes, 0.0, attack.values)


def exact_rows(archive: Archive) -> list[dict[str, object]]:
    """One row an object or target: `any_1`, `any_2`, … are the verdicts by size."""
    found, called = [], "any" if _threat(archive).by_radius else "threat"
    for place, row in enumerate(archive.certificates.rows()):
        label = archive.labels[place]
        true = None if label is None else archive.class_names[label]
        for key in ("answer", "answer_after"):
            if row.get(key) is not None:
                row[key] = archive.class_names[int(str(row[key]))]
        sizes = {f"{called}_{size}": kind for size, kind in enumerate(verdicts_by_size(archive, place), start=1)}
        found.append({"graph": row.pop("graph"), "name": archive.names[place], "true": true} | row | sizes)
    return found


def verdicts_by_size(archive: Archive, row: int) -> list[str]:
    """Of a row the verdict under attacks of at most 1, at most 2, … units."""
    return [archive.certificates[row].verdict(size) for size in range(1, _threat(archive).most + 1)]


def _threat(archive: Archive) -> Threat:
    threat: Threat = archive.certificates.proof.threat
    return threat


def _proof(archive: Archive) -> TriedAttacks:
    proof: TriedAttacks = archive.certificates.proof
    return proof


def tried_again(
    archive: Archive,
    classifier: Classifier | ExactClassifier,
    objects: Sequence[GraphLike] | Problem,
    threat: Threat | str | None,
    sample: int,
    seed: int,
    progress: bool | None,
) -> tuple[list[Mismatch], int]:
    """Tries all breaking attacks again, and a sample of the others: the differences, and the number of attacks."""
    exact = classifier if isinstance(classifier, ExactClassifier) else ExactClassifier(classifier)
    asked = _proof(archive).threat if threat is None else read_threat(threat)
    if isinstance(asked, StatedThreat):
        raise InvalidParameterError("threat", f"is missing: the file has only its text, {asked}.")
    more, recounted = list[Mismatch](), 0
    job = Job.of(exact.base, exact.problem(objects), 0)
    if len(job.sites) != len(_proof(archive).ends):
        raise InvalidParameterError("objects", f"be the {len(_proof(archive).ends)} of the file", len(job.sites))
    chosen = _chosen(archive, sample, np.random.default_rng(seed))
    with progress_bar("recounting", sum(map(len, chosen)), shown=progress) as advance:
        for number, numbers in enumerate(chosen):
            more += _recounted(archive, job, number, NumberedAttacks(asked, job.sites[number], job.noise), numbers)
            recounted += len(numbers)
            advance(len(numbers))
    return more, recounted


def _chosen(archive: Archive, sample: int, rng: np.random.Generator) -> list[list[int]]:
    """The numbers of the attacks to try again, by object: none at all, all that break, and a sample of all tried."""
    result = archive.certificates
    tried = np.array(result.proof.tried, dtype=np.float64)
    share = rng.multinomial(sample, tried / tried.sum()).tolist() if tried.sum() else [0] * len(tried)
    found = []
    for number, (most, wanted) in enumerate(zip(result.proof.tried, share, strict=True)):
        broken = set(result.proof.first[result.objects == number].tolist()) - {NEVER}
        others = rng.integers(most, size=wanted).tolist() if most else []
        found.append(sorted({NEVER, *broken, *others}))
    return found


def _recounted(
    archive: Archive, job: Job, number: int, attacks: NumberedAttacks, numbers: Sequence[int]
) -> Iterator[Mismatch]:
    """The differences that the threat and the classifier show on one object."""
    result = archive.certificates
    rows = np.flatnonzero(result.objects == number).tolist()
    name = archive.names[rows[0]] if rows else ""
    if attacks.ends != result.proof.ends[number] or len(rows) != job.n_targets(number):
        yield Mismatch(number, name, "attacks", list(result.proof.ends[number]), list(attacks.ends))
        return
    for row in rows:
        if (attack := result.proof.attacks[row]) is not None:
            first = int(result.proof.first[row])
            there = describe(attacks.run(first, first + 1), job.sites[number])
            if there != (attack.sites, attack.values):
                yield Mismatch(number, archive.names[row], "attack", list(attack.sites), list(there[0]))
    tried = Tried(result.labels[rows].tolist(), result.proof.first[rows].tolist(), result.proof.answers[rows].tolist())
    step = attacks_at_once(job, number)
    for _, part in groupby(enumerate(numbers), key=lambda each: each[0] // step):
        some = [each for _, each in part]
        for one in ask_again(job, number, attacks, tried, some):
            what = "class" if one.attack == NEVER else f"answer under attack {one.attack}"
            yield Mismatch(number, archive.names[rows[one.target]], what, one.expected, one.found)
