"""Nodes in the benchmark: claims hold under every attack on a tiny graph, choices, and a run with its page."""

import json
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import starcert as sc

pytest.importorskip("torch_geometric")
pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

from starcert.baselines.blind_model import weights_by_class
from starcert.benchmark.data import Nodes, nodes_of
from starcert.benchmark.methods import METHODS, Hashed, OverLinks, Plain, Smoothing, VotesOfLinks
from starcert.benchmark.networks import MEAN, BlindRecord, NodeNetworks, pairs_noise
from starcert.benchmark.outcomes import KINDS, Outcome, Result, Timed
from starcert.benchmark.run import methods_of, run_benchmark
from starcert.benchmark.settings import Benchmark
from starcert.classifiers import from_node_function
from starcert.models import LinkPropagation, LinkVotes

N = 6
PAIRS = list(combinations(range(N), 2))


def small(seed: int) -> Nodes:
    """Six nodes with links, words and classes at random."""
    rng = np.random.default_rng(seed)
    graph = sc.Graph(N, [pair for pair in PAIRS if rng.random() < 0.4], node_data={"x": rng.integers(0, 2, (N, 3))})
    return Nodes(sc.datasets.Dataset(graph, np.arange(N) % 3), np.arange(N))


def attacked(graph: sc.Graph, kind: str, size: int) -> list[sc.Graph]:
    """All graphs that at most `size` changes make; a rewired edge keeps one end."""
    edges = frozenset(map(tuple, graph.edges.tolist()))
    reached = {edges}
    for _ in range(size):
        for now in list(reached):
            for pair in PAIRS:
                if kind == "rewire":
                    moved = [other for other in PAIRS if pair in now and other not in now and {*other} & {*pair}]
                    reached |= {now - {pair} | {other} for other in moved}
                elif (pair in edges and kind != "additions") or (pair not in edges and kind != "deletions"):
                    reached.add(now ^ {pair})
    return [sc.Graph(N, sorted(each), node_data=dict(graph.node_data)) for each in reached]


def changes(answers, graph: sc.Graph, kind: str, size: int) -> np.ndarray:
    """Which nodes get another answer under some attack."""
    clean = answers(graph)
    return np.any([answers(each) != clean for each in attacked(graph, kind, size)], axis=0)


def wrong_claims(answers, result: Result, graph: sc.Graph, sizes: range) -> int:
    """How many nodes are called certified and can be changed, or broken and cannot."""
    kind, wrong = result.threat.split(":")[0], 0
    for size in sizes:
        can = changes(answers, graph, kind, size)
        states = [one.state(size) for one in result.outcomes]
        wrong += sum(state == ("certified" if each else "broken") for state, each in zip(states, can, strict=True))
    return wrong


def votes_of(seed: int) -> LinkVotes:
    rng = np.random.default_rng(seed)
    return LinkVotes(rng.integers(-4, 4, (N, 3)), rng.integers(-2, 3, (N, 3)))


def propagation_of(seed: int) -> LinkPropagation:
    rng = np.random.default_rng(seed)
    return LinkPropagation(rng.normal(0, 0.3, (N, 3)), rng.random((N, 3)), keep=0.5)


def most_linked(graph) -> list[int]:
    """A class for each node that depends on the links of its neighbours."""
    return [sum(graph.degree(each) for each in graph[node]) % 3 if len(graph[node]) else node % 3 for node in graph]


def answered(outcomes) -> list[int]:
    return [one.answer for one in outcomes]


@pytest.mark.parametrize(
    ("made", "model_of", "kind"),
    [(VotesOfLinks, votes_of, kind) for kind in KINDS]
    + [(OverLinks, propagation_of, kind) for kind in sorted(OverLinks.kinds)],
)
def test_models_of_links_hold_under_every_attack(made, model_of, kind):
    states, method = [], made(NodeNetworks(Benchmark()))
    most = 1 if kind == "rewire" else method.farthest or 3
    for seed in range(8):
        nodes, model = small(seed), model_of(seed)
        found = method.judge(model, nodes, f"{kind}:{1 if kind == 'rewire' else 3}")
        assert found.asked == method.farthest
        assert wrong_claims(model.answers, found, nodes.graph, range(1, most + 1)) == 0
        states += [one.state(1) for one in found.outcomes]
    assert set(states) == {"certified", "broken" if made is VotesOfLinks else "open"}


