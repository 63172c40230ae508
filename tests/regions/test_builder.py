import inspect

import pytest

import starcert as sc
from starcert.errors import InvalidParameterError

NAMES = [
    "node_labels",
    "node_sets",
    "ring_atoms",
    "aromatic_atoms",
    "functional_groups",
    "communities",
    "similar_features",
    "low_rank",
    "explained",
]


def test_the_catalogue_has_them_all():
    assert list(sc.regions.BUILDERS) == NAMES
    for name, builder in sc.regions.BUILDERS.items():
        assert builder.make is getattr(sc.regions, name)
        assert builder.why.endswith(".")
        assert builder.anchored == bool(builder.reason)
        assert builder.regions
        signature = inspect.signature(builder.make).parameters
        assert set(signature) - {"model", "sets"} == set(builder.kinds) == set(builder.parameters)
    assert [name for name, builder in sc.regions.BUILDERS.items() if not builder.anchored] == [
        "node_labels",
        "node_sets",
        "similar_features",
    ]
    assert [name for name, builder in sc.regions.BUILDERS.items() if builder.needs_model] == ["explained"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "explained"])
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
            "one of the builders node_labels, .*explained. Got 'comunities' instead. Did you mean communities",
        ),
        ("spectral", "one of the builders node_labels"),
        ("", "NAME or NAME:PARAMETER=VALUE"),
        (None, "NAME or NAME:PARAMETER=VALUE"),
        ("communities:", "'' is no PARAMETER=VALUE"),
        ("communities:resolution", "'resolution' is no PARAMETER=VALUE"),
        ("communities:resolution=1,,seed=2", "'' is no PARAMETER=VALUE"),
        ("communities:seed=1,seed=2", "give 'seed' once"),
        ("communities:gamma=1", "Got 'gamma' instead. It has resolution, method, seed"),
        ("ring_atoms:size=6", "Got 'size' instead. It has no parameters"),
        ("communities:resolution=much", "communities:resolution' must be a number. Got 'much'"),
        ("communities:seed=1.5", "communities:seed' must be a whole number. Got '1.5'"),
        ("communities:resolution=nan", "'resolution' must be a number above 0"),
        ("communities:method=magic", "'method' must be one of louvain, greedy"),
        ("communities:seed=-1", "'seed' must be a whole number, 0 or more"),
        ("explained:quantile=0.8", r"'model' must be the model to explain.*model=module"),
        ("explained:model=gcn.py", r"'model' must be a torch.nn.Module. Got 'str'"),
        ("low_rank:rank=0", "'rank' must be a whole number, 1 or more"),
        ("low_rank:quantile=1.5", "'quantile' must be a number from 0 to 1"),
        ("low_rank:quantile=0.5,threshold=0.1", "'threshold' must be left out"),
        ("similar_features:threshold=2", "'threshold' must be a number from 0 to 1"),
        ("node_labels:labels=0//1", "'labels' must be one or more different words"),
        ("node_labels:labels=0/1,inside=same", "'labels' must be left out"),
    ],
)
def test_what_cannot_be_built_is_explained(text, problem):
    if text == "explained:model=gcn.py":
        pytest.importorskip("torch")
    with pytest.raises(InvalidParameterError, match=problem):
        sc.regions.build(text)


@pytest.mark.parametrize(
    ("name", "parameters", "problem"),
    [
        ("communities:seed=1", {"seed": 2}, "give 'seed' once"),
        ("communities", {"model": object()}, "Got 'model' instead"),
        ("communities", {"resolution": True}, "'resolution' must be a number above 0"),
        ("low_rank", {"rank": 2.5}, "'rank' must be a whole number"),
        ("similar_features", {"attribute": 3}, "'attribute' must be the name of node data"),
        ("node_labels", {"attribute": ""}, "'attribute' must be the name of node data"),
        ("node_labels", {"between": 3}, "'between' must be the name of a region"),
    ],
)
def test_wrong_types_are_named(name, parameters, problem):
    with pytest.raises(InvalidParameterError, match=problem):
        sc.regions.build(name, **parameters)
