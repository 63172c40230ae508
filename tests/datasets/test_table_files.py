import csv

import numpy as np
import pytest

from starcert.runs.certification import certify_run
from starcert.runs.run_file import read_run_file
from starcert.runs.settings import run_settings
from starcert.runs.sources import load_graphs
from starcert.runs.user_code import Reference
from starcert.system.errors import InvalidParameterError, StarcertError

TEXT = "id,colour,doors,class,other\n" + "".join(
    f"c{n},{colour},{doors},{label},x\n"
    for n, (colour, doors, label) in enumerate([("red", 2, 1), ("blue", 4, -1), ("white", 2, 1), ("blue", 2, -1)] * 3)
)
COLUMNS = {"label": "class", "name": "id", "skip": "other"}
MODEL = """
import starcert as sc

def classifier():
    return sc.classifiers.from_callable(red, on="vectors", n_classes=2)

def red(rows):
    return rows[:, 0] != 0
"""
RUN = """
model = "model.py:classifier"
data = "cars.csv"
kind = "table"
split = "test"
fractions = { train = 0.5, test = 0.5 }
samples = 100
out = "results"

[columns]
label = "class"
name = "id"
skip = "other"

[alphabets]
colour = ["blue", "red", "white", "green"]

[noise]
few = { categorical = 0.1 }
many = { categorical = 0.05 }

[regions]
few = ["doors"]
many = ["colour"]
"""


@pytest.fixture
def cars(tmp_path):
    (tmp_path / "cars.csv").write_text(TEXT)
    return tmp_path / "cars.csv"


def test_columns_have_the_values_that_occur_or_that_are_named(cars):
    data = load_graphs(cars, kind="table", columns=COLUMNS)
    assert data.names[:2] == ("c0", "c1")
    assert data.class_names == ("-1", "1")
    assert data.labels.tolist() == [1, 0, 1, 0] * 3
    frame = data.graphs[0].frame
    assert (frame.names, frame.alphabets) == (("colour", "doors"), (3, 2))
    assert frame.categories == (("blue", "red", "white"), ("2", "4"))
    more = load_graphs(cars, kind="table", columns=COLUMNS, alphabets={"colour": ["red", "blue", "white", "green"]})
    assert more.graphs[0].frame.alphabets == (4, 2)
    assert more.graphs[0].row.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"alphabets": {"colour": ["red", "blue"]}}, "line 4: colour is 'white', which is none of them"),
        ({"alphabets": {"doors": 4}}, "line 3: doors is '4', which is none of them"),
        ({"alphabets": {"color": 4}}, "'alphabets' must name columns of categories.*colour"),
        ({"columns": COLUMNS | {"skip": "otter"}}, "'columns.skip' must name columns.*other"),
        ({"columns": {"label": "class", "name": "id"}}, "other is 'x' in every row.*--columns skip=other"),
        ({"columns": {"label": "klass"}}, "line 1: must name a column klass"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_next_step(cars, given, words):
    with pytest.raises(StarcertError, match=words):
        load_graphs(cars, kind="table", **{"columns": COLUMNS} | given)


def test_numbers_with_many_values_are_refused(tmp_path):
    (tmp_path / "m.csv").write_text("a,label\n" + "".join(f"{n},0\n" for n in range(300)))
    with pytest.raises(StarcertError, match=r"a has 300 different values.*skip=a"):
        load_graphs(tmp_path / "m.csv", kind="table")
    with pytest.raises(InvalidParameterError, match="'data' must be a file"):
        load_graphs(tmp_path, kind="table")


def test_a_function_may_return_a_data_frame(tmp_path):
    pytest.importorskip("pandas")
    (tmp_path / "data.py").write_text(
        "import pandas as pd\ndef cars():\n"
        "    return pd.DataFrame({'colour': ['red', 'blue', 'white'], 'doors': [2, 4, 2]}), ['-1', '1', '-1']\n"
    )
    data = load_graphs(Reference(tmp_path / "data.py", "cars"))
    assert [row.row.tolist() for row in data.graphs] == [[1, 0], [0, 1], [2, 0]]
    assert data.class_names == ("-1", "1")


def test_a_run_of_a_table_writes_classes_as_they_are_called(cars):
    (cars.parent / "model.py").write_text(MODEL)
    (cars.parent / "run.toml").write_text(RUN)
    file = read_run_file(cars.parent / "run.toml")
    done = certify_run(run_settings(file.values))
    with open(done.folder / "results.csv", newline="", encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == 6
    assert {row["true_class"] for row in rows} == {row["class_name"] for row in rows} == {"-1", "1"}
    data = load_graphs(cars, kind="table", columns=COLUMNS, alphabets=file.values["alphabets"])
    _, _, test = data.split((0.5, 0.0, 0.5), seed=0)
    assert sorted(test.names) == sorted(row["name"] for row in rows)  # the same part in Python, by name
    frame = done.archive.certificates.rows(done.archive.labels, names=done.archive.names, class_names=("-1", "1"))
    assert [row["class"] for row in frame] == [int(row["class"]) for row in rows]
    again = read_run_file(done.folder / "run.toml")
    keys = ("fractions", "alphabets", "columns", "kind")
    assert {key: again.values[key] for key in keys} == {key: file.values[key] for key in keys}
    assert np.ptp([len(row) for row in rows]) == 0
