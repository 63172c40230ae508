"""Molecules: elements, charges, orders of bonds."""

import numpy as np
import pytest
import threat_worlds as worlds

import starcert as sc
from starcert.objects import Sites
from starcert.objects.threats import AnyFlips, Attacks, UnfitError, Valence, after, read_threat
from starcert.objects.threats.valence import keep_valences


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


def test_types_of_edges_that_are_numbers_are_explained():
    numbered = sc.Graph(2, [(0, 1)], node_data={"label": [0, 2]}, edge_types=[1], type_names=(0, 1, 2, 3))
    sites = Sites.everything(numbered, "all")
    with pytest.raises(UnfitError, match=r"types of edges out of single, .* Got 0 instead\. Say what they mean"):
        Valence(1, "MUTAG").check(sites)
    molecules = read_threat("valence:1,elements=MUTAG,bonds=MUTAG")
    assert molecules == Valence(1, "C/N/O/F/I/Cl/Br", ("aromatic", "single", "double", "triple"))
    assert [value for ((_, value),) in molecules.attacks(sites, 1)] == [0, 1, 3]  # no bond, aromatic, double


SYMBOLS = ("C", "N", "O", "F")
LAYERS = sc.Partition.of_layers(bonds="pairs", atoms="element")


def with_atoms(n, *, types=3, charges=None):
    """All graphs of n atoms, each of these elements, with bonds of these types between any two."""
    data = {} if charges is None else {"formal_charge": np.array(charges)}
    bonds = worlds.plain(n, types=types)

    def make(values):
        graph = bonds.make(values[: len(bonds.ends)])
        symbols = [SYMBOLS[value] for value in values[len(bonds.ends) :]]
        named = [] if graph.edge_types is None else [graph.type_names[each - 1] for each in graph.edge_types]
        typed = {"edge_types": named, "type_names": graph.type_names} if graph.type_names else {}
        made = sc.Graph(n, graph.edges, node_data={"element": symbols, **data}, **typed)
        return made.with_categories("element", SYMBOLS)

    def axis(site, old, new):
        return "atoms" if site >= len(bonds.ends) else "bonds" + bonds.axis(site, old, new).removeprefix("all")

    noise = sc.Noise(bonds=bonds.noise["all"], atoms=sc.Categorical(0.1))
    alphabets = (*bonds.alphabets, *[len(SYMBOLS)] * n)
    return worlds.World(make, alphabets, [*bonds.ends, *[None] * n], noise, axis, LAYERS, nodes=n)


def keeping(valences, charges=(0, 0, 0, 0)):
    """The definition: whatever changes, both molecules keep valences."""

    def keeps(world, values):
        graph = world.make(values)
        types = [1] * graph.n_edges if graph.edge_types is None else graph.edge_types.tolist()
        load = [0] * world.nodes
        for ends, order in zip(graph.edges.tolist(), types, strict=True):
            for node in ends:
                load[node] += order
        elements = [SYMBOLS[value] for value in values[len(values) - world.nodes :]]
        gained = [-abs(charge) if each == "C" else charge for each, charge in zip(elements, charges, strict=False)]
        return all(a <= valences[each] + more for a, each, more in zip(load, elements, gained, strict=True))

    return lambda world, x, y: keeps(world, x) and keeps(world, y)


USUAL = {"C": 4, "N": 3, "O": 2, "F": 1}


def test_bonds_and_atoms_change_together():
    two = with_atoms(2)
    assert worlds.check_threat(Valence(3), worlds.pairs(keeping(USUAL), 3), two) > 1_000
    charged = with_atoms(2, charges=[1, -1])
    assert worlds.check_threat(Valence(2), worlds.pairs(keeping(USUAL, (1, -1)), 2), charged) > 500
    small = {"C": 2, "N": 3, "O": 1, "F": 0}
    stated = Valence(2, valences={"C": 2, "O": 1, "F": 0})
    three = with_atoms(3, types=1)
    some = [values for number, values in enumerate(three.objects) if number % 7 == 0]
    assert worlds.check_threat(stated, worlds.pairs(keeping(small), 2), three, objects=some) > 500


def test_a_bond_may_come_with_the_atom_that_makes_room_for_it():
    """F–C, to C=C: neither a double bond at F nor three at O alone keep valences; together with the atom they do."""
    two = with_atoms(2)
    sites = two.sites((1, 3, 0))  # F–C
    alone, both = (set(Valence(2).attacks(sites, size)) for size in (1, 2))
    assert ((0, 2),) not in alone
    assert ((0, 2), (1, 0)) in both
    assert ((0, 3), (1, 2)) not in both


