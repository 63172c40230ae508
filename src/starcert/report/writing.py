"""One report for the archives of every method, and its page."""

from __future__ import annotations

import os
from collections.abc import Sequence

from starcert.archive import Archive
from starcert.archive.record import INTERVALS
from starcert.objects.binding import Problem
from starcert.objects.sites import Sites
from starcert.report.blocks import Report
from starcert.report.certificate_report import certificate_report
from starcert.report.document import target, write_page
from starcert.report.other_reports import exact_report, interval_report
from starcert.system.errors import InvalidParameterError


def report_of(archive: Archive, sites: Sequence[Sites], title: str, base: Sequence[int] | None = None) -> Report:
    """The report of an archive: its rows, whichever method made them; `base`: the base classifier's clean answers."""
    if archive.kind == INTERVALS:
        return interval_report(archive, title)
    return exact_report(archive, sites, title) if archive.plain else certificate_report(archive, sites, title, base)


def write_report(
    path: str | os.PathLike[str],
    archive: Archive,
    problem: Problem | Sequence[Sites],
    *,
    title: str = "Robustness certificates",
    base: Sequence[int] | None = None,
) -> None:
    """Writes certificates as one self-contained HTML page.

    The page opens from disk in any browser and loads nothing. It appears under its name only when it is complete.

    Args:
        path: the file to write; one that is there is replaced.
        archive: the certificates and what they are about.
        problem: what was certified, as `problem` of a classifier makes it, or the sites of its objects: they are
            drawn.
        title: the heading of the page.
        base: the base classifier's answer on each clean row; None: not known.

    Raises:
        InvalidParameterError: if the sites are not those of the archive's graphs.
        StarcertError: if the file cannot be written.
    """
    if not isinstance(archive, Archive):
        hint = "Make one with Archive.from_result(certificates)."
        raise InvalidParameterError("archive", "be an Archive", type(archive).__name__, hint)
    file = target(path)
    sites = problem.sites if isinstance(problem, Problem) else problem
    write_page(file, report_of(archive, sites, title, base))
