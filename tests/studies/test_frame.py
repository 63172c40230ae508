"""From a name to a folder: what is in it, and what is refused."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import study_worlds as worlds

from starcert.system.errors import InvalidParameterError, StarcertError
from starcert_studies import STUDIES, find_study, reproduce, why_alone
from starcert_studies.report import Finished

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module", autouse=True)
def _tiny():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STUDIES, "tiny", "study_worlds:Tiny")
        yield


class Links(HTMLParser):
    """Every place that a page refers to, its elements, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.places, self.tags, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.places += [value for name, value in attributes if name in ("href", "src")]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def finished(tmp_path_factory, _tiny):
    return reproduce("tiny", tmp_path_factory.mktemp("tiny") / "deep" / "out", seed=3, workers=1)


@pytest.fixture
def done(tmp_path, finished):
    """The finished study in a folder of the test's own."""
    return replace(finished, folder=shutil.copytree(finished.folder, tmp_path / "deep" / "out"))


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_what_is_in_the_folder(done):
    assert set(files(done.folder)) == {
        "settings.json", "results.json", "index.html", "figures/bars.svg", "figures/bars.png", "tables/shown.csv",
        "tables/linked.csv", "parts/part-0.json", "parts/part-1.json", "parts/part-2.json",
    }  # fmt: skip
    assert isinstance(done, Finished)
    assert (done.name, done.about, len(done.checks)) == ("tiny", "a tiny study <one>", 3)


def test_results_for_machines(done):
    results = json.loads((done.folder / "results.json").read_text("utf-8"))
    assert set(results) == {
        "study", "settings", "checks", "summary", "values", "seconds", "provenance"
    }  # fmt: skip
    assert results["settings"] == {"samples": 40, "seed": 3, "levels": [0.1, 0.2]}
    for check in results["checks"]:
        assert set(check) == {"claim", "published", "measured", "holds", "documented", "note"}
    assert [(check["holds"], check["documented"]) for check in results["checks"]] == [
        (True, True), (False, False), (None, True)
    ]  # fmt: skip
    assert results["provenance"]["numpy"]
    assert results["values"] == {"parts": 3}


def test_the_page_leads_to_files_that_exist_and_takes_words_as_words(done):
    page = (done.folder / "index.html").read_text("utf-8")
    found = Links(page)
    assert {place for place in found.places if not (done.folder / place).is_file()} == set()
    assert set(found.places) == {
        "figures/bars.svg", "figures/bars.png", "tables/shown.csv", "tables/linked.csv", "results.json"
    }  # fmt: skip
    assert {"b", "i"} & set(found.tags) == set()
    for words in (
        worlds.Tiny.texts["title"], "<b>nothing</b> & more", "claim 0 <i>", "yes & no", "because x <y> & z", "<one>.",
        "<shown>", "a <third>", "does not hold, as documented", "not decided", '"seed": 3',
    ):  # fmt: skip
        assert words in found.text
    assert found.tags.count("table") == 2  # the claims, and the one table that is shown
    assert 'alt="Bars, &#34;so to speak&#34; &lt;one&gt;."' in page
    assert "http" not in page.replace("http-equiv", "")  # nothing is fetched: it opens from disk


def test_two_runs_are_the_same_byte_by_byte(done, tmp_path):
    reproduce("tiny", tmp_path / "again", seed=3, workers=2)
    reproduce("tiny", tmp_path / "other", seed=4, workers=1)
    one, two, other = (files(folder) for folder in (done.folder, tmp_path / "again", tmp_path / "other"))
    timed = {"results.json", "index.html"}
    assert {name: one[name] for name in one if name not in timed} == {
        name: two[name] for name in two if name not in timed
    }
    assert one["tables/shown.csv"] != other["tables/shown.csv"]


def test_a_folder_is_gone_on_with(done, monkeypatch):
    before = files(done.folder)
    (done.folder / "tables" / "shown.csv").unlink()
    (done.folder / "index.html").unlink()

    def never(*_: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(worlds, "drawn", never)
    reproduce("tiny", done.folder, seed=3)
    after = files(done.folder)
    assert after["tables/shown.csv"] == before["tables/shown.csv"]
    assert set(after) == set(before)


def test_the_folder_of_other_settings_is_refused(done, monkeypatch):
    with pytest.raises(InvalidParameterError) as told:
        reproduce("tiny", done.folder, seed=3, quick=True)
    assert "'--out' must be a folder of the same study" in str(told.value)
    assert "samples: there 40, now 20" in str(told.value)
    assert "seed" not in str(told.value)
    assert str(done.folder) in str(told.value)
    monkeypatch.setitem(STUDIES, "other", "study_worlds:Tiny")
    with pytest.raises(InvalidParameterError, match="study: there tiny, now other"):
        reproduce("other", done.folder, seed=3)


def test_a_foreign_folder_is_left_as_it_is(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(InvalidParameterError, match=r"'--out' must be empty or hold the same study.*Give a new folder"):
        reproduce("tiny", tmp_path)
    assert set(files(tmp_path)) == {"thesis.tex"}
    with pytest.raises(StarcertError, match=r"thesis\.tex: cannot be used as the folder of a study"):
        reproduce("tiny", tmp_path / "thesis.tex")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"name": "tinny"}, "'name' must be one of synthetic, samples, kernels, mutag"),
        ({"samples": 9}, "'samples' must be 10 or more. Got 9"),
        ({"samples": 0}, "'samples' must be 10 or more. Got 0"),
        ({"seed": -1}, "'seed' must be 0 or more. Got -1"),
        ({"workers": 0}, "'workers' must be 1 or more. Got 0"),
    ],
)
def test_parameters_are_checked_before_anything_is_written(tmp_path, words, named):
    with pytest.raises(InvalidParameterError) as told:
        reproduce(out=tmp_path / "out", **({"name": "tiny"} | words))
    assert named in str(told.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("missing", ["matplotlib", "torch"])
def test_a_missing_package_is_told_before_the_work(missing, tmp_path):
    code = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from pathlib import Path; from starcert_studies import reproduce\n"
        f"reproduce('mutag', Path({str(tmp_path / 'out')!r}))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120).stderr
    assert f" needs {missing}" in said.splitlines()[-1]
    assert "pip install 'starcert[" in said.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_every_study_is_there():
    names = ["synthetic", "samples", "kernels", "mutag", "evidence", "digits", "cora", "regression"]
    assert [name for name in STUDIES if name != "tiny"] == names
    assert all(find_study(name).texts["about"] for name in names)
    assert [name for name in names if why_alone(name)] == ["cora"]
