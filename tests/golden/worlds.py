"""The oldest parts of the golden set: graphs, votes, certificates and files since version 0.1.0."""

import tempfile
from pathlib import Path

import grakel
import networkx as nx
import numpy as np

import starcert as sc
from golden.pinning import claims_in, plain, votes_of

MUTAG = Path(grakel.__file__).parent / "tests" / "data" / "MUTAG"


def file_of(certificates) -> dict[str, object]:
    """The numbers in the file of these certificates."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "certificates.json")
        sc.archive.write(path, sc.archive.Archive.from_result(certificates))
        return claims_in(path)


def motif() -> dict[str, object]:
    """Twenty graphs of the paper's synthetic data at two noises."""
    data = sc.datasets.motif(seed=0)
    base = sc.classifiers.from_sklearn(sc.models.vertex_histogram_svm().fit(data.train.graphs, data.train.labels))
    found: dict[str, object] = {"keys": [graph.key for graph in data.test.graphs[:20]]}
    for noise in (sc.Noise(motif=0.02, random=0.45), sc.Noise(motif=0.1, random=0.1)):
        smoothed = sc.SmoothedClassifier(base, noise, data.partition)
        result = smoothed.certify(data.test.graphs[:20], samples=5_000, seed=1)
        found[repr(noise)] = {"votes": votes_of(result.votes), "certificates": plain(result), "file": file_of(result)}
    return found


def network(n_features: int):
    """A network whose weights nobody trained: they come from numpy's generator, which does not change."""
    import torch  # noqa: PLC0415

    model = sc.models.GCN(n_features, 2, hidden=16)
    words = np.random.Generator(np.random.PCG64(7))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.from_numpy(words.standard_normal(tuple(parameter.shape))))
        model.linear.bias.add_(torch.tensor([0.0, 4.3]))  # so that the noise decides
    return model


def mutag() -> dict[str, object]:
    """Twenty molecules with a fixed network, on edge lists and on dense adjacency."""
    graphs = sc.datasets.tu("MUTAG", root=MUTAG.parent).graphs[:20]
    model = network(graphs[0].node_data["x"].shape[1])
    noise = sc.Noise(bonds=sc.Flip(delete=0.04, add=0.2))
    found: dict[str, object] = {"keys": [graph.key for graph in graphs]}
    for name, base in (
        ("pyg", sc.classifiers.from_pyg(model, n_classes=2)),
        ("dense", sc.classifiers.from_dense(model.dense(), n_classes=2)),
    ):
        result = sc.SmoothedClassifier(base, noise).certify(graphs, samples=2_000, seed=3)
        found[name] = {"votes": votes_of(result.votes), "certificates": plain(result)}
    rule = sc.regions.communities()
    anchored = sc.SmoothedClassifier(base, sc.Noise(inside=0.1, between=0.02), rule)
    found["anchored"] = plain(anchored.certify(graphs[:5], samples=2_000, seed=3))
    return found


def continued() -> dict[str, object]:
    """A store that is continued before anyone looks, and a certificate; sparse and dense noise on a larger graph."""
    graphs = [sc.Graph.from_networkx(nx.gnp_random_graph(12, 0.4, seed=seed)) for seed in range(3)]
    regions = sc.Partition.from_node_sets({"core": range(6), "rest": range(6, 12)})
    base = sc.classifiers.from_callable(
        lambda batch: (batch.degrees()[:, :6].sum(axis=1) > 20).astype(int), on="batch", description="dense core"
    )
    smoothed = sc.SmoothedClassifier(base, sc.Noise(core=0.1, rest=0.4), regions)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "votes.db")
        first = smoothed.vote(graphs, samples=2_500, seed=5, voting=sc.Voting(store=store))
        second = smoothed.certify(graphs, samples=6_000, seed=5, voting=sc.Voting(store=store))
    large = [sc.Graph.from_networkx(nx.gnm_random_graph(300, 900, seed=0))]

    def more_than(edges: int):
        return sc.classifiers.from_callable(
            lambda batch: (batch.degrees().sum(axis=1) > 2 * edges).astype(int), on="batch", description="many edges"
        )

    sparse = sc.SmoothedClassifier(more_than(904), sc.Noise(all=sc.Flip(delete=1e-2, add=2e-4)))
    dense = sc.SmoothedClassifier(more_than(4090), sc.Noise(all=sc.Flip(delete=0.4, add=0.08)))
    return {
        "first": votes_of(first),
        "second": votes_of(second.votes),
        "certificates": plain(second),
        "sparse": votes_of(sparse.vote(large, samples=600, seed=2)),
        "dense": votes_of(dense.vote(large, samples=600, seed=2)),
    }


def example() -> dict[str, object]:
    """What `starcert init` writes, certified by `starcert certify`: the votes and what is known of every graph."""
    from starcert.runs.certification import certify_run  # noqa: PLC0415
    from starcert.runs.example import write_example  # noqa: PLC0415
    from starcert.runs.run_file import read_run_file  # noqa: PLC0415
    from starcert.runs.settings import run_settings  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        run = write_example(Path(folder), "function")[0]
        values = dict(read_run_file(run).values) | {"samples": 1_000, "out": Path(folder, "out"), "limit": 6}
        certify_run(run_settings(values))
        return claims_in(Path(folder, "out", "certificates.json"))


def molecules() -> dict[str, str]:
    """The keys of graphs with data of many kinds: random streams hang on them."""
    caffeine = sc.Graph.from_smiles("CN1C=NC2=C1C(=O)N(C(=O)N2C)C", elements=("C", "N", "O"))
    labelled = sc.datasets.tu("MUTAG", root=MUTAG.parent, edge_labels=True).graphs[0]
    named = sc.Graph(3, [(0, 1)], nodes=["a", "b", "c"], node_data={"kind": ["x", "y", "x"], "size": np.arange(3)})
    return {"caffeine": caffeine.key, "labelled": labelled.key, "named": named.key}


PARTS = {
    "motif": motif,
    "mutag": mutag,
    "continued": continued,
    "example": example,
    "molecules": molecules,
}
