import csv
import io

import numpy as np
import pytest

import starcert as sc
from starcert.archive import Archive
from starcert.claims.tables import as_csv_rows, row_names
from starcert.system.errors import InvalidParameterError
from starcert.system.output import csv_lines

GRAPHS = [sc.Graph(4, [(0, 1), (1, 2), (2, 3)]), sc.Graph(4, [(0, 1)])]


def certified(**given):
    base = sc.classifiers.from_callable(
        lambda graph: int(graph.number_of_edges() > 1), class_names=["-1", "1"], description="edges"
    )
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.1))
    return smoothed.certify(GRAPHS, samples=500, seed=1, **given)


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({}, []),
        ({"threat": "flips:2"}, ["any_1", "any_2"]),
        ({"evidence": True, "threat": "flips:1"}, ["frontier_by_p_A", "broken", "any_flips", "any_1"]),
        ({"evidence": True, "threat": "deletions:1"}, ["threat_1", "attacks_1"]),
    ],
)
def test_frames_archives_and_the_csv_file_have_the_same_columns(given, more):
    pd = pytest.importorskip("pandas")
    result, labels, names = certified(**given), ["1", "-1"], ["path", "pair"]
    frame = result.to_frame(labels, names=names, base=[1, 0])
    archive = Archive.from_result(result, labels=labels, names=names)
    pd.testing.assert_frame_equal(frame, archive.to_frame([1, 0]))
    text = "".join(csv_lines(archive.rows([1, 0])))
    assert text == "".join(csv_lines(as_csv_rows(result.rows(labels, names=names, base=[1, 0]))))
    read = list(csv.DictReader(io.StringIO(text)))
    assert list(read[0]) == list(frame.columns)
    assert [column for column in frame.columns if column in more] == more
    assert [row["name"] for row in read] == names


def test_an_archive_that_is_read_again_has_the_same_rows(tmp_path):
    for given in ({"threat": "flips:2"}, {"evidence": True, "threat": "flips:1"}):
        archive = Archive.from_result(certified(**given), labels=["1", "-1"])
        sc.archive.write(tmp_path / "certificates.json", archive)
        again = sc.archive.read(tmp_path / "certificates.json")
        assert list(again.confirmed().rows()[0]) == list(archive.rows()[0])


def test_a_class_that_is_called_minus_one_is_written_so():
    result = certified()
    first, second = result.rows(["1", "-1"])
    assert (first["class"], first["class_name"], first["true_class"], first["right"]) == (1, "1", 1, True)
    assert (second["class"], second["class_name"], second["true_class"], second["right"]) == (-1, "-1", -1, True)
    assert {"votes_-1", "votes_1"} <= set(first)
    assert "answers class -1 for" in str(result[1])
    assert "<td>-1</td>" in result[1]._repr_html_()
    archive = Archive.from_result(result, labels=["1", "-1"])
    assert archive.class_names == ("-1", "1")
    line = "".join(csv_lines(archive.rows())).splitlines()[2].split(",")
    assert line[:7] == ["1", "1", "-1", "-1", "-1", "-1", "True"]


def test_names_are_those_of_graphs_or_of_rows():
    assert row_names([0, 1], None, ["a", "b"]) == ["a", "b"]
    nodes = sc.certify(sc.Bounds.certain([0.9, 0.9]), sc.Noise(all=0.2))
    assert [row["name"] for row in nodes.rows(names=["a", "b"])] == ["a", "b"]
    with pytest.raises(InvalidParameterError, match="'names' must be one for each of 2 rows"):
        nodes.rows(names=["a", "b", "c"])
    with pytest.raises(InvalidParameterError, match="'base' must be one for each of 2 rows"):
        nodes.rows(base=[0])


def test_names_of_a_shuffled_series_stay_in_their_order():
    pandas = pytest.importorskip("pandas")
    found = sc.certify(sc.Bounds.certain([0.9, 0.9]), sc.Noise(all=0.2))
    assert found.to_frame(names=pandas.Series(["a", "b"], index=[1, 0]))["name"].tolist() == ["a", "b"]
    assert found.to_frame(names=pandas.Series(["a", "b"], index=[7, 9]))["name"].tolist() == ["a", "b"]


def test_what_is_not_known_is_none():
    row = sc.certify(sc.Bounds.certain([0.9995]), sc.Noise(a=0.1)).rows()[0]
    assert row["true_class"] is row["right"] is None
    assert not any(np.isnan(value) for value in row.values() if isinstance(value, float))
