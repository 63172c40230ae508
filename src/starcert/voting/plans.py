"""Plans: how many votes are drawn of each graph, and when to stop; and the count that follows one.

A plan is asked graph by graph, before the first vote and whenever all votes that it wanted are there. It sees whole
counts at such a look, those of chunks 0, 1, 2, … in their order, however they came in. So what it answers, like the
votes themselves, never depends on workers, batches or interruptions.

A plan that wants all it may ever want (`Plan.most`) before the first estimation vote is not asked again: the number is
fixed. Any other plan sees estimation votes, and the votes are marked (`Votes.stopped`), here and in the store: bounds
for a number of votes fixed in advance are not true of them, and are refused.

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

import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.confidence import Votes
from starcert.math.flips import MOST_BYTES, FlipRecord, flip_bytes
from starcert.objects.binding import axes_of_sites
from starcert.objects.laws.outcomes import is_valued
from starcert.sampling.sampler import expected_flips
from starcert.system.errors import InvalidParameterError, StarcertWarning
from starcert.system.stages import staged
from starcert.voting.jobs import NOT_RECORDED, PURPOSES, Chunk, Job, Tally, chunk_ends, chunks_of, chunks_to_recount
from starcert.voting.vote_loop import tallied, tallies

if TYPE_CHECKING:
    from starcert.sampling.streams import Purpose
    from starcert.system.output import Advance
    from starcert.voting.store import VoteStore

__all__ = ["FixedPlan", "Plan", "SoFar", "Wanted", "count_votes", "default_selection", "what_to_record"]

Counts = npt.NDArray[np.int64]


class Wanted(NamedTuple):
    """How many votes of each purpose there shall be of a graph, in all."""

    selection: int
    estimation: int


def default_selection(samples: int) -> int:
    """How many selection votes come with a number of estimation votes, unless the caller says."""
    return max(100, samples // 100)


class SoFar(NamedTuple):
    """What a plan looks at: the votes on one graph.

    Attributes:
        selection: selection votes, shape (targets, classes).
        estimation: estimation votes, likewise.
        chunk_size: samples in a whole chunk.
        object: the number of the graph.
        records: for each target the flips of the estimation votes against the class that the selection votes chose;
            None where flips are not recorded. Empty before the first of them.
    """

    selection: Counts
    estimation: Counts
    chunk_size: int
    object: int = 0
    records: tuple[FlipRecord | None, ...] = ()

    @property
    def record(self) -> FlipRecord | None:
        """The flips of the votes on the first target."""
        return self.records[0] if self.records else None

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
        first_chunk: samples in the first chunk of estimation votes; later ones grow up to the chunk size, as
            `chunk_ends` lists them. None: all chunks are whole.
    """

    most: Wanted
    first_chunk: ClassVar[int | None] = None

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
    job: Job,
    plan: Plan,
    *,
    record: bool = False,
    store: VoteStore | None = None,
    executor: Executor | None = None,
    advance: Advance,
) -> Votes:
    """The votes that a plan wants on every graph of a job, from the store where it has them.

    Args:
        job: what all chunks have in common.
        plan: how many votes.
        record: whether to keep which sites flipped in estimation votes against the class of each target, the one that
            leads in its selection votes: these all come first then. Where that would take too much for all targets of
            a graph, how many flipped on each axis is kept, of as many targets as there is room for (`what_to_record`).
        store: keeps every chunk as it comes. Some stored chunks of every graph are counted again first, as far as it
            says what is done.
        executor: where to count; None: in this process.
        advance: is told of votes that are there.
    """
    if store is not None:
        _check_stored_votes(job, store, executor)
    count = _Count(job, plan, store, advance, record=record)
    while count.waiting:  # a plan with a second look may want more when all that was sent is back
        for together in tallied(job, count.chunks(), executor):
            count.take(together)
    return count.votes()


