"""AddNoise on edges with types: their law is that of the sampler, and they come in the form in which they were."""

from collections import Counter
from math import comb

import numpy as np
import pytest

import starcert as sc
from starcert.objects.binding import bind
from starcert.sampling.sampler import sampler
from starcert.system.errors import InvalidParameterError

pytest.importorskip("torch_geometric")

import torch

NAMES = ("single", "double", "triple")
NOISE = sc.Noise(bonds=sc.Edges(delete=0.3, add=0.2, change=0.25))
DRAWS = 400


def molecule(directed: bool = False) -> sc.Graph:
    pairs, types = [(0, 1), (1, 2), (0, 3)], ["single", "double", "single"]
    return sc.Graph(4, pairs, edge_types=types, type_names=NAMES, directed=directed)


def types_of(data, name: str = "edge_attr") -> dict[tuple[int, int], int]:
    """From every column of edge_index to its type, from 1."""
    shown = data[name]
    numbers = shown.argmax(dim=1) + 1 if shown.dim() == 2 and shown.shape[1] > 1 else shown.flatten()
    return {(u, v): int(number) for (u, v), number in zip(data.edge_index.T.tolist(), numbers, strict=True)}


def surprise(count: int, total: int, p: float) -> float:
    """The probability of a binomial count at least as far out as this one."""
    masses = [comb(total, k) * p**k * (1 - p) ** (total - k) for k in range(total + 1)]
    return sum(mass for mass in masses if mass <= masses[count] * (1 + 1e-9))


def least_surprise(noise: sc.Noise, law: sc.Edges) -> float:
    """How unlikely the drawn types of the least likely pair are, if each is drawn by this law."""
    clean, transform = molecule(), sc.transforms.AddNoise(noise, seed=3, edge_types="edge_attr")
    data = clean.to_pyg()
    drawn = [types_of(transform(data)) for _ in range(DRAWS)]
    before, full = types_of(data), law.for_alphabet(4, "bonds", "pairs")
    found = []
    for v in range(4):
        for u in range(v):
            seen = Counter(copy.get((u, v), 0) for copy in drawn)
            chances = full.transitions(before.get((u, v), 0))
            found += [surprise(seen[value], DRAWS, float(p)) for value, p in enumerate(chances)]
    return min(found)


def test_types_are_drawn_by_the_law_and_another_law_would_be_noticed():
    assert least_surprise(NOISE, sc.Edges(delete=0.3, add=0.2, change=0.25)) > 1e-6
    assert least_surprise(NOISE, sc.Edges(delete=0.3, add=0.2, change=0.0)) < 1e-9
    assert least_surprise(NOISE, sc.Edges(delete=0.3, add=0.4, change=0.25)) < 1e-9


@pytest.mark.parametrize("law", [NOISE["bonds"], sc.Flip(delete=0.3, add=0.2)], ids=["Edges", "Flip"])
@pytest.mark.parametrize("directed", [False, True], ids=["pairs", "arcs"])
def test_a_copy_is_what_the_sampler_draws_from_the_same_stream(monkeypatch, directed, law):
    graph, noise = molecule(directed), sc.Noise(bonds=law)
    transform = sc.transforms.AddNoise(noise, seed=5, edge_types="edge_attr", type_names=NAMES, directed=directed)
    twins, given = [], transform._stream

    def noted(key):
        stream = given(key)
        twins.append(stream.fork())
        return stream

    monkeypatch.setattr(transform, "_stream", noted)
    for _ in range(20):
        noisy = transform(graph.to_pyg())
        (expected,) = sampler(bind(graph, noise, None), noise).draw(twins[-1], 1).copies()
        assert torch.equal(noisy.edge_index, expected.to_pyg().edge_index)
        assert torch.equal(noisy.edge_attr, expected.to_pyg().edge_attr)


@pytest.mark.parametrize(
    "form",
    [
        lambda types: torch.nn.functional.one_hot(types, 3).double(),
        lambda types: types + 1,
        lambda types: (types + 1)[:, None],
    ],
    ids=["one-hot", "numbers", "column"],
)
def test_types_keep_the_form_in_which_they_came(form):
    data = molecule().to_pyg()
    data.kind, before = form(data.edge_attr.argmax(dim=1)), data.edge_attr
    del data.edge_attr
    given = {"type_names": [1, 2, 3]} if data.kind.dtype == torch.int64 else {}
    seen = set()
    transform = sc.transforms.AddNoise(NOISE, seed=1, edge_types="kind", **given)
    for _ in range(60):
        noisy = transform(data)
        assert (noisy.kind.dtype, noisy.kind.shape[1:]) == (data.kind.dtype, data.kind.shape[1:])
        assert len(noisy.kind) == noisy.num_edges
        types = types_of(noisy, "kind")
        assert all(types[v, u] == kind for (u, v), kind in types.items())
        seen |= {*types.values()}
    assert seen == {1, 2, 3}
    assert torch.equal(data.kind, form(before.argmax(dim=1)))


def test_what_types_there_are_must_be_known():
    data = molecule().to_pyg()
    with pytest.raises(InvalidParameterError, match=r"no data of edges but their type.*edge_types='edge_attr'"):
        sc.transforms.AddNoise(NOISE)(data)
    data.edge_attr = data.edge_attr.argmax(dim=1)
    with pytest.raises(InvalidParameterError, match="'type_names' must list all types of the data set"):
        sc.transforms.AddNoise(NOISE, edge_types="edge_attr")(data)
    with pytest.raises(InvalidParameterError, match="'edge_types' must name the attribute"):
        sc.transforms.AddNoise(NOISE, type_names=NAMES)
    with pytest.raises(InvalidParameterError, match="have 'kind' for each column of edge_index"):
        sc.transforms.AddNoise(NOISE, edge_types="kind", drop=("edge_attr",))(data)


def test_a_graph_that_has_lost_all_edges_still_has_the_columns_of_its_types():
    gone = sc.Noise(bonds=sc.Edges(delete=1.0, add=0.0, change=0.0))
    noisy = sc.transforms.AddNoise(gone, edge_types="edge_attr")(molecule().to_pyg())
    assert (tuple(noisy.edge_index.shape), tuple(noisy.edge_attr.shape)) == ((2, 0), (0, 3))
    again = sc.transforms.AddNoise(NOISE, edge_types="edge_attr")
    assert np.mean([again(noisy).num_edges for _ in range(50)]) > 0
