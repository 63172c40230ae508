"""What a vote store holds: settings, graphs, sessions, looks and chunks of votes, each as one row with a digest.

Descriptions are JSON, whose shortest decimals give back every float exactly. A digest finds damage; it is no signature
and proves no origin.
"""

from __future__ import annotations

import json
import numbers
import struct
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.objects.laws import law_from_json
from starcert.system.errors import InvalidParameterError

__all__ = [
    "PURPOSES",
    "Fault",
    "GraphRecord",
    "Look",
    "Record",
    "Session",
    "StoredChunk",
    "VoteSettings",
    "counts_of",
    "differences",
    "record_row",
    "whole",
]

PURPOSES = ("selection", "estimation")
MAX_CLASSES = 2**16
MAX_TARGETS = 2**22
"""More targets than graphs by so many: a small foreign file could name any number."""
MAX_COUNT = 2**31
"""Neither the samples of a chunk nor the chunks of a graph reach beyond: sums of votes stay below 2^62."""


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
        object.__setattr__(self, "n_classes", whole(self.n_classes, "n_classes", MAX_CLASSES, 2))
        object.__setattr__(self, "seed", whole(self.seed, "seed", 2**128 - 1))
        object.__setattr__(self, "chunk_size", whole(self.chunk_size, "chunk_size", MAX_COUNT, 1))
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
        object.__setattr__(self, "graph", whole(self.graph, "graph", MAX_COUNT))
        for field in ("key", "sites", "anchored", "name"):
            object.__setattr__(self, field, _text(getattr(self, field), field))
        sizes = {axis: whole(size, f"sizes[{axis}]", 2**63 - 1) for axis, size in _mapping(self.sizes, "sizes").items()}
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "n_targets", whole(self.n_targets, "n_targets", MAX_TARGETS, 1))


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
        object.__setattr__(self, "selection", whole(self.selection, "selection", MAX_COUNT**2))
        if self.estimation is not None:
            object.__setattr__(self, "estimation", whole(self.estimation, "estimation", MAX_COUNT**2, 1))
        if self.evidence is not None and not isinstance(self.evidence, bool):
            raise InvalidParameterError("evidence", "be true, false or null", self.evidence)
        if self.max_radius is not None:
            box = tuple(whole(limit, "max_radius", 2**63 - 1) for limit in self.max_radius)
            object.__setattr__(self, "max_radius", box)
        if not isinstance(self.own, bool):
            raise InvalidParameterError("own", "be true or false", self.own)
        if self.drawn is not None:
            drawn = tuple(whole(votes, "drawn", MAX_COUNT**2) for votes in self.drawn)
            object.__setattr__(self, "drawn", drawn)


@dataclass(frozen=True)
class Fault:
    """Why the votes of a store can no longer be used."""

    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", _text(self.reason, "reason"))


Record: TypeAlias = VoteSettings | GraphRecord | Session | Look | Fault


def record_row(kind: str, number: int, record: Record) -> tuple[str, int, str, bytes]:
    """A record as it is stored: kind, number, JSON, digest."""
    fields = asdict(record)
    if fields.get("n_targets") == 1:  # not said, as in format 1
        del fields["n_targets"]
    value = json.dumps(fields, allow_nan=False)
    return kind, number, value, blake2b(f"{kind} {number} {value}".encode(), digest_size=16).digest()


class StoredChunk(NamedTuple):
    """The votes of one chunk on one target."""

    graph: int
    target: int
    purpose: str
    chunk: int
    samples: int
    counts: tuple[int, ...]

    @property
    def key(self) -> tuple[int, int, str, int]:
        """Graph, target, purpose and chunk number."""
        return self[:4]

    @property
    def row(self) -> tuple[int, int, str, int, int, bytes, bytes]:
        """The chunk as it is stored, with its digest."""
        blob = struct.pack(f"<{len(self.counts)}q", *self.counts)
        place = f"{self.graph}.{self.target}" if self.target else f"{self.graph}"  # target 0 as in format 1
        head = f"{place} {self.purpose} {self.chunk} {self.samples} ".encode()
        return *self[:5], blob, blake2b(head + blob, digest_size=16).digest()

    @classmethod
    def from_caller(
        cls, settings: VoteSettings, place: tuple[int, int, str], chunk: int, counts: npt.ArrayLike, samples: int
    ) -> StoredChunk:
        """A chunk that a caller brings, checked."""
        array = np.asarray(counts)
        if array.shape != (settings.n_classes,) or array.dtype.kind not in "iu" or array.min() < 0:
            raise InvalidParameterError("counts", f"be {settings.n_classes} whole numbers of votes, 0 or more", counts)
        votes = tuple(map(int, array))
        if sum(votes) != whole(samples, "samples", settings.chunk_size, 1):
            raise InvalidParameterError("counts", f"add up to the {samples} samples", votes)
        return cls(*place, whole(chunk, "chunk", MAX_COUNT - 1), sum(votes), votes)

    @classmethod
    def from_row(cls, row: Sequence[object], settings: VoteSettings) -> StoredChunk:
        """A stored row, checked: whole numbers, none negative, one for each class, that add up.

        Raises:
            ValueError: the reason why the row cannot be believed.
        """
        graph, target, purpose, number, samples, blob, digest = row
        name = f"chunk {number!r} of graph {graph!r} ({purpose!r})"
        if type(graph) is not int or not 0 <= graph < MAX_COUNT or purpose not in PURPOSES:
            raise ValueError(f"{name} has no valid graph or purpose")
        if type(target) is not int or not 0 <= target < MAX_TARGETS:
            raise ValueError(f"{name} has no valid target")
        counts = counts_of(number, samples, blob, settings, name)
        chunk = cls(graph, target, str(purpose), *counts)
        if chunk.row[-1] != digest:
            raise ValueError(f"{name} does not agree with its digest")
        return chunk


def counts_of(
    number: object, samples: object, blob: object, settings: VoteSettings, name: str
) -> tuple[int, int, tuple[int, ...]]:
    """Number, samples and votes of a stored chunk with this name, checked."""
    if type(number) is not int or not 0 <= number < MAX_COUNT:
        raise ValueError(f"{name} has no valid number")
    if type(samples) is not int or not 1 <= samples <= settings.chunk_size:
        raise ValueError(f"{name} has {samples!r} samples, not 1 to {settings.chunk_size}")
    if not isinstance(blob, bytes) or len(blob) != 8 * settings.n_classes:
        raise ValueError(f"{name} does not hold {settings.n_classes} counts")
    counts = struct.unpack(f"<{settings.n_classes}q", blob)
    if min(counts) < 0 or sum(counts) != samples:
        raise ValueError(f"{name} has counts that are negative or do not add up to its {samples} samples")
    return number, samples, counts


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
        before, after = stored.get(name), now.get(name)  # None, which is no value here, where there is none
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            found += _compare(before, after, f"{prefix}{name}.")
        elif before != after:
            found.append(f"{prefix}{name}: stored {_shown(before)}, now {_shown(after)}")
    return found


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)


def whole(value: object, name: str, high: int, low: int = 0) -> int:
    """A whole number from `low` to `high`, checked."""
    number = int(value) if isinstance(value, numbers.Integral) and not isinstance(value, bool) else low - 1
    if not low <= number <= high:
        raise InvalidParameterError(name, f"be a whole number from {low:,} to {high:,}", value)
    return number


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
