"""Ring atoms, aromatic atoms and functional groups, against RDKit's own view of the same molecules."""

import pickle

import networkx as nx
import pytest
from region_worlds import certify, covers_everything, named_pairs, shuffled

import starcert as sc
from starcert.objects.molecules import guess_orders, molecule_of
from starcert.objects.regions.atoms import GROUPS
from starcert.objects.rule import partition_by_rule
from starcert.system.errors import InvalidParameterError

Chem = pytest.importorskip("rdkit.Chem")

SMILES = {
    "benzene": "c1ccccc1",
    "aniline": "Nc1ccccc1",
    "toluene": "Cc1ccccc1",
    "naphthalene": "c1ccc2ccccc2c1",
    "cyclohexane": "C1CCCCC1",
    "biphenyl": "c1ccccc1-c1ccccc1",
    "pyrrole": "c1cc[nH]c1",
    "tetralin": "C1CCc2ccccc2C1",
    "nitrobenzene": "O=[N+]([O-])c1ccccc1",
    "anion": "[O-]c1ccccc1.[Na+]",
    "ethanol": "CCO",
    "radical": "[CH2]C",
}


def atoms_in(partition: sc.Partition, region: str) -> set:
    return set(dict(partition.parts)[region].nodes)


@pytest.fixture(scope="module")
def mutag():
    return sc.datasets.tu("MUTAG", edge_labels=True).graphs


@pytest.mark.parametrize("smiles", SMILES.values(), ids=SMILES)
def test_ring_and_aromatic_atoms_are_rdkits(smiles):
    molecule, graph = Chem.MolFromSmiles(smiles), sc.Graph.from_smiles(smiles)
    rings = {atom.GetIdx() for atom in molecule.GetAtoms() if atom.IsInRing()}
    aromatic = {atom.GetIdx() for atom in molecule.GetAtoms() if atom.GetIsAromatic()}
    assert atoms_in(sc.regions.ring_atoms()(graph), "ring") == rings
    assert atoms_in(sc.regions.aromatic_atoms()(graph), "aromatic") == aromatic
    for rule in (sc.regions.ring_atoms(), sc.regions.aromatic_atoms(), sc.regions.functional_groups()):
        assert covers_everything(rule, graph)
        assert named_pairs(rule, shuffled(graph)) == named_pairs(rule, graph)
        assert partition_by_rule(rule, graph).reason == rule.reason != ""
        assert pickle.loads(pickle.dumps(rule))(graph) == rule(graph)


@pytest.mark.parametrize("smiles", SMILES.values(), ids=SMILES)
def test_a_graph_is_the_molecule_it_came_from(smiles):
    again = molecule_of(sc.Graph.from_smiles(smiles), None, None)
    assert Chem.MolToSmiles(again) == Chem.CanonSmiles(smiles)


def test_a_bridge_between_rings_is_no_ring_but_its_ends_are():
    graph = sc.Graph.from_networkx(nx.barbell_graph(3, 1))
    assert atoms_in(sc.regions.ring_atoms()(graph), "ring") == {0, 1, 2, 4, 5, 6}
    assert atoms_in(sc.regions.ring_atoms()(sc.Graph(3, [])), "rest") == {0, 1, 2}


@pytest.mark.parametrize(
    ("smiles", "group", "atoms"),
    [
        ("O=[N+]([O-])c1ccccc1", "nitro", {0, 1, 2}),
        ("O=Nc1ccccc1", "nitroso", {0, 1}),
        ("CC(=O)O", "carboxyl", {1, 2, 3}),
        ("CC(=O)[O-]", "carboxyl", {1, 2, 3}),
        ("CC(=O)OC", "ester", {1, 2, 3}),
        ("CC(=O)NC", "amide", {1, 2, 3}),
        ("CC(=O)C", "carbonyl", {1, 2}),
        ("OCC", "hydroxyl", {0}),
        ("COC", "ether", {1}),
        ("Nc1ccccc1", "amine", {0}),
        ("CN(C)C", "amine", {1}),
        ("CC#N", "nitrile", {1, 2}),
        ("CS", "thiol", {1}),
        ("FC(Cl)Br", "halide", {0, 2, 3}),
    ],
)
def test_each_group_is_found_where_it_is(smiles, group, atoms):
    partition = sc.regions.functional_groups(group)(sc.Graph.from_smiles(smiles))
    assert atoms_in(partition, group) == atoms
    together = sc.regions.functional_groups()(sc.Graph.from_smiles(smiles))
    assert atoms_in(together, "functional") >= atoms


