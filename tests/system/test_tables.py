import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import starcert as sc
from starcert.runs.certification import result_rows
from starcert.system.tables import csv_line, csv_lines


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_text_is_a_formula(text):
    (row,) = csv.reader(io.StringIO(csv_line([text, "harmless = text"]), newline=""))
    assert row == ["'" + text, "harmless = text"]


@given(st.lists(st.one_of(st.integers(), st.floats(allow_nan=False), st.text("abc\",;'\n é=")), min_size=2))
def test_cells_are_read_back(cells):
    (row,) = csv.reader(io.StringIO(csv_line(cells), newline=""))
    for cell, read in zip(cells, row, strict=True):
        assert type(cell)(read) == cell or read == f"'{cell}"


def test_names_of_graphs_and_classes_are_no_formulas():
    votes = sc.Votes([[990, 10]], selection=[[99, 1]])
    result = sc.certify(sc.clopper_pearson(votes), sc.Noise(all=0.1))
    kept = sc.archive.Archive.from_result(result, names=["=cmd|' /C calc'!A0"], labels=[0], class_names=["@a", "-b"])
    header, row = csv.reader(io.StringIO("".join(csv_lines(result_rows(kept, [1])))))
    found = dict(zip(header, row, strict=True))
    assert found["name"] == "'=cmd|' /C calc'!A0"
    assert (found["true_name"], found["class_name"]) == ("'@a", "'@a")
