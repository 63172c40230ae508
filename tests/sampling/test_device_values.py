"""Values drawn on a device: the law of the CPU's, exactly, and views that show what was drawn."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from device_worlds import DEVICES, torch
from scipy.stats import chi2

import starcert as sc
from starcert.sampling.draws import ValueDraw, Way
from starcert.sampling.sampler import _transitions, way_of
from starcert.sampling.streams import WordStream
from starcert.sampling.views import view_of

values = pytest.importorskip("starcert.sampling.device_values")

CPU = torch.device("cpu")
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


ATOMS = sc.Graph(5, RING[:4], node_data={"element": list("CNOCC"), "x": np.eye(5)}).with_categories(
    "element", tuple("CNO")
)
WORLDS = {
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


def draw(world, samples, place="cpu", chunk=0):
    sites, noise = world
    stream = WordStream.of_chunk(1, sites.clean.key, "estimation", chunk)
    drawn = values.DeviceValueSampler(*_transitions(sites, noise), place).draw(stream, samples)
    return view_of(sites, Way.DEVICE_VALUES, place)(drawn)


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("name", WORLDS)
def test_values_follow_the_law_of_their_site(name, place):
    """χ² of the values of every site, and of the values of neighbouring sites and copies together."""
    world, samples = WORLDS[name](), 40_000
    laws, law = _transitions(*world)
    found = draw(world, samples, place).values
    chances = [np.array([float(p) for p in laws[each]]) for each in law]
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
    return values.DeviceValueSampler([law], np.array([0]), "cpu").draw(stream, 1).values.item()


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
    batch = draw(world, 200, place)
    here = view_of(sites, Way.VALUES)(ValueDraw(batch.values))
    for one, other in ((batch, here), (batch[20:50], here[20:50])):
        mine, theirs = one.edges(), other.edges()
        for ours, expected in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(ours, expected)
        np.testing.assert_array_equal(one.adjacency(), other.adjacency())
        np.testing.assert_array_equal(one.adjacency_on(CPU), other.adjacency() > 0)
        np.testing.assert_array_equal(one.typed_adjacency_on(CPU), other.adjacency())
        np.testing.assert_array_equal(other.typed_adjacency_on(CPU), other.adjacency())
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
    mine, theirs = (each._draw.flips_of(chosen, sites.nonzero) for each in (batch, here))
    np.testing.assert_array_equal(mine.places, theirs.places)
    np.testing.assert_array_equal(mine.shown, theirs.shown)


@pytest.mark.parametrize("place", DEVICES)
def test_rows_of_categories_stay_where_they_were_drawn(place):
    row = sc.Categories((0, 1, 2, 1, 0), values=3)
    regions = {"a": [1, 3], "b": [0]}
    world = bound(row, sc.Noise(a=sc.Categorical(0.4), b=sc.Categorical(0.2)), regions)
    batch = draw(world, 300, place)
    assert type(batch).__name__ == "DeviceVectors"
    np.testing.assert_array_equal(batch.vectors_on(CPU), batch.vectors())
    assert (batch.vectors()[:, [2, 4]] == [2, 0]).all()
    assert len(np.unique(batch.vectors(), axis=0)) > 10


def test_portions_are_the_copies_of_a_chunk_and_a_function_of_its_stream(monkeypatch):
    sites, noise = world = WORLDS["types"]()
    whole = draw(world, 300).values
    assert (whole != draw(world, 300, chunk=1).values).any()
    device = values.DeviceRows.__module__
    monkeypatch.setattr(f"{device}.NUMBERS", 64 * sites.n_sites)
    monkeypatch.setattr(f"{device}.HELD", 1)
    drawn = values.DeviceValueSampler(*_transitions(sites, noise), "cpu")
    portions = list(drawn.portions(WordStream.of_chunk(1, sites.clean.key, "estimation", 0), 300, 150))
    assert len(portions) == 3
    np.testing.assert_array_equal(np.concatenate([each.values for each in portions]), whole[:150])


def test_values_are_drawn_where_the_model_is():
    for make in WORLDS.values():
        assert way_of(*make(), "cpu")[0] is Way.VALUES
        assert way_of(*make(), "cuda")[0] is Way.DEVICE_VALUES


class Viewed(NamedTuple):
    """What draws as on a device, wherever it is."""

    sites: object
    draws: object

    def portions(self, stream, samples, wanted):
        return map(view_of(self.sites, Way.DEVICE_VALUES, "cpu"), self.draws.portions(stream, samples, wanted))


@pytest.mark.parametrize("place", DEVICES)
def test_a_network_on_typed_edges_votes_there(place, monkeypatch):
    graph, noise = molecule(node_data={"x": np.eye(7, dtype=np.float32)}), WORLDS["types"]()[1]
    torch.manual_seed(1)
    model = sc.models.GINE(7, 3, 2, hidden=16).eval()
    world = bound(graph, noise)
    copies = draw(world, 512, place)
    logits = sc.classifiers.from_pyg(model, n_classes=2).logits(copies)
    with torch.no_grad():
        model.linear.bias[0] -= (logits[:, 0] - logits[:, 1]).quantile(0.3)
    logits = sc.classifiers.from_pyg(model, n_classes=2).logits(copies)
    there = sc.classifiers.from_pyg(model.to(place), n_classes=2)
    torch.testing.assert_close(there.logits(copies).cpu(), logits, rtol=1e-4, atol=1e-4)
    if place == "cpu":
        made = lambda *world: Viewed(world[0], values.DeviceValueSampler(*_transitions(*world), "cpu"))  # noqa: E731
        monkeypatch.setattr(there, "sampler", made)
    smoothed = sc.SmoothedClassifier(there, noise)
    first, again = (smoothed.vote([graph], samples=2000, seed=2) for _ in range(2))
    assert first.counts.tolist() == again.counts.tolist()
    assert min(first.counts[0]) > 300
    evidence = smoothed.certify([graph], samples=2000, seed=2, evidence=True)
    plain = smoothed.certify([graph], samples=2000, seed=2)
    assert evidence.votes.counts.tolist() == plain.votes.counts.tolist() == first.counts.tolist()
