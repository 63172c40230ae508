import sys

import pytest

import starcert as sc
from starcert.datasets import Dataset
from starcert.runs.inputs import describe_rule, problem_of, rule_of
from starcert.runs.user_code import Reference
from starcert.system.errors import StarcertError

NOISE = sc.Noise(low=0.1, high=0.2)


@pytest.fixture(autouse=True)
def _same_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))


def make_data():
    graphs = (sc.Graph(4, [(0, 1)]), sc.Graph(5, [(1, 2), (3, 4)]))
    return Dataset(graphs, names=("four", "five"))


def user_rule(folder, text):
    (folder / "code.py").write_text("import starcert as sc\n" + text)
    return rule_of(Reference(folder / "code.py", "f"))


HALVES = "def f(graph):\n    return sc.Partition.from_node_sets({'low': graph.nodes[:2], 'high': graph.nodes[2:]})\n"


def test_a_function_of_the_users_that_reads_no_edges_is_not_anchored(tmp_path):
    rule = user_rule(tmp_path, HALVES)
    problem = problem_of(rule, NOISE, make_data())
    assert [each.sizes for each in problem.sites] == [(1, 1), (1, 3)]
    assert problem.anchored == ("", "")
    assert describe_rule(rule) == "code.py:f"
    # As a rule of a smoothed classifier it gives the same regions, and they are still not anchored.
    base = sc.classifiers.from_callable(lambda graph: 0)
    again = sc.SmoothedClassifier(base, NOISE, rule).problem(make_data().graphs)
    assert [each.key for each in again.sites] == [each.key for each in problem.sites]


def test_one_that_reads_edges_is_anchored_and_stays_so(tmp_path):
    text = (
        "def f(graph):\n    ends = {graph.nodes[i] for i in graph.edges.ravel().tolist()}\n"
        "    return sc.Partition.from_node_sets({'low': ends, 'high': set(graph.nodes) - ends})\n"
    )
    rule = user_rule(tmp_path, text)
    problem = problem_of(rule, NOISE, make_data())
    assert all(problem.anchored)
    base = sc.classifiers.from_callable(lambda graph: 0)
    again = sc.SmoothedClassifier(base, NOISE, rule).problem(make_data().graphs)
    assert again.anchored == problem.anchored
    # The author's word counts.
    assert problem_of(user_rule(tmp_path, text + "f.anchored = False\n"), NOISE, make_data()).anchored == ("", "")


def test_a_rule_object_of_the_users_without_a_reason_is_no_such_word(tmp_path):
    text = (
        "def divide(graph):\n    ends = {graph.nodes[i] for i in graph.edges.ravel().tolist()}\n"
        "    return sc.Partition.from_node_sets({'low': ends, 'high': set(graph.nodes) - ends})\n"
        "f = sc.regions.RegionRule('own', {}, ('low', 'high'), divide, 'Why not.')\n"
    )
    assert all(problem_of(user_rule(tmp_path, text), NOISE, make_data()).anchored)


def test_a_rule_is_asked_once_for_every_graph(tmp_path):
    rule = user_rule(tmp_path, "calls = []\n" + HALVES.replace("    return", "    calls.append(1)\n    return"))
    problem_of(rule, NOISE, make_data())
    assert len(rule.function.__globals__["calls"]) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(graph):\n    return graph.nodes[9]", "graph 'four' cannot be used: "),
        ("def f(graph):\n    return graph.nodes[9]", "code.py, line 3: IndexError: tuple index out of range"),
        ("def f(graph):\n    return 7", "graph 'four' cannot be used: 'regions' must return a Partition"),
        (
            "def f(graph): return sc.Partition.everything('low')",
            "'noise' must have a flip law for every region, low,",
        ),
        ("f = sc.Partition.from_node_sets({'low': range(4), 'high': [77]})", "graph 'four' cannot be used"),
        ("f = 7", "'regions' must name a function from a graph to its Partition"),
    ],
)
def test_regions_that_cannot_be_used_name_the_graph_and_the_line(tmp_path, text, words):
    with pytest.raises(StarcertError) as caught:
        problem_of(user_rule(tmp_path, text), NOISE, make_data())
    assert words in str(caught.value)


def test_a_builder_by_name():
    rule = rule_of("node_sets:low=0-1,high=*")
    sites = problem_of(rule, NOISE, make_data()).sites
    assert [each.sizes for each in sites] == [(1, 1), (1, 3)]
    assert describe_rule(rule) == "node_sets:low=0-1,high=*"
    with pytest.raises(StarcertError, match="Did you mean communities"):
        rule_of("comunities")


def test_without_regions_every_pair_is_in_the_one():
    rule = rule_of(None)
    sites = problem_of(rule, sc.Noise(all=0.1), make_data()).sites
    assert [each.sizes for each in sites] == [(6,), (10,)]
    assert describe_rule(rule) == "every site"
