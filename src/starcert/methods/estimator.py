"""A smoothed classifier as a scikit-learn estimator that can be cloned, fitted, scored and put in a pipeline.

An estimator keeps the arguments of its constructor as attributes of the same names: all else follows from that.
scikit-learn itself need not be installed.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.claims.certificates import Certificates
from starcert.claims.metrics import accuracy
from starcert.classifiers.base import Classifier
from starcert.math.confidence import class_numbers
from starcert.objects import CleanObject
from starcert.objects.binding import OWN_KINDS, Problem, Regions, bind, bind_all, noise_for_sites
from starcert.objects.kinds import kind_of
from starcert.objects.noise import Noise
from starcert.system.errors import InvalidParameterError, needing, whole_number

GraphLike: TypeAlias = CleanObject | Any
"""An object to certify: a `Graph`, `Bits` or `Categories`; or a `Data` of PyG or a graph of networkx, which is read by
`Graph.from_pyg` or `Graph.from_networkx` with their defaults."""

ABSTAIN = -1  # what `predict` answers where no class can be shown to be the likeliest


def is_estimator(value: object) -> bool:
    """True if something looks like a scikit-learn classifier that can be fitted.

    Example:
        >>> is_estimator(len)
        False
    """
    methods = ("fit", "predict", "get_params", "set_params")
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in methods)


def as_objects(graphs: Sequence[GraphLike]) -> list[CleanObject]:
    """Each of these graphs as what is certified."""
    if isinstance(graphs, CleanObject) or (not isinstance(graphs, list | tuple) and _converted(graphs) is not None):
        raise InvalidParameterError("graphs", "be a list of graphs", graphs, "Wrap a single one in a list: [graph].")
    if not isinstance(graphs, list | tuple):
        tables = (found for kind in OWN_KINDS if (found := kind.convert_all(graphs)) is not None)
        if (rows := next(tables, None)) is not None:
            return rows
    return [as_object(each, f"graphs[{position}]") for position, each in enumerate(graphs)]


def as_object(given: GraphLike, name: str) -> CleanObject:
    """The object to certify: starcert's own, or made from a graph of networkx or PyG with default options."""
    if isinstance(given, CleanObject):
        return given
    try:
        found = _converted(given)
    except InvalidParameterError as error:
        parameter, *others = error.args
        whole = parameter in ("graph", "data")
        raise InvalidParameterError(name if whole else f"{name}.{parameter}", *others) from error
    if found is None:
        hint = "Convert it first, for instance with Graph.from_numpy(adjacency) or Bits.rows(X)."
        requirement = "be a starcert Graph, a PyG Data or a networkx graph"
        raise InvalidParameterError(name, requirement, type(given).__name__, hint)
    return found


def bound_problem(graphs: Sequence[GraphLike] | Problem, noise: Noise, regions: Regions | None) -> Problem:
    """The problem to certify: graphs and their regions, bound here, or before with the same noise."""
    if not isinstance(graphs, Problem):
        return bind_all(as_objects(graphs), noise, regions)
    if graphs.noise != noise and graphs.noise != noise_for_sites(noise, graphs.sites):
        hint = "Give problem.under(noise), or graphs."
        raise InvalidParameterError("graphs", f"be a problem with the noise {noise!r}", graphs, hint)
    return graphs


def _converted(given: object) -> CleanObject | None:
    """The object that something stands for, by the first of starcert's kinds that knows it."""
    return next((found for kind in OWN_KINDS if (found := kind.convert(given)) is not None), None)


