"""Nodes of small graphs as targets, and classifiers that answer for them."""

import networkx as nx
import numpy as np
from asking import how_to

import starcert as sc
from starcert.classifiers import Classifier

NOISE = sc.Noise(all=0.2)
WANTED = how_to(samples=2000, selection_samples=200, seed=3)


class Busy(Classifier):
    """Of every node, whether it has more than two neighbours."""

    n_classes = 2
    description = "busy nodes"

    def n_targets(self, frame):
        return frame.n_nodes

    def classify(self, graphs):
        return graphs.degrees() > 2


class FirstNode(Busy):
    """The same of the first node alone, as the answer on the graph."""

    def n_targets(self, frame):
        return None

    def classify(self, graphs):
        return graphs.degrees()[:, 0] > 2


def graphs() -> list[sc.Graph]:
    return [sc.Graph.from_networkx(each) for each in (nx.star_graph(4), nx.cycle_graph(3), nx.complete_graph(6))]


def nodes(base=None) -> sc.SmoothedClassifier:
    return sc.SmoothedClassifier(base or Busy(), NOISE)


class Some(Busy):
    """The same of two nodes alone."""

    def n_targets(self, frame):
        return 2

    def target_nodes(self, frame):
        return np.array([0, 2])

    def classify(self, graphs):
        return super().classify(graphs)[:, [0, 2]]


def named_star() -> sc.Graph:
    return sc.Graph(5, [(0, 1), (0, 2), (0, 3), (0, 4)], nodes=["hub", "a", "b", "c", "d"])
