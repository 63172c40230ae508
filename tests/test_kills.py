"""Commands that are killed at any moment, again and again: the same command goes on and ends as if nothing had been."""

import json
import os
import subprocess
import sys

import kills_worlds
import pytest
import runs_worlds as worlds

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc")

THOUSAND = {
    "certify": 300,
    "sweep": 200,
    "reproduce": 200,
    "archive": 200,
    "certify with two workers": 70,
    "reproduce with two workers": 30,
}


def attacked(folder, kills, **options):
    """What comes of killing the commands of a small project that often."""
    worlds.project(folder, n=3)
    environment = worlds.environment()
    environment["PYTHONPATH"] += os.pathsep + os.path.dirname(__file__)
    task = json.dumps({"kills": kills, "every_step": False, "seed": 1, **options})
    words = [sys.executable, kills_worlds.__file__, task]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(found, kills):
    assert (found["different"], found["stuck"], found["left"]) == ([], [], [])
    assert all(found["kills"][name] >= number for name, number in kills.items())


def test_nothing_is_lost_and_nothing_is_left(tmp_path):
    """SIGKILL at file operations and at random moments, once or several times in a row, then the same to its end."""
    kills = {"certify": 4, "sweep": 2, "reproduce": 2, "archive": 3}
    check(attacked(tmp_path, kills), kills)


@pytest.mark.slow
@pytest.mark.parametrize("name", THOUSAND)
def test_a_thousand_kills(tmp_path, name):
    """The same a thousand times in all, and at every file operation in turn besides."""
    assert sum(THOUSAND.values()) >= 1000
    kills = {name: THOUSAND[name]}
    found = attacked(tmp_path, kills, every_step="two workers" not in name)
    print(found["kills"])
    check(found, kills)
