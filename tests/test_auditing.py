"""The audit of a run finds answers that depend on company, as rare as it says."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import starcert as sc
import worlds
from starcert.auditing import COPIES, AuditSize
from starcert.classifiers.base import Classifier
from starcert.core.audit import Audit, found_share
from starcert.errors import ClassifierError

BITS = sc.Bits.rows(np.zeros((1, 40), dtype=np.int64))
EVEN = sc.Noise(all=0.5)


class Rare(Classifier):
    """Answers 0; on one copy in so many, something else if it is in the company that `wrong` describes."""

    n_classes, description, call_cost = 2, "rarely wrong", 0

    def __init__(self, one_in: int, wrong=lambda n: np.full(n, n > 1)) -> None:
        self.one_in, self.wrong = one_in, wrong

    def marked(self, copies):
        places = 2 ** np.arange(copies.values.shape[1] % 63, dtype=np.int64)
        return (copies.values[:, : len(places)] @ places) * 2654435761 % 2**32 % self.one_in == 0

    def classify(self, copies):
        return (self.marked(copies) & self.wrong(len(copies))).astype(int)


def is_found(base, *, samples=20_000, seed, graphs=BITS, noise=EVEN, **more) -> bool:
    try:
        sc.SmoothedClassifier(base, noise).vote(graphs, samples=samples, seed=seed, **more)
    except ClassifierError:
        return True
    return False


def test_a_rare_dependence_is_found_with_the_promised_probability():
    one_in, seeds = 500, 200
    audit = sc.SmoothedClassifier(Rare(2**31), EVEN).vote(BITS, samples=20_000, seed=0).audit
    asked = audit.clean_alone + audit.attacked_alone
    assert asked > 400
    chance = 1 - (1 - 1 / one_in) ** (asked + 8)  # eight more are asked alone before votes count
    found = sum(is_found(Rare(one_in), seed=seed) for seed in range(seeds))
    assert abs(found - seeds * chance) < 4 * np.sqrt(seeds * chance * (1 - chance))
    assert 0.3 < chance < 0.95


@pytest.mark.parametrize(
    "wrong",
    [
        lambda n: np.arange(n) % 2 == 1,  # by the place in the batch
        lambda n: np.full(n, n > 1000),  # by its size
    ],
)
def test_a_dependence_on_the_place_or_the_batch_is_found_in_other_company(wrong):
    class Expensive(Rare):
        call_cost = 2_000  # so that next to nothing is asked alone

    found = [is_found(Expensive(200, wrong), samples=100_000, batch_size=4096, seed=seed) for seed in range(20)]
    assert sum(found) >= 15


# ---- a branch that three sites open: rare on the clean graph, frequent at an attacked one

GRAPH = sc.Graph(6, [(3, 4), (4, 5)])
WEAK = sc.Noise(all=0.06)
THREE = ((0, 1), (0, 2), (1, 2))


class Branch(Classifier):
    """Answers 1 where three pairs are edges, and forgets it in company."""

    n_classes, description = 2, "three pairs"

    def truth(self, graphs):
        adjacency = graphs.adjacency()
        return np.stack([adjacency[:, u, v] for u, v in THREE]).all(axis=0).astype(int)

    def classify(self, graphs):
        return self.truth(graphs) if len(graphs) == 1 else np.zeros(len(graphs), dtype=int)


class Shortcut(Branch):
    """The same, but by a shortcut of its own: written out, it is right in any company."""

    call_cost = 8192

    @property
    def as_written(self):
        plain = Branch()
        plain.classify = plain.truth
        return plain


@pytest.mark.parametrize("base", [Branch(), Shortcut()])
def test_a_branch_that_is_rare_on_the_clean_graph_is_found_at_attacked_ones(base):
    certified = 0
    for seed in range(12):
        try:
            result = sc.SmoothedClassifier(base, WEAK).certify([GRAPH], samples=100_000, seed=seed)
        except ClassifierError as error:
            assert "of graph 0 attacked on" in str(error) or "noisy copy" in str(error)
        else:
            certified += result[0].certified(3)
    assert certified <= 2
