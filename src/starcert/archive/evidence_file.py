"""The evidence of certificates, and the side file that keeps it: plain arrays of whole numbers, nothing pickled.

The file is an `.npz` as numpy writes and reads it. All graphs with evidence lie one after the other in the same few
arrays (`ARRAYS`); `heads` says how much of each belongs to a graph. Equal evidence makes equal bytes.

It may be broken or hostile: what it would take is known, and bounded, before anything of it is unpacked.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from starcert.archive.fields import MalformedError
from starcert.core.evidence import AttackAxis
from starcert.core.flips import FlipRecord
from starcert.errors import InvalidParameterError
from starcert.evidence import OwnTally, RecordedVotes
from starcert.evidence.attack_axes import MOST_SITES, axis_laws
from starcert.sampling.attacked import OWN_CHUNK, Attack

if TYPE_CHECKING:
    from starcert.evidence import Verdicts
    from starcert.noise import Noise

__all__ = ["ARRAYS", "MOST_UNPACKED", "GraphEvidence", "pack", "unpack"]

MOST_UNPACKED = 2**32
"""All arrays together take so many bytes at most."""

ARRAYS = {
    "graphs": "<i8",  # the numbers of the graphs that have evidence
    "heads": "<i8",  # for each of them: HEAD
    "axes": "<u2",  # the axis of every site; NO_AXIS: it is on none
    "samples": "<i8",  # votes in each chunk
    "against": "<i8",  # of these, votes against the class
    "classes": "<u2",  # what each vote against the class was for
    "bits": "|u1",  # flips, form 0: a bit for every site, as `FlipRecord` keeps them
    "lengths": "<i8",  # form 1: how many sites flipped in each vote
    "positions": "<u4",  # and which
    "by_axis": "<u4",  # form 2: how many sites of each axis flipped in each vote
    "own_sizes": "<i8",  # how many sites each attack with votes of its own has
    "own_sites": "<u4",  # and which
    "own_chunks": "<i8",  # how many chunks of votes it has
    "own_counts": "|u1",  # for each chunk the votes for each class
    "own_numbers": "<u4",  # for each vote against the class, how many sites of each axis flipped
}
HEAD = ("label", "n_sites", "chunks", "votes", "form", "most", "attacks", "max_flips")
"""Class, sites, chunks, votes against the class, form of the flips, own votes at most (−1: none), attacks with some,
the most flips of a level that was looked at (−1: any)."""

FORMS = (("bits",), ("starts", "positions"), ("by_axis", "sizes"))
NO_AXIS = 2**16 - 1

Whole = npt.NDArray[np.int64]
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class GraphEvidence:
    """What the verdicts on one graph are proved from, besides the counts of its votes.

    Attributes:
        record: the votes against the class, and which sites flipped in each.
        sites: the flat positions of the sites of each axis, in the order of `noise.axes`.
        most: how many votes at attacked graphs there might be; None: none were asked for.
        own: those that there were: of each attack its votes, chunk by chunk.
        max_flips: levels of more flips in all were not looked at; None: all were.
    """

    record: FlipRecord
    sites: tuple[Whole, ...]
    most: int | None
    own: Mapping[Attack, Sequence[OwnTally]]
    max_flips: int | None = None

    @classmethod
    def of(cls, record: FlipRecord | None, verdicts: Verdicts | None) -> GraphEvidence | None:
        """What verdicts rest on; None if there are none."""
        if record is None or verdicts is None or verdicts.grounds is None:
            return None
        return cls(record, *verdicts.grounds)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many sites each axis has."""
        return tuple(map(len, self.sites))

    def axes(self, noise: Noise) -> tuple[AttackAxis, ...]:
        """The axes of the noise on the graph."""
        return tuple(map(AttackAxis, axis_laws(noise), self.sites))

    def votes_again(self, n_classes: int) -> RecordedVotes | None:
        """The votes at attacked graphs, to be handed out again."""
        return None if self.most is None else RecordedVotes(self.most, n_classes, self.own)

    def check(self, name: str, label: int, counts: Whole, n_axes: int) -> None:
        """Refuses what does not fit the votes of the graph: its class, its counts, and the axes of the noise."""
        record, n_classes = self.record, len(counts)
        if (record.samples > counts.sum()).any():  # so that their sum is one
            raise InvalidParameterError(name, f"be of {counts.sum()} votes in all", record.samples.max())
        seen = np.bincount(record.classes, minlength=n_classes)
        if record.label != label or len(seen) > n_classes:
            raise InvalidParameterError(name, f"be of votes against class {label} of {n_classes}", record)
        seen[label] = record.samples.sum() - len(record)
        if not np.array_equal(seen, counts):
            raise InvalidParameterError(name, f"be of the votes {counts.tolist()}", seen.tolist())
        if len(self.sites) != n_axes:
            raise InvalidParameterError(name, f"have the {n_axes} axes of the noise", len(self.sites))
        if not record.complete and record.axis_sizes.tolist() != list(self.sizes):
            raise InvalidParameterError(name, f"count flips on axes of {self.sizes} sites", record.axis_sizes.tolist())
        attackable = set(np.concatenate([*self.sites, np.empty(0, dtype=np.int64)]).tolist())
        for attack, tallies in self.own.items():
            if not attackable.issuperset(attack) or any(left >= right for left, right in pairwise(attack)):
                raise InvalidParameterError(name, "attack sites of the axes, in ascending order", attack)
            for votes, numbers in tallies:
                lost = int(votes.sum() - votes[label])
                if votes.shape != (n_classes,) or votes.sum() != OWN_CHUNK or numbers.shape != (lost, n_axes):
                    must = f"have {OWN_CHUNK} votes in each chunk at an attacked graph, with flip numbers"
                    raise InvalidParameterError(name, must, votes.tolist())
                if (numbers > np.array(self.sizes)).any():
                    raise InvalidParameterError(name, f"count flips on axes of {self.sizes} sites", numbers.max())

    def __eq__(self, other: object) -> bool:
        """Whether both would be written as the same numbers."""
        if not isinstance(other, GraphEvidence):
            return NotImplemented
        mine, theirs = _parts(self), _parts(other)
        if len(mine) != len(theirs):
            return False
        return all(a == b and np.array_equal(x, y) for (a, x), (b, y) in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]


