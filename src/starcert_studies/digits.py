"""Plain vectors: scikit-learn's images of digits, 8 × 8 pixels in black and white, with a border and a centre.

A support vector machine and a small network, both trained with the noise. Every pixel is a site; the outer ring, which
is mostly white and tells little, has much more noise than the rest. Each image is judged by p_A and by evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from starcert.certificates.metrics import accuracy, certified_share, majority_share
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.classifiers import from_sklearn, from_torch
from starcert.objects import Bits
from starcert.objects.binding import bind_all
from starcert.objects.noise import Noise
from starcert.pages.plots.drawing import COLOURS, PAGE, new_figure
from starcert.pages.plots.maps import RadiusMap, stacked
from starcert.system.threads import one_torch_thread
from starcert.transforms import noisy_rows
from starcert.voting.counting import answers_on
from starcert_studies.evidence_tallies import RadiusTally, tallies, verdict_bars
from starcert_studies.evidence_votes import TWO_FLIPS, Question, judged_votes
from starcert_studies.levels import Level, read_votes
from starcert_studies.outcome import Check, Outcome, Picture, Table
from starcert_studies.parts import Part, StudyParts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from starcert.classifiers.base import Classifier

__all__ = ["TITLE", "DigitsData", "DigitsSettings", "checks", "images_figure", "run", "settings", "trained"]

TITLE = "Digits: plain vectors in two regions"

INNER = np.pad(np.ones((6, 6), dtype=bool), 1).ravel()
REGIONS = {"centre": np.flatnonzero(INNER), "border": np.flatnonzero(~INNER)}
"""The 36 pixels inside, and the 28 of the outer ring."""

NOISE = Noise(centre=0.1, border=0.4)
BOX = {"centre": 2, "border": 28}
BLACK = 8
"""A pixel is black from this of 16 shades on."""

TAUGHT = 1297
"""So many of the 1,797 images are taught; the others are tested."""

MODELS = ("svc", "network")
BLOCK = 10
"""So many images are a part."""

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DigitsSettings:
    """What the study depends on.

    Attributes:
        samples: votes of the support vector machine on each image, and the most at attacked versions of it.
        network_samples: the same of the network, which is many times faster.
        images: how many test images are certified.
        epochs: of training the network, each on a fresh noisy copy of every image.
        seed: of the split, of training and of all votes.
    """

    samples: int = 5_000
    network_samples: int = 50_000
    images: int = 100
    epochs: int = 60
    seed: int = 1

    def votes_of(self, model: str) -> int:
        """How many votes a model has on each image."""
        return self.samples if model == "svc" else self.network_samples


def settings(samples: int | None, seed: int, quick: bool) -> DigitsSettings:
    """The settings that a command line asks for."""
    if quick:
        return DigitsSettings(samples or 500, 10 * (samples or 500), 20, 20, seed)
    return DigitsSettings(samples or 5_000, 10 * (samples or 5_000), seed=seed)


@dataclass(frozen=True)
class DigitsData:
    """The images as rows of bits, with their labels: those that are taught, and those that are tested."""

    taught: list[Bits]
    taught_labels: Labels
    tested: list[Bits]
    tested_labels: Labels

    @classmethod
    def split(cls, seed: int) -> DigitsData:
        """The images in an order that the seed decides."""
        found = load_digits()
        order = np.random.default_rng(seed).permutation(len(found.target))
        rows, labels = Bits.rows(found.data[order] >= BLACK), found.target[order].astype(np.int64)
        return cls(rows[:TAUGHT], labels[:TAUGHT], rows[TAUGHT:], labels[TAUGHT:])


@lru_cache(maxsize=2)
def trained(model: str, epochs: int, seed: int) -> tuple[SmoothedClassifier, DigitsData]:
    """A model that was taught noisy copies, smoothed; and the images."""
    data = DigitsData.split(seed)
    base: Classifier
    if model == "svc":
        base = from_sklearn(SVC(C=3).fit(noisy_rows(data.taught, NOISE, REGIONS, seed=seed), data.taught_labels))
    else:
        base = from_torch(_network(data, epochs, seed), n_classes=10)
    return SmoothedClassifier(base, NOISE, REGIONS), data


def _network(data: DigitsData, epochs: int, seed: int) -> torch.nn.Module:
    copies = noisy_rows(data.taught, NOISE, REGIONS, seed=seed, copies=epochs)
    rows = torch.from_numpy(copies).float().view(epochs, len(data.taught), -1)
    labels = torch.from_numpy(data.taught_labels)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for epoch in range(epochs):
            for batch in torch.split(torch.randperm(len(labels)), 64):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(rows[epoch, batch]), labels[batch])
                torch.autograd.backward(loss)
                optimizer.step()
    return model


def question_of(model: str, settings: DigitsSettings) -> Question:
    """What is asked about the images: any one and any two flips."""
    votes = settings.votes_of(model)
    noise = NOISE["centre"].change(0), NOISE["border"].change(0)
    return Question("digits", model, noise, TWO_FLIPS, votes, votes, 2, settings.images)


def block(model: str, at: int, settings: DigitsSettings) -> dict[str, Any]:
    """The votes of a model on some test images, and the verdicts."""
    with one_torch_thread():
        smoothed, data = trained(model, settings.epochs, settings.seed)
        some = slice(at, min(at + BLOCK, settings.images))
        problem, question = smoothed.problem(data.tested[some]), question_of(model, settings)
        votes = smoothed.vote(problem, samples=question.samples, seed=settings.seed, record=True, progress=False)
        assert votes.selection is not None
        truth = data.tested_labels[some].tolist()
        return {
            "estimation": votes.counts.tolist(),
            "selection": votes.selection.tolist(),
            "judged": judged_votes(smoothed, problem, votes, truth, question, settings.seed),
        }


def clean_accuracy(model: str, settings: DigitsSettings) -> float:
    """The share of right answers of a model without noise, on all test images."""
    with one_torch_thread():
        smoothed, data = trained(model, settings.epochs, settings.seed)
        answers = [int(answers_on(smoothed.classifier, smoothed.sites(row))[0]) for row in data.tested]
        return accuracy(answers, data.tested_labels)


def run(settings: DigitsSettings, parts: StudyParts) -> Outcome:
    """The whole study."""
    blocks = range(0, settings.images, BLOCK)
    work = []
    for model in MODELS:
        work += [Part(f"{model}-{at}", block, (model, at, settings), BLOCK) for at in blocks]
        work.append(Part(f"clean-{model}", clean_accuracy, (model, settings)))
    done = parts.run(work, "votes")
    data = DigitsData.split(settings.seed)
    labels = data.tested_labels[: settings.images]
    problem = bind_all(data.tested[: settings.images], NOISE, REGIONS)
    levels: dict[str, Level] = {}
    told: dict[str, list[RadiusTally]] = {}
    for model in MODELS:
        found = [done[f"{model}-{at}"] for at in blocks]
        joined = {name: [row for each in found for row in each[name]] for name in ("estimation", "selection", "judged")}
        levels[model] = Level.of(problem, read_votes(joined))
        told[model] = tallies(question_of(model, settings), joined["judged"])
    clean = {model: done[f"clean-{model}"] for model in MODELS}
    return Outcome(
        _summary(levels, told, labels, clean),
        [
            Picture(
                "images", "Test images, and a noisy copy of each; the border is shaded.", partial(images_figure, data)
            ),
            Picture(
                "radii",
                "Share of test images that are right and certified at each radius by p_A, by model.",
                partial(_maps, levels, labels),
            ),
            Picture(
                "verdicts",
                "Images that are answered right, by what is known about a radius (centre, border): certified by p_A, "
                "by evidence from the same votes, with votes at attacked images; open; broken.",
                partial(verdict_bars, [[one] for some in told.values() for one in some], "images"),
            ),
        ],
        [_models(levels, labels, clean, settings), _radii(told)],
        checks(levels, told, labels, settings),
    )


def checks(
    levels: dict[str, Level], told: dict[str, list[RadiusTally]], labels: Labels, settings: DigitsSettings
) -> list[Check]:
    """What is documented of the digits, and whether it is so here."""
    whole = settings.samples >= 5_000 and settings.images == 100
    few = "Documented of 5,000 and 50,000 votes on each of 100 images."
    made = []
    for model, level in levels.items():
        right, majority = accuracy(level.certificates, labels), majority_share(labels)
        claim = f"{model}: smoothed, more than 75% of the images are answered right"
        made.append(Check(claim, "not in the paper", f"{right:.0%}; majority {majority:.0%}", right > 0.75, True))
        one, two = (next(each for each in told[model] if each.radius == name) for name in ("any flip", "any 2 flips"))
        claim = f"{model}: evidence certifies any flip for 10 images more than p_A, or more"
        measured = f"{one.shared} by evidence, {one.by_p_A} by p_A, of {one.right} right"
        made.append(Check(claim, "not in the paper", measured, one.shared >= one.by_p_A + 10, True))
        claim = f"{model}: with their own votes, attacks of two flips are found that p_A can say nothing about"
        measured = f"{two.own} certified, {two.broken} broken, {two.open} open"
        made.append(Check(claim, "not in the paper", measured, two.broken > 0, True))
    made = made if whole else [check.undecided(few) for check in made]
    lost = sum(one.lost for some in told.values() for one in some)
    claim = "nothing that p_A certifies at its share of alpha is lost"
    return [*made, Check(claim, "not in the paper", f"{lost} lost", lost == 0, True)]


def _models(levels: dict[str, Level], labels: Labels, clean: dict[str, float], settings: DigitsSettings) -> Table:
    rows = []
    for model, level in levels.items():
        share = certified_share(level.certificates, labels, max_radius=BOX)
        rows.append(
            [model, settings.votes_of(model), len(labels), majority_share(labels), clean[model],
             accuracy(level.certificates, labels), float(share[1, 0]), float(share[0, 1]), float(share[0, 7]),
             float(share[0, 28])]
        )  # fmt: skip
    columns = ["model", "votes", "images", "majority", "without_noise", "smoothed", "certified_at_1_0",
               "certified_at_0_1", "certified_at_0_7", "certified_at_0_28"]  # fmt: skip
    about = (
        "Shares of images: the most frequent digit, right answers without noise (on all test images) and smoothed, and "
        "right and certified by p_A at radii (centre, border)."
    )
    return Table("models", about, columns, rows)


def _radii(told: dict[str, list[RadiusTally]]) -> Table:
    rows = [
        [model, one.radius, one.graphs, one.right, one.by_p_A, one.by_counts, one.shared, one.own, one.broken, one.open,
         one.own_votes]
        for model, some in told.items()
        for one in some
    ]  # fmt: skip
    columns = ["model", "radius", "images", "right", "by_p_A", "by_p_A_at_share", "by_evidence", "with_own_votes",
               "broken", "open", "own_votes"]  # fmt: skip
    about = "Images by radius (centre, border). All columns from by_p_A on are about right answers."
    return Table("radii", about, columns, rows)


def _summary(
    levels: dict[str, Level], told: dict[str, list[RadiusTally]], labels: Labels, clean: dict[str, float]
) -> list[str]:
    sentences = []
    for model, level in levels.items():
        one = next(each for each in told[model] if each.radius == "any flip")
        sentences.append(
            f"{model}: right on {clean[model]:.0%} of the test images without noise, on "
            f"{accuracy(level.certificates, labels):.0%} of {one.graphs} smoothed (the most frequent digit has "
            f"{majority_share(labels):.0%}). Any flip is certified by p_A for {one.by_p_A} of {one.right} right "
            f"images, by evidence from the same votes for {one.shared}, with votes at attacked images for {one.own}; "
            f"{one.broken} broken, {one.open} open."
        )
    return sentences


def _maps(levels: dict[str, Level], labels: Labels) -> Figure:
    maps = {
        model: RadiusMap.from_certificates(level.certificates, labels, max_radius=BOX, many="images")
        for model, level in levels.items()
    }
    return stacked(maps, 1.0)


def images_figure(data: DigitsData) -> Figure:
    """One test image of each digit above a noisy copy."""
    places = [int(np.flatnonzero(data.tested_labels == digit)[0]) for digit in range(10)]
    rows = [data.tested[place] for place in places]
    shown = [np.array([row.row for row in rows]), noisy_rows(rows, NOISE, REGIONS, seed=0)]
    figure = new_figure(PAGE, 1.5)
    for line, images in zip(figure.subplots(2, 10), shown, strict=True):
        for ax, image in zip(line, images, strict=True):
            ax.imshow(np.where(image, 1.0, 0.0).reshape(8, 8), cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
            ax.imshow(np.ma.masked_array(np.ones(64), INNER).reshape(8, 8), cmap=_tint(), alpha=0.25)
            ax.set_axis_off()
    return figure


def _tint() -> Any:  # noqa: ANN401  (matplotlib is loaded where something is drawn)
    from matplotlib.colors import ListedColormap  # noqa: PLC0415

    return ListedColormap([COLOURS[1]])
