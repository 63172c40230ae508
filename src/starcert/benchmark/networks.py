"""What methods on a fold of graphs share: each network is trained once, each set of votes counted once."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

import starcert as sc
from starcert.baselines import blind
from starcert.benchmark.folds import core_and_rest, together
from starcert.benchmark.outcomes import (
    KINDS,
    Result,
    decided,
    exact_result,
    fewer,
    kind_of,
    outcome_of,
    read_threat,
    speaks_to,
)
from starcert.benchmark.work import ALPHA, BATCH, DRAWN, TRIED, Objects, Rates, Timed, Work, here, limit_of, pairs_noise
from starcert.certificates.voter_reach import Reached
from starcert.classifiers import features, from_pyg
from starcert.datasets import Dataset
from starcert.models import GCN, GIN, fit_with_noise
from starcert.models.fitting import own_generator
from starcert.runs.user_code import Reference
from starcert.system.errors import StarcertWarning

P = ParamSpec("P")
Owner = TypeVar("Owner", bound="Networks")

MODELS: Mapping[str, Any] = {"gin": GIN, "gcn": GCN}
"""Networks that can be compared."""
LAYERS = 3  # of a network that learns with noise
COPIES = 5  # of a training graph, at most, that hashed voters learn from


def once(make: Callable[Concatenate[Owner, P], object]) -> Callable[Concatenate[Owner, P], Timed]:
    """What a method returns, and how long it took, for the same arguments from the first call on."""

    @wraps(make)
    def kept(self: Owner, *args: P.args, **kwargs: P.kwargs) -> Timed:
        key = make.__name__, *map(_key, args), *((name, _key(value)) for name, value in kwargs.items())
        if key not in self._made:
            begun, value = time.perf_counter(), make(self, *args, **kwargs)
            self._made[key] = Timed(value, time.perf_counter() - begun), (args, kwargs)  # which keep their ids
        return self._made[key][0]

    return cast("Callable[Concatenate[Owner, P], Timed]", kept)


def _key(value: object) -> Hashable:
    """An argument among those of other calls: plain values and noise by what they are, lists by their items."""
    if isinstance(value, list | tuple):
        return tuple(map(_key, value))
    return value if value is None or isinstance(value, str | int | float | sc.Noise) else id(value)


class Held(NamedTuple):
    """What chooses among tries."""

    objects: Objects  # graphs, or `Nodes`
    labels: Any
    weights: Any = None  # how much each counts; None: all the same


class BlindRecord(NamedTuple):
    """A model that sees nothing an attack can change."""

    tries: Mapping[str, float]  # the models that were tried, and what each has right
    chosen: str
    answers: Callable[[Any], Any]  # the class of each of some objects
    fallback: Any  # the same as `Fallback` takes it
    scores: Any = None  # of nodes, the log-probabilities of all of them: what methods that see links begin with


def network_named(model: str) -> Any:  # noqa: ANN401  (a class or a function that returns a module)
    """What makes a network, called with the numbers of features and classes; one of your own is in a file."""
    return MODELS[model] if model in MODELS else Reference.parse(model, Path.cwd(), "models").load()


class Networks:
    """What methods on the same fold of graphs share; `NodeNetworks` does the same for nodes of one graph."""

    of_nodes: ClassVar[bool] = False
    farthest: ClassVar[int] = TRIED  # up to which size every attack is tried
    max_own: ClassVar[int] = 2**31  # votes at attacked versions of an object, at most
    rates: ClassVar[Mapping[str, Sequence[Rates]]] = {
        "two-way": ((0.2, 0.05), (0.4, 0.1), (0.6, 0.05)),
        "isotropic": ((0.05, 0.05), (0.1, 0.1), (0.2, 0.2)),
        "regions": ((0.02, 0.45), (0.05, 0.2), (0.2, 0.05)),
        "one-way": ((0.8, 0.0), (0.9, 0.0), (0.97, 0.0)),
    }

    def __init__(self, work: Work, model: str = "gin") -> None:
        self.work, self.model = work, model
        self._made: dict[Hashable, tuple[Timed, object]] = {}

    @property
    def called(self) -> str:
        """What the network is called in tables."""
        return self.model.rpartition(":")[2]

    @property
    def shapes(self) -> Mapping[str, Mapping[str, Any]]:
        """What is tried of a network without noise, in words and as arguments."""
        return {f"{layers} layers": {"layers": layers} for layers in (1, 2, 3)}

    def rates_of(self, group: str) -> Sequence[Rates]:
        """The rates of noise that a group of methods tries: to delete and to add, or those of two regions."""
        given: Sequence[Rates] = self.work.rates.get(group, self.rates.get(group, ()))
        return given

    def seen(self, objects: Objects) -> tuple[list[sc.Graph], Sequence[int]]:
        """The graphs that are asked about, and which of the rows that they give are those of the objects."""
        return list(objects), range(len(objects))

    def held(self, train: Objects, validation: Objects) -> Held:
        """What chooses among tries: some of the validation graphs."""
        some = validation.limited(limit_of(self.work.held), self.work.seed)
        return Held(some.graphs, some.labels)

    @once
    def blind(self, train: Objects, validation: Objects) -> BlindRecord:
        """The best blind model; None as validation: what chooses is not learned from."""
        some = train if validation is None else together(train, validation)
        model = blind(some, noise=pairs_noise(0.1, 0.1), seed=self.work.seed)  # its rates do not matter
        tries = {each.description: round(each.cross_validated, 4) for each in model.candidates}
        return BlindRecord(tries, model.description, model.predict, model)

    def unseen(self, validation: Objects) -> Objects:
        """What blind answers may learn from beside training graphs while validation graphs choose: nothing."""
        return None

    @once
    def leaning(self, smoothed: sc.SmoothedClassifier, answers: object, threshold: float) -> sc.SmoothedClassifier:
        """A smoothed network with a blind answer where no other class is likely enough."""
        fallback: Any = sc.Fallback(answers, threshold)  # type: ignore[arg-type]
        return sc.SmoothedClassifier(smoothed.classifier, smoothed.noise, alpha=ALPHA, fallback=fallback)

    def network(
        self,
        train: Objects,
        validation: Objects,
        rates: Rates = (0.0, 0.0),
        *,
        shape: str = "",
        regions: bool = False,
    ) -> Timed:
        """A smoothed network, trained with its noise, or without any; rates are those of two regions, if there are."""
        noise = sc.Noise(core=rates[0], rest=rates[1]) if regions else pairs_noise(*rates)
        return self.trained(train, validation, noise, shape, regions)

    @once
    def trained(
        self, train: Objects, validation: Objects, noise: sc.Noise, shape: str, regions: bool
    ) -> sc.SmoothedClassifier:
        """A network trained with noise; graphs without node data show it degrees."""
        work, (device, _), graph = self.work, here(), train.graphs[0]
        named = [name for name in ("x", "attributes") if name in graph.node_data]
        degrees = [features.in_degree(), features.out_degree()] if graph.directed else [features.degree()]
        seen: list[Any] = named or degrees
        columns = sum(np.shape(graph.node_data[each])[1] if each in named else 1 for each in seen)
        n_classes = 1 + max(1, *train.known, *validation.known)
        how = {"hidden": work.hidden, "layers": LAYERS, **self.shapes.get(shape, {})}
        with own_generator(work.seed, "cpu"):
            module = network_named(self.model)(columns, n_classes, **how)
        base = from_pyg(module.to(device), n_classes=n_classes, features=seen)
        smoothed = sc.SmoothedClassifier(base, noise, core_and_rest(train) if regions else None, alpha=ALPHA)
        most = work.drawn_epochs if train.name in DRAWN else work.max_epochs
        epochs = max(1, min(most, work.steps * BATCH // len(train)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StarcertWarning)  # a try with one answer for all: validation chooses
            fit_with_noise(smoothed, train.graphs, train.labels, validation=(validation.graphs, validation.labels),
                           epochs=epochs, learning_rate=1e-2, halve_every=max(1, epochs // 4), batch_size=BATCH,
                           seed=work.seed, progress=False)  # fmt: skip
        return smoothed

    def question(self, threat: str, evidence: bool) -> str | None:
        """What certificates are asked about; None: nothing, as counts alone decide.

        Evidence decides a threat of few units itself, and of a larger one any few flips, or the first few units.
        """
        kind, size = kind_of(threat)
        if kind not in KINDS or (evidence and size <= TRIED):
            return threat
        return fewer(threat if kind == "rewire" else f"flips:{size}", TRIED) if evidence else None

    def smoothed(
        self, model: sc.SmoothedClassifier, objects: Objects, threat: str, *, evidence: bool, choosing: bool
    ) -> Result:
        """What the votes of a smoothed network show, with fewer of them where they only choose."""
        graphs, rows = self.seen(objects)
        found, seconds = self.certified(model, graphs, self.question(threat, evidence), evidence, choosing)
        outcomes = tuple(outcome_of(found[row], threat) for row in rows)
        copies = int(found.votes.counts.sum() + found.votes.selection.sum()) * len(graphs) // len(found)
        attacked = sum(one.verdicts.own_votes for one in found if one.verdicts is not None)
        limit = None if choosing else speaks_to(found, outcomes, threat)  # all tries are judged at one size
        spent = copies * len(rows) // len(graphs) + attacked, copies + attacked, seconds
        return Result(threat, outcomes, ALPHA, *spent, limit, found)

    @once
    def certified(
        self, smoothed: sc.SmoothedClassifier, graphs: list[sc.Graph], asked: str | None, evidence: bool, choosing: bool
    ) -> sc.Certificates:
        """Certificates of all rows of graphs. Votes that choose are not those that certify.

        Copies of a graph are the same for all its nodes, and those of equal graphs are equal: with one seed for both, a
        choice would have seen the votes that certify, and spend more than alpha.
        """
        work, how = self.work, dict[str, Any](voting=sc.Voting(progress=False))
        samples, own = (work.choosing_samples,) * 2 if choosing else (work.samples, work.own_samples)
        if asked is not None:
            how["threat"] = read_threat(asked)
            how |= {"evidence": sc.Evidence(own_samples=min(own, self.max_own))} if evidence else {}
        return smoothed.certify(graphs, samples=samples, seed=work.seed + int(choosing), **how)

    def tried(self, base: sc.Classifier, objects: Objects, threat: str) -> Result:
        """What trying every attack on a network without noise shows."""
        graphs, rows = self.seen(objects)
        found: Result = self.attacked(base, graphs, fewer(threat, self.farthest)).value
        return replace(found, threat=threat, outcomes=tuple(found.outcomes[row] for row in rows))

    @once
    def attacked(self, base: sc.Classifier, graphs: list[sc.Graph], asked: str) -> Result:
        """What trying every attack shows of all rows of graphs."""
        return exact_result(base, graphs, asked, farthest=self.farthest, max_attacks=self.work.max_attacks)

    @once
    def voters(self, number: int, train: Objects, validation: Objects) -> sc.HashedVotes:
        """Hashed voters, one network that has learned from what some of them see of each graph."""
        untrained = sc.HashedVotes(sc.classifiers.from_callable(first_class), number, self.work.seed)
        seen = copies_of(untrained, train), copies_of(untrained, validation)
        return sc.HashedVotes(self.network(*seen).value.classifier, number, self.work.seed)

    def polled(self, model: sc.HashedVotes, objects: Objects, threat: str, rule: Any, choosing: bool) -> Result:  # noqa: ANN401
        """What hashed voters certify; attacks are tried once for all threats and both rules."""
        graphs, _ = self.seen(objects)
        reached, seconds = self.reached(model, graphs, min(kind_of(threat)[1], TRIED) if choosing else TRIED)
        found = model.certify(graphs, threat=threat, rule=rule, reached=reached)
        passes = found.votes.size if rule == "counting" else found.forward_passes
        return Result(threat, decided(found), None, found.votes.size, passes, seconds + found.seconds)

    @once
    def reached(self, model: sc.HashedVotes, graphs: list[sc.Graph], most: int) -> Reached:
        """What attacks do to each voter."""
        return model.reach(graphs, most=most, tried=TRIED, max_attacks=self.work.max_attacks, progress=False)


def first_class(_graph: object) -> int:
    """A voter that has not learned yet."""
    return 0


def copies_of(voting: sc.HashedVotes, data: Dataset) -> Dataset:
    """What some voters see of each graph, with its label: others of the next graph, so that all voters are there."""
    apart = -(-voting.groups // COPIES)
    copies = [some[number % apart :: apart] for number, some in enumerate(voting.copies(data.graphs))]
    labels = [label for label, some in zip(data.labels.tolist(), copies, strict=True) for _ in some]
    return Dataset([each for some in copies for each in some], labels, name=data.name)
