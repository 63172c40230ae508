"""Training for certificates: what is flipped, what copies lose together, and which epoch is kept."""

import numpy as np
import pytest
import training_worlds

import starcert as sc
from starcert.system.errors import InvalidParameterError

torch = pytest.importorskip("torch")
adversary = pytest.importorskip("starcert.models.adversary")
Against = sc.models.Against


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def pairs_of(edges) -> set[tuple[int, int]]:
    return {(min(u, v), max(u, v)) for u, v in edges.T.tolist()}


def two_graphs():
    """Two rings of four nodes each."""
    ring = [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (5, 6), (6, 7), (4, 7)]
    edges = torch.tensor(ring + [(v, u) for u, v in ring]).T
    batch = torch.repeat_interleave(torch.arange(2), 4)
    return {"edge_index": edges, "batch": batch, "x": torch.ones(8, 1), "edge_attr": torch.arange(16.0)[:, None]}


def test_the_loss_of_copies_is_what_it_says():
    found = torch.tensor([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 2.0], [0.0, 1.0]]])
    wanted = torch.tensor([0, 1])
    losses = -found.log_softmax(-1)[:, [0, 1], wanted]
    mean, worst = losses.mean(), losses.amax(0).mean()
    got = adversary.loss_of_copies(found, wanted, Against(copies=2, worst=0.25))
    assert got.item() == pytest.approx(0.75 * mean.item() + 0.25 * worst.item())
    answers = found.softmax(-1)
    middle = answers.mean(0)
    apart = (middle * (middle.log() - answers.log())).sum(-1).mean()
    got = adversary.loss_of_copies(found, wanted, Against(copies=2, worst=0, consistency=3))
    assert got.item() == pytest.approx(mean.item() + 3 * apart.item())
    same = adversary.loss_of_copies(found[:1].repeat(2, 1, 1), wanted, Against(copies=2, worst=0, consistency=3))
    assert same.item() == pytest.approx(losses[0].mean().item())
    numbers = adversary.loss_of_copies(torch.tensor([[[1.0]], [[3.0]]]), torch.tensor([1.0]),
                                       Against(copies=2, worst=1, consistency=1))  # fmt: skip
    assert numbers.item() == pytest.approx(4 + 1)


@pytest.mark.parametrize("directed", [False, True])
def test_flips_stay_within_their_graph_and_spare_the_first_copy(directed):
    inputs = two_graphs()
    seen = set()
    for seed in range(20):
        candidates = adversary.Candidates.of_graphs(inputs, first=1, generator=generator(seed), directed=directed)
        assert (candidates.ends >= 4).all()
        assert len(pairs_of(candidates.ends)) == candidates.ends.shape[1] or directed
        chosen = candidates.top(torch.rand(len(candidates.owners), generator=generator(seed)), 2)
        assert chosen.shape == (2, 2)
        flipped = adversary.toggle(inputs, chosen, generator(seed), directed=directed)
        assert flipped["edge_attr"].shape == (flipped["edge_index"].shape[1], 1)
        if not directed:
            assert pairs_of(flipped["edge_index"]) ^ pairs_of(inputs["edge_index"]) == pairs_of(chosen)
            seen |= pairs_of(chosen)
    assert directed or (len(seen & pairs_of(inputs["edge_index"])) > 1 and (4, 6) in seen)


def test_flips_at_nodes_touch_each_of_them():
    inputs = two_graphs() | {"batch": torch.repeat_interleave(torch.arange(2), 4)}
    nodes = torch.tensor([5, 7])  # the nodes 1 and 3 of the second copy
    candidates = adversary.Candidates.at_nodes(inputs, nodes=nodes, generator=generator(), directed=False)
    chosen = candidates.top(torch.rand(len(candidates.owners), generator=generator()), 1)
    assert chosen.shape == (2, 2)
    assert (chosen >= 4).all()
    assert all({u, v} & {5, 7} for u, v in chosen.T.tolist())


class Weighted(torch.nn.Module):
    """Counts triangles' worth of weight at some pairs: the gradient is known."""

    def __init__(self):
        super().__init__()
        self.slope = torch.nn.Parameter(torch.tensor(1.0))

    def forward(self, x, edge_index, batch, edge_weight=None):
        weight = torch.ones(edge_index.shape[1]) if edge_weight is None else edge_weight
        value = weight * (x[edge_index[0], 0] * x[edge_index[1], 0])
        total = torch.zeros(int(batch.max()) + 1).index_add(0, batch[edge_index[0]], value)
        return self.slope * torch.stack([total, -total], dim=1)


