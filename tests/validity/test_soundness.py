"""The guarantee itself, on every graph with four nodes.

Six node pairs make 64 graphs. With flip probabilities k/64, the chance of each of them after the noise is a whole
number over 2³⁶, so the smoothed classifier is known exactly, and so is whether a certificate tells the truth.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import starcert as sc
from starcert.math.confidence import Bounds

SITES = list(combinations(range(4), 2))
GRAPHS = np.array([[g >> i & 1 for i in range(6)] for g in range(64)])
ONE = 2**36

# Each case: a law for every region in 64ths (p, or delete and add), and the region of each of the six sites.
CASES = {
    "isotropic": ({"all": 5}, ["all"] * 6),
    "two regions": ({"a": 2, "b": 29}, ["a", "a", "b", "a", "b", "b"]),
    "four regions and fixed sites": ({"a": 3, "b": 12, "c": 20, "d": 31}, ["a", "b", "c", "d", None, None]),
    "sparsity-aware": ({"all": (3, 13)}, ["all"] * 6),
    "sparsity-aware in two regions": ({"a": (2, 20), "b": (15, 9)}, ["a", "b", "a", "b", "a", "b"]),
    "one-way": ({"a": (24, 0), "b": (0, 10)}, ["a", "a", "a", "b", "b", None]),
    "mirrored and free": ({"a": 60, "b": 32}, ["a", "a", "a", "a", "b", "b"]),
    "never moving": ({"a": 0, "b": 9}, ["a", "b", "b", "b", "b", "b"]),
}


class World:
    """One noise on one partition: every chance and every attack, exactly."""

    def __init__(self, laws: dict, regions: list) -> None:
        flips = {r: law if isinstance(law, tuple) else (law, law) for r, law in laws.items()}
        self.noise = sc.Noise(
            {
                r: sc.Flip(delete=law[0] / 64, add=law[1] / 64) if isinstance(law, tuple) else sc.Flip(law / 64)
                for r, law in laws.items()
            }
        )
        moved = GRAPHS[:, None, :] != GRAPHS[None, :, :]
        self.weights = np.ones((64, 64), dtype=np.int64)
        self.attacks = np.zeros((64, 64, len(self.noise.axes)), dtype=int)
        self.allowed = np.ones((64, 64), dtype=bool)
        axes = list(self.noise.axes)
        for site, region in enumerate(regions):
            delete, add = flips.get(region, (0, 0))
            flip = np.where(GRAPHS[:, site] == 1, delete, add)[:, None]
            self.weights *= np.where(moved[:, :, site], flip, 64 - flip)
            if region is None:
                self.allowed &= ~moved[:, :, site]
            elif region in axes:
                self.attacks[:, :, axes.index(region)] += moved[:, :, site]
            else:
                for name, bit in ((".delete", 1), (".add", 0)):
                    self.attacks[:, :, axes.index(region + name)] += moved[:, :, site] & (GRAPHS[:, None, site] == bit)
        assert (self.weights.sum(axis=1) == ONE).all()
        sizes = {region: regions.count(region) for region in laws}
        self.limits = {axis: sizes[axis.partition(".")[0]] for axis in axes}

    def votes(self, answers: np.ndarray, n_classes: int) -> np.ndarray:
        """The smoothed probabilities of all 64 graphs, times 2³⁶."""
        return self.weights @ (answers[:, None] == np.arange(n_classes))


@pytest.fixture(params=CASES, scope="module")
def world(request) -> World:
    return World(*CASES[request.param])


def classifiers(world: World, rng: np.random.Generator, n_classes: int, how_many: int):
    """Random ones, and the worst ones: those that put the likeliest graphs after an attack into the other class."""
    for i in range(how_many):
        if i % 2 and n_classes == 2:
            clean, attacked = rng.integers(64, size=2)
            ratio = (world.weights[attacked] + 1e-9) / (world.weights[clean] + 1e-9)
            answers = np.zeros(64, dtype=int)
            answers[np.argsort(ratio)[::-1][: rng.integers(1, 40)]] = 1
            yield answers
        else:
            yield rng.choice(n_classes, size=64, p=rng.dirichlet(np.ones(n_classes)))


def check_every_certificate(world: World, n_classes: int, how_many: int) -> None:
    rng = np.random.default_rng(n_classes)
    certified_attacks = tight = 0
    for answers in classifiers(world, rng, n_classes, how_many):
        votes = world.votes(answers, n_classes)
        ranked = np.sort(votes, axis=1)
        labels = votes.argmax(axis=1)
        # Whole numbers over 2³⁶ are floats: these bounds are the truth, not estimates of it.
        bounds = Bounds(labels, (ONE - ranked[:, -1]) / ONE, ranked[:, -2] / ONE, None, n_classes)
        unique = ranked[:, -1] > ranked[:, -2]
        for x, certificate in enumerate(sc.certify(bounds, world.noise, max_radius=world.limits)):
            assert certificate.abstained != unique[x]
            maximal = np.array(certificate.frontier.radii, dtype=int).reshape(-1, len(world.noise.axes))
            covered = (world.attacks[x][:, None, :] <= maximal[None]).all(axis=2).any(axis=1) & world.allowed[x]
            wrong = covered & ~(unique & (labels == labels[x]))
            assert not wrong.any(), f"graph {x} is certified, but {np.flatnonzero(wrong)[0]} has another label"
            certified_attacks += covered.sum()
            tight += (~covered & world.allowed[x] & (labels != labels[x])).sum()
    assert certified_attacks > 64 * how_many / 2  # the clean graphs alone would be trivial
    assert tight > 0  # some attacks do change the answer, and are not certified


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_no_certified_box_holds_a_graph_with_another_label(world, n_classes):
    check_every_certificate(world, n_classes, how_many=12)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3, 5, 10])
def test_no_certified_box_holds_a_graph_with_another_label_at_length(world, n_classes):
    check_every_certificate(world, n_classes, how_many=400)


def test_the_worst_classifier_attains_rho_lower(world):
    """Fill graph by graph in ascending ratio; where that stops, ρ_low must stand, neither above nor below."""
    rng = np.random.default_rng(1)
    for clean, attacked in rng.integers(64, size=(40, 2)):
        if not world.allowed[clean, attacked]:
            continue
        radius = tuple(world.attacks[clean, attacked].tolist())
        p, q = world.weights[clean], world.weights[attacked]
        order = sorted(range(64), key=lambda z: (p[z] == 0, Fraction(int(q[z]), int(p[z])) if p[z] else 0))
        for size in rng.integers(1, 64, size=6):
            accepted = order[:size]
            clean_mass, attacked_mass = int(p[accepted].sum()) / ONE, int(q[accepted].sum()) / ONE
            if p[order[size - 1]]:
                assert sc.rho_lower(world.noise, radius, clean_mass) == pytest.approx(attacked_mass, abs=1e-12)
                assert sc.rho_upper(world.noise, radius, 1 - clean_mass) == pytest.approx(1 - attacked_mass, abs=1e-12)


def test_slack_is_attained_by_the_worst_classifier(world):
    """With less than slack against it, a class keeps its majority under every test; with slack, it can lose it."""
    rng = np.random.default_rng(2)
    for clean, attacked in rng.integers(64, size=(40, 2)):
        if not world.allowed[clean, attacked]:
            continue
        p, q = (world.weights[g].astype(float) / ONE for g in (clean, attacked))
        order = sorted(range(64), key=lambda z: -q[z] / p[z] if p[z] else -np.inf)
        reached = cost = 0.0
        for z in order:
            part = min(1.0, (0.5 - reached) / q[z]) if q[z] else 0.0
            reached, cost = reached + part * q[z], cost + part * p[z]
        assert sc.slack(world.noise, tuple(world.attacks[clean, attacked].tolist())) == pytest.approx(cost, abs=1e-12)
