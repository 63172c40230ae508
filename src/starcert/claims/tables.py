"""Tables of certificates: the rows of `results.csv`, archives and data frames, and the table of shares for a paper."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from starcert.claims.gains import NO_ATTACK, box_in_words
from starcert.claims.outcomes import Labels, Outcome, SizeCounts, in_words, majority_share, size_steps
from starcert.claims.smoothed_outcomes import unknown_at
from starcert.objects import TargetNodes
from starcert.objects.noise import RadiusLike
from starcert.objects.threats import Box, Threat
from starcert.system.errors import InvalidParameterError
from starcert.system.markup import html_table
from starcert.system.output import as_frame, fails_at_most

if TYPE_CHECKING:
    import pandas as pd

    from starcert.claims.certificate import Certificate
    from starcert.claims.certificates import Certificates

Row = dict[str, object]
_LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "–": "--"}
_LATEX |= {sign: f"\\{sign}" for sign in "&%$#_{}"}


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
    found, votes = [], None if certificates.votes is None else certificates.votes.counts.tolist()
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
            | (
                {}
                if votes is None
                else {f"votes_{number}": n for number, n in zip(numbers, votes[place], strict=False)}
            )
            | _radii(one, unknown)
            | (_by_evidence(one) if certificates.verdicts is not None and one.asked is None else {})
            | _by_size(outcome, alone, steps, listed=threat is not None and not threat.by_radius)
            | ({} if certificates.verdicts is None else {"attack": None if attack is None else attack.words})
            | {"anchored": one.anchored}
            | _asked(one)
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
        known = "abstains" if outcome.answer is None else verdict_in_words(outcome, alone, size)
        found[f"{'threat' if listed else 'any'}_{size}"] = known if outcome.possible(size) else None
        found |= {f"attacks_{size}": outcome.attacks[size - 1]} if listed else {}
    return found


def verdict_in_words(outcome: Outcome, alone: Outcome, size: int) -> str | None:
    """By which argument it is certified, "by p_A" or "by evidence"; or broken, open, or None: not examined."""
    known = outcome.state(size)
    return ("by p_A" if alone.withstands(size) else "by evidence") if known == "certified" else known


def _asked(one: Certificate) -> Row:
    if one.asked is None:
        return {}
    threat = one.asked.threat
    return {"threat": str(threat), "verdict": one.verdict(threat), "certified_size": one.certified_size}


@dataclass(frozen=True)
class AccuracyTable:
    r"""Shares of graphs that are right and certified (certified, without labels), a row for each kind of attack.

    Every row counts the graphs that can be attacked so. Of those that are right, each is certified, broken or open. A
    share is None where nothing was asked, or can be certified at all; the caption says why.

    Example:
        >>> import starcert as sc
        >>> found = sc.certify(sc.Bounds.certain([0.9, 0.7]), sc.Noise(all=0.2), capacity=[(9,), (9,)])
        >>> table = found.accuracy_table([0, 0])
        >>> [(row["attacks"], row["by p_A"]) for row in table.rows]
        [('no attack', 1.0), ('any 1 flip', 0.5), ('any 2 flips', 0.0)]
        >>> print(table.to_latex().splitlines()[6])
        any 1 flip & 2 & 100.0 & 50.0 \\
    """

    rows: tuple[dict[str, object], ...]
    caption: str

    @classmethod
    def of(
        cls,
        results: Certificates,
        labels: Labels | None = None,
        *,
        threat: Threat | str | None = None,
        radii: Sequence[RadiusLike] = (),
    ) -> AccuracyTable:
        """The table of certificates, by whichever method.

        Args:
            results: the certificates.
            labels: the true classes; without them shares are of all that are answered.
            threat: any flips, such as "flips:3", or the threat that was asked about: by default that one, or two flips.
            radii: further rows, each a radius by axis or in the order of the axes.
        """
        truth = None if labels is None else results.truth(labels).tolist()
        outcomes = results.outcomes(threat)
        found = [outcomes.counts_at(0, truth)._replace(label=NO_ATTACK), *outcomes.counts(truth)]
        boxes = [results.outcomes(Box(radius)) for radius in radii]
        found += [each.counts_at(each.threat.most, truth)._replace(label=box_in_words(each.threat)) for each in boxes]
        columns = {"by_votes": outcomes.by_p_A is not None, "weighed": results.weighed}
        heads = f"{results.word}s", "answered" if labels is None else "right"
        notes = in_words((each.label, each.n_certified is not None, each.why) for each in found)
        caption = " ".join([_caption(results, labels), *notes])
        return cls(tuple(_row(each, heads, **columns) for each in found), caption)

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame, shares from 0 to 1."""
        return as_frame(self.rows)

    def to_latex(self) -> str:
        r"""LaTeX that needs \usepackage{booktabs}: shares in percent, rounded down; the caption is a comment."""
        heads = list(self.rows[0])
        shares = [head for head in heads if isinstance(self.rows[0][head], float)]
        named = [f"{latex(head)} (\\%)" if head in shares else latex(head) for head in heads]
        lines = [f"\\begin{{tabular}}{{l{'r' * (len(heads) - 1)}}}", r"\toprule", _line(named), r"\midrule"]
        for number, row in enumerate(self.rows):
            texts = (_percent(cell) if cell is None or isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int)
                     else str(cell) for cell in row.values())  # fmt: skip
            lines += [_line(map(latex, texts)), *[r"\midrule"] * (number == 0 and len(self.rows) > 1)]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", f"% {self.caption}", ""])

    def _repr_html_(self) -> str:
        shown = [{head: f"{_percent(cell)}%" if isinstance(cell, float) else "–" if cell is None else cell
                  for head, cell in row.items()} for row in self.rows]  # fmt: skip
        return html_table(shown, caption=self.caption)


