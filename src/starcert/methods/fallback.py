"""A smoothed classifier with a blind default: the answer of a model that sees nothing an attacker can change.

    F_t(x) = the class c with P_x(c) > t, other than the blind answer b, if there is one; else b

If votes show F_t(x) = b, it is certified as far as no other class can rise above t, and otherwise as far as its class
cannot fall to t. `math/fallback.py` has the rule, docs/mathematics.md the theorem.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from starcert.math.confidence import class_numbers
from starcert.math.fallback import BlindAnswers, check_threshold
from starcert.objects import CleanObject, Sites
from starcert.objects.kinds import kind_of
from starcert.system.errors import InvalidParameterError
from starcert.voting.plans import Job

MAX_CHECKED = 64  # about the most objects on which a model is checked to be blind
MAX_CHANGED = 256  # sites that are changed there, at most


@runtime_checkable
class Predicts(Protocol):
    """A model that answers objects, such as `starcert.baselines.blind(…)` or an estimator of yours that is blind."""

    def predict(self, objects: Sequence[Any], /) -> Any:  # noqa: ANN401  (an array of any library)
        """One class for each object, or for each of its targets, those of the first object first."""


@dataclass(frozen=True, eq=False)
class Fallback:
    """The answer of a smoothed classifier where no other class is likely enough.

    That the answers are blind is a premise of every certificate: they must be the same for every object that the
    attacker can make of the one that is certified. A model is asked about some objects with other values at random
    sites, and refused if an answer changes; that finds mistakes, and proves nothing. Neither answers nor threshold may
    depend on the votes.

    Args:
        blind: a model with a method `predict`, which gets the clean objects; or its answers, one class for each object
            or target that is certified, in the words of the classifier or by number. Where the nodes of one graph are
            classified, answers for all its nodes will do.
        threshold: the probability that another class must exceed, from 1/2 to below 1; larger ones lean on the blind
            answer. Choose it on validation objects, never on those that are certified.

    Example:
        >>> import networkx as nx
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 7), n_classes=2)
        >>> clique = sc.Graph.from_networkx(nx.complete_graph(6))
        >>> smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.1), fallback=sc.Fallback([0], threshold=0.8))
        >>> (one,) = smoothed.certify([clique], samples=2_000, seed=1)
        >>> one.label, one.blind_answer, one.frontier.radii
        (1, 0, ((2,),))
    """

    blind: Predicts | npt.ArrayLike
    threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", check_threshold(self.threshold))
        if not isinstance(self.blind, Predicts) and np.ndim(self.blind) != 1:
            hint = "For example starcert.baselines.blind(train), or [0, 1, 1] for three objects."
            raise InvalidParameterError("blind", "have a method predict, or be a list of answers", self.blind, hint)

    def answers(self, job: Job, classes: Sequence[Hashable] | None) -> BlindAnswers:
        """The blind answer of each target of a job, by number; `classes` are the words for them."""
        if isinstance(self.blind, Predicts):
            given = np.asarray(self.blind.predict([each.clean for each in job.sites])).reshape(-1)
            _check_blind(self.blind, job.sites[:: -(-len(job.sites) // MAX_CHECKED)], job)
        else:
            given = np.asarray(self.blind)
        n_rows = sum(map(job.n_targets, range(len(job.sites))))
        if job.target_nodes is not None:
            given = job.target_nodes.labels(given)
        if given.shape != (n_rows,):
            must = f"have one answer for each of {n_rows} objects or targets"
            raise InvalidParameterError("blind", must, given.shape)
        numbers = class_numbers(given, job.classifier.n_classes, classes)
        if numbers.dtype != np.int64:
            raise InvalidParameterError("blind", "answer every object", None)
        return BlindAnswers(self.threshold, numbers)


def _check_blind(model: Predicts, objects: Sequence[Sites], job: Job) -> None:
    """Refuses a model that answers differently where sites have other values: it is not blind."""
    rng = np.random.default_rng([job.seed, len(objects)])
    changed = [_changed(one, job, rng) for one in objects]
    if not np.array_equal(model.predict([one.clean for one in objects]), model.predict(changed)):
        hint = "It must not see what the noise may change, nor anything that depends on it, such as degrees."
        raise InvalidParameterError("blind", "give the same answer whatever is attacked", model, hint)


def _changed(sites: Sites, job: Job, rng: np.random.Generator) -> CleanObject:
    """An object with other values at some sites that an attacker may change, chosen at random."""
    values = sites.values.copy()
    number = rng.integers(0, min(len(values), MAX_CHANGED), endpoint=True)
    positions = rng.choice(len(values), size=number, replace=False)
    for region, first, size in zip(sites.regions, sites.offsets, sites.sizes, strict=True):
        here = positions[(positions >= first) & (positions < first + size)]
        alphabet = job.noise[region].alphabet
        steps = rng.integers(1, alphabet, size=len(here))
        values[here] = (np.minimum(values[here], alphabet - 1) + steps) % alphabet
    return kind_of(sites.clean).with_values(sites, values)
