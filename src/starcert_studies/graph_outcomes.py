"""What is known about single graphs, whichever method says it, and what it comes to on a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import starcert as sc
from starcert.certificates.paired import Mask, StructureGain
from starcert.classifiers.base import Classifier
from starcert.objects import Partition
from starcert.objects.threats import read_threat
from starcert_studies.voted import ALPHA, Labels

SIZES, FARTHEST = (1, 2, 3, 5, 10), 10
EXACT = {"flips": 2, "deletions": 2, "additions": 2}  # the most units that are tried on the plain model
ANY = -1  # certified against any number of flips
COLUMNS = {"flips": "certified", "delete": "deleted", "add": "added"}

Row = dict[str, Any]
"""One method on one fold, as JSON holds it."""


class Outcome(NamedTuple):
    """What is known about one graph: its answer, and how many flips, deletions and additions are certified."""

    answer: int | None  # None: the smoothed classifier abstains
    flips: int  # wherever they are; `FARTHEST` at most, or `ANY`
    delete: int
    add: int
    broken: int | None = None  # the fewest flips that are known to change the answer

    def withstands(self, size: int, kind: str = "flips") -> bool:
        """Whether all attacks of at most this size are certified to change nothing."""
        certified: int = getattr(self, kind)
        return self.answer is not None and (certified == ANY or certified >= size)


def outcome_of(one: sc.Certificate) -> Outcome:
    """What a certificate says."""
    if one.abstained:
        return Outcome(None, 0, 0, 0)
    flips = one.any_flips_to(FARTHEST)

    def reach(axis: str) -> int:
        others = dict.fromkeys(one.noise.axes, 0)
        beyond = (size for size in range(flips + 1, FARTHEST + 1) if not one.certified({**others, axis: size}))
        return next(beyond, FARTHEST + 1) - 1

    return Outcome(one.label, flips, reach("pairs.delete"), reach("pairs.add"), min(map(sum, one.broken), default=None))


def counts_alone(found: sc.Certificates) -> sc.Certificates:
    """The certificates that the votes on the clean graphs give by themselves, with all of alpha."""
    assert found.votes is not None
    return sc.certify(sc.clopper_pearson(found.votes, alpha=ALPHA), found.noise, capacity=found.capacity)


def exact_outcomes(base: Classifier, graphs: Sequence[sc.Graph], max_attacks: int) -> list[Outcome]:
    """What trying every attack shows, as far as there are at most `max_attacks` on a graph."""
    tried: dict[str, dict[int, sc.ExactCertificate]] = {name: {} for name in EXACT}
    for name, most in EXACT.items():
        sizes = [largest_threat(graph, f"{name}:{most}", max_attacks) for graph in graphs]
        for size in set(sizes):
            numbers = [number for number, each in enumerate(sizes) if each == size]
            some = [graphs[number] for number in numbers]
            found = sc.ExactClassifier(base).certify(some, threat=f"{name}:{size}", progress=False)
            tried[name] |= dict(zip(numbers, found, strict=True))
    outcomes = []
    for number in range(len(graphs)):
        flips, delete, add = (tried[name][number] for name in EXACT)
        reach = flips.certified_size, delete.certified_size, add.certified_size
        outcomes.append(Outcome(flips.label, *reach, flips.broken_size))
    return outcomes


def largest_threat(graph: sc.Graph, threat: str, max_attacks: int) -> int:
    """The most units of a threat, at least one, with which there are at most `max_attacks`."""
    asked, sites = read_threat(threat), Partition.everything("all").sites(graph)
    numbers = np.cumsum([asked.count(sites, size) for size in range(1, asked.most + 1)])
    return max(1, int((numbers <= max_attacks).sum()))


def right_share(truth: Labels, found: Iterable[Outcome], size: int = 1) -> float:
    """The share of graphs that are right and certified."""
    right = [one.answer == label and one.withstands(size) for label, one in zip(truth, found, strict=True)]
    return float(np.mean(right))


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
    found = [Outcome(one["answer"], **one["certified"], broken=one["broken"]) for one in every]
    truth = np.array([one["truth"] for one in every])
    right: Mask = np.array([one.answer == label for one, label in zip(found, truth, strict=True)])

    def safe(size: int, kind: str) -> Mask:
        kept: Mask = right & np.array([one.withstands(size, kind) for one in found])
        return kept

    open_one = [not one.withstands(1) and (one.broken is None or one.broken > 1) for one in found]
    farthest = EXACT["flips"] if rows[0]["method"] == "plain" else FARTHEST  # more are not tried, and nothing is known
    shares = {f"certified_{n}": float(safe(n, "flips").mean()) if n <= farthest else None for n in SIZES}
    shares |= {"deleted_1": float(safe(1, "delete").mean()), "added_1": float(safe(1, "add").mean())}
    gains: Row = {}
    if all(each is not None for each in wise):
        blind_right = np.array([one for each in wise for one in each or ()])
        everything = np.ones(len(every), dtype=np.bool_)
        for kind, name in COLUMNS.items():
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
