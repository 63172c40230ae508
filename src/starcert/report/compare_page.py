"""A comparison: two or more runs on the same graphs, side by side on one page.

Every graph is answered by all runs, so what is compared is paired: a difference of shares has the interval of
`paired_difference`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from starcert.archive import Archive
from starcert.errors import InvalidParameterError
from starcert.metrics import has_sites, right, shares_by_axis
from starcert.report.document import KeyFigure, assemble, resources, target, write_page
from starcert.report.intervals import paired_difference

__all__ = ["Comparison", "Difference", "compare", "write_comparison"]

MOST_FLIPS = 60
"""Curves end after so many flips."""
MOST_COMPARED = 5
"""Differences are told up to so many flips on each axis."""
MOST_DIFFERENT = 300
"""So many graphs on which runs differ are listed."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Difference:
    """How a run differs from the first one, in the share of graphs that are right and certified.

    Attributes:
        run: its name.
        flips: against which attacker, in words.
        share: its own share.
        by: its share less that of the first run.
        low: the lower end of an interval for this difference.
        high: its upper end.
    """

    run: str
    flips: str
    share: float
    by: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison says.

    Attributes:
        names: of the runs.
        n_graphs: how many graphs count: those with a known class, all where none is known.
        known: whether classes are known, so that only right answers count.
        curves: for each run and axis, the shares by the number of flips there alone.
        differences: of each run but the first.
        heads: the columns of `rows`.
        rows: the graphs on which answers or radii differ, the most different first.
    """

    names: tuple[str, ...]
    n_graphs: int
    known: bool
    curves: tuple[dict[str, object], ...]
    differences: tuple[Difference, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def compare(runs: Mapping[str, Archive]) -> Comparison:
    """Compares runs on the same graphs, each with the first.

    Args:
        runs: the archives of two or more runs, by name.

    Raises:
        InvalidParameterError: if there are fewer than two, or they are not about the same graphs.
    """
    names, archives = tuple(runs), list(runs.values())
    _check(names, archives)
    first = archives[0]
    known = any(label is not None for label in first.labels)
    counted = np.array([label is not None for label in first.labels]) if known else np.ones(len(first), bool)
    hits = [right(each.certificates, each.labels) if known else np.ones(len(each), bool) for each in archives]
    shared = [axis for axis in first.noise.axes if all(axis in each.noise.axes for each in archives)]
    heads = ("graph", "true class", *(f"{name}: {what}" for name in names for what in ("answer", *shared)))
    return Comparison(
        names,
        int(counted.sum()),
        known,
        tuple(curve for name, each in runs.items() for curve in _curves(name, each, known)),
        tuple(_differences(names, archives, hits, counted, shared)),
        heads,
        tuple(_rows(archives, shared)),
    )


def _check(names: Sequence[str], archives: Sequence[Archive]) -> None:
    if len(archives) < 2:
        raise InvalidParameterError("runs", "be two or more", len(archives), "Name two folders of runs.")
    for name, each in zip(names[1:], archives[1:], strict=True):
        for what in ("names", "labels", "class_names"):
            if getattr(each, what) != getattr(archives[0], what):
                wanted = f"be about the same graphs and classes as {names[0]}"
                hint = "Certify both runs with the same data, split and limit."
                raise InvalidParameterError(name, wanted, f"other {what.replace('_', ' ')}", hint)


def _reach(archive: Archive, axis: str) -> list[int]:
    """For each graph the most flips that are certified on one axis alone; −1 after an abstention."""
    place = archive.noise.axes.index(axis)
    return [max((radius[place] for radius in each.radii), default=-1) for each in archive.certificates.frontiers()]


def _curves(name: str, archive: Archive, known: bool) -> Iterator[dict[str, object]]:
    most = max(max(_reach(archive, axis)) for axis in archive.noise.axes)
    flips = list(range(min(most + 1, MOST_FLIPS) + 1))
    for each in shares_by_axis(archive.certificates, archive.labels if known else None, flips=flips):
        pairs = [(n, share) for n, share in zip(flips, each.shares, strict=True) if share is not None]
        yield {"run": name, "axis": each.axis, "x": [n for n, _ in pairs], "y": [share for _, share in pairs]}


def _differences(
    names: Sequence[str], archives: Sequence[Archive], hits: Sequence[Mask], counted: Mask, shared: Sequence[str]
) -> Iterator[Difference]:
    asked: list[tuple[str, str, int]] = [("no flip", "", 0)]
    for axis in shared:
        far = min(MOST_COMPARED, max(max(_reach(each, axis)) for each in archives))
        asked += [(f"{n} in {axis}", axis, n) for n in range(1, far + 1)]
    for flips, axis, n in asked:
        if not all(_was_asked(each, axis, n) for each in archives):
            continue
        there = counted & np.all([_has_sites(each, axis) for each in archives], axis=0)
        if not there.any():
            continue
        radii = [tuple(n * (other == axis) for other in each.noise.axes) for each in archives]
        certified = [each.certificates.certified(radius) for each, radius in zip(archives, radii, strict=True)]
        masks = [(mask & hit)[there] for mask, hit in zip(certified, hits, strict=True)]
        for name, mask in zip(names[1:], masks[1:], strict=True):
            yield Difference(name, flips, float(mask.mean()), *paired_difference(masks[0], mask))


def _was_asked(archive: Archive, axis: str, n: int) -> bool:
    """Whether a run looked as far as so many flips on an axis."""
    return archive.max_radius is None or not axis or n <= archive.max_radius[archive.noise.axes.index(axis)]


def _has_sites(archive: Archive, axis: str) -> Mask:
    """Which graphs have something to flip on an axis; all of them where nothing is flipped."""
    return has_sites(archive.certificates)[:, archive.noise.axes.index(axis)] if axis else np.ones(len(archive), bool)


def _rows(archives: Sequence[Archive], shared: Sequence[str]) -> list[tuple[str, ...]]:
    first = archives[0]
    reaches = [[_reach(each, axis) for axis in shared] for each in archives]
    found = []
    for row, (name, label) in enumerate(zip(first.names, first.labels, strict=True)):
        certificates = [each.certificates[row] for each in archives]
        answers = ["abstains" if one.abstained else first.class_names[one.label] for one in certificates]
        counts = [[of_axis[row] for of_axis in of_run] for of_run in reaches]
        apart = sum(abs(a - b) for each in counts[1:] for a, b in zip(each, counts[0], strict=True))
        if len(set(answers)) == 1 and not apart:
            continue
        cells = [
            cell for answer, of_run in zip(answers, counts, strict=True) for cell in (answer, *map(_count, of_run))
        ]
        truth = "unknown" if label is None else first.class_names[label]
        found.append((len(set(answers)), apart, (name, truth, *cells)))
    found.sort(key=lambda each: (-each[0], -each[1]))
    return [cells for _, _, cells in found]


def _count(reach: int) -> str:
    return "–" if reach < 0 else f"{reach:,}"


def write_comparison(path: str | os.PathLike[str], runs: Mapping[str, Archive]) -> Comparison:
    """Writes a comparison as one self-contained HTML page, and returns what it says.

    Args:
        path: the file to write; one that is there is replaced.
        runs: the archives of two or more runs, by name.
    """
    file = target(path)
    found = compare(runs)
    counted = "right and certified" if found.known else "certified"
    said = {
        "found": found,
        "what": counted,
        "shown": found.rows[:MOST_DIFFERENT],
        "numbers": [
            KeyFigure(f"{len(found.names)}", "runs", "number-runs"),
            KeyFigure(f"{found.n_graphs:,}", "graphs", "number-graphs"),
            KeyFigure(f"{len(found.rows):,}", "graphs on which they differ", "number-different"),
        ],
        "notices": [],
        "origin": [{name: list(_about(archive))} for name, archive in runs.items()],
    }
    html = assemble(
        "report/templates/compare.html",
        said,
        title=f"Compared: {', '.join(found.names)}",
        style=resources("starcert.report", ["page.css"]),
        script=resources("starcert.report", ["text.js", "charts.js", "compare.js"]),
        data={"curves": list(found.curves), "runs": list(found.names), "what": counted}
        | {"differences": [asdict(each) for each in found.differences]},
    )
    write_page(file, html)
    return found


def _about(archive: Archive) -> Iterator[tuple[str, str]]:
    yield from ((f"noise in {region}", archive.noise[region].words()) for region in archive.noise.regions)
    yield from ((name, str(archive.settings[name])) for name in ("model", "data", "split") if name in archive.settings)
