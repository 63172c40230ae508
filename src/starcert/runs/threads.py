"""One torch thread for a run on the CPU: many threads on small graphs mostly wait for each other.

A run is parallel by its workers. Votes do not depend on threads. Who sets OMP_NUM_THREADS has chosen otherwise, and so
it stays.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

__all__ = ["one_thread", "use_one_thread"]


@contextmanager
def one_thread(device: str = "cpu") -> Iterator[None]:
    """Lets torch work with one thread inside, if the device is the CPU; afterwards with as many as before.

    torch itself is not imported: that takes seconds, and not every model needs it. If it is imported inside, it is
    held to one thread from then on.
    """
    undo = use_one_thread() if device == "cpu" else _nothing
    try:
        yield
    finally:
        undo()


def use_one_thread() -> Callable[[], None]:
    """Holds torch to one thread from now on, or from its import on; returns what undoes that."""
    if os.environ.get("OMP_NUM_THREADS"):
        return _nothing
    torch = sys.modules.get("torch")
    if torch is not None:
        return _hold(torch)
    waiting = _UntilTorch()
    sys.meta_path.insert(0, waiting)
    return waiting.undo


def _nothing() -> None:
    """Undoes nothing."""


def _hold(torch: ModuleType) -> Callable[[], None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    return lambda: torch.set_num_threads(before)


class _UntilTorch(MetaPathFinder):
    """Finds nothing by itself, and sees to the threads once torch has been imported."""

    def __init__(self) -> None:
        self.undo_threads = _nothing

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        loader = None if spec is None else spec.loader
        if loader is None:
            return spec
        run = loader.exec_module

        def run_and_hold(module: ModuleType) -> None:
            del loader.exec_module  # the loader is as it was
            run(module)
            self.undo_threads = _hold(module)

        loader.exec_module = run_and_hold  # type: ignore[method-assign]
        return spec

    def undo(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self.undo_threads()
