"""Graph kernels as explicit feature maps: scikit-learn transformers that count what a graph is made of.

One feature map serves to fit and to vote: `transform` takes a list of `Graph`s, or a batch of noisy copies as it is.
The features of a graph depend on that graph alone.
"""

from starcert.classifiers.kernels.histograms import VertexHistogram, WeisfeilerLehman
from starcert.classifiers.kernels.kernel import GraphKernel
from starcert.classifiers.kernels.subgraphs import Graphlets, NeighbourhoodPairs, ShortestPath

__all__ = ["GraphKernel", "Graphlets", "NeighbourhoodPairs", "ShortestPath", "VertexHistogram",
           "WeisfeilerLehman"]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
