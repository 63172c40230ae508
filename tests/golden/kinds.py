"""Objects of every kind: the copies that classifiers see of them, their votes, certificates and verdicts."""

import networkx as nx
import numpy as np
from asking import how_to

import starcert as sc
from golden.pinning import FINGERPRINTS, copies, plain, votes_of, weighed

EVIDENCE = {"samples": 1_500, "seed": 3, "evidence": True, "max_flips": 2, "own_samples": 4_000}


def asked(answers, objects, noise, regions=None, **changes) -> dict[str, object]:
    """Certificates with evidence, of a function from a batch of copies to truth values."""
    base = sc.classifiers.from_callable(answers, on="batch", n_classes=2, description="counts")
    how = EVIDENCE | changes
    return weighed(sc.SmoothedClassifier(base, noise, regions).certify(objects, **how_to(**how)), how["max_flips"])


def fingerprints_of_edges(batch) -> np.ndarray:
    """Of each copy one number for its edges, their directions and types; of graphs too large for their adjacency."""
    starts, u, v, types = batch.edges()
    numbers = (u * batch.frame.n_nodes + v) ** 2 % 65_521 * (1 if types is None else types.astype(np.int64))
    return np.add.reduceat(np.append(numbers, 0), starts[:-1]) * (np.diff(starts) > 0) % 65_521


def typed() -> dict[str, object]:
    """Edges of two types under each law for them, and what a classifier sees of large typed graphs."""
    ends = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    kinds = [["s", "d", "s", "d"], ["d", "d", "s", "d", "d"]]
    graphs = [sc.Graph(5, ends[: len(each)], edge_types=each, type_names=("s", "d")) for each in kinds]
    large = nx.gnm_random_graph(300, 900, seed=1)
    names = ["sdt"[number % 3] for number in range(900)]
    large = sc.Graph(300, list(large.edges), edge_types=names, type_names=("s", "d", "t"))

    def heavy(batch):
        types = batch.adjacency()
        return (types == 2).sum(axis=(1, 2)) + 4 * (types[:, 0, 1] == 1) > 8

    found: dict[str, object] = {"keys": [each.key for each in (*graphs, large)]}
    for name, law in {
        "edges": sc.Edges(delete=0.2, add=0.05, change=0.1),
        "categorical": sc.Categorical(0.15),
        "presence": sc.Flip(delete=0.2, add=0.1, added="graph"),
    }.items():
        noise = sc.Noise(bonds=law)
        views = [lambda batch: batch.adjacency(), lambda batch: batch.values, lambda batch: batch.degrees()]
        found[name] = {"copies": copies(graphs, noise, None, *views), "evidence": asked(heavy, graphs, noise)}
    sparse = sc.Noise(bonds=sc.Edges(delete=0.01, add=2e-4, change=0.02))
    dense = sc.Noise(bonds=sc.Edges(delete=0.3, add=0.1, change=0.2))
    found["sparse"] = copies([large], sparse, None, fingerprints_of_edges)
    found["dense"] = copies([large], dense, None, fingerprints_of_edges, samples=128)
    return found


def directed() -> dict[str, object]:
    """Arcs in two regions, and what a classifier sees of a large directed graph."""
    down = [(0, each) for each in range(1, 6)]
    team = [sc.Graph(6, [*down[:4], (5, 0), (1, 2)], directed=True), sc.Graph(6, [*down, (2, 1)], directed=True)]
    regions = sc.Partition.from_arcs({"down": down, "up": [(v, u) for u, v in down]})
    noise = sc.Noise(down=0.1, up=sc.Flip(delete=0.1, add=0.05))
    views = [
        lambda batch: batch.adjacency(),
        lambda batch: batch.in_degrees(),
        lambda batch: batch.out_degrees(),
        lambda batch: batch.values,
    ]
    large = sc.Graph.from_networkx(nx.gnm_random_graph(200, 800, seed=2, directed=True))
    huge = sc.Graph.from_networkx(nx.cycle_graph(6_000, create_using=nx.DiGraph))

    def leads(batch):
        return batch.out_degrees()[:, 0] > batch.in_degrees()[:, 0] + 1

    return {
        "keys": [each.key for each in (*team, large)],
        "copies": copies(team, noise, regions, *views),
        "everywhere": copies(team, sc.Noise(all=0.2), None, *views),
        "evidence": asked(leads, team, noise, regions),
        "sparse": copies([large], sc.Noise(all=sc.Flip(delete=0.01, add=2e-4)), None, fingerprints_of_edges),
        "dense": copies([large], sc.Noise(all=0.2), None, fingerprints_of_edges, samples=128),
        "huge": copies([huge], sc.Noise(all=2e-7), None, fingerprints_of_edges, samples=128),
    }


