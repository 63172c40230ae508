"""The whole method: votes that survive anything, certificates that say what they rest on."""

import os
import signal
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import ClassVar

import networkx as nx
import numpy as np
import pytest
import worlds
from asking import how_to

import starcert as sc
from starcert.math.confidence import anytime_bounds
from starcert.system.errors import (
    ClassifierError,
    InvalidParameterError,
    StarcertWarning,
    StoreError,
    StoreSettingsError,
)
from starcert.voting.store import VoteStore

WANTED = how_to(samples=3000, selection_samples=200, seed=7)


def same(one: sc.Votes, other: sc.Votes) -> bool:
    return (one.counts == other.counts).all() and (one.selection == other.selection).all()


def test_predict_and_certify_with_abstention():
    smoothed = worlds.smoothed()
    graphs = [
        sc.Graph.from_networkx(nx.disjoint_union(nx.complete_graph(6), nx.empty_graph(6))),
        sc.Graph(12, []),
        sc.Graph(12, [(u, v) for v in range(6) for u in range(v)][:11]),  # 11 edges: as likely more than ten as not
    ]
    assert smoothed.predict(graphs, seed=1, samples=200).tolist() == [1, 0, sc.ABSTAIN]
    certificates = smoothed.certify(graphs, seed=1, samples=200)
    assert certificates[0].capacity == (15, 15)
    assert certificates[0].frontier.radii[0][1] == 15  # the rest plays no part for this classifier
    assert certificates[2].abstained
    assert certificates.certified((0, 15)).tolist() == [True, True, False]
    assert certificates.certified_accuracy([1, 0, 1], (0, 15)) == pytest.approx(2 / 3)


def test_a_graph_with_more_pairs_than_any_radius_counts():
    n_nodes = 45_000
    path = sc.Graph(n_nodes, np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1))
    base = sc.classifiers.from_callable(lambda batch: np.zeros(len(batch), dtype=int), n_classes=2, on="batch")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(delete=0.4, add=1e-9)))
    (one,) = smoothed.certify(
        [path], samples=100, voting=sc.Voting(selection_samples=5, chunk_size=10), alpha=0.1, seed=1
    )
    assert one.capacity == (n_nodes - 1, n_nodes * (n_nodes - 1) // 2 - n_nodes + 1)
    assert one.frontier.radii[-1][0] >= 1


def test_graphs_too_large_for_evidence_are_named_before_the_first_vote(tmp_path, monkeypatch):
    """A graph of 2,900 nodes has more than 2**22 pairs: it keeps the certificate of its counts, and can be verified."""
    base = sc.classifiers.from_callable(lambda batch: np.zeros(len(batch), dtype=int), n_classes=2, on="batch")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(delete=0.4, add=1e-7)))
    graphs = [sc.Graph(2_900, [(0, 1)]), sc.Graph(5, [(0, 1)])]
    how = {"samples": 100, "selection_samples": 5, "alpha": 0.1, "seed": 1, "evidence": True, "threat": "flips:1"}
    words = r"Evidence is left out for 1 of 2 objects \(it looks at objects of at most 4,194,304 sites\)"
    with pytest.warns(StarcertWarning, match=words):
        certificates = smoothed.certify(graphs, **how_to(own_samples=0, **how))
    assert [one.verdicts is None for one in certificates] == [True, False]
    assert "no evidence" in certificates[0].why((0, 1))
    sc.archive.write(tmp_path / "certificates.json", sc.archive.Archive.from_result(certificates))
    assert sc.archive.verify(tmp_path / "certificates.json").verdict == "proved"

    def drawn(*_args, **_options):
        raise AssertionError("a vote was drawn")

    monkeypatch.setattr("starcert.methods.smoothed.count_votes", drawn)
    with pytest.warns(StarcertWarning, match=words), pytest.raises(AssertionError, match="a vote was drawn"):
        smoothed.certify(graphs, **how_to(**how))


