"""Stored votes on the command line."""

import json

import pytest
import worlds
from asking import how_to

import starcert as sc
from starcert.system.errors import InvalidParameterError
from starcert.voting.store import VoteStore


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    file = tmp_path_factory.mktemp("votes") / "votes.db"
    worlds.smoothed().vote(worlds.graphs(), samples=2000, seed=7, voting=sc.Voting(store=file))
    return file


def test_votes_shows_what_a_file_holds(starcert, stored):
    shown = starcert("votes", str(stored)).stdout
    assert "dense_core" in shown
    assert "6,000 in 6 chunks" in shown
    assert "core 15, rest 15" in shown
    told = json.loads(starcert("votes", str(stored), "--json").stdout)
    assert told["settings"]["seed"] == 7
    assert told["settings"]["noise"] == {"core": 0.1, "rest": 0.4}
    assert [sum(graph["estimation"]) for graph in told["graphs"]] == [2000] * 3
    assert told["sessions"][0]["starcert"] == sc.__version__


def test_frontier_certifies_from_a_store_what_the_library_does(starcert, stored):
    told = json.loads(starcert("radius", "--store", str(stored), "--alpha", "0.05", "--json").stdout)
    expected = worlds.smoothed().certify(worlds.graphs(), samples=2000, seed=7, alpha=0.05)
    assert len(told["graphs"]) == 3
    for got, certificate in zip(told["graphs"], expected, strict=True):
        assert got["frontier"] == [list(radius) for radius in certificate.frontier.radii]
        assert got["label"] == certificate.label
        assert got["p_lower"] == certificate.p_lower
    assert "Maximal certified radii (core, rest), proved" in starcert("radius", "--store", str(stored)).stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["votes", "nowhere.db"], "there is no such file"),
        (["radius", "--store", "nowhere.db"], "there is no such file"),
        (["votes", __file__], "Error"),
        (["radius", "--store", __file__], "Error"),
        (["radius", "--store", "STORED", "--noise", "core=0.1"], "--noise"),
        (["radius", "--store", "STORED", "--votes", "9,1"], "--votes and --store"),
        (["radius", "--store", "STORED", "--selection", "9,1"], "--selection"),
        (["radius", "--store", "STORED", "--alpha", "0.99"], "confidence level"),
        (["radius", "--store", "STORED", "--max-radius", "core=1"], "Missing: rest"),
        (["radius", "--p-lower", "0.9"], "--noise"),
    ],
)
def test_bad_input_ends_in_one_clear_line(starcert, arguments, named, stored):
    done = starcert(*(str(stored) if word == "STORED" else word for word in arguments))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert named in done.stderr


def test_a_run_that_has_not_come_to_every_graph_is_not_certified(starcert, tmp_path):
    def stops(batch):
        raise RuntimeError("enough")

    file = tmp_path / "votes.db"
    with pytest.raises(sc.ClassifierError):
        worlds.smoothed(stops).vote(worlds.graphs(), samples=2000, seed=7, voting=sc.Voting(store=file))
    done = starcert("radius", "--store", str(file))
    assert done.returncode == 2
    assert "none of 3" in done.stderr


@pytest.mark.filterwarnings("default")
def test_a_run_that_has_come_to_some_graphs_shows_those(starcert, tmp_path):
    calls = worlds.Calls()

    def stops(batch):
        calls.append(len(batch))
        if sum(calls) > 3000:
            raise RuntimeError("enough")
        return worlds.dense_core(batch)

    file = tmp_path / "votes.db"
    with pytest.raises(sc.ClassifierError):
        worlds.smoothed(stops).vote(worlds.graphs(), samples=2000, seed=7, voting=sc.Voting(store=file))
    shown = starcert("radius", "--store", str(file)).stdout
    assert "No votes yet: " in shown
    assert "│     0 │" in shown
    told = json.loads(starcert("radius", "--store", str(file), "--json").stdout)
    assert [graph["graph"] for graph in told["graphs"]] == [0, 1][: len(told["graphs"])]
    assert told["without_votes"][-1] == 2


def test_certificates_from_a_store_are_a_look(starcert, tmp_path):
    file = tmp_path / "votes.db"
    worlds.smoothed().vote(worlds.graphs(1), samples=2000, seed=7, voting=sc.Voting(store=file))
    for _ in range(2):  # the same call again is none
        assert starcert("radius", "--store", str(file)).returncode == 0
        with VoteStore.read(file) as store:
            assert len(store.looks) == 1
    with pytest.raises(InvalidParameterError, match="'samples' must be 2000"):
        worlds.smoothed().certify(worlds.graphs(1), samples=3000, seed=7, voting=sc.Voting(store=file))


def test_certificates_from_a_store_that_was_looked_at_otherwise_are_refused(starcert, tmp_path):
    file, asked = tmp_path / "votes.db", {"samples": 2000, "seed": 7, "max_radius": (1, 1)}
    worlds.smoothed().certify(worlds.graphs(1), **how_to(store=file, evidence=sc.Evidence(own_samples=0), **asked))
    done = starcert("radius", "--store", str(file))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "'evidence' must be True" in done.stderr


@pytest.mark.filterwarnings("default")
def test_a_look_that_cannot_be_recorded_is_noted(starcert, stored):
    with VoteStore.read(stored) as store:
        settings, graphs = store.settings, store.graphs
    with VoteStore.open(stored, settings, graphs):
        done = starcert("radius", "--store", str(stored))
    assert done.returncode == 0
    assert "could not be recorded" in done.stdout + done.stderr
