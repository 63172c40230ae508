"""Chunks to votes, in this process or on any executor.

The unit of work is a chunk: a fixed number of samples of one graph for one purpose, with its own random stream. What is
done is kept at once (in the store, if there is one); what fails is reported with the graph and the chunk.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.binding import Problem, axes_of_sites
from starcert.classifiers.agreement import LEAST, asked_alone, check_alone, scores_of
from starcert.classifiers.base import CHUNK_SIZE, Classifier, DrawsItself, checked_answers
from starcert.core.arithmetic import compiled
from starcert.core.flips import MOST_SITES, FlipRecord, ShownFlips
from starcert.errors import ClassifierError, InvalidParameterError
from starcert.graphs import Frame, TargetNodes
from starcert.laws.outcomes import is_valued, why_not_alike
from starcert.sampling.batch import flips_of
from starcert.sampling.draws import LateFlips
from starcert.sampling.room import check_fit, fitting_batch
from starcert.sampling.sampler import Sampler, draw_each, kept_sampler
from starcert.sampling.streams import Purpose, WordStream, states_of_chunks
from starcert.sampling.views import clean_copy
from starcert.system.stages import Stage, add_votes, stage
from starcert.system.travelling import Parcel, pickles_plainly, spread

if TYPE_CHECKING:
    from starcert.core.flips import Flips
    from starcert.graphs import Sites
    from starcert.noise import Noise
    from starcert.sampling.batch import NoisyCopies, NoisyGraphs

__all__ = [
    "NOT_RECORDED",
    "PURPOSES",
    "Chunk",
    "Job",
    "Tally",
    "answers_on",
    "check_memory",
    "chunk_to_recount",
    "chunks_of",
    "count_chunk",
    "count_chunks",
    "fitting_batch_of",
    "tallies",
]

PURPOSES: tuple[Purpose, ...] = ("selection", "estimation")

NOT_RECORDED = -1
"""In the place of the class of a target whose flips are not recorded."""

MOST_CHUNK_BYTES = 2**25
"""The flips of one chunk may take so much: a store keeps them as one value."""

TOGETHER_BYTES = 2**21
"""Copies of several chunks are one batch if their bits and the degrees of their nodes take no more."""

FEW_CLASSES = 8
"""Up to so many classes, to look for each of them is quicker than to sort answers into places."""

Counts = npt.NDArray[np.int64]


class Chunk(NamedTuple):
    """So many samples of one graph for one purpose: the first `samples` of the chunk's stream.

    With a class in `against`, the flips of the votes against it are recorded; with several, those against the class of
    each target, `NOT_RECORDED` for none. With `by_axis` it is how many flips there are on each axis.
    """

    graph: int
    purpose: Purpose
    number: int
    samples: int
    against: int | tuple[int, ...] | None = None
    by_axis: bool = False


class Tally(NamedTuple):
    """A chunk, the votes it gave, shape (targets, classes), and for each target the flips of those against a class.

    There are no flips where nobody asked for them.
    """

    chunk: Chunk
    counts: Counts
    records: tuple[FlipRecord | None, ...] = ()

    @property
    def record(self) -> FlipRecord | None:
        """The flips of the votes on the first target."""
        return self.records[0] if self.records else None


@dataclass(frozen=True)
class Job:
    """What all chunks of a run have in common.

    Attributes:
        classifier: the base classifier.
        problem: the graphs, their noise and their regions, bound once.
        seed: the seed of all streams.
        chunk_size: samples drawn for a chunk, whether or not all of them are used.
        batch_size: the most graphs that the classifier sees at once; None: as many as it wants.
    """

    classifier: Classifier
    problem: Problem
    seed: int
    chunk_size: int = CHUNK_SIZE
    batch_size: int | None = None

    @property
    def noise(self) -> Noise:
        """The noise."""
        return self.problem.noise

    @property
    def sites(self) -> tuple[Sites, ...]:
        """The sites of each graph."""
        return self.problem.sites

    def n_targets(self, graph: int) -> int:
        """How many targets a graph has, each with votes of its own: 1 where the graph itself is classified."""
        n_targets = self.classifier.n_targets(self.sites[graph].frame)
        return 1 if n_targets is None else n_targets

    @property
    def target_nodes(self) -> TargetNodes | None:
        """The node of each target of all graphs; None where the targets of some graph are no nodes."""
        frames = [each.frame for each in self.sites]
        nodes = [self.classifier.target_nodes(frame) for frame in frames]
        known = [each for each in nodes if each is not None]
        if len(known) < len(nodes):
            return None
        for graph, each in enumerate(known):
            if len(each) != self.n_targets(graph):
                must = f"name a node for each of the {self.n_targets(graph)} targets of graph {graph}"
                raise InvalidParameterError("target_nodes", must, f"{len(each)} nodes")
        return TargetNodes.of(frames, known)

    def records(self, graph: int) -> bool:
        """Whether the flips of votes on a graph can be recorded."""
        alike = not any(why_not_alike(self.noise[region]) for region in self.noise)
        return alike and self.sites[graph].n_sites <= MOST_SITES


def chunks_of(
    graph: int,
    purpose: Purpose,
    samples: int,
    chunk_size: int,
    first: int = 0,
    against: int | tuple[int, ...] | None = None,
    *,
    by_axis: bool = False,
) -> Iterator[Chunk]:
    """The chunks that make up so many samples; the last one may be partial.

    Args:
        graph: the number of the graph.
        purpose: what the samples are for.
        samples: how many there are in all.
        chunk_size: samples in a whole chunk.
        first: so many are there already, in whole chunks, and are left out.
        against: the class whose opposing votes are recorded, or that of each target.
        by_axis: whether only the numbers of flips on each axis are.

    Example:
        >>> [chunk.samples for chunk in chunks_of(0, "estimation", 2500, 1024)]
        [1024, 1024, 452]
    """
    for start in range(first, samples, chunk_size):
        yield Chunk(graph, purpose, start // chunk_size, min(chunk_size, samples - start), against, by_axis)


def tallies(job: Job, chunks: Iterable[Chunk], executor: Executor | None = None) -> Iterator[Tally]:
    """The votes of every chunk, in whatever order they come.

    Without an executor the chunks are counted here, one after the other. With one they are spread over its
    workers, to each of which the classifier travels once.
    """
    if executor is None:
        for together in _together(job, chunks):
            yield from count_chunks(job.classifier, job.sites[together[0].graph], job, together)
        return
    common = Parcel(replace(job, problem=Problem(job.noise, ())), executor)
    _check_travels(common, executor)
    n_classes = job.classifier.n_classes
    for together, (counts, records) in spread(executor, _count_there, common, _with_sites(job, chunks, executor)):
        rows = np.frombuffer(counts, dtype=np.int64).reshape(len(together), -1, n_classes)
        yield from map(Tally, together, rows, records)


Together: TypeAlias = tuple[Chunk, ...]
"""Chunks of one graph that are counted at once, one or several."""


def _together(job: Job, chunks: Iterable[Chunk]) -> Iterator[Together]:
    """The chunks, each alone, or as many of one graph as a classifier wants to see as one batch."""
    if job.classifier.together == 1:
        yield from ((chunk,) for chunk in chunks)
        return
    for graph, some in groupby(chunks, key=lambda chunk: chunk.graph):
        most = _chunks_at_once(job, job.sites[graph])
        for (_, checked), like in groupby(some, key=lambda chunk: (chunk.purpose, _checks(job, chunk))):
            while found := tuple(islice(like, 1 if checked else most)):
                yield found


def _chunks_at_once(job: Job, sites: Sites) -> int:
    """How many chunks of a graph are one batch: of what a classifier wants, as many as stay in the cache of a core."""
    n_nodes: int = sites.frame.n_nodes if isinstance(sites.frame, Frame) else 0
    copies = TOGETHER_BYTES // (sites.n_sites // 8 + 4 * n_nodes + 1)
    if job.batch_size is not None:
        copies = min(copies, job.batch_size)
    return max(1, min(job.classifier.together, copies // job.chunk_size))


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


def count_chunks(classifier: Classifier, sites: Sites, job: Job, chunks: Together) -> list[Tally]:
    """What `count_chunk` finds for each of these chunks, which are of one graph and purpose; several as one batch.

    Their copies are the same, and so are the votes.
    """
    if len(chunks) == 1:
        return [count_chunk(classifier, sites, job, chunks[0])]
    size, n_targets = job.chunk_size, classifier.n_targets(sites.frame)
    with stage("drawing"):
        states = states_of_chunks(job.seed, sites.clean.key, chunks[0].purpose, [each.number for each in chunks])
        copies = draw_each(_sampler_of(classifier, sites, job.noise), states, size)
    if copies is None:
        return [count_chunk(classifier, sites, job, chunk) for chunk in chunks]
    with _named_errors(chunks[0]), stage("model"):
        answers = checked_answers(classifier.classify(copies), len(copies), classifier.n_classes, n_targets)
    with stage("counting"):
        samples = np.array([each.samples for each in chunks])
        counts = _count_each(answers.reshape(len(copies), -1), size, samples, classifier.n_classes)
        records: list[tuple[FlipRecord | None, ...]] = [()] * len(chunks)
        for number, chunk in enumerate(chunks):
            if chunk.against is not None:
                own, flips = slice(number * size, number * size + chunk.samples), _Flips(chunk, sites, job.noise)
                flips.add(copies[own], answers[own])
                records[number] = flips.records()
    add_votes(int(samples.sum()))
    return list(map(Tally, chunks, counts, records))


def count_chunk(classifier: Classifier, sites: Sites, job: Job, chunk: Chunk) -> Tally:
    """Draws the samples of a chunk, asks the classifier, and counts.

    Every graph has its selection chunk 0 once. There the classifier shows, before any vote of the graph counts, that it
    answers copies alone as it answers them in the batches that are used.
    """
    checking = _checks(job, chunk)
    drawn = min(max(chunk.samples, LEAST), job.chunk_size) if checking else chunk.samples
    device = classifier.device if isinstance(classifier, DrawsItself) else None
    with stage("drawing", device):
        stream = WordStream.of_chunk(job.seed, sites.clean.key, chunk.purpose, chunk.number)
        portions = _sampler_of(classifier, sites, job.noise).portions(stream, job.chunk_size, drawn)
    most = fitting_batch_of(job, sites)
    n_targets = classifier.n_targets(sites.frame)
    counts = _no_votes(classifier, n_targets)
    flips = None if chunk.against is None else _Flips(chunk, sites, job.noise)
    recording: Stage = "counting" if classifier.backend == "cpu" else "transfer"
    first = 0
    for batch in _batches(portions, most, device):
        with _named_errors(chunk), stage("model", device):
            if checking:
                found = scores_of(classifier, batch)
                answers = np.asarray(found.answers)
            else:
                answers = checked_answers(classifier.classify(batch), len(batch), classifier.n_classes, n_targets)
        if checking:
            for copy in asked_alone(chunk.graph, drawn, scored=found.numbers is not None):
                if first <= copy < first + len(batch):
                    name = f"noisy copy {copy} of graph {chunk.graph}"
                    with stage("model", device):
                        check_alone(classifier, batch, found, copy - first, name=name)
        with stage("counting"):
            answers = answers[: max(0, chunk.samples - first)]
            _add_votes(counts, answers)
        if flips is not None:
            with stage(recording, device):
                flips.add(batch, answers)
        first += len(batch)
    add_votes(chunk.samples)
    with stage(recording, device):
        return Tally(chunk, counts, () if flips is None else flips.records())


def _checks(job: Job, chunk: Chunk) -> bool:
    """Whether a classifier is checked in a chunk: in the first of every graph."""
    return chunk.purpose == "selection" and chunk.number == 0 and job.chunk_size > 1


def _no_votes(classifier: Classifier, n_targets: int | None) -> Counts:
    return np.zeros((1 if n_targets is None else n_targets, classifier.n_classes), dtype=np.int64)


@contextmanager
def _named_errors(chunk: Chunk) -> Iterator[None]:
    """Whatever a user's code may raise: it is named, and nothing is counted."""
    try:
        yield
    except Exception as error:
        where = f"graph {chunk.graph}, {chunk.purpose} chunk {chunk.number}"
        problem = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ClassifierError(f"The base classifier failed on {where}: {problem}") from error


