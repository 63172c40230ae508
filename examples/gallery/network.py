"""A social network by communities: who has the most ties in Les Misérables?"""

import networkx as nx
from picture import draw

import starcert as sc

novel = nx.Graph(nx.les_miserables_graph().edges)  # without the weights
people = list(novel)


def first(graph: nx.Graph) -> int:
    """The number of the person with the most ties."""
    return max(range(len(people)), key=lambda number: graph.degree[people[number]])


smoothed = sc.SmoothedClassifier(
    sc.classifiers.from_callable(first, n_classes=len(people)),
    sc.Noise(inside=0.1, between=0.02),  # pairs inside a community, and of two communities
    regions=sc.regions.communities(),
)
problem = smoothed.problem([sc.Graph.from_networkx(novel)])
certificate = smoothed.certify(problem, samples=5_000, alpha=0.01, seed=1)[0]
print(f"Class {certificate.label} is {people[certificate.label]}.\n{certificate}")

title = f"Les Misérables: {people[certificate.label]} has the most ties"
shown = [name if name in ("Valjean", "Gavroche", "Fantine", "Myriel") else "" for name in people]
draw("gallery_network.png", problem.sites[0], certificate, title, names=shown)
