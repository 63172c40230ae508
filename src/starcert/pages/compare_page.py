"""A comparison: two or more runs on the same graphs, side by side on one page.

Every graph is answered by all runs, so what is compared is paired: a difference of shares has the interval of
`paired_difference`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from starcert.certificates.metrics import FlipOutcome, FlipVerdicts, flip_steps
from starcert.files import Archive
from starcert.objects.noise import AnyFlips, Threat, threat_of
from starcert.pages.compare_notices import comparison_notices
from starcert.pages.compared_runs import ComparedRun, Mask, compared_runs, same_sites, shared_axes
from starcert.pages.difference_maps import DifferenceMap, difference_maps, run_pairs
from starcert.pages.document import KeyFigure, as_bytes, assemble, resources, target, write_page
from starcert.pages.findings import Notice, counted, several
from starcert.pages.intervals import paired_difference
from starcert.pages.verdict_data import flips_asked
from starcert.system.errors import StarcertError

__all__ = ["Comparison", "Difference", "RunVerdicts", "compare", "write_comparison"]

MOST_FLIPS = 60
"""Curves end after so many flips."""
MOST_COMPARED = 5
"""Differences are told up to so many flips on each axis."""
MOST_DIFFERENT = 300
"""So many graphs on which runs differ are listed."""


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
class RunVerdicts:
    """What becomes of the graphs in one run under any so many flips.

    Attributes:
        run: its name.
        counts: how many graphs are certified, broken and open.
        weighed: whether the run has evidence: without it, nothing is broken.
    """

    run: str
    counts: FlipVerdicts
    weighed: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """Flips, graphs, right, certified by p_A, with evidence, broken, open; "–" where the run has no evidence."""
        found = self.counts
        beyond = (f"{n:,}" if self.weighed else "–" for n in (found.n_certified, found.n_broken))
        plain = (f"{n:,}" for n in (found.n_graphs, found.n_right, found.n_by_p_A))
        return (AnyFlips(found.flips).label, *plain, *beyond, f"{found.n_open:,}")


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison says.

    Attributes:
        names: of the runs.
        one: what is compared: a graph, a node, a row of a table.
        n_graphs: how many graphs count: those with a known class, all where none is known.
        known: whether classes are known, so that only right answers count.
        verdicts: of each run, what becomes of the graphs under any 1, any 2, … flips.
        curves: for each run and axis, the shares by the number of flips there alone.
        differences: of each run but the first.
        maps: how many graphs each run certifies over two axes, and where that differs for sure.
        notices: what a reader must know: what is left out, other data, other attackers.
        heads: the columns of `rows`.
        rows: the graphs on which answers or radii differ, the most different first.
    """

    names: tuple[str, ...]
    one: str
    n_graphs: int
    known: bool
    verdicts: tuple[RunVerdicts, ...]
    curves: tuple[dict[str, object], ...]
    differences: tuple[Difference, ...]
    maps: tuple[DifferenceMap, ...]
    notices: tuple[Notice, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def compare(runs: Mapping[str, Archive], *, threat: Threat | str | None = None) -> Comparison:
    """Compares runs on the graphs that all of them have, each with the first.

    Args:
        runs: the archives of two or more runs, by name.
        threat: up to how many flips, wherever they are, runs are compared, such as "flips:2"; by default as many as the
            run that was asked about most, and at least 2.

    Raises:
        InvalidParameterError: if there are fewer than two, or they have no graphs in common.
    """
    found = compared_runs(runs)
    first = found[0]
    known = any(label is not None for label in first.labels)
    all_of_them = np.ones(len(first.rows), bool)
    among = np.array([label is not None for label in first.labels]) if known else all_of_them
    hits = [each.right if known else all_of_them for each in found]
    shared = shared_axes(found)
    one = first.one
    most = max(2, *map(flips_asked, runs.values())) if threat is None else threat_of(threat).most
    outcomes = [each.outcomes(most) for each in found]
    return Comparison(
        names=tuple(runs),
        one=one,
        n_graphs=int(among.sum()),
        known=known,
        verdicts=tuple(_verdicts(found, outcomes, hits, among)),
        curves=tuple(curve for each in found for curve in _curves(each, known)),
        differences=tuple(_differences(found, outcomes, hits, among, shared)),
        maps=tuple(difference_maps(found, hits, among)),
        notices=tuple(comparison_notices(found, shared)),
        heads=(one, "true class", *(f"{name}: {what}" for name in runs for what in ("answer", *shared))),
        rows=tuple(_rows(found, shared)),
    )


def _curves(run: ComparedRun, known: bool) -> Iterator[dict[str, object]]:
    most = max(run.furthest(axis) for axis in run.axes)
    flips = list(range(min(most + 1, MOST_FLIPS) + 1))
    counts = np.array([label is not None for label in run.labels]) if known else np.ones(len(run.rows), bool)
    hits = run.right if known else counts
    for axis in run.axes:
        there = counts & run.has_sites([axis])
        asked = run.asked(axis)
        x = [n for n in flips if there.any() and (asked is None or n <= asked)]
        y = [float((run.certified({axis: n}) & hits)[there].mean()) for n in x]
        yield {"run": run.name, "axis": axis, "x": x, "y": y}


def _differences(
    runs: Sequence[ComparedRun],
    outcomes: Sequence[Sequence[FlipOutcome]],
    hits: Sequence[Mask],
    among: Mask,
    shared: Sequence[str],
) -> Iterator[Difference]:
    for attacker in chain(_no_flip(runs), _any_flips(runs, outcomes), _axis_flips(runs, shared)):
        there = among & attacker.asked
        masks = [(mask & hit)[there] for mask, hit in zip(attacker.certified, hits, strict=True)]
        for run, mask in zip(runs[1:], masks[1:], strict=True):
            if there.any():
                yield Difference(run.name, attacker.flips, float(mask.mean()), *paired_difference(masks[0], mask))


class _Attacker(NamedTuple):
    """Some flips, in words; the graphs that have so many sites in all runs; and for each run the certified graphs."""

    flips: str
    asked: Mask
    certified: list[Mask]


def _no_flip(runs: Sequence[ComparedRun]) -> Iterator[_Attacker]:
    yield _Attacker("no flip", np.ones(len(runs[0].rows), bool), [run.answered for run in runs])


def _any_flips(runs: Sequence[ComparedRun], outcomes: Sequence[Sequence[FlipOutcome]]) -> Iterator[_Attacker]:
    """Any 1, any 2, … flips, if these are the same attacker in all runs."""
    for flips in _flips(outcomes) if same_sites(runs) else ():
        asked = np.array([all(one.asked >= flips for one in of_graph) for of_graph in zip(*outcomes, strict=True)])
        certified = [np.array([one.certified >= flips for one in of_run], dtype=np.bool_) for of_run in outcomes]
        yield _Attacker(AnyFlips(flips).label, asked, certified)


def _axis_flips(runs: Sequence[ComparedRun], shared: Sequence[str]) -> Iterator[_Attacker]:
    """So many flips on one axis that all runs have."""
    for axis in shared:
        looked = [limit for run in runs if (limit := run.asked(axis)) is not None]
        far = min([MOST_COMPARED, max(run.furthest(axis) for run in runs), *looked])
        asked = np.all([run.has_sites([axis]) for run in runs], axis=0)
        for n in range(1, far + 1):
            yield _Attacker(f"{n} in {axis}", asked, [run.certified({axis: n}) for run in runs])


def _flips(outcomes: Sequence[Sequence[FlipOutcome]]) -> list[int]:
    """Some numbers of flips that all runs are asked about."""
    asked = [min(of_graph, key=lambda one: one.asked) for of_graph in zip(*outcomes, strict=True)]
    return flip_steps(asked)


def _verdicts(
    runs: Sequence[ComparedRun], outcomes: Sequence[Sequence[FlipOutcome]], hits: Sequence[Mask], among: Mask
) -> Iterator[RunVerdicts]:
    for flips in _flips(outcomes):
        for run, found, hit in zip(runs, outcomes, hits, strict=True):
            counts = FlipVerdicts.of(flips, found, among, hit & run.answered)
            yield RunVerdicts(run.name, counts, run.archive.certificates.verdicts is not None)


def _rows(runs: Sequence[ComparedRun], shared: Sequence[str]) -> list[tuple[str, ...]]:
    archive = runs[0].archive
    reaches = [[run.reach(axis) for axis in shared] for run in runs]
    found = []
    for graph, (row, label) in enumerate(zip(runs[0].rows, runs[0].labels, strict=True)):
        answers = [run.answers[graph] for run in runs]
        counts = [[of_axis[graph] for of_axis in of_run] for of_run in reaches]
        apart = sum(abs(a - b) for each in counts[1:] for a, b in zip(each, counts[0], strict=True))
        if len(set(answers)) == 1 and not apart:
            continue
        cells = [
            cell for answer, of_run in zip(answers, counts, strict=True) for cell in (answer, *map(_count, of_run))
        ]
        truth = "unknown" if label is None else archive.class_names[label]
        found.append((len(set(answers)), apart, (archive.names[row], truth, *cells)))
    found.sort(key=lambda each: (-each[0], -each[1]))
    return [cells for _, _, cells in found]


def _count(reach: int) -> str:
    return "–" if reach < 0 else f"{reach:,}"


def write_comparison(
    path: str | os.PathLike[str], runs: Mapping[str, Archive], *, threat: Threat | str | None = None
) -> Comparison:
    """Writes a comparison as one self-contained HTML page, and returns what it says.

    Args:
        path: the file to write; one that is there with other content is refused.
        runs: the archives of two or more runs, by name.
        threat: as in `compare`.
    """
    file = target(path)
    found = compare(runs, threat=threat)
    what, n_rows = "right and certified" if found.known else "certified", len(found.rows)
    said = {
        "found": found,
        "same": found.one if found.n_graphs == 1 else counted(found.n_graphs, found.one),
        "what": what,
        "shown": found.rows[:MOST_DIFFERENT],
        "numbers": [
            KeyFigure(f"{len(found.names)}", "runs", "number-runs"),
            KeyFigure(f"{found.n_graphs:,}", several(found.n_graphs, found.one), "number-graphs"),
            KeyFigure(f"{n_rows:,}", f"{several(n_rows, found.one)} on which they differ", "number-different"),
        ],
        "notices": found.notices,
        "origin": [{name: list(_about(archive))} for name, archive in runs.items()],
    }
    html = assemble(
        "pages/templates/compare.html",
        said,
        title=f"Compared: {', '.join(found.names)}",
        style=resources("starcert.pages", ["page.css"]),
        script=resources("starcert.pages", ["text.js", "charts.js", "compare.js"]),
        data={"curves": list(found.curves), "runs": list(found.names), "what": what, "one": found.one}
        | {"differences": [asdict(each) for each in found.differences]}
        | {"pairs": run_pairs(len(found.names)), "maps": [asdict(each) for each in found.maps]},
    )
    if not _is_there(file, html):
        write_page(file, html)
    return found


def _is_there(file: Path, html: str) -> bool:
    """Whether a file holds this page already; one that holds anything else is refused."""
    if not file.is_file():
        return False
    try:
        same = file.read_bytes() == as_bytes(html)
    except OSError:
        same = False  # nobody knows what it holds
    if not same:
        raise StarcertError(f"{file}: is there already, with other content. Name another file: --out another.html")
    return True


_TOLD = ("model", "classifier", "data", "split", "limit", "regions", "samples", "seed")
"""What is told of the settings of a run."""


def _about(archive: Archive) -> Iterator[tuple[str, str]]:
    yield from ((f"noise in {region}", archive.noise[region].describe()) for region in archive.noise.regions)
    yield from ((name, str(archive.settings[name])) for name in _TOLD if archive.settings.get(name) is not None)
    yield "alpha", f"{archive.alpha:g}" + (f" for all {archive.together:,} together" if archive.together > 1 else "")
    yield "evidence", "no" if archive.evidence is None else "yes"