def test_alpha_is_whole_where_no_object_has_evidence(tmp_path):
    base = sc.classifiers.from_callable(lambda batch: np.zeros(len(batch), dtype=int), n_classes=2, on="batch")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=sc.Flip(delete=0.4, add=1e-7)))
    how = {"samples": 50, "alpha": 0.1, "seed": 1, "threat": "deletions:1", "voting": sc.Voting(store=tmp_path / "v")}
    graphs = [sc.Graph(2_900, [(0, 1)])]
    words = r"1 of 1 objects \(it looks .* Certificates rest on the counts of votes alone, which have all of alpha\."
    with pytest.warns(StarcertWarning, match=words):
        asked = smoothed.certify(graphs, evidence=True, **how)
    alone = smoothed.certify(graphs, **how)
    assert asked.bounds.alpha == alone.bounds.alpha == 0.1
    assert asked[0].p_lower == alone[0].p_lower
    assert asked.verdicts is None
    assert (asked[0].certified_size, asked[0].verdict("deletions:1")) == (1, "certified")
    sc.archive.write(tmp_path / "certificates.json", sc.archive.Archive.from_result(asked))
    assert sc.archive.verify(tmp_path / "certificates.json").verdict == "proved"


def test_what_a_certificate_says_is_what_enumeration_finds():
    """Few sites: the smoothed probability is a sum over all noisy graphs, and votes must agree with it."""
    graph = sc.Graph(4, [(0, 1), (1, 2), (2, 3)])
    base = sc.classifiers.from_callable(lambda batch: (batch.degrees().max(axis=1) >= 3).astype(int), on="batch")
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.25))
    votes = smoothed.vote([graph], samples=40_000, seed=5)
    exact = 0.0
    pairs = [(i, j) for i in range(4) for j in range(i)]
    clean = {(v, u) for u, v in graph.edges.tolist()}
    for code in range(64):
        noisy = [pair for k, pair in enumerate(pairs) if code >> k & 1]
        flips = sum((pair in noisy) != (pair in clean) for pair in pairs)
        degrees = np.bincount(np.array(noisy, dtype=int).ravel(), minlength=4)
        exact += (degrees.max() >= 3) * 0.25**flips * 0.75 ** (6 - flips)
    assert abs(votes.counts[0, 1] / 40_000 - exact) < 5 * np.sqrt(exact * (1 - exact) / 40_000)


def test_capacities_follow_the_axes():
    graph = sc.Graph(5, [(0, 1), (1, 2), (3, 4)])
    partition = sc.Partition.from_node_sets({"a": range(3), "b": [3, 4]})
    noise = sc.Noise(b=0.1, a=sc.Flip(delete=0.1, add=0.2))
    assert partition.sites(graph).capacity(noise) == (1, 2, 1)


def test_a_radius_beyond_the_region_is_no_further_attack():
    graph = sc.Graph.from_networkx(nx.complete_graph(6))
    base = sc.classifiers.from_callable(lambda batch: (batch.degrees().sum(axis=1) > 12).astype(int), on="batch")
    (one,) = sc.SmoothedClassifier(base, sc.Noise(all=0.5)).certify([graph], samples=500, seed=1)
    assert one.frontier.radii == ((15,),)
    assert one.certified(1000)


def test_anchored_regions_are_named_in_every_sentence():
    graph = sc.Graph.from_networkx(nx.cycle_graph(8))

    def rule(graph: sc.Graph) -> sc.Partition:
        return sc.Partition.from_present_edges(graph, present="bonds", absent="others")

    base = sc.classifiers.from_callable(lambda batch: (batch.degrees().sum(axis=1) > 60).astype(int), on="batch")
    (one,) = sc.SmoothedClassifier(base, sc.Noise(bonds=0.04, others=0.2), rule).certify([graph], samples=500, seed=1)
    assert one.anchored
    assert "anchored" in str(one)
    assert one.capacity == (8, 20)


