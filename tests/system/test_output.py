"""No number in a sentence says more than is proved; numbers with few digits stay as they are."""

import csv
import io
import json
import os
import pickle
import re
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace

import pytest
import runs_worlds as worlds
from hypothesis import example, given
from hypothesis import strategies as st

import starcert as sc
from starcert.cli.command_line import show
from starcert.system.errors import ArchiveError, InvalidParameterError, StarcertError, StoreSettingsError
from starcert.system.output import (
    at_least,
    at_most,
    csv_line,
    csv_lines,
    fails_at_most,
    holds_at_least,
    plain,
    progress_bar,
    say,
)

floats = st.one_of(
    st.floats(0, 1),
    st.floats(0, 1e-3).map(lambda x: 1 - x),
    st.floats(-300, 0).map(lambda x: 10**x),
    st.integers(0, 10**6).map(lambda n: n / 10**6),
)


def written(x: float) -> Fraction:
    """The number that a float's shortest name is."""
    return Fraction(repr(x))


@given(floats)
@example(1e-7)
@example(0.01)
@example(5e-324)
@example(1 - 2**-53)
def test_at_least_is_rounded_down_and_at_most_up(p):
    assert Fraction(at_least(p)) <= written(p) <= Fraction(at_most(p))
    assert Fraction(at_least(p, decimals=6)) <= written(p)
    assert Fraction(holds_at_least(p)) <= 1 - written(p)
    # And not by much: six digits, and three of what is left to 1.
    assert written(p) - Fraction(at_least(p)) <= written(p) / 10**5
    assert Fraction(at_most(p)) - written(p) <= written(p) / 10**5
    rest = 1 - Fraction(holds_at_least(p))
    assert rest - written(p) <= max(written(p) / 100, Fraction(1, 10**20))


@given(floats)
def test_what_has_few_digits_stays_as_it_was(p):
    if Fraction(f"{p:.6g}") == written(p):
        assert at_least(p) == at_most(p) == f"{p:.6g}"


@given(st.integers(1, 4999))
def test_what_is_left_stays_as_it_was_too(n):
    alpha = n / 10_000
    assert holds_at_least(alpha) == f"{1 - alpha:.6g}"


def test_the_numbers_that_people_use():
    assert [holds_at_least(alpha) for alpha in (0.05, 0.01, 0.001, 1e-7)] == ["0.95", "0.99", "0.999", "0.9999999"]
    assert [at_most(alpha) for alpha in (0.05, 0.01, 0.001, 1e-7)] == ["0.05", "0.01", "0.001", "1e-07"]
    assert fails_at_most(1e-7).endswith("at most 1e-07.")
    assert "All 1,000 certificates hold together" in fails_at_most(0.01, 1000)


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


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
@pytest.mark.parametrize("before", ["", "\t", "\r", " ", "\n", "\t \r\n"])
def test_no_cell_begins_like_a_formula_whatever_stands_before_it(sign, before):
    (cell,) = next(csv.reader(io.StringIO(csv_line([f"{before}{sign}1+cmd"]), newline="")))
    assert cell == f"'{before}{sign}1+cmd"


def test_a_table_has_no_control_characters_and_keeps_its_numbers():
    given = ["a\x1b[31m\a\x9b2J\u202eb", "-1", -1, "+0.5", None, "x\ty", "\tx", "two\nlines"]
    cells = next(csv.reader(io.StringIO(csv_line(given), newline="")))
    assert cells == [r"a\x1b[31m\x07\x9b2J\u202eb", "-1", "-1", "+0.5", "", "x\ty", "'\tx", "two\nlines"]


@pytest.mark.parametrize(
    "error",
    [
        InvalidParameterError("x" * 9_999, f"be {'y' * 9_999}", "z" * 9_999, f"Say {'w' * 9_999}."),
        InvalidParameterError("x", "be one of " + "many words " * 9_999, ["z"] * 9_999),
        StarcertError(f"{'x' * 9_999}: is {'not a thing ' * 9_999}"),
        ArchiveError("x" * 9_999, f"'alpha' must be {'a ' * 9_999}"),
        StoreSettingsError("votes.db", [f"model: stored {'x' * 9_999}, now {'y' * 9_999}"]),
    ],
)
def test_long_values_in_messages_are_shortened(error):
    assert len(str(error)) < 7_000
    assert not re.search(r"\S{350}", str(error))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


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
    for command in (
        ["radius", "--noise", "a\x1b[31m=0.1", "--votes", "990,10"],
        ["radius", "--noise", "a\x1b[31m=7", "--votes", "990,10"],
        ["radius", "--noise", "a=0.1", "--radius", "\x1b[31m=1"],
        ["verify", "no\x1b[31mfile"],
        ["certify", "no\x1b[31mfile.toml"],
        ["certify", "--model", "m\x1b[31m.py:f", "--data", "MUTAG", "--noise", "a=0.1"],
        ["sweep", "no\x1b[31mfile.toml"],
        ["votes", "no\x1b[31mfile.db"],
    ):
        status, out, err = here(*command)
        assert status in (0, 2), (command, err)
        spoken(out, err)


def test_what_a_terminal_cannot_encode_is_replaced():
    words = ["radius", "--noise", "motif=0.02,random=0.45", "--max-radius", "motif=3,random=9", "--p-lower", "0.9995"]
    done = subprocess.run(
        [sys.executable, "-m", "starcert", *words],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert b"Maximal certified" in done.stdout
    done.stdout.decode("ascii")


def test_the_project_of_this_test_is_what_it_says(hostile):
    assert "\x1b" in (hostile / "graphs" / "labels.csv").read_text()
    assert worlds.MODEL


@pytest.mark.parametrize("text", ["=1+1", "+1*A1", "-1+A1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_text_is_a_formula(text):
    (row,) = csv.reader(io.StringIO(csv_line([text, "harmless = text"]), newline=""))
    assert row == ["'" + text, "harmless = text"]


@given(st.lists(st.one_of(st.integers(), st.floats(allow_nan=False), st.text("abc\",;'\n é=")), min_size=2))
def test_cells_are_read_back(cells):
    (row,) = csv.reader(io.StringIO(csv_line(cells), newline=""))
    for cell, read in zip(cells, row, strict=True):
        assert type(cell)(read) == cell or read == f"'{cell}"


def test_names_of_graphs_and_classes_are_no_formulas():
    votes = sc.Votes([[990, 10]], selection=[[99, 1]])
    result = sc.certify(sc.clopper_pearson(votes), sc.Noise(all=0.1))
    kept = sc.archive.Archive.from_result(result, names=["=cmd|' /C calc'!A0"], labels=[0], class_names=["@a", "-b"])
    header, row = csv.reader(io.StringIO("".join(csv_lines(kept.rows([1])))))
    found = dict(zip(header, row, strict=True))
    assert found["name"] == "'=cmd|' /C calc'!A0"
    assert (found["true_name"], found["class_name"]) == ("'@a", "'@a")


def test_off_a_terminal_a_line_tells_the_whole_and_the_time_left(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 40.0, 50.0])
    monkeypatch.setattr("starcert.system.output.time", SimpleNamespace(monotonic=lambda: next(clock)))
    with progress_bar("votes", 1000, 200) as advance:
        for _ in range(3):
            advance(100)
    assert capsys.readouterr().err == "votes: 400 of 1,000 (40%), about 2 min left\n"
