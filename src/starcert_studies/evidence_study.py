"""The study of evidence beside the paper's bound: how many graphs each certifies, what is broken, what stays open.

Every question is asked of several draws (`evidence_votes`), and a figure is their median with the range. No draw is
left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from starcert_studies.evidence_tallies import Draws, RadiusTally, named, spread, tallies, verdict_bars
from starcert_studies.evidence_votes import (
    EvidenceSettings,
    Judged,
    Question,
    compute,
    settings,
    support_vectors,
)
from starcert_studies.outcome import Check, Outcome, Picture, Table
from starcert_studies.parts import Part

if TYPE_CHECKING:
    from starcert_studies.parts import StudyParts

__all__ = ["TITLE", "EvidenceSettings", "checks", "run", "settings"]

TITLE = "Beyond p_A: certificates from where the flips fell"

NO_PROTEINS = (
    "PROTEINS was left out: there is no copy of it. Fetch PROTEINS.zip, unpack it, and name the folder that holds it "
    "in the environment variable STARCERT_DATA."
)

SHARED = {
    (0.1, 0.1): {"(1, 0)": 95, "(0, 1)": 95, "(2, 0)": 55, "(1, 1)": 85, "(0, 2)": 95},
    (0.06, 0.06): {"(1, 0)": 95, "(2, 0)": 90, "(1, 1)": 95, "(0, 2)": 95},
    (0.1, 0.45): {"(0, 45)": 95},
}
"""What evidence from the votes on the clean graphs certifies at least, in % of the motif graphs, in the median draw."""

HEADLINE = {
    (0.1, 0.1): ("any flip", "any 2 flips"),
    (0.06, 0.06): ("any flip", "any 2 flips"),
    (0.02, 0.45): ("(2, 45)",),
    (0.04, 0.2): ("any 2 flips",),
    (0.05, 1 / 400): ("any flip",),
}
"""The radii of each noise that the README shows."""

Found: TypeAlias = dict[Question, list[list[Judged]]]
"""The verdicts on all graphs of each question, draw by draw."""


def run(settings: EvidenceSettings, parts: StudyParts) -> Outcome:
    """The whole study."""
    found = compute(settings, parts)
    machines = [Part(f"support-vectors-{draw}", support_vectors, (draw,)) for draw in range(settings.draws)]
    support = list(parts.run(machines, "support vectors").values())
    told = [
        draws
        for question, some in found.items()
        for draws in zip(*(tallies(question, draw) for draw in some), strict=True)
    ]
    headline = [draws for draws in told if _is_headline(draws[0])]
    legend = (
        "Graphs that are answered right, one thin bar a draw, by what is known about a radius: certified by p_A, by "
        "evidence from the same votes, with votes at attacked graphs; open; broken. On the right the median of what is "
        "certified, and its range."
    )
    return Outcome(
        _summary(told, support, settings),
        [
            Picture("headline", legend, partial(verdict_bars, headline)),
            Picture("verdicts", f"All radii. {legend}", partial(verdict_bars, told)),
        ],
        [
            _medians("headline", "The figures of the README.", headline, found),
            _medians("evidence", "All radii.", told, found),
            _draws(told, found, support),
            _why(found),
        ],
        checks(told, settings),
    )


def _is_headline(one: RadiusTally) -> bool:
    asked = one.question
    return one.radius in HEADLINE.get(asked.noise, ()) and asked.radii[-1] != (3, 45)


COUNTED = {
    "right": "right",
    "by_p_A": "by_p_A",
    "by_p_A_at_share": "by_counts",
    "by_evidence": "shared",
    "with_own_votes": "own",
    "broken": "broken",
    "open": "open",
    "lost_by_sharing_alpha": "shared_away",
}
"""Columns of the tables, and what they count of a `RadiusTally`."""

COLUMNS = [
    "data", "model", "noise_1", "noise_2", "votes", "most_own_votes", "radius", "graphs", "majority", "blind",
    *COUNTED, "own_votes",
]  # fmt: skip


def _without_edges(some: Sequence[Judged]) -> tuple[int, int]:
    """How many graphs a constant answer has right, and how many the blind model."""
    return max(Counter(one["truth"] for one in some).values()), sum(one["blind"] == one["truth"] for one in some)


def _medians(name: str, about: str, told: Sequence[Draws], found: Found) -> Table:
    rows = [[*_row(draws, found[draws[0].question]), len(draws)] for draws in told]
    about = (
        f"{about} Numbers of graphs: the median of the draws, and their range where they differ. majority and blind "
        "are the right answers of a constant, and of a forest that sees the nodes and no edge. All columns from by_p_A "
        "on are about right answers. The noise is that of motif and random pairs, or of present (delete) and absent "
        "pairs (add)."
    )
    return Table(name, about, [*COLUMNS, "draws"], rows)


def _draws(told: Sequence[Draws], found: Found, support: Sequence[int]) -> Table:
    rows = [
        [*_row([one], [found[one.question][draw]]), draw, support[draw] if one.question.data == "motif" else ""]
        for draws in told
        for draw, one in enumerate(draws)
    ]
    return Table("draws", "The same for every draw.", [*COLUMNS, "draw", "support_vectors"], rows, shown=False)


def _row(draws: Draws, some: Sequence[Sequence[Judged]]) -> list[object]:
    asked = draws[0].question
    without_edges = zip(*map(_without_edges, some), strict=True)
    counts = ([getattr(one, field) for one in draws] for field in COUNTED.values())
    own_votes = [round(one.own_votes) for one in draws]
    return [
        asked.data, asked.model, *asked.noise, asked.samples, asked.own_samples, draws[0].radius, draws[0].graphs,
        *map(spread, (*without_edges, *counts, own_votes)),
    ]  # fmt: skip


def _why(found: Found) -> Table:
    rows = [
        [asked.data, asked.model, *asked.noise, str(asked.box), draw, number, one["p_lower"], level, why]
        for asked, draws in found.items()
        for draw, some in enumerate(draws)
        for number, one in enumerate(some)
        for level, why in one["open"].items()
    ]
    columns = ["data", "model", "noise_1", "noise_2", "box", "draw", "graph", "p_lower", "level", "why"]
    return Table("open", "Levels that stay open, and what is missing.", columns, rows, shown=False)


def checks(told: Sequence[Draws], settings: EvidenceSettings) -> list[Check]:
    """What is documented of evidence, and whether it is so here."""
    whole = settings.samples >= 100_000 and settings.graphs == 100 and settings.draws == 20
    few = "Documented of 100,000 votes on each of 100 graphs, and 20 draws."
    made = []
    for draws in told:
        p, radius = draws[0].question.noise, draws[0].radius
        by_p, shared, own, broken, left = (
            [getattr(one, field) for one in draws] for field in ("by_p_A", "shared", "own", "broken", "open")
        )
        if (least := SHARED.get(p, {}).get(radius)) is not None:
            claim = (
                f"p = {p}: evidence certifies {radius} for {least}% of the graphs or more, in the median of the draws"
            )
            measured = f"{spread(shared)} by evidence, {spread(by_p)} by p_A"
            made.append(
                Check(
                    claim, "not in the paper", measured, bool(np.median(shared) >= least / 100 * draws[0].graphs), True
                )
            )
        if p == (0.1, 0.1) and radius == "any 2 flips":
            claim = (
                f"p = {p}: for 5 graphs or fewer it is open whether any two flips matter, in the median of the draws"
            )
            measured = f"{spread(own)} certified, {spread(broken)} broken, {spread(left)} open"
            made.append(Check(claim, "not in the paper", measured, bool(np.median(left) <= 5), True))
        if radius == "(2, 45)" and _is_headline(draws[0]):
            claim = f"p = {p}: (2, 45) is certified for 95% of the graphs or more, in the median of the draws"
            holds = bool(np.median(own) >= 0.95 * draws[0].graphs)
            made.append(Check(claim, "(1, 45)", f"{spread(own)} of {draws[0].graphs}", holds, True))
    made = made if whole else [check.undecided(few) for check in made]
    lost, away = (sum(getattr(one, field) for draws in told for one in draws) for field in ("lost", "shared_away"))
    claim = "nothing that p_A certifies at its share of alpha is lost"
    measured = f"{lost} lost; {away} that p_A certifies at the whole alpha"
    return [*made, Check(claim, "not in the paper", measured, lost == 0, True)]


def _summary(told: Sequence[Draws], support: Sequence[int], settings: EvidenceSettings) -> list[str]:
    sentences = []
    for draws in told:
        one = draws[0]
        if _is_headline(one) or one.radius in {"any 2 flips", "(0, 45)", "(3, 45)"}:
            right, by_p, shared, own, broken, left = (
                spread([getattr(each, field) for each in draws])
                for field in ("right", "by_p_A", "shared", "own", "broken", "open")
            )
            sentences.append(
                f"{named(one.question)}, draws: {len(draws)}. Of {one.graphs} graphs {right} are right. {one.radius}: "
                f"certified by p_A {by_p}, by evidence from the same votes {shared}, with votes at attacked graphs "
                f"{own}; broken {broken}, open {left}."
            )
    sentences.append(f"The machines on the motif data hang on {spread(support)} support vectors.")
    return sentences if settings.proteins else [*sentences, NO_PROTEINS]
