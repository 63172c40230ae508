"""Own parts of the data: from a file, or from a column; every mistake in them has its one line."""

import json
import re
from dataclasses import replace

import pytest
import runs_worlds as worlds

import starcert as sc
from starcert.datasets import Dataset
from starcert.datasets.parts import divided, part_of
from starcert.runs.sources import load_graphs
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, StarcertError

NAMES = ("g1", "g2", "g3", "g4", "g5", "g6")
DATA = Dataset(tuple(sc.Graph(2 + number, []) for number in range(6)), names=NAMES)

TRAINED = worlds.MODEL + (
    "\ndef trained(train):\n"
    "    names = ' '.join(train.names)\n"
    "    return sc.classifiers.from_callable(shapes, n_classes=3, on='batch', description=f'shapes after {names}')\n"
)


def split_by(folder, content, name="splits.json"):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return divided(DATA, path)


def test_indices_and_names(tmp_path):
    found = split_by(tmp_path, {"train": [0, "g2"], "validation": [5], "test": ["g3", 3]})
    assert found.parts == ("train", "train", "test", "test", None, "validation")
    assert part_of(found, "test", 0).names == part_of(found, "test", 1).names == ("g3", "g4")
    assert part_of(found, "validation", 0).names == ("g6",)
    assert part_of(found, "all", 0).names == NAMES
    assert found.digest == DATA.digest  # which graphs there are is another matter


def test_a_table(tmp_path):
    table = "part,note,name\nTrain,x,g1\nval,,g6\n,,g5\ntest,y,g2\n"
    assert split_by(tmp_path, table, "s.csv").parts == ("train", "test", None, None, None, "validation")


def test_a_selection_keeps_its_parts(tmp_path):
    found = split_by(tmp_path, {"train": [0], "test": [3, 4]})
    assert found[[3, 0]].parts == ("test", "train")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"train": [0, 1], "test": [1]}, "graph 'g2' lies in train and in test. Let it lie in one part, once."),
        ({"train": ["g1", 0]}, "graph 'g1' lies twice in train"),
        ({"train": ["g11"]}, "no graph is called 'g11'. Did you mean g1?"),
        ({"test": [6]}, "there is no graph 6. Indices go from 0 to 5."),
        ({"test": [-1]}, "there is no graph -1"),
        ({"test": [True]}, "True is not a graph. Give indices from 0, or names of graphs."),
        ({"test": [1.5]}, "1.5 is not a graph"),
        ({"rest": [1]}, "'rest' is not a part. There are train, validation and test"),
        ({"": [1]}, "'' must be a part with a list of its graphs"),
        ({"test": 3}, "'test' must be a part with a list of its graphs"),
        ([0, 1], "must map each part to a list of its graphs"),
        ("{nonsense", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_mistakes_in_json(tmp_path, content, words):
    with pytest.raises(StarcertError) as caught:
        split_by(tmp_path, content)
    said = str(caught.value)
    assert words in said
    assert said.startswith(str(tmp_path / "splits.json"))
    assert "\n" not in said


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("graph,part\ng1,test\n", "line 1: must name the columns name and part. It has graph, part."),
        ("name,part\ng1,all\n", "line 2: 'all' is not a part"),
        ("name,part\ng1,test\ng9,test\n", "line 3: no graph is called 'g9'"),
        ("name,part\ng1,test\ng1,train\n", "line 3: graph 'g1' lies in test and in train"),
    ],
)
def test_mistakes_in_a_table(tmp_path, table, words):
    with pytest.raises(StarcertError, match=r"splits.csv") as caught:
        split_by(tmp_path, table, "splits.csv")
    assert words in str(caught.value)


def test_a_name_of_two_graphs_means_none(tmp_path):
    (tmp_path / "s.json").write_text('{"test": ["twin"]}')
    twins = replace(DATA, names=("twin", "twin", *NAMES[2:]))
    with pytest.raises(StarcertError, match=r"2 graphs are called 'twin'. Give indices"):
        divided(twins, tmp_path / "s.json")


def test_an_empty_part_and_two_divisions(tmp_path):
    found = split_by(tmp_path, {"train": [0, 1], "test": []})
    with pytest.raises(StarcertError, match=r"The test part of 6 graphs is empty \(train has 2\)"):
        part_of(found, "test", 0)
    with pytest.raises(InvalidParameterError, match="'splits' is not needed: a column of the data"):
        divided(found, tmp_path / "splits.json")


