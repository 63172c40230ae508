"""What every method comes to on a data set, as the study of worth shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from starcert.certificates.paired import Mask, StructureGain
from starcert_studies.benchmark.methods import TRIED
from starcert_studies.benchmark.outcomes import Outcome

SIZES, FARTHEST = (1, 2, 3, 5, 10), 10
COLUMNS = {"flips": "flips", "delete": "deletions", "add": "additions"}  # and the threats that they are
NAMES = {"flips": "certified", "delete": "deleted", "add": "added"}

Row = dict[str, Any]
"""One method on one fold, as JSON holds it."""


def table(rows: Sequence[Row]) -> list[Row]:
    """For each data set and method, all folds together: what is right, and certified, and gained on the blind model."""
    by_method: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_method.setdefault((row["data"], row["method"]), []).append(row)
    wise = {(row["data"], row["fold"]): [one["answer"] == one["truth"] for one in row["graphs"]]
            for row in rows if row["method"] == "blind"}  # fmt: skip
    return [summary(some, [wise.get((data, row["fold"])) for row in some]) for (data, _), some in by_method.items()]


def summary(rows: Sequence[Row], wise: Sequence[list[bool] | None]) -> Row:
    """The row of one method on one data set; shares are of all test graphs."""
    every = [one for row in rows for one in row["graphs"]]
    found = {kind: [Outcome(one["answer"], one["certified"][kind], one["broken"]) for one in every] for kind in COLUMNS}
    flips = found["flips"]
    truth = np.array([one["truth"] for one in every])
    right: Mask = np.array([one.answer == label for one, label in zip(flips, truth, strict=True)])

    def safe(size: int, kind: str) -> Mask:
        kept: Mask = right & np.array([one.withstands(size) for one in found[kind]])
        return kept

    open_one = [one.state(1) == "open" for one in flips]
    farthest = TRIED if rows[0]["method"] == "plain" else FARTHEST  # more are not tried, and nothing is known
    shares = {f"certified_{n}": float(safe(n, "flips").mean()) if n <= farthest else None for n in SIZES}
    shares |= {"deleted_1": float(safe(1, "delete").mean()), "added_1": float(safe(1, "add").mean())}
    gains: Row = {}
    if all(each is not None for each in wise):
        blind_right = np.array([one for each in wise for one in each or ()])
        everything = np.ones(len(every), dtype=np.bool_)
        for kind, name in NAMES.items():
            gain = StructureGain.of(f"1 {kind}", safe(1, kind), blind_right, everything)
            gains |= {f"gain_{name}_1": gain.gain, f"gain_{name}_1_low": gain.low, f"gain_{name}_1_high": gain.high}
        gains["blind"] = float(blind_right.mean())
    return {
        "data": rows[0]["data"], "method": rows[0]["method"], "folds": len(rows), "graphs": len(every),
        "tries": len(rows[0]["tries"]), "chosen": dict(Counter(row["chosen"] for row in rows)),
        "majority": max(Counter(truth.tolist()).values()) / len(every), "right": float(right.mean()), **shares,
        "open_1": float(np.mean(open_one)), **gains,
        "train_seconds": sum(row["train_seconds"] for row in rows), "seconds": sum(row["seconds"] for row in rows),
    }  # fmt: skip
