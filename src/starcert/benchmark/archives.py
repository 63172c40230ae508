"""Certificates in files: those that a benchmark keeps, and those of another method, which it proves or refuses.

A share is proved only if its claims are, and if every object is one of the data of this benchmark, has the class that
it has there, and is counted once; otherwise whoever wrote the file would choose what "right" means. Regions have as
many sites as there are node pairs, as what is said of a few pairs says nothing about the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import starcert as sc
from starcert.archive import Archive, verify, write
from starcert.benchmark.data import DRAWN, Fold, Nodes, data_of
from starcert.benchmark.outcomes import KINDS, SIZES, kind_of, outcome_of
from starcert.datasets import Dataset
from starcert.methods.exhaustive import TriedAttacks
from starcert.system.errors import InvalidParameterError, StarcertError


def keep(path: Path, found: sc.Certificates, cut: Fold, data: Dataset | None) -> None:
    """Writes the certificates of a fold, of votes or tried attacks; objects are called as in the data, or by numbers.

    Votes on one graph serve all its nodes, so all of them are in the file: those that are not tested without a class.
    """
    kept = isinstance(found.proof, TriedAttacks) or (found.of_radii and found.votes is not None)
    if not kept:
        return
    truth = dict(zip(cut.numbers, cut.tested.labels.tolist(), strict=True))
    rows = range(len(found)) if isinstance(cut.tested, Nodes) else cut.numbers
    names = () if data is None or data.of_nodes else data.names
    # The last classes may have no graph that is small enough: then no model knows them.
    classes = (data.class_names[: found.n_classes] if data is not None else ()) or None
    named, labels = [names[row] if names else str(row) for row in rows], [truth.get(row) for row in rows]
    write(path, Archive.from_result(found, names=named, labels=labels, class_names=classes))


@dataclass(frozen=True)
class Theirs:
    """The right and certified answers of another method, by the size of attacks, as its votes prove."""

    method: str  # what its file, or folder, is called
    data: str
    threat: str
    certified: dict[int, float]  # shares of all objects, by size
    objects: int
    of: int  # how many objects the data have
    alpha: float  # the largest probability of a false claim about an object
    note: str  # the noise, and what is taken as stated

    def row(self) -> dict[str, str]:
        """The row of a table, by the heads of its columns."""
        shares = ", ".join(f"{size}: {100 * share:.1f}%" for size, share in self.certified.items())
        return {"data": self.data, "method": self.method, "objects": f"{self.objects} of {self.of}",
                "threat": self.threat, "alpha": f"{self.alpha}", "right and certified by size": shares,
                "note": self.note}  # fmt: skip


def read_theirs(
    given: str, known: Mapping[str, str], columns: Mapping[str, str], threats: Sequence[str]
) -> list[Theirs]:
    """The results of another method on data of a benchmark, for each of its threats: an archive, or a folder of them.

    Before it stands DATA= where there are several data; `known` has their entries by what they are called. A file with
    a false claim is refused, and one whose objects are not those of the data.
    """
    name, _, rest = given.partition("=")
    text, data = (rest, name) if name in known else (given, next(iter(known)))
    if name not in known and len(known) > 1:
        hint = f"Write {next(iter(known))}={given}."
        raise InvalidParameterError("--with", f"needs the name of its data, one of {', '.join(known)}. {hint}")
    if known[data] in DRAWN:
        raise StarcertError(f"{given}: {data} is drawn anew in every fold, so no file can be about its objects.")
    if not (spoken := [threat for threat in threats if kind_of(threat)[0] in KINDS]):
        raise StarcertError(f"{given}: says nothing about {', '.join(threats)}. Add one of {', '.join(KINDS)}.")
    path, objects = Path(text), data_of(known[data], columns)
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise StarcertError(f"{path}: the folder holds no archive. Give a folder of .json files that verify proves.")
    read = [Proved.of(file) for file in files]
    check_objects(read, data, objects)
    alpha, note = max(each.archive.alpha for each in read), " ".join(dict.fromkeys(each.note for each in read))
    found = []
    for threat in spoken:
        certified = np.concatenate([each.certified(threat) for each in read])
        shares = {size: float(np.mean(certified >= size)) for size in SIZES if size <= kind_of(threat)[1]}
        found.append(Theirs(path.stem, data, threat, shares, len(certified), len(objects.labels), alpha, note))
    return found


class Proved(NamedTuple):
    """An archive of votes whose claims were proved."""

    file: Path
    archive: Archive
    places: list[int]  # of the rows with a known class
    note: str  # the noise, and what is taken as stated

    @classmethod
    def of(cls, file: Path) -> Proved:
        """Reads an archive; refused unless `verify` proves it."""
        found: Any = verify(file)
        if found.refuted:
            raise StarcertError(f"{file}: {len(found.refuted)} of its claims are false. starcert verify lists them.")
        if found.verdict == "stated":
            raise StarcertError(f"{found} Give a file that starcert verify proves.")
        if found.archive.plain:
            hint = "Run the method here, as --method FILE.PY:CLASS."
            why = "nothing proves what the model answered where attacks were tried"
            why = "link votes are a method of the benchmark itself" if found.archive.kind == "links" else why
            raise StarcertError(f"{file}: {why}. {hint}")
        archive: Archive = found.archive
        if archive.word not in ("graph", "node"):
            raise StarcertError(f"{file}: is about {archive.word}s, and the benchmark about changed edges of graphs.")
        places = [place for place, label in enumerate(archive.labels) if label is not None]
        if not places or (archive.word == "graph" and len(places) < len(archive.labels)):
            hint = "Write its true classes into it: certify with labels."
            raise StarcertError(f"{file}: {len(archive.labels) - len(places)} of its graphs have no class. {hint}")
        notes = [f"Noise: {', '.join(f'{region} {archive.noise[region]}' for region in archive.noise)}."]
        if archive.votes.blind is not None:
            notes.append("In doubt it answers as a blind model: its answers are as stated.")
        notes += filter(None, [found.premise])
        notes += [f"Anchored: {reason}." for reason in dict.fromkeys(archive.anchored) if reason]
        return cls(file, archive, places, " ".join(notes))

    def rows(self) -> Iterator[tuple[str, int, int | None]]:
        """For each row of a known class its name, its class, and how many pairs its regions have (None: not said)."""
        # A changed type is one of an edge that is there, which can be deleted: its site is counted already.
        counted = [not axis.endswith(".change") for axis in self.archive.noise.axes]
        for place in self.places:
            box, label = self.archive.boxes[place], self.archive.labels[place]
            assert label is not None
            yield self.archive.names[place], label, None if box is None else sum(compress(box, counted))

    def certified(self, threat: str) -> list[int]:
        """The largest certified size for each row of a known class; −1 where the answer is not right."""
        certificates, labels = self.archive.certificates, self.archive.labels
        found = ((outcome_of(certificates[place], threat, asked=False), labels[place]) for place in self.places)
        return [one.certified or 0 if one.answer == label else -1 for one, label in found]


def check_objects(read: Sequence[Proved], data: str, objects: Dataset) -> None:
    """Refuses rows that are not objects of the data, each once, with its class there and all its node pairs.

    Classes go by their names, or by their numbers where a file has no names or those are the numbers.
    """
    rows = [(each, *row) for each in read for row in each.rows()]
    numbers = {str(number): number for number in range(len(objects.labels))}
    named = {} if objects.of_nodes else {name: number for number, name in enumerate(objects.names)}
    known = named if all(name in named for _, name, _, _ in rows) else numbers
    times = Counter(name for _, name, _, _ in rows)
    classes = [*(objects.class_names or map(str, range(1 + max(objects.labels))))]
    for each, name, label, sites in rows:
        about = f"{each.file}: object {name!r}"
        if name not in known:
            hint = f"Call it by its name in the data, or all of them by their numbers from 0 to {len(numbers) - 1}."
            raise StarcertError(f"{about} is none of {data}. {hint}")
        if times[name] > 1:
            raise StarcertError(f"{about} of {data} is counted {times[name]} times. Count it once.")
        theirs = each.archive.class_names
        by_name = {*classes} <= {*theirs} or {*theirs} <= {*classes} or label >= len(classes)
        by_number = not by_name and [*theirs] == [*map(str, range(len(theirs)))]
        there, ours = classes[label] if by_number else theirs[label], classes[objects.labels[known[name]]]
        if there != ours:
            raise StarcertError(f"{about} is of class {ours} in {data}, and of class {there} in the file. Correct it, "
                                "and name its classes as the data do, or number them from 0.")  # fmt: skip
        graph = objects.graph if objects.of_nodes else objects.graphs[known[name]]
        pairs = graph.n_nodes * (graph.n_nodes - 1) // (1 if graph.directed else 2)
        if sites != pairs:
            said = "an unknown number" if sites is None else f"{sites:,}"
            raise StarcertError(f"{about}: its regions have {said} of {pairs:,} node pairs, so it is not about all "
                                "changes of edges. Certify with regions that hold all pairs.")  # fmt: skip
