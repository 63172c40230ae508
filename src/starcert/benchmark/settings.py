"""The settings of a benchmark: each field is a key of the file that `starcert benchmark` reads."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from starcert.benchmark.data import FILES, FOLDS, called, check_data, digest_of
from starcert.benchmark.links import OverLinks, VotesOfLinks
from starcert.benchmark.methods import METHODS as SHARED
from starcert.benchmark.methods import BenchmarkMethod
from starcert.benchmark.networks import MODELS, Networks
from starcert.benchmark.outcomes import kind_of, read_threat
from starcert.benchmark.work import DRAWN, Work
from starcert.datasets.tu_files import local_names
from starcert.objects.laws import real_number
from starcert.runs.settings import SETTINGS
from starcert.runs.threats import digest_of_files
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean, whole_number
from starcert.system.files import versions

Make = Callable[[Networks], BenchmarkMethod]
METHODS: Mapping[str, Sequence[Make]] = {**SHARED, "links": (VotesOfLinks, OverLinks)}
"""What makes the methods of each group; those of a group share what is trained."""
QUICK: dict[str, Any] = {
    "graphs": 20, "held": 12, "samples": 2_000, "own_samples": 1_000, "choosing_samples": 1_000, "max_attacks": 2_000,
    "max_epochs": 40, "steps": 700, "drawn": 100, "drawn_graphs": 12, "drawn_epochs": 10, "folds": 1,
}  # fmt: skip
"""Settings of a first look."""


@dataclass(frozen=True)
class Benchmark(Work):
    """What is compared."""

    data: tuple[str, ...] = ("MUTAG",)  # names (TU, motif, arcs, Cora-ML, Citeseer), paths, or file.py:function
    folds: int = 5  # of ten stratified folds; of the data that are drawn, how many draws
    seeds: tuple[int, ...] = ()  # in place of `seed`: all folds are made with each
    methods: tuple[str, ...] = tuple(METHODS)  # groups of methods; file.py:Class for one of your own
    models: tuple[str, ...] = ("gin",)  # networks: gin, gcn; file.py:function for one of your own
    threats: tuple[str, ...] = ("flips:15", "deletions:15", "additions:15", "rewire:1")  # each with its largest size
    chosen_for: tuple[int, ...] = (1,)  # the sizes of attacks that settings are chosen for, a row for each
    certificates: bool = False  # whether certificates are kept, in files that starcert verify proves

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), 0 if field.name in ("seed", "seeds", "own_samples") else 1
            if isinstance(field.default, tuple):
                object.__setattr__(self, field.name, _listed(field.name, value, field.default, least))
            elif isinstance(field.default, bool):
                SETTINGS["exact"].value(value, Path(), field.name)
            elif isinstance(field.default, int) and not (value == "all" and field.name in ("graphs", "held", "nodes")):
                whole_number(field.name, value, least)
        whole_number("folds", self.folds, 1, FOLDS)
        object.__setattr__(self, "columns", SETTINGS["columns"].value(self.columns, Path(), "columns"))
        object.__setattr__(self, "rates", read_rates(self.rates))
        check_data(self.data, self.columns)
        for setting, given, known in (("methods", self.methods, METHODS), ("models", self.models, MODELS)):
            for name in given:
                if name not in known:
                    own(name, setting, known)
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
            for name in {"data", "methods", "models", "threats"} & {*read}:
                if isinstance(read[name], list):
                    read[name] = [_beside(file, each, name == "threats") for each in read[name]]
            given |= read
        return cls(**given | {name: value for name, value in options.items() if value is not None})

    def makers(self, group: str) -> Sequence[Make]:
        """What makes the methods of a group, or one of your own."""
        if group in METHODS:
            return METHODS[group]
        found: Any = own(group, "methods", METHODS).load(BenchmarkMethod)
        if not (isinstance(found, type) and issubclass(found, BenchmarkMethod)):
            raise InvalidParameterError("methods", "name a class that derives from BenchmarkMethod", group)
        for name in ("name", "certifies"):
            if not isinstance(getattr(found, name, None), str):
                hint = f"Write {name} = … in it, a text for the tables."
                raise InvalidParameterError("methods", f"have a {name}", group, hint)
        return (found,)

    def runs(self) -> list[Benchmark]:
        """The same with one seed each."""
        return [replace(self, seed=seed, seeds=()) for seed in self.seeds or (self.seed,)]

    def check_names(self) -> None:
        """Refuses methods that tables could not tell apart: a row is found by its name, and the blind one, too."""
        taken = dict.fromkeys((name for group in METHODS for name in names_of(self, group)), "a method of starcert")
        for group in (each for each in self.methods if each not in METHODS):
            (name,) = names_of(self, group)
            if name in taken:
                got, hint = f"{name!r}, also {taken[name]}", f"Give {group} another name."
                raise InvalidParameterError("methods", "have names of their own", got, hint)
            taken[name] = group

    def record(self) -> dict[str, Any]:
        """All that a folder of results must agree on."""
        code = {name: own(name, "methods", METHODS).digest for name in self.methods if name not in METHODS}
        code |= {name: own(name, "models", MODELS).digest for name in self.models if name not in MODELS}
        files = ((threat, digest_of_files(read_threat(threat))) for threat in self.threats)
        return {
            "benchmark": 1,
            **asdict(self),
            "data": [*map(called, self.data)],
            "code": code | {threat: digest for threat, digest in files if digest is not None},
            "digests": self.digests(),
            "versions": versions(),
        }

    def digests(self) -> dict[str, str]:
        """A digest of each data set; "" where it is drawn with a seed."""
        return {called(name): digest_of(self, name) for name in self.data}


def names_of(setting: Benchmark, group: str) -> list[str]:
    """What the methods of a group are called."""
    return [make(Networks(setting)).name for make in setting.makers(group)]


def own(name: str, setting: str, known: Mapping[str, object]) -> Reference:
    """A method or network of one's own, in a Python file."""
    if ".py:" not in name:
        hint = did_you_mean(name, known)
        raise InvalidParameterError(setting, f"be among {', '.join(known)}, or file.py:name", name, hint)
    return Reference.parse(name, Path.cwd(), setting)


