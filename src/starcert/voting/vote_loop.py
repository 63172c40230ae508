"""Chunks to votes, in this process or on any executor.

What is done is kept at once (in the store, if there is one). Which chunks are counted together, and where, changes no
vote.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from starcert.objects import Frame
from starcert.objects.binding import Problem
from starcert.system.errors import InvalidParameterError
from starcert.system.travelling import Parcel, pickles_plainly, spread
from starcert.voting.counting import checks, count_chunks, count_gathered
from starcert.voting.jobs import Chunk, Job, Tally

if TYPE_CHECKING:
    from starcert.math.flips import FlipRecord
    from starcert.objects import Sites

__all__ = ["tallied", "tallies"]

TOGETHER_BYTES = 2**21
"""Copies of several chunks are one batch if their bits and the degrees of their nodes take no more."""


def tallies(job: Job, chunks: Iterable[Chunk], executor: Executor | None = None) -> Iterator[Tally]:
    """The votes of every chunk, in whatever order they come."""
    for together in tallied(job, chunks, executor):
        yield from together


def tallied(job: Job, chunks: Iterable[Chunk], executor: Executor | None = None) -> Iterator[list[Tally]]:
    """The same, those that were counted at once together.

    Without an executor the chunks are counted here, one after the other or several at once. With one they are spread
    over its workers, to each of which the classifier travels once.
    """
    if executor is None and job.classifier.max_batch_nodes and job.batch_size is None:
        for together in _gathered(job, chunks):
            yield count_gathered(job.classifier, job, together)
        return
    if executor is None:
        for together in _together(job, chunks):
            yield count_chunks(job.classifier, job.sites[together[0].graph], job, together)
        return
    common = Parcel(replace(job, problem=Problem(job.noise, ())), executor)
    _check_travels(common, executor)
    n_classes = job.classifier.n_classes
    for together, (counts, records) in spread(executor, _count_there, common, _with_sites(job, chunks, executor)):
        rows = np.frombuffer(counts, dtype=np.int64).reshape(len(together), -1, n_classes)
        yield list(map(Tally, together, rows, records))


Together: TypeAlias = tuple[Chunk, ...]
"""Chunks that are counted at once, one or several."""


def _together(job: Job, chunks: Iterable[Chunk]) -> Iterator[Together]:
    """The chunks, each alone, or as many of one graph as a classifier wants to see as one batch."""
    if job.classifier.chunks_per_batch == 1:
        yield from ((chunk,) for chunk in chunks)
        return
    for graph, some in groupby(chunks, key=lambda chunk: chunk.graph):
        most = _chunks_at_once(job, job.sites[graph])
        for (_, checked), like in groupby(some, key=lambda chunk: (chunk.purpose, checks(job, chunk))):
            while found := tuple(islice(like, 1 if checked else most)):
                yield found


def _gathered(job: Job, chunks: Iterable[Chunk]) -> Iterator[Together]:
    """The chunks, as many at once as have no more nodes in all copies than the classifier takes, or one."""
    found, nodes = list[Chunk](), 0
    for chunk in chunks:
        own = chunk.samples * max(1, _n_nodes(job.sites[chunk.graph]))
        if found and nodes + own > job.classifier.max_batch_nodes:
            yield tuple(found)
            found, nodes = [], 0
        found.append(chunk)
        nodes += own
    if found:
        yield tuple(found)


def _n_nodes(sites: Sites) -> int:
    """How many nodes an object has: none, if it is no graph."""
    return sites.frame.n_nodes if isinstance(sites.frame, Frame) else 0


def _chunks_at_once(job: Job, sites: Sites) -> int:
    """How many chunks of a graph are one batch: of what a classifier wants, as many as stay in the cache of a core."""
    copies = TOGETHER_BYTES // (sites.n_sites // 8 + 4 * _n_nodes(sites) + 1)
    if job.batch_size is not None:
        copies = min(copies, job.batch_size)
    return max(1, min(job.classifier.chunks_per_batch, copies // job.chunk_size))


def _with_sites(job: Job, chunks: Iterable[Chunk], executor: Executor) -> Iterator[tuple[Parcel[Sites], Together]]:
    """Chunks with the sites of their graph: one parcel for those that follow each other."""
    for graph, some in groupby(_together(job, chunks), key=lambda together: together[0].graph):
        sites = Parcel(job.sites[graph], executor)
        for together in some:
            yield sites, together


def _count_there(job: Job, sites: Sites, chunks: Together) -> tuple[bytes, list[tuple[FlipRecord | None, ...]]]:
    """What travels back of tallies: a small array takes longer to pickle than its bytes."""
    found = count_chunks(job.classifier, sites, job, chunks)
    return b"".join(tally.counts.tobytes() for tally in found), [tally.records for tally in found]


def _check_travels(job: Parcel[Job], executor: Executor) -> None:
    """Refuses a classifier that a process pool of the standard library cannot send to its workers."""
    if pickles_plainly(executor):
        try:
            _ = job.packed
        except (pickle.PicklingError, AttributeError, TypeError, RuntimeError) as error:  # the last is TorchScript's
            raise InvalidParameterError(
                "base",
                "be picklable to travel to another process",
                type(job.content.classifier).__name__,
                f"({error}.) Use a function at the top of a module, or loky's executor, which takes lambdas too.",
            ) from None
