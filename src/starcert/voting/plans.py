"""The units of counting: a job, done in chunks; plans, which decide the number of votes of each graph; and options.

The unit of work is a chunk: a fixed number of samples of one graph for one purpose, with its own random stream.

A plan is asked graph by graph, before the first vote and whenever all votes that it wanted are there. It sees whole
counts at such a look, those of chunks 0, 1, 2, … in their order, however they came in. So its answer, like the votes
themselves, never depends on workers, batches or interruptions.

A plan that wants all it may ever want (`Plan.most`) before the first estimation vote is not asked again: the number is
fixed. Any other plan sees estimation votes, and the votes are marked (`Votes.history`), here and in the store: bounds
for a number of votes fixed in advance do not hold for them, and are refused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import ClassVar, Literal, NamedTuple, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.classifiers.base import CHUNK_SIZE, Classifier
from starcert.math.ballots import Ballots
from starcert.math.fallback import BlindAnswers
from starcert.math.flips import Integers
from starcert.math.votes import chunk_ends
from starcert.objects import Sites, TargetNodes
from starcert.objects.binding import Problem
from starcert.objects.noise import Noise
from starcert.sampling.sampler import check_fits
from starcert.sampling.streams import Purpose
from starcert.system.errors import InvalidParameterError, whole_number

Counts = npt.NDArray[np.int64]

StoppingPlan: TypeAlias = Literal["fixed", "decided"]
"""All votes, or as many as it takes to decide the question."""


class Recorded(NamedTuple):
    """Which copies are kept, with their flips: see `Ballots`."""

    labels: tuple[int, ...] | None  # the classes of the first targets; None: every copy is kept, for all targets
    flips: Literal["all", "listed", "numbers"] = "all"  # at all sites, at those of `Job.listed`, or counted by axis


class Chunk(NamedTuple):
    """The first `samples` of one random stream: noisy copies of one graph for one purpose."""

    graph: int
    purpose: Purpose
    number: int
    samples: int
    recorded: Recorded | None = None  # which of the copies are kept; None: only the votes are counted


class Tally(NamedTuple):
    """A chunk, its votes, shape (targets, classes), and the ballots that are kept, if any."""

    chunk: Chunk
    counts: Counts
    ballots: Ballots | None = None
    first: Counts | None = None  # the answers on the first copies; None: the store has counts alone


@dataclass(frozen=True, eq=False)
class Job:
    """The settings that all chunks of a run share."""

    classifier: Classifier
    problem: Problem  # the graphs, their noise and their regions, bound once
    seed: int  # of all streams
    chunk_size: int = CHUNK_SIZE  # samples drawn for a chunk, whether or not all of them are used
    batch_size: int | None = None  # the most graphs that the classifier sees at once; None: as many as it wants
    listed: Mapping[int, Integers] = field(default_factory=dict)  # by graph the sites that listed attacks change
    every_copy: bool = False  # whether copies are kept for their outputs, which are for or against no class
    blind: BlindAnswers | None = None  # what each target of each graph falls back to; None: plain smoothing

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
        seed = whole_number("seed", seed, 0)
        size = whole_number("chunk_size", classifier.chunk_size if chunk_size is None else chunk_size, 1)
        batch_size = None if batch_size is None else whole_number("batch_size", batch_size, 1)
        return cls(classifier, problem, seed, size, batch_size)

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
        """The job as every worker needs it; the graphs are sent as they are needed."""
        return replace(self, problem=Problem(self.noise, ()))

    def n_targets(self, graph: int) -> int:
        """The number of targets of a graph, each with votes of its own: 1 where the graph itself is classified."""
        n_targets = self.classifier.n_targets(self.sites[graph].frame)
        return 1 if n_targets is None else n_targets

    @property
    def target_nodes(self) -> TargetNodes | None:
        """The node of each target of all graphs; None where the targets of some graph are not nodes."""
        frames = [each.frame for each in self.sites]
        known = [nodes for frame in frames if (nodes := self.classifier.target_nodes(frame)) is not None]
        if len(known) < len(frames):
            return None
        for graph, nodes in enumerate(known):
            if len(nodes) != self.n_targets(graph):
                must = f"name a node for each of the {self.n_targets(graph)} targets of graph {graph}"
                raise InvalidParameterError("target_nodes", must, f"{len(nodes)} nodes")
        return TargetNodes.of(frames, known)


def chunks_of(
    graph: int,
    purpose: Purpose,
    samples: int,
    chunk_size: int,
    first: int = 0,
    recorded: Recorded | None = None,
    *,
    first_chunk: int | None = None,
) -> Iterator[Chunk]:
    """The chunks that make up a number of samples, but for the `first`, in whole chunks; the last one may be partial.

    Example:
        >>> [chunk.samples for chunk in chunks_of(0, "estimation", 2500, 1024)]
        [1024, 1024, 452]
    """
    start = 0
    for number, end in enumerate(chunk_ends(chunk_size, first_chunk)):
        if start >= samples:
            return
        if start >= first:
            yield Chunk(graph, purpose, number, min(end, samples) - start, recorded)
        start = end


def check_memory(job: Job) -> None:
    """Refuses graphs whose noisy copies cannot fit into memory, before anything is counted."""
    base = job.classifier
    if (free := base.free_memory()) is None:  # it is not known
        return
    for number, sites in enumerate(job.sites):
        name, device = f"graph {number}", base.backend
        check_fits(sites, job.noise, name=name, free=free, device=device, copy_bytes=base.copy_bytes)


class Wanted(NamedTuple):
    """The number of votes of each purpose that a graph should have, in all."""

    selection: int
    estimation: int


def default_selection(samples: int) -> int:
    """The number of selection votes that come with estimation votes, unless the caller chooses."""
    return max(100, samples // 100)


class SoFar(NamedTuple):
    """The votes on one graph, for a plan to look at."""

    selection: Counts  # selection votes, shape (targets, classes)
    estimation: Counts  # estimation votes, likewise
    chunk_size: int  # samples in a whole chunk
    object: int = 0  # the number of the graph
    ballots: Ballots | None = None  # of the estimation votes; None before the first, and where flips are not recorded
    blind: BlindAnswers | None = None  # what each target falls back to

    @property
    def wanted(self) -> Wanted:
        """As many votes as there are: a plan that wants no more is done with the graph."""
        return Wanted(int(self.selection[0].sum()), self.n_estimation)

    @property
    def n_estimation(self) -> int:
        """Estimation votes on each target."""
        return int(self.estimation[0].sum())


class Plan(ABC):
    """Decides how many votes come next, from the counts so far. It has no memory: the same counts, the same answer.

    To write one, derive from it; docs/voting.md has an example.

    Example:
        >>> class Doubling(Plan):
        ...     most = Wanted(100, 4096)
        ...
        ...     def wanted(self, so_far):
        ...         if so_far.estimation.max() > 0.9 * so_far.n_estimation > 0:
        ...             return so_far.wanted
        ...         return Wanted(100, min(4096, 2 * so_far.n_estimation or 1024))
        >>> Doubling().wanted(SoFar(np.array([[99, 1]]), np.array([[700, 324]]), 1024))
        Wanted(selection=100, estimation=2048)
    """

    most: Wanted  # the most votes that it may ever want of a graph
    # samples in the first chunk of estimation votes; later ones grow up to the chunk size, as `chunk_ends` lists them.
    # None: all chunks are whole
    first_chunk: ClassVar[int | None] = None

    @abstractmethod
    def wanted(self, so_far: SoFar) -> Wanted:
        """The number of votes at the next look, in whole chunks unless it is the last; as many: done."""


@dataclass(frozen=True)
class FixedPlan(Plan):
    """A fixed number of votes, drawn at once.

    Example:
        >>> FixedPlan(Wanted(100, 10_000)).wanted(SoFar(np.zeros((1, 2)), np.zeros((1, 2)), 1024))
        Wanted(selection=100, estimation=10000)
    """

    most: Wanted

    @override
    def wanted(self, so_far: SoFar) -> Wanted:
        return self.most


@dataclass(frozen=True, slots=True)
class Voting:
    """Options for drawing votes. Only the first two and the chunk size change certificates.

    Args:
        selection_samples: selection votes for each graph; by default a hundredth of the samples, at least 100.
        plan: "fixed" draws all samples. With "decided" they are an upper limit: a graph gets no more votes once all of
            the threat is certified, or is unlikely to be. Bounds then hold at all times together, and are a little
            wider.
        store: a file that keeps the votes as they come, and that a later call continues.
        executor: where to count: any `concurrent.futures.Executor`, or None for this process.
        chunk_size: samples in a unit of work with its own random stream; by default as the classifier wants it, 1,024
            on a CPU.
        batch_size: the most noisy graphs that the classifier sees at once; by default as many as it wants.
        progress: whether to draw a progress bar, by default on a terminal only; a text is its title there.

    Example:
        >>> Voting(plan="decided", store="votes.db").selection_samples is None
        True
        >>> Voting(plan="hasty")
        Traceback (most recent call last):
            ...
        starcert.system.errors.InvalidParameterError: 'plan' must be "fixed" or "decided". Got 'hasty' instead.
    """

    selection_samples: int | None = None
    plan: StoppingPlan = "fixed"
    store: str | PathLike[str] | None = None
    executor: Executor | None = None
    chunk_size: int | None = None
    batch_size: int | None = None
    progress: bool | str | None = None

    def __post_init__(self) -> None:
        if self.plan not in get_args(StoppingPlan):
            raise InvalidParameterError("plan", 'be "fixed" or "decided"', self.plan)
        if self.executor is not None and not hasattr(self.executor, "submit"):
            hint = "Give for instance concurrent.futures.ProcessPoolExecutor(4)."
            raise InvalidParameterError("executor", "be a concurrent.futures.Executor", self.executor, hint)

    @classmethod
    def of(cls, given: object) -> Voting:
        """The argument `voting` of a method; None: all as by default."""
        if not isinstance(given, Voting | None):
            hint = 'For example Voting(store="votes.db", selection_samples=500).'
            raise InvalidParameterError("voting", "be a Voting", given, hint)
        return given or cls()


@dataclass(frozen=True, slots=True)
class Evidence:
    """Options of evidence, which also uses where the flips of votes fell; alpha is shared between counts and evidence.

    Args:
        own_samples: the most votes at attacked versions of each graph, for levels that the votes on the clean graph
            leave open; by default as many as `samples`.

    Example:
        >>> Evidence(own_samples=20_000)
        Evidence(own_samples=20000)
    """

    own_samples: int | None = None

    def __post_init__(self) -> None:
        if self.own_samples is not None:
            whole_number("own_samples", self.own_samples, 0)

    @classmethod
    def of(cls, given: object) -> Evidence | None:
        """The argument `evidence` of a method; None: there is no evidence."""
        if isinstance(given, bool):
            return cls() if given else None
        if not isinstance(given, Evidence):
            raise InvalidParameterError("evidence", "be True, False or Evidence(own_samples=…)", given)
        return given