def _batches(portions: Iterator[NoisyGraphs], most: int, device: object) -> Iterator[NoisyGraphs]:
    """The copies of all portions, so many at a time at most; each portion is drawn when its turn comes."""
    while True:
        with stage("drawing", device):
            copies = next(portions, None)
        if copies is None:
            return
        yield from copies.split(most)


class _Flips:
    """The flips of the votes against a class, or against that of each target, batch by batch."""

    def __init__(self, chunk: Chunk, sites: Sites, noise: Noise) -> None:
        self._chunk, self._sites, self._noise = chunk, sites, noise
        against = chunk.against if chunk.against is not None else ()
        self._labels = np.array([against] if isinstance(against, int) else against)
        self._answers: list[npt.NDArray[np.signedinteger]] = []
        self._flips: list[Flips | LateFlips] = []

    def add(self, batch: NoisyCopies, answers: npt.NDArray[np.signedinteger]) -> None:
        """Takes in the answers on the copies of a batch, or on the first of them."""
        answers = answers.reshape(len(answers), len(self._labels))
        if len(self._labels) == 1:
            against = _others(answers[:, 0], self._labels[0])
        else:  # a copy is fetched once for all targets that it is against
            against = np.flatnonzero(((answers != self._labels) & (self._labels != NOT_RECORDED)).any(axis=1))
        self._answers.append(answers[against])
        self._flips.append(flips_of(batch, against))

    def records(self) -> tuple[FlipRecord | None, ...]:
        """The record of the chunk for each target."""
        late = [each for each in self._flips if isinstance(each, LateFlips)]
        flips = late[0].fetched(late) if late else [each for each in self._flips if not isinstance(each, LateFlips)]
        if not is_valued(self._noise):
            flips = [each.places if isinstance(each, ShownFlips) else each for each in flips]
        answers = self._answers[0] if len(self._answers) == 1 else np.concatenate(self._answers)
        first = int(self._labels[0])
        everything = FlipRecord.of_chunk(first, self._sites.n_sites, self._chunk.samples, answers[:, 0], flips)
        too_large = (
            len(everything) * self._sites.n_sites > 8 * MOST_CHUNK_BYTES and everything.flip_bytes > MOST_CHUNK_BYTES
        )
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
    """The base classifier's own answers on a clean graph, one a target; a ValueError says what is wrong with them."""
    n_targets = classifier.n_targets(sites.frame)
    answers = checked_answers(classifier.classify(clean_copy(sites)), 1, classifier.n_classes, n_targets)
    return answers.reshape(-1)


