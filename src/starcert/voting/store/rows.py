"""The rows of votes in a store: chunks of votes, the flips of votes against a class, and votes at attacked graphs.

Each is one row with a digest of its columns. Nothing of a row is believed before it is checked (`from_row`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from starcert.math.flips import MAX_RECORDED_SITES, FlipRecord
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.voting import PURPOSES
from starcert.voting.store.records import MAX_COUNT, GraphRecord, VoteSettings, digest_of

__all__ = [
    "TABLES",
    "Counts",
    "Row",
    "Stored",
    "StoredAttack",
    "StoredFlips",
    "StoredVotes",
    "key_of",
    "positions_text",
    "row_of",
]

MAX_CONTENT = 2**27
"""Bytes of the flips of one chunk, unpacked: no row of a foreign file can ask for more memory."""

MAX_POSITIONS = 2**16
"""Sites that one attack may flip."""

Counts: TypeAlias = npt.NDArray[np.int64]

FORMS = ("bits", "positions", "numbers", "bits, shown", "positions, shown")


class StoredVotes(NamedTuple):
    """The votes of one chunk on all targets of a graph; `blob` holds `counts` as little-endian 64-bit integers."""

    graph: int
    purpose: str
    chunk: int
    samples: int
    blob: bytes

    def counts(self, n_classes: int) -> Counts:
        """The votes, shape (targets, classes)."""
        return np.frombuffer(self.blob, dtype="<i8").reshape(-1, n_classes).astype(np.int64)

    @classmethod
    def from_caller(
        cls, settings: VoteSettings, record: GraphRecord, purpose: str, chunk: int, counts: npt.ArrayLike, samples: int
    ) -> StoredVotes:
        """A chunk that a caller brings, checked."""
        array = _checked_counts(counts, samples, settings.chunk_size, (record.n_targets, settings.n_classes))
        number = whole_number("chunk", chunk, 0, MAX_COUNT - 1)
        return cls(record.graph, purpose, number, int(samples), array.tobytes())

    @classmethod
    def from_row(cls, row: Sequence[object], settings: VoteSettings, graphs: Sequence[GraphRecord]) -> StoredVotes:
        """A stored row, checked; a ValueError says why it cannot be believed."""
        columns = dict(zip((*cls._fields, "digest"), row, strict=True))
        name = f"chunk {row[2]!r} of graph {row[0]!r} ({row[1]!r})"
        _check_numbers(name, columns, chunk=(0, MAX_COUNT - 1), samples=(1, settings.chunk_size))
        record = _graph_of(name, columns["graph"], graphs)
        if columns["purpose"] not in PURPOSES:
            raise ValueError(f"{name} has no valid purpose")
        _check_blob(name, columns, record.n_targets, settings.n_classes)
        return _with_digest(name, cls(*row[:-1]), row)  # type: ignore[arg-type]

    def conflict(self, new: StoredVotes, n_classes: int) -> str:
        """The first target on which neither chunk begins with the other, with both votes; "" if there is none."""
        mine, theirs = self.counts(n_classes), new.counts(n_classes)
        wrong = _differ(self.samples, mine, new.samples, theirs)
        if not wrong.any():
            return ""
        target = int(wrong.argmax())
        of_target = f"target {target}, " if len(mine) > 1 else ""
        votes = f"stored {mine[target].tolist()}, now {theirs[target].tolist()}"
        return f"graph {self.graph}, {of_target}{self.purpose}, chunk {self.chunk}: {votes}"


class StoredFlips(NamedTuple):
    """The flips of the votes on one target against the class `label`, in one estimation chunk: see `SCHEMA`."""

    graph: int
    target: int
    chunk: int
    samples: int
    label: int
    sites: int
    votes: int
    form: str
    entries: int
    content: bytes

    @classmethod
    def from_caller(cls, chunk: StoredVotes, target: int, votes: Sequence[int], record: FlipRecord) -> StoredFlips:
        """The flips that a caller brings beside the votes of a chunk on a target, checked."""
        if record.samples.tolist() != [chunk.samples] or _votes_by_class(record, chunk.samples, votes) != list(votes):
            raise InvalidParameterError("records", f"be of the votes {list(votes)} of one chunk", record)
        classes = record.classes.astype("<u2").tobytes()
        if record.bits is not None:
            form, entries, content = "bits", 0, record.bits.tobytes()
        elif record.starts is not None and record.positions is not None:
            form, entries = "positions", len(record.positions)
            content = np.diff(record.starts).astype("<u4").tobytes() + record.positions.astype("<u4").tobytes()
        else:
            form, entries = "numbers", len(record.axis_sizes)
            content = record.axis_sizes.astype("<u8").tobytes() + np.asarray(record.by_axis).astype("<u4").tobytes()
        if record.shown is not None:
            form, entries, content = f"{form}, shown", len(record.shown), content + record.shown.tobytes()
        if len(classes + content) > MAX_CONTENT:
            hint = "Give a smaller chunk_size."
            raise InvalidParameterError("records", f"take at most {MAX_CONTENT:,} bytes", record, hint)
        head = chunk.graph, target, chunk.chunk, chunk.samples, record.label, record.n_sites, len(record)
        return cls(*head, form, entries, zlib.compress(classes + content, 1))

    @classmethod
    def from_row(cls, row: Sequence[object], settings: VoteSettings, graphs: Sequence[GraphRecord]) -> StoredFlips:
        """A stored row, checked but for its content; a ValueError says why it cannot be believed."""
        columns = dict(zip((*cls._fields, "digest"), row, strict=True))
        name = f"the record of chunk {row[2]!r} of graph {row[0]!r}"
        form = columns["form"]
        _check_numbers(
            name,
            columns,
            target=(0, _graph_of(name, columns["graph"], graphs).n_targets - 1),
            chunk=(0, MAX_COUNT - 1),
            samples=(0, settings.chunk_size),
            label=(0, settings.n_classes - 1),
            sites=(0, MAX_RECORDED_SITES),
            votes=(0, settings.chunk_size),
            entries=(0, 0 if form == "bits" else MAX_CONTENT),
        )
        if form not in FORMS or not isinstance(columns["content"], bytes):
            raise ValueError(f"{name} has no valid form or content")
        return _with_digest(name, cls(*row[:-1]), row)  # type: ignore[arg-type]

    def is_alike(self, other: StoredFlips) -> bool:
        """Whether both are against the same class and in the same form: one of them is then needless."""
        return (self.label, self.sites, self.form) == (other.label, other.sites, other.form)

    def conflict(self, new: StoredFlips, _n_classes: int) -> str:
        """How both differ, if they are of the same votes; "" if they agree."""
        if self.samples != new.samples or self._unpacked().agrees_with(new._unpacked()):
            return ""
        votes = f"stored {self.votes} votes, now {new.votes} votes with other flips"
        return f"graph {self.graph}, estimation, chunk {self.chunk}: {votes}"

    def record(self, samples: int, votes: Sequence[int]) -> FlipRecord:
        """The record, once its content is checked, and known to be of the stored votes on its target.

        Raises:
            ValueError: the reason why it cannot be believed.
        """
        name = f"the record of chunk {self.chunk} of graph {self.graph}"
        if samples < self.samples:
            raise ValueError(f"{name} is of votes that are not there")
        try:
            record = self._unpacked()
        except (zlib.error, ValueError) as error:
            raise ValueError(f"{name} cannot be read: {error}") from error
        found = _votes_by_class(record, self.samples, votes)
        beyond = any(recorded > have for recorded, have in zip(found, votes, strict=False))
        if beyond or len(found) > len(votes):
            raise ValueError(f"{name} has other votes than are stored: {found}, stored {list(votes)}")
        return record

    def _unpacked(self) -> FlipRecord:
        width = -(-self.sites // 8)
        bits, positions = (self.votes * width,), (4 * self.votes, 4 * self.entries)
        lengths = (  # of the parts of the content, in bytes
            2 * self.votes,
            *{
                "bits": bits,
                "positions": positions,
                "numbers": (8 * self.entries, 4 * self.votes * self.entries),
                "bits, shown": (*bits, self.entries),
                "positions, shown": (*positions, self.entries),
            }[self.form],
        )
        if sum(lengths) > MAX_CONTENT:
            raise ValueError(f"it would take {sum(lengths):,} bytes")
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(self.content, sum(lengths) + 1)
        if len(content) != sum(lengths) or not unpacking.eof or unpacking.unused_data:
            raise ValueError(f"its content is not the {sum(lengths):,} bytes that {self.votes} votes take")
        ends = np.cumsum(lengths)
        classes, *parts = (content[end - length : end] for end, length in zip(ends, lengths, strict=True))
        if self.form.startswith("bits"):
            form = {"bits": np.frombuffer(parts[0], np.uint8).reshape(self.votes, width)}
        elif self.form.startswith("positions"):
            starts = np.concatenate([[0], np.cumsum(np.frombuffer(parts[0], "<u4"), dtype=np.int64)])
            form = {"starts": starts, "positions": np.frombuffer(parts[1], "<u4")}
        else:
            sizes = np.frombuffer(parts[0], "<u8")
            form = {"sizes": sizes, "by_axis": np.frombuffer(parts[1], "<u4").reshape(self.votes, self.entries)}
        if self.form.endswith("shown"):
            form["shown"] = np.frombuffer(parts[-1], np.uint8)
        head = {"label": self.label, "n_sites": self.sites, "samples": [self.samples], "against": [self.votes]}
        arrays = {name: np.array(value) for name, value in head.items()} | form
        return FlipRecord.from_arrays(arrays | {"classes": np.frombuffer(classes, "<u2")})


class StoredAttack(NamedTuple):
    """The votes of one chunk on a target of an attacked graph: see `SCHEMA`."""

    graph: int
    target: int
    flips: str
    size: int
    chunk: int
    samples: int
    blob: bytes
    numbers: bytes

    @property
    def counts(self) -> Counts:
        """The votes for each class."""
        return np.frombuffer(self.blob, dtype="<i8").astype(np.int64)

    def flip_numbers(self, n_axes: int) -> npt.NDArray[np.int64]:
        """The numbers, shape (votes, axes); a ValueError if there are not as many."""
        listed = np.frombuffer(self.numbers, dtype="<u4") if len(self.numbers) % 4 == 0 else np.empty(1)
        if not n_axes or len(listed) % n_axes or len(listed) > self.samples * n_axes:
            name = f"chunk {self.chunk} of an attack on graph {self.graph}"
            raise ValueError(f"{name} does not say how many sites flipped on each of {n_axes} axes")
        return listed.reshape(-1, n_axes).astype(np.int64)

    @classmethod
    def from_caller(
        cls,
        settings: VoteSettings,
        place: tuple[int, int, Iterable[int], int],
        chunk: int,
        counts: npt.ArrayLike,
        samples: int,
        numbers: npt.ArrayLike,
    ) -> StoredAttack:
        """A chunk that a caller brings, checked; its place is graph, target, positions and the size of a chunk."""
        graph, target, positions, size = place
        size = whole_number("chunk_size", size, 1, MAX_COUNT)
        array = _checked_counts(counts, samples, size, (1, settings.n_classes))
        number = whole_number("chunk", chunk, 0, MAX_COUNT - 1)
        flips = np.ascontiguousarray(numbers, dtype="<u4").tobytes()
        return cls(graph, target, positions_text(positions), size, number, int(samples), array.tobytes(), flips)

    @classmethod
    def from_row(cls, row: Sequence[object], settings: VoteSettings, graphs: Sequence[GraphRecord]) -> StoredAttack:
        """A stored row, checked; a ValueError says why it cannot be believed."""
        columns = dict(zip((*cls._fields, "digest"), row, strict=True))
        name = f"chunk {row[4]!r} of an attack on graph {row[0]!r}"
        record = _graph_of(name, columns["graph"], graphs)
        _check_numbers(name, columns, size=(1, MAX_COUNT))
        size = int(columns["size"])  # type: ignore[call-overload]
        limits = {"target": (0, record.n_targets - 1), "chunk": (0, MAX_COUNT - 1), "samples": (1, size)}
        _check_numbers(name, columns, **limits)
        try:
            text = columns["flips"]
            same = isinstance(text, str) and positions_text(json.loads(text)) == text
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{name} does not say what it flips: {error}") from error
        if not same or not isinstance(columns["numbers"], bytes):
            raise ValueError(f"{name} does not say what it flips")
        _check_blob(name, columns, 1, settings.n_classes)
        attack = _with_digest(name, cls(*row[:-1]), row)  # type: ignore[arg-type]
        attack.flip_numbers(len(record.sizes))
        return attack

    def conflict(self, new: StoredAttack, _n_classes: int) -> str:
        """How both differ, if neither begins with the other; "" if one does."""
        other_flips = self.samples == new.samples and self.numbers != new.numbers
        if not _differ(self.samples, self.counts[None], new.samples, new.counts[None]).any() and not other_flips:
            return ""
        votes = f"stored {self.counts.tolist()}, now {new.counts.tolist()}"
        return f"graph {self.graph} attacked at {self.flips}, chunk {self.chunk}: {votes}"


Stored: TypeAlias = StoredVotes | StoredFlips | StoredAttack
Row = TypeVar("Row", StoredVotes, StoredFlips, StoredAttack)


TABLES: dict[object, tuple[str, ...]] = {
    StoredVotes: ("chunks", "graph", "purpose", "chunk"),
    StoredFlips: ("flips", "graph", "target", "chunk"),
    StoredAttack: ("attacks", "graph", "target", "flips", "size", "chunk"),
}
"""The table of each kind of row, and the columns of its key, which come first."""


def key_of(stored: Stored) -> tuple[object, ...]:
    """What identifies a row among those of its kind."""
    return stored[: len(TABLES[type(stored)]) - 1]


def row_of(stored: Stored) -> tuple[object, ...]:
    """A row as it is stored, with its digest."""
    return *stored, digest_of(*stored)


def positions_text(positions: Iterable[int]) -> str:
    """The positions that an attack flips, as JSON, checked: different sites, in ascending order.

    Example:
        >>> positions_text([7, 3])
        '[3, 7]'
    """
    found = sorted(whole_number("positions", position, 0, MAX_RECORDED_SITES - 1) for position in positions)
    if not 1 <= len(set(found)) == len(found) <= MAX_POSITIONS:
        raise InvalidParameterError("positions", f"be 1 to {MAX_POSITIONS:,} different sites", found)
    return json.dumps(found)


def _checked_counts(counts: npt.ArrayLike, samples: int, chunk_size: int, shape: tuple[int, int]) -> Counts:
    """Votes that a caller brings; those on a single target need no second dimension."""
    array = np.asarray(counts)
    array = array[None] if shape[0] == 1 and array.ndim == 1 else array
    if array.shape != shape or array.dtype.kind not in "iu" or array.min() < 0:
        must = f"be {shape[1]} whole numbers of votes, 0 or more, on each of {shape[0]} targets"
        raise InvalidParameterError("counts", must, counts)
    if (array.sum(axis=1) != whole_number("samples", samples, 1, chunk_size)).any():
        raise InvalidParameterError("counts", f"add up to the {samples} samples", array[:3].tolist())
    return array.astype("<i8")


def _check_numbers(name: str, columns: Mapping[str, object], **limits: tuple[int, int]) -> None:
    for column, (low, high) in limits.items():
        value = columns[column]
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{name} has no valid {column}: {value!r}, not {low} to {high}")


def _graph_of(name: str, graph: object, graphs: Sequence[GraphRecord]) -> GraphRecord:
    if type(graph) is not int or not 0 <= graph < len(graphs):
        raise ValueError(f"{name} has no valid graph: there are {len(graphs)} graphs")
    return graphs[graph]


def _check_blob(name: str, columns: Mapping[str, object], n_targets: int, n_classes: int) -> None:
    blob, samples = columns["blob"], columns["samples"]
    if not isinstance(blob, bytes) or len(blob) != 8 * n_targets * n_classes:
        raise ValueError(f"{name} does not hold {n_classes} counts for each of {n_targets} targets")
    counts = np.frombuffer(blob, dtype="<i8").reshape(n_targets, n_classes).tolist()  # sums of Python's are exact
    if any(min(row) < 0 or sum(row) != samples for row in counts):
        raise ValueError(f"{name} has counts that are negative or do not add up to its {samples} samples")


def _with_digest(name: str, stored: Row, row: Sequence[object]) -> Row:
    if digest_of(*stored) != row[-1]:
        raise ValueError(f"{name} does not agree with its digest")
    return stored


def _votes_by_class(record: FlipRecord, samples: int, votes: Sequence[int]) -> list[int]:
    """The votes of a recorded chunk for each class; unknown classes have places after the others."""
    counts = np.bincount(record.classes, minlength=len(votes))
    counts[min(record.label, len(counts) - 1)] += samples - len(record)
    return [int(count) for count in counts]


def _differ(samples: int, votes: Counts, other_samples: int, others: Counts) -> npt.NDArray[np.bool_]:
    """On which targets the votes of neither chunk can be the beginning of the other's."""
    if samples == other_samples:
        wrong = votes != others
    else:
        wrong = votes > others if samples < other_samples else others > votes
    return np.asarray(wrong.any(axis=1))
