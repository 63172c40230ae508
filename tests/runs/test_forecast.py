"""What is said before the first vote: once, of what is still to be drawn, and without a trace in the votes."""

import re
import subprocess
import sys
import warnings

import pytest
import runs_worlds as worlds

import starcert as sc
from starcert.report.findings import out_of_reach
from starcert.runs.certification import certify_run
from starcert.runs.example import write_example
from starcert.runs.run_file import read_run_file
from starcert.runs.settings import run_settings


def said(out: str) -> list[str]:
    """The sentences before the results."""
    return re.split("^Against |^Robustness certificates", out, maxsplit=1, flags=re.MULTILINE)[0].splitlines()


def test_a_run_says_what_to_expect_before_its_table(project, here):
    _, out, _ = here("certify", "run.toml", "--regions", "node_sets:a=0-2,b=3-3", "--noise", "a=.3,b=.3")
    classes, votes, needed, empty, fixed = said(out)
    assert classes == "Classes: 0 = clique, 1 = ring, 2 = star"
    assert votes == "6 graphs, 500 votes each."
    assert re.fullmatch(r"One flip needs at least \d+ votes \(a\); you have 400\.", needed)
    assert empty == "Empty: b has no sites in 6 of 6 graphs."
    assert fixed.startswith("Fixed: ")
    status, dry, _ = here(
        "certify", "run.toml", "--regions", "node_sets:a=0-2,b=3-3", "--noise", "a=.3,b=.3", "--dry-run"
    )
    assert status == 0
    assert dry.splitlines()[2:] == [needed, empty, fixed]


HALF_MADE = """
import os, sqlite3
db = sqlite3.connect("votes.db", isolation_level=None)
for line in ("PRAGMA cache_size = 1", "BEGIN", "CREATE TABLE records (text)"):
    db.execute(line)
db.executemany("INSERT INTO records VALUES (?)", [("x" * 5_000,)] * 50)  # more than it keeps in memory
os._exit(0)
"""


def test_a_store_that_was_killed_as_it_was_made_is_begun_again(project, here):
    subprocess.run([sys.executable, "-c", HALF_MADE], check=True, cwd=project)
    assert (project / "votes.db").stat().st_size
    assert (project / "votes.db-journal").stat().st_size
    status, out, _ = here("certify", "run.toml", "--store", "votes.db")
    assert status == 0
    assert "6 graphs, 500 votes each." in said(out)[1]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--evidence",), "at most 900 votes each, those at attacked ones included."),
        (("--evidence", "--own-samples", 0), "6 graphs, 500 votes each."),
        (("--plan", "decided"), "6 graphs, at most 500 votes each."),
    ],
)
def test_votes_that_need_not_be_drawn_are_a_bound(project, here, more, words):
    _, out, _ = here("certify", "run.toml", *more)
    assert words in said(out)[1]
    status, out, _ = here("certify", "run.toml", *more)  # all is there
    assert (status, said(out)) == (0, [])


@pytest.mark.parametrize(  # every pair of values; less and more samples than a chunk
    ("samples", "evidence", "plan", "family"),
    [
        (8, False, "fixed", "each"),
        (8, True, "decided", "all"),
        (8, True, "fixed", "all"),
        (1100, False, "decided", "all"),
        (1100, True, "decided", "each"),
        (1100, False, "fixed", "all"),
    ],
)
def test_the_votes_that_one_flip_needs_are_the_same_before_a_run_and_after_it(project, samples, evidence, plan, family):
    settings = {"samples": samples, "evidence": evidence, "plan": plan, "family": family}
    noise = sc.Noise(hub=0.001, motif=0.0015, rest=sc.Flip(delete=0.0008, add=0.0012), bridge=0.0)
    if evidence:
        settings["own_samples"] = 0
    asked = sc.threats.Box({axis: int(axis != "hub") for axis in noise.axes})
    heard = []
    given = {**settings, "noise": noise, "threat": asked, "limit": 3, "out": project / "certified"}
    run = run_settings(read_run_file(project / "run.toml").values, given)
    done = certify_run(run, before=lambda *lines: heard.extend(lines))
    (before,) = (line for line in heard if "ne flip needs at least" in line)
    after = out_of_reach(done.archive)
    needed = {axis: votes for votes, axis in re.findall(r"([\d,]+)(?: votes)? \(([a-z.]+)\)", before)}
    needed |= dict.fromkeys(re.findall(r"No number of votes is enough for ([a-z.]+)\.", before), "never")
    assert needed == {
        axis: "never" if votes == "none ever" else votes
        for axis, votes in re.findall(r"([a-z.]+) \(([\d,]+|none ever)(?: votes)? could\)", after)
    }
    assert list(needed) == ["motif", "rest.delete", "rest.add", "bridge"]
    assert f"you have {samples:,}. Too few for {', '.join(list(needed)[:-1])}." in before
    assert f"No number of votes is enough for bridge. So{' by p_A' * evidence} nothing can be certified under" in before


