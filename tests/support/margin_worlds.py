"""Small worlds with more than two classes, in which an attack lets another class draw level with the first one."""

import numpy as np
from evidence_worlds import ValuedWorld

from starcert.math.attacked_sites import sites_by_pool
from starcert.math.ballots import Ballots
from starcert.math.flips import ShownFlips
from starcert.methods.own_votes import AttackVotes, OwnTally
from starcert.sampling.attacked import own_chunk


class ClassWorld(ValuedWorld):
    """Sites of any alphabet, and a base classifier that gives each class with some probability; the class is 0.

    `answers` has the probability of each class at each vector of values, shape (vectors, classes).
    """

    def __init__(self, noise, regions, clean, answers=None):
        super().__init__(noise, regions, clean)
        self.answers = answers

    def answering(self, answers):
        """The same sites, and another base classifier."""
        return ClassWorld(self.noise, self.regions, self.clean, answers)

    def chances(self, values=None):
        """The probability of each class where sites have these values, exactly up to floats."""
        return self.masses(values) @ self.answers

    def beaten(self, values=None):
        """By how much another class is likelier than the first; 0: a tie, which counts as broken."""
        chances = self.chances(values)
        return float(chances[1:].max() - chances[0])

    def worst(self, level):
        return max(map(self.beaten, self.attacks(level)))

    def drawn(self, rng, samples, values=None):
        """Votes, as vectors and classes."""
        vectors = super().drawn(rng, samples, values)
        classes = (self.answers[vectors].cumsum(axis=1) < rng.random(samples)[:, None]).sum(axis=1)
        return vectors, np.minimum(classes, self.answers.shape[1] - 1)

    def votes(self, rng, samples, chunk=64):
        vectors, classes = self.drawn(rng, samples)
        parts = []
        for start in range(0, samples, chunk):
            some, given = vectors[start : start + chunk], classes[start : start + chunk]
            lost = some[given > 0]
            flips = self.vectors[lost] != np.array(self.clean)
            packed = np.packbits(flips, axis=1, bitorder="little")
            if max(self.alphabets) > 2:
                packed = ShownFlips(packed, self.vectors[lost][flips])
            parts.append(Ballots.of_chunk([0], len(self.clean), len(some), given[given > 0][:, None], [packed]))
        return Ballots.joined(parts)


class OwnClassVotes(AttackVotes):
    """Votes at attacked versions of such a world, as `find_verdicts` draws them."""

    def __init__(self, world, rng, most):
        super().__init__(most, n_classes=world.answers.shape[1])
        self.world, self.rng = world, rng

    def count(self, attacks, chunk):
        return [self._tally(attack, len(own_chunk(chunk))) for attack in attacks]

    def _tally(self, attack, size):
        world, values = self.world, list(self.world.clean)
        for rank, site in (divmod(number, len(values)) for number in attack):
            values[site] = [value for value in range(world.alphabets[site]) if value != world.clean[site]][rank]
        vectors, classes = world.drawn(self.rng, size, values)
        flips = world.vectors[vectors[classes > 0]] != np.array(world.clean)
        numbers = np.stack([flips[:, sites].sum(axis=1) for sites in sites_by_pool(world.axes)], axis=1)
        return OwnTally(np.bincount(classes, minlength=self.n_classes), numbers)


def on_the_edge(rng, world, level, n_classes, others=0.5):
    """A base classifier for a world that gives class 0 exactly as often as class 1 at one attack of a level.

    Class 1 has the more votes where all sites of that attack show its values, class 0 elsewhere: so other attacks do
    not stand in the way. All other classes share at most a part `others` of the votes.
    """
    attacks = world.attacks(level)
    attack = attacks[rng.integers(len(attacks))]
    moved = np.flatnonzero(np.array(attack) != world.clean)
    shows = (world.vectors[:, moved] == np.array(attack)[moved]).all(axis=1)
    share = float(world.masses(attack) @ shows)
    rest = rng.uniform(0, others, 2)  # of the votes elsewhere, and of those where the attack shows
    lead = min((1 - rest[0]) * rng.uniform(0.8, 1), (1 - rest[1]) * share / max(1 - share, 1e-12))
    leads = np.array([lead, -lead * (1 - share) / share])
    shares = np.stack([1 - rest + leads, 1 - rest - leads], axis=1) / 2
    split = rng.dirichlet(np.full(n_classes - 2, 3.0))
    answers = np.concatenate([shares, rest[:, None] * split], axis=1)
    return world.answering(answers[shows.astype(int)])


def most_tempting(world, attack, n_classes, others):
    """A base classifier that gives classes 0 and 1 equally often at an attack, and class 1 where that is likeliest.

    From the vectors that the attack makes likelier by the largest factor on: class 1, then the others, which share a
    part `others` of the votes at the attack, then class 0.
    """
    attacked = world.masses(attack)
    order = np.argsort(-attacked / np.maximum(world.masses(), 1e-12), kind="stable")
    ends = np.cumsum(attacked[order])
    bounds = np.array([0, (1 - others) / 2, (1 + others) / 2, 1])
    parts = np.minimum.outer(ends, bounds[1:]) - np.maximum.outer(ends - attacked[order], bounds[:-1])
    parts = np.clip(parts, 1e-300 * np.array([0, 0, 1]), None)
    parts /= parts.sum(axis=1, keepdims=True)
    answers = np.empty((len(order), n_classes))
    answers[order, 0], answers[order, 1] = parts[:, 2], parts[:, 0]
    answers[order, 2:] = parts[:, 1:2] / (n_classes - 2)
    return world.answering(answers)
