"""Work that is spread over the workers of any executor; what it needs travels to each of them once.

What many pieces of work need is a parcel: it is pickled once here, and unpickled once in each worker, which keeps the
last ones that it opened by their digests. So a large one is sent by its digest alone; a worker that has never seen it,
because it is new or was started again, says so, and the same work is sent with all that it needs. No executor has to
know of any of this. Where nothing is pickled, as among threads, a parcel is what is in it.

Pieces go in spans. A worker that has been at one for long enough gives back the rest, and the next spans are as long as
work has shown to take: nobody waits long for anybody, and sending costs little beside the work.
"""

from __future__ import annotations

import os
import pickle
import platform
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4

from starcert.system.errors import ExecutorError, StarcertError
from starcert.system.processes import Pending
from starcert.system.stages import StageTimes, here, measured, stage

__all__ = ["Parcel", "pickles_plainly", "spread"]

Content = TypeVar("Content")
Common = TypeVar("Common")
Own = TypeVar("Own")
Item = TypeVar("Item")
Result = TypeVar("Result")

SHARE = 1 / 20
"""A span takes this share of the time that has passed: so little is lost when the last ones do not end together."""

LEAST_SECONDS, MOST_SECONDS = 0.04, 0.25
"""But no less, so that sending costs little beside the work, and no more, so that results keep coming."""

FIRST = 8
"""So many pieces are in a span before any of them has shown how long it takes."""

LONGEST = 1024
"""So many pieces are in a span at most."""

GROWTH = 8
"""A span is at most so many times as long as the ones before: the first pieces may tell little of the next."""

SMALL = 8192
"""So many bytes travel every time: asking whether a worker has them would take longer."""

MOST_BYTES = 2**28
"""A worker keeps parcels of so many bytes as they travel, and the last one however large it is."""


class Parcel(Generic[Content]):
    """Something that many pieces of work need.

    Args:
        content: what it is.
        executor: where it will travel: pools of the standard library pickle, others bring `cloudpickle`, which takes
            lambdas and what a script defines.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> with ThreadPoolExecutor(1) as pool:
        ...     ten, two = Parcel(10, pool), Parcel(2, pool)
        ...     list(spread(pool, lambda base, power, piece: base**power + piece, ten, [(two, 1), (two, 2)]))
        [(1, 101), (2, 102)]
    """

    def __init__(self, content: Content, executor: Executor) -> None:
        self.content = content
        other = None if pickles_plainly(executor) else sys.modules.get("cloudpickle")
        self._dumps: Callable[[object], bytes] = pickle.dumps if other is None else other.dumps

    @cached_property
    def packed(self) -> bytes:
        """What travels."""
        return self._dumps(self.content)

    @cached_property
    def digest(self) -> bytes:
        """What a worker knows it by."""
        return blake2b(self.packed, digest_size=16).digest()


def pickles_plainly(executor: Executor) -> bool:
    """Whether an executor sends work to its processes as the standard library does."""
    return isinstance(executor, ProcessPoolExecutor) and type(executor).__module__.startswith("concurrent.")


@dataclass(frozen=True, slots=True)
class _Sent:
    """A parcel on its way: all of it, or its digest alone if it is large."""

    parcel: Parcel[Any]
    whole: bool

    @property
    def content(self) -> Any:  # noqa: ANN401  (whatever is in it)
        return self.parcel.content

    def __reduce__(self) -> tuple[object, ...]:
        packed = self.parcel.packed
        return _Arrived, (self.parcel.digest, packed if self.whole or len(packed) <= SMALL else None)


class _UnknownError(Exception):
    """A parcel arrived as its digest, and is not among those that are kept."""


_KEPT: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()
_KEPT_TURN = threading.Lock()


class _Arrived(NamedTuple):
    """A parcel in a worker."""

    digest: bytes
    packed: bytes | None

    @property
    def content(self) -> Any:  # noqa: ANN401  (whatever is in it)
        with _KEPT_TURN:  # of a worker's threads too one unpickles, and the others find it done
            if self.digest not in _KEPT:
                if self.packed is None:
                    raise _UnknownError
                _KEPT[self.digest] = pickle.loads(self.packed), len(self.packed)
                while len(_KEPT) > 1 and sum(size for _, size in _KEPT.values()) > MOST_BYTES:
                    _KEPT.popitem(last=False)
            _KEPT.move_to_end(self.digest)
            return _KEPT[self.digest][0]