@pytest.mark.parametrize("store", [False, True])
def test_a_rule_is_asked_once_for_each_graph(tmp_path, store):
    """Votes, capacities, anchors and the store are all of the same regions."""
    asked = []

    def rule(graph: sc.Graph) -> sc.Partition:
        asked.append(graph.n_nodes)
        return sc.Partition.from_node_sets({"core": graph.nodes[:6], "rest": graph.nodes[6:12]})

    graphs = [sc.Graph(12 + i, graph.edges) for i, graph in enumerate(worlds.graphs())]
    smoothed = sc.SmoothedClassifier(worlds.smoothed().base, worlds.NOISE, rule)
    wanted = WANTED | ({"store": tmp_path / "votes.db"} if store else {})
    for _ in range(2):
        asked.clear()
        smoothed.certify(graphs, **how_to(**wanted))
        assert asked == [12, 13, 14]
    problem = smoothed.problem(graphs)
    asked.clear()
    certificates = smoothed.certify(problem, **how_to(**wanted))
    smoothed.predict(problem, **how_to(**wanted))
    sc.archive.write(tmp_path / "certificates.json", sc.archive.Archive.from_result(certificates))
    assert asked == []


def test_an_option_that_is_none_is_refused_by_name():
    with pytest.raises(TypeError, match="workers"):
        worlds.smoothed().certify(worlds.graphs(1), **how_to(workers=2, **WANTED))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"base": worlds.parity}, "'base' must be a classifier"),
        ({"noise": 0.1}, "'noise' must be a Noise"),
        ({"regions": None}, "'regions' is missing: it says where"),
        ({"regions": {"core": 1}}, "'regions' must be a Partition"),
    ],
)
def test_bad_parts_are_refused(arguments, named):
    good = {"base": worlds.smoothed().base, "noise": worlds.NOISE, "regions": worlds.PARTITION}
    with pytest.raises(InvalidParameterError, match=named):
        sc.SmoothedClassifier(**(good | arguments))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"samples": 0}, "samples"),
        ({"samples": 10.5}, "samples"),
        ({"selection_samples": 0}, "selection_samples"),
        ({"seed": -1}, "seed"),
        ({"chunk_size": 0}, "chunk_size"),
        ({"batch_size": 0}, "batch_size"),
        ({"graphs": []}, "graphs"),
        ({"graphs": [nx.to_numpy_array(nx.cycle_graph(12))]}, "Graph.from_numpy"),
        ({"graphs": [sc.Graph(5, [])]}, "without a node 5"),
        ({"alpha": 0.99}, "confidence level"),
        ({"family": "every"}, "'family' must be"),
        ({"max_radius": (1,)}, "'threat' must have 2 counts, one for each of core, rest"),
        ({"threat": 2}, "'threat' must be a threat with its number, such as flips:2 or rewire:1; there are flips, box"),
        ({"evidence": 1}, r"'evidence' must be True, False or Evidence\(own_samples=…\)\. Got 1 instead"),
        ({"plan": "decide"}, "'plan' must be \"fixed\" or \"decided\"\\. Got 'decide' instead"),
        ({"executor": 4}, r"'executor' must be a concurrent.futures.Executor.*ProcessPoolExecutor\(4\)"),
    ],
)
def test_bad_questions_are_refused_before_anything_is_counted(arguments, named):
    def never(batch):
        raise AssertionError("was asked")

    arguments = {"graphs": worlds.graphs(1)} | WANTED | arguments
    with pytest.raises(InvalidParameterError, match=named):
        worlds.smoothed(never).certify(arguments.pop("graphs"), **how_to(**arguments))


@pytest.mark.parametrize("method", ["certify", "vote", "predict"])
def test_how_votes_are_drawn_is_a_voting(method):
    with pytest.raises(
        InvalidParameterError, match=r"'voting' must be a Voting\. Got \{'store': 'votes.db'\} instead\."
    ):
        getattr(worlds.smoothed(), method)(worlds.graphs(1), samples=100, seed=1, voting={"store": "votes.db"})


def test_votes_alone_have_no_question_that_could_be_decided():
    with pytest.raises(InvalidParameterError, match=r"'plan' must be \"fixed\".*certify takes it"):
        worlds.smoothed().vote(worlds.graphs(1), samples=100, seed=1, voting=sc.Voting(plan="decided"))


def test_regions_that_do_not_fit_the_noise_are_refused():
    smoothed = sc.SmoothedClassifier(worlds.smoothed().base, sc.Noise(core=0.1), worlds.PARTITION)
    with pytest.raises(InvalidParameterError, match="'regions' must be those of the noise"):
        smoothed.vote(worlds.graphs(1), **WANTED)


