"""Models of links as a method: the worst attack on a node has a closed form, so nothing is drawn and nothing is tried.

`LinkVotes` and `LinkPropagation` say which nodes survive given numbers of added and deleted links. A threat is
certified for a node as far as all that its attacks may add and delete leaves the answer alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.proof import Rows, SizedProof, Whole
from starcert.claims.verdict import FoundAttack, Verdict
from starcert.math.closed_forms import LinkAttacks
from starcert.methods.hashed_voters import HINT, Budget, Cell, budget_of
from starcert.objects import Graph, Sites, TargetNodes
from starcert.objects.threats import Controlled, LocalBudget, Rewire, Swap, Threat, read_threat
from starcert.system.errors import InvalidParameterError

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LinkProof(SizedProof):
    """Which changes of links each node survives, by a closed form of the worst attack."""

    threat: Threat
    how: str  # the model in a few words
    relaxed: str  # what was certified in place of the threat, which is part of it; "": the threat itself
    certified_sizes: Whole
    broken_sizes: Whole
    find: LinkAttack | None = field(default=None, repr=False)  # the attack, by row and its size

    forward_passes = 0  # nothing is tried

    @property
    def capacities(self) -> Sequence[tuple[int, ...]]:
        """The number of pairs of the graph."""
        return [] if self.find is None else [(self.find.sites.n_sites,)]

    @property
    @override
    def method(self) -> str:
        return f"{self.how}, alpha = 0"

    def at_most_changed(self, size: int) -> int:
        """The most answers, of all rows together, that one attack of this size can change; an upper limit.

        A flip is a change at two nodes, so k flips change no more answers than there are nodes whose least numbers of
        flips add up to 2k. A rewired edge is a change at three nodes, and two that exchange ends at four.
        """
        nodes_of_one = {Rewire: 3, Swap: 4}.get(type(self.threat), 2)
        least = np.sort(self.certified_sizes[self.certified_sizes < size] + 1)
        return int(np.searchsorted(np.cumsum(least), nodes_of_one * size, side="right"))

    @override
    def verdict_at(self, of: Certificates, row: int, size: int) -> Verdict:
        instead, broken = f", as part of {self.relaxed}" if self.relaxed else "", int(self.broken_sizes[row])
        if size <= self.certified_sizes[row]:
            return Verdict("certified", f"by the worst attack on links{instead}")
        if 0 < broken <= size:
            assert self.find is not None
            return Verdict("broken", f"the worst attack of size {broken} changes the answer", self.find(row, broken))
        return Verdict("open", f"the worst attack may change the answer{instead}")

    @override
    def columns(self, one: Certificate) -> Mapping[str, object]:
        attack = one.attack()
        return {"attack": None if attack is None else attack.words}


def certify_links(
    answers: Whole,
    survives: Callable[[int, int], Truths],
    about: Rows,
    threat: Threat | str,
    *,
    how: str,
) -> Certificates[LinkProof]:
    """The certified sizes of a model of links, `how` in a few words; what is not certified is open.

    `survives` says for each row if no attack that deletes and adds at most this many links changes its answer.
    """
    asked = read_threat(threat)
    budget = link_budget(asked)
    certified, kept = np.zeros(len(about), dtype=np.int64), np.ones(len(about), dtype=np.bool_)
    for size, cells in enumerate(budget.cells, start=1):
        for deleted, added in within_no_other(cells):
            kept &= survives(deleted, added)
        certified[kept] = size
        if not kept.any():
            break
    proof = LinkProof(asked, how, budget.relaxed, certified, np.zeros_like(certified))
    return Certificates(about, answers, asked, proof)


def link_attacks(threat: Threat, graph: Graph) -> tuple[LinkAttacks, Budget]:
    """The possible changes of a threat at the links *of one node*, whose score nothing else changes, and its budget.

    The budgets of local threats limit what happens at the node, and every other end has one of its own; who controls
    some nodes changes any links of these, and of others their links to these. One rewired edge is exact: a link of the
    node moves, goes elsewhere, or comes from elsewhere. Several are part of as many deletions and additions.
    """
    if isinstance(threat, LocalBudget):
        budget = Budget([_divided(min(size, threat.per_node)) for size in range(1, threat.most + 1)])
        return LinkAttacks(budget.cells), budget
    if isinstance(threat, Controlled):
        threat.check(Sites.everything(graph, "all"))
        budget = Budget([_divided(size) for size in range(1, threat.most + 1)])
        owned = np.isin(np.array(list(map(str, graph.nodes))), threat.nodes)
        return LinkAttacks(budget.cells, owned=owned), budget
    budget = link_budget(threat)
    return LinkAttacks([within_no_other(cells) for cells in budget.cells], isinstance(threat, Rewire)), budget


def _divided(size: int) -> list[Cell]:
    return [(deleted, size - deleted) for deleted in range(size + 1)]


@dataclass(frozen=True, eq=False)
class LinkAttack:
    """Makes the attack on a row of nodes, when it is needed."""

    scores: Whole  # of all nodes, shape (nodes, classes)
    votes: Whole
    graph: Graph
    pairs: Callable[[int, int], tuple[int, npt.ArrayLike]]  # by row and size: the node, and the pairs that change
    own: Whole  # the scores without links

    @cached_property
    def sites(self) -> Sites:
        """Every pair of the graph."""
        return Sites.everything(self.graph, "all")

    @cached_property
    def kept(self) -> dict[tuple[int, int], FoundAttack]:
        """The attacks that were made."""
        return {}

    def __call__(self, row: int, size: int) -> FoundAttack:
        """The attack of this size that changes the answer of a row."""
        if (row, size) not in self.kept:
            self.kept[row, size] = self._made(*self.pairs(row, size))
        return self.kept[row, size]

    def _made(self, node: int, given: npt.ArrayLike) -> FoundAttack:
        pairs = np.sort(np.asarray(given, dtype=np.int64).reshape(-1, 2), axis=1)
        pairs = pairs[np.argsort(self.sites.locate(*pairs.T))]
        positions = self.sites.locate(*pairs.T)
        before = self.sites.values[positions]
        scores = self.scores[node].copy()
        for (u, v), was in zip(pairs.tolist(), before.tolist(), strict=True):
            if node in (u, v):
                scores += (-1 if was else 1) * self.votes[u + v - node]
        new = np.where(before, 0, max(1, before.max()))  # a rewired edge keeps its type
        values = tuple(new.tolist()) if self.sites.layers[0].alphabet > 2 else ()
        answer = np.eye(len(scores), dtype=np.int64)[scores.argmax()]
        return FoundAttack(tuple(positions.tolist()), tuple(answer.tolist()), 0.0, values).on(self.sites)


def node_rows(graph: Graph, nodes: npt.ArrayLike | None, n_classes: int) -> tuple[Whole, Rows]:
    """The indices of some nodes of a graph, by default of all, and the rows about them."""
    found = TargetNodes.of([graph.frame], [np.arange(graph.n_nodes) if nodes is None else nodes])
    number = len(found)
    objects = np.zeros(number, dtype=np.int64)
    return found.index, Rows(objects, np.arange(number), n_classes, [""] * number, nodes=found)


def link_budget(threat: Threat) -> Budget:
    """The numbers of links a threat may delete and add at each size; refused if these do not describe it."""
    budget = budget_of(threat, typed=False, apart=True)
    if budget.single is not None:
        raise InvalidParameterError(
            "threat", "be one that comes down to numbers of added and deleted links", threat, HINT
        )
    return budget


def within_no_other(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that lie in no other one."""
    return [
        cell
        for cell in cells
        if not any(cell != other and cell[0] <= other[0] and cell[1] <= other[1] for other in cells)
    ]
