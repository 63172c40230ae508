"""The claims of a file about each row, one type for each kind: `verification.PROVERS` has a prover for each."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from starcert.archive.untrusted import Field
from starcert.math.attacked_sites import MAX_EVIDENCE_SITES
from starcert.math.channels import MAX_RADIUS

if TYPE_CHECKING:
    from starcert.claims.certificate import Certificate
    from starcert.claims.collective import CollectiveClaim
    from starcert.claims.intervals import Claim as OutputClaim
    from starcert.claims.verdict import FoundAttack

Level: TypeAlias = tuple[int, ...]

MARGINS = ("two-class", "multi-class", "fallback")
SAME = 1 + Fraction(1, 10**9)  # a number that is larger by less than this factor is the same on another platform
MAX_VOTES = 10**10  # the most votes of a graph: what a proof sums grows with their square root


class Answer(NamedTuple):
    """The smoothed classifier's answer, and bounds on its probability."""

    label: int
    abstained: bool
    p_lower: float
    failure: float  # the upper bound on the probability of any other answer
    other: float  # the upper bound on the probability of every single other class
    margin: str


class Reach(NamedTuple):
    """The numbers of flips on each axis that change nothing."""

    frontier: tuple[Level, ...]  # the maximal certified radii
    beyond: tuple[Level, ...]  # the minimal radii that are not certified
    proved: bool  # whether every verdict on `frontier` and `beyond` was proved
    any_flips: int | None = None  # the number of flips that change nothing, wherever they are; None without evidence


class Size(NamedTuple):
    """The largest size of listed attacks that change nothing."""

    certified: int


class Broken(NamedTuple):
    """A broken level, and the attack that breaks it, as `FoundAttack` describes it."""

    level: Level  # of a threat that lists its attacks, the size
    sites: tuple[int, ...]
    votes: tuple[int, ...]
    delta: float
    values: tuple[int | None, ...] = ()


class Interval(NamedTuple):
    """An interval of a row."""

    row: int
    what: OutputClaim
    low: float
    high: float


class Together(NamedTuple):
    """At most k of all answers differ, under any attack of a threat."""

    claim: CollectiveClaim


class TriedRow(NamedTuple):
    """The result of trying every attack on a row: the sizes that change nothing, and the first that does."""

    row: int
    certified: int
    broken: int | None


Claim: TypeAlias = Answer | Reach | Size | Broken


def claims_of(certificate: Certificate) -> tuple[Claim, ...]:
    """The claims that a certificate makes."""
    frontier, asked = certificate.frontier, certificate.asked
    attacks: list[tuple[Level, FoundAttack | None]] = []
    any_flips, size = None, list[Claim]()
    if asked is not None:
        sizes = {} if certificate.verdicts is None else certificate.verdicts.sizes
        certified = 0 if certificate.abstained else asked.certified_by(certificate.proves)
        while (verdict := sizes.get(certified + 1)) is not None and verdict.kind == "certified":
            certified += 1
        size = [Size(certified)]
        attacks = [((size,), one.attack) for size, one in sizes.items() if one.kind == "broken"]
    elif certificate.verdicts is not None:
        any_flips = certificate.any_flips
        attacks = [(level, certificate.attack(level)) for level in certificate.broken]
    bounds = certificate.p_lower, float(certificate.bounds.failure[0]), float(certificate.bounds.other[0])
    return (
        Answer(certificate.label, certificate.abstained, *bounds, certificate.margin_kind),
        Reach(frontier.radii, frontier.beyond, frontier.verified, any_flips),
        *size,
        *(Broken(level, one.sites, one.votes, one.delta, one.values) for level, one in attacks if one is not None),
    )


def claims_to_json(claims: tuple[Claim, ...]) -> dict[str, object]:
    """The claims about a row as the file has them: without evidence, nothing about it."""
    found: dict[str, object] = {}
    broken: list[dict[str, object]] = []
    listed = any(isinstance(each, Size) for each in claims)
    for each in claims:
        members: dict[str, object] = each._asdict()
        if isinstance(each, Broken):  # values where sites have more than two
            size = {"size": members.pop("level")[0]} if listed else {}  # type: ignore[index]
            broken.append(size | {name: value for name, value in members.items() if value or name != "values"})
        elif isinstance(each, Size):
            continue
        else:
            found |= {"class" if name == "label" else name: value for name, value in members.items()}
    if found["any_flips"] is None:
        del found["any_flips"]
    if listed or "any_flips" in found:
        found["broken"] = broken
    sizes = [each.certified for each in claims if isinstance(each, Size)]
    return found | ({"certified_size": sizes[0]} if sizes else {})


def claims_from_json(field: Field, n_axes: int, n_classes: int, *, listed: bool) -> tuple[Claim, ...]:
    """The claims about a row in a file; `listed`: about a threat that lists its attacks."""
    inside = field.members(
        *("class", "abstained", "p_lower", "failure", "other", "margin", "frontier", "beyond", "proved"),
        optional=("any_flips", "broken", "certified_size"),
    )
    sized = {"broken", "certified_size"} <= inside.keys() if listed else "certified_size" not in inside
    field.check(sized and not (listed and "any_flips" in inside), "be about sizes if a threat lists its attacks")
    inside["margin"].check(inside["margin"].value in MARGINS, f"be one of {', '.join(MARGINS)}")

    def radii(name: str) -> tuple[Level, ...]:
        return tuple(radius.wholes(n_axes, MAX_RADIUS) for radius in inside[name].items())

    flips = inside["any_flips"].whole(MAX_EVIDENCE_SITES) if "any_flips" in inside else None
    p_lower, failure, other = (inside[name].probability() for name in ("p_lower", "failure", "other"))
    answer = inside["class"].whole(n_classes - 1), inside["abstained"].flag(), p_lower, failure, other
    broken = inside["broken"].items() if "broken" in inside else []
    return (
        Answer(*answer, inside["margin"].text()),
        Reach(radii("frontier"), radii("beyond"), inside["proved"].flag(), flips),
        *([Size(inside["certified_size"].whole(MAX_RADIUS))] if listed else []),
        *(_broken(each, n_axes, n_classes, listed=listed) for each in broken),
    )


def _broken(claim: Field, n_axes: int, n_classes: int, *, listed: bool) -> Broken:
    inside = claim.members("size" if listed else "level", "sites", "votes", "delta", optional=("values",))
    values = inside["values"].items() if "values" in inside else []
    for_certain = inside["votes"].value == [] and inside["delta"].value == 0  # by copies that were asked
    return Broken(
        (inside["size"].whole(MAX_RADIUS),) if listed else inside["level"].wholes(n_axes, MAX_RADIUS),
        tuple(site.whole(MAX_EVIDENCE_SITES) for site in inside["sites"].items()),
        () if for_certain else inside["votes"].wholes(n_classes, MAX_VOTES),
        inside["delta"].probability(),
        tuple(None if value.value is None else value.whole(256) for value in values),
    )
