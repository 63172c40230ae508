"""What a setting is, and its values: from what an option, a run file or Python has to what a run works with."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from starcert.classifiers.values import ValueRange
from starcert.math.confidence import Family, check_alpha, check_family
from starcert.math.fallback import check_threshold
from starcert.objects.laws import Law, law_from_json, law_from_text
from starcert.objects.noise import Noise
from starcert.runs.user_code import Reference, TuName, place_of
from starcert.system.errors import InvalidParameterError, did_you_mean, whole_number

Check = Callable[[Any, Path, str], object]
"""Makes the value of a setting, or refuses it; takes the folder that relative paths begin in, and the name to use in
messages."""

BLIND = "blind"  # the fallback that starcert fits itself
COLUMN_ROLES = ("smiles", "label", "name", "part", "skip")  # what a column of a table may hold; or which to leave out


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What there is to know about one setting."""

    check: Check  # makes the value from what Python, a run file or an option has, or refuses it
    help: str  # what it is, for the help of a command
    kind: type = str  # the type of the option's argument: that of the field
    parse: Callable[[str, str], object] | None = None  # from that argument and the option's name to what a file has
    metavar: str | None = None  # what stands for the argument in the help; None: its kind
    panel: str | None = None  # the heading under which the help lists it; None: with all others
    shown: str = ""  # the default, in words; "" if there is none
    example: str = ""  # what a message proposes if it must be given and is not; "" if it need not be given
    optional: bool = False  # whether it may be None
    in_sweeps: bool = True  # whether `starcert sweep` has the option
    of_sweeps: bool = False  # whether a sweep may have a value of its own, in the table [sweep] of a run file
    in_training: bool = False  # whether `starcert train` has the option
    sweep_help: str = ""  # what it is for a sweep; "": the same
    sweep_shown: str = ""  # its default for a sweep, in words; "": the same
    written: bool = True  # whether the run file in the output folder repeats it
    implied: object = None  # a value that a written run file leaves out
    # what another value changes: the votes, the certificates from the same votes, or nothing of the result
    changes: Literal["votes", "certificates", "nothing"] = "votes"

    def value(self, given: object, base: Path, name: str) -> object:
        """The value that a run works with; `base` is where relative paths begin."""
        if isinstance(given, Reference) or (given is None and self.optional):
            return given
        return self.check(given, base, name)


def setting(check: Check, text: str, *, default: object = None, **more: Any) -> Any:  # noqa: ANN401  (as `field`)
    """A field for a setting: its check, its help, and what else `Setting` has; with an example, it must be given."""
    about = Setting(check=check, help=text, **more)
    return field(default=MISSING if about.example else default, metadata={"setting": about})


_KINDS = {"int": int, "float": float, "bool": bool, "Path": Path}  # of options, by types of fields; others are text


def declared(each: Field[Any]) -> Setting:
    """The setting of a field: the option has its type, and shows its default unless there are words for it."""
    about: Setting = each.metadata["setting"]
    default = "" if each.default is MISSING or each.default is None else each.default
    shown = f"{default:,}" if type(default) is int else str(default)
    kind = _KINDS.get(str(each.type).removesuffix(" | None"), str)
    return replace(about, kind=kind, shown=about.shown or shown, optional=each.default is None)


class UnknownSettingError(InvalidParameterError):
    """A setting has a name that means nothing."""

    def __str__(self) -> str:
        parameter, _, _, hint = self.args
        return f"There is no setting {parameter!r}. {hint}"


def option_name(key: str) -> str:
    """The option for a setting: `--split-seed` for `split_seed`."""
    return f"--{key.replace('_', '-')}"


def check_values(
    values: Mapping[str, object], known: Mapping[str, Setting], *, base: Path, named: Callable[[str], str] = str
) -> dict[str, object]:
    """Settings by their keys, each checked; relative paths begin at `base`, messages call a key what `named` says."""
    for key in values:
        if key not in known:
            hint = did_you_mean(str(key), known, f"There are {', '.join(known)}.")
            raise UnknownSettingError(named(key), "be a setting of a run", key, hint)
    return {key: known[key].value(value, base, named(key)) for key, value in values.items()}


def check_options(given: Mapping[str, Any], known: Mapping[str, Setting]) -> dict[str, object]:
    """The settings that options give, each checked; an option that is None was not given."""
    values = {key: word for key, word in given.items() if word is not None}
    for key, word in values.items():
        if (parse := known[key].parse) is not None:
            values[key] = parse(word, option_name(key))
    return check_values(values, known, base=Path.cwd(), named=option_name)


