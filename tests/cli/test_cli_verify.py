import json

import archive_worlds
import pytest
import runs_worlds

from starcert import archive as archives
from starcert.archive.verification import TAKEN_AS_STATED


@pytest.fixture
def path(tmp_path):
    archives.write(tmp_path / "certificates.json", archive_worlds.two_classes())
    return tmp_path / "certificates.json"


def test_a_true_file_ends_with_status_zero(starcert, path):
    done = starcert("verify", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "proved. Every claim about 3 graphs" in done.stdout
    assert TAKEN_AS_STATED in done.stdout
    assert "the rule for the regions" in " ".join(done.stdout.lower().split())
    told = json.loads(starcert("verify", str(path), "--json").stdout)
    assert (told["verdict"], told["graphs"], told["mismatches"]) == ("proved", 3, [])
    assert told["proved_in_whole_numbers"] > 0
    assert (told["taken_as_stated"], told["together"]) == (TAKEN_AS_STATED, 1)


def test_that_a_list_of_attacks_is_complete_is_taken_as_stated(starcert, path):
    archives.write(path, archive_worlds.listed_world("nodes"))
    premise = "the 26 attacks listed: that none is missing is taken as stated."
    done = starcert("verify", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert f"What is certified under rewire:1 is about {premise}" in done.stdout
    told = json.loads(starcert("verify", str(path), "--json").stdout)
    assert (told["verdict"], told["threat"]) == ("proved", "rewire:1")
    assert told["premise"].endswith(premise)


def test_a_false_claim_ends_with_status_one_and_one_that_says_less_with_zero(starcert, path):
    told = json.loads(path.read_text())
    told["graphs"][1]["claims"] |= {"frontier": [[3, 45]]}
    told["graphs"][0]["claims"] |= {"p_lower": 0.5}
    path.write_text(json.dumps(told))
    done = starcert("verify", str(path))
    assert (done.returncode, done.stderr) == (1, "")
    assert "refuted" in done.stdout
    assert "(3, 45)" in done.stdout
    assert "\x1b" not in done.stdout  # the name of this graph would colour the terminal
    done = starcert("verify", str(path), "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)["mismatches"]
    assert [(each["graph"], each["field"]) for each in found] == [(1, "frontier")]
    del told["graphs"][1]
    path.write_text(json.dumps(told))
    done = starcert("verify", str(path))
    assert done.returncode == 0
    assert "proved. Every claim about 2 graphs follows" in done.stdout


@pytest.mark.parametrize(
    "text", ["", "import starcert", "{}", '{"format": "starcert certificates", "version": 9}', None]
)
def test_what_cannot_be_read_ends_with_status_two_and_one_line(starcert, path, text):
    if text is None:
        path = path.with_name("missing.json")
    else:
        path.write_text(text)
    done = starcert("verify", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {path}: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(" Give a certificates.json that starcert certify has written.\n")


@pytest.mark.parametrize(
    ("frontier", "status", "more", "also_errors"),
    [
        (None, 0, ("--json",), False),
        ([[3, 45]], 1, (), False),
        ("none", 2, (), True),
    ],
)
def test_the_status_does_not_depend_on_who_reads_the_output(path, frontier, status, more, also_errors):
    if frontier is not None:
        told = json.loads(path.read_text())
        told["graphs"][1]["claims"]["frontier"] = frontier
        path.write_text(json.dumps(told))
    done = runs_worlds.unread("verify", path, *more, cwd=path.parent, also_errors=also_errors)
    assert done.returncode == status
    assert also_errors or done.stderr.count("\n") == (status == 2)


def test_alpha_of_all_graphs_together_is_said_to_be(starcert, path):
    archives.write(path, archive_worlds.three_classes(family="all"))
    done = starcert("verify", str(path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "alpha 0.01 for all 2 graphs together" in done.stdout
    assert json.loads(starcert("verify", str(path), "--json").stdout)["together"] == 2


def test_claims_are_proved_where_a_search_would_not_end(starcert, path):
    told = json.loads(path.read_text())
    told["noise"][0] |= {"flip": 0.5, "exact": {"flip": "1/2"}}
    told["graphs"][2]["capacity"] = None
    told["graphs"][2] |= {"estimation": [9_000, 10]}
    path.write_text(json.dumps(told))
    done = starcert("verify", str(path))
    assert (done.returncode, done.stderr) == (0, "")


def test_several_files_and_folders_are_verified_at_once(starcert, path):
    done = starcert("verify", str(path), str(path.parent), "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["verdicts"], len(found["files"])) == (0, ["proved"] * 2, 2)
    (path.parent / "sub").mkdir()
    done = starcert("verify", str(path.parent / "sub"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "holds no archive" in done.stderr


def test_votes_of_a_run_are_drawn_again_with_its_model(starcert, tmp_path, monkeypatch):
    assert starcert("init", str(tmp_path / "example")).returncode == 0
    monkeypatch.chdir(folder := tmp_path / "example")
    done = starcert("certify", "run.toml", "--limit", "3", "--samples", "3000", "--out", "results")
    assert done.returncode == 0, done.stderr
    done = starcert("verify", "results", "--rerun", "4", "--seed", "7")
    assert (done.returncode, done.stderr) == (0, "")
    told = " ".join(done.stdout.split())
    assert "4 of 12 chunks, chosen by the seed 7, drawn again. 4 chunks find 1% of all chunks forged with 4%" in told
    name = json.loads((folder / "results" / "certificates.json").read_text())["graphs"][0]["name"]
    done = starcert("verify", "results", "--rerun", "100", "--name", name, "--json")
    assert json.loads(done.stdout)["rerun"] | {"seed": 0} == {
        "chunks": 4, "of": 4, "tied": 0, "seed": 0, "objects": 3, "name": name, "power": "These are all."
    }  # fmt: skip
    done = starcert("verify", "results", "--seed", "7")
    assert (done.returncode, "'--rerun' must be given" in " ".join(done.stderr.split())) == (2, True)
    (folder / "results" / "run.toml").unlink()
    done = starcert("verify", "results", "--rerun", "4")
    assert (done.returncode, "no run file is there" in " ".join(done.stderr.split())) == (2, True)
