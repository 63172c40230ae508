"""The networks: what they refuse; and nodes by words, nearest neighbours and links."""

import numpy as np
import pytest

import starcert as sc
from starcert.objects.neighbours import nearest_neighbours
from starcert.system.errors import InvalidParameterError

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

X = (np.random.default_rng(0).random((12, 6)) < 0.4).astype(np.uint8)
LINKS = [(0, 1), (1, 2), (2, 3), (4, 7), (5, 6), (8, 11), (9, 10)]
GRAPH = sc.Graph(12, LINKS, node_data={"x": X})


def module(**more):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return sc.models.NodePropagation(X, 3, hidden=4, neighbours=2, **more).eval()


def by_definition(net, links) -> np.ndarray:
    adjacency = np.eye(12)
    for u, v in nearest_neighbours(X, 2):
        adjacency[[u, v], [v, u]] += 1
    for u, v in links:
        adjacency[[u, v], [v, u]] += net.link_weight
    scale = adjacency.sum(axis=1) ** -0.5
    passed = scale[:, None] * adjacency * scale
    answers = net.answers(torch.tensor(X, dtype=torch.float32)).detach().numpy().astype(float)
    found = answers
    for _ in range(net.steps):
        found = (1 - net.teleport) * passed @ found + net.teleport * answers
    return found


@pytest.mark.parametrize("weight", [0.0, 1.0, 2.5])
def test_it_computes_its_definition_for_several_copies_at_once(weight):
    net = module(link_weight=weight, steps=4, teleport=0.2)
    copies = [LINKS, LINKS[:3], []]
    both = [(u + 12 * i, v + 12 * i) for i, links in enumerate(copies) for u, v in links]
    edges = torch.tensor(both + [(v, u) for u, v in both]).T
    found = net(torch.tensor(X).repeat(3, 1), edges).detach().numpy().reshape(3, 12, 3)
    for part, links in zip(found, copies, strict=True):
        assert part == pytest.approx(by_definition(net, links), abs=1e-5)


def test_without_links_it_is_blind_and_survives_everything():
    base = sc.classifiers.from_pyg(module(link_weight=0), n_classes=3, targets="nodes")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(links=sc.Flip(delete=0.9, add=0.3)))
    result = smoothed.certify([GRAPH], samples=40, seed=0)
    assert all(max(votes) == 40 for votes in result.votes.counts.tolist())


def test_votes_are_the_same_where_answers_are_computed_once():
    net, noise = module(), sc.Noise(links=sc.Flip(delete=0.5, add=0.02))
    found = []
    for how in ({"model": net}, net.for_votes()):
        smoothed = sc.SmoothedClassifier(sc.classifiers.from_pyg(**how, n_classes=3, targets="nodes"), noise)
        found.append(smoothed.vote(smoothed.problem([GRAPH]), samples=200, seed=1).counts.tolist())
    assert found[0] == found[1]
    other = module()
    with torch.no_grad():
        other.second.bias += 1.0
    descriptions = {sc.classifiers.from_pyg(**each.for_votes(), n_classes=3, targets="nodes").description
                    for each in (net, module(), other)}  # fmt: skip
    assert len(descriptions) == 2  # that of other answers is another


def test_it_is_trained_with_noise():
    labels = np.argmax(X[:, :3], axis=1)
    net = module(teleport=0.8, dropout=0.0)
    smoothed = sc.SmoothedClassifier(
        sc.classifiers.from_pyg(net, n_classes=3, targets="nodes"), sc.Noise(links=sc.Flip(delete=0.8, add=0))
    )
    parts = {"train": range(12), "validation": range(12)}
    training = sc.models.fit_nodes_with_noise(smoothed, GRAPH, labels, **parts, epochs=60, learning_rate=0.1)
    assert training.validation_accuracy > 0.9


def test_other_graphs_and_settings_are_refused():
    with pytest.raises(InvalidParameterError, match="have 12 nodes"):
        module()(torch.ones(13, 6), torch.empty((2, 0), dtype=torch.int64))
    wrong = {"link_weight": -1, "teleport": 0, "neighbours": -1, "steps": 0}
    for name, value in wrong.items():
        with pytest.raises(InvalidParameterError, match=name):
            sc.models.NodePropagation(X, 3, **{name: value})
    with pytest.raises(InvalidParameterError, match="features"):
        sc.models.NodePropagation([1, 2, 3], 3)


@pytest.mark.parametrize("arguments", [{"hidden": 0}, {"layers": 0}, {"conv": "gat"}, {"pooling": "min"}])
def test_bad_settings_are_refused(arguments):
    with pytest.raises(InvalidParameterError, match=next(iter(arguments))):
        sc.models.GCN(4, 2, **arguments)


def test_bad_sizes_of_models_are_refused():
    with pytest.raises(InvalidParameterError, match="'hidden'"):
        sc.models.NodeGCN(3, 2, hidden=0)
    with pytest.raises(InvalidParameterError, match="'layers'"):
        sc.models.GIN(3, 2, layers=0)
    with pytest.raises(InvalidParameterError, match="'edge_channels'"):
        sc.models.GINE(3, 0, 2)
