"""The graphs of a page as its scripts draw them: edges, regions, and what evidence shows about their sites.

Regions and node names that many graphs share are written once. Regions of other sites, such as the features of nodes,
and objects that are not graphs have nothing to draw: they are described.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.archive import Archive
from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.columns import in_words
from starcert.claims.outcomes import Outcome, size_steps
from starcert.claims.verdict import MAX_NAMED, FoundAttack
from starcert.math.choices import influences
from starcert.objects import Region
from starcert.objects.binding import attack_axes
from starcert.objects.kinds import kind_of
from starcert.objects.sites import Sites
from starcert.objects.threats import Threat
from starcert.objects.words import AttackWords

MAX_NUMBERS = 4_000_000  # the most numbers that all drawings of a page may take; graphs beyond are described, not drawn
MAX_LEVELS = 300  # of a graph, with the reason for their verdict
MAX_PAIRS = 150  # node pairs of a graph that are drawn by their influence
LEAST_SHARE = 0.05  # pairs with less than this share of the greatest influence are left out

Positions = npt.NDArray[np.int64]


class Drawings:
    """The drawings of graphs with these regions."""

    def __init__(self, sites: Sequence[Sites], regions: Sequence[str]) -> None:
        self.blocks: list[dict[str, Any]] = []  # the different regions, as sets of pairs
        self.names: list[list[str]] = []  # the different tuples of node names
        self._known_blocks: dict[object, int] = {}
        self._known_names: dict[object, int] = {}
        self._left = MAX_NUMBERS
        self.graphs = [self._draw(each, regions) for each in sites]

    def _draw(self, sites: Sites, regions: Sequence[str]) -> dict[str, Any] | str | None:
        """The drawing of an object; None if it is only described, as it is large or there is no room left."""
        drawing = kind_of(sites.clean).drawing(sites.clean) if self._left > 0 else None
        if not isinstance(drawing, dict):
            self._left -= len(drawing or "") // 3
            return drawing
        self._left -= len(drawing["edges"]["pairs"])
        by_name, edges = dict(zip(sites.regions, sites.blocks, strict=True)), sites.clean.layers[0].name
        found = (by_name[region] for region in regions)
        drawing["blocks"] = [self._block(block) if block.layer == edges else None for block in found]
        named = ("type_names", "names", "symbols")
        return drawing | {part: self._named(drawing[part]) for part in named if part in drawing}

    def _block(self, block: Region) -> int:
        key = type(block), *(array.tobytes() for array in block.content)
        if key not in self._known_blocks:
            self._known_blocks[key] = len(self.blocks)
            self.blocks.append(block.to_json())
            self._left -= sum(array.size for array in block.content)
        return self._known_blocks[key]

    def _named(self, names: list[str]) -> int:
        key = tuple(names)
        if key not in self._known_names:
            self._known_names[key] = len(self.names)
            self.names.append(names)
            self._left -= sum(map(len, names)) // 3
        return self._known_names[key]


def verdict_data(
    archive: Archive, sites: Sequence[Sites], drawn: Sequence[bool], words: AttackWords
) -> dict[str, Any] | None:
    """The drawn part of evidence, row by row, with the sites of each; None where there is none."""
    certificates = archive.certificates
    if certificates.verdicts is None:
        return None
    texts: dict[str, int] = {}
    graphs = [
        {
            "any_flips": None if one.capacity is None else one.any_flips,
            "broken": [list(level) for level in one.broken],
            "reasons": _reasons(one, texts),
            "attack": _attack(one, each, words),
            "pairs": _pairs(influences(record, attack_axes(each, archive.noise)), each)
            if shown and record is not None
            else [],
        }
        for one, each, shown, record in zip(certificates, sites, drawn, archive.votes.records, strict=True)
    ]
    return {"texts": list(texts), "graphs": graphs}


def _reasons(one: Certificate, texts: dict[str, int]) -> list[int]:
    """The levels that were looked at beyond p_A, each followed by the number of the text with its reason."""
    levels, found = {} if one.verdicts is None else one.verdicts.levels, list[int]()
    for level in sorted(levels, key=lambda level: (sum(level), level))[:MAX_LEVELS]:
        found.extend((*level, texts.setdefault(levels[level].why, len(texts))))
    return found


def threat_data(certificates: Certificates, threat: Threat) -> dict[str, Any]:
    """The results under a threat that lists its attacks, size by size: kind of verdict, attacks, reason."""
    outcomes, sizes = certificates.outcomes(threat), size_steps(threat.most)
    by_p_A = outcomes.by_p_A or outcomes  # noqa: N806  (the paper's p_A)
    graphs = [
        [
            [_size_verdict(outcome, alone, size), sum(outcome.attacks[:size]), _reason(one, outcome, size)]
            for size in sizes
        ]
        for one, outcome, alone in zip(certificates, outcomes, by_p_A, strict=True)
    ]
    return {"labels": [threat.label_of(size) for size in sizes], "graphs": graphs}


def _size_verdict(outcome: Outcome, alone: Outcome, size: int) -> str:
    """The verdict on attacks of at most this size, in two or three words."""
    if outcome.answer is None:
        return "abstains"
    return in_words(outcome, alone, size) or "open" if outcome.possible(size) else "no such attack"


def _reason(one: Certificate, outcome: Outcome, size: int) -> str:
    """Why it is so, where that was looked at: of a size beyond those that are certified, why the first one is not."""
    looked = {} if one.verdicts is None else one.verdicts.sizes
    found = looked.get(min(size, (outcome.certified or 0) + 1))
    return "" if found is None else found.why


def _attack(one: Certificate, sites: Sites, words: AttackWords) -> dict[str, Any] | None:
    """The attack to show first of those that break, and what it is an attack of: a level, or a size of a threat."""
    if one.verdicts is None:
        return None
    verdicts = one.verdicts.on(sites)
    if (attack := verdicts.shown) is None:
        return None
    broken = {size: each.attack for size, each in verdicts.sizes.items() if each.attack is attack}
    if broken and one.asked is not None:
        label = one.asked.threat.label_of(min(broken))
    else:
        label = words.level(next(level for level, each in verdicts.levels.items() if each.attack is attack))
    return {
        "label": label,
        **_attacked_parts(attack, sites),
        "named": list(attack.changes[:MAX_NAMED]),
        "n_sites": len(attack.sites),
        "votes": list(attack.votes),
        "delta": attack.delta,
    }


def _attacked_parts(attack: FoundAttack, sites: Sites) -> dict[str, Any]:
    """The attacked node pairs, each with its new type (0: deleted, −1: it is a bit and flips), and attacked nodes.

    A node whose category is attacked has a text that says what becomes of it.
    """
    clean, pairs, nodes = sites.clean, list[list[int]](), dict[int, str]()
    kind, first = kind_of(clean), clean.layers[0].name
    for position, value in zip(attack.sites, attack.values or repeat(None), strict=False):
        layer = sites.layers[int(_regions(np.array([position]), sites)[0])]
        place = [int(each[0]) for each in sites.coordinates([position])]
        if not kind.has_nodes:
            continue
        if layer.name == first:
            pairs.append([*place, -1 if value is None else value])
        else:
            nodes[place[0]] = (
                kind.site_name(clean, layer, place, value).partition(": ")[2] if layer.alphabet > 2 else ""
            )
    return {"pairs": pairs, "nodes": list(nodes.items())}


def _pairs(gains: npt.NDArray[np.float64], sites: Sites) -> list[list[int]]:
    """The pairs with most influence, each with its share of the greatest in percent."""
    most = gains.max(initial=0.0)
    if not most > 0:
        return []
    order = np.argsort(-gains, kind="stable")[:MAX_PAIRS]
    order = order[gains[order] >= LEAST_SHARE * most]
    pairs, kept = _edge_pairs(order, sites)
    shares = np.rint(100 * gains[kept] / most).astype(int).tolist()
    return [[*pair, share] for pair, share in zip(pairs, shares, strict=True)]


def _edge_pairs(positions: Positions, sites: Sites) -> tuple[list[list[int]], Positions]:
    """The node indices of the sites that are node pairs or arcs, and which sites these are."""
    has_nodes, first = kind_of(sites.clean).has_nodes, sites.clean.layers[0].name
    edges = [has_nodes and block.layer == first for block in sites.blocks]
    kept = positions[np.array(edges, dtype=np.bool_)[_regions(positions, sites)]]
    return (np.stack(sites.coordinates(kept), axis=1).tolist() if len(kept) else []), kept


def _regions(positions: Positions, sites: Sites) -> Positions:
    return np.searchsorted(np.cumsum(sites.sizes), positions, side="right")
