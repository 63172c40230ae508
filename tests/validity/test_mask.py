"""The guarantee of hidden sites: every row or text of a whole small world, and every attack with every content.

A base classifier is a table over all masked copies, so the smoothed one is known exactly. The attacker writes any
content into any sites. Rules that are broken on purpose claim what is false.
"""

from fractions import Fraction
from functools import reduce
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import beta

import starcert as sc

HIDDEN_PROBABILITIES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)
SIZES = {"tables": 3, "texts": 4}
CONTENTS = 3
ALPHA = 0.2


class World:
    """All objects of so many sites, and a base classifier: one class for each masked copy (0 is a hidden site)."""

    def __init__(self, n_sites: int, n_classes: int, p: float, seed: int) -> None:
        self.n_sites, self.n_classes, self.p = n_sites, n_classes, p
        rng = np.random.default_rng(seed)
        self.copies = np.array(list(product(range(CONTENTS + 1), repeat=n_sites)))
        weights = rng.normal(size=(n_sites, CONTENTS + 1, n_classes)) * rng.choice([0.2, 1, 5])
        weights[:, 0] += rng.choice([0, 1.5]) * np.eye(n_classes)[0]  # often one class leads where all is hidden
        scores = sum(weights[site, self.copies[:, site]] for site in range(n_sites))
        self.table = (scores + rng.normal(size=scores.shape) * rng.choice([0, 1])).argmax(axis=1)
        self.objects = np.array(list(product(range(1, CONTENTS + 1), repeat=n_sites)))

    def law(self, chances) -> np.ndarray:
        """The chance of each copy of each object, where chances[site, content] hide a site."""
        contents, shown = np.arange(1, CONTENTS + 1)[:, None], np.arange(CONTENTS + 1)[None]
        each = [
            np.where(shown == 0, hide[:, None], (1 - hide[:, None]) * (shown == contents)) for hide in chances
        ]  # content × what a copy shows
        return reduce(np.kron, each)

    @property
    def masked(self) -> np.ndarray:
        return self.law(np.full((self.n_sites, CONTENTS), self.p))

    def probabilities(self, law: np.ndarray) -> np.ndarray:
        """Of each class at each object."""
        return np.stack([law @ (self.table == each) for each in range(self.n_classes)], axis=1)

    def distance(self) -> np.ndarray:
        """In how many sites two objects differ."""
        return (self.objects[:, None] != self.objects[None]).sum(axis=2)


def worlds(n_sites, seeds):
    for n_classes, p, seed in product((2, 3), HIDDEN_PROBABILITIES, range(seeds)):
        yield World(n_sites, n_classes, p, seed)


def wrong(world: World, claimed: np.ndarray, truth: np.ndarray) -> int:
    """How many claims of a class and a size, shape (objects, sizes), some attack refutes: a tie is no answer."""
    ordered = np.sort(truth, axis=1)
    answers = np.where(ordered[:, -1] > ordered[:, -2] + 1e-12, truth.argmax(axis=1), -1)
    near, found = world.distance(), 0
    for size in range(claimed.shape[1]):
        within = near <= size
        changed = (within & (answers[None] != truth.argmax(axis=1)[:, None])).any(axis=1)
        found += int((claimed[:, size] & changed).sum())
    return found


def claims(world: World, shares: np.ndarray, forgiven) -> np.ndarray:
    """For each object and size whether the two leading shares are certified: `forgiven` is what π leaves out."""
    ordered = np.sort(shares, axis=1)
    sizes = np.arange(world.n_sites + 1)
    lost = np.array([forgiven(world.p**size) for size in sizes])
    if world.n_classes == 2:
        return 1 - ordered[:, -1:] + lost < 0.5 - 1e-12
    return (ordered[:, -1:] - ordered[:, -2:-1] > 2 * lost + 1e-12) | (1 - ordered[:, -1:] + lost < 0.5 - 1e-12)


@pytest.mark.parametrize("n_sites", SIZES.values(), ids=SIZES)
def test_no_attack_with_any_content_refutes_the_theorem(n_sites):
    claimed = 0
    for world in worlds(n_sites, 12):
        truth = world.probabilities(world.masked)
        found = claims(world, truth, lambda kept: 1 - kept)
        assert not wrong(world, found, truth)
        claimed += found[:, 1:].sum()
    assert claimed > 500


@pytest.mark.parametrize("n_sites", SIZES.values(), ids=SIZES)
def test_forgetting_what_is_shown_claims_what_is_false(n_sites):
    refuted = 0
    for world in worlds(n_sites, 12):
        truth = world.probabilities(world.masked)
        refuted += wrong(world, claims(world, truth, lambda kept: 0.0), truth)
    assert refuted > 100


