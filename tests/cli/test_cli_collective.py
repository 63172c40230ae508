"""Collective claims of runs: run file and option, terminal, JSON, page, and verify."""

import json
from pathlib import Path

import pytest

from starcert.runs.example import write_example
from starcert.runs.grid import Grid, sweep_settings
from starcert.runs.run_file import read_run_file

SENTENCE = "of the 16 answers differ from the stated ones under 1 deletion (150 attacks)."


@pytest.fixture
def project(tmp_path, monkeypatch):
    write_example(tmp_path, "nodes")
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "run.toml"
    text = run.read_text()
    run.write_text(
        f'threat = "deletions:1"\nsamples = 1000\n{_without(text)}\n[evidence]\nown_samples = 0\ncollective = true\n'
    )
    return run


def _without(text):
    return "\n".join(line for line in text.splitlines() if not line.startswith(("samples", "threat", "evidence")))


def test_a_run_with_a_collective_claim(here, project):
    status, out, err = here("certify", project, "--out", "results")
    assert status == 0, err
    flat = " ".join(out.split())
    assert SENTENCE in flat
    assert "alpha is divided neither between answers nor between attacks" in flat
    archive = json.loads(Path("results/certificates.json").read_text())
    k = archive["collective"]["claims"][0]["k"]
    assert f"at most {k} {SENTENCE}" in Path("results/report.html").read_text(encoding="utf-8")
    assert archive["settings"]["collective"] is True
    k = archive["collective"]["claims"][0]["k"]
    assert f"at most {k} {SENTENCE}" in flat
    assert f"at most {k} {SENTENCE}" in Path("results/report.html").read_text(encoding="utf-8")
    assert "collective = true" in Path("results/run.toml").read_text()
    status, out, _ = here("verify", "results/certificates.json")
    assert (status, "Proved: 150 attacks" in " ".join(out.split())) == (0, True)
    (row,) = json.loads(here("certify", "results/run.toml", "--out", "again", "--json")[1])["collective"]
    assert f"at most {k} {SENTENCE}" in row["says"]
    assert (row["threat"], row["attacks"], row["answers"], row["alpha"]) == ("deletions:1", 150, 16, 0.01)
    assert row["at_most_changed"] == k

    archive["collective"]["claims"][0]["k"] -= 1
    Path("results/certificates.json").write_text(json.dumps(archive))
    status, out, _ = here("verify", "results/certificates.json")
    assert (status, "changed under" in out) == (1, True)


def test_it_needs_evidence_and_a_threat_and_sweeps_have_none(here, project):
    text = project.read_text()
    project.write_text(text.replace('threat = "deletions:1"', ""))
    for more in ((), ("--threat", "deletions:1", "--no-evidence", "--collective")):
        status, _, err = here("certify", project, *more)
        assert (status, "'collective' needs evidence = true and a threat" in err) == (2, True)
    project.write_text(text)
    assert here("certify", project, "--no-evidence", "--samples", "100", "--out", "plain")[0] == 0
    found = sweep_settings(read_run_file(project), {}, Grid.of({"friendships": [0.1, 0.2]}))
    assert (found.run.evidence, found.run.collective, found.certifying["collective"]) == (True, False, True)
