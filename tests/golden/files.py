"""What is written: archives with their evidence, and the files of runs and sweeps from the command line."""

import contextlib
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import networkx as nx

import starcert as sc
from golden import verdicts
from golden.pinning import claims_in, table_in

ARCHIVES = Path(__file__).with_name("archives")
"""Files of certificates that `verify` goes on proving."""


def _with_evidence() -> sc.archive.Archive:
    smoothed = verdicts.counting(sc.Noise(core=0.1, rest=0.4), verdicts.REGIONS)
    how = {"evidence": sc.Evidence(own_samples=4_000), "threat": "flips:2"}
    return sc.archive.Archive.from_result(smoothed.certify(verdicts.graphs(), samples=1_000, seed=1, **how))


def _decided() -> sc.archive.Archive:
    smoothed = verdicts.counting(sc.Noise(all=0.1))
    how = {
        "voting": sc.Voting(plan="decided"),
        "evidence": sc.Evidence(own_samples=2_000),
        "threat": "flips:1",
        "family": "all",
    }
    return sc.archive.Archive.from_result(smoothed.certify(verdicts.graphs(), samples=1_500, seed=2, **how))


def _stopped() -> sc.archive.Archive:
    smoothed = verdicts.counting(sc.Noise(all=0.1), limits=(4, 9), classes=3)
    result = smoothed.certify(
        verdicts.graphs(), samples=2_000, seed=3, voting=sc.Voting(plan="decided"), threat=sc.threats.Box(1)
    )
    return sc.archive.Archive.from_result(result, labels=[0, 1, 1, 1, 2, 2], class_names=["few", "some", "many"])


def _categories() -> sc.archive.Archive:
    rows = [sc.Categories(row, values="012") for row in ("012210", "222122", "001011")]
    base = sc.classifiers.from_callable(
        lambda rows: ((rows == 2).sum(axis=1) > 3).astype(int), on="vectors", n_classes=2, description="many 2s"
    )
    noise = sc.Noise(left=sc.Categorical(0.2), right=sc.Categorical(0.3))
    smoothed = sc.SmoothedClassifier(base, noise, {"left": [0, 1, 2], "right": [3, 4, 5]})
    how = {"evidence": sc.Evidence(own_samples=4_000), "threat": "flips:1"}
    return sc.archive.Archive.from_result(smoothed.certify(rows, samples=1_000, seed=3, **how))


def _typed() -> sc.archive.Archive:
    def heavy(batch):
        return ((batch.adjacency() == 2).sum(axis=(1, 2)) > 4).astype(int)

    ends = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    graphs = [
        sc.Graph(5, ends[: len(types)], edge_types=list(types), type_names=("s", "d")) for types in ("sdsd", "ddddd")
    ]
    base = sc.classifiers.from_callable(heavy, on="batch", n_classes=2, description="heavy")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(bonds=sc.Edges(delete=0.2, add=0.05, change=0.1)))
    how = {"evidence": sc.Evidence(own_samples=4_000), "threat": "flips:1"}
    return sc.archive.Archive.from_result(smoothed.certify(graphs, samples=1_000, seed=3, **how))


def _nodes() -> sc.archive.Archive:
    base = sc.classifiers.from_node_function(_many_neighbours, n_classes=2, nodes="asked")
    asked = [True] * 3 + [False] * 3
    graph = sc.Graph(6, [(0, 1), (0, 2), (0, 3), (0, 4), (2, 5)], node_data={"asked": asked})
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(delete=0.2, add=0.1)))
    how = {"evidence": sc.Evidence(own_samples=3_000), "threat": "flips:1"}
    return sc.archive.Archive.from_result(smoothed.certify([graph], samples=1_000, seed=3, **how))


def _many_neighbours(graph: nx.Graph) -> dict[int, int]:
    return {node: int(degree > 1) for node, degree in graph.degree}


WRITTEN: dict[str, Callable[[], sc.archive.Archive]] = {
    "evidence": _with_evidence,
    "decided": _decided,
    "stopped": _stopped,
    "typed": _typed,
    "categories": _categories,
    "nodes": _nodes,
}
"""The archives, by the names of their files."""