def test_half_in_place_of_the_limit_claims_what_is_false():
    """Votes that are lost with all of S hidden must stay below π − ½, not below ½."""
    refuted = 0
    for world in worlds(3, 12):
        if world.n_classes > 2:
            continue
        truth, law = world.probabilities(world.masked), world.masked
        for size in (1, 2):
            certified = np.ones(len(truth), dtype=bool)
            for sites in combinations(range(3), size):
                hidden = (world.copies[:, sites] == 0).all(axis=1)
                against = world.table[None] != truth.argmax(axis=1)[:, None]
                certified &= (law * (hidden & against)).sum(axis=1) < 0.5
            found = np.zeros((len(truth), 4), dtype=bool)
            found[:, size] = certified
            refuted += wrong(world, found, truth)
    assert refuted > 50


def test_regions_read_off_the_contents_claim_what_is_false():
    """Where the first content is a "stop word" that is never hidden, an attack may write it everywhere."""
    refuted = 0
    for world in worlds(3, 12):
        chances = np.full((3, CONTENTS), world.p)
        chances[:, 0] = 0
        truth = world.probabilities(world.law(chances))
        refuted += wrong(world, claims(world, truth, lambda kept: 1 - kept), truth)
    assert refuted > 5


def test_claims_from_votes_are_false_no_more_often_than_alpha():
    rng, false, total = np.random.default_rng(5), 0, 0
    for world in worlds(3, 4):
        truth = world.probabilities(world.masked)
        n, label = 60, truth.argmax(axis=1)
        for row, probabilities in enumerate(truth):
            votes = rng.multinomial(n, probabilities / probabilities.sum(), size=20)[:, label[row]]
            lower = np.where(votes > 0, beta.ppf(ALPHA, votes, n - votes + 1), 0.0)
            shares = np.stack([np.tile(1 - lower[:, None], 1)[:, 0], lower], axis=1)
            for share in shares:
                found = np.zeros((len(truth), world.n_sites + 1), dtype=bool)
                two = World.__new__(World)
                two.__dict__ = {**vars(world), "n_classes": 2}
                found[row] = (claims(two, share[None], lambda kept: 1 - kept) & (share[1] > 0.5))[0]
                false += wrong(world, found, truth) > 0
                total += 1
    assert total > 1000
    assert false / total < ALPHA


@pytest.mark.parametrize("p", HIDDEN_PROBABILITIES)
def test_the_engine_is_the_theorem(p):
    noise = sc.Noise(a=sc.Mask(p), b=sc.Mask(0.5 + p / 2))
    for first, second in product(range(4), range(4)):
        kept = Fraction(p) ** first * Fraction(0.5 + p / 2) ** second
        assert sc.slack(noise, (first, second)) == pytest.approx(max(0.0, float(kept - Fraction(1, 2))), rel=1e-9)
        for q in (0.0, 0.01, 0.3, 0.6, 0.999):
            assert sc.rho_upper(noise, (first, second), q) == pytest.approx(
                min(q, float(kept)) + 1 - float(kept), rel=1e-9, abs=1e-12
            )
            assert sc.rho_lower(noise, (first, second), q) == pytest.approx(
                max(0.0, q - 1 + float(kept)), rel=1e-6, abs=1e-9
            )


@pytest.mark.parametrize(("n_classes", "form"), [(2, "rows"), (3, "rows"), (2, "texts"), (3, "texts")])
def test_certificates_of_whole_worlds_hold(n_classes, form):
    """From end to end: votes on rows of a table, and on texts."""
    certified = 0
    for seed in range(3):
        world = World(3, n_classes, 0.8, seed)
        number = {tuple(each): place for place, each in enumerate(world.copies.tolist())}

        def classes(rows, world=world, number=number):
            coded = np.nan_to_num(np.asarray(rows, dtype=float)).astype(int)
            return world.table[[number[tuple(row)] for row in coded.tolist()]]

        def of_texts(texts, classes=classes):
            return classes([[0 if word == "[MASK]" else int(word) for word in text] for text in texts])

        if form == "rows":
            objects = sc.TableRow.rows(world.objects.astype(float))
        else:
            objects = [sc.Tokens(map(str, row)) for row in world.objects.tolist()]
        base = sc.classifiers.from_callable(classes if form == "rows" else of_texts, on="vectors", n_classes=n_classes)
        smoothed = sc.SmoothedClassifier(base, sc.Noise(sites=sc.Mask(world.p)))
        found = smoothed.certify(objects, samples=2000, seed=seed, alpha=0.001, threat="flips:2")
        truth = world.probabilities(world.masked)
        for row, one in enumerate(found):
            for size in (1, 2):
                if one.abstained or one.verdict(size) != "certified":
                    continue
                certified += 1
                near = world.distance()[row] <= size
                assert (truth[near].argmax(axis=1) == one.label).all()
    assert certified > 10
