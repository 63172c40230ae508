"""A program graph: is there a chain of calls from `main` to `save`?"""

import ast

import networkx as nx
from picture import draw

import starcert as sc

SOURCE = """
def main(words): load(words), update(words), leave()
def load(words): check(words), merge(words)
def update(words): check(words), merge(words), retry(words)
def leave(): flush()
def check(words): report(words)
def merge(words): flush(), save(words)
def retry(words): update(words), save(words)
def report(words): flush()
def flush(): save([])
def save(words): print(words)
"""

functions = {function.name: function for function in ast.parse(SOURCE).body}
calls = nx.DiGraph()
calls.add_nodes_from(functions)
for name, function in functions.items():
    called = {each.func.id for each in ast.walk(function) if isinstance(each, ast.Call)}
    calls.add_edges_from((name, other) for other in sorted(called & set(functions)))


def reaches(graph: nx.DiGraph) -> int:
    """1 where there is a chain of calls from main to save."""
    return int(nx.has_path(graph, "main", "save"))


commands = ["main", "load", "update", "leave"]
parts = {"commands": commands, "helpers": [name for name in functions if name not in commands]}
smoothed = sc.SmoothedClassifier(
    sc.classifiers.from_callable(reaches, n_classes=2),
    sc.Noise(commands=0.05, helpers=0.05, across=0.05),
    regions=sc.Partition.from_node_sets(parts, between={"across": ("commands", "helpers")}),
)
problem = smoothed.problem([sc.Graph.from_networkx(calls)])
certificate = smoothed.certify(problem, samples=10_000, alpha=0.01, seed=1, evidence=True, threat="flips:2")[0]
print(certificate)
print(f"By p_A alone: {certificate.frontier_by_p_A.radii}. With evidence: any {certificate.any_flips} flips.")

draw("gallery_program.png", problem.sites[0], certificate, "main can reach save", names=list(functions))
