"""Work on any executor, whose workers receive what they share once.

What many pieces of work need is `SentOnce`: pickled once here and unpickled once in each worker, which keeps the last
ones by their digests. A large one is sent by its digest alone; a worker that does not have it, because it is new or was
restarted, says so, and the same work is sent again with everything it needs. Among threads nothing is pickled.

Pieces are sent in spans. A worker that has spent too long on one gives back the rest, and the length of the next spans
follows from the time that pieces took: no worker waits long for another, and sending costs little beside the work.
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
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4

from starcert.system.errors import ExecutorError, InvalidParameterError, StarcertError
from starcert.system.processes import Pending

Content = TypeVar("Content")
Common = TypeVar("Common")
Own = TypeVar("Own")
Item = TypeVar("Item")
Result = TypeVar("Result")

SPAN_SECONDS = 0.1  # how long a span should take; after twice that, a worker gives back the rest
FIRST_PIECES, MAX_PIECES = 8, 1024  # in the first spans, before any has shown its time, and in the longest ones
GROWTH = 8  # of a span, at most, from one to the next: the first pieces may say little about the others
SMALL = 8192  # bytes up to which a thing is sent every time: asking whether a worker has it would take longer
MAX_BYTES = 2**28  # of shared things that a worker keeps in all, and the last one however large it is


class SentOnce(Generic[Content]):
    """Something that many pieces of work need; pickled, or by executors that bring it with `cloudpickle`.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> with ThreadPoolExecutor(1) as pool:
        ...     ten, two = SentOnce(10, pool), SentOnce(2, pool)
        ...     list(map_on_workers(pool, lambda base, power, piece: base**power + piece, ten, [(two, 1), (two, 2)]))
        [(1, 101), (2, 102)]
    """

    def __init__(self, content: Content, executor: Executor) -> None:
        self.content, self._plainly = content, type(executor).__module__.startswith("concurrent.")

    @cached_property
    def packed(self) -> bytes:
        """The content, pickled."""
        other = None if self._plainly else sys.modules.get("cloudpickle")
        try:
            return bytes((pickle if other is None else other).dumps(self.content))
        except (pickle.PicklingError, AttributeError, TypeError, RuntimeError) as error:  # the last is TorchScript's
            hint = "Define it at module level, or use loky's executor, which takes lambdas too."
            raise InvalidParameterError("base", f"cannot be pickled ({error}). {hint}") from None

    @cached_property
    def digest(self) -> bytes:
        """The digest by which a worker knows it."""
        return blake2b(self.packed, digest_size=16).digest()


class _UnknownError(Exception):
    """Something shared was sent by its digest to a worker that does not have it."""


_KEPT: OrderedDict[bytes, tuple[Any, int]] = OrderedDict()
_KEPT_LOCK = threading.Lock()


class _Received(NamedTuple):
    """Something shared, in a worker; without `packed`, the worker must have it already."""

    digest: bytes
    packed: bytes | None

    @property
    def content(self) -> Any:  # noqa: ANN401  (whatever was shared)
        with _KEPT_LOCK:  # so that only one thread of a worker unpickles it
            if self.digest not in _KEPT:
                if self.packed is None:
                    raise _UnknownError
                _KEPT[self.digest] = pickle.loads(self.packed), len(self.packed)
                while len(_KEPT) > 1 and sum(size for _, size in _KEPT.values()) > MAX_BYTES:
                    _KEPT.popitem(last=False)
            _KEPT.move_to_end(self.digest)
            return _KEPT[self.digest][0]


class _Reply(NamedTuple):
    """The results of the first pieces of a span; the others are given back."""

    results: list[Any]
    unknown: bool
    seconds: float
    worker: str


@dataclass(frozen=True, slots=True)
class _Span:
    """Pieces that are sent together, each with what it needs of its own."""

    function: Callable[[Any, Any, Any], Any]
    common: SentOnce[Any] | _Received
    pieces: list[tuple[Any, Any]]
    seconds: float
    whole: bool  # whether shared things are sent in full

    def __reduce__(self) -> tuple[object, ...]:
        def sent(shared: SentOnce[Any] | _Received) -> _Received:
            if isinstance(shared, _Received):  # Dask pickles once more what has arrived
                return shared
            in_full = self.whole or len(shared.packed) <= SMALL
            return _Received(shared.digest, shared.packed if in_full else None)

        pieces = [(sent(own), item) for own, item in self.pieces]
        return _Span, (self.function, sent(self.common), pieces, self.seconds, self.whole)

    def __dask_tokenize__(self) -> str:
        """Dask would take calls with equal arguments for one, and pickle them to compare: no span equals another."""
        return uuid4().hex

    def run(self) -> _Reply:
        start, unknown = time.perf_counter(), False
        results: list[Any] = []
        for own, item in self.pieces:
            try:
                common, its_own = self.common.content, own.content
            except _UnknownError:
                unknown = True
                break
            results.append(self.function(common, its_own, item))
            if time.perf_counter() - start > 2 * self.seconds:
                break
        worker = f"{platform.node()} {os.getpid()} {threading.get_ident()}"
        return _Reply(results, unknown, time.perf_counter() - start, worker)


def map_on_workers(
    executor: Executor,
    function: Callable[[Common, Own, Item], Result],
    common: SentOnce[Common],
    pieces: Iterable[tuple[SentOnce[Own], Item]],
) -> Iterator[tuple[Item, Result]]:
    """Every piece of work with its result, in whatever order they come.

    The function takes what all pieces share, what this one shares with some others, and the piece itself. No more is
    sent than can soon begin: memory stays flat however many pieces there are. When the caller stops early, what has not
    begun is taken back.
    """
    given_back, left = deque[tuple[SentOnce[Own], Item]](), iter(pieces)
    pending, spans = Pending[_Reply](executor), dict[Future[_Reply], _Span]()
    workers: set[str] = set()
    length, unknown = FIRST_PIECES, False

    def next_pieces() -> list[tuple[SentOnce[Own], Item]]:
        again = [given_back.popleft() for _ in range(min(length, len(given_back)))]
        return again + list(islice(left, length - len(again)))

    try:
        while True:
            while len(pending) < 4 * max(8, len(workers)) and (found := next_pieces()):
                # A few in full are enough: each goes to some worker, and one that still lacks it says so again.
                whole = unknown and sum(each.whole for each in spans.values()) < max(2, len(workers))
                unknown = unknown and not whole
                span = _Span(function, common, found, SPAN_SECONDS, whole)
                with _executor_errors():
                    spans[pending.submit(_Span.run, span)] = span
            if not spans:
                return
            future = pending.next_done()
            span = spans.pop(future)
            with _executor_errors():
                reply = future.result()
            workers.add(reply.worker)
            unknown = reply.unknown or (unknown and not span.whole)
            done = len(reply.results)
            given_back.extend(span.pieces[done:])
            if done:
                expected = int(done * SPAN_SECONDS / max(reply.seconds, 1e-9))
                length = max(1, min(expected, GROWTH * length, MAX_PIECES))
            yield from zip((item for _, item in span.pieces[:done]), reply.results, strict=True)
    finally:
        pending.cancel()


@contextmanager
def _executor_errors() -> Iterator[None]:
    try:
        yield
    except (StarcertError, BrokenExecutor):  # a classifier's own errors have their message already
        raise
    except (Exception, CancelledError) as error:
        what = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        raise ExecutorError(
            f"The executor failed ({what}). If it is a cluster, see whether its scheduler and workers still run. Votes "
            "in a store are kept: start the executor anew, and the same call continues."
        ) from error
