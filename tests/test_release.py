"""What is released agrees with itself; `make release-check` (tests/release.py) builds it and tries it."""

import re
import tomllib
from email.message import Message
from pathlib import Path

import pytest

import release
import starcert as sc

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INFO = f"starcert-{sc.__version__}.dist-info"


def test_one_version_in_package_citation_changelog_and_benchmarks():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [sc.__version__] == [release.version()]
    assert re.findall(r"^license: (.+)$", citation, re.MULTILINE) == [PROJECT["license"]]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", changes, re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(sc.__version__)}\] - \d{{4}}-\d\d-\d\d", headings[1])
    assert (ROOT / "benchmarks" / "releases" / f"{sc.__version__}.json").is_file()


def test_the_source_archive_has_all_that_is_named():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = config["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    assert [name for name in named if not (ROOT / name).exists()] == []
    tops = {path.name for path in ROOT.iterdir() if path.suffix in (".md", ".toml", ".txt", ".yml", ".cff")}
    assert tops <= {*named, "pyproject.toml"}  # which is always there


def test_what_was_tried_is_what_the_metadata_promise():
    text = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    pythons = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", each)}
    (row,) = re.findall(r"^\| Python \|(.+)\|$", text, re.MULTILINE)
    assert pythons == set(re.findall(r"3\.\d+", row))


@pytest.fixture
def wheel():
    """The files of a good wheel, and what it says of itself."""
    said = Message()
    said["Name"], said["Version"], said["Requires-Python"] = "starcert", sc.__version__, PROJECT["requires-python"]
    said["License-Expression"], said["Description-Content-Type"] = PROJECT["license"], "text/markdown"
    for each in PROJECT["classifiers"]:
        said["Classifier"] = each
    source = ROOT / "src"
    files = [path.relative_to(source).as_posix() for path in source.rglob("*") if "__pycache__" not in path.parts]
    files = [each for each in files if (source / each).is_file()]
    return [*files, f"{INFO}/METADATA", f"{INFO}/licenses/LICENSE"], said


def test_a_good_wheel_has_no_problems(wheel):
    assert release.wheel_problems(*wheel, sc.__version__) == []


@pytest.mark.parametrize("lost", [*release.NEEDED, "starcert/math/bets.py"])
def test_a_file_that_is_missing_is_named(wheel, lost):
    files, said = wheel
    files.remove(lost)
    assert release.wheel_problems(files, said, sc.__version__) == [f"{lost} is missing"]


def test_what_does_not_belong_there_is_named(wheel):
    files, said = wheel
    files = [each for each in files if "LICENSE" not in each] + ["tests/test_release.py", "starcert/data/MUTAG.txt"]
    assert release.wheel_problems(files, said, sc.__version__) == [
        "starcert/data/MUTAG.txt does not belong there",
        "tests/test_release.py does not belong there",
        "the licence is missing",
    ]


def test_metadata_that_say_otherwise_are_named(wheel):
    files, said = wheel
    del said["Version"], said["Classifier"]
    said["Version"] = "0.1.0"
    found = release.wheel_problems(files, said, sc.__version__)
    assert found[0] == f"Version is 0.1.0, not {sc.__version__}"
    assert sum("classifier" in each for each in found) == 3
