"""One row for each certificate: the columns of `results.csv`, of archives and of data frames, made here alone."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from starcert.claims.outcomes import Labels, Outcome, size_steps
from starcert.claims.smoothed_outcomes import unknown_at
from starcert.objects import TargetNodes
from starcert.objects.threats import Threat
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.claims.certificate import Certificate
    from starcert.claims.certificates import Certificates

Row = dict[str, object]


def result_rows(
    certificates: Certificates,
    labels: Labels | None = None,
    *,
    names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    base: Sequence[int] | None = None,
    blind: Sequence[int] | None = None,
) -> list[Row]:
    """One row for each certificate; what is not known is None, and radii are tuples.

    `class` is the smoothed classifier's answer, beside `class_name`, the true class and whether it is `right`; classes
    that are whole numbers, such as -1 and 1, are written as these, others by their numbers from 0. `reach_…` is the
    largest certified count on one axis alone, None after an abstention, and where 0 would say nothing: beyond the
    threat, or where no number of votes certifies a flip. With evidence, `frontier_by_p_A` is what the bounds on the
    class probabilities certify alone, `broken` are the radii with a known attack, and no `any_flips` flips change the
    answer (None where the number of sites is not known); `attack` is the most plausible one that is known to break, in
    words (see `Certificate.attack`), None if none is. With evidence or a threat, `any_1`, `any_2`, … say what is known
    under any 1, any 2, … flips: by p_A, by evidence, broken or open; None where there are fewer sites. Where attacks
    are listed, these are `threat_1`, `threat_2`, …, `attacks_1`, … say how many there are, and `threat`, `verdict` and
    `certified_size` sum it up. Where graphs have several targets, each has a row, with columns `target`, its number,
    and `node`, its name. A fallback has `blind`, its answer, and its `threshold`.

    Args:
        certificates: the certificates.
        labels: the true classes; see `Certificates.truth`.
        names: what the graphs are called (`Dataset.names`), or the rows; by default their numbers.
        class_names: what the classes are called; by default as the classifier calls them.
        base: the base classifier's answer for each clean graph or target, a class number, for `base_class`.
        blind: that of a model which sees nothing an attack can change, for `blind_class`.
    """
    classes = class_names or certificates.classes or range(certificates.bounds.n_classes)
    numbers = class_values(classes)
    truth = [None] * len(certificates) if labels is None else certificates.truth(labels).tolist()
    is_right = [None] * len(truth) if labels is None else certificates.right(labels).tolist()
    called = certificates.names
    if names is not None:
        called = row_names(certificates.objects.tolist(), certificates.nodes, names)
    answers = {"base_class": base, "blind_class": blind}
    for name, given in {"names": called, **answers}.items():
        if given is not None and len(given) != len(certificates):
            wanted = f"be one for each of {len(certificates)} rows, or of their graphs"
            raise InvalidParameterError(name.removesuffix("_class"), wanted, len(given))
    threat, outcomes = certificates.counted, certificates.outcomes()
    steps = [] if threat is None else size_steps(threat.most)
    why_unknown, axes = unknown_at(certificates), certificates.noise.axes
    unknown = [axis for axis in axes if why_unknown(tuple(int(axis == other) for other in axes))]
    several = certificates.nodes is not None or bool(certificates.targets.any())
    found = []
    by_p_A = outcomes.by_p_A or outcomes  # noqa: N806  (the paper's p_A)
    for place, (one, outcome, alone) in enumerate(zip(certificates, outcomes, by_p_A, strict=True)):
        true, attack = truth[place], one.attack()
        found.append(
            {"graph": one.object, "name": called[place]}
            | {"true_class": None if true is None else numbers[true]}
            | {"true_name": None if true is None else str(classes[true])}
            | {name: numbers[given[place]] for name, given in answers.items() if given is not None}
            | {"class": numbers[one.label], "class_name": str(classes[one.label])}
            | {"right": None if true is None else is_right[place]}
            | ({"target": one.target} if several else {})
            | ({"node": one.node} if certificates.nodes is not None else {})
            | {"abstained": one.abstained, "p_lower": one.p_lower}
            | ({} if one.blind_answer is None else {"blind": numbers[one.blind_answer], "threshold": one.threshold})
            | _votes(one, numbers)
            | _radii(one, unknown)
            | (_by_evidence(one) if certificates.verdicts is not None and certificates.asked is None else {})
            | _by_size(outcome, alone, steps, listed=threat is not None and not threat.by_radius)
            | ({} if certificates.verdicts is None else {"attack": None if attack is None else attack.words})
            | {"anchored": one.anchored}
            | ({} if one.asked is None else _asked(one, one.asked.threat))
        )
    return found


def class_values(classes: Sequence[Hashable]) -> tuple[int, ...]:
    """The number that each class is written by: its own, where all are called by whole numbers, or its place.

    Example:
        >>> class_values(["-1", "1"]), class_values(["ring", "star"]), class_values([3, 8])
        ((-1, 1), (0, 1), (3, 8))
    """
    texts = list(map(str, classes))
    whole = all(re.fullmatch(r"-?\d{1,18}", text) for text in texts)
    return tuple(map(int, texts)) if whole else tuple(range(len(texts)))


def row_names(objects: Sequence[int], nodes: TargetNodes | None, names: Sequence[str]) -> list[str]:
    """The name of each row: that of its graph, with that of its node. Names that are not one a graph stay."""
    names = list(names)  # a pandas Series would be read by its index
    if len(names) != len(set(objects)):
        return names
    graphs = [names[each] for each in objects]
    return graphs if nodes is None else [f"{graph}.{node}" for graph, node in zip(graphs, nodes.names, strict=True)]


def as_csv_rows(rows: Sequence[Mapping[str, object]]) -> Iterator[Row]:
    """The same rows for a CSV file: radii are JSON text."""
    for row in rows:
        yield {name: json.dumps(value) if isinstance(value, tuple) else value for name, value in row.items()}


def _votes(one: Certificate, numbers: Sequence[int]) -> Row:
    votes = one.bounds.votes
    counts = () if votes is None else votes.counts[0].tolist()
    return {f"votes_{number}": count for number, count in zip(numbers, counts, strict=False)}


def _radii(one: Certificate, unknown: Sequence[str]) -> Row:
    """The certified radii; on the `unknown` axes, 0 would mean nothing."""
    radii, axes = one.frontier.radii, one.noise.axes
    reaches = map(max, zip(*radii, strict=True)) if radii else [None] * len(axes)
    columns: Row = {
        f"reach_{axis}": None if reach == 0 and axis in unknown else reach
        for axis, reach in zip(axes, reaches, strict=True)
    }
    return {"margin": one.margin_kind} | columns | {"frontier": radii}


def _by_evidence(one: Certificate) -> Row:
    flips = None if one.capacity is None else one.any_flips
    return {"frontier_by_p_A": one.frontier_by_p_A.radii, "broken": one.broken, "any_flips": flips}


def _by_size(outcome: Outcome, alone: Outcome, steps: Sequence[int], *, listed: bool) -> Row:
    found: Row = {}
    for size in steps:
        known = "abstains" if outcome.answer is None else in_words(outcome, alone, size)
        found[f"{'threat' if listed else 'any'}_{size}"] = known if outcome.possible(size) else None
        found |= {f"attacks_{size}": outcome.attacks[size - 1]} if listed else {}
    return found


def in_words(outcome: Outcome, alone: Outcome, size: int) -> str | None:
    """By which argument it is certified, "by p_A" or "by evidence"; or broken, open, or None: not examined."""
    known = outcome.state(size)
    return ("by p_A" if alone.withstands(size) else "by evidence") if known == "certified" else known


def _asked(one: Certificate, threat: Threat) -> Row:
    return {"threat": str(threat), "verdict": one.verdict(threat), "certified_size": one.certified_size}
