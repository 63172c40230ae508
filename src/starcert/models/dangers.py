"""The attacks that evidence finds most dangerous on training graphs, and noisy copies of the graphs under them.

The votes of the model on noisy copies of a graph are weighed as those of a certificate are (see `math.evidence`): with
Y = 1 where a copy is not answered by the graph's class, and L_S the likelihood ratio of an attack S, the mean of Y·L_S
estimates how often the attacked graph fails, for all attacks at once. Nothing is proved here: it says what to train on.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from starcert.math.attacked_sites import AttackAxis, n_attacks
from starcert.math.evidence import FlipEvidence
from starcert.math.flips import FlipRecord
from starcert.math.frontier import levels_of
from starcert.math.pooling import Scheme
from starcert.models.copies import BLOCK, TrainingCopies
from starcert.objects.attack_axes import axes_of
from starcert.sampling.sampler import OWN_CHUNKS, Attack, AttackedCopies
from starcert.system.errors import InvalidParameterError
from starcert.voting.counting import tallies
from starcert.voting.plans import Chunk, Job

if TYPE_CHECKING:
    from starcert.classifiers.torch import TorchClassifier
    from starcert.models.against import Against
    from starcert.objects.binding import Problem
    from starcert.sampling.batch import NoisyGraphs

MAX_WEIGHED = 2**16  # of a graph with more attacks of a size, attacks of that size are not looked for


class DangerousCopies(TrainingCopies):
    """Numbered noisy copies of graphs under the attacks that are most dangerous to the model, as far as it is known.

    Before the first `choose` nothing is attacked.

    Args:
        base: the classifier that is trained.
        problem: the graphs, with the noise to train with.
        classes: the class of each of them.
        against: how many flips an attack may have, and how many votes are weighed.
        seed: of votes and copies.
    """

    def __init__(
        self, base: TorchClassifier, problem: Problem, classes: Sequence[int], against: Against, seed: int
    ) -> None:
        super().__init__(base, problem, None, seed, BLOCK)
        if base.values is not None:
            hint = "Where outputs are numbers, train with flips or the worst of several copies."
            raise InvalidParameterError("dangerous", "be 0 where outputs are numbers", against.dangerous, hint)
        if reason := next(filter(None, problem.without_evidence), ""):
            raise InvalidParameterError("dangerous", "come with a noise that has evidence", problem.noise, reason)
        self._job = Job(base, problem, seed, chunk_size=against.votes)
        self._classes, self._flips = classes, against.dangerous
        self._axes = [axes_of(sites, problem.noise) for sites in problem.sites]
        self._attacked = [AttackedCopies(sites, problem.noise, seed) for sites in problem.sites]
        self.attacks: list[Attack] = [()] * len(problem)

    def choose(self, number: int) -> None:
        """Looks for the attacks that are most dangerous to the model as it is now, by the votes of this number."""
        training = self._base.model.training
        votes = [
            Chunk(graph, "training", number, self._job.chunk_size, against=label)
            for graph, label in enumerate(self._classes)
        ]
        for tally in tallies(self._job, votes):
            (record,), graph = tally.records, tally.chunk.graph
            assert record is not None
            self._attack(graph, most_dangerous(record, self._axes[graph], self._flips))
        self._base.model.train(training)

    def _attack(self, graph: int, attack: Attack) -> None:
        if attack != self.attacks[graph]:
            self.attacks[graph] = attack
            self._drawn.pop(graph, None)

    @override
    def _draw(self, graph: int, block: int) -> NoisyGraphs:
        copies: NoisyGraphs = self._attacked[graph].draw([self.attacks[graph]], len(OWN_CHUNKS) + block)
        return copies

    def state_dict(self) -> dict[str, Any]:
        """What a training that is continued must know."""
        return {"attacks": [*self.attacks]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes over what `state_dict` gave."""
        for graph, attack in enumerate(state["attacks"]):
            self._attack(graph, attack)


def most_dangerous(votes: FlipRecord, axes: Sequence[AttackAxis], flips: int) -> Attack:
    """The attack of at most this many flips with the largest weight; () if none weighs more than no attack at all.

    An attack that shows what copies of the clean object never do is weighed by the rest: an edge that is added under
    a noise that adds none is never chosen.
    """
    box = tuple(0 if axis.law.free else flips for axis in axes)  # where copies show nothing, attacks do nothing
    evidence = FlipEvidence(votes, axes, alpha=Fraction(1, 2), failure=0.0, box=box)
    largest, found = len(votes) / evidence.n_votes, Attack()
    for level in (level for number in range(1, flips + 1) for level in levels_of(number, evidence.box)):
        listed = tuple(axis for axis, attacked in enumerate(level) if attacked)
        scheme = Scheme(listed, 0, Fraction(1))
        scheme = scheme._replace(n_attacks=n_attacks(evidence.listed(level, scheme)))
        if not 0 < scheme.n_attacks <= MAX_WEIGHED:
            continue
        weights = evidence.weights(level, scheme).estimate
        if weights.max() > largest:
            largest, found = float(weights.max()), evidence.attack(level, scheme, int(weights.argmax()))
    return found
