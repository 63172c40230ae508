"""Chunks to votes, in this process or on any executor: draws the noisy copies, asks the classifier, and counts.

Which chunks are counted in one batch, and where, changes no vote. What fails is reported with the graph and the chunk.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from itertools import groupby, islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.classifiers.base import (
    MIN_BATCH,
    Classifier,
    DrawsItself,
    Scores,
    check_alone,
    checked_answers,
    checked_scores,
    look_like_probabilities,
    named_errors,
    places_to_check,
    refuse_probabilities,
)
from starcert.math.arithmetic import compiled
from starcert.math.flips import FlipRecord, ShownFlips
from starcert.objects import NodeFrame
from starcert.objects.binding import axes_of_sites
from starcert.sampling.batch import flips_of
from starcert.sampling.sampler import draw_each
from starcert.sampling.streams import WordStream, states_of_chunks
from starcert.sampling.views import clean_copy
from starcert.system.errors import InvalidParameterError
from starcert.system.stages import Stage, add_votes, stage
from starcert.system.travelling import SentOnce, map_on_workers, pickles_plainly
from starcert.voting.jobs import NOT_RECORDED, Chunk, Counts, Job, Tally, fitting_batch_of, sampler_of

if TYPE_CHECKING:
    from starcert.math.flips import Flips
    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import NoisyCopies, NoisyGraphs

__all__ = ["answers_on", "count_chunk", "tallies"]

MAX_BATCH_BYTES = 2**21
"""Copies of several chunks are one batch if their bits and the degrees of their nodes take no more."""

MAX_CHUNK_BYTES = 2**25
"""The most bytes that the flips of one chunk may take: a store keeps them as one value."""

FEW_CLASSES = 8
"""Up to this many classes, looking for each of them is quicker than sorting answers into places."""


def tallies(job: Job, chunks: Iterable[Chunk], executor: Executor | None = None) -> Iterator[Tally]:
    """The votes of every chunk, in whatever order they come.

    Without an executor the chunks are counted here. With one they go to its workers, each of which receives the
    classifier once.
    """
    if executor is not None:
        common = SentOnce(job.without_graphs, executor)
        _check_picklable(common, executor)
        for _, found in map_on_workers(executor, _count_group, common, _with_sites(job, chunks, executor)):
            yield from found
    elif job.classifier.max_batch_nodes and job.batch_size is None:
        for group in _groups_of_graphs(job, chunks):
            yield from _count_graphs(job, group)
    else:
        for group in _groups_of_one_graph(job, chunks):
            yield from _count_group(job, job.sites[group[0].graph], group)


def _check_picklable(job: SentOnce[Job], executor: Executor) -> None:
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


def _with_sites(
    job: Job, chunks: Iterable[Chunk], executor: Executor
) -> Iterator[tuple[SentOnce[Sites], Sequence[Chunk]]]:
    for graph, groups in groupby(_groups_of_one_graph(job, chunks), key=lambda group: group[0].graph):
        sites = SentOnce(job.sites[graph], executor)
        for group in groups:
            yield sites, group


def _groups_of_one_graph(job: Job, chunks: Iterable[Chunk]) -> Iterator[Sequence[Chunk]]:
    """The chunks, each alone, or as many of one graph and purpose as the classifier wants in one batch.

    More are never together than stay in the cache of a core. The chunk that the classifier is checked in is alone.
    """
    if job.classifier.chunks_per_batch == 1:
        yield from ([chunk] for chunk in chunks)
        return
    for graph, of_graph in groupby(chunks, key=lambda chunk: chunk.graph):
        sites = job.sites[graph]
        copies = MAX_BATCH_BYTES // (sites.n_sites // 8 + 4 * _n_nodes(sites) + 1)
        if job.batch_size is not None:
            copies = min(copies, job.batch_size)
        most = max(1, min(job.classifier.chunks_per_batch, copies // job.chunk_size))
        for (_, checked), alike in groupby(of_graph, key=lambda chunk: (chunk.purpose, _is_checked(job, chunk))):
            while group := list(islice(alike, 1 if checked else most)):
                yield group


def _groups_of_graphs(job: Job, chunks: Iterable[Chunk]) -> Iterator[Sequence[Chunk]]:
    """The chunks, as many at once as have no more nodes in all copies than a classifier gathers, or one."""
    group, nodes = list[Chunk](), 0
    for chunk in chunks:
        own = chunk.samples * max(1, _n_nodes(job.sites[chunk.graph]))
        if group and nodes + own > job.classifier.max_batch_nodes:
            yield group
            group, nodes = [], 0
        group.append(chunk)
        nodes += own
    if group:
        yield group


def _n_nodes(sites: Sites) -> int:
    """How many nodes an object has: 0, if it is not a graph."""
    return sites.frame.n_nodes if isinstance(sites.frame, NodeFrame) else 0


def _count_group(job: Job, sites: Sites, chunks: Sequence[Chunk]) -> list[Tally]:
    """What `count_chunk` finds for each of these chunks, which are of one graph and purpose; several as one batch."""
    classifier, size, n_targets = job.classifier, job.chunk_size, job.classifier.n_targets(sites.frame)
    copies = None
    if len(chunks) > 1:
        with stage("drawing"):
            states = states_of_chunks(job.seed, sites.clean.key, chunks[0].purpose, [each.number for each in chunks])
            copies = draw_each(sampler_of(classifier, sites, job.noise), states, size)
    if copies is None:
        return [count_chunk(job, sites, chunk) for chunk in chunks]
    with named_errors(_name_of(chunks[0])), stage("model"):
        answers = checked_answers(classifier.classify(copies), len(copies), classifier.n_classes, n_targets)
    with stage("counting"):
        samples = np.array([each.samples for each in chunks])
        counts = _count_each(answers.reshape(len(copies), -1), size, samples, classifier.n_classes)
        records: list[tuple[FlipRecord | None, ...]] = [()] * len(chunks)
        for number, chunk in enumerate(chunks):
            if chunk.against is not None:
                first, flips = number * size, _ChunkFlips(chunk, sites, job.noise)
                flips.add(copies, answers[first : first + chunk.samples], first)
                records[number] = flips.records()
    add_votes(int(samples.sum()))
    return list(map(Tally, chunks, counts, records))


def _count_graphs(job: Job, chunks: Sequence[Chunk]) -> list[Tally]:
    """What `count_chunk` finds for each of these chunks, of one graph or several; all are asked about at once."""
    counters = [_Counter(job, job.sites[chunk.graph], chunk) for chunk in chunks]
    batches = [batch for counter in counters for batch in counter.batches()] if len(chunks) > 1 else []
    if len(batches) == len(chunks):
        try:
            with stage("model", counters[0].device):
                found = job.classifier.scored_each(batches)
        except Exception:  # noqa: BLE001  (whatever a user's code may raise: one by one, the graph is named)
            pass
        else:
            for counter, batch, scores in zip(counters, batches, found, strict=True):
                counter.add(batch, scores)
            return [counter.tally() for counter in counters]
    return [count_chunk(job, job.sites[chunk.graph], chunk) for chunk in chunks]


def count_chunk(job: Job, sites: Sites, chunk: Chunk) -> Tally:
    """Draws the samples of a chunk, asks the classifier, and counts.

    In the first chunk of the first graph a few copies are asked alone before any vote counts: a classifier with dropout
    or batch statistics is refused at once, and not by the audit when all votes are there.
    """
    counter = _Counter(job, sites, chunk)
    for batch in counter.batches():
        with named_errors(_name_of(chunk)), stage("model", counter.device):
            found = job.classifier.scored(batch) if counter.checking else Scores(job.classifier.classify(batch))
        counter.add(batch, found)
    return counter.tally()


class _Counter:
    """Counts the votes of one chunk, batch by batch.

    Attributes:
        checking: whether the classifier is checked on this chunk.
        device: where the classifier works, if it draws its copies itself.
    """

    def __init__(self, job: Job, sites: Sites, chunk: Chunk) -> None:
        self._job, self._sites, self._chunk = job, sites, chunk
        classifier = job.classifier
        self.checking = _is_checked(job, chunk)
        self.device = classifier.device if isinstance(classifier, DrawsItself) else None
        self._n_drawn = min(max(chunk.samples, MIN_BATCH), job.chunk_size) if self.checking else chunk.samples
        n_targets = classifier.n_targets(sites.frame)
        self._counts = np.zeros((1 if n_targets is None else n_targets, classifier.n_classes), dtype=np.int64)
        self._flips = None if chunk.against is None else _ChunkFlips(chunk, sites, job.noise)
        self._recording: Stage = "counting" if classifier.backend == "cpu" else "transfer"
        self._first = 0
        self._like_probabilities = self.checking

    def batches(self) -> Iterator[NoisyGraphs]:
        """The copies, as many at a time as the classifier sees at once; each portion is drawn when its turn comes."""
        job, chunk = self._job, self._chunk
        most = fitting_batch_of(job, self._sites)
        with stage("drawing", self.device):
            stream = WordStream.of_chunk(job.seed, self._sites.clean.key, chunk.purpose, chunk.number)
            portions = sampler_of(job.classifier, self._sites, job.noise).portions(
                stream, job.chunk_size, self._n_drawn
            )
        while True:
            with stage("drawing", self.device):
                copies = next(portions, None)
            if copies is None:
                return
            yield from copies.split(most)

    def add(self, batch: NoisyGraphs, found: Scores) -> None:
        """Adds what the classifier found in the next batch, after a check if this is the chunk for it."""
        with named_errors(_name_of(self._chunk)), stage("model", self.device):
            found = checked_scores(found, self._job.classifier, batch)
        self._like_probabilities = self._like_probabilities and look_like_probabilities(found)
        if self.checking:
            self._check(batch, found)
        with stage("counting"):
            answers = np.asarray(found.answers)[: max(0, self._chunk.samples - self._first)]
            _add_answers(self._counts, answers)
        if self._flips is not None:
            with stage(self._recording, self.device):
                self._flips.add(batch, answers)
        self._first += len(batch)

    def _check(self, batch: NoisyGraphs, found: Scores) -> None:
        for copy in places_to_check(self._n_drawn, scored=found.numbers is not None):
            if self._first <= copy < self._first + len(batch):
                name = f"noisy copy {copy} of graph {self._chunk.graph}"
                with stage("model", self.device):
                    check_alone(self._job.classifier, batch, found, copy - self._first, name=name)

    def tally(self) -> Tally:
        """The votes, and the flips that are to be recorded."""
        if self._like_probabilities:
            refuse_probabilities(self._n_drawn)
        add_votes(self._chunk.samples)
        with stage(self._recording, self.device):
            return Tally(self._chunk, self._counts, () if self._flips is None else self._flips.records())


def _is_checked(job: Job, chunk: Chunk) -> bool:
    """Whether the classifier is checked in a chunk: in the first of all."""
    return chunk.graph == 0 and chunk.purpose == "selection" and chunk.number == 0 and job.chunk_size > 1


def _name_of(chunk: Chunk) -> str:
    return f"graph {chunk.graph}, {chunk.purpose} chunk {chunk.number}"


class _ChunkFlips:
    """The flips of the votes of a chunk against a class, or against that of each target, batch by batch."""

    def __init__(self, chunk: Chunk, sites: Sites, noise: Noise) -> None:
        self._chunk, self._sites, self._noise = chunk, sites, noise
        against = chunk.against if chunk.against is not None else ()
        self._labels = np.array([against] if isinstance(against, int) else against)
        self._answers: list[npt.NDArray[np.signedinteger]] = []
        self._flips: list[Flips] = []

    def add(self, batch: NoisyCopies, answers: npt.NDArray[np.signedinteger], first: int = 0) -> None:
        """Adds the answers on the copies of a batch, or on some of them, starting with the first."""
        answers = answers.reshape(len(answers), len(self._labels))
        if len(self._labels) == 1:
            against = _others(answers[:, 0], self._labels[0])
        else:  # a copy is fetched once for all targets that it is against
            against = np.flatnonzero(((answers != self._labels) & (self._labels != NOT_RECORDED)).any(axis=1))
        self._answers.append(answers[against])
        self._flips.append(flips_of(batch, against + first if first else against))

    def records(self) -> tuple[FlipRecord | None, ...]:
        """The record of the chunk for each target."""
        flips = self._flips
        if not self._noise.is_valued:
            flips = [each.places if isinstance(each, ShownFlips) else each for each in flips]
        answers = self._answers[0] if len(self._answers) == 1 else np.concatenate(self._answers)
        first, n_sites = int(self._labels[0]), self._sites.n_sites
        everything = FlipRecord.of_chunk(first, n_sites, self._chunk.samples, answers[:, 0], flips)
        too_large = len(everything) * n_sites > 8 * MAX_CHUNK_BYTES and everything.flip_bytes > MAX_CHUNK_BYTES
        if self._chunk.by_axis or too_large:
            everything = everything.by_numbers(axes_of_sites(self._sites, self._noise), len(self._noise.axes))
        if len(self._labels) == 1:
            return (everything,)
        return tuple(
            None if label == NOT_RECORDED else everything.against_class(label, answers[:, target])
            for target, label in enumerate(self._labels.tolist())
        )


@compiled
def _others(answers, label):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The places of all answers but one, ascending: some five times as fast as numpy finds them."""
    places = np.empty(answers.size, np.int64)
    found = 0
    for place in range(answers.size):
        places[found] = place
        found += answers[place] != label
    return places[:found].copy()


