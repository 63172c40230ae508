"""Evidence on every kind of object, from votes to verdicts: typed edges, categories, and several targets of a graph.

The smoothed classifier is enumerated: what is certified holds for all attacks of a level, and what is broken does not.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import worlds
from asking import how_to
from evidence_worlds import ValuedWorld

import starcert as sc
from starcert.classifiers import Classifier
from starcert.math.choices import influences
from starcert.objects.binding import attack_axes
from starcert.voting.store import VoteStore
from starcert.voting.store.rows import StoredAttack

ROW = (2, 2, 2, 1, 2)
TYPED = sc.Graph(3, [(0, 1), (1, 2)], edge_types=["s", "d"], type_names=("s", "d"))
KINDS = {
    "typed edges": (sc.Noise(a=sc.Edges(delete=0.15, add=0.1, change=0.2)), TYPED, None, (1, 0, 2)),
    "three values": (sc.Noise(a=sc.Categorical(0.2)), sc.Categories(ROW, values=3), None, ROW),
    "two regions of values": (
        sc.Noise(a=sc.Categorical(0.3), b=sc.Categorical(0.1)),
        sc.Categories(ROW, values=3),
        {"a": [0, 1], "b": [2, 3, 4]},
        ROW,
    ),
}
HOW = {"samples": 4_000, "seed": 2, "evidence": True, "chunk_size": 256, "threat": "flips:2", "own_samples": 20_000}


class Many(Classifier):
    """Whether most values are 2, as one answer; or on two targets whether most are 2, and whether most are 1."""

    n_classes, description = 2, "many values"

    def __init__(self, targets=None):
        self.targets, self.asked = targets, worlds.Calls()

    def n_targets(self, frame):
        return self.targets

    def answers(self, values, target):
        return ((values == 2 - target).sum(axis=1) > values.shape[1] / 2).astype(int)

    def classify(self, copies):
        self.asked.append(len(copies))
        if self.targets is None:
            return self.answers(copies.values, 0)
        return np.stack([self.answers(copies.values, target) for target in range(self.targets)], axis=1)


def certify(name, base=None, **options):
    noise, thing, regions, _ = KINDS[name]
    smoothed = sc.SmoothedClassifier(base or Many(), noise, regions)
    return smoothed.certify([thing], **how_to(**HOW | options))


def truth(name, one):
    """The enumerated world of a certificate."""
    noise, _, regions, clean = KINDS[name]
    filled = sc.Noise({region: noise[region].for_alphabet(3, region, "sites") for region in noise})
    places = "a" * len(clean) if regions is None else [r for r, columns in regions.items() for _ in columns]
    world = ValuedWorld(filled, places, clean)
    return world.being(np.float64(Many().answers(world.vectors, one.target) != one.label))


@pytest.mark.parametrize("targets", [None, 2])
@pytest.mark.parametrize("name", KINDS)
def test_verdicts_are_true(name, targets):
    decided = 0
    for one in certify(name, Many(targets)):
        world = truth(name, one)
        for level, verdict in one.verdicts.levels.items():
            decided += verdict.kind != "open"
            if verdict.kind == "certified":
                assert world.worst(level) < 0.5
            if verdict.attack is not None:
                vector = world.attacked(verdict.attack.sites, verdict.attack.values)
                assert vector in world.attacks(level)
                assert world.failure(vector) >= 0.5
    assert decided > 0


@pytest.mark.parametrize("targets", [None, 2])
@pytest.mark.parametrize("name", ["typed edges", "three values"])
def test_a_store_and_workers_change_nothing(name, targets, tmp_path):
    file, plain = tmp_path / "votes.db", certify(name, Many(targets))
    with ThreadPoolExecutor(3) as pool:
        assert verdicts(certify(name, Many(targets), store=file, executor=pool)) == verdicts(plain)
    again = Many(targets)
    repeated = certify(name, again, store=file)
    assert verdicts(repeated) == verdicts(plain)
    assert repeated.audit == plain.audit
    audited = 2 * (plain.audit.clean + plain.audit.attacked) + plain.audit.clean_alone + plain.audit.attacked_alone
    own = 2 * 16 * 8 + 2 * 64  # votes that are counted again at attacked objects
    assert (
        sum(again.asked) < 3 * HOW["chunk_size"] + 2 * 64 + own + audited
    )  # chunks are counted again, and all audited
    with VoteStore.read(file) as store:
        stored = {attack.target for attack in store.committed(StoredAttack, 0)}
        assert stored >= {target for target in range(targets or 1) if plain[target].verdicts.own_votes}


def verdicts(result):
    return [one.verdicts for one in result]


@pytest.mark.parametrize("name", KINDS)
def test_more_is_certified_than_by_counts(name):
    (one,) = certify(name)
    assert set(one.frontier_by_p_A.radii) < set(one.frontier.radii) or len(one.verdicts.certified) > 0


@pytest.mark.parametrize("name", KINDS)
def test_influences_are_those_of_the_worst_new_value(name):
    """Of each site, how much more often the attacked object fails: estimated from the votes on the clean one."""
    result = certify(name, samples=60_000, own_samples=0)
    noise, thing, regions, _ = KINDS[name]
    bound = sc.SmoothedClassifier(Many(), noise, regions).problem([thing])
    found = influences(result.votes.records[0], attack_axes(bound.sites[0], bound.noise))
    world = truth(name, result[0])
    n_axes = len(bound.noise.axes)
    ones = [
        vector for axis in range(n_axes) for vector in world.attacks(tuple(np.eye(n_axes, dtype=int)[axis].tolist()))
    ]
    for site, clean in enumerate(world.clean):
        exact = max(world.failure(vector) for vector in ones if vector[site] != clean) - world.failure()
        assert found[site] == pytest.approx(max(exact, 0), abs=0.05)


def test_votes_that_would_settle_a_target_are_those_of_all_that_share_them():
    own = 256
    found = certify("two regions of values", Many(2), samples=600, own_samples=own)
    outcomes = found.outcomes("flips:2")
    predicted = [votes for votes in outcomes.to_settle if votes is not None]
    assert predicted
    assert all(need > own for need in predicted)
    for one, each, votes in zip(found, outcomes, outcomes.to_settle, strict=True):
        levels = [
            v for level, v in one.verdicts.levels.items() if sum(level) == each.certified + 1 and v.kind == "open"
        ]
        if votes is not None:
            assert votes == 2 * (one.verdicts.own_votes + sum(verdict.more_votes for verdict in levels))


def test_votes_at_attacked_graphs_are_shared_by_targets():
    result = certify("typed edges", Many(2), own_samples=1_000)
    assert all(one.verdicts.own_votes <= 500 for one in result)
    assert sum(one.verdicts.own_votes for one in result) > 0


def test_stopping_early_looks_at_every_target():
    result = certify("typed edges", Many(2), plan="decided", samples=8_000, max_radius=(1, 0, 0))
    assert len({*result.votes.counts.sum(axis=1).tolist()}) == 1
    assert result.votes.counts[0].sum() < 8_000
    assert all(one.certified((1, 0, 0)) for one in result)


def test_levels_without_an_attack_are_certified():
    """Two edges cannot go and one of them change besides."""
    (one,) = certify("typed edges", own_samples=40_000, samples=8_000, max_radius=(2, 0, 2), threat=None)
    certified = {level for level in one.verdicts.levels if one.verdicts.levels[level].kind == "certified"}
    assert all("there is no such attack" in one.why(level) for level in certified if level[0] + level[2] > 2)
