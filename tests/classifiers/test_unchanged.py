"""A classifier must answer after a run as it did while it voted; and a store serves no other."""

import functools
import threading

import numpy as np
import pytest
import worlds
from asking import how_to

import starcert as sc
from starcert.classifiers.identity import SCHEME
from starcert.system.errors import ClassifierError, StoreError, StoreSettingsError
from starcert.voting.store import VoteStore

ASKED = how_to(samples=3000, selection_samples=100, seed=7)

HALVES = sc.Partition.from_node_sets({"noisy": range(3), "still": range(3, 6)})

DIFFERENTLY = "changed while it voted|how often it was asked"  # what the recount says, and what the audit says


class Counting:
    """Changes its mind after so many calls, or never."""

    def __init__(self, after):
        self.after, self.calls = after, 0

    def __call__(self, batch):
        self.calls += 1
        return worlds.dense_core(batch) if self.calls <= self.after else np.ones(len(batch), dtype=int)


@pytest.mark.parametrize(
    ("how", "description", "after"),
    [("vote", None, 20), ("vote", "dense core", 30), ("certify", "dense core", 20), ("predict", None, 30)],
)
def test_a_classifier_that_changes_while_it_votes_is_refused(how, description, after):
    smoothed = worlds.smoothed(Counting(after), description=description)
    with pytest.raises(ClassifierError, match=DIFFERENTLY):
        getattr(smoothed, how)(worlds.graphs(), **ASKED)


def test_a_classifier_that_changes_after_the_audit_has_asked_it_is_refused(monkeypatch):
    base = Counting(10**6)

    def changing(job, votes, executor):
        base.after = 0

    monkeypatch.setattr("starcert.methods.smoothed.audit_votes", changing)
    with pytest.raises(ClassifierError, match=r"changed while it voted.*Nothing is certified"):
        worlds.smoothed(base).vote(worlds.graphs(), **ASKED)


@pytest.mark.parametrize("after", [20, 25])
def test_votes_of_a_run_that_changed_its_classifier_serve_nobody(tmp_path, after):
    file = tmp_path / "votes.db"
    worlds.smoothed(description="dense core").vote(worlds.graphs(1), **how_to(store=file, **ASKED))
    changing = worlds.smoothed(Counting(after), description="dense core")
    with pytest.raises(ClassifierError, match=DIFFERENTLY):
        changing.vote(worlds.graphs(), **how_to(store=file, **ASKED))
    for use in (
        lambda: worlds.smoothed(description="dense core").certify(worlds.graphs(), **how_to(store=file, **ASKED)),
        lambda: VoteStore.read(file),
    ):
        with pytest.raises(StoreError, match="cannot be used: the base classifier changed while it voted"):
            use()


class Failing(Counting):
    """Changes its mind after so many large batches, and is interrupted in the seventh."""

    def __call__(self, batch):
        if len(batch) < 400:
            return worlds.dense_core(batch) if self.calls <= self.after else np.ones(len(batch), dtype=int)
        if self.calls == 6:
            self.calls += 1
            raise KeyboardInterrupt
        return super().__call__(batch)


def test_votes_of_a_run_that_was_interrupted_after_a_change_serve_nobody(tmp_path):
    file = tmp_path / "votes.db"
    base = worlds.smoothed(Failing(2), description="dense core")
    with pytest.raises(KeyboardInterrupt):
        base.vote(worlds.graphs(), **how_to(store=file, batch_size=500, **ASKED))
    with pytest.raises(StoreError, match="changed while it voted"):
        VoteStore.read(file)


def test_votes_of_a_run_that_was_killed_after_a_change_are_not_continued(tmp_path, monkeypatch):
    """The first chunk is that of the classifier, the last one is not."""
    monkeypatch.setattr("starcert.voting.vote_loop.VotingRun._is_unchanged", lambda run: True)
    file = tmp_path / "votes.db"
    with pytest.raises(KeyboardInterrupt):
        worlds.smoothed(Failing(4), description="dense core").vote(
            worlds.graphs(), **how_to(store=file, batch_size=500, **ASKED)
        )
    with pytest.raises(StoreError, match="the same settings gave other votes on graph"):
        worlds.smoothed(description="dense core").vote(worlds.graphs(), **how_to(store=file, **ASKED))


@pytest.mark.parametrize("stored", [False, True])
def test_votes_at_attacked_graphs_are_votes_too(tmp_path, stored):
    class Later:
        """Its votes on copies of the clean graph are those of one classifier: they never have this edge."""

        after = 10**6

        def __init__(self):
            self.calls = 0

        def __call__(self, batch):
            has_edge = batch.adjacency()[:, 3, 5]
            self.calls += int(has_edge.any())
            return worlds.dense_core(batch) ^ (has_edge & (self.calls > self.after))

    base = Later()
    path = sc.Graph(6, [(i, i + 1) for i in range(5)])
    asked = {"samples": 3_000, "seed": 1, "store": tmp_path / "votes.db", "evidence": True}
    smoothed = sc.SmoothedClassifier(
        sc.classifiers.from_callable(base, on="batch", description="later"), sc.Noise(noisy=0.1, still=0.0), HALVES
    )
    if stored:
        smoothed.certify([path], **how_to(own_samples=10_000, **asked))
        base.after = 0
        with pytest.raises(ClassifierError, match=DIFFERENTLY):
            smoothed.certify([path], **how_to(own_samples=10_000, **asked))
    else:
        smoothed.certify([path], **how_to(own_samples=0, **asked))
        base.after = base.calls + 2
        with pytest.raises(ClassifierError, match=DIFFERENTLY):
            smoothed.certify([path], **how_to(own_samples=10_000, **asked))
    with pytest.raises(StoreError, match="changed while it voted"):
        VoteStore.read(tmp_path / "votes.db")


