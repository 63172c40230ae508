"""One certificate: what is guaranteed about one graph, by the bounds on its class probabilities and by evidence.

With evidence there are verdicts: a level is *certified* when no attack of exactly this many flips changes the smoothed
classifier's answer, *broken* when an attack is known that does, and *open* otherwise.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from starcert.claims.found_attack import FoundAttack, most_plausible
from starcert.claims.outcomes import State
from starcert.claims.question import NO_ATTACK, Question
from starcert.claims.sentences import cells_of, sentence_of
from starcert.claims.slack import slacks_of, tradeoffs_of
from starcert.math.attacked_sites import AttackAxis
from starcert.math.confidence import Bounds
from starcert.math.copies import Level
from starcert.math.fallback import PLAIN, Contest
from starcert.math.frontier import Frontier, Frontiers, flips_covered, levels_of
from starcert.math.margins import MultiClass, TwoClass
from starcert.objects.graph_kind import GRAPHS
from starcert.objects.kinds import Kind
from starcert.objects.noise import Noise, RadiusLike
from starcert.objects.sites import Sites
from starcert.objects.threats import Threat, read_threat
from starcert.sampling.sampler import Attack
from starcert.system.errors import InvalidParameterError
from starcert.system.markup import html_table

if TYPE_CHECKING:
    from starcert.math.ballots import OwnTally
    from starcert.math.listed import AttackList

Limits: TypeAlias = tuple[int, ...] | None


def lies_within(level: Level, other: Level) -> bool:
    """Whether a level has at most as many flips as another on every axis."""
    return all(map(int.__le__, level, other))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known about a level."""

    kind: State
    why: str  # by which argument, or what is missing
    attack: FoundAttack | None = None  # what breaks the level
    more_votes: int | None = None  # about how many more votes of their own settle an open level; None: not known

    def on(self, sites: Sites) -> Verdict:
        """The same, with what its attack does to this object in words."""
        return self if self.attack is None else replace(self, attack=self.attack.on(sites))


