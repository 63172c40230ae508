"""The tables of a vote store and their rows: votes, the ballots that are kept, and votes at attacked graphs.

Every row has a digest of its columns: one that agrees with it is as it was written.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from math import prod
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from starcert.math.ballots import Ballots

Counts: TypeAlias = npt.NDArray[np.int64]

SCHEMA = {
    "records": """CREATE TABLE records (
  kind TEXT NOT NULL, -- settings, graph, session, look or fault
  number INTEGER NOT NULL, -- 0, 1, 2, ... within a kind
  value TEXT NOT NULL, -- JSON
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (kind, number)
) WITHOUT ROWID""",
    "chunks": """CREATE TABLE chunks (
  graph INTEGER NOT NULL, -- number of the graph's record
  purpose TEXT NOT NULL, -- selection or estimation
  chunk INTEGER NOT NULL, -- 0, 1, 2, ...
  samples INTEGER NOT NULL, -- votes in the chunk, on each target
  counts BLOB NOT NULL, -- votes for each class, target after target, little-endian 64-bit integers
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (graph, purpose, chunk)
) WITHOUT ROWID""",
    "ballots": """CREATE TABLE ballots (
  graph INTEGER NOT NULL, -- number of the graph's record
  chunk INTEGER NOT NULL, -- number of the estimation chunk
  samples INTEGER NOT NULL, -- how many of its first copies they are of
  content BLOB NOT NULL, -- zlib: a line of JSON with the name, type and shape of each array, then their numbers:
  -- labels: the class of each target; copies are kept on which one of them disagrees (without labels: all copies)
  -- n_sites: how many sites the graph has; samples, kept: copies, and those of them that are kept
  -- answers: what each target answered on each of these, copy by copy; and of its flips one of these forms:
  -- bits: a bit for each site, site s being bit s % 8 of byte s / 8
  -- starts, positions: those of copy i are positions[starts[i] : starts[i + 1]], ascending
  -- by_axis, sizes: the number of flips on each axis, and how many sites each axis has
  -- with bits or positions, shown: the value that each flip shows, where sites have more than two
  -- and sites: those that they number from 0, where they are not all
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (graph, chunk)
) WITHOUT ROWID""",
    "attacks": """CREATE TABLE attacks (
  graph INTEGER NOT NULL, -- number of the graph's record
  target INTEGER NOT NULL, -- 0, 1, 2, ... within the graph; 0 where the graph itself is classified
  flips TEXT NOT NULL, -- the sites of the graph that are flipped before noise is drawn: ascending positions, JSON
  -- (with more than two values: position + sites * rank of the new value among the others, from 0)
  chunk INTEGER NOT NULL, -- 0, 1, 2, ... at the attacked graph
  counts BLOB NOT NULL, -- votes for each class, little-endian 64-bit integers
  numbers BLOB NOT NULL, -- of each vote against the graph's class: flips on each axis, little-endian 32-bit integers
  digest BLOB NOT NULL, -- BLAKE2b of the other columns, 16 bytes
  PRIMARY KEY (graph, target, flips, chunk)
) WITHOUT ROWID""",
}


class StoredVotes(NamedTuple):
    """The votes of one chunk on all targets of a graph; `blob` has them for each class, target after target."""

    graph: int
    purpose: str
    chunk: int
    samples: int
    blob: bytes

    def counts(self, n_classes: int) -> Counts:
        """The votes, shape (targets, classes)."""
        return _counts(self.blob).reshape(-1, n_classes)

    def conflict(self, new: StoredVotes, n_classes: int) -> str:
        """The difference on the first target where neither begins with the other; "" if there is none."""
        mine, theirs = self.counts(n_classes), new.counts(n_classes)
        low, high = (mine, theirs) if self.samples < new.samples else (theirs, mine)
        wrong = (low != high if self.samples == new.samples else low > high).any(axis=1)
        if not wrong.any():
            return ""
        target = int(wrong.argmax())
        of_target = f", target {target}" if len(mine) > 1 else ""
        return f"{_name(self)}{of_target}: stored {mine[target].tolist()}, now {theirs[target].tolist()}"


class StoredBallots(NamedTuple):
    """The ballots of the first `samples` copies of an estimation chunk."""

    graph: int
    chunk: int
    samples: int
    content: bytes

    @classmethod
    def of(cls, votes: StoredVotes, ballots: Ballots) -> StoredBallots:
        """Those of a chunk of votes."""
        arrays = {name: array.astype(array.dtype.newbyteorder("<")) for name, array in ballots.to_arrays().items()}
        header = json.dumps({name: (array.dtype.str, array.shape) for name, array in arrays.items()})
        content = b"".join([header.encode(), b"\n", *(array.tobytes() for array in arrays.values())])
        return cls(votes.graph, votes.chunk, votes.samples, zlib.compress(content, 1))

    def conflict(self, new: StoredBallots, _n_classes: int) -> str | None:
        """The difference, if they are of the same copies; None: they are against other classes, or in other forms."""
        mine, theirs = self.ballots, new.ballots
        if not mine.is_alike(theirs):
            return None
        if self.samples != new.samples or mine.agrees_with(theirs):
            return ""
        return f"{_name(self)}: stored {len(mine)} copies, now {len(theirs)} copies with other answers or flips"

    @property
    def ballots(self) -> Ballots:
        """The ballots themselves."""
        header, _, numbers = zlib.decompress(self.content).partition(b"\n")
        arrays, start = {}, 0
        for name, (dtype, shape) in json.loads(header).items():
            end = start + np.dtype(dtype).itemsize * prod(shape)
            arrays[name] = np.frombuffer(numbers[start:end], dtype).reshape(shape)
            start = end
        return Ballots.from_arrays(arrays)


class StoredAttack(NamedTuple):
    """The votes of one chunk on a target of an attacked graph, and flips on each axis in those against its class."""

    graph: int
    target: int
    flips: str
    chunk: int
    blob: bytes
    numbers: bytes

    @property
    def counts(self) -> Counts:
        """The votes for each class."""
        return _counts(self.blob)

    @property
    def samples(self) -> int:
        """The number of votes."""
        return int(self.counts.sum())

    def flip_numbers(self, n_axes: int) -> Counts:
        """The number of sites that flipped on each axis, shape (votes, axes)."""
        return np.frombuffer(self.numbers, dtype="<u4").reshape(-1, n_axes).astype(np.int64)

    def conflict(self, new: StoredAttack, _n_classes: int) -> str:
        """The difference; "" if they are equal."""
        return "" if self == new else f"{_name(self)}: stored {self.counts.tolist()}, now {new.counts.tolist()}"


Stored: TypeAlias = StoredVotes | StoredBallots | StoredAttack
Row = TypeVar("Row", StoredVotes, StoredBallots, StoredAttack)

TABLES: dict[type[Any], tuple[str, ...]] = {
    StoredVotes: ("chunks", "graph", "purpose", "chunk"),
    StoredBallots: ("ballots", "graph", "chunk"),
    StoredAttack: ("attacks", "graph", "target", "flips", "chunk"),
}
"""The table of each kind of row, and the columns of its key, which come first."""


def key_of(stored: Stored) -> tuple[object, ...]:
    """The key of a row among those of its kind."""
    return stored[: len(TABLES[type(stored)]) - 1]


def _counts(blob: bytes) -> Counts:
    return np.frombuffer(blob, dtype="<i8").astype(np.int64)


def _name(stored: Stored) -> str:
    place = f" attacked at {stored.flips:.80}" if isinstance(stored, StoredAttack) else ", estimation"
    if isinstance(stored, StoredVotes):
        place = f", {stored.purpose}"
    return f"graph {stored.graph}{place}, chunk {stored.chunk}"


def digest_of(*columns: object) -> bytes:
    """The BLAKE2b digest, 16 bytes, of the columns of a row: it finds damage, and proves no origin."""
    parts = (column if isinstance(column, bytes) else str(column).encode() for column in columns)
    return blake2b(b" ".join(parts), digest_size=16).digest()


def checked_row(kind: type[Row], row: Sequence[object]) -> Row:
    """A row of a file; a ValueError says so if it is not what was written."""
    stored = kind(*row[:-1])  # type: ignore[arg-type]  # the types that were written
    if digest_of(*stored) != row[-1]:
        raise ValueError(f"{_name(stored)}: it does not agree with its digest")
    return stored


def positions_text(positions: Iterable[int]) -> str:
    """The positions that an attack flips, ascending, as JSON.

    Example:
        >>> positions_text([7, 3])
        '[3, 7]'
    """
    return json.dumps(sorted(map(int, positions)))
