"""Smoothed regressors: which argument an interval rests on, what it says, and that votes are the same however drawn."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import starcert as sc
from starcert.claims import intervals as module
from starcert.classifiers import from_callable, from_node_function
from starcert.methods import numbers as regression
from starcert.system.errors import InvalidParameterError
from starcert.voting.counting import NoisyChunks
from starcert.voting.store import VoteStore

UNIT = sc.ValueRange(0, 1)
NOISE = sc.Noise(all=sc.Flip(delete=0.2, add=0.1))
RING = sc.Graph(5, [(i, (i + 1) % 5) for i in range(5)])
STAR = sc.Graph(5, [(0, i) for i in range(1, 5)])


def density(graphs):
    return graphs.degrees().sum(axis=1) / 20


SMOOTHED = sc.SmoothedRegressor(from_callable(density, on="batch", outputs=UNIT), NOISE)
QUICK = {"samples": 3_000, "seed": 1}


def true_mean(edges):
    return (0.8 * edges + 0.1 * (10 - edges)) / 10


def test_a_threat_that_lists_its_attacks_is_weighed_attack_by_attack():
    """Deletions lower the density, additions raise it: each end is the clean one where an attacker cannot move it."""
    result = SMOOTHED.certify([RING, STAR], threat="deletions:2", **QUICK)
    for one, edges in zip(result, (5, 4), strict=True):
        found, fewer = one.interval(), one.interval("deletions:1")
        assert found.how == f"by weighing {edges + edges * (edges - 1) // 2} attacks"
        assert fewer.how == f"by weighing {edges} attacks"
        assert found.low <= true_mean(edges - 2) < fewer.low <= true_mean(edges - 1)
        assert found.high == fewer.high == one.clean.high
        assert (found.ends, str(found)) == (
            one.interval("deletions:2").ends,
            str(one.interval(sc.threats.Deletions(2))),
        )
    with pytest.raises(InvalidParameterError, match="be the one that was asked about"):
        one.interval("additions:1")
    with pytest.raises(InvalidParameterError, match="be the one that was asked about"):
        one.interval("deletions:3")


def test_no_interval_under_listed_attacks_where_no_flips_were_kept():
    """The counts say something about radii, and nothing about a list."""
    result = SMOOTHED.certify([RING], threat="deletions:2", **QUICK)
    lost = replace(result, proof=replace(result.proof, kept=(None,)))
    assert lost[0].clean.how.startswith("by ρ")
    with pytest.raises(InvalidParameterError, match="be one by radius where it is not known which sites flipped"):
        lost[0].interval()


def test_sentences_and_tables():
    result = SMOOTHED.certify([RING], threat="flips:1", alpha=0.05, **QUICK)
    assert str(result[0].interval(above=0.45)).startswith(
        "With probability at least 0.95 over the sampling, the probability of an output above 0.45 on noisy copies, "
        "whatever the attacker does with any 1 flip, lies from "
    )
    assert str(result[0].clean).endswith("(by a bet on its votes).")
    (row,) = result.rows()
    assert list(row) == ["graph", "target", "estimate", "clean_low", "clean_high", "low", "high"]
    assert row["low"] < row["clean_low"] < row["estimate"] < row["clean_high"] < row["high"]
    assert result.to_frame().shape == (1, 7)
    assert result.intervals() == [result[0].interval("flips:1")]
    assert [each.row for each in result[:1]] == [0]
    with pytest.raises(InvalidParameterError, match="is missing, here and in certify"):
        SMOOTHED.certify([RING], samples=100, seed=1)[0].interval()


def test_one_argument_for_each_question_and_it_is_fixed_by_sizes(monkeypatch):
    """Radii with few attacks are weighed, others bounded by ρ; where flips take too much, all are."""
    result = SMOOTHED.certify([RING], **QUICK)
    one = result[0]
    assert one.interval((1, 1)).how == "by weighing 35 attacks"
    monkeypatch.setattr(module, "MAX_ATTACKS", 34)
    again = SMOOTHED.certify([RING], **QUICK)[0]
    assert again.interval((1, 0)).ends == one.interval((1, 0)).ends
    by_rho = again.interval((1, 1))
    assert by_rho.how.startswith("by ρ")
    assert by_rho.low <= one.interval((1, 1)).low <= one.interval((1, 1)).high <= by_rho.high
    monkeypatch.setattr(regression, "MAX_FLIPS", 1000)
    kept = SMOOTHED.certify([RING], **QUICK)
    assert kept.proof.kept == (None,)
    assert kept[0].interval((1, 1)).ends == by_rho.ends
    assert kept[0].clean.ends[0] <= one.clean.ends[0]
    with pytest.raises(InvalidParameterError, match="'samples' must be at most 200 for 5 changes of sites, or targets"):
        SMOOTHED.certify([RING], threat="deletions:1", **QUICK)


def test_rho_reaches_where_nothing_can_be_listed():
    noise = sc.Noise(motif=0.02, random=0.45)
    base = from_callable(lambda rows: 0.5 + 0.4 * (rows[:, :3].all(axis=1)), on="vectors", outputs=UNIT)
    columns = {"motif": [0, 1, 2], "random": list(range(3, 48))}
    smoothed = sc.SmoothedRegressor(base, noise, columns)
    one = smoothed.certify([sc.Bits(np.ones(48, dtype=int))], samples=60_000, seed=1)[0]
    found = one.interval((1, 45))
    assert found.how.startswith("by ρ")
    assert 0.4 < found.low < 0.5
    assert 0.9 < found.high < 0.95


def test_alpha_is_divided_between_all_rows():
    each, together = (SMOOTHED.certify([RING, STAR], family=family, **QUICK) for family in ("each", "all"))
    assert (each.together, together.together) == (1, 2)
    assert together[0].interval("flips:1").ends == each[0].interval("flips:1", alpha=0.005).ends
    assert each[0].interval("flips:1").width < together[0].interval("flips:1").width
    assert together[0].interval("flips:1").alpha == 0.01


def test_votes_do_not_depend_on_stores_workers_or_batches(tmp_path, monkeypatch):
    """A run that goes on has the flips of all its votes again, from the store."""
    plain, stored = SMOOTHED.certify([RING, STAR], **QUICK), sc.Voting(store=tmp_path / "votes.db")
    with ThreadPoolExecutor(2) as executor:
        others = [SMOOTHED.certify([RING, STAR], voting=how, **QUICK)
                  for how in (stored, sc.Voting(executor=executor, batch_size=100))]  # fmt: skip
    counted, ask = [], NoisyChunks.ask
    monkeypatch.setattr(NoisyChunks, "ask", lambda *given: counted.append(given) or ask(*given))
    others.append(SMOOTHED.certify([RING, STAR], voting=stored, **QUICK))
    assert len(counted) == 4  # a chunk of each graph and two more, to see that it is the same; others are stored
    for other in others:
        assert np.array_equal(other.proof.votes.counts, plain.proof.votes.counts)
        assert [one.interval("flips:2").ends for one in other] == [one.interval("flips:2").ends for one in plain]
    with VoteStore.read(tmp_path / "votes.db") as store:
        assert all(len(record) == record.samples.sum() for record in store.ballots(0).values())
    with pytest.raises(InvalidParameterError, match="'samples' must be 3000 for this store"):
        SMOOTHED.certify([RING, STAR], samples=4_000, seed=1, voting=stored)


def test_nodes_share_their_copies(tmp_path):
    """Targets of one graph: each has its own outputs, and all the same flips; a store is asked again."""
    base = from_node_function(lambda graph: [degree / 4 for _, degree in graph.degree], outputs=UNIT)
    smoothed = sc.SmoothedRegressor(base, sc.Noise(all=0.1))
    result = smoothed.certify([STAR], samples=1_000, seed=1, threat="flips:1")
    assert [one.interval().how for one in result] == ["by weighing 10 attacks"] * 5
    for one, degree in zip(result, (4, 1, 1, 1, 1), strict=True):
        means = [0.1 + 0.8 * (degree + change) / 4 for change in (-1, 0, 1) if 0 <= degree + change <= 4]
        assert one.interval().low < min(means) < max(means) < one.interval().high
    again = smoothed.certify(
        [STAR], samples=1_000, seed=1, threat="flips:1", voting=sc.Voting(store=tmp_path / "votes.db")
    )
    assert again.intervals() == result.intervals()


@pytest.mark.parametrize(
    ("given", "match"),
    [({"voting": sc.Voting(plan="decided")}, "'plan' must be \"fixed\" for outputs that are numbers"),
     ({"samples": 2**25}, "'samples' must be"), ({"alpha": 0.99}, "Was a confidence level meant"),
     ({"family": "some"}, "'family' must be")],
)  # fmt: skip
def test_what_does_not_fit_is_refused(given, match):
    with pytest.raises(InvalidParameterError, match=match):
        SMOOTHED.certify([RING], **{**QUICK, **given})


def test_above_is_a_number():
    with pytest.raises(InvalidParameterError, match="'above' must be a number"):
        SMOOTHED.certify([RING], samples=100, seed=1)[0].interval(1, above=np.inf)


def test_edges_decide_exactly_what_is_above():
    """Outputs at an edge: a step is above its lower edge for certain, and the first one is not above `low`."""
    outputs = sc.ValueRange(0, 1, 4)
    for above, certain, possible in (
        (0.5, [0, 0, 4, 4], [0, 0, 4, 4]),
        (0.6, [0, 0, 0, 4], [0, 0, 4, 4]),
        (0, [0, 4, 4, 4], [4] * 4),
        (-1, [4] * 4, [4] * 4),
        (1, [0] * 4, [0] * 4),
    ):
        low, high = module.bounds_of_steps(outputs.edges, above)
        assert (low.tolist(), high.tolist()) == (certain, possible)


def test_nothing_to_attack_and_sites_that_never_flip():
    """Without sites an attacker can do nothing; where noise never moves a site, votes say nothing about its attack."""
    alone = SMOOTHED.certify([sc.Graph(1, [])], samples=300, seed=1)[0]
    assert alone.interval("flips:1").ends == alone.clean.ends
    still = sc.SmoothedRegressor(SMOOTHED.base, sc.Noise(all=0.0)).certify([RING], samples=300, seed=1)[0]
    assert still.clean.width < 0.1
    assert (still.interval("flips:1").low, still.interval("flips:1").high) == (0, 1)
