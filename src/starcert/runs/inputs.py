"""The needs of a run before it can vote: graphs, a model, regions, and a first try of them on the clean graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from starcert.classifiers.base import Classifier, named_classes
from starcert.classifiers.derived import asked_about
from starcert.datasets.dataset import Dataset
from starcert.datasets.graph_files import ASK_FOR_TYPES
from starcert.datasets.node_sites import with_node_sites
from starcert.datasets.parts import divided, part_if_any, part_of, with_fractions, with_node_parts
from starcert.datasets.tables import MAX_SHOWN
from starcert.methods.exhaustive import any_changes
from starcert.methods.preparation import Fallback
from starcert.objects import CleanObject, Graph, Partition, Sites
from starcert.objects.binding import Problem, anchor_all, bind, noise_for_sites
from starcert.objects.content import digest
from starcert.objects.kinds import kind_of
from starcert.objects.noise import Noise
from starcert.objects.regions import build
from starcert.objects.rule import Rule, stated_by_author
from starcert.objects.threats import Threat, UnfitError, attackable, injected_nodes, with_spare_nodes
from starcert.runs.models import as_classifier, call_model, put_weights, refuse_model
from starcert.runs.setting_values import digest_of_files
from starcert.runs.settings import RunSettings
from starcert.runs.sources import load_graphs, with_node_labels
from starcert.runs.user_code import Reference, running_user_code
from starcert.system.errors import InvalidParameterError, StarcertError, did_you_mean
from starcert.system.output import note, progress_bar
from starcert.system.processes import one_thread
from starcert.voting.ask import answers_on
from starcert.voting.plans import Job

if TYPE_CHECKING:
    from starcert.runs.blind_run import FittedBlind

RunRegions = Rule | Partition | Mapping[str, Any] | None
"""From a graph to its regions; None: the one region of the noise is every site."""


WHERE_CLASSES_ARE = (
    "For graph files that is labels.csv with the columns name and label; in a table of molecules the column label, or "
    "--columns label=COLUMN."
)


@dataclass(frozen=True)
class RunInputs:
    """The inputs of a run before any model is made."""

    rule: RunRegions  # the regions; None also where they follow from the model
    everything: Dataset  # all the data
    train: Dataset | None  # their training part; None if they are not divided
    validation: Dataset | None  # their validation part; None if they are not divided, or if it is empty
    chosen: Dataset  # the graphs of the run
    drawn: bool = False  # whether the limit drew them from every class, as the first ones would not represent all
    of_nodes: str = ""  # the parts of the nodes of a graph, in words, where the run divides them

    def offered(self, device: str, noise: Noise, threat: Threat | None = None) -> dict[str, object]:
        """The values that a model function gets for parameters of these names; None: it must not ask."""
        return {
            "device": device,
            "data": self.everything,
            "train": self.train,
            "noise": noise,
            "regions": self.rule,
            "validation": self.validation,
            "threat": threat,
        }

    @property
    def notes(self) -> Iterator[str]:
        """Notes on the data and the choice."""
        if self.of_nodes:
            yield self.of_nodes
        shared = [(name, count) for name, count in Counter(self.everything.names).items() if count > 1]
        for name, count in shared[:1]:
            more = ", and other names are shared too" if len(shared) > 1 else ""
            yield f"{count:,} graphs have the name {name[:MAX_SHOWN]!r}{more}: their numbers tell them apart."
        if self.drawn:
            counts = Counter(self.chosen.labels.tolist())
            names = {label: "unknown" if label is None else self.chosen.class_names[label] for label in counts}
            listed = ", ".join(f"{counts[each]} of class {names[each]}" for each in sorted(counts, key=str))
            drawn = f"The first {len(self.chosen):,} graphs would not represent all: these are drawn from every class"
            yield f"{drawn} (--split-seed), {listed}."


@dataclass(frozen=True)
class TriedModel:
    """Everything that a run votes with: its settings, its model, and its graphs bound to noise and regions."""

    settings: RunSettings
    model: str  # the digest of the model's file
    base: Classifier
    data: Dataset  # the graphs of the run, their classes numbered as the classifier numbers them
    rule: RunRegions  # the regions
    labels: list[int | None] | None  # the class of each row that is certified, as a number; None: none is known
    job: Job  # the votes to count: the classifier, and the graphs bound to noise and regions once
    threat: str | None  # the digest of the files that the threat is from; None where it is starcert's own
    answers: tuple[int, ...]  # the base classifier's answer on each clean graph, or each of its targets
    fallback: Fallback | None = None  # what is answered where no class is likely enough
    blind: str | None = None  # the digest of the file that its model is from; None where it is starcert's own
    fitted: FittedBlind | None = None  # starcert's own blind model, where the run falls back to it

    @property
    def problem(self) -> Problem:
        """The graphs, bound to their noise and their regions."""
        return self.job.problem

    @property
    def sent(self) -> list[object]:
        """The objects that travel to workers, one of each that a user's file may define."""
        return [self.problem.objects[0], *map(self.problem.noise.__getitem__, self.problem.noise)]

    @cached_property
    def digests(self) -> dict[str, str]:
        """The digests of the inputs of a run."""
        noise = self.problem.noise.stated
        files = {"noise": digest(*noise.items()) if noise else None, "threat": self.threat, "fallback": self.blind}
        return {
            "model": self.model,
            "classifier": self.base.description,
            "data": self.data.digest,
            "regions": digest([(each.key, each.reason) for each in self.problem.sites]),
        } | {name: each for name, each in files.items() if each is not None}


