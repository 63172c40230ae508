"""Results of another method, in a file of their own: proved, consistent, or marked as stated.

{"method": …, "data": …, "threat": "flips", "certificates": "one.json"}     archives that `starcert verify` accepts,
                                                                            also a list, such as one for each fold
{"method": …, "data": …, "voters": 10, "votes": [[9, 1], …], "labels": […]} votes of which a change reaches one
{"method": …, "data": …, "objects": 188, "certified": {"1": 0.82}}          figures, marked as stated
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from starcert.certificates.certificate import Certificate
from starcert.files import is_exact, verify, verify_exact
from starcert.math.frontier import levels_of
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number
from starcert_studies.benchmark.outcomes import KINDS

KEYS = ("method", "data", "threat", "certificates", "voters", "votes", "labels", "objects", "certified", "note")
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


class Proved(NamedTuple):
    """What certificates or votes show."""

    reach: list[int]  # of each object the largest certified size; −1: it is not answered right
    most: int | None  # the largest size that they can speak about; None: any
    notes: tuple[str, ...]
    stated_by: str = ""  # what it follows from, if that is not proved
    believed: bool = False  # whether a model's answers are taken as stated: then it is consistent, and no more

    @property
    def standing(self) -> Standing:
        """Whether a reader has to believe it."""
        return "as stated" if self.stated_by else "consistent" if self.believed else "proved"


def read_theirs(path: Path) -> Theirs:
    """The results in a JSON file: `method`, `data`, and `certificates`, `votes` or figures; see the module.

    Where certificates or votes are given, the figures are computed from them. A file with a false claim is refused, and
    one whose figures are larger than what is proved.
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
    sizes = sorted(stated) or [size for size in SIZES if found.most is None or size <= found.most]
    shares = {size: sum(reach >= size for reach in found.reach) / len(found.reach) for size in sizes}
    for size, share in stated.items():
        if share > shares[size] + 1e-9:
            raise StarcertError(f"{path}: {shares[size]:.4f} is proved at size {size}, and {share:.4f} is stated. "
                                "Correct it.")  # fmt: skip
    by = f"It follows from what {found.stated_by} states, which is not proved." if found.stated_by else ""
    notes = " ".join(filter(None, [note, *found.notes, by]))
    return Theirs(given["method"], given["data"], kind, shares, len(found.reach), found.standing, notes)


def _together(parts: Sequence[Proved]) -> Proved:
    """What several files show, such as one for each fold."""
    known = [each.most for each in parts if each.most is not None]
    notes = dict.fromkeys(note for each in parts for note in each.notes)
    by = dict.fromkeys(each.stated_by for each in parts if each.stated_by)
    reach = [one for each in parts for one in each.reach]
    most = max(known) if len(known) == len(parts) else None
    return Proved(reach, most, tuple(notes), " and ".join(by), any(each.believed for each in parts))


def _proved(file: Path, kind: str, most: int) -> Proved:
    """What an archive proves, whether it is one of votes or of attacks that were tried."""
    exact = is_exact(file)
    found: Any = verify_exact(file) if exact else verify(file)
    if found.refuted:
        raise StarcertError(f"{file}: {len(found.refuted)} of its claims are false. starcert verify lists them.")
    archive = found.archive
    if any(label is None for label in archive.labels):
        raise StarcertError(f"{file}: does not say the class of every object, so that no share can be computed.")
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
        notes = f"Changes are those in {', '.join(result.axes)}.", said, *anchored
        return Proved(reach, result.threat.most, notes, believed=True)
    every = list(archive.certificates)
    right = [not one.abstained and one.label == label for one, label in zip(every, archive.labels, strict=True)]
    reach = [_reach(one, kind, most) if fine else -1 for one, fine in zip(every, right, strict=True)]
    where = f"Changes are those in {', '.join(archive.noise.axes)}."
    return Proved(reach, None, tuple(filter(None, (where, found.premise, *anchored))), archive.stated_by)


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
    if not votes or len(votes) != len(labels) or len({len(row) for row in votes}) != 1:
        raise ValueError("'votes' must be a row for each of 'labels', with a number for each class")
    reach, pairs = [], 2 if kind == "rewire" else 1  # how many pairs an attack of size 1 changes
    for row, label in zip(votes, labels, strict=True):
        counts = [whole_number("votes", each, 0) for each in row]
        if sum(counts) != voters or len(counts) < 2:
            raise ValueError(f"each row of 'votes' must add up to the {voters} voters, of two classes or more")
        own = counts.pop(whole_number("labels", label, 0, len(counts) - 1))
        lead = own - max(counts)
        reach.append((lead - 1) // (2 * pairs) if lead > 0 else -1)
    said = (
        f"By counting {voters} voters, of which a changed pair reaches one: that, and the votes, are taken as stated."
    )
    return Proved(reach, None, (said,))
