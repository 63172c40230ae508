"""Attacks in words name what the axes count, by the kind and the layer of their sites, and never more than that."""

import sys

import numpy as np
import pytest

import starcert as sc
from starcert.objects.graph_kind import formula_of, is_molecule
from starcert.objects.molecules import ORDERS
from starcert.objects.words import AttackWords, Words, attack_words

EDGES = sc.Edges(delete=0.1, add=0.1, change=0.1)
MOLECULE = sc.Graph(
    4, [(0, 1), (1, 2), (2, 3)], edge_types=["single", "double", "single"], type_names=ORDERS,
    node_data={"element": ("C", "C", "O", "N")},
).with_categories("element", ("C", "N", "O"))  # fmt: skip
PLAIN = sc.Graph(4, [(0, 1)], node_data={"x": np.eye(4, dtype=int)}).with_bits("x")


def words_of(graph, noise, regions):
    bound = sc.SmoothedClassifier(sc.classifiers.from_callable(lambda graph: 0, n_classes=2), noise, regions)
    problem = bound.problem([graph])
    words = AttackWords(problem.noise, Words.of(problem.sites, nodes=False))
    return words, problem.sites[0].capacity(problem.noise)


def sets(**named):
    return lambda graph: sc.Partition.from_node_sets(named)


def test_a_molecule_has_bonds_and_atoms():
    words, capacity = words_of(
        MOLECULE, sc.Noise(bonds=EDGES, atoms=sc.Categorical(0.1)), {"bonds": "pairs", "atoms": "element"}
    )
    assert words.level((1, 0, 0, 1)) == "1 bond deleted and 1 atom changed"
    assert words.level((2, 1, 0, 3)) == "2 bonds deleted, 1 bond added and 3 atoms changed"
    assert words.level((0, 0, 0, 0)) == "no flip"
    assert words.step(capacity) == "change of a bond (deleted, added or of another type) or of an atom"
    assert (
        words.radii([(1, 0, 0, 1), (0, 2, 0, 0), (0, 0, 0, 1)], 2)
        == "1 bond deleted and 1 atom changed; 2 bonds added; 1 more"
    )


@pytest.mark.parametrize(
    ("graph", "noise", "regions", "level", "said", "step"),
    [
        # Regions that leave sites out are named: nothing is certified outside them.
        (MOLECULE, sc.Noise(ring=EDGES), sets(ring=[0, 1, 2]), (1, 0, 2),
         "1 bond deleted in ring and 2 bonds changed in ring",
         "change of a bond (deleted, added or of another type) in ring"),
        # The name of a region is no noun of another layer: these are pairs of atoms.
        (MOLECULE, sc.Noise(atoms=EDGES), sets(atoms=[0, 1, 2]), (1, 0, 0), "1 bond deleted in atoms",
         "change of a bond (deleted, added or of another type) in atoms"),
        # Types are not attacked by flips of presence.
        (MOLECULE, sc.Noise(bonds=sc.Flip(delete=0.1, add=0.1)), {"bonds": "pairs"}, (1, 2),
         "1 bond deleted and 2 bonds added", "addition or deletion of a bond"),
        (PLAIN, sc.Noise(all=0.1, words=sc.Flip(delete=0.2, add=0.1)), {"all": "pairs", "words": "x"}, (1, 0, 2),
         "1 edge flipped and 2 words added", "addition or deletion of an edge or flip of a word"),
        (PLAIN, sc.Noise(a=0.1, b=0.1), sets(a=[0, 1], b=[2, 3]), (1, 1),
         "1 edge flipped in a and 1 edge flipped in b", "addition or deletion of an edge in a or b"),
        (sc.Graph(3, [(0, 1)], directed=True), sc.Noise(all=sc.Flip(delete=0.1, add=0.1)), None, (1, 0),
         "1 arc deleted", "addition or deletion of an arc"),
        (sc.Categories([0, 1, 2], values=3), sc.Noise(left=sc.Categorical(0.1)), {"left": [0, 1]}, (2,),
         "2 columns changed in left", "change of a column in left"),
    ],
)  # fmt: skip
def test_every_kind_has_its_words(graph, noise, regions, level, said, step):
    words, capacity = words_of(graph, noise, regions)
    assert words.level(level) == said
    assert words.step(capacity) == step


def test_regions_together_may_cover_what_none_covers_alone():
    both = sc.Partition.from_node_sets({"a": [0, 1], "b": [2, 3]}, between={"c": ("a", "b")})
    words, capacity = words_of(PLAIN, sc.Noise(a=0.1, b=0.1, c=0.1), lambda graph: both)
    assert words.step(capacity) == "addition or deletion of an edge"
    assert words.step((0, 0, 0)) == "flip"
    # Under different laws a step is not the same everywhere: each has its regions.
    noise = sc.Noise(a=EDGES, b=sc.Flip(0.1), c=sc.Flip(0.1))
    words, capacity = words_of(MOLECULE, noise, lambda graph: both)
    expected = "change of a bond (deleted, added or of another type) in a or addition or deletion of a bond in b or c"
    assert words.step(capacity) == expected


