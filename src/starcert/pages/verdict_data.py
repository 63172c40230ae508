"""What a page shows of evidence: what is certified by which argument, broken and open, attacks, and influences.

Everything here is plain: whole numbers, node pairs as two of them, and sites in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from starcert.certificates.attack_axes import influences
from starcert.certificates.certificate import Certificate
from starcert.certificates.metrics import FlipVerdicts, RadiusVerdicts, flip_verdicts, radii_of_flips, radius_verdicts
from starcert.files import Archive
from starcert.objects import Graph
from starcert.objects.noise import AnyFlips, threat_of
from starcert.objects.sites import Sites
from starcert.pages.document import KeyFigure
from starcert.system.errors import InvalidParameterError

__all__ = ["VerdictRow", "any_flip", "any_flips_of", "flips_asked", "verdict_data", "verdict_rows"]

MOST_ROWS = 20
"""So many radii have a row in the table."""

MOST_REASONS = 300
"""So many levels of a graph say why they have their verdict."""

MOST_PAIRS = 150
"""So many node pairs of a graph are drawn by their influence: those with most of it."""

MOST_NAMED = 8
"""So many sites of an attack are named."""

LONGEST_NAME = 60

LEAST_SHARE = 0.05
"""Pairs with less than this share of the greatest influence are left out."""


@dataclass(frozen=True)
class VerdictRow:
    """A row of the table: what becomes of the graphs that are answered right, under some flips.

    Attributes:
        flips: as text: any so many, or a radius.
        n_graphs: how many graphs have so many sites.
        n_right: how many of these are answered right, or answered where no class is known.
        counts: how many of those are certified by p_A, certified by evidence beyond that, open, and broken.
    """

    flips: str
    n_graphs: int
    n_right: int
    counts: tuple[int, int, int, int]

    @property
    def n_certified(self) -> int:
        """How many are certified, by whichever argument."""
        return self.counts[0] + self.counts[1]

    def percent(self, count: int) -> float:
        """A share of all the graphs."""
        return 100 * count / max(1, self.n_graphs)


def flips_asked(archive: Archive) -> int:
    """Up to how many flips, wherever they are, results are counted: those of the threat, 2 with evidence, else 0."""
    with suppress(InvalidParameterError):  # settings are what a file says
        return threat_of(archive.settings.get("threat")).most
    if archive.certificates.verdicts is None:
        return 0
    return max((each.max_flips or 0 for each in archive.evidence or () if each is not None), default=0) or 2


def any_flips_of(archive: Archive) -> list[FlipVerdicts]:
    """What becomes of the graphs under any 1, any 2, … flips, as many as are asked about."""
    return flip_verdicts(archive.certificates, _known_labels(archive), most=flips_asked(archive))


def verdict_rows(archive: Archive) -> list[VerdictRow]:
    """The rows for any 1, any 2, … flips; with evidence also those for radii of one and two flips."""
    certificates, labels = archive.certificates, _known_labels(archive)
    rows = [_row(AnyFlips(each.flips).label, each) for each in any_flips_of(archive)]
    if certificates.verdicts is None:
        return rows
    radii = radii_of_flips(certificates, min(2, flips_asked(archive)))[:MOST_ROWS]
    for each in radius_verdicts(certificates, labels, radii=radii):
        named = [f"{n} in {axis}" for axis, n in zip(archive.noise.axes, each.radius, strict=True) if n]
        rows.append(_row(", ".join(named), each))
    return rows


def _row(attacker: str, found: FlipVerdicts | RadiusVerdicts) -> VerdictRow:
    counts = (found.n_by_p_A, found.n_certified - found.n_by_p_A, found.n_open, found.n_broken)
    return VerdictRow(attacker, found.n_graphs, found.n_right, counts)


def _is_labelled(archive: Archive) -> bool:
    return any(label is not None for label in archive.labels)


def _known_labels(archive: Archive) -> Sequence[int | None] | None:
    """The true classes; None where none is known."""
    return archive.labels if _is_labelled(archive) else None


def any_flip(archive: Archive) -> Iterator[KeyFigure]:
    """With evidence, the share of graphs that withstand any one flip, beside what p_A says of it."""
    certificates = archive.certificates
    if certificates.verdicts is None or None in archive.capacities:
        return
    known = _is_labelled(archive)
    counts = [
        sum(
            one.any_flips > 0 and (truth == one.label or not known)
            for one, truth in zip(each, archive.labels, strict=True)
        )
        for each in (certificates, certificates.counted)
    ]
    whole = sum(label is not None for label in archive.labels) if known else len(archive)
    right = "right and certified" if known else "certified"
    what = f"{right} against any one flip (by p_A alone {counts[1] / whole:.1%})"
    yield KeyFigure(f"{counts[0] / whole:.1%}", what, "number-any-flip")


def verdict_data(archive: Archive, sites: Sequence[Sites], drawn: Sequence[bool]) -> dict[str, Any] | None:
    """What the browser draws of evidence, graph by graph; None where there is none.

    Args:
        archive: the certificates.
        sites: those of its graphs.
        drawn: which graphs are drawn.
    """
    certificates = archive.certificates
    if certificates.verdicts is None:
        return None
    texts: dict[str, int] = {}
    graphs = []
    for one, each, shown, record in zip(certificates, sites, drawn, archive.votes.records, strict=True):
        graphs.append(
            {
                "any_flips": None if one.capacity is None else one.any_flips,
                "broken": [list(level) for level in one.broken],
                "reasons": _reasons(one, texts),
                "attack": _attack(one, each),
                "pairs": _pairs(influences(record, each, archive.noise), each) if shown and record is not None else [],
            }
        )
    return {"texts": list(texts), "graphs": graphs}


def _reasons(one: Certificate, texts: dict[str, int]) -> list[int]:
    """The levels that were looked at beyond p_A, each followed by the number of the text that says why."""
    if one.verdicts is None:
        return []
    found: list[int] = []
    for level in sorted(one.verdicts.levels, key=lambda level: (sum(level), level))[:MOST_REASONS]:
        found.extend((*level, texts.setdefault(one.verdicts.levels[level].why, len(texts))))
    return found


def _attack(one: Certificate, sites: Sites) -> dict[str, Any] | None:
    """The attack that breaks the smallest broken level."""
    if not one.broken:
        return None
    level = min(one.broken, key=lambda level: (sum(level), level))
    attack = one.attack(level)
    if attack is None:
        return None
    positions = np.array(attack.sites, dtype=np.int64)
    moved = zip(attack.sites[:MOST_NAMED], attack.values or repeat(None), strict=False)
    named = [_site_name(sites, position) + _new_value(sites, position, value) for position, value in moved]
    pairs = _edge_pairs(positions, sites)[0]
    told = {"pairs": pairs, "named": named, "n_sites": len(attack.sites)}
    return {"level": list(level), **told, "votes": list(attack.votes), "delta": attack.delta}


def _pairs(gains: np.ndarray[Any, np.dtype[np.float64]], sites: Sites) -> list[list[int]]:
    """The pairs with most influence, each with its share of the greatest in percent."""
    most = gains.max(initial=0.0)
    if not most > 0:
        return []
    order = np.argsort(-gains, kind="stable")[:MOST_PAIRS]
    order = order[gains[order] >= LEAST_SHARE * most]
    pairs, kept = _edge_pairs(order, sites)
    shares = np.rint(100 * gains[kept] / most).astype(int).tolist()
    return [[*pair, share] for pair, share in zip(pairs, shares, strict=True)]


Positions = np.ndarray[Any, np.dtype[np.int64]]


def _edge_pairs(positions: Positions, sites: Sites) -> tuple[list[list[int]], Positions]:
    """The node indices of those sites that are node pairs or arcs, and which sites these are; of no graph, none."""
    if not isinstance(sites.clean, Graph):
        return [], positions[:0]
    edges = [block.layer == sites.clean.layers[0].name for block in sites.blocks]
    kept = positions[np.array(edges, dtype=np.bool_)[_regions(positions, sites)]]
    return (np.stack(sites.coordinates(kept), axis=1).tolist() if len(kept) else []), kept


def _regions(positions: Positions, sites: Sites) -> Positions:
    return np.searchsorted(np.cumsum(sites.sizes), positions, side="right")


def _new_value(sites: Sites, position: int, value: int | None) -> str:
    """What an attack makes of a site with more than two values, in words; "" of a bit."""
    if value is None:
        return ""
    layer = sites.layers[int(_regions(np.array([position]), sites)[0])]
    if isinstance(sites.clean, Graph) and layer.name == sites.clean.layers[0].name:
        return f" ({str(sites.clean.type_names[value - 1])[:LONGEST_NAME]})" if value else " (absent)"
    return f" (value {value})"


def _site_name(sites: Sites, position: int) -> str:
    """A site in words, such as a–b for a node pair, a→b for an arc, and x 3, 14 for a feature of a node."""
    layer = sites.layers[int(_regions(np.array([position]), sites)[0])]
    place = [int(each[0]) for each in sites.coordinates([position])]
    if isinstance(sites.clean, Graph) and layer.name == sites.clean.layers[0].name:
        sign = "→" if sites.clean.directed else "–"
        return sign.join(str(sites.clean.nodes[node])[:LONGEST_NAME] for node in place)
    return f"{layer.name} {', '.join(map(str, place))}"