def test_mixed_changes_are_more_than_those_of_one_sort():
    """Were flips taken for additions or deletions alone, a false claim would be made."""
    wrong = 0
    for seed in range(20):
        nodes, model = small(seed), votes_of(seed)
        apart = model.survives(nodes.graph, additions=2) & model.survives(nodes.graph, deletions=2)
        wrong += int((apart & changes(model.answers, nodes.graph, "flips", 2)).sum())
    assert wrong > 0


@pytest.mark.parametrize("kind", KINDS)
def test_hashed_voters_hold_under_every_attack(kind):
    networks, certified = NodeNetworks(Benchmark()), {}
    base = from_node_function(most_linked, n_classes=3)
    for rule in ("counting", "exact"):
        for seed in range(2):
            nodes, voting = small(seed), sc.HashedVotes(base, 5, seed)
            found = Hashed(networks, rule).judge(voting, nodes, f"{kind}:2")
            assert wrong_claims(lambda g: voting.predict([g]), found, nodes.graph, range(1, 2)) == 0  # noqa: B023
            certified.setdefault(rule, []).extend(one.certified for one in found.outcomes)
    assert all(a >= b for a, b in zip(certified["exact"], certified["counting"], strict=True))
    assert sum(certified["exact"]) > sum(certified["counting"]) or kind != "deletions"


def test_a_plain_network_is_tried_where_attacks_are_few():
    nodes = small(1)
    base = from_node_function(most_linked, n_classes=3)
    smoothed = sc.SmoothedClassifier(base, pairs_noise(0.1, 0.1))
    links = nodes.graph.n_edges
    method = Plain(NodeNetworks(Benchmark(max_attacks=links)))
    found = method.judge(smoothed, nodes, "deletions:3")
    assert found.asked == 1

    def answers(graph: sc.Graph) -> np.ndarray:
        return np.array(most_linked(graph.to_networkx()))

    assert wrong_claims(answers, found, nodes.graph, range(1, 2)) == 0
    assert {one.state(1) for one in found.outcomes} == {"certified", "broken"}
    none = method.judge(smoothed, nodes, "flips:3")
    assert (none.asked, {one.certified for one in none.outcomes}) == (0, {0})
    assert answered(none.outcomes) == answered(found.outcomes)


def test_noise_on_links_has_the_axes_that_threats_ask_about():
    assert pairs_noise(0.4, 0.0005).axes == ("pairs.delete", "pairs.add")
    nodes, networks = small(0), NodeNetworks(Benchmark(samples=300, choosing_samples=100))
    base = from_node_function(lambda graph: [int(len(graph[node]) > 0) for node in graph], n_classes=3)
    smoothed = sc.SmoothedClassifier(base, pairs_noise(0.6, 0.02), alpha=0.01)
    method = Smoothing(networks)
    found = {kind: method.judge(smoothed, nodes, f"{kind}:4") for kind in KINDS}
    whole = found["flips"].certificates
    for node in range(N):
        radii = {"deletions": lambda n: (n, 0), "additions": lambda n: (0, n), "rewire": lambda n: (n, n)}
        for kind, radius in radii.items():
            one = found[kind].outcomes[node]
            wanted = [whole[node].certified(radius(n)) and not whole[node].abstained for n in (1, 2, 3, 4)]
            assert [one.withstands(n) for n in (1, 2, 3, 4)] == wanted
        mixed = [all(whole[node].certified((n - added, added)) for added in range(n + 1)) for n in (1, 2, 3, 4)]
        assert [found["flips"].outcomes[node].withstands(n) for n in (1, 2, 3, 4)] == mixed
    sizes = {kind: sum(one.certified for one in each.outcomes) for kind, each in found.items()}
    assert sizes["deletions"] > sizes["additions"] >= sizes["flips"]


