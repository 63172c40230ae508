"""One chunk, or several at once, to votes: draws the noisy copies, asks the classifier, and counts.

What fails is reported with the graph and the chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from starcert.classifiers.agreement import (
    MIN_BATCH,
    check_alone,
    checked_scores,
    look_like_probabilities,
    named_errors,
    places_to_check,
    refuse_probabilities,
)
from starcert.classifiers.base import Classifier, DrawsItself, Scores, checked_answers
from starcert.math.arithmetic import compiled
from starcert.math.flips import FlipRecord, ShownFlips
from starcert.objects.binding import axes_of_sites
from starcert.objects.laws.outcomes import is_valued
from starcert.sampling.batch import flips_of
from starcert.sampling.sampler import draw_each
from starcert.sampling.streams import WordStream, states_of_chunks
from starcert.sampling.views import clean_copy
from starcert.system.stages import Stage, add_votes, stage
from starcert.voting.jobs import NOT_RECORDED, Chunk, Counts, Job, Tally, fitting_batch_of, sampler_of

if TYPE_CHECKING:
    from starcert.math.flips import Flips
    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import NoisyCopies, NoisyGraphs

__all__ = ["answers_on", "checks", "count_chunk", "count_chunks", "count_gathered"]

MOST_CHUNK_BYTES = 2**25
"""The flips of one chunk may take so much: a store keeps them as one value."""

FEW_CLASSES = 8
"""Up to so many classes, to look for each of them is quicker than to sort answers into places."""


def count_chunks(classifier: Classifier, sites: Sites, job: Job, chunks: Sequence[Chunk]) -> list[Tally]:
    """What `count_chunk` finds for each of these chunks, which are of one graph and purpose; several as one batch.

    Their copies are the same, and so are the votes.
    """
    if len(chunks) == 1:
        return [count_chunk(classifier, sites, job, chunks[0])]
    size, n_targets = job.chunk_size, classifier.n_targets(sites.frame)
    with stage("drawing"):
        states = states_of_chunks(job.seed, sites.clean.key, chunks[0].purpose, [each.number for each in chunks])
        copies = draw_each(sampler_of(classifier, sites, job.noise), states, size)
    if copies is None:
        return [count_chunk(classifier, sites, job, chunk) for chunk in chunks]
    with named_errors(_place_of(chunks[0])), stage("model"):
        answers = checked_answers(classifier.classify(copies), len(copies), classifier.n_classes, n_targets)
    with stage("counting"):
        samples = np.array([each.samples for each in chunks])
        counts = _count_each(answers.reshape(len(copies), -1), size, samples, classifier.n_classes)
        records: list[tuple[FlipRecord | None, ...]] = [()] * len(chunks)
        for number, chunk in enumerate(chunks):
            if chunk.against is not None:
                first, flips = number * size, _Flips(chunk, sites, job.noise)
                flips.add(copies, answers[first : first + chunk.samples], first)
                records[number] = flips.records()
    add_votes(int(samples.sum()))
    return list(map(Tally, chunks, counts, records))


def count_gathered(classifier: Classifier, job: Job, chunks: Sequence[Chunk]) -> list[Tally]:
    """What `count_chunk` finds for each of these chunks, of one graph or several; all are asked about at once."""

    def one_by_one() -> list[Tally]:
        return [count_chunk(classifier, job.sites[chunk.graph], job, chunk) for chunk in chunks]

    if len(chunks) == 1:
        return one_by_one()
    counters = [_Counter(classifier, job.sites[chunk.graph], job, chunk) for chunk in chunks]
    batches = [batch for counter in counters for batch in counter.batches()]
    if len(batches) > len(chunks):
        return one_by_one()
    try:
        with stage("model", counters[0].device):
            found = classifier.scored_each(batches)
    except Exception:  # noqa: BLE001  (whatever a user's code may raise: asked one by one, the graph is named)
        return one_by_one()
    for counter, batch, scores in zip(counters, batches, found, strict=True):
        counter.add(batch, scores)
    return [counter.tally() for counter in counters]


def count_chunk(classifier: Classifier, sites: Sites, job: Job, chunk: Chunk) -> Tally:
    """Draws the samples of a chunk, asks the classifier, and counts.

    In the first chunk of the first graph a few copies are asked alone before any vote counts: a classifier with dropout
    or batch statistics is refused at once, and not by the audit when all votes are there.
    """
    counter = _Counter(classifier, sites, job, chunk)
    for batch in counter.batches():
        with named_errors(_place_of(chunk)), stage("model", counter.device):
            found = classifier.scored(batch) if counter.checking else Scores(classifier.classify(batch))
        counter.add(batch, found)
    return counter.tally()


class _Counter:
    """The count of one chunk: what copies there are, and what was answered on them so far.

    Attributes:
        checking: whether the classifier is checked on this chunk.
        device: where the classifier works, if it draws its copies itself.
    """

    def __init__(self, classifier: Classifier, sites: Sites, job: Job, chunk: Chunk) -> None:
        self._classifier, self._sites, self._job, self._chunk = classifier, sites, job, chunk
        self.checking = checks(job, chunk)
        self.device = classifier.device if isinstance(classifier, DrawsItself) else None
        self._drawn = min(max(chunk.samples, MIN_BATCH), job.chunk_size) if self.checking else chunk.samples
        n_targets = classifier.n_targets(sites.frame)
        self._counts = np.zeros((1 if n_targets is None else n_targets, classifier.n_classes), dtype=np.int64)
        self._flips = None if chunk.against is None else _Flips(chunk, sites, job.noise)
        self._recording: Stage = "counting" if classifier.backend == "cpu" else "transfer"
        self._first = 0
        self._like_probabilities = self.checking

    def batches(self) -> Iterator[NoisyGraphs]:
        """The copies, as many at a time as the classifier sees at once; each portion is drawn when its turn comes."""
        job, chunk = self._job, self._chunk
        most = fitting_batch_of(job, self._sites)
        with stage("drawing", self.device):
            stream = WordStream.of_chunk(job.seed, self._sites.clean.key, chunk.purpose, chunk.number)
            sampler = sampler_of(self._classifier, self._sites, job.noise)
            portions = sampler.portions(stream, job.chunk_size, self._drawn)
        while True:
            with stage("drawing", self.device):
                copies = next(portions, None)
            if copies is None:
                return
            yield from copies.split(most)

    def add(self, batch: NoisyGraphs, found: Scores) -> None:
        """Takes in what the classifier found in the next batch, after a check if this is the chunk for it."""
        with named_errors(_place_of(self._chunk)), stage("model", self.device):
            found = checked_scores(found, self._classifier, batch)
        self._like_probabilities = self._like_probabilities and look_like_probabilities(found)
        if self.checking:
            self._check(batch, found)
        with stage("counting"):
            answers = np.asarray(found.answers)[: max(0, self._chunk.samples - self._first)]
            _add_votes(self._counts, answers)
        if self._flips is not None:
            with stage(self._recording, self.device):
                self._flips.add(batch, answers)
        self._first += len(batch)

    def _check(self, batch: NoisyGraphs, found: Scores) -> None:
        for copy in places_to_check(self._drawn, scored=found.numbers is not None):
            if self._first <= copy < self._first + len(batch):
                name = f"noisy copy {copy} of graph {self._chunk.graph}"
                with stage("model", self.device):
                    check_alone(self._classifier, batch, found, copy - self._first, name=name)

    def tally(self) -> Tally:
        """The votes, and the flips that are asked for."""
        if self._like_probabilities:
            refuse_probabilities(self._drawn)
        add_votes(self._chunk.samples)
        with stage(self._recording, self.device):
            return Tally(self._chunk, self._counts, () if self._flips is None else self._flips.records())


def checks(job: Job, chunk: Chunk) -> bool:
    """Whether a classifier is checked in a chunk: in the first of all."""
    return chunk.graph == 0 and chunk.purpose == "selection" and chunk.number == 0 and job.chunk_size > 1


def _place_of(chunk: Chunk) -> str:
    """What a chunk is called in a message."""
    return f"graph {chunk.graph}, {chunk.purpose} chunk {chunk.number}"


class _Flips:
    """The flips of the votes against a class, or against that of each target, batch by batch."""

    def __init__(self, chunk: Chunk, sites: Sites, noise: Noise) -> None:
        self._chunk, self._sites, self._noise = chunk, sites, noise
        against = chunk.against if chunk.against is not None else ()
        self._labels = np.array([against] if isinstance(against, int) else against)
        self._answers: list[npt.NDArray[np.signedinteger]] = []
        self._flips: list[Flips] = []

    def add(self, batch: NoisyCopies, answers: npt.NDArray[np.signedinteger], first: int = 0) -> None:
        """Takes in the answers on the copies of a batch, or on some of them, from the first on."""
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
