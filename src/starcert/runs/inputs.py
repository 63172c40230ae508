"""What a run needs before it can vote: graphs, a model, regions, and a first try of all of them on the clean graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

from starcert.objects import CleanObject, Graph, Partition
from starcert.objects.binding import Problem, anchor_all, bind, noise_for_sites
from starcert.objects.content import digest
from starcert.objects.rule import Rule, stated_by_author
from starcert.runs.columns import LONGEST
from starcert.runs.edge_types import HOW_TO_SAY
from starcert.runs.graph_files import RunData
from starcert.runs.models import ModelInputs, aligned, as_classifier, call_model, clean_answers
from starcert.runs.settings import RunSettings
from starcert.runs.sources import load_graphs
from starcert.runs.splits import divided
from starcert.runs.trained_weights import put_weights
from starcert.runs.user_code import Reference, running_user_code
from starcert.system.errors import InvalidParameterError, StarcertError
from starcert.system.output import progress_bar
from starcert.system.threads import one_thread

if TYPE_CHECKING:
    from starcert.classifiers.base import Classifier
    from starcert.objects import Sites
    from starcert.objects.noise import Noise

__all__ = [
    "RunInputs",
    "TriedModel",
    "UserRule",
    "check_expected",
    "describe_rule",
    "needs_model",
    "problem_of",
    "read_inputs",
    "rule_of",
    "try_model",
]


@dataclass(frozen=True)
class RunInputs:
    """What is there before any model is made.

    Attributes:
        rule: from a graph to its regions; None for one region, and as long as they follow from the model.
        everything: all the data.
        train: the training part of them; None if they are not divided.
        validation: the validation part; None if they are not divided, or if none lies there.
        chosen: the graphs of the run.
        drawn: whether a limit drew them from every class, as the first ones would not have stood for all.
    """

    rule: Rule | Partition | Mapping[str, Any] | None
    everything: RunData
    train: RunData | None
    validation: RunData | None
    chosen: RunData
    drawn: bool = False

    @property
    def said(self) -> tuple[str, ...]:
        """What a user may want to know of the data and the choice."""
        shared = [(name, count) for name, count in Counter(self.everything.names).items() if count > 1]
        more = ", and other names are shared too" if len(shared) > 1 else ""
        alike = tuple(
            f"{count:,} graphs have the name {name[:LONGEST]!r}{more}: their numbers tell them apart."
            for name, count in shared[:1]
        )
        if not self.drawn:
            return alike
        counts = Counter(self.chosen.labels or ())
        names = {label: "unknown" if label is None else self.chosen.class_names[label] for label in counts}
        listed = ", ".join(f"{counts[each]} of class {names[each]}" for each in sorted(counts, key=str))
        drawn = f"The first {len(self.chosen):,} graphs would not stand for all: these are drawn from every class"
        return (*alike, f"{drawn} (--split-seed), {listed}.")


@dataclass(frozen=True)
class TriedModel:
    """Everything that a run votes with.

    Attributes:
        model: the digest of the model's file.
        base: the base classifier.
        data: the graphs of the run, their classes numbered as the classifier numbers them.
        rule: from a graph to its regions.
        problem: the graphs with their noise and their regions, bound once.
        answers: the base classifier's answer on each clean graph, or each of its targets.
    """

    model: str
    base: Classifier
    data: RunData
    rule: Rule | Partition | Mapping[str, Any] | None
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


def read_inputs(settings: RunSettings) -> RunInputs:
    """Reads the data of a run, once its regions are known to be there."""
    # A mistake in the name of a builder is told before data are read.
    rule = None if needs_model(settings.regions) else rule_of(settings.regions, settings.noise)
    of_nodes = settings.targets == "nodes"
    everything = load_graphs(settings.data, of_nodes=of_nodes, columns=settings.columns, edge_types=settings.edge_types)
    if settings.splits is not None:
        everything = divided(everything, settings.splits)
    if of_nodes:
        everything = everything.of_nodes()
    if settings.regions is None and any(_has_other_sites(each) for each in everything.graphs):
        rule = None
    without = settings.split == "all" or (everything.parts is not None and "train" not in everything.parts)
    part = everything.part(settings.split, settings.split_seed)
    train = None if without else everything.part("train", settings.split_seed)
    validation = None if settings.split == "all" else everything.part_if_any("validation", settings.split_seed)
    chosen = part.limited(settings.limit, settings.split_seed)
    drawn = chosen.names != part.first(settings.limit).names
    return RunInputs(rule, everything, train, validation, chosen, drawn)


def _has_other_sites(clean: CleanObject) -> bool:
    """Whether an object has sites that are no node pairs and no arcs: one region is then whatever sites it has."""
    return not isinstance(clean, Graph) or len(clean.layers) > 1


def try_model(settings: RunSettings, inputs: RunInputs, known: Problem | None = None) -> TriedModel:
    """Makes the model of a run, and tries it and the regions on every clean graph.

    Args:
        settings: those of the run.
        inputs: what is there before any model is made.
        known: these graphs with their regions from an earlier model, of use if regions do not follow from the model.
    """
    device = settings.device or "cpu"
    with one_thread(device):
        given = ModelInputs(device, inputs.everything, inputs.train, settings.noise, inputs.rule, inputs.validation)
        model = call_model(settings.model, given)
        if settings.weights is not None:
            put_weights(model, settings.weights, settings.model)
        of_nodes = settings.targets == "nodes"
        base = as_classifier(model, settings.model, inputs.chosen, settings.device, nodes=(of_nodes, settings.nodes))
        data = aligned(inputs.chosen, base)
        follows = needs_model(settings.regions)
        rule = rule_of(settings.regions, settings.noise, model=model) if follows else inputs.rule
        kept = None if follows else known
        problem = problem_of(rule, settings.noise, data) if kept is None else kept.under(settings.noise)
        answers = clean_answers(base, settings.model, data, problem.sites)
    return TriedModel(settings.model.digest, base, data, rule, problem, tuple(answers))


def check_expected(digests: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Refuses to repeat a run from something else than it was made from."""
    changed = [name for name, content in expected.items() if digests.get(name) != content]
    if changed:
        raise StarcertError(
            f"This run shall repeat another, but not everything is as it was: {', '.join(changed)}. "
            "Bring it back, or take the table [expected] out of the run file to certify what is there now."
        )


