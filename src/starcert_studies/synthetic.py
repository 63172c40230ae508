"""The synthetic data: what noise does to certificates where the motif alone decides the class.

A hundred noise levels, each voted on by the vertex-histogram machine for 100 test graphs: the grid of p_motif and
p_random, and isotropic noise. Independent draws of the data show how far the figures depend on the draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert.classifiers import Classifier, from_sklearn
from starcert.pages.plots.drawing import COLUMN, colour_of, layout, new_figure, noise_matrix
from starcert_studies.figures import class_examples, draws_figure, majority_line, number_grids, radius_maps
from starcert_studies.outcome import Check, Outcome, Picture, Table, Words, decided_if, published, within
from starcert_studies.study import Study, Tested, Trial, motif_machine, split_accuracies
from starcert_studies.voted import ALPHA, Grid, Voted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDY", "Synthetic"]

PAPER = published("synthetic")
WINDOW = (7, 7)
"""The radii that the score counts."""

FEATURED = sc.Noise(motif=0.02, random=0.45)
FEATURED_RADIUS, FEATURED_BOX = (1, 45), (4, 45)
ISOTROPIC = tuple(round(0.02 * k, 2) for k in range(1, 11))
SHOWN_ISOTROPIC = (0.02, 0.04, 0.08, 0.12, 0.2)
"""Half of the isotropic levels are left out of the figure, as in the paper, so that curves can be told apart."""

DRAWN_ROWS = (0.45, 0.25, 0.05)
"""The p_random that other draws of the data are voted on at: the largest, the middle, the least."""

Key = tuple[int, bool]
"""The seed of the data, and whether the noise is isotropic."""


@dataclass(frozen=True)
class Synthetic(Study):
    """A grid of noise levels, isotropic noise, and further draws of the data."""

    words = Words("synthetic")
    quick: ClassVar = {"samples": 10_000, "draws": 5, "draw_samples": 2_000}

    samples: int = 100_000  # estimation votes for each graph at each level of the grid
    # the same at p = (0.02, 0.45) and at the isotropic levels, whose claims are about every graph
    featured_samples: int = 100_000
    draws: int = 19  # how many further draws of the data there are
    draw_samples: int = 5_000  # estimation votes for each graph of those
    seed: int = 1  # of all votes; the draws of the data are numbered from 10,000 times it
    data_seed: int = 0  # of the study's own data

    @override
    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        study = super().from_options(samples, seed, quick)
        if samples is None:
            return study
        return replace(study, featured_samples=samples, draw_samples=max(100, samples // 20))

    @property
    def seeds(self) -> list[int]:
        """Of all draws of the data, the study's own first."""
        return [self.data_seed, *range(10_000 * self.seed + 1, 10_000 * self.seed + 1 + self.draws)]

    @override
    def trials(self) -> dict[Any, list[Trial]]:
        def trial(data: int, noise: sc.Noise, samples: int) -> list[Trial]:
            name = "-".join(f"{region}-{noise[region].change(0):g}" for region in noise.regions)
            return [Trial(f"{data}-{name}-{samples}", (data, "all" in noise), noise, samples, self.seed)]

        made: dict[Any, list[Trial]] = {}
        for data in self.seeds:
            rows, samples = DRAWN_ROWS, self.draw_samples
            if data == self.data_seed:
                rows, samples = PAPER["p_random"], self.samples
            made[data] = trial(data, FEATURED, self.featured_samples)
            for r, m in product(rows, PAPER["p_motif"]):
                made[data, m, r] = trial(data, sc.Noise(motif=m, random=r), samples)
        return made | {p: trial(self.data_seed, sc.Noise(all=p), self.featured_samples) for p in ISOTROPIC}

    @override
    def data(self, key: Key) -> Tested:
        data, isotropic = motif_machine(key[0])[1], key[1]
        noise, regions = (sc.Noise(all=0.1), None) if isotropic else (FEATURED, data.partition)
        return Tested.of(data.test.graphs, data.test.labels, noise, regions)

    @override
    def model(self, key: Key) -> Classifier:
        return from_sklearn(motif_machine(key[0])[0])

    @override
    def fact_keys(self) -> dict[str, int]:
        return {f"machine-{data}": data for data in self.seeds}

    @override
    def facts(self, key: int) -> dict[str, Any]:
        """How many support vectors a machine has, and its accuracies without noise."""
        machine, data = motif_machine(key)
        accuracies = split_accuracies(from_sklearn(machine), data) if key == self.data_seed else {}
        return {"support_vectors": len(machine.svc_.support_), "accuracies": accuracies}

    @override
    def outcome(self, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> Outcome:
        machines = [results[f"machine-{data}"] for data in self.seeds]
        levels = {at: each.as_if(self.samples) for at, each in found.items() if isinstance(at, tuple)}

        def grid(figure: Callable[[Voted], float], rows: Sequence[float], data: int = self.data_seed) -> Grid:
            return np.array([[figure(levels[data, m, r]) for m in PAPER["p_motif"]] for r in rows])

        rows = PAPER["p_random"]
        findings = Findings(
            self,
            machines[0]["accuracies"],
            [each["support_vectors"] for each in machines],
            featured=[found[data] for data in self.seeds],
            isotropic={p: found[p] for p in ISOTROPIC},
            score=grid(score, rows),
            score_range=(grid(lambda v: score(v.shifted(-3)), rows), grid(lambda v: score(v.shifted(3)), rows)),
            accuracy=grid(lambda v: v.accuracy, rows),
            plurality=grid(lambda v: v.plurality, rows),
            smallest_p_lower=grid(lambda v: v.smallest_p_lower, rows),
            draws=[
                {
                    "score": grid(score, DRAWN_ROWS, data),
                    "plurality": grid(lambda v: v.plurality, DRAWN_ROWS, data),
                    "smallest_p_lower": grid(lambda v: v.smallest_p_lower, DRAWN_ROWS, data),
                }
                for data in self.seeds
            ],
        )
        values = {
            "base_accuracy": findings.base_accuracy,
            "majority_share": findings.featured[0].majority,
            "certified_at_1_45": dict(zip(self.seeds, findings.featured_shares, strict=True)),
            "support_vectors": dict(zip(self.seeds, findings.vectors, strict=True)),
        }
        return Outcome(findings.summary(), findings.pictures(), findings.tables(), findings.checks(), values)


@dataclass(frozen=True)
class Findings:
    """What the votes give. Grids have rows as the published p_random and columns as p_motif."""

    study: Synthetic  # the study
    base_accuracy: Mapping[str, float]  # of the base classifier, on training, validation and test graphs
    vectors: Sequence[int]  # how many support vectors the machine of each draw of the data has, the study's own first
    featured: Sequence[Voted]  # each draw at p = (0.02, 0.45)
    isotropic: Mapping[float, Voted]  # the isotropic levels, by p
    score: Grid  # how many radii of `WINDOW` hold for more than half of the test graphs
    score_range: tuple[Grid, Grid]  # the same with every vote count moved by three standard errors, down and up
    accuracy: Grid  # an abstention is not right
    plurality: Grid  # the share of graphs whose true class has the most votes
    smallest_p_lower: Grid  # of all test graphs
    draws: Sequence[Mapping[str, Grid]]  # score, plurality and smallest p_lower of each draw, with rows as `DRAWN_ROWS`

    @cached_property
    def featured_shares(self) -> list[float]:
        """For each draw, the share right and certified at `FEATURED_RADIUS`."""
        return [voted.share(FEATURED_RADIUS) for voted in self.featured]

    @cached_property
    def isotropic_shares(self) -> dict[float, Grid]:
        """The share right and certified at each isotropic level, by up to three flips."""
        return {p: voted.shares((3,)) for p, voted in self.isotropic.items()}

    def summary(self) -> list[str]:
        """What was found, in sentences."""
        farthest = max(0, *(int((share == 1).sum()) - 1 for share in self.isotropic_shares.values()))
        worst = [float(draw["smallest_p_lower"][0, 1]) for draw in self.draws]
        values = {
            "study": self.study,
            "share": self.featured_shares[0],
            "farthest": farthest,
            "plural": "" if farthest == 1 else "s",
            "n_draws": len(self.draws),
            "whole": self.featured_shares.count(1),
            "least_vectors": min(self.vectors),
            "most_vectors": max(self.vectors),
            "least": min(worst),
            "greatest": max(worst),
        }
        return [STUDY.words.summary(number, **values) for number in range(3)]

    def tables(self) -> list[Table]:
        """Every number that a figure shows."""
        places = list(product(enumerate(PAPER["p_random"]), enumerate(PAPER["p_motif"])))
        grid = [
            {"p_motif": m, "p_random": r, "score": int(self.score[i, j]), "published_score": PAPER["score"][i][j],
             "accuracy": self.accuracy[i, j], "plurality": self.plurality[i, j],
             "published_accuracy": PAPER["accuracy"][i][j], "smallest_p_lower": self.smallest_p_lower[i, j],
             "published_smallest_p_lower": PAPER["smallest_p_lower"][i][j]}
            for (i, r), (j, m) in places
        ]  # fmt: skip
        draws = [
            {"data_seed": seed, "support_vectors": vectors, "p_random": r, "p_motif": m,
             "score": int(draw["score"][i, j]), "plurality": draw["plurality"][i, j],
             "smallest_p_lower": draw["smallest_p_lower"][i, j]}
            for seed, vectors, draw in zip(self.study.seeds, self.vectors, self.draws, strict=True)
            for (i, r), (j, m) in product(enumerate(DRAWN_ROWS), enumerate(PAPER["p_motif"]))
        ]  # fmt: skip
        anisotropic = [
            {"r_motif": i, "r_random": j, "share": float(share)}
            for (i, j), share in np.ndenumerate(self.featured[0].shares(FEATURED_BOX))
        ]
        isotropic = [
            {"p": p, "radius": radius, "share": float(share), "smallest_p_lower": self.isotropic[p].smallest_p_lower}
            for p, shares in self.isotropic_shares.items()
            for radius, share in enumerate(shares)
        ]
        base = [{"graphs": name, "accuracy": share} for name, share in self.base_accuracy.items()]
        hidden = {"grid": grid, "anisotropic": anisotropic, "isotropic": isotropic, "draws": draws}
        table = STUDY.words.table
        return [*(table(name, rows, shown=False) for name, rows in hidden.items()), table("base_accuracy", base)]

    def pictures(self) -> list[Picture]:
        """Every figure, in the order of the paper."""
        data, p_motif = motif_machine(self.study.data_seed)[1], PAPER["p_motif"]
        own, *others = (draw["smallest_p_lower"][0] for draw in self.draws)
        grids = {"score": (self.score, 0, (0.0, 16.0)), "accuracy": (self.plurality, 2, (0.5, 1.0)),
                 "smallest_p_lower": (self.smallest_p_lower, 2, (0.4, 1.0))}  # fmt: skip
        draw: dict[str, Callable[[], Figure]] = {
            "graphs": partial(class_examples, data, layout, 2.6),
            "noise_matrix": self.noise_figure,
            **{name: partial(beside, name, *grid) for name, grid in grids.items()},
            "draws": partial(
                draws_figure, p_motif, own, PAPER["smallest_p_lower"][0], others, {"one half": [0.5] * len(p_motif)},
                xlabel="flip probability p_motif", ylabel="smallest p_lower", ylim=(0.3, 1.02),
            ),
            "anisotropic": partial(radius_maps, {"": self.featured[0]}, FEATURED_BOX, 1.2),
            "isotropic": self.isotropic_figure,
        }  # fmt: skip
        return [STUDY.words.picture(name, each) for name, each in draw.items()]

    def noise_figure(self) -> Figure:
        """The noise of each node pair of a graph."""
        figure, data = new_figure(COLUMN, 2.7), motif_machine(self.study.data_seed)[1]
        assert data.partition is not None
        noise_matrix(data.partition.sites(data.test.graphs[0]), FEATURED, ax=figure.add_subplot())
        return figure

    def isotropic_figure(self) -> Figure:
        """The share right and certified by flips anywhere, a curve for each p."""
        figure = new_figure(COLUMN, 2.3)
        ax = figure.add_subplot()
        for number, p in enumerate(SHOWN_ISOTROPIC):
            shares, colour = self.isotropic_shares[p], colour_of(number)
            ax.plot(range(4), shares, marker="os^Dv"[number], ms=4, lw=1.2, color=colour, label=f"p = {p:g}")
        majority_line(ax, self.isotropic[0.02].majority, 2.4)
        ax.set(xlabel="flips anywhere", ylabel="share right and certified", xticks=range(4), ylim=(-0.03, 1.05))
        ax.legend(frameon=False)
        return figure

    def checks(self) -> list[Check]:
        """The paper's claims, as trends or numbers."""
        study, shares = self.study, self.isotropic_shares
        check = partial(STUDY.words.check, study=study)
        low, high = self.score_range
        always = self.accuracy == 1
        falls = int((low[:, 1:] > high[:, :-1]).sum())
        # The first row is the largest p_random: downwards the score must not rise where every answer is right.
        rises = int(((low[1:] > high[:-1]) & always[:-1] & always[1:]).sum())
        reachable, enough = is_reachable(study.samples), study.featured_samples >= 100_000
        whole, further = (
            [p for p, share in shares.items() if share[1] == 1],
            [p for p, share in shares.items() if share[2] > 0],
        )
        accurate = sum(share[0] == 1 for share in shares.values())
        named = ["p = " + ", ".join(f"{p:g}" for p in some) if some else "none" for some in (whole, further)]
        every = self.featured[0].shares(FEATURED_RADIUS)
        drawn = f"over p_random = {', '.join(f'{r:g}' for r in DRAWN_ROWS)} and all p_motif"
        means = {name: [float(draw[name].mean()) for draw in self.draws] for name in ("score", "plurality")}
        bounds = [float(draw["smallest_p_lower"][:, :6].mean()) for draw in self.draws]
        rows = [PAPER["p_random"].index(r) for r in DRAWN_ROWS]
        paper = {name: np.array(PAPER[name], float)[rows] for name in ("score", "accuracy", "smallest_p_lower")}
        numbers = [
            within(f"mean score {drawn}", float(paper["score"].mean()), means["score"], digits=2, limits=(0.0, 64.0)),
            within(f"mean accuracy, as the paper counts it, {drawn}", float(paper["accuracy"].mean()),
                   means["plurality"], rounding=0.005, limits=(0.0, 1.0)),
            within("mean of the smallest p_lower over the same levels with p_motif up to 0.12",
                   float(paper["smallest_p_lower"][:, :6].mean()), bounds, rounding=0.005, limits=(0.0, 1.0)),
        ]  # fmt: skip
        fewer = f"{study.samples:,} votes, where the paper has 100,000."
        return [
            check("base", set(self.base_accuracy.values()) == {1}, **dict[str, Any](self.base_accuracy)),
            check("falls", falls == 0, enough=reachable, falls=falls, cells=low[:, 1:].size),
            check("rises", rises == 0, enough=reachable, rises=rises),
            check("highest", self.score[0, 0] == self.score.max(), enough=reachable, first=self.score[0, 0],
                  highest=self.score.max()),
            check("random", (self.plurality[:, 0] == 1).all(), share=self.plurality[:, 0].min()),
            check("motif", self.plurality[0, -1] < self.plurality[0, 0], share=self.plurality[0, -1]),
            check("every", every.min() == 1, enough=enough, share=every[FEATURED_RADIUS], n_draws=len(self.featured),
                  worst=1 - self.featured[0].smallest_p_lower, needed=sc.slack(FEATURED, FEATURED_RADIUS),
                  whole=self.featured_shares.count(1)),
            check("accurate", accurate == len(shares), enough=enough, levels=accurate),
            check("one_flip", whole == [0.02], enough=enough, whole=named[0], share=shares[0.02][1],
                  beyond=max(share[1] for p, share in shares.items() if p > 0.02)),
            check("two_flips", any(p > 0.02 for p in further), enough=enough, further=named[1]),
            *decided_if(study.samples >= 100_000, numbers, fewer),
        ]  # fmt: skip


def score(voted: Voted) -> float:
    """How many radii of `WINDOW` hold for more than half of the test graphs, right and certified."""
    return sc.metrics.score(voted.certificates, voted.labels, max_radius=WINDOW)


def is_reachable(samples: int) -> bool:
    """Whether this many unanimous votes give the paper's score at every level; with fewer, their number decides it."""
    failure = sc.clopper_pearson(sc.Votes([[samples, 0]], selection=[[1, 0]]), alpha=ALPHA).failure[0]
    return all(
        (sc.slack_table(sc.Noise(motif=m, random=r), WINDOW) > failure).sum() >= least
        for r, row in zip(PAPER["p_random"], PAPER["score"], strict=True)
        for m, least in zip(PAPER["p_motif"], row, strict=True)
    )


def beside(name: str, values: Grid, digits: int, limits: tuple[float, float]) -> Figure:
    """The same grid here and in the paper, on one scale."""
    title = name.replace("_", " ")
    panels = {f"{title}, here": values, f"{title}, in the paper": PAPER[name]}
    rows, columns = ([f"{p:g}" for p in PAPER[key]] for key in ("p_random", "p_motif"))
    names = ("flip probability p_random", "flip probability p_motif", title)
    return number_grids([panels], rows, columns, names=names, limits=limits, digits=digits, height=2.7)


STUDY = Synthetic