def test_votes_that_choose_are_not_those_that_certify():
    nodes, networks = small(0), NodeNetworks(Benchmark(samples=100, choosing_samples=100))
    base = from_node_function(most_linked, n_classes=3)
    smoothed = sc.SmoothedClassifier(base, pairs_noise(0.5, 0.2), alpha=0.01)
    for choosing in (False, True):
        Smoothing(networks).judge(smoothed, nodes, "flips:1", choosing=choosing)
    first, second = networks.made.values()
    assert (first.value.votes.counts != second.value.votes.counts).any()


def test_evidence_decides_single_deleted_links_and_says_nothing_about_others():
    rng = np.random.default_rng(0)
    graph = sc.Graph(20, [pair for pair in combinations(range(20), 2) if rng.random() < 0.25])
    nodes = Nodes(sc.datasets.Dataset(graph, np.arange(20) % 2), np.arange(20))
    base = from_node_function(lambda seen: [int(len(seen[node]) > 3) for node in seen], n_classes=2)
    smoothed = sc.SmoothedClassifier(base, pairs_noise(0.15, 0.01), alpha=0.01)
    networks = NodeNetworks(Benchmark(samples=800, own_samples=800))
    by_p, found = (Smoothing(networks, evidence=asked).judge(smoothed, nodes, "deletions:3") for asked in (False, True))
    sizes = [[one.certified for one in each.outcomes] for each in (by_p, found)]
    assert sum(size > 0 for size in sizes[1]) > sum(size > 0 for size in sizes[0])
    edges = [tuple(each) for each in graph.edges.tolist()]
    for node in np.flatnonzero(np.array(sizes[1]) > sizes[0]).tolist():
        fewer = [each for each in edges if node in each][1:]  # the answer rests on the number of its own links alone
        without = sc.Graph(20, [each for each in edges if node not in each] + fewer)
        votes = smoothed.vote([without], samples=2_000, seed=5, voting=sc.Voting(progress=False)).counts[node]
        assert votes.argmax() == found.outcomes[node].answer
    assert found.asked in (1, 2)  # as far as any node is certified by counts
    assert [Smoothing(networks, evidence=True).speaks_of(threat) for threat in ("deletions:3", "flips:3")] == [
        True,
        False,
    ]


def test_validation_nodes_count_as_often_as_their_class_is_answered():
    labels = np.array([0, 0, 1, 1, 0, 0, 0, 1])
    data = sc.datasets.Dataset(sc.Graph(8, []), labels)
    held = Nodes(data, np.arange(4))
    weights = weights_by_class(held.labels, np.array([0, 0, 0, 1]), 2)
    assert weights_by_class(held.labels, np.array([2]), 3).tolist() == [0.25] * 4  # of classes that none has
    assert float(weights @ (held.labels == 0)) == pytest.approx(0.75)
    zeros = Result("flips:1", tuple(Outcome(0, 1) for _ in range(4)), None)
    assert zeros.share(held.labels, 1, weights) == pytest.approx(0.75)
    assert zeros.share(held.labels, 2) == 0
    assert Result("flips:2", zeros.outcomes, None, asked=1).share(held.labels, 2) == 0.5
    assert Result("flips:2", zeros.outcomes, None, asked=0).share(held.labels, 2) == 0.5


def test_propagation_is_chosen_for_what_survives_on_validation_nodes(monkeypatch):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 20)
    links = [(u, v) for v in range(40) for u in range(v) if rng.random() < (0.3 if labels[u] == labels[v] else 0.02)]
    graph = sc.Graph(40, links, node_data={"x": rng.integers(0, 2, (40, 6))})
    logits = np.where(labels[:, None] == [0, 1], 1.0, 0.0) + rng.normal(0, 1.5, (40, 2))
    data = sc.datasets.Dataset(graph, labels)
    train, held = Nodes(data, np.arange(0, 40, 5)), Nodes(data, np.arange(1, 40, 2))
    networks = NodeNetworks(Benchmark())
    known = BlindRecord({}, "", None, None, logits)
    monkeypatch.setattr(networks, "blind", lambda *_: Timed(known, 0.0))
    monkeypatch.setattr(networks, "blind_scores", lambda *_: Timed({MEAN: logits}, 0.0))
    method, shares = OverLinks(networks), []
    for tries in ((0.1,), (5.0,), (5.0, 0.1)):
        monkeypatch.setattr(method, "settings", tries, raising=False)
        fitted = method.fit(train, held, "deletions:1")
        shares.append(max(fitted.tries.values()))
    assert (fitted.chosen, shares[2]) == ("own 0.1", max(shares))
    assert shares[0] > shares[1]


