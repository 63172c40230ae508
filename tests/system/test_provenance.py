"""How a result was made: told without running anything of the folder it was made in."""

import os
import subprocess

import pytest
import runs_worlds as worlds

from starcert.system.provenance import commit, provenance, versions

HOSTILE = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c"}
HOSTILE |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c"}


def git(folder, *words):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | HOSTILE
    return subprocess.run(
        ["git", *words], cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "note.txt").write_text("x")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def test_the_commit_is_found_wherever_git_keeps_it(repository):
    (repository / "deep").mkdir()
    first = git(repository, "rev-parse", "HEAD")
    assert commit(repository) == commit(repository / "deep") == first
    git(repository, "pack-refs", "--all")
    assert not (repository / ".git/refs/heads/main").exists()
    assert commit(repository) == first
    (repository / "note.txt").write_text("y")
    git(repository, "commit", "-qam", "second")
    second = git(repository, "rev-parse", "HEAD")
    assert commit(repository) == second
    for detached in (["--detach", first], ["-b", "side/branch+1", first]):
        git(repository, "worktree", "add", "-q", f"../tree-{len(detached)}", *detached)
        assert commit(repository.parent / f"tree-{len(detached)}") == first
    assert commit(repository) == second
    git(repository, "checkout", "-q", "--detach", first)
    assert commit(repository) == first


def test_without_a_commit(tmp_path):
    git(tmp_path, "init", "-q")
    assert commit(tmp_path) == ""
    assert commit(tmp_path / "nowhere") == ""


@pytest.mark.parametrize(
    "head", ["ref: ../../secret", "ref: refs/../../../secret", "secret", "ref: refs/heads/main\nx", "\xff", ""]
)
def test_other_files_are_not_read_for_one(tmp_path, head):
    (tmp_path / "secret").write_text("a" * 40)
    (tmp_path / ".git" / "refs").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_bytes(head.encode("latin-1"))
    assert commit(tmp_path) == ""


def test_nothing_keeps_it_waiting(tmp_path):
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert commit(tmp_path) == ""
    (tmp_path / ".git" / "HEAD").unlink()
    with open(tmp_path / ".git" / "HEAD", "wb") as file:
        file.truncate(10**10)
    assert commit(tmp_path) == ""


@pytest.fixture
def hostile(project):
    """A project that came with a repository, whose settings would run a program."""
    trap = project / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {project / 'sprung'}\ncat\n")
    trap.chmod(0o755)
    git(project, "init", "-q")
    (project / ".gitattributes").write_text("* filter=trap\n")
    git(project, "add", "-f", ".")
    git(project, "commit", "-qm", "first")
    for setting in ("core.fsmonitor", "filter.trap.clean", "core.pager", "core.sshCommand", "diff.external"):
        git(project, "config", setting, str(trap))
    (project / "model.py").touch()  # changed, as far as git can see
    assert not (project / "sprung").exists()
    return project


def test_no_program_of_a_strangers_folder_is_run(hostile, here):
    status, _, err = here("certify", "run.toml", "--samples", 50)
    assert (status, err) == (0, "")
    assert not (hostile / "sprung").exists()
    git(hostile, "status")
    assert (hostile / "sprung").exists()  # the trap works


def test_a_repetition_after_another_commit_gives_the_same_bytes(project, here):
    """All but the file of votes, whose sessions tell time and commit."""
    git(project, "init", "-q")
    commits = []
    for number in range(2):
        (project / "note.txt").write_text(str(number))
        git(project, "add", "note.txt")
        git(project, "commit", "-qm", "a note")
        commits.append(git(project, "rev-parse", "HEAD"))
        for words in (["certify", "run.toml"], ["sweep", "run.toml", "--grid", "hub=0.02,0.1"]):
            status, _, err = here(*words, "--samples", 50, "--out", "out")
            assert (status, err) == (0, "")
            (project / "out").rename(project / f"{words[0]}-{number}")
    for command, page in (("certify", "report.html"), ("sweep", "sweep.html")):
        one, two = (
            {path.name: path.read_bytes() for path in (project / f"{command}-{number}").iterdir() if path.is_file()}
            for number in range(2)
        )
        assert page in one
        assert {name for name in one if one[name] != two[name]} <= {"votes.db"}
        assert set(one) == set(two)
    told = [worlds.starcert("votes", f"certify-{number}/votes.db", "--json", cwd=project).stdout for number in range(2)]
    for number in range(2):
        assert commits[number] in told[number]
        assert commits[1 - number] not in told[number]


def test_what_may_differ_is_named():
    assert "commit" not in versions()
    assert set(provenance()) - set(versions()) == {"commit"}
    assert {"python", "machine", "starcert", "numpy"} <= set(versions())
