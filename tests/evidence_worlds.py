"""Small worlds in which everything about a smoothed classifier is known: every noisy copy is enumerated."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from starcert.core.evidence import AttackAxis
from starcert.core.pooling import SiteLaw
from starcert.evidence.own_votes import OwnTally
from starcert.sampling.attacked import OWN_CHUNK


@dataclass(frozen=True)
class Votes:
    """Votes as `Evidence` asks for them, kept in the plainest way there is."""

    samples: np.ndarray
    against: np.ndarray
    flips: np.ndarray
    complete: bool = True

    def matrix(self, sites):
        return self.flips[:, sites]

    def numbers(self, lists):
        return np.stack([self.flips[:, sites].sum(axis=1) for sites in lists], axis=1)


@dataclass(frozen=True)
class World:
    """Sites under a law each, and a base classifier that is wrong (1) or right (0) on each pattern of flips.

    Attributes:
        laws: the law of each axis.
        sizes: how many sites each axis has.
        wrong: shape (2,) * sites: whether a copy with these flips from the clean object is not given the class.
    """

    laws: tuple[SiteLaw, ...]
    sizes: tuple[int, ...]
    wrong: np.ndarray

    @property
    def axes(self):
        ends = np.cumsum([0, *self.sizes])
        return [AttackAxis(law, np.arange(*ends[i : i + 2])) for i, law in enumerate(self.laws)]

    @property
    def patterns(self):
        return np.array(list(product([False, True], repeat=sum(self.sizes))))

    def masses(self, attack=()):
        """The probability of each pattern of flips where these sites are attacked."""
        law_of = np.repeat(np.arange(len(self.sizes)), self.sizes)
        chances = [
            float(self.laws[law_of[site]].attacked if site in attack else self.laws[law_of[site]].clean)
            for site in range(len(law_of))
        ]
        return np.where(self.patterns, chances, 1 - np.array(chances)).prod(axis=1)

    def failure(self, attack=()):
        """The probability that the attacked object is not given the class, exactly up to floats."""
        return float(self.masses(attack) @ self.wrong.reshape(-1))

    def attacks(self, level):
        """Every attack of a level."""
        choices = [combinations(axis.sites.tolist(), r) for axis, r in zip(self.axes, level, strict=True)]
        return [sum(parts, ()) for parts in product(*choices)]

    def worst(self, level):
        """The largest failure probability of any attack of a level."""
        return max(map(self.failure, self.attacks(level)))

    def votes(self, rng, samples, chunk=64, attack=()):
        """So many votes, in chunks."""
        drawn = rng.choice(len(self.patterns), size=samples, p=self.masses(attack))
        wrong = self.wrong.reshape(-1)[drawn].astype(bool)
        sizes = np.array([min(chunk, samples - start) for start in range(0, samples, chunk)])
        against = np.add.reduceat(wrong, np.cumsum([0, *sizes[:-1]]))
        return Votes(sizes, against, self.patterns[drawn[wrong]])


class OwnVotesOf:
    """Votes at attacked versions of a world, as `judge` asks for them."""

    n_classes = 2

    def __init__(self, world, rng, left):
        self.world, self.rng, self.most, self.left = world, rng, left, left

    def count(self, attacks, chunk):
        self.left -= OWN_CHUNK * len(attacks)
        tallies = []
        for attack in attacks:
            votes = self.world.votes(self.rng, OWN_CHUNK, attack=attack)
            lost = int(votes.against.sum())
            numbers = votes.numbers([axis.sites for axis in self.world.axes])
            tallies.append(OwnTally(np.array([OWN_CHUNK - lost, lost]), numbers))
        return tallies


def symmetric(p):
    return SiteLaw(Fraction(p), 1 - Fraction(p))


def deleting(delete, add):
    return SiteLaw(Fraction(delete), 1 - Fraction(add))


def adding(delete, add):
    return SiteLaw(Fraction(add), 1 - Fraction(delete))


def near_the_edge(rng, laws, sizes, level):
    """A random world whose worst attack of a level is hardly broken: where a wrong argument shows first.

    Patterns become wrong one after the other, those that the attack makes likelier first, more or less, until the
    attack fails with half of its mass.
    """
    world = World(laws, sizes, np.zeros((2,) * sum(sizes)))
    attack = world.attacks(level)[rng.integers(len(world.attacks(level)))]
    clean, attacked = world.masses(), world.masses(attack)
    ratio = attacked / np.maximum(clean, 1e-12)
    order = np.argsort(-ratio * rng.uniform(0.2, 1, len(ratio)))
    sums = np.cumsum(attacked[order])
    wrong = np.zeros(len(ratio))
    wrong[order[: int(np.searchsorted(sums, 0.5)) + 1]] = 1
    return World(laws, sizes, wrong.reshape((2,) * sum(sizes)))
