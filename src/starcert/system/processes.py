"""Worker processes that end when they should, in whatever way the process ends that began them; and free memory.

They are started afresh (spawned), never forked: a forked one could inherit a lock of torch or numba in the middle of
something. Ctrl-C, and the end of a terminal, are for the process that began them: it ends them itself. When that one is
killed, each of them notices and ends by itself.
How much memory there is, is for those who would rather refuse than fail.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from starcert.system.errors import StarcertError
from starcert.system.semaphores import SHARED, recorded_semaphores, remove_abandoned_semaphores

__all__ = ["Pending", "available_bytes", "available_cores", "in_words", "undisturbed", "worker_processes"]

Result = TypeVar("Result")

_INTERRUPTING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_DEAF = [getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)]


def available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def undisturbed() -> Iterator[None]:
    """Holds signals back for a moment in which locks change hands.

    A signal becomes an exception wherever the main thread just is. Inside the futures of the standard library that can
    be between two of their locks: the first one then stays locked for good, and the process never ends.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are for that one
        yield
        return
    held: list[int] = []
    handlers = {number: handler for number in _INTERRUPTING if callable(handler := signal.getsignal(number))}
    for number in handlers:
        signal.signal(number, lambda number, _frame: held.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in held[:1]:
            signal.raise_signal(number)


class Pending(Generic[Result]):
    """Work that was sent to an executor and is not done yet; a signal finds none of its locks taken.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> with ThreadPoolExecutor(1) as pool:
        ...     pending = Pending(pool)
        ...     _ = pending.submit(pow, 2, 3)
        ...     pending.next_done().result(), len(pending)
        (8, 0)
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._futures: set[Future[Result]] = set()
        self._done: SimpleQueue[Future[Result]] = SimpleQueue()

    def __len__(self) -> int:
        return len(self._futures)

    def submit(self, function: Callable[..., Result], *arguments: object) -> Future[Result]:
        """Sends work to the executor."""
        with undisturbed():
            future = self._executor.submit(function, *arguments)
            self._futures.add(future)
            future.add_done_callback(self._done.put)
        return future

    def next_done(self) -> Future[Result]:
        """Waits for the work that is done next, whatever came of it; it is pending no more."""
        future = self._done.get()
        self._futures.discard(future)
        return future

    def cancel(self) -> None:
        """Takes back what has not begun."""
        with undisturbed():
            for future in self._futures:
                future.cancel()


@contextmanager
def worker_processes(
    workers: int, kept: str, *, begin: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """So many worker processes; when something goes wrong nobody waits for what is under way.

    Args:
        workers: how many.
        kept: what a user does not lose when a worker dies, as a sentence.
        begin: what each worker does first; its StarcertError is told here.
        arguments: for `begin`.
    """
    before = set(active_children())
    remove_abandoned_semaphores()
    with ExitStack() as resources:
        with _start_errors(), _deaf():  # as every process that is begun here then is from its first moment
            executor = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (begin, arguments))
            resources.enter_context(recorded_semaphores())
            ready = [executor.submit(_problem_of_this_worker) for _ in range(workers)]
        finished = False
        try:
            for problem in (future.result() for future in ready):
                if problem:
                    raise StarcertError(problem)
            yield executor
            finished = True
        except BrokenProcessPool as error:
            time.sleep(0.2)  # a signal that ended the workers too may be on its way: it is the better reason
            raise StarcertError(
                f"A worker process died, perhaps for want of memory. {kept} Run the same again, with fewer workers."
            ) from error
        finally:
            with undisturbed():
                executor.shutdown(wait=finished, cancel_futures=True)
                if not finished:
                    _end(set(active_children()) - before)


def _end(children: set[Any]) -> None:
    # Python 3.11's pool prints a traceback when a worker dies before it has put away what was cancelled.
    time.sleep(0.2)
    for child in children:
        child.kill()
    for child in children:
        child.join()
    # The pool's own thread waits for them as well. Where it was the first to learn of an end, `join` returns before
    # that is noted, and for a moment the child still counts as one.
    deadline = time.monotonic() + 5
    while children & set(active_children()) and time.monotonic() < deadline:
        time.sleep(0.01)


@contextmanager
def _start_errors() -> Iterator[None]:
    """Says why worker processes cannot be started, and what to do."""
    try:
        yield
    except OSError as error:
        needs = f" They need semaphores: make {SHARED} writable, with free space." if os.path.isdir(SHARED) else ""
        raise StarcertError(
            f"Worker processes cannot be started ({error.strerror or error}).{needs} Or use one process: --workers 1."
        ) from error


@contextmanager
def _deaf() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only that one may say so
        yield
        return
    handlers = {each: signal.signal(each, signal.SIG_IGN) for each in _DEAF}
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)


_problem = ""


def _begin(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    """What a worker does first."""
    global _problem  # noqa: PLW0603  (an exception here would end in a traceback; the first task tells it instead)
    for each in _DEAF:
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()
    try:
        if begin is not None:
            begin(*arguments)
    except StarcertError as error:
        _problem = str(error)


def _follow_parent() -> None:
    """Ends this worker when its parent is gone."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _problem_of_this_worker() -> str:
    return _problem


def available_bytes() -> int | None:
    """The bytes that this process can still take, as far as the system tells; None where it does not.

    The least of what the machine has left, what a container is allowed, and what the process is.
    """
    found = [each for each in (_machine(), _container(), _process()) if each is not None]
    return max(0, min(found)) if found else None


def in_words(n_bytes: float) -> str:
    """A number of bytes for people.

    Example:
        >>> in_words(25_600_000_000), in_words(4096)
        ('25.6 GB', '4,096 bytes')
    """
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB")):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes:,.0f} bytes"


def _machine() -> int | None:
    """Free memory, and what the system would give back: Linux tells; elsewhere all that the machine has."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with suppress(OSError, ValueError, AttributeError):  # no such name, or no such system
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _container() -> int | None:
    """What the control group of a container has left."""
    with suppress(OSError, ValueError):  # no such file, or no limit ("max")
        group = Path("/sys/fs/cgroup")
        return int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
    return None


def _process() -> int | None:
    """What the process may still ask for, where it has a limit."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415  (not on every system)

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            return limit - pages * os.sysconf("SC_PAGE_SIZE")
    return None
