"""The forms of archives as files have them: what is read and written, and what the schema says, follows from these.

What a type cannot say is checked where the archive is made of it: what depends on another value, as the number of axes
or of classes does. Members that are `UNSET` are not written.
"""

# ruff: noqa: D101  (the comments beside members say what these parts of files are)

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, field

from starcert.archive.untrusted import MalformedError, check, converted, shortened
from starcert.math.attacked_sites import MAX_EVIDENCE_SITES
from starcert.math.channels import MAX_RADIUS
from starcert.math.confidence import check_alpha
from starcert.math.votes import Audit
from starcert.objects.laws import Law, law_from_json
from starcert.objects.noise import MAX_SITES, Noise
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.archive.intervals import IntervalsFile
    from starcert.claims.question import Question
    from starcert.objects.threats import Threat

FORMAT, EXACT, INTERVALS, LINKS = FORMATS = (
    "starcert certificates",
    "starcert exact",
    "starcert intervals",
    "starcert links",
)
VERSION = 1  # of all formats
MAX_VOTES = 10**10  # the most votes of a graph: what a proof sums grows with their square root
MAX_SIDE = 2**31  # bytes of a side file; larger ones are refused before they are read
MARGINS = ("two-class", "multi-class", "fallback")

Whole = Annotated[int, Meta(ge=0)]
Flips = Annotated[int, Meta(ge=0, le=MAX_RADIUS)]
Row = Annotated[int, Meta(ge=0, le=2**31)]  # more nodes than any graph has, and more graphs than any file
NumberOfVotes = Annotated[int, Meta(ge=0, le=MAX_VOTES)]
NumberOfSites = Annotated[int, Meta(ge=0, le=MAX_SITES)]
Number = Annotated[float, Meta(ge=-1e300, le=1e300)]
Probability = Annotated[float, Meta(ge=0, le=1)]
Value = Annotated[int, Meta(ge=0, le=256)]  # of a site
Radius = tuple[Flips, ...]


class Form(Struct, forbid_unknown_fields=True):
    """A part of a file, with these members and no others."""


class SideFile(Form, kw_only=True):
    file: str | None  # its name, in the same folder; null: it would be empty
    bytes: Annotated[int, Meta(ge=0, le=MAX_SIDE)]  # how many it has
    sha256: str  # of these


class ThreatText(Form, kw_only=True):
    text: str  # as `--threat` reads it
    label: str  # in words
    most: Annotated[int, Meta(ge=1, le=MAX_RADIUS)]  # the largest size of its attacks


class ListedForm(Form, kw_only=True):
    levels: tuple[tuple[Radius, ...], ...]  # the levels of the attacks of size 1, 2, …
    attacks: tuple[Annotated[int, Meta(ge=0, le=2**21)], ...]  # how many attacks of each size there are


class AuditNumbers(Form, kw_only=True):
    clean: NumberOfVotes  # how many noisy copies of the graphs were classified again, in another batch
    clean_alone: NumberOfVotes  # how many of these were alone there
    attacked: NumberOfVotes  # the same, of copies of attacked graphs
    attacked_alone: NumberOfVotes
    independent: NumberOfVotes  # on how many it was found out that an answer does not depend on what was asked before
    says: str  # the same in words


class DrawnForm(Form, kw_only=True):
    seed: Whole  # of all streams
    chunk_size: Annotated[int, Meta(ge=1, le=2**31)]  # how many votes a chunk has, at most
    first_chunk: Annotated[int, Meta(ge=1, le=2**31)] | None  # how many the first one has, if they grow from there
    backend: str  # what drew them
    counts: SideFile  # the votes of each chunk


class FallbackForm(Form, kw_only=True):
    threshold: Number  # the probability that a class must exceed
    exact: str  # the same, as the fraction that it is


class BrokenAttack(Form, kw_only=True):
    level: Radius | UnsetType = UNSET  # the level that it breaks
    size: Flips | UnsetType = UNSET  # the size that it breaks, of a threat that lists its attacks
    sites: tuple[Annotated[int, Meta(ge=0, le=MAX_EVIDENCE_SITES)], ...]  # what it attacks
    votes: tuple[NumberOfVotes, ...]  # for each class, at the attacked graph
    delta: Probability  # with what probability one harmless attack is called broken
    values: tuple[Value | None, ...] | UnsetType = UNSET  # the new values, where sites have more than two


