"""Processes that count votes for a run.

Each first imports the user's file, under the same name as here, so that a classifier which is defined in it can travel.
Votes do not depend on any of this.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from starcert.errors import StarcertError
from starcert.runs.reference import import_file
from starcert.runs.threads import one_thread, use_one_thread
from starcert.system.processes import worker_processes

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
        with one_thread(classifier.backend):
            yield None
        return
    with worker_processes(
        workers, "The votes that were counted are kept.", begin=_begin, arguments=(file,)
    ) as executor:
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
    use_one_thread()
    try:
        import_file(file)
    except StarcertError as error:
        raise StarcertError(f"A worker process cannot import what this one could: {error}") from error
