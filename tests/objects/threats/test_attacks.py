"""Lists of attacks: what they hold, how many there may be, and the objects after an attack."""

import numpy as np
import pytest
import threat_worlds as worlds

import starcert as sc
from starcert.math.attacked_sites import group_attacks, number_attack
from starcert.objects import Layer, Sites
from starcert.objects.binding import attack_axes
from starcert.objects.threats import (
    MAX_ATTACKS,
    Additions,
    AnyFlips,
    Attacks,
    Box,
    Controlled,
    DeleteNode,
    Deletions,
    LocalBudget,
    Rewire,
    Swap,
    after,
)
from starcert.system.errors import InvalidParameterError

EDGES = Sites.everything(sc.Graph(3, [(0, 1), (1, 2)], nodes="abc"), "all")


@pytest.mark.parametrize("world", [worlds.with_node_sites(), worlds.plain(3, types=2), worlds.rows(3, 3)])
def test_attacks_have_the_numbers_that_sampling_takes(world):
    for values in world.objects[::5]:
        sites = world.sites(values)
        axes = attack_axes(sites, sc.Problem(world.noise, (sites,)).noise)
        attacks = AnyFlips(2).attacks(sites, 2)
        expected = sorted(number_attack(axes, *zip(*attack, strict=True)) for attack in attacks)
        assert sorted(map(tuple, attacks.numbers(sites)[0].tolist())) == expected


def test_the_attacked_object_is_the_one_that_is_meant():
    for world in (worlds.with_node_sites(), worlds.plain(3, types=2), worlds.in_two_regions(), worlds.rows(3, 3)):
        for clean, attacked in zip(world.objects, world.objects[::-1], strict=True):
            changes = [256 * site + attacked[site] for site in worlds.different(clean, attacked)]
            found = after(world.sites(clean), np.array(changes, dtype=np.int64))
            expected = world.sites(attacked)
            assert found.clean == expected.clean
            assert found.counts == expected.counts
            assert found.clean.frame.key == expected.clean.frame.key


def random_sites(n, n_edges):
    rng = np.random.default_rng(n)
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    return Sites.everything(sc.Graph(n, pairs[rng.choice(len(pairs), n_edges, replace=False)]), "all")


MILLIONS = [
    (AnyFlips(2), 54, 100, 2),
    (Deletions(2), 300, 1_450, 2),
    (Additions(2), 58, 200, 2),
    (Rewire(1), 200, 3_000, 1),
    (LocalBudget(2, per_node=1), 56, 100, 2),
    (LocalBudget(3, per_node=2), 20, 30, 3),
    (Controlled(range(8), 2), 200, 400, 2),
    (Box({"all.delete": 1, "all.add": 1}), 54, 1000, 2),
]


@pytest.mark.parametrize(("threat", "n", "n_edges", "size"), MILLIONS, ids=[str(each[0]) for each in MILLIONS])
def test_about_a_million_attacks_are_listed_at_once(threat, n, n_edges, size):
    sites = random_sites(n, n_edges)
    found = threat.attacks(sites, size)
    assert len(found) > 400_000
    assert threat.count(sites, size) == len(found)


@pytest.mark.parametrize(
    ("threat", "size"), [(AnyFlips(4), 4), (Additions(3), 3), (LocalBudget(4, per_node=3), 4), (Rewire(3), 3)], ids=str
)
def test_too_many_attacks_are_refused_before_they_are_listed(threat, size):
    sites = random_sites(60, 500)
    with pytest.raises(
        InvalidParameterError, match=f"at most ({MAX_ATTACKS:,} attacks of one size|16,384 objects in between)"
    ) as error:
        threat.attacks(sites, size)
    assert threat.label in str(error.value)


def test_counts_need_no_list():
    sites = random_sites(60, 500)
    assert AnyFlips(50).count(sites, 50) > 10**90
    noise = sc.Noise(all=sc.Flip(delete=0.1, add=0.2))
    assert AnyFlips(2).levels(sites, noise, 2) == {(d, 2 - d) for d in range(3)}
    assert Rewire(1).levels(sites, noise, 1) == {(1, 1)}


def test_an_empty_graph_has_no_attacks():
    for n in (0, 1):
        sites = Sites.everything(sc.Graph(n, []), "all")
        for threat in (AnyFlips(1), Rewire(1), Swap(1), DeleteNode(1), LocalBudget(1, per_node=1)):
            assert len(threat.attacks(sites, 1)) == threat.count(sites, 1) == 0


def test_lists_are_sets():
    one, other = Attacks.from_lists([[(1, 0)], [(1, 0), (2, 1)]]), Attacks.from_lists([[(2, 1), (1, 0)], [(3, 1)]])
    assert list(one | other) == [((1, 0),), ((3, 1),), ((1, 0), (2, 1))]
    assert list(one & other) == [((1, 0), (2, 1))]
    assert list(one - other) == [((1, 0),)]
    assert len(Attacks()) == 0
    assert list(one | Attacks()) == list(one)


@pytest.mark.parametrize("wrong", [[(0, 0), (0, 1)], [(3, 1)], [(0, 1)], [(0, 2)]])
def test_what_is_no_attack_is_refused(wrong):
    """Site 0 is 1 and there are three bits: a list of one's own may be wrong in any of these ways."""
    assert len(Attacks.from_lists([[(0, 0), (1, 1)]]).check(EDGES)) == 1
    with pytest.raises(InvalidParameterError, match="give sites of the object other values, each site once"):
        Attacks.from_lists([[(0, 0)], wrong, [(0, 0), (1, 1)]]).check(EDGES)
    for change in ((-1, 0), (0, -1), (0, 256)):
        with pytest.raises(InvalidParameterError, match="give positions values from 0 to 255"):
            Attacks.from_lists([[(2, 0), change]])


def test_attacks_are_divided_by_level():
    """Evidence weighs each level by itself: together they are the list, and each attack is on its own level."""
    world = worlds.in_two_regions()
    threat = Rewire(1) | AnyFlips(2)
    for clean in world.objects[::3]:
        sites, attacks = world.sites(clean), threat.attacks(world.sites(clean), 2)
        axes = attack_axes(sites, world.noise)
        parts = group_attacks(axes, attacks.numbers(sites))
        assert {part.level for part in parts} == threat.levels(sites, world.noise, 2)
        divided = {part.attack(axes, row): part.level for part in parts for row in range(len(part.rows))}
        assert len(divided) == sum(len(part.rows) for part in parts) == len(attacks)
        for attack in attacks:
            (number,) = map(tuple, Attacks.from_lists([attack]).numbers(sites)[0].tolist())
            assert divided[number] == worlds.level_of(world, clean, worlds.after(clean, *attack))


def test_objects_of_other_kinds_have_no_steps():
    class Cells:
        key, frame = "cells", None
        layers = (Layer("cells", 3, 2),)

        def nonzero(self, layer):
            return (np.array([1]),), np.array([1], dtype=np.uint8)

    sites = Sites.everything(Cells(), "all")
    assert [threat.count(sites, 1) for threat in (AnyFlips(1), Deletions(1), Additions(1))] == [3, 1, 2]
    with pytest.raises(InvalidParameterError, match="be of a kind that knows attacked objects"):
        (Deletions(1) + Additions(1)).attacks(sites, 2)