def pack(evidence: Sequence[GraphEvidence | None]) -> bytes:
    """The side file of graphs, as bytes."""
    parts: dict[str, list[npt.ArrayLike]] = {name: [] for name in ARRAYS}
    for number, graph in enumerate(evidence):
        if graph is not None:
            parts["graphs"].append([number])
            for name, part in _parts(graph):
                parts[name].append(part)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, dtype in ARRAYS.items():
            content = io.BytesIO()
            flat = [np.asarray(part).astype(dtype).reshape(-1) for part in parts[name]]
            npy.write_array(content, np.concatenate([np.empty(0, dtype=dtype), *flat]), allow_pickle=False)
            # The same bytes whenever and wherever they are written.
            member = zipfile.ZipInfo(f"{name}.npy")
            member.create_system, member.external_attr = 3, 0o644 << 16
            file.writestr(member, content.getbuffer(), zipfile.ZIP_DEFLATED, 6)
        size = sum(each.file_size for each in file.infolist())
    if size > MOST_UNPACKED:
        hint = "Write fewer graphs into one archive."
        raise InvalidParameterError("evidence", f"take at most {MOST_UNPACKED:,} bytes in all", size, hint)
    return packed.getvalue()


def _parts(graph: GraphEvidence) -> list[tuple[str, npt.ArrayLike]]:
    record = graph.record
    axes = np.full(record.n_sites, NO_AXIS, dtype=np.uint16)
    for axis, sites in enumerate(graph.sites):
        axes[sites] = axis
    form = 0 if record.bits is not None else 1 if record.positions is not None else 2
    most, flips = (-1 if number is None else number for number in (graph.most, graph.max_flips))
    head = (record.label, record.n_sites, len(record.samples), len(record), form, most, len(graph.own), flips)
    parts: list[tuple[str, npt.ArrayLike]] = [("heads", head), ("axes", axes)]
    parts += [("samples", record.samples), ("against", record.against), ("classes", record.classes)]
    if record.bits is not None:
        parts.append(("bits", record.bits))
    elif record.positions is not None and record.starts is not None:
        parts += [("lengths", np.diff(record.starts)), ("positions", record.positions)]
    elif record.by_axis is not None:
        parts.append(("by_axis", record.by_axis))
    for attack, tallies in graph.own.items():
        parts += [("own_sizes", [len(attack)]), ("own_sites", attack), ("own_chunks", [len(tallies)])]
        for tally in tallies:
            parts += [("own_counts", tally.counts), ("own_numbers", tally.numbers)]
    return parts


