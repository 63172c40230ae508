"""The work of a study in parts: a run that was killed continues after the last part that it finished.

A part is a function and its arguments; its result is kept in a small JSON file of its own, written whole or not at all.
Finished parts are not computed again. The others are computed here or by worker processes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starcert.system.errors import StarcertError
from starcert.system.files import write_whole
from starcert.system.output import progress_bar
from starcert.system.processes import Pending, worker_processes

__all__ = ["Part", "StudyParts"]


@dataclass(frozen=True)
class Part:
    """A piece of work."""

    name: str  # the name of its file, unique in the study
    function: Callable[..., Any]  # at the top of a module, so that workers can import it; returns what JSON can hold
    arguments: tuple[Any, ...]  # for the function
    weight: int = 1  # how much work it is next to the others, for the progress bar


class StudyParts:
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
        try:
            return json.loads(self._path(name).read_text("utf-8"))
        except ValueError as error:  # a killed run leaves no half-written file: something else wrote there
            raise StarcertError(
                f"{self._path(name)}: is damaged ({error}). Delete it, and run the same again."
            ) from error

    def run(self, parts: Sequence[Part], title: str) -> dict[str, Any]:
        """What each part returned, by name; computed now where it is missing.

        When a part fails, what is finished or in progress is kept, and then its error is raised.
        """
        assert len({part.name for part in parts}) == len(parts), "each part has a name of its own"
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = [part for part in parts if not self.has(part.name)]
        total, left = (sum(part.weight for part in some) for some in (parts, missing))
        # Closed at once, also when a result cannot be written: the workers stop and do not finish the other parts.
        bar, computed = progress_bar(title, total, total - left, shown=self.progress), closing(self._computed(missing))
        with bar as advance, computed as results:
            for part, result in results:
                write_whole(self._path(part.name), [json.dumps(result), "\n"])
                advance(part.weight)
        return {part.name: self.result(part.name) for part in parts}

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _computed(self, parts: Sequence[Part]) -> Generator[tuple[Part, Any]]:
        if self.workers == 1 or len(parts) < 2:
            for part in parts:
                yield part, part.function(*part.arguments)
            return
        with worker_processes(min(self.workers, len(parts)), "What is finished is kept.") as pool:
            pending: Pending[Any] = Pending(pool)
            waiting: dict[Future[Any], Part] = {pending.submit(p.function, *p.arguments): p for p in parts}
            failed: BaseException | None = None
            while len(pending):
                future = pending.next_done()
                if future.cancelled():
                    continue
                if (error := future.exception()) is None:
                    yield waiting[future], future.result()
                elif failed is None:
                    failed = error
                    pending.cancel()
            if failed is not None:
                raise failed
