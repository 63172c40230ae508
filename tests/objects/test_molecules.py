import pickle

import numpy as np
import pytest

import starcert as sc
from starcert.system.errors import InvalidParameterError

Chem = pytest.importorskip("rdkit.Chem")


@pytest.mark.parametrize(
    "smiles", ["c1ccccc1", "CC(=O)[O-].[Na+]", "c1cc[nH]c1", "N#Cc1ccc2ccccc2c1", "[2H]C", "C", "O=S(=O)(O)C"]
)
def test_atoms_and_bonds_are_those_of_rdkit(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    graph = sc.Graph.from_smiles(smiles)
    assert graph == sc.Graph.from_rdkit(molecule)
    atoms = list(molecule.GetAtoms())
    assert graph.n_nodes == len(atoms)
    assert graph.node_data["atomic_number"].tolist() == [atom.GetAtomicNum() for atom in atoms]
    assert graph.node_data["formal_charge"].tolist() == [atom.GetFormalCharge() for atom in atoms]
    assert graph.anchored_data["hydrogens"].tolist() == [atom.GetTotalNumHs() for atom in atoms]
    bonds = {(b.GetBeginAtomIdx(), b.GetEndAtomIdx()): str(b.GetBondType()).lower() for b in molecule.GetBonds()}
    assert {tuple(edge) for edge in graph.edges.tolist()} == {tuple(sorted(pair)) for pair in bonds}
    for (u, v), order in bonds.items():
        assert (v, order) in graph.anchored_data["bonds"][u]
        assert (u, order) in graph.anchored_data["bonds"][v]
    assert sum(map(len, graph.anchored_data["bonds"])) == 2 * len(bonds)


def test_elements_become_columns_in_the_order_given():
    graph = sc.Graph.from_smiles("CCO", elements=["O", "N", "C"])
    np.testing.assert_array_equal(graph.node_data["x"], [[0, 0, 1], [0, 0, 1], [1, 0, 0]])
    assert graph.node_data["x"].dtype == np.float32


def test_the_usual_elements_have_a_column_each_and_all_others_one():
    symbols = ["B", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Se", "Br", "I", "Na", "Fe", "H"]
    graph = sc.Graph.from_smiles(".".join(f"[{symbol}]" for symbol in symbols), elements="usual")
    x = graph.node_data["x"]
    assert (x.dtype, x.shape) == (np.float32, (15, 13))
    assert x.argmax(axis=1).tolist() == [*range(12), 12, 12, 12]
    assert (x.sum(axis=1) == 1).all()
    ethanol = sc.Graph.from_smiles("CCO", elements="usual")
    assert sc.Graph.from_rdkit(Chem.MolFromSmiles("CCO"), elements="usual") == ethanol


def test_usual_features_do_not_tell_of_bonds():
    """Molecules of the same atoms, one after the other, have the same x, whatever their bonds are."""
    one, other = (sc.Graph.from_smiles(smiles, elements="usual") for smiles in ("c1ccccc1N", "CC=CC#CCN"))
    np.testing.assert_array_equal(one.node_data["x"], other.node_data["x"])


def test_a_gnn_starts_from_smiles():
    pyg = pytest.importorskip("torch_geometric.nn")
    model = pyg.GCN(13, 8, 2, 2)
    base = sc.classifiers.from_pyg(model, n_classes=2, targets="nodes")
    graph = sc.Graph.from_smiles("CCO", elements="usual")
    assert sc.SmoothedClassifier(base, sc.Noise(all=0.1)).vote([graph], samples=20, seed=1).counts.sum() == 60


def test_a_molecule_survives_a_trip_between_processes_and_formats():
    graph = sc.Graph.from_smiles("c1ccccc1N")
    assert pickle.loads(pickle.dumps(graph)) == graph
    assert pickle.loads(pickle.dumps(graph)).anchored_data["bonds"] == graph.anchored_data["bonds"]
    there_and_back = sc.Graph.from_networkx(graph.to_networkx())
    assert set(there_and_back.node_data) == {"atomic_number", "formal_charge"}
    assert graph.key != sc.Graph.from_smiles("C1CCCCC1N").key


def test_the_key_is_that_of_a_graph_with_all_data_in_one_place():
    """Streams and stores of version 0.1.0 are keyed by it."""
    assert sc.Graph.from_smiles("c1ccccc1N", elements=("C", "N")).key == "2ecf63291801f0ae0228f854431e3f5a"


@pytest.mark.parametrize(
    ("smiles", "problem"),
    [
        ("c1ccccc", "'smiles' must be a SMILES string that RDKit can read. Got 'c1ccccc'"),
        ("not a molecule", "'smiles' must be a SMILES string"),
        ("C(C)(C)(C)(C)C", "must describe a possible molecule.*Explicit valence for atom # 0 C, 5"),
        ("c1cccc1", "must describe a possible molecule.*kekulize"),
        (3, "'smiles' must be a string. Got 3"),
    ],
)
def test_what_is_no_molecule_is_explained(smiles, problem, capfd):
    with pytest.raises(InvalidParameterError, match=problem):
        sc.Graph.from_smiles(smiles)
    assert capfd.readouterr().err == ""  # RDKit does not speak beside the error


def test_what_is_no_rdkit_molecule_is_explained():
    with pytest.raises(InvalidParameterError, match=r"must be an rdkit.Chem.Mol. Got None.*gives None"):
        sc.Graph.from_rdkit(Chem.MolFromSmarts("not a molecule"))
    with pytest.raises(InvalidParameterError, match=r"'molecule' must be sanitized.*SanitizeMol"):
        sc.Graph.from_rdkit(Chem.MolFromSmiles("CC", sanitize=False))
    with pytest.raises(InvalidParameterError, match="dative between the atoms 0 and 1"):
        sc.Graph.from_smiles("N->[Fe]")
    with pytest.raises(InvalidParameterError, match=r"list every element of the molecule. Got 'O missing'"):
        sc.Graph.from_smiles("CO", elements=["C"])
    for elements in ("CNO", [], ["C", "C"]):
        with pytest.raises(InvalidParameterError, match="'elements' must be different symbols"):
            sc.Graph.from_smiles("CC", elements=elements)