class SmoothedEstimator(ABC):
    """The part of a smoothed classifier that scikit-learn sees. Its base may be an estimator, which `fit` trains."""

    _estimator_type = "classifier"  # up to scikit-learn 1.5

    noise: Noise
    regions: Regions | None

    def __init__(self, base: Classifier | Any, samples: int, seed: int) -> None:  # noqa: ANN401  (or any estimator)
        if not (isinstance(base, Classifier) or is_estimator(base)):
            hint = (
                "Wrap a function: starcert.classifiers.from_callable(f, n_classes=2). A class of your own derives from "
                "starcert.classifiers.Classifier."
            )
            raise InvalidParameterError("base", "be a classifier", base, hint)
        whole_number("samples", samples, 1)
        whole_number("seed", seed, 0)
        self.base, self.samples, self.seed = base, samples, seed
        self._trained: Classifier | None = base if isinstance(base, Classifier) else None
        self._fitted_classes: npt.NDArray[np.int64] | None = None

    def __repr__(self) -> str:
        try:
            base = self.base if self._trained is None else self._trained.description
        except InvalidParameterError:  # it has no name, and its content cannot be digested
            base = type(self._trained).__name__
        return f"{type(self).__name__}({base}, {self.noise!r})"

    @abstractmethod
    def certify(self, graphs: Sequence[GraphLike], *, samples: int, seed: int) -> Certificates:
        """One certificate for each graph."""

    @property
    def classifier(self) -> Classifier:
        """The base classifier that votes: `base` itself, or what `fit` has trained."""
        if self._trained is None:
            hint = "Call fit first, or wrap a fitted estimator: starcert.classifiers.from_sklearn(estimator)."
            raise InvalidParameterError("base", "be trained", self.base, hint)
        return self._trained

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.classifier.n_classes

    @property
    def classes_(self) -> npt.NDArray[np.int64]:
        """The possible answers of `predict`, besides `ABSTAIN`: class number i of a certificate is entry i."""
        return np.arange(self.n_classes) if self._fitted_classes is None else self._fitted_classes

    @property
    def _class_labels(self) -> tuple[Hashable, ...] | None:
        """The labels of the classes, in the order of their numbers; None: the numbers themselves."""
        return self.classifier.class_labels or self.classifier.class_names

    def fit(self, graphs: Sequence[GraphLike], labels: npt.ArrayLike) -> Self:
        """Trains a copy of a scikit-learn estimator on clean graphs; a base classifier that is trained stays as it is.

        Of rows of a table and of texts it is trained on masked copies, 16 of each.

        The labels are classes, whole numbers from 0.
        """
        given = as_objects(graphs)
        classes = _one_each(labels, len(given))
        if classes.dtype.kind not in "biu" or (classes.dtype.kind == "i" and (classes < 0).any()):
            hint = "numpy.unique(labels, return_inverse=True) numbers them."  # and −1 is an abstention
            raise InvalidParameterError("labels", "be whole numbers from 0", classes.tolist()[:5], hint)
        if self._trained is self.base:
            return self
        with needing("fit needs", "kernels"):
            from sklearn.base import clone  # noqa: PLC0415  (half a second; only where one of its estimators is)
        from starcert.classifiers.sklearn import from_sklearn  # noqa: PLC0415

        sites_of = partial(bind, noise=self.noise, regions=self.regions)
        kind = kind_of(*given)
        rows, times = kind.training_rows(given, sites_of, self.noise, self.seed)
        fitted = clone(self.base).fit(rows, np.repeat(classes.astype(np.int64), times))
        trained = from_sklearn(fitted, batch_size=kind.batch_size)
        self._trained, self._fitted_classes = trained, np.asarray(trained.estimator.classes_)
        return self

    def score(self, graphs: Sequence[GraphLike], labels: npt.ArrayLike) -> float:
        """The share of clean graphs that are answered right; an abstention is not a right answer.

        The labels are in the words of the classifier or by number; one that a fitted estimator never saw is never
        answered.
        """
        given = as_objects(graphs)
        never_answered = None if self.classifier.class_labels is None else self.n_classes
        truth = class_numbers(_one_each(labels, len(given)), self.n_classes, self._class_labels, unseen=never_answered)
        certificates = self.certify(given, samples=self.samples, seed=self.seed)
        return accuracy(np.where(certificates.abstained, ABSTAIN, certificates.labels), truth)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor by name; with `deep` also those of a nested estimator, as base__name."""
        names = inspect.signature(type(self)).parameters
        found: dict[str, Any] = {name: getattr(self, name) for name in names}
        for name, value in list(found.items()) if deep else []:
            if is_estimator(value):
                found.update({f"{name}__{inner}": inside for inner, inside in value.get_params(deep=True).items()})
        return found

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401  (scikit-learn's signature)
        """Sets arguments of the constructor anew, checked as there; what was fitted is forgotten."""
        known = self.get_params(deep=False)
        nested: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            own, inner, rest = name.partition("__")
            if own not in known or (inner and not is_estimator(params.get(own, known[own]))):
                raise InvalidParameterError(name, f"be one of {', '.join(known)}", value)
            if inner:
                nested.setdefault(own, {})[rest] = value
            else:
                known[own] = value
        for own, inside in nested.items():
            known[own].set_params(**inside)
        vars(self).update(vars(type(self)(**known)))  # the constructor checks, and nothing fitted survives
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self._trained is not None

    def __sklearn_clone__(self) -> Self:
        """A copy that is not fitted. A trained base classifier is shared: it is only asked, and may be large."""
        from sklearn.base import clone  # noqa: PLC0415  (scikit-learn is who calls)

        given = self.get_params(deep=False)
        return type(self)(**{name: clone(value) if is_estimator(value) else value for name, value in given.items()})

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401  (scikit-learn carries no types)
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # noqa: PLC0415  (since 1.6)

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=False),
        )


def _one_each(labels: npt.ArrayLike, n_graphs: int) -> npt.NDArray[Any]:
    given = np.asarray(labels)
    if given.shape != (n_graphs,):
        raise InvalidParameterError("labels", f"have one class for each of {n_graphs} graphs", given.shape)
    return given
