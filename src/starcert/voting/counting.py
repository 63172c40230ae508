"""Votes: a piece of work is one or several chunks of a graph, whose answers are counted.

Which chunks are one piece, and where they are counted, changes no vote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from itertools import groupby, islice, pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.classifiers.base import MIN_BATCH
from starcert.math.ballots import Ballots
from starcert.math.flips import Flips, ShownFlips
from starcert.objects import Sites
from starcert.objects.binding import first_axis_of_sites
from starcert.sampling.batch import Copies, NoisyCopies, flips_of, select_copies
from starcert.sampling.sampler import draw_each
from starcert.sampling.streams import WordStream
from starcert.voting.ask import (
    Again,
    Asking,
    Batch,
    ask,
    asked_again,
    checked,
    fitting_batch_of,
    nodes_of,
    sampler_of,
    table_of,
)
from starcert.voting.plans import Chunk, Job, Tally

MAX_BATCH_BYTES = 2**21  # of the bits and degrees of the copies of several chunks that are one batch
CHUNKS_WITH_TABLE = 8  # chunks that are one piece where copies repeat: few of them are distinct
MAX_FIRST = 2**12  # answers on the first copies of a chunk, beyond those of the first one
MAX_CHUNK_BYTES = 2**25  # of the flips of one chunk: a store keeps them as one value


def tallies(job: Job, chunks: Iterable[Chunk], executor: Executor | None = None) -> Iterator[Tally]:
    """The votes of every chunk, in whatever order they come; counted here, or by the workers of an executor."""
    for _, found in ask(job, _pieces(job, chunks), executor):
        yield from found


def _pieces(job: Job, chunks: Iterable[Chunk]) -> Iterator[NoisyChunks]:
    """The chunks, each alone, or as many of one graph and purpose as the classifier wants and a cache has room for."""
    for graph, of_graph in groupby(chunks, key=lambda chunk: chunk.graph):
        sites = job.sites[graph]
        copies = MAX_BATCH_BYTES // (sites.n_sites // 8 + 4 * nodes_of(sites) + 1)
        if job.batch_size is not None:
            copies = min(copies, job.batch_size)
        wanted = job.classifier.chunks_per_batch if table_of(job, sites) is None else CHUNKS_WITH_TABLE
        most = max(1, min(wanted, copies // job.chunk_size))
        for (_, first), alike in groupby(of_graph, key=lambda chunk: (chunk.purpose, _is_first(job, chunk))):
            while group := list(islice(alike, 1 if first else most)):  # alone where the classifier is checked
                yield NoisyChunks(graph, group)


class NoisyChunks(NamedTuple):
    """A piece: chunks of one graph and purpose, whose votes are counted; several as one batch."""

    graph: int
    chunks: list[Chunk]

    @property
    def n_copies(self) -> int:
        """The number of votes."""
        return sum(chunk.samples for chunk in self.chunks)

    def ask(self, job: Job, sites: Sites) -> Asking[list[Tally]]:
        """The votes of each chunk."""
        counters = [_Counter(job, sites, chunk) for chunk in self.chunks]
        copies = self._joined(job, sites) if len(counters) > 1 else None
        if copies is None:
            for counter in counters:
                yield from counter.ask()
        else:
            answers = np.asarray((yield Batch(copies, _name_of(self.chunks[0]))).answers)
            ends = np.cumsum([0, *(chunk.samples for chunk in self.chunks)]).tolist()
            for (first, end), counter in zip(pairwise(ends), counters, strict=True):
                counter.count(copies, answers[first:end], first)
        return [counter.tally() for counter in counters]

    def _joined(self, job: Job, sites: Sites) -> Copies | None:
        """The copies of all chunks as one batch; None where nothing is gained, or a table has ended since."""
        if len(self.chunks) > job.classifier.chunks_per_batch and table_of(job, sites) is None:
            return None
        streams, size = (_stream_of(job, sites, chunk) for chunk in self.chunks), job.chunk_size
        drawn = draw_each(sampler_of(job.classifier, sites, job.noise), streams, size)
        if drawn is None or self.n_copies == len(drawn):
            return drawn
        wanted = [np.arange(i * size, i * size + chunk.samples) for i, chunk in enumerate(self.chunks)]
        return select_copies(drawn, np.concatenate(wanted))


class ChunkAgain(NamedTuple):
    """A piece: the copies of a chunk, to compare the answers with those that it had."""

    chunk: Chunk

    @property
    def graph(self) -> int:
        """The graph of the chunk."""
        return self.chunk.graph

    @property
    def n_copies(self) -> int:
        """The number of copies."""
        return self.chunk.samples

    def ask(self, job: Job, sites: Sites) -> Asking[Again]:
        """The answers on them."""
        return asked_again(batches(job, sites, self.chunk, self.chunk.samples))


def _stream_of(job: Job, sites: Sites, chunk: Chunk) -> WordStream:
    return WordStream.of_chunk(job.seed, sites.clean.key, chunk.purpose, chunk.number)


def batches(job: Job, sites: Sites, chunk: Chunk, n_copies: int) -> Iterator[Batch]:
    """The first copies of a chunk, as many at a time as the classifier sees at once, each portion drawn in its turn."""
    most, name = fitting_batch_of(job, sites), _name_of(chunk)
    sampler = sampler_of(job.classifier, sites, job.noise)
    for copies in sampler.portions(_stream_of(job, sites, chunk), job.chunk_size, n_copies):
        yield from (Batch(batch, name) for batch in copies.split(most))


class _Counter:
    """Counts the votes of one chunk, batch by batch, and keeps the copies that are to be recorded."""

    def __init__(self, job: Job, sites: Sites, chunk: Chunk) -> None:
        self._job, self._sites, self._chunk = job, sites, chunk
        classifier = job.classifier
        n_targets = classifier.n_targets(sites.frame)
        self._counts = np.zeros((1 if n_targets is None else n_targets, classifier.n_classes), dtype=np.int64)
        self._answers: list[npt.NDArray[np.signedinteger]] = []
        self._flips: list[Flips] = []
        self._n_counted = 0
        self._first: list[npt.NDArray[np.signedinteger]] = []

    def ask(self) -> Asking[None]:
        """Asks about the copies, and counts the answers."""
        job, chunk = self._job, self._chunk
        if not _is_first(job, chunk):
            yield from self._countbatches(chunk.samples)
            return
        n_drawn, graph = min(max(chunk.samples, MIN_BATCH), job.chunk_size), chunk.graph
        yield from checked(
            self._countbatches(n_drawn), job.classifier, n_drawn, lambda copy: f"noisy copy {copy} of graph {graph}"
        )

    def _countbatches(self, n_drawn: int) -> Asking[None]:
        for batch in batches(self._job, self._sites, self._chunk, n_drawn):
            self.count(batch.copies, np.asarray((yield batch).answers))

    def count(self, batch: NoisyCopies, answers: npt.NDArray[np.signedinteger], first: int = 0) -> None:
        """Counts the answers on the next copies, which are in a batch from the `first` on; no more than are wanted."""
        n_targets, n_classes = self._counts.shape
        wanted = answers[: max(0, self._chunk.samples - self._n_counted)].reshape(-1, n_targets)
        places = wanted + n_classes * np.arange(n_targets)
        self._counts += np.bincount(places.ravel(), minlength=self._counts.size).reshape(self._counts.shape)
        if (kept := n_first(n_targets) - self._n_counted) > 0:
            self._first.append(wanted[:kept])
        if (recorded := self._chunk.recorded) is not None:
            labels, rows = recorded.labels, np.arange(len(wanted))
            if labels is not None:
                wanted = wanted[:, : len(labels)]
                rows = np.flatnonzero((wanted != labels).any(axis=1))
            self._answers.append(wanted[rows])
            self._flips.append(flips_of(batch, rows + first))
        self._n_counted += len(answers)

    def tally(self) -> Tally:
        """The votes, and the ballots that are to be kept."""
        first = np.concatenate(self._first).astype(np.int64)
        return Tally(self._chunk, self._counts, self._ballots(), first)

    def _ballots(self) -> Ballots | None:
        job, chunk, flips = self._job, self._chunk, self._flips
        if chunk.recorded is None:
            return None
        if not job.noise.is_valued:
            flips = [each.places if isinstance(each, ShownFlips) else each for each in flips]
        labels, how = chunk.recorded
        found = Ballots.of_chunk(labels, self._sites.n_sites, chunk.samples, np.concatenate(self._answers), flips)
        if how == "listed":
            return found.at(job.listed[chunk.graph])
        too_large = len(found) * found.n_sites > 8 * MAX_CHUNK_BYTES and found.flip_bytes > MAX_CHUNK_BYTES
        if how == "numbers" or too_large:
            return found.by_numbers(first_axis_of_sites(self._sites, job.noise), len(job.noise.axes))
        return found


def n_first(n_targets: int) -> int:
    """Of how many copies of a chunk the answers are kept, to be compared when they are classified again."""
    return max(1, min(MIN_BATCH, MAX_FIRST // n_targets))


def _is_first(job: Job, chunk: Chunk) -> bool:
    """True if it is the first chunk of all, on which the classifier is checked."""
    return chunk.graph == 0 and chunk.purpose == "selection" and chunk.number == 0 and job.chunk_size > 1


def _name_of(chunk: Chunk) -> str:
    return f"graph {chunk.graph}, {chunk.purpose} chunk {chunk.number}"