@pytest.mark.parametrize("family", ["each", "all"])
def test_the_bounds_of_each_plan_are_those_of_its_function(family):
    asked = {**WANTED, "family": family}
    fixed = worlds.smoothed().certify(worlds.graphs(2), **how_to(**asked))
    assert [one.together for one in fixed] == [2, 2] if family == "all" else [1, 1]
    decided = worlds.smoothed().certify(worlds.graphs(2), **how_to(**asked, plan="decided", max_radius=(2, 2)))
    assert (fixed.bounds.bound, decided.bounds.bound) == ("clopper-pearson", "anytime")
    assert fixed.bounds.agrees_with(sc.clopper_pearson(fixed.votes, alpha=0.01, family=family))
    expected = anytime_bounds(decided.votes, alpha=0.01, family_size=2 if family == "all" else 1)
    assert decided.bounds.agrees_with(expected)
    assert decided.votes.history == "stopped"


class Biased(sc.Law):
    """A coin that shows 0 with probability p, whatever the bit is; for one test it changes under its name."""

    alphabet, suffixes, moves, p = 2, ("",), (((0, 1), (1, 0)),), Fraction(1, 2)
    numbers: ClassVar = {}

    def transitions(self, value):
        return self.p, 1 - self.p


def test_a_store_refuses_another_law_of_the_same_name(tmp_path, monkeypatch):
    def draw():
        base = sc.classifiers.from_callable(worlds.dense_core, on="batch", description="dense core")
        return sc.SmoothedClassifier(base, sc.Noise(all=Biased())).vote(
            worlds.graphs(1), **how_to(store=tmp_path / "votes.db", **WANTED)
        )

    first = draw()
    assert same(draw(), first)
    monkeypatch.setattr(Biased, "p", Fraction(1, 4))
    with pytest.raises(StoreSettingsError, match=r"noise\.all\.transitions"):
        draw()


# ---- a run that survives anything


def test_a_store_is_continued_and_counts_nothing_twice(tmp_path):
    file = tmp_path / "votes.db"
    reference = worlds.smoothed().vote(worlds.graphs(), **WANTED)
    calls = worlds.Calls()

    def failing(batch):
        calls.append(len(batch))
        if sum(n > 1 for n in calls) == 9:
            raise RuntimeError("lost the connection")
        return worlds.dense_core(batch)

    def patient(batch):
        calls.append(len(batch))
        return worlds.dense_core(batch)

    def named(function):
        base = sc.classifiers.from_callable(function, on="batch", description="dense core", batch_size=512)
        return sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION)

    with pytest.raises(ClassifierError, match="lost the connection"):
        named(failing).vote(worlds.graphs(), **how_to(store=file, **WANTED))
    with VoteStore.read(file) as store:
        kept = store.counts("estimation").sum() + store.counts("selection").sum()
    assert 0 < kept < 3 * 3200
    calls.clear()
    votes = named(patient).vote(worlds.graphs(), **how_to(store=file, **WANTED))
    assert same(votes, reference)
    assert votes.audit == reference.audit
    audited = 2 * (votes.audit.clean + votes.audit.attacked)
    kept_graphs = -(-kept // 3200)
    # What was kept is not asked again, but for one chunk of each graph, and the first and the last one: at most 1,024
    # votes, and the beginnings of two at the end. The audit is of all votes.
    expected, ends = 3 * 3200 - kept + 200 * kept_graphs + audited, 2 * (1024 + 64)
    assert expected < sum(n for n in calls if n > 1) <= expected + ends
    calls.clear()
    votes = named(patient).vote(worlds.graphs(), **how_to(store=file, **WANTED))
    assert same(votes, reference)
    assert votes.audit == reference.audit
    assert 3 * 200 + audited < sum(n for n in calls if n > 1) <= 3 * 200 + audited + ends


def test_a_classifier_that_changed_its_answers_cannot_continue(tmp_path):
    """One stored chunk is counted again, whatever the description says."""

    def smoothed(answer):
        base = sc.classifiers.from_callable(answer, on="batch", description="always the same name")
        return sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION)

    file = tmp_path / "votes.db"
    smoothed(lambda batch: np.zeros(len(batch))).vote(worlds.graphs(), **how_to(store=file, **WANTED))
    with pytest.raises(StoreError, match="has changed, or it is not deterministic"):
        smoothed(lambda batch: np.ones(len(batch))).vote(
            worlds.graphs(), **how_to(store=file, **(WANTED | {"samples": 5000}))
        )