def whole(least: int, most: int) -> Check:
    """The check of a whole number."""
    return lambda value, _base, name: whole_number(name, value, least, most)


def must(requirement: str, holds: Callable[[Any], bool], make: Callable[[Any], object] = lambda value: value) -> Check:
    """The check of a value that must be so, and what is made from it."""

    def check(value: object, _base: Path, name: str) -> object:
        if not holds(value):
            raise InvalidParameterError(name, requirement, value)
        return make(value)

    return check


def one_of(*choices: str) -> Check:
    """The check of a word that must be one of these."""
    return must(f"be one of {', '.join(choices)}", lambda value: value in choices, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_table(value: object) -> bool:
    """Whether it is a table of a run file."""
    return isinstance(value, Mapping)


as_flag = must("be true or false", lambda value: isinstance(value, bool))
as_rate = must("be a number, 0 or more, such as 0.001", lambda each: _is_number(each) and 0 <= each < math.inf, float)


def as_path(value: object, base: Path, name: str) -> Path:
    """A path, absolute."""
    return place_of(value if isinstance(value, Path) else as_text(value, base, name), base, name)


def as_out_folder(value: object, base: Path, name: str) -> Path:
    """A folder that can be made."""
    path = as_path(value, base, name)
    if not path.name:
        hint = "Name a folder in it, which the run can make and replace."
        raise InvalidParameterError(name, "be a folder with a name of its own", str(path), hint)
    return path


def as_data(value: object, base: Path, name: str) -> Path | str | Reference:
    """A function in a Python file, a file or folder that exists, or else a possible name of a TU data set."""
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
    hint = did_you_mean(path.name[:100], near, "A plain name is that of a TU data set: MUTAG.")
    raise InvalidParameterError(name, "name a file or a folder that exists", str(path), hint)


def as_splits(value: object, base: Path, name: str) -> Path:
    """A file that says which graph lies in which part."""
    path = as_path(value, base, name)
    if not os.path.isfile(path) or path.suffix.lower() not in (".json", ".csv"):
        hint = 'Write {"train": [0, 1], "test": [2]} into splits.json, or the columns name, part into splits.csv.'
        raise InvalidParameterError(name, "name a file .json or .csv that exists", str(path), hint)
    return path


def as_columns(value: object, base: Path, name: str) -> dict[str, str]:
    """Which column holds what, in the order of `COLUMN_ROLES`."""
    if not isinstance(value, Mapping):
        hint = 'Write a table: [columns], and below it a line such as label = "activity".'
        raise InvalidParameterError(name, "map what columns hold to their names", value, hint)
    for role in value:
        if role not in COLUMN_ROLES:
            hint = did_you_mean(str(role), COLUMN_ROLES, "On the left stands what it holds: label=activity.")
            raise InvalidParameterError(name, f"say which column holds {', '.join(COLUMN_ROLES)}", role, hint)
    return {role: as_text(value[role], base, f"{name}.{role}") for role in COLUMN_ROLES if role in value}


def as_reference(value: object, base: Path, name: str) -> Reference:
    """Something in a Python file or a module."""
    return Reference.parse(as_text(value, base, name), base, name)


def as_regions(value: object, base: Path, name: str) -> Reference | str | dict[str, object]:
    """A function in a Python file, a region builder, or for each region a layer or some columns."""
    if isinstance(value, Mapping):
        for region, where in value.items():
            listed = isinstance(where, list | tuple) and all(isinstance(each, int | str) for each in where)
            if not (isinstance(where, str) or listed):
                hint = 'Write a layer, such as bonds = "pairs", or columns, such as border = [0, 1, 2].'
                raise InvalidParameterError(f"{name}.{region}", "name a layer, or list columns", where, hint)
        return dict(value)
    text = as_text(value, base, name)
    return Reference.parse(text, base, name) if re.search(r"\.py(:\w*)?$", text) else text


def as_outputs(value: object, _base: Path, name: str) -> ValueRange:
    """The range of a model's outputs: the least and the largest number, and perhaps how many steps it has."""
    if isinstance(value, ValueRange):
        return value
    if not isinstance(value, list | tuple) or len(value) not in (2, 3):
        hint = "Write outputs = [-4, 8], or --outputs=-4..8."
        raise InvalidParameterError(name, "be the least and the largest number that the model gives", value, hint)
    return ValueRange(*value)


def parse_outputs(text: str, name: str) -> list[float]:
    """The range in an option: "-4..8"."""
    try:
        return [float(part) for part in text.split("..", 1)]
    except ValueError:
        raise InvalidParameterError(name, "be two numbers, LOW..HIGH", text, "For example --outputs=-4..8.") from None


def law_finder(base: Path, name: str) -> Callable[[str], object]:
    """What has the laws that a run names by a Python file, from this folder, or by a module."""
    return lambda text: Reference.parse(text, base, name).load(Law)


def as_noise(value: object, base: Path, name: str) -> Noise:
    """A flip law for every region."""
    if isinstance(value, Noise):
        return value
    if not isinstance(value, Mapping):
        hint = "Write a table: [noise], and below it a line such as motif = 0.02 for every region."
        raise InvalidParameterError(name, "map regions to flip probabilities", value, hint)
    laws = {}
    for region, law in value.items():
        with renaming(f"{name}.{region}"):
            laws[region] = law_from_json(law, law_finder(base, name))
    with renaming(name):
        return Noise(laws)


def as_text(value: object, _base: Path, name: str) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise InvalidParameterError(name, "be text", value)
    return value.strip()


def as_alpha(value: Any, _base: Path, name: str) -> float:  # noqa: ANN401  (what a file has)
    """A failure probability."""
    if not _is_number(value):
        raise InvalidParameterError(name, "be a failure probability, a number such as 0.01", value)
    with renaming(name):
        return check_alpha(value)


def as_family(value: object, _base: Path, name: str) -> Family:
    """What alpha is the failure probability of."""
    with renaming(name):
        return check_family(value)


def as_fallback(value: object, base: Path, name: str) -> Reference | str:
    """The word blind, or a function in a file."""
    text = as_text(value, base, name)
    return text if text == BLIND else Reference.parse(text, base, name)


def as_threshold(value: Any, _base: Path, name: str) -> float:  # noqa: ANN401  (what a file has)
    """The threshold of a fallback."""
    if not _is_number(value):
        raise InvalidParameterError(name, "be a number such as 0.7", value)
    with renaming(name):
        return check_threshold(value)


def parse_spare_node(text: str, option: str) -> dict[str, object]:
    """The data of a spare node from DATUM=VALUE, separated by commas: a whole number is one, all else is text."""
    items = parse_items(text, option, "be DATUM=VALUE, separated by commas, such as element=C")
    return {key: int(value) if re.fullmatch(r"-?\d{1,18}", value) else value for key, value in items.items()}


def as_device(value: object, base: Path, name: str) -> str:
    """A device of torch."""
    text = as_text(value, base, name)
    if not re.fullmatch(r"cpu|mps|(cuda|xpu)(:\d+)?", text):
        raise InvalidParameterError(name, "name a device of torch", text, "Write cpu, cuda or cuda:1.")
    return text


@contextmanager
def renaming(name: str) -> Iterator[None]:
    """Makes messages call a parameter what the user calls it."""
    try:
        yield
    except InvalidParameterError as error:
        raise InvalidParameterError(name, *error.args[1:]) from None


def parse_noise(text: str, option: str = "--noise") -> Noise:
    """A noise from REGION=P or REGION=DELETE/ADD, separated by commas."""
    items = parse_items(text, option, "be REGION=P or REGION=DELETE/ADD, separated by commas")
    find = law_finder(Path.cwd(), option)
    return Noise({name: law_from_text(value, f"{option} {name}", find) for name, value in items.items()})


def parse_columns(text: str, option: str) -> dict[str, str]:
    """Columns from ROLE=COLUMN, separated by commas."""
    return parse_items(text, option, "be WHAT=COLUMN, separated by commas, such as label=activity")


def parse_radius(law: Noise, text: str, option: str) -> tuple[int, ...]:
    """A radius from AXIS=COUNT, separated by commas, or from counts alone in the order of the axes."""
    if "=" not in text:
        return law.radius(parse_counts(text, option), option)
    items = parse_items(text, option, "be AXIS=COUNT, separated by commas")
    return law.radius({name: _number(value, f"{option} {name}") for name, value in items.items()}, option)


def parse_items(text: str, option: str, requirement: str) -> dict[str, str]:
    """Values by name, from NAME=VALUE separated by commas; messages say the requirement."""
    items: dict[str, str] = {}
    for item in text.split(","):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not (name and equals and value):
            raise InvalidParameterError(option, requirement, text)
        if name in items:
            raise InvalidParameterError(option, f"name {name!r} once", text)
        items[name] = value
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
