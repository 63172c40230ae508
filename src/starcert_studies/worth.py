"""Worth having: what is right and certified, beside what a model has right that sees nothing an attack can change.

Such a blind model is certified against every attack, so only what is above it counts: the structure gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from typing_extensions import override

from starcert.datasets.tu_files import local_names
from starcert_studies import worth_graphs, worth_methods, worth_nodes
from starcert_studies.benchmark.data import FILES, file_of
from starcert_studies.outcome import Report
from starcert_studies.reproduce import Part, StudyParts
from starcert_studies.study import Study
from starcert_studies.worth_graphs import FoldOfGraphs
from starcert_studies.worth_methods import DRAWN, GraphRows
from starcert_studies.worth_nodes import ATTACKS, SplitOfNodes
from starcert_studies.worth_rows import CLEAN, Gain, gain_of, joined, mask_of

CLAIMED = {"additions:1": "one added link", "deletions:1": "one deleted link", "additions:3": "three added links"}
HEAD = "blind head, correction against deletions, exact"
METHODS = {"link votes": tuple(CLAIMED), "link propagation": ("deletions:1",)}  # attacks that each is chosen for
GAINED: dict[str, dict[str, dict[int, tuple[str, ...]]]] = {
    "link votes": {"Cora-ML": {20: ("additions:1",), 50: tuple(CLAIMED)}},
    "link propagation": {data: dict.fromkeys((20, 50), ("deletions:1",)) for data in FILES},
}  # where gains are documented: by labels a class
FULL = GraphRows()
LOOKED_AT = (11,)  # seeds of splits whose test nodes were seen while methods were made: no claim rests on them
FOLDS_LOOKED_AT = (0,)  # folds of NCI1 of which the same is true


@dataclass(frozen=True)
class Worth(Study):
    """Molecules by folds, nodes by splits, and every method on the same graphs."""

    quick: ClassVar = {
        "folds": 1, "epochs": 2, "learnt": 200, "tested": 20, "of_a_class": (50,), "splits": 1, "node_epochs": 40,
        "samples": 0, "methods": GraphRows.quick(),
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
    methods: GraphRows = FULL  # graphs on which every method is compared
    missing: tuple[str, ...] = ()  # data sets that are left out, for want of a copy
    seed: int = 1  # of folds, splits, training and votes

    @override
    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        study, copies = super().from_options(samples, seed, quick), {*local_names(), *DRAWN}
        copies |= {name for name in FILES if file_of(name) is not None}
        wanted = dict.fromkeys(["NCI1", *FILES, *study.methods.data])
        data = tuple(name for name in study.methods.data if name in copies)
        return replace(
            study,
            nci1="NCI1" in copies,
            graphs=tuple(name for name in FILES if name in copies),
            methods=replace(study.methods, data=data, samples=samples or study.methods.samples, seed=seed),
            missing=tuple(name for name in wanted if name not in copies),
        )

    @property
    def nodes(self) -> list[SplitOfNodes]:
        """All splits of nodes."""
        seeds = [10 * self.seed + 1 + number for number in range(self.splits)]
        return [SplitOfNodes(data, number, self.node_epochs, self.samples, seed)
                for data in self.graphs for number in self.of_a_class for seed in seeds]  # fmt: skip

    @override
    def parts(self) -> list[Part]:
        return [*self.of_molecules(), *self.of_nodes(), *self.smoothed_nodes(), *self.methods.parts()]

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
        return parts.run([*self.of_molecules(), *self.smoothed_nodes(), *self.methods.parts()], "on a GPU")

    def is_full(self, *names: str) -> bool:
        """Whether these settings are those of the full study."""
        return all(getattr(self, name) == getattr(Worth, name) for name in names)

    @override
    def outcome(self, report: Report, found: Mapping[Any, Any], results: Mapping[str, Any]) -> None:
        if self.nci1:
            self.report_molecules(report, [results[part.name] for part in self.of_molecules()])
        for data in self.graphs:
            for number in self.of_a_class:
                splits = [each for each in self.nodes if (each.data, each.of_a_class) == (data, number)]
                by_seed = {each.seed: self.rows_of(each, results) for each in splits}
                self.report_nodes(report, by_seed, data, number)
        rows = [row for part in self.methods.parts() for row in results[part.name]]
        if rows:
            report.table("graphs", map(shown_graphs, worth_methods.table(rows)))
        report.table("published", report.texts["published"])
        for name in self.missing:
            report.sentence(2, data=name)

    def rows_of(self, split: SplitOfNodes, results: Mapping[str, Any]) -> dict[str, Any]:
        """What was found on a split, with noise and without."""
        name = part_name(split)
        noisy = results[f"{name}-noise"]["rows"] if self.samples else []
        return {**results[name], "rows": [*results[name]["rows"], *noisy]}

    def report_molecules(self, report: Report, parts: Sequence[Mapping[str, Any]]) -> None:
        """What is said of NCI1."""
        rows, numbers = by_method(parts)
        blind, head = rows["blind"], rows[HEAD]
        for row in rows.values():
            gains = {
                f"gain {attack}": str(gain_of(row, blind, attack, numbers)) for attack in ("deletions:1", "flips:1")
            }
            report.table(
                "molecules", [shown(row, ("deletions:1", "flips:1")) | gains], data="NCI1", device=parts[0]["device"]
            )
        report.sentence(0, n=len(numbers), blind=share(blind, CLEAN), clean=share(head, CLEAN),
                        certified=share(head, "deletions:1"), flips=share(head, "flips:1"),
                        gain=gain_of(head, blind, "deletions:1", numbers))  # fmt: skip
        clean = [part for fold, part in enumerate(parts) if fold not in FOLDS_LOOKED_AT] or parts
        rows, numbers = by_method(clean)
        gain = gain_of(rows[HEAD], rows["blind"], "deletions:1", numbers)
        assert gain is not None
        report.check("bonds", gain.low > 0, enough=self.is_full("folds", "epochs", "learnt", "tested", "seed"),
                     folds=len(clean), n=len(numbers), gain=gain)  # fmt: skip

    def report_nodes(self, report: Report, found: Mapping[int, Mapping[str, Any]], data: str, number: int) -> None:
        """What is said of a graph with this number of labels a class, by the seeds of its splits, and checked."""
        clean = [part for seed, part in found.items() if seed not in LOOKED_AT] or [*found.values()]
        rows, numbers = by_method(clean)
        blind = rows["blind"]
        for row in rows.values():
            gains = {f"gain {attack}": str(gain_of(row, blind, attack, numbers)) for attack in CLAIMED}
            report.table("nodes", [shown(row, tuple(ATTACKS)) | gains], data=data, labels=number)
        for seed, part in found.items():
            each, of_each = by_method([part])
            shown_gains = {
                f"{method}, {attack}": str(gain) for (method, attack), gain in gains_of(each, of_each).items()
            }
            report.table("splits", [shown_gains], data=data, labels=number, seed=seed,
                         blind=round(100 * share(each["blind"], CLEAN), 1))  # fmt: skip
        gained = gains_of(rows, numbers)
        votes = {attack: gained["link votes", attack] for attack in CLAIMED}
        report.sentence(1, data=data, number=number, blind=share(blind, CLEAN), splits=len(clean), gains=votes,
                        spread=gained["link propagation", "deletions:1"])  # fmt: skip
        for (method, attack), gain in gained.items():
            values = {"data": data, "number": number, "attack": CLAIMED[attack], "gain": gain, "method": method}
            enough = self.is_full("of_a_class", "splits", "node_epochs", "seed")
            name = "gain" if attack in GAINED[method].get(data, {}).get(number, ()) else "no_gain"
            report.check(name, gain.low > 0, enough=enough, **values)


def part_name(split: SplitOfNodes) -> str:
    """The name of the part of a split."""
    return f"{split.data}-{split.of_a_class}-{split.seed}"


def by_method(parts: Sequence[Mapping[str, Any]]) -> tuple[dict[str, dict[str, Any]], list[int]]:
    """The rows of all parts by method, each as one, and the numbers of the objects."""
    names = [row["method"] for row in parts[0]["rows"]]
    each = {name: joined([row for part in parts for row in part["rows"] if row["method"] == name]) for name in names}
    return each, [number for part in parts for number in part["numbers"]]


def gains_of(rows: Mapping[str, Mapping[str, Any]], numbers: Sequence[int]) -> dict[tuple[str, str], Gain]:
    """What each method gains against each attack that it was chosen for."""
    found = {}
    for method, attacks in METHODS.items():
        for attack in attacks:
            gain = gain_of(rows[f"{method}, for {attack}, exact"], rows["blind"], attack, numbers)
            assert gain is not None
            found[method, attack] = gain
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


def shown_graphs(row: Mapping[str, Any]) -> dict[str, object]:
    """A row of the table of graphs: shares in percent, gains in points with their intervals."""
    shares = {name: "" if row[name] is None else round(100 * row[name], 1)
              for name in row if name in ("majority", "right", "open_1") or name.startswith(("certified_", "deleted_",
                                                                                           "added_"))}  # fmt: skip
    gains = {name: str(Gain(*(100 * row[f"{name}{end}"] for end in ("", "_low", "_high"))))
             for name in ("gain_certified_1", "gain_deleted_1", "gain_added_1")}  # fmt: skip
    about = {name: row[name] for name in ("data", "method", "folds", "graphs", "tries")}
    chosen = ", ".join(f"{name} ({times})" for name, times in row["chosen"].items())
    seconds = {name: round(row[name], 1) for name in ("train_seconds", "seconds")}
    return about | shares | gains | {"chosen": chosen} | seconds
