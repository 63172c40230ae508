"""What evidence is asked in its study, and the verdicts: in blocks of graphs that are judged one after the other.

One draw says little: the machine on the motif data hangs on a handful of support vectors. So a question is asked of
several *draws*, each with its own data, or its own split of them, and a model trained anew. Draw k has the data seed k
(motif data), or the seed of the study + k for splits, weights, training and votes (MUTAG, PROTEINS).

Three data sets: the paper's motif data with the vertex histogram; MUTAG with both networks of its study, by
cross-validation; and PROTEINS, where a copy of it lies (see `datasets.tu`), with a GIN, for the question "any one flip
anywhere". Every graph is judged four times from one set of votes: by p_A at the whole alpha, by p_A at the share of
alpha that counts have beside evidence, by evidence from the same votes, and with votes at attacked graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier

from starcert.certificates.certificate import Certificate
from starcert.certificates.certify import certify
from starcert.certificates.evidence import with_evidence
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.classifiers import from_sklearn
from starcert.datasets import tu
from starcert.datasets.tu_files import local_names
from starcert.math.confidence import clopper_pearson
from starcert.math.evidence import counts_alpha
from starcert.models import vertex_histogram_svm
from starcert.objects.laws import Flip
from starcert.objects.noise import Noise
from starcert.system.threads import one_torch_thread
from starcert.voting.jobs import Job
from starcert_studies.levels import ALPHA, draw_of_data
from starcert_studies.parts import Part, StudyParts

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier
    from starcert.datasets.dataset import Dataset, Split
    from starcert.math.confidence import Votes
    from starcert.objects import Graph
    from starcert.objects.binding import Problem

__all__ = [
    "EvidenceSettings",
    "Judged",
    "Question",
    "Radius",
    "compute",
    "judged",
    "judged_votes",
    "questions",
    "settings",
    "support_vectors",
    "with_blind",
]

Radius: TypeAlias = tuple[int, int]
Judged: TypeAlias = dict[str, Any]

ONE_FLIP: tuple[Radius, ...] = ((1, 0), (0, 1))
TWO_FLIPS: tuple[Radius, ...] = (*ONE_FLIP, (2, 0), (1, 1), (0, 2))

MUTAG_NOISES = {(0.04, 0.2): 2, (0.02, 0.05): 3, (0.02, 0.02): 5}
"""Delete and add, and how many tenths of the votes each has: the weight of two flips grows like 1/p²."""

BLOCK = 10
"""So many graphs of the motif data, or proteins, are a part."""

MOST_NODES = 60
"""Larger proteins are left out."""


@dataclass(frozen=True)
class Question:
    """What is asked about the graphs of a data set.

    Attributes:
        data: "motif", "MUTAG" or "PROTEINS".
        model: the base classifier.
        noise: the flip probabilities of motif and random pairs, or of present pairs (delete) and absent ones (add).
        radii: on which radii.
        samples: votes on each graph.
        own_samples: the most votes at attacked versions of it; 0: none are asked for.
        max_flips: levels of more flips in all are not looked at; None: all within the radii.
        graphs: how many graphs; of MUTAG, how many folds of ten.
        draws: how many draws.
    """

    data: str
    model: str
    noise: tuple[float, float]
    radii: tuple[Radius, ...]
    samples: int
    own_samples: int
    max_flips: int | None
    graphs: int
    draws: int = 1

    @property
    def name(self) -> str:
        """Its name in files."""
        reach = "-".join(map(str, self.radii[-1]))
        return f"{self.data}-{self.model}-{self.noise[0]:g}-{self.noise[1]:g}-{reach}"

    @property
    def box(self) -> Radius:
        """The smallest box with all radii in it."""
        return max(r for r, _ in self.radii), max(r for _, r in self.radii)


@dataclass(frozen=True)
class EvidenceSettings:
    """What the study depends on.

    Attributes:
        samples: votes on each graph of the motif data; the others have theirs in proportion.
        own_samples: the most votes at attacked versions of such a graph.
        graphs: how many test graphs of PROTEINS and of each draw of the motif data; where the random pairs have the
            noise 0.45, 10 of them: draws differ by far more than graphs do.
        far: of how many of them all pairs of the random region and three of the motif are asked about: it takes long.
        folds: how many of the ten folds of MUTAG are tested.
        epochs: of training the networks on MUTAG.
        protein_epochs: of training on PROTEINS.
        proteins: whether there is a copy of PROTEINS.
        seed: of weights, splits, training and votes, in the first draw.
        draws: how many draws of the motif data; half as many at (2, 45), which takes long.
        repeats: how many cross-validations of MUTAG at the paper's noise, and how many splits of PROTEINS.
    """

    samples: int = 100_000
    own_samples: int = 2_000_000
    graphs: int = 100
    far: int = 5
    folds: int = 10
    epochs: int = 100
    protein_epochs: int = 50
    proteins: bool = True
    seed: int = 1
    draws: int = 20
    repeats: int = 2


def settings(samples: int | None, seed: int, quick: bool) -> EvidenceSettings:
    """The settings that a command line asks for."""
    there = "PROTEINS" in local_names()
    if quick:
        return EvidenceSettings(samples or 10_000, 100_000, 10, 0, 2, 20, 10, there, seed, 3, 1)
    return EvidenceSettings(samples or 100_000, proteins=there, seed=seed)


def questions(settings: EvidenceSettings) -> list[Question]:
    """All that is asked."""
    votes, own, n, few = settings.samples, settings.own_samples, settings.graphs, min(settings.graphs, BLOCK)
    most = own * 29 // 20  # three million in all, where there are 100,000 on the clean graph
    asked = [
        Question("motif", "histogram", (0.1, 0.1), TWO_FLIPS, votes, own, 2, n, settings.draws),
        Question("motif", "histogram", (0.06, 0.06), TWO_FLIPS, votes, own, 2, n, settings.draws),
        Question("motif", "histogram", (0.1, 0.45), ((0, 1), (0, 45)), votes, 0, None, few, settings.draws),
        Question("motif", "histogram", (0.02, 0.45), ((1, 45), (2, 45)), votes, most, None, few, settings.draws // 2),
    ]
    if settings.proteins:
        asked.append(
            Question(
                "PROTEINS", "gin", (0.05, 1 / 400), ONE_FLIP, max(votes // 5, 10), own // 4, 1, n, settings.repeats
            )
        )
    for noise, tenths in MUTAG_NOISES.items():
        for model in ("max", "sum") if settings.folds else ():
            some, draws = max(votes * tenths // 10, 10), settings.repeats if noise == (0.04, 0.2) else 1
            asked.append(Question("MUTAG", model, noise, TWO_FLIPS, some, own, 2, settings.folds, draws))
    if settings.far:
        far = min(settings.far, n)
        asked.append(Question("motif", "histogram", (0.02, 0.45), ((2, 45), (3, 45)), votes, most, None, far))
    return asked


def judged(
    smoothed: SmoothedClassifier, graphs: Sequence[Graph], truth: Sequence[int], question: Question, seed: int
) -> list[Judged]:
    """The verdicts on some graphs, as plain numbers and words, one entry a graph."""
    problem = smoothed.problem(graphs)
    votes = smoothed.vote(problem, samples=question.samples, seed=seed, record=True, progress=False)
    return judged_votes(smoothed, problem, votes, truth, question, seed)


def judged_votes(
    smoothed: SmoothedClassifier, problem: Problem, votes: Votes, truth: Sequence[int], question: Question, seed: int
) -> list[Judged]:
    """The same where the votes on the clean objects, with their flips, are there."""
    job = Job.of(smoothed.classifier, problem, seed)
    share = counts_alpha(ALPHA, evidence=True)
    paper, counts = (
        certify(
            clopper_pearson(votes, alpha=alpha),
            smoothed.noise,
            max_radius=question.box,
            capacity=problem.capacities,
        )
        for alpha in (ALPHA, share)
    )
    judging = partial(with_evidence, counts, job, alpha=ALPHA, max_flips=question.max_flips, advance=lambda _: None)
    shared = judging(most=0)
    own = judging(most=question.own_samples) if question.own_samples else shared
    return [
        {
            "truth": int(label),
            "class": a.label,
            "abstained": a.abstained,
            "p_lower": a.p_lower,
            "by_p_A": [a.certified(radius) for radius in question.radii],
            "by_counts": [b.certified(radius) for radius in question.radii],
            "shared": [_verdict(c, radius) for radius in question.radii],
            "own": [_verdict(d, radius) for radius in question.radii],
            "own_votes": 0 if d.verdicts is None else d.verdicts.own_votes,
            "open": {}
            if d.verdicts is None
            else {str(k): v.why for k, v in d.verdicts.levels.items() if v.kind == "open"},
        }
        for label, a, b, c, d in zip(truth, paper, counts, shared, own, strict=True)
    ]


def _verdict(one: Certificate, radius: Radius) -> str:
    """Whether all levels within a radius are certified, one of them is broken, or neither."""
    if one.certified(radius):
        return "certified"
    return "broken" if any(all(map(int.__le__, level, radius)) for level in one.broken) else "open"


def with_blind(found: list[Judged], taught: Split, tested: Split) -> list[Judged]:
    """The verdicts, and beside each the answer of a blind model: it sees how many nodes a graph has and their data.

    No flip of a node pair changes its answer. It is a forest of scikit-learn, with its default settings, on sums over
    the nodes.
    """
    forest = RandomForestClassifier(random_state=0).fit(_node_sums(taught), taught.labels)
    answers = forest.predict(_node_sums(tested)).tolist()
    return [one | {"blind": answer} for one, answer in zip(found, answers, strict=True)]


def _node_sums(some: Split) -> npt.NDArray[np.float64]:
    return np.array(
        [[graph.n_nodes, *np.asarray(graph.node_data.get("x", [[]])).sum(axis=0)] for graph in some.graphs], dtype=float
    )


@lru_cache(maxsize=1)
def _motif(data_seed: int) -> tuple[Classifier, Dataset]:
    data = draw_of_data(data_seed)
    return from_sklearn(vertex_histogram_svm().fit(data.train.graphs, data.train.labels)), data


def support_vectors(draw: int) -> int:
    """How many training graphs the machine of a draw of the motif data hangs on."""
    data = draw_of_data(draw)
    return len(vertex_histogram_svm().fit(data.train.graphs, data.train.labels).svc_.support_)


def motif_block(question: Question, draw: int, at: int, settings: EvidenceSettings) -> list[Judged]:
    """The verdicts on some test graphs of one draw of the motif data."""
    base, data = _motif(draw)
    some = data.test[at : min(at + BLOCK, question.graphs)]
    noise = Noise(dict(zip(("motif", "random"), question.noise, strict=True)))
    smoothed = SmoothedClassifier(base, noise, data.partition)
    found = judged(smoothed, some.graphs, some.labels.tolist(), question, settings.seed)
    return with_blind(found, data.train, some)


def mutag_fold(question: Question, draw: int, at: int, settings: EvidenceSettings) -> list[Judged]:
    """The verdicts on a tenth of the molecules, by a network that was trained on the others."""
    from starcert_studies.mutag_votes import splits_of_fold, train_fold  # noqa: PLC0415  (needs torch)

    seed = settings.seed + draw
    with one_torch_thread():
        smoothed, tested, _ = train_fold(question.model, *question.noise, at, settings.epochs, seed)
        found = judged(smoothed, tested.graphs, tested.labels.tolist(), question, seed)
    return with_blind(found, splits_of_fold(tu("MUTAG").all, at, seed)[0], tested)


@lru_cache(maxsize=1)
def _proteins(
    noise: tuple[float, float], graphs: int, epochs: int, seed: int
) -> tuple[SmoothedClassifier, Split, Split]:
    """A GIN that was trained with noise, smoothed; the proteins that it learnt from, and those it is tested on."""
    import torch  # noqa: PLC0415

    from starcert.classifiers import from_dense  # noqa: PLC0415
    from starcert.models.gcn import GCN  # noqa: PLC0415
    from starcert.models.training import train  # noqa: PLC0415

    data = tu("PROTEINS")
    small = data.all[np.array([graph.n_nodes <= MOST_NODES for graph in data.graphs])]
    taught, held, tested = small.split((0.75, 0.1, 0.15), seed=seed)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        features = np.asarray(taught.graphs[0].node_data["x"]).shape[1]
        network = GCN(features, data.n_classes, hidden=32, layers=3, conv="gin", pooling="sum")
    smoothed = SmoothedClassifier(
        from_dense(network.dense(), n_classes=data.n_classes), Noise(pairs=Flip(delete=noise[0], add=noise[1]))
    )
    train(
        network,
        taught.graphs,
        taught.labels,
        validation=(held.graphs, held.labels),
        smoothed=smoothed,
        epochs=epochs,
        learning_rate=2e-3,
        halve_every=max(epochs // 4, 1),
        seed=seed,
        progress=False,
    )
    return smoothed, taught, tested[: min(graphs, len(tested))]


def protein_block(question: Question, draw: int, at: int, settings: EvidenceSettings) -> list[Judged]:
    """The verdicts on some proteins."""
    seed = settings.seed + draw
    with one_torch_thread():
        smoothed, taught, tested = _proteins(question.noise, question.graphs, settings.protein_epochs, seed)
        some = tested[at : at + BLOCK]
        found = judged(smoothed, some.graphs, some.labels.tolist(), question, seed)
    return with_blind(found, taught, some)


def compute(settings: EvidenceSettings, parts: StudyParts) -> dict[Question, list[list[Judged]]]:
    """The verdicts on all graphs of each question, draw by draw."""
    work: dict[Question, list[list[Part]]] = {}
    for question in questions(settings):
        function = {"motif": motif_block, "MUTAG": mutag_fold, "PROTEINS": protein_block}[question.data]
        weight = 1 + question.own_samples // 100_000
        work[question] = [
            [
                Part(f"{question.name}-draw-{draw}-{at}", function, (question, draw, at, settings), weight)
                for at in range(0, question.graphs, 1 if question.data == "MUTAG" else BLOCK)
            ]
            for draw in range(question.draws)
        ]
    done = parts.run([part for draws in work.values() for draw in draws for part in draw], "evidence")
    return {
        question: [[one for part in draw for one in done[part.name]] for draw in draws]
        for question, draws in work.items()
    }
