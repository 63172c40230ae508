"""Shared work of the methods on a fold: each network is trained once, and each set of votes is counted once.

`Networks` serves graphs, and `NodeNetworks` has what differs for the nodes of one graph. There a change is of any link
of the graph, near a node or far from it. Validation nodes are as many of each class, which test nodes are not: each
class counts as often as blind models answer it on nodes that they have not learned from. That weighs the tries of every
method alike.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, ClassVar, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import override

import starcert as sc
from starcert.baselines import blind
from starcert.baselines.blind_model import MEAN, node_scores, weights_by_class
from starcert.benchmark.data import DRAWN, Objects, core_and_rest, limit_of
from starcert.benchmark.outcomes import KINDS, TRIED, Timed, fewer, kind_of, read_threat
from starcert.benchmark.settings import Benchmark
from starcert.classifiers import features, from_pyg
from starcert.classifiers.features import sparse
from starcert.datasets import Dataset
from starcert.methods.hashed_voters import HashedVoters, Reached
from starcert.models import GCN, GIN, NodeGCN, NodePropagation, fit_nodes_with_noise, fit_with_noise
from starcert.models.fitting import own_generator
from starcert.runs.user_code import Reference
from starcert.system.errors import StarcertWarning

P = ParamSpec("P")
Owner = TypeVar("Owner", bound="Networks")
Graphs = tuple[sc.Graph, ...]
Rates = tuple[float, float]
Rule = Literal["counting", "exact"]
Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

ALPHA = 0.01
"""The failure probability of every certificate."""
BATCH = 32
LAYERS = 3  # of a network that learns with noise
COPIES = 5  # of a training graph, at most, that hashed voters learn from
NODE_NETWORKS = {"gin": "propagation", "gcn": "gcn"}
"""The classifiers of nodes in place of each network of graphs: `NodePropagation`, `NodeGCN`."""
ONE_LINK = "deletions:1"  # the attacks that evidence is asked about: others are too many on a whole graph
AT_ONCE = 15  # up to which size voters of nodes are asked at once: more costs no more


def here() -> tuple[str, str]:
    """The device that torch works on, and its name: the first GPU, or the processor."""
    return ("cuda", torch.cuda.get_device_name()) if torch.cuda.is_available() else ("cpu", "CPU")


def pairs_noise(delete: float, add: float) -> sc.Noise:
    """The noise of all node pairs; one rate where both are the same."""
    return sc.Noise(pairs=sc.Flip(delete=delete, add=add))


def network_named(model: str) -> Any:  # noqa: ANN401  (a class or a function that returns a module)
    """A function that makes a network from the numbers of features and classes; one of your own is in a file."""
    return {"gin": GIN, "gcn": GCN}.get(model) or Reference.parse(model, Path.cwd(), "models").load()


def once(make: Callable[Concatenate[Owner, P], object]) -> Callable[Concatenate[Owner, P], Timed]:
    """The result of a method and its duration, kept for later calls with the same arguments."""

    @wraps(make)
    def kept(self: Owner, *args: P.args, **kwargs: P.kwargs) -> Timed:
        return self.kept((make.__name__, args, *kwargs.items()), partial(make, self, *args, **kwargs))

    return cast("Callable[Concatenate[Owner, P], Timed]", kept)


class BlindRecord(NamedTuple):
    """A model that sees nothing an attack can change."""

    tries: Mapping[str, float]  # the models that were tried, and what each has right
    chosen: str
    answers: Callable[[Any], Any]  # the class of each of some objects
    fallback: Any  # the same as `Fallback` takes it
    scores: Any = None  # of nodes, the log-probabilities of all of them: what methods that see links begin with


class Networks:
    """Shared work of the methods on one fold of graphs."""

    of_nodes: ClassVar[bool] = False
    farthest: ClassVar[int] = TRIED  # up to which size every attack is tried
    max_own: ClassVar[int] = 2**31  # votes at attacked versions of an object, at most
    rates: ClassVar[Mapping[str, Sequence[Rates]]] = {
        "two-way": ((0.2, 0.05), (0.4, 0.1), (0.6, 0.05)),
        "isotropic": ((0.05, 0.05), (0.1, 0.1), (0.2, 0.2)),
        "regions": ((0.02, 0.45), (0.05, 0.2), (0.2, 0.05)),
        "one-way": ((0.8, 0.0), (0.9, 0.0), (0.97, 0.0)),
    }

    def __init__(self, setting: Benchmark, model: str = "gin") -> None:
        self.setting, self.model = setting, model
        self.made: dict[Hashable, Timed] = {}

    def kept(self, key: Hashable, make: Callable[[], object]) -> Timed:
        """What was made under a key, and how long it took; made when it is first asked for."""
        if key not in self.made:
            begun, value = time.perf_counter(), make()
            self.made[key] = Timed(value, time.perf_counter() - begun)
        return self.made[key]

    # What differs between graphs and nodes --------------------------------------------------------------------------

    @property
    def called(self) -> str:
        """The name of the network in tables."""
        return self.model.rpartition(":")[2]

    @property
    def shapes(self) -> Mapping[str, Mapping[str, Any]]:
        """The tried forms of a network without noise, in words and as arguments."""
        return {f"{layers} layers": {"layers": layers} for layers in (1, 2, 3)}

    def seen(self, objects: Objects) -> tuple[Graphs, Sequence[int]]:
        """The graphs that are asked about, and which of the rows that they give are those of the objects."""
        return tuple(objects), range(len(objects))

    def held(self, train: Objects, validation: Objects) -> tuple[Objects, Whole, Real | None]:
        """The objects that choose among tries, their classes, and their weights (None: all the same)."""
        some = validation.limited(limit_of(self.setting.held), self.setting.seed)
        return some.graphs, some.labels, None

    @once
    def blind(self, train: Objects, validation: Objects) -> BlindRecord:
        """The best blind model; None as validation: what chooses is not learned from."""
        some = train
        if validation is not None:
            labels = np.concatenate([train.labels, validation.labels])
            some = Dataset([*train.graphs, *validation.graphs], labels)
        model = blind(some, noise=pairs_noise(0.1, 0.1), seed=self.setting.seed)  # its rates do not matter
        tries = {each.description: round(each.cross_validated, 4) for each in model.candidates}
        return BlindRecord(tries, model.description, model.predict, model)

    def trained(
        self, train: Objects, validation: Objects, noise: sc.Noise, shape: str, regions: bool
    ) -> sc.SmoothedClassifier:
        """A network trained with noise; graphs without node data show it degrees."""
        setting, graph = self.setting, train.graphs[0]
        named = [name for name in ("x", "attributes") if name in graph.node_data]
        degrees = [features.in_degree(), features.out_degree()] if graph.directed else [features.degree()]
        shown: list[Any] = named or degrees
        columns = sum(np.shape(graph.node_data[each])[1] if each in named else 1 for each in shown)
        n_classes = 1 + max(1, *train.known, *validation.known)
        module = self.untrained(self.network_of(columns), n_classes, shape)
        base = from_pyg(module, n_classes=n_classes, features=shown)
        smoothed = sc.SmoothedClassifier(base, noise, core_and_rest(train) if regions else None, alpha=ALPHA)
        most = setting.drawn_epochs if train.name in DRAWN else setting.max_epochs
        epochs = max(1, min(most, setting.steps * BATCH // len(train)))
        fit_with_noise(
            smoothed, train.graphs, train.labels, validation=(validation.graphs, validation.labels), epochs=epochs,
            learning_rate=1e-2, halve_every=max(1, epochs // 4), batch_size=BATCH, seed=setting.seed, progress=False,
        )  # fmt: skip
        return smoothed

    def question(self, threat: str, evidence: bool) -> str | None:
        """The question to certify; None if counts alone decide.

        Evidence decides a threat of few units itself, and of a larger one any few flips, or the first few units.
        """
        kind, size = kind_of(threat)
        if kind not in KINDS or (evidence and size <= TRIED):
            return threat
        return fewer(threat if kind == "rewire" else f"flips:{size}", TRIED) if evidence else None

    @once
    def voters(self, number: int, train: Objects, validation: Objects) -> sc.HashedVotes:
        """Hashed voters, one network that has learned from what some of them see of each graph."""
        untrained = sc.HashedVotes(sc.classifiers.from_callable(lambda _: 0), number, self.setting.seed)
        network = self.network(copies_of(untrained, train), copies_of(untrained, validation)).value
        return sc.HashedVotes(network.classifier, number, self.setting.seed)

    def polled(
        self, model: sc.HashedVotes, graphs: Graphs, threat: str, rule: Rule, choosing: bool
    ) -> tuple[sc.Certificates[HashedVoters], int, float]:
        """The certificates of hashed voters, with answers and seconds; attacks are tried once for all threats."""
        reached, seconds = self.reached(model, graphs, min(kind_of(threat)[1], TRIED) if choosing else TRIED)
        found = model.certify(graphs, threat=threat, rule=rule, reached=reached)
        passes = found.proof.votes.size if rule == "counting" else found.proof.forward_passes
        return found, passes, seconds + found.seconds

    @once
    def reached(self, model: sc.HashedVotes, graphs: Graphs, most: int) -> Reached:
        """The effect of attacks on each voter."""
        return model.reach(graphs, most=most, tried=TRIED, max_attacks=self.setting.max_attacks, progress=False)

    # What is the same ----------------------------------------------------------------------------------------------

    def rates_of(self, group: str) -> list[Rates]:
        """The rates of noise that a group of methods tries: to delete and to add, or those of two regions."""
        return [*map(tuple, self.setting.rates.get(group, self.rates.get(group, ())))]

    def network_of(self, columns: int) -> Callable[..., torch.nn.Module]:
        """A function that makes the network for so many features from the number of classes."""
        return partial(network_named(self.model), columns, hidden=self.setting.hidden, layers=LAYERS)

    def untrained(self, make: Callable[..., torch.nn.Module], n_classes: int, shape: str) -> torch.nn.Module:
        """A network with its first weights, on the device of torch."""
        with own_generator(self.setting.seed, "cpu"):
            return make(n_classes, **self.shapes.get(shape, {})).to(here()[0])

    @once
    def network(
        self, train: Objects, validation: Objects, rates: Rates = (0.0, 0.0), shape: str = "", regions: bool = False
    ) -> sc.SmoothedClassifier:
        """A smoothed network, trained with its noise, or without any; rates are those of two regions, if there are."""
        noise = sc.Noise(core=rates[0], rest=rates[1]) if regions else pairs_noise(*rates)
        with warnings.catch_warnings():  # such as that a try has one answer for all: validation chooses
            warnings.simplefilter("ignore", StarcertWarning)
            return self.trained(train, validation, noise, shape, regions)

    @once
    def certified(
        self, smoothed: sc.SmoothedClassifier, graphs: Graphs, asked: str | None, evidence: bool, choosing: bool
    ) -> sc.Certificates:
        """Certificates of all rows of graphs. Votes that choose are not those that certify.

        Copies of a graph are the same for all its nodes, and those of equal graphs are equal: with one seed for both, a
        choice would have seen the votes that certify, and spend more than alpha.
        """
        setting, how = self.setting, dict[str, Any](voting=sc.Voting(progress=False))
        samples, own = (setting.choosing_samples,) * 2 if choosing else (setting.samples, setting.own_samples)
        if asked is not None:
            how["threat"] = read_threat(asked)
            how |= {"evidence": sc.Evidence(own_samples=min(own, self.max_own))} if evidence else {}
        return smoothed.certify(graphs, samples=samples, seed=setting.seed + int(choosing), **how)


class NodeNetworks(Networks):
    """Shared work of the methods on a split: votes and attacks on one graph serve all its nodes."""

    of_nodes = True
    farthest = 1  # all attacks with one link are tried, where they are few enough
    max_own = 300  # each takes a pass over the whole graph
    rates: ClassVar[Mapping[str, Sequence[Rates]]] = {
        "two-way": ((0.4, 0.0005), (0.6, 0.001), (0.8, 0.002)),
        # Of 2,810 nodes, an absent link is added at a rate of 0.002 about as often as there are links.
        "isotropic": ((0.002, 0.002), (0.005, 0.005), (0.01, 0.01)),
        "one-way": ((0.7, 0.0), (0.8, 0.0), (0.9, 0.0)),
    }

    @property
    @override
    def called(self) -> str:
        return NODE_NETWORKS.get(self.model, super().called)

    @property
    @override
    def shapes(self) -> Mapping[str, Mapping[str, Any]]:
        name, values = ("link_weight", (0.5, 1, 2)) if self.model == "gin" else ("hidden", (16, 32, 64))
        return {f"{name.replace('_', ' ')} {value:g}": {name: value} for value in values}

    @override
    def seen(self, objects: Objects) -> tuple[Graphs, Sequence[int]]:
        return (objects.graph,), objects.numbers.tolist()

    @override
    def held(self, train: Objects, validation: Objects) -> tuple[Objects, Whole, Real]:
        answers = self.blind_scores(train).value[MEAN].argmax(axis=1)
        others = np.delete(answers, train.numbers)
        return validation, validation.labels, weights_by_class(validation.labels, others, validation.data.n_classes)

    @override
    @once
    def blind(self, train: Objects, validation: Objects) -> BlindRecord:
        tried, weights = self.blind_scores(train).value, self.held(train, validation)[2]
        shares = {name: float(weights @ (scores.argmax(axis=1)[validation.numbers] == validation.labels))
                  for name, scores in tried.items()}  # fmt: skip
        chosen = max(shares, key=lambda name: shares[name])
        answers, tries = tried[chosen].argmax(axis=1), {name: round(each, 4) for name, each in shares.items()}
        return BlindRecord(tries, chosen, lambda nodes: answers[nodes.numbers], answers, tried[chosen])

    @once
    def blind_scores(self, train: Objects) -> dict[str, Real]:
        """Log-probabilities of all nodes by models that never see a link: those of `blind`, and their mean."""
        return node_scores(train.graph, train.numbers, train.labels, train.data.n_classes)

    @override
    def trained(
        self, train: Objects, validation: Objects, noise: sc.Noise, shape: str, regions: bool
    ) -> sc.SmoothedClassifier:
        """A network trained with noise on links; what does not depend on them is computed once for all votes."""
        words, how = np.asarray(train.graph.node_data["x"]), {"n_classes": train.data.n_classes, "targets": "nodes"}
        ready: dict[str, Any] = {"gin": partial(NodePropagation, words), "gcn": partial(NodeGCN, words.shape[1])}
        make = ready.get(self.model) or self.network_of(words.shape[1])
        module = self.untrained(make, train.data.n_classes, shape)
        fit_nodes_with_noise(
            sc.SmoothedClassifier(from_pyg(module, **how), noise), train.graph, train.data.labels, train=train.numbers,
            validation=validation.numbers, epochs=self.setting.max_epochs, seed=self.setting.seed, progress=False,
        )  # fmt: skip
        shown: dict[str, Any] = {"model": module}
        if isinstance(module, NodePropagation):
            shown = module.for_votes()
        elif here()[0] == "cpu":
            shown["features"] = sparse("x")
        return sc.SmoothedClassifier(from_pyg(**shown, **how), noise, alpha=ALPHA)

    @override
    def question(self, threat: str, evidence: bool) -> str | None:
        return ONE_LINK if evidence and kind_of(threat)[0] == "deletions" else None

    @override
    @once
    def voters(self, number: int, train: Objects, validation: Objects) -> sc.HashedVotes:
        """One network for all voters, trained with noise that leaves as many links as a voter sees."""
        network = self.network(train, validation, (1 - 1 / number, 0.0)).value
        return sc.HashedVotes(network.classifier, number, self.setting.seed)

    @override
    def polled(
        self, model: sc.HashedVotes, graphs: Graphs, threat: str, rule: Rule, choosing: bool
    ) -> tuple[sc.Certificates[HashedVoters], int, float]:
        """Every deleted link is tried, of other changes the worst assumed."""
        kind, size = kind_of(threat)
        asked, tried = f"{kind}:{max(size, AT_ONCE)}", int(kind == "deletions")
        how: Any = {"rule": rule, "tried": tried, "max_attacks": self.setting.max_attacks, "progress": False}
        found, seconds = self.kept(("polled", model, asked, rule), partial(model.certify, graphs, threat=asked, **how))
        return found, found.proof.forward_passes, seconds


def copies_of(voting: sc.HashedVotes, data: Dataset) -> Dataset:
    """The parts of each graph that some voters see, with its label; voters differ from graph to graph, so all occur."""
    apart = -(-voting.groups // COPIES)
    copies = [some[number % apart :: apart] for number, some in enumerate(voting.copies(data.graphs))]
    labels = [label for label, some in zip(data.labels.tolist(), copies, strict=True) for _ in some]
    return Dataset([each for some in copies for each in some], labels, name=data.name)
