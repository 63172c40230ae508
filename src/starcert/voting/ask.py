"""The only caller of a base classifier. What it is asked about comes in pieces, and is answered here or by workers.

A *piece* is data: some copies of one object, such as the noisy copies of a chunk, copies at attacked objects, attacked
objects without noise, or copies to be audited. Its `ask` yields the copies in batches that fit memory, receives what
the classifier answers, and returns what is kept of it: `Answers`. Pieces are defined at the top of modules, so they
travel.

Everything that pieces have in common stands here: a failing classifier is reported with the piece, answers are checked,
several objects share a call where the classifier takes them, and what workers need is sent once. Which pieces share a
call, and where they are answered, changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple, NoReturn, Protocol, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from starcert.classifiers import base
from starcert.classifiers.base import Classifier, Scores
from starcert.objects import NodeFrame, Sites
from starcert.objects.noise import Noise
from starcert.sampling.batch import Copies
from starcert.sampling.sampler import Sampler, fitting_batch, kept_sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import clean_copy
from starcert.system.travelling import SentOnce, map_on_workers
from starcert.voting.distinct import Table, Tables
from starcert.voting.plans import Job

Answers = TypeVar("Answers")
Kept_co = TypeVar("Kept_co", covariant=True)


class Batch(NamedTuple):
    """Copies of one object that the classifier is asked about at once."""

    copies: Copies
    name: str  # of the piece, for errors: "graph 0, selection chunk 1"
    scored: bool = False  # whether the numbers that the answers come from are needed
    as_written: bool = False  # whether it is asked without its shortcuts
    distinct: bool = False  # whether all copies that will be asked about are known to differ, as all attacks do


Asking: TypeAlias = Generator[Batch, Scores, Answers]
"""Yields batches, receives what the classifier answers on each, and returns what is kept of the answers."""


class Piece(Protocol[Kept_co]):
    """Copies of one object to ask the classifier about."""

    @property
    def graph(self) -> int:
        """The number of the object in the job."""

    @property
    def n_copies(self) -> int:
        """About how many copies there are."""

    def ask(self, job: Job, sites: Sites) -> Generator[Batch, Scores, Kept_co]:
        """Asks about them; `job` may be without graphs, `sites` are those of the object."""


AnyPiece = TypeVar("AnyPiece", bound=Piece[Any])


def ask(job: Job, pieces: Iterable[AnyPiece], executor: Executor | None = None) -> Iterator[tuple[AnyPiece, Any]]:
    """Every piece with what is kept of the answers, in whatever order they come; in order without an executor.

    Pieces are taken one by one as they are needed: what is found may decide which come next.
    """
    if executor is not None:
        sent = _sent(job, executor)
        yield from map_on_workers(executor, _on_worker, sent.job, sent.with_sites(job, pieces))
        return
    most = job.classifier.max_batch_nodes if job.batch_size is None else 0
    for group in _gathered(job, pieces, most) if most else ([piece] for piece in pieces):
        yield from zip(group, _answers(job, [(job.sites[each.graph], each) for each in group]), strict=True)


def nodes_of(sites: Sites) -> int:
    """The number of nodes of an object, at least 1; 1 of an object that is no graph."""
    return max(1, sites.frame.n_nodes) if isinstance(sites.frame, NodeFrame) else 1


def _gathered(job: Job, pieces: Iterable[AnyPiece], most: int) -> Iterator[list[AnyPiece]]:
    """As many pieces at once as have at most this many nodes in all their copies, or one."""
    group, total = list[AnyPiece](), 0
    for piece in pieces:
        own = piece.n_copies * nodes_of(job.sites[piece.graph])
        if group and total + own > most:
            yield group
            group, total = [], 0
        group.append(piece)
        total += own
    if group:
        yield group


class _Sent:
    """The job as workers need it, pickled once for all calls of `ask`, and the sites of the object sent last."""

    def __init__(self, job: Job, executor: Executor) -> None:
        self.executor = executor
        self.job = SentOnce(job.without_graphs, executor)
        self._last: tuple[int, SentOnce[Sites]] | None = None

    def with_sites(self, job: Job, pieces: Iterable[AnyPiece]) -> Iterator[tuple[SentOnce[Sites], AnyPiece]]:
        """The pieces, each with the sites of its object."""
        for graph, some in groupby(pieces, key=lambda piece: piece.graph):
            if self._last is None or self._last[0] != graph:
                self._last = graph, SentOnce(job.sites[graph], self.executor)
            sites = self._last[1]
            yield from ((sites, piece) for piece in some)


_SENT: WeakKeyDictionary[Job, _Sent] = WeakKeyDictionary()


def _sent(job: Job, executor: Executor) -> _Sent:
    found = _SENT.get(job)
    if found is None or found.executor is not executor:
        found = _SENT[job] = _Sent(job, executor)
    return found


def _on_worker(job: Job, sites: Sites, piece: Piece[Answers]) -> Answers:
    return _answers(job, [(sites, piece)])[0]


_TABLES: WeakKeyDictionary[Job, Tables] = WeakKeyDictionary()


def table_of(job: Job, sites: Sites) -> Table | None:
    """The answers on copies of an object that a job has kept here; None where looking costs more than asking."""
    table = _kept_by(job, sites)
    return table if table is not None and table.in_use else None


def _kept_by(job: Job, sites: Sites) -> Table | None:
    if job.classifier.backend != "cpu":  # bringing the copies here takes longer than classifying them
        return None
    return _TABLES.setdefault(job, Tables()).of(sites, job.noise)


def _answers(job: Job, pieces: Sequence[tuple[Sites, Piece[Answers]]]) -> list[Answers]:
    """What is kept of the answers on some pieces, whose next batches are always one call."""
    asking = [piece.ask(job, sites) for sites, piece in pieces]
    kept, scores = dict[int, Answers](), dict[int, Scores]()
    waiting = list(range(len(asking)))
    while waiting:
        batches = dict[int, Batch]()
        for place in waiting:
            try:
                batches[place] = asking[place].send(scores[place]) if place in scores else next(asking[place])
            except StopIteration as end:
                kept[place] = end.value
        waiting = list(batches)
        if len(waiting) == 1:
            scores = {place: _found(job, pieces[place][0], batch) for place, batch in batches.items()}
        else:
            scores = dict(zip(batches, _scores(job.classifier, list(batches.values())), strict=True))
    return [kept[place] for place in range(len(asking))]


def _scores(classifier: Classifier, batches: Sequence[Batch]) -> list[Scores]:
    """The classifier's answers on these batches, which are of different objects."""
    as_written = {each.as_written for each in batches}
    if len(as_written) == 1:
        asked, order = (classifier.as_written, -1) if as_written == {True} else (classifier, 1)  # again: another order
        with suppress(Exception):  # one by one, the one that fails is named
            found = asked.scored_each([each.copies for each in batches[::order]])[::order]
            return [base.checked_scores(each, asked, batch.copies) for each, batch in zip(found, batches, strict=True)]
    return [_scores_of(classifier, each) for each in batches]


