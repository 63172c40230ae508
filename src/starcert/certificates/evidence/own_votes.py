"""Votes of their own for attacks: what the base classifier says on noisy copies of attacked objects.

They are drawn few at a time, and many attacks share a batch. Like all votes they are a function of seed, object, attack
and chunk, whatever the batches and the workers are; a store keeps them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from starcert.classifiers.agreement import named_errors
from starcert.classifiers.base import checked_answers
from starcert.objects.binding import clean_values
from starcert.sampling.attacked import OWN_CHUNK, Attack, AttackedCopies
from starcert.system.errors import InvalidParameterError
from starcert.system.stages import add_votes, stage, staged
from starcert.system.travelling import SentOnce, map_on_workers

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier
    from starcert.objects import Sites
    from starcert.objects.noise import Noise
    from starcert.voting.jobs import Job
    from starcert.voting.store import VoteStore

__all__ = ["AttackVotes", "OwnTally", "OwnVotes", "RecordedVotes"]

SPAN = 64
"""So many attacks travel to a worker together."""

Counts = npt.NDArray[np.int64]


class OwnTally(NamedTuple):
    """The votes at one attacked object.

    Attributes:
        counts: votes for each class.
        numbers: of each vote against the class how many sites of each axis the noise flipped, shape (votes, axes). An
            attacked site counts as flipped where it differs from the clean object.
    """

    counts: Counts
    numbers: Counts


class AttackVotes(Protocol):
    """Where votes at attacked versions of one object come from.

    Attributes:
        most: how many votes there may be in all.
        left: how many of them may still be asked for.
    """

    most: int
    left: int

    @property
    def n_classes(self) -> int:
        """How many classes there are."""

    def count(self, attacks: Sequence[Attack], chunk: int) -> list[OwnTally]:
        """`OWN_CHUNK` votes at each attacked object."""


@dataclass
class RecordedVotes:
    """Votes at attacked versions of one object that were counted once: they are handed out again, and no others.

    Attributes:
        most: how many votes there may be in all.
        n_classes: how many classes there are.
        tallies: of each attack its votes, chunk by chunk.
        left: how many votes may still be asked for.
    """

    most: int
    n_classes: int
    tallies: Mapping[Attack, Sequence[OwnTally]]
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.most

    def count(self, attacks: Sequence[Attack], chunk: int) -> list[OwnTally]:
        """The votes of a chunk at each attacked object."""
        self.left -= OWN_CHUNK * len(attacks)
        for attack in attacks:
            if len(self.tallies.get(attack, ())) <= chunk:
                raise InvalidParameterError(
                    "evidence",
                    f"hold chunk {chunk} of the votes at the graph that is attacked on the sites {attack}",
                    f"{len(self.tallies.get(attack, ()))} chunks",
                    "It was changed, or written by an earlier version that drew other votes: certify the graphs again.",
                )
        return [self.tallies[attack][chunk] for attack in attacks]


class OwnVotes:
    """Counts votes at attacked versions of one object of a job.

    Attributes:
        most: how many votes there may be in all.
        left: how many of them may still be asked for.

    Args:
        job: what all votes have in common.
        graph: the number of the object.
        target: the number of the target.
        label: the class.
        axes: the sites whose flips are counted for each axis.
        most: how many votes there may be in all.
        store: keeps them.
        executor: where to count; None: in this process.
    """

    def __init__(
        self,
        job: Job,
        graph: int,
        *,
        target: int = 0,
        label: int,
        axes: Sequence[npt.NDArray[np.int64]],
        most: int,
        store: VoteStore | None = None,
        executor: Executor | None = None,
    ) -> None:
        self.most = self.left = most
        self._job, self._graph, self._store, self._executor = job, graph, store, executor
        self._asking = _Asking(job.sites[graph], job.noise, job.seed, job.batch_size, target, label, tuple(axes))
        self._copies: AttackedCopies | None = None
        self._read: dict[Attack, dict[int, OwnTally]] = {}
        self._sent = (
            None if executor is None else (SentOnce(job.classifier, executor), SentOnce(self._asking, executor))
        )

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self._job.classifier.n_classes

    def count(self, attacks: Sequence[Attack], chunk: int) -> list[OwnTally]:
        """`OWN_CHUNK` votes at each attacked object."""
        self.left -= OWN_CHUNK * len(attacks)
        found: dict[int, OwnTally] = {}
        missing = []
        for i, attack in enumerate(attacks):
            stored = None if self._store is None else self._stored(self._store, attack, chunk)
            if stored is None:
                missing.append(i)
            else:
                found[i] = stored
        spans = [missing[start : start + SPAN] for start in range(0, len(missing), SPAN)]
        for number, tallies in self._counted([[attacks[i] for i in span] for span in spans], chunk):
            found.update(zip(spans[number], tallies, strict=True))
            if self._store is not None:
                for i in spans[number]:
                    counts, numbers = found[i]
                    place = self._graph, attacks[i], chunk
                    self._store.add_attack(
                        *place, counts, OWN_CHUNK, numbers, target=self._asking.target, chunk_size=OWN_CHUNK
                    )
        return [found[i] for i in range(len(attacks))]

    def _stored(self, store: VoteStore, attack: Attack, chunk: int) -> OwnTally | None:
        """What a store has of a chunk. It is asked once for all chunks of an attack: there may be thousands."""
        if attack not in self._read:
            found = store.attack_chunks(self._graph, attack, target=self._asking.target, chunk_size=OWN_CHUNK)
            self._read[attack] = {
                number: OwnTally(counts, numbers)
                for number, samples, counts, numbers in found
                if samples == OWN_CHUNK
                and len(numbers) == OWN_CHUNK - counts[self._asking.label]  # otherwise they are against another class
            }
        return self._read[attack].get(chunk)

    def _counted(self, spans: Sequence[Sequence[Attack]], chunk: int) -> Iterator[tuple[int, list[OwnTally]]]:
        """The tallies of each span, with its number, in whatever order they come."""
        if self._executor is None or self._sent is None or len(spans) < 2:
            if self._copies is None:
                self._copies = self._asking.copies()
            for number, span in enumerate(spans):
                yield number, self._asking.tallies(self._job.classifier, self._copies, span, chunk)
            return
        base, asking = self._sent
        pieces = ((asking, (number, span, chunk)) for number, span in enumerate(spans))
        for (number, _, _), tallies in map_on_workers(self._executor, _count_there, base, pieces):
            yield number, tallies


@dataclass(frozen=True)
class _Asking:
    """What a worker needs to know beside the classifier."""

    sites: Sites
    noise: Noise
    seed: int
    batch_size: int | None
    target: int
    label: int
    axes: tuple[npt.NDArray[np.int64], ...]

    def copies(self) -> AttackedCopies:
        return AttackedCopies(self.sites, self.noise, self.seed)

    @staged("counting")
    def tallies(self, base: Classifier, copies: AttackedCopies, span: Sequence[Attack], chunk: int) -> list[OwnTally]:
        answers, numbers = [], []
        clean, n_targets = clean_values(self.sites), base.n_targets(self.sites.frame)
        with stage("drawing"):
            drawn = copies.draw(span, chunk)
        for batch in drawn.split(self.batch_size or base.batch_size):
            with named_errors("copies of attacked graphs"), stage("model"):
                found = checked_answers(base.classify(batch), len(batch), base.n_classes, n_targets)
            found = found.reshape(len(found), -1)[:, self.target]
            answers.append(found)
            against = found != self.label
            if against.any():
                flips = batch.values[against] != clean
                numbers.append(np.stack([flips[:, axis].sum(axis=1) for axis in self.axes], axis=1))
        add_votes(OWN_CHUNK * len(span))
        rows = np.concatenate(answers).reshape(len(span), OWN_CHUNK)
        ends = np.cumsum([0, *(rows != self.label).sum(axis=1)])
        listed = np.concatenate([np.empty((0, len(self.axes)), dtype=np.int64), *numbers])
        return [
            OwnTally(np.bincount(row, minlength=base.n_classes), listed[first:end])
            for row, (first, end) in zip(rows, pairwise(ends), strict=True)
        ]


def _count_there(base: Classifier, asking: _Asking, piece: tuple[int, Sequence[Attack], int]) -> list[OwnTally]:
    _, span, chunk = piece
    return asking.tallies(base, asking.copies(), span, chunk)