def test_a_module_with_edge_weights_is_attacked_along_its_gradient():
    inputs = two_graphs()
    inputs["x"] = torch.tensor([1.0, 1, 1, 1, 1, 3, 2, -4])[:, None]  # the worst to add: (5, 7)
    base = sc.classifiers.from_pyg(Weighted(), n_classes=2)
    assert base.takes_edge_weight

    def loss(shown):
        return -base.logits_from(shown, 2, 0)[:, 0].sum()

    found = set()
    for seed in range(8):
        candidates = adversary.Candidates.of_graphs(inputs, first=1, generator=generator(seed), directed=False)
        flipped = adversary.flip_worst(base, inputs, candidates, loss, 1, generator(seed), directed=False)
        (pair,) = pairs_of(flipped["edge_index"]) ^ pairs_of(inputs["edge_index"])
        found.add(pair)
        worst = (5, 7) in pairs_of(candidates.ends)
        assert pair == ((5, 7) if worst else (5, 6))  # else the best to delete
    assert (5, 7) in found


AGAINST = Against(copies=3, worst=0.5, flips=1, consistency=0.5)


@pytest.mark.parametrize("against", [AGAINST, Against(copies=2, worst=1, share=0.6)])
def test_graphs_are_learned_the_same_way_twice(against):
    graphs, labels = training_worlds.graphs(24)
    found = []
    for _ in range(2):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = sc.models.GIN(2, 2, hidden=8, layers=2)
        smoothed = sc.SmoothedClassifier(sc.classifiers.from_pyg(model, n_classes=2), sc.Noise(all=0.05))
        how = {"validation": (graphs, labels), "epochs": 10, "learning_rate": 0.01, "against": against}
        training = sc.models.fit_with_noise(smoothed, graphs, labels, **how)
        found.append(model.state_dict())
    assert training.validation_accuracy > 0.7
    assert all(map(torch.equal, found[0].values(), found[1].values()))


def test_nodes_are_learned():
    labels = np.repeat(np.arange(3), 12)
    pairs, x = training_worlds.grouped(labels, 12, 0.3, (0.5, 0.05), 0)
    graph = sc.Graph(36, pairs, node_data={"x": x})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = sc.models.NodeGCN(12, 3, hidden=16)
    smoothed = sc.SmoothedClassifier(
        sc.classifiers.from_pyg(model, n_classes=3, targets="nodes"), sc.Noise(links=sc.Flip(delete=0.2, add=0.01))
    )
    parts = {"train": range(0, 36, 2), "validation": range(1, 36, 2)}
    against = Against(copies=2, flips=1, consistency=0.1, share=0.5)
    training = sc.models.fit_nodes_with_noise(smoothed, graph, labels, **parts, epochs=60, against=against)
    assert training.validation_accuracy > 0.6


@pytest.mark.parametrize("keep", ["accuracy", "loss"])
def test_the_epoch_is_kept_by_what_was_asked(keep):
    graphs, labels = training_worlds.graphs(16)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = sc.models.GIN(2, 2, hidden=8, layers=1)
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_pyg(model, n_classes=2), sc.Noise(all=0.1))
    how = {"validation": (graphs, labels), "epochs": 12, "learning_rate": 0.05, "keep": keep}
    training = sc.models.fit_with_noise(smoothed, graphs, labels, **how)
    kept = training.history[training.best_epoch]
    assert training.validation_accuracy == kept.accuracy == kept.score
    assert kept.validation_loss == min(each.validation_loss for each in training.history) or keep == "accuracy"
    assert kept.score == max(each.score for each in training.history) or keep == "loss"
    with pytest.raises(InvalidParameterError, match="keep"):
        sc.models.fit_with_noise(smoothed, graphs, labels, **how | {"keep": "best"})


def test_the_epoch_is_kept_by_the_share_of_right_copies():
    judging = pytest.importorskip("starcert.models.judging")
    logits = torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]])  # two copies of two objects
    judged = [judging.judge(3, 0.5, logits, torch.tensor([0, 0]), share, None) for share in (None, 0.6, 0.4)]
    assert [each.score for each in judged] == [0.75, 0.5, 1.0]
    assert [each.right for each in judged] == [0.75, 0.5, 1.0]
    assert [each.certified for each in judged] == [None, 0.5, 1.0]
    assert all((each.number, each.loss, each.accuracy) == (3, 0.5, 0.75) for each in judged)


@pytest.mark.parametrize("wrong", [{"copies": 0}, {"copies": 9}, {"worst": 1.5}, {"flips": -1}, {"consistency": -1},
                                   {"share": 2}, {"copies": 1, "flips": 1}, {"dangerous": -1}, {"every": 0},
                                   {"votes": 0}, {"copies": 1, "dangerous": 1},
                                   {"copies": 2, "dangerous": 1, "flips": 1}])  # fmt: skip
def test_bad_settings_are_refused(wrong):
    with pytest.raises(InvalidParameterError, match=[*wrong][-1]):
        Against(**wrong)


def test_tables_are_read():
    assert Against.of({"copies": 2, "worst": 1}) == Against(copies=2, worst=1.0)
    assert Against.of(AGAINST) is AGAINST
    with pytest.raises(InvalidParameterError, match="Did you mean"):
        Against.of({"copy": 2})
    with pytest.raises(InvalidParameterError, match="table"):
        Against.of(3)
