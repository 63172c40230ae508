"""`starcert list`: what there is to choose from, as the code that reads it says."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from textwrap import indent, wrap
from typing import Annotated

import typer

from starcert.cli.command_line import JsonOption, app, show
from starcert.cli.setting_options import settings_by_option
from starcert.datasets.tu_files import local_names
from starcert.objects.laws import LAWS
from starcert.objects.regions import BUILDERS
from starcert.objects.threats import THREATS
from starcert.runs.settings import SETTINGS
from starcert.system.errors import InvalidParameterError, did_you_mean


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
        "models.LinkVotes": "In Python, and in starcert benchmark: the nodes of one graph, by blind scores and one "
        "vote of each linked node, certified exactly and without noise, however large the graph is.",
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


def _settings() -> dict[str, str]:
    return {key: text for key, _, text in settings_by_option()}


TOPICS: dict[str, Callable[[], dict[str, str]]] = {
    "threats": _threats, "regions": _regions, "laws": _laws, "methods": _methods, "data": _data, "settings": _settings,
}  # fmt: skip
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
