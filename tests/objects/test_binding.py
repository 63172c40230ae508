from itertools import count

import networkx as nx
import pytest
import worlds

import starcert as sc
from starcert.objects.binding import Problem, bind, bind_all
from starcert.system.errors import InvalidParameterError

GRAPHS = worlds.graphs(3)
NOISE = sc.Noise(a=0.1, b=sc.Flip(delete=0.2, add=0.3))


def by_hubs(graph):
    hubs = {node for node, degree in graph.to_networkx().degree if degree > 4}
    return sc.Partition.from_node_sets({"a": hubs, "b": set(graph.nodes) - hubs})


def halves(graph):
    return sc.Partition.from_node_sets({"a": graph.nodes[:5], "b": graph.nodes[5:]})


def test_a_problem_is_what_its_graphs_are_one_by_one():
    problem = bind_all(GRAPHS, NOISE, by_hubs)
    sites = [bind(graph, NOISE, by_hubs) for graph in GRAPHS]
    assert len(problem) == 3
    assert problem.objects == tuple(GRAPHS)
    assert [each.key for each in problem.sites] == [each.key for each in sites]
    assert problem.capacities == tuple(each.capacity(NOISE) for each in sites)
    assert problem.anchored == ("The rule for the regions reads the graph's own edges.",) * 3
    assert repr(problem).startswith("Problem(3 graphs, Noise(")
    with pytest.raises(AttributeError):
        problem.noise = NOISE


def test_another_noise_has_other_axes_on_the_same_sites():
    problem = bind_all(GRAPHS, NOISE, halves)
    other = problem.under(sc.Noise(b=0.2, a=0.1))
    assert all(new is old for new, old in zip(other.sites, problem.sites, strict=True))
    n_edges = GRAPHS[0].to_networkx().subgraph(range(5, 12)).number_of_edges()
    assert problem.capacities[0] == (10, n_edges, 21 - n_edges)
    assert [sum(each) for each in other.capacities] == [sum(each) for each in problem.capacities] == [31] * 3
    assert other.capacities[0] == (21, 10)
    with pytest.raises(InvalidParameterError, match="'regions' must be those of the noise, a, b, c"):
        problem.under(sc.Noise(a=0.1, b=0.2, c=0.3))


def test_a_problem_has_the_regions_of_its_noise():
    with pytest.raises(InvalidParameterError, match=r"'regions' must be those of the noise, c. Got 'a, b'"):
        Problem(sc.Noise(c=0.1), tuple(bind(graph, NOISE, halves) for graph in GRAPHS))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("betwen", "The noise has a law for betwen. Did you mean between? Give every region"),
        ("inside_", "instead. Give every region"),  # close to one that has its law already
        ("other", "instead. Give every region"),
    ],
)
def test_a_region_that_is_misspelt_is_asked_about(name, words):
    partition = sc.Partition.from_node_labels(["inside"] * 2 + ["tail"] * 2, between="between")
    partition = sc.Partition(tuple(part for part in partition.parts if part[0] != "tail"))
    with pytest.raises(InvalidParameterError) as caught:
        bind_all([sc.Graph(4, [(0, 1)])], sc.Noise({"inside": 0.1, name: 0.2}), partition)
    assert words in str(caught.value)


def test_a_rule_that_reads_the_edges_of_one_graph_anchors_them_all():
    def sometimes(graph):
        return by_hubs(graph) if graph.nodes[0] == "v" else halves(graph)

    renamed = sc.Graph.from_networkx(nx.relabel_nodes(nx.cycle_graph(3), dict(enumerate("vwx"))))
    alone = bind_all(GRAPHS, NOISE, sometimes)
    assert alone.anchored == ("",) * 3
    together = bind_all([*GRAPHS, renamed], NOISE, sometimes)
    assert all(together.anchored)
    again = bind_all([*GRAPHS, renamed], NOISE, sometimes)
    assert [each.key for each in again.sites] == [each.key for each in together.sites]
    sometimes.anchored = False
    assert bind_all([*GRAPHS, renamed], NOISE, sometimes).anchored == ("",) * 4


