import pytest

import starcert as sc
from starcert.datasets import Dataset
from starcert.datasets.tables import number_labels
from starcert.runs.inputs import RunInputs
from starcert.runs.sources import load_graphs, with_node_labels
from starcert.runs.user_code import Reference
from starcert.system.errors import StarcertError

pytest.importorskip("rdkit")


def test_a_list_of_molecules(tmp_path):
    (tmp_path / "m.smi").write_text("c1ccccc1N aniline\nCCO\n\nCl\tsalt acid\n")
    data = load_graphs(tmp_path / "m.smi")
    assert data.names == ("aniline", "CCO", "salt acid")
    assert [graph.n_edges for graph in data.graphs] == [7, 2, 0]
    assert data.known == []
    # Columns C, Cl, N, O.
    assert data.graphs[1].node_data["x"].tolist() == [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]


def test_a_table_with_classes(tmp_path):
    (tmp_path / "m.csv").write_text("id,smiles,label\n1,CCO,toxic\n2,CC,\n3,C,harmless\n")
    data = load_graphs(tmp_path / "m.csv")
    assert data.names == ("CCO", "CC", "C")
    assert (tuple(data.labels), data.class_names) == ((1, None, 0), ("harmless", "toxic"))


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


TABLE = "mol_id,SMILES,activity,Split\nm1,CCO,1.0,train\nm2,CC,0.0,Test\nm3,C,,valid\n"


def test_columns_by_name(tmp_path):
    (tmp_path / "m.csv").write_text(TABLE)
    columns = {"smiles": "SMILES", "label": "activity", "name": "mol_id", "part": "split"}
    data = load_graphs(tmp_path / "m.csv", columns=columns)
    assert data.names == ("m1", "m2", "m3")
    assert (tuple(data.labels), data.class_names, data.numbered) == ((1, 0, None), ("0", "1"), True)
    assert data.parts == ("train", "test", "validation")
    # Upper and lower case need not be told apart; without a word, there are no labels, names or parts here.
    plain = load_graphs(tmp_path / "m.csv")
    assert (plain.names, plain.known, plain.parts) == (("CCO", "CC", "C"), [], None)


def test_upper_and_lower_case_are_told_apart_where_both_are_there(tmp_path):
    (tmp_path / "m.csv").write_text("smiles,LABEL,Label\nC,1,a\nCC,0,b\n")
    assert load_graphs(tmp_path / "m.csv", columns={"label": "Label"}).class_names == ("a", "b")
    with pytest.raises(
        StarcertError, match=r"names the column label 2 times; rename all but one \(smiles, LABEL, Label\)"
    ):
        load_graphs(tmp_path / "m.csv")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {},
            "must name a column smiles. It has molecule, label_, y. Say which column it is: --columns "
            "smiles=COLUMN,label=label_.",
        ),
        ({"smiles": "mol"}, "must name a column mol. It has molecule, label_, y. Say which"),
        (
            {"smiles": "molecule", "label": "label"},
            "must name a column label. It has molecule, label_, y. Say which column it is: --columns label=label_.",
        ),
        ({"smiles": "molecule", "part": "fold"}, "must name a column fold"),
    ],
)
def test_a_missing_column_lists_those_that_are_there(tmp_path, columns, words):
    (tmp_path / "m.csv").write_text("molecule,label_,y\nC,1,2\n")
    with pytest.raises(StarcertError) as caught:
        load_graphs(tmp_path / "m.csv", columns=columns)
    assert words in str(caught.value)


def test_a_list_of_molecules_has_no_columns(tmp_path):
    (tmp_path / "m.smi").write_text("CC\n")
    with pytest.raises(
        StarcertError, match=r"'columns' cannot be label=activity: .*m.smi has no line that names columns"
    ):
        load_graphs(tmp_path / "m.smi", columns={"label": "activity"})


@pytest.mark.parametrize(
    ("labels", "first"),
    [
        ([number / 8 for number in range(30)], "0.5"),
        ([number / 8 for number in range(20)], "0.5"),
        (["0.5", "1.5"], "0.5"),
        (["", "1", "2", "2.5"], "2.5"),
        (["-1.25E-2", "+.5", "3.", "0"], r"\+.5"),
    ],
)
def test_measurements_are_no_classes(tmp_path, labels, first):
    rows = [f"{'C' * (number + 1)},{label}" for number, label in enumerate(labels)]
    (tmp_path / "m.csv").write_text("\n".join(["smiles,label", *rows]))
    told = rf"m.csv: {first} is a measurement, not a class; .*Divide them into classes first"
    with pytest.raises(StarcertError, match=told):
        load_graphs(tmp_path / "m.csv")


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["1.0", "0.0"], ("0", "1")),
        (["pH 2.5", "pH 7.5"], ("pH 2.5", "pH 7.5")),
        (["1.2.3", "1.2.4"], ("1.2.3", "1.2.4")),
        (["0.5", "high"], ("0.5", "high")),
        (["1e3", "2e3"], ("1e3", "2e3")),
        (["1000", "3000"], ("1000", "3000")),
    ],
)
def test_names_and_whole_numbers_are_classes(labels, names):
    assert number_labels(labels)[1] == names


def test_measurements_of_a_function_and_of_nodes_are_no_classes(tmp_path):
    (tmp_path / "d.py").write_text(
        "import starcert as sc\ndef f(): return [sc.Graph(2, []), sc.Graph(2, [(0, 1)])], [0.1, 0.2]\n"
    )
    with pytest.raises(StarcertError, match=r"d.py:f: 0.1 is a measurement, not a class"):
        load_graphs(Reference(tmp_path / "d.py", "f"))
    nodes = Dataset((sc.Graph(2, [(0, 1)], node_data={"y": [0.25, 1.0]}),), names=("pair",))
    with pytest.raises(StarcertError, match=r"pair, node data y: 0.25 is a measurement"):
        with_node_labels(nodes)


def test_names_that_several_graphs_have_are_reported(tmp_path):
    (tmp_path / "m.csv").write_text("smiles,name\nC,a\nCC,b\nCCC,a\nCCCC,b\nCO,c\n")
    data = load_graphs(tmp_path / "m.csv")
    (sentence,) = RunInputs(None, data, None, None, data).notes
    assert sentence == "2 graphs have the name 'a', and other names are shared too: their numbers tell them apart."
    assert not list(RunInputs(None, data[:2], None, None, data[:2]).notes)