@pytest.mark.parametrize("executor", [None, "threads"])
@pytest.mark.parametrize("changed", [0, 1, 2])
def test_every_graph_that_is_continued_is_counted_again(tmp_path, changed, executor):
    """The classifier has changed on one graph only, and its description says nothing."""
    graphs = [sc.Graph(12 + i, graph.edges) for i, graph in enumerate(worlds.graphs())]
    limit = 20

    def dense_core(batch):
        least = limit if batch.degrees().shape[1] == 12 + changed else 20
        return (batch.degrees()[:, :6].sum(axis=1) > least).astype(int)

    base = sc.classifiers.from_callable(dense_core, on="batch", description="dense core")
    smoothed = sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION)
    file = tmp_path / "votes.db"
    smoothed.vote(graphs, **how_to(store=file, **WANTED))
    limit = 28
    with VoteStore.read(file) as store:
        before = store.counts("estimation"), store.counts("selection")
    with ThreadPoolExecutor(2) as pool, pytest.raises(StoreError, match=rf"graph {changed}, .*another file"):
        smoothed.vote(graphs, **how_to(store=file, executor=pool if executor else None, **(WANTED | {"samples": 9000})))
    with VoteStore.read(file) as store:  # and nothing was added
        np.testing.assert_array_equal(store.counts("estimation"), before[0])
        np.testing.assert_array_equal(store.counts("selection"), before[1])


def test_counting_again_is_no_progress(tmp_path, monkeypatch):
    file = tmp_path / "votes.db"
    worlds.smoothed().vote(worlds.graphs(), **how_to(store=file, **WANTED))
    advanced = []

    @contextmanager
    def bar(title, total, *, shown):
        yield advanced.append

    monkeypatch.setattr("starcert.methods.smoothed.progress_bar", bar)
    worlds.smoothed().vote(worlds.graphs(), **how_to(store=file, **WANTED))
    assert sum(advanced) == 3 * 3200


class Net:
    """Stands for a model: it answers by its weights."""

    def __init__(self, weights):
        self.weights = weights

    def __call__(self, batch):
        return (batch.degrees() @ self.weights > 0).astype(int)


def asking(net):
    return lambda batch: net(batch)  # noqa: PLW0108  (what a user would write)


@pytest.mark.parametrize(
    "kind", [asking, lambda net: net, lambda net: partial(Net.__call__, net), lambda net: net.__call__]
)
def test_a_store_serves_no_other_model(tmp_path, kind):
    """Votes of the old model would certify a class that the new one never answers."""
    net = Net(np.ones(12))
    graphs, wanted = [sc.Graph.from_networkx(nx.complete_graph(12))], {"samples": 1000, "seed": 1}

    def smoothed(net):
        return sc.SmoothedClassifier(
            sc.classifiers.from_callable(kind(net), on="batch"), worlds.NOISE, worlds.PARTITION
        )

    file = tmp_path / "votes.db"
    (one,) = smoothed(net).certify(graphs, voting=sc.Voting(store=file), **wanted)
    assert one.label == 1
    assert one.certified((1, 1))
    assert smoothed(Net(np.ones(12))).predict(graphs, voting=sc.Voting(store=file), **wanted).tolist() == [
        1
    ]  # an equal one goes on
    for other in (Net(-np.ones(12)), net):
        net.weights = -np.ones(12)  # trained further, in place
        assert smoothed(other).predict(graphs, **wanted).tolist() == [0]
        with pytest.raises(StoreSettingsError, match="classifier: stored"):
            smoothed(other).certify(graphs, voting=sc.Voting(store=file), **wanted)


