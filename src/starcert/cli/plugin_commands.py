"""`starcert plugins`: what there is of each kind of thing that other packages can add."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING

from starcert import __version__
from starcert.cli.command_line import JsonOption, app, report, table
from starcert.math.bounds import BOUNDS
from starcert.objects.binding import OWN_KINDS
from starcert.objects.laws import LAWS
from starcert.objects.threats import THREATS
from starcert.system.plugins import GROUPS, PluginError, plugins

if TYPE_CHECKING:
    from rich.console import RenderableType


@app.command("plugins")
def list_plugins(as_json: JsonOption = False) -> None:
    """Lists the laws, bounds, classifiers, … that there are, starcert's own and those of other packages.

    What cannot be used is listed with the reason.

    For example:

    starcert plugins
    """
    found = list(_all())
    report(as_json, lambda: {"plugins": found}, lambda: _view(found))


def _own() -> dict[str, dict[str, str]]:
    """What starcert has itself, by group and name, and what each is."""
    return {
        "laws": {law.name: _first_line(law) for law in LAWS},
        "kinds": {name: _first_line(kind) for name, kind in OWN_KINDS.items()},
        "bounds": {name: _first_line(bound) for name, bound in BOUNDS.items()},
        "threats": {threat.word: _first_line(threat) for threat in THREATS},
    }


def _all() -> Iterator[dict[str, str]]:
    for group, own in {**{key: dict[str, str]() for key in GROUPS}, **_own()}.items():
        for name, about in own.items():
            yield {"group": group, "name": name, "about": about, "from": f"starcert {__version__}", "problem": ""}
        for name, plugin in plugins(group, own).items():
            about = problem = ""
            try:
                found = plugin.load()
                about, called = _first_line(found), getattr(found, "word" if group == "threats" else "name", name)
                problem = "" if called == name else f"It calls itself {called!r}: both names must be the same."
            except PluginError as error:
                problem = str(error)
            yield {"group": group, "name": name, "about": about, "from": plugin.origin, "problem": problem}


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _view(found: list[dict[str, str]]) -> list[RenderableType]:
    heads = ("group", "name", "what it is", "from")
    rows = [tuple(each[key] for key in ("group", "name", "about", "from")) for each in found]
    broken = [each for each in found if each["problem"]]
    notes = [f"Cannot be used: {each['name']} in starcert.{each['group']}. {each['problem']}" for each in broken]
    return [table("What there is", heads, rows, left=heads, most=1_000), *notes]
