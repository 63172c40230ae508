"""Results of another method, in a file of their own: proved, consistent, or marked as stated.

{"method": …, "data": …, "threat": "flips", "certificates": "one.json"}     archives that `starcert verify` accepts,
                                                                            also a list, such as one for each fold
{"method": …, "data": …, "voters": 10, "votes": [[9, 1], …],                votes of which a change reaches one
                         "labels": [0, …], "names": ["17", …]}
{"method": …, "data": …, "objects": 188, "certified": {"1": 0.82}}          figures, marked as stated

A share is proved only if its claims are, and if every object is one of the data of this benchmark, has the class that
it has there, and is counted once. Otherwise whoever wrote the file chose what "right" means.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starcert.benchmark.data import Classes
from starcert.benchmark.outcomes import KINDS
from starcert.benchmark.theirs_proofs import Proved, Standing, counted, proved, together
from starcert.system.errors import StarcertError

KEYS = ("method", "data", "threat", "certificates", "voters", "votes", "labels", "names", "objects", "certified",
        "note")  # fmt: skip
SIZES = (0, 1, 2, 3, 5, 10, 15)


@dataclass(frozen=True)
class Theirs:
    """What another method has right and certified, by the size of attacks."""

    method: str
    data: str
    threat: str  # flips, deletions, additions or rewire
    certified: dict[int, float]  # shares of all objects, by size
    objects: int
    of: int | None  # how many objects the data have; None: the data are not known here
    alpha: float | None  # the largest probability of a false claim about an object; None: none, or not said
    standing: Standing  # as `starcert verify` has it; or nothing was checked
    note: str  # what was done, or is stated


def read_theirs(path: Path, known: Mapping[str, Classes]) -> Theirs:
    """The results in a JSON file: `method`, `data`, and `certificates`, `votes` or figures; see the module.

    Where certificates or votes are given, the figures are computed from them. A file with a false claim is refused, one
    whose figures are larger than what is proved, and one whose objects are not those of the data that it names.

    Args:
        path: the file.
        known: the classes of data by what they are called; of others, objects and classes are as stated.
    """
    given = _read(path)
    stated, kind = given["certified"], given["threat"]
    if "certificates" in given:
        files = [path.parent / file for file in given["certificates"]]
        found = together([proved(file, kind, max([*stated, SIZES[-1]])) for file in files])
    elif "votes" in given:
        found = given["votes"]
    else:
        found = None
    classes = known.get(given["data"])
    about = given["method"], given["data"], kind
    if found is None:
        return Theirs(*about, stated, given["objects"], None, None, "as stated", given["note"])
    found = _compared(path, given["data"], found, classes)
    sizes = sorted(stated) or [size for size in SIZES if found.most is None or size <= found.most]
    shares = {size: sum(one.reach >= size for one in found.objects) / len(found.objects) for size in sizes}
    for size, share in stated.items():
        if share > shares[size] + 1e-9:
            raise StarcertError(f"{path}: {shares[size]:.4f} is proved at size {size}, and {share:.4f} is stated. "
                                "Correct it.")  # fmt: skip
    notes = " ".join(filter(None, [given["note"], *found.notes, *found.unproved]))
    n_known = None if classes is None else len(classes)
    return Theirs(*about, shares, len(found.objects), n_known, found.alpha, found.standing, notes)


def _read(path: Path) -> dict[str, Any]:
    """What a file says, checked; its votes are counted."""
    try:
        given = json.loads(path.read_text("utf-8"))
        if not isinstance(given, dict):
            raise TypeError("it must hold an object with names and values")
        for word in ("method", "data"):
            if not isinstance(given[word], str):
                raise TypeError(f"{word!r} must be a text")
        if strange := [key for key in given if key not in KEYS]:
            raise ValueError(f"{strange[0]!r} is none of {', '.join(KEYS)}")
        if (kind := given.setdefault("threat", "flips")) not in KINDS:
            raise ValueError(f"'threat' must be one of {', '.join(KINDS)}")
        given["certified"] = _shares(given.get("certified", {}))
        given["objects"], given["note"] = int(given.get("objects", 0)), str(given.get("note", ""))
        if "certificates" in given:
            files = given["certificates"] if isinstance(given["certificates"], list) else [given["certificates"]]
            if not files or len({*files}) < len(files) or not all(isinstance(file, str) for file in files):
                raise ValueError("'certificates' must be a list of different files")
            given["certificates"] = files
        elif "votes" in given:
            given["votes"] = counted(given, kind)
        elif not given["certified"] or given["objects"] < 1:
            raise ValueError("without 'certificates' or 'votes', 'certified' and 'objects' must be stated")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        hint = 'Write "method", "data", and "certificates", "votes" or "certified", as docs/benchmark.md shows.'
        raise StarcertError(f"{path}: cannot be read as results of a method ({what}). {hint}") from error
    return given


def _shares(given: Mapping[str, Any]) -> dict[int, float]:
    """Shares by sizes: what withstands more changes withstands fewer."""
    found = dict(sorted((int(size), float(share)) for size, share in given.items()))
    shares = [*found.values()]
    if not all(size >= 0 for size in found) or not all(0 <= share <= 1 for share in shares):
        raise ValueError("'certified' must have shares from 0 to 1 by sizes of attacks")
    if shares != sorted(shares, reverse=True):
        raise ValueError("'certified' must not rise with the size of attacks")
    return found


def _compared(path: Path, data: str, found: Proved, known: Classes | None) -> Proved:
    """The same if its objects are some of the data, with their classes; of data that are not known, as stated."""
    names = [one.name for one in found.objects if one.name is not None]
    if known is None or len(names) < len(found.objects):
        what = "they have no names" if known else f"this benchmark has no data {data} to compare them with"
        return found._replace(unproved=(*found.unproved, f"Its objects and their classes are as stated: {what}."))
    places = known.places(names)
    times = Counter(places)
    fewer = list[str]()
    for place, one in zip(places, found.objects, strict=True):
        if place is None:
            hint = f"Call it by its name in the data, or all of them by their numbers from 0 to {len(known) - 1}."
            raise StarcertError(f"{path}: {data} has no object {one.name!r}. {hint}")
        if times[place] > 1:
            raise StarcertError(f"{path}: counts object {one.name!r} of {data} {times[place]} times. Count it once.")
        if (numbers := known.numbers_of(one.classes) if one.classes else range(one.label + 1)) is None:
            must = known.class_names or range(1 + max(known.labels))
            raise StarcertError(f"{path}: the classes of {data} are {', '.join(map(str, must))}, and those of the file "
                                f"{', '.join(one.classes)}. Name them so, or number them from 0.")  # fmt: skip
        if numbers[one.label] != known.labels[place]:
            there = one.classes[one.label] if one.classes else one.label
            raise StarcertError(f"{path}: object {one.name!r} is of class {known.called(place)} in {data}, and of "
                                f"class {there} in the file. Correct it.")  # fmt: skip
        if one.pairs is not None and one.pairs != known.pairs[place]:
            fewer.append(f"{one.pairs:,} of {known.pairs[place]:,} node pairs of object {one.name!r}")
    if fewer:
        why = f"It is not about all changes of edges: its regions have {fewer[0]}."
        return found._replace(unproved=(*found.unproved, why))
    return found
