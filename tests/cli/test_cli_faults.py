"""What is no fault of starcert's own is not called one: one message each, and status 2."""

import errno
import json
import os
import subprocess
import sys
import time
import warnings

import pytest
import runs_worlds as worlds

from starcert.cli import main


def refused(outcome: tuple[int, str, str], words: str) -> None:
    status, said, complaint = outcome
    assert (status, said) == (2, ""), complaint
    assert complaint.startswith("Error: ")
    assert complaint.count("\n") == 1
    assert "fault" not in complaint
    assert words in complaint


@pytest.mark.parametrize("votes", ["1e30,1", "1e400,1", "nan,1", "1,99999999999999999999999", "-1e30,4"])
def test_votes_beyond_all_counts(here, votes):
    refused(here("radius", "--noise", "a=0.1", "--votes", votes), "must be a whole number of votes")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--out", "/", "'--out' must be a folder with a name of its own"),
        ("--out", "~nosuchuser/x", "'--out' names an unknown home folder"),
        ("--data", "~nosuchuser/x", "'--data' names an unknown home folder"),
        ("--model", "~nosuchuser/x.py:f", "'--model' names an unknown home folder"),
        ("--store", "~nosuchuser/x", "'--store' names an unknown home folder"),
        ("--data", "a" * 300, "'--data' must name a file or a folder that exists"),
        ("--model", f"{'a' * 300}.py:f", "'--model' must name a Python file that exists"),
        ("--data", "/etc/passwd", "/etc/passwd: is not a file of tensors"),
        ("--data", "run.toml", "run.toml: no kind here reads files .toml. Name one with --kind"),
        ("--regions", "~nosuchuser/x.py:f", "'--regions' names an unknown home folder"),
    ],
)
def test_paths_that_lead_nowhere(project, here, option, value, words):
    refused(here("certify", "run.toml", option, value), words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = " + "[" * 100_000 + "]" * 100_000, "nested too deep"),
        ("x = " + "{a=" * 100_000, "nested too deep"),
        (".".join(["noise"] + ["a"] * 100_000) + " = 1", "nested too deep"),
        (".".join(["noise"] + ["a"] * 1990) + " = 1", "nested too deep"),
        (
            ".".join(["noise"] + ["a"] * 90) + " = 1",
            "'noise.a' must be a probability, or the named numbers of a law. Got {'a': {'a'",
        ),
        ("#" * 2**21, "it has more than 524,288 bytes"),
        ("samples = " + "9" * 100_000, "is not TOML: Invalid number"),
        ("samples = 0x" + "f" * 100_000, "'samples' must be a whole number"),
        ("seed = 1\n\x00", "is not TOML"),
    ],
    ids=["lists", "tables", "dots", "fewer dots", "few dots", "long", "digits", "hexadecimal", "nul"],
)
def test_run_files_that_are_none(project, here, text, words):
    (project / "run.toml").write_text(f"{text}\n")
    refused(here("certify", "run.toml"), words)


def test_a_device_is_no_run_file(here):
    refused(here("certify", "/dev/zero"), "/dev/zero: is a device or a pipe")


def test_a_mark_at_the_beginning_of_a_run_file_is_accepted(project, here):
    text = (project / "run.toml").read_text()
    (project / "run.toml").write_text(text.replace("samples = 400", "samples = 0"), encoding="utf-8-sig")
    refused(here("certify", "run.toml"), "'samples' must be a whole number")


def test_out_of_memory_is_no_fault(here, monkeypatch):
    def greedy(*_):
        raise MemoryError

    monkeypatch.setattr("starcert.cli.radius_commands.parse_noise", greedy)
    refused(here("radius", "--noise", "a=0.1", "--p-lower", "0.9"), "not enough memory")


@pytest.mark.parametrize("words", ["Unable to allocate 74.5 GiB for an array with shape (20000, 500000)", ""])
def test_memory_that_a_model_wants_is_told_with_its_size(project, here, words):
    code = f"def greedy():\n    return f\ndef f(graph):\n    raise MemoryError({words!r})\n"
    (project / "model.py").write_text(worlds.MODEL + code)
    said = here("certify", "run.toml", "--model", "model.py:greedy")
    refused(said, f"There is not enough memory: {words or 'a part of the work'}")
    refused(said, "delete/add")


def test_an_error_in_an_own_classifier_is_its_own(project, here):
    code = "from starcert.classifiers.functions import CallableClassifier\n"
    code += "class Own(CallableClassifier):\n    description = property(lambda self: 1 // 0)\n"
    code += "def own():\n    return Own(shapes, 3, 'batch', 'own', 64)\n"
    (project / "model.py").write_text(worlds.MODEL + code)
    refused(here("certify", "run.toml", "--model", "model.py:own"), "model.py, line 33: ZeroDivisionError")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at open files in /proc")
