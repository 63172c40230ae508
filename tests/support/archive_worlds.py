"""Archives for the tests: two classes, three classes, four regions, anchored graphs, graphs that abstain."""

from dataclasses import replace

import numpy as np

import starcert as sc
from starcert.files import Archive

FOUR_REGIONS = sc.Noise(a=0.05, b=sc.Flip(delete=0.1, add=0.3), c=0.2, d=0.4)


def two_classes() -> Archive:
    votes = sc.Votes([[9_990, 10], [1_000, 9_000], [5_020, 4_980]], selection=[[99, 1], [10, 90], [60, 40]])
    result = sc.certify(
        sc.clopper_pearson(votes, alpha=0.001),
        sc.Noise(motif=0.1, random=0.3),
        capacity=[(10, 28), (3, 45), (6, 6)],
        anchored=["", "The rule for the regions reads the graph's own edges.", ""],
    )
    return Archive.from_result(
        result,
        names=["benzene", "<b>\x1b[31mnot bold\ud800", "naïve ☃"],
        labels=[0, None, 1],
        class_names=["safe", "toxic"],
        settings={"model": "model.py:load", "samples": 10_000, "nested": {"x": [1.5, None, True]}},
    )


def three_classes(selection: bool = True, all_classes: bool = False, **spent: str) -> Archive:
    """The first graph is decided by the multi-class margin, the second by the two-class one.

    With `all_classes`, alpha is spent as version 0.1.0 did.
    """
    counts = [[6_000, 2_500, 1_500], [9_500, 500, 0]]
    votes = sc.Votes(counts, selection=[[60, 25, 15], [95, 5, 0]] if selection else None)
    bounds = sc.clopper_pearson(votes, **spent)
    archive = Archive.from_result(sc.certify(bounds, sc.Noise(a=0.4, b=0.45), max_radius=(9, 9)))
    return replace(archive, all_classes=all_classes)


def four_regions() -> Archive:
    votes = sc.Votes([[9_999, 1], [9_000, 1_000]], selection=[[100, 0], [90, 10]])
    return Archive.from_result(sc.certify(sc.clopper_pearson(votes), FOUR_REGIONS, max_radius=(3, 3, 3, 4, 6)))


def random_votes(n_graphs: int, n_classes: int, seed: int) -> sc.Votes:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([0.4] * n_classes, n_graphs)
    return sc.Votes(rng.multinomial(1_000, shares), selection=rng.multinomial(100, shares))
