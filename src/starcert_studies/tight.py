"""Small noise and many targets: any two flips of molecules by deep votes, and all nodes of Cora-ML at once.

Work is done on a GPU where there is one. Some of it is then repeated on two processor cores, so that their votes a
second stand beside the GPU's. That comes last, and may be done on another machine, in the same folder.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from matplotlib.figure import Figure
from typing_extensions import override

from starcert.datasets.tu_files import local_names
from starcert.pages.plots.drawing import PAGE, colour_of, new_figure
from starcert_studies import changed_links, small_noise
from starcert_studies.changed_links import ChangedLinks
from starcert_studies.outcome import Report
from starcert_studies.reproduce import Part, StudyParts
from starcert_studies.small_noise import FAILURES, Judged, SmallNoise
from starcert_studies.study import Study

CORES, MAX_NODES = 2, 45  # of the comparison; of molecules
GOALS = {"NCI1": 0.05, "MUTAG": 0.1}
"""The largest shares of open molecules that are aimed at."""


@dataclass(frozen=True)
class Tight(Study):
    """Molecules of two data sets, and the nodes of one graph."""

    quick: ClassVar = {
        "samples": 2_000, "deep_samples": 20_000, "own_samples": 5_000, "molecules": 2, "mutag_molecules": 2,
        "plain": 1, "on_cores": 1, "epochs": 2, "node_samples": 50, "few": (60,), "attacked_samples": 30, "links": 2,
        "tested_nodes": 50, "node_epochs": 20,
    }  # fmt: skip

    samples: int = 50_000  # plain votes on each molecule
    deep_samples: int = 2_500_000  # deep votes on each molecule of NCI1, at most; a sixth of that for MUTAG
    own_samples: int = 900_000  # votes at attacked versions of it, at most; a sixth for MUTAG
    molecules: int = 30  # of NCI1 that are tested
    mutag_molecules: int = 24  # of MUTAG
    plain: int = 12  # of each, how many are asked about by plain votes alone, too
    on_cores: int = 1  # of NCI1, how many are asked about on processor cores, too
    epochs: int = 60  # of training, for molecules
    tested_nodes: int = 2_530  # of Cora-ML: all
    node_samples: int = 10_000  # votes on Cora-ML that a claim is made from
    few: tuple[int, ...] = (200, 500, 1_000)  # numbers of votes for which abstentions are counted
    attacked_samples: int = 3_000  # votes at each attacked graph
    links: int = 10  # attacked graphs
    node_epochs: int = 1_000  # of training at most, for nodes
    nci1: bool = True  # whether there is a copy of NCI1, see `datasets.tu`
    cora: bool = True  # whether there is one of Cora-ML
    seed: int = 1  # of splits, weights, training and votes

    @override
    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        given = Path(os.environ.get("STARCERT_DATA") or ".")
        there = any((given / folder / "cora_ml.npz").is_file() for folder in ("", "CORA_ML"))
        return replace(super().from_options(samples, seed, quick), nci1="NCI1" in local_names(), cora=there)

    @property
    def settings(self) -> dict[str, SmallNoise]:
        """The data sets of molecules, with their noise and votes."""
        votes: dict[str, int] = {"deep_samples": self.deep_samples, "own_samples": self.own_samples}
        large = SmallNoise("NCI1", 0.05, 0.003, MAX_NODES, self.molecules, self.samples, **votes, epochs=self.epochs,
                           seed=self.seed)  # fmt: skip
        fewer = {name: number // 6 for name, number in votes.items()}
        small = replace(large, data="MUTAG", delete=0.01, add=0.01, molecules=self.mutag_molecules, **fewer)
        return ({"NCI1": large} if self.nci1 else {}) | {"MUTAG": small}

    @property
    def nodes(self) -> ChangedLinks:
        """The votes on Cora-ML."""
        votes = self.node_samples, self.few, self.attacked_samples
        return ChangedLinks(*votes, self.links, self.tested_nodes, self.node_epochs, self.seed)

    @override
    def parts(self) -> list[Part]:
        """Training; what comes after it needs the networks."""
        every = [Part(f"network-{data}", small_noise.train_network, (each,)) for data, each in self.settings.items()]
        return every + [Part("network-Cora", changed_links.train_nodes, (self.nodes,))] * self.cora

    @override
    def votes(self, parts: StudyParts) -> tuple[dict[Any, Any], dict[str, Any]]:
        results = self.on_device(parts)
        return {}, results | replace(parts, workers=1).run(self.on_two_cores(results), "two cores")

    def on_device(self, parts: StudyParts) -> dict[str, Any]:
        """All that is done on a GPU, if there is one: everything but the comparison on two cores."""
        results = parts.run(self.parts(), "training")
        results |= parts.run(self.asked(results), "votes")
        return results | parts.run(self.attacked(results), "attacked graphs")

    def asked(self, networks: Mapping[str, Any]) -> list[Part]:
        """Deep votes first, then claims about nodes, and plain votes for comparison last."""
        deep, plain = [], []
        for data, each in self.settings.items():
            work, n = (each, networks[f"network-{data}"]), n_tested(each)
            deep += [Part(f"{data}-{i}", small_noise.judge, (*work, i)) for i in range(n)]
            alone = partial(small_noise.judge, deep=False)
            plain += [Part(f"{data}-plain-{i}", alone, (*work, i)) for i in range(min(n, self.plain))]
        if not self.cora:
            return deep + plain
        work_nodes = self.nodes, networks["network-Cora"]
        counted = [Part(f"Cora-few-{n}", changed_links.count_abstentions, (*work_nodes, n)) for n in self.few]
        return [*deep, *counted, Part("Cora-claim", changed_links.claim, work_nodes), *plain]

    def attacked(self, results: Mapping[str, Any]) -> list[Part]:
        """Cora-ML without some of its links, and as it is."""
        if not self.cora:
            return []
        claim, work = results["Cora-claim"], (self.nodes, results["network-Cora"])
        links = [None, *(link for link, _, _ in claim["tried"])]
        delete = changed_links.delete_link
        return [Part(f"Cora-link-{i}", delete, (*work, claim["labels"], link)) for i, link in enumerate(links)]

    def on_two_cores(self, networks: Mapping[str, Any]) -> list[Part]:
        """Some of the same work on processor cores: fewer molecules, and a tenth of the votes on Cora-ML."""
        data, each = next(iter(self.settings.items()))
        judge = partial(small_noise.judge, cores=CORES)
        work, numbers = (each, networks[f"network-{data}"]), range(min(self.on_cores, n_tested(each)))
        some = [Part(f"{data}-cores-{i}", judge, (*work, i)) for i in numbers]
        claim = partial(changed_links.claim, cores=CORES)
        fewer = replace(self.nodes, samples=max(self.node_samples // 10, 20))
        return some + [Part("Cora-claim-cores", claim, (fewer, networks.get("network-Cora")))] * self.cora

    @override
    def outcome(self, report: Report, found: Mapping[Any, Any], results: Mapping[str, Any]) -> None:
        whole = replace(self, nci1=True, cora=True) == Tight(seed=self.seed)
        for data, setting in self.settings.items():
            kinds = {
                "deep": rows_of(results, data), "plain": rows_of(results, f"{data}-plain"),
                "deep, on cores": rows_of(results, f"{data}-cores"),
            }  # fmt: skip
            for kind, rows in kinds.items():
                report.table("molecules", rows, data=data, kind=kind)
                if rows:
                    report.table("verdicts", [verdict_row(rows)], data=data, kind=kind)
            self.check_molecules(report, setting, kinds, results[f"network-{data}"], whole)
            report.picture(f"needed_{data}", needed_figure, kinds["deep"], setting.deep_samples)
        if self.cora:
            self.report_nodes(report, results, whole)
        for missing, name in ((not self.nci1, 1), (not self.cora, 2)):
            if missing:
                report.sentence(name)

    def check_molecules(
        self,
        report: Report,
        setting: SmallNoise,
        kinds: Mapping[str, Sequence[Judged]],
        network: Mapping[str, Any],
        whole: bool,
    ) -> None:
        """What is said of the molecules of a data set, and checked."""
        deep, n, data = kinds["deep"], len(kinds["deep"]), setting.data
        counts = Counter(row["verdict"] for row in deep)
        truths = [row["truth"] for row in deep]
        right = sum(row["class"] == row["truth"] and not row["abstained"] for row in deep)
        values: dict[str, Any] = {
            "data": data, "n": n, "goal": GOALS[data], "certified": counts["certified"], "broken": counts["broken"],
            "open": counts["open"], "share": counts["open"] / n, "setting": setting, "right": right / n,
            "majority": max(Counter(truths).values()) / n,
            "blind": sum(map(int.__eq__, truths, network["blind"])) / n,
            "votes": float(np.mean([row["votes"] for row in deep])),
            "seconds": float(np.median([row["seconds"] for row in deep])), "device": deep[0]["device"],
            "needed": float(np.median([row["needed_tenth"] for row in deep])),
        }  # fmt: skip
        report.sentence(**values)
        report.check(data, values["share"] <= GOALS[data], enough=whole, **values)
        with_deep = [deep[row["number"]] for row in kinds["plain"]]
        left, before = (sum(row["verdict"] == "open" for row in some) for some in (with_deep, kinds["plain"]))
        report.check("plain", left <= before, enough=whole, data=data, left=left, before=before, n=len(with_deep))
        others = [(row, deep[row["number"]]) for kind, rows in kinds.items() if kind != "deep" for row in rows]
        at_odds = sum({row["verdict"], other["verdict"]} == {"certified", "broken"} for row, other in others)
        report.check("at_odds", at_odds == 0, data=data, at_odds=at_odds, n=len(others))

    def report_nodes(self, report: Report, results: Mapping[str, Any], whole: bool) -> None:
        """What is said of Cora-ML, and checked."""
        claim, network = results["Cora-claim"], results["network-Cora"]
        few = [results[f"Cora-few-{n}"] for n in self.few]
        report.table("abstentions", few)
        parts = [(0, claim["clean_k"], "no link deleted"), *claim["tried"]]
        tried = [{"why": why, "k": k} | results[f"Cora-link-{i}"] for i, (_, k, why) in enumerate(parts)]
        report.table("links", tried)
        for each in (claim, results["Cora-claim-cores"]):
            report.table("claims", [each])
        differ, worst = max(row["differ"] for row in tried), max(row["differ_clearly"] for row in tried)
        report.sentence(3, claim=claim, network=network, differ=differ, worst=worst, tried=len(tried) - 1)
        report.check("collective", claim["k"] <= claim["single_open"], enough=whole, **claim)
        report.check("brute", worst <= claim["k"], worst=worst, tried=len(tried) - 1, k=claim["k"])
        fewer = all(row["evidence"] < row["counts"] for row in few)
        numbers = "; ".join(
            f"{row['counts']} and {row['evidence']} of {row['nodes']:,} at {row['votes']}" for row in few
        )
        report.check("abstentions", fewer, enough=whole, numbers=numbers)


def n_tested(setting: SmallNoise) -> int:
    """How many molecules are tested: fewer than asked for, if there are no more."""
    return len(small_noise.splits(setting)[2])


def rows_of(results: Mapping[str, Any], name: str) -> list[Judged]:
    """The molecules of one kind of votes, in their order."""
    found = [row for part, row in results.items() if part.rpartition("-")[0] == name]
    return sorted(found, key=lambda row: row["number"])


def verdict_row(rows: Sequence[Judged]) -> dict[str, object]:
    """A row of the table: verdicts on some molecules, and what they took."""
    counts = Counter(row["verdict"] for row in rows)

    def median(name: str) -> float:
        return float(np.median([row[name] for row in rows]))

    return {
        "device": rows[0]["device"], "molecules": len(rows), "most_sites": max(row["sites"] for row in rows),
        "certified": counts["certified"], "broken": counts["broken"], "open": counts["open"],
        "no_answer": sum(row["abstained"] for row in rows),
        "votes": round(float(np.mean([row["votes"] for row in rows]))),
        "own_votes": round(float(np.mean([row["own"] for row in rows]))),
        "votes_a_second": round(median("votes_a_second")), "seconds": round(median("seconds"), 1),
        "most_seconds": round(max(row["seconds"] for row in rows), 1),
        **{name: float(f"{median(name):.3g}") for name in FAILURES},
    }  # fmt: skip


def needed_figure(rows: Sequence[Judged], votes: int) -> Figure:
    """Each molecule: how many deep votes theory wants, if attacks fail never or with 0.1, and what became of it."""
    figure = new_figure(PAGE, 2.8)
    ax = figure.subplots()
    for number, verdict in enumerate(("certified", "broken", "open")):
        some = [row for row in rows if row["verdict"] == verdict]
        sites = [row["sites"] for row in some]
        least, marked = ([row[name] for row in some] for name in ("needed_never", "needed_tenth"))
        ax.vlines(sites, least, marked, color=colour_of(number), lw=1)
        ax.plot(sites, marked, "osD"[number], ms=4, color=colour_of(number), label=f"{verdict} ({len(some)})")
    ax.axhline(votes, color="black", ls=":", lw=1, label="deep votes")
    ax.set(xlabel="node pairs of the molecule", ylabel="deep votes, forecast", yscale="log")
    figure.legend(ncols=4, frameon=False, loc="outside upper center")
    return figure
