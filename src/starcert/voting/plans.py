"""Plans: how many votes are drawn of each graph, and when to stop.

A plan is asked graph by graph, before the first vote and whenever all votes that it wanted are there. It sees whole
counts at such a look, those of chunks 0, 1, 2, … in their order, however they came in. So its answer, like the votes
themselves, never depends on workers, batches or interruptions.

A plan that wants all it may ever want (`Plan.most`) before the first estimation vote is not asked again: the number is
fixed. Any other plan sees estimation votes, and the votes are marked (`Votes.stopped`), here and in the store: bounds
for a number of votes fixed in advance do not hold for them, and are refused.

To write one, derive it from `Plan`. This one asks for more votes as long as some target's class is not clear:

    class UntilClear(Plan):
        most = Wanted(1_024, 102_400)

        def wanted(self, so_far):
            shares = so_far.estimation.max(axis=1) / max(1, so_far.n_estimation)
            if so_far.n_estimation and shares.min() > 0.9:
                return so_far.wanted
            return Wanted(1_024, min(so_far.n_estimation + 10 * so_far.chunk_size, 102_400))
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from typing_extensions import override

from starcert.math.flips import FlipRecord
from starcert.voting.jobs import Counts

__all__ = ["FixedPlan", "Plan", "SoFar", "Wanted", "default_selection"]


class Wanted(NamedTuple):
    """How many votes of each purpose a graph should have, in all."""

    selection: int
    estimation: int


def default_selection(samples: int) -> int:
    """How many selection votes come with a number of estimation votes, unless the caller chooses."""
    return max(100, samples // 100)


class SoFar(NamedTuple):
    """What a plan looks at: the votes on one graph.

    Attributes:
        selection: selection votes, shape (targets, classes).
        estimation: estimation votes, likewise.
        chunk_size: samples in a whole chunk.
        object: the number of the graph.
        records: for each target the flips of the estimation votes against the class that the selection votes chose;
            None where flips are not recorded. Empty before the first of them.
    """

    selection: Counts
    estimation: Counts
    chunk_size: int
    object: int = 0
    records: tuple[FlipRecord | None, ...] = ()

    @property
    def record(self) -> FlipRecord | None:
        """The flips of the votes on the first target."""
        return self.records[0] if self.records else None

    @property
    def wanted(self) -> Wanted:
        """As many votes as there are: a plan that wants no more is done with the graph."""
        return Wanted(self.n_selection, self.n_estimation)

    @property
    def n_selection(self) -> int:
        """Selection votes on each target."""
        return int(self.selection[0].sum())

    @property
    def n_estimation(self) -> int:
        """Estimation votes on each target."""
        return int(self.estimation[0].sum())


class Plan(ABC):
    """Decides how many votes come next, from the counts so far. It has no memory: the same counts, the same answer.

    Attributes:
        most: the most votes that it may ever want of a graph.
        first_chunk: samples in the first chunk of estimation votes; later ones grow up to the chunk size, as
            `chunk_ends` lists them. None: all chunks are whole.
    """

    most: Wanted
    first_chunk: ClassVar[int | None] = None

    @abstractmethod
    def wanted(self, so_far: SoFar) -> Wanted:
        """How many votes there should be at the next look, in whole chunks unless it is the last; as many: done."""


@dataclass(frozen=True)
class FixedPlan(Plan):
    """A fixed number of votes, drawn at once.

    Attributes:
        most: how many.

    Example:
        >>> import numpy as np
        >>> FixedPlan(Wanted(100, 10_000)).wanted(SoFar(np.zeros((1, 2)), np.zeros((1, 2)), 1024))
        Wanted(selection=100, estimation=10000)
    """

    most: Wanted

    @override
    def wanted(self, so_far: SoFar) -> Wanted:
        return self.most
