"""What a vote store holds beyond counts: the flips of votes against a class, and votes at attacked graphs.

Each is one row with a digest, like a chunk of votes (`records`), and as little is believed before it is checked.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.flips import MOST_SITES, FlipRecord
from starcert.system.errors import InvalidParameterError
from starcert.voting.store.records import MAX_COUNT, MAX_TARGETS, StoredChunk, VoteSettings, counts_of, whole

__all__ = ["StoredAttack", "StoredFlips", "attacked"]

MOST_CONTENT = 2**27
"""Bytes of the flips of one chunk, unpacked: no row of a foreign file can ask for more memory."""

FORMS = {
    "bits": 0,
    "positions": MOST_CONTENT,
    "numbers": MOST_CONTENT,
    "bits, shown": MOST_CONTENT,
    "positions, shown": MOST_CONTENT,
}
"""How flips are kept, and how many entries each form may have."""

MOST_POSITIONS = 2**16
"""Sites that one attack may flip."""


class StoredFlips(NamedTuple):
    """The flips of the votes on one target against a class, in one estimation chunk.

    Attributes:
        graph: the number of the graph.
        target: the number of the target.
        chunk: the number of the chunk.
        samples: votes in it.
        label: the class.
        sites: how many sites the graph has.
        votes: how many votes are against the class.
        form: "bits", "positions" or "numbers"; "bits, shown" or "positions, shown" with the value that each flip shows.
        entries: how many positions, how many axes, or how many values with bits; 0 for bits.
        content: as the table says, packed by zlib.
    """

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

    @property
    def key(self) -> tuple[int, int, int]:
        """Graph, target and chunk number."""
        return self[:3]

    @property
    def row(self) -> tuple[object, ...]:
        """The flips as they are stored, with their digest."""
        head = " ".join(map(str, (_place(self.graph, self.target), *self[2:9]))).encode()
        return *self, blake2b(head + b" " + self.content, digest_size=16).digest()

    @classmethod
    def from_caller(cls, chunk: StoredChunk, record: FlipRecord) -> StoredFlips:
        """The flips that a caller brings beside the votes of a chunk, checked."""
        if chunk.purpose != "estimation":
            raise InvalidParameterError("record", "be of estimation votes on one target", chunk.purpose)
        if record.samples.tolist() != [chunk.samples] or _votes_by_class(record, chunk) != list(chunk.counts):
            raise InvalidParameterError("record", f"be of the votes {list(chunk.counts)} of one chunk", record)
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
        if len(classes + content) > MOST_CONTENT:
            hint = "Give a smaller chunk_size."
            raise InvalidParameterError("record", f"take at most {MOST_CONTENT:,} bytes", record, hint)
        head = chunk.graph, chunk.target, chunk.chunk, chunk.samples, record.label, record.n_sites, len(record)
        return cls(*head, form, entries, zlib.compress(classes + content, 1))

    @classmethod
    def from_row(cls, row: Sequence[object], settings: VoteSettings) -> StoredFlips:
        """A stored row, checked but for its content.

        Raises:
            ValueError: the reason why the row cannot be believed.
        """
        *numbers, form, entries, content, digest = row
        name = f"the record of chunk {row[2]!r} of graph {row[0]!r}"
        limits = MAX_COUNT - 1, MAX_TARGETS - 1, MAX_COUNT - 1, settings.chunk_size, settings.n_classes - 1, MOST_SITES
        for column, value, most in zip(cls._fields, numbers, (*limits, settings.chunk_size), strict=False):
            if type(value) is not int or not 0 <= value <= most:
                raise ValueError(f"{name} has no valid {column}: {value!r}")
        if form not in FORMS or type(entries) is not int or not 0 <= entries <= FORMS[str(form)]:
            raise ValueError(f"{name} has no valid form or number of entries")
        if not isinstance(content, bytes):
            raise ValueError(f"{name} has no content")
        flips = cls(*row[:10])  # type: ignore[arg-type]
        if flips.row[-1] != digest:
            raise ValueError(f"{name} does not agree with its digest")
        return flips

    def is_alike(self, other: StoredFlips) -> bool:
        """Whether both are against the same class and in the same form: one of them is then needless."""
        return (self.label, self.sites, self.form) == (other.label, other.sites, other.form)

    def agrees_with(self, other: StoredFlips) -> bool:
        """Whether both are of the same votes, as far as both are as long."""
        return self.samples != other.samples or self._unpacked().agrees_with(other._unpacked())

    def record(self, chunk: StoredChunk | None) -> FlipRecord:
        """The record, once its content is known to be one, and of the votes that are stored.

        Raises:
            ValueError: the reason why it cannot be believed.
        """
        name = f"the record of chunk {self.chunk} of graph {self.graph}"
        if chunk is None or chunk.samples < self.samples:
            raise ValueError(f"{name} is of votes that are not there")
        try:
            record = self._unpacked()
        except (zlib.error, ValueError) as error:
            raise ValueError(f"{name} cannot be read: {error}") from error
        votes = _votes_by_class(record, chunk._replace(samples=self.samples))
        beyond = any(recorded > have for recorded, have in zip(votes, chunk.counts, strict=False))
        if beyond or len(votes) > len(chunk.counts):
            raise ValueError(f"{name} has other votes than are stored: {votes}, stored {list(chunk.counts)}")
        return record

    def _unpacked(self) -> FlipRecord:
        width = -(-self.sites // 8)
        lengths = {  # of the parts of the content, in bytes
            "bits": (2 * self.votes, self.votes * width),
            "positions": (2 * self.votes, 4 * self.votes, 4 * self.entries),
            "numbers": (2 * self.votes, 8 * self.entries, 4 * self.votes * self.entries),
            "bits, shown": (2 * self.votes, self.votes * width, self.entries),
            "positions, shown": (2 * self.votes, 4 * self.votes, 4 * self.entries, self.entries),
        }[self.form]
        if sum(lengths) > MOST_CONTENT:
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


def _votes_by_class(record: FlipRecord, chunk: StoredChunk) -> list[int]:
    """The votes of a recorded chunk for each class; classes that are not known have places after the others."""
    counts = np.bincount(record.classes, minlength=len(chunk.counts))
    counts[min(record.label, len(counts) - 1)] += chunk.samples - len(record)
    return [int(count) for count in counts]


class StoredAttack(NamedTuple):
    """The votes of one chunk on a target of an attacked graph.

    Attributes:
        graph: the number of the clean graph.
        target: the number of the target.
        flips: the positions of the sites that the attack flips, ascending; with more than two values, with the rank of
            the new value: see `AttackAxis.attacked`.
        size: samples that are drawn for a chunk: votes depend on it.
        chunk: the number of the chunk at that attacked graph.
        samples: votes in it.
        counts: votes for each class.
        numbers: of each vote against the graph's class how many sites of each axis flipped, 32 bits each.
    """

    graph: int
    target: int
    flips: tuple[int, ...]
    size: int
    chunk: int
    samples: int
    counts: tuple[int, ...]
    numbers: bytes

    @property
    def key(self) -> tuple[int, int, str, int, int]:
        """Graph, target, attack, size and number of the chunk, as they are stored."""
        return self.graph, self.target, json.dumps(self.flips), self.size, self.chunk

    @property
    def row(self) -> tuple[object, ...]:
        """The chunk as it is stored, with its digest."""
        blob = struct.pack(f"<{len(self.counts)}q", *self.counts)
        head = " ".join(map(str, (_place(self.graph, self.target), *self.key[2:], self.samples, ""))).encode()
        digest = blake2b(head + blob + self.numbers, digest_size=16).digest()
        return *self.key, self.samples, blob, self.numbers, digest

    def flip_numbers(self, n_axes: int) -> npt.NDArray[np.int64]:
        """The numbers, shape (votes, axes); a ValueError if they are not those of so many axes."""
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
        own = replace(settings, chunk_size=size)
        votes = StoredChunk.from_caller(own, (graph, 0, "estimation"), chunk, counts, samples)
        flips = np.ascontiguousarray(numbers, dtype="<u4").tobytes()
        return cls(graph, target, attacked(positions), own.chunk_size, *votes[3:], flips)

    @classmethod
    def from_row(cls, row: Sequence[object], settings: VoteSettings) -> StoredAttack:
        """A stored row, checked.

        Raises:
            ValueError: the reason why the row cannot be believed.
        """
        graph, target, text, size, number, samples, blob, numbers, digest = row
        name = f"chunk {number!r} of an attack on graph {graph!r}"
        try:
            flips = attacked(json.loads(text) if isinstance(text, str) else ())
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{name} does not say what it flips: {error}") from error
        if type(graph) is not int or not 0 <= graph < MAX_COUNT:
            raise ValueError(f"{name} has no valid graph")
        if type(target) is not int or not 0 <= target < MAX_TARGETS:
            raise ValueError(f"{name} has no valid target")
        if type(size) is not int or not 1 <= size <= MAX_COUNT:
            raise ValueError(f"{name} has no valid size")
        own = replace(settings, chunk_size=size)
        if not isinstance(numbers, bytes):
            raise ValueError(f"{name} has no numbers of flips")
        chunk = cls(graph, target, flips, size, *counts_of(number, samples, blob, own, name), numbers)
        if chunk.row != (graph, target, text, size, number, samples, blob, numbers, digest):
            raise ValueError(f"{name} does not agree with its digest")
        return chunk


def _place(graph: int, target: int) -> str:
    """A target as digests name it: target 0 as in format 3."""
    return f"{graph}.{target}" if target else f"{graph}"


def attacked(positions: Iterable[int]) -> tuple[int, ...]:
    """The positions that an attack flips, checked: different sites, in ascending order.

    Example:
        >>> attacked([7, 3])
        (3, 7)
    """
    found = sorted(whole(position, "positions", MOST_SITES - 1) for position in positions)
    if not 1 <= len(set(found)) == len(found) <= MOST_POSITIONS:
        raise InvalidParameterError("positions", f"be 1 to {MOST_POSITIONS:,} different sites", found)
    return tuple(found)
