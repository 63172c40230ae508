"""Votes: a piece of work is one or several chunks of a graph, whose answers are counted, and some counted again.

Which chunks are one piece, and where they are counted, changes no vote.

A certificate is about one classifier, and a store serves no other. At the end of a run the first and the last
estimation chunk that it drew, and more in between, must get the answers that they had: a classifier that counts its
calls or learns from them shows. Where a store is continued, the first and the last chunk in it are counted again, and
more where few votes are against the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from itertools import accumulate, groupby, islice
from math import log
from os import PathLike
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
from starcert.system.errors import ClassifierError
from starcert.voting import PURPOSES
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
from starcert.voting.store import GraphRecord, VoteSettings, VoteStore

MAX_BATCH_BYTES = 2**21  # of the bits and degrees of the copies of several chunks that are one batch
CHUNKS_WITH_TABLE = 8  # chunks that are one piece where copies repeat: few of them are distinct
MAX_FIRST = 2**12  # answers on the first copies of a chunk, beyond those of the first one
MAX_CHUNK_BYTES = 2**25  # of the flips of one chunk: a store keeps them as one value
SPREAD = 4  # at most this many chunks of each graph, evenly spread, may be counted again, beside its first and last
MAX_SHARE = 0.03  # of the votes of a run, or of the stored ones of a graph, that are counted again beside the two ends

CHANGED = (
    "the base classifier changed while it voted: it answers copies that it has voted on differently now, so its votes "
    "are not those of one classifier"
)
_HINT = "Nothing is certified. Let no answer depend on a counter, on earlier answers or on a random generator."


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
            sizes = [chunk.samples if len(copies) == self.n_copies else job.chunk_size for chunk in self.chunks]
            for first, counter in zip(accumulate([0, *sizes]), counters, strict=False):
                counter.count(copies, answers[first : first + counter.n_wanted], first)
        return [counter.tally() for counter in counters]

    def _joined(self, job: Job, sites: Sites) -> Copies | None:
        """The copies of all chunks as one batch; None where nothing is gained, or a table has ended since."""
        if len(self.chunks) > job.classifier.chunks_per_batch and table_of(job, sites) is None:
            return None
        streams, size = (_stream_of(job, sites, chunk) for chunk in self.chunks), job.chunk_size
        drawn = draw_each(sampler_of(job.classifier, sites, job.noise), streams, size)
        more = 0 if drawn is None else len(drawn) - self.n_copies  # drawn, as chunks are, but not counted
        if not more or (more <= job.classifier.call_cost and table_of(job, sites) is None):
            return drawn
        assert drawn is not None
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

    @property
    def n_wanted(self) -> int:
        """The number of votes of the chunk."""
        return self._chunk.samples

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


class ChangedError(ClassifierError):
    """A classifier gives other answers than those that it voted with."""

    def __init__(self, message: str = f"{CHANGED[0].upper()}{CHANGED[1:]}. {_HINT}") -> None:
        super().__init__(message)


class DrawnVotes:
    """The beginnings of some estimation chunks that a run drew of each graph: the first, the last, some in between.

    They are votes, with the answers that counted, whoever gave them: a worker, or a table that has ended since. The
    numbers of those in between are multiples of a power of two, so that the order of chunks does not matter.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._ends: dict[int, tuple[Tally, Tally]] = {}
        self._spread: dict[int, dict[int, Tally]] = {}
        self._steps: dict[int, int] = {}
        self._votes = 0

    def note(self, tally: Tally) -> None:
        """Notes what was drawn."""
        graph, purpose, number, samples, *_ = tally.chunk
        if purpose != "estimation" or tally.first is None:
            return
        self._votes += samples
        noted = Tally(tally.chunk, tally.counts, first=tally.first)  # the flips take more memory
        lowest, highest = self._ends.get(graph, (noted, noted))
        self._ends[graph] = min(noted, lowest, key=_number_of), max(noted, highest, key=_number_of)
        step, spread = self._steps.get(graph, 1), self._spread.setdefault(graph, {})
        if number % step == 0:
            spread[number] = noted
            while len(spread) > SPREAD:
                step = self._steps[graph] = 2 * step
                self._spread[graph] = spread = {each: kept for each, kept in spread.items() if each % step == 0}

    def check(self, *, ends_only: bool = False) -> None:
        """Raises a ChangedError if the classifier answers some of them differently now; ties may go either way."""
        drawn = list[Tally]()
        for graph, ends in sorted(self._ends.items()):
            of_graph = {_number_of(tally): tally for tally in (*ends, *self._spread[graph].values())}
            drawn += [tally for _, tally in sorted(of_graph.items())]
        cost = max(MIN_BATCH, self._job.classifier.call_cost)  # of one of them, in votes
        most = 2 if ends_only else max(2, int(MAX_SHARE * self._votes / cost))
        for place in np.unique(np.linspace(0, len(drawn) - 1, min(most, len(drawn))).astype(int)).tolist():
            self._check(drawn[place])

    def _check(self, tally: Tally) -> None:
        assert tally.first is not None
        piece = ChunkAgain(tally.chunk._replace(samples=len(tally.first), recorded=None))
        for _, (answers, tied) in ask(self._job, [piece]):
            if ((answers != tally.first) & ~tied).any():
                raise ChangedError


