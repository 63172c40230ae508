"""What was expected of methods before they were run, and how often it held: counted from the lines of a benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from starcert_studies.benchmark.table import BLIND, Cell, Line

ONE_WAY_NOISE = "p_A, one-way"
PAIRS = (("evidence", "p_A, sparsity-aware"), ("hashed, exact", "hashed, counting"),
         (ONE_WAY_NOISE, "hashed, counting"), (ONE_WAY_NOISE, "hashed, exact"))  # fmt: skip
"""The first of two methods is expected to certify at least as much as the second."""
CONFIRMED, REFUTED, UNDECIDED, UNSEEN = "confirmed", "refuted", "not decided", "not seen"
MAX_NAMED = 5  # gains, those that chance explains least
LEVEL = 0.025  # how often a verdict on gains may come about by chance, over all its cells


@dataclass(frozen=True)
class Expectation:
    """Something that was expected, and what became of it."""

    name: str
    held: int  # in how many cells: of data, threat and size, or of data, threat and method
    of: int  # cells that could tell
    where: str  # the cell in which it failed worst; of gains, all where there is one
    verdict: str

    @property
    def share(self) -> str:
        """How often it held."""
        return f"{self.held} of {self.of}" if self.of else "–"


def expectations_of(lines: Sequence[Line], only: int = 0) -> list[Expectation]:
    """What became of each expectation; `only` is the try that all methods were held to, 0: validation chose.

    "At least" compares shares that are right and certified, at each size that both methods speak about. A gain counts
    as one if chance explains it with probability 2.5% at most, over all cells that were looked at (Bonferroni). "No
    method above" is refuted by such a gain, and not decided by any other gain.
    """
    found = [at_least(lines, more, less, only) for more, less in PAIRS]
    found += [none_above(data, lines) for data in dict.fromkeys(line.data for line in lines)]
    return [each for each in (*found, gains_at_one(lines)) if each is not None]


def at_least(lines: Sequence[Line], more: str, less: str, only: int) -> Expectation | None:
    """Whether one method certifies at least what another does, wherever both were run; None: they never were."""
    first, second = ({(line.data, line.threat, line.model): line for line in lines if base_name(line) == method}
                     for method in (more, less))  # fmt: skip
    common = [(first[key], second[key]) for key in first if key in second]
    if not common:
        return None
    name = f"{more} ≥ {less}"
    if more == ONE_WAY_NOISE:
        name += ", at equal visibility"
        common = [each for each in common if only and see_alike(*each)]
        if not common:
            why = "noisy copies keep another share of the edges than voters see" if only else "settings were chosen"
            return Expectation(name, 0, 0, "", f"not compared: {why}")
    cells = [(one, a, a.certified, b.certified) for one, other in common
             for a, b in zip(one.cells[1:], other.cells[1:], strict=True)
             if a.certified is not None and b.certified is not None]  # fmt: skip
    if not cells:
        return Expectation(name, 0, 0, "", "not compared: one of them is not about these attacks")
    held = sum(a >= b for _, _, a, b in cells)
    line, cell, a, b = min(cells, key=lambda each: each[2] - each[3])
    where = f"{place(line, cell)}: {100 * a:.1f} against {100 * b:.1f}%" if held < len(cells) else ""
    return Expectation(name, held, len(cells), where, REFUTED if where else CONFIRMED)


def see_alike(one: Line, other: Line) -> bool:
    """Whether two methods see about the same share of the edges, to half a percent."""
    first, second = visible(one), visible(other)
    return first is not None and second is not None and abs(first - second) < 0.005


def visible(line: Line) -> float | None:
    """The share of the edges in a noisy copy, or before a voter, if all folds of a line have one; None: unknown."""
    if found := re.fullmatch(r"([\d.]+)/0 \(\d+\)", line.chosen):
        return 1 - float(found[1])
    found = re.fullmatch(r"(\d+) voters \(\d+\)", line.chosen)
    return None if found is None else 1 / int(found[1])


def none_above(data: str, lines: Iterable[Line]) -> Expectation | None:
    """Whether no method has more right and certified on a data set than the blind model has right, under attack."""
    cells = list(chain.from_iterable(gains(line, line.cells[1:]) for line in lines if line.data == data))
    if not cells:
        return None
    above = [each for each in cells if each[2] > 0]
    where = ""
    if above:
        line, cell, _ = min(above, key=lambda each: each[1].luck)
        where = f"{base_name(line)}, {place(line, cell)}: {cell}"
    verdict = REFUTED if beyond_chance(cells) else UNDECIDED if above else CONFIRMED
    return Expectation(
        f"no method is above the blind model on {data}", len(cells) - len(above), len(cells), where, verdict
    )


def gains_at_one(lines: Iterable[Line]) -> Expectation | None:
    """Where the structure gain at attacks of size 1 is above zero, by its interval."""
    cells = list(chain.from_iterable(gains(line, line.cells[1:2]) for line in lines))
    if not cells:
        return None
    above = [each for each in cells if (each[1].low or 0) > 0]
    first = sorted(above, key=lambda each: each[1].luck)[:MAX_NAMED]
    named = [f"{line.method}, {place(line, cell)}: {cell}" for line, cell, _ in first]
    named += [f"and {len(above) - len(first)} more"] * (len(above) > len(first))
    verdict = CONFIRMED if beyond_chance(cells) else UNDECIDED if above else UNSEEN
    return Expectation(
        "a structure gain above zero at size 1, somewhere", len(above), len(cells), "; ".join(named), verdict
    )


def beyond_chance(cells: Sequence[tuple[Line, Cell, float]]) -> bool:
    """Whether one of some gains is more than chance explains, given how many there are."""
    return min(cell.luck for _, cell, _ in cells) * len(cells) <= LEVEL


def gains(line: Line, cells: Iterable[Cell]) -> Iterable[tuple[Line, Cell, float]]:
    """The cells of a line with a gain on the blind model, where the method speaks about them."""
    if line.method != BLIND:
        for cell in cells:
            if cell.gain is not None:
                yield line, cell, cell.gain


def base_name(line: Line) -> str:
    """The name of a method without that of its network."""
    return line.method.removesuffix(f", {line.model}")


def place(line: Line, cell: Cell) -> str:
    """A cell in words."""
    return ", ".join(filter(None, [line.data, line.model, f"{line.kind} {cell.size}"]))
