"""What is said before the first vote: once, of what is still to be drawn, and without a trace in the votes."""

import json
import re
import subprocess
import sys
import warnings
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import runs_worlds as worlds

import starcert as sc
from starcert.pages.findings import out_of_reach
from starcert.runs import forecast
from starcert.runs.certification import certify_run, certify_settings
from starcert.runs.example import write_example
from starcert.runs.forecast import EvidenceTime, RunWork, Timings, VoteTime, seconds_a_vote, seconds_of_run
from starcert.runs.run_file import read_run_file
from starcert.system.errors import ClassifierError
from starcert.voting.plans import Job


def said(out: str) -> list[str]:
    """The sentences before the first table."""
    return out.partition("6 graphs, 3 classes\n")[0].splitlines()


def test_a_run_says_what_to_expect_before_its_table(project, here):
    _, out, _ = here("certify", "run.toml", "--regions", "node_sets:a=0-2,b=3-3", "--noise", "a=.3,b=.3")
    classes, votes, needed, empty, fixed = said(out)
    assert classes == "Classes: 0 = clique, 1 = ring, 2 = star"
    assert re.fullmatch(r"6 graphs, 500 votes each: about \d+ (to \d+ )?s with 1 worker\.", votes)
    assert needed.startswith("Votes before one flip can be certified at all: a ")
    assert empty == "Empty: b has no sites in 6 of 6 graphs."
    assert fixed.startswith("Fixed: ")
    status, dry, _ = here(
        "certify", "run.toml", "--regions", "node_sets:a=0-2,b=3-3", "--noise", "a=.3,b=.3", "--dry-run"
    )
    assert status == 0
    assert dry.splitlines()[2:] == [needed, empty, fixed]


def test_only_what_is_still_to_be_drawn_counts_and_nothing_is_said_when_all_is_there(project, here):
    few = ("--plan", "decided", "--samples", 200)  # more votes may follow
    assert here("certify", "run.toml", *few)[0] == 0
    store = ("--plan", "decided", "--selection-samples", 100, "--store", "results/votes.db")
    _, out, _ = here("certify", "run.toml", *store, "--out", "more")
    assert "6 graphs, at most 500 votes each, 1,200 of all 3,000 still to be drawn: about 1 " in said(out)[1]
    for words in (("run.toml", *store, "--out", "more"), ("run.toml", *few, *store[2:], "--out", "third")):
        status, out, _ = here("certify", *words)
        assert (status, said(out)) == (0, [])


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
    assert "6 graphs, 500 votes each: about" in said(out)[1]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--evidence",), "at most 900 votes each, those at attacked ones included: about"),
        (("--evidence", "--own-samples", 0), "6 graphs, 500 votes each: about"),
        (("--plan", "decided"), "6 graphs, at most 500 votes each: about"),
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
    run = certify_settings(
        read_run_file(project / "run.toml"), {**settings, "noise": noise, "threat": asked, "limit": 3}
    )
    done = certify_run(run, before=lambda *lines: heard.extend(lines))
    (before,) = (line for line in heard if line.startswith("Votes before one flip"))
    after = out_of_reach(done.archive)
    needed = dict(re.findall(r"([a-z.]+) ([\d,]+|never)[,.]", before.partition(": ")[2]))
    assert needed == {
        axis: "never" if votes == "none ever" else votes
        for axis, votes in re.findall(r"([a-z.]+) \(([\d,]+|none ever)(?: votes)? could\)", after)
    }
    assert list(needed) == ["motif", "rest.delete", "rest.add", "bridge"]
    assert f"{samples:,} samples are too few on {', '.join(list(needed)[:-1])}." in before
    assert (
        f"No number of samples is enough on bridge. So{' by p_A' * evidence} nothing can be certified under" in before
    )


def test_numbers_are_no_names(project, here):
    rows = [f"g{number},{number % 3}" for number in range(1, 7)]
    (project / "graphs" / "labels.csv").write_text("\n".join(["name,label", *rows]))
    assert said(here("certify", "run.toml")[1])[0].startswith("6 graphs")


def test_nobody_asks_nothing_is_measured(project, here, monkeypatch):
    monkeypatch.setattr(forecast, "measure_run", lambda *_, **__: pytest.fail("measured"))
    status, out, err = here("certify", "run.toml", "--json")
    assert (status, err, len(json.loads(out)["certificates"])) == (0, "", 6)


def test_votes_do_not_know_that_something_was_measured(project):
    run = read_run_file(project / "run.toml")
    heard = []
    told = certify_run(certify_settings(run, {"out": project / "told"}), before=lambda *lines: heard.extend(lines))
    quiet = certify_run(certify_settings(run, {"out": project / "quiet"}))
    assert heard
    assert told.archive.certificates.votes.counts.tolist() == quiet.archive.certificates.votes.counts.tolist()