def features() -> dict[str, object]:
    """Bits and categories of nodes beside edges: by layer, by node and by column."""
    ring = nx.cycle_graph(5).edges
    bits = sc.Graph(5, ring, node_data={"x": np.tile([1, 1, 0], (5, 1))}).with_bits("x")
    rows = np.eye(3, dtype=np.int64)[[0, 0, 1, 2, 0]]
    categories = sc.Graph(5, ring, node_data={"x": rows}).with_categories("x")
    noise = sc.Noise(links=sc.Flip(delete=0.1, add=0.05), old=0.05, new=0.3)
    by_node = sc.Partition.everything("links") | sc.Partition.from_nodes("x", {"old": range(3), "new": range(3, 5)})
    by_column = sc.Partition.from_columns("x", {"badges": [0, 1], "photo": [2]})
    elements = sc.Noise(links=0.05, elements=sc.Categorical(0.1))
    layers = {"links": "pairs", "elements": "x"}
    views = [lambda batch: batch.adjacency(), lambda batch: batch.node_values("x"), lambda batch: batch.values]

    def trusted(batch):
        both = batch.node_values("x")[..., :2].all(axis=2)
        return (batch.adjacency() * both[:, :, None] * both[:, None, :]).sum(axis=(1, 2)) >= 2 * 2

    def first(batch):
        is_first = batch.node_values("x")[..., 0] == 0
        return is_first.sum(axis=1) + batch.degrees()[:, 0] > 3

    badges = sc.Noise(badges=0.1, photo=0.4)
    return {
        "keys": [bits.key, categories.key],
        "bits": copies([bits], noise, by_node, *views),
        "columns": copies([bits], badges, by_column, *views),
        "categories": copies([categories], elements, layers, *views),
        "evidence on bits": asked(trusted, [bits], noise, by_node),
        "evidence on categories": asked(first, [categories], elements, layers),
    }


def modules() -> dict[str, object]:
    """What a PyG module receives: whole numbers in floats, so that sums are exact in any order."""
    import torch  # noqa: PLC0415

    class Sums(torch.nn.Module):
        def forward(self, x, edge_index, edge_attr, batch):
            columns = torch.arange(1, 4, dtype=x.dtype)
            messages = (edge_attr @ columns[: edge_attr.shape[1]]) * (x[edge_index[0]] @ columns)
            by_node = torch.zeros(len(x), dtype=x.dtype).index_add(0, edge_index[1], messages)
            places = torch.arange(len(x)) % 6
            total = torch.zeros(len(x) // 6, dtype=x.dtype).index_add(0, batch, by_node * (places + 1))
            return torch.nn.functional.one_hot(total.long() % FINGERPRINTS, FINGERPRINTS).float()

    base = sc.classifiers.from_pyg(Sums(), n_classes=FINGERPRINTS, description="sums")
    rows = np.eye(3, dtype=np.float32)[[0, 1, 2, 0, 1, 2]]
    ends = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]
    noise = sc.Noise(bonds=sc.Edges(delete=0.2, add=0.1, change=0.1), atoms=sc.Categorical(0.2))
    found = {}
    for name, is_directed in (("undirected", False), ("directed", True)):
        graph = sc.Graph(6, ends, directed=is_directed, edge_types=list("sdsdsd"), node_data={"x": rows})
        layers = {"bonds": "arcs" if is_directed else "pairs", "atoms": "x"}
        smoothed = sc.SmoothedClassifier(base, noise, layers)
        found[name] = votes_of(smoothed.vote([graph.with_categories("x")], samples=512, seed=5))
    return found


