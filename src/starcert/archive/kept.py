"""The common part of all archives: rows with names and true values, settings, versions; a head, then lists, as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from starcert.archive.untrusted import Field
from starcert.system.errors import InvalidParameterError
from starcert.system.files import versions


@dataclass(frozen=True, eq=False, kw_only=True)
class Kept:
    """The part of an archive about its rows and about how it was made: no claim rests on it."""

    names: tuple[str, ...]  # what the data calls each row: an object, or a target
    labels: tuple[Any, ...]  # the true class of each row, or its true number; None: not known
    settings: Mapping[str, object]  # how the run was made (model, data, regions, samples, seed, …), as JSON values
    provenance: Mapping[str, str]  # the versions that made it
    class_names: tuple[str, ...] = ()
    kind: ClassVar[str] = "certificates"  # or "exact", where every attack was tried, or "intervals"
    nodes: tuple[int, ...] | None = None  # the index of the node of each row, where nodes are classified

    def __len__(self) -> int:
        return len(self.names)

    @property
    def word(self) -> str:
        """The word for a row: a graph, a node, or the word for objects in the settings."""
        of_nodes = self.nodes is not None or self.settings.get("targets") == "nodes"
        return "node" if of_nodes else str(self.settings.get("objects", "graphs")).removesuffix("s")

    @property
    def known(self) -> tuple[Any, ...] | None:
        """The true classes, or numbers, if any is known."""
        return self.labels if any(label is not None for label in self.labels) else None

    @property
    def truth(self) -> list[Any]:
        """Those that are known."""
        return [label for label in self.labels if label is not None]


def about_rows(
    objects: Sequence[int],
    targets: Sequence[int],
    *,
    names: Sequence[str] | None,
    labels: Sequence[object] | None,
    settings: Mapping[str, object] | None,
) -> dict[str, Any]:
    """The archive's rows for a result: by default names are numbers, and no label is known."""
    for what, given in (("names", names), ("labels", labels)):
        if given is not None and len(given) != len(objects):
            raise InvalidParameterError(what, f"be one for each of {len(objects)} rows", len(given))
    for place, name in enumerate(names or ()):
        if not isinstance(name, str):
            raise InvalidParameterError(f"names[{place}]", "be text", name)
    numbers = zip(objects, targets, strict=True) if any(targets) else zip(objects, strict=True)
    return {
        "names": tuple(".".join(map(str, each)) for each in numbers) if names is None else tuple(names),
        "labels": (None,) * len(objects) if labels is None else tuple(labels),
        "settings": plain_settings(settings or {}),
        "provenance": versions(),
    }


def kept_from_json(top: Mapping[str, Field]) -> dict[str, Any]:
    """The settings and the versions in a file."""
    made = top["provenance"].members(*top["provenance"].mapping())
    return {"settings": top["settings"].mapping(), "provenance": {name: each.text() for name, each in made.items()}}


def targets_in_order(
    field: Field,
    objects: Sequence[int],
    targets: Sequence[int],
    n_objects: int,
    must: str = "be the targets of one graph after the other, each in order",
) -> list[int]:
    """The number of targets of each object; refused unless rows are those of one object after the other."""
    counts = Counter(objects)
    sizes = [counts[number] for number in range(n_objects)]
    places = [(number, target) for number, size in enumerate(sizes) for target in range(size)]
    field.check(places == list(zip(objects, targets, strict=True)), must)
    return sizes


def plain_settings(value: Mapping[str, object]) -> dict[str, object]:
    """A copy of what JSON can hold: tuples become lists."""
    try:
        plain = json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        hint = "Texts, finite numbers, true, false, None, lists and mappings of these can be kept."
        raise InvalidParameterError("settings", "be plain values", str(error), hint) from None
    if not isinstance(plain, dict):
        raise InvalidParameterError("settings", "be a mapping", value)
    return plain


def json_lines(head: Mapping[str, object], lists: Mapping[str, Iterable[object]]) -> Iterator[str]:
    r"""The text of an archive, piece by piece: each member of the head on a line, and each entry of a list.

    Example:
        >>> "".join(json_lines({"version": 1}, {"graphs": [{"name": "a"}, {"name": "b"}]}))
        '{\n"version": 1,\n"graphs": [\n{"name": "a"},\n{"name": "b"}\n]\n}\n'
    """
    yield "{" + ",".join(f'\n"{name}": {json.dumps(value, allow_nan=False)}' for name, value in head.items())
    for name, entries in lists.items():
        yield f',\n"{name}": ['
        for number, entry in enumerate(entries):
            yield f"{',' if number else ''}\n{json.dumps(entry, allow_nan=False)}"
        yield "\n]"
    yield "\n}\n"