class UserRule:
    """A function of the user's from a graph to its partition; where it fails, its file and line are named."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        found = reference.load()
        if not (callable(found) or isinstance(found, Partition)):
            hint = "Write def regions(graph): return starcert.Partition.from_node_sets({…})."
            raise InvalidParameterError(
                "regions", "name a function from a graph to its Partition", f"{type(found).__name__} {reference}", hint
            )
        self.function = found
        word = None if isinstance(found, Partition) else stated_by_author(found)
        if word is not None:
            self.anchored = word

    def __call__(self, graph: Graph) -> Partition:
        """The partition of a graph."""
        if isinstance(self.function, Partition):
            return self.function
        with running_user_code(
            self.reference.file
        ):  # nothing of the graph is read here: it would count as read by the rule
            found: Partition = self.function(graph)
        return found


def needs_model(regions: Reference | str | Mapping[str, object] | None) -> bool:
    """Whether the regions follow from the model, so that it must be there before them."""
    from starcert.objects.regions import BUILDERS  # noqa: PLC0415

    builder = BUILDERS.get(regions.partition(":")[0].strip()) if isinstance(regions, str) else None
    return builder is not None and builder.needs_model


def rule_of(
    regions: Reference | str | Mapping[str, object] | None, noise: Noise, *, model: object = None
) -> Rule | Partition | Mapping[str, Any]:
    """The rule that a run's setting names.

    Args:
        regions: the setting.
        noise: the noise, whose one region has every node pair where the setting is left out.
        model: what the model function returned, for a builder that needs it.
    """
    if regions is None:
        return Partition.everything(noise.regions[0])
    if isinstance(regions, Mapping):
        return regions
    if isinstance(regions, Reference):
        return UserRule(regions)
    from starcert.objects.regions import build  # noqa: PLC0415

    return build(regions, model=model) if needs_model(regions) else build(regions)


def describe_rule(rule: Rule | Partition | Mapping[str, Any] | None) -> str:
    """The rule of a run, for the record."""
    if isinstance(rule, UserRule):
        return str(rule.reference)
    if isinstance(rule, Mapping):
        return ", ".join(f"{region}: {where}" for region, where in rule.items())
    if rule is None or isinstance(rule, Partition):
        return "every node pair" if rule is not None else "every site"
    return str(getattr(rule, "description", rule))


def problem_of(rule: Rule | Partition | Mapping[str, Any] | None, noise: Noise, data: RunData) -> Problem:
    """The graphs of the data, bound to their regions; refused, by name, if they are not those of the noise."""
    sites: list[Sites] = []
    with progress_bar("regions", len(data)) as advance:
        for name, graph in zip(data.names, data.graphs, strict=True):
            try:
                sites.append(bind(graph, noise, rule))
                if len(sites) > 1:  # the graphs before had the regions of the noise
                    noise_for_sites(noise, sites[-1:])
            except StarcertError as error:
                untyped = isinstance(graph, Graph) and not graph.type_names
                more = f" {HOW_TO_SAY}" if untyped and "edge_types" in str(error) else ""
                raise StarcertError(f"The regions of graph {name!r} cannot be used: {error}{more}") from error
            _check_noise(noise, sites[0].regions)
            advance(1)
    return Problem(noise, anchor_all(sites, rule))


def _check_noise(noise: Noise, regions: Sequence[str]) -> None:
    """Refuses a noise for regions that are not there."""
    if set(regions) == set(noise.regions):
        return
    strange = [region for region in noise.regions if region not in regions]
    if strange:
        left = [region for region in regions if region not in noise.regions]
        close = get_close_matches(strange[0], left, n=1) or get_close_matches(strange[0], regions, n=1)
        hint = f"There is no region {strange[0]}. " + (f"Did you mean {close[0]}?" if close else "Give --regions too.")
    else:
        hint = f"Missing: {', '.join(region for region in regions if region not in noise.regions)}."
    wanted = f"have a flip law for every region of the graphs, {', '.join(regions)}, and no other"
    raise InvalidParameterError("noise", wanted, ", ".join(noise.regions), hint)
