"""Methods in one frame: each learns from training objects, lets validation objects choose, and certifies.

They serve graphs and the nodes of one graph alike: `Networks` and `NodeNetworks` say what is trained and counted. A
method has a few tries, of which validation chooses one, by what is right and certified under the threat that it is
fitted for; the blind model chooses among its own. What certifies is a method of the library: `Result.of` reads its
certificates.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert.benchmark.data import Nodes, Objects, has_core
from starcert.benchmark.networks import ALPHA, Networks
from starcert.benchmark.outcomes import ANY, KINDS, Result, Timed, exact_result, fewer, kind_of, speaks_to
from starcert.claims.outcomes import Outcome
from starcert.math.closed_forms import Links
from starcert.models import LinkPropagation, LinkVotes, Statistics
from starcert.objects.neighbours import nearest_neighbours

THRESHOLDS = (0.6, 0.75, 0.9)
MAX_SOLVED = 4_000  # nodes whose propagation is solved, by a dense matrix
WEIGHTS = 0.6, 0.4, 0.2, 0.1, 0.05, 0.025  # the more links nodes have, the less one of them should weigh
NEIGHBOURS = 31
QUANTITIES = ("nodes", "labels", "edges"), ("nodes", "labels", "edges by label")


class Fitted(NamedTuple):
    """A trained model, and the cost of its training."""

    tries: Mapping[str, float]  # settings in words, and what is right and certified on validation graphs
    chosen: str  # the setting with the largest share; of equals the first
    train_seconds: float  # of all tries
    seconds: float  # of choosing


class BenchmarkMethod(ABC):
    """A method: make one for each fold, fit it, and let it certify.

    A method looks at training and validation graphs alone when it is fitted. It may be fitted again for another threat.
    """

    name: str  # in tables
    certifies: str  # what a certificate is about, and how sure it is
    of_nodes: ClassVar[bool | None] = False  # whether it classifies `Nodes` of a graph, not graphs; None: both
    kinds: ClassVar[Collection[str] | None] = None  # of threats, that it applies to; None: all
    trains: ClassVar[bool] = True  # whether it trains the networks that are compared, and is run for each of them

    def __init__(self, networks: Networks) -> None:
        self.networks = networks

    def fits(self, train: Objects) -> bool:
        """True if the method can be used on such data; if not, it has no row."""
        return True

    def speaks_of(self, threat: str) -> bool:
        """True if the method applies to a threat; if not, it has no row."""
        return self.kinds is None or kind_of(threat)[0] in self.kinds

    @property
    def network(self) -> str:
        """The network that it trains, in tables; "": none."""
        return self.networks.called if self.trains else ""

    @abstractmethod
    def fit(self, train: Objects, validation: Objects, threat: str) -> Fitted:
        """Learns, and chooses the setting that is best on validation graphs at the size of the threat."""

    @abstractmethod
    def certify(self, objects: Objects, threat: str) -> Result:
        """The results about each object under the threat, up to its size."""


class Blind(BenchmarkMethod):
    """The best model that sees nothing an attack can change, fitted on training and validation objects."""

    name, certifies = "blind", "a model that sees no edge; certain, for any number of changes"
    of_nodes, trains = None, False

    @override
    def fit(self, train: Objects, validation: Objects, threat: str) -> Fitted:
        self.model, seconds = self.networks.blind(train, validation)
        return Fitted(self.model.tries, self.model.chosen, seconds, 0.0)

    @override
    def certify(self, objects: Objects, threat: str) -> Result:
        start = time.perf_counter()
        found = tuple(Outcome(int(answer), ANY) for answer in self.model.answers(objects))
        return Result(threat, found, None, 0, len(objects), time.perf_counter() - start)


class TriedMethod(BenchmarkMethod):
    """A method with several settings: a model for each, of which validation chooses one."""

    settings: Sequence[Any]
    form: ClassVar[str] = "{}"  # of a setting in words

    @abstractmethod
    def model(self, setting: Any, train: Objects, validation: Objects) -> Timed:  # noqa: ANN401
        """The model of a setting, trained."""

    @abstractmethod
    def judge(self, model: Any, objects: Objects, threat: str, *, choosing: bool = False) -> Result:  # noqa: ANN401
        """The certificates of a model; `choosing`: with fewer votes, where that saves time."""

    def words(self, setting: Any) -> str:  # noqa: ANN401
        """A setting in words."""
        return self.form.format(*(setting if isinstance(setting, tuple) else [setting]))

    @override
    def fit(self, train: Objects, validation: Objects, threat: str) -> Fitted:
        (held, labels, weights), (_, size) = self.networks.held(train, validation), kind_of(threat)
        models = {setting: self.model(setting, train, validation) for setting in self.settings}
        found = {each: self.judge(made.value, held, threat, choosing=True) for each, made in models.items()}
        shares = {setting: result.share(labels, size, weights) for setting, result in found.items()}
        self.best = max(shares, key=lambda setting: shares[setting])
        self.fitted = models[self.best].value
        return Fitted(
            {self.words(setting): round(share, 4) for setting, share in shares.items()},
            self.words(self.best),
            sum(made.seconds for made in models.values()),
            sum(result.seconds for result in found.values()),
        )

    @override
    def certify(self, objects: Objects, threat: str) -> Result:
        return self.judge(self.fitted, objects, threat)


class Plain(TriedMethod):
    """A network without noise, of three makes; every attack is tried."""

    name, certifies = "plain", "the plain model; certain"
    of_nodes = None

    def __init__(self, networks: Networks) -> None:
        super().__init__(networks)
        self.settings = [*networks.shapes]

    @override
    def model(self, setting: str, train: Objects, validation: Objects) -> Timed:
        return self.networks.network(train, validation, shape=setting)

    @override
    def judge(self, model: sc.SmoothedClassifier, objects: Objects, threat: str, *, choosing: bool = False) -> Result:
        (graphs, rows), networks = self.networks.seen(objects), self.networks
        how = {"farthest": networks.farthest, "max_attacks": networks.setting.max_attacks}
        part = fewer(threat, networks.farthest)
        tried = networks.kept(
            ("tried", model.classifier, graphs, part), partial(exact_result, model.classifier, graphs, part, **how)
        )
        found: Result = tried.value
        return replace(found, threat=threat, outcomes=tuple(found.outcomes[row] for row in rows))


class Smoothing(TriedMethod):
    """A network trained with noise and certified by its votes on noisy copies, at the rates of a group.

    With evidence, the places of flips and votes at attacked objects decide single attacks, too.
    """

    certifies, form = "the smoothed model; fails with probability alpha at most", "{:g}/{:g}"
    of_nodes = None

    def __init__(self, networks: Networks, group: str = "two-way", *, evidence: bool = False) -> None:
        super().__init__(networks)
        self.group, self.evidence, self.settings = group, evidence, networks.rates_of(group)
        said = {"two-way": "sparsity-aware", "regions": "by regions"}.get(group, group)
        self.name = "evidence" if evidence else f"p_A, {said}"

    @override
    def fits(self, train: Objects) -> bool:
        return self.group != "regions" or (not self.networks.of_nodes and has_core(train))

    @override
    def speaks_of(self, threat: str) -> bool:
        asked = self.networks.question(threat, self.evidence) is not None
        return asked or (kind_of(threat)[0] in KINDS and not self.evidence)

    @override
    def model(self, setting: Any, train: Objects, validation: Objects) -> Timed:
        return self.networks.network(train, validation, setting, regions=self.group == "regions")

    @override
    def judge(self, model: sc.SmoothedClassifier, objects: Objects, threat: str, *, choosing: bool = False) -> Result:
        (graphs, rows), asked = self.networks.seen(objects), self.networks.question(threat, self.evidence)
        found, seconds = self.networks.certified(model, graphs, asked, self.evidence, choosing)
        copies = int(found.votes.counts.sum() + found.votes.selection.sum()) * len(graphs) // len(found)
        attacked = sum(one.verdicts.own_votes for one in found if one.verdicts is not None)
        votes, passes = copies * len(rows) // len(graphs) + attacked, copies + attacked
        result = Result.of(found, threat, rows, votes=votes, forward_passes=passes, seconds=seconds)
        # All tries are judged at one size.
        return result if choosing else replace(result, asked=speaks_to(found, result.outcomes, threat))


class WithFallback(Smoothing):
    """The rates that evidence chooses, or p_A where it is not asked; three thresholds for the blind answer."""

    certifies = "the smoothed model with a blind answer in doubt; fails with probability alpha at most"
    form = "{0[0]:g}/{0[1]:g}, threshold {1:g}"

    def __init__(self, networks: Networks) -> None:
        super().__init__(networks, evidence=True)
        self.name = "evidence, fallback"

    @override
    def speaks_of(self, threat: str) -> bool:
        return super().speaks_of(threat) or kind_of(threat)[0] in KINDS

    @override
    def fit(self, train: Objects, validation: Objects, threat: str) -> Fitted:
        asked = self.networks.question(threat, evidence=True) is not None
        leader = Smoothing(self.networks, evidence=asked)
        first = leader.fit(train, validation, threat)
        self.settings = [(leader.best, threshold) for threshold in THRESHOLDS]
        self.seen = validation if self.networks.of_nodes else None  # of nodes there is one blind model, chosen by these
        found = super().fit(train, validation, threat)
        self.seen = validation
        self.fitted, seconds = self.model(self.best, train, validation)
        return found._replace(train_seconds=first.train_seconds, seconds=first.seconds + found.seconds + seconds)

    @override
    def model(self, setting: Any, train: Objects, validation: Objects) -> Timed:
        """With blind answers that have seen what chooses only once all is chosen: they would look better there."""
        networks, smoothed = self.networks, super().model(setting[0], train, validation).value

        def leaning() -> sc.SmoothedClassifier:
            fallback: Any = sc.Fallback(networks.blind(train, self.seen).value.fallback, setting[1])
            return sc.SmoothedClassifier(smoothed.classifier, smoothed.noise, alpha=ALPHA, fallback=fallback)

        return networks.kept(("fallback", smoothed, train, self.seen, setting[1]), leaning)


class Hashed(TriedMethod):
    """Voters that see one group of node pairs each, certified exactly, or by the published rule of counting.

    Exactly: changes inside a group are tried. By counting: every change turns a voter from the answer to its rival.
    """

    certifies, form = "the vote of hashed groups; certain", "{} voters"
    of_nodes, kinds = None, KINDS

    def __init__(self, networks: Networks, rule: Literal["counting", "exact"] = "exact") -> None:
        super().__init__(networks)
        self.rule, self.name, self.settings = rule, f"hashed, {rule}", networks.setting.voters

    @override
    def model(self, setting: int, train: Objects, validation: Objects) -> Timed:
        return self.networks.voters(setting, train, validation)

    @override
    def judge(self, model: sc.HashedVotes, objects: Objects, threat: str, *, choosing: bool = False) -> Result:
        graphs, rows = self.networks.seen(objects)
        found, passes, seconds = self.networks.polled(model, graphs, threat, self.rule, choosing)
        work = {"votes": model.groups * len(rows), "forward_passes": passes, "seconds": seconds}
        return Result.of(found, threat, rows, **work)


class OfLinks(TriedMethod):
    """A method that is made for nodes, begins with blind scores and is certain; validation nodes choose.

    A change is of any link of the graph. `flips:k` are at most k added and deleted links in any mix, `rewire:k` k
    deleted and k added ones.
    """

    of_nodes, trains = True, False
    kinds: ClassVar[Collection[str] | None] = KINDS
    farthest: ClassVar[int | None] = None  # the largest size that it can be asked about; None: all

    @override
    def fit(self, train: Nodes, validation: Nodes, threat: str) -> Fitted:
        self.start, seconds = self.networks.blind(train, validation)
        return super().fit(train, validation, threat)._replace(train_seconds=seconds)

    @override
    def judge(self, model: Any, objects: Nodes, threat: str, *, choosing: bool = False) -> Result:
        begun, part = time.perf_counter(), threat if self.farthest is None else fewer(threat, self.farthest)
        found = model.certify(objects.graph, threat=part, nodes=objects.numbers)
        seconds = time.perf_counter() - begun
        return Result.of(found, threat, forward_passes=1, seconds=seconds, asked=self.farthest)


class VotesOfLinks(OfLinks):
    """Blind scores and one vote of every linked node; the answer without links has a bonus of several votes."""

    name, certifies = "link votes", "blind scores and a vote of each link; certain"
    form = "weight {:g}, bonus {:g}"

    @override
    def fit(self, train: Nodes, validation: Nodes, threat: str) -> Fitted:
        """Tries six weights of a link, with a bonus for the blind answer from none to all that links say.

        The answer with the largest bonus is the blind one.
        """
        kind, size = kind_of(threat)
        links = 2 * size if kind == "rewire" else size
        most = int(Links.of(train.graph.n_nodes, train.graph.edges).degrees.max(initial=0)) + 2 * links
        self.settings = [*product(WEIGHTS, sorted({0, links, 2 * links, 3 * links, 6 * links, most}))]
        return super().fit(train, validation, threat)

    @override
    def model(self, setting: Any, train: Nodes, validation: Nodes) -> Timed:
        (weight, bonus), known = setting, (train.numbers, train.labels)
        return Timed(LinkVotes.of_logits(self.start.scores, weight=weight, bonus=bonus, known=known), 0.0)


class OverLinks(OfLinks):
    """Blind scores propagated over links and nearest neighbours; every attack with one link is tried.

    Where the lead after an attack is within `LinkPropagation.tolerance`, it is open whether the answer changes; so
    nothing is called broken. Of several links, as of one that is rewired, nothing is known.
    """

    name, certifies = "link propagation", "blind scores propagated over links; certain"
    settings = (0.1, 0.2, 0.3)  # what scores count that are not propagated
    kinds = KINDS.keys() - {"rewire"}
    farthest, form = 1, "own {}"

    @override
    def fits(self, train: Nodes) -> bool:
        return train.graph.n_nodes <= MAX_SOLVED

    @override
    def model(self, setting: float, train: Nodes, validation: Nodes) -> Timed:
        near, known = nearest_neighbours(np.asarray(train.graph.node_data["x"])), (train.numbers, train.labels)
        return Timed(LinkPropagation.of_logits(self.start.scores, own=setting, known=known, fixed=near), 0.0)


def estimators() -> Mapping[str, Callable[[], Any]]:
    """The estimators of scikit-learn that learn from statistics of graphs."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415  (slow to import)
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415
    from sklearn.neighbors import KNeighborsClassifier  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415
    from sklearn.preprocessing import StandardScaler  # noqa: PLC0415

    return {
        "forest, 5 in a leaf": lambda: RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
        "forest, 20 in a leaf": lambda: RandomForestClassifier(100, min_samples_leaf=20, random_state=0),
        f"{NEIGHBOURS} neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(NEIGHBOURS)),
        "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2_000)),
    }


