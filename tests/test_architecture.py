"""The architecture is as CONTRIBUTING.md draws it: its layers, its files, and one name for each thing."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MODULES = sorted((ROOT / "src" / "starcert").rglob("*.py"))


def test_the_layers_are_those_of_the_import_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["name"] == "Data flows one way")
    drawn = re.search(r"The layers, .*?\n\n((?:    [\w: ]+\n)+)", CONTRIBUTING, re.DOTALL)
    assert drawn is not None
    assert drawn[1].replace("    ", "").splitlines() == [layer for layer in layers if layer != "__main__"]


def test_the_drawing_follows_the_import_order():
    """Every step of the drawing is in a package that may import those of the steps before it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (each["layers"] for each in contracts if each["name"] == "Data flows one way")
    place = {package: number for number, layer in enumerate(reversed(layers)) for package in layer.split(" : ")}
    steps = re.findall(r"^    \w* *\|? *\w* +(\w+)/[\w/]+\.py ", CONTRIBUTING, re.MULTILINE)
    assert len(steps) > 12
    assert [place[step] for step in steps if step != "math"] == sorted(place[step] for step in steps if step != "math")


def test_every_file_that_is_named_is_there():
    named = re.findall(r"[\w/.]+(?:\.py|\.md|/)(?=[\s,;:)`]|$)", CONTRIBUTING)
    assert len(named) > 30
    source = ROOT / "src" / "starcert"
    packages = [source / each for each in ("objects", "sampling", "classifiers", "math")]
    places = [ROOT, source, *packages]
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


@pytest.mark.parametrize("kind", [ast.ClassDef])
def test_no_two_public_classes_have_one_name(kind):
    names = Counter(
        node.name
        for module in MODULES
        for node in ast.parse(module.read_text(encoding="utf-8")).body
        if isinstance(node, kind) and not node.name.startswith("_")
    )
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []


def test_no_feature_of_a_classifier_is_looked_up_by_name():
    """What a classifier may offer is in its contract."""
    looked_up = re.compile(r"getattr\((?:\w+\.)*(?:classifier|base)\b")
    assert [module.name for module in MODULES if looked_up.search(module.read_text(encoding="utf-8"))] == []


def test_only_ask_calls_a_classifier():
    """Beside the contract itself, and what measures a network after its training."""
    calls, others = re.compile(r"\.(classify|scored|scored_each)\("), {"voting/ask.py"}
    package = ROOT / "src" / "starcert"
    callers = {each.relative_to(package).as_posix() for each in MODULES if calls.search(each.read_text("utf-8"))}
    assert {name for name in callers if not name.startswith("classifiers/")} == others


def test_pages_are_made_by_a_jinja_without_known_holes():
    """Before 3.1.6 a template could break out of its sandbox (CVE-2025-27516); the oldest admitted version is tried."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "jinja2>=3.1.6" in project["dependencies"]
    for file in ("constraints.txt", "constraints-oldest.txt"):
        (pinned,) = (line for line in (ROOT / file).read_text().splitlines() if line.lower().startswith("jinja2=="))
        assert pinned.lower() == "jinja2==3.1.6"


def test_the_page_on_clusters_says_who_may_run_code():
    text = (ROOT / "docs" / "voting.md").read_text()
    for words in ("Who may connect", "Security(", "require_encryption=True", "tls://", "NUMBA_CACHE_DIR", "0700"):
        assert words in text, words
