"""The certificate engine next to the straightforward way: enumerate the cells, sort them, cumulate in Python.

Times are the best of several runs after warm-up, each on a fresh engine, so that nothing is remembered from the run
before. The straightforward way is timed on a share of the work where the whole would take minutes, and scaled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import product

import numpy as np

import starcert as sc
from starcert.claims.slack import slacks_of, tradeoffs_of
from starcert.math.frontier import Frontiers, find_frontier
from starcert.math.margins import Slacks, TwoClass
from starcert.math.search import find_reaches
from starcert.math.search import search as search_box
from table import Table, Work, shown

NOISE = sc.Noise(motif=0.02, random=0.45)
BOX = (35, 45)


def best(work: Callable[[], object], repetitions: int = 5) -> float:
    """The shortest of several runs in seconds, each with nothing remembered."""
    times = []
    for _ in range(repetitions):
        slacks_of.cache_clear()
        tradeoffs_of.cache_clear()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def straightforward_slack(p: list[float], radius: tuple[int, ...]) -> float:
    """One slack as one would write it down: every cell, sorted by ratio, filled one after the other."""

    def binomial(n: int, k: int, q: float) -> float:
        return math.comb(n, k) * q**k * (1 - q) ** (n - k)

    cells = []
    for counts in product(*(range(r + 1) for r in radius)):
        clean = math.prod(binomial(n, k, q) for n, k, q in zip(radius, counts, p, strict=True))
        attacked = math.prod(binomial(n, k, 1 - q) for n, k, q in zip(radius, counts, p, strict=True))
        cells.append((attacked / clean, clean, attacked))
    cells.sort()
    needed = filled = 0.0
    for _, clean, attacked in cells:
        if filled + attacked >= 0.5:
            needed += clean * (0.5 - filled) / attacked
            break
        needed, filled = needed + clean, filled + attacked
    return 1 - needed


def straightforward_seconds(p: list[float], radii: list[tuple[int, ...]], share: int = 1) -> float:
    """Seconds for all of `radii`, measured on every `share`-th of them."""
    start = time.perf_counter()
    for radius in radii[::share]:
        straightforward_slack(p, radius)
    return (time.perf_counter() - start) * len(radii) / len(radii[::share])


def row(table: Table, name: str, seconds: float, target: float, plain: float | None = None) -> None:
    table.add(Work(name, seconds, plain, target=shown(target)))


def large_frontiers(table: Table) -> None:
    """More axes, and larger regions, than anybody would enumerate."""
    seven = [0.02, 0.1, 0.2, 0.3, 0.4, 0.45, 0.48]
    mixed = {"a": sc.Flip(delete=0.4, add=0.02), "b": sc.Flip(delete=0.3, add=0.1), "c": 0.2}
    for name, laws, limit, failure, target in (
        ("four axes of 10, alike", dict.fromkeys("abcd", 0.3), 10, 1e-6, 0.5),
        ("six axes of 10", dict(zip("abcdef", seven, strict=False)), 10, 1e-12, 5.0),
        ("six axes of 100, alike (incomplete)", dict.fromkeys("abcdef", 0.4), 100, 1e-6, 5.0),
        ("seven axes of 10", dict(zip("abcdefg", seven, strict=True)), 10, 1e-6, 10.0),
        ("three regions of 100,000 pairs: 0.02, 0.2, 0.45", {"a": 0.02, "b": 0.2, "c": 0.45}, 10**5, 4.6e-5, 1.0),
        ("three regions of 100,000 pairs: deletions and additions", mixed, 10**5, 4.6e-5, 10.0),
        ("three regions of 100,000 pairs: 0.35, 0.4, 0.42", {"a": 0.35, "b": 0.4, "c": 0.42}, 10**5, 4.6e-5, 10.0),
    ):
        noise = sc.Noise(laws)
        limits = (limit,) * len(noise.axes)
        found = best(lambda n=noise, r=limits, f=failure: find_frontier(TwoClass(Slacks(n.product), f), r), 1)
        row(table, name, found, target)


def main() -> None:
    sc.slack_table(NOISE, (2, 2))  # compile, or load what was compiled
    find_frontier(TwoClass(Slacks(NOISE.product), 1e-3), (2, 2))
    rng = np.random.default_rng(0)
    p = [0.02, 0.45]
    grid = list(product(range(36), range(46)))
    table = Table("engine", "Certificates from votes, on one core; the loop lists all cells, sorts and cumulates them.")
    whole = straightforward_seconds(p, grid, share=25)
    row(table, "slack table, 36 × 46 radii", best(lambda: sc.slack_table(NOISE, BOX)), 0.020, whole)

    def search(slacks: Slacks) -> None:
        certified = TwoClass(slacks, 5e-4).suggests
        search_box(certified, BOX, reaches=find_reaches(certified, BOX), cells=sum)

    slacks = [Slacks(NOISE.product) for _ in range(5)]
    for each in slacks:
        search(each)
    fresh = iter(slacks)
    row(table, "frontier of one p_lower, search", best(lambda: search(Slacks(NOISE.product))), 0.002, whole)
    row(table, "frontier of one p_lower, proof", best(lambda: find_frontier(TwoClass(next(fresh), 5e-4), BOX)), 0.050)

    for low, name in ((-4.4, "votes up to 10^5"), (-60.0, "failures to 1e-60")):
        failures = [float(x) for x in 10 ** rng.uniform(low, math.log10(0.5), size=10_000)]

        def batch(failures: list[float] = failures) -> None:
            shared = Frontiers(slacks_of(NOISE.product), BOX)
            for failure in failures:
                shared.at(failure)

        row(table, f"10,000 frontiers, proof included, {name}", best(batch, 3), 0.300, whole)

    six = [0.02, 0.1, 0.2, 0.3, 0.4, 0.45]
    noise6 = sc.Noise({f"r{i}": q for i, q in enumerate(six)})
    # 7⁶ cells are timed and scaled to 21⁶: the straightforward way would need some 10 GB for those.
    plain6 = straightforward_seconds(six, [(6,) * 6]) * (21 / 7) ** 6
    row(table, "one slack, six axes of radius 20", best(lambda: sc.slack(noise6, (20,) * 6)), 0.020, plain6)

    four = [0.1, 0.2, 0.3, 0.4]
    noise4 = sc.Noise({f"r{i}": q for i, q in enumerate(four)})
    plain4 = straightforward_seconds(four, list(product(range(11), repeat=4)), share=1500)
    for failure in (1e-3, 1e-6, 1e-12):
        row(
            table,
            f"frontier and proof, four axes of radius 10, failure {failure:g}",
            best(lambda f=failure: find_frontier(TwoClass(Slacks(noise4.product), f), (10,) * 4), 3),
            5.0,
            plain4,
        )
    large_frontiers(table)
    votes = sc.Votes(rng.multinomial(100_000, [0.97, 0.03], size=10_000), selection=[[98, 2]] * 10_000)
    row(table, "proved Clopper–Pearson bounds of 10,000 rows of votes", best(lambda: sc.clopper_pearson(votes), 1), 1.0)
    table.write()


if __name__ == "__main__":
    main()
