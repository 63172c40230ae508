"""The study of evidence beside the paper's bound: how many graphs each certifies, what is broken, what stays open."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from starcert.display.drawing import COLOURS, FIXED, PAGE, new_figure
from starcert.experiments.evidence_votes import EvidenceSettings, Judged, Question, compute, settings
from starcert.experiments.outcome import Check, Outcome, Picture, Table
from starcert.metrics import majority_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from starcert.experiments.parts import StudyParts

__all__ = ["TITLE", "EvidenceSettings", "RadiusTally", "checks", "run", "settings", "tallies", "verdict_bars"]

TITLE = "Beyond p_A: certificates from where the flips fell"

NO_PROTEINS = (
    "PROTEINS was left out: there is no copy of it. Fetch PROTEINS.zip, unpack it, and name the folder that holds it "
    "in the environment variable STARCERT_DATA."
)

SHARED = {
    (0.1, 0.1): {"(1, 0)": 100, "(0, 1)": 100, "(2, 0)": 68, "(1, 1)": 92, "(0, 2)": 99},
    (0.06, 0.06): {"(1, 0)": 100, "(2, 0)": 94, "(1, 1)": 100, "(0, 2)": 100},
    (0.1, 0.45): {"(0, 45)": 95},
}
"""What evidence from the votes on the clean graphs certifies at least, of 100 graphs of the motif data."""


@dataclass(frozen=True)
class RadiusTally:
    """How many graphs of a question are what, at one radius.

    Attributes:
        question: the question.
        radius: the radius in words; "any k flips" for all radii of k flips together.
        graphs: how many there are.
        right: of them, those that the smoothed classifier answers, and right; all that follows is among these.
        by_p_A: certified by p_A alone, at the whole alpha: the paper's certificate.
        by_counts: by p_A at the part of alpha that it has beside evidence.
        shared: by p_A or by evidence from the same votes.
        own: the same with votes at attacked graphs.
        broken: an attack is known.
        lost: certified by p_A at its part of alpha, and not with evidence: none.
        shared_away: certified by p_A at the whole alpha, and not with evidence, where alpha is shared.
        own_votes: votes at attacked graphs, on average over all graphs, for all radii of the question together.
    """

    question: Question
    radius: str
    graphs: int
    right: int
    by_p_A: int  # noqa: N815  (the paper's symbol)
    by_counts: int
    shared: int
    own: int
    broken: int
    lost: int
    shared_away: int
    own_votes: float

    @property
    def open(self) -> int:
        """Neither certified nor broken."""
        return self.right - self.own - self.broken


def tallies(question: Question, found: Sequence[Judged]) -> list[RadiusTally]:
    """A tally for each radius of a question, and for any flips anywhere."""
    right = [one for one in found if one["class"] == one["truth"] and not one["abstained"]]
    own_votes = float(np.mean([one["own_votes"] for one in found]))
    groups = {str(radius): [i] for i, radius in enumerate(question.radii)}
    for flips in range(1, (question.max_flips or 0) + 1):
        name = "any flip" if flips == 1 else f"any {flips} flips"
        groups[name] = [i for i, radius in enumerate(question.radii) if sum(radius) == flips]
    told = []
    for name, places in groups.items():

        def all_of(one: Judged, way: str, places: list[int] = places) -> bool:
            return all(one[way][i] in {True, "certified"} for i in places)

        broken = [any(one["own"][i] == "broken" for i in places) for one in right]
        lost, away = (
            sum(all_of(one, way) and not all_of(one, "own") for one in right) for way in ("by_counts", "by_p_A")
        )
        by_p, by_counts, shared, own = (
            sum(all_of(one, way) for one in right) for way in ("by_p_A", "by_counts", "shared", "own")
        )
        counts = by_p, by_counts, shared, own, sum(broken), lost, away
        told.append(RadiusTally(question, name, len(found), len(right), *counts, own_votes))
    return told


def run(settings: EvidenceSettings, parts: StudyParts) -> Outcome:
    """The whole study."""
    found = compute(settings, parts)
    told = [tally for question, some in found.items() for tally in tallies(question, some)]
    return Outcome(
        _summary(told, settings),
        [
            Picture(
                "verdicts",
                "Graphs that are answered right, by what is known about a radius: certified by p_A, by evidence from "
                "the same votes, with votes at attacked graphs; open; broken.",
                partial(verdict_bars, told),
            )
        ],
        [_table(told, found), _why(found)],
        checks(told, settings),
    )


def _table(told: Sequence[RadiusTally], found: dict[Question, list[Judged]]) -> Table:
    rows = []
    for one in told:
        asked = one.question
        majority = majority_share(np.array([each["truth"] for each in found[asked]]))
        rows.append(
            [asked.data, asked.model, *asked.noise, asked.samples, asked.own_samples, one.radius, one.graphs, majority,
             one.right, one.by_p_A, one.by_counts, one.shared, one.own, one.broken, one.open,
             one.shared_away, one.own_votes]
        )  # fmt: skip
    columns = ["data", "model", "noise_1", "noise_2", "votes", "most_own_votes", "radius", "graphs", "majority",
               "right", "by_p_A", "by_p_A_at_share", "by_evidence", "with_own_votes", "broken", "open",
               "lost_by_sharing_alpha", "own_votes"]  # fmt: skip
    about = (
        "Graphs by question and radius. All columns from by_p_A on are about right answers. The noise is that of motif "
        "and random pairs, or of present (delete) and absent pairs (add)."
    )
    return Table("evidence", about, columns, rows)


def _why(found: dict[Question, list[Judged]]) -> Table:
    rows = [
        [asked.data, asked.model, *asked.noise, str(asked.box), number, one["p_lower"], level, why]
        for asked, some in found.items()
        for number, one in enumerate(some)
        for level, why in one["open"].items()
    ]
    columns = ["data", "model", "noise_1", "noise_2", "box", "graph", "p_lower", "level", "why"]
    return Table("open", "Levels that stay open, and what is missing.", columns, rows, shown=False)


def checks(told: Sequence[RadiusTally], settings: EvidenceSettings) -> list[Check]:
    """What is documented of evidence, and whether it is so here."""
    whole = settings.samples >= 100_000 and settings.graphs == 100
    few = "Documented of 100,000 votes on each of 100 graphs."
    motif = [one for one in told if one.question.data == "motif"]
    made = []
    for one in motif:
        p = one.question.noise
        if (least := SHARED.get(p, {}).get(one.radius)) is not None:
            claim = f"p = {p}: evidence certifies {one.radius} for {least} graphs of 100 or more"
            measured = f"{one.shared} by evidence, {one.by_p_A} by p_A"
            made.append(Check(claim, "not in the paper", measured, one.shared >= least, True))
    for one in motif:
        p, decided = one.question.noise, one.right - one.open
        if p == (0.1, 0.1) and one.radius == "any 2 flips":
            claim = f"p = {p}: whether any two flips change the answer is decided for 98 graphs of 100 or more"
            measured = f"{one.own} certified, {one.broken} broken, {one.open} open"
            made.append(Check(claim, "not in the paper", measured, decided >= 98, True))
        if p == (0.02, 0.45) and one.radius == "(2, 45)" and one.question.box == (2, 45):
            claim = f"p = {p}: (2, 45) is certified for 95 graphs of 100 or more"
            measured = f"{one.own}, with {one.own_votes:,.0f} votes at attacked graphs on average"
            made.append(Check(claim, "(1, 45)", measured, one.own >= 95, True))
    made = made if whole else [check.undecided(few) for check in made]
    lost = sum(one.lost for one in told)
    away = sum(one.shared_away for one in told)
    claim = "nothing that p_A certifies at its share of alpha is lost"
    measured = f"{lost} lost; {away} that p_A certifies at the whole alpha"
    return [*made, Check(claim, "not in the paper", measured, lost == 0, True)]


def _summary(told: Sequence[RadiusTally], settings: EvidenceSettings) -> list[str]:
    sentences = [
        f"{_named(one.question)}: {one.radius} is certified by p_A for {one.by_p_A} of {one.right} right graphs, by "
        f"evidence from the same votes for {one.shared}, with votes at attacked graphs for {one.own}; {one.broken} "
        f"broken, {one.open} open."
        for one in told
        if one.radius in {"any 2 flips", "(0, 45)", "(2, 45)", "(3, 45)"} or one.question.max_flips == 1
    ]
    return sentences if settings.proteins else [*sentences, NO_PROTEINS]


def _named(question: Question) -> str:
    return f"{question.data}, {question.model}, {question.noise[0]:g}/{question.noise[1]:g}"


def verdict_bars(told: Sequence[RadiusTally], many: str = "graphs") -> Figure:
    """What is known of each radius, as shares of those graphs, or other things, that are answered right."""
    figure = new_figure(PAGE, 1.2 + 0.16 * len(told))
    ax = figure.add_subplot()
    tones = {"by p_A": COLOURS[0], "by evidence": COLOURS[4], "with own votes": COLOURS[2], "open": FIXED,
             "broken": COLOURS[5]}  # fmt: skip
    left = np.zeros(len(told))
    for name, colour in tones.items():
        widths = np.array([_parts(one)[name] / max(one.right, 1) for one in told])
        ax.barh(range(len(told)), widths, left=left, color=colour, label=name)
        left += widths
    ax.set_yticks(range(len(told)), [f"{_named(one.question)}: {one.radius}" for one in told])
    ax.invert_yaxis()
    ax.set(xlabel=f"share of right {many}", xlim=(0, 1))
    figure.legend(*ax.get_legend_handles_labels(), ncols=len(tones), frameon=False, loc="outside upper center")
    return figure


def _parts(one: RadiusTally) -> dict[str, int]:
    by_p = min(one.by_p_A, one.shared)
    return {
        "by p_A": by_p,
        "by evidence": one.shared - by_p,
        "with own votes": one.own - one.shared,
        "open": one.open,
        "broken": one.broken,
    }
