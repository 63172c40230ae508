"""What evidence costs: attacks weighed, votes at attacked graphs, and votes saved by stopping early.

    python benchmarks/evidence.py

One core, processor time. Attacks are weighed against 10,000 votes, beside numpy's way: for each attack a matrix of the
flips of its sites, and a count of the votes by their sum. Votes at attacked graphs stand beside votes on the clean
graph, and beside making each attacked graph and voting there. Stopping early is on all 100 test graphs of the paper's
synthetic data.
"""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np

import starcert as sc
from floors import random_word
from starcert.math.attacked_sites import ListedAxis
from starcert.math.bets import FRACTIONS, Bet
from starcert.math.weighing import columns_of, weigh
from starcert.sampling.attacked import OWN_CHUNKS, AttackedCopies
from starcert.sampling.draws import LANES
from table import Table, Work, best, shown

VOTES = 10_000


def copied_byte() -> float:
    """Seconds to read and write a byte, in a copy that stays in the cache, as the columns of votes do."""
    source = np.zeros(2**17, dtype=np.uint8)
    return best(lambda: [source.copy() for _ in range(64)], 64 * 2 * source.size)


def weighing(table: Table) -> None:
    """A million attacks on two sites, and on three."""
    byte = copied_byte()
    rng = np.random.default_rng(0)
    for sites, attacked in ((1415, 2), (183, 3)):
        flips = rng.random((VOTES, sites)) < 0.1
        shape = (attacked + 1, 1)
        seen = rng.integers(-(10**9), 10**8, (len(FRACTIONS), 1, *shape))
        bet = Bet(seen, np.zeros(len(FRACTIONS), dtype=np.int64), rng.random((1, *shape)))
        weigh(
            columns_of(flips[:64], np.zeros(64, dtype=int), 1),
            [ListedAxis(sites, attacked)],
            bet,
            VOTES,
        )
        start = time.process_time()
        columns = columns_of(flips, np.zeros(VOTES, dtype=int), 1)
        weights = weigh(columns, [ListedAxis(sites, attacked)], bet, VOTES)
        ours = time.process_time() - start
        some = list(combinations(range(sites), attacked))[:300]
        start = time.process_time()
        for attack in some:
            counts = np.bincount(flips[:, list(attack)].sum(axis=1), minlength=attacked + 1)
            (seen[..., 0] @ counts).max()
        theirs = (time.process_time() - start) / len(some) * len(weights.capital)
        floor = len(weights.capital) * attacked * VOTES / 8 * byte
        name = f"{len(weights.capital):,} attacks on {attacked} of {sites:,} sites weighed"
        table.add(
            Work(name, ours, theirs, floor, "the columns of attacked sites, a bit a vote, read as fast as a copy")
        )


def own_votes(table: Table, data: sc.datasets.MotifData, base: sc.classifiers.Classifier) -> None:
    """990 attacked graphs, 64 votes each."""
    noise = sc.Noise(motif=0.02, random=0.45)
    smoothed = sc.SmoothedClassifier(base, noise, regions=data.partition)
    graph = data.test.graphs[0]
    sites = smoothed.sites(graph)
    attacks = list(combinations(range(sites.sizes[0]), 2))
    copies = AttackedCopies(sites, noise, seed=1)
    later = len(OWN_CHUNKS)  # the first chunk of 64
    base.classify(copies.draw(attacks, later))
    start = time.process_time()
    base.classify(copies.draw(attacks, later + 1))
    ours = time.process_time() - start
    start = time.process_time()
    smoothed.vote([graph], samples=LANES * len(attacks), voting=sc.Voting(selection_samples=1, progress=False), seed=1)
    shared = time.process_time() - start
    edges = {tuple(pair) for pair in graph.edges.tolist()}
    start = time.process_time()
    for attack in attacks[:50]:
        flipped = {tuple(map(int, pair)) for pair in zip(*sites.coordinates(list(attack)), strict=True)}
        attacked = graph.frame.with_edges(sorted(edges ^ flipped))
        smoothed.vote([attacked], samples=LANES, voting=sc.Voting(selection_samples=1, progress=False), seed=1)
    loop = (time.process_time() - start) / 50 * len(attacks)
    votes = LANES * len(attacks)
    table.add(
        Work(
            f"a vote at one of {len(attacks)} attacked graphs, {LANES} at each",
            ours / votes,
            loop / votes,
            16 * random_word(),
            "the random words of a vote's flips alone",
            note=f"on one clean graph {shown(shared / votes)}",
        )
    )


def stopping(table: Table, data: sc.datasets.MotifData, base: sc.classifiers.Classifier) -> None:
    """The question (1, 45) at the paper's noise."""
    smoothed = sc.SmoothedClassifier(base, sc.Noise(motif=0.02, random=0.45), regions=data.partition)
    asked = {"samples": 100_000, "seed": 1, "threat": "box:1,45", "evidence": sc.Evidence(own_samples=0)}
    start = time.process_time()
    fixed = smoothed.certify(data.test.graphs, **asked, voting=sc.Voting(progress=False))
    middle = time.process_time()
    early = smoothed.certify(data.test.graphs, **asked, voting=sc.Voting(plan="decided", progress=False))
    end = time.process_time()
    votes = early.votes.counts.sum(axis=1)
    same = (fixed.certified((1, 45)) == early.certified((1, 45))).sum()
    note = (
        f"{votes.mean():,.0f} votes a graph ({votes.mean() / 1e5:.1%}), {same} of {len(votes)} verdicts the same, "
        f"{early.certified((1, 45)).sum()} certified"
    )
    name = "100 graphs, (1, 45) asked, stopped when decided; the loop draws all 100,000 votes"
    table.add(Work(name, end - middle, middle - start, note=note))


def main() -> None:
    """Measures everything."""
    about = "Evidence, on one core, processor time; the loop is numpy's, or one attacked graph after the other."
    table = Table("evidence", about, votes=VOTES)
    data = sc.datasets.motif(seed=0)
    base = sc.classifiers.from_sklearn(sc.models.vertex_histogram_svm().fit(data.train.graphs, data.train.labels))
    weighing(table)
    own_votes(table, data, base)
    stopping(table, data, base)
    table.write()


if __name__ == "__main__":
    main()