@pytest.fixture
def trained(project):
    """A project whose model is told apart by the names of its training graphs, with parts in splits.json."""
    (project / "model.py").write_text(TRAINED)
    (project / "splits.json").write_text('{"train": ["g1", 1, 2], "validation": ["g6"], "test": [4, 3]}')
    return project


ARGUMENTS = ("certify", "run.toml", "--model", "model.py:trained", "--splits", "splits.json")


def test_a_run_with_its_own_split_is_repeated_and_changes_are_noticed(trained, here):
    status, out, err = here(*ARGUMENTS, "--split", "test")
    assert (status, err) == (0, "")
    assert re.search(r"│ graphs +│ 2 ", out)
    kept = json.loads((trained / "results" / "certificates.json").read_text())
    assert [each["name"] for each in kept["graphs"]] == ["g4", "g5"]
    assert kept["settings"]["classifier"] == "shapes after g1 g2 g3"
    assert kept["settings"]["splits"] == "splits.json"
    assert 'splits = "../splits.json"' in (trained / "results" / "run.toml").read_text()
    assert here("certify", "results/run.toml", "--out", "again")[0] == 0
    assert (trained / "again" / "certificates.json").read_text() == (
        trained / "results" / "certificates.json"
    ).read_text()
    (trained / "splits.json").write_text('{"train": [0, 1], "test": [3, 4]}')  # trained on other graphs
    status, _, err = here("certify", "results/run.toml", "--out", "third")
    assert status == 2
    assert "Changed since this run was recorded: classifier" in err
    (trained / "splits.json").write_text('{"train": [0, 1, 2], "test": [3, 5]}')  # other graphs to certify
    status, _, err = here("certify", "results/run.toml", "--out", "third")
    assert status == 2
    assert "Changed since this run was recorded: data" in err
    # Whoever gives another division means it.
    assert here("certify", "results/run.toml", "--splits", "splits.json", "--out", "third")[0] == 0


def test_a_sweep_uses_the_validation_part(trained, here):
    status, out, err = here("sweep", *ARGUMENTS[1:], "--grid", "hub=0.1,0.2", "--samples", 100)
    assert (status, err) == (0, "")
    assert "1 graph: the validation part of graphs" in out
    (trained / "splits.json").write_text('{"train": [0, 1, 2], "test": [3, 4]}')
    status, _, err = here("sweep", *ARGUMENTS[1:], "--grid", "hub=0.1,0.2", "--out", "other")
    assert (status, err.count("\n")) == (2, 1)
    assert "The validation part of 6 graphs is empty (train has 3, test has 2). Choose another --split." in err


def test_a_model_that_asks_for_a_train_part_that_is_not_there(trained, here):
    (trained / "splits.json").write_text('{"test": [3, 4]}')
    status, _, err = here(*ARGUMENTS, "--split", "test")
    assert (status, err.count("\n")) == (2, 1)
    assert "'splits' must have a train part for model.py:trained, which asks for it" in err
    # Others do not ask for it.
    assert here("certify", "run.toml", "--splits", "splits.json", "--split", "test")[0] == 0


def test_a_column_of_the_data_says_the_parts(trained, here):
    rows = [
        "id,class,fold",
        "g1,clique,train",
        "g2,ring,train",
        "g3,star,",
        "g4,clique,test",
        "g5,ring,test",
        "g6,star,",
    ]
    (trained / "graphs" / "labels.csv").write_text("\n".join(rows))
    columns = ("--columns", "name=id,label=class,part=fold")
    status, out, err = here("certify", "run.toml", "--model", "model.py:trained", *columns, "--split", "test")
    assert (status, err) == (0, "")
    assert re.search(r"│ graphs +│ 2 ", out)
    assert 'part = "fold"' in (trained / "results" / "run.toml").read_text()
    assert here("certify", "results/run.toml", "--out", "again")[0] == 0
    status, _, err = here("certify", "results/run.toml", "--splits", "splits.json", "--out", "third")
    assert (status, err.count("\n")) == (2, 1)
    assert "'splits' is not needed: a column of the data gives the parts" in err


def test_a_function_that_returns_a_data_set_keeps_its_names_and_its_parts(tmp_path):
    sizes = {"train": 6, "validation": 2, "test": 4}
    (tmp_path / "data.py").write_text(
        f"import starcert as sc\ndef data():\n    return sc.datasets.motif(1, **{sizes})\n"
    )
    found, here = load_graphs(Reference(tmp_path / "data.py", "data")), sc.datasets.motif(1, **sizes)
    assert found.names == here.names
    assert here.names[-1] == "motif 12"
    assert part_of(found, "test", 0).names == here.test.names == ("motif 09", "motif 10", "motif 11", "motif 12")
