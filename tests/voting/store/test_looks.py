"""A certificate for a fixed number of votes is refused once somebody has looked at the votes."""

import sqlite3

import numpy as np
import pytest
import worlds
from asking import how_to

import starcert as sc
from starcert.methods.own_votes import OwnVotes
from starcert.system.errors import InvalidParameterError
from starcert.voting.store import VoteStore

SIZE = 64
ASKED = {"seed": 7, "chunk_size": SIZE, "selection_samples": 100}
BOX = {"core": 2, "rest": 2}


@pytest.fixture
def certify(tmp_path):
    def certify(samples, n_graphs=2, **options):
        wanted = ASKED | {"store": tmp_path / "votes.db"} | options
        return worlds.smoothed().certify(worlds.graphs(n_graphs), **how_to(samples=samples, **wanted))

    return certify


def test_more_votes_after_a_look_are_refused(certify):
    first = certify(500)
    with pytest.raises(InvalidParameterError, match=r"'samples' must be 500.*Got 900.*plan=\"decided\".*another seed"):
        certify(900)
    with pytest.raises(InvalidParameterError, match="'samples' must be 500"):
        certify(300)  # the best of several numbers, whichever is larger
    np.testing.assert_array_equal(certify(500).votes.counts, first.votes.counts)  # the same call is no further look
    np.testing.assert_array_equal(certify(500, 3).votes.counts[:2], first.votes.counts)


def test_nothing_is_counted_before_a_look_is_refused(certify, tmp_path):
    certify(500)
    with pytest.raises(InvalidParameterError, match="samples"):
        certify(900)
    with VoteStore.read(tmp_path / "votes.db") as store:
        assert store.counts("estimation").sum() == 1000


def test_bounds_for_any_time_may_follow_and_the_first_call_may_be_repeated(certify):
    certify(500)
    assert certify(900, plan="decided").votes.history == "stopped"
    assert certify(500).votes.history == "fixed"
    with pytest.raises(InvalidParameterError, match="'samples' must be 500"):
        certify(900)


def test_a_fixed_number_after_a_plan_that_looked_is_refused(certify):
    certify(2000, plan="decided", max_radius=BOX)
    with pytest.raises(InvalidParameterError, match=r"'plan' must be \"decided\".*Got 'fixed'"):
        certify(2000, max_radius=BOX)
    certify(3000, plan="decided", max_radius=BOX)


def test_votes_that_were_looked_at_are_marked(certify, tmp_path):
    def vote(samples):
        return worlds.smoothed().vote(worlds.graphs(2), **how_to(samples=samples, store=tmp_path / "votes.db", **ASKED))

    assert vote(300).history == "fixed"  # nobody saw a certificate
    certify(500)
    assert vote(500).history == "fixed"
    assert vote(900).history == "looked"
    with pytest.raises(InvalidParameterError, match="'votes' must be as many as was fixed in advance"):
        sc.clopper_pearson(vote(900))


def test_an_interrupted_run_has_not_looked(certify, tmp_path):
    worlds.smoothed().vote(worlds.graphs(1), **how_to(samples=300, store=tmp_path / "votes.db", **ASKED))
    certify(500)


def test_the_better_of_evidence_on_and_off_is_refused(certify):
    certify(500, max_radius=BOX)
    with pytest.raises(InvalidParameterError, match=r"'evidence' must be False.*another seed"):
        certify(500, max_radius=BOX, evidence=True, own_samples=0)
    with pytest.raises(InvalidParameterError, match="'evidence' must be False"):
        certify(500, max_radius=BOX, evidence=True, own_samples=0, plan="decided")


@pytest.mark.parametrize("plan", ["fixed", "decided"])
def test_another_box_after_a_look_is_refused_with_evidence_on_two_axes(certify, plan):
    asked = {"evidence": True, "own_samples": 0, "plan": plan}
    certify(500, max_radius=BOX, **asked)
    certify(500, max_radius=BOX, max_flips=1, **asked)  # always free
    with pytest.raises(InvalidParameterError, match=r"'threat' must be \(2, 2\).*Got \(1, 2\)"):
        certify(500, max_radius=(1, 2), **asked)
    with pytest.raises(InvalidParameterError, match="'threat' must be"):
        certify(500, **asked)


