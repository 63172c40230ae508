"""The smoothed classifier, facade of the whole method: sample noisy copies, let the base classifier vote, certify."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from starcert.certificates.auditing import audit_votes
from starcert.certificates.certificate import Certificates, certify
from starcert.certificates.deciding import DecidedPlan
from starcert.certificates.estimator import ClassifierConventions, is_estimator
from starcert.certificates.evidence import Verdict, undefended
from starcert.certificates.judging import with_evidence
from starcert.certificates.metrics import StoppingPlan, accuracy
from starcert.classifiers.base import Classifier, is_classifier
from starcert.classifiers.unchanged import CHANGED, KEEP_UNCHANGED, Unchanged
from starcert.math.classes import class_numbers
from starcert.math.confidence import (
    Family,
    Votes,
    anytime_bounds,
    check_alpha,
    check_family,
    clopper_pearson,
)
from starcert.math.evidence import counts_alpha
from starcert.objects import CleanObject, Graph, Sites, Vector
from starcert.objects.binding import (
    Problem,
    Regions,
    bind,
    bind_all,
    check_noise_and_regions,
    noise_for_sites,
    why_no_evidence,
)
from starcert.objects.convert import is_networkx, is_pyg
from starcert.objects.noise import AnyFlips, Noise, RadiusLike, Threat, check_box, threat_of
from starcert.objects.vectors import matrix_of
from starcert.system.errors import ClassifierError, InvalidParameterError, StarcertError, StarcertWarning, whole_number
from starcert.system.output import progress_bar
from starcert.system.stages import stage
from starcert.voting.jobs import Job, any_copy, check_memory
from starcert.voting.plans import FixedPlan, Plan, Wanted, default_selection
from starcert.voting.vote_loop import count_votes, open_store

if TYPE_CHECKING:
    from starcert.voting.store import VoteStore

__all__ = ["ABSTAIN", "Problem", "Regions", "SmoothedClassifier"]

Given: TypeAlias = CleanObject | Any
"""What may be certified: a `Graph`, `Bits` or `Categories`; or a `Data` of PyG or a graph of networkx, which is read by
`Graph.from_pyg` or `Graph.from_networkx` with their defaults."""

ABSTAIN = -1
"""What `predict` answers where no class can be shown to be the likeliest."""


class VotingOptions(TypedDict, total=False):
    """What `vote` may be told besides, and `certify` and `predict` tell it; see there."""

    selection_samples: int | None
    store: str | PathLike[str] | None
    executor: Executor | None
    chunk_size: int | None
    batch_size: int | None
    progress: bool | None
    title: str


@dataclass(frozen=True)
class _Run:
    """What one call counts with: the job, the classifier as it was before, and where votes are kept and counted."""

    job: Job
    unchanged: Unchanged
    store: str | PathLike[str] | None
    executor: Executor | None
    progress: bool | None
    title: str


class SmoothedClassifier(ClassifierConventions):
    """A base classifier, smoothed: it answers the class that the base classifier gives most often on noisy copies.

    It keeps to scikit-learn's conventions: `sklearn.base.clone`, `cross_val_score`, pipelines and the like take it.
    Wherever it takes graphs, it takes `Data` of PyG and graphs of networkx as well, and reads them with the defaults of
    `Graph.from_pyg` and `Graph.from_networkx`.

    Args:
        base: the base classifier; see `starcert.classifiers`. Or a scikit-learn estimator on lists of graphs, which
            `fit` trains: a copy of it, on clean graphs.
        noise: a flip law for every region.
        regions: where the regions are: a `Partition`, or a rule from a graph to its partition. Without it, the one
            region of the noise is every node pair, or every column. A mapping from regions to names of layers, such as
            {"bonds": "pairs", "atoms": "element"}, means whole layers; for `Bits` and `Categories`, a mapping from
            regions to columns, such as {"border": [0, 1, 2], "centre": [3, 4]}, means those.
        samples: estimation votes for each graph in `predict`, where the call does not say.
        alpha: the probability that a certificate fails, where a call does not say.
        seed: of the noise in `predict`, where the call does not say: a whole number, 0 or more.

    Example:
        >>> import networkx as nx
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 7), n_classes=2)
        >>> smoothed = SmoothedClassifier(base, sc.Noise(all=0.1))
        >>> ring, clique = (sc.Graph.from_networkx(g) for g in (nx.cycle_graph(6), nx.complete_graph(6)))
        >>> smoothed.predict([ring, clique], samples=2000, seed=1).tolist()
        [0, 1]
    """

    def __init__(
        self,
        base: Classifier | Any,  # noqa: ANN401  (or any estimator of scikit-learn's)
        noise: Noise,
        regions: Regions | None = None,
        *,
        samples: int = 10_000,
        alpha: float = 0.01,
        seed: int = 0,
    ) -> None:
        if not (is_classifier(base) or is_estimator(base)):
            raise InvalidParameterError(
                "base",
                "be a classifier",
                base,
                "Wrap a function: starcert.classifiers.from_callable(f, n_classes=2). A class of your own derives from "
                "starcert.classifiers.Classifier.",
            )
        check_noise_and_regions(noise, regions)
        check_alpha(alpha)
        _whole(samples, "samples", 1)
        _whole(seed, "seed", 0)
        self.base = base
        self.noise = noise
        self.regions = regions
        self.samples = samples
        self.alpha = alpha
        self.seed = seed
        self._trained: Classifier | None = base if is_classifier(base) else None
        self._taught: npt.NDArray[np.int64] | None = None  # the classes that `fit` has seen

    def __repr__(self) -> str:
        try:
            base = self.base if self._trained is None else self._trained.description
        except InvalidParameterError:  # it has no name, and holds what cannot be told
            base = type(self._trained).__name__
        return f"SmoothedClassifier({base}, {self.noise!r})"

    @property
    def classifier(self) -> Classifier:
        """The base classifier that votes: `base` itself, or what `fit` has trained."""
        if self._trained is None:
            hint = "Call fit first, or wrap a fitted estimator: starcert.classifiers.from_sklearn(estimator)."
            raise InvalidParameterError("base", "be trained", self.base, hint)
        return self._trained

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.classifier.n_classes

    @property
    def classes_(self) -> npt.NDArray[np.int64]:
        """What `predict` may answer, besides `ABSTAIN`: class number i of a certificate is entry i."""
        return np.arange(self.n_classes) if self._taught is None else self._taught

    def __sklearn_is_fitted__(self) -> bool:
        return self._trained is not None

    def fit(self, graphs: Sequence[Given], labels: npt.ArrayLike) -> Self:
        """Trains a copy of a scikit-learn estimator on these graphs. A base classifier that is trained stays as it is.

        Args:
            graphs: clean training graphs.
            labels: their classes, whole numbers from 0.
        """
        given = _as_list(graphs)
        classes = _classes(labels, len(given))
        if self._trained is self.base:
            return self
        try:
            from sklearn.base import clone  # noqa: PLC0415  (half a second; only where one of its estimators is)
        except ImportError as error:
            raise StarcertError(f"fit needs scikit-learn ({error}): pip install 'starcert[kernels]'") from error
        from starcert.classifiers.sklearn import from_sklearn  # noqa: PLC0415

        rows = bool(given) and isinstance(given[0], Vector)
        trained = from_sklearn(clone(self.base).fit(matrix_of(given) if rows else given, classes))
        self._trained, self._taught = trained, np.asarray(trained.estimator.classes_)
        return self

    def score(self, graphs: Sequence[Given], labels: npt.ArrayLike) -> float:
        """The share of graphs that are answered right; an abstention is no right answer.

        Args:
            graphs: clean graphs.
            labels: their classes, in the words of the classifier or by number. One that a fitted estimator never saw
                is never answered.
        """
        graphs = _as_list(graphs)
        _check_one_each(np.asarray(labels), len(graphs))
        never_answered = None if self.classifier.class_labels is None else self.n_classes
        truth = class_numbers(labels, self.n_classes, self._class_labels, unseen=never_answered)
        certificates = self.certify(graphs, samples=self.samples, seed=self.seed)
        abstained = np.array([one.abstained for one in certificates])
        return accuracy(np.where(abstained, ABSTAIN, certificates.labels), truth)

    @property
    def _class_labels(self) -> tuple[Hashable, ...] | None:
        """What labels call the classes, in the order of their numbers; None: by their numbers alone."""
        return self.classifier.class_labels or self.classifier.class_names

    def sites(self, graph: Given) -> Sites:
        """The sites of a graph: its partition, bound to it. A rule is asked anew each time, see `problem`."""
        return bind(_clean(graph, "graph"), self.noise, self.regions)

    def problem(self, graphs: Sequence[Given]) -> Problem:
        """What is to be certified: these graphs and their regions, a rule asked once for each of them.

        `vote`, `certify` and `predict` take it in place of the graphs; its `sites` are what a report is drawn from.
        """
        return bind_all(_as_list(graphs), self.noise, self.regions)

    def _bound(self, graphs: Sequence[Given] | Problem) -> Problem:
        if not isinstance(graphs, Problem):
            return self.problem(graphs)
        if graphs.noise not in (self.noise, noise_for_sites(self.noise, graphs.sites)):
            hint = "Give problem.under(noise), or graphs."
            raise InvalidParameterError("graphs", f"be a problem with the noise {self.noise!r}", graphs, hint)
        return graphs

    def vote(
        self,
        graphs: Sequence[Given] | Problem,
        *,
        samples: int | Plan,
        selection_samples: int | None = None,
        seed: int,
        store: str | PathLike[str] | None = None,
        executor: Executor | None = None,
        chunk_size: int | None = None,
        batch_size: int | None = None,
        record: bool = False,
        progress: bool | None = None,
        title: str = "votes",
    ) -> Votes:
        """The votes of the base classifier on noisy copies of each graph.

        They depend on the graphs, the noise, the classifier, the seed and the chunk size, and on nothing else: neither
        on batch sizes, workers or their order, nor on interruptions.

        When they are there, the run is audited: copies are asked about again, in other company and alone, and a
        classifier that answers one of them differently is refused. `Votes.audit` tells how many there were.

        Args:
            graphs: the clean graphs, or the problem that they make.
            samples: estimation votes for each graph; or a `Plan`, which says how many as it sees them come.
            selection_samples: selection votes for each graph; by default a hundredth of `samples`, at least 100.
            seed: a whole number, 0 or more.
            store: a file that keeps the votes as they come, and that a later call continues.
            executor: where to count: any `concurrent.futures.Executor`, or None for this process.
            chunk_size: samples in a unit of work with its own random stream; by default as the classifier wants it,
                1,024 on a CPU.
            batch_size: the most noisy graphs that the classifier sees at once; by default as many as it wants.
            record: whether to keep which sites flipped in the votes against the class of each graph: `Votes.records`.
            progress: whether to draw a progress bar; by default on a terminal only.
            title: what the bar is called.
        """
        plan = _plan(samples, selection_samples)
        run = self._begin(
            self._bound(graphs),
            seed,
            store=store,
            executor=executor,
            chunk_size=chunk_size,
            batch_size=batch_size,
            progress=progress,
            title=title,
        )
        return self._vote(run, plan, record=record)

    def _begin(
        self,
        problem: Problem,
        seed: int,
        *,
        selection_samples: int | None = None,  # the plan has them
        store: str | PathLike[str] | None = None,
        executor: Executor | None = None,
        chunk_size: int | None = None,
        batch_size: int | None = None,
        progress: bool | None = None,
        title: str = "votes",
    ) -> _Run:
        """What a call counts with, once it is known that it can be done; nothing is counted yet."""
        if executor is not None and not hasattr(executor, "submit"):
            hint = "Give for instance concurrent.futures.ProcessPoolExecutor(4)."
            raise InvalidParameterError("executor", "be a concurrent.futures.Executor", executor, hint)
        job = Job.of(self.classifier, problem, seed, chunk_size, batch_size)
        if not len(problem):
            raise InvalidParameterError("graphs", "hold at least one graph", [])
        check_memory(job)
        return _Run(job, Unchanged(job.classifier, lambda: any_copy(job)), store, executor, progress, title)

    def _vote(self, run: _Run, plan: Plan, *, record: bool, certificate: Mapping[str, Any] | None = None) -> Votes:
        """The votes that a plan wants; a store records which certificate is computed from them, see `Look`."""
        with self._keeping(run) as store:
            if store is not None and certificate is not None:
                store.check_look(**certificate)
            with progress_bar(run.title, len(run.job.sites) * sum(plan.most), shown=run.progress) as advance:
                votes = count_votes(run.job, plan, record=record, store=store, executor=run.executor, advance=advance)
            votes = replace(votes, audit=audit_votes(run.job, votes, run.executor))
            if store is not None and certificate is not None:
                if certificate["evidence"] and certificate["estimation"] is None:
                    _, rows = np.unique(votes.objects, return_index=True)
                    certificate = {**certificate, "drawn": votes.counts[rows].sum(axis=1).tolist()}
                    store.check_look(**certificate)
                store.note_look(**certificate)
        return votes

    @contextmanager
    def _keeping(self, run: _Run) -> Iterator[VoteStore | None]:
        """The store, if there is one, while votes are counted; the classifier must then be what it was before."""
        with nullcontext() if run.store is None else open_store(run.store, run.job) as store:
            try:
                yield store
            finally:
                changed = not run.unchanged.holds()
                if changed and store is not None:
                    store.condemn(CHANGED)
        if changed:
            raise ClassifierError(f"{CHANGED[0].upper()}{CHANGED[1:]}. {KEEP_UNCHANGED}")

    def certify(
        self,
        graphs: Sequence[Given] | Problem,
        *,
        samples: int,
        alpha: float | None = None,
        family: Family = "each",
        seed: int,
        max_radius: RadiusLike | None = None,
        evidence: bool = False,
        own_samples: int | None = None,
        threat: Threat | str | None = None,
        max_flips: int | None = None,
        plan: StoppingPlan = "fixed",
        **voting: Unpack[VotingOptions],
    ) -> Certificates:
        """One certificate for each graph (or for each target of each graph), from fresh or stored votes.

        Args:
            graphs: the clean graphs, or the problem that they make.
            samples: estimation votes for each graph: a number, for the bounds hold where it is fixed in advance.
            alpha: the probability that a certificate fails; by default as the constructor was told, 0.01.
            family: "each" certificate by itself, or "all" together: alpha is then divided by their number.
            seed: a whole number, 0 or more.
            max_radius: the box of radii to look at; by default all that an attacker can flip.
            evidence: whether to look at where the flips of the votes fell, too: alpha is then shared between counts and
                evidence (`AlphaShares`). Without it, counts have all of it: the paper's certificate.
            own_samples: with evidence, the most votes at attacked versions of each graph, for levels that the votes on
                the clean graph leave open; by default as many as `samples`.
            threat: what is asked about, such as "flips:2", at most two flips wherever they are: evidence looks at no
                level of more flips in all, and a plan "decided" stops once this is certified. By default the whole box.
            max_flips: the short form: 2 is the threat "flips:2". Beside a smaller max_radius it asks about what lies in
                both.
            plan: "fixed" draws all `samples`. With "decided" they are an upper limit: a graph gets no more votes once
                all of `max_radius` (or of the threat) is certified, or is unlikely to be certified even with all
                `samples`. Smaller radii have what those votes show. Bounds then hold at all times together, and are a
                little wider.
            voting: further arguments of `vote`.
        """
        alpha = check_alpha(self.alpha if alpha is None else alpha)  # before hours of sampling, not after
        check_family(family)
        _whole(samples, "samples", 1)
        limits = None if max_radius is None else self.noise.radius(max_radius, "max_radius")
        problem = self._bound(graphs)  # once: votes and capacities are of the same regions
        if not evidence and own_samples is not None:
            raise InvalidParameterError("own_samples", "be left out without evidence", own_samples)
        asked = _threat(threat, max_flips)
        if threat is not None:
            check_box(limits, threat_of(threat))
        most_flips = None if asked is None else asked.most
        most = _whole(samples if own_samples is None else own_samples, "own_samples", 0)
        if evidence:
            _warn_of_no_evidence(problem)
        if plan not in ("fixed", "decided"):
            raise InvalidParameterError("plan", 'be "fixed" or "decided"', plan)
        selection_samples = voting.get("selection_samples")
        drawing = _plan(samples, selection_samples)
        run = self._begin(problem, seed, **voting)
        job, nodes = run.job, run.job.target_nodes
        together = sum(map(job.n_targets, range(len(problem)))) if family == "all" else 1
        if plan == "decided":
            drawing = DecidedPlan.of(
                samples,
                selection_samples,
                problem,
                alpha=alpha,
                together=together,
                max_radius=limits,
                evidence=evidence,
                max_flips=most_flips,
            )
        bounds_alpha = counts_alpha(alpha, evidence=evidence)
        certificate = {
            "selection": drawing.most.selection,
            "estimation": samples if plan == "fixed" else None,
            "evidence": evidence,
            "max_radius": limits if evidence and len(problem.noise.axes) > 1 else None,
            "own": evidence and most > 0,
        }
        votes = self._vote(run, drawing, record=evidence, certificate=certificate)
        if plan == "decided":  # its bounds hold at any time; so they do where the first look was the last
            votes = replace(votes, stopped=True)
        with stage("certifying"):
            if plan == "decided":
                bounds = anytime_bounds(votes, alpha=bounds_alpha, together=together)
            else:
                bounds = clopper_pearson(votes, alpha=bounds_alpha, family=family)
        rows = votes.objects.tolist()
        certificates = certify(
            bounds,
            problem.noise,
            max_radius=limits,
            capacity=[problem.capacities[graph] for graph in rows],
            anchored=[problem.sites[graph].reason for graph in rows],
            nodes=nodes,
            word=problem.word,
            classes=self._class_labels,
        )
        if not evidence:
            return certificates
        asking = run if most else replace(run, store=None)
        with self._keeping(asking) as store, progress_bar("evidence", len(rows), shown=run.progress) as advance:
            return with_evidence(
                certificates,
                job,
                alpha=alpha,
                most=most,
                max_flips=most_flips,
                store=store,
                executor=run.executor,
                advance=advance,
            )

    def undefended(
        self, graphs: Sequence[Given] | Problem, level: RadiusLike, *, most_attacks: int = 2**20
    ) -> list[Verdict]:
        """What attacks of exactly so many flips do to the base classifier by itself, without noise: all are tried.

        Args:
            graphs: the clean graphs, or the problem that they make.
            level: how many flips there are on each axis of the noise.
            most_attacks: so many are tried on each graph; a level with more may stay open.

        Example:
            >>> import starcert as sc
            >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 2), n_classes=2)
            >>> smoothed = SmoothedClassifier(base, sc.Noise(all=0.1))
            >>> [one.kind for one in smoothed.undefended([sc.Graph(4, [(0, 1), (1, 2)]), sc.Graph(4, [])], 1)]
            ['broken', 'certified']
        """
        counts = self.noise.radius(level, "level")
        most = _whole(most_attacks, "most_attacks", 1)
        problem = self._bound(graphs)
        return [undefended(self.classifier, each, problem.noise, counts, most_attacks=most) for each in problem.sites]

    def predict(
        self,
        graphs: Sequence[Given] | Problem,
        *,
        samples: int | None = None,
        alpha: float | None = None,
        seed: int | None = None,
        **voting: Unpack[VotingOptions],
    ) -> npt.NDArray[np.int64]:
        """The smoothed classifier's answer for each graph, `ABSTAIN` where it cannot be shown to be the likeliest.

        Where graphs have several targets, those of the first graph come first.

        Args:
            graphs: the clean graphs, or the problem that they make.
            samples: estimation votes for each graph; by default as the constructor was told.
            alpha: the probability that an answer is not the likeliest; by default as the constructor was told.
            seed: a whole number, 0 or more; by default as the constructor was told.
            voting: further arguments of `vote`.
        """
        certificates = self.certify(
            graphs,
            samples=self.samples if samples is None else samples,
            alpha=alpha,
            seed=self.seed if seed is None else seed,
            **voting,
        )
        abstained = np.array([one.abstained for one in certificates])
        return np.where(abstained, ABSTAIN, self.classes_[certificates.labels])


def _as_list(graphs: Sequence[Given]) -> list[CleanObject]:
    if isinstance(graphs, CleanObject) or is_networkx(graphs) or is_pyg(graphs):
        raise InvalidParameterError("graphs", "be a list of graphs", graphs, "Wrap a single one in a list: [graph].")
    return [_clean(each, f"graphs[{position}]") for position, each in enumerate(graphs)]


def _clean(given: Given, name: str) -> CleanObject:
    """What is certified: starcert's own, or what the graph of networkx or PyG is by default."""
    if isinstance(given, CleanObject):
        return given
    if not (is_networkx(given) or is_pyg(given)):
        hint = "Convert it first, for instance with Graph.from_numpy(adjacency) or Bits.rows(X)."
        requirement = "be a starcert Graph, a PyG Data or a networkx graph"
        raise InvalidParameterError(name, requirement, type(given).__name__, hint)
    try:
        return Graph.from_networkx(given) if is_networkx(given) else Graph.from_pyg(given)
    except InvalidParameterError as error:
        parameter, *others = error.args
        whole = parameter in ("graph", "data")
        raise InvalidParameterError(name if whole else f"{name}.{parameter}", *others) from error


