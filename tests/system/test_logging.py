"""The library logs under one name, and is silent unless somebody listens."""

import logging
import re

import pytest

import starcert as sc

GRAPHS = [sc.Graph(4, [(0, 1), (1, 2), (2, 3)]), sc.Graph(4, [])]


def certify(caplog: pytest.LogCaptureFixture, **options) -> list[str]:
    caplog.clear()
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 2), n_classes=2)
    with caplog.at_level(logging.DEBUG, logger="starcert"):
        sc.SmoothedClassifier(base, sc.Noise(all=0.05)).certify(GRAPHS, samples=512, seed=1, **options)
    assert {record.name.split(".")[0] for record in caplog.records} == {"starcert"}
    return [record.getMessage() for record in caplog.records]


def test_votes_and_audit_are_logged_in_order(caplog):
    said = certify(caplog)
    patterns = ["votes: begun, 0 of 1,224 done", "votes: ended", r"Audited \d+ .*\(votes: fixed\)",
                "2 certificates by p_A, 0 abstain"]  # fmt: skip
    assert len(said) == len(patterns)
    assert all(re.fullmatch(*both) for both in zip(patterns, said, strict=True)), said


def test_a_store_says_whether_it_is_continued(caplog, tmp_path):
    path = tmp_path / "votes.db"
    for says in ("made", "continued"):
        assert f"{path}: {says}" in certify(caplog, voting=sc.Voting(store=path))


def test_what_a_plan_decided_is_logged_for_each_graph(caplog):
    said = certify(caplog, threat="flips:1", voting=sc.Voting(plan="decided"))
    assert [f"graph {number}: no more votes after" in "\n".join(said) for number in range(2)] == [True, True]


def test_levels_of_evidence_are_logged(caplog):
    said = certify(caplog, threat="flips:1", evidence=sc.Evidence(own_samples=100))
    assert sum("levels looked at" in line for line in said) == 2
    assert "evidence: begun, 0 of 2 done" in said


def test_an_application_that_does_not_listen_hears_nothing():
    """Without a handler of its own, Python would print warnings and errors of the library."""
    assert any(isinstance(handler, logging.NullHandler) for handler in logging.getLogger("starcert").handlers)
