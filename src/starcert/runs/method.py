"""A way of certifying, as a run sees it: `certification.py` prepares, and writes what one of these makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from typing import Any, Protocol

from starcert.report.blocks import Report
from starcert.runs.folder import OutputFolder
from starcert.runs.inputs import TriedModel


class RunMethod(Protocol):
    """One way to certify the objects of a run, each in a file of its own."""

    title: str  # what the page is called, before the name of the data
    unused: tuple[str, ...]  # settings, and parts of a record, that mean nothing to it
    blind: bool  # whether a model that sees nothing an attack changes may stand beside it

    def fits(self, ready: TriedModel) -> bool:
        """True if the model is what its settings need."""
        ...

    def check(self, ready: TriedModel) -> None:
        """Refuses settings and data that it cannot work with."""
        ...

    def forecast(self, ready: TriedModel, place: OutputFolder | None) -> Iterator[str]:
        """The forecast before it begins in a folder, or without one, sentence by sentence."""
        ...

    def certify(
        self, ready: TriedModel, place: OutputFolder, executor: Executor | None, about: Mapping[str, object]
    ) -> Any:  # noqa: ANN401  (each has an archive of its own)
        """Everything that is found, with how the run was made, for a file; work that was interrupted goes on."""
        ...

    def rows(self, archive: Any, ready: TriedModel) -> Iterable[dict[str, object]]:  # noqa: ANN401
        """The rows of `results.csv`."""
        ...

    def report(self, archive: Any, ready: TriedModel, title: str) -> Report:  # noqa: ANN401
        """The content of a page, a terminal and programs."""
        ...
