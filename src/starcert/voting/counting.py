"""Chunks to votes, in this process or on any executor: draws the noisy copies, asks the classifier, and counts.

Which chunks are counted in one batch, and where, changes no vote. What fails is reported with the graph and the chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from itertools import groupby, islice
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from starcert.classifiers import base
from starcert.classifiers.base import MIN_BATCH, Classifier, DrawsItself, Scores
from starcert.math.flips import FlipRecord, Flips, ShownFlips
from starcert.math.joint import JointVotes
from starcert.objects import NodeFrame, Sites
from starcert.objects.binding import axes_of_sites
from starcert.sampling.batch import NoisyCopies, NoisyGraphs, flips_of
from starcert.sampling.sampler import draw_each
from starcert.sampling.streams import WordStream
from starcert.sampling.views import clean_copy
from starcert.system.stages import Stage, add_votes, stage
from starcert.system.travelling import SentOnce, map_on_workers
from starcert.voting.plans import NOT_RECORDED, Chunk, Job, Tally, fitting_batch_of, sampler_of

_T = TypeVar("_T")

MAX_BATCH_BYTES = 2**21  # of the bits and degrees of the copies of several chunks that are one batch
MAX_FIRST = 2**12  # answers on the first copies of a chunk, beyond those of the first one
MAX_CHUNK_BYTES = 2**25  # of the flips of one chunk: a store keeps them as one value


def tallies(job: Job, chunks: Iterable[Chunk], executor: Executor | None = None) -> Iterator[Tally]:
    """The votes of every chunk, in whatever order they come; counted here, or by the workers of an executor."""
    if executor is not None:
        common = SentOnce(job.without_graphs, executor)
        for _, found in map_on_workers(executor, _count_group, common, _with_sites(job, chunks, executor)):
            yield from found
    elif (most := job.classifier.max_batch_nodes) and job.batch_size is None:
        for group in gathered(chunks, lambda chunk: chunk.samples * max(1, _n_nodes(job.sites[chunk.graph])), most):
            yield from _count_graphs(job, group)
    else:
        for group in _groups_of_one_graph(job, chunks):
            yield from _count_group(job, job.sites[group[0].graph], group)


def _with_sites(
    job: Job, chunks: Iterable[Chunk], executor: Executor
) -> Iterator[tuple[SentOnce[Sites], Sequence[Chunk]]]:
    for graph, groups in groupby(_groups_of_one_graph(job, chunks), key=lambda group: group[0].graph):
        sites = SentOnce(job.sites[graph], executor)
        for group in groups:
            yield sites, group


def _groups_of_one_graph(job: Job, chunks: Iterable[Chunk]) -> Iterator[list[Chunk]]:
    """The chunks, each alone, or as many of one graph and purpose as the classifier wants and a cache has room for."""
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
            while group := list(islice(alike, 1 if checked else most)):  # alone where the classifier is checked
                yield group


def gathered(pieces: Iterable[_T], nodes_of: Callable[[_T], int], most: int) -> Iterator[list[_T]]:
    """Pieces of work, as many at once as have at most this many nodes in all their copies, or one."""
    group, nodes = list[_T](), 0
    for piece in pieces:
        own = nodes_of(piece)
        if group and nodes + own > most:
            yield group
            group, nodes = [], 0
        group.append(piece)
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
            streams = (WordStream.of_chunk(job.seed, sites.clean.key, each.purpose, each.number) for each in chunks)
            copies = draw_each(sampler_of(classifier, sites, job.noise), streams, size)
    if copies is None:
        return [count_chunk(job, sites, chunk) for chunk in chunks]
    with base.named_errors(_name_of(chunks[0])), stage("model"):
        answers = base.checked_answers(classifier.classify(copies), len(copies), classifier.n_classes, n_targets)
    if n_targets is None and chunks[0].against is None:  # nothing is recorded: all are counted at once
        with stage("counting"):
            wanted = np.concatenate([np.arange(i * size, i * size + each.samples) for i, each in enumerate(chunks)])
            places = answers[wanted] + classifier.n_classes * (wanted // size)
            counts = np.bincount(places, minlength=len(chunks) * classifier.n_classes).reshape(len(chunks), 1, -1)
        add_votes(len(wanted))
        beginnings = answers.reshape(len(chunks), size, 1)[:, : n_first(1)].astype(np.int64)
        return [
            Tally(each, own, first=start[: each.samples])
            for each, own, start in zip(chunks, counts, beginnings, strict=True)
        ]
    counters = [_Counter(job, sites, chunk) for chunk in chunks]
    for first, counter in zip(range(0, len(copies), size), counters, strict=True):
        counter.count(copies, answers[first : first + size], first)
    return [counter.tally() for counter in counters]


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
        with base.named_errors(_name_of(chunk)), stage("model", counter.device):
            found = job.classifier.scored(batch) if counter.checking else Scores(job.classifier.classify(batch))
        counter.add(batch, found)
    return counter.tally()


def scored_batches(job: Job, sites: Sites, chunk: Chunk) -> Iterator[Scores]:
    """What the classifier answers on the copies of a chunk, batch by batch."""
    counter = _Counter(job, sites, chunk)
    for batch in counter.batches():
        with base.named_errors(_name_of(chunk)), stage("model", counter.device):
            yield base.checked_scores(job.classifier.scored(batch), job.classifier, batch)


class _Counter:
    """Counts the votes of one chunk, batch by batch, and records the flips of those against a class.

    The classifier is checked on it if it is `checking`, and works on `device` if it draws its copies itself.
    """

    def __init__(self, job: Job, sites: Sites, chunk: Chunk) -> None:
        self._job, self._sites, self._chunk = job, sites, chunk
        classifier = job.classifier
        self.checking = _is_checked(job, chunk)
        self.device = classifier.device if isinstance(classifier, DrawsItself) else None
        self._n_drawn = min(max(chunk.samples, MIN_BATCH), job.chunk_size) if self.checking else chunk.samples
        n_targets = classifier.n_targets(sites.frame)
        self._counts = np.zeros((1 if n_targets is None else n_targets, classifier.n_classes), dtype=np.int64)
        self._labels = None if chunk.against is None else np.atleast_1d(chunk.against)
        self._joint_sites = job.joint_sites.get(chunk.graph)
        self._answers: list[npt.NDArray[np.signedinteger]] = []
        self._flips: list[Flips] = []
        self._recording: Stage = "counting" if classifier.backend == "cpu" else "transfer"
        self._n_counted = 0
        self._first: list[npt.NDArray[np.signedinteger]] = []
        self._like_probabilities = self.checking

    def batches(self) -> Iterator[NoisyGraphs]:
        """The copies, as many at a time as the classifier sees at once; each portion is drawn when its turn comes."""
        job, chunk = self._job, self._chunk
        most = fitting_batch_of(job, self._sites)
        with stage("drawing", self.device):
            stream = WordStream.of_chunk(job.seed, self._sites.clean.key, chunk.purpose, chunk.number)
            sampler = sampler_of(job.classifier, self._sites, job.noise)
            portions = sampler.portions(stream, job.chunk_size, self._n_drawn)
        while True:
            with stage("drawing", self.device):
                copies = next(portions, None)
            if copies is None:
                return
            yield from copies.split(most)

    def add(self, batch: NoisyGraphs, found: Scores) -> None:
        """Adds what the classifier found in the next batch, after a check if this is the chunk for it."""
        with base.named_errors(_name_of(self._chunk)), stage("model", self.device):
            found = base.checked_scores(found, self._job.classifier, batch)
        self._like_probabilities = self._like_probabilities and base.look_like_probabilities(found)
        if self.checking:
            for copy in base.places_to_check(self._n_drawn, scored=found.numbers is not None):
                if self._n_counted <= copy < self._n_counted + len(batch):
                    name = f"noisy copy {copy} of graph {self._chunk.graph}"
                    with stage("model", self.device):
                        base.check_alone(self._job.classifier, batch, found, copy - self._n_counted, name=name)
        self.count(batch, np.asarray(found.answers))

    def count(self, batch: NoisyCopies, answers: npt.NDArray[np.signedinteger], first: int = 0) -> None:
        """Counts the answers on the next copies, which are in a batch from the `first` on; no more than are wanted."""
        n_targets, n_classes = self._counts.shape
        with stage("counting"):
            wanted = answers[: max(0, self._chunk.samples - self._n_counted)].reshape(-1, n_targets)
            places = wanted + n_classes * np.arange(n_targets)
            self._counts += np.bincount(places.ravel(), minlength=self._counts.size).reshape(self._counts.shape)
            if (kept := n_first(n_targets) - self._n_counted) > 0:
                self._first.append(wanted[:kept])
        if self._labels is not None:
            with stage(self._recording, self.device):  # a copy is fetched once for all targets that it is against
                kept = (wanted != self._labels) & (self._labels != NOT_RECORDED) | (self._joint_sites is not None)
                against = np.flatnonzero(kept.any(axis=1))
                self._answers.append(wanted[against])
                self._flips.append(flips_of(batch, against + first))
        self._n_counted += len(answers)

    def tally(self) -> Tally:
        """The votes, and the flips that are to be recorded."""
        if self._like_probabilities:
            base.refuse_probabilities(self._n_drawn)
        add_votes(self._chunk.samples)
        if self._labels is None:
            return Tally(self._chunk, self._counts, first=self._first_answers())
        with stage(self._recording, self.device):
            return self._recorded(self._labels)

    def _recorded(self, labels: npt.NDArray[np.int64]) -> Tally:
        noise, n_sites, flips = self._job.noise, self._sites.n_sites, self._flips
        if not noise.is_valued:
            flips = [each.places if isinstance(each, ShownFlips) else each for each in flips]
        answers = np.concatenate(self._answers)
        everything = FlipRecord.of_chunk(int(labels[0]), n_sites, self._chunk.samples, answers[:, 0], flips)
        joint = None
        if self._joint_sites is not None:
            joint = JointVotes.of_chunk(self._joint_sites, everything, answers)
        too_large = len(everything) * n_sites > 8 * MAX_CHUNK_BYTES and everything.flip_bytes > MAX_CHUNK_BYTES
        if self._chunk.by_axis or too_large:
            everything = everything.by_numbers(axes_of_sites(self._sites, noise), len(noise.axes))
        records: tuple[FlipRecord | None, ...] = (everything,)
        if len(labels) > 1 or joint is not None:
            records = tuple(
                None if label == NOT_RECORDED else everything.against_class(label, answers[:, target])
                for target, label in enumerate(labels.tolist())
            )
        return Tally(self._chunk, self._counts, records, joint, self._first_answers())

    def _first_answers(self) -> npt.NDArray[np.int64]:
        return np.concatenate(self._first).astype(np.int64)


def n_first(n_targets: int) -> int:
    """Of how many copies of a chunk the answers are kept, to be compared when they are classified again."""
    return max(1, min(MIN_BATCH, MAX_FIRST // n_targets))


def _is_checked(job: Job, chunk: Chunk) -> bool:
    """Whether the classifier is checked in a chunk: in the first of all."""
    return chunk.graph == 0 and chunk.purpose == "selection" and chunk.number == 0 and job.chunk_size > 1


def _name_of(chunk: Chunk) -> str:
    return f"graph {chunk.graph}, {chunk.purpose} chunk {chunk.number}"


def answers_on(classifier: Classifier, sites: Sites) -> npt.NDArray[np.int64]:
    """The base classifier's own answers on a clean graph, one per target; a ValueError says what is wrong with them."""
    n_targets = classifier.n_targets(sites.frame)
    answers = base.checked_answers(classifier.classify(clean_copy(sites)), 1, classifier.n_classes, n_targets)
    return answers.reshape(-1)
