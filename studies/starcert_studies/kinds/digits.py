"""Plain vectors: scikit-learn's images of digits, 8 × 8 pixels in black and white, with a border and a centre.

A support vector machine and a small network, both trained with the noise. Every pixel is a site; the outer ring, which
is mostly white and says little, has much more noise than the rest. Each image is judged by p_A and by evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from typing_extensions import override

import starcert as sc
from starcert.classifiers import Classifier, from_sklearn, from_torch
from starcert.models.fitting import own_generator
from starcert.transforms import noisy_rows
from starcert_studies.figures import radius_maps, verdict_bars
from starcert_studies.report import Report
from starcert_studies.trials import Tested, Trial, TrialStudy
from starcert_studies.voted import TWO_FLIPS, Labels, Question, Tally, Voted, tallies

INNER = np.pad(np.ones((6, 6), dtype=bool), 1).ravel()
REGIONS = {"centre": np.flatnonzero(INNER), "border": np.flatnonzero(~INNER)}
"""The 36 pixels inside, and the 28 of the outer ring."""
NOISE = sc.Noise(centre=0.1, border=0.4)
BLACK, TAUGHT = 8, 1297  # a pixel is black from this of 16 shades on; images to learn from, the other 500 are tested


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
    def outcome(self, report: Report, found: Mapping[str, Voted], results: Mapping[str, Any]) -> None:
        bars = dict[str, list[Tally]]()
        for model, voted in found.items():
            tally = tallies(Question(TWO_FLIPS, 0, 2), voted.judged)
            one, two = (tally[name] for name in ("any flip", "any 2 flips"))
            values: dict[str, Any] = {"model": model, "voted": voted, "one": one, "two": two}
            check = partial(report.check, enough=self.samples >= 5_000 and self.images == 100, **values)
            report.sentence(**values)
            check("right", voted.accuracy > 0.75)
            check("any_flip", one.by_evidence >= one.by_p_A + 10)
            check("any_two_flips", two.broken > 0)
            row = {"model": model, "images": len(voted), "majority": voted.majority, "smoothed": voted.accuracy}
            report.table("models", [row | voted.certified_at([(1, 0), (0, 1), (0, 7), (0, 28)])])
            counts = ({"radius": at, **each._asdict()} for at, each in tally.items())
            report.table("radii", counts, model=model)
            bars |= {f"{model}, {radius}": [each] for radius, each in tally.items()}
        report.picture("radii", radius_maps, found, {"centre": 2, "border": 28}, 1.0, "images")
        report.picture("verdicts", verdict_bars, bars, "images")
