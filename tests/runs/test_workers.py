import os
import sys

import pytest

import starcert as sc
from starcert.errors import StarcertError
from starcert.runs.user_code import Reference
from starcert.runs.workers import voting_workers


@pytest.fixture(autouse=True)
def _same_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


def classifier_in(folder, text):
    (folder / "code.py").write_text(text)
    reference = Reference(folder / "code.py", "f")
    return sc.classifiers.from_callable(reference.load(), description="f"), reference.file


GRAPHS = [sc.Graph(5, [(0, 1), (1, 2)])]


def certify(classifier, executor):
    smoothed = sc.SmoothedClassifier(classifier, sc.Noise(all=0.1))
    return smoothed.certify(GRAPHS, samples=3000, seed=1, executor=executor)


def test_a_worker_that_dies_is_told_in_one_sentence(tmp_path):
    base, file = classifier_in(
        tmp_path, f"import os\ndef f(graph):\n    if os.getpid() != {os.getpid()}: os._exit(9)\n    return 0"
    )
    with (
        pytest.raises(StarcertError, match=r"A worker process died.*fewer workers"),
        voting_workers(base, file, 2, print) as executor,
    ):
        certify(base, executor)


def test_a_file_that_workers_cannot_import(tmp_path):
    base, file = classifier_in(tmp_path, f"import os\nif os.getpid() != {os.getpid()}: 1 / 0\ndef f(graph): return 0")
    with (
        pytest.raises(StarcertError, match=r"A worker process cannot import.*code\.py, line 2: ZeroDivisionError"),
        voting_workers(base, file, 2, print) as executor,
    ):
        certify(base, executor)


def test_errors_in_workers_come_back(tmp_path):
    base, file = classifier_in(tmp_path, "def f(graph): return [][graph.number_of_nodes()]")
    with pytest.raises(sc.ClassifierError, match="IndexError"), voting_workers(base, file, 2, print) as executor:
        certify(base, executor)


def test_one_worker_is_this_process(tmp_path):
    base, file = classifier_in(tmp_path, "def f(graph): return 0")
    notes = []
    with voting_workers(base, file, 1, notes.append) as executor:
        assert executor is None
    assert notes == []