class _Degrees(sc.classifiers.Classifier):
    """Whether each of the first three nodes has more than one neighbour."""

    n_classes, description = 2, "degrees"

    def n_targets(self, frame):
        return 3

    def classify(self, graphs):
        return (graphs.degrees()[:, :3] > 1).astype(int)


def _speaks(graph):
    """The class that a node and its neighbours mostly have."""
    return {node: int(2 * sum(each % 2 for each in (node, *graph[node])) > len(graph[node]) + 1) for node in graph}


def nodes() -> dict[str, object]:
    """Several targets in one graph: bounds for each and for all together, and evidence."""
    graph = sc.Graph(6, [(0, 1), (0, 2), (0, 3), (0, 4), (2, 5)])
    smoothed = sc.SmoothedClassifier(_Degrees(), sc.Noise(all=sc.Flip(delete=0.2, add=0.1)))
    together = smoothed.certify([graph], samples=1_000, seed=4, family="all")
    base = sc.classifiers.from_node_function(_speaks, n_classes=2, nodes="asked")
    asked = np.isin(np.arange(10), [0, 3, 7])
    club = sc.Graph(10, list(nx.gnm_random_graph(10, 18, seed=3).edges), node_data={"asked": asked})
    named = sc.SmoothedClassifier(base, sc.Noise(ties=sc.Flip(delete=0.2, add=0.02)))
    chosen = named.certify([club], samples=600, seed=4)
    return {
        "together": {"votes": votes_of(together.votes), "certificates": plain(together)},
        "chosen": {"votes": votes_of(chosen.votes), "certificates": plain(chosen), "nodes": [o.node for o in chosen]},
        "evidence": weighed(smoothed.certify([graph], **how_to(**EVIDENCE)), 2),
    }


def vectors() -> dict[str, object]:
    """Rows of bits and of categories, and noisy rows to train on."""
    rows = sc.Bits.rows([[0, 1, 1, 0, 1, 1, 0, 1], [1, 1, 1, 1, 1, 1, 0, 0]], names="abcdefgh")
    words = [sc.Categories("GCTATAAAGC", values="ACGT"), sc.Categories("GCTATCCCGC", values="ACGT")]
    flips, columns = sc.Noise(left=0.1, right=sc.Flip(delete=0.2, add=0.05)), {"left": "abcd", "right": "efg"}
    columns = {region: list(names) for region, names in columns.items()}
    letters = sc.Noise(box=sc.Categorical(0.1), flank=sc.Categorical(0.4))
    places = {"box": range(2, 8), "flank": [0, 1, 8]}
    wide = [sc.Categories(np.arange(2_000) % 7, values=7)]
    views = [lambda batch: batch.vectors(), lambda batch: batch.values]

    def many(batch):
        return batch.vectors().sum(axis=1) > 4

    def box(batch):
        return (batch.vectors()[:, 2:8] == [3, 0, 3, 0, 0, 0]).sum(axis=1) >= 4

    return {
        "keys": [each.key for each in (*rows, *words, *wide)],
        "bits": copies(rows, flips, columns, *views),
        "categories": copies(words, letters, places, *views),
        "sparse": copies(wide, sc.Noise(all=sc.Categorical(0.002)), None, *views),
        "evidence on bits": asked(many, rows, flips, columns, max_flips=3),
        "evidence on categories": asked(box, words, letters, places),
        "noisy bits": sc.transforms.noisy_rows(rows, flips, columns, seed=1, copies=20).tolist(),
        "noisy categories": sc.transforms.noisy_rows(words, letters, places, seed=1, copies=20).tolist(),
    }


PARTS = {
    "typed": typed,
    "directed": directed,
    "features": features,
    "modules": modules,
    "nodes": nodes,
    "vectors": vectors,
}
