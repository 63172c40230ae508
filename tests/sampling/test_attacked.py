"""Copies of attacked objects: their law is that of the noise on the attacked object, or they are that object itself."""

from itertools import product

import numpy as np
import pytest
from device_worlds import DEVICES

import starcert as sc
from starcert.objects.sites import Sites
from starcert.objects.threats import Attacks
from starcert.sampling import attacked, sampler
from starcert.sampling.attacked import AttackedCopies, attacked_method, attacked_view, fitting_attacks, own_chunk
from starcert.sampling.draws import LANES, Method

GRAPH = sc.Graph(4, [(0, 1), (1, 2)])
NOISE = sc.Noise(all=sc.Flip(delete=0.3, add=0.1))
ATTACK = (0, 1, 5)


@pytest.fixture(params=["dense", "sparse"])
def copies(request, monkeypatch):
    if request.param == "sparse":
        monkeypatch.setattr(sampler, "MAX_DENSE_BITS", 0)
        monkeypatch.setattr(sampler, "DENSE_SHARE", 1.0)
    return AttackedCopies(sites(), NOISE, seed=3)


def sites():
    return sc.SmoothedClassifier(sc.classifiers.from_callable(lambda _: 0, n_classes=2), NOISE).sites(GRAPH)


def of_first(drawn, n_attacks):
    """The copies for the first of these attacks."""
    return drawn.values[: len(drawn) // n_attacks]


def test_what_is_drawn_for_an_attack_does_not_depend_on_its_neighbours(copies):
    for chunk in (0, 1, 4, 5, 6, 7):
        alone = copies.draw([ATTACK], chunk).values
        among = copies.draw([(2,), ATTACK, (3, 4)], chunk).values
        assert len(alone) == len(own_chunk(chunk))
        assert np.array_equal(alone, among[len(alone) : 2 * len(alone)])
    assert not np.array_equal(copies.draw([ATTACK], 6).values, copies.draw([ATTACK], 7).values)
    early = np.concatenate([copies.draw([ATTACK], chunk).values for chunk in range(6)])
    assert len(np.unique(early, axis=0)) > 10  # no chunk repeats another


def test_attacks_share_the_noise_on_other_sites_and_draw_each_attacked_site_anew(copies):
    clean, first, second, both = (copies.draw([attack], 6).values for attack in ((), (1,), (4,), (1, 4)))
    np.testing.assert_array_equal(np.delete(first, 1, axis=1), np.delete(clean, 1, axis=1))
    np.testing.assert_array_equal(np.delete(both, 4, axis=1), np.delete(first, 4, axis=1))
    np.testing.assert_array_equal(both[:, 4], second[:, 4])
    assert abs(np.corrcoef(first[:, 1], second[:, 4])[0, 1]) < 0.6
    assert abs(np.corrcoef(first[:, 1], clean[:, 1])[0, 1]) < 0.6


def test_chunks_follow_each_other():
    ends = [own_chunk(chunk) for chunk in range(9)]
    assert [len(each) for each in ends] == [8, 8, 8, 8, 16, 16, LANES, LANES, LANES]
    assert [each.start for each in ends[1:]] == [each.stop for each in ends[:-1]]


TYPED = sc.Graph(3, [(0, 1), (1, 2)], edge_types=["s", "d"], type_names=("s", "d"))
LAWS = {  # a graph, a noise, an attack (site + 3 · rank of the new value), and what each site then shows
    "bits": (GRAPH, NOISE, ATTACK, [(0.9, 0.1), (0.3, 0.7)] * 3),
    "edges": (
        TYPED,
        sc.Noise(all=sc.Edges(delete=0.25, add=0.5, change=0.125)),
        (0, 2 + 3),  # the pair (0, 1) of type 1 goes, (1, 2) of type 2 becomes one of type 1
        [(0.5, 0.25, 0.25), (0.5, 0.25, 0.25), (0.25, 0.625, 0.125)],
    ),
    "flips": (
        TYPED,
        sc.Noise(all=sc.Flip(delete=0.25, add=0.5, added=(3.0, 1.0))),
        (1, 2),  # the pair (0, 2) is added, and draws its type; (1, 2) goes, and keeps its own
        [(0.25, 0.75, 0.0), (0.25, 0.5625, 0.1875), (0.5, 0.0, 0.5)],
    ),
}


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_that_of_the_attacked_object(name, form, monkeypatch):
    """All patterns of its sites, by a test of χ² that fails once in a million."""
    if form == "sparse":
        for limit in ("MAX_DENSE_BITS", "MAX_DENSE_VALUES"):
            monkeypatch.setattr(sampler, limit, 0)
        monkeypatch.setattr(sampler, "DENSE_SHARE", 1.0)
    graph, noise, attack, laws = LAWS[name]
    bound = sc.SmoothedClassifier(sc.classifiers.from_callable(lambda _: 0, n_classes=2), noise).problem([graph])
    own = AttackedCopies(bound.sites[0], bound.noise, seed=5)
    drawn = np.concatenate([of_first(own.draw([attack, (2,)], chunk), 2) for chunk in range(300)])
    chi, cells = 0.0, 0
    for pattern in product(range(len(laws[0])), repeat=len(laws)):
        expected = len(drawn) * np.prod([law[value] for law, value in zip(laws, pattern, strict=True)])
        seen = (drawn == pattern).all(axis=1).sum()
        assert expected or not seen
        chi, cells = chi + ((seen - expected) ** 2 / expected if expected else 0), cells + bool(expected)
    assert chi < cells - 1 + 6 * (2 * cells - 2) ** 0.5
    np.testing.assert_array_equal(own.draw([attack], 7).values, own.draw([(1,), attack], 7).values[LANES:])


def test_laws_on_more_values_are_refused():
    noise = sc.Noise(all=sc.Categorical(0.2, 3))
    with pytest.raises(sc.InvalidParameterError):
        AttackedCopies(sites(), noise, seed=1)


RING = [(i, (i + 1) % 6) for i in range(6)]
HEXAGON = sc.Graph(6, [tuple(sorted(pair)) for pair in RING])
PATH = sc.Graph(4, [(0, 1), (1, 2)], edge_types=["s", "d"], type_names=("s", "d"))
ARCS = sc.Graph(4, [(0, 1), (3, 1)], directed=True)
ROW = sc.Categories([0, 2, 1, 1], values=3)
PART = sc.Partition.from_node_sets({"core": range(4), "rest": range(4, 6)})
OBJECTS = [
    (Sites.everything(HEXAGON, "all"), [Method.SPARSE, Method.DEVICE_DENSE, Method.DEVICE_SPARSE]),
    (PART.sites(HEXAGON), [Method.SPARSE, Method.DEVICE_DENSE, Method.DEVICE_SPARSE]),
    (Sites.everything(PATH, "all"), [Method.SPARSE, Method.DEVICE_DENSE]),
    (Sites.everything(ARCS, "all"), [Method.SPARSE, Method.DEVICE_DENSE]),
    (Sites.everything(ROW, "all"), [Method.SPARSE, Method.DEVICE_DENSE]),
    (Sites.everything(sc.Bits([0, 1, 1]), "all"), [Method.SPARSE, Method.DEVICE_DENSE]),
]
CASES = [(sites, method) for sites, methods in OBJECTS for method in methods]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("sites", "method"), CASES)
def test_nothing_but_the_attacked_sites_differs(sites, method, device):
    clean, alphabet = sites.values.astype(int), sites.layers[0].alphabet
    rng, wanted, attacks = np.random.default_rng(1), [], []
    for size in (0, 1, 2, 3, 0, 1):
        chosen = np.sort(rng.permutation(sites.n_sites)[:size])
        new = (clean[chosen] + rng.integers(1, alphabet, size=size)) % alphabet
        row = clean.copy()
        row[chosen] = new
        wanted.append(row)
        attacks.append(Attacks(((256 * chosen + new)[None],)))
    copies = attacked_view(sites, device, method)(Attacks.joined(attacks))
    assert len(copies) == 6
    np.testing.assert_array_equal(copies.values, wanted)
    if sites.clean is HEXAGON:
        u, v = sites.coordinates(np.arange(sites.n_sites))
        fixed = {tuple(each) for each in sites.fixed_edges.tolist()}
        for row, pairs in zip(wanted, copies.edges().pairs(), strict=True):
            there = {(int(u[i]), int(v[i])) for i in np.flatnonzero(row)} | fixed
            assert {tuple(each) for each in pairs.tolist()} == there


def test_few_sites_are_held_whole_on_a_device_and_of_many_those_that_changed(monkeypatch):
    sites, typed = Sites.everything(HEXAGON, "all"), Sites.everything(PATH, "all")
    assert attacked_method(sites, "cpu") is Method.SPARSE
    assert attacked_method(sites, "cuda") is Method.DEVICE_DENSE
    assert fitting_attacks(sites, "cuda", 2**30) == attacked.MAX_COPY_BYTES // 15
    monkeypatch.setattr(attacked, "MAX_DENSE_ON_DEVICE", 2)
    assert attacked_method(sites, "cuda") is Method.DEVICE_SPARSE
    assert attacked_method(typed, "cuda") is Method.DEVICE_DENSE
    monkeypatch.setattr(attacked, "MAX_OTHERS_ON_DEVICE", 2)
    assert attacked_method(typed, "cuda") is Method.SPARSE
    assert fitting_attacks(typed, "cuda", 2**30) == 2**30
