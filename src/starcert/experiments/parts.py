"""The work of a study in parts that are finished one by one: a run that was killed goes on after the last of them.

A part is a function and its arguments; what it returns is kept in a small JSON file of its own, written at once or not
at all. Parts that are there are not computed again. The rest is spread over worker processes.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starcert.files import write_whole
from starcert.progress import progress_bar

__all__ = ["Part", "Parts"]


@dataclass(frozen=True)
class Part:
    """A piece of work.

    Attributes:
        name: the name of its file, its own in the study.
        function: at the top of a module, so that it can travel; returns what JSON can hold.
        arguments: for the function.
        weight: how much work it is next to the others, for the progress bar.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    weight: int = 1


class Parts:
    """The finished parts of a study in a folder, and the workers that make more.

    Args:
        folder: where the parts are kept.
        workers: how many processes; 1: this one.
        progress: whether to draw a progress bar; None: on a terminal only.
    """

    def __init__(self, folder: Path, *, workers: int = 1, progress: bool | None = None) -> None:
        self.folder = folder
        self.workers = workers
        self.progress = progress

    def has(self, name: str) -> bool:
        """Whether a part is finished."""
        return self._path(name).exists()

    def result(self, name: str) -> Any:  # noqa: ANN401  (whatever JSON holds)
        """What a finished part returned."""
        return json.loads(self._path(name).read_text("utf-8"))

    def run(self, parts: Sequence[Part], title: str) -> dict[str, Any]:
        """What each part returned, by name; computed here and now where it is not there yet."""
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = [part for part in parts if not self.has(part.name)]
        total, done = (sum(part.weight for part in some) for some in (parts, [p for p in parts if p not in missing]))
        with progress_bar(title, total, done, shown=self.progress) as advance:
            for part, result in self._computed(missing):
                write_whole(self._path(part.name), [json.dumps(result), "\n"])
                advance(part.weight)
        return {part.name: self.result(part.name) for part in parts}

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _computed(self, parts: Sequence[Part]) -> Iterator[tuple[Part, Any]]:
        if self.workers == 1 or len(parts) < 2:
            for part in parts:
                yield part, part.function(*part.arguments)
            return
        with _pool(min(self.workers, len(parts))) as pool:
            waiting: dict[Future[Any], Part] = {pool.submit(p.function, *p.arguments): p for p in parts}
            for future in as_completed(waiting):
                yield waiting.pop(future), future.result()


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes, begun afresh (a forked one could inherit a lock of torch or numba in the middle of something).

    When something goes wrong, what was not begun is given up at once.
    """
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _follow_parent, (os.getpid(),))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _follow_parent(parent: int) -> None:
    """Ends this worker when its parent is gone: a killed study must not leave processes behind."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
