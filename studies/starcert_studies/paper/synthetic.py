"""The synthetic data: what noise does to certificates where the motif alone decides the class.

The vertex-histogram machine votes at a hundred levels of p_motif and p_random, and under isotropic noise. Independent
draws of the data show how far the figures depend on the draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert_studies.figures import beside_paper, class_examples, draws_figure, level_curves, noise_figure, radius_maps
from starcert_studies.report import Report, cells, published
from starcert_studies.trials import MotifStudy, Trial, motif_machine
from starcert_studies.voted import Grid, Voted, measure_grids, unanimous_score

PAPER = published("synthetic")
WINDOW = (7, 7)  # the radii that the score counts
FEATURED = sc.Noise(motif=0.02, random=0.45)
FEATURED_RADIUS, FEATURED_BOX = (1, 45), (4, 45)
ISOTROPIC = tuple(round(0.02 * k, 2) for k in range(1, 11))
SHOWN_ISOTROPIC = (0.02, 0.04, 0.08, 0.12, 0.2)  # half of them, as in the paper, so that curves can be told apart
DRAWN_ROWS = (0.45, 0.25, 0.05)  # the p_random that other draws of the data are voted on at
COMPARED = {
    "score": ("score", 0, (0.0, 16.0), None, 0.0),
    "accuracy": ("plurality", 2, (0.5, 1.0), None, 0.005),
    "smallest_p_lower": ("smallest_p_lower", 2, (0.4, 1.0), 6, 0.005),
}
"""Numbers of the paper: the name here; digits and limits of its figure; how many p_motif the mean is of, rounding."""


@dataclass(frozen=True)
class Findings:
    """What the votes give: of each draw of the data, the study's own first, or of that alone."""

    machines: Sequence[Mapping[str, Any]]  # the facts about the machine of each draw
    featured: Sequence[Voted]  # each draw at p = (0.02, 0.45)
    isotropic: Mapping[float, Voted]  # the isotropic levels, by p
    grids: Mapping[str, Grid]  # `Voted.measures`, with rows as the published p_random and columns as p_motif
    draws: Sequence[Mapping[str, Grid]]  # the same for each draw, with rows as `DRAWN_ROWS`

    @cached_property
    def certified(self) -> list[float]:
        """For each draw, the share right and certified at `FEATURED_RADIUS`."""
        return [voted.share(FEATURED_RADIUS) for voted in self.featured]

    @cached_property
    def curves(self) -> dict[float, Grid]:
        """The share right and certified at each isotropic level, by up to three flips."""
        return {p: voted.shares((3,)) for p, voted in self.isotropic.items()}

    @property
    def headline(self) -> dict[str, Any]:
        """What sentences say of `certified`."""
        return {"certified": self.certified, "whole": self.certified.count(1), "n_draws": len(self.certified)}