def _found(job: Job, sites: Sites, batch: Batch) -> Scores:
    """The answers of the classifier on a batch, or its earlier answers on equal copies, if answers alone are needed."""
    table = None if batch.scored or batch.as_written or batch.distinct else table_of(job, sites)
    if table is None:
        return _scores_of(job.classifier, batch)

    most = fitting_batch_of(job, sites)
    if job.batch_size is None:
        most = max(most, job.classifier.chunks_per_batch * job.chunk_size)

    def answers(copies: Copies) -> npt.NDArray[np.int64]:
        parts = (_scores_of(job.classifier, batch._replace(copies=some)) for some in copies.split(most))
        return np.concatenate([np.asarray(part.answers, dtype=np.int64) for part in parts])

    def settle(copies: Copies, other: npt.NDArray[np.bool_]) -> None:
        found = _scores_of(job.classifier, batch._replace(copies=copies, scored=True))
        if (other & ~base.are_tied(found)).any():
            refuse_other_answers(batch.name)

    return Scores(table.answers(batch.copies, answers, settle))


def check_kept(job: Job, sites: Sites, batch: Batch, found: Scores) -> None:
    """Refuses a classifier whose answers on copies are not those that votes were counted with; ties may differ."""
    table = _kept_by(job, sites)
    if table is None:
        return
    places, kept = table.known(batch.copies)
    if len(places) and ((np.asarray(found.answers)[places] != kept) & ~base.are_tied(found)[places]).any():
        refuse_other_answers(batch.name)