def test_the_noise_alone_says_what_it_can():
    words = AttackWords(sc.Noise(bonds=EDGES, atoms=sc.Categorical(0.1), motif=0.1))
    assert words.level((1, 0, 0, 2, 3)) == "1 bond deleted, 2 changed in atoms and 3 in motif"
    assert words.step((1, 1, 1, 1, 1)) == (
        "change of a bond (deleted, added or of another type) in bonds or flip in atoms or motif"
    )
    assert AttackWords(sc.Noise(a=0.1, b=0.2)).radii([(1, 45)], 4) == "(1, 45)"
    assert AttackWords(sc.Noise(a=0.1)).radii([], 4) == "none"


def told(clean, regions, *changes):
    """What becomes of sites, each a layer, coordinates and a new value."""
    sites = clean.kind.sites(clean, regions)
    positions = [int(sites.locate(*([each] for each in place), layer=layer)[0]) for layer, place, _ in changes]
    return attack_words(positions, [value for _, _, value in changes], sites)


def test_sites_say_what_becomes_of_them():
    both = {"bonds": "pairs", "atoms": "element"}
    assert told(MOLECULE, both, ("element", (2, 0), 1), ("pairs", (0, 3), 2), ("pairs", (0, 1), 2)) == (
        "atom 2: O → N",
        "bond 0–3 added, double",
        "bond 0–1: single → double",
    )
    assert told(MOLECULE, {"all": "pairs"}, ("pairs", (0, 1), 0), ("pairs", (1, 2), None), ("pairs", (0, 2), None)) == (
        "bond 0–1 deleted, single",
        "bond 1–2 deleted",
        "bond 0–2 added",
    )
    numbers = {"atomic_number": np.array([6, 8])}  # elements that no attack changes
    known = sc.Graph(2, [(0, 1)], nodes="ab", node_data=numbers, edge_types=["double"], type_names=ORDERS)
    assert told(known, {"all": "pairs"}, ("pairs", (0, 1), 0)) == ("bond C a–O b deleted, double",)
    two = sc.Graph(2, [], node_data={"ring": [0, 1], "part": [0, 1]})
    two = two.with_categories("ring", (0, 1, 2)).with_categories("part", (0, 1, 2))
    assert told(two, {"all": "ring"}, ("ring", (0, 0), 2)) == ("node 0, ring: 0 → 2",)
    assert told(PLAIN, {"all": "pairs", "x": "x"}, ("pairs", (0, 1), None), ("x", (1, 1), None)) == (
        "edge 0–1 deleted",
        "feature x[1] of 1: 1 → 0",
    )
    assert told(PLAIN, {"words": "x"}, ("x", (1, 2), None)) == ("word x[2] of 1: 0 → 1",)
    arcs = sc.Graph(2, [], directed=True)
    assert told(arcs, {"arcs": "arcs"}, ("arcs", (1, 0), None)) == ("arc 1→0 added",)
    row = sc.Categories(["low", "high"], values=("low", "mid", "high"), names=("age", "pay"))
    assert told(row, {"all": "columns"}, ("columns", (1,), 0)) == ("pay: high → low",)
    mail = sc.Categories(["a", "very", "bad", "cheap"], values=("a", "very", "bad", "cheap", "free"))
    assert told(mail, {"words": "columns"}, ("columns", (3,), 4)) == ("word 3: cheap → free",)
    assert told(sc.Bits([0, 1]), {"all": "columns"}, ("columns", (0,), None)) == ("column 0: 0 → 1",)


def test_a_molecule_has_coordinates_orders_and_charges_by_rdkit(monkeypatch):
    pytest.importorskip("rdkit")
    graph = sc.Graph.from_smiles("C[N+](=O)[O-]", bond_types=True)
    drawn = graph.kind.drawing(graph)
    assert (drawn["orders"], drawn["charges"]) == ([1, 2, 1], [0, 1, 0, -1])
    assert formula_of(sc.Graph.from_smiles("C=O"), ["C", "O"])["orders"] == [2]
    assert len(formula_of(MOLECULE, None)["points"]) == 8
    assert (is_molecule(MOLECULE), is_molecule(PLAIN)) == (True, False)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    monkeypatch.setitem(sys.modules, "rdkit.Chem", None)
    assert "points" not in graph.kind.drawing(graph)
