"""What the certificates or votes of another method show, object by object, whoever the objects are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from starcert.certificates.certificate import Certificate
from starcert.files import Archive, ExactArchive, is_exact, verify, verify_exact
from starcert.math.frontier import levels_of
from starcert.system.errors import InvalidParameterError, StarcertError, whole_number

Standing = Literal["proved", "consistent", "as stated"]


class Named(NamedTuple):
    """An object in a file: what it is called, its class by its place and name there, and how far it is certified."""

    name: str | None  # None: it is not said which one it is
    label: int
    classes: tuple[str, ...]  # what the file calls its classes; empty: they are numbers of the data
    reach: int  # the largest certified size; −1: it is not answered right
    pairs: int | None  # how many sites its regions have; None: not said, or of no matter


class Proved(NamedTuple):
    """What certificates or votes show."""

    objects: list[Named]
    most: int | None  # the largest size that they can speak about; None: any
    notes: tuple[str, ...]
    alpha: float | None = None
    unproved: tuple[str, ...] = ()  # what a reader has to believe, in sentences; then it is as stated
    believed: bool = False  # whether a model's answers are taken as stated: then it is consistent, and no more

    @property
    def standing(self) -> Standing:
        """Whether a reader has to believe it."""
        return "as stated" if self.unproved else "consistent" if self.believed else "proved"


def together(parts: Sequence[Proved]) -> Proved:
    """What several files show, such as one for each fold."""
    known = [each.most for each in parts if each.most is not None]
    notes = dict.fromkeys(note for each in parts for note in each.notes)
    unproved = dict.fromkeys(said for each in parts for said in each.unproved)
    objects = [one for each in parts for one in each.objects]
    most = max(known) if len(known) == len(parts) else None
    alpha = max((each.alpha for each in parts if each.alpha is not None), default=None)
    return Proved(objects, most, tuple(notes), alpha, tuple(unproved), any(each.believed for each in parts))


def proved(file: Path, kind: str, most: int) -> Proved:
    """What an archive proves, whether it is one of votes or of attacks that were tried."""
    exact = is_exact(file)
    found: Any = verify_exact(file) if exact else verify(file)
    if found.refuted:
        raise StarcertError(f"{file}: {len(found.refuted)} of its claims are false. starcert verify lists them.")
    if found.verdict == "stated":
        raise StarcertError(f"{found} Give a file that starcert verify proves.")
    archive = found.archive
    if archive.word not in ("graph", "node"):
        raise StarcertError(f"{file}: is about {archive.word}s, and the benchmark about changed edges of graphs.")
    known = [place for place, label in enumerate(archive.labels) if label is not None]
    if not known or (archive.word == "graph" and len(known) < len(archive.labels)):
        hint = "Write its true classes into it: certify with labels."
        raise StarcertError(f"{file}: {len(archive.labels) - len(known)} of its graphs have no class. {hint}")
    what = _tried(file, archive, kind) if exact else _voted(archive, kind, most)
    objects = [
        Named(archive.names[place], archive.labels[place], archive.class_names, what.reach[place], what.sites[place])
        for place in known
    ]
    anchored = (f"Anchored: {reason}." for reason in dict.fromkeys(archive.anchored) if reason)
    notes = tuple(filter(None, (*what.notes, "" if exact else found.premise, *anchored)))
    return Proved(objects, what.most, notes, archive.alpha if not exact else None, what.unproved, believed=exact)


class Rows(NamedTuple):
    """What the rows of an archive show."""

    reach: list[int]
    sites: list[int | None]
    most: int | None
    notes: tuple[str, ...]
    unproved: tuple[str, ...] = ()


def _tried(file: Path, archive: ExactArchive, kind: str) -> Rows:
    """What attacks that were tried show, if the model answers as they say."""
    result = archive.result
    try:
        result.size_of(f"{kind}:1")
    except InvalidParameterError as error:
        hint = f'Say "threat": "{str(result.threat).partition(":")[0]}".'
        raise StarcertError(f"{file}: is about {result.threat}, not about {kind}. {hint}") from error
    rows = zip(result, archive.labels, strict=True)
    reach = [one.certified_size if one.label == label else -1 for one, label in rows]
    said = "The answers of the model to attacks that were tried are taken as stated."
    return Rows(reach, [result.n_sites[number] for number in result.objects.tolist()], result.threat.most, (said,))


def _voted(archive: Archive, kind: str, most: int) -> Rows:
    """What votes prove."""
    rows = zip(archive.certificates, archive.labels, strict=True)
    right = [(one, not one.abstained and one.label == label) for one, label in rows]
    # A changed type is one of an edge that is there, which can be deleted: its site is counted already.
    counted_axes = [not axis.endswith(".change") for axis in archive.noise.axes]
    sites = [None if each is None else sum(compress(each, counted_axes)) for each in archive.boxes]
    unproved = ("How many node pairs its regions have is not said.",) if None in sites else ()
    noise = f"Noise: {', '.join(f'{region} {archive.noise[region]}' for region in archive.noise)}."
    blind = "" if archive.votes.blind is None else "In doubt it answers as a blind model: its answers are as stated."
    reach = [_reach(one, kind, most) if fine else -1 for one, fine in right]
    return Rows(reach, sites, None, (noise, blind), unproved)


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


def counted(given: dict[str, Any], kind: str) -> Proved:
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
        reach = (lead - 1) // (2 * pairs) if lead > 0 else -1
        objects.append(Named(None if name is None else str(name), label, (), reach, None))
    said = (
        f"By counting {voters} voters, of which a changed pair reaches one: that, and the votes, are taken as stated."
    )
    return Proved(objects, None, (said,))
