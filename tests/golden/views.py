"""What a user reads: tables of runs and of the benchmark, JSON from the command line, and the words of pages."""

import json
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from functools import cache
from pathlib import Path

from golden import files
from golden.pinning import cells_in, numbers_in, without_story, words_in
from starcert.runs.example import write_example

OTHERS = """
import numpy as np
import starcert as sc

ROWS = np.random.Generator(np.random.PCG64(3)).integers(0, 2, (80, 6))


def rows():
    labels = np.where(ROWS[:, 0], ROWS[:, 1:].sum(axis=1) > 1, ROWS[:, 1:].sum(axis=1) > 3).astype(int)
    return sc.Bits.rows(ROWS), labels


def sums():
    return sc.classifiers.from_callable(lambda rows: rows[:, 1:].sum(axis=1) > 2, on="vectors", description="sums")


class First:
    def predict(self, objects):
        return [int(each.row[0]) for each in objects]


def first(train):
    return First()


def measured():
    return sc.Bits.rows([[0, 0, 1, 0], [1, 1, 1, 0], [1, 0, 1, 0]]), [0.25, 0.75, None]


def share():
    return lambda rows: rows.sum(axis=1) / 4

"""

BITS = """
model = "others.py:sums"
data = "others.py:rows"
split = "test"
samples = 500
seed = 1
fallback = "others.py:first"
threshold = 0.8
threat = "flips:1"

[regions]
attacked = [1, 2, 3, 4, 5]

[noise]
attacked = 0.1
"""

MEASURED = """
model = "others.py:share"
data = "others.py:measured"
outputs = [0, 1]
threat = "flips:1"
samples = 1000
seed = 1

[noise]
all = 0.1
"""

COMPARED = '''
import networkx as nx
import numpy as np
import starcert as sc
from starcert.benchmark.methods import Fitted, BenchmarkMethod
from starcert.benchmark.outcomes import Result, exact_result, outcome_of


def counts(batch):
    return batch.degrees().sum(axis=1) // 2 > 6


BASE = sc.classifiers.from_callable(counts, on="batch", n_classes=2, description="many edges")


def graphs():
    """Graphs of five and six nodes, in the second class if they have many edges; of every fifth it is the other one."""
    found = [nx.gnm_random_graph(5 + number % 2, 3 + number % 8, seed=number) for number in range(60)]
    labels = [int((each.number_of_edges() > 6) != (number % 5 == 0)) for number, each in enumerate(found)]
    return [sc.Graph.from_networkx(each) for each in found], labels


class Ours(BenchmarkMethod):
    trains = False

    def fit(self, train, validation, threat):
        return Fitted({"one": 0.5, "two": 0.75}, "two", 0.0, 0.0)


class Votes(Ours):
    name, certifies = "votes", "the smoothed classifier"

    def certify(self, objects, threat):
        smoothed = sc.SmoothedClassifier(BASE, sc.Noise(pairs=sc.Flip(delete=0.1, add=0.05)))
        found = smoothed.certify(objects, samples=400, seed=1)
        outcomes = tuple(outcome_of(one, threat) for one in found)
        return Result(threat, outcomes, 0.01, 400, 500, certificates=found)


class Tried(Ours):
    name, certifies = "tried", "the plain model"

    def certify(self, objects, threat):
        return exact_result(BASE, objects, threat, farthest=2, max_attacks=200)
'''

BENCHMARK = """
data = ["compared.py:graphs"]
methods = ["blind", "compared.py:Votes", "compared.py:Tried"]
twins = "apart"
threats = ["flips:3", "deletions:2"]
folds = 2
certificates = true
"""

