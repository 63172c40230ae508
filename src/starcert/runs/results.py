"""The table of a run: one line for each graph, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starcert.archive import Archive

__all__ = ["columns", "lines"]


def columns(archive: Archive) -> list[str]:
    """The names of the columns: those of every run, then the votes by class, then the sites by axis."""
    fixed = ["graph", "true_class", "base_class", "class", "abstained", "correct", "p_lower", "frontier", "anchored"]
    votes = [f"votes {name}" for name in archive.class_names]
    return [*fixed, *votes, *(f"sites {axis}" for axis in archive.noise.axes)]


def lines(archive: Archive, base: Sequence[int]) -> Iterator[str]:
    """The table as CSV, line by line.

    Classes go by their names. `class` is the smoothed classifier's answer, also where it abstains; `base_class` the
    base classifier's on the clean graph. Radii of the frontier are separated by semicolons, their counts by blanks in
    the order of the axes.

    Args:
        archive: the certificates, and what they are about.
        base: the base classifier's answer on each clean graph.
    """
    yield _line(columns(archive))
    names = archive.class_names
    for i, certificate in enumerate(archive.certificates):
        label, abstained = archive.labels[i], certificate.abstained
        radii = "" if abstained else "; ".join(" ".join(map(str, radius)) for radius in certificate.frontier.radii)
        sites = archive.capacities[i] or [""] * len(archive.noise.axes)
        yield _line(
            [
                archive.names[i],
                "" if label is None else names[label],
                names[base[i]],
                names[certificate.label],
                _truth(abstained),
                "" if label is None else _truth(not abstained and certificate.label == label),
                repr(certificate.p_lower),
                radii,
                archive.anchored[i],
                *archive.votes.counts[i].tolist(),
                *sites,
            ]
        )


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _line(cells: Sequence[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()
