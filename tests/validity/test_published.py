"""Beside the published certificate for sparse binary data, sparse_smoothing: equal where that one is sound.

Its formula for one kind of sites is derived anew in `oracles.one_layer_regions`. For two kinds at once it takes
products of cells for sorted, which they are not.
"""

from fractions import Fraction

import numpy as np
import oracles
import pytest
from scipy.stats import binom

import starcert as sc

WORDS, LINKS = sc.Flip(delete=0.6, add=0.01), sc.Flip(delete=0.4, add=0.0005)
"""The noise of its demonstration on Cora-ML, and one of links."""
RADII = [(0, 0), (1, 0), (0, 1), (2, 1), (5, 3), (12, 0), (18, 0), (0, 6), (9, 4)]


def unsorted_rho(noise, radius, p):
    """What is left of p under an attack on two regions, by cells in the order of a product, which is not theirs.

    Cells of each region are filled from those that lose most; their products are taken row after row, as if that were
    the same order. It is how a published joint certificate goes wrong, and is here to be compared with.
    """

    def masses(n, p):
        return binom.pmf(np.arange(n + 1), n, p)

    sides = []
    for region, (deleted, added) in zip(noise, (radius[:2], radius[2:]), strict=True):
        delete, add = noise[region].change(1), noise[region].change(0)
        clean = np.convolve(masses(deleted, delete), masses(added, add))
        attacked = np.convolve(masses(deleted, 1 - add), masses(added, 1 - delete))
        order = np.argsort(attacked / clean, kind="stable")
        sides.append((clean[order], attacked[order]))
    mass, after = (np.outer(one, other).ravel() for one, other in zip(*sides, strict=True))
    before = np.concatenate([[0], np.cumsum(mass)[:-1]])
    taken = np.clip((p - before) / np.where(mass > 0, mass, 1), 0, 1)
    return float((taken * after).sum())


@pytest.mark.parametrize("law", [WORDS, LINKS, sc.Flip(delete=0.7, add=0.4)], ids=repr)
@pytest.mark.parametrize("radius", RADII)
def test_what_is_left_of_p_is_what_is_published(law, radius):
    deleted, added = radius
    regions = oracles.one_layer_regions(added, deleted, Fraction(law.add), Fraction(law.delete))
    assert sum(clean for clean, _ in regions) == sum(attacked for _, attacked in regions) == 1
    for p in (0.5, 0.697, 0.9, 0.99, 0.99995):
        published = float(oracles.rho_lower(regions, Fraction(p)))
        assert sc.rho_lower(sc.Noise(all=law), radius, p) == pytest.approx(published, rel=1e-9, abs=1e-15)
    assert sc.slack(sc.Noise(all=law), radius) == pytest.approx(float(oracles.slack(regions)), rel=1e-9)


def test_the_largest_radii_of_the_demonstration():
    """With all of 100,000 votes it reaches 6 additions or 18 deletions of words, and needs p_A above 0.697 for one."""
    noise = sc.Noise(words=WORDS)
    (bound,) = sc.clopper_pearson(sc.Votes([[100_000, 0]], selection=[[1000, 0]]), alpha=0.01).p_lower
    certified = {radius: sc.slack(noise, radius) > 1 - bound for radius in ((18, 0), (19, 0), (0, 6), (0, 7))}
    assert certified == {(18, 0): True, (19, 0): False, (0, 6): True, (0, 7): False}
    assert 1 - sc.slack(noise, (1, 0)) == pytest.approx(0.697, abs=5e-4)


def test_the_joint_certificate_claims_more_than_there_is():
    noise = sc.Noise(links=sc.Flip(delete=0.59, add=0.37), words=sc.Flip(delete=0.12, add=0.05))
    laws = {region: noise[region] for region in noise}
    assert unsorted_rho(laws, (3, 1, 2, 1), 0.99) > 0.89  # "certified"
    assert sc.rho_lower(noise, (3, 1, 2, 1), 0.99) < 0.12
    cells = oracles.cells(list(noise.product.channels), (3, 1, 2, 1))
    assert float(oracles.rho_lower(cells, Fraction(0.99))) < 0.12
    rng = np.random.default_rng(1)
    for radius in rng.integers(0, 4, size=(20, 4)).tolist():
        assert unsorted_rho(laws, tuple(radius), 0.95) >= sc.rho_lower(noise, tuple(radius), 0.95) - 1e-12
    for radius in ((2, 1, 0, 0), (0, 0, 3, 1)):  # one kind alone: a product with one cell stays in order
        np.testing.assert_allclose(unsorted_rho(laws, radius, 0.95), sc.rho_lower(noise, radius, 0.95), rtol=1e-9)
