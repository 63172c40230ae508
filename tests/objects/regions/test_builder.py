import inspect
import pickle

import pytest
from region_worlds import shuffled

import starcert as sc
from starcert.objects.content import canonical_order
from starcert.objects.rule import partition_by_rule
from starcert.system.errors import InvalidParameterError

NAMES = [
    "node_labels",
    "node_sets",
    "ring_atoms",
    "aromatic_atoms",
    "functional_groups",
    "communities",
    "similar_features",
    "low_rank",
    "layers",
]


def test_the_catalogue_has_them_all():
    assert list(sc.regions.BUILDERS) == NAMES
    for name, builder in sc.regions.BUILDERS.items():
        assert builder.make is getattr(sc.regions, name)
        assert builder.why.endswith(".")
        assert builder.anchored == bool(builder.reason)
        assert builder.regions
        signature = inspect.signature(builder.make).parameters
        assert set(signature) - {"sets"} == set(builder.parameters)
    assert [name for name, builder in sc.regions.BUILDERS.items() if not builder.anchored] == [
        "node_labels",
        "node_sets",
        "similar_features",
        "layers",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_what_the_catalogue_shows_can_be_built(name):
    if name == "functional_groups":
        pytest.importorskip("rdkit")
    builder = sc.regions.BUILDERS[name]
    rule = sc.regions.build(builder.usage)
    assert rule.name == name
    assert rule.anchored == builder.anchored
    assert rule.why == builder.why
    assert rule.reason == builder.reason


def test_text_and_keywords_say_the_same():
    build = sc.regions.build
    assert (
        build("low_rank:rank=3,quantile=0.5")
        == build("low_rank:rank=3", quantile=0.5)
        == build("low_rank", rank=3, quantile=0.5)
    )
    assert build("low_rank:rank=3,quantile=0.5") == sc.regions.low_rank(3, quantile=0.5)
    assert build(" communities : resolution = 2 ") == sc.regions.communities(2)
    assert build("node_sets", sets={"a": range(3)}) == build("node_sets", a="0-2") == build("node_sets:a=0-2")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "comunities",
            "one of the builders node_labels, .*layers. Got 'comunities' instead. Did you mean communities",
        ),
        ("", "NAME or NAME:PARAMETER=VALUE"),
        (None, "NAME or NAME:PARAMETER=VALUE"),
        ("communities:", "'' is not PARAMETER=VALUE"),
        ("communities:resolution=1,,seed=2", "'' is not PARAMETER=VALUE"),
        ("communities:seed=1,seed=2", "give 'seed' once"),
        ("communities:gamma=1", "Got 'gamma' instead. It has resolution, method, seed"),
        ("ring_atoms:size=6", "Got 'size' instead. It has no parameters"),
        ("communities:resolution=much", "communities:resolution' must be a number. Got 'much'"),
        ("communities:seed=1.5", "communities:seed' must be a whole number. Got '1.5'"),
        ("communities:resolution=nan", "'resolution' must be a number above 0"),
        ("communities:method=magic", "'method' must be one of louvain, greedy"),
        ("low_rank:rank=0", "'rank' must be a whole number, 1 or more"),
        ("low_rank:quantile=0.5,threshold=0.1", "'threshold' cannot be combined with a quantile"),
        ("similar_features:threshold=2", "'threshold' must be a number from 0 to 1"),
        ("node_labels:labels=0//1", "'labels' must be one or more different words"),
        ("node_labels:labels=0/1,inside=same", "'labels' cannot be combined with 'inside'"),
    ],
)
def test_what_cannot_be_built_is_explained(text, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        sc.regions.build(text)


@pytest.mark.parametrize(
    ("name", "parameters", "problem"),
    [
        ("communities:seed=1", {"seed": 2}, "give 'seed' once"),
        ("communities", {"model": object()}, "Got 'model' instead"),
        ("low_rank", {"rank": 2.5}, "'rank' must be a whole number"),
        ("similar_features", {"attribute": 3}, "'attribute' must be the name of node data"),
        ("node_labels", {"attribute": ""}, "'attribute' must be the name of node data"),
        ("node_labels", {"between": 3}, "'between' must be the name of a region"),
    ],
)
def test_wrong_types_are_named(name, parameters, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        sc.regions.build(name, **parameters)


GRAPH = sc.Graph(
    6, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5)], node_data={"label": [0, 0, 1, 1, 2, 2], "z": list("aabbcc")}
)


