"""The settings of a benchmark, each declared once, as a field: its key in a file, its check and its schema follow."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct
from msgspec.structs import asdict, force_setattr, replace

from starcert.benchmark.data import DRAWN, FILES, FOLDS, check_data
from starcert.benchmark.outcomes import kind_of
from starcert.datasets.tu_files import local_names
from starcert.runs.declaration import Setting, check_values, declared
from starcert.runs.setting_values import Columns, parse_columns
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean

GROUPS = "two-way", "isotropic", "regions", "one-way", "hashed", "plain", "blind", "links", "statistics"
MODELS = "gin", "gcn"
QUICK: dict[str, Any] = {
    "graphs": 20, "held": 12, "samples": 2_000, "own_samples": 1_000, "choosing_samples": 1_000, "max_attacks": 2_000,
    "max_epochs": 40, "steps": 700, "drawn": 100, "drawn_graphs": 12, "drawn_epochs": 10, "folds": 1,
}  # fmt: skip
"""Settings of a first look."""

Count = Annotated[int, Meta(ge=1)]
Whole = Annotated[int, Meta(ge=0)]
AtMost = Count | Literal["all"]
Rate = Annotated[float, Meta(ge=0, le=1)]
Pairs = Annotated[list[Annotated[list[Rate], Meta(min_length=2, max_length=2)]], Meta(min_length=1)]
Smoothed = Literal["two-way", "isotropic", "regions", "one-way"]
Rates = Annotated[dict[Smoothed, Pairs], Meta(extra_json_schema={"propertyNames": {"enum": get_args(Smoothed)}})]
_SOME = "be a whole number, 1 or more, or all"


def reference_to(name: str, setting: str) -> Reference:
    """A method or network of your own, in a Python file."""
    known = _known(setting)
    if ".py:" not in name:
        must = f"be among {', '.join(known)}, or file.py:name"
        raise InvalidParameterError(setting, must, name, did_you_mean(name, known))
    return Reference.parse(name, Path.cwd(), setting)


def _known(setting: str) -> Sequence[str]:
    """The names of a setting, as a file or the command line calls it."""
    return GROUPS if setting in ("methods", "--method") else MODELS


def _names(given: list[str], base: Path, setting: str) -> tuple[str, ...]:
    """Each once; what is a path from the folder `base`, from here."""
    found = tuple(dict.fromkeys(_beside(base, each, setting) for each in given))
    for each in found:
        if setting in ("threats", "--threat"):
            kind_of(each)
        elif setting not in ("data", "--data") and each not in _known(setting):
            reference_to(each, setting)
    return found


def _beside(base: Path, entry: str, setting: str) -> str:
    if setting in ("threats", "--threat"):  # files may stand in them
        return re.sub(r"[^\s(|=,:]+\.py(?=:)", lambda found: (base / found[0]).as_posix(), entry)
    place = base / entry
    known = entry in (*GROUPS, *MODELS, *DRAWN, *FILES, *local_names())
    return entry if known or not os.path.exists(re.sub(r"(\.py):\w+$", r"\1", str(place))) else str(place)


def _numbers(given: int | list[int], _base: Path, _name: str) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(dict.fromkeys(given))


def _list_of(number: Any, least: int = 0) -> dict[str, Any]:  # noqa: ANN401  (a type)
    """Reads a setting that is a list of numbers, or one number that stands for it."""
    form = number | Annotated[list[number], Meta(min_length=least or None)]
    return {"form": form, "read": _numbers, "must": "be a list of whole numbers", "hint": "Write them as [1, 2]."}


_LIST: dict[str, Any] = {"form": Annotated[list[str], Meta(min_length=1)], "read": _names, "must": "be a list of names"}


class Benchmark(Struct, frozen=True, kw_only=True):
    """The methods and data that are compared, and the amount of work for each object."""

    data: Annotated[tuple[str, ...], Setting(
        "Names (of TU data, motif, arcs, Cora-ML, Citeseer), paths, or file.py:function.", **_LIST,
        main=True, metavar="NAME|PATH|FILE.PY:FUNCTION",
        brief="A TU data set, motif, arcs, Cora-ML or Citeseer; a folder of graphs, a file of SMILES, PyG data or an "
        ".npz file; or a function that returns graphs and their classes. May be repeated.", shown="MUTAG",
    )] = ("MUTAG",)  # fmt: skip
    folds: Annotated[int, Meta(ge=1, le=FOLDS), Setting(
        "Of ten stratified folds, how many; of data that are drawn, how many draws.", main=True
    )] = 5  # fmt: skip
    seed: Annotated[Whole, Setting("Of folds, weights, training and votes.", main=True)] = 1
    seeds: Annotated[tuple[int, ...], Setting(
        "In place of seed: all folds are made with each.", **_list_of(Whole)
    )] = ()  # fmt: skip
    methods: Annotated[tuple[str, ...], Setting(
        f"Groups of methods ({', '.join(GROUPS)}), or file.py:Class for one of your own.", **_LIST,
        called="method", main=True, metavar="GROUP|FILE.PY:CLASS", shown="all",
        brief=f"One of {', '.join(GROUPS)}; or a class of your own. May be repeated.",
    )] = GROUPS  # fmt: skip
    models: Annotated[tuple[str, ...], Setting(
        "Networks: gin, gcn, or file.py:function for one of your own.", **_LIST,
        called="model", main=True, metavar="gin|gcn|FILE.PY:FUNCTION", shown="gin",
        brief="A network; may be repeated.",
    )] = ("gin",)  # fmt: skip
    threats: Annotated[tuple[str, ...], Setting(
        "Each with its largest size.", **_LIST,
        called="threat", main=True, metavar="THREAT", shown="flips:15, deletions:15, additions:15, rewire:1",
        brief="Attacks with their largest size, such as flips:15 or local:3,per_node=1; may be repeated.",
    )] = ("flips:15", "deletions:15", "additions:15", "rewire:1")  # fmt: skip
    chosen_for: Annotated[tuple[int, ...], Setting(
        "The sizes of attacks that settings are chosen for, a row for each.", **_list_of(Count, 1)
    )] = (1,)  # fmt: skip
    rates: Annotated[dict[str, Any], Setting(
        "By group of smoothed models, pairs of probabilities: to delete and to add an edge, or of two regions.",
        form=Rates,
        must="be a list of pairs of probabilities", hint="Write rates.one-way = [[0.8, 0], [0.9, 0]].",
    )] = {}  # fmt: skip
    voters: Annotated[tuple[int, ...], Setting(
        "How many hashed voters are tried.", **_list_of(Count, 1)
    )] = (5, 10, 30)  # fmt: skip
    columns: Annotated[dict[str, str], Setting(
        "Which column of a table holds what.", form=Columns, parse=parse_columns, main=True, metavar="WHAT=COLUMN,…",
        shown="smiles, label, name",
    )] = {}  # fmt: skip
    graphs: Annotated[AtMost, Setting(
        "Graphs that are tested in a fold, at most.", must=_SOME, main=True, metavar="NUMBER|all"
    )] = 100  # fmt: skip
    held: Annotated[AtMost, Setting("Validation graphs that choose among tries, at most.", must=_SOME)] = 60
    max_nodes: Annotated[Count, Setting("Larger graphs are left out.", main=True)] = 40
    twins: Annotated[Literal["together", "apart"], Setting(
        "Isomorphic graphs with the same node labels: in one fold, or wherever they fall."
    )] = "together"  # fmt: skip
    component: Annotated[Literal["largest", "all"], Setting(
        "Of an .npz graph, its largest connected component, or all nodes."
    )] = "largest"  # fmt: skip
    of_a_class: Annotated[Count, Setting("Nodes of a class to learn from, and as many that choose.")] = 20
    nodes: Annotated[AtMost, Setting("Nodes that are tested in a split, at most.", must=_SOME)] = 1_000
    samples: Annotated[Count, Setting("Votes on each test graph.", main=True)] = 10_000
    own_samples: Annotated[Whole, Setting("Votes at attacked versions of a test graph, at most.")] = 10_000
    choosing_samples: Annotated[Count, Setting("Votes on each validation graph, and at attacked versions.")] = 2_000
    max_attacks: Annotated[Count, Setting(
        "Attacks that are tried on the plain model: pairs of flips only where there are fewer."
    )] = 50_000  # fmt: skip
    steps: Annotated[Count, Setting("Steps of training, about.")] = 2_200
    max_epochs: Annotated[Count, Setting("Epochs of training at most, however few graphs there are.")] = 200
    hidden: Annotated[Count, Setting("Units of each layer.")] = 32
    drawn: Annotated[Count, Setting("Training graphs of data that are drawn.")] = 400
    drawn_graphs: Annotated[Count, Setting("And their test graphs.")] = 40
    drawn_epochs: Annotated[Count, Setting("And epochs of training on them, at most.")] = 40
    certificates: Annotated[bool, Setting(
        "Keep certificates, in files that starcert verify proves.", main=True
    )] = False  # fmt: skip

    def __post_init__(self) -> None:
        for key, value in check_values(asdict(self), SETTINGS, base=Path()).items():
            force_setattr(self, key, value)
        check_data(self.data, self.columns)

    @classmethod
    def of(cls, file: Path | None, quick: bool, **options: object) -> Benchmark:
        """The settings of a file, with options in place of what it says; None: not given.

        Paths in the file begin at its folder.
        """
        given: dict[str, Any] = dict(QUICK) if quick else {}
        if file is not None:
            try:
                read = tomllib.loads(file.read_text("utf-8"))
            except (OSError, ValueError) as error:
                raise StarcertError(f"{file}: cannot be read ({error}). Give a TOML file with settings.") from error
            given |= check_values(read, SETTINGS, base=file.parent)
        return cls(**given | {name: value for name, value in options.items() if value is not None})

    def runs(self) -> Iterator[Benchmark]:
        """The same with one seed each."""
        return (replace(self, seed=seed, seeds=()) for seed in self.seeds or (self.seed,))


SETTINGS = declared(Benchmark, Setting)
"""The settings of a benchmark by their keys."""
