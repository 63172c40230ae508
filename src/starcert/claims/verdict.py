"""Results about attacks on one object: verdicts, and those of evidence on all levels examined.

A level is *certified* when no attack of exactly this many flips changes the answer, *broken* when an attack is known
that does, and *open* otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from starcert.math.attacked_sites import AttackAxis
from starcert.math.choices import Level
from starcert.math.frontier import Frontier
from starcert.objects.convert import load_module
from starcert.objects.layers import EDGE_LAYERS
from starcert.objects.sites import Sites
from starcert.objects.threats.attacks import VALUES, Attacks
from starcert.objects.threats.valence import keep_valences
from starcert.objects.words import attack_words
from starcert.sampling.attacked import Attack

if TYPE_CHECKING:
    from starcert.math.attacked_sites import AttackList
    from starcert.math.ballots import OwnTally


State = Literal["certified", "broken", "open"]
Limits: TypeAlias = tuple[int, ...] | None
TORCH = "'starcert[torch]'"
MAX_NAMED = 8  # sites of an attack that are named where there is little room


def lies_within(level: Level, other: Level) -> bool:
    """True if a level has at most as many flips as another on every axis."""
    return all(map(int.__le__, level, other))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a level."""

    kind: State
    why: str  # by which argument, or what is missing
    attack: FoundAttack | None = None  # what breaks the level
    more_votes: int | None = None  # about how many more votes of their own settle an open level; None: not known

    def on(self, sites: Sites) -> Verdict:
        """The same, with what its attack does to this object in words."""
        return self if self.attack is None else replace(self, attack=self.attack.on(sites))


class Grounds(NamedTuple):
    """The grounds of verdicts, besides the votes on the clean object.

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


@dataclass(frozen=True, slots=True)
class FoundAttack:
    """An attack that changes the smoothed classifier's answer."""

    sites: tuple[int, ...]  # the flat positions of the flipped sites
    votes: tuple[int, ...]  # what the base classifier said on noisy copies of the attacked object, for each class
    delta: float  # an upper limit on the probability of such votes if the answer does not change
    values: tuple[int | None, ...] = ()  # the new value of each site, None for one that has two; empty where all have
    changes: tuple[str, ...] = field(default=(), compare=False)  # what becomes of each site; empty without the object
    keeps_valences: bool = field(default=True, compare=False)  # False: it leaves an atom more bonds than it can have

    def on(self, sites: Sites) -> FoundAttack:
        """The same attack on this object: in words, and whether a molecule that it is keeps its valences."""
        values = sites.values[list(self.sites)].tolist()
        given = zip(values, self.values or repeat(None), strict=False)
        new = [int(not before) if after is None else after for before, after in given]
        kept = keep_valences(sites, Attacks((VALUES * np.array([self.sites], dtype=np.int64) + new,)))
        changes = attack_words(self.sites, self.values, sites)
        return replace(self, changes=changes, keeps_valences=kept is None or bool(kept[0]))

    @property
    def words(self) -> str:
        """All that it changes, such as "atom 2: C → N; bond 0–4 added, double"; sites by number, without the object."""
        return "; ".join(self.changes or map(_by_number, self.sites, self.values or repeat(None)))

    def to_explanation(self, sites: Sites) -> Any:  # noqa: ANN401  (of PyG)
        """The attack as a `torch_geometric.explain.Explanation` of the graph, with the edges that it adds.

        `edge_mask` is 1 at edges that it adds, deletes or gives another type, `node_mask` at nodes whose data it
        changes; both are 0 elsewhere. `visualize_graph()` draws it.

        Args:
            sites: of the attacked object, such as `smoothed.sites(graph)`.
        """
        explain, torch = load_module("torch_geometric.explain", TORCH), load_module("torch", TORCH)
        graph = sites.graph
        edges, nodes = dict.fromkeys(map(tuple, graph.edges.tolist()), 0.0), np.zeros((graph.n_nodes, 1))
        for site, region in zip(self.sites, sites.regions_at(self.sites).tolist(), strict=True):
            place = tuple(int(each[0]) for each in sites.coordinates([site]))
            if sites.layers[region].name in EDGE_LAYERS:
                edges[place] = 1.0
            else:
                nodes[place[0]] = 1.0
        both = not graph.directed
        listed = [pair for edge in edges for pair in ((edge, edge[::-1]) if both else (edge,))]
        return explain.Explanation(
            edge_index=torch.tensor(listed, dtype=torch.int64).reshape(-1, 2).t().contiguous(),
            edge_mask=torch.tensor([mask for mask in edges.values() for _ in range(1 + both)]),
            node_mask=torch.tensor(nodes, dtype=torch.float32),
            num_nodes=graph.n_nodes,
        )

    def __str__(self) -> str:
        """The same, of many changes the first."""
        if (more := len(self.sites) - MAX_NAMED) <= 0:
            return self.words
        first = replace(self, sites=self.sites[:MAX_NAMED], changes=self.changes[:MAX_NAMED])
        return f"{first.words}; and {more:,} more"


def most_plausible(attacks: Iterable[FoundAttack]) -> FoundAttack | None:
    """The attack to show first: one that keeps valences, then one with few changes, then the first; None: no attack."""
    return min(attacks, key=lambda each: (not each.keeps_valences, len(each.sites)), default=None)


def _by_number(site: int, value: int | None) -> str:
    return f"site {site} flipped" if value is None else f"site {site}: now {value}"