def test_a_store_may_grow_in_samples_and_graphs(tmp_path):
    file = tmp_path / "votes.db"
    smoothed = worlds.smoothed()
    smoothed.vote(worlds.graphs(2), voting=sc.Voting(store=file, selection_samples=200), samples=1500, seed=7)
    longer = smoothed.vote(worlds.graphs(3), **how_to(store=file, **WANTED))
    assert same(longer, smoothed.vote(worlds.graphs(3), **WANTED))
    shorter = smoothed.vote(worlds.graphs(2), voting=sc.Voting(store=file, selection_samples=200), samples=1500, seed=7)
    assert same(shorter, smoothed.vote(worlds.graphs(2), samples=1500, voting=sc.Voting(selection_samples=200), seed=7))
    assert same(smoothed.vote(worlds.graphs(3), **how_to(store=file, **WANTED)), longer)


def test_other_settings_are_refused_with_the_difference_named(tmp_path):
    file = tmp_path / "votes.db"
    worlds.smoothed().vote(worlds.graphs(), **how_to(store=file, **WANTED))
    with pytest.raises(StoreSettingsError, match="seed: stored 7, now 8"):
        worlds.smoothed().vote(worlds.graphs(), **how_to(store=file, **(WANTED | {"seed": 8})))
    with pytest.raises(StoreSettingsError, match="classifier"):
        worlds.smoothed(worlds.parity, "networkx").vote(worlds.graphs(), **how_to(store=file, **WANTED))
    with pytest.raises(StoreSettingsError, match="chunk_size: stored 1024, now 512"):
        worlds.smoothed().vote(worlds.graphs(), **how_to(store=file, chunk_size=512, **WANTED))
    with pytest.raises(StoreSettingsError, match="0"):
        worlds.smoothed().vote(worlds.graphs()[::-1], **how_to(store=file, **WANTED))


def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path, monkeypatch):
    """A limit on the file's size stands for the full disk."""
    file = tmp_path / "votes.db"
    smoothed, graphs = worlds.smoothed(), worlds.graphs()
    smoothed.vote(graphs, voting=sc.Voting(store=file, selection_samples=10, chunk_size=10), samples=100, seed=7)
    opened = VoteStore.open

    def small(*arguments, **keywords):
        store = opened(*arguments, **keywords)
        pages = store.db.execute("PRAGMA page_count").fetchone()[0]
        store.db.execute(f"PRAGMA max_page_count = {pages + 2}")
        return store

    monkeypatch.setattr(VoteStore, "open", small)
    with pytest.raises(StoreError, match="full"):
        smoothed.vote(graphs, voting=sc.Voting(store=file, selection_samples=10, chunk_size=10), samples=20_000, seed=7)
    monkeypatch.undo()
    again = smoothed.vote(
        graphs, voting=sc.Voting(store=file, selection_samples=10, chunk_size=10), samples=3000, seed=7
    )
    assert same(
        again, smoothed.vote(graphs, samples=3000, voting=sc.Voting(selection_samples=10, chunk_size=10), seed=7)
    )


SCRIPT = """
import sys, worlds, starcert as sc
voting = sc.Voting(selection_samples=200, chunk_size=100, store=sys.argv[1])
worlds.smoothed(worlds.slow_dense_core).vote(worlds.graphs(), samples=3000, voting=voting, seed=7)
"""


ANNOUNCED = """
from starcert.voting.store import VoteStore
add = VoteStore.add

def told(store, graph, purpose, *chunk, **samples):
    add(store, graph, purpose, *chunk, **samples)
    if purpose == "estimation":
        print("added", flush=True)

VoteStore.add = told
"""


def child(file: Path, script: str = SCRIPT, **pipes: int) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1] / "support"), *sys.path])}
    words = [sys.executable, "-c", script, str(file)]
    return subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, **pipes)


