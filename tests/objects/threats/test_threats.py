"""What threats say, how they are written and read, what they refuse, and how far they list."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import threat_worlds as worlds

import starcert as sc
from starcert.certificates.attack_axes import axes_of
from starcert.math.attacked_sites import number_attack
from starcert.objects import Layer, Sites
from starcert.objects.threats import (
    MAX_ATTACKS,
    Additions,
    AnyFlips,
    Attacks,
    Box,
    Changes,
    Controlled,
    DeleteNode,
    Deletions,
    InjectNode,
    LocalBudget,
    RestoreNode,
    Rewire,
    Swap,
    Threat,
    UnfitError,
    Valence,
    Where,
    after,
    attackable,
    by_level,
    threat_of,
    with_spare_nodes,
)
from starcert.objects.threats.text import THREATS
from starcert.system.errors import InvalidParameterError


def near(frame, u, v):
    return u + 1 == v


EVERY = {
    AnyFlips(2): ("flips:2", "any 2 flips"),
    AnyFlips(1): ("flips:1", "any 1 flip"),
    Deletions(2): ("deletions:2", "at most 2 deletions"),
    Deletions(1): ("deletions:1", "1 deletion"),
    Additions(3): ("additions:3", "at most 3 additions"),
    Changes(2): ("changes:2", "at most 2 changed values"),
    Box({"b.delete": 1, "a": 2}): ("box:a=2,b.delete=1", "at most 2 in a, 1 in b.delete"),
    Rewire(1): ("rewire:1", "1 rewired edge"),
    Swap(2): ("swap:2", "at most 2 swaps of two edges"),
    LocalBudget(3, per_node=1): ("local:3,per_node=1", "at most 3 flips, 1 at each node"),
    LocalBudget(4, strength=2, counting="scip"): (
        "local:4,strength=2,counting=scip",
        "at most 4 entries, local strength 2",
    ),
    Controlled(["a", "b", 3], 2): ("controlled:2,nodes=a|b|3", "at most 2 flips at a, b, 3"),
    Controlled("x|y, (z)", 1): ("controlled:1,nodes=x%7Cy%2C%20%28z%29", "1 flip at x|y, (z)"),
    Controlled(7, 1): ("controlled:1,nodes=7", "1 flip at 7"),
    Where(near, 2): ("where:2,name=near", "at most 2 flips where near"),
    Where(near, 1, layer="pairs"): ("where:1,name=near,layer=pairs", "1 flip where near"),
    Valence(2): ("valence:2", "at most 2 flipped bonds that keep valences"),
    Valence(1, ("C", "N"), {"S": 2, "C": 3}): (
        "valence:1,elements=C|N,C=3,S=2",
        "1 flipped bond that keeps valences",
    ),
    DeleteNode(1): ("delete_node:1", "1 removed node"),
    RestoreNode(2): ("restore_node:2", "at most 2 nodes without edges that get some"),
    InjectNode(edges=2): ("inject:2", "an injected node with at most 2 edges"),
    InjectNode(edges=1, nodes=("n", "m")): ("inject:1,nodes=n|m", "injected nodes with 1 edge in all"),
    Rewire(1) | Deletions(2): ("rewire:1 | deletions:2", "1 rewired edge or at most 2 deletions"),
    Rewire(1) & AnyFlips(2): ("rewire:1 & flips:2", "what is both 1 rewired edge and any 2 flips"),
    Deletions(1) + Additions(1): ("deletions:1 + additions:1", "1 deletion, then 1 addition"),
    (Deletions(1) + Additions(1)) & Controlled(["a", "b"], 2): (
        "(deletions:1 + additions:1) & controlled:2,nodes=a|b",
        "what is both 1 deletion, then 1 addition and at most 2 flips at a, b",
    ),
}


@pytest.mark.parametrize("threat", EVERY, ids=str)
def test_a_threat_is_written_as_it_is_read(threat):
    text, label = EVERY[threat]
    assert (str(threat), threat.label) == (text, label)
    assert threat_of(text, predicates={"near": near}) == threat
    assert threat_of(threat) is threat


def test_every_threat_is_tried_here():
    assert set(THREATS) <= set(map(type, EVERY))
    assert len({each.word for each in THREATS}) == len(THREATS)


def test_operators_bind_as_in_python():
    a, b, c, d = Rewire(1), Deletions(1), Additions(1), AnyFlips(2)
    assert threat_of("rewire:1 | deletions:1 + additions:1 & flips:2") == a | b + c & d
    assert threat_of("(rewire:1 | deletions:1) + ( additions:1 & flips:2 )") == (a | b) + (c & d)
    assert threat_of("rewire:1 + deletions:1 + additions:1") == a + b + c


@pytest.mark.parametrize(
    "given",
    [
        "",
        None,
        2,
        "flips",
        "flips:",
        "flips:0",
        "flips:-1",
        "flips:1.0",
        "flips:²",
        "flips:2,most=3",
        "rewired:1",
        "rewire:1 |",
        "| rewire:1",
        "rewire:1 rewire:2",
        "rewire:1|flips:1",
        "(rewire:1",
        "rewire:1)",
        "rewire:1,nodes=a",
        "local:3",
        "local:3,per_node=0",
        "local:3,per_node=1,strength=1",
        "local:3,per_node=1,counting=entries",
        "controlled:2",
        "box:2",
        "box:a=0",
        "box:a=1,a.add=1",
        "box:a.known=1",
        "inject:2,edges=3",
        "valence:2,C=many",
        "where:2,name=near",
        "where:2",
    ],
)
def test_what_is_no_threat_is_refused_in_one_message(given):
    with pytest.raises(InvalidParameterError) as refused:
        threat_of(given, "--threat")
    assert str(refused.value).startswith("'--threat' must ")
    assert "\n" not in str(refused.value)


def test_a_name_that_is_close_is_proposed():
    with pytest.raises(InvalidParameterError, match=r"Did you mean rewire\?$"):
        threat_of("rewired:1")


# What they do not fit -----------------------------------------------------------------------------------------------

PATH = sc.Graph(3, [(0, 1), (1, 2)], nodes="abc")
EDGES, ROW = Sites.everything(PATH, "all"), Sites.everything(sc.Categories([0, 1, 2], values=3), "all")


@pytest.mark.parametrize(
    ("threat", "sites", "why"),
    [
        (Rewire(1), ROW, r"must fit the objects: 1 rewired edge needs node pairs or arcs in the regions\. Got 'Cat"),
        (Swap(1), ROW, "needs node pairs"),
        (DeleteNode(1), ROW, "needs node pairs"),
        (LocalBudget(2, per_node=1), ROW, "needs node pairs"),
        (Controlled("a", 1), ROW, "needs node pairs"),
        (
            Deletions(1),
            ROW,
            r"must fit the objects, and 1 deletion can change nothing there\. Got .*columns \(3 values\)",
        ),
        (Changes(1), EDGES, "can change nothing there"),
        (Controlled("d", 1), EDGES, "must name nodes of the graph. Got 'd' instead"),
        (InjectNode(edges=1), EDGES, "must name nodes of the graph. Got 'spare' instead"),
        (Box({"rest": 1}), EDGES, "must name axes of the regions all. Got 'rest in box:rest=1'"),
        (Valence(1), EDGES, "must know the elements, node data atomic_number or element that is not attacked"),
        (Valence(1), ROW, "needs node pairs"),
        (Where(near, 1, layer="x"), EDGES, "must choose among sites of the layers in the regions, pairs. Got 'x'"),
        (Rewire(1) | Controlled("d", 1), EDGES, "must name nodes"),
    ],
    ids=str,
)
def test_an_object_that_it_does_not_fit_is_refused_in_one_message(threat, sites, why):
    with pytest.raises(UnfitError, match=why):
        threat.check(sites)
    with pytest.raises(UnfitError, match=why):
        threat.attacks(sites, 1)
    with pytest.raises(UnfitError, match=why):
        threat.count(sites, 1)


def atoms(symbols, edges, **more):
    return Sites.everything(sc.Graph(len(symbols), edges, node_data={"element": list(symbols)}, **more), "all")


def test_molecules_that_exceed_valences_are_refused():
    with pytest.raises(UnfitError, match=r"Got 'F 1 with 2 bonds .* 1' .*valences=\{'F': 2\}") as refused:
        Valence(1).check(atoms("CFC", [(0, 1), (1, 2)]))
    assert "molecules that keep valences" in str(refused.value)
    Valence(1, valences={"F": 2}).check(atoms("CFC", [(0, 1), (1, 2)]))
    with pytest.raises(UnfitError, match=r"valence of every element\. Got 'Na' instead\. Give valences=\{'Na': 1\}"):
        Valence(1).check(atoms(["Na", "C"], []))
    with pytest.raises(UnfitError, match="types of edges out of single, double"):
        Valence(1).check(atoms("CC", [(0, 1)], edge_types=["strong"]))
    with pytest.raises(UnfitError, match="undirected"):
        Valence(1).check(atoms("CC", [(0, 1)], directed=True))


def test_labels_and_charges_are_understood():
    labels = sc.Graph(2, [], node_data={"label": [0, 1]})
    assert Valence(1, ("C", "F")).count(Sites.everything(labels, "all"), 1) == 1
    with pytest.raises(UnfitError, match="labels from 0 to 0"):
        Valence(1, ("C",)).check(Sites.everything(labels, "all"))
    numbers = {"atomic_number": np.array([7, 9, 9, 9, 9]), "formal_charge": np.array([1, 0, 0, 0, 0])}
    ammonium = sc.Graph(5, [(0, 1), (0, 2), (0, 3)], node_data=numbers)
    assert list(Valence(1).attacks(Sites.everything(ammonium, "all"), 1))[-1] == ((3, 1),)
    neutral = sc.Graph(5, ammonium.edges, node_data=numbers | {"formal_charge": np.zeros(5, dtype=int)})
    assert Valence(1).count(Sites.everything(neutral, "all"), 1) == 3


def test_elements_that_are_attacked_say_nothing_about_valences():
    graph = sc.Graph(2, [], node_data={"element": ["C", "N"]}).with_categories("element", tuple("CNO"))
    with pytest.raises(UnfitError, match="that is not attacked"):
        Valence(1).check(sc.Partition.of_layers(bonds="pairs", atoms="element").sites(graph))


def test_nodes_with_one_text_cannot_be_told_apart():
    twins = Sites.everything(sc.Graph(3, [(0, 1)], nodes=(1, "1", 2)), "all")
    assert Controlled(2, 1).count(twins, 1) == 2
    with pytest.raises(UnfitError, match="differ in their text"):
        Controlled(1, 1).check(twins)


def test_a_function_that_does_not_choose_is_refused():
    for wrong in (lambda frame, u, v: u, lambda frame, u, v: np.ones(2, dtype=bool)):
        with pytest.raises(InvalidParameterError, match="return a truth value for each of 3 sites"):
            Where(wrong, 1).attacks(EDGES, 1)
    assert Where(lambda frame, u, v: True, 1, name="all").count(EDGES, 1) == 3


def test_noise_without_an_axis_for_a_change_is_refused():
    @dataclass(frozen=True)
    class Forget(sc.Law):
        alphabet, suffixes, moves = 3, (".lost",), (((1, 0), (2, 0)),)

        def transitions(self, value):
            return sc.Categorical(0.1, 3).transitions(value)

    for threat in (AnyFlips(1), Changes(1) | Changes(2)):
        with pytest.raises(InvalidParameterError, match="'noise' must have an axis for every change"):
            threat.levels(ROW, sc.Noise(all=Forget()), 1)


def test_types_are_attacked_everywhere_or_nowhere():
    graph = sc.Graph(3, [(0, 1)], edge_types=["x"], type_names=("x", "y"))
    partition = sc.Partition.from_pairs({"a": [(0, 1)], "b": [(0, 2)]}, anchored=False)
    with pytest.raises(InvalidParameterError, match="attack the types of all edges, or of none"):
        attackable(partition.sites(graph), sc.Noise(a=0.1, b=sc.Edges(delete=0.1, add=0.1, change=0.1)))


# Lists --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", [worlds.with_node_sites(), worlds.plain(3, types=2), worlds.rows(3, 3)])
def test_attacks_have_the_numbers_that_sampling_takes(world):
    for values in world.objects[::5]:
        sites = world.sites(values)
        axes = axes_of(sites, sc.Problem(world.noise, (sites,)).noise)
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


def test_counts_and_levels_need_no_list():
    sites = random_sites(60, 500)
    assert AnyFlips(50).count(sites, 50) > 10**90
    noise = sc.Noise(all=sc.Flip(delete=0.1, add=0.2))
    assert AnyFlips(40).levels(sites, noise, 40) == {(d, 40 - d) for d in range(41)}
    assert Deletions(40).levels(sites, noise, 40) == {(40, 0)}
    assert Rewire(1).levels(sites, noise, 1) == {(1, 1)}


def test_all_sites_at_once_are_one_attack():
    sites = random_sites(8, 10)
    for size in (26, 27, 28):
        assert len(AnyFlips(28).attacks(sites, size)) == AnyFlips(28).count(sites, size)
    assert AnyFlips(28).count(sites, 28) == 1
    assert AnyFlips(99).count(sites, 29) == len(AnyFlips(99).attacks(sites, 29)) == 0


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


# Spare nodes --------------------------------------------------------------------------------------------------------


def test_spare_nodes_have_no_edges_and_stated_data():
    graph = sc.Graph(
        3,
        [(0, 1), (1, 2)],
        node_data={"x": np.eye(3, dtype=np.float32), "element": ["C", "N", "C"], "bit": [0, 1, 1]},
        anchored_data={"degree": [1, 2, 1]},
        edge_types=["single", "double"],
    ).with_bits("bit")
    data = {"x": [[1, 0, 0], [0, 1, 0]], "element": ["O", "O"], "bit": [0, 1]}
    more = with_spare_nodes(graph, data, names=("s", "t"))
    assert more.nodes == (0, 1, 2, "s", "t")
    assert more.edges.tolist() == graph.edges.tolist()
    assert more.edge_types.tolist() == graph.edge_types.tolist()
    assert more.node_data["x"].dtype == np.float32
    assert more.node_data["x"][3:].tolist() == data["x"]
    assert more.node_sites["bit"].values.ravel().tolist() == [0, 1, 1, 0, 1]
    assert not more.anchored_data
    sites = sc.Partition.of_layers(bonds="pairs", bits="bit").sites(more)
    threat = InjectNode(edges=1, nodes=("s", "t"))
    assert threat.count(sites, 1) == 7 * 2  # of either type
    back = after(sites, threat.attacks(sites, 1).blocks[0][0])
    assert threat.reverse.count(back, 1) == 1


@pytest.mark.parametrize("data", [None, {"x": []}, {"x": [1], "y": [1]}, {"x": [1, 2]}])
def test_data_of_spare_nodes_must_be_stated(data):
    with pytest.raises(InvalidParameterError, match="node_data"):
        with_spare_nodes(sc.Graph(2, [], node_data={"x": [0, 1]}), data)


# A threat of your own -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Path(Threat):
    """Deletes at most `most` edges, in their order; all but `attacks` and `label` is inherited."""

    most: int
    word = "path"

    @property
    def label(self):
        return f"{self.most} edges of the path"

    def attacks(self, sites, size):
        edges = sites.graph.edges
        first = sites.locate(edges[:, 0], edges[:, 1])[: size if size <= self.most else 0]
        return Attacks.from_lists([[(position, 0) for position in first]] if len(first) == size else [])


def test_a_threat_of_your_own_needs_two_methods():
    path, noise = Path(2), sc.Noise(all=sc.Flip(delete=0.1, add=0.2))
    assert [list(path.attacks(EDGES, size)) for size in (1, 2, 3)] == [[((0, 0),)], [((0, 0), (2, 0))], []]
    assert (path.count(EDGES, 1), path.levels(EDGES, noise, 2)) == (1, {(2, 0)})
    assert path.reverse is None
    assert path.anchored.startswith("It is not known from which clean objects")
    assert (path | Rewire(1)).anchored == path.anchored
    assert (path + Rewire(1)).reverse is None
    path.check(ROW)
    assert threat_of("path:2 & rewire:1", threats=[Path]) == path & Rewire(1)
    assert {tuple(each) for each in (path + Additions(1)).attacks(EDGES, 2)} == {
        ((0, 0), (1, 1)),
        ((0, 0), (2, 0)),
    }


def test_a_threat_without_a_word_has_no_text():
    @dataclass(frozen=True)
    class Silent(Path):
        word = ""

    assert str(Silent(1)).endswith("Silent(most=1)")
    with pytest.raises(InvalidParameterError, match="be a threat with its number"):
        threat_of("Silent:1", threats=[Silent])


def test_attacks_are_divided_by_level():
    """Evidence weighs each level by itself: together they are the list, and each attack is on its own level."""
    world = worlds.in_two_regions()
    threat = Rewire(1) | AnyFlips(2)
    for clean in world.objects[::3]:
        sites, attacks = world.sites(clean), threat.attacks(world.sites(clean), 2)
        divided = by_level(attacks, sites, world.noise)
        assert set(divided) == threat.levels(sites, world.noise, 2)
        assert list(Attacks.of(divided.values())) == list(attacks)
        for level, rows in divided.items():
            for attack in Attacks.of([rows]):
                assert worlds.level_of(world, clean, worlds.after(clean, *attack)) == level


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


def test_units_are_whole_numbers():
    for make in (AnyFlips, Deletions, Rewire, DeleteNode, Valence):
        for wrong in (0, -1, 1.5, True, None, "2"):
            with pytest.raises(InvalidParameterError, match="whole number"):
                make(wrong)
    assert AnyFlips(np.int64(2)) == AnyFlips(2)
    assert replace(LocalBudget(3, per_node=1), most=1) == LocalBudget(1, per_node=1)
    with pytest.raises(InvalidParameterError, match="'right' must be a threat"):
        Rewire(1) | "flips:2"
