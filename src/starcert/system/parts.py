"""Long work in parts, here or by worker processes: what is finished is kept in a folder, and never computed again.

A part is a function and its arguments; its result is kept in a small JSON file of its own, written whole or not at all,
so a run that was killed continues after the last of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.files import is_empty, write_whole
from starcert.system.output import progress_bar
from starcert.system.processes import Pending, worker_processes


@dataclass(frozen=True)
class Part:
    """A piece of work."""

    name: str  # the name of its file, unique in the folder
    function: Callable[..., Any]  # at the top of a module, so that workers can import it; returns what JSON can hold
    arguments: tuple[Any, ...]  # for the function
    weight: int = 1  # how much work it is next to the others, for the progress bar


@dataclass(frozen=True)
class PartsFolder:
    """The finished parts of some work in a folder, and the workers that make more."""

    folder: Path
    workers: int = 1  # how many processes; 1: this one
    progress: bool | None = None  # whether to draw a progress bar; None: on a terminal only

    def result(self, name: str) -> Any:  # noqa: ANN401  (whatever JSON holds)
        """The result of a finished part."""
        try:
            return json.loads(self._path(name).read_text("utf-8"))
        except ValueError as error:  # a killed run leaves no half-written file: something else wrote there
            raise StarcertError(
                f"{self._path(name)}: is damaged ({error}). Delete it, and run the same again."
            ) from error

    def run(self, parts: Sequence[Part], title: str) -> dict[str, Any]:
        """The result of each part, by name; computed now where it is missing.

        When a part fails, what is finished or in progress is kept, and then its error is raised.
        """
        assert len({part.name for part in parts}) == len(parts), "each part has a name of its own"
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = [part for part in parts if not self._path(part.name).exists()]
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


def claim_folder(out: Path, settings: Mapping[str, Any], what: str = "study") -> None:
    """Takes an empty folder for these settings, or one that already has them; `what` was begun there."""
    record = out / "settings.json"
    wanted = json.loads(json.dumps(settings))
    try:
        if record.exists():
            stored = json.loads(record.read_text("utf-8"))
            if not isinstance(stored, dict):
                raise TypeError(f"{record.name} holds no settings")
            if stored != wanted:
                differ = sorted(k for k in {*stored, *wanted} if stored.get(k) != wanted.get(k))
                reason = "; ".join(f"{k}: there {stored.get(k)}, now {wanted.get(k)}" for k in differ)
                raise InvalidParameterError(
                    "--out", f"be a folder of the same {what}", f"{out} ({reason})", "Give another."
                )
        elif out.exists() and not is_empty(out):
            hint = "Give a new folder, or one that this command began."
            raise InvalidParameterError("--out", f"be empty or hold the same {what}", str(out), hint)
        out.mkdir(parents=True, exist_ok=True)
        write_whole(record, [json.dumps(settings, indent=2), "\n"])
    except (OSError, json.JSONDecodeError, UnicodeDecodeError, TypeError) as error:
        raise StarcertError(
            f"{out}: cannot be used as the folder of a {what} ({error}). Give another --out."
        ) from error
