"""Records how long runs take next to what was measured before them, for the test of the forecast.

    python benchmarks/forecasts.py FOLDER_OF_DATA [RUN …] > tests/runs/recorded_runs.json

The folder has TU/PROTEINS and CORA_ML/cora_ml.npz; MUTAG comes with GraKeL. Without names, all runs are made.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from starcert.runs import forecast
from starcert.runs.certification import certify_run, certify_settings
from starcert.runs.example import write_example
from starcert.runs.forecast import RunWork, Timings, seconds_of_run
from starcert.runs.run_file import RunFile, read_run_file
from starcert.runs.setting_values import check_options
from starcert.runs.settings import SETTINGS

MODELS = """
import torch
from starcert import Partition
from starcert.models import GCN, NodeGCN, vertex_histogram_svm

def svm(train):
    return vertex_histogram_svm().fit(train.graphs, train.labels)

def atoms():
    torch.manual_seed(0)
    return GCN(7, 2).eval()

def residues():
    torch.manual_seed(0)
    return GCN(3, 2).eval()

def papers():
    torch.manual_seed(0)
    return NodeGCN(2_879, 7).eval()

def links(graph):
    return Partition.everything("links")
"""

SVM_ON_MUTAG: dict[str, object] = {
    "model": "models.py:svm",
    "data": "MUTAG",
    "split": "test",
    "noise": "bonds=0.04/0.05",
}


def runs(data: Path) -> dict[str, dict[str, object]]:
    """The options of each run, some of them beside an example's run file."""
    cora: dict[str, object] = {
        "data": str(data / "CORA_ML" / "cora_ml.npz"),
        "model": "models.py:papers",
        "targets": "nodes",
    }
    proteins = SVM_ON_MUTAG | {"data": str(data / "TU" / "PROTEINS"), "noise": "bonds=0.1/0.01", "limit": 60}
    return {
        "function": {},
        "function, 500 votes": {"samples": 500},
        "function, 2 workers": {"samples": 20_000, "workers": 2},
        "function, decided": {"plan": "decided"},
        "function, evidence": {"evidence": True},
        "molecule": {},
        "molecule, evidence": {"evidence": True},
        "nodes": {},
        "nodes, evidence": {"evidence": True},
        "vector": {},
        "directed, evidence": {"evidence": True},
        "SVM on MUTAG": SVM_ON_MUTAG,
        "SVM on MUTAG, 1,000,000 votes": SVM_ON_MUTAG | {"samples": 1_000_000},
        "SVM on MUTAG, evidence": SVM_ON_MUTAG | {"evidence": True},
        "SVM on MUTAG, evidence, 100,000 votes": SVM_ON_MUTAG | {"evidence": True, "samples": 100_000},
        "GCN on MUTAG": SVM_ON_MUTAG | {"model": "models.py:atoms"},
        "SVM on PROTEINS": proteins | {"samples": 20_000},
        "GCN on PROTEINS": proteins | {"model": "models.py:residues", "samples": 2_000},
        "GCN on Cora-ML": cora | {"noise": "links=0.4/0.0005", "regions": "models.py:links", "samples": 300},
    }


def recorded(name: str, options: dict[str, object], folder: Path) -> dict[str, object]:
    """What was measured before a run, and how long it took from then on."""
    found: list[tuple[RunWork, Timings, float]] = []

    def remember(work: RunWork, timings: Timings) -> tuple[float, float]:
        found.append((work, timings, time.perf_counter()))
        return seconds_of_run(work, timings)

    forecast.seconds_of_run = remember
    if "model" in options:
        (folder / "models.py").write_text(MODELS)
        file = RunFile(folder=folder)
        ours = {key: f"{folder}/{options[key]}" for key in ("model", "regions") if key in options}
        options = options | ours
    else:
        write_example(folder, name.partition(",")[0])
        file = read_run_file(folder / "run.toml")
    settings = certify_settings(file, check_options(options | {"out": str(folder / "results")}, SETTINGS))
    certify_run(settings, note=lambda _text: None, before=lambda _text: None)
    work, timings, begun = found[0]
    seconds = time.perf_counter() - begun
    low, high = seconds_of_run(work, timings)
    print(f"{name:40} {low:8.1f} to {high:8.1f} s: {seconds:8.1f} s", file=sys.stderr)
    measured = {"votes": [list(each) for each in timings.votes], "evidence": timings.evidence}
    return {"run": name, "seconds": seconds, "work": work._asdict(), "timings": measured}


if __name__ == "__main__":
    rows = []
    wanted = sys.argv[2:]
    for title, given in runs(Path(sys.argv[1]).resolve()).items():
        if not wanted or title in wanted:
            with tempfile.TemporaryDirectory() as place:
                rows.append(recorded(title, given, Path(place)))
    print(json.dumps(rows, indent=1))
