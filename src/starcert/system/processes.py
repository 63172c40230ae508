"""Worker processes that end when they should, how many threads torch uses, cores and free memory.

Workers are spawned, never forked: a forked one could inherit a lock of torch or numba in the middle of something. They
ignore Ctrl-C and the end of a terminal, because the process that started them stops them itself. When that process is
killed, each worker notices and exits.

Many torch threads on small graphs mostly wait for each other, on a busy machine a hundred times as long as they work.
torch itself is never imported here, because that takes seconds.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import psutil

from starcert.system.errors import StarcertError

Result = TypeVar("Result")

SHARED = "/dev/shm"  # where Linux keeps semaphores

_IGNORED = [getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)]
_HELD = [*_IGNORED, signal.SIGTERM]


@contextmanager
def _signals_handled(numbers: Iterable[int], handler: Any) -> Iterator[None]:  # noqa: ANN401  (what `signal` takes)
    if threading.current_thread() is not threading.main_thread():  # only that one receives signals and sets handlers
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, each in before.items():
            signal.signal(number, each)


@contextmanager
def signals_held() -> Iterator[None]:
    """Holds signals back for a moment in which locks change hands.

    A signal becomes an exception wherever the main thread happens to be. Inside the futures of the standard library
    that can be between two of their locks: the first one would stay locked, and the process would never end.
    """
    held: list[int] = []
    numbers = [number for number in _HELD if callable(signal.getsignal(number))]
    try:
        with _signals_handled(numbers, lambda number, _frame: held.append(number)):
            yield
    finally:
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
        with signals_held():
            future = self._executor.submit(function, *arguments)
            self._futures.add(future)
            future.add_done_callback(self._done.put)
        return future

    def next_done(self) -> Future[Result]:
        """Waits for the next work to be done, failed or cancelled, and takes it out."""
        future = self._done.get()
        self._futures.discard(future)
        return future

    def cancel(self) -> None:
        """Takes back what has not begun."""
        with signals_held():
            for future in self._futures:
                future.cancel()


@contextmanager
def worker_processes(
    workers: int, kept: str, *, begin: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()
) -> Iterator[ProcessPoolExecutor]:
    """A pool of worker processes; when something goes wrong, work in progress is not waited for.

    `kept` is a sentence about what a user does not lose when a worker dies. Each worker first calls `begin` with its
    arguments; a StarcertError there is raised here.
    """
    before = set(active_children())
    with _start_errors(), _signals_handled(_IGNORED, signal.SIG_IGN):  # a new process inherits it
        executor = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (begin, arguments))
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
        with signals_held():
            executor.shutdown(wait=finished, cancel_futures=True)
            if not finished:
                _kill(set(active_children()) - before)


def _kill(children: set[Any]) -> None:
    time.sleep(0.2)  # Python 3.11's pool prints a traceback when a worker dies before the cancelled work is put away
    for child in children:
        child.kill()
    for child in children:
        child.join()
    # The pool's own thread waits for them as well. Where that one was first, `join` returns before the end is noted,
    # and for a moment the child still counts as active.
    deadline = time.monotonic() + 5
    while children & set(active_children()) and time.monotonic() < deadline:
        time.sleep(0.01)


@contextmanager
def _start_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        needs = f" They need semaphores: make {SHARED} writable, with free space." if os.path.isdir(SHARED) else ""
        raise StarcertError(
            f"Worker processes cannot be started ({error.strerror or error}).{needs} Or use one process: --workers 1."
        ) from error


_problem = ""


def _begin(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    global _problem  # noqa: PLW0603  (an exception here would end in a traceback; the first task reports it instead)
    for each in _IGNORED:
        signal.signal(each, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        if begin is not None:
            begin(*arguments)
    except StarcertError as error:
        _problem = str(error)


def _exit_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _problem_of_this_worker() -> str:
    return _problem


def available_cores() -> int:
    """The number of cores that this process may use."""
    with suppress(AttributeError):  # not on every system
        return len(psutil.Process().cpu_affinity())
    return psutil.cpu_count() or 1


def available_bytes() -> int:
    """The bytes that this process can still take: the least of what the machine, its container and its limit leave."""
    left = [int(psutil.virtual_memory().available)]
    with suppress(OSError, ValueError):  # not in a container, or one without a limit ("max")
        group = Path("/sys/fs/cgroup")
        left.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    process = psutil.Process()
    with suppress(AttributeError):  # not on every system
        limit, _ = process.rlimit(psutil.RLIMIT_AS)
        if limit != psutil.RLIM_INFINITY:
            left.append(limit - process.memory_info().vms)
    return max(0, min(left))


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


_VARIABLE = "OMP_NUM_THREADS"


class _Inside:
    """The number of threads inside `one_torch_thread`, and the number that torch had before the first of them."""

    lock = threading.Lock()
    count = 0
    before = 1


def threads_are_chosen() -> bool:
    """True if the user has chosen how many threads torch has, by its environment variable."""
    return bool(os.environ.get(_VARIABLE))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Lets torch use one thread inside, if it is imported; afterwards as many as before.

    torch gives a new thread of Python's the number of the last who set it. So where several threads are inside at once,
    the number to restore is what the first of them found.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    with _Inside.lock:
        found = torch.get_num_threads()  # a new thread takes over the common number when it first looks: not inside
        if not _Inside.count:
            _Inside.before = found
        _Inside.count += 1
        before = _Inside.before
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _Inside.lock:
            _Inside.count -= 1
            torch.set_num_threads(before)


@contextmanager
def one_thread(device: str = "cpu") -> Iterator[None]:
    """Lets torch use one thread inside, if the device is the CPU, whenever it is imported; afterwards as before.

    If torch is imported inside, by the user's code or in a process that is started there, it reads the environment
    variable. A user who has set that variable has chosen, and nothing changes.
    """
    if device != "cpu" or threads_are_chosen():
        yield
        return
    late = "torch" not in sys.modules
    os.environ[_VARIABLE] = "1"
    try:
        with one_torch_thread():
            yield
    finally:
        os.environ.pop(_VARIABLE, None)
        if late and (torch := sys.modules.get("torch")) is not None:
            torch.set_num_threads(available_cores())
