"""An attack that is known to change an answer: its sites and values, what it does in words, and how plausible it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

import numpy as np

from starcert.objects import Sites
from starcert.objects.convert import load_module
from starcert.objects.layers import EDGE_LAYERS
from starcert.objects.threats.attacks import VALUES, Attacks
from starcert.objects.threats.valence import keep_valences
from starcert.objects.words import attack_words

TORCH = "'starcert[torch]'"
MAX_NAMED = 8  # sites of an attack that are named where there is little room


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