def _listed(name: str, value: object, default: tuple[object, ...], least: int) -> tuple[object, ...]:
    """A list of names, or of numbers, each once; one number may stand for a list of them."""
    numbers = name in ("seeds", "chosen_for", "voters")
    given = (value,) if numbers and isinstance(value, int) else value
    fine = isinstance(given, list | tuple) and (given or not default)
    if not fine or not all(isinstance(each, int if numbers else str) for each in given):  # type: ignore[attr-defined]
        example = "1" if numbers else f'"{default[0]}"'
        what = "whole numbers" if numbers else "names"
        raise InvalidParameterError(name, f"be a list of {what}", value, f"Write {name} = [{example}].")
    for each in given if numbers else ():  # type: ignore[attr-defined]
        whole_number(name, each, least)
    return tuple(dict.fromkeys(given))  # type: ignore[call-overload]


def read_rates(given: object) -> dict[str, list[tuple[float, float]]]:
    """The rates of each group of methods: pairs of probabilities, checked."""
    hint = "Write rates.one-way = [[0.8, 0], [0.9, 0]]: to delete an edge with, and to add one; or of two regions."
    if not isinstance(given, Mapping):
        raise InvalidParameterError("rates", "be a table by groups of methods", given, hint)
    found: dict[str, list[tuple[float, float]]] = {}
    for group, pairs in given.items():
        if group not in Networks.rates:
            near = did_you_mean(str(group), Networks.rates)
            raise InvalidParameterError("rates", f"be of {', '.join(Networks.rates)}", group, near)
        fine = isinstance(pairs, list | tuple) and pairs and all(map(_is_pair, pairs))
        if not fine:
            raise InvalidParameterError(f"rates.{group}", "be a list of pairs of probabilities", pairs, hint)
        found[group] = [(float(first), float(second)) for first, second in pairs]
    return found


def _is_pair(given: object) -> bool:
    return isinstance(given, list | tuple) and len(given) == 2 and all(0 <= real_number(rate) < 1 for rate in given)


def _beside(file: Path, entry: object, threat: bool) -> object:
    """An entry of a file; if it is a path from the folder of the file, then from here. In a threat, files may stand."""
    if not isinstance(entry, str) or entry in (*METHODS, *MODELS, *DRAWN, *FILES, *local_names()):
        return entry
    if threat:
        return re.sub(r"[^\s(|=,:]+\.py(?=:)", lambda found: (file.parent / found[0]).as_posix(), entry)
    place = file.parent / entry
    return str(place) if os.path.exists(re.sub(r"(\.py):\w+$", r"\1", str(place))) else entry
