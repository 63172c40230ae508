"""What a file of certificates claims about one graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from starcert.core.frontier import Radius

if TYPE_CHECKING:
    from starcert.certificate import Certificate

__all__ = ["MARGINS", "Claims"]

MARGINS = ("two-class", "multi-class")


@dataclass(frozen=True, slots=True)
class Claims:
    """The verdicts about one graph, as a certificate gives them and a file repeats them.

    Attributes:
        label: the class.
        abstained: whether the answer on the graph itself is too uncertain to be given.
        p_lower: the lower bound on the probability of the class.
        failure: the upper bound on the probability of any other answer.
        other: the upper bound on the probability of every single other class.
        margin_kind: which margin decides, "two-class" or "multi-class".
        radii: the maximal certified radii.
        beyond: the minimal radii that are not certified.
        verified: whether every verdict on `radii` and `beyond` was proved.
    """

    label: int
    abstained: bool
    p_lower: float
    failure: float
    other: float
    margin_kind: str
    radii: tuple[Radius, ...]
    beyond: tuple[Radius, ...]
    verified: bool

    @classmethod
    def of(cls, certificate: Certificate) -> Claims:
        """What a certificate says."""
        frontier = certificate.frontier
        return cls(
            label=certificate.label,
            abstained=certificate.abstained,
            p_lower=certificate.p_lower,
            failure=float(certificate.bounds.failure[0]),
            other=float(certificate.bounds.other[0]),
            margin_kind=certificate.margin_kind,
            radii=frontier.radii,
            beyond=frontier.beyond,
            verified=frontier.verified,
        )
