"""Votes on graphs with several targets: the chunks of all targets of a graph are one row.

Formats 2 and 3 had a row for each target. They are read as if they had not: rows of one chunk are joined, and a chunk
that does not have all targets is left out, for nothing was ever counted from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.system.errors import InvalidParameterError
from starcert.voting.store.records import MAX_COUNT, PURPOSES, GraphRecord, StoredChunk, VoteSettings, whole

__all__ = ["StoredTally", "joined"]

Counts = npt.NDArray[np.int64]


class StoredTally(NamedTuple):
    """The votes of one chunk on all targets of a graph.

    Attributes:
        graph: the number of the graph.
        purpose: what the votes are for.
        chunk: the number of the chunk.
        samples: votes on each target.
        blob: votes for each class, target after target, little-endian 64-bit integers.
    """

    graph: int
    purpose: str
    chunk: int
    samples: int
    blob: bytes

    @property
    def key(self) -> tuple[int, str, int]:
        """Graph, purpose and chunk number."""
        return self[:3]

    @property
    def row(self) -> tuple[object, ...]:
        """The chunk as it is stored, with its digest."""
        head = " ".join(map(str, (*self[:4], ""))).encode()
        return *self, blake2b(head + self.blob, digest_size=16).digest()

    def counts(self, settings: VoteSettings) -> Counts:
        """The votes, shape (targets, classes)."""
        return np.frombuffer(self.blob, dtype="<i8").reshape(-1, settings.n_classes).astype(np.int64)

    def chunks(self, settings: VoteSettings) -> list[StoredChunk]:
        """The votes on each target."""
        return [
            StoredChunk(self.graph, target, *self[1:4], tuple(counts))
            for target, counts in enumerate(self.counts(settings).tolist())
        ]

    @classmethod
    def from_caller(
        cls, settings: VoteSettings, record: GraphRecord, purpose: str, chunk: int, counts: npt.ArrayLike, samples: int
    ) -> StoredTally:
        """A chunk that a caller brings, checked."""
        array = np.asarray(counts)
        if array.shape != (record.n_targets, settings.n_classes) or array.dtype.kind not in "iu" or array.min() < 0:
            must = (
                f"be whole numbers of votes, 0 or more, on {record.n_targets} targets for {settings.n_classes} classes"
            )
            raise InvalidParameterError("counts", must, f"an array of shape {array.shape}")
        if (array.sum(axis=1) != whole(samples, "samples", settings.chunk_size, 1)).any():
            raise InvalidParameterError(
                "counts", f"add up to the {samples} samples on every target", array[:3].tolist()
            )
        number = whole(chunk, "chunk", MAX_COUNT - 1)
        return cls(record.graph, purpose, number, int(samples), array.astype("<i8").tobytes())

    @classmethod
    def from_row(cls, row: Sequence[object], settings: VoteSettings) -> StoredTally:
        """A stored row, checked: whole numbers, none negative, one for each class and some targets, that add up.

        Raises:
            ValueError: the reason why the row cannot be believed.
        """
        graph, purpose, number, samples, blob, digest = row
        name = f"chunk {number!r} of the targets of graph {graph!r} ({purpose!r})"
        if type(graph) is not int or not 0 <= graph < MAX_COUNT or purpose not in PURPOSES:
            raise ValueError(f"{name} has no valid graph or purpose")
        if type(number) is not int or not 0 <= number < MAX_COUNT:
            raise ValueError(f"{name} has no valid number")
        if type(samples) is not int or not 1 <= samples <= settings.chunk_size:
            raise ValueError(f"{name} has {samples!r} samples, not 1 to {settings.chunk_size}")
        if not isinstance(blob, bytes) or not blob or len(blob) % (8 * settings.n_classes):
            raise ValueError(f"{name} does not hold {settings.n_classes} counts for each target")
        tally = cls(graph, str(purpose), number, samples, blob)
        counts = tally.counts(settings)
        if counts.min() < 0 or counts.max() > samples or (counts.sum(axis=1) != samples).any():
            raise ValueError(f"{name} has counts that are negative or do not add up to its {samples} samples")
        if tally.row[-1] != digest:
            raise ValueError(f"{name} does not agree with its digest")
        return tally

    def check_place(self, settings: VoteSettings, graphs: Sequence[GraphRecord]) -> None:
        """A ValueError if it is not on all targets of a graph that has several."""
        n_targets = len(self.blob) // (8 * settings.n_classes)
        if self.graph >= len(graphs) or graphs[self.graph].n_targets == 1 or n_targets != graphs[self.graph].n_targets:
            what = f"there are votes on {n_targets} targets of graph {self.graph}"
            raise ValueError(f"{what}, which is not there or has another number of targets")

    def difference(self, other: StoredTally, settings: VoteSettings) -> tuple[int, list[int], list[int]] | None:
        """The first target on which one is not the beginning of the other, with both votes; None if there is none."""
        mine, theirs = self.counts(settings), other.counts(settings)
        short, long = (mine, theirs) if self.samples <= other.samples else (theirs, mine)
        wrong = (short != long) if self.samples == other.samples else (short > long)
        if not wrong.any():
            return None
        target = int(wrong.any(axis=1).argmax())
        return target, mine[target].tolist(), theirs[target].tolist()


def joined(chunks: Iterable[StoredChunk], graphs: Sequence[GraphRecord]) -> Iterator[StoredTally]:
    """The rows of single targets, in the order of graph, purpose and chunk, as rows of all targets."""
    for (graph, purpose, number), group in groupby(chunks, key=lambda each: (each.graph, each.purpose, each.chunk)):
        rows = sorted(group, key=lambda each: each.target)
        if len(rows) == graphs[graph].n_targets and len({each.samples for each in rows}) == 1:
            blob = np.array([each.counts for each in rows], dtype="<i8").tobytes()
            yield StoredTally(graph, purpose, number, rows[0].samples, blob)
