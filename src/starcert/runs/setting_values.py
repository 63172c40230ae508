"""What a setting is, and its values: from what an option, a run file or Python has to what a run works with.

A check gets a value, the folder that relative paths begin in, and what a message calls the setting.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from starcert.objects.noise import Threat, threat_of
from starcert.runs.columns import ROLES
from starcert.runs.user_code import Reference, TuName, place_of
from starcert.system import errors
from starcert.system.errors import InvalidParameterError, did_you_mean

if TYPE_CHECKING:
    from starcert.math.confidence import Family
    from starcert.objects.noise import Noise, RadiusLike

__all__ = [
    "Setting",
    "SettingCheck",
    "as_alpha",
    "as_columns",
    "as_data",
    "as_device",
    "as_family",
    "as_flag",
    "as_model",
    "as_name",
    "as_noise",
    "as_out_folder",
    "as_path",
    "as_radius",
    "as_rate",
    "as_regions",
    "as_splits",
    "as_threat",
    "one_of",
    "parse_by_axis",
    "parse_columns",
    "parse_counts",
    "parse_noise",
    "parse_radius",
    "whole_number",
]

SettingCheck = Callable[[Any, Path, str], object]

_DEVICES = r"cpu|mps|(cuda|xpu)(:\d+)?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What there is to know about one setting.

    Attributes:
        check: makes the value from what Python, a run file or an option has, or refuses it.
        help: what it is, for the help of a command.
        kind: what the command line takes its word for.
        parse: makes of that word what a run file would have; takes the name of the option, for messages.
        metavar: what stands for the word in the help; None: its kind.
        panel: under which heading the help lists it; None: with all others.
        shown: the default, in words; "" if there is none.
        example: what a message proposes where it must be given and is not; "" if it need not be given.
        optional: whether None is a value of it.
        in_sweeps: whether `starcert sweep` has the option.
        of_sweeps: whether a sweep may have a value of its own, in the table [sweep] of a run file.
        in_training: whether `starcert train` has the option.
        sweep_help: what it is for a sweep; "": the same.
        sweep_shown: its default for a sweep, in words; "": the same.
        written: whether the run file in the output folder repeats it.
        unsaid: the value that goes without saying: a run file that is written leaves it out.
        changes: what another value changes: the votes, the certificates from the same votes, or nothing of the result.
    """

    check: SettingCheck
    help: str
    kind: type = str
    parse: Callable[[str, str], object] | None = None
    metavar: str | None = None
    panel: str | None = None
    shown: str = ""
    example: str = ""
    optional: bool = False
    in_sweeps: bool = True
    of_sweeps: bool = False
    in_training: bool = False
    sweep_help: str = ""
    sweep_shown: str = ""
    written: bool = True
    unsaid: object = None
    changes: Literal["votes", "certificates", "nothing"] = "votes"

    def value(self, given: object, base: Path, name: str) -> object:
        """The value that a run works with, from what was given; `base` is where relative paths begin."""
        return None if given is None and self.optional else self.check(given, base, name)


def whole_number(least: int, most: int) -> SettingCheck:
    """The check of a whole number."""

    def check(value: object, _base: Path, name: str) -> int:
        return errors.whole_number(name, value, least, most)

    return check


def one_of(*words: str) -> SettingCheck:
    """The check of a word that must be one of these."""

    def check(value: object, _base: Path, name: str) -> str:
        if value not in words:
            raise InvalidParameterError(name, f"be one of {', '.join(words)}", value)
        return str(value)

    return check


def as_flag(value: object, _base: Path, name: str) -> bool:
    """Whether something is wanted."""
    if not isinstance(value, bool):
        raise InvalidParameterError(name, "be true or false", value)
    return value


def as_path(value: object, base: Path, name: str) -> Path:
    """A path, absolute."""
    return place_of(value if isinstance(value, Path) else _text(value, name), base, name)


def as_out_folder(value: object, base: Path, name: str) -> Path:
    """A folder that can be made."""
    path = as_path(value, base, name)
    if not path.name:
        hint = "Name a folder in it, which the run can make and replace."
        raise InvalidParameterError(name, "be a folder with a name of its own", str(path), hint)
    return path


