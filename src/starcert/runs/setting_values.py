"""The metadata of a run's setting beside its type, and the text form of values in run files and options."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import quote, unquote

from msgspec import Meta

from starcert.datasets.table_files import MAX_VALUES
from starcert.objects.content import digest
from starcert.objects.laws import Law, law_from_json, law_from_text
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat, read_threat
from starcert.runs.declaration import Setting, items, renaming
from starcert.runs.user_code import Reference, TuName, place_of
from starcert.system.errors import InvalidParameterError, did_you_mean, whole_number

BLIND = "blind"  # the fallback that starcert fits itself
TABLE = "table"  # the kind of data that is a table of categories

Part = Literal["train", "validation", "test"]
PARTS: tuple[Part, ...] = ("train", "validation", "test")
Role = Literal["smiles", "label", "name", "part", "skip"]  # what a column of a table may hold; or which to leave out
Columns = Annotated[dict[Role, str], Meta(extra_json_schema={"propertyNames": {"enum": get_args(Role)}})]
Form = Literal["bits", "categories"]  # what node data are as sites
Share = Annotated[float, Meta(ge=0, le=1)]
Shares = (
    Annotated[dict[Part, Share], Meta(extra_json_schema={"propertyNames": {"enum": PARTS}})]
    | Annotated[list[Share], Meta(min_length=3, max_length=3)]
)
Values = (
    Annotated[int, Meta(ge=2, le=MAX_VALUES)]
    | Annotated[list[str | int | float], Meta(min_length=2, max_length=MAX_VALUES)]
)
Seed = Annotated[int, Meta(ge=0, extra_json_schema={"maximum": 2**64 - 1})]
NoiseTable = Annotated[
    dict[str, Any], Meta(min_length=1, extra_json_schema={"additionalProperties": {"$ref": "#/$defs/law"}})
]


@dataclass(frozen=True, slots=True)
class RunSetting(Setting):
    """A setting of a run: which commands have it, and what follows where it changes."""

    table: str = ""  # the table of a run file in which it may stand, too
    in_sweeps: bool = True  # whether `starcert sweep` has it
    of_sweeps: bool = False  # whether a sweep may have a value of its own, in the table [sweep] of a run file
    in_training: bool = False  # whether `starcert train` has it
    sweep_shown: str = ""  # its default for a sweep, in words; "": the same
    recorded: bool = True  # whether certificates say it, in how they were made
    written: bool = True  # whether the run file in the output folder repeats it
    implied: bool = False  # whether a written run file leaves the default out
    # what another value changes: the votes, the certificates from the same votes, or nothing of the result
    changes: Literal["votes", "certificates", "nothing"] = "votes"
    unsettles: tuple[str, ...] = ()  # which digests of [expected] hold no more where an option changes it


def as_data(text: str, base: Path, name: str) -> Path | str | Reference:
    """A function in a Python file, a file or folder that exists, or else a possible name of a TU data set."""
    if re.search(r"\.py:\w+$", text):
        return Reference.parse(text, base, name)
    path = place_of(text, base, name)
    if os.path.exists(path):  # also false for a name that is too long
        return path
    if isinstance(text, TuName):
        return text
    if re.fullmatch(r"\w[\w+-]{,99}", text):
        called = TuName(text)
        called.path = path
        return called
    near = sorted(each.name for each in path.parent.iterdir()) if os.path.isdir(path.parent) else []
    hint = did_you_mean(path.name[:100], near, "A plain name is that of a TU data set: MUTAG.")
    raise InvalidParameterError(name, "name a file or a folder that exists", str(path), hint)


def as_kind(text: str, base: Path, name: str) -> Reference | str:
    """The word table, or what reads the data."""
    return text if text == TABLE else Reference.parse(text, base, name)


def as_regions(value: str | dict[str, object], base: Path, name: str) -> Reference | str | dict[str, object]:
    """A function in a Python file, a region builder, or for each region a layer or some columns."""
    named = isinstance(value, str) and re.search(r"\.py(:\w*)?$", value)
    return Reference.parse(str(value), base, name) if named else value


def as_splits(text: str, base: Path, name: str) -> Path:
    """A file that says which graph lies in which part."""
    path = place_of(text, base, name)
    if not os.path.isfile(path) or path.suffix.lower() not in (".json", ".csv"):
        hint = 'Write {"train": [0, 1], "test": [2]} into splits.json, or the columns name, part into splits.csv.'
        raise InvalidParameterError(name, "name a file .json or .csv that exists", str(path), hint)
    return path


def as_fractions(shares: list[float] | dict[Part, float], _base: Path, name: str) -> dict[Part, float]:
    """The share of each part: three numbers, or some by name; they add up to 1."""
    given: Mapping[Part, float] = shares if isinstance(shares, dict) else dict(zip(PARTS, shares, strict=True))
    if not math.isclose(sum(given.values()), 1, abs_tol=1e-9):
        raise InvalidParameterError(name, "add up to 1", dict(given), FRACTIONS_HINT)
    return {part: given.get(part, 0.0) for part in PARTS}


FRACTIONS_HINT = "Write fractions = [0.6, 0.2, 0.2] for train, validation and test, or { train = 0.5, test = 0.5 }."


def as_alphabets(given: Mapping[str, list[object] | int], _base: Path, name: str) -> dict[str, list[str] | int]:
    """By column the values that there may be, as texts, or how many."""
    found: dict[str, list[str] | int] = {}
    for column, values in given.items():
        found[column] = values if isinstance(values, int) else list(map(str, values))
        if not isinstance(values, int) and len({*map(str, values)}) < len(values):
            raise InvalidParameterError(f"{name}.{column}", "be different values", values)
    return found


def as_noise(table: Mapping[str, object], base: Path, name: str) -> Noise:
    """A flip law for every region."""
    laws = {}
    for region, law in table.items():
        with renaming(f"{name}.{region}"):
            laws[region] = law_from_json(law, law_finder(base, name))
    return Noise(laws)


def law_finder(base: Path, name: str) -> Callable[[str], object]:
    """Finds the laws that a run names by a Python file, from this folder, or by a module."""
    return lambda text: Reference.parse(text, base, name).load(Law)


_FILE = r"[^\s(|=,:]+\.py(?=:)"  # in the text of a threat: the file of one of your own, or of a function


def as_threat(value: object, base: Path, name: str) -> Threat:
    """A threat, or what its text describes; Python files in the text are named from `base`, then by whole paths."""
    if isinstance(value, Threat):
        return value
    text = re.sub(_FILE, lambda file: quote(place_of(unquote(file[0]), base, name).as_posix()), str(value))
    return read_threat(text, name, find=lambda each: Reference.parse(each, base, name).load(Threat))


def threat_text(threat: Threat, called: Callable[[Path], str]) -> str:
    """The text of a threat, with what its Python files are called."""
    return re.sub(_FILE, lambda file: quote(called(Path(unquote(file[0])))), str(threat))


def _files(threat: Threat | None) -> list[Path]:
    return [Path(unquote(file)) for file in dict.fromkeys(re.findall(_FILE, str(threat)))]


def digest_of_files(threat: Threat | None) -> str | None:
    """A digest of the content of the Python files in a threat; None if it has none."""
    files = _files(threat)
    return digest([file.read_bytes() for file in files]) if files else None


def without_folders(threat: Threat | None) -> Threat | None:
    """The same threat, with nothing but the names of its Python files in its text: certificates know no places."""
    files = {file.name: file for file in _files(threat)}
    if threat is None or len(files) < max(1, len(_files(threat))):
        return threat

    def find(reference: str) -> object:
        file, _, name = reference.rpartition(":")
        return Reference(files[file], name).load(Threat)

    return read_threat(threat_text(threat, lambda file: file.name), find=find)


def as_fallback(text: str, base: Path, name: str) -> Reference | str:
    """The word blind, or a function in a file."""
    return text if text == BLIND else Reference.parse(text, base, name)


def as_seed(value: int, _base: Path, name: str) -> int:
    """A seed: msgspec has no limits beyond 63 bits."""
    return whole_number(name, value, 0, 2**64 - 1)


def as_out_folder(text: str, base: Path, name: str) -> Path:
    """A folder that can be made."""
    path = place_of(text, base, name)
    if not path.name:
        hint = "Name a folder in it, which the run can make and replace."
        raise InvalidParameterError(name, "be a folder with a name of its own", str(path), hint)
    return path


# What an option holds: from its text and its name to what a run file would hold.


def parse_noise(text: str, option: str = "--noise") -> Noise:
    """A noise from REGION=P or REGION=DELETE/ADD, separated by commas."""
    laws = items("be REGION=P or REGION=DELETE/ADD, separated by commas")(text, option)
    find = law_finder(Path.cwd(), option)
    return Noise({name: law_from_text(str(value), f"{option} {name}", find) for name, value in laws.items()})


def parse_outputs(text: str, name: str) -> list[float]:
    """The range in an option: "-4..8"."""
    try:
        return [float(part) for part in text.split("..", 1)]
    except ValueError:
        raise InvalidParameterError(name, "be two numbers, LOW..HIGH", text, "For example --outputs=-4..8.") from None


def parse_fractions(text: str, option: str) -> object:
    """Shares from an option: TRAIN/VALIDATION/TEST, or PART=SHARE with commas."""
    must = "be shares of train, validation and test, such as 0.6/0.2/0.2 or train=0.5,test=0.5"
    return items(must)(text, option) if "=" in text else text.split("/")


parse_columns = items("be WHAT=COLUMN, separated by commas, such as label=activity")
parse_node_sites = items("be DATUM=bits or DATUM=categories, separated by commas")
parse_alphabets = items(
    "be COLUMN=VALUE/VALUE, separated by commas, such as colour=red/green",
    lambda text: int(text) if text.isdecimal() else text.split("/"),
)
parse_spare_node = items(
    "be DATUM=VALUE, separated by commas, such as element=C",
    lambda text: int(text) if re.fullmatch(r"-?\d{1,18}", text) else text,
)


def parse_radius(law: Noise, text: str, option: str) -> tuple[int, ...]:
    """A radius from AXIS=COUNT, separated by commas, or from counts alone in the order of the axes."""
    if "=" not in text:
        return law.radius(parse_counts(text, option), option)
    counts = items("be AXIS=COUNT, separated by commas")(text, option)
    return law.radius({name: _number(str(value), f"{option} {name}") for name, value in counts.items()}, option)


def parse_counts(text: str, option: str) -> list[float]:
    """Numbers separated by commas."""
    return [_number(part, option) for part in text.split(",")]


def _number(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InvalidParameterError(option, "be a whole number, or several with commas", text) from None
    return int(value) if math.isfinite(value) and value == int(value) else value
