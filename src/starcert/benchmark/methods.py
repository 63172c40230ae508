"""Methods in one frame: each learns from training objects, lets validation objects choose, and certifies.

They serve graphs and the nodes of one graph alike: `Networks` and `NodeNetworks` say what is trained and counted. A
method has a few tries, of which validation chooses one, by what is right and certified under the threat that it is
fitted for; the blind model chooses among its own.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from typing_extensions import override

import starcert as sc
from starcert.benchmark.folds import Nodes, Objects, has_core
from starcert.benchmark.networks import ALPHA, Networks
from starcert.benchmark.outcomes import ANY, KINDS, Result, Timed, fewer, kind_of, outcome_of, speaks_to
from starcert.claims.outcomes import Outcome
from starcert.math.closed_forms import Links
from starcert.models import LinkPropagation, LinkVotes
from starcert.objects.neighbours import nearest_neighbours

THRESHOLDS = (0.6, 0.75, 0.9)


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
    trains: ClassVar[bool] = True  # whether it trains the networks that are compared, and is run for each of them

    def __init__(self, networks: Networks) -> None:
        self.networks = networks

    def fits(self, train: Objects) -> bool:
        """True if the method can be used on such data; if not, it has no row."""
        return True

    def speaks_of(self, threat: str) -> bool:
        """True if the method applies to a threat; if not, it has no row."""
        return True

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

    @abstractmethod
    def model(self, setting: Any, train: Objects, validation: Objects) -> Timed:  # noqa: ANN401
        """The model of a setting, trained."""

    @abstractmethod
    def judge(self, model: Any, objects: Objects, threat: str, *, choosing: bool = False) -> Result:  # noqa: ANN401
        """The certificates of a model; `choosing`: with fewer votes, where that saves time."""

    def words(self, setting: Any) -> str:  # noqa: ANN401
        """A setting in words."""
        return "{:g}/{:g}".format(*setting)

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
    def words(self, setting: str) -> str:
        return setting

    @override
    def model(self, setting: str, train: Objects, validation: Objects) -> Timed:
        return self.networks.network(train, validation, shape=setting)

    @override
    def judge(self, model: sc.SmoothedClassifier, objects: Objects, threat: str, *, choosing: bool = False) -> Result:
        graphs, rows = self.networks.seen(objects)
        found: Result = self.networks.attacked(model.classifier, graphs, fewer(threat, self.networks.farthest)).value
        return replace(found, threat=threat, outcomes=tuple(found.outcomes[row] for row in rows))


class Smoothing(TriedMethod):
    """A network trained with noise and certified by its votes on noisy copies, at the rates of a group.

    With evidence, the places of flips and votes at attacked objects decide single attacks, too.
    """

    certifies = "the smoothed model; fails with probability alpha at most"
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
        outcomes = tuple(outcome_of(found[row], threat) for row in rows)
        copies = int(found.votes.counts.sum() + found.votes.selection.sum()) * len(graphs) // len(found)
        attacked = sum(one.verdicts.own_votes for one in found if one.verdicts is not None)
        limit = None if choosing else speaks_to(found, outcomes, threat)  # all tries are judged at one size
        votes = copies * len(rows) // len(graphs) + attacked
        return Result(threat, outcomes, ALPHA, votes, copies + attacked, seconds, limit, found)


class WithFallback(Smoothing):
    """The rates that evidence chooses, or p_A where it is not asked; three thresholds for the blind answer."""

    certifies = "the smoothed model with a blind answer in doubt; fails with probability alpha at most"

    def __init__(self, networks: Networks) -> None:
        super().__init__(networks, evidence=True)
        self.name = "evidence, fallback"

    @override
    def speaks_of(self, threat: str) -> bool:
        return super().speaks_of(threat) or kind_of(threat)[0] in KINDS

    @override
    def words(self, setting: Any) -> str:
        return f"{super().words(setting[0])}, threshold {setting[1]:g}"

    @override
    def fit(self, train: Objects, validation: Objects, threat: str) -> Fitted:
        asked = self.networks.question(threat, evidence=True) is not None
        leader = Smoothing(self.networks, evidence=asked)
        first = leader.fit(train, validation, threat)
        self.settings = [(leader.best, threshold) for threshold in THRESHOLDS]
        self.seen = self.networks.unseen(validation)
        found = super().fit(train, validation, threat)
        self.seen = validation
        self.fitted, seconds = self.model(self.best, train, validation)
        return found._replace(train_seconds=first.train_seconds, seconds=first.seconds + found.seconds + seconds)

    @override
    def model(self, setting: Any, train: Objects, validation: Objects) -> Timed:
        """With blind answers that have seen what chooses only once all is chosen: they would look better there."""
        smoothed = super().model(setting[0], train, validation).value
        return self.networks.leaning(smoothed, train, self.seen, setting[1])


class Hashed(TriedMethod):
    """Voters that see one group of node pairs each, certified exactly, or by the published rule of counting.

    Exactly: changes inside a group are tried. By counting: every change turns a voter from the answer to its rival.
    """

    certifies = "the vote of hashed groups; certain"
    of_nodes = None

    def __init__(self, networks: Networks, rule: Literal["counting", "exact"] = "exact") -> None:
        super().__init__(networks)
        self.rule, self.name, self.settings = rule, f"hashed, {rule}", networks.setting.voters

    @override
    def speaks_of(self, threat: str) -> bool:
        return kind_of(threat)[0] in KINDS

    @override
    def words(self, setting: int) -> str:
        return f"{setting} voters"

    @override
    def model(self, setting: int, train: Objects, validation: Objects) -> Timed:
        return self.networks.voters(setting, train, validation)

    @override
    def judge(self, model: sc.HashedVotes, objects: Objects, threat: str, *, choosing: bool = False) -> Result:
        graphs, rows = self.networks.seen(objects)
        found, passes, seconds = self.networks.polled(model, graphs, threat, self.rule, choosing)
        known = found.outcomes().rows
        outcomes = tuple(known[row] for row in rows)
        return Result(threat, outcomes, None, model.groups * len(rows), passes, seconds)


MAX_SOLVED = 4_000  # nodes whose propagation is solved, by a dense matrix
WEIGHTS = 0.6, 0.4, 0.2, 0.1, 0.05, 0.025  # the more links nodes have, the less one of them should weigh


class OfLinks(TriedMethod):
    """A method that is made for nodes, begins with blind scores and is certain; validation nodes choose.

    A change is of any link of the graph. `flips:k` are at most k added and deleted links in any mix, `rewire:k` k
    deleted and k added ones.
    """

    of_nodes, trains = True, False
    decides: ClassVar[bool]  # whether an attack is known where a size is not certified, and any size can be asked about

    @override
    def speaks_of(self, threat: str) -> bool:
        return kind_of(threat)[0] in KINDS

    @override
    def fit(self, train: Nodes, validation: Nodes, threat: str) -> Fitted:
        self.start, seconds = self.networks.blind(train, validation)
        return super().fit(train, validation, threat)._replace(train_seconds=seconds)

    @override
    def judge(self, model: Any, objects: Nodes, threat: str, *, choosing: bool = False) -> Result:
        begun, (kind, most), numbers = time.perf_counter(), kind_of(threat), objects.numbers
        if not self.decides:  # nothing is known about several links
            most = int(kind != "rewire")
        answers = model.answers(objects.graph)[numbers].tolist()
        found = tuple(Outcome(answer, 0) for answer in answers)
        if most:
            certified = model.certify(objects.graph, threat=fewer(threat, most), nodes=numbers).outcomes()
            found = tuple(Outcome(one.answer, one.certified, one.broken) for one in certified)
        return Result(threat, found, None, 0, 1, time.perf_counter() - begun, None if self.decides else most)


class VotesOfLinks(OfLinks):
    """Blind scores and one vote of every linked node; the answer without links has a bonus of several votes."""

    name, certifies = "link votes", "blind scores and a vote of each link; certain"
    decides = True

    @override
    def words(self, setting: Any) -> str:
        return "weight {:g}, bonus {:g}".format(*setting)

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
    nothing is called broken.
    """

    name, certifies = "link propagation", "blind scores propagated over links; certain"
    settings = (0.1, 0.2, 0.3)  # what scores count that are not propagated
    decides = False

    @override
    def fits(self, train: Nodes) -> bool:
        return train.graph.n_nodes <= MAX_SOLVED

    @override
    def words(self, setting: float) -> str:
        return f"own {setting}"

    @override
    def model(self, setting: float, train: Nodes, validation: Nodes) -> Timed:
        near, known = nearest_neighbours(np.asarray(train.graph.node_data["x"])), (train.numbers, train.labels)
        return Timed(LinkPropagation.of_logits(self.start.scores, own=setting, known=known, fixed=near), 0.0)