def as_data(value: object, base: Path, name: str) -> Path | str | Reference:
    """A function in a Python file, a file or folder that exists, or else what can be the name of a TU data set."""
    if isinstance(value, Reference):
        return value
    if isinstance(value, str) and re.search(r"\.py:\w+$", value.strip()):
        return Reference.parse(value.strip(), base, name)
    path = as_path(value, base, name)
    if os.path.exists(path):  # also false for a name that is too long
        return path
    if isinstance(value, TuName):
        return value
    if isinstance(value, str) and re.fullmatch(r"\w[\w+-]{,99}", value.strip()):
        called = TuName(value.strip())
        called.path = path
        return called
    near = sorted(each.name for each in path.parent.iterdir()) if os.path.isdir(path.parent) else []
    close = get_close_matches(path.name[:100], near, n=1)
    hint = f"Did you mean {path.with_name(close[0])}?" if close else "A plain name is that of a TU data set: MUTAG."
    raise InvalidParameterError(name, "name a file or a folder that exists", str(path), hint)


def as_splits(value: object, base: Path, name: str) -> Path:
    """A file that says which graph lies in which part."""
    path = as_path(value, base, name)
    if not os.path.isfile(path) or path.suffix.lower() not in (".json", ".csv"):
        hint = 'Write {"train": [0, 1], "test": [2]} into splits.json, or the columns name, part into splits.csv.'
        raise InvalidParameterError(name, "name a file .json or .csv that exists", str(path), hint)
    return path


def as_columns(value: object, _base: Path, name: str) -> dict[str, str]:
    """Which column holds what, in the order of what there may be."""
    if not isinstance(value, Mapping):
        hint = 'Write a table: [columns], and below it a line such as label = "activity".'
        raise InvalidParameterError(name, "map what columns hold to their names", value, hint)
    for role in value:
        if role not in ROLES:
            hint = did_you_mean(str(role), ROLES, "On the left stands what it holds: label=activity.")
            raise InvalidParameterError(name, f"say which column holds {', '.join(ROLES)}", role, hint)
    return {role: _text(value[role], f"{name}.{role}") for role in ROLES if role in value}


def as_model(value: object, base: Path, name: str) -> Reference:
    """A function in a Python file."""
    return value if isinstance(value, Reference) else Reference.parse(_text(value, name), base, name)


def as_regions(value: object, base: Path, name: str) -> Reference | str | dict[str, object]:
    """A function in a Python file, what names a region builder, or for each region a layer or some columns."""
    if isinstance(value, Reference):
        return value
    if isinstance(value, Mapping):
        for region, where in value.items():
            listed = isinstance(where, list | tuple) and all(isinstance(each, int | str) for each in where)
            if not (isinstance(where, str) or listed):
                hint = 'Write a layer, such as bonds = "pairs", or columns, such as border = [0, 1, 2].'
                raise InvalidParameterError(f"{name}.{region}", "name a layer, or list columns", where, hint)
        return dict(value)
    text = _text(value, name)
    return Reference.parse(text, base, name) if re.search(r"\.py(:\w*)?$", text) else text


def as_noise(value: object, _base: Path, name: str) -> Noise:
    """A flip law for every region."""
    from starcert.objects.laws import law_from_json  # noqa: PLC0415  (the help of a command needs none of it)
    from starcert.objects.noise import Noise  # noqa: PLC0415

    if isinstance(value, Noise):
        return value
    if not isinstance(value, Mapping):
        hint = "Write a table: [noise], and below it a line such as motif = 0.02 for every region."
        raise InvalidParameterError(name, "map regions to flip probabilities", value, hint)
    laws = {}
    for region, law in value.items():
        with _renaming(f"{name}.{region}"):
            laws[region] = law_from_json(law)
    with _renaming(name):
        return Noise(laws)


def as_name(value: object, _base: Path, name: str) -> str:
    """The name of data of nodes or edges."""
    return _text(value, name)


