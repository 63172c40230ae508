"""Objects that a threat does not fit, and threats of one's own."""

from dataclasses import dataclass

import numpy as np
import pytest

import starcert as sc
from starcert.objects import Sites
from starcert.objects.threats import (
    Additions,
    AnyFlips,
    Attacks,
    Box,
    Changes,
    Controlled,
    Deletions,
    InjectNode,
    LocalBudget,
    Rewire,
    Threat,
    UnfitError,
    Valence,
    Where,
    attackable,
    read_threat,
)
from starcert.system.errors import InvalidParameterError


def near(frame, u, v):
    return u + 1 == v


PATH = sc.Graph(3, [(0, 1), (1, 2)], nodes="abc")
EDGES, ROW = Sites.everything(PATH, "all"), Sites.everything(sc.Categories([0, 1, 2], values=3), "all")


@pytest.mark.parametrize(
    ("threat", "sites", "why"),
    [
        (Rewire(1), ROW, r"must fit the objects: 1 rewired edge needs node pairs or arcs in the regions\. Got 'Cat"),
        (LocalBudget(2, per_node=1), ROW, "needs node pairs"),
        (Controlled("a", 1), ROW, "needs node pairs"),
        (
            Deletions(1),
            ROW,
            r"fit the objects: 1 deletion needs node pairs, arcs or bits in the regions\. Got .*columns \(3 values\)",
        ),
        (Changes(1), EDGES, "1 changed value needs categories, features or types of edges in the regions"),
        (Controlled("d", 1), EDGES, "must name nodes of the graph. Got 'd' instead"),
        (InjectNode(edges=1), EDGES, r"Got 'spare' instead\. Certify the graph with a spare node: .*with_spare_nodes"),
        (Box({"rest": 1}), EDGES, "must have axes out of the regions all, or their .delete.* Got 'rest in box:rest=1'"),
        (Box({"all.known": 1}), EDGES, "must have axes out of the regions all"),
        (Box({"all": 1, "all.add": 1}), EDGES, "must have axes out of the regions all"),
        (Box(3), EDGES, "must name its axes for attacks to be listed"),
        (Valence(1), EDGES, "valences needs elements: node data atomic_number or element, or sites that are symbols"),
        (Valence(1), ROW, "needs bonds or elements"),
        (Where(near, 1, layer="x"), EDGES, "must choose among sites of the layers in the regions, pairs. Got 'x'"),
        (Rewire(1) | Controlled("d", 1), EDGES, "must name nodes"),
    ],
    ids=str,
)
def test_an_object_that_it_does_not_fit_is_refused_in_one_message(threat, sites, why):
    with pytest.raises(UnfitError, match=why):
        threat.check(sites)
    with pytest.raises(UnfitError, match=why):
        threat.attacks(sites, 1)
    with pytest.raises(UnfitError, match=why):
        threat.count(sites, 1)


BIG = sc.Graph(60, [(node, node + 1) for node in range(59)])
REFUSED = {
    "rewire:1": (
        sc.Bits([0, 1]),
        "1 rewired edge needs node pairs or arcs in the regions. Got 'Bits with sites",
    ),
    "where:2,name=near": (
        PATH,
        "'threat' must refer to what is known here. Got 'near' instead. In Python, give",
    ),
    "flips:3 | rewire:1": (
        BIG,
        "922,639,640 of size 3: any 3 flips' instead. Ask about fewer units, about",
    ),
    "rewire:4": (
        BIG,
        "2,097,152 attacks of one size to be listed. Got 'more than 2,097,152 of size 4: at most 4",
    ),
    "local:3": (PATH, "'threat' must be written local:NUMBER,per_node=…. Got 'local:3' instead."),
    "swap": (PATH, "'threat' must be written swap:NUMBER. Got 'swap:' instead."),
    "box:a": (PATH, "'threat' must be written box:AXIS=COUNT,…. Got 'box:a' instead."),
}


@pytest.mark.parametrize("threat", REFUSED)
def test_one_message_before_the_first_vote(threat, monkeypatch):
    monkeypatch.setattr("starcert.methods.smoothed.count_votes", None)
    clean, why = REFUSED[threat]
    base = sc.classifiers.from_callable(len, n_classes=2, on="batch", description="none")
    with pytest.raises(InvalidParameterError) as refused:
        sc.SmoothedClassifier(base, sc.Noise(all=0.1)).certify([clean], samples=100, seed=0, threat=threat)
    assert why in str(refused.value)
    assert str(refused.value).startswith("'threat' must ")
    assert "\n" not in str(refused.value)


