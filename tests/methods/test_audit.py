"""The audit of a run finds answers that depend on the batch, as rare as it says."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import worlds
from asking import how_to

import starcert as sc
from starcert.classifiers.base import Classifier
from starcert.math.votes import Audit
from starcert.methods.audit import COPIES, AuditSize
from starcert.system.errors import ClassifierError

BITS = sc.Bits.rows(np.zeros((1, 40), dtype=np.int64))
EVEN = sc.Noise(all=0.5)


class Rare(Classifier):
    """Answers 0; on one copy in this many, something else if it is in a batch that `wrong` describes."""

    n_classes, description, call_cost = 2, "rarely wrong", 0

    def __init__(self, one_in: int, wrong=lambda n: np.full(n, n > 1)) -> None:
        self.one_in, self.wrong = one_in, wrong

    def marked(self, copies):
        places = 2 ** np.arange(copies.values.shape[1] % 63, dtype=np.int64)
        return (copies.values[:, : len(places)] @ places) * 2654435761 % 2**32 % self.one_in == 0

    def classify(self, copies):
        return (self.marked(copies) & self.wrong(len(copies))).astype(int)


def is_found(base, *, samples=20_000, seed, graphs=BITS, noise=EVEN, **more) -> bool:
    try:
        sc.SmoothedClassifier(base, noise).vote(graphs, **how_to(samples=samples, seed=seed, **more))
    except ClassifierError:
        return True
    return False


def test_a_rare_dependence_is_found_with_the_promised_probability():
    one_in, seeds = 300, 100
    audit = sc.SmoothedClassifier(Rare(2**31), EVEN).vote(BITS, samples=20_000, seed=0).audit
    asked = audit.clean_alone + audit.attacked_alone
    assert asked > 200
    chance = 1 - (1 - 1 / one_in) ** (asked + 8)  # eight more are asked alone before votes count
    found = sum(is_found(Rare(one_in), seed=seed) for seed in range(seeds))
    assert abs(found - seeds * chance) < 4 * np.sqrt(seeds * chance * (1 - chance))
    assert 0.3 < chance < 0.95


@pytest.mark.parametrize(
    "wrong",
    [
        lambda n: np.arange(n) % 2 == 1,  # by the place in the batch
        lambda n: np.full(n, n > 500),  # by its size
    ],
)
def test_a_dependence_on_the_place_or_the_batch_is_found_in_another_batch(wrong):
    class Expensive(Rare):
        call_cost = 2_000  # so that next to nothing is asked alone

    found = [is_found(Expensive(100, wrong), samples=100_000, batch_size=4096, seed=seed) for seed in range(20)]
    assert sum(found) >= 15


# ---- a branch that three sites open: rare on the clean graph, frequent at an attacked one

GRAPH = sc.Graph(6, [(3, 4), (4, 5)])
WEAK = sc.Noise(all=0.06)
THREE = ((0, 1), (0, 2), (1, 2))


class Branch(Classifier):
    """Answers 1 where three pairs are edges, and forgets it in a batch."""

    n_classes, description = 2, "three pairs"

    def truth(self, graphs):
        adjacency = graphs.adjacency()
        return np.stack([adjacency[:, u, v] for u, v in THREE]).all(axis=0).astype(int)

    def classify(self, graphs):
        return self.truth(graphs) if len(graphs) == 1 else np.zeros(len(graphs), dtype=int)


class Shortcut(Branch):
    """The same, but by a shortcut of its own: written out, it is right in any batch."""

    call_cost = 8192

    @property
    def as_written(self):
        plain = Branch()
        plain.classify = plain.truth
        return plain


@pytest.mark.parametrize("base", [Branch(), Shortcut()])
def test_a_branch_that_is_rare_on_the_clean_graph_is_found_at_attacked_ones(base):
    certified, messages = 0, []
    for seed in range(12):
        try:
            result = sc.SmoothedClassifier(base, WEAK).certify([GRAPH], samples=100_000, seed=seed)
        except ClassifierError as error:
            messages.append(str(error))
        else:
            certified += result[0].certified(3)
    assert certified <= 2
    assert sum("of graph 0 attacked on" in message for message in messages) >= 8


# ---- votes at attacked graphs


HALVES = sc.Partition.from_node_sets({"noisy": range(3), "still": range(3, 6)})
STILL = sc.Noise(noisy=0.1, still=0.0)


class Forgets(Classifier):
    """Answers 1 where a pair that noise never changes was changed, and forgets it in a batch."""

    n_classes, description, call_cost = 2, "still pairs", 4

    def classify(self, graphs):
        changed = graphs.adjacency()[:, 3, 5] == 1
        return (changed & (len(graphs) == 1)).astype(int)


def test_votes_at_attacked_graphs_are_audited():
    smoothed = sc.SmoothedClassifier(Forgets(), STILL, HALVES)
    assert smoothed.vote([GRAPH], samples=3_000, seed=1).audit.attacked > 0  # these attacks are such as noise shows
    found = r"copy \d+ of graph 0 attacked on \d+ sites? \(.*class 1 alone|graph 0 under attack"
    with pytest.raises(ClassifierError, match=found):
        smoothed.certify([GRAPH], samples=3_000, seed=1, evidence=sc.Evidence(own_samples=50_000))


def test_the_audit_of_votes_at_attacked_graphs_is_added():
    base = sc.classifiers.from_callable(worlds.parity)
    smoothed = sc.SmoothedClassifier(base, STILL, HALVES)
    asked = {"samples": 3_000, "seed": 1, "evidence": True}
    without, some = (smoothed.certify([GRAPH], **how_to(own_samples=own, **asked)).audit for own in (0, 10_000))
    assert (some.clean, some.clean_alone) == (without.clean, without.clean_alone)
    assert some.attacked > without.attacked
    assert some.attacked_alone > without.attacked_alone


# ---- what is audited depends on what was asked, and on nothing else


def audit_of(base=None, **more) -> Audit:
    base = base or sc.classifiers.from_callable(worlds.dense_core, on="batch", description="core")
    smoothed = sc.SmoothedClassifier(base, worlds.NOISE, worlds.PARTITION)
    return smoothed.vote(worlds.graphs(), **how_to(**({"samples": 20_000, "seed": 7} | more))).audit


def test_the_audit_does_not_depend_on_batches_workers_or_interruptions(tmp_path):
    audit = audit_of()
    assert min(audit.clean, audit.clean_alone, audit.attacked, audit.attacked_alone) > 0
    assert audit_of(batch_size=1) == audit_of(batch_size=100) == audit
    with ThreadPoolExecutor(3) as pool:
        assert audit_of(executor=pool) == audit
    audit_of(store=tmp_path / "votes.db", samples=5_000)
    assert audit_of(store=tmp_path / "votes.db") == audit_of(store=tmp_path / "votes.db") == audit


class Seen(Classifier):
    """Notes the copies that it is asked about."""

    n_classes, description = 2, "notes"

    def __init__(self) -> None:
        self.notes = worlds.Calls()

    def classify(self, graphs):
        self.notes += [(len(graphs), row.tobytes()) for row in np.packbits(graphs.values, axis=1)]
        return worlds.dense_core(graphs)


def test_the_same_copies_are_audited_whatever_the_batches_are():
    alone = []
    for batch_size in (64, 1000):
        base = Seen()
        audit_of(base, batch_size=batch_size)
        alone.append(sorted(row for size, row in base.notes[3 * 20_200 :] if size == 1))
    assert len(alone[0]) > 50
    assert alone[0] == alone[1]


def test_other_seeds_audit_other_copies():
    attacked = []
    for seed in (7, 8):
        base = Seen()
        smoothed = sc.SmoothedClassifier(base, sc.Noise(all=1e-9))  # copies are what they are drawn at
        smoothed.vote(worlds.graphs(1), samples=20_000, seed=seed)
        attacked.append({row for _, row in base.notes})
    assert min(map(len, attacked)) > 5
    assert len(attacked[0] & attacked[1]) < 5


@pytest.mark.parametrize("executor", [False, True])
def test_who_fails_at_an_attacked_graph_is_named(executor):
    def fails(batch):
        if (batch.degrees()[:, :6].sum(axis=1) > 16).any():  # under this noise, hardly ever
            raise RuntimeError("too dense")
        return worlds.dense_core(batch)

    graph = sc.Graph(12, [])
    smoothed = sc.SmoothedClassifier(sc.classifiers.from_callable(fails, on="batch"), sc.Noise(all=0.05))
    with ThreadPoolExecutor(1) as pool:
        more = {"executor": pool} if executor else {}
        with pytest.raises(ClassifierError, match="failed on audited noisy copies of graph 0: RuntimeError: too dense"):
            smoothed.vote([graph], **how_to(samples=30_000, seed=1, **more))


# ---- how large it is


def test_an_audit_costs_at_most_a_fifth_of_its_votes():
    for call_cost in (0, 4, 128, 8192):
        base = Rare(2)
        base.call_cost = call_cost
        for n_graphs in (1, 30, 1000):
            for votes in (3 * 10**5, 10**7, 10**9):
                size = AuditSize.of(votes, n_graphs, base, most=2 * COPIES)
                cost = 3 * size.graphs * call_cost + 2 * size.copies + size.alone * (call_cost + 1)
                assert cost <= votes / 5
                assert size.alone <= size.copies <= 2 * COPIES
                assert size.graphs <= n_graphs
    assert AuditSize.of(10**9, 30, base, most=2 * COPIES) == (30, 2 * COPIES, 2 * COPIES)


def test_a_short_run_says_how_little_was_audited():
    smoothed = sc.SmoothedClassifier(Rare(2**31), EVEN)
    few, many = (smoothed.vote(BITS, samples=samples, seed=1).audit for samples in (200, 800_000))
    assert few.share > 0.3
    assert many.share <= 1e-3
    assert "for at least 0.1% of the copies of the graphs would have been found with probability 99%" in str(many)


def test_a_fault_of_one_graph_is_found_as_often_as_is_said():
    """Where some graphs are audited, their copies are not independent: counted as if they were, too much is said."""
    numbers = (np.arange(100)[:, None] >> np.arange(7)) & 1
    rows = sc.Bits.rows(np.concatenate([numbers, np.zeros((100, 5), dtype=np.int64)], axis=1))

    class OneBad(Classifier):
        n_classes, description = 2, "one bad row"

        def __init__(self, bad: int) -> None:
            self.bad = bad

        def classify(self, copies):
            bad = copies.vectors()[:, :7] @ 2 ** np.arange(7) == self.bad
            return (bad & (np.arange(len(copies)) % 2 == 1)).astype(int)

    def vote(bad: int, seed: int) -> sc.Votes:
        smoothed = sc.SmoothedClassifier(OneBad(bad), sc.Noise(noisy=0.5), {"noisy": range(7, 12)})
        return smoothed.vote(rows, samples=300, voting=sc.Voting(selection_samples=10), seed=seed)

    def found(bad: int, seed: int) -> bool:
        try:
            vote(bad, seed)
        except ClassifierError as error:
            return "audited" in str(error)
        return False

    audit, seeds, share = vote(bad=127, seed=0).audit, 40, 0.5 / 100  # half of its copies change their parity
    assert audit.independent < audit.clean / 4
    often = sum(found(1 + seed, seed) for seed in range(seeds)) / seeds
    said, too_much = (1 - (1 - share) ** n for n in (audit.independent, audit.clean))
    error = np.sqrt(said / seeds)
    assert said - 3 * error < often < too_much - 3 * error


def test_nodes_and_objects_without_sites_are_audited_too():
    class Nodes(Classifier):
        n_classes, description = 2, "degrees"

        def n_targets(self, frame):
            return frame.n_nodes

        def classify(self, graphs):
            return (graphs.degrees() > 2).astype(int)

    smoothed = sc.SmoothedClassifier(Nodes(), sc.Noise(all=0.1))
    votes = smoothed.vote([sc.Graph(1, []), *worlds.graphs(2)], samples=5_000, seed=1)
    assert votes.audit.clean > votes.audit.attacked > 0  # a graph of one node has no attacks


def test_the_page_says_how_far_a_run_was_audited(tmp_path):
    smoothed = worlds.smoothed()
    problem = smoothed.problem(worlds.graphs())
    result = smoothed.certify(problem, samples=2_000, seed=1)
    sc.report.write_report(tmp_path / "report.html", sc.archive.Archive.from_result(result), problem)
    assert str(result.audit) in (tmp_path / "report.html").read_text(encoding="utf-8")
