"""`starcert certify` of a model that gives numbers: intervals, their files, and what does not fit."""

import csv
import json

import pytest

from starcert.archive import verify

MODEL = """
def shares():
    return share

def share(rows):
    return rows.mean(axis=1)

def classes():
    return lambda rows: rows.sum(axis=1) > 2
"""
DATA = """
import starcert as sc

def rows():
    return sc.Bits.rows([[0, 0, 1, 0], [1, 1, 1, 0], [1, 0, 1, 0]]), [0.25, 0.75, None]

def named():
    return sc.Bits.rows([[0, 0, 1, 0], [1, 1, 1, 0]]), ["low", "high"]
"""
RUN = """
model = "model.py:shares"
data = "data.py:rows"
outputs = [0, 1]
threat = "flips:1"
samples = 1000

[noise]
all = 0.1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("model.py", MODEL), ("data.py", DATA), ("run.toml", RUN)):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_intervals_are_certified_written_and_proved(folder, here):
    status, said, errors = here("certify", "run.toml")
    assert (status, errors) == (0, "")
    assert "Certified intervals: data.py:rows" in said
    assert "100.0%" in said
    out = folder / "certified"
    assert sorted(each.name for each in out.iterdir()) == [
        "certificates.chunks.npz", "certificates.evidence.npz", "certificates.json", "report.html", "results.csv",
        "run.toml", "votes.db",
    ]  # fmt: skip
    rows = list(csv.DictReader((out / "results.csv").read_text().splitlines()))
    assert [row["true"] for row in rows] == ["0.25", "0.75", ""]
    first = rows[0]
    low, high = (float(first[f"mean under any 1 flip, {end}"]) for end in ("low", "high"))
    assert low < 0.1  # all bits 0: each of them is 1 with probability 0.1
    assert high > 0.1 + 0.8 * 0.5
    assert verify(out / "certificates.json").verdict == "proved"
    page = (out / "report.html").read_text()
    assert "Certified intervals: data.py:rows" in page
    assert page.count("<circle") == 3
    status, said, _ = here("verify", out / "certificates.json")
    assert status == 0
    assert "proved. 2 intervals for each of 3 rows" in " ".join(said.split())
    status, said, _ = here("certify", out / "run.toml", "--out", "again", "--json")
    assert status == 0
    told = json.loads(said)
    assert [each["name"] for each in told["intervals"]] == ["rows 1", "rows 2", "rows 3"]
    kept = json.loads((out / "certificates.json").read_text())
    assert [row["intervals"] for row in kept["graphs"]] == [row["intervals"] for row in told["intervals"]]


def test_a_false_interval_ends_with_status_1(folder, here):
    assert here("certify", "run.toml")[0] == 0
    path = folder / "certified" / "certificates.json"
    content = json.loads(path.read_text())
    content["graphs"][0]["intervals"][1][1] -= 0.05
    path.write_text(json.dumps(content))
    status, said, _ = here("verify", path)
    assert status == 1
    assert "refuted" in said
    assert json.loads(here("verify", path, "--json")[1])["verdict"] == "refuted"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--evidence"], "'evidence' needs a model that answers classes"),
        (["--plan", "decided"], "'plan' needs a model that answers classes"),
        (["--outputs", "0..0.5"], "its outputs are to lie from 0 to 0.5"),
        (["--outputs", "much"], "'--outputs' must be two numbers, LOW..HIGH"),
        (["--outputs=1..0"], "must be more than low"),
        (["--data", "data.py:named"], "'data' must have numbers for labels"),
        (["--model", "model.py:nothing"], "nothing"),
    ],
)
def test_what_does_not_fit_is_refused(folder, here, arguments, told):
    status, _, said = here("certify", "run.toml", *arguments)
    assert status == 2
    assert told in " ".join(said.split())


def test_labels_with_fractions_point_to_outputs(folder, here):
    (folder / "run.toml").write_text(RUN.replace("outputs = [0, 1]\n", ""))
    status, _, said = here("certify", "run.toml", "--model", "model.py:classes")
    assert status == 2
    assert "0.25 is a measurement, not a class" in " ".join(said.split())
    assert "--outputs LOW..HIGH" in " ".join(said.split())


@pytest.mark.parametrize(
    ("command", "told"), [("sweep", "has no sweep, which compares accuracies"), ("train", "is not for starcert train")]
)
def test_sweeps_and_training_are_about_classes(folder, here, command, told):
    more = ["--grid", "all=0.1,0.2"] if command == "sweep" else ["--weights", "w.pt"]
    status, _, said = here(command, "run.toml", *more)
    assert status == 2
    assert told in " ".join(said.split())


def test_a_forecast_says_nothing_about_classes(folder, here):
    status, said, _ = here("certify", "run.toml", "--dry-run")
    assert status == 0
    assert "Classes" not in said
    assert "One flip needs" not in said