class _Count:
    """The count on all graphs while it goes on.

    Attributes:
        waiting: the graphs on which votes are wanted that nobody was sent for.
    """

    def __init__(self, job: Job, plan: Plan, store: VoteStore | None, advance: Advance, *, record: bool) -> None:
        self._job, self._plan, self._store, self._advance = job, plan, store, advance
        self._n_targets = [job.n_targets(graph) for graph in range(len(job.sites))]
        self._firsts = np.cumsum([0, *self._n_targets])
        shape = int(self._firsts[-1]), job.classifier.n_classes
        self._counts: dict[Purpose, Counts] = {purpose: np.zeros(shape, dtype=np.int64) for purpose in PURPOSES}
        self._wanted: dict[int, Wanted] = {}
        self._open: dict[int, int] = {}  # chunks of a graph that are not there yet, and one while they are listed
        self.waiting: deque[int] = deque()
        self._looked = False
        self._recordings = {
            i: [_Recording(job, i) for _ in range(n)]
            for i, n in enumerate(self._n_targets)
            if record and job.records(i)
        }
        for graph in range(len(job.sites)):
            self._look(graph)

    @staged("counting")
    def votes(self) -> Votes:
        """The votes, once nothing is waiting."""
        for graph in self._recordings:
            self._tell_what_is_missing(graph)
        objects = np.repeat(np.arange(len(self._n_targets)), self._n_targets)
        selection = self._counts["selection"]
        totals = set(self._counts["estimation"].sum(axis=1).tolist())
        fixed = not self._looked and (self._store is None or all(map(self._store.is_fixed, totals)))
        return Votes(
            self._counts["estimation"],
            selection=selection if selection.any() else None,
            objects=objects,
            targets=np.arange(len(objects)) - self._firsts[objects],
            stopped=not fixed,
            records=[one for graph in range(len(self._n_targets)) for one in self._records(graph)],
        )

    def chunks(self) -> Iterator[Chunk]:
        """The chunks that are left to do; what the store has is added to the counts on the way."""
        while self.waiting:
            graph = self.waiting.popleft()
            have = self._votes_of(graph)
            self._open[graph] = 1
            for purpose, before, now in zip(PURPOSES, have, self._next(graph, have), strict=True):
                recorded = self._recorded(graph) if purpose == "estimation" and now > before else Recorded(None)
                stored = self._stored(graph, purpose, recorded) if now > before else {}
                for chunk in chunks_of(
                    graph,
                    purpose,
                    now,
                    self._job.chunk_size,
                    before,
                    **recorded._asdict(),
                    first_chunk=self._first_chunk(purpose),
                ):
                    found = stored.get(chunk.number)
                    if found is not None and found.chunk.samples == chunk.samples:
                        self._add(graph, purpose, [found])
                    else:  # not there, or with another number of samples: the last chunk of another run
                        self._open[graph] += 1
                        yield chunk
            self._close(graph)

    @staged("counting")
    def take(self, together: Sequence[Tally]) -> None:
        """Takes in the votes of chunks that came together."""
        if self._store is not None:
            for tally in together:
                _keep(self._store, tally)
        for graph, some in groupby(together, key=lambda tally: tally.chunk.graph):
            alike = list(some)
            for purpose, of_purpose in groupby(alike, key=lambda tally: tally.chunk.purpose):
                self._add(graph, purpose, list(of_purpose))
            self._close(graph, len(alike))

    def _add(self, graph: int, purpose: Purpose, tallies: Sequence[Tally]) -> None:
        """Adds the votes of chunks of one graph and purpose."""
        counts = tallies[0].counts if len(tallies) == 1 else np.sum([tally.counts for tally in tallies], axis=0)
        self._counts[purpose][self._rows(graph)] += counts
        for chunk, _, records in tallies:
            if chunk.against is not None:
                for recording, record in zip(self._recordings[graph], records, strict=True):
                    recording.add(chunk.number, record)
        self._advance(sum(tally.chunk.samples for tally in tallies))

    def _close(self, graph: int, chunks: int = 1) -> None:
        """So many chunks of a graph are there, or their list has ended."""
        self._open[graph] -= chunks
        if not self._open[graph]:
            del self._open[graph]
            if self._votes_of(graph) == self._wanted[graph]:
                self._look(graph)
            else:
                self.waiting.append(graph)

    def _next(self, graph: int, have: Wanted) -> Wanted:
        """What can be drawn now: where flips are recorded, votes that choose the class come before all others."""
        want = self._wanted[graph]
        first = graph in self._recordings and want.selection > have.selection
        return Wanted(want.selection, have.estimation) if first else want

    def _recorded(self, graph: int) -> Recorded:
        """The classes of the targets of a graph where the flips of votes against them are recorded."""
        if graph not in self._recordings:
            return Recorded(None)
        return what_to_record(
            self._job, graph, self._counts["selection"][self._rows(graph)], self._plan.most.estimation
        )

    def _tell_what_is_missing(self, graph: int) -> None:
        """Warns where the flips of some targets were not recorded."""
        against = self._recorded(graph).against
        kept = sum(label != NOT_RECORDED for label in against) if isinstance(against, tuple) else 1
        if kept < self._n_targets[graph]:
            warnings.warn(
                f"the flips of {kept:,} of {self._n_targets[graph]:,} targets of graph {graph} are recorded: those of "
                f"all would take more than {MOST_BYTES:,} bytes. The others have certificates by p_A alone.",
                StarcertWarning,
                stacklevel=1,
            )

    def _records(self, graph: int) -> tuple[FlipRecord | None, ...]:
        """The records of all targets of a graph, each look's being there."""
        if graph not in self._recordings:
            return (None,) * self._n_targets[graph]
        return tuple(recording.record() for recording in self._recordings[graph])

    def _look(self, graph: int) -> None:
        """Asks the plan what is wanted of a graph, all votes of its last answer being there."""
        have, chunk_size, most = self._votes_of(graph), self._job.chunk_size, self._plan.most
        if have != most and have.estimation:
            self._note_look()
        want = have if have == most else self._plan.wanted(self._so_far(graph))
        if want == have:
            self._wanted.pop(graph, None)
            self._advance(sum(most) - sum(have))
            return
        for purpose, before, now, limit in zip(PURPOSES, have, want, most, strict=True):
            if not before <= now <= limit:
                raise InvalidParameterError("samples", f"want {before} to {limit} {purpose} votes here", now)
            ends = chunk_ends(chunk_size, self._first_chunk(purpose))
            if now > before > 0 and before != next(end for end in ends if end >= before):
                must = f"want whole chunks of {chunk_size} samples at every look but the last"
                raise InvalidParameterError("samples", must, before)
        late = have.estimation and want.selection > have.selection
        if graph in self._recordings and (late or not want.selection):
            must = "want all selection votes before the first estimation vote where flips are recorded"
            raise InvalidParameterError("samples", must, want)
        self._wanted[graph] = want
        self.waiting.append(graph)

    def _first_chunk(self, purpose: Purpose) -> int | None:
        """Selection votes are drawn at once, in whole chunks."""
        return self._plan.first_chunk if purpose == "estimation" else None

    def _note_look(self) -> None:
        """Records that the plan is about to see estimation votes, and may answer by them."""
        if self._store is not None and not self._looked:
            self._store.note_look(selection=self._plan.most.selection, estimation=None)
        self._looked = True

    def _rows(self, graph: int) -> slice:
        return slice(self._firsts[graph], self._firsts[graph + 1])

    def _votes_of(self, graph: int) -> Wanted:
        """How many votes of a graph are there."""
        row = self._rows(graph).start
        return Wanted(*(int(self._counts[purpose][row].sum()) for purpose in PURPOSES))

    def _so_far(self, graph: int) -> SoFar:
        selection, estimation = (self._counts[purpose][self._rows(graph)] for purpose in PURPOSES)
        return SoFar(selection, estimation, self._job.chunk_size, graph, self._records(graph))

    def _stored(self, graph: int, purpose: Purpose, recorded: Recorded) -> dict[int, Tally]:
        """The chunks that the store has of every target, by their numbers, with the flips of votes against a class."""
        if self._store is None:
            return {}
        records = {} if recorded.against is None else self._stored_flips(graph, recorded)
        return {
            number: Tally(Chunk(graph, purpose, number, n, *recorded), votes, records.get(number, ()))
            for number, n, votes in self._store.tallies(graph, purpose)
            if recorded.against is None
            or (number in records and all(each is None or each.samples[0] == n for each in records[number]))
        }

    def _stored_flips(self, graph: int, recorded: Recorded) -> dict[int, tuple[FlipRecord | None, ...]]:
        """The flips that the store has of the chunks of a graph: for each target those that are wanted, or none."""
        assert self._store is not None
        n_sites, against = self._job.sites[graph].n_sites, recorded.against
        labels = (against,) if isinstance(against, int) else against or ()
        found: dict[int, list[FlipRecord | None]] = {}
        wanted = [target for target, label in enumerate(labels) if label != NOT_RECORDED]
        for target in wanted:
            for number, record in self._store.flips(graph, target).items():
                alike = (record.label, record.n_sites) == (labels[target], n_sites)
                if alike and (len(labels) == 1 or record.complete != recorded.by_axis):
                    found.setdefault(number, [None] * len(labels))[target] = record
        return {
            number: tuple(records)
            for number, records in found.items()
            if all(records[target] is not None for target in wanted)
        }


