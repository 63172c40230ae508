"""Kernels as base classifiers, at p = (0.01, 0.45): the one that noise confuses least certifies most.

NSPD is there twice, as it is defined and as it was published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from starcert import models
from starcert.classifiers import from_sklearn
from starcert.classifiers.base import Classifier
from starcert.datasets import motif
from starcert.objects.noise import Noise
from starcert_studies.figures import radius_maps
from starcert_studies.report import Report, published
from starcert_studies.trials import Tested, Trial, TrialStudy, model_of, split_accuracies
from starcert_studies.voted import Voted

KERNELS: dict[str, tuple[str, dict[str, int]]] = {
    "vertex_histogram": ("vertex_histogram_svm", {}),
    "nspd": ("nspd_svm", {}),
    "nspd_radius_0": ("nspd_svm", {"r": 0}),
    "graphlet": ("graphlet_svm", {}),
}
"""The model of each, and its parameters."""

PUBLISHED = {"vertex_histogram": "vertex_histogram", "nspd_radius_0": "nspd", "graphlet": "graphlet"}
"""The kernels that are compared with the published ones, and what those are called."""

PAPER = published("kernels")
NOISE = Noise(dict(zip(("motif", "random"), PAPER["p"], strict=True)))
BOX = {"motif": 8, "random": 45}
BLOCK = 5
"""Test graphs in a part: half a minute of the slower kernels."""

Key = tuple[str, int]
"""A kernel, and the seed of the data."""


@dataclass(frozen=True)
class Kernels(TrialStudy):
    """The same data and noise for four kernels."""

    quick: ClassVar = {"samples": 500, "test": 20, "draws": 0, "draw_samples": 500}

    samples: int = 10_000  # estimation votes for each graph
    test: int = 100  # how many test graphs
    draws: int = 3  # how many further draws of the data there are, by kernel
    draw_samples: int = 1_000  # estimation votes for each of their graphs
    seed: int = 1  # of all votes
    data_seed: int = 0  # of the study's own data

    @override
    def trials(self) -> dict[Key, list[Trial]]:
        first = 10_000 * self.seed + 1
        drawn = [(kernel, data) for kernel in KERNELS for data in range(first, first + self.draws)]
        own = [(kernel, self.data_seed) for kernel in KERNELS]
        return {
            key: [Trial("-".join(map(str, key)), key, NOISE, samples, self.seed, self.test, BLOCK)]
            for keys, samples in ((drawn, self.draw_samples), (own, self.samples))
            for key in keys
        }

    @override
    def data(self, key: Key) -> Tested:
        data = motif(seed=key[1])
        return Tested(data.test.graphs, data.test.labels, NOISE, data.partition)

    @override
    def model(self, key: Key) -> Classifier:
        data, (name, parameters) = motif(seed=key[1]), KERNELS[key[0]]
        return from_sklearn(getattr(models, name)(**parameters).fit(data.train.graphs, data.train.labels))

    @override
    def fact_keys(self) -> dict[str, Key]:
        return {f"clean-{kernel}": (kernel, self.data_seed) for kernel in KERNELS}

    @override
    def facts(self, key: Key) -> dict[str, float]:
        """The share of right answers without noise, on training, validation and test graphs."""
        return split_accuracies(model_of(self, key), motif(seed=key[1]))

    @override
    def outcome(self, report: Report, found: Mapping[Key, Voted], results: Mapping[str, Any]) -> None:
        own = {kernel: found[kernel, self.data_seed] for kernel in KERNELS}
        clean = {kernel: results[f"clean-{kernel}"] for kernel in KERNELS}
        draws = {kernel: [voted.smallest_p_lower] for kernel, voted in own.items()}
        for (kernel, data), voted in found.items():
            if data != self.data_seed:
                draws[kernel].append(voted.as_if(self.samples).smallest_p_lower)
        rows = (
            {"kernel": kernel, **clean[kernel], "smoothed": voted.accuracy, "smallest_p_lower": voted.smallest_p_lower,
             "published": PAPER["smallest_p_lower"][kernel.removesuffix("_radius_0")],
             "least_of_draws": min(draws[kernel]), "greatest_of_draws": max(draws[kernel]),
             **voted.certified_at([(1, 45), (2, 45)])}
            for kernel, voted in own.items()
        )  # fmt: skip
        report.table("kernels", rows)
        shown = {kernel.replace("_", " "): voted for kernel, voted in own.items()}
        bounds = "; ".join(f"{name} {each.accuracy:.0%}, {each.smallest_p_lower:.5f}" for name, each in shown.items())
        report.sentence(bounds=bounds)
        report.picture("radii", radius_maps, shown, BOX, 1.1, values={"study": self})
        self.check_claims(report, own, clean, draws)

    def check_claims(
        self,
        report: Report,
        own: Mapping[str, Voted],
        clean: Mapping[str, Mapping[str, float]],
        draws: Mapping[str, Sequence[float]],
    ) -> None:
        """The paper's claims."""
        shares = ", ".join(f"{kernel} {voted.accuracy:.0%}" for kernel, voted in own.items())
        always = all(voted.accuracy == 1 for voted in own.values()) and all(c["test"] == 1 for c in clean.values())
        report.check("right", always, shares=shares)
        alike, defined = (
            {kernel: own[kernel].smallest_p_lower for kernel in some}
            for some in (PUBLISHED, ("vertex_histogram", "nspd", "graphlet"))
        )
        enough = self.samples >= PAPER["samples"] and self.test == 100
        report.check("least", min(alike, key=alike.__getitem__) == "graphlet", enough=enough, bounds=_bounds(alike))
        report.check("most", max(defined, key=defined.__getitem__) == "nspd", enough=enough, bounds=_bounds(defined))
        for kernel, name in PUBLISHED.items():
            published_bound = PAPER["smallest_p_lower"][name]
            report.number("number", published_bound, draws[kernel], rounding=5e-6, enough=enough, kernel=kernel)


def _bounds(found: Mapping[str, float]) -> str:
    return ", ".join(f"{kernel} {bound:.5f}" for kernel, bound in found.items())
