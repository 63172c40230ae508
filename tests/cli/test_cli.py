import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from starcert.cli import app, loaded
from starcert.cli.command_line import COMMANDS

HEADLINE = ["--noise", "motif=0.02,random=0.45"]
BOX = ["--max-radius", "motif=35,random=45"]


@pytest.fixture
def as_json(starcert):
    def run(*arguments: str) -> dict:
        done = starcert(*arguments, "--json")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ["radius", *HEADLINE, *BOX, "--p-lower", "0.9995"],
        ["radius", *HEADLINE, *BOX, "--p-lower", "0.9995", "--json"],
        ["radius", "--noise", "a=1.5", "--p-lower", "0.9"],
    ],
)
def test_a_process_of_its_own_says_the_same(starcert, arguments):
    there = subprocess.run(
        [sys.executable, "-m", "starcert", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    here = starcert(*arguments)
    assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr)


def test_the_headline_frontier(as_json):
    result = as_json("radius", *HEADLINE, *BOX, "--p-lower", "0.9995")
    assert result["axes"] == ["motif", "random"]
    assert result["frontier"] == [[1, 45]]
    assert result["beyond"] == [[2, 0]]
    assert result["verified"] is True
    assert result["abstained"] is False
    assert result["alpha"] is None
    assert result["noise"] == {"motif": 0.02, "random": 0.45}


def test_votes_instead_of_a_bound(as_json):
    result = as_json("radius", *HEADLINE, *BOX, "--votes", "99950,50", "--selection", "995,5", "--alpha", "0.01")
    assert result["frontier"] == [[1, 45]]
    assert result["alpha"] == 0.01
    assert result["p_lower"] == pytest.approx(0.9993093934940733, abs=1e-15)


def test_votes_without_selection_pay_for_the_choice(as_json):
    separate = as_json("radius", *HEADLINE, *BOX, "--votes", "990,10", "--selection", "9,1")
    same = as_json("radius", *HEADLINE, *BOX, "--votes", "990,10")
    assert same["p_lower"] < separate["p_lower"]


def test_three_classes(as_json):
    result = as_json("radius", "--noise", "a=0.45", "--votes", "6000,2500,1500", "--selection", "6,3,1")
    assert result["margin_kind"] == "multi-class"
    assert result["frontier"] == [[4]]


def test_abstention_is_an_answer(starcert, as_json):
    result = as_json("radius", *HEADLINE, *BOX, "--votes", "51,49", "--selection", "6,4")
    assert result["abstained"] is True
    assert result["frontier"] == []
    assert "abstains" in starcert("radius", *HEADLINE, "--p-lower", "0.4").stdout


def test_delete_and_add_are_two_axes_in_this_order(as_json):
    result = as_json("radius", "--noise", "bonds=0.04/0.2", "--p-lower", "0.99995")
    assert result["axes"] == ["bonds.delete", "bonds.add"]
    assert result["noise"] == {"bonds": {"delete": 0.04, "add": 0.2}}
    assert result["frontier"] == [[0, 5], [1, 3], [2, 2], [4, 0]]


def test_a_frontier_that_is_too_large_says_so(starcert, as_json):
    many = ["--noise", ",".join(f"r{i}=0.4" for i in range(6)), "--max-radius", ",".join(f"r{i}=100" for i in range(6))]
    result = as_json("radius", *many, "--p-lower", "0.999999")
    assert result["verified"] is False
    assert result["incomplete"] == "axes under one law can share their flips in more than 100,000 ways"
    shown = starcert("radius", *many, "--p-lower", "0.999999")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Maximal certified radii, proved" not in shown.stdout
    assert "Incomplete (axes under one law can share their flips in more than 100,000 ways)" in shown.stdout
    assert "others may be certified too" in shown.stdout


def test_slack(starcert, as_json):
    shown = starcert("radius", *HEADLINE, "--radius", "motif=1,random=45").stdout
    assert "slack(motif 1, random 45) ≈ 0.0018759438408876" in shown
    result = as_json("radius", *HEADLINE, "--radius", "1,45")
    assert result["radius"] == [1, 45]
    assert result["proved"]["above"] <= result["slack"] <= result["proved"]["at_most"]


BAD = [
    (["radius", "--noise", "a=1.5", "--p-lower", "0.9"], "--noise a"),
    (["radius", "--noise", "a=0.1/0.2/0.3/0.4", "--p-lower", "0.9"], "--noise a"),
    (["radius", "--noise", "a=0.1/0.2/0.3", "--p-lower", "0.9"], "0.1/0.2/0.3:4"),
    (["radius", "--noise", "a=0.1:*", "--p-lower", "0.9"], "0.05:4"),
    (["radius", "--noise", "a=high", "--p-lower", "0.9"], "--noise a"),
    (["radius", "--noise", "a", "--p-lower", "0.9"], "--noise"),
    (["radius", "--noise", "a=0.1,a=0.2", "--p-lower", "0.9"], "--noise"),
    (["radius", "--noise", "a.b=0.1", "--p-lower", "0.9"], "noise"),
    (["radius", *HEADLINE, "--p-lower", "1.5"], "p_lower"),
    (["radius", *HEADLINE], "Give one of --radius, --p-lower, --votes,"),
    (["radius", *HEADLINE, "--p-lower", "0.9", "--votes", "9,1"], "Give one of --radius, --p-lower, --votes,"),
    (["radius", *HEADLINE, "--p-lower", "0.9", "--selection", "9,1"], "--selection"),
    (["radius", *HEADLINE, "--p-lower", "0.9", "--alpha", "0.05"], "--alpha"),
    (["radius", *HEADLINE, "--p-lower", "0.9", "--max-radius", "motif=3"], "Missing: random"),
    (["radius", *HEADLINE, "--p-lower", "0.9", "--max-radius", "motif=3,random=4,ring=1"], "Unknown: ring"),
    (["radius", *HEADLINE, "--p-lower", "0.9", "--max-radius", "motif=-3,random=4"], "--max-radius[motif]"),
    (["radius", *HEADLINE, "--p-lower", "0.9", "--max-radius", "1,2,3"], "2 counts"),
    (["radius", *HEADLINE, "--p-lower", "0.9", "--max-radius", "many"], "--max-radius"),
    (["radius", "--noise", "a=0.5", "--p-lower", "0.9"], "Give max_radius"),
    (["radius", *HEADLINE, "--votes", "9,-1"], "counts[0][1]"),
    (["radius", *HEADLINE, "--votes", "0,0"], "at least one vote"),
    (["radius", *HEADLINE, "--votes", ""], "--votes"),
    (["radius", *HEADLINE, "--votes", "9"], "--votes"),
    (["radius", *HEADLINE, "--votes", "9,1", "--selection", "9,1,0"], "selection"),
    (["radius", *HEADLINE, "--votes", "9,1", "--alpha", "0.99"], "confidence level"),
    (["radius", *HEADLINE, "--radius", "motif=1,random=99999999999"], "--radius[random]"),
]


@pytest.mark.parametrize(("arguments", "named"), BAD)
def test_bad_input_ends_in_one_clear_line(starcert, arguments, named):
    done = starcert(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr


def test_unknown_options_end_with_status_two_as_well(starcert):
    assert starcert("radius", "--nose", "a=0.1").returncode == 2
    assert starcert("radius", *HEADLINE, "--p-lower", "often").returncode == 2


def test_a_line_of_the_help_stands_for_each_command_and_begins_its_own():
    for name, command in loaded().commands.items():
        first = " ".join(command.help.partition("\n\n")[0].split())
        assert COMMANDS[name][1].split()[0] == first.split()[0], name  # in the same mood


@pytest.mark.parametrize("command", ["certify", "compare", "radius", "verify", "list", "init"])
def test_help_is_short(command):
    given = {"COLUMNS": "80", "TERMINAL_WIDTH": "80"}
    done = CliRunner(env=given).invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert len(done.output.splitlines()) <= 90


def test_lists_name_what_there_is(starcert):
    for topic, words in (("threats", "rewire:1"), ("regions", "communities"), ("laws", "DELETE/ADD"),
                         ("methods", "--exact"), ("data", "FILE.npz"), ("settings", "train.epochs")):  # fmt: skip
        assert words in starcert("list", topic).stdout
        assert json.loads(starcert("list", topic, "--json").stdout)
    assert starcert("list", "threat").stderr.endswith("Did you mean threats?\n")


def test_help_has_examples_and_the_version_is_told(starcert):
    assert "starcert radius --noise" in starcert("radius", "--help").stdout
    assert starcert("--version").stdout.startswith("starcert 0.")


HEAVY = ["networkx", "torch", "sklearn", "matplotlib", "pandas", "rdkit", "jinja2", "numba"]
NAMES = "SmoothedClassifier, threats, report, display, models, datasets, archive"
HELP = "from starcert.cli.command_line import app; app(['--help'], standalone_mode=False)"


@pytest.mark.parametrize(
    ("command", "heavy"),
    [(f"from starcert import {NAMES}", HEAVY), ("import starcert", ["numpy", *HEAVY]), (HELP, ["numpy", *HEAVY])],
)
def test_what_starts_loads_nothing_that_is_optional_or_slow(command, heavy):
    code = f"import sys, os; out, sys.stdout = sys.stdout, open(os.devnull, 'w'); {command}; sys.stdout.close(); "
    code += f"sys.stdout = out; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
