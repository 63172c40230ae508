"""The threat of a run: read from its text, with the user's files in it, and the graphs that it fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, unquote

from starcert.datasets.dataset import Dataset
from starcert.objects import Graph
from starcert.objects.binding import Problem
from starcert.objects.content import digest
from starcert.objects.kinds import kind_of
from starcert.objects.threats import Threat, UnfitError, attackable, injected_nodes, read_threat, with_spare_nodes
from starcert.runs.user_code import Reference, place_of
from starcert.system.errors import InvalidParameterError

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


def check_threat(threat: Threat | None, problem: Problem, data: Dataset) -> None:
    """Refuses a threat that does not fit the objects, by name: before they are shown to the model."""
    if threat is None or threat.by_radius:
        return
    for name, sites in zip(data.names, problem.sites, strict=True):
        try:
            threat.check(attackable(sites, problem.noise))
        except UnfitError as error:
            parameter, requirement, got, hint = error.args
            hint = hint or "Ask about another threat: any flips, such as flips:1, fit everything."
            got = f"{got} ({kind_of(sites.clean).word} {name!r}, threat {threat})"
            raise UnfitError(parameter, requirement, got, hint) from None


def with_spares(data: Dataset, threat: Threat | None, entries: Mapping[str, object]) -> Dataset:
    """The data with the spare nodes that a threat injects, which have these data and no edges."""
    names = injected_nodes(threat)
    if entries and not names:
        raise InvalidParameterError("spare_node", "needs a threat that injects nodes, such as --threat inject:2.")
    if names and (data.of_nodes or not all(isinstance(each, Graph) for each in data.graphs)):
        hint = "For nodes of one graph, name some that are there: controlled:2,nodes=a|b."
        raise InvalidParameterError("threat", f"injects nodes, so graphs must be classified. {hint}")
    found = []
    for name, graph in zip(data.names, data.graphs, strict=True) if names else ():
        new = [each for each in names if each not in map(str, graph.nodes)]
        try:
            found.append(with_spare_nodes(graph, {key: [each] * len(new) for key, each in entries.items()}, names=new))
        except InvalidParameterError as error:
            hint = 'Write a table [spare_node] into the run file, with a line such as element = "C" for each.'
            got = f"{error.args[2]} for graph {name!r}"
            raise InvalidParameterError("spare_node", error.args[1], got, hint) from None
    return replace(data, graphs=tuple(found)) if names else data