def _plan(samples: object, selection_samples: int | None) -> Plan:
    """The plan that is meant: that of a number of votes draws them all."""
    if isinstance(samples, Plan):
        if selection_samples is not None:
            hint = "The plan says how many selection votes there are."
            raise InvalidParameterError("selection_samples", "be left out beside a plan", selection_samples, hint)
        return samples
    n = _whole(samples, "samples", 1)
    select = default_selection(n) if selection_samples is None else selection_samples
    return FixedPlan(Wanted(_whole(select, "selection_samples", 1), n))


def _threat(threat: Threat | str | None, max_flips: int | None) -> Threat | None:
    """The threat that is asked about, from both ways to say it; None: the whole box."""
    asked = None if threat is None else threat_of(threat)
    if max_flips is None:
        return asked
    short = AnyFlips(_whole(max_flips, "max_flips", 1))
    if asked not in (None, short):
        raise InvalidParameterError("max_flips", f"agree with threat '{asked}', or be left out", max_flips)
    return short


def _warn_of_no_evidence(problem: Problem) -> None:
    """Says of which objects there will be no evidence, before the first vote."""
    reasons = [reason for each in problem.sites if (reason := why_no_evidence(each, problem.noise))]
    if reasons:
        warnings.warn(
            f"Evidence is left out for {len(reasons):,} of {len(problem):,} objects ({reasons[0]}). Their certificates "
            "rest on the counts of votes alone.",
            StarcertWarning,
            stacklevel=3,
        )


def _whole(value: object, name: str, least: int) -> int:
    return whole_number(name, value, least)


def _check_one_each(labels: npt.NDArray[Any], n_graphs: int) -> None:
    if labels.shape != (n_graphs,):
        raise InvalidParameterError("labels", f"have one class for each of {n_graphs} graphs", labels.shape)


def _classes(labels: npt.ArrayLike, n_graphs: int) -> npt.NDArray[np.int64]:
    """Labels as class numbers: what is no such number could not be told from an abstention."""
    classes = np.asarray(labels)
    _check_one_each(classes, n_graphs)
    if classes.dtype.kind not in "biu" or (classes.dtype.kind == "i" and (classes < 0).any()):
        hint = "numpy.unique(labels, return_inverse=True) numbers them."
        raise InvalidParameterError("labels", "be whole numbers from 0", classes.tolist()[:5], hint)
    return classes.astype(np.int64)
