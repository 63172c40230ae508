"""Deep votes on one object, where the plain ones leave a level open: the law is chosen, and its copies are asked.

The law depends on the noise, the numbers of sites, the levels and the number of votes alone, so it is fixed before the
first deep vote. They are drawn once, and serve every level that is looked at later.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from math import ceil
from typing import NamedTuple, TypeAlias

import numpy as np
from typing_extensions import override

from starcert.certificates.certificate import Certificate, Verdict
from starcert.certificates.found_attack import FoundAttack
from starcert.classifiers.base import Classifier, checked_answers, named_errors
from starcert.math.attacked_sites import AttackAxis, describe_attack
from starcert.math.deep import DeepLaw, Pools, choose_law
from starcert.math.deep_votes import DeepVotes
from starcert.math.evidence import FlipEvidence, Level, Weighed
from starcert.math.flips import FlipRecord, ShownFlips
from starcert.math.listed import ListedEvidence
from starcert.sampling.batch import flips_of
from starcert.sampling.deep import DEEP_CHUNK, DeepCopies, law_digest
from starcert.sampling.sampler import Attack
from starcert.sampling.views import are_bits
from starcert.system.stages import add_votes, stage, staged
from starcert.system.travelling import SentOnce, map_on_workers
from starcert.voting.plans import Job, fitting_batch_of
from starcert.voting.store import VoteStore

AnyEvidence: TypeAlias = FlipEvidence | ListedEvidence  # about levels, or about the sizes of a threat

MAX_FORECAST = 100  # times the deep votes that there are; if more are needed, nothing is said
MAX_AUDITED = 64  # deep votes that an audit asks again, as if they were attacks


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


class DeepSource(ABC):
    """At most `most` deep votes on one object, there once they are first wanted."""

    most: int
    two_classes: bool  # whether an attack that fails with one half changes the answer for certain

    @abstractmethod
    def wanted(self, levels: Sequence[Level]) -> DeepVotes | None:
        """The deep votes, by a law for these levels if they are not there yet; None where no law serves."""


class RecordedDeep(DeepSource):
    """Deep votes that were counted before, for instance by the run that wrote an archive; None: no law served."""

    def __init__(self, most: int, n_classes: int, votes: DeepVotes | None) -> None:
        self.most, self.two_classes, self._votes = most, n_classes == 2, votes

    @override
    def wanted(self, levels: Sequence[Level]) -> DeepVotes | None:
        return self._votes


class DrawnDeep(DeepSource):
    """Deep votes on a certificate's object, drawn when they are first wanted; a store keeps them."""

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
        self.most, self._tried = most, False
        self.votes: DeepVotes | None = None
        self._against: FlipRecord | None = None
        self.two_classes = job.classifier.n_classes == 2
        self._job, self._one, self._axes, self._store, self._executor = job, one, axes, store, executor

    @override
    def wanted(self, levels: Sequence[Level]) -> DeepVotes | None:
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
        found = self._stored(law, pieces)
        missing = [piece for piece in pieces if piece not in found]
        for piece, record in self._counted(_Deep(self._job, self._one, law, pools), missing):
            found[piece] = record
            if self._store is not None:
                self._store.add_deep(*self._place(law, piece.asked), piece.number, record)
        records = [[found[piece] for piece in pieces if piece.asked == asked] for asked in (True, False)]
        asked, drawn = (FlipRecord.joined(some) if some else None for some in records)
        self._against = drawn
        return DeepVotes(self._axes, law, asked, drawn)

    def _place(self, law: DeepLaw, asked: bool) -> tuple[int, int, str]:
        return self._one.object, self._one.target, f"{law_digest(law)} {'asked' if asked else 'drawn'}"

    def _stored(self, law: DeepLaw, pieces: Sequence[_Piece]) -> dict[_Piece, FlipRecord]:
        """The chunks that a store has, if they are against the class."""
        if self._store is None:
            return {}
        known = {asked: self._store.deep(*self._place(law, asked)) for asked in (True, False)}
        kept = {piece: known[piece.asked].get(piece.number) for piece in pieces}
        return {
            piece: record
            for piece, record in kept.items()
            if record is not None and (record.label, int(record.samples[0])) == (self._one.label, piece.samples)
        }

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


class DeepLevel:
    """A level that the plain votes leave open, and deep votes: drawn for it, or for one flip more if that is asked."""

    def __init__(self, evidence: AnyEvidence, level: Level, source: DeepSource, max_flips: int | None) -> None:
        self._evidence, self._level, self._source = evidence, level, source
        self._flips = sum(level) + (sum(level) < (max_flips or 0))
        self._found: Weighed | None = None

    def weighed(self) -> Weighed | None:
        """What the scheme that pools nothing says with deep votes; None where there are none, or no such scheme."""
        evidence, scheme = self._evidence, self._evidence.full_scheme(self._level)
        if scheme is None:
            return None
        if evidence.deep is None:
            evidence.deep = self._source.wanted(evidence.alike(self._flips) or evidence.alike(sum(self._level)))
        self._found = None if evidence.deep is None else evidence.weighed(self._level, scheme)
        return self._found

    def verdict(self, weighed: Weighed) -> Verdict | None:
        """The level certified, or broken for certain by copies that were asked; None where it stays open."""
        if weighed.proved:
            return Verdict("certified", by_weighing(weighed.scheme.n_attacks))
        assert weighed.least is not None
        worst = int(weighed.least.argmax())
        if weighed.least[worst] < 0.5 or not self._source.two_classes:
            return None
        attack = self._evidence.attack(self._level, weighed.scheme, worst)
        sites, values = describe_attack(self._evidence.axes, attack)
        return Verdict("broken", "for certain", FoundAttack(sites, (), 0.0, values))

    def explained(self, verdict: Verdict) -> Verdict:
        """The verdict with the deep votes that it rests on, or why there are none; and how many more would help."""
        deep, found = self._evidence.deep, self._found
        if deep is None:
            missing = verdict.kind == "open"
            return replace(verdict, why=f"{verdict.why}; no law of deep votes serves it") if missing else verdict
        why = f"{verdict.why}, with {deep}"
        if verdict.kind == "open" and found is not None and len(found.rest):
            gained = max(float(np.median(found.weights.capital[found.rest])), 1.0)
            if (more := ceil(found.needed / gained * self._source.most)) < MAX_FORECAST * self._source.most:
                why = f"{why}; about {more:,} (deep_samples) would settle half of these attacks"
        return replace(verdict, why=why)


def by_weighing(number: int) -> str:
    """The reason for a verdict."""
    return f"by weighing {number:,} attack{'s' * (number > 1)}"


def _chunks(votes: int) -> Iterator[tuple[int, int]]:
    return ((number, min(DEEP_CHUNK, votes - start)) for number, start in enumerate(range(0, votes, DEEP_CHUNK)))
