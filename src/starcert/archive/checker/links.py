"""Do the claims about link votes follow from scores, votes and links? Each row is computed again, by sorting in numpy.

The class of a node is the largest of own[v] + Σ votes[u] over the nodes u that v is linked to. Against a rival B of the
answer A, a link to u does votes[u, B] − votes[u, A] harm where it is added, and the opposite where it is deleted; links
elsewhere do none. So an attack that deletes d and adds a links does at most the d largest harms among the links of v
and the a largest among its other pairs, and changes nothing where that is at most the lead of A over B, less 1 if B
comes first. What breaks is made: its pairs are counted, changed, and the scores added up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from starcert.archive.checker.rows import Difference, Proofs
from starcert.archive.claims import LinkRow
from starcert.objects.threats import Additions, AnyFlips, Controlled, Deletions, LocalBudget, Rewire, Threat
from starcert.objects.threats.base import Then
from starcert.system.errors import InvalidParameterError

if TYPE_CHECKING:
    from starcert.archive.record import Archive

Whole: TypeAlias = npt.NDArray[np.int64]
MAX_SUM = 2**60  # of the sizes of scores, and of votes: no lead leaves 64 bits


def cells_of(threat: Threat, size: int) -> list[tuple[int, int]] | None:
    """All numbers of links of one node that attacks of a size delete and add at most; None: they are not known here."""
    kind = type(threat)
    if kind in (Deletions, Additions):
        return [(size, 0) if kind is Deletions else (0, size)]
    if kind is Rewire:
        return [(size, size)]
    if isinstance(threat, Then):
        most = {type(part): part.most for part in threat.parts}
        if most.keys() != {Deletions, Additions} or len(threat.parts) != len(most):
            return None
        every = ((deleted, size - deleted) for deleted in range(size + 1))
        return [cell for cell in every if cell[0] <= most[Deletions] and cell[1] <= most[Additions]]
    if kind not in (AnyFlips, LocalBudget, Controlled):
        return None
    here = min(size, threat.per_node) if isinstance(threat, LocalBudget) else size
    return [(deleted, here - deleted) for deleted in range(here + 1)]


def check_threat_on_links(threat: Threat | None) -> None:
    """Refuses a threat that no archive of link votes proves."""
    if threat is None or cells_of(threat, 1) is None:
        hint = "Ask about flips:3, deletions:3, additions:3, local:3,per_node=1, controlled:3,nodes=a|b or rewire:1."
        raise InvalidParameterError("threat", "is not one that link votes are certified under", str(threat), hint)


class Rival(NamedTuple):
    """What a lead over a rival rests on."""

    node: int
    linked: Whole  # the nodes that it is linked to, of those whose links may change
    gains: Whole  # of every node, what a link to it takes from the lead
    ranked: Whole  # the nodes whose links may be added, those that take most first
    lost: Whole  # what each link takes from the lead where it is deleted, descending
    gained: Whole  # what each other pair does where it is added, descending, as far as it may matter


class LinkProofs(Proofs):
    """The proofs of what is claimed about each node, from own scores, votes and links."""

    def __init__(self, archive: Archive) -> None:
        self.threat: Threat
        kept, self.threat = archive.certificates.proof.find, archive.certificates.proof.threat
        self.own, self.votes, self.n_nodes = kept.own, kept.votes, len(kept.own)
        both = np.concatenate([kept.graph.edges, kept.graph.edges[:, ::-1]]).astype(np.int64)
        both = both[np.lexsort(both.T[::-1])]
        self.ends, self.starts = both[:, 1], np.searchsorted(both[:, 0], np.arange(self.n_nodes + 1))
        self.degrees = np.diff(self.starts)
        self.owned = np.ones(self.n_nodes, dtype=np.bool_)
        if isinstance(self.threat, Controlled):
            self.owned = np.isin(np.array(list(map(str, kept.graph.nodes))), self.threat.nodes)
        self.ranked: dict[tuple[int, int, bool], tuple[Whole, Whole]] = {}
        self.cells: dict[int, Whole] = {}

    def linked(self, claim: LinkRow) -> Iterator[Difference]:
        """Yields statements about a node that do not follow."""
        linked = self.ends[self.starts[claim.node] : self.starts[claim.node + 1]]
        scores = self.own[claim.node] + self.votes[linked].sum(axis=0)
        label = int(scores.argmax())
        if claim.label != label:
            yield "class", claim.label, label
        proved = self._certified(claim, linked, scores, label)
        if claim.certified > proved:
            yield "certified_size", claim.certified, proved
        if claim.broken is not None:
            if claim.broken <= claim.certified:
                yield "broken_size", claim.broken, f"above {claim.certified}"
            elif problem := self._false_attack(claim, linked, scores, label):
                yield "attack", [f"{u}–{v}" for u, v in claim.attack], problem

    def _certified(self, claim: LinkRow, linked: Whole, scores: Whole, label: int) -> int:
        """The largest size up to the claimed one that is proved."""
        found, free = claim.certified, bool(self.owned[claim.node])
        for rival in range(len(scores)) if claim.certified else ():
            if rival == label:
                continue
            lead = int(scores[label] - scores[rival]) - int(rival < label)
            gains, ranked = self._ranking(label, rival, free)
            here = linked if free else linked[self.owned[linked]]
            most = len(linked) + 1 + 2 * claim.certified
            near = ranked[:most]
            elsewhere = near[~np.isin(near, linked) & (near != claim.node)]
            lost, gained = np.sort(-gains[here])[::-1], gains[elsewhere]
            about = Rival(claim.node, here, gains, ranked, lost, gained)
            if found and self._harm(found, about) > lead:  # harm only grows with the size
                harm = partial(self._harm, about=about)
                found = bisect_right(range(1, found + 1), lead, key=harm)
        return found

    def _harm(self, size: int, about: Rival) -> int:
        """The most that an attack of this size takes from the lead over a rival."""
        if type(self.threat) is Rewire and size == 1:
            return self._rewired(about)
        if size not in self.cells:
            # More changes than a node has pairs do no more.
            self.cells[size] = np.array(cells_of(self.threat, min(size, 2 * self.n_nodes)), dtype=np.int64).T
        sums = (np.concatenate([[0], np.cumsum(np.maximum(each, 0))]) for each in (about.lost, about.gained))
        deleted, added = (each[np.minimum(n, len(each) - 1)] for each, n in zip(sums, self.cells[size], strict=True))
        return int((deleted + added).max())

    def _ranking(self, label: int, rival: int, free: bool) -> tuple[Whole, Whole]:
        """What a link to each node takes from the lead, and the nodes whose links may be added, worst first."""
        key = label, rival, free
        if key not in self.ranked:
            gains = self.votes[:, rival] - self.votes[:, label]
            order = np.argsort(-gains, kind="stable")
            self.ranked[key] = gains, order if free else order[self.owned[order]]
        return self.ranked[key]

    def _rewired(self, about: Rival) -> int:
        """The same of one rewired edge: it stays at the node, leaves it, or comes to it."""
        node, here, gains, ranked, lost, gained = about
        harms = [0, *(-gains[here[self.degrees[here] < self.n_nodes - 1]]).tolist()]
        if len(lost) and len(gained):
            harms.append(int(lost[0] + gained[0]))
        movable = ranked[self.degrees[ranked] > 0][: len(here) + 2]
        movable = movable[~np.isin(movable, here) & (movable != node)]
        return int(max(harms + gains[movable[:1]].tolist()))

    def _false_attack(self, claim: LinkRow, linked: Whole, scores: Whole, label: int) -> str:
        """The error in an attack that is said to change the class; "" if it does, and the attacker can make it."""
        pairs, size, after = np.array(claim.attack, dtype=np.int64), int(claim.broken or 0), scores.copy()
        present = np.array([v in self.ends[self.starts[u] : self.starts[u + 1]] for u, v in claim.attack])
        deleted, added = int(present.sum()), int((~present).sum())
        threat, allowed = self.threat, deleted + added <= size
        if isinstance(threat, Controlled):
            allowed &= bool(self.owned[pairs].any(axis=1).all())
        elif isinstance(threat, LocalBudget):
            allowed &= bool(np.bincount(pairs.ravel()).max() <= threat.per_node)
        elif isinstance(threat, Rewire):
            allowed = size == deleted == added == 1 and len(np.unique(pairs)) == 3  # they share an end
        else:
            allowed = any(deleted <= d and added <= a for d, a in cells_of(threat, size) or ())
        if not allowed:
            return f"an attack of {threat} with size {size}"
        for (u, v), is_there in zip(claim.attack, present.tolist(), strict=True):
            if claim.node in (u, v):
                after += (-1 if is_there else 1) * self.votes[u + v - claim.node]
        return "" if int(after.argmax()) != label else "an attack that changes the class"
