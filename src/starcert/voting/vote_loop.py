"""A run of votes, and the count that follows a plan: chunks are sent, added up, and kept in a store if there is one."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from starcert.classifiers.base import Classifier, OtherAnswersError
from starcert.math.ballots import Ballots
from starcert.math.fallback import BlindAnswers
from starcert.math.flips import MAX_FLIP_BYTES, Integers, flip_bytes
from starcert.math.votes import (
    MAX_CHUNK_COUNTS,
    MAX_CHUNKS,
    ChunkCounts,
    SmallCounts,
    Votes,
    chunk_ends,
    chunk_lengths,
    chunk_type,
)
from starcert.objects.binding import Problem, first_axis_of_sites
from starcert.sampling.sampler import expected_flips
from starcert.sampling.streams import Purpose
from starcert.system.errors import InvalidParameterError, StarcertWarning
from starcert.system.output import Advance
from starcert.voting import PURPOSES, plans
from starcert.voting.ask import prepare
from starcert.voting.counting import CHANGED, ChangedError, DrawnVotes, open_store, stored_chunks, tallies
from starcert.voting.plans import Chunk, Counts, Job, Plan, Recorded, SoFar, Tally, Voting, Wanted
from starcert.voting.store import VoteStore


class VotingRun:
    """The job of one call, and how its votes are drawn; nothing is counted yet."""

    def __init__(
        self,
        base: Classifier,
        problem: Problem,
        seed: int,
        voting: Voting,
        listed: Mapping[int, Integers] | None = None,
        *,
        every_copy: bool = False,
        fallback: Callable[[Job], BlindAnswers] | None = None,
    ) -> None:
        job = Job.of(base, problem, seed, voting.chunk_size, voting.batch_size)
        blind = None if fallback is None else fallback(job)
        self.job = replace(job, listed=listed or {}, every_copy=every_copy, blind=blind)
        if not len(problem):
            raise InvalidParameterError("graphs", "hold at least one graph", [])
        plans.check_memory(self.job)
        self.store, self.executor = voting.store, voting.executor
        self.title = voting.progress if isinstance(voting.progress, str) else "votes"
        self.progress = None if isinstance(voting.progress, str) else voting.progress
        self.drawn = DrawnVotes(self.job)

    @contextmanager
    def opened(self) -> Iterator[VoteStore | None]:
        """The store, if there is one, while votes are drawn; at the end the classifier must answer as it did."""
        if self.store is not None:  # which has the digest of the classifier
            prepare(self.job)
        with nullcontext() if self.store is None else open_store(self.store, self.job) as store:
            try:
                yield store
                self.drawn.check()
            except BaseException as error:  # after an interruption, too, its votes are not to be continued
                if store is not None and (
                    isinstance(error, ChangedError | OtherAnswersError) or not self._is_unchanged()
                ):
                    store.condemn(CHANGED)
                raise

    def _is_unchanged(self) -> bool:
        try:
            self.drawn.check(ends_only=True)  # who has interrupted it does not want to wait
        except ChangedError:
            return False
        except Exception:  # noqa: BLE001  (the classifier fails: nothing more is known)
            return True
        return True


def count_votes(
    run: VotingRun, plan: Plan, advance: Advance, *, store: VoteStore | None = None, record: bool = False
) -> Votes:
    """The votes that a plan wants on every graph of a run, counted here or on its executor.

    With `record`, copies on which a target disagrees with its class are kept, as `what_to_record` says: the class that
    the selection votes choose, which all come first then. A store keeps every chunk, and gives those that it has; some
    stored chunks are counted again first. Votes that are drawn are noted.
    """
    if store is not None:
        for tally in tallies(run.job, stored_chunks(run.job, store), run.executor):
            _keep(store, tally)  # refuses other votes: a classifier that has changed must not continue here
            run.drawn.note(tally)
    count = _Count(run, plan, advance, store, record=record)
    while count.waiting:  # a plan with a second look may want more when all that was sent is back
        for tally in tallies(run.job, count.chunks(), run.executor):
            count.take(tally)
    return count.votes()


def _keep(store: VoteStore, tally: Tally) -> None:
    graph, purpose, number, samples, *_ = tally.chunk
    store.add(graph, purpose, number, tally.counts, samples=samples, ballots=tally.ballots)


class _Count:
    """The count on all graphs in progress; `waiting` are those that need votes but have no chunk in flight."""

    def __init__(self, run: VotingRun, plan: Plan, advance: Advance, store: VoteStore | None, *, record: bool) -> None:
        self._job, self._drawn, self._plan, self._store, self._advance = run.job, run.drawn, plan, store, advance
        job = run.job
        self._n_targets = [job.n_targets(graph) for graph in range(len(job.sites))]
        self._firsts = np.cumsum([0, *self._n_targets])
        shape = int(self._firsts[-1]), job.classifier.n_classes
        self._counts: dict[Purpose, Counts] = {purpose: np.zeros(shape, dtype=np.int64) for purpose in PURPOSES}
        self._wanted: dict[int, Wanted] = {}
        self._open: dict[int, int] = {}  # chunks of a graph that are in flight, and one while they are listed
        self.waiting: deque[int] = deque()
        self._looked = False
        self._first_chunk: dict[Purpose, int | None] = {"selection": None, "estimation": plan.first_chunk}
        self._recordings = {
            i: _Recording(job, i)
            for i in range(len(job.sites))
            if record and not job.problem.without_evidence[i] and (i in job.listed or not job.every_copy)
        }
        self._chunks = self._no_chunks()  # the counts of each chunk; None: they would take too much
        for graph in range(len(job.sites)):
            self._look(graph)

    def votes(self) -> Votes:
        """The votes, once nothing is waiting."""
        for graph in self._recordings:
            self._warn_of_unrecorded_targets(graph)
        objects = np.repeat(np.arange(len(self._n_targets)), self._n_targets)
        selection = self._counts["selection"]
        totals = set(self._counts["estimation"].sum(axis=1).tolist())
        fixed = self._store is None or all(map(self._store.is_fixed, totals))
        return Votes(
            self._counts["estimation"],
            selection=selection if selection.any() else None,
            objects=objects,
            targets=np.arange(len(objects)) - self._firsts[objects],
            history="stopped" if self._looked else "fixed" if fixed else "looked",
            ballots=tuple(map(self._ballots, range(len(self._n_targets)))) if self._recordings else (),
            blind=self._job.blind,
            chunks=self._by_chunk(),
        )

    def _no_chunks(self) -> dict[Purpose, list[SmallCounts]] | None:
        """Room for the counts of all chunks that the plan may want, each 0; None where they would take too much."""
        size, n_classes = self._job.chunk_size, self._job.classifier.n_classes
        kind = np.dtype(chunk_type(size))
        if max(self._plan.most) // size > MAX_CHUNKS:
            return None
        numbers = {
            purpose: len(chunk_lengths(most, size, self._first_chunk[purpose]))
            for purpose, most in zip(PURPOSES, self._plan.most, strict=True)
        }
        if sum(numbers.values()) * sum(self._n_targets) * n_classes * kind.itemsize > MAX_CHUNK_COUNTS:
            return None
        return {
            purpose: [np.zeros((number, n, n_classes), dtype=kind) for n in self._n_targets]
            for purpose, number in numbers.items()
        }

    def _by_chunk(self) -> ChunkCounts:
        """The way the votes were drawn, with the counts of the chunks that were."""
        job, found = self._job, dict[Purpose, tuple[SmallCounts, ...] | None](dict.fromkeys(PURPOSES))
        for purpose, chunks in (self._chunks or {}).items():
            found[purpose] = tuple(each[: int(each[:, :1].any(axis=(1, 2)).sum())] for each in chunks)
        keys = tuple(sites.clean.key for sites in job.sites)
        return ChunkCounts(job.seed, job.chunk_size, self._plan.first_chunk, job.classifier.backend, keys, **found)

    def chunks(self) -> Iterator[Chunk]:
        """The chunks that are left to do; what the store has is added to the counts on the way."""
        while self.waiting:
            graph = self.waiting.popleft()
            have, want = self._votes_of(graph), self._wanted[graph]
            if graph in self._recordings and want.selection > have.selection:  # they choose whose flips are recorded
                want = Wanted(want.selection, have.estimation)
            self._open[graph] = 1
            for purpose, before, now in zip(PURPOSES, have, want, strict=True):
                if now == before:
                    continue
                recorded = self._recorded(graph) if purpose == "estimation" else None
                stored = self._stored(graph, purpose, recorded)
                first = self._first_chunk[purpose]
                for chunk in plans.chunks_of(
                    graph, purpose, now, self._job.chunk_size, before, recorded, first_chunk=first
                ):
                    found = stored.get(chunk.number)
                    if found is not None and found.chunk.samples == chunk.samples:
                        self._add(found)
                    else:  # not there, or with another number of samples: the last chunk of another run
                        self._open[graph] += 1
                        yield chunk
            self._close(graph)

    def take(self, tally: Tally) -> None:
        """Takes in the votes of a chunk that was sent."""
        if self._store is not None:
            _keep(self._store, tally)
        self._drawn.note(tally)
        self._add(tally)
        self._close(tally.chunk.graph)

    def _add(self, tally: Tally) -> None:
        chunk = tally.chunk
        self._counts[chunk.purpose][self._rows(chunk.graph)] += tally.counts
        if self._chunks is not None:
            self._chunks[chunk.purpose][chunk.graph][chunk.number] = tally.counts
        if tally.ballots is not None:
            self._recordings[chunk.graph].add(chunk.number, tally.ballots)
        self._advance(chunk.samples)

    def _close(self, graph: int) -> None:
        """Notes that a chunk of a graph is there, or that the list of its chunks has ended."""
        self._open[graph] -= 1
        if not self._open[graph]:
            del self._open[graph]
            if self._votes_of(graph) == self._wanted[graph]:
                self._look(graph)
            else:
                self.waiting.append(graph)

    def _look(self, graph: int) -> None:
        """Asks the plan how many votes of a graph it wants, once all votes of its last answer are there."""
        have, chunk_size, most = self._votes_of(graph), self._job.chunk_size, self._plan.most
        if have != most and have.estimation:  # the plan is about to see estimation votes, and may answer by them
            if self._store is not None and not self._looked:
                self._store.note_look(selection=most.selection, estimation=None)
            self._looked = True
        want = have if have == most else self._plan.wanted(self._so_far(graph))
        if want == have:
            self._wanted.pop(graph, None)
            self._advance(sum(most) - sum(have))
            return
        for purpose, before, now, limit in zip(PURPOSES, have, want, most, strict=True):
            if not before <= now <= limit:
                raise InvalidParameterError(
                    "samples",
                    f"cannot be {now}: the plan asked for {now} {purpose} votes, and {before} to {limit} are possible.",
                )
            ends = chunk_ends(chunk_size, self._first_chunk[purpose])
            if now > before > 0 and before != next(end for end in ends if end >= before):
                whole = f"Every look but the last is after whole chunks of {chunk_size} samples."
                raise InvalidParameterError("samples", f"cannot be {before} here. {whole}")
        late = have.estimation and want.selection > have.selection
        if graph in self._recordings and (late or not want.selection):
            order = "Where flips are recorded, all selection votes come before the first estimation vote."
            raise InvalidParameterError("samples", f"cannot be {tuple(want)} here. {order}")
        self._wanted[graph] = want
        self.waiting.append(graph)

    def _rows(self, graph: int) -> slice:
        return slice(self._firsts[graph], self._firsts[graph + 1])

    def _votes_of(self, graph: int) -> Wanted:
        """The number of votes of a graph that are there."""
        row = self._firsts[graph]
        return Wanted(*(int(self._counts[purpose][row].sum()) for purpose in PURPOSES))

    def _so_far(self, graph: int) -> SoFar:
        selection, estimation = (self._counts[purpose][self._rows(graph)] for purpose in PURPOSES)
        return SoFar(selection, estimation, self._job.chunk_size, graph, self._ballots(graph), self._blind(graph))

    def _ballots(self, graph: int) -> Ballots | None:
        return self._recordings[graph].ballots() if graph in self._recordings else None

    def _recorded(self, graph: int) -> Recorded | None:
        if graph not in self._recordings:
            return None
        selection = self._counts["selection"][self._rows(graph)]
        return what_to_record(self._job, graph, selection, self._plan.most.estimation, self._blind(graph))

    def _blind(self, graph: int) -> BlindAnswers | None:
        return None if self._job.blind is None else self._job.blind.of_rows(self._rows(graph))

    def _warn_of_unrecorded_targets(self, graph: int) -> None:
        recorded, n_targets = self._recorded(graph), self._n_targets[graph]
        kept = n_targets if recorded is None or recorded.labels is None else len(recorded.labels)
        if kept < n_targets:
            warnings.warn(
                f"the flips of {kept:,} of {n_targets:,} targets of graph {graph} are recorded: those of all would "
                f"take more than {MAX_FLIP_BYTES:,} bytes. The others have certificates by p_A alone.",
                StarcertWarning,
                stacklevel=1,
            )

    def _stored(self, graph: int, purpose: Purpose, recorded: Recorded | None) -> dict[int, Tally]:
        """The stored chunks of a graph by number; where copies are to be kept, those that have their ballots."""
        if self._store is None:
            return {}
        stored = {
            number: Tally(Chunk(graph, purpose, number, samples, recorded), votes)
            for number, samples, votes in self._store.tallies(graph, purpose)
        }
        if recorded is None:
            return stored
        kept = self._store.ballots(graph)
        return {
            number: tally._replace(ballots=kept[number])
            for number, tally in stored.items()
            if number in kept and kept[number].n_copies == tally.chunk.samples and self._fits(kept[number], tally.chunk)
        }

    def _fits(self, ballots: Ballots, chunk: Chunk) -> bool:
        """True if stored ballots are those that a chunk would have; its flips may have been too many to be kept."""
        recorded, sites = chunk.recorded, self._job.listed.get(chunk.graph)
        assert recorded is not None
        if (ballots.labels, ballots.n_sites) != (recorded.labels, self._job.sites[chunk.graph].n_sites):
            return False
        if recorded.flips == "listed":
            return ballots.sites is not None and np.array_equal(ballots.sites, sites)  # type: ignore[arg-type]
        return ballots.sites is None and (not ballots.complete or recorded.flips == "all")


def what_to_record(job: Job, graph: int, selection: Counts, votes: int, blind: BlindAnswers | None = None) -> Recorded:
    """The copies and flips to keep of at most `votes` estimation votes on a graph, from its selection votes.

    One target has all flips kept as they come, until they take too much. Several targets share their copies, so it is
    decided in advance: all flips, if those of the votes that each target has against its class are expected to take
    `MAX_FLIP_BYTES` at most in all; else the flips of the sites that listed attacks change; else the number of flips on
    each axis. If even these take more, with the answers, they are kept for the first targets that fit.
    """
    if job.every_copy:
        return Recorded(None, "listed")
    labels = selection.argmax(axis=1) if blind is None else blind.chosen(selection)
    if len(labels) == 1:
        return Recorded(tuple(labels.tolist()))
    n_sites, n_axes, valued = job.sites[graph].n_sites, len(job.noise.axes), job.noise.is_valued
    lost = votes * (1 - np.maximum(selection[np.arange(len(labels)), labels] - 1, 0) / selection.sum(axis=1))
    rows = min(votes, int(lost.sum()) + 1)  # copies on which at least one target disagrees
    flips = expected_flips(job.sites[graph], job.noise)
    if sum(flip_bytes(int(each), int(each * flips), n_sites, shown=valued) for each in lost) <= MAX_FLIP_BYTES:
        return Recorded(tuple(labels.tolist()))
    width = 1 if selection.shape[1] <= 2**8 else 2  # bytes of an answer
    if (sites := job.listed.get(graph)) is not None:
        own = int(rows * flips * len(sites) / max(n_sites, 1))
        if flip_bytes(rows, own, len(sites), shown=valued) + rows * width * len(labels) <= MAX_FLIP_BYTES:
            return Recorded(tuple(labels.tolist()), "listed")
    of_flips, of_answers = n_axes * (2 if n_sites < 2**16 else 4), width * np.arange(1, len(labels) + 1)
    fits = np.minimum(votes, np.cumsum(lost)) * (of_flips + of_answers) <= MAX_FLIP_BYTES
    return Recorded(tuple(labels[: int(fits.sum())].tolist()), "numbers")


class _Recording:
    """The ballots of one graph, chunk by chunk; joined in order at every look."""

    def __init__(self, job: Job, graph: int) -> None:
        self._sites, self._noise = job.sites[graph], job.noise
        self._complete = True
        self._parts: dict[int, Ballots] = {}  # by chunk; −1: those of earlier looks, joined
        self._votes = 0

    def add(self, number: int, ballots: Ballots) -> None:
        """Adds those of a chunk."""
        self._votes += len(ballots)
        self._parts[number] = ballots if self._complete else self._by_numbers(ballots)
        if self._complete and (not ballots.complete or self._is_too_large(ballots)):
            self._complete = False
            self._parts = {each: self._by_numbers(part) for each, part in self._parts.items()}

    def _is_too_large(self, ballots: Ballots) -> bool:
        """True if the flips of all chunks so far take more than they may, whatever order they came in."""
        n_sites = self._sites.n_sites
        if ballots.sites is not None or self._votes * -(-n_sites // 8) <= MAX_FLIP_BYTES:  # bits are few enough
            return False
        flips = sum(each.n_flips for each in self._parts.values())
        return flip_bytes(self._votes, flips, n_sites) > MAX_FLIP_BYTES

    def _by_numbers(self, ballots: Ballots) -> Ballots:
        return ballots.by_numbers(self._axes, len(self._noise.axes)) if ballots.complete else ballots

    @cached_property
    def _axes(self) -> npt.NDArray[np.uint16]:
        return first_axis_of_sites(self._sites, self._noise)

    def ballots(self) -> Ballots | None:
        """Those of all chunks, once those of a look are there; None before the first."""
        if not self._parts:
            return None
        if self._parts.keys() != {-1}:
            self._parts = {-1: Ballots.joined([self._parts[each] for each in sorted(self._parts)])}
        return self._parts[-1]