CERTIFIED = {
    "counts": ("graphs.toml",),
    "evidence": ("graphs.toml", "--evidence", "--own-samples", "2000", "--threat", "flips:2"),
    "listed": ("graphs.toml", "--evidence", "--own-samples", "2000", "--threat", "deletions:2"),
    "words": ("words.toml",),
    "fallback": ("bits.toml", "--evidence", "--own-samples", "2000"),
    "exact": ("graphs.toml", "--exact", "--threat", "flips:2"),
    "exact words": ("words.toml", "--exact", "--threat", "flips:1"),
    "exact budget": ("graphs.toml", "--exact", "--threat", "flips:2", "--max-attacks", "100"),
    "intervals": ("measured.toml",),
    "nodes": ("club/run.toml", "--evidence", "--own-samples", "0", "--threat", "deletions:1", "--collective"),
}
"""Runs of `certify`, by the names of their folders."""


@contextmanager
def project() -> Iterator[Path]:
    with files.project() as folder:
        written = {"others.py": OTHERS, "bits.toml": BITS, "measured.toml": MEASURED}
        for name, text in (written | {"compared.py": COMPARED, "benchmark.toml": BENCHMARK}).items():
            Path(folder, name).write_text(text, encoding="utf-8")
        write_example(folder / "club", "nodes")
        yield folder


@cache
def _views() -> dict[str, dict[str, object]]:
    """Everything that is read of the same runs: they are made once for three parts."""
    results, told, pages = {}, {}, {}
    with project() as folder:
        for name, words in CERTIFIED.items():
            said = command_json("certify", *words, "--samples", "600", "--out", name)
            told[f"certify {name}"] = said
            results[name] = cells_in(folder / name / "results.csv")
            pages[name] = words_in(folder / name / "report.html")
            told[f"verify {name}"] = command_json("verify", f"{name}/certificates.json")
        files.command("sweep", "graphs.toml", "--grid", "motif=0.03,0.3,rest=0.2,0.45", "--samples", "300")
        results["sweep"], pages["sweep"] = cells_in(folder / "sweep/sweep.csv"), words_in(folder / "sweep/sweep.html")
        for name, runs in {"compare": ("counts", "evidence"), "compare exact": ("exact", "exact budget")}.items():
            files.command("compare", *runs, "--out", f"{name}.html")
            pages[name] = words_in(folder / f"{name}.html")
        noise = ("--noise", "motif=0.02,random=0.45")
        told["slack"] = command_json("radius", *noise, "--radius", "motif=1,random=45")
        told["frontier"] = command_json("radius", *noise, "--max-radius", "motif=35,random=45", "--p-lower", "0.9995")
    return {"results": results, "json": told, "pages": pages}


def benchmark() -> dict[str, object]:
    """Tables and page of a benchmark of the blind model and two methods that train nothing, and its certificates."""
    with project() as folder:
        files.command("benchmark", "benchmark.toml", "--workers", "1")
        out = folder / "benchmark"
        return {
            "csv": cells_in(out / "benchmark.csv"),
            "md": (out / "benchmark.md").read_text(encoding="utf-8").splitlines(),
            "tex": (out / "benchmark.tex").read_text(encoding="utf-8").splitlines(),
            "page": words_in(out / "index.html"),
            "certificates": {
                path.name: command_json("verify", f"benchmark/certificates/{path.name}")["verdict"]
                for path in sorted((out / "certificates").glob("*.json"))
            },
        }


def command_json(*words: str) -> object:
    return without_story(json.loads(files.command(*words, "--json")))


KEPT = sorted((Path(__file__).parents[1] / "archive" / "kept").rglob("*.json"))
"""Archives of earlier versions that go on being read."""


def kept() -> dict[str, object]:
    """The numbers in what `verify` prints for each archive that is kept: how much was proved."""
    found = {}
    for path in KEPT:
        with chdir(path.parent):
            found[f"{path.parent.name}/{path.stem}"] = numbers_in(files.command("verify", path.name))
    return found


PARTS = {
    "results": lambda: _views()["results"],
    "json": lambda: _views()["json"],
    "pages": lambda: _views()["pages"],
    "benchmark": benchmark,
    "kept": kept,
}
