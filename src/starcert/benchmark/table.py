"""The results of each method on a data set under a threat, at each size of attacks, all folds together.

The gain of a method is what it has right and certified, less what a blind model has right, object by object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.benchmark.data import DRAWN
from starcert.benchmark.outcomes import SIZES, kind_of
from starcert.claims.gains import paired_difference
from starcert.claims.outcomes import Outcome

Mask = npt.NDArray[np.bool_]

BLIND = "blind"


@dataclass(frozen=True)
class Cell:
    """All test objects under attacks of at most a size, in shares of all of them; what is wrong is counted apart."""

    size: int  # the number of changes
    certified: float | None = None  # right and certified; None, like all after it, where the method was not asked
    broken: float | None = None  # right, and an attack is known
    open: float | None = None  # right, and neither
    gain: float | None = None  # what is certified less what the blind model has right; None: it is that, or was not run
    low: float | None = None  # its 95% interval, paired object by object
    high: float | None = None

    def __str__(self) -> str:
        if self.gain is None or self.low is None or self.high is None:
            return "–" if self.certified is None else ""
        return f"{100 * self.gain:+.1f} ({100 * self.low:+.1f} to {100 * self.high:+.1f})".replace("-", "−")


@dataclass(frozen=True)
class Line:
    """A method on a data set under a threat."""

    data: str
    objects: str  # what is tested: graphs or nodes
    threat: str
    method: str
    model: str  # the network that it trains; "": none
    certifies: str  # what a certificate is about, and how sure it is
    alpha: float | None  # the probability of a false claim about an object; None: certain
    folds: int
    graphs: int  # tested, in all folds
    majority: float  # the share of the most frequent class
    right: float  # of all graphs, those that are answered right without attack
    abstained: float  # no answer, which counts as wrong
    blind: float | None  # what the blind model has right
    tries: int  # settings that validation chose from, in each fold
    chosen: str  # and how often each was
    votes: int
    forward_passes: int
    cells: tuple[Cell, ...]  # by size, no attack first
    asked: int | None  # the largest size that the method can speak about

    @property
    def kind(self) -> str:
        """The kind of attacks."""
        return kind_of(self.threat)[0]

    def texts(self) -> dict[str, str]:
        """The line of a table in words, by the heads of its columns; shares are in percent."""
        shares = {str(cell.size): percent(cell.certified) for cell in self.cells[1:]}
        plain = {"method": self.method, "right": percent(self.right), "abstained": percent(self.abstained)}
        return {**plain, **shares, "gain at 1": str(self.cells[1])}

    def rows(self) -> Iterator[dict[str, object]]:
        """Rows of a CSV file, one for each size; empty where the method was not asked."""
        about = {name: value for name, value in asdict(self).items() if name not in ("cells", "asked")}
        for cell in self.cells:
            yield {**about, "alpha": "" if self.alpha is None else self.alpha, **asdict(cell)}


def percent(share: float | None) -> str:
    """A share in percent; a dash where there is none."""
    return "–" if share is None else f"{100 * share:.1f}"


def lines_of(rows: Sequence[Mapping[str, Any]]) -> list[Line]:
    """The rows of all folds, as one line for each data set, threat and method: the blind model, then in their order."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["data"], row["threat"], row["method"]), []).append(row)
    wise = {(row["data"], row["threat"], row["fold"]): _right(row) for row in rows if row["method"] == BLIND}
    found = [_line(sorted(each, key=lambda row: int(row["fold"])), wise) for each in groups.values()]
    places = {key: number for number, key in enumerate(dict.fromkeys((each.data, each.threat) for each in found))}
    return sorted(found, key=lambda each: (places[each.data, each.threat], each.method != BLIND))


def _right(row: Mapping[str, Any]) -> list[bool]:
    return [one[0] == label for one, label in zip(row["outcomes"], row["truth"], strict=True)]


def _line(rows: Sequence[Mapping[str, Any]], wise: Mapping[tuple[str, str, int], list[bool]]) -> Line:
    first, (_, most) = rows[0], kind_of(rows[0]["threat"])
    found = [Outcome(*one) for row in rows for one in row["outcomes"]]
    truth = [label for row in rows for label in row["truth"]]
    right = np.array([each for row in rows for each in _right(row)], dtype=np.bool_)
    answers = [wise.get((row["data"], row["threat"], row["fold"])) for row in rows]
    known = all(each is not None for each in answers)
    blind = np.array([one for each in answers for one in each or ()], dtype=np.bool_) if known else None
    numbers = None if first["data"] in DRAWN else [number for row in rows for number in row["numbers"]]
    limit = min((row["asked"] for row in rows if row["asked"] is not None), default=None)

    def cell(size: int) -> Cell:
        if limit is not None and size > limit:
            return Cell(size)
        states = np.array([one.state(size) for one in found])
        safe = right & (states == "certified")
        gain = () if blind is None or first["method"] == BLIND else gain_of(safe, blind, numbers)
        shares = (float((right & (states == state)).mean()) for state in ("broken", "open"))
        return Cell(size, float(safe.mean()), *shares, *gain)

    chosen = Counter(row["chosen"] for row in rows)
    return Line(
        **{name: first[name] for name in ("data", "objects", "threat", "method", "model", "certifies")},
        alpha=max((row["alpha"] for row in rows if row["alpha"] is not None), default=None),
        folds=len(rows),
        graphs=len(found),
        majority=max(Counter(truth).values()) / len(truth),
        right=float(right.mean()),
        abstained=float(np.mean([one.answer is None for one in found])),
        blind=None if blind is None else float(blind.mean()),
        tries=len(first["tries"]),
        chosen=", ".join(f"{name} ({times})" for name, times in chosen.items()),
        votes=sum(row["votes"] for row in rows),
        forward_passes=sum(row["forward_passes"] for row in rows),
        cells=tuple(cell(size) for size in SIZES if size <= most),
        asked=limit,
    )


def gain_of(safe: Mask, blind: Mask, numbers: Sequence[int] | None = None) -> tuple[float, float, float]:
    """The gain on objects that are right and certified, given which the blind model has right, and its interval.

    `numbers` says which objects are the same; None: all differ, and the interval is exact. Where splits test some of
    them several times, it is that of the mean over different objects, by its standard error.

    Example:
        >>> gain_of(np.array([True, True, False]), np.array([True, False, False]))[0]
        0.3333333333333333
    """
    if numbers is None or len(set(numbers)) == len(numbers):
        return paired_difference(blind, safe)
    _, places = np.unique(numbers, return_inverse=True)
    times = np.bincount(places)
    sums = np.bincount(places, weights=safe.astype(float) - blind)
    mean = float(sums.sum() / times.sum())
    error = float(np.sqrt(np.sum((sums - mean * times) ** 2)) / times.sum())
    return mean, mean - 1.96 * error, mean + 1.96 * error
