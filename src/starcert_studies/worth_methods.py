"""What certificates of graphs are worth: every method on the same test graphs, beside a model that sees no edge.

A part is one fold and one group of methods that share what is trained. Methods are those of `benchmark.methods`, each
chosen for one flip; one-way noise also for ten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starcert.system.processes import one_torch_thread
from starcert_studies.benchmark.folds import Cut, cut_of
from starcert_studies.benchmark.methods import Blind, ByEvidence, Fitted, Method, OneWay, Plain, Smoothing, WithFallback
from starcert_studies.benchmark.outcomes import Result
from starcert_studies.benchmark.work import DRAWN, LESS, Networks, Work
from starcert_studies.graph_outcomes import COLUMNS, FARTHEST, Row, table
from starcert_studies.reproduce import Part
from starcert_studies.small_noise import here

__all__ = ["DRAWN", "GROUPS", "GraphRows", "judge_group", "table"]

METHODS: dict[str, dict[str, tuple[type[Method], int]]] = {
    "two-way": {"p_A": (Smoothing, 1), "evidence": (ByEvidence, 1), "fallback": (WithFallback, 1)},
    "one-way": {"one-way": (OneWay, 1), "one-way, for 10": (OneWay, 10)},
    "plain": {"plain": (Plain, 1)},
    "blind": {"blind": (Blind, 1)},
}
"""By group and name, a method and the number of flips that it is chosen for."""
GROUPS, LONGEST = tuple(METHODS), ("NCI1", "PROTEINS", "arcs", "motif", "MUTAG")


@dataclass(frozen=True)
class GraphRows(Work):
    """Which graphs, and how much work is done for each."""

    data: tuple[str, ...] = ("MUTAG", "PROTEINS", "NCI1", "motif", "arcs")
    folds: int = 3  # of ten; of the data that are drawn, how many draws
    mutag_folds: int = 10  # of MUTAG, which is small

    @classmethod
    def quick(cls, **settings: Any) -> GraphRows:  # noqa: ANN401
        """About a minute: MUTAG and motif, one fold each, short trainings and few votes."""
        return cls(**{**LESS, "data": ("MUTAG", "motif"), "folds": 1, "mutag_folds": 1, **settings})

    def parts(self) -> list[Part]:
        """One for each data set, fold and group of methods, the longest first."""
        return [
            Part(f"graphs-{name}-{fold}-{group}", judge_group, (self, name, fold, group))
            for group in GROUPS
            for name in sorted(self.data, key=LONGEST.index)
            for fold in range(self.mutag_folds if name == "MUTAG" else self.folds)
        ]


def judge_group(setting: GraphRows, name: str, fold: int, group: str) -> list[Row]:
    """The rows of one group of methods on the test graphs of one fold."""
    rows = []
    with one_torch_thread():
        cut, networks = cut_of(setting, name, fold), Networks(setting)
        for called, (method, flips) in METHODS[group].items():
            made = method(networks)
            fitted = made.fit(cut.taught, cut.held, f"flips:{flips}")
            found = {kind: made.certify(cut.tested.graphs, f"{threat}:{FARTHEST}") for kind, threat in COLUMNS.items()}
            rows.append(row_of(cut, called, fitted, found))
    return [{"data": name, "fold": fold, "device": here()[1]} | row for row in rows]


def row_of(cut: Cut, method: str, fitted: Fitted, found: Mapping[str, Result]) -> Row:
    """What is kept of a method on a fold."""
    flips = found["flips"]
    graphs = [
        {"name": name, "truth": int(truth), "answer": one.answer, "broken": one.broken,
         "certified": {kind: result.outcomes[place].certified for kind, result in found.items()}}
        for place, (name, truth, one) in enumerate(zip(cut.numbers, cut.tested.labels, flips.outcomes, strict=True))
    ]  # fmt: skip
    seconds = fitted.seconds + max(result.seconds for result in found.values())  # votes are shared
    times = {"train_seconds": round(fitted.train_seconds, 2), "seconds": round(seconds, 2)}
    about = {"method": method, "tries": fitted.tries, "chosen": fitted.chosen, "alpha": flips.alpha or 0.0}
    return {**about, **times, "graphs": graphs}