class RowClaims(Form, kw_only=True):
    label: Whole = field(name="class")  # the class of the smoothed classifier
    abstained: bool  # whether it is not shown to be the most probable class
    p_lower: Probability  # the lower bound on its probability
    failure: Probability  # the upper bound on the probability of any other answer
    other: Probability  # the upper bound on the probability of every single other class
    margin: Annotated[str, Meta(extra_json_schema={"enum": list(MARGINS)})]  # by which argument radii are certified
    frontier: tuple[Radius, ...]  # the maximal certified radii
    beyond: tuple[Radius, ...]  # the minimal radii that are not certified
    proved: bool  # whether every verdict on `frontier` and `beyond` was proved
    any_flips: Annotated[int, Meta(ge=0, le=MAX_EVIDENCE_SITES)] | UnsetType = UNSET  # how many change nothing anywhere
    broken: tuple[BrokenAttack, ...] | UnsetType = UNSET  # attacks that change the answer
    certified_size: Flips | UnsetType = UNSET  # the largest size of listed attacks that change nothing


class VotesOfRow(Form, kw_only=True):
    name: str  # what the data calls the row
    graph: Row | UnsetType = UNSET  # the number of its graph
    target: Row | UnsetType = UNSET  # which target of the graph it is
    node: Row | UnsetType = UNSET  # the index of its node
    true_class: Whole | None  # null where it is not known
    estimation: tuple[NumberOfVotes, ...]  # votes for each class
    selection: tuple[NumberOfVotes, ...] | None  # other votes, which choose the class
    blind: Whole | UnsetType = UNSET  # the blind answer, where the smoothed classifier falls back
    capacity: tuple[NumberOfSites, ...] | None  # how far the frontier was searched on each axis; null: without end
    anchored: str  # why its regions are anchored, "" if they are not
    claims: RowClaims  # what is claimed about the row


class CollectiveRow(Form, kw_only=True):
    threat: ThreatText  # the attacks
    k: Whole  # how many answers change at most
    alpha: Number  # the failure probability of the claim
    alpha_exact: str  # the same, as the fraction that it is
    says: str  # the claim in words


class CollectivePart(Form, kw_only=True):
    says: str  # what is claimed
    threat: ThreatText  # the one whose attacks are listed
    claims: tuple[CollectiveRow, ...]  # how many answers change together
    evidence: SideFile  # the votes of all targets
    listed: tuple[ListedForm, ...]  # the number and the levels of the attacks on each graph


class CertificatesFile(Form, kw_only=True):
    """An archive of certificates: the premises of what it claims, and beside them the claims."""

    format: str
    version: int
    says: str  # what is claimed, in words
    noise: tuple[dict[str, Any], ...]  # the law of each region
    axes: tuple[str, ...]  # the axes of radii, in order
    alpha: Number  # the failure probability of each certificate, or of `together` certificates
    alpha_exact: str  # the same, as the fraction that it is
    together: NumberOfVotes | UnsetType = UNSET  # how many certificates alpha is the joint failure probability of
    margins: str | UnsetType = UNSET  # how margins were chosen, with more than two classes and selection votes
    bounds: str | UnsetType = UNSET  # what made bounds of the votes, where that is not Clopper–Pearson
    fallback: FallbackForm | UnsetType = UNSET  # the threshold of a classifier that falls back
    evidence: SideFile | UnsetType = UNSET  # where the flips of the votes fell
    threat: ThreatText | UnsetType = UNSET  # the threat that lists its attacks
    collective: CollectivePart | UnsetType = UNSET  # claims about all answers at once
    audit: AuditNumbers | UnsetType = UNSET  # which copies were classified again
    drawn: DrawnForm | UnsetType = UNSET  # how the votes were drawn
    max_radius: Radius | None  # the box of requested radii; null: without end
    classes: tuple[str, ...]  # what they are called
    settings: dict[str, Any]  # how the run was made
    provenance: dict[str, Any]  # the versions that made it
    keys: tuple[str, ...] | UnsetType = UNSET  # the key of each object, by which its votes were drawn
    listed: tuple[ListedForm, ...] | UnsetType = UNSET  # the number and the levels of the attacks on each graph
    graphs: tuple[VotesOfRow, ...]  # the rows, one for each graph or target


def exact(value: float) -> str:
    """A float as the fraction that it is."""
    return str(Fraction(value))


def noise_to_json(noise: Noise) -> list[dict[str, object]]:
    """The laws of a noise as files have them; refused if they would not be read as they are."""
    laws: list[dict[str, object]] = []
    for region in noise:
        law = noise[region]
        form = law.to_json()
        try:
            again = law_from_json(form)
        except InvalidParameterError as error:
            raise InvalidParameterError("noise", "have laws that files know", law, str(error)) from error
        if type(again) is not type(law) or again.to_json() != form:  # otherwise the file would speak of another law
            hint = "A law that derives from another needs its own to_json and from_json."
            raise InvalidParameterError("noise", "have laws that are read as they are written", law, hint)
        given = form if isinstance(form, dict) else law.numbers  # how added types are drawn stands beside the numbers
        laws.append({"region": region, **given, "exact": {name: exact(p) for name, p in law.numbers.items()}})
    return laws


