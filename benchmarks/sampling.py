"""Noisy graphs a second, next to the obvious loop (networkx, pair by pair) and to the floor (the random words alone).

One core. Times are the best of several runs after warm-up, in one process.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import networkx as nx
import numpy as np

import starcert as sc
from floors import random_word
from starcert.sampling.batch import NoisyGraphs
from starcert.sampling.sampler import draw_each, sampler
from starcert.sampling.streams import WordStream
from table import Table, Work, best

CHUNK = 1024


def obvious(graph: nx.Graph, flip: Callable[[int, int, bool], float], samples: int) -> None:
    """What one would write: copy the graph, look at every pair, flip a coin, count degrees."""
    nodes = list(graph)
    for _ in range(samples):
        copy = graph.copy()
        for i, u in enumerate(nodes):
            for v in nodes[:i]:
                present = copy.has_edge(u, v)
                if random.random() < flip(u, v, present):
                    if present:
                        copy.remove_edge(u, v)
                    else:
                        copy.add_edge(u, v)
        dict(copy.degree)


def each(batches: list[NoisyGraphs], view: str) -> None:
    """One view of every batch, none of them kept."""
    for batch in batches:
        getattr(batch, view)()


def row(table: Table, name: str, seconds: float, plain: float, floor: float, target: str = "") -> None:
    what = "as many random words as the flips need on average, drawn and left unused"
    table.add(Work(name, seconds, plain, floor, what, target))


def small_dense(table: Table) -> None:
    graph = nx.disjoint_union(nx.cycle_graph(10), nx.gnp_random_graph(10, 0.5, seed=1))
    graph.add_edge(0, 10)
    clean = sc.Graph.from_networkx(graph)
    sites = sc.Partition.from_node_sets({"motif": range(10), "random": range(10, 20)}).sites(clean)
    drawn = sampler(sites, sc.Noise(motif=0.02, random=0.45))

    def flip(u: int, v: int, _present: bool) -> float:
        return 0.02 if max(u, v) < 10 else 0.45 if min(u, v) >= 10 else 0.0

    plain = best(lambda: obvious(graph, flip, 50), 50, 3)
    chunks = range(40)

    def draw(chunk: int):
        return drawn.draw(WordStream.of_chunk(1, clean.key, "estimation", chunk), CHUNK)

    # The floor: as many random words as these flips need on average, drawn and left unused.
    floor = 16 * random_word()
    batches = [draw(chunk) for chunk in chunks]
    n = CHUNK * len(chunks)
    row(table, "20 nodes, p = (0.02, 0.45): sampling", best(lambda: [draw(c) for c in chunks], n), plain, floor)

    def together() -> None:
        for first in range(0, len(chunks), 8):
            some = chunks[first : first + 8]
            draw_each(drawn, [WordStream.of_chunk(1, clean.key, "estimation", chunk) for chunk in some], CHUNK)

    row(table, "20 nodes: sampling, eight chunks at once", best(together, n), plain, floor)
    degrees = best(lambda: [draw(c).degrees() for c in chunks], n)
    row(table, "20 nodes: sampling and degrees", degrees, plain, floor, target="0.25 µs")
    for view in ("edge_index", "adjacency"):
        row(table, f"20 nodes: the view {view} alone", best(partial(each, batches, view), n), plain, floor)
    objects = best(lambda: [list(batch.networkx()) for batch in batches[:2]], 2 * CHUNK, 2)
    row(table, "20 nodes: the view networkx alone", objects, plain, floor)


def large_sparse(table: Table) -> None:
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(10_000, size=(31_000, 2)), axis=1), axis=0)
    clean = sc.Graph(10_000, pairs[pairs[:, 0] != pairs[:, 1]][:30_000])
    drawn = sampler(sc.Partition.everything("all").sites(clean), sc.Noise(all=sc.Flip(delete=1e-3, add=1e-5)))
    # The obvious loop looks at 50 million pairs: it is timed on 300 nodes and scaled.
    part = clean.to_networkx().subgraph(range(300)).copy()
    scale = 49_995_000 / (300 * 299 / 2)
    plain = best(lambda: obvious(part, lambda _u, _v, present: 1e-3 if present else 1e-5, 2), 2, 2) * scale

    def draw(chunk: int):
        return drawn.draw(WordStream.of_chunk(1, clean.key, "estimation", chunk), CHUNK)

    floor = 750 * random_word()
    batch = draw(0)
    name = "10,000 nodes, 30,000 edges, add 1e-5, delete 1e-3"
    row(table, f"{name}: sampling", best(partial(draw, 0), CHUNK, 3), plain, floor)

    def all_edges() -> None:
        for part in draw(0).split(12):  # as voting does it: large graphs go in small batches, one after the other
            part.edge_index()

    whole = best(all_edges, CHUNK, 3)
    row(table, "10,000 nodes: sampling and edge_index, 60,000 arcs each", whole, plain, floor, target="500 µs")
    row(table, "10,000 nodes: the view degrees alone", best(batch[:64].degrees, 64), plain, floor)


def main() -> None:
    table = Table("sampling", "One noisy graph, on one core; the loop is networkx, pair by pair.", chunk=CHUNK)
    small_dense(table)
    large_sparse(table)
    table.write()


if __name__ == "__main__":
    main()
