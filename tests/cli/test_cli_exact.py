"""`starcert certify --exact`: every attack on the plain model, its files and page, and going on; `verify --model`."""

import csv
import json
import re

import pytest

from starcert.archive import read
from starcert.runs import certification

MODEL = """
def majority():
    return lambda rows: rows.sum(axis=1) > 2
"""
DATA = """
import starcert as sc

def rows():
    return sc.Bits.rows([[0, 0, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1]]), ["few", "many", "many"]
"""
RUN = """
model = "model.py:majority"
data = "data.py:rows"
threat = "flips:2"
samples = 200

[noise]
all = 0.1
"""
PLAIN = "plain model, every attack tried, alpha = 0"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("model.py", MODEL), ("data.py", DATA), ("run.toml", RUN)):
        (tmp_path / name).write_text(text)
    return tmp_path


def rows_of(folder):
    return list(csv.DictReader((folder / "results.csv").read_text().splitlines()))


def test_where_nothing_can_be_attacked_there_is_no_share(folder, here):
    (folder / "data.py").write_text(DATA.replace("[[0, 0, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1]]", "[[1, 1, 1, 1]] * 3"))
    status, said, errors = here("certify", "run.toml", "--exact", "--threat", "additions:1", "--out", "none")
    assert (status, errors) == (0, "")
    assert "None of the rows has such an attack: 1 addition." in said
    page = (folder / "none" / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"\bnan\b|NaN%", page)
    assert "None of the rows has such an attack: 1 addition." in page


def test_every_attack_is_tried_and_the_file_holds_with_the_model(folder, here):
    status, said, errors = here("certify", "run.toml", "--exact", "--out", "certified-exact")
    assert (status, errors) == (0, "")
    assert PLAIN in said
    out = folder / "certified-exact"
    names = ["certificates.json", "report.html", "results.csv", "run.toml", "tried.json"]
    assert sorted(each.name for each in out.iterdir()) == names
    rows = rows_of(out)
    assert [(row["true"], row["answer"], row["any_1"], row["any_2"]) for row in rows] == [
        ("few", "few", "certified", "broken"),
        ("many", "many", "broken", "broken"),
        ("many", "many", "certified", "broken"),
    ]
    assert [row["attack"] for row in rows[:2]] == ["column 0: 0 → 1; column 1: 0 → 1", "column 0: 1 → 0"]
    assert rows[1]["answer_after"] == "few"
    assert all(word in said for word in ["column", "0:", "1", "→", "0"])
    page = (out / "report.html").read_text()
    assert "Plain model, every attack tried, alpha = 0." in page
    assert '"named":["column 0: 1 \\u2192 0"]' in page
    status, said, _ = here("verify", "certified-exact/certificates.json")
    assert status == 0
    assert "consistent" in said
    status, said, _ = here("verify", "certified-exact", "--rerun", "1000")
    assert status == 0
    assert "recounted" in said
    status, said, _ = here("verify", "certified-exact/certificates.json", "--json")
    assert (json.loads(said)["verdict"], json.loads(said)["recounted"]) == ("consistent", None)
    (folder / "model.py").write_text(MODEL.replace("> 2", "> 1"))
    run = folder / "certified-exact" / "run.toml"
    run.write_text(run.read_text().partition("# What the run was made from")[0])
    status, said, _ = here("verify", "certified-exact", "--rerun", "1000")
    assert status == 1
    assert "refuted" in said


