"""What is counted: a job, and the chunks that it is done in.

The unit of work is a chunk: a fixed number of samples of one graph for one purpose, with its own random stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from starcert.classifiers.base import CHUNK_SIZE, MIN_BATCH, Classifier, DrawsItself
from starcert.math.flips import FlipRecord
from starcert.objects import TargetNodes
from starcert.objects.binding import Problem, why_no_evidence
from starcert.sampling.sampler import check_all_fit, fitting_batch, kept_sampler
from starcert.sampling.streams import Purpose, WordStream
from starcert.system.errors import InvalidParameterError, whole_number

if TYPE_CHECKING:
    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import Copies
    from starcert.sampling.sampler import Sampler

__all__ = [
    "NOT_RECORDED",
    "Chunk",
    "Counts",
    "Job",
    "Tally",
    "any_copy",
    "check_memory",
    "chunk_ends",
    "chunks_of",
    "chunks_to_recount",
    "fitting_batch_of",
    "sampler_of",
]

NOT_RECORDED = -1
"""In the place of the class of a target whose flips are not recorded."""

MAX_RECOUNTED = 0.03
"""The largest share of the stored estimation votes of a graph that are counted again when it is continued."""

Counts = npt.NDArray[np.int64]


class Chunk(NamedTuple):
    """The first `samples` of one random stream: noisy copies of one graph for one purpose.

    With a class in `against`, the flips of the votes against it are recorded; with several, those against the class of
    each target, `NOT_RECORDED` for none. With `by_axis`, only the number of flips on each axis is.
    """

    graph: int
    purpose: Purpose
    number: int
    samples: int
    against: int | tuple[int, ...] | None = None
    by_axis: bool = False


class Tally(NamedTuple):
    """A chunk, its votes, shape (targets, classes), and for each target the recorded flips; () if none are recorded."""

    chunk: Chunk
    counts: Counts
    records: tuple[FlipRecord | None, ...] = ()


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

    @classmethod
    def of(
        cls,
        classifier: Classifier,
        problem: Problem,
        seed: int,
        chunk_size: int | None = None,
        batch_size: int | None = None,
    ) -> Self:
        """A job with checked numbers; by default chunks have the size that the classifier wants."""
        return cls(
            classifier,
            problem,
            whole_number("seed", seed, 0),
            whole_number("chunk_size", classifier.chunk_size if chunk_size is None else chunk_size, 1),
            None if batch_size is None else whole_number("batch_size", batch_size, 1),
        )

    @property
    def noise(self) -> Noise:
        """The noise."""
        return self.problem.noise

    @property
    def sites(self) -> tuple[Sites, ...]:
        """The sites of each graph."""
        return self.problem.sites

    @property
    def without_graphs(self) -> Job:
        """What every worker needs; the graphs are sent as they are needed."""
        return replace(self, problem=Problem(self.noise, ()))

    def n_targets(self, graph: int) -> int:
        """How many targets a graph has, each with votes of its own: 1 where the graph itself is classified."""
        n_targets = self.classifier.n_targets(self.sites[graph].frame)
        return 1 if n_targets is None else n_targets

    @property
    def target_nodes(self) -> TargetNodes | None:
        """The node of each target of all graphs; None where the targets of some graph are not nodes."""
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
        return not why_no_evidence(self.sites[graph], self.noise)


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


def chunks_of(
    graph: int,
    purpose: Purpose,
    samples: int,
    chunk_size: int,
    first: int = 0,
    against: int | tuple[int, ...] | None = None,
    *,
    by_axis: bool = False,
    first_chunk: int | None = None,
) -> Iterator[Chunk]:
    """The chunks that make up a number of samples; the last one may be partial.

    The `first` samples, in whole chunks, are there already and left out; `first_chunk` is as in `chunk_ends`, the other
    arguments as in `Chunk`.

    Example:
        >>> [chunk.samples for chunk in chunks_of(0, "estimation", 2500, 1024)]
        [1024, 1024, 452]
    """
    start = 0
    for number, end in enumerate(chunk_ends(chunk_size, first_chunk)):
        if start >= samples:
            return
        if start >= first:
            yield Chunk(graph, purpose, number, min(end, samples) - start, against, by_axis)
        start = end


def chunks_to_recount(stored: Sequence[Chunk], against: int) -> list[Chunk]:
    """Which of the stored chunks of a graph are counted again before more votes are added.

    First a chunk with enough votes to tell one classifier from another: selection chunk 0, if it has. It shows little
    where votes are nearly unanimous. A classifier that has twice as many votes against its class shows that with
    probability 99% in a share log(100) / (against + 1) of the votes, so that share is counted again, at most
    `MAX_RECOUNTED`: further estimation chunks at even distances, or the beginning of the last one. `against` is how
    many stored estimation votes are against the leading class.

    Example:
        >>> stored = [Chunk(0, "selection", 0, 100), *chunks_of(0, "estimation", 100_000, 1000)]
        >>> [(chunk.number, chunk.samples) for chunk in chunks_to_recount(stored, against=0)]
        [(0, 100), (49, 1000), (99, 1000)]
        >>> [(chunk.number, chunk.samples) for chunk in chunks_to_recount(stored, against=20_000)]
        [(0, 100)]
    """
    by_use = sorted(stored, key=lambda each: (each.samples < MIN_BATCH, each.purpose != "selection", each.number))
    first = by_use[:1]
    others = [chunk for chunk in stored if chunk.purpose == "estimation" and chunk not in first]
    share = min(MAX_RECOUNTED, log(100) / (against + 1))
    wanted = int(share * sum(chunk.samples for chunk in others)) - sum(chunk.samples for chunk in first)
    if wanted <= 0:
        return first
    number = wanted // max(chunk.samples for chunk in others)
    if not number:
        return [*first, others[-1]._replace(samples=min(wanted, others[-1].samples))]
    return [*first, *(others[len(others) * place // number - 1] for place in range(1, number + 1))]


def fitting_batch_of(job: Job, sites: Sites) -> int:
    """How many copies of an object the classifier sees at once."""
    base = job.classifier
    return job.batch_size or fitting_batch(
        sites, job.noise, wanted=base.batch_size, device=base.backend, copy_bytes=base.copy_bytes
    )


def sampler_of(classifier: Classifier, sites: Sites, noise: Noise) -> Sampler:
    """The sampler of a graph: the classifier's own, if it has one (on its device)."""
    if not isinstance(classifier, DrawsItself):
        return kept_sampler(sites, noise)
    return kept_sampler(sites, noise, owner=classifier, device=str(classifier.device), make=classifier.sampler)


def any_copy(job: Job) -> Copies:
    """A noisy copy of the first object, always the same, that is not used for any vote."""
    return sampler_of(job.classifier, job.sites[0], job.noise).draw(WordStream(0), 1)


def check_memory(job: Job) -> None:
    """Refuses graphs whose noisy copies cannot fit into memory, before anything is counted."""
    base = job.classifier
    check_all_fit(job.sites, job.noise, free=base.free_memory(), device=base.backend, copy_bytes=base.copy_bytes)
