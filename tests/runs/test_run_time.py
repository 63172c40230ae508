"""How long a run takes, from a few votes that were timed: no test looks at a clock."""

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

import starcert as sc
from starcert.runs import forecast
from starcert.runs.forecast import EvidenceTime, RunWork, Timings, VoteTime, seconds_a_vote, seconds_of_run
from starcert.voting.jobs import Job

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
