"""AddNoise draws from the law of the noise, afresh in every call, reproducibly, and in every worker."""

import pickle
from math import comb

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError

pytest.importorskip("torch_geometric")

import torch
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

NOISE = sc.Noise(core=0.1, rest=sc.Flip(delete=0.6, add=0.3))
REGIONS = sc.Partition.from_node_sets({"core": range(4), "rest": range(4, 8)})


def data(seed: int = 0) -> Data:
    made = sc.Graph.from_networkx(nx.gnp_random_graph(8, 0.5, seed=seed)).to_pyg()
    made.x, made.y = torch.arange(16.0).reshape(8, 2), torch.tensor([1])
    return made


def adjacency(made: Data) -> np.ndarray:
    matrix = np.zeros((8, 8), dtype=int)
    matrix[tuple(made.edge_index.numpy())] = 1
    return matrix


def surprise(count: int, total: int, p: float) -> float:
    """The probability of a binomial count at least as far out as this one."""
    masses = [comb(total, k) * p**k * (1 - p) ** (total - k) for k in range(total + 1)]
    return sum(mass for mass in masses if mass <= masses[count] * (1 + 1e-9))


def test_pairs_flip_with_their_law_and_fixed_ones_never():
    clean, draws = data(), 300
    transform = sc.transforms.AddNoise(NOISE, REGIONS, seed=1)
    flips = np.zeros((8, 8), dtype=int)
    for _ in range(draws):
        noisy = adjacency(transform(clean))
        assert (noisy == noisy.T).all()
        flips += noisy != adjacency(clean)
    tested = 0
    for u in range(8):
        assert flips[u, u] == 0
        for v in range(u):
            if u >= 4 > v:
                assert flips[u, v] == 0
            else:
                p = 0.1 if u < 4 else 0.6 if adjacency(clean)[u, v] else 0.3
                assert surprise(int(flips[u, v]), draws, p) > 1e-9
                tested += 1
    assert tested == 12


def test_pairs_flip_independently_of_each_other_and_of_the_draw_before():
    clean, transform = data(), sc.transforms.AddNoise(sc.Noise(all=0.5), seed=2)
    rows = np.array([(adjacency(transform(clean)) != adjacency(clean))[np.tril_indices(8, -1)] for _ in range(400)])
    together = [(rows[:, 0] & rows[:, 9], 0.25), (rows[1:, 3] & rows[:-1, 3], 0.25)]
    for both, p in together:
        assert surprise(int(both.sum()), len(both), p) > 1e-9


def test_the_data_is_left_alone_and_the_rest_is_carried_over():
    clean = data()
    before = clean.edge_index.clone()
    noisy = sc.transforms.AddNoise(NOISE, REGIONS)(clean)
    assert noisy is not clean
    assert torch.equal(clean.edge_index, before)
    assert not torch.equal(noisy.edge_index, before)
    assert torch.equal(noisy.x, clean.x)
    assert torch.equal(noisy.y, clean.y)
    assert (noisy.num_nodes, noisy.edge_index.dtype, noisy.is_undirected()) == (8, torch.int64, True)


@pytest.mark.filterwarnings("ignore:Unable to accurately infer:UserWarning")
def test_the_number_of_nodes_survives_when_only_edges_told_it():
    clean = Data(edge_index=torch.tensor([[0, 3], [3, 0]]), y=torch.tensor([0, 1]))
    noisy = sc.transforms.AddNoise(sc.Noise(all=1.0))(clean)
    assert (noisy.num_nodes, noisy.edge_index.shape) == (4, (2, 10))
    assert sc.transforms.AddNoise(sc.Noise(all=sc.Flip(delete=1.0, add=0.0)))(clean).num_nodes == 4


def test_same_seed_same_bytes_other_seed_other_bytes_and_no_generator_is_touched():
    torch.manual_seed(0)
    np.random.seed(0)
    states = torch.get_rng_state(), np.random.get_state()[1].copy()

    def copies(seed: int) -> list[list]:
        transform = sc.transforms.AddNoise(NOISE, REGIONS, seed=seed)
        return [transform(data(i)).edge_index.tolist() for i in (0, 1, 0, 0)]

    assert copies(4) == copies(4)
    assert copies(4) != copies(5)
    first, _, second, third = copies(4)
    assert first != second != third != first
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()


