"""The settings of a run as options of a command: the main ones in its help, every one by `--set KEY=VALUE`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, get_args

import typer
from msgspec import NODEFAULT

from starcert.cli.command_line import DebugOption, QuietOption
from starcert.runs.declaration import Setting, check_options, set_values
from starcert.runs.settings import SETTINGS
from starcert.runs.training_run import TRAIN_SETTINGS

_SET = "Any other setting: family=all, columns.label='y' (starcert list settings)."
_SET_OPTION = typer.Option("--set", help=_SET, metavar="KEY=VALUE")


@dataclass(frozen=True)
class Given:
    """The settings that the options of a command give."""

    values: Mapping[str, object]  # by their keys, checked
    words: Mapping[str, Sequence[str]]  # how each was written, for a command that repeats it


def settings_by_option() -> Iterator[tuple[str, str, str]]:
    """The key of every setting, in its table, its option, and what it is."""
    from starcert.benchmark.settings import SETTINGS as BENCHMARK_SETTINGS  # noqa: PLC0415  (only where they are listed)

    for table, known in (("", SETTINGS), ("train.", TRAIN_SETTINGS), ("benchmark: ", BENCHMARK_SETTINGS)):
        for key, each in known.items():
            argument = "" if each.is_flag else f" {each.argument}"
            yield f"{table}{key}", each.option + argument, each.help + (f" By default {each.shown}." * bool(each.shown))


def with_settings(
    first: Mapping[str, object], known: Mapping[str, Setting]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command its options: its own first, then those of these settings, the required ones before the others.

    The command receives its own options by name, and `given`, which has what all others say.
    """
    annotations: dict[str, Any] = {}
    for key, setting in sorted(known.items(), key=lambda item: not item[1].example):
        option = typer.Option(
            *([] if setting.is_flag else [setting.option]),
            help=setting.summary + _default_of(setting),
            show_default=False,
            metavar=None if setting.is_flag else setting.argument,
            hidden=not setting.main,
        )
        kind = bool if setting.is_flag else list[str] if setting.is_list else str
        annotations[key] = Annotated[kind | None, option]
    annotations |= {"sets": Annotated[list[str] | None, _SET_OPTION], **first}
    annotations |= {"_quiet": QuietOption, "_debug": DebugOption}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if get_args(each)[0] is bool else None,
            annotation=each,
        )
        for name, each in annotations.items()
    ]

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        def run(**options: Any) -> None:  # noqa: ANN401
            texts = {key: options[key] for key in known if options[key] is not None}
            sets = {re.split(r"[.=]", text)[0].strip(): text for text in options["sets"] or ()}
            words = {key: [known[key].option] if text is True else [known[key].option, str(text)]
                     for key, text in texts.items()} | {key: ["--set", text] for key, text in sets.items()}  # fmt: skip
            values = check_options(texts, known) | set_values(options["sets"] or (), known)
            command(**{name: options[name] for name in first}, given=Given(values, words))

        run.__doc__, run.__name__, run.__annotations__ = command.__doc__, command.__name__, annotations
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
        return run

    return with_options


def _default_of(setting: Setting) -> str:
    if setting.default is NODEFAULT:
        return " Required, here or in RUN.TOML."
    return f" Default: {setting.shown}." if setting.shown and not setting.is_flag else ""
