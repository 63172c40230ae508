"""What other distributions add to starcert, found by their entry points and loaded where somebody names it.

A distribution declares `forget = "package.module:Forget"` under `[project.entry-points."starcert.laws"]`. One that is
broken, or whose name is taken, does no harm to a run that does not name it: `Plugin.load` raises what is wrong with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from starcert.system.errors import StarcertError, did_you_mean

GROUPS = ("laws", "kinds", "bounds", "threats", "classifiers")
"""What can be added. The group of entry points is called `starcert.laws`, and so on."""


class PluginError(StarcertError):
    """Something that another distribution adds cannot be used; the message names the distribution and the reason."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """Something that another distribution adds to a group."""

    group: str
    name: str
    place: str  # where it is, as "module:name"
    origin: str  # the distribution and its version; several if they claim one name
    clash: str = ""  # who else has the name; "" if no one does

    def checked(self) -> Plugin:
        """The same, unless somebody else has the name."""
        if self.clash:
            taken = f"The name {self.name!r} in starcert.{self.group} is claimed by {self.origin}, and by {self.clash}"
            raise PluginError(f"{taken}. Uninstall one, or give one of them another name.")
        return self

    def load(self) -> object:
        """The thing itself, imported now."""
        module, _, name = self.checked().place.partition(":")
        try:
            return reduce(getattr, name.split("."), import_module(module))
        except Exception as error:
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise PluginError(
                f"{self.origin}: its entry point {self.name} = {self.place!r} in starcert.{self.group} cannot be "
                f"imported ({why}). Repair or uninstall it; `starcert plugins` lists all."
            ) from error


def plugins(group: str, own: Iterable[str] = ()) -> dict[str, Plugin]:
    """What other distributions add to a group, by name; `own` are the names that starcert has itself."""
    taken, found = set(own), defaultdict[str, dict[str, EntryPoint]](dict)
    for entry in entry_points(group=f"starcert.{group}"):
        found[entry.name].setdefault(_origin(entry), entry)  # a distribution may be on the path twice
    listed = {}
    for name, entries in sorted(found.items()):
        first, *others = sorted(entries)
        clash = ["starcert itself"] * (name in taken) + others
        listed[name] = Plugin(group, name, entries[first].value, first, " and ".join(clash))
    return listed


def find_plugin(group: str, name: str, own: Iterable[str] = ()) -> Plugin:
    """What is called so in a group; a `PluginError` says what to do where nothing is."""
    known = plugins(group, own)
    if name not in known:
        hint = f"Install the package that has it. It must declare it as an entry point in the group starcert.{group}."
        raise PluginError(f"There is no {name!r} in starcert.{group} here. {did_you_mean(name, [*own, *known], hint)}")
    return known[name]


def _origin(entry: EntryPoint) -> str:
    return "an unknown distribution" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
