"""The base classifier by itself, on sites of any alphabet: all attacks of a level, beside every object there is."""

from itertools import product

import numpy as np
import pytest

import starcert as sc
from starcert.objects.sites import Sites
from starcert.objects.threats import read_threat
from starcert.system.errors import InvalidParameterError

TYPED = sc.Graph(3, [(0, 1), (1, 2)], edge_types=["s", "d"], type_names=("s", "d"))
EDGES = sc.Noise(all=sc.Edges(delete=0.1, add=0.1, change=0.1))


def answer(values: np.ndarray) -> np.ndarray:
    return (values @ np.array([1, 2, 3]) % 7 > 3).astype(int)


def smoothed(noise, **how) -> sc.SmoothedClassifier:
    base = sc.classifiers.from_callable(lambda batch: answer(batch.values.astype(int)), on="batch", n_classes=2)
    return sc.SmoothedClassifier(base, noise, **how)


def changes(clean, noise, level):
    """All vectors that attacks of a level make of the clean one, and on which the answer is another."""
    (law,) = (noise[region] for region in noise)
    found = {}
    for vector in product(range(law.alphabet), repeat=len(clean)):
        moves = [(x, y) for x, y in zip(clean, vector, strict=True) if x != y]
        counts = tuple(sum(move in axis for move in moves) for axis in law.moves)
        if counts == level:
            found[vector] = answer(np.array(vector)) != answer(np.array(clean))
    return found


@pytest.mark.parametrize("level", [level for level in product(range(3), range(2), range(3)) if 0 < sum(level) < 4])
def test_every_attack_on_typed_edges_is_tried(level):
    clean = (1, 0, 2)  # the pairs (0, 1), (0, 2) and (1, 2)
    expected = changes(clean, sc.Noise(all=sc.Edges(delete=0.1, add=0.1, change=0.1, types=2)), level)
    if not expected:
        with pytest.raises(InvalidParameterError, match="be at most what there is to attack"):
            smoothed(EDGES).undefended([TYPED], level)
        return
    (verdict,) = smoothed(EDGES).undefended([TYPED], level)
    assert verdict.kind == ("broken" if any(expected.values()) else "certified")
    if verdict.attack is None:
        assert f"{len(expected):,} attacks" in verdict.why
    else:
        vector = list(clean)
        for site, value in zip(verdict.attack.sites, verdict.attack.values, strict=True):
            vector[site] = value
        assert expected[tuple(vector)]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_every_attack_on_rows_of_three_values_is_tried(level):
    row = (0, 2, 1)
    expected = changes(row, sc.Noise(all=sc.Categorical(0.1, 3)), (level,))
    (verdict,) = smoothed(sc.Noise(all=sc.Categorical(0.1))).undefended([sc.Categories(row, values=3)], level)
    assert verdict.kind == ("broken" if any(expected.values()) else "certified")


def test_what_attackers_do_not_choose_is_not_tried():
    with pytest.raises(InvalidParameterError, match="which type an added edge has"):
        smoothed(sc.Noise(all=0.1)).undefended([TYPED], 1)


GRAPHS = [sc.Graph(4, edges) for edges in ([], [(0, 1)], [(0, 1), (2, 3)], [(0, 1), (1, 2), (2, 3)])]
THREATS = [
    "flips:2",
    "box:2,1",
    "box:1,1 & flips:1",
    "rewire:2",
    "swap:1",
    "deletions:1 + additions:1",
    "local:2,per_node=1",
]


def by_edges(graph, least):
    return int(graph.number_of_edges() * 2 + graph.has_edge(1, 3) > least)


@pytest.mark.parametrize("least", [1, 3, 5, 9])
@pytest.mark.parametrize("text", THREATS)
def test_every_attack_of_a_threat_is_tried_the_smallest_first(text, least):
    """Beside the attacks that the threat lists one by one, on graphs of networkx."""
    base = sc.classifiers.from_callable(lambda graph: by_edges(graph, least), n_classes=2)
    noise = sc.Noise(all=sc.Flip(delete=0.2, add=0.1))
    found = sc.SmoothedClassifier(base, noise).undefended(GRAPHS, text)
    for graph, verdict in zip(GRAPHS, found, strict=True):
        sites, threat = Sites.everything(graph, "all"), read_threat(text).for_noise(noise)
        every = [attack for size in range(1, threat.most + 1) for attack in threat.attacks(sites, size)]
        breaking = [attack for attack in every if by_edges(attacked(graph, attack), least) != answer_of(graph, least)]
        assert verdict.kind == ("broken" if breaking else "certified")
        if breaking:
            first = next(size for size in range(1, 9) if set(threat.attacks(sites, size)) & set(breaking))
            smallest = set(threat.attacks(sites, first)) & set(breaking)
            assert set(verdict.attack.sites) in [{site for site, _ in attack} for attack in smallest]
        else:
            assert verdict.why == (
                f"by trying all {len(every):,} attacks on the base classifier" if every else "there is no such attack"
            )


def answer_of(graph, least):
    return by_edges(graph.to_networkx(), least)


def attacked(graph, attack):
    pairs, other = [(u, v) for u in range(4) for v in range(u + 1, 4)], graph.to_networkx()
    for site, value in attack:
        (other.add_edge if value else other.remove_edge)(*pairs[site])
    return other


def test_a_threat_with_more_attacks_than_are_tried_is_open():
    base = sc.classifiers.from_callable(lambda graph: 0, n_classes=2)
    alone = sc.SmoothedClassifier(base, sc.Noise(all=0.1))
    for text, number in (("rewire:1", 6), ("flips:2", 21)):
        (few,) = alone.undefended([sc.Graph(4, [(0, 1), (1, 2)])], text, max_attacks=5)
        assert (few.kind, few.why) == ("open", f"5 of {number} attacks on the base classifier were tried")
        (all_of_them,) = alone.undefended([sc.Graph(4, [(0, 1), (1, 2)])], text, max_attacks=number)
        assert all_of_them.kind == "certified"