def read_inputs(settings: RunSettings) -> RunInputs:
    """Reads the data of a run, once its regions are known to exist."""
    rule = rule_of(settings.regions)
    of_nodes, seed = settings.targets == "nodes", settings.split_seed
    how: dict[str, Any] = {key: getattr(settings, key) for key in ("edge_types", "kind", "alphabets")}
    columns, numbers = dict(settings.columns or {}), settings.outputs is not None
    label = columns.pop("label", "y") if of_nodes else ""
    data = load_graphs(settings.data, of_nodes=of_nodes, columns=columns, numbers=numbers, **how)
    if settings.splits is not None:
        data = divided(data, settings.splits)
    if of_nodes:
        data = with_node_labels(data, label, numbers=numbers)
    if settings.fractions is not None:
        data = with_fractions(data, settings.fractions, seed)
    parts = ""
    if of_nodes and settings.of_a_class is not None:
        data, parts = with_node_parts(data, settings.of_a_class, seed)
    if settings.node_sites is not None:
        data = with_node_sites(data, settings.node_sites)
    part = part_of(data, settings.split, seed)
    undivided = settings.split == "all"
    train, validation = (None if undivided else part_if_any(data, each, seed) for each in ("train", "validation"))
    chosen = with_spares(part.limited(settings.limit, seed), settings.threat, settings.spare_node or {})
    return RunInputs(rule, data, train, validation, chosen, chosen.names != part.names[: len(chosen)], parts)


def try_model(settings: RunSettings, inputs: RunInputs, known: Problem | None = None) -> TriedModel:
    """Makes the model of a run, and tries it and the regions on every clean graph.

    `known` are these graphs bound for an earlier model.
    """
    device = settings.device or "cpu"
    with one_thread(device):
        model = call_model(settings.model, inputs.offered(device, settings.noise, settings.threat))
        if settings.weights is not None:
            put_weights(model, settings.weights, settings.model)
        of_nodes = settings.targets == "nodes"
        about: dict[str, Any] = {"nodes": (of_nodes, settings.nodes), "outputs": settings.outputs}
        base = as_classifier(model, settings.model, inputs.chosen, settings.device, **about)
        data = aligned(inputs.chosen, base)
        if settings.threat is not None:
            data = replace(data, graphs=tuple(settings.threat.prepared(data.graphs)))
        base = asked_about(kind_of(*data.graphs), base)
        if kind_of(*data.graphs).of_objects:
            if not settings.exact:
                hint = "Add --exact. In Python, SmoothedClassifier.certify takes variants too."
                raise InvalidParameterError(
                    "threat", "be about sites where votes are drawn", str(settings.threat), hint
                )
            problem = any_changes(data.graphs, None)
        elif known is not None:
            problem = known.under(settings.noise)
        else:
            problem = problem_of(inputs.rule, settings.noise, data)
        check_threat(settings.threat, problem, data)
        answers = clean_answers(base, settings.model, data, problem.sites)
    job = Job.of(base, problem, settings.seed)
    nodes, labels = job.target_nodes, data.labels
    known = (labels if nodes is None else nodes.labels(labels)).tolist() if data.known else None
    threat = digest_of_files(settings.threat)
    return TriedModel(settings, settings.model.digest, base, data, inputs.rule, known, job, threat, tuple(answers))