class Grounds(NamedTuple):
    """What verdicts rest on, besides the votes on the clean object.

    These are the axes of the noise on it, the votes at attacked objects for each attack, chunk by chunk (at most `most`
    in all; None: there were to be none), the most flips of a level that was looked at, and the attacks of a threat that
    lists them, size after size (if there are any, sizes were looked at instead of levels).
    """

    axes: tuple[AttackAxis, ...]
    most: int | None
    own: Mapping[Attack, Sequence[OwnTally]]
    max_flips: int | None = None
    attacks: AttackList | None = None


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on the levels of one object that were looked at, or on the sizes of a threat.

    Only what lies below a radius of `frontier` is certified at all levels, by counts or by evidence. Of a threat that
    lists its attacks, these are the radii of the counts: evidence adds at most the clean object itself.
    """

    alpha: float  # the probability that any of them, or the bounds of the votes, is false
    levels: Mapping[Level, Verdict]
    frontier: Frontier  # of what is certified by counts or by evidence
    own_votes: int = 0  # how many votes at attacked objects there were
    grounds: Grounds | None = field(default=None, repr=False, compare=False)
    sizes: Mapping[int, Verdict] = field(default_factory=dict)

    def of(self, level: Level) -> Verdict:
        """The verdict on a level that the counts of votes do not certify."""
        if level in self.levels:
            return self.levels[level]
        for below in self.broken:
            if lies_within(below, level):
                return Verdict("open", f"the radius is broken at {below}; this level itself was not looked at")
        return Verdict("open", "not examined: a smaller level is open, or it was not requested")

    def votes_to_settle(self, flips: int) -> int | None:
        """About how many votes at attacked objects would settle the open levels of this many flips; None: not known."""
        more = [one.more_votes for level, one in self.levels.items() if sum(level) == flips and one.kind == "open"]
        known = [votes for votes in more if votes is not None]
        return self.own_votes + sum(known) if known and len(known) == len(more) else None

    def on(self, sites: Sites) -> Verdicts:
        """The same, with what each attack does to this object in words."""
        levels = {level: one.on(sites) for level, one in self.levels.items()}
        return replace(self, levels=levels, sizes={size: one.on(sites) for size, one in self.sizes.items()})

    @cached_property
    def shown(self) -> FoundAttack | None:
        """The attack to show first of those that break: see `most_plausible`; small levels and sizes come first."""
        order = sorted(self.levels, key=lambda level: (sum(level), level))
        judged = [*(self.sizes[size] for size in sorted(self.sizes)), *(self.levels[level] for level in order)]
        return most_plausible(one.attack for one in judged if one.attack is not None)

    @cached_property
    def certified(self) -> tuple[Level, ...]:
        """The certified levels."""
        return tuple(sorted(level for level, one in self.levels.items() if one.kind == "certified"))

    @cached_property
    def broken(self) -> tuple[Level, ...]:
        """The broken levels."""
        return tuple(sorted(level for level, one in self.levels.items() if one.kind == "broken"))


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """What is guaranteed about one graph: a statement about the *smoothed* classifier.

    Anchored regions were read off the graph's own edges: the certificate then speaks of a classifier whose regions are
    frozen at the clean graph.
    """

    noise: Noise  # that the classifier is smoothed with
    bounds: Bounds  # on the class probabilities (one row)
    max_radius: Limits  # the box of radii to look at, in the order of `noise.axes`; None: no end
    capacity: Limits  # how many sites an attacker finds on each axis: more flips are no further attack. None: not known
    anchored: str  # why the regions are anchored; "" if they are not
    object: int  # the number of the graph
    target: int  # the number of the target in it: 0 where the graph itself is classified
    node: Hashable | None  # the name of the node that the target is; None where it is not a node
    _frontiers: Frontiers = field(repr=False)
    verdicts: Verdicts | None = field(repr=False, default=None)  # what evidence says beyond the bounds
    kind: Kind = GRAPHS  # of the attacked object
    asked: Question | None = None  # the threat that was asked about, if it lists its attacks
    classes: Sequence[Hashable] | None = None  # what the classes are called; None: by their numbers

    @property
    def label(self) -> int:
        """The number of the class, as the selection votes chose it."""
        return int(self.bounds.labels[0])

    @property
    def p_lower(self) -> float:
        """The lower bound on the probability of the class, rounded down."""
        return float(self.bounds.p_lower[0])

    @property
    def alpha(self) -> float | None:
        """The probability that anything this certificate says is false; None: its bounds are taken for certain."""
        return self.bounds.alpha if self.verdicts is None else self.verdicts.alpha

    @property
    def together(self) -> int:
        """How many certificates, this one among them, share alpha; 1: it is the alpha of this one alone."""
        return self.bounds.family_size

    @property
    def contest(self) -> Contest:
        """What the class has to withstand, for its answer to stand: see `math/fallback.py`."""
        return self.bounds.contests[0]

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
        """Whether the answer is the blind one."""
        return self.label == self.blind_answer

    @property
    def abstained(self) -> bool:
        """Whether not even the answer on the clean graph is certain enough to be given."""
        return not self.certified((0,) * len(self.noise.axes))

    @property
    def frontier(self) -> Frontier:
        """The maximal certified radii, each verdict proved; `incomplete` says why, where there may be more."""
        return self.frontier_by_p_A if self.verdicts is None else self.verdicts.frontier

    @property
    def frontier_by_p_A(self) -> Frontier:  # noqa: N802  (the paper's p_A)
        """The frontier of what the bounds on the class probabilities certify by themselves: the paper's certificate."""
        return self._frontiers.of(self._margin)

    @property
    def broken(self) -> tuple[tuple[int, ...], ...]:
        """The levels of which an attack is known that changes the smoothed classifier's answer."""
        return () if self.verdicts is None else self.verdicts.broken

    @property
    def any_flips(self) -> int:
        """The largest k, within what was looked at, such that no k flips, wherever they are, change the answer."""
        return self.any_flips_to(None)

    def any_flips_to(self, limit: int | None) -> int:
        """`any_flips`, up to this limit."""
        if self.capacity is None:
            raise InvalidParameterError("capacity", "be known, to speak of flips wherever they are", None)
        return flips_covered(self.frontier.radii, self.capacity, limit)

    def verdict(self, level: RadiusLike | Threat | str) -> State:
        """Whether attacks of exactly this many flips are "certified" to change nothing, "broken", or "open".

        Of a threat, or its text: all of its attacks.
        """
        return self.judge(level).kind

    def why(self, level: RadiusLike | Threat | str) -> str:
        """By which argument it has its verdict, such as "by p_A", or "by weighing 11,628 attacks"."""
        return self.judge(level).why

    def attack(self, level: RadiusLike | Threat | str | None = None) -> FoundAttack | None:
        """The attack that breaks a level or a threat, with the votes at the attacked object; None if none is known.

        By default the most plausible one of all that are known: of a molecule one that keeps valences, then one with
        few changes, then the first.
        """
        if level is None:
            return None if self.verdicts is None else self.verdicts.shown
        return self.judge(level).attack

    def judge(self, level: RadiusLike | Threat | str) -> Verdict:
        """The verdict on a level, or on all attacks of a threat, with its reason and the attack that breaks it."""
        if isinstance(level, Threat | str):
            return self._verdict_on(read_threat(level))
        counts = self.noise.radius(level, "level")
        if self.capacity is not None and not lies_within(counts, self.capacity):
            hint = "A level is a number of attacked sites."
            raise InvalidParameterError("level", f"be at most what there is to attack, {self.capacity}", counts, hint)
        if self._margin.proves(in_box(counts, self.max_radius, None)) is True:
            return Verdict("certified", "by p_A")
        if self.verdicts is None or (self.asked is not None and counts not in self.verdicts.levels):
            about = "" if self.verdicts is None else " but about the threat that was asked about"
            return Verdict("open", f"not by p_A, and there is no evidence{about}")
        return self.verdicts.of(counts)

    def _verdict_on(self, threat: Threat) -> Verdict:
        """The verdict on all attacks of a threat."""
        size = None if self.asked is None else self.asked.size_of(threat.for_noise(self.noise))
        limits, flips = threat.limits(self.noise), threat.flips
        if size is None and limits is None and flips is None:
            hint = "Certify again with this threat: certify(…, threat=…)."
            raise InvalidParameterError("threat", "be the one that was asked about", str(threat), hint)
        if self.abstained:
            return Verdict("open", "the smoothed classifier abstains")
        if size is not None and self.asked is not None:
            return self._verdict_by_size(size, self.asked)
        boxes = [box for box in (limits, self.capacity) if box is not None]
        if not boxes:
            raise InvalidParameterError("capacity", "be known, to speak of flips wherever they are", None)
        box = tuple(map(min, zip(*boxes, strict=True)))
        most = sum(box) if flips is None else min(flips, sum(box))
        broken = [level for level in self.broken if lies_within(level, box) and sum(level) <= most]
        if threat.by_radius and broken:  # the level's attack is one of the threat
            return self.judge(broken[0])
        if limits is None:
            holds = self.any_flips_to(most) >= most
        else:
            holds = self.certified(box) or (flips is not None and all(map(self.certified, levels_of(most, box))))
        if holds:
            return Verdict("certified", "by all radii that hold its attacks")
        return Verdict("open", "a radius that holds some of its attacks is not certified")

    def _verdict_by_size(self, size: int, asked: Question) -> Verdict:
        """That on the first size that is not certified, from below, or on the last."""
        by_p_A = asked.certified_by(self.proves)  # noqa: N806  (the paper's p_A)
        verdict = Verdict("certified", "by p_A" if any(asked.levels[:size]) else NO_ATTACK)
        for each in range(by_p_A + 1, size + 1):
            verdict = Verdict("open", "not by p_A, and there is no evidence")
            if self.verdicts is not None:
                verdict = self.verdicts.sizes.get(each, verdict)
            if verdict.kind != "certified":
                break
        return verdict

    @property
    def certified_size(self) -> int | None:
        """The largest size of the threat that was asked about up to which all is certified.

        None after an abstention, and where the question was one about radii.
        """
        if self.asked is None or self.abstained:
            return None
        found = (self._verdict_by_size(size, self.asked).kind for size in range(1, self.asked.threat.most + 1))
        return next((size for size, kind in enumerate(found) if kind != "certified"), self.asked.threat.most)

    def proves(self, level: Level) -> bool:
        """Whether the bounds on the class probabilities certify a level by themselves."""
        return self._margin.proves(level) is True

    def certified(self, radius: RadiusLike | Threat | str) -> bool:
        """Whether no attack within `radius`, or of a threat, changes the smoothed classifier's answer; proved.

        Example:
            >>> import starcert as sc
            >>> one = sc.certify(Bounds.certain([0.9995]), Noise(motif=0.02, random=0.45), max_radius=(35, 45))[0]
            >>> one.certified({"motif": 1, "random": 45}), one.certified((2, 0))
            (True, False)
        """
        if isinstance(radius, Threat | str):
            return self.verdict(radius) == "certified"
        counts = in_box(self.noise.radius(radius), self.max_radius, self.capacity)
        if self._margin.proves(counts) is True:
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
        if self.contest != PLAIN:
            failure = other if self.answers_blind else failure
            return self.contest.limit - tradeoffs.upper(counts, failure, 1 - failure)
        return tradeoffs.lower(counts, 1 - failure, failure) - tradeoffs.upper(counts, other, 1 - other)

    @property
    def _margin(self) -> TwoClass | MultiClass:
        return margin_of(self.noise, float(self.bounds.failure[0]), float(self.bounds.other[0]), self.contest)

    def __str__(self) -> str:
        return sentence_of(self, stated_by(self.noise))

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentence, and the numbers."""
        return f"<p>{escape(str(self))}</p>{html_table([cells_of(self)])}"


def stated_by(noise: Noise) -> str:
    """Which laws from outside claims rest on, so that nothing about them is proved; "" if on none."""
    return " and ".join(f"the law {name}" for name in noise.outside)


def margin_of(noise: Noise, failure: float, other: float, contest: Contest = PLAIN) -> TwoClass | MultiClass:
    """What decides about radii, given bounds on the probability of all other answers and of every single one."""
    if contest != PLAIN:
        return TwoClass(slacks_of(noise.product, contest.limit), failure if contest.third else other)
    if other < failure:
        return MultiClass(tradeoffs_of(noise.product), failure, other)
    return TwoClass(slacks_of(noise.product), failure)


def in_box(radius: tuple[int, ...], max_radius: Limits, capacity: Limits) -> tuple[int, ...]:
    """The radius as far as there is anything to attack, once it is known to lie in the box."""
    if max_radius is not None and not lies_within(radius, max_radius):
        hint = "Certify again with a larger max_radius."
        raise InvalidParameterError("radius", f"stay within max_radius {max_radius}", radius, hint)
    return radius if capacity is None else tuple(map(min, radius, capacity))