class OfStatistics(TriedMethod):
    """Four estimators, on the number of edges or on those between node labels; validation graphs choose.

    Few graphs to train on have no 31 neighbours.
    """

    name, certifies = "statistics", "scikit-learn on numbers of nodes and edges; certain"
    kinds, trains, form = KINDS, False, "{0} on {1[2]}"

    @override
    def fits(self, train: Objects) -> bool:
        return not train.graphs[0].directed

    @override
    def fit(self, train: Objects, validation: Objects, threat: str) -> Fitted:
        labelled = any("label" in graph.node_data for graph in train.graphs)
        names = [each for each in estimators() if len(train) >= NEIGHBOURS or each != f"{NEIGHBOURS} neighbours"]
        self.settings = [*product(names, QUANTITIES[: 1 + labelled])]
        return super().fit(train, validation, threat)

    @override
    def model(self, setting: Any, train: Objects, validation: Objects) -> Timed:
        made = Statistics(estimators()[setting[0]](), setting[1])
        return self.networks.kept(("statistics", *setting), partial(made.fit, train.graphs, train.labels))

    @override
    def judge(self, model: Statistics, objects: Objects, threat: str, *, choosing: bool = False) -> Result:
        begun, found = time.perf_counter(), model.certify(objects, threat=threat)
        rows = found.outcomes().rows
        named = tuple(one._replace(answer=int(model.classes_[one.answer])) for one in rows)
        return Result(threat, named, None, 0, len(objects), time.perf_counter() - begun)


METHODS: Mapping[str, Sequence[Callable[[Networks], BenchmarkMethod]]] = {
    "two-way": (Smoothing, partial(Smoothing, evidence=True), WithFallback),
    "isotropic": (partial(Smoothing, group="isotropic"),),
    "regions": (partial(Smoothing, group="regions"),),
    "one-way": (partial(Smoothing, group="one-way"),),
    "hashed": (partial(Hashed, rule="counting"), Hashed),
    "plain": (Plain,),
    "blind": (Blind,),
    "links": (VotesOfLinks, OverLinks),
    "statistics": (OfStatistics,),
}
"""Makes the methods of each group; those of a group share what is trained."""
