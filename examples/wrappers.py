"""Two wrappers around any module on `edge_index`: a filter of edges, and a blind head with a bounded correction.

A base classifier may look at anything in the noisy copy, so a module in a wrapper is one as well. Here both are put
around small networks, which learn to tell rings from cliques under noise. Run it with `python examples/wrappers.py`.
"""

import networkx as nx
import torch

import starcert as sc


class Filtered(torch.nn.Module):
    """Shows a module the edges whose ends both have at most `limit` edges in the copy.

    It looks at the copy, so it makes no pair invisible: only a filter of fixed data does.
    """

    def __init__(self, module: torch.nn.Module, limit: int) -> None:
        super().__init__()
        self.module, self.limit = module, limit

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        """What the module gives for the edges that are let through."""
        few = torch.bincount(edge_index[1], minlength=len(x)) <= self.limit
        return self.module(x, edge_index[:, few[edge_index].all(dim=0)], batch)


class BlindHead(torch.nn.Module):
    """The logits of a module that sees no edge, each moved by at most `bound` by one that does.

    Where the blind module leads by more than twice the bound, no attack on edges changes the answer.
    """

    def __init__(self, module: torch.nn.Module, blind: torch.nn.Module, bound: float) -> None:
        super().__init__()
        self.module, self.blind, self.bound = module, blind, bound

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
        """The blind logits and their correction."""
        return self.blind(x, edge_index[:, :0], batch) + self.bound * self.module(x, edge_index, batch).tanh()


def main() -> None:
    """Trains the two around each other on the worst of three noisy copies, and certifies."""
    graphs = [sc.Graph.from_networkx(make(n)) for n in (6, 7, 8, 9) for make in (nx.cycle_graph, nx.complete_graph)]
    labels = [0, 1] * 4
    torch.manual_seed(0)
    head = BlindHead(Filtered(sc.models.GIN(1, 2, hidden=16), limit=7), blind=sc.models.GIN(1, 2, hidden=16), bound=2)
    base = sc.classifiers.from_pyg(head, n_classes=2, features=sc.classifiers.features.constant())
    smoothed = sc.SmoothedClassifier(base, sc.Noise(links=sc.Flip(delete=0.2, add=0.1)))
    how = {"epochs": 60, "learning_rate": 0.01, "copies": 3, "worst": 0.5, "progress": False}
    training = sc.models.fit_with_noise(smoothed, graphs, labels, validation=(graphs, labels), **how)
    print(f"{training.validation_accuracy:.0%} of noisy copies are right.")
    print(smoothed.certify(graphs, samples=2_000, seed=1, voting=sc.Voting(progress=False))[0])


if __name__ == "__main__":
    main()