def test_each_sentence_is_there_as_soon_as_it_is_known(project, monkeypatch):
    heard = []

    def measure(*_, **__):
        assert heard == ["Classes: 0 = clique, 1 = ring, 2 = star"]
        raise ClassifierError("stop here")

    monkeypatch.setattr(forecast, "measure_run", measure)
    certify_run(certify_settings(read_run_file(project / "run.toml"), {}), before=heard.append)
    assert heard[1] == "6 graphs, 500 votes each."


def test_targets_share_the_votes_at_attacked_graphs(tmp_path, here):
    write_example(tmp_path / "people", "nodes")
    _, out, _ = here("certify", tmp_path / "people" / "run.toml", "--evidence", "--dry-run")
    assert "1 graph, at most 4,100 votes each, those at attacked ones included: about " in out


def test_a_classifier_that_fails_is_told_by_the_votes(project, here):
    failing = worlds.MODEL.replace("def shapes(batch):", "def shapes(batch):\n    assert len(batch) < 2, 'too many'")
    (project / "model.py").write_text(failing)
    status, out, err = here("certify", "run.toml")
    assert (status, err.count("\n")) == (2, 1)
    assert "too many" in err
    assert "6 graphs, 500 votes each.\n" in out


def test_a_sweep_says_how_long_the_whole_takes(project, here):
    words = ("sweep", "run.toml", "--grid", "hub=0.1,0.2,0.3", "--samples", 100)
    _, out, _ = here(*words)
    assert out.startswith("Classes: 0 = clique, 1 = ring, 2 = star\n3 levels on 6 graphs, 200 votes each: about ")
    assert out.count("votes each") == 1
    status, out, _ = here(*words)
    assert status == 0
    assert "votes each" not in out
    (project / "sweep" / "votes" / "level-2.db").unlink()
    assert "200 votes each, 1,200 of all 3,600 still to be drawn: about " in here(*words)[1]


def test_the_work_of_a_sweep_is_that_of_its_levels_that_are_not_done(project, here, monkeypatch):
    words = ("sweep", "run.toml", "--grid", "hub=0.1,0.2,0.3", "--samples", 100, "--evidence", "--own-samples", 300)
    assert here(*words)[0] == 0
    (project / "sweep" / "votes" / "level-2.db").unlink()
    work = []
    monkeypatch.setattr(forecast, "seconds_of_run", lambda each, _timings: work.append(each) or (1.0, 2.0))
    _, out, _ = here(*words)
    assert ": about 1 to 2 s with 1 worker." in out
    assert [each[1:5] for each in work] == [((1200, 1200), 1800, 6, 100)]


RECORDED = json.loads(Path(__file__).with_name("recorded_runs.json").read_text(encoding="utf-8"))
"""Made by benchmarks/forecasts.py, on two cores that others used too: every recording, also those that missed."""


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["run"])
def test_recorded_runs_took_what_was_forecast_within_a_factor_of_two(recorded):
    votes, evidence = recorded["timings"]["votes"], recorded["timings"]["evidence"]
    timings = Timings(tuple(VoteTime(*each) for each in votes), None if evidence is None else EvidenceTime(*evidence))
    low, high = seconds_of_run(RunWork(**recorded["work"]), timings)
    took = recorded["seconds"]
    assert low / 2 <= took <= 2 * high
    if evidence is None and recorded["work"]["votes"][0] == recorded["work"]["votes"][1]:  # all votes, and no others
        assert high <= 5 * low or high <= 5  # narrow enough to plan by, but for runs of seconds


