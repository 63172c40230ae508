"""scikit-learn's conventions for estimators, kept without scikit-learn: it need not be installed.

An estimator keeps the arguments of its constructor as attributes of the same names. From that, `get_params`,
`set_params` and `sklearn.base.clone` follow, and with them whatever scikit-learn builds on estimators.
"""

from __future__ import annotations

import inspect
from typing import Any, Self

from starcert.system.errors import InvalidParameterError

__all__ = ["ClassifierConventions", "is_estimator"]


def is_estimator(value: object) -> bool:
    """Whether something looks like a scikit-learn classifier that can be fitted.

    Example:
        >>> is_estimator(len)
        False
    """
    methods = ("fit", "predict", "get_params", "set_params")
    return not isinstance(value, type) and all(callable(getattr(value, name, None)) for name in methods)


class ClassifierConventions:
    """What scikit-learn expects of a classifier besides `fit`, `predict`, `score` and `classes_`."""

    _estimator_type = "classifier"  # up to scikit-learn 1.5

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