def _number_of(tally: Tally) -> int:
    return tally.chunk.number


def open_store(path: str | PathLike[str], job: Job) -> VoteStore:
    """The store of a job, new or continued; see `VoteStore.open`."""
    base, noise = job.classifier, job.noise.to_dict()
    for region, stated in job.noise.stated.items():  # other transitions under one name are another noise
        noise[region] = {**noise[region], "transitions": stated}  # type: ignore[dict-item]
    settings = VoteSettings(noise, base.description, base.n_classes, job.seed, job.chunk_size, base.backend)
    graphs = []
    for i, (each, capacities) in enumerate(zip(job.sites, job.problem.capacities, strict=True)):
        sizes = dict(zip(job.noise.axes, capacities, strict=True))
        graphs.append(GraphRecord(i, each.clean.key, each.key, sizes, each.reason, n_targets=job.n_targets(i)))
    return VoteStore.open(path, settings, graphs)


def stored_chunks(job: Job, store: VoteStore) -> Iterator[Chunk]:
    """The stored chunks that are counted again before votes are added: the first and last of all, others by graph."""
    listed = list[tuple[list[Chunk], int]]()
    for graph in range(len(job.sites)):
        stored = {purpose: store.tallies(graph, purpose) for purpose in PURPOSES}
        chunks = [Chunk(graph, purpose, *each[:2]) for purpose, found in stored.items() for each in found]
        counts = sum(counts for _, _, counts in stored["estimation"])
        against = 0 if isinstance(counts, int) else int((counts.sum(axis=1) - counts.max(axis=1)).min())
        listed.append((chunks, against))
    estimation = [chunk for chunks, _ in listed for chunk in chunks if chunk.purpose == "estimation"]
    ends = dict.fromkeys((estimation[0], estimation[-1]) if estimation else ())
    yield from ends
    for chunks, against in listed:
        yield from (chunk for chunk in chunks_to_recount(chunks, against) if chunk not in ends)


def chunks_to_recount(stored: Sequence[Chunk], against: int) -> list[Chunk]:
    """The stored chunks of a graph that are counted again before more votes are added.

    First one with enough votes to tell one classifier from another: selection chunk 0, if it has. It shows little where
    votes are nearly unanimous. A classifier with twice as many votes against its class shows that with probability 99%
    in a share log(100) / (against + 1) of the votes, so that share is counted again, at most `MAX_SHARE`: further
    estimation chunks at even distances, or the beginning of the last one.

    Example:
        >>> from starcert.voting.plans import chunks_of
        >>> stored = [Chunk(0, "selection", 0, 100), *chunks_of(0, "estimation", 100_000, 1000)]
        >>> [(chunk.number, chunk.samples) for chunk in chunks_to_recount(stored, against=0)]
        [(0, 100), (49, 1000), (99, 1000)]
        >>> [(chunk.number, chunk.samples) for chunk in chunks_to_recount(stored, against=20_000)]
        [(0, 100)]
    """
    first = sorted(stored, key=lambda each: (each.samples < MIN_BATCH, each.purpose != "selection", each.number))[:1]
    others = [chunk for chunk in stored if chunk.purpose == "estimation" and chunk not in first]
    share = min(MAX_SHARE, log(100) / (against + 1))
    wanted = int(share * sum(chunk.samples for chunk in others)) - sum(chunk.samples for chunk in first)
    if wanted <= 0:
        return first
    number = wanted // max(chunk.samples for chunk in others)
    if not number:
        return [*first, others[-1]._replace(samples=min(wanted, others[-1].samples))]
    return [*first, *(others[len(others) * place // number - 1] for place in range(1, number + 1))]
