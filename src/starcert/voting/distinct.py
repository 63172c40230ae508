"""Each distinct noisy copy is asked about once: a base classifier answers equal copies alike, which every run audits.

A table belongs to one object of one job, and so to one classifier, frame and noise. Copies of an object differ in the
sites that noise may change and in nothing else. Their packed flips are the keys, which are equal only bit by bit. Votes
are the same whatever a table holds.

The audit stays as strong as it was: it asks about copies of its own, past the table, and compares the answers with
those that are kept. An answer that stands for more than one in `COPIES` of the votes is asked for once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from threading import Lock
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.audit import COPIES
from starcert.objects import Sites
from starcert.objects.binding import sampled_laws
from starcert.objects.noise import Noise
from starcert.sampling.batch import Copies, Key, keys_of, select_copies

MAX_BYTES = 2**26  # of all tables of a job in one process: 64 MiB
ENTRY_BYTES = 160  # of an entry in Python, beside the bits of its key and its answers
PROBE = 1024  # copies after which a table must have saved time
RARE = 1e-9  # where two copies are equal with a smaller probability, none is looked up at all

Answers = npt.NDArray[np.int64]
Places = npt.NDArray[np.int64]
Ask = Callable[[Copies], Answers]
Settle = Callable[[Copies], None]


class Known(NamedTuple):
    """The places of copies whose answers are in a table, and these answers."""

    places: Places
    answers: Answers


class Table:
    """Answers on noisy copies of one object, kept while they take at most `max_bytes`."""

    def __init__(self, max_bytes: int = MAX_BYTES, *, in_use: bool = True) -> None:
        self.in_use = in_use
        self.n_bytes = self.n_looked = self.n_asked = 0
        self._max_bytes, self._lock = max_bytes, Lock()
        self._slots: dict[Key, int] = {}
        self._answers: Answers = np.empty(0, dtype=np.int64)  # a row for each slot, and room for more
        self._votes = np.empty(0, dtype=np.int64)  # how many votes each answer stands for
        self._checked = np.empty(0, dtype=np.bool_)  # whether it was asked for once more
        self._looking = self._asking = 0.0  # seconds

    def answers(self, copies: Copies, ask: Ask, settle: Settle) -> Answers:
        """The answers on all copies; `ask` is called about the distinct ones that have none yet.

        `settle` receives copies that got another answer than before, and refuses the classifier unless they are ties.
        """
        begun = perf_counter()
        ranks = dict[Key, int]()  # of the distinct copies
        rank_of = np.array([ranks.setdefault(key, len(ranks)) for key in keys_of(copies)], dtype=np.int64)
        votes = np.bincount(rank_of, minlength=len(ranks))
        firsts, lasts = np.empty((2, len(ranks)), dtype=np.int64)
        lasts[rank_of] = np.arange(len(copies))
        firsts[rank_of[::-1]] = np.arange(len(copies))[::-1]
        with self._lock:
            slots = self._slots_of(ranks)
            known = slots >= 0
            kept = self._answers[slots[known]]
            total, before, checked = self.n_looked + len(copies), np.zeros_like(votes), np.zeros(len(votes), np.bool_)
            before[known], checked[known] = self._votes[slots[known]], self._checked[slots[known]]
        again = np.flatnonzero(~checked & (before + votes > 1) & (COPIES * (before + votes) > total))
        wanted = np.concatenate([firsts[~known], lasts[again]])
        asking = perf_counter()
        given = ask(_chosen(copies, wanted)) if len(wanted) else kept
        answered = perf_counter()
        found = np.empty((len(ranks), *given.shape[1:]), dtype=np.int64)
        if len(kept):
            found[known] = kept
        if len(wanted):
            n_new = len(wanted) - len(again)
            found[~known] = given[:n_new]
            changed = (given[n_new:] != found[again]).any(axis=tuple(range(1, given.ndim)))
            if changed.any():
                settle(_chosen(copies, lasts[again[changed]]))
        with self._lock:
            self._keep(ranks, found, votes, again)
            self.n_looked, self.n_asked = total, self.n_asked + len(wanted)
            self._asking += answered - asking
            self._looking += asking - begun + perf_counter() - answered
            self._judge()
        every: Answers = found[rank_of]
        return every

    def known(self, copies: Copies) -> Known:
        """The answers that are kept on some copies."""
        if not self._slots:
            return Known(np.empty(0, dtype=np.int64), self._answers[:0])
        with self._lock:
            slots = self._slots_of(keys_of(copies))
            places = np.flatnonzero(slots >= 0)
            return Known(places, self._answers[slots[places]])

    def clear(self) -> None:
        """Forgets all answers, for good: other objects need the memory, or it saves no time."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self.in_use, self.n_bytes = False, 0
        self._slots = {}

    def _slots_of(self, keys: Collection[Key]) -> Places:
        return np.array(list(map(self._slots.get, keys, [-1] * len(keys))), dtype=np.int64)

    def _keep(self, ranks: dict[Key, int], found: Answers, votes: Places, again: Places) -> None:
        """Adds what was asked about, while there is room, and the votes that every answer stands for."""
        room = len(ranks) + len(self._slots) - len(self._votes)
        if room > 0:
            more = max(room, len(self._votes), PROBE)
            rows = np.zeros((more, *found.shape[1:]), dtype=np.int64)
            self._answers = np.concatenate([self._answers, rows]) if len(self._votes) else rows
            self._votes = np.concatenate([self._votes, np.zeros(more, dtype=np.int64)])
            self._checked = np.concatenate([self._checked, np.zeros(more, dtype=np.bool_)])
        size = found[:1].nbytes + ENTRY_BYTES
        for key, rank in ranks.items():
            if key not in self._slots and self.n_bytes + size + len(key) <= self._max_bytes:
                self.n_bytes += size + len(key)
                self._slots[key] = len(self._slots)
                self._answers[self._slots[key]] = found[rank]
        slots = self._slots_of(ranks)
        self._votes[slots[slots >= 0]] += votes[slots >= 0]
        self._checked[slots[again][slots[again] >= 0]] = True

    def _judge(self) -> None:
        """Ends the use of a table that takes longer than it saves; the share of equal copies only grows."""
        if self.n_looked >= PROBE and self.n_asked:
            saved = self._asking / self.n_asked * (self.n_looked - self.n_asked)
            if saved < self._looking:
                self._forget()


class Tables:
    """The tables of a job, one for each object; together they take at most `max_bytes`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes, self._lock = max_bytes, Lock()
        self._tables: dict[tuple[str, str, str], Table] = {}

    def of(self, sites: Sites, noise: Noise) -> Table:
        """The table of an object; the oldest tables make room for a new one."""
        key = sites.clean.key, sites.frame.key, sites.key
        with self._lock:
            if key not in self._tables:
                for old in list(self._tables.values()):
                    if 2 * sum(table.n_bytes for table in self._tables.values()) > self._max_bytes:
                        old.clear()
                usable = equal_probability(sites, noise) >= RARE
                self._tables[key] = Table(self._max_bytes // 2, in_use=usable)
            return self._tables[key]


def equal_probability(sites: Sites, noise: Noise) -> float:
    """The probability that two noisy copies of an object are equal."""
    log = 0.0
    for law, counts in zip(sampled_laws(sites, noise), sites.counts, strict=True):
        for value, count in enumerate(counts):
            if count:
                log += count * math.log(sum(float(each) ** 2 for each in law.transitions(value)))
    return math.exp(log)


def _chosen(copies: Copies, places: Places) -> Copies:
    whole = len(places) == len(copies) and (places[1:] > places[:-1]).all()
    return copies if whole else select_copies(copies, places)
