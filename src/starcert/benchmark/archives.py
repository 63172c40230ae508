"""Certificates in files: those that a benchmark keeps, and those of another method, which it proves or refuses.

A share is proved only if its claims are, and if every object is one of the data of this benchmark, has the class that
it has there, and is counted once; otherwise whoever wrote the file would choose what "right" means. Regions have as
many sites as there are node pairs, as what is said of a few pairs says nothing about the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

import starcert as sc
from starcert.benchmark.data import data_of
from starcert.benchmark.folds import Fold, Nodes
from starcert.benchmark.outcomes import KINDS, decided, fewer, kind_of, outcome_of, read_threat
from starcert.benchmark.work import DRAWN, Work
from starcert.certificates.outcomes import Outcome
from starcert.datasets import Dataset
from starcert.files import Archive, ExactArchive, verify, write
from starcert.system.errors import InvalidParameterError, StarcertError

SIZES = (0, 1, 2, 3, 5, 10, 15)
"""Sizes of attacks that are shown, as far as a threat goes."""


def keep(path: Path, found: sc.Certificates | sc.ExactCertificates, cut: Fold, data: Dataset | None) -> None:
    """Writes the certificates of a fold; objects are called as in the data, or by their numbers there.

    Votes on one graph serve all its nodes, so all of them are in the file: those that are not tested without a class.
    """
    truth = dict(zip(cut.numbers, cut.tested.labels.tolist(), strict=True))
    rows = range(len(found)) if isinstance(cut.tested, Nodes) else cut.numbers
    names = () if data is None or data.of_nodes else data.names
    # The last classes may have no graph that is small enough: then no model knows them.
    called = (data.class_names if data is not None else ()) or None
    about: dict[str, Any] = {
        "names": [names[row] if names else str(row) for row in rows],
        "labels": [truth.get(row) for row in rows],
    }
    if isinstance(found, sc.ExactCertificates):
        about["class_names"] = called and called[: found.n_classes]
        write(path, ExactArchive.from_result(found, **about))
    elif found.votes is not None:
        about["class_names"] = called and called[: found.votes.counts.shape[1]]
        write(path, Archive.from_result(found, **about))


@dataclass(frozen=True)
class Theirs:
    """What another method has right and certified, by the size of attacks."""

    method: str  # what its file, or folder, is called
    data: str
    threat: str
    certified: dict[int, float]  # shares of all objects, by size
    objects: int
    of: int  # how many objects the data have
    alpha: float | None  # the largest probability of a false claim about an object; None: there is none
    standing: Literal["proved", "consistent"]  # as `starcert verify` has it, given the votes, or the model's answers
    note: str  # the noise, and what is taken as stated


def read_theirs(given: str, known: Mapping[str, str], work: Work, threats: Sequence[str]) -> list[Theirs]:
    """What the archives of another method show about data of a benchmark, for each of its threats that they are about.

    A file with a false claim is refused, and one whose objects are not those of the data.

    Args:
        given: an archive, or a folder of archives, such as one for each fold; before it DATA= where there are several.
        known: the entries of the data by what they are called.
        work: which columns of tables hold what.
        threats: those of the benchmark.
    """
    name, _, rest = given.partition("=")
    text, data = (rest, name) if name in known else (given, next(iter(known)))
    if name not in known and len(known) > 1:
        hint = f"Write {next(iter(known))}={given}."
        raise InvalidParameterError("--with", f"say which data it is about: {', '.join(known)}", given, hint)
    if known[data] in DRAWN:
        raise StarcertError(f"{given}: {data} is drawn anew in every fold, so no file can be about its objects.")
    path = Path(text)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise StarcertError(f"{path}: the folder holds no archive. Give a folder of .json files that verify proves.")
    read, objects = [Proved.of(file) for file in files], data_of(known[data], work.columns)
    check_objects([row for each in read for row in each.rows], data, objects)
    alpha = max((each.archive.alpha for each in read if not each.exact), default=None)
    standing: Literal["proved", "consistent"] = "consistent" if any(each.exact for each in read) else "proved"
    note = " ".join(dict.fromkeys(note for each in read for note in each.notes))
    found = []
    for threat in threats:
        spoken = [each.speaks_of(threat) for each in read]
        if None not in spoken:
            certified = np.concatenate([each.certified(threat) for each in read])
            sizes = (size for size in SIZES if size <= min(most for most in spoken if most is not None))
            shares = {size: float(np.mean(certified >= size)) for size in sizes}
            about = path.stem, data, threat, shares, len(certified), len(objects.labels), alpha
            found.append(Theirs(*about, standing, note))
    if not found:
        asked = ", ".join(dict.fromkeys(str(each.archive.result.threat) for each in read if each.exact))
        hint = f"Add its threat to the benchmark: {asked}." if asked else f"Add one of {', '.join(KINDS)}."
        raise StarcertError(f"{given}: says nothing about {', '.join(threats)}. {hint}")
    return found


class Row(NamedTuple):
    """An object in a file."""

    file: Path
    name: str
    label: int  # its class, by its place among those of the file
    classes: Sequence[str]  # what the file calls them; empty: by their numbers
    pairs: int | None  # how many sites its regions have; None: it is not said


class Proved(NamedTuple):
    """An archive whose claims were proved, or found consistent."""

    archive: Any  # an `Archive`, or an `ExactArchive`
    exact: bool  # whether a model's answers to tried attacks are taken as stated
    places: list[int]  # of the rows with a known class
    rows: list[Row]  # which are these
    notes: list[str]  # the noise, and what is taken as stated

    @classmethod
    def of(cls, file: Path) -> Proved:
        """Reads an archive of votes, or of attacks that were tried; refused unless `verify` proves it."""
        found: Any = verify(file)
        exact = isinstance(found.archive, ExactArchive)
        if found.refuted:
            raise StarcertError(f"{file}: {len(found.refuted)} of its claims are false. starcert verify lists them.")
        if found.verdict == "stated":
            raise StarcertError(f"{found} Give a file that starcert verify proves.")
        archive = found.archive
        if archive.word not in ("graph", "node"):
            raise StarcertError(f"{file}: is about {archive.word}s, and the benchmark about changed edges of graphs.")
        places = [place for place, label in enumerate(archive.labels) if label is not None]
        if not places or (archive.word == "graph" and len(places) < len(archive.labels)):
            hint = "Write its true classes into it: certify with labels."
            raise StarcertError(f"{file}: {len(archive.labels) - len(places)} of its graphs have no class. {hint}")
        if exact:
            notes = ["The answers of the model to attacks that were tried are taken as stated."]
            sites = [archive.result.n_sites[number] for number in archive.result.objects.tolist()]
        else:
            notes = [f"Noise: {', '.join(f'{region} {archive.noise[region]}' for region in archive.noise)}."]
            if archive.votes.blind is not None:
                notes.append("In doubt it answers as a blind model: its answers are as stated.")
            notes += filter(None, [found.premise])
            # A changed type is one of an edge that is there, which can be deleted: its site is counted already.
            counted = [not axis.endswith(".change") for axis in archive.noise.axes]
            sites = [None if each is None else sum(compress(each, counted)) for each in archive.boxes]
        notes += [f"Anchored: {reason}." for reason in dict.fromkeys(archive.anchored) if reason]
        rows = [Row(file, archive.names[place], archive.labels[place], archive.class_names, sites[place])
                for place in places]  # fmt: skip
        return cls(archive, exact, places, rows, notes)

    def speaks_of(self, threat: str) -> int | None:
        """Up to which size of a threat the file says something; None: it is about other threats."""
        kind, most = kind_of(threat)
        if not self.exact:
            return most if kind in KINDS else None
        result = self.archive.result
        try:
            return int(result.size_of(read_threat(fewer(threat, result.threat.most))))
        except InvalidParameterError:
            return None

    def certified(self, threat: str) -> list[int]:
        """The largest certified size for each row of a known class; −1 where the answer is not right."""
        found: list[Outcome]
        if self.exact:
            found = [decided(self.archive.result)[place] for place in self.places]
        else:
            certificates = self.archive.certificates
            found = [outcome_of(certificates[place], threat, asked=False) for place in self.places]
        return [
            one.certified or 0 if one.answer == row.label else -1 for one, row in zip(found, self.rows, strict=True)
        ]


def check_objects(rows: Sequence[Row], data: str, objects: Dataset) -> None:
    """Refuses rows that are not objects of the data, each once, with its class there and all its node pairs."""
    numbers = {str(number): number for number in range(len(objects.labels))}
    named = {} if objects.of_nodes else {name: number for number, name in enumerate(objects.names)}
    known = named if all(row.name in named for row in rows) else numbers
    times = Counter(row.name for row in rows)
    classes = [*(objects.class_names or map(str, range(1 + max(objects.labels))))]
    for row in rows:
        about = f"{row.file}: object {row.name!r}"
        if row.name not in known:
            hint = f"Call it by its name in the data, or all of them by their numbers from 0 to {len(numbers) - 1}."
            raise StarcertError(f"{about} is none of {data}. {hint}")
        if times[row.name] > 1:
            raise StarcertError(f"{about} of {data} is counted {times[row.name]} times. Count it once.")
        place = known[row.name]
        label = class_in(classes, row.classes, row.label)
        if label is None:
            raise StarcertError(f"{row.file}: the classes of {data} are {', '.join(classes)}, and those of the file "
                                f"{', '.join(row.classes)}. Name them so, or number them from 0.")  # fmt: skip
        if label != objects.labels[place]:
            there = row.classes[row.label] if row.classes else row.label
            raise StarcertError(f"{about} is of class {classes[objects.labels[place]]} in {data}, and of class {there} "
                                "in the file. Correct it.")  # fmt: skip
        graph = objects.graph if objects.of_nodes else objects.graphs[place]
        pairs = graph.n_nodes * (graph.n_nodes - 1) // (1 if graph.directed else 2)
        if row.pairs != pairs:
            sites = "an unknown number" if row.pairs is None else f"{row.pairs:,}"
            raise StarcertError(f"{about}: its regions have {sites} of {pairs:,} node pairs, so it is not about all "
                                "changes of edges. Certify with regions that hold all pairs.")  # fmt: skip


def class_in(classes: Sequence[str], theirs: Sequence[str], label: int) -> int | None:
    """The number of a class of a file among those of the data; −1: there is none. None: the file means other classes.

    Classes go by their names where one list holds the other; otherwise a file must number them.

    Example:
        >>> [class_in(["no", "yes"], theirs, 0) for theirs in (["yes", "no"], ["0", "1"], [], ["no", "maybe"])]
        [1, 0, 0, None]
    """
    if len({*theirs}) < len(theirs):
        return None
    if not theirs:
        return label
    if {*classes} <= {*theirs} or {*theirs} <= {*classes}:
        return classes.index(theirs[label]) if theirs[label] in classes else -1
    return label if [*theirs] == [*map(str, range(len(theirs)))] else None
