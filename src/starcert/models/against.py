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

    A step sees several noisy copies of each graph: the first has noise alone, with `dangerous` the second is one of the
    graph under attack, and the others have flips on top. Its loss is (1 − worst)·mean + worst·largest of the losses of
    the copies, plus consistency·KL(their mean answer ‖ each answer).

    Too weak an adversary leaves answers that single flips change, too strong a one leaves a model that ignores edges:
    raise `worst`, `flips` and `dangerous` until validation is best.

    Args:
        copies: noisy copies of each graph in a step, at most 8.
        worst: how much the copy with the largest loss counts, from 0 to 1.
        flips: how many edges are flipped in each copy, on top of its noise; of nodes, at every node that is learned
            from. A module that takes `edge_weight` gets those of the largest gradient, any other one random ones.
        dangerous: of how many flips, at most, the attack on each graph is that evidence finds most dangerous (see
            `models.dangers`); 0: none. Not where nodes are classified.
        every: after how many epochs it is looked for again, the first time too.
        votes: how many noisy copies of each graph are weighed for it.
        consistency: how much it counts that copies are answered alike.
        share: the epoch is kept of which most validation objects have more than this share of their noisy copies right:
            1 − slack(noise, R) is what a certificate at R takes. None: the one with most right copies.

    Example:
        >>> Against(copies=4, flips=1)
        Against(copies=4, worst=0.5, flips=1, dangerous=0, every=10, votes=256, consistency=0.0, share=None)
        >>> Against.of({"copies": 2, "worst": 1}).worst
        1.0
    """

    copies: int = 4
    worst: float = 0.5
    flips: int = 0
    dangerous: int = 0
    every: int = 10
    votes: int = 256
    consistency: float = 0.0
    share: float | None = None

    def __post_init__(self) -> None:
        whole_number("copies", self.copies, 1, MAX_COPIES)
        for name, least in (("flips", 0), ("dangerous", 0), ("every", 1), ("votes", 1)):
            whole_number(name, getattr(self, name), least)
        limits: tuple[tuple[str, float], ...] = (("worst", 1.0), ("consistency", float("inf")), ("share", 1.0))
        for name, most in limits:
            given = getattr(self, name)
            if name == "share" and given is None:
                continue
            if not 0 <= real_number(given) <= most or real_number(given) == float("inf"):
                end = "from 0 to 1" if most == 1 else "of 0 or more"
                raise InvalidParameterError(name, f"be a number {end}", given)
            object.__setattr__(self, name, float(given))
        for name in ("flips", "dangerous", "consistency"):
            if self.copies == 1 and getattr(self, name):
                raise InvalidParameterError(name, "come with two copies or more: the first has noise alone", self)
        if self.flips and self.copies < self.first_flipped + 1:
            requirement = "come with three copies or more: the second has the attack of `dangerous`"
            raise InvalidParameterError("flips", requirement, self)

    @property
    def first_flipped(self) -> int:
        """The number of the first copy that has flips on top of its noise."""
        return 2 if self.dangerous else 1

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