def as_radius(value: RadiusLike, _base: Path, name: str) -> object:
    """Counts by axis or in their order; that they fit the noise is checked where both are known."""
    counts = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(counts, Sequence) or isinstance(counts, str) or not all(map(_is_count, counts)):
        hint = "Write a table: [max_radius], and below it a line such as motif = 3 for every axis."
        raise InvalidParameterError(name, "be whole numbers of flips, one for each axis", value, hint)
    return dict(value) if isinstance(value, Mapping) else tuple(counts)


def as_threat(value: object, _base: Path, name: str) -> Threat:
    """What the attacker can do."""
    return threat_of(value, name)


def as_alpha(value: object, _base: Path, name: str) -> float:
    """A failure probability."""
    from starcert.math import confidence  # noqa: PLC0415  (flint and numpy: only where a run is made)

    if not _is_number(value):
        raise InvalidParameterError(name, "be a failure probability, a number such as 0.01", value)
    with _renaming(name):
        return confidence.check_alpha(value)  # type: ignore[arg-type]


def as_rate(value: object, _base: Path, name: str) -> float:
    """A number from 0 on, such as a learning rate."""
    if not (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf):
        raise InvalidParameterError(name, "be a number, 0 or more, such as 0.001", value)
    return float(value)


def as_family(value: object, _base: Path, name: str) -> Family:
    """What alpha is the failure probability of."""
    from starcert.math import confidence  # noqa: PLC0415  (as above)

    with _renaming(name):
        return confidence.check_family(value)


def as_device(value: object, _base: Path, name: str) -> str:
    """A device of torch."""
    text = _text(value, name)
    if not re.fullmatch(_DEVICES, text):
        raise InvalidParameterError(name, "name a device of torch", text, "Write cpu, cuda or cuda:1.")
    return text


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise InvalidParameterError(name, "be text", value)
    return value.strip()


@contextmanager
def _renaming(name: str) -> Iterator[None]:
    """Lets a message call a parameter what the user calls it."""
    try:
        yield
    except InvalidParameterError as error:
        raise InvalidParameterError(name, *error.args[1:]) from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def parse_noise(text: str, option: str = "--noise") -> Noise:
    """A noise from REGION=P or REGION=DELETE/ADD, separated by commas."""
    from starcert.objects.laws import law_from_text  # noqa: PLC0415
    from starcert.objects.noise import Noise  # noqa: PLC0415

    items = _parse_items(text, option, "be REGION=P or REGION=DELETE/ADD, separated by commas")
    return Noise({name: law_from_text(value, f"{option} {name}") for name, value in items})


def parse_columns(text: str, option: str) -> dict[str, str]:
    """Columns from WHAT=COLUMN, separated by commas."""
    return dict(_parse_items(text, option, "be WHAT=COLUMN, separated by commas, such as label=activity"))


def parse_radius(law: Noise, text: str, option: str) -> tuple[int, ...]:
    """A radius from AXIS=COUNT, separated by commas, or from counts alone in the order of the axes."""
    return law.radius(parse_by_axis(text, option), option)


def parse_by_axis(text: str, option: str) -> Sequence[float] | dict[str, float]:
    """The counts of a radius, by their axes or in the order of these; whether they fit a noise is not looked at."""
    if "=" not in text:
        return parse_counts(text, option)
    items = _parse_items(text, option, "be AXIS=COUNT, separated by commas")
    return {name: _number(value, f"{option} {name}") for name, value in items}


def _parse_items(text: str, option: str, requirement: str) -> list[tuple[str, str]]:
    items: list[tuple[str, str]] = []
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not (name and equals and value):
            raise InvalidParameterError(option, requirement, text)
        if name in dict(items):
            raise InvalidParameterError(option, f"name {name!r} once", text)
        items.append((name, value))
    return items


def parse_counts(text: str, option: str) -> list[float]:
    """Numbers separated by commas."""
    return [_number(part, option) for part in text.split(",")]


def _number(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InvalidParameterError(option, "be a whole number, or several with commas", text) from None
    return int(value) if math.isfinite(value) and value == int(value) else value
