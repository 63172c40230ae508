"""The votes, and how they came about: chunk by chunk, and audited."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal, TypeAlias, get_args, overload

import numpy as np
import numpy.typing as npt

from starcert.math.ballots import Ballots
from starcert.math.fallback import BlindAnswers, Contest, contests_of
from starcert.system.errors import InvalidParameterError

History: TypeAlias = Literal["fixed", "looked", "stopped"]  # how a number of votes came about
MAX_CHUNK_COUNTS = 2**28  # bytes; counts by chunk that would take more are not kept
MAX_CHUNKS = 2**20  # of one object
COPIES = 4_603  # of the objects, and as many of attacked ones: 1 − (1 − 1/1,000)ⁿ ≥ 99%
CHANCE = 0.99  # with this probability, at least, an audit finds a dependence of the stated share

Counts = npt.NDArray[np.int64]
SmallCounts = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class Votes:
    """Counts of the base classifier's answers on noisy copies: one row per target, one column per class.

    A target is what is classified: a graph as a whole, which is one row then, or each of many of its parts. The
    `history` is how the number of votes came about. "fixed": before anyone saw one of them; "looked": fixed, but some
    were seen before, in a store or by another bound; "stopped": by a plan that saw them come. Clopper–Pearson bounds
    are for "fixed" alone.

    Example:
        >>> Votes([[970, 30]], selection=[[98, 2]]).counts.sum()
        np.int64(1000)
    """

    counts: Counts  # estimation votes, shape (rows, classes)
    selection: Counts | None  # selection votes of the same shape; None: the class is chosen on `counts`
    objects: Counts = field(repr=False)  # for each row the number of its graph; by default each is a graph of its own
    targets: Counts = field(repr=False)  # for each row the number of the target in its graph; by default 0
    history: History = field(repr=False)
    records: Sequence[Ballots | None] = field(repr=False)  # for each row the copies that are against its class
    audit: Audit | None = field(repr=False)  # how many copies were classified again; None: not known
    ballots: Sequence[Ballots | None] = field(repr=False)  # for each graph the copies that are kept; () if none are
    blind: BlindAnswers | None = field(repr=False)  # what each row falls back to; None: plain smoothing
    chunks: ChunkCounts | None = field(repr=False)  # how they were drawn, and counted chunk by chunk; None: not known

    def __init__(
        self,
        counts: npt.ArrayLike,
        selection: npt.ArrayLike | None = None,
        *,
        objects: npt.ArrayLike | None = None,
        targets: npt.ArrayLike | None = None,
        history: History = "fixed",
        records: Sequence[Ballots | None] | None = None,
        audit: Audit | None = None,
        ballots: Sequence[Ballots | None] = (),
        blind: BlindAnswers | None = None,
        chunks: ChunkCounts | None = None,
    ) -> None:
        table = _as_counts(counts, "counts")
        rows = np.arange(len(table))
        checked: dict[str, Any] = {
            "counts": table,
            "selection": None if selection is None else _as_counts(selection, "selection"),
            "objects": _as_key(rows if objects is None else objects, "objects", len(rows)),
            "targets": _as_key(0 * rows if targets is None else targets, "targets", len(rows)),
            "history": history,
            "records": (None,) * len(rows) if records is None else records,
            "audit": audit,
            "ballots": ballots,
            "blind": blind,
            "chunks": chunks,
        }
        if records is None and ballots:
            objects = np.unique(checked["objects"], return_inverse=True)[1].reshape(-1)
            checked["records"] = TargetBallots(ballots, objects, checked["targets"])
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if history not in get_args(History):
            raise InvalidParameterError("history", f"be one of {', '.join(get_args(History))}", history)
        if len({*zip(self.objects.tolist(), self.targets.tolist(), strict=True)}) < len(rows):
            raise InvalidParameterError("targets", "be different in the rows of one object", self.targets.tolist()[:8])
        if len(self.records) != len(rows):
            raise InvalidParameterError("records", f"be one, or None, for each of {len(rows)} rows", len(self.records))
        if self.selection is not None and self.selection.shape != table.shape:
            hint = "Give one row a graph and one column a class in both."
            must = f"have the shape of 'counts', {table.shape}"
            raise InvalidParameterError("selection", must, self.selection.shape, hint)
        if self.blind is not None:
            self.blind.check(*self.counts.shape)
            if self.selection is None:
                raise InvalidParameterError("selection", "is missing: a fallback needs selection votes.")

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def labels(self) -> Counts:
        """The class of each row, as the selection votes choose it; without any, as the votes do."""
        votes = self.counts if self.selection is None else self.selection
        return votes.argmax(axis=1) if self.blind is None else self.blind.chosen(votes)

    @property
    def contests(self) -> list[Contest]:
        """The condition on the class of each row."""
        return contests_of(self.blind, self.labels)

    def row(self, index: int) -> Votes:
        """The votes on one target."""
        rows = [index]
        selection = None if self.selection is None else self.selection[rows]
        keys: dict[str, Any] = {"objects": self.objects[rows], "targets": self.targets[rows]}
        keys["blind"] = None if self.blind is None else self.blind.of_rows(rows)
        keys |= {"records": (self.records[index],), "ballots": (), "chunks": None}
        return replace(self, counts=self.counts[rows], selection=selection, **keys)


class TargetBallots(Sequence[Ballots | None]):
    """For each row of votes the copies that are against its class, made from the ballots of its graph on request."""

    def __init__(self, ballots: Sequence[Ballots | None], objects: Counts, targets: Counts) -> None:
        self._ballots, self._objects, self._targets = ballots, objects, targets

    def __len__(self) -> int:
        return len(self._objects)

    @overload
    def __getitem__(self, index: int) -> Ballots | None: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Ballots | None]: ...
    def __getitem__(self, index: int | slice) -> Ballots | Sequence[Ballots | None] | None:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        of_graph = self._ballots[int(self._objects[index])]
        if of_graph is None or of_graph.labels is None:
            return None
        return of_graph.of_target(int(self._targets[index]))


def _as_key(values: npt.ArrayLike, name: str, n_rows: int) -> Counts:
    array = np.asarray(values)
    if array.shape != (n_rows,) or array.dtype.kind not in "iu" or (n_rows and array.min() < 0):
        raise InvalidParameterError(name, f"be a whole number, 0 or more, for each of {n_rows} rows", values)
    key = array.astype(np.int64)
    key.setflags(write=False)
    return key


def _as_counts(values: npt.ArrayLike, name: str) -> Counts:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError("text, dates and complex numbers are not counts")
        as_float = array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(name, "be a table of counts", values, "Give one row a graph.") from None
    if array.ndim != 2 or array.shape[1] < 2:
        must = "have one row a graph and one column a class, with at least two classes"
        hint = "Wrap a single row of counts in a list: [[970, 30]]."
        raise InvalidParameterError(name, must, f"an array of shape {array.shape}", hint)
    wrong = ~((as_float >= 0) & (as_float <= 2**53) & (as_float == np.floor(as_float)))
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        got = array[row : row + 1, column].tolist()[0]
        raise InvalidParameterError(f"{name}[{row}][{column}]", "be a whole number of votes, 0 or more", got)
    empty = np.flatnonzero(as_float.sum(axis=1) == 0)
    if empty.size:
        raise InvalidParameterError(f"{name}[{empty[0]}]", "hold at least one vote", array[empty[0]].tolist())
    counts = array.astype(np.int64)
    counts.setflags(write=False)
    return counts


def chunk_ends(chunk_size: int, first_chunk: int | None = None) -> Iterator[int]:
    """After how many samples each chunk ends, without end.

    If the first chunk has another size, each later one has as many samples as all before it, at most `chunk_size`.

    Example:
        >>> from itertools import islice
        >>> list(islice(chunk_ends(1024, 64), 7))
        [64, 128, 256, 512, 1024, 2048, 3072]
    """
    end = 0
    while True:
        end += chunk_size if first_chunk is None else min(chunk_size, max(first_chunk, end))
        yield end


@cache
def chunk_lengths(samples: int, chunk_size: int, first_chunk: int | None = None) -> Counts:
    """The number of samples in each chunk; the last one may be partial.

    Example:
        >>> chunk_lengths(2500, 1024).tolist()
        [1024, 1024, 452]
    """
    if samples // chunk_size > MAX_CHUNKS:
        raise InvalidParameterError("chunk_size", f"divide {samples:,} samples into {MAX_CHUNKS:,} chunks", chunk_size)
    lengths, start = list[int](), 0
    for end in chunk_ends(chunk_size, first_chunk):
        if start >= samples:
            break
        lengths.append(min(end, samples) - start)
        start = end
    found = np.array(lengths, dtype=np.int64)
    found.setflags(write=False)
    return found


@dataclass(frozen=True, eq=False)
class ChunkCounts:
    """The way votes were drawn, and the counts of each chunk: an array of chunks, targets and classes per object."""

    seed: int  # of all streams
    chunk_size: int  # samples drawn for a chunk
    first_chunk: int | None  # samples in the first estimation chunk, where later ones grow; None: all are alike
    backend: str  # what draws the copies, and therefore other ones elsewhere
    keys: tuple[str, ...]  # of each object
    selection: tuple[SmallCounts, ...] | None  # None: counts by chunk would take too much
    estimation: tuple[SmallCounts, ...] | None  # likewise

    @property
    def content(self) -> tuple[object, ...]:
        """Values that are equal where files would be equal."""
        found = (None if each is None else [one.tolist() for one in each] for each in (self.selection, self.estimation))
        return self.seed, self.chunk_size, self.first_chunk, self.backend, self.keys, *found

    def lengths(self, purpose: str, samples: int) -> Counts:
        """The number of samples in each of these chunks."""
        return chunk_lengths(samples, self.chunk_size, self.first_chunk if purpose == "estimation" else None)

    def check(self, purpose: str, counts: Counts, n_targets: Sequence[int]) -> None:
        """Refuses counts by chunk that do not add up to the votes on each row, target by target."""
        found: tuple[SmallCounts, ...] | None = getattr(self, purpose)
        ends = np.cumsum([0, *n_targets])
        for number, chunks in enumerate(found or ()):
            rows = counts[ends[number] : ends[number + 1]]
            for target, row in enumerate(rows):
                lengths = self.lengths(purpose, int(row.sum()))
                of_target = chunks[:, target]
                if not (np.array_equal(of_target.sum(axis=1), lengths) and np.array_equal(of_target.sum(axis=0), row)):
                    must = f"add up to the {purpose} votes {row.tolist()} on graph {number}"
                    raise InvalidParameterError("chunks", must, of_target.sum(axis=0).tolist())


def chunk_type(chunk_size: int) -> str:
    """The type of numbers that counts of a chunk fit in."""
    return "<u2" if chunk_size < 2**16 else "<u4"


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
