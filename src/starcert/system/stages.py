"""Where the time goes: seconds by stage, added up while a clock is on; a stage without a clock does nothing.

docs/voting.md says what each stage is. A stage inside another one interrupts it, so that every second counts once. A
CUDA device works on while Python goes ahead: with a clock on, it is waited for where a stage that uses it begins and
ends.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Literal, ParamSpec, TypeAlias, TypeVar, get_args

Stage: TypeAlias = Literal[
    "drawing", "model", "transfer", "counting", "storing", "auditing", "certifying", "learning", "waiting"
]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class StageTimes:
    """The seconds of each stage."""

    seconds: Mapping[str, float]  # of each stage, those of workers added to those here
    votes: int  # noisy copies that were answered and counted, however many targets each has
    elapsed: float  # seconds since the clock was started
    worker_seconds: float = 0.0  # the part of all `seconds` that workers spent

    def __str__(self) -> str:
        """A table of the stages, and of what is in none: reading data, writing files, Python in between."""
        other = max(0.0, self.elapsed - (sum(self.seconds.values()) - self.worker_seconds))
        everything = {**self.seconds, "other": other}
        whole = sum(everything.values())
        lines = [f"{'stage':<12}{'seconds':>12}{'share':>9}{'µs a vote':>12}"]
        for name, each in everything.items():
            a_vote = f"{1e6 * each / self.votes:.3f}" if self.votes else ""
            lines.append(f"{name:<12}{each:>12.3f}{each / whole if whole else 0:>9.1%}{a_vote:>12}")
        workers = (
            f", of which workers spent {self.worker_seconds:.3f} s (worker-seconds)" if self.worker_seconds else ""
        )
        lines.append(f"{self.votes:,} votes in {self.elapsed:.3f} s; the stages add up to {whole:.3f} s{workers}.")
        return "\n".join(lines)


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
        if str(device).startswith("cuda"):  # all work that it was given
            sys.modules["torch"].cuda.synchronize(device)
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


def clock_here() -> StageClock | None:
    """The clock of this thread, if there is one."""
    return _HERE.clock


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