def test_another_box_is_free_without_evidence_and_on_one_axis(certify, tmp_path):
    for box in (BOX, (1, 2), None):
        certify(500, max_radius=box)
    graphs = [sc.Graph(5, [(0, 1)])]
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_callable(worlds.parity), sc.Noise(all=0.1))
    for box in (1, 2, None):
        asked = {"samples": 200, "seed": 1, "evidence": True, "own_samples": 0, "store": tmp_path / "one.db"}
        smoothed.certify(graphs, **how_to(max_radius=box, **asked))


OWN = {"max_radius": BOX, "evidence": True, "plan": "decided"}


def test_other_numbers_of_votes_after_a_look_at_own_votes_are_refused(certify):
    """Another number makes another bet on the same own votes, and the best of several bets is none."""
    first = certify(500, **OWN)
    for samples in (300, 900):
        with pytest.raises(InvalidParameterError, match=r"'samples' must give 500 votes on graph 0.*another seed"):
            certify(samples, **OWN)
    with pytest.raises(InvalidParameterError, match="'samples' must give at most 500 votes on graph 0"):
        certify(900, **OWN, own_samples=0)
    again = certify(500, **OWN, own_samples=900)  # more own votes continue the same bet
    np.testing.assert_array_equal(again.votes.counts, first.votes.counts)
    certify(500, 3, **OWN)


def test_own_votes_may_follow_looks_at_as_many_shared_votes_or_fewer(certify):
    for samples in (500, 300, 700):
        certify(samples, **OWN, own_samples=0)
    with pytest.raises(InvalidParameterError, match="'samples' must give at least 700 votes on graph 0"):
        certify(500, **OWN)
    certify(900, **OWN)
    certify(500, **OWN, own_samples=0)  # shared votes were looked at one after the other, and then own votes


def test_whatever_changes_the_number_of_votes_is_refused_after_own_votes(tmp_path):
    """Another box on one axis is free, but a plan may stop earlier or later with it."""
    smoothed = sc.SmoothedClassifier(
        sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 4), n_classes=2), sc.Noise(all=0.1)
    )
    asked = {"samples": 2000, "seed": 1, "evidence": True, "plan": "decided", "store": tmp_path / "votes.db"}
    early = smoothed.certify([sc.Graph(5, [])], **how_to(threat=sc.threats.Box(1), **asked))
    assert early.votes.counts.sum() < 2000
    with pytest.raises(InvalidParameterError, match=r"'samples' must give .* votes on graph 0"):
        smoothed.certify([sc.Graph(5, [])], **how_to(threat=sc.threats.Box(4), **asked))


@pytest.mark.parametrize("own_samples", [(0, None), (None, 0), (None, None)])
def test_own_votes_belong_to_one_plan(certify, own_samples):
    first, second = own_samples
    asked = {"max_radius": BOX, "evidence": True}
    certify(500, **asked, own_samples=first)
    with pytest.raises(InvalidParameterError, match=r"'plan' must be 'fixed'.*Got 'decided'"):
        certify(500, **asked, own_samples=second, plan="decided")
    certify(500, **asked, own_samples=first)


def test_the_way_out_of_a_fixed_plan_is_one_that_works(certify):
    certify(500, max_radius=BOX, evidence=True)
    with pytest.raises(InvalidParameterError, match=r"'samples' must be 500.*instead\. Draw fresh votes"):
        certify(900, max_radius=BOX, evidence=True)


def test_a_refused_look_is_not_recorded(certify, tmp_path):
    certify(500, **OWN)
    with pytest.raises(InvalidParameterError, match="samples"):
        certify(900, **OWN)
    with VoteStore.read(tmp_path / "votes.db") as store:
        assert {look.drawn for look in store.looks if look.evidence} == {(500, 500)}