def check_threat(threat: Threat | None, problem: Problem, data: Dataset) -> None:
    """Refuses a threat that does not fit the objects, by name: before they are shown to the model."""
    if threat is None or threat.by_radius:
        return
    for name, sites in zip(data.names, problem.sites, strict=True):
        try:
            threat.check(attackable(sites, problem.noise))
        except UnfitError as error:
            parameter, requirement, got, hint = error.args
            hint = hint or "Ask about another threat: any flips, such as flips:1, fit everything."
            got = f"{got} ({kind_of(sites.clean).word} {name!r}, threat {threat})"
            raise UnfitError(parameter, requirement, got, hint) from None


def with_spares(data: Dataset, threat: Threat | None, entries: Mapping[str, object]) -> Dataset:
    """The data with the spare nodes that a threat injects, which have these data and no edges."""
    names = injected_nodes(threat)
    if entries and not names:
        raise InvalidParameterError("spare_node", "needs a threat that injects nodes, such as --threat inject:2.")
    if names and (data.of_nodes or not all(isinstance(each, Graph) for each in data.graphs)):
        hint = "For nodes of one graph, name some that are there: controlled:2,nodes=a|b."
        raise InvalidParameterError("threat", f"injects nodes, so graphs must be classified. {hint}")
    found = []
    for name, graph in zip(data.names, data.graphs, strict=True) if names else ():
        new = [each for each in names if each not in map(str, graph.nodes)]
        try:
            found.append(with_spare_nodes(graph, {key: [each] * len(new) for key, each in entries.items()}, names=new))
        except InvalidParameterError as error:
            hint = 'Write a table [spare_node] into the run file, with a line such as element = "C" for each.'
            got = f"{error.args[2]} for graph {name!r}"
            raise InvalidParameterError("spare_node", error.args[1], got, hint) from None
    return replace(data, graphs=tuple(found)) if names else data


class UserRule:
    """A function of the user's from a graph to its partition; where it fails, its file and line are named."""

    def __init__(self, reference: Reference) -> None:
        self.reference = reference
        found = reference.load()
        if not (callable(found) or isinstance(found, Partition)):
            requirement, got = "name a function from a graph to its Partition", f"{type(found).__name__} {reference}"
            hint = "Write def regions(graph): return starcert.Partition.from_node_sets({…})."
            raise InvalidParameterError("regions", requirement, got, hint)
        self.function = found
        declared = None if isinstance(found, Partition) else stated_by_author(found)
        if declared is not None:
            self.anchored = declared

    def __call__(self, graph: Graph) -> Partition:
        """The partition of a graph."""
        if isinstance(self.function, Partition):
            return self.function
        # Nothing of the graph is read here: it would count as read by the rule.
        with running_user_code(self.reference.file):
            found: Partition = self.function(graph)
        return found


def rule_of(regions: Reference | str | Mapping[str, object] | None) -> RunRegions:
    """The rule that the setting `regions` names; without it, the one region of the noise has every site."""
    if isinstance(regions, str):
        return build(regions)
    return UserRule(regions) if isinstance(regions, Reference) else regions


def describe_rule(rule: RunRegions) -> str:
    """The rule of a run, for the record."""
    if rule is None:
        return "every site"
    if isinstance(rule, Mapping):
        return ", ".join(f"{region}: {where}" for region, where in rule.items())
    return str(rule.reference if isinstance(rule, UserRule) else getattr(rule, "description", rule))


def problem_of(rule: RunRegions, noise: Noise, data: Dataset) -> Problem:
    """The graphs of the data, bound to their regions; refused, by name, if they do not fit the noise."""
    sites: list[Sites] = []
    with progress_bar("regions", len(data)) as advance:
        for name, graph in zip(data.names, data.graphs, strict=True):
            try:
                sites.append(bind(graph, noise, rule))
            except StarcertError as error:
                _refuse_regions(name, graph, error)
            _check_noise(noise, sites[0].regions)
            advance(1)
    for name, each in zip(data.names[:1], sites[:1], strict=True):  # what would end a run after all its votes
        kind = kind_of(each.clean)
        try:
            kind.describe(each.clean), kind.drawing(each.clean)
        except Exception as error:
            problem = f"{kind.word} {name!r} cannot be described and drawn: {type(error).__name__}: {error}"
            raise StarcertError(f"{problem}. Fix {type(kind).__name__}.describe or .drawing.") from error
    try:
        return Problem(noise, anchor_all(sites, rule))
    except StarcertError:
        for name, each in zip(data.names, sites, strict=True):  # which graph is it?
            try:
                noise_for_sites(noise, [each])
            except StarcertError as error:
                _refuse_regions(name, each.clean, error)
        raise


