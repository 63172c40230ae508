"""`starcert sweep`: from a new user's example to the certification of a level, and every mistake on the way."""

import csv
import json
import os
import re
import shlex
import signal
import sys
from pathlib import Path

import pytest
import runs_worlds as worlds

from starcert.runs.sweep_report import OTHER


def next_command(out):
    (line,) = [line for line in out.splitlines() if line.startswith("  starcert certify ")]
    return shlex.split(line)[1:]


def test_a_sweep_names_what_to_certify_and_that_runs(project, here):
    words = ["run.toml", "--grid", "hub=0.02,0.2,bridge=0.3,0.45", "--samples", 150, "--limit", 4, "--out", "my sweep"]
    status, out, err = here("sweep", *words)
    assert (status, err) == (0, "")
    assert "4 noise levels on 4 graphs: the first graphs (--limit 4) of graphs" in out
    assert "majority-class share (clique)" in out
    assert "Pareto-optimal" in out
    assert "must be certified on other graphs" in out
    assert f"Page: {project / 'my sweep' / 'sweep.html'}" in out
    command = next_command(out)
    assert command[:2] == ["certify", "my sweep/run.toml"]
    with open("my sweep/sweep.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    best = max((row for row in rows if row["unbeaten"] == "True"), key=lambda row: float(row["accuracy"]))
    assert command[2:] == ["--noise", best["noise"], "--data", OTHER, "--out", "certified"]
    _, told, _ = here("sweep", *words, "--json")
    said = json.loads(told)
    assert [level["noise"] for level in said["levels"]] == [row["noise"] for row in rows]
    assert set(said["levels"][0]) == set(rows[0])
    assert said["levels"][said["suggested"] - 1]["noise"] == best["noise"]
    assert shlex.split(said["next"])[1] == "certify"
    status, _, err = here(*command)
    # Pasted unread, it does not certify the graphs that the level was chosen on.
    assert status == 2
    assert "'--data' must name a file or a folder that exists" in err
    worlds.graphs(project / "others", n=6)
    assert here(*("others" if word == OTHER else word for word in command), "--samples", 100)[0] == 0
    kept = json.loads((project / "certified/certificates.json").read_text())
    assert len(kept["graphs"]) == 6  # the limit was the sweep's own


def test_graphs_with_an_empty_region_are_counted_apart(project, here):
    worlds.hollow(project)
    words = ["--model", "model.py:classifier", "--data", "graphs", "--regions", "model.py:two", "--out", "swept"]
    status, out, err = here("sweep", *words, "--grid", "motif=0.02,rest=0.2,0.4", "--samples", 150)
    assert (status, err) == (0, "")
    assert "Some graphs have nothing to flip in rest." in out
    assert "rest has none in 1 of 7 graphs" in " ".join(out.split())
    with open("swept/sweep.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["graphs_without_motif"], row["graphs_without_rest"]) for row in rows] == [("0", "1")] * 2
    assert "rest has none in 1 of 7 graphs" in (project / "swept" / "sweep.html").read_text()


def test_a_divided_data_set_is_swept_on_validation_and_certified_on_test(tmp_path, here, monkeypatch):
    pytest.importorskip("grakel")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert here("init", "--example", "sklearn")[0] == 0
    status, out, _ = here("sweep", "run.toml", "--samples", 200)
    assert status == 0
    assert "6 noise levels on 6 graphs: the validation part of graphs" in out
    assert "Certify the level on the test part" in out
    command = next_command(out)
    assert command[4:6] == ["--split", "test"]
    status, out, _ = here(*command, "--samples", 100)
    assert status == 0
    assert "6 graphs, 200 votes each." in out
    assert Path("certified/report.html").exists()
    assert (tmp_path / "sweep/sweep.html").exists()


def test_everything_can_stand_on_the_command_line(project, here):
    words = ["--model", "model.py:plain", "--data", "graphs", "--grid", "all.delete=0.02,0.1", "--grid", "all.add=0.01"]
    status, out, _ = here("sweep", *words, "--samples", 50, "--threat", "box:all.delete=1,all.add=1", "--seed", 5)
    assert status == 0
    assert "all=0.02/0.01" in out
    assert (project / "sweep" / "sweep.html").exists()


BAD = [
    ((), "Missing setting: grid"),
    (("run.toml",), "Missing setting: grid"),
    (("--grid", "hub=0.1"), "Missing setting: model"),
    (("run.toml", "--grid", "0.1"), "'--grid' must be REGION=P,P,… for each region"),
    (("run.toml", "--grid", "hub=0.1,2"), "'--grid hub' must be a probability from 0 to 1. Got 2.0"),
    (("run.toml", "--grid", "hub=0.1,bridg=0.2"), "Did you mean bridge?"),
    (("run.toml", "--grid", "hubs=0.1,0.2"), "There is no region hubs. Did you mean hub?"),
    (("run.toml", "--grid", "hub=0.1", "--split", "test"), "'split' cannot be test in a sweep"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_ends_in_one_clear_line(project, here, words, message):
    before = sorted(project.rglob("*"))
    status, out, err = here("sweep", *words)
    assert (status, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(path for path in project.rglob("*") if "__pycache__" not in str(path)) == before


def test_ctrl_c_ends_quietly_and_the_same_command_goes_on(project, here):
    model = project / "model.py"
    slow = "import os, time\n\ndef shapes(batch):\n    time.sleep(float(os.environ.get('SLEEP', '0')))"
    model.write_text(model.read_text().replace("def shapes(batch):", slow))
    words = ["sweep", "run.toml", "--grid", "hub=0.02,0.1,0.2", "--samples", 100]
    running = worlds.begin(words, project, env={**worlds.environment(), "SLEEP": "0.05"})
    worlds.until((project / "sweep.partial/votes/level-2.db").exists, running)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert re.fullmatch(r"Classes: .*\n3 levels on 6 graphs, 200 votes each\.\n", out)
    assert err == "Interrupted. What was counted is kept: the same command goes on.\n"
    assert not (project / "sweep").exists()
    assert here(*words)[::2] == (0, "")
    assert (project / "sweep/sweep.csv").exists()