class Machine:
    """Takes a time for each call, one for each batch and one for each vote; and compiles at first."""

    def __init__(self, a_batch, a_vote, *, compiling=0.0, batch=256):
        self.a_batch, self.a_vote, self.batch = a_batch, a_vote, batch
        self.compiling, self.spent = compiling, 0.0

    def __call__(self, n_votes):
        taken = self.compiling + self.a_batch * -(-n_votes // self.batch) + self.a_vote * n_votes
        self.compiling = 0.0
        self.spent += taken
        return taken


@pytest.mark.parametrize("compiling", [0.0, 12.0])
@pytest.mark.parametrize(
    ("a_batch", "a_vote"), [(0.0, 1e-6), (0.0, 1e-3), (0.0, 0.2), (0.0, 3.0), (0.15, 0.0), (0.02, 1e-3), (1e-4, 1e-5)]
)
def test_the_time_of_a_vote_is_that_of_compiled_code_in_whole_batches(a_batch, a_vote, compiling):
    machine, most = Machine(a_batch, a_vote, compiling=compiling), 10_240
    low, high = seconds_a_vote(machine, most)
    assert low == high
    assert low == pytest.approx(a_batch / machine.batch + a_vote, rel=0.3)
    assert machine.spent - compiling <= max(5, 3 * (a_vote + a_batch))


def test_code_that_is_compiled_for_large_batches_only_does_not_count_either():
    machine = Machine(0.0, 1e-4)

    def taken(n_votes):
        machine.compiling = 9.0 if n_votes >= 1024 and not machine.spent > 9 else 0.0
        return machine(n_votes)

    assert seconds_a_vote(taken, 10_240) == pytest.approx((1e-4, 1e-4))


def test_a_vote_on_an_object_takes_as_long_as_on_one_of_its_size():
    timings = Timings((VoteTime(10, 1.0, 1.0), VoteTime(100, 10.0, 10.0)))
    small, large, mixed = (
        seconds_of_run(RunWork(sizes, (1000, 1000)), timings)[0] for sizes in ((10, 10), (100, 100), (10, 55, 100))
    )
    assert (small, large) == pytest.approx((1000, 10_000), rel=0.3)
    assert mixed == pytest.approx((1000 + 5500 + 10_000) / 3, rel=0.3)


def test_more_work_takes_longer_and_more_workers_less():
    timings = Timings((VoteTime(10, 0.01, 0.012),), EvidenceTime(1000, 0.5))
    work = RunWork((10,), (20_000, 20_000), own=1000, rows=10, samples=10_000, workers=2)
    low, high = seconds_of_run(work, timings)
    for more in (
        work._replace(votes=(40_000, 40_000)),
        work._replace(rows=20),
        work._replace(workers=1),
        work._replace(samples=100_000),
    ):
        assert all(map(float.__gt__, seconds_of_run(more, timings), (low, high)))
    assert seconds_of_run(work._replace(own=1_000_000), timings)[1] > 1_000_000 * 0.012 / 2
    assert seconds_of_run(work._replace(votes=(100, 20_000)), timings)[1] == high
    assert seconds_of_run(work._replace(votes=(100, 20_000)), timings)[0] < low


def test_the_blind_model_is_learned_once_whatever_the_votes_and_workers():
    timings, work = Timings((VoteTime(10, 0.01, 0.01),)), RunWork((10,), (1000, 1000), workers=2)
    quiet, learning = (seconds_of_run(work, timings._replace(learning=each)) for each in (0.0, 80.0))
    assert [more - each for each, more in zip(quiet, learning, strict=True)] == pytest.approx([64, 100])


@pytest.mark.parametrize("evidence", [False, True])
def test_the_smallest_the_middle_and_the_largest_object_are_timed(monkeypatch, evidence):
    base = sc.classifiers.from_callable(lambda batch: batch.degrees().sum(axis=1) > 4, n_classes=2, on="batch")
    graphs = [sc.Graph(n, []) for n in (5, 3, 9, 4, 6)]
    job = Job(base, sc.SmoothedClassifier(base, sc.Noise(all=0.2)).problem(graphs), 0)
    clock = SimpleNamespace(perf_counter=count(0.0, 0.03).__next__)  # it goes on by this much at each look
    monkeypatch.setattr(forecast, "time", clock)
    found = forecast.measure_run(job, 300, alpha=0.01 if evidence else None, own=50)
    assert [each.size for each in found.votes] == [3, 10, 36]
    assert found.evidence == (EvidenceTime(300, pytest.approx(0.03)) if evidence else None)


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
    assert "1 graph, 130 votes each: about" in out  # and none at attacked graphs
    assert out.endswith(
        "Votes before one flip can be certified at all: all.delete 17, all.add never. No number of samples is enough "
        "on all.add. So nothing can be certified under any 1 flip."
    )
    status, out, err = dry(*one_way, "--threat", "deletions:1")
    assert (status, err) == (0, "")
    assert "Attacks to list (1 deletion): 2, 2 to 2 on a graph." in out
    assert out.endswith("Votes before 1 deletion can be certified at all: all.delete 17. There are enough samples.")


def test_what_cannot_be_listed_is_refused_before_anything_is_measured(tmp_path, here, monkeypatch):
    (tmp_path / "large.py").write_text(LARGE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(forecast, "measure_run", None)
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
    (votes,) = re.findall(r"Votes before 1 rewired edge can be certified at all: a.delete \+ a.add (\d+)\.", out)
    assert out.strip().endswith(
        f"certified at all: a.delete + a.add {votes}. 30 samples are too few on a.delete + a.add. So nothing can be "
        "certified under 1 rewired edge."
    )
