"""`starcert reproduce`: its table, its exit status, and every mistake in one message."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import study_worlds as worlds

from starcert.cli import main
from starcert_studies import STUDIES
from starcert_studies.report import all_texts

pytest.importorskip("matplotlib")

NAMES = tuple(STUDIES)
SHOWN = ("claim 0 <i>", "yes & no", "does not hold, as documented", "not decided", "because x <y> & z")


@pytest.fixture(autouse=True)
def _tiny():
    """Only small studies: `tiny`, and `again`, which is the same."""
    known = dict(STUDIES)
    STUDIES.clear()
    STUDIES.update(dict.fromkeys(("tiny", "again"), "study_worlds:Tiny"))
    yield
    STUDIES.clear()
    STUDIES.update(known)  # in their order


@pytest.fixture
def here(monkeypatch, capsys):
    """The command in this process: status, standard output, standard error."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["starcert", "reproduce", *map(str, words)])
        monkeypatch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def test_claims_are_printed_as_a_table(here, tmp_path):
    status, out, err = here("tiny", "--out", tmp_path / "out", "--workers", 1)
    assert (status, err) == (0, "")
    for words in SHOWN:
        assert words in out
    assert f"Open {tmp_path / 'out' / 'index.html'}" in out
    assert (tmp_path / "out" / "index.html").exists()


@pytest.mark.parametrize(
    ("claims", "status"),
    [((True, False, None), 0), ((True, False, True), 0), ((None, None, None), 0), ((False, False, None), 1),
     ((True, True, None), 1), ((True, False, False), 1)],
)  # fmt: skip
def test_the_exit_status_tells_when_a_claim_comes_out_other_than_documented(
    here, tmp_path, monkeypatch, claims, status
):
    monkeypatch.setattr(worlds, "CLAIMS", claims)
    found, out, err = here("tiny", "--out", tmp_path, "--workers", 1)
    assert (found, err) == (status, "")
    assert ("UNLIKE DOCUMENTED" in out) == (status == 1)
    kept = json.loads((tmp_path / "results.json").read_text("utf-8"))["checks"]
    assert tuple(check["holds"] for check in kept) == claims


def test_options_reach_the_study(here, tmp_path):
    assert here("tiny", "--out", tmp_path / "a", "--samples", 33, "--seed", 5, "--workers", 1)[0] == 0
    assert json.loads((tmp_path / "a" / "settings.json").read_text("utf-8")) == {
        "study": "tiny", "samples": 33, "seed": 5, "levels": [0.1, 0.2]
    }  # fmt: skip
    assert here("tiny", "--out", tmp_path / "b", "--quick", "--workers", 1)[0] == 0
    assert json.loads((tmp_path / "b" / "settings.json").read_text("utf-8"))["samples"] == 20


def test_all_studies_go_into_folders_of_one(here, tmp_path):
    status, out, err = here("all", "--out", tmp_path / "paper", "--workers", 1)
    assert (status, err) == (0, "")
    assert f"All of it: {tmp_path / 'paper' / 'index.html'}" in out
    page = (tmp_path / "paper" / "index.html").read_text("utf-8")
    for name in ("tiny", "again"):
        assert f'href="{name}/index.html"' in page
        assert (tmp_path / "paper" / name / "index.html").exists()
        assert f"{name}: the paper's claims" in out
    # And once more, where it was.
    assert here("all", "--out", tmp_path / "paper", "--workers", 1)[0] == 0


def test_a_study_that_is_run_by_itself_is_left_out_of_all_and_that_is_said(here, tmp_path, monkeypatch):
    monkeypatch.setitem(all_texts(), "again", {"alone": "It needs a file."})
    status, out, _ = here("all", "--out", tmp_path / "paper", "--workers", 1)
    assert status == 0
    assert "Left out: again. It needs a file." in out
    assert (tmp_path / "paper" / "tiny").exists()
    assert not (tmp_path / "paper" / "again").exists()


