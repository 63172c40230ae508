"""Hashed voters as a proof: what a threat may do inside groups of node pairs, what it does to voters, and verdicts.

Every broken row has its attack: the parts of it that reach single voters are among those that were tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from typing_extensions import override

from starcert.claims.certificate import Certificate
from starcert.claims.certificates import Certificates
from starcert.claims.proof import SizedProof, Whole
from starcert.claims.verdict import FoundAttack, Verdict
from starcert.math import closed_forms
from starcert.math.closed_forms import Truths
from starcert.methods.exhaustive import ANY, TriedAttacks, any_law
from starcert.objects import Sites
from starcert.objects.binding import Problem
from starcert.objects.laws import Flip
from starcert.objects.noise import Noise
from starcert.objects.threats import (
    Additions,
    AnyFlips,
    Box,
    Changes,
    Controlled,
    Deletions,
    LocalBudget,
    Rewire,
    Swap,
    Then,
    Threat,
    Where,
)
from starcert.objects.threats.sets import SiteThreat
from starcert.system.errors import InvalidParameterError
from starcert.system.output import quantity

Cell = tuple[int, int]
"""At most i deletions and j additions; (i, 0) where there is one sort of changes."""

SINGLE = (AnyFlips, Deletions, Additions, Changes, Controlled, Where)  # any set of allowed changes, of a size each

HINT = "Take flips:2, deletions:2, additions:2, deletions:1 + additions:1, rewire:1, swap:1, local:2,per_node=1."

Ask = Callable[[Problem, Threat], Certificates[TriedAttacks]]
"""Tries the attacks of a threat on each object of a problem: `ExactClassifier(EachClass(base)).certify`."""


class Budget(NamedTuple):
    """The changes that a threat allows, as budgets that add up over groups of node pairs."""

    cells: list[list[Cell]]  # of each size: every attack lies within one of its cells
    single: Threat | None = None  # what is tried inside a group; None: deletions and additions
    relaxed: str = ""  # what is certified in place of the threat, which is part of it; "": the threat itself


def budget_of(threat: Threat, *, typed: bool, apart: bool = False) -> Budget:
    """The budget of a threat on graphs, of typed edges or not; others are refused.

    `apart`: flips, deletions and additions are counted as deletions and additions, like all that is tried once; so are
    local budgets, as part of flips.

    A rewired edge deletes one and adds one, two that exchange ends two each; of typed edges, one site may see both.

    Example:
        >>> budget_of(Rewire(2), typed=False).cells, budget_of(Deletions(1) + Additions(1), typed=False).cells
        ([[(1, 1)], [(2, 2)]], [[(0, 1), (1, 0)], [(0, 1), (1, 1)]])
    """
    sizes = range(1, threat.most + 1)

    def shared(first: int, second: int) -> list[list[Cell]]:
        """All ways to divide each size between two sorts with these limits."""
        return [[(i, min(size - i, second)) for i in range(min(size, first) + 1)] for size in sizes]

    if apart and type(threat) in (AnyFlips, Deletions, Additions):
        most = threat.most
        return Budget(shared(most * (type(threat) is not Additions), most * (type(threat) is not Deletions)))
    if type(threat) in SINGLE:
        return Budget([[(size, 0)] for size in sizes], threat)
    if type(threat) in (Rewire, Swap):
        each = 1 if isinstance(threat, Rewire) else 2
        most = each * threat.most
        if typed:
            return Budget([[(2 * each * size, 0)] for size in sizes], AnyFlips(2 * most), str(AnyFlips(2 * most)))
        return Budget([[(each * size, each * size)] for size in sizes], None, str(Deletions(most) + Additions(most)))
    if type(threat) is LocalBudget:
        any_flips = AnyFlips(threat.most)
        return budget_of(any_flips, typed=typed, apart=apart)._replace(relaxed=str(any_flips))
    if isinstance(threat, Then) and not typed:
        counts = {type(part): part.most for part in threat.parts}
        if counts.keys() == {Deletions, Additions} and len(threat.parts) == 2:
            return Budget(shared(counts[Deletions], counts[Additions]))
    raise InvalidParameterError("threat", "be one that adds up over groups of pairs, or is part of one", threat, HINT)


Run = tuple[Certificates[TriedAttacks], list[Cell]]
"""Certificates of single voters for each class, and the cells whose attacks were tried, smallest first."""


class Reached(NamedTuple):
    """The effect of attacks inside a group on each voter; a row is a graph, or a target of one.

    The last two axes are those of a cell: at most 0, 1, … changes, as many as were tried, then any number; of one sort,
    or of two.
    """

    objects: Whole  # of each row, the number of its graph
    targets: Whole
    votes: Whole  # what each voter answers, shape (rows, voters)
    reached: Truths  # the classes that it is known to answer after an attack, shape (rows, voters, classes, …)
    covered: Truths  # whether that is all that it can answer, shape (rows, voters, …)
    runs: Sequence[Run]
    rows: Whole  # in each run, that of each row, voter and class
    voters: Sequence[Sequence[Sites]]  # of each graph, what each voter sees, and the pairs that reach it
    graphs: Sequence[Sites]
    depth: int
    asker: object = None  # what asked the voters, and alone knows which they are

    @classmethod
    def of(
        cls,
        ask: Ask,
        n_classes: int,
        voters: Sequence[Sites],
        graphs: Sequence[Sites],
        single: Threat | None,
        depth: int,
        most: Cell,
    ) -> Reached:
        """Tries all attacks of at most `depth` changes, `most` of each sort, on what each voter of each graph sees.

        Without `single` changes, deletions and additions are counted apart. If depth is 0, voters need no pairs.
        """
        seen = dict[str, int]()  # voters that see the same answer alike: each is asked once
        which = np.array([seen.setdefault(each.clean.key + each.key, len(seen)) for each in voters])
        own = [voters[place] for place in np.unique(which, return_index=True)[1].tolist()]
        which = which.reshape(len(graphs), -1)
        law = Flip(delete=ANY, add=ANY) if single is None and depth else any_law(own[0].layers[0])
        first, second = min(depth, most[0]), min(depth, most[1]) if single is None else 0
        threats = list[tuple[Threat, list[Cell]]]()
        if first:
            within = replace(single or Deletions(1), most=first)  # type: ignore[type-var]
            threats.append((within, [(i, 0) for i in range(1, first + 1)]))
        if second:
            threats.append((Additions(second), [(0, j) for j in range(1, second + 1)]))
        both = ((i, j) for i in range(1, first + 1) for j in range(1, min(second, depth - i) + 1))
        threats += [(Box({"all.delete": i, "all.add": j}), [(i, j)]) for i, j in both]
        problem = Problem(Noise(all=law), tuple(own))
        runs = [(ask(problem, within), cells) for within, cells in threats or [(AnyFlips(1), [])]]

        rows, objects, targets = _rows_of(runs[0][0], which, n_classes)
        shape = first + 2, second + 2 if single is None else 1
        reached, known = np.zeros((*rows.shape, *shape), np.bool_), np.zeros((len(own), *shape), np.bool_)
        known[:, 0, 0] = True
        for run, (i, j) in ((run, cell) for run, cells in runs for cell in cells):
            found = (run.broken_sizes > 0) & (run.broken_sizes <= i + j)
            reached[..., i, j] = found[rows]
            known[:, i, j] = [
                ends[i + j - 1] <= limit for ends, limit in zip(run.proof.ends, run.proof.limits, strict=True)
            ]
        for axis in (-2, -1):
            np.logical_or.accumulate(reached, axis=axis, out=reached)
        return cls(
            objects,
            targets,
            runs[0][0].labels[rows].argmax(axis=2),
            reached,
            _covered(known, _capacities(own, single, (first, second)))[which[objects]],
            runs,
            rows,
            [[own[number] for number in some] for some in which.tolist()],
            graphs,
            depth,
        )

    @property
    def attacks(self) -> int:
        """The number of attacks that were tried."""
        return sum(sum(run.proof.tried) for run, _ in self.runs)

    @property
    def forward_passes(self) -> int:
        """The number of objects that the base classifier answered."""
        return sum(run.proof.forward_passes for run, _ in self.runs)

    def attack(self, row: int, parts: Mapping[int, tuple[Cell, int]]) -> FoundAttack:
        """The attack that makes some voters answer these classes by changes within these cells."""
        votes, number = self.votes[row].copy(), int(self.objects[row])
        graph, changed = self.graphs[number], dict[int, int | None]()
        for voter, (cell, label) in parts.items():
            some = self._attack_on(int(self.rows[row, voter, label]), cell)
            ends = self.voters[number][voter].coordinates(some.sites)
            changed |= zip(graph.locate(*ends).tolist(), some.values or [None] * len(some.sites), strict=True)
            votes[voter] = label
        sites = tuple(sorted(changed))
        values = tuple(changed[site] for site in sites) if graph.layers[0].alphabet > 2 else ()
        counts = np.bincount(votes, minlength=self.reached.shape[2]).tolist()
        return FoundAttack(sites, tuple(counts), 0.0, values).on(graph)

    def _attack_on(self, row: int, cell: Cell) -> FoundAttack:
        """The smallest attack within a cell that was found for a row of the runs."""
        found = list[tuple[int, FoundAttack]]()
        for run, cells in self.runs:
            size, attack = int(run.broken_sizes[row]), run.proof.attacks[row]
            if attack is not None and any(a <= cell[0] and b <= cell[1] and size <= a + b for a, b in cells):
                found.append((size, attack))
        return min(found, key=lambda each: each[0])[1]


def _rows_of(run: Certificates[TriedAttacks], which: Whole, n_classes: int) -> tuple[Whole, Whole, Whole]:
    """The row of each target, voter and class, given which object each voter of a graph is; and graphs and targets."""
    sizes = np.bincount(run.objects) // n_classes
    starts = n_classes * (np.cumsum(sizes) - sizes)
    objects = np.repeat(np.arange(len(which)), sizes[which[:, 0]])
    targets = np.concatenate([np.arange(size) for size in sizes[which[:, 0]].tolist()])
    rows = starts[which[objects]][..., None] + n_classes * targets[:, None, None] + np.arange(n_classes)
    return rows, objects, targets


def _capacities(voters: Sequence[Sites], single: Threat | None, tried: Cell) -> Whole:
    """The number of changes of each sort on each voter, at most one more than were tried."""
    if not any(tried):  # it is not known
        found = np.ones((len(voters), 2), dtype=np.int64)
    elif isinstance(single, SiteThreat):
        found = np.array([(len(np.unique(single.moves(each).site)), 0) for each in voters])
    else:
        found = np.array([(each.graph.n_edges, each.n_sites - each.graph.n_edges) for each in voters])
    return np.asarray(np.minimum(found, np.array(tried) + 1))


def _covered(known: Truths, capacities: Whole) -> Truths:
    """True if all attacks in each cell were tried: those of a cell are those within the changes that there are."""
    first, second = (np.minimum(np.arange(n), capacities[:, [k]]) for k, n in enumerate(known.shape[1:]))
    return known[np.arange(len(known))[:, None, None], first[:, :, None], second[:, None, :]]


@dataclass(frozen=True, eq=False, repr=False)
class HashedVoters(SizedProof):
    """The answers of hashed voters, and the results of trying attacks on each."""

    threat: Threat
    rule: str  # "counting" or "exact"
    budget: Budget
    reached: Reached
    certified_sizes: Whole
    broken_sizes: Whole
    classifier: str

    @property
    def votes(self) -> Whole:
        """The answer of each voter, shape (rows, voters)."""
        return self.reached.votes

    @property
    def relaxed(self) -> str:
        """What was certified in place of the threat, which is part of it; "": the threat itself."""
        return self.budget.relaxed

    @property
    def tried(self) -> int:
        """Up to how many changes inside a group all attacks were tried."""
        return self.reached.depth if self.rule == "exact" else 0

    @property
    def attacks(self) -> int:
        """The number of attacks that were tried on all voters."""
        return self.reached.attacks

    @property
    def forward_passes(self) -> int:
        """The number of graphs that the base classifier answered."""
        return self.reached.forward_passes

    @property
    @override
    def method(self) -> str:
        return f"{quantity(self.votes.shape[1], 'voter')}, {self.rule} rule, alpha = 0"

    @override
    def verdict_at(self, of: Certificates, row: int, size: int) -> Verdict:
        instead = f", as part of {self.relaxed}" if self.relaxed else ""
        anchored, broken = f"; anchored: {of.anchored[row]}" * bool(of.anchored[row]), int(self.broken_sizes[row])
        if size <= self.certified_sizes[row]:
            why = "by counting voters" if self.rule == "counting" else "by the worst division over groups"
            return Verdict("certified", why + instead + anchored)
        if 0 < broken <= size:
            why = f"by an attack of size {broken}, at most {self.tried} in each group{anchored}"
            return Verdict("broken", why, self._attack_at(row))
        how = "assuming the worst" if self.rule == "exact" else "counting voters"
        return Verdict("open", f"{how} it could change{instead}{anchored}")

    def _attack_at(self, row: int) -> FoundAttack:
        """The attack that breaks a row: the best division of its changes over the voters."""
        reached, n_classes = self.reached, self.reached.reached.shape[2]
        votes, changed = reached.votes[[row]], reached.reached[row]
        answers, needed = closed_forms.winners(votes, n_classes)
        gains = closed_forms.known_gains(votes, answers, reached.reached[[row]])[0]
        for cell in self.budget.cells[int(self.broken_sizes[row]) - 1]:
            for rival in range(n_classes):
                parts = dict[int, tuple[Cell, int]]()
                total = 0
                for voter, part in enumerate(closed_forms.best_division(gains[rival], cell)):
                    if gain := int(gains[rival, voter][part]):
                        others = changed[voter, :, *part] & (np.arange(n_classes) != votes[0, voter])
                        parts[voter] = part, rival if others[rival] else int(others.argmax())
                        total += gain
                if total >= needed[0, rival]:
                    return reached.attack(row, parts)
        raise ArithmeticError(f"no attack breaks row {row}: please report this as a bug")

    @override
    def columns(self, one: Certificate) -> Mapping[str, object]:
        counts = np.bincount(self.votes[one.row], minlength=one.certificates.n_classes).tolist()
        attack = one.attack()
        return {f"votes_{label}": count for label, count in enumerate(counts)} | {
            "attack": None if attack is None else attack.words
        }