def noise_from_json(laws: Sequence[Mapping[str, Any]]) -> Noise:
    """The noise that a file is about."""
    found: dict[str, Law] = {}
    for number, given in enumerate(laws):
        place, numbers = f"noise[{number}]", dict(given)
        for name in ("region", "exact"):
            if name not in numbers:
                raise MalformedError(f"'{place}.{name}' is missing.")
        region = converted(numbers.pop("region"), str, f"{place}.region")
        fractions = converted(numbers.pop("exact"), dict[str, Any], f"{place}.exact")
        check(region not in found, f"{place}.region", "name a region once", region)
        for name, value in numbers.items():
            if name not in ("law", "added"):
                converted(value, Number, f"{place}.{name}")
        try:
            law = law_from_json(numbers)
            check(law.alphabet <= 2**8, place, f"be a law on at most {2**8} values", given)
        except InvalidParameterError as error:
            parameter, requirement, got, hint = error.args
            whose = [f"{place}.{name}" for name, value in numbers.items() if value is got]
            whose.append(place if parameter == "law" else f"{place}.{parameter}")
            raise InvalidParameterError(whose[0], requirement, got, hint) from None
        check_exact(fractions, law.numbers, f"{place}.exact")
        found[region] = law
    return Noise(found)


def check_exact(fractions: Mapping[str, object], numbers: Mapping[str, float], place: str = "") -> None:
    """Refuses fractions, by name, that are not what these numbers are exactly."""
    prefix = f"{place}." if place else ""
    for name in (*numbers, *fractions):
        if name not in fractions:
            raise MalformedError(f"'{prefix}{name}' is missing.")
        if name not in numbers:
            raise MalformedError(f"'{shortened(prefix + name)}' does not belong there.")
        must = f"be the fraction that {numbers[name]!r} is"
        check(fractions[name] == exact(numbers[name]), f"{prefix}{name}", must, fractions[name])


def sampled(told: CertificatesFile | IntervalsFile) -> tuple[Noise, float, Threat | None]:
    """The noise and alpha of a file of votes, and its threat where that lists its attacks."""
    noise, alpha = noise_from_json(told.noise), check_alpha(told.alpha)
    axes = f"be the axes of the noise, {', '.join(noise.axes)}"
    check(told.axes == tuple(noise.axes), "axes", axes, told.axes)
    check_exact({"alpha_exact": told.alpha_exact}, {"alpha_exact": alpha})
    for one, other in ((told.threat, told.listed), (told.drawn, told.keys)):
        if (one is UNSET) is not (other is UNSET):
            names = ("threat", "listed") if one is told.threat else ("drawn", "keys")
            raise MalformedError(f"{names[0]!r} and {names[1]!r} must both be there, or neither.")
    check(bool(told.graphs), "graphs", "hold at least one graph", [])
    if told.threat is UNSET:
        return noise, alpha, None
    from starcert.archive.threat_texts import threat_of_form  # noqa: PLC0415  (threats list attacks on objects)

    return noise, alpha, threat_of_form(told.threat, "threat")


def questions_of(
    told: CertificatesFile | IntervalsFile, threat: Threat | None, n_axes: int, n: int
) -> list[Question] | None:
    """The question of a threat about each object, without its attacks; None without a threat."""
    if threat is None or told.listed is UNSET:
        return None
    from starcert.archive.threat_texts import question_of_form  # noqa: PLC0415  (as above)

    check(len(told.listed) == n, "listed", f"have an entry for each of {n:,} graphs", len(told.listed))
    return [question_of_form(each, f"listed[{i}]", threat, n_axes) for i, each in enumerate(told.listed)]


def joint_alpha(together: int | UnsetType | None, n: int) -> int:
    """How many rows share alpha: at least those of the file."""
    if together is None or together is UNSET:
        return 1
    must = f"be 2 or more, and no fewer than the {n} graphs of the file"
    check(together >= max(2, n), "together", must, together)
    return together


def audit_of(told: AuditNumbers | UnsetType | None) -> Audit | None:
    """The result of an audit, as a file states it."""
    if told is None or told is UNSET:
        return None
    audit = Audit(*(getattr(told, each.name) for each in fields(Audit)))
    alone = audit.clean_alone <= audit.clean and audit.attacked_alone <= audit.attacked
    check(alone, "audit", "have no more copies alone than copies", asdict(audit))
    must = "have no more independent copies than copies of the graphs"
    check(audit.independent <= audit.clean, "audit", must, asdict(audit))
    return audit


def audit_form(audit: Audit) -> AuditNumbers:
    """The result of an audit, for a file."""
    return AuditNumbers(**asdict(audit), says=str(audit))
