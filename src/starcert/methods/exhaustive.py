"""The plain model, exactly: every attack is tried on the base classifier itself.

Nothing is sampled, so nothing is left to chance: alpha is 0. An answer that no attack of a threat changes is certified,
and one that some attack changes is broken, with the attack. Where the budget ends first, it is open.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from os import PathLike
from pathlib import Path

import numpy as np
from typing_extensions import override

from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.proof import Rows, SizedProof
from starcert.claims.question import NO_ATTACK
from starcert.claims.verdict import FoundAttack, Verdict
from starcert.classifiers.base import Classifier, UnsteadyAnswersError
from starcert.classifiers.derived import asked_about
from starcert.methods.estimator import GraphLike, as_objects, bound_problem
from starcert.methods.trying import (
    NEVER,
    AttackedObjects,
    Trial,
    Tried,
    Whole,
    attacks_at_once,
    audit_trial,
    progress_file,
)
from starcert.objects import CleanObject, Sites, binding
from starcert.objects.binding import Problem, Regions
from starcert.objects.kinds import kind_of
from starcert.objects.laws import Categorical, Edges, Flip, Law
from starcert.objects.layers import EDGE_LAYERS, Layer
from starcert.objects.noise import Noise
from starcert.objects.threats import Attacks, Threat, read_threat
from starcert.objects.threats.valence import keep_valences
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.output import progress_bar, quantity
from starcert.voting.ask import ask
from starcert.voting.plans import Job

MAX_ATTACKS = 2**24  # tried on each object, by default
ANY = 2.0**-20  # the noise of a region that was given none: no number of it matters
SCANNED = 2**16  # attacks on an object, the first ones, among which others to show are looked for
STEP = 2**12  # of these at a time


class ExactClassifier:
    """A base classifier without noise, certified by trying every attack.

    Args:
        base: the base classifier; see `starcert.classifiers`. On a GPU, attacked copies are made there.
        noise: names the regions and the axes of boxes of flips; its probabilities play no part. By default all sites of
            the regions may get any other value.
        regions: where the attacker can change something, as in `SmoothedClassifier`; by default every node pair, or
            every column.

    Example:
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 2), n_classes=2)
        >>> found = ExactClassifier(base).certify([sc.Graph(4, [(0, 1), (1, 2)]), sc.Graph(4, [])], threat="flips:3")
        >>> [(one.label, one.certified_size, one.verdict("flips:1")) for one in found]
        [(0, 0, 'broken'), (0, 2, 'certified')]
        >>> found[1].why("flips:2"), found[1].attack().sites
        ('by trying all 21 attacks', (0, 1, 2))
    """

    def __init__(self, base: Classifier, noise: Noise | None = None, regions: Regions | None = None) -> None:
        if not isinstance(base, Classifier) or base.values is not None:
            hint = "Wrap a function: starcert.classifiers.from_callable(f, n_classes=2)."
            raise InvalidParameterError("base", "be a classifier that answers classes", base, hint)
        if noise is not None:
            binding.check_noise_and_regions(noise, regions)
        self.base, self.noise, self.regions = base, noise, regions

    def problem(self, graphs: Sequence[GraphLike] | Problem) -> Problem:
        """These objects, and where they can be attacked; `certify` takes it in place of the graphs."""
        if isinstance(graphs, Problem) or self.noise is not None:
            noise = graphs.noise if isinstance(graphs, Problem) and self.noise is None else self.noise
            assert noise is not None
            return bound_problem(graphs, noise, self.regions)
        return any_changes(as_objects(graphs), self.regions)

    def _asked(self, graphs: Sequence[GraphLike] | Problem, threat: Threat) -> Problem:
        """The problem, or that of the objects that a threat makes of these."""
        if isinstance(graphs, Problem):
            return graphs
        made = threat.prepared(given := as_objects(graphs))
        return any_changes(made, None) if kind_of(*made).of_objects else self.problem(given)

    def certify(
        self,
        graphs: Sequence[GraphLike] | Problem,
        *,
        threat: Threat | str,
        max_attacks: int | Sequence[int] = MAX_ATTACKS,
        store: str | PathLike[str] | None = None,
        executor: Executor | None = None,
        batch_size: int | None = None,
        progress: bool | str | None = None,
    ) -> Certificates[TriedAttacks]:
        """Tries the attacks of a threat on each graph, those of size 1 first, until an attack changes its answer.

        Results depend on the classifier, the graphs, the threat and `max_attacks`, and on nothing else.

        Args:
            graphs: the clean graphs, or the problem that they make.
            threat: what the attacker can do, an object or its text (`starcert.threats`), such as "flips:2". Flips,
                deletions, additions and changes are tried without being listed, others list at most two million a size.
            max_attacks: how many are tried on each graph, at most, a number or one for each graph: where there are
                more, verdicts may be open.
            store: a file that keeps what was tried, and that a later call continues, also with more `max_attacks`.
            executor: where to try: any `concurrent.futures.Executor`, or None for this process.
            batch_size: the most attacked graphs that the classifier sees at once; by default as many as it wants.
            progress: whether to draw a progress bar, by default on a terminal only; a text is its title there.
        """
        begun, asked = time.perf_counter(), read_threat(threat)
        problem = self._asked(graphs, asked)
        given = max_attacks if isinstance(max_attacks, Sequence) else [max_attacks] * len(problem)
        most = [whole_number("max_attacks", each, 1, 2**62) for each in given]
        if not len(problem):
            raise InvalidParameterError("graphs", "hold at least one graph", [])
        if len(most) != len(problem):
            raise InvalidParameterError(
                "max_attacks", f"be one number, or one for each of {len(problem)} graphs", given
            )
        job = Job.of(asked_about(problem.kind, self.base), problem, 0, None, batch_size)
        trial = Trial(job, asked, most)
        file = None if store is None else progress_file(Path(store), trial)
        title, shown = (progress, None) if isinstance(progress, str) else ("attacks", progress)
        try:
            with progress_bar(title, max(1, sum(trial.limits)), shown=shown) as advance:
                trial.run(executor, file, advance)
            audit_trial(trial)
            return _certificates(trial, time.perf_counter() - begun)
        except UnsteadyAnswersError:
            if file is not None:
                file.discard()
            raise


def any_changes(objects: Sequence[CleanObject], regions: Regions | None) -> Problem:
    """The problem in which every site of the regions may get any other value."""
    if not objects:
        raise InvalidParameterError("graphs", "hold at least one graph", [])
    found = [
        Sites.everything(each, "all") if regions is None else kind_of(each).sites(each, regions) for each in objects
    ]
    laws = {region: any_law(layer) for region, layer in zip(found[0].regions, found[0].layers, strict=True)}
    return Problem(Noise(laws), binding.anchor_all(found, regions))


def any_law(layer: Layer) -> Law:
    """A law under which the sites of a layer may get any other value."""
    if layer.alphabet == 2:
        return Flip(ANY)
    return Edges(delete=ANY, add=ANY, change=ANY) if layer.name in EDGE_LAYERS else Categorical(ANY)


@dataclass(frozen=True, eq=False, repr=False)
class TriedAttacks(SizedProof):
    """The results of trying attacks on each row. Attacks on an object are numbered from 0, those of size 1 first."""

    threat: Threat
    objects: Whole  # of each row, the number of its object
    first: Whole  # the number of the first attack that changes the answer; −1: none was found
    answers: Whole  # what it then answers
    attacks: tuple[FoundAttack | None, ...]  # that attack
    ends: tuple[tuple[int, ...], ...]  # of each object, how many attacks of at most each size there are
    limits: tuple[int, ...]  # of each object, how many were to be tried at most
    classifier: str  # which one it is
    axes: tuple[str, ...] = ()  # of the noise that names the regions
    capacities: tuple[tuple[int, ...], ...] = ()  # of each object, how many sites can be changed on each axis
    n_sites: tuple[int, ...] = ()  # of each object, how many sites its regions have
    shown: tuple[FoundAttack | None, ...] = ()  # of each row, the most plausible attack; a file has the first alone

    @property
    @override
    def method(self) -> str:
        return "plain model, every attack tried, alpha = 0"

    @cached_property
    def tried(self) -> tuple[int, ...]:
        """For each object how many attacks were needed: until all of its targets had another answer, or the budget."""
        found = []
        for number, limit in enumerate(self.limits):
            own = self.first[self.objects == number]
            found.append(limit if not len(own) or (own == NEVER).any() else int(own.max()) + 1)
        return tuple(found)

    @property
    def forward_passes(self) -> int:
        """The number of objects that the classifier had to answer: each without attack, and the needed attacks."""
        return len(self.limits) + sum(self.tried)

    @cached_property
    @override
    def certified_sizes(self) -> Whole:
        firsts = zip(self.objects.tolist(), self.first.tolist(), strict=True)
        harmless = [(number, self.limits[number] if first == NEVER else first) for number, first in firsts]
        return np.array([bisect_right(self.ends[number], count) for number, count in harmless], dtype=np.int64)

    @cached_property
    @override
    def broken_sizes(self) -> Whole:
        firsts = zip(self.objects.tolist(), self.first.tolist(), strict=True)
        sizes = [0 if first == NEVER else bisect_right(self.ends[number], first) + 1 for number, first in firsts]
        return np.array(sizes, dtype=np.int64)

    @override
    def verdict_at(self, of: Certificates, row: int, size: int) -> Verdict:
        number, tried = self.ends[int(self.objects[row])][size - 1], self.tried_for(row)
        if size <= self.certified_sizes[row]:
            return Verdict("certified", f"by trying all {quantity(number, 'attack')}" if number else NO_ATTACK)
        if 0 < self.broken_sizes[row] <= size:
            return Verdict("broken", f"by attack {tried:,} of {number:,}", self.attacks[row])
        return Verdict("open", f"{tried:,} of {number:,} attacks were tried: {number - tried:,} are left")

    def tried_for(self, row: int) -> int:
        """The number of attacks tried for a row: up to the first that changes the answer."""
        first = int(self.first[row])
        return self.limits[int(self.objects[row])] if first == NEVER else first + 1

    def left(self, row: int) -> int:
        """The number of attacks that would still have to be tried; 0 where nothing is open."""
        return self.ends[int(self.objects[row])][-1] - self.tried_for(row) if self.attacks[row] is None else 0

    @property
    @override
    def tried_on(self) -> tuple[int, ...]:
        return self.limits

    @cached_property
    @override
    def attacks_on(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(later - earlier for earlier, later in pairwise((0, *ends))) for ends in self.ends)

    @override
    def attack(self, one: Certificate) -> FoundAttack | None:
        """The first one, but of a molecule one that keeps valences, if it is among the first."""
        return self.shown[one.row] if self.shown else self.attacks[one.row]

    @override
    def columns(self, one: Certificate) -> Mapping[str, object]:
        names, attack = one.classes or range(one.certificates.n_classes), one.attack()
        return {
            "attacks": self.ends[one.object][-1],
            "tried": self.tried_for(one.row),
            "attack": None if attack is None else attack.words,
            "answer_after": None if attack is None else names[attack.votes.index(1)],
        }


def _certificates(trial: Trial, seconds: float) -> Certificates[TriedAttacks]:
    """The certificates that follow from the tried attacks, and nothing beyond the budget."""
    job, n_classes = trial.job, trial.job.classifier.n_classes
    firsts, attacks, shown = list[Whole](), list[FoundAttack | None](), list[FoundAttack | None]()
    for (number, each), limit in zip(trial.tried.items(), trial.limits, strict=True):
        firsts.append(np.where(each.first < limit, each.first, NEVER))
        others, run = _find_plausible(trial, number), trial.attacks_on(number).run
        broken = set(firsts[-1].tolist()) - {NEVER}
        known = {one: _found(run(one, one + 1), job.sites[number]) for one in broken}
        for one, answer, other in zip(firsts[-1].tolist(), each.answers.tolist(), others, strict=True):
            attacks.append(None if one == NEVER else replace(known[one], votes=_one_vote(answer, n_classes)))
            shown.append(other or attacks[-1])
    tried, first = list(trial.tried.values()), np.concatenate(firsts)
    proof = TriedAttacks(
        threat=trial.attacks_on(0).threat,
        objects=np.repeat(np.arange(len(tried)), [len(each.labels) for each in tried]),
        first=first,
        answers=np.where(first == NEVER, NEVER, np.concatenate([each.answers for each in tried])),
        attacks=tuple(attacks),
        ends=tuple(trial.ends),
        limits=tuple(trial.limits),
        classifier=job.classifier.description,
        axes=job.noise.axes,
        capacities=job.problem.capacities,
        n_sites=tuple(each.n_sites for each in job.sites),
        shown=tuple(shown),
    )
    labels = np.concatenate([each.labels for each in tried])
    return Certificates(rows_of(job), labels, proof.threat, proof, seconds)


def _find_plausible(trial: Trial, number: int) -> list[FoundAttack | None]:
    """For each target of an object an attack to show that keeps valences, where the first one that breaks does not.

    It decides nothing else: verdicts, counts and files are about the first one.
    """
    job, mine, limit = trial.job, trial.tried[number], trial.limits[number]
    sites, shown = job.sites[number], list[FoundAttack | None]([None] * len(mine.labels))
    attacks, broken = trial.attacks_on(number), (mine.first != NEVER) & (mine.first < limit)
    numbers = np.unique(mine.first[broken])
    first = Attacks.joined(attacks.run(one, one + 1) for one in numbers.tolist())
    kept = keep_valences(sites, first) if len(numbers) else None
    if kept is None or kept.all():
        return shown
    wanted, step = np.isin(mine.first, numbers[~kept]), attacks_at_once(job, number)
    end, nothing = min(limit, SCANNED), [NEVER] * len(shown)
    for start in range(int(numbers[~kept].min()), end, STEP):
        run = attacks.run(start, min(start + STEP, end))
        keeping = keep_valences(sites, run)
        assert keeping is not None  # valences are known
        places = np.flatnonzero(keeping)
        for at in range(0, len(places), step):
            some = run.where(np.isin(np.arange(len(run)), places[at : at + step]))
            found = Tried(mine.labels.tolist(), nothing, nothing)
            for piece, outcome in ask(job, [AttackedObjects(number, 0, some)]):
                found.add(piece, outcome)
            for target in np.flatnonzero(wanted & (found.first != NEVER)).tolist():
                place, answer = int(found.first[target]), int(found.answers[target])
                attack = _found(some.run(place, place + 1), sites)
                shown[target] = replace(attack, votes=_one_vote(answer, job.classifier.n_classes))
                wanted[target] = False
            if not wanted.any():
                return shown
    return shown


def rows_of(job: Job) -> Rows:
    """The rows of a job without votes: the targets of one object after the other."""
    sizes = [job.n_targets(number) for number in range(len(job.sites))]
    objects = np.repeat(np.arange(len(sizes)), sizes)
    return Rows(
        objects,
        np.concatenate([np.arange(size) for size in sizes]),
        job.classifier.n_classes,
        [job.problem.anchored[number] for number in objects.tolist()],
        job.problem.kind,
        job.target_nodes,
        job.classifier.class_labels or job.classifier.class_names,
    )


def _found(run: Attacks, sites: Sites) -> FoundAttack:
    """One attack in words, without the answer."""
    positions, values = describe(run, sites)
    return FoundAttack(positions, (), 0.0, values).on(sites)


def _one_vote(answer: int, n_classes: int) -> tuple[int, ...]:
    return tuple(int(label == answer) for label in range(n_classes))


def describe(run: Attacks, sites: Sites) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    """The sites that one attack changes, and what they become: None for bits, () where all are bits."""
    (changes,) = run
    positions, values = zip(*changes, strict=True)
    if all(layer.alphabet == 2 for layer in sites.layers):
        return positions, ()
    alphabets = np.repeat([layer.alphabet for layer in sites.layers], sites.sizes)[list(positions)].tolist()
    return positions, tuple(None if n == 2 else value for n, value in zip(alphabets, values, strict=True))