@pytest.mark.parametrize(
    ("smiles", "group"),
    [("CC(=O)NC", "amine"), ("O=[N+]([O-])C", "amine"), ("CC(=O)OC", "ether"), ("CC(=O)O", "ether"), ("CO", "ether")],
)
def test_some_groups_are_not_others(smiles, group):
    if (smiles, group) == ("CC(=O)OC", "ether"):  # its oxygen has two carbons: the ester must come first
        partition = sc.regions.functional_groups(["ester", "ether"])(sc.Graph.from_smiles(smiles))
    else:
        partition = sc.regions.functional_groups(group)(sc.Graph.from_smiles(smiles))
    assert atoms_in(partition, group) == set()


def test_the_first_group_takes_an_atom():
    acid = sc.Graph.from_smiles("CC(=O)O")
    for order in (["carboxyl", "carbonyl"], ["carbonyl", "carboxyl"]):
        partition = sc.regions.functional_groups(order)(acid)
        assert partition.regions == (*order, "rest", "between")
        assert atoms_in(partition, order[0]) == ({1, 2, 3} if order[0] == "carboxyl" else {1, 2})
        assert atoms_in(partition, "carboxyl") | atoms_in(partition, "carbonyl") == {1, 2, 3}


def test_patterns_of_ones_own():
    graph = sc.Graph.from_smiles("OCC(N)C#N")
    rule = sc.regions.build("functional_groups:smarts=[N,O;!$(*#*)]")
    assert rule.regions == ("match", "rest", "between")
    assert atoms_in(rule(graph), "match") == {0, 3}
    both = sc.regions.build("functional_groups:groups=nitrile,smarts=[OX2]")
    assert both.regions == ("match", "nitrile", "rest", "between")
    own = sc.regions.functional_groups({"polar": "[N,O]", "triple": "C#N"})
    assert atoms_in(own(graph), "polar") == {0, 3, 5}
    assert atoms_in(own(graph), "triple") == {4}
    assert own != sc.regions.functional_groups({"polar": "[O]", "triple": "C#N"})


def test_more_than_a_thousand_matches_are_all_counted():
    assert len(atoms_in(sc.regions.functional_groups(smarts="CC")(sc.Graph.from_smiles("C" * 1500)), "match")) == 1500


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"groups": "nitro/nitre"}, f"'groups' must be some of {', '.join(GROUPS)}. Got 'nitre'"),
        ({"smarts": "[C"}, r"SMARTS pattern that RDKit can read, for 'match'. Got '\[C'"),
        ({"groups": {"a": "C("}}, "for 'a'"),
        ({"groups": {"rest": "C"}}, "different names"),
        ({"groups": {"a b": "C"}}, "names without spaces"),
        ({"groups": {}}, "at least one pattern"),
        ({"bonds": "single/quadruple"}, "Got 'quadruple' instead.*'MUTAG', 'guess'"),
        ({"elements": 6}, "'elements' must be one or more different words"),
    ],
)
def test_wrong_patterns_are_refused_at_once(parameters, problem, capfd):
    with pytest.raises(InvalidParameterError, match=problem):
        sc.regions.functional_groups(**parameters)
    assert capfd.readouterr().err == ""


def test_mutag_has_the_aromatic_atoms_of_its_files(mutag):
    rule = sc.regions.build("aromatic_atoms:bonds=MUTAG")
    for graph in mutag:
        labels = [{label for _, label in ends} for ends in graph.anchored_data["edge_labels"]]
        labelled = {node for node, ends in enumerate(labels) if 0 in ends}
        assert atoms_in(rule(graph), "aromatic") == labelled
    assert rule.reason in str(certify(rule, mutag[:1], aromatic=0.1, rest=0.2, between=0.3)[0])


def test_the_guess_finds_every_aromatic_atom_of_mutag(mutag):
    guess = sc.regions.build("aromatic_atoms:elements=MUTAG,bonds=guess")
    known = sc.regions.build("aromatic_atoms:bonds=MUTAG")
    more = 0
    for graph in mutag:
        guessed, labelled = (atoms_in(rule(graph), "aromatic") for rule in (guess, known))
        assert guessed >= labelled
        more += guessed != labelled
    assert more == 29  # as the module says


def test_the_guess_does_not_depend_on_the_order_of_atoms(mutag):
    rule = sc.regions.build("functional_groups:groups=nitro/amine/carbonyl,elements=MUTAG,bonds=guess")
    for graph in mutag[::20]:
        assert named_pairs(rule, shuffled(graph)) == named_pairs(rule, graph)


