"""What a training defends against beyond the noise, and by what share of copies it is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from starcert.objects.laws import real_number
from starcert.system.errors import InvalidParameterError, did_you_mean, whole_number

MAX_COPIES = 8  # noisy copies of a graph in a step, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """How `fit_with_noise` and `fit_nodes_with_noise` train for certificates.

    A step sees several noisy copies of each graph, all but the first with flips on top. Its loss is
    (1 − worst)·mean + worst·largest of the losses of the copies, plus consistency·KL(their mean answer ‖ each answer).

    Too weak an adversary leaves answers that single flips change, too strong a one leaves a model that ignores edges:
    raise `worst` and `flips` until validation is best.

    Args:
        copies: noisy copies of each graph in a step, at most 8.
        worst: how much the copy with the largest loss counts, from 0 to 1.
        flips: how many edges are flipped in each copy, on top of its noise; of nodes, at every node that is learned
            from. A module that takes `edge_weight` gets those of the largest gradient, any other one random ones.
        consistency: how much it counts that copies are answered alike.
        share: the epoch is kept of which most validation objects have more than this share of their noisy copies right:
            1 − slack(noise, R) is what a certificate at R takes. None: the one with most right copies.

    Example:
        >>> Against(copies=4, flips=1)
        Against(copies=4, worst=0.5, flips=1, consistency=0.0, share=None)
        >>> Against.of({"copies": 2, "worst": 1}).worst
        1.0
    """

    copies: int = 4
    worst: float = 0.5
    flips: int = 0
    consistency: float = 0.0
    share: float | None = None

    def __post_init__(self) -> None:
        whole_number("copies", self.copies, 1, MAX_COPIES)
        whole_number("flips", self.flips, 0)
        limits: tuple[tuple[str, float], ...] = (("worst", 1.0), ("consistency", float("inf")), ("share", 1.0))
        for name, most in limits:
            given = getattr(self, name)
            if name == "share" and given is None:
                continue
            if not 0 <= real_number(given) <= most or real_number(given) == float("inf"):
                end = "from 0 to 1" if most == 1 else "of 0 or more"
                raise InvalidParameterError(name, f"be a number {end}", given)
            object.__setattr__(self, name, float(given))
        if self.copies == 1 and (self.flips or self.consistency):
            name = "flips" if self.flips else "consistency"
            raise InvalidParameterError(name, "come with two copies or more: the first has noise alone", self)

    @classmethod
    def of(cls, given: Mapping[str, Any] | Self) -> Self:
        """From the fields by name, as a run file has them."""
        if isinstance(given, cls):
            return given
        known = [each.name for each in fields(cls)]
        if not isinstance(given, Mapping):
            requirement = f"be a table with some of {', '.join(known)}"
            raise InvalidParameterError("against", requirement, given, "For example { copies = 4, flips = 1 }.")
        for name in given:
            if name not in known:
                hint = did_you_mean(str(name), known, f"There are {', '.join(known)}.")
                raise InvalidParameterError("against", "have fields that there are", name, hint)
        return cls(**given)
