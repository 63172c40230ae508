"""The data for the scripts of a report: one JSON value, column by column.

A row is what is classified: a graph, a node of a graph, or another object. What is known about the object itself (how
large it is, how it is drawn) is there once, however many rows are about it. Graphs are drawn as edges, regions, and
what evidence shows about their sites: regions and node names that many graphs share are written once. Regions of other
sites, such as the features of nodes, and objects that are not graphs have nothing to draw: they are described.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.archive import Archive
from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.metrics import right
from starcert.claims.outcomes import Outcome, Outcomes, size_steps
from starcert.claims.sentences import in_short
from starcert.claims.tables import verdict_in_words
from starcert.claims.verdict import MAX_NAMED, FoundAttack
from starcert.math.choices import influences
from starcert.objects import Region
from starcert.objects.binding import attack_axes
from starcert.objects.graph_kind import DRAWN_EDGES, DRAWN_NODES
from starcert.objects.kinds import kind_of
from starcert.objects.layers import EDGE_LAYERS
from starcert.objects.sites import Sites
from starcert.objects.threats import Threat
from starcert.objects.words import AttackWords, Words
from starcert.report.findings import has_radii_by_evidence
from starcert.system.errors import InvalidParameterError
from starcert.system.output import holds_at_least

MAX_NUMBERS = 4_000_000  # the most numbers that all drawings of a page may take; graphs beyond are described, not drawn
MAX_LEVELS = 300  # of a graph, with the reason for their verdict
MAX_PAIRS = 150  # node pairs of a graph that are drawn by their influence
LEAST_SHARE = 0.05  # pairs with less than this share of the greatest influence are left out
Positions = npt.NDArray[np.int64]


def check_sites(archive: Archive, sites: Sequence[Sites]) -> None:
    """Refuses sites that are not those of an archive's objects."""
    objects = objects_of(archive)
    if len(sites) != int(objects.max()) + 1:
        raise InvalidParameterError("sites", f"have one entry for each of {objects.max() + 1} graphs", len(sites))
    first = dict(zip(objects[::-1].tolist(), range(len(archive) - 1, -1, -1), strict=True))
    for number, each in enumerate(sites):
        if number not in first:
            raise InvalidParameterError("archive", f"have rows of graph {number}", archive)
        name, row = f"sites[{number}]", first[number]
        known = archive.boxes[row]
        if not isinstance(each, Sites):
            hint = "Make them with SmoothedClassifier.sites(graph)."
            raise InvalidParameterError(name, "be Sites", type(each).__name__, hint)
        if set(each.regions) != set(archive.noise.regions):
            must = f"have the regions {', '.join(archive.noise.regions)}"
            raise InvalidParameterError(name, must, list(each.regions))
        if known is not None and each.capacity(archive.noise) != known:
            must = f"offer an attacker the sites of {archive.names[row]!r}, {known}"
            hint = "Give the sites of the archive's graphs in the archive's order."
            raise InvalidParameterError(name, must, each.capacity(archive.noise), hint)
        if each.reason and not archive.anchored[row]:
            must = f"not be anchored, as the archive says of {archive.names[row]!r}"
            raise InvalidParameterError(name, must, each.reason, "Certify the graphs again.")


def objects_of(archive: Archive) -> npt.NDArray[np.int64]:
    """For each row the number of the object that it is about: the row's own, unless objects have several targets."""
    if not archive.certificates.of_radii:
        return archive.certificates.objects
    several = archive.nodes is not None or archive.votes.targets.any()
    return archive.votes.objects if several else np.arange(len(archive))


def page_data(archive: Archive, sites: Sequence[Sites]) -> dict[str, Any]:
    """The data that scripts draw of an archive; `sites` are those of its graphs, or other objects."""
    certificates, objects = archive.certificates, objects_of(archive).tolist()
    words = Words.of(sites, nodes=archive.nodes is not None)
    layers = {block.layer for each in sites for block in each.blocks}
    regions = archive.noise.regions if certificates.of_radii else sites[0].regions
    drawn = Drawings(sites, regions)
    data: dict[str, Any] = {
        "axes": [],
        "axis_words": [],  # of one flip, of several, and as a title
        "in_short": _once(("",) for _ in archive.names),
        "regions": [{"name": each, "law": ""} for each in regions],
        "classes": list(archive.class_names),
        "fallback": None,
        "labelled": len(archive.truth),
        "frontiers": _once(((),) for _ in archive.names),  # nobody abstains, and there are no radii
        "graphs": {
            "names": list(archive.names),
            "truth": [-1 if label is None else label for label in archive.labels],
            "answer": certificates.labels.tolist(),
            "right": right(certificates, archive.labels).astype(int).tolist(),
            "sizes": _once(None for _ in archive.names),
            "anchored": _once(archive.anchored),
            "object": objects,
            "node": None,
        },
        "objects": {
            "about": [kind_of(each.clean).describe(each.clean) for each in sites],
            "drawable": [kind_of(each.clean).has_nodes for each in sites],
            "region_sites": [_by_region(regions, each, each.sizes) for each in sites],
            "region_edges": [_by_region(regions, each, [sum(n[1:]) for n in each.counts]) for each in sites],
            "fixed_pairs": [each.n_fixed for each in sites],
            "fixed_edges": [_n_fixed_edges(each) for each in sites],
        },
        "words": {name: each for name, each in asdict(words).items() if name != "regions"}
        | {"many": words.many, "sites": words.sites, "present": "edges" if layers <= set(EDGE_LAYERS) else "not 0"},
        "drawings": {"blocks": drawn.blocks, "names": drawn.names, "graphs": drawn.graphs},
        "drawn": {"nodes": DRAWN_NODES, "edges": DRAWN_EDGES},
    }
    of_row = [sites[each] for each in objects]
    if certificates.of_radii:
        _add_votes(data, archive, of_row, words)
    else:
        outcomes = certificates.outcomes()
        data["threat"] = threat_data(certificates, outcomes.threat)
        attacks = (_breaking(each, outcomes.threat, here) for each, here in zip(outcomes, of_row, strict=True))
        data["evidence"] = {"texts": [], "graphs": [{"reasons": [], "pairs": [], "attack": each} for each in attacks]}
    return data


