"""The blind model: the best that can be learned from what no attack changes. It is certified against every attack.

    Untouched (objects/kinds.py) ─► numbers and candidates (candidates.py) ─► cross-validation

Its accuracy is the row to beat: at any radius, certificates are worth having where more is right *and* certified
(`starcert.metrics.structure_gain`). Blind is relative to the threat: noise, regions and threat say what is untouched.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.baselines.candidates import (
    CONSTANT,
    Labels,
    NodeCandidate,
    NodeView,
    WholeView,
    candidates_for,
    estimators,
    fit_constant,
    fit_rows,
)
from starcert.classifiers.functions import nodes_of
from starcert.datasets.dataset import Dataset, stratified_folds
from starcert.objects import CleanObject, Graph, Sites
from starcert.objects.binding import Regions, bind
from starcert.objects.kinds import Untouched, kind_of
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError, needing
from starcert.system.output import Advance, progress_bar
from starcert.system.processes import threads_are_chosen

Bar = Callable[[int], AbstractContextManager[Advance]]  # from the number of steps
Folds = list[tuple[Labels, Labels]]  # what is learned from, and what is tested on

FOLDS, FEWER_FOLDS, MANY = 5, 3, 500  # of many training objects there are fewer folds
MAX_VALIDATED = 2_000  # of more training objects, some are drawn to choose by; all of them are fitted
TRAIN_MASK = "train_mask"
MEAN = "mean of all of these"  # candidates for nodes


@dataclass(frozen=True)
class Candidate:
    """A model that was tried, and the share of training objects that it has right in cross-validation.

    Example:
        >>> Candidate("the most frequent class", 0.5).cross_validated
        0.5
    """

    description: str
    cross_validated: float


class Learned(NamedTuple):
    """A candidate that has learned: the classes of training objects by their places, and of any objects."""

    on: Callable[[Labels], Labels]
    of: Callable[[Sequence[CleanObject]], Labels]


Fit = Callable[[Labels], Learned]  # learns from the training objects at these places


@dataclass(frozen=True)
class Blindfold:
    """The part of objects that may be seen: all that noise, regions and threat leave alone."""

    noise: Noise | None
    regions: Regions | None
    threat: Threat | None

    def show(self, clean: CleanObject) -> Untouched:
        """The visible part of an object."""
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


def blind(
    train: Dataset | Sequence[CleanObject],
    labels: npt.ArrayLike | Sequence[int | None] | None = None,
    *,
    noise: Noise | None = None,
    regions: Regions | None = None,
    threat: Threat | str | None = None,
    nodes: npt.ArrayLike | str | None = None,
    seed: int = 0,
    progress: bool | str | None = False,
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
        progress: whether to draw a progress bar, None: on a terminal only; a text is its title there.

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
        import threadpoolctl  # noqa: PLC0415  (comes with it)
    title, shown = (progress, None) if isinstance(progress, str) else ("blind model", progress)
    bar = partial(progress_bar, title, shown=shown)
    # Many threads on little data wait for each other; where other processes have the cores, six times as long.
    with threadpoolctl.threadpool_limits(None if threads_are_chosen() else 1), warnings.catch_warnings():
        # Cross-validation decides how good it is all the same.
        warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
        truth, fits = _of_nodes(data, fold, nodes) if data.of_nodes else _of_wholes(data, fold, seed, bar)
        folds = _folds(truth, seed)
        with bar(len(folds) * len(fits) + 1) as advance:
            best, tried = _cross_validated(fits, folds, truth, advance)
            fitted = fits[best.description](np.arange(len(truth)))
    return BlindModel(best.description, best.cross_validated, tried, fitted.of)


def _of_wholes(data: Dataset, fold: Blindfold, seed: int, bar: Bar) -> tuple[Labels, dict[str, Fit]]:
    """The classes of the objects that have one, and what can learn from them, simple ones first."""
    data = data.labelled
    if not len(data):
        raise InvalidParameterError("train", "have objects with classes", data)
    seen, truth = list[Untouched](), np.array(data.labels, dtype=np.int64)
    with bar(len(data)) as advance:
        for each in data.graphs:
            seen.append(fold.show(each))
            advance(1)
    view = WholeView.of(seen)

    def fit(make: Callable[[], Any] | None, taught: Labels) -> Learned:
        answers = fit_rows(make, view.rows[taught], truth[taught])
        return Learned(
            on=lambda places: answers(view.rows[places]),
            of=lambda objects: answers(view.show([fold.show(each) for each in objects])),
        )

    fits: dict[str, Fit] = {CONSTANT: partial(fit, None)}
    if about := view.description:
        fits |= {f"{name} on {about}": partial(fit, make) for name, make in estimators(seed).items()}
    return truth, fits


def _of_nodes(data: Dataset, fold: Blindfold, nodes: npt.ArrayLike | str | None) -> tuple[Labels, dict[str, Fit]]:
    """The classes of the nodes to learn from, and what can learn from them, simple ones first."""
    graph = data.graph
    if nodes is None and TRAIN_MASK not in graph.node_data:
        hint = f"Give their indices, or the node data {TRAIN_MASK}."
        raise InvalidParameterError("nodes", f"is missing: it says which nodes are learned from. {hint}")
    chosen = nodes_of(TRAIN_MASK if nodes is None else nodes, graph.frame)
    chosen = chosen[[data.labels[node] is not None for node in chosen.tolist()]]
    if not len(chosen):
        raise InvalidParameterError("nodes", "have nodes whose class is known", nodes)
    truth = np.array(data.labels[chosen], dtype=np.int64)
    seen = fold.show(graph)

    def constant(taught: Labels) -> Learned:
        always = fit_constant(truth[taught])
        return Learned(always, lambda graphs: always(range(sum(fold.show(each).n_parts for each in graphs))))

    def fit(candidate: NodeCandidate, taught: Labels) -> Learned:
        scores, classes = candidate.fit(chosen[taught], truth[taught]), np.unique(truth[taught])

        def answers(view: NodeView) -> Labels:
            return np.asarray(classes[scores(view).argmax(axis=1)])

        return Learned(
            on=lambda places: answers(candidate.taught)[chosen[places]],
            of=lambda graphs: np.concatenate([answers(candidate.view(fold.show(each))) for each in graphs]),
        )

    fits: dict[str, Fit] = {CONSTANT: constant}
    return truth, fits | {each.description: partial(fit, each) for each in candidates_for(seen)}


def node_scores(graph: Graph, train: Labels, labels: Labels, n_classes: int) -> dict[str, npt.NDArray[np.float64]]:
    """The log-probabilities of all nodes by each candidate that sees no link, shape (nodes, classes), and their mean.

    Args:
        graph: the graph; only what no attack on its edges changes is looked at.
        train: the nodes to learn from, by index.
        labels: their classes.
        n_classes: the number of classes.
    """
    found = dict[str, npt.NDArray[np.float64]]()
    for each in candidates_for(Blindfold(None, None, None).show(graph)):
        shares = np.zeros((graph.n_nodes, n_classes))  # nothing for a class that no node has
        shares[:, np.unique(labels)] = each.fit(train, labels)(each.taught)
        found[each.description] = np.log(np.maximum(shares, 1e-9))
    found = {name: one - np.logaddexp.reduce(one, axis=1, keepdims=True) for name, one in found.items()}
    return found | {MEAN: np.mean(list(found.values()), axis=0)} if found else {}


def weights_by_class(labels: Labels, answers: Labels, n_classes: int) -> npt.NDArray[np.float64]:
    """The weight of each validation node: each class counts as often as it is among the answers to other nodes.

    Example:
        >>> weights_by_class(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), 2)
        array([0.375, 0.375, 0.125, 0.125])
    """
    shares = np.bincount(answers, minlength=n_classes) / np.maximum(np.bincount(labels, minlength=n_classes), 1)
    if not shares[labels].any():
        shares = np.ones(n_classes)
    weights: npt.NDArray[np.float64] = shares[labels] / shares[labels].sum()
    return weights


def _folds(truth: Labels, seed: int) -> Folds:
    """The folds of cross-validation; of a single object, none."""
    drawn = np.arange(len(truth))
    if len(truth) > MAX_VALIDATED:
        drawn = stratified_folds(truth, -(-len(truth) // MAX_VALIDATED), seed)[0][1]
    if len(drawn) < 2:
        return []
    folds = FEWER_FOLDS if len(drawn) > MANY else min(FOLDS, len(drawn))
    return [(drawn[taught], drawn[tested]) for taught, tested in stratified_folds(truth[drawn], folds, seed)]


def _cross_validated(
    fits: Mapping[str, Fit], folds: Folds, truth: Labels, advance: Advance
) -> tuple[Candidate, tuple[Candidate, ...]]:
    """The best candidate and all of them, with the share of right answers on folds that were not learned from."""
    right = dict.fromkeys(fits, 0)
    for taught, tested in folds:  # every fold takes about as long, but not every candidate
        for name, fit in fits.items():
            right[name] += int((fit(taught).on(tested) == truth[tested]).sum())
            advance(1)
    n_tested = max(1, sum(len(tested) for _, tested in folds))
    tried = tuple(Candidate(name, n_right / n_tested) for name, n_right in right.items())
    return max(tried, key=lambda each: each.cross_validated), tried
