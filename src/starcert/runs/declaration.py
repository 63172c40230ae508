"""Settings that are declared once, as the fields of a struct; everything else about them follows from there.

    class TrainSettings(Struct, frozen=True, kw_only=True):
        epochs: Annotated[int, Meta(ge=1), Setting("How often the training graphs are seen.")] = 300

The type says what a file may hold and `Meta` its limits; `Setting` has the help and the little that is not in a type.
`declared` collects them; then `check_values` reads the keys of a TOML file, `check_options` the options of a command,
with messages that name the key and its limits, and `table_schema` makes the JSON schema.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from starcert.system.errors import InvalidParameterError, did_you_mean, whole_number

Read = Callable[[Any, Path, str], object]
"""Makes what a program works with from a plain value, the folder that relative paths begin in, and the key's name."""

_PLAIN = (bool, int, float, str, list, tuple, dict, Mapping)


@dataclass(frozen=True, slots=True)
class Setting:
    """The description of one setting: its declaration, completed by `declared`."""

    help: str  # what it is
    _: KW_ONLY
    brief: str = ""  # what the help of a command says; "": the first sentence of the above
    main: bool = False  # whether the help of a command lists its option; all others are given by --set
    form: Any = None  # the type of the plain value in a file; None: that of the field
    read: Read | None = None  # makes what a program works with from the plain value; None: it stays as it is
    parse: Callable[[str, str], object] | None = None  # from an option's text and name to the plain value
    must: str = ""  # what a message says that it must be; "": what follows from the form
    hint: str = ""  # what a message proposes beside
    metavar: str = ""  # what stands for the argument in the help of a command; "": its kind
    shown: str = ""  # the default, in words; "": the default itself, if there is one
    example: str = ""  # what a message proposes where it must be given and is not
    called: str = ""  # what its option is called, where it is not called after the key
    key: str = ""
    default: Any = NODEFAULT  # the value where none is given; NODEFAULT: it must be given
    ready: tuple[type, ...] = ()  # the classes of what a program works with

    @property
    def option(self) -> str:
        """The option for it: `--split-seed` for `split_seed`."""
        return f"--{(self.called or self.key).replace('_', '-')}"

    @property
    def summary(self) -> str:
        """Its text in the help of a command."""
        return self.brief or re.split(r"(?<=[.:]) ", self.help)[0].rstrip(":")

    @property
    def is_flag(self) -> bool:
        """True for a setting that is true or false."""
        return self.form is bool

    @property
    def is_list(self) -> bool:
        """True if its option may be repeated."""
        return any(get_origin(_bare(each)) is list for each in _parts(self.form)) and self.parse is None

    @property
    def argument(self) -> str:
        """The placeholder of its argument in the help of a command."""
        return self.metavar or {int: "NUMBER", float: "NUMBER"}.get(_bare(self.form), "TEXT")

    def value(self, given: object, base: Path, name: str, *, strict: bool = True) -> object:
        """The value for the program; relative paths begin at `base`, and messages call the setting `name`."""
        if (given is None and self.default is None) or isinstance(given, self.ready):
            return given
        plain = self._plain(given, self.form, name, strict)
        if self.read is None:
            return plain
        try:
            return self.read(plain, base, name)
        except InvalidParameterError as error:
            if str(error.args[0]).startswith(name):
                raise
            raise InvalidParameterError(name, *error.args[1:]) from None

    def _plain(self, given: Any, form: Any, name: str, strict: bool) -> object:  # noqa: ANN401  (plain values)
        """The value if it has the form, texts without blanks around them."""
        if isinstance(given, str):
            given = given.strip()
        table = next((each for each in map(_bare, _parts(form)) if get_origin(each) is dict), None)
        if isinstance(given, Mapping) and table is not None:
            keys, inside = get_args(table)
            for key in given:
                if get_origin(keys) is Literal and key not in get_args(keys):
                    hint = did_you_mean(str(key), get_args(keys), self.hint)
                    raise InvalidParameterError(name, f"have no keys but {', '.join(get_args(keys))}", key, hint)
            return {key: self._plain(each, inside, f"{name}.{key}", strict) for key, each in given.items()}
        try:
            found = msgspec.convert(given, form, strict=strict)
        except (msgspec.ValidationError, RecursionError):
            raise InvalidParameterError(name, self.must or _must(form), given, self.hint) from None
        fine = math.isfinite(found) if isinstance(found, float) else found != "" and "\0" not in str(found)
        if not fine:
            raise InvalidParameterError(name, self.must or _must(form), given, self.hint)
        return found


S = TypeVar("S", bound=Setting)


def declared(owner: type[Struct], kind: type[S]) -> dict[str, S]:
    """The settings that a struct declares, of this kind, by their keys."""
    found = {}
    hints = get_type_hints(owner, include_extras=True)
    for each in msgspec.structs.fields(owner):
        about = next(each for each in hints[each.name].__metadata__ if isinstance(each, kind))
        limits = [limit for limit in hints[each.name].__metadata__ if isinstance(limit, Meta)]
        parts = [part for part in _parts(hints[each.name]) if part is not NoneType]
        form = Union[tuple(parts)] if about.form is None else about.form  # noqa: UP007  (of any number of them)
        ready = [part for part in parts if isinstance(part, type) and part not in _PLAIN]
        default = each.default if each.default_factory is NODEFAULT else each.default_factory()
        none = default in (NODEFAULT, None, {}, ())
        found[each.name] = replace(
            about,
            form=Annotated[(form, *limits)] if limits else form,
            shown=about.shown or ("" if none else _written(default)),
            key=each.name,
            default=default,
            ready=tuple(ready),
        )
    return found


