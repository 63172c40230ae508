"""The report: certificates in words, and the data that the page's scripts draw from: one JSON value, column by column.

A row is what is classified: a graph, a node of a graph, or another object. What is known about the object itself (how
large it is, how it is drawn) is there once, however many rows are about it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.archive import BLIND, Archive
from starcert.claims.metrics import right
from starcert.claims.sentences import in_short
from starcert.math.confidence import spends_on_all_classes
from starcert.math.limits import share_of_alpha
from starcert.objects.binding import Problem
from starcert.objects.graph_kind import DRAWN_EDGES, DRAWN_NODES
from starcert.objects.kinds import kind_of
from starcert.objects.sites import Sites
from starcert.objects.words import AttackWords, Words
from starcert.report import findings
from starcert.report.document import KeyFigure, Notice, assemble, target, write_page
from starcert.report.drawings import Drawings, threat_data, verdict_data
from starcert.report.findings import ReportSummary
from starcert.report.radius_tables import Grids, Pair, Radii, Slices, limits_of, slack_tables, surfaces
from starcert.report.worth import GAIN_HEADS, Worth
from starcert.system.errors import InvalidParameterError
from starcert.system.output import at_most, holds_at_least

SCRIPTS = (
    "text.js",
    "charts.js",
    "frontier.js",
    "layout.js",
    "formula.js",
    "drawing.js",
    "plots.js",
    "table.js",
    "page.js",
)


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
        problem: what was certified, as `SmoothedClassifier.problem` makes it, or the sites of its objects: they are
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
    sites = list(problem.sites if isinstance(problem, Problem) else problem)
    _check_sites(archive, sites)
    if base is not None and len(base) != len(archive):
        raise InvalidParameterError("base", f"have an answer for each of {len(archive)} rows", len(base))
    archive = archive.confirmed()  # where a file states a capacity, the sites have it
    write_page(file, _page(archive, page_data(archive, sites), title, base))


def _page(archive: Archive, found: PageData, title: str, base: Sequence[int] | None) -> str:
    regions = [(region, archive.noise[region].describe()) for region in archive.noise.regions]
    regions += [("in no region", found.fixed)] if found.fixed else []
    worth = Worth.of(archive, found.words)
    verdicts, further = findings.verdict_rows(archive, found.words)
    content: dict[str, object] = {
        "n_graphs": len(archive),
        "words": found.words,
        "nodes": archive.nodes is not None,
        "holds": found.data["holds"],
        "whose": "each certificate by itself" if archive.together == 1 else _all_together(archive),
        "verdicts": verdicts[:SHOWN_VERDICTS],
        "more_verdicts": verdicts[SHOWN_VERDICTS:],
        "further_radii": further,
        "weighed": archive.certificates.verdicts is not None,
        "by_radius": findings.has_radii_by_evidence(archive),
        "threat": archive.certificates.listed_threat,
        "verdict_notes": findings.verdict_notes(verdicts),
        "left_out": findings.without_attacks(archive, found.words),
        "together": findings.changed_together(archive),
        "advice": findings.votes_to_settle(findings.by_size(archive), found.words),
        "known": any(label is not None for label in archive.labels),
        "numbers": list(_numbers(archive, found.counts, found.words, base, worth)),
        "notices": [*found.notices, *(() if worth is None else worth.notices)],
        "gain_heads": GAIN_HEADS,
        "gains": [] if worth is None else worth.cells,
        "gain_notes": [] if worth is None else worth.notes,
        "blind_model": "" if worth is None else worth.about,
        "origin": [
            {"Noise by region": regions, "Settings": list(_settings(archive, found.words))},
            {"Provenance": [(name, text) for name, text in archive.provenance.items() if text]},
        ],
    }
    return assemble("report/templates/report.html", content, title=title, scripts=SCRIPTS, data=found.data)


def _numbers(
    archive: Archive, counts: ReportSummary, words: Words, base: Sequence[int] | None, worth: Worth | None
) -> Iterator[KeyFigure]:
    yield KeyFigure(f"{counts.n_graphs:,}", words.one if counts.n_graphs == 1 else words.many, "number-graphs")
    if counts.majority is not None:
        among = "" if counts.n_labelled == counts.n_graphs else f" of the {counts.n_labelled:,} with a known class"
        yield KeyFigure(f"{counts.n_right / counts.n_labelled:.1%}", f"answered right{among}", "number-accuracy")
        if base is not None:
            n_right = sum(answer == label for answer, label in zip(base, archive.labels, strict=True))
            clean = f"right without noise: the base classifier{among}"
            yield KeyFigure(f"{n_right / counts.n_labelled:.1%}", clean, "number-base")
        share = f"{counts.majority[1] / counts.n_labelled:.1%}"
        name = archive.class_names[counts.majority[0]]
        yield KeyFigure(share, "majority-class share", "number-majority", name)
        yield from () if worth is None else worth.figures
    else:
        yield KeyFigure("unknown", "accuracy: the true classes are not known", "number-accuracy")
    yield KeyFigure(f"{counts.n_abstained / counts.n_graphs:.1%}", "abstentions", "number-abstained")
    yield from findings.smallest_attack(archive)
    whose = "each certificate" if archive.together == 1 else _all_together(archive)
    alpha = at_most(archive.certificates.alpha or archive.alpha)
    yield KeyFigure(alpha, f"alpha, the failure probability of {whose}", "number-alpha")


def _all_together(archive: Archive) -> str:
    return f"all {archive.together:,} certificates together"


def _settings(archive: Archive, words: Words) -> Iterator[tuple[str, str]]:
    shown = {BLIND, "noise"} if archive.settings.get("noise") == archive.noise.to_dict() else {BLIND}
    for purpose, setting, votes in (
        ("estimation", "samples", archive.votes.counts),
        ("selection", "selection_samples", archive.votes.selection),
    ):
        numbers = "none: the class is chosen on the estimation votes, at the price of alpha"
        if votes is not None:
            least, most = int(votes.sum(axis=1).min()), int(votes.sum(axis=1).max())
            numbers = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            shown |= {setting} if least == most == archive.settings.get(setting) else set()
        yield f"{purpose} votes per {words.one}", numbers
    if archive.votes.audit is not None:
        yield "audit", str(archive.votes.audit).replace("graphs", str(archive.settings.get("objects", "graphs")))
    if archive.max_radius is not None:
        asked = zip(archive.noise.axes, archive.max_radius, strict=True)
        yield "max_radius", ", ".join(f"{axis} {count:,}" for axis, count in asked)
    yield from _flattened({name: value for name, value in archive.settings.items() if name not in shown})


def _flattened(settings: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flattened(value, f"{prefix}{name}.")
        elif value is not None:  # a setting that was left out
            yield prefix + name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _check_sites(archive: Archive, sites: Sequence[Sites]) -> None:
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


SHOWN_VERDICTS = 24  # rows of the table of verdicts; those beyond are unfolded by a click
SAMPLES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""The numbers of samples that the page can try at the observed share of votes."""


