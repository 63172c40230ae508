"""The shares of certified rows by the number of flips: on one axis as curves, on two axes as maps.

A table of these shares is a plane cut out of all radii, with no flips on the other axes. Rows with nothing to flip on
one of its axes are left out: they would be certified there for nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.archive import Archive
from starcert.claims.metrics import Radii, certified_counts, has_sites, is_unknown, open_ended, right
from starcert.objects.words import AttackWords, Words
from starcert.report.blocks import Curve, Curves, Panel, Phrase, Section, Shade, TableBlock, Text
from starcert.system.output import quantity

MAX_LINES = 4  # axes in one plot; more have a small plot each
MAX_MAPS = 3  # of more pairs of axes there are no maps
MAX_TICKS = 100  # counts of flips that a curve has
MAX_CELLS = 12  # counts of flips on each axis of a map


class ShareGrid(NamedTuple):
    """The numbers of rows that are certified (and right where classes are known) by flips on one axis or two."""

    ticks: list[list[int]]
    whole: int  # the rows that count: those with sites on each axis, and a known class where any is known
    majority: float | None  # the share of the most frequent class among these
    shares: npt.NDArray[np.float64]  # NaN where 0 would say nothing

    @property
    def is_plane(self) -> bool:
        """False if there is one column or one row of shares alone: the curve of its axis shows it."""
        ways = [bool(np.nan_to_num(each).any()) for each in (self.shares[1:], self.shares[:, 1:])]
        return not self.whole or ways[0] == ways[1]

    @classmethod
    def of(cls, archive: Archive, axes: Sequence[int], most: int) -> ShareGrid:
        """That of an archive, at no more than about this many counts on each axis."""
        certificates, labels = archive.certificates, archive.labels
        known = any(label is not None for label in labels)
        there = has_sites(certificates)[:, list(axes)].all(axis=1)
        hit = right(certificates, labels) if known else np.ones(len(archive), dtype=np.bool_)
        among = [row for row in np.flatnonzero(there).tolist() if not known or labels[row] is not None]
        found, ends, frontiers = Counter[Radii](), [0] * len(axes), certificates.frontiers()
        for row in among:
            radii = {tuple(radius[axis] for axis in axes) for radius in frontiers[row].radii}
            ends = [max(column) for column in zip(ends, *radii, strict=True)]
            size = archive.capacities[row]
            sizes = None if size is None else [size[axis] for axis in axes]
            found[open_ended(sorted(radii), sizes)] += int(hit[row])
        # One count beyond the furthest shows that nothing is certified there, unless nothing more was requested.
        if archive.max_radius is not None:
            limits = [archive.max_radius[axis] for axis in axes]
            ends = [min(end, limit - 1) for end, limit in zip(ends, limits, strict=True)]
        ticks = [list(range(0, end + 2, max(1, -(-(end + 1) // most)))) for end in ends]
        counts = certified_counts(found or {(): 0}, ticks)

        def radius(place: Sequence[int]) -> tuple[int, ...]:
            at = {axis: ticks[n][count] for n, (axis, count) in enumerate(zip(axes, place, strict=True))}
            return tuple(at.get(axis, 0) for axis in range(len(archive.noise.axes)))

        shares = np.where(is_unknown(certificates, counts, radius), np.nan, counts / max(1, len(among)))
        classes = Counter(labels[row] for row in among) if known and among else Counter()
        majority = max(classes.values()) / len(among) if classes else None
        return cls(ticks, len(among), majority, shares)


def map_sections(archive: Archive, words: Words) -> Iterator[Section]:
    """On a page: the share at every radius on two axes, a table for each pair."""
    titles = [title for _, _, title in AttackWords(archive.noise, words).axes]
    pairs = list(combinations(range(len(titles)), 2))
    planes = {pair: ShareGrid.of(archive, pair, MAX_CELLS) for pair in pairs[: MAX_MAPS + 1]}
    known = archive.known is not None
    if len(pairs) > MAX_MAPS:
        return
    pairs = [pair for pair in pairs if planes[pair].is_plane]  # the others are curves
    if not pairs:
        return
    what = "answered right and certified" if known else "certified"
    lead = (
        f"The share of {words.many} that are {what}, for an attacker who may flip this many {words.sites}."
        + " The true classes are not known, so this says nothing about being right." * (not known)
        + " All other axes are at 0." * (len(titles) > 2)
    )
    blocks: list[Text | TableBlock] = [Text(phrase=lead, name="surface-lead")]
    for number, (up, across) in enumerate(pairs):
        plane = planes[up, across]
        heads = (f"{titles[up]} ↓  {titles[across]} →", *(f"{tick:,}" for tick in plane.ticks[1]))
        rows = [
            (f"{tick:,}", *(_cell(share, plane.majority) for share in row))
            for tick, row in zip(plane.ticks[0], plane.shares.tolist(), strict=True)
        ]
        if plane.whole:
            blocks.append(TableBlock(name=f"surface-{number}", heads=heads, rows=rows, shaded=True))
        if caption := _left_out(archive, plane, [titles[up], titles[across]], words):
            blocks.append(Text(phrase=caption, caption=True))
    one = "An object" if words.whole == "object" else f"A {words.whole}"
    caption = (
        f"{one} with fewer {words.sites} than there are flips counts there if it is certified even with all of them "
        "flipped."
    )
    if known:
        caption += (
            " In brackets: no more than the majority-class share, which a constant answer has whatever is flipped."
        )
    blocks.append(Text(phrase=caption, caption=True))
    yield Section("surface", "Certified accuracy" if known else "Certified share", blocks, "page")


def _cell(share: float, majority: float | None) -> Phrase:
    if np.isnan(share):
        return "–"
    text = f"{share:.0%}"
    return (Shade(text if majority is None or share > majority else f"({text})", share),)


def _left_out(archive: Archive, plane: ShareGrid, titles: Sequence[str], words: Words) -> str:
    """Which rows a map does not count; "" if all count."""
    if not plane.whole:
        return f"No {words.one} has something to flip in both: {' and '.join(titles)}."
    whole = len(archive) if plane.majority is None else len(archive.truth)
    which = f"{whole - plane.whole:,} of {quantity(whole, words.one)}"
    return f"{which} have nothing to flip on one of these axes and are left out." if whole > plane.whole else ""


def axis_curves(archive: Archive, words: Words) -> Curves:
    """The share by the number of flips on each axis alone: one plot, or of many axes a small plot each."""
    attack, what = AttackWords(archive.noise, words), "certified"
    if archive.known is not None:
        what = "right and certified"
    found = list[tuple[str, Curve]]()
    for axis, (_, _, title) in enumerate(attack.axes):
        plane = ShareGrid.of(archive, (axis,), MAX_TICKS)
        y = plane.shares.tolist() if plane.whole else []
        y = y[: next((place for place, share in enumerate(y) if np.isnan(share)), len(y))]
        x = plane.ticks[0][: len(y)]
        hover = [f"{title}: {n:,}\n{share:.1%} {what}" for n, share in zip(x, y, strict=True)]
        if y:
            found.append((title, Curve(title.removeprefix("flips in "), x, y, hover)))
    y_title, many = f"share of {words.many} {what}", len(attack.axes) > MAX_LINES
    panels = [Panel(title, y_title, [line]) for title, line in found]
    if found and not many:
        panels = [Panel("flips on one axis" if len(found) > 1 else "flips", y_title, [line for _, line in found])]
    about = f"Shares of {words.many} {what}, axis by axis."
    return Curves(name="curves-plot", panels=panels, about=about, many=many)
