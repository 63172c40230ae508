"""How many threads torch uses: one where work is small, and as many as before when it is done.

Many threads on small graphs mostly wait for each other, and on a busy machine each of them waits for a core as well:
the same votes then take a hundred times as long. torch itself is never imported here, because that takes seconds.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from starcert.system.processes import available_cores

__all__ = ["one_thread", "one_torch_thread", "threads_are_chosen"]

_VARIABLE = "OMP_NUM_THREADS"


class _Inside:
    """How many threads are inside `one_torch_thread` now, and the number that torch had before the first of them."""

    lock = threading.Lock()
    count = 0
    before = 1


def threads_are_chosen() -> bool:
    """Whether the user has chosen how many threads torch has, by its environment variable."""
    return bool(os.environ.get(_VARIABLE))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Lets torch use one thread inside, if it is imported; afterwards as many as before.

    torch keeps the number for each thread of Python's, and gives a new thread that of the last who set it. So where
    several threads are inside at once, the number to restore is what the first of them found.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    with _Inside.lock:
        if not _Inside.count:
            _Inside.before = torch.get_num_threads()
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

    A run is parallel by its workers. If torch is imported inside, by the user's code or in a process that is started
    there, it reads the environment variable. A user who has set that variable has chosen, and nothing changes.
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