class PageData(NamedTuple):
    """What the page says; `data` is the JSON value that the browser draws from."""

    data: dict[str, Any]
    counts: ReportSummary
    notices: list[Notice]
    fixed: str
    words: Words


def page_data(archive: Archive, sites: Sequence[Sites]) -> PageData:
    """Computes the page of an archive; `sites` are those of its graphs, or other objects."""
    objects = objects_of(archive).tolist()
    words = Words.of(sites, nodes=archive.nodes is not None)
    attack = AttackWords(archive.noise, words)
    slices = Slices(archive)
    slice_radii = _slice_radii(slices.of, slices.pairs, len(archive))  # first: notices say whether all were proved
    counts = findings.summary(archive)
    shares = surfaces(archive, slices)
    bounds = archive.certificates.bounds
    drawn = Drawings(sites, archive.noise.regions)
    data: dict[str, Any] = {
        "axes": list(archive.noise.axes),
        "axis_words": [list(each) for each in attack.axes],  # of one flip, of several, and as a title
        "in_short": _once(in_short(one, attack, archive.class_names) for one in archive.certificates),
        "regions": [
            {
                "name": region,
                "law": law.describe(),
                "axes": [archive.noise.axes.index(region + each) for each in law.suffixes],
            }
            for region, law in ((region, archive.noise[region]) for region in archive.noise.regions)
        ],
        "classes": list(archive.class_names),
        "fallback": None if bounds.blind is None else bounds.blind.threshold,
        "holds": holds_at_least(archive.certificates.alpha or archive.alpha),
        "labelled": counts.n_labelled,
        "pairs": [list(pair) for pair in slices.pairs],
        "slack": slack_tables(archive, slices)._asdict(),
        "surface": {
            **{name: getattr(shares, name) for name in ("ticks", "graphs", "labelled", "majority")},
            **_lists(shares.certified, shares.right),
        },
        "slices": slice_radii,
        "graphs": {
            "names": list(archive.names),
            "truth": [-1 if label is None else label for label in archive.labels],
            "answer": bounds.labels.tolist(),
            "right": right(archive.certificates, archive.labels).astype(int).tolist(),
            "failure": bounds.failure.tolist(),
            "multi": (bounds.other < bounds.failure).astype(int).tolist(),
            "blind": None if bounds.blind is None else bounds.blind.answers.tolist(),
            "votes": archive.votes.counts.tolist(),
            "limits": _once(limits_of(archive)),
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
        "more_samples": _more_samples(archive),
        "drawings": {"blocks": drawn.blocks, "names": drawn.names, "graphs": drawn.graphs},
        "drawn": {"nodes": DRAWN_NODES, "edges": DRAWN_EDGES},
    }
    shown = [drawn.graphs[each] is not None for each in objects]
    beyond = verdict_data(archive, [sites[each] for each in objects], shown, attack)
    if beyond is not None:
        data["evidence"] = beyond
    if shares.by_counts is not None:
        by_counts = _slice_radii(slices.by_counts, slices.pairs, len(archive))
        data["evidence"] |= {"slices": by_counts, "surface": _lists(*shares.by_counts)}
    if (threat := archive.certificates.listed_threat) is not None:
        data["threat"] = threat_data(archive.certificates, threat)
    fixed = findings.fixed_pairs([each.n_fixed for each in sites], words)
    hidden = findings.invisible_sites(archive.noise, archive.capacities, archive.anchored)
    fixed = " ".join(filter(None, (fixed, hidden)))
    return PageData(data, counts, list(findings.notices(archive, counts, slices, words)), fixed, words)


def _n_fixed_edges(sites: Sites) -> int:
    """How many sites of an object that are not 0 lie in no region."""
    everywhere = sum(len(sites.clean.nonzero(layer.name)[1]) for layer in sites.clean.layers)
    return everywhere - sum(sum(counts[1:]) for counts in sites.counts)


def _slice_radii(radii_of: Callable[[int, Pair], Radii], pairs: Sequence[Pair], n: int) -> list[dict[str, Any]]:
    """By pair of axes, the different frontiers, each as one row of numbers, and which of them each graph has."""
    found = (_once([radii_of(graph, pair) for graph in range(n)]) for pair in pairs)
    return [{"radii": [list(chain.from_iterable(x)) for x in each["different"]], "of": each["of"]} for each in found]


def _lists(certified: Grids, right: Grids) -> dict[str, Any]:
    return {"certified": [grid.tolist() for grid in certified], "right": [grid.tolist() for grid in right]}


def _by_region(archive: Archive, sites: Sites, values: Sequence[int]) -> list[int]:
    found = dict(zip(sites.regions, values, strict=True))
    return [found[region] for region in archive.noise.regions]


def _once(values: Iterable[Hashable]) -> dict[str, Any]:
    """The different values in the order in which they come, and for each value its number."""
    numbers: dict[Hashable, int] = {}
    of = [numbers.setdefault(value, len(numbers)) for value in values]
    return {"different": list(numbers), "of": of}


def _more_samples(archive: Archive) -> dict[str, Any]:
    """The failure probability that other numbers of samples would show if the votes fell in the same shares.

    That is a question, not a certificate: the limits are computed in floats and rounded up, not proved. Votes for
    other classes are rounded up too, so that fewer samples never look better than they are.
    """
    from scipy.special import betainccinv  # noqa: PLC0415  (slow to import)

    counts, labels = archive.votes.counts, archive.certificates.labels
    totals = counts.sum(axis=1)
    others = totals - counts[np.arange(len(labels)), labels]
    everything = spends_on_all_classes(archive.votes, alpha=archive.counts_alpha, family_size=archive.together)
    rows, of = np.unique(np.stack([others, totals, everything], axis=1), axis=0, return_inverse=True)
    samples = np.array(SAMPLES)
    wrong = np.ceil(np.round(rows[:, :1] * (samples / rows[:, 1:2]), 6))
    alpha, apart = archive.counts_alpha, archive.votes.selection is not None
    shares = [
        share_of_alpha(alpha, counts.shape[1], selected_apart=apart, all_classes=each, family_size=archive.together)
        for each in (False, True)
    ]
    inside = wrong < samples
    limits = betainccinv(wrong + 1, np.where(inside, samples - wrong, 1), np.array(shares, dtype=float)[rows[:, 2:]])
    failure = np.where(inside, np.minimum(limits * (1 + 1e-9), 1.0), 1.0)
    return {"samples": list(SAMPLES), "failure": failure.tolist(), "of": of.reshape(-1).tolist()}
