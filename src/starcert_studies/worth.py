"""Worth having: what is right and certified, beside what a model has right that sees nothing an attack can change.

Such a blind model is certified against every attack, so only what is above it counts: the structure gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from typing_extensions import override

from starcert.datasets.tu_files import local_names
from starcert_studies import worth_graphs, worth_nodes
from starcert_studies.outcome import Report
from starcert_studies.reproduce import Part, StudyParts
from starcert_studies.study import Study
from starcert_studies.worth_graphs import FoldOfGraphs
from starcert_studies.worth_nodes import ATTACKS, FILES, SplitOfNodes
from starcert_studies.worth_rows import CLEAN, Gain, gain_of, joined, mask_of

CLAIMED = {"additions:1": "one added link", "deletions:1": "one deleted link", "additions:3": "three added links"}
HEAD = "blind head, correction against deletions, exact"


@dataclass(frozen=True)
class Worth(Study):
    """Molecules by folds, and nodes by splits."""

    quick: ClassVar = {
        "folds": 1, "epochs": 2, "learnt": 200, "tested": 20, "of_a_class": (50,), "splits": 1, "node_epochs": 40,
        "samples": 0,
    }  # fmt: skip

    folds: int = 10  # of NCI1, of ten
    epochs: int = 60  # of training, for molecules
    learnt: int | None = None  # molecules to learn from in a fold, at most
    tested: int | None = None  # molecules that are tested in a fold, at most
    of_a_class: tuple[int, ...] = (20, 50)  # nodes of a class to learn from
    splits: int = 3  # of the nodes of a graph, for each of these
    node_epochs: int = 200  # of training, for nodes
    samples: int = 1_000  # votes on a graph whose nodes are classified; 0: no smoothing there
    nci1: bool = True  # whether there is a copy of NCI1
    graphs: tuple[str, ...] = tuple(FILES)  # of which graphs with nodes there are copies
    seed: int = 1  # of folds, splits, training and votes

    @override
    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        there = tuple(name for name in FILES if worth_nodes.file_of(name) is not None)
        return replace(super().from_options(samples, seed, quick), nci1="NCI1" in local_names(), graphs=there)

    @property
    def nodes(self) -> list[SplitOfNodes]:
        """All splits of nodes."""
        seeds = [10 * self.seed + 1 + number for number in range(self.splits)]
        return [SplitOfNodes(data, number, self.node_epochs, self.samples, seed)
                for data in self.graphs for number in self.of_a_class for seed in seeds]  # fmt: skip

    @override
    def parts(self) -> list[Part]:
        return [*self.of_molecules(), *self.of_nodes(), *self.smoothed_nodes()]

    def of_molecules(self) -> list[Part]:
        """The folds of NCI1: what a GPU is for."""
        folds = [FoldOfGraphs("NCI1", fold, self.epochs, self.seed, self.learnt, self.tested)
                 for fold in range(self.folds * self.nci1)]  # fmt: skip
        return [Part(f"NCI1-{each.fold}", worth_graphs.correct_blind, (each,)) for each in folds]

    def of_nodes(self) -> list[Part]:
        """The splits of nodes: exact, and made for processor cores."""
        return [Part(part_name(each), worth_nodes.judge_nodes, (each,)) for each in self.nodes]

    def smoothed_nodes(self) -> list[Part]:
        """The same splits under one-way noise."""
        some = self.nodes if self.samples else []
        return [Part(f"{part_name(each)}-noise", worth_nodes.smooth_nodes, (each,)) for each in some]

    def on_device(self, parts: StudyParts) -> dict[str, Any]:
        """All that is done on a GPU, if there is one."""
        return parts.run([*self.of_molecules(), *self.smoothed_nodes()], "on a GPU")

    @override
    def outcome(self, report: Report, found: Mapping[Any, Any], results: Mapping[str, Any]) -> None:
        whole = replace(self, nci1=True, graphs=tuple(FILES)) == Worth(seed=self.seed)
        if self.nci1:
            self.report_molecules(report, [results[part.name] for part in self.of_molecules()], whole)
        for data in self.graphs:
            for number in self.of_a_class:
                splits = [part_name(each) for each in self.nodes if (each.data, each.of_a_class) == (data, number)]
                some = [results[name] for name in splits]
                if self.samples:
                    some = [one | {"rows": one["rows"] + results[f"{name}-noise"]["rows"]}
                            for name, one in zip(splits, some, strict=True)]  # fmt: skip
                self.report_nodes(report, some, data, number, whole)
        report.table("published", report.texts["published"])
        for name in ("NCI1" if not self.nci1 else "", *(each for each in FILES if each not in self.graphs)):
            if name:
                report.sentence(2, data=name)

    def report_molecules(self, report: Report, parts: Sequence[Mapping[str, Any]], whole: bool) -> None:
        """What is said of NCI1, and checked."""
        rows, numbers = by_method(parts)
        blind, head = rows["blind"], rows[HEAD]
        for row in rows.values():
            gains = {
                f"gain {attack}": str(gain_of(row, blind, attack, numbers)) for attack in ("deletions:1", "flips:1")
            }
            report.table(
                "molecules", [shown(row, ("deletions:1", "flips:1")) | gains], data="NCI1", device=parts[0]["device"]
            )
        gain = gain_of(head, blind, "deletions:1", numbers)
        assert gain is not None
        report.sentence(0, n=len(numbers), blind=share(blind, CLEAN), clean=share(head, CLEAN),
                        certified=share(head, "deletions:1"), flips=share(head, "flips:1"), gain=gain)  # fmt: skip
        report.check("NCI1", gain.low > 0, enough=whole, gain=gain)

    def report_nodes(
        self, report: Report, parts: Sequence[Mapping[str, Any]], data: str, number: int, whole: bool
    ) -> None:
        """What is said of a graph with so many labels a class, and checked."""
        rows, numbers = by_method(parts)
        blind = rows["blind"]
        for row in rows.values():
            gains = {f"gain {attack}": str(gain_of(row, blind, attack, numbers)) for attack in CLAIMED}
            report.table("nodes", [shown(row, tuple(ATTACKS)) | gains], data=data, labels=number)
        found = {attack: votes_gain(rows, attack, numbers) for attack in CLAIMED}
        report.sentence(1, data=data, number=number, blind=share(blind, CLEAN), splits=len(parts), gains=found)
        for attack, gain in found.items():
            name = f"{data}_{attack.replace(':', '_')}"
            report.check(name, gain.low > 0, enough=whole, data=data, number=number, gain=gain)


def part_name(split: SplitOfNodes) -> str:
    """The name of the part of a split."""
    return f"{split.data}-{split.of_a_class}-{split.seed}"


def by_method(parts: Sequence[Mapping[str, Any]]) -> tuple[dict[str, dict[str, Any]], list[int]]:
    """The rows of all parts by method, each as one, and the numbers of the objects."""
    names = [row["method"] for row in parts[0]["rows"]]
    each = {name: joined([row for part in parts for row in part["rows"] if row["method"] == name]) for name in names}
    return each, [number for part in parts for number in part["numbers"]]


def votes_gain(rows: Mapping[str, Mapping[str, Any]], attack: str, numbers: Sequence[int]) -> Gain:
    """What link votes gain against the attack that they were chosen for."""
    found = gain_of(rows[f"link votes, for {attack}, exact"], rows["blind"], attack, numbers)
    assert found is not None
    return found


def share(row: Mapping[str, Any], attack: str) -> float:
    """The share of objects that are right and certified against an attack."""
    mask = mask_of(row, attack)
    assert mask is not None
    return float(mask.mean())


def shown(row: Mapping[str, Any], attacks: Sequence[str]) -> dict[str, object]:
    """A row of a table: what is right and certified, in percent."""
    return {
        "method": row["method"], "tries": row["tries"], "objects": len(row["flags"][CLEAN]),
        "right": round(100 * share(row, CLEAN), 1),
        **{attack: round(100 * share(row, attack), 1) if attack in row["flags"] else "" for attack in attacks},
        "alpha": row["alpha"], "chosen": row["choice"], "seconds": round(row["seconds"], 1),
    }  # fmt: skip
