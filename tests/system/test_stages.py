import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from asking import how_to
from worlds import graphs, smoothed

import starcert as sc
from starcert.system import stages as module
from starcert.system.stages import StageTimes, stage, staged, stages


class Time:
    """A clock that goes on when it is told."""

    now = 100.0

    def perf_counter(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds

    def goes_wrong_after(self, seconds):
        self.wait(seconds)
        return 1 / 0


@pytest.fixture
def passing(monkeypatch):
    found = Time()
    monkeypatch.setattr(module, "time", found)
    return found


def test_a_stage_inside_another_interrupts_it(passing):
    with stages() as clock:
        passing.now += 1
        with stage("certifying"):
            passing.now += 2
            with stage("model"):
                passing.now += 4
                with stage("transfer"):
                    passing.now += 8
                passing.now += 16
            passing.now += 32
        passing.now += 64
    passing.now += 128
    times = clock.times()
    spent = {name: seconds for name, seconds in times.seconds.items() if seconds}
    assert spent == {"certifying": 34, "model": 20, "transfer": 8}
    assert times.elapsed == 127
    assert "other             65.000    51.2%" in str(times)


def test_a_stage_ends_however_it_ends(passing):
    with stages() as clock:
        with pytest.raises(ZeroDivisionError):
            staged("model")(passing.goes_wrong_after)(1)
        passing.now += 2
        with stage("drawing"):
            passing.now += 4
    assert (clock.times().seconds["model"], clock.times().seconds["drawing"]) == (1, 4)


def test_without_a_clock_a_stage_does_nothing(monkeypatch):
    monkeypatch.setattr(module, "time", None)  # nobody looks at the time
    with stage("model", "cuda:0"):
        pass
    assert staged("storing")(lambda x: 2 * x)(21) == 42
    module.add_votes(3)


def test_what_another_thread_does_is_no_stage_of_this_one():
    def work():
        with stage("model"):
            time.sleep(0.01)
        module.add_votes(5)

    def measured():
        with stages() as there:
            work()
        return there.times()

    with stages() as clock, ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
        assert clock.times().seconds["model"] == 0
        clock.add_worker(pool.submit(measured).result())
    times = clock.times()
    assert times.seconds["model"] == times.worker_seconds >= 0.01
    assert times.votes == 5


def test_a_device_is_waited_for_at_both_ends_while_a_clock_is_on(monkeypatch):
    waited = []

    class Torch:
        class cuda:  # noqa: N801
            synchronize = waited.append

    monkeypatch.setitem(sys.modules, "torch", Torch)
    with stage("drawing", "cuda:1"):
        assert waited == []
    with stages():
        with stage("drawing", "cuda:1"):
            assert waited == ["cuda:1"]
        assert waited == ["cuda:1"] * 2
        with stage("model", "cpu"), stage("model"):
            pass
    assert waited == ["cuda:1"] * 2


def test_worker_seconds_are_not_taken_from_those_here():
    times = StageTimes({"model": 6.0, "waiting": 3.0}, votes=2_000_000, elapsed=4.0, worker_seconds=6.0)
    assert str(times).splitlines() == [
        "stage            seconds    share   µs a vote",
        "model              6.000    60.0%       3.000",
        "waiting            3.000    30.0%       1.500",
        "other              1.000    10.0%       0.500",
        "2,000,000 votes in 4.000 s; the stages add up to 10.000 s, of which workers spent 6.000 s (worker-seconds).",
    ]
    assert "model              0.000     0.0%            \n" in str(StageTimes({"model": 0.0}, votes=0, elapsed=0.0))


@pytest.mark.parametrize("plan", ["fixed", "decided"])
def test_votes_and_certificates_are_the_same_with_a_clock(tmp_path, plan):
    asked = {"samples": 3000, "seed": 2, "plan": plan, "evidence": True, "own_samples": 640, "threat": "flips:1"}
    plain = smoothed().certify(graphs(), **how_to(**asked, store=tmp_path / "plain.db"))
    with stages() as clock:
        timed = smoothed().certify(graphs(), **how_to(**asked, store=tmp_path / "timed.db"))
        frontiers = timed.frontiers()
    assert (timed.votes.counts == plain.votes.counts).all()
    assert frontiers == plain.frontiers()
    assert [one.broken for one in timed] == [one.broken for one in plain]
    times = clock.times()
    assert times.votes >= plain.votes.counts.sum() + plain.votes.selection.sum()
    for name in ("drawing", "model", "counting", "storing", "certifying"):
        assert times.seconds[name] > 0, name
    assert times.seconds["transfer"] == times.seconds["waiting"] == times.worker_seconds == 0
    assert sum(times.seconds.values()) <= times.elapsed


def test_the_seconds_of_workers_travel_back_with_their_votes():
    plain = smoothed().vote(graphs(), samples=3000, seed=2)
    with ThreadPoolExecutor(2) as pool, stages() as clock:
        votes = smoothed().vote(graphs(), samples=3000, seed=2, voting=sc.Voting(executor=pool))
    times = clock.times()
    assert (votes.counts == plain.counts).all()
    assert times.votes == 3100 * len(graphs())
    assert times.seconds["model"] > 0
    there = times.seconds["drawing"] + times.seconds["model"]  # and some counting, there and here
    assert there < times.worker_seconds < there + times.seconds["counting"] + times.seconds["auditing"]