def unpack(data: bytes, *, n_graphs: int, n_axes: int, n_classes: int) -> list[GraphEvidence | None]:
    """What `pack` made, checked as if it came from anywhere; `GraphEvidence.check` says whether it fits its votes.

    Raises:
        MalformedError: it is something else, or takes more than it may.
    """
    rest = _Rest(_arrays(data))
    graphs = rest.all("graphs")
    numbers = graphs.tolist()
    if any(left >= right for left, right in pairwise([-1, *numbers, n_graphs])):
        raise MalformedError(f"'graphs' must be numbers of graphs below {n_graphs}, in ascending order.")
    found: list[GraphEvidence | None] = [None] * n_graphs
    for number in numbers:
        try:
            found[number] = _graph(rest, n_axes, n_classes)
        except InvalidParameterError as error:
            raise MalformedError(f"the evidence of graph {number} is none: {error}") from None
    rest.check_empty()
    return found


def _graph(rest: _Rest, n_axes: int, n_classes: int) -> GraphEvidence:
    head = dict(zip(HEAD, rest.take("heads", len(HEAD)).tolist(), strict=True))
    n_sites, votes, form = head["n_sites"], head["votes"], head["form"]
    if not 0 <= n_sites <= MOST_SITES or form not in range(len(FORMS)) or min(head["most"], head["max_flips"]) < -1:
        raise InvalidParameterError("heads", f"be {', '.join(HEAD)}", head)
    axes = rest.take("axes", n_sites)
    if ((axes >= n_axes) & (axes != NO_AXIS)).any():
        raise InvalidParameterError("axes", f"be the numbers of {n_axes} axes", int(axes[axes != NO_AXIS].max()))
    sites = tuple(np.flatnonzero(axes == axis) for axis in range(n_axes))
    arrays: Arrays = {name: np.array(head[name]) for name in ("label", "n_sites")}
    arrays |= {name: rest.take(name, head["chunks"]) for name in ("samples", "against")}
    arrays["classes"] = rest.take("classes", votes)
    if form == 0:
        width = -(-n_sites // 8)
        arrays["bits"] = rest.take("bits", votes * width).reshape(votes, width)
    elif form == 1:
        lengths = rest.take("lengths", votes)
        if (lengths < 0).any() or (lengths > n_sites).any():
            raise InvalidParameterError("lengths", f"be numbers of sites from 0 to {n_sites}", lengths)
        arrays["starts"] = np.concatenate([[0], np.cumsum(lengths)])
        arrays["positions"] = rest.take("positions", int(lengths.sum()))
    else:
        arrays["by_axis"] = rest.take("by_axis", votes * n_axes).reshape(votes, n_axes)
        arrays["sizes"] = np.array([len(each) for each in sites], dtype=np.int64)
    record = FlipRecord.from_arrays(arrays)
    own: dict[Attack, list[OwnTally]] = {}
    for size, chunks in zip(
        rest.take("own_sizes", head["attacks"]).tolist(), rest.take("own_chunks", head["attacks"]).tolist(), strict=True
    ):
        attack = tuple(rest.take("own_sites", size).tolist())
        if chunks < 1:
            raise InvalidParameterError("own_chunks", "be 1 or more", chunks)
        counts = rest.take("own_counts", chunks * n_classes).reshape(chunks, n_classes).astype(np.int64)
        lost = counts.sum(axis=1) - counts[:, min(record.label, n_classes - 1)]
        numbers = rest.take("own_numbers", int(lost.sum()) * n_axes).reshape(-1, n_axes).astype(np.int64)
        own[attack] = [
            OwnTally(each, part) for each, part in zip(counts, np.split(numbers, np.cumsum(lost)[:-1]), strict=True)
        ]
    if len(own) != head["attacks"]:
        raise InvalidParameterError("own_sites", "name each attack once", head["attacks"])
    most, flips = (None if head[name] < 0 else head[name] for name in ("most", "max_flips"))
    return GraphEvidence(record, sites, most, own, flips)


class _Rest:
    """What is left of the arrays of a file."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._at = dict.fromkeys(arrays, 0)

    def all(self, name: str) -> npt.NDArray[Any]:
        return self.take(name, len(self._arrays[name]))

    def take(self, name: str, length: int) -> npt.NDArray[Any]:
        at = self._at[name]
        if not 0 <= length <= len(self._arrays[name]) - at:
            raise MalformedError(f"'{name}' must be longer: {length:,} numbers were looked for from {at:,} on.")
        self._at[name] = at + length
        return self._arrays[name][at : at + length]

    def check_empty(self) -> None:
        for name, array in self._arrays.items():
            if self._at[name] != len(array):
                raise MalformedError(
                    f"'{name}' must be shorter: {len(array) - self._at[name]:,} numbers are of no graph."
                )


END = 22
"""So many bytes has the last record of a zip file that has no comment."""

MOST_DIRECTORY = 2**13
"""More than the list of the members of the file takes."""


def _arrays(data: bytes) -> Arrays:
    """The arrays of a file. What they take is looked at before any of them is unpacked."""
    end = data[-END:]
    directory = int.from_bytes(end[12:16], "little")
    # A longer list of members, or one that is somewhere else, would be read whole.
    if end[:4] != b"PK\x05\x06" or directory > MOST_DIRECTORY or data[-END - 20 :].startswith(b"PK\x06\x07"):
        raise MalformedError("it is no file of arrays, or holds others.")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            members = file.infolist()
            if [each.filename for each in members] != [f"{name}.npy" for name in ARRAYS]:
                raise MalformedError(f"its arrays must be {', '.join(ARRAYS)}.")
            if (size := sum(each.file_size for each in members)) > MOST_UNPACKED:
                raise MalformedError(f"its arrays take {size:,} bytes; more than {MOST_UNPACKED:,} are not unpacked.")
            if any(each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for each in members):
                raise MalformedError("its arrays must be deflated, or as they are.")
            return {name: _array(file, each, name) for name, each in zip(ARRAYS, members, strict=True)}
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, ValueError, OSError, OverflowError) as error:
        raise MalformedError(f"it cannot be unpacked ({error}).") from None


def _array(file: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> npt.NDArray[Any]:
    with file.open(member) as stream:
        raw = stream.read(member.file_size)
    head = io.BytesIO(raw[:256])  # numpy's header takes 128
    if npy.read_magic(head) != (1, 0):
        raise MalformedError(f"'{name}' must be an array of numpy's version 1.0.")
    shape, by_columns, dtype = npy.read_array_header_1_0(head)
    if dtype.str != ARRAYS[name] or by_columns or len(shape) != 1:
        raise MalformedError(f"'{name}' must be one row of numbers of the type {ARRAYS[name]}. Got {dtype} {shape}.")
    if shape[0] < 0 or head.tell() + shape[0] * dtype.itemsize != len(raw):
        raise MalformedError(f"'{name}' must be as long as it says.")
    return np.frombuffer(raw, dtype, offset=head.tell())
