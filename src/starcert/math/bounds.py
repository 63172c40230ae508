"""From votes to a certified statement about class probabilities: bounds by name.

The paper = a fixed number of votes × `ClopperPearson`; stopping early = a plan that looks × `Anytime`.

To write one, derive it from `Bound` and give it to `SmoothedClassifier.certify(bound=…)`. An archive stores its name.
`starcert verify` has provers of its own for the two bounds here; of any other it says "stated by NAME", never "proved".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

from typing_extensions import override

from starcert.math.confidence import ANYTIME, CLOPPER_PEARSON, Bounds, Family, Votes, anytime_bounds, clopper_pearson
from starcert.system.errors import InvalidParameterError
from starcert.system.plugins import find_plugin


class Bound(ABC):
    """What makes bounds of votes. Frozen: two of one name make the same bounds of the same votes.

    Example:
        >>> class Half(Bound):
        ...     name = "half"
        ...
        ...     def supports(self, votes):
        ...         return votes.history == "fixed"
        ...
        ...     def bounds(self, votes, alpha, family):
        ...         return replace(clopper_pearson(votes, alpha=alpha / 2, family=family), alpha=alpha)
        >>> bounds_by(Half(), Votes([[970, 30]], selection=[[98, 2]]), 0.01, "each").bound
        'half'
    """

    name: ClassVar[str]  # what archives store. Its meaning never changes: what computes anything else has another name

    @abstractmethod
    def supports(self, votes: Votes) -> bool:
        """Whether its bounds hold for votes whose number came about this way: see `Votes.history`."""

    @abstractmethod
    def bounds(self, votes: Votes, alpha: float, family: Family) -> Bounds:
        """Bounds that fail with probability at most alpha, for each row or, with the family "all", for any of them."""


class ClopperPearson(Bound):
    """One-sided Clopper–Pearson limits, for a number of votes fixed in advance: `clopper_pearson`.

    Example:
        >>> ClopperPearson().bounds(Votes([[970, 30]], selection=[[98, 2]]), 0.01, "each").p_lower.round(3)
        array([0.955])
        >>> ClopperPearson().supports(Votes([[970, 30]], history="looked"))
        False
    """

    name: ClassVar[str] = CLOPPER_PEARSON

    @override
    def supports(self, votes: Votes) -> bool:
        return votes.history == "fixed"

    @override
    def bounds(self, votes: Votes, alpha: float, family: Family) -> Bounds:
        return clopper_pearson(votes, alpha=alpha, family=family)


class Anytime(Bound):
    """Bounds that hold at all times together, whatever plan looked at the votes to stop.

    Example:
        >>> votes = Votes([[970, 30]], selection=[[98, 2]], history="stopped")
        >>> Anytime().supports(votes), Anytime().bounds(votes, 0.01, "each").p_lower.round(3)
        (True, array([0.947]))
    """

    name: ClassVar[str] = ANYTIME

    @override
    def supports(self, votes: Votes) -> bool:
        return votes.selection is not None

    @override
    def bounds(self, votes: Votes, alpha: float, family: Family) -> Bounds:
        return anytime_bounds(votes, alpha=alpha, family_size=len(votes) if family == "all" else 1)


BOUNDS = {each.name: each for each in (ClopperPearson, Anytime)}
"""Starcert's own bounds by name."""


def choose_bound(bound: Bound | str | None, plan: str, n_classes: int) -> Bound:
    """The bound, as given, by its name, or as the plan needs it: it must support what the plan draws."""
    if bound is None:
        return ClopperPearson() if plan == "fixed" else Anytime()
    if isinstance(bound, str):
        made: Any = BOUNDS[bound] if bound in BOUNDS else find_plugin("bounds", bound, BOUNDS).load()
        bound = made() if isinstance(made, type) else made
    if not isinstance(bound, Bound):
        hint = "Give starcert.ClopperPearson(), starcert.Anytime(), or what you derive from starcert.Bound."
        raise InvalidParameterError("bound", "be a Bound", bound, hint)
    derived = type(bound) not in (ClopperPearson, Anytime)  # it may compute anything
    name = getattr(bound, "name", None)
    if derived and (not isinstance(name, str) or name in ("", CLOPPER_PEARSON, ANYTIME)):
        raise InvalidParameterError("bound", "have a name of its own", name, 'Write name = "…" in its class.')
    one = [[1] * n_classes]
    if not bound.supports(Votes(one, one, history="stopped" if plan == "decided" else "fixed")):
        hint = "Leave it out, or take another plan."
        raise InvalidParameterError("bound", f"support the votes of the plan '{plan}'", bound.name, hint)
    return bound


def bounds_by(bound: Bound, votes: Votes, alpha: float, family: Family) -> Bounds:
    """The bounds of these votes, with the name of what made them."""
    if type(bound) is not ClopperPearson and not bound.supports(votes):  # that one says why itself
        raise InvalidParameterError("bound", f"support votes with the history {votes.history!r}", bound.name)
    found = bound.bounds(votes, alpha, family)
    if not isinstance(found, Bounds) or found.labels.tolist() != votes.labels.tolist():
        raise InvalidParameterError("bound", "bound the class that the selection votes of each row choose", found)
    if found.alpha != alpha:
        raise InvalidParameterError("bound", f"return bounds with the alpha that it gets, {alpha}", found.alpha)
    # Clopper–Pearson bounds are made of votes that no other bound has seen.
    seen = replace(votes, history="looked") if votes.history == "fixed" else votes
    marked = votes if type(bound) is ClopperPearson else seen
    size = len(votes) if family == "all" else 1
    classes = votes.counts.shape[1]
    found = replace(found, alpha=alpha, n_classes=classes, votes=marked, family_size=size, bound=bound.name)
    return replace(found, blind=votes.blind)