@dataclass(frozen=True, slots=True)
class _Span:
    """Pieces that are sent together.

    Attributes:
        function: what is done with them.
        parcels: what they need; the first is for all of them.
        pieces: each with the place of its own parcel.
        seconds: how long they shall take. They are given back after twice that.
    """

    function: Callable[[Any, Any, Any], Any]
    parcels: list[_Sent]
    pieces: list[tuple[int, Any]]
    seconds: float

    @classmethod
    def of(
        cls,
        function: Callable[[Any, Any, Any], Any],
        common: Parcel[Any],
        pieces: list[tuple[Parcel[Any], Any]],
        seconds: float,
        *,
        whole: bool,
    ) -> _Span:
        """The span of these pieces, with each parcel once."""
        sent, places = [_Sent(common, whole)], dict[int, int]()
        for parcel, _ in pieces:
            if id(parcel) not in places:
                places[id(parcel)] = len(sent)
                sent.append(_Sent(parcel, whole))
        return cls(function, sent, [(places[id(parcel)], item) for parcel, item in pieces], seconds)

    def __dask_tokenize__(self) -> str:
        """Dask takes calls with equal arguments for one, and pickles all of them to see: no span is like another."""
        return uuid4().hex

    @property
    def whole(self) -> bool:
        """Whether all that it needs travels with it."""
        return self.parcels[0].whole

    def rest(self, done: int) -> list[tuple[Parcel[Any], Any]]:
        """The pieces after so many, each with the parcel of its own."""
        return [(self.parcels[place].parcel, item) for place, item in self.pieces[done:]]


class _Reply(NamedTuple):
    """What came of the first pieces of a span; the others are given back."""

    results: list[Any]
    unknown: bool
    seconds: float
    worker: str


def spread(
    executor: Executor,
    function: Callable[[Common, Own, Item], Result],
    common: Parcel[Common],
    pieces: Iterable[tuple[Parcel[Own], Item]],
) -> Iterator[tuple[Item, Result]]:
    """Every piece of work with what came of it, in whatever order they come.

    No more is sent than can soon begin, by as many workers as have answered: memory stays flat however many pieces
    there are. When the caller stops early, what was sent but not begun is taken back.

    Args:
        executor: where the work is done.
        function: what is done with what all pieces need, what this one needs, and the piece itself.
        common: what all pieces need.
        pieces: what some of them need, and the piece itself.
    """
    waiting, left = deque[tuple[Parcel[Own], Item]](), iter(pieces)
    pending: Pending[tuple[_Reply, StageTimes | None]] = Pending(executor)
    spans: dict[Future[tuple[_Reply, StageTimes | None]], _Span] = {}
    workers: set[str] = set()
    start, length, asked_for = time.monotonic(), FIRST, False

    def next_pieces() -> list[tuple[Parcel[Own], Item]]:
        again = [waiting.popleft() for _ in range(min(length, len(waiting)))]
        return again + list(islice(left, length - len(again)))

    try:
        while True:
            seconds = min(max(SHARE * (time.monotonic() - start), LEAST_SECONDS), MOST_SECONDS)
            while len(pending) < 4 * max(8, len(workers)) and (found := next_pieces()):
                whole = asked_for and sum(each.whole for each in spans.values()) < max(2, len(workers))
                asked_for = asked_for and not whole
                span = _Span.of(function, common, found, seconds, whole=whole)
                with _executor_errors():
                    spans[pending.submit(measured(_work), span)] = span
            if not spans:
                return
            with stage("waiting"):
                future = pending.next_done()
            span = spans.pop(future)
            with _executor_errors():
                reply = here(future.result())
            done = len(reply.results)
            workers.add(reply.worker)
            asked_for = reply.unknown or (asked_for and not span.whole)  # who asked before one arrived may have it now
            waiting.extend(span.rest(done))
            if done:
                expected = int(done * seconds / max(reply.seconds, 1e-9))
                length = max(1, min(expected, GROWTH * length, LONGEST))
            yield from zip((item for _, item in span.pieces[:done]), reply.results, strict=True)
    finally:
        pending.cancel()


def _work(span: _Span) -> _Reply:
    """What a worker does with a span."""
    start, unknown = time.perf_counter(), False
    results: list[Any] = []
    for place, item in span.pieces:
        try:
            common, own = span.parcels[0].content, span.parcels[place].content
        except _UnknownError:
            unknown = True
            break
        results.append(span.function(common, own, item))
        if time.perf_counter() - start > 2 * span.seconds:
            break
    worker = f"{platform.node()} {os.getpid()} {threading.get_ident()}"
    return _Reply(results, unknown, time.perf_counter() - start, worker)


@contextmanager
def _executor_errors() -> Iterator[None]:
    """Says in a sentence that an executor failed: a classifier's own errors have their sentence already."""
    try:
        yield
    except (StarcertError, BrokenExecutor):
        raise
    except (Exception, CancelledError) as error:
        what = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        raise ExecutorError(
            f"The executor failed ({what}). If it is a cluster, see whether its scheduler and workers still run. Votes "
            "in a store are kept: start the executor anew, and the same call goes on."
        ) from error
