"""Plans: how many votes are drawn of each graph, and when to stop; and the count that follows one.

A plan is asked graph by graph, before the first vote and whenever all votes that it wanted are there. It sees whole
counts at such a look, those of chunks 0, 1, 2, … in their order, however they came in. So what it answers, like the
votes themselves, never depends on workers, batches or interruptions.

Votes of a plan that looks at them are marked (`Votes.stopped`): bounds for a number of votes fixed in advance are
not true of them, and are refused.

To write one, derive it from `Plan`. This one asks for more votes as long as some target's class is not clear:

    class UntilClear(Plan):
        most = Wanted(1_024, 102_400)

        def wanted(self, so_far):
            shares = so_far.estimation.max(axis=1) / max(1, so_far.n_estimation)
            if so_far.n_estimation and shares.min() > 0.9:
                return so_far.wanted
            return Wanted(1_024, min(so_far.n_estimation + 10 * so_far.chunk_size, 102_400))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.core.confidence import Votes
from starcert.errors import InvalidParameterError
from starcert.voting import PURPOSES, Chunk, Job, Tally, chunk_to_recount, chunks_of, tallies

if TYPE_CHECKING:
    from starcert.sampling.streams import Purpose
    from starcert.store import VoteStore
    from starcert.system.output import Advance

__all__ = ["FixedPlan", "Plan", "SoFar", "Wanted", "count_votes"]

Counts = npt.NDArray[np.int64]


class Wanted(NamedTuple):
    """How many votes of each purpose there shall be of a graph, in all."""

    selection: int
    estimation: int


class SoFar(NamedTuple):
    """What a plan looks at: the votes on one graph.

    Attributes:
        selection: selection votes, shape (targets, classes).
        estimation: estimation votes, likewise.
        chunk_size: samples in a whole chunk.
    """

    selection: Counts
    estimation: Counts
    chunk_size: int

    @property
    def wanted(self) -> Wanted:
        """As many votes as there are: a plan that wants no more is done with the graph."""
        return Wanted(self.n_selection, self.n_estimation)

    @property
    def n_selection(self) -> int:
        """Selection votes on each target."""
        return int(self.selection[0].sum())

    @property
    def n_estimation(self) -> int:
        """Estimation votes on each target."""
        return int(self.estimation[0].sum())


class Plan(ABC):
    """Says how many votes come next, from the counts so far. It has no memory: the same counts, the same answer.

    Attributes:
        most: the most votes that it may ever want of a graph.
    """

    most: Wanted

    @abstractmethod
    def wanted(self, so_far: SoFar) -> Wanted:
        """How many votes there shall be at the next look, in whole chunks unless it is the last; as many: done."""


@dataclass(frozen=True)
class FixedPlan(Plan):
    """A fixed number of votes, drawn at once.

    Attributes:
        most: how many.

    Example:
        >>> FixedPlan(Wanted(100, 10_000)).wanted(SoFar(np.zeros((1, 2)), np.zeros((1, 2)), 1024))
        Wanted(selection=100, estimation=10000)
    """

    most: Wanted

    def wanted(self, so_far: SoFar) -> Wanted:
        """All of them."""
        return self.most


def count_votes(
    job: Job, plan: Plan, *, store: VoteStore | None = None, executor: Executor | None = None, advance: Advance
) -> Votes:
    """The votes that a plan wants on every graph of a job, from the store where it has them.

    Args:
        job: what all chunks have in common.
        plan: how many votes.
        store: keeps every chunk as it comes. One stored chunk of every graph is counted again first.
        executor: where to count; None: in this process.
        advance: is told of votes that are there.
    """
    if store is not None:
        _check_stored_votes(job, store, executor)
    count = _Count(job, plan, store, advance)
    while count.waiting:  # a plan with a second look may want more when all that was sent is back
        for tally in tallies(job, count.chunks(), executor):
            count.take(tally)
    return count.votes()


class _Count:
    """The count on all graphs while it goes on.

    Attributes:
        waiting: the graphs on which votes are wanted that nobody was sent for.
    """

    def __init__(self, job: Job, plan: Plan, store: VoteStore | None, advance: Advance) -> None:
        self._job, self._plan, self._store, self._advance = job, plan, store, advance
        self._n_targets = [job.n_targets(graph) for graph in range(len(job.sites))]
        self._firsts = np.cumsum([0, *self._n_targets])
        shape = int(self._firsts[-1]), job.classifier.n_classes
        self._counts: dict[Purpose, Counts] = {purpose: np.zeros(shape, dtype=np.int64) for purpose in PURPOSES}
        self._wanted: dict[int, Wanted] = {}
        self._open: dict[int, int] = {}  # chunks of a graph that are not there yet, and one while they are listed
        self.waiting: deque[int] = deque()
        for graph in range(len(job.sites)):
            self._look(graph)

    def votes(self) -> Votes:
        """The votes, once nothing is waiting."""
        objects = np.repeat(np.arange(len(self._n_targets)), self._n_targets)
        return Votes(
            self._counts["estimation"],
            selection=self._counts["selection"],
            objects=objects,
            targets=np.arange(len(objects)) - self._firsts[objects],
            stopped=not isinstance(self._plan, FixedPlan),
        )

    def chunks(self) -> Iterator[Chunk]:
        """The chunks that are left to do; what the store has is added to the counts on the way."""
        while self.waiting:
            graph = self.waiting.popleft()
            so_far, wanted = self._so_far(graph), self._wanted[graph]
            self._open[graph] = 1
            for purpose, have, want in zip(PURPOSES, so_far.wanted, wanted, strict=True):
                stored = self._stored(graph, purpose) if want > have else {}
                for chunk in chunks_of(graph, purpose, want, self._job.chunk_size, first=have):
                    samples, votes = stored.get(chunk.number, (0, None))
                    if votes is not None and samples == chunk.samples:
                        self._add(chunk, votes)
                    else:  # not there, or with another number of samples: the last chunk of another run
                        self._open[graph] += 1
                        yield chunk
            self._close_one(graph)

    def take(self, tally: Tally) -> None:
        """Takes in the votes of a chunk."""
        chunk, votes = tally
        if self._store is not None:
            for target, row in enumerate(votes):
                self._store.add(chunk.graph, chunk.purpose, chunk.number, row, samples=chunk.samples, target=target)
        self._add(chunk, votes)
        self._close_one(chunk.graph)

    def _add(self, chunk: Chunk, votes: Counts) -> None:
        self._counts[chunk.purpose][self._rows(chunk.graph)] += votes
        self._advance(chunk.samples)

    def _close_one(self, graph: int) -> None:
        self._open[graph] -= 1
        if not self._open[graph]:
            del self._open[graph]
            self._look(graph)

    def _look(self, graph: int) -> None:
        """Asks the plan what is wanted of a graph, all votes of its last answer being there."""
        so_far = self._so_far(graph)
        have, want, most = so_far.wanted, self._plan.wanted(so_far), self._plan.most
        if want == have:
            self._wanted.pop(graph, None)
            self._advance(sum(most) - sum(have))
            return
        for purpose, before, now, limit in zip(PURPOSES, have, want, most, strict=True):
            if not before <= now <= limit:
                raise InvalidParameterError("samples", f"want {before} to {limit} {purpose} votes here", now)
            if now > before and before % so_far.chunk_size:
                must = f"want whole chunks of {so_far.chunk_size} samples at every look but the last"
                raise InvalidParameterError("samples", must, before)
        self._wanted[graph] = want
        self.waiting.append(graph)

    def _rows(self, graph: int) -> slice:
        return slice(self._firsts[graph], self._firsts[graph + 1])

    def _so_far(self, graph: int) -> SoFar:
        selection, estimation = (self._counts[purpose][self._rows(graph)] for purpose in PURPOSES)
        return SoFar(selection, estimation, self._job.chunk_size)

    def _stored(self, graph: int, purpose: Purpose) -> dict[int, tuple[int, Counts]]:
        """The chunks that the store has of every target: number → samples and votes."""
        if self._store is None:
            return {}
        targets = [self._store.chunks(graph, purpose, target) for target in range(self._n_targets[graph])]
        samples = [{number: samples for number, samples, _ in each} for each in targets]
        votes = [{number: votes for number, _, votes in each} for each in targets]
        return {
            number: (n, np.stack([each[number] for each in votes]))
            for number, n in samples[0].items()
            if all(each.get(number) == n for each in samples)
        }


def _check_stored_votes(job: Job, store: VoteStore, executor: Executor | None) -> None:
    """Counts a stored chunk of every graph again: a classifier that has changed must not go on here."""

    def recounted() -> Iterator[Chunk]:
        for graph in range(len(job.sites)):
            stored = (Chunk(graph, each, *chunk) for each in PURPOSES for chunk in store.done(graph, each).items())
            if (chunk := chunk_to_recount(stored)) is not None:
                yield chunk

    for chunk, votes in tallies(job, recounted(), executor):
        for target, row in enumerate(votes):  # refuses other votes than the stored ones
            store.add(chunk.graph, chunk.purpose, chunk.number, row, samples=chunk.samples, target=target)
