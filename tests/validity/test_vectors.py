"""The guarantee itself, for plain vectors: every row of a few columns and every attack on it is listed.

The noise has probabilities in 64ths, so that the chance of each noisy row is a whole number over a power of two: the
smoothed classifier is known exactly, and so is whether a certificate tells the truth.
"""

import numpy as np
import pytest
from asking import how_to
from enumerated import check_every_certificate, check_the_bound_is_attained

import starcert as sc
from starcert.sampling.sampler import sampler
from starcert.sampling.streams import WordStream
from validity.test_laws import World

CASES = {
    "three values": ({"border": sc.Categorical(30 / 64, 3), "centre": sc.Categorical(12 / 64, 3)}, "bccb"),
    "three values, a fixed column": (
        {"border": sc.Categorical(40 / 64, 3), "centre": sc.Categorical(10 / 64, 3)},
        "cb.b",
    ),
    "two and three values": ({"border": sc.Categorical(30 / 64, 3), "centre": sc.Categorical(12 / 64, 2)}, "bccbc"),
    "bits": ({"border": sc.Flip(24 / 64), "centre": sc.Flip(delete=6 / 64, add=18 / 64)}, "bccbbc"),
    "bits, one-way": ({"border": sc.Flip(delete=20 / 64, add=0.0), "centre": sc.Flip(10 / 64)}, "bccbbc"),
}
"""A law for each region, and the region of each column by its first letter."""


class Rows(World):
    """A world of rows: each of its vectors as an object, with its regions of columns."""

    def __init__(self, name: str) -> None:
        laws, letters = CASES[name]
        named = {region[0]: region for region in laws}
        super().__init__(laws, [named.get(letter) for letter in letters])
        sizes = {i: laws[named[letter]].alphabet if letter in named else 3 for i, letter in enumerate(letters)}
        bits, alike = set(sizes.values()) == {2}, len(set(sizes.values())) == 1
        values = sizes[0] if alike else sizes
        self.objects = sc.Bits.rows(self.vectors) if bits else sc.Categories.rows(self.vectors, values=values)
        self.regions = {each: [i for i, letter in enumerate(letters) if letter == each[0]] for each in laws}
        self.number_of = {tuple(vector): number for number, vector in enumerate(self.vectors.tolist())}

    def smoothed(self, answers: np.ndarray) -> sc.SmoothedClassifier:
        """The smoothed classifier whose base answers each row by a table."""

        def table(rows):
            return [answers[self.number_of[tuple(row)]] for row in rows.tolist()]

        base = sc.classifiers.from_callable(table, on="vectors", description=f"table {answers.tolist()}")
        return sc.SmoothedClassifier(base, self.noise, self.regions)


@pytest.fixture(params=CASES, scope="module")
def world(request) -> Rows:
    return Rows(request.param)


def test_an_attacker_finds_in_a_row_what_enumeration_finds(world):
    problem = world.smoothed(np.zeros(len(world.vectors))).problem(world.objects)
    np.testing.assert_array_equal(problem.capacities, world.capacities)


def test_copies_of_a_row_follow_its_law(world):
    smoothed = world.smoothed(np.zeros(len(world.vectors)))
    for number in (3, len(world.vectors) // 2):
        problem = smoothed.problem(world.objects[number : number + 1])
        batch = sampler(problem.sites[0], problem.noise).draw(
            WordStream.of_chunk(1, world.objects[number].key, "estimation", 0), 40_000
        )
        seen = [world.number_of[tuple(row)] for row in batch.vectors().tolist()]
        shares = np.bincount(seen, minlength=len(world.vectors)) / 40_000
        chances = world.weights[number] / world.one
        assert (shares[chances == 0] == 0).all()
        assert (np.abs(shares - chances) < 5 * np.sqrt(chances / 40_000) + 1e-4).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_certified_box_holds_a_row_with_another_label(world, n_classes):
    check_every_certificate(world, n_classes, how_many=8)


def test_the_worst_classifier_attains_the_bound(world):
    check_the_bound_is_attained(world)


@pytest.mark.parametrize(
    ("name", "evidence", "least"),
    [("three values", False, 10), ("bits", False, 10), ("bits", True, 100), ("two and three values", True, 50)],
)
def test_votes_on_rows_are_certified_and_the_certificates_hold(name, evidence, least):
    world = Rows(name)
    rng = np.random.default_rng(2)
    weighed = world.vectors @ rng.permutation(np.arange(1, world.vectors.shape[1] + 1))
    answers = (weighed > np.median(weighed)).astype(int)
    ones = world.weights @ answers
    some = list(range(0, len(world.objects), 5))
    smoothed = world.smoothed(answers)
    options = {"evidence": True, "own_samples": 20_000} if evidence else {}
    found = smoothed.certify([world.objects[i] for i in some], **how_to(samples=5_000, seed=3, **options))
    for i, votes in zip(some, found.votes.counts.tolist(), strict=True):
        assert abs(votes[1] / 5_000 - ones[i] / world.one) < 5 * 0.5 / 5_000**0.5
    covered = 0
    for i, one in zip(some, found, strict=True):
        for other in np.flatnonzero(world.allowed[i]):
            holds = not one.abstained and one.certified(tuple(world.attacks[i, other].tolist()))
            assert not holds or one.label == (2 * ones[other] > world.one)
            covered += holds and other != i
    assert covered >= least
