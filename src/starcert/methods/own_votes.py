"""Votes of their own for attacks, drawn at attacked objects.

They are drawn few at a time, and many attacks share a batch. Like all votes they are a function of
seed, object, attack and chunk, whatever the batches and the workers are; the store of the run keeps them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.claims.certificate import Certificate
from starcert.classifiers.base import are_tied
from starcert.math.attacked_sites import sites_by_pool
from starcert.math.ballots import OwnTally
from starcert.objects import Sites
from starcert.objects.binding import attack_axes
from starcert.objects.noise import Noise
from starcert.sampling.attacked import Attack, AttackedCopies, own_chunk
from starcert.system.errors import InvalidParameterError
from starcert.voting.ask import Asking, Batch, ask, fitting_batch_of
from starcert.voting.counting import ChangedError
from starcert.voting.plans import Job
from starcert.voting.store import VoteStore

SPAN = 4096  # votes, about, that one task of a worker counts
RECOUNTED = 16  # attacks on an object, at most, whose first votes are counted again when a run ends

Whole = npt.NDArray[np.int64]


class AttackVotes(ABC):
    """Votes at attacked versions of one object; all levels that list an attack share its votes.

    There may be `most` votes in all, and `left` more; `tallies` are those so far, for each attack chunk by chunk.
    """

    def __init__(self, most: int, n_classes: int) -> None:
        self.most = self.left = most
        self.n_classes = n_classes
        self.tallies: dict[Attack, list[OwnTally]] = {}
        self._counts: dict[Attack, Whole] = {}
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
                self._counts[attack] = self.counts(attack) + tally.counts
                self._totals[attack] = self.total(attack) + number
                self.tallies.setdefault(attack, []).append(tally)
            chunk, lacking = chunk + 1, [attack for attack in lacking if self.total(attack) < votes]
        return True

    def missing(self, attacks: Sequence[Attack], votes: int) -> int:
        """The number of votes that bring each of these attacks to this many."""
        return sum(max(0, votes - self.total(attack)) for attack in attacks)

    def counts(self, attack: Attack) -> Whole:
        """The votes for each class so far."""
        return self._counts.get(attack, np.zeros(self.n_classes, dtype=np.int64))

    def total(self, attack: Attack) -> int:
        """The number of votes of an attack so far."""
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


class OwnChunk(NamedTuple):
    """A piece: one chunk of noisy copies for each of some attacks on an object, and the votes of one target."""

    graph: int
    target: int
    label: int  # its class
    attacks: Sequence[Attack]
    chunk: int
    again: bool = False  # whether the votes are compared with earlier ones

    @property
    def n_copies(self) -> int:
        """The number of votes."""
        return len(self.attacks) * len(own_chunk(self.chunk))

    def ask(self, job: Job, sites: Sites) -> Asking[list[tuple[OwnTally, int]]]:
        """For each attack its votes, and how many of them could go to either of two classes."""
        n_classes, answers, tied, numbers = job.classifier.n_classes, [], [], [np.empty((0, len(job.noise.axes)), int)]
        attacked = _attacked(sites, job.noise, job.seed)
        drawn = attacked.copies.draw(self.attacks, self.chunk)
        for batch in drawn.split(fitting_batch_of(job, sites)):
            found = yield Batch(batch, f"copies of graph {self.graph} under attack", scored=self.again)
            answers.append(np.asarray(found.answers).reshape(len(batch), -1)[:, self.target])
            tied.append(are_tied(found).reshape(len(batch), -1)[:, self.target])
            against = answers[-1] != self.label
            if against.any():
                flips = batch.values[against] != attacked.clean
                numbers.append(np.stack([flips[:, axis].sum(axis=1) for axis in attacked.axes], axis=1))
        rows, ties = (np.concatenate(each).reshape(len(self.attacks), -1) for each in (answers, tied))
        ends = np.cumsum([0, *(rows != self.label).sum(axis=1)])
        listed = np.concatenate(numbers)
        return [
            (OwnTally(np.bincount(row, minlength=n_classes), listed[first:end]), int(n_tied))
            for row, n_tied, (first, end) in zip(rows, ties.sum(axis=1), pairwise(ends), strict=True)
        ]


class _Attacked(NamedTuple):
    """The inputs for drawing and counting all votes at attacked versions of an object."""

    copies: AttackedCopies
    clean: npt.NDArray[np.uint8]
    axes: list[Whole]  # the sites whose flips each axis counts


@lru_cache(2)
def _attacked(sites: Sites, noise: Noise, seed: int) -> _Attacked:
    return _Attacked(AttackedCopies(sites, noise, seed), sites.values, sites_by_pool(attack_axes(sites, noise)))


class OwnVotes(AttackVotes):
    """Whole votes at attacked versions of a certificate's object, here or on an executor; a run's store keeps them."""

    def __init__(
        self, job: Job, one: Certificate, *, most: int, store: VoteStore | None, executor: Executor | None
    ) -> None:
        super().__init__(most, job.classifier.n_classes)
        self._job, self._graph, self._target, self._label = job, one.object, one.target, one.label
        self._store, self._executor = store, executor
        self._stored: dict[Attack, dict[int, OwnTally]] = {}

    def _piece(self, attacks: Sequence[Attack], chunk: int, *, again: bool = False) -> OwnChunk:
        return OwnChunk(self._graph, self._target, self._label, attacks, chunk, again)

    @override
    def count(self, attacks: Sequence[Attack], chunk: int) -> list[OwnTally]:
        found = {attack: stored for attack in attacks if (stored := self._from_store(attack, chunk)) is not None}
        missing, size = [attack for attack in attacks if attack not in found], SPAN // len(own_chunk(chunk))
        pieces = [self._piece(missing[start : start + size], chunk) for start in range(0, len(missing), size)]
        for piece, tallies in ask(self._job, pieces, self._executor if len(pieces) > 1 else None):
            for attack, (tally, _) in zip(piece.attacks, tallies, strict=True):
                found[attack] = tally
                if self._store is not None:
                    self._store.add_attack(self._graph, attack, chunk, *tally, target=self._target)
        return [found[attack] for attack in attacks]

    def check(self) -> None:
        """Whole some of the chunks that it has given out again, drawn now or stored before: the first and the last.

        Raises a ChangedError where the answers are others than before; those where two classes tie may be.
        """
        if not self.tallies:
            return
        attacks = list(self.tallies)
        some = attacks[:: -(-len(attacks) // RECOUNTED)]
        pieces = (
            self._piece(some, 0, again=True),
            self._piece(attacks[-1:], len(self.tallies[attacks[-1]]) - 1, again=True),
        )
        for piece, tallies in ask(self._job, pieces):
            for attack, (tally, n_tied) in zip(piece.attacks, tallies, strict=True):
                if abs(tally.counts - self.tallies[attack][piece.chunk].counts).sum() > 2 * n_tied:
                    raise ChangedError

    def _from_store(self, attack: Attack, chunk: int) -> OwnTally | None:
        """A stored chunk. All chunks of an attack are read at once: there may be thousands."""
        if self._store is None:
            return None
        if attack not in self._stored:
            chunks = self._store.attack_chunks(self._graph, attack, target=self._target)
            self._stored[attack] = {
                number: OwnTally(counts, numbers)
                for number, counts, numbers in chunks
                if counts.sum() == len(own_chunk(number))
                and len(numbers) == counts.sum() - counts[self._label]  # otherwise they are against another class
            }
        return self._stored[attack].get(chunk)
