"""What is counted: a job, and the chunks that it is done in.

The unit of work is a chunk: a fixed number of samples of one graph for one purpose, with its own random stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.classifiers.agreement import MIN_BATCH
from starcert.classifiers.base import CHUNK_SIZE, Classifier, DrawsItself
from starcert.math.flips import FlipRecord
from starcert.objects import TargetNodes
from starcert.objects.binding import Problem, why_no_evidence
from starcert.sampling.sampler import check_all_fit, fitting_batch, kept_sampler
from starcert.sampling.streams import Purpose, WordStream
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.sampling.batch import Copies
    from starcert.sampling.sampler import Sampler

__all__ = [
    "NOT_RECORDED",
    "PURPOSES",
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

PURPOSES: tuple[Purpose, ...] = ("selection", "estimation")

NOT_RECORDED = -1
"""In the place of the class of a target whose flips are not recorded."""

RECOUNTED = 0.03
"""The largest share of the stored estimation votes of a graph that are counted again when it is continued."""

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
        return not why_no_evidence(self.sites[graph], self.noise)


def chunk_ends(chunk_size: int, first_chunk: int | None = None) -> Iterator[int]:
    """After how many samples each chunk ends, without end.

    Args:
        chunk_size: samples in a whole chunk.
        first_chunk: samples in the first one. Each later one has as many as all before it together, at most
            `chunk_size`. None: all chunks are whole.

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
    """The chunks that make up so many samples; the last one may be partial.

    Args:
        graph: the number of the graph.
        purpose: what the samples are for.
        samples: how many there are in all.
        chunk_size: samples in a whole chunk.
        first: so many are there already, in whole chunks, and are left out.
        against: the class whose opposing votes are recorded, or that of each target.
        by_axis: whether only the numbers of flips on each axis are.
        first_chunk: samples in the first chunk, see `chunk_ends`.

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

    First a chunk with votes enough to tell one classifier from another: selection chunk 0, if it has. It does not tell
    much where votes are nearly unanimous. A classifier that has as many votes against its class once more shows that
    with 99% in a share log(100) / (against + 1) of the votes, so that share is counted again, at most `RECOUNTED`:
    further estimation chunks, evenly spread, or the beginning of the last one.

    Args:
        stored: the stored chunks of the graph.
        against: its stored estimation votes against the leading class.

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
    share = min(RECOUNTED, log(100) / (against + 1))
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
    """A noisy copy of the first object, always the same, that is none of the votes."""
    return sampler_of(job.classifier, job.sites[0], job.noise).draw(WordStream(0), 1)


def check_memory(job: Job) -> None:
    """Refuses graphs whose noisy copies cannot fit into memory, before anything is counted."""
    base = job.classifier
    check_all_fit(job.sites, job.noise, free=base.free_memory(), device=base.backend, copy_bytes=base.copy_bytes)
