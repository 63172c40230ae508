"""From settings to a folder: data × methods × threats × folds in parts that are computed once, then page and tables."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

from starcert.benchmark.data import (
    FILES,
    FOLDS,
    called,
    check_data,
    classes_of,
    digest_of,
    file_name,
    is_of_nodes,
    notes_on,
)
from starcert.benchmark.folds import cut_of
from starcert.benchmark.kept import keep
from starcert.benchmark.methods import METHODS as OF_GRAPHS
from starcert.benchmark.methods import BenchmarkMethod
from starcert.benchmark.node_methods import METHODS as OF_NODES
from starcert.benchmark.outcomes import kind_of
from starcert.benchmark.pages import write_outputs
from starcert.benchmark.table import Line, lines_of
from starcert.benchmark.theirs import Theirs, read_theirs
from starcert.benchmark.work import DRAWN, LESS, MODELS, Networks, Work, here
from starcert.datasets.tu_files import local_names
from starcert.runs.setting_values import as_columns, as_flag
from starcert.runs.user_code import Reference, running_user_code
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean, whole_number
from starcert.system.files import versions, write_whole
from starcert.system.parts import Part, PartsFolder, claim_folder
from starcert.system.processes import one_torch_thread

METHODS = {group: OF_GRAPHS.get(group, ()) + OF_NODES.get(group, ()) for group in OF_GRAPHS | OF_NODES}
"""Methods by groups that share what is trained, of graphs and of nodes; those of graphs that take longest first."""
SIZES = (0, 1, 2, 3, 5, 10, 15)
"""Sizes of attacks that are shown, as far as a threat goes."""
QUICK = {**LESS, "graphs": 20, "folds": 1, "steps": 700, "max_epochs": 40}
"""Settings of a first look."""
WEIGHTS = {"hashed": 55, "two-way": 35, "isotropic": 18, "regions": 18, "one-way": 16,
           "plain": 6}  # fmt: skip
"""Seconds that a fold of MUTAG takes, about, on one processor core; others count 1."""


@dataclass(frozen=True)
class Benchmark(Work):
    """What is compared: each field is a key of the file that `starcert benchmark` reads."""

    data: tuple[str, ...] = ("MUTAG",)  # names (TU, motif, arcs, Cora-ML, Citeseer), paths, or file.py:function
    folds: int = 5  # of ten stratified folds; of the data that are drawn, how many draws
    methods: tuple[str, ...] = tuple(METHODS)  # groups of methods; file.py:Class for one of your own
    models: tuple[str, ...] = ("gin",)  # networks: gin, gcn
    threats: tuple[str, ...] = ("flips:15", "deletions:15", "additions:15", "rewire:1")  # each with its largest size
    chosen_for: int = 1  # the size of attacks that settings are chosen for
    certificates: bool = False  # whether certificates are kept, in files that starcert verify proves

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, tuple):
                if isinstance(value, str) or not value or not all(isinstance(each, str) for each in value):
                    hint = f'Write {field.name} = ["{field.default[0]}"].'
                    raise InvalidParameterError(field.name, "be a list of names", value, hint)
                object.__setattr__(self, field.name, tuple(dict.fromkeys(value)))
            elif isinstance(field.default, bool):
                as_flag(value, Path(), field.name)
            elif isinstance(field.default, int):
                whole_number(field.name, value, 0 if field.name in ("seed", "own_samples", "only") else 1)
        whole_number("only", self.only, 0, 3)
        whole_number("folds", self.folds, 1, FOLDS)
        object.__setattr__(self, "columns", as_columns(self.columns, Path(), "columns"))
        check_data(self.data, self.columns)
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
        """The settings of a file, with options in place of what it says; None: not given.

        Paths in the file begin at its folder.
        """
        given: dict[str, Any] = dict(QUICK) if quick else {}
        names = [field.name for field in fields(cls)]
        if file is not None:
            try:
                read = tomllib.loads(file.read_text("utf-8"))
            except (OSError, ValueError) as error:
                hint = 'Give a file with settings, such as data = ["MUTAG"].'
                raise StarcertError(f"{file}: cannot be read ({error}). {hint}") from error
            for name in read:
                if name not in names:
                    hint = did_you_mean(name, names, f"There are {', '.join(names)}.")
                    raise StarcertError(f"{file}: there is no setting {name!r}. {hint}")
            for name in {"data", "methods"} & {*read}:
                if isinstance(read[name], list):
                    read[name] = [_beside(file, each) for each in read[name]]
            given |= read
        return cls(**given | {name: value for name, value in options.items() if value is not None})

    @staticmethod
    def reference(method: str) -> Reference:
        """A method of someone else's, in a Python file."""
        if ".py:" not in method:
            hint = did_you_mean(method, METHODS)
            raise InvalidParameterError("methods", f"be among {', '.join(METHODS)}, or file.py:Class", method, hint)
        return Reference.parse(method, Path.cwd(), "methods")

    def classes(self, group: str, name: str) -> tuple[type[BenchmarkMethod], ...]:
        """The methods of a group for a data set: of graphs, or of nodes."""
        return tuple(each for each in self._group(group) if each.of_nodes == is_of_nodes(name, self.columns))

    def _group(self, group: str) -> tuple[type[BenchmarkMethod], ...]:
        if group in METHODS:
            return METHODS[group]
        found: Any = self.reference(group).load(BenchmarkMethod)
        if not (isinstance(found, type) and issubclass(found, BenchmarkMethod)):
            raise InvalidParameterError("methods", "name a class that derives from BenchmarkMethod", group)
        for name in ("name", "certifies"):
            if not isinstance(getattr(found, name, None), str):
                hint = f"Write {name} = … in it, a text for the tables."
                raise InvalidParameterError("methods", f"have a {name}", group, hint)
        return (found,)

    def parts(self, kept: Path | None = None) -> list[Part]:
        """One for each data set, fold, group of methods, and network that it trains; `kept` is for certificates."""
        made, digests = [], self.digests()
        for group, name in product(self.methods, self.data):
            methods, word = self.classes(group, name), Path(group).name.replace(":", "-")
            models = self.models if any(each.trains for each in methods) else self.models[:1]
            for fold, model in product(range(self.folds if methods else 0), models):
                arguments = self, name, fold, group, model, digests[called(name)], kept
                made.append(Part(f"{called(name)}-{fold}-{word}-{model}", judge, arguments, WEIGHTS.get(group, 1)))
        return made

    def check_names(self) -> None:
        """Refuses methods that tables could not tell apart: a row is found by its name, and the blind one, too."""
        names = [each.name for group in METHODS.values() for each in group]
        taken = dict.fromkeys(names, "a method of starcert")
        for group in self.methods:
            for each in () if group in METHODS else self._group(group):
                if each.name in taken:
                    got, hint = f"{each.name!r}, also {taken[each.name]}", f"Give {group} another name."
                    raise InvalidParameterError("methods", "have names of their own", got, hint)
                taken[each.name] = group

    def record(self) -> dict[str, Any]:
        """All that a folder of results must agree on."""
        own = {name: self.reference(name).digest for name in self.methods if name not in METHODS}
        return {
            "benchmark": 1,
            **asdict(self),
            "data": [*map(called, self.data)],
            "code": own,
            "digests": self.digests(),
            "versions": versions(),
        }

    def digests(self) -> dict[str, str]:
        """A digest of each data set; "" where it is drawn with a seed."""
        return {called(name): digest_of(self, name) for name in self.data}