def refuse_other_answers(name: str) -> NoReturn:
    """Refuses a classifier that answered an equal copy differently before."""
    raise base.OtherAnswersError(
        f"The base classifier answers a noisy copy differently than it answered an equal copy before ({name}). What it "
        "answers depends on the graphs beside it, or on how often it was asked. Take randomness, batch statistics and "
        "counters out of it, or ask about one copy at a time: batch_size=1."
    )


def _scores_of(classifier: Classifier, batch: Batch) -> Scores:
    asked = classifier.as_written if batch.as_written else classifier
    with base.named_errors(batch.name):
        found = asked.scored(batch.copies) if batch.scored else Scores(asked.classify(batch.copies))
        return base.checked_scores(found, asked, batch.copies)


def checked(
    asking: Asking[Answers], classifier: Classifier, n_copies: int, name: Callable[[int], str]
) -> Asking[Answers]:
    """The same, but the classifier is checked before an answer counts: for the first piece of all.

    Of the `n_copies`, a few are asked about alone and must get the same answer, and the numbers must not look like
    probabilities: a classifier with dropout or batch statistics is refused at once, and not by the audit at the end.
    """
    first, like_probabilities = 0, True
    try:
        batch = next(asking)
        while True:
            found = yield batch._replace(scored=True)
            like_probabilities = like_probabilities and base.look_like_probabilities(found)
            for copy in base.places_to_check(n_copies, scored=found.numbers is not None):
                if first <= copy < first + len(batch.copies):
                    base.check_alone(classifier, batch.copies, found, copy - first, name=name(copy))
            first += len(batch.copies)
            batch = asking.send(found)
    except StopIteration as end:
        if like_probabilities:
            base.refuse_probabilities(n_copies)
        answers: Answers = end.value
        return answers


class Again(NamedTuple):
    """Answers that are compared with earlier ones, shape (copies, targets), and where they may differ by rounding."""

    answers: npt.NDArray[np.int64]
    tied: npt.NDArray[np.bool_]


def asked_again(batches: Iterable[Batch]) -> Asking[Again]:
    """The answers on all of these batches of one object."""
    answers, tied = [], []
    for batch in batches:
        found = yield batch._replace(scored=True)
        shape = len(batch.copies), -1
        answers.append(np.asarray(found.answers, dtype=np.int64).reshape(shape))
        tied.append(base.are_tied(found).reshape(shape))
    return Again(np.concatenate(answers), np.concatenate(tied))


def fitting_batch_of(job: Job, sites: Sites) -> int:
    """The number of copies of an object that the classifier sees at once."""
    asked = job.classifier
    return job.batch_size or fitting_batch(
        sites, job.noise, wanted=asked.batch_size, device=asked.backend, copy_bytes=asked.copy_bytes
    )


def device_of(classifier: Classifier) -> str:
    """The device that copies are drawn on: always "cpu" where the backend, which a record names, is."""
    return "cpu" if classifier.backend == "cpu" else str(classifier.device)


def sampler_of(classifier: Classifier, sites: Sites, noise: Noise) -> Sampler:
    """The sampler of a graph, on the device of the classifier."""
    return kept_sampler(sites, noise, device_of(classifier))


def prepare(job: Job) -> None:
    """Classifies a noisy copy that no vote uses: what the classifier makes at its first call is then there."""
    with suppress(Exception):  # whatever a user's code may raise: voting meets it too, and names the graph
        job.classifier.classify(sampler_of(job.classifier, job.sites[0], job.noise).draw(WordStream(0), 1))


def answers_on(classifier: Classifier, sites: Sites) -> npt.NDArray[np.int64]:
    """The base classifier's own answers on a clean graph, one per target; a ValueError says what is wrong with them."""
    copy = clean_copy(sites)
    return np.asarray(base.checked_scores(Scores(classifier.classify(copy)), classifier, copy).answers).reshape(-1)
