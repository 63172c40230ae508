"""Each distinct noisy copy is asked about once: a base classifier answers equal copies alike, which every run audits.

A table belongs to one object of one job, and so to one classifier, frame and noise. Copies of an object differ in the
sites that noise may change and in nothing else. Their packed flips are the keys, which are equal only bit by bit. Votes
are the same whatever a table holds.

The audit stays as strong as it was: it asks about copies of its own, past the table, and compares the answers with
those that are kept. An answer that stands for more than one in `COPIES` of the votes is asked for once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import repeat
from threading import Lock
from time import perf_counter

import numpy as np
import numpy.typing as npt

from starcert.math.votes import COPIES
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
Settle = Callable[[Copies, npt.NDArray[np.bool_]], None]


class Table:
    """Answers on noisy copies of one object, kept while they take at most `max_bytes`."""

    def __init__(self, max_bytes: int = MAX_BYTES, *, in_use: bool = True) -> None:
        self.in_use = in_use
        self.n_bytes = self.n_looked = self.n_asked = 0
        self._max_bytes, self._lock = max_bytes, Lock()
        self._looking = self._asking = 0.0  # seconds
        self._empty()

    def answers(self, copies: Copies, ask: Ask, settle: Settle) -> Answers:
        """The answers on all copies; `ask` is called about the distinct ones that have none yet.

        `settle` receives copies that got another answer than before, and for which target, and refuses the classifier
        unless they are ties.
        """
        begun, n_copies = perf_counter(), len(copies)
        keys = keys_of(copies)
        with self._lock:
            slots, n_slots = self._slots_of(keys), len(self._slots)
            known, new = slots >= 0, np.flatnonzero(slots < 0)
            kept, before, checked = self._answers[slots[known]], self._votes[:n_slots], self._checked[:n_slots]
        ranks = dict[Key, int]()  # of the distinct copies that are new
        rank_of = np.array([ranks.setdefault(keys[copy], len(ranks)) for copy in new.tolist()], dtype=np.int64)
        slots[new] = n_slots + rank_of
        firsts, lasts = np.empty(len(ranks), dtype=np.int64), np.empty(n_slots + len(ranks), dtype=np.int64)
        firsts[rank_of[::-1]] = new[::-1]
        lasts[slots] = np.arange(n_copies)
        votes = np.bincount(slots, minlength=len(lasts))
        total = np.append(before, np.zeros(len(ranks), dtype=np.int64)) + votes
        frequent = (votes > 0) & (total > 1) & (COPIES * total > self.n_looked + n_copies)
        frequent[:n_slots] &= ~checked
        again = np.flatnonzero(frequent)
        asking = perf_counter()
        given = ask(_chosen(copies, firsts)) if len(firsts) else kept[:0]
        found = np.empty((n_copies, *given.shape[1:]), dtype=np.int64)
        if len(kept):
            found[known] = kept
        if len(new):
            found[new] = given[rank_of]
        if len(again):  # by themselves: in another batch than before
            places = lasts[again]
            other = ask(_chosen(copies, places)) != found[places]
            some = other.reshape(len(again), -1).any(axis=1)
            if some.any():
                settle(_chosen(copies, places[some]), other[some])
        answered = perf_counter()
        with self._lock:
            self.n_looked, self.n_asked = self.n_looked + n_copies, self.n_asked + len(firsts) + len(again)
            self._asking += answered - asking
            if self.in_use:
                self._keep(ranks, given, votes, again, n_slots)
                self._looking += asking - begun + perf_counter() - answered
                self._judge()
        return found

    def known(self, copies: Copies) -> tuple[Places, Answers]:
        """The places of the copies whose answers are kept, and these answers."""
        with self._lock:
            slots = self._slots_of(keys_of(copies)) if self._slots else np.empty(0, dtype=np.int64)
            places = np.flatnonzero(slots >= 0)
            return places, self._answers[slots[places]]

    def clear(self) -> None:
        """Forgets all answers, for good: other objects need the memory."""
        with self._lock:
            self.in_use = False
            self._empty()

    def _empty(self) -> None:
        self.n_bytes = 0
        self._slots: dict[Key, int] = {}
        self._answers: Answers = np.empty(0, dtype=np.int64)  # a row for each slot, and room for more
        self._votes = np.empty(0, dtype=np.int64)  # how many votes each answer stands for
        self._checked = np.empty(0, dtype=np.bool_)  # whether it was asked for once more

    def _slots_of(self, keys: Sequence[Key]) -> Places:
        return np.fromiter(map(self._slots.get, keys, repeat(-1)), dtype=np.int64, count=len(keys))

    def _keep(self, ranks: dict[Key, int], given: Answers, votes: Places, again: Places, n_slots: int) -> None:
        """Adds what was asked about, while there is room, and the votes that every answer stands for."""
        self._votes[:n_slots] += votes[:n_slots]
        self._checked[again[again < n_slots]] = True
        if not ranks:
            return
        checked = np.zeros(len(ranks), dtype=np.bool_)
        checked[again[again >= n_slots] - n_slots] = True
        size, added = given[:1].nbytes + ENTRY_BYTES, list[int]()
        for key, rank in ranks.items():
            if self.n_bytes + size + len(key) > self._max_bytes:
                break
            if key not in self._slots:  # another thread may have added it
                self.n_bytes += size + len(key)
                self._slots[key] = len(self._slots)
                added.append(rank)
        first, end = len(self._slots) - len(added), len(self._slots)
        if end > len(self._votes):
            more = max(end - len(self._votes), min(first, (self._max_bytes - self.n_bytes) // size))
            rows = np.zeros((more, *given.shape[1:]), dtype=np.int64)
            self._answers = np.concatenate([self._answers, rows]) if first else rows
            self._votes = np.append(self._votes, np.zeros(more, dtype=np.int64))
            self._checked = np.append(self._checked, np.zeros(more, dtype=np.bool_))
        self._answers[first:end], self._votes[first:end] = given[added], votes[n_slots:][added]
        self._checked[first:end] = checked[added]

    def _judge(self) -> None:
        """Ends the use of a table that takes longer than it saves; the share of equal copies only grows."""
        if self.n_looked >= PROBE and self.n_asked:
            saved = self._asking / self.n_asked * (self.n_looked - self.n_asked)
            if saved < self._looking:
                self.in_use = False  # the audit still compares the answers that it has given


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
                in_use = [table for table in self._tables.values() if table.n_bytes]
                n_bytes = sum(table.n_bytes for table in in_use)
                for old in in_use:
                    if 2 * n_bytes > self._max_bytes:
                        n_bytes -= old.n_bytes
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