def counting(rule):
    calls = []

    def counted(graph):
        calls.append(graph)
        return rule(graph)

    return counted, calls


@pytest.mark.parametrize("how", ["certify", "predict", "vote", "score"])
def test_a_rule_is_asked_once_for_every_graph(how, tmp_path):
    base = sc.classifiers.from_callable(worlds.dense_core, on="batch")
    rule, calls = counting(halves)
    smoothed = sc.SmoothedClassifier(base, NOISE, rule, samples=150)
    if how == "score":
        smoothed.score(GRAPHS, [0, 1, 0])
    else:
        getattr(smoothed, how)(GRAPHS, samples=150, seed=1, voting=sc.Voting(store=tmp_path / "votes.db"))
    assert len(calls) == len(GRAPHS)
    # One that reads edges sees each graph itself once, after the same graph without any.
    rule, calls = counting(by_hubs)
    sc.SmoothedClassifier(base, NOISE, rule).certify(GRAPHS, samples=150, seed=1)
    assert [graph for graph in calls if type(graph) is sc.Graph] == GRAPHS
    assert len(calls) == 2 * len(GRAPHS)


def test_a_problem_stands_for_its_graphs_and_asks_nothing():
    base = sc.classifiers.from_callable(worlds.dense_core, on="batch")
    rule, calls = counting(halves)
    smoothed = sc.SmoothedClassifier(base, NOISE, rule)
    problem = smoothed.problem(GRAPHS)
    assert len(calls) == 3
    votes = smoothed.vote(problem, samples=300, seed=1)
    certificates = smoothed.certify(problem, samples=300, seed=1)
    smoothed.predict(problem, samples=300, seed=1)
    assert len(calls) == 3
    fresh = smoothed.certify(GRAPHS, samples=300, seed=1)
    assert votes.counts.tolist() == certificates.votes.counts.tolist() == fresh.votes.counts.tolist()
    assert [str(one) for one in certificates] == [str(one) for one in fresh]
    with pytest.raises(InvalidParameterError, match="'graphs' must be a problem with the noise"):
        smoothed.certify(problem.under(sc.Noise(a=0.1, b=0.2)), samples=300, seed=1)


def test_a_rule_that_remembers_keeps_its_mark_from_call_to_call(tmp_path):
    known = {}

    def memoised(graph):
        if graph.nodes not in known:
            known[graph.nodes] = by_hubs(graph)
        return known[graph.nodes]

    base = sc.classifiers.from_callable(worlds.dense_core, on="batch")
    smoothed = sc.SmoothedClassifier(base, NOISE, memoised)
    for _ in range(2):  # the second time from the store, which knows the regions by their mark too
        certificates = smoothed.certify(GRAPHS, samples=150, seed=1, voting=sc.Voting(store=tmp_path / "votes.db"))
        assert all(certificates.anchored)
        assert all("anchored" in str(one) for one in certificates)


def test_votes_and_capacities_are_of_one_partition_also_if_the_rule_changes_its_mind():
    numbers = count()
    partitions = [
        sc.Partition.from_node_sets({"core": range(6), "rest": range(6, 12)}),
        sc.Partition.from_node_sets({"core": range(9), "rest": range(9, 12)}),
    ]

    def fickle(graph):
        return partitions[next(numbers) % 2]

    base = sc.classifiers.from_callable(worlds.dense_core, on="batch")

    def certified(regions):
        (one,) = sc.SmoothedClassifier(base, worlds.NOISE, regions).certify(GRAPHS[:1], samples=2000, seed=3)
        return str(one), one.capacity, one.frontier.radii

    honest = [certified(partition) for partition in partitions]
    assert honest[0] != honest[1]
    assert [certified(fickle) for _ in range(4)] == honest * 2
