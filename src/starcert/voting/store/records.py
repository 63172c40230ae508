"""What a vote store says about its votes: settings, graphs, sessions, and the looks at them; each is a row of JSON.

A digest finds damage; it is not a signature and proves no origin.

A bound for a fixed number of votes holds if the number was fixed before anyone saw them. So the store records each
`Look`: a certificate that was computed, or a plan that saw votes before it decided how many it wants. Repeating a call
is not another look. With evidence, votes at attacked graphs continue the bet on the votes on the clean graph. It is one
bet as long as no evidence is weighed at more votes on the clean graph than it was continued from, or at votes in the
order of another plan (docs/mathematics.md, "One capital").
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TypeAlias

from starcert.objects.laws import law_from_json
from starcert.system.errors import InvalidParameterError, whole_number

__all__ = [
    "MAX_COUNT",
    "MAX_TARGETS",
    "Fault",
    "GraphRecord",
    "Look",
    "Record",
    "Session",
    "StoreSummary",
    "VoteSettings",
    "check_look",
    "differences",
    "digest_of",
    "is_fixed",
    "record_row",
]

MAX_CLASSES = 2**16
MAX_TARGETS = 2**22
"""The most targets beyond one for each graph: a small foreign file could claim any number."""
MAX_COUNT = 2**31
"""The most samples of a chunk and chunks of a graph: sums of votes stay below 2^62."""


@dataclass(frozen=True)
class VoteSettings:
    """What must be equal for a run to continue: votes are a function of it, the graph, the purpose and the chunk.

    Attributes:
        noise: the law of each region as `Law.to_json` has it: p for `Flip(p)`. Kept to the last bit, in order.
        classifier: a description of the base classifier.
        n_classes: how many classes it answers with.
        seed: the seed of the run.
        chunk_size: the most samples a chunk may have.
        backend: what draws the noise, such as "cpu".

    Example:
        >>> VoteSettings({"motif": 0.02}, "gcn", n_classes=2, seed=1, chunk_size=1000, backend="cpu").noise
        {'motif': 0.02}
    """

    noise: Mapping[str, float | Mapping[str, float]]
    classifier: str
    n_classes: int
    seed: int
    chunk_size: int
    backend: str

    def __post_init__(self) -> None:
        laws = {region: _law(law, f"noise[{region}]") for region, law in _mapping(self.noise, "noise").items()}
        object.__setattr__(self, "noise", laws)
        object.__setattr__(self, "classifier", _text(self.classifier, "classifier"))
        object.__setattr__(self, "n_classes", whole_number("n_classes", self.n_classes, 2, MAX_CLASSES))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, 0, 2**128 - 1))
        object.__setattr__(self, "chunk_size", whole_number("chunk_size", self.chunk_size, 1, MAX_COUNT))
        object.__setattr__(self, "backend", _text(self.backend, "backend"))


@dataclass(frozen=True)
class GraphRecord:
    """One graph of a run, as the store knows it.

    Attributes:
        graph: its number in the run, from 0.
        key: the graph's own key, which its random streams depend on.
        sites: the digest of its partition.
        sizes: how many attackable sites each axis has.
        anchored: why its regions depend on its own edges, or "".
        name: a label for people; a run continues even if it changes.
        n_targets: how many parts of it are classified, each by itself; 1 where the graph itself is.
    """

    graph: int
    key: str
    sites: str
    sizes: Mapping[str, int]
    anchored: str = ""
    name: str = ""
    n_targets: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "graph", whole_number("graph", self.graph, 0, MAX_COUNT))
        for field in ("key", "sites", "anchored", "name"):
            object.__setattr__(self, field, _text(getattr(self, field), field))
        sizes = _mapping(self.sizes, "sizes").items()
        checked = {axis: whole_number(f"sizes[{axis}]", size, 0, 2**63 - 1) for axis, size in sizes}
        object.__setattr__(self, "sizes", checked)
        object.__setattr__(self, "n_targets", whole_number("n_targets", self.n_targets, 1, MAX_TARGETS))


@dataclass(frozen=True)
class Session:
    """One opening of the store for writing: when (UTC), and by which versions of what."""

    time: str
    provenance: Mapping[str, str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", _text(self.time, "time"))
        notes = _mapping(self.provenance, "provenance")
        object.__setattr__(self, "provenance", {key: _text(note, f"provenance[{key}]") for key, note in notes.items()})


@dataclass(frozen=True)
class Look:
    """A certificate computed from stored votes, or a plan that saw them.

    Attributes:
        selection: selection votes of each graph.
        estimation: estimation votes of each graph, a number fixed before the first of them; None: a plan chose it while
            it saw votes.
        evidence: whether the certificate used evidence; None: a plan looked, and no certificate was computed.
        max_radius: the box of a certificate with evidence on two or more axes, where shares of alpha depend on it; None
            without a limit, and where it makes no difference.
        own: whether it may have used votes at attacked graphs.
        drawn: estimation votes of each graph where a plan chose them and evidence was weighed; else None.
    """

    selection: int
    estimation: int | None
    evidence: bool | None = None
    max_radius: Sequence[int] | None = None
    own: bool = False
    drawn: Sequence[int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "selection", whole_number("selection", self.selection, 0, MAX_COUNT**2))
        if self.estimation is not None:
            object.__setattr__(self, "estimation", whole_number("estimation", self.estimation, 1, MAX_COUNT**2))
        if self.evidence is not None and not isinstance(self.evidence, bool):
            raise InvalidParameterError("evidence", "be true, false or null", self.evidence)
        if self.max_radius is not None:
            box = tuple(whole_number("max_radius", limit, 0, 2**63 - 1) for limit in self.max_radius)
            object.__setattr__(self, "max_radius", box)
        if not isinstance(self.own, bool):
            raise InvalidParameterError("own", "be true or false", self.own)
        if self.drawn is not None:
            drawn = tuple(whole_number("drawn", votes, 0, MAX_COUNT**2) for votes in self.drawn)
            object.__setattr__(self, "drawn", drawn)


@dataclass(frozen=True)
class Fault:
    """Why the votes of a store can no longer be used."""

    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", _text(self.reason, "reason"))


@dataclass(frozen=True)
class StoreSummary:
    """What a store holds, in a few numbers.

    Attributes:
        chunks: how many chunks there are, by purpose.
        samples: how many votes there are, by purpose.
        samples_by_graph: votes of each graph, by purpose.
        file_bytes: the size of the file.
        integrity: "good", or the reason why not; the numbers then stop where the damage was met.
    """

    chunks: Mapping[str, int]
    samples: Mapping[str, int]
    samples_by_graph: Mapping[str, tuple[int, ...]]
    file_bytes: int
    integrity: str


Record: TypeAlias = VoteSettings | GraphRecord | Session | Look | Fault


def record_row(kind: str, number: int, record: Record) -> tuple[str, int, str, bytes]:
    """A record as it is stored: kind, number, JSON, digest."""
    value = json.dumps(asdict(record), allow_nan=False)
    return kind, number, value, digest_of(kind, number, value)


def digest_of(*columns: object) -> bytes:
    """The BLAKE2b digest, 16 bytes, of the columns of a row."""
    parts = (column if isinstance(column, bytes) else str(column).encode() for column in columns)
    return blake2b(b" ".join(parts), digest_size=16).digest()


def differences(stored: Sequence[Record], now: Sequence[Record]) -> tuple[str, ...]:
    """Every difference between two lists, as far as both go, as "name: stored X, now Y"; labels do not count."""
    found: list[str] = []
    for before, after in zip(stored, now, strict=False):
        prefix = f"graph {before.graph} " if isinstance(before, GraphRecord) else ""
        found += _compare({**asdict(before), "name": ""}, {**asdict(after), "name": ""}, prefix)
        if (
            isinstance(before, VoteSettings)
            and isinstance(after, VoteSettings)
            and list(before.noise) != list(after.noise)
        ):
            found.append(f"order of the regions: stored {list(before.noise)}, now {list(after.noise)}")
    return tuple(found)


def _compare(stored: Mapping[str, object], now: Mapping[str, object], prefix: str) -> list[str]:
    found: list[str] = []
    for name in {**stored, **now}:
        before, after = stored.get(name), now.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found += _compare(before, after, f"{prefix}{name}.")
        elif before != after:
            found.append(f"{prefix}{name}: stored {_shown(before)}, now {_shown(after)}")
    return found


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidParameterError(name, "be a string", value)
    return str(value)


def _mapping(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, Mapping):
        raise InvalidParameterError(name, "be a mapping", value)
    return {_text(key, f"a key of {name}"): entry for key, entry in value.items()}


def _law(value: object, name: str) -> float | dict[str, float]:
    try:
        return law_from_json(value).to_json()
    except InvalidParameterError as error:
        part = f"[{error.parameter}]" if isinstance(value, Mapping) and error.parameter in value else ""
        raise InvalidParameterError(name + part, *error.args[1:]) from None


_FRESH = "draw fresh votes, with another seed into another store."
_ONE_BET = (
    "as in the certificates already computed from this store, because votes at attacked graphs continue one bet on the "
    "votes on the clean graph"
)


def is_fixed(estimation: int, looks: Iterable[Look]) -> bool:
    """Whether a number of votes counts as fixed in advance: there was no look, or one at this number.

    Example:
        >>> is_fixed(500, []), is_fixed(500, [Look(100, 500)]), is_fixed(900, [Look(100, 500)])
        (True, True, False)
    """
    numbers = {look.estimation for look in looks}
    return not numbers or estimation in numbers


def check_look(new: Look, looks: Sequence[Look]) -> None:
    """Refuses a certificate that would not hold with its alpha after these looks, and says what would."""
    if new.estimation is not None and not is_fixed(new.estimation, looks):
        hint = f'Use plan="decided", whose bounds hold whenever you look, or {_FRESH}'
        if any(look.own for look in looks):
            hint = _FRESH.capitalize()
        fixed = [look.estimation for look in looks if look.estimation is not None]
        if not fixed:
            must = 'be "decided" for this store, because a plan has already looked at its votes'
            raise InvalidParameterError("plan", must, "fixed", hint)
        must = f"be {fixed[0]} for this store, because certificates were already computed from that number of votes"
        raise InvalidParameterError("samples", must, new.estimation, hint)
    for look in looks:
        if look.evidence is None:
            continue
        for name, before, now, why in (
            ("selection_samples", look.selection, new.selection, "another class might be chosen"),
            ("evidence", look.evidence, new.evidence, "the better of two certificates fails more often than either"),
            ("max_radius", look.max_radius, new.max_radius, "evidence shares alpha between the levels of this box"),
        ):
            if before != now:
                must = f"be {before}, as in the certificates already computed from this store, because {why}"
                raise InvalidParameterError(name, must, now, f"Keep it, or {_FRESH}")
        if look.own or new.own:
            _check_one_bet(new, look)


def _check_one_bet(new: Look, look: Look) -> None:
    before, now = (("decided" if each.estimation is None else "fixed") for each in (look, new))
    if before != now:
        raise InvalidParameterError("plan", f"be {before!r}, {_ONE_BET}", now, f"Keep it, or {_FRESH}")
    number = "" if look.own and new.own else "at most " if look.own else "at least "
    for graph, (votes, more) in enumerate(zip(look.drawn or (), new.drawn or (), strict=False)):
        if (look.own and more > votes) or (new.own and more < votes):
            must = f"give {number}{votes} votes on graph {graph}, {_ONE_BET}"
            same = "Keep samples, alpha, max_radius and max_flips (own_samples may grow)"
            raise InvalidParameterError("samples", must, more, f"{same}, or {_FRESH}")
