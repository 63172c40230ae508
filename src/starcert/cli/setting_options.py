"""The settings as options of a command: the main ones in its help, every one by `--set`, all in `starcert list`."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent, wrap
from typing import Annotated, Any, get_args

import typer
from msgspec import NODEFAULT

from starcert.cli.command_line import DebugOption, JsonOption, QuietOption, app, show
from starcert.datasets.tu_files import local_names
from starcert.objects.laws import LAWS
from starcert.objects.regions import BUILDERS
from starcert.objects.threats import THREATS
from starcert.runs.declaration import Setting, check_options, set_values
from starcert.runs.settings import SETTINGS
from starcert.runs.training_run import TRAIN_SETTINGS
from starcert.system.errors import InvalidParameterError, did_you_mean

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
        return " Required (or in RUN.TOML)."
    return f" Default: {setting.shown}." if setting.shown and not setting.is_flag else ""


def _first_line(item: object) -> str:
    return " ".join((inspect.getdoc(item) or "").partition("\n\n")[0].split())


def _threats() -> dict[str, str]:
    own = {"FILE.PY:NAME:2": "A threat of your own, from a Python file; MODULE:NAME:2 from a module."}
    joined = {"A | B, A & B, A + B": "Either of two threats, what both allow, one after the other."}
    lines = map(_first_line, THREATS)  # each ends with an example of its text, in backticks
    return {line.rpartition("`")[0].rpartition("`")[2]: line.rpartition(";")[0] + "." for line in lines} | joined | own


def _regions() -> dict[str, str]:
    own = {"FILE.PY:NAME": "A function of your own from a graph to its Partition, or a Partition."}
    anchored = " The certificates are then about regions that are frozen at each graph."
    return (
        {
            each.example or name: f"Regions: {each.regions}. {each.why}{anchored * bool(each.reason)}"
            for name, each in BUILDERS.items()
        }
        | {"A | B": "The regions of both builders."}
        | own
    )


def _laws() -> dict[str, str]:
    written = {"flip": "REGION=P or REGION=DELETE/ADD", "edges": "REGION=DELETE/ADD/CHANGE",
               "categorical": "REGION={ categorical = P }"}  # fmt: skip
    own = {"REGION={ law = 'FILE.PY:NAME', … }": "A law of your own, with its numbers by name."}
    return {written.get(law.name, law.name): _first_line(law) for law in LAWS} | own


def _methods() -> dict[str, str]:
    return {
        "by p_A (no option)": "Votes of noisy copies bound how likely the class is; radii follow from that alone.",
        "--evidence": SETTINGS["evidence"].help,
        "--set fallback=blind": SETTINGS["fallback"].help,
        "--exact": SETTINGS["exact"].help,
        "--set outputs=[LOW, HIGH]": SETTINGS["outputs"].help,
        "HashedVotes": "In Python, and in starcert benchmark: one voter for each group of node pairs; alpha = 0.",
        "--method links": "The nodes of one graph, by blind scores and one vote of each linked node, without model, "
        "noise or alpha, however large the graph is; models.LinkVotes in Python, and in starcert benchmark.",
        "models.Statistics": "In Python: graphs by a few quantities, such as the numbers of nodes and edges, and any "
        "estimator of scikit-learn, certified exactly and without noise.",
    }


def _data() -> dict[str, str]:
    return {
        "NAME": f"A TU data set, downloaded once. Already here: {', '.join(local_names()) or 'none'}.",
        "FOLDER": "GraphML files or edge lists, with their classes in labels.csv (columns name, label).",
        "FILE.pt": "PyG data: a list of tensors by name, or one graph whose nodes are classified.",
        "FILE.smi, FILE.csv": "Molecules; a table has the column smiles.",
        "FILE.csv with kind=table": "Rows of categories.",
        "FILE.npz": "One graph of labelled nodes, as Cora-ML and Citeseer come.",
        "FILE.PY:NAME": "A function of your own that returns graphs or other objects, and their classes.",
    }


TOPICS: dict[str, Callable[[], dict[str, str]]] = {
    "threats": _threats,
    "regions": _regions,
    "laws": _laws,
    "methods": _methods,
    "data": _data,
    "settings": lambda: {key: text for key, _, text in settings_by_option()},
}
_TOPIC = typer.Argument(help="What to list.", metavar="|".join(TOPICS))


@app.command(name="list")
def list_names(topic: Annotated[str, _TOPIC], as_json: JsonOption = False) -> None:
    """List what there is to choose from: threats, regions, laws, methods, data or settings.

    For example:

    starcert list threats
    """
    if topic not in TOPICS:
        hint = did_you_mean(topic, TOPICS, "")
        raise InvalidParameterError("TOPIC", f"be one of {', '.join(TOPICS)}", topic, hint)
    found = TOPICS[topic]()
    if as_json:
        print(json.dumps(found))
        return
    for name, text in found.items():
        show(name, indent("\n".join(wrap(text, 96)), "    "))
