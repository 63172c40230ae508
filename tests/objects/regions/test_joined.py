import pickle

import pytest

import starcert as sc
from starcert.objects.regions import needs_model
from starcert.system.errors import InvalidParameterError

GRAPH = sc.Graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)], node_data={"x": [0, 1, 0, 1], "part": list("aabb")}).with_bits(
    "x"
)


def test_joined_rules_have_the_regions_of_all():
    rule = sc.regions.build("ring_atoms | layers:traits=x")
    assert rule.regions == ("ring", "rest", "between", "traits")
    found = rule(GRAPH)
    assert found.sites(GRAPH).sizes == (3, 0, 3, 4)
    assert found.anchored
    assert found.reason == sc.regions.ring_atoms().reason
    assert pickle.loads(pickle.dumps(rule)) == rule == sc.regions.build(rule.description)
    assert rule == sc.regions.join(sc.regions.ring_atoms(), sc.regions.layers({"traits": "x"}))


def test_rules_that_read_no_edges_stay_unanchored_together():
    rule = sc.regions.build("node_labels:attribute=part,between=mixed | layers:traits=x")
    base = sc.classifiers.from_callable(lambda graph: 0, n_classes=2, description="none")
    noise = sc.Noise(a=0.1, b=0.1, mixed=0.1, traits=0.1)
    assert sc.SmoothedClassifier(base, noise, rule).problem([GRAPH]).anchored == ("",)


def test_what_cannot_be_joined_is_refused():
    with pytest.raises(InvalidParameterError, match=r"different names.*'ring' twice"):
        sc.regions.build("ring_atoms | layers:ring=x")
    with pytest.raises(InvalidParameterError, match="name one of the builders"):
        sc.regions.build("ring_atoms | layer:ring=x")
    with pytest.raises(InvalidParameterError, match="name the layer of at least one region"):
        sc.regions.layers({})
    assert needs_model("explained:quantile=0.5 | layers:a=x")
    assert not needs_model("ring_atoms | layers:a=x")
