"""The files of `starcert init`: a small project with a model, data, and a run file that explains every line.

The texts lie in the folder `examples`, a folder for each; graphs are made here.
"""

from __future__ import annotations

import os
import random
from importlib.resources import files
from pathlib import Path
from typing import Any

from starcert.report.document import render
from starcert.system.errors import InvalidParameterError
from starcert.system.files import write_whole
from starcert.system.output import csv_lines

EXAMPLES = ("function", "sklearn", "pyg")  # kinds of models, on undirected graphs of three classes
KINDS = ("molecule", "directed", "nodes", "vector", "table", "text")  # kinds of objects


def files_of(example: str) -> dict[str, str]:
    """The files of an example, by their names in its folder."""
    if example not in (*EXAMPLES, *KINDS):
        raise InvalidParameterError("--example", f"be one of {', '.join(EXAMPLES)}", example)
    folder = files("starcert.runs") / "examples" / example
    texts = {each.name.removesuffix(".txt"): each.read_text(encoding="utf-8") for each in folder.iterdir()}
    if example in EXAMPLES:
        texts["run.toml"] = render("runs/examples/run.toml", {"name": example})
        graphs = _shapes(12 if example == "function" else 60)
    else:
        graphs = _rings() if example == "directed" else _friends() if example == "nodes" else {}
    first = {"run.toml": texts.pop("run.toml"), "model.py": texts.pop("model.py")}
    return first | dict(sorted(texts.items())) | graphs


def write_example(folder: Path, example: str = "function") -> list[Path]:
    """Writes an example into a folder, and nothing if any of its files exists already; returns the paths it wrote."""
    texts = {Path(os.path.abspath(folder / name)): text for name, text in files_of(example).items()}
    there = [path for path in texts if path.exists()]
    if there:
        hint = f"Nothing was written. Give another folder, or remove {there[0].name} first."
        raise InvalidParameterError("folder", f"already holds {there[0]}. {hint}")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [text])
    return list(texts)


def _graphml(graph: Any) -> str:  # noqa: ANN401  (networkx carries no types)
    import networkx as nx  # noqa: PLC0415  (slow to import)

    return "\n".join([*nx.generate_graphml(graph), ""])


def _with_labels(graphs: dict[str, tuple[str, Any]]) -> dict[str, str]:
    """Files of graphs by name, each with its class, and of the table of their classes."""
    labels = "".join(csv_lines({"name": name, "label": label} for name, (label, _) in graphs.items()))
    return {"graphs/labels.csv": labels} | {
        f"graphs/{name}.graphml": _graphml(graph) for name, (_, graph) in graphs.items()
    }


def _shapes(n: int) -> dict[str, str]:
    """Motifs of eight nodes, each joined by one edge to eight nodes of a random graph."""
    import networkx as nx  # noqa: PLC0415

    motifs = {"clique": nx.complete_graph(8), "ring": nx.cycle_graph(8), "star": nx.star_graph(7)}
    draw = random.Random(0)
    made = {}
    for number in range(n):
        label = list(motifs)[number % 3]
        graph = nx.disjoint_union(motifs[label], nx.empty_graph(8))
        graph.add_edges_from((8 + u, 8 + v) for u in range(8) for v in range(u) if draw.random() < 0.5)
        graph.add_edge(draw.randrange(8), 8 + draw.randrange(8))
        nx.set_node_attributes(graph, {node: "motif" if node < 8 else "random" for node in graph}, "part")
        made[f"graph_{number + 1:02d}"] = label, graph
    return _with_labels(made)


def _friends() -> dict[str, str]:
    """Two villages of twenty people: friends are mostly of the same one, and few speak like the other."""
    import networkx as nx  # noqa: PLC0415

    graph = nx.Graph()
    draw = random.Random(0)
    for node in range(40):
        south = node >= 20
        speaks, test = south != (draw.random() < 0.15), draw.random() < 0.5
        graph.add_node(node, y="south" if south else "north", speaks=int(speaks), test_mask=int(test))
    graph.add_edges_from(nx.planted_partition_graph(2, 20, 0.35, 0.03, seed=4).edges)
    return {"graphs/friends.graphml": _graphml(graph)}


def _rings() -> dict[str, str]:
    """Rings of eight nodes that run one way or the other, each joined to four nodes at random."""
    import networkx as nx  # noqa: PLC0415

    draw = random.Random(0)
    made = {}
    for number in range(1, 13):
        forward = number % 2 == 1
        graph = nx.DiGraph()
        graph.add_nodes_from((node, {"part": "motif" if node < 8 else "rest"}) for node in range(12))
        ends = [(node, (node + 1) % 8) for node in range(8)]
        graph.add_edges_from(ends if forward else [(v, u) for u, v in ends])
        rest = [(u, v) for u in range(8, 12) for v in range(8, 12) if u != v]
        graph.add_edges_from(pair for pair in rest if draw.random() < 0.4)
        graph.add_edge(draw.randrange(8), draw.randrange(8, 12))
        made[f"ring_{number:02d}"] = "forward" if forward else "backward", graph
    return _with_labels(made)
