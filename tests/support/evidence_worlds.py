"""Small worlds in which everything about a smoothed classifier is known: every noisy copy is enumerated."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product

import numpy as np

from starcert.math.attacked_sites import NO_AXIS, AttackAxis, SiteLaw, sites_by_pool
from starcert.math.ballots import Ballots
from starcert.math.flips import ShownFlips
from starcert.methods.own_votes import AttackVotes, OwnTally
from starcert.objects.noise import attack_axes_of_values
from starcert.sampling.attacked import own_chunk


@dataclass(frozen=True)
class Votes:
    """Votes as `FlipEvidence` asks for them, kept in the plainest way there is."""

    samples: np.ndarray
    kept: np.ndarray
    flips: np.ndarray
    complete: bool = True

    sites = None

    def __len__(self):
        return len(self.flips)

    @property
    def n_copies(self):
        return int(self.samples.sum())

    @property
    def answers(self):
        """What votes against the class are for: there is one other."""
        return np.ones((len(self.flips), 1), dtype=np.int64)

    def first(self, chunks):
        """The votes of the first chunks."""
        kept = self.kept[:chunks]
        return Votes(self.samples[:chunks], kept, self.flips[: kept.sum()], self.complete)

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
        wrong: shape (2,) * sites: whether a copy with these flips from the clean object is not given the class, or how
            often it is not.
    """

    laws: tuple[SiteLaw, ...]
    sizes: tuple[int, ...]
    wrong: np.ndarray

    @property
    def axes(self):
        ends = np.cumsum([0, *self.sizes])
        return [AttackAxis(law, np.arange(*ends[i : i + 2])) for i, law in enumerate(self.laws)]

    @cached_property
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
        wrong = rng.random(samples) < self.wrong.reshape(-1)[drawn]
        sizes = np.array([min(chunk, samples - start) for start in range(0, samples, chunk)])
        against = np.add.reduceat(wrong, np.cumsum([0, *sizes[:-1]]))
        return Votes(sizes, against, self.patterns[drawn[wrong]])


class OwnVotesOf(AttackVotes):
    """Votes at attacked versions of a world, as `find_verdicts` draws them."""

    def __init__(self, world, rng, most):
        super().__init__(most, n_classes=2)
        self.world, self.rng = world, rng

    def count(self, attacks, chunk):
        tallies, size = [], len(own_chunk(chunk))
        for attack in attacks:
            votes = self.world.votes(self.rng, size, attack=attack)
            lost = len(votes)
            numbers = votes.numbers([axis.sites for axis in self.world.axes])
            tallies.append(OwnTally(np.array([size - lost, lost]), numbers))
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


def at_the_edge(rng, laws, sizes, level):
    """A world where one attack of a level fails with exactly one half, and the others do not stand in its way.

    Copies fail often where all sites of that attack flipped, and seldom elsewhere.
    """
    world = World(laws, sizes, np.zeros((2,) * sum(sizes)))
    attack = world.attacks(level)[rng.integers(len(world.attacks(level)))]
    flipped = world.patterns[:, attack].all(axis=1)
    share = float(world.masses(attack) @ flipped)
    seldom = rng.uniform(0, 0.05) + (max(0.0, 0.5 - share) / (1 - share) if share < 1 else 0)
    often = (0.5 - seldom * (1 - share)) / share
    return World(laws, sizes, np.where(flipped, often, seldom).reshape((2,) * sum(sizes)))