class MissingSettingError(InvalidParameterError):
    """A setting that must be given is not."""

    def __init__(self, parameter: str, hint: str) -> None:
        super().__init__(parameter, "is missing.", ..., hint)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.args[3])

    def __str__(self) -> str:
        return f"Missing setting: {self.args[0]}. {self.args[3]}"


class UnknownSettingError(InvalidParameterError):
    """A setting has a name that means nothing."""

    def __str__(self) -> str:
        parameter, _, _, hint = self.args
        return f"There is no setting {parameter!r}. {hint}"


def check_values(
    values: Mapping[str, object], known: Mapping[str, Setting], *, base: Path, within: str = ""
) -> dict[str, object]:
    """Settings from the table `within` of a file, each checked; relative paths begin at `base`."""
    head = f"{within}." if within else ""
    for key in values:
        if key not in known:
            hint = did_you_mean(str(key), known, f"There are {', '.join(known)}.")
            raise UnknownSettingError(f"{head}{key}", "be a setting", key, hint)
    return {key: known[key].value(value, base, f"{head}{key}") for key, value in values.items()}


def check_options(given: Mapping[str, Any], known: Mapping[str, Setting]) -> dict[str, object]:
    """The settings that options give, each checked; an option that is None was not given."""
    found = {}
    for key, text in given.items():
        if text is not None:
            setting = known[key]
            plain = setting.parse(text, setting.option) if setting.parse is not None else text
            found[key] = setting.value(plain, Path(), setting.option, strict=False)
    return found


def set_values(texts: Iterable[str], known: Mapping[str, Setting]) -> dict[str, object]:
    """The settings that `--set KEY=VALUE` gives: values of TOML, or as the option of that name takes them."""
    plain: dict[str, Any] = {}
    found: dict[str, object] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        name, _, inside = key.partition(".")
        if not equals:
            raise InvalidParameterError("--set", "be KEY=VALUE, such as family=all", text)
        if name not in known:
            hint = did_you_mean(name, known, "starcert list settings has all of them.")
            raise UnknownSettingError(name, "be a setting", name, hint)
        try:
            given: object = tomllib.loads(f"value = {value}")["value"]
        except ValueError:
            found |= check_options({name: value}, known)
            continue
        plain[name] = plain.get(name, {}) | {inside: given} if inside else given
    return found | {name: known[name].value(each, Path(), f"--set {name}") for name, each in plain.items()}


def table_schema(known: Mapping[str, Setting], **tables: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a table with these settings, none of them required, and further tables."""
    keys = {key: setting_schema(setting) for key, setting in known.items()}
    return {"type": "object", "properties": keys | tables, "additionalProperties": False}


def setting_schema(setting: Setting) -> dict[str, Any]:
    """The JSON schema of one setting: its form and its limits, its help, and its default, as a value or in words."""
    found = msgspec.json.schema(setting.form)
    if "enum" in found:
        found["enum"] = list(get_args(setting.form))  # in the order in which they are declared
    if type(setting.default) in (bool, int, float, str, tuple):
        found["default"] = list(setting.default) if isinstance(setting.default, tuple) else setting.default
    words = f" By default {setting.shown}." if setting.shown and "default" not in found else ""
    return found | {"description": setting.help + words}


@contextmanager
def renaming(name: str) -> Iterator[None]:
    """Makes messages call a parameter what the user calls it."""
    try:
        yield
    except InvalidParameterError as error:
        raise InvalidParameterError(name, *error.args[1:]) from None


def items(requirement: str, make: Callable[[str], object] = str) -> Callable[[str, str], dict[str, object]]:
    """A reader of NAME=VALUE, separated by commas, from an option; messages say the requirement."""

    def read(text: str, option: str) -> dict[str, object]:
        found: dict[str, object] = {}
        for item in text.split(","):
            name, equals, value = (part.strip() for part in item.partition("="))
            if not (name and equals and value):
                raise InvalidParameterError(option, requirement, text)
            if name in found:
                raise InvalidParameterError(option, f"name {name!r} once", text)
            found[name] = make(value)
        return found

    return read


def _written(value: object) -> str:
    return f"{value:,}" if type(value) is int else str(value)


def _bare(form: Any) -> Any:  # noqa: ANN401  (types)
    """A type without its limits."""
    return get_args(form)[0] if get_origin(form) is Annotated else form


def _parts(form: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """The members of a union, or the one type that it is."""
    bare = _bare(form)
    return get_args(bare) if get_origin(bare) in (Union, UnionType) else (bare,)


def _must(form: Any) -> str:  # noqa: ANN401
    """The requirement for a value of a form, in words."""
    bare = _bare(form)
    limits = next((each for each in getattr(form, "__metadata__", ()) if isinstance(each, Meta)), Meta())
    if get_origin(bare) is Literal:
        return f"be one of {', '.join(map(str, get_args(bare)))}"
    if bare is int:
        most = (limits.extra_json_schema or {}).get("maximum", limits.le)
        try:
            whole_number("", None, int(limits.ge or 0), most)
        except InvalidParameterError as error:
            return str(error.args[1])
    if bare is float:
        most = "" if limits.le is None else f" to {limits.le:g}"
        return "be a number" if limits.ge is None else f"be a number from {limits.ge:g}{most}"
    words = {bool: "be true or false", str: "be text"}
    return words.get(bare, "be a table" if get_origin(bare) is dict else "have another form")
