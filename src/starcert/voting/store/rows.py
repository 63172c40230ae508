"""The tables of a vote store and their rows: records, votes, the ballots that are kept, and votes at attacked graphs.

Every row has a digest of its columns: one that agrees with it is as it was written. Records are settings, graphs,
sessions, and looks, each as JSON.

A bound for a fixed number of votes holds if the number was fixed before anyone saw them. So the store records each
`Look`: a certificate that was computed, or a plan that saw votes before it decided how many it wants. Repeating a call
is not another look. With evidence, votes at attacked graphs continue the bet on the votes on the clean graph. It is one
bet as long as no evidence is weighed at more votes on the clean graph than it was continued from, or at votes in the
order of another plan (docs/mathematics.md, "One capital").
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from math import prod
from typing import Any, NamedTuple, TypeAlias, TypeVar, get_type_hints

import numpy as np
import numpy.typing as npt

from starcert.classifiers.identity import of_0_2
from starcert.math.ballots import Ballots
from starcert.system.errors import InvalidParameterError

Counts: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class VoteSettings:
    """The settings that must be equal to continue a run: votes follow from them, the graph, the purpose and the chunk.

    Example:
        >>> VoteSettings({"motif": 0.02}, "gcn", n_classes=2, seed=1, chunk_size=1000, backend="cpu").noise
        {'motif': 0.02}
    """

    noise: Mapping[str, float | Mapping[str, float]]  # each region's law, in order, by `Law.to_json`: p for `Flip(p)`
    classifier: str  # a description of the base classifier
    n_classes: int  # how many classes it answers with
    seed: int
    chunk_size: int  # the most samples a chunk may have
    backend: str  # what draws the noise, such as "cpu"

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", json.loads(json.dumps(dict(self.noise), allow_nan=False)))  # as it is read


@dataclass(frozen=True)
class GraphRecord:
    """One graph of a run, as the store knows it."""

    graph: int  # its number in the run, from 0
    key: str  # the graph's own key, which its random streams depend on
    sites: str  # the digest of its partition
    sizes: Mapping[str, int]  # how many attackable sites each axis has
    anchored: str = ""  # why its regions depend on its own edges
    name: str = ""  # a label for people; a run continues even if it changes
    n_targets: int = 1  # how many parts of it are classified, each by itself; 1 where the graph itself is

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", {axis: int(size) for axis, size in self.sizes.items()})


@dataclass(frozen=True)
class Session:
    """One opening of the store for writing: when (UTC), and by which versions of what."""

    time: str
    provenance: Mapping[str, str]


@dataclass(frozen=True)
class Look:
    """A certificate computed from stored votes, or a plan that saw them.

    With evidence on two or more axes, shares of alpha depend on the box: `max_radius`, None where it has no limit or
    makes no difference. With evidence about a threat that lists its attacks, they all go to these: `threat` has
    its text, then a digest of its attacks on each graph.
    """

    selection: int  # votes of each graph
    estimation: int | None  # votes of each graph, fixed before the first of them; None: a plan chose while it saw votes
    evidence: bool | None = None  # whether the certificate used it; None: a plan looked, and there was no certificate
    max_radius: Sequence[int] | None = None
    own: bool = False  # whether it may have used votes at attacked graphs
    drawn: Sequence[int] | None = None  # estimation votes of each graph, if a plan chose them and evidence was weighed
    threat: Sequence[str] | None = None
    fallback: str = ""  # the threshold, and a digest of the blind answers; "": plain smoothing

    def __post_init__(self) -> None:
        for name in ("max_radius", "drawn", "threat"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else tuple(value))


@dataclass(frozen=True)
class Fault:
    """Why the votes of a store can no longer be used."""

    reason: str


Record: TypeAlias = VoteSettings | GraphRecord | Session | Look | Fault
RECORDS: dict[str, type[Record]] = {
    "settings": VoteSettings,
    "graph": GraphRecord,
    "session": Session,
    "look": Look,
    "fault": Fault,
}
"""The kinds of records, by the names that a store gives them."""


class StoredRecord(NamedTuple):
    """A record of the store: its kind, its number among those of this kind, its values as JSON."""

    kind: str
    number: int
    value: str

    @classmethod
    def of(cls, number: int, record: Record) -> StoredRecord:
        """A record with this number."""
        (kind,) = (name for name, each in RECORDS.items() if isinstance(record, each))
        return cls(kind, number, json.dumps(asdict(record), allow_nan=False))


class StoredVotes(NamedTuple):
    """The votes of one chunk on all targets of a graph: `counts` has them for each class, target after target."""

    graph: int
    purpose: str
    chunk: int
    samples: int
    counts: bytes

    def votes(self, n_classes: int) -> Counts:
        """The votes, shape (targets, classes)."""
        return _votes(self.counts).reshape(-1, n_classes)

    def conflict(self, new: StoredVotes, n_classes: int) -> str:
        """The difference on the first target where neither begins with the other; "" if there is none."""
        mine, theirs = self.votes(n_classes), new.votes(n_classes)
        low, high = (mine, theirs) if self.samples < new.samples else (theirs, mine)
        wrong = (low != high if self.samples == new.samples else low > high).any(axis=1)
        if not wrong.any():
            return ""
        target = int(wrong.argmax())
        of_target = f", target {target}" if len(mine) > 1 else ""
        return f"{_name(self)}{of_target}: stored {mine[target].tolist()}, now {theirs[target].tolist()}"


class StoredBallots(NamedTuple):
    """The ballots of the first `samples` copies of an estimation chunk: zlib of a line of JSON, and arrays."""

    graph: int
    chunk: int
    samples: int
    content: bytes

    @classmethod
    def of(cls, votes: StoredVotes, ballots: Ballots) -> StoredBallots:
        """Those of a chunk of votes."""
        arrays = {name: array.astype(array.dtype.newbyteorder("<")) for name, array in ballots.to_arrays().items()}
        header = json.dumps({name: (array.dtype.str, array.shape) for name, array in arrays.items()})
        content = b"".join([header.encode(), b"\n", *(array.tobytes() for array in arrays.values())])
        return cls(votes.graph, votes.chunk, votes.samples, zlib.compress(content, 1))

    def conflict(self, new: StoredBallots, _n_classes: int) -> str | None:
        """The difference, if they are of the same copies; None: they are against other classes, or in other forms."""
        mine, theirs = self.ballots, new.ballots
        if not mine.is_alike(theirs):
            return None
        if self.samples != new.samples or mine.agrees_with(theirs):
            return ""
        return f"{_name(self)}: stored {len(mine)} copies, now {len(theirs)} copies with other answers or flips"

    @property
    def ballots(self) -> Ballots:
        """The ballots themselves."""
        header, _, numbers = zlib.decompress(self.content).partition(b"\n")
        arrays, start = {}, 0
        for name, (dtype, shape) in json.loads(header).items():
            end = start + np.dtype(dtype).itemsize * prod(shape)
            arrays[name] = np.frombuffer(numbers[start:end], dtype).reshape(shape)
            start = end
        return Ballots.from_arrays(arrays)


class StoredAttack(NamedTuple):
    """The votes of one chunk on a target of an attacked graph, and flips on each axis in those against its class.

    `flips` is the JSON of the positions that are flipped before noise is drawn, ascending; with more than two values
    each is position + sites * rank of the new value among the others.
    """

    graph: int
    target: int
    flips: str
    chunk: int
    counts: bytes
    numbers: bytes

    @property
    def votes(self) -> Counts:
        """The votes for each class."""
        return _votes(self.counts)

    @property
    def samples(self) -> int:
        """The number of votes."""
        return int(self.votes.sum())

    def flip_numbers(self, n_axes: int) -> Counts:
        """The number of sites that flipped on each axis, shape (votes, axes)."""
        return np.frombuffer(self.numbers, dtype="<u4").reshape(-1, n_axes).astype(np.int64)

    def conflict(self, new: StoredAttack, _n_classes: int) -> str:
        """The difference; "" if they are equal."""
        return "" if self == new else f"{_name(self)}: stored {self.votes.tolist()}, now {new.votes.tolist()}"


Stored: TypeAlias = StoredVotes | StoredBallots | StoredAttack
Row = TypeVar("Row", StoredRecord, StoredVotes, StoredBallots, StoredAttack)

TABLES: dict[type[Any], tuple[str, int]] = {
    StoredRecord: ("records", 2),
    StoredVotes: ("chunks", 3),
    StoredBallots: ("ballots", 2),
    StoredAttack: ("attacks", 4),
}
"""The table of each kind of row, and how many of its columns, which come first, are its key."""


def schema_of(kind: type[Any]) -> str:
    """The statement that makes the table of a kind of row: its columns, and the digest of them."""
    types = {int: "INTEGER", str: "TEXT", bytes: "BLOB"}
    columns = [f"{name} {types[each]} NOT NULL" for name, each in get_type_hints(kind).items()]
    name, n_keys = TABLES[kind]
    key = ", ".join(kind._fields[:n_keys])
    return f"CREATE TABLE {name} ({', '.join(columns)}, digest BLOB NOT NULL, PRIMARY KEY ({key})) WITHOUT ROWID"


def key_of(stored: StoredRecord | Stored) -> tuple[object, ...]:
    """The key of a row among those of its kind."""
    return stored[: TABLES[type(stored)][1]]


def write(db: sqlite3.Connection, row: StoredRecord | Stored, *, replace: bool = False) -> None:
    """Writes a row with its digest; inside a transaction."""
    how, values = "REPLACE" if replace else "INSERT", ", ".join("?" * (len(row) + 1))
    db.execute(f"{how} INTO {TABLES[type(row)][0]} VALUES ({values})", (*row, digest_of(*row)))


def _votes(blob: bytes) -> Counts:
    return np.frombuffer(blob, dtype="<i8").astype(np.int64)


def _name(stored: StoredRecord | Stored) -> str:
    match stored:
        case StoredRecord():
            return f"the record {stored.kind!r} {stored.number!r}"
        case StoredAttack():
            place = f" attacked at {stored.flips:.80}"
        case _:
            place = f", {stored.purpose if isinstance(stored, StoredVotes) else 'estimation'}"
    return f"graph {stored.graph}{place}, chunk {stored.chunk}"


def digest_of(*columns: object) -> bytes:
    """The BLAKE2b digest, 16 bytes, of the columns of a row: it finds damage, and proves no origin."""
    parts = (column if isinstance(column, bytes) else str(column).encode() for column in columns)
    return blake2b(b" ".join(parts), digest_size=16).digest()


def checked_row(kind: type[Row], row: Sequence[object]) -> Row:
    """A row of a file; a ValueError says so if it is not what was written."""
    stored = kind(*row[:-1])  # type: ignore[arg-type]  # the types that were written
    if digest_of(*stored) != row[-1]:
        raise ValueError(f"{_name(stored)}: it does not agree with its digest")
    return stored


def positions_text(positions: Iterable[int]) -> str:
    """The positions that an attack flips, ascending, as JSON.

    Example:
        >>> positions_text([7, 3])
        '[3, 7]'
    """
    return json.dumps(sorted(map(int, positions)))


def differences(stored: Sequence[Record], now: Sequence[Record]) -> tuple[str, ...]:
    """Every difference between two lists, as far as both go, as "name: stored X, now Y"; labels do not count."""
    found: list[str] = []
    for one, other in zip(stored, now, strict=False):
        before, after = _named(one), _named(other)
        for name in {**before, **after}:
            was, is_now = before.get(name), after.get(name)
            if was != is_now:
                shown = ["nothing" if each is None else repr(each) for each in (was, is_now)]
                found.append(f"{name}: stored {shown[0]}{of_0_2(was, is_now)}, now {shown[1]}")
    return tuple(found)


def _named(record: Record) -> dict[str, object]:
    """The values of a record by name, without its label."""
    prefix = f"graph {record.graph} " if isinstance(record, GraphRecord) else ""
    found = dict(_leaves({**asdict(record), "name": None}, prefix))
    if isinstance(record, VoteSettings):
        found["order of the regions"] = list(record.noise)
    return found


def _leaves(values: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


_FRESH = "draw fresh votes, with another seed into another store."
_BETTER = "the better of two certificates fails more often than either"
_ONE_BET = (
    "as in the certificates already computed from this store, because votes at attacked graphs continue one bet on the "
    "votes on the clean graph"
)


def is_fixed(estimation: int, looks: Iterable[Look]) -> bool:
    """True if a number of votes counts as fixed in advance: there was no look, or one at this number.

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
            ("evidence", look.evidence, new.evidence, _BETTER),
            ("fallback", look.fallback or "none", new.fallback or "none", _BETTER),
            ("threat", look.max_radius, new.max_radius, "evidence shares alpha between the levels of this box"),
        ):
            if before != now:
                must = f"be {before}, as in the certificates already computed from this store, because {why}"
                raise InvalidParameterError(name, must, now, f"Keep it, or {_FRESH}")
        old, listed = look.threat or ("one by radius",), new.threat or ("one by radius",)
        if (look.threat is None) != (new.threat is None) or any(map(str.__ne__, old[1:], listed[1:])):
            must = f"be {old[0]}, as in the certificates already computed from this store, because {_BETTER}"
            raise InvalidParameterError("threat", must, listed[0], f"Keep it, or {_FRESH}")
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
            same = "Keep samples, alpha and the threat (own_samples may grow)"
            raise InvalidParameterError("samples", must, more, f"{same}, or {_FRESH}")
