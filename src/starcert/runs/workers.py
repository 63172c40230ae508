"""Processes that count votes for a run.

They are started afresh (spawned), never forked: torch and numba have threads. Each first imports the user's file, under
the same name as here, so that a classifier which is defined in it can travel. Votes do not depend on any of this.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TYPE_CHECKING

from starcert.errors import StarcertError
from starcert.runs.reference import import_file
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
        yield None
        return
    before = set(active_children())
    executor = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (file, workers))
    finished = False
    try:
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
            for child in set(active_children()) - before:
                child.terminate()


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


def _begin(file: Path, workers: int) -> None:
    """What a worker does first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for them
    import_file(file)
    torch = sys.modules.get("torch")
    if torch is not None:  # each would take all cores otherwise
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // workers))
