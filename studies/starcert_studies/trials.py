"""What a study states, and the votes that it is made of.

A study is a frozen dataclass whose fields are its settings. It states data and models, each by a key, and trials: which
model votes under which noise, how often. Votes are drawn in parts that are computed once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from typing_extensions import override

from starcert import classifiers  # those of sklearn load it only when one is made
from starcert.claims.metrics import accuracy
from starcert.classifiers.base import Classifier
from starcert.datasets import motif
from starcert.datasets.dataset import Dataset
from starcert.math.votes import Votes
from starcert.methods.smoothed import SmoothedClassifier
from starcert.objects import CleanObject, Partition, Sites
from starcert.objects.binding import Problem, Regions, bind_all
from starcert.objects.noise import Noise
from starcert.system.parts import Part, PartsFolder
from starcert.system.processes import one_torch_thread
from starcert.voting.ask import answers_on
from starcert.voting.plans import Voting
from starcert_studies.report import Report, all_texts
from starcert_studies.voted import Labels, Question, Voted, judge

if TYPE_CHECKING:
    from starcert.classifiers.sklearn import KernelSVM


@dataclass(frozen=True)
class Tested:
    """What a model is tested on."""

    objects: Sequence[CleanObject]
    labels: Labels  # their true classes
    noise: Noise  # one with the same regions as those of the trials
    regions: Regions | None = None  # where those are
    numbers: Sequence[int] = ()  # their numbers in the whole data set, where a model is tested on a part of it

    @cached_property
    def problem(self) -> Problem:
        """The objects with the regions of the noise in them; every trial puts its own noise there."""
        return bind_all(self.objects, self.noise, self.regions)


@dataclass(frozen=True)
class Trial:
    """Votes of one model under one noise."""

    name: str  # the name of its part, or of its parts but for the place of the first object
    key: Any  # which data and which model: what `TrialStudy.data` and `TrialStudy.model` are called with
    noise: Noise  # the noise
    samples: int  # estimation votes on each object
    seed: int  # of the votes
    objects: int | None = None  # how many of the tested objects there are votes on; None: all
    block: int | None = None  # how many of them are a part; None: all
    clean: bool = False  # whether the model's answers without noise are kept
    question: Question | None = None  # what evidence is asked about the same votes; None: nothing

    def parts(self, study: TrialStudy) -> list[Part]:
        """The work that it is."""
        weight = self.samples + (0 if self.question is None else self.question.own_samples)
        if self.block is None:
            return [Part(self.name, vote_on_block, (study, self, 0), weight)]
        assert self.objects is not None
        places = range(0, self.objects, self.block)
        return [Part(f"{self.name}-{at}", vote_on_block, (study, self, at), weight) for at in places]


@dataclass(frozen=True)
class Study(ABC):
    """A study: settings, parts of work, and what is reported of their results."""

    texts: ClassVar[Mapping[str, Any]] = {}  # its title, captions and claims
    quick: ClassVar[Mapping[str, Any]] = {}  # the settings of its quick form that are not the defaults
    derived: ClassVar[Mapping[str, Callable[[int], int]]] = {}  # settings that follow from a given number of votes

    def __init_subclass__(cls) -> None:
        """The texts of a class `Digits` are those of `digits` in `texts.toml`, unless it has its own."""
        super().__init_subclass__()
        cls.texts = cls.texts or all_texts().get(cls.__name__.lower(), {})

    @classmethod
    def from_options(cls, samples: int | None, seed: int, quick: bool) -> Self:
        """The study that a command line asks for."""
        options = {**(cls.quick if quick else {}), "seed": seed}
        if samples is not None:
            options |= {"samples": samples} | {name: value(samples) for name, value in cls.derived.items()}
        return cls(**options)

    @abstractmethod
    def parts(self) -> list[Part]:
        """All work of the study."""

    def votes(self, parts: PartsFolder) -> tuple[dict[Any, Voted], dict[str, Any]]:
        """The votes of its trials, where it has any, by the names of their sets, and the results of all parts."""
        return {}, parts.run(self.parts(), "votes")

    @abstractmethod
    def outcome(self, report: Report, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> None:
        """Reports on the votes of the trials, by the names of their sets, and on the results of all parts."""

    def report(self, found: Mapping[Any, Voted], results: Mapping[str, Any]) -> Report:
        """What the study makes of votes and results."""
        report = Report(self.texts)
        self.outcome(report, found, results)
        return report


class TrialStudy(Study):
    """A study of data, models, and trials: the votes of a model under a noise."""

    @abstractmethod
    def trials(self) -> Mapping[Any, Sequence[Trial]]:
        """The trials, those together whose objects are counted as one set, by a name of the set."""

    @abstractmethod
    def data(self, key: Any) -> Tested:  # noqa: ANN401  (each study has its own keys)
        """What the model of a key is tested on."""

    @abstractmethod
    def model(self, key: Any) -> Classifier:  # noqa: ANN401
        """The model of a key, trained."""

    def fact_keys(self) -> Mapping[str, Hashable]:
        """The models about which facts are recorded: the name of the part, and the key."""
        return {}

    def facts(self, key: Any) -> Any:  # noqa: ANN401
        """What is recorded about the model of a key: by default its accuracy without noise on all tested objects."""
        tested = tested_by(self, key)
        return accuracy(clean_answers(model_of(self, key), tested.problem.sites), tested.labels)

    @override
    def parts(self) -> list[Part]:
        # Two trials of one name are one and the same.
        every = [part for trials in self.trials().values() for trial in trials for part in trial.parts(self)]
        every += [Part(name, record_facts, (self, key)) for name, key in self.fact_keys().items()]
        return list({part.name: part for part in every}.values())

    @override
    def votes(self, parts: PartsFolder) -> tuple[dict[Any, Voted], dict[str, Any]]:
        _, results = super().votes(parts)
        found = {
            name: Voted.joined(trials[0].noise, [[results[part.name] for part in each.parts(self)] for each in trials])
            for name, trials in self.trials().items()
        }
        return found, results


class MotifStudy(TrialStudy):
    """A study of the vertex-histogram machine on several draws of the motif data.

    A key has the seed of a draw, and whether all node pairs are one region.
    """

    seed: int  # of all votes; the further draws of the data are numbered from 10,000 times it
    data_seed: int  # of the study's own data
    draws: int  # how many further draws of the data there are

    @property
    def data_seeds(self) -> list[int]:
        """Of all draws of the data, the study's own first."""
        first = 10_000 * self.seed + 1
        return [self.data_seed, *range(first, first + self.draws)]

    @override
    def data(self, key: tuple[int, bool]) -> Tested:
        _, data = motif_machine(key[0])
        regions = (Noise(all=0.1), None) if key[1] else (Noise(motif=0.1, random=0.1), data.partition)
        return Tested(data.test.graphs, data.test.labels, *regions)

    @override
    def model(self, key: tuple[int, bool]) -> Classifier:
        return classifiers.from_sklearn(motif_machine(key[0])[0])

    @override
    def facts(self, key: tuple[int, bool]) -> dict[str, Any]:
        """How many support vectors a machine has, and its accuracies without noise on the study's own data."""
        machine, data = motif_machine(key[0])
        accuracies = split_accuracies(classifiers.from_sklearn(machine), data) if key[0] == self.data_seed else {}
        return {"support_vectors": len(machine.svc_.support_), "accuracies": accuracies}


