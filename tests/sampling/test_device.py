"""The device's sampler, on the CPU and where there is one on a device: the exact law, and views of what was drawn."""

from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from device_worlds import DEVICES, torch
from scipy.stats import chi2

import starcert as sc
from starcert.math.ballots import Ballots
from starcert.objects.binding import sampled_laws
from starcert.sampling.batch import flips_of
from starcert.sampling.draws import FlippedDraw, Method
from starcert.sampling.sampler import Sampler, kinds_of_sites, method_of, site_sampler
from starcert.sampling.streams import WordStream
from starcert.sampling.views import view_of

device = pytest.importorskip("starcert.sampling.device")

CPU = torch.device("cpu")
GRAPH = sc.Graph.from_networkx(nx.gnp_random_graph(9, 0.4, seed=3))
SITES = sc.Partition.from_node_sets({"a": range(5), "b": range(5, 8)}, between={"c": ("a", "b")}).sites(GRAPH)


def draw(noise: sc.Noise, samples: int, chunk: int = 0, place: str = "cpu"):
    drawn = site_sampler(SITES, noise, Method.DEVICE_DENSE, place)
    bits = drawn.draw(WordStream.of_chunk(1, GRAPH.key, "estimation", chunk), samples)
    return view_of(SITES, Method.DEVICE_DENSE, place)(bits)


def test_large_chunks_are_drawn_in_portions_that_follow_one_another(monkeypatch):
    noise = sc.Noise(a=0.2, b=0.3, c=0.4)
    whole = draw(noise, 300).values
    monkeypatch.setattr(device, "MAX_NUMBERS", 64 * SITES.n_sites)
    np.testing.assert_array_equal(draw(noise, 300).values, whole)


@pytest.mark.parametrize("place", DEVICES)
def test_a_chunk_is_a_function_of_its_stream(place):
    noise = sc.Noise(a=0.2, b=0.3, c=0.4)
    first = draw(noise, 50, place=place).values
    np.testing.assert_array_equal(draw(noise, 50, place=place).values, first)
    assert (first != draw(noise, 50, chunk=1, place=place).values).any()
    state = torch.random.get_rng_state()
    draw(noise, 50)
    assert (torch.random.get_rng_state() == state).all()


TYPES = ("single", "double", "aromatic")
RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (5, 6)]
NAMED = ["aromatic", "aromatic", "aromatic", "single", "double", "single", "single"]


def molecule(**more) -> sc.Graph:
    return sc.Graph(7, RING, edge_types=NAMED, type_names=TYPES, **more)


def bound(graph, noise, regions=None):
    """Sites and noise, as voting has them."""
    base = sc.classifiers.from_callable(lambda _: 0, n_classes=2)
    problem = sc.SmoothedClassifier(base, noise, regions).problem([graph])
    return problem.sites[0], problem.noise


def viewed(sites, noise, place="cpu") -> Sampler:
    """What draws as on a device, wherever it is."""
    drawn = site_sampler(sites, noise, Method.DEVICE_DENSE, place)
    return Sampler(drawn, view_of(sites, Method.DEVICE_DENSE, place))


ATOMS = sc.Graph(5, RING[:4], node_data={"element": list("CNOCC"), "x": np.eye(5)}).with_categories(
    "element", tuple("CNO")
)
WORLDS = {
    "bits": lambda: (SITES, sc.Noise(a=0.02, b=sc.Flip(delete=0.3, add=0.0), c=1.0)),
    "types": lambda: bound(molecule(), sc.Noise(all=sc.Edges(delete=0.2, add=0.1, change=0.15))),
    "arcs": lambda: bound(molecule(directed=True), sc.Noise(all=sc.Edges(delete=0.2, add=0.1, change=0.15))),
    "fixed": lambda: bound(
        molecule(),
        sc.Noise(a=sc.Edges(delete=0.2, add=0.1, change=0.15), b=sc.Flip(delete=0.3, add=0.2, added=(3.0, 1.0, 1.0))),
        sc.Partition.from_node_sets({"a": range(4), "b": range(4, 7)}),
    ),
    "categories": lambda: bound(
        ATOMS,
        sc.Noise(bonds=0.2, atoms=sc.Categorical(0.3)),
        sc.Partition.of_layers({"bonds": "pairs", "atoms": "element"}),
    ),
}


