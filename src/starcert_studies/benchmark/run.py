"""From settings to a folder: data × methods × threats × folds in parts that are computed once, then page and tables."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

from starcert.datasets.tu_files import local_names
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean, whole_number
from starcert.system.files import versions, write_whole
from starcert.system.processes import one_torch_thread
from starcert_studies.benchmark.data import FILES, cut_of, file_of, is_of_nodes
from starcert_studies.benchmark.methods import METHODS as OF_GRAPHS
from starcert_studies.benchmark.methods import Method
from starcert_studies.benchmark.node_methods import METHODS as OF_NODES
from starcert_studies.benchmark.outcomes import kind_of
from starcert_studies.benchmark.pages import write_outputs
from starcert_studies.benchmark.table import Line, lines_of
from starcert_studies.benchmark.theirs import Theirs, read_theirs
from starcert_studies.benchmark.work import DRAWN, LESS, MODELS, Networks, Work
from starcert_studies.reproduce import Part, StudyParts, claim
from starcert_studies.small_noise import here

METHODS = {group: OF_GRAPHS.get(group, ()) + OF_NODES.get(group, ()) for group in OF_GRAPHS | OF_NODES}
"""Methods by groups that share what is trained, of graphs and of nodes; those of graphs that take longest first."""
SIZES = (0, 1, 2, 3, 5, 10, 15)
"""Sizes of attacks that are shown, as far as a threat goes."""
QUICK = {**LESS, "graphs": 20, "folds": 1, "steps": 700, "max_epochs": 40}
"""Settings of a first look."""
WEIGHTS = {"two-way": 6, "hashed": 5, "isotropic": 3, "one-way": 2}  # how long groups take, about


@dataclass(frozen=True)
class Benchmark(Work):
    """What is compared: each field is a key of the file that `starcert benchmark` reads."""

    data: tuple[str, ...] = ("MUTAG",)  # names of TU data sets, motif or arcs, Cora-ML or Citeseer
    folds: int = 5  # of ten stratified folds; of the data that are drawn, how many draws
    methods: tuple[str, ...] = tuple(METHODS)  # groups of methods; file.py:Class for one of your own
    models: tuple[str, ...] = ("gin",)  # networks: gin, gcn
    threats: tuple[str, ...] = ("flips:15", "deletions:15", "additions:15", "rewire:1")
    chosen_for: int = 1  # the size of attacks that settings are chosen for

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, tuple):
                if isinstance(value, str) or not value or not all(isinstance(each, str) for each in value):
                    raise InvalidParameterError(field.name, "be a list of names", value)
                object.__setattr__(self, field.name, tuple(dict.fromkeys(value)))
            else:
                whole_number(field.name, value, 0 if field.name in ("seed", "own_samples") else 1)
        whole_number("folds", self.folds, 1, 10)
        known = {*local_names(), *DRAWN, *(each for each in FILES if file_of(each) is not None)}
        for name in self.data:
            if name not in known:
                hint = did_you_mean(name, known, "STARCERT_DATA names a folder with copies of TU data sets.")
                raise InvalidParameterError("data", f"be among {', '.join(sorted(known))}", name, hint)
        for name in self.methods:
            if name not in METHODS:
                self.reference(name)
        for model in self.models:
            if model not in MODELS:
                raise InvalidParameterError("models", f"be among {', '.join(MODELS)}", model)
        for threat in self.threats:
            kind_of(threat)

    @classmethod
    def of(cls, file: Path | None, quick: bool, **options: Any) -> Benchmark:  # noqa: ANN401
        """The settings of a file, with options in place of what it says; None: not given."""
        given: dict[str, Any] = dict(QUICK) if quick else {}
        if file is not None:
            try:
                given |= tomllib.loads(file.read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise StarcertError(f"{file}: cannot be read ({error}).") from error
        given |= {name: value for name, value in options.items() if value is not None}
        names = [field.name for field in fields(cls)]
        for name in given:
            if name not in names:
                raise InvalidParameterError(str(file), f"have keys among {', '.join(names)}", name)
        return cls(**given)

    @staticmethod
    def reference(method: str) -> Reference:
        """A method of someone else's, in a Python file."""
        if ".py:" not in method:
            raise InvalidParameterError("methods", f"be among {', '.join(METHODS)}, or file.py:Class", method)
        return Reference.parse(method, Path.cwd(), "methods")

    def classes(self, group: str, name: str) -> tuple[type[Method], ...]:
        """The methods of a group for a data set: of graphs, or of nodes."""
        return tuple(each for each in self._group(group) if each.of_nodes == is_of_nodes(name))

    def _group(self, group: str) -> tuple[type[Method], ...]:
        if group in METHODS:
            return METHODS[group]
        found: Any = self.reference(group).load(Method)
        if not (isinstance(found, type) and issubclass(found, Method)):
            raise InvalidParameterError("methods", "name a class that derives from Method", group)
        return (found,)

    def parts(self) -> list[Part]:
        """One for each data set, fold, group of methods, and network that it trains."""
        made = []
        for group, name in product(self.methods, self.data):
            methods, word = self.classes(group, name), Path(group).name.replace(":", "-")
            models = self.models if any(each.trains for each in methods) else self.models[:1]
            for fold, model in product(range(self.folds if methods else 0), models):
                arguments = self, name, fold, group, model
                made.append(Part(f"{name}-{fold}-{word}-{model}", judge, arguments, WEIGHTS.get(group, 1)))
        return made

    def record(self) -> dict[str, Any]:
        """All that a folder of results must agree on."""
        own = {name: self.reference(name).digest for name in self.methods if name not in METHODS}
        return {"benchmark": 1, **asdict(self), "code": own}


