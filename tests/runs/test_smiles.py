import pytest

from starcert.errors import StarcertError
from starcert.runs.sources import load_graphs

pytest.importorskip("rdkit")


def test_a_list_of_molecules(tmp_path):
    (tmp_path / "m.smi").write_text("c1ccccc1N aniline\nCCO\n\nCl\tsalt acid\n")
    data = load_graphs(tmp_path / "m.smi")
    assert data.names == ("aniline", "CCO", "salt acid")
    assert [graph.n_edges for graph in data.graphs] == [7, 2, 0]
    assert data.labels is None
    # Columns C, Cl, N, O.
    assert data.graphs[1].node_data["x"].tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]


def test_a_table_with_classes(tmp_path):
    (tmp_path / "m.csv").write_text("id,smiles,label\n1,CCO,toxic\n2,CC,\n3,C,harmless\n")
    data = load_graphs(tmp_path / "m.csv")
    assert data.names == ("CCO", "CC", "C")
    assert (data.labels, data.class_names) == ((1, None, 0), ("harmless", "toxic"))


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("m.smi", "CC\nnonsense\n", "m.smi, line 2: 'smiles' must be a SMILES string"),
        ("m.smi", "\n", "m.smi: has no molecules"),
        ("m.csv", "molecule,label\nC,1\n", "m.csv, line 1: must name a column smiles. It has molecule, label."),
        ("m.csv", "smiles,label\nC\n", "m.csv, line 2: has 1 cells, the first line 2"),
        ("m.csv", "smiles,label\n\nC=C=C=C(C)(C)(C)C,0\n", "m.csv, line 3: 'smiles' must describe a possible molecule"),
    ],
)
def test_bad_lines_are_named(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(StarcertError) as caught:
        load_graphs(tmp_path / name)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("m.smi", "CC\n[#500]\n", "m.smi, line 2: "),
        ("m.smi", "[#119]\n", "m.smi, line 1: "),
        ("m.csv", "smiles,label\nCC,1\n,0\n", "m.csv, line 3: 'smiles' must name at least one atom"),
        ("m.csv", 'smiles,label\n"C\nC",1\n', "m.csv, line 2: a cell in quotes goes on in the next line"),
    ],
)
def test_molecules_that_are_none_are_said(tmp_path, capfd, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(StarcertError) as caught:
        load_graphs(tmp_path / name)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""
