"""Votes at a noise level: the part that all studies of the synthetic data are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from starcert.certificates.certify import Certificates, certify
from starcert.certificates.metrics import accuracy
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.math.confidence import Votes, clopper_pearson
from starcert.objects import Partition
from starcert.objects.binding import Problem
from starcert.objects.noise import Noise
from starcert.voting.counting import answers_on
from starcert_studies.parts import Part

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier
    from starcert.datasets.dataset import Dataset
    from starcert.objects import Graph

__all__ = [
    "ALPHA",
    "Level",
    "answers",
    "as_if",
    "draw_of_data",
    "level_part",
    "name_of",
    "plurality",
    "read_votes",
    "vote",
]

ALPHA = 0.01
"""The failure probability of every certificate in the paper (where it is called a confidence level of 0.99)."""


@dataclass(frozen=True)
class Level:
    """The votes of some graphs at one noise level, and the certificates that they give.

    Attributes:
        noise: the noise level.
        votes: the votes of each graph.
        certificates: one for each graph.
    """

    noise: Noise
    votes: Votes
    certificates: Certificates

    @classmethod
    def of(cls, problem: Problem, votes: Votes) -> Level:
        """The level of these votes on the graphs of a problem."""
        bounds = clopper_pearson(votes, alpha=ALPHA)
        found = certify(bounds, problem.noise, capacity=problem.capacities, anchored=problem.anchored)
        return cls(problem.noise, votes, found)

    def shifted(self, errors: float) -> Certificates:
        """The certificates if each count for a graph's class, of two, were so many standard errors higher or lower."""
        counts = self.votes.counts
        total, rows, chosen = counts.sum(axis=1), np.arange(len(counts)), self.certificates.labels
        share = counts[rows, chosen] / total
        for_class = np.clip(np.rint(total * share + errors * np.sqrt(total * share * (1 - share))), 0, total)
        against = total - for_class
        two = np.where(chosen[:, None] == np.arange(2), for_class[:, None], against[:, None])
        moved = clopper_pearson(Votes(two, selection=self.votes.selection), alpha=ALPHA)
        return certify(moved, self.noise, capacity=self.certificates.capacity)

    @property
    def smallest_p_lower(self) -> float:
        """The smallest lower bound of all graphs."""
        return float(self.certificates.bounds.p_lower.min())


def vote(smoothed: SmoothedClassifier, problem: Problem, samples: int, seed: int) -> dict[str, Any]:
    """The votes of some graphs at one noise level, as plain numbers."""
    votes = smoothed.vote(problem, samples=samples, seed=seed, progress=False)
    assert votes.selection is not None
    return {"estimation": votes.counts.tolist(), "selection": votes.selection.tolist()}


def read_votes(result: dict[str, Any]) -> Votes:
    """The votes that `vote` wrote down."""
    return Votes(result["estimation"], selection=result["selection"])


def name_of(noise: Noise) -> str:
    """A file name for a noise level.

    Example:
        >>> name_of(Noise(motif=0.02, random=0.45))
        'motif-0.02-random-0.45'
    """
    return "-".join(f"{region}-{noise[region].change(0):g}" for region in noise.regions)


def level_part(smoothed: SmoothedClassifier, problem: Problem, samples: int, seed: int) -> Part:
    """The votes at one noise level, as a part of a study."""
    name = f"level-{name_of(problem.noise)}-{samples}"
    return Part(name, vote, (smoothed, problem, samples, seed), samples * len(problem))


def as_if(votes: Votes, samples: int) -> Votes:
    """The same shares, as if there had been another number of votes.

    Draws of the data are judged on fewer votes than the study itself; this makes their bounds comparable.

    Example:
        >>> as_if(Votes([[99, 1]]), 1000).counts.tolist()
        [[990, 10]]
    """
    so_far = votes.counts.cumsum(axis=1)
    # Sums are rounded, not counts: so they end with `samples` exactly.
    counts = np.diff(np.rint(so_far * (samples / so_far[:, -1:])), axis=1, prepend=0)
    return Votes(counts, selection=votes.selection)


def plurality(votes: Votes, labels: npt.ArrayLike) -> float:
    """The share of graphs whose true class has the most votes, even where the smoothed classifier would abstain.

    No accuracy: that counts an abstention as no right answer. But it is what the paper's figure of accuracies shows: at
    p = (0.16, 0.05) it has 1, where its smallest p_lower is 0.49 and a graph at least must be abstained from.

    Example:
        >>> plurality(Votes([[90, 10], [51, 49], [40, 60]]), [0, 0, 0])
        0.6666666666666666
    """
    return accuracy(votes.counts.argmax(axis=1), labels)


def draw_of_data(seed: int) -> Dataset:
    """The motif data in the paper's sizes, drawn with a seed; 0 is the study's own."""
    from starcert.datasets import motif  # noqa: PLC0415  (the layers below load lazily)

    return motif(seed=seed)


def answers(base: Classifier, graphs: Sequence[Graph]) -> list[int]:
    """The base classifier's own answers on clean graphs."""
    everything = Partition.everything("all")
    return [int(answers_on(base, everything.sites(graph))[0]) for graph in graphs]