def _add_votes(counts: Counts, answers: npt.NDArray[np.signedinteger]) -> None:
    """Adds answers, shape (copies,) or (copies, targets), to the counts of each target."""
    n_targets, n_classes = counts.shape
    if n_targets == 1 and n_classes <= FEW_CLASSES:
        counts[0] += [np.count_nonzero(answers == label) for label in range(n_classes)]
        return
    places = answers.reshape(len(answers), n_targets) + n_classes * np.arange(n_targets)
    counts += np.bincount(places.ravel(), minlength=counts.size).reshape(counts.shape)


@compiled
def _count_each(answers, size, samples, n_classes):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """The votes of each chunk, shape (chunks, targets, classes): chunks have so many copies, the first ones count."""
    counts = np.zeros((samples.size, answers.shape[1], n_classes), np.int64)
    for chunk in range(samples.size):
        for copy in range(chunk * size, chunk * size + samples[chunk]):
            for target in range(answers.shape[1]):
                counts[chunk, target, answers[copy, target]] += 1
    return counts


def chunk_to_recount(stored: Iterable[Chunk]) -> Chunk | None:
    """Which of the stored chunks of a graph is counted again before more votes are added; None if nothing is stored.

    It is selection chunk 0, in which the classifier is checked as well, where that has votes enough to tell.
    """
    return min(
        stored, key=lambda chunk: (chunk.samples < LEAST, chunk.purpose != "selection", chunk.number), default=None
    )


def fitting_batch_of(job: Job, sites: Sites) -> int:
    """How many copies of an object the classifier sees at once."""
    base = job.classifier
    return job.batch_size or fitting_batch(
        sites, job.noise, wanted=base.batch_size, device=base.backend, copy_bytes=base.copy_bytes
    )


def check_memory(job: Job) -> None:
    """Refuses graphs whose noisy copies cannot fit into memory, before anything is counted."""
    base = job.classifier
    check_fit(job.sites, job.noise, free=base.free_memory(), device=base.backend, copy_bytes=base.copy_bytes)


def _sampler_of(classifier: Classifier, sites: Sites, noise: Noise) -> Sampler:
    """The sampler of a graph: the classifier's own, if it has one (on its device)."""
    if not isinstance(classifier, DrawsItself):
        return kept_sampler(sites, noise)
    return kept_sampler(sites, noise, owner=classifier, device=str(classifier.device), make=classifier.sampler)
