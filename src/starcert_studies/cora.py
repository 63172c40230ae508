"""Nodes of Cora-ML: words of papers and links between them, each noisy alone, and both at once.

The setting of sparse_smoothing's demonstration, and what it leaves out. Its certificate for two kinds of sites at once
fills a product of cells in an order that is not theirs; what that says of the same votes stands beside what is true.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from starcert.certificates.certify import Certificates, certify
from starcert.certificates.metrics import accuracy, certified_share, majority_share
from starcert.certificates.slack import rho_lower, slack
from starcert.math.confidence import clopper_pearson
from starcert.objects.binding import bind_all
from starcert.pages.plots.drawing import PAGE, new_figure
from starcert.pages.plots.maps import RadiusMap
from starcert_studies.cora_votes import NOISES, REGIONS, CoraSettings, cora, split_nodes, vote_on
from starcert_studies.levels import ALPHA, read_votes
from starcert_studies.outcome import Check, Outcome, Picture, Table
from starcert_studies.parts import Part, StudyParts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from starcert.objects.laws import Flip

__all__ = ["TITLE", "checks", "run", "settings", "unsorted_rho"]

TITLE = "Cora-ML: the nodes of one graph"

BOXES = {"words": (20, 8), "links": (10, 4), "both": (4, 2, 18, 6)}
"""The largest radius that is looked at on each axis of a noise."""

JOINT = ((0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 3, 1), (1, 0, 1, 0), (1, 0, 3, 1), (2, 0, 5, 1), (1, 1, 1, 1), (2, 1, 7, 2))
"""Radii over both at once: links deleted and added, words deleted and added."""

Labels = npt.NDArray[np.int64]


def settings(samples: int | None, seed: int, quick: bool) -> CoraSettings:
    """The settings that a command line asks for."""
    return CoraSettings(samples or 60, 60, seed) if quick else CoraSettings(samples or 100_000, seed=seed)


def run(settings: CoraSettings, parts: StudyParts) -> Outcome:
    """The whole study."""
    data = cora()
    done = parts.run([Part(name, vote_on, (name, settings)) for name in NOISES], "votes")
    labels = data.labels[split_nodes(data.labels, settings.seed).test]
    found = {name: _certificates(name, done[name]) for name in NOISES}
    shares = {name: certified_share(found[name], max_radius=BOXES[name]) for name in NOISES}
    right = {name: certified_share(found[name], labels, max_radius=BOXES[name]) for name in NOISES}
    return Outcome(
        _summary(found, shares, done, labels),
        [Picture("ratio", "Share of test nodes that are certified at each radius.", partial(_maps, shares))],
        [
            _networks(found, done, labels, settings),
            *(_radii(name, shares[name], right[name]) for name in ("words", "links")),
            _joint(found["both"], labels),
        ],
        checks(found, shares, labels, settings),
    )


def _certificates(name: str, found: dict[str, Any]) -> Certificates:
    """The certificates of all test nodes under a noise."""
    graph = cora().graph.with_bits("x") if "words" in NOISES[name] else cora().graph
    problem = bind_all([graph], NOISES[name], {region: REGIONS[region] for region in NOISES[name]})
    votes = read_votes(found)
    rows = len(votes.counts)
    return certify(
        clopper_pearson(votes, alpha=ALPHA),
        problem.noise,
        capacity=problem.capacities * rows,
        anchored=problem.anchored * rows,
    )


def unsorted_rho(noise: dict[str, Flip], radius: tuple[int, ...], p: float) -> float:
    """What is left of p under an attack on two regions, by cells in the order of a product, which is not theirs.

    Cells of each region are filled from those that lose most; their products are taken row after row, as if that were
    the same order. It is how a published joint certificate goes wrong, and is here to be compared with.
    """
    sides = []
    for law, (deleted, added) in zip(noise.values(), (radius[:2], radius[2:]), strict=True):
        delete, add = law.delete, law.add
        clean = np.convolve(_masses(deleted, delete), _masses(added, add))
        attacked = np.convolve(_masses(deleted, 1 - add), _masses(added, 1 - delete))
        order = np.argsort(attacked / clean, kind="stable")
        sides.append((clean[order], attacked[order]))
    (clean, attacked), (more_clean, more_attacked) = sides
    masses, after = np.outer(clean, more_clean).ravel(), np.outer(attacked, more_attacked).ravel()
    before = np.concatenate([[0], np.cumsum(masses)[:-1]])
    taken = np.clip((p - before) / np.where(masses > 0, masses, 1), 0, 1)
    return float((taken * after).sum())


def _masses(n: int, p: float) -> npt.NDArray[np.float64]:
    """Of how many of n sites flip."""
    return np.asarray(binom.pmf(np.arange(n + 1), n, p))


def checks(
    found: dict[str, Certificates], shares: dict[str, npt.NDArray[np.float64]], labels: Labels, settings: CoraSettings
) -> list[Check]:
    """What is documented of the nodes of Cora-ML, and whether it is so here."""
    majority = majority_share(labels)
    made = []
    for name, certificates in found.items():
        share = accuracy(certificates, labels)
        claim = f"{name}: smoothed, more than 70% of the test nodes are answered right"
        made.append(Check(claim, "not in the paper", f"{share:.1%}; constant {majority:.1%}", share > 0.7, True))
    claim = "words: more than half of the test nodes survive any 5 words deleted"
    ratio = float(shares["words"][5, 0])
    made.append(Check(claim, "not in the paper", f"{ratio:.1%}", ratio > 0.5, True))
    claim = "both at once: cells in the order of a product claim that more is left of p_A than is"
    more = {radius: claimed - left for radius, claimed, left in _claims(found["both"])}
    worst = max(more, key=lambda radius: more[radius])
    measured = f"up to {more[worst]:.3f}, at {worst}"
    made.append(Check(claim, "not in the paper", measured, more[worst] > 0.01, True))
    if settings.samples < 100_000:
        made = [check.undecided("Documented of 100,000 votes.") for check in made]
    return made


def _networks(found: dict[str, Certificates], done: dict[str, Any], labels: Labels, settings: CoraSettings) -> Table:
    rows = []
    for name, certificates in found.items():
        part = done[name]
        abstained = float(np.mean([one.abstained for one in certificates]))
        rows.append(
            [name, settings.samples, len(labels), majority_share(labels), accuracy(part["clean"], labels),
             accuracy(certificates, labels), abstained, part["seconds"]["training"], part["seconds"]["votes"],
             part["device"]]
        )  # fmt: skip
    columns = ["noisy", "votes", "nodes", "constant", "without_noise", "smoothed", "abstained", "training_s", "votes_s",
               "device"]  # fmt: skip
    about = (
        "A network for each noise, trained with it: the share of the most frequent class among the test nodes, right "
        "answers without noise and smoothed, nodes without an answer, and seconds."
    )
    return Table("networks", about, columns, rows)


def _radii(name: str, shares: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> Table:
    rows = [
        [deleted, added, float(shares[deleted, added]), float(right[deleted, added])]
        for deleted, added in product(*map(range, shares.shape))
        if shares[deleted, added] > 0
    ]
    about = f"Shares of test nodes that are certified, and that are right and certified, where {name} are noisy."
    return Table(name, about, ["deleted", "added", "certified", "right_and_certified"], rows)


def _joint(certificates: Certificates, labels: Labels) -> Table:
    """Both at once, beside what cells in the wrong order say of the same bounds."""
    noise, lower = NOISES["both"], certificates.bounds.p_lower
    laws: Any = {region: noise[region] for region in noise}
    rows = []
    for radius in JOINT:
        certified = np.array([one.certified(radius) for one in certificates])
        survive = 1 - lower < slack(noise, radius)
        claimed = np.array([unsorted_rho(laws, radius, float(p)) > 0.5 for p in lower])
        rows.append([*radius, *(float(each.mean()) for each in (certified & (certificates.labels == labels), certified,
                                                                survive, claimed))])  # fmt: skip
    columns = ["links_deleted", "links_added", "words_deleted", "words_added", "right_and_certified", "certified",
               "by_p_A_alone", "claimed_by_unsorted_cells"]  # fmt: skip
    about = (
        "Shares of test nodes where links and words are noisy at once: certified, and right; by p_A alone, without "
        "bounds on the other classes; and what a product of cells, taken as sorted, claims of the same p_A."
    )
    return Table("both", about, columns, rows)


def _claims(certificates: Certificates) -> list[tuple[tuple[int, ...], float, float]]:
    """For each radius over both what is left of the largest p_A: as cells in the order of a product say, and truly."""
    noise, p = NOISES["both"], float(certificates.bounds.p_lower.max())
    laws: Any = {region: noise[region] for region in noise}
    return [(radius, unsorted_rho(laws, radius, p), rho_lower(noise, radius, p)) for radius in JOINT]


def _summary(
    found: dict[str, Certificates], shares: dict[str, npt.NDArray[np.float64]], done: dict[str, Any], labels: Labels
) -> list[str]:
    sentences = []
    for name, certificates in found.items():
        one = tuple(int(size > 1 and axis == 0) for axis, size in enumerate(shares[name].shape))
        sentences.append(
            f"{name}: right on {accuracy(done[name]['clean'], labels):.1%} of {len(labels):,} nodes without noise, "
            f"on {accuracy(certificates, labels):.1%} smoothed (a constant answer on {majority_share(labels):.1%}); "
            f"{float(shares[name][one]):.1%} certified against one deletion ({certificates.noise.axes[0]}). "
            f"{done[name]['seconds']['votes']:.0f} s of votes on {done[name]['device']}."
        )
    return sentences


def _maps(shares: dict[str, npt.NDArray[np.float64]]) -> Figure:
    """Two maps side by side, and two cuts through the radii over both."""
    both = shares["both"]
    cuts = {
        "words noisy": (shares["words"], NOISES["words"].axes),
        "links noisy": (shares["links"], NOISES["links"].axes),
        "both noisy, no link attacked": (both[0, 0], NOISES["both"].axes[2:]),
        "both noisy, one link deleted": (both[1, 0], NOISES["both"].axes[2:]),
    }
    figure = new_figure(PAGE, 6.5)
    axes = figure.subplots(2, 2).ravel()
    for ax, (title, (share, names)) in zip(axes, cuts.items(), strict=True):
        chart = RadiusMap((names[0], names[1]), share, None, False, "nodes")
        chart.plot(ax, bar=False).set_title(title)
        for axis in (ax.xaxis, ax.yaxis):
            axis.get_major_locator().set_params(integer=True)
    chart.bar(axes[0].collections[0], list(axes))
    return figure
