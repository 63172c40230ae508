import pickle

import networkx as nx
import numpy as np
import pytest
from region_worlds import all_pairs, certify, covers_everything, named_pairs, shuffled

import starcert as sc
from starcert.objects.regions import important
from starcert.objects.rule import partition_by_rule
from starcert.system.errors import InvalidParameterError, StarcertError

torch = pytest.importorskip("torch")
nn = pytest.importorskip("torch_geometric.nn")
pytest.importorskip("torch_geometric.explain")
gcn = pytest.importorskip("starcert.models.networks")

SEEN = range(4)


def network(in_channels: int = 1, *, seed: int = 0, pooling: str = "mean"):
    """A network with the same weights in every run."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return gcn.GCN(in_channels, 2, pooling=pooling)


class Spotlight(torch.nn.Module):
    """A model whose answer rests on the edges between the first four nodes: only those have a feature to pass on."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.SimpleConv(aggr="sum")
        self.scale = torch.nn.Parameter(torch.tensor(3.0))

    def forward(self, x, edge_index, graph_of_node):
        received = (x * self.conv(x, edge_index)).sum(dim=1, keepdim=True)
        total = nn.global_add_pool(received, graph_of_node) * self.scale
        return torch.cat([total, -total], dim=1)


def spotlit(n: int = 12) -> sc.Graph:
    """A clique of the nodes with a feature, on a ring of nodes without."""
    ring = nx.cycle_graph(n)
    ring.add_edges_from((u, v) for u in SEEN for v in SEEN if u < v)
    x = np.zeros((n, 1), dtype=np.float32)
    x[list(SEEN)] = 1
    return sc.Graph(n, list(ring.edges), nodes=[f"node{i:02}" for i in range(n)], node_data={"x": x})


GRAPH = spotlit()


def test_the_important_nodes_are_those_that_the_answer_rests_on():
    rule = sc.regions.explained(Spotlight(), quantile=2 / 3)
    found = named_pairs(rule, GRAPH)
    clique = {f"node{i:02}" for i in SEEN}
    assert found["important"] == {pair for pair in all_pairs(GRAPH) if pair <= clique}
    assert found["other"] == all_pairs(GRAPH) - found["important"]
    assert named_pairs(rule, shuffled(GRAPH)) == found


@pytest.mark.parametrize(("quantile", "nodes"), [(0.0, 12), (0.5, 6), (0.7, 4), (0.75, 3), (0.8, 3), (1.0, 0)])
def test_the_quantile_counts_nodes(quantile, nodes):
    x = np.random.default_rng(0).random((12, 3), dtype=np.float32)
    graph = sc.Graph(12, GRAPH.edges, node_data={"x": x})
    rule = sc.regions.build(f"explained:quantile={quantile},epochs=5", model=network(3))
    assert len(named_pairs(rule, graph)["important"]) == nodes * (nodes - 1) // 2
    assert covers_everything(rule, graph)


def test_an_explanation_of_few_epochs_is_the_same_by_name_too():
    """It rests on the first, random mask: that must be given to edges by the names of their nodes."""
    x = np.random.default_rng(0).random((12, 3), dtype=np.float32)
    graph = sc.Graph(12, GRAPH.edges, nodes=GRAPH.nodes, node_data={"x": x})
    model = network(3)
    rule = sc.regions.explained(model, quantile=0.5, epochs=2)
    found = named_pairs(rule, graph)
    assert all(named_pairs(rule, shuffled(graph, seed)) == found for seed in range(3))
    other = sc.regions.explained(model, quantile=0.5, epochs=2, seed=1)
    assert named_pairs(other, graph) != found


def test_nodes_that_the_answer_does_not_depend_on_are_not_important():
    assert len(named_pairs(sc.regions.explained(Spotlight(), quantile=0.0, epochs=3), GRAPH)["important"]) == 6


def test_it_is_anchored_and_says_of_which_model():
    rule = sc.regions.build("explained:epochs=3", model=network())
    assert partition_by_rule(rule, GRAPH).reason == rule.reason
    assert "GCN" in rule.description
    assert "epochs=3" in rule.description
    assert rule != sc.regions.build("explained:epochs=3", model=network(seed=1))
    assert sc.regions.explained(Spotlight()) == sc.regions.explained(Spotlight())


def test_neither_the_model_nor_the_global_random_state_is_touched():
    model = network().train()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state = torch.random.get_rng_state()
    rule = sc.regions.explained(model, epochs=3)
    first = rule(GRAPH)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert model.training
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(1)
    assert rule(GRAPH) == first  # the model as it was
    torch.manual_seed(7)
    assert pickle.loads(pickle.dumps(rule))(GRAPH) == first  # explained again, elsewhere


def test_each_graph_is_explained_once(monkeypatch):
    calls, explain = [], important._edge_mask
    monkeypatch.setattr(important, "_edge_mask", lambda *given: calls.append(1) or explain(*given))
    rule = sc.regions.explained(network(), epochs=2)
    for _ in range(3):
        rule(GRAPH), partition_by_rule(rule, GRAPH)
    rule(spotlit(9))
    assert len(calls) == 2


def test_a_classifier_stands_for_its_model():
    model = network()
    base = sc.classifiers.from_pyg(model, n_classes=2)
    assert sc.regions.explained(base, epochs=3) == sc.regions.explained(model, epochs=3)


def test_graphs_without_edges_have_nothing_important():
    rule = sc.regions.explained(network())
    for n_nodes in (0, 1, 4):
        graph = sc.Graph(n_nodes, [], node_data={"x": np.ones((n_nodes, 1), dtype=np.float32)})
        assert rule(graph).sites(graph).sizes == (0, n_nodes * (n_nodes - 1) // 2)


def test_what_cannot_be_explained_is_said():
    with pytest.raises(InvalidParameterError, match=r"'model' must be a torch.nn.Module. Got 'object'"):
        sc.regions.explained(object())
    with pytest.raises(InvalidParameterError, match="'epochs' must be a whole number, 1 or more"):
        sc.regions.explained(network(), epochs=0)
    with pytest.raises(StarcertError, match=r"cannot be explained: .*called as model\(x, edge_index, batch\)"):
        sc.regions.explained(network(3))(GRAPH)  # other features
    with pytest.raises(StarcertError, match="cannot be explained"):
        sc.regions.explained(network().dense())(GRAPH)
    with pytest.raises(InvalidParameterError, match=r"Got 'words' instead.*has 'x'"):
        sc.regions.explained(network(), attribute="words")(GRAPH)


def test_end_to_end():
    rule = sc.regions.explained(Spotlight(), quantile=0.5, epochs=20)
    results = certify(rule, [GRAPH, spotlit(9)], important=0.05, other=0.3)
    assert all("important was learned" in result.anchored for result in results)
