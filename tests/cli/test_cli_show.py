"""`starcert show`: a finished run again, one of its rows, and its files made anew."""

import json

import pytest
import runs_worlds as worlds


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown")
    worlds.project(folder / "project")
    done = worlds.starcert("certify", "run.toml", "--quiet", cwd=folder / "project")
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "project" / "results"


def test_a_run_is_shown_whole_and_row_by_row(run, here):
    status, said, _ = here("show", run)
    assert status == 0
    for words in ("g1", "g6", "model.py:classifier", "starcert verify", "report.html"):
        assert words in said
    status, said, _ = here("show", run / "certificates.json", "--json")
    rows = json.loads(said)["rows"]
    assert [row["name"] for row in rows] == [f"g{number}" for number in range(1, 7)]
    for name in ("g2", "1"):
        status, said, _ = here("show", run, name)
        assert status == 0
        assert rows[1]["name"] in said
        found = json.loads(here("show", run, name, "--json")[1])
        assert found["p_lower"] == rows[1]["p_lower"]
        assert found["guarantee"] in said


def test_a_finished_run_is_rebuilt_from_its_votes(run, here):
    kept = {name: (run / name).read_bytes() for name in ("report.html", "results.csv", "certificates.json")}
    (run / "report.html").unlink()
    assert here("show", run, "--rebuild")[0] == 0
    assert {name: (run / name).read_bytes() for name in kept} == kept


def test_what_is_not_there_is_named(run, here):
    for words, said in (
        ((run, "g7"), "'NAME' must name a row of the run. Got 'g7' instead. There are 6, such as g1"),
        ((run.parent,), "no finished run is there"),
    ):
        status, _, error = here("show", *words)
        assert status == 2
        assert said in error
