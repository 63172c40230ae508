"""The data for the scripts of a report: one JSON value, column by column.

A row is what is classified: a graph, a node of a graph, or another object. What is known about the object itself (how
large it is, how it is drawn) is there once, however many rows are about it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.archive import Archive
from starcert.claims.answers import right
from starcert.claims.sentences import in_short
from starcert.math.confidence import spends_on_all_classes
from starcert.math.limits import share_of_alpha
from starcert.objects.graph_kind import DRAWN_EDGES, DRAWN_NODES
from starcert.objects.kinds import kind_of
from starcert.objects.sites import Sites
from starcert.objects.words import AttackWords, Words
from starcert.report.blocks import Curve, Curves, Panel
from starcert.report.drawings import Drawings, threat_data, verdict_data
from starcert.report.radius_tables import Grids, Pair, Radii, Slices, Surfaces, limits_of, slack_tables, surfaces
from starcert.system.errors import InvalidParameterError
from starcert.system.output import holds_at_least

MAX_LINES = 4  # axes in one plot; more have a small plot each


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


SAMPLES = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""The numbers of samples that the page can try at the observed share of votes."""


class PageData(NamedTuple):
    """The parts of a page that neither a terminal nor a program shows."""

    data: dict[str, Any]  # the JSON value that the browser draws from
    curves: Curves  # the shares certified, axis by axis
    verified: bool  # whether everything beyond the frontiers is proved, too


def page_data(archive: Archive, sites: Sequence[Sites]) -> PageData:
    """Computes the page of an archive; `sites` are those of its graphs, or other objects."""
    objects = objects_of(archive).tolist()
    words = Words.of(sites, nodes=archive.nodes is not None)
    attack = AttackWords(archive.noise, words)
    slices = Slices(archive)
    slice_radii = _slice_radii(slices.of, slices.pairs, len(archive))  # first: notices say whether all were proved
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
        "labelled": sum(label is not None for label in archive.labels),
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
    return PageData(data, _axis_curves(shares, slices.pairs, attack, words), slices.verified)


def _axis_curves(shares: Surfaces, pairs: Sequence[Pair], attack: AttackWords, words: Words) -> Curves:
    """For each axis the share certified, and that right and certified, by the number of flips there alone.

    Either has a plot of all axes; of many axes, each has a small plot with both.
    """
    found = list[tuple[str, str, Curve]]()  # the axis and what is counted, with a line for it
    for axis, (_, _, title) in enumerate(attack.axes):
        p = next(place for place, pair in enumerate(pairs) if axis in pair)
        kinds = (
            ("right and certified", shares.right, shares.labelled[p]),
            ("certified", shares.certified, shares.graphs[p]),
        )
        for what, grids, whole in kinds:
            along = grids[p][:, 0] if len(pairs[p]) > 1 and pairs[p][0] == axis else grids[p][0]
            counts = along.tolist() if whole else []  # None where nothing is known
            y = [n / whole for n in (counts[: counts.index(None)] if None in counts else counts)]
            x = shares.ticks[axis][: len(y)]
            hover = [f"{title}: {n:,}\n{share:.1%} {what}" for n, share in zip(x, y, strict=True)]
            if y:
                found.append((title, what, Curve(f"{title.removeprefix('flips in ')}: {what}", x, y, hover)))
    y_title, many = f"share of {words.many}", len(attack.axes) > MAX_LINES
    if many:
        panels = [
            Panel(title, y_title, [line._replace(name=what) for own, what, line in found if own == title][::-1])
            for title in dict.fromkeys(title for title, _, _ in found)
        ]
    else:
        panels = [
            Panel("flips on one axis", y_title, [line for _, own, line in found if own == what])
            for what in dict.fromkeys(what for _, what, _ in found)
        ]
    about = f"Shares of {words.many} certified, axis by axis."
    return Curves(name="curves-plot", panels=panels, about=about, many=many)


def _n_fixed_edges(sites: Sites) -> int:
    """The number of sites of an object that are not 0 and lie in no region."""
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