NETWORK = """
from starcert.models import NodeGCN

def wide(columns, n_classes, *, hidden, layers):
    return NodeGCN(columns, n_classes, hidden=2 * hidden)
"""


def test_a_network_in_a_file_classifies_nodes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text(NETWORK)
    data = sc.datasets.Dataset(small(0).graph, np.arange(N) % 3, label_names=("a", "b", "c"))
    nodes, networks = Nodes(data, np.arange(N)), NodeNetworks(Benchmark(hidden=4, max_epochs=2), "nets.py:wide")
    assert (networks.called, [*networks.shapes]) == ("wide", ["hidden 16", "hidden 32", "hidden 64"])
    for shape, hidden in (("", 8), ("hidden 16", 32)):
        smoothed = networks.network(nodes, nodes, (0.5, 0.1), shape=shape).value
        assert hidden in {size for weight in smoothed.classifier.model.parameters() for size in weight.shape}


def write_graph(folder, n: int = 45) -> None:
    """A file as that of Cora-ML: links and words are mostly of one class."""
    rng, labels = np.random.default_rng(0), np.arange(n) % 3
    alike = labels[:, None] == labels
    links = np.triu(rng.random((n, n)) < np.where(alike, 0.3, 0.02), 1)
    words = rng.random((n, 12)) < np.where(np.arange(12) % 3 == labels[:, None], 0.5, 0.15)
    parts = {}
    for name, matrix in (("adj", csr_matrix(links.astype(float))), ("attr", csr_matrix(words.astype(float)))):
        parts |= {f"{name}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr", "shape")}
    folder.mkdir()
    np.savez(folder / "cora_ml.npz", labels=labels, **parts)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    place = tmp_path_factory.mktemp("nodes")
    write_graph(place / "CORA_ML")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STARCERT_DATA", str(place))
        nodes_of.cache_clear()
        setting = Benchmark(
            data=("Cora-ML",), folds=1, samples=60, choosing_samples=30, own_samples=0, max_attacks=200, max_epochs=4,
            of_a_class=3, nodes=20, threats=("deletions:2", "additions:1"),
        )  # fmt: skip
        lines = run_benchmark(setting, place / "out", progress=False)
    nodes_of.cache_clear()
    return place / "out", lines, setting


def test_every_method_of_nodes_answers_the_same_nodes(done):
    folder, lines, setting = done
    rows = [row for part in (folder / "parts").iterdir() for row in json.loads(part.read_text())]
    names = [
        made.name for group in METHODS if group not in ("regions", "statistics") for made in methods_of(setting, group)
    ]
    assert sorted({row["method"] for row in rows}) == sorted(names)
    assert all((row["numbers"], row["truth"]) == (rows[0]["numbers"], rows[0]["truth"]) for row in rows)
    assert len(rows[0]["numbers"]) == 20
    for row in rows:
        assert len(row["tries"]) == 3 or row["method"] in ("blind", "link votes")
        assert row["chosen"] in row["tries"]
        assert (row["alpha"] is None) == (not row["method"].startswith(("p_A", "evidence")))
        assert row["model"] == ("" if row["method"].startswith(("blind", "link")) else "propagation")
        assert all(broken is None or broken > certified for _, certified, broken in row["outcomes"])
    assert {line.threat for line in lines} == set(setting.threats)


def test_the_page_speaks_of_nodes_and_of_what_was_not_tried(done):
    folder, lines, _ = done
    page, tex = (folder / "index.html").read_text(), (folder / "benchmark.tex").read_text()
    assert page.count("of the 20 test nodes") == page.count("With 20 test nodes") == 2
    assert "20 nodes" in tex
    assert "test graphs" not in page.split("As published")[0]
    (plain,) = (line for line in lines if line.method == "plain" and line.kind == "additions")
    assert (plain.asked, [*plain.texts().values()][3:]) == (0, ["–", "–"])
    (tried,) = (line for line in lines if line.method == "plain" and line.kind == "deletions")
    assert tried.texts()["1"] != "–" == tried.texts()["2"]