def test_a_graph_s_draws_do_not_depend_on_the_graphs_between_them():
    alone, mixed = (sc.transforms.AddNoise(NOISE, REGIONS, seed=4) for _ in range(2))
    expected = [alone(data(0)).edge_index.tolist() for _ in range(2)]
    found = [mixed(data(i)).edge_index.tolist() for i in (0, 1, 2, 0)]
    assert [found[0], found[3]] == expected


def test_it_goes_on_where_it_was_after_pickling():
    transform = sc.transforms.AddNoise(NOISE, REGIONS, seed=4)
    transform(data())
    other = pickle.loads(pickle.dumps(transform))
    assert other(data()).edge_index.tolist() == transform(data()).edge_index.tolist()


class Repeated(torch.utils.data.Dataset):
    """The same graph many times, so that draws in different workers can be compared."""

    def __init__(self, transform, length: int = 8) -> None:
        self.transform, self.length = transform, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Data:
        return self.transform(data())


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_draw_independently_afresh_in_every_epoch_and_reproducibly(persistent):
    def epochs() -> list[list[str]]:
        loader = DataLoader(
            Repeated(sc.transforms.AddNoise(sc.Noise(all=0.3), seed=1)),
            num_workers=2,
            persistent_workers=persistent,
            multiprocessing_context="fork",
            generator=torch.Generator().manual_seed(5),
        )
        return [[str(batch.edge_index.tolist()) for batch in loader] for _ in range(2)]

    drawn = epochs()
    assert len({copy for epoch in drawn for copy in epoch}) == 16  # 28 pairs: no two of 16 draws are alike by chance
    assert epochs() == drawn


def with_edges(**attributes: object) -> Data:
    made = data()
    for name, value in attributes.items():
        made[name] = value
    return made


def test_what_cannot_be_carried_over_is_refused_or_dropped():
    n_edges = data().num_edges
    transform = sc.transforms.AddNoise(NOISE, REGIONS)
    with pytest.raises(InvalidParameterError, match=r"edge_attr.*drop=\('edge_attr',\)"):
        transform(with_edges(edge_attr=torch.ones(n_edges, 2)))
    with pytest.raises(InvalidParameterError, match="bond"):
        transform(with_edges(bond=torch.ones(n_edges)))
    clean = with_edges(edge_attr=torch.ones(n_edges, 2))
    dropped = sc.transforms.AddNoise(NOISE, REGIONS, drop=("edge_attr",))(clean)
    assert "edge_attr" not in dropped
    assert "edge_attr" in clean


def test_what_is_as_long_as_the_edges_by_chance_is_no_edge_data():
    square = sc.Graph(4, [(0, 1), (2, 3)]).to_pyg()  # four nodes, four directed edges
    square.z, square.names, square.y = torch.arange(4), ["a", "b", "c", "d"], torch.zeros(4)
    assert torch.equal(sc.transforms.AddNoise(sc.Noise(all=0.5))(square).z, torch.arange(4))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda: Batch.from_data_list([data(), data(1)]), "a batch of graphs"),
        (lambda: Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2), "both directions"),
        (lambda: Data(edge_index=torch.tensor([[1], [1]]), num_nodes=2), "self-loops"),
        (lambda: Data(x=torch.ones(3, 1)), "edge_index"),
    ],
)
def test_what_is_no_simple_graph_is_refused(wrong, named):
    with pytest.raises(InvalidParameterError, match=named):
        sc.transforms.AddNoise(sc.Noise(all=0.1))(wrong())


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"noise": 0.1}, "noise"),
        ({"noise": NOISE}, "regions"),
        ({"noise": NOISE, "regions": "core"}, "regions"),
        ({"noise": NOISE, "regions": REGIONS, "seed": -1}, "seed"),
        ({"noise": NOISE, "regions": REGIONS, "seed": None}, "seed"),
        ({"noise": NOISE, "regions": REGIONS, "drop": "edge_attr"}, "drop"),
    ],
)
def test_bad_arguments_are_refused_at_once(arguments, named):
    with pytest.raises(InvalidParameterError, match=named):
        sc.transforms.AddNoise(**arguments)


def test_regions_that_are_not_those_of_the_noise_are_refused():
    with pytest.raises(InvalidParameterError, match="core, rest"):
        sc.transforms.AddNoise(sc.Noise(core=0.1), REGIONS)(data())
