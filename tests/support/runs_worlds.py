"""A small project for the tests of runs: graphs of three classes in GraphML files, models, regions, a run file."""

import csv
import errno
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import networkx as nx

import starcert as starcert_package

SHAPES = {"clique": nx.complete_graph(5), "ring": nx.cycle_graph(5), "star": nx.star_graph(4)}

MODEL = '''
import starcert as sc

def shape(graph):
    """0 clique, 1 ring, 2 star, by the first five nodes."""
    motif = graph.subgraph(list(graph)[:5])
    degrees = [degree for _, degree in motif.degree]
    return 0 if sum(degrees) >= 16 else 2 if max(degrees) >= 4 else 1

def shapes(batch):
    degrees = batch.adjacency()[:, :5, :5].sum(axis=2)
    return [0 if each.sum() >= 16 else 2 if each.max() >= 4 else 1 for each in degrees]

def classifier():
    return sc.classifiers.from_callable(shapes, n_classes=3, on="batch", description="shapes")

def plain():
    return shape

def local():
    return sc.classifiers.from_callable(lambda batch: shapes(batch), n_classes=3, on="batch", description="local")

def four(graph):
    """Four regions that cover all pairs: at the first node, in the motif, in the rest, and between."""
    hub, motif, rest = graph.nodes[:1], graph.nodes[1:5], graph.nodes[5:]
    inside = lambda nodes: [(u, v) for i, u in enumerate(nodes) for v in nodes[:i]]
    across = lambda one, other: [(u, v) for u in one for v in other]
    return sc.Partition.from_pairs({
        "hub": across(hub, motif), "motif": inside(motif), "rest": inside(rest), "bridge": across(hub + motif, rest)
    })
'''

RUN = """
model = "model.py:classifier"
data = "graphs"
regions = "model.py:four"
samples = 400
seed = 3
out = "results"

[noise]
hub = 0.02
motif = 0.03
rest = { delete = 0.3, add = 0.2 }
bridge = 0.45
"""


def graphs(folder: Path, n: int = 6) -> None:
    """Files g1.graphml, g2.graphml, … of the three shapes in turn, joined to three further nodes, with their labels."""
    folder.mkdir(parents=True)
    rows = []
    for number in range(n):
        label = list(SHAPES)[number % 3]
        graph = nx.disjoint_union(SHAPES[label], nx.path_graph(3))
        graph.add_edge(number % 5, 5)
        nx.set_node_attributes(graph, {node: "motif" if node < 5 else "rest" for node in graph}, "part")
        nx.write_graphml(graph, folder / f"g{number + 1}.graphml")
        rows.append((f"g{number + 1}", label))
    with open(folder / "labels.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("name", "label"), *rows])


def project(folder: Path, *, n: int = 6, model: str = MODEL, run: str = RUN) -> Path:
    """The whole project in a folder; the path of its run file."""
    graphs(folder / "graphs", n)
    (folder / "model.py").write_text(model, encoding="utf-8")
    (folder / "run.toml").write_text(run, encoding="utf-8")
    return folder / "run.toml"


HOLLOW = """
def two(graph):
    return sc.Partition.from_node_sets({"motif": graph.nodes[:5], "rest": graph.nodes[5:]})
"""


def hollow(folder: Path) -> None:
    """One more graph in a project, a clique with nothing else, and two regions: it has nothing in `rest`."""
    nx.write_graphml(SHAPES["clique"], folder / "graphs" / "lonely.graphml")
    with open(folder / "graphs" / "labels.csv", "a", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow(("lonely", "clique"))
    (folder / "model.py").write_text(MODEL + HOLLOW, encoding="utf-8")


def starcert(*arguments: object, cwd: Path) -> subprocess.CompletedProcess:
    """The command in a process of its own."""
    words = [sys.executable, "-m", "starcert", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=cwd, check=False, env=environment())


def begin(words: Iterable[object], cwd: Path, **options: object) -> subprocess.Popen:
    """The command in a process and session of its own, while it runs."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "env": environment()}
    command = [sys.executable, "-m", "starcert", *map(str, words)]
    return subprocess.Popen(command, cwd=cwd, text=True, start_new_session=True, **(given | options))


def until(condition: Callable[[], object], process: subprocess.Popen) -> None:
    """Waits until something is so, while a process runs."""
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    assert condition()


def unread(*words: object, cwd: Path, also_errors: bool = False) -> subprocess.CompletedProcess:
    """The command with its output in a pipe that nobody reads any more, as before `| true`."""
    read, write = os.pipe()
    os.close(read)
    try:
        return subprocess.run(
            [sys.executable, "-m", "starcert", *map(str, words)],
            stdout=write,
            stderr=write if also_errors else subprocess.PIPE,
            text=True,
            cwd=cwd,
            check=False,
            timeout=300,
            env=environment(),
        )
    finally:
        os.close(write)


def environment() -> dict[str, str]:
    """For a process in another folder: the starcert that is being tested comes first."""
    places = [str(Path(starcert_package.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}


def full_disk(name):
    """An `fsync` that finds the disk full for one file."""
    plain = os.fsync

    def fsync(handle):
        if re.search(rf"/\.{re.escape(name)}\.\w+\.part$", os.readlink(f"/proc/self/fd/{handle}")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        plain(handle)

    return fsync
