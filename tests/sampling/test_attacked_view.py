"""An object under attacks, in every form that copies are held in: what differs from the clean one is the attack."""

import numpy as np
import pytest
from device_worlds import DEVICES

import starcert as sc
from starcert.objects.sites import Sites
from starcert.objects.threats import Attacks
from starcert.sampling import attacked_view as attacked
from starcert.sampling.attacked_view import attacked_method, attacked_view, fitting_attacks
from starcert.sampling.draws import Method

RING = [(i, (i + 1) % 6) for i in range(6)]
GRAPH = sc.Graph(6, [tuple(sorted(pair)) for pair in RING])
TYPED = sc.Graph(4, [(0, 1), (1, 2)], edge_types=["s", "d"], type_names=("s", "d"))
ARCS = sc.Graph(4, [(0, 1), (3, 1)], directed=True)
ROW = sc.Categories([0, 2, 1, 1], values=3)
PART = sc.Partition.from_node_sets({"core": range(4), "rest": range(4, 6)})
OBJECTS = [
    (Sites.everything(GRAPH, "all"), [Method.SPARSE, Method.DEVICE_DENSE, Method.DEVICE_SPARSE]),
    (PART.sites(GRAPH), [Method.SPARSE, Method.DEVICE_DENSE, Method.DEVICE_SPARSE]),
    (Sites.everything(TYPED, "all"), [Method.SPARSE, Method.DEVICE_DENSE]),
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
    if sites.clean is GRAPH:
        u, v = sites.coordinates(np.arange(sites.n_sites))
        fixed = {tuple(each) for each in sites.fixed_edges.tolist()}
        for row, pairs in zip(wanted, copies.edges().pairs(), strict=True):
            there = {(int(u[i]), int(v[i])) for i in np.flatnonzero(row)} | fixed
            assert {tuple(each) for each in pairs.tolist()} == there


def test_few_sites_are_held_whole_on_a_device_and_of_many_those_that_changed(monkeypatch):
    sites, typed = Sites.everything(GRAPH, "all"), Sites.everything(TYPED, "all")
    assert attacked_method(sites, "cpu") is Method.SPARSE
    assert attacked_method(sites, "cuda") is Method.DEVICE_DENSE
    assert fitting_attacks(sites, "cuda", 2**30) == attacked.MAX_COPY_BYTES // 15
    monkeypatch.setattr(attacked, "MAX_DENSE_ON_DEVICE", 2)
    assert attacked_method(sites, "cuda") is Method.DEVICE_SPARSE
    assert attacked_method(typed, "cuda") is Method.DEVICE_DENSE
    monkeypatch.setattr(attacked, "MAX_OTHERS_ON_DEVICE", 2)
    assert attacked_method(typed, "cuda") is Method.SPARSE
    assert fitting_attacks(typed, "cuda", 2**30) == 2**30
