"""One torch thread inside a run, whenever torch is imported, and what was there before afterwards."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from runs_worlds import environment

import starcert as sc
from starcert.runs.user_code import Reference, voting_workers
from starcert.system.processes import one_thread


@pytest.fixture
def torch(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield torch
    torch.set_num_threads(before)


def test_one_inside_and_as_many_as_before_outside(torch):
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3
    with one_thread("cuda:1"):
        assert torch.get_num_threads() == 3


def test_who_says_how_many_is_obeyed(torch, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with one_thread():
        assert torch.get_num_threads() == 3


def test_votes_in_this_process_are_counted_with_one(torch):
    base = sc.classifiers.from_callable(lambda graph: torch.get_num_threads() == 1, description="f")
    with voting_workers(base, Reference(Path("unused.py"), "f"), 1, print) as executor:
        assert executor is None
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3


LATE = """
import os, sys
from starcert.system.processes import one_thread
with one_thread():
    assert "torch" not in sys.modules
    import torch
    assert torch.get_num_threads() == 1
assert "OMP_NUM_THREADS" not in os.environ
assert torch.get_num_threads() == len(os.sched_getaffinity(0))
with one_thread():
    assert torch.get_num_threads() == 1
"""


def test_torch_may_be_imported_inside():
    pytest.importorskip("torch")
    told = {name: value for name, value in environment().items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", LATE], env=told, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


MODEL = """
import os
import starcert as sc

def one(graph):
    import torch
    return int(torch.get_num_threads() == 1)

def f():
    import torch
    assert torch.get_num_threads() == 1
    return sc.classifiers.from_callable(one, description="f")
"""


def test_a_run_makes_tries_and_asks_its_model_with_one(torch, tmp_path, here, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    os.mkdir("graphs")
    Path("graphs/a.edgelist").write_text("0 1\n1 2\n")
    Path("model.py").write_text(MODEL)
    words = ("--model", "model.py:f", "--data", "graphs", "--noise", "all=0.1", "--samples", 50, "--workers", 2)
    assert here("certify", *words)[0] == 0
    (row,) = sc.archive.read("certified/certificates.json").rows()
    assert (row["votes_0"], row["votes_1"]) == (0, 50)
    assert torch.get_num_threads() == 3
