"""What a file claims about each graph: the verdicts of its certificate."""

from __future__ import annotations

from typing import NamedTuple

from starcert.certificates.certificate import Certificate
from starcert.certificates.found_attack import FoundAttack
from starcert.math.frontier import Radius

MARGINS = ("two-class", "multi-class", "fallback")


class BrokenLevel(NamedTuple):
    """A broken level, and the attack that breaks it, as `FoundAttack` describes it."""

    level: Radius  # of a threat that lists its attacks, the size
    sites: tuple[int, ...]
    votes: tuple[int, ...]
    delta: float
    values: tuple[int | None, ...] = ()


class Claims(NamedTuple):
    """The verdicts about one graph, as a `Certificate` gives them and a file repeats them."""

    label: int
    abstained: bool
    p_lower: float
    failure: float  # the upper bound on the probability of any other answer
    other: float  # the upper bound on the probability of every single other class
    margin: str
    frontier: tuple[Radius, ...]  # the maximal certified radii
    beyond: tuple[Radius, ...]  # the minimal radii that are not certified
    proved: bool  # whether every verdict on `frontier` and `beyond` was proved
    any_flips: int | None = None  # the number of flips that change nothing, wherever they are; None without evidence
    broken: tuple[BrokenLevel, ...] = ()
    certified_size: int | None = None  # the largest size of listed attacks that change nothing; None: none are listed

    @classmethod
    def of(cls, certificate: Certificate) -> Claims:
        """What a certificate says."""
        frontier, asked = certificate.frontier, certificate.asked
        attacks: list[tuple[Radius, FoundAttack | None]] = []
        certified_size, any_flips = None, None
        if asked is not None:
            sizes = {} if certificate.verdicts is None else certificate.verdicts.sizes
            certified_size = 0 if certificate.abstained else asked.certified_by(certificate.proves)
            while (verdict := sizes.get(certified_size + 1)) is not None and verdict.kind == "certified":
                certified_size += 1
            attacks = [((size,), one.attack) for size, one in sizes.items() if one.kind == "broken"]
        elif certificate.verdicts is not None:
            any_flips = certificate.any_flips
            attacks = [(level, certificate.attack(level)) for level in certificate.broken]
        return cls(
            label=certificate.label,
            abstained=certificate.abstained,
            p_lower=certificate.p_lower,
            failure=float(certificate.bounds.failure[0]),
            other=float(certificate.bounds.other[0]),
            margin=certificate.margin_kind,
            frontier=frontier.radii,
            beyond=frontier.beyond,
            proved=frontier.verified,
            any_flips=any_flips,
            certified_size=certified_size,
            broken=tuple(
                BrokenLevel(level, found.sites, found.votes, found.delta, found.values)
                for level, found in attacks
                if found is not None
            ),
        )

    def to_json(self) -> dict[str, object]:
        """As the file has them: without evidence, nothing about it; values where sites have more than two."""
        claims = {"class" if name == "label" else name: value for name, value in self._asdict().items()}
        for name in ("any_flips", "certified_size"):
            if claims[name] is None:
                del claims[name]
        if self.any_flips is None and self.certified_size is None:
            del claims["broken"]
            return claims
        broken = [{k: v for k, v in each._asdict().items() if v or k != "values"} for each in self.broken]
        if self.certified_size is not None:
            broken = [{"size": each.pop("level")[0], **each} for each in broken]
        return claims | {"broken": broken}
