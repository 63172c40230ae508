"""`starcert certify` and `starcert init`: a new user's way, and every mistake on it."""

import csv
import json
import os
import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import runs_worlds as worlds
from runs_worlds import starcert

import starcert as sc
from starcert import archive as archives
from starcert.claims import metrics
from starcert.runs.folder import OutputFolder


def test_a_new_user_gets_a_report(tmp_path, here, monkeypatch):
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    status, out, err = here("init")
    assert (status, err) == (0, "")
    assert "Next: starcert certify run.toml" in out
    done = starcert("certify", "run.toml", "--samples", 500, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Robustness certificates: graphs" in done.stdout
    assert "majority-class share" in done.stdout
    assert f"Report: {folder / 'results' / 'report.html'}" in done.stdout
    assert {"report.html", "certificates.json", "results.csv", "run.toml"} <= set(os.listdir(folder / "results"))
    assert not list(folder.rglob("__pycache__"))
    assert here("verify", "results/certificates.json")[0] == 0
    status, _, err = here("init")
    assert status == 2
    assert "remove run.toml first" in err
    assert err.count("\n") == 1


def test_one_json_object(project, here):
    status, out, err = here("certify", "run.toml", "--json")
    found = json.loads(out)
    assert (status, err, len(found["certificates"])) == (0, "", 6)
    assert found["report"] == str(project / "results" / "report.html")
    kept = archives.read(project / "results" / "certificates.json")
    assert found["accuracy"] == metrics.accuracy(kept.certificates, kept.labels)
    for row, one in zip(found["certificates"], kept.certificates, strict=True):
        assert row["frontier"] == [list(radius) for radius in one.frontier.radii]
        assert row["class"] == (None if one.abstained else one.label)


def test_a_limit_on_sorted_data_is_stratified_and_said(project, here):
    rows = [f"g{number},{'ring' if number > 2 else 'clique'}" for number in range(1, 7)]
    (project / "graphs" / "labels.csv").write_text("\n".join(["name,label", "g1,star", *rows[1:]]))
    status, _, err = here("certify", "run.toml", "--limit", 3)
    assert (status, err.count("\n")) == (0, 1)
    assert "these are drawn from every class (--split-seed), 1 of class clique, 1 of class ring, 1 of class star" in err


def test_a_dry_run_says_what_to_expect_and_writes_nothing(project, here):
    before = set(project.rglob("*"))
    status, out, err = here("certify", "run.toml", "--dry-run")
    assert (status, err, set(project.rglob("*"))) == (0, "", before)
    assert "6 graphs, 500 votes each." in out
    needed = metrics.votes_needed(sc.Noise(hub=0.02, motif=0.03), 0.01, 3)
    assert f"{needed['hub']} votes (hub), {needed['motif']} (motif), " in out
    assert "Too few for hub" in out
    status, out, _ = here(
        "certify", "run.toml", "--dry-run", "--regions", "node_sets:a=0-2,b=3-3", "--noise", "a=.3,b=.3"
    )
    assert status == 0
    assert "Empty: b has no sites in 6 of 6 graphs." in out
    assert "Fixed: " in out
    assert "; you have 4" in out


def test_no_more_workers_than_cores(project, here, monkeypatch):
    monkeypatch.setattr("starcert.runs.user_code.available_cores", lambda: 1)
    status, _, err = here("certify", "run.toml", "--workers", 1000)
    assert (status, err.count("\n")) == (0, 1)
    assert "Note: Votes are counted by 1 of 1,000 workers" in err


@pytest.mark.parametrize("command", [("certify", "run.toml"), ("sweep", "run.toml", "--grid", "hub=0.1,0.2")])
def test_a_folder_in_which_a_run_is_still_going(project, here, command):
    with OutputFolder(project / "busy").held():
        status, _, err = here(*command, "--out", "busy")
    assert (status, err.count("\n")) == (2, 1)
    assert "'out' must be a folder in which no run is still going" in err
    assert "give another --out" in err
    assert here(*command, "--out", "busy")[0] == 0
    assert not list(project.glob("*.lock"))


def test_all_certificates_together(project, here):
    status, out, err = here("certify", "run.toml", "--family", "all", "--out", "joint")
    assert (status, err) == (0, "")
    assert "All 6 certificates hold together; that any of them fails has a probability of at most 0.01." in " ".join(
        out.split()
    )
    assert 'family = "all"' in (project / "joint" / "run.toml").read_text()
    kept = json.loads((project / "joint" / "certificates.json").read_text())
    assert kept["together"] == 6
    assert here("verify", "joint/certificates.json")[0] == 0
    assert here("certify", "run.toml", "--family", "each", "--out", "alone")[0] == 0
    alone = json.loads((project / "alone" / "certificates.json").read_text())
    assert "together" not in alone
    for joint, each in zip(kept["graphs"], alone["graphs"], strict=True):
        assert joint["estimation"] == each["estimation"]
        assert joint["claims"]["failure"] > each["claims"]["failure"]
    status, _, err = here("certify", "run.toml", "--out", "joint")
    assert status == 2
    assert "family: there all, now each" in err
    assert "uses its votes again" in err


EVIDENCE = ("--evidence", "--noise", "motif=0.06,rest=0.2", "--regions", "node_labels:attribute=part")


def test_evidence_certifies_more_and_finds_attacks(project, here):
    words = ("certify", "run.toml", "--samples", 2000, *EVIDENCE)
    status, out, err = here(*words, "--own-samples", 2000, "--out", "weighed")
    assert (status, err) == (0, "")
    with open(project / "weighed" / "results.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    broken = {row["true_name"] for row in rows if any(sum(level) == 1 for level in json.loads(row["broken"]))}
    assert broken == {"star"}
    for row in rows:
        assert int(row["any_flips"]) == (0 if row["true_name"] == "star" else 1)
        for radius in json.loads(row["frontier_by_p_A"]):
            assert any(all(map(int.__le__, radius, other)) for other in json.loads(row["frontier"]))
    assert any(row["frontier"] != row["frontier_by_p_A"] for row in rows)
    # The stars are broken by one flip; the rest of the six graphs withstand any.
    cells = cells_of(out, "1 edge")
    assert (cells[1], cells[2], cells[4:]) == ("6", "6", ["4", "0", "2"])
    # The file that the run wrote repeats it, from the votes that are there.
    again = here("certify", "weighed/run.toml", "--out", "again", "--store", "weighed/votes.db")
    assert again[0] == 0
    assert (project / "again" / "results.csv").read_text() == (project / "weighed" / "results.csv").read_text()
    # Without evidence one line says what it would add.
    status, out, _ = here(*words[:4], "--no-evidence", *EVIDENCE[1:], "--out", "plain")
    assert status == 0
    assert out.count("p_A") == out.count("--evidence") == 1
    kept = archives.read(project / "plain" / "certificates.json").confirmed()
    (one,) = kept.certificates.counts(kept.labels, threat="flips:1")
    said = (
        f"Under any 1 flip, p_A leaves {one.n_open} of 6 graphs answered right open. --evidence --threat flips:1, with"
    )
    assert said in out
    assert one.n_open > 0
    assert "any_flips" not in (project / "plain" / "results.csv").read_text().splitlines()[0]


def cells_of(out, head):
    """The cells of the row of a table that begins with this one, counts without their shares."""
    line = next(line for line in out.splitlines() if line.startswith(f"│ {head}"))
    return [re.sub(" +[0-9.]+%", "", cell).strip() for cell in line.strip("│").split("│")]


def test_a_threat_is_counted_in_terminal_page_and_table(project, here):
    words = ("certify", "run.toml", "--samples", 2000, *EVIDENCE, "--own-samples", 2000)
    status, out, err = here(*words, "--threat", "flips:3", "--out", "asked")
    assert (status, err) == (0, "")
    kept = archives.read(project / "asked" / "certificates.json").confirmed()
    assert kept.settings["threat"] == "flips:3"
    assert {each.max_flips for each in kept.evidence} == {3}
    with open(project / "asked" / "results.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [column for column in rows[0] if re.fullmatch(r"any_\d", column)] == ["any_1", "any_2", "any_3"]
    page = (project / "asked" / "report.html").read_text(encoding="utf-8")
    for each in kept.certificates.counts(kept.labels, threat="flips:3"):
        told = [row[f"any_{each.size}"] for row in rows]
        assert told.count("by p_A") == each.n_by_p_A
        assert told.count("by evidence") == each.n_certified - each.n_by_p_A
        assert (told.count("broken"), told.count("open")) == (each.n_broken, each.n_open)
        counts = [6, 6, each.n_by_p_A, each.n_certified, each.n_open, each.n_broken]
        assert cells_of(out, f"any {each.size} ")[1:] == [*map(str, counts)]
        assert f'<th scope="row">any {each.size} flip' in page
    assert {row["any_1"] for row in rows} >= {"broken", "by evidence"}
    # Votes at attacked graphs that would settle more are named, and which further runs keep the promise.
    predicted = [each for each in kept.certificates.counts(kept.labels, threat="flips:3") if each.own_samples]
    assert predicted
    for each in predicted:
        sentence = re.search(
            rf"Any {each.size} flips?: own_samples of about ([\d,]+) would settle (\d+) of the (\d+) open", out
        )
        about, settled, n_open = (int(number.replace(",", "")) for number in sentence.groups())
        assert (settled, n_open) == (sum(need <= about for need in each.own_samples), each.n_open)
        assert 2 * settled >= len(each.own_samples)
        assert sentence[0] in page
    assert 'id="repeating"' in page


def test_samples_are_a_most_where_what_is_asked_is_decided(project, here):
    words = ("certify", "run.toml", "--samples", 20000, "--own-samples", 0, *EVIDENCE)
    status, _, err = here(*words, "--plan", "decided", "--threat", "box:motif=0,rest=1", "--out", "soon")
    assert (status, err) == (0, "")
    with open(project / "soon" / "results.csv", encoding="utf-8", newline="") as file:
        totals = [sum(int(row[f"votes_{label}"]) for label in range(3)) for row in csv.DictReader(file)]
    assert min(totals) < 20000
    assert 'plan = "decided"' in (project / "soon" / "run.toml").read_text()


def test_quick_stops_where_the_threat_is_decided_and_longer_runs_point_to_it(project, here):
    words = ("certify", "run.toml", "--samples", 5000, "--threat", "flips:1")
    status, out, _ = here(*words, "--out", "fixed")
    assert status == 0
    assert "--quick" in out
    status, out, _ = here(*words, "--quick", "--out", "soon")
    assert status == 0
    assert "--quick" not in out
    assert 'plan = "decided"' in (project / "soon" / "run.toml").read_text()
    status, _, err = here("certify", "run.toml", "--quick", "--out", "none")
    assert status != 0
    assert "needs a threat" in err


def test_anchored_regions_are_said_to_be(project, here):
    words = ("--model", "model.py:classifier", "--data", "graphs", "--regions", "communities", "--samples", 200)
    status, out, _ = here("certify", *words, "--noise", "inside=0.05,between=0.3", "--out", "new")
    assert status == 0
    assert "The communities were found from the edges of the clean graph." in out


def test_options_go_before_the_file(project, here):
    noise = "hub=0.02,motif=0.03,rest=0.3/0.2,bridge=0.45"
    words = ["--samples", 300, "--alpha", 0.05, "--seed", 9, "--limit", 2, "--noise", noise, "--out", "deep/er"]
    status, *_ = here("certify", "run.toml", *words, "--threat", "box:1,1,1,1,1", "--regions", "model.py:four")
    assert status == 0
    kept = json.loads((project / "deep" / "er" / "certificates.json").read_text())
    assert (kept["alpha"], kept["max_radius"], len(kept["graphs"])) == (0.05, [1, 1, 1, 1, 1], 2)
    assert (kept["settings"]["samples"], kept["settings"]["seed"]) == (300, 9)
    assert here("certify", "deep/er/run.toml", "--limit", 1, "--out", "one")[0] == 0
    # Without an output in the file or among the options, there is one beside the run file.
    assert here("certify", "deep/er/run.toml")[0] == 0
    assert (project / "deep/er/certified/certificates.json").read_bytes() == (
        project / "deep/er/certificates.json"
    ).read_bytes()


BAD = [
    ((), "Missing setting: model"),
    (("no.toml",), "no.toml: there is no such file"),
    (("run.toml", "--model", "model.py:clasifier"), "Did you mean classifier?"),
    (("run.toml", "--data", "nothing/here"), "'--data' must name a file or a folder that exists"),
    (("run.toml", "--data", "."), "'data' must be a folder with graphs"),
    (("run.toml", "--noise", "all=0.1"), "There is no region all. Give --regions too."),
    (("run.toml", "--noise", "hub=0.1,motif=0.1,est=0.2,bridge=0.1"), "There is no region est. Did you mean rest?"),
    (("run.toml", "--data", "./graph.s"), "graphs?"),
    (("run.toml", "--threat", "flips:2 & box:hub=1"), "'threat' must have the axes hub, motif, "),
    (("run.toml", "--regions", "model.py:fours"), "Did you mean four?"),
    (("run.toml", "--regions", "node_labels:attribute=colour"), "'g1' cannot be used: 'attribute' must name data"),
    (("run.toml", "--regions", "model.py:shape"), "The regions of graph 'g1' cannot be used"),
    (("run.toml", "--out", "graphs"), "'out' must be a new folder"),
    (("run.toml", "--store", "no/folder/votes.db"), "does not exist"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_ends_in_one_clear_line(project, here, words, message):
    before = sorted(project.rglob("*"))
    status, out, err = here("certify", *words)
    assert (status, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert message in err
    assert not (project / "results").exists()
    if "--store" not in words:
        assert sorted(path for path in project.rglob("*") if "__pycache__" not in str(path)) == before


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def classifier(:", "model.py, line 1: SyntaxError"),
        ("import no_such_module", "model.py, line 1: ModuleNotFoundError"),
        ("def classifier():\n    raise RuntimeError('boom')", "model.py, line 2: RuntimeError: boom"),
        (
            "def classifier():\n    return g\ndef g(graph):\n    return graph.nodes[99]",
            "line 4) cannot answer graph 'g1'",
        ),
        ("def classifier(): return lambda graph: 3", "it answered 3; a class is a whole number from 0 to 2. Let it "),
    ],
)
def test_mistakes_in_the_model_are_named_with_their_line(project, here, code, message):
    (project / "model.py").write_text(code)
    run = project / "run.toml"
    run.write_text(run.read_text().replace("model.py:four", "node_sets:hub=0,motif=1-4,rest=*,between=bridge"))
    status, out, err = here("certify", "run.toml")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_another_run_in_the_folder_is_refused_with_the_next_step(project, here):
    assert here("certify", "run.toml")[0] == 0
    status, _, err = here("certify", "run.toml", "--samples", 401)
    assert status == 2
    assert "holds another run (samples: there 400, now 401). Give another --out" in err
    assert "--store" not in err  # votes that were looked at serve no other number of samples
    votes = str(project / "results" / "votes.db")
    status, _, err = here("certify", "run.toml", "--samples", 401, "--out", "more", "--store", votes)
    assert (status, err.count("\n")) == (2, 1)
    assert "'samples' must be 400 for this store" in err
    status, _, err = here("certify", "run.toml", "--alpha", 0.02)
    assert f"Another --out with --store {votes} uses its votes again." in err
    assert here("certify", "run.toml", "--alpha", 0.02, "--out", "alpha", "--store", votes)[0] == 0
    status, _, err = here("certify", "run.toml", "--seed", 4)
    assert status == 2
    assert "--store" not in err  # other votes


def test_debug_shows_the_traceback_wherever_it_stands(project, here, monkeypatch):
    (project / "model.py").write_text("def classifier():\n    return 1 / 0\ndef four(graph): pass\n")
    certify = "certify", "run.toml"
    for words, shown in (((*certify, "--debug"), True), (("--debug", *certify), True), (certify, False)):
        monkeypatch.setattr("starcert.cli.command_line._debugging", [])  # as in a process of its own
        status, _, err = here(*words)
        assert status == 2
        assert ("Traceback" in err) is shown
        assert err.splitlines()[-1].startswith("Error: ")


def test_a_fault_of_our_own_is_one_line_too(project, here, monkeypatch):
    monkeypatch.setattr("starcert.cli.run_commands.certify_run", lambda *_, **__: {}["nothing"])
    status, _, err = here("certify", "run.toml")
    assert status == 70
    assert err == "Error: KeyError: 'nothing'. Internal error; please report it with the output of starcert --debug …\n"


INTERRUPTED = "Interrupted. What was counted is kept: the same command goes on.\n"


def chunks_in(votes: Path) -> int:
    if not votes.exists():
        return 0
    with closing(sqlite3.connect(votes)) as db:
        try:
            return db.execute("SELECT count(*) FROM chunks").fetchone()[0]
        except sqlite3.OperationalError:  # not made yet, or being written
            return 0


def test_ctrl_c_ends_quietly_and_keeps_the_votes(project, here):
    model = project / "model.py"
    model.write_text(
        model.read_text().replace("def shapes(batch):", "import time\n\ndef shapes(batch):\n    time.sleep(0.02)")
    )
    running = worlds.begin(["certify", "run.toml", "--workers", 2, "--samples", 20000], project)
    votes = project / "results.partial" / "votes.db"
    worlds.until(lambda: chunks_in(votes), running)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to all of its processes
    out, err = running.communicate(timeout=60)
    assert (running.returncode, err) == (130, INTERRUPTED)
    assert re.fullmatch(r"Classes: .*\n6 graphs, 20,200 votes each\.\nOne flip needs .*\n", out)
    assert not (project / "results").exists()
    assert chunks_in(votes)
    model.write_text(model.read_text().replace("time.sleep(0.02)", "pass"))
    assert (
        "results.partial: holds another run (content of model: " in here("certify", "run.toml", "--samples", 20000)[2]
    )
