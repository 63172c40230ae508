"""The whole method on two graphs: a clique and a ring, each joined to a random part that should not matter.

Run it with `make demo`, or `python examples/first_certificate.py votes.db`. The votes go into the file; interrupt it,
start it again, and it resumes where it was.
"""

import sys

import networkx as nx

import starcert as sc


def many_hubs(graph: nx.Graph) -> int:
    """The base classifier, any function of a graph: are there five nodes with eight neighbours or more?"""
    return int(sum(degree >= 8 for _, degree in graph.degree) >= 5)


def example(motif: nx.Graph, seed: int) -> sc.Graph:
    """Nodes 0 to 9 are the motif, nodes 10 to 19 a random part; one edge joins them."""
    graph = nx.disjoint_union(motif, nx.gnp_random_graph(10, 0.5, seed=seed))
    graph.add_edge(0, 10)
    return sc.Graph.from_networkx(graph)


graphs = [example(nx.complete_graph(10), seed=1), example(nx.cycle_graph(10), seed=2)]

# Regions are sets of node pairs: little noise where the answer depends on them, much where it should not.
smoothed = sc.SmoothedClassifier(
    sc.classifiers.from_callable(many_hubs, n_classes=2),
    sc.Noise(motif=0.02, random=0.45),
    regions=sc.Partition.from_node_sets({"motif": range(10), "random": range(10, 20)}),
)

for certificate in smoothed.certify(graphs, samples=20_000, alpha=0.01, seed=1, voting=sc.Voting(store=sys.argv[1])):
    print(f"{certificate}\n")
