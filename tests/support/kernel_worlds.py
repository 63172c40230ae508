"""Graphs and fitted kernel machines for the tests."""

import warnings

import networkx as nx
import numpy as np
from asking import drawn

import starcert as sc
from starcert.sampling.batch import NoisyGraphs

PARTITION = sc.Partition.from_node_sets({"motif": range(10), "random": range(10, 20)})
NOISE = sc.Noise(motif=0.02, random=0.45)


def motif_graph(kind: int, seed: int) -> sc.Graph:
    """The paper's synthetic graphs: a cycle or a clique of 10 nodes, joined to a connected random graph of 10."""
    random = nx.gnp_random_graph(10, 0.5, seed=seed)
    while not nx.is_connected(random):
        seed += 10_000
        random = nx.gnp_random_graph(10, 0.5, seed=seed)
    graph = nx.disjoint_union(nx.cycle_graph(10) if kind == 0 else nx.complete_graph(10), random)
    graph.add_edge(9, 10)
    return sc.Graph.from_networkx(graph)


def random_graph(n: int, p: float, seed: int, **data: object) -> sc.Graph:
    graph = sc.Graph.from_networkx(nx.gnp_random_graph(n, p, seed=seed))
    return sc.Graph(n, graph.edges, node_data=data)


def listed(batch: NoisyGraphs) -> list[sc.Graph]:
    """The copies one by one."""
    data = batch.frame.node_data
    return [sc.Graph(len(a), np.argwhere(np.triu(a)), node_data=data) for a in batch.adjacency()]


def many_batches(motif_copies: int, total: int) -> list[NoisyGraphs]:
    """Noisy copies of the paper's graphs and of random ones of 1 to 16 nodes: empty, sparse, in pieces, dense."""
    batches = [drawn(motif_graph(kind, 77 + kind), NOISE, motif_copies, PARTITION) for kind in (0, 1)]
    rng = np.random.default_rng(5)
    left = total - sum(map(len, batches))
    while left > 0:
        n = int(rng.integers(1, 17))
        clean = random_graph(n, float(rng.random() * 4 / n), int(rng.integers(1 << 30)))
        flip = sc.Flip(delete=float(rng.random() * 0.5), add=float(rng.random() ** 2 * 2 / n))
        batches.append(drawn(clean, sc.Noise(all=flip), min(50, left)))
        left -= 50
    return batches


def quietly(function, *given):
    """What a function returns, without the remarks of other libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given)


def quiet_fit(model, graphs, classes):
    return quietly(model.fit, graphs, classes)


def grakel_input(graphs, node_labels):
    """Graphs as GraKeL wants them: (adjacency matrix, node labels, edge labels), the nodes called 0, 1, …."""
    converted = []
    for graph in graphs:
        adjacency = graph.to_numpy().astype(int)
        labels = adjacency.sum(axis=1) if node_labels == "degree" else graph.node_data[node_labels]
        edges = {(u, v): 1 for one, other in graph.edges.tolist() for u, v in ((one, other), (other, one))}
        # GraKeL takes a graph without edge labels for unlabelled and refuses it; a label of no edge has no effect.
        converted.append([adjacency, dict(enumerate(np.asarray(labels).tolist())), edges or {(0, 0): 1}])
    return converted
