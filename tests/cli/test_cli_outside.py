"""Runs with the kind and the law of docs/extending.md: what the terminal says, and what is refused."""

import re
from pathlib import Path

import pytest

import examples

PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = {block.file: block.code for block in examples.blocks_of(PAGE) if block.file}
GRAPHS = ("certify", "--model", "model.py:classifier", "--data", "model.py:graphs", "--noise", "all=0.1")
LAW = (*GRAPHS[:-1], "all=refresh_law.py:Refresh(0.25/0.5)", "--samples", "1000")
STRANDS = ("certify", "--model", "content.py:classifier", "--kind", "strands.py:KIND", "--samples", "100")
NOISE = ("--noise", "all=0.2:*")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("model.py", "refresh_law.py", "strands.py", "reads.strands", "content.py"):
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_what_is_stated_is_said(folder, here):
    status, said, err = here(*LAW, "--workers", "2", "--out", "by")
    assert (status, "Noise stated by the law refresh_law.py:Refresh." in " ".join(said.split())) == (0, True), err
    assert here(*GRAPHS, "--samples", "1000", "--out", "own")[0] == 0
    assert "stated by" not in here("verify", "own/certificates.json")[1]
    assert "stated by the law refresh_law.py:Refresh" in " ".join(here("verify", "by/certificates.json")[1].split())
    assert 'law = "../refresh_law.py:Refresh"' in (folder / "by" / "run.toml").read_text(encoding="utf-8")


def test_votes_of_a_law_that_has_changed_are_refused(folder, here):
    assert here(*LAW, "--store", "votes.db", "--out", "first")[0] == 0
    code = FILES["refresh_law.py"].replace("* Fraction(self.density)", "* Fraction(self.density) / 2")
    (folder / "refresh_law.py").write_text(code, encoding="utf-8")
    status, _, err = here(*LAW, "--store", "votes.db", "--out", "second")
    assert (status, "noise.all.transitions: stored" in err) == (2, True), err
    status, _, err = here("certify", "first/run.toml", "--out", "third")
    assert (status, "noise" in err) == (2, True), err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*STRANDS, *NOISE, "--data", "reads.strands", "--kind", "strands.py:X"), "It defines StrandKind, KIND."),
        ((*STRANDS, *NOISE, "--data", "reads.strands", "--kind", "graph"), "or package.module:function."),
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
