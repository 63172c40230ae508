"""What the README prints is what happens."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def run(command: str) -> str:
    words = shlex.split(command)
    assert words[0] == "starcert"
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout


@pytest.mark.parametrize("command", re.findall(r"^    (starcert .*)$", README, flags=re.MULTILINE))
def test_commands_work_as_printed(command):
    assert "Proved" in run(command) or "proved" in run(command)


def test_the_demo_prints_what_the_readme_shows():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    command = re.search(r"^\t\$\(BIN\)/(starcert frontier .*?)\n\n", makefile, flags=re.MULTILINE | re.DOTALL)
    shown = re.search(r"prints\n\n```\n(.*?)```", README, flags=re.DOTALL)
    assert run(command[1].replace("\\\n", " ")).split() == shown[1].split()


def test_the_python_example_gives_the_printed_values():
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names: dict[str, object] = {}
    checked = 0
    for line in example.splitlines():
        code, _, comment = line.partition("#")
        if re.match(r"result|sc\.", code) and "=" not in re.sub(r"\(.*\)", "", code):
            value, expected = repr(eval(code, names)), comment.strip().partition("…")[0].partition(": ")[0]
            assert value.startswith(expected), f"{code.strip()} is {value}, the README says {comment.strip()}"
            checked += 1
        else:
            exec(code, names)
    assert checked == 4