def refused(result, *named):
    status, out, err = result
    assert (status, out) == (2, "")
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    for words in named:
        assert words in err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["tinny"], "'NAME' must be one of tiny, again, all. Got 'tinny' instead."),
        (["tiny", "--samples", 9], "'samples' must be 10 or more. Got 9 instead."),
        (["tiny", "--workers", 0], "'workers' must be 1 or more. Got 0 instead."),
        (["tiny", "--seed", -1], "'seed' must be 0 or more. Got -1 instead."),
        (["all", "--workers", -2], "'workers' must be 1 or more. Got -2 instead."),
    ],
)
def test_mistakes_end_in_one_message(here, tmp_path, words, named):
    refused(here(*words, "--out", tmp_path / "out"), named)
    assert not (tmp_path / "out").exists()


def test_the_folder_of_other_settings(here, tmp_path):
    assert here("tiny", "--out", tmp_path, "--workers", 1)[0] == 0
    before = (tmp_path / "results.json").read_bytes()
    refused(here("tiny", "--out", tmp_path, "--seed", 7), "'--out'", "seed: there 1, now 7", str(tmp_path))
    refused(here("again", "--out", tmp_path), "study: there tiny, now again")
    refused(here("all", "--out", tmp_path), "'--out' must be empty or hold the studies")
    assert (tmp_path / "results.json").read_bytes() == before


@pytest.mark.parametrize("name", ["tiny", "all"])
def test_the_folder_of_something_else(here, tmp_path, name):
    (tmp_path / "index.html").write_text("my own page", encoding="utf-8")
    refused(here(name, "--out", tmp_path), "'--out' must be empty or hold", str(tmp_path))
    assert [(path.name, path.read_text("utf-8")) for path in tmp_path.iterdir()] == [("index.html", "my own page")]
    refused(here(name, "--out", tmp_path / "index.html"), str(tmp_path / "index.html"))


def test_without_the_studies_it_is_said_what_to_install(here, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "starcert_studies", None)
    refused(here("synthetic", "--out", tmp_path), "package of their own", "pip install ./studies")


# ---- the studies themselves, from the command line


def starcert(*words: object) -> subprocess.CompletedProcess:
    environment = os.environ | {"COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "starcert", *map(str, words)],
        capture_output=True, text=True, check=False, timeout=1800, env=environment,
    )  # fmt: skip


def made(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for kind in ("tables", "figures", "parts")
        for path in (folder / kind).iterdir()
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "n_checks"),
    [("synthetic", 13), ("samples", 5), ("mutag", 9), ("digits", 6)],
)
def test_quick_studies_from_end_to_end(tmp_path, study, n_checks):
    pytest.importorskip("grakel")
    if study in ("mutag", "digits", "bonds"):
        pytest.importorskip("torch_geometric")
    more = ["--samples", 200] if study == "synthetic" else []
    one, two = tmp_path / "one", tmp_path / "two"
    done = starcert("reproduce", study, "--quick", *more, "--workers", 2, "--out", one)
    assert (done.returncode, done.stderr) == (0, "")
    assert "UNLIKE DOCUMENTED" not in done.stdout
    kept = json.loads((one / "results.json").read_text("utf-8"))
    assert len(kept["checks"]) == n_checks
    assert any(check["holds"] for check in kept["checks"])
    page = (one / "index.html").read_text("utf-8")
    for path in (*(one / "tables").iterdir(), *(one / "figures").iterdir()):
        assert str(path.relative_to(one)) in page
    # With one worker, and killed half-way as it were: the same bytes.
    assert starcert("reproduce", study, "--quick", *more, "--workers", 1, "--out", two).returncode == 0
    assert made(one) == made(two)
    for path in list((two / "parts").iterdir())[::2]:
        path.unlink()
    assert starcert("reproduce", study, "--quick", *more, "--workers", 2, "--out", two).returncode == 0
    assert made(one) == made(two)