@pytest.mark.parametrize("smiles", ["CO", "C=O", "C#N", "CC=O", "CN=O", "C1CC1", "FC=C", "OC#N"])
def test_rdkit_sanitises_what_is_listed_and_nothing_else(smiles):
    """Every attack of sizes 1 and 2; hydrogens give way. Its clean-up is left out: that writes other charges."""
    chem, base = pytest.importorskip("rdkit.Chem"), pytest.importorskip("rdkit.rdBase")
    orders = (chem.BondType.SINGLE, chem.BondType.DOUBLE, chem.BondType.TRIPLE)

    def sanitises(graph):
        molecule = chem.RWMol()
        for symbol in graph.node_sites["x"].shown(graph.node_sites["x"].values):
            molecule.AddAtom(chem.Atom(symbol))
        for (u, v), order in zip(graph.edges.tolist(), graph.edge_types.tolist(), strict=True):
            molecule.AddBond(u, v, orders[order - 1])
        with base.BlockLogs():
            wrong = chem.SanitizeMol(molecule, chem.SANITIZE_ALL ^ chem.SANITIZE_CLEANUP, catchErrors=True)
        return wrong == chem.SANITIZE_NONE

    found = chem.MolFromSmiles(smiles)
    symbols = [atom.GetSymbol() for atom in found.GetAtoms()]
    edges = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in found.GetBonds()]
    types = [bond.GetBondType().name.lower() for bond in found.GetBonds()]
    graph = sc.Graph(
        len(symbols), edges, node_data={"x": symbols}, edge_types=types, type_names=("single", "double", "triple")
    ).with_categories("x", ("C", "N", "O", "F", "S", "Cl"))
    sites = sc.Partition.of_layers(bonds="pairs", atoms="x").sites(graph)
    valence = Valence(2)
    for size in (1, 2):
        every = AnyFlips(2).attacks(sites, size)
        kept = [attack for block in every.blocks for attack in block if sanitises(after(sites, attack).graph)]
        assert list(valence.attacks(sites, size)) == [tuple(divmod(each, 256) for each in row.tolist()) for row in kept]
        assert valence.count(sites, size) == len(kept) > 0
        assert keep_valences(sites, every).sum() == len(kept)


def test_elements_are_read_from_sites_of_any_name():
    x = sc.Graph(2, [(0, 1)], node_data={"x": ["C", "N"]}).with_categories("x", tuple("CNO"))
    fixed = sc.Graph(2, [(0, 1)], node_data={"x": ["C", "N"], "element": ["C", "N"]}).with_categories("x", tuple("CNO"))
    numbers = sc.Graph(2, [(0, 1)], node_data={"atomic_number": [6, 9]}).with_categories("atomic_number", (6, 9))
    labels = sc.Graph(2, [(0, 1)], node_data={"label": [0, 1]}).with_categories("label", (0, 1, 2))
    found = {}
    for threat, graph, name in (
        (Valence(1), x, "x"),
        (Valence(1), fixed, "x"),  # what is attacked comes before what is stated
        (Valence(1), numbers, "atomic_number"),
        (Valence(1, ("C", "N", "F")), labels, "label"),
    ):
        sites = sc.Partition.of_layers(bonds="pairs", atoms=name).sites(graph)
        found[graph] = list(threat.attacks(sites, 1))
    assert [len(each) for each in found.values()] == [5, 5, 3, 5]
    for graph in (x, fixed):  # elements that are sites in no region stay
        assert list(Valence(1).attacks(sc.Partition.of_layers(bonds="pairs").sites(graph), 1)) == [((0, 0),)]
    only_atoms = sc.Partition.of_layers(atoms="x").sites(x)
    assert list(Valence(1, valences={"C": 1, "N": 1, "O": 0}).attacks(only_atoms, 1)) == [((0, 1),), ((1, 0),)]


def test_sites_that_are_no_elements_are_refused_with_the_way_out():
    graph = sc.Graph(2, [], node_data={"x": np.eye(2)}).with_categories("x")
    sites = sc.Partition.of_layers(bonds="pairs", atoms="x").sites(graph)
    with pytest.raises(UnfitError, match=r"Got 'a graph with x \(sites\)'.* get them by graph\.with_categories\('x'"):
        Valence(1).check(sites)
    assert keep_valences(sites, Attacks.from_lists([[(0, 1)]])) is None
    assert keep_valences(Sites.everything(sc.Bits([0, 1]), "all"), Attacks.from_lists([[(0, 1)]])) is None
    unknown = sc.Graph(2, [], node_data={"x": ["C", "Na"]}).with_categories("x", ("C", "Na"))
    with pytest.raises(UnfitError, match=r"valence of every element\. Got 'Na'"):
        Valence(1).attacks(sc.Partition.of_layers(bonds="pairs", atoms="x").sites(unknown), 1)
