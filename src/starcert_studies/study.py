"""What a study states, and the votes that it is made of.

A study is a frozen dataclass whose fields are its settings. It states data and models, each by a key, and trials: which
model votes under which noise, how often. What all studies do is written here: votes in parts that are computed once,
certificates of them, and the figures that are read off those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from starcert.certificates.metrics import accuracy
from starcert.certificates.smoothing import SmoothedClassifier
from starcert.datasets import motif
from starcert.objects import Partition
from starcert.objects.binding import Problem, bind_all
from starcert.system.processes import one_torch_thread
from starcert.voting.counting import answers_on
from starcert_studies.parts import Part, StudyParts
from starcert_studies.voted import Labels, Question, Voted, judge

if TYPE_CHECKING:
    from typing import Self

    import torch

    from starcert.classifiers.base import Classifier
    from starcert.classifiers.kernels.svm import KernelSVM
    from starcert.datasets.dataset import Dataset, Split
    from starcert.objects import CleanObject, Sites
    from starcert.objects.binding import Regions
    from starcert.objects.noise import Noise
    from starcert_studies.outcome import Outcome, Words

__all__ = [
    "Study",
    "Tested",
    "Trial",
    "fold_splits",
    "model_of",
    "motif_machine",
    "split_accuracies",
    "train_on",
]


@dataclass(frozen=True)
class Tested:
    """What a model is tested on."""

    problem: Problem  # the objects with the regions of the noise in them; every trial puts its own noise there
    labels: Labels  # their true classes
    regions: Regions | None = None  # the regions
    numbers: Sequence[int] = ()  # their numbers in the whole data set, where a model is tested on a part of it

    @classmethod
    def of(
        cls,
        objects: Sequence[CleanObject],
        labels: Labels,
        noise: Noise,
        regions: Regions | None = None,
        numbers: Sequence[int] = (),
    ) -> Tested:
        """The objects, bound to a noise with the same regions as those of the trials."""
        return cls(bind_all(objects, noise, regions), labels, regions, numbers)


@dataclass(frozen=True)
class Trial:
    """Votes of one model under one noise."""

    name: str  # the name of its part, or of its parts but for the place of the first object
    key: Any  # which data and which model: what `Study.data` and `Study.model` are called with
    noise: Noise  # the noise
    samples: int  # estimation votes on each object
    seed: int  # of the votes
    objects: int | None = None  # how many of the tested objects there are votes on; None: all
    block: int | None = None  # how many of them are a part; None: all
    clean: bool = False  # whether the model's answers without noise are kept
    question: Question | None = None  # what evidence is asked about the same votes; None: nothing

    def parts(self, study: Study) -> list[Part]:
        """The work that it is."""
        weight = self.samples + (0 if self.question is None else self.question.own_samples)
        if self.block is None:
            return [Part(self.name, vote_on_block, (study, self, 0), weight)]
        assert self.objects is not None
        places = range(0, self.objects, self.block)
        return [Part(f"{self.name}-{at}", vote_on_block, (study, self, at), weight) for at in places]


@dataclass(frozen=True)
class Study(ABC):
    """A study: settings, data, models, trials, and what is made of their votes."""

    words: ClassVar[Words]  # its title, captions and claims
    quick: ClassVar[Mapping[str, Any]] = {}  # the settings of its quick form that are not the defaults

    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        """The study that a command line asks for."""
        options = {"seed": seed} | ({} if samples is None else {"samples": samples})
        return cls(**(dict(cls.quick) if quick else {}) | options)

    @abstractmethod
    def trials(self) -> Mapping[Any, Sequence[Trial]]:
        """The trials, those together whose objects are counted as one set, by a name of the set."""

    def data(self, key: Any) -> Tested:  # noqa: ANN401  (each study has its own keys)
        """What the model of a key is tested on."""
        raise NotImplementedError

    def model(self, key: Any) -> Classifier:  # noqa: ANN401
        """The model of a key, trained."""
        raise NotImplementedError

    def fact_keys(self) -> Mapping[str, Hashable]:
        """The models about which facts are recorded: the name of the part, and the key."""
        return {}

    def facts(self, key: Any) -> Any:  # noqa: ANN401
        """What is recorded about the model of a key: by default its accuracy without noise on all tested objects."""
        tested = tested_by(self, key)
        return accuracy(clean_answers(model_of(self, key), tested.problem.sites), tested.labels)

    def parts(self) -> list[Part]:
        """All work of the study; two trials of one name are one and the same."""
        every = [part for trials in self.trials().values() for trial in trials for part in trial.parts(self)]
        every += [Part(name, record_facts, (self, key)) for name, key in self.fact_keys().items()]
        return list({part.name: part for part in every}.values())

    @abstractmethod
    def outcome(self, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> Outcome:
        """What is made of it: the votes of the trials by the names of their sets, and the results of all parts."""

    def run(self, parts: StudyParts) -> Outcome:
        """The whole study."""
        results = parts.run(self.parts(), "votes")
        found = {
            name: Voted.joined(trials[0].noise, [[results[part.name] for part in each.parts(self)] for each in trials])
            for name, trials in self.trials().items()
        }
        return self.outcome(found, results)


@lru_cache(maxsize=4)
def tested_by(study: Study, key: Hashable) -> Tested:
    """What the model of a key is tested on, kept for the next part of this process."""
    return study.data(key)


@lru_cache(maxsize=1)
def model_of(study: Study, key: Hashable) -> Classifier:
    """The model of a key, kept for the next part of this process: only one, as they may be large."""
    return study.model(key)


def vote_on_block(study: Study, trial: Trial, at: int) -> dict[str, Any]:
    """The votes of a trial on some of its objects, and all that certificates of them need, as plain numbers."""
    with one_torch_thread():
        tested, base = tested_by(study, trial.key), model_of(study, trial.key)
        last = len(tested.labels) if trial.objects is None else trial.objects
        some = slice(at, last if trial.block is None else min(at + trial.block, last))
        problem = replace(tested.problem, noise=trial.noise, sites=tested.problem.sites[some])
        smoothed = SmoothedClassifier(base, trial.noise, tested.regions)
        record = trial.question is not None
        votes = smoothed.vote(problem, samples=trial.samples, seed=trial.seed, record=record, progress=False)
        assert votes.selection is not None
        labels = tested.labels[some].tolist()
        found: dict[str, Any] = {
            "labels": labels,
            "numbers": list(tested.numbers[some]),
            "capacity": problem.capacities,
            "anchored": problem.anchored,
            "estimation": votes.counts.tolist(),
            "selection": votes.selection.tolist(),
            "clean": clean_answers(base, problem.sites) if trial.clean else [],
            "judged": [],
        }
        if trial.question is not None:
            found["judged"] = judge(smoothed, problem, votes, labels, trial.question, trial.seed)
        return found


def record_facts(study: Study, key: Hashable) -> Any:  # noqa: ANN401
    """The facts about the model of a key."""
    with one_torch_thread():
        return study.facts(key)


def clean_answers(base: Classifier, sites: Sequence[Sites]) -> list[int]:
    """A classifier's answers without noise."""
    return [int(answers_on(base, each)[0]) for each in sites]


