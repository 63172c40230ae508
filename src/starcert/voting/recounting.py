"""Votes that were counted are counted again: a certificate is about one classifier, and a store serves no other.

At the end of a run the first and the last estimation chunk that it drew, and more in between, must get the answers that
they had: a classifier that counts its calls or learns from them shows. Where a store is continued, the first and the
last chunk in it are counted again, and more where few votes are against the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

import numpy as np

from starcert.classifiers.base import MIN_BATCH
from starcert.system.errors import ClassifierError
from starcert.voting import PURPOSES
from starcert.voting.ask import ask
from starcert.voting.counting import ChunkAgain
from starcert.voting.plans import Chunk, Job, Tally
from starcert.voting.store import VoteStore

SPREAD = 4  # at most this many chunks of each graph, evenly spread, may be counted again, beside its first and last
MAX_SHARE = 0.03  # of the votes of a run, or of the stored ones of a graph, that are counted again beside the two ends

CHANGED = (
    "the base classifier changed while it voted: it answers copies that it has voted on differently now, so its votes "
    "are not those of one classifier"
)
_HINT = "Nothing is certified. Let no answer depend on a counter, on earlier answers or on a random generator."


class ChangedError(ClassifierError):
    """A classifier gives other answers than those that it voted with."""

    def __init__(self, message: str = f"{CHANGED[0].upper()}{CHANGED[1:]}. {_HINT}") -> None:
        super().__init__(message)


class DrawnVotes:
    """The beginnings of some estimation chunks that a run drew of each graph: the first, the last, some in between.

    They are votes, with the answers that counted, whoever gave them: a worker, or a table that has ended since. The
    numbers of those in between are multiples of a power of two, so that the order of chunks does not matter.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._kept: dict[int, dict[int, Tally]] = {}
        self._steps: dict[int, int] = {}
        self._votes = 0

    def note(self, tally: Tally) -> None:
        """Notes what was drawn."""
        graph, purpose, number, samples, *_ = tally.chunk
        if purpose != "estimation" or tally.first is None:
            return
        self._votes += samples
        kept = self._kept.setdefault(graph, {})
        kept[number] = Tally(tally.chunk, tally.counts, first=tally.first)  # the flips take more memory
        step = self._steps.get(graph, 1)
        while len(spread := [each for each in kept if each % step == 0]) > SPREAD:
            step = self._steps[graph] = 2 * step
        self._kept[graph] = {each: kept[each] for each in {*spread, min(kept), max(kept)}}

    def check(self, *, ends_only: bool = False) -> None:
        """Raises a ChangedError if the classifier answers some of them differently now; ties may go either way."""
        drawn = [tally for graph in sorted(self._kept) for _, tally in sorted(self._kept[graph].items())]
        most = 2 if ends_only else max(2, int(MAX_SHARE * self._votes / MIN_BATCH))
        for place in np.unique(np.linspace(0, len(drawn) - 1, min(most, len(drawn))).astype(int)).tolist():
            self._check(drawn[place])

    def _check(self, tally: Tally) -> None:
        assert tally.first is not None
        piece = ChunkAgain(tally.chunk._replace(samples=len(tally.first), recorded=None))
        for _, (answers, tied) in ask(self._job, [piece]):
            if ((answers != tally.first) & ~tied).any():
                raise ChangedError


def stored_chunks(job: Job, store: VoteStore) -> Iterator[Chunk]:
    """The stored chunks that are counted again before votes are added: the first and last of all, others by graph."""
    listed = list[tuple[list[Chunk], int]]()
    for graph in range(len(job.sites)):
        stored = {purpose: store.tallies(graph, purpose) for purpose in PURPOSES}
        chunks = [Chunk(graph, purpose, *each[:2]) for purpose, found in stored.items() for each in found]
        counts = sum(counts for _, _, counts in stored["estimation"])
        against = 0 if isinstance(counts, int) else int((counts.sum(axis=1) - counts.max(axis=1)).min())
        listed.append((chunks, against))
    estimation = [chunk for chunks, _ in listed for chunk in chunks if chunk.purpose == "estimation"]
    ends = dict.fromkeys((estimation[0], estimation[-1]) if estimation else ())
    yield from ends
    for chunks, against in listed:
        yield from (chunk for chunk in chunks_to_recount(chunks, against) if chunk not in ends)


def chunks_to_recount(stored: Sequence[Chunk], against: int) -> list[Chunk]:
    """The stored chunks of a graph that are counted again before more votes are added.

    First one with enough votes to tell one classifier from another: selection chunk 0, if it has. It shows little where
    votes are nearly unanimous. A classifier with twice as many votes against its class shows that with probability 99%
    in a share log(100) / (against + 1) of the votes, so that share is counted again, at most `MAX_SHARE`: further
    estimation chunks at even distances, or the beginning of the last one.

    Example:
        >>> from starcert.voting.plans import chunks_of
        >>> stored = [Chunk(0, "selection", 0, 100), *chunks_of(0, "estimation", 100_000, 1000)]
        >>> [(chunk.number, chunk.samples) for chunk in chunks_to_recount(stored, against=0)]
        [(0, 100), (49, 1000), (99, 1000)]
        >>> [(chunk.number, chunk.samples) for chunk in chunks_to_recount(stored, against=20_000)]
        [(0, 100)]
    """
    first = sorted(stored, key=lambda each: (each.samples < MIN_BATCH, each.purpose != "selection", each.number))[:1]
    others = [chunk for chunk in stored if chunk.purpose == "estimation" and chunk not in first]
    share = min(MAX_SHARE, log(100) / (against + 1))
    wanted = int(share * sum(chunk.samples for chunk in others)) - sum(chunk.samples for chunk in first)
    if wanted <= 0:
        return first
    number = wanted // max(chunk.samples for chunk in others)
    if not number:
        return [*first, others[-1]._replace(samples=min(wanted, others[-1].samples))]
    return [*first, *(others[len(others) * place // number - 1] for place in range(1, number + 1))]