def drawn_values(world, samples, place="cpu", chunk=0):
    sites, noise = world
    stream = WordStream.of_chunk(1, sites.clean.key, "estimation", chunk)
    return viewed(sites, noise, place).draw(stream, samples)


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("name", WORLDS)
def test_values_follow_the_law_of_their_site(name, place):
    """χ² of the values of every site, and of the values of neighbouring sites and copies together."""
    world, samples = WORLDS[name](), 40_000
    kinds, kind = kinds_of_sites(world[0], sampled_laws(*world))
    found = drawn_values(world, samples, place).values
    laws = [law.transitions(value) for law, value in kinds]
    chances = [np.array([float(p) for p in laws[each]]) for each in kind]
    total, freedom = 0.0, 0
    for site, expected in enumerate(chances):
        seen = np.bincount(found[:, site], minlength=len(expected))
        assert (seen[expected == 0] == 0).all()
        there = expected > 0
        total += ((seen[there] - samples * expected[there]) ** 2 / (samples * expected[there])).sum()
        freedom += there.sum() - 1
    assert 1e-6 < chi2.sf(total, freedom) < 1 - 1e-6
    zero = np.array([each[0] for each in chances])
    for one, other, mean in (
        (found[1:], found[:-1], (zero**2).sum() * (samples - 1)),
        (found[:, 1:], found[:, :-1], (zero[1:] * zero[:-1]).sum() * samples),
    ):
        assert abs(((one == 0) & (other == 0)).sum() - mean) < 8 * mean**0.5


def scripted(monkeypatch, script: list[int]) -> None:
    monkeypatch.setattr(torch.Tensor, "random_", lambda tensor, generator=None: tensor.fill_(script.pop(0)))


def one_site(law: tuple[Fraction, ...]):
    stream = WordStream.of_chunk(1, "2a", "estimation", 0)
    return device.DeviceSampler([law], np.array([0]), "cpu").draw(stream, 1).values.item()


def test_values_change_at_the_very_digits_of_the_law(monkeypatch):
    quarters = (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))
    for number, value in ((0, 0), (2**62 - 1, 0), (2**62, 1), (3 * 2**61 - 1, 1), (3 * 2**61, 2), (2**63 - 1, 2)):
        scripted(monkeypatch, [number])
        assert one_site(quarters) == value
    for law, value in (((0, 1, 0), 1), ((0, 0, 1), 2), ((1, 0, 0), 0)):
        for number in (0, 2**63 - 1):
            scripted(monkeypatch, [number])
            assert one_site(tuple(map(Fraction, law))) == value