@lru_cache(maxsize=4)
def tested_by(study: TrialStudy, key: Hashable) -> Tested:
    """What the model of a key is tested on, kept for the next part of this process."""
    return study.data(key)


@lru_cache(maxsize=1)
def model_of(study: TrialStudy, key: Hashable) -> Classifier:
    """The model of a key, kept for the next part of this process: only one, as they may be large."""
    return study.model(key)


def vote_on_block(study: TrialStudy, trial: Trial, at: int) -> dict[str, Any]:
    """The votes of a trial on some of its objects, and all that certificates of them need, as plain numbers."""
    with one_torch_thread():
        tested, base = tested_by(study, trial.key), model_of(study, trial.key)
        last = len(tested.labels) if trial.objects is None else trial.objects
        some = slice(at, last if trial.block is None else min(at + trial.block, last))
        problem = replace(tested.problem, noise=trial.noise, sites=tested.problem.sites[some])
        smoothed = SmoothedClassifier(base, trial.noise, tested.regions)
        record = trial.question is not None
        votes = smoothed.vote(
            problem, samples=trial.samples, seed=trial.seed, record=record, voting=Voting(progress=False)
        )
        labels = tested.labels[some].tolist()
        return plain(
            problem, votes, labels, numbers=list(tested.numbers[some]),
            clean=clean_answers(base, problem.sites) if trial.clean else [],
            judged=judge(smoothed, problem, votes, labels, trial.question, trial.seed) if trial.question else [],
        )  # fmt: skip


def plain(problem: Problem, votes: Votes, labels: Sequence[int], **more: Sequence[Any]) -> dict[str, Any]:
    """All that certificates of votes need, as plain numbers: what `Voted.joined` reads."""
    assert votes.selection is not None
    return {
        "labels": labels, "numbers": [], "capacity": problem.capacities, "anchored": problem.anchored,
        "estimation": votes.counts.tolist(), "selection": votes.selection.tolist(), "clean": [], "judged": [],
    } | more  # fmt: skip


def record_facts(study: TrialStudy, key: Hashable) -> Any:  # noqa: ANN401
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
