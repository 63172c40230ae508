"""One certificate: what is guaranteed about one row of a result, and what that rests on.

Every method has an answer, a verdict on each threat that it speaks of, its reason, and an attack where one is known.
Radii, bounds and margins are those of votes; where there are none, asking for them is refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING

from starcert.claims.intervals import Claim, ValueInterval
from starcert.claims.proof import Asked
from starcert.claims.question import Question
from starcert.claims.sentences import cells_of, sentence_of
from starcert.claims.slack import tradeoffs_of
from starcert.claims.verdict import FoundAttack, Limits, State, Verdict, Verdicts
from starcert.claims.vote_proof import in_box
from starcert.math.choices import Level
from starcert.math.confidence import Bounds
from starcert.math.fallback import PLAIN
from starcert.math.frontier import Frontier, flips_covered
from starcert.objects.kinds import Kind
from starcert.objects.noise import Noise, RadiusLike
from starcert.objects.threats import Threat
from starcert.system.errors import InvalidParameterError
from starcert.system.markup import html_table

if TYPE_CHECKING:
    from starcert.claims.certificates import Certificates


@dataclass(frozen=True, eq=False)
class Certificate:
    """The guarantee for one graph or one target. It is about the *smoothed* classifier if it comes from votes.

    Anchored regions were derived from the graph's own edges: the certificate is then about a classifier whose regions
    are frozen at the clean graph.

    Example:
        >>> import starcert as sc
        >>> base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > 2), n_classes=2)
        >>> (one,) = sc.ExactClassifier(base).certify([sc.Graph(4, [(0, 1), (1, 2)])], threat="flips:1")
        >>> one.verdict(), one.broken_size, one.attack().sites, one.why()
        ('broken', 1, (1,), 'by attack 2 of 6')
    """

    certificates: Certificates
    row: int

    @property
    def object(self) -> int:
        """The number of the graph."""
        return int(self.certificates.objects[self.row])

    @property
    def target(self) -> int:
        """The number of the target in its graph: 0 where the graph itself is classified."""
        return int(self.certificates.targets[self.row])

    @property
    def node(self) -> Hashable | None:
        """The name of the node that the target is; None where it is not a node."""
        nodes = self.certificates.nodes
        return None if nodes is None else nodes.names[self.row]

    @property
    def kind(self) -> Kind:
        """The kind of the attacked object."""
        return self.certificates.kind

    @property
    def classes(self) -> Sequence[Hashable] | None:
        """The names of the classes; None: their numbers."""
        return self.certificates.classes

    @property
    def anchored(self) -> str:
        """Why the regions are anchored; "" if they are not."""
        return self.certificates.anchored[self.row]

    @property
    def label(self) -> int:
        """The number of the class that is answered; of votes, as the selection votes chose it."""
        return int(self.certificates.labels[self.row])

    @property
    def alpha(self) -> float | None:
        """The probability that anything this certificate says is false; None: its bounds are taken for certain."""
        return self.certificates.proof.alpha_of(self.row)

    @property
    def together(self) -> int:
        """The number of certificates, including this one, that share alpha; 1: alpha is for this one alone."""
        return self.certificates.together

    @property
    def certified_size(self) -> int | None:
        """The largest size of the threat that was asked about up to which all is certified.

        None after an abstention, and where the question was one about radii.
        """
        return self.certificates.proof.certified_size(self)

    @property
    def broken_size(self) -> int | None:
        """The size of the smallest attack that is known to change the answer; None: none is."""
        return self.certificates.proof.broken_size(self)

    def judge(self, asked: Asked = None) -> Verdict:
        """The verdict on all attacks of a threat, with its reason and the attack that breaks it.

        Args:
            asked: a threat or its text, by default that of `certify`; of votes also a level, the number of flips on
                each axis, of other methods a number of units of the threat.
        """
        return self.certificates.proof.verdict(self, asked)

    def verdict(self, asked: Asked = None) -> State:
        """The word "certified" if attacks of a threat change nothing, "broken", or "open"."""
        return self.judge(asked).kind

    def why(self, asked: Asked = None) -> str:
        """By which argument it has its verdict, such as "by p_A", or "by trying all 120 attacks"."""
        return self.judge(asked).why

    def attack(self, asked: Asked = None) -> FoundAttack | None:
        """The attack that breaks a threat or a level; None if none is known, or kept.

        By default the most plausible one of all that are known: of a molecule one that keeps valences, then one with
        few changes, then the first.
        """
        return self.certificates.proof.attack(self) if asked is None else self.judge(asked).attack

    # Of outputs that are numbers -----------------------------------------------------------------------------------

    @property
    def estimate(self) -> float:
        """The mean of the outputs on noisy copies as it was seen, up to half a step; nothing is proved about it."""
        return self.certificates.by_outputs.estimate(self.row)

    @property
    def clean(self) -> ValueInterval:
        """The interval of the mean output on noisy copies of the object itself."""
        return self.certificates.by_outputs.interval(self, Claim(), None)

    def interval(
        self, threat: Threat | str | RadiusLike | None = None, *, above: float | None = None, alpha: float | None = None
    ) -> ValueInterval:
        """Numbers between which the mean output lies at every object that an attacker makes of this one.

        Each call is a claim by itself, with an alpha of its own: threats that are chosen by their intervals need more.

        Args:
            threat: a radius, a threat by radius, or the threat of `certify` or a smaller one of its sort; by default
                the threat of `certify`.
            above: then the interval is one of the probability that an output is above this number.
            alpha: the probability that it fails; by default that of `certify`.

        Example:
            >>> import starcert as sc
            >>> outputs = sc.ValueRange(0, 1)
            >>> share = sc.classifiers.from_callable(lambda rows: rows.mean(axis=1), on="vectors", outputs=outputs)
            >>> smoothed = sc.SmoothedRegressor(share, sc.Noise(all=0.1))
            >>> (one,) = smoothed.certify(sc.Bits.rows([[1, 1, 0, 1]]), samples=1000, seed=1)
            >>> round(one.estimate, 2), round(one.clean.low, 2), round(one.interval("flips:1").low, 2)
            (0.7, 0.68, 0.44)
        """
        proof = self.certificates.by_outputs
        return proof.interval(self, proof.claim(threat, above), alpha)

    # Of votes on noisy copies --------------------------------------------------------------------------------------

    @property
    def noise(self) -> Noise:
        """The noise that the classifier is smoothed with."""
        return self.certificates.noise

    @cached_property
    def bounds(self) -> Bounds:
        """The bounds on the class probabilities, one row."""
        return self.certificates.bounds[self.row]

    @property
    def max_radius(self) -> Limits:
        """The box of radii to look at, in the order of `noise.axes`; None: no end."""
        return self.certificates.max_radius

    @property
    def capacity(self) -> Limits:
        """The number of sites on each axis: more flips are no further attack. None if unknown."""
        return self.certificates.capacity[self.row]

    @property
    def verdicts(self) -> Verdicts | None:
        """The verdicts of evidence, beyond the bounds."""
        verdicts = self.certificates.verdicts
        return None if verdicts is None else verdicts[self.row]

    @property
    def asked(self) -> Question | None:
        """The threat that was asked about, if it lists its attacks."""
        return self.certificates.by_votes.question(self.object)

    @property
    def p_lower(self) -> float:
        """The lower bound on the probability of the class, rounded down."""
        return float(self.bounds.p_lower[0])

    @property
    def blind_answer(self) -> int | None:
        """The class that the smoothed classifier falls back to; None if it does not."""
        return None if self.bounds.blind is None else int(self.bounds.blind.answers[0])

    @property
    def threshold(self) -> float | None:
        """The probability that another class must exceed, or the smoothed classifier falls back; None: it does not."""
        return None if self.bounds.blind is None else self.bounds.blind.threshold

    @property
    def margin_kind(self) -> str:
        """Which margin decides: "multi-class" if alpha was spent on bounds of the other classes, too, and they help."""
        if self.threshold is not None:
            return "fallback"
        return "multi-class" if self.bounds.other[0] < self.bounds.failure[0] else "two-class"

    @property
    def answers_blind(self) -> bool:
        """True if the answer is the blind one."""
        return self.label == self.blind_answer

    @property
    def abstained(self) -> bool:
        """True if not even the answer on the clean graph is certain enough to be given."""
        if not self.certificates.of_radii:
            return bool(self.certificates.abstained[self.row])
        return not self.certified((0,) * len(self.noise.axes))

    @property
    def frontier(self) -> Frontier:
        """The maximal certified radii, each verdict proved; `incomplete` says why, where there may be more."""
        return self.frontier_by_p_A if self.verdicts is None else self.verdicts.frontier

    @property
    def frontier_by_p_A(self) -> Frontier:  # noqa: N802  (the paper's p_A)
        """The frontier of what the bounds on the class probabilities certify by themselves: the paper's certificate."""
        proof = self.certificates.by_votes
        return proof.search(self.row).of(proof.margin(self.row))

    @property
    def broken(self) -> tuple[tuple[int, ...], ...]:
        """The levels of which an attack is known that changes the smoothed classifier's answer."""
        return () if self.verdicts is None else self.verdicts.broken

    @property
    def any_flips(self) -> int:
        """The largest k, within what was looked at, such that no k flips, wherever they are, change the answer."""
        if self.capacity is None:
            raise InvalidParameterError("capacity", "be known, to speak of flips wherever they are", None)
        return flips_covered(self.frontier.radii, self.capacity)

    def proves(self, level: Level) -> bool:
        """True if the bounds on the class probabilities certify a level by themselves."""
        return self.certificates.by_votes.margin(self.row).proves(level) is True

    def certified(self, radius: RadiusLike | Threat | str) -> bool:
        """True if no attack within `radius`, or of a threat, changes the smoothed classifier's answer; proved.

        Example:
            >>> import starcert as sc
            >>> one = sc.certify(Bounds.certain([0.9995]), Noise(motif=0.02, random=0.45), max_radius=(35, 45))[0]
            >>> one.certified({"motif": 1, "random": 45}), one.certified((2, 0))
            (True, False)
        """
        if not self.certificates.of_radii or isinstance(radius, Threat | str):
            return self.verdict(radius) == "certified"
        counts = in_box(self.noise.radius(radius), self.max_radius, self.capacity)
        if self.certificates.by_votes.margin(self.row).proves(counts) is True:
            return True
        return self.verdicts is not None and self.verdicts.of(counts).kind == "certified"

    def margin(self, radius: RadiusLike) -> float:
        """ρ_low(p_A) − ρ_up(p_B), equation (5) of the paper: certified iff positive.

        With a fallback, t − ρ_up(p_B) for a blind answer, ρ_low(p_A) − t for another. A number to look at; near zero
        `certified` decides, because it does not round.
        """
        counts = in_box(self.noise.radius(radius), self.max_radius, self.capacity)
        tradeoffs = tradeoffs_of(self.noise.product)
        failure, other = float(self.bounds.failure[0]), float(self.bounds.other[0])
        contest = self.bounds.contests[0]
        if contest != PLAIN:
            failure = other if self.answers_blind else failure
            return contest.limit - tradeoffs.upper(counts, failure, 1 - failure)
        return tradeoffs.lower(counts, 1 - failure, failure) - tradeoffs.upper(counts, other, 1 - other)

    def __str__(self) -> str:
        return sentence_of(self)

    def _repr_html_(self) -> str:
        """For a notebook: the sentence, and the numbers."""
        return f"<p>{escape(str(self))}</p>{html_table([cells_of(self)])}"
