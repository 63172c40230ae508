"""Archives of certificates for which every other class was weighed by itself: proved again, or refused."""

from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest

import starcert as sc
from starcert.math import bets
from starcert.math import evidence as engine

WEIGHTS = np.random.default_rng(1).integers(1, 1_000, (6, 6))
GRAPHS = [sc.Graph.from_networkx(nx.gnm_random_graph(6, edges, seed=edges)) for edges in (3, 8)]
REGIONS = sc.Partition.from_node_sets({"core": range(4), "rest": range(4, 6)})


def answers(batch):
    """Four classes: the first has some 44% of all copies, the next one 30%."""
    return np.searchsorted([44, 74, 88], (batch.adjacency() * WEIGHTS).sum(axis=(1, 2)) % 100, side="right")


def certified(noise, regions=None, *, plan="fixed", threat="flips:1", own_samples=30_000):
    base = sc.classifiers.from_callable(answers, on="batch", n_classes=4, description="remainders")
    return sc.SmoothedClassifier(base, noise, regions).certify(
        GRAPHS,
        samples=1_500,
        seed=3,
        threat=threat,
        voting=sc.Voting(selection_samples=500, plan=plan),
        evidence=sc.Evidence(own_samples=own_samples),
    )


def written(result, folder):
    path = folder / "certificates.json"
    sc.archive.write(path, sc.archive.Archive.from_result(result))
    return path


ASKED = {
    "own votes": {"noise": sc.Noise(all=0.45)},
    "shared votes": {"noise": sc.Noise(all=0.45), "own_samples": 0},
    "stopped": {"noise": sc.Noise(all=0.45), "plan": "decided"},
    "a list": {"noise": sc.Noise(all=0.45), "threat": "additions:1"},
    "listed and pooled": {
        "noise": sc.Noise(core=0.45, rest=0.48), "regions": REGIONS, "threat": "box:1,1",
    },
}  # fmt: skip


@pytest.mark.parametrize("asked", ASKED)
def test_what_classes_show_one_by_one_is_proved_again(asked, tmp_path):
    result = certified(**ASKED[asked])
    path = written(result, tmp_path)
    checked = sc.archive.verify(path)
    assert checked.verdict == "proved"
    again = checked.archive.certificates
    assert again.abstained.tolist() == result.abstained.tolist()
    assert [one.frontier.radii for one in again] == [one.frontier.radii for one in result]
    assert [one.verdicts.sizes for one in again] == [one.verdicts.sizes for one in result]
    kinds = [each.kind for one in result for each in (*one.verdicts.levels.values(), *one.verdicts.sizes.values())]
    assert "certified" in kinds


@pytest.mark.parametrize("mistake", ["third classes count nothing", "own votes of third classes count for the class"])
def test_an_engine_that_is_too_generous_is_refuted(mistake, tmp_path):
    shared = mistake.startswith("third")
    wrong = patch.object(engine, "parts_against", lambda rivals, _: np.identity(rivals))
    if not shared:
        wrong = patch.object(bets.OwnBet, "capital", lambda _, votes, __, rival: bets.count_capital(rival, votes))
    with wrong:
        path = written(certified(sc.Noise(all=0.3), own_samples=0 if shared else 6_000), tmp_path)
    assert sc.archive.verify(path).verdict == "refuted"
