"""The page: what is said about the certificates in words, and the data that its scripts draw from."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence

from starcert.archive import Archive
from starcert.errors import InvalidParameterError
from starcert.graphs.sites import Sites
from starcert.report.document import KeyFigure, assemble, plotly_script, resources, target, write_page
from starcert.report.findings import ReportSummary
from starcert.report.page_data import PageData, page_data
from starcert.system.output import at_most, holds_at_least

__all__ = ["write_report"]

SCRIPTS = ("text.js", "charts.js", "frontier.js", "layout.js", "drawing.js", "plots.js", "table.js", "page.js")


def write_report(
    path: str | os.PathLike[str],
    archive: Archive,
    sites: Sequence[Sites],
    *,
    title: str = "Robustness certificates",
) -> None:
    """Writes certificates as one self-contained HTML page.

    The page opens from disk in any browser and loads nothing. It appears under its name only when it is complete.

    Args:
        path: the file to write; one that is there is replaced.
        archive: the certificates and what they are about.
        sites: for each graph of the archive its sites, as `SmoothedClassifier.sites` makes them: they are drawn.
        title: the heading of the page.

    Raises:
        InvalidParameterError: if `sites` are not those of the archive's graphs.
        StarcertError: if plotly is missing or the file cannot be written.
    """
    if not isinstance(archive, Archive):
        hint = "Make one with Archive.from_result(certificates)."
        raise InvalidParameterError("archive", "be an Archive", type(archive).__name__, hint)
    file = target(path)
    sites = list(sites)
    _check_sites(archive, sites)
    archive = archive.confirmed()  # where a file states a capacity, the sites have it
    plotly = plotly_script()  # before the work, not after
    write_page(file, _page(archive, page_data(archive, sites), title, plotly))


def _page(archive: Archive, found: PageData, title: str, plotly: str) -> str:
    said = {
        "n_graphs": len(archive),
        "holds": holds_at_least(archive.alpha),
        "whose": _whose(archive),
        "numbers": list(_numbers(archive, found.counts)),
        "notices": found.notices,
        "origin": [
            {"Noise by region": list(_regions(archive, found)), "Settings": list(_settings(archive))},
            {"Provenance": [(name, text) for name, text in archive.provenance.items() if text]},
        ],
    }
    return assemble(
        "report/templates/report.html",
        said,
        title=title,
        style=resources("starcert.report", ["page.css"]),
        script=resources("starcert.report", SCRIPTS),
        data=found.data,
        plotly=plotly,
    )


def _regions(archive: Archive, found: PageData) -> Iterator[tuple[str, str]]:
    yield from ((region, archive.noise[region].words()) for region in archive.noise.regions)
    if found.fixed:
        yield "in no region", found.fixed


def _whose(archive: Archive) -> str:
    return "each certificate by itself" if archive.together == 1 else f"all {archive.together:,} certificates together"


def _numbers(archive: Archive, counts: ReportSummary) -> Iterator[KeyFigure]:
    yield KeyFigure(f"{counts.n_graphs:,}", "graph" if counts.n_graphs == 1 else "graphs", "number-graphs")
    if counts.majority is not None:
        among = "" if counts.n_labelled == counts.n_graphs else f" of the {counts.n_labelled:,} with a known class"
        yield KeyFigure(f"{counts.n_right / counts.n_labelled:.1%}", f"answered right{among}", "number-accuracy")
        share = f"{counts.majority[1] / counts.n_labelled:.1%}"
        name = archive.class_names[counts.majority[0]]
        yield KeyFigure(share, "majority-class share", "number-majority", name)
    else:
        yield KeyFigure("unknown", "accuracy: the true classes are not known", "number-accuracy")
    yield KeyFigure(f"{counts.n_abstained / counts.n_graphs:.1%}", "abstentions", "number-abstained")
    whose = "each certificate" if archive.together == 1 else _whose(archive)
    yield KeyFigure(at_most(archive.alpha), f"alpha, the failure probability of {whose}", "number-alpha")


def _settings(archive: Archive) -> Iterator[tuple[str, str]]:
    totals = archive.votes.counts.sum(axis=1)
    least, most = int(totals.min()), int(totals.max())
    yield "estimation votes per graph", f"{least:,}" if least == most else f"{least:,} to {most:,}"
    if archive.votes.selection is None:
        yield "selection votes per graph", "none: the class is chosen on the estimation votes, at the price of alpha"
    else:
        chosen = archive.votes.selection.sum(axis=1)
        least, most = int(chosen.min()), int(chosen.max())
        yield "selection votes per graph", f"{least:,}" if least == most else f"{least:,} to {most:,}"
    if archive.max_radius is not None:
        asked = zip(archive.noise.axes, archive.max_radius, strict=True)
        yield "max_radius", ", ".join(f"{axis} {count:,}" for axis, count in asked)
    yield from _flattened(archive.settings)


def _flattened(settings: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flattened(value, f"{prefix}{name}.")
        elif value is not None:  # a setting that was left out
            yield prefix + name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _check_sites(archive: Archive, sites: Sequence[Sites]) -> None:
    if len(sites) != len(archive):
        raise InvalidParameterError("sites", f"have one entry for each of {len(archive)} graphs", len(sites))
    for number, (each, known) in enumerate(zip(sites, archive.boxes, strict=True)):
        if not isinstance(each, Sites):
            hint = "Make them with SmoothedClassifier.sites(graph)."
            raise InvalidParameterError(f"sites[{number}]", "be Sites", type(each).__name__, hint)
        if set(each.regions) != set(archive.noise.regions):
            wanted = f"have the regions {', '.join(archive.noise.regions)}"
            raise InvalidParameterError(f"sites[{number}]", wanted, list(each.regions))
        if known is not None and each.capacity(archive.noise) != known:
            wanted = f"offer an attacker the sites of {archive.names[number]!r}, {known}"
            hint = "Give the sites of the archive's graphs in the archive's order."
            raise InvalidParameterError(f"sites[{number}]", wanted, each.capacity(archive.noise), hint)
        if each.reason and not archive.anchored[number]:
            wanted = f"not be anchored, as the archive says of {archive.names[number]!r}"
            raise InvalidParameterError(f"sites[{number}]", wanted, each.reason, "Certify the graphs again.")
