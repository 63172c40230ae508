"""The data for the scripts of a report: one JSON value, column by column.

A row is what is classified: a graph, a node of a graph, or another object. What is known about the object itself (how
large it is, how it is drawn) is there once, however many rows are about it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.archive import Archive
from starcert.claims.metrics import right
from starcert.claims.sentences import in_short
from starcert.objects.graph_kind import DRAWN_EDGES, DRAWN_NODES
from starcert.objects.kinds import kind_of
from starcert.objects.sites import Sites
from starcert.objects.words import AttackWords, Words
from starcert.report.drawings import Drawings, threat_data, verdict_data
from starcert.report.findings import has_radii_by_evidence
from starcert.system.errors import InvalidParameterError
from starcert.system.output import holds_at_least


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
    several = archive.nodes is not None or archive.votes.targets.any()
    return archive.votes.objects if several else np.arange(len(archive))


def page_data(archive: Archive, sites: Sequence[Sites]) -> dict[str, Any]:
    """The data that scripts draw of an archive; `sites` are those of its graphs, or other objects."""
    objects = objects_of(archive).tolist()
    words = Words.of(sites, nodes=archive.nodes is not None)
    attack = AttackWords(archive.noise, words)
    bounds = archive.certificates.bounds
    drawn = Drawings(sites, archive.noise.regions)
    data: dict[str, Any] = {
        "axes": list(archive.noise.axes),
        "axis_words": [list(each) for each in attack.axes],  # of one flip, of several, and as a title
        "in_short": _once(in_short(one, attack, archive.class_names) for one in archive.certificates),
        "regions": [{"name": each, "law": archive.noise[each].describe()} for each in archive.noise.regions],
        "classes": list(archive.class_names),
        "fallback": None if bounds.blind is None else bounds.blind.threshold,
        "holds": holds_at_least(archive.certificates.alpha or archive.alpha),
        "labelled": sum(label is not None for label in archive.labels),
        "frontiers": _once(frontier.radii for frontier in archive.certificates.frontiers()),
        "graphs": {
            "names": list(archive.names),
            "truth": [-1 if label is None else label for label in archive.labels],
            "answer": bounds.labels.tolist(),
            "right": right(archive.certificates, archive.labels).astype(int).tolist(),
            "failure": bounds.failure.tolist(),
            "blind": None if bounds.blind is None else bounds.blind.answers.tolist(),
            "votes": archive.votes.counts.tolist(),
            "sizes": _once(archive.capacities),
            "anchored": _once(archive.anchored),
            "object": objects,
            "node": None if archive.nodes is None else list(archive.nodes),
        },
        "objects": {
            "about": [kind_of(each.clean).describe(each.clean) for each in sites],
            "drawable": [kind_of(each.clean).has_nodes for each in sites],
            "region_sites": [_by_region(archive, each, each.sizes) for each in sites],
            "region_edges": [_by_region(archive, each, [sum(n[1:]) for n in each.counts]) for each in sites],
            "fixed_pairs": [each.n_fixed for each in sites],
            "fixed_edges": [_n_fixed_edges(each) for each in sites],
        },
        "words": {name: each for name, each in asdict(words).items() if name != "regions"}
        | {"many": words.many, "sites": words.sites},
        "drawings": {"blocks": drawn.blocks, "names": drawn.names, "graphs": drawn.graphs},
        "drawn": {"nodes": DRAWN_NODES, "edges": DRAWN_EDGES},
    }
    shown = [drawn.graphs[each] is not None for each in objects]
    beyond = verdict_data(archive, [sites[each] for each in objects], shown, attack)
    if beyond is not None:
        data["evidence"] = beyond
    if has_radii_by_evidence(archive):
        data["evidence"]["by_p_A"] = _once(one.frontier_by_p_A.radii for one in archive.certificates)
    if (threat := archive.certificates.listed_threat) is not None:
        data["threat"] = threat_data(archive.certificates, threat)
    return data


def _n_fixed_edges(sites: Sites) -> int:
    """The number of sites of an object that are not 0 and lie in no region."""
    everywhere = sum(len(sites.clean.nonzero(layer.name)[1]) for layer in sites.clean.layers)
    return everywhere - sum(sum(counts[1:]) for counts in sites.counts)


def _by_region(archive: Archive, sites: Sites, values: Sequence[int]) -> list[int]:
    found = dict(zip(sites.regions, values, strict=True))
    return [found[region] for region in archive.noise.regions]


def _once(values: Iterable[Hashable]) -> dict[str, Any]:
    """The different values in the order in which they come, and for each value its number."""
    numbers: dict[Hashable, int] = {}
    of = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"different": list(numbers), "of": of}