def _refuse_regions(name: str, graph: CleanObject, error: StarcertError) -> NoReturn:
    more = f" {ASK_FOR_TYPES}" if not getattr(graph, "type_names", None) and "edge_types" in str(error) else ""
    raise StarcertError(f"The regions of {kind_of(graph).word} {name!r} cannot be used: {error}{more}") from error


def _check_noise(noise: Noise, regions: Sequence[str]) -> None:
    if set(regions) == set(noise.regions):
        return
    unknown = [region for region in noise.regions if region not in regions]
    left = [region for region in regions if region not in noise.regions]
    hint = f"Missing: {', '.join(left)}."
    if unknown:
        near = did_you_mean(unknown[0], left, did_you_mean(unknown[0], regions, "Give --regions too."))
        hint = f"There is no region {unknown[0]}. {near}"
    requirement = f"have a flip law for every region, {', '.join(regions)}, and no other"
    raise InvalidParameterError("noise", requirement, ", ".join(noise.regions), hint)


def aligned(data: Dataset, classifier: Classifier) -> Dataset:
    """The data with the classes of the classifier: as many names, and labels numbered as it numbers them.

    An estimator's `classes_` are matched by their names; otherwise class k of the data is answer k.
    """
    if classifier.values is not None:  # labels are numbers, by their names
        return data
    n_classes, own, there = classifier.n_classes, classifier.class_names, data.class_names
    names = tuple(map(str, range(n_classes))) if own is None else own
    if not there:
        return replace(data, label_names=names)
    if own is not None and set(there) <= set(names):
        places = [names.index(name) for name in there]
        labels = [None if label is None else places[label] for label in data.labels.tolist()]
        return replace(data, labels=np.array(labels), label_names=names)
    if n_classes == len(there):
        return data
    if n_classes > len(there) and data.numbered:
        return replace(data, label_names=there + names[len(there) :])
    or_else = " Or label the graphs with the model's class numbers from 0." if n_classes > len(there) else ""
    hint = f"Give the model the classes of the data: its answers mean {named_classes(there)}.{or_else}"
    requirement = f"have the {len(there)} classes of the data, {', '.join(there[:20])}"
    raise InvalidParameterError("model", requirement, f"{n_classes} classes", hint)


def clean_answers(classifier: Classifier, reference: Reference, data: Dataset, sites: Sequence[Sites]) -> list[int]:
    """The base classifier's answer on every clean graph, or each of its targets."""
    answers: list[int] = []
    with progress_bar("clean graphs", len(data)) as advance:
        for name, each in zip(data.names, sites, strict=True):
            try:
                answers.extend(answers_on(classifier, each).tolist())
            except Exception as error:  # noqa: BLE001  (whatever a user's code may raise: it is named)
                refuse_model(reference, name, each.clean, error, data.class_names)
            advance(1)
    if classifier.values is None:
        _say_other_order(answers, data)
    return answers


def _say_other_order(answers: Sequence[int], data: Dataset) -> None:
    """Says so if the answers would fit the classes far better in another order: by half of all graphs."""
    if len(data.labels) != len(answers):
        return
    pairs = zip(data.labels.tolist(), answers, strict=True)
    known = Counter((label, answer) for label, answer in pairs if label is not None)
    meant = {label: answer for (label, answer), _ in reversed(known.most_common())}  # the most frequent comes last
    right, fitting = (sum(known[pair] for pair in pairs) for pairs in (((each, each) for each in meant), meant.items()))
    if len(set(meant.values())) == len(meant) and fitting - right >= max(4, known.total() / 2):
        names = data.class_names
        seen = ", ".join(f"{names[answer]} where it is {names[label]}" for label, answer in sorted(meant.items()))
        note(
            f"the model mostly answers {seen}: are its classes in another order? Its answers mean "
            f"{named_classes(names)}; starcert.classifiers takes class_names=[…] in the order of the model."
        )