def test_what_has_no_content_is_its_authors_promise():
    lock, notes = threading.Lock(), []

    def noting(batch):
        with lock:
            notes.append(len(batch))
        return worlds.dense_core(batch)

    worlds.smoothed(noting).vote(worlds.graphs(1), **ASKED)
    assert notes


class Lazy:
    """Fills its attributes when it is first asked."""

    def __init__(self):
        self.limit = None

    def __call__(self, batch):
        if self.limit is None:
            self.limit = 20
        return (batch.degrees()[:, :6].sum(axis=1) > self.limit).astype(int)


class KeepingLast:
    """Keeps its last batch, as some layers do."""

    def __call__(self, batch):
        self.last = batch.degrees()
        return (self.last[:, :6].sum(axis=1) > 20).astype(int)


class Cached:
    @functools.cached_property
    def table(self):
        return np.full(200, 20)

    def __call__(self, batch):
        return (batch.degrees()[:, :6].sum(axis=1) > self.table[len(batch) % 200]).astype(int)


@functools.lru_cache
def limits(n):
    return np.full(200, 20)


def remembering(batch):
    return (batch.degrees()[:, :6].sum(axis=1) > limits(3)[3]).astype(int)


@pytest.mark.parametrize(
    "make",
    [Lazy, KeepingLast, Cached, lambda: remembering],
    ids=["attribute", "last batch", "cached_property", "lru_cache"],
)
def test_honest_lazy_classifiers_may_vote_and_be_continued(tmp_path, make):
    base, file = make(), tmp_path / "votes.db"
    first = worlds.smoothed(base).vote(worlds.graphs(), **how_to(store=file, **ASKED))
    for again in (base, make()):  # filled, and new
        votes = worlds.smoothed(again).vote(worlds.graphs(), **how_to(store=file, **ASKED))
        np.testing.assert_array_equal(votes.counts, first.counts)
    np.testing.assert_array_equal(first.counts, worlds.smoothed().vote(worlds.graphs(), **ASKED).counts)


def test_a_lazy_module_may_vote_and_be_continued(tmp_path):
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.LazyLinear(2)

        def forward(self, x, adjacency):
            return self.linear(adjacency.reshape(len(adjacency), -1))

    torch.manual_seed(0)
    base = sc.classifiers.from_dense(Net(), n_classes=2, features=sc.classifiers.features.constant())
    smoothed = sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION)
    first = smoothed.vote(worlds.graphs(1), **how_to(store=tmp_path / "votes.db", **ASKED))
    again = smoothed.vote(worlds.graphs(1), **how_to(store=tmp_path / "votes.db", **ASKED))
    np.testing.assert_array_equal(first.counts, again.counts)


@pytest.mark.parametrize(
    ("make", "table"), [(Cached, lambda base: base.table), (lambda: remembering, lambda _: limits(3))]
)
def test_a_kept_table_that_was_changed_in_place_does_not_continue(tmp_path, make, table):
    base, file = make(), tmp_path / "votes.db"
    worlds.smoothed(base).vote(worlds.graphs(), **how_to(store=file, **ASKED))
    table(base)[:] = 0
    try:
        with pytest.raises(StoreError, match="the same settings gave other votes on graph 0"):
            worlds.smoothed(base).vote(worlds.graphs(), **how_to(store=file, **ASKED))
    finally:
        limits.cache_clear()


def test_a_digest_of_another_scheme_is_named(tmp_path):
    file = tmp_path / "votes.db"
    old = f"dense_core {'0a' * 16}"
    worlds.smoothed(description=old).vote(worlds.graphs(1), **how_to(store=file, **ASKED))
    with pytest.raises(StoreSettingsError, match=rf"{old}' \(made by starcert 0.2, .*now 'dense_core {SCHEME}"):
        worlds.smoothed().vote(worlds.graphs(1), **how_to(store=file, **ASKED))


def test_a_hook_of_all_modules_is_another_classifier(tmp_path):
    torch = pytest.importorskip("torch")
    linear = torch.nn.Linear(12, 2)

    def answer(batch):
        return linear(torch.from_numpy(batch.degrees()).float()).argmax(dim=1).numpy()

    file = tmp_path / "votes.db"
    worlds.smoothed(answer).vote(worlds.graphs(1), **how_to(store=file, **ASKED))
    handle = torch.nn.modules.module.register_module_forward_hook(lambda module, inputs, output: -output)
    try:
        with pytest.raises(StoreSettingsError, match="classifier: stored"):
            worlds.smoothed(answer).vote(worlds.graphs(1), **how_to(store=file, **ASKED))
    finally:
        handle.remove()
    worlds.smoothed(answer).vote(worlds.graphs(1), **how_to(store=file, **ASKED))
