"""What a threat may change, as budgets that add up over groups of node pairs: what voters that see one group each need.

A *cell* (i, j) is at most i deletions and j additions; (i, 0) where there is one sort of changes. Every attack of a
size lies within one of the cells of that size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from starcert.objects.threats import (
    Additions,
    AnyFlips,
    Changes,
    Controlled,
    Deletions,
    LocalBudget,
    Rewire,
    Swap,
    Then,
    Threat,
    Where,
)  # fmt: skip
from starcert.system.errors import InvalidParameterError

Cell = tuple[int, int]
SINGLE = (AnyFlips, Deletions, Additions, Changes, Controlled, Where)  # any set of allowed changes, of a size each


class Budget(NamedTuple):
    """The cells of each size of a threat."""

    cells: Callable[[int], Sequence[Cell]]
    single: Threat | None = None  # what is tried inside a group; None: deletions and additions
    relaxed: str = ""  # what is certified in place of the threat, which is part of it; "": the threat itself


def budget_of(threat: Threat, *, typed: bool, apart: bool = False) -> Budget:
    """The budget of a threat on graphs, of typed edges or not; others are refused.

    `apart`: flips, deletions and additions are counted as deletions and additions, like all that is tried once.

    A rewired edge deletes one and adds one, two that exchange ends two each; of typed edges, one site may see both.

    Example:
        >>> budget_of(Rewire(2), typed=False).cells(2), budget_of(Deletions(1) + Additions(2), typed=False).cells(2)
        ([(2, 2)], [(0, 2), (1, 1)])
    """
    apart_of: dict[type[Threat], Cell] = {
        AnyFlips: (threat.most, threat.most),
        Deletions: (threat.most, 0),
        Additions: (0, threat.most),
    }
    if apart and type(threat) in apart_of:
        return Budget(_shared(*apart_of[type(threat)]))
    if type(threat) in SINGLE:
        return Budget(lambda size: [(size, 0)], threat)
    if type(threat) in (Rewire, Swap):
        each = 1 if isinstance(threat, Rewire) else 2
        most = each * threat.most
        if typed:
            return Budget(lambda size: [(2 * each * size, 0)], AnyFlips(2 * most), str(AnyFlips(2 * most)))
        return Budget(lambda size: [(each * size, each * size)], None, str(Deletions(most) + Additions(most)))
    if type(threat) is LocalBudget:
        return Budget(lambda size: [(size, 0)], AnyFlips(threat.most), str(AnyFlips(threat.most)))
    if isinstance(threat, Then) and not typed:
        counts = {type(part): part.most for part in threat.parts}
        if counts.keys() == {Deletions, Additions} and len(threat.parts) == 2:
            return Budget(_shared(counts[Deletions], counts[Additions]))
    hint = "Take flips:2, deletions:2, additions:2, deletions:1 + additions:1, rewire:1, swap:1, local:2,per_node=1."
    raise InvalidParameterError("threat", "be one that adds up over groups of pairs, or is part of one", threat, hint)


def _shared(first: int, second: int) -> Callable[[int], Sequence[Cell]]:
    """All ways to divide a number of changes between two sorts with these limits."""
    return lambda size: [(i, min(size - i, second)) for i in range(min(size, first) + 1)]
