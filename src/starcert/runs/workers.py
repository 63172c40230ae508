"""Processes that count votes for a run, and one torch thread in each of them.

Each first imports the user's file, under the same name as here, so that a classifier which is defined in it can travel.
Votes do not depend on any of this.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starcert.errors import StarcertError
from starcert.runs.user_code import import_file
from starcert.system.processes import available_cores, worker_processes

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier

__all__ = ["one_thread", "voting_workers"]

_THREADS = "OMP_NUM_THREADS"


@contextmanager
def one_thread(device: str = "cpu") -> Iterator[None]:
    """Lets torch work with one thread inside, if the device is the CPU; afterwards with as many as before.

    Many threads on small graphs mostly wait for each other: a run is parallel by its workers, and votes depend on
    neither. torch itself is not imported, for that takes seconds, and not every model needs it. If it is imported
    inside, by the user's code or in a process that is begun there, it finds the variable that it takes its threads
    from. Who has set that variable has chosen otherwise, and so it stays.
    """
    if device != "cpu" or os.environ.get(_THREADS):
        yield
        return
    torch = sys.modules.get("torch")
    before = available_cores() if torch is None else torch.get_num_threads()
    if torch is not None:
        torch.set_num_threads(1)
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        os.environ.pop(_THREADS, None)
        if (torch := sys.modules.get("torch")) is not None:
            torch.set_num_threads(before)


@contextmanager
def voting_workers(
    classifier: Classifier, file: Path, workers: int, note: Callable[[str], None]
) -> Iterator[Executor | None]:
    """So many worker processes; None where the classifier works in this process, which `note` then gives a reason for.

    Args:
        classifier: what shall travel to the workers.
        file: the user's file that made it.
        workers: how many.
        note: is told why there are no workers, where they were asked for.
    """
    reason = "" if workers == 1 else _stays(classifier)
    if reason:
        note(f"All votes are counted in one process: {reason}.")
    with one_thread(classifier.backend):
        if workers == 1 or reason:
            yield None
            return
        kept = "The votes that were counted are kept."
        with worker_processes(workers, kept, begin=_begin, arguments=(file,)) as executor:
            yield executor


def _stays(classifier: Classifier) -> str:
    """Why a classifier cannot leave this process; "" if it can."""
    if classifier.backend != "cpu":
        return "the model is on a device, which processes would have to share"
    try:
        pickle.dumps(classifier)
    except (pickle.PicklingError, AttributeError, TypeError, RecursionError) as error:
        return (
            f"the classifier cannot travel to others ({' '.join(str(error).split())}); define it at the top of its file"
        )
    return ""


def _begin(file: Path) -> None:
    """What a worker does first."""
    try:
        import_file(file)
    except StarcertError as error:
        raise StarcertError(f"A worker process cannot import what this one could: {error}") from error
