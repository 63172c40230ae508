"""Whether a classifier is, after a run, what it was before: otherwise its votes are not those of one classifier."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from starcert.classifiers.identity import identity
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier
    from starcert.sampling.batch import Copies

__all__ = ["CHANGED", "KEEP_UNCHANGED", "Unchanged"]

CHANGED = (
    "the base classifier changed while it voted: the digest of its content is not what it was before the run, so its "
    "votes are not those of one classifier"
)

KEEP_UNCHANGED = (
    "Nothing is certified. Let it answer without changing what it holds, such as a counter, a list or a random "
    "generator; functools.lru_cache may keep results. In a class of your own, `Classifier.content` says what counts."
)


class Unchanged:
    """A classifier as it was before a run.

    It is asked about a copy before its content is digested: what it makes at its first call, such as lazy layers, is
    then there. It is asked the same again before a difference counts: what it keeps of its last batch, as some kernels
    do, is none.

    Args:
        classifier: the classifier.
        draw: draws the copy, the same every time.
    """

    def __init__(self, classifier: Classifier, draw: Callable[[], Copies]) -> None:
        self._classifier, self._draw = classifier, draw
        self._ask()
        self._before = self._digest()

    def holds(self) -> bool:
        """Whether the classifier has the content that it had; also where its content cannot be digested at all."""
        if self._before is None or self._digest() == self._before:
            return True
        self._ask()
        return self._digest() == self._before

    def _ask(self) -> None:
        with suppress(Exception):  # whatever a user's code may raise: voting meets it too, and names the graph
            self._classifier.classify(self._draw())

    def _digest(self) -> str | None:
        try:
            return identity(self._classifier.content())
        except InvalidParameterError:
            return None
