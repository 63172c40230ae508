"""Deep votes on one object, where the plain ones leave a level open: the law is chosen, and its copies are asked.

The law depends on the noise, the numbers of sites, the levels and the number of votes alone, so it is fixed before the
first deep vote. They are drawn once, and serve every level that is looked at later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

from starcert.certificates.certificate import Certificate
from starcert.classifiers.base import Classifier, checked_answers, named_errors
from starcert.math.attacked_sites import AttackAxis
from starcert.math.deep import DeepLaw, Pools, choose_law
from starcert.math.deep_votes import DeepVotes
from starcert.math.evidence import Level
from starcert.math.flips import FlipRecord, ShownFlips
from starcert.sampling.batch import flips_of
from starcert.sampling.deep import DEEP_CHUNK, DeepCopies
from starcert.sampling.sampler import Attack
from starcert.sampling.views import are_bits
from starcert.system.stages import add_votes, stage, staged
from starcert.system.travelling import SentOnce, map_on_workers
from starcert.voting.plans import Job, fitting_batch_of

MAX_AUDITED = 64  # attacks in the place of deep votes that an audit is told of


class _Piece(NamedTuple):
    """A chunk of copies: all that are asked from some on, or drawn."""

    asked: bool
    number: int
    samples: int


class _Deep:
    """One target of one object, and the law: what a worker needs beside the classifier."""

    def __init__(self, job: Job, one: Certificate, law: DeepLaw, pools: Pools) -> None:
        self._copies = DeepCopies(job.sites[one.object], job.noise, job.seed, law, pools.sites)
        self._target, self._label, self._valued = one.target, one.label, job.noise.is_valued
        self._sites, self._batch = job.sites[one.object], fitting_batch_of(job, job.sites[one.object])

    @staged("counting")
    def record(self, base: Classifier, piece: _Piece) -> FlipRecord:
        """The votes of a chunk against the class."""
        with stage("drawing"):
            copies = self._copies.asked(piece.number) if piece.asked else self._copies.draw(piece.number, piece.samples)
        classes, flips = [], []
        for batch in copies.split(self._batch):
            with named_errors("deep votes"), stage("model"):
                n_targets = base.n_targets(self._sites.frame)
                found = checked_answers(base.classify(batch), len(batch), base.n_classes, n_targets)
            answers = found.reshape(len(found), -1)[:, self._target]
            against = np.flatnonzero(answers != self._label)
            classes.append(answers[against])
            flips.append(flips_of(batch, against))
        if not self._valued:
            flips = [each.places if isinstance(each, ShownFlips) else each for each in flips]
        add_votes(len(copies))
        return FlipRecord.of_chunk(self._label, self._sites.n_sites, len(copies), np.concatenate(classes), flips)


def _on_worker(base: Classifier, deep: _Deep, piece: _Piece) -> FlipRecord:
    return deep.record(base, piece)


class DeepSource:
    """At most `most` deep votes on a certificate's object, drawn when they are first wanted."""

    def __init__(
        self,
        job: Job,
        one: Certificate,
        axes: Sequence[AttackAxis],
        *,
        most: int,
        executor: Executor | None,
    ) -> None:
        self.most, self._tried = most, False
        self.votes: DeepVotes | None = None
        self._against: FlipRecord | None = None
        self._job, self._one, self._axes, self._executor = job, one, axes, executor

    @property
    def two_classes(self) -> bool:
        """Whether an attack that fails with one half changes the answer for certain."""
        return self._job.classifier.n_classes == 2

    def wanted(self, levels: Sequence[Level]) -> DeepVotes | None:
        """The deep votes, by a law for these levels if they are not there yet; None where no law serves."""
        if not self._tried:
            self._tried = True
            pools, sites = Pools(self._axes), self._job.sites[self._one.object]
            # Sites that lie on no axis may flip, too, and a law of deep votes knows nothing of them.
            all_known = sum(pools.sizes) == sites.n_sites
            law = choose_law(pools, levels, self.most, asking=are_bits(sites)) if all_known else None
            self.votes = None if law is None else self._drawn(law, pools)
        return self.votes

    def _drawn(self, law: DeepLaw, pools: Pools) -> DeepVotes:
        n_asked = sum(map(pools.copies, law.asked.tolist()))
        n_drawn = self.most - n_asked if len(law.drawn) else 0
        pieces = [_Piece(asked=True, number=i, samples=size) for i, size in _chunks(n_asked)]
        pieces += [_Piece(asked=False, number=i, samples=size) for i, size in _chunks(n_drawn)]
        found = dict(self._counted(_Deep(self._job, self._one, law, pools), pieces))
        records = [[found[piece] for piece in pieces if piece.asked == asked] for asked in (True, False)]
        asked, drawn = (FlipRecord.joined(some) if some else None for some in records)
        self._against = drawn
        return DeepVotes(self._axes, law, asked, drawn)

    def _counted(self, deep: _Deep, pieces: Sequence[_Piece]) -> Iterator[tuple[_Piece, FlipRecord]]:
        base = self._job.classifier
        if self._executor is None or len(pieces) < 2:
            yield from ((piece, deep.record(base, piece)) for piece in pieces)
            return
        common, target = SentOnce(base, self._executor), SentOnce(deep, self._executor)
        yield from map_on_workers(self._executor, _on_worker, common, ((target, piece) for piece in pieces))

    def audited(self) -> dict[Attack, int]:
        """The flips of some votes against the class as attacks, for the audit; none where sites have more values."""
        sites = self._job.sites[self._one.object]
        if self._against is None or not are_bits(sites):
            return {}
        flips = self._against.first(1).matrix(np.arange(sites.n_sites))[:MAX_AUDITED]
        return {tuple(np.flatnonzero(row).tolist()): 1 for row in flips if row.any()}


def _chunks(votes: int) -> Iterator[tuple[int, int]]:
    return ((number, min(DEEP_CHUNK, votes - start)) for number, start in enumerate(range(0, votes, DEEP_CHUNK)))
