"""What ends a command from outside ends it in one sentence, and nothing else is left of it."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import kills_worlds as kills
import pytest
import runs_worlds as worlds
from runs_worlds import begin, until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc")

KEPT = "Interrupted. What was counted is kept: the same command goes on.\n"
SLOW = "import pathlib, time\n\ndef shapes(batch):\n    pathlib.Path({here!r}).touch()\n    time.sleep(0.05)"
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.fixture(autouse=True)
def _hangups_are_not_ignored():
    """What these tests start inherits it: under nohup the suite itself ignores them."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture
def slow(project):
    """A project whose classifier takes its time, and leaves a trace when it has begun."""
    model = project / "model.py"
    slow = SLOW.format(here=str(project / "begun"))
    model.write_text(model.read_text().replace("def shapes(batch):", slow))
    return project


VOTING = ["run.toml", "--samples", 20000]


@pytest.mark.parametrize(
    ("command", "workers", "sent", "whole_group"),
    [
        ("certify", 1, signal.SIGTERM, False),
        pytest.param("certify", 2, signal.SIGTERM, True, marks=pytest.mark.slow),  # as a service manager does
        ("certify", 2, signal.SIGHUP, True),  # as a terminal does that is closed
        ("sweep", 2, signal.SIGTERM, False),
        pytest.param("sweep", 1, signal.SIGHUP, False, marks=pytest.mark.slow),
    ],
)
def test_signals_end_a_run_quietly_and_keep_its_votes(slow, command, workers, sent, whole_group):
    grid = ["--grid", "hub=0.02,0.1"] if command == "sweep" else []
    process = begin([command, *VOTING, *grid, "--workers", workers], slow)
    until((slow / "begun").exists, process)
    place = slow / ("results.partial/votes.db" if command == "certify" else "sweep.partial/votes/level-1.db")
    until(place.exists, process)
    (os.killpg if whole_group else os.kill)(process.pid, sent)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (SIGNALS[sent], KEPT)
    assert re.fullmatch(r"Classes: .*\n.* votes each\.\n(One flip needs .*\n)?", out)  # and no table
    assert place.exists()
    kills.nothing_left(process.pid)


SLOWLY = [
    pytest.param(signal.SIGTERM),
    *(pytest.param(each, marks=pytest.mark.slow) for each in (signal.SIGINT, signal.SIGHUP)),
]


@pytest.mark.parametrize("sent", SLOWLY)
def test_signals_end_a_study_quietly(tmp_path, sent):
    process = begin(["reproduce", "synthetic", "--out", "out", "--workers", 2], tmp_path)
    until(lambda: len(kills.left_of(process.pid)) >= 4, process)
    time.sleep(1)
    (os.killpg if sent == signal.SIGINT else os.kill)(process.pid, sent)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (SIGNALS[sent], "", KEPT)
    kills.nothing_left(process.pid)


def heeds_signals(pid):
    """Whether a process has handlers of its own: before that, starcert is still being imported."""
    (caught,) = re.findall(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text("utf-8"))
    return int(caught, 16) >> (signal.SIGTERM - 1) & 1


@pytest.mark.parametrize("sent", SLOWLY)
def test_signals_end_other_commands_quietly(slow, sent, here):
    assert here("certify", "run.toml", "--samples", 300)[0] == 0
    archive = json.loads((slow / "results/certificates.json").read_text())
    archive["graphs"] *= 3000
    (slow / "many.json").write_text(json.dumps(archive))
    process = begin(["verify", "many.json"], slow)
    until(lambda: heeds_signals(process.pid), process)
    time.sleep(0.5)
    os.kill(process.pid, sent)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (SIGNALS[sent], "", "Interrupted.\n")


def test_an_interruption_inside_exec_ends_with_the_status_of_any_other():
    code = """
import sys
from starcert.cli.command_line import _interrupted
try:
    exec("raise KeyboardInterrupt")  # as where a module that is being imported makes a dataclass
except KeyboardInterrupt as error:
    sys.exit(_interrupted(error))
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "Interrupted.\n")


def test_a_terminal_that_is_gone_is_no_error(slow):
    above, below = pty.openpty()
    process = begin(["certify", *VOTING], slow, stdout=below, stderr=below, stdin=below)
    os.close(below)
    until((slow / "begun").exists, process)
    os.close(above)  # nobody reads what is written there any more
    os.kill(process.pid, signal.SIGHUP)
    assert process.wait(timeout=60) == 129
    kills.nothing_left(process.pid)


def test_what_is_ignored_stays_ignored(slow):
    """As nohup does it."""
    words = ["nohup", sys.executable, "-m", "starcert", "certify", "run.toml", "--samples", "300"]
    process = subprocess.Popen(
        words,
        cwd=slow,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=worlds.environment(),
        start_new_session=True,
    )
    until((slow / "begun").exists, process)
    os.kill(process.pid, signal.SIGHUP)
    process.communicate(timeout=120)
    assert process.returncode == 0


@pytest.mark.parametrize("n_kills", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_workers_end_by_themselves_when_the_command_is_killed(slow, n_kills):
    for number in range(n_kills):
        process = begin(["certify", *VOTING, "--workers", 2], slow)
        if number % 3 == 0:
            time.sleep(0.3 + 0.1 * (number % 20))  # also while the workers begin
        else:
            (slow / "begun").unlink(missing_ok=True)
            until((slow / "begun").exists, process)
            time.sleep(0.05 * (number % 7))
        process.kill()
        process.wait()
        kills.nothing_left(process.pid)
        process.communicate()
