"""Where GraKeL's definition is exact, its kernel matrices on MUTAG are ours."""

import numpy as np
import pytest
from kernel_worlds import grakel_input, motif_graph, quietly

import starcert as sc

pytest.importorskip("sklearn")
pytest.importorskip("grakel")

from grakel import kernels as grakel

from golden.worlds import MUTAG
from starcert import kernels

SAME = {
    "vertex histogram": (kernels.VertexHistogram, grakel.VertexHistogram),
    "Weisfeiler–Lehman": (
        lambda **both: kernels.WeisfeilerLehman(4, **both),
        lambda **both: grakel.WeisfeilerLehman(n_iter=4, base_graph_kernel=grakel.VertexHistogram, **both),
    ),
    "shortest path": (kernels.ShortestPath, grakel.ShortestPath),
}


@pytest.fixture(scope="module")
def molecules():
    graphs = sc.datasets.tu("MUTAG", root=MUTAG.parent).graphs
    return [
        sc.Graph(graph.n_nodes, graph.edges, node_data={"atom": np.argmax(graph.node_data["x"], axis=1)})
        for graph in graphs
    ]


@pytest.mark.parametrize("node_labels", ["atom", "degree"])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", SAME)
def test_kernel_matrices_on_mutag(molecules, name, normalize, node_labels):
    make, make_grakel = SAME[name]
    train, test = molecules[:120], molecules[120:]
    ours, theirs = make(node_labels=node_labels, normalize=normalize), make_grakel(normalize=normalize)
    features = ours.fit_transform(train)
    fitted = quietly(theirs.fit_transform, grakel_input(train, node_labels))
    asked = quietly(theirs.transform, grakel_input(test, node_labels))
    found = (features @ features.T).toarray(), (ours.transform(test) @ features.T).toarray()
    if normalize:
        np.testing.assert_allclose(found[0], fitted, rtol=1e-12)
        np.testing.assert_allclose(found[1], asked, rtol=1e-12)
    else:
        np.testing.assert_array_equal(found[0], fitted)
        np.testing.assert_array_equal(found[1], asked)


def test_what_sets_the_published_nspd_apart():
    """Between a graph and the same graph numbered otherwise, hardly more than GraKeL's levels of radius 0 agree."""
    graphs = [motif_graph(kind, kind) for kind in (0, 1)]
    order = np.random.default_rng(0).permutation(20)
    renamed = [sc.Graph(20, order[graph.edges]) for graph in graphs]
    theirs = quietly(grakel.NeighborhoodSubgraphPairwiseDistance(r=3, d=4).fit, grakel_input(graphs, "degree"))
    same, other = (np.diag(quietly(theirs.transform, grakel_input(each, "degree"))) for each in (graphs, renamed))
    assert (other < 0.35 * same).all()
    ours = kernels.NeighbourhoodPairs().fit(graphs)
    np.testing.assert_array_equal(ours.transform(graphs).toarray(), ours.transform(renamed).toarray())
