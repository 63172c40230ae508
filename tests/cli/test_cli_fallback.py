"""Runs that fall back to blind answers: from the command line and from run files, to reports and `verify`."""

import csv
import json
import tomllib

import pytest

FILES = """
import numpy as np
import starcert as sc

ROWS = np.random.default_rng(3).integers(0, 2, (80, 6))

def data():
    labels = np.where(ROWS[:, 0], ROWS[:, 1:].sum(axis=1) > 1, ROWS[:, 1:].sum(axis=1) > 3).astype(int)
    return sc.Bits.rows(ROWS), labels

def classifier():
    return sc.classifiers.from_callable(lambda rows: rows[:, 1:].sum(axis=1) > 2, on="vectors", description="sums")

class First:
    def predict(self, objects):
        return [int(each.row[0]) for each in objects]

def first(train):
    assert len(train)
    return First()

class Second:
    def predict(self, objects):
        return [int(each.row[1]) for each in objects]

def nothing():
    return 3
"""
RUN = """
model = "model.py:classifier"
data = "model.py:data"
split = "test"
samples = 500
seed = 1
fallback = "blind"
threshold = 0.8
threat = "flips:1"

[regions]
attacked = [1, 2, 3, 4, 5]

[noise]
attacked = 0.1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "model.py").write_text(FILES, encoding="utf-8")
    (tmp_path / "run.toml").write_text(RUN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("fallback", ["blind", "model.py:first"])
def test_a_run_falls_back_and_is_proved(folder, here, fallback):
    pytest.importorskip("sklearn")
    words = ("--fallback", fallback, "--evidence", "--own-samples", "2000", "--out", "out")
    status, said, err = here("certify", "run.toml", *words)
    assert status == 0, err
    assert "falls back to blind answers" in " ".join(said.split())
    data = json.loads((folder / "out" / "certificates.json").read_text())
    blind = [each["blind"] for each in data["graphs"]]
    assert data["fallback"]["threshold"] == 0.8
    assert data["settings"]["fallback"] == fallback
    assert set(blind) == {0, 1}
    with open(folder / "out" / "results.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["blind"]) for row in rows] == blind
    assert {row["threshold"] for row in rows} == {"0.8"}
    kept = tomllib.loads((folder / "out" / "run.toml").read_text())
    assert kept["threshold"] == 0.8
    assert "falls back to blind answers" in (folder / "out" / "report.html").read_text(encoding="utf-8")
    status, said, _ = here("verify", "out/certificates.json")
    assert (status, "proved" in said) == (0, True)
    if fallback == "blind":
        return
    before = (folder / "out" / "certificates.json").read_bytes()
    assert here("certify", "out/run.toml", "--out", "again")[0] == 0
    assert (folder / "again" / "certificates.json").read_bytes() == before


def test_a_sweep_falls_back_at_every_level(folder, here):
    pytest.importorskip("sklearn")
    words = ("--grid", "attacked=0.1,0.2", "--split", "validation", "--out", "levels", "--fallback", "model.py:first")
    status, _, err = here("sweep", "run.toml", *words)
    assert status == 0, err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--fallback", "blind", "--split", "all"), "There is no blind model to fall back to"),
        (("--fallback", "model.py:nothing"), "returned a int"),
        (("--fallback", "model.py:Second"), "must give the same answer whatever is attacked"),
        (("--threshold", "0.3"), "'--threshold' must be at least 0.5 and below 1"),
        (("--fallback", "blinds"), "'--fallback' must name a Python file"),
    ],
)
def test_what_is_refused(folder, here, words, complaint):
    pytest.importorskip("sklearn")
    status, _, err = here("certify", "run.toml", *words, "--out", "out")
    assert (status, complaint in " ".join(err.split())) == (2, True), err


def test_a_threshold_needs_a_fallback(folder, here):
    (folder / "run.toml").write_text(RUN.replace('fallback = "blind"\n', ""))
    status, _, err = here("certify", "run.toml", "--out", "out")
    assert (status, "'threshold' needs a fallback" in " ".join(err.split())) == (2, True), err
