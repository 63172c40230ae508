"""The claims of a file about each row, one type for each kind: `verification.PROVERS` has a prover for each."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import UNSET, to_builtins

from starcert.archive.format import MARGINS, BrokenAttack, RowClaims
from starcert.archive.untrusted import check

if TYPE_CHECKING:
    from starcert.claims.certificate import Certificate
    from starcert.claims.collective import CollectiveClaim
    from starcert.claims.intervals import Claim as OutputClaim
    from starcert.claims.verdict import FoundAttack

Level: TypeAlias = tuple[int, ...]

SAME = 1 + Fraction(1, 10**9)  # a number that is larger by less than this factor is the same on another platform


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
    """An interval of a row, which is the one of this number."""

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


class LinkRow(NamedTuple):
    """The result of link votes for a node: its class, the sizes that do not change it, and an attack that does."""

    node: int
    label: int
    certified: int
    broken: int | None
    attack: tuple[tuple[int, int], ...]  # the node pairs that it changes


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


def claims_to_form(claims: tuple[Claim, ...]) -> RowClaims:
    """The claims about a row as the file has them: without evidence, nothing about it."""
    answer, reach, *others = claims
    assert isinstance(answer, Answer)
    assert isinstance(reach, Reach)
    sizes = [each.certified for each in others if isinstance(each, Size)]
    broken = tuple(_broken_form(each, listed=bool(sizes)) for each in others if isinstance(each, Broken))
    about = reach._asdict() | {"any_flips": UNSET if reach.any_flips is None else reach.any_flips}
    known = sizes or reach.any_flips is not None
    more: dict[str, Any] = {"broken": broken if known else UNSET, "certified_size": sizes[0] if sizes else UNSET}
    return RowClaims(**answer._asdict(), **about, **more)


def _broken_form(one: Broken, *, listed: bool) -> BrokenAttack:
    where: dict[str, Any] = {"size": one.level[0]} if listed else {"level": one.level}
    return BrokenAttack(**where, sites=one.sites, votes=one.votes, delta=one.delta, values=one.values or UNSET)


def claims_of_form(told: RowClaims, place: str, n_axes: int, n_classes: int, *, listed: bool) -> tuple[Claim, ...]:
    """The claims about a row in a file; `listed`: about a threat that lists its attacks."""
    size = told.certified_size
    wrong = (size is UNSET or told.broken is UNSET or told.any_flips is not UNSET) if listed else size is not UNSET
    check(not wrong, place, "be about sizes if a threat lists its attacks", to_builtins(told))
    check(told.margin in MARGINS, f"{place}.margin", f"be one of {', '.join(MARGINS)}", told.margin)
    check(told.label < n_classes, f"{place}.class", f"be a class from 0 to {n_classes - 1}", told.label)
    for name in ("frontier", "beyond"):
        for number, radius in enumerate(getattr(told, name)):
            of_axes(radius, f"{place}.{name}[{number}]", n_axes)
    answer = Answer(*(getattr(told, name) for name in Answer._fields))
    flips = None if told.any_flips is UNSET else told.any_flips
    broken = () if told.broken is UNSET else told.broken
    return (
        answer,
        Reach(told.frontier, told.beyond, told.proved, flips),
        *([Size(size)] if listed and size is not UNSET else []),
        *(_broken(each, f"{place}.broken[{i}]", n_axes, n_classes, listed=listed) for i, each in enumerate(broken)),
    )


def _broken(told: BrokenAttack, place: str, n_axes: int, n_classes: int, *, listed: bool) -> Broken:
    named = told.size is not UNSET and told.level is UNSET if listed else told.level is not UNSET and told.size is UNSET
    check(named, place, f"have the {'size' if listed else 'level'} that is broken", to_builtins(told))
    level = (told.size,) if told.level is UNSET else of_axes(told.level, f"{place}.level", n_axes)
    if told.votes or told.delta:  # otherwise it is broken for certain, by copies that were asked
        of_axes(told.votes, f"{place}.votes", n_classes)
    values = () if told.values is UNSET else told.values
    return Broken(level, told.sites, told.votes, told.delta, values)  # type: ignore[arg-type]


def of_axes(numbers: tuple[int, ...], place: str, length: int) -> tuple[int, ...]:
    """A list of numbers, refused unless there is one for each axis, or for each class."""
    check(len(numbers) == length, place, f"be a list of {length} whole numbers", numbers)
    return numbers
