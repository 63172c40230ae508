"""A run of votes, and the count that follows a plan: chunks are sent, added up, and kept in a store if there is one."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from os import PathLike
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.classifiers.base import Classifier
from starcert.math.confidence import Votes
from starcert.math.fallback import BlindAnswers
from starcert.math.flips import MAX_FLIP_BYTES, FlipRecord, Integers, flip_bytes
from starcert.math.joint import NO_CLASS, JointVotes
from starcert.objects.binding import Problem, first_axis_of_sites
from starcert.sampling.sampler import expected_flips
from starcert.sampling.streams import Purpose
from starcert.system.errors import InvalidParameterError, StarcertWarning
from starcert.system.output import Advance
from starcert.voting import PURPOSES, plans
from starcert.voting.ask import prepare
from starcert.voting.counting import tallies
from starcert.voting.options import Voting
from starcert.voting.plans import NOT_RECORDED, Chunk, Counts, Job, Plan, SoFar, Tally, Wanted
from starcert.voting.recounting import CHANGED, ChangedError, DrawnVotes, stored_chunks
from starcert.voting.store import GraphRecord, VoteSettings, VoteStore


class VotingRun:
    """What one call draws votes with: the job, and how; nothing is counted yet."""

    def __init__(
        self,
        base: Classifier,
        problem: Problem,
        seed: int,
        voting: Voting,
        joint_sites: Mapping[int, Integers] | None = None,
        *,
        joint_only: bool = False,
        fallback: Callable[[Job], BlindAnswers] | None = None,
    ) -> None:
        job = Job.of(base, problem, seed, voting.chunk_size, voting.batch_size)
        blind = None if fallback is None else fallback(job)
        self.job = replace(job, joint_sites=joint_sites or {}, joint_only=joint_only, blind=blind)
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
                if store is not None and (isinstance(error, ChangedError) or not self._is_unchanged()):
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


def open_store(path: str | PathLike[str], job: Job) -> VoteStore:
    """The store of a job, new or continued; see `VoteStore.open`."""
    base, noise = job.classifier, job.noise.to_dict()
    for region, stated in job.noise.stated.items():  # other transitions under one name are another noise
        noise[region] = {**noise[region], "transitions": stated}  # type: ignore[dict-item]
    settings = VoteSettings(noise, base.description, base.n_classes, job.seed, job.chunk_size, base.backend)
    graphs = []
    for i, (each, capacities) in enumerate(zip(job.sites, job.problem.capacities, strict=True)):
        sizes = dict(zip(job.noise.axes, capacities, strict=True))
        graphs.append(GraphRecord(i, each.clean.key, each.key, sizes, each.reason, n_targets=job.n_targets(i)))
    return VoteStore.open(path, settings, graphs)


def count_votes(
    job: Job,
    plan: Plan,
    *,
    record: bool = False,
    store: VoteStore | None = None,
    executor: Executor | None = None,
    advance: Advance,
    drawn: DrawnVotes | None = None,
) -> Votes:
    """The votes that a plan wants on every graph of a job, counted here or on an executor.

    With `record`, flips of estimation votes against the class of each target are kept, as `what_to_record` says: the
    class that the selection votes choose, which all come first then. A store keeps every chunk, and gives those that
    it has; some stored chunks are counted again first. Votes that are drawn are noted in `drawn`.
    """
    if store is not None:
        for tally in tallies(job, stored_chunks(job, store), executor):
            _keep(store, tally)  # refuses other votes: a classifier that has changed must not continue here
            if drawn is not None:
                drawn.note(tally)
    count = _Count(job, plan, store, advance, drawn, record=record)
    while count.waiting:  # a plan with a second look may want more when all that was sent is back
        for tally in tallies(job, count.chunks(), executor):
            count.take(tally)
    return count.votes()


def _keep(store: VoteStore, tally: Tally) -> None:
    graph, purpose, number, samples, *_ = tally.chunk
    store.add(graph, purpose, number, tally.counts, samples=samples, records=tally.records)


class _Count:
    """The count on all graphs in progress; `waiting` are those that need votes but have no chunk in flight."""

    def __init__(
        self,
        job: Job,
        plan: Plan,
        store: VoteStore | None,
        advance: Advance,
        drawn: DrawnVotes | None,
        *,
        record: bool,
    ) -> None:
        self._job, self._plan, self._store, self._advance, self._drawn = job, plan, store, advance, drawn
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
            i: [_Recording(job, i) for _ in range(n)]
            for i, n in enumerate(self._n_targets)
            if record and not job.problem.without_evidence[i] and (i in job.joint_sites or not job.joint_only)
        }
        self._joint: dict[int, dict[int, JointVotes]] = {}  # by graph and chunk
        for graph in range(len(job.sites)):
            self._look(graph)

    def votes(self) -> Votes:
        """The votes, once nothing is waiting."""
        for graph in {} if self._job.joint_only else self._recordings:
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
            records=[one for graph in range(len(self._n_targets)) for one in self._records(graph)],
            joint=tuple(map(self._joint_votes, range(len(self._n_targets)))) if self._joint else (),
            blind=self._job.blind,
        )

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
                recorded = self._recorded(graph) if purpose == "estimation" else Recorded(None)
                stored = self._stored(graph, purpose, recorded)
                how = {**recorded._asdict(), "first_chunk": self._first_chunk[purpose]}
                for chunk in plans.chunks_of(graph, purpose, now, self._job.chunk_size, before, **how):
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
        if self._drawn is not None:
            self._drawn.note(tally)
        self._add(tally)
        self._close(tally.chunk.graph)

    def _add(self, tally: Tally) -> None:
        chunk = tally.chunk
        self._counts[chunk.purpose][self._rows(chunk.graph)] += tally.counts
        if chunk.against is not None and not self._job.joint_only:
            for recording, record in zip(self._recordings[chunk.graph], tally.records, strict=True):
                recording.add(chunk.number, record)
        if tally.joint is not None:
            self._joint.setdefault(chunk.graph, {})[chunk.number] = tally.joint
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
            ends = plans.chunk_ends(chunk_size, self._first_chunk[purpose])
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
        """How many votes of a graph are there."""
        row = self._firsts[graph]
        return Wanted(*(int(self._counts[purpose][row].sum()) for purpose in PURPOSES))

    def _so_far(self, graph: int) -> SoFar:
        selection, estimation = (self._counts[purpose][self._rows(graph)] for purpose in PURPOSES)
        return SoFar(selection, estimation, self._job.chunk_size, graph, self._records(graph), self._blind(graph))

    def _records(self, graph: int) -> tuple[FlipRecord | None, ...]:
        if graph not in self._recordings:
            return (None,) * self._n_targets[graph]
        return tuple(recording.record() for recording in self._recordings[graph])

    def _joint_votes(self, graph: int) -> JointVotes | None:
        parts = self._joint.get(graph, {})
        return JointVotes.joined([parts[number] for number in sorted(parts)]) if parts else None

    def _recorded(self, graph: int) -> Recorded:
        if graph not in self._recordings:
            return Recorded(None)
        selection = self._counts["selection"][self._rows(graph)]
        return what_to_record(self._job, graph, selection, self._plan.most.estimation, self._blind(graph))

    def _blind(self, graph: int) -> BlindAnswers | None:
        return None if self._job.blind is None else self._job.blind.of_rows(self._rows(graph))

    def _warn_of_unrecorded_targets(self, graph: int) -> None:
        against = self._recorded(graph).against
        kept = sum(label != NOT_RECORDED for label in against) if isinstance(against, tuple) else 1
        if kept < self._n_targets[graph]:
            warnings.warn(
                f"the flips of {kept:,} of {self._n_targets[graph]:,} targets of graph {graph} are recorded: those of "
                f"all would take more than {MAX_FLIP_BYTES:,} bytes. The others have certificates by p_A alone.",
                StarcertWarning,
                stacklevel=1,
            )

    def _stored(self, graph: int, purpose: Purpose, recorded: Recorded) -> dict[int, Tally]:
        """The stored chunks of a graph by number; where flips are to be recorded, those that have them.

        A store keeps no joint votes of several targets: where they are wanted, all chunks are counted again.
        """
        sites = self._job.joint_sites.get(graph)
        one = self._job.joint_only and isinstance(recorded.against, int)  # its record has all its votes
        if self._store is None or (recorded.against is not None and sites is not None and not one):
            return {}
        stored = {
            number: Tally(Chunk(graph, purpose, number, samples, *recorded), votes)
            for number, samples, votes in self._store.tallies(graph, purpose)
        }
        if recorded.against is None:
            return stored
        n_sites, against = self._job.sites[graph].n_sites, recorded.against
        labels = (against,) if isinstance(against, int) else against
        wanted = [target for target, label in enumerate(labels) if label != NOT_RECORDED]
        records: dict[int, list[FlipRecord | None]] = {number: [None] * len(labels) for number in stored}
        for target in wanted:
            for number, record in self._store.flips(graph, target).items():
                alike = (record.label, record.n_sites) == (labels[target], n_sites)
                same_form = len(labels) == 1 or record.complete != recorded.by_axis
                same_form &= record.complete or sites is None
                if alike and same_form and record.samples[0] == stored[number].chunk.samples:
                    records[number][target] = record
        found = {
            number: tally._replace(records=tuple(records[number]))
            for number, tally in stored.items()
            if all(records[number][target] is not None for target in wanted)
        }
        return found if sites is None else {number: _with_joint(tally, sites) for number, tally in found.items()}


def _with_joint(tally: Tally, sites: Integers) -> Tally:
    """A tally with the joint votes of one target, from the record of all its votes."""
    (record,) = tally.records
    assert record is not None
    return tally._replace(joint=JointVotes.of_chunk(sites, record, record.classes[:, None]))


class Recorded(NamedTuple):
    """What is recorded of the votes on a graph: see `Chunk`."""

    against: int | tuple[int, ...] | None
    by_axis: bool = False


def what_to_record(job: Job, graph: int, selection: Counts, votes: int, blind: BlindAnswers | None = None) -> Recorded:
    """What is recorded of at most `votes` estimation votes on a graph, from its selection votes.

    One target has all its flips recorded as they come, until they take too much. Several targets share the noisy copies
    but not the votes against their classes, so it is decided in advance: all flips, if those of all targets are
    expected to take `MAX_FLIP_BYTES` at most; else the number of flips on each axis, of the first targets that fit.
    """
    labels = selection.argmax(axis=1) if blind is None else blind.chosen(selection)
    if job.joint_only:
        return Recorded(NO_CLASS if len(labels) == 1 else (NOT_RECORDED,) * len(labels))
    if len(labels) == 1:
        return Recorded(int(labels[0]))
    sites, n_axes = job.sites[graph], len(job.noise.axes)
    lost = votes * (1 - np.maximum(selection[np.arange(len(labels)), labels] - 1, 0) / selection.sum(axis=1))
    flips = expected_flips(sites, job.noise)
    valued = job.noise.is_valued
    needed = sum(flip_bytes(int(each), int(each * flips), sites.n_sites, shown=valued) for each in lost)
    if needed <= MAX_FLIP_BYTES:
        return Recorded(tuple(labels.tolist()))
    fits = np.cumsum(lost * (1 + n_axes * (2 if sites.n_sites < 2**16 else 4))) <= MAX_FLIP_BYTES
    return Recorded(tuple(np.where(fits, labels, NOT_RECORDED).tolist()), by_axis=True)


class _Recording:
    """The flips of the votes against the class of one target, chunk by chunk; joined in order at every look."""

    def __init__(self, job: Job, graph: int) -> None:
        self._sites, self._noise = job.sites[graph], job.noise
        self._declined, self._complete = False, True
        self._parts: dict[int, FlipRecord] = {}  # by chunk; −1: those of earlier looks, joined
        self._votes = 0

    def add(self, number: int, record: FlipRecord | None) -> None:
        """Adds the record of a chunk."""
        if record is None:
            self._declined = True
            return
        self._votes += len(record)
        self._parts[number] = record if self._complete else self._by_numbers(record)
        if self._complete and (not record.complete or self._is_too_large()):
            self._complete = False
            self._parts = {each: self._by_numbers(part) for each, part in self._parts.items()}

    def _is_too_large(self) -> bool:
        """Whether the flips of all chunks so far take more than they may, whatever order they came in."""
        n_sites = self._sites.n_sites
        if self._votes * -(-n_sites // 8) <= MAX_FLIP_BYTES:  # as bits they do not, however many flips there are
            return False
        flips = sum(each.n_flips for each in self._parts.values())
        return flip_bytes(self._votes, flips, n_sites) > MAX_FLIP_BYTES

    def _by_numbers(self, record: FlipRecord) -> FlipRecord:
        return record.by_numbers(self._axes, len(self._noise.axes)) if record.complete else record

    @cached_property
    def _axes(self) -> npt.NDArray[np.uint16]:
        return first_axis_of_sites(self._sites, self._noise)

    def record(self) -> FlipRecord | None:
        """The record of all chunks, once those of a look are there; None if nothing is recorded."""
        if self._declined or not self._parts:
            return None
        if self._parts.keys() != {-1}:
            self._parts = {-1: FlipRecord.joined([self._parts[each] for each in sorted(self._parts)])}
        return self._parts[-1]