def test_the_guess_makes_benzene_of_six_carbons_and_nitro_groups():
    ring = [(i, (i + 1) % 6) for i in range(6)]
    orders, charges = guess_orders([6] * 6 + [7, 8, 8], [*ring, (0, 6), (6, 7), (6, 8)])
    assert sorted(orders.values()) == ["double"] * 4 + ["single"] * 5
    assert sum(charges) == 0
    assert charges[6] == 1
    assert guess_orders([], []) == ({}, [])


def test_mutag_has_its_nitro_groups_either_way(mutag):
    by_label, by_guess = (
        sc.regions.functional_groups("nitro", elements="MUTAG", bonds=bonds) for bonds in ("MUTAG", "guess")
    )
    for number, graph in enumerate(mutag):
        if number not in (82, 187):
            assert atoms_in(by_label(graph), "nitro") == atoms_in(by_guess(graph), "nitro")


@pytest.mark.parametrize("number", [82, 187])
def test_a_molecule_that_cannot_be_is_named_with_its_atom(mutag, number, capfd):
    rule = sc.regions.functional_groups(elements="MUTAG", bonds="MUTAG")
    with pytest.raises(InvalidParameterError, match=r"Graph\(16 nodes.*at C 10: Explicit valence .* C, 5.*bonds=guess"):
        rule(mutag[number])
    assert capfd.readouterr().err == ""


def test_what_cannot_be_kekulized_is_named_too():
    bonds = [frozenset({((i + 1) % 5, "aromatic"), ((i - 1) % 5, "aromatic")}) for i in range(5)]
    ring = [(i, (i + 1) % 5) for i in range(5)]
    graph = sc.Graph(5, ring, node_data={"atomic_number": [6] * 5}, anchored_data={"bonds": bonds})
    with pytest.raises(InvalidParameterError, match="at C 0, C 1, C 2, C 3, C 4: Can't kekulize"):
        sc.regions.functional_groups()(graph)


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({}, "node data 'atomic_number'.*elements=MUTAG"),
        ({"elements": "C/N/O"}, r"node_data\[label\]' must hold whole numbers from 0 to 2. Got '5 at node 2'"),
        ({"elements": "C/N/O/F/I/Xx"}, "'elements' must be symbols of elements. Got 'Xx'"),
        ({"elements": "MUTAG"}, "anchored data 'bonds'.*edge_labels=True.*bonds=guess"),
        ({"elements": "MUTAG", "bonds": "MUTAG"}, "anchored data 'edge_labels'.*edge_labels=True"),
    ],
)
def test_what_a_graph_does_not_say_is_asked_for(rule, problem):
    graph = sc.Graph(3, [(0, 1), (1, 2)], node_data={"label": [0, 0, 5]})
    with pytest.raises(InvalidParameterError, match=problem):
        sc.regions.functional_groups(**rule)(graph)


@pytest.mark.parametrize(
    ("ends", "problem"),
    [
        ([[(1, 1)], [(0, 1)]], "an edge alone between 1 and 2"),
        ([[(1, 1)], [(0, 1), (2, 1)], [(1, 1), (0, 1)]], "an order alone between 0 and 2"),
        ([[(1, 1)], [(0, 2), (2, 1)], [(1, 1)]], "single and double between 1 and 0"),
        ([[(1, 1)], [(0, 1), (2, 7)], [(1, 7)]], "labels from 0 to 3. Got '7 at node 1'"),
        ([[(1, 1)], [(0, 1), (2, 1)], [(1, 1), (9, 1)]], "an order alone between 2 and an unknown node"),
    ],
)
def test_labels_must_belong_to_the_edges(ends, problem):
    labels = [frozenset(pairs) for pairs in (*ends, *[()] * (3 - len(ends)))]
    graph = sc.Graph(3, [(0, 1), (1, 2)], node_data={"label": [0] * 3}, anchored_data={"edge_labels": labels})
    with pytest.raises(InvalidParameterError, match=problem):
        sc.regions.functional_groups(elements="MUTAG", bonds="MUTAG")(graph)


def test_four_regions_of_molecules_end_to_end():
    graphs = [sc.Graph.from_smiles(smiles) for smiles in ("O=[N+]([O-])c1ccc(N)cc1", "CCO")]
    results = certify(sc.regions.functional_groups("nitro/amine"), graphs, nitro=0.1, amine=0.2, rest=0.3, between=0.05)
    assert all("Functional groups" in result.anchored for result in results)
    ring = certify(sc.regions.ring_atoms(), graphs, ring=0.1, rest=0.2, between=0.3)
    assert all("rings" in result.anchored for result in ring)