def archives() -> dict[str, object]:
    """What archives claim when they are written again, and how much of their evidence is proved twice."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in WRITTEN.items():
            path = Path(folder, f"{name}.json")
            sc.archive.write(path, make())
            checked = sc.archive.verify(path)
            twice = [None if each is None else list(each) for each in checked.evidence]
            found[name] = {"claims": claims_in(path), "verdict": checked.verdict, "twice": twice}
    return found


MODEL = '''
import networkx as nx
import numpy as np

import starcert as sc


def graphs():
    """Cliques, rings and stars of five nodes, each joined to a path of three."""
    shapes = {"clique": nx.complete_graph(5), "ring": nx.cycle_graph(5), "star": nx.star_graph(4)}
    made, labels = [], []
    for number in range(6):
        label = list(shapes)[number % 3]
        graph = nx.disjoint_union(shapes[label], nx.path_graph(3))
        graph.add_edge(number % 5, 5)
        made.append(sc.Graph.from_networkx(graph))
        labels.append(label)
    return made, labels, [f"g{number}" for number in range(6)]


def parts(graph):
    return sc.Partition.from_node_sets({"motif": graph.nodes[:5], "rest": graph.nodes[5:]})


def shapes():
    def answers(batch):
        degrees = batch.adjacency()[:, :5, :5].sum(axis=2)
        return np.where(degrees.sum(axis=1) >= 16, 0, np.where(degrees.max(axis=1) >= 4, 2, 1))

    return sc.classifiers.from_callable(answers, on="batch", n_classes=3, description="shapes")


def words():
    rows = sc.Categories.rows(["GCTATAAAGC", "GCTATCCCGC", "TTTATAATTT", "CCCCCCCCCC"], values="ACGT")
    return rows, ["box", "none", "box", "none"], list("abcd")


def box():
    def answers(rows):
        return ((rows[:, 2:8] == [3, 0, 3, 0, 0, 0]).sum(axis=1) < 4).astype(int)

    return sc.classifiers.from_callable(answers, on="vectors", n_classes=2, description="box")
'''

GRAPHS = """
model = "model.py:shapes"
data = "model.py:graphs"
regions = "model.py:parts"
samples = 600
seed = 3

[noise]
motif = 0.03
rest = { delete = 0.3, add = 0.2 }
"""

WORDS = """
model = "model.py:box"
data = "model.py:words"
samples = 600
seed = 3

[noise]
box = { categorical = 0.1 }
flank = { categorical = 0.4 }

[regions]
box = [2, 3, 4, 5, 6, 7]
flank = [0, 1, 8, 9]
"""


@contextlib.contextmanager
def project() -> Iterator[Path]:
    """A folder with a model, data and two run files, which commands work in."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), patch.object(sys, "path", list(sys.path)):
        for name, text in {"model.py": MODEL, "graphs.toml": GRAPHS, "words.toml": WORDS}.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        yield Path(folder)


def command(*words: str) -> str:
    """Runs the command in this process; it must succeed. What it prints."""
    from starcert.cli import main  # noqa: PLC0415

    with patch.object(sys, "argv", ["starcert", *words]), contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"starcert {' '.join(words)}: status {ended.code}") from ended
    return said.getvalue()


def runs() -> dict[str, object]:
    """`starcert certify`: the certificates and the table, by p_A, with evidence, and with a plan that stops."""
    found = {}
    with project() as folder:
        for name, words in {
            "graphs": ("graphs.toml",),
            "evidence": ("graphs.toml", "--evidence", "--threat", "box:motif=1,rest.delete=1,rest.add=1"),
            "decided": ("graphs.toml", "--plan", "decided", "--threat", "box:motif=1,rest.delete=0,rest.add=0"),
            "words": ("words.toml", "--evidence", "--threat", "box:box=1,flank=1"),
        }.items():
            command("certify", *words, "--out", name)
            out = folder / name
            found[name] = {
                "claims": claims_in(out / "certificates.json"),
                "results": table_in(out / "results.csv", "name"),
            }
    return found


def sweeps() -> dict[str, object]:
    """`starcert sweep`: the table of its levels."""
    found = {}
    box = ("--threat", "box:motif=1,rest=1")
    with project() as folder:
        for name, words in {
            "graphs": ("graphs.toml", "--grid", "motif=0.03,0.3,rest=0.2,0.45"),
            "evidence": ("graphs.toml", "--grid", "motif=0.03,0.1,rest=0.2", "--evidence", *box),
        }.items():
            command("sweep", *words, "--samples", "300", "--out", name)
            found[name] = table_in(folder / name / "sweep.csv", "level")
    return found


PARTS = {"archives": archives, "runs": runs, "sweeps": sweeps}