def test_one_edge_has_nothing_to_exchange():
    base = sc.classifiers.from_callable(lambda batch: np.zeros(len(batch), dtype=int), n_classes=2, on="batch")
    asked = sc.SmoothedClassifier(base, sc.Noise(all=0.1)).certify(
        [sc.Graph(4, [(0, 1)])], samples=100, seed=0, threat="swap:1"
    )
    assert asked[0].verdict("swap:1") == "certified"
    assert asked[0].asked.levels == (frozenset(),)


def test_nodes_with_one_text_cannot_be_told_apart():
    twins = Sites.everything(sc.Graph(3, [(0, 1)], nodes=(1, "1", 2)), "all")
    assert Controlled(2, 1).count(twins, 1) == 2
    with pytest.raises(UnfitError, match="differ in their text"):
        Controlled(1, 1).check(twins)


def test_a_function_that_does_not_choose_is_refused():
    for wrong in (lambda frame, u, v: u, lambda frame, u, v: np.ones(2, dtype=bool)):
        with pytest.raises(InvalidParameterError, match="return a truth value for each of 3 sites"):
            Where(wrong, 1).attacks(EDGES, 1)
    assert Where(lambda frame, u, v: True, 1, name="all").count(EDGES, 1) == 3


def test_a_function_that_fails_is_named_with_what_it_raised():
    def stops(frame, u, v):
        return next(iter(()))

    for wrong, raised in ((lambda frame: True, "TypeError: .* 1 positional argument"), (stops, "StopIteration.")):
        with pytest.raises(InvalidParameterError, match=f"'predicate .*' must take the frame and 2 arrays.*{raised}"):
            Where(wrong, 1).attacks(EDGES, 1)


def test_noise_without_an_axis_for_a_change_is_refused():
    @dataclass(frozen=True)
    class Forget(sc.Law):
        alphabet, suffixes, moves = 3, (".lost",), (((1, 0), (2, 0)),)

        def transitions(self, value):
            return sc.Categorical(0.1, 3).transitions(value)

    for threat in (AnyFlips(1), Changes(1) | Changes(2)):
        with pytest.raises(InvalidParameterError, match="'noise' must have an axis for every change"):
            threat.levels(ROW, sc.Noise(all=Forget()), 1)


def test_types_are_attacked_everywhere_or_nowhere():
    graph = sc.Graph(3, [(0, 1)], edge_types=["x"], type_names=("x", "y"))
    partition = sc.Partition.from_pairs({"a": [(0, 1)], "b": [(0, 2)]}, anchored=False)
    with pytest.raises(InvalidParameterError, match="attack the types of all edges, or of none"):
        attackable(partition.sites(graph), sc.Noise(a=0.1, b=sc.Edges(delete=0.1, add=0.1, change=0.1)))


@dataclass(frozen=True)
class Path(Threat):
    """Deletes at most `most` edges, in their order; all but `attacks` and `label` is inherited."""

    most: int
    word = "path"

    @property
    def label(self):
        return f"{self.most} edges of the path"

    def attacks(self, sites, size):
        edges = sites.graph.edges
        first = sites.locate(edges[:, 0], edges[:, 1])[: size if size <= self.most else 0]
        return Attacks.from_lists([[(position, 0) for position in first]] if len(first) == size else [])


def test_a_threat_of_your_own_needs_two_methods():
    path, noise = Path(2), sc.Noise(all=sc.Flip(delete=0.1, add=0.2))
    assert [list(path.attacks(EDGES, size)) for size in (1, 2, 3)] == [[((0, 0),)], [((0, 0), (2, 0))], []]
    assert (path.count(EDGES, 1), path.levels(EDGES, noise, 2)) == (1, {(2, 0)})
    assert path.reverse is None
    assert path.anchored.startswith("It is not known from which clean objects")
    assert (path | Rewire(1)).anchored == path.anchored
    assert (path + Rewire(1)).reverse is None
    path.check(ROW)
    found = read_threat("my%20rules.py:Path:2 & rewire:1", find={"my rules.py:Path": Path}.get)
    assert (found, str(found)) == (path & Rewire(1), "my%20rules.py:Path:2 & rewire:1")
    assert (path.label, path.label_of(1)) == ("2 edges of the path", "2 edges of the path, 1 unit of 2")
    assert {tuple(each) for each in (path + Additions(1)).attacks(EDGES, 2)} == {
        ((0, 0), (1, 1)),
        ((0, 0), (2, 0)),
    }


def test_a_threat_without_a_word_has_no_text():
    @dataclass(frozen=True)
    class Silent(Path):
        word = ""

    assert str(Silent(1)).endswith("Silent(most=1)")
    with pytest.raises(InvalidParameterError, match="be a threat with its number"):
        read_threat("Silent:1")
