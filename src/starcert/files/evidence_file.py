"""The evidence of certificates, and the side file that keeps it: plain arrays of whole numbers, nothing pickled.

The file is an `.npz` as numpy writes and reads it. All graphs with evidence lie one after the other in the same few
arrays (`ARRAYS`); `heads` says how much of each belongs to a graph. Equal evidence makes equal bytes. Where graphs have
several targets, each target has a place as if it were a graph; the sites of a graph are there once.

It may be broken or hostile: no more of it is unpacked than the votes that the certificates count can take.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, overload

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from starcert.certificates.attack_axes import axes_from, first_axes
from starcert.certificates.votes import OwnTally, RecordedVotes
from starcert.files.fields import MalformedError
from starcert.math.attack_axis import AttackAxis, counted_sites, described
from starcert.math.flips import FlipRecord
from starcert.objects.binding import MAX_EVIDENCE_SITES, NO_AXIS
from starcert.objects.laws import axis_moves
from starcert.sampling.attacked import OWN_CHUNK, Attack
from starcert.system.errors import InvalidParameterError
from starcert.system.files import read_header, read_numbers

if TYPE_CHECKING:
    from starcert.certificates.certificate import Verdicts
    from starcert.objects.noise import Noise

__all__ = ["ARRAYS", "MOST_UNPACKED", "GraphEvidence", "pack", "unpack"]

MOST_UNPACKED = 2**32
"""All arrays together take so many bytes at most."""

ARRAYS = {
    "graphs": "<i8",  # the numbers of the graphs that have evidence
    "heads": "<i8",  # for each of them: HEAD
    "axes": "<u2",  # the axis of every site, the first if it is on several; NO_AXIS: it is on none
    "samples": "<i8",  # votes in each chunk
    "against": "<i8",  # of these, votes against the class
    "classes": "<u2",  # what each vote against the class was for
    "bits": "|u1",  # flips, form 0: a bit for every site, as `FlipRecord` keeps them
    "lengths": "<i8",  # form 1: how many sites flipped in each vote
    "positions": "<u4",  # and which
    "by_axis": "<u4",  # form 2: how many sites of each axis flipped in each vote
    "own_sizes": "<i8",  # how many sites each attack with votes of its own has
    "own_sites": "<u4",  # and which, with the rank of the new value: see `AttackAxis.attacked`
    "own_chunks": "<i8",  # how many chunks of votes it has
    "own_counts": "|u1",  # for each chunk the votes for each class
    "own_numbers": "<u4",  # for each vote against the class, how many sites of each axis flipped
}
VALUED = {
    "values": "|u1",  # the clean value of every site
    "shown": "|u1",  # forms 0 and 1: the value that each flip shows
}
"""Further arrays of a file with graphs whose sites have more than two values. Files of other graphs have none."""

HEAD = ("label", "n_sites", "chunks", "votes", "form", "most", "attacks", "max_flips")
"""Class, sites, chunks, votes against the class, form of the flips, own votes at most (−1: none), attacks with some,
the most flips of a level that was looked at (−1: any)."""

SITES = ("axes", "values")
"""The arrays that all targets of a graph share."""

FORMS = (("bits",), ("starts", "positions"), ("by_axis", "sizes"))

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
        values: the clean value of every site, where some have more than two; else None.
    """

    record: FlipRecord
    sites: tuple[Whole, ...]
    most: int | None
    own: Mapping[Attack, Sequence[OwnTally]]
    max_flips: int | None = None
    values: npt.NDArray[np.uint8] | None = None

    @classmethod
    def of(cls, record: FlipRecord | None, verdicts: Verdicts | None) -> GraphEvidence | None:
        """What verdicts rest on; None if there are none."""
        if record is None or verdicts is None or verdicts.grounds is None:
            return None
        axes, most, own, max_flips = verdicts.grounds
        valued = [axis for axis in axes if axis.moves is not None]
        values = np.zeros(record.n_sites, dtype=np.uint8) if valued else None
        for axis in valued:
            if values is not None and axis.moves is not None:
                values[axis.sites] = axis.moves.values
        return cls(record, tuple(axis.sites for axis in axes), most, own, max_flips, values)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many sites each axis has."""
        return tuple(map(len, self.sites))

    def axes(self, noise: Noise) -> tuple[AttackAxis, ...]:
        """The axes of the noise on the graph."""
        axes = zip(axes_from(noise, _first_axes(self), self.values), self.sites, strict=True)
        return tuple(axis._replace(sites=sites) for axis, sites in axes)  # once in memory, for all targets of a graph

    def votes_again(self, n_classes: int) -> RecordedVotes | None:
        """The votes at attacked graphs, to be handed out again."""
        return None if self.most is None else RecordedVotes(self.most, n_classes, self.own)

    def check(self, name: str, label: int, counts: Whole, noise: Noise) -> None:
        """Refuses what does not fit the votes of the graph: its class, its counts, and the axes of the noise."""
        record, n_classes, n_axes = self.record, len(counts), len(noise.axes)
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
        axes = self._checked_axes(name, noise)
        counted = np.array([len(sites) for sites in counted_sites(axes)])
        if not record.complete and record.axis_sizes.tolist() != counted.tolist():
            raise InvalidParameterError(name, f"count flips on axes of {counted} sites", record.axis_sizes.tolist())
        attackable = (
            {site for axis in axes for site in axis.attacked(range(axis.n_choices)).tolist()} if self.own else set()
        )
        for attack, tallies in self.own.items():
            sites = described(axes, attack)[0]
            if not attackable.issuperset(attack) or any(left >= right for left, right in pairwise(attack)):
                raise InvalidParameterError(name, "attack sites of the axes, in ascending order", attack)
            if len(set(sites)) < len(sites):
                raise InvalidParameterError(name, "attack each site once", attack)
            for votes, numbers in tallies:
                lost = int(votes.sum() - votes[label])
                if votes.shape != (n_classes,) or votes.sum() != OWN_CHUNK or numbers.shape != (lost, n_axes):
                    must = f"have {OWN_CHUNK} votes in each chunk at an attacked graph, with flip numbers"
                    raise InvalidParameterError(name, must, votes.tolist())
                if (numbers > counted).any():
                    raise InvalidParameterError(name, f"count flips on axes of {counted} sites", numbers.max())

    def _checked_axes(self, name: str, noise: Noise) -> tuple[AttackAxis, ...]:
        """The axes, once clean values and those that flips show are known to be such as the laws have."""
        record, valued = self.record, noise.is_valued
        if (self.values is not None) != valued or (valued and record.complete) != (record.shown is not None):
            raise InvalidParameterError(name, "say what sites show where they have more than two values", record)
        moves = [axis for region in noise for axis in axis_moves(noise[region])]
        for sites, axis in zip(self.sites, moves, strict=True):
            if self.values is not None and axis.alphabet > 2 and not np.isin(self.values[sites], axis.starts).all():
                raise InvalidParameterError(name, f"have the clean values {axis.starts} there", self.values[sites])
        if record.shown is not None:
            alphabets = np.array([*(axis.alphabet for axis in moves), 256])
            most = alphabets[np.minimum(_first_axes(self), len(moves))][record.flipped]
            if (record.shown >= np.where(most > 2, most, 256)).any():
                raise InvalidParameterError(name, "show values that their sites have", record.shown)
        return self.axes(noise)

    def __eq__(self, other: object) -> bool:
        """Whether both would be written as the same numbers."""
        if not isinstance(other, GraphEvidence):
            return NotImplemented
        mine, theirs = _parts(self), _parts(other)
        if len(mine) != len(theirs):
            return False
        return all(a == b and np.array_equal(x, y) for (a, x), (b, y) in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]


def pack(evidence: Sequence[GraphEvidence | None], objects: Sequence[int] | None = None) -> bytes:
    """The side file of graphs, as bytes.

    Args:
        evidence: that of each graph, or of each target.
        objects: for each of them the number of the graph; None: each is another one.
    """
    arrays = ARRAYS | (VALUED if any(graph is not None and graph.values is not None for graph in evidence) else {})
    parts: dict[str, list[npt.ArrayLike]] = {name: [] for name in arrays}
    told: set[int] = set()
    for number, graph in enumerate(evidence):
        if graph is not None:
            parts["graphs"].append([number])
            known = number if objects is None else objects[number]
            for name, part in _parts(graph):
                if known not in told or name not in SITES:
                    parts[name].append(part)
            told.add(known)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, dtype in arrays.items():
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


def _first_axes(graph: GraphEvidence) -> npt.NDArray[np.uint16]:
    """The first axis of every site."""
    axes = np.full(graph.record.n_sites, NO_AXIS, dtype=np.uint16)
    for axis in reversed(range(len(graph.sites))):
        axes[graph.sites[axis]] = axis
    return axes


def _parts(graph: GraphEvidence) -> list[tuple[str, npt.ArrayLike]]:
    record, axes = graph.record, _first_axes(graph)
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
    parts += [(name, part) for name, part in (("values", graph.values), ("shown", record.shown)) if part is not None]
    for attack, tallies in graph.own.items():
        parts += [("own_sizes", [len(attack)]), ("own_sites", attack), ("own_chunks", [len(tallies)])]
        for tally in tallies:
            parts += [("own_counts", tally.counts), ("own_numbers", tally.numbers)]
    return parts


def unpack(
    side: BinaryIO, *, counts: Sequence[Sequence[int]], noise: Noise, objects: Sequence[int] | None = None
) -> list[GraphEvidence | None]:
    """What `pack` made, checked as if it came from anywhere; `GraphEvidence.check` says whether it fits its votes.

    No more is unpacked than so many votes can take.

    Args:
        side: the side file.
        counts: for each graph, or each target, its votes for each class.
        noise: the noise that they were drawn with.
        objects: for each of them the number of the graph; None: each is another one.

    Raises:
        MalformedError: it is something else, or takes more than it may.
    """
    with _unpacking():
        _check_directory(side)
        rest = _Rest(zipfile.ZipFile(side), ARRAYS | (VALUED if noise.is_valued else {}))
    n_graphs = len(counts)
    numbers = rest.take("graphs", min(rest.left["graphs"], n_graphs)).tolist()
    if rest.left["graphs"] or any(left >= right for left, right in pairwise([-1, *numbers, n_graphs])):
        raise MalformedError(f"'graphs' must be numbers of graphs below {n_graphs}, in ascending order.")
    found: list[GraphEvidence | None] = [None] * n_graphs
    told: dict[int, GraphEvidence] = {}
    for number in numbers:
        known = number if objects is None else objects[number]
        try:
            found[number] = graph = _graph(rest, noise, counts[number], told.get(known))
            told.setdefault(known, graph)
        except InvalidParameterError as error:
            raise MalformedError(f"the evidence of graph {number} is none: {error}") from None
    rest.check_empty()
    return found


def _graph(rest: _Rest, noise: Noise, counts: Sequence[int], same: GraphEvidence | None) -> GraphEvidence:
    """The evidence that comes next; its sites are those of another target of the same graph, if there is one."""
    n_axes, firsts = len(noise.axes), first_axes(noise)
    head = dict(zip(HEAD, rest.take("heads", len(HEAD)).tolist(), strict=True))
    label, n_sites, votes, form = head["label"], head["n_sites"], head["votes"], head["form"]
    known = 0 <= n_sites <= MAX_EVIDENCE_SITES and form in range(len(FORMS))
    if not known or min(head["most"], head["max_flips"]) < -1:
        raise InvalidParameterError("heads", f"be {', '.join(HEAD)}", head)
    in_all = sum(counts)
    if not (0 <= label < len(counts) and votes == in_all - counts[label] and 0 <= head["chunks"] <= in_all):
        raise InvalidParameterError("heads", f"be of the votes {list(counts)}", head)
    sites, values = _sites(rest, noise, n_sites) if same is None else (same.sites, same.values)
    if same is not None and n_sites != same.record.n_sites:
        raise InvalidParameterError("heads", f"have the {same.record.n_sites} sites of the graph", n_sites)
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
        arrays["sizes"] = np.array(
            [len(each) * (first == i) for i, (each, first) in enumerate(zip(sites, firsts, strict=True))]
        )
    if values is not None and form < 2:
        arrays["shown"] = rest.take("shown", FlipRecord.from_arrays(arrays).n_flips)
    record = FlipRecord.from_arrays(arrays)
    most, flips = (None if head[name] < 0 else head[name] for name in ("most", "max_flips"))
    own = _own_votes(rest, head["attacks"], most or 0, label=label, n_classes=len(counts), n_axes=n_axes)
    return GraphEvidence(record, sites, most, own, flips, values)


class _Tallies(Sequence[OwnTally]):
    """The votes at one attacked graph, chunk by chunk, in as little memory as the file has them in."""

    def __init__(self, counts: npt.NDArray[np.uint8], numbers: npt.NDArray[np.uint32], lost: Whole) -> None:
        self._counts, self._numbers, self._ends = counts, numbers, np.cumsum(lost, dtype=np.uint32)

    def __len__(self) -> int:
        return len(self._counts)

    @overload
    def __getitem__(self, index: int) -> OwnTally: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[OwnTally]: ...
    def __getitem__(self, index: int | slice) -> OwnTally | Sequence[OwnTally]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        numbers = self._numbers[int(self._ends[row - 1]) if row else 0 : int(self._ends[row])]
        return OwnTally(self._counts[row].astype(np.int64), numbers.astype(np.int64))


def _own_votes(
    rest: _Rest, attacks: int, most: int, *, label: int, n_classes: int, n_axes: int
) -> dict[Attack, _Tallies]:
    """The votes at attacked graphs, which are at most `most` in all."""
    left = most // OWN_CHUNK
    if not 0 <= attacks <= left:
        raise InvalidParameterError("heads", f"have at most {left} attacks with votes of their own", attacks)
    own: dict[Attack, _Tallies] = {}
    for _ in range(attacks):
        size, chunks = (int(rest.take(name, 1)[0]) for name in ("own_sizes", "own_chunks"))
        attack = tuple(rest.take("own_sites", size).tolist())
        if attack in own:
            raise InvalidParameterError("own_sites", "name each attack once", attack)
        if not 1 <= chunks <= left:
            raise InvalidParameterError("own_chunks", f"be 1 or more, for at most {most} votes in all", chunks)
        left -= chunks
        counts = rest.take("own_counts", chunks * n_classes).reshape(chunks, n_classes)
        lost = counts.sum(axis=1, dtype=np.int64) - counts[:, label]
        own[attack] = _Tallies(counts, rest.take("own_numbers", int(lost.sum()) * n_axes).reshape(-1, n_axes), lost)
    return own


def _sites(rest: _Rest, noise: Noise, n_sites: int) -> tuple[tuple[Whole, ...], npt.NDArray[np.uint8] | None]:
    """The sites of each axis of a graph, and the clean values of all, where some have more than two."""
    axes, n_axes = rest.take("axes", n_sites), len(noise.axes)
    if ((axes >= n_axes) & (axes != NO_AXIS)).any():
        raise InvalidParameterError("axes", f"be the numbers of {n_axes} axes", int(axes[axes != NO_AXIS].max()))
    by_first = {first: np.flatnonzero(axes == first) for first in set(first_axes(noise))}
    sites = tuple(by_first[first] for first in first_axes(noise))
    return sites, rest.take("values", n_sites) if noise.is_valued else None


class _Rest:
    """What is left of the arrays of a file: each is unpacked only as far as it is asked for.

    Attributes:
        left: how many numbers of each array are left.
    """

    def __init__(self, file: zipfile.ZipFile, wanted: Mapping[str, str]) -> None:
        members = file.infolist()
        if [each.filename for each in members] != [f"{name}.npy" for name in wanted]:
            raise MalformedError(f"its arrays must be {', '.join(wanted)}.")
        if (size := sum(each.file_size for each in members)) > MOST_UNPACKED:
            raise MalformedError(f"its arrays take {size:,} bytes; more than {MOST_UNPACKED:,} are not unpacked.")
        if any(each.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for each in members):
            raise MalformedError("its arrays must be deflated, or as they are.")
        self._file = file  # stays open as long as it is read from
        self.left: dict[str, int] = {}
        self._taken = dict.fromkeys(wanted, 0)
        self._kinds = {name: np.dtype(kind) for name, kind in wanted.items()}
        self._streams = {name: file.open(member) for name, member in zip(wanted, members, strict=True)}
        for name, member in zip(wanted, members, strict=True):
            header, kind = read_header(self._streams[name]), self._kinds[name]
            if header.dtype.str != kind.str or header.by_columns or len(header.shape) != 1:
                got = f"{header.dtype} {header.shape}"
                raise MalformedError(f"'{name}' must be one row of numbers of the type {kind.str}. Got {got}.")
            if header.size != member.file_size:
                raise MalformedError(f"'{name}' must be as long as it says.")
            self.left[name] = header.shape[0]

    def take(self, name: str, length: int) -> npt.NDArray[Any]:
        at = self._taken[name]
        if not 0 <= length <= self.left[name]:
            raise MalformedError(f"'{name}' must be longer: {length:,} numbers were looked for from {at:,} on.")
        self.left[name] -= length
        self._taken[name] += length
        with _unpacking():
            return read_numbers(self._streams[name], length, self._kinds[name])

    def check_empty(self) -> None:
        for name, left in self.left.items():
            if left:
                raise MalformedError(f"'{name}' must be shorter: {left:,} numbers are of no graph.")


@contextmanager
def _unpacking() -> Iterator[None]:
    """Says of whatever a foreign file makes the unpacking raise that it cannot be unpacked."""
    try:
        yield
    except MalformedError:
        raise
    except Exception as error:
        raise MalformedError(f"it cannot be unpacked ({error}).") from error


END = 22
"""So many bytes has the last record of a zip file that has no comment."""

MOST_DIRECTORY = 2**13
"""More than the list of the members of the file takes."""


def _check_directory(side: BinaryIO) -> None:
    """Refuses a zip file whose list of members is long, or somewhere else: it would be read whole."""
    side.seek(max(0, side.seek(0, io.SEEK_END) - END - 20))
    last = side.read()
    end = last[-END:]
    directory = int.from_bytes(end[12:16], "little")
    if end[:4] != b"PK\x05\x06" or directory > MOST_DIRECTORY or last.startswith(b"PK\x06\x07"):
        raise MalformedError("it is no file of arrays, or holds others.")
