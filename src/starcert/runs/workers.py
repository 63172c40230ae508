"""Processes that count votes for a run.

They are started afresh (spawned), never forked: torch and numba have threads. Each first imports the user's file, under
the same name as here, so that a classifier which is defined in it can travel. Votes do not depend on any of this.
"""

from __future__ import annotations

import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TYPE_CHECKING

from starcert.errors import StarcertError
from starcert.runs.reference import import_file
from starcert.runs.threads import one_thread, use_one_thread
from starcert.voting import backend_of

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier

__all__ = ["pool"]


@contextmanager
def pool(classifier: Classifier, file: Path, workers: int, note: Callable[[str], None]) -> Iterator[Executor | None]:
    """So many worker processes; None where the classifier works in this process, which `note` then gives a reason for.

    Args:
        classifier: what shall travel to the workers.
        file: the user's file that made it.
        workers: how many.
        note: is told why there are no workers, where they were asked for.
    """
    reason = "" if workers == 1 else _stays(classifier)
    if workers == 1 or reason:
        if reason:
            note(f"All votes are counted in one process: {reason}.")
        with one_thread(backend_of(classifier)):
            yield None
        return
    before = set(active_children())
    executor = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (file,))
    finished = False
    try:
        with _deaf_to_interrupts():  # as the workers then are from their first moment: Ctrl-C is for this process
            ready = [executor.submit(_problem_of_this_worker) for _ in range(workers)]
        for problem in (future.result() for future in ready):
            if problem:
                raise StarcertError(f"A worker process cannot import what this one could: {problem}")
        yield executor
        finished = True
    except BrokenProcessPool as error:
        raise StarcertError(
            "A worker process died, perhaps for want of memory. The votes that were counted are kept: run the same "
            "again, with fewer workers."
        ) from error
    finally:
        executor.shutdown(wait=finished, cancel_futures=True)
        if not finished:  # nobody waits for what is under way: it can be counted again
            # Python 3.11's pool prints a traceback when a worker dies before it has put away what was cancelled.
            time.sleep(0.2)
            for child in set(active_children()) - before:
                child.terminate()


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # only that one may say so
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _stays(classifier: Classifier) -> str:
    """Why a classifier cannot leave this process; "" if it can."""
    if backend_of(classifier) != "cpu":
        return "the model is on a device, which processes would have to share"
    try:
        pickle.dumps(classifier)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        return (
            f"the classifier cannot travel to others ({' '.join(str(error).split())}); define it at the top of its file"
        )
    return ""


_problem = ""


def _begin(file: Path) -> None:
    """What a worker does first."""
    global _problem  # noqa: PLW0603  (an exception here would end in a traceback; the first task tells it instead)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_thread()
    try:
        import_file(file)
    except StarcertError as error:
        _problem = str(error)


def _problem_of_this_worker() -> str:
    return _problem