def latex(text: str) -> str:
    r"""Text for LaTeX: what it would take for commands is escaped, and p_A is the paper's.

    Example:
        >>> print(latex("by p_A"), latex("50% of R&D_1"), latex("~\\x"))
        by $p_A$ 50\% of R\&D\_1 \textasciitilde{}\textbackslash{}x
    """
    pieces = re.split(r"\b(p_A)\b", " ".join(text.split()))
    return "".join("$p_A$" if each == "p_A" else "".join(_LATEX.get(sign, sign) for sign in each) for each in pieces)


def _row(found: SizeCounts, heads: tuple[str, str], *, by_votes: bool, weighed: bool) -> dict[str, object]:
    share = found.share
    row: dict[str, object] = {"attacks": found.label, heads[0]: found.n_graphs, heads[1]: share(found.n_right)}
    if by_votes:
        row["by p_A"] = share(found.n_by_p_A)
    if weighed:
        certified = "with evidence" if by_votes else "certified"
        row |= {certified: share(found.n_certified), "broken": share(found.n_broken), "open": share(found.n_open)}
    return row


def _caption(results: Certificates, labels: Labels | None) -> str:
    found = "Right and certified." if labels is not None else "Answered and certified (no class is known)."
    if labels is not None:
        truth = [label for label in results.truth(labels).tolist() if label is not None]
        found += f" The majority class has {_percent(majority_share(truth))}%." if truth else ""
    if results.alpha is not None:
        chance = fails_at_most(results.alpha, results.together) if results.alpha else "Nothing is left to chance."
        found += f" {chance}"
    return f"{found} Regions are anchored." if any(results.anchored) else found


def _percent(share: float | None) -> str:
    """A share in percent, rounded down to one decimal: never more than there is."""
    return "–" if share is None or math.isnan(share) else f"{np.floor(share * 1000 + 1e-9) / 10:.1f}"


def _line(cells: Iterable[str]) -> str:
    return f"{' & '.join(cells)} \\\\"
