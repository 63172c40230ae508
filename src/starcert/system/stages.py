"""Where the time goes: seconds by stage, added up while a clock is on; a stage without a clock does nothing.

| stage      | what is done                                                                                 |
| ---------- | -------------------------------------------------------------------------------------------- |
| drawing    | the sampler draws noisy copies                                                               |
| model      | the base classifier answers; what it wants to see of the copies is made for it               |
| transfer   | answers, and flips of votes against the class, come here from a device                        |
| counting   | votes are added up; on a CPU, flips of votes against the class are recorded                  |
| storing    | the store writes votes                                                                       |
| auditing   | copies are drawn and classified again, in other batches and alone                            |
| certifying | bounds, frontiers, evidence                                                                  |
| learning   | the blind model learns                                                                       |
| waiting    | this process waits for its workers, whose own seconds are in the other stages                |

A stage inside another one interrupts it, so that every second counts once. A CUDA device works on while Python goes
ahead: with a clock on, it is waited for where a stage that uses it begins and ends.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal, NamedTuple, ParamSpec, TypeAlias, TypeVar, get_args

Stage: TypeAlias = Literal[
    "drawing", "model", "transfer", "counting", "storing", "auditing", "certifying", "learning", "waiting"
]

OTHER = "other"  # what is in no stage: reading data, writing files, Python in between
HEADER = ("stage", "seconds", "share", "µs a vote")

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class StageRow(NamedTuple):
    """One line of the table: a stage, its seconds, their share of all seconds, and microseconds per vote."""

    stage: str
    seconds: float
    share: float
    microseconds: float | None

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """The line as text."""
        a_vote = "" if self.microseconds is None else f"{self.microseconds:.3f}"
        return self.stage, f"{self.seconds:.3f}", f"{self.share:.1%}", a_vote


@dataclass(frozen=True, slots=True)
class StageTimes:
    """The seconds of each stage."""

    seconds: Mapping[str, float]  # of each stage, those of workers added to those here
    votes: int  # noisy copies that were answered and counted, however many targets each has
    elapsed: float  # seconds since the clock was started
    worker_seconds: float = 0.0  # the part of all `seconds` that workers spent

    @property
    def rows(self) -> list[StageRow]:
        """Every stage, and what is in none."""
        spent = sum(self.seconds.values())
        everything = {**self.seconds, OTHER: max(0.0, self.elapsed - (spent - self.worker_seconds))}
        whole = sum(everything.values())
        return [
            StageRow(name, each, each / whole if whole else 0.0, 1e6 * each / self.votes if self.votes else None)
            for name, each in everything.items()
        ]

    @property
    def summary(self) -> str:
        """What the seconds add up to, as a sentence."""
        spent = self.worker_seconds
        workers = f", of which workers spent {spent:.3f} s (worker-seconds)" if spent else ""
        whole = sum(row.seconds for row in self.rows)
        return f"{self.votes:,} votes in {self.elapsed:.3f} s; the stages add up to {whole:.3f} s{workers}."

    def __str__(self) -> str:
        lines = [HEADER, *(row.cells for row in self.rows)]
        table = [f"{line[0]:<12}{line[1]:>12}{line[2]:>9}{line[3]:>12}" for line in lines]
        return "\n".join([*table, self.summary])


class StageClock:
    """Adds up the seconds of the stages of one thread, and those that workers report."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = dict.fromkeys(get_args(Stage), 0.0)
        self._inside: list[str] = []
        self._begin = self._since = time.perf_counter()
        self.end: float | None = None
        self.votes, self._worker_seconds = 0, 0.0

    def times(self) -> StageTimes:
        """The seconds so far, or until the clock was stopped."""
        end = time.perf_counter() if self.end is None else self.end
        return StageTimes(dict(self._seconds), self.votes, end - self._begin, self._worker_seconds)

    @contextmanager
    def stage(self, name: Stage, device: object) -> Iterator[None]:
        """Adds what is done inside to a stage, and interrupts the stage around it."""
        self._add_up(device)
        self._inside.append(name)
        try:
            yield
        finally:
            try:
                self._add_up(device)
            finally:
                self._inside.pop()

    def _add_up(self, device: object) -> None:
        _synchronize(device)
        now = time.perf_counter()
        if self._inside:
            self._seconds[self._inside[-1]] += now - self._since
        self._since = now

    def add_worker(self, times: StageTimes) -> None:
        """Adds what a worker has spent."""
        for name, seconds in times.seconds.items():
            self._seconds[name] += seconds
            self._worker_seconds += seconds
        self.votes += times.votes

    def __str__(self) -> str:
        return str(self.times())


class _Here(threading.local):
    """The clock of each thread: what another thread does is not a stage of this one."""

    clock: StageClock | None = None


_HERE = _Here()
_OFF = nullcontext()


@contextmanager
def stages() -> Iterator[StageClock]:
    """Seconds by stage of what is done inside; votes and certificates are the same with it and without.

    Example:
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 2), n_classes=2)
        >>> smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.1))
        >>> with stages() as clock:
        ...     votes = smoothed.vote([sc.Graph(4, [(0, 1), (1, 2)])], samples=1000, seed=1)
        >>> times = clock.times()
        >>> times.votes, times.seconds["model"] > times.seconds["transfer"] == 0
        (1100, True)
    """
    before, clock = _HERE.clock, StageClock()
    _HERE.clock = clock
    try:
        yield clock
    finally:
        _HERE.clock = before
        clock.end = time.perf_counter()


@contextmanager
def unstaged() -> Iterator[None]:
    """What is done inside belongs to no further stage, and its votes do not count: votes that are counted again."""
    before, _HERE.clock = _HERE.clock, None
    try:
        yield
    finally:
        _HERE.clock = before


def stage(name: Stage, device: object = None) -> AbstractContextManager[None]:
    """What is done inside belongs to this stage, if there is a clock; `device` is the torch device that works on it."""
    clock = _HERE.clock
    return _OFF if clock is None else clock.stage(name, device)


def staged(name: Stage) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Decorates a function that belongs to a stage."""

    def with_stage(work: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(work)
        def inside(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            with stage(name):
                return work(*args, **kwargs)

        return inside

    return with_stage


def add_votes(votes: int) -> None:
    """Tells the clock, if there is one, of votes that were counted."""
    if _HERE.clock is not None:
        _HERE.clock.votes += votes


def measured(work: Callable[..., Result]) -> Callable[..., tuple[Result, StageTimes | None]]:
    """Work for a worker, which also returns the seconds that it took there if there is a clock here now."""
    return functools.partial(_run, work, _HERE.clock is not None)


def _run(work: Callable[..., Result], timed: bool, *arguments: object) -> tuple[Result, StageTimes | None]:
    if not timed:
        return work(*arguments), None
    with stages() as clock:
        result = work(*arguments)
    return result, clock.times()


def add_worker_times(times: StageTimes | None) -> None:
    """Adds the seconds that `measured` work took to the clock here."""
    if times is not None and _HERE.clock is not None:
        _HERE.clock.add_worker(times)


def _synchronize(device: object) -> None:
    """Waits for all work that a CUDA device was given."""
    if device is not None and str(device).startswith("cuda"):
        sys.modules["torch"].cuda.synchronize(device)
