"""The result of an audit of a run: no fault, and how rare a fault it would have missed."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

COPIES = 4_603  # of the objects, and as many of attacked ones: 1 − (1 − 1/1,000)ⁿ ≥ 99%
CHANCE = 0.99  # with this probability, at least, an audit finds a dependence of the stated share


def found_share(copies: int) -> float:
    """The least share of noisy copies with answers that depend on the batch of which `copies` show one with `CHANCE`.

    If the share is q, n independent copies show it with probability 1 − (1 − q)ⁿ.
    """
    return -math.expm1(math.log1p(-CHANCE) / copies) if copies else 1.0


@dataclass(frozen=True, slots=True)
class Audit:
    """The numbers of noisy copies that were classified again, each with the same answer.

    Those of attacked graphs are a search: attacks are chosen, and copies of one attack are alike, so no share is stated
    for them. Where not every graph was audited, one copy of each that was counts as independent: a fault may be that of
    a few graphs.

    Example:
        >>> print(Audit(4_603, 150, 4_603, 150, 4_603) + Audit(attacked=100, attacked_alone=10))
        Audited 4,603 noisy copies of the graphs and 4,703 of attacked graphs: each was answered the same in another \
batch, and 310 of them alone. An answer that depends on the batch for at least 0.1% of the copies of the graphs would \
have been found with probability 99%; one that is different for a copy alone, for 3.1%.
    """

    clean: int = 0  # copies of the graphs themselves, in another batch
    clean_alone: int = 0  # those of them that were alone, too
    attacked: int = 0  # the same for copies of attacked graphs
    attacked_alone: int = 0
    independent: int = 0  # how many copies of the graphs count as independent

    def __add__(self, other: Audit) -> Audit:
        return Audit(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def share(self) -> float:
        """The smallest share of copies of the graphs on which a dependence on the batch is found with `CHANCE`."""
        return found_share(self.independent)

    @property
    def share_alone(self) -> float:
        """The same for an answer that is different for a copy alone."""
        return found_share(min(self.clean_alone, self.independent))

    def __str__(self) -> str:
        return (
            f"Audited {self.clean:,} noisy copies of the graphs and {self.attacked:,} of attacked graphs: each was "
            f"answered the same in another batch, and {self.clean_alone + self.attacked_alone:,} of them alone. An "
            f"answer that depends on the batch for at least {_rounded_up(self.share)} of the copies of the graphs "
            f"would have been found with probability {CHANCE:.0%}; one that is different for a copy alone, for "
            f"{_rounded_up(self.share_alone)}."
        )


def _rounded_up(share: float) -> str:
    """A share as a percentage of two digits, rounded up: no more is claimed than was found."""
    digits = 10.0 ** (1 - math.floor(math.log10(share)))
    return f"{100 * math.ceil(share * digits) / digits:.3g}%"