def test_numbers_are_no_names(project, here):
    rows = [f"g{number},{number % 3}" for number in range(1, 7)]
    (project / "graphs" / "labels.csv").write_text("\n".join(["name,label", *rows]))
    assert said(here("certify", "run.toml")[1])[0].startswith("6 graphs")


def test_targets_share_the_votes_at_attacked_graphs(tmp_path, here):
    write_example(tmp_path / "people", "nodes")
    _, out, _ = here("certify", tmp_path / "people" / "run.toml", "--evidence", "--dry-run")
    assert "1 graph, at most 4,100 votes each, those at attacked ones included." in out


def test_a_classifier_that_fails_is_told_by_the_votes(project, here):
    failing = worlds.MODEL.replace("def shapes(batch):", "def shapes(batch):\n    assert len(batch) < 2, 'too many'")
    (project / "model.py").write_text(failing)
    status, out, err = here("certify", "run.toml")
    assert (status, err.count("\n")) == (2, 1)
    assert "too many" in err
    assert "6 graphs, 500 votes each.\n" in out


def test_a_sweep_says_what_is_to_be_drawn(project, here):
    words = ("sweep", "run.toml", "--grid", "hub=0.1,0.2,0.3", "--samples", 100)
    _, out, _ = here(*words)
    assert out.startswith("Classes: 0 = clique, 1 = ring, 2 = star\n3 levels on 6 graphs, 200 votes each.")
    assert out.count("votes each") == 1
    status, out, _ = here(*words)
    assert status == 0
    assert "votes each" not in out


LARGE = """
import starcert as sc

def graphs():
    return [sc.Graph(2_900, [(0, 1), (5, 7)])], [0]

def classifier():
    return sc.classifiers.from_callable(lambda batch: [0] * len(batch), n_classes=2, on="batch", description="zero")
"""


def test_a_dry_run_says_what_is_left_out_and_what_cannot_be_certified(tmp_path, here, monkeypatch):
    (tmp_path / "large.py").write_text(LARGE)
    monkeypatch.chdir(tmp_path)
    files = ("--model", "large.py:classifier", "--data", "large.py:graphs", "--samples", 30, "--dry-run")

    def dry(*words):
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            status, out, err = here("certify", *files, *words)
        return status, " ".join(out.split()), " ".join(err.split())

    one_way = ("--noise", "all=.5/0")
    status, out, err = dry(*one_way, "--evidence", "--threat", "flips:1")
    assert status == 0
    assert err.startswith(
        "Note: Evidence is left out for 1 of 1 objects (it looks at objects of at most 4,194,304 sites)"
    )
    assert err.endswith("Certificates rest on the counts of votes alone, which have all of alpha.")
    assert "1 graph, 130 votes each." in out  # and none at attacked graphs
    assert out.endswith(
        "needs at least 17 votes (all.delete); you have 30. No number of votes is enough for all.add. So nothing can "
        "be certified under any 1 flip."
    )
    status, out, err = dry(*one_way, "--threat", "deletions:1")
    assert (status, err) == (0, "")
    assert "Attacks to list (1 deletion): 2, 2 to 2 on a graph." in out
    assert out.endswith("1 deletion needs at least 17 votes (all.delete); you have 30.")


def test_what_cannot_be_listed_is_refused(tmp_path, here, monkeypatch):
    (tmp_path / "large.py").write_text(LARGE)
    monkeypatch.chdir(tmp_path)
    files = ("--model", "large.py:classifier", "--data", "large.py:graphs", "--dry-run", "--noise", "all=.3")
    status, _, err = here("certify", *files, "--threat", "additions:1")
    assert (status, "reach at most 4,194,304 sites of an object" in " ".join(err.split())) == (2, True)


def test_only_evidence_that_a_run_would_look_at_is_recommended(tmp_path, here, monkeypatch):
    (tmp_path / "large.py").write_text(LARGE)
    monkeypatch.chdir(tmp_path)
    files = ("--model", "large.py:classifier", "--data", "large.py:graphs", "--samples", 30, "--noise", "all=.5/0")
    status, out, _ = here("certify", *files, "--threat", "flips:1")
    assert (status, "any 1 flip" in out, "--evidence" in out) == (0, True, False)
    (tmp_path / "large.py").write_text(LARGE.replace("2_900", "900"))
    status, out, _ = here("certify", *files, "--threat", "flips:1", "--out", "smaller")
    assert (status, "--evidence --threat flips:1" in " ".join(out.split())) == (0, True)


def test_attacks_that_change_several_sites_have_their_votes(project, here):
    given = ("--regions", "node_sets:a=*", "--noise", "a=.3/.2", "--threat", "rewire:1", "--samples", 30)
    status, out, _ = here("certify", "run.toml", "--dry-run", *given)
    assert status == 0
    (votes,) = re.findall(r"1 rewired edge needs at least (\d+) votes \(a.delete \+ a.add\); you have 30\.", out)
    assert out.strip().endswith(
        f"at least {votes} votes (a.delete + a.add); you have 30. Too few for a.delete + a.add. So nothing can be "
        "certified under 1 rewired edge."
    )
