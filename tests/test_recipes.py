"""The recipes of docs/extending.md: each builds its thing in a package of its own, and runs it from end to end."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from plugin_worlds import install

import examples

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
HEAD, *SECTIONS = re.split(r"^(?=## )", PAGE, flags=re.MULTILINE)
RECIPES = {
    section.partition("\n")[0].removeprefix("## A "): section for section in SECTIONS if "pyproject.toml" in section
}


SESSION = """
import contextlib, io, json, os, sys
from starcert.cli.command_line import main
import starcert.cli

found = []
for folder, words in json.loads(sys.argv[1]):
    os.chdir(folder)
    sys.argv = ["starcert", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            main()
        except SystemExit as status:
            code = status.code
    found.append((code, out.getvalue(), errors.getvalue()))
print(json.dumps(found))
"""


class Done(NamedTuple):
    """What a command did."""

    returncode: int
    stdout: str
    stderr: str


def python(code: str, *words: str, installed: Iterable[Path] = ()) -> str:
    """What a script prints where these folders are installed packages."""
    places = os.pathsep.join(map(str, [ROOT / "src", *installed]))
    environment = os.environ | {"PYTHONPATH": places, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    words = (sys.executable, "-c", code, *words)
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, timeout=300, env=environment).stdout


def starcert(commands: list[tuple[Path, tuple[str, ...]]], installed: Iterable[Path]) -> list[Done]:
    """What commands do, each in its folder, one after the other in one process that has these packages."""
    told = python(SESSION, json.dumps([(str(folder), words) for folder, words in commands]), installed=installed)
    return [Done(*each) for each in json.loads(told.splitlines()[-1])]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of a recipe, in which its section was run as a reader would."""
    done = {}

    def build(name: str) -> Path:
        if name not in done:
            folder = tmp_path_factory.mktemp(name)
            page = folder / "page.md"
            page.write_text(HEAD + RECIPES[name], encoding="utf-8")
            (pyproject,) = (b.code for b in examples.blocks_of(RECIPES[name]) if b.file == "pyproject.toml")
            install(folder, pyproject)
            examples.run(page, folder, src=ROOT / "src")
            done[name] = folder
        return done[name]

    return build


RUNS = ("law", "kind", "bound", "threat", "classifier")  # the recipes that certify graphs
BOUNDS = ("hoeffding_bound.py:Hoeffding", "hoeffding_bound:Hoeffding")


@pytest.fixture(scope="module")
def later(built):
    """What commands do where all recipes are installed together: the list, what is proved, repeated runs, a bound."""
    folders = [built(name) for name in RECIPES]
    commands = {"plugins": (built("law"), ("plugins", "--json"))}
    commands["verify"] = built("law"), ("verify", "results/certificates.json", "--json")
    commands |= {name: (built(name), ("certify", "results/run.toml", "--out", "again")) for name in RUNS}
    run = ("certify", "--model", "model.py:classifier", "--data", "model.py:graphs", "--noise", "all=0.1")
    for number, bound in enumerate(BOUNDS):
        commands[bound] = built("bound"), (*run, "--samples", "1000", "--bound", bound, "--out", f"by-{number}")
        decided = (*run, "--plan", "decided", "--threat", "box:1", "--bound", bound, "--out", "no")
        commands[f"decided by {bound}"] = built("bound"), decided
    return dict(zip(commands, starcert(list(commands.values()), folders), strict=True))


def test_there_are_five_recipes():
    assert sorted(RECIPES) == ["bound", "classifier", "kind", "law", "threat"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_one_file_and_does_what_the_page_says(name, built, later):
    folder = built(name)
    blocks = examples.blocks_of(RECIPES[name])
    run = "".join(block.code for block in blocks if block.language == "console")  # its model and its data
    files = [b.file for b in blocks if b.file and b.file != "pyproject.toml" and f" {b.file}" not in run]
    assert len(files) == 1
    (group,) = tomllib.loads(next(b.code for b in blocks if b.file == "pyproject.toml"))["project"]["entry-points"]
    listed = json.loads(later["plugins"].stdout)["plugins"]
    (found,) = (e for e in listed if f"starcert.{e['group']}" == group and not e["from"].startswith("starcert "))
    assert found["problem"] == ""
    assert found["about"]
    assert found["from"].endswith(" 1.0")
    if name in RUNS:
        assert "<html" in (folder / "results" / "report.html").read_text(encoding="utf-8")


def test_a_law_from_outside_is_never_proved(built, later):
    folder = built("law")
    result = json.loads(later["verify"].stdout)
    assert result["verdict"] == "stated"
    assert result["noise"] == {"all": {"law": "refresh", "p": 0.25, "density": 0.5}}
    told = json.loads((folder / "results" / "certificates.json").read_text(encoding="utf-8"))
    assert "what the law refresh states about the noise" in told["says"]
    assert "proves it again" not in told["says"]
    assert "Noise stated by the law refresh" in (folder / "results" / "report.html").read_text(encoding="utf-8")


def test_a_law_from_outside_certifies_what_the_same_law_of_starcert_does(built):
    """Refresh(1/4, 1/2) is a flip with probability 1/8."""
    code = (
        "import starcert as sc; from refresh_law import Refresh\n"
        "votes = sc.Votes([[980, 20], [700, 300]], selection=[[98, 2], [60, 40]])\n"
        "ours, theirs = (sc.certify(sc.clopper_pearson(votes), sc.Noise(all=law), max_radius=(4, 4))\n"
        "                for law in (sc.Flip(delete=0.125, add=0.125), Refresh(0.25, 0.5)))\n"
        "assert [one.frontier for one in ours] == [one.frontier for one in theirs]\n"
    )
    python(code, installed=[built("law")])


def test_without_the_package_the_law_is_named(built, tmp_path):
    results = built("law") / "results"
    commands = ("verify", str(results / "certificates.json")), ("votes", str(results / "votes.db"))
    done, votes = starcert([(tmp_path, words) for words in commands], installed=[])
    assert done.returncode == 2
    assert "There is no 'refresh' in starcert.laws here. Install the package that has it" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (votes.returncode, "There is no 'refresh' in starcert.laws here" in votes.stderr) == (2, True)


@pytest.mark.parametrize("name", RUNS)
def test_the_run_file_of_a_recipe_repeats_its_run(name, built, later):
    assert later[name].returncode == 0, later[name].stderr
    before, after = (
        json.loads((built(name) / each / "certificates.json").read_text(encoding="utf-8"))
        for each in ("results", "again")
    )
    assert after["graphs"] == before["graphs"]
    assert after["settings"] == before["settings"]


@pytest.mark.parametrize("number", range(len(BOUNDS)))
def test_a_bound_needs_no_package(number, built, later):
    folder, done, decided = built("bound"), later[BOUNDS[number]], later[f"decided by {BOUNDS[number]}"]
    assert done.returncode == 0, done.stderr
    told, before = (
        json.loads((folder / each / "certificates.json").read_text("utf-8")) for each in (f"by-{number}", "results")
    )
    assert told["graphs"] == before["graphs"]
    assert told["bounds"] == "hoeffding"
    assert (decided.returncode, "'bound' must support the votes of the plan 'decided'" in decided.stderr) == (2, True)


def test_a_module_is_a_model_by_its_content(built):
    folder = built("classifier")
    by_name, imported = (
        tomllib.loads((folder / each / "run.toml").read_text("utf-8")) for each in ("results", "imported")
    )
    assert (by_name["model"], imported["model"]) == ("dense", "dense_graphs:classifier")
    assert by_name["expected"] == imported["expected"]


def test_a_run_file_refuses_a_bound_that_has_changed(built, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(built("bound"), folder)
    module = folder / "hoeffding_bound.py"
    module.write_text(module.read_text("utf-8").replace("np.minimum(1, lost", "np.minimum(1, 0.1 * lost"), "utf-8")
    (done,) = starcert([(folder, ("certify", "results/run.toml", "--out", "changed"))], installed=[folder])
    assert (done.returncode, "bound" in done.stderr) == (2, True), done.stderr