def test_another_class_may_not_be_chosen_after_a_look(certify):
    certify(500)
    for plan in ("fixed", "decided"):
        with pytest.raises(InvalidParameterError, match="'selection_samples' must be 100"):
            certify(500, selection_samples=200, plan=plan)


def test_looks_are_kept_in_the_file_once_each(certify, tmp_path):
    certify(500)
    certify(500)
    with VoteStore.read(tmp_path / "votes.db") as store:
        assert len(store.looks) == 1
        assert (store.looks[0].selection, store.looks[0].estimation) == (100, 500)


LISTED = {"evidence": True, "threat": "deletions:1"}


def test_with_evidence_about_a_list_no_other_threat_may_follow(certify):
    first = certify(500, **LISTED)
    must = "'threat' must be deletions:1, as in the certificates already computed from this store"
    for other in ("additions:1", "deletions:2", "rewire:1"):
        with pytest.raises(InvalidParameterError, match=rf"{must}.*Got '{other}'"):
            certify(500, **LISTED | {"threat": other})
    for other in ("flips:1", None):
        with pytest.raises(InvalidParameterError, match=rf"{must}.*Got 'one by radius'"):
            certify(500, **LISTED | {"threat": other})
    with pytest.raises(InvalidParameterError, match="evidence"):
        certify(500, threat="deletions:1")
    again = certify(500, **LISTED | {"threat": "deletions:1 | deletions:1"})  # the same attacks
    assert [one.verdicts.sizes for one in again] == [one.verdicts.sizes for one in first]
    assert len(certify(500, 3, **LISTED)) == 3  # with a further graph


def test_with_evidence_about_radii_no_list_may_follow(certify):
    certify(500, evidence=True)
    with pytest.raises(InvalidParameterError, match=r"'threat' must be one by radius.*Got 'deletions:1'"):
        certify(500, **LISTED)


def test_functions_of_one_name_are_different_threats(certify):
    def near(frame, u, v):
        return v - u < 2

    first, near = sc.threats.Where(near, 1), lambda frame, u, v: v - u < 3
    certify(500, evidence=True, threat=first)
    with pytest.raises(InvalidParameterError, match="'threat' must be where:1,name=near"):
        certify(500, evidence=True, threat=sc.threats.Where(near, 1, name="near"))


def test_without_evidence_any_threats_may_follow_one_another(certify):
    for threat in ("deletions:1", "rewire:1", "flips:2", None):
        certify(500, threat=threat)


@pytest.mark.parametrize("plan", ["fixed", "decided"])
def test_a_list_is_weighed_alike_after_an_interruption(certify, tmp_path, plan, monkeypatch):
    """Votes at attacked graphs too: a run that is stopped among them and continued has what one run has."""
    asked = {"evidence": True, "own_samples": 4096, "threat": "flips:2 & controlled:2,nodes=0|1", "plan": plan}
    whole = certify(600, store=tmp_path / "whole.db", **asked)
    assert sum(one.verdicts.own_votes for one in whole) > 0
    counted, count = [], OwnVotes.count

    def stopped(own, attacks, chunk):
        if len(counted) == 2:
            raise KeyboardInterrupt
        counted.append(chunk)
        return count(own, attacks, chunk)

    monkeypatch.setattr(OwnVotes, "count", stopped)
    with pytest.raises(KeyboardInterrupt):
        certify(600, **asked)
    monkeypatch.setattr(OwnVotes, "count", count)
    continued = certify(600, **asked)
    for one, other in zip(whole, continued, strict=True):
        assert one.verdicts == other.verdicts
        assert one.bounds.agrees_with(other.bounds)
    assert rows_of(tmp_path / "votes.db") == rows_of(tmp_path / "whole.db")


def rows_of(path):
    with sqlite3.connect(path) as db:
        tables = ("chunks", "ballots", "attacks")
        return {table: sorted(map(repr, db.execute(f"SELECT * FROM {table}"))) for table in tables}
