"""Votes of their own for attacks, drawn at attacked objects.

They are drawn few at a time, and many attacks share a batch. Like all votes they are a function of
seed, object, attack and chunk, whatever the batches and the workers are; the store of the run keeps them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.certificates.certificate import Certificate
from starcert.classifiers.base import Classifier, are_tied, checked_answers, named_errors
from starcert.math.attacked_sites import AttackAxis, sites_by_pool
from starcert.objects.binding import clean_values
from starcert.sampling.sampler import Attack, AttackedCopies, own_chunk
from starcert.system.errors import InvalidParameterError
from starcert.system.stages import add_votes, stage, staged, unstaged
from starcert.system.travelling import SentOnce, map_on_workers
from starcert.voting.plans import Job
from starcert.voting.recounting import ChangedError
from starcert.voting.store import VoteStore

SPAN = 4096  # votes, about, that one task of a worker counts
RECOUNTED = 16  # attacks on an object, at most, whose first votes are counted again when a run ends

Counts = npt.NDArray[np.int64]


class OwnTally(NamedTuple):
    """One chunk of votes at one attacked object: for each class, and for each one against the class its flips by axis.

    An attacked site counts as flipped where it differs from the clean object.
    """

    counts: Counts
    numbers: Counts  # shape (votes, axes)


class AttackVotes(ABC):
    """Votes at attacked versions of one object; all levels that list an attack share its votes.

    There may be `most` votes in all, and `left` more; `tallies` are those so far, for each attack chunk by chunk.
    """

    def __init__(self, most: int, n_classes: int) -> None:
        self.most = self.left = most
        self.n_classes = n_classes
        self.tallies: dict[Attack, list[OwnTally]] = {}
        self._counts: dict[Attack, Counts] = {}
        self._totals: dict[Attack, int] = {}

    @abstractmethod
    def count(self, attacks: Sequence[Attack], chunk: int) -> list[OwnTally]:
        """The votes of a chunk at each attacked object: `own_chunk` says which."""

    def draw(self, attacks: Sequence[Attack], votes: int) -> bool:
        """Brings these attacks to this many votes, in whole chunks; False if too few are left, and none is drawn."""
        if self.missing(attacks, votes) > self.left:
            return False
        chunk, lacking = 0, [attack for attack in attacks if self.total(attack) < votes]
        while lacking:
            some = [attack for attack in lacking if len(self.tallies.get(attack, ())) == chunk]
            for attack, tally in zip(some, self.count(some, chunk) if some else [], strict=True):
                number = int(tally.counts.sum())
                self.left -= number
                self._counts[attack], self._totals[attack] = (
                    self.counts(attack) + tally.counts,
                    self.total(attack) + number,
                )
                self.tallies.setdefault(attack, []).append(tally)
            chunk, lacking = chunk + 1, [attack for attack in lacking if self.total(attack) < votes]
        return True

    def missing(self, attacks: Sequence[Attack], votes: int) -> int:
        """How many votes bring each of these attacks to this many."""
        return sum(max(0, votes - self.total(attack)) for attack in attacks)

    def counts(self, attack: Attack) -> Counts:
        """The votes for each class so far."""
        return self._counts.get(attack, np.zeros(self.n_classes, dtype=np.int64))

    def total(self, attack: Attack) -> int:
        """How many votes an attack has so far."""
        return self._totals.get(attack, 0)


class RecordedVotes(AttackVotes):
    """Votes that were counted before, for instance by the run that wrote an archive: no others are given out."""

    def __init__(self, most: int, n_classes: int, recorded: Mapping[Attack, Sequence[OwnTally]]) -> None:
        super().__init__(most, n_classes)
        self._recorded = recorded

    @override
    def count(self, attacks: Sequence[Attack], chunk: int) -> list[OwnTally]:
        for attack in attacks:
            if (kept := len(self._recorded.get(attack, ()))) <= chunk:
                raise InvalidParameterError(
                    "evidence",
                    f"hold chunk {chunk} of the votes at the graph that is attacked on the sites {attack}",
                    f"{kept} chunks",
                    "It was changed, or written by an earlier version that drew other votes: certify the graphs again.",
                )
        return [self._recorded[attack][chunk] for attack in attacks]


class _Target:
    """One target of one object: what a worker needs beside the classifier."""

    def __init__(self, job: Job, graph: int, number: int, label: int, axes: Sequence[Counts]) -> None:
        self.sites, self.noise, self.seed, self.batch_size = job.sites[graph], job.noise, job.seed, job.batch_size
        self.number, self.label, self.axes = number, label, axes

    def copies(self) -> AttackedCopies:
        return AttackedCopies(self.sites, self.noise, self.seed)

    @staged("counting")
    def tallies(self, base: Classifier, copies: AttackedCopies, span: Sequence[Attack], chunk: int) -> list[OwnTally]:
        answers, numbers = [], [np.empty((0, len(self.axes)), dtype=np.int64)]
        clean, n_targets = clean_values(self.sites), base.n_targets(self.sites.frame)
        with stage("drawing"):
            drawn = copies.draw(span, chunk)
        for batch in drawn.split(self.batch_size or base.batch_size):
            with named_errors("copies of attacked graphs"), stage("model"):
                found = checked_answers(base.classify(batch), len(batch), base.n_classes, n_targets)
            answers.append(found.reshape(len(found), -1)[:, self.number])
            against = answers[-1] != self.label
            if against.any():
                flips = batch.values[against] != clean
                numbers.append(np.stack([flips[:, axis].sum(axis=1) for axis in self.axes], axis=1))
        add_votes(len(drawn))
        rows = np.concatenate(answers).reshape(len(span), -1)
        ends = np.cumsum([0, *(rows != self.label).sum(axis=1)])
        listed = np.concatenate(numbers)
        return [
            OwnTally(np.bincount(row, minlength=base.n_classes), listed[first:end])
            for row, (first, end) in zip(rows, pairwise(ends), strict=True)
        ]

    def n_tied(self, base: Classifier, copies: AttackedCopies, attack: Attack, chunk: int) -> int:
        """How many votes of a chunk at an attacked object could go to either of two classes."""
        scores = base.scored(copies.draw([attack], chunk))
        return int(are_tied(scores).reshape(len(own_chunk(chunk)), -1)[:, self.number].sum())


def _count_on_worker(base: Classifier, target: _Target, piece: tuple[Sequence[Attack], int]) -> list[OwnTally]:
    return target.tallies(base, target.copies(), *piece)


class OwnVotes(AttackVotes):
    """Counts votes at attacked versions of a certificate's object, here or on an executor; a run's store keeps them."""

    def __init__(
        self,
        job: Job,
        one: Certificate,
        axes: Sequence[AttackAxis],
        *,
        most: int,
        store: VoteStore | None,
        executor: Executor | None,
    ) -> None:
        super().__init__(most, job.classifier.n_classes)
        self._base, self._graph, self._store, self._executor = job.classifier, one.object, store, executor
        self._target = _Target(job, one.object, one.target, one.label, sites_by_pool(axes))
        self._stored: dict[Attack, dict[int, OwnTally]] = {}
        self._sent = (
            None if executor is None else (SentOnce(job.classifier, executor), SentOnce(self._target, executor))
        )

    @cached_property
    def _copies(self) -> AttackedCopies:
        return self._target.copies()

    @override
    def count(self, attacks: Sequence[Attack], chunk: int) -> list[OwnTally]:
        found = {attack: stored for attack in attacks if (stored := self._from_store(attack, chunk)) is not None}
        missing, size = [attack for attack in attacks if attack not in found], SPAN // len(own_chunk(chunk))
        spans = [missing[start : start + size] for start in range(0, len(missing), size)]
        for span, tallies in self._count(spans, chunk):
            for attack, tally in zip(span, tallies, strict=True):
                found[attack] = tally
                if self._store is not None:
                    self._store.add_attack(self._graph, attack, chunk, *tally, target=self._target.number)
        return [found[attack] for attack in attacks]

    def check(self) -> None:
        """Counts some of the chunks that it has given out again, drawn now or stored before: the first and the last.

        Raises a ChangedError where the answers are others than before; those where two classes tie may be.
        """
        if not self.tallies:
            return
        attacks = list(self.tallies)
        some = attacks[:: -(-len(attacks) // RECOUNTED)]
        for span, chunk in ((some, 0), (attacks[-1:], len(self.tallies[attacks[-1]]) - 1)):
            with stage("auditing"), unstaged():
                tallies = self._target.tallies(self._base, self._copies, span, chunk)
            for attack, tally in zip(span, tallies, strict=True):
                differ = int(abs(tally.counts - self.tallies[attack][chunk].counts).sum()) // 2
                if differ and differ > self._target.n_tied(self._base, self._copies, attack, chunk):
                    raise ChangedError

    def _from_store(self, attack: Attack, chunk: int) -> OwnTally | None:
        """A stored chunk. All chunks of an attack are read at once: there may be thousands."""
        if self._store is None:
            return None
        if attack not in self._stored:
            chunks = self._store.attack_chunks(self._graph, attack, target=self._target.number)
            self._stored[attack] = {
                number: OwnTally(counts, numbers)
                for number, counts, numbers in chunks
                if counts.sum() == len(own_chunk(number))
                and len(numbers)
                == counts.sum() - counts[self._target.label]  # otherwise they are against another class
            }
        return self._stored[attack].get(chunk)

    def _count(
        self, spans: Sequence[Sequence[Attack]], chunk: int
    ) -> Iterator[tuple[Sequence[Attack], list[OwnTally]]]:
        """Each span with its tallies, in whatever order they come."""
        if self._executor is None or self._sent is None or len(spans) < 2:
            for span in spans:
                yield span, self._target.tallies(self._base, self._copies, span, chunk)
            return
        base, target = self._sent
        pieces = ((target, (span, chunk)) for span in spans)
        for (span, _), tallies in map_on_workers(self._executor, _count_on_worker, base, pieces):
            yield span, tallies
