"""The recipes of docs/extending.md: each builds its thing in a package of its own, and runs it from end to end."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from plugin_worlds import install

import examples

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
HEAD, *SECTIONS = re.split(r"^(?=## )", PAGE, flags=re.MULTILINE)
RECIPES = {
    section.partition("\n")[0].removeprefix("## A "): section for section in SECTIONS if "pyproject.toml" in section
}


def starcert(folder: Path, *words: str, installed: bool = True) -> subprocess.CompletedProcess[str]:
    places = [str(ROOT / "src"), *([str(folder)] if installed else [])]
    return subprocess.run(
        [sys.executable, "-m", "starcert", *words],
        cwd=folder if installed else folder.parent, capture_output=True, text=True, check=False, timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places), "OMP_NUM_THREADS": "1", "COLUMNS": "200"},
    )  # fmt: skip


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


def test_there_are_five_recipes():
    assert sorted(RECIPES) == ["bound", "classifier", "kind", "law", "study"]


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_one_file_and_does_what_the_page_says(name, built):
    if name == "study":
        pytest.importorskip("matplotlib")
    folder = built(name)
    blocks = examples.blocks_of(RECIPES[name])
    run = "".join(block.code for block in blocks if block.language == "console")  # its model and its data
    files = [b.file for b in blocks if b.file and b.file != "pyproject.toml" and f" {b.file}" not in run]
    assert len(files) == 1
    (group,) = tomllib.loads(next(b.code for b in blocks if b.file == "pyproject.toml"))["project"]["entry-points"]
    listed = json.loads(starcert(folder, "plugins", "--json").stdout)["plugins"]
    (found,) = (each for each in listed if not each["from"].startswith("starcert "))
    assert f"starcert.{found['group']}" == group
    assert found["problem"] == ""
    assert found["about"]
    assert found["from"].endswith(" 1.0")
    if name != "study":
        assert "<html" in (folder / "results" / "report.html").read_text(encoding="utf-8")


def test_a_law_from_outside_is_never_proved(built):
    folder = built("law")
    result = json.loads(starcert(folder, "verify", "results/certificates.json", "--json").stdout)
    assert result["verdict"] == "stated"
    assert result["noise"] == {"all": {"law": "refresh", "p": 0.25, "density": 0.5}}
    told = json.loads((folder / "results" / "certificates.json").read_text(encoding="utf-8"))
    assert "what the law refresh states about the noise" in told["says"]
    assert "proves it again" not in told["says"]
    assert "Noise stated by the law refresh" in (folder / "results" / "report.html").read_text(encoding="utf-8")


def test_a_law_from_outside_certifies_what_the_same_law_of_starcert_does(built, tmp_path):
    """Refresh(1/4, 1/2) is a flip with probability 1/8."""
    folder = built("law")
    code = (
        "import starcert as sc; from refresh_law import Refresh\n"
        "votes = sc.Votes([[980, 20], [700, 300]], selection=[[98, 2], [60, 40]])\n"
        "ours, theirs = (sc.certify(sc.clopper_pearson(votes), sc.Noise(all=law), max_radius=(4, 4))\n"
        "                for law in (sc.Flip(delete=0.125, add=0.125), Refresh(0.25, 0.5)))\n"
        "assert [one.frontier for one in ours] == [one.frontier for one in theirs]\n"
    )
    script = tmp_path / "same.py"
    script.write_text(code, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(folder)])}
    subprocess.run([sys.executable, str(script)], check=True, env=environment, timeout=120)


def test_without_the_package_the_law_is_named(built):
    folder = built("law")
    done = starcert(folder, "verify", str(folder / "results" / "certificates.json"), installed=False)
    assert done.returncode == 2
    assert "There is no 'refresh' in starcert.laws here. Install the package that has it" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    votes = starcert(folder, "votes", str(folder / "results" / "votes.db"), installed=False)
    assert (votes.returncode, "There is no 'refresh' in starcert.laws here" in votes.stderr) == (2, True)


def test_the_run_files_of_recipes_repeat_their_runs(built):
    for name in ("law", "kind", "bound", "classifier"):
        folder = built(name)
        before = json.loads((folder / "results" / "certificates.json").read_text(encoding="utf-8"))
        done = starcert(folder, "certify", "results/run.toml", "--out", "again")
        assert done.returncode == 0, done.stderr
        after = json.loads((folder / "again" / "certificates.json").read_text(encoding="utf-8"))
        assert after["graphs"] == before["graphs"]
        assert after["settings"] == before["settings"]


@pytest.mark.parametrize("bound", ["hoeffding_bound.py:Hoeffding", "hoeffding_bound:Hoeffding"])
def test_a_bound_needs_no_package(bound, built):
    folder = built("bound")
    out = f"by-{len(bound)}"
    run = ("certify", "--model", "model.py:classifier", "--data", "model.py:graphs", "--noise", "all=0.1")
    done = starcert(folder, *run, "--samples", "1000", "--bound", bound, "--out", out)
    assert done.returncode == 0, done.stderr
    told, before = (json.loads((folder / each / "certificates.json").read_text("utf-8")) for each in (out, "results"))
    assert told["graphs"] == before["graphs"]
    assert told["bounds"] == "hoeffding"
    decided = starcert(folder, *run, "--plan", "decided", "--threat", "box:1", "--bound", bound, "--out", "no")
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
    done = starcert(folder, "certify", "results/run.toml", "--out", "again")
    assert (done.returncode, "bound" in done.stderr) == (2, True), done.stderr
