"""Nothing that comes from data commands the terminal, and no encoding stops a command."""

import json
import os
import re
import subprocess
import sys

import pytest

import runs_worlds as worlds
import starcert as sc
from starcert.cli.printing import show
from starcert.system.terminal import plain, say

HOSTILE = "x\x1b[31m\x1b]0;title\x07\x9b2J\u202egnp\u200b\r\x08\ud800"
COMMANDS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def test_plain_text_keeps_what_is_visible_and_its_lines():
    text = "größer ≥ 1 − α\n日本語 ρ_low █"
    assert plain(text) == text
    assert not COMMANDS.search(plain(HOSTILE))
    assert plain("\x1b[2J") == r"\x1b[2J"
    assert plain("\U000e0041") == r"\U000e0041"


def test_tables_and_lines_are_looked_at_before_they_are_printed(capsys):
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    show(table, HOSTILE, "[bold]no markup[/bold]")
    out = capsys.readouterr().out
    assert not COMMANDS.search(out)
    assert out.count(r"\x1b]0;title") == 4
    assert "[bold]no markup[/bold]" in out


def test_a_message_is_one_line_whatever_it_holds(capsys):
    say(f"Error: {HOSTILE}\nand\x85more")
    err = capsys.readouterr().err
    assert not COMMANDS.search(err)
    assert err.count("\n") == 1


@pytest.fixture
def hostile(project):
    """A project whose graphs, classes, regions and files have names that would command a terminal."""
    (project / "graphs" / "labels.csv").write_text(
        "name,label\n" + "".join(f'g{i},"{name}"\n' for i, name in enumerate(["a\x1b[31m", "b\x9b2J"] * 3)),
        encoding="utf-8",
    )
    return project


def spoken(*said: str) -> None:
    for text in said:
        assert not COMMANDS.search(text), ascii(COMMANDS.search(text))


def test_no_command_passes_on_what_a_file_says(hostile, here, tmp_path):
    words = ["--samples", 150, "--out", "new"]
    status, out, err = here("certify", "run.toml", *words)
    spoken(out, err)
    archive = tmp_path / "c.json"
    votes = sc.Votes([[9_900, 100], [90, 10]], selection=[[98, 2], [9, 1]])
    names = [f"one{HOSTILE[:-1]}", "two"]
    result = sc.certify(sc.clopper_pearson(votes), sc.Noise({"re\x1b[7mgion": 0.1}), anchored=["because\x1b[2J", ""])
    sc.archive.write(archive, sc.archive.Archive.from_result(result, names=names, class_names=["\x1b[1mA", "B"]))
    spoken(*here("verify", archive)[1:])
    told = json.loads(archive.read_text())
    told["graphs"][0]["claims"]["frontier"] = [[7]]
    archive.write_text(json.dumps(told))
    status, out, err = here("verify", archive)
    assert status == 1
    spoken(out, err)
    for given in (
        ["frontier", "--noise", "a\x1b[31m=0.1", "--votes", "990,10"],
        ["frontier", "--noise", "a\x1b[31m=7", "--votes", "990,10"],
        ["slack", "--noise", "a=0.1", "--radius", "\x1b[31m=1"],
        ["verify", "no\x1b[31mfile"],
        ["certify", "no\x1b[31mfile.toml"],
        ["certify", "--model", "m\x1b[31m.py:f", "--data", "MUTAG", "--noise", "a=0.1"],
        ["sweep", "no\x1b[31mfile.toml"],
        ["votes", "no\x1b[31mfile.db"],
    ):
        status, out, err = here(*given)
        assert status in (0, 2), (given, err)
        spoken(out, err)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_what_a_terminal_cannot_encode_is_replaced(encoding):
    words = ["frontier", "--noise", "motif=0.02,random=0.45", "--max-radius", "motif=3,random=9", "--p-lower", "0.9995"]
    done = subprocess.run(
        [sys.executable, "-m", "starcert", *words],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C", "PYTHONUTF8": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert b"Maximal certified" in done.stdout
    done.stdout.decode(encoding)


def test_the_project_of_this_test_is_what_it_says(hostile):
    assert "\x1b" in (hostile / "graphs" / "labels.csv").read_text()
    assert worlds.MODEL
