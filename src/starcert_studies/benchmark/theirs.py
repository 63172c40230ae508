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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from starcert.certificates.certificate import Certificate
from starcert.files import is_exact, verify, verify_exact
from starcert.math.frontier import levels_of
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number
from starcert_studies.benchmark.data import Classes
from starcert_studies.benchmark.outcomes import KINDS

KEYS = (
    "method",
    "data",
    "threat",
    "certificates",
    "voters",
    "votes",
    "labels",
    "names",
    "objects",
    "certified",
    "note",
)
SIZES = (0, 1, 2, 3, 5, 10, 15)

Standing = Literal["proved", "consistent", "as stated"]


@dataclass(frozen=True)
class Theirs:
    """What another method has right and certified, by the size of attacks."""

    method: str
    data: str
    threat: str  # flips, deletions, additions or rewire
    certified: dict[int, float]  # shares of all objects, by size
    objects: int
    standing: Standing  # as `starcert verify` has it; or nothing was checked
    note: str  # what was done, or is stated


class Named(NamedTuple):
    """An object in a file: what it is called, its class there by number and in words; and how far it is certified."""

    name: str | None  # None: it is not said which one it is
    label: int
    class_name: str
    reach: int  # the largest certified size; −1: it is not answered right


class Proved(NamedTuple):
    """What certificates or votes show."""

    objects: list[Named]
    most: int | None  # the largest size that they can speak about; None: any
    notes: tuple[str, ...]
    unproved: tuple[str, ...] = ()  # what a reader has to believe, in sentences; then it is as stated
    believed: bool = False  # whether a model's answers are taken as stated: then it is consistent, and no more

    @property
    def standing(self) -> Standing:
        """Whether a reader has to believe it."""
        return "as stated" if self.unproved else "consistent" if self.believed else "proved"


def read_theirs(path: Path, known: Mapping[str, Classes]) -> Theirs:
    """The results in a JSON file: `method`, `data`, and `certificates`, `votes` or figures; see the module.

    Where certificates or votes are given, the figures are computed from them. A file with a false claim is refused, one
    whose figures are larger than what is proved, and one whose objects are not those of the data that it names.

    Args:
        path: the file.
        known: the classes of data by what they are called; of others, objects and classes are as stated.
    """
    try:
        given = json.loads(path.read_text("utf-8"))
        for word in ("method", "data"):
            if not isinstance(given[word], str):
                raise TypeError(f"{word!r} must be a text")
        if strange := [key for key in given if key not in KEYS]:
            raise ValueError(f"{strange[0]!r} is none of {', '.join(KEYS)}")
        if (kind := given.get("threat", "flips")) not in KINDS:
            raise ValueError(f"'threat' must be one of {', '.join(KINDS)}")
        stated = {int(size): float(share) for size, share in given.get("certified", {}).items()}
        if not all(size >= 0 and 0 <= share <= 1 for size, share in stated.items()):
            raise ValueError("'certified' must have shares from 0 to 1 by sizes of attacks")
        objects, note = int(given.get("objects", 0)), str(given.get("note", ""))
        if not {"certificates", "votes"} & {*given} and (not stated or objects < 1):
            raise ValueError("without 'certificates' or 'votes', 'certified' and 'objects' must be stated")
        found = _counted(given, kind) if "votes" in given else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        hint = 'Write {"method": …, "data": …, "certificates": "certificates.json"}.'
        raise StarcertError(f"{path}: cannot be read as results of a method ({what}). {hint}") from error
    if "certificates" in given:
        files = given["certificates"] if isinstance(given["certificates"], list) else [given["certificates"]]
        if not files or len({*map(str, files)}) < len(files):
            raise StarcertError(f"{path}: 'certificates' must name files, each of them once.")
        found = _together([_proved(path.parent / str(file), kind, max([*stated, SIZES[-1]])) for file in files])
    if found is None:
        return Theirs(given["method"], given["data"], kind, stated, objects, "as stated", note)
    found = _compared(path, given["data"], found, known.get(given["data"]))
    sizes = sorted(stated) or [size for size in SIZES if found.most is None or size <= found.most]
    shares = {size: sum(one.reach >= size for one in found.objects) / len(found.objects) for size in sizes}
    for size, share in stated.items():
        if share > shares[size] + 1e-9:
            raise StarcertError(f"{path}: {shares[size]:.4f} is proved at size {size}, and {share:.4f} is stated. "
                                "Correct it.")  # fmt: skip
    notes = " ".join(filter(None, [note, *found.notes, *found.unproved]))
    return Theirs(given["method"], given["data"], kind, shares, len(found.objects), found.standing, notes)


def _compared(path: Path, data: str, found: Proved, known: Classes | None) -> Proved:
    """The same if its objects are some of the data, with their classes; of data that are not known, as stated."""
    unnamed = any(one.name is None for one in found.objects)
    if known is None or unnamed:
        what = "they have no names" if unnamed else f"this benchmark has no data {data} to compare them with"
        return found._replace(unproved=(*found.unproved, f"Its objects and their classes are as stated: {what}."))
    places = Counter(known.place(str(one.name)) for one in found.objects)
    for one in found.objects:
        place = known.place(str(one.name))
        if place is None:
            hint = f"Call it by its number there, from 0 to {len(known) - 1}."
            raise StarcertError(f"{path}: {data} has no object {one.name!r}. {hint}")
        if places[place] > 1:
            raise StarcertError(f"{path}: counts object {one.name!r} of {data} {places[place]} times. Count it once.")
        if not known.is_class(place, one.label, one.class_name):
            raise StarcertError(f"{path}: object {one.name!r} is of class {known.called(place)!r} in {data}, "
                                f"and of class {one.class_name!r} in the file. Correct it.")  # fmt: skip
    note = f"{len(found.objects):,} of {len(known):,} objects of {data}, of the classes that they have there."
    return found._replace(notes=(note, *found.notes))


