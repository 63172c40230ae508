"""The recipes of docs/extending.md: each builds its thing in a file of its own, and runs it from end to end."""

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

import examples

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
HEAD, *SECTIONS = re.split(r"^(?=## )", PAGE, flags=re.MULTILINE)
RECIPES = {section.partition("\n")[0].removeprefix("## A "): section for section in SECTIONS if "title=" in section}
METHOD = "method of certifying"
RUNS = [name for name in RECIPES if name != METHOD]  # those of things that `certify` takes


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


def python(code: str, *words: str, folders: Iterable[Path] = ()) -> str:
    """What a script prints where modules in these folders can be imported."""
    places = os.pathsep.join(map(str, [ROOT / "src", *folders]))
    environment = os.environ | {"PYTHONPATH": places, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    words = (sys.executable, "-c", code, *words)
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, timeout=300, env=environment).stdout


def starcert(commands: list[tuple[Path, tuple[str, ...]]]) -> list[Done]:
    """What commands do, each in its folder, one after the other in one process."""
    told = python(SESSION, json.dumps([(str(folder), words) for folder, words in commands]))
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
            examples.run(page, folder, src=ROOT / "src")
            done[name] = folder
        return done[name]

    return build


@pytest.fixture(scope="module")
def later(built):
    """What commands do in the folders of the recipes: what is proved, and repeated runs."""
    commands = {name: (built(name), ("certify", "results/run.toml", "--out", "again")) for name in RUNS}
    commands["verify"] = built("law"), ("verify", "results/certificates.json", "--json")
    return dict(zip(commands, starcert(list(commands.values())), strict=True))


def test_there_are_five_recipes():
    assert sorted(RECIPES) == ["classifier", "kind", "law", METHOD, "threat"]


@pytest.mark.parametrize("name", RUNS)
def test_a_recipe_is_one_file_and_does_what_the_page_says(name, built):
    folder = built(name)
    blocks = examples.blocks_of(RECIPES[name])
    run = "".join(block.code for block in blocks if block.language == "console")
    data = [f"--data {b.file}" in run or f"--model {b.file}:" in run for b in blocks if b.file]
    assert data.count(False) == (name != "classifier")  # the thing itself, beside the model and the data of its run
    assert "<html" in (folder / "results" / "report.html").read_text(encoding="utf-8")


def test_a_law_from_outside_is_never_proved(built, later):
    folder = built("law")
    result = json.loads(later["verify"].stdout)
    assert (result["verdict"], result["laws"]) == ("stated", ["refresh_law.py:Refresh"])
    told = json.loads((folder / "results" / "certificates.json").read_text(encoding="utf-8"))
    assert "what the law refresh_law.py:Refresh states about the noise" in told["says"]
    assert "proves it again" not in told["says"]
    page = (folder / "results" / "report.html").read_text(encoding="utf-8")
    assert "Noise stated by the law refresh_law.py:Refresh" in page


def test_a_law_from_outside_certifies_what_the_same_law_of_starcert_does(built):
    """Refresh(1/4, 1/2) is a flip with probability 1/8."""
    code = (
        "import starcert as sc; from refresh_law import Refresh\n"
        "votes = sc.Votes([[980, 20], [700, 300]], selection=[[98, 2], [60, 40]])\n"
        "ours, theirs = (sc.certify(sc.clopper_pearson(votes), sc.Noise(all=law), max_radius=(4, 4))\n"
        "                for law in (sc.Flip(delete=0.125, add=0.125), Refresh(0.25, 0.5)))\n"
        "assert [one.frontier for one in ours] == [one.frontier for one in theirs]\n"
    )
    python(code, folders=[built("law")])


@pytest.mark.parametrize("name", RUNS)
def test_the_run_file_of_a_recipe_repeats_its_run(name, built, later):
    assert later[name].returncode == 0, later[name].stderr
    before, after = (
        json.loads((built(name) / each / "certificates.json").read_text(encoding="utf-8"))
        for each in ("results", "again")
    )
    assert after["graphs"] == before["graphs"]
    assert after["settings"] == before["settings"]


def test_a_module_is_a_model_by_its_content(built):
    folder = built("classifier")
    by_name, imported = (
        tomllib.loads((folder / each / "run.toml").read_text("utf-8")) for each in ("results", "imported")
    )
    assert (by_name["model"], imported["model"]) == ("../dense_graphs.py:classifier", "dense_graphs:classifier")
    assert by_name["expected"] == imported["expected"]


def test_a_method_of_certifying_is_a_short_file_whose_results_are_where_those_of_starcert_are(built):
    """In Python, as the page shows, in a table, and in the benchmark beside the blind model."""
    for package in ("torch_geometric", "sklearn", "matplotlib", "pandas"):
        pytest.importorskip(package)
    folder = built(METHOD)
    assert len((folder / "edge_by_edge.py").read_text(encoding="utf-8").splitlines()) <= 60
    rows = [line.split(",")[:4] for line in (folder / "edge-by-edge.csv").read_text(encoding="utf-8").splitlines()]
    assert rows == [
        ["object", "answer", "certified", "broken"],
        ["0", "1", "1", ""],
        ["1", "1", "0", "1"],
        ["2", "0", "1", ""],
    ]
    lines = json.loads((folder / "compared" / "benchmark.json").read_text(encoding="utf-8"))["lines"]
    assert {line["method"] for line in lines} == {"blind", "edge by edge"}
    assert all((cell["gain"] is None) == (line["method"] == "blind") for line in lines for cell in line["cells"][:2])
    assert "edge by edge" in (folder / "compared" / "benchmark.csv").read_text(encoding="utf-8")
    assert "(as its author states)" in (folder / "compared" / "index.html").read_text(encoding="utf-8")


def test_a_benchmark_of_a_method_whose_file_has_changed_is_not_continued(built, tmp_path):
    pytest.importorskip("torch_geometric")
    folder = shutil.copytree(built(METHOD), tmp_path / "copy", ignore=shutil.ignore_patterns(".bin"))
    with open(folder / "edge_by_edge.py", "a", encoding="utf-8") as file:
        file.write("# another one\n")
    (command,) = [b.code for b in examples.blocks_of(RECIPES[METHOD]) if b.language == "console"]
    words = command.splitlines()[0].removeprefix("$ starcert ").split()
    (again,) = starcert([(folder, tuple(words))])
    assert again.returncode
    assert "code" in again.stderr


def test_what_the_method_from_outside_certifies_holds_and_what_it_breaks_is_broken(built):
    """On all graphs of four nodes and models by their edges: its table is that of trying every attack."""
    pytest.importorskip("torch_geometric")
    code = (
        "import itertools as it, starcert as sc; from edge_by_edge import EdgeByEdge\n"
        "pairs = list(it.combinations(range(4), 2))\n"
        "graphs = [sc.Graph(4, some) for n in range(7) for some in it.combinations(pairs, n)]\n"
        "for limit in range(-1, 7):\n"
        "    base = sc.classifiers.from_callable(lambda g: int(g.number_of_edges() > limit), n_classes=2)\n"
        "    ours = EdgeByEdge.certify(lambda some: [int(g.n_edges > limit) for g in some], graphs).outcomes()\n"
        "    theirs = sc.ExactClassifier(base).certify(graphs, threat='deletions:1').outcomes()\n"
        "    assert [one[:5] for one in ours] == [one[:5] for one in theirs]\n"
        "    other = EdgeByEdge.certify(lambda some: [0] * len(some), graphs).outcomes('flips:1')\n"
        "    assert {one.certified for one in other} == {None}\n"
    )
    python(code, folders=[built(METHOD)])
