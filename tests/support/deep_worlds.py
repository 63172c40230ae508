"""Deep votes in small worlds: every copy is enumerated, and drawn with exactly the chance that a law gives it."""

import numpy as np

from starcert.math.deep import UNIT, DeepLaw, Pools, masses
from starcert.math.deep_votes import DeepVotes


def numbers_of(world):
    """How many sites of each pool flip in each vector of a world."""
    flips = world.vectors != np.array(world.clean)
    return np.stack([flips[:, sites].sum(axis=1) for sites in Pools(world.axes).sites], axis=1)


def chances(world, law):
    """The chance of each vector by a law: sites that flip are uniform given their numbers, as in the clean object."""
    numbers, found = numbers_of(world), np.zeros(len(world.vectors))
    clean = [float(mass.mid()) for mass in masses(Pools(world.axes), (0,) * len(world.axes), 0, law.drawn)]
    for row, weight, mass in zip(law.drawn, law.weights, clean, strict=True):
        here = (numbers == row).all(axis=1)
        found[here] = world.masses()[here] * (int(weight) / UNIT / mass)
    return found


def asked_by(world, law):
    """The numbers of the vectors that a law asks."""
    asked = {tuple(row) for row in law.asked.tolist()}
    return np.array([i for i, row in enumerate(numbers_of(world).tolist()) if tuple(row) in asked], dtype=int)


def deep_votes(world, law, drawn):
    """All that is asked by a law, and the vectors drawn."""
    asked = asked_by(world, law)
    return DeepVotes(
        world.axes, law, world.record(asked) if len(asked) else None, world.record(drawn) if len(drawn) else None
    )


def any_law(rng, world, *, asking=True):
    """A law at random: some numbers are asked, others drawn, and the rest is left out."""
    possible = np.unique(numbers_of(world)[world.masses() > 0], axis=0)
    fate = rng.choice(3, size=len(possible), p=[0.25, 0.65, 0.1] if asking else [0, 0.9, 0.1])
    if not (fate == 1).any():
        fate[rng.integers(len(fate))] = 1
    drawn = possible[fate == 1]
    weights = np.round(rng.dirichlet(np.ones(len(drawn))) * 2**20 + 1).astype(np.int64) * 2**40
    weights[-1] += UNIT - weights.sum()
    if weights[-1] <= 0:
        return any_law(rng, world, asking=asking)
    return DeepLaw(possible[fate == 0], drawn, weights)
