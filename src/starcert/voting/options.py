"""Options for drawing votes, and for looking at where their flips fell."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from os import PathLike
from typing import get_args

from starcert.system.errors import InvalidParameterError, whole_number
from starcert.voting.plans import StoppingPlan


@dataclass(frozen=True, slots=True)
class Voting:
    """The options for drawing votes; certificates depend on the first two arguments and on the chunk size alone.

    Args:
        selection_samples: selection votes for each graph; by default a hundredth of the samples, at least 100.
        plan: "fixed" draws all samples. With "decided" they are an upper limit: a graph gets no more votes once all of
            the threat is certified, or is unlikely to be. Bounds then hold at all times together, and are a little
            wider.
        store: a file that keeps the votes as they come, and that a later call continues.
        executor: where to count: any `concurrent.futures.Executor`, or None for this process.
        chunk_size: samples in a unit of work with its own random stream; by default as the classifier wants it, 1,024
            on a CPU.
        batch_size: the most noisy graphs that the classifier sees at once; by default as many as it wants.
        progress: whether to draw a progress bar, by default on a terminal only; a text is its title there.

    Example:
        >>> Voting(plan="decided", store="votes.db").selection_samples is None
        True
        >>> Voting(plan="hasty")
        Traceback (most recent call last):
            ...
        starcert.system.errors.InvalidParameterError: 'plan' must be "fixed" or "decided". Got 'hasty' instead.
    """

    selection_samples: int | None = None
    plan: StoppingPlan = "fixed"
    store: str | PathLike[str] | None = None
    executor: Executor | None = None
    chunk_size: int | None = None
    batch_size: int | None = None
    progress: bool | str | None = None

    def __post_init__(self) -> None:
        if self.plan not in get_args(StoppingPlan):
            raise InvalidParameterError("plan", 'be "fixed" or "decided"', self.plan)
        if self.executor is not None and not hasattr(self.executor, "submit"):
            hint = "Give for instance concurrent.futures.ProcessPoolExecutor(4)."
            raise InvalidParameterError("executor", "be a concurrent.futures.Executor", self.executor, hint)

    @classmethod
    def of(cls, given: object) -> Voting:
        """The argument `voting` of a method; None: all as by default."""
        if not isinstance(given, Voting | None):
            hint = 'For example Voting(store="votes.db", selection_samples=500).'
            raise InvalidParameterError("voting", "be a Voting", given, hint)
        return given or cls()


@dataclass(frozen=True, slots=True)
class Evidence:
    """That certificates look at where the flips of the votes fell, too: alpha is shared between counts and evidence.

    Args:
        own_samples: the most votes at attacked versions of each graph, for levels that the votes on the clean graph
            leave open; by default as many as `samples`.

    Example:
        >>> Evidence(own_samples=20_000)
        Evidence(own_samples=20000)
    """

    own_samples: int | None = None

    def __post_init__(self) -> None:
        if self.own_samples is not None:
            whole_number("own_samples", self.own_samples, 0)

    @classmethod
    def of(cls, given: object) -> Evidence | None:
        """The argument `evidence` of a method; None: there is no evidence."""
        if isinstance(given, bool):
            return cls() if given else None
        if not isinstance(given, Evidence):
            raise InvalidParameterError("evidence", "be True, False or Evidence(own_samples=…)", given)
        return given