class Recorded(NamedTuple):
    """What is recorded of the votes on a graph: see `Chunk`."""

    against: int | tuple[int, ...] | None
    by_axis: bool = False


def what_to_record(job: Job, graph: int, selection: Counts, votes: int) -> Recorded:
    """What is recorded of so many estimation votes on a graph, as its selection votes tell.

    One target has all its flips recorded as they come, until they take too much. Of several targets, which share the
    noisy copies and not the votes against their classes, it is told in advance: all flips, if those of all targets will
    take `MOST_BYTES` at most; else how many there are on each axis, of the first targets that there is room for.

    Args:
        job: what all votes have in common.
        graph: the number of the graph.
        selection: its selection votes, shape (targets, classes).
        votes: how many estimation votes there may be.
    """
    labels = selection.argmax(axis=1)
    if len(labels) == 1:
        return Recorded(int(labels[0]))
    sites, n_axes = job.sites[graph], len(job.noise.axes)
    lost = votes * (1 - (selection.max(axis=1) - 1) / selection.sum(axis=1))
    flips = expected_flips(sites, job.noise)
    valued = is_valued(job.noise)
    whole = sum(flip_bytes(int(each), int(each * flips), sites.n_sites, shown=valued) for each in lost)
    if whole <= MOST_BYTES:
        return Recorded(tuple(labels.tolist()))
    room = np.cumsum(lost * (1 + n_axes * (2 if sites.n_sites < 2**16 else 4))) <= MOST_BYTES
    return Recorded(tuple(np.where(room, labels, NOT_RECORDED).tolist()), by_axis=True)