@pytest.mark.parametrize(
    "text",
    [
        "communities:resolution=0.5",
        "communities:method=greedy",
        "node_labels:between=mixed",
        "node_labels:attribute=z,inside=same",
        "node_labels:labels=0/1",
        "node_sets:core=0-2+4,rest=*,between=bridge",
        "low_rank:rank=2,quantile=0.5",
        "low_rank:threshold=0.25",
        "ring_atoms",
    ],
)
def test_a_rule_is_a_value_that_its_description_makes_again(text):
    rule = sc.regions.build(text)
    assert sc.regions.build(rule.description) == rule
    assert hash(sc.regions.build(rule.description)) == hash(rule)
    twin = pickle.loads(pickle.dumps(rule))
    assert twin == rule
    assert (twin.name, twin.parameters, twin.regions, twin.why) == (rule.name, rule.parameters, rule.regions, rule.why)
    assert twin(GRAPH) == rule(GRAPH)
    assert partition_by_rule(rule, GRAPH).parts == rule(GRAPH).parts
    assert rule != sc.regions.build("communities:resolution=0.75")


@pytest.mark.parametrize("text", ["communities", "low_rank", "ring_atoms"])
def test_anchored_rules_say_how(text):
    rule = sc.regions.build(text)
    partition = partition_by_rule(rule, GRAPH)
    assert rule.anchored
    assert partition.anchored
    assert partition.reason == rule.reason
    assert "clean graph" in partition.reason
    assert partition.regions == rule.regions


@pytest.mark.parametrize("text", ["node_labels", "node_sets:a=0-2,b=*", "node_labels:inside=same"])
def test_rules_on_nodes_never_read_edges(text):
    rule = sc.regions.build(text)

    class Without(sc.Graph):
        @property
        def n_edges(self):
            raise AssertionError

        def __getattribute__(self, name):
            assert name != "edges"
            return super().__getattribute__(name)

    watched = object.__new__(Without)
    watched.__dict__.update(vars(GRAPH))
    assert not rule.anchored
    assert not rule(watched).anchored
    assert not partition_by_rule(rule, GRAPH).anchored


def test_the_canonical_order_follows_names_of_any_kind():
    graph = sc.Graph(6, [], nodes=[("b", 1), 10, "10", 9, None, "9"])
    names = [graph.nodes[index] for index in canonical_order(graph.nodes)]
    other = shuffled(graph)
    assert [other.nodes[index] for index in canonical_order(other.nodes)] == names
    assert names[:2] == [9, 10]


JOINED = sc.Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], node_data={"x": [0, 1, 0, 1], "part": list("aabb")}).with_bits(
    "x"
)


def test_joined_rules_have_the_regions_of_all():
    rule = sc.regions.build("ring_atoms | layers:traits=x")
    assert rule.regions == ("ring", "rest", "between", "traits")
    found = rule(JOINED)
    assert found.sites(JOINED).sizes == (3, 0, 3, 4)
    assert found.anchored
    assert found.reason == sc.regions.ring_atoms().reason
    assert pickle.loads(pickle.dumps(rule)) == rule == sc.regions.build(rule.description)
    assert rule == sc.regions.join(sc.regions.ring_atoms(), sc.regions.layers({"traits": "x"}))


def test_rules_that_read_no_edges_stay_unanchored_together():
    rule = sc.regions.build("node_labels:attribute=part,between=mixed | layers:traits=x")
    base = sc.classifiers.from_callable(lambda graph: 0, n_classes=2, description="none")
    noise = sc.Noise(a=0.1, b=0.1, mixed=0.1, traits=0.1)
    assert sc.SmoothedClassifier(base, noise, rule).problem([JOINED]).anchored == ("",)


def test_what_cannot_be_joined_is_refused():
    with pytest.raises(InvalidParameterError, match=r"different names.*'ring' twice"):
        sc.regions.build("ring_atoms | layers:ring=x")
    with pytest.raises(InvalidParameterError, match="name one of the builders"):
        sc.regions.build("ring_atoms | layer:ring=x")
    with pytest.raises(InvalidParameterError, match="name the layer of at least one region"):
        sc.regions.layers({})
