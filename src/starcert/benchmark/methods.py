"""Methods in one frame: each learns from training graphs, lets validation graphs choose, and certifies.

    Blind            does not look at edges: certified against any number of flips
    Plain            a network without noise, every attack tried
    Smoothing        votes under noise, by p_A: isotropic, sparsity-aware, or one-way (edges are deleted, never added)
    ByEvidence       the same votes and votes at attacked graphs
    WithFallback     that one, with the blind answer where no other class is likely enough
    ByRegions        votes under noise with one rate for pairs of the most frequent node label, and one for all others
    Hashed           one voter for each group of node pairs, certified by counting voters or exactly

A method has three tries, of which validation graphs choose one, by what is right and certified under the threat that
it is fitted for; the blind model chooses by cross-validation among its own. `Work.only` holds all of them to one try:
then hashed voters see 1/5, 1/10 or 1/30 of the edges, and one-way noise leaves 0.2, 0.1 or 0.03 of them.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

from typing_extensions import override

import starcert as sc
from starcert.baselines import blind
from starcert.benchmark.core_regions import CoreAndRest
from starcert.benchmark.folds import together
from starcert.benchmark.outcomes import ANY, Outcome, Result, exact_result, kind_of, outcome_of, speaks_to
from starcert.benchmark.work import ALPHA, Networks, Rates, Timed, pairs_noise
from starcert.datasets import Dataset

ISOTROPIC = ((0.05, 0.05), (0.1, 0.1), (0.2, 0.2))
TWO_WAY = ((0.2, 0.05), (0.4, 0.1), (0.6, 0.05))
REGIONS = ((0.02, 0.45), (0.05, 0.2), (0.2, 0.05))
ONE_WAY = ((0.8, 0.0), (0.9, 0.0), (0.97, 0.0))
LAYERS, THRESHOLDS, VOTERS = (1, 2, 3), (0.6, 0.75, 0.9), (5, 10, 30)
COPIES = 5  # of a training graph, at most, that hashed voters learn from
TRIED = 2  # the most changes of a graph that are tried, or asked evidence about


class Fitted(NamedTuple):
    """What a method learned, and what that took."""

    tries: Mapping[str, float]  # settings in words, and what is right and certified on validation graphs
    chosen: str  # the setting with the largest share; of equals the first
    train_seconds: float  # of all tries
    seconds: float  # of choosing


class Held(NamedTuple):
    """What chooses among tries."""

    objects: Any  # graphs, or `Nodes`
    labels: Any
    weights: Any = None  # how much each counts; None: all the same


class BenchmarkMethod(ABC):
    """A method: make one for each fold, fit it, and let it certify.

    A method looks at training and validation graphs alone when it is fitted. It may be fitted again for another threat.
    """

    name: str  # in tables
    certifies: str  # what a certificate is about, and how sure it is
    of_nodes: ClassVar[bool] = False  # whether it classifies `Nodes` of a graph, not graphs
    trains: ClassVar[bool] = True  # whether it trains the networks that are compared, and is run for each of them

    def __init__(self, networks: Networks) -> None:
        self.networks = networks

    @classmethod
    def fits(cls, train: Any) -> bool:  # noqa: ANN401  (a `Dataset`, or `Nodes`)
        """Whether the method can be used on such data; if not, it has no row."""
        return True

    @property
    def network(self) -> str:
        """The network that it trains, in tables; "": none."""
        return self.networks.model if self.trains else ""

    @abstractmethod
    def fit(self, train: Dataset, validation: Dataset, threat: str) -> Fitted:
        """Learns, and chooses the setting that is best on validation graphs at the size of the threat."""

    @abstractmethod
    def certify(self, objects: Sequence[sc.Graph], threat: str) -> Result:
        """What is known about each object under the threat, up to its size."""


class Blind(BenchmarkMethod):
    """The best model that sees nothing an attack can change, fitted on training and validation graphs."""

    name, certifies = "blind", "a model that sees no edge; certain, for any number of changes"
    trains = False

    @override
    def fit(self, train: Dataset, validation: Dataset, threat: str) -> Fitted:
        self.model, seconds = fit_blind(self.networks, train, validation)
        tries = {each.description: round(each.cross_validated, 4) for each in self.model.candidates}
        return Fitted(tries, self.model.description, seconds, 0.0)

    @override
    def certify(self, objects: Sequence[sc.Graph], threat: str) -> Result:
        start = time.perf_counter()
        found = tuple(Outcome(int(answer), ANY) for answer in self.model.predict(objects))
        return Result(threat, found, None, 0, len(objects), time.perf_counter() - start)


def fit_blind(networks: Networks, train: Dataset, validation: Dataset | None = None) -> Timed:
    """A blind model, fitted on all graphs that are given; the rates of the noise do not matter to it."""
    some = train if validation is None else together(train, validation)
    made = lambda: blind(some, noise=pairs_noise(0.1, 0.1), seed=networks.work.seed)  # noqa: E731
    return networks.once(made, "blind", id(train), id(validation), about=(train, validation))


class TriedMethod(BenchmarkMethod):
    """A method with several settings: a model for each, of which validation chooses one."""

    settings: Sequence[Any]

    @abstractmethod
    def model(self, setting: Any, train: Dataset, validation: Dataset) -> Timed:  # noqa: ANN401
        """The model of a setting, trained."""

    @abstractmethod
    def judge(self, model: Any, objects: Sequence[sc.Graph], threat: str, *, choosing: bool = False) -> Result:  # noqa: ANN401
        """What a model is certified for; `choosing`: with fewer votes, where that saves time."""

    def words(self, setting: Any) -> str:  # noqa: ANN401
        """A setting in words."""
        return "{:g}/{:g}".format(*setting)

    def held(self, train: Dataset, validation: Dataset) -> Held:
        """What chooses among tries: some of the validation graphs."""
        some = self.networks.choosing(validation)
        return Held(some.graphs, some.labels)

    @override
    def fit(self, train: Dataset, validation: Dataset, threat: str) -> Fitted:
        held, (_, size) = self.held(train, validation), kind_of(threat)
        tries = self.networks.tries(self.settings)
        models = {setting: self.model(setting, train, validation) for setting in tries}
        found = {each: self.judge(made.value, held.objects, threat, choosing=True) for each, made in models.items()}
        shares = {setting: result.share(held.labels, size, held.weights) for setting, result in found.items()}
        self.best = max(shares, key=lambda setting: shares[setting])
        self.fitted = models[self.best].value
        return Fitted(
            {self.words(setting): round(share, 4) for setting, share in shares.items()},
            self.words(self.best),
            sum(made.seconds for made in models.values()),
            sum(result.seconds for result in found.values()),
        )

    @override
    def certify(self, objects: Sequence[sc.Graph], threat: str) -> Result:
        return self.judge(self.fitted, objects, threat)


class Plain(TriedMethod):
    """A network without noise, with one, two or three layers; every attack is tried."""

    name, certifies = "plain", "the plain model; certain"
    settings = LAYERS

    @override
    def words(self, setting: int) -> str:
        return f"{setting} layers"

    @override
    def model(self, setting: int, train: Dataset, validation: Dataset) -> Timed:
        return self.networks.network(train, validation, layers=setting)

    @override
    def judge(
        self, model: sc.SmoothedClassifier, objects: Sequence[sc.Graph], threat: str, *, choosing: bool = False
    ) -> Result:
        most = self.networks.work.max_attacks
        return exact_result(model.classifier, objects, threat, farthest=TRIED, max_attacks=most)


class Smoothing(TriedMethod):
    """A network trained with noise and certified by its votes on noisy copies, at three levels of noise."""

    name, certifies = "p_A, sparsity-aware", "the smoothed model; fails with probability alpha at most"
    settings: Sequence[Any] = TWO_WAY
    evidence: ClassVar[bool] = False

    @override
    def model(self, setting: Rates, train: Dataset, validation: Dataset) -> Timed:
        return self.networks.network(train, validation, setting)

    @override
    def judge(
        self, model: sc.SmoothedClassifier, objects: Sequence[sc.Graph], threat: str, *, choosing: bool = False
    ) -> Result:
        work, (kind, size) = self.networks.work, kind_of(threat)
        samples, own = (work.choosing_samples,) * 2 if choosing else (work.samples, work.own_samples)
        flips = 2 * size if kind == "rewire" else size  # an edge that moves is two flips
        asked = (min(flips, TRIED), own) if self.evidence else None
        found, seconds = self.networks.certificates(model, objects, samples, asked)
        votes = int(found.votes.counts.sum() + found.votes.selection.sum())
        votes += sum(one.verdicts.own_votes for one in found if one.verdicts is not None)
        outcomes = tuple(outcome_of(one, threat) for one in found)
        limit = None if choosing else speaks_to(found, outcomes, threat)  # all tries are judged at one size
        return Result(threat, outcomes, ALPHA, votes, votes, seconds, limit, found)


class Isotropic(Smoothing):
    """One rate for present and absent edges."""

    name, settings = "p_A, isotropic", ISOTROPIC


class OneWay(Smoothing):
    """Edges are deleted and never added (randomised ablation)."""

    name, settings = "p_A, one-way", ONE_WAY


class ByRegions(Smoothing):
    """Two regions of node pairs with a rate each, as in the paper: the flips of a threat may be in either.

    The first region are the pairs of nodes that both have the label that is most frequent in training graphs; the other
    one are all other pairs. No attack on edges changes a label. Graphs of `motif` are divided by their motif. There is
    no such method for directed graphs, nor for graphs without node labels.
    """

    name, settings = "p_A, by regions", REGIONS

    @override
    @classmethod
    def fits(cls, train: Dataset) -> bool:
        return CoreAndRest.fits(train)

    @override
    def model(self, setting: Rates, train: Dataset, validation: Dataset) -> Timed:
        return self.networks.network(train, validation, setting, regions=CoreAndRest.of(train))


class ByEvidence(Smoothing):
    """Votes on copies of the clean graph and of attacked ones decide single attacks of at most two flips."""

    name, evidence = "evidence", True


class WithFallback(ByEvidence):
    """The rates that evidence chooses; three thresholds below which the answer is the blind one."""

    name = "evidence, fallback"
    certifies = "the smoothed model with a blind answer in doubt; fails with probability alpha at most"

    @override
    def words(self, setting: Any) -> str:
        return f"{super().words(setting[0])}, threshold {setting[1]:g}"

    @override
    def fit(self, train: Dataset, validation: Dataset, threat: str) -> Fitted:
        leader = ByEvidence(self.networks)
        first = leader.fit(train, validation, threat)
        self.settings = [(leader.best, threshold) for threshold in THRESHOLDS]
        # A blind model that has seen the graphs that choose would look better there than it is.
        self.blind_of = {id(validation): fit_blind(self.networks, train)}
        found = super().fit(train, validation, threat)
        answers = fit_blind(self.networks, train, validation)
        network = self.networks.network(train, validation, leader.best).value
        self.fitted = self._leaning(network, answers.value, self.best[1])
        seconds = first.seconds + found.seconds + answers.seconds
        return found._replace(train_seconds=first.train_seconds, seconds=seconds)

    @override
    def model(self, setting: Any, train: Dataset, validation: Dataset) -> Timed:
        smoothed = self.networks.network(train, validation, setting[0]).value
        answers, seconds = self.blind_of[id(validation)]
        return Timed(self._leaning(smoothed, answers, setting[1]), seconds)

    def _leaning(self, smoothed: sc.SmoothedClassifier, answers: Any, threshold: float) -> sc.SmoothedClassifier:  # noqa: ANN401
        def made() -> sc.SmoothedClassifier:
            fallback = sc.Fallback(answers, threshold)
            return sc.SmoothedClassifier(smoothed.classifier, smoothed.noise, alpha=ALPHA, fallback=fallback)

        key = "leaning", id(smoothed), id(answers), threshold
        leaning: sc.SmoothedClassifier = self.networks.once(made, *key, about=(smoothed, answers)).value
        return leaning


class HashedExactly(TriedMethod):
    """Voters that see one group of node pairs each; all changes of two pairs inside a group are tried."""

    name, certifies = "hashed, exact", "the vote of hashed groups; certain"
    settings: Sequence[Any] = VOTERS
    rule: ClassVar[Literal["counting", "exact"]] = "exact"

    @override
    def words(self, setting: int) -> str:
        return f"{setting} voters"

    @override
    def model(self, setting: int, train: Dataset, validation: Dataset) -> Timed:
        made = lambda: self._trained(setting, train, validation)  # noqa: E731
        return self.networks.once(made, "hashed", id(train), setting, about=train)

    def _trained(self, setting: Any, train: Dataset, validation: Dataset) -> sc.HashedVotes:  # noqa: ANN401
        untrained = self.voting(sc.classifiers.from_callable(first_class), setting, train)
        network = self.networks.network(copies_of(untrained, train), copies_of(untrained, validation))
        return self.voting(network.value.classifier, setting, train)

    def voting(self, base: sc.Classifier, setting: Any, train: Dataset) -> sc.HashedVotes:  # noqa: ANN401
        """The voters of a setting."""
        return sc.HashedVotes(base, setting, self.networks.work.seed)

    @override
    def judge(
        self, model: sc.HashedVotes, objects: Sequence[sc.Graph], threat: str, *, choosing: bool = False
    ) -> Result:
        most = min(kind_of(threat)[1], TRIED) if choosing else TRIED
        try_attacks = partial(model.reach, objects, most=most, tried=TRIED, progress=False)
        key = "reached", id(model), *map(id, objects), most
        tried = self.networks.once(
            lambda: try_attacks(max_attacks=self.networks.work.max_attacks), *key, about=(model, objects)
        )
        found = model.certify(objects, threat=threat, rule=self.rule, reached=tried.value)
        outcomes = tuple(Outcome(one.label, one.certified_size, one.broken_size) for one in found)
        passes = found.votes.size if self.rule == "counting" else found.forward_passes
        return Result(threat, outcomes, None, found.votes.size, passes, tried.seconds + found.seconds)


class HashedByCounting(HashedExactly):
    """The same voters by the published rule: every change turns a voter from the answer to its rival."""

    name, rule = "hashed, counting", "counting"


def first_class(_graph: object) -> int:
    """A voter that has not learned yet."""
    return 0


def copies_of(voting: sc.HashedVotes, data: Dataset) -> Dataset:
    """What some voters see of each graph, with its label: others of the next graph, so that all voters are there."""
    apart = -(-voting.groups // COPIES)
    copies = [some[number % apart :: apart] for number, some in enumerate(voting.copies(data.graphs))]
    labels = [label for label, some in zip(data.labels.tolist(), copies, strict=True) for _ in some]
    return Dataset([each for some in copies for each in some], labels, name=data.name)


METHODS: dict[str, tuple[type[BenchmarkMethod], ...]] = {
    "two-way": (Smoothing, ByEvidence, WithFallback),
    "isotropic": (Isotropic,),
    "regions": (ByRegions,),
    "one-way": (OneWay,),
    "hashed": (HashedByCounting, HashedExactly),
    "plain": (Plain,),
    "blind": (Blind,),
}
"""Methods by groups that share what is trained, the longest first."""