def _add_votes(data: dict[str, Any], archive: Archive, of_row: Sequence[Sites], words: Words) -> None:
    """Adds what votes on noisy copies show: bounds, radii, and the verdicts of evidence."""
    certificates, attack = archive.certificates, AttackWords(archive.noise, words)
    bounds = certificates.bounds
    data |= {
        "axes": list(archive.noise.axes),
        "axis_words": [list(each) for each in attack.axes],
        "in_short": _once(in_short(one, attack, archive.class_names) for one in certificates),
        "regions": [{"name": each, "law": archive.noise[each].describe()} for each in archive.noise.regions],
        "fallback": None if bounds.blind is None else bounds.blind.threshold,
        "holds": holds_at_least(certificates.alpha or archive.alpha),
        "frontiers": _once(frontier.radii for frontier in certificates.frontiers()),
    }
    data["graphs"] |= {
        "failure": bounds.failure.tolist(),
        "blind": None if bounds.blind is None else bounds.blind.answers.tolist(),
        "votes": archive.votes.counts.tolist(),
        "sizes": _once(archive.capacities),
        "node": None if archive.nodes is None else list(archive.nodes),
    }
    shown = [data["drawings"]["graphs"][each] is not None for each in data["graphs"]["object"]]
    beyond = verdict_data(archive, of_row, shown, attack)
    if beyond is not None:
        data["evidence"] = beyond
    if has_radii_by_evidence(archive):
        data["evidence"]["by_p_A"] = _once(one.frontier_by_p_A.radii for one in certificates)
    if (threat := certificates.listed_threat) is not None:
        data["threat"] = threat_data(certificates, threat)


def _n_fixed_edges(sites: Sites) -> int:
    """The number of sites of an object that are not 0 and lie in no region."""
    everywhere = sum(len(sites.clean.nonzero(layer.name)[1]) for layer in sites.clean.layers)
    return everywhere - sum(sum(counts[1:]) for counts in sites.counts)


def _by_region(regions: Sequence[str], sites: Sites, values: Sequence[int]) -> list[int]:
    found = dict(zip(sites.regions, values, strict=True))
    return [found[region] for region in regions]


def _once(values: Iterable[Hashable]) -> dict[str, Any]:
    """The different values in the order in which they come, and for each value its number."""
    numbers: dict[Hashable, int] = {}
    of = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"different": list(numbers), "of": of}


class Drawings:
    """The drawings of graphs with these regions."""

    def __init__(self, sites: Sequence[Sites], regions: Sequence[str]) -> None:
        self.blocks: list[dict[str, Any]] = []  # the different regions, as sets of pairs
        self.names: list[list[str]] = []  # the different tuples of node names
        self._known: dict[object, int] = {}  # of both, their numbers
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
        return self._number(self.blocks, key, block.to_json, sum(array.size for array in block.content))

    def _named(self, names: list[str]) -> int:
        return self._number(self.names, tuple(names), lambda: names, sum(map(len, names)) // 3)

    def _number(self, written: list[Any], key: object, value: Callable[[], object], size: int) -> int:
        """The number of what is written once, which takes the room of so many numbers."""
        if key not in self._known:
            self._known[key] = len(written)
            written.append(value())
            self._left -= size
        return self._known[key]


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
            [
                _size_verdict(outcome, alone, size) if certificates.of_radii else outcome.state(size) or "open",
                sum(outcome.attacks[:size]),
                _reason(one, outcome, size) if certificates.of_radii else _left(outcomes, row, size),
            ]
            for size in sizes
        ]
        for row, (one, outcome, alone) in enumerate(zip(certificates, outcomes, by_p_A, strict=True))
    ]
    return {"labels": [threat.label_of(size) for size in sizes], "graphs": graphs}


def _left(outcomes: Outcomes, row: int, size: int) -> str:
    """How many attacks on an open row were not tried, where attacks are tried."""
    left = 0 if outcomes.tried is None else sum(outcomes[row].attacks[:size]) - outcomes.tried[row]
    return f"{left:,} not tried" if left > 0 and outcomes[row].state(size) == "open" else ""


def _size_verdict(outcome: Outcome, alone: Outcome, size: int) -> str:
    """The verdict on attacks of at most this size, in two or three words."""
    if outcome.answer is None:
        return "abstains"
    return verdict_in_words(outcome, alone, size) or "open" if outcome.possible(size) else "no such attack"


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
    return _shown_attack(attack, label, sites)


def _breaking(outcome: Outcome, threat: Threat, sites: Sites) -> dict[str, Any] | None:
    """The attack that changes the answer of a method that draws no votes."""
    attack = outcome.found
    if attack is None or outcome.broken is None:
        return None
    named = attack if attack.changes else attack.on(sites)
    return _shown_attack(named, threat.label_of(outcome.broken), sites) | {"delta": None}


def _shown_attack(attack: FoundAttack, label: str, sites: Sites) -> dict[str, Any]:
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