class ValuedWorld:
    """Sites of any alphabet under a noise, and a base classifier that is wrong or right on each vector of values.

    Args:
        noise: the noise.
        regions: the region of each site.
        clean: the clean value of each site.
        wrong: whether each vector is not given the class, in the order of `itertools.product`.
    """

    def __init__(self, noise, regions, clean, wrong=None):
        self.noise, self.regions, self.clean = noise, regions, tuple(clean)
        self.alphabets = [noise[region].alphabet for region in regions]
        self.vectors = np.array(list(product(*map(range, self.alphabets))), dtype=np.uint8)
        self.wrong = np.zeros(len(self.vectors)) if wrong is None else wrong

    def being(self, wrong):
        """The same sites, and another base classifier."""
        return ValuedWorld(self.noise, self.regions, self.clean, wrong)

    @property
    def axes(self):
        """The axes as the code under test makes them."""
        numbers = np.full(len(self.clean), NO_AXIS, dtype=np.uint16)
        for site, (region, value) in enumerate(zip(self.regions, self.clean, strict=True)):
            own = [i for i, (of, moves) in enumerate(self._moves()) if of == region and value in {x for x, _ in moves}]
            numbers[site] = own[0]
        return attack_axes_of_values(self.noise, numbers, np.array(self.clean, dtype=np.uint8))

    def _moves(self):
        """Of each axis its region and its moves."""
        return [(region, moves) for region in self.noise for moves in self.noise[region].moves]

    def masses(self, values=None):
        """The probability of each vector where sites have these values."""
        values = self.clean if values is None else values
        chances = [
            np.array([float(p) for p in self.noise[region].transitions(value)])
            for region, value in zip(self.regions, values, strict=True)
        ]
        return np.prod([chance[self.vectors[:, site]] for site, chance in enumerate(chances)], axis=0)

    def failure(self, values=None):
        return float(self.masses(values) @ self.wrong)

    def attacks(self, level):
        """All vectors that attacks of a level make of the clean one."""
        found = []
        for vector in self.vectors.tolist():
            counts, allowed = [0] * len(level), True
            for region, before, after in zip(self.regions, self.clean, vector, strict=True):
                if before != after:
                    on = [i for i, (of, moves) in enumerate(self._moves()) if of == region and (before, after) in moves]
                    allowed &= bool(on)
                    for axis in on:
                        counts[axis] += 1
            if allowed and tuple(counts) == tuple(level):
                found.append(tuple(vector))
        return found

    def worst(self, level):
        return max(map(self.failure, self.attacks(level)), default=0.0)

    def attacked(self, sites, values):
        """The vector that an attack makes of the clean one, as `FoundAttack` has it; None flips a bit."""
        vector = list(self.clean)
        for site, value in zip(sites, values or [None] * len(sites), strict=True):
            vector[site] = 1 - vector[site] if value is None else value
        return tuple(vector)

    def drawn(self, rng, samples, values=None):
        return rng.choice(len(self.vectors), size=samples, p=self.masses(values))

    def votes(self, rng, samples, chunk=64):
        return self.record(self.drawn(rng, samples), chunk)

    def record(self, drawn, chunk=64):
        """The record of votes on these vectors."""
        parts = []
        for start in range(0, len(drawn), chunk):
            some = drawn[start : start + chunk]
            lost = some[self.wrong[some] > 0]
            flips = self.vectors[lost] != np.array(self.clean)
            given = np.packbits(flips, axis=1, bitorder="little")
            if max(self.alphabets) > 2:
                given = ShownFlips(given, self.vectors[lost][flips])
            parts.append(Ballots.of_chunk([0], len(self.clean), len(some), np.ones((len(lost), 1), dtype=int), [given]))
        return Ballots.joined(parts)


class OwnValuedVotes(AttackVotes):
    """Votes at attacked versions of a valued world, as `find_verdicts` draws them."""

    def __init__(self, world, rng, most):
        super().__init__(most, n_classes=2)
        self.world, self.rng = world, rng

    def count(self, attacks, chunk):
        return [self._tally(attack, len(own_chunk(chunk))) for attack in attacks]

    def _tally(self, attack, size):
        world, values = self.world, list(self.world.clean)
        for rank, site in (divmod(number, len(values)) for number in attack):
            others = [value for value in range(world.alphabets[site]) if value != world.clean[site]]
            values[site] = others[rank]
        drawn = world.drawn(self.rng, size, values)
        lost = drawn[world.wrong[drawn] > 0]
        flips = world.vectors[lost] != np.array(world.clean)
        numbers = np.stack([flips[:, sites].sum(axis=1) for sites in sites_by_pool(world.axes)], axis=1)
        return OwnTally(np.array([size - len(lost), len(lost)]), numbers)


def valued_near_the_edge(rng, world, level):
    """A base classifier for a valued world whose worst attack of a level is hardly broken; see `near_the_edge`."""
    attacks = world.attacks(level)
    clean, attacked = world.masses(), world.masses(attacks[rng.integers(len(attacks))])
    ratio = attacked / np.maximum(clean, 1e-12)
    order = np.argsort(-ratio * rng.uniform(0.2, 1, len(ratio)))
    wrong = np.zeros(len(ratio))
    wrong[order[: int(np.searchsorted(np.cumsum(attacked[order]), 0.5)) + 1]] = 1
    return world.being(wrong)