def test_numbers_that_agree_with_a_sum_go_on_with_further_digits(monkeypatch):
    """A third has no last digit: every further number may agree again."""
    thirds = (Fraction(1, 3),) * 3
    first, rest = divmod(2**63, 3)
    second = rest * 2**63 // 3  # the next 63 digits of 1/3
    for script, value in (
        ([first - 1], 0),
        ([first + 1], 1),
        ([first, second - 1], 0),
        ([first, second + 1], 1),
        ([2 * 2**63 // 3, 0], 1),
        ([2 * 2**63 // 3, 2**63 - 1], 2),
    ):
        left = list(script)
        scripted(monkeypatch, left)
        assert one_site(thirds) == value
        assert not left  # all of them were asked for
    third = divmod(rest * 2**63 % 3 * 2**63, 3)[0]
    for last, value in ((third - 1, 0), (third + 1, 1)):
        scripted(monkeypatch, [first, second, last])
        assert one_site(thirds) == value


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("name", WORLDS)
def test_all_views_are_those_of_the_same_values_here(name, place):
    sites, _ = world = WORLDS[name]()
    batch = drawn_values(world, 200, place)
    shown = FlippedDraw.of_values(batch.values, sites.nonzero)
    here = view_of(sites, Method.SPARSE)(replace(shown, shown=None) if name == "bits" else shown)
    for one, other in ((batch, here), (batch[20:50], here[20:50])):
        mine, theirs = one.edges(), other.edges()
        for ours, expected in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(ours, expected)
        np.testing.assert_array_equal(one.adjacency(), other.adjacency())
        np.testing.assert_array_equal(one.adjacency_on(CPU), other.adjacency() > 0)
        np.testing.assert_array_equal(one.degrees(), other.degrees())
        np.testing.assert_array_equal(one.degrees_on(CPU), other.degrees())
        (index, owner), (expected_index, expected_owner) = one.edge_index_on(CPU), other.edge_index()
        np.testing.assert_array_equal(owner, expected_owner)
        columns, expected_columns = [index.numpy()], [expected_index]
        if sites.graph.type_names:
            columns.append(one.edge_types_on(CPU).numpy()[None])
            expected_columns.append(other.edge_types()[None])
        listed, expected = (sorted(map(tuple, np.concatenate(each).T)) for each in (columns, expected_columns))
        assert listed == expected
        for node_data in sites.graph.node_sites:
            np.testing.assert_array_equal(one.node_values_on(node_data, CPU), other.node_values(node_data))
    chosen = np.array([3, 17, 150])
    mine, theirs = (
        Ballots.of_chunk([0], sites.n_sites, 200, np.ones((3, 1), dtype=int), [flips_of(each, chosen)])
        for each in (batch, here)
    )
    assert (mine.shown is None) == (name == "bits")
    assert mine.agrees_with(theirs)


@pytest.mark.parametrize("place", DEVICES)
def test_rows_of_categories_stay_where_they_were_drawn(place):
    row = sc.Categories((0, 1, 2, 1, 0), values=3)
    regions = {"a": [1, 3], "b": [0]}
    world = bound(row, sc.Noise(a=sc.Categorical(0.4), b=sc.Categorical(0.2)), regions)
    batch = drawn_values(world, 300, place)
    assert type(batch).__name__ == "DeviceVectors"
    np.testing.assert_array_equal(batch.vectors_on(CPU), batch.vectors())
    assert (batch.vectors()[:, [2, 4]] == [2, 0]).all()
    assert len(np.unique(batch.vectors(), axis=0)) > 10


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("name", ["bits", "types"])
@pytest.mark.parametrize(("held", "wanted"), [(1, 300), (100, 129), (10**9, 200)])
def test_portions_are_the_copies_of_a_chunk(name, held, wanted, place, monkeypatch):
    sites, noise = world = WORLDS[name]()
    monkeypatch.setattr(device, "MAX_NUMBERS", 64 * sites.n_sites)
    monkeypatch.setattr(device, "MAX_BYTES", held)
    stream = WordStream.of_chunk(1, sites.clean.key, "estimation", 0)
    portions = list(viewed(sites, noise, place).portions(stream, 300, wanted))
    assert len(portions) == (1 if held > 1000 else -(-wanted // (64 * max(1, -(-held // (64 * sites.n_sites))))))
    whole = drawn_values(world, 300, place).values
    np.testing.assert_array_equal(np.concatenate([each.values for each in portions]), whole[:wanted])


def test_values_are_drawn_where_the_model_is():
    for make in WORLDS.values():
        assert method_of(*make()) is Method.DENSE
        assert method_of(*make(), "cuda") is Method.DEVICE_DENSE


@pytest.mark.parametrize("place", DEVICES)
def test_a_network_on_typed_edges_votes_there(place, monkeypatch):
    graph, noise = molecule(node_data={"x": np.eye(7, dtype=np.float32)}), WORLDS["types"]()[1]
    torch.manual_seed(1)
    model = sc.models.GINE(7, 3, 2, hidden=16).eval()
    world = bound(graph, noise)
    copies = drawn_values(world, 512, place)
    logits = sc.classifiers.from_pyg(model, n_classes=2).logits(copies)
    with torch.no_grad():
        model.linear.bias[0] -= (logits[:, 0] - logits[:, 1]).quantile(0.3)
    logits = sc.classifiers.from_pyg(model, n_classes=2).logits(copies)
    there = sc.classifiers.from_pyg(model.to(place), n_classes=2)
    torch.testing.assert_close(there.logits(copies).cpu(), logits, rtol=1e-4, atol=1e-4)
    if place == "cpu":
        monkeypatch.setattr("starcert.voting.ask.kept_sampler", lambda sites, noise, _device: viewed(sites, noise))
    smoothed = sc.SmoothedClassifier(there, noise)
    first, again = (smoothed.vote([graph], samples=2000, seed=2) for _ in range(2))
    assert first.counts.tolist() == again.counts.tolist()
    assert min(first.counts[0]) > 300
    evidence = smoothed.certify([graph], samples=2000, seed=2, evidence=True)
    plain = smoothed.certify([graph], samples=2000, seed=2)
    assert evidence.votes.counts.tolist() == plain.votes.counts.tolist() == first.counts.tolist()
