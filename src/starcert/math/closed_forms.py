"""The worst attack in closed form, on the votes of T voters and on sums of votes over links.

**Voters.** Class A has most votes, of equals the smallest class wins. It loses to B once the lead n_A − n_B has fallen
by `needed`: by a voter that goes from A to B it falls by 2, from A to another class by 1, and from another class to B
by 1. A change of the object reaches one voter only. With gain(g, B, r) the most by which r changes lower what voter g
gives to the lead, an attack with R changes lowers it by the sum of gain(g, B, r_g) over voters, Σ r_g ≤ R: the largest
sum is a knapsack with one choice for each voter.

**Links.** The class of node v is the largest of own[v] + Σ votes[u] over the nodes u that v is linked to. Against a
rival B of the answer A, a link to u does harm (votes[u, B] − votes[u, A])⁺ where it is added, and the opposite where it
is deleted. So d deletions and a additions at v do the most harm with the d largest harms among its links and the a
largest elsewhere. A loses iff the lead less the harm is below 0, or is 0 where B comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from starcert.math.arithmetic import Whole, compiled

Truths = npt.NDArray[np.bool_]
Cell = tuple[int, int]
"""At most i deletions and j additions."""

NOTHING = -(2**62)  # where there is no link that could be changed so


def winners(votes: Whole, n_classes: int) -> tuple[Whole, Whole]:
    """The class with most votes of each row, and by how much its lead over each class must fall; 2·T + 1 over itself.

    Example:
        >>> winners(np.array([[1, 1, 0, 2]]), 3)
        (array([1]), array([[1, 9, 2]]))
    """
    counts = (votes[:, :, None] == np.arange(n_classes)).sum(axis=1)
    answers = counts.argmax(axis=1)
    needed = counts.max(axis=1, keepdims=True) - counts + (np.arange(n_classes) > answers[:, None])
    needed[np.arange(len(votes)), answers] = 2 * votes.shape[1] + 1
    return answers, needed


def known_gains(votes: Whole, answers: Whole, reached: Truths) -> Whole:
    """The number that each voter takes from the lead over each class, by the classes that it can be made to answer.

    Where nothing is known, that is any class. `reached` has the shape (rows, voters, classes, …), and the gains (rows,
    classes, voters, …).
    """
    n_classes, more = reached.shape[2], (None,) * (reached.ndim - 3)
    others = reached & (np.arange(n_classes) != votes[..., None])[(..., *more)]
    to_rival = np.moveaxis(others, 2, 1)
    leaves = others.any(axis=2)[:, None]
    for_answer = (votes == answers[:, None])[:, None][(..., *more)]
    gains: Whole = np.where(for_answer, np.maximum(2 * to_rival, leaves), to_rival)
    return gains


def largest_sums(gains: Whole, budget: tuple[int, int]) -> Whole:
    """The largest sum of one gain for each voter, within each budget up to this one: the last two axes.

    gains[…, g, i, j] is what at most i and j changes of two sorts do to voter g, or, at the end of an axis, any number.

    Example:
        >>> largest_sums(np.array([[[0], [0], [2]], [[0], [1], [1]]]), (4, 0))[:, 0]
        array([0, 1, 2, 3, 3])
    """
    sums = np.zeros((*gains.shape[:-3], budget[0] + 1, budget[1] + 1), dtype=np.int64)
    for voter in range(gains.shape[-3]):
        sums = _with_voter(sums, gains[..., voter, :, :])
    return sums


def best_division(gains: Whole, budget: tuple[int, int]) -> list[tuple[int, int]]:
    """The changes of two sorts that each voter gets where gains, shape (voters, …, …), add up to the largest sum.

    Example:
        >>> best_division(np.array([[[0], [0], [2]], [[0], [1], [1]]]), (2, 0))
        [(2, 0), (0, 0)]
    """
    sums = [np.zeros((budget[0] + 1, budget[1] + 1), dtype=np.int64)]
    for gain in gains:
        sums.append(_with_voter(sums[-1], gain))
    (i, j), found = budget, list[tuple[int, int]]()
    for before, after, gain in zip(sums[-2::-1], sums[:0:-1], gains[::-1], strict=True):
        own = next(
            (a, b)
            for a in range(min(len(gain), i + 1))
            for b in range(min(gain.shape[1], j + 1))
            if before[i - a, j - b] + gain[a, b] == after[i, j]
        )
        i, j = i - own[0], j - own[1]
        found.append(own)
    return found[::-1]


def _with_voter(before: Whole, gains: Whole) -> Whole:
    """The largest sums with one voter more."""
    sums, (most_first, most_second) = before.copy(), before.shape[-2:]
    for i in range(min(gains.shape[-2], most_first)):
        for j in range(min(gains.shape[-1], most_second)):
            taken = before[..., : most_first - i, : most_second - j] + gains[..., i, j][..., None, None]
            np.maximum(sums[..., i:, j:], taken, out=sums[..., i:, j:])
    return sums


class Links(NamedTuple):
    """Links by node: those of v are ends[starts[v] : starts[v + 1]]."""

    starts: Whole
    ends: npt.NDArray[np.int32]

    @classmethod
    def of(cls, n_nodes: int, pairs: Whole) -> Links:
        """The links that are given once each, shape (links, 2)."""
        degrees = np.bincount(pairs.ravel(), minlength=n_nodes)
        starts = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
        order = np.argsort(pairs.ravel(), kind="stable")
        return cls(starts, pairs[:, ::-1].ravel()[order].astype(np.int32))

    @property
    def degrees(self) -> Whole:
        """The number of links of each node."""
        return np.diff(self.starts)


class LinkAttacks(NamedTuple):
    """The possible attacks at a node: at each size, some deletions and additions of its links."""

    cells: Sequence[Sequence[Cell]]  # of each size: every attack lies within one of its cells
    first_is_rewire: bool = False  # size 1 is one rewired edge, exactly; its cells are not looked at
    owned: npt.NDArray[np.bool_] | None = None  # if given, one end of each changed link is such a node


def sums_of_votes(own: Whole, votes: Whole, links: Links) -> Whole:
    """The scores of all nodes, shape (nodes, classes)."""
    found = own.copy()
    np.add.at(found, np.repeat(np.arange(len(own)), links.degrees), votes[links.ends])
    return found


def safe_sizes(scores: Whole, votes: Whole, links: Links, attacks: LinkAttacks, nodes: Whole) -> Whole:
    """For each of some nodes, the largest size up to which no attack changes its answer; exact for the cells given."""
    answers, n_sizes = scores.argmax(axis=1), len(attacks.cells)
    found = np.full(len(nodes), n_sizes, dtype=np.int64)
    cells = np.array(
        [(size, *cell) for size, some in enumerate(attacks.cells, start=1) for cell in some], dtype=np.int64
    ).reshape(-1, 3)
    owned = np.ones(len(votes), dtype=np.bool_) if attacks.owned is None else attacks.owned
    stamps = np.full(len(votes), -1, dtype=np.int64)  # the node whose link was seen last, so that none is cleared
    reach = owned, links.degrees >= len(votes) - 1, attacks.first_is_rewire, stamps
    for mine in np.unique(answers[nodes]).tolist():
        places = np.flatnonzero(answers[nodes] == mine)
        for rival in range(scores.shape[1]):
            if rival == mine:
                continue
            gains = np.ascontiguousarray(votes[:, rival] - votes[:, mine])
            ranked = np.argsort(-gains, kind="stable")
            leads = scores[nodes[places], mine] - scores[nodes[places], rival] - int(rival < mine)
            about = places, nodes[places], leads
            _lower(found, about, gains, ranked, (links.starts, links.ends), cells, reach)
            stamps[:] = -1
    return found


def breaking_links(scores: Whole, votes: Whole, links: Links, attacks: LinkAttacks, node: int, size: int) -> list[Cell]:
    """The pairs of an attack of this size that changes the answer of a node, where `safe_sizes` says there is one."""
    n, mine = len(votes), int(scores[node].argmax())
    linked = _is_linked(links, node)
    owned = np.ones(n, dtype=np.bool_) if attacks.owned is None else attacks.owned
    allowed = (np.arange(n) != node) & (owned | owned[node])
    here, elsewhere = np.flatnonzero(linked & allowed), np.flatnonzero(~linked & allowed)
    for rival in range(scores.shape[1]):
        if rival == mine:
            continue
        gains, lead = votes[:, rival] - votes[:, mine], scores[node, mine] - scores[node, rival] - int(rival < mine)
        lost, gained = here[np.argsort(gains[here])], elsewhere[np.argsort(-gains[elsewhere])]
        if attacks.first_is_rewire and size == 1:
            ends = _rewired(links, node, lost, gained, gains, lead)
            if ends:
                return ends
            continue
        for deletions, additions in attacks.cells[size - 1]:
            some = *lost[:deletions][gains[lost[:deletions]] < 0], *gained[:additions][gains[gained[:additions]] > 0]
            if abs(gains[list(some)]).sum() > lead:
                return [(node, int(other)) for other in some]
    raise ArithmeticError(f"no attack of size {size} changes the answer of node {node}: please report this as a bug")


def _rewired(links: Links, node: int, lost: Whole, gained: Whole, gains: Whole, lead: int) -> list[Cell]:
    """The link that one rewired edge deletes, and the one that it adds; empty where none does enough harm."""
    if len(lost) and len(gained) and gains[gained[0]] - gains[lost[0]] > lead:
        return [(node, int(lost[0])), (node, int(gained[0]))]
    for other in lost[-gains[lost] > lead].tolist():  # it goes elsewhere
        free = ~_is_linked(links, other)
        free[other] = False
        if free.any():
            return [(node, other), (other, int(free.argmax()))]
    for other in gained[gains[gained] > lead].tolist():  # it comes from elsewhere
        if links.starts[other] < links.starts[other + 1]:
            return [(other, int(links.ends[links.starts[other]])), (node, other)]
    return []


def _is_linked(links: Links, node: int) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(links.starts) - 1, dtype=np.bool_)
    found[links.ends[links.starts[node] : links.starts[node + 1]]] = True
    return found


@compiled
def _lower(found, about, gains, ranked, links, cells, reach):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, PLR0912
    """Lowers what is found where a rival wins: where harm exceeds the leads."""
    (places, nodes, leads), (starts, ends), (owned, is_full, rewires, stamps) = about, links, reach
    most_deleted, most_added = 1, 1
    for c in range(len(cells)):
        most_deleted, most_added = max(most_deleted, cells[c, 1]), max(most_added, cells[c, 2])
    lost, gained = np.zeros(most_deleted + 1, np.int64), np.zeros(most_added + 1, np.int64)
    for i in range(len(nodes)):
        node, lead, safe = nodes[i], leads[i], found[places[i]]
        if safe == 0:
            continue
        lost[:], gained[:] = 0, 0
        loses, gains_one = NOTHING, NOTHING  # the most that one link does, of any sign
        rewired = 0
        for place in range(starts[node], starts[node + 1]):
            other = ends[place]
            stamps[other] = node
            if not (owned[node] or owned[other]):
                continue
            harm = -gains[other]
            loses = max(loses, harm)
            if not is_full[other]:  # its other end may be linked elsewhere
                rewired = max(rewired, harm)
            if harm > lost[most_deleted]:
                slot = most_deleted
                while slot > 1 and lost[slot - 1] < harm:
                    lost[slot] = lost[slot - 1]
                    slot -= 1
                lost[slot] = harm
        stamps[node] = node
        n_gained, with_links = 0, not rewires
        for rank in range(len(ranked)):
            other = ranked[rank]
            if stamps[other] == node or not (owned[node] or owned[other]):
                continue
            harm = gains[other]
            gains_one = max(gains_one, harm)
            if harm <= 0 or (n_gained == most_added and with_links):
                break
            if n_gained < most_added:
                n_gained += 1
                gained[n_gained] = harm
            if not with_links and starts[other + 1] > starts[other]:  # one of its links may come here
                with_links, rewired = True, max(rewired, harm)
        if rewires and (rewired > lead or (min(loses, gains_one) > NOTHING and loses + gains_one > lead)):
            found[places[i]] = 0
            continue
        for slot in range(1, most_deleted + 1):
            lost[slot] += lost[slot - 1]
        for slot in range(1, most_added + 1):
            gained[slot] += gained[slot - 1]
        for c in range(len(cells)):
            size = cells[c, 0]
            if size > safe:
                break
            if not (rewires and size == 1) and lost[cells[c, 1]] + gained[cells[c, 2]] > lead:
                found[places[i]] = size - 1
                break
