"""Every example of the README and the docs that can run here is run here."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
VOTING = (ROOT / "docs" / "voting.md").read_text(encoding="utf-8")


def run(*words: str, folder: Path = ROOT) -> str:
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, timeout=300, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Path:
    """What `make demo` does, in a folder of its own."""
    folder = tmp_path_factory.mktemp("demo")
    said = run(str(ROOT / "examples" / "first_certificate.py"), "votes.db", folder=folder)
    assert said.split() == shown(0)
    return folder


def shown(number: int) -> list[str]:
    return re.findall(r"^```\n(.*?)```", README, flags=re.MULTILINE | re.DOTALL)[number].split()


def test_the_demo_prints_what_the_readme_shows(demo):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (command,) = re.findall(r"\(BIN\)/starcert (frontier .*)", makefile)
    words = command.replace("build/demo/votes.db", "votes.db").split()
    assert run("-m", "starcert", *words, folder=demo).split() == shown(1)


COMMANDS = re.findall(r"^    (starcert .*)$", README + VOTING, flags=re.MULTILINE)


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_commands_work_as_printed(command, demo):
    assert len(run("-m", *shlex.split(command), folder=demo)) > 80


def test_the_python_example_of_the_readme_gives_the_printed_values():
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


def test_the_examples_on_voting_run(tmp_path):
    first, second, cluster, kernels, gnn = re.findall(r"```python\n(.*?)```", VOTING, flags=re.DOTALL)
    assert "Client(" in cluster  # needs a cluster: tests/test_smoothing.py has one
    assert "from_pyg(" in gnn  # needs a model: tests/classifiers/test_torch.py has several
    guarded = "\n".join("    " + line for line in (second + kernels).splitlines())
    script = tmp_path / "example.py"
    script.write_text(f"{first}\nif __name__ == '__main__':\n{guarded}\n    print(votes.counts)\n", encoding="utf-8")
    pytest.importorskip("grakel")
    said = run("-W", "ignore", str(script), folder=tmp_path)
    assert "answers class 1" in said
    assert "\n1.0\n" in said  # every test graph is right and certified at (1, 45)
    assert "20000]]" in said