def _beside(file: Path, entry: object) -> object:
    """An entry of a file; if it is a path from the folder of the file, then from here."""
    if not isinstance(entry, str) or entry in (*METHODS, *DRAWN, *FILES, *local_names()):
        return entry
    place = file.parent / entry
    return str(place) if os.path.exists(re.sub(r"(\.py):\w+$", r"\1", str(place))) else entry


def title_of(method: BenchmarkMethod, setting: Benchmark) -> str:
    """The name of a method in tables; with its network where several are compared."""
    return f"{method.name}, {method.network}" if method.network and len(setting.models) > 1 else method.name


def judge(
    setting: Benchmark, name: str, fold: int, group: str, model: str, digest: str, kept: Path | None
) -> list[dict[str, Any]]:
    """What the methods of a group found on a fold: a row for each method and threat, with its objects one by one.

    Certificates go into files in `kept`, before the rows are done.
    """
    rows = []
    if digest_of(setting, name) != digest:
        hint = "Let its function return the same whenever it is called: fix its seed, and sort what has no order."
        raise StarcertError(f"{name}: gives other data in another process. {hint}")
    own = nullcontext() if group in METHODS else running_user_code(setting.reference(group).file)
    cut, networks = cut_of(setting, name, fold), Networks(setting, model)
    with one_torch_thread(), own:
        n_classes = 1 + max(map(max, (cut.taught.labels, cut.held.labels, cut.tested.labels)))
        for made in (each(networks) for each in setting.classes(group, name) if each.fits(cut.taught)):
            for threat in setting.threats:
                kind, most = kind_of(threat)
                fitted = made.fit(cut.taught, cut.held, f"{kind}:{min(setting.chosen_for, most)}")
                found = made.certify(cut.objects, threat)
                found.check(threat, len(cut.tested), n_classes)
                title = title_of(made, setting)
                if kept is not None and found.certificates is not None:
                    file = file_name(f"{called(name)}-{fold}-{title}-{threat.replace(':', '-')}")
                    keep(kept / f"{file}.json", found.certificates, cut, classes_of(setting, name))
                certifies = made.certifies if group in METHODS else f"{made.certifies} (as its author states)"
                rows.append({
                    "data": called(name), "objects": "nodes" if made.of_nodes else "graphs", "fold": fold,
                    "method": title, "model": made.network, "certifies": certifies, "threat": threat,
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
    whole_number("workers", workers, 1)
    classes = {called(name): classes_of(setting, name) for name in setting.data} if theirs else {}
    known = {name: each for name, each in classes.items() if each is not None}
    others: list[Theirs] = [read_theirs(path, known) for path in theirs]
    notes = {called(name): notes_on(setting, name) for name in setting.data}
    setting.check_names()
    if not (work := setting.parts(out / "certificates" if setting.certificates else None)):
        raise InvalidParameterError("methods", "fit the data: graphs, or nodes of a graph", ", ".join(setting.methods))
    claim_folder(out, setting.record(), "benchmark")
    if setting.certificates:
        (out / "certificates").mkdir(exist_ok=True)
    found = PartsFolder(out / "parts", workers=workers, progress=progress).run(work, "benchmark")
    rows = [row for each in found.values() for row in each]
    if not rows:
        raise InvalidParameterError("methods", "fit the data: some need node labels, or two classes", setting.methods)
    lines = lines_of(rows, SIZES)
    about: Mapping[str, Any] = {"settings": setting.record(), "provenance": versions(), "notes": notes,
                                "devices": sorted({row["device"] for row in rows})}  # fmt: skip
    write_outputs(out, lines, others, about)
    timings = [{name: row[name] for name in ("data", "fold", "method", "threat")} | row["seconds"] for row in rows]
    write_whole(out / "timings.json", [json.dumps(timings, indent=1), "\n"])
    return lines