def answers_on(classifier: Classifier, sites: Sites) -> npt.NDArray[np.int64]:
    """The base classifier's own answers on a clean graph, one per target; a ValueError says what is wrong with them."""
    n_targets = classifier.n_targets(sites.frame)
    answers = checked_answers(classifier.classify(clean_copy(sites)), 1, classifier.n_classes, n_targets)
    return answers.reshape(-1)


def _add_answers(counts: Counts, answers: npt.NDArray[np.signedinteger]) -> None:
    """Adds answers, shape (copies,) or (copies, targets), to the counts of each target."""
    n_targets, n_classes = counts.shape
    if n_targets == 1 and n_classes <= FEW_CLASSES:
        counts[0] += [np.count_nonzero(answers == label) for label in range(n_classes)]
        return
    places = answers.reshape(len(answers), n_targets) + n_classes * np.arange(n_targets)
    counts += np.bincount(places.ravel(), minlength=counts.size).reshape(counts.shape)


@compiled
def _count_each(answers, size, samples, n_classes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The votes of each chunk, shape (chunks, targets, classes), from the first answers of each `size` copies."""
    counts = np.zeros((samples.size, answers.shape[1], n_classes), np.int64)
    for chunk in range(samples.size):
        for copy in range(chunk * size, chunk * size + samples[chunk]):
            for target in range(answers.shape[1]):
                counts[chunk, target, answers[copy, target]] += 1
    return counts
