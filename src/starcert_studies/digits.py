"""Plain vectors: scikit-learn's images of digits, 8 × 8 pixels in black and white, with a border and a centre.

A support vector machine and a small network, both trained with the noise. Every pixel is a site; the outer ring, which
is mostly white and says little, has much more noise than the rest. Each image is judged by p_A and by evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from typing_extensions import override

import starcert as sc
from starcert.classifiers import Classifier, from_sklearn, from_torch
from starcert.models.fitting import own_generator
from starcert.pages.plots.drawing import COLOURS, PAGE, new_figure
from starcert.transforms import noisy_rows
from starcert_studies.figures import radius_maps, verdict_bars
from starcert_studies.outcome import Report
from starcert_studies.study import Tested, Trial, TrialStudy
from starcert_studies.voted import TWO_FLIPS, Labels, Question, Voted, tallies

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INNER = np.pad(np.ones((6, 6), dtype=bool), 1).ravel()
REGIONS = {"centre": np.flatnonzero(INNER), "border": np.flatnonzero(~INNER)}
"""The 36 pixels inside, and the 28 of the outer ring."""

NOISE = sc.Noise(centre=0.1, border=0.4)
BOX = {"centre": 2, "border": 28}
BLACK = 8
"""A pixel is black from this of 16 shades on."""

TAUGHT = 1297
"""Images to learn from; the other 500 are tested."""


def digits(seed: int) -> tuple[list[sc.Bits], Labels]:
    """All images as rows of bits, in an order that the seed decides, and their digits."""
    found = load_digits()
    order = np.random.default_rng(seed).permutation(len(found.target))
    return sc.Bits.rows(found.data[order] >= BLACK), found.target[order].astype(np.int64)


@dataclass(frozen=True)
class Digits(TrialStudy):
    """Two models on the same images."""

    quick: ClassVar = {"samples": 500, "images": 20, "epochs": 20}

    # votes of the support vector machine on each image, and the most at attacked versions of it; the network, which
    # is many times faster, has ten times as many
    samples: int = 5_000
    images: int = 100  # how many test images are certified
    epochs: int = 60  # of training the network, each on a fresh noisy copy of every image
    seed: int = 1  # of the split, of training and of all votes

    @override
    def trials(self) -> dict[str, list[Trial]]:
        return {
            model: [Trial(model, model, NOISE, n, self.seed, self.images, 10, question=Question(TWO_FLIPS, n, 2))]
            for model, n in (("svc", self.samples), ("network", 10 * self.samples))
        }

    @override
    def data(self, key: str) -> Tested:
        rows, labels = digits(self.seed)
        return Tested(rows[TAUGHT:], labels[TAUGHT:], NOISE, REGIONS)

    @override
    def model(self, key: str) -> Classifier:
        rows, labels = digits(self.seed)
        taught, labels = rows[:TAUGHT], labels[:TAUGHT]
        if key == "svc":
            return from_sklearn(SVC(C=3).fit(noisy_rows(taught, NOISE, REGIONS, seed=self.seed), labels))
        copies = noisy_rows(taught, NOISE, REGIONS, seed=self.seed, copies=self.epochs)
        inputs, classes = torch.from_numpy(copies).float().view(self.epochs, len(labels), -1), torch.from_numpy(labels)
        with own_generator(self.seed, "cpu"):
            network = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
            optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
            for copy in inputs:
                for batch in torch.split(torch.randperm(len(labels)), 64):
                    optimizer.zero_grad()
                    torch.autograd.backward(torch.nn.functional.cross_entropy(network(copy[batch]), classes[batch]))
                    optimizer.step()
        return from_torch(network, n_classes=10)

    @override
    def fact_keys(self) -> dict[str, str]:
        return {f"clean-{model}": model for model in ("svc", "network")}

    @override
    def outcome(self, report: Report, found: Mapping[str, Voted], results: Mapping[str, Any]) -> None:
        tally = {model: tallies(Question(TWO_FLIPS, 0, 2), voted.judged) for model, voted in found.items()}
        for model, voted in found.items():
            values = {"model": model, "clean": results[f"clean-{model}"], "voted": voted}
            one, two = (tally[model][name] for name in ("any flip", "any 2 flips"))
            check = partial(
                report.check, enough=self.samples >= 5_000 and self.images == 100, one=one, two=two, **values
            )
            report.sentence(one=one, **values)
            check("right", voted.accuracy > 0.75)
            check("any_flip", one.shared >= one.by_p_A + 10)
            check("any_two_flips", two.broken > 0)
            row = {"model": model, "votes": int(voted.votes.counts[0].sum()), "images": len(voted),
                   "majority": voted.majority, "without_noise": values["clean"], "smoothed": voted.accuracy,
                   **voted.certified_at([(1, 0), (0, 1), (0, 7), (0, 28)])}  # fmt: skip
            report.table("models", [row])
        for model, some in tally.items():
            counts = (
                {"radius": radius, "images": each.graphs, **each.columns(), "own_votes": each.own_votes}
                for radius, each in some.items()
            )
            report.table("radii", ({"model": model, **each} for each in counts))
        lost = sum(one.lost for some in tally.values() for one in some.values())
        report.check("nothing_lost", lost == 0, lost=lost)
        bars = {f"{model}, {radius}": [one] for model, some in tally.items() for radius, one in some.items()}
        report.picture("images", self.images_figure)
        report.picture("radii", radius_maps, found, BOX, 1.0, "images")
        report.picture("verdicts", verdict_bars, bars, "images")

    def images_figure(self) -> Figure:
        """One test image of each digit above a noisy copy."""
        from matplotlib.colors import ListedColormap  # noqa: PLC0415  (loaded where something is drawn)

        every, labels = digits(self.seed)
        rows = [every[labels.tolist().index(digit, TAUGHT)] for digit in range(10)]
        shown = [np.array([row.row for row in rows]), noisy_rows(rows, NOISE, REGIONS, seed=0)]
        figure = new_figure(PAGE, 1.5)
        for line, images in zip(figure.subplots(2, 10), shown, strict=True):
            for ax, image in zip(line, images, strict=True):
                ax.imshow(image.astype(float).reshape(8, 8), cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
                border = np.ma.masked_array(np.ones(64), INNER).reshape(8, 8)
                ax.imshow(border, cmap=ListedColormap([COLOURS[1]]), alpha=0.25)
                ax.set_axis_off()
        return figure