def _together(parts: Sequence[Proved]) -> Proved:
    """What several files show, such as one for each fold."""
    known = [each.most for each in parts if each.most is not None]
    notes = dict.fromkeys(note for each in parts for note in each.notes)
    unproved = dict.fromkeys(said for each in parts for said in each.unproved)
    objects = [one for each in parts for one in each.objects]
    most = max(known) if len(known) == len(parts) else None
    return Proved(objects, most, tuple(notes), tuple(unproved), any(each.believed for each in parts))


def _proved(file: Path, kind: str, most: int) -> Proved:
    """What an archive proves, whether it is one of votes or of attacks that were tried."""
    exact = is_exact(file)
    found: Any = verify_exact(file) if exact else verify(file)
    if found.refuted:
        raise StarcertError(f"{file}: {len(found.refuted)} of its claims are false. starcert verify lists them.")
    archive = found.archive
    if all(label is None for label in archive.labels):
        raise StarcertError(f"{file}: says the class of no object, so that no share can be computed.")

    def named(reach: Sequence[int]) -> list[Named]:  # nodes that were not tested have no class
        rows = zip(archive.names, archive.labels, reach, strict=True)
        return [Named(name, label, archive.class_names[label], far) for name, label, far in rows if label is not None]

    anchored = tuple(f"Anchored: {reason}." for reason in dict.fromkeys(archive.anchored) if reason)
    if exact:
        result = archive.result
        try:
            result.size_of(f"{kind}:1")
        except InvalidParameterError as error:
            hint = f'Say "threat": "{str(result.threat).partition(":")[0]}".'
            raise StarcertError(f"{file}: is about {result.threat}, not about {kind}. {hint}") from error
        right = [one.label == label for one, label in zip(result, archive.labels, strict=True)]
        reach = [one.certified_size if fine else -1 for one, fine in zip(result, right, strict=True)]
        said = "The answers of the model to attacks that were tried are taken as stated."
        notes = _changes(result.axes), said, *anchored
        return Proved(named(reach), result.threat.most, notes, believed=True)
    every = list(archive.certificates)
    right = [not one.abstained and one.label == label for one, label in zip(every, archive.labels, strict=True)]
    reach = [_reach(one, kind, most) if fine else -1 for one, fine in zip(every, right, strict=True)]
    notes = tuple(filter(None, (_changes(archive.noise.axes), found.premise, *anchored)))
    by = f"It follows from what {archive.stated_by} states, which is not proved."
    return Proved(named(reach), None, notes, (by,) if archive.stated_by else ())


def _changes(axes: Sequence[str]) -> str:
    return f"Changes are those in {', '.join(axes)}; what these cover is as stated."


def _reach(one: Certificate, kind: str, most: int) -> int:
    """Up to which size attacks are certified, wherever they are; files do not prove how many sites there are."""
    for size in range(1, most + 1):
        levels = list(_levels(one, kind, size))
        if not levels or not all(map(one.certified, levels)):
            return size - 1
    return most


def _levels(one: Certificate, kind: str, size: int) -> Iterator[tuple[int, ...]]:
    """All levels that attacks of a size can have; what an axis counts that is not named so may be any change."""
    suffixes = [suffix for region in one.noise for suffix in one.noise[region].suffixes]

    def on(suffix: str) -> Iterator[tuple[int, ...]]:
        known = (".delete", ".add", ".change")
        box = tuple(size if each == suffix or each not in known else 0 for each in suffixes)
        return levels_of(size, box)

    if kind == "flips":
        yield from levels_of(size, (size,) * len(suffixes))
    elif kind == "rewire":  # an edge that moves is a deletion and an addition
        for gone in on(".delete"):
            for come in on(".add"):
                yield tuple(map(sum, zip(gone, come, strict=True)))
    else:
        yield from on({"deletions": ".delete", "additions": ".add"}[kind])


def _counted(given: dict[str, Any], kind: str) -> Proved:
    """What counting shows where each changed pair reaches one voter: n_A − n_B > 2R, ties against the method."""
    voters, votes, labels = whole_number("voters", given["voters"], 1), given["votes"], given["labels"]
    names = given.get("names") or [None] * len(labels)
    if not votes or not len(votes) == len(labels) == len(names) or len({len(row) for row in votes}) != 1:
        raise ValueError("'votes' must be a row for each of 'labels' and 'names', with a number for each class")
    objects, pairs = [], 2 if kind == "rewire" else 1  # how many pairs an attack of size 1 changes
    for name, row, label in zip(names, votes, labels, strict=True):
        counts = [whole_number("votes", each, 0) for each in row]
        if sum(counts) != voters or len(counts) < 2:
            raise ValueError(f"each row of 'votes' must add up to the {voters} voters, of two classes or more")
        own = counts.pop(whole_number("labels", label, 0, len(counts) - 1))
        lead = own - max(counts)
        objects.append(
            Named(None if name is None else str(name), label, str(label), (lead - 1) // (2 * pairs) if lead > 0 else -1)
        )
    said = (
        f"By counting {voters} voters, of which a changed pair reaches one: that, and the votes, are taken as stated."
    )
    return Proved(objects, None, (said,))
