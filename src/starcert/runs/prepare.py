"""What a run needs before it can vote: data, a model, regions, and a first try of all of them on the clean graphs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from starcert.errors import StarcertError
from starcert.graphs import Partition
from starcert.graphs.content import digest
from starcert.graphs.rule import Rule
from starcert.runs import sources
from starcert.runs.data import RunData
from starcert.runs.models import Offer, aligned, as_classifier, call_model, clean_answers
from starcert.runs.rules import needs_model, problem_of, rule_of
from starcert.runs.settings import RunSettings
from starcert.runs.threads import one_thread

if TYPE_CHECKING:
    from starcert.binding import Problem
    from starcert.classifiers.base import Classifier

__all__ = ["Material", "Prepared", "check_expected", "gather", "prepare"]


@dataclass(frozen=True)
class Material:
    """What is there before any model is made.

    Attributes:
        rule: from a graph to its regions; None if that follows from the model.
        everything: all the data.
        train: the training part of them; None if they are not divided.
        chosen: the graphs of the run.
    """

    rule: Rule | Partition | None
    everything: RunData
    train: RunData | None
    chosen: RunData


@dataclass(frozen=True)
class Prepared:
    """Everything that a run votes with.

    Attributes:
        model: the digest of the model's file.
        base: the base classifier.
        data: the graphs of the run, their classes numbered as the classifier numbers them.
        rule: from a graph to its regions.
        problem: the graphs with their noise and their regions, bound once.
        answers: the base classifier's answer on each clean graph.
    """

    model: str
    base: Classifier
    data: RunData
    rule: Rule | Partition
    problem: Problem
    answers: tuple[int, ...]

    @cached_property
    def digests(self) -> dict[str, str]:
        """What the run is made from."""
        return {
            "model": self.model,
            "classifier": self.base.description,
            "data": self.data.digest,
            "regions": digest([(each.key, each.reason) for each in self.problem.sites]),
        }


def gather(settings: RunSettings) -> Material:
    """Reads the data of a run, once its regions are known to be there."""
    # A mistake in the name of a builder is told before data are read.
    rule = None if needs_model(settings.regions) else rule_of(settings.regions, settings.noise)
    everything = sources.load(settings.data)
    train = None if settings.split == "all" else everything.part("train", settings.split_seed)
    chosen = everything.part(settings.split, settings.split_seed).first(settings.limit)
    return Material(rule, everything, train, chosen)


def prepare(settings: RunSettings, material: Material, known: Problem | None = None) -> Prepared:
    """Makes the model of a run, and tries it and the regions on every clean graph.

    Args:
        settings: those of the run.
        material: what is there before any model is made.
        known: these graphs with their regions from an earlier model, of use if regions do not follow from the model.
    """
    with one_thread(settings.device or "cpu"):
        return _prepare(settings, material, known)


def _prepare(settings: RunSettings, material: Material, known: Problem | None) -> Prepared:
    offer = Offer(settings.device or "cpu", material.everything, material.train, settings.noise, material.rule)
    model = call_model(settings.model, offer)
    base = as_classifier(model, settings.model, material.chosen, settings.device)
    data = aligned(material.chosen, base)
    rule = rule_of(settings.regions, settings.noise, model=model) if material.rule is None else material.rule
    if known is None or material.rule is None:
        problem = problem_of(rule, settings.noise, data)
    else:
        problem = known.under(settings.noise)
    answers = clean_answers(base, settings.model, data, problem.sites)
    return Prepared(settings.model.digest, base, data, rule, problem, tuple(answers))


def check_expected(digests: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Refuses to repeat a run from something else than it was made from."""
    changed = [name for name, content in expected.items() if digests.get(name) != content]
    if changed:
        raise StarcertError(
            f"This run shall repeat another, but not everything is as it was: {', '.join(changed)}. "
            "Bring it back, or take the table [expected] out of the run file to certify what is there now."
        )