@dataclass(frozen=True)
class Synthetic(MotifStudy):
    """A grid of noise levels, isotropic noise, and further draws of the data."""

    quick: ClassVar = {"samples": 10_000, "draws": 5, "draw_samples": 2_000}
    derived: ClassVar = {"featured_samples": lambda votes: votes, "draw_samples": lambda votes: max(100, votes // 20)}

    samples: int = 100_000  # estimation votes for each graph at each level of the grid
    featured_samples: int = 100_000  # the same at p = (0.02, 0.45) and isotropic levels: claims about every graph
    draws: int = 19  # how many further draws of the data there are
    draw_samples: int = 5_000  # estimation votes for each graph of those
    seed: int = 1  # of all votes; the draws of the data are numbered from 10,000 times it
    data_seed: int = 0  # of the study's own data

    @override
    def trials(self) -> dict[Any, list[Trial]]:
        def trial(data: int, noise: sc.Noise, samples: int) -> list[Trial]:
            name = "-".join(f"{region}-{noise[region].change(0):g}" for region in noise.regions)
            return [Trial(f"{data}-{name}-{samples}", (data, "all" in noise), noise, samples, self.seed)]

        made: dict[Any, list[Trial]] = {}
        for data in self.data_seeds:
            own = data == self.data_seed
            rows, samples = (PAPER["p_random"], self.samples) if own else (DRAWN_ROWS, self.draw_samples)
            made[data] = trial(data, FEATURED, self.featured_samples)
            for r, m in product(rows, PAPER["p_motif"]):
                made[data, m, r] = trial(data, sc.Noise(motif=m, random=r), samples)
        return made | {p: trial(self.data_seed, sc.Noise(all=p), self.featured_samples) for p in ISOTROPIC}

    @override
    def fact_keys(self) -> dict[str, tuple[int, bool]]:
        return {f"machine-{data}": (data, False) for data in self.data_seeds}

    @override
    def outcome(self, report: Report, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> None:
        def grids(data: int, rows: Sequence[float]) -> dict[str, Grid]:
            levels = ([found[data, m, r].as_if(self.samples) for m in PAPER["p_motif"]] for r in rows)
            return measure_grids(levels, WINDOW)

        made = Findings(
            [results[f"machine-{data}"] for data in self.data_seeds],
            [found[data] for data in self.data_seeds],
            {p: found[p] for p in ISOTROPIC},
            grids(self.data_seed, PAPER["p_random"]),
            [grids(data, DRAWN_ROWS) for data in self.data_seeds],
        )
        self.describe(report, made)
        self.check_claims(report, made)

    def describe(self, report: Report, found: Findings) -> None:
        """Sentences, tables and figures."""
        vectors, accuracies = [each["support_vectors"] for each in found.machines], found.machines[0]["accuracies"]
        curves, grids, featured, p_motif = found.curves, found.grids, found.featured[0], PAPER["p_motif"]
        farthest = max(0, *(int((share == 1).sum()) - 1 for share in curves.values()))
        own, *others = (draw["smallest_p_lower"][0] for draw in found.draws)
        worst = [float(bounds[1]) for bounds in (own, *others)]
        report.sentence(
            0, 1, 2, study=self, farthest=farthest, plural="" if farthest == 1 else "s", worst=(min(worst), max(worst)),
            vectors=(min(vectors), max(vectors)), **found.headline,
        )  # fmt: skip
        columns = {**grids, **{f"published_{name}": PAPER[name] for name in COMPARED}}
        report.table("grid", cells(columns, p_random=PAPER["p_random"], p_motif=p_motif))
        report.table("anisotropic", cells({"share": featured.shares(FEATURED_BOX)}, r_motif=None, r_random=None))
        lower = [[voted.smallest_p_lower] * 4 for voted in found.isotropic.values()]
        isotropic = {"share": list(curves.values()), "smallest_p_lower": lower}
        report.table("isotropic", cells(isotropic, p=ISOTROPIC, radius=None))
        for seed, number, draw in zip(self.data_seeds, vectors, found.draws, strict=True):
            rows = cells(draw, p_random=DRAWN_ROWS, p_motif=p_motif)
            report.table("draws", rows, data_seed=seed, support_vectors=number)
        report.table("base_accuracy", cells({"accuracy": list(accuracies.values())}, graphs=list(accuracies)))
        _, data = motif_machine(self.data_seed)
        report.picture("graphs", class_examples, data, 2.6)
        report.picture("noise_matrix", noise_figure, data, FEATURED)
        for name, (ours, digits, limits, *_) in COMPARED.items():
            report.picture(name, beside_paper, PAPER, name, grids[ours], digits, limits)
        paper, half = PAPER["smallest_p_lower"][0], {"one half": [0.5] * len(p_motif)}
        report.picture("draws", draws_figure, p_motif, own, paper, others, half, **self.texts["axes"])
        report.picture("anisotropic", radius_maps, {"": featured}, FEATURED_BOX, 1.2)
        some = {f"p = {p:g}": curves[p] for p in SHOWN_ISOTROPIC}
        report.picture("isotropic", level_curves, some, found.isotropic[0.02].majority)
        report.values.update(base_accuracy=accuracies, majority_share=featured.majority)
        for name, each in (("certified_at_1_45", found.certified), ("support_vectors", vectors)):
            report.values[name] = dict(zip(self.data_seeds, each, strict=True))

    def check_claims(self, report: Report, found: Findings) -> None:
        """The paper's claims, as trends or numbers."""
        curves, grids, accuracies = found.curves, found.grids, found.machines[0]["accuracies"]
        low, high, always, plurality = grids["low"], grids["high"], grids["accuracy"] == 1, grids["plurality"]
        falls = int((low[:, 1:] > high[:, :-1]).sum())
        # The first row is the largest p_random: downwards the score must not rise where every answer is right.
        rises = int(((low[1:] > high[:-1]) & always[:-1] & always[1:]).sum())
        enough, whole = self.featured_samples >= 100_000, self.samples >= 100_000
        levels = (sc.Noise(motif=m, random=r) for r, m in product(PAPER["p_random"], PAPER["p_motif"]))
        best = [unanimous_score(noise, self.samples, WINDOW) for noise in levels]
        reachable = bool(np.all(best >= np.ravel(PAPER["score"])))  # with fewer votes, their number decides the score
        first, highest, needed = grids["score"][0, 0], grids["score"].max(), sc.slack(FEATURED, FEATURED_RADIUS)
        accurate = sum(share[0] == 1 for share in curves.values())
        one, two = [p for p in curves if curves[p][1] == 1], [p for p in curves if curves[p][2] > 0]
        named = ["p = " + ", ".join(f"{p:g}" for p in some) if some else "none" for some in (one, two)]
        beyond = max(share[1] for p, share in curves.items() if p > 0.02)
        check = partial(report.check, study=self, worst=1 - found.featured[0].smallest_p_lower, **found.headline)
        check("base", set(accuracies.values()) == {1}, **accuracies)
        check("falls", falls == 0, enough=reachable, falls=falls, cells=low[:, 1:].size)
        check("rises", rises == 0, enough=reachable, rises=rises)
        check("highest", first == highest, enough=reachable, first=first, highest=highest)
        check("random", (plurality[:, 0] == 1).all(), least=plurality[:, 0].min())
        check("motif", plurality[0, -1] < plurality[0, 0], last=plurality[0, -1])
        check("every", found.certified[0] == 1, enough=enough, needed=needed)
        check("accurate", accurate == len(curves), enough=enough, levels=accurate)
        check("one_flip", one == [0.02], enough=enough, named=named[0], one_flip=curves[0.02][1], beyond=beyond)
        check("two_flips", any(p > 0.02 for p in two), enough=enough, named=named[1])
        for name, (ours, _, _, last, rounding) in COMPARED.items():
            paper = np.array([PAPER[name][PAPER["p_random"].index(r)][:last] for r in DRAWN_ROWS], float).mean()
            means = [float(draw[ours][:, :last].mean()) for draw in found.draws]
            report.number(f"mean_{name}", float(paper), means, rounding=rounding, enough=whole, study=self)