def test_ctrl_c_ends_cleanly_and_keeps_what_is_done(tmp_path):
    file = tmp_path / "votes.db"
    process = child(file, ANNOUNCED + SCRIPT, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"added\n"  # waits until there are votes to keep
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in error
    with VoteStore.read(file) as store:
        kept = store.counts("estimation").sum()
    assert kept > 0
    assert list(tmp_path.glob("*-journal")) == []


def test_two_million_samples_take_no_more_memory_than_a_fifth_of_them():
    smoothed, graphs = worlds.smoothed(), worlds.graphs(1)
    smoothed.vote(graphs, samples=2000, seed=1)  # compile and fill caches first
    peaks = []
    for samples in (400_000, 2_000_000):
        tracemalloc.start()
        smoothed.vote(graphs, samples=samples, voting=sc.Voting(selection_samples=100), seed=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] + 100_000


# ---- a cluster


@pytest.fixture(scope="module")
def cluster():
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with dask.config.set({"distributed.scheduler.allowed-failures": 10}):
        workers = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
        with workers, distributed.Client(workers) as client:
            client.run(lambda path: sys.path.insert(0, path), str(Path(__file__).parents[1] / "support"))
            yield client


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning")
def test_dask_gives_the_same_votes(cluster):
    reference = worlds.smoothed().vote(worlds.graphs(), **WANTED)
    with cluster.get_executor() as pool:
        assert same(worlds.smoothed().vote(worlds.graphs(), **how_to(executor=pool, **WANTED)), reference)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning")
def test_a_dask_worker_that_dies_in_mid_run_changes_nothing(cluster, tmp_path):
    """The classifier kills the worker it runs on, once; Dask starts another and tries again."""
    marker = str(tmp_path / "died")
    reference = worlds.smoothed().vote(worlds.graphs(), **WANTED)
    with cluster.get_executor(retries=3) as pool:
        votes = worlds.smoothed(worlds.Suicidal(marker)).vote(worlds.graphs(), **how_to(executor=pool, **WANTED))
    assert Path(marker).exists()
    assert same(votes, reference)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::UserWarning")
@pytest.mark.parametrize("dies", [False, True])
def test_a_classifier_is_unpickled_once_in_each_worker_of_a_cluster(cluster, tmp_path, dies):
    """Also in the one that Dask starts in the place of another: it knows nothing, and says so."""
    base, many = worlds.Heavy(str(tmp_path), dies=dies), how_to(**WANTED, chunk_size=100)
    expected = worlds.smoothed().vote(worlds.graphs(), **many)
    with cluster.get_executor(retries=3) as pool:
        assert same(worlds.smoothed(base).vote(worlds.graphs(), **how_to(executor=pool, **many)), expected)
    assert len(base.unpickled()) == len(set(base.unpickled())) <= 2 + 2 * dies
    assert (tmp_path / "died").exists() == dies


def test_nearly_unanimous_votes_are_counted_again_at_several_places(tmp_path):
    """The classifier changed its answer on one copy in 500: a few selection votes do not show it."""
    changed = False

    def rarely(batch):
        differs = (batch.values @ np.arange(1, 31) ** 2) % 499 == 0
        return (differs & changed).astype(int)

    base = sc.classifiers.from_callable(rarely, on="batch", description="always the same name")
    smoothed = sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION)
    asked = {"samples": 102_400, "selection_samples": 10, "seed": 1, "store": tmp_path / "votes.db"}
    smoothed.vote(worlds.graphs(1), **how_to(**asked))
    changed = True
    with pytest.raises(StoreError, match="has changed, or it is not deterministic"):
        smoothed.vote(worlds.graphs(1), **how_to(**asked))


def test_a_narrow_threat_says_nothing_about_flips_elsewhere():
    """What listed attacks change is no limit of the search for radii: any two flips are not certified with them."""
    base = sc.classifiers.from_callable(lambda graph: int(graph.number_of_edges() > 20), n_classes=2)
    smoothed = sc.SmoothedClassifier(base, sc.Noise(all=0.3))
    path = sc.Graph(10, [(node, node + 1) for node in range(9)])
    (narrow,), (any_flips,) = (
        smoothed.certify([path], samples=4_000, seed=3, threat=threat) for threat in ("deletions:1", None)
    )
    assert narrow.certified("deletions:1")
    assert narrow.frontier == any_flips.frontier
    assert narrow.any_flips == any_flips.any_flips == 1
    assert narrow.verdict("flips:9") == "open"