@pytest.mark.parametrize("name", ["results.csv", "certificates.json", "report.html", "run.toml"])
def test_a_full_disk_is_told_with_the_file_and_the_next_step(project, here, monkeypatch, name):
    monkeypatch.setattr(os, "fsync", worlds.full_disk(name))
    outcome = here("certify", "run.toml", "--samples", 100)
    assert outcome[0] == 2
    assert f"{name}: cannot be written (No space left on device). Free some space on its disk" in outcome[2]
    assert outcome[2].splitlines()[-1].startswith("Error: ")


def test_workers_that_cannot_start_are_told_with_the_next_step(project, here, monkeypatch):
    def read_only(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("multiprocessing.synchronize.SemLock.__init__", read_only)
    status, _, complaint = here("certify", "run.toml", "--samples", 100, "--workers", 2)
    assert status == 2
    assert "Error: Worker processes cannot be started (Read-only file system)." in complaint
    assert "/dev/shm" in complaint
    assert "--workers 1" in complaint
    assert "fault" not in complaint


def test_garbage_is_no_file_of_tensors(project, here):
    (project / "data.pt").write_bytes(bytes(range(256)) * 9)
    refused(here("certify", "run.toml", "--data", "data.pt"), "torch.save did not write it, or it is damaged")


def closing(streams: str, *words: str, cwd=None) -> subprocess.CompletedProcess:
    command = f"{sys.executable} -m starcert {' '.join(words)} {streams}"
    return subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, cwd=cwd, check=False, env=worlds.environment()
    )


def test_closed_streams(project):
    done = closing("2>&-", "radius", "--noise", "a=1.5", "--p-lower", "0.9")
    assert (done.returncode, done.stdout) == (2, "")
    assert closing(">&-", "radius", "--noise", "a=0.1", "--p-lower", "0.9").returncode == 0
    done = closing("2>&-", "certify", "run.toml", "--limit", "1", "--json", cwd=project)
    assert (done.returncode, len(json.loads(done.stdout)["certificates"])) == (0, 1)
    assert (project / "results" / "votes.db").read_bytes().startswith(b"SQLite")


TALKATIVE = """
def talkative():
    return sc.classifiers.from_callable(chatter, n_classes=3, on="batch", description="talkative")

def chatter(batch):
    if multiprocessing.parent_process() is not None:  # in a worker: until nobody reads any more
        Path("begun").touch()
        while not Path("unread").exists():
            time.sleep(0.01)
    for stream in (sys.stdout, sys.stderr):
        print("voting on", len(batch), file=stream, flush=True)
    return shapes(batch)
"""


@pytest.fixture
def talkative(project):
    imports = "import multiprocessing, sys, time\nfrom pathlib import Path\n"
    (project / "model.py").write_text(f"{imports}{worlds.MODEL}{TALKATIVE}")
    return "certify", "run.toml", "--model", "model.py:talkative", "--limit", "3"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_run_goes_on_when_nobody_reads_its_output(project, talkative, options):
    """Neither the command's own lines nor those that the model prints end it."""
    assert worlds.unread(*talkative, *options, cwd=project, also_errors=True).returncode == 0
    assert (project / "results" / "report.html").exists()


@pytest.mark.parametrize("words", [("--version",), ("certify", "--help")])
def test_help_into_a_closed_pipe_is_no_error(tmp_path, words):
    assert worlds.unread(*words, cwd=tmp_path).returncode == 0


def test_workers_go_on_when_nobody_reads_their_output_any_more(project, talkative):
    command = [sys.executable, "-m", "starcert", *talkative, "--workers", "2"]
    environment = worlds.environment()
    with subprocess.Popen(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment
    ) as run:
        while not (project / "begun").exists() and run.poll() is None:
            time.sleep(0.01)
        run.stdout.close()
        (project / "unread").touch()
        assert run.wait(timeout=120) == 0
    assert (project / "results" / "report.html").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full")
@pytest.mark.parametrize("streams", ["> /dev/full", "> /dev/full 2>&1", "2> /dev/full"])
def test_a_run_goes_on_where_its_output_cannot_be_written(project, streams):
    done = closing(streams, "certify", "run.toml", "--limit", "1", "--samples", "100", cwd=project)
    lost = "Note: standard output cannot be written (No space left on device): the rest of it is lost.\n"
    assert (done.returncode, done.stderr) == (0, lost if streams == "> /dev/full" else "")
    assert (project / "results" / "report.html").exists()


def test_a_warning_is_a_note(project, monkeypatch, capsys):
    text = (project / "graphs" / "g1.graphml").read_text()
    (project / "graphs" / "g1.graphml").write_text(text.replace('<data key="d0">motif</data>', "", 1))
    monkeypatch.setattr(sys, "argv", ["starcert", "certify", "run.toml", "--limit", "1", "--samples", "100"])
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with pytest.raises(SystemExit) as ended:
            main()
    said = capsys.readouterr()
    assert ended.value.code == 0, said.err
    assert "Note: Some nodes have no 'part': it is left out for all nodes. Give every node a value" in said.err
    assert ".py:" not in said.err