def called(method: Method, setting: Benchmark) -> str:
    """The name of a method in tables; with its network where several are compared."""
    return f"{method.name}, {method.network}" if method.network and len(setting.models) > 1 else method.name


def judge(setting: Benchmark, name: str, fold: int, group: str, model: str) -> list[dict[str, Any]]:
    """What the methods of a group found on a fold: a row for each method and threat, with its objects one by one."""
    rows = []
    with one_torch_thread():
        cut, networks = cut_of(setting, name, fold), Networks(setting, model)
        for made in (method(networks) for method in setting.classes(group, name)):
            for threat in setting.threats:
                kind, most = kind_of(threat)
                fitted = made.fit(cut.taught, cut.held, f"{kind}:{min(setting.chosen_for, most)}")
                found = made.certify(cut.objects, threat)
                if len(found.outcomes) != len(cut.tested):
                    raise StarcertError(f"{made.name}: certify returned {len(found.outcomes)} outcomes for "
                                        f"{len(cut.tested)} objects. Return one for each.")  # fmt: skip
                rows.append({
                    "data": name, "fold": fold, "method": called(made, setting),
                    "model": made.network, "certifies": made.certifies, "threat": threat,
                    "alpha": found.alpha, "asked": found.asked, "tries": dict(fitted.tries), "chosen": fitted.chosen,
                    "numbers": cut.numbers, "truth": cut.tested.labels.tolist(),
                    "edges": cut.edges, "outcomes": found.outcomes,
                    "votes": found.votes, "forward_passes": found.forward_passes, "device": here()[1],
                    "seconds": {"training": fitted.train_seconds, "choosing": fitted.seconds,
                                "certifying": found.seconds},
                })  # fmt: skip
    return rows


def run_benchmark(
    setting: Benchmark, out: Path, *, theirs: Sequence[Path] = (), workers: int = 1, progress: bool | None = None
) -> list[Line]:
    """Runs or continues a benchmark, and writes `index.html`, `benchmark.csv`, `.json`, `.tex` and `timings.json`.

    Args:
        setting: what is compared.
        out: the folder; if it holds the same benchmark, that is continued.
        theirs: files with results of other methods.
        workers: worker processes. The results do not depend on them.
        progress: whether to draw a progress bar; None: on a terminal only.
    """
    others: list[Theirs] = [read_theirs(path) for path in theirs]
    claim(out, setting.record())
    parts = StudyParts(out / "parts", workers=whole_number("workers", workers, 1), progress=progress)
    found = parts.run(setting.parts(), "benchmark")
    rows = [row for each in found.values() for row in each]
    lines = lines_of(rows, SIZES)
    about: Mapping[str, Any] = {"settings": setting.record(), "provenance": versions(),
                                "devices": sorted({row["device"] for row in rows})}  # fmt: skip
    write_outputs(out, lines, others, about)
    timings = [{name: row[name] for name in ("data", "fold", "method", "threat")} | row["seconds"] for row in rows]
    write_whole(out / "timings.json", [json.dumps(timings, indent=1), "\n"])
    return lines
