"""Runs with the kind and the bound of docs/extending.md: what the terminal says, and what is refused."""

import re
from pathlib import Path

import pytest

import examples
import starcert as sc

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = {block.file: block.code for block in examples.blocks_of(PAGE) if block.file}
GRAPHS = ("certify", "--model", "model.py:classifier", "--data", "model.py:graphs", "--noise", "all=0.1")
BOUND = ("--samples", "1000", "--bound", "hoeffding_bound.py:Hoeffding")
STRANDS = ("certify", "--model", "content.py:classifier", "--kind", "strands.py:KIND", "--samples", "100")
NOISE = ("--noise", "all=0.2:*")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("model.py", "hoeffding_bound.py", "strands.py", "reads.strands", "content.py"):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_what_is_stated_is_said(folder, here):
    status, said, _ = here(*GRAPHS, *BOUND, "--out", "by")
    said = " ".join(said.split())
    assert status == 0
    assert "Bounds stated by hoeffding. All certificates rest on bounds" in said
    assert "Votes before one flip" not in said  # only starcert's own bounds say it
    status, said, _ = here(*GRAPHS, "--samples", "1000", "--out", "own")
    assert (status, "stated by" in said, "Votes before one flip" in said) == (0, False, True)
    status, said, _ = here("compare", "own", "by", "--out", "compared.html")
    assert (status, "by: Bounds stated by hoeffding." in " ".join(said.split())) == (0, True)
    assert "by: Bounds stated by hoeffding" in (folder / "compared.html").read_text(encoding="utf-8")


def test_how_far_a_bound_reaches_is_said_of_starcerts_own(folder, here):
    sweep = ("sweep", *GRAPHS[1:5], "--grid", "all=0.1,0.2")
    for run, out in ((GRAPHS, "run"), (sweep, "levels")):
        said = {}
        for bound in ("clopper-pearson", "hoeffding_bound.py:Hoeffding"):
            status, text, err = here(*run, "--samples", "20", "--bound", bound, "--out", f"{out}-{len(bound)}")
            assert status == 0, err
            said[bound] = " ".join(text.split())
        assert ["Even if all 20 votes agreed" in each for each in said.values()] == [True, False]
    needed = sc.certificates.metrics.votes_needed(sc.Noise(all=0.1), 0.01, 2, plan="decided")["all"]
    _, text, _ = here(*GRAPHS, "--samples", "1000", "--bound", "anytime", "--dry-run")
    assert f"can be certified at all: all {needed}." in " ".join(text.split())


def test_a_second_bound_is_refused_by_its_name_and_leaves_nothing(folder, here):
    store = ("--store", "votes.db")
    assert here(*GRAPHS, *BOUND, *store, "--out", "first")[0] == 0
    for words in (("--bound", "clopper-pearson"), ()):
        status, _, err = here(*GRAPHS, "--samples", "1000", *words, *store, "--out", "second")
        assert (status, "Got 'clopper-pearson' instead" in err) == (2, True), err
        assert not (folder / "second.partial").exists()


def test_the_bound_of_the_plan_may_be_named(folder, here):
    for words in (("--bound", "clopper-pearson"), ()):
        assert here(*GRAPHS, "--samples", "1000", *words, "--out", "same")[0] == 0


def test_the_folder_of_another_run_stays(folder, here):
    assert here(*GRAPHS, "--samples", "1000", "--store", "votes.db", "--out", "first")[0] == 0
    (folder / "second.partial").mkdir()
    (folder / "first" / "run.toml").rename(folder / "second.partial" / "run.toml")
    status, _, err = here(*GRAPHS, *BOUND, "--out", "second")
    assert (status, "holds another run (bound: there None" in err) == (2, True)
    assert (folder / "second.partial" / "run.toml").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*GRAPHS, "--samples", "9", "--bound", "clopper-person"), "Did you mean clopper-pearson?"),
        ((*GRAPHS, "--samples", "9", "--bound", "hoeffding_bound.py:Hoefding"), "Did you mean Hoeffding?"),
        ((*GRAPHS, "--samples", "9", "--bound", "hoeffding_bound.py:X"), "It defines Hoeffding."),
        ((*STRANDS, *NOISE, "--data", "reads.strands", "--kind", "strands.py:X"), "It defines StrandKind, KIND."),
        (
            (*STRANDS, *NOISE, "--data", "reads.strands", "--kind", "graph"),
            "graph is built in: leave it out.",
        ),
        ((*STRANDS, *NOISE, "--data", "reads.strands", "--kind", "rov"), "Did you mean row?"),
        ((*STRANDS, "--noise", "all=0.2", "--data", "reads.strands"), "or 0.1:* in a command, for categories"),
        ((*STRANDS, "--noise", "al=0.2:*", "--data", "empty.strands"), "empty.strands: has no strands."),
        ((*STRANDS, *NOISE, "--data", "wrong.strands"), "ValueError: line 2: must be a strand and its class, not 'GA'"),
        ((*STRANDS, *NOISE, "--data", "letters.strands"), "a strand has letters of ACGT, not 'GAX'"),
    ],
)
def test_what_is_wrong_is_named(words, message, folder, here):
    (folder / "empty.strands").write_text("", encoding="utf-8")
    (folder / "wrong.strands").write_text("GATT poor\nGA\n", encoding="utf-8")
    (folder / "letters.strands").write_text("GAX poor\n", encoding="utf-8")
    status, _, err = here(*words, "--out", "no")
    assert (status, err.count("\n")) == (2, 1)
    assert message in err


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        ("head = [0, 1]\ntail = [1, 2]", "site 1 in both 'head' and 'tail'"),
        ("head = [0, 1]\ntail = [2, 2]", "letters, 0 to 7, each once. Got '2 twice' instead"),
        ("head = [0, 1]\ntail = [8, 3]", "letters, 0 to 7, each once. Got 8 instead"),
    ],
)
def test_a_site_that_is_wrong_is_named(regions, message, folder, here):
    noise = "[noise]\nhead = { categorical = 0.1 }\ntail = { categorical = 0.1 }\n[regions]\n"
    (folder / "run.toml").write_text(noise + regions, encoding="utf-8")
    status, _, err = here("certify", "run.toml", *STRANDS[1:], "--data", "reads.strands")
    assert status == 2
    assert "The regions of strand 'GATTACAT' cannot be used" in err
    assert message in err


@pytest.mark.parametrize("member", ["drawing", "describe"])
def test_a_drawing_that_fails_is_named_before_any_vote(member, folder, here):
    code = re.sub(
        "^KIND = ",
        f"    def {member}(self, clean):\n        return 1 / 0\n\n\nKIND = ",
        FILES["strands.py"],
        flags=re.M,
    )
    (folder / "strands.py").write_text(code, encoding="utf-8")
    status, said, err = here(*STRANDS, *NOISE, "--data", "reads.strands", "--out", "no")
    assert (status, said) == (2, "")
    assert "strand 'GATTACAT' cannot be described and drawn: ZeroDivisionError" in err
    assert "StrandKind.describe or .drawing" in err


def test_pages_and_proofs_use_the_word_of_the_kind(folder, here):
    assert here(*STRANDS, *NOISE, "--data", "reads.strands", "--out", "out")[0] == 0
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "noisy copies of the strands and" in page
    assert "of the graphs" not in page
    assert "what the objects are" in " ".join(here("verify", "out/certificates.json")[1].split())
