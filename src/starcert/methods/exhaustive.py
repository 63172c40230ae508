"""The plain model, exactly: every attack is tried on the base classifier itself.

Nothing is sampled, so nothing is left to chance: alpha is 0. An answer that no attack of a threat changes is certified,
and one that some attack changes is broken, with the attack. Where the budget ends first, it is open.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path

from starcert.claims.certificates import Certificates
from starcert.classifiers.base import Classifier, UnsteadyAnswersError
from starcert.classifiers.derived import asked_about
from starcert.methods.estimator import GraphLike, as_objects, bound_problem
from starcert.methods.plausible import find_plausible
from starcert.methods.recounting import audit_trial
from starcert.methods.tried_attacks import TriedAttacks, tried_certificates
from starcert.methods.trying import Trial, progress_file
from starcert.objects import CleanObject, Sites, binding
from starcert.objects.binding import Problem, Regions
from starcert.objects.kinds import kind_of
from starcert.objects.laws import Categorical, Edges, Flip, Law
from starcert.objects.layers import EDGE_LAYERS, Layer
from starcert.objects.noise import Noise
from starcert.objects.threats import Threat, read_threat
from starcert.system.errors import InvalidParameterError, whole_number
from starcert.system.output import progress_bar
from starcert.voting.plans import Job

MAX_ATTACKS = 2**24  # tried on each object, by default
ANY = 2.0**-20  # the noise of a region that was given none: no number of it matters


class ExactClassifier:
    """A base classifier as it is, without noise: certified by trying every attack.

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
            plausible = [find_plausible(trial, number) for number in range(len(problem))]
        except UnsteadyAnswersError:
            if file is not None:
                file.discard()
            raise
        return tried_certificates(trial, time.perf_counter() - begun, plausible)


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
