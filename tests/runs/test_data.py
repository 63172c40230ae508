from dataclasses import replace

import pytest

from starcert.errors import StarcertError
from starcert.graphs import Graph
from starcert.runs.data import RunData


def make(n=40):
    graphs = tuple(Graph(size + 1, []) for size in range(n))
    return RunData(graphs, tuple(f"g{i}" for i in range(n)), tuple(i % 2 for i in range(n)), ("even", "odd"))


def test_parts_are_disjoint_stratified_and_a_function_of_the_seed():
    data = make()
    parts = {name: data.part(name, 1) for name in ("train", "validation", "test")}
    assert [len(part) for part in parts.values()] == [32, 4, 4]
    assert sorted(name for part in parts.values() for name in part.names) == sorted(data.names)
    assert parts["test"].labels.count(1) == 2
    assert parts["test"].names == data.part("test", 1).names != data.part("test", 2).names
    for part in parts.values():
        assert all(f"g{graph.n_nodes - 1}" == name for graph, name in zip(part.graphs, part.names, strict=True))


def test_the_first_graphs():
    assert make().first(3).names == ("g0", "g1", "g2")
    assert make().first(3).labels == (0, 1, 0)
    assert len(make().first(None)) == len(make().first(99)) == 40


@pytest.mark.parametrize("labels", [None, (None, *(0,) * 39)])
def test_data_without_classes_have_no_parts(labels):
    with pytest.raises(StarcertError, match="'split' must be all for data without classes"):
        replace(make(), labels=labels).part("test", 0)


def test_the_digest_is_that_of_the_content():
    data = make()
    assert data.digest == make().digest
    others = [data.first(39), replace(data, labels=(1,) * 40), replace(data, names=("x", *data.names[1:]))]
    others.append(replace(data, graphs=(Graph(2, [(0, 1)]), *data.graphs[1:])))
    assert len({data.digest, *(other.digest for other in others)}) == 5


def test_data_are_gone_through_as_a_split_is():
    data = make(4)
    assert list(data) == list(zip(data.graphs, data.labels, strict=True))
    assert [label for _, label in replace(data, labels=None)] == [None] * 4
