"""Results of trying every attack that are kept: answers, how many attacks there are and were tried, what breaks.

The file is JSON like one of certificates. Nothing in it was sampled; what it takes as stated is the classifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from starcert.archive.checker.trials import MAX_TRIED
from starcert.archive.claims import TriedRow
from starcert.archive.kept import Kept, about_rows, json_lines, kept_from_json, targets_in_order
from starcert.archive.reading import EXACT
from starcert.archive.threat_texts import StatedThreat, threat_from_json, threat_to_json
from starcert.archive.untrusted import VERSION, Field
from starcert.claims.certificates import Certificates
from starcert.claims.proof import Rows
from starcert.claims.verdict import FoundAttack
from starcert.math.channels import MAX_RADIUS
from starcert.methods.exhaustive import TriedAttacks
from starcert.methods.trying import MAX_COUNTED, NEVER
from starcert.objects import TargetNodes
from starcert.objects.graph_kind import GRAPHS
from starcert.objects.noise import MAX_SITES
from starcert.system.errors import InvalidParameterError

SAYS = (
    "Nothing is sampled, so alpha is 0. Without attack the plain classifier answers 'class'. The attacks of the threat "
    "on each object are numbered from 0, those of size 1 first, and were tried in this order, at most 'limit' of them: "
    "'first' is the number of the first one that changes the answer, 'attack' what it changes, and 'answer_after' what "
    "the classifier then answers. No attack of a size of at most 'certified_size' changes the answer. Sites are "
    "positions in the regions of the object. starcert verify checks that these numbers fit together, and with the "
    "model it tries the breaking attacks and some of the others again."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactArchive(Kept):
    """The results of trying attacks, and the data about the objects that a reader needs."""

    kind = "exact"
    result: Certificates[TriedAttacks]  # as a file states it; labels are class numbers
    claims: tuple[TriedRow, ...] = ()  # about each row, as a file states them

    @classmethod
    def from_result(
        cls,
        result: Certificates,
        *,
        names: Sequence[str] | None = None,
        labels: Sequence[object] | None = None,
        class_names: Sequence[str] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> ExactArchive:
        """The archive of a result of `ExactClassifier.certify`.

        Args:
            result: the result to keep.
            names: what the objects or targets are called; by default their numbers.
            labels: the true classes, in the words of the classifier or by number; None where one is not known.
            class_names: what the classes are called; by default as the classifier calls them, or their numbers.
            settings: how the run was made, as JSON values.
        """
        if not isinstance(result.proof, TriedAttacks):
            hint = "Give what ExactClassifier.certify returned."
            raise InvalidParameterError("result", "be certificates by trying attacks", result, hint)
        called = class_names or result.classes or range(result.n_classes)
        truth = None if labels is None else result.truth(labels).tolist()
        about = about_rows(
            result.objects.tolist(), result.targets.tolist(), names=names, labels=truth, settings=settings
        )
        nodes = None if result.nodes is None else tuple(result.nodes.index.tolist())
        kept = Certificates(result.numbered.about, result.labels, result.threat, result.proof, result.seconds)
        return cls(result=kept, class_names=tuple(map(str, called)), nodes=nodes, **about)

    @property
    def of_unknown_threat(self) -> bool:
        """True if the threat is known by its text alone."""
        return isinstance(self.result.proof.threat, StatedThreat)

    @property
    def object_names(self) -> tuple[str, ...]:
        """The name of the first row of each object."""
        first = dict(zip(reversed(self.result.objects.tolist()), reversed(self.names), strict=True))
        return tuple(first.get(number, "") for number in range(len(self.result.proof.ends)))

    @property
    def anchored(self) -> tuple[str, ...]:
        """Of each row, why its regions are anchored; "" if they are not."""
        return tuple(self.result.anchored)

    def rows(self) -> Iterator[dict[str, object]]:
        """One row an object or target, for a CSV file: `any_1`, `any_2`, … are the verdicts by size."""
        called = "any" if self.result.proof.threat.by_radius else "threat"
        for place, (name, label, row) in enumerate(zip(self.names, self.labels, self.result.rows(), strict=True)):
            about = {
                "graph": row.pop("graph"),
                "name": name,
                "true": None if label is None else self.class_names[label],
            }
            for key in ("answer", "answer_after"):
                row[key] = None if row[key] is None else self.class_names[int(str(row[key]))]
            yield about | row | {f"{called}_{size}": kind for size, kind in enumerate(self.kinds(place), start=1)}

    def kinds(self, row: int) -> list[str]:
        """Of a row the verdict under attacks of at most 1, at most 2, … units."""
        return [self.result[row].verdict(size) for size in range(1, self.result.proof.threat.most + 1)]


def exact_lines(archive: ExactArchive) -> Iterator[str]:
    """The archive as the text of a file."""
    result, proof = archive.result, archive.result.proof
    anchored = dict(zip(result.objects.tolist(), result.anchored, strict=True))
    head = {
        "format": EXACT,
        "version": VERSION,
        "says": SAYS,
        "alpha": 0,
        "threat": threat_to_json(proof.threat),
        "classifier": proof.classifier,
        "class_names": archive.class_names,
        "axes": proof.axes,
        "settings": archive.settings,
        "provenance": archive.provenance,
    }
    objects = (
        {
            "attacks": [later - earlier for earlier, later in pairwise((0, *ends))],
            "limit": limit,
            "tried": proof.tried[number],
            "sites": proof.n_sites[number],
            "capacity": proof.capacities[number],
            "anchored": anchored.get(number, ""),
        }
        for number, (ends, limit) in enumerate(zip(proof.ends, proof.limits, strict=True))
    )
    return json_lines(head, {"objects": objects, "graphs": (_row_to_json(archive, row) for row in range(len(archive)))})


def _row_to_json(archive: ExactArchive, row: int) -> dict[str, object]:
    result, one = archive.result, archive.result[row]
    first = result.proof.attacks[row]
    attack = None if first is None else {"sites": first.sites, "values": first.values}
    return {
        "name": archive.names[row],
        "graph": one.object,
        "target": one.target,
        "node": None if result.nodes is None else int(result.nodes.index[row]),
        "true": archive.labels[row],
        "class": one.label,
        "certified_size": one.certified_size,
        "broken_size": one.broken_size,
        "first": None if first is None else int(result.proof.first[row]),
        "answer_after": None if first is None else int(result.proof.answers[row]),
        "attack": attack,
    }


def exact_from_json(whole: Field) -> ExactArchive:
    """The archive in a file, as it states it."""
    top = whole.members(
        *("format", "version", "says", "alpha", "threat", "classifier", "class_names", "axes", "settings"),
        *("provenance", "objects", "graphs"),
    )
    top["says"].text()
    top["alpha"].check(top["alpha"].value == 0, "be 0, as nothing is sampled")
    threat, axes = threat_from_json(top["threat"], by_radius=True), tuple(each.text() for each in top["axes"].items())
    top["axes"].check(len(set(axes)) == len(axes), "be different names")
    class_names = tuple(each.text() for each in top["class_names"].items())
    top["class_names"].check(len(class_names) > 1, "be two or more")
    stated = [_object(each, threat.most, len(axes)) for each in top["objects"].items()]
    top["objects"].check(bool(stated), "hold at least one object")
    counts, limits, tried, sites, capacities, anchored = zip(*stated, strict=True)
    rows = [_row(each, len(class_names), len(stated)) for each in top["graphs"].items()]
    top["graphs"].check(bool(rows), "hold at least one graph")
    names, objects, targets, nodes, labels, answers, certified, broken, first, after, attacks = zip(*rows, strict=True)
    top["graphs"].check(len({node is None for node in nodes}) == 1, "all have a node, or all null")
    targets_in_order(top["graphs"], objects, targets, len(stated))
    proof = TriedAttacks(
        threat,
        np.array(objects),
        np.array(first),
        np.array(after),
        attacks,
        tuple(tuple(accumulate(each)) for each in counts),
        limits,
        top["classifier"].text(),
        axes,
        capacities,
        sites,
    )
    own = None if None in nodes else TargetNodes(np.array(nodes), tuple(nodes), ())
    reasons = [anchored[number] for number in objects]
    about = Rows(np.array(objects), np.array(targets), len(class_names), reasons, GRAPHS, own)
    result = Certificates(about, np.array(answers), threat, proof)
    top["objects"].check(proof.tried == tried, f"say how many attacks were needed: {proof.tried[:5]}, …")
    return ExactArchive(
        result=result,
        claims=tuple(map(TriedRow, range(len(rows)), certified, broken)),
        class_names=class_names,
        names=names,
        labels=labels,
        nodes=None if None in nodes else nodes,
        **kept_from_json(top),
    )


def _object(field: Field, most: int, n_axes: int) -> tuple[Any, ...]:
    inside = field.members("attacks", "limit", "tried", "sites", "capacity", "anchored")
    counts = inside["attacks"].wholes(most, MAX_COUNTED)
    limit, tried = inside["limit"].whole(MAX_TRIED), inside["tried"].whole(MAX_TRIED)
    inside["limit"].check(limit <= sum(counts), f"be at most the number of attacks, {sum(counts):,}")
    capacity = inside["capacity"].wholes(n_axes, MAX_SITES)
    return counts, limit, tried, inside["sites"].whole(MAX_SITES), capacity, inside["anchored"].text()


def _row(field: Field, n_classes: int, n_objects: int) -> tuple[Any, ...]:
    inside = field.members(
        *("name", "graph", "target", "node", "true", "class", "certified_size", "broken_size", "first"),
        *("answer_after", "attack"),
    )

    def maybe(name: str, most: int) -> int | None:
        return None if inside[name].value is None else inside[name].whole(most)

    first, after, attack = maybe("first", MAX_TRIED), maybe("answer_after", n_classes - 1), None
    one_missing = (first is None, after is None, inside["attack"].value is None)
    inside["first"].check(len(set(one_missing)) == 1, "stand beside 'answer_after' and 'attack', or all be null")
    label = inside["class"].whole(n_classes - 1)
    if first is not None and after is not None:
        part = inside["attack"].members("sites", "values")
        sites = part["sites"].wholes(len(part["sites"].items()), MAX_SITES)
        values = tuple(None if each.value is None else each.whole(255) for each in part["values"].items())
        votes = tuple(int(each == after) for each in range(n_classes))
        part["values"].check(len(values) in (0, len(sites)), "be none, or one for each site")
        attack = FoundAttack(sites, votes, 0.0, values)
    return (
        inside["name"].text(),
        inside["graph"].whole(n_objects - 1),
        inside["target"].whole(MAX_RADIUS),
        maybe("node", MAX_RADIUS),
        maybe("true", n_classes - 1),
        label,
        inside["certified_size"].whole(MAX_RADIUS),
        maybe("broken_size", MAX_RADIUS),
        NEVER if first is None else first,
        NEVER if after is None else after,
        attack,
    )
