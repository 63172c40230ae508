"""The way votes were drawn, and their counts chunk by chunk: enough to draw some of them again and compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from starcert.system.errors import InvalidParameterError

MAX_CHUNK_COUNTS = 2**28  # bytes; counts by chunk that would take more are not kept
MAX_CHUNKS = 2**20  # of one object

Counts = npt.NDArray[np.int64]
SmallCounts = npt.NDArray[np.unsignedinteger]


def chunk_ends(chunk_size: int, first_chunk: int | None = None) -> Iterator[int]:
    """After how many samples each chunk ends, without end.

    If the first chunk has another size, each later one has as many samples as all before it, at most `chunk_size`.

    Example:
        >>> from itertools import islice
        >>> list(islice(chunk_ends(1024, 64), 7))
        [64, 128, 256, 512, 1024, 2048, 3072]
    """
    end = 0
    while True:
        end += chunk_size if first_chunk is None else min(chunk_size, max(first_chunk, end))
        yield end


@cache
def chunk_lengths(samples: int, chunk_size: int, first_chunk: int | None = None) -> Counts:
    """The number of samples in each chunk; the last one may be partial.

    Example:
        >>> chunk_lengths(2500, 1024).tolist()
        [1024, 1024, 452]
    """
    if samples // chunk_size > MAX_CHUNKS:
        raise InvalidParameterError("chunk_size", f"divide {samples:,} samples into {MAX_CHUNKS:,} chunks", chunk_size)
    lengths, start = list[int](), 0
    for end in chunk_ends(chunk_size, first_chunk):
        if start >= samples:
            break
        lengths.append(min(end, samples) - start)
        start = end
    found = np.array(lengths, dtype=np.int64)
    found.setflags(write=False)
    return found


@dataclass(frozen=True, eq=False)
class ChunkCounts:
    """The way votes were drawn, and the counts of each chunk: an array of chunks, targets and classes per object."""

    seed: int  # of all streams
    chunk_size: int  # samples drawn for a chunk
    first_chunk: int | None  # samples in the first estimation chunk, where later ones grow; None: all are alike
    backend: str  # what draws the copies, and therefore other ones elsewhere
    keys: tuple[str, ...]  # of each object
    selection: tuple[SmallCounts, ...] | None  # None: counts by chunk would take too much
    estimation: tuple[SmallCounts, ...] | None  # likewise

    @property
    def content(self) -> tuple[object, ...]:
        """Values that are equal where files would be equal."""
        found = (None if each is None else [one.tolist() for one in each] for each in (self.selection, self.estimation))
        return self.seed, self.chunk_size, self.first_chunk, self.backend, self.keys, *found

    def lengths(self, purpose: str, samples: int) -> Counts:
        """The number of samples in each of these chunks."""
        return chunk_lengths(samples, self.chunk_size, self.first_chunk if purpose == "estimation" else None)

    def check(self, purpose: str, counts: Counts, n_targets: Sequence[int]) -> None:
        """Refuses counts by chunk that do not add up to the votes on each row, target by target."""
        found: tuple[SmallCounts, ...] | None = getattr(self, purpose)
        ends = np.cumsum([0, *n_targets])
        for number, chunks in enumerate(found or ()):
            rows = counts[ends[number] : ends[number + 1]]
            for target, row in enumerate(rows):
                lengths = self.lengths(purpose, int(row.sum()))
                of_target = chunks[:, target]
                if not (np.array_equal(of_target.sum(axis=1), lengths) and np.array_equal(of_target.sum(axis=0), row)):
                    must = f"add up to the {purpose} votes {row.tolist()} on graph {number}"
                    raise InvalidParameterError("chunks", must, of_target.sum(axis=0).tolist())


def chunk_type(chunk_size: int) -> str:
    """The type of numbers that counts of a chunk fit in."""
    return "<u2" if chunk_size < 2**16 else "<u4"