class _Recording:
    """The flips of the votes against the class of one target, while they come in.

    Chunks come in any order. They are joined, in their own order, when all of a look are there.
    """

    def __init__(self, job: Job, graph: int) -> None:
        self._sites, self._noise = job.sites[graph], job.noise
        self._declined, self._complete = False, True
        self._joined: list[FlipRecord] = []  # one record, or none yet
        self._parts: dict[int, FlipRecord] = {}
        self._votes = 0

    def add(self, number: int, record: FlipRecord | None) -> None:
        """Takes in the record of a chunk."""
        if record is None:
            self._declined = True
            return
        self._votes += len(record)
        self._parts[number] = record if self._complete else self._by_numbers(record)
        if self._complete and (not record.complete or self._is_too_large()):
            self._complete = False
            self._joined = [self._by_numbers(each) for each in self._joined]
            self._parts = {each: self._by_numbers(part) for each, part in self._parts.items()}

    def _is_too_large(self) -> bool:
        """Whether the flips of all chunks so far take more than they may: whatever order they come in, it is told."""
        n_sites = self._sites.n_sites
        if self._votes * -(-n_sites // 8) <= MOST_BYTES:  # as bits they do not, however many flips there are
            return False
        flips = sum(each.n_flips for each in (*self._joined, *self._parts.values()))
        return flip_bytes(self._votes, flips, n_sites) > MOST_BYTES

    def _by_numbers(self, record: FlipRecord) -> FlipRecord:
        return record.by_numbers(self._axes, len(self._noise.axes)) if record.complete else record

    @cached_property
    def _axes(self) -> npt.NDArray[np.uint16]:
        return axes_of_sites(self._sites, self._noise)

    def record(self) -> FlipRecord | None:
        """The record of all chunks, each look's being there; None if there are none, or flips cannot be recorded."""
        if self._parts:
            self._joined = [FlipRecord.joined([*self._joined, *(self._parts[i] for i in sorted(self._parts))])]
            self._parts = {}
        return self._joined[0] if self._joined and not self._declined else None


def _keep(store: VoteStore, tally: Tally) -> None:
    """Has a store keep the votes of a chunk. It refuses other votes than those that it has."""
    chunk = tally.chunk
    counts = tally.counts if len(tally.counts) > 1 else tally.counts[0]
    store.add(chunk.graph, chunk.purpose, chunk.number, counts, samples=chunk.samples, records=tally.records)


def _check_stored_votes(job: Job, store: VoteStore, executor: Executor | None) -> None:
    """Counts some stored chunks of every graph again: a classifier that has changed must not go on here."""

    def recounted() -> Iterator[Chunk]:
        for graph in range(len(job.sites)):
            stored = [Chunk(graph, each, *chunk) for each in PURPOSES for chunk in store.done(graph, each).items()]
            counts = sum(counts for _, _, counts in store.tallies(graph, "estimation"))
            against = 0 if isinstance(counts, int) else int((counts.sum(axis=1) - counts.max(axis=1)).min())
            yield from chunks_to_recount(stored, against)

    for tally in tallies(job, recounted(), executor):
        _keep(store, tally)
