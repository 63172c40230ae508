"""Small worlds whose outputs are numbers: all noisy copies and all attacks are enumerated, so every mean is known."""

from itertools import combinations, product

import numpy as np
from evidence_worlds import ValuedWorld, World

from starcert.math.attacked_sites import LevelAttacks
from starcert.math.ballots import Ballots
from starcert.math.bets import FRACTIONS
from starcert.math.flips import ShownFlips
from starcert.math.values import ValueEvidence


class ValueWorld:
    """The sites of a world of bits or of other values, and an output for each noisy copy: a step, and a place in it.

    `outputs` are numbers from 0 to 1 for each copy; step i has those above i/n, up to (i + 1)/n.
    """

    def __init__(self, world, outputs, n):
        self.world, self.outputs, self.n = world, outputs, n
        self.steps = np.maximum(np.ceil(outputs * n).astype(int) - 1, 0)
        self.valued = isinstance(world, ValuedWorld)
        self.copies = world.vectors if self.valued else world.patterns

    @property
    def axes(self):
        return tuple(self.world.axes)

    @property
    def clean(self):
        return self.world.masses()

    def masses(self, level):
        """The probability of each copy under each attack of a level."""
        return [self.world.masses(attack) for attack in self.world.attacks(level)]

    def means(self, levels, values=None):
        """The mean output at every attacked object of some levels."""
        values = self.outputs if values is None else values
        return np.array([masses @ values for level in levels for masses in self.masses(level)])

    def votes(self, rng, number):
        return self.ballots(rng.choice(len(self.copies), size=number, p=self.clean))

    def ballots(self, drawn):
        """The ballots of these copies, in one chunk."""
        clean = np.array(self.world.clean) if self.valued else 0
        flips = self.copies[drawn] != clean
        given = np.packbits(flips, axis=1, bitorder="little")
        if self.valued and max(self.world.alphabets) > 2:
            given = ShownFlips(given, self.copies[drawn][flips])
        return Ballots.of_chunk(None, flips.shape[1], len(drawn), self.steps[drawn][:, None], [given])

    def evidence(self, drawn):
        return ValueEvidence(self.ballots(drawn), self.axes)

    def capital(self, drawn, attack_masses, theta, tops, levels_of_ratio):
        """The capital against a mean of θ or more at one attacked object, one vote at a time, in floats."""
        clean = self.clean
        ratio = np.divide(attack_masses, clean, out=np.zeros_like(clean), where=clean > 0)
        unseen = attack_masses[clean == 0].sum()
        sizes = FRACTIONS / (levels_of_ratio + unseen)
        capital = np.ones(len(FRACTIONS))
        for copy in drawn:
            capital *= 1 + sizes * ((theta - tops[self.steps[copy]]) / (1 - theta) * ratio[copy] - unseen)
        return capital.mean()


def largest_ratio(world, level):
    """The largest likelihood ratio that any attack of a level can have, as the axes have it."""
    found = 1.0
    for axis, number in zip(world.axes, level, strict=True):
        found *= max((axis.law.stayed, *axis.law.shown)) ** number
    return found


def levels_up_to(flips, n_axes):
    return [level for level in product(range(flips + 1), repeat=n_axes) if sum(level) <= flips]


def attacks_of(levels):
    return [LevelAttacks(level) for level in levels]


def random_outputs(rng, n_copies, n):
    """Outputs that are often close together, and sometimes 0, 1, or at the edges of steps."""
    kind = rng.integers(3)
    found = rng.beta(8, 4, n_copies) if kind == 0 else rng.random(n_copies)
    return (
        np.ceil(found * n) / n
        if kind == 1
        else np.where(rng.random(n_copies) < 0.1, rng.integers(2, size=n_copies), found)
    )


def bits(laws, sizes):
    return World(laws, sizes, np.zeros((2,) * sum(sizes)))


def pairs_of(number):
    return list(combinations(range(number), 2))
