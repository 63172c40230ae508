"""The way the votes of a file were drawn: enough to draw some again, with the counts of each chunk in a side file.

No claim is proved from it. The JSON file has seed, chunk size, first chunk, backend and the key of each object; the
side file has for each purpose the counts of all chunks, object by object, for all classes but the last.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from starcert.archive.kept import targets_in_order
from starcert.archive.side_arrays import PackedArrays, pack_arrays, read_side, write_side
from starcert.archive.untrusted import Field, MalformedError
from starcert.math.votes import MAX_CHUNK_COUNTS, ChunkCounts, Counts, SmallCounts, Votes, chunk_type
from starcert.system.errors import InvalidParameterError

SIDE = ".chunks.npz"  # how the name of its file ends
MAX_SEED = 2**512
MAX_SIZE = 2**31  # votes in a chunk


def write_drawn(path: Path, votes: Votes) -> dict[str, object]:
    """Writes the counts of each chunk, if they are known, and returns the JSON file's entry about them."""
    chunks = votes.chunks
    if chunks is None:
        return {}
    kept = {"selection": None if votes.selection is None else chunks.selection, "estimation": chunks.estimation}
    parts = {name: [each[..., :-1] for each in counts] for name, counts in kept.items() if counts is not None}
    data = pack_arrays(dict.fromkeys(parts, chunk_type(chunks.chunk_size)), parts) if parts else None
    about = {name: getattr(chunks, name) for name in ("seed", "chunk_size", "first_chunk", "backend")}
    return {"drawn": {**about, "counts": write_side(path, SIDE, data)}}


def drawn_keys(votes: Votes) -> dict[str, Iterable[object]]:
    """The key of each object, a line each, where it is known how votes were drawn."""
    return {} if votes.chunks is None else {"keys": votes.chunks.keys}


def read_drawn(top: dict[str, Field], path: Path, votes: Votes) -> ChunkCounts | None:
    """The way these votes were drawn, by the file; counts of chunks, if there are any, must add up to the votes."""
    if "drawn" not in top or "keys" not in top:
        if "drawn" in top or "keys" in top:
            raise MalformedError("'drawn' and 'keys' must both be there, or neither.")
        return None
    inside = top["drawn"].members("seed", "chunk_size", "first_chunk", "backend", "counts")
    size, first = inside["chunk_size"].whole(MAX_SIZE), inside["first_chunk"]
    inside["chunk_size"].check(size > 0, "be 1 or more")
    first.check(first.value is None or first.whole(MAX_SIZE) > 0, "be 1 or more, or null")
    keys, must = (
        tuple(each.text() for each in top["keys"].items()),
        "be one for each graph, whose targets 'graphs' has in order",
    )
    sizes = targets_in_order(top["keys"], votes.objects.tolist(), votes.targets.tolist(), len(keys), must)
    seed, backend = inside["seed"].whole(MAX_SEED), inside["backend"].text()
    found = ChunkCounts(seed, size, first.value, backend, keys, None, None)
    return read_side(inside["counts"], path, SIDE, partial(_unpacked, found, votes, sizes), "", needed=False) or found


def _unpacked(about: ChunkCounts, votes: Votes, sizes: list[int], file: BinaryIO) -> ChunkCounts:
    """The counts of each chunk, for all classes: those for the last one are what is left of its votes."""
    rows = {"selection": votes.selection, "estimation": votes.counts}
    purposes = {name: counts for name, counts in rows.items() if counts is not None}
    arrays = PackedArrays(file, dict.fromkeys(purposes, chunk_type(about.chunk_size)), MAX_CHUNK_COUNTS)
    kept: dict[str, tuple[SmallCounts, ...] | None] = {"selection": None, "estimation": None}
    try:
        for purpose, counts in purposes.items():
            kept[purpose] = tuple(_taken(arrays, about, purpose, of_object) for of_object in _split(counts, sizes))
        found = ChunkCounts(about.seed, about.chunk_size, about.first_chunk, about.backend, about.keys, **kept)
        for purpose, counts in purposes.items():
            found.check(purpose, counts, sizes)
    except InvalidParameterError as error:
        raise MalformedError(str(error)) from None
    arrays.check_empty()
    return found


def _split(counts: Counts, sizes: list[int]) -> list[Counts]:
    """The rows of each object."""
    return np.split(counts, np.cumsum(sizes[:-1]).astype(int)) if sizes else []


def _taken(arrays: PackedArrays, about: ChunkCounts, purpose: str, rows: Counts) -> SmallCounts:
    """The counts of an object's chunks that come next."""
    n_targets, n_classes = rows.shape
    lengths = about.lengths(purpose, int(rows[:1].sum()))
    most = arrays.take(purpose, len(lengths) * n_targets * (n_classes - 1))
    most = most.reshape(len(lengths), n_targets, n_classes - 1)
    last = lengths[:, None] - most.sum(axis=2, dtype=np.int64)
    if (last < 0).any():
        raise MalformedError(f"'{purpose}' must have at most {lengths.max()} votes in each chunk.")
    return np.concatenate([most, last[..., None].astype(most.dtype)], axis=2)