def test_a_run_file_may_ask_for_it_with_a_budget_and_a_larger_one_goes_on(folder, here):
    run = folder / "run.toml"
    run.write_text(RUN.replace("[noise]", "[exact]\nmax_attacks = 3\n\n[noise]"))
    status, said, _ = here("certify", "run.toml", "--json")
    found = json.loads(said)
    assert status == 0
    assert (found["alpha"], found["method"], found["threat"]) == (0, PLAIN, "flips:2")
    assert [row["any_1"] for row in found["graphs"]] == ["open", "broken", "open"]
    assert (found["sizes"][0]["n_open"], found["sizes"][0]["n_left"]) == (2, 2)
    assert "2 rows open: the budget ended first" in (folder / "certified" / "report.html").read_text()
    before = (folder / "certified" / "tried.json").read_bytes()
    status, said, _ = here("certify", "run.toml", "--max-attacks", "100")
    assert status == 0
    assert [row["any_1"] for row in rows_of(folder / "certified")] == ["certified", "broken", "certified"]
    assert (folder / "certified" / "tried.json").read_bytes() != before
    status, said, _ = here("certify", "run.toml", "--out", "other", "--max-attacks", "100")
    for name in ("certificates.json", "results.csv", "report.html"):
        assert (folder / "other" / name).read_bytes() == (folder / "certified" / name).read_bytes()


def test_an_interrupted_run_writes_the_same_files(folder, here, monkeypatch):
    assert here("certify", "run.toml", "--exact", "--out", "whole")[0] == 0

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(certification, "write", stop)
        assert here("certify", "run.toml", "--exact", "--out", "stopped")[0] == 130
    assert (folder / "stopped.partial" / "tried.json").is_file()
    assert here("certify", "run.toml", "--exact", "--out", "stopped")[0] == 0
    for name in ("certificates.json", "results.csv", "report.html", "tried.json"):
        assert (folder / "whole" / name).read_bytes() == (folder / "stopped" / name).read_bytes()


def test_what_will_be_tried_is_said_before(folder, here):
    status, said, _ = here("certify", "run.toml", "--exact", "--dry-run")
    assert (status, said) == (0, "3 rows, 30 attacks (any 2 flips): all of them will be tried on the plain model.\n")
    said = here("certify", "run.toml", "--exact", "--dry-run", "--max-attacks", "5")[1]
    assert "at most 15 of them, 5 on each" in said
    (folder / "run.toml").write_text(RUN.replace('threat = "flips:2"\n', ""))
    assert "12 attacks (any 1 flip)" in here("certify", "run.toml", "--exact", "--dry-run")[1]
    status, _, errors = here("certify", "run.toml", "--max-attacks", "5")
    assert status == 2
    assert "needs exact = true" in errors
    status, _, errors = here("certify", "run.toml", "--exact", "--outputs", "0..1")
    assert status == 2
    assert "needs a model that answers classes" in errors


def test_plain_models_stand_beside_smoothed_ones(folder, here):
    assert here("certify", "run.toml", "--exact", "--out", "exact")[0] == 0
    assert here("certify", "run.toml", "--out", "voted")[0] == 0
    for order in (("exact", "voted"), ("voted", "exact")):
        status, said, errors = here("compare", *order, "--out", f"{order[0]}.html")
        assert (status, errors) == (0, "")
        assert PLAIN in said
        assert "any 2" in said
        page = (folder / f"{order[0]}.html").read_text()
        assert "of a plain model, by trying every attack" in page
        assert "forward passes" in page
    archive = folder / "exact" / "certificates.json"
    archive.write_text(archive.read_text().replace('"certified_size": 1', '"certified_size": 2'))
    status, _, errors = here("compare", "voted", "exact", "--out", "c.html")
    assert status == 2
    assert "does not fit together" in errors
    assert read(archive).claims[0][0][1:] == (2, 2)


def test_runs_are_compared_under_a_list_that_both_were_asked_about(folder, here):
    for name, how in (("a", ["--exact"]), ("b", ["--evidence"])):
        assert here("certify", "run.toml", "--threat", "deletions:1", "--out", name, *how)[0] == 0
    status, said, _ = here("compare", "a", "b", "--out", "c.html")
    assert status == 0
    assert "1 deletion" in said
    status, _, errors = here("compare", "a", "b", "--out", "d.html", "--threat", "additions:1")
    assert status == 2
    assert "be what a was asked about, deletions:1" in errors
