"""The blind model: the best that can be learned from what no attack changes. It is certified against every attack.

    Untouched (objects/untouched.py) ─► numbers (columns.py) ─► candidates (wholes.py, nodes.py) ─► cross-validation

Its accuracy is the row to beat: at any radius, certificates are worth having where more is right *and* certified
(`starcert.metrics.structure_gain`). Blind is relative to the threat: noise, regions and threat say what is untouched.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from starcert.baselines.nodes import NodeCandidate, NodeView, candidates_for
from starcert.baselines.wholes import CONSTANT, Answer, Labels, WholeView, estimators, fit_constant, fit_rows
from starcert.classifiers.functions import nodes_of
from starcert.datasets.dataset import Dataset, stratified_folds
from starcert.objects import CleanObject, Sites
from starcert.objects.binding import Regions, bind
from starcert.objects.kinds import kind_of
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat, read_threat
from starcert.objects.untouched import Untouched
from starcert.system.errors import InvalidParameterError, needing

FOLDS, FEWER_FOLDS, MANY = 5, 3, 500  # of many training objects there are fewer folds
MAX_VALIDATED = 2_000  # of more training objects, some are drawn to choose by; all of them are fitted
TRAIN_MASK = "train_mask"


@dataclass(frozen=True)
class Candidate:
    """A model that was tried, and the share of training objects that it has right in cross-validation.

    Example:
        >>> Candidate("the most frequent class", 0.5).cross_validated
        0.5
    """

    description: str
    cross_validated: float


@dataclass(frozen=True)
class Blindfold:
    """What may be looked at: all that noise, regions and threat leave alone."""

    noise: Noise | None
    regions: Regions | None
    threat: Threat | None

    def show(self, clean: CleanObject) -> Untouched:
        """What is left of an object."""
        if self.noise is None:
            sites = Sites(clean, tuple(each.name for each in clean.layers), tuple(e.everything() for e in clean.layers))
        else:
            sites = bind(clean, self.noise, self.regions)
        return kind_of(clean).untouched(sites, self.noise, self.threat)


@dataclass(frozen=True, eq=False, repr=False)
class BlindModel:
    """A fitted model that sees nothing that an attack can change.

    Attributes:
        description: what it is, and what it looks at.
        cross_validated: the share of training objects that it had right in cross-validation, by which it was chosen.
        candidates: all that were tried, the simplest first.

    Example:
        >>> from starcert.objects import Graph
        >>> model = blind([Graph(n % 2 + 3, []) for n in range(20)], [n % 2 for n in range(20)])
        >>> model.predict([Graph(3, [(0, 1)]), Graph(4, [])]), model.cross_validated, len(model.candidates)
        (array([0, 1]), 1.0, 5)
    """

    description: str
    cross_validated: float
    candidates: tuple[Candidate, ...]
    _answers: Callable[[Sequence[CleanObject]], Labels]

    def __repr__(self) -> str:
        return f"BlindModel({self.description}, {self.cross_validated:.1%} in cross-validation)"

    def predict(self, objects: Sequence[CleanObject] | CleanObject) -> Labels:
        """The class of each object; of the nodes of a graph, where nodes are classified, that of each node."""
        return self._answers([objects] if isinstance(objects, CleanObject) else objects)

    def score(
        self, objects: Sequence[CleanObject] | CleanObject | Dataset, labels: npt.ArrayLike | None = None
    ) -> float:
        """The share of right answers, of those whose class is known; a data set brings its labels along."""
        given = objects.labels if isinstance(objects, Dataset) else labels
        truth = np.array(given, dtype=object)
        known = np.array([each is not None for each in truth.tolist()], dtype=np.bool_)
        answers = self.predict(objects.graphs if isinstance(objects, Dataset) else objects)
        return float((answers == truth)[known].mean())


def blind(
    train: Dataset | Sequence[CleanObject],
    labels: npt.ArrayLike | Sequence[int | None] | None = None,
    *,
    noise: Noise | None = None,
    regions: Regions | None = None,
    threat: Threat | str | None = None,
    nodes: npt.ArrayLike | str | None = None,
    seed: int = 0,
) -> BlindModel:
    """The best of several models that see nothing an attack can change: chosen by cross-validation, fitted on `train`.

    Of graphs it sees how many nodes have each label, one-hot feature or category, moments of their other data, and the
    number of nodes; of nodes their data, and their nearest neighbours by these; of rows the columns in no region. Never
    anchored data, nor any edge in a region. Where nodes come or go, nothing that is counted over nodes.

    Args:
        train: the training part, with classes; of the nodes of a graph, the data set of that graph.
        labels: the classes, where `train` is a sequence of objects.
        noise: the noise of the certificates: sites in its regions may be attacked; without it, every site.
        regions: where its regions lie, as in `SmoothedClassifier`.
        threat: what is certified against, if it lists its attacks; sites that it does not fit are left alone.
        nodes: the nodes to learn from, by index, mask or the name of a mask; `train_mask` by default.
        seed: of the folds, and of forests.

    Example:
        >>> from starcert.objects import Graph
        >>> graphs = [Graph(3, [(0, 1)], node_data={"label": [0, 1, n % 2]}) for n in range(20)]
        >>> model = blind(graphs, [n % 2 for n in range(20)])
        >>> model.description, model.predict(graphs[:4])
        ('logistic regression on counts of label', array([0, 1, 0, 1]))
    """
    data = train if isinstance(train, Dataset) else Dataset(train, labels)
    fold = Blindfold(noise, regions, None if threat is None else read_threat(threat))
    with needing("The blind model needs", "kernels"):
        import sklearn.exceptions  # noqa: PLC0415  (optional)
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", sklearn.exceptions.ConvergenceWarning
        )  # cross-validation decides how good it is all the same
        return _of_nodes(data, fold, nodes, seed) if data.of_nodes else _of_wholes(data, fold, seed)


def _of_wholes(data: Dataset, fold: Blindfold, seed: int) -> BlindModel:
    data = data.labelled
    if not len(data):
        raise InvalidParameterError("train", "have objects with classes", data)
    seen, truth = [fold.show(each) for each in data.graphs], np.array(data.labels, dtype=np.int64)
    view = WholeView.of(seen)
    makers: dict[str, Callable[[npt.NDArray[Any], Labels], Answer]] = {CONSTANT: lambda rows, some: fit_constant(some)}
    if len(view.kept):
        about = view.description
        makers |= {f"{name} on {about}": partial(fit_rows, make) for name, make in estimators(seed).items()}

    def answers(maker: Callable[[npt.NDArray[Any], Labels], Answer], taught: Labels, tested: Labels) -> Labels:
        return maker(view.rows[taught], truth[taught])(view.rows[tested])

    tried = [Candidate(name, _cross_validated(partial(answers, maker), truth, seed)) for name, maker in makers.items()]
    best = max(tried, key=lambda each: each.cross_validated)
    fitted = makers[best.description](view.rows, truth)
    return BlindModel(
        *(best.description, best.cross_validated, tuple(tried)),
        lambda objects: fitted(view.show([fold.show(each) for each in objects])),
    )


def _of_nodes(data: Dataset, fold: Blindfold, nodes: npt.ArrayLike | str | None, seed: int) -> BlindModel:
    graph = data.graph
    if nodes is None and TRAIN_MASK not in graph.node_data:
        hint = f"Give their indices, or the node data {TRAIN_MASK}."
        raise InvalidParameterError("nodes", "say which nodes are learned from", None, hint)
    chosen = nodes_of(TRAIN_MASK if nodes is None else nodes, graph.frame)
    chosen = chosen[[data.labels[node] is not None for node in chosen.tolist()]]
    if not len(chosen):
        raise InvalidParameterError("nodes", "have nodes whose class is known", nodes)
    truth = np.array(data.labels[chosen], dtype=np.int64)
    seen = fold.show(graph)
    views, candidates = dict[int, NodeView](), candidates_for(seen)

    def answers(candidate: NodeCandidate, taught: Labels, tested: Labels) -> Labels:
        if (key := id(candidate.scaling)) not in views:
            views[key] = candidate.view(seen)
        view = views[key]
        return candidate.fit(view, chosen[taught], truth[taught]).answers(view)[chosen[tested]]

    def constant(taught: Labels, tested: Labels) -> Labels:
        return fit_constant(truth[taught])(tested)

    tried = {CONSTANT: _cross_validated(constant, truth, seed)}
    tried |= {each.description: _cross_validated(partial(answers, each), truth, seed) for each in candidates}
    best = max(tried, key=lambda each: tried[each])
    listed = tuple(Candidate(*each) for each in tried.items())
    if best == CONSTANT:
        always = fit_constant(truth)

        def same(graphs: Sequence[CleanObject]) -> Labels:
            return always(range(sum(fold.show(each).n_parts for each in graphs)))

        return BlindModel(best, tried[best], listed, same)
    (winner,) = (each for each in candidates if each.description == best)
    fitted = winner.fit(winner.view(seen), chosen, truth)

    def predict(graphs: Sequence[CleanObject]) -> Labels:
        return np.concatenate([fitted.answers(winner.view(fold.show(each))) for each in graphs])

    return BlindModel(best, tried[best], listed, predict)


def _cross_validated(answers: Callable[[Labels, Labels], Labels], truth: Labels, seed: int) -> float:
    """The share of right answers on folds that were not learned from; of a single object, 0."""
    drawn = np.arange(len(truth))
    if len(truth) > MAX_VALIDATED:
        drawn = stratified_folds(truth, -(-len(truth) // MAX_VALIDATED), seed)[0][1]
    if len(drawn) < 2:
        return 0.0
    right = 0
    folds = FEWER_FOLDS if len(drawn) > MANY else min(FOLDS, len(drawn))
    for taught, tested in stratified_folds(truth[drawn], folds, seed):
        right += int((answers(drawn[taught], drawn[tested]) == truth[drawn[tested]]).sum())
    return right / len(drawn)