def split_accuracies(base: Classifier, data: Dataset) -> dict[str, float]:
    """The share of right answers without noise, on training, validation and test graphs."""
    everything = Partition.everything("all")
    splits = {"training": data.train, "validation": data.validation, "test": data.test}
    return {
        name: accuracy(clean_answers(base, [everything.sites(graph) for graph in some.graphs]), some.labels)
        for name, some in splits.items()
    }


@lru_cache(maxsize=4)
def motif_machine(seed: int) -> tuple[KernelSVM, Dataset]:
    """The motif data in the paper's sizes, drawn with a seed, and the vertex-histogram machine trained on them."""
    from starcert.models import vertex_histogram_svm  # noqa: PLC0415  (scikit-learn)

    data = motif(seed=seed)
    return vertex_histogram_svm().fit(data.train.graphs, data.train.labels), data


def fold_splits(every: Split, fold: int | None, seed: int) -> tuple[Split, Split, Split, list[int]]:
    """What to learn from, what decides which epoch is kept, what is tested; and the numbers of what is tested.

    A fold is a tenth of all objects; None: one split, 80% / 10% / 10%.
    """
    if fold is None:
        taught, held, tested = every.split((0.8, 0.1, 0.1), seed=seed)
        place = {id(graph): number for number, graph in enumerate(every.graphs)}
        return taught, held, tested, [place[id(graph)] for graph in tested.graphs]
    rest, test = every.folds(10, seed=seed)[fold]
    taught, held, _ = every[rest].split((8 / 9, 1 / 9, 0.0), seed=1000 * seed + fold)
    return taught, held, every[test], np.asarray(test).tolist()


def train_on(
    smoothed: SmoothedClassifier,
    taught: Split,
    held: Split,
    settings: Mapping[str, float],
    module: torch.nn.Module | None = None,
) -> None:
    """Trains the module behind a smoothed classifier on `taught`; `held` decides which epoch is kept.

    Where another form of the module votes, `module` is the one on `edge_index` with the same weights.
    """
    from starcert.models import fit_with_noise, train  # noqa: PLC0415  (torch is slow to import)

    how: dict[str, Any] = {**settings, "validation": (held.graphs, held.labels), "progress": False}
    if module is None:
        fit_with_noise(smoothed, taught.graphs, taught.labels, **how)
    else:
        train(module, taught.graphs, taught.labels, smoothed=smoothed, **how)
