import networkx as nx
import numpy as np
import pytest
from region_worlds import all_pairs, covers_everything, named_pairs, shuffled

import starcert as sc
from starcert.objects.regions import low_rank
from starcert.objects.regions.scores import residuals
from starcert.system.errors import StarcertError

GRAPHS = [sc.Graph.from_networkx(nx.gnp_random_graph(14, 0.3, seed=seed)) for seed in range(3)]


def by_svd(graph, rank):
    """The residual from numpy's singular values, with no thought for ties."""
    adjacency = graph.to_numpy().astype(float)
    left, sizes, right = np.linalg.svd(adjacency)
    assert sizes[rank - 1] - sizes[rank] > 1e-6  # the approximation is unique
    return np.abs(adjacency - (left[:, :rank] * sizes[:rank]) @ right[:rank])


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_residuals_are_those_of_the_singular_values(graph, rank):
    np.testing.assert_allclose(residuals(graph, rank), by_svd(graph, rank), atol=1e-8)


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_threshold_and_a_quantile_cut_the_same_list(graph):
    u, v = np.triu_indices(14, 1)
    sizes = by_svd(graph, 2)[u, v]
    for threshold in (0.1, 0.3, 0.6):
        chosen = {frozenset(pair) for pair in zip(u[sizes >= threshold], v[sizes >= threshold], strict=True)}
        found = named_pairs(low_rank(2, threshold=threshold), graph)
        assert found == {"residual": chosen, "captured": all_pairs(graph) - chosen}
    for quantile in (0.25, 0.8, 0.9):
        cut = np.sort(sizes)[int(np.ceil(quantile * len(sizes))) - 1]
        chosen = {frozenset(pair) for pair in zip(u[sizes > cut + 1e-8], v[sizes > cut + 1e-8], strict=True)}
        assert named_pairs(low_rank(2, quantile=quantile), graph)["residual"] == chosen
        assert len(chosen) <= (1 - quantile) * len(sizes) + 1


@pytest.mark.parametrize("graph", [*GRAPHS, sc.Graph.from_networkx(nx.cycle_graph(9)), sc.Graph(4, [])])
@pytest.mark.parametrize("rank", [1, 2, 3, 50])
def test_ties_are_kept_together_so_that_the_order_of_nodes_does_not_matter(graph, rank):
    for rule in (low_rank(rank), low_rank(rank, threshold=0.2)):
        for seed in range(3):
            assert named_pairs(rule, shuffled(graph, seed)) == named_pairs(rule, graph)
        assert covers_everything(rule, graph)


def test_tied_eigenvalues_respect_the_symmetry_of_the_graph():
    """A complete bipartite graph has eigenvalues ±√(ab): rank 1 keeps both, and nothing is left over."""
    graph = sc.Graph.from_networkx(nx.complete_bipartite_graph(3, 4))
    assert residuals(graph, 1).max() < 1e-8
    ring = residuals(sc.Graph.from_networkx(nx.cycle_graph(7)), 2)  # eigenvalue 2, then two that are tied
    for step in range(1, 7):
        np.testing.assert_allclose([ring[i, (i + step) % 7] for i in range(7)], ring[0, step], atol=1e-8)


def test_all_that_is_equal_is_captured():
    complete = sc.Graph.from_networkx(nx.complete_graph(6))
    assert named_pairs(low_rank(1, quantile=0.5), complete)["residual"] == set()


def test_small_and_large_graphs():
    for n_nodes in (0, 1):
        assert low_rank()(sc.Graph(n_nodes, [])).sites(sc.Graph(n_nodes, [])).n_sites == 0
    with pytest.raises(StarcertError, match=r"at most 4,096 nodes, not Graph\(5000 nodes"):
        low_rank()(sc.Graph(5000, []))
